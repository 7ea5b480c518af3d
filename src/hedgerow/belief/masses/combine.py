"""Combination of the masses of several sources."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from hedgerow.belief.masses.change import without_conflict
from hedgerow.belief.masses.conflict import dubois_prade, pcr6, yager
from hedgerow.belief.masses.frame import (
    EXACT_CLASSES,
    Floats,
    checked_mass,
    conjunctive_product,
    disjunctive_product,
    n_classes_of,
)
from hedgerow.belief.masses.weights import combine_by_weights

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
