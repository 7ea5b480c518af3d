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
from typing import Any, BinaryIO, Protocol

from hedgerow.cli.exit_codes import DataError
from hedgerow.util.text import listed

_GZIP, _BZIP2, _XZ, _ZSTD, _ZIP = b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd", b"PK\x03\x04"
#: Archive members that identify a spreadsheet.
_BOOKS = ("[Content_Types].xml", "mimetype")
#: First bytes of .xls files.
_OLD_BOOK = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
#: Limit on the size of decompressed data: this multiple of the file size, but at least this many bytes.
MOST_TIMES, ALWAYS_BYTES = 100, 1 << 28
_PIECE = 1 << 20


class Readable(Protocol):
    """An open stream of bytes."""

    def read(self, size: int, /) -> bytes: ...


#: Errors raised for corrupt archives and compressed files.
_BROKEN = (OSError, EOFError, lzma.LZMAError, zlib.error, RuntimeError, ValueError, zipfile.BadZipFile)


def unpacked(data: bytes | Path) -> bytes | Path:
    """Decompress a table; spreadsheets and uncompressed files are returned unchanged."""
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
                raise DataError(f"corrupt archive ({reason}).") from None
    return _from_zip(data) if head.startswith(_ZIP) and not is_excel(data) else data


def pieces(stream: Readable, n_compressed: int, n_before: int = 0) -> Iterator[bytes]:
    """Yield decompressed pieces; raise `DataError` when they exceed the size limit."""
    most, n_bytes = max(ALWAYS_BYTES, MOST_TIMES * n_compressed), n_before
    while piece := stream.read(_PIECE):
        n_bytes += len(piece)
        if n_bytes > most:
            raise DataError(
                f"more than {most >> 20:,} MB when decompressed, {MOST_TIMES} times the size of the file. Decompress it"
                " first if you trust it."
            )
        yield bytes(piece)


def members(data: bytes | Path) -> Iterator[tuple[str, bytes]]:
    """Yield the members of a zip archive in pieces, up to the size limit."""
    n_compressed, n_bytes = len(data) if isinstance(data, bytes) else data.stat().st_size, 0
    try:
        with _archive(data) as archive:
            for name in archive.namelist():
                with archive.open(name) as stream:
                    for piece in pieces(stream, n_compressed, n_bytes):
                        n_bytes += len(piece)
                        yield name, piece
    except _BROKEN as reason:
        raise DataError(f"corrupt archive ({reason}).") from None


def is_excel(data: bytes | Path) -> bool:
    """Test whether a file is a spreadsheet: .xlsx, .ods or .xls."""
    head = first_bytes(data, 8)
    if head.startswith(_OLD_BOOK):
        return True
    if not head.startswith(_ZIP):
        return False
    try:
        with _archive(data) as archive:
            return any(name in _BOOKS for name in archive.namelist())
    except _BROKEN:
        raise DataError("corrupt archive (truncated or damaged).") from None


def first_bytes(data: bytes | Path, n_bytes: int) -> bytes:
    """Return the first bytes of a file."""
    with opened(data) as file:
        return file.read(n_bytes)


def all_bytes(data: bytes | Path) -> bytes:
    """Return all bytes of a file."""
    return data if isinstance(data, bytes) else data.read_bytes()


def opened(data: bytes | Path) -> BinaryIO:
    """Open a file, or bytes as a file."""
    return io.BytesIO(data) if isinstance(data, bytes) else open(data, "rb")


def _archive(data: bytes | Path) -> zipfile.ZipFile:
    return zipfile.ZipFile(io.BytesIO(data) if isinstance(data, bytes) else data)


def _joined(parts: Iterator[bytes]) -> bytes:
    """Join pieces without a second copy in memory."""
    file = io.BytesIO()
    file.writelines(parts)
    return file.getvalue()


def _from_zip(data: bytes | Path) -> bytes:
    """Return the only file of an archive, apart from folders and macOS metadata."""
    with _archive(data) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/") and not name.startswith("__MACOSX/")]
        if len(names) != 1:
            raise DataError(f"the archive must contain one table, got {len(names)} ({listed(names)}). Extract one.")
        n_compressed = len(data) if isinstance(data, bytes) else data.stat().st_size
        try:
            with archive.open(names[0]) as stream:
                return _joined(pieces(stream, n_compressed))
        except _BROKEN as reason:
            raise DataError(f"corrupt archive ({reason}).") from None


def _zstd(file: BinaryIO) -> Any:
    """Decompress Zstandard with pyarrow; Python supports it from 3.14."""
    try:
        import pyarrow
    except ImportError:
        raise ImportError("Zstandard files require pyarrow. Run pip install pyarrow, or decompress the file.") from None
    return pyarrow.CompressedInputStream(file, "zstd")
