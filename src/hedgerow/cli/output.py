"""Predictions as CSV, JSON lines, Parquet, Arrow or spreadsheet."""

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
from hedgerow.cli.files.excel import write_workbook
from hedgerow.cli.files.paths import ARROW, CSV, JSON, PARQUET, WORKBOOK
from hedgerow.cli.files.sheet import NUMBER, Sheet
from hedgerow.inference.columns import BAR, Columns
from hedgerow.util.disk import whole_file
from hedgerow.util.text import number_of, printable_lines

#: Decimals in CSV, which people read; JSON and Parquet have all digits.
DECIMALS = 6

#: A spreadsheet takes a cell that begins with one of these for a formula.
FORMULA = frozenset("=+-@\t\r\n＝＋－＠")

_BLOCK = 10_000

#: What the name of a file asks for, and what cannot be written.
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
    WORKBOOK: write_workbook,
}


@dataclass(frozen=True)
class Kept:
    """Columns of the input that are copied to the front of the answers."""

    sheet: Sheet
    names: tuple[str, ...]

    def columns(self) -> list[list[Any]]:
        """Each column as it is in the file."""
        return [self.sheet.cells(name).tolist() for name in self.names]

    def columns_with_gaps(self) -> list[list[Any]]:
        """Each column, None where a value is missing."""
        gaps = [self.sheet.is_missing(name).tolist() for name in self.names]
        return [
            [None if gap else cell for cell, gap in zip(column, where, strict=True)]
            for column, where in zip(self.columns(), gaps, strict=True)
        ]


def format_for(out: str | None, as_json: bool) -> str:
    """The name of a file, and --json -> what to write, as its name says: CSV unless it says otherwise."""
    suffix = Path(out or "").suffix.lower()
    if suffix in _CANNOT:
        raise UsageError(f"--out must be CSV, JSON lines, Parquet, Arrow or .xlsx, got {out!r}; name another file")
    if suffix == ".json" and not as_json:
        raise UsageError(f"--out must be named .jsonl for JSON lines, got {out!r}; name it so, or add --json")
    form = _FORMATS.get(suffix, CSV)
    if as_json and form not in (CSV, JSON):
        raise UsageError(f"the output must be JSON or {form}, got --json and {out!r}; leave one out")
    return JSON if as_json else form


def write_text(text: str, out: str | None) -> None:
    """Write to a file, or to standard output for None and ``-``."""
    with _text_file(out) as file:
        file.write(text)


def write_answers(
    answers: Columns, kept: Kept, out: str | None, *, as_json: bool, prefix: str, raw: bool = False
) -> None:
    """Write to a file, or to standard output for None and ``-``; with `raw`, cells of CSV are not guarded."""
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
    """Answers and the columns to keep -> columns by name; a set is a list, or text as in CSV."""
    _refuse_clash(answers.names, kept, prefix)
    names = [*kept.names, *(prefix + name for name in answers.names)]
    columns = [*kept.columns_with_gaps(), *(answers.typed() if lists else answers.texts()), *answers.numbers()]
    return dict(zip(names, columns, strict=True))


def _refuse_clash(names: Iterable[str], kept: Kept, prefix: str) -> None:
    """Refuse kept columns with the same names as answers."""
    clash = sorted({prefix + name for name in names} & set(kept.names))
    if clash:
        raise UsageError(
            f"kept columns must not have the names of answers, got {clash[0]!r}; give the answers a --prefix"
        )


def _write_csv(file: TextIO, answers: Columns, kept: Kept, prefix: str, raw: bool, delimiter: str) -> None:
    """A header and a line per row."""
    names: list[Any] = [*kept.names, *(prefix + name for name in answers.names)]
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


def _cell(delimiter: str, value: Any) -> str:
    """A value -> its text, in quotes if a reader could take it for more than one cell."""
    return "" if value is None else _quoted(str(value), delimiter)


@lru_cache(maxsize=1024)  # labels and sets are few, and rows many
def _quoted(text: str, delimiter: str) -> str:
    """A text -> the same, in quotes if it needs them."""
    needs = any(mark in text for mark in (delimiter, '"', "\n", "\r"))
    return '"' + text.replace('"', '""') + '"' if needs else text


def _rounded(numbers: Any) -> list[str]:
    """Numbers (n,) -> their texts with few decimals, a point, and no exponent if they are small."""
    rounded = np.round(numbers, DECIMALS)
    if len(rounded) < _BLOCK or not np.all(np.abs(rounded) < 1e6) or not has_pyarrow():
        return [_decimal(each) for each in rounded.tolist()]
    from pyarrow import array, compute

    # In a third of the time, which is most of the time of a large file.
    texts = compute.cast(array(rounded), "string")
    with_point = compute.binary_join_element_wise(texts, ".0", "")
    return cast("list[str]", compute.if_else(array(np.trunc(rounded) == rounded), with_point, texts).to_pylist())


def _decimal(number: float) -> str:
    """A rounded number -> its text."""
    text = repr(number)
    return f"{number:.{DECIMALS}f}".rstrip("0") if "e-" in text else text


def _guarded(columns: list[list[Any]]) -> list[list[Any]]:
    """Columns -> the same with an apostrophe before each text that a spreadsheet would take for a formula."""
    n_cells = sum(_is_formula(cell) for column in columns for cell in column)
    if not n_cells:
        return columns
    note(f"note: {number_of(n_cells, 'cell')} like a formula with an apostrophe in front; --raw writes them unchanged")
    return [[f"'{cell}" if _is_formula(cell) else cell for cell in column] for column in columns]


def _is_formula(cell: Any) -> bool:
    """Whether a cell is text that begins like a formula, and neither a number nor numbers with bars between them."""
    return not isinstance(cell, int | float) and _reads_as_formula(str(cell))


@lru_cache(maxsize=1024)
def _reads_as_formula(text: str) -> bool:
    return text[:1] in FORMULA and not all(map(NUMBER.fullmatch, text.split(BAR)))


def _write_json_lines(file: TextIO, answers: Columns, kept: Kept, prefix: str) -> None:
    """An object per line."""
    given = [
        dict(zip(kept.names, map(_plain, row), strict=True)) for row in zip(*kept.columns_with_gaps(), strict=True)
    ]
    for row, words in enumerate(answers.objects()):
        whole = (given[row] if given else {}) | {prefix + name: value for name, value in words.items()}
        file.write(to_json(whole) + "\n")


def _plain(cell: Any) -> Any:
    """A cell -> a value of JSON."""
    return cell if cell is None or isinstance(cell, str | int | float | bool) else str(cell)


@contextmanager
def _text_file(out: str | None) -> Iterator[TextIO]:
    """Standard output, or a file that appears whole or not at all."""
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
    """A terminal as a file that cannot be controlled by what is written."""

    def __init__(self, terminal: TextIO) -> None:
        self._terminal = terminal

    def write(self, text: str) -> int:
        """Write the printable form of a text."""
        return self._terminal.write(printable_lines(text))
