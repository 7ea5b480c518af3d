"""Sparse: scipy sparse matrices and arrays of any format -> columns, made dense block by block."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array

from hedgerow.table.arrays import is_float
from hedgerow.table.categories import factors_from_numbers
from hedgerow.table.schema import Array, Columns, Factors, Kind, block_width


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
        """Numbers, or booleans."""
        kind: Kind = "boolean" if self.by_column.dtype.kind == "b" else "number"
        return [kind] * self.shape[1]

    def nominal_by_type(self) -> list[bool]:
        """None: columns of numbers are not nominal by their type."""
        return [False] * self.shape[1]

    def factors(self, feature: int) -> Factors:
        """The column's distinct numbers, and which of them each row has."""
        return factors_from_numbers(self.by_column[:, [feature]].toarray()[:, 0])

    def columns(self, given: Mapping[int, Array]) -> Columns:
        """Blocks of dense columns; cells that are not stored are zeros."""
        return SparseColumns(self.by_column, given)


@dataclass(frozen=True)
class SparseColumns:
    """The columns of a sparse table, dense while they are read."""

    by_column: Any
    given: Mapping[int, Array]

    @property
    def width(self) -> int:
        """As many dense columns as fit a block."""
        return block_width(self.by_column.shape[0])

    def read(self, first: int, stop: int) -> list[Array]:
        """Columns ``first`` to ``stop - 1``, each (n_rows,)."""
        block = self.by_column[:, first:stop].toarray(order="F")
        dense = block if is_float(block.dtype) else block.astype(np.float64)
        return [self.given.get(first + j, column) for j, column in enumerate(dense.T)]


def source_from_sparse(X: Any) -> SparseTable:
    """Sparse table of any format -> its columns; errors about shape and type are scikit-learn's."""
    if X.ndim != 2 or 0 in X.shape or X.dtype.kind not in "fiub":
        if X.ndim != 2:
            raise ValueError(
                f"Expected 2D array, got {X.ndim}D sparse array instead. Reshape your data either using "
                "X.reshape(-1, 1) if it has a single feature or X.reshape(1, -1) if it is a single sample."
            )
        check_array(X, accept_sparse=True, dtype=None, ensure_all_finite=False)
        raise ValueError(f"A sparse X must hold real numbers, got dtype {X.dtype}; convert it first")
    return SparseTable(X.tocsc())
