"""Checks of input and output paths, before any work."""

from __future__ import annotations

import os
import stat
import zipfile
import zlib
from collections.abc import Iterable
from glob import glob
from pathlib import Path

from hedgerow.cli.exit_codes import UsageError

#: Standard input, or standard output.
STREAM = "-"

#: What commands write, in words; an existing file is one of these, or something else.
MODEL, PAGE, CSV, JSON, PARQUET = "a model", "a page of hedgerow", "a CSV table", "JSON lines", "a Parquet file"
ARROW, WORKBOOK = "a file of Arrow", "a spreadsheet of answers"
STUDY = "a report of hedgerow reproduce"

#: Bytes of an existing file that are looked at.
_HEAD = 1 << 20
_SUFFIXES = {".csv": CSV, ".tsv": CSV, ".jsonl": JSON, ".ndjson": JSON}


def check_out(
    out: str | None, kind: str, inputs: Iterable[str | None], *, force: bool = False, option: str = "--out"
) -> None:
    """Refuse a file that is an input, that cannot be written, or that would replace a file of another kind.

    Parameters
    ----------
    out : str or None
        The file to write; nothing is checked for None and ``-``.
    kind : str
        What will be written; an existing file of this kind, or an empty one, may be replaced.
    inputs : iterable of str or None
        Files, folders, patterns and addresses that the command reads; they are never written to.
    force : bool
        Whether a file of another kind may be replaced.
    option : str
        The option that names the file.
    """
    if out in (None, STREAM):
        return
    path = Path(str(out))
    if path.is_dir():
        raise UsageError(f"{option} must be a file, got the folder {out!r}; add the name of a file")
    if not path.absolute().parent.is_dir():
        raise UsageError(f"{option} must be in a folder that exists, got {out!r}; make the folder first")
    _refuse_input(str(out), inputs, option)
    found = kind if force or not path.is_file() else _type_of(path)
    if found not in (kind, ""):
        raise UsageError(
            f"{option} must be a new file or {kind}, got {out!r}, which is {found}; name another file, or add --force"
            " to replace it"
        )


def check_folder(folder: str, inputs: Iterable[str | None], option: str) -> None:
    """Refuse a folder for output that is an input, lies in one, or has one in it."""
    given = [each for each in inputs if each is not None]
    _refuse_input(folder, given, option)
    for each in given:
        if any(_lies_in(path, folder) for path in _expanded(each)):
            raise UsageError(
                f"{option} must be a folder without files that the command reads, got {folder!r}, which holds"
                f" {each!r}; name another folder"
            )


def check_study(folder: Path, data: Path | None, *, force: bool) -> None:
    """Refuse a folder for the report of an experiment if files of something else would be replaced there."""
    check_folder(str(folder), [os.environ.get("HEDGEROW_DATA") if data is None else str(data)], "--out")
    page, figures = folder / "README.md", folder / "figures"
    files = [path for path in (page, folder / "report.json") if path.is_file()]
    others = [path for path in files if _type_of(path) not in (STUDY, "")]
    if figures.exists() and not files and not (folder / "units").is_dir():
        others.append(figures)
    if others and not force:
        raise UsageError(
            f"--out must be a folder without {others[0].name} of something else, got {str(folder)!r}; name another"
            " folder, or add --force to replace it"
        )


def refuse_standard_output(path: str) -> None:
    """Refuse to read the file that standard output goes to, as in ``hedgerow predict m.hedge t.csv >> t.csv``."""
    output = _file_at(1)
    if output is not None and _identity(path) == output:
        raise UsageError(f"standard output must not go to a file that the command reads, got {path!r}; name another")


def _refuse_input(out: str, inputs: Iterable[str | None], option: str) -> None:
    """Refuse to write to an input, or into a folder that is one."""
    for given in inputs:
        for path in () if given is None else _expanded(given):
            if _is_same(out, path):
                raise UsageError(
                    f"{option} must not be what the command reads, got {out!r}, which is {_words(path)}; name another"
                )
            if _lies_in(out, path):
                raise UsageError(
                    f"{option} must not lie in a folder that the command reads, got {out!r} in {path!r}; name another"
                )


