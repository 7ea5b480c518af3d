"""Download, preparation and files of data sets."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.error import URLError
from urllib.request import Request, urlopen

from hedgerow.datasets.registry import DatasetError, DatasetInfo, UnreachableError, describe_dataset
from hedgerow.util.disk import whole_file, write_whole

OPENML = "https://www.openml.org"
PIECE = 1 << 16  # bytes between two steps of the progress bar
TIMEOUT = 30  # seconds without a response
_ATTRIBUTE = re.compile(r"""@attribute\s+(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|(\S+))\s+(.*)""", re.IGNORECASE)


def fetch_dataset(info: DatasetInfo, folder: Path, *, openml: str = OPENML) -> Path:
    """Download, prepare and check a data set, and save it in a folder.

    Parameters
    ----------
    info : DatasetInfo
        Registry entry.
    folder : Path
        Folder for the file, created if necessary.
    openml : str
        Address of the OpenML server.

    Returns
    -------
    Path
    """
    try:
        rows = _from_openml(info, openml) if info.openml is not None else _from_url(info)
    except (URLError, TimeoutError, ConnectionError) as reason:
        raise UnreachableError(
            f"{info.name}: cannot reach {info.origin} ({getattr(reason, 'reason', reason)})."
            f" Go online, or put {info.file} into --data DIR or {folder}."
        ) from None
    prepared = _prepared(rows, info)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{info.name}.csv.gz"
    _write(prepared, path)
    write_whole(receipt_of(path), (sha256_of(path) + "\n").encode())
    return path


def _from_openml(info: DatasetInfo, server: str) -> ArffRows:
    """Return rows of the ARFF file at OpenML, with the target last."""
    response = json.loads(_download(f"{server}/api/v1/json/data/{info.openml}", f"{info.name}: description"))
    description = response["data_set_description"]
    content = _download(description["url"], info.name)
    checksum = hashlib.md5(content, usedforsecurity=False).hexdigest()
    if checksum != description.get("md5_checksum", checksum):
        raise DatasetError(
            f"{info.name}: damaged download (expected checksum {description['md5_checksum']}, got {checksum})."
            " Try again."
        )
    rows = read_arff(io.StringIO(content.decode("utf-8", errors="replace")))
    dropped = {*_listed(description.get("ignore_attribute")), *_listed(description.get("row_id_attribute"))}
    target = description["default_target_attribute"]
    kept = [name for name in rows.names if name not in dropped and name != target] + [target]
    return rows.select(kept)


def _from_url(info: DatasetInfo) -> ArffRows:
    """Return rows of a CSV file with a header, whose last column is the target."""
    assert info.url is not None
    lines = csv.reader(io.StringIO(_download(info.url, info.name).decode("utf-8")))
    names = next(lines)
    return ArffRows(names, ([value or None for value in line] for line in lines if line))


def _download(address: str, what: str) -> bytes:
    """Return the content of an address, with a progress bar on standard error."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with (
        urlopen(Request(address, headers={"User-Agent": "hedgerow"}), timeout=TIMEOUT) as response,
        Progress(*columns, console=Console(stderr=True), transient=True) as progress,
    ):
        length = response.headers.get("Content-Length")
        task = progress.add_task(what, total=int(length) if length else None)
        pieces = []
        while piece := response.read(PIECE):
            pieces.append(piece)
            progress.advance(task, len(piece))
    return b"".join(pieces)


def _prepared(rows: ArffRows, info: DatasetInfo) -> ArffRows:
    """Return rows in the prepared form; raise if they do not match the registry."""
    content = list(rows.rows)
    shape = (len(content), len(rows.names) - 1)
    if shape != (info.rows, info.features):
        raise DatasetError(
            f"{info.name}: {info.origin} has another version (expected {info.rows} rows and {info.features} features,"
            f" got {shape[0]} and {shape[1]}). Put {info.file} into --data DIR."
        )
    labels = _label_names(Counter(line[-1] or "" for line in content), info)
    lines = ([*line[:-1], labels.get(line[-1] or "", line[-1])] for line in content)
    return ArffRows([*rows.names[:-1], "target"], lines)


def _label_names(found: Counter[str], info: DatasetInfo) -> dict[str, str]:
    """Match labels of a source to the registry, by counts if they differ."""
    if info.task == "regression" or dict(found) == info.classes:
        return {}
    by_size = {size: label for label, size in info.classes.items()}
    if len(by_size) != len(info.classes) or sorted(found.values()) != sorted(info.classes.values()):
        raise DatasetError(
            f"{info.name}: {info.origin} has another version (expected classes {info.classes}, got {dict(found)})."
            f" Put {info.file} into --data DIR."
        )
    return {label: by_size[size] for label, size in found.items()}


def _write(rows: ArffRows, path: Path) -> None:
    """Write a compressed CSV file that appears only when it is complete."""
    with (
        whole_file(path) as passing,
        open(passing, "wb") as raw,
        gzip.GzipFile(fileobj=raw, mode="wb", filename="", mtime=0) as compressed,
        io.TextIOWrapper(compressed, encoding="utf-8", newline="") as text,
    ):
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(rows.names)
        writer.writerows(_blank(rows.rows))


def _blank(rows: Iterable[list[str | None]]) -> Iterator[list[str]]:
    """Replace missing values by empty fields."""
    for row in rows:
        yield ["" if value is None else value for value in row]


def _listed(value: object) -> list[str]:
    """Return a list of names from None, names with commas, or a list."""
    if value is None:
        return []
    return [str(name) for name in value] if isinstance(value, list) else str(value).split(",")


