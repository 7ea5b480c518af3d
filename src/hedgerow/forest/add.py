"""Add: a forest and rows that arrive later -> the forest with their evidence in its leaves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow import _core
from hedgerow.forest.tree import DENSE_CLASSES, Forest
from hedgerow.table.bins import Codes

#: Rows are looked up in blocks whose leaves in all trees take about this many bytes.
LEAF_BYTES = 32 << 20
#: A bag whose mean size is above this is never empty, so never drawn again.
SURE_SIZE = 100
#: Weights of later rows are whole numbers of this, where the first table had none or whole ones.
FINEST_WEIGHT = 2.0**-24
#: Sums of weights up to two to this many units are exact.
_WEIGHT_BITS = 50


class Grid(NamedTuple):
    """Where the targets of the first table lie: sums are of differences from the centre, in units of the spread."""

    centre: float
    exponent: int  # targets differ from the centre by less than two to this

    @classmethod
    def of(cls, low: float, high: float) -> Grid:
        """The extremes of the first targets -> their grid."""
        centre = low / 2 + high / 2
        size = max(high - centre, centre - low) or abs(centre) or 1.0
        return cls(centre, int(np.frexp(size)[1]))


#: Of forests that count classes.
NO_GRID = Grid(0.0, 0)


@dataclass(frozen=True)
class Origin:
    """What is known of the rows that some neighbouring trees of a forest have counted.

    Parameters
    ----------
    n_trees, first_tree : int
        How many trees, and the number by which the bag of the first of them is drawn.
    seed, bag_mean : int, float
        What their bags are drawn with; 0 for no bootstrap.
    leaf_counts : str
        Which rows their leaves count.
    bag_rows, n_rows : int
        Rows they were grown on, and rows counted since then as well: by these the next ones are numbered.
    class_rows : tuple of float, length K
        How many of the rows are of each class.
    weight_scale, weight_unit : float
        What a weight of the user's is divided by, and then rounded to, in the leaves of these trees.
    grid : Grid
        Of a regression: where the first targets lie.
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
    grid: Grid = NO_GRID

    def times(self, tree: int, first: int, last: int) -> NDArray[np.uint32] | None:
        """How often the leaves of a tree count rows first to last - 1 of those that come next; None for once each."""
        if self.bag_mean == 0 or self.leaf_counts == "all":
            return None
        rows = self.n_rows + first, self.n_rows + last
        drawn = _core.bag(self.seed, self.first_tree + tree, self.bag_rows, self.bag_mean, *rows)
        if self.leaf_counts == "inbag":
            return drawn
        return np.asarray((drawn == 0) if self.leaf_counts == "oob" else (drawn > 0), dtype=np.uint32)

    def after(self, labels: NDArray[np.integer[Any]]) -> Origin:
        """The same once rows with these class numbers (m,), all 0 in a regression, have been counted."""
        added = np.bincount(labels, minlength=len(self.class_rows))
        counted = tuple((np.array(self.class_rows) + added).tolist())
        return replace(self, n_rows=self.n_rows + len(labels), class_rows=counted)


def drawn_once(origin: Origin) -> bool:
    """Whether no tree had to draw its bag again because it was empty, which later rows might have spared it.

    It takes a table of a few rows, or bags of a few, to make an empty bag at all likely.
    """
    if origin.bag_mean == 0 or origin.bag_rows * origin.bag_mean > SURE_SIZE:
        return True
    trees = range(origin.first_tree, origin.first_tree + origin.n_trees)
    both = (
        [_core.bag(origin.seed, tree, rows, origin.bag_mean, 0, origin.n_rows) for tree in trees]
        for rows in (origin.bag_rows, origin.n_rows)
    )
    return all(np.array_equal(a, b) for a, b in zip(*both, strict=True))


