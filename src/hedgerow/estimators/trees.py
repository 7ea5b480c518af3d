"""Base class for all estimators: leaves, paths and proximities; single trees and members of forests."""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from copy import deepcopy
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import clone

from hedgerow.fit.task import Task
from hedgerow.forest.forest import Forest
from hedgerow.forest.proximity import (
    NearestRows,
    heaviest_rows,
    leaf_table,
    oob_proximity_table,
    proximity_table,
    weight_table,
)
from hedgerow.forest.prune import PruningPath, path_of
from hedgerow.forest.walk import Tree, decision_path
from hedgerow.inference.fitted import Fitted, fitted_of, publish
from hedgerow.inference.predictor import current_predictor
from hedgerow.params.checks import parameters_of
from hedgerow.params.table import TreeEstimator
from hedgerow.table.bins import Codes
from hedgerow.table.schema import TableLike, TargetLike
from hedgerow.util.compat import available_names, sklearn_callbacks

_Value = TypeVar("_Value")
_Array = NDArray[np.float64]


class BaseTrees(TreeEstimator, ABC):
    """Base class for classifiers, regressors and unsupervised trees.

    `fit` assigns one `Fitted` after everything else has succeeded. Each call reads it once, with the current parameters
    (`_predictor`). So an estimator can predict in one thread while it is refitted in another.
    """

    #: The prediction type.
    _task: ClassVar[Task]

    def apply(self, X: TableLike) -> NDArray[np.int32]:
        """Return the leaf that each sample reaches in each tree.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        leaves : ndarray of shape (n_samples, n_trees), or (n_samples,) for a single tree
            Node numbers within each tree.
        """
        predictor = self._predictor()
        codes = predictor.read(X).codes
        nodes: NDArray[np.int32] = predictor.forest.leaf_nodes(codes, predictor.threads(codes.shape[1]))
        return nodes[:, 0] if self._single_tree else nodes

    def decision_path(self, X: TableLike) -> Any:
        """Return the nodes that each sample passes in all trees.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        indicator : sparse array of shape (n_samples, n_nodes)
            1 if a sample passes a node; the columns are the nodes of one tree after the other.
        n_nodes_ptr : ndarray of shape (n_trees + 1,)
            First column of each tree. Not returned for a single tree.
        """
        predictor = self._predictor()
        codes = predictor.read(X).codes
        nodes = predictor.forest.leaf_nodes(codes, predictor.threads(codes.shape[1]))
        path: sparse.csr_array = decision_path(predictor.forest, predictor.fitted.trees(), nodes)
        return path if self._single_tree else (path, predictor.forest.node_start.copy())

    def proximity(
        self, X: TableLike | None = None, Y: Any = None, *, oob: bool = False, top: int | None = None
    ) -> sparse.csr_array:
        """Compute the share of trees in which two rows reach the same leaf.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features), default=None
            Samples. None means the training rows, which a model keeps if it was fitted in this process (a classifier
            only with ``bootstrap=True``).
        Y : {array-like, sparse matrix, data frame} of shape (m_samples, n_features), default=None
            Samples to compare with; None means X.
        oob : bool, default=False
            Whether to count only trees for which both rows are out-of-bag. X must be None or the training rows.
        top : int, default=None
            Keep only this many of the largest proximities of each sample; memory then grows with n_samples × top.

        Returns
        -------
        proximity : sparse array of shape (n_samples, m_samples)
            Pairs of proximity 0 are not stored. ``proximity.toarray()`` may be large.

        Raises
        ------
        ValueError
            If X is None and the model has not kept its training rows, or if `oob` is used with other rows.
        """
        predictor, most = self._predictor(), 0 if top is None else _count("top", top)
        if oob:
            if Y is not None:
                raise ValueError(
                    f"Y must be None with oob=True, got {type(Y).__name__}. Only training rows can be out-of-bag."
                )
            codes = predictor.training_codes()
            if X is not None and not _same_codes(predictor.forest, predictor.read(X).codes, codes):
                raise ValueError("oob=True requires the training rows as X. Pass X=None.")
            threads = predictor.many_threads(codes)
            return oob_proximity_table(predictor.forest, codes, predictor.bags(), most=most, n_threads=threads)
        codes = predictor.training_codes() if X is None else predictor.read(X).codes
        others = codes if Y is None else predictor.read(Y).codes
        return proximity_table(predictor.forest, codes, others, most=most, n_threads=predictor.many_threads(codes))

    def row_weights(self, X: TableLike, train: Any = None, *, top: int | None = None) -> sparse.csr_array:
        """Compute the weight of each training row in each prediction.

        For a classifier with unweighted rows, the rule "average" and ``calibration=None``,
        ``row_weights(X) @ (y[:, None] == forest.classes_)`` equals ``predict_proba(X)``. For a regressor whose leaves
        predict means, ``row_weights(X) @ y`` equals ``predict(X)``.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.
        train : {array-like, sparse matrix, data frame} of shape (n_train, n_features), default=None
            The training rows. None means those that the model has kept: a model keeps them if it was fitted in this
            process (a classifier only with ``bootstrap=True``), without rows of weight zero.
        top : int, default=None
            Keep only this many of the largest weights of each sample.

        Returns
        -------
        weights : sparse array of shape (n_samples, n_train)
            Each row sums to one unless `top` drops weights. ``sample_weight`` is not used.
        """
        predictor = self._predictor()
        training = predictor.training_codes() if train is None else predictor.read(train).codes
        codes, most = predictor.read(X).codes, 0 if top is None else _count("top", top)
        return weight_table(
            predictor.forest, codes, training, predictor.bags(), most=most, n_threads=predictor.many_threads(codes)
        )

    def nearest_rows(self, X: TableLike, k: int = 5, train: Any = None) -> NearestRows:
        """Find the training rows with the largest weights in each prediction.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.
        k : int, default=5
            Number of rows per sample.
        train : {array-like, sparse matrix, data frame} of shape (n_train, n_features), default=None
            As in `row_weights`.

        Returns
        -------
        NearestRows
            ``rows`` and ``weights``, (n_samples, k) each.
        """
        return heaviest_rows(self.row_weights(X, train, top=_count("k", k)), k)

    def embed(self, X: TableLike) -> sparse.csr_array:
        """Return the leaves reached as sparse features, one column per leaf.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        leaves : sparse array of shape (n_samples, n_leaves)
            1 for the leaf reached in each tree, so each row sums to the number of trees.
        """
        predictor = self._predictor()
        codes = predictor.read(X).codes
        return leaf_table(predictor.forest, codes, predictor.threads(codes.shape[1]))

    def to_sklearn(self) -> Any:
        """Convert to a scikit-learn estimator; see `hedgerow.to_sklearn`.

        Returns
        -------
        scikit-learn estimator
            It has the same trees and makes the same predictions. All features must be numeric.
        """
        from hedgerow.export.sklearn import to_sklearn

        return to_sklearn(self)

    def set_callbacks(self, *callbacks: Any) -> Self:
        """Set scikit-learn callbacks, such as ``sklearn.callback.ProgressBar()``.

        Requires scikit-learn 1.9 or later.

        Parameters
        ----------
        *callbacks : callback instances
            Called after every batch of trees. A callback can stop the fit, which then keeps the trees so far.

        Returns
        -------
        self
        """
        sklearn_callbacks().CallbackSupportMixin.set_callbacks(self, *callbacks)
        return self

    def _init_callback_context(self, **options: Any) -> Any:
        return sklearn_callbacks().CallbackSupportMixin._init_callback_context(self, **options)

    # ---- attributes of a fitted model --------------------------------------------------------

    @property
    def forest_(self) -> Forest:
        """Arrays of the trees."""
        return fitted_of(self).forest

    @property
    def trees_(self) -> list[Tree]:
        """Trees as objects to inspect and traverse."""
        return fitted_of(self).trees()

    @property
    def n_features_in_(self) -> int:
        """Number of features."""
        return fitted_of(self).schema.n_features

    @property
    def feature_names_in_(self) -> NDArray[np.generic]:
        """Names of the features, if the training table had names."""
        names = fitted_of(self).schema.names
        if names is None:
            raise AttributeError("feature_names_in_ requires fitting to a table with column names.")
        return np.array(names, dtype=object)

    def _html_repr(self) -> str:
        """Return scikit-learn's diagram for notebooks and, after a fit, a summary."""
        from hedgerow.explain.summary import describe

        diagram: str = super()._html_repr()
        if not self.__sklearn_is_fitted__() or fitted_of(self).outputs:
            return diagram
        with suppress(ValueError, TypeError):  # a parameter may have been set to an invalid value
            diagram += describe(self, uncertainty=False).to_html()
        return diagram

    def __dir__(self) -> list[str]:
        return available_names(self, super().__dir__())

    def __bool__(self) -> bool:
        """Return True; otherwise `bool` would call `len`, which requires a fitted model."""
        return True

    def __sklearn_is_fitted__(self) -> bool:
        return "_fitted" in self.__dict__

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        return tags

    def __copy__(self) -> Self:
        """Return a copy with the training rows, which pickles leave out."""
        copied = type(self).__new__(type(self))
        for name, value in vars(self).items():
            setattr(copied, name, value)
        return copied

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Return a copy with its own arrays and empty caches."""
        copied = type(self).__new__(type(self))
        memo[id(self)] = copied
        for name, value in vars(self).items():
            setattr(copied, name, deepcopy(value, memo))
        return copied

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for pickles, without training rows and caches."""
        state: dict[str, Any] = dict(super().__getstate__())  # copied: it is the estimator's own dict
        if "_fitted" in state:
            state["_fitted"] = self._predictor().for_file()
        return state

    def _predictor(self, fitted: Fitted | None = None) -> Any:
        """Return the predictor of the last or another fit under the current parameters."""
        return current_predictor(self._task.predictor_of, self, fitted)


