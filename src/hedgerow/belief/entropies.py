"""Entropies and non-specificity of sets of distributions between bounds."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedgerow.belief.leaf import Floats, entropy
from hedgerow.belief.masses.frame import row_products

#: Largest number of classes for which `lower_entropy` and `generalised_hartley` handle any bounds.
MOST_CLASSES = 10
_TIE = 1e-12


def upper_entropy(lower: ArrayLike, upper: ArrayLike) -> Floats:
    """Return the largest Shannon entropy, in bits, of a distribution between bounds.

    The mass that the lower probabilities leave unassigned raises the least probable classes to one level, each at most
    to its upper probability.

    Parameters
    ----------
    lower, upper : array-like (n, K)
        Lower and upper probabilities, with at least one distribution between them.

    Returns
    -------
    float64 (n,)

    Examples
    --------
    >>> upper_entropy([[0.5, 0.0, 0.0]], [[1.0, 0.5, 0.5]])
    array([1.5])
    """
    low, high = _checked(lower, upper)
    n_classes = low.shape[1]
    ends = np.sort(np.hstack([low, high]), axis=1)  # between two of these the sum is linear in the level
    filled = np.clip(ends[:, :, None], low[:, None, :], high[:, None, :]).sum(axis=2)
    at = np.clip((filled < 1.0).sum(axis=1), 1, 2 * n_classes - 1)[:, None]
    below, above = (np.take_along_axis(filled, at - step, axis=1) for step in (1, 0))
    start, end = (np.take_along_axis(ends, at - step, axis=1) for step in (1, 0))
    part = np.divide(1.0 - below, above - below, out=np.zeros_like(below), where=above > below)
    level = start + np.clip(part, 0.0, 1.0) * (end - start)
    return entropy(np.clip(level, low, high))


def lower_entropy(lower: ArrayLike, upper: ArrayLike) -> Floats:
    """Return the smallest Shannon entropy, in bits, of a distribution between bounds.

    It is attained where all classes but one are at a bound. If every upper probability leaves room for all unassigned
    mass, the most probable class takes it. Otherwise all such distributions are compared, for at most ten classes.

    Parameters
    ----------
    lower, upper : array-like (n, K)
        Lower and upper probabilities, with at least one distribution between them.

    Returns
    -------
    float64 (n,)

    Examples
    --------
    >>> lower_entropy([[0.5, 0.25, 0.0]], [[0.75, 0.5, 0.25]]).round(6)
    array([0.811278])
    """
    low, high = _checked(lower, upper)
    n_classes = low.shape[1]
    spare = 1.0 - low.sum(axis=1, keepdims=True)
    if (high >= low + spare - _TIE).all():
        best = low.copy()
        np.put_along_axis(best, low.argmax(axis=1)[:, None], low.max(axis=1, keepdims=True) + spare, axis=1)
        return entropy(best)
    if n_classes > MOST_CLASSES:
        raise ValueError(
            f"lower must have at most {MOST_CLASSES} classes unless every upper bound leaves room for the unassigned "
            f"mass, got {n_classes} classes. Use upper_entropy."
        )
    least = np.full(len(low), np.inf)
    for raised in range(1 << n_classes):
        at_upper = (raised >> np.arange(n_classes)) & 1 == 1
        corner = np.where(at_upper, high, low)
        for free in np.flatnonzero(~at_upper):
            rest = 1.0 - np.delete(corner, free, axis=1).sum(axis=1)
            allowed = (rest >= low[:, free] - _TIE) & (rest <= high[:, free] + _TIE)
            point = corner.copy()
            point[:, free] = np.clip(rest, low[:, free], high[:, free])
            least = np.where(allowed, np.minimum(least, entropy(point)), least)
    return least


def generalised_hartley(lower: ArrayLike, upper: ArrayLike) -> Floats:
    """Return the generalised Hartley measure, in bits, of the distributions between bounds.

    It is the sum of m(A) log2 |A|, where m is the Möbius inverse of the lower probabilities of sets of classes
    (Abellán and Moral, 2000): 0 for a single distribution, log2(K) for all.

    Parameters
    ----------
    lower, upper : array-like (n, K)
        Lower and upper probabilities, with at least one distribution between them.

    Returns
    -------
    float64 (n,)

    Examples
    --------
    >>> generalised_hartley([[0.25, 0.25], [0.0, 0.0]], [[0.75, 0.75], [1.0, 1.0]])
    array([0.5, 1. ])
    """
    low, high = _checked(lower, upper)
    n_classes = low.shape[1]
    spare = 1.0 - low.sum(axis=1, keepdims=True)
    simple = (high >= low + spare - _TIE).all(axis=1)  # only single classes and the frame have mass
    of_frame = np.maximum(spare[:, 0], 0.0) * np.log2(n_classes)
    if simple.all():
        return np.asarray(of_frame)
    check_few_classes(n_classes)
    low = np.maximum(low, 1.0 - (high.sum(axis=1, keepdims=True) - high))  # what can be reached
    high = np.minimum(high, 1.0 - (low.sum(axis=1, keepdims=True) - low))
    members = members_of_subsets(n_classes)
    inside, outside = row_products(low, members), row_products(high, 1.0 - members)
    return np.where(simple, of_frame, hartley_of_lower(np.maximum(inside, 1.0 - outside)))


def hartley_of_lower(lower: Floats) -> Floats:
    """Return the generalised Hartley measure (n,) of lower probabilities of all sets, (n, 2^K)."""
    mass = lower.copy()
    n_classes = mass.shape[1].bit_length() - 1
    for label in range(n_classes):
        halves = mass.reshape(len(mass), -1, 2, 1 << label)
        halves[:, :, 1] -= halves[:, :, 0]
    sizes = members_of_subsets(n_classes).sum(axis=0)
    hartley = np.clip((mass * np.log2(np.maximum(sizes, 1.0))).sum(axis=1), 0.0, np.log2(n_classes))
    return np.asarray(hartley + 0.0)  # -0.0 may stay in `clip`, depending on the number of rows


def members_of_subsets(n_classes: int) -> Floats:
    """Return whether each class is in each set of classes, (K, 2^K), as numbers."""
    members: Floats = ((np.arange(1 << n_classes) >> np.arange(n_classes)[:, None]) & 1).astype(np.float64)
    return members


def check_few_classes(n_classes: int) -> None:
    """Raise if there are too many classes for all sets of them."""
    if n_classes > MOST_CLASSES:
        raise ValueError(f"The generalised Hartley measure requires at most {MOST_CLASSES} classes, got {n_classes}.")


def _checked(lower: ArrayLike, upper: ArrayLike) -> tuple[Floats, Floats]:
    """Return both bounds as (n, K); raise if no distribution lies between them."""
    low, high = (np.asarray(bound, dtype=np.float64) for bound in (lower, upper))
    if low.ndim != 2 or low.shape != high.shape:
        raise ValueError(f"lower and upper must have the shape (n, K), got {low.shape} and {high.shape}.")
    slack = 1e-9
    sound: NDArray[np.bool_] = (low >= -slack) & (high <= 1 + slack) & (low <= high + slack)
    room = (low.sum(axis=1) <= 1 + slack) & (high.sum(axis=1) >= 1 - slack)
    if not (sound.all() and room.all()):
        row = int(np.flatnonzero(~(sound.all(axis=1) & room))[0])
        raise ValueError(
            "lower and upper must have a distribution between them, "
            f"got {low[row].tolist()} and {high[row].tolist()} in row {row}."
        )
    return low, high
