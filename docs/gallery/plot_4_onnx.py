"""
In another program: ONNX
========================

A forest with its bounds and sets runs in onnxruntime, without hedgerow or Python.
"""

# %%
import numpy as np
import onnxruntime
from sklearn.datasets import load_wine

from hedgerow import RandomForestClassifier, to_onnx

X, y = load_wine(return_X_y=True)
forest = RandomForestClassifier(
    100, rule="belief", caution=2.0, decision="e_admissibility", random_state=0
)
forest.fit(X[::2], y[::2])
model = to_onnx(forest)
print(f"{len(model.SerializeToString()) / 1024:.0f} kB, {len(model.graph.node)} operators")

# %%
session = onnxruntime.InferenceSession(
    model.SerializeToString(), providers=["CPUExecutionProvider"]
)
label, probability, lower, upper, chosen, out_of_support = session.run(None, {"X": X})
bounds = forest.predict_bounds(X)
print(
    "largest difference of probabilities:",
    np.abs(probability - forest.predict_proba(X)).max() < 1e-12,
)
print(
    "largest difference of bounds:       ",
    np.abs(np.stack([lower, upper], axis=2) - bounds).max() < 1e-12,
)
print("the same sets:                      ", np.array_equal(chosen, forest.predict_set(X)))

# %%
# For another rule, caution or decision, set it and export again.
