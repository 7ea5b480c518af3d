"""
With MAPIE
==========

MAPIE adds conformal prediction to any scikit-learn classifier, so it works with hedgerow.
hedgerow also has its own, which does not set any rows aside.
"""

# %%
import numpy as np
from mapie.classification import SplitConformalClassifier
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from hedgerow import RandomForestClassifier
from hedgerow.decisions import Coverage

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=600, random_state=0)

# %%
# MAPIE learns from half of the rows and calibrates on the other half.

X_fit, X_calibrate, y_fit, y_calibrate = train_test_split(
    X_train, y_train, test_size=0.5, random_state=0
)
forest = RandomForestClassifier(100, random_state=0).fit(X_fit, y_fit)
wrapped = SplitConformalClassifier(forest, confidence_level=0.95, prefit=True).conformalize(
    X_calibrate, y_calibrate
)
_, sets = wrapped.predict_set(X_test)
sets = sets[:, :, 0]
kept = sets[np.arange(len(y_test)), y_test].mean()
print(f"MAPIE    truth in the set {kept:.3f}, mean size {sets.sum(axis=1).mean():.2f}")

# %%
# hedgerow fits all rows and calibrates on out-of-bag rows.

forest = RandomForestClassifier(100, decision=Coverage(0.95), random_state=0).fit(
    X_train, y_train
)
sets = forest.predict_set(X_test)
kept = sets[np.arange(len(y_test)), y_test].mean()
print(f"hedgerow truth in the set {kept:.3f}, mean size {sets.sum(axis=1).mean():.2f}")

# %%
# The disadvantage of the second is that its coverage is only approximate
# (:doc:`/explanation/guarantees`), because about a third of the trees evaluate each row.
