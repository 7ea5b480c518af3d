"""Public regressors: presets of one implementation.

`_parameters` lists the rows of `hedgerow.params.table` with the constraints and descriptions of the parameters.
"""

from __future__ import annotations

from hedgerow.criteria import Criterion
from hedgerow.estimators.regressor import TreesRegressor
from hedgerow.estimators.trees import (
    SingleTreeMixin,
    each_member,
    how_many,
    member_at,
    members,
    samples_of,
    template_of,
)
from hedgerow.forest.walk import RegressionTree
from hedgerow.params.resolve import warn_of_friedman
from hedgerow.params.table import (
    REGRESSION,
    CategoricalFeatures,
    FeatureWeights,
    MaxFeatures,
    MonotonicCst,
    OobScore,
    RandomState,
    rows_of,
    with_parameters_described,
)


@with_parameters_described
class DecisionTreeRegressor(SingleTreeMixin, TreesRegressor):
    """A regression tree whose leaves keep count, mean and variance.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if the training table has column names.
    tree_ : RegressionTree
        The tree as an object to inspect and traverse.
    forest_ : Forest
        The arrays of the tree.
    criterion_ : str or Criterion
        Split criterion of the fit, with its choices, even if the parameter has changed since.
    feature_importances_ : ndarray of shape (n_features,)
        Mean decrease in the error of the criterion, normalised.

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

    _parameters = rows_of(
        "caution",
        "criterion",
        "splitter",
        "max_depth",
        "min_samples_split",
        "min_samples_leaf",
        "min_weight_fraction_leaf",
        "max_features",
        "constant_features",
        "feature_weights",
        "max_leaf_nodes",
        "min_impurity_decrease",
        "min_gain",
        "unseen",
        "monotonic_cst",
        "categorical_features",
        "max_bins",
        "leaf_rows",
        "ccp_alpha",
        "random_state",
        variants=REGRESSION,
    )

    _single_tree = True

    def __init__(
        self,
        *,
        caution: float = 1.0,
        criterion: str | Criterion = "squared_error",
        splitter: str = "best",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: MaxFeatures = None,
        constant_features: str = "skip",
        feature_weights: FeatureWeights = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        min_gain: float = 0.0,
        unseen: str = "shares",
        monotonic_cst: MonotonicCst = None,
        categorical_features: CategoricalFeatures = "from_dtype",
        max_bins: int | str | None = "auto",
        leaf_rows: bool = False,
        ccp_alpha: float = 0.0,
        random_state: RandomState = None,
    ) -> None:
        warn_of_friedman(criterion)
        self.caution = caution
        self.criterion = criterion
        self.splitter = splitter
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.constant_features = constant_features
        self.feature_weights = feature_weights
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.min_gain = min_gain
        self.unseen = unseen
        self.monotonic_cst = monotonic_cst
        self.categorical_features = categorical_features
        self.max_bins = max_bins
        self.leaf_rows = leaf_rows
        self.ccp_alpha = ccp_alpha
        self.random_state = random_state

    @property
    def tree_(self) -> RegressionTree:
        """The tree as an object to inspect and traverse."""
        return self.trees_[0]  # type: ignore[return-value]


@with_parameters_described
class ExtraTreeRegressor(DecisionTreeRegressor):
    """An extremely randomised tree.

    Each split is the best of one random threshold per feature.

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

    def __init__(
        self,
        *,
        caution: float = 1.0,
        criterion: str | Criterion = "squared_error",
        splitter: str = "random",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: MaxFeatures = 1.0,
        constant_features: str = "skip",
        feature_weights: FeatureWeights = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        min_gain: float = 0.0,
        unseen: str = "shares",
        monotonic_cst: MonotonicCst = None,
        categorical_features: CategoricalFeatures = "from_dtype",
        max_bins: int | str | None = "auto",
        leaf_rows: bool = False,
        ccp_alpha: float = 0.0,
        random_state: RandomState = None,
    ) -> None:
        warn_of_friedman(criterion)
        self.caution = caution
        self.criterion = criterion
        self.splitter = splitter
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.constant_features = constant_features
        self.feature_weights = feature_weights
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.min_gain = min_gain
        self.unseen = unseen
        self.monotonic_cst = monotonic_cst
        self.categorical_features = categorical_features
        self.max_bins = max_bins
        self.leaf_rows = leaf_rows
        self.ccp_alpha = ccp_alpha
        self.random_state = random_state


