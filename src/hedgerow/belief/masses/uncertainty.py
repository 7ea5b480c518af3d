"""Uncertainty of masses, in bits."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from hedgerow.belief.masses.frame import Floats, checked_normal_mass, n_classes_of, subset_members, subset_sizes
from hedgerow.belief.masses.probability import pignistic


def non_specificity(mass: ArrayLike) -> Floats:
    """Return the non-specificity N(m) = sum of m(A) log2 |A|.

    It is large if mass lies on large sets.

    Parameters
    ----------
    mass : array-like (..., 2^K), nothing on the empty set

    Returns
    -------
    float64 (...)

    Examples
    --------
    >>> float(non_specificity([0, 0.25, 0.25, 0.5]))
    0.5
    """
    values = checked_normal_mass(mass, "non-specificity")
    bits: Floats = values @ np.log2(np.maximum(subset_sizes(n_classes_of(values)), 1))
    return bits


def discord(mass: ArrayLike) -> Floats:
    """Return the discord D(m) = -sum of m(A) log2 BetP(A).

    It is large if mass lies on sets that contradict each other.

    Parameters
    ----------
    mass : array-like (..., 2^K), nothing on the empty set

    Returns
    -------
    float64 (...)

    Examples
    --------
    >>> float(discord([0, 0.5, 0.5, 0])), float(discord([0, 0, 0, 1]))
    (1.0, 0.0)
    """
    values = checked_normal_mass(mass, "discord")
    of_sets = np.minimum(pignistic(values) @ subset_members(n_classes_of(values)).T, 1.0)
    logs = np.log2(np.where(values > 0, of_sets, 1.0))
    bits: Floats = 0.0 - (values * logs).sum(axis=-1)
    return bits


def total_uncertainty(mass: ArrayLike, lam: float) -> Floats:
    """Return U(m) = (1 - lam) N(m) + lam D(m), the criterion of belief trees.

    N is the non-specificity, D the discord.

    Parameters
    ----------
    mass : array-like (..., 2^K), nothing on the empty set
    lam : float in [0, 1]
        Share of discord; 0 counts non-specificity only.

    Returns
    -------
    float64 (...)

    Examples
    --------
    >>> float(total_uncertainty([0, 0, 0, 1], lam=0.25))
    0.75
    """
    share = checked_share(lam)
    bits: Floats = (1.0 - share) * non_specificity(mass) + share * discord(mass)
    return bits


def deng_entropy(mass: ArrayLike) -> Floats:
    """Return Deng's entropy (2016), -sum of m(A) log2(m(A)/(2^|A| - 1)).

    Parameters
    ----------
    mass : array-like (..., 2^K), nothing on the empty set

    Returns
    -------
    float64 (...)

    Examples
    --------
    >>> round(float(deng_entropy([0, 0, 0, 0, 0, 0, 0, 1])), 4)
    2.8074
    """
    values = checked_normal_mass(mass, "Deng entropy")
    ways = np.maximum(2.0 ** subset_sizes(n_classes_of(values)) - 1.0, 1.0)
    bits: Floats = (values * (np.log2(ways) - np.log2(np.where(values > 0, values, 1.0)))).sum(axis=-1)
    return bits


def checked_share(lam: float) -> float:
    """Return lam; raise outside [0, 1]."""
    if not 0 <= lam <= 1:
        raise ValueError(f"lam must lie in [0, 1], got {lam!r}.")
    return float(lam)
