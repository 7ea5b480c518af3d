"""Atomic writes: files appear complete or not at all, even after a loss of power."""

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

#: Age in seconds (a day) after which a partial file is stale, if its process cannot be checked.
OLD = 86_400.0

#: Partial file in the folder of the target: name of the target, machine and process that write it, a number. Earlier
#: versions gave only the number, and checkpoints only the process and another ending.
_PARTIAL = re.compile(r"\.(.+)\.(?:([0-9a-f]{8})-([0-9]{1,10})-)?[0-9a-f]{1,32}\.part(?:ial)?")


@contextmanager
def whole_file(path: Path_) -> Iterator[Path]:
    """Yield a temporary path, which is flushed and renamed to `path` on success.

    On failure it is removed. If `path` is a link, its target is replaced; the new file keeps the permissions of the
    replaced one. A device or a pipe is written to directly. Partial files of killed processes are removed first.
    """
    target = Path(os.path.realpath(path))
    partial = target.with_name(f".{target.name}.{_here()}-{os.getpid()}-{uuid.uuid4().hex[:8]}.partial")
    try:
        if target.exists() and not target.is_file():
            yield target
            return
        clear_partials(target.parent, target.name)
        yield partial
        _flush(partial)
        if target.exists():
            shutil.copymode(target, partial)
        os.replace(partial, target)
    except BaseException as reason:
        partial.unlink(missing_ok=True)
        if isinstance(reason, OSError):
            reason.filename = os.fspath(path)  # not the name of the temporary file
            del reason.filename2
        raise


def write_whole(path: Path_, data: bytes) -> None:
    """Write a file that appears complete or not at all."""
    with whole_file(path) as partial:
        partial.write_bytes(data)


def clear_partials(folder: Path, name: str | None = None) -> None:
    """Remove partial files of killed processes in a folder, for one name or all."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            found = _PARTIAL.fullmatch(entry.name) if entry.name[0] == "." else None
            if found and name in (None, found[1]) and _is_left_over(Path(entry.path), found[2], found[3]):
                Path(entry.path).unlink(missing_ok=True)


def _is_left_over(path: Path, place: str | None, process: str | None) -> bool:
    """Return whether the process of a partial file has ended, or the file is stale."""
    if process is not None and place == _here() and os.name == "posix":
        return not _runs(int(process))
    return time.time() - path.stat().st_mtime > OLD


def _runs(process: int) -> bool:
    """Return whether a process runs on this machine."""
    try:
        os.kill(process, 0)  # signal 0 only checks
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # a process of another user
        return True
    return True


@cache
def _here() -> str:
    """Return an identifier of this machine and its process namespace."""
    space = Path("/proc/self/ns/pid")
    inside = os.readlink(space) if space.is_symlink() else ""
    return f"{zlib.crc32(f'{platform.node()} {inside}'.encode()):08x}"


def _flush(path: Path) -> None:
    """Flush a file to the disk."""
    with open(path, "rb+") as file:
        os.fsync(file.fileno())
