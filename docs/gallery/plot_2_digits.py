"""
Digits: prediction sets of ten classes, with target coverage
============================================================

A scanner reads digits on forms. If it hesitates between two digits, a clerk types in the
right one; if it hesitates between all, the form goes back. The postmaster wants to know how
often the true digit is among those offered.
"""

# %%
# Sets
# ----
# We use few training rows on purpose: 300 of 1,797.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from hedgerow import RandomForestClassifier
from hedgerow.decisions import Coverage
from hedgerow.metrics import coverage, u80

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=300, random_state=0)
forest = RandomForestClassifier(200, random_state=0).fit(X_train, y_train)
print(f"accuracy {forest.score(X_test, y_test):.3f}")

for rule, decision in (
    ("average", "dominance"),
    ("average", "u80"),
    ("belief", "dominance"),
    ("cdm_vote", "auto"),
):
    forest.set_params(rule=rule, decision=decision)
    sets = forest.predict_set(X_test)
    kept, size, worth = coverage(y_test, sets), sets.sum(axis=1).mean(), u80(y_test, sets)
    print(f"{rule:9} {decision:10} digits offered {size:.2f}, ", end="")
    print(f"truth among them {kept:.3f}, worth (u80) {worth:.3f}")

# %%
# Interval dominance keeps a digit unless another is certainly better. The bounds around
# calibrated probabilities are narrow, so most digits are decided. Sets by utility balance
# the size of a set against its chance of containing the digit.
#
# Target coverage
# ---------------
# The sets of ``Coverage`` contain the true class, for example in 95 of 100 cases, without
# an assumption about the forest. It is calibrated on out-of-bag rows, so no rows are held
# out; in return, coverage is only approximate (:doc:`/explanation/guarantees`).

forest.set_params(rule="average")
for target in (0.8, 0.9, 0.95, 0.99):
    forest.set_params(decision=Coverage(target))
    sets = forest.predict_set(X_test)
    kept, size = coverage(y_test, sets), sets.sum(axis=1).mean()
    print(f"target {target:.2f}, coverage {kept:.3f}, digits offered {size:.2f}")

# %%
# Digits it cannot read
# ---------------------

forest.set_params(decision=Coverage(0.95))
sets = forest.predict_set(X_test)
worst = np.argsort(-sets.sum(axis=1), kind="stable")[:8]
fig, axes = plt.subplots(1, 8, figsize=(9, 1.8), layout="constrained")
for ax, row in zip(axes, worst, strict=True):
    ax.imshow(X_test[row].reshape(8, 8), cmap="Greys")
    ax.set_title(" ".join(map(str, np.flatnonzero(sets[row]))), fontsize=8)
    ax.set_xlabel(f"is {y_test[row]}", fontsize=8)
    ax.set(xticks=[], yticks=[])
plt.show()
