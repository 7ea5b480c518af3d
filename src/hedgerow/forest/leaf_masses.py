"""Masses of uncertain labels in leaves.

A leaf keeps c(A), the sum of the masses that its rows give to the set A, for the sets that occur in it. The extended
imprecise Dirichlet model (Utkin 2005) has m(A) = c(A)/(n + s), and s/(n + s) more on the set of all classes. Class
counts are one of the completions of these masses: the masses of each set, shared out among its classes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hedgerow import _core
from hedgerow.forest.nodes import Nodes, ascends, each_from, join_starts, starts_of
from hedgerow.forest.payload import MOST_WEIGHT
from hedgerow.labels import FocalMasses
from hedgerow.table.schema import Array

Floats = NDArray[np.float64]

#: Number of sets whose masses at nodes are added up at once.
SETS_TOGETHER = 64
#: Gaps below this share of the rows of a leaf are rounding errors.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class LeafMasses:
    """Masses of the sets of classes in L leaves, in the unit of the leaf weights.

    Parameters
    ----------
    sets : (F, K) uint8
        The focal sets, one row each; 1 for the classes of a set.
    start : (L + 1,) int64
        Start of the entries of each leaf.
    which : (E,) uint32
        Index of the set of each entry, ascending in each leaf.
    amount : (E,) float64
        Sum of the masses of an entry.
    """

    TYPES: ClassVar[dict[str, Any]] = {
        "mass_classes": np.uint8,
        "mass_start": np.int64,
        "mass_set": np.uint32,
        "mass_amount": np.float64,
    }

    sets: NDArray[np.uint8]
    start: NDArray[np.int64]
    which: NDArray[np.uint32]
    amount: Floats

    @classmethod
    def of_cells(cls, sets: Array, n_leaves: int, cells: NDArray[np.int64], amounts: Floats) -> LeafMasses:
        """Return the masses of cells (m,), leaf · F + set, which may repeat."""
        distinct, where = np.unique(cells, return_inverse=True)
        leaf, which = np.divmod(distinct, len(sets))
        summed = np.bincount(where, weights=amounts, minlength=len(distinct)).astype(np.float64)
        start = starts_of(np.bincount(leaf, minlength=n_leaves))
        return cls(sets.astype(np.uint8), start, which.astype(np.uint32), summed)

    @classmethod
    def of_counts(cls, table: Floats) -> LeafMasses:
        """Return the masses of certain rows, given the weight of each class in each leaf, (L, K)."""
        leaf, label = np.nonzero(table)
        sets = np.eye(table.shape[1], dtype=np.uint8)
        return cls.of_cells(sets, len(table), leaf * table.shape[1] + label, table[leaf, label])

    @classmethod
    def from_arrays(cls, n_classes: int, arrays: Mapping[str, Any]) -> LeafMasses | None:
        """Return masses from arrays as named in files; None if they are absent."""
        given = [array for array in map(arrays.get, cls.TYPES) if array is not None]
        if not given:
            return None
        if len(given) < len(cls.TYPES):
            raise ValueError(f"masses must have all of the arrays {', '.join(cls.TYPES)}")
        sets, start, which, amount = given
        if len(sets) % n_classes:
            raise ValueError(f"mass_classes must have {n_classes} values per set, got {len(sets)}")
        return cls(sets.reshape(-1, n_classes), start, which, amount)

    def arrays(self) -> dict[str, Any]:
        """Return the arrays as named in files."""
        held = (self.sets.ravel(), self.start, self.which, self.amount)
        return dict(zip(self.TYPES, held, strict=True))

    @property
    def n_leaves(self) -> int:
        """Number of leaves L."""
        return len(self.start) - 1

    @property
    def leaf(self) -> NDArray[np.int64]:
        """Leaf of each entry, (E,)."""
        return np.repeat(np.arange(self.n_leaves), np.diff(self.start))

    @property
    def cells(self) -> NDArray[np.int64]:
        """Cell of each entry, leaf · F + set, (E,)."""
        return self.leaf * len(self.sets) + self.which

    @property
    def singletons(self) -> NDArray[np.bool_]:
        """Sets of one class, as (F, K) with their class marked."""
        return np.asarray((self.sets > 0) & (self.sets.sum(axis=1, keepdims=True) == 1))

    def places_of(self, sets: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return the index of each of some sets (m, K), which must occur here."""
        keys = {row.tobytes(): place for place, row in enumerate(self.sets)}
        return np.array([keys[row.tobytes()] for row in sets.astype(np.uint8)], dtype=np.int64)

    def table(self, which: slice | NDArray[np.int64] = slice(None)) -> sparse.csr_matrix:
        """Return the masses of leaves, sparse, (m, F)."""
        first, last = self.start[:-1][which], self.start[1:][which]
        entry = each_from(first, last - first)
        held = (self.amount[entry], self.which[entry], starts_of(last - first))
        return sparse.csr_matrix(held, shape=(len(first), len(self.sets)))

    def read(self, which: slice | NDArray[np.int64] = slice(None)) -> tuple[Floats, Floats, Floats]:
        """Return the belief and the plausibility of each class, (m, K), and the whole mass of leaves, (m,)."""
        table = self.table(which)
        belief, plausible = table @ self.singletons.astype(np.float64), table @ self.sets.astype(np.float64)
        return np.asarray(belief), np.asarray(plausible), np.asarray(table.sum(axis=1)).ravel()

    def between(self, first: int, last: int) -> LeafMasses:
        """Return the masses of leaves `first` to ``last - 1`` as views."""
        start = self.start[first : last + 1]
        entries = slice(start[0], start[-1])
        return LeafMasses(self.sets, start - start[0], self.which[entries], self.amount[entries])

    def take(self, leaves: NDArray[np.int64]) -> LeafMasses:
        """Return distinct leaves in the given order; -1 gives an empty leaf."""
        length = np.where(leaves >= 0, np.diff(self.start)[leaves], 0)
        entry = each_from(np.where(leaves >= 0, self.start[:-1][leaves], 0), length)
        return LeafMasses(self.sets, starts_of(length), self.which[entry], self.amount[entry])

    def join(self, *others: LeafMasses) -> LeafMasses:
        """Return the masses of these leaves followed by the others."""
        parts = (self, *others)
        if all(part.sets is self.sets or np.array_equal(part.sets, self.sets) for part in parts):
            sets, which = self.sets, [part.which for part in parts]
        else:
            sets, which = _one_table(parts)
        start = join_starts([part.start for part in parts])
        amount = np.concatenate([part.amount for part in parts])
        return LeafMasses(sets, start, np.concatenate(which), amount)

    def add_classes(self, places: NDArray[np.intp], n_classes: int) -> LeafMasses:
        """Return the masses over more classes; class k becomes ``places[k]``."""
        sets = np.zeros((len(self.sets), n_classes), dtype=np.uint8)
        sets[:, places] = self.sets
        return replace(self, sets=sets)

    def plus(self, table: Floats) -> LeafMasses:
        """Return the masses with certain rows added, of weights (L, K)."""
        more = LeafMasses.of_counts(table)
        sets, (which, added) = _one_table((self, more))
        cells = np.concatenate([self.leaf * len(sets) + which, more.leaf * len(sets) + added])
        amounts = np.concatenate([self.amount, more.amount])
        return LeafMasses.of_cells(sets, self.n_leaves, cells, amounts)

    def repeat(self, borrowers: NDArray[np.int64], lenders: NDArray[np.int64]) -> LeafMasses:
        """Return the masses with each borrower replaced by the sum of its lenders."""
        kept = ~np.isin(self.leaf, borrowers)
        first, last = self.start[:-1][lenders], self.start[1:][lenders]
        entry = each_from(first, last - first)
        lent = np.repeat(borrowers, last - first) * len(self.sets) + self.which[entry]
        cells = np.concatenate([self.cells[kept], lent])
        amounts = np.concatenate([self.amount[kept], self.amount[entry]])
        return LeafMasses.of_cells(self.sets, self.n_leaves, cells, amounts)

    def at_nodes(self, tree: Nodes) -> LeafMasses:
        """Return the masses of each of the N nodes of a tree with these leaves."""
        nodes, which, amounts, table = [], [], [], self.table().tocsc()
        for first in range(0, len(self.sets), SETS_TOGETHER):
            part = np.ascontiguousarray(table[:, first : first + SETS_TOGETHER].toarray())
            sums = _core.node_sums(tree.bits, tree.payload, part)
            node, column = np.nonzero(sums)
            nodes.append(node)
            which.append(first + column)
            amounts.append(sums[node, column])
        cells = np.concatenate(nodes) * len(self.sets) + np.concatenate(which)
        return LeafMasses.of_cells(self.sets, len(tree.bits), cells, np.concatenate(amounts))

    def check(self, n_leaves: int) -> None:
        """Raise ValueError unless the arrays match, and are those of `n_leaves` leaves."""
        n_entries = len(self.which)
        if len(self.start) != n_leaves + 1 or len(self.amount) != n_entries or not ascends(self.start, n_entries):
            raise ValueError(f"mass_start must ascend from 0 to {n_entries} in {n_leaves + 1} steps")
        if self.sets.max(initial=0) > 1 or not self.sets.any(axis=1).all():
            raise ValueError("mass_classes must be 0 or 1, with at least one class per set")
        if int(self.which.max(initial=0)) >= max(1, len(self.sets)) or (n_entries and not len(self.sets)):
            raise ValueError(f"mass_set must be below {len(self.sets)}, got {int(self.which.max(initial=0))}")
        if not ((self.amount > 0) & (self.amount <= MOST_WEIGHT)).all():
            raise ValueError(f"mass_amount must be positive and at most {MOST_WEIGHT:g}")


