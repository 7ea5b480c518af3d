"""Bags, out-of-bag masks and the provenance of trees."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow import _core
from hedgerow.forest.target import FINEST_WEIGHT
from hedgerow.labels import FocalMasses
from hedgerow.table.schema import Array
from hedgerow.util.runtime import one_of_each

Floats = NDArray[np.float64]

#: Rows that the leaves of a tree count: all rows, in-bag rows with multiplicity, in-bag rows once, or out-of-bag rows;
#: or the groups of in-bag rows, which `group_counts` counts after growing.
COUNT_SENSES = {"all": 0, "inbag": 1, "distinct": 2, "oob": 3, "groups": 2}
#: Largest average multiplicity of a row in a bag.
MOST_DRAWS = 8
#: Bags with a mean size above this are assumed never to be empty, and so never redrawn.
SURE_SIZE = 100
#: Rows are drawn one by one if they are fewer than one in this many.
FEW_OF_MANY = 256


def spread_evenly(n_rows: int, most: int) -> NDArray[np.int64]:
    """Return at most `most` rows, (k,), evenly spread because tables may be sorted."""
    return np.linspace(0, n_rows - 1, min(n_rows, most)).astype(np.int64)


@dataclass(frozen=True, eq=False, repr=False)
class Groups:
    """Groups of rows, such as the visits of a patient; bags take whole groups.

    Parameters
    ----------
    of_row : (n,) uint32
        The group of each row; groups are numbered in the order of their first rows.
    n_groups : int
        The number of groups.
    labels : (G,) or None
        The label of each group, by which later rows are matched; pickles and model files do not contain them.
    """

    of_row: NDArray[np.uint32]
    n_groups: int
    labels: Array | None = None

    @classmethod
    def of(cls, numbers: Array, labels: Array | None = None) -> Groups | None:
        """Return groups of rows with equal numbers (n,); None if all rows differ."""
        _, first, inverse = np.unique(numbers, return_index=True, return_inverse=True)
        if len(first) == len(numbers):
            return None
        rank = np.empty(len(first), dtype=np.uint32)
        rank[np.argsort(first)] = np.arange(len(first))
        of_row = np.ascontiguousarray(rank[inverse.reshape(-1)])
        return cls(of_row, len(first), None if labels is None else labels[np.sort(first)])

    @cached_property
    def one_each(self) -> NDArray[np.int64]:
        """One random row of each group, always the same, ascending, (G,)."""
        return one_of_each(self.of_row)


@dataclass(frozen=True, eq=False, repr=False)
class Entries:
    """Entries of n training rows of which some have uncertain cells, row after row.

    Such a row has an entry for each combination of values that its cells may have. Trees grow on entries, weighted by
    their shares, and a bag has all entries of a row or none. Leaves count rows (`add.counted_entries`).

    Parameters
    ----------
    codes : (p, E)
        Codes of the entries.
    row : (E,) int64
        Row of each entry, ascending.
    group : (E,) int64
        Group of each entry, ascending: within a group, nothing is known of which entry is true.
    weight : (E,) float64
        Weight of each entry: its share, refined or not. The weights of a row sum to one.
    """

    codes: NDArray[Any]
    row: NDArray[np.int64]
    group: NDArray[np.int64]
    weight: Floats

    @property
    def certain(self) -> NDArray[np.bool_]:
        """Rows with a single entry, (n,)."""
        return np.asarray(np.bincount(self.row) == 1)

    @property
    def groups(self) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
        """First entry, row and belief of each group, (G,) each."""
        first = np.flatnonzero(np.diff(self.group, prepend=-1))
        return first, self.row[first], np.add.reduceat(self.weight, first)

    def units(self, groups: Groups | None) -> Groups:
        """Return groups of entries that are in a bag together: those of a row, or of a group of rows."""
        if groups is None:
            return Groups(self.row.astype(np.uint32), int(self.row[-1]) + 1)
        return replace(groups, of_row=np.ascontiguousarray(groups.of_row[self.row]))

    def refined(self, plausible: Floats) -> Entries:
        """Return entries whose weights are multiplied by `plausible` (E,), with the same weight of each group."""
        first, _, belief = self.groups
        number = np.repeat(np.arange(len(first)), np.diff(first, append=len(self.group)))
        weight = self.weight * plausible
        return replace(self, weight=weight * (belief / np.add.reduceat(weight, first))[number])


@dataclass(frozen=True)
class Bags:
    """Bags of some trees, and the rows that leaves count.

    Nothing is stored: the draw of a row is computed from seed, tree and row. If bags have an exact size, all draws of a
    tree are computed from its seed and number. Later rows are numbered from `n_rows` on.

    Parameters
    ----------
    seed : int
        The seed of all draws.
    mean : float
        Mean multiplicity of a row; 0 means no bootstrap: each row is in every bag once. A negative mean means that
        exactly ``-mean * n_rows`` rows are drawn (`exact`).
    n_rows : int
        Number of rows on which the trees were grown.
    first_tree : int
        The number of the first tree, by which its bag is drawn.
    leaf_counts : {"all", "inbag", "distinct", "oob", "groups"}
        The rows that leaves count.
    groups : Groups or None
        Rows that are drawn together: then a draw depends on the group of a row, `mean` is that of a group, and exact
        draws are of groups. None means that every row is drawn on its own.
    """

    seed: int = 0
    mean: float = 0.0
    n_rows: int = 0
    first_tree: int = 0
    leaf_counts: str = "all"
    groups: Groups | None = None

    def times(self, tree: int, first: int = 0, last: int | None = None) -> NDArray[np.uint32]:
        """Return the multiplicities of rows `first` to ``last - 1`` in a bag, (m,)."""
        return _core.bag(self.seed, self.first_tree + tree, self.n_rows, self.mean, first, last, self.units)

    @property
    def units(self) -> NDArray[np.uint32] | None:
        """Group of each row, as the core takes it, (n,); None without groups."""
        return None if self.groups is None else self.groups.of_row

    @property
    def by_group(self) -> Bags:
        """Bags of groups in place of rows, with the same draws."""
        return self if self.groups is None else replace(self, n_rows=self.groups.n_groups, groups=None)

    def independent_rows(self, most: int) -> NDArray[np.int64]:
        """Return at most `most` rows, ascending, and at most one per group, (k,)."""
        if self.groups is None:
            return spread_evenly(self.n_rows, most)
        return self.groups.one_each[spread_evenly(self.groups.n_groups, most)]

    @property
    def exact(self) -> bool:
        """Whether every bag has the same number of draws, as in a multinomial bootstrap."""
        return self.mean < 0

    @property
    def average(self) -> float:
        """Mean multiplicity of a row in a bag; 0 means no bootstrap."""
        return abs(self.mean)

    @property
    def draws_counts(self) -> bool:
        """Whether leaf counts depend on the bag of the tree."""
        return self.mean != 0 and self.leaf_counts != "all"

    def counted(self, tree: int, first: int, last: int) -> NDArray[np.uint32] | None:
        """Return how often leaves count rows `first` to ``last - 1``; None for once each."""
        if not self.draws_counts:
            return None
        return times_counted(self.leaf_counts, self.times(tree, first, last))

    @property
    def counts_oob(self) -> bool:
        """Whether leaves count out-of-bag rows."""
        return self.leaf_counts in ("all", "oob")

    def outside(self, tree: int, first: int = 0, last: int | None = None) -> NDArray[np.bool_]:
        """Return which of rows `first` to ``last - 1`` are out of bag, (m,)."""
        return np.asarray(self.times(tree, first, last) == 0)

    def oob_each(self, n_trees: int, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which rows (m,), also later ones, are out of bag for T trees, (m, T)."""
        last = int(rows.max(initial=-1)) + 1
        if (
            last > FEW_OF_MANY * len(rows) and not self.exact
        ):  # 4,096 of 100 million rows, 100 trees: 1 s instead of minutes
            drawn = ([self.times(tree, row, row + 1)[0] for row in rows.tolist()] for tree in range(n_trees))
            return np.stack([np.array(each) == 0 for each in drawn], axis=1)
        return np.stack([self.times(tree, 0, last)[rows] == 0 for tree in range(n_trees)], axis=1)


