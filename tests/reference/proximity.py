"""Proximity, densely: leaves of all rows (n, T) -> tables (n, m) of which rows share them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def dense_proximity(leaves: NDArray[np.int32], others: NDArray[np.int32]) -> Floats:
    """(n, T), (m, T) -> (n, m): share of trees in which two rows share a leaf."""
    return np.asarray((leaves[:, None, :] == others[None, :, :]).mean(axis=2))


def dense_outside_proximity(leaves: NDArray[np.int32], bag: NDArray[np.int64]) -> Floats:
    """Leaves and multiplicities (n, T) -> (n, n): the share among the trees that have seen neither row, else 0."""
    outside = bag == 0
    both = (outside[:, None, :] & outside[None, :, :]).astype(float)
    shared = (leaves[:, None, :] == leaves[None, :, :]) & (both > 0)
    return np.asarray(shared.sum(axis=2) / np.maximum(both.sum(axis=2), 1))


def dense_weights(leaves: NDArray[np.int32], training: NDArray[np.int32], times: NDArray[np.int64]) -> Floats:
    """Leaves (n, T) and (m, T), how often training rows count (m, T) -> (n, m): weights of the training rows."""
    shared = (leaves[:, None, :] == training[None, :, :]) * times[None, :, :]
    total = shared.sum(axis=1)
    shares = shared / np.maximum(total, 1)[:, None, :]
    return np.asarray(shares.sum(axis=2) / (total > 0).sum(axis=1)[:, None])
