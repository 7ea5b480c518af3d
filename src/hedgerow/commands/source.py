"""Source: a path, or - for standard input -> a sheet or a model."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hedgerow.commands.outcome import UsageError
from hedgerow.commands.paths import STREAM, refuse_standard_output

if TYPE_CHECKING:
    from hedgerow.commands.sheet import Sheet

STDIN = STREAM


def read_sheet(path: str, missing: Iterable[str] = ()) -> Sheet:
    """A CSV, Parquet or Arrow file, recognised by its first bytes -> sheet, which reads its columns when asked."""
    from hedgerow.commands.delimited import sheet_from_csv
    from hedgerow.commands.typed import ARROW, PARQUET, sheet_from_arrow

    data = _read_again(path)
    head = data[: len(ARROW)] if isinstance(data, bytes) else _first_bytes(data, len(ARROW))
    return sheet_from_arrow(data, missing) if head.startswith((PARQUET, ARROW)) else sheet_from_csv(data, missing)


def read_model(path: str) -> Any:
    """A model file, fully checked -> fitted estimator that answers on all cores."""
    from hedgerow.exchange.files import load
    from hedgerow.judge.fitted import fitted_of

    model = load(model_file(path))
    if outputs := fitted_of(model).outputs:
        raise UsageError(
            f"MODEL must be of one output, got one of {len(outputs)}; save one of its `outputs_` in Python and use it"
        )
    return model.set_params(n_jobs=-1) if "n_jobs" in model.get_params(deep=False) else model


def model_file(path: str) -> Any:
    """A path that exists, or - -> what `hedgerow.load` takes."""
    return io.BytesIO(_read_bytes(path, "model")) if path == STDIN else _existing(path, "model")


def require_one_stdin(*paths: str) -> None:
    """Refuse to read two files from one standard input."""
    if paths.count(STDIN) > 1:
        raise UsageError("only one of MODEL and DATA may be - (standard input), got both; save one of them to a file")


def _read_again(path: str) -> bytes | Path:
    """What can be read more than once: the path of a regular file, or all bytes of anything else."""
    if path != STDIN and (found := _existing(path, "data")).is_file():
        return found
    return _read_bytes(path, "data")


def _first_bytes(path: Path, n_bytes: int) -> bytes:
    with open(path, "rb") as file:
        return file.read(n_bytes)


def _read_bytes(path: str, what: str) -> bytes:
    """All of a file."""
    if path != STDIN:
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
