"""Out-of-bag choices of survival forests: the calibrator of curves, the leaf size, and predictive lower bounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.forest.forest import Forest
from hedgerow.forest.grow import TrainingRows
from hedgerow.metrics.survival import kaplan_meier_at

Floats = NDArray[np.float64]

#: Largest number of rows on which curves are calibrated.
MAX_ROWS = 1024
#: Leaf sizes that ``min_samples_leaf="oob"`` tries, and the one that it tries first.
LEAF_SIZES, FIRST_SIZE = (3, 7, 15, 30, 60, 120), 15
#: Another leaf size must lower the error by this share. Chosen, like the trees of pilot forests, on 14 real sets.
WORTHWHILE = 0.005
#: Number of events between two knots of the calibrator, and the largest number of knots.
EVENTS_PER_KNOT, MOST_KNOTS = 10, 33
#: Number of events at which the calibrator is halfway between the identity and the estimate.
HALFWAY = 50
#: Largest number of stored levels of predictive lower bounds.
MOST_LEVELS = 1024


@dataclass(frozen=True, eq=False)
class OobCurves:
    """Out-of-bag survival curves of some training rows, without the rows themselves.

    Parameters
    ----------
    rows : (k,) int64
        The rows, each out of bag for some tree.
    mean, square : (k, J + 1) float64
        Means over trees of the curves and of their squares.
    number : (k,) float64
        Number of trees.
    """

    rows: NDArray[np.int64]
    mean: Floats
    square: Floats
    number: Floats

    @property
    def pairs(self) -> Floats:
        """Mean product of the curves of two different trees; NaN for rows with a single tree."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return (self.number * (self.mean**2).T - self.square.T).T / (self.number - 1)[:, None]


def oob_curves(
    forest: Forest, rows: TrainingRows, curves: Callable[[Any], Floats], n_threads: int, most: int = MAX_ROWS
) -> OobCurves:
    """Compute the curves of at most `most` rows, and at most one per group."""
    chosen = rows.bags.independent_rows(most)
    outside = rows.bags.oob_each(forest.n_trees, chosen)
    leaves = forest.leaves(rows.codes_of(chosen), n_threads)
    own = rows.oob_mask.own
    total: Floats | None = None
    for tree in range(forest.n_trees):
        judged = np.flatnonzero(outside[:, tree])
        if not len(judged):
            continue
        at = leaves[judged, tree] + forest.leaf_start[tree]
        counts = forest.evidence.read(at) if own is None else forest.evidence.read_without(at, own[chosen[judged]])
        states = curves(counts)
        if total is None:
            total = np.zeros((2, len(chosen), states.shape[1]))
        total[0, judged] += states
        total[1, judged] += states**2
    if total is None:
        return OobCurves(chosen[:0], np.empty((0, 1)), np.empty((0, 1)), np.empty(0))
    number = outside.sum(axis=1).astype(np.float64)
    seen = number > 0
    mean, square = total[:, seen] / number[seen, None]
    return OobCurves(chosen[seen], mean, square, number[seen])


# ---- calibration ---------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CurveCalibration:
    """Piecewise linear calibrator of survival probabilities, learned out of bag.

    If curves are right, one minus the curve of each row at its own time is a uniform sample, censored like the times.
    Its Kaplan–Meier estimate K maps probabilities S to K(1 - S), which keeps their order. With few events it
    stays close to the identity.

    Parameters
    ----------
    levels, values : (k,) float64
        1 - S at the knots, from 0 to 1, and the calibrated probabilities, from 1 to 0.
    """

    levels: Floats
    values: Floats

    def __call__(self, survival: Floats) -> Floats:
        """Return calibrated probabilities."""
        return np.asarray(np.interp(1 - survival, self.levels, self.values))


