"""Arrays: NumPy arrays, and objects that NumPy can convert -> columns."""

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
from hedgerow.table.schema import Array, Column, Factors, Kind, ListedColumns, TableColumns, block_width, label


@dataclass
class NumberArray:
    """A 2-D array of a real dtype, perhaps taken from a data frame."""

    values: Array
    names: tuple[str, ...] | None = None
    container: str = "array"
    frame: Any = None

    @property
    def native(self) -> Any:
        """The data frame the array was taken from, else the array."""
        return self.values if self.frame is None else self.frame

    @property
    def shape(self) -> tuple[int, int]:
        """(n_rows, n_features)."""
        n_rows, n_features = self.values.shape
        return n_rows, n_features

    def kinds(self) -> list[Kind]:
        """Numbers, or booleans."""
        kind: Kind = "boolean" if self.values.dtype.kind == "b" else "number"
        return [kind] * self.values.shape[1]

    def nominal_by_type(self) -> list[bool]:
        """None: columns of numbers are not nominal by their type."""
        return [False] * self.values.shape[1]

    def factors(self, feature: int) -> Factors:
        """The column's distinct numbers, and which of them each row has."""
        return factors_from_numbers(self.values[:, feature])

    def columns(self, given: Mapping[int, Array]) -> TableColumns:
        """Views of the array where no conversion is needed."""
        if not given:
            return ArrayColumns(self.values)
        numbers = [numeric_column(column) for column in self.values.T]
        return ListedColumns([given.get(j, column) for j, column in enumerate(numbers)], len(self.values))


@dataclass
class CellArray:
    """A 2-D array of objects or strings; columns that are not nominal must be readable as numbers."""

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
        """Numbers, unless a column turns out to be nominal."""
        return ["number"] * self.cells.shape[1]

    def nominal_by_type(self) -> list[bool]:
        """None: an array has one type for all columns, which says nothing about a single one."""
        return [False] * self.cells.shape[1]

    def factors(self, feature: int) -> Factors:
        """The column's distinct cells, and which of them each row has."""
        return factors_from_cells(self.cells[:, feature], label(self.names, feature))

    def columns(self, given: Mapping[int, Array]) -> TableColumns:
        """The given columns unchanged, all others converted to float64."""
        listed: list[Column] = [
            given[j] if j in given else numbers_from_cells(self.cells[:, j], label(self.names, j))
            for j in range(self.cells.shape[1])
        ]
        return ListedColumns(listed, len(self.cells))


class ArrayColumns:
    """The columns of a 2-D array of numbers: views, or float64 copies of a block.

    Parameters
    ----------
    values : (n_rows, n_features)
        The array.
    """

    def __init__(self, values: Array) -> None:
        self.values, self._as_they_are = values, is_float(values.dtype)

    @property
    def width(self) -> int:
        """All columns at once, unless they must be copied."""
        return self.values.shape[1] if self._as_they_are else block_width(len(self.values))

    def read(self, first: int, stop: int) -> Array:
        """Columns ``first`` to ``stop - 1``: (stop - first, n_rows)."""
        block = self.values[:, first:stop]
        return block.T if self._as_they_are else block.astype(np.float64, order="F").T


def source_from_array(X: Any) -> NumberArray | CellArray:
    """NumPy array or array-like -> its columns; scikit-learn raises the errors about its shape."""
    values = X if type(X) is np.ndarray else _plain_array(X)
    if values.ndim != 2 or 0 in values.shape or values.dtype.kind == "c":
        # Let scikit-learn raise its own error about a table that is not 2-D, is empty or complex; it always does here.
        check_array(values, dtype=None, ensure_all_finite=False)
    kind = values.dtype.kind
    if kind in "fiub":
        return NumberArray(values)
    if kind in "OUST":
        return CellArray(values)
    if kind in "mM":
        raise ValueError(f"X must hold numbers, text or categories, got dates ({values.dtype}); {ADVICE_ON_DATES}")
    raise ValueError(f"X must hold numbers or text, got an array of dtype {values.dtype}; pass one column per field")


def is_float(dtype: np.dtype[Any]) -> bool:
    """Whether columns of this dtype can be used without conversion."""
    return dtype.kind == "f" and dtype.itemsize in (4, 8) and dtype.isnative


def numeric_column(column: Array) -> Column:
    """Real numbers (n_rows,) -> the same view if float, else a function that makes a float64 copy."""
    return column if is_float(column.dtype) else partial(column.astype, np.float64)


def numbers_from_cells(cells: Array, where: str) -> NDArray[np.float64]:
    """Objects or strings (n_rows,) -> float64 (n_rows,), missing -> NaN."""
    try:
        return cells.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        return np.array([_number_from_cell(cell, where) for cell in cells.tolist()], dtype=np.float64)


def _number_from_cell(cell: object, where: str) -> float:
    """One object -> float; the error names the object."""
    if is_missing(cell):
        return np.nan
    try:
        return float(cell)  # type: ignore[arg-type]
    except TypeError:
        # scikit-learn's estimator checks look for the words "argument must be … string … number".
        advice = ADVICE_ON_DATES if is_date(cell) else "convert the column to numbers"
        raise TypeError(
            f"{where}: argument must be a string or a number, got {type(cell).__name__}; {advice}"
        ) from None
    except (ValueError, OverflowError):
        raise ValueError(
            f"{where} must hold numbers, got {str(cell)[:40]!r}; "
            "name the column in categorical_features if its values are categories"
        ) from None


def _plain_array(X: Any) -> Array:
    """Array-like -> plain ndarray; masked cells become NaN."""
    if isinstance(X, np.ma.MaskedArray):
        return np.ma.filled(X.astype(np.result_type(X.dtype, np.float32)), np.nan)
    if isinstance(X, np.ndarray):
        return np.asarray(X)
    with config_context(array_api_dispatch=False):  # the core reads NumPy arrays, whatever X is
        values: Array = check_array(X, dtype=None, ensure_all_finite=False)
    if values.dtype.kind == "U" and isinstance(X, list | tuple):  # NumPy has turned numbers, NaN and booleans into text
        return np.array([list(row) for row in X], dtype=object)
    return values
