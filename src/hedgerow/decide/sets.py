"""Sets: probabilities -> the set of classes worth most, or probable enough."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.belief.rules.base import Rule
from hedgerow.belief.rules.utility import Utility, first_of, utility_of_size
from hedgerow.decide.base import Bools, Checked, Decision
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
    utility : "u65", "u80", "f1", "f_beta", callable or array-like (K,)
        g: the quadratic utilities of `quadratic_utility` with z = .65 and .80, `f_beta_utility`, a function
        of one size, or its values for the sizes 1 to K.
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

    page = "u65"

    def __init__(
        self,
        utility: Utility = "u65",
        evidence: str = "probability",
        beta: float = 1.0,
    ) -> None:
        self.utility = utility
        self.evidence = evidence
        self.beta = beta

    def pick(self, opinion: Checked) -> Bools:
        """Opinion (n, K) -> bool (n, K)."""
        score, order = self._scores(opinion)
        belief = np.cumsum(np.take_along_axis(score, order, axis=1), axis=1)
        if self.evidence == "lower":
            belief[:, -1] = 1.0
        worth = belief * utility_of_size(self.utility, score.shape[1], self.beta)
        best = worth >= worth.max(axis=1, keepdims=True) - TIE
        return first_of(order, np.argmax(best, axis=1))

    def on_page(self) -> tuple[str, dict[str, Any]] | None:
        """The page has the three that have a name."""
        if super().on_page() is None or self.evidence != "probability" or not isinstance(self.utility, str):
            return None
        if self.utility != "f_beta":
            return self.utility, {}
        return ("f1", {}) if self.beta == 1.0 else None

    def _scores(self, opinion: Checked) -> tuple[Floats, NDArray[np.int64]]:
        """Opinion -> (n, K), (n, K): what the set's P(A) sums, and the classes from the largest to the smallest."""
        by_probability = np.argsort(-opinion.probability, axis=1, kind="stable")
        if self.evidence == "probability":
            return opinion.probability, by_probability
        if self.evidence != "lower":
            raise ValueError(f"evidence must be 'probability' or 'lower', got {self.evidence!r}; choose one of them")
        lower = opinion.bounds[0]
        again = np.argsort(-np.take_along_axis(lower, by_probability, axis=1), axis=1, kind="stable")
        return lower, np.take_along_axis(by_probability, again, axis=1)


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

    page = "top_probability"

    def __init__(self, epsilon: float = 0.05) -> None:
        self.epsilon = epsilon

    def pick(self, opinion: Checked) -> Bools:
        """Opinion (n, K) -> bool (n, K)."""
        if not 0 <= self.epsilon <= 1:
            raise ValueError(f"epsilon must lie in [0, 1], got {self.epsilon!r}; it is the probability left out")
        probability = opinion.probability
        order = np.argsort(-probability, axis=1, kind="stable")
        reached = np.cumsum(np.take_along_axis(probability, order, axis=1), axis=1) >= 1 - self.epsilon - TIE
        reached[:, -1] = True
        return first_of(order, np.argmax(reached, axis=1))


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

    def pick(self, opinion: Checked) -> Bools:
        """Opinion (n, K) -> bool (n, K)."""
        chosen = opinion.chosen
        return Dominance().pick(opinion) if chosen is None else chosen

    def under(self, rule: Rule) -> Decision:
        """Dominance, where the rule leaves no sets."""
        return self if rule.chooses else Dominance()
