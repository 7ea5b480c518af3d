"""
With SHAP
=========

Which features speak for the label, and which make the forest unsure? The first question
has an answer in the ``shap`` package, the second only here.
"""

# %%
# The same values as the package
# ------------------------------
# ``to_sklearn`` hands the very trees to ``shap``.

import numpy as np
import shap
from sklearn.datasets import load_wine

from hedgerow import RandomForestClassifier
from hedgerow.explain import shap_values

X, y = load_wine(return_X_y=True, as_frame=True)
X = X.astype(np.float32)  # what scikit-learn would round to
forest = RandomForestClassifier(50, random_state=0).fit(X.iloc[::2], y.iloc[::2])

theirs = shap.TreeExplainer(
    forest.to_sklearn(), feature_perturbation="tree_path_dependent"
)(X)
ours = shap_values(forest, X)
print("largest difference:", np.abs(theirs.values - ours.values).max().round(6))

# %%
# Their pictures, our values
# --------------------------
# What each feature adds to the *width* of the interval: what made the forest ignorant of
# each wine.

width = shap_values(forest, X, "width").values[:, :, 0]
shap.plots.beeswarm(
    shap.Explanation(width, data=X.to_numpy(), feature_names=list(X.columns)),
    max_display=8,
    group_remaining_features=False,
)
