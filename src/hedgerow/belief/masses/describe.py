"""Describe: a mass and the names of the classes <-> sets of names; a mass -> lines for a reader."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hedgerow.belief.masses.frame import LARGEST_FRAME, Floats, checked_mass, n_classes_of, subset_mask


def mass_from_sets(sets: Mapping[Any, float], classes: Sequence[Hashable]) -> Floats:
    """Make a mass (2^K,) from the masses of sets of class names.

    Parameters
    ----------
    sets : mapping from a class, or a tuple or frozenset of classes, to its mass
        ``()`` is the empty set. Sets that are left out have mass 0.
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
        raise ValueError(f"classes must be 1 to {LARGEST_FRAME} different names, got {names!r}; name each class once")
    mass = np.zeros(1 << len(names))
    for key, value in sets.items():
        mass[_mask_of(key, names)] += value
    return checked_mass(mass)


def sets_from_mass(mass: ArrayLike, classes: Sequence[Hashable] | None = None) -> dict[tuple[Any, ...], float]:
    """The sets that have mass, as tuples of class names, with their masses; the largest mass comes first.

    Parameters
    ----------
    mass : array-like (2^K,)
    classes : sequence of K names, optional
        0, 1, ... when left out.

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
        raise ValueError(f"mass must be one mass function, got shape {values.shape}; describe its rows one by one")
    n_classes = n_classes_of(values)
    names = list(range(n_classes)) if classes is None else list(classes)
    if len(names) != n_classes:
        raise ValueError(f"classes must be {n_classes} names, got {len(names)}; name every class of the frame")
    order = np.argsort(-values, kind="stable")
    return {
        tuple(names[k] for k in range(n_classes) if mask >> k & 1): float(values[mask])
        for mask in order.tolist()
        if values[mask] > 0
    }


def describe_mass(mass: ArrayLike, classes: Sequence[Hashable] | None = None, digits: int = 4) -> str:
    """Describe a mass in text: one line for each set that has mass, the largest mass first.

    Parameters
    ----------
    mass : array-like (2^K,)
    classes : sequence of K names, optional
        0, 1, ... when left out.
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


def _mask_of(key: Any, names: list[Hashable]) -> int:
    """A class or a collection of classes -> bit mask."""
    members: Iterable[Any] = key if isinstance(key, tuple | frozenset) and key not in names else [key]
    for name in members:
        if name not in names:
            raise ValueError(
                f"sets must be made of the classes {names!r}, got {name!r}; write a set as a tuple of them"
            )
    return subset_mask(names.index(name) for name in members)
