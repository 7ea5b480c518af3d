"""Two readers of CSV files: what pyarrow reads in blocks is what Python reads row by row, or neither reads it."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.cli.exit_codes import DataError
from hedgerow.cli.files import csv as delimited
from hedgerow.cli.files import csv_blocks as blocks
from hedgerow.cli.files.csv import sheet_from_csv
from hedgerow.table import Factors

pytest.importorskip("pyarrow.csv")

#: Numbers and words as files have them, among them those on which readers differ.
CELLS = st.sampled_from(
    [
        *[
            "",
            "1",
            "-2.5",
            "+3",
            "1e5",
            "1e+05",
            "1e400",
            "inf",
            "-nan",
            "nan(1)",
            " 7 ",
            "NA",
            "?",
            "1_000",
            "0x1f",
            "٣",
        ],
        *["007", "9007199254740993", "true", "False", "a", "a b", "1,5", "2020-01-02", "x\u00a0", "\ufeff", '5" disk'],
        *['"quoted"', '"a,b"', '"two\nlines"', '"say ""so"""', '""', '"1.5"', '"NA"', '"open', '"a"b', "é"],
    ]
)
ENDS = st.sampled_from(["\n", "\n", "\n", "\r\n", "\r", "\n\n", ",\n"])


@st.composite
def texts(draw):
    """The rows of a CSV file, often not well made."""
    width = draw(st.integers(1, 3))
    rows = draw(st.lists(st.tuples(st.lists(CELLS, min_size=width, max_size=width), ENDS), max_size=8))
    return ",".join("abc"[:width]) + "\n" + "".join(",".join(cells) + end for cells, end in rows)


def read(data: bytes, *, fast: bool) -> object:
    """What a reader makes of a file: names, texts and training columns; or its error."""
    sizes = mock.patch.multiple(blocks, FIRST_BYTES=4, BLOCK_BYTES=16)
    with sizes, mock.patch.object(delimited, "SMALL_BYTES", -1 if fast else 1 << 40):
        try:
            sheet = sheet_from_csv(data)
            cells = [sheet.cells(name).tolist() for name in sheet.names]
        except DataError as error:
            return str(error), error.lines
        return sheet.names, cells, [column_of(data, name) for name in sheet.names]


def column_of(data: bytes, name: str) -> object:
    """A column as a model learns it, in a form that can be compared."""
    try:
        column = sheet_from_csv(data).column(name)
    except DataError as error:
        return str(error), error.lines
    if isinstance(column, Factors):
        return column.codes.tolist(), column.values.tolist()
    return column.tobytes() if column.dtype == np.float64 else column.tolist()


@settings(max_examples=400, deadline=None)
@given(texts())
def test_both_readers_say_the_same(text):
    assert read(text.encode(), fast=True) == read(text.encode(), fast=False)


@settings(max_examples=200, deadline=None)
@given(st.text(st.sampled_from('a1.,"\n\r; é'), max_size=40))
def test_both_readers_say_the_same_of_any_characters(text):
    assert read(b"a,b\n" + text.encode(), fast=True) == read(b"a,b\n" + text.encode(), fast=False)


@pytest.mark.parametrize(
    "data", [b"a,b\n1,x\n2,caf\xe9\n", b"a,b\n1,x\n2,\0\n", b"\xef\xbb\xbfa,b\r\n1,x\r\n", b"a,b\n\n\n"]
)
def test_both_readers_say_the_same_of_odd_bytes(data):
    assert read(data, fast=True) == read(data, fast=False)


def test_a_plain_file_is_left_to_pyarrow(monkeypatch):
    monkeypatch.setattr(delimited, "_read_by_python", None)
    monkeypatch.setattr(delimited, "SMALL_BYTES", -1)
    sheet = sheet_from_csv(b'a,b,c\n1,"two\nlines",\n2,x,3\n')
    assert sheet.column("a").tolist() == [1, 2]
    assert sheet.cells("b").tolist() == ["two\nlines", "x"]
    assert np.isnan(sheet.column("c")).tolist() == [True, False]


@pytest.mark.parametrize("small", [-1, 1 << 40])
def test_columns_that_are_prepared_are_read_together(monkeypatch, small):
    monkeypatch.setattr(delimited, "SMALL_BYTES", small)
    opened = []
    real = delimited.opened
    monkeypatch.setattr(delimited, "opened", lambda data: opened.append(data) or real(data))
    sheet = sheet_from_csv(b"a,b,c\n1,x,007\n2,y,008\n")
    sheet.prepare(["a", "b"], ["c"])
    assert (sheet.n_rows, sheet.cells("c").tolist(), sheet.cells("b").tolist()) == (2, ["007", "008"], ["x", "y"])
    assert sheet.numbers("a").tolist() == [1, 2]
    assert len(opened) == 2  # for the header, and for the columns
    assert sheet.cells("a").tolist() == ["1", "2"]  # numbers keep no text, so it is read again
    assert len(opened) == 3


def test_a_column_that_turns_out_to_be_text_late_is_text_from_the_first_row(monkeypatch):
    monkeypatch.setattr(delimited, "SMALL_BYTES", -1)
    monkeypatch.setattr(blocks, "FIRST_BYTES", 8)
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 64)
    rows = [f"{row:03},{row}" for row in range(100)] + [f"x{row},{row}" for row in range(200)]
    column = sheet_from_csv(("a,b\n" + "\n".join(rows)).encode()).column("a")
    assert column.values.tolist()[:2] == ["000", "001"]
    assert len(column.values) == 300
