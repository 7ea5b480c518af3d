"""Canonical weights of decompositions, and combination by t-norms of weights."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from hedgerow.belief.masses.frame import (
    Floats,
    above_rounding,
    checked_mass,
    checked_values,
    superset_differences,
    superset_sums,
)
from hedgerow.belief.masses.transforms import moved_mass

#: Up to this many simple masses are combined one by one; if more sets change, all weights are transformed at once.
MOST_STEPS = 1024


def conjunctive_weights_from_mass(mass: ArrayLike) -> Floats:
    """Return the conjunctive weight w(A) of every set.

    log w(A) is -sum over B that contain A of (-1)^(|B|-|A|) log q(B). The mass is the conjunctive combination of simple
    masses with w(A) on the frame and 1 - w(A) on A (Smets 1995). The frame itself has no weight; its entry is 1.

    Parameters
    ----------
    mass : array-like (..., 2^K)
        Non-dogmatic: the frame has mass.

    Returns
    -------
    float64 (..., 2^K), > 0
        A weight too large for a float becomes infinity. `combine_masses` uses logarithms and is not affected.

    Examples
    --------
    >>> conjunctive_weights_from_mass([0, 0, 0, 0.6, 0, 0, 0, 0.4]).round(6).tolist()
    [1.0, 1.0, 1.0, 0.4, 1.0, 1.0, 1.0, 1.0]
    """
    with np.errstate(over="ignore"):
        weights: Floats = np.exp(log_conjunctive_weights(checked_mass(mass)))
    return weights


def mass_from_conjunctive_weights(weights: ArrayLike) -> Floats:
    """Return the mass with the given conjunctive weights.

    q(A) is the product of w(B) over all B that do not contain A.

    Parameters
    ----------
    weights : array-like (..., 2^K), > 0
        The entry of the frame is ignored. Weights above 1 can give negative entries; then no mass has these weights.

    Returns
    -------
    float64 (..., 2^K)

    Examples
    --------
    >>> mass_from_conjunctive_weights([1, 1, 1, 0.4, 1, 1, 1, 1]).round(6).tolist()
    [0.0, 0.0, 0.0, 0.6, 0.0, 0.0, 0.0, 0.4]
    """
    return mass_from_log_weights(_checked_logs(weights))


def disjunctive_weights_from_mass(mass: ArrayLike) -> Floats:
    """Return the disjunctive weight v(A) of every set.

    log v(A) is -sum over B within A of (-1)^(|A|-|B|) log b(B). The mass is the disjunctive combination of simple
    masses with v(A) on the empty set and 1 - v(A) on A (Denœux 2008). The empty set itself has no weight; its entry is
    1.

    Parameters
    ----------
    mass : array-like (..., 2^K)
        The empty set must have mass.

    Returns
    -------
    float64 (..., 2^K), > 0

    Examples
    --------
    >>> disjunctive_weights_from_mass([0.4, 0, 0, 0.6]).round(6).tolist()
    [1.0, 1.0, 1.0, 0.4]
    """
    with np.errstate(over="ignore"):
        weights: Floats = np.exp(log_disjunctive_weights(checked_mass(mass)))
    return weights


def mass_from_disjunctive_weights(weights: ArrayLike) -> Floats:
    """Return the mass with the given disjunctive weights.

    b(A) is the product of v(B) over all non-empty B that are not within A.

    Parameters
    ----------
    weights : array-like (..., 2^K), > 0
        The entry of the empty set is ignored.

    Returns
    -------
    float64 (..., 2^K)

    Examples
    --------
    >>> mass_from_disjunctive_weights([1, 1, 1, 0.4]).round(6).tolist()
    [0.4, 0.0, 0.0, 0.6]
    """
    return mass_from_log_weights(_checked_logs(weights)[..., ::-1])[..., ::-1]


def log_conjunctive_weights(mass: Floats) -> Floats:
    """Return log-weights (..., 2^K), 0 for the frame; raise if the frame has no mass."""
    if (mass[..., -1] <= 0).any():
        raise ValueError(
            "mass must be non-dogmatic to have conjunctive weights, got 0 on the frame. "
            "Discount it a little with discount_mass."
        )
    commonality = np.log(superset_sums(mass))
    logs = -superset_differences(commonality)
    logs[..., -1] = 0.0
    # alternating sums of 2^K logarithms: a result within rounding means no evidence, and becomes 0
    noise = np.finfo(np.float64).eps * mass.shape[-1] * np.abs(commonality).max(axis=-1, initial=0.0, keepdims=True)
    return np.where(np.abs(logs) > noise, logs, 0.0)


def log_disjunctive_weights(mass: Floats) -> Floats:
    """Return log-weights (..., 2^K), 0 for the empty set; raise if it has no mass."""
    if (mass[..., 0] <= 0).any():
        raise ValueError(
            "mass must be positive on the empty set to have disjunctive weights, got 0. "
            "Move a little of it there, or combine with rule='disjunctive'."
        )
    return log_conjunctive_weights(mass[..., ::-1])[..., ::-1]


def mass_from_log_weights(logs: Floats) -> Floats:
    """Return the mass (..., 2^K) of logarithms of conjunctive weights."""
    known = logs.copy()
    known[..., -1] = 0.0
    above = superset_sums(known)
    return superset_differences(np.exp(above[..., :1] - above))


def _checked_logs(weights: ArrayLike) -> Floats:
    """Return the logarithms of weights (..., 2^K); raise if a weight is not positive."""
    values = checked_values(weights, "weights")
    if (values <= 0).any():
        raise ValueError(f"weights must be positive, got {values.min()}. A set without evidence has weight 1.")
    return np.log(values)


def combine_by_weights(masses: Sequence[Floats], dependence: float) -> Floats:
    """Combine masses (n, 2^K) by a t-norm of their conjunctive weights."""
    mass, logs = masses[0], log_conjunctive_weights(masses[0])
    for other in masses[1:]:
        before, logs = logs, combine_log_weights(logs, log_conjunctive_weights(other), dependence)
        mass = _with_less_weight(mass, logs, logs - before)
    return mass


def combine_log_weights(one: Floats, other: Floats, dependence: float) -> Floats:
    """Return Frank's t-norm of log-weights <= 0, else their minimum.

    Frank's family is T(x, y) = log_s(1 + (s^x - 1)(s^y - 1)/(s - 1)) with s = 1 - dependence: the product for s = 1,
    the minimum for s = 0. The minimum where a weight exceeds 1 ensures that the result is a mass (Denœux 2008).
    """
    least = np.minimum(one, other)
    if dependence == 1:
        return least
    return np.where(
        np.maximum(one, other) <= 0, _log_frank(np.minimum(one, 0), np.minimum(other, 0), dependence), least
    )


def _with_less_weight(mass: Floats, logs: Floats, change: Floats) -> Floats:
    """Return the mass with log-weights `logs`, reduced by `change`.

    A lower weight means one more simple mass, with exp(change) on the frame and the rest on its set. Combining these
    one by one subtracts nothing, so the mass of the frame keeps its digits, however small it gets.
    """
    sets = np.flatnonzero((change < 0).any(axis=0))
    if len(sets) > MOST_STEPS:
        return above_rounding(mass_from_log_weights(logs))
    everything = mass.shape[1] - 1
    for focal_set in sets.tolist():
        step = change[:, focal_set, None]
        mass = np.exp(step) * mass - np.expm1(step) * moved_mass(mass, everything ^ focal_set, 1, 0)
    return mass


def _log_frank(one: Floats, other: Floats, dependence: float) -> Floats:
    """Return the logarithm of Frank's t-norm of log-weights <= 0."""
    product: Floats = one + other
    base = np.log1p(-dependence)
    if base == 0:
        return product
    x, y = np.exp(np.minimum(one, other)), np.exp(np.maximum(one, other))
    inner = np.expm1(base * x) * np.expm1(base * y) / np.expm1(base)
    near = np.log1p(np.maximum(inner, -0.5)) / base
    # the same where 1 + inner would cancel: s^x is factored out, and no term of the rest is negative
    rest = np.expm1(base * (1 - x)) + np.exp(base * (y - x)) * np.expm1(base * x)
    far = x + np.log(np.maximum(rest / np.expm1(base), 0.5)) / base
    both = np.where(inner > -0.5, near, far)
    # the product is a lower bound of the family, and the result where x is too small for a float
    logs = np.log(np.maximum(both, np.finfo(np.float64).tiny))
    bounded: Floats = np.clip(logs, product, np.minimum(one, other))
    return bounded
