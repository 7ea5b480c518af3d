"""Columns of NumPy arrays, of sparse matrices, and of objects that NumPy can convert."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.utils.validation import check_array

from hedgerow.table.categories import ADVICE_ON_DATES, factors_from_cells, factors_from_numbers, is_date, is_missing
from hedgerow.table.schema import (
    Array,
    Column,
    Factors,
    Kind,
    ListedColumns,
    TableColumns,
    TableLike,
    block_width,
    label,
)


@dataclass
class NumberArray:
    """A 2-D array of a real dtype, perhaps from a data frame."""

    values: Array
    names: tuple[str, ...] | None = None
    container: str = "array"
    frame: Any = None

    @property
    def native(self) -> Any:
        """The data frame of the array, or the array itself."""
        return self.values if self.frame is None else self.frame

    @property
    def shape(self) -> tuple[int, int]:
        """(n_rows, n_features)."""
        n_rows, n_features = self.values.shape
        return n_rows, n_features

    def kinds(self) -> list[Kind]:
        """Return the column types: numbers or booleans."""
        kind: Kind = "boolean" if self.values.dtype.kind == "b" else "number"
        return [kind] * self.values.shape[1]

    def nominal_by_type(self) -> list[bool]:
        """Return that no column is categorical by its type."""
        return [False] * self.values.shape[1]

    def factors(self, feature: int) -> Factors:
        """Return the distinct numbers of a column and their codes."""
        return factors_from_numbers(self.values[:, feature])

    def columns(self, given: Mapping[int, Array]) -> TableColumns:
        """Return the columns, as views where no conversion is needed."""
        if not given:
            return ArrayColumns(self.values)
        numbers = [numeric_column(column) for column in self.values.T]
        return ListedColumns([given.get(j, column) for j, column in enumerate(numbers)], len(self.values))


@dataclass
class CellArray:
    """A 2-D array of objects or strings; cells must be numeric unless categorical."""

    cells: Array
    names: tuple[str, ...] | None = None
    container = "array"

    @property
    def native(self) -> Array:
        """The array."""
        return self.cells

    @property
    def shape(self) -> tuple[int, int]:
        """(n_rows, n_features)."""
        n_rows, n_features = self.cells.shape
        return n_rows, n_features

    def kinds(self) -> list[Kind]:
        """Return "number" for all columns; reading may find categorical ones."""
        return ["number"] * self.cells.shape[1]

    def nominal_by_type(self) -> list[bool]:
        """Return that no column is categorical: all columns share one type."""
        return [False] * self.cells.shape[1]

    def factors(self, feature: int) -> Factors:
        """Return the distinct cells of a column and their codes."""
        return factors_from_cells(self.cells[:, feature], label(self.names, feature))

    def columns(self, given: Mapping[int, Array]) -> TableColumns:
        """Return the given columns unchanged and the others as float64."""
        listed: list[Column] = [
            given[j] if j in given else numbers_from_cells(self.cells[:, j], label(self.names, j))
            for j in range(self.cells.shape[1])
        ]
        return ListedColumns(listed, len(self.cells))


class ArrayColumns:
    """Columns of a 2-D numeric array: views, or float64 copies of a block.

    Parameters
    ----------
    values : (n_rows, n_features)
        Numeric array.
    """

    def __init__(self, values: Array) -> None:
        self.values, self._as_they_are = values, is_float(values.dtype)

    @property
    def width(self) -> int:
        """Number of columns to read at once: all, unless they must be copied."""
        return self.values.shape[1] if self._as_they_are else block_width(len(self.values))

    def read(self, first: int, stop: int) -> Array:
        """Return columns ``first`` to ``stop - 1``, shape (stop - first, n_rows)."""
        block = self.values[:, first:stop]
        return block.T if self._as_they_are else block.astype(np.float64, order="F").T


def source_from_array(X: TableLike) -> NumberArray | CellArray:
    """Return the columns of an array-like, or raise scikit-learn's shape errors."""
    values = X if type(X) is np.ndarray else _plain_array(X)
    if values.ndim != 2 or 0 in values.shape or values.dtype.kind == "c":
        # scikit-learn raises its own error about a table that is not 2-D, is empty or complex; it always does here.
        check_array(values, dtype=None, ensure_all_finite=False)
    kind = values.dtype.kind
    if kind in "fiub":
        return NumberArray(values)
    if kind in "OUST":
        return CellArray(values)
    if kind in "mM":
        raise ValueError(f"X must be numbers, text or categories, got dates ({values.dtype}). {ADVICE_ON_DATES}")
    raise ValueError(f"X must be numbers or text, got an array of dtype {values.dtype}. Pass one column per field.")


