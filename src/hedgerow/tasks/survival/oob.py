"""Out-of-bag choices of survival forests: the calibrator of curves, the leaf size, and predictive lower bounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from hedgerow.decisions import Risk
from hedgerow.decisions.risk import thresholds_shown
from hedgerow.forest.grow import TrainingRows
from hedgerow.metrics.survival import kaplan_meier_at
from hedgerow.tasks.survival.curves import DEPTHS, LEAF_ONLY, LeafCurves, Wanted
from hedgerow.tasks.survival.target import SurvivalTarget

Floats = NDArray[np.float64]

#: Largest number of rows on which curves are calibrated.
MAX_ROWS = 2048
#: Largest number of rows on which `Risk` is calibrated.
MAX_RISK_ROWS = 8192
#: Weights that read each depth alone.
EACH_DEPTH = tuple(tuple(each) for each in np.eye(len(DEPTHS)).tolist())
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
    depths : (D, k, J + 1) float64
        Curves at each depth, means over trees.
    """

    rows: NDArray[np.int64]
    depths: Floats

    def pooled(self, weights: Sequence[float]) -> Floats:
        """Return the means over depths, (k, J + 1)."""
        return np.asarray(np.tensordot(np.asarray(weights), self.depths, axes=1))


def oob_curves(
    curves: LeafCurves, rows: TrainingRows, weights: Sequence[tuple[float, ...]] = EACH_DEPTH, most: int = MAX_ROWS
) -> OobCurves:
    """Compute the curves of at most `most` rows, and at most one per group, for several weights of depths."""
    chosen = rows.bags.independent_rows(most)
    found = np.stack([curves.out_of_bag(rows, chosen, Wanted(weights=each)) for each in weights])
    seen = np.isfinite(found[0, :, 0])
    return OobCurves(chosen[seen], found[:, seen])


# ---- calibration ---------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CurveCalibration:
    """Weights of depths, and a piecewise linear calibrator of survival probabilities, learned out of bag.

    If curves are right, one minus the curve of each row at its own time is a uniform sample, censored like the times.
    Its Kaplan–Meier estimate K maps probabilities S to K(1 - S), which keeps their order. With few events it
    stays close to the identity.

    Parameters
    ----------
    levels, values : (k,) float64
        1 - S at the knots, from 0 to 1, and the calibrated probabilities, from 1 to 0.
    weights : tuple of float
        Weight of each of the `DEPTHS`.
    """

    levels: Floats
    values: Floats
    weights: tuple[float, ...] = LEAF_ONLY

    def __call__(self, survival: Floats) -> Floats:
        """Return calibrated probabilities."""
        return np.asarray(np.interp(1 - survival, self.levels, self.values))


