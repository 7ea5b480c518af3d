"""The commands where the target is a number: ``fit --regression``, ``predict`` and ``evaluate`` of a regressor."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.metrics import mean_absolute_error, r2_score
from tests.reference.answers import rows_of

import hedgerow

NAMES = [
    *("prediction", "lower", "upper", "mean_lower", "mean_upper"),
    *("total_std", "aleatoric_std", "epistemic_std", "novelty"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """``train.csv`` and ``test.csv``: ten numbers and how far an illness went in a year."""
    folder = tmp_path_factory.mktemp("numbers")
    data = load_diabetes(scaled=False)
    for file, rows in (("train.csv", slice(0, 300)), ("test.csv", slice(300, None))):
        with open(folder / file, "w", newline="") as out:
            writer = csv.writer(out)
            writer.writerow([*data.feature_names, "progress"])
            writer.writerows(np.column_stack([data.data, data.target])[rows].tolist())
    return folder


@pytest.fixture(scope="module")
def test_rows():
    """What the test file holds."""
    data = load_diabetes(scaled=False, as_frame=True)
    return data.data[300:], data.target[300:].to_numpy()


@pytest.fixture
def model(folder, run):
    path = folder / "m.hedge"
    if not path.exists():
        words = ["fit", folder / "train.csv", "--target", "progress", "--regression", "-o", path, "--trees", "40"]
        assert run(*words).exit_code == 0
    return path


def test_fit_reports_the_range_of_the_target_and_r2_out_of_bag(folder, run):
    words = ["fit", folder / "train.csv", "--target", "progress", "--regression", "-o", folder / "other.hedge"]
    said = json.loads(run(*words, "--trees", "40", "--json").stdout)
    forest = hedgerow.RandomForestRegressor(40, random_state=0, oob_score=True)
    data = load_diabetes(scaled=False)
    forest.fit(data.data[:300], data.target[:300])
    assert said["estimator"] == "RandomForestRegressor"
    assert said["out_of_bag"] == {"r2": forest.oob_score_}
    assert said["target"]["lowest"] == data.target[:300].min()
    text = run(*words, "--trees", "40").stdout
    assert "R², out of bag" in text
    assert "caution 1" in text


def test_predict_writes_prediction_interval_bounds_and_deviations(folder, run, model, test_rows):
    forest, (X, _) = hedgerow.load(model), test_rows
    rows = rows_of(run("predict", model, folder / "test.csv", "--target", "progress", "--coverage", "0.8").stdout)
    assert list(rows[0]) == ["progress", *NAMES]
    expected = np.column_stack([forest.predict(X), forest.predict_interval(X, 0.8), forest.predict_bounds(X)])
    assert [[float(row[name]) for name in NAMES[:5]] for row in rows] == np.round(expected, 6).tolist()
    line = run("predict", model, folder / "test.csv", "--json").stdout.splitlines()[0]
    assert json.loads(line)["prediction"] == forest.predict(X)[0]


def test_evaluate_reports_errors_and_coverage(folder, run, model, test_rows):
    forest, (X, y) = hedgerow.load(model), test_rows
    said = json.loads(run("evaluate", model, folder / "test.csv", "--target", "progress", "--json").stdout)
    assert said["r2"] == pytest.approx(r2_score(y, forest.predict(X)), abs=1e-12)
    assert said["mean_absolute_error"] == pytest.approx(mean_absolute_error(y, forest.predict(X)), abs=1e-12)
    lower, upper = forest.predict_interval(X, 0.9).T
    assert said["coverage"] == np.mean((lower <= y) & (y <= upper))
    assert (
        "of the 90% intervals contain the target"
        in run("evaluate", model, folder / "test.csv", "--target", "progress").stdout
    )


def test_a_tree_has_no_intervals_and_says_so_when_asked(folder, run):
    path = folder / "tree.hedge"
    words = ["fit", folder / "train.csv", "--target", "progress", "--regression", "--model", "tree", "-o", path]
    assert run(*words).exit_code == 0
    assert list(rows_of(run("predict", path, folder / "test.csv").stdout)[0]) == [NAMES[0], *NAMES[3:-1]]
    refused = run("predict", path, folder / "test.csv", "--coverage", "0.9")
    assert refused.exit_code == 2
    assert "bootstrap" in refused.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["--rule", "eva"],
        ["--decision", "u65"],
        ["--leaf-counts", "oob"],
        ["--model", "random-decision"],
        ["--caution", "auto"],
        ["--model", "tree", "--trees", "5"],
    ],
)
def test_what_is_about_classes_is_refused(folder, run, words):
    result = run("fit", folder / "train.csv", "--target", "progress", "--regression", "-o", folder / "no.hedge", *words)
    assert result.exit_code == 2
    assert not (folder / "no.hedge").exists()


def test_a_rule_or_a_coverage_must_fit_the_model(folder, run, model, write):
    assert run("predict", model, folder / "test.csv", "--rule", "eva").exit_code == 2
    table = write("a,y\n1,no\n2,yes\n3,no\n")
    assert run("fit", table, "--target", "y", "-o", folder / "classes.hedge").exit_code == 0
    assert run("predict", folder / "classes.hedge", table, "--coverage", "0.9").exit_code == 2
    assert run("evaluate", folder / "classes.hedge", table, "--target", "y", "--coverage", "0.9").exit_code == 2


@pytest.mark.parametrize(("cell", "said"), [("tall", "1 cell is not a number"), ("", "no number")])
def test_targets_that_are_no_numbers_are_named_by_line(run, write, tmp_path, cell, said):
    table = write(f"a,y\n1,2.5\n2,{cell}\n3,1\n")
    result = run("fit", table, "--target", "y", "--regression", "-o", tmp_path / "m.hedge")
    assert result.exit_code == 3
    assert said in result.stderr
    assert "line 3" in result.stderr


def test_an_interval_without_end_is_null_in_json(write, run, tmp_path):
    """Of seven rows no interval can promise 90 %: it ends at 0, as the targets do, and JSON has no infinity."""
    table = write("x,y\n" + "".join(f"{i},{i % 3}\n" for i in range(7)))
    assert run("fit", table, "--target", "y", "--regression", "-o", tmp_path / "m.hedge").exit_code == 0
    for line in run("predict", tmp_path / "m.hedge", table, "--json").stdout.splitlines():
        said = json.loads(line, parse_constant=pytest.fail)
        assert (said["lower"], said["upper"]) == (0.0, None)
    evaluated = run("evaluate", tmp_path / "m.hedge", table, "--target", "y", "--json")
    assert evaluated.exit_code == 0
    assert json.loads(evaluated.stdout, parse_constant=pytest.fail)["rows"] == 7
