"""Outliers: proximities within a class -> how far each row lies from the others."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.forest.proximity import proximity_blocks
from hedgerow.judge.answer import Answers, ClassAnswers, answers_of
from hedgerow.table.bins import Codes

Floats = NDArray[np.float64]
Labels = NDArray[np.integer[Any]]


def outlier_scores(forest: Any, X: Any = None, y: Any = None) -> Floats:
    """How far each row lies from the training rows of its class, in units of how far these usually do.

    A row's isolation is n / Σ proximity², over the n training rows of its class. The score is the isolation minus the
    median of the class, divided by the median absolute deviation × 1.4826 (so that 1 is a standard deviation of normal
    numbers). Breiman calls rows above 10 outliers.

    Parameters
    ----------
    forest : fitted forest
        One that was fitted here with bootstrap=True. For a regressor or an unsupervised forest all rows are one class.
    X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features), default=None
        Samples; None takes the training rows.
    y : array-like of shape (n_samples,), default=None
        Their classes; None takes those the forest predicts.

    Returns
    -------
    scores : ndarray of shape (n_samples,)

    References
    ----------
    L. Breiman, A. Cutler: Random forests, manual of version 5, "Outliers". 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from hedgerow import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> y[7] = 2  # a mistaken label
    >>> forest = RandomForestClassifier(random_state=0, min_samples_leaf=3).fit(X, y)
    >>> int(outlier_scores(forest).argmax())
    7
    """
    now = answers_of(forest)
    known = now.training_codes()
    groups = _groups(now, known.shape[1])
    usual = _isolation(now, known, groups, known, groups)
    if X is None:
        return _in_units_of(usual, groups, usual, groups)
    codes = now.read(X)
    of_rows: Labels = np.zeros(codes.shape[1], dtype=np.int64)
    if isinstance(now, ClassAnswers):
        of_rows = _labels(now.classes, now.classes[now.said(codes).argmax(axis=1)] if y is None else np.asarray(y))
    if len(of_rows) != codes.shape[1]:
        raise ValueError(f"y must have a class for each of the {codes.shape[1]} rows of X, got {len(of_rows)}")
    return _in_units_of(_isolation(now, codes, of_rows, known, groups), of_rows, usual, groups)


def _isolation(now: Answers, codes: Codes, groups: Labels, known: Codes, groups_known: Labels) -> Floats:
    """Rows (p, n) and their groups (n,), training rows (p, m) and theirs -> (n,)."""
    n_trees, size = now.forest.n_trees, np.bincount(groups_known, minlength=int(groups.max(initial=0)) + 1)
    together = np.empty(codes.shape[1])
    threads = now.many_threads(codes)
    for first, block in proximity_blocks(now.forest, codes, known, n_threads=threads):
        rows = slice(first, first + block.shape[0])
        own = np.repeat(groups[rows], np.diff(block.indptr)) == groups_known[block.indices]
        block.data *= block.data * own
        together[rows] = block.sum(axis=1)
    # A row that never meets another of its class counts as meeting one, in one tree.
    return np.asarray(size[groups] / np.maximum(together, n_trees**-2))


def _in_units_of(isolation: Floats, groups: Labels, usual: Floats, groups_usual: Labels) -> Floats:
    """(n,) of groups (n,), and what is usual in these -> (n,): deviation from the median, in robust standard units."""
    scores = np.empty(len(isolation))
    for group in np.unique(groups):
        there = usual[groups_usual == group]
        rows = groups == group
        median = np.median(there) if len(there) else 0.0
        away = np.abs(there - median)
        spread = 1.4826 * np.median(away) if len(there) else 0.0
        if spread == 0:  # more than half of the class are equally isolated
            spread = away.mean() if away.any() else 1.0
        scores[rows] = (isolation[rows] - median) / spread
    return scores


def _groups(now: Answers, n_rows: int) -> Labels:
    """-> (n,): class numbers of the training rows, 0 for all where there are no classes."""
    if isinstance(now, ClassAnswers):
        return np.asarray(now.bagged_rows().target.labels)
    return np.zeros(n_rows, dtype=np.int64)


def _labels(classes: NDArray[Any], y: NDArray[Any]) -> Labels:
    """Classes (K,), labels (n,) -> (n,) class numbers."""
    numbers = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
    unknown = classes[numbers] != y
    if unknown.any():
        raise ValueError(
            f"y must hold classes of the forest, got {y[unknown].tolist()[0]!r}; leave y out for predicted ones"
        )
    return numbers
