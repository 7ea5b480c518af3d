"""``hedgerow learn``, ``queue`` and ``monitor``: what readers answer comes back, and what changed is seen."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import hedgerow


def answers_from(page, choose):
    """A page and a function of its data -> what the reader would save."""
    data = json.loads(re.search(r'id="data">(.*?)</script>', page.read_text(encoding="utf-8"), re.S)[1])
    return {"format": "hedgerow answers", "version": 1, **data["marks"], "answers": choose(data)}


@pytest.fixture
def asked(run, patients, model, tmp_path):
    """The page of a report with several undecided cases, and the first of these."""
    page = tmp_path / "r.html"
    words = ("report", model, patients / "test.csv", "--caution", "4", "--target", "diagnosis", "--seconds", "0")
    assert run(*words, "-o", page).exit_code == 0
    forest = hedgerow.load(model).set_params(caution=4.0)
    frame = pytest.importorskip("pandas").read_csv(patients / "test.csv")
    sets = forest.predict_set(frame[forest.feature_names_in_.tolist()].astype({"site": object}))
    return page, np.flatnonzero(sets.sum(axis=1) > 1)


def one(row, answer, **more):
    return {"row": int(row) + 1, "answer": answer, "unsure": answer is None, "note": "", **more}


def test_answers_are_counted_and_cases_get_decided(run, patients, model, asked, tmp_path, write):
    page, undecided = asked
    held = answers_from(page, lambda data: [one(row, 1) for row in undecided] + [one(0, None)])
    result = run(
        "learn", model, write(json.dumps(held), "a.json"), patients / "test.csv", "-o", tmp_path / "2.hedge", "--json"
    )
    assert result.exit_code == 0
    told = json.loads(result.stdout)
    assert (told["answers"], told["left_out"]) == (len(undecided), 1)
    before, after = hedgerow.load(model), hedgerow.load(tmp_path / "2.hedge")
    grown = int(after.forest_.counts.sum()) - int(before.forest_.counts.sum())
    assert grown == len(undecided) * before.forest_.n_trees
    again = run(
        "learn",
        tmp_path / "2.hedge",
        write(json.dumps(held), "a.json"),
        patients / "test.csv",
        "-o",
        tmp_path / "3.hedge",
    )
    assert again.exit_code == 3
    assert "got answers to another model" in again.stderr


def test_answers_about_a_table_that_begins_with_categories_are_counted(run, tmp_path, write):
    rows = [f"{'ab'[i % 2]},{i % 7},{'yes' if i % 3 else 'no'}" for i in range(60)]
    table = write("\n".join(["kind,size,y", *rows]) + "\n")
    model, page = tmp_path / "m.hedge", tmp_path / "r.html"
    run("fit", table, "--target", "y", "--trees", "5", "--out", model)
    run("report", model, table, "--target", "y", "--seconds", "0", "-o", page)
    held = write(json.dumps(answers_from(page, lambda data: [one(40, 1)])), "a.json")
    result = run("learn", model, held, table, "-o", tmp_path / "2.hedge", "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["answers"] == 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"model": "0" * 32}, "got answers to another model"),
        ({"table": "0" * 32}, "got answers about another table"),
        ({"answers": []}, "no answers"),
        ({"answers": [one(0, 7)]}, "must be the number of one of the 2 classes"),
        ({"answers": [one(4000, 1)]}, "must be about the 269 rows"),
        ({"version": 9}, "version must be 1, got 9"),
        ({"format": "letter"}, "not a file of answers saved from a report"),
    ],
)
def test_answers_that_do_not_belong_are_refused(run, patients, model, asked, tmp_path, write, change, said):
    held = answers_from(asked[0], lambda data: [one(0, 1)]) | change
    result = run("learn", model, write(json.dumps(held), "a.json"), patients / "test.csv", "-o", tmp_path / "2.hedge")
    assert result.exit_code == 3
    assert said in " ".join(result.stderr.split())
    assert not (tmp_path / "2.hedge").exists()


def test_answers_about_the_rows_with_a_label_are_counted(run, patients, model, tmp_path, write):
    head, *rows = (patients / "test.csv").read_text().splitlines()
    place = head.split(",").index("diagnosis")
    cells = [row.split(",") for row in rows]
    for each in cells[::3]:
        each[place] = ""
    table, page = write("\n".join([head, *map(",".join, cells)]), "gaps.csv"), tmp_path / "r.html"
    asked = ("--target", "diagnosis", "--skip-unlabelled", "--seconds", "0", "-o", page)
    assert run("report", model, table, *asked).exit_code == 0
    held = write(json.dumps(answers_from(page, lambda data: [one(0, 1), one(3, 0)])), "a.json")
    result = run("learn", model, held, table, "-o", tmp_path / "2.hedge")
    assert result.exit_code == 0, result.stderr
    assert "the 179 rows with a value of 'diagnosis'" in result.stderr
    frame = pytest.importorskip("pandas").read_csv(table)
    forest = hedgerow.load(model)
    some = frame[frame["diagnosis"].notna()][forest.feature_names_in_.tolist()].astype({"site": object})
    forest.partial_fit(some.iloc[[0, 3]], forest.classes_[[1, 0]])
    np.testing.assert_array_equal(hedgerow.load(tmp_path / "2.hedge").forest_.counts, forest.forest_.counts)
    shorter = write("\n".join([head, *map(",".join, cells[1:])]), "shorter.csv")
    without = run("learn", model, held, shorter, "-o", tmp_path / "3.hedge")
    assert without.exit_code == 0  # the row that is gone had no label
    other = write("\n".join([head, *map(",".join, cells[2:])]), "other.csv")
    refused = run("learn", model, held, other, "-o", tmp_path / "4.hedge")
    assert (refused.exit_code, (tmp_path / "4.hedge").exists()) == (3, False)
    assert "got answers about another table" in " ".join(refused.stderr.split())


def test_queue_lists_what_the_forest_suggests(run, patients, model):
    result = run("suggest", model, patients / "test.csv", "--id", "patient", "-n", "3", "--json")
    frame = pytest.importorskip("pandas").read_csv(patients / "test.csv")
    forest = hedgerow.load(model)
    expected = forest.suggest(frame[forest.feature_names_in_.tolist()].astype({"site": object}), 3)
    told = json.loads(result.stdout)
    assert [case["row"] - 1 for case in told] == expected.tolist()
    assert [case["name"] for case in told] == frame["patient"].iloc[expected].tolist()


def test_monitor_is_quiet_without_a_shift_and_loud_with_one(run, patients, model, write, tmp_path):
    quiet = run("monitor", model, patients / "test.csv")
    assert quiet.exit_code == 0
    assert re.fullmatch(r"ok: 269 rows; drift p = [\d.]+; novel rows .*; undecided .*\n", quiet.stdout)
    frame = pytest.importorskip("pandas").read_csv(patients / "test.csv")
    frame["mean_area"] *= 3
    moved = tmp_path / "moved.csv"
    frame.to_csv(moved, index=False)
    page = tmp_path / "m.html"
    loud = run("monitor", model, moved, "--html", page, "--json")
    assert loud.exit_code == 5
    told = json.loads(loud.stdout)
    assert told["look"]
    assert told["features"][0] == "mean_area"
    assert "<b>Check</b> these" in page.read_text(encoding="utf-8")
    against = run("monitor", model, moved, "--reference", patients / "test.csv")
    assert against.exit_code == 5
    assert "undecided" in against.stdout
    assert "(expected" in against.stdout


def test_report_takes_readable_names(run, patients, model, tmp_path, write):
    names = write(
        "column,value,label\nsite,left,left breast\ndiagnosis,malignant,cancer\nmean_area,,area (mm²)\n", "names.csv"
    )
    page = tmp_path / "r.html"
    words = ("report", model, patients / "test.csv", "--seconds", "0", "--labels", names, "-o", page)
    assert run(*words).exit_code == 0
    text = page.read_text(encoding="utf-8")
    for said in ("left breast", "cancer", "area (mm²)"):
        assert said in text
    assert "malignant" not in text
    refused = run("report", model, patients / "test.csv", "--labels", patients / "test.csv", "-o", page, "--force")
    assert refused.exit_code == 3
    assert "--labels must have the columns column, value, label" in " ".join(refused.stderr.split())
