"""Out-of-bag residuals of training rows, and intervals and quantiles for new targets."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.belief.calibrate import gain_of
from hedgerow.forest.forest import Forest
from hedgerow.forest.rows import Bags, spread_evenly
from hedgerow.table.bins import Codes

Floats = NDArray[np.float64]

#: How intervals are made: scaled to the spread of the trees at the sample, or by the jackknife+-after-bootstrap.
METHODS = ("auto", "scaled", "jackknife+")
#: An interval is calibrated on at most this many training rows; more would cost more and hardly change it.
MAX_ROWS = 4096
#: This share of the mean squared error is added to the variance at every sample. Chosen on five tables out of 0 to .3.
EVERYWHERE = 0.03
#: No scaled residual is larger: none of k errors is above the root of k times their mean square.
MAX_SCALED = math.sqrt(MAX_ROWS / EVERYWHERE)
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
    scaled : (m,) float64 or None
        The errors with their signs, divided by the spread of the same trees at the row, ascending; of rows that at
        least two trees predict out of bag. None in models that were saved before there were any.
    mean_square : float
        The mean squared error, of which a share belongs to the spread everywhere.
    """

    residuals: Floats
    bits: NDArray[np.uint8]
    n_trees: int
    scaled: Floats | None = None
    mean_square: float = 0.0

    @property
    def oob(self) -> NDArray[np.bool_]:
        """(k, T): whether the bag of the tree does not hold the row."""
        return np.unpackbits(self.bits, axis=1, count=self.n_trees).astype(bool)


class TreeMoments(NamedTuple):
    """What trees say of n samples: the mean prediction, its variance between trees and that within leaves, (n,)."""

    mean: Floats
    between: Floats
    within: Floats

    def spread(self, mean_square: float) -> Floats:
        """Mean squared error of the forest -> (n,): the standard deviation to which residuals are scaled."""
        return np.asarray(np.sqrt(self.between + self.within + EVERYWHERE * mean_square))


def calibration_rows(n_rows: int) -> NDArray[np.int64]:
    """-> (k,): at most `MAX_ROWS` of n rows, evenly spread."""
    return spread_evenly(n_rows, MAX_ROWS)


def learn_residuals(
    forest: Forest, rows: NDArray[np.int64], codes: Codes, y: Floats, bags: Bags, n_threads: int
) -> Residuals:
    """Training rows (k,), their codes (p, k) and targets (k,) -> the residuals of those that some tree has not seen."""
    oob = bags.oob_each(forest.n_trees, rows)
    used = oob.any(axis=1)
    return residuals_from(forest, forest.leaves(codes, n_threads)[used], y[used], oob[used], bags)


def residuals_from(
    forest: Forest, leaves: NDArray[np.int32], y: Floats, oob: NDArray[np.bool_], bags: Bags
) -> Residuals:
    """Leaves (k, T) of training rows, their targets (k,), which trees have not seen them (k, T) -> residuals.

    Some tree must not have seen each row. Scaled residuals are divided by a factor for the number of trees: out of bag
    a row has fewer trees than a new sample, so its mean and its spread are less exact. The factor is that of classes.
    """
    moments = oob_moments(forest, leaves, oob)
    errors = y - moments.mean
    mean_square = float(np.mean(errors**2)) if len(errors) else 0.0
    steady = oob.sum(axis=1) >= min(2, forest.n_trees)
    spread = moments.spread(mean_square)[steady]
    scaled = np.divide(errors[steady], spread, out=np.zeros(len(spread)), where=spread > 0)
    scaled /= gain_of(forest.n_trees, bags.average)
    scaled.sort()
    return Residuals(np.abs(errors), np.packbits(oob, axis=1), forest.n_trees, scaled, mean_square)


def oob_moments(forest: Forest, leaves: NDArray[np.int32], oob: NDArray[np.bool_]) -> TreeMoments:
    """Leaves (k, T) of rows, and which trees have not seen them -> the moments over these trees."""
    assert forest.values is not None
    assert forest.variances is not None
    at, number = leaves + forest.leaf_start[:-1], oob.sum(axis=1)
    values = forest.values[at]
    mean = (values * oob).sum(axis=1) / number
    between = ((values - mean[:, None]) ** 2 * oob).sum(axis=1) / np.maximum(number - 1, 1)
    return TreeMoments(mean, between, (forest.variances[at] * oob).sum(axis=1) / number)


