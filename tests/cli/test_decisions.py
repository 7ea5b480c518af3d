"""Decisions that can be defended: costs, weights, held-out estimates, groups, and what is chosen by them."""

from __future__ import annotations

import csv
import json
from importlib.util import find_spec

import numpy as np
import pytest

COSTS = "truth,benign,malignant,look again\nbenign,0,10,2\nmalignant,100,0,5\n"


def evaluated(run, model, table, *words):
    result = run("evaluate", model, table, "--target", "diagnosis", "--json", *words)
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout), result.stderr


def test_figures_by_group_add_up_to_the_whole(run, patients, model):
    found, _ = evaluated(run, model, patients / "test.csv", "--by", "site", "--by", "mean_radius")
    for groups in found["by"].values():
        rows = np.array([group["rows"] for group in groups.values()])
        assert rows.sum() == found["rows"]
        assert np.average([g["accuracy"] for g in groups.values()], weights=rows) == pytest.approx(found["accuracy"])
        opened = np.average([g["undecided"] for g in groups.values()], weights=rows)
        assert opened == pytest.approx(1 - found["determinacy"])
    assert set(found["by"]["site"]) == {"left", "right", "missing"}
    assert len(found["by"]["mean_radius"]) == 5  # four quarters, and missing values


def test_two_classes_are_looked_at_from_either_side(run, patients, model):
    one, _ = evaluated(run, model, patients / "test.csv", "--positive", "malignant")
    other, _ = evaluated(run, model, patients / "test.csv", "--positive", "Benign")
    one, other = one["two_classes"], other["two_classes"]
    assert (one["positive"], other["positive"]) == ("malignant", "benign")
    assert one["sensitivity"] == other["specificity"]
    assert one["negative_predictive_value"] == other["positive_predictive_value"]
    assert one["auc"]["value"] == pytest.approx(other["auc"]["value"])
    assert run("evaluate", model, patients / "test.csv", "--target", "diagnosis", "--positive", "ill").exit_code == 2


def test_the_cheapest_action_is_chosen_and_counted(run, patients, model, write):
    costs = write(COSTS, "costs.csv")
    said = run("predict", model, patients / "test.csv", "--target", "diagnosis", "--costs", costs)
    rows = list(csv.DictReader(said.stdout.splitlines()))
    table = {row["truth"]: row for row in csv.DictReader(COSTS.splitlines())}
    spent = [float(table[row["diagnosis"]][row["action"]]) for row in rows]
    found, _ = evaluated(run, model, patients / "test.csv", "--costs", costs)
    assert found["costs"]["cheapest_action"] == pytest.approx(np.mean(spent))
    by_sets = [float(table[row["diagnosis"]]["look again" if "|" in row["set"] else row["set"]]) for row in rows]
    assert found["costs"]["sets"] == pytest.approx(np.mean(by_sets))
    assert {"always benign", "always malignant", "always look again"} <= set(found["costs"])
    for row in rows:
        p = float(row["probability"]) if row["label"] == "malignant" else 1 - float(row["probability"])
        expected = {"benign": 100 * p, "malignant": 10 * (1 - p), "look again": 2 + 3 * p}
        assert float(row["expected_cost"]) == pytest.approx(min(expected.values()), abs=1e-4)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("truth,benign\nbenign,0\n", "got no row for malignant"),
        ("truth\nbenign\nmalignant\n", "got no column of costs"),
        ("truth,benign\nbenign,0\nmalignant,dear\n", "must be numeric"),
    ],
)
def test_costs_that_are_not_complete_are_refused(run, patients, model, write, text, words):
    refused = run("predict", model, patients / "test.csv", "--costs", write(text, "costs.csv"))
    assert refused.exit_code == 3
    assert words in " ".join(refused.stderr.split())


@pytest.mark.parametrize(
    "words", [("--by", "u80"), ("--by", "risk", "--risk", "0.02"), ("--by", "cost", "--costs", "COSTS")]
)
def test_tuning_keeps_the_best_setting(run, patients, tmp_path, write, words):
    words = [write(COSTS, "costs.csv") if word == "COSTS" else word for word in words]
    out = tmp_path / "m.hedge"
    asked = ["--target", "diagnosis", "--id", "patient", "--trees", "20", "--cautions", "0,2", "-o", out, "--json"]
    result = run("tune", patients / "train.csv", *asked, "--decisions", "dominance,u65", *words)
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    scores = [each["score"] for each in found["tuning"]]
    assert (len(scores), scores) == (4, sorted(scores, reverse=True))
    best = found["tuning"][0]
    assert (found["caution"], found["decision"]) == (best["caution"], best["decision"])
    assert json.loads(run("inspect", out, "--json").stdout)["caution"] == best["caution"]


