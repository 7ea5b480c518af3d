"""Base class of all estimators: leaves, paths and proximities."""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from copy import deepcopy
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator

from hedgerow.fit.progress import sklearn_callbacks
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
from hedgerow.forest.walk import Tree, decision_path
from hedgerow.inference.fitted import Fitted, fitted_of
from hedgerow.inference.predictor import current_predictor
from hedgerow.params.table import Parameter
from hedgerow.table.bins import Codes


class BaseTrees(BaseEstimator, ABC):  # type: ignore[misc]
    """Base class for classifiers, regressors and unsupervised trees.

    A fit publishes one `Fitted`, in one assignment, after everything has succeeded. A call reads it once, with the
    parameters that the estimator has at that moment (`_predictor`). So an estimator can predict while it is fitted
    again.
    """

    #: The prediction type.
    _task: ClassVar[Task]
    #: The rows of the parameters that a class takes, in the order of its constructor.
    _parameters: ClassVar[Mapping[str, Parameter]]

    # Parameters that every class takes.
    max_depth: int | None
    min_samples_split: int | float
    min_samples_leaf: int | float
    categorical_features: Any
    max_bins: int | str | None
    random_state: Any

    # Values of parameters that a class does not take.
    calibration: str | None = None
    criterion: Any = "gini"
    splitter: str = "best"
    min_weight_fraction_leaf: float = 0.0
    max_features: Any = None
    constant_features: str = "skip"
    feature_weights: Any = None
    max_leaf_nodes: int | None = None
    min_impurity_decrease: float = 0.0
    bootstrap: bool | str = False
    max_samples: Any = None
    oob_score: Any = False
    novelty: float | None = None
    unseen: str = "larger"
    class_weight: Any = None
    monotonic_cst: Any = None
    immutable_features: Any = None
    leaf_counts: str = "all"
    leaf_rows: bool = False
    ccp_alpha: float = 0.0
    warm_start: bool = False
    n_jobs: int | None = None
    verbose: int = 0

    # What other rooms need to know about a class.
    #: Whether it is a single tree.
    _single_tree: ClassVar[bool] = False
    #: Whether leaves can count later rows.
    _incremental: ClassVar[bool] = False
    #: Whether a fitted model keeps the binned training rows.
    _keeps_training_rows: ClassVar[bool] = True

    def apply(self, X: Any) -> NDArray[np.int32]:
        """The leaf that each sample reaches in each tree, as the number of its node within the tree.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        leaves : ndarray of shape (n_samples, n_trees), or (n_samples,) for a single tree
        """
        predictor = self._predictor()
        codes = predictor.read(X).codes
        nodes: NDArray[np.int32] = predictor.forest.leaf_nodes(codes, predictor.threads(codes.shape[1]))
        return nodes[:, 0] if self._single_tree else nodes

    def decision_path(self, X: Any) -> Any:
        """The nodes that each sample passes in all trees.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        indicator : sparse array of shape (n_samples, n_nodes)
            1 if a sample passes a node; the nodes of all trees are side by side.
        n_nodes_ptr : ndarray of shape (n_trees + 1,)
            Where the nodes of each tree begin. Not returned for a single tree.
        """
        predictor = self._predictor()
        codes = predictor.read(X).codes
        nodes = predictor.forest.leaf_nodes(codes, predictor.threads(codes.shape[1]))
        path: sparse.csr_array = decision_path(predictor.forest, predictor.fitted.trees(), nodes)
        return path if self._single_tree else (path, predictor.forest.node_start.copy())

    def proximity(self, X: Any = None, Y: Any = None, *, oob: bool = False, top: int | None = None) -> sparse.csr_array:
        """Share of the trees in which two rows reach the same leaf; pairs that never do are not stored.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features), default=None
            Samples. None means the training rows, which a model keeps if it was fitted in this process (a classifier
            only with a bootstrap).
        Y : {array-like, sparse matrix, data frame} of shape (m_samples, n_features), default=None
            Samples to compare with; None means X.
        oob : bool, default=False
            Whether to count only trees whose bags hold neither of the two rows. X must be None or the training rows.
        top : int, default=None
            Keep only this many of the largest proximities of each sample; memory then grows with n × top.

        Returns
        -------
        proximity : sparse array of shape (n_samples, m_samples)
            ``proximity.toarray()`` is the whole table, which may be large.
        """
        predictor, most = self._predictor(), 0 if top is None else _count("top", top)
        if oob:
            if Y is not None:
                raise ValueError("Y must be None with oob=True, got a table; only training rows can be out of bag")
            codes = predictor.training_codes()
            if X is not None and not _same_codes(predictor.forest, predictor.read(X).codes, codes):
                raise ValueError("X must be None or the training rows with oob=True, got other rows; leave it out")
            threads = predictor.many_threads(codes)
            return oob_proximity_table(predictor.forest, codes, predictor.bags(), most=most, n_threads=threads)
        codes = predictor.training_codes() if X is None else predictor.read(X).codes
        others = codes if Y is None else predictor.read(Y).codes
        return proximity_table(predictor.forest, codes, others, most=most, n_threads=predictor.many_threads(codes))

    def row_weights(self, X: Any, train: Any = None, *, top: int | None = None) -> sparse.csr_array:
        """Weight of each training row in the prediction for each sample.

        With unweighted rows, the rule "average" and ``calibration=None``, ``row_weights(X) @ (y[:, None] ==
        forest.classes_)`` is ``predict_proba(X)``. For a regressor whose leaves predict means, ``row_weights(X) @ y``
        is ``predict(X)``.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.
        train : {array-like, sparse matrix, data frame} of shape (n_train, n_features), default=None
            The training rows. None means those that the model has kept, because it was fitted in this process (a
            classifier only with a bootstrap); if weights were given, only rows with a weight above zero.
        top : int, default=None
            Keep only this many of the largest weights of each sample.

        Returns
        -------
        weights : sparse array of shape (n_samples, n_train)
            Each row sums to one, unless `top` leaves some weights out. ``sample_weight`` is not used.
        """
        predictor = self._predictor()
        training = predictor.training_codes() if train is None else predictor.read(train).codes
        codes, most = predictor.read(X).codes, 0 if top is None else _count("top", top)
        return weight_table(
            predictor.forest, codes, training, predictor.bags(), most=most, n_threads=predictor.many_threads(codes)
        )

    def nearest_rows(self, X: Any, k: int = 5, train: Any = None) -> NearestRows:
        """The training rows with the largest weights in the prediction for each sample.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.
        k : int, default=5
            Number of rows for each sample.
        train : {array-like, sparse matrix, data frame} of shape (n_train, n_features), default=None
            As in `row_weights`.

        Returns
        -------
        NearestRows
            ``rows`` and ``weights``, (n_samples, k) each.
        """
        return heaviest_rows(self.row_weights(X, train, top=_count("k", k)), k)

    def embed(self, X: Any) -> sparse.csr_array:
        """`apply` as sparse features: one column for each leaf of each tree.

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
        """Convert to an estimator of scikit-learn with the same trees; see `hedgerow.to_sklearn`.

        Returns
        -------
        estimator of scikit-learn
            It makes the same predictions. All features must be numeric.
        """
        from hedgerow.export.sklearn import to_sklearn

        return to_sklearn(self)

    def set_callbacks(self, *callbacks: Any) -> Self:
        """Set scikit-learn callbacks, such as ``sklearn.callback.ProgressBar()``.

        Parameters
        ----------
        *callbacks : callback instances
            They are called after every batch of trees. A callback can stop the fit, which then keeps the trees so far.

        Returns
        -------
        self
        """
        return sklearn_callbacks().CallbackSupportMixin.set_callbacks(self, *callbacks)  # type: ignore[no-any-return]

    def _init_callback_context(self, **options: Any) -> Any:
        return sklearn_callbacks().CallbackSupportMixin._init_callback_context(self, **options)

    # ---- what a fit has published ------------------------------------------------------------

    @property
    def forest_(self) -> Forest:
        """The arrays of the trees."""
        return fitted_of(self).forest

    @property
    def trees_(self) -> list[Tree]:
        """The trees, as objects to read and walk through."""
        return fitted_of(self).trees()

    @property
    def n_features_in_(self) -> int:
        """Number of features."""
        return fitted_of(self).schema.n_features

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of the features, if the training table had names."""
        names = fitted_of(self).schema.names
        if names is None:
            raise AttributeError("feature_names_in_ is there if the training table had names, got a table without")
        return np.array(names, dtype=object)

    def _html_repr(self) -> str:
        """Return scikit-learn's diagram for notebooks and, after a fit, a summary."""
        from hedgerow.explain.summary import describe

        diagram: str = super()._html_repr()
        if not self.__sklearn_is_fitted__() or fitted_of(self).outputs:
            return diagram
        with suppress(ValueError, TypeError):  # parameters that are wrong now have nothing to describe
            diagram += describe(self, doubt=False).to_html()
        return diagram

    def __bool__(self) -> bool:
        """True, also before a fit; without it, Python would ask for the number of trees."""
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
        """A copy with the training rows; pickles do not contain them, to be small."""
        copied = type(self).__new__(type(self))
        for name, value in vars(self).items():
            setattr(copied, name, value)
        return copied

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """The same with its own arrays; caches are not copied, because they can be computed again."""
        copied = type(self).__new__(type(self))
        memo[id(self)] = copied
        for name, value in vars(self).items():
            setattr(copied, name, deepcopy(value, memo))
        return copied

    def __getstate__(self) -> dict[str, Any]:
        """The state for pickles, without the training rows and what can be computed again."""
        state: dict[str, Any] = dict(super().__getstate__())  # copied: it is the estimator's own dict
        if "_fitted" in state:
            state["_fitted"] = self._predictor().for_file()
        return state

    def _predictor(self, fitted: Fitted | None = None) -> Any:
        """The predictor of the last fit, or of another one, under the current parameters of the estimator."""
        return current_predictor(self._task.predictor_of, self, fitted)


