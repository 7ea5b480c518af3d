"""Addition of later rows, of masses and of groups to the leaves of a forest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hedgerow.forest.class_counts import ClassCounts
from hedgerow.forest.forest import Forest, trees_between
from hedgerow.forest.grow import TrainingRows
from hedgerow.forest.leaf_masses import ROUNDING, LeafMasses, leaf_masses
from hedgerow.forest.multioutput import MultiOutputLeaves
from hedgerow.forest.payload import LeafPayload
from hedgerow.forest.rows import Bags, Entries, Provenance, spans_of
from hedgerow.labels import FocalMasses
from hedgerow.table.bins import Codes
from hedgerow.table.schema import Array

Floats = NDArray[np.float64]

#: Approximate memory of the leaves of one block of rows in all trees.
LEAF_BYTES = 32 << 20
#: Approximate number of leaves added at once; with few rows, several trees (250 rows, 100 trees: 1.5 ms, not 2.1).
CELLS_TOGETHER = 1 << 16


def add_rows(
    forest: Forest,
    origins: Sequence[Provenance],
    codes: Codes,
    target: Array,
    weights: NDArray[np.float64] | None = None,
    n_threads: int = 1,
    groups: NDArray[np.int64] | None = None,
) -> Forest:
    """Add rows (p, m) with labels or targets (m,) to the leaves they reach.

    Splits do not change. Sums are exact, so the result does not depend on how many calls add the rows. Weights (m,) are
    as the user gave them; if no row ever had a weight, none are stored. A category without rows below a multiway split
    borrows the counts of its siblings; its first row gives it a leaf of its own. `groups` (m,) number the groups of
    rows from the first new one on; those of earlier rows are negative.
    """
    forest = adopt_borrowed(forest, codes, n_threads)
    ends = forest.leaf_start[np.cumsum([origin.n_trees for origin in origins])]
    adding, starts = forest.evidence.adding(target, weights, origins, ends), forest.leaf_start
    for first, last, leaves in leaf_blocks(forest, codes, n_threads):
        for number, span in enumerate(spans_of(origins)):
            bags, before = origins[number].bags, origins[number].n_units
            if not bags.draws_counts:
                for trees, rows in _groups_of_trees(span, first, last):
                    adding.add(number, (leaves[:, trees] + starts[trees]).T.ravel(), rows, None)
                continue
            for tree in range(span.start, span.stop):
                times = _counted(bags, tree - span.start, before, groups, first, last)
                adding.add(number, leaves[:, tree] + starts[tree], slice(first, last), times)
    return repay_borrowed(replace(forest, evidence=adding.added()))


def forest_with_masses(forest: Forest, codes: Codes, masses: FocalMasses, bags: Bags, n_threads: int) -> Forest:
    """Return a forest whose leaves keep the masses of the rows (p, n) they count.

    `bags` are those of the trees, which were grown on these rows.
    """
    each = leaves_of_rows(forest, codes, bags, n_threads)
    first, *more = (leaf_masses(masses, leaves, times, n_leaves) for leaves, times, n_leaves in each)
    held = first.join(*more)
    if forest.structure.is_borrowed.any():
        held = held.repeat(*forest.structure.lenders())
    assert isinstance(forest.evidence, ClassCounts)
    return replace(forest, evidence=replace(forest.evidence, weights=forest.evidence.heavy, masses=held))


def recounted_forest(forest: Forest, codes: Codes, own: NDArray[np.float64], bags: Bags, n_threads: int) -> Forest:
    """Return a forest whose leaves count the rows (p, n), given the weight each adds to classes, (n, K).

    `bags` are those of the trees, which were grown on these rows. A row counts in its class of largest weight.
    """
    found, leading = [], own.argmax(axis=1)
    for leaves, times, n_leaves in leaves_of_rows(forest, codes, bags, n_threads):
        once = np.ones(len(own)) if times is None else times.astype(np.float64)
        counts, weights = np.zeros((2, n_leaves, own.shape[1]))
        np.add.at(counts, (leaves, leading), once)
        np.add.at(weights, leaves, own * once[:, None])
        found.append(ClassCounts.of_tables(counts.astype(np.uint32), weights))
    return repay_borrowed(replace(forest, evidence=found[0].join(*found[1:])))


def counted_entries(
    forest: Forest,
    entries: Entries,
    labels: NDArray[np.uint16],
    weights: Floats,
    n_classes: int,
    bags: Bags,
    n_threads: int,
) -> Forest:
    """Return a forest whose leaves count the rows of entries, with class numbers and weights of rows (n,).

    A row counts in every leaf that it may reach: as evidence for its class with its belief in this leaf, and
    otherwise as evidence for no class. So bounds hold for all values of its cells. `bags` are those of the entries, on
    which the trees were grown.
    """
    n_rows, row = len(labels), entries.row
    first, group_row, belief = entries.groups
    sets = np.vstack([np.eye(n_classes), np.ones(n_classes)]).astype(np.uint8)
    counted, masses = [], []
    for leaves, times, n_leaves in leaves_of_rows(forest, entries.codes, bags, n_threads):
        of_entry = np.ones(len(row)) if times is None else times.astype(np.float64)
        weight = np.zeros((n_leaves, n_classes))
        np.add.at(weight, (leaves, labels[row]), entries.weight * weights[row] * of_entry)
        pairs, place = np.unique(leaves.astype(np.int64) * n_rows + row, return_index=True)
        leaf, at = np.divmod(pairs, n_rows)
        counts = np.zeros((n_leaves, n_classes))
        np.add.at(counts, (leaf, labels[at]), of_entry[place])
        low, high = np.minimum.reduceat(leaves, first), np.maximum.reduceat(leaves, first)
        inside = np.flatnonzero(low == high)  # groups that are in one leaf whatever their true entry is
        believed = np.zeros(len(pairs))
        found = np.searchsorted(pairs, low[inside].astype(np.int64) * n_rows + group_row[inside])
        np.add.at(believed, found, belief[inside])
        believed = np.where(believed > 1 - ROUNDING, 1.0, believed)
        amount = weights[at] * of_entry[place]
        cells = np.concatenate([leaf * len(sets) + labels[at], leaf * len(sets) + n_classes])
        mass = np.concatenate([amount * believed, amount * (1 - believed)])
        masses.append(LeafMasses.of_cells(sets, n_leaves, cells[mass > 0], mass[mass > 0]))
        counted.append(ClassCounts.of_tables(counts.astype(np.uint32), weight))
    evidence = replace(counted[0].join(*counted[1:]), masses=masses[0].join(*masses[1:]))
    return repay_borrowed(replace(forest, evidence=evidence))


def leaves_of_rows(
    forest: Forest, codes: Codes, bags: Bags, n_threads: int
) -> Iterator[tuple[NDArray[np.int32], NDArray[np.uint32] | None, int]]:
    """Yield the leaf of each row (n,), how often it counts there (None: once), and the number of leaves, per tree."""
    together = max(1, LEAF_BYTES // (4 * codes.shape[1]))
    sizes = np.diff(forest.leaf_start).tolist()
    for first in range(0, forest.n_trees, together):
        last = min(first + together, forest.n_trees)
        leaves = trees_between(forest, first, last).leaves(codes, n_threads)
        for tree in range(first, last):
            yield leaves[:, tree - first], bags.counted(tree, 0, codes.shape[1]), sizes[tree]


def _counted(
    bags: Bags, tree: int, before: int, groups: NDArray[np.int64] | None, first: int, last: int
) -> NDArray[np.uint32] | None:
    """Return how often leaves count later rows `first` to ``last - 1``, (m,).

    `before` is the number of earlier rows or groups.
    """
    if groups is None:
        return bags.counted(tree, before + first, before + last)
    numbers = groups[first:last] + before
    least = int(numbers.min())
    drawn = bags.counted(tree, least, int(numbers.max()) + 1)
    return None if drawn is None else drawn[numbers - least]


def adopt_borrowed(forest: Forest, codes: Codes, n_threads: int = 1) -> Forest:
    """Replace borrowed leaves that some of the rows (p, m) reach by empty leaves."""
    borrowed = forest.structure.is_borrowed
    if not borrowed.any():
        return forest
    reached = np.zeros(len(borrowed), dtype=bool)
    for _, _, nodes in leaf_blocks(forest, codes, n_threads, as_nodes=True):
        reached[np.unique(nodes + forest.node_start[:-1])] = True
    adopted = reached & borrowed
    if not adopted.any():
        return forest
    numbered, source = forest.structure.adopt(adopted)
    return Forest(numbered, forest.evidence.take(source))


def leaf_blocks(
    forest: Forest, codes: Codes, n_threads: int, *, as_nodes: bool = False
) -> Iterator[tuple[int, int, NDArray[np.int32]]]:
    """Yield start, end and leaves (or nodes) (b, T) of each block of rows."""
    block = max(1, LEAF_BYTES // (4 * forest.n_trees))
    find = forest.leaf_nodes if as_nodes else forest.leaves
    for first in range(0, codes.shape[1], block):
        last = min(first + block, codes.shape[1])
        part = codes if last - first == codes.shape[1] else np.ascontiguousarray(codes[:, first:last])
        yield first, last, find(part, n_threads)


def _groups_of_trees(span: slice, first: int, last: int) -> Iterator[tuple[slice, NDArray[np.int64]]]:
    """Yield groups of trees, and rows `first` to ``last - 1`` for each of them."""
    together = max(1, CELLS_TOGETHER // (last - first))
    for tree in range(span.start, span.stop, together):
        trees = slice(tree, min(tree + together, span.stop))
        yield trees, np.tile(np.arange(first, last), trees.stop - tree)


def repay_borrowed(forest: Forest) -> Forest:
    """Recompute every borrowed leaf from its siblings and the leaves below them."""
    if not forest.structure.is_borrowed.any():
        return forest
    return replace(forest, evidence=forest.evidence.repeat(*forest.structure.lenders()))


# ---- Leaf counts of groups: rows that belong together count once in a leaf -------------------------------------------


def count_groups(forest: Forest, rows: TrainingRows, first_tree: int, n_threads: int = 1) -> Forest:
    """Trees and the rows they were grown on -> the same trees, whose leaves count the groups of their bags.

    A group that has several rows in a leaf counts once there. If its rows have different classes, it is shared out
    among these by its rows (by their weights, if rows are weighted): the weights of a leaf hold the shares, and its
    counts add up to the number of groups.
    """
    groups = rows.bags.groups
    assert groups is not None
    targets = rows.target.outputs if rows.target.kind == "several" else (rows.target,)
    n_classes = [len(target.class_rows) for target in targets]
    found: list[list[ClassCounts]] = [[] for _ in targets]
    together = max(1, LEAF_BYTES // (4 * rows.n_rows))
    for first in range(0, forest.n_trees, together):
        some = trees_between(forest, first, min(first + together, forest.n_trees))
        leaves, sizes = some.leaves(rows.codes, n_threads), np.diff(some.leaf_start)
        for tree in range(some.n_trees):
            bag = np.flatnonzero(rows.bags.times(first_tree + first + tree))
            leaf = leaves[bag, tree].astype(np.int64)
            pairs = leaf * groups.n_groups + groups.of_row[bag]
            for output, target in enumerate(targets):
                labels = target.labels[bag].astype(np.int64)
                weights = None if target.sure_weights is None else target.sure_weights[bag]
                unit = target.for_core().weight_unit
                held = _leaf_counts(pairs, leaf, labels, weights, unit, n_classes[output], int(sizes[tree]))
                found[output].append(held)
    leaves_of: list[LeafPayload] = [parts[0].join(*parts[1:]) for parts in found]
    single = not isinstance(forest.evidence, MultiOutputLeaves)
    return repay_borrowed(replace(forest, evidence=leaves_of[0] if single else MultiOutputLeaves(tuple(leaves_of))))


def _leaf_counts(
    pairs: NDArray[np.int64],
    leaf: NDArray[np.int64],
    labels: NDArray[np.int64],
    weights: Array | None,
    unit: float,
    n_classes: int,
    n_leaves: int,
) -> ClassCounts:
    """Rows (m,): numbers of leaf and group, of leaf, class and weight -> the groups of each class in each leaf."""
    _, first, inverse, sizes = np.unique(pairs, return_index=True, return_inverse=True, return_counts=True)
    cells = leaf * n_classes + labels
    size = n_leaves * n_classes
    counts = np.bincount(cells[first], minlength=size).reshape(n_leaves, n_classes)
    if weights is None and (labels == labels[first][inverse]).all():
        return ClassCounts.of_tables(counts, None)
    shares = np.ones(len(leaf)) if weights is None else weights * unit
    shared = np.bincount(cells, weights=shares / sizes[inverse], minlength=size).astype(np.float64)
    return ClassCounts.of_tables(counts, shared.reshape(n_leaves, n_classes))
