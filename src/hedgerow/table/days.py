"""Days: days since 1970, with a fraction for the time -> dates as people write them, months and weekdays."""

from __future__ import annotations

import datetime
import math

import numpy as np
from numpy.typing import NDArray

from hedgerow.table.schema import Kind

#: The kinds of columns that hold days since 1970: whole days only, or also times.
DATES: tuple[Kind, ...] = ("date", "time")

#: What can be said of a date besides its day: the ends of the names of further columns.
PARTS = (" month", " weekday")

_FIRST = datetime.datetime(1970, 1, 1)
_MINUTES = 24 * 60


def kind_of_days(days: NDArray[np.floating]) -> Kind:
    """Days (n,), NaN where missing -> "date" if all are whole, else "time"."""
    known = days[np.isfinite(days)]
    return "date" if bool((known == np.floor(known)).all()) else "time"


def part_of(days: NDArray[np.float64], part: str) -> NDArray[np.float64]:
    """Days since 1970 (n,) -> months, 1 to 12, or weekdays, 1 for a Monday to 7."""
    known = np.where(np.isnan(days), 0, np.floor(days)).astype(np.int64)
    if part == " weekday":
        numbers = (known + 3) % 7 + 1
    else:
        numbers = known.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64) % 12 + 1
    return np.where(np.isnan(days), np.nan, numbers)


def date_words(days: float, kind: Kind) -> str:
    """Days since 1970 -> the day, or the day and the minute, in which this point of time lies.

    Examples
    --------
    >>> date_words(19787.75, "date"), date_words(19787.75, "time"), date_words(float("-inf"), "date")
    ('2024-03-05', '2024-03-05 18:00', '-inf')
    """
    minutes = math.floor(days * _MINUTES + 1e-6) if math.isfinite(days) else math.inf
    try:
        when = _FIRST + datetime.timedelta(minutes=minutes)
    except OverflowError:  # a year that has no four digits
        return f"{days:g}"
    return f"{when:%Y-%m-%d}" if kind == "date" else f"{when:%Y-%m-%d %H:%M}"