def figure(value: Any, name: str, reason: str) -> Any:
    """A figure that a fit reports; an AttributeError if the fit does not have it."""
    if value is None:
        raise AttributeError(f"{name} is there {reason}, got a model without it")
    return value


def stacked(outputs: list[Any], is_multi_output: bool) -> Any:
    """Stack arrays (n, K) of outputs to (n, K, outputs); return a list if K differs."""
    if not is_multi_output:
        return outputs[0]
    return np.stack(outputs, axis=-1) if len({each.shape for each in outputs}) == 1 else outputs


@contextmanager
def or_not_there() -> Iterator[None]:
    """Turn errors of a property into an AttributeError, which notebooks, `dir` and `hasattr` expect."""
    try:
        yield
    except AttributeError:  # not fitted, among others
        raise
    except ValueError as reason:
        raise AttributeError(str(reason)) from reason


def _same_codes(forest: Forest, codes: Codes, own: Codes) -> bool:
    """Return whether codes equal those of the training rows in all used features."""
    return codes.shape == own.shape and all(np.array_equal(codes[i], own[i]) for i in forest.used_features)


def _count(name: str, value: Any) -> int:
    """Return a value; raise an error unless it is an int >= 1."""
    if not (isinstance(value, int | np.integer) and value >= 1):
        raise ValueError(f"{name} must be an int >= 1, got {value!r}; leave it out for all")
    return int(value)
