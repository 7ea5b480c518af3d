"""Safetensors files: text and arrays by name.

A safetensors file is the length of a header (8 bytes, little-endian), the header (JSON: type, shape and offsets of each
array, and a mapping of text to text under ``__metadata__``) and the arrays end to end. Any safetensors reader can read
model files. The `safetensors` package is not used, because its NumPy reader copies every array, while models should be
memory-mapped and shared between processes.
"""

from __future__ import annotations

import json
import math
import mmap
import os
import reprlib
import stat
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from hedgerow.errors import ModelFileError
from hedgerow.table.schema import Array
from hedgerow.util.disk import Path_, whole_file

#: Maximum bytes of JSON in a file: its Python objects take up to 30 times as many. Long data are arrays.
MAX_HEADER = 1 << 20

#: Maximum number of lists and objects in a header: a megabyte of empty ones takes Python a third of a second.
MAX_NESTED = 50_000

#: Supported array types by their safetensors names. BOOL is excluded, because its bytes may exceed 1.
TYPES: dict[str, np.dtype[Any]] = {
    "U8": np.dtype("<u1"),
    "I8": np.dtype("<i1"),
    "U16": np.dtype("<u2"),
    "I16": np.dtype("<i2"),
    "F16": np.dtype("<f2"),
    "U32": np.dtype("<u4"),
    "I32": np.dtype("<i4"),
    "F32": np.dtype("<f4"),
    "U64": np.dtype("<u8"),
    "I64": np.dtype("<i8"),
    "F64": np.dtype("<f8"),
}
_NAMES = {(dtype.kind, dtype.itemsize): name for name, dtype in TYPES.items()}


class FileContents(NamedTuple):
    """Contents of a file: text by name, arrays by name."""

    metadata: dict[str, str]
    arrays: dict[str, Array]


class _Place(NamedTuple):
    """Type, shape and byte range of an array after the header."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    begin: int
    end: int


def write_file(path: Path_ | BinaryIO, contents: FileContents) -> None:
    """Write to a file that is renamed into place when complete, or into an open file."""
    header, arrays = _lay_out(contents)
    if not isinstance(path, str | os.PathLike):
        for part in _parts(header, arrays):
            path.write(part)
        return
    with whole_file(path) as passing, open(passing, "wb") as file:
        for part in _parts(header, arrays):
            file.write(part)


def read_file(path: Path_ | BinaryIO, *, memory_map: bool = True) -> FileContents:
    """Read a file with memory-mapped arrays; an open binary file is read to its end."""
    try:
        return _read(path, memory_map)
    except MemoryError as reason:
        raise too_large() from reason


def too_large() -> ModelFileError:
    """Return the error for a file that exceeds the memory."""
    return ModelFileError("not enough memory to load.")


def _read(path: Path_ | BinaryIO, memory_map: bool) -> FileContents:
    """Read the contents of a path or an open file."""
    if not isinstance(path, str | os.PathLike):
        data = path.read()
        if not isinstance(data, bytes):
            raise TypeError(
                f"path must be opened in binary mode, got a file that returns {type(data).__name__}. Use mode 'rb'."
            )
        return read_bytes(data)
    # Open without blocking, because opening a pipe without a writer would wait forever.
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | getattr(os, "O_NONBLOCK", 0))) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ModelFileError("not a regular file. Open it, and pass the open file.")
        if not memory_map:
            return read_bytes(file.read())
        _check_length(file.read(8), os.fstat(file.fileno()).st_size)  # an empty file cannot be memory-mapped
        return read_bytes(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def read_bytes(data: bytes | mmap.mmap) -> FileContents:
    """Return the text of a file, and its arrays as views of the bytes."""
    n_header = _check_length(data[:8], len(data))
    header = _parse_json(data[8 : 8 + n_header])
    metadata = header.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(text, str) for text in metadata.values()):
        raise ModelFileError(f"malformed metadata ({reprlib.repr(metadata)}).")
    places = {name: _read_place(name, given) for name, given in header.items()}
    _check_places(places, len(data) - 8 - n_header)
    arrays = {name: _view(data, place, 8 + n_header) for name, place in places.items()}
    return FileContents(metadata, arrays)


def parse_object(text: str | bytes) -> dict[str, Any]:
    """Parse a JSON object without repeated names and non-finite numbers."""
    return _parse_json(text)


def dump_json(value: object) -> str:
    """Serialise plain data as compact JSON; non-finite numbers raise an error."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def _lay_out(contents: FileContents) -> tuple[bytes, list[Array]]:
    """Return the header, and the arrays by descending item size, to align them."""
    arrays = {
        name: np.ascontiguousarray(array, array.dtype.newbyteorder("<")) for name, array in contents.arrays.items()
    }
    order = sorted(arrays, key=lambda name: (-arrays[name].itemsize, name))
    header: dict[str, Any] = {"__metadata__": dict(contents.metadata)}
    begin = 0
    for name in order:
        array = arrays[name]
        end = begin + array.nbytes
        header[name] = {
            "dtype": _NAMES[array.dtype.kind, array.itemsize],
            "shape": list(array.shape),
            "data_offsets": [begin, end],
        }
        begin = end
    text = dump_json(header).encode("ascii")
    text += b" " * (-len(text) % 8)
    if len(text) > MAX_HEADER or _n_nested(text) > MAX_NESTED:
        raise ValueError(
            f"parameters must fit {MAX_HEADER:,} bytes of JSON with {MAX_NESTED:,} lists to be saved, got {len(text):,}"
            f" bytes with {_n_nested(text):,}. Pass long parameters as arrays, or set those that only matter for"
            " another fit to None."
        )
    return len(text).to_bytes(8, "little") + text, [arrays[name] for name in order]


