"""Sums: numbers in any order and any number of parts -> their exact sum and their range."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: Exact sums are whole multiples of 2**-1127, which is fine enough for the lowest bit of any float64.
_BITS = 1127
#: This many halves of mantissas add up in a double without rounding.
_AT_ONCE = 1 << 25
_HALF = 27


@dataclass(frozen=True)
class Spread:
    """The count of some numbers, their exact sum, their lowest and highest; the spreads of parts can be added.

    Examples
    --------
    >>> parts = [spread_of(np.array([0.1, 1e20])), spread_of(np.array([-1e20, 0.2]))]
    >>> (parts[0] + parts[1]).sum
    0.30000000000000004
    >>> parts[1] + parts[0] == parts[0] + parts[1] == spread_of(np.array([0.2, 1e20, 0.1, -1e20]))
    True
    """

    n: int
    exact: int
    low: float
    high: float

    def __add__(self, other: Spread) -> Spread:
        return Spread(self.n + other.n, self.exact + other.exact, min(self.low, other.low), max(self.high, other.high))

    @property
    def sum(self) -> float:
        """The float64 nearest to the exact sum."""
        return self.exact / (1 << _BITS)

    @property
    def mean(self) -> float:
        """The float64 nearest to the exact mean."""
        return self.exact / (self.n << _BITS)


def spread_of(values: Floats) -> Spread:
    """Finite numbers (n,) -> their spread; without numbers, low is infinity and high is minus infinity."""
    low, high = float(values.min(initial=np.inf)), float(values.max(initial=-np.inf))
    return Spread(len(values), exact_sum(values), low, high)


def exact_sum(values: Floats) -> int:
    """Finite numbers (n,) -> their sum in units of 2**-1127, independent of their order.

    The upper and the lower halves of all mantissas with the same exponent are added, which doubles do without rounding.
    """
    total = 0
    for first in range(0, len(values), _AT_ONCE):
        mantissa, exponent = np.frexp(values[first : first + _AT_ONCE])
        whole = np.ldexp(mantissa, 53).astype(np.int64)
        lowest = int(exponent.min())
        place = exponent - lowest
        upper = np.bincount(place, weights=whole >> _HALF)
        lower = np.bincount(place, weights=whole & ((1 << _HALF) - 1))
        for i in np.flatnonzero((upper != 0) | (lower != 0)).tolist():
            total += ((int(upper[i]) << _HALF) + int(lower[i])) << (lowest + i - 53 + _BITS)
    return total


def exact_sums_by(group: NDArray[Any], values: Floats | None, n_groups: int) -> list[int]:
    """Groups (n,) and numbers (n,), None for all ones -> the exact sum of each group, in units of 2**-1127."""
    if values is None:
        return [count << _BITS for count in np.bincount(group, minlength=n_groups).tolist()]
    order = np.argsort(group, kind="stable")
    ends = np.cumsum(np.bincount(group, minlength=n_groups))
    return [exact_sum(part) for part in np.split(values[order], ends[:-1])]


def floats_from_exact(sums: list[int]) -> Floats:
    """Exact sums -> the float64 nearest to each."""
    return np.array([each / (1 << _BITS) for each in sums])
