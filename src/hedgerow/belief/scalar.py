"""Opinions about one row in plain numbers, bitwise identical to those in arrays.

NumPy takes about a microsecond per operation on a single row, and an opinion takes eighty operations: more than the
trees. Plain numbers take a twentieth of it. Logarithms and exponentials are left to NumPy, because those of ``math``
differ in their last bits. NumPy adds fewer than eight numbers from left to right, and so do these functions.
"""

from __future__ import annotations

from functools import reduce
from math import inf
from operator import add
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.belief.opinion import SMALLEST, Opinion

if TYPE_CHECKING:
    from hedgerow.belief.calibrate import Calibration

Numbers = list[float]


class RowOpinion(NamedTuple):
    """`Opinion` about one sample; with two classes, the score is that of the second."""

    probability: Numbers
    lower: Numbers
    upper: Numbers
    conflict: float
    vacuity: float
    score: float | Numbers

    def opinion(self) -> Opinion:
        """Convert to an `Opinion`, whose arrays are views of one."""
        k = len(self.probability)
        positive = [SMALLEST if share < SMALLEST else share for share in self.probability]
        score = self.score if isinstance(self.score, list) else [self.score]
        numbers = [*self.lower, *self.upper, *self.probability, *positive, self.conflict, self.vacuity, *score]
        row = np.array([numbers])
        alone = row[0, 4 * k :]
        opinion: Opinion = object.__new__(Opinion)
        opinion.__dict__.update(  # as its constructor does, in half the time
            lower=row[:, :k],
            upper=row[:, k : 2 * k],
            probability=row[:, 2 * k : 3 * k],
            conflict=alone[:1],
            vacuity=alone[1:2],
            log_odds=np.log(row[:, 3 * k : 4 * k]),
            score=alone[2:] if k == 2 else row[:, 4 * k + 2 :],
            chosen=None,
            groups=None,
            gaps=None,
            views=None,
        )
        return opinion


def summed(numbers: Numbers) -> float:
    """Sum from left to right; ``sum`` of Python 3.12 rounds differently."""
    return reduce(add, numbers, 0.0)


def distribution_of(sums: Numbers) -> tuple[Numbers, float]:
    """Return the normalised sums, uniform if all are zero, and their total."""
    total = summed(sums)
    return ([share / total for share in sums] if total > 0 else [1.0 / len(sums)] * len(sums)), total


def mean_of_row(state: Numbers, n_classes: int, scale: float) -> RowOpinion | None:
    """Return the opinion of the state of a mean rule; None if it is not finite."""
    if n_classes == 2:
        return _mean_of_two(state, scale)
    k = n_classes
    probability, filled = distribution_of(state[:k])
    held = state[k : 2 * k]
    whole = summed(held) + state[2 * k + 1]
    squares = state[2 * k]
    if not (filled < inf and whole < inf and squares < inf):
        return None
    lower = [share / whole for share in held] if whole > 0 else held
    conflict = max(squares / filled - summed([share * share for share in probability]), 0.0) if filled > 0 else 0.0
    score = [scale * (share - 1.0 / k) for share in probability]
    return bounded(probability, lower, conflict, score[1] if k == 2 else score)


def bounded(
    probability: Numbers, lower: Numbers, conflict: float, score: float | Numbers, vacuity: float | None = None
) -> RowOpinion:
    """Bound as `opinion_from_lower` does."""
    if len(lower) == 2:
        return _two_bounded(probability, lower, conflict, score, vacuity)
    unassigned = 1.0 - summed(lower)
    low = [within(share, 0.0, 1.0) for share in lower]
    high = [within(share + unassigned, least, 1.0) for share, least in zip(lower, low, strict=True)]
    inside = list(map(within, probability, low, high))
    if vacuity is None:
        vacuity = within(1.0 - summed(low), 0.0, 1.0)
    return RowOpinion(inside, low, high, within(conflict, 0.0, 1.0), vacuity, score)


# Two classes are the most common case. Without lists they take half the time, 8 µs less per calibrated opinion.


