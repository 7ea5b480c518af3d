"""Regressors: the names users know -> presets of one implementation."""

from __future__ import annotations

from typing import Any

from hedgerow.estimators.regression import TreesRegressor
from hedgerow.fit.parameters import DESCRIPTIONS, documented
from hedgerow.forest.walk import NumberTree

_OF_NUMBERS = {
    "criterion": (
        '{"squared_error", "absolute_error", "poisson"}, default="squared_error"\n    What a split should reduce: the'
        " squared error, the absolute error (leaves then predict medians; log n times slower), or the Poisson deviance"
        " of targets >= 0."
    ),
    "caution": (
        "float, default=1.0\n    How many unseen rows each leaf keeps in reserve for `predict_bounds`. Can be changed"
        " on a fitted forest."
    ),
    "monotonic_cst": (
        "array-like of int of shape (n_features,), dict or None, default=None\n    1 where the prediction may only rise"
        " with a feature, -1 where it may only fall, 0 elsewhere; a dict maps feature names to these."
    ),
    "oob_score": (
        "bool or callable, default=False\n    Whether to judge the forest on the rows its trees have not seen: by R²,"
        " or ``metric(y, prediction)``."
    ),
    "max_features": DESCRIPTIONS["max_features"].replace("or None", "or None, default=1.0", 1),
}


@documented(
    **_OF_NUMBERS | {"max_features": DESCRIPTIONS["max_features"].replace("or None", "or None, default=None", 1)}
)
class DecisionTreeRegressor(TreesRegressor):
    """A regression tree whose leaves keep their moments.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    n_features_in_ : int
        How many features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, when the training table had any.
    tree_ : NumberTree
        The tree, to look at and to walk.
    forest_ : Forest
        The arrays behind it.
    criterion_ : str
        The criterion the trees were grown by, whatever the parameter says by now.
    feature_importances_ : ndarray of shape (n_features,)
        Share of the decrease in squared error.

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
    >>> tree.predict_bounds([[0.0]])  # were there one more row, the lowest or the highest of all
    array([[1.4, 2.8]])
    """

    _one_tree = True

    def __init__(
        self,
        *,
        caution: Any = 1.0,
        criterion: str = "squared_error",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        monotonic_cst: Any = None,
        categorical_features: Any = "from_dtype",
        leaf_rows: bool = False,
        ccp_alpha: float = 0.0,
        random_state: Any = None,
    ) -> None:
        self.caution = caution
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.monotonic_cst = monotonic_cst
        self.categorical_features = categorical_features
        self.leaf_rows = leaf_rows
        self.ccp_alpha = ccp_alpha
        self.random_state = random_state

    @property
    def tree_(self) -> NumberTree:
        """The tree, to look at and to walk."""
        return self._checked_tree(0)

    def get_depth(self) -> int:
        """Longest path from the root to a leaf."""
        return self.tree_.depth

    def get_n_leaves(self) -> int:
        """Number of leaves."""
        return self.tree_.n_leaves


@documented(**_OF_NUMBERS)
class RandomForestRegressor(TreesRegressor):
    """A random forest whose leaves keep their moments.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    n_features_in_ : int
        How many features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, when the training table had any.
    trees_ : list of NumberTree
        The trees, to look at and to walk.
    forest_ : Forest
        The arrays behind them.
    criterion_ : str
        The criterion the trees were grown by, whatever the parameter says by now.
    feature_importances_ : ndarray of shape (n_features,)
        Share of the decrease in squared error.
    oob_score_, oob_prediction_ : float, ndarray of shape (n_samples,)
        How the forest does on rows its trees have not seen, with ``oob_score=True``; NaN where all have.
    oob_trace_ : ndarray of shape (n_trees,)
        Out-of-bag error after each tree.
    max_features_, max_features_errors_ : int, dict
        What was chosen with ``max_features="oob"``, and the out-of-bag errors of all numbers tried.

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
    >>> forest.predict_interval([[2.0]], coverage=0.9).round(1)  # four, give or take 1.64
    array([[2.2, 5.5]])
    >>> forest.predict_quantiles([[2.0]], [0.25, 0.5, 0.75]).round(1)
    array([[3.3, 3.9, 4.4]])
    """

    def __init__(
        self,
        n_estimators: Any = 100,
        *,
        caution: Any = 1.0,
        criterion: str = "squared_error",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = 1.0,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = True,
        max_samples: Any = None,
        oob_score: Any = False,
        monotonic_cst: Any = None,
        categorical_features: Any = "from_dtype",
        leaf_rows: bool = False,
        ccp_alpha: float = 0.0,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.caution = caution
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.oob_score = oob_score
        self.monotonic_cst = monotonic_cst
        self.categorical_features = categorical_features
        self.leaf_rows = leaf_rows
        self.ccp_alpha = ccp_alpha
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose


@documented(
    **_OF_NUMBERS
    | {"bootstrap": "bool, default=False\n    Whether each tree sees a bootstrap sample or, as in the paper, all rows."}
)
class ExtraTreesRegressor(RandomForestRegressor):
    """Extremely randomised trees: at each split one random threshold per feature, and the best of those.

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

    _splitter = "random"

    def __init__(
        self,
        n_estimators: Any = 100,
        *,
        caution: Any = 1.0,
        criterion: str = "squared_error",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = 1.0,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = False,
        max_samples: Any = None,
        oob_score: Any = False,
        monotonic_cst: Any = None,
        categorical_features: Any = "from_dtype",
        leaf_rows: bool = False,
        ccp_alpha: float = 0.0,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            n_estimators,
            caution=caution,
            criterion=criterion,
            max_depth=max_depth,
            min_samples_split=min_samples_split,
            min_samples_leaf=min_samples_leaf,
            min_weight_fraction_leaf=min_weight_fraction_leaf,
            max_features=max_features,
            max_leaf_nodes=max_leaf_nodes,
            min_impurity_decrease=min_impurity_decrease,
            bootstrap=bootstrap,
            max_samples=max_samples,
            oob_score=oob_score,
            monotonic_cst=monotonic_cst,
            categorical_features=categorical_features,
            leaf_rows=leaf_rows,
            ccp_alpha=ccp_alpha,
            warm_start=warm_start,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
