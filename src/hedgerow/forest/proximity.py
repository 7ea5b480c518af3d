"""Proximity: the leaves that rows reach -> sparse tables of the rows that share leaves, and how often."""

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

#: The rows in all leaves are kept for the next call if they take about this many bytes at most.
MEMBER_BUDGET = 256 << 20
#: This many rows are compared with all others at once.
BLOCK_ROWS = 1024

_SHARE_OF_TREES, _SHARE_OF_OUTSIDE, _SHARE_OF_LEAF = 0, 1, 2


class NearestRows(NamedTuple):
    """The k training rows with the largest weight in each prediction, largest first: ``rows`` and ``weights``, (n, k).

    If fewer than k rows have a weight, the remaining places hold row -1 with weight 0.
    """

    rows: NDArray[np.int64]
    weights: NDArray[np.float64]


def proximity_table(
    forest: Forest, codes: Codes, others: Codes, *, most: int = 0, n_threads: int = 1
) -> sparse.csr_array:
    """Codes (p, n), codes of other rows (p, m) -> (n, m): share of the trees in which two rows reach the same leaf.

    If `most` > 0, only this many of the largest proximities of each row are kept.
    """
    known = _core.RowsInLeaves(_leaves(forest, others, n_threads), forest.leaf_start, COUNT_SENSES["all"], 0, 0.0)
    return _joined(_meetings(forest, codes, known, _SHARE_OF_TREES, most, n_threads), others.shape[1])


def proximity_blocks(
    forest: Forest, codes: Codes, others: Codes, *, n_threads: int = 1
) -> Iterator[tuple[int, sparse.csr_array]]:
    """The rows of `proximity_table` in blocks that need not be kept: number of the first row, and a table (rows, m)."""
    known = _core.RowsInLeaves(_leaves(forest, others, n_threads), forest.leaf_start, COUNT_SENSES["all"], 0, 0.0)
    first = 0
    for start, columns, values in _meetings(forest, codes, known, _SHARE_OF_TREES, 0, n_threads):
        yield first, _sparse(start, columns, values, others.shape[1])
        first += len(start) - 1


def oob_proximity_table(
    forest: Forest, codes: Codes, bags: Bags, *, most: int = 0, n_threads: int = 1
) -> sparse.csr_array:
    """Codes (p, n) of the training rows -> (n, n): share of trees in which two rows reach the same leaf, out of bag.

    Only trees whose bags hold neither of the two rows count.
    """
    leaves = _leaves(forest, codes, n_threads)
    known = _core.RowsInLeaves(leaves, forest.leaf_start, COUNT_SENSES["oob"], bags.seed, bags.mean, bags.units)
    return _joined(_meetings(forest, codes, known, _SHARE_OF_OUTSIDE, most, n_threads), codes.shape[1])


def weight_table(
    forest: Forest, codes: Codes, training: Codes, bags: Bags, *, most: int = 0, n_threads: int = 1
) -> sparse.csr_array:
    """Codes (p, n), codes of the training rows (p, m) -> (n, m): the weight of each training row in a prediction.

    The prediction is the mean of the leaves reached. Rows of the table sum to one, unless `most` leaves some weights
    out. Which rows are in which leaves is kept for the next call with the same array of training rows.
    """
    known = _members(forest, training, bags, n_threads)
    return _joined(_meetings(forest, codes, known, _SHARE_OF_LEAF, most, n_threads), training.shape[1])


def heaviest_rows(table: sparse.csr_array, k: int) -> NearestRows:
    """(n, m) with at most k entries in each row -> these, the largest first; of equal ones, the first row first."""
    rows, weights = np.full((table.shape[0], k), -1), np.zeros((table.shape[0], k))
    length = np.diff(table.indptr)
    sample = np.repeat(np.arange(table.shape[0]), length)
    order = np.lexsort((table.indices, -table.data, sample))
    place = np.arange(len(sample)) - np.repeat(table.indptr[:-1], length)
    rows[sample, place], weights[sample, place] = table.indices[order], table.data[order]
    return NearestRows(rows, weights)


def leaf_table(forest: Forest, codes: Codes, n_threads: int = 1) -> sparse.csr_array:
    """Codes (p, n) -> (n, leaves of all trees): 1 for the leaf reached in each tree."""
    n_rows, n_leaves = codes.shape[1], int(forest.leaf_start[-1])
    columns = (forest.leaves(codes, n_threads) + forest.leaf_start[:-1]).ravel()
    start = np.arange(0, n_rows * forest.n_trees + 1, forest.n_trees)
    return sparse.csr_array((np.ones(len(columns)), columns, start), shape=(n_rows, n_leaves))


def _members(forest: Forest, training: Codes, bags: Bags, n_threads: int) -> _core.RowsInLeaves:
    """The training rows in each leaf; those of the last call are kept as long as their codes are, if they are few."""
    cache = forest.cache
    kept: _Members | None = cache.peek("members")
    if kept is not None and kept.training() is training and kept.bags == bags:
        return kept.rows
    leaves = _leaves(forest, training, n_threads)
    sense = COUNT_SENSES[bags.leaf_counts if bags.mean != 0 else "all"]
    found = _core.RowsInLeaves(leaves, forest.leaf_start, sense, bags.seed, bags.mean, bags.units)
    if leaves.nbytes <= MEMBER_BUDGET:
        of_forest = weakref.ref(cache)  # the forest may be gone before its training rows are

        def forget(_: Any) -> None:
            if (still := of_forest()) is not None:
                still.discard("members")

        cache.put("members", _Members(weakref.ref(training, forget), bags, found, leaves.nbytes))
    return found


class _Members(NamedTuple):
    """The training rows in each leaf, and the codes and bags that they come from."""

    training: weakref.ref[Codes]
    bags: Bags
    rows: _core.RowsInLeaves
    nbytes: int


def _leaves(forest: Forest, codes: Codes, n_threads: int) -> NDArray[np.int32]:
    """Codes (p, n) -> (n, T)."""
    return forest.leaves(np.ascontiguousarray(codes), n_threads)


def _meetings(
    forest: Forest, codes: Codes, known: _core.RowsInLeaves, meeting: int, most: int, n_threads: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]]:
    """Codes (p, n) -> starts, columns and values of sparse rows, block by block."""
    for first in range(0, codes.shape[1], BLOCK_ROWS):
        leaves = _leaves(forest, codes[:, first : first + BLOCK_ROWS], n_threads)
        yield _core.meet(leaves, known, forest.leaf_start, meeting, first, most, n_threads)


def _joined(
    parts: Iterator[tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]], n_columns: int
) -> sparse.csr_array:
    """Blocks of sparse rows -> one table."""
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
    """-> (rows, n_columns). Starts get the type of columns if they fit: SciPy would convert both to the wider type."""
    short = start.astype(np.int32) if start[-1] <= np.iinfo(np.int32).max else start
    return sparse.csr_array((values, columns, short), shape=(len(start) - 1, n_columns))
