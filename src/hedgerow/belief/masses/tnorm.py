"""Combination by t-norms of canonical weights, from the product to the minimum."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hedgerow.belief.masses.change import moved_mass
from hedgerow.belief.masses.frame import Floats
from hedgerow.belief.masses.products import above_rounding
from hedgerow.belief.masses.weights import log_conjunctive_weights, mass_from_log_weights

#: Up to this many simple masses are combined one by one; if more sets change, all weights are transformed at once.
MOST_STEPS = 1024


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
