"""Exit codes and errors of commands."""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Callable
from typing import Any

from hedgerow.cli.console import note, warn
from hedgerow.errors import ClusterError, ModelFileError
from hedgerow.util.text import printable, printable_lines

FINE, FAILURE, USAGE, BAD_DATA, BAD_MODEL, LOOK, INTERRUPTED = 0, 1, 2, 3, 4, 5, 130


class UsageError(Exception):
    """An option is wrong, or options contradict each other."""


class LookError(Exception):
    """Nothing went wrong, but a person should look at the data; everything has been said already."""


class DataError(Exception):
    """A table cannot be read, or does not fit the model; each of `lines` names one place in the table."""

    def __init__(self, message: str, lines: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.lines = lines


def enter(app: Any, words: list[str]) -> int:
    """Run the words of a command line -> exit code; if something goes wrong, only text reaches the terminal."""
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
    """Run a command -> its exit code; errors are printed on standard error."""
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
    except BrokenPipeError:  # the reader has closed the pipe, as `head` does: write nothing more
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FINE
    except KeyboardInterrupt as reason:
        return _stop(INTERRUPTED, str(reason) or "stopped")
    except MemoryError:
        return _stop(FAILURE, "the memory of this machine is not enough; ask for fewer trees, or take fewer rows")
    except (OSError, ImportError, ClusterError) as reason:
        return _stop(FAILURE, reason if str(reason) else type(reason).__name__)
    return FINE


def _wrong_word() -> Any:
    """The type of all errors about words of a command line."""
    from typer import BadParameter

    return BadParameter.__bases__[0]


def _say_warning(message: Warning | str, *where: Any, **more: Any) -> None:
    """Print a warning of the library as a sentence."""
    warn(str(message))


def _stop(code: int, reason: object, lines: tuple[str, ...] = ()) -> int:
    """Print the reason and return the code."""
    note(f"error: {reason}", style="bold red")
    for line in lines:
        note(f"  {line}")
    return code
