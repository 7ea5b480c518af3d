"""Intervals: trees that have not seen a row, and how far they were off -> where a new target lies."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.forest.forest import Forest
from hedgerow.forest.rows import Bags

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
    residuals : (k,) float64
        Absolute error of the mean of the trees that have not seen the row.
    bits : (k, T / 8) uint8
        One bit for each tree: whether it has not seen the row.
    n_trees : int
        T.
    """

    residuals: Floats
    bits: NDArray[np.uint8]
    n_trees: int

    @property
    def outside(self) -> NDArray[np.bool_]:
        """(k, T): whether the tree has not seen the row."""
        return np.unpackbits(self.bits, axis=1, count=self.n_trees).astype(bool)


def residuals_from(y: Floats, predicted: Floats, bags: Bags, n_trees: int) -> Residuals:
    """Targets and out-of-bag predictions (n,), NaN where every tree has seen the row -> residuals.

    At most `MAX_ROWS` rows are taken, evenly spread; which, depends on their numbers alone.
    """
    judged = np.flatnonzero(~np.isnan(predicted))
    if len(judged) > MAX_ROWS:
        judged = judged[np.linspace(0, len(judged) - 1, MAX_ROWS).astype(np.int64)]
    outside = np.stack([bags.outside(tree)[judged] for tree in range(n_trees)], axis=1)
    return Residuals(np.abs(y[judged] - predicted[judged]), np.packbits(outside, axis=1), n_trees)


def jackknife_plus(forest: Forest, leaves: NDArray[np.int32], residuals: Residuals, coverage: float) -> Floats:
    """Leaves (n, T) -> (n, 2): the jackknife+-after-bootstrap interval (Kim, Xu and Barber, 2020).

    For every training row i, the trees that have not seen it predict the sample and were off by R_i at the row itself;
    the interval goes from the low quantile of prediction - R_i to the high quantile of prediction + R_i. For a small
    coverage the two may cross: the interval then goes from the lower to the higher, which keeps the promise too.
    """
    assert forest.values is not None
    outside = residuals.outside.astype(np.float64)
    shares = (outside / outside.sum(axis=1, keepdims=True)).T
    n_rows = len(outside)
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
    bounds.sort(axis=1)
    return bounds
