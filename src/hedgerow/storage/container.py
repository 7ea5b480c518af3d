"""Container: text and arrays by name <-> the bytes of a safetensors file.

A safetensors file is the length of a header (8 bytes, little-endian), the header (JSON: type, shape and place of each
array, and a map of text to text under ``__metadata__``) and the arrays end to end. Any reader of safetensors can read
our files. We do not use the `safetensors` package itself, because its NumPy reader copies every array, while a model
should be mapped into memory and shared between processes.
"""

from __future__ import annotations

import json
import math
import mmap
import os
import stat
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ModelFileError
from hedgerow.util.disk import Path_, whole_file

Array: TypeAlias = NDArray[Any]

#: Most bytes of JSON in a file: Python objects made from it take up to 30 times as many. Long data are arrays.
MAX_HEADER = 1 << 20

#: Most lists and objects in a header: a megabyte of empty ones takes Python a third of a second.
MAX_NESTED = 50_000

#: The array types that we use, by their names in the container. BOOL is not among them: a byte may be more than 1.
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
    """The contents of a file: text by name, arrays by name."""

    metadata: dict[str, str]
    arrays: dict[str, Array]


class _Place(NamedTuple):
    """The place of an array among the bytes after the header."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    begin: int
    end: int


def write_file(path: Path_ | BinaryIO, contents: FileContents) -> None:
    """Write to a file that appears whole or not at all, or into an open binary file."""
    header, arrays = _lay_out(contents)
    if not isinstance(path, str | os.PathLike):
        for part in _parts(header, arrays):
            path.write(part)
        return
    with whole_file(path) as passing, open(passing, "wb") as file:
        for part in _parts(header, arrays):
            file.write(part)


def read_file(path: Path_ | BinaryIO, *, memory_map: bool = True) -> FileContents:
    """Read a file, mapping its arrays into memory; an open binary file is read to its end instead."""
    try:
        return _read(path, memory_map)
    except MemoryError as reason:
        raise too_large() from reason


def too_large() -> ModelFileError:
    """The error for a file that memory does not hold."""
    return ModelFileError("a model file must fit into memory, got one that needs more than there is")


def _read(path: Path_ | BinaryIO, memory_map: bool) -> FileContents:
    """An open file, or the path of one -> its contents."""
    if not isinstance(path, str | os.PathLike):
        data = path.read()
        if not isinstance(data, bytes):
            raise TypeError(
                f"an open file must be binary, got a file that returns {type(data).__name__}; open it with mode 'rb'"
            )
        return read_bytes(data)
    # Open without blocking, because opening a pipe without a writer would wait for ever.
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | getattr(os, "O_NONBLOCK", 0))) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ModelFileError(
                f"a model must be a regular file, got {os.fspath(path)!r}; read it and pass an open file"
            )
        if not memory_map:
            return read_bytes(file.read())
        _check_length(file.read(8), os.fstat(file.fileno()).st_size)  # an empty file cannot be mapped
        return read_bytes(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def read_bytes(data: bytes | mmap.mmap) -> FileContents:
    """The bytes of a file -> its text, and arrays that are views of the bytes."""
    n_header = _check_length(data[:8], len(data))
    header = _parse_json(data[8 : 8 + n_header])
    metadata = header.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(text, str) for text in metadata.values()):
        raise ModelFileError("metadata of a model file must be a map of text to text, got something else")
    places = {name: _read_place(name, given) for name, given in header.items()}
    _check_places(places, len(data) - 8 - n_header)
    arrays = {name: _view(data, place, 8 + n_header) for name, place in places.items()}
    return FileContents(metadata, arrays)


def parse_object(text: str | bytes) -> dict[str, Any]:
    """JSON -> dict, refused if it is not an object, repeats a name, or holds numbers that JSON does not have."""
    return _parse_json(text)


def dump_json(value: Any) -> str:
    """Plain data -> compact JSON, refused if a number is not finite."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def _lay_out(contents: FileContents) -> tuple[bytes, list[Array]]:
    """Text and arrays -> header, and arrays in the order of the file: the widest types first, so all are aligned."""
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
            f" bytes with {_n_nested(text):,}; give long parameters as arrays, or set those that only matter for"
            " another fit to None"
        )
    return len(text).to_bytes(8, "little") + text, [arrays[name] for name in order]


def _parts(header: bytes, arrays: list[Array]) -> Iterator[Any]:
    """The bytes to write, piece by piece and without a copy."""
    yield header
    for array in arrays:
        if array.size:
            yield array.reshape(-1).view(np.uint8).data


