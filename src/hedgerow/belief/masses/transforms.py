"""Belief, plausibility, commonality and implicability, and their inverses.

Convert between two of the others by way of the mass.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from hedgerow.belief.masses.frame import (
    SUM_TOLERANCE,
    Floats,
    checked_mass,
    checked_values,
    subset_differences,
    subset_sums,
    superset_differences,
    superset_sums,
)


def belief_from_mass(mass: ArrayLike) -> Floats:
    """Return the belief of every set: the mass of the non-empty subsets of A.

    Parameters
    ----------
    mass : array-like (..., 2^K)

    Returns
    -------
    float64 (..., 2^K)

    Examples
    --------
    >>> belief_from_mass([0.1, 0.2, 0.3, 0.4]).round(6).tolist()
    [0.0, 0.2, 0.3, 0.9]
    """
    values = checked_mass(mass)
    values[..., 0] = 0.0
    return subset_sums(values)


def implicability_from_mass(mass: ArrayLike) -> Floats:
    """Return the implicability of every set: the mass of all subsets of A.

    Unlike belief, it includes the mass of the empty set.

    Parameters
    ----------
    mass : array-like (..., 2^K)

    Returns
    -------
    float64 (..., 2^K)

    Examples
    --------
    >>> implicability_from_mass([0.1, 0.2, 0.3, 0.4]).round(6).tolist()
    [0.1, 0.3, 0.4, 1.0]
    """
    return subset_sums(checked_mass(mass))


def plausibility_from_mass(mass: ArrayLike) -> Floats:
    """Return the plausibility of every set: the mass of the sets that intersect A.

    Parameters
    ----------
    mass : array-like (..., 2^K)

    Returns
    -------
    float64 (..., 2^K)

    Examples
    --------
    >>> plausibility_from_mass([0.1, 0.2, 0.3, 0.4]).round(6).tolist()
    [0.0, 0.6, 0.7, 0.9]
    """
    implicability = subset_sums(checked_mass(mass))
    plausibility: Floats = implicability[..., -1:] - implicability[..., ::-1]  # complements reverse the masks
    return np.maximum(plausibility, 0.0)


def commonality_from_mass(mass: ArrayLike) -> Floats:
    """Return the commonality of every set: the mass of the sets that contain A.

    Parameters
    ----------
    mass : array-like (..., 2^K)

    Returns
    -------
    float64 (..., 2^K)

    Examples
    --------
    >>> commonality_from_mass([0.1, 0.2, 0.3, 0.4]).round(6).tolist()
    [1.0, 0.6, 0.7, 0.4]
    """
    return superset_sums(checked_mass(mass))


def mass_from_belief(belief: ArrayLike) -> Floats:
    """Return the mass with the given beliefs, their Moebius inverse.

    If Bel(frame) < 1, the rest is on the empty set. The result has negative entries if the values are not a belief
    function; the same holds for the other inverses.

    Parameters
    ----------
    belief : array-like (..., 2^K)
        0 for the empty set.

    Returns
    -------
    float64 (..., 2^K)

    Examples
    --------
    >>> mass_from_belief([0.0, 0.2, 0.3, 0.9]).round(6).tolist()
    [0.1, 0.2, 0.3, 0.4]
    """
    values = _anchored(belief, "belief", 0, 0.0, "If the empty set has mass, use mass_from_implicability.")
    return subset_differences(values + (1.0 - values[..., -1:]))


def mass_from_implicability(implicability: ArrayLike) -> Floats:
    """Return the mass with the given implicabilities, their Moebius inverse.

    Parameters
    ----------
    implicability : array-like (..., 2^K)
        1 for the frame.

    Returns
    -------
    float64 (..., 2^K)

    Examples
    --------
    >>> mass_from_implicability([0.1, 0.3, 0.4, 1.0]).round(6).tolist()
    [0.1, 0.2, 0.3, 0.4]
    """
    return subset_differences(_anchored(implicability, "implicability", -1, 1.0, "Divide by that value."))


def mass_from_plausibility(plausibility: ArrayLike) -> Floats:
    """Return the mass with the given plausibilities.

    It is the Moebius inverse of b(A) = 1 - Pl(complement of A).

    Parameters
    ----------
    plausibility : array-like (..., 2^K)
        0 for the empty set.

    Returns
    -------
    float64 (..., 2^K)

    Examples
    --------
    >>> mass_from_plausibility([0.0, 0.6, 0.7, 0.9]).round(6).tolist()
    [0.1, 0.2, 0.3, 0.4]
    """
    values = _anchored(plausibility, "plausibility", 0, 0.0, "No set intersects the empty set.")
    return subset_differences(1.0 - values[..., ::-1])


def mass_from_commonality(commonality: ArrayLike) -> Floats:
    """Return the mass with the given commonalities, their Moebius inverse.

    Parameters
    ----------
    commonality : array-like (..., 2^K)
        1 for the empty set.

    Returns
    -------
    float64 (..., 2^K)

    Examples
    --------
    >>> mass_from_commonality([1.0, 0.6, 0.7, 0.4]).round(6).tolist()
    [0.1, 0.2, 0.3, 0.4]
    """
    return superset_differences(_anchored(commonality, "commonality", 0, 1.0, "Divide by that value."))


def _anchored(values: ArrayLike, name: str, subset: int, anchor: float, advice: str) -> Floats:
    """Return values (..., 2^K); raise if one subset lacks its known value."""
    table = checked_values(values, name)
    off = np.abs(table[..., subset] - anchor)
    if off.max(initial=0.0) > SUM_TOLERANCE:
        where = "the empty set" if subset == 0 else "the frame"
        worst = table[..., subset].flat[int(off.argmax())]
        raise ValueError(f"{name} of {where} must be {anchor:g}, got {worst:.7g}. {advice}")
    return table
