"""Spreadsheets as CSV, read in a process of its own with limited memory.

``python -m hedgerow.cli.files.spreadsheet BYTES [SHEET]`` reads a spreadsheet from standard input. It writes a line of
JSON with the names of the sheets and the selected one, and the CSV of this sheet. A spreadsheet of some kilobytes may
expand to gigabytes, or abort the reader; then only this process ends.
"""

from __future__ import annotations

import csv
import datetime
import io
import json
import sys
from collections.abc import Sequence
from typing import TextIO

#: Exit code for files that the reader rejects; its message is on standard error.
REJECTED = 3


def main(most_bytes: int, wanted: str | None) -> int:
    """Convert standard input to CSV on standard output, and return the exit code."""
    from python_calamine import CalamineError, CalamineWorkbook

    _limit_memory(most_bytes)
    out = io.TextIOWrapper(sys.stdout.buffer, encoding="utf-8", newline="")
    try:
        book = CalamineWorkbook.from_filelike(io.BytesIO(sys.stdin.buffer.read()))
        name = selected(book.sheet_names, wanted)
        out.write(json.dumps({"names": book.sheet_names, "name": name}) + "\n")
        if name is not None:
            page = book.get_sheet_by_name(name)
            _write_csv(page.to_python(), (page.start or (0, 0))[0], out)
    except CalamineError as reason:
        sys.stderr.write(str(reason))
        return REJECTED
    out.flush()
    return 0


def selected(names: list[str], wanted: str | None) -> str | None:
    """Return the name of a sheet, given by name or number; None if there is no such sheet."""
    if wanted is None:
        return names[0]
    if wanted in names:
        return wanted
    return names[int(wanted) - 1] if wanted.isdecimal() and 1 <= int(wanted[:10]) <= len(names) else None


def _limit_memory(most_bytes: int) -> None:
    """Limit the memory of this process; Windows has no such limit."""
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_AS, (most_bytes, most_bytes))


def _write_csv(rows: Sequence[Sequence[object]], first: int, out: TextIO) -> None:
    """Write rows after `first` empty lines, so that line numbers equal row numbers of the spreadsheet."""
    if not rows:
        return
    out.write("\n" * first)
    writer = csv.writer(out, lineterminator="\n")
    for row in rows:
        cells = [_text(cell) for cell in row]
        writer.writerow(cells if any(cells) else [])


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


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else None))
