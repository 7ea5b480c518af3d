"""Unsupervised: a table without labels -> trees all the same, and what their leaves say about it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from hedgerow.estimators.opinions import Bagged
from hedgerow.estimators.trees import MAX_ROWS, Growing, TreesEstimator, schema_attributes
from hedgerow.fit.parameters import (
    DESCRIPTIONS,
    NUMBER_CRITERIA,
    check_switches,
    documented,
    resolve_settings,
    thread_count,
)
from hedgerow.forest.density import forest_log_density, leaf_log_density
from hedgerow.forest.forest import Forest
from hedgerow.forest.grow import GrowSettings
from hedgerow.forest.moments import Moments
from hedgerow.forest.walk import Tree
from hedgerow.table import Table, check_table, read_training_table
from hedgerow.table.bins import Bins, Codes, encode, find_bins
from hedgerow.target.base import Labels, Numbers
from hedgerow.target.numbers import numbers_on_grid

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class _Training:
    """A training table on its way through `fit`."""

    table: Table
    labels: Labels | Numbers  # what takes the place of labels
    settings: GrowSettings
    bag: object = None


class _UnlabelledTrees(TransformerMixin, TreesEstimator):  # type: ignore[misc]
    """What trees without labels share: they turn rows into leaves."""

    sparse_output: Any

    def transform(self, X: Any) -> sparse.csr_array | Floats:
        """The leaf reached in each tree, as sparse features.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        leaves : sparse array of shape (n_samples, n_leaves), or ndarray where ``sparse_output=False``
            1 for the leaf reached in each tree, so rows sum to the number of trees.
        """
        if not isinstance(self.sparse_output, bool | np.bool_):
            raise ValueError(f"sparse_output must be True or False, got {self.sparse_output!r}")
        leaves = self.embed(X)
        return leaves if self.sparse_output else np.asarray(leaves.toarray())

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the leaves, ``<class>_<tree>_<leaf>``.

        Parameters
        ----------
        input_features : ignored
            For scikit-learn.

        Returns
        -------
        names : ndarray of str of shape (n_leaves,)
        """
        check_is_fitted(self)
        name, starts = type(self).__name__.lower(), self.forest_.leaf_start
        trees = enumerate(np.diff(starts).tolist())
        return np.array([f"{name}_{tree}_{leaf}" for tree, n in trees for leaf in range(n)], dtype=object)

    # ---- behind the scenes ----------------------------------------------------------------

    def _read(self, X: Any) -> Table:
        check_switches(self)
        for name, word in (("n_estimators", "auto"), ("max_features", "oob")):
            if isinstance(value := getattr(self, name, None), str) and value == word:
                raise ValueError(f"{name} must be given where no labels decide, got {word!r}; pass a number")
        table = read_training_table(X, categorical_features=self.categorical_features)
        if table.n_rows >= MAX_ROWS:
            raise ValueError(f"X must have fewer than 2**31 rows, got {table.n_rows}; train on a sample of them")
        return table

    def _prune(self, forest: Forest, bins: Bins, training: Any) -> Forest:
        return forest

    def _fitted_attributes(self, training: _Training, bins: Bins, forest: Forest) -> dict[str, Any]:
        """Everything that makes an estimator a fitted one."""
        schema = training.table.schema
        return {
            "forest_": forest,
            "_bins": bins,
            "_schema": schema,
            "_seed": training.settings.seed,
            "_bag": training.bag,
        } | schema_attributes(schema)

    categorical_features: Any


