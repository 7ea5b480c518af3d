"""Order rules: the shares of all leaves -> their median, mixture or signed maximum."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.belief.leaf import class_shares, largest_rival, reserve
from hedgerow.belief.opinion import Opinion, centred_score, opinion_from_lower
from hedgerow.rules.base import Floats, Merge, Rule, Setting, one_of
from hedgerow.rules.mean import disagreement, distribution
from hedgerow.rules.registry import register

Bools = NDArray[np.bool_]

LEVEL = 1e-12  # shares whose distances from a draw differ by less are equally far: .7 - .5 is not .5 - .3


class Stacked(Rule):
    """A rule that needs the shares of all trees at once, so it is not a fold. Subclasses define how to blend them.

    With two classes, the shares of class 1 are blended; with more, those of every class, and the results are
    normalised. The interval holds back the mean reserve of the leaves. An empty leaf is all reserve, so it only widens
    the interval.
    """

    merge: ClassVar[Merge] = "stack"
    even = True
    scale_free = True

    def blend(self, shares: Floats, filled: Bools) -> Floats:
        """Shares (n, T, C), whether a leaf holds rows (n, T) -> (n, C); every sample has a filled leaf."""
        raise NotImplementedError(f"a stacked rule must define blend, got none in {type(self).__name__}; see Stacked")

    def lift(self, counts: Floats, setting: Setting) -> Floats:
        """Counts (m, K) -> [shares (K), reserve, 1]."""
        held_back = reserve(counts, setting.caution)[:, None]
        return np.hstack([class_shares(counts), held_back, np.ones_like(held_back)])

    def finish(self, state: Floats, setting: Setting) -> Opinion:
        """States of all trees (n, T, K + 2) -> opinion; conflict is the Gini impurity due to disagreement."""
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
        return opinion_from_lower(probability, lower, conflict, score=centred_score(probability, 1.0))

    def _blended(self, shares: Floats, filled: Bools, mean: Floats) -> Floats:
        """Shares (n, T, K), (n, T), mean shares (n, K) -> blended distributions (n, K)."""
        if shares.shape[2] == 2:
            positive = self.blend(shares[:, :, 1:], filled)
            return np.hstack([1.0 - positive, positive])
        blended = self.blend(shares, filled)
        nothing = blended.sum(axis=1) <= 0  # as when no class has a share in most trees
        return distribution(np.where(nothing[:, None], mean, blended))[0]


@register()
class Median(Stacked):
    """The median of the shares over trees; the mean if the medians of all classes are zero.

    Examples
    --------
    >>> from hedgerow import combine
    >>> combine([[[1, 3], [0, 2], [1, 0]]], Median()).score
    array([0.25])
    """

    name: ClassVar[str] = "median"

    def blend(self, shares: Floats, filled: Bools) -> Floats:
        """Shares (n, T, C), (n, T) -> medians over filled leaves (n, C)."""
        return median_of(shares, filled)


@register(lambda: GeneralisedMixture(theta="median"), lambda: GeneralisedMixture(theta="max"))
class GeneralisedMixture(Stacked):
    """A mean in which a tree counts less the further it is from theta: 1/(T-1) sum(x - x |x - theta|/sum|x - theta|).

    Parameters
    ----------
    theta : {"mean", "median", "max"}, default "mean"
        The centre, taken over the trees. "max" is the share that is furthest from a draw, 1/K, on either side; it is
        the draw itself if shares on both sides are equally far.

    Examples
    --------
    >>> from hedgerow import combine
    >>> combine([[[1, 3], [1, 3], [1, 0]]], GeneralisedMixture()).score
    array([0.0625])
    >>> combine([[[1, 3], [9, 1], [9, 1]], [[3, 1], [1, 9], [1, 9]]], GeneralisedMixture("max")).score
    array([-0.4,  0.4])
    """

    name: ClassVar[str] = "generalised_mixture"

    def __init__(self, theta: str = "mean") -> None:
        self.theta = theta

    @property
    def smooth(self) -> bool:  # type: ignore[override]
        """False if the centre jumps from one side to the other where both are equally far from a draw."""
        return self.theta != "max"

    def blend(self, shares: Floats, filled: Bools) -> Floats:
        """Shares (n, T, C), (n, T) -> mixtures over filled leaves (n, C)."""
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


@register()
class SignedMaximum(Rule):
    """The score of the leaf that is furthest from a draw: for two classes, the largest p/n - 1/2 in absolute value.

    The margin of a leaf is the share of its winner minus that of the runner-up. The class with the largest margin
    gets this margin, and all classes share the rest; classes with equal largest margins divide them. With caution, the
    lower bound counts the margins of a class discounted by n/(n + caution), and those of its rivals in full.

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
    scale_free = True
    smooth = False

    def lift(self, counts: Floats, setting: Setting) -> Floats:
        """Counts (m, K) -> [margin of the winner (K), the same discounted (K)]."""
        shares = class_shares(counts)
        margins = np.maximum(shares - largest_rival(shares), 0.0)
        kept = 1.0 - reserve(counts, setting.caution)
        return np.hstack([margins, kept[:, None] * margins])

    def finish(self, state: Floats, setting: Setting) -> Opinion:
        """Largest margins (n, 2K) -> opinion; conflict is the smaller of the two leading margins."""
        margins, discounted = np.hsplit(state, 2)
        rival = largest_rival(margins)
        leads = margins >= rival
        level = leads.sum(axis=1, keepdims=True) - leads  # how many rivals have the largest margin
        probability = distribution(_share_of_margin(margins, rival, level))[0]
        lower = _share_of_margin(discounted, rival, level)
        known = (margins > 0).any(axis=1, keepdims=True)
        conflict = rival.min(axis=1)
        return opinion_from_lower(
            probability, np.where(known, lower, 0.0), conflict, score=centred_score(probability, 1.0)
        )

    @property
    def laws(self) -> frozenset[str]:
        """An empty leaf changes nothing."""
        return frozenset({"precise", "widens", "accumulates"})


def _share_of_margin(own: Floats, rival: Floats, level: NDArray[np.int64]) -> Floats:
    """Own margins, the largest of the rivals, how many rivals have it, (n, K) each -> share of each class (n, K)."""
    best = np.maximum(own, rival)
    part = np.where(own >= rival, own / np.where(own == rival, 1 + level, 1), 0.0)
    shares: Floats = (1.0 - best) / own.shape[1] + part
    return shares


def _furthest(shares: Floats, part: Bools) -> Floats:
    """Shares (n, T, C), which leaves count (n, T, 1) -> the share furthest from 1/K (n, C); 1/K if two sides tie."""
    draw = 1.0 / max(shares.shape[2], 2)
    most = np.where(part, shares, 0.0).max(axis=1)
    least = np.where(part, shares, 1.0).min(axis=1)
    lead = (most - draw) - (draw - least)
    side: Floats = np.where(lead > 0, most, least)
    return np.where(np.abs(lead) <= LEVEL, draw, side)


def median_of(shares: Floats, filled: Bools) -> Floats:
    """Shares (n, T, C), which leaves count (n, T) -> medians (n, C); in every sample at least one leaf counts."""
    ordered = np.sort(np.where(filled[:, :, None], shares, np.inf), axis=1)
    last = filled.sum(axis=1) - 1
    low, high = (np.take_along_axis(ordered, at[:, None, None], axis=1)[:, 0] for at in (last // 2, (last + 1) // 2))
    middle: Floats = 0.5 * (low + high)
    return middle
