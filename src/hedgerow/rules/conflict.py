"""Rules that redistribute conflict, give it to a union of classes, or discount minorities."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from hedgerow.belief.masses.combine import reciprocal_nodes
from hedgerow.belief.opinion import Opinion, opinion_from_bounds, opinion_from_lower
from hedgerow.rules.base import Floats, Merge, OnPage, Rule, Setting, one_of, register
from hedgerow.rules.evidence import Dempster, lower_beliefs, masses_from_weights, sum_of_others
from hedgerow.util.runtime import computed

#: By rounding, leaves with tied classes have weights of this size, for a class that depends on the order of classes.
NOISE = 1e-14


@register()
class Lns(Dempster):
    """LNS: combine leaves that prefer the same class, discounted by their number.

    Among the leaves that prefer the same class, weights of evidence are added, as in `Dempster`. The mass of each such
    group is discounted by its share of all leaves that prefer a class, and the groups are combined by Dempster's rule.
    A minority cannot outweigh a majority, however sure it is, and thousands of sources do not all end in conflict
    (Zhou, Martin and Pan, 2018).

    Parameters
    ----------
    normalised : bool, default True
        As in `Dempster`.

    Examples
    --------
    >>> from hedgerow import combine
    >>> leaves = [[[3, 1], [3, 1], [3, 1], [0, 40], [0, 40]]]
    >>> combine(leaves, Lns()).probability.round(3), combine(leaves, Dempster()).probability.round(3)
    (array([[0.574, 0.426]]), array([[0., 1.]]))
    """

    name: ClassVar[str] = "lns"
    calibrates = True  # shares of groups keep probabilities away from 0 and 1
    smooth = False

    def __init__(self, normalised: bool = True) -> None:
        super().__init__(normalised=normalised)

    def lift(self, counts: Floats, setting: Setting) -> Floats:
        """Return [weights (K), discounted weights (K), preferred class (K)] of leaves."""
        state = super().lift(counts, setting)
        weight = state[:, : setting.n_classes]
        votes = np.where(weight > NOISE, 1.0, 0.0)
        return np.hstack([state * np.tile(votes, 2), votes])

    def finish(self, state: Floats, setting: Setting) -> Opinion:
        """Return the opinion of merged states (n, 3K)."""
        k = setting.n_classes
        number = state[:, 2 * k :]
        total = number.sum(axis=1, keepdims=True)
        share = number / np.where(total > 0, total, 1.0)
        parts = [_discounted(state[:, :k], share), _discounted(state[:, k : 2 * k], share)]
        return super().finish(np.hstack(parts), setting)

    @property
    def adds_up(self) -> tuple[str, ...]:
        """Nothing: shares of groups are not sums over trees."""
        return ()

    def on_page(self) -> OnPage:
        """Return None: the script lacks this rule."""
        return None


@register()
class Pcr6(Rule):
    """PCR6 on the masses of `Dempster`: contradicting leaves share their conflict.

    Choose from every leaf its winner or all classes. If the chosen classes contradict each other, the product of their
    masses is divided among them in proportion to these masses, for all leaves at once, not pair by pair. All classes
    contradict nothing, so a leaf without evidence changes nothing (PCR6+; Dezert, Dezert and Smarandache, 2021).
    Caution discounts each leaf by n/(n + caution) first. ``lower`` and ``upper`` are belief and plausibility,
    ``conflict`` is the mass in conflict.

    The sum over all choices is an integral over a product of leaves, evaluated at about 150 nodes. The rule is
    therefore no fold, and slower than others.

    Examples
    --------
    >>> from hedgerow import combine
    >>> opinion = combine([[[1, 0], [0, 1], [0, 1]]], Pcr6(), caution=0.0)
    >>> opinion.probability.round(4), opinion.conflict.round(4)
    (array([[0.3395, 0.6605]]), array([0.5926]))
    """

    name: ClassVar[str] = "pcr6"
    merge: ClassVar[Merge] = "stack"
    even = True
    calibrates = False  # probabilities depend on caution
    onnx = False

    def lift(self, counts: Floats, setting: Setting) -> Floats:
        """Return discounted weights of evidence (m, K)."""
        return Dempster().lift(counts, setting)[:, setting.n_classes :]

    def finish(self, state: Floats, setting: Setting) -> Opinion:
        """Return the opinion of the weights (n, T, K) of all trees."""
        singles, frame, empty = masses_from_weights(state.sum(axis=1))
        shared = _shared_conflict(state)
        total = shared.sum(axis=1, keepdims=True)
        in_conflict = total > 0
        # in exact arithmetic the shares sum to the conflict; scaling only removes rounding
        shared *= np.where(in_conflict, empty[:, None] / np.where(in_conflict, total, 1.0), 0.0)
        lower = singles + shared
        lower *= (1.0 - frame)[:, None] / np.maximum(lower.sum(axis=1, keepdims=True), 1e-300)
        probability = lower + frame[:, None] / setting.n_classes
        probability /= probability.sum(axis=1, keepdims=True)
        return opinion_from_lower(probability, lower, empty)

    @property
    def laws(self) -> frozenset[str]:
        """Not nested, because less evidence for one class leaves more to its rivals."""
        return frozenset({"accumulates"})


def _discounted(weight: Floats, share: Floats) -> Floats:
    """Return -log(1 - share (1 - e^-w)), the weights of discounted masses."""
    part = share * -np.expm1(-weight)
    near = np.minimum(part, 0.5)
    kept = np.maximum((1.0 - share) + share * np.exp(-weight), np.finfo(np.float64).tiny)
    far = np.where(share == 1.0, weight, -np.log(kept))
    weights: Floats = np.where(part < 0.5, -np.log1p(-near), far)
    return weights


def _shared_conflict(weight: Floats) -> Floats:
    """Return the classes' shares (n, K) of the conflict, up to a factor.

    A choice of classes by all trees has the product of their masses s_i, and gives tree i the part s_i/(sum of s). With
    1/a = the integral of e^(-a u) over u, each part is an integral over a product of trees.
    """
    n, n_trees, n_classes = weight.shape
    own = weight.max(axis=2, initial=0.0)
    winner = (weight > 0).astype(np.float64)
    support, log_open = -np.expm1(-own), -own
    shared = np.zeros((n, n_classes))
    for u, node_weight in reciprocal_nodes(max(n_trees, 1), 1):
        faded = support * np.exp(-u * support)
        log_any = np.logaddexp(np.log(np.maximum(faded, 1e-300)), log_open)
        against = np.einsum("nt,ntk->nk", log_open - log_any, winner)
        part = np.einsum("nt,ntk->nk", support * faded * np.exp(-log_any), winner)
        everything = np.exp(log_any.sum(axis=1, keepdims=True))
        shared += node_weight * part * everything * -np.expm1(sum_of_others(against))
    return shared


# ---- Rules that give conflict to the union of contradicting classes --------------------------------------------------


#: Most nodes of the integral over all sets that contain a class, which is exact for up to twice as many classes.
MOST_NODES = 64


@register(lambda: DuboisPrade(pooled=False))
class DuboisPrade(Dempster):
    """Dubois and Prade's rule on the masses of `Dempster`, pooled by class.

    Each leaf supports its winner, to its degree of preference. Leaves with the same winner are first combined by
    Dempster's rule. The conflict between classes then goes to the set of all supported classes, and widens the
    intervals of these classes only. ``lower`` and ``upper`` are belief and plausibility. With caution, the lower
    probability discounts the evidence for a class, the upper one that for its rivals. ``probability`` is pignistic,
    ``conflict`` as in `Dempster`.

    `Dempster(normalised=False)` is Yager's rule, which gives the conflict to all classes.

    Parameters
    ----------
    pooled : bool, default True
        Whether to pool leaves by class first. False combines all leaves at once, as ``"dubois_prade"`` of
        `belief.combine_masses`. A conflict then goes to all classes unless every leaf supports a class to degree one or
        nearly so. With many trees this is almost Yager's rule.

    Examples
    --------
    >>> from hedgerow import combine
    >>> opinion = combine([[[1, 0, 0], [0, 1, 0]]], DuboisPrade(), caution=0.0)
    >>> opinion.probability.round(3), opinion.upper.round(3)
    (array([[0.481, 0.481, 0.037]]), array([[0.778, 0.778, 0.111]]))
    """

    name: ClassVar[str] = "dubois_prade"
    even = False

    def __init__(self, pooled: bool = True) -> None:
        super().__init__(normalised=False)
        self.pooled = pooled

    @computed
    def by_class(self) -> int:
        """Two columns of states per class; the products of all leaves belong to no class."""
        return 2 if self.pooled else 0

    @property
    def laws(self) -> frozenset[str]:
        """Those of `Dempster`; unless pooled, a vacuous leaf widens intervals."""
        return super().laws if self.pooled else super().laws - {"accumulates"}

    def lift(self, counts: Floats, setting: Setting) -> Floats:
        """Return the state of `Dempster`, and unless pooled the logarithms of both supports."""
        one_of(self.pooled, (True, False), "pooled")
        state = super().lift(counts, setting)
        if self.pooled:
            return state
        weights = state.reshape(len(state), 2, setting.n_classes).sum(axis=2)
        return np.hstack([state, np.log(np.maximum(-np.expm1(-weights), np.finfo(float).tiny))])

    def finish(self, state: Floats, setting: Setting) -> Opinion:
        """Return the opinion of merged weights (n, 2K), and unless pooled of log supports (n, 2)."""
        return self._pooled(state, setting) if self.pooled else self._at_once(state, setting)

    def _at_once(self, state: Floats, setting: Setting) -> Opinion:
        """Return the opinion of all leaves: a conflict goes to the union of all sets, mostly the frame."""
        k = setting.n_classes
        weight = np.where(state[:, :k] > NOISE, state[:, :k], 0.0)
        discounted = np.minimum(state[:, k : 2 * k], weight)
        singles, _, empty = masses_from_weights(weight)
        supported = weight > 0
        several = supported.sum(axis=1, keepdims=True) > 1
        products = np.where(several, np.exp(state[:, 2 * k :]), 0.0)  # of the supports of all leaves, and discounted
        union, least = products[:, :1], products[:, 1:]
        frame = np.maximum(1.0 - singles.sum(axis=1, keepdims=True) - union, 0.0)
        size = np.maximum(supported.sum(axis=1, keepdims=True), 1)
        probability = singles + np.where(supported, union / size, 0.0) + frame / k
        probability /= probability.sum(axis=1, keepdims=True)
        lower = lower_beliefs(weight, discounted, normalised=False)
        upper = 1.0 - sum_of_others(lower) - np.where(supported, 0.0, least)
        return opinion_from_bounds(probability, np.minimum(lower, probability), np.maximum(upper, probability), empty)

    def _pooled(self, state: Floats, setting: Setting) -> Opinion:
        """Return the opinion of classes, each with all of its leaves as one source."""
        k = setting.n_classes
        weight = np.where(state[:, :k] > NOISE, state[:, :k], 0.0)
        discounted = np.minimum(state[:, k:], weight)
        _, frame, empty = masses_from_weights(weight)
        upper = 1.0 + np.exp(-weight) * np.expm1(-sum_of_others(discounted))
        probability = _shared(-np.expm1(-weight)) + frame[:, None] / k
        probability /= probability.sum(axis=1, keepdims=True)
        lower = np.minimum(lower_beliefs(weight, discounted, normalised=False), probability)
        return opinion_from_bounds(probability, lower, np.maximum(upper, probability), empty)

    @property
    def adds_up(self) -> tuple[str, ...]:
        """Nothing: sets of several classes are not sums over trees."""
        return ()

    def on_page(self) -> OnPage:
        """Return None: the script lacks this rule."""
        return None


def _shared(support: Floats) -> Floats:
    """Return the share (n, K) that each class gets of the sets that contain it.

    A set of size m gives each member 1/m, which is the integral of t^(m - 1). The share of class k is therefore s_k
    times the integral over t from 0 to 1 of the product over its rivals of (1 - s_j + s_j t), a polynomial.
    """
    nodes, weights = np.polynomial.legendre.leggauss(min((support.shape[1] + 1) // 2, MOST_NODES))
    shares = np.zeros_like(support)
    for node, weight in zip((1 + nodes) / 2, weights / 2, strict=True):
        logs = np.log1p(-support * (1.0 - node))
        shares += weight * np.exp(logs.sum(axis=1, keepdims=True) - logs)
    return support * shares
