"""Frame: K classes <-> the 2^K subsets of them, numbered by bit mask."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

#: Largest number of classes of a mass, which then has 2^16 numbers.
LARGEST_FRAME = 16

#: A mass this little below zero, or a conflict this little above it, counts as rounding.
TOLERANCE = 1e-9

#: A sum this close to one counts as one, so that masses stored as float32 or written with seven digits are accepted.
SUM_TOLERANCE = 1e-6

#: Products of rows are summed for so many numbers at a time that a processor's cache holds them.
_CACHED = 1 << 14


def row_products(rows: Floats, matrix: Floats) -> Floats:
    """Rows (n, m), a matrix (m, k) -> their product (n, k); the bits of a row do not depend on the other rows.

    The sums go along m. Those of BLAS go in an order that depends on n.
    """
    product = np.zeros((len(rows), matrix.shape[1]))
    block = max(1, _CACHED // matrix.shape[1])
    for first in range(0, len(rows), block):
        total = product[first : first + block]
        for column, factors in zip(rows[first : first + block].T, matrix, strict=True):
            total += column[:, None] * factors
    return product


def subset_mask(classes: Iterable[int]) -> int:
    """Class numbers -> the bit mask of the set they form, which is its index in a mass.

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
            raise ValueError(f"classes must be numbers from 0 to {LARGEST_FRAME - 1}, got {k!r}; count from 0")
        mask |= 1 << int(k)
    return mask


def subset_sizes(n_classes: int) -> NDArray[np.int64]:
    """K -> (2^K,): how many classes each subset holds.

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
    """K -> (2^K, K): 1 where the subset holds the class, else 0; read-only.

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
    """(..., 2^K) -> K."""
    return int(values.shape[-1]).bit_length() - 1


def checked_mass(given: ArrayLike) -> Floats:
    """Array-like -> float64 (..., 2^K); refused unless it is a mass. Rounding errors below zero become zero."""
    values = checked_values(given, "mass")
    smallest = values.min(initial=0.0)
    if smallest < -TOLERANCE:
        raise ValueError(f"mass must not be negative, got {smallest}; what is not believed has mass 0")
    total = values.sum(axis=-1, keepdims=True)
    furthest = np.abs(total - 1.0).max(initial=0.0)
    if furthest > SUM_TOLERANCE:
        raise ValueError(
            f"mass must sum to 1 over all subsets, got a sum that is off by {furthest:.3g}; "
            "put what is left on the frame"
        )
    mass = np.maximum(values, 0.0)
    return np.where(np.abs(total - 1.0) > TOLERANCE, mass / total, mass)


def checked_normal_mass(mass: ArrayLike, what: str) -> Floats:
    """The same; also refused if the empty set has mass."""
    values = checked_mass(mass)
    conflict = values[..., 0].max(initial=0.0)
    if conflict > TOLERANCE:
        raise ValueError(
            f"mass must have nothing on the empty set for {what}, got {conflict}; use normalise_mass first"
        )
    values[..., 0] = 0.0
    return values


def checked_values(values: ArrayLike, name: str) -> Floats:
    """Array-like -> float64 (..., 2^K); refused unless it holds one finite number for each subset."""
    table = np.asarray(values, dtype=np.float64)
    length = table.shape[-1] if table.ndim else 0
    if length < 2 or length > 1 << LARGEST_FRAME or length & (length - 1):
        raise ValueError(
            f"{name} must have 2^K numbers on its last axis, K from 1 to {LARGEST_FRAME}, got shape {table.shape}; "
            "subset A of the classes has index sum(2^k for k in A)"
        )
    if not np.isfinite(table).all():
        raise ValueError(f"{name} must be finite, got NaN or infinity; check how it was made")
    return table
