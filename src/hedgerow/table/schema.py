"""Schema: the columns of a training table -> what a later table must have; and the types of tables and columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
#: Some columns: a list of (n_rows,), or an array (columns, n_rows).
Block: TypeAlias = list[Array] | Array
Kind: TypeAlias = Literal["number", "boolean", "text", "category", "null", "date", "time"]

#: Columns that must be converted or made dense are read in blocks of about this many bytes.
BLOCK_BYTES = 1 << 26


@dataclass(frozen=True, eq=False, repr=False)
class Schema:
    """What a model keeps about its training table of `n_features` columns.

    Parameters
    ----------
    names : tuple of str or None, length n_features
        The names of the columns, or None if the table had no names, or names that are not text.
    nominal : tuple of bool, length n_features
        Whether the column is nominal; otherwise it is numeric.
    categories : tuple of ndarray or None, length n_features
        The distinct values of a nominal column, sorted (None for a numeric one): text as ``object``, else
        ``int64``, ``uint64``, ``float64`` or ``bool``.
    kinds : tuple of str, length n_features
        What the column held: ``"number"``, ``"boolean"``, ``"text"``, ``"category"``, ``"date"`` and ``"time"`` for
        days since 1970 without and with times, or ``"null"`` for a text or untyped column without a single value,
        which may hold anything in later tables.
    container : str
        The kind of table: ``"array"``, ``"sparse"``, ``"pandas"``, ``"polars"``, ``"pyarrow"``...

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
        """Whether no column is nominal, and every column had values."""
        return "null" not in self.kinds and True not in self.nominal

    def __getstate__(self) -> dict[str, Any]:
        return {each.name: getattr(self, each.name) for each in fields(self)}  # without what is computed from them

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Schema):
            return NotImplemented
        return self._facts() == other._facts()

    def __hash__(self) -> int:
        return hash((self.names, self.nominal, self.kinds, self.container))

    def __repr__(self) -> str:
        return f"Schema({self.n_features} features, {sum(self.nominal)} nominal, from {self.container})"

    def _facts(self) -> tuple[object, ...]:
        """Everything that is compared, in types that compare with ``==``."""
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
        Names, kinds and categories of the columns; a later table has the schema of the training table.
    columns : Columns
        Where `column_blocks` reads from.
    unseen : ndarray of shape (n_rows,), dtype int32, or None
        How many nominal cells of each row hold a category that did not occur in training; None if no row has any.
    new : dict of int to bool ndarray of shape (n_rows,)
        For each feature with such categories, which rows have one.
    uncertain : dict of (row, feature) to Any
        What is known of cells that are uncertain; see `hedgerow.table.uncertain`.

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
            Number of the block's first feature.
        columns : list of ndarray of shape (n_rows,), or ndarray of shape (width, n_rows)
            Any stride, possibly read-only. Numeric: float64 or float32, NaN is missing, infinities are
            values. Nominal: int32 category number, -1 is missing or unseen.
        """
        n_features, width = self.n_features, self.columns.width
        for first in range(0, n_features, width):
            yield first, self.columns.read(first, min(first + width, n_features))

    def __repr__(self) -> str:
        return f"Table({self.n_rows} rows, {self.schema!r})"


class TableColumns(Protocol):
    """Columns that can be read in blocks of `width`."""

    @property
    def width(self) -> int:
        """How many columns may be read at once."""

    def read(self, first: int, stop: int) -> Block:
        """Columns ``first`` to ``stop - 1``, each (n_rows,)."""


#: A column, or a function that makes it when its block is read.
Column: TypeAlias = Array | Callable[[], Array]


class Factors(NamedTuple):
    """A column as its distinct values (k,) and codes (n_rows,): which value each row has, -1 if it is missing."""

    codes: Array
    values: Array


class Source(Protocol):
    """A table of a known kind, from which columns can be read."""

    names: tuple[str, ...] | None

    @property
    def container(self) -> str:
        """The kind of table, as in `Schema.container`."""

    @property
    def native(self) -> Any:
        """The table in a form scikit-learn can check."""

    @property
    def shape(self) -> tuple[int, int]:
        """(n_rows, n_features), both at least 1."""

    def kinds(self) -> list[Kind]:
        """(n_features,): what the columns hold, by their type."""

    def nominal_by_type(self) -> list[bool]:
        """(n_features,): which columns are nominal by their type."""

    def factors(self, feature: int) -> Factors:
        """The column's distinct values, and which of them each row has."""

    def columns(self, given: Mapping[int, Array]) -> TableColumns:
        """All columns: the `given` ones unchanged, the others as numbers."""


@dataclass(frozen=True)
class ListedColumns:
    """Columns, or functions that make them when their block is read."""

    listed: list[Column]
    n_rows: int

    @property
    def width(self) -> int:
        """All columns at once, unless some have to be made."""
        if any(callable(column) for column in self.listed):
            return block_width(self.n_rows)
        return len(self.listed)

    def read(self, first: int, stop: int) -> list[Array]:
        """Columns ``first`` to ``stop - 1``, each (n_rows,)."""
        return [column() if callable(column) else column for column in self.listed[first:stop]]


def block_width(n_rows: int) -> int:
    """How many float64 columns of `n_rows` fit a block, at least one."""
    return max(1, BLOCK_BYTES // (8 * n_rows))


def label(names: tuple[str, ...] | None, feature: int) -> str:
    """A feature -> its name in an error message."""
    return f"Column {feature}" if names is None else f"Column {names[feature]!r}"
