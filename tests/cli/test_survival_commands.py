"""Times until an event on the command line: fit, predict, evaluate and report, from European tables with dates too."""

from __future__ import annotations

import csv
import datetime
import json

import numpy as np
import pytest

N_ROWS = 240


def rows(european: bool = False) -> str:
    """A table of days, deaths, age and ward; the European one has dates of entry and end, and decimal commas."""
    rng = np.random.default_rng(0)
    age, ward = rng.uniform(30, 80, N_ROWS).round(1), np.where(rng.random(N_ROWS) < 0.5, "north", "south")
    life = np.ceil(rng.exponential(20_000 / (age - 20)))
    end = np.ceil(rng.uniform(100, 900, N_ROWS))
    days, died = np.minimum(life, end).astype(int), life <= end
    if not european:
        made = ["days,died,age,ward"]
        made += [f"{a},{int(b)},{c},{d}" for a, b, c, d in zip(days, died, age, ward, strict=True)]
        return "\n".join(made)
    made = ["Eintritt;Ende;gestorben;Alter;Station"]
    for row in range(N_ROWS):
        entry = datetime.date(2020, 1, 1) + datetime.timedelta(days=int(row))
        last = entry + datetime.timedelta(days=int(days[row]))
        number = str(age[row]).replace(".", ",")
        made.append(f"{entry:%d.%m.%Y};{last:%d.%m.%Y};{'yes' if died[row] else 'no'};{number};{ward[row]}")
    return "\n".join(made)


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """The table, the model, and what `fit` said."""
    from typer.testing import CliRunner

    from hedgerow.cli.app import app

    folder = tmp_path_factory.mktemp("survival")
    table, model = folder / "table.csv", folder / "m.hedge"
    table.write_text(rows(), encoding="utf-8")
    words = ["fit", str(table), "--time", "days", "--event", "died", "--trees", "20", "-o", str(model), "--json"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    return table, model, json.loads(done.stdout)


def test_fit_counts_events_and_scores_out_of_bag(fitted):
    _, _, told = fitted
    assert told["estimator"] == "RandomSurvivalForest"
    assert told["features"] == {"all": 2, "numeric": 1, "nominal": 1, "with_missing": 0}
    assert told["target"]["events"] == rows().count(",1,")
    assert 0.5 < told["out_of_bag"]["concordance"] < 1


def test_predict_writes_survival_at_each_time(run, fitted, tmp_path):
    table, model, _ = fitted
    out = tmp_path / "out.csv"
    assert run("predict", model, table, "--times", "30,90,365", "-o", out).exit_code == 0
    with open(out, newline="") as lines:
        found = list(csv.DictReader(lines))
    assert len(found) == N_ROWS
    for row in found:
        curve = [float(row[f"survival_{time}"]) for time in (30, 90, 365)]
        assert curve == sorted(curve, reverse=True)
        for time, value in zip((30, 90, 365), curve, strict=True):
            assert float(row[f"lower_{time}"]) <= value <= float(row[f"upper_{time}"])
        assert {"risk", "median_time"} <= row.keys()


@pytest.mark.parametrize(("times", "words"), [("30,many", "must be numbers"), ("99999", "at most")])
def test_predict_explains_wrong_times(run, fitted, times, words):
    table, model, _ = fitted
    done = run("predict", model, table, "--times", times)
    assert done.exit_code == 2
    assert words in " ".join(done.stderr.split())


def test_other_models_have_no_times(run, write, tmp_path):
    table, model = write("x,y\n" + "\n".join(f"{n},{n % 2}" for n in range(30))), tmp_path / "m.hedge"
    assert run("fit", table, "--target", "y", "--trees", "2", "-o", model).exit_code == 0
    done = run("predict", model, table, "--times", "3")
    assert done.exit_code == 2
    assert "survival model" in done.stderr


def test_evaluate_has_scores_and_calibration(run, fitted):
    table, model, _ = fitted
    words = ("evaluate", model, table, "--time", "days", "--event", "died", "--by", "ward")
    told = json.loads(run(*words, "--json").stdout)
    assert 0.5 < told["concordance"] < 1
    assert told["integrated_brier"] < told["integrated_brier_kaplan_meier"]
    assert 0 <= told["d_calibration_p"] <= 1
    assert {each["group"] for each in told["calibration"]} == {0, 1, 2}
    assert set(told["by"]["ward"]) == {"north", "south"}
    text = run(*words).stdout
    assert "Survival by risk group" in text
    assert "Kaplan–Meier" in text


def test_folds_count_pairs_within_folds(run, fitted, tmp_path):
    table, _, _ = fitted
    words = ("--time", "days", "--event", "died", "--trees", "10", "--folds", "3", "-o", tmp_path / "f.hedge")
    told = json.loads(run("fit", table, *words, "--json").stdout)
    assert told["held_out"]["rows"] == N_ROWS
    assert 0.5 < told["held_out"]["concordance"] < 1


def test_a_european_table_with_dates(run, write, tmp_path):
    """Days from entry to end; the parts of the date of the end are no features, since they give the time away."""
    table, model = write(rows(european=True)), tmp_path / "m.hedge"
    words = ("--dates", "--day-first", "--decimal", ",")
    asked = ("--time", "Ende", "--since", "Eintritt", "--event", "gestorben")
    told = json.loads(run("fit", table, *asked, *words, "--trees", "20", "-o", model, "--json").stdout)
    assert told["features"]["all"] == 2
    assert told["target"]["events"] == rows().count(",1,")
    plain = [int(line.split(",")[0]) for line in rows().splitlines()[1:] if line.split(",")[1] == "1"]
    assert told["target"]["last_event"] == max(plain)
    assert json.loads(run("evaluate", model, table, *asked, *words, "--json").stdout)["concordance"] > 0.5
    late = run("fit", table, "--time", "Eintritt", "--since", "Ende", "--event", "gestorben", *words, "-o", model)
    assert late.exit_code == 3
    assert "times >= 0" in " ".join(late.stderr.split())


def test_a_report_from_a_table_to_a_page(run, fitted, tmp_path):
    table, model, _ = fitted
    page = tmp_path / "page.html"
    words = ("report", model, table, "--time", "days", "--event", "died", "--at", "365", "--by", "ward", "-o", page)
    told = json.loads(run(*words, "--json").stdout)
    text = page.read_text(encoding="utf-8")
    for part in ("At 365 days", "Survival by risk group", "integrated Brier score", "By ward"):
        assert part in text
    asked = ("predict", model, table, "--times", "365", "--json")
    predicted = [json.loads(line) for line in run(*asked).stdout.splitlines()]
    assert told["indeterminate"] == sum(row["lower"] <= 0.5 <= row["upper"] for row in predicted)
    assert set(told["by"]["ward"]) == {"north", "south"}


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("--event", "ward"), 3, "must be 0 or 1"),
        (("--event", "missing"), 3, "must be one of the columns"),
        (("--event", "died", "--model", "mixed"), 2, "does not support --event"),
    ],
)
def test_mistakes_are_explained(run, fitted, tmp_path, words, code, told):
    table, _, _ = fitted
    done = run("fit", table, "--time", "days", *words, "-o", tmp_path / "m.hedge")
    assert done.exit_code == code
    assert told in " ".join(done.stderr.split())


