"""Groups of rows from a column: periods of times, classes of values, and quarters of numbers."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hedgerow.table import Factors
from hedgerow.table.bins import date_words, type_of_days
from hedgerow.table.categories import factors_from_cells, factors_from_numbers, learn_categories

Array: TypeAlias = NDArray[Any]
# ---- Groups of rows from a column of times ---------------------------------------------------------------------------


#: Units of a period -> seconds.
_UNITS = {"w": 7 * 86_400, "d": 86_400, "h": 3_600, "min": 60, "s": 1}
_PERIOD = re.compile(r"\s*(\d*\.?\d+)?\s*([a-z]+)\s*", re.IGNORECASE)


def groups_by(times: Any, every: Any, *, gap: bool = False) -> NDArray[np.int64]:
    """Divide rows by time into groups for `fit`.

    Rows of neighbouring days are alike, so a tree may contain the neighbours of an out-of-bag row. Groups of whole
    periods keep these together. Choose a period that is longer than the time over which rows are correlated: rows on
    either side of a boundary are in different groups.

    Parameters
    ----------
    times : array-like of shape (n_samples,)
        Times of the rows, in any order: dates, timestamps, ISO 8601 text or numbers.
    every : str, timedelta or float
        Length of a period, such as "7D", "12h", "30min" or "2W"; a number if times are numbers. The first period begins
        at the earliest time.
    gap : bool, default=False
        Whether groups are sessions instead of periods: a new one begins where the next row is later by `every` or more.

    Returns
    -------
    groups : ndarray of int of shape (n_samples,)
        The number of the group of each row, in the order of time.

    Examples
    --------
    >>> import hedgerow
    >>> days = ["2024-01-01", "2024-01-03", "2024-01-08", "2024-01-20"]
    >>> hedgerow.groups_by(days, "7D")
    array([0, 0, 1, 2])
    >>> hedgerow.groups_by(days, "7D", gap=True)
    array([0, 0, 0, 1])
    """
    values = _as_numbers(times)
    if values.ndim != 1 or len(values) == 0:
        raise ValueError(f"times must have one value for each row, got shape {values.shape}.")
    length = _length(every, is_time=values.dtype.kind == "i")
    if gap:
        order = np.argsort(values, kind="stable")
        numbers = np.empty(len(values), dtype=np.int64)
        numbers[order] = np.concatenate([[0], np.cumsum(np.diff(values[order]) >= length)])
        return numbers
    periods = np.floor_divide(values - values.min(), length)
    return np.asarray(np.unique(periods, return_inverse=True)[1]).reshape(-1).astype(np.int64)


def _as_numbers(times: Any) -> NDArray[np.generic]:
    """Return times as integer nanoseconds; numbers are unchanged."""
    values = np.asarray(times)
    if values.dtype.kind in "biuf":
        numbers = values.astype(np.float64)
        if not np.isfinite(numbers).all():
            raise ValueError("times must be finite and not missing. Leave such rows out, or give them a group.")
        return np.asarray(numbers)
    try:
        if values.dtype.kind == "O":  # perhaps with time zones, which NumPy does not have
            values = np.array([_in_utc(each) for each in values], dtype=object)
        moments = values.astype("datetime64[ns]")
    except (TypeError, ValueError) as reason:
        raise ValueError(f"times must be dates, timestamps, ISO 8601 text or numbers: {reason}.") from None
    if np.isnat(moments).any():
        raise ValueError("times must be finite and not missing. Leave such rows out, or give them a group.")
    return np.asarray(moments.astype(np.int64))


def _in_utc(moment: Any) -> Any:
    """A time with a time zone -> the same in UTC, without one; anything else as it is."""
    if isinstance(moment, datetime) and moment.tzinfo is not None:
        return moment.astimezone(UTC).replace(tzinfo=None)
    return moment


def _length(every: Any, *, is_time: bool) -> int | float:
    """A period -> its length in nanoseconds, or as a number if times are numbers."""
    length: int | float | None = None
    if isinstance(every, np.timedelta64):
        every = every.astype("timedelta64[us]").item()
    if is_time and isinstance(every, timedelta):
        length = round(every.total_seconds() * 1e9)
    elif is_time and isinstance(every, str) and (match := _PERIOD.fullmatch(every)):
        unit = _UNITS.get(match[2].lower())
        length = None if unit is None else round(float(match[1] or 1) * unit * 1e9)
    elif not is_time and isinstance(every, int | float | np.number) and not isinstance(every, bool):
        length = float(every)
    if length is None or not 0 < length < float("inf"):
        wanted = "a period such as '7D', '12h' or '30min'" if is_time else "a number > 0, because times are numbers"
        raise ValueError(f"every must be {wanted}, got {every!r}.")
    return length


# ---- Groups of rows for separate evaluation --------------------------------------------------------------------------


#: Number of rows whose opinions are in memory at once.
BLOCK_ROWS = 1 << 16
#: A column with more distinct numbers is divided into quarters.
MOST_GROUPS = 12
#: A column with more distinct texts cannot define groups.
MOST_NAMES = 50


def group_rows(name: str, values: Array | Factors, *, dates: bool = False) -> dict[str, NDArray[np.bool_]]:
    """Return the groups of a column by name, with the mask (n,) of their rows.

    Many distinct numbers are divided into four groups of equal size; with `dates`, they are days since 1970.
    """
    if not isinstance(values, Factors) and values.dtype.kind in "iuf":
        numbers = values.astype(np.float64)
        missing = np.isnan(numbers)
        if len(np.unique(numbers[~missing])) > MOST_GROUPS:
            return _quarters(numbers, missing, dates=dates) | ({"missing": missing} if missing.any() else {})
    found = values if isinstance(values, Factors) else _factors(values, name)
    if len(found.values) > MOST_NAMES:
        raise ValueError(
            f"by must be a column of at most {MOST_NAMES} groups, got {name!r} with {len(found.values):,}. Add a column"
            " with fewer groups."
        )
    groups = {str(value): found.codes == place for place, value in enumerate(found.values.tolist())}
    absent = found.codes < 0
    return groups | ({"missing": absent} if absent.any() else {})


def _quarters(numbers: NDArray[np.float64], missing: NDArray[np.bool_], *, dates: bool) -> dict[str, NDArray[np.bool_]]:
    """Divide numbers (n,) into four groups of equal size, fewer if many are tied."""
    kind, after = type_of_days(numbers), "after" if dates else "above"
    edges = np.unique(np.quantile(numbers[~missing], [0, 0.25, 0.5, 0.75, 1], method="inverted_cdf"))
    groups = {}
    for place, (low, high) in enumerate(pairwise(edges.tolist())):
        ends = [date_words(end, kind) if dates else f"{end:g}" for end in (low, high)]
        inside = (numbers <= high) & ((numbers >= low) if place == 0 else (numbers > low))
        groups[" to ".join(ends) if place == 0 else f"{after} {ends[0]} to {ends[1]}"] = inside
    return groups


def _factors(values: Array, name: str) -> Factors:
    """Return the sorted distinct values, and the code of each row, -1 if missing."""
    given = factors_from_numbers(values) if values.dtype.kind in "iufb" else factors_from_cells(values, f"by {name!r}")
    codes, known = learn_categories(given, f"by {name!r}")
    return Factors(codes, np.array([f"{each:g}" if isinstance(each, float) else str(each) for each in known.tolist()]))