@with_parameters_described
class RandomForestRegressor(TreesRegressor):
    """A random forest regressor whose leaves keep count, mean and variance.

    Prediction intervals are calibrated on out-of-bag rows.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if the training table has column names.
    trees_ : list of RegressionTree
        The trees as objects to inspect and traverse.
    estimators_ : list of DecisionTreeRegressor
        The trees as fitted estimators that share the arrays of the forest; also by ``forest[i]`` and iteration.
    estimators_samples_ : list of ndarray
        Row numbers of the bootstrap sample of each tree, if the forest has kept its training rows.
    forest_ : Forest
        The arrays of the trees.
    criterion_ : str or Criterion
        Split criterion of the fit, with the parameters that it has chosen, even if the parameter has changed since.
    feature_importances_ : ndarray of shape (n_features,)
        Mean decrease in the error of the criterion, normalised.
    oob_score_, oob_prediction_ : float, ndarray of shape (n_samples,)
        R² and predictions on out-of-bag rows, with ``oob_score=True``; NaN for a row in every bootstrap sample.
    oob_trace_ : ndarray of shape (n_trees,)
        Out-of-bag error after each tree.
    max_features_, max_features_errors_ : int, dict
        Number of features chosen with ``max_features="oob"``, and the out-of-bag error of each number tried.

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

    _parameters = rows_of(
        "n_estimators",
        "caution",
        "criterion",
        "max_depth",
        "min_samples_split",
        "min_samples_leaf",
        "min_weight_fraction_leaf",
        "max_features",
        "constant_features",
        "feature_weights",
        "max_leaf_nodes",
        "min_impurity_decrease",
        "min_gain",
        "bootstrap",
        "max_samples",
        "oob_score",
        "unseen",
        "monotonic_cst",
        "categorical_features",
        "max_bins",
        "leaf_rows",
        "ccp_alpha",
        "warm_start",
        "n_jobs",
        "random_state",
        "verbose",
        variants=REGRESSION,
    )

    _tree_class = DecisionTreeRegressor
    __len__, __getitem__, __iter__ = how_many, member_at, each_member
    estimator, estimators_, estimators_samples_ = property(template_of), property(members), property(samples_of)

    def __init__(
        self,
        n_estimators: int | str = 100,
        *,
        caution: float = 1.0,
        criterion: str | Criterion = "squared_error",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: MaxFeatures = 1.0,
        constant_features: str = "skip",
        feature_weights: FeatureWeights = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        min_gain: float = 0.0,
        bootstrap: bool | str = True,
        max_samples: int | float | None = None,
        oob_score: OobScore = False,
        unseen: str = "shares",
        monotonic_cst: MonotonicCst = None,
        categorical_features: CategoricalFeatures = "from_dtype",
        max_bins: int | str | None = "auto",
        leaf_rows: bool = False,
        ccp_alpha: float = 0.0,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        warn_of_friedman(criterion)
        self.n_estimators = n_estimators
        self.caution = caution
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.constant_features = constant_features
        self.feature_weights = feature_weights
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.min_gain = min_gain
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.oob_score = oob_score
        self.unseen = unseen
        self.monotonic_cst = monotonic_cst
        self.categorical_features = categorical_features
        self.max_bins = max_bins
        self.leaf_rows = leaf_rows
        self.ccp_alpha = ccp_alpha
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose


@with_parameters_described
class ExtraTreesRegressor(RandomForestRegressor):
    """A forest of extremely randomised trees.

    Each split is the best of one random threshold per feature. By default, trees are grown on all rows
    (``bootstrap=False``).

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

    splitter = "random"
    _tree_class = ExtraTreeRegressor

    def __init__(
        self,
        n_estimators: int | str = 100,
        *,
        caution: float = 1.0,
        criterion: str | Criterion = "squared_error",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: MaxFeatures = 1.0,
        constant_features: str = "skip",
        feature_weights: FeatureWeights = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        min_gain: float = 0.0,
        bootstrap: bool | str = False,
        max_samples: int | float | None = None,
        oob_score: OobScore = False,
        unseen: str = "shares",
        monotonic_cst: MonotonicCst = None,
        categorical_features: CategoricalFeatures = "from_dtype",
        max_bins: int | str | None = "auto",
        leaf_rows: bool = False,
        ccp_alpha: float = 0.0,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        warn_of_friedman(criterion)
        self.n_estimators = n_estimators
        self.caution = caution
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.constant_features = constant_features
        self.feature_weights = feature_weights
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.min_gain = min_gain
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.oob_score = oob_score
        self.unseen = unseen
        self.monotonic_cst = monotonic_cst
        self.categorical_features = categorical_features
        self.max_bins = max_bins
        self.leaf_rows = leaf_rows
        self.ccp_alpha = ccp_alpha
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
