"""Numbers, dates and texts as people write them."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.table import Factors
from hedgerow.util.text import folded

#: Equivalent thousands separators: spaces in French spreadsheets, apostrophes in Swiss ones.
_ALIKE = {" ": " \u00a0\u202f", "'": "'\u2019"}
_TRUTH = {"true": 1.0, "false": 0.0}


@dataclass(frozen=True)
class NumberFormat:
    """Format of numbers: decimal mark, and thousands separator if any."""

    decimal: str = "."
    thousands: str = ""

    def number(self, cell: str) -> float | None:
        """Parse a number; None if the text is not a number in this format.

        Examples
        --------
        >>> NumberFormat(",", ".").number("1.234,5")
        1234.5
        >>> NumberFormat(",").number("1.5") is None
        True
        """
        if "_" in cell:
            return None
        text = self.with_point(cell)
        try:
            return None if text is None else float(text)
        except ValueError:
            return _TRUTH.get(cell.strip().lower())

    def with_point(self, cell: str) -> str | None:
        """Rewrite a number with a point and no separators; None for another format."""
        if self.decimal == "." and not self.thousands:
            return cell
        if self._pattern.fullmatch(cell):
            return (
                re.sub(self._separators, "", cell).replace(self.decimal, ".") if self.thousands else self._pointed(cell)
            )
        return None if any(sign.isdigit() for sign in cell) else cell

    def in_numbers(self, texts: Iterable[str]) -> bool:
        """Test whether texts have only characters of plain numbers."""
        return self._characters.issuperset(" ".join(texts))

    def _pointed(self, cell: str) -> str:
        return cell.replace(self.decimal, ".")

    @cached_property
    def _separators(self) -> str:
        return f"[{re.escape(_ALIKE.get(self.thousands, self.thousands))}]" if self.thousands else ""

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        grouped = rf"\d{{1,3}}(?:{self._separators}\d{{3}})+|" if self.thousands else ""
        decimal = re.escape(self.decimal)
        return re.compile(rf"\s*[+-]?(?:(?:{grouped}\d+)(?:{decimal}\d*)?|{decimal}\d+)(?:[eE][+-]?\d+)?\s*", re.ASCII)

    @cached_property
    def _characters(self) -> frozenset[str]:
        return frozenset("0123456789+-eE \t" + self.decimal + _ALIKE.get(self.thousands, self.thousands))


#: Decimal point, no thousands separator.
POINT = NumberFormat()


def parse_texts(
    values: NDArray[Any], missing: frozenset[str], number_format: NumberFormat = POINT
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Parse distinct texts (k,): numbers, NaN if missing or bad, and which are bad."""
    parsed = [np.nan if is_gap(text, missing) else number_format.number(text) for text in values.tolist()]
    bad = np.array([number is None for number in parsed], dtype=bool)
    return np.array([np.nan if number is None else number for number in parsed], dtype=np.float64), bad


#: Unit of a column of clock times.
CLOCK = "h:mm"
_WITH_UNIT = re.compile(
    r"\s*(?P<sign>[+-]?)\s*(?P<before>[€$£]?)\s*(?P<number>[+-]?[0-9][0-9.,'\u2019 \u00a0\u202f]*?)\s*"
    r"(?P<unit>[^\W\d_]{0,5}[²³]?(?:/[^\W\d_]{1,3}[²³]?)?|[%‰°€$£]|°[CF]|mm ?Hg)\s*"
)
#: A column is text if one of its first values has no number.
_FIRST = 20
_CLOCK = re.compile(r"\s*(\d{1,2}):(\d{2})(?::(\d{2}(?:\.\d+)?))?\s*([AaPp][Mm])?\s*", re.ASCII)


def with_unit(texts: list[str], number_format: NumberFormat = POINT) -> tuple[str, list[float]] | None:
    """Return the unit that all texts share, and their numbers; None without such a unit.

    Clock times are hours since midnight.

    Examples
    --------
    >>> with_unit(["1.5 kg", "20kg"]), with_unit(["8:30", "1:15 pm"]), with_unit(["1 kg", "2 g"])
    (('kg', [1.5, 20.0]), ('h:mm', [8.5, 13.25]), None)
    """
    if not all(_CLOCK.fullmatch(text) or _WITH_UNIT.fullmatch(text) for text in texts[:_FIRST]):
        return None
    hours = [each for text in texts if (each := _hours(text)) is not None]
    if hours and len(hours) == len(texts):
        return CLOCK, hours
    matches = [match for text in texts if (match := _WITH_UNIT.fullmatch(text))]
    units = {match["before"] + match["unit"] for match in matches}
    if len(matches) != len(texts) or len(units) != 1 or units <= {"", "e", "E"}:
        return None
    numbers = [number_format.number(match["sign"] + match["number"]) for match in matches]
    known = [number for number in numbers if number is not None]
    return (units.pop(), known) if len(known) == len(numbers) else None


