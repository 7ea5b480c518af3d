"""Dates: texts and dates of a column -> days since 1970; a day and a month are never guessed."""

from __future__ import annotations

import datetime
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: 2024-12-31, 31.12.2024, 12/31/2024, each with or without a time.
DATE_LIKE = re.compile(r"(?:\d{4}-\d{1,2}-\d{1,2}|\d{1,2}[./]\d{1,2}[./]\d{2,4})(?:[T\s].*)?")
_ISO = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})")
_DOTTED = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})")
_SLASHED = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4})")
_TIME = re.compile(r"(?:[T\s]+(\d{1,2}):(\d{2})(?::(\d{2}(?:\.\d+)?))?\s*(?:Z|\+00:?00)?)?\s*")


def is_date_like(texts: list[str]) -> bool:
    """Whether more than half of some texts look like dates."""
    return 2 * sum(DATE_LIKE.fullmatch(text.strip()) is not None for text in texts) > len(texts)


def is_ambiguous(texts: list[str]) -> bool:
    """Whether dates such as 03/04/2024 are among texts, and none of them says which number is the day."""
    found = [match.groups() for text in texts if (match := _SLASHED.match(text.strip()))]
    return bool(found) and all(int(first) <= 12 and int(second) <= 12 for first, second, _ in found)


def days_of(texts: list[str], day_first: bool | None = None) -> NDArray[np.float64]:
    """Texts (k,) -> days since 1970, with a fraction for the time; NaN for what is no date.

    Dates with slashes have their day first or second as `day_first` says, or, with None, as one of them shows.
    """
    if day_first is None:
        found = [match for text in texts if (match := _SLASHED.match(text.strip()))]
        day_first = any(int(match[1]) > 12 for match in found)
    return np.array([_days(text.strip(), day_first) for text in texts], dtype=np.float64)


def days_of_objects(cells: NDArray[Any]) -> NDArray[np.float64]:
    """Dates and times of Python (n,), None where missing -> days since 1970."""
    return np.array([np.nan if cell is None else _days_of_object(cell) for cell in cells], dtype=np.float64)


def _days(text: str, day_first: bool) -> float:
    for pattern, order in ((_ISO, (1, 2, 3)), (_DOTTED, (3, 2, 1)), (_SLASHED, (3, 2, 1) if day_first else (3, 1, 2))):
        if (match := pattern.match(text)) and (time := _TIME.fullmatch(text[match.end() :])):
            try:
                day = datetime.date(*(int(match[number]) for number in order))
            except ValueError:
                return np.nan
            hours, minutes, seconds = (float(part or 0) for part in time.groups())
            return (day - datetime.date(1970, 1, 1)).days + (hours * 3600 + minutes * 60 + seconds) / 86400
    return np.nan


def _days_of_object(cell: Any) -> float:
    """A date, or a point of time in its own zone -> days since 1970."""
    days = (datetime.date(cell.year, cell.month, cell.day) - datetime.date(1970, 1, 1)).days
    if not isinstance(cell, datetime.datetime):
        return days
    return days + (cell.hour * 3600 + cell.minute * 60 + cell.second + cell.microsecond / 1e6) / 86400
