"""Regress: a regression tree as the definitions say it, by trying every split and adding up every row again.

Sums on the grid are Python integers and medians are found by sorting, so nothing is rounded before a score is. The
rules of `tests.reference.grow` hold; beyond them:

* Categories are ordered by their means, then by number.
* A split by Poisson deviance must leave a positive sum on both sides.
* A split by U_λ must have a gain; row weights are divided by their mean.
* What constraints compare is the mean (by absolute error, the lower median) on the grid, as a place from 0 to 1.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tests.reference.grow import Node, Place, Row, Split, Twin

NOTHING = -1e300


class NumberTwin(Twin):
    """Grows the same trees as the core from codes (p, n), `Bins`, `RealTargets` and `GrowthParams`."""

    def __init__(self, codes: NDArray[Any], bins: Any, numbers: Any, settings: Any) -> None:
        self.missing = int(np.iinfo(codes.dtype).max)
        self.codes: list[list[int]] = codes.tolist()
        self.n_features, self.n_rows = codes.shape
        self.bins, self.given, self.settings = bins, numbers, settings
        self.is_exact = False
        self.needs_gain = not isinstance(settings.criterion, str)
        self.sums = [int(s) for s in numbers.sums]
        self.units = [1] * self.n_rows if numbers.amounts is None else [int(a) for a in numbers.amounts]
        self.weights = [1.0] * self.n_rows if numbers.weights is None else numbers.weights.tolist()
        self.y = numbers.values.tolist()

    # ---- rows -----------------------------------------------------------------------------------------------

    def _bagged_rows(self) -> list[Row]:
        """The label of a row is its target: a node is pure where they are equal."""
        bagged = [i for i in range(self.n_rows) if self.times[i] > 0]
        return [Row(i, self.y[i], self.times[i], self.times[i] * self.units[i]) for i in bagged]  # type: ignore[arg-type]

    def _amounts(self, rows: Iterable[Row]) -> list[int]:
        """Rows -> their amount, to be summed like the amounts of classes."""
        return [sum(row.amount for row in rows)]

    def _both(self, rows: list[Row]) -> tuple[int, int]:
        """Rows -> amount and sum."""
        return sum(row.amount for row in rows), sum(self.times[row.number] * self.sums[row.number] for row in rows)

    # ---- the search -----------------------------------------------------------------------------------------

    def _sides(self, place: Place, split: Split) -> tuple[list[Row], list[Row]]:
        left = [row for row in place.rows if self._goes_left(row, split)]
        return left, [row for row in place.rows if not self._goes_left(row, split)]

    def _judge(self, place: Place, split: Split) -> None:
        left, right = self._sides(place, split)
        (weight, total), (weight_left, sum_left) = self._both(place.rows), self._both(left)
        weight_right, sum_right = weight - weight_left, total - sum_left
        if self.settings.criterion == "squared_error":
            difference = float(weight * sum_left - weight_left * total)
            split.score = difference * difference / (float(weight_left) * float(weight_right))
        elif self.settings.criterion == "absolute_error":
            split.score = float(-(self._error(left) + self._error(right)))
        elif self.needs_gain:
            split.score = float(-self._uncertainty(left) - self._uncertainty(right))
        elif sum_left <= 0 or sum_right <= 0:
            split.score = NOTHING
        else:
            split.score = sum(
                float(s) * math.log((float(s) * float(weight)) / (float(w) * float(total)))
                for w, s in ((weight_left, sum_left), (weight_right, sum_right))
            )

    def _is_allowed(self, place: Place, split: Split) -> bool:
        return split.score > NOTHING and super()._is_allowed(place, split)

    def _gain(self, place: Place, split: Split) -> float:
        unit = self.given.unit
        if self.settings.criterion == "squared_error":
            return split.score / float(self._both(place.rows)[0]) * unit * unit
        if self.settings.criterion == "absolute_error":
            return (split.score + float(self._error(place.rows))) * unit
        if self.needs_gain:
            left, right = self._sides(place, split)
            gain = self._uncertainty(place.rows) - self._uncertainty(left) - self._uncertainty(right)
            return float(gain) * unit * unit
        return split.score * unit

    def _least_gain(self, place: Place) -> float:
        return float(self._uncertainty(place.rows)) * self.given.unit**2 * 2.0**-40

    def _uncertainty(self, rows: list[Row]) -> Fraction:
        """n U of some rows on the grid, exactly."""
        criterion, mean = self.settings.criterion, Fraction(sum(self.units), self.n_rows)
        a, b = (Fraction((end - self.given.centre) / self.given.unit) for end in (criterion.low, criterion.high))
        s, lam = Fraction(criterion.caution) * mean, Fraction(criterion.lam)
        n, total = self._both(rows)
        squares = sum(
            (row.amount * Fraction(self.sums[row.number], self.units[row.number]) ** 2 for row in rows), Fraction(0)
        )
        variance = (squares + s * (a * a + a * b + b * b) / 3) / (n + s) - ((total + s * (a + b) / 2) / (n + s)) ** 2
        return n * ((1 - lam) * s / (n + s) * (b - a) ** 2 / 4 + lam * variance)

    def _perfect_score(self, place: Place) -> float:
        return math.inf

    def _subsets(self, place: Place, feature: int) -> Iterator[list[Split]]:
        groups = self._by_code(place, feature)
        yield self._cuts(place, feature, {code: self._place_of(*self._both(rows)) for code, rows in groups.items()})

    def _place_of(self, weight: int, total: int) -> float:
        return (float(total) / float(weight) - self.given.low) / (self.given.high - self.given.low)

    def _share(self, rows: list[Row]) -> float:
        if self.settings.criterion != "absolute_error":
            return self._place_of(*self._both(rows))
        return (float(self._median(rows)) - self.given.low) / (self.given.high - self.given.low)

    def _median(self, rows: list[Row]) -> Fraction:
        """The lowest number at which half of the weight is reached."""
        pairs = sorted((Fraction(self.sums[row.number], self.units[row.number]), row.amount) for row in rows)
        half, passed = Fraction(sum(amount for _, amount in pairs), 2), 0
        for value, amount in pairs:
            passed += amount
            if passed >= half:
                return value
        raise AssertionError

    def _error(self, rows: list[Row]) -> Fraction:
        """Weighted sum of distances from the median."""
        median = self._median(rows)
        distances = (row.amount * abs(Fraction(self.sums[row.number], self.units[row.number]) - median) for row in rows)
        return sum(distances, Fraction(0))

    # ---- leaves ---------------------------------------------------------------------------------------------

    def _count(self, root: Node) -> None:
        """Rows as often as the bag holds them; weights hold what a leaf predicts, its mean, and its variance."""
        for leaf, rows, place in self.leaves:
            times = [self.times[row.number] * self.weights[row.number] for row in rows]
            y = np.array([self.y[row.number] for row in rows])
            mean = float(np.average(y, weights=times))
            value = weighted_median(y, np.array(times)) if self.settings.criterion == "absolute_error" else mean
            if self.settings.monotonic is not None:
                low, high = self.given.low, self.given.high
                ends = [
                    self.given.centre + self.given.unit * (low + end * (high - low))
                    for end in (place.lower, place.upper)
                ]
                value = min(max(value, ends[0]), ends[1])
            leaf.counts = [sum(row.times for row in rows)]
            leaf.weights = [value, mean, float(np.average((y - mean) ** 2, weights=times))]


def weighted_median(y: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    """Where half of the weight lies on either side; the middle where two numbers share it evenly."""
    order = np.argsort(y, kind="stable")
    passed, total = 0.0, float(weights.sum())
    for at, i in enumerate(order):
        passed += float(weights[i])
        if 2 * passed > total or at + 1 == len(order):
            return float(y[i])
        if 2 * passed == total:
            return float((y[i] + y[order[at + 1]]) / 2)
    raise AssertionError


def jackknife_plus(
    by_tree: NDArray[np.float64], outside: NDArray[np.bool_], residuals: NDArray[np.float64], coverage: Fraction
) -> list[tuple[float, float]]:
    """Predictions (m, T), rows each tree has not seen (k, T), residuals (k,) -> intervals, one row at a time."""
    intervals = []
    for each in by_tree:
        without = [float(np.mean(each[seen])) for seen in outside]
        k = len(without)
        low = sorted(m - r for m, r in zip(without, residuals, strict=True))
        high = sorted(m + r for m, r in zip(without, residuals, strict=True))
        lower_rank, upper_rank = math.floor((1 - coverage) * (k + 1)), math.ceil(coverage * (k + 1))
        intervals.append(
            (
                low[lower_rank - 1] if lower_rank >= 1 else -math.inf,
                high[upper_rank - 1] if upper_rank <= k else math.inf,
            )
        )
    return intervals


def scaled_interval(
    values: NDArray[np.float64],
    variances: NDArray[np.float64],
    fresh: tuple[NDArray[np.float64], NDArray[np.float64]],
    outside: NDArray[np.bool_],
    y: NDArray[np.float64],
    gain: float,
    coverage: Fraction,
) -> list[tuple[float, float]]:
    """Leaves of training rows (k, T) and of samples (m, T), which trees have not seen a row -> scaled intervals."""
    judged = [
        ([v for v, free in zip(values[i], outside[i], strict=True) if free], variances[i][outside[i]].mean(), y[i])
        for i in range(len(y))
        if outside[i].any()
    ]
    mean_square = statistics.fmean((number - statistics.fmean(said)) ** 2 for said, _, number in judged)

    def spread(said: list[float], within: float) -> float:
        return math.sqrt(statistics.variance(said) + within + 0.03 * mean_square)

    scaled = sorted(
        (number - statistics.fmean(said)) / spread(said, within) / gain
        for said, within, number in judged
        if len(said) > 1
    )
    rank = math.floor((1 - coverage) / 2 * (len(scaled) + 1))
    low, high = (-math.inf, math.inf) if rank < 1 else (scaled[rank - 1], scaled[len(scaled) - rank])
    return [
        (
            statistics.fmean(said) + low * spread(list(said), within),
            statistics.fmean(said) + high * spread(list(said), within),
        )
        for said, within in zip(fresh[0], fresh[1].mean(axis=1), strict=True)
    ]


def quantile(y: NDArray[np.float64], weights: list[Fraction], q: Fraction) -> float:
    """inf {v : share of the weight at or below v >= q}, the definition of a quantile regression forest."""
    passed, total = Fraction(0), sum(weights, Fraction(0))
    for i in np.argsort(y, kind="stable"):
        passed += weights[i]
        if passed >= q * total and weights[i] > 0:
            return float(y[i])
    raise AssertionError
