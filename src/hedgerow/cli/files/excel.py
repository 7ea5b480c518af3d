"""Spreadsheets (.xlsx, .ods, .xls)."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from hedgerow.cli.console import note
from hedgerow.cli.exit_codes import DataError, UsageError
from hedgerow.cli.files.compression import all_bytes, first_bytes, members
from hedgerow.cli.files.spreadsheet import REJECTED
from hedgerow.util.text import listed

#: Row limit of Excel.
MOST_ROWS = 1_048_576
#: Sheets with at most this many cell positions, or at most one per character of their text, are never too large.
ALWAYS_PLACES = 1_000_000
#: Memory for reading a spreadsheet: bytes, and times its unpacked size. A cell of 30 bytes takes about 200.
MEMORY, MEMORY_TIMES = 1 << 30, 16

#: Cell references of .xlsx, and repeat counts of rows and cells in .ods.
_PLACE = re.compile(rb"""\br\s*=\s*["']([A-Za-z]+)([0-9]+)""")
_ROW = re.compile(rb"<table:table-row\b[^>]*>|<table:(?:covered-)?table-cell\b[^>]*>")
_REPEATED = re.compile(rb"""number-(?:rows|columns)-repeated\s*=\s*["']([0-9]+)""")


def csv_from_excel(data: bytes | Path, sheet: str | None = None) -> bytes:
    """Return a sheet, by name or number, as CSV with a line for each row."""
    if find_spec("python_calamine") is None:
        raise ImportError("Spreadsheets require python-calamine. Run pip install python-calamine, or export CSV.")
    most_bytes = MEMORY + MEMORY_TIMES * _checked_size(data)
    words = [
        sys.executable,
        "-m",
        "hedgerow.cli.files.spreadsheet",
        str(most_bytes),
        *([] if sheet is None else [sheet]),
    ]
    done = subprocess.run(words, input=all_bytes(data), capture_output=True, check=False)
    if done.returncode == REJECTED:
        raise DataError(f"corrupt or password-protected spreadsheet ({done.stderr.decode(errors='replace')}).")
    if done.returncode != 0:
        raise DataError(
            f"the spreadsheet is damaged, or takes more than {most_bytes >> 20:,} MB of memory to read. Export CSV."
        )
    head, _, text = done.stdout.partition(b"\n")
    found = json.loads(head)
    _check_name(found["names"], found["name"], sheet)
    if not text:
        raise DataError(f"sheet {found['name']!r} is empty. Select another with --sheet.")
    return text


def write_excel(columns: dict[str, Any], file: str | Path) -> None:
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


def _checked_size(data: bytes | Path) -> int:
    """Return the number of unpacked bytes; raise `DataError` for cells far apart.

    Readers fill all positions between cells.
    """
    if first_bytes(data, 2) != b"PK":
        return len(all_bytes(data))
    size = 0
    for name, parts in groupby(members(data), key=itemgetter(0)):
        if name.lower().endswith(".bin") and "worksheets" in name.lower():
            raise DataError("spreadsheets must be .xlsx, .ods or .xls, got .xlsb. Save it as .xlsx.")
        n_places, length = _places((piece for _, piece in parts), repeats=name == "content.xml")
        if n_places > max(ALWAYS_PLACES, length):
            raise DataError(
                f"cells too far apart ({n_places:,} cell positions in {name}). Delete cells outside the table,"
                " or export CSV."
            )
        size += length
    return size


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


def _check_name(names: list[str], name: str | None, wanted: str | None) -> None:
    """Raise `UsageError` for a sheet that does not exist; tell of others by default."""
    if name is None:
        raise UsageError(f"--sheet must be one of {listed(names)}, or a number from 1 to {len(names)}, got {wanted!r}.")
    if wanted is None and len(names) > 1:
        note(f"note: Read sheet {name!r} of {len(names)}. --sheet selects another: {listed(names[1:])}")


def _plain(value: object) -> str | int | float | bool | None:
    """Return a value that a cell can store: None for NaN, text for other types."""
    if isinstance(value, float) and not -float("inf") < value < float("inf"):
        return None
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)
