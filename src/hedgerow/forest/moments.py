"""Moments of leaves in a regression.

Sums over later rows are exact, so the result does not depend on how many calls add the rows. Each sum is a pair of
whole numbers: one counts units, the other 2^-30 of a unit, which is about 2^-60 of the spread of the first targets.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow import _core
from hedgerow.criteria import Criterion
from hedgerow.forest.class_counts import ClassCounts, join_weights
from hedgerow.forest.nodes import Nodes
from hedgerow.forest.payload import Adding, LeafPayload, Rows
from hedgerow.forest.rows import Provenance
from hedgerow.table.schema import Array

#: Smallest weight relative to the largest: a leaf with zero total weight would have no mean.
LIGHTEST = 1e-250
#: Largest absolute target; squares of larger ones would overflow.
MAX_TARGET = 1e150

Floats = NDArray[np.float64]

_FINE = 30  # bits of each part of a sum
_MOST = 2.0**62
# Powers of targets that are summed, and the parts of these sums; a column each.
_POWERS, _PARTS = np.arange(3)[:, None], np.arange(6)[:, None]


@dataclass(frozen=True, eq=False, repr=False)
class IncrementalMoments:
    """Moments of leaves when they were grown, and exact sums over later rows.

    Parameters
    ----------
    weight, mean, variance : (L,) float64
        The moments of each leaf when it was grown.
    sums : (L, 3, 2) int64
        Sums over the later rows of each leaf: weights, weighted differences from the centre, and weighted squares of
        these.
    """

    weight: Floats
    mean: Floats
    variance: Floats
    sums: NDArray[np.int64]

    @classmethod
    def none(cls, leaves: LeafMoments) -> IncrementalMoments:
        """Return the moments of leaves without later rows."""
        sums = np.zeros((leaves.n_leaves, 3, 2), dtype=np.int64)
        return cls(leaves.amount, leaves.mean, leaves.variances, sums)

    def between(self, first: int, last: int) -> IncrementalMoments:
        """Return the moments of leaves `first` to ``last - 1``."""
        return IncrementalMoments(*(held[first:last] for held in vars(self).values()))

    @classmethod
    def join(cls, *parts: IncrementalMoments) -> IncrementalMoments:
        """Join the moments of all parts."""
        return cls(*(np.concatenate(held) for held in zip(*(vars(part).values() for part in parts), strict=True)))


@dataclass(frozen=True, eq=False, repr=False)
class LeafMoments(LeafPayload):
    """Counts, means and variances of leaves in a regression.

    Parameters
    ----------
    counts : (L,) uint32
        Rows in each leaf.
    values : (L,) float64
        The prediction of each leaf: the mean, or the median if the criterion is "absolute_error".
    variances : (L,) float64
        The variance of the targets in each leaf.
    weights : (L,) float64 or None
        The weight of the rows in each leaf, if rows were weighted.
    means : (L,) float64 or None
        The mean of each leaf, if it differs from `values`.
    incremental : IncrementalMoments or None
        The moments before later rows were added, and the sums over these; None without later rows.
    halves : (L,) float64 or None
        Mean half width of the targets in each leaf, if some are intervals, whose midpoints are the targets above.
    errors : (L,) float64 or None
        Mean absolute error around the median, if it was computed; not stored in files.
    """

    TYPES: ClassVar[dict[str, Any]] = {
        "counts": np.uint32,
        "weights": np.float64,
        "values": np.float64,
        "means": np.float64,
        "variances": np.float64,
        "halves": np.float64,
    }
    OPTIONAL: ClassVar[tuple[str, ...]] = ("weights", "means", "halves")
    KEY_ARRAY: ClassVar[str] = "values"
    LEAST_WEIGHT: ClassVar[float] = LIGHTEST
    lifts_freely: ClassVar[bool] = True

    counts: NDArray[np.uint32]
    values: Floats
    variances: Floats
    weights: Floats | None = None
    means: Floats | None = None
    halves: Floats | None = None
    incremental: IncrementalMoments | None = None
    errors: Floats | None = None

    n_classes: ClassVar[int] = 1  # type: ignore[misc]  # rows are counted as if they were of one class

    @classmethod
    def from_arrays(cls, n_classes: int, arrays: Mapping[str, Any]) -> LeafMoments:
        """Return leaves from arrays as named in files; only `n_classes` is checked."""
        if n_classes != 1:
            raise ValueError(f"n_classes must be 1 in a regression, got {n_classes}")
        return cls(**{name: arrays.get(name) for name in cls.TYPES})  # type: ignore[arg-type]

    @property
    def n_leaves(self) -> int:
        """Number of leaves L."""
        return len(self.counts)

    @property
    def amount(self) -> Floats:
        """Weight of each leaf, (L,); the number of rows without weights."""
        return self.counts.astype(np.float64) if self.weights is None else self.weights

    @property
    def rows(self) -> NDArray[np.int64]:
        """Number of rows in each leaf, (L,)."""
        return self.counts.astype(np.int64)

    @property
    def mean(self) -> Floats:
        """Mean of each leaf, (L,)."""
        return self.values if self.means is None else self.means

    @property
    def half_widths(self) -> Floats:
        """Mean half width of the targets in each leaf, (L,)."""
        return np.zeros(self.n_leaves) if self.halves is None else self.halves

    def table(self, which: slice | NDArray[np.int64] = slice(None), *, weighted: bool = False) -> Array:
        """Return the rows of leaves, or their weight, (m, 1)."""
        return (self.weights if weighted and self.weights is not None else self.counts)[which, None]

    def read(self, which: slice | NDArray[np.int64] = slice(None)) -> LeafMoments:
        """Return leaves (m,) with all their moments."""
        return self if which == slice(None) else self._each(lambda held: held[which])

    def between(self, first: int, last: int) -> LeafMoments:
        """Return leaves `first` to ``last - 1`` as views."""
        incremental = None if self.incremental is None else self.incremental.between(first, last)
        return replace(self._each(lambda held: held[first:last]), incremental=incremental)

    def join(self, *others: LeafMoments) -> LeafMoments:
        """Return these leaves followed by the others."""
        parts = (self, *others)
        has_means = any(part.means is not None for part in parts)
        has_halves = any(part.halves is not None for part in parts)
        has_later = any(part.incremental is not None for part in parts)
        return LeafMoments(
            np.concatenate([part.counts for part in parts]),
            np.concatenate([part.values for part in parts]),
            np.concatenate([part.variances for part in parts]),
            join_weights(parts),
            np.concatenate([part.mean for part in parts]) if has_means else None,
            np.concatenate([part.half_widths for part in parts]) if has_halves else None,
            IncrementalMoments.join(*(part.incremental or IncrementalMoments.none(part) for part in parts))
            if has_later
            else None,
        )

    def add_classes(self, places: NDArray[np.intp], n_classes: int) -> LeafMoments:
        """Return the leaves unchanged: a regression has no classes."""
        return self

    def at_nodes(self, tree: Nodes) -> LeafMoments:
        """Return the moments of each of the N nodes; inner nodes predict the mean."""

        leaf = tree.is_leaf
        number = tree.payload[leaf]
        centre = np.average(self.mean, weights=self.amount)  # subtracted to avoid cancellation in squares
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
        halves = None
        if self.halves is not None:
            halves = _core.node_sums(tree.bits, tree.payload, (amount * self.halves)[:, None])[:, 0] / weight
        return LeafMoments(
            counts.astype(np.int64),
            values,
            variances,
            None if self.weights is None else weight,
            None if self.means is None else means,
            halves,
        )

    def cut(self, nodes: NDArray[np.int64]) -> LeafMoments:
        """Return the moments of some nodes (m,), which become leaves."""
        kept = self._each(lambda held: held[nodes])
        return replace(kept, counts=kept.counts.astype(np.uint32))

    def adding(
        self, target: Array, weights: Floats | None, origins: Sequence[Provenance], ends: NDArray[np.int64]
    ) -> _Adding:
        """Return an object that adds later rows with targets (m,) to leaves."""
        return _Adding(self, target, weights, origins, ends)

    def cannot_be_cut(self, criterion: str | Criterion) -> str | None:
        """Return why leaves cannot be merged into one: medians need the rows."""
        return "the median of two leaves does not follow from theirs" if criterion == "absolute_error" else None

    def as_counts(self) -> ClassCounts:
        """Return counts and weights as `ClassCounts` of one class."""
        return ClassCounts(1, self.counts, None, None, self.weights)

    def predictions(self) -> Floats:
        """Return the prediction of each leaf, (L, 1)."""
        return self.values[:, None]

    def impurity(self, criterion: str | Criterion) -> Floats:
        """Return the impurity of each leaf, (L,).

        It is the variance; half the deviance, up to a constant of the tree, for "poisson"; the mean absolute error for
        "absolute_error", if it was computed; and the uncertainty for a criterion of numbers.
        """
        if isinstance(criterion, Criterion) and criterion.of_numbers:
            return criterion.impurity(np.column_stack([self.counts, self.mean, self.variances]))
        if criterion == "absolute_error" and self.errors is not None:
            return self.errors
        if criterion != "poisson":
            return self.variances
        return np.asarray(-self.mean * np.log(np.where(self.mean > 0, self.mean, 1.0)))

    def words(self, number: int, classes: Array, decimals: int) -> str:
        """Return prediction, standard deviation and number of rows of a leaf as text."""
        rows, deviation = int(self.counts[number]), float(np.sqrt(self.variances[number]))
        spread = f" ± {deviation:.{decimals}f}" if rows > 1 else ""
        return f"{self.values[number]:.{decimals}f}{spread} ({rows} {'row' if rows == 1 else 'rows'})"

    def check(self) -> None:
        """Raise if leaves have no rows, or values are not finite."""
        for name, held in self.arrays().items():
            if len(held) != self.n_leaves:
                raise ValueError(f"{name} must have {self.n_leaves} values, got {len(held)}")
        self._check_weights()
        check_moments(self.mean, self.variances)
        check_targets("values", self.values)
        if not (self.half_widths >= 0).all():
            raise ValueError(f"halves must be non-negative, got {self.half_widths.min():g}")
        check_targets("halves", self.half_widths)
        if (self.counts == 0).any():
            raise ValueError(f"counts must be positive, got {int((self.counts == 0).sum())} leaves without rows")

    def _each(self, change: Callable[[Array], Array]) -> LeafMoments:
        """Apply the same change to every array."""
        changed: dict[str, Any] = {name: change(held) for name, held in self.arrays().items()}
        return LeafMoments(**changed)


def check_targets(name: str, values: Floats) -> None:
    """Raise if numbers are not valid targets."""
    if not np.abs(values).max(initial=0.0) <= MAX_TARGET:
        raise ValueError(f"{name} must lie within ±{MAX_TARGET:g}, got {np.abs(values).max():g}")


def check_moments(means: Floats, variances: Floats) -> None:
    """Raise if means and variances are impossible."""
    check_targets("means", means)
    if not ((variances >= 0) & (variances <= 2 * MAX_TARGET**2)).all():
        bad = variances[~((variances >= 0) & (variances <= 2 * MAX_TARGET**2))][0]
        raise ValueError(f"variances must lie between 0 and {2 * MAX_TARGET**2:g}, got {bad:g}")


class _Adding(Adding):
    """Leaves, and exact sums of the moments of added rows."""

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
        self._powers: dict[int, tuple[Floats, Floats]] = {}  # by origin: powers 0, 1, 2 of targets (3, m), weights (m,)

    def add(self, origin: int, at: NDArray[np.int64], rows: Rows, times: NDArray[np.uint32] | None) -> None:
        """Add the moments of some rows to the leaves they reach."""
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
                "y must be of the same order of magnitude as the first targets, got values whose squares cannot be"
                " added exactly. Refit with all rows."
            )
        parts = np.empty((3, 2, len(at)), dtype=np.int64)
        parts[:, 0], parts[:, 1] = coarse, fine
        np.add.at(self._sums.reshape(-1), (at * 6 + _PARTS).ravel(), parts.ravel())  # one call, not six

    def added(self) -> LeafMoments:
        """Return the leaves with the added rows; other leaves are unchanged."""
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
    """Split numbers into whole numbers of 2^-30 and 2^-60 units."""
    units = np.ldexp(values, _FINE - exponent)
    coarse = np.rint(units)
    return coarse, np.rint(np.ldexp(units - coarse, _FINE))


def _of_parts(parts: NDArray[np.int64], exponent: NDArray[np.int64]) -> Floats:
    """Invert `_in_parts`, (m, 2) to (m,)."""
    units = parts[:, 0].astype(np.float64) + np.ldexp(parts[:, 1].astype(np.float64), -_FINE)
    return np.asarray(np.ldexp(units, exponent - _FINE))