def _parts(header: bytes, arrays: list[Array]) -> Iterator[Any]:
    """Yield the bytes to write without copying them."""
    yield header
    for array in arrays:
        if array.size:
            yield array.reshape(-1).view(np.uint8).data


def _check_length(length: bytes, size: int) -> int:
    """Return the length of the header, validated against the size of the file."""
    if size < 16:
        raise ModelFileError(f"truncated, expected at least 16 bytes, found {size}.")
    n_header = int.from_bytes(length, "little")
    if length.isascii() and all(byte >= 32 or byte in b"\t\r\n" for byte in length):
        raise ModelFileError(
            f"not a model file, but text that begins with {length.decode()!r}. Is it a table? MODEL comes before DATA."
        )
    if n_header > min(MAX_HEADER, size - 8) or n_header % 8:
        raise ModelFileError(
            f"not a model file (header length {n_header:,} of {size:,} bytes, at most {MAX_HEADER:,} allowed)."
        )
    return n_header


def _n_nested(text: bytes) -> int:
    """Return an upper bound on the number of lists and objects in JSON."""
    return text.count(b"[") + text.count(b"{")


def _parse_json(text: str | bytes) -> dict[str, Any]:
    """Parse a JSON object, or raise `ModelFileError`."""
    try:
        plain = text.encode("utf-8") if isinstance(text, str) else text
        if _n_nested(plain) > MAX_NESTED:
            raise ModelFileError(f"too many lists and objects in the header (at most {MAX_NESTED:,}).")
        value = json.loads(
            plain.decode("utf-8"),
            object_pairs_hook=_without_repeats,
            parse_constant=_refuse_constant,
        )
    except ModelFileError:
        raise
    except (ValueError, RecursionError) as reason:
        raise ModelFileError(f"malformed header ({str(reason)[:100]}).") from None
    if not isinstance(value, dict):
        raise ModelFileError(f"malformed header (JSON object expected, got {type(value).__name__}).")
    return value


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a dict; repeated names raise, because readers could disagree about them."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ModelFileError("malformed header (repeated name).")
    return found


def _refuse_constant(word: str) -> Any:
    raise ModelFileError(f"malformed header (number {word}).")


def _read_place(name: str, given: Any) -> _Place:
    """Parse the header entry of an array, without regard to other arrays."""
    if not isinstance(given, dict) or given.keys() != {"dtype", "shape", "data_offsets"}:
        raise ModelFileError(f"array {name[:40]!r} must have dtype, shape and data_offsets, got {reprlib.repr(given)}.")
    shape, offsets = given["shape"], given["data_offsets"]
    if not isinstance(given["dtype"], str) or given["dtype"] not in TYPES:
        raise ModelFileError(
            f"dtype of array {name[:40]!r} must be one of {', '.join(TYPES)}, got {str(given['dtype'])[:40]!r}."
        )
    if not (_are_sizes(shape) and len(shape) in (1, 2) and _are_sizes(offsets) and len(offsets) == 2):
        raise ModelFileError(f"malformed entry of array {name[:40]!r} ({reprlib.repr(given)}).")
    if len(shape) == 2 and 0 in shape:
        raise ModelFileError(f"array {name[:40]!r} must not be empty, got shape {shape}.")
    place = _Place(TYPES[given["dtype"]], tuple(shape), *offsets)
    if place.end - place.begin != math.prod(shape) * place.dtype.itemsize:
        raise ModelFileError(
            f"array {name[:40]!r} must have the bytes of its shape and dtype, got {place.end - place.begin:,}."
        )
    return place


def _are_sizes(values: Any) -> bool:
    """Test for a list of non-negative integers."""
    return isinstance(values, list) and all(type(value) is int and value >= 0 for value in values)


def _check_places(places: dict[str, _Place], n_bytes: int) -> None:
    """Raise `ModelFileError` for arrays that overlap, leave gaps or are not aligned."""
    at = 0
    for name, place in sorted(places.items(), key=lambda item: (item[1].begin, item[1].end)):
        if place.begin != at:
            raise ModelFileError(f"array {name[:40]!r} must begin at byte {at:,}, got {place.begin:,}.")
        if place.begin % place.dtype.itemsize:
            raise ModelFileError(f"array {name[:40]!r} must be aligned to its type, got byte {place.begin:,}.")
        at = place.end
    if at != n_bytes:
        fault = "truncated" if at > n_bytes else "too long"
        raise ModelFileError(f"{fault}, expected {at:,} bytes of arrays, found {n_bytes:,}.")


def _view(data: bytes | mmap.mmap, place: _Place, start: int) -> Array:
    """Return one array of a file, read-only and in native byte order."""
    count = math.prod(place.shape)
    if count == 0:
        return np.empty(place.shape, place.dtype.newbyteorder("="))
    array = np.frombuffer(data, place.dtype, count, start + place.begin).reshape(place.shape)
    return array.astype(place.dtype.newbyteorder("="), copy=False)
