"""Degrees of support of leaf counts by relative likelihood."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

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
