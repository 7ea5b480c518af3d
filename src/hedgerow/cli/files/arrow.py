"""Parquet and Arrow files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from hedgerow.cli.exit_codes import DataError
from hedgerow.cli.files.csv_blocks import release_unused
from hedgerow.cli.files.sheet import Array, Sheet
from hedgerow.cli.options import ReadOptions
from hedgerow.table import Factors
from hedgerow.util.text import listed

#: First bytes of Parquet files and of Arrow (Feather) files.
PARQUET, ARROW = b"PAR1", b"ARROW1"


@dataclass(eq=False)
class ArrowSheet(Sheet):
    """A table with typed columns, in which empty text is missing like null.

    `columns` returns one column as pyarrow reads it, to keep large files out of memory.
    """

    names: tuple[str, ...]
    n_rows: int
    columns: Callable[[str], Any]
    missing: frozenset[str]
    reading: ReadOptions
    has_types = True
    _last: tuple[str, Array | Factors] | None = None

    def held(self, name: str, *, text: bool = False) -> Array | Factors:
        """Return a column as an array (n_rows,) or factors, and keep it until the next."""
        if self._last is None or self._last[0] != name:
            self._last = name, _held(self.columns(name))
        return self._last[1]

    def forget(self, name: str) -> None:
        """Release a column; it is read again when it is used again."""
        self._last = None
        release_unused()

    def where(self, row: int) -> str:
        """Return the number of a row, from 1."""
        return f"row {row + 1}"


def sheet_from_arrow(data: bytes | Path, reading: ReadOptions) -> ArrowSheet:
    """Return the sheet of a Parquet or Arrow file."""
    pyarrow = require_pyarrow()
    from pyarrow import ipc, parquet

    def opened() -> Any:
        return pyarrow.BufferReader(data) if isinstance(data, bytes) else pyarrow.OSFile(str(data))

    kind = "Parquet" if opened().read(len(PARQUET)) == PARQUET else "Arrow"
    with _errors_of(pyarrow, kind):
        if kind == "Parquet":
            file = parquet.ParquetFile(opened())
            names, n_rows = tuple(file.schema_arrow.names), int(file.metadata.num_rows)
        else:
            names = tuple(ipc.open_file(opened()).schema.names)
            n_rows = _of_arrow(opened(), 0).num_rows if names else 0

    def column(name: str) -> Any:
        with _errors_of(pyarrow, kind):
            if kind == "Parquet":
                return file.read(columns=[name]).column(name)
            return _of_arrow(opened(), names.index(name)).column(0)

    if not n_rows or not names:
        raise DataError("empty table. Is it the right file?")
    if len(set(names)) != len(names):
        raise DataError(f"columns must have unique names, got {listed(names)}.")
    return ArrowSheet(names, n_rows, column, frozenset({"", *reading.missing}), reading)


def sheet_from_table(table: Any, reading: ReadOptions) -> ArrowSheet:
    """Return the sheet of a pyarrow table."""
    return ArrowSheet(tuple(table.column_names), table.num_rows, table.column, frozenset({""}), reading)


def write_parquet(columns: dict[str, Any], file: str | Path | BinaryIO) -> None:
    """Write columns by name to a Parquet file."""
    pyarrow = require_pyarrow()
    from pyarrow import parquet

    parquet.write_table(pyarrow.table(columns), file)


def write_arrow(columns: dict[str, Any], file: str | Path) -> None:
    """Write columns by name to an Arrow (Feather) file."""
    pyarrow = require_pyarrow()
    from pyarrow import feather

    feather.write_feather(pyarrow.table(columns), str(file))


def require_pyarrow() -> Any:
    """Return the module pyarrow; the `ImportError` names the command to install it."""
    try:
        import pyarrow
        import pyarrow.parquet  # absent from some builds of pyarrow
    except ImportError:
        raise ImportError("Parquet and Arrow files require pyarrow. Run pip install pyarrow, or use CSV.") from None
    return pyarrow


@contextmanager
def _errors_of(pyarrow: Any, kind: str) -> Iterator[None]:
    """Convert errors of pyarrow to errors about the file."""
    try:
        yield
    except (pyarrow.ArrowException, OSError) as reason:
        raise DataError(f"corrupt {kind} file ({reason}).") from None


def _of_arrow(file: Any, number: int) -> Any:
    """Return a column of an open Arrow file as a table."""
    from pyarrow import ipc

    return ipc.open_file(file, options=ipc.IpcReadOptions(included_fields=[number])).read_all()


def _held(column: Any) -> Array | Factors:
    """Return a pyarrow column as an array (n_rows,), or as factors (-1 for null)."""
    import pyarrow

    kinds, kind = pyarrow.types, column.type
    if kinds.is_dictionary(kind):
        return _held(column.cast(kind.value_type))
    if kinds.is_null(kind):
        return np.full(len(column), np.nan)
    if kinds.is_string(kind) or kinds.is_large_string(kind) or kinds.is_string_view(kind):
        plain = column.cast(pyarrow.large_string()) if kinds.is_string_view(kind) else column
        whole = plain.dictionary_encode().unify_dictionaries().combine_chunks()
        values = np.fromiter(whole.dictionary.to_pylist(), dtype=object, count=len(whole.dictionary))
        return Factors(whole.indices.fill_null(-1).to_numpy(zero_copy_only=False), values)
    if kinds.is_decimal(kind) or kinds.is_float16(kind):
        column, kind = column.cast(pyarrow.float64()), pyarrow.float64()
    if kinds.is_integer(kind) or kinds.is_floating(kind) or kinds.is_boolean(kind):
        if column.null_count:
            column = column.cast(pyarrow.float64() if not kinds.is_boolean(kind) else pyarrow.uint8())
            return np.asarray(column.cast(pyarrow.float64()).to_numpy(), dtype=np.float64)
        return np.asarray(column.to_numpy())
    return np.fromiter(column.to_pylist(), dtype=object, count=len(column))