def require_metric(value: _Value | None, name: str, setting: str) -> _Value:
    """Return a result of the fit; raise AttributeError if it was not computed."""
    if value is None:
        raise AttributeError(f"{name} requires fitting with {setting}.")
    return value


def stacked(outputs: list[_Array], is_multi_output: bool) -> Any:
    """Stack arrays (n, K) of all outputs to (n, K, outputs).

    Return a list if K differs.
    """
    if not is_multi_output:
        return outputs[0]
    return np.stack(outputs, axis=-1) if len({each.shape for each in outputs}) == 1 else outputs


@contextmanager
def as_attribute_error() -> Iterator[None]:
    """Turn errors of a property into AttributeError, as `hasattr` expects."""
    try:
        yield
    except AttributeError:  # not fitted, among others
        raise
    except ValueError as reason:
        raise AttributeError(str(reason)) from reason


def _same_codes(forest: Forest, codes: Codes, own: Codes) -> bool:
    """Return whether codes equal those of the training rows in all features used."""
    return codes.shape == own.shape and all(np.array_equal(codes[i], own[i]) for i in forest.used_features)


def _count(name: str, value: object) -> int:
    """Return a value; raise ValueError unless it is an int >= 1."""
    if not (isinstance(value, int | np.integer) and value >= 1):
        raise ValueError(f"{name} must be an int >= 1, got {value!r}.")
    return int(value)


