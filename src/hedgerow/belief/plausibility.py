"""Degrees of support of leaf counts by relative likelihood, and preferences between pairs of classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Curve = Callable[[Floats], Floats]

STEEPEST = 1e300  # used in place of an infinite likelihood ratio, so that brackets stay finite


class Preference(NamedTuple):
    """Preferences of leaves, in logarithms to keep the evidence of huge counts.

    Attributes
    ----------
    winner : int64 (m,)
        Class with the largest count (the first of a tie).
    log_epistemic : float64 (m,)
        Logarithm of u_e, the second largest degree.
    log_aleatoric : float64 (m,)
        Logarithm of u_a, one minus the largest degree; -inf for a pure leaf.
    """

    winner: NDArray[np.int64]
    log_epistemic: Floats
    log_aleatoric: Floats

    @property
    def weight(self) -> Floats:
        """Return the weight of evidence, -log(1 - support); 0 for a tied or empty leaf."""
        weights: Floats = np.maximum(-np.logaddexp(self.log_epistemic, self.log_aleatoric), 0.0)
        return weights

    @property
    def support(self) -> Floats:
        """Return the degree of preference for the winner, 1 - u_e - u_a."""
        supports: Floats = -np.expm1(-self.weight)
        return supports


def plausibility_degrees(counts: ArrayLike) -> Floats:
    """Return the degree of support of each class, by relative likelihood.

    It is the largest min(L(theta), theta_k - max theta_j) over the class probabilities theta, where L is their relative
    likelihood given the counts. For two classes these are pi+ and pi- of Busch et al. (2021). Counts may be real and as
    large as 1e9. An empty leaf has degree 1 for every class.

    Parameters
    ----------
    counts : array-like (m, K), K >= 2

    Returns
    -------
    float64 (m, K)

    Examples
    --------
    >>> plausibility_degrees([[1, 3]]).round(6)
    array([[0.281592, 0.765236]])
    """
    table = np.asarray(counts, dtype=np.float64)
    degrees = np.ones_like(table)
    filled = table.sum(axis=1) > 0
    for k in range(table.shape[1]):
        own = table[filled, k]
        rivals = -np.sort(-np.delete(table[filled], k, axis=1), axis=1)
        degrees[filled, k] = _degree(own, rivals)
    return degrees


def contour_from_counts(counts: ArrayLike) -> Floats:
    """Return the relative likelihood that each class is the most probable one.

    This is the maximum-likelihood contour: the largest L(theta) over all theta whose largest entry is that of class k.
    It is 1 for the classes of the largest count, and for all classes if there are no rows. `mass_from_contour` converts
    it to a mass.

    Parameters
    ----------
    counts : array-like (..., K), >= 0

    Returns
    -------
    float64 (..., K)

    Examples
    --------
    >>> contour_from_counts([1, 3]).round(6).tolist()
    [0.592593, 1.0]
    """
    given = np.asarray(counts, dtype=np.float64)
    if given.ndim == 0 or given.shape[-1] == 0 or not np.isfinite(given).all() or (given < 0).any():
        raise ValueError(f"counts must be finite, non-negative and of shape (..., K), got {counts!r}.")
    table = given.reshape(-1, given.shape[-1])
    contour = np.ones_like(table)
    for k in range(table.shape[1]):
        loses = table[:, k] < table.max(axis=1, initial=0.0)
        own = table[loses, k]
        rivals = -np.sort(-np.delete(table[loses], k, axis=1), axis=1)
        draw = _log_likelihood(own, rivals, np.zeros_like(own), np.ones_like(own))
        contour[loses, k] = np.exp(np.minimum(draw, 0.0))
    return contour.reshape(given.shape)


def preference(counts: ArrayLike) -> Preference:
    """Return the class that each leaf prefers, and the uncertainty about it.

    Parameters
    ----------
    counts : array-like (m, K)

    Returns
    -------
    Preference

    Examples
    --------
    >>> leaf = preference([[0, 1]])
    >>> round(float(np.exp(leaf.log_epistemic[0])), 12), round(float(leaf.support[0]), 12)
    (0.333333333333, 0.666666666667)
    """
    table = np.asarray(counts, dtype=np.float64)
    if table.shape[1] == 1:
        table = np.hstack([table, np.zeros_like(table)])
    winner = np.argmax(table, axis=1)
    ordered = -np.sort(-table, axis=1)
    occurring = max(2, int((ordered > 0).sum(axis=1).max(initial=0)))  # classes without rows change nothing
    ordered, back = np.unique(ordered[:, :occurring], axis=0, return_inverse=True)
    epistemic = np.zeros(len(ordered))
    aleatoric = np.full(len(ordered), -np.inf)
    filled = ordered[:, 0] > 0
    first, second, rest = ordered[filled, :1], ordered[filled, 1], ordered[filled, 2:]
    epistemic[filled] = _log_degree_of_loser(second, np.hstack([first, rest]))
    mixed = filled & (ordered[:, 1] > 0)
    tied = mixed & (ordered[:, 0] == ordered[:, 1])
    aleatoric[tied] = np.log(-np.expm1(epistemic[tied]))
    won = mixed & ~tied
    aleatoric[won] = _log_shortfall_of_winner(ordered[won, 0], ordered[won, 1:])
    back = back.reshape(-1)
    return Preference(winner, epistemic[back], aleatoric[back])


def _degree(own: Floats, rivals: Floats) -> Floats:
    """Return degrees (m,) of own counts against rivals in falling order."""
    degree = np.ones_like(own)
    loses = own <= rivals[:, 0]
    degree[loses] = np.exp(_log_degree_of_loser(own[loses], rivals[loses]))
    wins = ~loses & (rivals[:, 0] > 0)
    degree[wins] = -np.expm1(_log_shortfall_of_winner(own[wins], rivals[wins]))
    return degree


def _log_degree_of_loser(own: Floats, rivals: Floats) -> Floats:
    """Return the log-degree (m,) of own counts, which are at most the first rival."""
    if len(own) == 0:
        return np.zeros(0)

    def excess(log_margin: Floats) -> Floats:
        margin = np.exp(log_margin)
        return _log_likelihood(own, rivals, margin, -np.expm1(log_margin)) - log_margin

    # the likelihood falls as the margin grows, so the degree is at most the likelihood of a draw
    high = np.minimum(_log_likelihood(own, rivals, np.zeros_like(own), np.ones_like(own)), 0.0)
    return _root(excess, _below(excess, high, sign=1.0), high)


def _log_shortfall_of_winner(own: Floats, rivals: Floats) -> Floats:
    """Return log(1 - degree) (m,) of own counts above the first rival."""
    if len(own) == 0:
        return np.zeros(0)

    def excess(log_shortfall: Floats) -> Floats:
        shortfall, degree = np.exp(log_shortfall), -np.expm1(log_shortfall)
        near_tie = shortfall == 1  # rounded: the degree is still above zero
        log_degree = np.log1p(-shortfall, where=~near_tie, out=np.log(degree))
        return _log_likelihood(own, rivals, degree, shortfall) - log_degree

    total = own + rivals.sum(axis=1)
    high = np.log((rivals.sum(axis=1) + rivals[:, 0]) / total)
    near_ties = np.exp(high) == 1
    high[near_ties] = np.log1p(-((own - rivals[:, 0]) / total)[near_ties])
    return _root(excess, _below(excess, high, sign=-1.0), high)


def _log_likelihood(own: Floats, rivals: Floats, margin: Floats, shortfall: Floats) -> Floats:
    """Return the log of the largest likelihood with a margin, 1 - shortfall."""
    result = np.full_like(own, -STEEPEST)
    pending = np.flatnonzero(shortfall > 0)
    for active in range(1, rivals.shape[1] + 1):
        if len(pending) == 0:
            break
        value, solved = _active_likelihood(own[pending], rivals[pending], margin[pending], shortfall[pending], active)
        result[pending[solved]] = value[solved]
        pending = pending[~solved]
    return result


def _active_likelihood(
    own: Floats, rivals: Floats, margin: Floats, shortfall: Floats, active: int
) -> tuple[Floats, NDArray[np.bool_]]:
    """Return likelihoods with `active` rivals at one cap, and their validity.

    A value is valid if the other rivals stay below the cap.

    The derivative with respect to the cap is zero at the one positive root of a quadratic equation.
    """
    held, size, n = rivals[:, :active].sum(axis=1), active + 1, own + rivals.sum(axis=1)
    linear = (own + held) * shortfall - size * margin * (n - own)
    root = np.sqrt(linear**2 + 4 * size * n * held * shortfall * margin)
    with np.errstate(divide="ignore", invalid="ignore"):
        cap = np.where(linear >= 0, (linear + root) / (2 * size * n), 2 * held * shortfall * margin / (root - linear))
    slope = (own / (cap + margin) + held / cap) / size
    rest = rivals[:, active:].sum(axis=1)
    solved = np.ones(len(own), dtype=bool) if active == rivals.shape[1] else rivals[:, active] <= cap * slope
    with np.errstate(divide="ignore", invalid="ignore"):
        gain_of_own = (cap - shortfall + (n - own) / n) * n / own
        own_ratio = np.where(own > 0, (cap + margin) * n / own, 1.0)
    value = own * _log_minus(own_ratio, np.where(own > 0, gain_of_own, 0.0))
    ratio = cap[:, None] * n[:, None] / rivals[:, :active]
    value += (rivals[:, :active] * _log_minus(ratio, ratio - 1.0)).sum(axis=1)
    value += rest * _log_minus(n / slope, n / slope - 1.0)
    value -= np.where(own > 0, 0.0, n * (cap + margin))
    return value, solved


def _log_minus(ratio: Floats, gain: Floats) -> Floats:
    """Return log(ratio) - gain of ratio = 1 + gain, without cancellation."""
    small = np.abs(gain) < 0.4
    x = np.where(small, gain, 0.0)
    r = x / (2.0 + x)
    r2, tail = r * r, np.zeros_like(r)
    for power in range(25, 1, -2):
        tail = (tail + 2.0 / power) * r2
    return np.where(small, r * (tail - x), np.log(np.where(small, 1.0, ratio)) - gain)


def _below(curve: Curve, high: Floats, sign: float) -> Floats:
    """Return lower ends (m,) where sign x curve is not negative; steps double."""
    step = np.ones_like(high)
    low = high - step
    short = sign * curve(low) < 0
    while short.any():
        step = np.where(short, 2 * step, step)
        low = high - step
        short = sign * curve(low) < 0
    return low


def _root(curve: Curve, low: Floats, high: Floats) -> Floats:
    """Return the root (m,) between low and high, by Chandrupatla's method.

    A root is stored as soon as it converges, and does not depend on the other roots of the same call.
    """
    a, b, fa, fb = low, high, curve(low), curve(high)
    part = np.full_like(a, 0.5)
    root, found = np.empty_like(a), np.zeros(a.shape, dtype=bool)
    with np.errstate(all="ignore"):
        for _ in range(200):
            x = a + part * (b - a)
            fx = curve(x)
            same = np.sign(fx) == np.sign(fa)
            c, fc = np.where(same, a, b), np.where(same, fa, fb)
            b, fb = np.where(same, b, a), np.where(same, fb, fa)
            a, fa = x, fx
            least = 2 * np.finfo(float).eps * np.maximum(np.abs(a), 1e-3) / np.abs(b - a)
            converged = ~found & ((least > 0.5) | (fa == 0) | np.isnan(least))
            root[converged] = np.where(np.abs(fa) < np.abs(fb), a, b)[converged]
            found |= converged
            if found.all():
                break
            xi, phi = (a - b) / (c - b), (fa - fb) / (fc - fb)
            curved = fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)
            smooth = (phi**2 < xi) & ((1 - phi) ** 2 < 1 - xi) & np.isfinite(curved)
            part = np.clip(np.where(smooth, curved, 0.5), np.minimum(least, 0.5), 1 - np.minimum(least, 0.5))
    root[~found] = np.where(np.abs(fa) < np.abs(fb), a, b)[~found]
    return root


# ---- Preferences between pairs of classes, and the partial orders that follow ----------------------------------------


class PairwisePreference(NamedTuple):
    """Degrees of preference between all pairs of K classes, (n, K, K) each.

    ``strict[:, i, j]`` is the preference for i over j, ``indifferent`` the aleatoric and ``incomparable`` the epistemic
    uncertainty of the pair. ``strict[:, i, j] + strict[:, j, i] + indifferent[:, i, j] + incomparable[:, i, j]`` is 1.
    On the diagonal, classes are indifferent.
    """

    strict: Floats
    indifferent: Floats
    incomparable: Floats


def pairwise_preference(counts: ArrayLike) -> PairwisePreference:
    """Return the preferences between classes of leaf counts (Nguyen et al., 2018).

    Each pair of classes is compared by its own rows only, by relative likelihood, as `preference` compares two classes.

    Parameters
    ----------
    counts : array-like (n, K)
        Rows per class of leaves.

    Returns
    -------
    PairwisePreference

    Examples
    --------
    >>> found = pairwise_preference([[3, 1, 0]])
    >>> found.strict[0].round(3)
    array([[0.   , 0.484, 0.907],
           [0.   , 0.   , 0.667],
           [0.   , 0.   , 0.   ]])
    >>> found.incomparable[0, 0].round(3), found.indifferent[0, 0].round(3)
    (array([0.   , 0.282, 0.093]), array([1.   , 0.235, 0.   ]))
    """
    table = np.asarray(counts, dtype=np.float64)
    if table.ndim != 2 or not np.isfinite(table).all() or (table < 0).any():
        raise ValueError(f"counts must be finite and non-negative, of shape (n, K), got shape {table.shape}.")
    n, n_classes = table.shape
    strict, incomparable = np.zeros((n, n_classes, n_classes)), np.zeros((n, n_classes, n_classes))
    for first in range(n_classes):
        for second in range(first + 1, n_classes):
            leaf = preference(table[:, [first, second]])
            strict[:, first, second] = np.where(leaf.winner == 0, leaf.support, 0.0)
            strict[:, second, first] = np.where(leaf.winner == 1, leaf.support, 0.0)
            incomparable[:, first, second] = incomparable[:, second, first] = np.exp(leaf.log_epistemic)
    return completed_preference(strict, incomparable)


def completed_preference(strict: Floats, incomparable: Floats) -> PairwisePreference:
    """Return preferences whose four degrees add up to one."""
    indifferent = np.clip(1.0 - strict - strict.transpose(0, 2, 1) - incomparable, 0.0, 1.0)
    return PairwisePreference(strict, indifferent, incomparable)


def partial_order(strict: ArrayLike) -> Bools:
    """Return the partial orders of classes with the most comparisons that strict preferences allow.

    Class i precedes j if the preference for i over j exceeds a level, and by transitivity. The level is the smallest
    for which no class precedes itself (Cheng et al., 2010).

    Parameters
    ----------
    strict : array-like (n, K, K)
        Degrees of strict preference, as in `PairwisePreference`.

    Returns
    -------
    bool (n, K, K)
        Whether class i precedes class j.

    Examples
    --------
    >>> cycle = [[0.0, 0.6, 0.0], [0.0, 0.0, 0.5], [0.2, 0.0, 0.0]]  # 0 before 1 before 2, hardly 2 before 0
    >>> partial_order([cycle]).astype(int)
    array([[[0, 1, 1],
            [0, 0, 1],
            [0, 0, 0]]])
    """
    degrees = np.asarray(strict, dtype=np.float64)
    if degrees.ndim != 3 or degrees.shape[1] != degrees.shape[2]:
        raise ValueError(f"strict must have the shape (n, K, K), got {degrees.shape}.")
    return np.array([_order_of(row) for row in degrees], dtype=bool).reshape(degrees.shape)


def _order_of(degrees: Floats) -> Bools:
    """Return the partial order (K, K) of one row, by bisection over the levels."""
    levels = np.unique(np.append(degrees, 0.0))
    low, high = 0, len(levels) - 1  # at the highest level nothing precedes anything
    while low < high:
        middle = (low + high) // 2
        if _closure(degrees > levels[middle]).diagonal().any():
            low = middle + 1
        else:
            high = middle
    return _closure(degrees > levels[high])


def _closure(relation: Bools) -> Bools:
    """Return the transitive closure (K, K) of a relation (Warshall)."""
    closed = relation.copy()
    for between in range(len(closed)):
        closed |= closed[:, between, None] & closed[between]
    return closed
