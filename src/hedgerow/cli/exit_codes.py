"""Exit codes and errors of commands."""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from hedgerow.cli.console import note, warn
from hedgerow.errors import ClusterError, DependentRowsWarning, ModelFileError
from hedgerow.util.text import printable, printable_lines

if TYPE_CHECKING:
    from typer import Typer

FINE, FAILURE, USAGE, BAD_DATA, BAD_MODEL, LOOK, INTERRUPTED = 0, 1, 2, 3, 4, 5, 130


class UsageError(Exception):
    """An invalid option, or options that contradict each other."""


class LookError(Exception):
    """Findings that a person should look at; the command has printed them already."""


class DataError(Exception):
    """An unreadable table, or one that does not match the model; `lines` locate it."""

    def __init__(self, message: str, lines: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.lines = lines


def enter(app: Typer, words: list[str]) -> int:
    """Run a command line and return its exit code, printing errors as plain text."""
    try:
        return int(app(words, standalone_mode=False) or FINE)
    except Exception as error:
        if not isinstance(error, _wrong_word()):
            sys.stderr.write(printable_lines(traceback.format_exc()))
            return FAILURE
        from typer.rich_utils import rich_format_error

        error.message = printable(error.message)
        rich_format_error(error)
        return USAGE


def run(command: Callable[[], None]) -> int:
    """Run a command and return its exit code; errors are printed on standard error."""
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _say_warning
            command()
        sys.stdout.flush()
    except LookError:
        sys.stdout.flush()
        return LOOK
    except UsageError as reason:
        return _stop(USAGE, reason)
    except DataError as reason:
        return _stop(BAD_DATA, reason, reason.lines)
    except ModelFileError as reason:
        return _stop(BAD_MODEL, reason)
    except BrokenPipeError:  # the reader, such as `head`, has closed the pipe: write nothing more
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FINE
    except KeyboardInterrupt as reason:
        return _stop(INTERRUPTED, str(reason) or "Stopped.")
    except MemoryError:
        return _stop(FAILURE, "Not enough memory. Use fewer trees or fewer rows.")
    except (OSError, ImportError, ClusterError) as reason:
        return _stop(FAILURE, reason if str(reason) else type(reason).__name__)
    return FINE


def _wrong_word() -> Any:
    """Return the base class of errors about the command line."""
    from typer import BadParameter

    return BadParameter.__bases__[0]


def _say_warning(message: Warning | str, *where: object, **more: object) -> None:
    """Print a warning of the library as one message."""
    if isinstance(message, DependentRowsWarning):
        column = "COLUMN" if message.column is None else repr(message.column)
        warn(
            f"Rows do not seem to be independent: {'; '.join(message.findings)}. If some belong together, such as the"
            f" visits of a patient, all metrics are too optimistic. Pass --groups {column}."
        )
    else:
        warn(str(message))


def _stop(code: int, reason: object, lines: tuple[str, ...] = ()) -> int:
    """Print the reason and return the code."""
    note(f"error: {reason}", style="bold red")
    for line in lines:
        note(f"  {line}")
    return code