def times_counted(leaf_counts: str, drawn: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Return how often leaves count rows with given multiplicities, (m,)."""
    if leaf_counts == "inbag":
        return drawn
    counted = {"all": drawn >= 0, "distinct": drawn > 0, "oob": drawn == 0, "groups": drawn > 0}[leaf_counts]
    return np.asarray(counted, dtype=np.uint32)


@dataclass(frozen=True, eq=False)
class OobMask:
    """Out-of-bag trees of each training row, and the row's own contribution.

    Parameters
    ----------
    bags : Bags
        The bags of the trees.
    own : (n,) uint16, (n, 3K) float64 or None
        Contribution of each row that is removed from leaves that counted it: one row of its class, or, if its class is
        uncertain, the weight, belief and plausibility it added to each class.
    known : (n,) bool or None
        Rows used to learn and to measure errors: those of certain class, if labels are uncertain. None means all.
    as_forest : bool
        Whether sums over the out-of-bag trees of a row are scaled up to the number of all trees. Under rules that add
        evidence, opinions get more extreme with every tree, so a calibration on a third of the trees would not fit the
        whole forest.
    own_masses : FocalMasses or None
        Masses that each row added to its leaves, if its class is uncertain and leaves counted it.
    """

    bags: Bags
    own: Array | None = None
    known: NDArray[np.bool_] | None = None
    as_forest: bool = False
    own_masses: FocalMasses | None = None

    @property
    def own_class(self) -> NDArray[np.uint16] | None:
        """Class of each row, (n,), if leaves counted the row; otherwise None."""
        return self.own if self.own is not None and self.own.ndim == 1 else None

    @property
    def own_weight(self) -> Floats | None:
        """Weight, belief and plausibility that each row added, (n, 3K), if uncertain; otherwise None."""
        return self.own if self.own is not None and self.own.ndim == 2 else None

    @property
    def certain(self) -> NDArray[np.bool_]:
        """Whether each row is used to learn and to measure errors, (n,)."""
        return np.ones(self.bags.n_rows, dtype=bool) if self.known is None else self.known

    def of(self, tree: int, first: int = 0, last: int | None = None) -> NDArray[np.bool_]:
        """Return which of rows `first` to ``last - 1`` are out of bag for a tree, (m,)."""
        return self.bags.outside(tree, first, last)

    def number(self, n_trees: int) -> Floats:
        """Return the number of out-of-bag trees of each row, (n,)."""
        found = np.zeros(self.bags.n_rows)
        for tree in range(n_trees):
            found += self.of(tree)
        return found

    def table(self, n_trees: int) -> NDArray[np.bool_]:
        """Return whether each row is out of bag for each tree, (n, T)."""
        return np.stack([self.of(tree) for tree in range(n_trees)], axis=1)

    def for_core(self) -> tuple[int, float, NDArray[np.uint16] | None, NDArray[np.uint32] | None]:
        """Return the mask as the core takes it."""
        return self.bags.seed, self.bags.mean, self.own_class, self.bags.units


class ProvenanceGrid(NamedTuple):
    """Centre and scale of the targets of the first table, for exact sums."""

    centre: float
    exponent: int  # targets differ from the centre by less than two to the power of this

    @classmethod
    def of(cls, low: float, high: float) -> ProvenanceGrid:
        """Return the grid for the range of the first targets."""
        centre = low / 2 + high / 2
        size = max(high - centre, centre - low) or abs(centre) or 1.0
        return cls(centre, int(np.frexp(size)[1]))


#: Unused grid of a classification.
NO_GRID = ProvenanceGrid(0.0, 0)


@dataclass(frozen=True)
class Provenance:
    """Trees that were grown in one fit, and a summary of the rows they counted.

    Parameters
    ----------
    n_trees, first_tree : int
        The number of trees, and the number of the first of them, by which its bag is drawn.
    seed, bag_mean : int, float
        The seed of their bags, and the mean multiplicity of a row; 0 means no bootstrap, and a negative mean exact bag
        sizes (`Bags`).
    leaf_counts : str
        The rows that their leaves count.
    bag_rows, n_rows : int
        The number of rows they were grown on, and of all rows counted so far; the next row gets this number.
    class_rows : tuple of float, length K
        The number of rows of each class.
    weight_scale, weight_unit : float
        In the leaves of these trees, a weight is divided by the scale and rounded to a multiple of the unit.
    grid : ProvenanceGrid
        Centre and scale of the first targets of a regression.
    bag_groups, n_groups : int
        The number of groups they were grown on, and of all groups so far; 0 if every row was drawn on its own.
    """

    n_trees: int
    first_tree: int
    seed: int
    bag_mean: float
    leaf_counts: str
    bag_rows: int
    n_rows: int
    class_rows: tuple[float, ...]
    weight_scale: float = 1.0
    weight_unit: float = FINEST_WEIGHT
    grid: ProvenanceGrid = NO_GRID
    bag_groups: int = 0
    n_groups: int = 0

    @property
    def bags(self) -> Bags:
        """Bags of the trees; with groups, those of groups in place of rows."""
        return Bags(self.seed, self.bag_mean, self.bag_groups or self.bag_rows, self.first_tree, self.leaf_counts)

    @property
    def n_units(self) -> int:
        """Number of all rows so far; with groups, number of groups."""
        return self.n_groups or self.n_rows

    @property
    def whole_weight(self) -> int:
        """Weight 1 in units."""
        return max(1, round(1 / self.weight_unit))

    def after(self, labels: NDArray[np.integer[Any]], n_new_groups: int = 0) -> Provenance:
        """Return the provenance after counting rows with class numbers (m,)."""
        added = np.bincount(labels, minlength=len(self.class_rows))
        counted = tuple((np.array(self.class_rows) + added).tolist())
        n_groups = self.n_groups + n_new_groups if self.n_groups else 0
        return replace(self, n_rows=self.n_rows + len(labels), class_rows=counted, n_groups=n_groups)


def drawn_once(origin: Provenance) -> bool:
    """Return whether no tree had to redraw an empty bag.

    With later rows the first bag might not have been empty, so redraws are not reproducible. Empty bags are likely only
    for tables of a few rows, or small bags. Bags of exact size change with later rows.
    """
    before, after = origin.bags, replace(origin.bags, n_rows=origin.n_units)
    if before.exact:
        return before.n_rows == after.n_rows
    if before.mean == 0 or before.n_rows * before.mean > SURE_SIZE:
        return True
    return all(np.array_equal(before.times(tree, 0, after.n_rows), after.times(tree)) for tree in range(origin.n_trees))


def spans_of(origins: Sequence[Provenance]) -> Iterator[slice]:
    """Yield the trees of each origin as slices."""
    first = 0
    for origin in origins:
        yield slice(first, first + origin.n_trees)
        first += origin.n_trees
