"""Distance between masses."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from hedgerow.belief.masses.frame import Floats, checked_mass, halves, n_classes_of


def jousselme_distance(one: ArrayLike, other: ArrayLike) -> Floats:
    """Return Jousselme's distance between two masses.

    It is sqrt(d'Jd/2), with d their difference and J(A, B) = |A and B|/|A or B|. J is 1 for the empty set with itself,
    and 0 for the empty set with any other set.

    Parameters
    ----------
    one, other : array-like (..., 2^K)
        Leading axes broadcast.

    Returns
    -------
    float64 (...), from 0 to 1

    Examples
    --------
    >>> float(jousselme_distance([0, 1, 0, 0], [0, 0, 1, 0])), float(jousselme_distance([0, 1, 0, 0], [0, 0, 0, 1]))
    (1.0, 0.7071067811865476)
    """
    left, right = checked_mass(one), checked_mass(other)
    if left.shape[-1] != right.shape[-1]:
        raise ValueError(
            "one and other must be over the same classes, "
            f"got 2^{n_classes_of(left)} and 2^{n_classes_of(right)} subsets."
        )
    difference = left - right
    square = difference[..., 0] ** 2
    # 1/|A or B| is the integral of t^(|A or B| - 1) over [0, 1], a polynomial, so these nodes integrate it exactly
    nodes, node_weights = np.polynomial.legendre.leggauss((n_classes_of(difference) + 1) // 2)
    for t, weight in zip((1.0 + nodes) / 2.0, node_weights / 2.0, strict=True):
        for k in range(n_classes_of(difference)):
            square = square + weight * _square_with_class(difference, k, float(t))
    distance: Floats = np.sqrt(square / 2.0)
    return distance


def _square_with_class(difference: Floats, k: int, t: float) -> Floats:
    """Sum d(A) d(B) t^(|A or B| - 1) over the sets A, B that contain k, as squares.

    For each other class the factor is [[1, t], [t, t]] = L L' with L = [[1, 0], [t, sqrt(t - t^2)]]. No terms cancel,
    and the distance is 0 only for equal masses.
    """
    table = np.array(halves(difference, k)[..., 1, :]).reshape(*difference.shape[:-1], difference.shape[-1] // 2)
    for j in range(n_classes_of(table)):
        sides = halves(table, j)
        sides[..., 0, :] += t * sides[..., 1, :]
        sides[..., 1, :] *= np.sqrt(t - t * t)
    square: Floats = (table * table).sum(axis=-1)
    return square
