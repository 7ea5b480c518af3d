"""Rules that treat trees as sets of distributions."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from hedgerow.belief.leaf import class_shares, idm_bounds, largest_rival
from hedgerow.belief.opinion import Bools, Opinion, centred_score, opinion_from_bounds
from hedgerow.rules.base import Floats, Merge, Rule, Setting, one_of, register
from hedgerow.rules.mean import disagreement, distribution
from hedgerow.rules.order import median_of
from hedgerow.util.runtime import computed

LEVEL = 1e-12  # distances and bounds that differ by less are equal


@register(lambda: CredalTrees(trim=0.0), lambda: CredalTrees(admit="e_admissibility"))
class CredalTrees(Rule):
    """Every tree is a possible distribution; trees far from the others are dropped.

    The distance of a tree is that of its class shares from their medians over trees, and the trees with the largest
    distances are trimmed. ``lower`` and ``upper`` are the smallest lower and the largest upper probability of the
    remaining trees, ``probability`` is the mean of their shares. The credal set consists of the trees, each with its
    imprecise Dirichlet interval, without their mixtures. ``conflict`` is the Gini impurity due to disagreement of all
    trees.

    Parameters
    ----------
    trim : float in [0, 1), default 0.2
        Share of the trees to drop; trees at equal distance are dropped or kept together. Leaves without rows are
        dropped first.
    admit : {"maximality", "e_admissibility"}, default "maximality"
        Criterion of the chosen classes: those that no other class beats in all trees, or those that are optimal in at
        least one tree, which are fewer.

    Examples
    --------
    >>> from hedgerow import combine
    >>> opinion = combine([[[6, 4, 0], [4, 6, 0], [0, 1, 9]]], CredalTrees(trim=0.3), caution=0.0)
    >>> opinion.lower, opinion.upper, opinion.chosen
    (array([[0.4, 0.4, 0. ]]), array([[0.6, 0.6, 0. ]]), array([[ True,  True, False]]))
    """

    name: ClassVar[str] = "credal_trees"
    merge: ClassVar[Merge] = "stack"
    scale_free = True
    chooses = True
    onnx = False

    def __init__(self, trim: float = 0.2, admit: str = "maximality") -> None:
        self.trim = trim
        self.admit = admit

    @computed
    def smooth(self) -> bool:
        """False if a tree may be dropped."""
        return self.trim == 0

    def lift(self, counts: Floats, setting: Setting) -> Floats:
        """Return [shares (K), lower (K), upper (K)] of leaves, zeros for an empty leaf."""
        if not 0 <= self.trim < 1:
            raise ValueError(f"trim must lie in [0, 1), got {self.trim!r}.")
        one_of(self.admit, ("maximality", "e_admissibility"), "admit")
        lower, upper = idm_bounds(counts, setting.caution)
        filled = counts.sum(axis=1, keepdims=True) > 0
        return np.hstack([class_shares(counts), lower, np.where(filled, upper, 0.0)])

    def finish(self, state: Floats, setting: Setting) -> Opinion:
        """Return the opinion of stacked states (n, T, 3K)."""
        shares, lower, upper = np.split(state, 3, axis=2)
        filled = shares.sum(axis=2) > 0
        mean, leaves = distribution(shares.sum(axis=1))
        conflict = disagreement(mean, (shares**2).sum(axis=(1, 2)), leaves)
        kept = self._kept(shares, filled)
        known, part = (leaves > 0)[:, None], kept[:, :, None]
        probability = distribution((shares * part).sum(axis=1))[0]
        low = np.where(known, np.where(part, lower, 1.0).min(axis=1, initial=1.0), 0.0)
        high = np.where(known, np.where(part, upper, 0.0).max(axis=1, initial=0.0), 1.0)
        chosen = _maximal(lower, upper, kept) if self.admit == "maximality" else _admissible(lower, upper, kept)
        return opinion_from_bounds(
            probability, low, high, conflict, score=centred_score(probability, 1.0), chosen=chosen | ~known
        )

    def _kept(self, shares: Floats, filled: Bools) -> Bools:
        """Return which trees are kept (n, T)."""
        n_dropped = np.rint(self.trim * filled.sum(axis=1)).astype(np.int64)
        trims = (n_dropped > 0) & filled.any(axis=1)
        kept = filled.copy()
        if trims.any():
            centre = median_of(shares[trims], filled[trims])
            distance = np.where(filled[trims], np.abs(shares[trims] - centre[:, None]).sum(axis=2), np.inf)
            last = np.maximum(filled[trims].sum(axis=1) - n_dropped[trims], 1) - 1
            limit = np.take_along_axis(np.sort(distance, axis=1), last[:, None], axis=1)
            kept[trims] &= distance <= limit + LEVEL
        return kept

    @property
    def laws(self) -> frozenset[str]:
        """Not precise, because the interval spans the trees."""
        return frozenset({"widens", "accumulates"})


@register()
class ImpreciseWeights(Rule):
    """Average trees whose weights are known only as intervals.

    Each tree has a weight of at least (1 - contamination)/T, and the rest may belong to any tree. ``lower`` is the mean
    of the lower probabilities, mixed with the smallest one, and ``upper`` the mean of the upper probabilities, mixed
    with the largest one (linear-vacuous weights; Utkin, Kovalev and Coolen, 2020). ``probability`` is the average.

    Parameters
    ----------
    contamination : float in [0, 1], default 0.1
        Share of all weight that may belong to any tree: 0 is the rule "average", 1 "interval_disjunction".

    Examples
    --------
    >>> from hedgerow import combine
    >>> opinion = combine([[[4, 0], [10, 40]]], ImpreciseWeights(), caution=0.0)
    >>> opinion.lower.round(3), opinion.upper.round(3)
    (array([[0.56, 0.36]]), array([[0.64, 0.44]]))
    """

    name: ClassVar[str] = "imprecise_weights"
    merge: ClassVar[Merge] = "both"
    scale_free = True

    def __init__(self, contamination: float = 0.1) -> None:
        self.contamination = contamination

    def lift(self, counts: Floats, setting: Setting) -> Floats:
        """Return [1 - lower (K), upper (K), shares (K), sum of squares, 1] of leaves."""
        if not 0 <= self.contamination <= 1:
            raise ValueError(f"contamination must lie in [0, 1], got {self.contamination!r}. 0.1 is usual.")
        lower, upper = idm_bounds(counts, setting.caution)
        shares = class_shares(counts)
        squares = (shares**2).sum(axis=1, keepdims=True)
        return np.hstack([1.0 - lower, upper, shares, squares, np.ones_like(squares)])

    def finish(self, state: Floats, setting: Setting) -> Opinion:
        """Return the opinion of largest and summed states (n, 6K + 4).

        Conflict is the Gini impurity due to disagreement.
        """
        k, part = setting.n_classes, self.contamination
        largest, added = np.hsplit(state, 2)
        probability, filled = distribution(added[:, 2 * k : 3 * k])
        leaves = np.maximum(added[:, -1:], 1.0)
        known = added[:, -1:] > 0
        lower = 1.0 - ((1 - part) * added[:, :k] / leaves + part * largest[:, :k])
        upper = (1 - part) * added[:, k : 2 * k] / leaves + part * largest[:, k : 2 * k]
        return opinion_from_bounds(
            probability,
            np.where(known, np.minimum(lower, probability), 0.0),
            np.where(known, np.maximum(upper, probability), 1.0),
            disagreement(probability, added[:, 3 * k], filled),
            score=centred_score(probability, 1.0),
        )

    @property
    def laws(self) -> frozenset[str]:
        """Not precise, unless all weights are known."""
        return frozenset({"widens"})


def _maximal(lower: Floats, upper: Floats, kept: Bools) -> Bools:
    """Return the classes that no other class beats in all kept trees, bool (n, K).

    Within a tree, all unassigned mass goes to the class that is beaten.
    """
    n_classes = lower.shape[2]
    part = kept[:, :, None]
    chosen = np.ones((len(lower), n_classes), dtype=bool)
    for rival in range(n_classes):
        ahead = np.where(part, lower[:, :, rival, None] - upper, np.inf).min(axis=1, initial=np.inf)
        chosen &= ~((ahead > LEVEL) & (np.arange(n_classes) != rival))
    return chosen


def _admissible(lower: Floats, upper: Floats, kept: Bools) -> Bools:
    """Return the classes that are optimal in at least one kept tree, bool (n, K)."""
    rival = largest_rival(lower.reshape(-1, lower.shape[2])).reshape(lower.shape)
    return np.asarray(((upper >= rival - LEVEL) & kept[:, :, None]).any(axis=1), dtype=np.bool_)
