"""Imputation of missing values by proximity."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted

from hedgerow.forest.proximity import proximity_blocks
from hedgerow.inference.predictor import predictor_of
from hedgerow.storage.values import estimator_named
from hedgerow.table import Factors, NamedColumns, Schema, Table, check_table, read_training_table, remember_features
from hedgerow.table.bins import Codes
from hedgerow.table.schema import TableLike

Column = NDArray[Any]
Columns = list[Column]


class ProximityImputer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Imputation of missing values from training rows in the same leaves.

    In a numeric column, a missing value becomes the mean of these values, weighted by proximity; in a categorical
    column, the category with the most weight. If no such row has a value, it becomes the median or the most frequent
    category. Trees accept missing values, so the first round needs no initial guesses. Every further round grows a
    forest on the table filled by the previous round, and fills the missing values again.

    Parameters
    ----------
    forest : estimator, default=None
        Forest of hedgerow. None means 100 trees: a `RandomForestClassifier` if y are classes, a
        `RandomForestRegressor` if y is continuous, an `UnsupervisedForest` without y.
    n_rounds : int, default=2
        Number of rounds.
    random_state : int, RandomState or None, default=None
        Seed of the forests if `forest` is None.

    Attributes
    ----------
    forests_ : list of estimators
        One forest per round.
    n_features_in_, feature_names_in_
        As in `RandomForestClassifier`.

    References
    ----------
    L. Breiman, A. Cutler: Random forests, manual of version 5, "Missing value replacement". 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from hedgerow.structure import ProximityImputer
    >>> X, y = load_iris(return_X_y=True)
    >>> gapped = X.copy()
    >>> gapped[10, 2] = np.nan
    >>> filled = ProximityImputer(random_state=0).fit_transform(gapped, y)
    >>> X[10, 2], filled[10, 2].round(1)
    (np.float64(1.5), np.float64(1.5))
    """

    def __init__(self, forest: Any = None, *, n_rounds: int = 2, random_state: Any = None) -> None:
        self.forest = forest
        self.n_rounds = n_rounds
        self.random_state = random_state

    def fit(self, X: TableLike, y: ArrayLike | None = None) -> Self:
        """Grow the forests.

        Parameters
        ----------
        X : {array-like, data frame} of shape (n_samples, n_features)
            Numbers and categories; NaN, None and null are missing.
        y : array-like of shape (n_samples,), default=None
            Labels or targets, which `transform` does not need.

        Returns
        -------
        self
        """
        if not (isinstance(self.n_rounds, int | np.integer) and self.n_rounds >= 1):
            raise ValueError(f"n_rounds must be an integer of at least 1, got {self.n_rounds!r}.")
        table = read_training_table(X)
        known = _columns(table)
        training = _Rows(table.schema, known, _usual(known))
        rounds: list[_Round] = []
        columns = known
        for number in range(self.n_rounds):
            if number > 0:
                columns = _fill(rounds[-1], training, columns, known)
            forest = self._new_forest(y).fit(_named(columns, table.schema), y, groups=None)
            predictor = predictor_of(forest)
            rounds.append(_Round(forest, predictor.read(_named(columns, table.schema)).codes))
        # The estimator changes only here, after all rounds have succeeded.
        self.forests_: list[Any] = [each.forest for each in rounds]
        self._rounds, self._rows = rounds, training
        remember_features(self, table.schema)
        return self

    def transform(self, X: Any) -> Any:
        """Fill the missing values.

        Parameters
        ----------
        X : {array-like, data frame} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        filled : ndarray or pandas data frame of shape (n_samples, n_features)
            A pandas data frame if X is one. A column without any training value is not filled.
        """
        check_is_fitted(self)
        schema = self._rows.schema
        given = _columns(check_table(lambda: self, X, schema))
        columns = given
        for each in self._rounds:
            columns = _fill(each, self._rows, columns, given)
        return _as_given(X, columns, given, schema)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.sparse = True
        return tags

    def _new_forest(self, y: ArrayLike | None) -> Any:
        """Return the unfitted forest of a round."""
        if self.forest is not None:
            return clone(self.forest)
        if y is None:
            return estimator_named("UnsupervisedForest")(random_state=self.random_state)
        is_number = type_of_target(y).startswith("continuous")
        forest_class = estimator_named("RandomForestRegressor" if is_number else "RandomForestClassifier")
        return forest_class(random_state=self.random_state)