def learn_calibration(dead: Floats, events: NDArray[np.bool_]) -> CurveCalibration | None:
    """Learn the calibrator from 1 - S at the own time of each row (k,); None with too few events.

    Beyond the last event it goes straight to zero.
    """
    n_knots = min(MOST_KNOTS, int(events.sum()) // EVENTS_PER_KNOT)
    if n_knots < 2:
        return None
    inner = np.unique(np.quantile(dead[events], np.arange(1, n_knots + 1) / n_knots))
    inner = inner[(inner > 0) & (inner < 1)]
    share = events.sum() / (events.sum() + HALFWAY)
    values = share * kaplan_meier_at(dead, events, inner) + (1 - share) * (1 - inner)
    return CurveCalibration(np.concatenate([[0.0], inner, [1.0]]), np.concatenate([[1.0], values, [0.0]]))


# ---- predictive lower bounds -----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LowerLevels:
    """Estimated probability that the event precedes the time at which 1 - S reaches a level.

    Parameters
    ----------
    levels, missed : (k,) float64
        Ascending levels of 1 - S, and the share of rows, weighted for censoring, with an event at or below each.
    """

    levels: Floats
    missed: Floats

    def level(self, miss: float) -> float:
        """Return the largest level that is missed with at most this probability; 1 if none is missed more often."""
        over = np.flatnonzero(self.missed > miss)
        return float(self.levels[over[0]]) if len(over) else 1.0


def learn_lower(dead: Floats, times: Floats, events: NDArray[np.bool_], all_rows: tuple[Any, Any]) -> LowerLevels:
    """Weight each event by 1 / G(t-), the probability of not being censored before; G is that of `all_rows`."""
    if not events.any():
        return LowerLevels(np.zeros(1), np.ones(1))
    just_before = np.nextafter(times[events], -np.inf)
    weights = 1 / np.maximum(kaplan_meier_at(*all_rows, just_before, censoring=True), 1e-3)
    order = np.argsort(dead[events], kind="stable")
    levels, missed = dead[events][order], np.cumsum(weights[order]) / len(dead)
    step = -(-len(levels) // MOST_LEVELS)
    last = np.minimum(np.arange(0, len(levels), step) + step - 1, len(levels) - 1)  # the safe side of each step
    return LowerLevels(levels[::step], missed[last])


# ---- leaf size -----------------------------------------------------------------------------------


def pilot_trees(n_rows: int) -> int:
    """Return the number of trees of a pilot forest: more on small tables, where the choice is noisy."""
    return min(100, max(20, 50_000 // n_rows))


def best_leaf_size(error: Callable[[int], float], n_rows: int) -> tuple[int, dict[int, float]]:
    """Descend from the first size to the neighbour with the smaller error; return the best, and all errors tried."""
    sizes = [size for size in LEAF_SIZES if size <= max(FIRST_SIZE, n_rows // 3)]
    place = sizes.index(FIRST_SIZE)
    errors = {FIRST_SIZE: error(FIRST_SIZE)}
    for step in (-1, 1):
        at = place + step
        while 0 <= at < len(sizes):
            errors[sizes[at]] = error(sizes[at])
            if errors[sizes[at]] >= errors[sizes[at - step]]:
                break
            at += step
    best = min(errors, key=lambda size: errors[size])
    return best if errors[best] < (1 - WORTHWHILE) * errors[FIRST_SIZE] else FIRST_SIZE, errors


def brier_of_many_trees(curves: OobCurves, grid: Floats, times: Floats, events: NDArray[np.bool_]) -> float:
    """Return the integrated Brier score that a forest of very many trees would have.

    The square of a mean over few trees is too large by the variance of a tree, which would favour large leaves. So
    squares are replaced by products of two different trees. The integral is over the grid up to the time at which 80%
    of the rows are gone.
    """
    used = curves.number > 1
    if not used.any():
        return np.inf
    own, happened, pairs, mean = (
        times[curves.rows][used],
        events[curves.rows][used],
        curves.pairs[used],
        curves.mean[used],
    )
    grid = grid[: max(2, int(np.searchsorted(grid, np.quantile(times, 0.8), side="right")))]
    pairs, mean = pairs[:, 1 : len(grid) + 1], mean[:, 1 : len(grid) + 1]
    of_own = np.maximum(kaplan_meier_at(times, events, own, censoring=True), 1e-3)[:, None]
    of_grid = np.maximum(kaplan_meier_at(times, events, grid, censoring=True), 1e-3)
    alive = own[:, None] > grid
    losses = np.where(alive, (1 - 2 * mean + pairs) / of_grid, np.where(happened[:, None], pairs / of_own, 0.0))
    scores = losses.mean(axis=0)
    return float(np.trapezoid(scores, grid) / (grid[-1] - grid[0])) if len(grid) > 1 else float(scores[0])
