"""Tables and models from paths, addresses and standard input."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from dataclasses import replace
from glob import glob, has_magic
from pathlib import Path
from typing import TYPE_CHECKING

from hedgerow.cli.exit_codes import DataError, UsageError
from hedgerow.cli.files.paths import STREAM, refuse_standard_output

if TYPE_CHECKING:
    from hedgerow.cli.files.sheet import Sheet
    from hedgerow.cli.options import ReadOptions
    from hedgerow.estimators.supervised import SupervisedTrees


def read_sheet(paths: Sequence[str], reading: ReadOptions) -> Sheet:
    """Open files of one table, whose format is detected; columns are read when used."""
    from hedgerow.cli.files.views import Dated, StackedSheet

    files = list(dict.fromkeys(file for path in paths for file in _matching(path)))
    sheets = [_one_sheet(file, reading) for file in files]
    sheet = sheets[0] if len(sheets) == 1 else StackedSheet(sheets, files)
    return Dated(sheet) if reading.dates else sheet


def _matching(path: str) -> list[str]:
    """Return the sorted files of a path, an address or a pattern (``2024-*.csv``)."""
    if path == STREAM or "://" in path or Path(path).exists() or not has_magic(path):
        return [path]
    found = sorted(glob(path, recursive=True))
    if not found:
        raise UsageError(f"DATA must be an existing file, got the pattern {path!r}, which matches no file.")
    return found


def _one_sheet(path: str, reading: ReadOptions) -> Sheet:
    """Open one file; errors about its format name it."""
    try:
        return _opened_sheet(path, reading)
    except DataError as error:
        raise DataError(f"{'standard input' if path == STREAM else path}: {error}", error.lines) from None


def _opened_sheet(path: str, reading: ReadOptions) -> Sheet:
    from hedgerow.cli.files.arrow import ARROW, PARQUET, sheet_from_arrow
    from hedgerow.cli.files.compression import first_bytes, is_excel, unpacked
    from hedgerow.cli.files.csv import sheet_from_csv
    from hedgerow.cli.files.encoding import as_utf8
    from hedgerow.cli.files.excel import csv_from_excel

    data = unpacked(_read_again(path))
    if first_bytes(data, len(ARROW)).startswith((PARQUET, ARROW)):
        return sheet_from_arrow(data, reading)
    if is_excel(data):
        plain = replace(reading, decimal=".", thousands="")
        return sheet_from_csv(csv_from_excel(data, reading.sheet), plain, "row")
    if reading.sheet is not None:
        raise UsageError(f"--sheet requires a spreadsheet, got {path!r}.")
    return sheet_from_csv(as_utf8(data, reading.encoding), reading)


def read_model(path: str) -> SupervisedTrees:
    """Load a model file, to predict on all cores."""
    from hedgerow.inference.fitted import fitted_of
    from hedgerow.storage import load

    model: SupervisedTrees = load(model_file(path))
    if outputs := fitted_of(model).outputs:
        raise UsageError(
            f"The command line does not support multi-output models, got {len(outputs)} outputs. Save one of"
            " model.outputs_ in Python."
        )
    if "n_jobs" in model.get_params(deep=False):
        model.set_params(n_jobs=-1)
    return model


def model_file(path: str) -> Path | io.BytesIO:
    """Return an existing path, or standard input, for `hedgerow.load`."""
    return io.BytesIO(read_bytes(path, "model")) if path == STREAM else _existing(path, "model")


def require_one_stdin(paths: Sequence[str]) -> None:
    """Raise `UsageError` if several inputs are standard input."""
    if paths.count(STREAM) > 1:
        raise UsageError("Only one input may be - for standard input.")


def _read_again(path: str) -> bytes | Path:
    """Return the path of a regular file, or all bytes of anything else."""
    if "://" in path:
        return _from_address(path)
    if path != STREAM and (found := _existing(path, "data")).is_file():
        return found
    return read_bytes(path, "data")


def _from_address(address: str) -> bytes:
    """Return all bytes of a file at an address such as s3://bucket/table.csv."""
    refuse_standard_output(address)
    try:
        import fsspec
    except ImportError:
        raise ImportError(f"{address!r} requires fsspec. Run pip install fsspec, or download the file.") from None
    try:
        with fsspec.open(address, "rb") as file:
            return bytes(file.read())
    except (OSError, ValueError, ImportError) as reason:
        raise UsageError(f"{address}: cannot be read ({reason}).") from None


def read_bytes(path: str, what: str) -> bytes:
    """Return all bytes of a file or of standard input."""
    if path != STREAM:
        return _existing(path, what).read_bytes()
    if sys.stdin.isatty():
        raise UsageError(f"Standard input must be a file or a pipe with {what}, got a terminal. Use < or |.")
    refuse_standard_output(path)
    return sys.stdin.buffer.read()


def _existing(path: str, what: str) -> Path:
    """Return the path of an existing file."""
    found = Path(path)
    if not found.exists():
        raise UsageError(f"{what} must be an existing file, or - for standard input, got {path!r}.")
    if found.is_dir():
        raise UsageError(f"{what} must be a file, got the folder {path!r}.")
    refuse_standard_output(path)
    return found
