"""Bin edges of columns, and encoding of values as bin indices."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hedgerow import _core
from hedgerow.table.schema import Schema, Table

#: With max_bins="auto", every distinct value is a bin in a table of at most this many rows …
EXACT_ROWS = 4096
#: … and columns of longer tables have at most this many bins (a byte per cell, one code for missing).
MAX_BINS = 255
#: Maximum number of bins: two bytes per cell, one code for missing.
MOST_BINS = 65_535
#: Edges of a large column are chosen from a sample of about this many rows.
SAMPLE_ROWS = 100_000

Codes: TypeAlias = NDArray[Any]  # uint8 or uint16


@dataclass(frozen=True)
class Bins:
    """Bin edges of all features.

    Parameters
    ----------
    nominal : (p,) uint8
        1 for categorical features, whose codes are category indices.
    n_bins : (p,) int64
        Number of bins of each feature; missing values have a code beyond these.
    cuts, cut_start : (sum of cuts,) float64, (p + 1,) int64
        Code c of a numeric feature covers ``(cuts[c - 1], cuts[c]]``.
    centers, center_start : (sum of bins,) float64, (p + 1,) int64
        Typical value of each numeric bin: the value itself if it is the only one.
    """

    nominal: NDArray[np.uint8]
    n_bins: NDArray[np.int64]
    cuts: NDArray[np.float64]
    cut_start: NDArray[np.int64]
    centers: NDArray[np.float64]
    center_start: NDArray[np.int64]

    @cached_property
    def code_type(self) -> type[np.uint8] | type[np.uint16]:
        """The smallest type for all codes; its highest value means missing."""
        return np.uint8 if self.n_bins.max(initial=0) <= MAX_BINS else np.uint16

    def __getstate__(self) -> dict[str, Any]:
        return {each.name: getattr(self, each.name) for each in fields(self)}  # without cached properties

    def cuts_of(self, feature: int) -> NDArray[np.float64]:
        """Return the edges (bins - 1,) of a feature."""
        return self.cuts[self.cut_start[feature] : self.cut_start[feature + 1]]


def find_bins(
    table: Table,
    *,
    rows: NDArray[np.uint32] | None = None,
    max_bins: int | str | None = "auto",
    gaps: bool = False,
    n_threads: int = 1,
) -> Bins:
    """Choose the bin edges of a training table, from all or the given `rows`.

    A column with at most `max_bins` distinct values is cut between all neighbouring values, so its trees equal those of
    CART. Bins of other columns are narrower towards both ends; see `BinSizes` in ``bins.hpp``. With `gaps`, the space
    between two values is a bin too, if there are few enough, which allows thresholds at values.
    """
    sizes = bin_limits(table.n_rows if rows is None else len(rows), max_bins)
    blocks = (columns for _, columns in table.column_blocks())
    return bins_from_columns(table.schema, blocks, rows, *sizes, n_threads, gaps)


def bin_limits(n_rows: int, max_bins: int | str | None) -> tuple[int, int]:
    """Return the number of rows to sample and the maximum number of bins per column."""
    if max_bins is None:
        return max(1, n_rows), MOST_BINS
    if isinstance(max_bins, str):  # "auto"
        return SAMPLE_ROWS, MOST_BINS if n_rows <= EXACT_ROWS else MAX_BINS
    return SAMPLE_ROWS, int(max_bins)


def bins_from_columns(
    schema: Schema,
    blocks: Iterable[list[NDArray[np.generic]] | NDArray[np.generic]],
    rows: NDArray[np.uint32] | None,
    sample_rows: int,
    max_bins: int,
    n_threads: int,
    gaps: bool = False,
) -> Bins:
    """Choose bin edges of blocks of columns, from about `sample_rows` rows."""
    parts = [_core.find_bins(columns, rows, sample_rows, max_bins, n_threads, gaps) for columns in blocks]
    cuts, cut_start = _join([(part[0], part[1]) for part in parts])
    centers, center_start = _join([(part[2], part[3]) for part in parts])
    nominal = np.array(schema.nominal, dtype=np.uint8)
    n_bins = np.diff(center_start)
    for feature in np.flatnonzero(nominal):
        categories = schema.categories[feature]
        n_bins[feature] = 0 if categories is None else len(categories)
    return Bins(nominal, n_bins, cuts, cut_start, centers, center_start)


def join_bins(parts: list[Bins]) -> Bins:
    """Join the bins of consecutive features."""
    cuts, cut_start = _join([(part.cuts, part.cut_start) for part in parts])
    centers, center_start = _join([(part.centers, part.center_start) for part in parts])
    nominal, n_bins = (np.concatenate([getattr(part, name) for part in parts]) for name in ("nominal", "n_bins"))
    return Bins(nominal, n_bins, cuts, cut_start, centers, center_start)


def encode(table: Table, bins: Bins, *, wanted: NDArray[np.uint8] | None = None, n_threads: int = 1) -> Codes:
    """Encode the values of a table as bin indices.

    Returns
    -------
    codes : (p, n) uint8 or uint16
        One row per feature. Features that are not `wanted` (p,) are undefined.
    """
    codes = np.empty((table.n_features, table.n_rows), dtype=bins.code_type)
    for first_feature, columns in table.column_blocks():
        _core.encode_into(columns, first_feature, bins.cuts, bins.cut_start, wanted, n_threads, codes)
    return codes


def _join(
    parts: list[tuple[NDArray[np.float64], NDArray[np.int64]]],
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Join arrays of values and starts."""
    if len(parts) == 1:
        return parts[0]
    lengths = np.concatenate([np.diff(starts) for _, starts in parts])
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return np.concatenate([values for values, _ in parts]), starts
