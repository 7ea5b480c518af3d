"""Structure: a fitted forest and samples -> the leaves they share with other rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from hedgerow.forest.forest import Forest
from hedgerow.forest.proximity import (
    NearestRows,
    heaviest_rows,
    leaf_table,
    outside_proximity_table,
    proximity_table,
    weight_table,
)
from hedgerow.forest.rows import Bags
from hedgerow.table.bins import Codes


class StructureMixin:
    """What the leaves of a forest say about which rows are alike."""

    forest_: Forest
    _bag: Any
    _seed: int
    _codes: Any
    _reading_threads: Any

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
        check_is_fitted(self)
        most = 0 if top is None else _count("top", top)
        if oob:
            if Y is not None:
                raise ValueError("Y must be None with oob=True, got a table: only training rows are outside bags")
            codes, bags = self._training_codes(), self._bags()
            if X is not None and not self._is_training(self._codes(X)):
                raise ValueError("X must be None or the training rows with oob=True, got other rows; leave it out")
            return outside_proximity_table(self.forest_, codes, bags, most=most, n_threads=self._many_threads(codes))
        codes = self._training_codes() if X is None else self._codes(X)
        others = codes if Y is None else self._codes(Y)
        return proximity_table(self.forest_, codes, others, most=most, n_threads=self._many_threads(codes))

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
        check_is_fitted(self)
        training = self._training_codes() if train is None else self._codes(train)
        codes, most = self._codes(X), 0 if top is None else _count("top", top)
        threads = self._many_threads(codes)
        return weight_table(self.forest_, codes, training, self._bags(), most=most, n_threads=threads)

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
        codes = self._codes(X)
        return leaf_table(self.forest_, codes, self._reading_threads(codes.shape[1]))

    # ---- behind the scenes ----------------------------------------------------------------

    def _training_codes(self) -> Codes:
        """(p, n) of the training rows, where they have been kept."""
        kept = getattr(self, "_bagged", None) or getattr(self, "_trained", None)
        if kept is None:
            raise ValueError(
                "the training rows must be given to a forest that has not kept them, got none: it is without a"
                " bootstrap, unpickled, loaded, or warm-started on other rows; pass them, or fit again"
            )
        codes: Codes = kept.codes
        return codes

    def _bags(self) -> Bags:
        """How bags were drawn; unknown after a warm start on other rows."""
        if not isinstance(self._bag, tuple) or len(self._bag) != 4:
            raise ValueError("the trees must be grown on the same rows, got a forest warm-started on others; fit again")
        _, n_rows, bag_mean, leaf_counts = self._bag
        return Bags(self._seed, bag_mean, n_rows, leaf_counts=leaf_counts)

    def _is_training(self, codes: Codes) -> bool:
        """Codes (p, n) -> whether the trees see the training rows in them."""
        used, own = self.forest_.used_features, self._training_codes()
        return codes.shape == own.shape and all(np.array_equal(codes[i], own[i]) for i in used)

    def _many_threads(self, codes: Codes) -> int:
        """A pair of rows costs more than a row."""
        return int(self._reading_threads(10 * codes.shape[1]))


def _count(name: str, value: Any) -> int:
    """-> int, at least 1."""
    if not (isinstance(value, int | np.integer) and value >= 1):
        raise ValueError(f"{name} must be an int >= 1, got {value!r}; leave it out for all")
    return int(value)
