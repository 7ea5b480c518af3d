"""Describe: the rows of each partition -> the schema and the cuts of the whole table, and the codes of each part."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow import _core
from hedgerow.cluster.rows import Rows
from hedgerow.cluster.target import DistributedTarget, Targets, Weighed
from hedgerow.table import Schema, Table, read_table, read_training_table, values_of_one_kind
from hedgerow.table.bins import Bins, Codes, bins_from_columns, encode
from hedgerow.table.schema import Kind
from hedgerow.target.classes import read_weights_of_part

Array = NDArray[Any]


class Described(NamedTuple):
    """The summary of one partition.

    Attributes
    ----------
    n_rows : int
        The number of its rows.
    schema : Schema or None
        The schema that it would have as a table of its own; None if it has no rows.
    told : Any
        The summary of its targets by `DistributedTarget.read`; None if it has no rows.
    weighs : bool
        Whether some row has a weight above zero.
    """

    n_rows: int
    schema: Schema | None
    told: Any
    weighs: bool


def see(target: DistributedTarget, categorical_features: Any, rows: Rows) -> tuple[Described, Targets]:
    """The rows of a partition -> their summary, and their targets."""
    n_rows = len(rows.X)
    if n_rows == 0:
        nothing = np.empty(0)
        return Described(0, None, None, False), Targets(nothing, None, None if rows.weights is None else nothing)
    schema = read_training_table(rows.X, categorical_features=categorical_features).schema
    # All weights of a partition may be zero, though not all weights of the table.
    weights = read_weights_of_part(rows.weights, n_rows)
    weighs = weights is None or bool((weights > 0).any())
    values, told = target.read(rows.y, n_rows)
    return Described(n_rows, schema, told, weighs), Targets(values, told, weights)


def schema_of_all(parts: list[Described]) -> Schema:
    """Summaries of partitions -> the schema of the table."""
    schemas = {number: each.schema for number, each in enumerate(parts) if each.schema is not None}
    if not schemas:
        raise ValueError(f"Found array with 0 sample(s) in {len(parts)} partitions while a minimum of 1 is required")
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


def sample_columns(
    schema: Schema, n_rows: int, sample_rows: int, rows: Rows, weighed: Weighed, first_row: int
) -> list[Array]:
    """The rows of a partition, and which have a weight above zero -> the columns of the rows that decide the cuts."""
    table = _table(rows.X, schema)
    if table is None:
        return [np.empty(0, dtype=np.int32 if nominal else np.float64) for nominal in schema.nominal]
    weighing = np.arange(table.n_rows) if weighed.rows is None else weighed.rows
    chosen = weighing[_core.sampled_rows(n_rows, sample_rows, first_row, len(weighing))]
    return [np.array(column[chosen]) for _, columns in table.column_blocks() for column in columns]


def find_cuts(schema: Schema, max_bins: int, gaps: bool, *samples: list[Array]) -> Bins:
    """Columns of the rows that decide the cuts, from all partitions -> the bins of the table."""
    columns = [np.concatenate(parts) for parts in zip(*samples, strict=True)]
    return bins_from_columns(schema, [columns], None, max(1, len(columns[0])), max_bins, 1, gaps)


def encode_rows(schema: Schema, bins: Bins, rows: Rows, weighed: Weighed) -> Codes:
    """The rows of a partition, and which have a weight above zero -> codes (p, n) of these."""
    table = _table(rows.X, schema)
    if table is None:
        return np.empty((schema.n_features, 0), dtype=bins.code_type)
    codes = encode(table, bins)
    return codes if weighed.rows is None else np.ascontiguousarray(codes[:, weighed.rows])


def _table(X: Any, schema: Schema) -> Table | None:
    """Computed features of a partition -> a table with the schema of the whole table; None without rows."""
    return read_table(X, schema) if len(X) else None


def _column_of_all(schemas: dict[int, Schema], feature: int) -> tuple[Array | None, Kind]:
    """One column in all partitions -> its categories (None if it is numeric), and its kind."""
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
