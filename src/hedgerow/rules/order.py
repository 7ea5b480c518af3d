"""Rules on order statistics of the shares of all trees."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.belief.leaf import largest_rival, leaf_vacuity
from hedgerow.belief.opinion import Opinion, centred_score, opinion_from_lower
from hedgerow.rules.base import Floats, Merge, Rule, Setting, one_of, register
from hedgerow.rules.mean import disagreement, distribution, leaf_score
from hedgerow.util.runtime import computed

Bools = NDArray[np.bool_]

LEVEL = 1e-12  # distances from a draw that differ by less are equal: 0.7 - 0.5 is not 0.5 - 0.3


class Stacked(Rule):
    """Base class of rules that blend the shares of all trees; they are no folds.

    With two classes, the shares of class 1 are blended; with more, those of every class, and the results are
    normalised. The width of the interval is the mean caution/(n + caution) of the leaves. An empty leaf only widens the
    interval.
    """

    merge: ClassVar[Merge] = "stack"
    even = True
    score = "probability"

    @computed
    def scale_free(self) -> bool:
        """True if the score of a leaf is."""
        return leaf_score(self.score).scale_free

    @computed
    def smooth(self) -> bool:
        """True if the score of a leaf is."""
        return leaf_score(self.score).smooth

    def blend(self, shares: Floats, filled: Bools) -> Floats:
        """Blend shares (n, T, C) over non-empty leaves (n, T); every sample has one."""
        raise NotImplementedError(f"{type(self).__name__} must define blend. See hedgerow.rules.Stacked.")

    def lift(self, counts: Floats, setting: Setting) -> Floats:
        """Return [shares (K), caution/(n + caution), 1] of leaves."""
        held_back = leaf_vacuity(counts, setting.caution)[:, None]
        return np.hstack([leaf_score(self.score).shares(counts), held_back, np.ones_like(held_back)])

    def finish(self, state: Floats, setting: Setting) -> Opinion:
        """Return the opinion of stacked states (n, T, K + 2).

        Conflict is the Gini impurity due to disagreement.
        """
        k = setting.n_classes
        shares = state[:, :, :k]
        filled = shares.sum(axis=2) > 0
        probability, leaves = distribution(shares.sum(axis=1))
        conflict = disagreement(probability, (shares**2).sum(axis=(1, 2)), leaves)
        known = leaves > 0
        if known.any():
            probability[known] = self._blended(shares[known], filled[known], probability[known])
        trees = state[:, :, -1].sum(axis=1)
        held_back = np.where(trees > 0, state[:, :, -2].sum(axis=1) / np.where(trees > 0, trees, 1.0), 1.0)
        lower = (1.0 - held_back)[:, None] * probability
        score = centred_score(probability, leaf_score(self.score).scale)
        return opinion_from_lower(probability, lower, conflict, score=score)

    def _blended(self, shares: Floats, filled: Bools, mean: Floats) -> Floats:
        """Return blended distributions (n, K); `mean` replaces a blend of zeros."""
        if shares.shape[2] == 2:
            positive = self.blend(shares[:, :, 1:], filled)
            return np.hstack([1.0 - positive, positive])
        blended = self.blend(shares, filled)
        nothing = blended.sum(axis=1) <= 0  # for instance if no class has a share in most trees
        return distribution(np.where(nothing[:, None], mean, blended))[0]


@register(lambda: Median(score="laplace"), lambda: Median(score="plausibility"))
class Median(Stacked):
    """Median of the shares over trees, or the mean if all medians are zero.

    Parameters
    ----------
    score : {"probability", "laplace", "plausibility", "confidence_bounds", "epistemic_weighted", "vote"}
        Score of a leaf, "probability" by default: the distribution that the rule of this name averages, with its
        default parameters; "probability" is that of `Average`.

    Examples
    --------
    >>> from hedgerow import combine
    >>> combine([[[1, 3], [0, 2], [1, 0]]], Median()).score
    array([0.25])
    """

    name: ClassVar[str] = "median"

    def __init__(self, score: str = "probability") -> None:
        self.score = score

    def blend(self, shares: Floats, filled: Bools) -> Floats:
        """Return medians (n, C) over non-empty leaves."""
        return median_of(shares, filled)


@register(
    lambda: GeneralisedMixture(theta="median"),
    lambda: GeneralisedMixture(theta="max"),
    lambda: GeneralisedMixture(score="confidence_bounds"),
)
class GeneralisedMixture(Stacked):
    """Mean in which trees far from theta count less.

    It is 1/(T-1) sum(x - x |x - theta|/sum|x - theta|).

    Parameters
    ----------
    theta : {"mean", "median", "max"}, default "mean"
        Centre of the shares over trees. "max" is the share furthest from a draw, 1/K, on either side; it is the draw
        itself if shares on both sides are equally far.
    score : {"probability", "laplace", "plausibility", "confidence_bounds", "epistemic_weighted", "vote"}
        Score of a leaf, "probability" by default: the distribution that the rule of this name averages, with its
        default parameters; "probability" is that of `Average`.

    Examples
    --------
    >>> from hedgerow import combine
    >>> combine([[[1, 3], [1, 3], [1, 0]]], GeneralisedMixture()).score
    array([0.0625])
    >>> combine([[[1, 3], [9, 1], [9, 1]], [[3, 1], [1, 9], [1, 9]]], GeneralisedMixture("max")).score
    array([-0.4,  0.4])
    """

    name: ClassVar[str] = "generalised_mixture"

    def __init__(self, theta: str = "mean", score: str = "probability") -> None:
        self.theta = theta
        self.score = score

    @computed
    def smooth(self) -> bool:
        """False for "max", whose centre can jump from one side of a draw to the other."""
        return self.theta != "max" and super().smooth

    def blend(self, shares: Floats, filled: Bools) -> Floats:
        """Return mixtures (n, C) over non-empty leaves."""
        one_of(self.theta, ("mean", "median", "max"), "theta")
        part = filled[:, :, None]
        leaves = part.sum(axis=1)
        mean = (shares * part).sum(axis=1) / leaves
        centre = mean
        if self.theta != "mean":
            centre = median_of(shares, filled) if self.theta == "median" else _furthest(shares, part)
        distance = np.abs(shares - centre[:, None]) * part
        total = distance.sum(axis=1)
        apart = (total > 0) & (leaves > 1)
        weight = (1.0 - distance / np.where(apart, total, 1.0)[:, None]) / np.maximum(leaves - 1, 1)[:, None]
        mixed: Floats = np.where(apart, (shares * weight * part).sum(axis=1), mean)
        return mixed


@register(lambda: SignedMaximum(score="plausibility"))
class SignedMaximum(Rule):
    """Score of the leaf furthest from a draw.

    For two classes, it is the largest p/n - 1/2 in absolute value.

    The margin of a leaf is the share of its winner minus that of the runner-up. The class with the largest margin
    gets this margin, and all classes share the rest; classes with equal largest margins divide them. With caution, the
    lower probability counts the margins of a class discounted by n/(n + caution), and those of its rivals in full.

    Parameters
    ----------
    score : {"probability", "laplace", "plausibility", "confidence_bounds", "epistemic_weighted", "vote"}
        Score of a leaf, "probability" by default: the distribution that the rule of this name averages, with its
        default parameters; "probability" is that of `Average`.

    Examples
    --------
    >>> from hedgerow import combine
    >>> combine([[[1, 3], [10, 1], [2, 5]]], SignedMaximum()).score.round(6)
    array([-0.409091])
    """

    name: ClassVar[str] = "signed_maximum"
    merge: ClassVar[Merge] = "max"
    by_class = 2
    even = True
    smooth = False

    def __init__(self, score: str = "probability") -> None:
        self.score = score

    @computed
    def scale_free(self) -> bool:
        """True if the score of a leaf is."""
        return leaf_score(self.score).scale_free

    def lift(self, counts: Floats, setting: Setting) -> Floats:
        """Return [margin of the winner (K), discounted margin (K)] of leaves."""
        shares = leaf_score(self.score).shares(counts)
        margins = np.maximum(shares - largest_rival(shares), 0.0)
        kept = 1.0 - leaf_vacuity(counts, setting.caution)
        return np.hstack([margins, kept[:, None] * margins])

    def finish(self, state: Floats, setting: Setting) -> Opinion:
        """Return the opinion of largest margins (n, 2K).

        Conflict is the smaller of the two leading margins.
        """
        margins, discounted = np.hsplit(state, 2)
        rival = largest_rival(margins)
        leads = margins >= rival
        level = leads.sum(axis=1, keepdims=True) - leads  # number of rivals with the largest margin
        probability = distribution(_share_of_margin(margins, rival, level))[0]
        lower = _share_of_margin(discounted, rival, level)
        known = (margins > 0).any(axis=1, keepdims=True)
        conflict = rival.min(axis=1)
        score = centred_score(probability, leaf_score(self.score).scale)
        return opinion_from_lower(probability, np.where(known, lower, 0.0), conflict, score=score)

    @property
    def laws(self) -> frozenset[str]:
        """An empty leaf changes nothing."""
        return frozenset({"precise", "widens", "accumulates"})


def _share_of_margin(own: Floats, rival: Floats, level: NDArray[np.int64]) -> Floats:
    """Return the shares (n, K) of margins; `level` rivals have the largest."""
    best = np.maximum(own, rival)
    part = np.where(own >= rival, own / np.where(own == rival, 1 + level, 1), 0.0)
    shares: Floats = (1.0 - best) / own.shape[1] + part
    return shares


def _furthest(shares: Floats, part: Bools) -> Floats:
    """Return the share furthest from 1/K (n, C); 1/K if both sides tie."""
    draw = 1.0 / max(shares.shape[2], 2)
    most = np.where(part, shares, 0.0).max(axis=1)
    least = np.where(part, shares, 1.0).min(axis=1)
    lead = (most - draw) - (draw - least)
    side: Floats = np.where(lead > 0, most, least)
    return np.where(np.abs(lead) <= LEVEL, draw, side)


def median_of(shares: Floats, filled: Bools) -> Floats:
    """Return medians (n, C) over the leaves that count; every sample has one."""
    ordered = np.sort(np.where(filled[:, :, None], shares, np.inf), axis=1)
    last = filled.sum(axis=1) - 1
    low, high = (np.take_along_axis(ordered, at[:, None, None], axis=1)[:, 0] for at in (last // 2, (last + 1) // 2))
    middle: Floats = 0.5 * (low + high)
    return middle
