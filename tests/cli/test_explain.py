"""``hedgerow explain``: rows of a table -> why they are indeterminate, as text, JSON or a page."""

from __future__ import annotations

import json

import pytest
from tests.reference.answers import read_patients

import hedgerow


@pytest.fixture(scope="module")
def open_rows(patients, model):
    """Numbers, from 1, of the rows of the test file that the model leaves open."""
    from typer.testing import CliRunner

    from hedgerow.cli.app import app

    words = ["predict", str(model), str(patients / "test.csv"), "--json", "--caution", "2"]
    said = [json.loads(line) for line in CliRunner().invoke(app, words).stdout.splitlines()]
    return [number for number, each in enumerate(said, 1) if len(each["set"]) > 1]


def test_a_row_by_number_is_explained_in_text(run, patients, model, open_rows):
    row = open_rows[0]
    result = run("explain", model, patients / "test.csv", "--row", row, "--caution", 2)
    assert result.exit_code == 0
    assert result.stdout.startswith(f"Row {row}: Undecided between malignant and benign. Uncertainty: ")
    for title in (
        "Sources of uncertainty",
        "What would decide it",
        "Strongest leaf for each class",
        "not available",
    ):
        assert title in result.stdout
    assert "Ignored column" in result.stderr


def test_training_rows_give_the_nearest_cases_with_labels(run, patients, model, open_rows):
    train = ["--train", patients / "train.csv", "--target", "diagnosis", "--cases", 3]
    words = ["explain", model, patients / "test.csv", "--row", open_rows[0], "--caution", 2, "--json", *train]
    (said,) = json.loads(run(*words).stdout)
    rows = read_patients(patients / "train.csv")
    assert len(said["cases"]) == 3
    for case in said["cases"]:
        assert case["label"] == rows[case["row"] - 1]["diagnosis"]
        assert case["values"]["mean_radius"] == float(rows[case["row"] - 1]["mean_radius"] or "nan") or (
            case["values"]["mean_radius"] is None
        )


def test_a_row_by_its_name_is_the_same_row(run, patients, model, open_rows):
    name = read_patients(patients / "test.csv")[open_rows[0] - 1]["patient"]
    words = ["explain", model, patients / "test.csv", "--caution", 2, "--json", "--seconds", 0, "--row"]
    (by_number,) = json.loads(run(*words, open_rows[0]).stdout)
    (by_name,) = json.loads(run(*words, name, "--id", "patient").stdout)
    assert by_name["name"] == name
    assert by_name | {"name": None} == by_number


def test_json_is_what_the_library_says(run, patients, model, open_rows):
    words = ["explain", model, patients / "test.csv", "--json", "--seconds", 0]
    said = json.loads(run(*words, "--row", open_rows[0], "--row", open_rows[1], "--caution", 2).stdout)
    forest = hedgerow.load(model).set_params(caution=2.0)
    assert [each["row"] for each in said] == open_rows[:2]
    assert [each["caution"] for each in said] == [2.0, 2.0]
    assert all(each["classes"] == forest.classes_.tolist() for each in said)
    assert said[0]["remedies"]["counterfactual"] is None


def test_without_a_row_every_open_one_gets_a_line(run, patients, model, open_rows):
    result = run("explain", model, patients / "test.csv", "--caution", 2)
    lines = result.stdout.splitlines()
    assert [line.split()[0] for line in lines[2:]] == [str(row) for row in open_rows]
    for line in lines[2:]:
        words = line.split()
        assert {"benign", "malignant"} < set(words)
        assert sum(int(word.removesuffix("%")) for word in words if word.endswith("%")) == 100
    assert f"{len(open_rows)} of them undecided" in result.stderr


def test_a_page_is_written_whole_and_nothing_goes_to_standard_output(run, patients, model, open_rows, tmp_path):
    page = tmp_path / "why.html"
    result = run("explain", model, patients / "test.csv", "--row", open_rows[0], "--caution", 2, "--html", page)
    assert result.stdout == ""
    text = page.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>")
    assert "Content-Security-Policy" in text
    assert f"Row {open_rows[0]}" in text
    assert f"1 row explained in {page}" in " ".join(result.stderr.split())


def test_limits_of_the_smallest_change_are_kept(run, patients, model, open_rows):
    names = hedgerow.load(model).feature_names_in_.tolist()
    words = ["explain", model, patients / "test.csv", "--row", open_rows[0], "--caution", 2, "--json"]
    limits = [word for name in names[:-1] for word in ("--immutable", name)]
    (said,) = json.loads(run(*words, *limits).stdout)
    assert all(move["feature"] == names[-1] for move in said["remedies"]["counterfactual"]["changes"])


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--row", "0"], 3, "--row must be from 1 to"),
        (["--row", "9999"], 3, "--row must be from 1 to"),
        (["--row", "P001"], 2, "--row must be a number, got 'P001'"),
        (["--row", "nobody", "--id", "patient"], 3, "--row must be a value of column 'patient'"),
        (["--id", "nothing"], 3, "--id must be one of the columns"),
        (["--row", "1", "--wanted", "fine"], 2, "--wanted must be one of the classes benign, malignant"),
        (["--row", "1", "--immutable", "nothing"], 2, "--immutable must name features of the model"),
        (["--html", "no/such/folder/why.html"], 2, "--html must be in an existing folder"),
        (["--row", "1", "--train", "no-such-file.csv"], 2, "must be an existing file"),
    ],
)
def test_what_cannot_be_meant_is_refused(run, patients, model, words, code, said):
    result = run("explain", model, patients / "test.csv", *words)
    assert result.exit_code == code
    assert said in " ".join(result.stderr.split())
    assert result.stdout == ""


def test_a_model_of_numbers_lists_its_widest_intervals(run, write, tmp_path):
    words = (
        "fit",
        write("x,z,y\n" + "\n".join(f"{i % 7},{i % 5},{i % 7 + i % 3}" for i in range(60))),
        "--target",
        "y",
    )
    assert run(*words, "--regression", "--trees", "20", "-o", tmp_path / "n.hedge").exit_code == 0
    new = write("x,z\n1,2\n6,4\n3,\n", "new.csv")
    listed = run("explain", tmp_path / "n.hedge", new)
    assert listed.exit_code == 0
    assert "The rows with the widest intervals" in listed.stdout
    told = run("explain", tmp_path / "n.hedge", new, "--row", "3")
    assert told.stdout.startswith("Row 3: Prediction: ")
    assert "z is missing" in " ".join(told.stdout.split())
