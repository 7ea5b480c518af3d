"""Public classifiers: presets of one implementation.

`_parameters` lists the rows of `hedgerow.params.table` with the constraints and descriptions of the parameters.
"""

from __future__ import annotations

from hedgerow.belief.calibrate import Calibration
from hedgerow.criteria import Criterion
from hedgerow.decisions import Decision
from hedgerow.estimators.classifier import TreesClassifier
from hedgerow.estimators.trees import (
    SingleTreeMixin,
    as_attribute_error,
    each_member,
    how_many,
    member_at,
    members,
    samples_of,
    template_of,
)
from hedgerow.forest.walk import Tree
from hedgerow.params.table import (
    CategoricalFeatures,
    ClassWeight,
    FeatureWeights,
    ImmutableFeatures,
    MaxFeatures,
    MonotonicCst,
    OobScore,
    RandomState,
    rows_of,
    with_parameters_described,
)
from hedgerow.rules import Rule


@with_parameters_described
class DecisionTreeClassifier(SingleTreeMixin, TreesClassifier):
    """A classification tree whose leaves keep class counts.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels, in the order of result columns.
    n_classes_, n_features_in_ : int
        Number of classes and of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if the training table has column names.
    tree_ : Tree
        The tree as an object to inspect and traverse.
    forest_ : Forest
        The arrays of the tree.
    feature_importances_ : ndarray of shape (n_features,)
        Mean decrease in impurity, normalised.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hedgerow import DecisionTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    >>> print(tree.tree_.to_text())
    |--- x[3] <= 0.80
    |   |--- 0: 50
    |--- x[3] > 0.80 or missing
    |   |--- x[3] <= 1.75 or missing
    |   |   |--- 1: 49, 2: 5
    |   |--- x[3] > 1.75
    |   |   |--- 1: 1, 2: 45
    """

    _parameters = rows_of(
        "rule",
        "caution",
        "decision",
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
        "class_weight",
        "monotonic_cst",
        "categorical_features",
        "immutable_features",
        "max_bins",
        "label_rounds",
        "ccp_alpha",
        "random_state",
    )

    _single_tree = True
    _keeps_training_rows = False

    def __init__(
        self,
        *,
        rule: str | Rule = "average",
        caution: float | str = 1.0,
        decision: str | Decision = "auto",
        criterion: str | Criterion = "gini",
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
        class_weight: ClassWeight = None,
        monotonic_cst: MonotonicCst = None,
        categorical_features: CategoricalFeatures = "from_dtype",
        immutable_features: ImmutableFeatures = None,
        max_bins: int | str | None = "auto",
        label_rounds: int = 5,
        ccp_alpha: float = 0.0,
        random_state: RandomState = None,
    ) -> None:
        self.rule = rule
        self.caution = caution
        self.decision = decision
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
        self.class_weight = class_weight
        self.monotonic_cst = monotonic_cst
        self.categorical_features = categorical_features
        self.immutable_features = immutable_features
        self.max_bins = max_bins
        self.label_rounds = label_rounds
        self.ccp_alpha = ccp_alpha
        self.random_state = random_state

    @property
    def tree_(self) -> Tree:
        """The tree as an object to inspect and traverse."""
        return self.trees_[0]


@with_parameters_described
class ExtraTreeClassifier(DecisionTreeClassifier):
    """An extremely randomised tree.

    Each split is the best of one random threshold per feature.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    classes_, n_classes_, n_features_in_, feature_names_in_, tree_, forest_, feature_importances_
        As in `DecisionTreeClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hedgerow import ExtraTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> ExtraTreeClassifier(random_state=0).fit(X, y).score(X, y)
    1.0
    """

    def __init__(
        self,
        *,
        rule: str | Rule = "average",
        caution: float | str = 1.0,
        decision: str | Decision = "auto",
        criterion: str | Criterion = "gini",
        splitter: str = "random",
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
        unseen: str = "shares",
        class_weight: ClassWeight = None,
        monotonic_cst: MonotonicCst = None,
        categorical_features: CategoricalFeatures = "from_dtype",
        immutable_features: ImmutableFeatures = None,
        max_bins: int | str | None = "auto",
        label_rounds: int = 5,
        ccp_alpha: float = 0.0,
        random_state: RandomState = None,
    ) -> None:
        self.rule = rule
        self.caution = caution
        self.decision = decision
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
        self.class_weight = class_weight
        self.monotonic_cst = monotonic_cst
        self.categorical_features = categorical_features
        self.immutable_features = immutable_features
        self.max_bins = max_bins
        self.label_rounds = label_rounds
        self.ccp_alpha = ccp_alpha
        self.random_state = random_state


