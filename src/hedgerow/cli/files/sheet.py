"""Columns of a file as numbers, categories and labels; errors name the lines."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hedgerow.cli.console import note
from hedgerow.cli.exit_codes import DataError
from hedgerow.cli.files.values import DATE_LIKE, POINT, Notation, are_codes, is_gap, known_places, merged, parse_texts
from hedgerow.cli.options import ReadOptions
from hedgerow.table import Factors
from hedgerow.util.text import folded, listed, number_of, printable

Array: TypeAlias = NDArray[Any]

#: An error names at most this many bad cells.
MOST_NAMED = 10
#: A longer label is text, even if it has only digits.
MOST_DIGITS = 400
#: A label such as 007 stays text, because its zeros may mean something.
_PADDED = re.compile(r"[+-]?0[0-9]")
#: 1,5 and 1.234,50 and 1'000 and 5 % and $20.
_NUMBER_LIKE = re.compile(r"[-+]?\s*[€$£]?\s*\d+(?:[.,'\s]\d{3})*(?:[.,]\d+)?\s*[%€$£]?")
#: A number as people and programs write it.
NUMBER = re.compile(r"\s*[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|inf|infinity|nan)\s*", re.ASCII | re.IGNORECASE)


class Sheet(ABC):
    """A table as a file holds it."""

    names: tuple[str, ...]
    n_rows: int
    missing: frozenset[str]  # texts that stand for a missing value
    typed: bool  # whether the file says which columns are numbers
    reading: ReadOptions  # the options about how files are read
    dates: frozenset[str] = frozenset()  # columns of dates, which are days since 1970

    @abstractmethod
    def held(self, name: str, *, text: bool = False) -> Array | Factors:
        """A column: numbers, booleans or objects (n_rows,), or its distinct texts, those for missing values too.

        With `text`, a file without types gives texts, also for a column of numbers.
        """

    @abstractmethod
    def where(self, row: int) -> str:
        """A row -> words that name it, such as ``line 17``."""

    def prepare(self, names: Iterable[str], texts: Iterable[str] = ()) -> None:  # noqa: B027
        """Say which columns will be used, and which of them as text, so that a file is read only once."""

    def forget(self, name: str) -> None:  # noqa: B027
        """Let go of a column of numbers, which is read again if it is asked for."""

    def require(self, name: str, role: str) -> None:
        """Refuse the name of a column that the table does not have; the nearest name is offered."""
        if name not in self.names:
            near = get_close_matches(folded(name), [folded(each) for each in self.names], n=1)
            same = [each for each in self.names if [folded(each)] == near]
            offered = f"; did you mean {printable(same[0])!r}?" if same else self._header_hint()
            raise DataError(f"{role} must be one of the columns ({listed(self.names, 100)}), got {name!r}{offered}")

    def _header_hint(self) -> str:
        """What may be wrong with a header that has no name that was asked for."""
        if len(self.names) == 1 and not self.typed:
            return "; a table of one column: is a title above its header, or another delimiter than , ; tab or | in it?"
        return "; has the file no header?" if any(map(NUMBER.fullmatch, self.names)) else ""

    def cells(self, name: str) -> Array:
        """(n_rows,): a column as it is in the file."""
        column = self.held(name, text=True)
        return np.append(column.values, "")[column.codes] if isinstance(column, Factors) else column

    def is_missing(self, name: str) -> NDArray[np.bool_]:
        """(n_rows,): where a column has no value."""
        column = self.held(name)
        if isinstance(column, Factors):
            return np.append(_gaps(column.values, self.missing), True)[column.codes]
        if column.dtype.kind == "O":
            return np.fromiter((cell is None for cell in column), dtype=bool, count=len(column))
        return np.isnan(column) if column.dtype.kind == "f" else np.zeros(len(column), dtype=bool)

    def column(self, name: str, *, nominal: bool | None = None) -> Array | Factors:
        """A training column -> numbers (n_rows,) or `Factors`; with ``nominal=None`` its values decide.

        In a file without types a column is numeric if more than half of its values are numbers; then all must be.
        """
        if nominal:
            return self.factors(name)
        column = self.held(name)
        if not isinstance(column, Factors):
            return self.numbers(name)
        if nominal is None and self.typed:
            return self.factors(name)
        numbers, bad = self._parsed(column)
        if nominal is None and are_codes(text for text in column.values.tolist() if not is_gap(text, self.missing)):
            note(f"note: column {name!r} has codes with zeros in front, such as {_padded(column)!r}: read as text")
            return self.factors(name)
        if nominal is None and (bad.sum() >= (~np.isnan(numbers)).sum() and bad.any()):
            found = self.factors(name)
            self._refuse_disguised(name, found.values.tolist())
            return found
        advice = "correct them, use --nominal to treat them as categories, or --missing if they mean a missing value"
        self._require_numbers(name, bad, advice)
        return numbers

    def numbers(self, name: str) -> Array:
        """A column -> numbers or booleans (n_rows,), NaN where missing; the error names the lines of other text."""
        column = self.held(name)
        if isinstance(column, Factors):
            numbers, bad = self._parsed(column)
            self._require_numbers(name, bad, "correct them: the model has learned numbers here")
            return numbers
        if column.dtype.kind == "O":
            raise DataError(
                f"column {name!r} must hold numbers or text, got {type(_first(column)).__name__};"
                " --dates turns dates into numbers; turn lists into columns, or leave it out with --drop"
            )
        return column

    def factors(self, name: str) -> Factors:
        """A column -> its distinct values and which of them each row has; numbers stay numbers."""
        column = self.held(name, text=True)
        if isinstance(column, Factors):
            there = ~_gaps(column.values, self.missing)
            code_of = np.append(np.where(there, np.cumsum(there) - 1, -1), -1)
            found = Factors(code_of[column.codes], column.values[there])
            return found if self.reading.exact_text else self._merged(name, found)
        values, codes = np.unique(self.numbers(name), return_inverse=True)
        return Factors(np.where(self.is_missing(name), -1, codes), values)

    def labels(self, name: str) -> Array:
        """The target -> labels (n_rows,), none missing: numbers if all are numbers, else unchanged text."""
        self._require_targets(name, "label")
        if not isinstance(self.held(name, text=True), Factors):
            return self.numbers(name)
        codes, distinct = self.factors(name)
        return _labels_from_texts(distinct.tolist(), self.typed, self.notation)[codes]

    def targets(self, name: str) -> NDArray[np.float64]:
        """The target of a regression -> numbers (n_rows,), none missing; the error names the lines of text."""
        self._require_targets(name, "number")
        column = self.held(name)
        if isinstance(column, Factors):
            numbers, bad = self._parsed(column)
            self._require_numbers(name, bad, "correct them, or fit classes without --regression")
        else:
            numbers = self.numbers(name).astype(np.float64, copy=False)
        endless = np.isinf(numbers)
        if endless.any():
            raise DataError(
                f"target {name!r} must hold finite numbers, got infinite or larger ones than a computer holds in"
                f" {number_of(int(endless.sum()), 'row')}; correct them, or remove the rows",
                tuple(self.named(name, endless)),
            )
        return numbers

    def known_labels(self, name: str, classes: Array) -> Array:
        """The target of a fitted model -> labels (n_rows,) of its classes; the error names the lines of others."""
        self._require_targets(name, "label")
        of_text = classes.dtype.kind in "UO"
        column = self.held(name, text=of_text)
        if not of_text or not isinstance(column, Factors):
            column = _factors_from_numbers(self.numbers(name))
        values = [str(value) if of_text else value for value in column.values.tolist()]
        known = known_places(values, classes, exact=self.reading.exact_text)
        codes = np.array(known, dtype=np.int64)[column.codes]
        if (codes < 0).any():
            raise DataError(
                f"target {name!r} must hold classes of the model ({listed(classes.tolist())}), got others in"
                f" {number_of(int((codes < 0).sum()), 'row')};"
                f" {'remove those rows' if (codes >= 0).any() else 'is it the right column?'}",
                tuple(self.named(name, codes < 0)),
            )
        return np.asarray(classes[codes])

    @property
    def notation(self) -> Notation:
        """How the file writes numbers; typed files have numbers of their own."""
        return POINT if self.typed else Notation(self.reading.decimal, self.reading.thousands)

    def _merged(self, name: str, found: Factors) -> Factors:
        """Texts with codes -> one text for all its spellings, which is said."""
        one, others = merged(found)
        if others:
            pairs = [f"{listed(map(repr, more), 3)} as {text!r}" for text, more in others.items()]
            note(f"note: column {name!r} counts {listed(pairs, 3)}; --exact-text keeps such spellings apart")
        return one

    def _refuse_disguised(self, name: str, texts: list[str]) -> None:
        """Refuse a column if most of its texts look like numbers or dates: as categories they would teach nothing."""
        marks = "numbers with a decimal comma, a unit or marks between thousands"
        numbers = [text for text in texts if _NUMBER_LIKE.fullmatch(text.strip())]
        dates = [text for text in texts if DATE_LIKE.fullmatch(text.strip())]
        if 2 * len(numbers) > len(texts) and all(self.notation.number(text) is not None for text in numbers):
            others = [text for text in texts if text not in numbers]
            raise DataError(
                f"column {name!r} must hold numbers or categories, got both, such as {numbers[0]!r} and {others[0]!r};"
                " correct the text, use --missing if it means a missing value, --nominal if all are categories, or"
                " --drop to leave the column out"
            )
        kinds = ((marks, numbers, _how_to_read(numbers)), ("dates", dates, "--dates turns them into numbers"))
        for kind, alike, advice in kinds:
            if 2 * len(alike) > len(texts):
                raise DataError(
                    f"column {name!r} must hold numbers or categories, got {kind} such as {alike[0]!r}; {advice},"
                    " --drop leaves the column out, --nominal treats them as categories"
                )

    def _parsed(self, column: Factors) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Texts -> numbers (n_rows,), NaN where missing or bad, and which are bad (n_rows,)."""
        numbers, bad = parse_texts(column.values, self.missing, self.notation)
        return np.append(numbers, np.nan)[column.codes], np.append(bad, False)[column.codes]

    def _require_targets(self, name: str, what: str) -> None:
        """Refuse a target with missing values."""
        gaps = self.is_missing(name)
        if gaps.any():
            raise DataError(
                f"target {name!r} must have a {what} in every row, got none in {number_of(int(gaps.sum()), 'row')};"
                " fill it in, remove the rows, or leave them out with --skip-unlabelled",
                tuple(self.named(name, gaps)),
            )

    def _require_numbers(self, name: str, bad: NDArray[np.bool_], advice: str) -> None:
        """Refuse a column with bad cells; if an option would read all of them, it is advised instead."""
        if bad.any():
            texts = [str(text) for text in dict.fromkeys(self.cells(name)[bad].tolist())]
            advice = _option_for(texts, self.notation) or advice
            raise DataError(
                f"column {name!r} must hold numbers, got text in {number_of(int(bad.sum()), 'row')}; {advice}",
                tuple(self.named(name, bad)),
            )

    def named(self, name: str, bad: NDArray[np.bool_]) -> list[str]:
        """Bad rows (n_rows,) -> a line for each of the first `MOST_NAMED`."""
        rows = np.flatnonzero(bad)
        cells = self.cells(name)
        words = [f"{self.where(row)}, column {name!r}: {str(cells[row])[:40]!r}" for row in rows[:MOST_NAMED].tolist()]
        return words + ([f"… and {len(rows) - MOST_NAMED:,} more"] if len(rows) > MOST_NAMED else [])


