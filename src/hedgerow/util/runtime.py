"""Threads, blocks of rows, properties computed on first use, and the stack level of warnings."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from numbers import Integral
from threading import Lock, Thread
from typing import Any, Generic, Self, TypeVar, overload

import numpy as np
from joblib import cpu_count
from joblib.parallel import get_active_backend
from numpy.typing import ArrayLike, NDArray

#: With fewer rows, one thread reads the trees: starting a second one costs more than it saves.
_ROWS_PER_THREAD = 500
_Value = TypeVar("_Value")
Item = TypeVar("Item")
Result = TypeVar("Result")
#: Packages whose frames are not those of the user.
_INSIDE = ("hedgerow", "sklearn")


def thread_count(n_jobs: int | None) -> int:
    """Return the number of threads of ``n_jobs``, as in joblib.

    None means the setting of `joblib.parallel_config`, else one. `joblib.effective_n_jobs` counts processes and returns
    1 in a daemonic process, so it is not used.
    """
    wanted = get_active_backend()[1] if n_jobs is None else n_jobs
    if wanted is None:
        return 1
    return max(1, cpu_count() + 1 + wanted) if wanted < 0 else int(wanted)


def reading_threads(n_jobs: Any, n_rows: int) -> int:
    """Return the number of threads to read rows, at most `n_jobs`."""
    check_n_jobs(n_jobs)
    if n_rows < 2 * _ROWS_PER_THREAD:
        return 1
    return max(1, min(thread_count(n_jobs), n_rows // _ROWS_PER_THREAD))


def map_in_threads(function: Callable[[Item], Result], items: Iterable[Item], n_threads: int) -> list[Result]:
    """Return ``[function(item) for item in items]``, computed by at most `n_threads` threads.

    The calling thread works too, and does everything if the system starts no other. `ThreadPoolExecutor` raises then.
    """
    tasks = list(enumerate(items))
    results: dict[int, Result] = {}
    errors: list[BaseException] = []
    remaining, lock = iter(tasks), Lock()

    def work() -> None:
        while not errors:
            with lock:
                task = next(remaining, None)
            if task is None:
                return
            try:
                results[task[0]] = function(task[1])
            except BaseException as error:
                errors.append(error)

    started: list[Thread] = []
    try:
        for _ in range(min(n_threads, len(tasks)) - 1):
            thread = Thread(target=work)
            thread.start()
            started.append(thread)
    except RuntimeError:  # the system starts no further thread
        pass
    work()
    for thread in started:
        thread.join()
    if errors:
        raise errors[0]
    return [results[number] for number, _ in tasks]


def check_n_jobs(n_jobs: object) -> None:
    """Raise for an invalid `n_jobs`; `set_params` may have changed it since `fit`."""
    if n_jobs is None or (type(n_jobs) is int and n_jobs != 0):  # the usual case; checking Integral takes 0.5 µs
        return
    if not (isinstance(n_jobs, Integral) and not isinstance(n_jobs, bool) and n_jobs != 0):
        raise ValueError(f"n_jobs must be None or a non-zero integer, got {n_jobs!r}.")


class lazy_property(Generic[_Value]):  # a decorator
    """Property computed on first use, and stored in the object.

    ``functools.cached_property`` of Python 3.11 holds a lock shared by all objects of a class while it computes: a fit
    would wait for every other model, and two locks can deadlock. This class has no lock. If threads compute the same
    value at the same time, the last one is kept.
    """

    def __init__(self, make: Callable[[Any], _Value]) -> None:
        self._make, self._name, self.__doc__ = make, make.__name__, make.__doc__

    @overload
    def __get__(self, instance: None, owner: Any = None) -> Self: ...
    @overload
    def __get__(self, instance: Any, owner: Any = None) -> _Value: ...
    def __get__(self, instance: Any, owner: Any = None) -> Self | _Value:
        if instance is None:
            return self
        value = self._make(instance)
        vars(instance)[self._name] = value  # also in frozen objects; shadows this descriptor from now on
        return value


def computed(make: Callable[[Any], _Value]) -> _Value:
    """Property in place of a class attribute of a base class.

    Type checkers know it as an attribute of the type that it returns, because they reject a `property` there.
    """
    made: Any = property(make)
    found: _Value = made
    return found


def user_level() -> int:
    """The `stacklevel` with which the calling function warns about the user's line that has called the package."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _INSIDE:
        level, frame = level + 1, frame.f_back
    return level


