"""Unsupervised trees and forests."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import TransformerMixin

from hedgerow.estimators.trees import BaseTrees, SingleTreeMixin, each_member, how_many, member_at, members
from hedgerow.fit.groups import GroupsLike
from hedgerow.forest.walk import Tree
from hedgerow.inference.fitted import publish
from hedgerow.params.checks import check_on_fitted
from hedgerow.params.table import (
    PARAMETERS,
    CategoricalFeatures,
    MaxFeatures,
    RandomState,
    rows_of,
    with_parameters_described,
)
from hedgerow.table import Table
from hedgerow.table.schema import TableLike, TargetLike
from hedgerow.tasks.unsupervised import RandomEmbedding, RealOrPermuted, forest_log_density, leaf_log_density

Floats = NDArray[np.float64]

_N_ESTIMATORS = replace(PARAMETERS["n_estimators"], kind="int", about="Number of trees.")
_EMBEDDING = {
    "n_estimators": _N_ESTIMATORS,
    "max_depth": replace(
        PARAMETERS["max_depth"],
        about="Length of the longest path from the root; a tree has at most 2**max_depth leaves.",
    ),
    "warm_start": replace(PARAMETERS["warm_start"], needs_rows=lambda value: False),
}
_UNSUPERVISED = {
    "n_estimators": _N_ESTIMATORS,
    "max_features": replace(
        PARAMETERS["max_features"],
        kind='{"sqrt", "log2"}, int, float or None',
        about="Number of features to try per split, among those that vary in the node. None means all; a float is a"
        " share.",
    ),
}


class _UnlabelledTrees(TransformerMixin, BaseTrees):
    """Base class for unsupervised trees, which transform rows to leaves."""

    def transform(self, X: TableLike) -> sparse.csr_array | Floats:
        """Transform samples to sparse features, one per leaf.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        leaves : sparse array of shape (n_samples, n_leaves), or ndarray if ``sparse_output=False``
            1 for the leaf reached in each tree, so each row sums to the number of trees.
        """
        check_on_fitted(self)
        leaves = self.embed(X)
        return leaves if self.sparse_output else np.asarray(leaves.toarray())

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.generic]:
        """Return the names of the leaves, ``<class>_<tree>_<leaf>``.

        Parameters
        ----------
        input_features : ignored
            Only for compatibility with scikit-learn.

        Returns
        -------
        names : ndarray of str of shape (n_leaves,)
        """
        name, starts = type(self).__name__.lower(), self.forest_.leaf_start
        trees = enumerate(np.diff(starts).tolist())
        return np.array([f"{name}_{tree}_{leaf}" for tree, n in trees for leaf in range(n)], dtype=object)


@with_parameters_described
class RandomTreesEmbedding(_UnlabelledTrees):
    """Totally random trees as sparse features, and as a density estimate.

    Every split takes a random feature and a random threshold between the values in its node.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if the training table has column names.
    trees_ : list of Tree
        The trees as objects to inspect and traverse.
    estimators_ : list of estimators
        The trees as embeddings of a single tree; also by ``trees[i]`` and iteration.
    forest_ : Forest
        The arrays of the trees.

    References
    ----------
    P. Geurts, D. Ernst, L. Wehenkel: Extremely randomized trees. Machine Learning 63, 2006.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hedgerow import RandomTreesEmbedding
    >>> X, _ = load_iris(return_X_y=True)
    >>> trees = RandomTreesEmbedding(10, max_depth=3, random_state=0)
    >>> leaves = trees.fit_transform(X)
    >>> leaves.shape[1] <= 10 * 2**3, int(leaves.sum(axis=1).max())
    (True, 10)
    """

    _parameters = rows_of(
        "n_estimators",
        "max_depth",
        "min_samples_split",
        "min_samples_leaf",
        "min_weight_fraction_leaf",
        "max_leaf_nodes",
        "categorical_features",
        "max_bins",
        "sparse_output",
        "warm_start",
        "n_jobs",
        "random_state",
        "verbose",
        variants=_EMBEDDING,
    )

    criterion = "squared_error"
    splitter = "random"
    max_features = 1
    _keeps_training_rows = False
    _task = RandomEmbedding()
    __len__, __getitem__, __iter__ = how_many, member_at, each_member
    estimators_ = property(members)

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        max_depth: int | None = 5,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_leaf_nodes: int | None = None,
        categorical_features: CategoricalFeatures = "from_dtype",
        max_bins: int | str | None = "auto",
        sparse_output: bool = True,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_leaf_nodes = max_leaf_nodes
        self.categorical_features = categorical_features
        self.max_bins = max_bins
        self.sparse_output = sparse_output
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: TableLike, y: TargetLike | None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            The training table: numbers, booleans, categories or text. NaN, None and null are missing values; infinities
            are not.
        y : ignored
            Only for compatibility with scikit-learn.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, used by ``min_weight_fraction_leaf``. Rows of weight zero are left out.

        Returns
        -------
        self
        """
        return publish(self, self._task.fit(self, X, sample_weight))

    def score_samples(self, X: TableLike) -> Floats:
        """Estimate the log-density of the training rows at each sample.

        The density is the mean over trees of the share of rows in the leaf reached, divided by the volume of its box.
        Boxes end at the range of the training rows; outside it, the density is zero. It integrates to one over the
        features that vary.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples of finite numbers.

        Returns
        -------
        log_density : ndarray of shape (n_samples,)
            Minus infinity outside the training range.

        Raises
        ------
        ValueError
            If the training table has categories, missing values or infinities.

        Examples
        --------
        >>> import numpy as np
        >>> from hedgerow import RandomTreesEmbedding
        >>> X = np.random.default_rng(0).normal(size=(2000, 1))
        >>> trees = RandomTreesEmbedding(200, max_depth=8, random_state=0).fit(X)
        >>> np.exp(trees.score_samples([[0.0], [1.0], [9.0]])).round(1)  # the truth is 0.40, 0.24, 0.00
        array([0.4, 0.2, 0. ])
        """
        predictor = self._predictor()
        fitted, batch = predictor.fitted, predictor.read(X)
        ranges: Floats = fitted.info.ranges
        if any(fitted.schema.nominal) or not np.isfinite(ranges).all():
            raise ValueError(
                "score_samples does not support categories, missing values or infinities in the training table. Fit on"
                " numeric columns without them."
            )

        def make() -> Floats:
            return np.concatenate([leaf_log_density(tree, ranges) for tree in fitted.trees()])

        densities = fitted.learned.get("densities", None, make)
        found = forest_log_density(predictor.forest, densities, batch.codes, batch.n_threads)
        assert batch.table is not None
        found[_is_out_of_range(batch.table, ranges)] = -np.inf
        return found


