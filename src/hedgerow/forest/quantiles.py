"""Quantiles and ranks of targets among the training rows in leaves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow import _core
from hedgerow.forest.forest import Forest
from hedgerow.forest.grow import TrainingRows
from hedgerow.forest.rows import Bags
from hedgerow.table.bins import Codes

Floats = NDArray[np.float64]

WEIGHTINGS = ("tree", "row")
#: In the order of `Interpolation` in the core.
INTERPOLATIONS = ("linear", "inverse", "lower", "higher", "midpoint", "nearest")
RANKS = ("rank", "weak", "strict", "mean")


@dataclass(frozen=True, eq=False, repr=False)
class LeafRows:
    """Training rows in every leaf of a forest, with multiplicities.

    Parameters
    ----------
    row_start : (L + 1,) int64
        Start of the rows of each leaf; the leaves of all trees are end to end.
    ranks : (E,) uint32
        The ranks of these rows by target.
    values : (n,) float64
        The targets, ascending.
    weights : (n,) float64 or None
        The weights in the same order, if rows are weighted.
    halves : (n,) float64 or None
        The half widths in the same order, if some targets are intervals, whose midpoints are `values`.
    """

    row_start: NDArray[np.int64]
    ranks: NDArray[np.uint32]
    values: Floats
    weights: Floats | None
    halves: Floats | None = None


def find_leaf_rows(
    forest: Forest,
    codes: Codes,
    y: Floats,
    weights: Floats | None,
    bags: Bags,
    n_threads: int,
    halves: Floats | None = None,
) -> LeafRows:
    """Find the training rows in each leaf, given codes (p, n) and targets (n,)."""
    order = np.argsort(y, kind="stable")
    leaves = forest.leaves(np.ascontiguousarray(codes[:, order]), n_threads)
    starts, ranks = [np.zeros(1, dtype=np.int64)], []
    for tree in range(forest.n_trees):
        times = bags.times(tree)[order]
        rank = np.repeat(np.arange(len(y), dtype=np.uint32), times)
        leaf = leaves[rank, tree]
        ranks.append(rank[np.argsort(leaf, kind="stable")])
        n_leaves = forest.leaf_start[tree + 1] - forest.leaf_start[tree]
        starts.append(starts[-1][-1] + np.cumsum(np.bincount(leaf, minlength=n_leaves)))
    ranked = [None if held is None else held[order] for held in (weights, halves)]
    return LeafRows(np.concatenate(starts), np.concatenate(ranks), y[order], *ranked)


def leaf_rows_of(forest: Forest, rows: TrainingRows, n_threads: int) -> LeafRows:
    """Find the rows in each leaf of a regression forest grown on them."""
    core = rows.target.core
    return find_leaf_rows(forest, rows.codes, core.values, core.weights, rows.bags, n_threads, core.halves)


def oob_leaves(forest: Forest, rows: TrainingRows, n_threads: int) -> NDArray[np.int32]:
    """Return the leaf of each training row in each tree, (n, T); -1 if in bag."""
    leaves = forest.leaves(rows.codes, n_threads)
    for tree in range(forest.n_trees):
        leaves[rows.bags.times(tree) > 0, tree] = -1
    return leaves


def checked_quantiles(quantiles: Any, weighting: str, interpolation: str) -> Floats:
    """Return quantiles as (q,), checked."""
    try:
        wanted = np.atleast_1d(np.asarray(quantiles, dtype=np.float64))
    except (TypeError, ValueError):
        wanted = np.empty(0)
    if wanted.ndim != 1 or not wanted.size or not ((wanted >= 0) & (wanted <= 1)).all():
        raise ValueError(f"quantiles must be numbers in [0, 1], got {quantiles!r}.")
    _check_word("weighting", weighting, WEIGHTINGS)
    _check_word("interpolation", interpolation, INTERPOLATIONS)
    return wanted


def quantiles_of(
    forest: Forest,
    leaves: NDArray[np.int32],
    rows: LeafRows,
    quantiles: Floats,
    weighting: str,
    interpolation: str,
    n_threads: int,
) -> Floats:
    """Return quantiles, (n, q), from leaves (n, T); -1 skips a tree.

    Samples without trees get NaN.
    """
    return _in_leaves(forest, leaves, rows, quantiles, weighting, INTERPOLATIONS.index(interpolation), n_threads)


def ranks_of(
    forest: Forest, leaves: NDArray[np.int32], rows: LeafRows, y: Floats, weighting: str, kind: str, n_threads: int
) -> Floats:
    """Return the share of rows in leaves (n, T) with smaller targets, (n,).

    `kind` is the treatment of ties: "strict" excludes them, "weak" counts them, "mean" counts half of them, and "rank"
    averages their ranks.
    """
    _check_word("weighting", weighting, WEIGHTINGS)
    _check_word("kind", kind, RANKS)
    below, upto, row = _in_leaves(forest, leaves, rows, y, weighting, None, n_threads).T
    if kind in ("weak", "strict"):
        return np.array(upto if kind == "weak" else below)
    halfway = (below + upto) / 2
    return np.asarray(np.minimum(halfway + row / 2, upto) if kind == "rank" else halfway)


def _in_leaves(
    forest: Forest,
    leaves: NDArray[np.int32],
    rows: LeafRows,
    wanted: Floats,
    weighting: str,
    interpolation: int | None,
    n_threads: int,
) -> Floats:
    """Return quantiles or, without an interpolation, the positions of targets.

    Positions are the shares of rows below, of rows up to the target, and of one row.
    """
    return _core.quantiles(
        leaves,
        forest.leaf_start,
        rows.row_start,
        rows.ranks,
        rows.values,
        rows.weights,
        wanted,
        weighting == "tree",
        interpolation,
        n_threads,
    )


def _check_word(name: str, value: object, words: tuple[str, ...]) -> None:
    if value not in words:
        raise ValueError(f"{name} must be one of {', '.join(words)}, got {value!r}.")
