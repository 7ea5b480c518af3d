"""Columns of NumPy arrays, and of objects that NumPy can convert."""

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
