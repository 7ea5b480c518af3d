"""Union rules: weights of evidence per leaf -> masses in which classes that contradict each other stay together."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from hedgerow.belief.opinion import Opinion, opinion_from_bounds
from hedgerow.rules.base import Floats, Setting
from hedgerow.rules.evidence import Dempster, lower_beliefs, masses_from_weights, sum_of_others
from hedgerow.rules.registry import register

#: The integral over all sets that contain a class has at most this many nodes; it is exact up to twice as many classes.
MOST_NODES = 64
#: Leaves whose classes tie have weights of this size, by rounding, for a class that depends on the order of classes.
NOISE = 1e-14


@register()
class DuboisPrade(Dempster):
    """Dubois and Prade's rule on the masses of `Dempster`: where leaves contradict each other, one of them is right.

    Each leaf supports its winner, as far as it prefers it. The mass that Dempster's rule calls conflict goes to the set
    of all classes that are supported, so conflict widens the bounds of these classes and of no others. ``lower`` and
    ``upper`` are belief and plausibility; with caution, one's own evidence is discounted for the lower and that of
    rivals for the upper bound. ``probability`` is pignistic, ``conflict`` as in `Dempster`.

    `Dempster(normalised=False)` is Yager's rule, which gives the conflict to all classes.

    Examples
    --------
    >>> from hedgerow import combine
    >>> opinion = combine([[[1, 0, 0], [0, 1, 0]]], DuboisPrade(), caution=0.0)
    >>> opinion.probability.round(3), opinion.upper.round(3)
    (array([[0.481, 0.481, 0.037]]), array([[0.778, 0.778, 0.111]]))
    """

    name: ClassVar[str] = "dubois_prade"
    even = False

    def __init__(self) -> None:
        super().__init__(normalised=False)

    def finish(self, state: Floats, setting: Setting) -> Opinion:
        """Merged weights (n, 2K) -> opinion."""
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

    def on_page(self) -> tuple[str, dict[str, Any]] | None:
        """The script does not have it."""
        return None


def _shared(support: Floats) -> Floats:
    """How sure each class is among the supported ones (n, K) -> the share it gets of all sets that contain it (n, K).

    A set of size m gives each member 1/m, which is the integral of t^(m - 1). So the share of class k is s_k times the
    integral over t from 0 to 1 of the product over its rivals of (1 - s_j + s_j t), a polynomial.
    """
    nodes, weights = np.polynomial.legendre.leggauss(min((support.shape[1] + 1) // 2, MOST_NODES))
    shares = np.zeros_like(support)
    for node, weight in zip((1 + nodes) / 2, weights / 2, strict=True):
        logs = np.log1p(-support * (1.0 - node))
        shares += weight * np.exp(logs.sum(axis=1, keepdims=True) - logs)
    return support * shares
