"""Files: the name of a data set -> its file, checked."""

from __future__ import annotations

import hashlib
import os
import sys
from functools import cache
from pathlib import Path

from hedgerow.datasets.registry import DatasetError, DatasetInfo, describe_dataset


def find_dataset(name: str, *, data: str | Path | None = None, download: bool = True) -> Path:
    """The file of a data set, from `data`, ``HEDGEROW_DATA`` or the cache, or downloaded into the cache.

    Parameters
    ----------
    name : str
        One of `known_datasets`.
    data : path, default=None
        A folder of prepared files.
    download : bool, default=True
        Whether to download a set that is in none of these folders.

    Returns
    -------
    Path
        A file with the right checksum.
    """
    info = describe_dataset(name)
    for folder in _folders(data):
        for path in (folder / info.file, folder / f"{name}.csv.gz"):
            if path.is_file():
                return _checked(path, info)
    if download and info.origin is not None:
        from hedgerow.datasets.fetch import fetch_dataset

        return fetch_dataset(info, cache_folder())
    how = "no download is known" if info.origin is None else f"download=True would fetch it from {info.origin}"
    raise DatasetError(
        f"the file {info.file} of {name!r} must be in --data DIR, in HEDGEROW_DATA or in {cache_folder()}, got none;"
        f" put it into one of these folders ({how})"
    )


def cache_folder() -> Path:
    """The user's cache folder for downloads; it is not created here.

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
    """The file beside a downloaded set that holds its checksum."""
    return path.with_name(path.name + ".sha256")


def sha256_of(path: Path) -> str:
    """A file -> its checksum."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _folders(data: str | Path | None) -> list[Path]:
    """The folders to search, in this order."""
    if data is not None:
        named = Path(data)
        if not named.is_dir():
            raise DatasetError(f"the data folder must exist, got {named}; name another with --data DIR")
        return [named, cache_folder()]
    environment = os.environ.get("HEDGEROW_DATA")
    return [Path(environment), cache_folder()] if environment else [cache_folder()]


def _checked(path: Path, info: DatasetInfo) -> Path:
    """The path, refused unless the file has the checksum of the registry or of its download."""
    receipt = receipt_of(path)
    wanted = receipt.read_text().strip() if receipt.is_file() else info.sha256
    found = _sha256_once(path, path.stat().st_mtime_ns)
    if found != wanted:
        raise DatasetError(
            f"{path} must have the checksum {wanted[:12]}…, got {found[:12]}…; it is damaged or another"
            " version: delete it"
        )
    return path


@cache
def _sha256_once(path: Path, changed: int) -> str:
    """A file and the time of its last change -> its checksum, computed once."""
    return sha256_of(path)
