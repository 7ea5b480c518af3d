"""
Five minutes
============

From a table to a row on which the forest abstains, and why.

.. code-block:: sh

   pip install .
"""

# %%
# An ordinary forest
# ------------------
# Biopsies of breast tumours: thirty measurements of cell nuclei, and what the tumour
# turned out to be. We keep the ten means and half of the patients.

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from hedgerow import RandomForestClassifier

data = load_breast_cancer(as_frame=True)
X = data.data.filter(regex="^mean")
y = data.target_names[data.target]
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)

forest = RandomForestClassifier(random_state=0).fit(X_train, y_train)
print(f"{forest.score(X_test, y_test):.1%} of the labels are right")

# %%
# Parameters and methods are scikit-learn's. Text columns, categories and missing values
# need no preparation.
#
# What stands behind a probability
# --------------------------------
# Two patients get much the same probability. How many cases like theirs has the forest
# seen?

probability = forest.predict_proba(X_test)[:, 1]
lower, upper = forest.predict_bounds(X_test)[:, 1].T
alike = np.flatnonzero(np.abs(probability - 0.85) < 0.02)
width = (upper - lower)[alike]
for row in (alike[width.argmin()], alike[width.argmax()]):
    print(f"{probability[row]:.2f}, somewhere in [{lower[row]:.2f}, {upper[row]:.2f}]")

# %%
# The bounds are the range of the probability if each leaf had one more row
# (``caution=1``), for or against. Where leaves are small they lie far apart.
#
# Prediction sets
# ---------------
# ``predict_set`` keeps every class that is not clearly worse than another.

chosen = forest.predict_set(X_test)
undecided = chosen.sum(axis=1) > 1
right = forest.predict(X_test) == y_test
print(f"{undecided.sum()} of {len(X_test)} patients are undecided")
print(f"labels right where it is decided:   {right[~undecided].mean():.1%}")
print(f"labels right where it is undecided: {right[undecided].mean():.1%}")

# %%
# Where the forest is undecided, its labels are no better than a coin. How careful it
# should be is one number. It can choose this number by itself, on out-of-bag rows, and
# nothing is refitted:

forest.tune(metric="u65")
print(f"chosen out of bag: caution {forest.caution:g}")
for caution in (0.0, 1.0, 3.0):
    sets = forest.set_params(caution=caution).predict_set(X_test)
    single = sets.sum(axis=1) == 1
    print(f"caution {caution:g}: {single.mean():.1%} decided, ", end="")
    print(f"{right[single].mean():.1%} of these right")

# %%
# An undecided patient
# --------------------
# Take the patient about whom the forest is most undecided, and ask why.

forest.set_params(caution=1.0)
patient = int(np.argmin(np.abs(probability - 0.5)))
why = forest.explain(X_test.iloc[[patient]])[0]
print(why.to_text())

# %%
# The uncertainty is split by its sources (:doc:`defined here </explanation/uncertainty>`).
# Then follow the remedies (further cases, the smallest change of the measurements), the
# nearest patients, the rules of two leaves in words, and the contribution of each
# measurement to the probability and to its uncertainty.
#
# This is enough to start with. Next: :doc:`/how-to/choose`, or
# :doc:`the same on the command line </how-to/command-line>`.
