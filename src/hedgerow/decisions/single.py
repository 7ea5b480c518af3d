"""Decision rules that choose one class."""

from __future__ import annotations

import numpy as np

from hedgerow.decisions.base import (
    TIE,
    ActionDecision,
    Bools,
    Checked,
    Floats,
    Utility,
    checked_utility,
    lower_expectation,
    shared_out,
    tie_of,
    upper_expectation,
)


class Maximin(ActionDecision):
    """Class of the largest lower probability: the best class in the worst case.

    Ties (to 1e-12) go to the class of the larger probability (the action of the larger expected utility), then to the
    first column. This holds for every decision that chooses one class.

    Parameters
    ----------
    utility : mapping of str to array-like (K,), array-like (A, K) or None
        Utility of each action if each class is true; the action of the largest lower expected utility is chosen. None
        means one action per class, of utility 1 if that class is true.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> opinion = SimpleNamespace(lower=[[0.3, 0.2, 0.1]], upper=[[0.5, 0.6, 0.3]],
    ...                           probability=[[0.4, 0.4, 0.2]])
    >>> Maximin().choose(opinion).tolist()
    [[True, False, False]]
    """

    page = "maximin"

    def pick(self, opinion: Checked) -> Bools:
        """Return one class per row, bool (n, K), or one action (n, A)."""
        worst, _ = _expectations(opinion, self.utility)
        return _best(worst, opinion, self.utility)


class Maximax(ActionDecision):
    """Class of the largest upper probability: the best class in the best case.

    Parameters
    ----------
    utility : mapping of str to array-like (K,), array-like (A, K) or None
        Utility of each action if each class is true; the action of the largest upper expected utility is chosen. None
        means one action per class, of utility 1 if that class is true.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> opinion = SimpleNamespace(lower=[[0.3, 0.2, 0.1]], upper=[[0.5, 0.6, 0.3]],
    ...                           probability=[[0.4, 0.4, 0.2]])
    >>> Maximax().choose(opinion).tolist()
    [[False, True, False]]
    """

    page = "maximax"

    def pick(self, opinion: Checked) -> Bools:
        """Return one class per row, bool (n, K), or one action (n, A)."""
        _, best = _expectations(opinion, self.utility)
        return _best(best, opinion, self.utility)


class Hurwicz(ActionDecision):
    """Class of the largest ``optimism * upper + (1 - optimism) * lower``.

    Parameters
    ----------
    optimism : float in [0, 1]
        0 is maximin, 1 is maximax.
    utility : mapping of str to array-like (K,), array-like (A, K) or None
        Utility of each action if each class is true. None means one action per class, of utility 1 if that class is
        true.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> opinion = SimpleNamespace(lower=[[0.3, 0.2, 0.1]], upper=[[0.5, 0.6, 0.3]],
    ...                           probability=[[0.4, 0.4, 0.2]])
    >>> Hurwicz(optimism=0.6).choose(opinion).tolist()
    [[False, True, False]]
    """

    page = "hurwicz"

    def __init__(self, optimism: float = 0.5, utility: Utility | None = None) -> None:
        super().__init__(utility)
        self.optimism = optimism

    def pick(self, opinion: Checked) -> Bools:
        """Return one class per row, bool (n, K), or one action (n, A)."""
        if not 0 <= self.optimism <= 1:
            raise ValueError(f"optimism must lie in [0, 1], got {self.optimism!r}. 0 is maximin, 1 is maximax.")
        worst, best = _expectations(opinion, self.utility)
        return _best(self.optimism * best + (1 - self.optimism) * worst, opinion, self.utility)


class Pignistic(ActionDecision):
    """Class of the largest pignistic probability, `pignistic_from_bounds`.

    If trees have different amounts of evidence, this may not be the most probable class of the ordinary forest, which
    `ExpectedUtility` chooses.

    Parameters
    ----------
    utility : mapping of str to array-like (K,), array-like (A, K) or None
        Utility of each action if each class is true; the action of the largest pignistic expected utility is chosen.
        None means one action per class, of utility 1 if that class is true.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> opinion = SimpleNamespace(lower=[[0.5, 0.2]], upper=[[0.8, 0.5]], probability=[[0.7, 0.3]])
    >>> Pignistic().choose(opinion).tolist()
    [[True, False]]
    >>> Pignistic(utility=[[1, -3], [0, 0.5]]).choose(opinion).tolist()
    [[False, True]]
    """

    page = "pignistic"

    def pick(self, opinion: Checked) -> Bools:
        """Return one class per row, bool (n, K), or one action (n, A)."""
        shared = shared_out(*opinion.bounds)
        return _best(_expected(shared, self.utility), opinion, self.utility)


class ExpectedUtility(ActionDecision):
    """Class of the largest ``opinion.probability``, as ``predict`` returns it.

    Parameters
    ----------
    utility : mapping of str to array-like (K,), array-like (A, K) or None
        Utility of each action if each class is true; the action of the largest expected utility is chosen. None means
        one action per class, of utility 1 if that class is true.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> opinion = SimpleNamespace(lower=[[0, 0]], upper=[[1, 1]], probability=[[0.7, 0.3]])
    >>> ExpectedUtility().choose(opinion).tolist()
    [[True, False]]
    """

    page = "expected_utility"

    def pick(self, opinion: Checked) -> Bools:
        """Return one class per row, bool (n, K), or one action (n, A)."""
        return _best(_expected(opinion.probability, self.utility), opinion, self.utility)


def _expectations(opinion: Checked, utility: Utility | None) -> tuple[Floats, Floats]:
    """Return lower and upper expected utility of each action, (n, A) each."""
    lower, upper = opinion.bounds
    if utility is None:
        return lower, upper
    matrix = checked_utility(utility, lower.shape[1])
    return lower_expectation(matrix, lower, upper), upper_expectation(matrix, lower, upper)


def _expected(probability: Floats, utility: Utility | None) -> Floats:
    """Return the expected utility (n, A) of each action."""
    if utility is None:
        return probability
    matrix = checked_utility(utility, probability.shape[1])
    expected: Floats = np.einsum("nk,ak->na", probability, matrix)
    return expected


def _best(score: Floats, opinion: Checked, utility: Utility | None) -> Bools:
    """Return the largest score per row, bool (n, A), with ties as in `Maximin`."""
    expected = _expected(opinion.probability, utility)
    tie = TIE if utility is None else tie_of(checked_utility(utility, opinion.probability.shape[1]))
    tied = score >= score.max(axis=1, keepdims=True) - tie
    first = np.argmax(np.where(tied, expected, -np.inf), axis=1)
    chosen: Bools = np.arange(score.shape[1]) == first[:, None]
    return chosen
