"""Shap: Shapley values by definition, over all subsets of the features; trees as the `shap` package takes them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import combinations
from math import factorial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.forest.walk import Tree

Floats = NDArray[np.float64]
Game = Callable[[frozenset[int]], Floats]


def shapley_values(game: Game, n_features: int) -> Floats:
    """What a set of known features is worth, (K,) -> what each feature adds (p, K)."""
    values = []
    for i in range(n_features):
        rest = [j for j in range(n_features) if j != i]
        total = 0.0
        for size in range(n_features):
            weight = factorial(size) * factorial(n_features - size - 1) / factorial(n_features)
            for known in combinations(rest, size):
                total = total + weight * (game(frozenset((*known, i))) - game(frozenset(known)))
        values.append(total)
    return np.array(values)


def shapley_interactions(game: Game, n_features: int) -> Floats:
    """What a set of known features is worth, (K,) -> Shapley interaction values (p, p, K)."""
    values = shapley_values(game, n_features)
    pairs = np.zeros((n_features, *values.shape))
    for i, j in combinations(range(n_features), 2):
        rest = [k for k in range(n_features) if k not in (i, j)]
        for size in range(n_features - 1):
            weight = factorial(size) * factorial(n_features - size - 2) / (2 * factorial(n_features - 1))
            for known in combinations(rest, size):
                both = game(frozenset((*known, i, j))) + game(frozenset(known))
                pairs[i, j] += weight * (both - game(frozenset((*known, i))) - game(frozenset((*known, j))))
        pairs[j, i] = pairs[i, j]
    for i in range(n_features):
        pairs[i, i] = values[i] - pairs[i].sum(axis=0)
    return pairs


def path_game(trees: list[Tree], values: list[Floats], codes: NDArray[Any], missing: int) -> Game:
    """Trees, values of their leaves (leaves, K), codes of one row (p,) -> worth of a set of known features.

    An unknown feature sends the row to every child, by the share of the training rows that are there.
    """

    def worth(known: frozenset[int]) -> Floats:
        return np.sum([_by_path(t, v, codes, missing, known, 0) for t, v in zip(trees, values, strict=True)], axis=0)

    return worth


def background_game(
    trees: list[Tree], values: list[Floats], codes: NDArray[Any], background: NDArray[Any], missing: int
) -> Game:
    """The same where unknown features take the values of background rows (p, m), averaged over these."""

    def worth(known: frozenset[int]) -> Floats:
        total = 0.0
        everything = frozenset(range(len(codes)))
        for other in background.T:
            mixed = np.array(
                [own if i in known else its for i, (own, its) in enumerate(zip(codes, other, strict=True))]
            )
            for tree, leaves in zip(trees, values, strict=True):
                total = total + _by_path(tree, leaves, mixed, missing, everything, 0)
        return np.asarray(total) / background.shape[1]

    return worth


def trees_for_shap(trees: list[Tree], values: list[Floats]) -> list[dict[str, Any]]:
    """Numeric trees and the values of their leaves (leaves, K) -> the dictionaries `shap.TreeExplainer` takes."""
    made = []
    for tree, leaves in zip(trees, values, strict=True):
        left = tree.first_child
        right = np.where(left < 0, -1, left + 1)
        held = np.zeros((tree.n_nodes, leaves.shape[1]))
        held[tree.is_leaf] = leaves[tree.nodes.payload[tree.is_leaf]]
        made.append(
            {
                "children_left": left,
                "children_right": right,
                "children_default": np.where(tree.missing_left, left, right),
                "features": np.where(left < 0, -2, tree.feature),
                "thresholds": np.where(left < 0, -2.0, tree.threshold),
                "values": held,
                "node_sample_weight": tree.weights.sum(axis=1),
            }
        )
    return made


@cache
def cover_of(tree: Tree) -> Floats:
    """-> (N,): rows at each node."""
    return np.asarray(tree.weights.sum(axis=1))


def _by_path(tree: Tree, leaves: Floats, codes: NDArray[Any], missing: int, known: frozenset[int], node: int) -> Floats:
    """-> (K,): the mean value of the leaves below a node."""
    if tree.is_leaf[node]:
        return leaves[tree.nodes.payload[node]]
    first, feature = int(tree.first_child[node]), int(tree.feature[node])
    if feature in known:
        return _by_path(tree, leaves, codes, missing, known, first + _side(tree, node, int(codes[feature]), missing))
    cover = cover_of(tree)
    total = 0.0
    for child in range(first, first + int(tree.n_children[node])):
        share = 0.0 if tree.is_borrowed[child] else cover[child] / cover[node]
        if share > 0:
            total = total + share * _by_path(tree, leaves, codes, missing, known, child)
    return np.asarray(total)


def _side(tree: Tree, node: int, code: int, missing: int) -> int:
    """A code at a node -> which of its children it goes to."""
    kind = tree._kind[node]
    if kind == 2:
        return int(tree.n_children[node]) - 1 if code == missing else code
    if code == missing:
        return 0 if tree.missing_left[node] else 1
    feature = int(tree.feature[node])
    if kind == 1:
        known = tree.schema.categories[feature]
        assert known is not None
        return 0 if known[code] in tree.categories_left(node) else 1
    cuts = tree._bins.cuts_of(feature)
    return 0 if code == 0 or cuts[code - 1] < tree.threshold[node] else 1
