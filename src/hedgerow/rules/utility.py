"""Utilities of correct sets by size, and the best set."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
#: A name, a function of one size, or values for the sizes 1 to K.
Utility = str | Callable[[int], float] | ArrayLike
NAMES = ("u65", "u80", "f1", "f_beta")


def utility_of_size(utility: Utility, n_classes: int, beta: float = 1.0) -> Floats:
    """Return the utility (K,) of a correct set of size 1 ... K; beta is for "f_beta".

    Examples
    --------
    >>> utility_of_size("u65", 3).round(4)
    array([1.    , 0.65  , 0.4667])
    >>> utility_of_size(lambda size: 1 / size, 2)
    array([1. , 0.5])
    """
    sizes = np.arange(1, n_classes + 1)
    if isinstance(utility, str):
        return _named(utility, sizes, beta)
    values = np.asarray([utility(int(size)) for size in sizes] if callable(utility) else utility, dtype=np.float64)
    if values.shape != (n_classes,) or not np.isfinite(values).all() or (values < 0).any():
        raise ValueError(
            f"utility must be {n_classes} finite non-negative numbers, one per set size, got {values.tolist()}. "
            "Usually g(1) is 1, and g falls with the size."
        )
    return values


def _named(name: str, sizes: NDArray[np.int_], beta: float) -> Floats:
    """Return the utility (K,) with this name."""
    if name in ("u65", "u80"):
        return quadratic_utility(1 / sizes, {"u65": 0.65, "u80": 0.80}[name])
    if name in ("f1", "f_beta"):
        return f_beta_utility(sizes, 1.0 if name == "f1" else beta)
    raise ValueError(f"utility must be one of {NAMES}, a function of the set size or an array, got {name!r}.")


def quadratic_utility(discount: ArrayLike, z: float) -> Floats:
    """Return the quadratic utility ``(2 - 4z) d^2 + (4z - 1) d``.

    It is 0 at d = 0, z at d = 1/2 and 1 at d = 1.

    Parameters
    ----------
    discount : array-like, any shape
        d = 1 / |A| if the set A contains the true class, otherwise 0.
    z : float
        Utility of a correct pair: 0.65 for u65, 0.80 for u80, 0.5 for discounted accuracy.

    Returns
    -------
    float64 array of the same shape

    Examples
    --------
    >>> quadratic_utility([0, 0.5, 1], 0.65).round(3).tolist()
    [0.0, 0.65, 1.0]
    """
    d = np.asarray(discount, dtype=np.float64)
    worth: Floats = ((2 - 4 * z) * d + (4 * z - 1)) * d
    return worth


def f_beta_utility(size: ArrayLike, beta: float = 1.0) -> Floats:
    """Return the F measure of a correct set, ``(1 + beta^2) / (size + beta^2)``.

    Parameters
    ----------
    size : array-like, any shape
        Number of classes in the set.
    beta : float >= 0
        0 is discounted accuracy; larger values penalise large sets less.

    Returns
    -------
    float64 array of the same shape

    Examples
    --------
    >>> f_beta_utility([1, 3]).tolist()
    [1.0, 0.5]
    """
    if not (np.isfinite(beta) and beta >= 0):
        raise ValueError(f"beta must be finite and non-negative, got {beta!r}.")
    square = float(beta) ** 2
    worth: Floats = (1 + square) / (np.asarray(size, dtype=np.float64) + square)
    return worth


def best_prefix(support: Floats, worth: Floats, frame: Floats | float) -> Bools:
    """Return the set of largest total support times utility, bool (n, K).

    `frame` is the support of all classes together. Because support is additive, the best set of each size consists of
    the most supported classes (the first of a tie). Among sizes of equal value the smallest is chosen.
    """
    order = np.argsort(-support, axis=1, kind="stable")
    total = np.cumsum(np.take_along_axis(support, order, axis=1), axis=1)
    total[:, -1] = frame
    value = total * worth
    size = np.argmax(value >= value.max(axis=1, keepdims=True) - 1e-12, axis=1)
    return first_of(order, size)


def first_of(order: NDArray[np.int64], last: NDArray[np.int64]) -> Bools:
    """Return the classes up to the last place taken, bool (n, K)."""
    chosen = np.zeros_like(order, dtype=bool)
    np.put_along_axis(chosen, order, np.arange(order.shape[1]) <= last[:, None], axis=1)
    return chosen
