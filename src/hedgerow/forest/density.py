"""Density: the boxes of leaves and the rows in them -> how dense the rows are at a place."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from hedgerow.forest.forest import Forest
from hedgerow.forest.walk import Tree
from hedgerow.table.bins import Codes

Floats = NDArray[np.float64]

#: The leaves of this many rows are found at once.
BLOCK_ROWS = 8192


def leaf_log_density(tree: Tree, ranges: Floats) -> Floats:
    """A tree of numeric splits, ranges (p, 2) of the features -> (leaves,): log of rows / (all rows × volume).

    The volume of a leaf is that of its box: the splits above it cut the box out of the ranges. A feature whose range is
    a single point does not count.
    """
    leaves = np.flatnonzero(tree.is_leaf)
    rows, volume = tree.counts.sum(axis=1), _log_volumes(tree, ranges)
    density = np.full(len(leaves), -np.inf)
    filled = leaves[rows[leaves] > 0]
    density[tree.nodes.payload[filled]] = np.log(rows[filled] / rows[0]) - volume[filled]
    return density


def forest_log_density(forest: Forest, densities: Floats, codes: Codes, n_threads: int = 1) -> Floats:
    """Log densities of all leaves (L,), codes (p, n) -> (n,): log of the mean over trees."""
    found = np.empty(codes.shape[1])
    for first in range(0, len(found), BLOCK_ROWS):
        block = np.ascontiguousarray(codes[:, first : first + BLOCK_ROWS])
        reached = forest.leaves(block, n_threads) + forest.leaf_start[:-1]
        found[first : first + BLOCK_ROWS] = logsumexp(densities[reached], axis=1) - np.log(forest.n_trees)
    return found


def _log_volumes(tree: Tree, ranges: Floats) -> Floats:
    """-> (N,): log volume of the box of each node, computed level by level from the root."""
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
