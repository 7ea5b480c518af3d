"""Out-of-bag residuals, and the intervals and quantiles made from them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.belief.calibrate import gain_of
from hedgerow.forest.forest import Forest
from hedgerow.forest.rows import Bags
from hedgerow.table.bins import Codes
from hedgerow.table.schema import Array

Floats = NDArray[np.float64]

#: Interval methods: residuals scaled by the spread of the trees, or the jackknife+-after-bootstrap.
METHODS = ("auto", "scaled", "jackknife+")
#: Interval method of multi-output models, whose intervals together are a box.
JOINT = "joint"
#: Largest number of calibration rows; more would cost time and hardly change an interval.
MAX_ROWS = 4096
#: Share of the mean squared error that is added to every variance. Chosen on five tables from 0 to 0.3.
EVERYWHERE = 0.03
#: Bound on scaled residuals: none of k errors exceeds the root of k times their mean square.
MAX_SCALED = math.sqrt(MAX_ROWS / EVERYWHERE)
#: Largest number of pairs of samples and calibration rows in memory at once.
_CELLS = 1 << 22


@dataclass(frozen=True, eq=False, repr=False)
class Residuals:
    """Out-of-bag residuals of calibration rows.

    Parameters
    ----------
    residuals : (k,) float64
        Absolute errors of the out-of-bag means.
    bits : (k, T / 8) uint8
        One bit per tree: whether the row is out of bag.
    n_trees : int
        Number of trees T.
    scaled : (m,) float64 or None
        Signed errors divided by the spread of the same trees at the row, ascending, for rows that are out of bag for at
        least two trees. None in models saved by early versions.
    mean_square : float
        The mean squared error, a share of which is added to every variance.
    scaled_high : (m,) float64 or None
        The same as `scaled` for the high ends of targets, if some are intervals; `scaled` is then of the low ends, and
        absolute errors are those of the farther end.
    """

    residuals: Floats
    bits: NDArray[np.uint8]
    n_trees: int
    scaled: Floats | None = None
    mean_square: float = 0.0
    scaled_high: Floats | None = None

    @property
    def oob(self) -> NDArray[np.bool_]:
        """Whether each row is out of bag for each tree, (k, T)."""
        return np.unpackbits(self.bits, axis=1, count=self.n_trees).astype(bool)


class TreeMoments(NamedTuple):
    """Mean, variance between trees and variance within leaves of n samples."""

    mean: Floats
    between: Floats
    within: Floats

    def spread(self, mean_square: float) -> Floats:
        """Return the standard deviation by which residuals are scaled, (n,)."""
        return np.asarray(np.sqrt(self.between + self.within + EVERYWHERE * mean_square))


def learn_residuals(
    forest: Forest,
    rows: NDArray[np.int64],
    codes: Codes,
    y: Floats,
    bags: Bags,
    n_threads: int,
    predicted: Floats | None = None,
    factors: Floats | None = None,
    halves: Floats | None = None,
) -> Residuals:
    """Compute the residuals of training rows (k,) that are out of bag for some tree.

    `predicted` are their out-of-bag predictions if these are not the means of trees; NaN for rows to leave out.
    `factors` are those of `oob_moments`.
    """
    oob = bags.oob_each(forest.n_trees, rows)
    used = oob.any(axis=1) if predicted is None else ~np.isnan(predicted)
    of_used, wide = (None if held is None else held[used] for held in (predicted, halves))
    leaves = forest.leaves(codes, n_threads)[used]
    return residuals_from(forest, leaves, y[used], oob[used], bags, of_used, factors, wide)


def residuals_from(
    forest: Forest,
    leaves: NDArray[np.int32],
    y: Floats,
    oob: NDArray[np.bool_],
    bags: Bags,
    predicted: Floats | None = None,
    factors: Floats | None = None,
    halves: Floats | None = None,
) -> Residuals:
    """Compute residuals from leaves (k, T) and out-of-bag mask (k, T) of rows.

    Each row must be out of bag for some tree. Scaled residuals are divided by a gain for the number of trees, the same
    as in classification: a training row has fewer out-of-bag trees than a new sample, so its mean and its spread are
    less exact. `predicted` (k,) replaces the out-of-bag means; `factors` are
    those of `oob_moments`. If targets are intervals, `halves` (k,) are their half widths and `y` their midpoints.
    """
    moments = oob_moments(forest, leaves, oob, factors)
    if predicted is not None:
        moments = moments._replace(mean=predicted)
    errors = y - moments.mean
    largest = np.abs(errors) if halves is None else np.abs(errors) + halves
    mean_square = float(np.mean(largest**2)) if len(errors) else 0.0
    ends = (errors,) if halves is None else (errors - halves, errors + halves)
    scaled = [_scaled_errors(forest, moments, end, mean_square, oob) for end in ends]
    alike = forest.n_trees if factors is None else round(factors.sum() ** 2 / (factors**2).sum())
    for each in scaled:
        each /= gain_of(max(1, alike), bags.average)
        each.sort()
    low, high = scaled[0], scaled[1] if len(scaled) > 1 else None
    return Residuals(largest, np.packbits(oob, axis=1), forest.n_trees, low, mean_square, high)


def absolute_scaled(
    forest: Forest,
    leaves: NDArray[np.int32],
    y: Floats,
    oob: NDArray[np.bool_],
    predicted: Floats | None = None,
    factors: Floats | None = None,
) -> Floats:
    """Return the absolute scaled residuals of rows that are out of bag for at least two trees, (m,).

    Arguments are those of `residuals_from`. Residuals are not divided by the gain for the number of trees: for few
    trees it is too large in the tails.
    """
    moments = oob_moments(forest, leaves, oob, factors)
    errors = y - (moments.mean if predicted is None else predicted)
    mean_square = float(np.mean(errors**2)) if len(errors) else 0.0
    return np.abs(_scaled_errors(forest, moments, errors, mean_square, oob))


def joint_radius(largest: Floats, coverage: float) -> float:
    """Return the number of spreads by which a box extends to all sides; infinite if there are too few rows.

    `largest` (m,) are the largest absolute scaled residuals of rows over the outputs, ascending.
    """
    rank = math.ceil(round(coverage * (len(largest) + 1), 9))
    return float(largest[rank - 1]) if rank <= len(largest) else math.inf


def _scaled_errors(
    forest: Forest, moments: TreeMoments, errors: Floats, mean_square: float, oob: NDArray[np.bool_]
) -> Floats:
    """Return the errors divided by the spread, of the rows that are out of bag for at least two trees."""
    steady = oob.sum(axis=1) >= min(2, forest.n_trees)
    spread = moments.spread(mean_square)[steady]
    return np.asarray(np.divide(errors[steady], spread, out=np.zeros(len(spread)), where=spread > 0))


def oob_moments(
    forest: Forest, leaves: NDArray[np.int32], oob: NDArray[np.bool_], factors: Floats | None = None
) -> TreeMoments:
    """Return the moments over out-of-bag trees of rows with leaves (k, T).

    With `factors` (T,) of trees, they are weighted moments of leaf means.
    """
    assert forest.values is not None
    assert forest.variances is not None
    at, number = leaves + forest.leaf_start[:-1], oob.sum(axis=1)
    values, counted, total = forest.values[at], oob.astype(np.float64), number
    if factors is not None:
        counted *= factors
        total = np.where((sums := counted.sum(axis=1)) > 0, sums, 1.0)
    mean = (values * counted).sum(axis=1) / total
    between = ((values - mean[:, None]) ** 2 * counted).sum(axis=1)
    between /= np.maximum(number - 1, 1) if factors is None else total * np.maximum(1 - 1 / number, 0.5)
    return TreeMoments(mean, between, (forest.variances[at] * counted).sum(axis=1) / total)


def scaled_interval(moments: TreeMoments, residuals: Residuals, coverage: float) -> Floats:
    """Return mean plus spread times a low and a high scaled residual, (n, 2).

    Each end is missed with probability (1 - coverage) / 2 if the scaled residual of a new row is equally likely to have
    each of the n + 1 ranks among those of training rows.
    """
    assert residuals.scaled is not None
    scaled = residuals.scaled
    rank = math.floor(round((1 - coverage) / 2 * (len(scaled) + 1), 9))
    if rank < 1:
        return np.tile([-np.inf, np.inf], (len(moments.mean), 1))
    ends = np.array([scaled[rank - 1], (scaled if residuals.scaled_high is None else residuals.scaled_high)[-rank]])
    return np.asarray(moments.mean[:, None] + moments.spread(residuals.mean_square)[:, None] * ends)


def scaled_quantiles(moments: TreeMoments, residuals: Residuals, quantiles: Floats) -> Floats:
    """Return mean plus spread times quantiles of the scaled residuals, (n, q).

    Ranks are those of `scaled_interval`, interpolated linearly; quantiles beyond the first and the last rank are
    infinite.
    """
    assert residuals.scaled is not None
    scaled = residuals.scaled
    place = scaled_place(quantiles, len(scaled))
    inside = (place >= 0) & (place <= len(scaled) - 1)
    found = np.tile(np.where(place < 0, -np.inf, np.inf), (len(moments.mean), 1))
    if inside.any():
        at = np.interp(place[inside], np.arange(len(scaled)), scaled)
        found[:, inside] = moments.mean[:, None] + moments.spread(residuals.mean_square)[:, None] * at
    return found


def scaled_place(quantiles: Floats, n: int) -> Floats:
    """Return the places of quantiles among n scaled residuals; the first is 0."""
    return np.asarray(np.round(quantiles * (n + 1), 9) - 1)


def jackknife_plus(
    leaves: Array,
    values_at: Callable[[Array], Floats],
    residuals: Residuals,
    coverage: float,
    kinds: int = 1,
) -> Floats:
    """Return the jackknife+-after-bootstrap intervals of leaves (n, T), (n, 2).

    For every training row i, the trees for which it is out of bag predict the sample; their error at the row itself is
    R_i. The interval goes from the low quantile of prediction - R_i to the high quantile of prediction + R_i (Kim, Xu
    and Barber, 2020). With a small coverage the two may cross; swapping them preserves the guarantee. `values_at`
    returns the predictions of leaves. Trees take turns to be of one of some `kinds`, which count alike.
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
        values = values_at(leaves[part])
        predicted = oob_means(values, oob) if kinds == 1 else _oob_means_of_kinds(values, oob, kinds)
        bounds[part, 0] = np.partition(predicted - residuals.residuals, n_rows - rank, axis=1)[:, n_rows - rank]
        bounds[part, 1] = np.partition(predicted + residuals.residuals, rank - 1, axis=1)[:, rank - 1]
    bounds.sort(axis=1)
    return bounds


