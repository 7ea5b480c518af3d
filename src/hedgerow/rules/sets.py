"""Rules that choose the best set of classes, from averages or from the sets of all trees."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.belief.opinion import Bools, Opinion
from hedgerow.rules.base import Floats, Merge, Setting, register
from hedgerow.rules.dominance import TIE, Belief
from hedgerow.rules.mean import Average
from hedgerow.rules.utility import Utility, best_prefix, first_of, utility_of_size


@register(lambda: CdmAve(utility="u80"), lambda: CdmAve(utility="f1"))
class CdmAve(Average):
    """CDM-Ave: the set A of largest g(|A|) Bel(A).

    Bel(A) is the sum of averaged lower probabilities, or 1 if A contains all classes.

    Parameters
    ----------
    utility : {"u65", "u80", "f1"} or callable, default "u65"
        Utility g of a correct set of a given size; a callable takes one size.

    Examples
    --------
    >>> from hedgerow import combine
    >>> combine([[[5, 4, 0]], [[9, 0, 0]]], CdmAve()).chosen
    array([[ True,  True, False],
           [ True, False, False]])
    """

    name: ClassVar[str] = "cdm_ave"
    chooses = True

    def __init__(self, utility: Utility = "u65") -> None:
        self.utility = utility

    def finish(self, state: Floats, setting: Setting) -> Opinion:
        """Return the opinion with the best set chosen."""
        opinion = super().finish(state, setting)
        worth = utility_of_size(self.utility, setting.n_classes)
        return replace(opinion, chosen=best_prefix(opinion.lower, worth, 1.0))


@register(lambda: Ndc(utility="f1"))
class Ndc(CdmAve):
    """NDC: the set A of largest g(|A|) P(A), with averaged probabilities.

    Parameters
    ----------
    utility : {"u65", "u80", "f1"} or callable, default "u65"
        As in `CdmAve`.

    Examples
    --------
    >>> from hedgerow import combine
    >>> combine([[[5, 4, 0]], [[9, 0, 0]]], Ndc()).chosen
    array([[ True,  True, False],
           [ True, False, False]])
    """

    name: ClassVar[str] = "ndc"

    def finish(self, state: Floats, setting: Setting) -> Opinion:
        """Return the opinion with the best set chosen."""
        opinion = Average.finish(self, state, setting)
        worth = utility_of_size(self.utility, setting.n_classes)
        return replace(opinion, chosen=best_prefix(opinion.probability, worth, 1.0))


@register(lambda: Cr(epsilon=0.2))
class Cr(Average):
    """CR: the smallest set of top classes with probability at least 1 - epsilon.

    Without any evidence, all classes are chosen.

    Parameters
    ----------
    epsilon : float in [0, 1), default 0.05
        Probability that may be excluded.

    Examples
    --------
    >>> from hedgerow import combine
    >>> combine([[[90, 8, 2]]], Cr(epsilon=0.05)).chosen
    array([[ True,  True, False]])
    """

    name: ClassVar[str] = "cr"
    chooses = True

    def __init__(self, epsilon: float = 0.05) -> None:
        self.epsilon = epsilon

    def finish(self, state: Floats, setting: Setting) -> Opinion:
        """Return the opinion with the smallest sufficient set chosen."""
        if not 0 <= self.epsilon < 1:
            raise ValueError(f"epsilon must lie in [0, 1), got {self.epsilon!r}. 0.05 keeps 95% of the probability.")
        opinion = super().finish(state, setting)
        order = np.argsort(-opinion.probability, axis=1, kind="stable")
        total = np.cumsum(np.take_along_axis(opinion.probability, order, axis=1), axis=1)
        last = np.argmax(total >= 1.0 - self.epsilon - 1e-12, axis=1)
        unknown = opinion.vacuity[:, None] == 1.0  # a uniform distribution does not order the classes
        return replace(opinion, chosen=first_of(order, last) | unknown)


# ---- CDM-Vote: the most useful set of classes, from the sets of all trees --------------------------------------------


ENUMERATED = 10  # all subsets of this many classes are compared
ROWS = 2048  # samples computed at once


@register(lambda: CdmVote(utility="u80"), lambda: CdmVote(utility="f1"))
class CdmVote(Belief):
    """CDM-Vote: the set A of largest g(|A|) Bel(A).

    A tree supports A if its undominated set is within A. In a leaf, a class is dominated if its upper probability is
    below, not at, the lower probability of another, as in `Mva`. This rule is not a fold: Bel of every set would need
    2^K columns, so the undominated sets of all trees are stacked. All subsets of the ten most plausible classes are
    compared, and larger sets of the most plausible classes only. With up to ten classes the maximum is therefore exact.
    Among equally good sets the smallest is chosen.

    Parameters
    ----------
    utility : {"u65", "u80", "f1"} or callable, default "u65"
        Utility g of a correct set of a given size; a callable takes one size.
    weights : {"equal", "size", "precision", "learned"}, default "equal"
        As in `Belief`.

    Examples
    --------
    >>> from hedgerow import combine
    >>> combine([[[5, 0, 0], [3, 3, 0], [0, 4, 0]]], CdmVote()).chosen
    array([[ True,  True, False]])
    """

    name: ClassVar[str] = "cdm_vote"
    merge: ClassVar[Merge] = "stack"
    chooses = True
    strict = True

    def __init__(self, utility: Utility = "u65", weights: str = "equal") -> None:
        super().__init__(weights)
        self.utility = utility

    def finish(self, state: Floats, setting: Setting) -> Opinion:
        """Return the opinion of stacked states (n, T, 3K + 1), with the best set chosen."""
        k = setting.n_classes
        worth = utility_of_size(self.utility, k)
        opinion = super().finish(state.sum(axis=1), setting)
        chosen = np.ones_like(opinion.upper, dtype=bool)
        for start in range(0, len(state), ROWS):
            rows = slice(start, start + ROWS)
            sets, weight = state[rows, :, k : 2 * k] > 0, state[rows, :, -1]
            chosen[rows] = _best_sets(sets, weight, opinion.upper[rows], worth)
        return replace(opinion, chosen=chosen)

    def finish_plainly(self, state: Floats, setting: Setting) -> Opinion:
        """Choose the same sets without `numpy.bincount`, for up to ten classes."""
        k = setting.n_classes
        if k > ENUMERATED:
            return self.finish(state, setting)
        opinion = super().finish(state.sum(axis=1), setting)
        worth = utility_of_size(self.utility, k)
        chosen = _best_of_all(state[:, :, k : 2 * k] > 0, state[:, :, -1], opinion.upper, worth)
        return replace(opinion, chosen=chosen)

    @property
    def weighable(self) -> bool:
        """True: a weight does not hide the set of a tree."""
        return True


def _best_sets(sets: Bools, weight: Floats, plausibility: Floats, worth: Floats) -> Bools:
    """Return the best sets, bool (n, K), of sets (n, T, K) with weights (n, T)."""
    n_classes = plausibility.shape[1]
    order = np.argsort(-plausibility, axis=1, kind="stable")
    sets = np.take_along_axis(sets, order[:, None, :], axis=2)
    total = weight.sum(axis=1, keepdims=True)
    weight = weight / np.where(total > 0, total, 1.0)
    belief = np.hstack([_subset_beliefs(sets, weight), _prefix_beliefs(sets, weight)])
    sizes = _candidate_sizes(n_classes)
    by_size = np.argsort(sizes, kind="stable")
    value = (belief * worth[sizes - 1])[:, by_size]
    best = by_size[np.argmax(value >= value.max(axis=1, keepdims=True) - TIE, axis=1)]
    chosen: Bools = np.zeros_like(plausibility, dtype=bool)
    np.put_along_axis(chosen, order, _members(best, n_classes), axis=1)
    chosen |= total == 0
    return chosen


def _best_of_all(sets: Bools, weight: Floats, plausibility: Floats, worth: Floats) -> Bools:
    """Do the same as `_best_sets` by comparing all subsets of the classes."""
    n_classes = plausibility.shape[1]
    members = (np.arange(1, 1 << n_classes)[:, None] >> np.arange(n_classes)) & 1 == 1
    sizes, total = members.sum(axis=1), weight.sum(axis=1, keepdims=True)
    share = weight / np.where(total > 0, total, 1.0)
    belief = [np.where((sets & ~within).any(axis=2), 0.0, share).sum(axis=1, keepdims=True) for within in members]
    value = np.hstack(belief) * worth[sizes - 1]
    # Among equally good sets: the smallest, then that of the most plausible classes.
    rank = np.argsort(np.argsort(-plausibility, axis=1, kind="stable"), axis=1, kind="stable")
    place = sizes * 2.0**n_classes + np.zeros_like(value)
    for k in range(n_classes):
        place = place + 2.0 ** rank[:, k : k + 1] * members[:, k]
    place = np.where(value >= value.max(axis=1, keepdims=True) - TIE, place, np.inf)
    best = place == place.min(axis=1, keepdims=True)
    chosen = np.hstack([(best & members[:, k]).any(axis=1, keepdims=True) for k in range(n_classes)])
    either: Bools = chosen | (total == 0)
    return either


def _candidate_sizes(n_classes: int) -> NDArray[np.int64]:
    """Return candidate sizes: subsets of the first classes, then prefixes."""
    top = min(ENUMERATED, n_classes)
    subsets = (np.arange(1, 1 << top)[:, None] >> np.arange(top)) & 1
    return np.concatenate([subsets.sum(axis=1), np.arange(top + 1, n_classes + 1)])


def _members(number: NDArray[np.int64], n_classes: int) -> Bools:
    """Return the classes of candidate sets, by falling plausibility, bool (n, K)."""
    top = min(ENUMERATED, n_classes)
    place, longer = np.arange(n_classes), number - (1 << top) + top + 2
    subset = (((number[:, None] + 1) >> np.minimum(place, top)) & 1 == 1) & (place < top)
    return np.where(longer[:, None] > top, place < longer[:, None], subset)


def _subset_beliefs(sets: Bools, weight: Floats) -> Floats:
    """Return the weight within each subset of the first classes, (n, 2^top - 1)."""
    top = min(ENUMERATED, sets.shape[2])
    codes = sets[:, :, :top] @ (1 << np.arange(top)) + (np.arange(len(sets)) << top)[:, None]
    inside = np.where(sets[:, :, top:].any(axis=2), 0.0, weight)
    mass = np.bincount(codes.ravel(), weights=inside.ravel(), minlength=len(sets) << top)
    belief = mass.astype(np.float64).reshape(len(sets), 1 << top)
    for k in range(top):
        halves = belief.reshape(len(sets), -1, 2, 1 << k)
        halves[:, :, 1] += halves[:, :, 0]
    return belief[:, 1:]


def _prefix_beliefs(sets: Bools, weight: Floats) -> Floats:
    """Return the weight within the first top + 1, ..., K classes, (n, K - top)."""
    n, _, n_classes = sets.shape
    top = min(ENUMERATED, n_classes)
    last = np.where(sets.any(axis=2), n_classes - np.argmax(sets[:, :, ::-1], axis=2), 0)
    bins = last + (np.arange(n) * (n_classes + 1))[:, None]
    mass = np.bincount(bins.ravel(), weights=weight.ravel(), minlength=n * (n_classes + 1))
    belief: Floats = np.cumsum(mass.astype(np.float64).reshape(n, n_classes + 1), axis=1)
    return belief[:, top + 1 :]
