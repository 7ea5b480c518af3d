"""Partitions: a dask array, data frame or Parquet files -> partitions that workers can read, in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hedgerow.cluster.dask_engine import DaskEngine
from hedgerow.cluster.limits import check_one_column

#: Names of the columns of targets and weights while they are part of the data frame.
TARGET, WEIGHT = "__hedgerow_target__", "__hedgerow_weight__"


@dataclass(frozen=True)
class Partitions:
    """Delayed partitions of a training table.

    Parameters
    ----------
    each : list of tuples
        For each partition the arguments of `rows_from`: features, targets and weights, delayed or None; and the names
        of the columns of targets and weights, if they are part of the data frame.
    kinds : dict
        Types of the features by name, if they are known.
    """

    each: list[tuple[Any, Any, Any, str | None, str | None]]
    kinds: dict[str, str] = field(default_factory=dict)

    def nominal_with(self, names: Sequence[str]) -> list[str]:
        """The features whose type is nominal, and those that are named."""
        unknown = [name for name in names if name not in self.kinds]
        if unknown:
            raise ValueError(f"nominal must name columns, got {unknown[0]!r}; there are {list(self.kinds)[:20]}")
        numeric = ("int", "uint", "float", "bool", "Int", "UInt", "Float", "double", "decimal")
        return [name for name, kind in self.kinds.items() if name in names or not kind.startswith(numeric)]

    def __len__(self) -> int:
        return len(self.each)


def is_dask(X: Any) -> bool:
    """Whether X is a dask collection."""
    from dask.base import is_dask_collection

    return bool(is_dask_collection(X))


def has_index(X: Any) -> bool:
    """Whether a dask collection is a data frame or a series; an array has no index."""
    return hasattr(X, "map_partitions")


def partitions_from(X: Any, y: Any, sample_weight: Any = None) -> Partitions:
    """Dask collections of features, targets and weights -> their partitions; refused if these do not match."""
    for name, given in (("y", y), ("sample_weight", sample_weight)):
        if given is not None and not is_dask(given):
            raise TypeError(
                f"{name} must be a dask array or series, as X is a dask collection, got {type(given).__name__};"
                " convert it, with the partitions of X"
            )
    if y is None:
        raise ValueError("A classifier or regressor requires y to be passed, but the target y is None")
    check_one_column(y, f"the columns {list(y.columns)[:10]}" if _is_frame(y) else f"an array of shape {y.shape}")
    if not _is_frame(X):
        return _from_arrays(X, y, sample_weight)
    if _is_frame(y):
        y = y[y.columns[0]]
    given = {TARGET: y} if sample_weight is None else {TARGET: y, WEIGHT: sample_weight}
    travelling = {name: each for name, each in given.items() if _is_series(each) and _can_travel(X, each)}
    if len(travelling) == len(given):
        # One frame, so that no optimisation of Dask can give features and targets different partitions.
        parts = X.assign(**travelling).to_delayed()
        return Partitions([(part, None, None, TARGET, WEIGHT if WEIGHT in given else None) for part in parts])
    parts = X.to_delayed(optimize_graph=False)
    weights = None if sample_weight is None else _blocks("sample_weight", sample_weight, len(parts))
    return _side_by_side(parts, _blocks("y", y, len(parts)), weights)


def open_parquet(
    path: Any, target: str, weight: str | None = None, *, drop: Sequence[str] = (), **options: Any
) -> Partitions:
    """Parquet files -> their partitions, without the columns in `drop`; `options` go to dask's ``read_parquet``."""
    frame = _parquet(path, **options)
    for name, column in [("target", target), ("weight", weight), *(("drop", each) for each in drop)]:
        if column is not None and column not in frame.columns:
            raise ValueError(f"{name} must be a column of {path}, got {column!r}; there are {list(frame.columns)[:20]}")
    frame = frame.drop(columns=list(drop)) if drop else frame
    kinds = {name: str(kind) for name, kind in frame.dtypes.items() if name not in (target, weight)}
    return Partitions([(part, None, None, target, weight) for part in frame.to_delayed()], kinds)


