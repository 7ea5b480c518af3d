"""Rows: a computed partition -> its features, targets and weights."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, TypeVar

import numpy as np

from hedgerow.fit.engine import Worker


class Rows(NamedTuple):
    """The rows of one partition: a table of features, targets (n,) and weights (n,) or None."""

    X: Any
    y: Any
    weights: Any


def rows_from(X: Any, y: Any, weights: Any, target: str | None = None, weight: str | None = None) -> Rows:
    """Features, targets and weights -> rows; targets and weights may be columns of X, given by their names."""
    if target is not None:
        y = X[target]
    if weight is not None:
        weights = X[weight]
    apart = [name for name in (target, weight) if name is not None]
    X = X.drop(columns=apart) if apart else X
    for name, given in {"y": y, "sample_weight": weights}.items():
        if given is not None and len(given) != len(X):
            raise ValueError(
                f"partitions of X and {name} must have the same rows, got {len(X)} and {len(given)}; repartition both"
                " in the same way"
            )
    y = np.asarray(y)
    check_one_column(y, f"an array of shape {y.shape}")
    y = y[:, 0] if y.ndim == 2 else y
    return Rows(X, y, None if weights is None else np.asarray(weights, dtype=np.float64))


def check_one_column(y: Any, found: str) -> None:
    """Refuse targets that are not a single column; `found` describes them."""
    if y.ndim > 1 and (y.ndim > 2 or y.shape[1] != 1):
        raise ValueError(f"y must be a 1d array of one target per row, got {found} instead; select one column")


_Item = TypeVar("_Item")

#: Limits if the memory of workers is not limited.
GATHER_BYTES = SUM_BYTES = 64 << 20
#: Nodes are gathered together up to this size, because a task has a fixed cost, however few rows it has. Arrays of four
#: times that size begin with new pages of memory each time, which costs as much as the tasks that they would save.
GROUP_BYTES = 16 << 20
#: Small parts are joined up to this size, because a task has a fixed cost, however few rows it has.
PIECE_BYTES = 32 << 20
#: Memory of the interpreter and libraries, which a worker needs before it reads any row.
LIBRARIES = 256 << 20
#: A task that grows gathered rows holds them three times, while those of the next task arrive.
GATHER_SHARE = 1 / 8
#: A task adds eight sums to a ninth.
SUM_SHARE = 1 / 16
#: A task holds a piece and its result, and its worker perhaps the next piece.
PIECE_SHARE = 1 / 16


class ClusterLimits(NamedTuple):
    """How many bytes are put in one place at a time.

    Parameters
    ----------
    gather_bytes : int
        Nodes and tables of at most this size are gathered.
    sum_bytes : int
        Largest size of the sums of one batch of nodes.
    piece_bytes : int
        Small parts of the table are joined up to this size.
    group_bytes : int
        Nodes are gathered together up to this size.
    """

    gather_bytes: int = GATHER_BYTES
    sum_bytes: int = SUM_BYTES
    piece_bytes: int = PIECE_BYTES
    group_bytes: int = GROUP_BYTES


def limits_for(workers: Iterable[Worker]) -> ClusterLimits:
    """Workers -> limits that suit a thread of the smallest of them."""
    threads = [_thread_bytes(each) for each in workers if each.memory_limit]
    if not threads:
        return ClusterLimits()
    smallest = min(threads)
    gather_bytes = int(GATHER_SHARE * smallest)
    return ClusterLimits(
        gather_bytes,
        min(SUM_BYTES, int(SUM_SHARE * smallest)),
        min(PIECE_BYTES, int(PIECE_SHARE * smallest)),
        min(GROUP_BYTES, gather_bytes),
    )


def has_room(workers: Iterable[Worker], n_bytes: int) -> bool:
    """Whether all workers together may hold so many bytes beside their libraries."""
    each = list(workers)
    return (
        any(not one.memory_limit for one in each) or sum(_thread_bytes(one) * one.n_threads for one in each) >= n_bytes
    )


def in_batches(items: Iterable[_Item], size_of: Callable[[_Item], int], most: int) -> Iterator[list[_Item]]:
    """Items -> lists of items whose total size is at most `most`; a larger item is a list by itself."""
    batch: list[_Item] = []
    size = 0
    for item in items:
        if batch and size + size_of(item) > most:
            yield batch
            batch, size = [], 0
        batch.append(item)
        size += size_of(item)
    if batch:
        yield batch


def _thread_bytes(worker: Worker) -> int:
    """The memory that a thread of a worker may use for rows; always above zero."""
    limit = worker.memory_limit
    return max(limit - LIBRARIES, limit // 8) // max(1, worker.n_threads)
