"""Rows of partitions, limits of memory, and its return to the system."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from threading import Lock, Thread
from time import monotonic, sleep
from typing import Any, NamedTuple, TypeVar

import numpy as np

from hedgerow import _core
from hedgerow.fit.distributed import Worker


class Rows(NamedTuple):
    """Features, targets (n,), weights (n,) and group labels (n,) or None of one partition."""

    X: Any
    y: Any
    weights: Any
    groups: Any = None


#: Number of arguments of `rows_from`, and so of a partition.
ROW_ARGUMENTS = 7


def rows_from(
    X: Any,
    y: Any,
    weights: Any,
    target: str | None = None,
    weight: str | None = None,
    groups: Any = None,
    group: str | None = None,
) -> Rows:
    """Return the rows of a partition.

    `target`, `weight` and `group` name columns of X with targets, weights and group labels.
    """
    if target is not None:
        y = X[target]
    if weight is not None:
        weights = X[weight]
    if group is not None:
        groups = X[group]
    apart = [name for name in (target, weight, group) if name is not None]
    X = X.drop(columns=apart) if apart else X
    for name, given in {"y": y, "sample_weight": weights, "groups": groups}.items():
        if given is not None and len(given) != len(X):
            raise ValueError(
                f"partitions of X and {name} must have the same rows, got {len(X)} and {len(given)}. Repartition both"
                " in the same way."
            )
    y = np.asarray(y)
    check_one_column(y, f"an array of shape {y.shape}")
    y = y[:, 0] if y.ndim == 2 else y
    return Rows(X, y, None if weights is None else np.asarray(weights, dtype=np.float64), groups)


def check_one_column(y: Any, found: str) -> None:
    """Raise ValueError unless targets, described by `found`, are a single column."""
    if y.ndim > 1 and (y.ndim > 2 or y.shape[1] != 1):
        raise ValueError(f"y must be a 1d array of one target per row, got {found} instead. Select one column.")


_Item = TypeVar("_Item")

#: Limits if the memory of workers is not limited.
GATHER_BYTES = SUM_BYTES = 64 << 20
#: Nodes are gathered together up to this size, because a task has a fixed cost. Arrays of four times that size start
#: with new pages of memory each time, which costs as much as the tasks that they would save.
GROUP_BYTES = 16 << 20
#: Small parts are joined up to this size, because a task has a fixed cost.
PIECE_BYTES = 32 << 20
#: Memory of the interpreter and libraries of a worker.
LIBRARIES = 256 << 20
#: A task that grows gathered rows needs three times their memory, while the rows of the next task arrive.
GATHER_SHARE = 1 / 8
#: A task adds eight sums to a ninth.
SUM_SHARE = 1 / 16
#: A task has a piece and its result in memory, and its worker perhaps the next piece.
PIECE_SHARE = 1 / 16


class ClusterLimits(NamedTuple):
    """Limits of memory, in bytes.

    Parameters
    ----------
    gather_bytes : int
        Maximum size of nodes and tables that are gathered.
    sum_bytes : int
        Maximum size of the sums of one batch of nodes.
    piece_bytes : int
        Size up to which small parts of the table are joined.
    group_bytes : int
        Size up to which nodes are gathered together.
    """

    gather_bytes: int = GATHER_BYTES
    sum_bytes: int = SUM_BYTES
    piece_bytes: int = PIECE_BYTES
    group_bytes: int = GROUP_BYTES


def limits_for(workers: Iterable[Worker]) -> ClusterLimits:
    """Return limits that suit a thread of the smallest worker."""
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
    """Return whether all workers together have this many bytes for data."""
    each = list(workers)
    return (
        any(not one.memory_limit for one in each) or sum(_thread_bytes(one) * one.n_threads for one in each) >= n_bytes
    )


def in_batches(items: Iterable[_Item], size_of: Callable[[_Item], int], most: int) -> Iterator[list[_Item]]:
    """Divide items into lists of total size at most `most`.

    A larger item is a list by itself.
    """
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
    """Return the memory of a thread of a worker for rows, always above zero."""
    limit = worker.memory_limit
    return max(limit - LIBRARIES, limit // 8) // max(1, worker.n_threads)


#: Seconds between two returns, and between the last task and the end of the thread.
PAUSE, LINGER = 0.5, 60.0


class _Returning:
    """A thread that returns freed memory to the system until no task has arrived for a while.

    Dask counts memory that the C library keeps for reuse as used. A worker that has spilled all its data would stay
    paused for ever, because no task would run on it and free more. So the thread runs as long as tasks arrive.
    """

    def __init__(self) -> None:
        self._lock, self._until = Lock(), 0.0
        self._thread: Thread | None = None

    def go_on(self) -> None:
        """Continue for `LINGER` seconds, in a new thread if the last one has ended."""
        with self._lock:
            self._until = monotonic() + LINGER
            if self._thread is None:
                self._thread = Thread(target=self._run, daemon=True, name="hedgerow-memory")
                self._thread.start()

    def _run(self) -> None:
        while True:
            sleep(PAUSE)
            _core.give_back_memory()
            with self._lock:
                if monotonic() > self._until:
                    self._thread = None
                    return


_returning = _Returning()


def use_memory(keeps: bool) -> None:
    """Keep freed memory for the next task if `keeps`, or return it to the system."""
    if keeps:
        _core.keep_memory()
    else:
        _returning.go_on()
