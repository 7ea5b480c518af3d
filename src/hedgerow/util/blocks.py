"""Blocks of rows and their results, and groups of dependent rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedgerow.util.runtime import map_in_threads

Result = TypeVar("Result")


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


def one_of_each(clusters: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """Draw one row of each cluster, at random, but the same at every call."""
    shuffled = np.random.default_rng(0).permutation(len(clusters))
    return np.sort(shuffled[np.unique(clusters[shuffled], return_index=True)[1]])
