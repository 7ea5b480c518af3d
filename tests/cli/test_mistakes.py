"""What people in a hurry do, and what they are told: no wrong model without a word, no sentence in Python."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import hedgerow
from hedgerow.cli.app import _with_address, app


def rows_of_csv(*columns: str, n: int = 40) -> str:
    """A header, and as many rows; ``{i}`` is the number of the row."""
    head = ",".join(column.split("=")[0] for column in columns)
    cells = [
        ",".join(column.split("=")[1] for column in columns).format(i=i, half=i % 2, far=i * 7919 % 40)
        for i in range(n)
    ]
    return "\n".join([head, *cells]) + "\n"


@pytest.fixture
def fitted(write, run, tmp_path):
    """A small model and its table."""
    table = write(rows_of_csv("x={far}.5", "kind=k{half}"), "small.csv")
    model = tmp_path / "small.hedge"
    assert run("fit", table, "--target", "kind", "-o", model, "--trees", "5").exit_code == 0
    return model, table


def test_no_words_at_all_are_answered_with_help():
    assert _with_address([]) == []
    result = CliRunner().invoke(app, [])
    assert "Usage" in result.output


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ('"{far},5"', "numbers with a decimal comma, a unit or thousands separators such as '0,5'"),
        ('"{far},5 kg"', "numbers with a decimal comma, a unit or thousands separators such as '0,5 kg'"),
        ("2024-01-{far}", "dates such as '2024-01-0'. --dates converts them"),
        ("{far}.12.2024", "dates such as"),
    ],
)
def test_numbers_and_dates_in_disguise_are_no_categories_unless_asked_for(write, run, tmp_path, cell, words):
    table = write(rows_of_csv("x={far}", f"y={cell}", "kind=k{half}"))
    refused = run("fit", table, "--target", "kind", "-o", tmp_path / "m.hedge")
    assert refused.exit_code == 3
    assert words in refused.stderr
    assert not (tmp_path / "m.hedge").exists()
    asked = run("fit", table, "--target", "kind", "-o", tmp_path / "m.hedge", "--nominal", "y", "--trees", "3")
    assert asked.exit_code == 0


@pytest.mark.parametrize("cell", ["a{half}", "v{far}", "10{half}a", "12-{half}"])
def test_other_texts_are_categories(write, run, tmp_path, cell):
    table = write(rows_of_csv("x={far}", f"y={cell}", "kind=k{half}"))
    assert run("fit", table, "--target", "kind", "-o", tmp_path / "m.hedge", "--trees", "3").exit_code == 0


def test_a_target_that_teaches_nothing_and_rows_that_are_numbered_are_noticed(write, run, tmp_path):
    out = tmp_path / "m.hedge"
    said = run("fit", write(rows_of_csv("x={far}", "y={far}.25")), "--target", "y", "-o", out, "--trees", "3").stderr
    assert (
        "Target 'y' has 40 distinct numbers in 40 rows. To predict a continuous target, add --regression."
        in " ".join(said.split())
    )
    assert "UserWarning" not in said
    said = run("fit", write(rows_of_csv("x={far}", "y=same")), "--target", "y", "-o", out, "--trees", "3").stderr
    assert "Target 'y' has the same value in every row" in " ".join(said.split())
    table = write(rows_of_csv("customer={i}", "x={far}", "y=k{half}"))
    said = run("fit", table, "--target", "y", "-o", out, "--trees", "3").stderr
    assert "Column 'customer' has integers that increase from row to row" in " ".join(said.split())
    assert "Column 'x'" not in said


def test_a_table_in_place_of_the_model_is_called_a_table(run, fitted):
    _, table = fitted
    result = run("predict", table, table)
    assert result.exit_code == 4
    assert "text that begins with 'x,kind" in result.stderr


def test_names_that_come_close_are_offered_and_only_what_was_asked_is_named(run, fitted):
    model, table = fitted
    assert "--rule must be one of" in (said := run("predict", model, table, "--rule", "averag").stderr)
    assert "Did you mean average?" in " ".join(said.split())
    said = " ".join(run("predict", model, table, "--decision", "coverage").stderr.split())
    assert "--decision coverage requires training rows" in said


def test_a_missing_label_is_no_other_class(write, run, fitted):
    model, _ = fitted
    missing = write("x,kind\n1.5,k0\n2.5,\n", "missing.csv")
    assert "1 row has no label" in run("evaluate", model, missing, "--target", "kind").stderr
    others = write("x,kind\n1.5,a\n2.5,b\n", "others.csv")
    assert "Is it the right column?" in run("evaluate", model, others, "--target", "kind").stderr
    some = write("x,kind\n1.5,k0\n2.5,k1\n2.5,unclear\n", "some.csv")
    said = run("report", model, some, "-o", some.with_suffix(".html")).stderr
    assert "Column 'kind' has values that are not classes" in " ".join(said.split())


def test_a_file_that_cannot_be_written_is_called_by_its_name(tmp_path):
    forest = hedgerow.RandomForestClassifier(2, random_state=0).fit(np.arange(8.0)[:, None], [0, 1] * 4)
    with pytest.raises(FileNotFoundError) as caught:
        hedgerow.save(forest, tmp_path / "nowhere" / "m.hedge")
    assert caught.value.filename == str(tmp_path / "nowhere" / "m.hedge")


def test_modules_are_there_as_soon_as_the_package_is():
    names = ["belief", "criteria", "datasets", "explain", "labels", "metrics", "plot", "rules", "structure", "theory"]
    code = f"import json, hedgerow; print(json.dumps([type(getattr(hedgerow, n)).__name__ for n in {names}]))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert json.loads(out) == ["module"] * len(names)


@pytest.mark.parametrize(
    ("written", "option"),
    [(("0,5", "1,25"), "--decimal , reads them"), (("2024-01-05", "2024-03-01"), "--dates converts dates to numbers")],
)
def test_a_later_table_in_another_notation_is_refused_with_the_option_that_reads_it(
    run, write, tmp_path, written, option
):
    rows = [f"{i / 4};{'ab'[i % 2]}" for i in range(40)]
    model = tmp_path / "m.hedge"
    run("fit", write("\n".join(["x;y", *rows]), "first.csv"), "--target", "y", "--trees", "3", "-o", model)
    refused = run("predict", model, write("\n".join(["x;y", *(f"{each};a" for each in written)]), "later.csv"))
    assert refused.exit_code == 3
    assert f"2 cells are not numbers. {option}" in refused.stderr
    mixed = run("predict", model, write(f"x;y\n{written[0]};a\nabout 3;b\n", "mixed.csv"))
    assert "2 cells are not numbers. Correct the cells" in mixed.stderr
