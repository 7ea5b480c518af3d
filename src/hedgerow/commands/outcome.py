"""Outcome: a command -> its exit code, and one sentence on standard error if it failed."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from hedgerow.commands.talk import say
from hedgerow.errors import ClusterError, ModelFileError

FINE, FAILURE, USAGE, BAD_DATA, BAD_MODEL, INTERRUPTED = 0, 1, 2, 3, 4, 130


class UsageError(Exception):
    """An option is wrong, or options contradict each other."""


class DataError(Exception):
    """A table cannot be read, or does not fit the model; each of `lines` names one place in the table."""

    def __init__(self, message: str, lines: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.lines = lines


def run(command: Callable[[], None]) -> int:
    """Run a command -> its exit code; errors are printed on standard error."""
    try:
        command()
        sys.stdout.flush()
    except UsageError as reason:
        return _stop(USAGE, reason)
    except DataError as reason:
        return _stop(BAD_DATA, reason, reason.lines)
    except ModelFileError as reason:
        return _stop(BAD_MODEL, reason)
    except BrokenPipeError:  # the reader has closed the pipe, as `head` does: write nothing more
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FINE
    except KeyboardInterrupt:
        return _stop(INTERRUPTED, "stopped")
    except (OSError, ImportError, MemoryError, ClusterError) as reason:
        return _stop(FAILURE, reason if str(reason) else type(reason).__name__)
    return FINE


def _stop(code: int, reason: object, lines: tuple[str, ...] = ()) -> int:
    """Print the reason and return the code."""
    say(f"error: {reason}", style="bold red")
    for line in lines:
        say(f"  {line}")
    return code
