"""Rows with values that no training row had, sent down both sides one tree, node and leaf at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

#: A part of a row below this goes on to the larger side alone.
SMALLEST = 1 / 1024


def slow_leaves(tree: Any, row: NDArray[Any], gapless: NDArray[Any], missing: int) -> list[tuple[int, float]]:
    """A tree, codes (p,) of a row -> the leaf nodes it may belong to, each with its share."""
    amount, codes = tree.evidence.amount, tree.nodes.code

    def below(node: int, part: float) -> list[tuple[int, float]]:
        if tree.is_leaf[node]:
            return [(node, part)]
        feature, first = tree.feature[node], tree.first_child[node]
        if row[feature] != missing or not gapless[feature] or tree.is_multiway[node]:
            return below(_child(tree, codes, node, row[feature], missing), part)
        amounts = [amount[first + side] for side in (0, 1)]
        left = amounts[0] / sum(amounts) if sum(amounts) else 0.5
        if part * min(left, 1 - left) < SMALLEST:
            larger = tree.missing_left[node] if left == 0.5 else left > 0.5
            return below(first if larger else first + 1, part)
        return below(first, part * left) + below(first + 1, part * (1 - left))

    return below(0, 1.0)


def slow_counts(tree: Any, leaves: list[tuple[int, float]], *, add: bool) -> NDArray[np.float64]:
    """Leaf nodes with shares -> (K,): counts of the one leaf that they are together."""
    counts, weighed = tree.counts, tree.weights
    rows = {node: float(counts[node].sum()) for node, _ in leaves}
    if add:
        weights, n_rows = sum(weighed[node] for node, _ in leaves), sum(rows.values())
    else:
        held = [(weighed[node] / weighed[node].sum(), part) for node, part in leaves if rows[node]]
        weights = sum(shares * part for shares, part in held) if held else np.zeros(counts.shape[1])
        n_rows = sum(rows[node] * part for node, part in leaves)
    return np.asarray(n_rows * weights / weights.sum() if weights.sum() else weights)


def _child(tree: Any, codes: NDArray[Any], node: int, code: int, missing: int) -> int:
    """Where a row goes that is like training rows."""
    first = tree.first_child[node]
    if tree.is_multiway[node]:
        return int(first + (tree.n_children[node] - 1 if code == missing else code))
    if code == missing:
        return int(first if tree.missing_left[node] else first + 1)
    known = tree.schema.categories[tree.feature[node]]
    left = code <= codes[node] if known is None else tree.codes_left(np.array([node]))[0][code]
    return int(first if left else first + 1)
