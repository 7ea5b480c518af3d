"""Sets: probabilities -> the set of classes worth most, or probable enough."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedgerow.decide.base import Bools, Decision, OpinionLike, bounds_of, probability_of
from hedgerow.decide.credal import Dominance
from hedgerow.decide.intervals import TIE, Floats


class UtilitySet(Decision):
    """The set A that maximises ``g(|A|) * P(A)``, g being the utility of a correct set of that size.

    For each size the best set holds the classes of the largest score, so K prefixes are compared, not 2^K
    sets. With ``evidence="probability"`` this is the non-deterministic classifier (NDC); with ``"lower"`` it
    is CDM-Ave: P(A) is the sum of the lower probabilities, and 1 for the whole frame. Among equally good
    sets (to 1e-12) the smallest is chosen; among classes of equal score the more probable, then the first.

    Parameters
    ----------
    utility : "u65", "u80", "f_beta", callable or array-like (K,)
        g: the quadratic utilities of `quadratic_utility` with z = .65 and .80, `f_beta_utility`, a function
        of the size, or its values for the sizes 1 to K.
    evidence : "probability" or "lower"
        What P(A) is made of.
    beta : float
        The beta of "f_beta"; not used otherwise.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> opinion = SimpleNamespace(lower=[[0.5, 0.3, 0.0]], upper=[[0.7, 0.5, 0.2]],
    ...                           probability=[[0.55, 0.4, 0.05]])
    >>> UtilitySet("u65").choose(opinion).tolist()
    [[True, True, False]]
    >>> UtilitySet([1, 0.5, 0.3]).choose(opinion).tolist()
    [[True, False, False]]
    """

    def __init__(
        self,
        utility: str | Callable[[int], float] | ArrayLike = "u65",
        evidence: str = "probability",
        beta: float = 1.0,
    ) -> None:
        self.utility = utility
        self.evidence = evidence
        self.beta = beta

    def choose(self, opinion: OpinionLike) -> Bools:
        """Opinion (n, K) -> bool (n, K)."""
        probability = probability_of(opinion)
        score = self._score(opinion, probability)
        order = np.lexsort((-probability, -score), axis=1)
        belief = np.cumsum(np.take_along_axis(score, order, axis=1), axis=1)
        if self.evidence == "lower":
            belief[:, -1] = 1.0
        worth = belief * self._utility_of_sizes(score.shape[1])
        best = worth >= worth.max(axis=1, keepdims=True) - TIE
        return _prefix(order, np.argmax(best, axis=1) + 1)

    def _score(self, opinion: OpinionLike, probability: Floats) -> Floats:
        """Opinion -> (n, K): what the set's P(A) sums."""
        if self.evidence == "probability":
            return probability
        if self.evidence == "lower":
            return bounds_of(opinion)[0]
        raise ValueError(f"evidence must be 'probability' or 'lower', got {self.evidence!r}; choose one of them")

    def _utility_of_sizes(self, n_classes: int) -> Floats:
        """K -> (K,): g(1), ..., g(K)."""
        sizes = np.arange(1, n_classes + 1)
        if isinstance(self.utility, str):
            values = self._named_utility(self.utility, sizes)
        elif callable(self.utility):
            values = np.array([float(self.utility(int(size))) for size in sizes])
        else:
            values = np.asarray(self.utility, dtype=np.float64)
        if values.shape != (n_classes,) or not np.isfinite(values).all() or (values < 0).any():
            raise ValueError(
                f"utility must be {n_classes} finite numbers, none negative, one for each size of a set, got "
                f"{values.tolist()}; g(1) is usually 1 and g falls with the size"
            )
        return values

    def _named_utility(self, name: str, sizes: NDArray[np.int_]) -> Floats:
        """Name, (K,) -> (K,)."""
        if name == "u65":
            return quadratic_utility(1 / sizes, 0.65)
        if name == "u80":
            return quadratic_utility(1 / sizes, 0.80)
        if name == "f_beta":
            return f_beta_utility(sizes, self.beta)
        raise ValueError(
            f"utility must be 'u65', 'u80', 'f_beta', a function of the size or an array, got {name!r}; "
            "choose one of them"
        )


