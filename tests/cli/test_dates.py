"""Columns of dates: people read dates in the terminal, in JSON and in pages, also from a model that was loaded."""

from __future__ import annotations

import csv
import datetime
import json
import re

import numpy as np
import pytest

FIRST = datetime.date(2023, 1, 1)


def lines(times: bool = False, n: int = 240) -> list[str]:
    """A table whose finding hangs on the day of admission: late ones are ill, the middle is mixed."""
    made = ["id;admitted;dose;finding"]
    for row in range(n):
        day = (37 * row) % 400
        ill = day > 250 or (day > 150 and row % 3 == 0)
        text = f"{FIRST + datetime.timedelta(days=day):%d.%m.%Y}" + (f" {row % 24:02}:30" if times else "")
        made.append(f"P{row};{text};{row % 5};{'ill' if ill else 'well'}")
    return made


@pytest.fixture(params=[False, True], ids=["days", "times"])
def dated(run, write, tmp_path, request):
    """Whether dates have times, a table, and a model of it in a file."""
    table, model = write("\n".join(lines(request.param))), tmp_path / "m.hedge"
    words = ("--target", "finding", "--dates", "--id", "id", "--trees", "20", "--caution", "2", "-o", model)
    assert run("fit", table, *words).exit_code == 0
    return request.param, table, model


def date_pattern(times):
    return r"202[234]-\d\d-\d\d" + (r" \d\d:\d\d" if times else "(?! \\d\\d:)")


def test_explanations_show_dates(run, dated):
    times, table, model = dated
    asked = ("--dates", "--target", "finding", "--train", table, "--row", "12", "--seconds", "5")
    text = run("explain", model, table, *asked).stdout
    assert re.search(rf"admitted = {date_pattern(times)}", text)
    assert re.search(rf"admitted (?:\w+ )*{date_pattern(times)}", text.split("Strongest leaf")[1])
    assert not re.search(r"admitted[^\n]*19[0-9]{3}", text)
    told = json.loads(run("explain", model, table, *asked, "--json").stdout)
    first = told[0] if isinstance(told, list) else told
    assert re.fullmatch(date_pattern(times), first["values"]["admitted"])


def test_the_smallest_change_moves_from_date_to_date(run, dated):
    times, table, model = dated
    said = [
        run(
            "explain", model, table, "--dates", "--row", row, "--immutable", "dose,admitted month,admitted weekday"
        ).stdout
        for row in range(1, 60)
    ]
    moves = re.findall(rf"admitted ({date_pattern(times)})\s+instead\s+of\s+({date_pattern(times)})", " ".join(said))
    assert moves
    assert all(one != other for one, other in moves)


def test_a_date_outside_the_training_data_is_named_as_a_date(run, dated, write):
    times, _, model = dated
    late = write("id;admitted;dose\nQ;05.11.2024" + (" 12:00" if times else "") + ";2", "late.csv")
    text = " ".join(run("explain", model, late, "--dates", "--row", "1").stdout.split())
    start, end = ("2023-01-01 00:30", "2024-02-04 23:30") if times else ("2023-01-01", "2024-02-04")
    found = re.search(r"admitted = (\S+(?: \d\d:\d\d)?) \(training range (.*?) to (\S+(?: \d\d:\d\d)?)\)", text)
    assert found
    assert found[1] == ("2024-11-05 12:00" if times else "2024-11-05")
    assert found[2][:10] == start[:10]
    assert found[3][:7] == end[:7]


def test_the_page_shows_dates(run, dated, tmp_path):
    times, table, model = dated
    page = tmp_path / "r.html"
    asked = ("--dates", "--target", "finding", "--train", table, "--seconds", "0", "--by", "admitted", "-o", page)
    made = run("report", model, table, *asked, "--json")
    assert made.exit_code == 0, made.stderr
    text, figures = page.read_text(encoding="utf-8"), json.loads(made.stdout)
    data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)[1])
    feature = next(each for each in data["features"] if each["name"] == "admitted")
    assert feature["date"] == ("time" if times else "date")
    assert re.fullmatch(rf"{date_pattern(times)} to {date_pattern(times)} \(all: .*\)", feature["usual"])
    named = [each for place in figures["places"] for each in place["conditions"] if each.startswith("admitted ")]
    assert [each for each in named if "month" not in each and "weekday" not in each]
    for condition in named:
        if "month" not in condition and "weekday" not in condition:
            assert re.search(date_pattern(times), condition)
    assert all(
        re.match(rf"(after )?{date_pattern(times)} to {date_pattern(times)}", name)
        for name in figures["by"]["admitted"]
    )


def test_a_model_knows_its_dates_after_loading(run, dated):
    times, _, model = dated
    kinds = {each["name"]: each["kind"] for each in json.loads(run("inspect", model, "--json").stdout)["features"]}
    assert kinds["admitted"] == ("time" if times else "date")
    assert kinds["admitted month"] == "number"


def test_a_date_moves_with_its_month_and_weekday(run, write, tmp_path):
    random = np.random.default_rng(0)
    days, doses = random.integers(0, 700, 300), random.integers(0, 5, 300)
    dates = [FIRST + datetime.timedelta(days=int(day)) for day in days]
    winter = np.array([day.month in (11, 12, 1, 2, 3) for day in dates])
    weekend = np.array([day.isoweekday() > 5 for day in dates])
    ill = winter + weekend + 0.2 * doses + days / 700 + random.normal(size=300) > 2
    made = [f"{day};{dose};{'ill' if is_ill else 'well'}" for day, dose, is_ill in zip(dates, doses, ill, strict=True)]
    table, model = write("\n".join(["admitted;dose;finding", *made[:200]])), tmp_path / "m.hedge"
    later = write("\n".join(["admitted;dose;finding", *made[200:]]), "later.csv")
    assert run("fit", table, "--target", "finding", "--dates", "--caution", "2", "-o", model).exit_code == 0
    rows = [word for row in range(1, 101) for word in ("--row", row)]
    found = json.loads(run("explain", model, later, "--dates", *rows, "--seconds", "2", "--json").stdout)
    moved = [each for each in found if each["remedies"] and each["remedies"]["counterfactual"]["changes"]]
    assert any(
        move["feature"] == "admitted" for each in moved for move in each["remedies"]["counterfactual"]["changes"]
    )
    changed, labels = ["admitted;dose"], []
    for each in moved:
        change = each["remedies"]["counterfactual"]
        values = {name: each["values"][name] for name in ("admitted", "dose")}
        values |= {move["feature"]: move["to"] for move in change["changes"]}
        assert set(values) == {"admitted", "dose"}
        changed.append(f"{values['admitted']};{values['dose']:g}")
        labels.append(change["label"])
    said = run("predict", model, write("\n".join(changed), "changed.csv"), "--dates").stdout.splitlines()
    sets = [row["set"] for row in csv.DictReader(said)]
    assert sets == labels


def test_the_month_and_the_weekday_are_named_like_their_date(run, dated, write, tmp_path):
    _, table, model = dated
    page, names = tmp_path / "r.html", write("column,value,label\nadmitted,,day of admission\n", "names.csv")
    made = run("report", model, table, "--dates", "--labels", names, "--seconds", "0", "-o", page)
    assert made.exit_code == 0, made.stderr
    data = json.loads(re.search(r'id="data">(.*?)</script>', page.read_text(encoding="utf-8"), re.S)[1])
    told = {each["name"] for each in data["features"]}
    assert told == {"day of admission", "day of admission month", "day of admission weekday", "dose"}
