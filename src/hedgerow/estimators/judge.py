"""Judge: a fitted model, samples and what is true of them -> a tally, which adds up over the parts of a table."""

from __future__ import annotations

from typing import Any

from hedgerow.estimators.regression import TreesRegressor
from hedgerow.metrics import NumberTally, SetTally, tally_numbers, tally_sets

#: What intervals promise unless told otherwise.
COVERAGE = 0.9


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
    if not isinstance(model, TreesRegressor):
        if coverage is not None:
            raise ValueError(f"coverage must be None for a classifier, which has no intervals, got {coverage!r}")
        labels, sets = model.predict(X, return_set=True)
        return tally_sets(y, labels, sets, classes=model.classes_)
    if not model._has_residuals() and coverage is None:
        return tally_numbers(y, model.predict(X))
    return tally_numbers(y, model.predict(X), model.predict_interval(X, COVERAGE if coverage is None else coverage))
