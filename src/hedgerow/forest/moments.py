"""Moments: rows with numbers -> how many rows a leaf holds, what it predicts, and how its rows vary.

Sums over later rows are exact, so the result does not depend on how many calls add the rows. Each sum is two whole
numbers: one counts units, the other 2^-30 of a unit, which is about 2^-60 of the spread of the first targets.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow import _core
from hedgerow.forest.class_counts import ClassCounts, join_weights
from hedgerow.forest.nodes import Nodes
from hedgerow.forest.payload import Adding, LeafPayload, Rows
from hedgerow.forest.rows import Provenance

#: The smallest weight relative to the largest one: a leaf whose rows all weigh 0 would have no mean.
LIGHTEST = 1e-250
#: Larger targets would overflow when squared.
MAX_TARGET = 1e150

Floats = NDArray[np.float64]

_FINE = 30  # bits of each part of a sum
_MOST = 2.0**62
# The powers of numbers that are summed, and the parts of these sums; a column each.
_POWERS, _PARTS = np.arange(3)[:, None], np.arange(6)[:, None]


@dataclass(frozen=True, eq=False, repr=False)
class IncrementalMoments:
    """The moments of leaves when they were grown, and exact sums over the later rows.

    Parameters
    ----------
    weight, mean, variance : (L,) float64
        The moments of each leaf when it was grown.
    sums : (L, 3, 2) int64
        Sums over the later rows of each leaf: of weights, weighted differences from the centre, and weighted squares of
        these.
    """

    weight: Floats
    mean: Floats
    variance: Floats
    sums: NDArray[np.int64]

    @classmethod
    def none(cls, leaves: LeafMoments) -> IncrementalMoments:
        """Leaves without later rows."""
        sums = np.zeros((leaves.n_leaves, 3, 2), dtype=np.int64)
        return cls(leaves.amount, leaves.mean, leaves.variances, sums)

    def between(self, first: int, last: int) -> IncrementalMoments:
        """The same for leaves number `first` to ``last - 1``."""
        return IncrementalMoments(*(held[first:last] for held in vars(self).values()))

    @classmethod
    def join(cls, *parts: IncrementalMoments) -> IncrementalMoments:
        """The leaves of all parts, one after the other."""
        return cls(*(np.concatenate(held) for held in zip(*(vars(part).values() for part in parts), strict=True)))


@dataclass(frozen=True, eq=False, repr=False)
class LeafMoments(LeafPayload):
    """The evidence of leaves in a regression: counts, means and variances.

    Parameters
    ----------
    counts : (L,) uint32
        Rows in each leaf.
    values : (L,) float64
        The prediction of each leaf: the mean of its rows, or their median if the criterion is "absolute_error".
    variances : (L,) float64
        Variance of its rows.
    weights : (L,) float64 or None
        Weight of its rows, if rows were weighted.
    means : (L,) float64 or None
        The mean of its rows, if leaves predict something else.
    later : IncrementalMoments or None
        The moments before later rows came, and the sums over these; None if there were no later rows.
    errors : (L,) float64 or None
        Mean absolute error of the rows around their median, if it was computed; it is not kept in files.
    """

    TYPES: ClassVar[dict[str, Any]] = {
        "counts": np.uint32,
        "weights": np.float64,
        "values": np.float64,
        "means": np.float64,
        "variances": np.float64,
    }
    OPTIONAL: ClassVar[tuple[str, ...]] = ("weights", "means")
    KEY_ARRAY: ClassVar[str] = "values"
    LEAST_WEIGHT: ClassVar[float] = LIGHTEST
    lifts_freely: ClassVar[bool] = True

    counts: NDArray[np.uint32]
    values: Floats
    variances: Floats
    weights: Floats | None = None
    means: Floats | None = None
    incremental: IncrementalMoments | None = None
    errors: Floats | None = None

    n_classes: ClassVar[int] = 1  # type: ignore[misc]  # rows are counted as if they were of one class

    @classmethod
    def from_arrays(cls, n_classes: int, arrays: Mapping[str, Any]) -> LeafMoments:
        """Arrays under the names they have in files -> the leaves; nothing else is checked."""
        if n_classes != 1:
            raise ValueError(f"trees must count 1 classes, got {n_classes}")
        return cls(**{name: arrays.get(name) for name in cls.TYPES})  # type: ignore[arg-type]

    @property
    def n_leaves(self) -> int:
        """L."""
        return len(self.counts)

    @property
    def amount(self) -> Floats:
        """(L,): weight of the rows in each leaf; their number if rows have no weights."""
        return self.counts.astype(np.float64) if self.weights is None else self.weights

    @property
    def rows(self) -> NDArray[np.int64]:
        """(L,): the number of rows in each leaf."""
        return self.counts.astype(np.int64)

    @property
    def mean(self) -> Floats:
        """(L,): mean of the rows in each leaf."""
        return self.values if self.means is None else self.means

    def table(self, which: slice | NDArray[np.int64] = slice(None), *, weighted: bool = False) -> NDArray[Any]:
        """Leaves (m,) -> (m, 1): their rows, or with `weighted` the weight of these, if rows have weights."""
        return (self.weights if weighted and self.weights is not None else self.counts)[which, None]

    def read(self, which: slice | NDArray[np.int64] = slice(None)) -> LeafMoments:
        """Leaves (m,) with all their moments."""
        return self if which == slice(None) else self._each(lambda held: held[which])

    def between(self, first: int, last: int) -> LeafMoments:
        """Leaves number `first` to ``last - 1``; their arrays are views of these."""
        incremental = None if self.incremental is None else self.incremental.between(first, last)
        return replace(self._each(lambda held: held[first:last]), incremental=incremental)

    def join(self, *others: LeafMoments) -> LeafMoments:
        """These leaves followed by the others."""
        parts = (self, *others)
        has_means = any(part.means is not None for part in parts)
        has_later = any(part.incremental is not None for part in parts)
        return LeafMoments(
            np.concatenate([part.counts for part in parts]),
            np.concatenate([part.values for part in parts]),
            np.concatenate([part.variances for part in parts]),
            join_weights(parts),
            np.concatenate([part.mean for part in parts]) if has_means else None,
            IncrementalMoments.join(*(part.incremental or IncrementalMoments.none(part) for part in parts))
            if has_later
            else None,
        )

    def add_classes(self, places: NDArray[np.intp], n_classes: int) -> LeafMoments:
        """The leaves unchanged, because a regression has no classes."""
        return self

    def at_nodes(self, tree: Nodes) -> LeafMoments:
        """The leaves of a tree -> the moments of each of its N nodes; an inner node predicts the mean of its rows."""

        leaf = tree.is_leaf
        number = tree.payload[leaf]
        centre = np.average(self.mean, weights=self.amount)  # near the numbers, so that squares keep their digits
        away = self.mean - centre
        amount = self.amount
        sums = np.column_stack([amount, amount * away, amount * (self.variances + away**2)])
        weight, sum_, square = _core.node_sums(tree.bits, tree.payload, sums).T
        counts = (
            weight
            if self.weights is None
            else _core.node_sums(tree.bits, tree.payload, self.counts[:, None].astype(np.float64))[:, 0]
        )
        mean = sum_ / weight
        values, means, variances = centre + mean, centre + mean, np.maximum(square / weight - mean**2, 0)
        values[leaf], means[leaf], variances[leaf] = self.values[number], self.mean[number], self.variances[number]
        return LeafMoments(
            counts.astype(np.int64),
            values,
            variances,
            None if self.weights is None else weight,
            None if self.means is None else means,
        )

    def cut(self, nodes: NDArray[np.int64]) -> LeafMoments:
        """The moments of all nodes of a tree -> those of some of them (m,), which become leaves."""
        kept = self._each(lambda held: held[nodes])
        return replace(kept, counts=kept.counts.astype(np.uint32))

    def adding(
        self, target: NDArray[Any], weights: Floats | None, origins: Sequence[Provenance], ends: NDArray[np.int64]
    ) -> _Adding:
        """Numbers (m,) and weights (m,) of later rows -> an object that adds their moments to leaves."""
        return _Adding(self, target, weights, origins, ends)

    def cannot_be_cut(self, criterion: Any) -> str | None:
        """Medians cannot be merged."""
        return "leaves do not keep what the median of two of them is" if criterion == "absolute_error" else None

    def as_counts(self) -> ClassCounts:
        """The counts and weights of the leaves, as `ClassCounts` of one class."""
        return ClassCounts(1, self.counts, None, None, self.weights)

    def predictions(self) -> Floats:
        """(L, 1): the prediction of each leaf."""
        return self.values[:, None]

    def impurity(self, criterion: Any) -> Floats:
        """(L,): variance; for "poisson" half the deviance, up to a constant of the tree; absolute errors if known."""
        if criterion == "absolute_error" and self.errors is not None:
            return self.errors
        if criterion != "poisson":
            return self.variances
        return np.asarray(-self.mean * np.log(np.where(self.mean > 0, self.mean, 1.0)))

    def words(self, number: int, classes: NDArray[Any], decimals: int) -> str:
        """The prediction, the standard deviation and the number of rows, as text."""
        rows, deviation = int(self.counts[number]), float(np.sqrt(self.variances[number]))
        spread = f" ± {deviation:.{decimals}f}" if rows > 1 else ""
        return f"{self.values[number]:.{decimals}f}{spread} ({rows} {'row' if rows == 1 else 'rows'})"

    def check(self) -> None:
        """Refuse leaves without rows, or with values that are not finite."""
        for name, held in self.arrays().items():
            if len(held) != self.n_leaves:
                raise ValueError(f"{name} must have {self.n_leaves} values, got {len(held)}")
        self._check_weights()
        check_moments(self.mean, self.variances)
        check_targets("values", self.values)
        if (self.counts == 0).any():
            raise ValueError("leaves must have rows, got some without")

    def _each(self, change: Callable[[NDArray[Any]], NDArray[Any]]) -> LeafMoments:
        """The leaves with the same change made to every array."""
        changed: dict[str, Any] = {name: change(held) for name, held in self.arrays().items()}
        return LeafMoments(**changed)


def check_targets(name: str, values: Floats) -> None:
    """Refuse numbers that no target can be."""
    if not np.abs(values).max(initial=0.0) <= MAX_TARGET:
        raise ValueError(f"{name} must lie within ±{MAX_TARGET:g}, got others")


def check_moments(means: Floats, variances: Floats) -> None:
    """Refuse means and variances that rows with numbers cannot have."""
    check_targets("means", means)
    if not ((variances >= 0) & (variances <= 2 * MAX_TARGET**2)).all():
        raise ValueError(f"variances must lie between 0 and {2 * MAX_TARGET**2:g}, got others")


class _Adding(Adding):
    """Leaves, and exact sums of the moments of rows that are added to them."""

    def __init__(
        self,
        leaves: LeafMoments,
        numbers: Floats,
        weights: Floats | None,
        origins: Sequence[Provenance],
        ends: NDArray[np.int64],
    ) -> None:
        self._leaves, self._incremental = leaves, leaves.incremental or IncrementalMoments.none(leaves)
        self._numbers, self._origins, self._ends = numbers, origins, ends
        self._weights = np.ones(len(numbers)) if weights is None else weights
        self._counts, self._sums = leaves.counts.copy(), self._incremental.sums.copy()
        self._room = _MOST - float(np.abs(self._sums).max(initial=0))
        self._powers: dict[int, tuple[Floats, Floats]] = {}  # by origin: powers 0, 1, 2 of numbers (3, m), weights (m,)

    def add(self, origin: int, at: NDArray[np.int64], rows: Rows, times: NDArray[np.uint32] | None) -> None:
        """Add the moments of some of the rows to the leaves they reach."""
        np.add.at(self._counts, at, np.uint32(1) if times is None else times)
        known = self._origins[origin]
        if origin not in self._powers:
            away = self._numbers - known.grid.centre
            self._powers[origin] = np.stack([np.ones(len(away)), away, away**2]), self._weights / known.weight_scale
        powers, amount = (each[..., rows] for each in self._powers[origin])
        amount = amount if times is None else amount * times
        coarse, fine = _in_parts(amount * powers, _POWERS * known.grid.exponent)
        self._room -= float(np.abs(coarse).sum())
        if self._room < 0:
            raise ValueError(
                "y must be of the size of the first targets, got numbers whose squares are too large to be added"
                " exactly; fit again with these rows"
            )
        parts = np.empty((3, 2, len(at)), dtype=np.int64)
        parts[:, 0], parts[:, 1] = coarse, fine
        np.add.at(self._sums.reshape(-1), (at * 6 + _PARTS).ravel(), parts.ravel())  # one call, not six

    def added(self) -> LeafMoments:
        """The leaves with new means, variances and weights; those without later rows are unchanged."""
        leaves, incremental = self._leaves, self._incremental
        new = np.flatnonzero(self._sums[:, 0].any(axis=1))
        owner = np.searchsorted(self._ends, new, side="right")
        centre = np.array([origin.grid.centre for origin in self._origins])[owner]
        exponent = np.array([origin.grid.exponent for origin in self._origins])[owner]
        weight, sum_, squares = (_of_parts(self._sums[new, power], power * exponent) for power in range(3))
        away = incremental.mean[new] - centre
        total = incremental.weight[new] + weight
        mean = (incremental.weight[new] * away + sum_) / total
        square = (incremental.weight[new] * (incremental.variance[new] + away**2) + squares) / total
        values, variances, weights = leaves.values.copy(), leaves.variances.copy(), leaves.weights
        values[new], variances[new] = centre + mean, np.maximum(square - mean**2, 0)
        if weights is not None or (total != self._counts[new]).any():
            weights = self._counts.astype(np.float64) if weights is None else weights.copy()
            weights[new] = total
        incremental = replace(incremental, sums=self._sums)
        return replace(
            leaves, counts=self._counts, values=values, variances=variances, weights=weights, incremental=incremental
        )


def _in_parts(values: Floats, exponent: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Numbers, in units of two to the exponent -> whole numbers of 2^-30 units, and of 2^-60 units."""
    units = np.ldexp(values, _FINE - exponent)
    coarse = np.rint(units)
    return coarse, np.rint(np.ldexp(units - coarse, _FINE))


def _of_parts(parts: NDArray[np.int64], exponent: NDArray[np.int64]) -> Floats:
    """The inverse of `_in_parts`: (m, 2) -> (m,)"""
    units = parts[:, 0].astype(np.float64) + np.ldexp(parts[:, 1].astype(np.float64), -_FINE)
    return np.asarray(np.ldexp(units, exponent - _FINE))
