"""Entries: the classes that occur in each leaf of a tree -> those of each node, and its weight and impurity."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow import _core
from hedgerow.criteria import Criterion
from hedgerow.forest.nodes import each_from

Floats = NDArray[np.float64]

#: Cells of nodes of many classes that are in memory at once.
CELLS = 1 << 18


def impurity_of_entries(entries: _core.NodeEntries, criterion: Criterion, n_classes: int) -> tuple[Floats, Floats]:
    """What nodes hold, from the last node to the root -> weight and impurity of each node, (N,) each."""
    blocks = [_of_block(start, labels, amounts, criterion, n_classes) for start, labels, amounts in _blocks(entries)]
    amounts, impurities = zip(*blocks, strict=True)
    return np.concatenate(amounts)[::-1], np.concatenate(impurities)[::-1]


def held_at_nodes(rows: _core.NodeEntries, weights: _core.NodeEntries) -> Iterator[tuple[Any, Floats, Floats]]:
    """Rows and weights of the same leaves -> from the last node to the root, its classes, their rows and weights."""
    for (start, labels, counts), (_, _, heavy) in zip(_blocks(rows), _blocks(weights), strict=True):
        for first, last in pairwise(start.tolist()):
            yield labels[first:last], counts[first:last], heavy[first:last]


def _blocks(entries: _core.NodeEntries) -> Iterator[tuple[NDArray[np.int64], NDArray[np.uint16], Floats]]:
    """All nodes, some at a time: where the entries of each begin, their classes and amounts."""
    while len((block := entries.next(CELLS))[0]) > 1:
        yield block


def _of_block(
    start: NDArray[np.int64], labels: NDArray[np.uint16], amounts: Floats, criterion: Criterion, n_classes: int
) -> tuple[Floats, Floats]:
    """What m nodes hold of the classes that occur in them -> weight and impurity of each node, (m,) each.

    Nodes are put into tables with others that hold about as many classes. Impurity does not depend on the order of
    classes, so only those that occur have columns, unless the criterion counts the others or their order matters.
    """
    width = np.diff(start)
    columns = 1 << np.ceil(np.log2(np.maximum(width, 1))).astype(np.int64)
    if criterion.counts_absent:
        columns[:] = n_classes
    weight, impurity = np.zeros(len(width)), np.zeros(len(width))
    for n_columns in np.unique(columns).tolist():
        alike = np.flatnonzero(columns == n_columns)
        for first in range(0, len(alike), step := max(1, CELLS // n_columns)):
            some = alike[first : first + step]
            table = np.zeros((len(some), n_columns))
            row, entry = np.repeat(np.arange(len(some)), width[some]), each_from(start[some], width[some])
            table[row, labels[entry] if criterion.ordered else entry - start[some][row]] = amounts[entry]
            weight[some], impurity[some] = table.sum(axis=1), criterion.impurity(table)
    return weight, impurity
