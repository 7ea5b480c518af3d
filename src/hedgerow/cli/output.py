"""Predictions as CSV, JSON lines, Parquet, Arrow or Excel files."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, TextIO, cast

import numpy as np

from hedgerow.cli.console import note, to_json
from hedgerow.cli.exit_codes import UsageError
from hedgerow.cli.files.arrow import write_arrow, write_parquet
from hedgerow.cli.files.csv import has_pyarrow
from hedgerow.cli.files.excel import write_excel
from hedgerow.cli.files.paths import ARROW, CSV, JSON, PARQUET, WORKBOOK
from hedgerow.cli.files.sheet import NUMBER, Array, Sheet
from hedgerow.inference.columns import BAR, Columns
from hedgerow.util.disk import whole_file
from hedgerow.util.text import number_of, printable_lines

#: Decimals in CSV; other formats keep full precision.
DECIMALS = 6

#: First characters by which spreadsheets recognise a formula.
FORMULA = frozenset("=+-@\t\r\n＝＋－＠")
#: Byte order marks and characters without width, which spreadsheets skip.
INVISIBLE = "\ufeff\u200b\u200c\u200d\u2060"

_BLOCK = 10_000

#: Formats by file name, and suffixes that cannot be written.
_FORMATS = {
    ".parquet": PARQUET,
    ".pq": PARQUET,
    ".feather": ARROW,
    ".arrow": ARROW,
    ".xlsx": WORKBOOK,
    ".jsonl": JSON,
    ".ndjson": JSON,
}
_ARCHIVES = {".gz", ".bz2", ".xz", ".zst", ".zip"}
_CANNOT = _ARCHIVES | {".ods", ".xls", ".xlsb", ".docx", ".doc", ".odt", ".pdf", ".html", ".htm"}
_WRITERS: dict[str, Callable[[dict[str, Any], Any], None]] = {
    PARQUET: write_parquet,
    ARROW: write_arrow,
    WORKBOOK: write_excel,
}


@dataclass(frozen=True)
class Kept:
    """Columns of the input that are copied to the front of the output."""

    sheet: Sheet
    names: tuple[str, ...]

    def columns(self) -> list[list[object]]:
        """Return each column as written in the file."""
        return [self.sheet.cells(name).tolist() for name in self.names]

    def columns_with_gaps(self) -> list[list[object]]:
        """Return each column with None for missing values."""
        gaps = [self.sheet.is_missing(name).tolist() for name in self.names]
        return [
            [None if gap else cell for cell, gap in zip(column, where, strict=True)]
            for column, where in zip(self.columns(), gaps, strict=True)
        ]


def format_for(out: str | None, as_json: bool) -> str:
    """Return the output format by file name and --json; CSV by default."""
    suffix = Path(out or "").suffix.lower()
    if suffix in _CANNOT:
        raise UsageError(f"--out must be .csv, .tsv, .jsonl, .parquet, .feather or .xlsx, got {out!r}.")
    if suffix == ".json" and not as_json:
        raise UsageError(f"--out must be named .jsonl for JSON lines, got {out!r}. Rename it, or add --json.")
    form = _FORMATS.get(suffix, CSV)
    if as_json and form not in (CSV, JSON):
        raise UsageError(f"--json excludes {form}, got --out {out!r}. Remove one of them.")
    return JSON if as_json else form


def write_text(text: str, out: str | None) -> None:
    """Write text to a file, or to standard output for None and ``-``."""
    with _text_file(out) as file:
        file.write(text)


def write_answers(
    answers: Columns, kept: Kept, out: str | None, *, as_json: bool, prefix: str, raw: bool = False
) -> None:
    """Write predictions to a file, or to standard output for None and ``-``.

    With `raw`, text in CSV that resembles a formula gets no apostrophe.
    """
    _refuse_clash([*answers.names, *(answers.json_names if as_json else ())], kept, prefix)
    kind = format_for(out, as_json)
    if kind in _WRITERS:
        with whole_file(str(out)) as passing:
            _WRITERS[kind](columns_of(answers, kept, prefix, lists=kind != WORKBOOK), passing)
        return
    with _text_file(out) as file:
        if kind == JSON:
            _write_json_lines(file, answers, kept, prefix)
        else:
            _write_csv(file, answers, kept, prefix, raw, "\t" if str(out).lower().endswith(".tsv") else ",")


def columns_of(answers: Columns, kept: Kept, prefix: str, *, lists: bool = True) -> dict[str, Any]:
    """Return columns by name; prediction sets are lists, or text as in CSV."""
    _refuse_clash(answers.names, kept, prefix)
    names = [*kept.names, *(prefix + name for name in answers.names)]
    columns = [*kept.columns_with_gaps(), *(answers.typed() if lists else answers.texts()), *answers.numbers()]
    return dict(zip(names, columns, strict=True))


def _refuse_clash(names: Iterable[str], kept: Kept, prefix: str) -> None:
    """Raise `UsageError` if a copied column has the name of a prediction column."""
    clash = sorted({prefix + name for name in names} & set(kept.names))
    if clash:
        raise UsageError(f"Copied columns must not have names of prediction columns, got {clash[0]!r}. Add a --prefix.")


def _write_csv(file: TextIO, answers: Columns, kept: Kept, prefix: str, raw: bool, delimiter: str) -> None:
    """Write a header and a line per row."""
    names: list[object] = [*kept.names, *(prefix + name for name in answers.names)]
    columns, numbers = [*kept.columns(), *answers.texts()], answers.numbers()
    if not raw:
        names, *columns = _guarded([names, *columns])
    cell = partial(_cell, delimiter)
    file.write(delimiter.join(map(cell, names)) + "\n")
    for first in range(0, len(numbers[0]), _BLOCK):
        part = slice(first, first + _BLOCK)
        texts = [map(cell, column[part]) for column in columns]
        rounded = [_rounded(column[part]) for column in numbers]
        file.write("\n".join(map(delimiter.join, zip(*texts, *rounded, strict=True))) + "\n")


def _cell(delimiter: str, value: object) -> str:
    """Return the text of a cell, quoted if necessary."""
    return "" if value is None else _quoted(str(value), delimiter)


@lru_cache(maxsize=1024)  # few distinct labels and sets, many rows
def _quoted(text: str, delimiter: str) -> str:
    """Quote a text that contains the delimiter, a quote or a line break."""
    needs = any(mark in text for mark in (delimiter, '"', "\n", "\r"))
    return '"' + text.replace('"', '""') + '"' if needs else text


def _rounded(numbers: Array) -> list[str]:
    """Format numbers (n,) with `DECIMALS` decimals, without negative exponents."""
    rounded = np.round(numbers, DECIMALS)
    if len(rounded) < _BLOCK or not np.all(np.abs(rounded) < 1e6) or not has_pyarrow():
        return [_decimal(each) for each in rounded.tolist()]
    from pyarrow import array, compute

    # Three times as fast; formatting numbers dominates the time of a large file.
    texts = compute.cast(array(rounded), "string")
    with_point = compute.binary_join_element_wise(texts, ".0", "")
    return cast("list[str]", compute.if_else(array(np.trunc(rounded) == rounded), with_point, texts).to_pylist())


def _decimal(number: float) -> str:
    """Format a rounded number without a negative exponent."""
    text = repr(number)
    return f"{number:.{DECIMALS}f}".rstrip("0") if "e-" in text else text


def _guarded(columns: list[list[object]]) -> list[list[object]]:
    """Put an apostrophe before each text that a spreadsheet would read as a formula."""
    n_cells = sum(_is_formula(cell) for column in columns for cell in column)
    if not n_cells:
        return columns
    note(f"note: Apostrophe added to {number_of(n_cells, 'cell')} like a formula. --raw writes them unchanged.")
    return [[f"'{cell}" if _is_formula(cell) else cell for cell in column] for column in columns]


def _is_formula(cell: object) -> bool:
    """Test whether a cell is text that a spreadsheet would read as a formula."""
    return not isinstance(cell, int | float) and _reads_as_formula(str(cell))


@lru_cache(maxsize=1024)
def _reads_as_formula(text: str) -> bool:
    text = text.lstrip(INVISIBLE)
    return text[:1] in FORMULA and not all(map(NUMBER.fullmatch, text.split(BAR)))


def _write_json_lines(file: TextIO, answers: Columns, kept: Kept, prefix: str) -> None:
    """Write an object per line."""
    given = [
        dict(zip(kept.names, map(_plain, row), strict=True)) for row in zip(*kept.columns_with_gaps(), strict=True)
    ]
    for row, words in enumerate(answers.objects()):
        whole = (given[row] if given else {}) | {prefix + name: value for name, value in words.items()}
        file.write(to_json(whole) + "\n")


def _plain(cell: object) -> object:
    """Return a cell as a JSON value."""
    return cell if cell is None or isinstance(cell, str | int | float | bool) else str(cell)


@contextmanager
def _text_file(out: str | None) -> Iterator[TextIO]:
    """Open standard output, or a file that is renamed into place when complete."""
    if out in (None, "-"):
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace", newline="")  # type: ignore[union-attr]
        yield cast("TextIO", _Shown(sys.stdout)) if sys.stdout.isatty() else sys.stdout
        return
    with (
        whole_file(str(out)) as passing,
        open(passing, "w", encoding="utf-8", errors="backslashreplace", newline="") as file,
    ):
        yield file


class _Shown:
    """A terminal as a file, protected from control characters."""

    def __init__(self, terminal: TextIO) -> None:
        self._terminal = terminal

    def write(self, text: str) -> int:
        """Write the printable form of a text."""
        return self._terminal.write(printable_lines(text))