class TopProbability(Decision):
    """The fewest classes, most probable first, whose probability is at least ``1 - epsilon`` (CR).

    Reached to 1e-12 counts as reached. Among classes of equal probability the first columns enter first.

    Parameters
    ----------
    epsilon : float in [0, 1]
        The probability that may be left out.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> opinion = SimpleNamespace(lower=[[0, 0, 0]], upper=[[1, 1, 1]], probability=[[0.7, 0.25, 0.05]])
    >>> TopProbability(epsilon=0.1).choose(opinion).tolist()
    [[True, True, False]]
    """

    def __init__(self, epsilon: float = 0.05) -> None:
        self.epsilon = epsilon

    def choose(self, opinion: OpinionLike) -> Bools:
        """Opinion (n, K) -> bool (n, K)."""
        if not 0 <= self.epsilon <= 1:
            raise ValueError(f"epsilon must lie in [0, 1], got {self.epsilon!r}; it is the probability left out")
        probability = probability_of(opinion)
        order = np.argsort(-probability, axis=1, kind="stable")
        reached = np.cumsum(np.take_along_axis(probability, order, axis=1), axis=1) >= 1 - self.epsilon - TIE
        reached[:, -1] = True
        return _prefix(order, np.argmax(reached, axis=1) + 1)


class RuleChoice(Decision):
    """The sets the combination rule has decided on itself (MVA, CDM-Vote, ...), else interval dominance.

    Rules that are decisions by themselves put their sets into ``opinion.chosen``; every other decision
    ignores it. Where a rule leaves no such sets (``chosen`` is None or missing), this decision is
    `Dominance`, so that one name serves a search over all rules.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> opinion = SimpleNamespace(lower=[[0, 0]], upper=[[1, 1]], probability=[[0.5, 0.5]],
    ...                           chosen=[[True, False]])
    >>> RuleChoice().choose(opinion).tolist()
    [[True, False]]
    """

    def choose(self, opinion: OpinionLike) -> Bools:
        """Opinion (n, K) -> bool (n, K)."""
        chosen: Any = getattr(opinion, "chosen", None)
        if chosen is None:
            return Dominance().choose(opinion)
        sets = np.array(chosen, dtype=bool)
        if sets.ndim != 2 or not sets.any(axis=1).all():
            raise ValueError(
                f"opinion.chosen must be a bool matrix (n, K) with a class in every row, got shape "
                f"{sets.shape}; a rule that can rule out nothing must keep every class"
            )
        return sets


def quadratic_utility(discount: ArrayLike, z: float) -> Floats:
    """``(2 - 4z) d^2 + (4z - 1) d``: the utility that is 0 at d = 0, z at 1/2 and 1 at 1.

    Parameters
    ----------
    discount : array-like, any shape
        d = [y in A] / |A|.
    z : float
        The utility of a correct pair: .65 for u65, .80 for u80, .5 for discounted accuracy.

    Returns
    -------
    float64 array of the same shape

    Examples
    --------
    >>> quadratic_utility([0, 0.5, 1], 0.65).round(3).tolist()
    [0.0, 0.65, 1.0]
    """
    d = np.asarray(discount, dtype=np.float64)
    worth: Floats = ((2 - 4 * z) * d + (4 * z - 1)) * d
    return worth


def f_beta_utility(size: ArrayLike, beta: float = 1.0) -> Floats:
    """``(1 + beta^2) / (size + beta^2)``: the F measure of a correct set.

    Parameters
    ----------
    size : array-like, any shape
        Number of classes in the set.
    beta : float >= 0
        0 is discounted accuracy; the larger, the less a large set costs.

    Returns
    -------
    float64 array of the same shape

    Examples
    --------
    >>> f_beta_utility([1, 3]).tolist()
    [1.0, 0.5]
    """
    if not (np.isfinite(beta) and beta >= 0):
        raise ValueError(f"beta must be finite and at least 0, got {beta!r}; 1 weighs both sides equally")
    square = float(beta) ** 2
    worth: Floats = (1 + square) / (np.asarray(size, dtype=np.float64) + square)
    return worth


def _prefix(order: NDArray[np.intp], size: NDArray[np.intp]) -> Bools:
    """(n, K), (n,) -> (n, K): the first ``size`` classes of each row's order."""
    chosen = np.zeros(order.shape, dtype=bool)
    np.put_along_axis(chosen, order, np.arange(order.shape[1]) < size[:, None], axis=1)
    return chosen
