"""Awkward files: one small table as spreadsheets and programs of several countries write it."""

from __future__ import annotations

import bz2
import datetime
import gzip
import io
import lzma
import zipfile
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

N_ROWS = 24


class File(NamedTuple):
    """A file, the options with which it is read, and what is said about it; without an error it must be read."""

    name: str
    made: bytes
    words: tuple[str, ...] = ()
    said: str = ""
    error: str = ""


def rows(dates: str = "%Y-%m-%d") -> list[list[Any]]:
    """A size, a town with umlauts, a code with zeros, a date, and a finding that the size decides."""
    draw = np.random.default_rng(0)
    sizes = np.round(draw.normal(1500, 500, N_ROWS), 2)
    start = datetime.date(2024, 1, 9)
    return [
        [
            float(size),
            ["Köln", "Bonn", "Zürich"][row % 3],
            f"{[1069, 80331, 50667][row % 3]:05d}",
            (start + datetime.timedelta(days=11 * row)).strftime(dates),
            "ill" if size > 1500 else "well",
        ]
        for row, size in enumerate(sizes)
    ]


HEAD = ["size", "town", "code", "day", "finding"]
DATES = ("--dates",)


def text(
    table: list[list[Any]] | None = None,
    *,
    delimiter: str = ",",
    number: Callable[[float], str] = repr,
    head: list[str] | None = HEAD,
    end: str = "\n",
) -> str:
    """Rows -> CSV without quotes."""
    lines = [[number(cell) if isinstance(cell, float) else cell for cell in row] for row in table or rows()]
    return "".join(delimiter.join(line) + end for line in ([head] if head else []) + lines)


def with_comma(number: float) -> str:
    """1234.5 -> 1234,5."""
    return repr(number).replace(".", ",")


def german(number: float) -> str:
    """1234.5 -> 1.234,50."""
    return f"{number:,.2f}".replace(",", "_").replace(".", ",").replace("_", ".")


def french(number: float) -> str:
    """1234.5 -> 1 234,50 with the narrow space that Excel writes."""
    return german(number).replace(".", "\u202f")


def swiss(number: float) -> str:
    """1234.5 -> 1'234.50."""
    return f"{number:,.2f}".replace(",", "’")


def workbook(*sheets: tuple[str, list[list[Any]]]) -> bytes:
    """Named sheets -> .xlsx."""
    from openpyxl import Workbook

    book = Workbook()
    book.remove(book.active)
    for name, cells in sheets:
        page = book.create_sheet(name)
        for row in cells:
            page.append(row)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def open_document(cells: list[list[Any]]) -> bytes:
    """Rows -> .ods with as little as a reader needs."""

    def cell(value: Any) -> str:
        if isinstance(value, float):
            return f'<table:table-cell office:value-type="float" office:value="{value!r}"/>'
        return f'<table:table-cell office:value-type="string"><text:p>{value}</text:p></table:table-cell>'

    body = "".join("<table:table-row>" + "".join(map(cell, row)) + "</table:table-row>" for row in cells)
    names = {"office": "office", "table": "table", "text": "text"}
    spaces = " ".join(f'xmlns:{k}="urn:oasis:names:tc:opendocument:xmlns:{v}:1.0"' for k, v in names.items())
    content = (
        f'<?xml version="1.0" encoding="UTF-8"?><office:document-content {spaces} office:version="1.2"><office:body>'
        f'<office:spreadsheet><table:table table:name="Tabelle1">{body}</table:table></office:spreadsheet>'
        "</office:body></office:document-content>"
    )
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    manifest = (
        '<?xml version="1.0"?><manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">'
        f'<manifest:file-entry manifest:full-path="/" manifest:media-type="{kind}"/></manifest:manifest>'
    )
    return archive(mimetype=kind, **{"content.xml": content, "META-INF/manifest.xml": manifest})


