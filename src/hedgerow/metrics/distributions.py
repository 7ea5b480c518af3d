"""Scores of predicted distributions of continuous targets."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def crps(
    y: ArrayLike, values: ArrayLike, *, weights: ArrayLike | None = None, sample_weight: ArrayLike | None = None
) -> float:
    """Return the mean continuous ranked probability score of weighted samples.

    The score of a distribution with cumulative function F is the integral of the squared difference of F and the step
    at the target [1]_. It is in the units of the target, and smaller is better. For a single value it is the absolute
    error.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Targets.
    values : array-like of shape (n_samples, n_values)
        Draws from, or atoms of, the predicted distribution of each sample, in any order.
    weights : array-like of shape (n_samples, n_values), default=None
        Their weights; None means equal weights.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the samples.

    Returns
    -------
    float

    References
    ----------
    .. [1] T. Gneiting, A. E. Raftery: Strictly proper scoring rules, prediction, and estimation. JASA 102, 2007.

    Examples
    --------
    >>> crps([2.0], [[1.0, 3.0]])
    0.5
    """
    targets, table = np.asarray(y, dtype=np.float64), np.asarray(values, dtype=np.float64)
    if targets.ndim != 1 or table.ndim != 2 or len(table) != len(targets) or not table.size:
        raise ValueError(f"values must have shape ({len(targets)}, n_values), got {table.shape}.")
    heavy = np.ones(table.shape) if weights is None else np.asarray(weights, dtype=np.float64)
    if heavy.shape != table.shape or not (heavy >= 0).all() or not (heavy.sum(axis=1) > 0).all():
        raise ValueError(f"weights must be non-negative, not all zero, of shape {table.shape}, got {heavy.shape}.")
    order = np.argsort(table, axis=1, kind="stable")
    scores = crps_of_atoms(targets, np.take_along_axis(table, order, 1), np.take_along_axis(heavy, order, 1))
    return float(np.average(scores, weights=None if sample_weight is None else np.asarray(sample_weight)))


def crps_of_atoms(y: Floats, values: Floats, weights: Floats) -> Floats:
    """Return the score (n,) of targets (n,), given ascending atoms and weights (n, m).

    It is the mean distance from the target minus half the mean distance between two atoms, which is the integral of
    F (1 - F).
    """
    weights = weights / weights.sum(axis=1, keepdims=True)
    below = np.cumsum(weights, axis=1)[:, :-1]
    apart = (below * (1 - below) * np.diff(values, axis=1)).sum(axis=1)
    return np.asarray((weights * np.abs(values - y[:, None])).sum(axis=1) - apart)