@documented(
    n_estimators="int, default=100\n    Number of trees.",
    max_depth="int or None, default=5\n    Longest path from the root, so a tree has at most 2**max_depth leaves.",
)
class RandomTreesEmbedding(_UnlabelledTrees):
    """Totally random trees: rows -> the leaves they fall into, as sparse features; and how densely rows lie there.

    Every split takes a random feature and a random threshold between the values in its node. Nothing is predicted.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    n_features_in_ : int
        How many features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, when the training table had any.
    trees_ : list of Tree
        The trees, to look at and to walk.
    forest_ : Forest
        The arrays behind them.

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

    _splitter = "random"
    _criteria = NUMBER_CRITERIA
    criterion = "squared_error"
    max_features = 1
    _of_one_fit = ("_ranges", "_densities")

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        max_depth: int | None = 5,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        max_leaf_nodes: int | None = None,
        categorical_features: Any = "from_dtype",
        sparse_output: bool = True,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.max_leaf_nodes = max_leaf_nodes
        self.categorical_features = categorical_features
        self.sparse_output = sparse_output
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Numbers, booleans, categories or text; NaN, None and null are missing, infinities are values.
        y : ignored
            For scikit-learn.

        Returns
        -------
        self
        """
        table, n_threads = self._read(X), thread_count(self.n_jobs)
        settings = resolve_settings(self, table.n_rows, table.n_features, table.schema.names, 1)
        settings = replace(settings, leaf_counts="inbag")
        noise = np.random.default_rng(settings.seed).random(table.n_rows)  # no two alike: only limits end a branch
        training = _Training(table, numbers_on_grid(noise, None), settings, (None, table.n_rows, 0.0, "all"))
        bins = find_bins(table, n_threads=n_threads)
        codes = encode(table, bins, n_threads=n_threads)
        forest = self._grow(X, None, training, bins, codes, None, n_threads, Growing())
        self._remember(training, bins, forest, {"_ranges": _ranges(table)})
        return self

    def score_samples(self, X: Any) -> Floats:
        """Logarithm of the density of the training rows: the mean over trees of rows per volume of the leaf reached.

        The box of a leaf ends where the training rows end; outside the range of a feature the density is zero. It
        integrates to one over the features that vary.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Finite numbers; a density over categories or gaps is not defined.

        Returns
        -------
        log_density : ndarray of shape (n_samples,)

        Examples
        --------
        >>> import numpy as np
        >>> from hedgerow import RandomTreesEmbedding
        >>> X = np.random.default_rng(0).normal(size=(2000, 1))
        >>> trees = RandomTreesEmbedding(200, max_depth=8, random_state=0).fit(X)
        >>> np.exp(trees.score_samples([[0.0], [1.0], [9.0]])).round(1)  # of a normal distribution 0.40, 0.24 and 0.00
        array([0.4, 0.2, 0. ])
        """
        codes = self._codes(X)
        ranges = self._ranges
        if any(self._schema.nominal) or not np.isfinite(ranges).all():
            raise ValueError(
                "a density must be asked of trees grown on finite numbers, got categories, gaps or infinities in the"
                " training table; fit on numeric columns without them"
            )
        if not hasattr(self, "_densities"):
            self._densities = np.concatenate([leaf_log_density(tree, ranges) for tree in self.trees_])
        found = forest_log_density(self.forest_, self._densities, codes, self._reading_threads(codes.shape[1]))
        found[_outside(self, X, ranges)] = -np.inf
        return found

    def _tree(self, number: int) -> Tree:
        return Tree(self.forest_, number, self._bins, self._schema, np.array(["rows"]))

    def _grow_and_prune(self, training: Any, bins: Bins, codes: Codes, n_threads: int, **which: Any) -> Forest:
        """Without the moments of the noise."""
        forest = super()._grow_and_prune(training, bins, codes, n_threads, **which)
        assert isinstance(forest.evidence, Moments)
        return replace(forest, evidence=forest.evidence.as_counts())

    _ranges: Floats
    _densities: Floats


