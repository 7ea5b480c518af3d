"""Validation of input and output paths before any work."""

from __future__ import annotations

import os
import stat
import zipfile
import zlib
from collections.abc import Iterable
from glob import glob
from pathlib import Path

from hedgerow.cli.exit_codes import UsageError

#: Standard input or standard output.
STREAM = "-"

#: File types that commands write, in words; an existing file is one of these or something else.
MODEL, PAGE, CSV, JSON, PARQUET = "a model", "a hedgerow page", "a CSV table", "JSON lines", "a Parquet file"
ARROW, WORKBOOK = "an Arrow file", "a spreadsheet of predictions"
STUDY = "a report of hedgerow reproduce"

#: Bytes of an existing file that are examined.
_HEAD = 1 << 20
#: Texts by which pages of `report`, `monitor` and `explain` are recognised.
_PAGES = (b"hedgerow report</p>", b"hedgerow monitor</p>", b"hedgerow-why")
_SUFFIXES = {".csv": CSV, ".tsv": CSV, ".jsonl": JSON, ".ndjson": JSON}


def check_out(
    out: str | None, kind: str, inputs: Iterable[str | None], *, force: bool = False, option: str = "--out"
) -> None:
    """Raise `UsageError` for an output that is invalid or would overwrite a file.

    Inputs are never overwritten, and files of another type only with `force`.

    Parameters
    ----------
    out : str or None
        File to write; None and ``-`` are not checked.
    kind : str
        Type of the output; an existing file of this type, or an empty one, may be overwritten.
    inputs : iterable of str or None
        Files, folders, patterns and addresses that the command reads.
    force : bool
        Whether a file of another type may be overwritten.
    option : str
        Option that names the file.
    """
    if out in (None, STREAM):
        return
    path = Path(str(out))
    if path.is_dir():
        raise UsageError(f"{option} must be a file, got the folder {out!r}.")
    if not path.absolute().parent.is_dir():
        raise UsageError(f"{option} must be in an existing folder, got {out!r}. Create the folder first.")
    _refuse_input(str(out), inputs, option)
    found = kind if force or not path.is_file() else _type_of(path)
    if found not in (kind, ""):
        raise UsageError(
            f"{option} would overwrite {out!r}, which is {found}, not {kind}. Choose another file, or add --force."
        )


def check_folder(folder: str, inputs: Iterable[str | None], option: str) -> None:
    """Raise `UsageError` if an output folder is, contains or is within an input."""
    given = [each for each in inputs if each is not None]
    _refuse_input(folder, given, option)
    for each in given:
        if any(_lies_in(path, folder) for path in _expanded(each)):
            raise UsageError(
                f"The output would overwrite the input: {option} {folder!r} contains {each!r}. Choose another folder."
            )


def check_study(folder: Path, data: Path | None, *, force: bool) -> None:
    """Raise `UsageError` if the report of an experiment would overwrite other files."""
    check_folder(str(folder), [os.environ.get("HEDGEROW_DATA") if data is None else str(data)], "--out")
    page, figures = folder / "README.md", folder / "figures"
    files = [path for path in (page, folder / "report.json") if path.is_file()]
    others = [path for path in files if _type_of(path) not in (STUDY, "")]
    if figures.exists() and not files and not (folder / "units").is_dir():
        others.append(figures)
    if others and not force:
        raise UsageError(
            f"--out would overwrite {others[0].name} in {str(folder)!r}. Choose another folder, or add --force."
        )


def refuse_standard_output(path: str) -> None:
    """Raise `UsageError` if standard output goes to an input, as by ``>> t.csv``."""
    output = _file_at(1)
    if output is not None and output in map(_identity, _expanded(path)):
        raise UsageError(f"The output would overwrite the input: standard output goes to {path!r}.")


def _refuse_input(out: str, inputs: Iterable[str | None], option: str) -> None:
    """Raise `UsageError` if an output is an input or within an input folder."""
    for given in inputs:
        for path in () if given is None else _expanded(given):
            if _is_same(out, path):
                raise UsageError(
                    f"The output would overwrite the input: {option} {out!r} is {_words(path)}. Choose another."
                )
            if _lies_in(out, path):
                raise UsageError(
                    f"{option} must not be within an input folder, got {out!r} in {path!r}. Choose another."
                )


def _expanded(given: str) -> list[str]:
    """Return the paths of a file, folder, address or pattern."""
    if given == STREAM or os.path.lexists(given):
        return [given]
    # Addresses may be chains, such as simplecache::file:///table.csv, in which each link may be a local file.
    links = [_local(link) for link in given.split("::")] if "://" in given else [given]
    # fsspec opens the literal name, Dask the files that match it.
    return [path for link in links for path in dict.fromkeys([link, *glob(link)])]


def _local(address: str) -> str:
    """Return the path of a local fsspec address, with ~ expanded; others are unchanged."""
    path = address.removeprefix("file://").removeprefix("local://")
    return path if path == address else os.path.expanduser(path)


def _is_same(out: str, path: str) -> bool:
    """Test whether two paths are the same file, also through links."""
    known = _identity(path)
    return (known is not None and _identity(out) == known) or (path != STREAM and _resolved(out) == _resolved(path))


def _lies_in(path: str, folder: str) -> bool:
    """Test whether a path is within a folder, which need not exist."""
    place, inside = _resolved(folder), _resolved(path)
    if inside.startswith(place.rstrip("/") + "/"):
        return True
    known = _identity(folder) if os.path.isdir(place) else None
    return known is not None and any(_identity(str(each)) == known for each in Path(inside).parents)


def _resolved(path: str) -> str:
    """Return a path without links and relative parts; addresses are unchanged."""
    local = _local(path)
    return local.rstrip("/") if "://" in local else os.path.realpath(local)


def _identity(path: str) -> tuple[int, int] | None:
    """Return device and inode of a path or standard input; None without a file."""
    if path == STREAM:
        return _file_at(0)
    try:
        found = os.stat(_local(path))
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino


def _file_at(descriptor: int) -> tuple[int, int] | None:
    """Return device and inode of a standard stream; None if it is no regular file."""
    try:
        found = os.fstat(descriptor)
    except OSError:
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISREG(found.st_mode) else None


def _words(path: str) -> str:
    return "standard input" if path == STREAM else repr(path)


def _type_of(path: Path) -> str:
    """Return the type of an existing file in words; "" for an empty one."""
    try:
        with open(path, "rb") as file:
            head = file.read(_HEAD)
    except OSError:
        return "an unreadable file"
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
        return PAGE if any(mark in head for mark in _PAGES) else "another page"
    if b"Generated by `hedgerow reproduce" in head or head.startswith(b'{\n "title": "'):
        return STUDY
    if b"\0" in head:
        return "another file"
    return _SUFFIXES.get(path.suffix.lower()) or _type_of_answers(head.split(b"\n", 1)[0])


def _holds_answers(path: Path) -> bool:
    """Test whether a spreadsheet has the sheet that `hedgerow predict` writes."""
    try:
        with zipfile.ZipFile(path) as archive, archive.open("xl/workbook.xml") as file:
            book = file.read(_HEAD)
    except (KeyError, OSError, EOFError, RuntimeError, ValueError, zlib.error, zipfile.BadZipFile):
        return False
    return book.count(b"<sheet ") == 1 and b'name="answers"' in book


def _type_of_answers(line: bytes) -> str:
    """Return the type of a text file, by its first line."""
    if b"probability" not in line and b"mean_lower" not in line:
        return "another file"
    return JSON if line.startswith(b"{") else CSV
