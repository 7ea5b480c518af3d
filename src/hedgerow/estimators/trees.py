"""Trees: what all trees and forests share, whatever they predict."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator

from hedgerow.fit.parameters import Parameters
from hedgerow.fit.progress import sklearn_callbacks
from hedgerow.forest.forest import Forest
from hedgerow.forest.lift import StateCache
from hedgerow.forest.proximity import (
    NearestRows,
    heaviest_rows,
    leaf_table,
    outside_proximity_table,
    proximity_table,
    weight_table,
)
from hedgerow.forest.walk import Tree, decision_path
from hedgerow.judge.fitted import Fitted, fitted_of
from hedgerow.table.bins import Codes


class TreesEstimator(Parameters, BaseEstimator, ABC):  # type: ignore[misc]
    """What classifiers, regressors and trees without labels share.

    A fit publishes one `Fitted`, in one assignment, after everything has succeeded. A call reads it once, with the
    parameters the estimator has at that moment (`__answers__`); so an estimator can be asked while it is fitted again.
    """

    # What other rooms ask of a class.
    #: How a split is found: "best", "random" or "random_decision".
    __splitter__: ClassVar[str] = "best"
    #: Whether it is a single tree.
    __one_tree__: ClassVar[bool] = False
    #: Whether rows that arrive later can be counted in the leaves.
    __takes_rows__: ClassVar[bool] = False
    #: Whether the binned training rows stay with the fitted model.
    __keeps_rows__: ClassVar[bool] = True

    def apply(self, X: Any) -> NDArray[np.int32]:
        """The leaf each sample reaches, as the number of the node within its tree.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        leaves : ndarray of shape (n_samples, n_trees), or (n_samples,) for a single tree
        """
        now = self.__answers__()
        codes = now.read(X)
        nodes: NDArray[np.int32] = now.forest.leaf_nodes(codes, now.threads(codes.shape[1]))
        return nodes[:, 0] if self.__one_tree__ else nodes

    def decision_path(self, X: Any) -> Any:
        """The nodes each sample passes.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        indicator : sparse array of shape (n_samples, n_nodes)
            1 where a sample passes a node; the nodes of all trees stand side by side.
        n_nodes_ptr : ndarray of shape (n_trees + 1,)
            Where each tree's nodes begin. Not returned for a single tree.
        """
        now = self.__answers__()
        codes = now.read(X)
        nodes = now.forest.leaf_nodes(codes, now.threads(codes.shape[1]))
        path: sparse.csr_array = decision_path(now.forest, now.fitted.trees(), nodes)
        return path if self.__one_tree__ else (path, now.forest.node_start.copy())

    def proximity(self, X: Any = None, Y: Any = None, *, oob: bool = False, top: int | None = None) -> sparse.csr_array:
        """Share of the trees in which two rows fall into the same leaf, for the pairs that ever do.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features), default=None
            Samples; None takes the training rows of a model that was fitted here (a classifier with a bootstrap).
        Y : {array-like, sparse matrix, data frame} of shape (m_samples, n_features), default=None
            Samples to compare with; None takes X.
        oob : bool, default=False
            Whether only trees that have seen neither of two training rows count. X must be None or the training rows.
        top : int, default=None
            Keep the largest proximities of each sample and drop the rest; memory then grows with n × top.

        Returns
        -------
        proximity : sparse array of shape (n_samples, m_samples)
            ``proximity.toarray()`` is the whole table, if you must.
        """
        now, most = self.__answers__(), 0 if top is None else _count("top", top)
        if oob:
            if Y is not None:
                raise ValueError("Y must be None with oob=True, got a table: only training rows are outside bags")
            codes = now.training_codes()
            if X is not None and not _same_codes(now.forest, now.read(X), codes):
                raise ValueError("X must be None or the training rows with oob=True, got other rows; leave it out")
            threads = now.many_threads(codes)
            return outside_proximity_table(now.forest, codes, now.bags(), most=most, n_threads=threads)
        codes = now.training_codes() if X is None else now.read(X)
        others = codes if Y is None else now.read(Y)
        return proximity_table(now.forest, codes, others, most=most, n_threads=now.many_threads(codes))

    def row_weights(self, X: Any, train: Any = None, *, top: int | None = None) -> sparse.csr_array:
        """How much each training row weighs in the prediction for a sample.

        With unweighted rows and the rule "average", ``row_weights(X) @ (y[:, None] == forest.classes_)`` is
        ``predict_proba(X)``; of a regressor whose leaves predict means, ``row_weights(X) @ y`` is ``predict(X)``.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.
        train : {array-like, sparse matrix, data frame} of shape (n_train, n_features), default=None
            The training rows; None takes those of a model that was fitted here (a classifier with a bootstrap), and
            of these the ones with a ``sample_weight`` above zero, if weights were given.
        top : int, default=None
            Keep the largest weights of each sample.

        Returns
        -------
        weights : sparse array of shape (n_samples, n_train)
            Rows sum to one unless `top` leaves some out. Rows count alike, whatever their ``sample_weight``.
        """
        now = self.__answers__()
        training = now.training_codes() if train is None else now.read(train)
        codes, most = now.read(X), 0 if top is None else _count("top", top)
        return weight_table(now.forest, codes, training, now.bags(), most=most, n_threads=now.many_threads(codes))

    def nearest_rows(self, X: Any, k: int = 5, train: Any = None) -> NearestRows:
        """The training rows a prediction rests on most, with their weights.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.
        k : int, default=5
            How many rows for each sample.
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
            1 for the leaf reached in each tree, so rows sum to the number of trees.
        """
        now = self.__answers__()
        codes = now.read(X)
        return leaf_table(now.forest, codes, now.threads(codes.shape[1]))

    def to_sklearn(self) -> Any:
        """The same trees as an estimator of scikit-learn; see `hedgerow.to_sklearn`.

        Returns
        -------
        estimator of scikit-learn
            With equal predictions; all features must be numeric.
        """
        from hedgerow.exchange.export.sklearn import to_sklearn

        return to_sklearn(self)

    def set_callbacks(self, *callbacks: Any) -> Self:
        """Set scikit-learn callbacks, such as ``sklearn.callback.ProgressBar()``.

        Parameters
        ----------
        *callbacks : callback instances
            They hear of every batch of trees; one that says stop ends the fit with the trees grown so far.

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
        """The arrays behind the trees."""
        return fitted_of(self).forest

    @property
    def trees_(self) -> list[Tree]:
        """The trees, to look at and to walk."""
        return fitted_of(self).trees()

    @property
    def n_features_in_(self) -> int:
        """How many features."""
        return fitted_of(self).schema.n_features

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of the features, when the training table had any."""
        names = fitted_of(self).schema.names
        if names is None:
            raise AttributeError("feature_names_in_ is there when the training table had names, got a table without")
        return np.array(names, dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return "_fitted" in self.__dict__

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        return tags

    def __copy__(self) -> Self:
        """All of it: a copy in memory keeps the training rows, which pickles leave out to be small."""
        copied = type(self).__new__(type(self))
        copied.__dict__.update(self.__dict__)
        return copied

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """The same with arrays of its own, but for states that are computed again when asked for."""
        copied = type(self).__new__(type(self))
        memo[id(self)] = copied
        for name, value in self.__dict__.items():
            held = replace(value, cache=StateCache()) if isinstance(value, Fitted) else value
            copied.__dict__[name] = deepcopy(held, memo)
        return copied

    def __getstate__(self) -> dict[str, Any]:
        """Without the training rows and what can be computed again."""
        state: dict[str, Any] = dict(super().__getstate__())  # what it returns is the dict of the estimator itself
        if "_fitted" in state:
            state["_fitted"] = self.__answers__().for_file()
        return state

    # ---- what kinds of trees do in their own way ------------------------------------------------

    @abstractmethod
    def __answers__(self, fitted: Fitted | None = None) -> Any:
        """The last fit, or another, as it answers under the parameters the estimator has."""


def figure(value: Any, name: str, reason: str) -> Any:
    """A figure that a fit reports; an AttributeError where it was not asked for."""
    if value is None:
        raise AttributeError(f"{name} is there {reason}, got a model without it")
    return value


@contextmanager
def or_not_there() -> Iterator[None]:
    """What a property cannot compute is not there: notebooks, `dir` and `hasattr` expect an AttributeError."""
    try:
        yield
    except AttributeError:  # not fitted, among others
        raise
    except ValueError as reason:
        raise AttributeError(str(reason)) from reason


def _same_codes(forest: Forest, codes: Codes, own: Codes) -> bool:
    """Codes (p, n) -> whether the trees see the training rows in them."""
    return codes.shape == own.shape and all(np.array_equal(codes[i], own[i]) for i in forest.used_features)


def _count(name: str, value: Any) -> int:
    """-> int, at least 1."""
    if not (isinstance(value, int | np.integer) and value >= 1):
        raise ValueError(f"{name} must be an int >= 1, got {value!r}; leave it out for all")
    return int(value)
