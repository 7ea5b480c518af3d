"""Files of data sets."""

from __future__ import annotations

import hashlib
import os
import sys
from functools import cache
from pathlib import Path

from hedgerow.datasets.registry import DatasetError, DatasetInfo, describe_dataset


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
        from hedgerow.datasets.fetch import fetch_dataset

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
