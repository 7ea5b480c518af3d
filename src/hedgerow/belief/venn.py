"""Venn–Abers probability intervals."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedgerow.belief.opinion import Opinion, opinion_from_bounds

Floats = NDArray[np.float64]


def venn_abers(known: ArrayLike, labels: ArrayLike, new: ArrayLike) -> Opinion:
    """Return Venn–Abers probability intervals, calibrated on rows with known classes.

    For two classes, isotonic regression of the known classes on the known probabilities is fitted twice for each new
    row: with the row counted once in the first class and once in the second. The results are the lower probability l
    and the upper probability u of the second class; its probability is u / (1 − l + u). One of l and u belongs to the
    true class, and it is calibrated: among rows where it is v, a share v is of the second class. This holds for any
    distribution, any model and any number of known rows that are exchangeable with new rows. Use out-of-bag
    probabilities for training rows; then the guarantee is approximate.

    With K > 2 classes, each pair of classes i, j has such intervals, from its rows and the score p_j / (p_i + p_j). The
    pairs are combined by 1 / (Σ_{j≠i} 1 / p_ij − (K − 2)). Probabilities are then normalised, and intervals widened to
    contain them. The guarantee holds for the pairs.

    Parameters
    ----------
    known : array-like (m, K)
        Probabilities of rows with known classes.
    labels : array-like of int (m,)
        Their class numbers, from 0 to K − 1.
    new : array-like (n, K)
        Probabilities of new rows.

    Returns
    -------
    Opinion
        Opinion about the new rows, for example for `hedgerow.decide`.

    References
    ----------
    V. Vovk, I. Petej, V. Fedorova: Large-scale probabilistic predictors with and without guarantees of validity.
    Advances in Neural Information Processing Systems 28 (2015).
    D. Price, S. Knerr, L. Personnaz, G. Dreyfus: Pairwise neural network classifiers with probabilistic outputs.
    Advances in Neural Information Processing Systems 7 (1994).

    Examples
    --------
    >>> second = np.array([0.1, 0.2, 0.3, 0.6, 0.8, 0.9])
    >>> known, labels = np.column_stack([1 - second, second]), [0, 0, 1, 0, 1, 1]
    >>> opinion = venn_abers(known, labels, [[0.9, 0.1], [0.5, 0.5], [0.1, 0.9]])
    >>> opinion.lower[:, 1].round(2), opinion.upper[:, 1].round(2)
    (array([0.  , 0.33, 0.67]), array([0.33, 0.67, 1.  ]))
    """
    calibration, wanted, classes = _checked(known, "known"), _checked(new, "new"), np.asarray(labels)
    n_classes = calibration.shape[1]
    if wanted.shape[1] != n_classes or n_classes < 2:
        raise ValueError(f"new and known must have the same K >= 2 columns, got {wanted.shape[1]} and {n_classes}.")
    if classes.shape != calibration.shape[:1]:
        raise ValueError(f"labels must have the shape {calibration.shape[:1]}, got {classes.shape}.")
    if len(outside := classes[~np.isin(classes, np.arange(n_classes))]):
        raise ValueError(f"labels must be integers in [0, {n_classes - 1}], got {outside[0]}.")
    pairs = np.ones((3, len(wanted), n_classes, n_classes))
    for i in range(n_classes):
        for j in range(i + 1, n_classes):
            of_pair = (classes == i) | (classes == j)
            bounds = pair_bounds(_share(calibration[of_pair], i, j), classes[of_pair] == j, _share(wanted, i, j))
            pairs[:, :, j, i] = bounds
            pairs[:, :, i, j] = 1 - bounds[[1, 0, 2]]
    lower, upper, probability = (_combined(each) for each in pairs)
    total = probability.sum(axis=1, keepdims=True)
    probability = np.where(total > 0, probability / np.where(total > 0, total, 1.0), 1 / n_classes)
    lower, upper = np.minimum(lower, probability), np.maximum(upper, probability)
    return opinion_from_bounds(probability, lower, upper, np.zeros(len(wanted)))


def pair_bounds(scores: Floats, is_second: NDArray[np.bool_], new: Floats) -> Floats:
    """Return lower, upper and combined probabilities (3, n) of the second class.

    Without any known row they are 0, 1 and 1/2.
    """
    if len(scores) == 0:
        return np.tile([[0.0], [1.0], [0.5]], len(new))
    ends, sizes, seconds = _steps(scores, is_second)
    first = np.searchsorted(ends, new, side="left")  # the first step not below the new score
    # A score that equals a known one joins its step; another lies between two steps.
    last = np.where(ends[np.minimum(first, len(ends) - 1)] == new, first, first - 1)
    lower, upper = (_inserted(sizes, seconds, label, first, last) for label in (0.0, 1.0))
    return np.stack([lower, upper, upper / (1 - lower + upper)])


def _steps(scores: Floats, labels: NDArray[np.bool_]) -> tuple[Floats, Floats, Floats]:
    """Return distinct scores in order, their rows, and those of the second class."""
    ends, step = np.unique(scores, return_inverse=True)
    sizes, seconds = (np.bincount(rows, minlength=len(ends)).astype(np.float64) for rows in (step, step[labels]))
    return ends, sizes, seconds


def _inserted(sizes: Floats, seconds: Floats, label: float, first: NDArray[np.intp], last: NDArray[np.intp]) -> Floats:
    """Return isotonic regression at a row inserted at the steps first to last (n,).

    If last < first, the row lies between them.

    It is the largest, over runs that begin not after `first`, of the smallest mean of runs that end not before `last`.
    Means are slopes between points of the cumulative sums. The run begins and ends at the bridge between the convex
    minorant of the points up to `first`, moved by the row, and that of the points from `last` + 1 on.
    """
    x, y = (np.concatenate([[0.0], np.cumsum(each)]) for each in (sizes, seconds))
    after, before = _next_vertices(x, y), len(x) - 1 - _next_vertices(x[-1] - x[::-1], y[::-1] - y[-1])[::-1]

    def mean(begin: NDArray[np.intp], end: NDArray[np.intp]) -> Floats:
        return np.asarray((y[end] - y[begin] + label) / (x[end] - x[begin] + 1.0))

    begin, end = first.copy(), last + 1
    while True:  # as many steps as the minorants have vertices, for all rows at once
        slope, further, earlier = mean(begin, end), after[end], before[begin]
        to_end = (further != end) & (mean(begin, further) < slope)
        to_begin = ~to_end & (earlier != begin) & (mean(earlier, end) > slope)
        if not (to_end.any() or to_begin.any()):
            return slope
        end, begin = np.where(to_end, further, end), np.where(to_begin, earlier, begin)


def _next_vertices(x: Floats, y: Floats) -> NDArray[np.intp]:
    """Return the vertex (m,) that follows each point on the convex minorant of the points from it on.

    The last point follows itself; x increases.
    """
    xs, ys = x.tolist(), y.tolist()
    follows = list(range(1, len(xs) + 1))
    follows[-1] = len(xs) - 1
    for point in range(len(xs) - 2, -1, -1):
        vertex = point + 1
        while (other := follows[vertex]) != vertex and (ys[other] - ys[point]) * (xs[vertex] - xs[point]) <= (
            ys[vertex] - ys[point]
        ) * (xs[other] - xs[point]):
            vertex = other
        follows[point] = vertex
    return np.array(follows, dtype=np.intp)


def _share(probability: Floats, i: int, j: int) -> Floats:
    """Return the share of class j among i and j (n,); one half if both are 0."""
    both = probability[:, i] + probability[:, j]
    return np.asarray(np.where(both > 0, probability[:, j] / np.where(both > 0, both, 1.0), 0.5))


def _combined(pairs: Floats) -> Floats:
    """Combine probabilities of pairs (n, K, K), with ones on the diagonal."""
    with np.errstate(divide="ignore"):
        return np.asarray(1 / ((1 / pairs).sum(axis=2) - 1 - (pairs.shape[1] - 2)))


def _checked(probability: ArrayLike, name: str) -> Floats:
    """Return probabilities as float64 (n, K); raise unless they are finite."""
    values = np.asarray(probability, dtype=np.float64)
    if values.ndim != 2 or not np.isfinite(values).all():
        raise ValueError(f"{name} must be finite probabilities of shape (n, K), got shape {values.shape}.")
    return values
