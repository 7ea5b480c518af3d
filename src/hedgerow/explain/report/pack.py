"""Arrays as short JSON, which a page turns back into typed arrays."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Longer names and values are cut.
LONGEST = 80

#: Short names of the typed arrays in the page's script.
_NAMES = {"uint8": "u8", "uint16": "u16", "uint32": "u32", "int16": "i16", "float64": "f64"}


def packed(values: NDArray[Any]) -> dict[str, str]:
    """Numbers (any shape) -> the smallest typed array that holds them exactly, little-endian, as base64.

    Examples
    --------
    >>> packed(np.array([1, 2, 300]))
    {'t': 'u16', 'd': 'AQACACwB'}
    """
    flat = np.ravel(values)
    kind = _smallest(flat)
    return {"t": _NAMES[kind], "d": base64.b64encode(flat.astype(np.dtype(kind).newbyteorder("<")).tobytes()).decode()}


def safe_json(value: Any) -> str:
    """JSON that is safe inside a ``script`` element: none of its characters can end the element or begin another.

    Examples
    --------
    >>> safe_json("</script>")
    '"\\\\u003c/script\\\\u003e"'
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for each in "<>&\u2028\u2029":
        text = text.replace(each, f"\\u{ord(each):04x}")
    return text


def evenly(rows: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """At most `most` of the rows, evenly spread."""
    return rows if len(rows) <= most else rows[np.linspace(0, len(rows) - 1, max(most, 0)).astype(np.int64)]


def cut(value: Any, longest: int = LONGEST) -> str:
    """Any value -> text on one line, cut if it is too long."""
    words = " ".join(str(value).split())
    return words if len(words) <= longest else words[: longest - 1] + "…"


def _smallest(flat: NDArray[Any]) -> str:
    """(n,) -> the name of a type that keeps every number."""
    if not np.array_equal(flat, np.floor(flat)):
        return "float64"
    low, high = (flat.min(), flat.max()) if len(flat) else (0, 0)
    if low < 0:
        return "int16" if low >= -(2**15) and high < 2**15 else "float64"
    return next(
        (kind for kind, most in (("uint8", 2**8), ("uint16", 2**16), ("uint32", 2**32)) if high < most), "float64"
    )
