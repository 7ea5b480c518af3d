"""Fetch: the registry's entry of a data set -> a prepared file in the cache."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.error import URLError
from urllib.request import Request, urlopen

from hedgerow.datasets.arff import ArffRows, read_arff
from hedgerow.datasets.files import receipt_of, sha256_of
from hedgerow.datasets.registry import DatasetError, DatasetInfo, UnreachableError
from hedgerow.util.disk import whole_file, write_whole

OPENML = "https://www.openml.org"
PIECE = 1 << 16  # bytes between two steps of the progress bar
TIMEOUT = 30  # seconds without an answer


def fetch_dataset(info: DatasetInfo, folder: Path, *, openml: str = OPENML) -> Path:
    """Download a data set, prepare it, check it, and save it in the folder.

    Parameters
    ----------
    about : About
        Its entry in the registry.
    folder : Path
        Folder for the file, made if necessary.
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
            f"{info.name!r} must be downloaded from {info.origin}, which cannot be reached"
            f" ({getattr(reason, 'reason', reason)}); go online, or put {info.file} into --data DIR or {folder}"
        ) from None
    prepared = _prepared(rows, info)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{info.name}.csv.gz"
    _write(prepared, path)
    write_whole(receipt_of(path), (sha256_of(path) + "\n").encode())
    return path


def _from_openml(info: DatasetInfo, server: str) -> ArffRows:
    """Download the description and the ARFF file it names -> rows with the target last; the checksum is compared."""
    told = json.loads(_download(f"{server}/api/v1/json/data/{info.openml}", f"{info.name}: description"))
    description = told["data_set_description"]
    content = _download(description["url"], info.name)
    checksum = hashlib.md5(content, usedforsecurity=False).hexdigest()
    if checksum != description.get("md5_checksum", checksum):
        raise DatasetError(
            f"the file of {info.name!r} must have the checksum OpenML gives, {description['md5_checksum']}, got"
            f" {checksum}; the download is damaged: try again"
        )
    rows = read_arff(io.StringIO(content.decode("utf-8", errors="replace")))
    dropped = {*_listed(description.get("ignore_attribute")), *_listed(description.get("row_id_attribute"))}
    target = description["default_target_attribute"]
    kept = [name for name in rows.names if name not in dropped and name != target] + [target]
    return rows.select(kept)


def _from_url(info: DatasetInfo) -> ArffRows:
    """Download a CSV file with a header, whose last column is the target -> rows."""
    assert info.url is not None
    lines = csv.reader(io.StringIO(_download(info.url, info.name).decode("utf-8")))
    names = next(lines)
    return ArffRows(names, ([value or None for value in line] for line in lines if line))


def _download(address: str, what: str) -> bytes:
    """An address -> its content, with a progress bar on standard error."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with (
        urlopen(Request(address, headers={"User-Agent": "hedgerow"}), timeout=TIMEOUT) as answer,
        Progress(*columns, console=Console(stderr=True), transient=True) as progress,
    ):
        length = answer.headers.get("Content-Length")
        task = progress.add_task(what, total=int(length) if length else None)
        pieces = []
        while piece := answer.read(PIECE):
            pieces.append(piece)
            progress.advance(task, len(piece))
    return b"".join(pieces)


def _prepared(rows: ArffRows, info: DatasetInfo) -> ArffRows:
    """ArffRows of a source -> rows in the prepared form, refused if they do not match the registry."""
    content = list(rows.rows)
    shape = (len(content), len(rows.names) - 1)
    if shape != (info.rows, info.features):
        raise DatasetError(
            f"{info.name!r} from {info.origin} must have {info.rows} rows and {info.features} features, got"
            f" {shape[0]} and {shape[1]}; it is another version: put {info.file} into --data DIR"
        )
    labels = _label_names(Counter(line[-1] or "" for line in content), info)
    lines = ([*line[:-1], labels.get(line[-1] or "", line[-1])] for line in content)
    return ArffRows([*rows.names[:-1], "target"], lines)


def _label_names(found: Counter[str], info: DatasetInfo) -> dict[str, str]:
    """Labels of a source -> ours; if a source has other labels, classes are matched by their numbers of rows."""
    if info.task == "regression" or dict(found) == info.classes:
        return {}
    by_size = {size: label for label, size in info.classes.items()}
    if len(by_size) != len(info.classes) or sorted(found.values()) != sorted(info.classes.values()):
        raise DatasetError(
            f"the classes of {info.name!r} from {info.origin} must be {info.classes}, got {dict(found)}; it is"
            f" another version: put {info.file} into --data DIR"
        )
    return {label: by_size[size] for label, size in found.items()}


def _write(rows: ArffRows, path: Path) -> None:
    """ArffRows -> a compressed CSV file that appears only when it is complete."""
    with (
        whole_file(path) as passing,
        open(passing, "wb") as raw,
        gzip.GzipFile(fileobj=raw, mode="wb", filename="", mtime=0) as packed,
        io.TextIOWrapper(packed, encoding="utf-8", newline="") as text,
    ):
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(rows.names)
        writer.writerows(_blank(rows.rows))


def _blank(rows: Iterable[list[str | None]]) -> Iterator[list[str]]:
    """Missing values become empty fields."""
    for row in rows:
        yield ["" if value is None else value for value in row]


def _listed(value: object) -> list[str]:
    """None, one name, names with commas, or a list of names -> a list."""
    if value is None:
        return []
    return [str(name) for name in value] if isinstance(value, list) else str(value).split(",")
