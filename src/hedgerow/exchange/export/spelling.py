"""Spelling: values -> text that Python and C read as the same values."""

from __future__ import annotations

import math
from typing import Any

from numpy.typing import NDArray


def are_doubles(categories: NDArray[Any]) -> bool:
    """Whether every category is a number that a double holds exactly."""
    if categories.dtype.kind not in "iufb":
        return False
    return all(float(value) == value for value in categories.tolist())


def python_tuple(values: list[Any]) -> str:
    """The text of a tuple."""
    return f"({', '.join(map(python_value, values))}{',' if len(values) == 1 else ''})"


def python_value(value: Any) -> str:
    """The text of a value; infinities, which have no literal, are written as ``float("inf")``."""
    infinite = isinstance(value, float) and math.isinf(value)
    return f'float("{value}")' if infinite else repr(value)


def c_number(value: float) -> str:
    """A double -> text from which C reads the same double."""
    if math.isinf(value):
        return "-INFINITY" if value < 0 else "INFINITY"
    return repr(float(value))


def c_strings(values: list[Any]) -> str:
    """A brace-enclosed list of string literals, None as a null pointer."""
    return "{" + ", ".join("0" if value is None else f'"{_c_escaped(str(value))}"' for value in values) + "}"


def _c_escaped(text: str) -> str:
    """Text as UTF-8 bytes in octal escapes, because a hexadecimal escape would include the digits that follow it."""
    safe = {byte for byte in range(32, 127) if chr(byte) not in '"\\?'}
    return "".join(chr(byte) if byte in safe else f"\\{byte:03o}" for byte in text.encode("utf-8", "replace"))
