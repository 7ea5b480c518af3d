"""Recoded: a column of numbers, and the bins of a model -> a smaller column about which that model says the same."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hedgerow import _core
from hedgerow.table.bins import Codes
from hedgerow.table.meaning import Codebook
from hedgerow.table.schema import Array

Floats = NDArray[np.float64]

#: A column of which more than one number in so many lies outside the training range is kept as it is.
MOST_OUTSIDE = 8


class CompactColumn:
    """Numbers (n,), stored as the bins of a model. Numbers outside the training range are stored as they are.

    The model answers as if it had the numbers themselves. A number inside the range comes back as the end of its bin.

    Parameters
    ----------
    codes : (n,) uint8 or uint16
        The bin of each number; missing values have the highest code.
    values : (bins + 1,) float64
        A number of each bin, then NaN.
    rows, outside : (k,) int64, (k,) float64
        Which rows have numbers outside the range, in ascending order, and these numbers.
    """

    dtype = np.dtype(np.float64)

    def __init__(self, codes: Codes, values: Floats, rows: NDArray[np.int64], outside: Floats) -> None:
        self._codes, self._values, self._rows, self._outside = codes, values, rows, outside

    def __len__(self) -> int:
        return len(self._codes)

    def __getitem__(self, rows: Array | slice) -> Floats:
        """The numbers of some rows; a slice must go forward, row by row."""
        if not isinstance(rows, slice):
            return self[:][rows]
        first, last, _ = rows.indices(len(self))
        numbers = self._values.take(self._codes[first:last], mode="clip")
        begin, end = np.searchsorted(self._rows, (first, last))
        numbers[self._rows[begin:end] - first] = self._outside[begin:end]
        return numbers


def recoded(numbers: Array, feature: int, codebook: Codebook) -> CompactColumn | Array:
    """A column (n,) of a later table, and what the codes of a model mean -> the column in fewer bytes.

    The column is returned unchanged if bins do not say enough: if the model knows every training value, if the feature
    has no bins, or if many numbers lie outside the training range. Floats of four bytes are returned unchanged, too,
    because they are compared with the range in four bytes.
    """
    cuts, n_bins = codebook.bins.cuts_of(feature), int(codebook.bins.n_bins[feature])
    if codebook.exact or not n_bins or numbers.dtype == np.float32:
        return numbers
    low, high = codebook.range_of(feature)
    values = np.append(cuts, high)  # a bin ends with its cut
    # Each of them must lie in the bin for which it stands.
    fits = np.array_equal(_codes_of(values, cuts, codebook), np.arange(n_bins)) and low <= values[0] <= high
    floats = numbers.astype(np.float64, copy=False)
    rows = np.flatnonzero((floats < low) | (floats > high))
    if not fits or len(rows) > len(floats) // MOST_OUTSIDE:
        return numbers
    return CompactColumn(_codes_of(floats, cuts, codebook), np.append(values, np.nan), rows, floats[rows])


def _codes_of(numbers: Floats, cuts: Floats, codebook: Codebook) -> Codes:
    """Numbers (n,), cuts -> codes (n,)."""
    codes = np.empty((1, len(numbers)), dtype=codebook.bins.code_type)
    _core.encode_into([numbers], 0, cuts, np.array([0, len(cuts)]), None, 1, codes)
    return np.asarray(codes[0])
