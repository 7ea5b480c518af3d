"""Bins: a column of values -> cuts, centres and codes, the plain way."""

from __future__ import annotations

import bisect
import itertools
import math
import sys
from fractions import Fraction

from tests.reference.draws import GOLDEN, MASK, SAMPLE, derive_key, scramble

LARGEST = sys.float_info.max


def find_bins(values: list[float], max_bins: int) -> tuple[list[float], list[float]]:
    """Values of the rows that decide -> (cuts, centres), one cut fewer than centres.

    Every distinct value its own bin where they fit; otherwise each bin takes the rows that `bin_size` gives it, and
    then all rows equal to its last.
    """
    known = sorted(value + 0.0 for value in values if not math.isnan(value))
    if not known:
        return [], [0.0]
    exact = len(set(known)) <= max_bins
    bins: list[list[float]] = []
    rest = known
    while rest:
        size = 1 if exact else bin_size(len(known) - len(rest), len(known), len(bins), max_bins)
        while size < len(rest) and rest[size] == rest[size - 1]:
            size += 1
        bins.append(rest[:size])
        rest = rest[size:]
    cuts = [cut_between(left[-1], right[0]) for left, right in itertools.pairwise(bins)]
    return cuts, [held[0] if held[0] == held[-1] else held[0] / 2 + held[-1] / 2 for held in bins]


def bin_size(begin: int, n_rows: int, n_made: int, max_bins: int) -> int:
    """Rows of the next bin, after `n_made` bins of `begin` rows together.

    Near an end a bin takes the d-th part of the rows between it and the end, at least one; where that would be more
    than an equal share of all rows, the bins that the other end does not need share the rows before it, rounded up.
    """
    divisor = max_bins // 25 if max_bins >= 128 else 0
    near = divisor * n_rows // max_bins
    left, n_bins = n_rows - begin, max_bins - n_made
    if n_bins == 1:
        return left
    if begin < near:
        return max(1, begin // divisor)
    if left <= near:
        return max(1, left // (divisor + 1))
    needed, rest = 0, near
    while rest > 0:
        needed, rest = needed + 1, rest - max(1, rest // (divisor + 1))
    return -(-(left - near) // max(1, n_bins - needed))


def cut_between(low: float, high: float) -> float:
    """A number with low <= cut < high, the middle where there is one; infinities keep all finite numbers apart."""
    if high == math.inf:
        return LARGEST
    if low == -math.inf:
        return low if high == -LARGEST else -LARGEST
    middle = low / 2 + high / 2
    return middle if low <= middle < high else low


def is_nearly_the_middle(cut: float, low: float, high: float) -> bool:
    """Whether a cut is the exact middle, up to the spacing of numbers there."""
    middle = (Fraction(low) + Fraction(high)) / 2
    return abs(Fraction(cut) - middle) <= Fraction(max(math.ulp(low), math.ulp(high)))


def code_of(value: float, cuts: list[float], missing: int) -> int:
    """The first bin whose cut is not below the value."""
    return missing if math.isnan(value) else bisect.bisect_left(cuts, value)


def rows_for_cuts(n_rows: int, limit: int) -> list[int]:
    """All rows of a short table, else about `limit` of them by the hash of their number."""
    if n_rows <= limit:
        return list(range(n_rows))
    key, bound = derive_key(0, SAMPLE), int(limit / n_rows * 2.0**32)
    return [row for row in range(n_rows) if scramble((key + GOLDEN * row) & MASK) >> 32 < bound]
