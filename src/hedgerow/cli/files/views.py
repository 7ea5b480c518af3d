"""Sheets of several files, of selected rows, or with dates as numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hedgerow.cli.console import note
from hedgerow.cli.exit_codes import DataError
from hedgerow.cli.files.csv_blocks import joined
from hedgerow.cli.files.sheet import Array, Sheet
from hedgerow.cli.files.values import days_of, days_of_objects, is_ambiguous, is_date_like, is_gap
from hedgerow.table import Factors
from hedgerow.table.bins import PARTS, part_of
from hedgerow.table.categories import is_date
from hedgerow.util.text import listed, number_of


class StackedSheet(Sheet):
    """Rows of several files with the same columns."""

    def __init__(self, sheets: Sequence[Sheet], paths: Sequence[str]) -> None:
        first = sheets[0]
        for sheet, path in zip(sheets, paths, strict=True):
            lacking, more = set(first.names) - set(sheet.names), set(sheet.names) - set(first.names)
            if lacking or more:
                fault = f"lacks {listed(sorted(lacking))}" if lacking else f"also has {listed(sorted(more))}"
                raise DataError(f"{path}: {fault}. All files must have the columns of {paths[0]}.")
        self.sheets, self.paths = sheets, paths
        self.names, self.reading = first.names, first.reading
        self.missing = frozenset().union(*(sheet.missing for sheet in sheets))
        self.has_types = all(sheet.has_types for sheet in sheets)

    @cached_property
    def n_rows(self) -> int:  # type: ignore[override]
        """Number of rows."""
        return sum(sheet.n_rows for sheet in self.sheets)

    def held(self, name: str, *, text: bool = False) -> Array | Factors:
        """Return a column: numbers if all files have numbers, else factors."""
        parts = [sheet.held(name, text=text) for sheet in self.sheets]
        if any(isinstance(part, Factors) for part in parts):
            parts = [_texts(sheet, name) for sheet in self.sheets]
        whole = [part for part in parts if not isinstance(part, Factors)]
        return np.concatenate(whole) if whole else joined([part for part in parts if isinstance(part, Factors)])

    def prepare(self, names: Iterable[str], texts: Iterable[str] = ()) -> None:
        """Read columns of every file."""
        names, texts = list(names), list(texts)
        for sheet in self.sheets:
            sheet.prepare(names, texts)

    def forget(self, name: str) -> None:
        """Release a column in every file."""
        for sheet in self.sheets:
            sheet.forget(name)

    def where(self, row: int) -> str:
        """Return the file and line of a row."""
        for sheet, path in zip(self.sheets, self.paths, strict=True):
            if row < sheet.n_rows:
                return f"{path}, {sheet.where(row)}"
            row -= sheet.n_rows
        raise IndexError(row)


class SomeRows(Sheet):
    """Selected rows of a sheet."""

    def __init__(self, sheet: Sheet, rows: NDArray[np.bool_]) -> None:
        self.sheet, self.rows = sheet, np.flatnonzero(rows)
        self.names, self.missing, self.has_types, self.reading = (
            sheet.names,
            sheet.missing,
            sheet.has_types,
            sheet.reading,
        )
        self.n_rows, self.dates = len(self.rows), sheet.dates

    def held(self, name: str, *, text: bool = False) -> Array | Factors:
        """Return a column of the selected rows, without texts of other rows."""
        column = self.sheet.held(name, text=text)
        if not isinstance(column, Factors):
            return column[self.rows]
        used, codes = np.unique(column.codes[self.rows], return_inverse=True)
        codes = codes - int((used < 0).any())
        return Factors(codes.astype(column.codes.dtype), column.values[used[used >= 0]])

    def prepare(self, names: Iterable[str], texts: Iterable[str] = ()) -> None:
        """Read columns together."""
        self.sheet.prepare(names, texts)

    def forget(self, name: str) -> None:
        """Release a column."""
        self.sheet.forget(name)

    def where(self, row: int) -> str:
        """Return words that locate a row in the file."""
        return self.sheet.where(int(self.rows[row]))


def labelled_rows(sheet: Sheet, target: str) -> Sheet:
    """Return the labelled rows of a sheet, with a note about the others."""
    gaps = sheet.is_missing(target)
    if not gaps.any():
        return sheet
    if gaps.all():
        raise DataError(f"Target {target!r} has no labels. Is it the right column?")
    note(f"note: Skipped {number_of(int(gaps.sum()), 'row')} without a label; {int((~gaps).sum()):,} remain.")
    return SomeRows(sheet, ~gaps)


class Dated(Sheet):
    """A sheet with dates as days since 1970, and columns for month and weekday."""

    def __init__(self, sheet: Sheet) -> None:
        self.sheet = sheet
        self.missing, self.has_types, self.reading = sheet.missing, sheet.has_types, sheet.reading
        sheet.prepare(sheet.names)
        self.dates = frozenset(name for name in sheet.names if self._holds_dates(name))
        parts = (name + part for name in sheet.names if name in self.dates for part in PARTS)
        self.names = (*sheet.names, *(name for name in parts if name not in sheet.names))

    @property
    def n_rows(self) -> int:  # type: ignore[override]
        """Number of rows."""
        return self.sheet.n_rows

    def held(self, name: str, *, text: bool = False) -> Array | Factors:
        """Return a column of the sheet; days, months or weekdays of dates."""
        if name in self.dates:
            return self.sheet.held(name, text=True) if text else self._days(name)
        if name in self.sheet.names:
            return self.sheet.held(name, text=text)
        part = next(each for each in PARTS if name.endswith(each))
        return part_of(self._days(name.removesuffix(part)), part)

    def prepare(self, names: Iterable[str], texts: Iterable[str] = ()) -> None:
        """Read columns together."""
        there = set(self.sheet.names)
        self.sheet.prepare([name for name in names if name in there], [name for name in texts if name in there])

    def forget(self, name: str) -> None:
        """Release a column."""
        if name in self.sheet.names:
            self.sheet.forget(name)

    def where(self, row: int) -> str:
        """Return words that locate a row in the file."""
        return self.sheet.where(row)

    def _holds_dates(self, name: str) -> bool:
        column = self.sheet.held(name)
        if isinstance(column, Factors):
            texts = [text for text in column.values.tolist() if not is_gap(text, self.missing)]
            return bool(texts) and is_date_like(texts)
        if column.dtype.kind != "O":
            return False
        there = [cell for cell in column.tolist() if cell is not None]
        return bool(there) and all(is_date(cell) for cell in there)

    def _days(self, name: str) -> NDArray[np.float64]:
        """Return the days (n_rows,) of a column of dates, NaN where missing."""
        column = self.sheet.held(name)
        if not isinstance(column, Factors):
            return days_of_objects(column)
        texts = column.values.tolist()
        there = [text for text in texts if not is_gap(text, self.missing)]
        if self.reading.day_first is None and is_ambiguous(there):
            raise DataError(
                f"Column {name!r} has ambiguous dates such as {there[0]!r}. Add --day-first or --month-first."
            )
        days = days_of(texts, self.reading.day_first)
        bad = np.array(
            [np.isnan(day) and not is_gap(text, self.missing) for day, text in zip(days, texts, strict=True)]
        )
        if bad.any():
            where = np.append(bad, False)[column.codes]
            n_cells = int(where.sum())
            raise DataError(
                f"Column {name!r}: {number_of(n_cells, 'cell')} without a date with a four-digit year. Correct the"
                " cells, or add --missing if they mark missing values.",
                tuple(self.named(name, where)),
            )
        return np.append(days, np.nan)[column.codes]


def _texts(sheet: Sheet, name: str) -> Factors:
    """Return a column of one file as text, even if it is numeric there."""
    column = sheet.held(name, text=True)
    if isinstance(column, Factors):
        return column
    values, codes = np.unique([str(cell) for cell in column.tolist()], return_inverse=True)
    return Factors(codes.astype(np.int32), values.astype(object))