def is_float(dtype: np.dtype[Any]) -> bool:
    """Test whether columns of this dtype need no conversion."""
    return dtype.kind == "f" and dtype.itemsize in (4, 8) and dtype.isnative


def numeric_column(column: Array) -> Column:
    """Return a float column (n_rows,), or a function that makes a float64 copy."""
    return column if is_float(column.dtype) else partial(column.astype, np.float64)


def numbers_from_cells(cells: Array, where: str) -> NDArray[np.float64]:
    """Return objects or strings (n_rows,) as float64, with NaN for missing values."""
    try:
        return cells.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        return np.array([_number_from_cell(cell, where) for cell in cells.tolist()], dtype=np.float64)


def _number_from_cell(cell: object, where: str) -> float:
    """Return one object as a float; `where` locates it in errors."""
    if is_missing(cell):
        return np.nan
    try:
        return float(cell)  # type: ignore[arg-type]
    except TypeError:
        # scikit-learn's estimator checks look for the words "argument must be … string … number".
        advice = ADVICE_ON_DATES if is_date(cell) else "Convert the column to numbers."
        raise TypeError(
            f"{where}: argument must be a string or a number, got {type(cell).__name__}. {advice}"
        ) from None
    except (ValueError, OverflowError):
        raise ValueError(
            f"{where} must be numeric, got {str(cell)[:40]!r}. Add the column to categorical_features if its values are"
            " categories."
        ) from None


def _plain_array(X: TableLike) -> Array:
    """Return an array-like as a plain ndarray, with NaN for masked cells."""
    if isinstance(X, np.ma.MaskedArray):
        return np.ma.filled(X.astype(np.result_type(X.dtype, np.float32)), np.nan)
    if isinstance(X, np.ndarray):
        return np.asarray(X)
    with config_context(array_api_dispatch=False):  # the core reads only NumPy arrays
        values: Array = check_array(X, dtype=None, ensure_all_finite=False)
    if values.dtype.kind == "U" and isinstance(X, list | tuple):  # NumPy turned numbers, NaN and booleans into text
        return np.array([list(row) for row in X], dtype=object)
    return values


# ---- Columns of scipy sparse matrices and arrays, made dense block by block ------------------------------------------


@dataclass
class SparseTable:
    """A sparse table, stored by columns."""

    by_column: Any
    names: tuple[str, ...] | None = None
    container = "sparse"

    @property
    def native(self) -> Any:
        """The table, stored by columns."""
        return self.by_column

    @property
    def shape(self) -> tuple[int, int]:
        """(n_rows, n_features)."""
        n_rows, n_features = self.by_column.shape
        return n_rows, n_features

    def kinds(self) -> list[Kind]:
        """Return the column types: numbers or booleans."""
        kind: Kind = "boolean" if self.by_column.dtype.kind == "b" else "number"
        return [kind] * self.shape[1]

    def nominal_by_type(self) -> list[bool]:
        """Return that no column is categorical by its type."""
        return [False] * self.shape[1]

    def factors(self, feature: int) -> Factors:
        """Return the distinct numbers of a column and their codes."""
        return factors_from_numbers(self.by_column[:, [feature]].toarray()[:, 0])

    def columns(self, given: Mapping[int, Array]) -> TableColumns:
        """Return blocks of dense columns; cells that are not stored are zero."""
        return SparseColumns(self.by_column, given)


