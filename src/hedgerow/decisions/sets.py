"""Decision rules that choose sets by utility or total probability."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hedgerow.decisions.base import TIE, Bools, Checked, Decision, Floats
from hedgerow.decisions.credal import Dominance
from hedgerow.rules.base import OnPage, Rule
from hedgerow.rules.utility import Utility, first_of, utility_of_size


class UtilitySet(Decision):
    """Set A of largest ``g(|A|) * P(A)``, with the utility g of correct sets.

    For each size, the best set contains the classes of the largest scores, so only K sets are compared, not 2^K. With
    ``evidence="probability"`` this is the non-deterministic classifier (NDC). With ``"lower"`` it is CDM-Ave: P(A) is
    the sum of the lower probabilities, and 1 for all classes together. Among equally good sets (to 1e-12) the smallest
    is chosen; among classes of equal score the more probable one, then the first.

    Parameters
    ----------
    utility : "u65", "u80", "f1", "f_beta", callable or array-like (K,)
        Function g. "u65" and "u80" are `quadratic_utility` with z = 0.65 and 0.80, "f1" and "f_beta" are
        `f_beta_utility`. A callable maps one size to its utility; an array has the utilities of the sizes 1 to K.
    evidence : "probability" or "lower"
        Terms of the sum P(A).
    beta : float
        Parameter of "f_beta"; otherwise not used.

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
        """Return the best sets, bool (n, K)."""
        score, order = self._scores(opinion)
        belief = np.cumsum(np.take_along_axis(score, order, axis=1), axis=1)
        if self.evidence == "lower":
            belief[:, -1] = 1.0
        worth = belief * utility_of_size(self.utility, score.shape[1], self.beta)
        best = worth >= worth.max(axis=1, keepdims=True) - TIE
        return first_of(order, np.argmax(best, axis=1))

    def on_page(self) -> OnPage:
        """Return the name of the utility, if the script has it."""
        if super().on_page() is None or self.evidence != "probability" or not isinstance(self.utility, str):
            return None
        if self.utility != "f_beta":
            return self.utility, {}
        return ("f1", {}) if self.beta == 1.0 else None

    def _scores(self, opinion: Checked) -> tuple[Floats, NDArray[np.int64]]:
        """Return scores (n, K), whose sum is P(A), and the classes by falling score."""
        by_probability = np.argsort(-opinion.probability, axis=1, kind="stable")
        if self.evidence == "probability":
            return opinion.probability, by_probability
        if self.evidence != "lower":
            raise ValueError(f"evidence must be 'probability' or 'lower', got {self.evidence!r}.")
        lower = opinion.bounds[0]
        again = np.argsort(-np.take_along_axis(lower, by_probability, axis=1), axis=1, kind="stable")
        return lower, np.take_along_axis(by_probability, again, axis=1)


class TopProbability(Decision):
    """Fewest classes of total probability at least ``1 - epsilon`` (CR).

    The most probable classes come first.

    A total that misses ``1 - epsilon`` by at most 1e-12 is enough. Among equally probable classes the first columns
    are taken first.

    Parameters
    ----------
    epsilon : float in [0, 1]
        Probability that may be excluded.

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
        """Return the sets, bool (n, K)."""
        if not 0 <= self.epsilon <= 1:
            raise ValueError(f"epsilon must lie in [0, 1], got {self.epsilon!r}.")
        probability = opinion.probability
        order = np.argsort(-probability, axis=1, kind="stable")
        reached = np.cumsum(np.take_along_axis(probability, order, axis=1), axis=1) >= 1 - self.epsilon - TIE
        reached[:, -1] = True
        return first_of(order, np.argmax(reached, axis=1))


class RuleChoice(Decision):
    """Sets that the combination rule itself has chosen, else interval dominance.

    Some rules are decisions by themselves (MVA, CDM-Vote, ...): they put their sets into ``opinion.chosen``, which all
    other decisions ignore. For any other rule (``chosen`` is None or missing) this decision is `Dominance`, so that the
    same name can be used in a search over all rules.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> opinion = SimpleNamespace(lower=[[0, 0]], upper=[[1, 1]], probability=[[0.5, 0.5]],
    ...                           chosen=[[True, False]])
    >>> RuleChoice().choose(opinion).tolist()
    [[True, False]]
    """

    def pick(self, opinion: Checked) -> Bools:
        """Return the chosen or the undominated classes, bool (n, K)."""
        chosen = opinion.chosen
        return Dominance().pick(opinion) if chosen is None else chosen

    def under(self, rule: Rule) -> Decision:
        """Return `Dominance`, unless the rule chooses sets itself."""
        return self if rule.chooses else Dominance()
