"""Sheets: whatever a CSV file holds is read cell for cell, and every row knows its line."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.cli.exit_codes import DataError
from hedgerow.cli.files.csv import sheet_from_csv
from hedgerow.cli.files.source import read_sheet
from hedgerow.cli.options import ReadOptions
from hedgerow.table import Factors, NamedColumns, read_table, read_training_table

CELLS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=30)


@st.composite
def tables(draw):
    """Rows of cells, at least two columns: a row of one empty cell is an empty line."""
    width = draw(st.integers(2, 4))
    return draw(st.lists(st.lists(CELLS, min_size=width, max_size=width), min_size=1, max_size=8))


@settings(max_examples=150)
@given(tables())
def test_what_csv_writes_is_read_back_cell_for_cell(rows):
    names = [f"column {number} of a table" for number in range(len(rows[0]))]
    file = io.StringIO(newline="")
    csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows([names, *rows])
    sheet = sheet_from_csv(file.getvalue().encode())
    assert sheet.names == tuple(names)
    assert [sheet.cells(name).tolist() for name in names] == [list(column) for column in zip(*rows, strict=True)]


@settings(max_examples=50)
@given(st.lists(st.floats(allow_nan=False), min_size=1, max_size=30))
def test_numbers_are_read_to_the_last_bit(values):
    text = "a,b\n" + "".join(f"{value!r},x\n" for value in values)
    assert sheet_from_csv(text.encode()).column("a").tolist() == values


def test_a_long_file_is_read_in_blocks_without_a_seam():
    n_rows = 45_000
    text = "a,b\n" + "".join(f"{row},{row % 7}\n" for row in range(n_rows))
    sheet = sheet_from_csv(text.encode())
    assert (sheet.column("a") == np.arange(n_rows)).all()
    assert (sheet.where(0), sheet.where(n_rows - 1)) == ("line 2", f"line {n_rows + 1}")


@pytest.fixture(params=["parquet", "arrow"])
def typed_file(request, tmp_path):
    """A function that writes a table of pyarrow, in several blocks of rows -> sheet."""
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import feather, parquet

    def write(columns):
        table, path = pyarrow.table(columns), tmp_path / "table"
        if request.param == "parquet":
            parquet.write_table(table, path, row_group_size=2)
        else:
            feather.write_feather(table, str(path), chunksize=2)
        return read_sheet([str(path)], ReadOptions())

    return write


def test_typed_files_keep_their_types(typed_file):
    words, big = ["x", None, "", "y", "x"], [2**60 + 1, 1, 2, 3, 4]
    sheet = typed_file(
        {"word": words, "big": big, "gap": [1.5, None, 2.0, 3.0, None], "truth": [True, False] * 2 + [True]}
    )
    assert (sheet.names, sheet.n_rows) == (("word", "big", "gap", "truth"), 5)
    assert sheet.cells("word").tolist() == ["x", "", "", "y", "x"]
    assert (sheet.factors("word").codes.tolist(), sheet.factors("word").values.tolist()) == (
        [0, -1, -1, 1, 0],
        ["x", "y"],
    )
    assert sheet.cells("big").tolist() == big
    assert (
        np.isnan(sheet.numbers("gap")).tolist() == sheet.is_missing("gap").tolist() == [False, True, False, False, True]
    )
    assert sheet.labels("truth").tolist() == [True, False, True, False, True]


def test_a_typed_file_that_is_cut_is_refused(typed_file, tmp_path):
    typed_file({"a": [1, 2, 3]})
    whole = (tmp_path / "table").read_bytes()
    (tmp_path / "table").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match="corrupt"):
        read_sheet([str(tmp_path / "table")], ReadOptions())


def test_truth_values_are_numbers():
    assert sheet_from_csv(b"a,b\nTrue,1\nfalse,2\n,3\n").column("a")[:2].tolist() == [1.0, 0.0]


def test_named_columns_are_a_table_like_any_other():
    colour = Factors(np.array([0, 1, -1]), np.array(["red", "blue"], dtype=object))
    table = read_training_table(NamedColumns(("size", "colour"), [np.array([1, 2, 3]), colour]))
    frame = pytest.importorskip("pandas").DataFrame({"size": [1, 2, 3], "colour": ["red", "blue", None]})
    expected = read_training_table(frame)
    assert table.schema.names == expected.schema.names
    assert table.schema.kinds == expected.schema.kinds
    for ours, theirs in zip(table.column_blocks(), expected.column_blocks(), strict=True):
        assert all((a == b).all() for a, b in zip(ours[1], theirs[1], strict=True))
    later = NamedColumns(
        ("size", "colour"), [np.array([5.0]), Factors(np.array([0]), np.array(["green"], dtype=object))]
    )
    assert read_table(later, table.schema).unseen.tolist() == [1]


def test_an_empty_table_of_named_columns_is_refused_in_scikit_learns_words():
    with pytest.raises(ValueError, match="0 sample"):
        NamedColumns(("a",), [np.empty(0)])