@documented(
    n_estimators="int, default=100\n    Number of trees.",
    max_features=DESCRIPTIONS["max_features"].replace(', "oob"', "").replace("or None", 'or None, default="sqrt"', 1),
)
class UnsupervisedForest(_UnlabelledTrees):
    """A random forest that learns to tell the rows from rows in which nothing goes together.

    The second class is the table with every column permuted by itself: its features have the same distributions, and
    nothing to do with each other. What the trees learn is how features hang together; rows that share leaves are alike
    in that. `proximity`, `nearest_rows`, `hedgerow.structure` and out-of-bag importances know only the rows that are
    real.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    n_features_in_, feature_names_in_, trees_, forest_
        As in `RandomTreesEmbedding`; leaves count permuted rows, then real ones.

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
    >>> bool((cluster_rows(forest, 2)[:50] == 0).all())  # the first fifty are a kind of their own
    True
    """

    _of_one_fit = ("_bagged",)
    _not_pickled = ("_bagged",)
    bootstrap = True

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        max_features: Any = "sqrt",
        max_leaf_nodes: int | None = None,
        categorical_features: Any = "from_dtype",
        sparse_output: bool = True,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.categorical_features = categorical_features
        self.sparse_output = sparse_output
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> Self:
        """Permute the columns and grow trees that tell the two tables apart.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Numbers, booleans, categories or text; NaN, None and null are missing, infinities are values.
        y : ignored
            For scikit-learn.

        Returns
        -------
        self
        """
        table, n_threads = self._read(X), thread_count(self.n_jobs)
        settings = resolve_settings(self, 2 * table.n_rows, table.n_features, table.schema.names, 2)
        bins = find_bins(table, n_threads=n_threads)
        real = encode(table, bins, n_threads=n_threads)
        codes = np.concatenate([real, _permuted(real, settings.seed)], axis=1)
        labels = np.repeat(np.array([1, 0], dtype=np.uint16), table.n_rows)
        bag = (None, len(labels), settings.bag_mean, settings.leaf_counts)
        training = _Training(table, Labels(labels, None, 1.0, 2), settings, bag)
        forest = self._grow(X, None, training, bins, codes, None, n_threads, Growing())
        bagged = Bagged(codes, labels, settings.seed, settings.bag_mean, counted=True)
        self._remember(training, bins, forest, {"_bagged": bagged})
        return self

    def score_samples(self, X: Any) -> Floats:
        """How real rows look: the mean share of real rows in the leaves reached.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        share : ndarray of shape (n_samples,)
            Above 1/2 where features go together as in the training rows, below where they do not. Of training rows it
            is too high, since the trees have seen them.
        """
        codes = self._codes(X)
        return self.forest_.probability(codes, self._reading_threads(codes.shape[1]))[:, 1]

    def _tree(self, number: int) -> Tree:
        return Tree(self.forest_, number, self._bins, self._schema, np.array(["permuted", "real"]))

    def _training_codes(self) -> Codes:
        """(p, n) of the real rows, which come first and so have the bags of a table without the others."""
        both = super()._training_codes()
        return np.ascontiguousarray(both[:, : both.shape[1] // 2])


def _ranges(table: Table) -> Floats:
    """-> (p, 2): least and greatest value of each feature, NaN where there are gaps; of a nominal one NaN."""
    parts = []
    for first, columns in table.column_blocks():
        nominal = table.schema.nominal[first : first + len(columns)]
        parts += [
            (np.nan, np.nan) if is_nominal else (column.min(), column.max())
            for column, is_nominal in zip(columns, nominal, strict=True)
        ]
    return np.array(parts, dtype=np.float64)


def _outside(estimator: RandomTreesEmbedding, X: Any, ranges: Floats) -> NDArray[np.bool_]:
    """Samples -> (n,) whether some value is missing or outside the range of the training rows."""
    table = check_table(estimator, X, estimator._schema)
    outside = np.zeros(table.n_rows, dtype=bool)
    for first, columns in table.column_blocks():
        for (low, high), column in zip(ranges[first:], columns, strict=False):
            outside |= ~((low <= column) & (column <= high))
    return outside


def _permuted(codes: Codes, seed: int) -> Codes:
    """(p, n) -> each feature in an order of its own."""
    rng = np.random.default_rng(seed)
    return np.stack([column[rng.permutation(len(column))] for column in codes])
