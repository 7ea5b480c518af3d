"""Rules on the undominated classes of every leaf."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from hedgerow.belief.leaf import undominated, undominated_with_gaps
from hedgerow.belief.opinion import Bools, Opinion, opinion_from_bounds, opinion_from_lower
from hedgerow.rules.base import Floats, Merge, OnPage, Rule, Setting, one_of, register
from hedgerow.rules.mean import distribution, leaf_weights

TIE = 1e-12  # votes this close, relative to all votes, are equal: sums of weights depend on the order of trees


class DominanceRule(Rule):
    """Base class of rules on undominated classes, in which trees have weights.

    Parameters
    ----------
    weights : {"equal", "size", "precision", "purity", "learned"}, default "equal"
    gamma, lam : float, default 0.1
        As in `Belief`.
    """

    def __init__(self, weights: str = "equal", gamma: float = 0.1, lam: float = 0.1) -> None:
        self.weights = weights
        self.gamma = gamma
        self.lam = lam

    def leaf_weight(self, counts: Floats, setting: Setting) -> Floats:
        """Return the weights (m,) of leaves."""
        one_of(self.weights, ("equal", "size", "precision", "purity", "learned"), "weights")
        check_learning(self.gamma, self.lam)
        if self.weights in ("equal", "learned"):
            return np.ones(len(counts))
        return leaf_weights(counts, self.weights, setting.caution)

    @property
    def laws(self) -> frozenset[str]:
        """Intervals are nested unless weights depend on caution."""
        return frozenset({"precise"} if self.weights == "precision" else {"precise", "widens"})

    @property
    def weight_learning(self) -> dict[str, Any]:
        """The objective of learned weights."""
        known = {"objective": "votes", "gamma": float(self.gamma), "lam": float(self.lam)}
        return known if self.weights == "learned" else {}

    @property
    def by_tree(self) -> bool:
        """True if the weight of a tree does not depend on its leaf."""
        return self.merge == "add" and self.weights in ("equal", "learned")


@register(
    lambda: Belief(weights="size"),
    lambda: Belief(weights="precision"),
    lambda: Belief(weights="purity"),
    lambda: Belief(weights="learned"),
)
class Belief(DominanceRule):
    """Every tree puts its weight on the undominated classes of its leaf.

    ``lower`` is the weight of the trees whose undominated set is {k}, ``upper`` the weight of those whose set contains
    k. ``probability`` is pignistic. ``conflict`` is the weight of the decided trees that are against the leading class.
    With interval dominance this is the decision of Zhang, Quost and Masson (2021): class 1 if bel > 1/2, class 0 if
    pl < 1/2.

    Parameters
    ----------
    weights : {"equal", "size", "precision", "purity", "learned"}, default "equal"
        Weight of a tree: "equal" is 1, "size" is n, the rows of its leaf, "precision" is n/(n + caution), "purity" is
        one minus the Gini impurity of its leaf. Explicit tree weights multiply it; "learned" requires them. A forest
        learns them out of bag (see `hedgerow.belief.learn_tree_weights`; Zhang, Quost and Masson 2023).
    gamma : float >= 0, default 0.1
        Only for "learned": reward for being cautious.
    lam : float >= 0, default 0.1
        Only for "learned": pull towards equal weights.

    Examples
    --------
    >>> from hedgerow import combine
    >>> opinion = combine([[[0, 1], [0, 2], [3, 2], [1, 0]]], Belief(), caution=2.0)
    >>> opinion.lower, opinion.upper
    (array([[0.  , 0.25]]), array([[0.75, 1.  ]]))
    """

    name: ClassVar[str] = "belief"
    merge: ClassVar[Merge] = "add"
    by_class = 3
    scale_free = True
    smooth = False
    calibrates = False  # the set of a leaf grows with caution
    page = "belief"
    strict: ClassVar[bool] = False  # whether a dominating lower bound must exceed, not only reach, the upper bound

    def lift(self, counts: Floats, setting: Setting) -> Floats:
        """Return weight x [alone (K), possible (K), pignistic (K), 1] of leaves."""
        return self._lifted(counts, undominated(counts, setting.caution, strict=self.strict), setting)

    def lift_gaps(self, counts: Floats, below: Floats, above: Floats, setting: Setting) -> Floats:
        """Return the states of leaves with uncertain labels, which dominate less."""
        possible = undominated_with_gaps(counts, below, above, setting.caution, strict=self.strict)
        return self._lifted(counts, possible, setting)

    def _lifted(self, counts: Floats, possible: Bools, setting: Setting) -> Floats:
        """Return the states of leaves, given their undominated classes."""
        size = possible.sum(axis=1, keepdims=True)
        state = np.hstack([possible & (size == 1), possible, possible / size, np.ones_like(size)])
        weighted: Floats = self.leaf_weight(counts, setting)[:, None] * state
        return weighted

    def finish(self, state: Floats, setting: Setting) -> Opinion:
        """Return the opinion of merged states (n, 3K + 1)."""
        k, total = setting.n_classes, state[:, -1:]
        share = state[:, :-1] / np.where(total > 0, total, 1.0)
        alone, possible = share[:, :k], np.where(total > 0, share[:, k : 2 * k], 1.0)
        probability, _ = distribution(share[:, 2 * k :])
        return opinion_from_bounds(probability, alone, possible, votes_against(alone))

    @property
    def adds_up(self) -> tuple[str, ...]:
        """Everything, unless leaves have different weights or trees are stacked."""
        return ("probability", "lower", "upper", "width") if self.by_tree else ()

    def parts(self, state: Floats, setting: Setting) -> dict[str, Floats]:
        """Return belief, plausibility and pignistic probability of leaves, (m, K) each."""
        k = setting.n_classes
        return {"lower": state[:, :k], "upper": state[:, k : 2 * k], "probability": state[:, 2 * k : 3 * k]}

    def on_page(self) -> OnPage:
        """Return None for weights that the script lacks."""
        if self.page is None or self.weights in ("learned", "purity"):
            return None
        return self.page, {"weights": self.weights, "strict": self.strict}


@register()
class Mva(Belief):
    """MVA: trees vote against dominated classes, and the fewest votes win.

    The chosen classes are those of largest plausibility. In a leaf, a class is dominated if its upper probability is
    below the lower probability of another; under `Belief` it may also equal it. One row of a class, at caution 1, is
    therefore no vote against the others.

    Parameters
    ----------
    weights : {"equal", "size", "precision", "purity", "learned"}, default "equal"
    gamma, lam : float >= 0, default 0.1
        As in `Belief`.

    Examples
    --------
    >>> from hedgerow import combine
    >>> combine([[[3, 3, 0], [2, 2, 0], [4, 0, 0]], [[1, 0, 0], [1, 0, 0], [1, 0, 0]]], Mva()).chosen
    array([[ True, False, False],
           [ True,  True,  True]])
    """

    name: ClassVar[str] = "mva"
    chooses = True
    page = "belief"
    strict = True

    def finish(self, state: Floats, setting: Setting) -> Opinion:
        """Return the opinion with the classes of fewest votes against them chosen."""
        opinion = super().finish(state, setting)
        return replace(opinion, chosen=leading(opinion.upper))


@register(
    lambda: DominanceVote("size"),
    lambda: DominanceVote("precision"),
    lambda: DominanceVote("purity"),
    lambda: DominanceVote("learned"),
)
class DominanceVote(DominanceRule):
    """Decided trees vote, by interval dominance in their leaf; the winner is chosen.

    Undecided trees do not vote; their share is the distance between ``lower`` and ``upper``. All tied winners are
    chosen, and all classes if no tree is decided (Zhang, Quost and Masson 2021).

    Parameters
    ----------
    weights : {"equal", "size", "precision", "purity", "learned"}, default "equal"
        Weight of the vote of a tree, as in `Belief`.
    gamma, lam : float >= 0, default 0.1
        As in `Belief`.

    Examples
    --------
    >>> from hedgerow import combine
    >>> opinion = combine([[[0, 1], [0, 2], [3, 2], [1, 0]]], DominanceVote(), caution=2.0)
    >>> opinion.probability, opinion.vacuity, opinion.chosen
    (array([[0., 1.]]), array([0.75]), array([[False,  True]]))
    """

    name: ClassVar[str] = "dominance_vote"
    merge: ClassVar[Merge] = "add"
    by_class = 1
    even = True
    scale_free = True
    smooth = False
    chooses = True

    def lift(self, counts: Floats, setting: Setting) -> Floats:
        """Return [vote of a decided leaf (K), 1] of leaves."""
        return self._votes(counts, undominated(counts, setting.caution), setting)

    def lift_gaps(self, counts: Floats, below: Floats, above: Floats, setting: Setting) -> Floats:
        """Return the states of leaves with uncertain labels, which dominate less."""
        return self._votes(counts, undominated_with_gaps(counts, below, above, setting.caution), setting)

    def _votes(self, counts: Floats, possible: Bools, setting: Setting) -> Floats:
        """Return the states of leaves, given their undominated classes."""
        decided = possible.sum(axis=1, keepdims=True) == 1
        state = np.hstack([possible & decided, np.ones_like(decided)])
        weighted: Floats = self.leaf_weight(counts, setting)[:, None] * state
        return weighted

    def finish(self, state: Floats, setting: Setting) -> Opinion:
        """Return the opinion of merged states (n, K + 1), with the winner chosen."""
        votes, total = state[:, :-1], state[:, -1:]
        probability, _ = distribution(votes)
        lower = votes / np.where(total > 0, total, 1.0)
        return opinion_from_lower(probability, lower, votes_against(lower), chosen=leading(probability))

    @property
    def adds_up(self) -> tuple[str, ...]:
        """The bounds; the probability is a mean over decided trees only."""
        return ("lower", "upper", "width") if self.by_tree else ()

    def parts(self, state: Floats, setting: Setting) -> dict[str, Floats]:
        """Return the votes of leaves, and the votes plus the undecided mass, (m, K) each."""
        votes = state[:, : setting.n_classes]
        return {"lower": votes, "upper": votes + state[:, -1:] - votes.sum(axis=1, keepdims=True)}


def check_learning(gamma: float, lam: float) -> None:
    """Raise if a parameter of learned weights is out of range."""
    for name, value in (("gamma", gamma), ("lam", lam)):
        if not (np.isfinite(value) and value >= 0):
            raise ValueError(f"{name} must be a finite non-negative number, got {value!r}. 0.1 is usual.")


def votes_against(alone: Floats) -> Floats:
    """Return the weight (n,) of decided trees against the leading class."""
    against: Floats = alone.sum(axis=1) - alone.max(axis=1)
    return against


def leading(votes: Floats) -> Bools:
    """Return the classes with the most votes, bool (n, K)."""
    leaders: Bools = votes >= votes.max(axis=1, keepdims=True) - TIE
    return leaders