def _hours(text: str) -> float | None:
    """Return a clock time in hours since midnight; None for other text."""
    match = _CLOCK.fullmatch(text)
    if match is None:
        return None
    hour, minute, second = int(match[1]), int(match[2]), float(match[3] or 0)
    if match[4]:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if match[4].lower() == "pm" else 0)
    return hour + minute / 60 + second / 3600 if hour < 24 and minute < 60 and second < 60 else None


def may_group_thousands(column: NDArray[Any]) -> bool:
    """Test whether numbers (n,), read with a decimal point, may have had points between thousands.

    They are below 1,000, mostly with three decimals or none, and fractions are at least 1.

    Examples
    --------
    >>> may_group_thousands(np.array([893, 1.097])), may_group_thousands(np.array([893, 1.5]))
    (True, False)
    """
    numbers = np.abs(column[np.isfinite(column)])
    if not len(numbers) or numbers.max() >= 1000:
        return False
    fractions = 1000.0 * numbers[numbers % 1 != 0]
    three = np.rint(fractions)
    is_whole = np.allclose(fractions, three, rtol=0, atol=1e-6)
    return bool(len(fractions) > 0 and fractions.min() >= 1000 and is_whole and (three % 10 != 0).mean() > 0.5)


def groups_thousands(texts: Iterable[str]) -> tuple[str, str] | None:
    """Return two numbers that show that points probably separate thousands, such as 893 and 1.097.

    Every point is followed by three digits, no number without a point has more than three, and some have two or three.
    """
    plain, pointed = "", ""
    for text in map(str.strip, texts):
        if re.fullmatch(r"[+-]?[1-9]\d{0,2}(?:\.\d{3})+", text):
            pointed = text
        elif re.fullmatch(r"[+-]?\d{1,3}", text):
            plain = max(plain, text.lstrip("+-"), key=len)
        else:
            return None
    return (plain, pointed) if len(plain) > 1 and pointed else None


def is_gap(text: str, missing: frozenset[str]) -> bool:
    """Test whether a cell marks a missing value, with or without spaces around it."""
    return text in missing or text.strip() in missing


def are_codes(texts: Iterable[str]) -> bool:
    """Test whether texts are codes such as 01069: equally long, with leading zeros.

    Examples
    --------
    >>> are_codes(["01069", "80331"]), are_codes(["5", "007"]), are_codes(["0", "1"])
    (True, False, False)
    """
    every = [text.strip() for text in texts]
    width = len(every[0]) if every else 0
    return (
        width > 1
        and any(text[0] == "0" for text in every if text)
        and all(len(text) == width and text.isascii() and text.isdigit() for text in every)
    )


def merged(found: Factors) -> tuple[Factors, dict[str, list[str]]]:
    """Merge spellings into the most frequent one; also return the others."""
    values = found.values.tolist()
    keys = [folded(text) for text in values]
    if len(set(keys)) == len(keys):
        return found, {}
    counts = np.bincount(found.codes[found.codes >= 0], minlength=len(values))
    best: dict[str, int] = {}
    for place, key in enumerate(keys):
        if key not in best or counts[place] > counts[best[key]]:
            best[key] = place
    kept = sorted(best.values())
    code_of = np.append(np.array([kept.index(best[key]) for key in keys], dtype=found.codes.dtype), -1)
    others: dict[str, list[str]] = {}
    for place, key in enumerate(keys):
        if place != best[key]:
            others.setdefault(values[best[key]], []).append(values[place])
    return Factors(code_of[found.codes], found.values[kept]), others


def known_places(texts: Iterable[object], known: NDArray[np.generic], *, exact: bool) -> list[int]:
    """Return the index of each text or of its spelling among known texts (k,), or -1."""
    place = {label: number for number, label in enumerate(known.tolist())}
    keys: dict[str, int] = {}
    for label, number in place.items():
        if isinstance(label, str):
            keys[folded(label)] = -1 if folded(label) in keys else number  # ambiguous between two known spellings
    found = []
    for text in texts:
        same = place.get(text, -1)
        found.append(same if same >= 0 or exact or not isinstance(text, str) else keys.get(folded(text), -1))
    return found


