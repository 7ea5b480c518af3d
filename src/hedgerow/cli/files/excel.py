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

#: Row limit of Excel.
MOST_ROWS = 1_048_576
#: Sheets with at most this many cell positions, or at most one per character of their text, are never too large.
ALWAYS_PLACES = 1_000_000

#: Cell references of .xlsx, and repeat counts of rows and cells in .ods.
_PLACE = re.compile(rb"""\br\s*=\s*["']([A-Za-z]+)([0-9]+)""")
_ROW = re.compile(rb"<table:table-row\b[^>]*>|<table:(?:covered-)?table-cell\b[^>]*>")
_REPEATED = re.compile(rb"""number-(?:rows|columns)-repeated\s*=\s*["']([0-9]+)""")


def csv_from_workbook(data: bytes | Path, sheet: str | None = None) -> bytes:
    """Return a sheet, by name or number, as CSV with a line for each row."""
    try:
        from python_calamine import CalamineError, CalamineWorkbook
    except ImportError:
        raise ImportError(
            "Spreadsheets require python-calamine. Run pip install python-calamine, or export CSV."
        ) from None
    _refuse_huge(data)
    try:
        book = CalamineWorkbook.from_filelike(io.BytesIO(all_bytes(data)))
        name = _name_of(book.sheet_names, sheet)
        page = book.get_sheet_by_name(name)
        rows = page.to_python()
    except CalamineError as reason:
        raise DataError(f"corrupt or password-protected spreadsheet ({reason}).") from None
    if not rows:
        raise DataError(f"sheet {name!r} is empty. Select another with --sheet.")
    file = io.StringIO(newline="")
    file.write("\n" * (page.start or (0, 0))[0])  # line numbers then equal row numbers of the spreadsheet
    writer = csv.writer(file, lineterminator="\n")
    for row in rows:
        cells = [_text(cell) for cell in row]
        writer.writerow(cells if any(cells) else [])
    return file.getvalue().encode()


def write_workbook(columns: dict[str, Any], file: str | Path) -> None:
    """Write columns by name to an .xlsx file; text is never read as a formula."""
    try:
        from openpyxl import Workbook
        from openpyxl.cell import WriteOnlyCell
        from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE
    except ImportError:
        raise ImportError("Writing .xlsx files requires openpyxl. Run pip install openpyxl, or use CSV.") from None
    book = Workbook(write_only=True)
    page = book.create_sheet("answers")

    def cell(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        made = WriteOnlyCell(page, ILLEGAL_CHARACTERS_RE.sub("\ufffd", value)[:32767])
        made.data_type = "s"  # text even if it begins like a formula
        return made

    lists = [list(each) for each in columns.values()]
    if lists and len(lists[0]) >= MOST_ROWS:
        raise UsageError(f"A spreadsheet has fewer than {MOST_ROWS:,} rows, got {len(lists[0]):,}. Write CSV.")
    page.append([cell(name) for name in columns])
    for row in zip(*lists, strict=True):
        page.append([cell(_plain(value)) for value in row])
    book.save(file)


def _refuse_huge(data: bytes | Path) -> None:
    """Raise `DataError` for distant cells, between which readers fill all positions."""
    if first_bytes(data, 2) != b"PK":
        return
    for name, parts in groupby(members(data), key=itemgetter(0)):
        if name.lower().endswith(".bin") and "worksheets" in name.lower():
            raise DataError("spreadsheets must be .xlsx, .ods or .xls, got .xlsb. Save it as .xlsx.")
        found = _places((piece for _, piece in parts), repeats=name == "content.xml")
        if found[0] > max(ALWAYS_PLACES, found[1]):
            raise DataError(
                f"cells too far apart ({found[0]:,} cell positions in {name}). Delete cells outside the table,"
                " or export CSV."
            )


def _places(parts: Iterator[bytes], *, repeats: bool) -> tuple[int, int]:
    """Return the number of cell positions of a spreadsheet member, and its length."""
    if repeats:
        text = b"".join(parts).replace(b"\0", b"")  # zero bytes of UTF-16
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
    """Return the number of a column: 28 for ``b"AB"``."""
    number = 0
    for letter in letters[:10].upper():
        number = 26 * number + letter - 64
    return number


def _repeated_places(text: bytes) -> int:
    """Count the cells of .ods contents after expanding repeats."""
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
    """Return the name of the selected sheet."""
    if wanted is None:
        if len(names) > 1:
            note(f"note: Read sheet {names[0]!r} of {len(names)}. --sheet selects another: {listed(names[1:])}")
        return names[0]
    if wanted in names:
        return wanted
    if wanted.isdecimal() and 1 <= int(wanted) <= len(names):
        return names[int(wanted) - 1]
    raise UsageError(f"--sheet must be one of {listed(names)}, or a number from 1 to {len(names)}, got {wanted!r}.")


def _text(cell: object) -> str:
    """Return the text of a cell on one line, with dates as 2024-12-31."""
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float):
        return repr(int(cell)) if cell.is_integer() and abs(cell) < 2**53 else repr(cell)
    if isinstance(cell, datetime.date | datetime.time):
        return cell.isoformat()
    if isinstance(cell, datetime.timedelta):
        return repr(cell.total_seconds())
    return " ".join(str(cell).splitlines())


def _plain(value: object) -> str | int | float | bool | None:
    """Return a value that a cell can store: None for NaN, text for other types."""
    if isinstance(value, float) and not -float("inf") < value < float("inf"):
        return None
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)