@with_parameters_described
class OneRandomTree(SingleTreeMixin, RandomTreesEmbedding):
    """A single tree of a `RandomTreesEmbedding`.

    Parameters
    ----------
    {parameters}
    """

    _parameters = rows_of(
        "max_depth",
        "min_samples_split",
        "min_samples_leaf",
        "min_weight_fraction_leaf",
        "max_leaf_nodes",
        "categorical_features",
        "max_bins",
        "sparse_output",
        "warm_start",
        "n_jobs",
        "random_state",
        "verbose",
        variants=_EMBEDDING,
    )

    n_estimators = 1
    _single_tree = True

    def __init__(
        self,
        *,
        max_depth: int | None = 5,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_leaf_nodes: int | None = None,
        categorical_features: CategoricalFeatures = "from_dtype",
        max_bins: int | str | None = "auto",
        sparse_output: bool = True,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_leaf_nodes = max_leaf_nodes
        self.categorical_features = categorical_features
        self.max_bins = max_bins
        self.sparse_output = sparse_output
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @property
    def tree_(self) -> Tree:
        """The tree as an object to inspect and traverse."""
        return self.trees_[0]


RandomTreesEmbedding._tree_class = OneRandomTree


@with_parameters_described
class UnsupervisedForest(_UnlabelledTrees):
    """A random forest that separates rows from rows with permuted columns.

    The second class is the same table with each column permuted independently, so its features have the same
    distributions but are independent. The trees learn the dependence between features, and rows that share leaves are
    similar in this respect. `proximity`, `nearest_rows`, `hedgerow.structure` and out-of-bag importances use only the
    real rows.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    n_features_in_, feature_names_in_, trees_, forest_
        As in `RandomTreesEmbedding`; leaves count permuted rows and real rows.

    References
    ----------
    T. Shi, S. Horvath: Unsupervised learning with random forest predictors. Journal of Computational and Graphical
    Statistics 15, 2006.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hedgerow import UnsupervisedForest
    >>> from hedgerow.structure import cluster_rows
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = UnsupervisedForest(random_state=0).fit(X)
    >>> bool((cluster_rows(forest, 2)[:50] == 0).all())  # the first fifty rows are one class
    True
    """

    _parameters = rows_of(
        "n_estimators",
        "max_depth",
        "min_samples_split",
        "min_samples_leaf",
        "max_features",
        "max_leaf_nodes",
        "categorical_features",
        "max_bins",
        "sparse_output",
        "n_jobs",
        "random_state",
        "verbose",
        variants=_UNSUPERVISED,
    )

    bootstrap = True
    _task = RealOrPermuted()

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        max_features: MaxFeatures = "sqrt",
        max_leaf_nodes: int | None = None,
        categorical_features: CategoricalFeatures = "from_dtype",
        max_bins: int | str | None = "auto",
        sparse_output: bool = True,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.categorical_features = categorical_features
        self.max_bins = max_bins
        self.sparse_output = sparse_output
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: TableLike, y: TargetLike | None = None, *, groups: GroupsLike = None) -> Self:
        """Grow trees that separate the table from its permuted copy.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            The training table: numbers, booleans, categories or text. NaN, None and null are missing values; infinities
            are not.
        y : ignored
            Only for compatibility with scikit-learn.
        groups : array-like of shape (n_samples,) or str, default=None
            Groups of rows that belong together: their labels, or the name of a column of X, which is then not a
            feature. A bootstrap sample contains all rows of a group or none, so that ``proximity(oob=True)`` leaves
            whole groups out. Permuted rows belong to no group.

        Returns
        -------
        self
        """
        return publish(self, self._task.fit(self, X, groups))

    def score_samples(self, X: TableLike) -> Floats:
        """Return the mean share of real rows in the leaves reached.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        share : ndarray of shape (n_samples,)
            Above 1/2 if features depend on each other as in the training rows. Scores of training rows are
            optimistic.
        """
        predictor = self._predictor()
        codes = predictor.read(X).codes
        share: Floats = predictor.forest.probability(codes, predictor.threads(codes.shape[1]))[:, 1]
        return share


def _is_out_of_range(table: Table, ranges: Floats) -> NDArray[np.bool_]:
    """Return which samples have values missing or outside the training range."""
    outside = np.zeros(table.n_rows, dtype=bool)
    for first, columns in table.column_blocks():
        for (low, high), column in zip(ranges[first:], columns, strict=False):
            outside |= ~((low <= column) & (column <= high))
    return outside
