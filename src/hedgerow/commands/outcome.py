"""Outcome: what a command does, or what stopped it -> one sentence on standard error and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from hedgerow.commands.talk import say
from hedgerow.errors import ClusterError, ModelFileError

FINE, FAILURE, USAGE, BAD_DATA, BAD_MODEL, INTERRUPTED = 0, 1, 2, 3, 4, 130


class UsageError(Exception):
    """The command cannot be meant as it was given."""


class DataError(Exception):
    """A table cannot be read, or does not fit; `lines` say where, one each."""

    def __init__(self, message: str, lines: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.lines = lines


def run(command: Callable[[], None]) -> int:
    """Do it -> exit code; what went wrong is said on standard error."""
    try:
        command()
        sys.stdout.flush()
    except UsageError as reason:
        return _stop(USAGE, reason)
    except DataError as reason:
        return _stop(BAD_DATA, reason, reason.lines)
    except ModelFileError as reason:
        return _stop(BAD_MODEL, reason)
    except BrokenPipeError:  # who reads has seen enough, as `head` does; nothing more must be written
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FINE
    except KeyboardInterrupt:
        return _stop(INTERRUPTED, "stopped")
    except (OSError, ImportError, MemoryError, ClusterError) as reason:
        return _stop(FAILURE, reason if str(reason) else type(reason).__name__)
    return FINE


def _stop(code: int, reason: object, lines: tuple[str, ...] = ()) -> int:
    """Say why, and return the code."""
    say(f"error: {reason}", style="bold red")
    for line in lines:
        say(f"  {line}")
    return code
