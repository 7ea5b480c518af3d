"""Describe: what each partition holds -> the schema, the classes and the cuts of the whole table."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow import _core
from hedgerow.cluster.partitions import read_partition
from hedgerow.table import Schema, Table, read_table, read_training_table, values_of_one_kind
from hedgerow.table.bins import EXACT_ROWS, MAX_BINS, SAMPLE_ROWS, Bins, bins_from_columns, encode
from hedgerow.table.schema import Kind
from hedgerow.target.classes import read_classes, read_weights_of_part
from hedgerow.target.numbers import read_targets

Floats = NDArray[np.float64]
Array = NDArray[Any]


class Seen(NamedTuple):
    """What one partition tells of itself.

    Attributes
    ----------
    n_rows : int
        Its rows.
    schema : Schema or None
        As if it were the whole table; None where it has no row.
    classes : (k,) array
        The labels that occur; empty in a regression.
    weighs : bool
        Whether some row has a weight above zero.
    low, high : float
        In a regression, the lowest and the highest number.
    """

    n_rows: int
    schema: Schema | None
    classes: Array
    weighs: bool
    low: float = np.inf
    high: float = -np.inf


@dataclass(frozen=True)
class Targets:
    """Targets of one partition, on a worker.

    Parameters
    ----------
    values : (n,) array
        Numbers; of labels, which of `classes` each row has.
    classes : (k,) array
        The partition's own.
    weights : (n,) float64 or None
        As given.
    """

    values: Array
    classes: Array
    weights: Floats | None


def see(
    X: Any, y: Any, weights: Any, target: Any, weight: Any, *, categorical_features: Any, criterion: str | None
) -> tuple[Seen, Targets]:
    """One partition -> what it tells, and its targets; a regression has a criterion."""
    rows = read_partition(X, y, weights, target, weight)
    n_rows = len(rows.X)
    if n_rows == 0:
        nothing = np.empty(0)
        return Seen(0, None, nothing, False), Targets(nothing, nothing, None if rows.weights is None else nothing)
    schema = read_training_table(rows.X, categorical_features=categorical_features).schema
    # All weights of a partition may be zero, though not all weights of the table.
    weights = read_weights_of_part(rows.weights, n_rows)
    weighs = weights is None or bool((weights > 0).any())
    values: Array
    if criterion is not None:
        values, classes = read_targets(rows.y, n_rows, "squared_error"), np.empty(0)
        low, high = float(values.min()), float(values.max())
    else:
        low, high = 0.0, 0.0
        with warnings.catch_warnings():  # many classes in few rows are none of the user's business here
            warnings.simplefilter("ignore")
            classes, values = read_classes(rows.y, n_rows)
    return Seen(n_rows, schema, classes, weighs, low, high), Targets(values, classes, weights)


def schema_of_all(seen: list[Seen], n_rows: int) -> Schema:
    """Schemas of partitions -> that of the table."""
    schemas = {number: each.schema for number, each in enumerate(seen) if each.schema is not None}
    if not schemas:
        raise ValueError(f"Found array with 0 sample(s) in {len(seen)} partitions while a minimum of 1 is required")
    first = next(iter(schemas.values()))
    for number, schema in schemas.items():
        if schema.names != first.names or schema.n_features != first.n_features:
            raise ValueError(
                f"partition {number} must have the columns of the first, {_some(first)}, got {_some(schema)}"
            )
    merged = [_column_of_all(schemas, feature) for feature in range(first.n_features)]
    categories = tuple(known for known, _ in merged)
    nominal = tuple(known is not None for known in categories)
    return replace(first, nominal=nominal, categories=categories, kinds=tuple(kind for _, kind in merged))


def classes_of_all(seen: list[Seen]) -> Array:
    """Labels that occur in partitions -> all of them, sorted."""
    found = [each.classes for each in seen if each.n_rows]
    kinds = {classes.dtype.kind for classes in found}
    if len(kinds) > 1 and kinds - set("iufb"):
        raise ValueError(f"y must hold labels of one kind in all partitions, got {sorted(kinds)}; convert them")
    return np.unique(np.concatenate(found))


def sample_columns(
    X: Any,
    y: Any,
    weights: Any,
    target: Any,
    weight: Any,
    *,
    schema: Schema,
    rows: NDArray[np.int64] | None,
    n_rows: int,
    first_row: int,
) -> list[Array]:
    """One partition -> the columns of those of its rows that decide the cuts; `rows` are those that weigh anything."""
    table = _later_table(read_partition(X, y, weights, target, weight).X, schema)
    if table is None:
        return [np.empty(0, dtype=np.int32 if nominal else np.float64) for nominal in schema.nominal]
    kept = np.arange(table.n_rows) if rows is None else rows
    chosen = kept[_core.sampled_rows(n_rows, SAMPLE_ROWS, first_row, len(kept))]
    return [np.array(column[chosen]) for _, columns in table.column_blocks() for column in columns]


def find_cuts(schema: Schema, n_rows: int, *samples: list[Array]) -> Bins:
    """Columns of the rows that decide, from all partitions -> the bins of the table."""
    columns = [np.concatenate(parts) for parts in zip(*samples, strict=True)]
    max_bins = int(np.iinfo(np.uint16).max) if n_rows <= EXACT_ROWS else MAX_BINS
    return bins_from_columns(schema, [columns], None, max(1, len(columns[0])), max_bins, 1)


def encode_partition(
    X: Any,
    y: Any,
    weights: Any,
    target: Any,
    weight: Any,
    *,
    schema: Schema,
    bins: Bins,
    rows: NDArray[np.int64] | None,
) -> Array:
    """One partition -> codes (p, n) of those of its rows that weigh anything."""
    table = _later_table(read_partition(X, y, weights, target, weight).X, schema)
    if table is None:
        return np.empty((schema.n_features, 0), dtype=bins.code_type)
    codes = encode(table, bins)
    return codes if rows is None else np.ascontiguousarray(codes[:, rows])


def missing_in(codes: Array) -> NDArray[np.uint8]:
    """Codes (p, n) -> (p,): whether some row lacks a value."""
    return np.asarray((codes == np.iinfo(codes.dtype).max).any(axis=1), dtype=np.uint8)


def kept_rows(weights: Floats | None) -> NDArray[np.int64] | None:
    """Weights (n,) -> the rows that weigh anything; None for all."""
    return None if weights is None or (weights > 0).all() else np.flatnonzero(weights > 0)


def by_partition(
    function: Callable[..., Any], partitions: Any, each: dict[str, list[Any] | None] | None = None, **options: Any
) -> list[Any]:
    """A function of one partition -> Delayed results; `each` has a value for each partition, `options` one for all."""
    from dask.delayed import delayed

    call = delayed(function, pure=False)
    listed = each or {}

    def of(number: int) -> dict[str, Any]:
        return {name: None if values is None else values[number] for name, values in listed.items()}

    return [call(*partitions.of(i), **of(i), **options) for i in range(len(partitions))]


def _later_table(X: Any, schema: Schema) -> Table | None:
    return read_table(X, schema) if len(X) else None


def _column_of_all(schemas: dict[int, Schema], feature: int) -> tuple[Array | None, Kind]:
    """One column in all partitions -> its categories, or None, and its kind."""
    kinds = {schema.kinds[feature]: number for number, schema in schemas.items() if schema.kinds[feature] != "null"}
    if not kinds:
        return None, "null"
    found = [known for schema in schemas.values() if (known := schema.categories[feature]) is not None]
    where = f"column {feature}"
    if not found:
        if "text" in kinds and len(kinds) > 1:
            raise ValueError(f"{where} must hold values of one kind, got {sorted(kinds)} in partitions {kinds}")
        return None, "number" if len(kinds) > 1 else next(iter(kinds))
    numeric = all(known.dtype.kind != "O" for known in found)
    values = np.concatenate([known if numeric else known.astype(object) for known in found])
    categories = np.unique(values if numeric else values_of_one_kind(values, where))
    kind: Kind = "category" if "category" in kinds else next(iter(kinds))
    return categories, kind


def _some(schema: Schema) -> str:
    return f"{schema.n_features}" if schema.names is None else str(list(schema.names[:10]))
