"""Trees and leaf payload of a forest as arrays, validated by the compiled core."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from joblib import cpu_count
from numpy.typing import NDArray

from hedgerow.errors import ModelFileError
from hedgerow.forest.class_counts import DENSE_CLASSES
from hedgerow.forest.forest import TYPES, Forest, counted_rows
from hedgerow.forest.leaf_masses import LeafMasses
from hedgerow.forest.nodes import Nodes, UnseenPolicy
from hedgerow.storage.values import Arrays, Once, take
from hedgerow.table.bins import Bins

#: Nodes per thread of the validation; fewer take a few milliseconds.
_NODES_PER_THREAD = 1_000_000
#: Policies by their numbers in files; files of "larger" have no array.
_POLICIES = ("larger", "shares", "sum")


def forest_to_arrays(forest: Forest, bins: Bins) -> Arrays:
    """Return the arrays of a forest, and the number of rows that each tree counts."""
    arrays = {f"forest.{name}": array for name, array in forest.arrays().items()}
    return arrays | {"forest.rows": tree_rows(forest, bins)} | _unseen_to_arrays(forest.structure.unseen)


def forest_from_arrays(
    arrays: Arrays, bins: Bins, n_classes: int, once: Once, *, weighted: bool, moments: tuple[str, ...] = ()
) -> tuple[Forest, NDArray[np.uint64]]:
    """Read a forest and the number of rows that each tree counts, both validated."""
    trees = once.read(("trees", id(bins)), arrays, lambda: _trees_from(arrays, len(bins.n_bins)))
    key = ("leaves", id(trees), n_classes, weighted, moments)
    return once.read(key, arrays, lambda: _with_leaves(trees, arrays, bins, n_classes, weighted, moments))


@dataclass
class _Trees:
    """Nodes of all trees, and whether they have been validated."""

    nodes: Nodes
    checked: bool = False

    @cached_property
    def borrowed(self) -> NDArray[np.uint8]:
        """Borrowed leaves (L,)."""
        return self.nodes.borrowed_leaves()


def _trees_from(arrays: Arrays, n_features: int) -> _Trees:
    """Read the nodes of all trees, without validation."""
    given = {name: take(arrays, f"forest.{name}", dtype) for name, dtype in Nodes.TYPES.items()}
    return _Trees(replace(Nodes.from_arrays(given), unseen=_unseen_from_arrays(arrays, n_features)))


def _with_leaves(
    trees: _Trees, arrays: Arrays, bins: Bins, n_classes: int, weighted: bool, moments: tuple[str, ...]
) -> tuple[Forest, NDArray[np.uint64]]:
    """Read the leaves; return the validated forest and the rows of each tree."""
    absent = set(Nodes.TYPES) if n_classes > DENSE_CLASSES else {*Nodes.TYPES, "entry_start", "entry_class"}
    absent |= set() if weighted else {"weights"}
    absent |= {"values", "means", "variances"} - set(moments)
    absent |= {name for name in LeafMasses.TYPES if f"forest.{name}" not in arrays}
    leaves = {name: take(arrays, f"forest.{name}", dtype) for name, dtype in TYPES.items() if name not in absent}
    forest = replace(Forest.from_arrays(n_classes, leaves | trees.nodes.arrays()), structure=trees.nodes)
    counted = tree_rows(forest, bins, trees.borrowed if trees.checked else None)
    trees.checked = True
    rows = take(arrays, "forest.rows", np.uint64, length=forest.n_trees)
    if not np.array_equal(rows, counted):
        raise ModelFileError("leaf counts must add up to the rows of each tree.")
    return forest, rows


def _unseen_to_arrays(unseen: UnseenPolicy | None) -> Arrays:
    """Return the policy number (p,) of each feature, 0 if it had missing values."""
    if unseen is None:
        return {}
    return {"forest.unseen": (unseen.gapless * _POLICIES.index(unseen.policy)).astype(np.uint8)}


def _unseen_from_arrays(arrays: Arrays, n_features: int) -> UnseenPolicy | None:
    """Read the policy for new values; older files send all rows to the larger side."""
    if "forest.unseen" not in arrays:
        return None
    given = take(arrays, "forest.unseen", np.uint8, length=n_features)
    numbers = set(given.tolist()) - {0}
    if len(numbers) > 1 or not numbers <= {1, 2}:
        raise ModelFileError(f"array 'forest.unseen' must be 0 and one of 1 and 2, got {sorted(numbers)[:10]}.")
    return UnseenPolicy((given > 0).astype(np.uint8), _POLICIES[numbers.pop() if numbers else 1])


def tree_rows(forest: Forest, bins: Bins, borrowed: NDArray[np.uint8] | None = None) -> NDArray[np.uint64]:
    """Validate the trees, and return the number of rows (T,) that each counts.

    `borrowed` leaves are given if the nodes have been validated already.
    """
    try:
        return counted_rows(forest, bins, max(1, min(cpu_count(), len(forest.nodes) // _NODES_PER_THREAD)), borrowed)
    except ValueError as reason:
        raise ModelFileError(str(reason)) from None