def _gaps(values: Array, missing: frozenset[str]) -> NDArray[np.bool_]:
    """Texts (k,) -> (k,), whether each stands for a missing value."""
    return np.fromiter((is_gap(value, missing) for value in values.tolist()), dtype=bool, count=len(values))


def _padded(column: Factors) -> str:
    """The first code with a zero in front."""
    return str(next(text for text in column.values.tolist() if text.strip().startswith("0")))


def _factors_from_numbers(numbers: Array) -> Factors:
    """Numbers (n,) -> their distinct values and codes."""
    values, codes = np.unique(numbers, return_inverse=True)
    return Factors(codes, values)


def _option_for(texts: list[str], notation: Notation) -> str | None:
    """Cells that could not be read as numbers -> the option that reads all of them; None if no option does."""
    if all(DATE_LIKE.fullmatch(text.strip()) for text in texts):
        return "--dates turns dates into numbers"
    if notation != POINT or not all(_NUMBER_LIKE.fullmatch(text.strip()) for text in texts):
        return None
    found = _how_to_read(texts)
    return found if found.startswith("--") else None


def _how_to_read(texts: list[str]) -> str:
    """Numbers in another notation -> the options that read all of them, or else advice."""
    if all(Notation(",").number(text) is not None is not Notation(".", ",").number(text) for text in texts):
        return "--decimal , or --thousands , reads them, whichever the comma is"
    for decimal, thousands in ((",", ""), (".", ","), (",", "."), (".", "'"), (",", " "), (".", " ")):
        notation = Notation(decimal, thousands)
        if all(notation.number(text) is not None for text in texts):
            marks = f' --thousands "{thousands}"' if thousands else ""
            return ((f"--decimal {decimal}" if decimal == "," else "") + marks).strip() + " reads them"
    return "write them as 1234.5"


def _labels_from_texts(texts: list[str], typed: bool, notation: Notation = POINT) -> Array:
    """Distinct texts (k,) -> whole numbers, numbers, or the texts."""
    as_text = np.array(texts)
    plain = [text if typed else (notation.with_point(text) or text) for text in texts]
    numbers = [None if typed or _PADDED.match(text) else _plain_number(text) for text in plain]
    if any(number is None for number in numbers):
        return as_text
    if all(isinstance(number, int) and abs(number) < 2**63 for number in numbers):
        return np.array(numbers, dtype=np.int64)
    return np.array(numbers, dtype=np.float64)


def _plain_number(text: str) -> int | float | None:
    """One text -> int, float, or None if it is neither; words such as ``true`` and ``inf`` are not numbers here."""
    if len(text) > MOST_DIGITS or not re.fullmatch(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*", text, re.ASCII):
        return None
    return int(text) if re.fullmatch(r"\s*[+-]?\d+\s*", text, re.ASCII) else float(text)


def _first(cells: Array) -> Any:
    """The first cell that is not missing."""
    return next((cell for cell in cells if cell is not None), None)
