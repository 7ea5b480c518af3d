"""Limits: the memory workers may use -> how much of a table is put in one place at a time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

#: Where workers may use any memory.
GATHER_BYTES = SUM_BYTES = 64 << 20
#: Small parts are joined up to this size: a task costs Dask the same, whatever its rows.
PIECE_BYTES = 32 << 20
#: What a worker needs before it has read a row: the interpreter and libraries.
LIBRARIES = 256 << 20
#: A task that grows gathered rows holds them three times, and those of the next are on their way.
GATHER_SHARE = 1 / 8
#: A task adds up eight sums to a ninth.
SUM_SHARE = 1 / 16
#: A task holds a piece, what it makes of it, and Dask perhaps the next.
PIECE_SHARE = 1 / 16


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


def limits_for(workers: Iterable[dict[str, Any]]) -> Limits:
    """What the scheduler knows of its workers -> what a thread of the smallest of them can well take."""
    threads = [_thread_bytes(each["memory_limit"], each["nthreads"]) for each in workers if each["memory_limit"]]
    if not threads:
        return Limits()
    smallest = min(threads)
    return Limits(
        int(GATHER_SHARE * smallest),
        min(SUM_BYTES, int(SUM_SHARE * smallest)),
        min(PIECE_BYTES, int(PIECE_SHARE * smallest)),
    )


def _thread_bytes(memory_limit: int, n_threads: int) -> int:
    """What a thread of a worker may use for rows; some, however little memory there is."""
    return max(memory_limit - LIBRARIES, memory_limit // 8) // max(1, n_threads)
