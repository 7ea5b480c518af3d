"""Regressors: public class names -> presets of one implementation.

A class declares the parameters that it takes in addition to those of all trees, with their defaults. The table in
`hedgerow.fit.parameters` says which values they may have and what they mean.
"""

from __future__ import annotations

from typing import Any

from hedgerow.estimators.members import each_member, how_many, member_at, members, samples_of, template_of
from hedgerow.estimators.one_tree import OneTree
from hedgerow.estimators.regressor import TreesRegressor
from hedgerow.fit.fields import estimator, parameter
from hedgerow.fit.other_parameters import NUMBER_CRITERION, NUMBER_SCORE, NUMBER_SIGNS, PLAIN_CAUTION
from hedgerow.forest.walk import NumberTree


@estimator
class DecisionTreeRegressor(OneTree, TreesRegressor):
    """A regression tree whose leaves keep their moments.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if the training table had names.
    tree_ : NumberTree
        The tree, as an object to read and walk through.
    forest_ : Forest
        The arrays of the tree.
    criterion_ : str
        The criterion with which the trees were grown, even if the parameter has been changed since.
    feature_importances_ : ndarray of shape (n_features,)
        Share of the decrease in the error that the criterion measures.

    Examples
    --------
    >>> import numpy as np
    >>> from hedgerow import DecisionTreeRegressor
    >>> X = np.arange(8.0)[:, None]
    >>> y = np.array([1, 2, 1, 2, 7, 8, 7, 8])
    >>> tree = DecisionTreeRegressor(max_depth=1).fit(X, y)
    >>> print(tree.tree_.to_text())
    |--- x[0] <= 3.50
    |   |--- 1.50 ± 0.50 (4 rows)
    |--- x[0] > 3.50 or missing
    |   |--- 7.50 ± 0.50 (4 rows)
    >>> tree.predict_bounds([[0.0]])  # if the leaf had one more row, with the smallest or the largest target
    array([[1.4, 2.8]])
    """

    caution: Any = parameter(default=1.0, like=PLAIN_CAUTION)
    criterion: str = parameter(default="squared_error", like=NUMBER_CRITERION)
    splitter: str = "best"
    min_weight_fraction_leaf: float = 0.0
    max_features: Any = None
    constant_features: str = "skip"
    feature_weights: Any = None
    min_impurity_decrease: float = 0.0
    unseen: str = "shares"
    monotonic_cst: Any = parameter(default=None, like=NUMBER_SIGNS)
    leaf_rows: bool = False
    ccp_alpha: float = 0.0

    __one_tree__ = True

    @property
    def tree_(self) -> NumberTree:
        """The tree, as an object to read and walk through."""
        return self.trees_[0]  # type: ignore[return-value]


@estimator
class ExtraTreeRegressor(DecisionTreeRegressor):
    """An extremely randomised tree: each split is the best of one random threshold for each feature.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    n_features_in_, feature_names_in_, tree_, forest_, feature_importances_
        As in `DecisionTreeRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> from hedgerow import ExtraTreeRegressor
    >>> X = np.arange(8.0)[:, None]
    >>> ExtraTreeRegressor(random_state=0).fit(X, X[:, 0] ** 2).predict([[2.0]])
    array([4.])
    """

    splitter: str = "random"
    max_features: Any = 1.0


@estimator
class RandomForestRegressor(TreesRegressor):
    """A random forest whose leaves keep their moments.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if the training table had names.
    trees_ : list of NumberTree
        The trees, as objects to read and walk through.
    estimators_ : list of DecisionTreeRegressor
        The trees, as fitted estimators that share the arrays of the forest; also by ``forest[i]`` and iteration.
    estimators_samples_ : list of ndarray
        The rows in the bag of each tree, as long as the forest has its training rows.
    forest_ : Forest
        The arrays of the trees.
    criterion_ : str
        The criterion with which the trees were grown, even if the parameter has been changed since.
    feature_importances_ : ndarray of shape (n_features,)
        Share of the decrease in squared error.
    oob_score_, oob_prediction_ : float, ndarray of shape (n_samples,)
        R² and predictions on out-of-bag rows, with ``oob_score=True``; NaN for a row that is in every bag.
    oob_trace_ : ndarray of shape (n_trees,)
        Out-of-bag error after each tree.
    max_features_, max_features_errors_ : int, dict
        The number of features chosen with ``max_features="oob"``, and the out-of-bag errors of all numbers tried.

    Examples
    --------
    >>> import numpy as np
    >>> from hedgerow import RandomForestRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, (500, 1))
    >>> y = X[:, 0] ** 2 + rng.normal(size=500)
    >>> forest = RandomForestRegressor(min_samples_leaf=5, random_state=0).fit(X, y)
    >>> forest.predict([[2.0]]).round(1)
    array([3.8])
    >>> forest.predict_interval([[2.0]], coverage=0.9).round(1)  # the truth is 4 ± 1.64
    array([[2.1, 5.6]])
    >>> forest.predict_quantiles([[2.0]], [0.25, 0.5, 0.75]).round(1)
    array([[3.3, 3.9, 4.4]])
    """

    n_estimators: Any = parameter(default=100, kw_only=False)
    caution: Any = parameter(default=1.0, like=PLAIN_CAUTION)
    criterion: str = parameter(default="squared_error", like=NUMBER_CRITERION)
    min_weight_fraction_leaf: float = 0.0
    max_features: Any = 1.0
    constant_features: str = "skip"
    feature_weights: Any = None
    min_impurity_decrease: float = 0.0
    bootstrap: bool | str = True
    max_samples: Any = None
    oob_score: Any = parameter(default=False, like=NUMBER_SCORE)
    unseen: str = "shares"
    monotonic_cst: Any = parameter(default=None, like=NUMBER_SIGNS)
    leaf_rows: bool = False
    ccp_alpha: float = 0.0
    warm_start: bool = False
    n_jobs: int | None = None
    verbose: int = 0

    __single__ = DecisionTreeRegressor
    __len__, __getitem__, __iter__ = how_many, member_at, each_member
    estimator, estimators_, estimators_samples_ = property(template_of), property(members), property(samples_of)


@estimator
class ExtraTreesRegressor(RandomForestRegressor):
    """Extremely randomised trees: each split is the best of one random threshold for each feature.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    n_features_in_, feature_names_in_, trees_, forest_, criterion_, feature_importances_
        As in `RandomForestRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> from hedgerow import ExtraTreesRegressor
    >>> X = np.random.default_rng(0).uniform(-3, 3, (500, 2))
    >>> ExtraTreesRegressor(random_state=0).fit(X, X[:, 0] ** 2).predict([[2.0, 0.0]]).round(1)
    array([4.])
    """

    splitter: str = parameter(default="random", init=False)
    bootstrap: bool | str = False

    __single__ = ExtraTreeRegressor
