"""Rules that give conflict to the union of contradicting classes."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from hedgerow.belief.opinion import Opinion, opinion_from_bounds
from hedgerow.rules.base import Floats, OnPage, Setting, one_of
from hedgerow.rules.evidence import Dempster, lower_beliefs, masses_from_weights, sum_of_others
from hedgerow.rules.registry import register

#: Most nodes of the integral over all sets that contain a class, which is exact for up to twice as many classes.
MOST_NODES = 64
#: By rounding, leaves with tied classes have weights of this size, for a class that depends on the order of classes.
NOISE = 1e-14


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

    @property
    def by_class(self) -> int:  # type: ignore[override]
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
