"""Venn: scores of rows whose class is known -> lower and upper probabilities of new rows, with a guarantee."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedgerow.belief.opinion import Opinion, opinion_from_bounds

Floats = NDArray[np.float64]

#: With more different scores than this, neighbours are joined, so that the table of all runs of scores stays small.
MOST_SCORES = 2_000


def venn_abers(known: ArrayLike, labels: ArrayLike, new: ArrayLike) -> Opinion:
    """Venn–Abers bounds: intervals of probability with a guarantee, from rows whose class is known.

    For two classes, isotonic regression of the known classes on the known probabilities is fitted twice for each new
    row: with the row counted once in the first class and once in the second. The results are the lower bound l and the
    upper bound u of the second class, and its probability is u / (1 − l + u). One of the two belongs to the true class,
    and it is calibrated: among rows for which it is v, a share v is of the second class, for any distribution, any
    model and any number of known rows that are exchangeable with new rows. Rows on which the model was fitted must be
    judged out of bag; then the guarantee is approximate.

    With K > 2 classes this is done for each pair of classes i, j on the rows of these two, with the score
    p_j / (p_i + p_j). Lower bounds, upper bounds and probabilities of the pairs are combined by
    1 / (Σ_{j≠i} 1 / p_ij − (K − 2)); probabilities are then normalised, and bounds widened to hold them. The guarantee
    is about the pairs.

    Parameters
    ----------
    known : array-like (m, K)
        Probabilities of rows whose class is known.
    labels : array-like of int (m,)
        The numbers of their classes, from 0 to K − 1.
    new : array-like (n, K)
        Probabilities of new rows.

    Returns
    -------
    Opinion
        About the new rows; `hedgerow.decide` accepts it. With more than 2,000 different known scores neighbouring ones
        are joined, which hardly changes anything.

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
    said, asked, classes = _checked(known, "known"), _checked(new, "new"), np.asarray(labels)
    n_classes = said.shape[1]
    if asked.shape[1] != n_classes or n_classes < 2:
        raise ValueError(
            f"new must have a column for each of the {n_classes} classes of known, two at least, got {asked.shape[1]}"
        )
    if classes.shape != said.shape[:1] or not np.isin(classes, np.arange(n_classes)).all():
        raise ValueError(f"labels must be a class number from 0 to {n_classes - 1} for each known row, got others")
    pairs = np.ones((3, len(asked), n_classes, n_classes))
    for i in range(n_classes):
        for j in range(i + 1, n_classes):
            some = (classes == i) | (classes == j)
            bounds = pair_bounds(_share(said[some], i, j), classes[some] == j, _share(asked, i, j))
            pairs[:, :, j, i] = bounds
            pairs[:, :, i, j] = 1 - bounds[[1, 0, 2]]
    lower, upper, probability = (_combined(each) for each in pairs)
    total = probability.sum(axis=1, keepdims=True)
    probability = np.where(total > 0, probability / np.where(total > 0, total, 1.0), 1 / n_classes)
    lower, upper = np.minimum(lower, probability), np.maximum(upper, probability)
    return opinion_from_bounds(probability, lower, upper, np.zeros(len(asked)))


def pair_bounds(scores: Floats, is_second: NDArray[np.bool_], new: Floats) -> Floats:
    """Scores (m,) of rows, whether they are of the second class (m,), new scores (n,) -> lower, upper, between: (3, n).

    Without any known row, what is known is nothing: 0, 1 and one half.
    """
    if len(scores) == 0:
        return np.tile([[0.0], [1.0], [0.5]], len(new))
    ends, sizes, seconds = _steps(scores, is_second)
    first = np.searchsorted(ends, new, side="left")  # the step whose scores are the first not below the new one
    # A score that equals a known one joins its step; another lies between two steps.
    last = np.where(ends[np.minimum(first, len(ends) - 1)] == new, first, first - 1)
    lower, upper = (_inserted(sizes, seconds, label, first, last) for label in (0.0, 1.0))
    return np.stack([lower, upper, upper / (1 - lower + upper)])


def _steps(scores: Floats, labels: NDArray[np.bool_]) -> tuple[Floats, Floats, Floats]:
    """Scores (m,), classes (m,) -> different scores in ascending order, their rows, and those of the second class."""
    ends, step = np.unique(scores, return_inverse=True)
    if len(ends) > MOST_SCORES:
        kept = np.linspace(0, len(ends) - 1, MOST_SCORES).astype(np.int64)
        step = np.searchsorted(kept, step)  # joined with the next score that is kept
        ends = ends[kept]
    sizes, seconds = (np.bincount(rows, minlength=len(ends)).astype(np.float64) for rows in (step, step[labels]))
    return ends, sizes, seconds


def _inserted(sizes: Floats, seconds: Floats, label: float, first: NDArray[np.intp], last: NDArray[np.intp]) -> Floats:
    """Isotonic regression at a row that is put at the steps first to last (n,), or between them if last < first.

    It is the largest, over runs that begin not after `first`, of the smallest mean of runs that end not before `last`.
    """
    n_steps = len(sizes)
    rows, ones = (np.concatenate([[0.0], np.cumsum(each)]) for each in (sizes, seconds))
    # means[a, b]: of the row and the steps from a up to, but without, b; a run may be empty
    means = (ones[None, :] - ones[:, None] + label) / np.maximum(rows[None, :] - rows[:, None] + 1.0, 1.0)
    means[np.tril_indices(n_steps + 1, -1)] = np.inf  # no run
    smallest = np.minimum.accumulate(means[:, ::-1], axis=1)[:, ::-1]
    # for a row between steps, runs end at `first` at the earliest; in a step, after it
    largest = np.maximum.accumulate(smallest, axis=0)
    return np.asarray(largest[first, last + 1])


def _share(probability: Floats, i: int, j: int) -> Floats:
    """(n, K) -> (n,): the share of class j in that of i and j; one half if both are 0."""
    both = probability[:, i] + probability[:, j]
    return np.asarray(np.where(both > 0, probability[:, j] / np.where(both > 0, both, 1.0), 0.5))


def _combined(pairs: Floats) -> Floats:
    """Probabilities of each class against each other one (n, K, K), with ones on the diagonal -> (n, K)."""
    with np.errstate(divide="ignore"):
        return np.asarray(1 / ((1 / pairs).sum(axis=2) - 1 - (pairs.shape[1] - 2)))


def _checked(probability: ArrayLike, name: str) -> Floats:
    """Probabilities as float64 (n, K); refused unless they are a matrix of finite numbers."""
    values = np.asarray(probability, dtype=np.float64)
    if values.ndim != 2 or not np.isfinite(values).all():
        raise ValueError(f"{name} must be finite probabilities of shape (n, K), got shape {values.shape}")
    return values
