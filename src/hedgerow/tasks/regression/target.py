"""Regression targets on a grid with exact sums."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.utils import assert_all_finite, column_or_1d

from hedgerow.criteria import Criterion
from hedgerow.forest.forest import Forest
from hedgerow.forest.moments import LIGHTEST, MAX_TARGET, LeafMoments
from hedgerow.forest.quantiles import find_leaf_rows
from hedgerow.forest.rows import Bags
from hedgerow.forest.target import (
    CoreTarget,
    ReadTarget,
    TargetInfo,
    Weighing,
    joined_weights,
    read_weights,
    refuse_masked,
)
from hedgerow.labels import IntervalTargets
from hedgerow.table.bins import Codes
from hedgerow.table.sums import Spread, spread_of

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RangeInfo(TargetInfo):
    """Range of the training targets."""

    low: float
    high: float

    @classmethod
    def between(cls, low: float, high: float) -> RangeInfo:
        """Return the info for a range."""
        return cls(np.array(["rows"]), float(low), float(high))

    def joined(self, other: Any, class_rows: Floats) -> RangeInfo:
        """Return the range of both models."""
        return RangeInfo.between(min(self.low, other.low), max(self.high, other.high))

    def counted(self, n_rows: int) -> tuple[tuple[float, ...], tuple[float, float]]:
        """Return the number of rows, and the range."""
        return (float(n_rows),), (self.low, self.high)


@dataclass(frozen=True)
class RealTargets(CoreTarget):
    """Targets of a regression, as the core takes them.

    Splits are compared on a grid: ``y = centre + unit * sums / amounts``, where `sums` and `amounts` are whole numbers.
    Sums over rows are exact in a double, and do not depend on the order of the rows. Leaves are computed from the exact
    `values`.

    Parameters
    ----------
    values : (n,) float64
        Targets as given.
    weights : (n,) float64 or None
        Weights as given; None if all rows weigh the same.
    sums, amounts : (n,) float64, (n,) float64 or None
        Weighted targets and weights, rounded to whole numbers.
    centre, unit : float
        Centre and step of the grid.
    low, high : float
        Bounds of ``sums / amounts`` over all rows, with a margin.
    halves : (n,) float64 or None
        Half widths of the targets, if some are intervals, whose midpoints are `values`.
    """

    values: NDArray[np.float64]
    weights: NDArray[np.float64] | None
    sums: NDArray[np.float64]
    amounts: NDArray[np.float64] | None
    centre: float
    unit: float
    low: float
    high: float
    halves: NDArray[np.float64] | None = None

    #: A leaf has one count, its rows.
    n_classes: ClassVar[int] = 1  # type: ignore[misc]
    of_numbers: ClassVar[bool] = True

    def fields(self, criterion: Any) -> dict[str, Any]:
        """Return the targets, and the criterion."""
        known = {"kind": "numbers", "criterion": criterion} | vars(self)
        del known["halves"]
        return known if isinstance(criterion, str) else known | self._belief(criterion)

    def with_masses(self, forest: Forest, codes: Codes, bags: Bags, n_threads: int) -> Forest:
        """Return trees grown on this target, whose leaves also keep the mean half width of their intervals."""
        if self.halves is None:
            return forest
        rows = find_leaf_rows(forest, codes, self.values, self.weights, bags, n_threads, self.halves)
        assert rows.halves is not None
        assert isinstance(forest.evidence, LeafMoments)
        amounts = np.ones(len(rows.ranks)) if rows.weights is None else rows.weights[rows.ranks]
        sums = [np.add.reduceat(each, rows.row_start[:-1]) for each in (amounts * rows.halves[rows.ranks], amounts)]
        return replace(forest, evidence=replace(forest.evidence, halves=sums[0] / sums[1]))

    def _belief(self, criterion: Any) -> dict[str, Any]:
        """Return a `BeliefVariance` on the grid; row weights are divided by their mean."""
        known = criterion.over(self.values.min(), self.values.max())
        weight = 1.0 if self.amounts is None else float(self.amounts.mean())
        ends = {name: (end - self.centre) / self.unit for name, end in (("lowest", known.low), ("highest", known.high))}
        return {"criterion": known.name, "lam": float(known.lam), "caution": float(known.caution) * weight} | ends


@dataclass(frozen=True, eq=False)
class RegressionTarget:
    """Targets of n training rows.

    Parameters
    ----------
    core : RealTargets
        The targets, as the core takes them.
    weights : (n,) float64 or None
        The row weights as given.
    criterion : str or Criterion
        The criterion of the trees, on which the grid and the out-of-bag loss depend.
    """

    core: RealTargets
    weights: Floats | None = None
    criterion: str | Criterion = "squared_error"

    kind: ClassVar[str] = "numbers"
    labels: ClassVar[None] = None
    own: ClassVar[None] = None
    own_masses: ClassVar[None] = None
    known: ClassVar[None] = None
    judged: ClassVar[None] = None

    @property
    def n_rows(self) -> int:
        """Number of rows n."""
        return len(self.core.values)

    @property
    def values(self) -> Floats:
        """Targets as given, (n,)."""
        return self.core.values

    @property
    def truth(self) -> Floats:
        """True targets, (n,)."""
        return self.core.values

    @property
    def identity(self) -> Floats:
        """Array that is equal for two tables with the same targets."""
        return self.core.values if self.core.halves is None else np.column_stack([self.core.values, self.core.halves])

    @property
    def ends(self) -> tuple[Floats, Floats]:
        """Low and high ends of the targets, (n,) each; equal unless they are intervals."""
        halves = 0.0 if self.core.halves is None else self.core.halves
        return self.core.values - halves, self.core.values + halves

    @property
    def class_rows(self) -> tuple[float, ...]:
        """Number of rows."""
        return (float(self.n_rows),)

    @property
    def info(self) -> RangeInfo:
        """Range of the targets."""
        low, high = self.ends
        return RangeInfo.between(low.min(), high.max())

    def for_core(self) -> RealTargets:
        """Return the targets as the core takes them."""
        return self.core

    def take(self, rows: NDArray[Any]) -> RegressionTarget:
        """Return the target of some rows, in the order given."""
        weights, halves = (None if held is None else held[rows] for held in (self.weights, self.core.halves))
        return number_target(self.values[rows], weights, self.criterion, halves)

    def concat(self, more: RegressionTarget) -> RegressionTarget:
        """Return the target of these rows and later rows."""
        weights = joined_weights(self.weights, self.n_rows, more.weights, more.n_rows)
        return number_target(np.concatenate([self.values, more.values]), weights, self.criterion)

    def losses(self, answer: Any, rows: NDArray[Any]) -> Floats:
        """Return the absolute or squared errors of predictions (m,) of some rows, (m,)."""
        off = np.ravel(answer) - self.values[rows]
        return np.asarray(np.abs(off) if self.criterion == "absolute_error" else off**2)

    def standard_error(self, error: float, losses: Floats, n_rows: int) -> float:
        """Return the standard error of the mean loss."""
        return float(losses.std() / math.sqrt(max(1, len(losses))))

    def weighing(self) -> Weighing:
        """Return the rounding of weights and targets of later rows."""
        scale, held = 1.0, self.core.weights
        if self.weights is not None and (held is None or held[0] != self.weights[0]):
            scale = float(self.weights.max())
        return Weighing(scale, extremes=(float(self.values.min()), float(self.values.max())))


def read_number_target(y: Any, sample_weight: Any, n_rows: int, criterion: str | Criterion) -> ReadTarget:
    """Read targets and weights of rows with positive weight."""
    weights = read_weights(sample_weight, n_rows)
    halves = None
    if isinstance(y, IntervalTargets):
        y, halves = _middles_and_halves(y, criterion)
    kept = None if weights is None or (weights > 0).all() else np.flatnonzero(weights).astype(np.uint32)
    values = read_targets(y, n_rows, criterion)
    if kept is not None and weights is not None:
        values, weights = values[kept], weights[kept]
        halves = None if halves is None else halves[kept]
    return ReadTarget(number_target(values, weights, criterion, halves), kept)


def number_target(
    values: Floats, weights: Floats | None, criterion: str | Criterion, halves: Floats | None = None
) -> RegressionTarget:
    """Return the target of values (n,), positive weights (n,) or None, and half widths (n,) or None."""
    core = numbers_on_grid(values, weights, centred=criterion != "poisson")
    if halves is not None and halves.any():
        core = replace(core, halves=halves)
    return RegressionTarget(core, weights, criterion)


def _middles_and_halves(y: IntervalTargets, criterion: str | Criterion) -> tuple[Floats, Floats]:
    """Return midpoints and half widths of intervals, (n,) each."""
    if criterion in ("absolute_error", "poisson"):
        raise ValueError(
            f"criterion must be 'squared_error' or 'belief' for targets that are intervals, got {criterion!r}."
        )
    if max(np.abs(y.low).max(initial=0.0), np.abs(y.high).max(initial=0.0)) > MAX_TARGET:
        raise ValueError(f"y must lie within ±{MAX_TARGET:g}. Use larger units.")
    return y.middle, y.high / 2 - y.low / 2


#: Sums over all rows stay below two to the power of this, and are exact in a double.
_SUM_BITS = 52


def read_targets(y: Any, n_rows: int, criterion: str | Criterion) -> Floats:
    """Read targets as (n,) float64.

    Raises
    ------
    ValueError
        If y is None, has missing or non-numeric values, a different length than the table, or values that the criterion
        does not accept.
    """
    if y is None:
        raise ValueError("A regressor requires y to be passed, but the target y is None. Pass the targets of the rows.")
    refuse_masked(y, "y")
    with config_context(array_api_dispatch=False):  # the core reads NumPy arrays
        y = column_or_1d(y, warn=True)
    if y.dtype.kind not in "fiubO":
        raise ValueError(f"y must be real numbers, got {y.dtype}. Complex data not supported, nor text.")
    try:
        values = np.array(y, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"y must be real numbers, got {y.dtype} ({error}). Use a classifier for labels.") from error
    assert_all_finite(values, input_name="y")
    if len(values) != n_rows:
        raise ValueError(
            f"X and y must have the same number of rows (inconsistent numbers of samples), got {n_rows} and"
            f" {len(values)}."
        )
    if np.abs(values).max(initial=0.0) > MAX_TARGET:
        raise ValueError(f"y must lie within ±{MAX_TARGET:g}, got {np.abs(values).max():g}. Use larger units.")
    if criterion == "poisson":
        check_poisson(values.min(), values.max())
    return values


def check_poisson(low: float, high: float) -> None:
    """Raise if the Poisson deviance of the targets is undefined."""
    if low < 0:
        raise ValueError(
            f"y must be >= 0 with criterion='poisson', got {low:g}: Some value(s) of y are negative which is not"
            " allowed for Poisson regression. Use 'squared_error'."
        )
    if not high > 0:
        raise ValueError(
            "y must not be all 0 with criterion='poisson', got zeros: Sum of y is not strictly positive which is"
            " necessary for Poisson regression. Use 'squared_error'."
        )


@dataclass(frozen=True)
class Grid:
    """Conversion of targets and weights to whole numbers with exact sums.

    Parameters
    ----------
    scale : float or None
        Divisor of the weights; None if all rows weigh the same.
    centre : float
        Number subtracted from the targets.
    sum_bits, amount_bits : int
        Powers of two by which weighted targets and weights are multiplied before rounding.
    low, high : float
        Bounds of sums divided by amounts, with a margin.
    """

    scale: float | None
    centre: float
    sum_bits: int
    amount_bits: int
    low: float = 0.0
    high: float = 1.0

    def numbers(self, values: Floats, weights: Floats | None) -> RealTargets:
        """Convert targets (n,) and positive weights (n,) for the core."""
        weights = None if self.scale is None or weights is None else np.maximum(weights / self.scale, LIGHTEST)
        weighed = (values - self.centre) * (1.0 if weights is None else weights)
        sums = np.asarray(np.rint(np.ldexp(weighed, self.sum_bits)))
        amounts = None if weights is None else np.maximum(np.rint(np.ldexp(weights, self.amount_bits)), 1.0)
        unit = float(np.ldexp(1.0, self.amount_bits - self.sum_bits))
        return RealTargets(values, weights, sums, amounts, self.centre, unit, self.low, self.high)


#: Maps a function of targets (n,) and weights to the spread of its results over all rows, on one or many machines.
Ask: TypeAlias = Callable[[Callable[[Floats, Floats | None], Floats]], Spread]


def numbers_on_grid(values: Floats, weights: Floats | None, *, centred: bool = True) -> RealTargets:
    """Convert targets (n,) and positive weights (n,) or None for the core.

    The grid is as fine as exact sums allow: with n rows of comparable size a target keeps about 50 - log2(n) bits, 36
    for ten thousand rows and 30 for a million. Targets that need fewer bits, such as whole numbers, are not rounded.
    """
    ask = partial(_ask, values, weights)
    return find_grid(ask, weighted=weights is not None, centred=centred).numbers(values, weights)


def find_grid(ask: Ask, *, weighted: bool, centred: bool = True) -> Grid:
    """Choose the grid for the targets and weights of all rows."""
    scale = _scale_of(ask(weights_of)) if weighted else None
    centre = _round_mean(ask(values_of)) if centred else 0.0
    sum_bits = _bits_for(ask(partial(size_of, centre, scale)))
    amount_bits = 0 if scale is None else _bits_for(ask(partial(scaled_weights_of, scale)))
    grid = Grid(scale, centre, sum_bits, amount_bits)
    places = ask(partial(places_of, grid))
    margin = 1.0 + (places.high - places.low) / 2  # larger than rounding errors
    return replace(grid, low=places.low - margin, high=places.high + margin)


def values_of(values: Floats, weights: Floats | None) -> Floats:
    """Return the targets."""
    return values


def weights_of(values: Floats, weights: Floats | None) -> Floats:
    """Return the weights."""
    assert weights is not None
    return weights


def scaled_weights_of(scale: float, values: Floats, weights: Floats | None) -> Floats:
    """Return the weights divided by the scale."""
    return weights_of(values, weights) / scale


def size_of(centre: float, scale: float | None, values: Floats, weights: Floats | None) -> Floats:
    """Return the absolute weighted distances of targets from the centre."""
    away = np.abs(values - centre)
    return away if scale is None else away * scaled_weights_of(scale, values, weights)


def places_of(grid: Grid, values: Floats, weights: Floats | None) -> Floats:
    """Return sums divided by amounts."""
    numbers = grid.numbers(values, weights)
    return numbers.sums if numbers.amounts is None else numbers.sums / numbers.amounts


def _ask(values: Floats, weights: Floats | None, function: Callable[[Floats, Floats | None], Floats]) -> Spread:
    """Return the spread of a function of rows that are all in this process."""
    return spread_of(function(values, weights))


def _scale_of(weights: Spread) -> float | None:
    """Return the scale that avoids overflow of weights; None if they are all equal."""
    if weights.low == weights.high:
        return None
    return 1.0 if 1e-50 < weights.high < 1e50 else weights.high  # only ratios matter, and these cannot overflow


def _round_mean(values: Spread) -> float:
    """Return a number near the mean with few digits.

    Subtracting it then adds no digits to the targets.
    """
    mean = values.mean
    farthest = max(abs(values.low - mean), abs(values.high - mean))
    if farthest == 0:
        return values.low
    step = float(np.ldexp(1.0, int(np.frexp(farthest)[1]) - 1))
    return float(np.rint(mean / step) * step)


def _bits_for(size: Spread) -> int:
    """Return the power of two that makes sizes whole numbers with exact sums.

    A bag can contain a row several times, so twice the sum of all rows plus 32 times any row must fit.
    """
    most = 2 * size.sum + 32 * size.high
    return _SUM_BITS - int(np.frexp(most)[1]) if most > 0 else 0
