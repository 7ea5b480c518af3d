"""Spreadsheets (.xlsx, .ods, .xls)."""

from __future__ import annotations

import csv
import datetime
import io
import re
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from hedgerow.cli.console import note
from hedgerow.cli.exit_codes import DataError, UsageError
from hedgerow.cli.files.compression import all_bytes, first_bytes, members
from hedgerow.util.text import listed

#: A sheet of Excel has no more rows.
MOST_ROWS = 1_048_576
#: A sheet with so many places for cells, or with no more than its text has characters, is never too large.
ALWAYS_PLACES = 1_000_000

#: The place of a cell in .xlsx, and in .ods how often a row or a cell is repeated.
_PLACE = re.compile(rb"""\br\s*=\s*["']([A-Za-z]+)([0-9]+)""")
_ROW = re.compile(rb"<table:table-row\b[^>]*>|<table:(?:covered-)?table-cell\b[^>]*>")
_REPEATED = re.compile(rb"""number-(?:rows|columns)-repeated\s*=\s*["']([0-9]+)""")


def csv_from_workbook(data: bytes | Path, sheet: str | None = None) -> bytes:
    """A spreadsheet, and the name or number of a sheet, by default the first -> CSV with a line for each row."""
    try:
        from python_calamine import CalamineError, CalamineWorkbook
    except ImportError:
        raise ImportError(
            "spreadsheets need python-calamine, which is not installed; pip install 'hedgerow[excel]', or export CSV"
        ) from None
    _refuse_huge(data)
    try:
        book = CalamineWorkbook.from_filelike(io.BytesIO(all_bytes(data)))
        name = _name_of(book.sheet_names, sheet)
        page = book.get_sheet_by_name(name)
        rows = page.to_python()
    except CalamineError as reason:
        raise DataError(f"a spreadsheet must be whole and without a password, got one that is not: {reason}") from None
    if not rows:
        raise DataError(f"a sheet must have a header and rows, got {name!r}, which is empty; name another with --sheet")
    file = io.StringIO(newline="")
    file.write("\n" * (page.start or (0, 0))[0])  # so that lines are the rows of the spreadsheet
    writer = csv.writer(file, lineterminator="\n")
    for row in rows:
        cells = [_text(cell) for cell in row]
        writer.writerow(cells if any(cells) else [])
    return file.getvalue().encode()


def write_workbook(columns: dict[str, Any], file: str | Path) -> None:
    """Columns by name -> a spreadsheet (.xlsx) in which numbers are numbers and every text stays text."""
    try:
        from openpyxl import Workbook
        from openpyxl.cell import WriteOnlyCell
        from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE
    except ImportError:
        raise ImportError(
            "writing spreadsheets needs openpyxl, which is not installed; pip install 'hedgerow[excel]', or use CSV"
        ) from None
    book = Workbook(write_only=True)
    page = book.create_sheet("answers")

    def cell(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        made = WriteOnlyCell(page, ILLEGAL_CHARACTERS_RE.sub("\ufffd", value)[:32767])
        made.data_type = "s"  # not a formula, whatever it begins with
        return made

    lists = [list(each) for each in columns.values()]
    if lists and len(lists[0]) >= MOST_ROWS:
        raise UsageError(f"a spreadsheet must have fewer than {MOST_ROWS:,} rows, got {len(lists[0]):,}; write CSV")
    page.append([cell(name) for name in columns])
    for row in zip(*lists, strict=True):
        page.append([cell(_plain(value)) for value in row])
    book.save(file)


def _refuse_huge(data: bytes | Path) -> None:
    """Refuse a spreadsheet with a few cells far from each other: a reader makes a table of all places between them."""
    if first_bytes(data, 2) != b"PK":
        return
    for name, parts in groupby(members(data), key=itemgetter(0)):
        if name.lower().endswith(".bin") and "worksheets" in name.lower():
            raise DataError("a spreadsheet must be .xlsx, .ods or .xls, got .xlsb; save it as one of these")
        found = _places((piece for _, piece in parts), repeats=name == "content.xml")
        if found[0] > max(ALWAYS_PLACES, found[1]):
            raise DataError(
                f"a spreadsheet must have its cells close together, got {found[0]:,} places for cells in {name}; delete"
                " what lies far outside the table, or export CSV"
            )


def _places(parts: Iterator[bytes], *, repeats: bool) -> tuple[int, int]:
    """The pieces of a file in a spreadsheet -> the places for cells it asks for, and its length."""
    if repeats:
        text = b"".join(parts).replace(b"\0", b"")  # as UTF-16 has them
        return _repeated_places(text), len(text)
    column, row, length, rest = 0, 0, 0, b""
    for piece in parts:
        length += len(piece)
        text = rest + piece.replace(b"\0", b"")
        found = _PLACE.findall(text)
        column = max([column, *map(_column_number, {letters for letters, _ in found})])
        row = max([row, *(int(digits[:10]) for digits in {digits for _, digits in found})])
        rest = text[-32:]
    return column * row, length


def _column_number(letters: bytes) -> int:
    """``b"AB"`` -> 28."""
    number = 0
    for letter in letters[:10].upper():
        number = 26 * number + letter - 64
    return number


def _repeated_places(text: bytes) -> int:
    """The contents of .ods -> how many cells with a value there are if repeated ones are written out."""
    places, times = 0, 1
    for found in _ROW.finditer(text):
        tag = found[0]
        match = _REPEATED.search(tag)
        repeated = 1 if match is None else int(match[1][:10])
        if tag.startswith(b"<table:table-row"):
            times = repeated
        elif b"value" in tag or not tag.endswith(b"/>"):
            places += times * repeated
    return places


def _name_of(names: list[str], wanted: str | None) -> str:
    """The names of all sheets, and what was asked for -> the name of one."""
    if wanted is None:
        if len(names) > 1:
            note(f"note: sheet {names[0]!r} of {len(names)} is read; --sheet names another: {listed(names[1:])}")
        return names[0]
    if wanted in names:
        return wanted
    if wanted.isdecimal() and 1 <= int(wanted) <= len(names):
        return names[int(wanted) - 1]
    raise UsageError(f"--sheet must be one of {listed(names)}, or a number from 1 to {len(names)}, got {wanted!r}")


def _text(cell: Any) -> str:
    """A cell -> its text in one line: whole numbers without a point, dates as 2024-12-31."""
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float):
        return repr(int(cell)) if cell.is_integer() and abs(cell) < 2**53 else repr(cell)
    if isinstance(cell, datetime.date | datetime.time):
        return cell.isoformat()
    if isinstance(cell, datetime.timedelta):
        return repr(cell.total_seconds())
    return " ".join(str(cell).splitlines())


def _plain(value: Any) -> Any:
    """A value -> what a cell can hold: what it does not know as text, NaN as nothing."""
    if isinstance(value, float) and not -float("inf") < value < float("inf"):
        return None
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)
