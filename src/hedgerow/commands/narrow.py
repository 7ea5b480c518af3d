"""Narrow: numbers as a CSV file has them -> as few bytes as give them back exactly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

#: Powers of ten by which decimals become whole numbers.
_SCALES = (1.0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6)
#: A scale is tried on this many numbers first; only if it suits them is it tried on all.
_TRIED = 32


@dataclass(frozen=True)
class ScaledIntegers:
    """Numbers (n,) as whole numbers that are divided by `scale`; the lowest whole number of the type is NaN."""

    whole: NDArray[np.signedinteger]
    scale: float

    def as_floats(self) -> NDArray[np.float64]:
        """(n,): the numbers."""
        numbers = np.empty(len(self.whole), dtype=np.float64)
        self.into(numbers)
        return numbers

    def into(self, numbers: NDArray[np.float64]) -> None:
        """Write the numbers into an array (n,)."""
        np.divide(self.whole, self.scale, out=numbers)
        numbers[self.whole == np.iinfo(self.whole.dtype).min] = np.nan


def scaled_integers(numbers: NDArray[np.float64]) -> ScaledIntegers | NDArray[np.float64]:
    """Numbers (n,) -> the same in two or four bytes each if they have few digits, else a copy.

    Examples
    --------
    >>> narrowed(np.array([0.25, -1.5, np.nan]))
    Narrow(whole=array([    25,   -150, -32768], dtype=int16), scale=100.0)
    >>> narrowed(np.array([0.1 + 0.2]))
    array([0.3])
    """
    gaps = np.isnan(numbers)
    known = numbers[~gaps] if gaps.any() else numbers
    for scale in _SCALES:
        if _whole(known[:_TRIED], scale) is not None and (whole := _whole(known, scale)) is not None:
            return _packed(whole, gaps, scale)
    return numbers.copy()


def _whole(known: NDArray[np.float64], scale: float) -> NDArray[np.float64] | None:
    """Numbers times `scale`, if these are whole, fit four bytes, and give back the numbers; zero has no sign there."""
    with np.errstate(over="ignore", invalid="ignore"):
        whole = np.rint(known * scale)
        fits = bool((np.abs(whole) < np.iinfo(np.int32).max).all() and (whole / scale == known).all())
    return whole if fits and not np.signbit(known[whole == 0]).any() else None


def _packed(whole: NDArray[np.float64], gaps: NDArray[np.bool_], scale: float) -> ScaledIntegers:
    """The whole numbers that are known, and which places have no number (n,) -> all places, in the smallest type."""
    small = bool((np.abs(whole) < np.iinfo(np.int16).max).all())
    kind: type[np.signedinteger] = np.int16 if small else np.int32
    packed = np.full(len(gaps), np.iinfo(kind).min, dtype=kind)
    packed[~gaps] = whole
    return ScaledIntegers(packed, scale)