def leaf_masses(masses: FocalMasses, leaves: Array, times: NDArray[np.uint32] | None, n_leaves: int) -> LeafMasses:
    """Return the masses in the leaves of one tree, given the leaf of each row (n,) and how often it counts there."""
    row = masses.row
    amount = masses.mass if times is None else masses.mass * times[row]
    counted = np.flatnonzero(amount)
    cells = leaves[row[counted]].astype(np.int64) * len(masses.sets) + masses.which[counted]
    return LeafMasses.of_cells(masses.sets, n_leaves, cells, amount[counted])


def label_gaps(counts: Floats, belief: Floats, plausible: Floats, total: Floats) -> Floats:
    """Return how far counts (m, K) may fall and rise if uncertain labels are shared out otherwise, (m, 2K).

    Belief, plausibility and total are sums of masses, in any unit. Masses whose refined shares are outside their own
    bounds have these bounds widened to the shares.
    """
    rows = counts.sum(axis=1, keepdims=True)
    scale = np.divide(rows, total[:, None], out=np.zeros_like(rows), where=total[:, None] > 0)
    below, above = counts - belief * scale, plausible * scale - counts
    least = ROUNDING * rows
    below = np.where(below > least, np.minimum(below, counts), 0.0)
    above = np.where(above > least, np.minimum(above, rows - counts), 0.0)
    return np.hstack([below, above])


def _one_table(parts: tuple[LeafMasses, ...]) -> tuple[NDArray[np.uint8], list[NDArray[np.uint32]]]:
    """Return one table of the sets of all parts, and the sets of the entries of each part in it."""
    every = np.concatenate([part.sets for part in parts])
    sets, place = np.unique(every, axis=0, return_inverse=True)
    ends = np.cumsum([len(part.sets) for part in parts])
    places = np.split(place.reshape(-1), ends[:-1])
    return sets, [of[part.which].astype(np.uint32) for of, part in zip(places, parts, strict=True)]
