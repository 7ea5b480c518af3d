"""Chosen: a decision and a recorded opinion -> the classes that remain, recorded.

Decisions check what they are given and look at values to save work, which cannot be recorded; here is their bare
arithmetic. The tests hold it against the decisions themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hedgerow.belief.leaf import largest_rival
from hedgerow.belief.opinion import Opinion
from hedgerow.decide import (
    Coverage,
    Decision,
    Dominance,
    EAdmissibility,
    ExpectedUtility,
    Hurwicz,
    Maximality,
    Maximax,
    Maximin,
    Pignistic,
    RuleChoice,
    TopProbability,
    UtilitySet,
)
from hedgerow.decide.intervals import TIE
from hedgerow.exchange.export.recorded import NotExpressible


def chosen_by(decision: Decision, opinion: Opinion) -> Any:
    """A decision, an opinion of recorded arrays (n, K) -> bool (n, K), recorded."""
    choose = _CHOICES.get(type(decision))
    if choose is None:
        raise NotExpressible("has no counterpart there; use one of those hedgerow.decide names")
    if getattr(decision, "utility", None) is not None and not isinstance(decision, UtilitySet):
        raise NotExpressible("has a utility matrix; decide on the exported bounds instead")
    return choose(decision, opinion)


def _bounds(opinion: Opinion) -> tuple[Any, Any]:
    """Opinion -> reachable lower and upper, (n, K) each."""
    low, high = opinion.lower, opinion.upper
    low_sum, high_sum = low.sum(axis=1, keepdims=True), high.sum(axis=1, keepdims=True)
    whole = np.clip(1.0, low_sum, high_sum)
    room, excess, width = whole - low_sum, high_sum - whole, high - low
    tight_low = np.where(width > excess + TIE, np.minimum(high - excess, high), low)
    tight_high = np.where(width > room + TIE, np.maximum(low + room, low), high)
    return np.minimum(tight_low, tight_high), tight_high


def _dominance(decision: Any, opinion: Opinion) -> Any:
    lower, upper = _bounds(opinion)
    return largest_rival(lower) <= upper + TIE


def _e_admissibility(decision: Any, opinion: Opinion) -> Any:
    lower, upper = _bounds(opinion)
    capped = np.minimum(upper[:, None, :], upper[:, :, None]).sum(axis=2)
    needed = np.minimum(1.0, upper.sum(axis=1, keepdims=True))
    return (largest_rival(lower) <= upper + TIE) & (capped >= needed - TIE)


def _maximin(decision: Any, opinion: Opinion) -> Any:
    return _best(_bounds(opinion)[0], opinion)


def _maximax(decision: Any, opinion: Opinion) -> Any:
    return _best(_bounds(opinion)[1], opinion)


def _hurwicz(decision: Any, opinion: Opinion) -> Any:
    lower, upper = _bounds(opinion)
    return _best(decision.optimism * upper + (1 - decision.optimism) * lower, opinion)


def _pignistic(decision: Any, opinion: Opinion) -> Any:
    lower, upper = _bounds(opinion)
    width, low_sum = upper - lower, lower.sum(axis=1, keepdims=True)
    room = np.clip(1.0, low_sum, upper.sum(axis=1, keepdims=True)) - low_sum
    spread = width.sum(axis=1, keepdims=True)
    return _best(lower + width * (room / np.where(spread > 0, spread, 1.0)), opinion)


def _expected_utility(decision: Any, opinion: Opinion) -> Any:
    return _best(opinion.probability, opinion)


def _best(score: Any, opinion: Opinion) -> Any:
    """(n, K) -> bool (n, K): the largest score; of a tie the most probable, then the first."""
    tied = score >= score.max(axis=1, keepdims=True) - TIE
    first = np.argmax(np.where(tied, opinion.probability, -np.inf), axis=1)
    return np.arange(score.shape[1]) == first[:, None]


def _utility_set(decision: Any, opinion: Opinion) -> Any:
    lower = decision.evidence == "lower"
    score = _bounds(opinion)[0] if lower else opinion.probability
    # By score, ties by probability: put in order by the one, then, keeping that order, by the other.
    order = np.argsort(-opinion.probability, axis=1, kind="stable")
    if lower:
        again = np.argsort(-np.take_along_axis(score, order, axis=1), axis=1, kind="stable")
        order = np.take_along_axis(order, again, axis=1)
    belief = np.cumsum(np.take_along_axis(score, order, axis=1), axis=1)
    if lower:
        belief[:, -1] = 1.0
    worth = belief * decision._utility_of_sizes(score.shape[1])
    best = worth >= worth.max(axis=1, keepdims=True) - TIE
    return _first_places(order, np.argmax(best, axis=1))


def _top_probability(decision: Any, opinion: Opinion) -> Any:
    order = np.argsort(-opinion.probability, axis=1, kind="stable")
    reached = np.cumsum(np.take_along_axis(opinion.probability, order, axis=1), axis=1) >= 1 - decision.epsilon - TIE
    reached[:, -1] = True
    return _first_places(order, np.argmax(reached, axis=1))


def _first_places(order: Any, last: Any) -> Any:
    """Classes in order (n, K), last place taken (n,) -> bool (n, K)."""
    return np.argsort(order, axis=1) <= last[:, None]


def _coverage(decision: Any, opinion: Opinion) -> Any:
    if decision.score != "lac":
        raise NotExpressible("scores by 'aps', which has no counterpart there; use score='lac'")
    strange = -opinion.log_odds if decision._by_log_odds else 1.0 - opinion.probability
    kept = strange <= decision.threshold_
    first = np.argmax(opinion.probability, axis=1)
    most_probable = np.arange(kept.shape[1]) == first[:, None]
    return np.where(kept.any(axis=1, keepdims=True), kept, most_probable)


def _rule(decision: Any, opinion: Opinion) -> Any:
    chosen: Any = opinion.chosen
    return _dominance(decision, opinion) if chosen is None else chosen


_CHOICES: dict[type[Decision], Callable[[Any, Opinion], Any]] = {
    Dominance: _dominance,
    Maximality: _dominance,  # without a utility matrix they are the same
    EAdmissibility: _e_admissibility,
    Maximin: _maximin,
    Maximax: _maximax,
    Hurwicz: _hurwicz,
    Pignistic: _pignistic,
    ExpectedUtility: _expected_utility,
    UtilitySet: _utility_set,
    TopProbability: _top_probability,
    Coverage: _coverage,
    RuleChoice: _rule,
}