def _check_length(length: bytes, size: int) -> int:
    """The first 8 bytes and the size of the file -> length of the header."""
    if size < 16:
        raise ModelFileError(
            f"a model file must have a header of 8 bytes or more, got a file of {size} bytes; was it cut off?"
        )
    n_header = int.from_bytes(length, "little")
    if length.isascii() and all(byte >= 32 or byte in b"\t\r\n" for byte in length):
        raise ModelFileError(
            f"a model file must be written by hedgerow.save, got text that begins with {length.decode()!r};"
            " is it the table? The model comes first"
        )
    if n_header > min(MAX_HEADER, size - 8) or n_header % 8:
        raise ModelFileError(
            f"a model file must begin with the length of its header, at most {MAX_HEADER:,} bytes and within the file,"
            f" got {n_header:,} in a file of {size:,} bytes; is it a model that hedgerow.save has written?"
        )
    return n_header


def _n_nested(text: bytes) -> int:
    """JSON -> an upper bound on the lists and objects in it."""
    return text.count(b"[") + text.count(b"{")


def _parse_json(text: str | bytes) -> dict[str, Any]:
    """JSON -> dict, refused if it is not an object."""
    try:
        plain = text.encode("utf-8") if isinstance(text, str) else text
        if _n_nested(plain) > MAX_NESTED:
            raise ModelFileError(f"the header of a model file must have at most {MAX_NESTED:,} lists and objects")
        value = json.loads(
            plain.decode("utf-8"),
            object_pairs_hook=_without_repeats,
            parse_constant=_refuse_constant,
        )
    except ModelFileError:
        raise
    except (ValueError, RecursionError) as reason:
        raise ModelFileError(f"the header of a model file must be JSON, got other text: {str(reason)[:100]}") from None
    if not isinstance(value, dict):
        raise ModelFileError(f"the header of a model file must be a JSON object, got {type(value).__name__}")
    return value


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Names and values -> dict; a repeated name is refused, because readers could disagree about its value."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ModelFileError("names in the header of a model file must be different, got one twice")
    return found


def _refuse_constant(word: str) -> Any:
    raise ModelFileError(f"numbers in the header of a model file must be finite, got {word}")


def _read_place(name: str, given: Any) -> _Place:
    """The header's entry of an array -> its place, checked without regard to other arrays."""
    if not isinstance(given, dict) or given.keys() != {"dtype", "shape", "data_offsets"}:
        raise ModelFileError(f"array {name[:40]!r} must have dtype, shape and data_offsets, got something else")
    shape, offsets = given["shape"], given["data_offsets"]
    if not isinstance(given["dtype"], str) or given["dtype"] not in TYPES:
        raise ModelFileError(
            f"dtype of array {name[:40]!r} must be one of {', '.join(TYPES)}, got {str(given['dtype'])[:40]!r}"
        )
    if not (_are_sizes(shape) and len(shape) in (1, 2) and _are_sizes(offsets) and len(offsets) == 2):
        raise ModelFileError(
            f"array {name[:40]!r} must have a shape of one or two whole numbers >= 0 and two data_offsets, got others"
        )
    if len(shape) == 2 and 0 in shape:
        raise ModelFileError(f"array {name[:40]!r} must not be a table without cells, got shape {shape}")
    place = _Place(TYPES[given["dtype"]], tuple(shape), *offsets)
    if place.end - place.begin != math.prod(shape) * place.dtype.itemsize:
        raise ModelFileError(f"array {name[:40]!r} must have as many bytes as its shape and dtype say, got others")
    return place


def _are_sizes(values: Any) -> bool:
    """Whether this is a list of whole numbers >= 0."""
    return isinstance(values, list) and all(type(value) is int and value >= 0 for value in values)


def _check_places(places: dict[str, _Place], n_bytes: int) -> None:
    """Refuse arrays that overlap, leave gaps, do not fill the file, or are not aligned."""
    at = 0
    for name, place in sorted(places.items(), key=lambda item: (item[1].begin, item[1].end)):
        if place.begin != at:
            raise ModelFileError(
                f"arrays of a model file must lie end to end, got {name[:40]!r} at {place.begin}, not {at}"
            )
        if place.begin % place.dtype.itemsize:
            raise ModelFileError(f"array {name[:40]!r} must be aligned to its type, got it at byte {place.begin}")
        at = place.end
    if at != n_bytes:
        raise ModelFileError(
            f"the arrays of a model file must fill it, got {n_bytes:,} bytes for arrays of {at:,}; was it cut off?"
        )


def _view(data: bytes | mmap.mmap, place: _Place, start: int) -> Array:
    """The bytes of a file -> one array in native byte order, read-only."""
    count = math.prod(place.shape)
    if count == 0:
        return np.empty(place.shape, place.dtype.newbyteorder("="))
    array = np.frombuffer(data, place.dtype, count, start + place.begin).reshape(place.shape)
    return array.astype(place.dtype.newbyteorder("="), copy=False)