# ---- Single trees as estimators, and as members of a forest ----------------------------------------------------------
#
# Forests define `len`, indexing and iteration by the functions below; single trees must not have them.


class SingleTreeMixin:
    """Mixin for estimators of a single tree."""

    tree_: Any

    def cost_complexity_pruning_path(
        self, X: TableLike, y: TargetLike, sample_weight: ArrayLike | None = None
    ) -> PruningPath:
        """Compute the values of ``ccp_alpha`` at which branches are pruned.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`. The estimator itself is not changed.

        Returns
        -------
        PruningPath
            ``ccp_alphas``, and ``impurities``, the total impurity of the leaves of each pruned tree.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from hedgerow import DecisionTreeClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> tree = DecisionTreeClassifier(max_depth=3, random_state=0)
        >>> tree.cost_complexity_pruning_path(X, y).ccp_alphas.round(4)
        array([0.    , 0.0042, 0.0297, 0.2598, 0.3333])
        """
        whole = clone(self).set_params(ccp_alpha=0.0).fit(X, y, sample_weight)
        fitted = fitted_of(whole)
        return path_of(whole.tree_, fitted.criterion, fitted.impurities)

    def get_depth(self) -> int:
        """Return the length of the longest path from the root to a leaf."""
        return int(self.tree_.depth)

    def get_n_leaves(self) -> int:
        """Return the number of leaves."""
        return int(self.tree_.n_leaves)


def members(forest: Any) -> list[Any]:
    """Return a fitted estimator for each tree; they share the arrays of the forest.

    The mean of their predictions is the uncalibrated prediction of the forest. Unlike in scikit-learn, their classes
    are those of the forest, not class numbers.
    """
    trees: list[Any] = member_at(forest, slice(None))
    return trees


def how_many(forest: Any) -> int:
    """Return the number of trees."""
    return fitted_of(forest).forest.n_trees


def member_at(forest: Any, number: Any) -> Any:
    """Return the tree of this number, or a list of trees for a slice."""
    fitted = fitted_of(forest)
    chosen = range(fitted.forest.n_trees)[number]
    if isinstance(chosen, range):
        return [publish(template_of(forest), fitted.alone(each)) for each in chosen]
    return publish(template_of(forest), fitted.alone(chosen))


def each_member(forest: Any) -> Iterator[Any]:
    """Iterate over the trees."""
    return iter(members(forest))


def samples_of(forest: Any) -> list[NDArray[np.int32]]:
    """Return the row numbers of each bootstrap sample, repeated by multiplicity."""
    fitted = fitted_of(forest)
    rows, drawn, n_trees = fitted.rows, fitted.fingerprint, fitted.forest.n_trees
    if rows is None and drawn is not None and drawn.bag_mean == 0:
        return [np.arange(drawn.n_rows, dtype=np.int32)] * n_trees
    if rows is None:
        raise AttributeError("estimators_samples_ requires the training rows. Fit the forest in this process.")
    places = np.arange(rows.n_rows, dtype=np.int32) if rows.kept is None else rows.kept.astype(np.int32)
    return [np.repeat(places, rows.bags.times(tree)) for tree in range(n_trees)]


def template_of(forest: Any) -> Any:
    """Return an unfitted single tree with the parameters of the forest."""
    single = forest._tree_class
    of_forest = parameters_of(forest)
    return single(**{name: getattr(forest, name) for name in parameters_of(single) if name in of_forest})