@with_parameters_described
class RandomForestClassifier(TreesClassifier):
    """A random forest classifier whose leaves keep class counts.

    Probabilities are calibrated on out-of-bag rows by default. `rule`, `caution` and `decision` turn the leaf counts
    into lower and upper probabilities and prediction sets, and can be changed without refitting.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels, in the order of result columns.
    n_classes_, n_features_in_ : int
        Number of classes and of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if the training table has column names.
    trees_ : list of Tree
        The trees as objects to inspect and traverse.
    estimators_ : list of DecisionTreeClassifier
        The trees as fitted estimators that share the arrays of the forest; also by ``forest[i]`` and iteration.
    estimators_samples_ : list of ndarray
        Row numbers of the bootstrap sample of each tree, if the forest has kept its training rows.
    forest_ : Forest
        The arrays of the trees.
    feature_importances_ : ndarray of shape (n_features,)
        Mean decrease in impurity, normalised.
    oob_score_, oob_decision_function_ : float, ndarray of shape (n_samples, n_classes)
        Accuracy and probabilities on out-of-bag rows, with ``oob_score=True``.
    oob_errors_ : BootstrapErrors
        Out-of-bag, resubstitution, .632 and .632+ errors of uncalibrated predictions.
    oob_trace_ : ndarray of shape (n_trees,)
        Uncalibrated out-of-bag error after each tree.
    calibration_ : Calibration
        The calibrator fitted on out-of-bag rows, or the reason why there is none (``calibration_.why``).
    max_features_, max_features_errors_ : int, dict
        Number of features chosen with ``max_features="oob"``, and the out-of-bag error of each number tried.
    label_shares_ : ndarray of shape (n_samples, n_classes)
        Expected class shares of training rows with uncertain labels; rows of weight zero are left out.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hedgerow import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(random_state=0).fit(X, y)
    >>> forest.predict(X[[0, 70, 100]])
    array([0, 2, 2])
    >>> forest.predict_set(X[[0, 70, 100]])  # the second row is undecided
    array([[ True, False, False],
           [False,  True,  True],
           [False, False,  True]])
    """

    _parameters = rows_of(
        "n_estimators",
        "rule",
        "caution",
        "decision",
        "calibration",
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
        "novelty",
        "unseen",
        "class_weight",
        "monotonic_cst",
        "categorical_features",
        "immutable_features",
        "max_bins",
        "label_rounds",
        "leaf_counts",
        "ccp_alpha",
        "warm_start",
        "n_jobs",
        "random_state",
        "verbose",
    )

    _tree_class = DecisionTreeClassifier
    __len__, __getitem__, __iter__ = how_many, member_at, each_member
    estimator, estimators_, estimators_samples_ = property(template_of), property(members), property(samples_of)

    def __init__(
        self,
        n_estimators: int | str = 100,
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

    @property
    def calibration_(self) -> Calibration:
        """Calibrator under the current rule; if there is none, ``why`` is the reason."""
        with as_attribute_error():
            return self._predictor().calibration


@with_parameters_described
class ExtraTreesClassifier(RandomForestClassifier):
    """A forest of extremely randomised trees.

    Each split is the best of one random threshold per feature. By default, trees are grown on all rows
    (``bootstrap=False``).

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    classes_, n_classes_, n_features_in_, feature_names_in_, trees_, forest_, feature_importances_
        As in `RandomForestClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hedgerow import ExtraTreesClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> ExtraTreesClassifier(random_state=0).fit(X, y).score(X, y)
    1.0
    """

    splitter = "random"
    _tree_class = ExtraTreeClassifier

    def __init__(
        self,
        n_estimators: int | str = 100,
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
        bootstrap: bool | str = False,
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
class RandomDecisionTreesClassifier(TreesClassifier):
    """Random decision trees: splits ignore the labels, leaves count classes.

    A numeric split takes the value of a random row as threshold, with < or ≤ at random. In columns with more distinct
    values than half the bins (see `max_bins`), the threshold lies midway to the next value. A categorical split has one
    child per category. A split is dropped if a side would have too few rows. A child without rows has the counts of its
    siblings. There is no bootstrap: every tree counts every row.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    classes_, n_classes_, n_features_in_, feature_names_in_, trees_, forest_, feature_importances_
        As in `RandomForestClassifier`.

    References
    ----------
    W. Fan, H. Wang, P. S. Yu, S. Ma: Is random model better? On its accuracy and efficiency. ICDM 2003.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hedgerow import RandomDecisionTreesClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> RandomDecisionTreesClassifier(random_state=0).fit(X, y).score(X, y)
    1.0
    """

    _parameters = rows_of(
        "n_estimators",
        "rule",
        "caution",
        "decision",
        "max_depth",
        "min_samples_split",
        "min_samples_leaf",
        "min_weight_fraction_leaf",
        "unseen",
        "class_weight",
        "categorical_features",
        "immutable_features",
        "max_bins",
        "label_rounds",
        "warm_start",
        "n_jobs",
        "random_state",
        "verbose",
    )

    splitter = "random_decision"
    _tree_class = DecisionTreeClassifier
    __len__, __getitem__, __iter__ = how_many, member_at, each_member
    estimator, estimators_, estimators_samples_ = property(template_of), property(members), property(samples_of)

    def __init__(
        self,
        n_estimators: int | str = 100,
        *,
        rule: str | Rule = "average",
        caution: float | str = 1.0,
        decision: str | Decision = "auto",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        unseen: str = "shares",
        class_weight: ClassWeight = None,
        categorical_features: CategoricalFeatures = "from_dtype",
        immutable_features: ImmutableFeatures = None,
        max_bins: int | str | None = "auto",
        label_rounds: int = 5,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.rule = rule
        self.caution = caution
        self.decision = decision
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.unseen = unseen
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.immutable_features = immutable_features
        self.max_bins = max_bins
        self.label_rounds = label_rounds
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
