"""Credal sets of probability intervals, and expectations over them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

#: Two numbers closer than this are a tie: bounds are sums of thousands of rounded terms.
TIE = 1e-12

#: Sums of bounds that miss 1 by no more than this are rounded (from float32, for instance).
ROUNDING = 1e-6


def reachable(lower: ArrayLike, upper: ArrayLike) -> tuple[Floats, Floats]:
    """Tighten probability intervals until some distribution attains every bound.

    ``l_k <- max(l_k, 1 - sum of the other u)`` and ``u_k <- min(u_k, 1 - sum of the other l)``; one pass is enough. The
    set of distributions between the bounds does not change. Bounds that are reachable to within 1e-12 are returned
    unchanged, so that rounding breaks no tie. If all rows are, the arrays themselves are returned.

    Parameters
    ----------
    lower, upper : array-like (..., K)
        Lower and upper probability of each class.

    Returns
    -------
    lower, upper : float64 arrays (..., K)
        Reachable bounds.

    Raises
    ------
    ValueError
        If no distribution lies between the bounds.

    Examples
    --------
    >>> lower, upper = reachable([[0.5, 0.0, 0.0]], [[1.0, 0.9, 0.1]])
    >>> lower.tolist(), upper.tolist()
    ([[0.5, 0.0, 0.0]], [[1.0, 0.5, 0.1]])
    """
    if _is_reachable_row(lower, upper):
        return lower, upper  # type: ignore[return-value]
    return tightened(*_checked_bounds(lower, upper))


def tightened(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Tighten as `reachable` does, for checked bounds."""
    room, excess = _room_and_excess(low, high)
    width = high - low
    # a bound is not reachable if the interval is wider than the other classes can give or take
    if not (width > np.minimum(room, excess) + TIE).any():
        return low, high
    tight_low = np.where(width > excess + TIE, np.minimum(high - excess, high), low)
    tight_high = np.where(width > room + TIE, np.maximum(low + room, low), high)
    return np.minimum(tight_low, tight_high), tight_high


def _is_reachable_row(lower: Any, upper: Any) -> bool:
    """Return whether bounds (1, K) are surely reachable, in a tenth of NumPy's time."""
    arrays = type(lower) is np.ndarray and type(upper) is np.ndarray and lower.dtype.char == upper.dtype.char == "d"
    if not arrays or lower.ndim != 2 or len(lower) != 1 or lower.shape != upper.shape:
        return False
    low, high = lower[0].tolist(), upper[0].tolist()
    given, most = sum(low), sum(high)
    if given > 1.0 + TIE / 4 or most < 1.0 - TIE / 4:
        return False
    room = min(1.0 - given, most - 1.0) + TIE / 2
    return all(0.0 <= a <= b <= 1.0 and b - a <= room for a, b in zip(low, high, strict=True))


def pignistic_from_bounds(lower: ArrayLike, upper: ArrayLike) -> Floats:
    """Return the distribution that divides all intervals in the same ratio.

    The unassigned mass is shared in proportion to the widths of the intervals.

    This is the pignistic probability for two classes, for imprecise Dirichlet leaves and their averages, and for any
    mass on single classes and the frame. For other intervals it is Cuzzolin's intersection probability, the only
    distribution that divides every interval in the same ratio.

    Parameters
    ----------
    lower, upper : array-like (..., K)
        Reachable bounds (see `reachable`).

    Returns
    -------
    float64 array (..., K)
        Distribution between the bounds.

    Examples
    --------
    >>> pignistic_from_bounds([0.6, 0.2], [0.8, 0.4]).round(3).tolist()
    [0.7, 0.3]
    """
    return shared_out(*_checked_bounds(lower, upper))


def shared_out(low: Floats, high: Floats) -> Floats:
    """Divide intervals as `pignistic_from_bounds` does, for checked bounds."""
    width = high - low
    room = _room(low, high)
    spread = width.sum(axis=-1, keepdims=True)
    shared: Floats = low + width * (room / np.where(spread > 0, spread, 1.0))
    return shared


def lower_expectation(utility: ArrayLike, lower: ArrayLike, upper: ArrayLike) -> Floats:
    """Return the smallest expected utility of each action between the bounds.

    Parameters
    ----------
    utility : array-like (A, K)
        Utility of each action if each class is true.
    lower, upper : array-like (n, K)
        Reachable bounds (see `reachable`).

    Returns
    -------
    float64 array (n, A)

    Examples
    --------
    >>> lower_expectation([[1, 0], [0, 1]], [[0.6, 0.2]], [[0.8, 0.4]]).tolist()
    [[0.6, 0.2]]
    """
    low, high = _checked_bounds(lower, upper)
    actions = np.asarray(utility, dtype=np.float64)
    # a dot product per row, because a BLAS product can give equal rows different last bits
    smallest = [np.einsum("nk,k->n", _worst_distribution(action, low, high), action) for action in actions]
    return np.stack(smallest, axis=1)