def for_each_partition(client: Any, path: Any, function: Callable[..., Any], *args: Any) -> list[Any]:
    """Parquet files -> ``function(partition, number, *args)`` of each partition, computed on the workers."""
    parts = [(part,) for part in _parquet(path).to_delayed()]
    with DaskEngine(client) as engine:
        shared = [[engine.put("shared", each)] * len(parts) for each in args]
        tasks = engine.compute("partition", function, parts, range(len(parts)), *shared)
        return engine.gather(tasks, "partition {}")


def _parquet(path: Any, **options: Any) -> Any:
    """Parquet files -> a dask data frame; their schema is read here."""
    import dask.dataframe as dd

    try:
        return dd.read_parquet(path, **options)
    except FileNotFoundError as error:
        raise FileNotFoundError(f"{_named(path)} must be there, got no such file: {_reason(error)}") from None
    except ValueError as error:  # errors of pyarrow are ValueErrors too
        raise ValueError(f"{_named(path)} must be Parquet files, got {_reason(error)}") from error


def _named(path: Any) -> str:
    """One or more paths -> text for a sentence."""
    if isinstance(path, list | tuple):
        return str(path[0]) if len(path) == 1 else f"{path[0]} and {len(path) - 1} more"
    return str(path)


def _reason(error: Exception) -> str:
    """The message of the reader of files, without the text that Dask puts in front."""
    return str(error).split("Original Message: ")[-1]


def _from_arrays(X: Any, y: Any, sample_weight: Any) -> Partitions:
    """Dask arrays -> partitions of whole rows."""
    if X.ndim != 2:
        raise ValueError(f"X must be two-dimensional, got {X.ndim} dimensions; reshape it")
    X = X.rechunk({1: -1}) if X.numblocks[1] > 1 else X
    known = not np.isnan(X.chunks[0]).any()
    n_blocks = X.numblocks[0]

    def blocks(name: str, given: Any) -> list[Any]:
        given = given.to_dask_array() if _is_frame(given) or _is_series(given) else given
        alike = not np.isnan(given.chunks[0]).any() and known
        if alike and sum(given.chunks[0]) != sum(X.chunks[0]):
            raise ValueError(
                f"X and {name} must have the same number of rows, got {sum(X.chunks[0])} and {sum(given.chunks[0])}"
            )
        if alike and given.chunks[0] != X.chunks[0]:
            given = given.rechunk({0: X.chunks[0]})
        return _blocks(name, given, n_blocks)

    weights = None if sample_weight is None else blocks("sample_weight", sample_weight)
    return _side_by_side(X.to_delayed().ravel(), blocks("y", y), weights)


def _side_by_side(X: Any, y: list[Any], weights: list[Any] | None) -> Partitions:
    """Delayed features, targets and weights of each partition -> partitions."""
    weights = [None] * len(y) if weights is None else weights
    return Partitions([(*each, None, None) for each in zip(X, y, weights, strict=True)])


def _can_travel(X: Any, series: Any) -> bool:
    """Whether a series can become a column of a data frame without a shuffle, which would change the order of rows.

    It can if both come from one frame, or if both have divisions, by which Dask aligns them. Otherwise partitions of
    the two are taken in pairs.
    """
    from dask.dataframe.dask_expr._expr import are_co_aligned

    if are_co_aligned(X.expr, series.expr):  # type: ignore[no-untyped-call]
        return True
    return bool(X.known_divisions and series.known_divisions and X.divisions != series.divisions)


def _blocks(name: str, given: Any, n_blocks: int) -> list[Any]:
    """A dask array or series -> one Delayed for each partition of X; partitions are neither cut nor joined."""
    found = list(np.asarray(given.to_delayed(optimize_graph=False), dtype=object).ravel())
    if len(found) != n_blocks:
        raise ValueError(
            f"{name} must have the partitions of X, got {len(found)} and {n_blocks}; repartition one of them"
        )
    return found


def _is_frame(X: Any) -> bool:
    return has_index(X) and X.ndim == 2


def _is_series(X: Any) -> bool:
    return has_index(X) and X.ndim == 1
