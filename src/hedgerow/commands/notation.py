"""Notation: texts as people and programs write numbers -> numbers; and which texts only look like numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Marks that people use for one another: the spaces of French spreadsheets, the apostrophes of Swiss ones.
_ALIKE = {" ": " \u00a0\u202f", "'": "'\u2019"}
_TRUTH = {"true": 1.0, "false": 0.0}


@dataclass(frozen=True)
class Notation:
    """How a file writes numbers: the mark before decimals, and the mark between thousands if there is one."""

    decimal: str = "."
    thousands: str = ""

    def number(self, cell: str) -> float | None:
        """One text -> its number, or None if it is not a number in this notation.

        Examples
        --------
        >>> Notation(",", ".").number("1.234,5")
        1234.5
        >>> Notation(",").number("1.5") is None
        True
        """
        if "_" in cell:
            return None
        text = self.with_point(cell)
        try:
            return None if text is None else float(text)
        except ValueError:
            return _TRUTH.get(cell.strip().lower())

    def with_point(self, cell: str) -> str | None:
        """A number in this notation -> the same with a point and no other mark; None for a number in another one."""
        if self.decimal == "." and not self.thousands:
            return cell
        if self._pattern.fullmatch(cell):
            return re.sub(self._marks, "", cell).replace(self.decimal, ".") if self.thousands else self._pointed(cell)
        return None if any(sign.isdigit() for sign in cell) else cell

    def in_numbers(self, texts: Iterable[str]) -> bool:
        """Whether texts have only characters of numbers as most programs write them."""
        return self._characters.issuperset(" ".join(texts))

    def _pointed(self, cell: str) -> str:
        return cell.replace(self.decimal, ".")

    @cached_property
    def _marks(self) -> str:
        return f"[{re.escape(_ALIKE.get(self.thousands, self.thousands))}]" if self.thousands else ""

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        grouped = rf"\d{{1,3}}(?:{self._marks}\d{{3}})+|" if self.thousands else ""
        decimal = re.escape(self.decimal)
        return re.compile(rf"\s*[+-]?(?:(?:{grouped}\d+)(?:{decimal}\d*)?|{decimal}\d+)(?:[eE][+-]?\d+)?\s*", re.ASCII)

    @cached_property
    def _characters(self) -> frozenset[str]:
        return frozenset("0123456789+-eE \t" + self.decimal + _ALIKE.get(self.thousands, self.thousands))


#: A point before decimals, and nothing between thousands.
POINT = Notation()


def parse_texts(
    values: NDArray[Any], missing: frozenset[str], notation: Notation = POINT
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Distinct texts (k,) -> numbers (k,), NaN where missing or bad, and which are bad (k,)."""
    parsed = [np.nan if is_gap(text, missing) else notation.number(text) for text in values.tolist()]
    bad = np.array([number is None for number in parsed], dtype=bool)
    return np.array([np.nan if number is None else number for number in parsed], dtype=np.float64), bad


def is_gap(text: str, missing: frozenset[str]) -> bool:
    """Whether a cell stands for a missing value; spaces around it do not matter."""
    return text in missing or text.strip() in missing


def are_codes(texts: Iterable[str]) -> bool:
    """Whether texts are codes such as 01069: all digits, all of one length, and some with a zero in front.

    Examples
    --------
    >>> are_codes(["01069", "80331"]), are_codes(["5", "007"]), are_codes(["0", "1"])
    (True, False, False)
    """
    every = [text.strip() for text in texts]
    width = len(every[0]) if every else 0
    return (
        width > 1
        and any(text[0] == "0" for text in every if text)
        and all(len(text) == width and text.isascii() and text.isdigit() for text in every)
    )
