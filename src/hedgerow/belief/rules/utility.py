"""Utility: set sizes -> what a correct set of that size is worth; the best set by it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Utility = str | Callable[[Floats], Floats]

UTILITIES: dict[str, Callable[[Floats], Floats]] = {
    "u65": lambda size: 1.6 / size - 0.6 / size**2,
    "u80": lambda size: 2.2 / size - 1.2 / size**2,
    "f1": lambda size: 2.0 / (1.0 + size),
}


def utility_of_size(utility: Utility, n_classes: int) -> Floats:
    """Utility, K -> worth of a correct set of size 1 ... K, (K,).

    Examples
    --------
    >>> utility_of_size("u65", 3).round(4)
    array([1.    , 0.65  , 0.4667])
    """
    check_utility(utility)
    sizes = np.arange(1, n_classes + 1, dtype=np.float64)
    worth = UTILITIES[utility] if isinstance(utility, str) else utility
    return np.asarray(worth(sizes), dtype=np.float64)


def check_utility(utility: Utility) -> None:
    """Refuse what is neither a known name nor a function of sizes."""
    if not callable(utility) and utility not in UTILITIES:
        raise ValueError(
            f"utility must be one of {tuple(UTILITIES)} or a function of set sizes, got {utility!r}; "
            "give g as a callable to use another"
        )


def best_prefix(support: Floats, worth: Floats, frame: Floats | float) -> Bools:
    """Support of classes (n, K), worth by size (K,), support of the frame -> best set, bool (n, K).

    For additive support the best set of each size takes the most supported classes (the first of a tie);
    among sizes of equal value the smallest is chosen.
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
