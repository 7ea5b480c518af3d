"""Threads: the parameter n_jobs -> how many threads read or grow trees."""

from __future__ import annotations

from numbers import Integral
from typing import Any

from joblib import cpu_count
from joblib.parallel import get_active_backend

#: Below this many rows one thread reads the trees, because starting a second one costs more than it saves.
_ROWS_PER_THREAD = 500


def thread_count(n_jobs: int | None) -> int:
    """``n_jobs`` with the meaning it has in joblib -> threads; None means what `joblib.parallel_config` sets, else one.

    `joblib.effective_n_jobs` is not used, because it counts processes and so returns 1 in a daemonic process.
    """
    wanted = get_active_backend()[1] if n_jobs is None else n_jobs
    if wanted is None:
        return 1
    return max(1, cpu_count() + 1 + wanted) if wanted < 0 else int(wanted)


def reading_threads(n_jobs: Any, n_rows: int) -> int:
    """The number of threads for so many rows, at most what `n_jobs` allows."""
    check_n_jobs(n_jobs)
    if n_rows < 2 * _ROWS_PER_THREAD:
        return 1
    return max(1, min(thread_count(n_jobs), n_rows // _ROWS_PER_THREAD))


def check_n_jobs(n_jobs: Any) -> None:
    """Refuse an invalid `n_jobs`; `set_params` may have changed it since `fit`."""
    if n_jobs is None or (
        type(n_jobs) is int and n_jobs != 0
    ):  # most are; asking for Integral takes half a microsecond
        return
    if not (isinstance(n_jobs, Integral) and not isinstance(n_jobs, bool) and n_jobs != 0):
        raise ValueError(f"n_jobs must be None or an int other than 0, got {n_jobs!r}")