def scaled_interval(moments: TreeMoments, residuals: Residuals, coverage: float) -> Floats:
    """Moments of n samples -> (n, 2): mean + spread times a low and a high scaled residual.

    Each end is missed with probability (1 - coverage) / 2 if the scaled residual of a new row is equally likely to have
    each of the n + 1 ranks among those of training rows.
    """
    assert residuals.scaled is not None
    scaled = residuals.scaled
    rank = math.floor(round((1 - coverage) / 2 * (len(scaled) + 1), 9))
    if rank < 1:
        return np.tile([-np.inf, np.inf], (len(moments.mean), 1))
    return moments.mean[:, None] + moments.spread(residuals.mean_square)[:, None] * scaled[[rank - 1, -rank]]


def scaled_quantiles(moments: TreeMoments, residuals: Residuals, quantiles: Floats) -> Floats:
    """Moments of n samples, quantiles (q,) -> (n, q): mean + spread times quantiles of the scaled residuals.

    Ranks are those of `scaled_interval`, with a straight line between two; beyond the first and the last the quantile
    is infinite.
    """
    assert residuals.scaled is not None
    scaled = residuals.scaled
    place = np.round(quantiles * (len(scaled) + 1), 9) - 1
    inside = (place >= 0) & (place <= len(scaled) - 1)
    found = np.tile(np.where(place < 0, -np.inf, np.inf), (len(moments.mean), 1))
    if inside.any():
        at = np.interp(place[inside], np.arange(len(scaled)), scaled)
        found[:, inside] = moments.mean[:, None] + moments.spread(residuals.mean_square)[:, None] * at
    return found


def jackknife_plus(
    leaves: NDArray[Any], values_at: Callable[[NDArray[Any]], Floats], residuals: Residuals, coverage: float
) -> Floats:
    """Leaves (n, T), and what says their predictions -> (n, 2): the jackknife+-after-bootstrap interval.

    (Kim, Xu and Barber, 2020.)

    For every training row i, the trees whose bags do not hold it predict the sample; at the row itself they are off by
    R_i. The interval goes from the low quantile of prediction - R_i to the high quantile of prediction + R_i. With a
    small coverage the two may cross; then the interval goes from the lower to the higher one, which keeps the promise.
    """
    oob = residuals.oob.astype(np.float64).T
    n_rows = oob.shape[1]
    rank = math.ceil(round(coverage * (n_rows + 1), 9))  # among n + 1 equally likely ranks of the new row
    bounds = np.tile([-np.inf, np.inf], (len(leaves), 1))
    if rank > n_rows:
        return bounds
    block = max(1, _CELLS // n_rows)
    for first in range(0, len(leaves), block):
        part = slice(first, first + block)
        predicted = oob_means(values_at(leaves[part]), oob)
        bounds[part, 0] = np.partition(predicted - residuals.residuals, n_rows - rank, axis=1)[:, n_rows - rank]
        bounds[part, 1] = np.partition(predicted + residuals.residuals, rank - 1, axis=1)[:, rank - 1]
    bounds.sort(axis=1)
    return bounds


def oob_means(values: Floats, oob: Floats) -> Floats:
    """What trees say (n, T), 1 where they have not seen a row (T, k) -> (n, k): the mean over the trees that have not.

    The values of each sample are rounded to a grid of their own on which sums are whole numbers below 2^53: they are
    exact in any order, and so do not depend on the other samples. More than forty bits of the largest value remain.
    """
    room = 52 - values.shape[1].bit_length()
    exponent = np.frexp(np.abs(values).max(axis=1, keepdims=True))[1]
    exponent = np.maximum(exponent, room - 1074)  # no number is finer than 2^-1074
    means: Floats = np.rint(np.ldexp(values, room - exponent)) @ oob
    means /= oob.sum(axis=0)
    means *= np.ldexp(1.0, exponent - room)
    return means
