"""Proximities and prediction weights as sparse tables, and rows to label next."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hedgerow import _core
from hedgerow.forest.forest import Forest
from hedgerow.forest.rows import COUNT_SENSES, Bags
from hedgerow.table.bins import Codes

Floats = NDArray[np.float64]
#: Largest memory of the rows in all leaves that is kept for the next call.
MEMBER_BUDGET = 256 << 20
#: Number of rows that are compared with all others at once.
BLOCK_ROWS = 1024

_SHARE_OF_TREES, _SHARE_OF_OUTSIDE, _SHARE_OF_LEAF = 0, 1, 2


class NearestRows(NamedTuple):
    """The k training rows with the largest weights in each prediction, (n, k) each.

    Weights are in descending order. If fewer than k rows have a weight, the remaining entries are row -1 with weight 0.
    """

    rows: NDArray[np.int64]
    weights: NDArray[np.float64]


def proximity_table(
    forest: Forest, codes: Codes, others: Codes, *, most: int = 0, n_threads: int = 1
) -> sparse.csr_array:
    """Return the share of trees in which two rows reach the same leaf, (n, m).

    If `most` > 0, only that many of the largest proximities per row are kept.
    """
    known = _core.RowsInLeaves(_leaves(forest, others, n_threads), forest.leaf_start, COUNT_SENSES["all"], 0, 0.0)
    return _joined(_meetings(forest, codes, known, _SHARE_OF_TREES, most, n_threads), others.shape[1])


def proximity_blocks(
    forest: Forest, codes: Codes, others: Codes, *, n_threads: int = 1
) -> Iterator[tuple[int, sparse.csr_array]]:
    """Yield first row and table (rows, m) of each block of `proximity_table`."""
    known = _core.RowsInLeaves(_leaves(forest, others, n_threads), forest.leaf_start, COUNT_SENSES["all"], 0, 0.0)
    first = 0
    for start, columns, values in _meetings(forest, codes, known, _SHARE_OF_TREES, 0, n_threads):
        yield first, _sparse(start, columns, values, others.shape[1])
        first += len(start) - 1


def oob_proximity_table(
    forest: Forest, codes: Codes, bags: Bags, *, most: int = 0, n_threads: int = 1
) -> sparse.csr_array:
    """Return the out-of-bag proximities of training rows, (n, n).

    Only trees for which both rows are out of bag count.
    """
    leaves = _leaves(forest, codes, n_threads)
    known = _core.RowsInLeaves(leaves, forest.leaf_start, COUNT_SENSES["oob"], bags.seed, bags.mean, bags.units)
    return _joined(_meetings(forest, codes, known, _SHARE_OF_OUTSIDE, most, n_threads), codes.shape[1])


def weight_table(
    forest: Forest, codes: Codes, training: Codes, bags: Bags, *, most: int = 0, n_threads: int = 1
) -> sparse.csr_array:
    """Return the weight of each training row in each prediction, (n, m).

    The prediction is the mean of the leaves reached. Rows of the table sum to one, unless `most` truncates them. The
    rows in leaves are kept for the next call with the same array of training rows.
    """
    known = _members(forest, training, bags, n_threads)
    return _joined(_meetings(forest, codes, known, _SHARE_OF_LEAF, most, n_threads), training.shape[1])


def heaviest_rows(table: sparse.csr_array, k: int) -> NearestRows:
    """Return the at most k entries per row of a table, largest first; ties by row."""
    rows, weights = np.full((table.shape[0], k), -1), np.zeros((table.shape[0], k))
    length = np.diff(table.indptr)
    sample = np.repeat(np.arange(table.shape[0]), length)
    order = np.lexsort((table.indices, -table.data, sample))
    place = np.arange(len(sample)) - np.repeat(table.indptr[:-1], length)
    rows[sample, place], weights[sample, place] = table.indices[order], table.data[order]
    return NearestRows(rows, weights)


def leaf_table(forest: Forest, codes: Codes, n_threads: int = 1) -> sparse.csr_array:
    """Return 1 for the leaf reached in each tree, (n, leaves of all trees)."""
    n_rows, n_leaves = codes.shape[1], int(forest.leaf_start[-1])
    columns = (forest.leaves(codes, n_threads) + forest.leaf_start[:-1]).ravel()
    start = np.arange(0, n_rows * forest.n_trees + 1, forest.n_trees)
    return sparse.csr_array((np.ones(len(columns)), columns, start), shape=(n_rows, n_leaves))


def _members(forest: Forest, training: Codes, bags: Bags, n_threads: int) -> _core.RowsInLeaves:
    """Return the training rows in each leaf, cached while their codes exist."""
    cache = forest.cache
    kept: _Members | None = cache.peek("members")
    if kept is not None and kept.training() is training and kept.bags == bags:
        return kept.rows
    leaves = _leaves(forest, training, n_threads)
    sense = COUNT_SENSES[bags.leaf_counts if bags.mean != 0 else "all"]
    found = _core.RowsInLeaves(leaves, forest.leaf_start, sense, bags.seed, bags.mean, bags.units)
    if leaves.nbytes <= MEMBER_BUDGET:
        of_forest = weakref.ref(cache)  # the forest may be deleted before its training rows

        def forget(_: Any) -> None:
            if (still := of_forest()) is not None:
                still.discard("members")

        cache.put("members", _Members(weakref.ref(training, forget), bags, found, leaves.nbytes))
    return found


class _Members(NamedTuple):
    """Training rows in each leaf, with their codes and bags."""

    training: weakref.ref[Codes]
    bags: Bags
    rows: _core.RowsInLeaves
    nbytes: int


def _leaves(forest: Forest, codes: Codes, n_threads: int) -> NDArray[np.int32]:
    """Return the leaf reached in each tree, (n, T)."""
    return forest.leaves(np.ascontiguousarray(codes), n_threads)


def _meetings(
    forest: Forest, codes: Codes, known: _core.RowsInLeaves, meeting: int, most: int, n_threads: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]]:
    """Yield starts, columns and values of sparse rows, block by block."""
    for first in range(0, codes.shape[1], BLOCK_ROWS):
        leaves = _leaves(forest, codes[:, first : first + BLOCK_ROWS], n_threads)
        yield _core.meet(leaves, known, forest.leaf_start, meeting, first, most, n_threads)


def _joined(
    parts: Iterator[tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]], n_columns: int
) -> sparse.csr_array:
    """Join blocks of sparse rows to one table."""
    starts = [np.zeros(1, dtype=np.int64)]
    columns, values = np.empty(0, dtype=np.int32), np.empty(0)
    for start, column, value in parts:
        before = len(columns)
        starts.append(start[1:] + before)
        for whole, part in ((columns, column), (values, value)):
            whole.resize(before + len(part), refcheck=False)  # in place; joining a list would need twice the memory
            whole[before:] = part
    return _sparse(np.concatenate(starts), columns, values, n_columns)


def _sparse(
    start: NDArray[np.int64], columns: NDArray[np.int32], values: NDArray[np.float64], n_columns: int
) -> sparse.csr_array:
    """Return a sparse table; starts of another type than columns would be copied."""
    short = start.astype(np.int32) if start[-1] <= np.iinfo(np.int32).max else start
    return sparse.csr_array((values, columns, short), shape=(len(start) - 1, n_columns))


# ---- Active learning: selection of rows to label ---------------------------------------------------------------------


#: Above this many rows only the most uncertain are candidates.
MOST_ROWS = 50_000


def suggested_rows(forest: Forest, codes: Codes, uncertainty: Floats, n: int, n_threads: int = 1) -> NDArray[np.int64]:
    """Return the numbers of the `n` most useful rows, best first.

    Given codes (p, n_rows) and uncertainty (n_rows,), the usefulness of a row is uncertainty · √(uncertainty of all
    rows, weighted by proximity) · (1 − largest proximity to a chosen row). Proximity is the share of trees in which two
    rows reach the same leaf. A chosen row reduces the uncertainty of every other row in proportion to their proximity.
    Of equally useful rows, the first is chosen.
    """
    candidates = _most_uncertain(uncertainty)
    leaves = leaf_table(forest, np.ascontiguousarray(codes[:, candidates]), n_threads)
    own = np.asarray(uncertainty[candidates], dtype=np.float64)
    left, near, free = own.copy(), np.zeros(len(own)), np.ones(len(own), dtype=bool)
    chosen = []
    for _ in range(min(n, len(own))):
        around = leaves @ (leaves.T @ left) / forest.n_trees
        useful = np.where(free, own * np.sqrt(np.maximum(around, 0)) * (1 - near), -1.0)
        best = int(useful.argmax())
        proximity = leaves @ leaves[[best]].toarray()[0] / forest.n_trees
        left, near = left * (1 - proximity), np.maximum(near, proximity)
        free[best] = False
        chosen.append(best)
    return np.asarray(candidates[np.array(chosen, dtype=np.int64)])


def _most_uncertain(uncertainty: Floats) -> NDArray[np.int64]:
    """Return the numbers of the most uncertain rows, in their order."""
    if len(uncertainty) <= MOST_ROWS:
        return np.arange(len(uncertainty))
    return np.sort(np.argsort(-uncertainty, kind="stable")[:MOST_ROWS])
