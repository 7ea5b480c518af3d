"""Tables made of separate columns with names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeAlias

import numpy as np
from sklearn.utils.validation import check_array

from hedgerow.table.arrays import numeric_column
from hedgerow.table.categories import factors_from_numbers, numbers_of_values
from hedgerow.table.codebook import type_of_days
from hedgerow.table.schema import Array, Column, Factors, Kind, ListedColumns, TableColumns, label


class CompressedColumn(Protocol):
    """Numbers (n_rows,) that are converted to floats when read."""

    @property
    def dtype(self) -> np.dtype[Any]: ...
    def __len__(self) -> int: ...
    def __getitem__(self, rows: Any) -> Array:
        """Return the numbers of rows."""


Listed: TypeAlias = Array | Factors | CompressedColumn


@dataclass
class NamedColumns:
    """A table made of columns, without a data frame, as on the command line.

    Parameters
    ----------
    names : tuple of str of length n_features, or None
        Unique names.
    listed : sequence of length n_features
        Numbers or booleans (n_rows,), NaN if missing, as an array or `CompressedColumn`; or `Factors` if categorical.
    dates : set of str
        Names of columns of days since 1970.

    Examples
    --------
    >>> import numpy as np
    >>> from hedgerow.table import Factors, NamedColumns, read_training_table
    >>> colour = Factors(np.array([0, 1, 0, -1]), np.array(["red", "blue"], dtype=object))
    >>> table = read_training_table(NamedColumns(("size", "colour"), [np.array([1.0, 2.0, np.nan, 3.0]), colour]))
    >>> table.schema
    Schema(2 features, 1 nominal, from columns)
    """

    names: tuple[str, ...] | None
    listed: Sequence[Listed]
    dates: Set[str] = frozenset()
    container = "columns"

    def __post_init__(self) -> None:
        if 0 in self.shape:
            check_array(np.empty(self.shape))  # scikit-learn raises its own error; it always does here

    @property
    def native(self) -> Array:
        """An array of the same shape, for the checks of scikit-learn."""
        return np.broadcast_to(np.float64(0), self.shape)

    @property
    def shape(self) -> tuple[int, int]:
        """(n_rows, n_features)."""
        if not self.listed:
            return 0, 0
        first = self.listed[0]
        return len(first.codes if isinstance(first, Factors) else first), len(self.listed)

    def some(self, rows: Array | slice) -> NamedColumns:
        """Return a table of some rows."""
        return NamedColumns(
            self.names,
            [
                Factors(each.codes[rows], each.values) if isinstance(each, Factors) else each[rows]
                for each in self.listed
            ],
            self.dates,
        )

    def kinds(self) -> list[Kind]:
        """Return the type of each column."""
        names = self.names or ("",) * len(self.listed)
        return [_column_type(column, name in self.dates) for name, column in zip(names, self.listed, strict=True)]

    def nominal_by_type(self) -> list[bool]:
        """Return which columns are `Factors`."""
        return [isinstance(column, Factors) for column in self.listed]

    def factors(self, feature: int) -> Factors:
        """Return the distinct values of a column and their codes."""
        column = self.listed[feature]
        return column if isinstance(column, Factors) else factors_from_numbers(column[:])

    def columns(self, given: Mapping[int, Array]) -> TableColumns:
        """Return the columns, as views where no conversion is needed."""
        listed = [
            given[j] if j in given else _numbers(column, label(self.names, j)) for j, column in enumerate(self.listed)
        ]
        return ListedColumns(listed, self.shape[0])


def _column_type(column: Listed, dated: bool) -> Kind:
    """Return the type of a column; `dated` ones are days since 1970."""
    if isinstance(column, Factors):
        return "text" if column.values.dtype == object else "category"
    if dated:
        return type_of_days(column[:])
    return "boolean" if column.dtype.kind == "b" else "number"


def _numbers(column: Listed, where: str) -> Column:
    """Return a column as floats, or a function that makes them."""
    if isinstance(column, Factors):
        return partial(numbers_of_values(column, where).__getitem__, column.codes)
    return numeric_column(column) if isinstance(column, np.ndarray) else partial(column.__getitem__, slice(None))
