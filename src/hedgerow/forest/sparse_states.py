"""Merged states of leaves of many classes, at the cost of the counts above zero."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.forest.class_counts import ClassCounts
from hedgerow.forest.nodes import each_from, starts_of
from hedgerow.forest.reducers import Reducer, distinct_rows
from hedgerow.rules import Setting

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: With more classes than this, leaves are lifted by pattern.
MANY_CLASSES = 100
#: Number of cells of dense states of patterns in memory at once.
CELLS = 1 << 21


class Reached(NamedTuple):
    """Row, tree and leaf of each leaf reached, by row and then by tree, (m,).

    `own` is the class of the row, if it is removed from the leaf; otherwise None.
    """

    row: Ints
    tree: Ints
    leaf: Ints
    own: NDArray[np.integer[Any]] | None


@dataclass(frozen=True)
class Shape:
    """Layout of states: `width` columns, with blocks that have a column per class."""

    n_classes: int
    width: int
    blocks: tuple[int, ...]  # where the blocks begin

    @property
    def others(self) -> Ints:
        """Columns that belong to no class."""
        free = np.ones(self.width, dtype=bool)
        for first in self.blocks:
            free[first : first + self.n_classes] = False
        return np.flatnonzero(free)


class StateBlock(NamedTuple):
    """Entries of m leaves, in descending order of amount; ties by class."""

    start: Ints  # (m + 1,)
    label: Ints  # (E,)
    amount: Floats  # (E,)


class _States(NamedTuple):
    """States of m leaves: of E present classes, of absent classes, and the rest."""

    held: Floats  # (E, B)
    absent: Floats  # (m, B)
    rest: Floats  # (m, R)


def merged_by_patterns(
    evidence: ClassCounts,
    reached: Reached,
    what: Reducer[Any],
    setting: Setting,
    shape: Shape,
    n_rows: int,
    weights: Floats | None,
) -> Floats:
    """Return the merged states of n rows, (n, S), or (n, 2 S) if `merge` is "both".

    A leaf of many classes has rows of few of them, and most leaves have the same numbers of rows of different classes.
    The state of such a pattern is computed once; absent classes have no entries. `weights` (T,) are factors of the
    states of each tree. Sums are taken in the order of trees.
    """
    held = _held(evidence, reached)
    states = _lifted(held, what, setting, shape)
    if weights is not None:
        factor = weights[reached.tree][:, None]
        of_entry = np.repeat(factor, np.diff(held.start), axis=0)
        states = _States(states.held * of_entry, states.absent * factor, states.rest * factor)
    if what.merge == "add" and not states.absent.any():
        return _added(held, states, reached.row, shape, n_rows)
    return _merged_by_tree(held, states, reached, shape, n_rows, what.merge)


def _held(evidence: ClassCounts, reached: Reached) -> StateBlock:
    """Return the entries of leaves, without removed rows."""
    assert evidence.entry_start is not None
    assert evidence.entry_class is not None
    first, last = evidence.entry_start[reached.leaf], evidence.entry_start[reached.leaf + 1]
    leaf, entry = np.repeat(np.arange(len(first)), last - first), each_from(first, last - first)
    label, amount = evidence.entry_class[entry].astype(np.int64), evidence.counts[entry].astype(np.float64)
    weight = None if evidence.weights is None else evidence.weights[entry]
    if reached.own is not None:
        mine = np.flatnonzero(label == reached.own[leaf])
        before = amount[mine]
        amount[mine] = np.maximum(before - 1, 0)
        if weight is not None:
            weight[mine] *= amount[mine] / np.where(before > 0, before, 1.0)
    if weight is not None:  # row totals in proportion to weights
        rows, total = (np.bincount(leaf, each, len(first)) for each in (amount, weight))
        amount = rows[leaf] * weight / np.where(total > 0, total, 1.0)[leaf]
    order = np.lexsort((label, -amount, leaf))
    order = order[amount[order] > 0]
    return StateBlock(starts_of(np.bincount(leaf[order], minlength=len(first))), label[order], amount[order])


def _lifted(held: StateBlock, what: Reducer[Any], setting: Setting, shape: Shape) -> _States:
    """Return the states of leaves; similar numbers of classes share a table."""
    n_blocks, others = len(shape.blocks), shape.others
    size = np.diff(held.start)
    columns = np.minimum(1 << np.ceil(np.log2(np.maximum(size, 1))).astype(np.int64), shape.n_classes)
    states = _States(
        np.empty((len(held.amount), n_blocks)), np.zeros((len(size), n_blocks)), np.empty((len(size), len(others)))
    )
    for n_columns in np.unique(columns).tolist():
        alike = np.flatnonzero(columns == n_columns)
        row, entry = np.repeat(np.arange(len(alike)), size[alike]), each_from(held.start[alike], size[alike])
        place = entry - held.start[alike][row]
        table = np.zeros((len(alike), n_columns))
        table[row, place] = held.amount[entry]
        patterns, which = distinct_rows(table)
        by_class, absent, rest = _of_patterns(patterns, what, setting, shape, others)
        states.held[entry] = by_class[which[row], :, place]
        states.absent[alike], states.rest[alike] = absent[which], rest[which]
    return states


def _of_patterns(
    patterns: Floats, what: Reducer[Any], setting: Setting, shape: Shape, others: Ints
) -> tuple[Floats, Floats, Floats]:
    """Return states of classes (d, B, c), absent classes (d, B) and no class (d, R)."""
    n_patterns, n_columns = patterns.shape
    by_class = np.empty((n_patterns, len(shape.blocks), n_columns))
    absent, rest = np.zeros((n_patterns, len(shape.blocks))), np.empty((n_patterns, len(others)))
    step = max(1, CELLS // shape.width)
    for first in range(0, n_patterns, step):
        some = slice(first, first + step)
        dense = np.zeros((len(patterns[some]), shape.n_classes))
        dense[:, :n_columns] = patterns[some]
        lifted = what.lift(dense, setting)
        for block, begin in enumerate(shape.blocks):
            by_class[some, block] = lifted[:, begin : begin + n_columns]
            last = begin + shape.n_classes - 1  # an absent class, unless the pattern has all classes
            absent[some, block] = np.where(dense[:, -1] > 0, 0.0, lifted[:, last])
        rest[some] = lifted[:, others]
    return by_class, absent, rest


def _added(held: StateBlock, states: _States, row: Ints, shape: Shape, n_rows: int) -> Floats:
    """Return sums over trees, (n, S), if absent classes add nothing."""
    of_entry = np.repeat(row, np.diff(held.start)) * shape.width + held.label
    merged = np.zeros(n_rows * shape.width)
    for block, first in enumerate(shape.blocks):
        np.add.at(merged, of_entry + first, states.held[:, block])
    for column, at in enumerate(shape.others.tolist()):
        np.add.at(merged, row * shape.width + at, states.rest[:, column])
    return merged.reshape(n_rows, shape.width)


def _merged_by_tree(
    held: StateBlock, states: _States, reached: Reached, shape: Shape, n_rows: int, merge: str
) -> Floats:
    """Return merged states tree by tree, with a state of every class in every leaf."""
    largest, added = (
        np.zeros((n_rows, shape.width)) if merge in kinds else None for kinds in (("max", "both"), ("add", "both"))
    )
    of_entry = np.repeat(np.arange(len(reached.row)), np.diff(held.start))
    for tree in np.unique(reached.tree).tolist():
        leaves = np.flatnonzero(reached.tree == tree)
        dense = np.zeros((len(leaves), shape.width))
        entry = each_from(held.start[leaves], np.diff(held.start)[leaves])
        at = np.searchsorted(leaves, of_entry[entry])
        for block, first in enumerate(shape.blocks):
            dense[:, first : first + shape.n_classes] = states.absent[leaves, block][:, None]
            dense[at, first + held.label[entry]] = states.held[entry, block]
        dense[:, shape.others] = states.rest[leaves]
        rows = reached.row[leaves]
        if largest is not None:
            largest[rows] = np.maximum(largest[rows], dense)
        if added is not None:
            added[rows] += dense
    return np.hstack([part for part in (largest, added) if part is not None])