def archive(**files: str) -> bytes:
    """Files by name -> zip."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as packed:
        for name, content in files.items():
            packed.writestr(name, content)
    return out.getvalue()


def typed(kind: str) -> bytes:
    """The table with dates -> Feather or Parquet."""
    import pyarrow
    from pyarrow import feather, parquet

    columns = dict(zip(HEAD, zip(*rows(), strict=True), strict=True))
    columns["day"] = [datetime.date.fromisoformat(day) for day in columns["day"]]
    out, table = io.BytesIO(), pyarrow.table({name: list(cells) for name, cells in columns.items()})
    feather.write_feather(table, out) if kind == "feather" else parquet.write_table(table, out)
    return out.getvalue()


def all_files() -> list[File]:
    """Every awkward file."""
    plain, cells = text(), [[*row] for row in rows()]
    messy = [[*row] for row in rows()]
    messy[1][4], messy[2][4] = messy[1][4] + " ", messy[2][4].capitalize()
    unlabelled = [[*row] for row in rows()]
    unlabelled[3][4] = ""
    broken = plain.encode("cp1252").replace(b"K\xf6ln", b"K\xf6ln\x81", 1)
    comma = ("--decimal", ",")
    iso = text(rows("%m/%d/%Y"))
    return [
        File("plain.csv", plain.encode(), DATES, "codes with leading zeros, such as '01069'"),
        File("mark.csv", b"\xef\xbb\xbf" + plain.encode(), DATES),
        File("western.csv", plain.encode("cp1252"), DATES, "Encoding detected: CP1252"),
        File("named.csv", plain.encode("mac-roman"), (*DATES, "--encoding", "mac-roman")),
        File("excel_unicode.txt", text(delimiter="\t").encode("utf-16"), DATES, "Encoding detected: UTF-16"),
        File("no_mark.csv", plain.encode("utf-16-le"), DATES, "Encoding detected: UTF-16-LE"),
        File("german.csv", text(delimiter=";", number=with_comma).encode(), (*DATES, *comma)),
        File("german_marks.csv", text(delimiter=";", number=german).encode(), (*DATES, *comma, "--thousands", ".")),
        File("french.csv", text(delimiter=";", number=french).encode(), (*DATES, *comma, "--thousands", " ")),
        File("swiss.csv", text(delimiter=";", number=swiss).encode(), (*DATES, "--thousands", "'")),
        File("bars.csv", text(delimiter="|").encode(), DATES),
        File("sep.csv", b"sep=;\r\n" + text(delimiter=";", end="\r\n").encode(), DATES),
        File("old_mac.csv", text(end="\r").encode(), DATES),
        File("packed.csv.gz", gzip.compress(plain.encode()), DATES),
        File("packed.csv.bz2", bz2.compress(plain.encode()), DATES),
        File("packed.csv.xz", lzma.compress(plain.encode()), DATES),
        File("packed.zip", archive(**{"table.csv": plain, "__MACOSX/._table.csv": ""}), DATES),
        File("book.xlsx", workbook(("Data", [HEAD, *cells])), DATES),
        File("two.xlsx", workbook(("Notes", [["hello"]]), ("Data", [HEAD, *cells])), (*DATES, "--sheet", "Data")),
        File("lower.xlsx", workbook(("Data", [[], [], HEAD, *cells])), DATES),
        File("book.ods", open_document([HEAD, *cells]), DATES),
        File("table.feather", typed("feather"), DATES),
        File("table.parquet", typed("parquet"), DATES),
        File("spellings.csv", text(messy).encode(), DATES, "--exact-text keeps such spellings apart"),
        File(
            "unlabelled.csv", text(unlabelled).encode(), (*DATES, "--skip-unlabelled"), "Skipped 1 row without a label"
        ),
        File("slashes.csv", iso.encode(), DATES),
        # what cannot be read is refused
        File(
            "german_plain.csv", text(delimiter=";", number=with_comma).encode(), DATES, error="--decimal , reads them"
        ),
        File("dates.csv", plain.encode(), error="--dates converts them"),
        File("short_years.csv", text(rows("%d.%m.%y")).encode(), DATES, error="a four-digit year"),
        File("unclear.csv", text([[*r[:3], "03/04/2024", r[4]] for r in rows()]).encode(), DATES, error="--day-first"),
        File("mixed.csv", plain.encode() + "1.0,Köln,01069,2024-01-01,ill\n".encode("cp1252"), DATES, error="CP1252"),
        File("broken.csv", broken, DATES, error="neither UTF-8 nor CP1252 (byte 0xf6)"),
        File("half.csv.gz", gzip.compress(plain.encode())[:60], DATES, error="corrupt archive"),
        File("half.xlsx", workbook(("Data", [HEAD, *cells]))[:900], DATES, error="truncated or damaged"),
        File("several.zip", archive(a=plain, b=plain), DATES, error="must contain one table, got 2"),
        File("title.xlsx", workbook(("Data", [["Patients"], HEAD, *cells])), DATES, error="a title above the header"),
        File("no_header.csv", text(head=None).encode(), DATES, error="--target must be one of the columns"),
        File("holes.csv", text(unlabelled).encode(), DATES, error="--skip-unlabelled"),
        File("empty.csv", b"", DATES, error="no header with column names"),
    ]