def outside_bags(
    seed: int, bag_mean: float, n_trees: int, n_rows: int, numbers: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Numbers of rows (m,), from `n_rows` on of those that come later -> (m, T): trees whose bags do not hold them."""
    last = int(numbers.max(initial=-1)) + 1
    bags = [_core.bag(seed, tree, n_rows, bag_mean, 0, last)[numbers] == 0 for tree in range(n_trees)]
    return np.stack(bags, axis=1)


def weight_steps(fixed: NDArray[np.int64] | None, unit: float) -> float:
    """Weights of the first table in fixed point -> the unit that weights of later rows are rounded to.

    Where it is 1, weights were whole numbers; later ones need not be.
    """
    if fixed is None or unit != 1.0:
        return FINEST_WEIGHT if fixed is None else unit
    spare = _WEIGHT_BITS - int(fixed.sum()).bit_length()
    return float(2.0 ** -min(24, max(0, spare)))


def add_rows(
    forest: Forest,
    origins: Sequence[Origin],
    codes: Codes,
    labels: NDArray[np.uint16],
    weights: NDArray[np.float64] | None = None,
    n_threads: int = 1,
) -> Forest:
    """Count rows, codes (p, m) with class numbers (m,), in the leaves they reach; no tree changes its splits.

    Sums are whole numbers, so it does not matter in how many parts rows come. Weights (m,) are the user's; where no
    row ever had one, none are kept. A category that had no rows below a multiway split, and so borrowed the counts of
    its siblings, gets a leaf of its own with its first row.
    """
    forest = adopt_borrowed(forest, codes, n_threads)
    units = [_in_units(weights, origin, len(labels)) for origin in origins]
    weighted = forest.weights is not None or any(each is not None for each in units)
    tally = (_DenseTally if forest.entry_start is None else _SparseTally)(forest, weighted)
    for first, last, leaves in leaf_blocks(forest, codes, n_threads):
        own = labels[first:last].astype(np.int64)
        for span, origin, each in zip(spans_of(origins), origins, units, strict=True):
            for tree in range(span.start, span.stop):
                cells = (leaves[:, tree] + forest.leaf_start[tree]) * forest.n_classes + own
                times = origin.times(tree - span.start, first, last)
                heavy = None
                if weighted:
                    heavy = np.full(last - first, _whole(origin)) if each is None else each[first:last]
                    heavy = heavy * times if origin.leaf_counts == "inbag" and times is not None else heavy
                tally.add(cells, times, heavy)
    return _repay_borrowed(tally.added_to(forest, origins))


def widen(forest: Forest, where: NDArray[np.int64], n_classes: int) -> Forest:
    """Give the leaves room for more classes: class k of before becomes ``where[k]``, ascending, of `n_classes`."""
    leaf, label, values = _entries(forest)
    wide = replace(forest, n_classes=n_classes)
    weights = None if forest.weights is None else forest.weights[values]
    return _from_cells(wide, leaf * n_classes + where[label], forest.counts[values], weights)


def adopt_borrowed(forest: Forest, codes: Codes, n_threads: int = 1) -> Forest:
    """Give every borrowed leaf that one of the rows (p, m) reaches a leaf of its own, empty so far."""
    borrowed = forest.structure.is_borrowed
    if not borrowed.any():
        return forest
    reached = np.zeros(len(forest.nodes), dtype=bool)
    for _, _, nodes in leaf_blocks(forest, codes, n_threads, as_nodes=True):
        reached[np.unique(nodes + forest.node_start[:-1])] = True
    adopted = reached & borrowed
    if not adopted.any():
        return forest
    numbered, source = forest.structure.adopt(adopted)
    return _take_leaves(replace(forest, **numbered.arrays()), forest, source)


class _DenseTally:
    """Rows and weights of later rows in every cell, leaf · K + class."""

    def __init__(self, forest: Forest, weighted: bool) -> None:
        self._counts = forest.counts.copy()
        self._units = np.zeros(len(self._counts), dtype=np.int64) if weighted else None

    def add(self, cells: NDArray[np.int64], times: NDArray[np.uint32] | None, units: NDArray[np.int64] | None) -> None:
        """Count rows (m,) in their cells; where they count nought times, their weight does not count either."""
        np.add.at(self._counts, cells, np.uint32(1) if times is None else times)
        if self._units is not None and units is not None:
            np.add.at(self._units, cells, units if times is None else np.where(times > 0, units, 0))

    def added_to(self, forest: Forest, origins: Sequence[Origin]) -> Forest:
        """The forest with what has been counted."""
        if self._units is None:
            return replace(forest, counts=self._counts)
        weights = forest.counts.astype(np.float64) if forest.weights is None else forest.weights.copy()
        cells = np.flatnonzero(self._units)
        unit = _unit_of_cells(forest, origins, cells)
        weights[cells] = _on_grid(weights[cells], unit, self._units[cells])
        return replace(forest, counts=self._counts, weights=weights)


class _SparseTally:
    """The same where classes are many and only the cells that hold rows are kept."""

    def __init__(self, forest: Forest, weighted: bool) -> None:
        self._cells: list[NDArray[np.int64]] = []
        self._times: list[NDArray[np.int64]] = []
        self._units: list[NDArray[np.int64]] | None = [] if weighted else None

    def add(self, cells: NDArray[np.int64], times: NDArray[np.uint32] | None, units: NDArray[np.int64] | None) -> None:
        """Count rows (m,) in their cells."""
        counted = slice(None) if times is None else times > 0
        distinct, where = np.unique(cells[counted], return_inverse=True)
        self._cells.append(distinct)
        self._times.append(_sums(where, None if times is None else times[counted], len(distinct)))
        if self._units is not None and units is not None:
            self._units.append(_sums(where, units[counted], len(distinct)))

    def added_to(self, forest: Forest, origins: Sequence[Origin]) -> Forest:
        """The forest with what has been counted; cells that were empty are put in their places."""
        leaf, label, at = _entries(forest)
        there = leaf * forest.n_classes + label
        cells, where = np.unique(np.concatenate([there, *self._cells]), return_inverse=True)
        counts = _sums(where, np.concatenate([forest.counts[at], *self._times]), len(cells))
        weights = None
        if self._units is not None:
            held = (forest.counts if forest.weights is None else forest.weights)[at].astype(np.float64)
            weights = np.zeros(len(cells))
            weights[where[: len(there)]] = held
            units = _sums(where[len(there) :], np.concatenate(self._units), len(cells))
            new = np.flatnonzero(units)
            weights[new] = _on_grid(weights[new], _unit_of_cells(forest, origins, cells[new]), units[new])
        return _from_cells(forest, cells, counts.astype(np.uint32), weights)


def _in_units(weights: NDArray[np.float64] | None, origin: Origin, n_rows: int) -> NDArray[np.int64] | None:
    """Weights of the user (m,) -> units of the origin's leaves (m,); None where every row weighs one."""
    relative = (np.ones(n_rows) if weights is None else weights) / origin.weight_scale
    if (relative == 1).all():
        return None
    return np.maximum(1, np.rint(relative / origin.weight_unit)).astype(np.int64)


def _whole(origin: Origin) -> int:
    """Units of a row that weighs one."""
    return max(1, round(1 / origin.weight_unit))


def _on_grid(weights: NDArray[np.float64], unit: NDArray[np.float64], added: NDArray[np.int64]) -> NDArray[np.float64]:
    """Weights (m,), whole numbers of their units up to rounding, and units to add -> their sums, rounded once."""
    return np.asarray((np.rint(weights / unit) + added) * unit)


def _unit_of_cells(forest: Forest, origins: Sequence[Origin], cells: NDArray[np.int64]) -> NDArray[np.float64]:
    """Cells (m,) -> what one unit of weight is worth there (m,)."""
    ends = np.cumsum([origin.n_trees for origin in origins])
    owner = np.searchsorted(forest.leaf_start[ends], cells // forest.n_classes, side="right")
    return np.array([origin.weight_unit for origin in origins])[owner]


def spans_of(origins: Sequence[Origin]) -> Iterator[slice]:
    """Origins -> the trees of each."""
    first = 0
    for origin in origins:
        yield slice(first, first + origin.n_trees)
        first += origin.n_trees


def leaf_blocks(
    forest: Forest, codes: Codes, n_threads: int, *, as_nodes: bool = False
) -> Iterator[tuple[int, int, NDArray[np.int32]]]:
    """Codes (p, m) -> first and last row of each block, and the leaves (or nodes) its rows reach (b, T)."""
    block = max(1, LEAF_BYTES // (4 * forest.n_trees))
    find = forest.leaf_nodes if as_nodes else forest.leaves
    for first in range(0, codes.shape[1], block):
        last = min(first + block, codes.shape[1])
        part = codes if last - first == codes.shape[1] else np.ascontiguousarray(codes[:, first:last])
        yield first, last, find(part, n_threads)


def _sums(where: NDArray[Any], values: NDArray[Any] | None, size: int) -> NDArray[np.int64]:
    """Places (m,) and whole numbers (m,), or ones -> their exact sums (size,)."""
    total = np.zeros(size, dtype=np.int64)
    np.add.at(total, where, np.int64(1) if values is None else values.astype(np.int64))
    return total


# ---- cells of leaves, dense or sparse ---------------------------------------------------------------------


def _entries(forest: Forest) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """-> leaf, class and place in `counts` of every cell that is kept, (E,) each; leaves numbered over all trees."""
    if forest.entry_start is None or forest.entry_class is None:
        at = np.arange(len(forest.counts))
        leaf, label = np.divmod(at, forest.n_classes)
        return leaf, label, at
    leaf = np.repeat(np.arange(len(forest.entry_start) - 1), np.diff(forest.entry_start))
    return leaf, forest.entry_class.astype(np.int64), np.arange(len(forest.counts))


def _from_cells(
    forest: Forest, cells: NDArray[np.int64], counts: NDArray[np.uint32], weights: NDArray[np.float64] | None
) -> Forest:
    """Cells (m,) in ascending order, leaf · K + class, and what they hold -> the forest with nothing else in them."""
    n_classes, n_leaves = forest.n_classes, int(forest.leaf_start[-1])
    if n_classes <= DENSE_CLASSES:
        dense = np.zeros(n_leaves * n_classes, dtype=np.uint32)
        dense[cells] = counts
        heavy = None
        if weights is not None:
            heavy = np.zeros(n_leaves * n_classes)
            heavy[cells] = weights
        return replace(forest, counts=dense, weights=heavy, entry_start=None, entry_class=None)
    held = (counts > 0) if weights is None else (counts > 0) | (weights > 0)
    cells, counts = cells[held], counts[held]
    start = np.concatenate([[0], np.cumsum(np.bincount(cells // n_classes, minlength=n_leaves))]).astype(np.int64)
    return replace(
        forest,
        counts=counts,
        weights=None if weights is None else weights[held],
        entry_start=start,
        entry_class=(cells % n_classes).astype(np.uint16),
    )


# ---- borrowed leaves ----------------------------------------------------------------------------------------


def _take_leaves(forest: Forest, before: Forest, source: NDArray[np.int64]) -> Forest:
    """Leaves of `before` (L,), -1 for an empty one -> a forest that holds them in this order."""
    n_classes = forest.n_classes
    leaf, label, at = _entries(before)
    place = np.full(int(before.leaf_start[-1]), -1)
    place[source[source >= 0]] = np.flatnonzero(source >= 0)
    kept = place[leaf] >= 0
    cells = place[leaf[kept]] * n_classes + label[kept]
    order = np.argsort(cells)
    at = at[kept][order]
    weights = None if before.weights is None else before.weights[at]
    return _from_cells(forest, cells[order], before.counts[at], weights)


def _repay_borrowed(forest: Forest) -> Forest:
    """Let every borrowed leaf repeat what the leaves beside and below its siblings hold by now."""
    if not forest.structure.is_borrowed.any():
        return forest
    lender, member = forest.structure.lenders()
    leaf, label, at = _entries(forest)
    cells, n_classes = leaf * forest.n_classes + label, forest.n_classes
    repeats = np.isin(leaf, lender)
    kept, order = ~repeats, np.argsort(leaf, kind="stable")
    first, last = (np.searchsorted(leaf[order], member, side=side) for side in ("left", "right"))
    length = last - first
    entry = order[np.arange(length.sum()) - np.repeat(np.cumsum(length) - length, length) + np.repeat(first, length)]
    sums, where = np.unique(np.repeat(lender, length) * n_classes + label[entry], return_inverse=True)
    all_cells = np.concatenate([cells[kept], sums])
    sort = np.argsort(all_cells)
    counts = np.concatenate([forest.counts[at[kept]], _sums(where, forest.counts[at[entry]], len(sums))])
    weights = None
    if forest.weights is not None:
        repeated = np.bincount(where, weights=forest.weights[at[entry]], minlength=len(sums))
        weights = np.concatenate([forest.weights[at[kept]], repeated])[sort]
    return _from_cells(forest, all_cells[sort], counts[sort].astype(np.uint32), weights)
