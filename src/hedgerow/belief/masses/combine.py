"""Combination of the masses of several sources, and their conflict."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from hedgerow.belief.masses.frame import (
    EXACT_CLASSES,
    Floats,
    checked_mass,
    checked_normal_mass,
    conjunctive_product,
    disjunctive_product,
    halves,
    n_classes_of,
    subset_sizes,
    subset_sums,
    superset_sums,
)
from hedgerow.belief.masses.transforms import without_conflict
from hedgerow.belief.masses.weights import combine_by_weights

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


CELLS = 1 << 22  # numbers in memory at once, so that many rows need little

Combination = Callable[[Sequence[Floats]], Floats]


def combine_masses(
    masses: Iterable[ArrayLike],
    rule: str = "dempster",
    *,
    weights: ArrayLike | None = None,
    dependence: float | None = None,
) -> Floats:
    """Combine the masses of S sources, (..., 2^K) each.

    ================ ==============================================================================
    rule             where the product of the masses of focal sets A_1, ..., A_S goes
    ================ ==============================================================================
    "dempster"       to the intersection; conflict is normalised away
    "conjunctive"    to the intersection; conflict stays on the empty set
    "disjunctive"    to the union
    "cautious"       minimum of the conjunctive weights: repeated evidence counts once
    "bold"           minimum of the disjunctive weights
    "tnorm"          Frank's t-norm of the conjunctive weights, from conjunctive to cautious
    "yager"          to the intersection; conflict goes to the frame
    "dubois_prade"   to the intersection, or to the union where that is empty
    "pcr6"           to the intersection; the A_i share conflict in proportion to their masses
    "mean"           the (weighted) mean of the masses
    ================ ==============================================================================

    "yager", "dubois_prade" and "pcr6" are not associative: they are applied once to all sources, not pair by pair.
    "cautious", "tnorm" and "bold" may leave mass on the empty set; see `normalise_mass`.

    Parameters
    ----------
    masses : sequence of array-like (..., 2^K)
        One mass per source, all over the same classes; leading axes broadcast. An array (S, ..., 2^K) works too.
    rule : str, default "dempster"
    weights : array-like (S,), optional
        Only for "mean": weights of the sources, >= 0; they are normalised.
    dependence : float in [0, 1], optional
        Only for "tnorm": 0 treats the sources as independent, 1 as repetitions of one source. 1 equals "cautious".
        0 equals "conjunctive" for separable masses, whose conjunctive weights are all at most 1.

    Returns
    -------
    float64 (..., 2^K)

    Examples
    --------
    >>> m1, m2 = [0, 0.4, 0, 0.6], [0, 0, 0.5, 0.5]
    >>> combine_masses([m1, m2]).round(6).tolist()
    [0.0, 0.25, 0.375, 0.375]
    >>> combine_masses([m1, m2], rule="conjunctive").tolist()
    [0.2, 0.2, 0.3, 0.3]
    >>> combine_masses([m1, m1], rule="cautious").round(6).tolist()
    [0.0, 0.4, 0.0, 0.6]
    """
    sources = _checked_sources(masses)
    combination = _combination(rule, len(sources), weights, dependence)
    width = sources[0].shape[-1]
    lead = np.broadcast_shapes(*(mass.shape[:-1] for mass in sources))
    rows = [np.broadcast_to(mass, (*lead, width)).reshape(-1, width) for mass in sources]
    combined = np.zeros_like(rows[0])
    block = max(1, CELLS // max(len(rows) * width, 3 ** min(n_classes_of(combined), EXACT_CLASSES)))
    for start in range(0, len(combined), block):
        combined[start : start + block] = combination([mass[start : start + block] for mass in rows])
    return combined.reshape(*lead, width)


def mass_rules() -> tuple[str, ...]:
    """Return the names of the rules of `combine_masses`, in alphabetical order.

    Examples
    --------
    >>> mass_rules()[:3]
    ('bold', 'cautious', 'conjunctive')
    """
    return tuple(sorted([*_RULES, "mean", "tnorm"]))


def _combination(rule: str, n_sources: int, weights: ArrayLike | None, dependence: float | None) -> Combination:
    """Return the rule with its parameters; raise if it does not take them."""
    if rule not in mass_rules():
        raise ValueError(f"rule must be one of {', '.join(mass_rules())}, got {rule!r}.")
    if weights is not None and rule != "mean":
        raise ValueError(f"weights must be None for the rule {rule!r}, got {weights!r}. Use discount_mass.")
    if dependence is not None and rule != "tnorm":
        raise ValueError(f"dependence must be None for the rule {rule!r}, got {dependence!r}. Only 'tnorm' uses it.")
    if rule == "mean":
        return partial(_mean, shares=_source_shares(weights, n_sources))
    if rule == "tnorm":
        if dependence is None or not 0 <= dependence <= 1:
            raise ValueError(
                f"dependence must lie in [0, 1] for the rule 'tnorm', got {dependence!r}. "
                "Use 0 for independent sources, 1 for repeated evidence."
            )
        return partial(combine_by_weights, dependence=float(dependence))
    return _RULES[rule]


def _checked_sources(masses: Iterable[ArrayLike]) -> list[Floats]:
    """Return masses as float64; raise if there are none or their shapes do not match."""
    sources = [checked_mass(mass) for mass in masses]
    if not sources:
        raise ValueError("masses must contain at least one mass, got an empty sequence.")
    frames = sorted({n_classes_of(mass) for mass in sources})
    if len(frames) > 1:
        raise ValueError(f"masses must be over the same classes, got frames of {frames} classes.")
    try:
        np.broadcast_shapes(*(mass.shape[:-1] for mass in sources))
    except ValueError:
        shapes = [mass.shape for mass in sources]
        raise ValueError(f"masses must have leading axes that broadcast, got shapes {shapes}.") from None
    return sources


def _source_shares(weights: ArrayLike | None, n_sources: int) -> Floats:
    """Return source weights (S,) that sum to 1."""
    values = np.ones(n_sources) if weights is None else np.asarray(weights, dtype=np.float64)
    if values.shape != (n_sources,) or not np.isfinite(values).all() or (values < 0).any() or values.sum() <= 0:
        raise ValueError(
            f"weights must be {n_sources} finite non-negative numbers, not all zero, got {weights!r}. "
            "Omit them to weight all sources equally."
        )
    shares: Floats = values / values.sum()
    return shares


def _dempster(masses: Sequence[Floats]) -> Floats:
    """Combine by Dempster's rule, normalised at each step to avoid underflow."""
    combined = without_conflict(masses[0])
    for mass in masses[1:]:
        combined = without_conflict(conjunctive_product(combined, mass))
    return combined


