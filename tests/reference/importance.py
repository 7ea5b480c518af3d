"""Importance, slowly: each tree, its rows outside the bag, each feature -> what is lost or gained."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from tests.reference.draws import Draws, derive_key

from hedgerow import _core
from hedgerow.inference.fitted import fitted_of

Floats = NDArray[np.float64]
PERMUTE = 0x7065726D


def outside_rows(forest: Any, tree: int, n_rows: int) -> NDArray[np.int64]:
    """-> rows that are not in the bag of a tree."""
    return np.flatnonzero(_core.bag(fitted_of(forest).seed, tree, n_rows, 1.0) == 0)


def permutation(key: int, tree: int, group: int, repeat: int, n: int) -> list[int]:
    """-> (n,): an order of n rows, drawn as the core draws it."""
    for part in (PERMUTE, tree, group, repeat):
        key = derive_key(key, part)
    draws, order = Draws(key), list(range(n))
    for i in range(n, 1, -1):
        j = draws.below(i)
        order[i - 1], order[j] = order[j], order[i - 1]
    return order


def slow_losses(
    forest: Any, X: pd.DataFrame, worth: Any, groups: list[list[int]], n_repeats: int, key: int
) -> NDArray[np.float64]:
    """Training rows and ``worth(row, tree, node, at_home)`` -> (T, groups): mean loss of worth by permuting a group."""
    home = forest.apply(X)
    losses = np.zeros((home.shape[1], len(groups)))
    for tree in range(home.shape[1]):
        outside = outside_rows(forest, tree, len(X))
        for number, group in enumerate(groups):
            for repeat in range(n_repeats):
                permuted = X.iloc[outside].copy()
                order = permutation(key, tree, number, repeat, len(outside))
                for feature in group:
                    permuted[X.columns[feature]] = permuted[X.columns[feature]].iloc[order].to_numpy()
                astray = forest.apply(permuted.astype(X.dtypes.to_dict()))[:, tree]
                for i, row in enumerate(outside):
                    if astray[i] != home[row, tree]:
                        lost = worth(row, tree, home[row, tree], True) - worth(row, tree, astray[i], False)
                        losses[tree, number] += lost / (len(outside) * n_repeats)
    return losses


def class_worth(forest: Any, labels: NDArray[np.int64], kind: str) -> Any:
    """-> ``worth(row, tree, node, at_home)`` of a forest whose leaves have counted every row."""
    counts = [tree.weights for tree in forest.trees_]
    rows = [tree.counts for tree in forest.trees_]

    def worth(row: int, tree: int, node: int, at_home: bool) -> float:
        held = counts[tree][node].astype(float)
        if at_home:
            n = rows[tree][node, labels[row]]
            held[labels[row]] *= (n - 1) / n
        if held.sum() == 0:
            return 1 / len(held)
        if kind == "probability":
            return float(held[labels[row]] / held.sum())
        return float((held[labels[row]] == held.max()) / (held == held.max()).sum())

    return worth


def slow_gains(forest: Any, X: Any, responses: Floats, n_features: int) -> Floats:
    """Training rows and responses (n, K) -> (T, p): what splits tell about the responses of the rows outside the bag.

    At each node: the covariance, over the rows outside, of a row's response and the mean response that the bag's rows
    have in its child, times the number of rows.
    """
    gains = np.zeros((forest.forest_.n_trees, n_features))
    for number, tree in enumerate(forest.trees_):
        times = _core.bag(fitted_of(forest).seed, number, len(responses), 1.0).astype(float)
        at = forest.apply(X)[:, number]
        passed = np.zeros((len(at), tree.n_nodes), dtype=bool)
        while (at >= 0).any():
            passed[np.flatnonzero(at >= 0), at[at >= 0]] = True
            at = np.where(at >= 0, tree.parent[at], -1)
        outside = times == 0
        for node in np.flatnonzero(~tree.is_leaf):
            means = np.full(responses.shape, np.nan)
            for child in range(tree.first_child[node], tree.first_child[node] + tree.n_children[node]):
                if (times * passed[:, child]).sum():
                    means[passed[:, child]] = np.average(responses, axis=0, weights=times * passed[:, child])
            rows = outside & passed[:, node] & ~np.isnan(means[:, 0])
            if rows.any():
                away = means[rows] - means[rows].mean(axis=0)
                gains[number, tree.feature[node]] += (responses[rows] * away).sum() / outside.sum()
    return gains


def slow_first_uses(forest: Any, n_features: int) -> Floats:
    """-> (T, p): depth of the first split on each feature, or the depth of the tree."""
    first = []
    for tree in forest.trees_:
        splits = [tree.node_depth[tree.feature == feature] for feature in range(n_features)]
        first.append([depth.min() if len(depth) else tree.depth for depth in splits])
    return np.array(first, dtype=float)
