"""Base class for all estimators: leaves, paths and proximities."""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from copy import deepcopy
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator

from hedgerow.criteria import Criterion
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
from hedgerow.params.table import (
    CategoricalFeatures,
    ClassWeight,
    FeatureWeights,
    ImmutableFeatures,
    MaxFeatures,
    MonotonicCst,
    OobScore,
    Parameter,
    RandomState,
)
from hedgerow.table.bins import Codes
from hedgerow.util.compat import available_names, sklearn_callbacks

_Value = TypeVar("_Value")
_Array = NDArray[np.float64]


class BaseTrees(BaseEstimator, ABC):  # type: ignore[misc]
    """Base class for classifiers, regressors and unsupervised trees.

    `fit` assigns one `Fitted` after everything else has succeeded. Each call reads it once, with the current parameters
    (`_predictor`). So an estimator can predict in one thread while it is refitted in another.
    """

    #: The prediction type.
    _task: ClassVar[Task]
    #: Rows of the parameter table that a class takes, in the order of its constructor.
    _parameters: ClassVar[Mapping[str, Parameter]]

    # Parameters that every class takes.
    max_depth: int | None
    min_samples_split: int | float
    min_samples_leaf: int | float | str
    categorical_features: CategoricalFeatures
    max_bins: int | str | None
    random_state: RandomState

    # Defaults of parameters that a class does not take.
    calibration: str | None = None
    criterion: str | Criterion = "gini"
    splitter: str = "best"
    min_weight_fraction_leaf: float = 0.0
    max_features: MaxFeatures = None
    constant_features: str = "skip"
    feature_weights: FeatureWeights = None
    max_leaf_nodes: int | None = None
    min_impurity_decrease: float = 0.0
    bootstrap: bool | str = False
    max_samples: int | float | None = None
    oob_score: OobScore = False
    novelty: float | None = None
    unseen: str = "larger"
    class_weight: ClassWeight = None
    monotonic_cst: MonotonicCst = None
    immutable_features: ImmutableFeatures = None
    leaf_counts: str = "all"
    leaf_rows: bool = False
    ccp_alpha: float = 0.0
    warm_start: bool = False
    n_jobs: int | None = None
    verbose: int = 0

    # Capabilities of a class that other layers read.
    #: Whether the model is a single tree.
    _single_tree: ClassVar[bool] = False
    #: Whether leaves can count later rows.
    _incremental: ClassVar[bool] = False
    #: Whether a fitted model keeps the binned training rows.
    _keeps_training_rows: ClassVar[bool] = True

    def apply(self, X: Any) -> NDArray[np.int32]:
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

    def decision_path(self, X: Any) -> Any:
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

    def proximity(self, X: Any = None, Y: Any = None, *, oob: bool = False, top: int | None = None) -> sparse.csr_array:
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

    def row_weights(self, X: Any, train: Any = None, *, top: int | None = None) -> sparse.csr_array:
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

    def nearest_rows(self, X: Any, k: int = 5, train: Any = None) -> NearestRows:
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

    def embed(self, X: Any) -> sparse.csr_array:
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
    def feature_names_in_(self) -> NDArray[Any]:
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


def _count(name: str, value: Any) -> int:
    """Return a value; raise ValueError unless it is an int >= 1."""
    if not (isinstance(value, int | np.integer) and value >= 1):
        raise ValueError(f"{name} must be an int >= 1, got {value!r}.")
    return int(value)