def learn_calibration(found: OobCurves, target: SurvivalTarget) -> CurveCalibration | None:
    """Learn weights and calibrator; None with too few events.

    With competing causes, probabilities keep their values, so that those of causes and of survival add up to one.
    """
    events = target.events[found.rows]
    n_knots = min(MOST_KNOTS, int(events.sum()) // EVENTS_PER_KNOT)
    if n_knots < 2:
        return None
    weights = depth_weights(found, target)
    if target.info.n_causes > 1:
        return CurveCalibration(np.array([0.0, 1.0]), np.array([1.0, 0.0]), weights)
    dead, entered = dead_at(found, weights, target)
    inner = np.unique(np.quantile(dead[events], np.arange(1, n_knots + 1) / n_knots))
    inner = inner[(inner > 0) & (inner < 1)]
    share = events.sum() / (events.sum() + HALFWAY)
    values = share * kaplan_meier_at(dead, events, inner, entries=entered) + (1 - share) * (1 - inner)
    return CurveCalibration(np.concatenate([[0.0], inner, [1.0]]), np.concatenate([[1.0], values, [0.0]]), weights)


def dead_at(found: OobCurves, weights: Sequence[float], target: SurvivalTarget) -> tuple[Floats, Floats | None]:
    """Return 1 - S of rows at their own time, (k,), and at their entry, or None without late entry."""
    curves = np.clip(found.pooled(weights), 0, 1)  # weights sum to one only up to rounding
    cells, at = target.info.cells, np.arange(len(found.rows))
    labels = target.labels[found.rows]
    dead = 1 - curves[at, cells.time[labels]]
    return dead, 1 - curves[at, cells.entry[labels]] if target.info.has_entries else None


def depth_weights(found: OobCurves, target: SurvivalTarget) -> tuple[float, ...]:
    """Return the weights of depths with the smallest integrated Brier score; equal ones with late entry.

    The score is quadratic in the weights. It is weighted for censoring, which is not defined for rows that enter late.
    """
    n_depths = len(found.depths)
    if target.info.has_entries:
        return (1 / n_depths,) * n_depths
    loss = BrierLoss.of(found.rows, target)
    depths = found.depths[:, :, 1 : 1 + loss.weight.shape[1]]
    square = np.einsum("akj,kj,bkj->ab", depths, loss.weight, depths)
    return lowest_on_simplex(square, np.einsum("akj,kj->a", depths, loss.weight * loss.alive))


def lowest_on_simplex(square: Floats, linear: Floats) -> tuple[float, ...]:
    """Return the weights w >= 0 with sum 1 that minimise w' A w - 2 b' w, for A (D, D) and b (D,).

    They are multiples of `WEIGHT_UNIT`, so that they do not depend on the rounding of a linear solver, and sum to 1.
    """
    n = len(linear)
    best, least = np.full(n, 1 / n), np.float64(np.inf)
    for size in range(1, n + 1):  # on each face of the simplex; D is small
        for face in combinations(range(n), size):
            part, one = np.ix_(face, face), np.ones((size, 1))
            system = np.block([[square[part], one], [one.T, np.zeros((1, 1))]])
            solved = np.linalg.lstsq(system, np.append(linear[list(face)], 1.0))[0][:size]
            weights = np.zeros(n)
            weights[list(face)] = solved
            value = np.float64(weights @ square @ weights - 2 * linear @ weights)
            if (solved >= 0).all() and abs(solved.sum() - 1) < 1e-6 and value < least:
                best, least = weights, value
    units = np.round(best / best.sum() / WEIGHT_UNIT)
    units[units.argmax()] += 1 / WEIGHT_UNIT - units.sum()
    return tuple((units * WEIGHT_UNIT).tolist())


#: Unit of the weights of depths, a power of 2.
WEIGHT_UNIT = 2.0**-20


class BrierLoss(NamedTuple):
    """Integrated Brier score of rows on the first grid times, weighted for censoring.

    The score of curves S (k, t) is the sum of weight · (alive - S)².
    """

    weight: Floats
    alive: NDArray[np.bool_]
    times: Floats

    @classmethod
    def of(cls, rows: NDArray[np.int64], target: SurvivalTarget) -> BrierLoss:
        """Return the loss up to the time at which 80% of all rows are gone."""
        times, events, grid = target.times, target.events, target.info.times
        grid = grid[: max(2, int(np.searchsorted(grid, np.quantile(times, 0.8), side="right")))]
        own, happened = times[rows], events[rows]
        of_own = np.maximum(kaplan_meier_at(times, events, own, censoring=True), 1e-3)[:, None]
        of_grid = np.maximum(kaplan_meier_at(times, events, grid, censoring=True), 1e-3)
        alive = own[:, None] > grid
        weight = np.where(alive, 1 / of_grid, np.where(happened[:, None], 1 / of_own, 0.0)) / len(rows)
        if len(grid) == 1:
            return cls(weight, alive, grid)
        widths = np.diff(grid) / (grid[-1] - grid[0])
        return cls(weight * (np.append(widths, 0.0) + np.append(0.0, widths)) / 2, alive, grid)


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


def learn_lower(found: OobCurves, weights: Sequence[float], target: SurvivalTarget) -> LowerLevels:
    """Estimate how often the event is at or below each level of 1 - S, (k,).

    Each event is weighted by 1 / G(t-), the probability of not being censored before. A new row may be missed too: it
    counts as one row with an event at the lowest level. With late entry, the share missed is the Kaplan–Meier estimate
    of the levels.
    """
    events = target.events[found.rows]
    if not events.any():
        return LowerLevels(np.zeros(1), np.ones(1))
    dead, entered = dead_at(found, weights, target)
    order = np.argsort(dead[events], kind="stable")
    levels = dead[events][order]
    if entered is not None:
        missed = 1 - kaplan_meier_at(dead, events, levels, entries=entered)
    else:
        just_before = np.nextafter(target.times[found.rows][events], -np.inf)
        remaining = kaplan_meier_at(target.times, target.events, just_before, censoring=True)
        missed = (1 + np.cumsum(1 / np.maximum(remaining, 1e-3)[order])) / (len(dead) + 1)
    step = -(-len(levels) // MOST_LEVELS)
    last = np.minimum(np.arange(0, len(levels), step) + step - 1, len(levels) - 1)  # the safe side of each step
    return LowerLevels(levels[::step], missed[last])


# ---- low risk at a horizon -------------------------------------------------------------------------


def low_risk_threshold(survival: Floats, times: Floats, events: NDArray[np.bool_], horizon: float, risk: Risk) -> float:
    """Return the survival probability above which rows have low risk, for rows (k,).

    It is that of `Risk`, with another test: of the rows above a threshold, the lower confidence limit of survival at
    the horizon must be at least ``1 - error`` (Fay, Brittain and Proschan 2013). Without censoring it is the binomial
    test.
    """
    order = np.argsort(-survival, kind="stable")

    def is_shown(above: int, level: float) -> bool:
        rows = order[:above]
        return bool(lower_limit(times[rows], events[rows], horizon, level) >= 1 - risk.error)

    found = thresholds_shown(survival, is_shown, risk.error, risk.confidence)
    return min(found, default=np.inf)


def lower_limit(times: Floats, events: NDArray[np.bool_], horizon: float, level: float) -> float:
    """Return the lower confidence limit of survival at a horizon, of level ``1 - level``.

    It is a quantile of a product of beta variables, one for each event time and one for the rows that remain. Their
    product is approximated by the beta distribution with the same two moments.
    """
    distinct, died = np.unique(times[events & (times <= horizon)], return_counts=True)
    remain = int((times > horizon).sum())
    if remain == 0:
        return 0.0
    at_risk = len(times) - np.searchsorted(np.sort(times), distinct, side="left")
    first = np.append(at_risk - died + 1.0, remain)
    total = first + np.append(died, 1.0)
    mean = float(np.prod(first / total))
    square = float(np.prod(first * (first + 1) / (total * (total + 1))))
    spread = square - mean**2
    return float(betaincinv(mean * (mean - square) / spread, (1 - mean) * (mean - square) / spread, level))


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


def oob_error(found: OobCurves, target: SurvivalTarget) -> float:
    """Return the out-of-bag integrated Brier score of pooled curves; the negative log-likelihood with late entry."""
    if not len(found.rows):
        return np.inf
    curves = found.pooled(depth_weights(found, target))
    if target.info.has_entries:
        return float(target.losses(curves, found.rows).mean())
    loss = BrierLoss.of(found.rows, target)
    return float((loss.weight * (loss.alive - curves[:, 1 : 1 + len(loss.times)]) ** 2).sum())
