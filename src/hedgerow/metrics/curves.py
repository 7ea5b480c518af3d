"""Accuracy-rejection and risk-coverage curves."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedgerow.metrics.sets import checked_weight

Floats = NDArray[np.float64]


class AccuracyRejectionCurve(NamedTuple):
    """Curve from keeping every row to keeping only the most confident rows."""

    rejection: Floats
    accuracy: Floats
    confidence: Floats


class RiskCoverageCurve(NamedTuple):
    """Curve from keeping only the most confident rows to keeping every row."""

    coverage: Floats
    risk: Floats
    confidence: Floats


def accuracy_rejection_curve(
    y: ArrayLike, predicted: ArrayLike, confidence: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> AccuracyRejectionCurve:
    """Return the accuracy of kept rows if the least confident rows are rejected.

    Parameters
    ----------
    y, predicted : array-like (n,)
        True and predicted classes.
    confidence : array-like (n,)
        Rows with small confidence are rejected first. It may be the largest probability, minus the vacuity, or minus
        the set size. Rows of equal confidence are rejected together.
    sample_weight : array-like (n,) or None
        Weight of each row.

    Returns
    -------
    AccuracyRejectionCurve
        ``rejection`` (share of rejected rows, rising from 0), ``accuracy`` (of the rest) and ``confidence`` (of the
        least confident kept row), float arrays (m,), one entry per distinct confidence. The curve stops before
        everything is rejected, since accuracy on no rows is not a number.

    Examples
    --------
    >>> curve = accuracy_rejection_curve([0, 1, 1, 0], [0, 1, 0, 0], [0.9, 0.8, 0.6, 0.6])
    >>> curve.rejection.tolist(), curve.accuracy.tolist()
    ([0.0, 0.5, 0.75], [0.75, 1.0, 1.0])
    """
    kept, right, level = _kept_and_right(y, predicted, confidence, sample_weight)
    return AccuracyRejectionCurve((1.0 - kept)[::-1], (right / kept)[::-1], level[::-1])


def area_under_accuracy_rejection(
    y: ArrayLike, predicted: ArrayLike, confidence: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """Return the mean accuracy over all shares of rejected rows, from none to all.

    This is the exact integral, without a grid. Rows of equal confidence count as if they were in random order,
    so the area is the accuracy itself if all rows are equally confident.

    Parameters
    ----------
    y, predicted, confidence, sample_weight
        As in `accuracy_rejection_curve`.

    Returns
    -------
    float

    Examples
    --------
    >>> round(area_under_accuracy_rejection([0, 1, 1, 0], [0, 1, 0, 0], [1, 1, 1, 1]), 6)
    0.75
    """
    kept, right, _ = _kept_and_right(y, predicted, confidence, sample_weight)
    start, end = kept[:-1], kept[1:]
    # Within a group of ties right(kept) is a straight line offset + slope * kept, and the accuracy is
    # right(kept) / kept; the most confident group starts at 0, where its accuracy is constant.
    slope = np.diff(right) / np.diff(kept)
    offset = right[:-1] - slope * start
    later = offset * np.log(end / start) + slope * (end - start)
    return float(right[0] + later.sum())


def risk_coverage_curve(
    y: ArrayLike, predicted: ArrayLike, confidence: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> RiskCoverageCurve:
    """Return the error of kept rows against the share of kept rows.

    This is the accuracy-rejection curve with ``coverage = 1 - rejection`` (the share of kept rows, not the share of
    sets that contain the truth) and ``risk = 1 - accuracy``. The area under it is
    ``1 - area_under_accuracy_rejection(...)``.

    Parameters
    ----------
    y, predicted, confidence, sample_weight
        As in `accuracy_rejection_curve`.

    Returns
    -------
    RiskCoverageCurve
        ``coverage`` (rising to 1), ``risk`` and ``confidence``, float arrays (m,).

    Examples
    --------
    >>> curve = risk_coverage_curve([0, 1, 1, 0], [0, 1, 0, 0], [0.9, 0.8, 0.6, 0.6])
    >>> curve.coverage.tolist(), curve.risk.tolist()
    ([0.25, 0.5, 1.0], [0.0, 0.0, 0.25])
    """
    kept, right, level = _kept_and_right(y, predicted, confidence, sample_weight)
    return RiskCoverageCurve(kept, 1.0 - right / kept, level)


def _kept_and_right(
    y: ArrayLike, predicted: ArrayLike, confidence: ArrayLike, sample_weight: ArrayLike | None
) -> tuple[Floats, Floats, Floats]:
    """Return kept weight, correct weight and confidence, by falling confidence."""
    truth, label = np.asarray(y), np.asarray(predicted)
    level = np.asarray(confidence, dtype=np.float64)
    if truth.ndim != 1 or truth.size == 0 or not truth.shape == label.shape == level.shape:
        raise ValueError(
            "y, predicted and confidence must have the same shape (n,) with n >= 1, got "
            f"{truth.shape}, {label.shape} and {level.shape}."
        )
    if np.isnan(level).any():
        raise ValueError(
            f"confidence must not be NaN, got NaN in {int(np.isnan(level).sum())} rows. "
            "Use 0 for rows without any information."
        )
    weight = checked_weight(sample_weight, len(truth))
    counted = weight > 0
    distinct, group = np.unique(-level[counted], return_inverse=True)
    kept = np.cumsum(np.bincount(group, weight[counted]))
    right = np.cumsum(np.bincount(group, weight[counted] * (truth == label)[counted]))
    return kept / kept[-1], right / kept[-1], -distinct