class _Rows(NamedTuple):
    """Training rows: schema, columns with missing values, and default values."""

    schema: Schema
    known: Columns
    usual: list[float]


class _Round(NamedTuple):
    """Forest of one round, and the codes (p, m) of its training rows."""

    forest: Any
    codes: Codes


def _fill(last: _Round, training: _Rows, columns: Columns, given: Columns) -> Columns:
    """Fill the given columns by the forest of the last round."""
    gaps = np.array([_is_gap(column) for column in given])
    rows = np.flatnonzero(gaps.any(axis=0))
    filled = [column.copy() for column in given]
    if not len(rows):
        return filled
    predictor = predictor_of(last.forest)
    codes = predictor.read(_named([column[rows] for column in columns], training.schema)).codes
    for first, block in proximity_blocks(predictor.forest, codes, last.codes, n_threads=predictor.many_threads(codes)):
        there = rows[first : first + block.shape[0]]
        for feature in np.flatnonzero(gaps[:, there].any(axis=1)):
            which = gaps[feature, there]
            guesses = _guesses(block[which], training.known[feature], training.usual[feature])
            filled[feature][there[which]] = guesses
    return filled


def _guesses(proximity: sparse.csr_array, known: Column, usual: float) -> Column:
    """Return means, or categories with the most weight (n,), by proximities (n, m)."""
    if known.dtype == np.int32:
        categories = np.arange(known.max(initial=-1) + 1)
        weight = proximity @ (known[:, None] == categories).astype(np.float64)
        best = categories[weight.argmax(axis=1)] if len(categories) else -1
        return np.where(weight.sum(axis=1) > 0, best, int(usual))
    present = ~np.isnan(known)
    weight = proximity @ present.astype(np.float64)
    total = proximity @ np.where(present, known, 0.0)
    return np.where(weight > 0, total / np.where(weight > 0, weight, 1.0), usual)


def _columns(table: Table) -> Columns:
    """Return columns (n,): float64 with NaN, or int32 category numbers with -1."""
    found: Columns = []
    for first, columns in table.column_blocks():
        for feature, column in enumerate(columns, first):
            found.append(np.array(column, dtype=np.int32 if table.schema.nominal[feature] else np.float64))
    return found


def _is_gap(column: Column) -> NDArray[np.bool_]:
    return np.asarray(column < 0 if column.dtype == np.int32 else np.isnan(column))


def _usual(columns: Columns) -> list[float]:
    """Return medians and most frequent categories; NaN or -1 without values."""
    found = []
    for column in columns:
        values = column[~_is_gap(column)]
        if column.dtype == np.int32:
            found.append(float(np.bincount(values).argmax()) if len(values) else -1.0)
        else:
            found.append(float(np.median(values)) if len(values) else np.nan)
    return found


def _named(columns: Columns, schema: Schema) -> NamedColumns:
    """Return columns as a table that forests read."""
    listed: list[Column | Factors] = [
        column if categories is None or column.dtype != np.int32 else Factors(column, categories)
        for column, categories in zip(columns, schema.categories, strict=True)
    ]
    return NamedColumns(schema.names, listed)


def _as_given(X: Any, columns: Columns, given: Columns, schema: Schema) -> Any:
    """Return filled columns as a pandas data frame if X is one, else as an array."""
    values = [_decoded(column, known) for column, known in zip(columns, schema.categories, strict=True)]
    if not hasattr(X, "isetitem"):
        plain = all(value.dtype != object for value in values)
        return np.column_stack([value if plain else value.astype(object) for value in values])
    filled = X.copy()
    for feature, column in enumerate(given):
        gaps = _is_gap(column)
        if gaps.any() and schema.categories[feature] is None:
            filled.isetitem(feature, values[feature])
        elif gaps.any():
            series = filled.iloc[:, feature].copy()
            series[gaps] = values[feature][gaps]
            filled.isetitem(feature, series)
    return filled


def _decoded(column: Column, categories: Column | None) -> Column:
    """Return values of category numbers (n,); numeric columns do not change."""
    if categories is None:
        return column
    values = np.asarray(categories[np.maximum(column, 0)])
    if (column < 0).any():
        values = values.astype(np.float64 if values.dtype.kind in "iuf" else object)
        values[column < 0] = np.nan if values.dtype.kind == "f" else None
    return values