def _expanded(given: str) -> list[str]:
    """A file, a folder, an address or a pattern -> the paths it stands for."""
    if given == STREAM or os.path.lexists(given):
        return [given]
    # An address may be a chain, such as simplecache::file:///table.csv; each link may be a local file.
    links = given.split("::") if "://" in given else [given]
    return [path for link in links for path in (glob(_local(link)) or [_local(link)])]


def _local(address: str) -> str:
    """The address of a local file, as fsspec has it -> its path; other addresses and paths as they are."""
    return address.removeprefix("file://").removeprefix("local://")


def _is_same(out: str, path: str) -> bool:
    """Whether both are the same file, perhaps by other names or links."""
    known = _identity(path)
    return (known is not None and _identity(out) == known) or (path != STREAM and _resolved(out) == _resolved(path))


def _lies_in(path: str, folder: str) -> bool:
    """Whether a path leads into a folder, or into the place of one that does not exist yet."""
    place, inside = _resolved(folder), _resolved(path)
    if inside.startswith(place.rstrip("/") + "/"):
        return True
    known = _identity(folder) if os.path.isdir(place) else None
    return known is not None and any(_identity(str(each)) == known for each in Path(inside).parents)


def _resolved(path: str) -> str:
    """A path without links and relative parts; an address as it is."""
    local = _local(path)
    return local.rstrip("/") if "://" in local else os.path.realpath(local)


def _identity(path: str) -> tuple[int, int] | None:
    """A path, or - for standard input -> what tells its file from all others; None if no such file exists."""
    if path == STREAM:
        return _file_at(0)
    try:
        found = os.stat(_local(path))
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino


def _file_at(descriptor: int) -> tuple[int, int] | None:
    """A standard stream -> what tells its file from all others; None for a terminal, a pipe or a device."""
    try:
        found = os.fstat(descriptor)
    except OSError:
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISREG(found.st_mode) else None


def _words(path: str) -> str:
    return "standard input" if path == STREAM else repr(path)


def _type_of(path: Path) -> str:
    """An existing file -> what it is, in words; nothing for an empty one."""
    try:
        with open(path, "rb") as file:
            head = file.read(_HEAD)
    except OSError:
        return "a file that cannot be read"
    if not head:
        return ""
    if head[:4] == b"PAR1":
        return PARQUET
    if head[:6] == b"ARROW1":
        return ARROW
    if head[:4] == b"PK\x03\x04":
        return WORKBOOK if _holds_answers(path) else "a spreadsheet or an archive"
    n_header = int.from_bytes(head[:8], "little")
    if n_header <= _HEAD and b'"hedgerow-model"' in head[8 : 8 + n_header]:
        return MODEL
    if head[:14].lower() == b"<!doctype html":
        return PAGE if b"hedgerow report</p>" in head or b"hedgerow-why" in head else "a page of something else"
    if b"Generated by `hedgerow reproduce" in head or head.startswith(b'{\n "title": "'):
        return STUDY
    if b"\0" in head:
        return "something else"
    return _SUFFIXES.get(path.suffix.lower()) or _type_of_answers(head.split(b"\n", 1)[0])


def _holds_answers(path: Path) -> bool:
    """Whether a spreadsheet has one sheet, called answers, as `hedgerow predict` writes it."""
    try:
        with zipfile.ZipFile(path) as archive, archive.open("xl/workbook.xml") as file:
            book = file.read(_HEAD)
    except (KeyError, OSError, EOFError, RuntimeError, ValueError, zlib.error, zipfile.BadZipFile):
        return False
    return book.count(b"<sheet ") == 1 and b'name="answers"' in book


def _type_of_answers(line: bytes) -> str:
    """The first line of a text -> whether `hedgerow predict` has written it."""
    if b"probability" not in line and b"mean_lower" not in line:
        return "something else"
    return JSON if line.startswith(b"{") else CSV
