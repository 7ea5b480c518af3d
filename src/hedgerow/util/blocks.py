"""Blocks: the results of blocks of rows -> one result of the same kind for all rows; sizes -> blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Result = TypeVar("Result")


def in_blocks(make: Callable[[int], Result], n_rows: int, block: int, n_threads: int) -> Result:
    """make(first row), which returns the result of a block -> one result of the same kind for all blocks."""
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

    if n_threads == 1:
        for start in range(0, n_rows, block):
            write(start)
    else:
        with ThreadPoolExecutor(n_threads) as pool:
            list(pool.map(write, range(0, n_rows, block)))
    return _like(first, wholes)  # type: ignore[no-any-return]


def with_rows(result: Result, rows: NDArray[np.intp], others: Result) -> Result:
    """The result for all rows, with that of some rows replaced."""
    wholes: list[dict[str, Any]] = [
        {name: None if part is None else np.array(part) for name, part in each.items()} for each in _arrays_of(result)
    ]
    for whole, arrays in zip(wholes, _arrays_of(others), strict=True):
        for name, values in arrays.items():
            if values is not None:
                whole[name][rows] = values
    return _like(result, wholes)  # type: ignore[no-any-return]


def spans(sizes: NDArray[np.int64], limit: int) -> Iterator[tuple[int, int]]:
    """Sizes (T,) -> spans of neighbouring trees whose total size is below the limit, at least one tree each."""
    first, total = 0, 0
    for tree, size in enumerate(sizes.tolist()):
        if tree > first and total + size > limit:
            yield first, tree
            first, total = tree, 0
        total += size
    yield first, len(sizes)


def _arrays_of(result: Any) -> list[Any]:
    """An array, a record of arrays, or a list of records -> arrays by name, for each record."""
    if isinstance(result, np.ndarray):
        return [{"": result}]
    return [vars(one) for one in result] if isinstance(result, list) else [vars(result)]


def _like(result: Any, wholes: list[dict[str, Any]]) -> Any:
    """The inverse of `_arrays_of`, for a result of the same kind."""
    if isinstance(result, np.ndarray):
        return wholes[0][""]
    if isinstance(result, list):
        return [type(one)(**whole) for one, whole in zip(result, wholes, strict=True)]
    return type(result)(**wholes[0])
