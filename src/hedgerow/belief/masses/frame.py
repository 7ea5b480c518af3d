"""Bit masks of the 2^K subsets of K classes, Moebius transforms, checks, products and descriptions of masses."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

#: Largest number of classes of a mass, which then has 2^16 entries.
LARGEST_FRAME = 16

#: A mass this little below zero, or a conflict this little above it, is rounding.
TOLERANCE = 1e-9

#: A sum this close to one is accepted, for masses stored as float32 or written with seven digits.
SUM_TOLERANCE = 1e-6

#: Entries per block of `row_products`: a block fits the processor's cache.
_CACHED = 1 << 14
#: Largest number of classes with a product of 3^K non-negative terms. Beyond it, Moebius transforms take K 2^K.
EXACT_CLASSES = 10


def row_products(rows: Floats, matrix: Floats) -> Floats:
    """Return rows (n, m) @ matrix (m, k), bitwise independent of other rows.

    Sums run along m. BLAS sums in an order that depends on n.
    """
    product = np.zeros((len(rows), matrix.shape[1]))
    block = max(1, _CACHED // matrix.shape[1])
    for first in range(0, len(rows), block):
        total = product[first : first + block]
        for column, factors in zip(rows[first : first + block].T, matrix, strict=True):
            total += column[:, None] * factors
    return product


def subset_mask(classes: Iterable[int]) -> int:
    """Return the bit mask of a set of class numbers, its index in a mass.

    Parameters
    ----------
    classes : iterable of int in [0, 16)

    Returns
    -------
    int

    Examples
    --------
    >>> subset_mask([0, 2]), subset_mask([])
    (5, 0)
    """
    mask = 0
    for k in classes:
        if not 0 <= k < LARGEST_FRAME:
            raise ValueError(f"classes must be integers from 0 to {LARGEST_FRAME - 1}, got {k!r}.")
        mask |= 1 << int(k)
    return mask


def subset_sizes(n_classes: int) -> NDArray[np.int64]:
    """Return the number of classes in each of the 2^K subsets.

    Parameters
    ----------
    n_classes : int

    Returns
    -------
    int64 (2^K,)

    Examples
    --------
    >>> subset_sizes(2).tolist()
    [0, 1, 1, 2]
    """
    sizes: NDArray[np.int64] = np.bitwise_count(np.arange(1 << n_classes)).astype(np.int64)
    return sizes


@lru_cache(maxsize=LARGEST_FRAME)
def subset_members(n_classes: int) -> Floats:
    """Return the membership matrix (2^K, K) of subsets and classes, read-only.

    Parameters
    ----------
    n_classes : int

    Returns
    -------
    float64 (2^K, K)

    Examples
    --------
    >>> subset_members(2).tolist()
    [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
    """
    members: Floats = (np.arange(1 << n_classes)[:, None] >> np.arange(n_classes) & 1).astype(np.float64)
    members.setflags(write=False)
    return members


def n_classes_of(values: Floats) -> int:
    """Return K of an array (..., 2^K)."""
    return int(values.shape[-1]).bit_length() - 1


def checked_mass(given: ArrayLike) -> Floats:
    """Return a mass as float64 (..., 2^K), clipped at 0; raise if it is invalid."""
    values = checked_values(given, "mass")
    smallest = values.min(initial=0.0)
    if smallest < -TOLERANCE:
        raise ValueError(f"mass must not be negative, got {smallest}.")
    total = values.sum(axis=-1, keepdims=True)
    furthest = np.abs(total - 1.0).max(initial=0.0)
    if furthest > SUM_TOLERANCE:
        raise ValueError(
            f"mass must sum to 1 over all subsets, got a sum that is off by {furthest:.3g}. "
            "Put the remaining mass on the frame."
        )
    mass = np.maximum(values, 0.0)
    return np.where(np.abs(total - 1.0) > TOLERANCE, mass / total, mass)


def checked_normal_mass(mass: ArrayLike, what: str) -> Floats:
    """Return a mass without conflict; raise if the empty set has mass."""
    values = checked_mass(mass)
    conflict = values[..., 0].max(initial=0.0)
    if conflict > TOLERANCE:
        raise ValueError(f"mass must be 0 on the empty set for {what}, got {conflict}. Use normalise_mass first.")
    values[..., 0] = 0.0
    return values


def checked_values(values: ArrayLike, name: str) -> Floats:
    """Return values as float64 (..., 2^K); raise unless all are finite."""
    table = np.asarray(values, dtype=np.float64)
    length = table.shape[-1] if table.ndim else 0
    if length < 2 or length > 1 << LARGEST_FRAME or length & (length - 1):
        raise ValueError(
            f"{name} must have 2^K entries on its last axis, K from 1 to {LARGEST_FRAME}, got shape {table.shape}. "
            "Subset A of the classes has index sum(2^k for k in A)."
        )
    if not np.isfinite(table).all():
        raise ValueError(f"{name} must be finite, got {table[~np.isfinite(table)][0]}.")
    return table


# Moebius transforms: sums over subsets or supersets, and their inverses, in K 2^K additions.


def subset_sums(values: Floats) -> Floats:
    """Return the sum of f(B) over all B within A, for each A."""
    return _butterfly(values, 1, 0, np.add)


def subset_differences(sums: Floats) -> Floats:
    """Invert `subset_sums`."""
    return _butterfly(sums, 1, 0, np.subtract)


def superset_sums(values: Floats) -> Floats:
    """Return the sum of f(B) over all B that contain A, for each A."""
    return _butterfly(values, 0, 1, np.add)


def superset_differences(sums: Floats) -> Floats:
    """Invert `superset_sums`."""
    return _butterfly(sums, 0, 1, np.subtract)


def halves(values: Floats, k: int) -> Floats:
    """Return a view (..., 2^(K-1-k), 2, 2^k): subsets without and with class k."""
    return values.reshape(*values.shape[:-1], values.shape[-1] >> (k + 1), 2, 1 << k)


def _butterfly(values: Floats, target: int, source: int, change: np.ufunc) -> Floats:
    """Return a copy in which one half of each class is changed by the other."""
    table = np.array(values, dtype=np.float64, order="C")
    for k in range(n_classes_of(table)):
        sides = halves(table, k)
        change(sides[..., target, :], sides[..., source, :], out=sides[..., target, :])
    return table


def conjunctive_product(one: Floats, other: Floats) -> Floats:
    """Give the product of each pair of focal sets to their intersection: (n, 2^K)."""
    if n_classes_of(one) > EXACT_CLASSES:
        return above_rounding(superset_differences(superset_sums(one) * superset_sums(other)))
    return _gathered(_spread(one, other), n_classes_of(one))


def disjunctive_product(one: Floats, other: Floats) -> Floats:
    """Give the product of each pair of focal sets to their union: (n, 2^K)."""
    # the complement of a union is the intersection of the complements; taking complements reverses the order of masks
    return conjunctive_product(one[:, ::-1], other[:, ::-1])[:, ::-1]


def above_rounding(mass: Floats) -> Floats:
    """Normalise the result of a Moebius inverse; masses below rounding become 0."""
    kept = np.where(mass > mass.shape[-1] * np.finfo(np.float64).eps, mass, 0.0)
    total: Floats = kept.sum(axis=-1, keepdims=True)
    return kept / total


def _spread(one: Floats, other: Floats) -> Floats:
    """Return the 3^K products whose sums are the masses of the intersections.

    Class by class, with f0, f1 the sets without and with it: h1 = f1 g1 and h0 = f0 (g0 + g1) + f1 g0. These are three
    products instead of four, without a subtraction. Tiny masses thus keep all their digits, which the Moebius transform
    loses if sources conflict.
    """
    left, right = one[:, None, :], other[:, None, :]
    while left.shape[-1] > 1:
        f0, f1 = np.split(left, 2, axis=-1)
        g0, g1 = np.split(right, 2, axis=-1)
        shape = (len(left), -1, f0.shape[-1])
        left = np.stack([f1, f0, f1], axis=2).reshape(shape)
        right = np.stack([g1, g0 + g1, g0], axis=2).reshape(shape)
    products: Floats = left * right
    return products


def _gathered(products: Floats, n_classes: int) -> Floats:
    """Sum products (n, 3^K, 1) to masses (n, 2^K)."""
    for _ in range(n_classes):
        n, rows, width = products.shape
        parts = products.reshape(n, rows // 3, 3, width)
        products = np.concatenate([parts[:, :, 1] + parts[:, :, 2], parts[:, :, 0]], axis=-1)
    return products[:, 0]


# ---- Masses as sets of class names and as text -----------------------------------------------------------------------


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
