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
    assert "note: Using column 'diagnosis' for true classes" in result.stderr
    figures = json.loads(result.stdout)
    assert figures["target"] == "diagnosis"
    asked = json.loads(run("evaluate", model, patients / "test.csv", "--target", "diagnosis", "--json").stdout)
    for name in ("rows", "accuracy", "u65", "coverage", "single_set_accuracy"):
        assert figures[name] == asked[name]
    assert figures["indeterminate"] == asked["indeterminate"]


def test_without_classes_the_report_has_no_metrics(run, patients, model, page, write):
    lines = [line.rsplit(",", 1)[0] for line in (patients / "test.csv").read_text().splitlines()]
    result = run("report", model, write("\n".join(lines)), "--seconds", "0", "-o", page, "--json")
    assert "note: The report has no metrics without --target" in result.stderr
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
        (("--out", "nowhere/at/all.html"), 2, "--out must be in an existing folder"),
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
        time_limit=0,
        first_row=1,
        title="m.hedge on test.csv",
    )
    assert made.html == page.read_text(encoding="utf-8")


def test_groups_and_costs_are_those_of_evaluate(run, patients, model, page, write):
    costs = write("truth,benign,malignant,look again\nbenign,0,10,2\nmalignant,100,0,5\n", "costs.csv")
    asked = ("--target", "diagnosis", "--by", "site", "--by", "mean_radius", "--costs", costs, "--json")
    made = run("report", model, patients / "test.csv", "--seconds", "0", "-o", page, *asked)
    judged = json.loads(run("evaluate", model, patients / "test.csv", *asked).stdout)
    figures, text = json.loads(made.stdout), page.read_text(encoding="utf-8")
    assert (figures["by"], figures["costs"]) == (judged["by"], judged["costs"])
    assert text.count("<h3>By ") == 2
    assert (
        f'<th scope="row">cheapest action</th><td class="number">{judged["costs"]["cheapest_action"]:.6g}</td>' in text
    )
    left = judged["by"]["site"]["left"]
    assert f'<th scope="row">left</th><td class="number">{left["rows"]}</td>' in text
    assert f'<td class="number">{100 * left["undecided"]:.1f}%</td>' in text


def test_a_column_of_groups_is_not_taken_for_the_target(run, patients, model, page, write):
    lines = (patients / "test.csv").read_text().splitlines()
    table = write("\n".join([lines[0] + ",first", *(line + "," + line.rsplit(",", 1)[1] for line in lines[1:])]))
    result = run("report", model, table, "--seconds", "0", "-o", page, "--by", "first", "--json")
    assert "note: Using column 'diagnosis' for true classes" in result.stderr
    assert set(json.loads(result.stdout)["by"]["first"]) == {"benign", "malignant"}


def test_numbers_are_reported_by_group_and_have_no_costs(run, write, page, tmp_path):
    rows = [f"{i % 7},{'ab'[i % 2]},{(i % 7) + 3 * (i % 2) + i % 3}" for i in range(120)]
    table, model = write("\n".join(["x,part,y", *rows])), tmp_path / "m.hedge"
    run("fit", table, "--target", "y", "--regression", "--trees", "10", "-o", model)
    asked = ("--target", "y", "--by", "part", "--json")
    made = run("report", model, table, "--seconds", "0", "-o", page, *asked)
    judged = json.loads(run("evaluate", model, table, *asked).stdout)
    assert json.loads(made.stdout)["by"] == judged["by"]
    assert {"root_mean_squared_error", "coverage", "mean_interval_width"} <= set(judged["by"]["part"]["a"])
    assert '<th scope="col" class="number">RMSE</th>' in page.read_text(encoding="utf-8")
    refused = run("report", model, table, "-o", page, "--target", "y", "--costs", write("truth,a\n1,2\n", "c.csv"))
    assert refused.exit_code == 2
    assert "--costs requires a classifier" in refused.stderr


@pytest.mark.parametrize("words", [("--by", "site"), ("--costs", "COSTS")])
def test_groups_and_costs_need_the_truth(run, patients, model, page, write, words):
    lines = [line.rsplit(",", 1)[0] for line in (patients / "test.csv").read_text().splitlines()]
    costs = str(write("truth,go\nbenign,1\nmalignant,2\n", "costs.csv"))
    words = [word.replace("COSTS", costs) for word in words]
    refused = run("report", model, write("\n".join(lines)), "-o", page, *words)
    assert refused.exit_code == 2
    assert "--by and --costs require --target" in refused.stderr
    assert not page.exists()


def test_costs_are_not_overwritten_by_the_page(run, patients, model, write):
    costs = write("truth,benign,malignant\nbenign,0,10\nmalignant,100,0\n", "costs.html")
    before = costs.read_bytes()
    assert run("report", model, patients / "test.csv", "--costs", costs, "-o", costs, "--force").exit_code == 2
    assert costs.read_bytes() == before


def test_rows_without_a_target_are_left_out_on_request_and_others_keep_their_numbers(run, write, page, tmp_path):
    rows = [f"{i % 7},{'' if i % 10 == 3 else i % 7 + i % 3}" for i in range(120)]
    table, model = write("\n".join(["x,y", *rows])), tmp_path / "m.hedge"
    assert run("fit", table, "--target", "y", "--regression", "--skip-unlabelled", "-o", model).exit_code == 0
    asked = (model, table, "--target", "y", "--train", table)
    for command in (("report", *asked, "-o", page, "--json"), ("explain", *asked, "--row", "3")):
        refused = run(*command)
        assert refused.exit_code == 3
        assert "add --skip-unlabelled" in refused.stderr
        assert run(*command, "--skip-unlabelled").exit_code == 0
    figures = json.loads(run("report", *asked, "-o", page, "--json", "--skip-unlabelled").stdout)
    assert figures["rows"] == 108
    text = page.read_text(encoding="utf-8")
    names = json.loads(text.split('"names":', 1)[1].split("]", 1)[0] + "]")
    assert {int(name.removeprefix("row ")) % 10 for name in names} == {0, 1, 2, 3, 5, 6, 7, 8, 9}
    assert run("report", model, table, "--skip-unlabelled", "-o", page).exit_code == 2
