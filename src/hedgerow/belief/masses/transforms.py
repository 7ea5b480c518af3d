"""Belief, plausibility, commonality and implicability, their inverses, and changes of masses.

Convert between two of the others by way of the mass.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from hedgerow.belief.masses.frame import (
    SUM_TOLERANCE,
    Floats,
    checked_mass,
    checked_values,
    halves,
    n_classes_of,
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


# ---- Normalisation, discounting and conditioning of masses -----------------------------------------------------------


def normalise_mass(mass: ArrayLike) -> Floats:
    """Normalise: m(A)/(1 - m(empty)) for every non-empty set A, 0 for the empty set.

    Parameters
    ----------
    mass : array-like (..., 2^K)
        All mass on the empty set (total conflict) raises ValueError.

    Returns
    -------
    float64 (..., 2^K)

    Examples
    --------
    >>> normalise_mass([0.5, 0.25, 0, 0.25]).tolist()
    [0.0, 0.5, 0.0, 0.5]
    """
    return without_conflict(checked_mass(mass))


def discount_mass(mass: ArrayLike, rate: ArrayLike) -> Floats:
    """Discount a source: multiply masses by 1 - rate, and add the rate to the frame.

    Parameters
    ----------
    mass : array-like (..., 2^K)
    rate : float or array-like (...), in [0, 1]
        Probability that the source is unreliable. 1 moves all mass to the frame.

    Returns
    -------
    float64 (..., 2^K)

    Examples
    --------
    >>> discount_mass([0, 0.5, 0.5, 0], 0.2).round(6).tolist()
    [0.0, 0.4, 0.4, 0.2]
    """
    values, rates = checked_mass(mass), _checked_rates(rate)
    discounted: Floats = values * (1.0 - rates)[..., None]
    discounted[..., -1] += rates
    return discounted


def discount_by_context(mass: ArrayLike, rates: ArrayLike, contexts: Sequence[int] | None = None) -> Floats:
    """Discount a source by context (Mercier, Quost and Denœux 2008).

    In context c the source is unreliable with probability r_c. The mass is combined, by the disjunctive rule, with
    one mass per context, which has r_c on context c and 1 - r_c on the empty set.

    Parameters
    ----------
    mass : array-like (..., 2^K)
    rates : array-like (..., C), in [0, 1]
        Probability that the source is unreliable, given that the truth lies in each of the C contexts.
    contexts : C bit masks, optional
        Sets of classes, usually a partition; by default, each class is a context.

    Returns
    -------
    float64 (..., 2^K)

    Examples
    --------
    An airplane, a helicopter or a rocket; the sensor is poor at airplanes.

    >>> discount_by_context([0, 0.5, 0, 0, 0.5, 0, 0, 0], [0.6, 0.1], contexts=[0b001, 0b110]).round(6).tolist()
    [0.0, 0.45, 0.0, 0.0, 0.18, 0.27, 0.02, 0.08]
    """
    values, table = checked_mass(mass), np.atleast_1d(_checked_rates(rates))
    n_classes = n_classes_of(values)
    known = [1 << k for k in range(n_classes)] if contexts is None else list(contexts)
    if table.shape[-1] != len(known):
        raise ValueError(f"rates must have one value per context ({len(known)}), got {table.shape[-1]}.")
    for c, context in enumerate(known):
        rate = table[..., c, None]
        values = (1.0 - rate) * values + rate * moved_mass(values, _checked_event(context, n_classes, "contexts"), 0, 1)
    return values


def condition_mass(mass: ArrayLike, event: int, normalised: bool = True) -> Floats:
    """Condition on an event by Dempster's rule.

    The mass of A moves to the intersection of A and the event.

    Parameters
    ----------
    mass : array-like (..., 2^K)
    event : int
        Bit mask of the set of classes known to contain the truth; see `subset_mask`.
    normalised : bool, default True
        Whether to normalise. False leaves the mass of excluded sets on the empty set.

    Returns
    -------
    float64 (..., 2^K)

    Examples
    --------
    >>> condition_mass([0, 0.5, 0.25, 0.25], 0b01, normalised=False).tolist()
    [0.25, 0.75, 0.0, 0.0]
    """
    values = checked_mass(mass)
    everything = values.shape[-1] - 1
    moved = moved_mass(values, everything ^ _checked_event(event, n_classes_of(values), "event"), 1, 0)
    return without_conflict(moved) if normalised else moved


def without_conflict(mass: Floats) -> Floats:
    """Normalise (..., 2^K); raise if no set but the empty one has mass."""
    left = np.array(mass)
    left[..., 0] = 0.0
    total = left.sum(axis=-1, keepdims=True)
    if (total <= 0).any():
        raise ValueError(
            "mass must not be in total conflict, got all mass on the empty set. Discount the sources with "
            "discount_mass, or use a rule that keeps or redistributes conflict, such as 'conjunctive' or 'pcr6'."
        )
    normal: Floats = left / total
    return normal


def moved_mass(mass: Floats, classes: int, source: int, target: int) -> Floats:
    """Move mass between the sets without (0) and with (1) each class."""
    moved = np.array(mass)
    for k in range(n_classes_of(moved)):
        if classes >> k & 1:
            sides = halves(moved, k)
            sides[..., target, :] += sides[..., source, :]
            sides[..., source, :] = 0.0
    return moved


def _checked_rates(rates: ArrayLike) -> Floats:
    """Return rates as float64; raise outside [0, 1]."""
    values = np.asarray(rates, dtype=np.float64)
    if not ((values >= 0) & (values <= 1)).all():
        raise ValueError(f"rates must lie in [0, 1], got {rates!r}. 0 is a reliable source, 1 a worthless one.")
    return values


def _checked_event(event: int, n_classes: int, name: str) -> int:
    """Return the bit mask; raise unless it is a non-empty set of classes."""
    if not 0 < event < 1 << n_classes:
        raise ValueError(
            f"{name} must be the bit mask of a non-empty set of the {n_classes} classes, got {event!r}. "
            "subset_mask builds one from class numbers."
        )
    return int(event)
