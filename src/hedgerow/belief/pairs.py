"""Preferences between pairs of classes, and the partial orders that follow."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedgerow.belief.plausibility import preference

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


class PairwisePreference(NamedTuple):
    """Degrees of preference between all pairs of K classes, (n, K, K) each.

    ``strict[:, i, j]`` is the preference for i over j, ``indifferent`` the aleatoric and ``incomparable`` the epistemic
    uncertainty of the pair. ``strict[:, i, j] + strict[:, j, i] + indifferent[:, i, j] + incomparable[:, i, j]`` is 1.
    On the diagonal, classes are indifferent.
    """

    strict: Floats
    indifferent: Floats
    incomparable: Floats


def pairwise_preference(counts: ArrayLike) -> PairwisePreference:
    """Return the preferences between classes of leaf counts (Nguyen et al., 2018).

    Each pair of classes is compared by its own rows only, by relative likelihood, as `preference` compares two classes.

    Parameters
    ----------
    counts : array-like (n, K)
        Rows per class of leaves.

    Returns
    -------
    PairwisePreference

    Examples
    --------
    >>> found = pairwise_preference([[3, 1, 0]])
    >>> found.strict[0].round(3)
    array([[0.   , 0.484, 0.907],
           [0.   , 0.   , 0.667],
           [0.   , 0.   , 0.   ]])
    >>> found.incomparable[0, 0].round(3), found.indifferent[0, 0].round(3)
    (array([0.   , 0.282, 0.093]), array([1.   , 0.235, 0.   ]))
    """
    table = np.asarray(counts, dtype=np.float64)
    if table.ndim != 2 or not np.isfinite(table).all() or (table < 0).any():
        raise ValueError(f"counts must be finite and non-negative, of shape (n, K), got shape {table.shape}.")
    n, n_classes = table.shape
    strict, incomparable = np.zeros((n, n_classes, n_classes)), np.zeros((n, n_classes, n_classes))
    for first in range(n_classes):
        for second in range(first + 1, n_classes):
            leaf = preference(table[:, [first, second]])
            strict[:, first, second] = np.where(leaf.winner == 0, leaf.support, 0.0)
            strict[:, second, first] = np.where(leaf.winner == 1, leaf.support, 0.0)
            incomparable[:, first, second] = incomparable[:, second, first] = np.exp(leaf.log_epistemic)
    return completed_preference(strict, incomparable)


def completed_preference(strict: Floats, incomparable: Floats) -> PairwisePreference:
    """Return preferences whose four degrees add up to one."""
    indifferent = np.clip(1.0 - strict - strict.transpose(0, 2, 1) - incomparable, 0.0, 1.0)
    return PairwisePreference(strict, indifferent, incomparable)


def partial_order(strict: ArrayLike) -> Bools:
    """Return the partial orders of classes with the most comparisons that strict preferences allow.

    Class i precedes j if the preference for i over j exceeds a level, and by transitivity. The level is the smallest
    for which no class precedes itself (Cheng et al., 2010).

    Parameters
    ----------
    strict : array-like (n, K, K)
        Degrees of strict preference, as in `PairwisePreference`.

    Returns
    -------
    bool (n, K, K)
        Whether class i precedes class j.

    Examples
    --------
    >>> cycle = [[0.0, 0.6, 0.0], [0.0, 0.0, 0.5], [0.2, 0.0, 0.0]]  # 0 before 1 before 2, hardly 2 before 0
    >>> partial_order([cycle]).astype(int)
    array([[[0, 1, 1],
            [0, 0, 1],
            [0, 0, 0]]])
    """
    degrees = np.asarray(strict, dtype=np.float64)
    if degrees.ndim != 3 or degrees.shape[1] != degrees.shape[2]:
        raise ValueError(f"strict must have the shape (n, K, K), got {degrees.shape}.")
    return np.array([_order_of(row) for row in degrees], dtype=bool).reshape(degrees.shape)


def _order_of(degrees: Floats) -> Bools:
    """Return the partial order (K, K) of one row, by bisection over the levels."""
    levels = np.unique(np.append(degrees, 0.0))
    low, high = 0, len(levels) - 1  # at the highest level nothing precedes anything
    while low < high:
        middle = (low + high) // 2
        if _closure(degrees > levels[middle]).diagonal().any():
            low = middle + 1
        else:
            high = middle
    return _closure(degrees > levels[high])


def _closure(relation: Bools) -> Bools:
    """Return the transitive closure (K, K) of a relation (Warshall)."""
    closed = relation.copy()
    for between in range(len(closed)):
        closed |= closed[:, between, None] & closed[between]
    return closed
