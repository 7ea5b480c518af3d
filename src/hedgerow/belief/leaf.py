"""Shares, probability bounds and scores of leaf counts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, gammaln, xlogy

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def class_shares(counts: ArrayLike) -> Floats:
    """Return relative frequencies (m, K) of counts; zeros for an empty leaf.

    Examples
    --------
    >>> class_shares([[1, 3], [0, 0]])
    array([[0.25, 0.75],
           [0.  , 0.  ]])
    """
    table = np.asarray(counts, dtype=np.float64)
    total = table.sum(axis=1, keepdims=True)
    return _ratio(table, total)


def laplace_shares(counts: ArrayLike, alpha: float = 1.0) -> Floats:
    """Return smoothed shares (n_k + alpha)/(n + K alpha); zeros for an empty leaf.

    Examples
    --------
    >>> laplace_shares([[0, 2]])
    array([[0.25, 0.75]])
    """
    table = np.asarray(counts, dtype=np.float64)
    total = table.sum(axis=1, keepdims=True)
    return np.where(total > 0, _ratio(table + alpha, total + alpha * table.shape[1]), 0.0)


def vote_shares(counts: ArrayLike) -> Floats:
    """Return votes (m, K) for the largest class; zeros for an empty leaf.

    Tied classes share the vote.

    Examples
    --------
    >>> vote_shares([[1, 3, 3], [0, 0, 0]])
    array([[0. , 0.5, 0.5],
           [0. , 0. , 0. ]])
    """
    table = np.asarray(counts, dtype=np.float64)
    largest = table.max(axis=1, keepdims=True)
    votes = ((table == largest) & (largest > 0)).astype(np.float64)
    return _ratio(votes, votes.sum(axis=1, keepdims=True))


def leaf_vacuity(counts: ArrayLike, caution: float | Floats) -> Floats:
    """Return the pseudo-count's share caution/(n + caution); 1 for an empty leaf.

    Leaves may have different pseudo-counts, (m,).

    Examples
    --------
    >>> leaf_vacuity([[1, 2], [0, 0]], caution=1.0)
    array([0.25, 1.  ])
    """
    total = np.asarray(counts, dtype=np.float64).sum(axis=1)
    return np.where(total > 0, _ratio(np.full_like(total, caution), total + caution), 1.0)


def idm_bounds(counts: ArrayLike, caution: float) -> tuple[Floats, Floats]:
    """Return lower and upper probabilities of the imprecise Dirichlet model.

    They are n_k/(n + caution) and (n_k + caution)/(n + caution), (m, K) each. An empty leaf has the interval [0, 1],
    even at caution 0.

    Examples
    --------
    >>> lower, upper = idm_bounds([[1, 2]], caution=1.0)
    >>> lower, upper
    (array([[0.25, 0.5 ]]), array([[0.5 , 0.75]]))
    """
    table = np.asarray(counts, dtype=np.float64)
    total = table.sum(axis=1, keepdims=True)
    lower = _ratio(table, total + caution)
    upper = np.where(total > 0, _ratio(table + caution, total + caution), 1.0)
    return lower, upper


def bounds_with_gaps(counts: ArrayLike, below: ArrayLike, above: ArrayLike, caution: float) -> tuple[Floats, Floats]:
    """Return lower and upper probabilities of counts that can fall and rise, as labels are uncertain.

    They are those of the extended imprecise Dirichlet model, (n_k - below_k)/(n + caution) and
    (n_k + above_k + caution)/(n + caution), (m, K) each.

    Examples
    --------
    >>> lower, upper = bounds_with_gaps([[1, 2]], [[0, 1]], [[1, 0]], caution=1.0)
    >>> lower, upper
    (array([[0.25, 0.25]]), array([[0.75, 0.75]]))
    """
    table, down, up = (np.asarray(each, dtype=np.float64) for each in (counts, below, above))
    total = table.sum(axis=1, keepdims=True)
    lower = _ratio(table - down, total + caution)
    upper = np.where(total > 0, _ratio(table + up + caution, total + caution), 1.0)
    return lower, upper


def undominated_with_gaps(
    counts: ArrayLike, below: ArrayLike, above: ArrayLike, caution: float, *, strict: bool = False
) -> Bools:
    """Return which classes of a leaf no other class dominates if counts can fall and rise, bool (m, K).

    Class a dominates b if its smallest count reaches the largest count of b plus caution. Without gaps, the result is
    that of `undominated`.

    Examples
    --------
    >>> undominated_with_gaps([[3, 4]], [[0, 4]], [[0, 0]], caution=1.0)
    array([[ True,  True]])
    """
    table, down, up = (np.asarray(each, dtype=np.float64) for each in (counts, below, above))
    rival, most = largest_rival(table - down), table + up + caution
    kept: Bools = most >= rival if strict or caution == 0 else most > rival
    return kept


def undominated(counts: ArrayLike, caution: float, *, strict: bool = False) -> Bools:
    """Return which classes of a leaf no other class dominates, bool (m, K).

    Class a dominates b if lower(a) >= upper(b), that is, n_a >= n_b + caution. A lower probability of exactly 1/2 thus
    decides between two classes, as in Zhang, Quost and Masson (2021). Classes of equal count never dominate each other.
    With `strict`, a dominates b only if lower(a) > upper(b), as in the rules of these authors for more than two
    classes.

    Examples
    --------
    >>> undominated([[0, 1], [1, 1], [3, 4]], caution=1.0)
    array([[False,  True],
           [ True,  True],
           [False,  True]])
    >>> undominated([[0, 1]], caution=1.0, strict=True)
    array([[ True,  True]])
    """
    table = np.asarray(counts, dtype=np.float64)
    largest = table.max(axis=1, keepdims=True)
    kept: Bools = table + caution >= largest if strict else (table + caution > largest) | (table == largest)
    return kept


def entropy(shares: ArrayLike) -> Floats:
    """Return the Shannon entropy (...) of distributions (..., K), in bits.

    Examples
    --------
    >>> entropy([[0.5, 0.5], [0.0, 1.0]])
    array([1., 0.])
    """
    values = np.asarray(shares, dtype=np.float64)
    logs = np.log2(np.where(values > 0, values, 1.0))
    bits: Floats = 0.0 - (values * logs).sum(axis=-1)
    return bits


def confidence_scores(counts: ArrayLike, model: str = "beta_binomial") -> Floats:
    """Return scores (1 - c)(n_k/(n_k + n_r) - 1/2) of each class against its rival.

    The rival of a class is the largest other class. Forecast as many new rows as the two classes have, by a
    beta-binomial distribution: c is the probability of a draw between them, divided by that of the most probable
    outcome. Other values of `model` define c by a binomial distribution ("binomial"), by the density of a share of 1/2
    divided by the largest density ("beta"), or as twice the probability that the share is on the other side of 1/2
    ("tail"), the area below both densities.

    Examples
    --------
    >>> confidence_scores([[1, 3]])
    array([[-0.0625,  0.0625]])
    >>> confidence_scores([[1, 3]], "tail")
    array([[-0.15625,  0.15625]])
    """
    if model not in DRAWS:
        raise ValueError(f"model must be one of {', '.join(DRAWS)}, got {model!r}.")
    table = np.asarray(counts, dtype=np.float64)
    rivals = largest_rival(table)
    largest = table.max(axis=1)
    # a leaf contains few of many classes, and all classes without rows have the same score
    scores = np.repeat(_pair_score(np.zeros_like(largest), largest, model)[:, None], table.shape[1], axis=1)
    occurs = table > 0
    scores[occurs] = _pair_score(table[occurs], rivals[occurs], model)
    return scores


def confidence_shares(counts: ArrayLike, model: str = "beta_binomial") -> Floats:
    """Return the distribution whose odds follow from `confidence_scores`.

    Odds are those of each class against the largest.

    For two classes it is 1/2 + score; for an empty leaf, a row of zeros.

    Examples
    --------
    >>> confidence_shares([[1, 3]])
    array([[0.4375, 0.5625]])
    """
    table = np.asarray(counts, dtype=np.float64)
    scores = np.minimum(confidence_scores(table, model), 0.0)
    odds = (0.5 + scores) / (0.5 - scores)
    odds[table.sum(axis=1) == 0] = 0.0
    return _ratio(odds, odds.sum(axis=1, keepdims=True))


def largest_rival(values: Floats) -> Floats:
    """Return the largest of the other columns (m, K); 0 if there is no other column."""
    if values.shape[1] == 1:
        return np.zeros_like(values)
    if values.shape[1] == 2:
        return values[:, ::-1].copy()
    ordered = np.partition(values, -2, axis=1)
    second, first = ordered[:, -2:-1], ordered[:, -1:]
    rivals: Floats = np.where(values == first, second, first)
    return rivals


def _pair_score(p: Floats, q: Floats, model: str) -> Floats:
    """Return (1 - c)(p/(p + q) - 1/2) of counts p, q; 0 where there are no rows."""
    score: Floats = (1.0 - DRAWS[model](p, q)) * _ratio(p - q, 2.0 * (p + q))
    return score


def _draw_ratio(p: Floats, q: Floats) -> Floats:
    """Return c of counts p, q: the ratio of a draw to the most probable outcome."""
    low = np.floor((p + q) / 2.0)
    logs = np.logaddexp(_log_forecast(p, q, low), _log_forecast(p, q, p + q - low))
    ratio: Floats = np.minimum(0.5 * np.exp(logs), 1.0)
    return ratio


def _log_forecast(p: Floats, q: Floats, k: Floats) -> Floats:
    """Return log f(k)/f(p) of the beta-binomial (p + q, p + 1, q + 1).

    Many rows use Stirling's formula.
    """
    many = (p + q > 1000) & (np.minimum(p, q) > 100)
    n = p + q
    few_p, few_q, few_k = (np.where(many, 1.0, values) for values in (p, q, k))
    exact = (
        gammaln(few_p + 1) + gammaln(few_q + 1) - gammaln(few_k + 1) - gammaln(few_p + few_q - few_k + 1)
        + gammaln(few_k + few_p + 1) + gammaln(few_p + 2 * few_q - few_k + 1)
        - gammaln(2 * few_p + 1) - gammaln(2 * few_q + 1)
    )  # fmt: skip
    h = np.where(many, n / 2.0, 1.0)
    p, q, k = (np.where(many, values, 1.0) for values in (p, q, k))
    rest = 2.0 * h - k
    series = (
        _stirling(p, h) + _stirling(q, h) - _stirling(k, h) - _stirling(rest, h)
        + _stirling(k + p, 2 * h) + _stirling(rest + q, 2 * h) - _stirling(2 * p, 2 * h) - _stirling(2 * q, 2
        * h)
    )  # fmt: skip
    return np.where(many, series, exact)


def _stirling(x: Floats, centre: Floats) -> Floats:
    """Return log x!, without terms that cancel for equal centres and sums."""
    below = np.maximum((x - centre) / centre, 2.0**-53 - 1)  # numbers far below the centre round to -1
    logs: Floats = (x + 0.5) * np.log1p(below) + 1 / (12 * x) - 1 / (360 * x**3)
    return logs


def _ratio(part: Floats, whole: Floats) -> Floats:
    """Return part/whole; 0 where the whole is 0."""
    return np.divide(part, whole, out=np.zeros(np.broadcast_shapes(part.shape, whole.shape)), where=whole > 0)


def _binomial_draw(p: Floats, q: Floats) -> Floats:
    """Return the ratio of a draw to the outcome p, q under the binomial distribution."""
    n = p + q
    many = n > MANY
    p_few, q_few = np.where(many, 1.0, p), np.where(many, 1.0, q)
    rows = p_few + q_few
    low = np.floor(rows / 2.0)

    def log_forecast(k: Floats) -> Floats:
        ways = gammaln(p_few + 1) + gammaln(q_few + 1) - gammaln(k + 1) - gammaln(rows - k + 1)
        share, rest = _ratio(p_few, rows), _ratio(q_few, rows)
        logs: Floats = (
            ways + xlogy(k - p_few, np.maximum(share, TINY)) + xlogy(rows - k - q_few, np.maximum(rest, TINY))
        )
        return logs

    both = np.logaddexp(log_forecast(low), log_forecast(rows - low))
    by_stirling = 0.5 * (n + 1) * np.log(np.maximum(4.0 * _ratio(p, n) * _ratio(q, n), TINY))
    ratio: Floats = np.where(many, np.exp(np.minimum(by_stirling, 0.0)), 0.5 * np.exp(np.minimum(both, np.log(2.0))))
    return ratio


def _beta_draw(p: Floats, q: Floats) -> Floats:
    """Return the density of a share of 1/2, divided by the largest density."""
    n = p + q
    logs = -n * np.log(2.0) - xlogy(p, _ratio(p, n)) - xlogy(q, _ratio(q, n))
    ratio: Floats = np.exp(np.minimum(logs, 0.0))
    return ratio


def _beta_tail(p: Floats, q: Floats) -> Floats:
    """Return twice the probability that the smaller class has a share above 1/2."""
    most, least = np.maximum(p, q), np.minimum(p, q)
    far = most - least > 40.0 * np.sqrt(most + 1.0)  # beyond this it is below 1e-300
    tail: Floats = np.where(
        far, 0.0, 2.0 * betainc(np.where(far, 1.0, most) + 1.0, np.where(far, 1.0, least) + 1.0, 0.5)
    )
    return np.minimum(tail, 1.0)


MANY = 1000.0  # above this many rows, factorials use Stirling's formula
TINY = 1e-300  # in place of a share of 0, whose logarithm is not finite

#: Functions of counts p, q that return c, the relative probability of a draw.
DRAWS: dict[str, Callable[[Floats, Floats], Floats]] = {
    "beta_binomial": _draw_ratio,
    "binomial": _binomial_draw,
    "beta": _beta_draw,
    "tail": _beta_tail,
}