@dataclass(frozen=True)
class SparseColumns:
    """Columns of a sparse table, made dense when read."""

    by_column: Any
    given: Mapping[int, Array]

    @property
    def width(self) -> int:
        """Number of dense columns in a block."""
        return block_width(self.by_column.shape[0])

    def read(self, first: int, stop: int) -> list[Array]:
        """Return columns ``first`` to ``stop - 1``, each (n_rows,)."""
        block = self.by_column[:, first:stop].toarray(order="F")
        dense = block if is_float(block.dtype) else block.astype(np.float64)
        return [self.given.get(first + j, column) for j, column in enumerate(dense.T)]


def source_from_sparse(X: Any) -> SparseTable:
    """Return the columns of a sparse table, or raise scikit-learn's shape errors."""
    if X.ndim != 2 or 0 in X.shape or X.dtype.kind not in "fiub":
        if X.ndim != 2:
            raise ValueError(
                f"Expected 2D array, got {X.ndim}D sparse array instead. Reshape your data either using "
                "X.reshape(-1, 1) if it has a single feature or X.reshape(1, -1) if it is a single sample."
            )
        check_array(X, accept_sparse=True, dtype=None, ensure_all_finite=False)
        raise ValueError(f"A sparse X must have real numbers, got dtype {X.dtype}. Convert it first.")
    plain = X.tocoo() if X.format == "dok" else _flat(X) if X.format == "lil" else X
    if not _PARTS.get(plain.format, _compressed)(plain):
        raise ValueError(
            f"A sparse X must have one index within its shape {X.shape} for each value ({X.format} format)."
        )
    return SparseTable(plain.tocsc())


def _flat(X: Any) -> Any:
    """Convert lil format to csr, after checking its indices."""
    if len(X.rows) != X.shape[0] or [*map(len, X.rows)] != [*map(len, X.data)]:
        raise ValueError(f"A sparse X must have one index within its shape {X.shape} for each value (lil format).")
    return X.tocsr()


def _compressed(X: Any) -> bool:
    """Test the arrays of csr, csc or bsr format, outside of which SciPy might read."""
    height, width = X.blocksize if X.format == "bsr" else (1, 1)
    n_rows, n_columns = X.shape[0] // height, X.shape[1] // width
    n_major, n_minor = (n_columns, n_rows) if X.format == "csc" else (n_rows, n_columns)
    start, indices, data = X.indptr, X.indices, X.data
    n_axes = 3 if X.format == "bsr" else 1
    if not _whole(start, n_major + 1) or not _whole(indices, None) or np.ndim(data) != n_axes:
        return False
    if start[0] != 0 or (start[1:] < start[:-1]).any() or start[-1] > min(len(indices), len(data)):
        return False
    return _within(indices[: start[-1]], n_minor)


def _coordinates(X: Any) -> bool:
    """Test whether the arrays of coo format match."""
    n_stored = len(X.data) if np.ndim(X.data) == 1 else -1
    row, column = X.row, X.col
    return (
        all(_whole(part, n_stored) for part in (row, column))
        and _within(row, X.shape[0])
        and _within(column, X.shape[1])
    )


def _diagonals(X: Any) -> bool:
    """Test whether the arrays of dia format match."""
    return np.ndim(X.data) == 2 and _whole(X.offsets, len(X.data))


_PARTS = {"coo": _coordinates, "dia": _diagonals}


def _whole(numbers: Any, length: int | None) -> bool:
    """Test whether an array has integers, `length` of them unless that is None."""
    known = isinstance(numbers, np.ndarray) and numbers.ndim == 1 and numbers.dtype.kind in "iu"
    return known and length in (None, len(numbers))


def _within(indices: Array, length: int) -> bool:
    """Test whether all indices are from 0 to ``length - 1``."""
    return len(indices) == 0 or bool(indices.min() >= 0 and indices.max() < length)
