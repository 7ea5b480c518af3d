"""Columns of a file as numbers, categories and labels; errors locate the lines."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable
from difflib import get_close_matches
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hedgerow.cli.console import note
from hedgerow.cli.exit_codes import DataError
from hedgerow.cli.files.values import (
    CLOCK,
    DATE_LIKE,
    POINT,
    NumberFormat,
    are_codes,
    is_date_like,
    is_gap,
    known_places,
    merged,
    parse_texts,
    with_unit,
)
from hedgerow.cli.options import ReadOptions
from hedgerow.table import Factors
from hedgerow.util.text import folded, listed, number_of, printable

Array: TypeAlias = NDArray[Any]

#: Maximum number of bad cells in an error.
MOST_NAMED = 10
#: Longer labels are text, even if they have only digits.
MOST_DIGITS = 400
#: Labels such as 007 are text, because their zeros may be significant.
_PADDED = re.compile(r"[+-]?0[0-9]")
#: 1,5 and 1.234,50 and 1'000 and 5 % and $20 and 1,5 kg.
_NUMBER_LIKE = re.compile(
    r"[-+]?\s*[€$£]?\s*\d+(?:[.,'\s]\d{3})*(?:[.,]\d+)?\s*[%€$£]?|[-+]?\d+[.,]\d+\s*[^\W\d_]{1,5}"
)
_LAST_LETTERS = re.compile(r"\s*[^\W\d_]+$")
#: A number as people and programs write it.
NUMBER = re.compile(r"\s*[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|inf|infinity|nan)\s*", re.ASCII | re.IGNORECASE)


class Sheet(ABC):
    """A table in a file."""

    names: tuple[str, ...]
    n_rows: int
    missing: frozenset[str]  # texts that mark a missing value
    has_types: bool  # whether the file format has column types
    reading: ReadOptions
    dates: frozenset[str] = frozenset()  # columns of dates, read as days since 1970

    @abstractmethod
    def held(self, name: str, *, text: bool = False) -> Array | Factors:
        """Return a column: an array (n_rows,), or factors with markers of missing values.

        With `text`, files without types return factors for numeric columns too.
        """

    @abstractmethod
    def where(self, row: int) -> str:
        """Return words that locate a row, such as ``line 17``."""

    def prepare(self, names: Iterable[str], texts: Iterable[str] = ()) -> None:  # noqa: B027
        """Announce the columns to use, `texts` as text, to read the file only once."""

    def forget(self, name: str) -> None:  # noqa: B027
        """Release a numeric column; it is read again when it is used again."""

    def require(self, name: str, role: str) -> None:
        """Raise `DataError` if the table lacks a column, with the closest name."""
        if name not in self.names:
            near = get_close_matches(folded(name), [folded(each) for each in self.names], n=1)
            same = [each for each in self.names if [folded(each)] == near]
            hint = f" Did you mean {printable(same[0])!r}?" if same else self._header_hint()
            raise DataError(f"{role} must be one of the columns ({listed(self.names, 100)}), got {name!r}.{hint}")

    def _header_hint(self) -> str:
        """Return a hint about a header that lacks the requested column."""
        if len(self.names) == 1 and not self.has_types:
            return " Is there a title above the header, or another delimiter than , ; tab or |?"
        return " Does the file have a header?" if any(map(NUMBER.fullmatch, self.names)) else ""

    def cells(self, name: str) -> Array:
        """Return a column (n_rows,) as written in the file."""
        column = self.held(name, text=True)
        return np.append(column.values, "")[column.codes] if isinstance(column, Factors) else column

    def is_missing(self, name: str) -> NDArray[np.bool_]:
        """Return where a column (n_rows,) is missing."""
        column = self.held(name)
        if isinstance(column, Factors):
            return np.append(_gaps(column.values, self.missing), True)[column.codes]
        if column.dtype.kind == "O":
            return np.fromiter((cell is None for cell in column), dtype=bool, count=len(column))
        return np.isnan(column) if column.dtype.kind == "f" else np.zeros(len(column), dtype=bool)

    def column(self, name: str, *, nominal: bool | None = None) -> Array | Factors:
        """Return a training column as numbers (n_rows,) or factors.

        With ``nominal=None``, a column of a file without types is numeric if more than half of its distinct values are
        numbers; other values then raise `DataError`.
        """
        if nominal:
            return self.factors(name)
        column = self.held(name)
        if not isinstance(column, Factors):
            return self.numbers(name)
        if nominal is None and self.has_types:
            return self.factors(name)
        if nominal is None and (measured := self._measured(name, column)) is not None:
            return measured
        numbers, bad = self._parsed(column)
        if nominal is None and are_codes(text for text in column.values.tolist() if not is_gap(text, self.missing)):
            note(f"note: Column {name!r} has codes with leading zeros, such as {_padded(column)!r}: read as text.")
            return self.factors(name)
        if nominal is None and (bad.sum() >= (~np.isnan(numbers)).sum() and bad.any()):
            found = self.factors(name)
            self._refuse_disguised(name, found.values.tolist())
            return found
        advice = "Correct the cells, or add --nominal if they are categories, or --missing if they are missing values."
        self._require_numbers(name, bad, advice)
        return numbers

    def numbers(self, name: str) -> Array:
        """Return a column as numbers or booleans (n_rows,), NaN where missing."""
        column = self.held(name)
        if isinstance(column, Factors):
            if (measured := self._measured(name, column)) is not None:
                return measured
            numbers, bad = self._parsed(column)
            self._require_numbers(name, bad, "Correct the cells: the column was numeric in the training data.")
            return numbers
        if column.dtype.kind == "O":
            raise DataError(
                f"Column {name!r} must be numbers or text, got {type(_first(column)).__name__}. --dates converts dates;"
                " --drop ignores the column."
            )
        return column

    def factors(self, name: str) -> Factors:
        """Return the distinct values of a column and their codes."""
        column = self.held(name, text=True)
        if isinstance(column, Factors):
            there = ~_gaps(column.values, self.missing)
            code_of = np.append(np.where(there, np.cumsum(there) - 1, -1), -1)
            found = Factors(code_of[column.codes], column.values[there])
            return found if self.reading.exact_text else self._merged(name, found)
        values, codes = np.unique(self.numbers(name), return_inverse=True)
        return Factors(np.where(self.is_missing(name), -1, codes), values)

    def labels(self, name: str) -> Array:
        """Return the labels (n_rows,) of a target: numbers if all are numeric, else text."""
        self._require_targets(name, "label")
        if not isinstance(self.held(name, text=True), Factors):
            return self.numbers(name)
        codes, distinct = self.factors(name)
        return _labels_from_texts(distinct.tolist(), self.has_types, self.number_format)[codes]

    def targets(self, name: str) -> NDArray[np.float64]:
        """Return the numbers (n_rows,) of a regression target."""
        self._require_targets(name, "number")
        column = self.held(name)
        if isinstance(column, Factors):
            numbers, bad = self._parsed(column)
            self._require_numbers(name, bad, "Correct the cells, or remove --regression.")
        else:
            numbers = self.numbers(name).astype(np.float64, copy=False)
        endless = np.isinf(numbers)
        if endless.any():
            raise DataError(
                f"Target {name!r} must be finite, got infinite or too large numbers in"
                f" {number_of(int(endless.sum()), 'row')}. Correct them, or remove the rows.",
                tuple(self.named(name, endless)),
            )
        return numbers

    def known_labels(self, name: str, classes: Array) -> Array:
        """Return labels (n_rows,) among the classes of a fitted model."""
        self._require_targets(name, "label")
        of_text = classes.dtype.kind in "UO"
        column = self.held(name, text=of_text)
        if not of_text or not isinstance(column, Factors):
            column = _factors_from_numbers(self.numbers(name))
        values = [str(value) if of_text else value for value in column.values.tolist()]
        known = known_places(values, classes, exact=self.reading.exact_text)
        codes = np.array(known, dtype=np.int64)[column.codes]
        unknown = codes < 0
        if unknown.any():
            example = str(self.cells(name)[int(np.argmax(unknown))])[:40]
            raise DataError(
                f"Target {name!r} must be one of the classes {listed(classes.tolist())}, got {example!r}"
                f" ({number_of(int(unknown.sum()), 'row')} with other values)."
                f" {'Is it the right column?' if unknown.all() else 'Remove these rows.'}",
                tuple(self.named(name, unknown)),
            )
        return np.asarray(classes[codes])

    @cached_property
    def units(self) -> dict[str, str]:
        """Units of the columns read so far, which numbers do not have any more."""
        return {}

    def identifies(self, name: str) -> bool:
        """Test whether a column has another text in every row."""
        column = self.held(name)
        if not isinstance(column, Factors) or len(column.values) < self.n_rows:
            return False
        texts = [str(text) for text in column.values.tolist()]
        if is_date_like(texts) or with_unit(texts, self.number_format) is not None:
            return False
        return not any(NUMBER.fullmatch(text) or _NUMBER_LIKE.fullmatch(text.strip()) for text in texts)

    @property
    def number_format(self) -> NumberFormat:
        """Format of numbers in the file; files with types use a point."""
        return POINT if self.has_types else NumberFormat(*self.reading.marks)

    def _measured(self, name: str, column: Factors) -> NDArray[np.float64] | None:
        """Return the numbers (n_rows,) of a column whose cells all have the same unit, with a note; else None."""
        texts = [str(text) for text in column.values.tolist()]
        there = [text for text in texts if not is_gap(text, self.missing)]
        if (found := with_unit(there, self.number_format)) is None:
            return None
        unit, numbers = found
        self.units[name] = unit
        read = "clock times read as hours since midnight" if unit == CLOCK else f"dropped the unit {unit!r}"
        note(f"note: Column {name!r}: {read}.")
        known = dict(zip(there, numbers, strict=True))
        return np.array([*(known.get(text, np.nan) for text in texts), np.nan])[column.codes]

    def _merged(self, name: str, found: Factors) -> Factors:
        """Merge spellings of the same text, with a note."""
        one, others = merged(found)
        if others:
            pairs = [f"{listed(map(repr, more), 3)} as {text!r}" for text, more in others.items()]
            note(f"note: Column {name!r}: {listed(pairs, 3)}. --exact-text keeps such spellings apart.")
        return one

    def _refuse_disguised(self, name: str, texts: list[str]) -> None:
        """Raise `DataError` for a column of text that mostly looks like numbers or dates."""
        marks = "numbers with a decimal comma, a unit or thousands separators"
        numbers = [text for text in texts if _NUMBER_LIKE.fullmatch(text.strip())]
        dates = [text for text in texts if DATE_LIKE.fullmatch(text.strip())]
        if 2 * len(numbers) > len(texts) and all(self.number_format.number(text) is not None for text in numbers):
            others = [text for text in texts if text not in numbers]
            raise DataError(
                f"Column {name!r} must be numeric or categorical, got both, such as {numbers[0]!r} and {others[0]!r}."
                " Correct the text, or add --missing if it marks a missing value, --nominal to make the column"
                " categorical, or --drop to ignore it."
            )
        kinds = ((marks, numbers, _how_to_read(numbers)), ("dates", dates, "--dates converts them"))
        for kind, alike, advice in kinds:
            if 2 * len(alike) > len(texts):
                raise DataError(
                    f"Column {name!r} must be numeric or categorical, got {kind} such as {alike[0]!r}. {advice};"
                    " --drop ignores the column, --nominal makes it categorical."
                )

    def _parsed(self, column: Factors) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Parse a column: numbers (n_rows,), NaN where missing or bad, and which are bad."""
        numbers, bad = parse_texts(column.values, self.missing, self.number_format)
        return np.append(numbers, np.nan)[column.codes], np.append(bad, False)[column.codes]

    def _require_targets(self, name: str, what: str) -> None:
        """Raise `DataError` for a target with missing values."""
        gaps = self.is_missing(name)
        if gaps.any():
            n_rows = int(gaps.sum())
            raise DataError(
                f"Target {name!r}: {number_of(n_rows, 'row')} {'has' if n_rows == 1 else 'have'} no {what}."
                " Fill in the target, or add --skip-unlabelled.",
                tuple(self.named(name, gaps)),
            )

    def _require_numbers(self, name: str, bad: NDArray[np.bool_], advice: str) -> None:
        """Raise `DataError` for a column with bad cells, with advice."""
        if bad.any():
            texts = [str(text) for text in dict.fromkeys(self.cells(name)[bad].tolist())]
            advice = _option_for(texts, self.number_format) or advice
            raise DataError(
                f"Column {name!r}: {_not_numbers(int(bad.sum()))}. {advice}",
                tuple(self.named(name, bad)),
            )

    def named(self, name: str, bad: NDArray[np.bool_]) -> list[str]:
        """Return a line about each of the first `MOST_NAMED` bad rows."""
        rows = np.flatnonzero(bad)
        cells = self.cells(name)
        words = [f"{self.where(row)}, column {name!r}: {str(cells[row])[:40]!r}" for row in rows[:MOST_NAMED].tolist()]
        return words + ([f"… and {len(rows) - MOST_NAMED:,} more"] if len(rows) > MOST_NAMED else [])


