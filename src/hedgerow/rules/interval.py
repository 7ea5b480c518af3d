"""Rules on the imprecise Dirichlet intervals of leaves."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from hedgerow.belief.leaf import bounds_with_gaps, class_shares, idm_bounds, largest_rival
from hedgerow.belief.opinion import Bools, Opinion, centred_score, opinion_from_bounds
from hedgerow.rules.base import Floats, Merge, OnPage, Rule, Setting, one_of, register
from hedgerow.rules.dominance import check_learning
from hedgerow.rules.mean import Average, distribution

MEETS = 1e-12  # bounds that miss each other by less touch: equal shares may be rounded differently


@register(lambda: IntervalAverage("learned"), lambda: IntervalAverage("minimax"))
class IntervalAverage(Average):
    """Mean of the intervals of trees, of which undominated classes are chosen.

    With two classes, it chooses class 1 if its lower probability is above 1/2, class 0 if the upper probability of
    class 1 is below 1/2, and both otherwise: the baseline of Zhang, Quost and Masson (2021).

    Parameters
    ----------
    weights : {"equal", "learned", "minimax"}, default "equal"
        Tree weights. A forest learns them out of bag (see `hedgerow.belief.learn_tree_weights`): "learned" by the
        objective of the cautious weighted random forest (Zhang, Quost and Masson 2023), "minimax" by the largest
        squared distance that the imprecise Dirichlet models of the leaves allow (Utkin, Kovalev and Coolen 2020).
        `combine` requires them as its ``weights``.
    gamma : float >= 0, default 0.1
        Only for "learned": reward for being cautious.
    lam : float >= 0, default 0.1
        Only for "learned" and "minimax": pull towards equal weights.

    Examples
    --------
    >>> from hedgerow import combine
    >>> combine([[[2, 3]]], IntervalAverage(), caution=2.0).chosen
    array([[ True,  True]])
    """

    name: ClassVar[str] = "interval_average"
    by_class = 2
    exact_gaps = True
    chooses = True
    page = "average"

    def __init__(self, weights: str = "equal", gamma: float = 0.1, lam: float = 0.1) -> None:
        self.weights = weights
        self.gamma = gamma
        self.lam = lam

    def lift(self, counts: Floats, setting: Setting) -> Floats:
        """Return [p (K), (1 - r) p (K), sum of squares, r] of leaves."""
        one_of(self.weights, ("equal", "learned", "minimax"), "weights")
        check_learning(self.gamma, self.lam)
        return super().lift(counts, setting)

    def finish(self, state: Floats, setting: Setting) -> Opinion:
        """Return the opinion with the undominated classes chosen."""
        opinion = super().finish(state, setting)
        return replace(opinion, chosen=undominated_bounds(opinion.lower, opinion.upper))

    @property
    def weight_learning(self) -> dict[str, Any]:
        """The objective of learned weights."""
        if self.weights not in ("learned", "minimax"):
            return {}
        known = {"objective": "minimax" if self.weights == "minimax" else "bounds", "lam": float(self.lam)}
        return known | ({} if self.weights == "minimax" else {"gamma": float(self.gamma)})

    def on_page(self) -> OnPage:
        """Return None for learned weights, which the script lacks."""
        return ("average", {}) if self.weights == "equal" else None


@register()
class IntervalConjunction(Rule):
    """Intersection of the intervals of all leaves.

    If no distribution lies in the intersection, the trees contradict each other. Then ``conflict`` is the distance
    between the bounds, and the opinion is the average of the intervals of non-empty leaves. ``probability`` is the
    distribution that divides the interval of every class in the same ratio; if the trees contradict each other, it is
    the average.

    More caution can end a contradiction, and replace the wide average by a narrow intersection. Intervals are therefore
    nested only among cautions where the trees agree, and among cautions where they do not.

    Examples
    --------
    >>> from hedgerow import combine
    >>> opinion = combine([[[1, 3], [0, 2]]], IntervalConjunction(), caution=2.0)
    >>> opinion.lower.round(3), opinion.upper.round(3), opinion.conflict
    (array([[0.167, 0.5  ]]), array([[0.5  , 0.833]]), array([0.]))
    """

    name: ClassVar[str] = "interval_conjunction"
    merge: ClassVar[Merge] = "both"
    by_class = 3
    scale_free = True
    calibrates = False  # intervals that meet depend on caution

    def lift(self, counts: Floats, setting: Setting) -> Floats:
        """Return [lower (K), 1 - upper (K), shares (K)] of leaves."""
        lower, upper = idm_bounds(counts, setting.caution)
        return np.hstack([lower, 1.0 - upper, class_shares(counts)])

    def lift_gaps(self, counts: Floats, below: Floats, above: Floats, setting: Setting) -> Floats:
        """Return the states of leaves with uncertain labels, from their wider intervals."""
        lower, upper = bounds_with_gaps(counts, below, above, setting.caution)
        return np.hstack([lower, 1.0 - upper, class_shares(counts)])

    def finish(self, state: Floats, setting: Setting) -> Opinion:
        """Return the opinion of largest and summed states (n, 6K)."""
        lower, outside, _, lower_sum, outside_sum, share_sum = np.hsplit(state, 6)
        upper = 1.0 - outside
        mean, filled = distribution(share_sum)
        leaves = np.where(filled > 0, filled, 1.0)[:, None]
        gap = _gap(lower, upper)
        met = (gap <= MEETS)[:, None]
        lower = np.where(met, np.minimum(lower, upper), lower_sum / leaves)
        upper = np.where(met, np.maximum(state[:, : setting.n_classes], upper), 1.0 - outside_sum / leaves)
        probability = np.where(met, _between(lower, upper), mean)
        conflict = np.where(met[:, 0], 0.0, gap)
        return opinion_from_bounds(probability, lower, upper, conflict, score=centred_score(probability, 1.0))

    @property
    def laws(self) -> frozenset[str]:
        """Not nested where more caution ends a contradiction."""
        return frozenset({"precise", "accumulates"})


@register()
class IntervalDisjunction(Rule):
    """Hull of the intervals of all leaves: smallest lower, largest upper bound.

    ``probability`` is the average. ``conflict`` is the largest distance between the shares of two leaves. At
    caution 0 the interval of a class spans the shares of the trees.

    Examples
    --------
    >>> from hedgerow import combine
    >>> opinion = combine([[[1, 3], [0, 2]]], IntervalDisjunction(), caution=0.0)
    >>> opinion.lower, opinion.upper
    (array([[0.  , 0.75]]), array([[0.25, 1.  ]]))
    """

    name: ClassVar[str] = "interval_disjunction"
    merge: ClassVar[Merge] = "both"
    by_class = 4
    scale_free = True

    def lift(self, counts: Floats, setting: Setting) -> Floats:
        """Return [1 - lower (K), upper (K), shares (K), 1 - shares (K)] of leaves."""
        none = np.zeros_like(counts)
        return self.lift_gaps(counts, none, none, setting)

    def lift_gaps(self, counts: Floats, below: Floats, above: Floats, setting: Setting) -> Floats:
        """Return the states of leaves with uncertain labels, from their wider intervals."""
        lower, upper = bounds_with_gaps(counts, below, above, setting.caution)
        shares = class_shares(counts)
        filled = counts.sum(axis=1, keepdims=True) > 0
        return np.hstack([1.0 - lower, upper, shares, np.where(filled, 1.0 - shares, 0.0)])

    def finish(self, state: Floats, setting: Setting) -> Opinion:
        """Return the opinion of largest and summed states (n, 8K)."""
        outside, upper, largest, others, _, _, share_sum, _ = np.hsplit(state, 8)
        probability, filled = distribution(share_sum)
        known = (filled > 0)[:, None]
        lower, upper = np.where(known, 1.0 - outside, 0.0), np.where(known, upper, 1.0)
        conflict = np.where(known, largest + others - 1.0, 0.0).max(axis=1)
        return opinion_from_bounds(probability, lower, upper, conflict, score=centred_score(probability, 1.0))

    @property
    def laws(self) -> frozenset[str]:
        """Not precise: at caution 0 the interval spans the shares of the trees."""
        return frozenset({"widens"})


def undominated_bounds(lower: Floats, upper: Floats) -> Bools:
    """Return the classes whose upper bound is not below another lower bound.

    Examples
    --------
    >>> undominated_bounds(np.array([[0.2, 0.6]]), np.array([[0.4, 0.8]]))
    array([[False,  True]])
    """
    kept: Bools = largest_rival(lower) <= upper
    return kept


def _gap(lower: Floats, upper: Floats) -> Floats:
    """Return how far bounds are from containing a distribution; <= 0 if they do."""
    between = (lower - upper).max(axis=1)
    gap: Floats = np.maximum(between, np.maximum(lower.sum(axis=1) - 1.0, 1.0 - upper.sum(axis=1)))
    return gap


def _between(lower: Floats, upper: Floats) -> Floats:
    """Return the distribution (n, K) that divides every interval in the same ratio."""
    low, high = lower.sum(axis=1, keepdims=True), upper.sum(axis=1, keepdims=True)
    wide = high - low > MEETS
    part = np.where(wide, np.clip((1.0 - low) / np.where(wide, high - low, 1.0), 0.0, 1.0), 0.0)
    return distribution(lower + part * (upper - lower))[0]
