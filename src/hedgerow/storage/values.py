"""Text, numbers and booleans as arrays."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Hashable, Iterable
from importlib import import_module
from itertools import pairwise
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ModelFileError
from hedgerow.forest.nodes import ascends
from hedgerow.table.schema import Array

Arrays: TypeAlias = dict[str, Array]
Made = TypeVar("Made")

#: Limit on the memory of fixed-width labels, which a small file could otherwise request without bound.
MAX_LABEL_BYTES = 1 << 25

_NUMBERS = {f"{kind}{8 * size}" for kind, sizes in (("int", (1, 2, 4, 8)), ("uint", (1, 2, 4, 8))) for size in sizes}
_NUMBERS |= {"float16", "float32", "float64"}


class Once:
    """A cache of parts that outputs share, to load files in linear time."""

    def __init__(self) -> None:
        self._known: dict[Hashable, tuple[Any, Arrays]] = {}

    def read(self, key: Hashable, arrays: Arrays, make: Callable[[], Made]) -> Made:
        """Return `make()`, or its earlier result for the same key and arrays.

        `make` removes the arrays that it uses from `arrays`, and so does a cached result.
        """
        made, used = self._known.get(key, (None, {}))
        if used and all(arrays.get(name) is array for name, array in used.items()):
            for name in used:
                del arrays[name]
            kept: Made = made
            return kept
        before = dict(arrays)
        made = make()
        self._known[key] = made, {name: array for name, array in before.items() if name not in arrays}
        return made


def take(
    arrays: Arrays, name: str, dtype: Any, *, length: int | None = None, shape: tuple[int | None, ...] | None = None
) -> Array:
    """Remove an array from `arrays` and return it, after checking its type and shape."""
    if name not in arrays:
        raise ModelFileError(f"missing array {name!r}.")
    array = arrays.pop(name)
    expected = (length,) if shape is None else shape
    if array.dtype != np.dtype(dtype):
        raise ModelFileError(f"array {name!r} must be {np.dtype(dtype)}, got {array.dtype}.")
    if array.ndim != len(expected) or any(n not in (None, m) for n, m in zip(expected, array.shape, strict=True)):
        raise ModelFileError(f"array {name!r} must have shape {expected}, got {array.shape}.")
    return array


def check_starts(name: str, start: Array, length: int, *, least: int = 0) -> None:
    """Require starts that ascend from 0 to `length` in steps of at least `least`."""
    if not ascends(start, length, least):
        raise ModelFileError(f"array {name!r} must ascend from 0 to {length:,} in steps of at least {least}.")


def text_to_arrays(name: str, texts: Iterable[str]) -> Arrays:
    """Return the UTF-8 bytes of texts end to end, and their starts."""
    parts = [text.encode("utf-8", "surrogatepass") for text in texts]
    start = np.zeros(len(parts) + 1, dtype=np.int64)
    np.cumsum([len(part) for part in parts], out=start[1:])
    return {f"{name}.text": np.frombuffer(b"".join(parts), dtype=np.uint8), f"{name}.text_start": start}


def text_from_arrays(name: str, arrays: Arrays, length: int | None = None) -> list[str]:
    """Read texts; there must be `length` of them unless it is None."""
    start = take(arrays, f"{name}.text_start", np.int64, length=None if length is None else length + 1)
    text = take(arrays, f"{name}.text", np.uint8)
    check_starts(f"{name}.text_start", start, len(text))
    data = text.tobytes()
    ends = start.tolist()
    try:
        return [data[a:b].decode("utf-8", "surrogatepass") for a, b in pairwise(ends)]
    except UnicodeDecodeError:
        raise ModelFileError(f"array '{name}.text' must be UTF-8.") from None


def labels_to_arrays(name: str, labels: Array) -> tuple[str, Arrays]:
    """Return the type name and arrays of class labels (K,)."""
    if labels.dtype.kind == "U" or (labels.dtype.kind == "O" and all(type(label) is str for label in labels)):
        if labels.nbytes > MAX_LABEL_BYTES:
            raise ValueError(
                f"classes must take at most {MAX_LABEL_BYTES:,} bytes to be saved, got {labels.nbytes:,}. Shorten them."
            )
        word = "object" if labels.dtype.kind == "O" else f"U{labels.dtype.itemsize // 4}"
        return word, text_to_arrays(name, labels.tolist())
    if labels.dtype.kind == "b":
        return "bool", {name: labels.view(np.uint8)}
    if labels.dtype.name in _NUMBERS:
        return labels.dtype.name, {name: labels}
    raise ValueError(
        f"classes must be text, numbers or booleans to be saved, got {labels.dtype} such as {labels[0]!r}."
    )


def labels_from_arrays(name: str, word: Any, arrays: Arrays) -> Array:
    """Read class labels, which must ascend strictly."""
    if word == "object" or (isinstance(word, str) and word[:1] == "U"):
        labels = _text_labels(text_from_arrays(name, arrays), word)
    elif word == "bool":
        labels = as_bool(name, take(arrays, name, np.uint8))
    elif isinstance(word, str) and word in _NUMBERS:
        labels = take(arrays, name, word).copy()
    else:
        raise ModelFileError(f"unknown type of {name}, got {str(word)[:40]!r}.")
    require_ascending(name, labels)
    return labels


def as_bool(name: str, flags: Array) -> NDArray[np.bool_]:
    """Convert bytes 0 and 1 to booleans."""
    if flags.max(initial=0) > 1:
        raise ModelFileError(f"array {name!r} must be 0 or 1, got {flags.max()}.")
    return flags.astype(np.bool_)


def require_ascending(name: str, values: Array) -> None:
    """Require a nonempty array that ascends strictly, without NaN."""
    if len(values) == 0:
        raise ModelFileError(f"{name} must not be empty.")
    if values.dtype.kind == "f" and np.isnan(values).any():
        raise ModelFileError(f"{name} must not have NaN.")
    if not (values[1:] > values[:-1]).all():
        place = int(np.argmin(values[1:] > values[:-1]))
        raise ModelFileError(f"{name} must ascend strictly, got {reprlib.repr(values[place : place + 2].tolist())}.")


def _text_labels(texts: list[str], word: str) -> Array:
    """Return texts as objects, or as fixed-width text of a bounded width."""
    if word == "object":
        return np.array(texts, dtype=object)
    width = word[1:]
    if not (width.isascii() and width.isdigit() and len(width) < 9):
        raise ModelFileError(f"type of text labels must be object or U with a width, got {word[:40]!r}.")
    longest = max(map(len, texts), default=0)
    if not longest <= int(width) <= MAX_LABEL_BYTES // (4 * max(1, len(texts))):
        raise ModelFileError(f"width of text labels must fit the longest ({longest}) and memory, got {width}.")
    return np.array(texts, dtype=f"<U{width}")


def public_estimators() -> dict[str, Any]:
    """Return the public estimators by name, the only classes that a file can name."""
    found = vars(import_module("hedgerow.estimators"))
    return {name: each for name, each in found.items() if isinstance(each, type)}


def estimator_named(name: str) -> Any:
    """Return the public estimator of that name."""
    return public_estimators()[name]
