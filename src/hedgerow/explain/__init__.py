"""Explanations and importances of features.

=============================  =========================================================================================
`describe`                     summary of the data, trees, uncertainty and features of a model
`explain`                      explanations of single predictions, with counterfactuals
`shap_values`                  Shapley values
`oob_permutation_importance`   loss of trees on their out-of-bag rows when a feature is permuted
`permutation_importance`       loss of the forest on any rows, as scikit-learn measures it
`drop_column_importance`       fall of the out-of-bag score of a forest grown without the feature
`debiased_importance`          decrease of impurity on out-of-bag rows, zero for an uninformative feature
`first_use_depth`              depth of the first split on a feature
`split_counts`                 numbers of splits on a feature, anywhere and at the root
`correlated_groups`            groups of features to permute together
`importance_test`              p-values of importances, from forests grown under the null hypothesis
`correct_pvalues`              correction of p-values for their number
=============================  =========================================================================================

The parts of an explanation have a module each: `sources` (of uncertainty), `remedies` (confirmed cases, caution,
measurement), `change` (counterfactuals, searched among leaf bounding boxes), `cases` (nearest training
rows, leaf rules), `shap`. All start from a `question`. `classification`, `regression` and `survival` join them;
`explanation`, `words`, `text` and `html` present the result. `presenters` contains the parts that depend on the
prediction type.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from hedgerow.explain.cases import Label
from hedgerow.explain.explanation import ExplainRequest, Explanation
from hedgerow.explain.importance import (
    Importance,
    PermutationImportance,
    SplitCounts,
    correlated_groups,
    debiased_importance,
    drop_column_importance,
    first_use_depth,
    oob_permutation_importance,
    permutation_importance,
    split_counts,
)
from hedgerow.explain.presenters import explainer_of
from hedgerow.explain.pvalues import ImportanceTest, correct_pvalues, importance_test
from hedgerow.explain.regression import RegressionExplanation
from hedgerow.explain.shap import ShapValues, shap_values
from hedgerow.explain.summary import Summary, describe
from hedgerow.explain.survival import SurvivalExplanation
from hedgerow.table.frames import index_names

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from sklearn.base import BaseEstimator

    from hedgerow.table.schema import TableLike


__all__ = [
    "Explanation",
    "Importance",
    "ImportanceTest",
    "PermutationImportance",
    "RegressionExplanation",
    "ShapValues",
    "SplitCounts",
    "Summary",
    "SurvivalExplanation",
    "correct_pvalues",
    "correlated_groups",
    "debiased_importance",
    "describe",
    "drop_column_importance",
    "explain",
    "first_use_depth",
    "importance_test",
    "oob_permutation_importance",
    "permutation_importance",
    "shap_values",
    "split_counts",
]


# ---- Explanations of single predictions ------------------------------------------------------------------------------


_Explained = TypeVar("_Explained", Explanation, RegressionExplanation, SurvivalExplanation)


def explain(
    forest: BaseEstimator,
    X: TableLike,
    *,
    train: TableLike | None = None,
    y_train: ArrayLike | None = None,
    cases: int = 5,
    shap: bool | None = None,
    immutable: Iterable[int | str] | None = None,
    increasing: Iterable[int | str] = (),
    decreasing: Iterable[int | str] = (),
    wanted: Label | None = None,
    time_limit: float | None = None,
    coverage: float | None = None,
    time: float | None = None,
) -> list[Explanation] | list[RegressionExplanation] | list[SurvivalExplanation]:
    """Explain the prediction for each sample, and what would decide the undecided ones.

    Parameters
    ----------
    forest : fitted classifier, regressor or survival model of hedgerow
        The explanations use its rule, caution and decision.
    X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
        Samples. The index of a pandas frame names them.
    train : {array-like, sparse matrix, data frame} of shape (n_train, n_features), default=None
        Training rows, for the nearest cases. None uses the rows that a bootstrapped forest keeps after `fit`; a loaded
        forest has none, and its explanations have no cases.
    y_train : array-like of shape (n_train,), default=None
        Labels of `train`; for a survival model times and events, as in its `fit`.
    cases : int, default=5
        Number of nearest training rows to show.
    shap : bool, default=None
        Whether to compute feature contributions, which visits every node of the forest. None computes them if the
        forest has at most a million nodes: for all samples if there are at most a hundred, and otherwise for undecided
        samples only.
    immutable, increasing, decreasing : iterables of int or str
        Features, by number or name, that counterfactuals must not change, may only increase, or may only decrease. For
        `immutable`, None (the default) means the ``immutable_features`` of the forest.
    wanted : class, default=None
        Target class of counterfactuals; None means the class of the cheapest one.
    time_limit : float, default=None
        Seconds to search for the counterfactual of each undecided sample; 0 means no search. None means one second
        for up to ten samples, and no search for more.
    coverage : float, default=None
        Target coverage of the intervals of a regressor; None means 0.9. Regressors also support `train`, `y_train`,
        `cases` and `shap`; the other arguments apply to classifiers.
    time : float, default=None
        For survival models: the time of the survival probability to explain; None means the middle of
        ``event_times_``. Survival models also support `train`, `y_train`, `cases` and `shap`.

    Returns
    -------
    list of Explanation
        One per sample; for a regressor, a list of `hedgerow.explain.RegressionExplanation`, for a survival model of
        `hedgerow.explain.SurvivalExplanation`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hedgerow import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(50, caution=2.0, random_state=0).fit(X, y)
    >>> why = explain(forest, [[6.0, 3.0, 5.1, 1.6]])[0]
    >>> why.set
    [1, 2]
    >>> [each.cause for each in why.uncertainty]
    ['overlap', 'few', 'disagree', 'missing', 'out_of_range']
    """
    request = ExplainRequest(
        train, y_train, cases, shap, immutable, increasing, decreasing, wanted, time_limit, coverage, time
    )  # fmt: skip
    return _named(explainer_of(forest).explain(forest, X, request), X)


def _named(found: list[_Explained], X: TableLike) -> list[_Explained]:
    """Set the names of explanations to the index of the table."""
    names = index_names(X)
    return found if names is None else [replace(each, name=name) for each, name in zip(found, names, strict=True)]