def test_tuning_tries_the_caution_that_is_given(run, patients, tmp_path):
    asked = ["--target", "diagnosis", "--id", "patient", "--trees", "5", "--caution", "2.5", "--json"]
    found = json.loads(run("tune", patients / "train.csv", *asked, "-o", tmp_path / "m.hedge").stdout)
    assert [each["caution"] for each in found["tuning"]] == [2.5]


def test_folds_and_a_split_judge_every_held_out_row_once(run, patients, tmp_path):
    asked = ["--target", "diagnosis", "--id", "patient", "--trees", "10", "--json"]
    plain = run("fit", patients / "train.csv", *asked, "-o", tmp_path / "plain.hedge")
    assert "held_out" not in json.loads(plain.stdout)
    for words, rows in ((["--folds", "3"], 300), (["--test-split", "0.2"], 60)):
        result = run("fit", patients / "train.csv", *asked, "-o", tmp_path / "m.hedge", *words)
        assert result.exit_code == 0, result.stderr
        found = json.loads(result.stdout)["held_out"]
        assert found["rows"] == rows
        assert 0.8 < found["accuracy"] < 1
        assert (tmp_path / "m.hedge").read_bytes() == (tmp_path / "plain.hedge").read_bytes()
    both = run("fit", patients / "train.csv", *asked, "-o", tmp_path / "m.hedge", "--folds", "3", "--test-split", "0.2")
    assert both.exit_code == 2


def test_weights_of_classes_are_those_of_the_estimator(run, patients, tmp_path):
    asked = ["--target", "diagnosis", "--id", "patient", "--trees", "5"]
    for text, kept in (("malignant=3", {"malignant": 3.0}), ("balanced", "balanced")):
        assert run("fit", patients / "train.csv", *asked, "-o", tmp_path / "m", "--class-weight", text).exit_code == 0
        import hedgerow

        assert hedgerow.load(tmp_path / "m").class_weight == kept
    wrong = run("fit", patients / "train.csv", *asked, "-o", tmp_path / "m", "--class-weight", "ill=3")
    assert wrong.exit_code == 2
    assert "The classes are benign, malignant" in " ".join(wrong.stderr.split())


@pytest.mark.parametrize("regression", [False, True])
def test_all_learners_are_judged_on_the_same_rows(run, write, regression):
    draw = np.random.default_rng(0)
    numbers = draw.normal(size=(60, 2))
    lines = [f"{a:.3f},{b:.3f},{'uv'[i % 2]},{a + b:.2f},{'pq'[int(a > 0)]}" for i, (a, b) in enumerate(numbers)]
    table = write("a,b,c,y,z\n" + "\n".join(lines) + "\n")
    words = ["--target", "y", "--drop", "z", "--regression"] if regression else ["--target", "z", "--drop", "y"]
    result = run("compare", table, *words, "--folds", "2", "--trees", "5", "--jobs", "1", "--json")
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)["models"]
    assert {"hedgerow, mixed forest", "hedgerow", "scikit-learn forest", "scikit-learn boosting"} <= set(found)
    assert "CatBoost" in found if find_spec("catboost") else "CatBoost" not in found
    assert {each["rows"] for each in found.values()} == {60}
    if not regression:
        assert found["hedgerow"]["accuracy"] > 0.8
        assert found["hedgerow, mixed forest"]["accuracy"] > 0.8
        assert all(each["log_loss"] < 1 for each in found.values())


def test_sets_have_the_labels_of_the_classes_when_asked(patients, model):
    import pandas

    import hedgerow

    forest = hedgerow.load(model)
    table = pandas.read_csv(patients / "test.csv")[forest.feature_names_in_.tolist()]
    chosen = forest.predict_set(table)
    assert forest.predict_set(table, labels=True) == [forest.classes_[row].tolist() for row in chosen]
    with pytest.raises(ValueError, match="Did you mean 'average'"):
        forest.set_params(rule="avg").predict_proba(table)


def test_evaluate_notices_rows_of_the_fit(run, patients, model):
    known, said = evaluated(run, model, patients / "train.csv")
    assert known["training_rows"] == 1
    assert "warning: The model was trained on these rows" in said
    other, said = evaluated(run, model, patients / "test.csv")
    assert "training_rows" not in other
    assert "trained on" not in said
