"""Rules that redistribute conflict (Yager, Dubois-Prade, PCR6), and Jousselme's distance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from hedgerow.belief.masses.frame import (
    Floats,
    checked_mass,
    checked_normal_mass,
    conjunctive_product,
    halves,
    n_classes_of,
    subset_sizes,
    subset_sums,
    superset_sums,
)

Masks = NDArray[np.int64]

#: Largest number of pairs of a state and a focal set in the Dubois-Prade rule.
MOST_PAIRS = 10**8

#: Step of the trapezoidal rule for the integral of exp(v - a e^v) over v; its relative error is below 1e-14.
STEP = 0.26


def yager(masses: Sequence[Floats]) -> Floats:
    """Combine all sources conjunctively; the conflict goes to the frame."""
    mass = masses[0].copy()
    for other in masses[1:]:
        mass = conjunctive_product(mass, other)
    mass[:, -1] += mass[:, 0]
    mass[:, 0] = 0.0
    return mass


def dubois_prade(masses: Sequence[Floats]) -> Floats:
    """Combine by the rule of Dubois and Prade.

    Each tuple of focal sets goes to its intersection, or to its union if that is empty. Sources are taken one after the
    other. A state is the intersection and the union so far; tuples in the same state are merged.
    """
    meet = join = _focal_sets(masses[0])
    states = masses[0].T[meet]
    for mass in masses[1:]:
        focal = _focal_sets(mass)
        if len(meet) * len(focal) > MOST_PAIRS:
            raise ValueError(
                f"masses must have fewer focal sets for 'dubois_prade', got {len(meet)} states x {len(focal)} sets. "
                "Use 'yager' or 'pcr6', whose cost does not depend on them."
            )
        meet, join, states = _next_states(meet, join, states, focal, mass)
    target = np.where(meet > 0, meet, join)
    return _summed(states, target, masses[0].shape[1]).T


def pcr6(masses: Sequence[Floats]) -> Floats:
    """Combine by PCR6: conflicting sets share the product of their masses.

    The definition is for all sources at once (Martin and Osswald 2006): a tuple (A_1, ..., A_S) with an empty
    intersection gives A_i the part m_i(A_i)/(m_1(A_1) + ... + m_S(A_S)). There are up to 2^(K S) tuples, but they need
    not be listed: 1/a is the integral of exp(v - a e^v) over v, and for each v the exponential is a product over the
    sources, so commonalities multiply.
    """
    sources = np.stack([checked_normal_mass(mass, "the rule 'pcr6'") for mass in masses])
    combined = sources[0].copy()
    for source in sources[1:]:
        combined = conjunctive_product(combined, source)
    combined[:, 0] = 0.0
    shared = _shared_conflict(sources)
    # in exact arithmetic these shares sum to the missing mass of the conjunctive part; scaling only removes rounding
    lacking = np.maximum(1.0 - combined.sum(axis=1, keepdims=True), 0.0)
    total = shared.sum(axis=1, keepdims=True)
    mass: Floats = combined + shared * np.divide(lacking, total, out=np.zeros_like(total), where=total > 0)
    return mass


def _shared_conflict(sources: Floats) -> Floats:
    """Return the mass (n, 2^K) that each set gets from its conflicting tuples."""
    n_classes = n_classes_of(sources)
    sign = np.where(subset_sizes(n_classes) % 2 == 0, 1.0, -1.0)
    shared = np.zeros(sources.shape[1:])
    for u, node_weight in reciprocal_nodes(len(sources), n_classes):
        faded = sources * np.exp(-u * sources)
        others = _product_of_others(superset_sums(faded))
        excluded = np.maximum(subset_sums(sign * others), 0.0)
        shared += node_weight * (sources * faded * excluded).sum(axis=0)
    shared[:, 0] = 0.0
    return shared


def reciprocal_nodes(n_sources: int, n_classes: int) -> list[tuple[float, float]]:
    """Return nodes u and weights w with sum of w e^(-a u) = 1/a for 0 < a <= S.

    The nodes end on the right where the masses m e^(-u m) of 2^K sets, at most 2^K/(e u) in sum, no longer matter. On
    the left the trapezoidal rule has infinitely many nodes; those where (a u)^3 is below rounding are replaced by one
    node with their total weight and their mean.
    """
    v = np.arange(-11.0 - np.log(n_sources), np.log(1e9 * 2.0**n_classes), STEP)
    u = np.exp(v)
    first = u[0] * np.exp(-STEP)
    tail = (first / (1.0 + np.exp(-STEP)), STEP * first / -np.expm1(-STEP))
    return [tail, *zip(u.tolist(), (STEP * u).tolist(), strict=True)]


def _focal_sets(mass: Floats) -> Masks:
    """Return the masks of the sets that have mass in at least one row."""
    return np.flatnonzero((mass > 0).any(axis=0)).astype(np.int64)


def _next_states(meet: Masks, join: Masks, states: Floats, focal: Masks, mass: Floats) -> tuple[Masks, Masks, Floats]:
    """Return the states after the next source."""
    width = mass.shape[1]
    codes = (meet[:, None] & focal) * width + (join[:, None] | focal)
    found, place = np.unique(codes, return_inverse=True)
    place = place.reshape(codes.shape)
    merged = np.zeros((len(found), states.shape[1]))
    for f, focal_set in enumerate(focal):
        merged += _summed(states * mass[:, focal_set], place[:, f], len(found))
    return found // width, found % width, merged


def _summed(states: Floats, place: Masks, n_places: int) -> Floats:
    """Sum the rows (S, n) that go to the same place: (P, n)."""
    adder = csr_array((np.ones(len(place)), (place, np.arange(len(place)))), shape=(n_places, len(place)))
    summed: Floats = adder @ states
    return summed


def _product_of_others(values: Floats) -> Floats:
    """Return the product of the other sources' values for each source, (S, n, 2^K)."""
    before, after = np.ones_like(values), np.ones_like(values)
    np.cumprod(values[:-1], axis=0, out=before[1:])
    after[:-1] = np.cumprod(values[:0:-1], axis=0)[::-1]
    others: Floats = before * after
    return others


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