def upper_expectation(utility: ArrayLike, lower: ArrayLike, upper: ArrayLike) -> Floats:
    """Return the largest expected utility of each action between the bounds.

    Parameters
    ----------
    utility : array-like (A, K)
        Utility of each action if each class is true.
    lower, upper : array-like (n, K)
        Reachable bounds (see `reachable`).

    Returns
    -------
    float64 array (n, A)

    Examples
    --------
    >>> upper_expectation([[1, 0], [0, 1]], [[0.6, 0.2]], [[0.8, 0.4]]).round(3).tolist()
    [[0.8, 0.4]]
    """
    return -lower_expectation(-np.asarray(utility, dtype=np.float64), lower, upper)


def best_distribution(action: Floats, lower: Floats, upper: Floats) -> Floats:
    """Return the distribution (n, K) of the largest expected utility."""
    return _worst_distribution(-action, lower, upper)


def _worst_distribution(action: Floats, lower: Floats, upper: Floats) -> Floats:
    """Return the distribution (n, K) of the smallest expected utility."""
    order = np.argsort(action, kind="stable")
    width = (upper - lower)[:, order]
    room = _room(lower, upper)
    before = np.zeros_like(width)
    np.cumsum(width[:, :-1], axis=1, out=before[:, 1:])
    worst = lower.copy()
    worst[:, order] += np.clip(room - before, 0.0, width)
    return worst


def _room(lower: Floats, upper: Floats) -> Floats:
    """Return 1 minus the sum of lower bounds, at most the total width."""
    return _room_and_excess(lower, upper)[0]


def _room_and_excess(lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
    """Return the same, and the sum of upper bounds minus 1, at most the total width."""
    low, high = _sum(lower), _sum(upper)
    whole = np.minimum(np.maximum(low, 1.0), high)  # np.clip takes three times as long for a row
    return whole - low, high - whole


def _sum(values: Floats) -> Floats:
    """Sum over classes; for few classes several times as fast as ``sum(axis=-1)``."""
    total: Floats = np.einsum("...k->...", values)[..., None]
    return total


def _checked_bounds(lower: ArrayLike, upper: ArrayLike) -> tuple[Floats, Floats]:
    """Return bounds as float64; raise if no distribution lies between them."""
    low, high = np.asarray(lower, dtype=np.float64), np.asarray(upper, dtype=np.float64)
    if low.shape != high.shape or low.ndim == 0 or low.shape[-1] == 0:
        raise ValueError(
            f"lower and upper must have the same shape (..., K) with K >= 1, got {low.shape} and {high.shape}."
        )
    if low.size and not _surely_bounds(low, high):
        _refuse_rows(~(np.isfinite(low) & np.isfinite(high)), "lower and upper must be finite", low, high)
        outside = (low < -ROUNDING) | (high > 1 + ROUNDING) | (low > high + ROUNDING)
        _refuse_rows(outside, "bounds must satisfy 0 <= lower <= upper <= 1", low, high)
        low = np.clip(low, 0.0, 1.0)
        high = np.maximum(low, np.clip(high, 0.0, 1.0))
    empty = (_sum(low) > 1 + ROUNDING) | (_sum(high) < 1 - ROUNDING)
    reason = "lower bounds must sum to at most 1 and upper bounds to at least 1"
    _refuse_rows(empty, reason, low, high)
    return low, high


def _surely_bounds(lower: Floats, upper: Floats) -> bool:
    """Return whether 0 <= lower <= upper <= 1 everywhere; False with a NaN."""
    return bool(lower.min() >= 0 and upper.max() <= 1 and (lower <= upper).all())


def _refuse_rows(bad: NDArray[np.bool_], constraint: str, lower: Floats, upper: Floats) -> None:
    """Raise with the first row that violates the constraint, if there is one."""
    if not bad.any():
        return
    row = tuple(int(position[0]) for position in np.nonzero(bad.any(axis=-1, keepdims=True)))[:-1]
    raise ValueError(
        f"{constraint}, got lower {lower[row].tolist()} and upper {upper[row].tolist()} in row "
        f"{row[0] if len(row) == 1 else row}. Combine contradicting sources with a rule that reports conflict."
    )
