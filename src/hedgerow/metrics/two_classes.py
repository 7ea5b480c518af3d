"""Binary metrics with confidence intervals."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import norm, rankdata

Floats = NDArray[np.float64]


class Estimate(NamedTuple):
    """A share or an area with its 95% interval; None without rows."""

    value: float | None
    lower: float | None = None
    upper: float | None = None


def share_of(right: int, rows: int, confidence: float = 0.95) -> Estimate:
    """Return the share of correct rows, with Wilson's interval.

    Examples
    --------
    >>> [round(each, 3) for each in share_of(9, 10)]
    [0.9, 0.596, 0.982]
    """
    if rows == 0:
        return Estimate(None)
    z = float(norm.ppf((1 + confidence) / 2))
    share, bend = right / rows, z * z / rows
    centre = (share + bend / 2) / (1 + bend)
    half = z * np.sqrt(share * (1 - share) / rows + bend / (4 * rows)) / (1 + bend)
    return Estimate(share, max(0.0, float(centre - half)), min(1.0, float(centre + half)))


def rates(truth: ArrayLike, predicted: ArrayLike) -> dict[str, Estimate]:
    """Return sensitivity, specificity and predictive values of positive rows (n,)."""
    is_positive, called = np.asarray(truth, dtype=bool), np.asarray(predicted, dtype=bool)
    both, neither = int((is_positive & called).sum()), int((~is_positive & ~called).sum())
    return {
        "sensitivity": share_of(both, int(is_positive.sum())),
        "specificity": share_of(neither, int((~is_positive).sum())),
        "positive_predictive_value": share_of(both, int(called.sum())),
        "negative_predictive_value": share_of(neither, int((~called).sum())),
    }


def auc(truth: ArrayLike, score: ArrayLike, confidence: float = 0.95) -> Estimate:
    """Return the area under the ROC curve, with DeLong's interval.

    The area is the probability that a positive row has a higher score than a negative one; a tie counts half.

    References
    ----------
    E. DeLong, D. DeLong, D. Clarke-Pearson: Comparing the areas under two or more correlated receiver operating
    characteristic curves: a nonparametric approach. Biometrics 44 (1988).

    Examples
    --------
    >>> auc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]).value
    0.75
    """
    is_positive, scores = np.asarray(truth, dtype=bool), np.asarray(score, dtype=np.float64)
    positive, negative = scores[is_positive], scores[~is_positive]
    n_positive, n_negative = len(positive), len(negative)
    if not n_positive or not n_negative:
        return Estimate(None)
    ranks = rankdata(np.concatenate([positive, negative]))
    above = (ranks[:n_positive] - rankdata(positive)) / n_negative  # share of negatives below each positive row
    below = 1 - (ranks[n_positive:] - rankdata(negative)) / n_positive
    area = float(above.mean())
    if n_positive < 2 or n_negative < 2:
        return Estimate(area)
    spread = np.sqrt(above.var(ddof=1) / n_positive + below.var(ddof=1) / n_negative)
    half = float(norm.ppf((1 + confidence) / 2) * spread)
    return Estimate(area, max(0.0, area - half), min(1.0, area + half))
