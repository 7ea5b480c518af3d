"""Accuracy of votes."""

from __future__ import annotations

from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, xlogy
from scipy.stats import binom

Floats = NDArray[np.float64]


def condorcet(p: ArrayLike, n_voters: ArrayLike) -> Floats:
    """Return how often the majority of independent voters is right about two answers.

    This is Condorcet's jury theorem.

    Parameters
    ----------
    p : float or array-like
        Probability that one voter is right.
    n_voters : int or array-like
        Number of voters; broadcast with `p`. A coin decides ties, which only an even number can have.

    Returns
    -------
    ndarray of the broadcast shape

    Examples
    --------
    >>> condorcet(0.6, [1, 3, 5, 101]).round(4)
    array([0.6   , 0.648 , 0.6826, 0.9791])
    >>> float(condorcet(0.5, 7))
    0.5
    """
    right, voters = np.asarray(p, dtype=np.float64), np.asarray(n_voters)
    _check_probability(right)
    if voters.dtype.kind not in "iu" or (voters < 1).any():
        raise ValueError(f"n_voters must be integers of at least 1, got {n_voters!r}.")
    tied = np.where(voters % 2 == 0, binom.pmf(voters // 2, voters, right), 0.0)
    return np.asarray(binom.sf(voters // 2, voters, right) + tied / 2)


def plurality(p: ArrayLike, n_voters: int, n_classes: int | None = None) -> float:
    """Return how often the most frequent answer of independent voters is right.

    With more than two classes a plurality can win without a majority, so the result is at least that of `condorcet`.

    Parameters
    ----------
    p : float or array-like of shape (n_classes,)
        Probability that one voter is right, if the other answers are equally likely; or the probability of every
        answer, the right one first.
    n_voters : int
        Number of voters. Ties are broken at random.
    n_classes : int, default=None
        Number of answers; required if `p` is a number.

    Returns
    -------
    float

    Examples
    --------
    >>> round(plurality(0.4, 3, n_classes=3), 4), round(float(condorcet(0.4, 3)), 4)
    (0.424, 0.352)
    >>> round(plurality([0.4, 0.3, 0.3], 101), 4)
    0.8127
    """
    answers = _answers(p, n_classes)
    if not isinstance(n_voters, Integral) or isinstance(n_voters, bool) or n_voters < 1:
        raise ValueError(f"n_voters must be an integer of at least 1, got {n_voters!r}.")
    votes = _votes(answers, int(n_voters))
    return min(1.0, float(sum(_wins_with(own, votes) for own in range(1, int(n_voters) + 1)) / _sum_of(int(n_voters))))


def _wins_with(own: int, votes: Floats) -> float:
    """Return the probability that the right answer gets `own` of n votes and wins.

    `votes` is (K, n + 1); a tie of m answers counts 1/m. The other answers are added one after the other:
    `ways[tied, sum]` is the probability of their votes so far.
    """
    left = votes.shape[1] - 1 - own
    ways = np.zeros((len(votes), left + 1))
    ways[0, 0] = votes[0, own]
    for other in votes[1:]:
        taken = np.stack([np.convolve(row, other[: min(own, left + 1)])[: left + 1] for row in ways])
        if own <= left:
            taken[1:, own:] += ways[:-1, : left + 1 - own] * other[own]
        ways = taken
    return float(ways[:, left] @ (1 / np.arange(1, len(votes) + 1)))


def _votes(answers: Floats, n_voters: int) -> Floats:
    """Return Poisson probabilities (K, n + 1) of 0 to n votes for each answer.

    Conditional on their sum being n, independent Poisson numbers are the votes of n people. They neither over- nor
    underflow.
    """
    number, rate = np.arange(n_voters + 1), n_voters * answers[:, None]
    return np.asarray(np.exp(xlogy(number, rate) - rate - gammaln(number + 1)))


def _sum_of(n_voters: int) -> float:
    """Return the probability that the Poisson numbers of all answers sum to n."""
    return float(_votes(np.ones(1), n_voters)[0, -1])


def _answers(p: ArrayLike, n_classes: int | None) -> Floats:
    """Return the probability (K,) of every answer, the right one first."""
    given: Floats = np.asarray(p, dtype=np.float64)
    _check_probability(given)
    if given.ndim == 0:
        if not isinstance(n_classes, Integral) or n_classes < 2:
            raise ValueError(f"n_classes must be an integer of at least 2 if p is a number, got {n_classes!r}.")
        return np.array([given, *[(1 - given) / (n_classes - 1)] * (int(n_classes) - 1)])
    if given.ndim != 1 or len(given) < 2 or abs(given.sum() - 1) > 1e-9 or n_classes not in (None, len(given)):
        raise ValueError(f"p must be a number, or the probabilities of all answers with sum 1, got {p!r}.")
    return np.asarray(given)


def _check_probability(p: Floats) -> None:
    if not ((p >= 0) & (p <= 1)).all():
        raise ValueError(f"p must lie in [0, 1], got {p!r}.")
