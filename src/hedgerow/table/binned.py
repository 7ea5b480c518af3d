"""Binned tables, encoded column by column to save memory."""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from hedgerow import _core
from hedgerow.table.bins import MAX_BINS, Bins, Codebook, Codes, encode, find_bins, join_bins
from hedgerow.table.frames import Listed, NamedColumns
from hedgerow.table.read import read_training_table
from hedgerow.table.schema import Array, Schema, Table, block_width

#: Columns that are binned together take about this many bytes, unless there are more threads than such columns.
BATCH_BYTES = 1 << 24


@dataclass(frozen=True, eq=False)
class BinnedTable:
    """A training table reduced to bin indices; `fit` accepts it like any other table.

    Parameters
    ----------
    schema : Schema
        Names, types and categories of the columns.
    bins : Bins
        Bin edges of the columns.
    codes : (p, n) uint8 or uint16
        Bin indices of the cells.
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
    """Bin the columns of a training table in batches, to keep few of them in memory.

    Parameters
    ----------
    names : tuple of str of length n_features
        Unique names.
    columns : iterable of length n_features
        Columns as in `NamedColumns`; each is used once.
    n_rows : int
        Number of rows in each column.
    dates : set of str
        Names of columns of days since 1970, to be shown as dates.
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
    """Return the bins of a table, unless `known`, and its codes."""
    if isinstance(table, BinnedTable):
        return table.bins, table.codes
    bins = known or find_bins(table, rows=rows, max_bins=max_bins, gaps=gaps, n_threads=n_threads)
    return bins, encode(table, bins, n_threads=n_threads)


def _widened(codes: Codes) -> Codes:
    """Return codes (p, n) in two bytes."""
    return codes if codes.dtype == np.uint16 else _as_wide(codes, np.dtype(np.uint16))


def _as_wide(codes: Codes, dtype: np.dtype[np.generic]) -> Codes:
    """Return codes in another type, whose highest value also means missing."""
    if codes.dtype == dtype:
        return codes
    wide = codes.astype(dtype)
    wide[codes == MAX_BINS] = np.iinfo(np.uint16).max
    return wide


def _join_schemas(parts: list[Schema]) -> Schema:
    """Join the schemas of consecutive columns."""
    return Schema(
        tuple(name for part in parts for name in part.names or ()),
        tuple(one for part in parts for one in part.nominal),
        tuple(one for part in parts for one in part.categories),
        tuple(one for part in parts for one in part.kinds),
        parts[0].container,
    )


Floats = NDArray[np.float64]

#: A column with more than one number in this many outside the training range is not compacted.
MOST_OUTSIDE = 8


class CompactColumn:
    """Numbers (n,) stored as bin indices, except those outside the training range.

    Predictions are the same as for the original numbers. A number within the range is returned as the end of its bin.

    Parameters
    ----------
    codes : (n,) uint8 or uint16
        Bin index of each number; missing values have the highest code.
    values : (bins + 1,) float64
        A number within each bin, then NaN.
    rows, outside : (k,) int64, (k,) float64
        Rows with numbers outside the range, in ascending order, and these numbers.
    """

    dtype = np.dtype(np.float64)

    def __init__(self, codes: Codes, values: Floats, rows: NDArray[np.int64], outside: Floats) -> None:
        self._codes, self._values, self._rows, self._outside = codes, values, rows, outside

    def __len__(self) -> int:
        return len(self._codes)

    def __getitem__(self, rows: Array | slice) -> Floats:
        """Return the numbers of rows; slices must have step 1."""
        if not isinstance(rows, slice):
            return self[:][rows]
        first, last, _ = rows.indices(len(self))
        numbers = self._values.take(self._codes[first:last], mode="clip")
        begin, end = np.searchsorted(self._rows, (first, last))
        numbers[self._rows[begin:end] - first] = self._outside[begin:end]
        return numbers


def compacted(numbers: Array, feature: int, codebook: Codebook) -> CompactColumn | Array:
    """Store a column (n,) of a later table as bin indices, where that is exact.

    The column is returned unchanged if the model distinguishes every training value, the feature has no bins, or many
    numbers are outside the training range. So are four-byte floats, because they are compared with the range in four
    bytes.
    """
    cuts, n_bins = codebook.bins.cuts_of(feature), int(codebook.bins.n_bins[feature])
    if codebook.exact or not n_bins or numbers.dtype == np.float32:
        return numbers
    low, high = codebook.range_of(feature)
    values = np.append(cuts, high)  # each cut is the upper end of its bin
    # Every value must be within the bin that it represents.
    fits = np.array_equal(_codes_of(values, cuts, codebook), np.arange(n_bins)) and low <= values[0] <= high
    floats = numbers.astype(np.float64, copy=False)
    rows = np.flatnonzero((floats < low) | (floats > high))
    if not fits or len(rows) > len(floats) // MOST_OUTSIDE:
        return numbers
    return CompactColumn(_codes_of(floats, cuts, codebook), np.append(values, np.nan), rows, floats[rows])


def _codes_of(numbers: Floats, cuts: Floats, codebook: Codebook) -> Codes:
    """Encode numbers (n,) as codes (n,)."""
    codes = np.empty((1, len(numbers)), dtype=codebook.bins.code_type)
    _core.encode_into([numbers], 0, cuts, np.array([0, len(cuts)]), None, 1, codes)
    return np.asarray(codes[0])
