"""Tally: a fitted model, samples and their true targets -> a tally; tallies of the parts of a table can be added."""

from __future__ import annotations

from typing import Any

from hedgerow.judge.answer import predictor_of
from hedgerow.metrics import RegressionTally, SetTally


def judge(model: Any, X: Any, y: Any, *, coverage: float | None = None) -> SetTally | RegressionTally:
    """Compare the answers of a model about samples with the truth.

    Parameters
    ----------
    model : fitted classifier or regressor
        Classifiers are judged by labels and sets; regressors by predictions and, if bags leave rows out, by intervals.
    X, y : array-like of shape (n_samples, n_features) and (n_samples,)
        Samples, at least one, and their classes or numbers.
    coverage : float or None, default=None
        The promised coverage of the intervals of a regressor; None means 0.9.

    Returns
    -------
    SetTally or RegressionTally
    """
    return predictor_of(model).tally(X, y, coverage)  # type: ignore[no-any-return]
