"""What is wrong with a table is named by line and column, and the exit code is 3."""

from __future__ import annotations

import pytest


@pytest.fixture
def fit(run, write, tmp_path):
    def invoke(text, *words):
        result = run("fit", write(text), "--target", "y", "-o", tmp_path / "m.hedge", *words)
        assert result.stdout == "" or result.exit_code == 0
        return result

    return invoke


BAD = {
    "text among numbers": ("a,y\n1,0\n2,1\nabc,0\n4,1\n", ["line 4, column 'a': 'abc'", "--nominal", "--missing"]),
    "a number with underscores": ("a,y\n1,0\n2,1\n1_000,0\n", ["line 4, column 'a': '1_000'"]),
    "no label": ("a,y\n1,0\n2,\n3,1\n", ["line 3, column 'y': ''", "1 row has no label"]),
    "too few cells": ("a,b,y\n1,x,0\n2,1\n3,x,1\n", ["line 3: 2 cells", "not have 3 cells like the header"]),
    "too many cells": ("a,b,y\n1,x,0\n2,x,1,9\n", ["line 3: 4 cells"]),
    "an open quote": ('a,y\n1,0\n"2,1\n', ["invalid CSV"]),
    "binary": (b"a,y\n1,0\n\x00\x01,2\n", ["line 3: not text"]),
    "a header that ends with a carriage return": ("a,y\r1,0\r2\r", ["line 3: 1 cells"]),
    "nothing": ("", ["no header with column names"]),
    "no rows": ("a,y\n", ["has no rows below its header"]),
    "a name twice": ("a,a,y\n1,2,0\n", ["two columns are named 'a'"]),
    "no name": ("a,,y\n1,2,0\n", ["column 2 has no name"]),
    "no target": ("a,b\n1,0\n", ["--target must be one of the columns (a, b), got 'y'"]),
    "only a target": ("y\n1\n0\n", ["must have a feature column"]),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_tables_are_refused_with_the_place(fit, name):
    text, said = BAD[name]
    result = fit(text)
    assert result.exit_code == 3
    for words in said:
        assert words in result.stderr


@pytest.mark.parametrize("option", ["--drop", "--id"])
def test_the_target_cannot_be_left_out(fit, option):
    result = fit("a,y\n1,0\n2,1\n", option, "y")
    assert result.exit_code == 2
    assert f"{option} must differ from --target, got 'y' for both" in " ".join(result.stderr.split())


def test_lines_are_counted_over_quoted_line_breaks_and_empty_lines(fit):
    result = fit('a,b,y\n1,"two\nlines",0\n\n2,x,1\noops,x,0\n3,x,1\n')
    assert "line 6, column 'a': 'oops'" in result.stderr


def test_only_the_first_bad_cells_are_listed(fit):
    rows = [f"{i},0" for i in range(30)] + [f"bad{i},1" for i in range(15)]
    result = fit("a,y\n" + "\n".join(rows) + "\n")
    assert "15 cells are not numbers" in result.stderr
    assert "line 32, column 'a': 'bad0'" in result.stderr
    assert "… and 5 more" in result.stderr
    assert "bad12" not in result.stderr


def test_a_column_of_mostly_text_is_nominal(fit):
    assert fit("a,y\n" + "".join(f"{'x' if i % 3 else 7},{i % 2}\n" for i in range(30))).exit_code == 0


@pytest.mark.parametrize("word", ["", "NA", "NaN", "nan", "null", "?", "N/A"])
def test_usual_words_for_nothing_are_missing(fit, word):
    result = fit(f"a,y\n1,0\n{word},1\n3,0\n4,1\n")
    assert "1 missing value in 1 column" in result.stdout


def test_other_words_for_nothing_can_be_told(fit):
    assert fit("a,y\n1,0\n-99x,1\n3,0\n4,1\n").exit_code == 3
    assert "1 missing value in 1 column" in fit("a,y\n1,0\n-99x,1\n3,0\n4,1\n", "--missing", "-99x").stdout


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiters_are_found(fit, delimiter):
    text = "a,b,y\n" + "".join(f"{i},x,{i % 2}\n" for i in range(10))
    assert "2: 1 numeric, 1 categorical" in fit(text.replace(",", delimiter)).stdout


def test_a_byte_order_mark_is_no_part_of_a_name(fit):
    assert fit(b"\xef\xbb\xbfy,a\n0,1\n1,2\n").exit_code == 0


def test_a_name_cannot_command_the_terminal(fit):
    result = fit("a\x1b[31m,y\n1,0\n2,1\nabc,0\n")
    assert "\x1b" not in result.stderr
    assert "\\x1b[31m" in result.stderr


def test_a_file_that_is_not_there_is_a_usage_error(run, tmp_path):
    result = run("fit", tmp_path / "none.csv", "--target", "y", "-o", tmp_path / "m.hedge")
    assert result.exit_code == 2
    assert "must be an existing file" in result.stderr


def test_dates_in_parquet_are_refused_with_advice(run, tmp_path):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    import datetime

    when = [datetime.date(2020, 1, day) for day in range(1, 11)]
    parquet.write_table(pyarrow.table({"a": when, "y": [0, 1] * 5}), tmp_path / "t.parquet")
    result = run("fit", tmp_path / "t.parquet", "--target", "y", "-o", tmp_path / "m.hedge")
    assert result.exit_code == 3
    assert "Column 'a' must be numbers or text, got date" in result.stderr


def test_a_damaged_parquet_file_is_bad_data(run, write, tmp_path):
    result = run("fit", write(b"PAR1 and nothing more"), "--target", "y", "-o", tmp_path / "m.hedge")
    assert result.exit_code == 3
    assert "corrupt Parquet file" in result.stderr
