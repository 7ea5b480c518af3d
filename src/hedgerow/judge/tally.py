"""Tally: a fitted model, samples and what is true of them -> a tally, which adds up over the parts of a table."""

from __future__ import annotations

from typing import Any

from hedgerow.judge.answer import answers_of
from hedgerow.metrics import NumberTally, SetTally


def judge(model: Any, X: Any, y: Any, *, coverage: float | None = None) -> SetTally | NumberTally:
    """What a model says of samples, against what is true of them.

    Parameters
    ----------
    model : fitted classifier or regressor
        Classifiers are judged by labels and sets; regressors by predictions and, where trees have left rows out, by
        intervals.
    X, y : array-like of shape (n_samples, n_features) and (n_samples,)
        Samples, at least one, and their classes or numbers.
    coverage : float or None, default=None
        What a regressor's intervals promise, .9 unless told.

    Returns
    -------
    SetTally or NumberTally
    """
    return answers_of(model).tally(X, y, coverage)  # type: ignore[no-any-return]
