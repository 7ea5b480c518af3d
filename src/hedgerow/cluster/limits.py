"""Limits: the memory workers may use -> how much of a table is put in one place at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeVar

_Item = TypeVar("_Item")

#: Where workers may use any memory.
GATHER_BYTES = SUM_BYTES = 64 << 20
#: Small parts are joined up to this size: a task costs the same, however few its rows.
PIECE_BYTES = 32 << 20
#: What a worker needs before it has read a row: the interpreter and libraries.
LIBRARIES = 256 << 20
#: A task that grows gathered rows holds them three times, and those of the next are on their way.
GATHER_SHARE = 1 / 8
#: A task adds up eight sums to a ninth.
SUM_SHARE = 1 / 16
#: A task holds a piece, what it makes of it, and its worker perhaps the next.
PIECE_SHARE = 1 / 16


class Worker(NamedTuple):
    """A process that runs tasks: the bytes it may use, 0 for any number, and its threads."""

    memory_limit: int
    n_threads: int


class Limits(NamedTuple):
    """How many bytes are put in one place at a time.

    Parameters
    ----------
    gather_bytes : int
        Nodes, and tables, of at most this size are gathered.
    sum_bytes : int
        What the sums of a batch of nodes take.
    piece_bytes : int
        Up to which small parts of the table are joined.
    """

    gather_bytes: int = GATHER_BYTES
    sum_bytes: int = SUM_BYTES
    piece_bytes: int = PIECE_BYTES


def limits_for(workers: Iterable[Worker]) -> Limits:
    """Workers -> what a thread of the smallest of them can well take."""
    threads = [_thread_bytes(each) for each in workers if each.memory_limit]
    if not threads:
        return Limits()
    smallest = min(threads)
    return Limits(
        int(GATHER_SHARE * smallest),
        min(SUM_BYTES, int(SUM_SHARE * smallest)),
        min(PIECE_BYTES, int(PIECE_SHARE * smallest)),
    )


def in_batches(items: Iterable[_Item], size_of: Callable[[_Item], int], most: int) -> Iterator[list[_Item]]:
    """Items -> lists of them whose sizes add up to at most `most`, or that hold one item."""
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
    """What a thread of a worker may use for rows; some, however little memory there is."""
    limit = worker.memory_limit
    return max(limit - LIBRARIES, limit // 8) // max(1, worker.n_threads)
