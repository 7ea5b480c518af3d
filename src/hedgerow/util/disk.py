"""Disk: bytes and a path -> a file that appears whole or not at all, also on a full disk and after a loss of power."""

from __future__ import annotations

import os
import platform
import re
import shutil
import time
import uuid
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TypeAlias

Path_: TypeAlias = str | os.PathLike[str]

#: A hidden file of a save that cannot be asked whether it still runs is old after so many seconds: a day.
OLD = 86_400.0

#: The hidden file beside the one to be written: its name, where and by which process it is written, a number.
#: Earlier versions gave only the number, and checkpoints only the process and another ending.
_PARTIAL = re.compile(r"\.(.+)\.(?:([0-9a-f]{8})-([0-9]{1,10})-)?[0-9a-f]{1,32}\.part(?:ial)?")


@contextmanager
def whole_file(path: Path_) -> Iterator[Path]:
    """A path to write to, which is flushed and renamed to `path` if nothing fails, and removed if something does.

    If `path` is a link, its target is replaced; permissions stay those of the file that is replaced. A device or a pipe
    is written to directly. What saves to the same name have left when they were killed is removed first.
    """
    target = Path(os.path.realpath(path))
    passing = target.with_name(f".{target.name}.{_here()}-{os.getpid()}-{uuid.uuid4().hex[:8]}.partial")
    try:
        if target.exists() and not target.is_file():
            yield target
            return
        clear_partials(target.parent, target.name)
        yield passing
        _flush(passing)
        if target.exists():
            shutil.copymode(target, passing)
        os.replace(passing, target)
    except BaseException as reason:
        passing.unlink(missing_ok=True)
        if isinstance(reason, OSError):
            reason.filename = os.fspath(path)  # not the name of the temporary file
            del reason.filename2
        raise


def write_whole(path: Path_, data: bytes) -> None:
    """Write a file that appears whole or not at all."""
    with whole_file(path) as passing:
        passing.write_bytes(data)


def clear_partials(folder: Path, name: str | None = None) -> None:
    """Remove what saves in a folder have left when they were killed, of one name or of all; not what still runs."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            found = _PARTIAL.fullmatch(entry.name) if entry.name[0] == "." else None
            if found and name in (None, found[1]) and _is_left_over(Path(entry.path), found[2], found[3]):
                Path(entry.path).unlink(missing_ok=True)


def _is_left_over(path: Path, place: str | None, process: str | None) -> bool:
    """Whether nobody writes to the file any more: its process has ended, or it is old where that cannot be known."""
    if process is not None and place == _here() and os.name == "posix":
        return not _runs(int(process))
    return time.time() - path.stat().st_mtime > OLD


def _runs(process: int) -> bool:
    """Whether there is such a process on this machine."""
    try:
        os.kill(process, 0)  # signal 0 only asks
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # it is somebody else's
        return True
    return True


@cache
def _here() -> str:
    """Where the numbers of processes mean the same: this machine, and the container on it."""
    space = Path("/proc/self/ns/pid")
    inside = os.readlink(space) if space.is_symlink() else ""
    return f"{zlib.crc32(f'{platform.node()} {inside}'.encode()):08x}"


def _flush(path: Path) -> None:
    """Wait until a file is on the disk."""
    with open(path, "rb+") as file:
        os.fsync(file.fileno())
