"""Moments of the ancestors of small leaves, which show the variance of targets."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hedgerow.forest.forest import Forest
from hedgerow.forest.moments import LeafMoments
from hedgerow.forest.walk import TreeArrays

Floats = NDArray[np.float64]


def ancestor_moments(forest: Forest, least: int) -> tuple[Floats, Floats] | None:
    """Return moments of the smallest ancestor of each leaf with `least` rows.

    Mean and variance are (L,). A leaf with enough rows is its own ancestor, and the root stands in for trees with fewer
    rows. None if all leaves have enough rows.
    """
    held = forest.evidence
    assert isinstance(held, LeafMoments)
    if (held.counts >= least).all():
        return None
    means, variances = np.empty(held.n_leaves), np.empty(held.n_leaves)
    for number in range(forest.n_trees):
        tree = TreeArrays(forest, number)
        at, own = ancestor_at(tree, least), tree.evidence
        assert isinstance(own, LeafMoments)
        first, last = tree.leaves
        means[first:last], variances[first:last] = own.mean[at], own.variances[at]
    return means, variances


def ancestor_at(tree: TreeArrays, least: int) -> NDArray[np.int64]:
    """Return the smallest ancestor of each leaf of a tree with at least `least` rows."""
    at = np.empty(tree.n_leaves, dtype=np.int64)
    at[tree.nodes.payload[tree.is_leaf]] = np.flatnonzero(tree.is_leaf)
    while True:
        few = (tree.rows[at] < least) & (tree.parent[at] >= 0)
        if not few.any():
            return at
        at[few] = tree.parent[at[few]]
