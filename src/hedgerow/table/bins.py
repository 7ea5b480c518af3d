"""Bin edges of columns, encoding of values as bin indices, and what the indices stand for."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hedgerow import _core
from hedgerow.table.schema import Kind, Schema, Table

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


# ---- Names, numbers and categories that the codes of a table stand for -----------------------------------------------


@dataclass(frozen=True, eq=False)
class Codebook:
    """Meaning of the codes of a table.

    Parameters
    ----------
    bins, schema : Bins, Schema
        Bins of the values, and schema of the columns.
    exact : bool
        Whether every training value is its own bin.
    """

    bins: Bins
    schema: Schema
    exact: bool

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Feature names (p,), or ``x[i]``."""
        return self.schema.names or tuple(f"x[{feature}]" for feature in range(self.schema.n_features))

    @cached_property
    def missing_code(self) -> int:
        """The code of a missing value."""
        return int(np.iinfo(self.bins.code_type).max)

    @cached_property
    def _known(self) -> dict[int, tuple[float, float, float]]:
        """Ranges and spans computed so far."""
        return {}

    def range_of(self, feature: int) -> tuple[float, float]:
        """Return the training range of a numeric feature, or that of its bins."""
        return self._measured(feature)[:2]

    def span_of(self, feature: int) -> float:
        """Return the width of the finite training range of a feature."""
        return self._measured(feature)[2]

    @cached_property
    def far(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Limits (p,), (p,): the training range extended by its width on both sides.

        They are infinite for features that are categorical, constant or without values.
        """
        low, high = np.full((2, self.schema.n_features), [[-np.inf], [np.inf]])
        for feature in np.flatnonzero((self.bins.nominal == 0) & (self.bins.n_bins > 1)).tolist():
            (least, most), span = self.range_of(feature), self.span_of(feature)
            low[feature], high[feature] = least - span, most + span
        return low, high

    def _measured(self, feature: int) -> tuple[float, float, float]:
        if feature not in self._known:
            self._known[feature] = *self._range(feature), self._span(feature, *self._range(feature))
        return self._known[feature]

    def _range(self, feature: int) -> tuple[float, float]:
        centers = self.bins.centers[self.bins.center_start[feature] : self.bins.center_start[feature + 1]]
        low, high = float(centers[0]), float(centers[-1])
        cuts = self.bins.cuts_of(feature)
        if self.exact or not len(cuts):
            return low, high
        # A centre is the middle of its bin, so the outer end is as far from it as the edge is.
        return min(low, 2 * low - float(cuts[0])), max(high, 2 * high - float(cuts[-1]))

    def _span(self, feature: int, low: float, high: float) -> float:
        centers = self.bins.centers[self.bins.center_start[feature] : self.bins.center_start[feature + 1]]
        finite = centers[np.isfinite(centers)]
        if not len(finite):
            return 0.0
        low, high = (low if np.isfinite(low) else finite[0]), (high if np.isfinite(high) else finite[-1])
        return float(min(2 * (high / 2 - low / 2), np.finfo(np.float64).max))

    def value_of_code(self, feature: int, code: int) -> Any:
        """Return a value of a bin, a date as text, a category, or None for missing."""
        if code == self.missing_code:
            return None
        categories = self.schema.categories[feature]
        if categories is not None:
            return plain(categories[code])
        return self._as_type(feature, float(self.bins.centers[self.bins.center_start[feature] + code]))

    def value(self, feature: int, cell: Any) -> Any:
        """Return a cell as a number, date or category; None if it is missing or new."""
        categories = self.schema.categories[feature]
        if categories is not None:
            return None if cell < 0 else plain(categories[int(cell)])
        return None if np.isnan(cell) else self._as_type(feature, float(cell))

    def of_row(self, columns: list[NDArray[np.generic]], row: int) -> dict[str, Any]:
        """Return the values of a row by feature name; `columns` have shape (n,)."""
        return {name: self.value(j, columns[j][row]) for j, name in enumerate(self.names)}

    def _as_type(self, feature: int, number: float) -> Any:
        kind = self.schema.kinds[feature]
        if kind in DATES:
            return date_words(number, kind)
        return bool(number) if kind == "boolean" and number in (0, 1) else number


def plain(value: Any) -> Any:
    """Return a value as a plain number, boolean or text."""
    value = value.item() if isinstance(value, np.generic) else value
    return value if isinstance(value, str | int | float | bool) else str(value)


#: Column types of days since 1970, without and with times.
DATES: tuple[Kind, ...] = ("date", "time")

#: Suffixes of the columns that are derived from a date.
PARTS = (" month", " weekday")

_FIRST = datetime.datetime(1970, 1, 1)
_MINUTES = 24 * 60


def type_of_days(days: NDArray[np.floating]) -> Kind:
    """Return "date" if all known days (n,) are whole, else "time"."""
    known = days[np.isfinite(days)]
    return "date" if bool((known == np.floor(known)).all()) else "time"


def part_of(days: NDArray[np.float64], part: str) -> NDArray[np.float64]:
    """Return months, 1 to 12, or weekdays, Monday 1 to 7, of days since 1970 (n,)."""
    known = np.where(np.isnan(days), 0, np.floor(days)).astype(np.int64)
    if part == " weekday":
        numbers = (known + 3) % 7 + 1
    else:
        numbers = known.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64) % 12 + 1
    return np.where(np.isnan(days), np.nan, numbers)


def date_words(days: float, kind: Kind) -> str:
    """Format days since 1970 as a date, or as a date and minute.

    Examples
    --------
    >>> date_words(19787.75, "date"), date_words(19787.75, "time"), date_words(float("-inf"), "date")
    ('2024-03-05', '2024-03-05 18:00', '-inf')
    """
    minutes = math.floor(days * _MINUTES + 1e-6) if math.isfinite(days) else math.inf
    try:
        when = _FIRST + datetime.timedelta(minutes=minutes)
    except OverflowError:  # a year outside 1 to 9999
        return f"{days:g}"
    return f"{when:%Y-%m-%d}" if kind == "date" else f"{when:%Y-%m-%d %H:%M}"
