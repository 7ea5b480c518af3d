"""Exact sums and ranges of numbers, independent of order and partition."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: Exact sums are integer multiples of 2**-1127, fine enough for the lowest bit of any float64.
_BITS = 1127
#: This many half mantissas add up in a double without rounding.
_AT_ONCE = 1 << 25
_HALF = 27


@dataclass(frozen=True)
class Spread:
    """Count, exact sum, minimum and maximum of numbers; spreads add up.

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
        """The float64 closest to the exact sum."""
        return self.exact / (1 << _BITS)

    @property
    def mean(self) -> float:
        """The float64 closest to the exact mean."""
        return self.exact / (self.n << _BITS)


def spread_of(values: Floats) -> Spread:
    """Return the spread of finite numbers (n,); the range of none is (inf, -inf)."""
    low, high = float(values.min(initial=np.inf)), float(values.max(initial=-np.inf))
    return Spread(len(values), exact_sum(values), low, high)


def exact_sum(values: Floats) -> int:
    """Return the exact sum of finite numbers (n,), in units of 2**-1127.

    Upper and lower halves of all mantissas with the same exponent are added, which doubles do without rounding.
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


def exact_sums_by(group: NDArray[np.generic], values: Floats | None, n_groups: int) -> list[int]:
    """Return the exact sum of each group (n,), in units of 2**-1127; None sums ones."""
    if values is None:
        return [count << _BITS for count in np.bincount(group, minlength=n_groups).tolist()]
    order = np.argsort(group, kind="stable")
    ends = np.cumsum(np.bincount(group, minlength=n_groups))
    return [exact_sum(part) for part in np.split(values[order], ends[:-1])]


def floats_from_exact(sums: list[int]) -> Floats:
    """Return the float64 closest to each exact sum."""
    return np.array([each / (1 << _BITS) for each in sums])
