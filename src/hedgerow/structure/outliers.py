"""Outlier scores from proximities within a class."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.forest.proximity import proximity_blocks
from hedgerow.inference.predictor import Predictor, predictor_of
from hedgerow.table.bins import Codes
from hedgerow.table.schema import TargetLike

Floats = NDArray[np.float64]
Labels = NDArray[np.integer[Any]]


def outlier_scores(forest: Any, X: Any = None, y: TargetLike | None = None) -> Floats:
    """Return the distance of each row from the training rows of its class.

    A row's isolation is n / Σ proximity², over the n training rows of its class. The score is the isolation minus the
    median of the class, divided by the median absolute deviation × 1.4826 (1 is then the standard deviation of a normal
    distribution). Breiman calls rows above 10 outliers.

    Parameters
    ----------
    forest : fitted forest
        Forest with bootstrap=True, not loaded or unpickled. For a regressor or an unsupervised forest all rows are one
        class.
    X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features), default=None
        Samples; None uses the training rows.
    y : array-like of shape (n_samples,), default=None
        Their classes. None uses the labels of training rows, and the predicted classes of other samples.

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
    predictor = predictor_of(forest)
    known, groups = predictor.training_codes(), predictor.training_groups()
    usual = _isolation(predictor, known, groups, known, groups)
    if X is None:
        return _in_units_of(usual, groups, usual, groups)
    codes = predictor.read(X).codes
    of_rows = predictor.groups(codes, y)
    if len(of_rows) != codes.shape[1]:
        raise ValueError(f"y must have one class for each of the {codes.shape[1]} rows of X, got {len(of_rows)}.")
    return _in_units_of(_isolation(predictor, codes, of_rows, known, groups), of_rows, usual, groups)


def _isolation(predictor: Predictor, codes: Codes, groups: Labels, known: Codes, groups_known: Labels) -> Floats:
    """Return the isolation (n,) of rows from the training rows of their group."""
    n_trees, size = predictor.forest.n_trees, np.bincount(groups_known, minlength=int(groups.max(initial=0)) + 1)
    squared = np.empty(codes.shape[1])
    threads = predictor.many_threads(codes)
    for first, block in proximity_blocks(predictor.forest, codes, known, n_threads=threads):
        rows = slice(first, first + block.shape[0])
        own = np.repeat(groups[rows], np.diff(block.indptr)) == groups_known[block.indices]
        block.data *= block.data * own
        squared[rows] = block.sum(axis=1)
    # A row that shares no leaf with its class counts as sharing one leaf with one row.
    return np.asarray(size[groups] / np.maximum(squared, n_trees**-2))


def _in_units_of(isolation: Floats, groups: Labels, usual: Floats, groups_usual: Labels) -> Floats:
    """Return robust standard scores (n,) of isolation within groups."""
    scores = np.empty(len(isolation))
    for group in np.unique(groups):
        there = usual[groups_usual == group]
        rows = groups == group
        median = np.median(there) if len(there) else 0.0
        away = np.abs(there - median)
        spread = 1.4826 * np.median(away) if len(there) else 0.0
        if spread == 0:  # more than half of the class has the same isolation
            spread = away.mean() if away.any() else 1.0
        scores[rows] = (isolation[rows] - median) / spread
    return scores