def _not_numbers(n_cells: int) -> str:
    return "1 cell is not a number" if n_cells == 1 else f"{n_cells:,} cells are not numbers"


def _gaps(values: Array, missing: frozenset[str]) -> NDArray[np.bool_]:
    """Test which of the texts (k,) mark a missing value."""
    return np.fromiter((is_gap(value, missing) for value in values.tolist()), dtype=bool, count=len(values))


def _padded(column: Factors) -> str:
    """Return the first code with a leading zero."""
    return str(next(text for text in column.values.tolist() if text.strip().startswith("0")))


def _factors_from_numbers(numbers: Array) -> Factors:
    """Return the distinct values of numbers (n,) and their codes."""
    values, codes = np.unique(numbers, return_inverse=True)
    return Factors(codes, values)


def _option_for(texts: list[str], number_format: NumberFormat) -> str | None:
    """Return the option that reads all of the texts as numbers, or None."""
    if all(DATE_LIKE.fullmatch(text.strip()) for text in texts):
        return "--dates converts dates to numbers."
    if number_format != POINT or not all(_NUMBER_LIKE.fullmatch(text.strip()) for text in texts):
        return None
    found = _how_to_read(texts)
    return f"{found}." if found.startswith("--") else None


def _how_to_read(texts: list[str]) -> str:
    """Return advice to read numbers in another format; units are dropped once the numbers are read."""
    texts = [_LAST_LETTERS.sub("", text) for text in texts]
    if all(NumberFormat(",").number(text) is not None is not NumberFormat(".", ",").number(text) for text in texts):
        return "--decimal , or --thousands , reads them, depending on the comma"
    for decimal, thousands in ((",", ""), (".", ","), (",", "."), (".", "'"), (",", " "), (".", " ")):
        number_format = NumberFormat(decimal, thousands)
        if all(number_format.number(text) is not None for text in texts):
            marks = f' --thousands "{thousands}"' if thousands else ""
            return ((f"--decimal {decimal}" if decimal == "," else "") + marks).strip() + " reads them"
    return "Write them as 1234.5"


def _labels_from_texts(texts: list[str], has_types: bool, number_format: NumberFormat = POINT) -> Array:
    """Return distinct texts (k,) as integers, floats or text."""
    as_text = np.array(texts)
    plain = [text if has_types else (number_format.with_point(text) or text) for text in texts]
    numbers = [None if has_types or _PADDED.match(text) else _plain_number(text) for text in plain]
    if any(number is None for number in numbers):
        return as_text
    if all(isinstance(number, int) and abs(number) < 2**63 for number in numbers):
        return np.array(numbers, dtype=np.int64)
    return np.array(numbers, dtype=np.float64)


def _plain_number(text: str) -> int | float | None:
    """Parse an int or a float; None for other text, such as ``true`` and ``inf``."""
    if len(text) > MOST_DIGITS or not re.fullmatch(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*", text, re.ASCII):
        return None
    return int(text) if re.fullmatch(r"\s*[+-]?\d+\s*", text, re.ASCII) else float(text)


def _first(cells: Array) -> object:
    """Return the first cell that is not missing."""
    return next((cell for cell in cells if cell is not None), None)
