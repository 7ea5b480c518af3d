"""Class counts of leaves."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow import _core
from hedgerow.criteria import Criterion, resolve_criterion
from hedgerow.forest.leaf_masses import LeafMasses, label_gaps
from hedgerow.forest.nodes import Nodes, ascends, each_from, join_starts, starts_of
from hedgerow.forest.payload import Adding, LeafPayload, Rows
from hedgerow.forest.reducers import Reducer, lift_distinct
from hedgerow.forest.rows import Provenance
from hedgerow.rules import Setting
from hedgerow.table.schema import Array

Floats = NDArray[np.float64]

#: Largest number of classes for which leaves store all counts; with more, they store only positive ones.
DENSE_CLASSES = 8


@dataclass(frozen=True, eq=False, repr=False)
class ClassCounts(LeafPayload):
    """Class counts and weights of leaves.

    Parameters
    ----------
    n_classes : int
        Number of classes K.
    counts : (L * K,) uint32, or (E,) uint32 if there are many classes
        Rows of each class in each leaf.
    entry_start, entry_class : (L + 1,) int64 and (E,) uint16, or None
        With many classes, the entries of `counts` that belong to each leaf, and their classes.
    weights : like counts, float64, or None
        Weight of the rows of each class, if rows were weighted. Class shares come from the weights, the amount of
        evidence from the counts.
    masses : LeafMasses or None
        Masses of the sets of classes, if labels were uncertain (requires `weights`). Then weights are refined shares.
    wide : bool
        Whether `read` returns the gaps of uncertain labels next to the counts (requires `masses`).
    """

    TYPES: ClassVar[dict[str, Any]] = {
        "counts": np.uint32,
        "entry_start": np.int64,
        "entry_class": np.uint16,
        "weights": np.float64,
        **LeafMasses.TYPES,
    }
    OPTIONAL: ClassVar[tuple[str, ...]] = ("entry_start", "entry_class", "weights", *LeafMasses.TYPES)
    KEY_ARRAY: ClassVar[str] = "counts"

    n_classes: int
    counts: NDArray[np.uint32]
    entry_start: NDArray[np.int64] | None = None
    entry_class: NDArray[np.uint16] | None = None
    weights: Floats | None = None
    masses: LeafMasses | None = None
    wide: bool = False

    @classmethod
    def from_arrays(cls, n_classes: int, arrays: Mapping[str, Any]) -> ClassCounts:
        """Return leaves from arrays as named in files, unchecked."""
        held = (arrays.get(name) for name in cls.TYPES if name not in LeafMasses.TYPES)
        return replace(cls(n_classes, *held), masses=LeafMasses.from_arrays(n_classes, arrays))  # type: ignore[arg-type]

    def arrays(self) -> dict[str, Any]:
        """Return all arrays by name."""
        own = ("counts", "entry_start", "entry_class", "weights")
        held = {name: array for name in own if (array := vars(self)[name]) is not None}
        return held if self.masses is None else held | self.masses.arrays()

    @classmethod
    def of_tables(cls, counts: NDArray[np.integer[Any]], weights: Floats | None) -> ClassCounts:
        """Return leaves from tables of counts and weights, (L, K) each."""
        n_classes = counts.shape[1]
        if n_classes <= DENSE_CLASSES:
            return cls(n_classes, counts.astype(np.uint32).ravel(), None, None, _raveled(weights))
        leaf, label = np.nonzero(counts if weights is None else counts + weights)
        return cls(
            n_classes,
            counts[leaf, label].astype(np.uint32),
            starts_of(np.bincount(leaf, minlength=len(counts))),
            label.astype(np.uint16),
            None if weights is None else weights[leaf, label],
        )

    @classmethod
    def of_cells(
        cls,
        n_classes: int,
        n_leaves: int,
        cells: NDArray[np.int64],
        counts: NDArray[np.integer[Any]],
        weights: Floats | None,
    ) -> ClassCounts:
        """Return leaves from the contents of cells (m,), leaf · K + class, ascending."""
        rows = counts.astype(np.uint32)
        if n_classes <= DENSE_CLASSES:
            size = n_leaves * n_classes
            return cls(n_classes, _spread(rows, cells, size), None, None, _spread(weights, cells, size))
        held = (rows > 0) if weights is None else (rows > 0) | (weights > 0)
        cells = cells[held]
        return cls(
            n_classes,
            rows[held],
            starts_of(np.bincount(cells // n_classes, minlength=n_leaves)),
            (cells % n_classes).astype(np.uint16),
            None if weights is None else weights[held],
        )

    @property
    def n_leaves(self) -> int:
        """Number of leaves L."""
        return len(self.counts) // self.n_classes if self.entry_start is None else len(self.entry_start) - 1

    @property
    def amount(self) -> Floats:
        """Weight of each leaf, (L,); the number of rows without weights."""
        amount: Floats = self.table(weighted=True).sum(axis=1).astype(np.float64)
        return amount

    @property
    def rows(self) -> NDArray[np.int64]:
        """Number of rows in each leaf, (L,)."""
        if self.entry_start is None:
            return np.asarray(self.counts.reshape(-1, self.n_classes).sum(axis=1, dtype=np.int64))
        return np.diff(starts_of(self.counts.astype(np.int64))[self.entry_start])

    @property
    def cells(self) -> NDArray[np.int64]:
        """Cell of every stored count, leaf · K + class, (E,)."""
        if self.entry_start is None or self.entry_class is None:
            return np.arange(len(self.counts))
        leaf = np.repeat(np.arange(self.n_leaves), np.diff(self.entry_start))
        return leaf * self.n_classes + self.entry_class

    @property
    def width(self) -> int:
        """Number of columns that `read` returns: K, or 3K with label gaps."""
        return 3 * self.n_classes if self.wide else self.n_classes

    def with_gaps(self) -> ClassCounts:
        """Return the leaves with the gaps of uncertain labels next to the counts that are read."""
        return self if self.wide or self.masses is None else replace(self, wide=True)

    def table(self, which: slice | NDArray[np.int64] = slice(None), *, weighted: bool = False) -> Array:
        """Return the rows of each class in leaves, or their weight, (m, K)."""
        values = self.weights if weighted and self.weights is not None else self.counts
        if self.entry_start is None or self.entry_class is None:
            return values.reshape(-1, self.n_classes)[which]
        first, last = self.entry_start[:-1][which], self.entry_start[1:][which]
        row = np.repeat(np.arange(len(first)), last - first)
        entry = each_from(first, last - first)
        table = np.zeros((len(first), self.n_classes), dtype=values.dtype)
        table[row, self.entry_class[entry]] = values[entry]
        return table

    def read(self, which: slice | NDArray[np.int64] = slice(None)) -> Floats:
        """Return the evidence of leaves, (m, K): row totals, in proportion to weights.

        Wide leaves have `label_gaps` next to them, (m, 3K).
        """
        counts = self.table(which).astype(np.float64)
        if self.weights is None:
            return counts
        refined = _shared_out(counts, self.table(which, weighted=True))
        if not self.wide:
            return refined
        assert self.masses is not None
        return np.hstack([refined, label_gaps(refined, *self.masses.read(which))])

    def read_without(self, leaves: NDArray[np.int64], own: Array) -> Floats:
        """Return the evidence of leaves (m,) without one row each, (m, K).

        `own` has the class of each row, or the weights it added, with belief and plausibility if labels are uncertain,
        (m, 3K). In a weighted forest, a row is assumed to have the mean weight of its class in the leaf. The amount of
        evidence is the number of remaining rows. Wide leaves have `label_gaps` next to them, (m, 3K).
        """
        if own.ndim == 2 and self.masses is not None:
            return self._read_without_masses(leaves, own)
        counts, each = self.table(leaves).astype(np.float64), np.arange(len(leaves))
        if own.ndim == 2:
            rest = np.maximum(self.table(leaves, weighted=True) - own, 0.0)
            rest[rest < 1e-9 * own.max(axis=1, keepdims=True)] = 0.0  # rounding errors of a row's own class
            return _shared_out(np.maximum(counts.sum(axis=1) - 1.0, 0.0)[:, None], rest)
        held = counts[each, own]
        counts[each, own] = np.maximum(held - 1, 0)
        if self.weights is None:
            return counts
        weights = self.table(leaves, weighted=True)
        weights[each, own] *= np.maximum(held - 1, 0) / np.where(held > 0, held, 1.0)
        return _shared_out(counts, weights)

    def _read_without_masses(self, leaves: NDArray[np.int64], own: Array) -> Floats:
        """Return the evidence of leaves (m,) without one row each, given its weights and bounds, (m, 3K)."""
        assert self.masses is not None
        own_weight, own_belief, own_plausible = np.hsplit(own, 3)
        narrow = replace(self, masses=None, wide=False)
        refined = narrow.read_without(leaves, own_weight)
        if not self.wide:
            return refined
        belief, plausible, total = self.masses.read(leaves)
        rest = np.maximum(total - own_weight.sum(axis=1), 0.0)
        return np.hstack([refined, label_gaps(refined, belief - own_belief, plausible - own_plausible, rest)])

    def lift(self, what: Reducer[Any], setting: Setting, which: slice | NDArray[np.int64] = slice(None)) -> Floats:
        """Return the states of leaves, (m, S); equal counts are lifted once."""
        return lift_distinct(what, self.read(which), setting)

    def lift_without(self, what: Reducer[Any], setting: Setting, leaves: NDArray[np.int64], own: Array) -> Floats:
        """Return the states of leaves (m,) without one row each, (m, S)."""
        return lift_distinct(what, self.read_without(leaves, own), setting)

    def lift_without_each(self, what: Reducer[Any], setting: Setting) -> Floats:
        """Return the states of leaves without one row of a class, by cell, (E, S)."""
        return self.lift_without(what, setting, *np.divmod(self.cells, self.n_classes))

    def cell_start(self, leaves: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the first cell of each leaf, (m,)."""
        return leaves * self.n_classes if self.entry_start is None else self.entry_start[leaves]

    def between(self, first: int, last: int) -> ClassCounts:
        """Return leaves `first` to ``last - 1`` as views."""
        start, label = self.entry_start, self.entry_class
        if start is None or label is None:
            cells = slice(first * self.n_classes, last * self.n_classes)
        else:
            cells = slice(start[first], start[last])
            start, label = start[first : last + 1] - cells.start, label[cells]
        weights = None if self.weights is None else self.weights[cells]
        masses = None if self.masses is None else self.masses.between(first, last)
        return ClassCounts(self.n_classes, self.counts[cells], start, label, weights, masses, self.wide)

    def take(self, leaves: NDArray[np.int64]) -> ClassCounts:
        """Return distinct leaves in the given order; -1 gives an empty leaf."""
        place = np.full(self.n_leaves, -1)
        place[leaves[leaves >= 0]] = np.flatnonzero(leaves >= 0)
        leaf, label = np.divmod(self.cells, self.n_classes)
        kept = np.flatnonzero(place[leaf] >= 0)
        cells = place[leaf[kept]] * self.n_classes + label[kept]
        order = np.argsort(cells)
        at = kept[order]
        weights = None if self.weights is None else self.weights[at]
        taken = ClassCounts.of_cells(self.n_classes, len(leaves), cells[order], self.counts[at], weights)
        return taken if self.masses is None else replace(taken, masses=self.masses.take(leaves))

    def join(self, *others: ClassCounts) -> ClassCounts:
        """Return these leaves followed by the others."""
        parts = (self, *others)
        counts = np.concatenate([part.counts for part in parts])
        weights, masses = join_weights(parts), _join_masses(parts)
        if self.entry_start is None:
            return ClassCounts(self.n_classes, counts, None, None, weights, masses)
        start = join_starts([_there(part.entry_start) for part in parts])
        label = np.concatenate([_there(part.entry_class) for part in parts])
        return ClassCounts(self.n_classes, counts, start, label, weights, masses)

    def add_classes(self, places: NDArray[np.intp], n_classes: int) -> ClassCounts:
        """Return the leaves with more classes; class k becomes ``places[k]``."""
        leaf, label = np.divmod(self.cells, self.n_classes)
        wider = ClassCounts.of_cells(
            n_classes, self.n_leaves, leaf * n_classes + places[label], self.counts, self.weights
        )
        return wider if self.masses is None else replace(wider, masses=self.masses.add_classes(places, n_classes))

    def at_nodes(self, tree: Nodes) -> ClassCounts:
        """Return the counts of each of the N nodes of a tree with these leaves."""
        counts = _core.node_sums(tree.bits, tree.payload, np.ascontiguousarray(self.table().astype(np.int64)))
        weights = None
        if self.weights is not None:
            weights = _core.node_sums(tree.bits, tree.payload, np.ascontiguousarray(self.table(weighted=True)))
        masses = None if self.masses is None else self.masses.at_nodes(tree)
        return ClassCounts(self.n_classes, counts.ravel(), None, None, _raveled(weights), masses, self.wide)

    def impurity_at_nodes(self, tree: Nodes, criterion: str | Criterion) -> tuple[Floats, Floats]:
        """Return weight and impurity of each node of a tree with these leaves, (N,) each."""
        of_masses = self.masses is not None and resolve_criterion(criterion).reads_masses
        if of_masses or self.entry_start is None or self.entry_class is None:
            return super().impurity_at_nodes(tree, criterion)
        return impurity_of_entries(self._entries(tree, self.heavy), resolve_criterion(criterion), self.n_classes)

    def held_at_nodes(self, tree: Nodes) -> Iterator[tuple[Array, Array, Array]]:
        """Yield classes, rows and weights of each node, from the last to the root."""
        if self.entry_start is None:
            return super().held_at_nodes(tree)
        return held_at_nodes(self._entries(tree, self.counts), self._entries(tree, self.heavy))

    def _entries(self, tree: Nodes, amount: Array) -> _core.NodeEntries:
        """Return the entries of nodes; full tables could be a thousand times larger."""
        start, label = _there(self.entry_start), _there(self.entry_class)
        return _core.NodeEntries(tree.bits, tree.payload, start, label, amount.astype(np.float64))

    def cut(self, nodes: NDArray[np.int64]) -> ClassCounts:
        """Return the counts of some nodes (m,), which become leaves."""
        weights = None if self.weights is None else self.table(nodes, weighted=True)
        cut = ClassCounts.of_tables(self.table(nodes), weights)
        return cut if self.masses is None else replace(cut, masses=self.masses.take(nodes))

    def repeat(self, borrowers: NDArray[np.int64], lenders: NDArray[np.int64]) -> ClassCounts:
        """Return the leaves with each borrower replaced by the sum of its lenders."""
        cells, n_classes = self.cells, self.n_classes
        leaf, label = np.divmod(cells, n_classes)
        kept = np.flatnonzero(~np.isin(leaf, borrowers))
        first, last = (np.searchsorted(leaf, lenders, side=side) for side in ("left", "right"))
        entry = each_from(first, last - first)
        sums, where = np.unique(np.repeat(borrowers, last - first) * n_classes + label[entry], return_inverse=True)
        all_cells = np.concatenate([cells[kept], sums])
        order = np.argsort(all_cells)
        counts = np.concatenate([self.counts[kept], exact_sums(where, self.counts[entry], len(sums))])
        weights = None
        if self.weights is not None:
            repeated = np.bincount(where, weights=self.weights[entry], minlength=len(sums))
            weights = np.concatenate([self.weights[kept], repeated])[order]
        repaid = ClassCounts.of_cells(n_classes, self.n_leaves, all_cells[order], counts[order], weights)
        return repaid if self.masses is None else replace(repaid, masses=self.masses.repeat(borrowers, lenders))

    def adding(
        self, target: Array, weights: Floats | None, origins: Sequence[Provenance], ends: NDArray[np.int64]
    ) -> _Adding:
        """Return an object that counts later rows with class numbers (m,) in leaves."""
        kind = _AddingToAll if self.entry_start is None else _AddingToParts
        return kind(self, target, weights, origins, ends)

    def impurity(self, criterion: str | Criterion) -> Floats:
        """Return the impurity of each leaf, (L,), from its class weights, or from masses if a criterion reads them."""
        resolved, masses = resolve_criterion(criterion), self.masses
        if masses is None or not resolved.reads_masses:
            return np.asarray(resolved.impurity(self.table(weighted=True).astype(np.float64)))
        step = max(1, CELLS // max(1, len(masses.sets)))
        blocks = (masses.table(slice(first, first + step)).toarray() for first in range(0, self.n_leaves, step))
        return np.concatenate([resolved.impurity_of_sets(block, masses.sets > 0) for block in blocks])

    def words(self, number: int, classes: Array, decimals: int) -> str:
        """Return the positive counts of a leaf as text."""
        leaf = self.between(number, number + 1)
        held = zip(classes[leaf.cells].tolist(), leaf.counts.tolist(), strict=True)
        return ", ".join(f"{label}: {count}" for label, count in held if count) or "no rows"

    def check(self) -> None:
        """Raise if counts, classes and weights do not match."""
        n_classes, n_cells = self.n_classes, len(self.counts)
        if n_classes < 1:
            raise ValueError(f"n_classes must be at least 1, got {n_classes}")
        if self.weights is not None and len(self.weights) != n_cells:
            raise ValueError(f"weights must have {n_cells} values, one per count, got {len(self.weights)}")
        self._check_weights()
        self._check_layout()
        if self.masses is not None:
            if self.weights is None:
                raise ValueError("weights must be present with masses")
            self.masses.check(self.n_leaves)

    def _check_layout(self) -> None:
        """Raise if the cells of counts do not match the leaves."""
        n_classes, n_cells = self.n_classes, len(self.counts)
        if (self.entry_start is None) != (n_classes <= DENSE_CLASSES):
            raise ValueError(f"entry_start must be None for at most {DENSE_CLASSES} classes, and not for {n_classes}")
        if self.entry_start is None:
            if n_cells % n_classes or self.entry_class is not None:
                raise ValueError(f"counts must have {n_classes} values per leaf, got {n_cells}")
            return
        if not ascends(self.entry_start[:: max(1, self.n_leaves)], n_cells):  # its ends only; the core checks the rest
            ends = self.entry_start[:: max(1, self.n_leaves)].tolist()
            raise ValueError(f"entry_start must go from 0 to {n_cells}, got {ends}")
        if self.entry_class is None or len(self.entry_class) != n_cells:
            n_given = 0 if self.entry_class is None else len(self.entry_class)
            raise ValueError(f"entry_class must have {n_cells} values, one per count, got {n_given}")


class _Adding(Adding):
    """Sums of rows, and of their weights in units, by cell, leaf · K + class."""

    def __init__(
        self,
        leaves: ClassCounts,
        labels: Array,
        weights: Floats | None,
        origins: Sequence[Provenance],
        ends: NDArray[np.int64],
    ) -> None:
        self._leaves, self._labels, self._origins, self._ends = leaves, labels.astype(np.int64), origins, ends
        self._units = [_in_units(weights, origin, len(labels)) for origin in origins]
        self._weighted = leaves.weights is not None or any(each is not None for each in self._units)

    def add(self, origin: int, at: NDArray[np.int64], rows: Rows, times: NDArray[np.uint32] | None) -> None:
        """Count rows in the leaves they reach; those counted 0 times add no weight."""
        labels, units = self._labels[rows], None
        if self._weighted:
            known, given = self._origins[origin], self._units[origin]
            units = np.full(len(labels), known.whole_weight) if given is None else given[rows]
            if times is not None:
                units = units * times if known.leaf_counts == "inbag" else np.where(times > 0, units, 0)
        self._count(at * self._leaves.n_classes + labels, times, units)

    @abstractmethod
    def _count(
        self, cells: NDArray[np.int64], times: NDArray[np.uint32] | None, units: NDArray[np.int64] | None
    ) -> None:
        """Count rows (m,) in their cells."""

    def _heavier(self, weights: Floats, cells: NDArray[np.int64], added: NDArray[np.int64]) -> Floats:
        """Return weights of cells (m,) plus added units, rounded once."""
        owner = np.searchsorted(self._ends, cells // self._leaves.n_classes, side="right")
        unit = np.array([origin.weight_unit for origin in self._origins])[owner]
        return np.asarray((np.rint(weights / unit) + added) * unit)


class _AddingToAll(_Adding):
    """Sums for leaves with a cell per class."""

    def __init__(self, leaves: ClassCounts, *given: Any) -> None:
        super().__init__(leaves, *given)
        self._counts = leaves.counts.copy()
        self._sums = np.zeros(len(self._counts), dtype=np.int64)

    def _count(
        self, cells: NDArray[np.int64], times: NDArray[np.uint32] | None, units: NDArray[np.int64] | None
    ) -> None:
        np.add.at(self._counts, cells, np.uint32(1) if times is None else times)
        if units is not None:
            np.add.at(self._sums, cells, units)

    def added(self) -> ClassCounts:
        """Return the leaves with the added rows."""
        if not self._weighted:
            return replace(self._leaves, counts=self._counts)
        weights = self._leaves.heavy.copy()
        cells = np.flatnonzero(self._sums)
        weights[cells] = self._heavier(weights[cells], cells, self._sums[cells])
        return with_certain_rows(self._leaves, replace(self._leaves, counts=self._counts, weights=weights))


class _AddingToParts(_Adding):
    """Sums for leaves of many classes, which store positive counts only."""

    def __init__(self, leaves: ClassCounts, *given: Any) -> None:
        super().__init__(leaves, *given)
        self._cells: list[NDArray[np.int64]] = []
        self._times: list[NDArray[np.int64]] = []
        self._sums: list[NDArray[np.int64]] = []

    def _count(
        self, cells: NDArray[np.int64], times: NDArray[np.uint32] | None, units: NDArray[np.int64] | None
    ) -> None:
        counted = slice(None) if times is None else times > 0
        distinct, where = np.unique(cells[counted], return_inverse=True)
        self._cells.append(distinct)
        self._times.append(exact_sums(where, None if times is None else times[counted], len(distinct)))
        if units is not None:
            self._sums.append(exact_sums(where, units[counted], len(distinct)))

    def added(self) -> ClassCounts:
        """Return the leaves with the added rows; new cells are inserted in order."""
        leaves, there = self._leaves, self._leaves.cells
        cells, where = np.unique(np.concatenate([there, *self._cells]), return_inverse=True)
        counts = exact_sums(where, np.concatenate([leaves.counts, *self._times]), len(cells))
        weights = None
        if self._weighted:
            weights = np.zeros(len(cells))
            weights[where[: len(there)]] = leaves.heavy
            units = exact_sums(where[len(there) :], np.concatenate(self._sums), len(cells))
            new = np.flatnonzero(units)
            weights[new] = self._heavier(weights[new], cells[new], units[new])
        return with_certain_rows(
            leaves, ClassCounts.of_cells(leaves.n_classes, leaves.n_leaves, cells, counts, weights)
        )


def with_certain_rows(before: ClassCounts, after: ClassCounts) -> ClassCounts:
    """Return leaves after certain rows were added, with the masses of these rows."""
    if before.masses is None:
        return after
    added = after.table(weighted=True) - before.table(weighted=True)
    return replace(after, masses=before.masses.plus(np.maximum(added, 0.0)))


def _in_units(weights: Floats | None, origin: Provenance, n_rows: int) -> NDArray[np.int64] | None:
    """Return weights in units of the leaves, (m,); None if every row has weight one."""
    relative = (np.ones(n_rows) if weights is None else weights) / origin.weight_scale
    if (relative == 1).all():
        return None
    return np.maximum(1, np.rint(relative / origin.weight_unit)).astype(np.int64)


def _shared_out(counts: Floats, weights: Array) -> Floats:
    """Return the row totals of counts (m, K) in proportion to weights (m, K)."""
    total = weights.sum(axis=1, keepdims=True)
    return np.asarray(counts.sum(axis=1, keepdims=True) * weights / np.where(total > 0, total, 1.0))


def join_weights(parts: tuple[LeafPayload, ...]) -> Floats | None:
    """Join weights, or counts of parts without weights; None if no part has any."""
    if all(part.weights is None for part in parts):
        return None
    return np.concatenate([part.heavy for part in parts])


def _join_masses(parts: tuple[ClassCounts, ...]) -> LeafMasses | None:
    """Join masses, or those of certain rows; None if no part has any."""
    if all(part.masses is None for part in parts):
        return None
    first, *more = (
        LeafMasses.of_counts(part.table(weighted=True).astype(np.float64)) if part.masses is None else part.masses
        for part in parts
    )
    return first.join(*more)


def exact_sums(where: Array, values: Array | None, size: int) -> NDArray[np.int64]:
    """Return the sums of whole numbers (m,), or of ones, at each place, (size,)."""
    total = np.zeros(size, dtype=np.int64)
    np.add.at(total, where, np.int64(1) if values is None else values.astype(np.int64))
    return total


def _spread(values: Array | None, cells: NDArray[np.int64], size: int) -> Any:
    """Return values (m,) of some cells as (size,), zero elsewhere."""
    if values is None:
        return None
    spread = np.zeros(size, dtype=values.dtype)
    spread[cells] = values
    return spread


def _raveled(table: Floats | None) -> Floats | None:
    """Flatten a table, if there is one."""
    return None if table is None else table.ravel()


def _there(array: Array | None) -> Array:
    """Return an array that leaves of many classes always have."""
    assert array is not None
    return array


#: Number of cells of nodes with many classes in memory at once.
CELLS = 1 << 18


def impurity_of_entries(entries: _core.NodeEntries, criterion: Criterion, n_classes: int) -> tuple[Floats, Floats]:
    """Return weight and impurity of each node, (N,) each."""
    blocks = [_of_block(start, labels, amounts, criterion, n_classes) for start, labels, amounts in _blocks(entries)]
    amounts, impurities = zip(*blocks, strict=True)
    return np.concatenate(amounts)[::-1], np.concatenate(impurities)[::-1]


def held_at_nodes(rows: _core.NodeEntries, weights: _core.NodeEntries) -> Iterator[tuple[Any, Floats, Floats]]:
    """Yield classes, rows and weights of each node, from the last to the root."""
    for (start, labels, counts), (_, _, heavy) in zip(_blocks(rows), _blocks(weights), strict=True):
        for first, last in pairwise(start.tolist()):
            yield labels[first:last], counts[first:last], heavy[first:last]


def _blocks(entries: _core.NodeEntries) -> Iterator[tuple[NDArray[np.int64], NDArray[np.uint16], Floats]]:
    """Yield starts, classes and amounts of blocks of nodes."""
    while len((block := entries.next(CELLS))[0]) > 1:
        yield block


def _of_block(
    start: NDArray[np.int64], labels: NDArray[np.uint16], amounts: Floats, criterion: Criterion, n_classes: int
) -> tuple[Floats, Floats]:
    """Return weight and impurity of m nodes, (m,) each.

    Nodes with similar numbers of classes share a table. Impurity does not depend on the order of classes, so absent
    classes have no columns, unless the criterion depends on their number or on the order.
    """
    width = np.diff(start)
    columns = 1 << np.ceil(np.log2(np.maximum(width, 1))).astype(np.int64)
    if criterion.counts_absent:
        columns[:] = n_classes
    weight, impurity = np.zeros(len(width)), np.zeros(len(width))
    for n_columns in np.unique(columns).tolist():
        alike = np.flatnonzero(columns == n_columns)
        for first in range(0, len(alike), step := max(1, CELLS // n_columns)):
            between = alike[first : first + step]
            table = np.zeros((len(between), n_columns))
            row, entry = np.repeat(np.arange(len(between)), width[between]), each_from(start[between], width[between])
            table[row, labels[entry] if criterion.ordered else entry - start[between][row]] = amounts[entry]
            weight[between], impurity[between] = table.sum(axis=1), criterion.impurity(table)
    return weight, impurity
