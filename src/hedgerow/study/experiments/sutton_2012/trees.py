"""Errors and leaves of trees for every candidate of the tuned parameter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow import DecisionTreeClassifier
from hedgerow.belief import mass_from_counts, mass_from_pairs
from hedgerow.criteria import BeliefGain

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Rows to fit, classes, rows to test -> predicted classes (candidates, n) and leaves (candidates,).
Grow = Callable[[Floats, Ints, Floats], tuple[Ints, Ints]]


def belief_trees(lams: Sequence[float], min_rows: int, nominal: Any = None, **mass: Any) -> Grow:
    """Return a function that grows one tree for each candidate of lam."""

    def grow(X: Floats, y: Ints, X_test: Floats) -> tuple[Ints, Ints]:
        trees = [_tree(BeliefGain(lam, **mass), min_rows, nominal).fit(X, y) for lam in lams]
        return np.array([tree.predict(X_test) for tree in trees]), np.array([tree.get_n_leaves() for tree in trees])

    return grow


def gini_trees(thresholds: Sequence[float], min_rows: int, nominal: Any = None) -> Grow:
    """Return a function that grows one tree for each candidate of the least gain.

    The gain is that of the node itself, as in the paper's equation 1, so all candidates are tops of one tree: a node is
    a leaf if its best split, or that of a node above it, gains no more than the threshold.
    """

    def grow(X: Floats, y: Ints, X_test: Floats) -> tuple[Ints, Ints]:
        model = _tree("gini", min_rows, nominal).fit(X, y)
        tree, reached = model.tree_, model.apply(X_test)
        least = least_gain_above(tree.parent, tree.counts)
        guesses, leaves = [], []
        for threshold in thresholds:
            stop = _last_open(tree.parent, least > threshold)
            guesses.append(model.classes_[tree.counts.argmax(axis=1)[stop[reached]]])
            leaves.append(len(np.unique(stop[tree.is_leaf])))
        return np.array(guesses), np.array(leaves)

    return grow


def pairwise_trees(lams: Sequence[float], min_rows: int, decision: str = "pignistic") -> Grow:
    """Return a function that combines a tree per pair of classes for each lam."""

    def grow(X: Floats, y: Ints, X_test: Floats) -> tuple[Ints, Ints]:
        pairs = list(combinations(np.unique(y).tolist(), 2))
        guesses, leaves = [], []
        for lam in lams:
            masses, n_leaves = [], 0
            for pair in pairs:
                rows = np.isin(y, pair)
                model = _tree(BeliefGain(lam), min_rows).fit(X[rows], y[rows])
                masses.append(mass_from_counts(model.tree_.counts[model.apply(X_test)], model="dabt"))
                n_leaves += model.get_n_leaves()
            guesses.append(decide_among_pairs(np.stack(masses, axis=1), len(np.unique(y)), decision))
            leaves.append(n_leaves)
        return np.array(guesses), np.array(leaves)

    return grow


def least_gain_above(parent: Ints, counts: Ints) -> Floats:
    """Return the least Gini gain (N,) among the splits above each node."""
    amount = counts.sum(axis=1)
    impurity = 1 - ((counts / np.maximum(amount, 1)[:, None]) ** 2).sum(axis=1)
    gain = impurity.copy()
    below = np.arange(1, len(parent))
    np.subtract.at(gain, parent[below], amount[below] / amount[parent[below]] * impurity[below])
    least = np.full(len(parent), np.inf)
    for node in below:  # parents precede their children
        least[node] = min(least[parent[node]], gain[parent[node]])
    return least


def decide_among_pairs(masses: Floats, n_classes: int, decision: str) -> Ints:
    """Return classes (n,) by pignistic probability, belief or plausibility."""
    combined = mass_from_pairs(masses)
    subsets = np.arange(1 << n_classes)
    members = (subsets[:, None] >> np.arange(n_classes)) & 1  # (2^K, K)
    size = members.sum(axis=1, keepdims=True)
    shares = {
        "pignistic": members / np.maximum(size, 1),
        "belief": members * (size == 1),
        "plausibility": members,
    }[decision]
    # rounding must not separate equal classes
    chosen: Ints = (combined @ shares).round(9).argmax(axis=1)
    return chosen


def _tree(criterion: Any, min_rows: int, nominal: Any = None) -> DecisionTreeClassifier:
    """Return a tree as in the paper: all features, and a minimum number of rows."""
    return DecisionTreeClassifier(
        criterion=criterion, min_samples_leaf=min_rows, categorical_features=nominal, random_state=0
    )


def _last_open(parent: Ints, is_open: NDArray[np.bool_]) -> Ints:
    """Return the node itself (N,) if it is open, else the last open node above it."""
    stop = np.arange(len(parent))
    for node in range(1, len(parent)):
        if not is_open[node]:
            stop[node] = stop[parent[node]]
    return stop
