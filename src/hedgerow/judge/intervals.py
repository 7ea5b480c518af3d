"""Intervals: out-of-bag errors of training rows -> intervals for new targets."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.forest.rows import Bags

Floats = NDArray[np.float64]

#: An interval is calibrated on at most this many training rows; more would cost more and hardly change it.
MAX_ROWS = 4096
#: Predictions without a row are in memory for at most this many pairs of samples and rows at a time.
_CELLS = 1 << 22


@dataclass(frozen=True, eq=False, repr=False)
class Residuals:
    """Out-of-bag errors of some training rows, and which trees they come from.

    Parameters
    ----------
    residuals : (k,) float64
        Absolute error of the mean of the trees whose bags do not hold the row.
    bits : (k, T / 8) uint8
        One bit for each tree: whether its bag does not hold the row.
    n_trees : int
        T.
    """

    residuals: Floats
    bits: NDArray[np.uint8]
    n_trees: int

    @property
    def outside(self) -> NDArray[np.bool_]:
        """(k, T): whether the bag of the tree does not hold the row."""
        return np.unpackbits(self.bits, axis=1, count=self.n_trees).astype(bool)


def residuals_from(y: Floats, predicted: Floats, bags: Bags, n_trees: int) -> Residuals:
    """Targets and out-of-bag predictions (n,), NaN if every bag holds the row -> residuals.

    At most `MAX_ROWS` rows are used, evenly spread by their numbers.
    """
    judged = np.flatnonzero(~np.isnan(predicted))
    if len(judged) > MAX_ROWS:
        judged = judged[np.linspace(0, len(judged) - 1, MAX_ROWS).astype(np.int64)]
    outside = np.stack([bags.outside(tree)[judged] for tree in range(n_trees)], axis=1)
    return Residuals(np.abs(y[judged] - predicted[judged]), np.packbits(outside, axis=1), n_trees)


def jackknife_plus(
    leaves: NDArray[Any], values_at: Callable[[NDArray[Any]], Floats], residuals: Residuals, coverage: float
) -> Floats:
    """Leaves (n, T), and what says their predictions -> (n, 2): the jackknife+-after-bootstrap interval.

    (Kim, Xu and Barber, 2020.)

    For every training row i, the trees whose bags do not hold it predict the sample; at the row itself they are off by
    R_i. The interval goes from the low quantile of prediction - R_i to the high quantile of prediction + R_i. With a
    small coverage the two may cross; then the interval goes from the lower to the higher one, which keeps the promise.
    """
    outside = residuals.outside.astype(np.float64).T
    n_rows = outside.shape[1]
    rank = math.ceil(round(coverage * (n_rows + 1), 9))  # among n + 1 equally likely ranks of the new row
    bounds = np.tile([-np.inf, np.inf], (len(leaves), 1))
    if rank > n_rows:
        return bounds
    block = max(1, _CELLS // n_rows)
    for first in range(0, len(leaves), block):
        part = slice(first, first + block)
        predicted = means_outside(values_at(leaves[part]), outside)
        bounds[part, 0] = np.partition(predicted - residuals.residuals, n_rows - rank, axis=1)[:, n_rows - rank]
        bounds[part, 1] = np.partition(predicted + residuals.residuals, rank - 1, axis=1)[:, rank - 1]
    bounds.sort(axis=1)
    return bounds


def means_outside(values: Floats, outside: Floats) -> Floats:
    """What trees say (n, T), 1 where they have not seen a row (T, k) -> (n, k): the mean over the trees that have not.

    The values of each sample are rounded to a grid of their own on which sums are whole numbers below 2^53: they are
    exact in any order, and so do not depend on the other samples. More than forty bits of the largest value remain.
    """
    room = 52 - values.shape[1].bit_length()
    exponent = np.frexp(np.abs(values).max(axis=1, keepdims=True))[1]
    exponent = np.maximum(exponent, room - 1074)  # no number is finer than 2^-1074
    means: Floats = np.rint(np.ldexp(values, room - exponent)) @ outside
    means /= outside.sum(axis=0)
    means *= np.ldexp(1.0, exponent - room)
    return means
