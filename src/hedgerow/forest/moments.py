"""Moments: what the leaves of a regression tree remember -> counts, means and variances of all its nodes."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.forest.tree import Forest, Tree
from hedgerow.table import Schema
from hedgerow.table.bins import Bins

Floats = NDArray[np.float64]


class NumberTree(Tree):
    """One tree of a fitted regressor: read-only arrays over nodes, and a root to walk from.

    Attributes
    ----------
    counts : (N, 1) int64
        Rows at each node, as often as the bag holds them.
    mean, variance : (N,) float64
        Of the targets at each node, by weight.
    value : (N,) float64
        What a leaf predicts: its mean, or its median where absolute errors were reduced; the mean of other nodes.
    feature, threshold, parent, first_child, n_children, node_depth, missing_left
        As in `Tree`.
    """

    def __init__(self, forest: Forest, number: int, bins: Bins, schema: Schema) -> None:
        super().__init__(forest, number, bins, schema, np.array(["rows"]))

    @cached_property
    def _moments(self) -> Floats:
        """(N, 3): weight, mean and variance of each node."""
        leaves = leaf_moments(self._forest, self._number)
        weight, mean, variance = leaves.T
        centre = np.average(mean, weights=weight)  # near the numbers, so that squares do not swallow their differences
        away = mean - centre
        sums = self._sums(np.column_stack([weight, weight * away, weight * (variance + away**2)]))
        means = sums[:, 1] / sums[:, 0]
        moments = np.column_stack([sums[:, 0], centre + means, np.maximum(sums[:, 2] / sums[:, 0] - means**2, 0)])
        moments[self.is_leaf] = leaves[self._payload[self.is_leaf]]
        return moments

    @property
    def weight(self) -> Floats:
        """(N,) weight of the rows at each node; their number where rows have no weights."""
        return self._moments[:, 0]

    @property
    def mean(self) -> Floats:
        """(N,) mean target at each node."""
        return self._moments[:, 1]

    @property
    def variance(self) -> Floats:
        """(N,) variance of the targets at each node."""
        return self._moments[:, 2]

    @cached_property
    def value(self) -> Floats:
        """(N,) what a leaf predicts; the mean of other nodes."""
        assert self._forest.values is not None
        first, last = self._forest.leaf_start[self._number], self._forest.leaf_start[self._number + 1]
        result = self.mean.copy()
        result[self.is_leaf] = self._forest.values[first:last][self._payload[self.is_leaf]]
        return result

    def impurity(self, criterion: str) -> Floats:
        """(N,) impurity of each node: variance, or half the mean Poisson deviance up to a constant of the tree."""
        if criterion != "poisson":
            return self.variance
        return np.asarray(-self.mean * np.log(np.where(self.mean > 0, self.mean, 1.0)))

    def leaf_moments(self, nodes: NDArray[np.int64]) -> dict[str, Any]:
        """Nodes (m,) that become leaves -> what a forest keeps of them."""
        means = None if self._forest.means is None else self.mean[nodes]
        return {"values": self.value[nodes], "means": means, "variances": self.variance[nodes]}

    def _held(self, node: int, decimals: int) -> str:
        rows = int(self.counts[node, 0])
        deviation = float(np.sqrt(self.variance[node]))
        spread = f" ± {deviation:.{decimals}f}" if rows > 1 else ""
        return f"{self.value[node]:.{decimals}f}{spread} ({rows} {'row' if rows == 1 else 'rows'})"


def leaf_moments(forest: Forest, tree: int) -> Floats:
    """-> (leaves of the tree, 3): weight, mean and variance."""
    span = slice(forest.leaf_start[tree], forest.leaf_start[tree + 1])
    assert forest.values is not None
    assert forest.variances is not None
    weight = forest.counts if forest.weights is None else forest.weights
    mean = forest.values if forest.means is None else forest.means
    return np.column_stack([weight[span].astype(np.float64), mean[span], forest.variances[span]])


def error_importance(tree: Any, n_features: int, criterion: str) -> Floats:
    """-> (p,) decrease of squared error (or Poisson deviance) at the splits on each feature, summing to one or zero."""
    error = tree.weight * tree.impurity(criterion)
    children = np.flatnonzero(tree.parent >= 0)
    below = np.bincount(tree.parent[children], weights=error[children], minlength=tree.n_nodes)
    inner = np.flatnonzero(~tree.is_leaf)
    gain = np.bincount(tree.feature[inner], weights=error[inner] - below[inner], minlength=n_features)
    gain = np.maximum(gain, 0).astype(np.float64)
    return np.asarray(gain / gain.sum() if gain.sum() > 0 else gain)