def test_explain_at_a_time_says_what_the_model_says(run, fitted):
    table, model, _ = fitted
    told = json.loads(run("explain", model, table, "--row", "17", "--at", "365", "--json").stdout)[0]
    assert (told["row"], told["time"], told["unit"], told["cases"]) == (17, 365, "days", None)
    predicted = json.loads(run("predict", model, table, "--times", "365", "--json").stdout.splitlines()[16])
    for name, column in (("survival", "survival_365"), ("lower", "lower"), ("upper", "upper")):
        assert told[name] == pytest.approx(predicted[column], abs=1e-6)
    assert "365 days" in told["sentence"]
    train = ("--train", table, "--time", "days", "--event", "died", "--cases", "2")
    near = json.loads(run("explain", model, table, "--row", "17", "--at", "365", *train, "--json").stdout)[0]["cases"]
    lines = rows().splitlines()
    assert [[case["time"], case["event"]] for case in near] == [
        [float(cell) for cell in lines[case["row"]].split(",")[:2]] for case in near
    ]


def test_explain_lists_undecided_rows(run, fitted, tmp_path):
    table, model, _ = fitted
    listed = run("explain", model, table, "--at", "365")
    assert "Undecided at 365 days" in listed.stdout
    page = tmp_path / "why.html"
    assert run("explain", model, table, "--row", "3", "--at", "365", "--html", page).exit_code == 0
    assert "<svg" in page.read_text(encoding="utf-8")
    late = run("explain", model, table, "--at", "99999")
    assert late.exit_code == 2
    assert "at most" in " ".join(late.stderr.split())


def test_rows_may_enter_late_and_causes_compete(run, write, tmp_path):
    """Entries as dates, counted from the same start as the end; causes are numbers."""
    made = ["born;joined;end;cause;height"]
    rng = np.random.default_rng(0)
    for row in range(120):
        born = datetime.date(1930, 1, 1) + datetime.timedelta(days=int(rng.integers(3000)))
        joined = born + datetime.timedelta(days=int(60 * 365 + rng.integers(3000)))
        end = joined + datetime.timedelta(days=int(1 + rng.integers(4000)))
        made.append(f"{born};{joined};{end};{row % 3};{rng.integers(150, 200)}")
    table, model = write("\n".join(made)), tmp_path / "m.hedge"
    asked = ("--time", "end", "--since", "born", "--entry", "joined", "--event", "cause", "--dates")
    told = json.loads(run("fit", table, *asked, "--trees", "5", "-o", model, "--json").stdout)
    assert told["features"]["all"] == 1
    assert told["target"]["events"] == 80
    assert json.loads(run("evaluate", model, table, *asked, "--json").stdout)["events"] == 80
    why = json.loads(run("explain", model, table, "--row", "1", "--at", "25000", "--json").stdout)[0]
    assert [each["cause"] for each in why["incidence"]] == [1, 2]
    assert why["unit"] == "days"
    page = tmp_path / "page.html"
    assert run("report", model, table, *asked, "--at", "25000", "-o", page).exit_code == 0
    plain = [line.split(",") for line in rows().splitlines()[1:]]
    late = "days,died,since,age\n" + "\n".join(f"{a},{b},{int(a) // 2},{c}" for a, b, c, _ in plain)
    alone = ("fit", write(late), "--time", "days", "--event", "died", "--entry", "since", "--trees", "5")
    assert json.loads(run(*alone, "-o", tmp_path / "e.hedge", "--json").stdout)["features"]["all"] == 1
