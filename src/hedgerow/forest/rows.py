"""Rows: a seed, a tree and rows -> how often the tree has counted each row, and what is known of all counted rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow import _core
from hedgerow.forest.target import FINEST_WEIGHT
from hedgerow.util.clusters import one_of_each

Floats = NDArray[np.float64]

#: Which rows the leaves of a tree count: all rows, the rows of its bag (each as often as the bag holds it, or each
#: once), or the rows outside its bag.
COUNT_SENSES = {"all": 0, "inbag": 1, "distinct": 2, "oob": 3}
#: A row is drawn into a bag at most this often on average.
MOST_DRAWS = 8
#: A bag whose mean size is above this is never empty, so it is never drawn again.
SURE_SIZE = 100
#: Rows that are fewer than one in so many are drawn one by one.
FEW_OF_MANY = 256


def spread_evenly(n_rows: int, most: int) -> NDArray[np.int64]:
    """At most `most` row numbers (k,), ascending and spread over the whole table, because its rows may be sorted."""
    return np.linspace(0, n_rows - 1, min(n_rows, most)).astype(np.int64)


@dataclass(frozen=True, eq=False, repr=False)
class Groups:
    """Rows that belong together, such as the visits of a patient: bags hold all rows of a group or none.

    Parameters
    ----------
    of_row : (n,) uint32
        The group of each row; groups are numbered by their first rows.
    n_groups : int
        The number of groups.
    """

    of_row: NDArray[np.uint32]
    n_groups: int

    @classmethod
    def of(cls, numbers: NDArray[Any]) -> Groups | None:
        """Numbers (n,), equal for rows of the same group -> the groups; None if every row is a group of its own."""
        _, first, inverse = np.unique(numbers, return_index=True, return_inverse=True)
        if len(first) == len(numbers):
            return None
        rank = np.empty(len(first), dtype=np.uint32)
        rank[np.argsort(first)] = np.arange(len(first))
        return cls(np.ascontiguousarray(rank[inverse.reshape(-1)]), len(first))

    @cached_property
    def one_each(self) -> NDArray[np.int64]:
        """(G,): one row of each group, drawn at random but always the same, in ascending order."""
        return one_of_each(self.of_row)


@dataclass(frozen=True)
class Bags:
    """The bags of some trees: how often each row is in the bag of each tree, and which rows leaves count.

    Nothing is stored: the draw of a row is computed from the seed, the tree and the row; or, if bags hold exactly so
    many rows, all draws of a tree are computed from its seed and number. Later rows have the numbers from `n_rows` on.

    Parameters
    ----------
    seed : int
        The seed of all draws.
    mean : float
        How often a row is in a bag on average; 0 means no bootstrap: each row is in every bag once. A negative mean
        says that exactly ``-mean * n_rows`` rows are drawn (`exact`).
    n_rows : int
        Number of rows on which the trees were grown.
    first_tree : int
        The number of the first tree, by which its bag is drawn.
    leaf_counts : {"all", "inbag", "distinct", "oob"}
        Which rows leaves count.
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
        """-> (m,): how often the bag of a tree holds rows `first` to ``last - 1``; by default, all rows."""
        return _core.bag(self.seed, self.first_tree + tree, self.n_rows, self.mean, first, last, self.units)

    @property
    def units(self) -> NDArray[np.uint32] | None:
        """(n,): the group of each row in the form in which the core takes it; None without groups."""
        return None if self.groups is None else self.groups.of_row

    @property
    def by_group(self) -> Bags:
        """The bags of groups instead of rows, with the same draws; the same bags without groups."""
        return self if self.groups is None else replace(self, n_rows=self.groups.n_groups, groups=None)

    def independent_rows(self, most: int) -> NDArray[np.int64]:
        """-> (k,): at most `most` row numbers, ascending; of a group only one, drawn at random."""
        if self.groups is None:
            return spread_evenly(self.n_rows, most)
        return self.groups.one_each[spread_evenly(self.groups.n_groups, most)]

    @property
    def exact(self) -> bool:
        """Whether every bag holds exactly so many rows, as in a multinomial draw."""
        return self.mean < 0

    @property
    def average(self) -> float:
        """How often a row is in a bag on average; 0 means no bootstrap."""
        return abs(self.mean)

    @property
    def draws_counts(self) -> bool:
        """Whether the bag of a tree decides how often its leaves count a row."""
        return self.mean != 0 and self.leaf_counts != "all"

    def counted(self, tree: int, first: int, last: int) -> NDArray[np.uint32] | None:
        """-> (m,): how often the leaves of a tree count rows `first` to ``last - 1``; None for once each."""
        if not self.draws_counts:
            return None
        return times_counted(self.leaf_counts, self.times(tree, first, last))

    @property
    def counts_oob(self) -> bool:
        """Whether leaves count rows that are not in the bag of their tree."""
        return self.leaf_counts in ("all", "oob")

    def outside(self, tree: int, first: int = 0, last: int | None = None) -> NDArray[np.bool_]:
        """-> (m,): which of rows `first` to ``last - 1`` are not in the bag of a tree; by default, of all rows."""
        return np.asarray(self.times(tree, first, last) == 0)

    def oob_each(self, n_trees: int, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Rows (m,), also later ones -> (m, T): which of them are not in the bags of T trees."""
        last = int(rows.max(initial=-1)) + 1
        if (
            last > FEW_OF_MANY * len(rows) and not self.exact
        ):  # 4,096 of 100 million rows, 100 trees: 1 s instead of minutes
            drawn = ([self.times(tree, row, row + 1)[0] for row in rows.tolist()] for tree in range(n_trees))
            return np.stack([np.array(each) == 0 for each in drawn], axis=1)
        return np.stack([self.times(tree, 0, last)[rows] == 0 for tree in range(n_trees)], axis=1)


def times_counted(leaf_counts: str, drawn: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """How often a bag holds rows (m,) -> how often the leaves of its tree count them (m,)."""
    if leaf_counts == "inbag":
        return drawn
    counted = {"all": drawn >= 0, "distinct": drawn > 0, "oob": drawn == 0}[leaf_counts]
    return np.asarray(counted, dtype=np.uint32)


@dataclass(frozen=True, eq=False)
class OobMask:
    """Which trees may judge a training row: those whose bags do not hold it. What it has added to leaves is taken out.

    Parameters
    ----------
    bags : Bags
        Which bags hold a row.
    own : (n,) uint16, (n, K) float64 or None
        What is taken out of a leaf before it judges a row, if leaves have counted the row itself: one row of its class,
        or, if its class is uncertain, what it has added to the weight of each class.
    known : (n,) bool or None
        Rows whose class is certain; only these can be used to learn or to measure errors. None means all.
    as_forest : bool
        Whether sums over the trees that judge a row are scaled up to the number of all trees. Under rules that add
        evidence, opinions get more extreme with every tree, so what is calibrated on a third of the trees would not fit
        the whole forest.
    """

    bags: Bags
    own: NDArray[Any] | None = None
    known: NDArray[np.bool_] | None = None
    as_forest: bool = False

    @property
    def own_class(self) -> NDArray[np.uint16] | None:
        """(n,): the class of each row, if leaves have counted the row under it; otherwise None."""
        return self.own if self.own is not None and self.own.ndim == 1 else None

    @property
    def own_weight(self) -> Floats | None:
        """(n, K): the weight each row has added to its leaves, if classes are uncertain; otherwise None."""
        return self.own if self.own is not None and self.own.ndim == 2 else None

    @property
    def certain(self) -> NDArray[np.bool_]:
        """(n,): whether the class of each row is certain."""
        return np.ones(self.bags.n_rows, dtype=bool) if self.known is None else self.known

    def of(self, tree: int, first: int = 0, last: int | None = None) -> NDArray[np.bool_]:
        """-> (m,): which of rows `first` to ``last - 1`` a tree may judge; by default, of all rows."""
        return self.bags.outside(tree, first, last)

    def number(self, n_trees: int) -> Floats:
        """-> (n,): how many of T trees may judge each row."""
        found = np.zeros(self.bags.n_rows)
        for tree in range(n_trees):
            found += self.of(tree)
        return found

    def table(self, n_trees: int) -> NDArray[np.bool_]:
        """-> (n, T): which of T trees may judge each row."""
        return np.stack([self.of(tree) for tree in range(n_trees)], axis=1)

    def for_core(self) -> tuple[int, float, NDArray[np.uint16] | None, NDArray[np.uint32] | None]:
        """The judges in the form in which the core takes them."""
        return self.bags.seed, self.bags.mean, self.own_class, self.bags.units


class ProvenanceGrid(NamedTuple):
    """Where the targets of the first table lie: sums are of differences from the centre, in units of the spread."""

    centre: float
    exponent: int  # targets differ from the centre by less than two to the power of this

    @classmethod
    def of(cls, low: float, high: float) -> ProvenanceGrid:
        """The extremes of the first targets -> their grid."""
        centre = low / 2 + high / 2
        size = max(high - centre, centre - low) or abs(centre) or 1.0
        return cls(centre, int(np.frexp(size)[1]))


#: The grid of a classification, which does not use it.
NO_GRID = ProvenanceGrid(0.0, 0)


@dataclass(frozen=True)
class Provenance:
    """Trees of a forest that were grown in one fit, and what is known of the rows they have counted.

    Parameters
    ----------
    n_trees, first_tree : int
        The number of trees, and the number of the first of them, by which its bag is drawn.
    seed, bag_mean : int, float
        The seed of their bags, and how often a row is in a bag on average; 0 means no bootstrap, and a negative mean
        that bags hold exactly so many rows (`Bags`).
    leaf_counts : str
        Which rows their leaves count.
    bag_rows, n_rows : int
        The number of rows they were grown on, and the number of all rows counted so far; the next row gets this number.
    class_rows : tuple of float, length K
        The number of rows of each class.
    weight_scale, weight_unit : float
        In the leaves of these trees, a weight is divided by the scale and rounded to a multiple of the unit.
    grid : ProvenanceGrid
        In a regression, where the first targets lie.
    n_groups : int
        The number of groups of rows that bags were drawn from; 0 if every row was drawn on its own.
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
    n_groups: int = 0

    @property
    def bags(self) -> Bags:
        """How the bags of the trees are drawn."""
        return Bags(self.seed, self.bag_mean, self.bag_rows, self.first_tree, self.leaf_counts)

    @property
    def whole_weight(self) -> int:
        """The weight 1 in units."""
        return max(1, round(1 / self.weight_unit))

    def after(self, labels: NDArray[np.integer[Any]]) -> Provenance:
        """The origin after rows with these class numbers (m,), all 0 in a regression, have been counted."""
        added = np.bincount(labels, minlength=len(self.class_rows))
        counted = tuple((np.array(self.class_rows) + added).tolist())
        return replace(self, n_rows=self.n_rows + len(labels), class_rows=counted)


def drawn_once(origin: Provenance) -> bool:
    """Whether no tree had to draw its bag again because it was empty.

    With later rows the first bag might not have been empty, so such draws cannot be repeated. Empty bags are likely
    only for tables of a few rows, or if bags hold few rows. Bags of exactly so many rows are others with later rows.
    """
    if origin.bags.exact:
        return origin.bag_rows == origin.n_rows
    if origin.bag_mean == 0 or origin.bag_rows * origin.bag_mean > SURE_SIZE:
        return True
    before, after = origin.bags, replace(origin.bags, n_rows=origin.n_rows)
    return all(
        np.array_equal(before.times(tree, 0, origin.n_rows), after.times(tree)) for tree in range(origin.n_trees)
    )


def spans_of(origins: Sequence[Provenance]) -> Iterator[slice]:
    """Origins -> the trees of each, as slices."""
    first = 0
    for origin in origins:
        yield slice(first, first + origin.n_trees)
        first += origin.n_trees
