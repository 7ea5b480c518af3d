"""Tables and models from paths, addresses and standard input."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from dataclasses import replace
from glob import glob, has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hedgerow.cli.exit_codes import UsageError
from hedgerow.cli.files.paths import STREAM, refuse_standard_output

if TYPE_CHECKING:
    from hedgerow.cli.files.sheet import Sheet
    from hedgerow.cli.options import ReadOptions


def read_sheet(paths: Sequence[str], reading: ReadOptions) -> Sheet:
    """Files of one table, recognised by their first bytes -> sheet, which reads its columns when asked."""
    from hedgerow.cli.files.views import Dated, StackedSheet

    files = list(dict.fromkeys(file for path in paths for file in _matching(path)))
    sheets = [_one_sheet(file, reading) for file in files]
    sheet = sheets[0] if len(sheets) == 1 else StackedSheet(sheets, files)
    return Dated(sheet) if reading.dates else sheet


def _matching(path: str) -> list[str]:
    """A path, an address, or a pattern such as ``2024-*.csv`` -> the files it stands for, sorted."""
    if path == STREAM or "://" in path or Path(path).exists() or not has_magic(path):
        return [path]
    found = sorted(glob(path, recursive=True))
    if not found:
        raise UsageError(f"data must be a file that exists, got the pattern {path!r}, which matches none")
    return found


def _one_sheet(path: str, reading: ReadOptions) -> Sheet:
    """One file -> sheet."""
    from hedgerow.cli.files.arrow import ARROW, PARQUET, sheet_from_arrow
    from hedgerow.cli.files.compression import first_bytes, is_workbook, unpacked
    from hedgerow.cli.files.csv import sheet_from_csv
    from hedgerow.cli.files.encoding import as_utf8
    from hedgerow.cli.files.excel import csv_from_workbook

    data = unpacked(_read_again(path))
    if first_bytes(data, len(ARROW)).startswith((PARQUET, ARROW)):
        return sheet_from_arrow(data, reading)
    if is_workbook(data):
        plain = replace(reading, decimal=".", thousands="")
        return sheet_from_csv(csv_from_workbook(data, reading.sheet), plain, "row")
    if reading.sheet is not None:
        raise UsageError(f"--sheet must be used with a spreadsheet, got {path!r}; leave it out")
    return sheet_from_csv(as_utf8(data, reading.encoding), reading)


def read_model(path: str) -> Any:
    """A model file, fully checked -> fitted estimator that answers on all cores."""
    from hedgerow.inference.fitted import fitted_of
    from hedgerow.storage import load

    model = load(model_file(path))
    if outputs := fitted_of(model).outputs:
        raise UsageError(
            f"MODEL must be of one output, got one of {len(outputs)}; save one of its `outputs_` in Python and use it"
        )
    return model.set_params(n_jobs=-1) if "n_jobs" in model.get_params(deep=False) else model


def model_file(path: str) -> Any:
    """A path that exists, or - -> what `hedgerow.load` takes."""
    return io.BytesIO(read_bytes(path, "model")) if path == STREAM else _existing(path, "model")


def require_one_stdin(*paths: str | None) -> None:
    """Refuse to read two files from one standard input."""
    if paths.count(STREAM) > 1:
        raise UsageError("only one of MODEL and DATA may be - (standard input), got both; save one of them to a file")


def _read_again(path: str) -> bytes | Path:
    """What can be read more than once: the path of a regular file, or all bytes of anything else."""
    if "://" in path:
        return _from_address(path)
    if path != STREAM and (found := _existing(path, "data")).is_file():
        return found
    return read_bytes(path, "data")


def _from_address(address: str) -> bytes:
    """An address such as s3://bucket/table.csv -> all bytes of the file."""
    try:
        import fsspec
    except ImportError:
        raise ImportError(
            f"{address!r} needs fsspec, which is not installed; pip install fsspec, or save the file first"
        ) from None
    try:
        with fsspec.open(address, "rb") as file:
            return bytes(file.read())
    except (OSError, ValueError, ImportError) as reason:
        raise UsageError(f"data must be a file that can be read, got {address!r}: {reason}") from None


def read_bytes(path: str, what: str) -> bytes:
    """All of a file."""
    if path != STREAM:
        return _existing(path, what).read_bytes()
    if sys.stdin.isatty():
        raise UsageError(f"standard input must be a file or a pipe with {what}, got a terminal; use < or |")
    refuse_standard_output(path)
    return sys.stdin.buffer.read()


def _existing(path: str, what: str) -> Path:
    """The path of a file that exists."""
    found = Path(path)
    if not found.exists():
        raise UsageError(f"{what} must be a file that exists, or - for standard input, got {path!r}")
    if found.is_dir():
        raise UsageError(f"{what} must be a file, got the folder {path!r}")
    refuse_standard_output(path)
    return found
