"""Margins of a calibrated forest by their definition: at chosen leaves, and the bound of all choices."""

from __future__ import annotations

import numpy as np

from hedgerow.belief.calibrate import FLOOR, Calibration, log_shares, softmax

ROUNDING = 1e-9
"""By how much sums that are taken in another order may differ."""


def mapped_at(shares: np.ndarray, vacuity: np.ndarray, calibration: Calibration, leaves: np.ndarray) -> np.ndarray:
    """Probabilities (L, K), vacuities (L,), a leaf of each tree (m, T) -> (m, K, K): the margins there."""
    said = softmax(calibration.scores(log_shares(shares[leaves].mean(axis=1))))
    open_ = vacuity[leaves].mean(axis=1)[:, None, None]
    return (1 - open_) * (said[:, :, None] - said[:, None, :]) - open_ + ROUNDING


def mapped_most(shares: np.ndarray, vacuity: np.ndarray, calibration: Calibration, starts: np.ndarray) -> np.ndarray:
    """Leaves in the order of trees, the first of each tree (T,) -> (K, K): no choice has larger margins."""
    sums = np.column_stack([shares, vacuity]) / len(starts)
    ends = [each.reduceat(sums, starts, axis=0).sum(axis=0) for each in (np.minimum, np.maximum)]
    low, high = (np.log((end[:-1] + FLOOR) / (1 + FLOOR * len(end[:-1]))) for end in ends)
    rates = calibration.gain * (calibration.slope * np.eye(len(low)) + calibration.mix)
    of_pair = rates.T[:, None, :] - rates.T[None, :, :]
    ahead = np.maximum(of_pair * low, of_pair * high).sum(axis=2)
    ahead += calibration.offsets[:, None] - calibration.offsets[None, :]
    behind = np.exp(-np.clip(ahead, -700, 700))
    most = 1 / behind.sum(axis=1, keepdims=True)
    least = max(0.0, float(ends[0][-1]))
    return (1 - least) * most * np.maximum(1 - behind, 0.0) - least + ROUNDING
