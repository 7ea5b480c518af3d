"""Later rows, by definition: every row seen is sent down every tree and counted as often as its bag says."""

from __future__ import annotations

from typing import Any

import numpy as np

from hedgerow import _core
from hedgerow.inference.fitted import fitted_of
from hedgerow.table import read_table
from hedgerow.table.bins import encode


def times_counted(model: Any, tree: int, n_rows: int, leaf_counts: str, bag_mean: float) -> np.ndarray:
    """How often a tree counts each of the n rows."""
    if bag_mean == 0 or leaf_counts == "all":
        return np.ones(n_rows, dtype=int)
    drawn = _core.bag(fitted_of(model).seed, tree, n_rows, bag_mean).astype(int)
    return {"inbag": drawn, "distinct": (drawn > 0).astype(int), "oob": (drawn == 0).astype(int)}[leaf_counts]


def count_by_hand(model: Any, X: Any, y: Any, weights: Any = None) -> list[tuple[np.ndarray, np.ndarray]]:
    """For each tree (nodes, K) rows and their weight at every node, borrowed leaves answering with their parent."""
    codes = encode(read_table(X, fitted_of(model).schema), fitted_of(model).bins)
    nodes = model.forest_.leaf_nodes(codes)
    labels = np.searchsorted(model.classes_, y)
    weights = np.ones(len(labels)) if weights is None else weights
    leaf_counts, bag_mean = getattr(model, "leaf_counts", "all"), 1.0 if getattr(model, "bootstrap", False) else 0.0
    found = []
    for number, tree in enumerate(model.trees_):
        times = times_counted(model, number, len(labels), leaf_counts, bag_mean)
        rows, heavy = np.zeros((tree.n_nodes, len(model.classes_)), int), np.zeros((tree.n_nodes, len(model.classes_)))
        for row, (node, label) in enumerate(zip(nodes[:, number], labels, strict=True)):
            at = int(node)
            while at >= 0:
                rows[at, label] += times[row]
                heavy[at, label] += weights[row] * (times[row] if leaf_counts == "inbag" else times[row] > 0)
                at = int(tree.parent[at])
        for node in np.flatnonzero(tree.is_borrowed):
            rows[node], heavy[node] = rows[tree.parent[node]], heavy[tree.parent[node]]
        found.append((rows, heavy))
    return found


def moments_by_hand(
    model: Any, X: Any, y: np.ndarray, weights: np.ndarray
) -> list[dict[int, tuple[int, float, float, float]]]:
    """For each tree: leaf node -> rows, weight, mean and variance of all rows seen."""
    codes = encode(read_table(X, fitted_of(model).schema), fitted_of(model).bins)
    nodes = model.forest_.leaf_nodes(codes)
    bag_mean = 1.0 if getattr(model, "bootstrap", False) else 0.0
    found = []
    for number in range(model.forest_.n_trees):
        times = times_counted(model, number, len(y), "inbag", bag_mean)
        leaves = {}
        for node in np.unique(nodes[:, number]):
            here = (nodes[:, number] == node) & (times > 0)
            if not here.any():
                continue
            heavy = weights[here] * times[here]
            mean = np.average(y[here], weights=heavy)
            leaves[int(node)] = (
                int(times[here].sum()),
                float(heavy.sum()),
                float(mean),
                float(np.average((y[here] - mean) ** 2, weights=heavy)),
            )
        found.append(leaves)
    return found


def same_forest(first: Any, second: Any) -> bool:
    """Whether two forests are equal, bit for bit."""
    a, b = first.arrays(), second.arrays()
    return (
        first.n_classes == second.n_classes
        and a.keys() == b.keys()
        and all(a[name].dtype == b[name].dtype and a[name].tobytes() == b[name].tobytes() for name in a)
    )
