"""Arrays as short JSON, and other encodings of data in a page."""

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
    """Encode numbers of any shape as the smallest exact typed array, little-endian, in base64.

    Examples
    --------
    >>> packed(np.array([1, 2, 300]))
    {'t': 'u16', 'd': 'AQACACwB'}
    """
    flat = np.ravel(values)
    name = _smallest(flat)
    return {"t": _NAMES[name], "d": base64.b64encode(flat.astype(np.dtype(name).newbyteorder("<")).tobytes()).decode()}


def safe_json(value: object) -> str:
    """Encode JSON for a ``script`` element, without characters that could end the element or start another.

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
    """Select at most `most` of the rows, evenly spread."""
    return rows if len(rows) <= most else rows[np.linspace(0, len(rows) - 1, max(most, 0)).astype(np.int64)]


def cut(value: object, longest: int = LONGEST) -> str:
    """Format a value on one line, cut if it is too long."""
    words = " ".join(str(value).split())
    return words if len(words) <= longest else words[: longest - 1] + "…"


def _smallest(flat: NDArray[np.generic]) -> str:
    """Return the name of the smallest type that represents all numbers (n,) exactly."""
    if not np.array_equal(flat, np.floor(flat)):
        return "float64"
    low, high = (flat.min(), flat.max()) if len(flat) else (0, 0)
    if low < 0:
        return "int16" if low >= -(2**15) and high < 2**15 else "float64"
    return next(
        (kind for kind, most in (("uint8", 2**8), ("uint16", 2**16), ("uint32", 2**32)) if high < most), "float64"
    )
