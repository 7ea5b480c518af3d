"""One row: the merged state of one sample -> its opinion in plain numbers, with the bits it has among many rows.

NumPy takes about a microsecond for an operation on a single row, and an opinion takes eighty operations: more than the
trees. On plain numbers they take a twentieth of it. Logarithms and exponentials are left to NumPy, because those of
``math`` differ in their last bits. NumPy adds up fewer than eight numbers from left to right, as is done here.
"""

from __future__ import annotations

from functools import reduce
from math import inf
from operator import add
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.belief.opinion import SMALLEST, Opinion

Numbers = list[float]


class RowOpinion(NamedTuple):
    """What `Opinion` says, about one sample; the score of two classes is that of the second one alone."""

    probability: Numbers
    lower: Numbers
    upper: Numbers
    conflict: float
    vacuity: float
    score: Any

    def opinion(self) -> Opinion:
        """-> the same as arrays."""
        positive = [max(share, SMALLEST) for share in self.probability]
        arrays = np.array([self.lower, self.upper, self.probability, positive])
        alone = np.array([self.conflict, self.vacuity])
        score = np.array([self.score])
        return Opinion(arrays[:1], arrays[1:2], arrays[2:3], alone[:1], alone[1:], np.log(arrays[3:]), score)


def is_row(values: Any, n_classes: int) -> bool:
    """Whether this is an array of one row, and of so few classes that sums have one order."""
    return n_classes < 8 and type(values) is np.ndarray and len(values) == 1


def summed(numbers: Numbers) -> float:
    """Numbers -> their sum from left to right; ``sum`` of Python 3.12 rounds otherwise."""
    return reduce(add, numbers, 0.0)


def distribution_of(sums: Numbers) -> tuple[Numbers, float]:
    """Sums of shares (K,) -> the distribution (K,), uniform if the sum is zero; the sum."""
    total = summed(sums)
    return ([share / total for share in sums] if total > 0 else [1.0 / len(sums)] * len(sums)), total


def mean_of_row(state: Numbers, n_classes: int, scale: float) -> RowOpinion | None:
    """The state of a rule that is a mean (2K + 2,) -> its opinion; None if a number is not finite."""
    k = n_classes
    probability, filled = distribution_of(state[:k])
    held = state[k : 2 * k]
    whole = summed(held) + state[2 * k + 1]
    squares = state[2 * k]
    if not (filled < inf and whole < inf and squares < inf):
        return None
    lower = [share / whole for share in held] if whole > 0 else held
    conflict = max(squares / filled - summed([share * share for share in probability]), 0.0) if filled > 0 else 0.0
    score: Any = [scale * (share - 1.0 / k) for share in probability]
    return bounded(probability, lower, conflict, score[1] if k == 2 else score)


def bounded(
    probability: Numbers, lower: Numbers, conflict: float, score: Any, vacuity: float | None = None
) -> RowOpinion:
    """The same as `opinion_from_lower`."""
    unassigned = 1.0 - summed(lower)
    low = [min(max(share, 0.0), 1.0) for share in lower]
    high = [min(max(share + unassigned, least), 1.0) for share, least in zip(lower, low, strict=True)]
    inside = [min(max(share, a), b) for share, a, b in zip(probability, low, high, strict=True)]
    if vacuity is None:
        vacuity = min(max(1.0 - summed(low), 0.0), 1.0)
    return RowOpinion(inside, low, high, min(max(conflict, 0.0), 1.0), vacuity, score)


def mapped_shares(calibration: Any, floor: float, probability: Numbers) -> Numbers:
    """A `Calibration`, its floor, and shares (K,) -> the mapped shares (K,)."""
    given = 1 + floor * len(probability)
    logs = np.log(np.array([(share + floor) / given for share in probability])).tolist()
    scores = [calibration.slope * each for each in logs]
    if calibration.mix is not None:
        for of_class, row in zip(logs, calibration.mix.tolist(), strict=True):
            scores = [score + of_class * part for score, part in zip(scores, row, strict=True)]
    scores = [calibration.gain * score + off for score, off in zip(scores, calibration.offsets.tolist(), strict=True)]
    highest = max(scores)
    shares = np.exp(np.array([score - highest for score in scores])).tolist()
    total = summed(shares)
    return [share / total for share in shares]


def with_shares(row: RowOpinion, shares: Numbers) -> RowOpinion:
    """The same as `with_probability`."""
    said, vacuity = row.probability, row.vacuity
    mapped = shares if vacuity < 1 or max(said) > min(said) else said
    known = 1.0 - vacuity
    return bounded(mapped, [known * share for share in mapped], row.conflict, row.score, vacuity)


def entropy_of(shares: Numbers) -> float:
    """A distribution (K,) -> its entropy in bits."""
    logs = np.log2(np.array([share if share > 0 else 1.0 for share in shares])).tolist()
    return 0.0 - summed([share * log for share, log in zip(shares, logs, strict=True)])


def as_rows(numbers: Numbers) -> list[NDArray[np.float64]]:
    """Numbers -> an array (1,) of each."""
    array = np.array(numbers)
    return [array[at : at + 1] for at in range(len(numbers))]
