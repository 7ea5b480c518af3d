"""Compressed files, recognised by their first bytes."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from hedgerow.cli.exit_codes import DataError
from hedgerow.util.text import listed

_GZIP, _BZIP2, _XZ, _ZSTD, _ZIP = b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd", b"PK\x03\x04"
#: Files in an archive that show that it is a spreadsheet.
_BOOKS = ("[Content_Types].xml", "mimetype")
#: Old spreadsheets begin with these bytes.
_OLD_BOOK = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
#: What was packed may be so many times as large as the file, and has so many bytes in any case.
MOST_TIMES, ALWAYS_BYTES = 100, 1 << 28
_PIECE = 1 << 20
#: What goes wrong inside an archive or a compressed file.
_BROKEN = (OSError, EOFError, lzma.LZMAError, zlib.error, RuntimeError, ValueError, zipfile.BadZipFile)


def unpacked(data: bytes | Path) -> bytes | Path:
    """A file -> the same, or the bytes of the table that was packed into it; spreadsheets are not unpacked."""
    head = first_bytes(data, 6)
    openers: dict[bytes, Callable[[Any], Any]] = {
        _GZIP: lambda file: gzip.GzipFile(fileobj=file),
        _BZIP2: bz2.BZ2File,
        _XZ: lzma.LZMAFile,
        _ZSTD: _zstd,
    }
    for begin, opener in openers.items():
        if head.startswith(begin):
            packed = all_bytes(data)
            try:
                with opener(io.BytesIO(packed)) as stream:
                    return _joined(pieces(stream, len(packed)))
            except _BROKEN as reason:
                raise DataError(f"a compressed file must be whole, got one that cannot be unpacked: {reason}") from None
    return _from_zip(data) if head.startswith(_ZIP) and not is_workbook(data) else data


def pieces(stream: Any, n_packed: int, n_before: int = 0) -> Iterator[bytes]:
    """An open compressed file of so many bytes -> what is in it, in pieces; refused as soon as it is far too much."""
    most, n_bytes = max(ALWAYS_BYTES, MOST_TIMES * n_packed), n_before
    while piece := stream.read(_PIECE):
        n_bytes += len(piece)
        if n_bytes > most:
            raise DataError(
                f"a packed file must hold at most {most >> 20:,} MB, {MOST_TIMES} times its size, got more; unpack it"
                " first if you trust it"
            )
        yield bytes(piece)


def members(data: bytes | Path) -> Iterator[tuple[str, bytes]]:
    """A zip archive -> the name and a piece of the contents of each file in turn; refused if they are far too much."""
    n_packed, n_bytes = len(data) if isinstance(data, bytes) else data.stat().st_size, 0
    try:
        with _archive(data) as archive:
            for name in archive.namelist():
                with archive.open(name) as stream:
                    for piece in pieces(stream, n_packed, n_bytes):
                        n_bytes += len(piece)
                        yield name, piece
    except _BROKEN as reason:
        raise DataError(f"a zip archive or a spreadsheet must be whole, got one that is not: {reason}") from None


def is_workbook(data: bytes | Path) -> bool:
    """Whether a file is a spreadsheet: .xlsx, .ods or .xls."""
    head = first_bytes(data, 8)
    if head.startswith(_OLD_BOOK):
        return True
    if not head.startswith(_ZIP):
        return False
    try:
        with _archive(data) as archive:
            return any(name in _BOOKS for name in archive.namelist())
    except _BROKEN:
        raise DataError("a zip archive or a spreadsheet must be whole, got one that is cut off or damaged") from None


def first_bytes(data: bytes | Path, n_bytes: int) -> bytes:
    """The first bytes of a file."""
    with opened(data) as file:
        return file.read(n_bytes)


def all_bytes(data: bytes | Path) -> bytes:
    """The whole of a file."""
    return data if isinstance(data, bytes) else data.read_bytes()


def opened(data: bytes | Path) -> BinaryIO:
    """A file, or bytes as if they were one."""
    return io.BytesIO(data) if isinstance(data, bytes) else open(data, "rb")


def _archive(data: bytes | Path) -> zipfile.ZipFile:
    return zipfile.ZipFile(io.BytesIO(data) if isinstance(data, bytes) else data)


def _joined(parts: Iterator[bytes]) -> bytes:
    """Pieces -> all bytes, without holding them twice."""
    file = io.BytesIO()
    file.writelines(parts)
    return file.getvalue()


def _from_zip(data: bytes | Path) -> bytes:
    """An archive with one file -> that file; what macOS and folders add does not count."""
    with _archive(data) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/") and not name.startswith("__MACOSX/")]
        if len(names) != 1:
            raise DataError(f"a zip archive must hold one table, got {len(names)} files ({listed(names)}); unpack it")
        n_packed = len(data) if isinstance(data, bytes) else data.stat().st_size
        try:
            with archive.open(names[0]) as stream:
                return _joined(pieces(stream, n_packed))
        except _BROKEN as reason:
            raise DataError(f"a zip archive must be readable, got one that is not: {reason}; unpack it") from None


def _zstd(file: Any) -> Any:
    """Zstandard -> bytes, by pyarrow, because few versions of Python can do it."""
    try:
        import pyarrow
    except ImportError:
        raise ImportError(
            "files of Zstandard need pyarrow, which is not installed; pip install 'hedgerow[parquet]', or unpack it"
        ) from None
    return pyarrow.CompressedInputStream(file, "zstd")
