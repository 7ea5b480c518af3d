"""Densities of leaves and forests."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from hedgerow.forest.forest import Forest
from hedgerow.forest.walk import Tree
from hedgerow.table.bins import Codes

Floats = NDArray[np.float64]

#: Number of rows whose leaves are found at once.
BLOCK_ROWS = 8192


def leaf_log_density(tree: Tree, ranges: Floats) -> Floats:
    """Return log(rows / (all rows × volume)) of each leaf; splits must be numeric.

    The box of a leaf is cut out of the feature `ranges` (p, 2) by the splits above it. Features with a single value are
    ignored.
    """
    leaves = np.flatnonzero(tree.is_leaf)
    rows, volume = tree.counts.sum(axis=1), _log_volumes(tree, ranges)
    density = np.full(len(leaves), -np.inf)
    filled = leaves[rows[leaves] > 0]
    density[tree.nodes.payload[filled]] = np.log(rows[filled] / rows[0]) - volume[filled]
    return density


def forest_log_density(forest: Forest, densities: Floats, codes: Codes, n_threads: int = 1) -> Floats:
    """Return the log of the mean density over trees, (n,), given log densities (L,)."""
    found = np.empty(codes.shape[1])
    for first in range(0, len(found), BLOCK_ROWS):
        block = np.ascontiguousarray(codes[:, first : first + BLOCK_ROWS])
        reached = forest.leaves(block, n_threads) + forest.leaf_start[:-1]
        found[first : first + BLOCK_ROWS] = logsumexp(densities[reached], axis=1) - np.log(forest.n_trees)
    return found


def _log_volumes(tree: Tree, ranges: Floats) -> Floats:
    """Return the log volume of the box of each node, (N,), level by level."""
    width = ranges[:, 1] - ranges[:, 0]
    volume = np.full(tree.n_nodes, np.log(width[width > 0]).sum())
    level, low, high = np.zeros(1, dtype=np.int64), ranges[None, :, 0], ranges[None, :, 1]
    while len(level):
        inner = np.flatnonzero(~tree.is_leaf[level])
        parents, above = np.repeat(level[inner], 2), np.repeat(inner, 2)
        is_right = np.tile([False, True], len(inner))
        children = tree.first_child[parents] + is_right
        feature, threshold = tree.feature[parents], tree.threshold[parents]
        low, high, child = low[above], high[above], np.arange(len(children))
        before = high[child, feature] - low[child, feature]
        low[child[is_right], feature[is_right]] = threshold[is_right]
        high[child[~is_right], feature[~is_right]] = threshold[~is_right]
        volume[children] = volume[parents] + np.log((high - low)[child, feature] / before)
        level = children
    return volume
