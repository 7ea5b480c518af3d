"""Public classifiers: presets of one implementation.

`_parameters` has the rows of `hedgerow.params.table` that say which values a parameter may have and what it means.
"""

from __future__ import annotations

from typing import Any

from hedgerow.belief.calibrate import Calibration
from hedgerow.estimators.classifier import TreesClassifier
from hedgerow.estimators.members import each_member, how_many, member_at, members, samples_of, template_of
from hedgerow.estimators.one_tree import SingleTreeMixin
from hedgerow.estimators.trees import or_not_there
from hedgerow.forest.walk import Tree
from hedgerow.params.table import rows_of, with_parameters_described


@with_parameters_described
class DecisionTreeClassifier(SingleTreeMixin, TreesClassifier):
    """A classification tree whose leaves keep their class counts.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    n_classes_, n_features_in_ : int
        Number of classes and of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if the training table had names.
    tree_ : Tree
        The tree, as an object to read and walk through.
    forest_ : Forest
        The arrays of the tree.
    feature_importances_ : ndarray of shape (n_features,)
        Share of the decrease in impurity.

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
        rule: Any = "average",
        caution: Any = 1.0,
        decision: Any = "auto",
        criterion: Any = "gini",
        splitter: str = "best",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = None,
        constant_features: str = "skip",
        feature_weights: Any = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        unseen: str = "shares",
        class_weight: Any = None,
        monotonic_cst: Any = None,
        categorical_features: Any = "from_dtype",
        immutable_features: Any = None,
        max_bins: int | str | None = "auto",
        label_rounds: int = 5,
        ccp_alpha: float = 0.0,
        random_state: Any = None,
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
        """The tree, as an object to read and walk through."""
        return self.trees_[0]


@with_parameters_described
class ExtraTreeClassifier(DecisionTreeClassifier):
    """An extremely randomised tree: each split is the best of one random threshold for each feature.

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
        rule: Any = "average",
        caution: Any = 1.0,
        decision: Any = "auto",
        criterion: Any = "gini",
        splitter: str = "random",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = "sqrt",
        constant_features: str = "skip",
        feature_weights: Any = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        unseen: str = "shares",
        class_weight: Any = None,
        monotonic_cst: Any = None,
        categorical_features: Any = "from_dtype",
        immutable_features: Any = None,
        max_bins: int | str | None = "auto",
        label_rounds: int = 5,
        ccp_alpha: float = 0.0,
        random_state: Any = None,
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
    """A random forest whose leaves keep their class counts.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    n_classes_, n_features_in_ : int
        Number of classes and of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if the training table had names.
    trees_ : list of Tree
        The trees, as objects to read and walk through.
    estimators_ : list of DecisionTreeClassifier
        The trees, as fitted estimators that share the arrays of the forest; also by ``forest[i]`` and iteration.
    estimators_samples_ : list of ndarray
        The rows in the bag of each tree, as long as the forest has its training rows.
    forest_ : Forest
        The arrays of the trees.
    feature_importances_ : ndarray of shape (n_features,)
        Share of the decrease in impurity.
    oob_score_, oob_decision_function_ : float, ndarray of shape (n_samples, n_classes)
        Accuracy and probabilities on out-of-bag rows, with ``oob_score=True``.
    oob_errors_ : BootstrapErrors
        Out-of-bag, resubstitution, .632 and .632+ errors, before any map of probabilities.
    oob_trace_ : ndarray of shape (n_trees,)
        Out-of-bag error after each tree, before any map of probabilities.
    calibration_ : Calibration
        The map of probabilities that ``calibration="oob"`` has learned, or the reason why it has learned none.
    max_features_, max_features_errors_ : int, dict
        The number of features chosen with ``max_features="oob"``, and the out-of-bag errors of all numbers tried.
    label_shares_ : ndarray of shape (n_samples, n_classes)
        With uncertain labels, the expected shares of the classes of the training rows whose weight is above zero.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hedgerow import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(random_state=0).fit(X, y)
    >>> forest.predict(X[[0, 70, 100]])
    array([0, 2, 2])
    >>> forest.predict_set(X[[0, 70, 100]])  # the second could also be of class 1
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
        n_estimators: Any = 100,
        *,
        rule: Any = "average",
        caution: Any = 1.0,
        decision: Any = "auto",
        calibration: str | None = "oob",
        criterion: Any = "gini",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = "sqrt",
        constant_features: str = "skip",
        feature_weights: Any = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool | str = True,
        max_samples: Any = None,
        oob_score: Any = False,
        novelty: float | None = None,
        unseen: str = "shares",
        class_weight: Any = None,
        monotonic_cst: Any = None,
        categorical_features: Any = "from_dtype",
        immutable_features: Any = None,
        max_bins: int | str | None = "auto",
        label_rounds: int = 5,
        leaf_counts: str = "all",
        ccp_alpha: float = 0.0,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
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
        """The map of probabilities under the current rule. If none was learned, its ``why`` gives the reason."""
        with or_not_there():
            return self._predictor().calibration


@with_parameters_described
class ExtraTreesClassifier(RandomForestClassifier):
    """Extremely randomised trees: each split is the best of one random threshold for each feature.

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
        n_estimators: Any = 100,
        *,
        rule: Any = "average",
        caution: Any = 1.0,
        decision: Any = "auto",
        calibration: str | None = "oob",
        criterion: Any = "gini",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = "sqrt",
        constant_features: str = "skip",
        feature_weights: Any = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool | str = False,
        max_samples: Any = None,
        oob_score: Any = False,
        novelty: float | None = None,
        unseen: str = "shares",
        class_weight: Any = None,
        monotonic_cst: Any = None,
        categorical_features: Any = "from_dtype",
        immutable_features: Any = None,
        max_bins: int | str | None = "auto",
        label_rounds: int = 5,
        leaf_counts: str = "all",
        ccp_alpha: float = 0.0,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
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
    """Random trees that are grown without the labels; only their leaves count classes.

    A numeric split takes the value of a random row as threshold, with < or ≤ at random (in columns with more distinct
    values than half the bins, see `max_bins`, it lies midway to the next value); a nominal split has a child for each
    category. A split that would leave a side with too few rows is dropped. A child without rows has the counts of its
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
        n_estimators: Any = 100,
        *,
        rule: Any = "average",
        caution: Any = 1.0,
        decision: Any = "auto",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        unseen: str = "shares",
        class_weight: Any = None,
        categorical_features: Any = "from_dtype",
        immutable_features: Any = None,
        max_bins: int | str | None = "auto",
        label_rounds: int = 5,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
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