@dataclass
class ArffRows:
    """Column names, and rows of text; None means missing."""

    names: list[str]
    rows: Iterable[list[str | None]]

    def select(self, names: list[str]) -> ArffRows:
        """Return the columns of these names, in this order."""
        at = [self.names.index(name) for name in names]
        return ArffRows(names, ([row[i] for i in at] for row in self.rows))


def read_arff(lines: Iterable[str]) -> ArffRows:
    """Read names and rows of lines; rows may be sparse (``{3 1, 7 2.5}``).

    Parameters
    ----------
    lines : iterable of str

    Returns
    -------
    ArffRows

    Examples
    --------
    >>> text = ["@relation r", "@attribute a numeric", "@attribute 'b c' {x, 'y z'}", "@data", "1, 'y z'", "?, x"]
    >>> rows = read_arff(text)
    >>> rows.names, list(rows.rows)
    (['a', 'b c'], [['1', 'y z'], [None, 'x']])
    """
    remaining = iter(lines)
    names: list[str] = []
    first_values: list[str] = []
    for line in remaining:
        line = line.strip()
        if line.lower().startswith("@data"):
            break
        if found := _ATTRIBUTE.match(line):
            names.append(next(part for part in found.groups()[:3] if part is not None).replace("\\", ""))
            first_values.append(_first_value(found.group(4)))
    return ArffRows(names, _rows(remaining, first_values))


def _rows(lines: Iterable[str], first_values: list[str]) -> Iterator[list[str | None]]:
    """Yield rows; cells omitted in a sparse row are zero, or the first category."""
    content = (line.strip() for line in lines)
    kept = (line for line in content if line and not line.startswith("%"))
    for line in kept:
        if line.startswith("{"):
            row: list[str | None] = list(first_values)
            for cell in _cells(line.strip("{}")):
                number, value = cell.split(None, 1)
                row[int(number)] = _value(value)
            yield row
        else:
            yield [_value(cell) for cell in _cells(line)]


def _cells(line: str) -> list[str]:
    """Split a line into cells; text may be in single or double quotes."""
    quote = '"' if '"' in line and "'" not in line else "'"
    cells = next(csv.reader([line], quotechar=quote, skipinitialspace=True, escapechar="\\"), [])
    return [cell.strip() for cell in cells if cell is not None]


def _value(cell: str) -> str | None:
    """Return the text of a cell, None for a question mark."""
    cell = cell.strip("'\"") if len(cell) > 1 else cell
    return None if cell == "?" else cell


def _first_value(attribute_type: str) -> str:
    """Return the value of a cell omitted in a sparse row, by the attribute's type."""
    attribute_type = attribute_type.strip()
    return _cells(attribute_type.strip("{}"))[0].strip("'\"") if attribute_type.startswith("{") else "0"


# ---- Files of data sets ----------------------------------------------------------------------------------------------


def find_dataset(name: str, *, data: str | Path | None = None, download: bool = True) -> Path:
    """Return the file of a data set, from a folder or the cache, or downloaded.

    Folders are `data`, ``HEDGEROW_DATA`` and the cache, in this order.

    Parameters
    ----------
    name : str
        One of `known_datasets`.
    data : path, default=None
        Folder of prepared files.
    download : bool, default=True
        Whether to download a data set that is in none of these folders.

    Returns
    -------
    Path
        File with the right checksum.
    """
    info = describe_dataset(name)
    for folder in _folders(data):
        for path in (folder / info.file, folder / f"{name}.csv.gz"):
            if path.is_file():
                return _checked(path, info)
    if download and info.origin is not None:
        return fetch_dataset(info, cache_folder())
    origin = "No download is known." if info.origin is None else f"download=True fetches it from {info.origin}."
    raise DatasetError(
        f"{info.file}: not found in --data DIR, HEDGEROW_DATA or {cache_folder()}."
        f" Put it into one of these folders. {origin}"
    )


def cache_folder() -> Path:
    """Return the user's cache folder for downloads, without creating it.

    Examples
    --------
    >>> cache_folder().name
    'hedgerow'
    """
    if "XDG_CACHE_HOME" in os.environ:
        return Path(os.environ["XDG_CACHE_HOME"]) / "hedgerow"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "hedgerow"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "hedgerow"
    return Path.home() / ".cache" / "hedgerow"


def receipt_of(path: Path) -> Path:
    """Return the path of the checksum of a downloaded data set."""
    return path.with_name(path.name + ".sha256")


def sha256_of(path: Path) -> str:
    """Return the checksum of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _folders(data: str | Path | None) -> list[Path]:
    """Return the folders to search, in order."""
    if data is not None:
        named = Path(data)
        if not named.is_dir():
            raise DatasetError(f"{named}: no such folder. Choose another with --data DIR.")
        return [named, cache_folder()]
    environment = os.environ.get("HEDGEROW_DATA")
    return [Path(environment), cache_folder()] if environment else [cache_folder()]


def _checked(path: Path, info: DatasetInfo) -> Path:
    """Return the path; raise if the checksum of the file is wrong."""
    receipt = receipt_of(path)
    wanted = receipt.read_text().strip() if receipt.is_file() else info.sha256
    found = _sha256_once(path, path.stat().st_mtime_ns)
    if found != wanted:
        raise DatasetError(
            f"{path}: damaged or another version (expected checksum {wanted[:12]}…, got {found[:12]}…). Delete it."
        )
    return path


@cache
def _sha256_once(path: Path, changed: int) -> str:
    """Return the checksum of a file, computed once per change."""
    return sha256_of(path)
