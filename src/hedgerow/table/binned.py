"""Binned: columns, one after another -> a table of codes; the values of a column are let go when it is encoded."""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from hedgerow import _core
from hedgerow.table.bins import MAX_BINS, Bins, Codes, encode, find_bins, join_bins
from hedgerow.table.named import Listed, NamedColumns
from hedgerow.table.read import read_training_table
from hedgerow.table.schema import Schema, Table, block_width

#: Columns that are binned together take about this many bytes, unless there are more threads than such columns.
BATCH_BYTES = 1 << 24


@dataclass(frozen=True, eq=False)
class BinnedTable:
    """A training table of which only the codes are left; a fit takes it like any other table.

    Parameters
    ----------
    schema : Schema
        Names, kinds and categories of its columns.
    bins : Bins
        Where they are cut.
    codes : (p, n) uint8 or uint16
        The cells.
    """

    schema: Schema
    bins: Bins
    codes: Codes

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.codes.shape[1])


def bin_columns(
    names: tuple[str, ...],
    columns: Iterable[Listed],
    n_rows: int,
    *,
    dates: Set[str] = frozenset(),
    max_bins: int | str | None = "auto",
    gaps: bool = False,
    n_threads: int = 1,
) -> BinnedTable:
    """Bin the columns of a training table a few at a time, so that the table is never in memory as a whole.

    Parameters
    ----------
    names : tuple of str of length n_features
        Names, all different.
    columns : iterable of length n_features
        Each column as in `NamedColumns`. Those that are encoded are not used any more.
    n_rows : int
        The rows of each column.
    dates : set of str
        The names of columns that hold days since 1970, to be shown as dates.
    max_bins, gaps, n_threads
        As in `find_bins`.

    Examples
    --------
    >>> import numpy as np
    >>> bin_columns(("a", "b"), iter([np.array([1.0, 2.5, np.nan]), np.array([3, 3, 3])]), 3).codes
    array([[  0,   1, 255],
           [  0,   0,   0]], dtype=uint8)
    """
    codes: Codes = np.empty((len(names), n_rows), dtype=np.uint8)
    schemas, bins, first = [], [], 0
    left = iter(columns)
    width = max(n_threads, BATCH_BYTES // (8 * n_rows))
    while batch := list(islice(left, min(width, block_width(n_rows)))):
        table = read_training_table(NamedColumns(names[first : first + len(batch)], batch, dates))
        bins.append(find_bins(table, max_bins=max_bins, gaps=gaps, n_threads=n_threads))
        if bins[-1].code_type == np.uint16:
            codes = _widened(codes)
        codes[first : first + len(batch)] = _as_wide(encode(table, bins[-1], n_threads=n_threads), codes.dtype)
        schemas.append(table.schema)
        first += len(batch)
        is_large = 8 * n_rows * len(batch) >= BATCH_BYTES // 2
        del table, batch
        if is_large:
            _core.give_back_memory()
    return BinnedTable(_join_schemas(schemas), join_bins(bins), codes)


def bins_and_codes(
    table: Table | BinnedTable,
    known: Bins | None = None,
    *,
    rows: NDArray[np.uint32] | None = None,
    max_bins: int | str | None = "auto",
    gaps: bool = False,
    n_threads: int = 1,
) -> tuple[Bins, Codes]:
    """A table -> its bins, unless they are `known`, and its codes; see `find_bins` and `encode`."""
    if isinstance(table, BinnedTable):
        return table.bins, table.codes
    bins = known or find_bins(table, rows=rows, max_bins=max_bins, gaps=gaps, n_threads=n_threads)
    return bins, encode(table, bins, n_threads=n_threads)


def _widened(codes: Codes) -> Codes:
    """Codes (p, n) -> the same in two bytes."""
    return codes if codes.dtype == np.uint16 else _as_wide(codes, np.dtype(np.uint16))


def _as_wide(codes: Codes, dtype: np.dtype[np.generic]) -> Codes:
    """Codes -> the same in another type, whose highest value means missing, too."""
    if codes.dtype == dtype:
        return codes
    wide = codes.astype(dtype)
    wide[codes == MAX_BINS] = np.iinfo(np.uint16).max
    return wide


def _join_schemas(parts: list[Schema]) -> Schema:
    """Schemas of some columns each -> the schema of all, left to right."""
    return Schema(
        tuple(name for part in parts for name in part.names or ()),
        tuple(one for part in parts for one in part.nominal),
        tuple(one for part in parts for one in part.categories),
        tuple(one for part in parts for one in part.kinds),
        parts[0].container,
    )
