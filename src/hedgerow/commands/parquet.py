"""Parquet: the bytes of a Parquet file -> sheet with the same types; answers -> a Parquet file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.dtypes import StringDType

from hedgerow.commands.outcome import DataError
from hedgerow.commands.sheet import Array, Sheet

MAGIC = b"PAR1"


@dataclass(eq=False)
class ParquetSheet(Sheet):
    """A Parquet file in memory; an empty text is missing, as null is."""

    table: Any
    missing: frozenset[str]
    typed = True

    @property
    def names(self) -> tuple[str, ...]:  # type: ignore[override]
        """The columns."""
        return tuple(self.table.column_names)

    @property
    def n_rows(self) -> int:  # type: ignore[override]
        """Number of rows."""
        return int(self.table.num_rows)

    def cells(self, name: str) -> Array:
        """(n_rows,) text, numbers or booleans; objects for other types."""
        return _cells(self.table.column(name))

    def where(self, row: int) -> str:
        """The number of a row, counting from 1."""
        return f"row {row + 1}"


def sheet_from_parquet(data: bytes, missing: Iterable[str] = ()) -> ParquetSheet:
    """The bytes of a Parquet file -> sheet."""
    pyarrow = require_pyarrow()
    from pyarrow import parquet

    try:
        table = parquet.read_table(pyarrow.BufferReader(data))
    except (pyarrow.ArrowException, OSError) as reason:
        raise DataError(f"a file that begins with PAR1 must be Parquet, got a file that is not: {reason}") from None
    sheet = ParquetSheet(table, frozenset({"", *missing}))
    if not sheet.n_rows or not sheet.names:
        raise DataError("a table must have at least one row and one column, got none; is it the right file?")
    if len(set(sheet.names)) != len(sheet.names):
        raise DataError(f"the columns of a table must have different names, got {list(sheet.names)[:10]}; rename them")
    return sheet


def write_parquet(columns: dict[str, Any], file: str | Path | BinaryIO) -> None:
    """Columns by name -> a Parquet file."""
    pyarrow = require_pyarrow()
    from pyarrow import parquet

    parquet.write_table(pyarrow.table(columns), file)


def require_pyarrow() -> Any:
    """The module pyarrow, or an error that says what to install."""
    try:
        import pyarrow
        import pyarrow.parquet  # a build of pyarrow may lack it
    except ImportError:
        raise ImportError(
            "Parquet files need pyarrow, which is not installed; pip install 'hedgerow[parquet]', or use CSV"
        ) from None
    return pyarrow


def _cells(column: Any) -> Array:
    """A column of pyarrow -> text, numbers, booleans or objects (n_rows,)."""
    import pyarrow

    kinds, kind = pyarrow.types, column.type
    if kinds.is_dictionary(kind):
        return _cells(column.cast(kind.value_type))
    if kinds.is_null(kind):
        return np.full(len(column), np.nan)
    if kinds.is_string(kind) or kinds.is_large_string(kind) or kinds.is_string_view(kind):
        return np.array(column.fill_null("").to_pylist(), dtype=StringDType())
    if kinds.is_decimal(kind) or kinds.is_float16(kind):
        column, kind = column.cast(pyarrow.float64()), pyarrow.float64()
    if kinds.is_integer(kind) or kinds.is_floating(kind) or kinds.is_boolean(kind):
        if column.null_count:
            column = column.cast(pyarrow.float64() if not kinds.is_boolean(kind) else pyarrow.uint8())
            return np.asarray(column.cast(pyarrow.float64()).to_numpy(), dtype=np.float64)
        return np.asarray(column.to_numpy())
    return np.fromiter(column.to_pylist(), dtype=object, count=len(column))
