"""
Biopsies: who goes to the second reader?
========================================

A laboratory can have some biopsies read twice. Which ones? Those about which the forest
is undecided.
"""

# %%
# The data and the cost of being wrong
# ------------------------------------
# 569 biopsies; missing a malignant tumour is worse than a second look at a benign one.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import StratifiedKFold

from hedgerow import RandomForestClassifier, decide
from hedgerow.decisions import EAdmissibility
from hedgerow.metrics import confusion_matrix_with_sets, u65

data = load_breast_cancer()
X, y = data.data, data.target_names[data.target]
forest = RandomForestClassifier(200, min_samples_leaf=2, random_state=0)

# %%
# Five-fold cross-validation: every patient is evaluated by a forest fitted without her.

lower, upper, probability = (np.empty((len(y), 2)) for _ in range(3))
sets = np.empty((len(y), 2), dtype=bool)
for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
    forest.fit(X[train], y[train])
    opinion = forest.evidence(X[test]).combine(caution=2.0)
    lower[test], upper[test], probability[test] = (
        opinion.lower,
        opinion.upper,
        opinion.probability,
    )
    sets[test] = decide(opinion)

open_ = sets.sum(axis=1) > 1
label = forest.classes_[probability.argmax(axis=1)]
wrong = label != y
print(f"{open_.sum()} of {len(y)} go to the second reader")
print(f"errors among the others: {wrong[~open_].sum()}; among these: {wrong[open_].sum()}")
print(f"u65 {u65(y, sets, classes=forest.classes_):.3f}")

# %%
# Comparison with plain probabilities
# -----------------------------------
# Choose the same number of patients by the plain probability instead, and by chance.

by_probability = np.argsort(np.abs(probability[:, 1] - 0.5))[: open_.sum()]
print(f"of {wrong.sum()} errors")
print(f"{wrong[open_].sum()} are caught by sets")
print(f"{wrong[by_probability].sum()} by probability")
print(f"{wrong.mean() * open_.sum():.1f} by chance")

# %%
# Here both find much the same patients: with 450 training biopsies, the uncertainty is
# mostly overlap of the classes. The advantage of sets is that nobody had to choose the
# number of patients.
#
# Costs
# -----
# If each mistake has a price (a missed tumour costs as much as ten unnecessary operations),
# a decision compares expected costs over all distributions between the bounds. There are
# three actions: treat as benign, treat as malignant, or ask a second reader, which costs
# half an operation.

cost = np.array([[0, 10], [1, 0], [0.5, 0.5]])  # action x (benign, malignant)
one = RandomForestClassifier(200, min_samples_leaf=2, random_state=0).fit(X[::2], y[::2])
opinion = one.evidence(X[1::2]).combine(caution=2.0)
actions = decide(opinion, EAdmissibility(utility=-cost))
names = np.array(["benign", "malignant", "second reader"])
for pattern, number in zip(*np.unique(actions, axis=0, return_counts=True), strict=True):
    print(f"{number:4} patients: {' or '.join(names[pattern])}")

# %%
# All patients at a glance
# ------------------------

order = np.argsort(probability[:, 1])
place = np.arange(len(y))
fig, axes = plt.subplots(figsize=(8, 3.5), layout="constrained")
axes.vlines(
    place,
    lower[order, 1],
    upper[order, 1],
    color=np.where(open_[order], "C1", "C0"),
    linewidth=1,
)
axes.plot(place, y[order] == "malignant", "k|", markersize=3)
axes.axhline(0.5, color="grey", linewidth=0.8)
axes.set(
    xlabel="patients, by probability",
    ylabel="probability of malignant",
    title="Orange: second reader. Ticks: truth.",
)
plt.show()

# %%
confusion = confusion_matrix_with_sets(y, sets, classes=forest.classes_)
print(confusion)
