"""Transforms: mass <-> belief, plausibility, commonality, implicability; for any other pair, go through the mass."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from hedgerow.belief.masses.frame import SUM_TOLERANCE, Floats, checked_mass, checked_values
from hedgerow.belief.masses.moebius import subset_differences, subset_sums, superset_differences, superset_sums


def belief_from_mass(mass: ArrayLike) -> Floats:
    """Belief of every set: Bel(A) is the mass of the non-empty subsets of A.

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
    """Implicability of every set: b(A) is the mass of all subsets of A, the empty set among them.

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
    """Plausibility of every set: Pl(A) is the mass of the sets that share a class with A.

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
    """Commonality of every set: q(A) is the mass of the sets that contain A.

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
    """The mass with the given beliefs (their Moebius inverse); if Bel(frame) < 1, the rest is on the empty set.

    The result has negative entries if the given values are not a belief function; the other inverses behave alike.

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
    values = _anchored(belief, "belief", 0, 0.0, "if the empty set has mass, use mass_from_implicability")
    return subset_differences(values + (1.0 - values[..., -1:]))


def mass_from_implicability(implicability: ArrayLike) -> Floats:
    """The mass with the given implicabilities (their Moebius inverse).

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
    return subset_differences(_anchored(implicability, "implicability", -1, 1.0, "scale it so"))


def mass_from_plausibility(plausibility: ArrayLike) -> Floats:
    """The mass with the given plausibilities: the Moebius inverse of b(A) = 1 - Pl(complement of A).

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
    values = _anchored(plausibility, "plausibility", 0, 0.0, "nothing meets the empty set")
    return subset_differences(1.0 - values[..., ::-1])


def mass_from_commonality(commonality: ArrayLike) -> Floats:
    """The mass with the given commonalities (their Moebius inverse over supersets).

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
    return superset_differences(_anchored(commonality, "commonality", 0, 1.0, "every set contains it; scale it so"))


def _anchored(values: ArrayLike, name: str, subset: int, anchor: float, advice: str) -> Floats:
    """Array-like -> (..., 2^K); refused if a subset whose value is known (the anchor) has another value."""
    table = checked_values(values, name)
    worst = np.abs(table[..., subset] - anchor).max(initial=0.0)
    if worst > SUM_TOLERANCE:
        where = "the empty set" if subset == 0 else "the frame"
        raise ValueError(f"{name} of {where} must be {anchor:g}, got a value that is off by {worst:.3g}; {advice}")
    return table
