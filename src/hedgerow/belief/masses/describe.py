"""Masses as sets of class names and as text."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from hedgerow.belief.masses.frame import LARGEST_FRAME, Floats, checked_mass, n_classes_of, subset_mask


def mass_from_sets(sets: Mapping[Hashable, float], classes: Sequence[Hashable]) -> Floats:
    """Return the mass (2^K,) of sets of class names.

    Parameters
    ----------
    sets : mapping from a class, or a tuple or frozenset of classes, to its mass
        ``()`` is the empty set. Omitted sets have mass 0.
    classes : sequence of K names
        All classes, in the order of their bits.

    Returns
    -------
    float64 (2^K,)

    Examples
    --------
    >>> mass_from_sets({"rain": 0.5, ("rain", "snow"): 0.5}, ["rain", "snow"]).tolist()
    [0.0, 0.5, 0.0, 0.5]
    """
    names = list(classes)
    if not 1 <= len(names) <= LARGEST_FRAME or len(set(names)) < len(names):
        raise ValueError(f"classes must be 1 to {LARGEST_FRAME} distinct names, got {names!r}.")
    mass = np.zeros(1 << len(names))
    for key, value in sets.items():
        mass[_mask_of(key, names)] += value
    return checked_mass(mass)


def sets_from_mass(mass: ArrayLike, classes: Sequence[Hashable] | None = None) -> dict[tuple[Hashable, ...], float]:
    """Return the sets with mass, as tuples of class names, by falling mass.

    Parameters
    ----------
    mass : array-like (2^K,)
    classes : sequence of K names, optional
        Names of the classes; 0, 1, ... by default.

    Returns
    -------
    dict

    Examples
    --------
    >>> sets_from_mass([0, 0.25, 0, 0.75], ["rain", "snow"])
    {('rain', 'snow'): 0.75, ('rain',): 0.25}
    """
    values = checked_mass(mass)
    if values.ndim != 1:
        raise ValueError(f"mass must be one mass function, got shape {values.shape}. Pass one row.")
    n_classes = n_classes_of(values)
    names: list[Hashable] = list(range(n_classes)) if classes is None else list(classes)
    if len(names) != n_classes:
        raise ValueError(f"classes must be {n_classes} names, got {len(names)}.")
    order = np.argsort(-values, kind="stable")
    return {
        tuple(names[k] for k in range(n_classes) if mask >> k & 1): float(values[mask])
        for mask in order.tolist()
        if values[mask] > 0
    }


def describe_mass(mass: ArrayLike, classes: Sequence[Hashable] | None = None, digits: int = 4) -> str:
    """Describe a mass as text, one line per set with mass, the largest mass first.

    Parameters
    ----------
    mass : array-like (2^K,)
    classes : sequence of K names, optional
        Names of the classes; 0, 1, ... by default.
    digits : int, default 4
        Digits after the decimal point.

    Returns
    -------
    str

    Examples
    --------
    >>> print(describe_mass([0.125, 0.25, 0, 0.625], ["rain", "snow"]))
    {rain, snow}  0.6250  everything
    {rain}        0.2500
    {}            0.1250  conflict
    """
    sets = sets_from_mass(mass, classes)
    n_classes = n_classes_of(np.asarray(mass))
    texts = {names: "{" + ", ".join(str(name) for name in names) + "}" for names in sets}
    width = max(len(text) for text in texts.values())
    remarks = {0: "  conflict", n_classes: "  everything"}
    return "\n".join(
        f"{texts[names]:<{width}}  {value:.{digits}f}{remarks.get(len(names), '')}" for names, value in sets.items()
    )


def _mask_of(key: Hashable, names: list[Hashable]) -> int:
    """Return the bit mask of a class or a collection of classes."""
    members: Iterable[Hashable] = key if isinstance(key, tuple | frozenset) and key not in names else [key]
    for name in members:
        if name not in names:
            raise ValueError(f"sets must consist of the classes {names!r}, got {name!r}. Write a set as a tuple.")
    return subset_mask(names.index(name) for name in members)
