"""Forests: all trees of a model and what their leaves hold <-> arrays, checked by the core."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hedgerow.bins import Bins
from hedgerow.errors import ModelFileError
from hedgerow.files.values import Arrays, check_starts, take
from hedgerow.tree import DENSE_CLASSES, Forest, counted_rows

#: Arrays of a `Forest` that a file holds as they lie in memory: what `Forest` says of them is the format.
_TYPES = {
    "nodes": np.uint64,
    "payload": np.int32,
    "set_words": np.uint64,
    "node_start": np.int64,
    "leaf_start": np.int64,
    "set_start": np.int64,
    "depth": np.int64,
    "counts": np.uint32,
    "entry_start": np.int64,
    "entry_class": np.uint16,
    "weights": np.float64,
}
_SPARSE = ("entry_start", "entry_class")


def forest_to_arrays(forest: Forest, bins: Bins, n_threads: int = 1) -> Arrays:
    """Forest -> its arrays, and the rows each tree counts."""
    arrays = {f"forest.{name}": getattr(forest, name) for name in _TYPES if getattr(forest, name) is not None}
    return arrays | {"forest.rows": tree_rows(forest, bins, n_threads)}


def forest_from_arrays(
    arrays: Arrays, bins: Bins, n_classes: int, *, weighted: bool, n_threads: int
) -> tuple[Forest, NDArray[np.uint64]]:
    """The inverse of `forest_to_arrays`, everything checked -> the forest, and the rows each tree counts."""
    absent = set() if n_classes > DENSE_CLASSES else set(_SPARSE)
    absent |= set() if weighted else {"weights"}
    given = {name: None if name in absent else take(arrays, f"forest.{name}", _TYPES[name]) for name in _TYPES}
    forest = Forest(n_classes=n_classes, **given)  # type: ignore[arg-type]
    _check_lengths(forest)
    rows = take(arrays, "forest.rows", np.uint64, length=forest.n_trees)
    if not np.array_equal(rows, tree_rows(forest, bins, n_threads)):
        raise ModelFileError("counts must add up to the rows of each tree, got other sums")
    return forest, rows


def tree_rows(forest: Forest, bins: Bins, n_threads: int = 1) -> NDArray[np.uint64]:
    """-> (T,): rows that each tree counts; a ModelFileError says what is wrong with one that cannot be read."""
    try:
        return counted_rows(forest, bins, n_threads)
    except ValueError as reason:
        raise ModelFileError(str(reason)) from None


def _check_lengths(forest: Forest) -> None:
    """Refuse arrays whose lengths do not fit together: what the core takes for granted."""
    n_trees, n_classes = forest.n_trees, forest.n_classes
    if n_trees < 1:
        raise ModelFileError("a model must have at least one tree, got none")
    for name in ("leaf_start", "set_start", "depth"):
        expected = n_trees + (name != "depth")
        if len(getattr(forest, name)) != expected:
            raise ModelFileError(f"array 'forest.{name}' must have {expected} values, got {len(getattr(forest, name))}")
    if len(forest.payload) != len(forest.nodes):
        raise ModelFileError(
            f"there must be a payload for each of {len(forest.nodes)} nodes, got {len(forest.payload)}"
        )
    n_cells = len(forest.counts)
    if forest.entry_start is None or forest.entry_class is None:
        n_leaves, over = divmod(n_cells, n_classes)
        if over:
            raise ModelFileError(f"there must be a count for each leaf and each of {n_classes} classes, got {n_cells}")
    else:
        n_leaves = len(forest.entry_start) - 1
        check_starts("forest.entry_start", forest.entry_start[:: max(1, n_leaves)], n_cells)  # its ends
        if len(forest.entry_class) != n_cells:
            raise ModelFileError(f"there must be a class for each of {n_cells} counts, got {len(forest.entry_class)}")
    if forest.weights is not None and len(forest.weights) != n_cells:
        raise ModelFileError(f"there must be a weight for each of {n_cells} counts, got {len(forest.weights)}")
    check_starts("forest.node_start", forest.node_start, len(forest.nodes), least=1)
    check_starts("forest.leaf_start", forest.leaf_start, n_leaves, least=1)
    check_starts("forest.set_start", forest.set_start, len(forest.set_words))
