"""Probabilities and contours of masses, and consonant masses of contours."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from hedgerow.belief.masses.frame import (
    LARGEST_FRAME,
    TOLERANCE,
    Floats,
    checked_mass,
    checked_values,
    n_classes_of,
    subset_members,
    subset_sizes,
)
from hedgerow.belief.masses.transforms import without_conflict


def pignistic_from_mass(mass: ArrayLike) -> Floats:
    """Return pignistic probabilities, which divide each set equally.

    BetP(k) is the sum of m(A)/|A| over the sets A that contain k, divided by 1 - m(empty).

    Parameters
    ----------
    mass : array-like (..., 2^K)

    Returns
    -------
    float64 (..., K)

    Examples
    --------
    >>> pignistic_from_mass([0, 0.5, 0, 0.5]).tolist()
    [0.75, 0.25]
    """
    return pignistic(without_conflict(checked_mass(mass)))


def contour_from_mass(mass: ArrayLike) -> Floats:
    """Return the plausibility of each class: the mass of all sets that contain it.

    Parameters
    ----------
    mass : array-like (..., 2^K)

    Returns
    -------
    float64 (..., K)

    Examples
    --------
    >>> contour_from_mass([0, 0.5, 0, 0.5]).tolist()
    [1.0, 0.5]
    """
    values = checked_mass(mass)
    contour: Floats = values @ subset_members(n_classes_of(values))
    return contour


def probability_from_contour(contour: ArrayLike) -> Floats:
    """Return plausibilities divided by their sum.

    This is the plausibility transform of Cobb and Shenoy.

    Parameters
    ----------
    contour : array-like (..., K), >= 0, not all 0

    Returns
    -------
    float64 (..., K)

    Examples
    --------
    >>> probability_from_contour([1.0, 0.25]).tolist()
    [0.8, 0.2]
    """
    values = np.asarray(contour, dtype=np.float64)
    if not np.isfinite(values).all() or (values < 0).any():
        raise ValueError(f"contour must be finite and non-negative, got {contour!r}.")
    total = values.sum(axis=-1, keepdims=True)
    if (total <= 0).any():
        raise ValueError("contour must be positive for at least one class, got only zeros. Discount the sources.")
    shares: Floats = values / total
    return shares


def probability_from_plausibility(plausibility: ArrayLike) -> Floats:
    """Return plausibilities of single classes divided by their sum.

    Parameters
    ----------
    plausibility : array-like (..., 2^K)

    Returns
    -------
    float64 (..., K)

    Examples
    --------
    >>> probability_from_plausibility([0.0, 1.0, 0.25, 1.0]).tolist()
    [0.8, 0.2]
    """
    values = checked_values(plausibility, "plausibility")
    return probability_from_contour(values[..., 1 << np.arange(n_classes_of(values))])


def mass_from_contour(contour: ArrayLike) -> Floats:
    """Return the consonant mass with the given class plausibilities.

    Its focal sets are nested: the most plausible class, the two most plausible ones, and so on. If the largest
    plausibility is below 1, the difference is on the empty set.

    Parameters
    ----------
    contour : array-like (..., K), in [0, 1]

    Returns
    -------
    float64 (..., 2^K)

    Examples
    --------
    >>> mass_from_contour([0.25, 1.0]).tolist()
    [0.0, 0.0, 0.75, 0.25]
    """
    values = np.asarray(contour, dtype=np.float64)
    n_classes = values.shape[-1] if values.ndim else 0
    if not 1 <= n_classes <= LARGEST_FRAME:
        raise ValueError(f"contour must have 1 to {LARGEST_FRAME} classes, got shape {values.shape}.")
    if not ((values >= -TOLERANCE) & (values <= 1 + TOLERANCE)).all():
        raise ValueError(f"contour must lie in [0, 1], got {contour!r}. Divide likelihoods by their maximum.")
    order = np.argsort(-values, axis=-1, kind="stable")
    levels = np.clip(np.take_along_axis(values, order, axis=-1), 0.0, 1.0)
    edge = np.ones((*values.shape[:-1], 1))
    steps = np.concatenate([edge, levels], axis=-1) - np.concatenate([levels, 0.0 * edge], axis=-1)
    nested = np.cumsum(1 << order, axis=-1)
    mass = np.zeros((*values.shape[:-1], 1 << n_classes))
    mass[..., 0] = steps[..., 0]
    np.put_along_axis(mass, nested, steps[..., 1:], axis=-1)
    return mass


def pignistic(normal_mass: Floats) -> Floats:
    """Return pignistic probabilities (..., K) of masses without conflict."""
    n_classes = n_classes_of(normal_mass)
    shares: Floats = (normal_mass / np.maximum(subset_sizes(n_classes), 1)) @ subset_members(n_classes)
    return shares
