"""Columns of scipy sparse matrices and arrays, made dense block by block."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array

from hedgerow.table.arrays import is_float
from hedgerow.table.categories import factors_from_numbers
from hedgerow.table.schema import Array, Factors, Kind, TableColumns, block_width


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
