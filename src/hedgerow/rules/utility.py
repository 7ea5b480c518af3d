"""Utility: set sizes -> what a correct set of that size is worth; the best set by it."""

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
    """Utility, K, beta (only for "f_beta") -> worth of a correct set of size 1 ... K, (K,).

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
            f"utility must be {n_classes} finite numbers, none negative, one for each size of a set, got "
            f"{values.tolist()}; g(1) is usually 1 and g falls with the size"
        )
    return values


def _named(name: str, sizes: NDArray[np.int_], beta: float) -> Floats:
    """Name, (K,) -> (K,)."""
    if name in ("u65", "u80"):
        return quadratic_utility(1 / sizes, {"u65": 0.65, "u80": 0.80}[name])
    if name in ("f1", "f_beta"):
        return f_beta_utility(sizes, 1.0 if name == "f1" else beta)
    raise ValueError(
        f"utility must be one of {NAMES}, a function of the size of a set or an array, got {name!r}; choose one of them"
    )


def quadratic_utility(discount: ArrayLike, z: float) -> Floats:
    """Quadratic utility ``(2 - 4z) d^2 + (4z - 1) d``, which is 0 at d = 0, z at d = 1/2 and 1 at d = 1.

    Parameters
    ----------
    discount : array-like, any shape
        d = 1 / |A| if the set A holds the true class, otherwise 0.
    z : float
        The utility of a correct pair: .65 for u65, .80 for u80, .5 for discounted accuracy.

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
    """F measure of a correct set, ``(1 + beta^2) / (size + beta^2)``.

    Parameters
    ----------
    size : array-like, any shape
        Number of classes in the set.
    beta : float >= 0
        0 is discounted accuracy; the larger, the less a large set costs.

    Returns
    -------
    float64 array of the same shape

    Examples
    --------
    >>> f_beta_utility([1, 3]).tolist()
    [1.0, 0.5]
    """
    if not (np.isfinite(beta) and beta >= 0):
        raise ValueError(f"beta must be finite and at least 0, got {beta!r}; 1 weighs both sides equally")
    square = float(beta) ** 2
    worth: Floats = (1 + square) / (np.asarray(size, dtype=np.float64) + square)
    return worth


def best_prefix(support: Floats, worth: Floats, frame: Floats | float) -> Bools:
    """Support of classes (n, K), worth by size (K,), support of all classes together -> best set, bool (n, K).

    Because support adds up, the best set of each size consists of the most supported classes (the first of a tie).
    Among sizes of equal value the smallest is chosen.
    """
    order = np.argsort(-support, axis=1, kind="stable")
    total = np.cumsum(np.take_along_axis(support, order, axis=1), axis=1)
    total[:, -1] = frame
    value = total * worth
    size = np.argmax(value >= value.max(axis=1, keepdims=True) - 1e-12, axis=1)
    return first_of(order, size)


def first_of(order: NDArray[np.int64], last: NDArray[np.int64]) -> Bools:
    """Classes in order (n, K), last place taken (n,) -> bool (n, K)."""
    chosen = np.zeros_like(order, dtype=bool)
    np.put_along_axis(chosen, order, np.arange(order.shape[1]) <= last[:, None], axis=1)
    return chosen
