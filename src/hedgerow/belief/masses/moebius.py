"""Moebius: values of subsets -> their sums over subsets or supersets, and back, in K 2^K additions."""

from __future__ import annotations

import numpy as np

from hedgerow.belief.masses.frame import Floats, n_classes_of


def subset_sums(values: Floats) -> Floats:
    """(..., 2^K) -> (..., 2^K): f(A) -> sum of f(B) over B within A."""
    return _butterfly(values, 1, 0, np.add)


def subset_differences(sums: Floats) -> Floats:
    """(..., 2^K) -> (..., 2^K): the inverse of `subset_sums`."""
    return _butterfly(sums, 1, 0, np.subtract)


def superset_sums(values: Floats) -> Floats:
    """(..., 2^K) -> (..., 2^K): f(A) -> sum of f(B) over B that contain A."""
    return _butterfly(values, 0, 1, np.add)


def superset_differences(sums: Floats) -> Floats:
    """(..., 2^K) -> (..., 2^K): the inverse of `superset_sums`."""
    return _butterfly(sums, 0, 1, np.subtract)


def halves(values: Floats, k: int) -> Floats:
    """(..., 2^K) -> a view (..., 2^(K-1-k), 2, 2^k): subsets without and with class k, side by side."""
    return values.reshape(*values.shape[:-1], values.shape[-1] >> (k + 1), 2, 1 << k)


def _butterfly(values: Floats, target: int, source: int, change: np.ufunc) -> Floats:
    """(..., 2^K) -> a copy in which, for each class in turn, one half is changed by the other."""
    table = np.array(values, dtype=np.float64, order="C")
    for k in range(n_classes_of(table)):
        sides = halves(table, k)
        change(sides[..., target, :], sides[..., source, :], out=sides[..., target, :])
    return table
