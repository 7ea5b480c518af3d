"""Mixed forests: three kinds of trees in one forest."""

from __future__ import annotations

from sklearn.utils.validation import check_is_fitted

from hedgerow.criteria import Criterion
from hedgerow.decisions import Decision
from hedgerow.estimators.classifiers import RandomForestClassifier
from hedgerow.estimators.regressors import RandomForestRegressor
from hedgerow.estimators.trees import as_attribute_error
from hedgerow.inference.predictor import predictor_of
from hedgerow.params.resolve import warn_of_friedman
from hedgerow.params.table import (
    CategoricalFeatures,
    ClassWeight,
    FeatureWeights,
    ImmutableFeatures,
    MaxFeatures,
    MonotonicCst,
    OobScore,
    RandomState,
    with_parameters_described,
)
from hedgerow.rules import Rule
from hedgerow.tasks.regression.stack import Stack


@with_parameters_described
class MixedForestClassifier(RandomForestClassifier):
    """A forest of three kinds of trees, the most accurate forest of this library.

    The trees take turns: best splits of `max_features` features, as in `RandomForestClassifier`; random thresholds of
    all features, as in extremely randomised trees; and random thresholds of `max_features` features. All kinds have
    bootstrap samples. Out-of-bag rows teach how much to trust each kind, at its leaves and at their smallest ancestors
    with at least 5 and 20 rows: the calibrator pools nine probabilities.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    classes_, n_classes_, n_features_in_, feature_names_in_, trees_, forest_, feature_importances_
        As in `RandomForestClassifier`.
    calibration_ : Calibration
        The calibrator; ``calibration_.weights`` has a weight for each of ``calibration_.views``, kind after kind.

    See Also
    --------
    RandomForestClassifier : The same with best splits only; fits in less time.

    Notes
    -----
    Errors of trees that choose thresholds differently are less correlated, so their mean is better than that of as
    many trees of one kind. Larger nodes are better on noisy tables. Weights need the rule "average", certain labels and
    at most 100 classes; otherwise the mean of all trees is calibrated. A prediction reads about 30 bytes per leaf more
    than other forests.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hedgerow import MixedForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = MixedForestClassifier(random_state=0).fit(X, y)
    >>> forest.predict_set(X[[0, 70]])
    array([[ True, False, False],
           [False,  True,  True]])
    """

    splitter = "mixed"

    def __init__(
        self,
        n_estimators: int | str = 300,
        *,
        rule: str | Rule = "average",
        caution: float | str = 1.0,
        decision: str | Decision = "auto",
        calibration: str | None = "oob",
        criterion: str | Criterion = "gini",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: MaxFeatures = "sqrt",
        constant_features: str = "skip",
        feature_weights: FeatureWeights = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        min_gain: float = 0.0,
        bootstrap: bool | str = True,
        max_samples: int | float | None = None,
        oob_score: OobScore = False,
        novelty: float | None = None,
        unseen: str = "shares",
        class_weight: ClassWeight = None,
        monotonic_cst: MonotonicCst = None,
        categorical_features: CategoricalFeatures = "from_dtype",
        immutable_features: ImmutableFeatures = None,
        max_bins: int | str | None = "auto",
        label_rounds: int = 5,
        leaf_counts: str = "all",
        ccp_alpha: float = 0.0,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.rule = rule
        self.caution = caution
        self.decision = decision
        self.calibration = calibration
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
        self.novelty = novelty
        self.unseen = unseen
        self.class_weight = class_weight
        self.monotonic_cst = monotonic_cst
        self.categorical_features = categorical_features
        self.immutable_features = immutable_features
        self.max_bins = max_bins
        self.label_rounds = label_rounds
        self.leaf_counts = leaf_counts
        self.ccp_alpha = ccp_alpha
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose


@with_parameters_described
class MixedForestRegressor(RandomForestRegressor):
    """A forest of three kinds of regression trees, the most accurate regressor of this library.

    The trees take turns: best splits of `max_features` features, random thresholds of all features, and random
    thresholds of `max_features` features. All kinds have bootstrap samples. Out-of-bag rows teach how much to trust
    each kind: the forest predicts a weighted sum of their means, with weights that are not negative.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    n_features_in_, feature_names_in_, trees_, forest_, criterion_, feature_importances_
        As in `RandomForestRegressor`; the trees of `trees_` count alike.
    stack_ : Stack
        The weight of each kind, or the reason why kinds count alike (``stack_.why``).

    See Also
    --------
    RandomForestRegressor : The same with best splits only; fits in less time.

    Notes
    -----
    Weights need at least 20 out-of-bag rows and a criterion whose leaves predict means: not "absolute_error" or
    "poisson". Predictions, bounds, intervals, distributions, `predict_variance`, SHAP values, exports and model files
    follow the weights, and predictions may lie slightly outside the range of the training targets. Quantiles and
    distributions of the leaves, `predict_belief`, `predict_uncertainty` and `oob_trace_` take all trees alike, and
    merged forests have no weights. "jackknife+" intervals of a weighted forest cover approximately only.

    Examples
    --------
    >>> import numpy as np
    >>> from hedgerow import MixedForestRegressor
    >>> X = np.random.default_rng(0).uniform(-3, 3, (500, 2))
    >>> forest = MixedForestRegressor(random_state=0).fit(X, X[:, 0] ** 2)
    >>> forest.predict([[2.0, 0.0]]).round(1)
    array([4.])
    """

    splitter = "mixed"

    @property
    def stack_(self) -> Stack:
        """Weights of the kinds of trees, fitted on out-of-bag rows."""
        check_is_fitted(self)
        with as_attribute_error():
            stack: Stack = predictor_of(self).stack
        return stack

    def __init__(
        self,
        n_estimators: int | str = 300,
        *,
        caution: float = 1.0,
        criterion: str = "squared_error",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: MaxFeatures = 0.5,
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