_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = rf"({'|'.join(_MONTHS)})[a-z]*\.?"
#: 2024-12-31, 31.12.2024, 12/31/2024, Dec 31, 2024 and 31 December 2024, each with or without a time.
DATE_LIKE = re.compile(
    r"(?:\d{4}-\d{1,2}-\d{1,2}|\d{1,2}[./]\d{1,2}[./]\d{2,4}"
    rf"|{_MONTH} \d{{1,2}},? \d{{4}}|\d{{1,2}}\.? {_MONTH},? \d{{4}})(?:,?[T\s].*)?",
    re.IGNORECASE,
)
_MONTH_FIRST = re.compile(rf"{_MONTH} (\d{{1,2}}),? (\d{{4}})", re.IGNORECASE)
_MONTH_SECOND = re.compile(rf"(\d{{1,2}})\.? {_MONTH},? (\d{{4}})", re.IGNORECASE)
_ISO = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})")
_DOTTED = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})")
_SLASHED = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4})")
_TIME = re.compile(
    r"(?:,?[T\s]+(\d{1,2}):(\d{2})(?::(\d{2}(?:\.\d+)?))?\s*(?:Z|\+00:?00)?\s*([AP]M)?)?\s*", re.IGNORECASE
)


def is_date_like(texts: list[str]) -> bool:
    """Test whether more than half of the texts look like dates."""
    return 2 * sum(DATE_LIKE.fullmatch(text.strip()) is not None for text in texts) > len(texts)


def is_ambiguous(texts: list[str]) -> bool:
    """Test whether dates such as 03/04/2024 do not show which number is the day."""
    found = [match.groups() for text in texts if (match := _SLASHED.match(text.strip()))]
    return bool(found) and all(int(first) <= 12 and int(second) <= 12 for first, second, _ in found)


def days_of(texts: list[str], day_first: bool | None = None) -> NDArray[np.float64]:
    """Return texts (k,) as days since 1970, with fractions; NaN for other text.

    `day_first` is the order of dates with slashes; with None, a day above 12 determines it.
    """
    if day_first is None:
        found = [match for text in texts if (match := _SLASHED.match(text.strip()))]
        day_first = any(int(match[1]) > 12 for match in found)
    return np.array([_days(text.strip(), day_first) for text in texts], dtype=np.float64)


def days_of_objects(cells: NDArray[Any]) -> NDArray[np.float64]:
    """Return Python dates and times (n,) as days since 1970; NaN for None."""
    return np.array([np.nan if cell is None else _days_of_object(cell) for cell in cells], dtype=np.float64)


def _days(text: str, day_first: bool) -> float:
    slashed = (3, 2, 1) if day_first else (3, 1, 2)
    named = ((_MONTH_FIRST, (3, 1, 2)), (_MONTH_SECOND, (3, 2, 1)))
    for pattern, order in ((_ISO, (1, 2, 3)), (_DOTTED, (3, 2, 1)), (_SLASHED, slashed), *named):
        if (match := pattern.match(text)) and (time := _TIME.fullmatch(text[match.end() :])):
            try:
                day = datetime.date(*(_number_of(match[number]) for number in order))
            except ValueError:
                return np.nan
            hours, minutes, seconds = (float(part or 0) for part in time.groups()[:3])
            if time[4]:
                hours = hours % 12 + (12 if time[4].lower() == "pm" else 0)
            return (day - datetime.date(1970, 1, 1)).days + (hours * 3600 + minutes * 60 + seconds) / 86400
    return np.nan


def _number_of(part: str) -> int:
    """Return the number of a part of a date, which may be the name of a month."""
    return int(part) if part.isdigit() else 1 + _MONTHS.index(part[:3].lower())


def _days_of_object(cell: datetime.date) -> float:
    """Return a date, or a time in its own zone, as days since 1970."""
    days = (datetime.date(cell.year, cell.month, cell.day) - datetime.date(1970, 1, 1)).days
    if not isinstance(cell, datetime.datetime):
        return days
    return days + (cell.hour * 3600 + cell.minute * 60 + cell.second + cell.microsecond / 1e6) / 86400
