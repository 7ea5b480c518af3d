"""Masses that agree best with masses of all pairs of classes."""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import nnls

from hedgerow.belief.masses.frame import LARGEST_FRAME, Floats, checked_mass, row_products

#: Largest number of classes for which every set may have mass; with more, only single classes, pairs and the frame.
ALL_SETS = 6
#: From four to six classes, several masses can agree equally well with the pairs. This weight of their sum of squares
#: selects the most even one.
EVENNESS = 1e-8


def mass_from_pairs(pair_masses: ArrayLike) -> Floats:
    """Return the mass over all classes that agrees best with masses of all pairs.

    It minimises the sum over pairs {i, j} and their subsets A (the empty set among them) of
    (sum of m(C) over C with C ∩ {i, j} = A, minus m_ij(A))². With more than six classes only single classes, pairs and
    the frame have mass. If there are several minima, the one with the smallest sum of squares is returned.

    Parameters
    ----------
    pair_masses : array-like (n, K(K-1)/2, 4)
        Pairs (0, 1), (0, 2), ..., (K-2, K-1); for each pair the masses of the empty set, of its first class, of its
        second class and of both.

    Returns
    -------
    float64 (n, 2^K)

    References
    ----------
    B. Quost, T. Denœux, M.-H. Masson: Pairwise classifier combination using belief functions. Pattern Recognition
    Letters 28 (2007).

    Examples
    --------
    >>> sure, open_ = [0, 1, 0, 0], [0, 0, 0, 1]
    >>> mass_from_pairs([[[0, 0.75, 0, 0.25]]]).round(6).tolist()
    [[0.0, 0.75, 0.0, 0.25]]
    >>> mass_from_pairs([[sure, sure, open_]]).round(6).tolist()  # no evidence between 1 and 2
    [[0.0, 0.6, 0.0, 0.0, 0.0, 0.0, 0.2, 0.2]]
    """
    given = _checked_pairs(pair_masses)
    n_classes = _n_classes_from_pairs(given.shape[1])
    if n_classes > LARGEST_FRAME:
        raise ValueError(f"pair_masses must have at most {LARGEST_FRAME} classes, got {n_classes}. Merge rare classes.")
    focal, masses = solve_pairs(given)
    return over_all_sets(focal, masses)


def over_all_sets(focal: NDArray[np.bool_], masses: Floats) -> Floats:
    """Return masses (n, 2^K) of sets (F, K) with masses (n, F)."""
    n_classes = focal.shape[1]
    every = np.zeros((len(masses), 1 << n_classes))
    every[:, (focal.astype(np.int64) << np.arange(n_classes)).sum(axis=1)] = masses
    return every


def solve_pairs(pair_masses: ArrayLike) -> tuple[NDArray[np.bool_], Floats]:
    """Return the sets that may have mass (F, K), and their masses (n, F)."""
    given = _checked_pairs(pair_masses)
    programme = programme_of(_n_classes_from_pairs(given.shape[1]))
    wanted = given.reshape(len(given), -1)
    distinct, where = np.unique(wanted, axis=0, return_inverse=True)  # few leaves have few combinations
    return programme.focal, _solve(programme, distinct)[where.ravel()]


def pair_misfit(pair_masses: Floats, focal: NDArray[np.bool_], mass: Floats) -> Floats:
    """Return how much a mass differs from the masses of the pairs, from 0 to 1.

    It is the root of the mean over pairs of half the squared distance between the two masses of a pair.
    """
    restricted = row_products(mass, programme_of(focal.shape[1]).restrict.T)
    squares = ((restricted - pair_masses.reshape(len(pair_masses), -1)) ** 2).sum(axis=1)
    misfit: Floats = np.sqrt(squares / (2 * pair_masses.shape[1]))
    return misfit


class Programme(NamedTuple):
    """The programme: minimise |Gm - w|² + evenness |m|² over masses m.

    Only the wanted masses w differ between samples.
    """

    focal: NDArray[np.bool_]  # (F, K): the sets that may have mass
    restrict: Floats  # G, (4 P, F): restricts a mass to the pairs
    evenness: float
    basis: Floats  # (4 P, F), and
    triangle: Floats  # (F, F): |Gm - w|² + evenness |m|² = |triangle m - basisᵀ w|² + a term without m


@lru_cache(maxsize=32)
def programme_of(n_classes: int) -> Programme:
    """Return the sets that may have mass, and the matrices of the programme."""
    if n_classes <= ALL_SETS:
        sets = [tuple(k for k in range(n_classes) if mask >> k & 1) for mask in range(1, 1 << n_classes)]
    else:
        sets = [(k,) for k in range(n_classes)] + list(combinations(range(n_classes), 2)) + [tuple(range(n_classes))]
    focal = np.array([[k in members for k in range(n_classes)] for members in sets])
    first, second = np.array(list(combinations(range(n_classes), 2))).T
    part = focal[:, first] + 2 * focal[:, second]  # (F, P): intersection of each set and pair
    restrict = (part[:, :, None] == np.arange(4)).reshape(len(focal), -1).T.astype(np.float64)
    evenness = EVENNESS if 4 <= n_classes <= ALL_SETS else 0.0
    basis, triangle = np.linalg.qr(np.vstack([restrict, np.sqrt(evenness) * np.eye(len(focal))]))
    return Programme(focal, restrict, evenness, basis[: len(restrict)], triangle)


def _checked_pairs(pair_masses: ArrayLike) -> Floats:
    """Return masses of pairs as (n, P, 4)."""
    given = checked_mass(pair_masses)
    if given.ndim != 3 or given.shape[2] != 4:
        raise ValueError(f"pair_masses must have the shape (n, K(K-1)/2, 4), got {given.shape}.")
    return given


def _n_classes_from_pairs(n_pairs: int) -> int:
    """Return K of K(K-1)/2 pairs."""
    n_classes = int((1 + np.sqrt(1 + 8 * n_pairs)) // 2)
    if n_pairs < 1 or n_classes * (n_classes - 1) // 2 != n_pairs:
        raise ValueError(f"pair_masses must have all K(K-1)/2 pairs of K classes (1, 3, 6, 10, ...), got {n_pairs}.")
    return n_classes


def _solve(programme: Programme, wanted: Floats) -> Floats:
    """Return the nearest points in the convex hull of triangle's columns.

    With the wanted point as the origin, non-negative least squares on the columns, with a row of ones for the sum,
    finds that point up to scale, in finitely many exact steps.
    """
    n_sets = len(programme.focal)
    points = row_products(wanted, programme.basis)
    columns, target = np.ones((n_sets + 1, n_sets)), np.zeros(n_sets + 1)
    target[-1] = 1.0
    masses = np.empty((len(wanted), n_sets))
    for row, point in enumerate(points):
        np.subtract(programme.triangle, point[:, None], out=columns[:-1])
        found, _ = nnls(columns, target)
        masses[row] = found / found.sum()
    return masses
