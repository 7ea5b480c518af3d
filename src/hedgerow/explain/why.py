"""Explanations of single predictions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from hedgerow.explain.explanation import Explanation
from hedgerow.explain.presenters.registry import explaining_presenter
from hedgerow.explain.regression import RegressionExplanation
from hedgerow.explain.request import ExplainRequest
from hedgerow.table.output import index_names


def explain(
    forest: Any,
    X: Any,
    *,
    train: Any = None,
    y_train: Any = None,
    cases: int = 5,
    shap: bool | None = None,
    immutable: Iterable[int | str] | None = None,
    increasing: Iterable[int | str] = (),
    decreasing: Iterable[int | str] = (),
    wanted: Any = None,
    time_limit: float | None = None,
    coverage: float | None = None,
) -> list[Explanation] | list[RegressionExplanation]:
    """Why a forest gives its answer for each sample, and what would settle the undecided ones.

    Parameters
    ----------
    forest : fitted classifier or regressor of hedgerow
        Its rule, caution and decision are used.
    X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
        Samples. The index of a pandas frame names them.
    train : {array-like, sparse matrix, data frame} of shape (n_train, n_features), default=None
        The training rows, from which the nearest cases are taken. None uses those that a bootstrapped forest has kept
        since its fit; a loaded forest has none, and its explanations then have no cases.
    y_train : array-like of shape (n_train,), default=None
        Their labels.
    cases : int, default=5
        How many nearest training rows to show.
    shap : bool, default=None
        Whether to compute what each feature adds, for which every node of the forest is visited. None does so if the
        forest has at most a million nodes: for all samples if there are at most a hundred, and otherwise only where
        several classes remain.
    immutable, increasing, decreasing : iterables of int or str
        Features, by number or name, that the smallest change must not change, may only raise, or may only lower. None
        for `immutable`, the default, means the ``immutable_features`` of the forest.
    wanted : class, default=None
        The class that should remain after the smallest change; None takes the cheapest.
    time_limit : float, default=None
        Seconds to search for the smallest change of each undecided sample; 0 means no search. None means one second
        for up to ten samples, and no search for more.
    coverage : float, default=None
        Of a regressor: the share of targets that intervals should hold; None means .9. A regressor takes `train`,
        `y_train`, `cases` and `shap` besides; the other arguments are about classes.

    Returns
    -------
    list of Explanation
        One for each sample; of a regressor, a list of `hedgerow.explain.RegressionExplanation`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hedgerow import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(50, caution=2.0, random_state=0).fit(X, y)
    >>> why = explain(forest, [[6.0, 3.0, 5.1, 1.6]])[0]
    >>> why.set
    [1, 2]
    >>> [each.cause for each in why.doubt]
    ['overlap', 'few', 'disagree', 'missing', 'outside']
    """
    request = ExplainRequest(
        train, y_train, cases, shap, immutable, increasing, decreasing, wanted, time_limit, coverage
    )  # fmt: skip
    return _named(explaining_presenter(forest, "explain").explain(forest, X, request), X)


def _named(found: list[Any], X: Any) -> list[Any]:
    """Name the explanations by the index of the table."""
    names = index_names(X)
    return found if names is None else [replace(each, name=name) for each, name in zip(found, names, strict=True)]
