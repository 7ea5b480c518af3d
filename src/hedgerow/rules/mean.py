"""Rules that average one distribution per leaf."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from hedgerow.belief.leaf import class_shares, confidence_shares, laplace_shares, leaf_vacuity, vote_shares
from hedgerow.belief.opinion import Opinion, centred_score, is_row, opinion_from_lower
from hedgerow.belief.plausibility import preference
from hedgerow.belief.scalar import RowOpinion, mean_of_row
from hedgerow.rules.base import Floats, Merge, Rule, Setting, one_of, register
from hedgerow.util.runtime import computed


class Mean(Rule):
    """Base class of rules that average one distribution per leaf.

    With ``r = caution/(n + caution)``, the interval of a leaf is ``[(1 - r) p, (1 - r) p + r]``. For class shares, this
    is the imprecise Dirichlet interval. The distribution is the mean over non-empty leaves. An empty leaf has r = 1,
    and only widens the interval.
    """

    merge: ClassVar[Merge] = "add"
    even = True
    skips_empty = True
    scale: ClassVar[float] = 1.0

    def shares(self, counts: Floats) -> Floats:
        """Return distributions (m, K) of leaves, a row of zeros for an empty leaf."""
        raise NotImplementedError(f"{type(self).__name__} must define shares. See hedgerow.rules.Mean.")

    def lift(self, counts: Floats, setting: Setting) -> Floats:
        """Return [p (K), (1 - r) p (K), sum of squares, r] of leaves."""
        shares = self.shares(counts)
        held_back = leaf_vacuity(counts, setting.caution)[:, None]
        return np.hstack([shares, (1.0 - held_back) * shares, (shares**2).sum(axis=1, keepdims=True), held_back])

    def finish(self, state: Floats, setting: Setting) -> Opinion:
        """Return the opinion of merged states (n, 2K + 2).

        Conflict is the Gini impurity due to disagreement.
        """
        row = self.finish_row(state, setting)
        if row is not None:
            return row.opinion()
        k = setting.n_classes
        probability, filled = distribution(state[:, :k])
        total = state[:, k : 2 * k].sum(axis=1) + state[:, 2 * k + 1]
        lower = state[:, k : 2 * k] / np.where(total > 0, total, 1.0)[:, None]
        conflict = disagreement(probability, state[:, 2 * k], filled)
        return opinion_from_lower(probability, lower, conflict, score=centred_score(probability, self.scale))

    def finish_row(self, state: Floats, setting: Setting) -> RowOpinion | None:
        """Do the same for one row of few classes, faster; otherwise return None."""
        if type(self).finish is not Mean.finish or not is_row(state, setting.n_classes):
            return None
        return mean_of_row(state[0].tolist(), setting.n_classes, self.scale)

    @property
    def steady(self) -> bool:
        """True: a mean does not depend on the number of trees."""
        return True

    @property
    def adds_up(self) -> tuple[str, ...]:
        """The probability and both bounds."""
        return ("probability", "lower", "upper", "width")

    def parts(self, state: Floats, setting: Setting) -> dict[str, Floats]:
        """Return distributions and bounds of leaves, (m, K) each."""
        k = setting.n_classes
        lower = state[:, k : 2 * k]
        return {"probability": state[:, :k], "lower": lower, "upper": lower + state[:, -1:]}


@register()
class Average(Mean):
    """Mean of the class shares of the leaves: the ordinary forest, with intervals.

    ``probability`` does not depend on caution. Two-class score: mean of p/n - 1/2.

    Examples
    --------
    >>> from hedgerow import combine
    >>> combine([[[4, 0], [10, 40]]], Average()).probability
    array([[0.6, 0.4]])
    """

    name: ClassVar[str] = "average"
    by_class = 2
    scale_free = True
    exact_gaps = True
    plain_mean = True
    page = "average"

    def shares(self, counts: Floats) -> Floats:
        """Return relative frequencies (m, K)."""
        return class_shares(counts)


@register(lambda: Laplace(alpha=0.1))
class Laplace(Mean):
    """Mean of smoothed shares (n_k + alpha)/(n + K alpha).

    Parameters
    ----------
    alpha : float, default 1.0
        Pseudo-count added to every class of every leaf.

    Examples
    --------
    >>> from hedgerow import combine
    >>> combine([[[0, 2]]], Laplace()).probability
    array([[0.25, 0.75]])
    """

    name: ClassVar[str] = "laplace"
    by_class = 2
    page = "laplace"

    def __init__(self, alpha: float = 1.0) -> None:
        self.alpha = alpha

    def shares(self, counts: Floats) -> Floats:
        """Return smoothed shares (m, K)."""
        if not (np.isfinite(self.alpha) and self.alpha >= 0):
            raise ValueError(f"alpha must be finite and non-negative, got {self.alpha!r}. 1 is Laplace's correction.")
        return laplace_shares(counts, self.alpha)


@register()
class Plausibility(Mean):
    """Mean of degrees of preference.

    The winner of a leaf gets 1 - u_e - u_a, and all classes share the rest. Two-class score: mean of pi+ - pi-.

    Examples
    --------
    >>> from hedgerow import combine
    >>> combine([[[1, 3]]], Plausibility()).score.round(6)
    array([0.483645])
    """

    name: ClassVar[str] = "plausibility"
    by_class = 2
    page = "plausibility"
    scale: ClassVar[float] = 2.0

    def shares(self, counts: Floats) -> Floats:
        """Return the preference for the winner, with the rest spread evenly (m, K)."""
        leaf = preference(counts)
        return spread_evenly(counts, leaf.winner, leaf.support)


@register()
class EpistemicWeighted(Mean):
    """Mean of preferences, discounted by epistemic uncertainty: (1 - u_e)(s+ - s-).

    Examples
    --------
    >>> from hedgerow import combine
    >>> combine([[[0, 1]]], EpistemicWeighted()).score.round(6)
    array([0.444444])
    """

    name: ClassVar[str] = "epistemic_weighted"
    by_class = 2
    scale: ClassVar[float] = 2.0

    def shares(self, counts: Floats) -> Floats:
        """Return the discounted preference, with the rest spread evenly (m, K)."""
        leaf = preference(counts)
        return spread_evenly(counts, leaf.winner, -np.expm1(leaf.log_epistemic) * leaf.support)


@register(lambda: ConfidenceBounds("binomial"), lambda: ConfidenceBounds("beta"), lambda: ConfidenceBounds("tail"))
class ConfidenceBounds(Mean):
    """Mean of shares shrunk to the middle if a draw is likely, (1 - c)(p/n - 1/2).

    Parameters
    ----------
    model : {"beta_binomial", "binomial", "beta", "tail"}, default "beta_binomial"
        Probability model of a draw, as in `hedgerow.belief.confidence_scores`. The first is that of Busch et al.
        (2021), the others are in their program.

    Examples
    --------
    >>> from hedgerow import combine
    >>> combine([[[1, 3]]], ConfidenceBounds()).score
    array([0.0625])
    """

    name: ClassVar[str] = "confidence_bounds"
    by_class = 2

    def __init__(self, model: str = "beta_binomial") -> None:
        self.model = model

    def shares(self, counts: Floats) -> Floats:
        """Return 1/2 + score for two classes, odds against the largest for more."""
        return confidence_shares(counts, self.model)


@register(lambda: WeightedAverage("root"), lambda: WeightedAverage("size"), lambda: WeightedAverage("precision"))
class WeightedAverage(Average):
    """Weighted mean of the class shares of the leaves.

    Parameters
    ----------
    weights : {"purity", "root", "size", "precision"}, default "purity"
        Weight of a leaf of n rows: "purity" is one minus its Gini impurity (inverted-Gini weights), "root" is √n,
        "size" is n, and "precision" is n/(n + caution). With "root" and two classes, the probability is above 1/2 where
        the bounds of UCB, (p/n - 1/2) √(n / log N) for N training rows, are on average above 0 (Busch et al.).

    Examples
    --------
    >>> from hedgerow import combine
    >>> combine([[[4, 0], [5, 5]]], WeightedAverage()).probability.round(4)  # weights 1 and 1/2
    array([[0.8333, 0.1667]])
    >>> combine([[[4, 0], [8, 8]]], WeightedAverage("root")).probability.round(4)  # weights 2 and 4
    array([[0.6667, 0.3333]])
    """

    name: ClassVar[str] = "weighted_average"

    def __init__(self, weights: str = "purity") -> None:
        self.weights = weights

    @computed
    def calibrates(self) -> bool:
        """False for weights by precision, which depend on caution."""
        return self.weights != "precision"

    def lift(self, counts: Floats, setting: Setting) -> Floats:
        """Return weight x [p (K), (1 - r) p (K), sum of squares, r] of leaves."""
        one_of(self.weights, ("purity", "root", "size", "precision"), "weights")
        state = super().lift(counts, setting)
        return state * leaf_weights(counts, self.weights, setting.caution)[:, None]

    def gap_weights(self, counts: Floats, setting: Setting) -> Floats:
        """Return the weights of leaves, per row and pseudo-count."""
        return super().gap_weights(counts, setting) * leaf_weights(counts, self.weights, setting.caution)

    @property
    def laws(self) -> frozenset[str]:
        """Intervals are nested unless weights depend on caution."""
        return frozenset({"precise", "accumulates"} | ({"widens"} if self.weights != "precision" else set()))

    @property
    def adds_up(self) -> tuple[str, ...]:
        """Nothing: the sum of the weights depends on the sample."""
        return ()


@register()
class Vote(Mean):
    """Share of the trees that vote for each class; a tied leaf divides its vote.

    Two-class score: (#positive - #negative)/T.

    Examples
    --------
    >>> from hedgerow import combine
    >>> combine([[[0, 2], [1, 3], [5, 1]]], Vote()).score.round(6)
    array([0.333333])
    """

    name: ClassVar[str] = "vote"
    by_class = 2
    scale_free = True
    smooth = False
    page = "vote"
    scale: ClassVar[float] = 2.0

    def shares(self, counts: Floats) -> Floats:
        """Return votes (m, K)."""
        return vote_shares(counts)


#: Scores of a leaf, which other rules can aggregate, and the rules that average them.
LEAF_SCORES: dict[str, type[Mean]] = {
    "probability": Average,
    "laplace": Laplace,
    "plausibility": Plausibility,
    "confidence_bounds": ConfidenceBounds,
    "epistemic_weighted": EpistemicWeighted,
    "vote": Vote,
}


@register()
class Pool(Rule):
    """Class shares of the summed counts of all leaves.

    Each non-empty leaf adds its own pseudo-count. Two-class score: sum(p)/sum(n) - 1/2.

    Examples
    --------
    >>> from hedgerow import combine
    >>> combine([[[0, 2], [1, 1]]], Pool()).probability
    array([[0.25, 0.75]])
    """

    name: ClassVar[str] = "pool"
    merge: ClassVar[Merge] = "add"
    by_class = 1
    even = True
    scale_free = True
    page = "pool"

    def lift(self, counts: Floats, setting: Setting) -> Floats:
        """Return [counts (K), n x sum of squared shares, whether n > 0] of leaves."""
        squares = (counts * class_shares(counts)).sum(axis=1, keepdims=True)
        return np.hstack([counts, squares, counts.sum(axis=1, keepdims=True) > 0])

    def finish(self, state: Floats, setting: Setting) -> Opinion:
        """Return the opinion of merged states (n, K + 2).

        Conflict is the Gini impurity due to disagreement.
        """
        pooled = state[:, : setting.n_classes]
        probability, total = distribution(pooled)
        with np.errstate(over="ignore"):  # infinite room leaves a lower bound of zero
            room = total + setting.caution * state[:, -1]
        lower = pooled / np.where(room > 0, room, 1.0)[:, None]
        conflict = disagreement(probability, state[:, -2], total)
        return opinion_from_lower(probability, lower, conflict, score=centred_score(probability, 1.0))

    def gap_weights(self, counts: Floats, setting: Setting) -> Floats:
        """Return ones: counts are summed."""
        return np.ones(len(counts))

    @property
    def laws(self) -> frozenset[str]:
        """An empty leaf changes nothing."""
        return frozenset({"precise", "widens", "accumulates"})


def leaf_score(name: str) -> Mean:
    """Return the rule whose ``shares`` are the named score of a leaf.

    Examples
    --------
    >>> leaf_score("laplace").shares(np.array([[0.0, 2.0]]))
    array([[0.25, 0.75]])
    """
    one_of(name, tuple(LEAF_SCORES), "score")
    return LEAF_SCORES[name]()


def leaf_weights(counts: Floats, by: str, caution: float) -> Floats:
    """Return weights (m,) of leaves by "purity", "root", "size" or "precision".

    An empty leaf has weight 0.

    Examples
    --------
    >>> leaf_weights(np.array([[4.0, 0.0], [5.0, 5.0], [0.0, 0.0]]), "purity", 1.0)
    array([1. , 0.5, 0. ])
    """
    total: Floats = counts.sum(axis=1)
    if by == "purity":
        return np.asarray((class_shares(counts) ** 2).sum(axis=1))
    if by == "precision":
        return np.divide(total, total + caution, out=np.zeros_like(total), where=total > 0)
    return np.sqrt(total) if by == "root" else total


def distribution(sums: Floats) -> tuple[Floats, Floats]:
    """Normalise sums of shares (n, K), uniform if all are zero; add their totals."""
    total: Floats = sums.sum(axis=1)
    empty = total <= 0
    shares: Floats = sums / np.where(empty, 1.0, total)[:, None]
    shares[empty] = 1.0 / sums.shape[1]
    return shares, total


def disagreement(probability: Floats, squares: Floats, total: Floats) -> Floats:
    """Return the Gini impurity of the mean minus the mean Gini impurity (n,)."""
    filled = total > 0
    between = squares / np.where(filled, total, 1.0) - (probability**2).sum(axis=1)
    return np.where(filled, np.maximum(between, 0.0), 0.0)


def spread_evenly(counts: Floats, winner: np.ndarray[tuple[int, ...], np.dtype[np.int64]], part: Floats) -> Floats:
    """Give a part (m,) to the winner, and spread the rest; zeros if empty."""
    filled = counts.sum(axis=1) > 0
    shares = np.repeat(((1.0 - part) / counts.shape[1])[:, None], counts.shape[1], axis=1)
    shares[np.arange(len(part)), winner] += part
    return np.where(filled[:, None], shares, 0.0)
