"""``hedgerow report``: a model file and a table -> one page."""

from __future__ import annotations

import json

import pytest

import hedgerow


@pytest.fixture
def page(tmp_path):
    return tmp_path / "report.html"


def test_page_is_written_and_says_so_on_standard_error(run, patients, model, page):
    result = run(
        "report", model, patients / "test.csv", "--seconds", "0", "--id", "patient", "--target", "diagnosis", "-o", page
    )
    assert result.exit_code == 0
    assert result.stdout == ""
    assert "269 rows" in result.stderr
    assert f"written to {page}" in result.stderr
    text = page.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>")
    assert "decided and wrong" in text
    assert "P30" in text


def test_all_cases_are_explained_on_request(run, patients, model, page):
    sizes = {}
    for cases in ("some", "all"):
        asked = ("--seconds", "0", "--target", "diagnosis", "--caution", "1000", "--cases", cases, "--force")
        assert run("report", model, patients / "test.csv", *asked, "-o", page).exit_code == 0
        sizes[cases] = page.read_text(encoding="utf-8").count('"sentence":')
    assert 0 < sizes["some"] < sizes["all"]


def test_target_is_found_where_only_one_column_can_be_it(run, patients, model, page):
    result = run("report", model, patients / "test.csv", "--seconds", "0", "-o", page, "--json")
    assert "note: true classes taken from 'diagnosis'" in result.stderr
    figures = json.loads(result.stdout)
    assert figures["target"] == "diagnosis"
    asked = json.loads(run("evaluate", model, patients / "test.csv", "--target", "diagnosis", "--json").stdout)
    for name in ("rows", "accuracy", "u65", "coverage", "single_set_accuracy"):
        assert figures[name] == asked[name]
    assert figures["indeterminate"] == asked["indeterminate"]


def test_without_classes_the_report_has_no_metrics(run, patients, model, page, write):
    lines = [line.rsplit(",", 1)[0] for line in (patients / "test.csv").read_text().splitlines()]
    result = run("report", model, write("\n".join(lines)), "--seconds", "0", "-o", page, "--json")
    assert "note: no --target given, so the report has no metrics" in result.stderr
    assert "accuracy" not in json.loads(result.stdout)


def test_rule_caution_decision_and_title_are_those_asked(run, patients, model, page):
    words = ("--rule", "eva", "--caution", "3", "--decision", "u80", "--title", "For the <board>")
    assert run("report", model, patients / "test.csv", "--seconds", "0", "-o", page, *words).exit_code == 0
    text = page.read_text(encoding="utf-8")
    assert "<h1>For the &lt;board&gt;</h1>" in text
    assert '"settings":{"caution":3.0,"rule":{"name":"eva"' in text
    assert '"decision":{"name":"u80"' in text


def test_training_rows_can_be_lent_for_the_nearest_cases(run, patients, model, page):
    lent = ("--train", patients / "train.csv", "--id", "patient")
    for words, near in (((), 0), (lent, 1)):
        assert run("report", model, patients / "test.csv", "--seconds", "0", "-o", page, *words).exit_code == 0
        assert ('"near":{"names"' in page.read_text(encoding="utf-8")) == bool(near)


def test_page_goes_to_standard_output_for_a_dash(run, patients, model):
    result = run("report", model, patients / "test.csv", "--seconds", "0", "-o", "-")
    assert result.stdout.startswith("<!doctype html>")
    assert result.stdout.rstrip().endswith("</html>")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--out", "-", "--json"), 2, "--out must be a file with --json"),
        (("--out", "nowhere/at/all.html"), 2, "--out must be in a folder that exists"),
        (("--out", "report.html", "--id", "nobody"), 3, "--id"),
    ],
)
def test_what_cannot_be_meant_is_refused(run, patients, model, monkeypatch, tmp_path, words, code, said):
    monkeypatch.chdir(tmp_path)
    result = run("report", model, patients / "test.csv", "--seconds", "0", *words)
    assert result.exit_code == code
    assert said in result.stderr
    assert not (tmp_path / "report.html").exists()


def test_page_of_the_command_is_that_of_python(run, patients, model, page):
    pandas = pytest.importorskip("pandas")
    run("report", model, patients / "test.csv", "--seconds", "0", "--id", "patient", "-o", page)
    forest = hedgerow.load(model)
    frame = pandas.read_csv(patients / "test.csv", keep_default_na=True)
    names = forest.feature_names_in_.tolist()
    frame["site"] = frame["site"].astype(object)
    made = forest.report(
        frame[names],
        frame["diagnosis"].to_numpy(),
        names=frame["patient"].to_numpy(),
        seconds=0,
        first=1,
        title="m.hedge on test.csv",
    )
    assert made.html == page.read_text(encoding="utf-8")
