"""Leaf counts of groups: rows that belong together count once in a leaf."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.forest.add import repay_borrowed
from hedgerow.forest.class_counts import ClassCounts
from hedgerow.forest.forest import Forest, trees_between
from hedgerow.forest.multioutput import MultiOutputLeaves
from hedgerow.forest.payload import LeafPayload
from hedgerow.forest.training import TrainingRows

#: Leaves of all rows are found for several trees at a time, whose leaves take about this many bytes.
LEAF_BYTES = 32 << 20


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
    weights: NDArray[Any] | None,
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