def _mean_of_two(state: Numbers, scale: float) -> RowOpinion | None:
    """`mean_of_row` for two classes."""
    first, second, held_first, held_second, squares, unassigned = state
    filled, whole = first + second, held_first + held_second + unassigned
    if not (filled < inf and whole < inf and squares < inf):
        return None
    if filled > 0:
        first, second = first / filled, second / filled
        conflict = squares / filled - (first * first + second * second)
    else:
        first, second, conflict = 0.5, 0.5, 0.0
    if whole > 0:
        held_first, held_second = held_first / whole, held_second / whole
    return _two_bounded([first, second], [held_first, held_second], conflict, scale * (second - 0.5), None)


def _two_bounded(
    probability: Numbers, lower: Numbers, conflict: float, score: float | Numbers, vacuity: float | None
) -> RowOpinion:
    """`bounded` for two classes."""
    (first, second), (low, other_low) = probability, lower
    unassigned = 1.0 - (low + other_low)
    high, other_high = low + unassigned, other_low + unassigned
    low, other_low = within(low, 0.0, 1.0), within(other_low, 0.0, 1.0)
    high, other_high = within(high, low, 1.0), within(other_high, other_low, 1.0)
    first, second = within(first, low, high), within(second, other_low, other_high)
    if vacuity is None:
        vacuity = within(1.0 - (low + other_low), 0.0, 1.0)
    bounds = [low, other_low], [high, other_high]
    return RowOpinion([first, second], *bounds, within(conflict, 0.0, 1.0), vacuity, score)


def within(number: float, low: float, high: float) -> float:
    """Clip a number; ``min`` and ``max`` take twice as long."""
    least = low if number < low else number
    return high if least > high else least


def calibrated_shares(calibration: Calibration, floor: float, probability: Numbers) -> Numbers:
    """Return calibrated shares (K,), by a `Calibration` and its floor, from those of all trees or of each view."""
    n_classes = len(calibration.offsets)
    given = 1 + floor * n_classes
    logs = np.log(np.array([(share + floor) / given for share in probability])).tolist()
    gain, scores = calibration.gain, []
    if len(logs) > n_classes:
        sharpened, logs = _pooled(calibration, logs, n_classes)
    else:
        slope = calibration.slope
        sharpened = [slope * log for log in logs]
    for score, mixed, offset in zip(sharpened, *calibration.by_class, strict=True):
        for of_class, part in zip(logs, mixed, strict=False):  # empty without a mix
            score += of_class * part
        scores.append(gain * score + offset)
    highest = max(scores)
    shares: Numbers = np.exp(np.array([score - highest for score in scores])).tolist()
    total = summed(shares)
    return [share / total for share in shares]


def _pooled(calibration: Calibration, logs: Numbers, n_classes: int) -> tuple[Numbers, Numbers]:
    """Return the weighted sum of the logarithms (V · K,) of views, and the mean of those that are mixed, (K,) each."""
    assert calibration.views is not None
    assert calibration.weights is not None
    each = [logs[first : first + n_classes] for first in range(0, len(logs), n_classes)]
    weights, mixed = calibration.weights.tolist(), calibration.views.first
    pooled = [weights[0] * log for log in each[0]]
    for weight, own in zip(weights[1:], each[1:], strict=True):
        pooled = [score + weight * log for score, log in zip(pooled, own, strict=True)]
    total, part = each[mixed[0]], 1 / len(mixed)
    for view in mixed[1:]:
        total = [sum_so_far + log for sum_so_far, log in zip(total, each[view], strict=True)]
    return pooled, [log * part for log in total]


def with_shares(row: RowOpinion, shares: Numbers) -> RowOpinion:
    """Replace probabilities as `with_probability` does."""
    uncalibrated, vacuity = row.probability, row.vacuity
    replaced = shares if vacuity < 1 or max(uncalibrated) > min(uncalibrated) else uncalibrated
    known = 1.0 - vacuity
    return bounded(replaced, [known * share for share in replaced], row.conflict, row.score, vacuity)


def entropy_of(shares: Numbers) -> float:
    """Return the entropy of a distribution (K,) in bits."""
    logs = np.log2(np.array([share if share > 0 else 1.0 for share in shares])).tolist()
    return 0.0 - summed([share * log for share, log in zip(shares, logs, strict=True)])


def as_rows(numbers: Numbers) -> list[NDArray[np.float64]]:
    """Return each number as an array (1,)."""
    array = np.array(numbers)
    return [array[at : at + 1] for at in range(len(numbers))]
