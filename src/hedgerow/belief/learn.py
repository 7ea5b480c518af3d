"""Tree weights learned from the probability intervals of every tree."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logsumexp, softmax

from hedgerow.belief.leaf import largest_rival

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

SHARPNESS = 10.0  # slope of the likelihood at a belief of one half
DOUBT = 2.0  # slope of the term that rewards caution
FLOOR = 1e-3  # weight spread over all trees: a row whose trees all have weight 0 still counts
#: Smoothing of the maximum over classes, in turn: the last leaves an error of at most 1e-5 log(K).
SMOOTHING = (1e-2, 1e-3, 1e-4, 1e-5)

Objective = Callable[[Floats], tuple[float, Floats]]


def learn_tree_weights(
    lower: ArrayLike,
    upper: ArrayLike,
    y: ArrayLike,
    *,
    objective: str = "votes",
    gamma: float = 0.1,
    lam: float = 0.1,
    seen: ArrayLike | None = None,
    max_iter: int = 500,
) -> Floats:
    """Learn tree weights from rows with known classes.

    The weights minimise an objective over the simplex. With "votes" and "bounds" it is J(w) of the cautious weighted
    random forest (Zhang, Quost and Masson, 2023):

    J(w) = -mean_i[log sigma(10 (bel_y - 1/2)) + gamma mean_k log(1 - sigma(2 (bel_k - 1/2)(pl_k - 1/2)))]
    + lam/2 |w|^2. For two classes this is the paper's formula term by term: 1 - sigma(10 (pl_1 - 1/2)) is
    sigma(10 (bel_0 - 1/2)), and the product under gamma is the same for both classes.

    "votes": a tree is for class k alone if lower_k >= upper_j for every other class j, and finds k possible unless
    another class dominates k in this way. bel_k is the weight of the trees that are for k alone, pl_k the weight of
    those that find k possible. "bounds": bel_k and pl_k are the weighted means of lower_k and upper_k.

    "minimax" is the largest mean squared distance between the weighted mean of the trees' distributions and the true
    class, over all distributions that the imprecise Dirichlet model of each leaf allows, plus lam/2 |w|^2 (Utkin,
    Kovalev and Coolen, 2020). The largest distance is reached if the pseudo-counts of all trees go to the same class,
    because it is convex in their sum.

    Parameters
    ----------
    lower, upper : array-like (n, T) or (n, T, K)
        Bounds of class 1, or of every class, in the leaf to which each tree sends a row.
    y : array-like (n,)
        True classes, 0 ... K - 1.
    objective : {"votes", "bounds", "minimax"}, default "votes"
    gamma : float, default 0.1
        Reward for being cautious; not for "minimax".
    lam : float, default 0.1
        Pull towards equal weights.
    seen : array-like of bool (n, T), optional
        Whether a tree may evaluate a row (its out-of-bag trees); all trees by default. bel and pl are then shares of
        the weight of these trees. A thousandth of the weight is spread over all trees, which keeps rows whose trees all
        have weight 0 in the objective.
    max_iter : int, default 500
        Largest number of projected-gradient steps.

    Returns
    -------
    float64 (T,)
        Weights that sum to 1.

    Examples
    --------
    >>> lower = [[0.9, 0.1], [0.0, 0.8], [0.8, 0.0]]     # the first tree is right, the second wrong
    >>> upper = [[1.0, 0.2], [0.1, 0.9], [0.9, 0.1]]
    >>> learn_tree_weights(lower, upper, [1, 0, 1], gamma=0.0, lam=0.0).round(6)
    array([1., 0.])
    """
    if objective not in ("votes", "bounds", "minimax"):
        raise ValueError(f"objective must be 'votes', 'bounds' or 'minimax', got {objective!r}.")
    low, high, labels, mask = _checked(lower, upper, y, seen)
    evaluated = mask.any(axis=1)
    if objective == "votes":
        low, high = _indicators(low, high)
    low, high = ((bound * mask[:, :, None])[evaluated] for bound in (low, high))
    known, of_trees = labels[evaluated], mask[evaluated].astype(float)
    floor = 0.0 if seen is None else FLOOR / low.shape[1]
    weights = np.full(low.shape[1], 1.0 / low.shape[1])
    if objective != "minimax":
        return _descend(_Objective(low, high, known, of_trees, gamma, lam, floor), weights, max_iter)
    for smoothing in SMOOTHING:
        weights = _descend(_Minimax(low, known, of_trees, lam, floor, smoothing), weights, max_iter)
    return weights


class _Objective:
    """The objective J of weights (T,), and its gradient (T,), from bel and pl of each tree."""

    def __init__(
        self,
        alone: Floats,
        possible: Floats,
        y: NDArray[np.int64],
        mask: Floats,
        gamma: float,
        lam: float,
        floor: float,
    ) -> None:
        self.alone, self.possible, self.y, self.mask = alone, possible, y, mask
        self.gamma, self.lam, self.floor = gamma, lam, floor

    def __call__(self, weights: Floats) -> tuple[float, Floats]:
        rows, n, n_classes = np.arange(len(self.y)), max(len(self.y), 1), self.alone.shape[2]
        w = weights + self.floor
        share = self.mask @ w
        bel = np.einsum("itk,t->ik", self.alone, w) / share[:, None]
        pl = np.einsum("itk,t->ik", self.possible, w) / share[:, None]
        right = SHARPNESS * (bel[rows, self.y] - 0.5)
        sure = DOUBT * (bel - 0.5) * (pl - 0.5)
        loss = np.logaddexp(0.0, -right).sum() + self.gamma * np.logaddexp(0.0, sure).sum() / n_classes
        by_sure = self.gamma * expit(sure) * DOUBT / n_classes
        by_bel, by_pl = by_sure * (pl - 0.5), by_sure * (bel - 0.5)
        by_bel[rows, self.y] -= SHARPNESS * expit(-right)
        by_bel, by_pl = by_bel / share[:, None], by_pl / share[:, None]
        common = (by_bel * bel + by_pl * pl).sum(axis=1)
        gradient = np.einsum("itk,ik->t", self.alone, by_bel) + np.einsum("itk,ik->t", self.possible, by_pl)
        gradient = (gradient - common @ self.mask) / n + self.lam * weights
        return float(loss / n + 0.5 * self.lam * (weights @ weights)), gradient


class _Minimax:
    """The minimax objective of weights (T,) with a smooth maximum, and its gradient (T,).

    With b = mean lower bounds - true class, and v = the mean mass that the lower bounds leave, the largest squared
    distance is |b|^2 + v^2 + max_k 2 v b_k.
    """

    def __init__(
        self, lower: Floats, y: NDArray[np.int64], mask: Floats, lam: float, floor: float, smoothing: float
    ) -> None:
        self.lower, self.y, self.mask, self.lam, self.floor, self.smoothing = lower, y, mask, lam, floor, smoothing
        self.left = np.maximum(mask - lower.sum(axis=2), 0.0)

    def __call__(self, weights: Floats) -> tuple[float, Floats]:
        n, w = max(len(self.y), 1), weights + self.floor
        share = self.mask @ w
        mean = np.einsum("itk,t->ik", self.lower, w) / share[:, None]
        left = self.left @ w / share
        apart = mean.copy()
        apart[np.arange(len(self.y)), self.y] -= 1.0
        scaled = 2 * left[:, None] * apart / self.smoothing
        worst = self.smoothing * logsumexp(scaled, axis=1)
        part = softmax(scaled, axis=1)  # of the classes that get all pseudo-counts
        value = ((apart**2).sum(axis=1) + left**2 + worst).sum() / n
        by_mean = 2 * (apart + left[:, None] * part) / share[:, None]
        by_left = 2 * (left + (part * apart).sum(axis=1)) / share
        common = (by_mean * mean).sum(axis=1) + by_left * left
        gradient = np.einsum("itk,ik->t", self.lower, by_mean) + by_left @ self.left - common @ self.mask
        return float(value + 0.5 * self.lam * (weights @ weights)), gradient / n + self.lam * weights


def _descend(objective: Objective, w: Floats, max_iter: int) -> Floats:
    """Minimise over the simplex, from weights w, by projected gradient with spectral steps."""
    value, gradient = objective(w)
    step = 1.0 / max(float(np.abs(gradient).max()), 1e-12)
    for _ in range(max_iter):
        direction = _onto_simplex(w - step * gradient) - w
        slope = float(direction @ gradient)
        if slope > -1e-14:
            break
        length = 1.0
        while True:
            trial = w + length * direction
            trial_value, trial_gradient = objective(trial)
            if trial_value <= value + 1e-4 * length * slope or length < 1e-12:
                break
            length *= 0.5
        if trial_value > value:
            break
        moved, turned = trial - w, trial_gradient - gradient
        bend = float(moved @ turned)
        step = float(np.clip((moved @ moved) / bend, 1e-6, 1e6)) if bend > 0 else 1e6
        w, value, gradient = trial, trial_value, trial_gradient
    return _onto_simplex(w)


def _onto_simplex(w: Floats) -> Floats:
    """Project weights (T,) onto the simplex."""
    ordered = np.sort(w)[::-1]
    excess = (np.cumsum(ordered) - 1.0) / np.arange(1, len(w) + 1)
    shift = excess[np.flatnonzero(ordered > excess)[-1]]
    kept = np.maximum(w - shift, 0.0)
    weights: Floats = kept / kept.sum()
    return weights


def _indicators(lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
    """Return whether a tree is for k alone, and whether it finds k possible."""
    n, n_trees, n_classes = lower.shape
    flat_lower, flat_upper = lower.reshape(-1, n_classes), upper.reshape(-1, n_classes)
    rival_lower = largest_rival(flat_lower)
    # two equal intervals that are points do not dominate each other
    possible = (flat_upper > rival_lower) | (flat_lower >= flat_upper.max(axis=1, keepdims=True))
    alone = possible & (possible.sum(axis=1, keepdims=True) == 1)
    shape = (n, n_trees, n_classes)
    return alone.reshape(shape).astype(float), possible.reshape(shape).astype(float)


def _checked(
    lower: ArrayLike, upper: ArrayLike, y: ArrayLike, seen: ArrayLike | None
) -> tuple[Floats, Floats, NDArray[np.int64], Bools]:
    """Return bounds (n, T, K) twice, classes (n,) and mask (n, T)."""
    low, high = np.asarray(lower, dtype=np.float64), np.asarray(upper, dtype=np.float64)
    if low.shape != high.shape or low.ndim not in (2, 3):
        raise ValueError(
            f"lower and upper must have the same shape (n, T) or (n, T, K), got {low.shape} and {high.shape}. "
            "For two classes, pass the bounds of class 1."
        )
    if low.ndim == 2:
        low, high = np.stack([1.0 - high, low], axis=2), np.stack([1.0 - low, high], axis=2)
    labels = np.asarray(y)
    if labels.shape != (len(low),) or not np.isin(labels, np.arange(low.shape[2])).all():
        raise ValueError(
            f"y must be {len(low)} classes from 0 to {low.shape[2] - 1}, got {labels!r}. Encode the labels first."
        )
    mask = np.ones(low.shape[:2], dtype=bool) if seen is None else np.asarray(seen, dtype=bool)
    if mask.shape != low.shape[:2]:
        raise ValueError(f"seen must have the shape {low.shape[:2]}, got {mask.shape}.")
    return low, high, labels.astype(np.int64), mask