def _conjunctive(masses: Sequence[Floats]) -> Floats:
    """Combine by the conjunctive rule."""
    combined = masses[0]
    for mass in masses[1:]:
        combined = conjunctive_product(combined, mass)
    return combined


def _disjunctive(masses: Sequence[Floats]) -> Floats:
    """Combine by the disjunctive rule."""
    combined = masses[0]
    for mass in masses[1:]:
        combined = disjunctive_product(combined, mass)
    return combined


def _cautious(masses: Sequence[Floats]) -> Floats:
    """Combine by the cautious rule."""
    return combine_by_weights(masses, dependence=1.0)


def _bold(masses: Sequence[Floats]) -> Floats:
    """Combine complements, whose masks are in reverse order, by the cautious rule."""
    if min(mass[:, 0].min(initial=1.0) for mass in masses) <= 0:
        raise ValueError(
            "masses must have mass on the empty set for the rule 'bold', got 0. "
            "Move a little of each there, or use rule='disjunctive'."
        )
    return combine_by_weights([mass[:, ::-1] for mass in masses], dependence=1.0)[:, ::-1]


def _mean(masses: Sequence[Floats], shares: Floats) -> Floats:
    """Return the weighted mean of the masses."""
    mean: Floats = np.tensordot(shares, np.stack(masses), axes=1)
    return mean


_RULES: dict[str, Combination] = {
    "bold": _bold,
    "cautious": _cautious,
    "conjunctive": _conjunctive,
    "dempster": _dempster,
    "disjunctive": _disjunctive,
    "dubois_prade": dubois_prade,
    "pcr6": pcr6,
    "yager": yager,
}
