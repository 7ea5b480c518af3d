"""Packed: a compressed file, recognised by its first bytes -> the one table that is in it."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
import zlib
from pathlib import Path

from hedgerow.commands.outcome import DataError
from hedgerow.commands.talk import listed

_GZIP, _BZIP2, _XZ, _ZSTD, _ZIP = b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd", b"PK\x03\x04"
#: Files in an archive that show that it is a spreadsheet.
_BOOKS = ("[Content_Types].xml", "mimetype")
#: Old spreadsheets begin with these bytes.
_OLD_BOOK = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


def unpacked(data: bytes | Path) -> bytes | Path:
    """A file -> the same, or the bytes of the table that was packed into it; spreadsheets are not unpacked."""
    head = first_bytes(data, 6)
    openers = {_GZIP: gzip.decompress, _BZIP2: bz2.decompress, _XZ: lzma.decompress, _ZSTD: _from_zstd}
    for begin, opener in openers.items():
        if head.startswith(begin):
            try:
                return opener(_whole(data))
            except (OSError, EOFError, lzma.LZMAError, zlib.error, ValueError) as reason:
                raise DataError(f"a compressed file must be whole, got one that cannot be unpacked: {reason}") from None
    return _from_zip(data) if head.startswith(_ZIP) and not is_workbook(data) else data


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
    except zipfile.BadZipFile:
        raise DataError("a zip archive or a spreadsheet must be whole, got one that is cut off or damaged") from None


def first_bytes(data: bytes | Path, n_bytes: int) -> bytes:
    """The begin of a file."""
    if isinstance(data, bytes):
        return data[:n_bytes]
    with open(data, "rb") as file:
        return file.read(n_bytes)


def _whole(data: bytes | Path) -> bytes:
    return data if isinstance(data, bytes) else data.read_bytes()


def _archive(data: bytes | Path) -> zipfile.ZipFile:
    return zipfile.ZipFile(io.BytesIO(data) if isinstance(data, bytes) else data)


def _from_zip(data: bytes | Path) -> bytes:
    """An archive with one file -> that file; what macOS and folders add does not count."""
    with _archive(data) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/") and not name.startswith("__MACOSX/")]
        if len(names) != 1:
            raise DataError(f"a zip archive must hold one table, got {len(names)} files ({listed(names)}); unpack it")
        try:
            return archive.read(names[0])
        except (RuntimeError, zipfile.BadZipFile, zlib.error, NotImplementedError) as reason:
            raise DataError(f"a zip archive must be readable, got one that is not: {reason}; unpack it") from None


def _from_zstd(packed: bytes) -> bytes:
    """Zstandard -> bytes, by pyarrow, because few versions of Python can do it."""
    try:
        import pyarrow
    except ImportError:
        raise ImportError(
            "files of Zstandard need pyarrow, which is not installed; pip install 'hedgerow[parquet]', or unpack it"
        ) from None
    with pyarrow.CompressedInputStream(pyarrow.BufferReader(packed), "zstd") as stream:
        return bytes(stream.read())
