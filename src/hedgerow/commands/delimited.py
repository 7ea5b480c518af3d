"""Delimited: the bytes of a CSV file -> sheet with every cell as text."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.dtypes import StringDType

from hedgerow.commands.outcome import DataError
from hedgerow.commands.sheet import MOST_NAMED, Array, Sheet
from hedgerow.commands.talk import progress
from hedgerow.safe.text import printable

#: Texts that usually stand for a missing value in CSV files.
MISSING = frozenset({"", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "?", "#N/A"})
DELIMITERS = (",", ";", "\t", "|")

#: Rows that are Python strings at the same time; as an array, a short cell then takes 16 bytes.
_BLOCK = 20_000
_TEXT = StringDType()


@dataclass(eq=False)
class DelimitedSheet(Sheet):
    """The cells of a CSV file. `lines` (n_rows,) is the line each row begins at, counting from 1."""

    names: tuple[str, ...]
    columns: dict[str, Array]
    lines: Array
    missing: frozenset[str]
    typed = False

    @property
    def n_rows(self) -> int:  # type: ignore[override]
        """Number of rows."""
        return len(self.lines)

    def cells(self, name: str) -> Array:
        """(n_rows,) text."""
        return self.columns[name]

    def where(self, row: int) -> str:
        """The line a row begins at."""
        return f"line {self.lines[row]}"


def sheet_from_csv(data: bytes, missing: Iterable[str] = ()) -> DelimitedSheet:
    """The bytes of a CSV file -> sheet.

    Parameters
    ----------
    data : bytes
        UTF-8, with a header; separated by commas, semicolons, tabs or bars, whichever splits the header most.
    missing : iterable of str
        Texts that stand for a missing value, besides `MISSING`.

    Raises
    ------
    DataError
        If the text is not UTF-8, there is no header or no row, names repeat, or a row is longer or shorter than the
        header.
    """
    text = _decoded(data)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text), strict=True)
    try:
        names = _header(reader)
        blocks, lines = _read(reader, len(names), text.count("\n") + 1)
    except csv.Error as reason:
        raise DataError(f"line {reader.line_num} must be CSV, got {reason}; are its quotes closed?") from None
    if not len(lines):
        raise DataError("a table must have at least one row below its header, got none; is it the right file?")
    columns = {name: np.concatenate([block[number] for block in blocks]) for number, name in enumerate(names)}
    return DelimitedSheet(names, columns, lines, MISSING | frozenset(missing))


def _decoded(data: bytes) -> str:
    """Bytes -> text; the error names the line that is not text."""
    if data[:2] == b"\x1f\x8b":
        raise DataError("a CSV file must be text, got a gzip file; unpack it: gunzip -c FILE | hedgerow … -")
    if data[:4] == b"PK\x03\x04":
        raise DataError("a CSV file must be text, got a zip archive or an Excel sheet; export it as CSV")
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise DataError("a CSV file must be UTF-8, got UTF-16; save it as UTF-8")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as reason:
        line = data.count(b"\n", 0, reason.start) + 1
        raise DataError(
            f"line {line} must be UTF-8, got the byte 0x{data[reason.start]:02x}; save the file as UTF-8, or convert"
            " it, for example with iconv -f latin1 -t utf-8"
        ) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise DataError(f"line {line} must be text, got a zero byte; is it a CSV or Parquet file?")
    return text


def _delimiter(text: str) -> str:
    """The text -> the delimiter that splits its header into most parts; of equals, the first in `DELIMITERS`."""
    header = text.lstrip("\r\n")[:100_000].split("\n", 1)[0]
    parts = [len(next(csv.reader([header], delimiter=each), [])) for each in DELIMITERS]
    return DELIMITERS[parts.index(max(parts))]


def _header(reader: Iterator[list[str]]) -> tuple[str, ...]:
    """The first row that is not empty -> names, all different."""
    names = tuple(name.strip() for name in next((row for row in reader if row), []))
    if not any(names):
        raise DataError(
            "a table must have a header with the names of its columns, got an empty file; is it the right one?"
        )
    unnamed = [number + 1 for number, name in enumerate(names) if not name]
    twice = sorted({name for name in names if names.count(name) > 1})
    if unnamed == [1] and not twice:  # as pandas writes its index
        return ("column 1", *names[1:])
    if unnamed or twice:
        got = f"no name for column {unnamed[0]}" if unnamed else f"{twice[0]!r} twice"
        raise DataError(f"the columns of a header must have different names, got {got}; rename them")
    return names


def _read(reader: csv.Reader, width: int, n_lines: int) -> tuple[list[list[Array]], Array]:  # type: ignore[name-defined]
    """Rows -> blocks of columns, and the line each row begins at (n_rows,)."""
    blocks: list[list[Array]] = []
    lines: list[int] = []
    bad: list[str] = []
    n_bad = 0
    rows = _numbered(reader)
    with progress("reading", n_lines) as done:
        while block := list(islice(rows, _BLOCK)):
            wrong = [(line, len(row)) for line, row in block if len(row) != width]
            n_bad += len(wrong)
            bad += [f"line {line}: {found} cells" for line, found in wrong[: MOST_NAMED - len(bad)]]
            if not n_bad:
                cells = zip(*(row for _, row in block), strict=True)
                blocks.append([np.array(column, dtype=_TEXT) for column in cells])
                lines += [line for line, _ in block]
            done(reader.line_num)
    if n_bad:
        more = [f"… and {n_bad - len(bad):,} more"] if n_bad > len(bad) else []
        raise DataError(
            f"every row must have {width} cells, as the header has, got {n_bad:,} with more or fewer; quote values that"
            " contain a delimiter or a quote",
            tuple(map(printable, bad + more)),
        )
    return blocks, np.array(lines, dtype=np.int64)


def _numbered(reader: csv.Reader) -> Iterator[tuple[int, list[str]]]:  # type: ignore[name-defined]
    """Rows that are not empty, each with the line it begins at."""
    before = reader.line_num
    for row in reader:
        if row:
            yield before + 1, row
        before = reader.line_num
