"""Groups of rows from a column of times."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
