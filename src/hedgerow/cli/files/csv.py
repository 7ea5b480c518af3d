"""CSV files."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from hedgerow.cli.console import progress, warn
from hedgerow.cli.exit_codes import DataError, UsageError
from hedgerow.cli.files.compression import opened
from hedgerow.cli.files.csv_blocks import Column, Layout, NotPlain, Wanted, part_from_texts, read_by_arrow
from hedgerow.cli.files.sheet import MOST_NAMED, NUMBER, Array, Sheet
from hedgerow.cli.files.values import POINT, NumberFormat
from hedgerow.cli.options import ReadOptions
from hedgerow.table import Factors
from hedgerow.util.text import listed, number_of, printable

if TYPE_CHECKING:
    from _csv import Reader

#: Texts that usually mark a missing value in CSV files.
MISSING = frozenset({"", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "?", "#N/A"})
#: Name of a column without one, with its number.
UNNAMED = "column"
DELIMITERS = (",", ";", "\t", "|")
#: Default options for reading.
READING = ReadOptions()

#: Python reads a smaller file faster than pyarrow can be imported.
SMALL_BYTES = 1 << 21
#: Rows held as Python strings at the same time.
_BLOCK = 20_000
_HEAD = 100_000
_NAMED = re.compile(r"sep=(.)")


@dataclass(eq=False)
class DelimitedSheet(Sheet):
    """A CSV file whose columns are read when first used, those of `prepare` together.

    Numeric columns are kept as numbers, in few bytes if possible. Other columns, and those requested as text, are
    kept as distinct texts and codes. The text of the file is never kept.
    """

    data: bytes | Path
    layout: Layout
    offset: int  # bytes before the first row
    reading: ReadOptions = READING
    line: str = "line"  # word for a line of the file: a spreadsheet has rows
    _held: dict[str, Column] = field(default_factory=dict)
    _last: tuple[str, Array] | None = None  # the numeric column used last
    _n_rows: int | None = None
    has_types = False

    @property
    def names(self) -> tuple[str, ...]:  # type: ignore[override]
        """Column names."""
        return self.layout.names

    @property
    def missing(self) -> frozenset[str]:  # type: ignore[override]
        """Texts that mark a missing value."""
        return self.layout.missing

    @property
    def n_rows(self) -> int:  # type: ignore[override]
        """Number of rows."""
        if self._n_rows is None:
            self.prepare(self.names[:1])
        return self._n_rows or 0

    def prepare(self, names: Iterable[str], texts: Iterable[str] = ()) -> None:
        """Read columns together, those of `texts` as text."""
        as_text = {name for name in texts if not isinstance(self._held.get(name), Factors)}
        wanted = as_text | {name for name in names if name not in self._held}
        while wanted or self._n_rows is None:
            found = self._read(Wanted([name for name in self.names if name in wanted], as_text))
            if self._n_rows not in (None, found.n_rows):
                raise DataError("The file changed while it was read. Try again.")
            self._n_rows = found.n_rows
            self._held |= found.columns()
            wanted = as_text = found.mixed

    def held(self, name: str, *, text: bool = False) -> Array | Factors:
        """Return a column: numbers (n_rows,), or factors; always factors with `text`."""
        self.prepare(*((), [name]) if text else ([name],))
        column = self._held[name]
        if isinstance(column, Factors):
            return column
        if self._last is None or self._last[0] != name:
            self._last = name, column.as_floats()
        return self._last[1]

    def forget(self, name: str) -> None:
        """Release a numeric column; it is read again when it is used again."""
        if not isinstance(self._held.get(name), Factors):
            self._held.pop(name, None)
        self._last = None

    def where(self, row: int) -> str:
        """Return the line on which a row begins, from 1."""
        return f"{self.line} {self._lines[row]}"

    @cached_property
    def _lines(self) -> Array:
        """First line of each row (n_rows,), for errors."""
        with opened(self.data) as file:
            reader = csv.reader(_Lines(file), delimiter=self.layout.delimiter, strict=True)
            _header(reader)
            return np.fromiter((line for line, _ in _numbered(reader)), np.int64)

    def _read(self, wanted: Wanted) -> Wanted:
        """Read columns, with pyarrow if the file is large and plain."""
        with opened(self.data) as file:
            n_bytes = file.seek(0, io.SEEK_END)
            with progress("reading", n_bytes) as done:
                if n_bytes > SMALL_BYTES and has_pyarrow():
                    file.seek(self.offset)
                    fast = Wanted(wanted.names, set(wanted.texts))
                    try:
                        for n_done in read_by_arrow(file, self.layout, fast):
                            done(n_done)
                        if fast.n_rows:
                            return fast
                    except NotPlain:
                        pass
                file.seek(0)
                _read_by_python(file, self.layout, wanted)
        return wanted


def sheet_from_csv(data: bytes | Path, reading: ReadOptions = READING, line: str = "line") -> DelimitedSheet:
    """Return the sheet of a CSV file, after reading only its header.

    Parameters
    ----------
    data : bytes or Path
        UTF-8 with a header, separated by commas, semicolons, tabs or bars, whichever splits the header most.
    reading : ReadOptions
        Markers of missing values in addition to `MISSING`, and the format of numbers.
    line : str
        Word for a line of the file: a spreadsheet has rows.

    Raises
    ------
    DataError
        If the text is not UTF-8, or the header is absent or has repeated names. Reading columns raises it if there
        are no rows, or rows of another length than the header.
    """
    with opened(data) as file:
        head = file.read(_HEAD)
        file.seek(0)
        delimiter = _delimiter(head.decode("utf-8-sig", errors="replace"))
        lines = _Lines(file)
        reader = csv.reader(lines, delimiter=delimiter, strict=True)
        with _errors_with_lines(reader):
            names = _header(reader)
    _suspect_header(names)
    decimal, thousands = reading.marks
    number_format = NumberFormat(_checked_mark("--decimal", decimal, ".,"), thousands)
    _checked_mark("--thousands", thousands, ",. '_\u2019\u00a0\u202f", other=decimal)
    layout = Layout(names, delimiter, MISSING | frozenset(reading.missing), number_format)
    return DelimitedSheet(data, layout, lines.n_bytes, reading, line)


def has_pyarrow() -> bool:
    """Test whether pyarrow is installed; some systems have no wheel of it."""
    try:
        import pyarrow.csv  # noqa: F401
    except ImportError:
        return False
    return True


def _checked_mark(option: str, mark: str, marks: str, other: str | None = None) -> str:
    """Validate a mark; with `other`, the mark it must differ from, it may be empty."""
    if (mark or other is None) and (len(mark) != 1 or mark not in marks or mark == other):
        words = "a point or a comma" if other is None else "a comma, point, space or apostrophe other than --decimal"
        raise UsageError(f"{option} must be {words}, got {mark!r}.")
    return mark


def _suspect_header(names: tuple[str, ...]) -> None:
    """Warn if most column names are numbers that do not count up, as years would."""
    numbers = [POINT.number(name) for name in names if NUMBER.fullmatch(name)]
    known = [number for number in numbers if number is not None]
    counting = all(number % 1 == 0 for number in known) and known == sorted(known)
    if 2 * len(known) > len(names) and not counting:
        warn(f"The column names look like data ({listed(names, 4)}). If the file has no header, add one.")


def _delimiter(head: str) -> str:
    """Return the delimiter that splits the header into most parts.

    A first line such as ``sep=;``, which spreadsheets write, takes precedence.
    """
    header = re.split("[\r\n]", head.lstrip("\r\n"), maxsplit=1)[0]
    if (named := _NAMED.fullmatch(header)) and named[1] in DELIMITERS:
        return named[1]
    parts = [len(next(csv.reader([header], delimiter=each), [])) for each in DELIMITERS]
    return DELIMITERS[parts.index(max(parts))]


def _header(reader: Iterator[list[str]]) -> tuple[str, ...]:
    """Return the column names: the first row that is not empty."""
    rows = (row for row in reader if row and not (row[0] == "sep=" and not any(row[1:])))
    names = tuple(name.strip() for name in next(rows, []))
    if not any(names):
        raise DataError("no header with column names. Is it the right file?")
    named = len(names)
    while not names[named - 1]:
        named -= 1
    if max(2, len(names) - named) <= named:  # else the names are a title
        names = (*names[:named], *(f"{UNNAMED} {number + 1}" for number in range(named, len(names))))
    unnamed = [number + 1 for number, name in enumerate(names) if not name]
    twice = sorted({name for name in names if names.count(name) > 1})
    if unnamed == [1] and not twice:  # pandas writes its index without a name
        return (f"{UNNAMED} 1", *names[1:])
    if unnamed or twice:
        fault = f"column {unnamed[0]} has no name" if unnamed else f"two columns are named {twice[0]!r}"
        hint = "Is there a title above the header, or no header?" if len(names) > 1 else "Add a header."
        raise DataError(f"{fault}. {hint}")
    return names


def _read_by_python(file: BinaryIO, layout: Layout, wanted: Wanted) -> None:
    """Read row by row; errors locate the lines."""
    width = len(layout.names)
    reader = csv.reader(_Lines(file), delimiter=layout.delimiter, strict=True)
    bad: list[str] = []
    n_bad = 0
    with _errors_with_lines(reader):
        _header(reader)
        rows = _numbered(reader)
        while block := list(islice(rows, _BLOCK)):
            wrong = [(line, len(row)) for line, row in block if len(row) != width]
            n_bad += len(wrong)
            bad += [f"line {line}: {found} cells" for line, found in wrong[: MOST_NAMED - len(bad)]]
            if not n_bad:
                cells = dict(zip(layout.names, zip(*(row for _, row in block), strict=True), strict=True))
                parts = {name: part_from_texts(cells[name], layout, name in wanted.texts) for name in wanted.names}
                wanted.take(parts, len(block))
    if n_bad:
        more = [f"… and {n_bad - len(bad):,} more"] if n_bad > len(bad) else []
        raise DataError(
            f"{number_of(n_bad, 'row')} {'does' if n_bad == 1 else 'do'} not have {width} cells like the header. Quote"
            " cells that contain the delimiter or a quote.",
            tuple(map(printable, bad + more)),
        )
    if not wanted.n_rows:
        raise DataError("The table has no rows below its header. Is it the right file?")


@contextmanager
def _errors_with_lines(reader: Reader) -> Iterator[None]:
    """Convert errors of the CSV reader to errors about the table."""
    try:
        yield
    except csv.Error as reason:
        raise DataError(f"line {reader.line_num}: invalid CSV ({reason}). Are all quotes closed?") from None


def _numbered(reader: Reader) -> Iterator[tuple[int, list[str]]]:
    """Yield rows that are not empty, with the line on which each begins."""
    before = reader.line_num
    for row in reader:
        if row:
            yield before + 1, row
        before = reader.line_num


@dataclass
class _Lines:
    """Decoded lines of a file."""

    file: BinaryIO
    n_bytes: int = 0

    def __iter__(self) -> Iterator[str]:
        number = 0
        for whole in self.file:
            for line in whole.splitlines(keepends=True) if b"\r" in whole else (whole,):
                number += 1
                yield self._decoded(line, number).removeprefix("\ufeff" if number == 1 else "")

    def _decoded(self, line: bytes, number: int) -> str:
        """Decode a line; raise `DataError` if it is not text."""
        self.n_bytes += len(line)
        try:
            text = line.decode()
        except UnicodeDecodeError as reason:
            raise DataError(
                f"line {number}: not UTF-8 (byte 0x{line[reason.start]:02x}). Add --encoding, or save it as UTF-8."
            ) from None
        if "\0" in text:
            raise DataError(f"line {number}: not text (zero byte). Is it a CSV file?")
        return text
