"""
With SHAP
=========

Which features speak for the label, and which make the forest unsure? The ``shap`` package
answers the first question; only hedgerow answers the second.
"""

# %%
# The same values as the package
# ------------------------------
# ``to_sklearn`` passes the same trees to ``shap``.

import numpy as np
import shap
from sklearn.datasets import load_wine

from hedgerow import RandomForestClassifier
from hedgerow.explain import shap_values

X, y = load_wine(return_X_y=True, as_frame=True)
X = X.astype(np.float32)  # what scikit-learn would round to
forest = RandomForestClassifier(50, calibration=None, random_state=0)
forest.fit(X.iloc[::2], y.iloc[::2])

theirs = shap.TreeExplainer(
    forest.to_sklearn(), feature_perturbation="tree_path_dependent"
)(X)
ours = shap_values(forest, X)
print("largest difference:", np.abs(theirs.values - ours.values).max().round(6))

# %%
# Their pictures, our values
# --------------------------
# We plot what each feature adds to the *width* of the interval: which features make the
# forest unsure about each wine.

width = shap_values(forest, X, "width").values[:, :, 0]
shap.plots.beeswarm(
    shap.Explanation(width, data=X.to_numpy(), feature_names=list(X.columns)),
    max_display=8,
    group_remaining_features=False,
)
