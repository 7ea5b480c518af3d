"""Intervals: trees that have not seen a row, and how far they were off -> where a new target lies."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.fold import OutOfBag, out_of_bag_rows
from hedgerow.tree import Forest

Floats = NDArray[np.float64]

#: At most this many training rows calibrate an interval; more would hardly change it and cost as much again.
MAX_ROWS = 4096
#: Predictions without a row are held for at most this many pairs of samples and rows at a time.
_CELLS = 1 << 22


@dataclass(frozen=True, eq=False, repr=False)
class Residuals:
    """How far off, for some training rows, the trees were that have not seen them.

    Parameters
    ----------
    rows : (k,) int64
        Which of the `n_rows` training rows.
    residuals : (k,) float64
        Absolute error of the mean of the trees that have not seen the row.
    n_rows, seed, bag_mean : int, int, float
        What the bags were drawn with.
    """

    rows: NDArray[np.int64]
    residuals: Floats
    n_rows: int
    seed: int
    bag_mean: float

    def outside(self, n_trees: int) -> NDArray[np.bool_]:
        """-> (k, T): whether the tree has not seen the row."""
        bags = OutOfBag(self.seed, self.bag_mean, None)
        return np.stack([out_of_bag_rows(bags, tree, self.n_rows)[self.rows] for tree in range(n_trees)], axis=1)


def residuals_from(y: Floats, predicted: Floats, seed: int, bag_mean: float) -> Residuals:
    """Targets and out-of-bag predictions (n,), NaN where every tree has seen the row -> residuals.

    At most `MAX_ROWS` rows are taken; which, depends on their numbers alone.
    """
    judged = np.flatnonzero(~np.isnan(predicted))
    if len(judged) > MAX_ROWS:
        judged = judged[np.linspace(0, len(judged) - 1, MAX_ROWS).astype(np.int64)]
    return Residuals(judged, np.abs(y[judged] - predicted[judged]), len(y), seed, bag_mean)


def jackknife_plus(forest: Forest, leaves: NDArray[np.int32], residuals: Residuals, coverage: float) -> Floats:
    """Leaves (n, T) -> (n, 2): the jackknife+-after-bootstrap interval (Kim, Xu and Barber, 2020).

    For every training row i, the trees that have not seen it predict the sample and were off by R_i at the row itself;
    the interval goes from the low quantile of prediction - R_i to the high quantile of prediction + R_i.
    """
    assert forest.values is not None
    outside = residuals.outside(forest.n_trees).astype(np.float64)
    shares = (outside / outside.sum(axis=1, keepdims=True)).T
    n_rows = len(residuals.rows)
    rank = math.ceil(round(coverage * (n_rows + 1), 9))  # of n + 1 equally likely places of the new one
    bounds = np.tile([-np.inf, np.inf], (len(leaves), 1))
    if rank > n_rows:
        return bounds
    block = max(1, _CELLS // n_rows)
    for first in range(0, len(leaves), block):
        part = slice(first, first + block)
        predicted = forest.values[leaves[part] + forest.leaf_start[:-1]] @ shares
        bounds[part, 0] = np.partition(predicted - residuals.residuals, n_rows - rank, axis=1)[:, n_rows - rank]
        bounds[part, 1] = np.partition(predicted + residuals.residuals, rank - 1, axis=1)[:, rank - 1]
    return bounds
