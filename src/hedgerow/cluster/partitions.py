"""Partitions of dask collections and Parquet files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hedgerow.cluster.dask_engine import DaskEngine
from hedgerow.cluster.limits import check_one_column

#: Names of the columns of targets, weights and groups while they are in the data frame.
TARGET, WEIGHT, GROUP = "__hedgerow_target__", "__hedgerow_weight__", "__hedgerow_group__"


@dataclass(frozen=True)
class Partitions:
    """Delayed partitions of a training table.

    Parameters
    ----------
    each : list of tuples
        Arguments of `rows_from` per partition: features, targets and weights, delayed or None, the names of the columns
        of targets and weights, if they are in the data frame, and in the same way groups and the name of their column.
    kinds : dict
        Types of the features by name, if they are known.
    """

    each: list[tuple[Any, Any, Any, str | None, str | None, Any, str | None]]
    kinds: dict[str, str] = field(default_factory=dict)

    def nominal_with(self, names: Sequence[str]) -> list[str]:
        """Return the features of categorical type, and those that are named."""
        unknown = [name for name in names if name not in self.kinds]
        if unknown:
            raise ValueError(f"nominal must name columns, got {unknown[0]!r}. The columns are {list(self.kinds)[:20]}.")
        numeric = ("int", "uint", "float", "bool", "Int", "UInt", "Float", "double", "decimal")
        return [name for name, kind in self.kinds.items() if name in names or not kind.startswith(numeric)]

    def __len__(self) -> int:
        return len(self.each)

    @property
    def grouped(self) -> bool:
        """Whether rows have groups."""
        return any(groups is not None or column is not None for *_, groups, column in self.each)


def is_dask(X: Any) -> bool:
    """Return whether X is a dask collection."""
    from dask.base import is_dask_collection

    return bool(is_dask_collection(X))


def has_index(X: Any) -> bool:
    """Return whether a dask collection is a data frame or a series."""
    return hasattr(X, "map_partitions")


def partitions_from(X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Partitions:
    """Return the partitions of dask collections; `groups` may be the name of a column of X.

    Raise ValueError if they do not match.
    """
    if isinstance(groups, str):
        X, groups = _without_column(X, groups)
    for name, given in (("y", y), ("sample_weight", sample_weight), ("groups", groups)):
        if given is not None and not is_dask(given):
            raise TypeError(
                f"{name} must be a dask array or series, as X is a dask collection, got {type(given).__name__}. Convert"
                " it, with the partitions of X."
            )
    if y is None:
        raise ValueError("A classifier or regressor requires y to be passed, but the target y is None")
    check_one_column(y, f"the columns {list(y.columns)[:10]}" if _is_frame(y) else f"an array of shape {y.shape}")
    if not _is_frame(X):
        return _from_arrays(X, y, sample_weight, groups)
    if _is_frame(y):
        y = y[y.columns[0]]
    given = {name: each for name, each in {TARGET: y, WEIGHT: sample_weight, GROUP: groups}.items() if each is not None}
    travelling = {name: each for name, each in given.items() if _is_series(each) and _can_travel(X, each)}
    if len(travelling) == len(given):
        # In one frame, optimisations of Dask cannot give features and targets different partitions.
        parts = X.assign(**travelling).to_delayed()
        weight, group = (name if name in given else None for name in (WEIGHT, GROUP))
        return Partitions([(part, None, None, TARGET, weight, None, group) for part in parts])
    parts = X.to_delayed(optimize_graph=False)
    weights = None if sample_weight is None else _blocks("sample_weight", sample_weight, len(parts))
    labels = None if groups is None else _blocks("groups", groups, len(parts))
    return _side_by_side(parts, _blocks("y", y, len(parts)), weights, labels)


def _without_column(X: Any, name: str) -> tuple[Any, Any]:
    """Return a dask data frame without a column, and the column."""
    if not _is_frame(X):
        raise ValueError(f"groups must be a dask array unless X is a data frame, got {name!r}.")
    if name not in X.columns:
        raise ValueError(f"groups must be a column of X, got {name!r}.")
    return X.drop(columns=[name]), X[name]


def open_parquet(
    path: Any,
    target: str,
    weight: str | None = None,
    *,
    groups: str | None = None,
    drop: Sequence[str] = (),
    **options: Any,
) -> Partitions:
    """Return the partitions of Parquet files, without the columns in `drop`.

    Parameters
    ----------
    path : str or list of str
        Files, a folder or a pattern, on any file system that fsspec supports.
    target : str
        Column of the target.
    weight : str, default=None
        Column of sample weights.
    groups : str, default=None
        Column with group labels of rows that belong together.
    drop : sequence of str, default=()
        Columns to leave out.
    **options
        Options of ``dask.dataframe.read_parquet``.

    Returns
    -------
    Partitions
    """
    frame = _parquet(path, **options)
    for name, column in [
        ("target", target),
        ("weight", weight),
        ("groups", groups),
        *(("drop", each) for each in drop),
    ]:
        if column is not None and column not in frame.columns:
            raise ValueError(
                f"{name} must be a column of {path}, got {column!r}. The columns are {list(frame.columns)[:20]}."
            )
    frame = frame.drop(columns=list(drop)) if drop else frame
    kinds = {name: str(kind) for name, kind in frame.dtypes.items() if name not in (target, weight, groups)}
    return Partitions([(part, None, None, target, weight, None, groups) for part in frame.to_delayed()], kinds)


def for_each_partition(client: Any, path: Any, function: Callable[..., Any], *args: Any) -> list[Any]:
    """Apply a function to each partition of Parquet files on the workers.

    The result is the list of ``function(partition, number, *args)``.
    """
    parts = [(part,) for part in _parquet(path).to_delayed()]
    with DaskEngine(client) as engine:
        shared = [[engine.put("shared", each)] * len(parts) for each in args]
        tasks = engine.compute("partition", function, parts, range(len(parts)), *shared)
        return engine.gather(tasks, "partition {}")


def _parquet(path: Any, **options: Any) -> Any:
    """Open Parquet files as a dask data frame; only their schema is read."""
    import dask.dataframe as dd

    try:
        return dd.read_parquet(path, **options)
    except FileNotFoundError as error:
        raise FileNotFoundError(f"{_named(path)}: no such file ({_reason(error)}).") from None
    except ValueError as error:  # errors of pyarrow are ValueErrors too
        raise ValueError(f"{_named(path)}: not a Parquet file ({_reason(error)}).") from error


def _named(path: Any) -> str:
    """Return one or more paths as text."""
    if isinstance(path, list | tuple):
        return str(path[0]) if len(path) == 1 else f"{path[0]} and {len(path) - 1} more"
    return str(path)


def _reason(error: Exception) -> str:
    """Return the message of the file reader, without the prefix of Dask."""
    return str(error).split("Original Message: ")[-1]


def _from_arrays(X: Any, y: Any, sample_weight: Any, groups: Any) -> Partitions:
    """Return the partitions of dask arrays, each of whole rows."""
    if X.ndim != 2:
        raise ValueError(f"X must be two-dimensional, got {X.ndim} dimensions.")
    X = X.rechunk({1: -1}) if X.numblocks[1] > 1 else X
    known = not np.isnan(X.chunks[0]).any()
    n_blocks = X.numblocks[0]

    def blocks(name: str, given: Any) -> list[Any]:
        given = given.to_dask_array() if _is_frame(given) or _is_series(given) else given
        alike = not np.isnan(given.chunks[0]).any() and known
        if alike and sum(given.chunks[0]) != sum(X.chunks[0]):
            raise ValueError(
                f"X and {name} must have the same number of rows, got {sum(X.chunks[0])} and {sum(given.chunks[0])}."
            )
        if alike and given.chunks[0] != X.chunks[0]:
            given = given.rechunk({0: X.chunks[0]})
        return _blocks(name, given, n_blocks)

    weights = None if sample_weight is None else blocks("sample_weight", sample_weight)
    labels = None if groups is None else blocks("groups", groups)
    return _side_by_side(X.to_delayed().ravel(), blocks("y", y), weights, labels)


def _side_by_side(X: Any, y: list[Any], weights: list[Any] | None, groups: list[Any] | None) -> Partitions:
    """Return partitions, given delayed features, targets, weights and groups of each."""
    weights, groups = ([None] * len(y) if each is None else each for each in (weights, groups))
    each = zip(X, y, weights, groups, strict=True)
    return Partitions([(rows, target, weight, None, None, group, None) for rows, target, weight, group in each])


def _can_travel(X: Any, series: Any) -> bool:
    """Return whether a series can become a column of a frame without a shuffle.

    A shuffle would reorder rows. It can if both come from one frame, or if both have divisions, by which Dask aligns
    them. Otherwise their partitions are paired.
    """
    from dask.dataframe.dask_expr._expr import are_co_aligned

    if are_co_aligned(X.expr, series.expr):  # type: ignore[no-untyped-call]
        return True
    return bool(X.known_divisions and series.known_divisions and X.divisions != series.divisions)


def _blocks(name: str, given: Any, n_blocks: int) -> list[Any]:
    """Return one Delayed per partition; there must be as many as for X."""
    found = list(np.asarray(given.to_delayed(optimize_graph=False), dtype=object).ravel())
    if len(found) != n_blocks:
        raise ValueError(
            f"{name} must have as many partitions as X, got {len(found)} and {n_blocks}. Repartition one of them."
        )
    return found


def _is_frame(X: Any) -> bool:
    return has_index(X) and X.ndim == 2


def _is_series(X: Any) -> bool:
    return has_index(X) and X.ndim == 1
