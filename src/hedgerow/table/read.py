"""Training tables with their schema, and later tables that match it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from hedgerow.table.arrays import source_from_array, source_from_sparse
from hedgerow.table.categories import learn_categories, match_categories, type_of_values
from hedgerow.table.frames import NamedColumns, source_from_frame
from hedgerow.table.schema import Array, Schema, Source, Table, TableLike, label
from hedgerow.table.uncertain import UncertainTable, located
from hedgerow.util.compat import check_features
from hedgerow.util.text import require_text


def read_training_table(
    X: TableLike, *, categorical_features: Any = "from_dtype", feature_names: Sequence[str] | None = None
) -> Table:
    """Read a training table and its schema.

    Parameters
    ----------
    X : {array-like, sparse matrix, data frame} of shape (n_rows, n_features)
        NumPy, scipy sparse (any format), pandas, polars, pyarrow, or anything NumPy can convert. NaN, None, null,
        NaT and pandas.NA are missing; infinities are values. Integers become float64, exact up to 2**53.
    categorical_features : "from_dtype", None, or array-like of bool, int or str, default="from_dtype"
        Categorical columns, as in scikit-learn's HistGradientBoostingClassifier: those of a data frame that are text,
        categorical or enumerated; none; or a mask, indices or names.
    feature_names : sequence of str of length n_features, default=None
        Names for the columns of a table without names.

    Returns
    -------
    Table
        Categories are those that occur in the rows, sorted, even if a categorical type declares others. A text or
        untyped column without values is numeric and all NaN.

    Raises
    ------
    ValueError
        If the table is empty or not two-dimensional, has dates, complex or nested values, repeats a column name,
        mixes text and numbers in a column, has text in a numeric column, or too many categories.
    TypeError
        If a cell of an array is neither text nor a number, or only some column names are text.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.5, "red"], [2.0, "blue"], [None, "red"]], dtype=object)
    >>> table = read_training_table(X, categorical_features=[1])
    >>> table.n_rows, table.schema.nominal, table.schema.categories[1].tolist()
    (3, (False, True), ['blue', 'red'])
    >>> for first, columns in table.column_blocks():
    ...     print(first, *columns)
    0 [1.5 2.  nan] [1 0 1]
    """
    source = _source_from(X)
    if source.names is None and feature_names is not None:
        source.names = _checked_names(feature_names, source.shape[1])
    nominal = _nominal_features(categorical_features, source)
    return _learn(source, nominal)


def read_table(X: TableLike, schema: Schema) -> Table:
    """Read a later table with the columns of the training table.

    Parameters
    ----------
    X : {array-like, sparse matrix, data frame} of shape (n_rows, n_features)
        It need not be the container of the training table. Names are compared if both have them, otherwise
        columns are matched by position. Categories are matched by value.
    schema : Schema
        Schema of the training table.

    Returns
    -------
    Table
        With the training table's schema; `Table.unseen` counts categories that are not in the training table.

    Raises
    ------
    ValueError
        If a column is missing, new, out of order, or has text where training had numbers or the reverse.
        A column without values matches every type.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([["red"], ["blue"]], dtype=object)
    >>> schema = read_training_table(X, categorical_features=[0]).schema
    >>> later = read_table([["red"], ["green"], [None]], schema)
    >>> next(later.column_blocks())
    (0, [array([ 1, -1, -1], dtype=int32)])
    >>> later.unseen
    array([0, 1, 0], dtype=int32)
    """
    source = _source_from(X)
    _require_same_features(source, schema)
    return _match(source, schema)


def check_table(estimator: Callable[[], Any], X: TableLike, schema: Schema) -> Table:
    """Read a later table for a fitted estimator, with scikit-learn's own errors.

    Parameters
    ----------
    estimator : callable -> estimator
        With ``n_features_in_`` and, if the training table had names, ``feature_names_in_``; see `remember_features`. It
        is called only if the tables differ, because scikit-learn's errors name the estimator.
    X : {array-like, sparse matrix, data frame} of shape (n_rows, n_features), or UncertainTable
        Later table.
    schema : Schema
        Schema of the training table.

    Returns
    -------
    Table

    Warns
    -----
    UserWarning
        From scikit-learn, if only one of the two tables has names.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.base import BaseEstimator
    >>> estimator, schema = BaseEstimator(), read_training_table(np.eye(3)).schema
    >>> remember_features(estimator, schema)
    >>> check_table(lambda: estimator, np.eye(2), schema)
    Traceback (most recent call last):
    ValueError: X has 2 features, but BaseEstimator is expecting 3 features as input.
    """
    if isinstance(X, UncertainTable):
        table = check_table(estimator, X.X, schema)
        return replace(table, uncertain=located(X.cells, schema, table.n_rows))
    source = _source_from(X)
    if source.names != schema.names or source.shape[1] != schema.n_features:
        check_features(estimator(), source.native, source.names, source.shape)
    return _match(source, schema)


def remember_features(estimator: Any, schema: Schema) -> None:
    """Set ``n_features_in_`` and ``feature_names_in_`` after a successful fit.

    Parameters
    ----------
    estimator : estimator
        Loses ``feature_names_in_`` if the schema has no names.
    schema : Schema
        Schema of the training table.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.base import BaseEstimator
    >>> estimator = BaseEstimator()
    >>> remember_features(estimator, read_training_table(np.eye(2), feature_names=["a", "b"]).schema)
    >>> estimator.n_features_in_, estimator.feature_names_in_
    (2, array(['a', 'b'], dtype=object))
    """
    estimator.n_features_in_ = schema.n_features
    if schema.names is not None:
        estimator.feature_names_in_ = np.array(schema.names, dtype=object)
    else:
        vars(estimator).pop("feature_names_in_", None)


def _source_from(X: TableLike) -> Source:
    """Return the source of columns of any table."""
    if isinstance(X, np.ndarray):
        return source_from_array(X)
    if isinstance(X, UncertainTable):
        raise TypeError("X must not have uncertain cells here, got UncertainTable. Fit a forest or tree of classes.")
    if isinstance(X, NamedColumns):
        return replace(X)  # a copy, because reading may set its names
    if issparse(X):
        return source_from_sparse(X)
    try:
        return source_from_frame(X) or source_from_array(X)
    except UnicodeEncodeError as reason:  # raised by libraries that encode text first
        require_text([reason.object], "text of X")
        raise


def _checked_names(names: Sequence[str], n_features: int) -> tuple[str, ...]:
    """Validate feature names: one per column, all unique."""
    kept = tuple(map(str, names))
    if len(kept) != n_features or len(set(kept)) != n_features:
        raise ValueError(f"feature_names must be {n_features} unique names, one per column, got {list(kept[:10])}.")
    return kept


def _learn(source: Source, nominal: list[bool]) -> Table:
    """Return the table of a source with its own schema."""
    n_rows, n_features = source.shape
    require_text(source.names or (), "names of columns")
    kinds = source.kinds()
    categories: list[Array | None] = [None] * n_features
    given: dict[int, Array] = {}
    for feature in (j for j in range(n_features) if nominal[j]):
        numbers, found = learn_categories(source.factors(feature), label(source.names, feature))
        require_text(found.tolist(), f"categories of {label(source.names, feature)}")
        if len(found):
            given[feature], categories[feature] = numbers, found
            kinds[feature] = "category" if kinds[feature] == "category" else type_of_values(found)
        else:
            given[feature], kinds[feature] = _nothing(n_rows), "null"
    schema = Schema(
        source.names,
        tuple(known is not None for known in categories),
        tuple(categories),
        tuple(kinds),
        source.container,
    )
    return Table(n_rows, schema, source.columns(given))


def _match(source: Source, schema: Schema) -> Table:
    """Return the table of a source with the schema of the training table."""
    n_rows = source.shape[0]
    source.names = source.names or schema.names
    if schema.only_numbers:
        return Table(n_rows, schema, source.columns({}))
    given: dict[int, Array] = {j: _nothing(n_rows) for j, kind in enumerate(schema.kinds) if kind == "null"}
    new: dict[int, NDArray[np.bool_]] = {}
    for feature, known in enumerate(schema.categories):
        if known is not None:
            where = label(source.names, feature)
            given[feature], unseen = match_categories(source.factors(feature), known, where)
            new |= {feature: unseen} if unseen.any() else {}
    number = np.asarray(np.sum(list(new.values()), axis=0, dtype=np.int32)) if new else None
    return Table(n_rows, schema, source.columns(given), number, new)


def _nothing(n_rows: int) -> NDArray[np.float64]:
    """Return NaN (n_rows,), stored only once."""
    return np.broadcast_to(np.float64(np.nan), n_rows)


def _require_same_features(source: Source, schema: Schema) -> None:
    """Raise `ValueError` if the columns differ from the schema."""
    names, known = source.names, schema.names
    if names is not None and known is not None and names != known:
        missing = [name for name in known if name not in set(names)]
        new = [name for name in names if name not in set(known)]
        raise ValueError(
            "X must have the columns of the training table in the same order, got "
            + _difference(missing, new, names)
            + ". Select them, for example X[model.feature_names_in_]."
        )
    if source.shape[1] != schema.n_features:
        raise ValueError(
            f"X must have {schema.n_features} columns like the training table ({schema.container}), "
            f"got {source.shape[1]}."
        )


def _difference(missing: list[str], new: list[str], names: tuple[str, ...]) -> str:
    """Describe missing and new columns, at most five names each."""
    parts = [
        f"{what} {listed[:5]}{' …' if len(listed) > 5 else ''}"
        for what, listed in (("missing", missing), ("unknown", new))
        if listed
    ]
    return " and ".join(parts) or f"another order: {list(names[:5])}{' …' if len(names) > 5 else ''}"


# ---- categorical columns -------------------------------------------------------------------------------------------


def _nominal_features(categorical_features: Any, source: Source) -> list[bool]:
    """Return whether each column is categorical, shape (n_features,)."""
    n_features = source.shape[1]
    if isinstance(categorical_features, str) and categorical_features == "from_dtype":
        return source.nominal_by_type()
    listed = np.asarray([] if categorical_features is None else categorical_features)
    if listed.size == 0:
        return [False] * n_features
    if listed.ndim == 1 and listed.dtype.kind == "b":
        return _nominal_by_mask(listed, n_features)
    if listed.ndim == 1 and listed.dtype.kind in "iu":
        return _nominal_by_number(listed, n_features)
    if listed.ndim == 1 and all(isinstance(name, str) for name in listed):
        return _nominal_by_name(listed.tolist(), source.names, n_features)
    raise ValueError(
        "categorical_features must be 'from_dtype', None, or an array-like of bool, int or str, "
        f"got {categorical_features!r}."
    )


def _nominal_by_mask(mask: Array, n_features: int) -> list[bool]:
    """Convert a boolean mask."""
    if len(mask) != n_features:
        raise ValueError(
            f"categorical_features set as a boolean mask must have one entry per feature ({n_features}), "
            f"got {len(mask)}"
        )
    return [bool(flag) for flag in mask]


def _nominal_by_number(features: Array, n_features: int) -> list[bool]:
    """Convert feature indices to a mask."""
    if features.min() < 0 or features.max() >= n_features:
        raise ValueError(
            "categorical_features set as integer indices must be in [0, n_features - 1], "
            f"which is [0, {n_features - 1}], got {features.tolist()}"
        )
    listed = set(features.tolist())
    return [feature in listed for feature in range(n_features)]


def _nominal_by_name(listed: list[str], names: tuple[str, ...] | None, n_features: int) -> list[bool]:
    """Convert feature names to a mask."""
    if names is None:
        raise ValueError(
            "categorical_features should be passed as an array of integers or as a boolean mask when the "
            f"model is fitted on data without feature names, got {listed!r}"
        )
    unknown = [name for name in listed if name not in names]
    if unknown:
        raise ValueError(
            f"categorical_features must name columns of X, got {unknown[0]!r}, which is not a valid feature "
            f"name of the training data. Its names are {list(names[:10])}{' …' if n_features > 10 else ''}."
        )
    return [name in listed for name in names]
