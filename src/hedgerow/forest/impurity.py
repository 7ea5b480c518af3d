"""Impurities and medians of nodes that need the training rows of the leaves."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from hedgerow.forest.forest import Forest
from hedgerow.forest.moments import LeafMoments
from hedgerow.forest.quantiles import LeafRows, leaf_rows_of
from hedgerow.forest.training import TrainingRows
from hedgerow.forest.walk import TreeArrays

Floats = NDArray[np.float64]

#: Regression criteria whose impurities need the rows of leaves.
BY_ROWS = ("absolute_error", "poisson")


def node_impurities(forest: Forest, rows: LeafRows, criterion: str) -> Floats:
    """Return the impurity of every node of every tree, end to end."""
    trees = (TreeArrays(forest, number) for number in range(forest.n_trees))
    if criterion == "absolute_error":
        return np.concatenate([with_medians(tree, rows).impurity(criterion) for tree in trees])
    return np.concatenate([_poisson(tree, rows) for tree in trees])


def impurities_of(forest: Forest, rows: TrainingRows, criterion: Any, n_threads: int) -> Floats | None:
    """Return the impurity of every node if the criterion needs rows; else None.

    It is None for multi-output forests too.
    """
    if criterion not in BY_ROWS or len(forest.evidence.parts) > 1:
        return None
    return node_impurities(forest, leaf_rows_of(forest, rows, n_threads), criterion)


def with_medians(tree: TreeArrays, rows: LeafRows) -> LeafMoments:
    """Return the evidence of nodes (N,) with medians and mean absolute errors."""
    held = tree.evidence
    assert isinstance(held, LeafMoments)
    at, values, weights = _rows_of(tree, rows)
    medians, errors = held.values.copy(), np.zeros(tree.n_nodes)
    for level in range(int(tree.node_depth.max(initial=0)), -1, -1):
        here = np.flatnonzero(tree.node_depth[at] == level)  # rows of shallower leaves stay there
        here = here[np.argsort(at[here], kind="stable")]
        node, start = np.unique(at[here], return_index=True)
        middle, error = _medians(values[here], weights[here], start)
        errors[node] = error
        inner = ~tree.is_leaf[node]
        medians[node[inner]] = middle[inner]
        at[here] = tree.parent[at[here]]
    return replace(held, values=medians, means=held.mean, errors=errors)


def _poisson(tree: TreeArrays, rows: LeafRows) -> Floats:
    """Return half the mean Poisson deviance of the rows of each node, (N,)."""
    held = tree.evidence
    at, values, weights = _rows_of(tree, rows)
    sums = np.bincount(at, weights=weights * xlogy(values, values), minlength=tree.n_nodes)
    for level in range(int(tree.node_depth.max(initial=0)), 0, -1):
        nodes = np.flatnonzero(tree.node_depth == level)
        np.add.at(sums, tree.parent[nodes], sums[nodes])
    return np.asarray(np.maximum(sums / held.amount + held.impurity("poisson"), 0.0))


def _rows_of(tree: TreeArrays, rows: LeafRows) -> tuple[NDArray[np.int64], Floats, Floats]:
    """Return leaf node, target and weight of each row, by target, (m,) each."""
    first, last = tree.leaves
    start = rows.row_start[first : last + 1]
    ranks = rows.ranks[start[0] : start[-1]]
    node_of_leaf = np.empty(last - first, dtype=np.int64)
    node_of_leaf[tree.nodes.payload[tree.is_leaf]] = np.flatnonzero(tree.is_leaf)
    order = np.argsort(ranks, kind="stable")
    ranks = ranks[order]
    weights = np.ones(len(ranks)) if rows.weights is None else rows.weights[ranks]
    return np.repeat(node_of_leaf, np.diff(start))[order], rows.values[ranks], weights


def _medians(values: Floats, weights: Floats, start: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Return medians and mean absolute errors of groups of sorted values, (g,)."""
    total = np.add.reduceat(weights, start)
    group = np.repeat(np.arange(len(start)), np.diff(start, append=len(values)))
    passed = np.cumsum(weights)
    passed -= (passed[start] - weights[start])[group]
    half = (0.5 * total)[group]
    last = np.append(start[1:], len(values)) - 1
    low = np.minimum(start + np.add.reduceat((passed < half).astype(np.int64), start), last)
    high = np.minimum(start + np.add.reduceat((passed <= half).astype(np.int64), start), last)
    medians = 0.5 * (values[low] + values[high])
    return medians, np.add.reduceat(weights * np.abs(values - medians[group]), start) / total