def _oob_means_of_kinds(values: Floats, oob: Floats, kinds: int) -> Floats:
    """Return the means over kinds of `oob_means`, (n, k); kinds without out-of-bag trees do not count."""
    sums, number = np.zeros((len(values), oob.shape[1])), np.zeros(oob.shape[1])
    for kind in range(kinds):
        of_kind = oob[kind::kinds]
        some = of_kind.any(axis=0)
        sums[:, some] += oob_means(values[:, kind::kinds], of_kind[:, some])
        number += some
    return sums / number


def oob_means(values: Floats, oob: Floats) -> Floats:
    """Return the means of predictions (n, T) over out-of-bag trees (T, k), (n, k).

    The values of each sample are rounded to a grid on which sums are whole numbers below 2^53. The sums are exact in
    any order, and do not depend on the other samples. More than forty bits of the largest value remain.
    """
    room = 52 - values.shape[1].bit_length()
    exponent = np.frexp(np.abs(values).max(axis=1, keepdims=True))[1]
    exponent = np.maximum(exponent, room - 1074)  # 2^-1074 is the smallest positive double
    means: Floats = np.rint(np.ldexp(values, room - exponent)) @ oob
    means /= oob.sum(axis=0)
    means *= np.ldexp(1.0, exponent - room)
    return means
