"""Classifiers: public class names -> presets of one implementation.

A class declares the parameters that it takes in addition to those of all trees, with their defaults. The table in
`hedgerow.fit.parameters` says which values they may have and what they mean.
"""

from __future__ import annotations

from typing import Any

from hedgerow.belief.calibrate import Calibration
from hedgerow.estimators.classifier import TreesClassifier
from hedgerow.estimators.members import each_member, how_many, member_at, members, samples_of, template_of
from hedgerow.estimators.one_tree import OneTree
from hedgerow.estimators.trees import or_not_there
from hedgerow.fit.fields import estimator, parameter
from hedgerow.forest.walk import Tree


@estimator
class DecisionTreeClassifier(OneTree, TreesClassifier):
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

    rule: Any = "average"
    caution: Any = 1.0
    decision: Any = "auto"
    criterion: Any = "gini"
    splitter: str = "best"
    min_weight_fraction_leaf: float = 0.0
    max_features: Any = None
    constant_features: str = "skip"
    feature_weights: Any = None
    min_impurity_decrease: float = 0.0
    unseen: str = "shares"
    class_weight: Any = None
    immutable_features: Any = None
    monotonic_cst: Any = None
    label_rounds: int = 5
    ccp_alpha: float = 0.0

    __one_tree__ = True
    __keeps_rows__ = False

    @property
    def tree_(self) -> Tree:
        """The tree, as an object to read and walk through."""
        return self.trees_[0]


@estimator
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

    splitter: str = "random"
    max_features: Any = "sqrt"


@estimator
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

    n_estimators: Any = parameter(default=100, kw_only=False)
    rule: Any = "average"
    caution: Any = 1.0
    decision: Any = "auto"
    calibration: str | None = "oob"
    criterion: Any = "gini"
    min_weight_fraction_leaf: float = 0.0
    max_features: Any = "sqrt"
    constant_features: str = "skip"
    feature_weights: Any = None
    min_impurity_decrease: float = 0.0
    bootstrap: bool | str = True
    max_samples: Any = None
    oob_score: Any = False
    novelty: float | None = None
    unseen: str = "shares"
    class_weight: Any = None
    immutable_features: Any = None
    monotonic_cst: Any = None
    label_rounds: int = 5
    leaf_counts: str = "all"
    ccp_alpha: float = 0.0
    warm_start: bool = False
    n_jobs: int | None = None
    verbose: int = 0

    __single__ = DecisionTreeClassifier
    __len__, __getitem__, __iter__ = how_many, member_at, each_member
    estimator, estimators_, estimators_samples_ = property(template_of), property(members), property(samples_of)

    @property
    def calibration_(self) -> Calibration:
        """The map of probabilities under the current rule. If none was learned, its ``why`` gives the reason."""
        with or_not_there():
            return self.__answers__().calibration


@estimator
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

    splitter: str = parameter(default="random", init=False)
    bootstrap: bool | str = False

    __single__ = ExtraTreeClassifier


@estimator
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

    n_estimators: Any = parameter(default=100, kw_only=False)
    rule: Any = "average"
    caution: Any = 1.0
    decision: Any = "auto"
    min_weight_fraction_leaf: float = 0.0
    splitter: str = parameter(default="random_decision", init=False)
    max_leaf_nodes: int | None = parameter(default=None, init=False)
    unseen: str = "shares"
    class_weight: Any = None
    immutable_features: Any = None
    label_rounds: int = 5
    warm_start: bool = False
    n_jobs: int | None = None
    verbose: int = 0

    __single__ = DecisionTreeClassifier
    __len__, __getitem__, __iter__ = how_many, member_at, each_member
    estimator, estimators_, estimators_samples_ = property(template_of), property(members), property(samples_of)
