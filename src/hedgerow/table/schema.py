"""Schemas, and the types of tables and columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame, IntoSeries

    from hedgerow.labels import IntervalTargets, UncertainLabels
    from hedgerow.table.uncertain import UncertainTable

Array: TypeAlias = NDArray[Any]
#: Several columns: a list of (n_rows,), or an array (columns, n_rows).
Block: TypeAlias = list[Array] | Array
Kind: TypeAlias = Literal["number", "boolean", "text", "category", "null", "date", "time"]

#: A table as users pass it; rows of lists may mix numbers, text and None.
TableLike: TypeAlias = (
    "ArrayLike | Sequence[Sequence[object]] | SparseMatrix | IntoDataFrame | LazyTable | UncertainTable | Source"
)
#: y as users pass it: one value per row, or a column per output.
TargetLike: TypeAlias = (
    "ArrayLike | Sequence[object] | IntoSeries | IntoDataFrame | LazyTable | UncertainLabels | IntervalTargets"
)

#: Columns that must be converted or made dense are read in blocks of about this many bytes.
BLOCK_BYTES = 1 << 26


@dataclass(frozen=True, eq=False, repr=False)
class Schema:
    """Names, types and categories of the columns of a training table.

    Parameters
    ----------
    names : tuple of str or None, length n_features
        Column names, or None for a table without names, or with names that are not text.
    nominal : tuple of bool, length n_features
        Whether the column is categorical; otherwise it is numeric.
    categories : tuple of ndarray or None, length n_features
        Sorted distinct values of a categorical column (None for a numeric one): text as ``object``, else
        ``int64``, ``uint64``, ``float64`` or ``bool``.
    kinds : tuple of str, length n_features
        Type of the column: ``"number"``, ``"boolean"``, ``"text"``, ``"category"``, ``"date"`` and ``"time"`` for days
        since 1970 without and with times, or ``"null"`` for a text or untyped column without values, which may be of
        any type in later tables.
    container : str
        Container of the table: ``"array"``, ``"sparse"``, ``"pandas"``, ``"polars"``, ``"pyarrow"``...

    Examples
    --------
    >>> import numpy as np
    >>> from hedgerow.table import read_training_table
    >>> read_training_table(np.eye(3)).schema
    Schema(3 features, 0 nominal, from array)
    """

    names: tuple[str, ...] | None
    nominal: tuple[bool, ...]
    categories: tuple[Array | None, ...]
    kinds: tuple[Kind, ...]
    container: str

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self.nominal)

    @cached_property
    def only_numbers(self) -> bool:
        """Whether no column is categorical and every column has values."""
        return "null" not in self.kinds and True not in self.nominal

    def __getstate__(self) -> dict[str, Any]:
        return {each.name: getattr(self, each.name) for each in fields(self)}  # without cached properties

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Schema):
            return NotImplemented
        return self._facts() == other._facts()

    def __hash__(self) -> int:
        return hash((self.names, self.nominal, self.kinds, self.container))

    def __repr__(self) -> str:
        return f"Schema({self.n_features} features, {sum(self.nominal)} nominal, from {self.container})"

    def _facts(self) -> tuple[object, ...]:
        """Return everything that is compared, in types that compare with ``==``."""
        categories = [None if known is None else (known.dtype, known.tolist()) for known in self.categories]
        return self.names, self.nominal, self.kinds, self.container, categories


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """Named columns of values, read in blocks.

    Parameters
    ----------
    n_rows : int
        Number of rows, at least 1.
    schema : Schema
        Names, types and categories of the columns; a later table has the schema of the training table.
    columns : Columns
        Source of `column_blocks`.
    unseen : ndarray of shape (n_rows,), dtype int32, or None
        Number of new categories in each row; None if no row has any.
    new : dict of int to bool ndarray of shape (n_rows,)
        Rows with a new category, for each feature that has any.
    uncertain : dict of (row, feature) to Any
        Knowledge of uncertain cells; see `hedgerow.table.uncertain`.

    Examples
    --------
    >>> import numpy as np
    >>> from hedgerow.table import read_training_table
    >>> table = read_training_table(np.array([[1.0, np.nan], [2.0, np.inf]]))
    >>> for first, columns in table.column_blocks():
    ...     print(first, *columns)
    0 [1. 2.] [nan inf]
    """

    n_rows: int
    schema: Schema
    columns: TableColumns
    unseen: NDArray[np.int32] | None = None
    new: Mapping[int, NDArray[np.bool_]] = field(default_factory=dict)
    uncertain: Mapping[tuple[int, int], Any] = field(default_factory=dict)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.schema.n_features

    def column_blocks(self) -> Iterator[tuple[int, Block]]:
        """Yield the columns from left to right, in blocks of bounded size.

        Yields
        ------
        first : int
            Index of the block's first feature.
        columns : list of ndarray of shape (n_rows,), or ndarray of shape (width, n_rows)
            Any stride, possibly read-only. Numeric: float64 or float32, NaN is missing, infinities are
            values. Categorical: int32 category index, -1 is missing or new.
        """
        n_features, width = self.n_features, self.columns.width
        for first in range(0, n_features, width):
            yield first, self.columns.read(first, min(first + width, n_features))

    def __repr__(self) -> str:
        return f"Table({self.n_rows} rows, {self.schema!r})"


class TableColumns(Protocol):
    """Columns that are read in blocks of `width`."""

    @property
    def width(self) -> int:
        """Maximum number of columns to read at once."""

    def read(self, first: int, stop: int) -> Block:
        """Return columns ``first`` to ``stop - 1``, each (n_rows,)."""


#: A column, or a function that makes it when its block is read.
Column: TypeAlias = Array | Callable[[], Array]


class Factors(NamedTuple):
    """A column as distinct values (k,) and codes (n_rows,), -1 for missing values."""

    codes: Array
    values: Array


class SparseMatrix(Protocol):
    """A sparse matrix or array of SciPy, in any format."""

    @property
    def shape(self) -> tuple[int, ...]:
        """(n_rows, n_features)."""

    def tocsc(self, copy: bool = False) -> SparseMatrix:
        """Return the table by columns."""


class LazyTable(Protocol):
    """A table or column of Dask."""

    def to_delayed(self) -> object:
        """Return the partitions."""


class Source(Protocol):
    """A table of a known container, as a source of columns."""

    names: tuple[str, ...] | None

    @property
    def container(self) -> str:
        """Container of the table, as in `Schema.container`."""

    @property
    def native(self) -> Any:
        """The table in a form that scikit-learn can check."""

    @property
    def shape(self) -> tuple[int, int]:
        """(n_rows, n_features), both at least 1."""

    def kinds(self) -> list[Kind]:
        """Return the column types (n_features,)."""

    def nominal_by_type(self) -> list[bool]:
        """Return which columns are categorical by their type, (n_features,)."""

    def factors(self, feature: int) -> Factors:
        """Return the distinct values of a column and their codes."""

    def columns(self, given: Mapping[int, Array]) -> TableColumns:
        """Return all columns: the `given` ones unchanged, the others as numbers."""


@dataclass(frozen=True)
class ListedColumns:
    """Columns, or functions that make them when their block is read."""

    listed: list[Column]
    n_rows: int

    @property
    def width(self) -> int:
        """Number of columns to read at once: all, unless some have to be made."""
        if any(callable(column) for column in self.listed):
            return block_width(self.n_rows)
        return len(self.listed)

    def read(self, first: int, stop: int) -> list[Array]:
        """Return columns ``first`` to ``stop - 1``, each (n_rows,)."""
        return [column() if callable(column) else column for column in self.listed[first:stop]]


def block_width(n_rows: int) -> int:
    """Return the number of float64 columns of `n_rows` in a block, at least one."""
    return max(1, BLOCK_BYTES // (8 * n_rows))


def label(names: tuple[str, ...] | None, feature: int) -> str:
    """Return the name of a feature for error messages."""
    return f"Column {feature}" if names is None else f"Column {names[feature]!r}"