# ---- Blocks of rows and their results, and groups of dependent rows --------------------------------------------------


def in_blocks(make: Callable[[int], Result], n_rows: int, block: int, n_threads: int) -> Result:
    """Compute blocks by make(first row), and join their results."""
    first = make(0)
    if n_rows <= block:
        return first
    wholes: list[dict[str, Any]] = [
        {
            name: None if part is None else np.empty((n_rows, *part.shape[1:]), part.dtype)
            for name, part in arrays.items()
        }
        for arrays in _arrays_of(first)
    ]

    def write(start: int) -> None:
        for whole, arrays in zip(wholes, _arrays_of(first if start == 0 else make(start)), strict=True):
            for name, values in arrays.items():
                if values is not None:
                    whole[name][start : start + block] = values

    map_in_threads(write, range(0, n_rows, block), n_threads)
    joined: Result = _like(first, wholes)
    return joined


def with_rows(result: Result, rows: NDArray[np.intp], others: Result) -> Result:
    """Return a result with that of some rows replaced."""
    wholes: list[dict[str, Any]] = [
        {name: None if part is None else np.array(part) for name, part in each.items()} for each in _arrays_of(result)
    ]
    for whole, arrays in zip(wholes, _arrays_of(others), strict=True):
        for name, values in arrays.items():
            if values is not None:
                whole[name][rows] = values
    replaced: Result = _like(result, wholes)
    return replaced


def spans(sizes: NDArray[np.int64], limit: int) -> Iterator[tuple[int, int]]:
    """Yield spans of neighbouring trees of limited size, at least one tree each."""
    first, total = 0, 0
    for tree, size in enumerate(sizes.tolist()):
        if tree > first and total + size > limit:
            yield first, tree
            first, total = tree, 0
        total += size
    yield first, len(sizes)


def _arrays_of(result: Any) -> list[Any]:
    """Return arrays by name of an array, or of each record in a list."""
    if isinstance(result, np.ndarray):
        return [{"": result}]
    return [vars(one) for one in result] if isinstance(result, list) else [vars(result)]


def _like(result: Any, wholes: list[dict[str, Any]]) -> Any:
    """Invert `_arrays_of`, for a result of the same type."""
    if isinstance(result, np.ndarray):
        return wholes[0][""]
    if isinstance(result, list):
        return [type(one)(**whole) for one, whole in zip(result, wholes, strict=True)]
    return type(result)(**wholes[0])


def cluster_numbers(clusters: ArrayLike | None, n_rows: int) -> NDArray[np.int64] | None:
    """Return group numbers (n,) of labels; None if there are none."""
    if clusters is None:
        return None
    numbers = np.unique(np.asarray(clusters), return_inverse=True)[1].reshape(-1)
    if len(numbers) != n_rows:
        raise ValueError(f"clusters must have one label for each of the {n_rows} rows, got {len(numbers)}.")
    return np.asarray(numbers, dtype=np.int64)


def halves(n_rows: int, clusters: NDArray[np.integer[Any]] | None = None) -> list[NDArray[np.int64]]:
    """Divide n rows, or whole clusters (n,) of them, into two halves at random, but the same at every call."""
    units = np.arange(n_rows) if clusters is None else clusters
    distinct = np.unique(units)
    first = np.isin(units, np.random.default_rng(0).permutation(distinct)[: len(distinct) // 2])
    return [np.flatnonzero(first), np.flatnonzero(~first)]


def one_of_each(clusters: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """Draw one row of each cluster, at random, but the same at every call."""
    shuffled = np.random.default_rng(0).permutation(len(clusters))
    return np.sort(shuffled[np.unique(clusters[shuffled], return_index=True)[1]])
