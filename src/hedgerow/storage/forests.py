"""Forests: all trees of a model and the evidence of their leaves <-> arrays, checked by the core."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from joblib import cpu_count
from numpy.typing import NDArray

from hedgerow.errors import ModelFileError
from hedgerow.forest.class_counts import DENSE_CLASSES
from hedgerow.forest.forest import TYPES, Forest, counted_rows
from hedgerow.forest.nodes import Nodes
from hedgerow.forest.unseen import UnseenPolicy
from hedgerow.storage.values import Arrays, Once, take
from hedgerow.table.bins import Bins

#: A further thread checks at least this many nodes: fewer take a few milliseconds.
_NODES_PER_THREAD = 1_000_000
#: Policies by their numbers in files; "larger" is the absence of the array.
_POLICIES = ("larger", "shares", "sum")


def forest_to_arrays(forest: Forest, bins: Bins) -> Arrays:
    """Forest -> its arrays, and the rows each tree counts."""
    arrays = {f"forest.{name}": array for name, array in forest.arrays().items()}
    return arrays | {"forest.rows": tree_rows(forest, bins)} | _unseen_to_arrays(forest.structure.unseen)


def forest_from_arrays(
    arrays: Arrays, bins: Bins, n_classes: int, once: Once, *, weighted: bool, moments: tuple[str, ...] = ()
) -> tuple[Forest, NDArray[np.uint64]]:
    """The inverse of `forest_to_arrays`, everything checked -> the forest, and the rows each tree counts."""
    trees = once.read(("trees", id(bins)), arrays, lambda: _trees_from(arrays, len(bins.n_bins)))
    key = ("leaves", id(trees), n_classes, weighted, moments)
    return once.read(key, arrays, lambda: _with_leaves(trees, arrays, bins, n_classes, weighted, moments))


@dataclass
class _Trees:
    """The nodes of all trees, and whether they have been checked."""

    nodes: Nodes
    checked: bool = False

    @cached_property
    def borrowed(self) -> NDArray[np.uint8]:
        """(L,): which leaves are borrowed."""
        return self.nodes.borrowed_leaves()


def _trees_from(arrays: Arrays, n_features: int) -> _Trees:
    """The nodes of all trees, not yet checked."""
    given = {name: take(arrays, f"forest.{name}", dtype) for name, dtype in Nodes.TYPES.items()}
    return _Trees(replace(Nodes.from_arrays(given), unseen=_unseen_from_arrays(arrays, n_features)))


def _with_leaves(
    trees: _Trees, arrays: Arrays, bins: Bins, n_classes: int, weighted: bool, moments: tuple[str, ...]
) -> tuple[Forest, NDArray[np.uint64]]:
    """Nodes, and arrays with leaves -> the forest, checked, and the rows each tree counts."""
    absent = set(Nodes.TYPES) if n_classes > DENSE_CLASSES else {*Nodes.TYPES, "entry_start", "entry_class"}
    absent |= set() if weighted else {"weights"}
    absent |= {"values", "means", "variances"} - set(moments)
    leaves = {name: take(arrays, f"forest.{name}", dtype) for name, dtype in TYPES.items() if name not in absent}
    forest = replace(Forest.from_arrays(n_classes, leaves | trees.nodes.arrays()), structure=trees.nodes)
    counted = tree_rows(forest, bins, trees.borrowed if trees.checked else None)
    trees.checked = True
    rows = take(arrays, "forest.rows", np.uint64, length=forest.n_trees)
    if not np.array_equal(rows, counted):
        raise ModelFileError("counts must add up to the rows of each tree, got other sums")
    return forest, rows


def _unseen_to_arrays(unseen: UnseenPolicy | None) -> Arrays:
    """What trees know of values never seen -> (p,): 0 for a feature with gaps, else the number of the policy."""
    if unseen is None:
        return {}
    return {"forest.unseen": (unseen.gapless * _POLICIES.index(unseen.policy)).astype(np.uint8)}


def _unseen_from_arrays(arrays: Arrays, n_features: int) -> UnseenPolicy | None:
    """The inverse of `_unseen_to_arrays`; files of earlier versions send all rows to the larger side."""
    if "forest.unseen" not in arrays:
        return None
    given = take(arrays, "forest.unseen", np.uint8, length=n_features)
    numbers = set(given.tolist()) - {0}
    if len(numbers) > 1 or not numbers <= {1, 2}:
        raise ModelFileError("array 'forest.unseen' must hold 0 and one policy, 1 or 2, got other numbers")
    return UnseenPolicy((given > 0).astype(np.uint8), _POLICIES[numbers.pop() if numbers else 1])


def tree_rows(forest: Forest, bins: Bins, borrowed: NDArray[np.uint8] | None = None) -> NDArray[np.uint64]:
    """A forest, perhaps its borrowed leaves if its nodes have been checked -> (T,): rows that each tree counts.

    A ModelFileError says what is wrong with a tree.
    """
    try:
        return counted_rows(forest, bins, max(1, min(cpu_count(), len(forest.nodes) // _NODES_PER_THREAD)), borrowed)
    except ValueError as reason:
        raise ModelFileError(str(reason)) from None
