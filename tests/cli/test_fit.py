"""``hedgerow fit``: a table with labels -> a model file."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.reference.answers import read_patients, rows_of

import hedgerow
from hedgerow.cli.exit_codes import DataError
from hedgerow.cli.match import held_out
from hedgerow.inference.fitted import fitted_of
from hedgerow.storage import describe_file

SMALL = "a,b,y\n" + "".join(f"{i},{'xz'[i % 2]},{i % 2}\n" for i in range(20))


def test_the_model_is_the_one_python_would_have_fitted(run, patients, model):
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_csv(patients / "train.csv")
    X, y = frame.drop(columns=["patient", "diagnosis"]), frame["diagnosis"]
    forest = hedgerow.RandomForestClassifier(30, random_state=0).fit(X, y)
    loaded = hedgerow.load(model)
    assert loaded.feature_names_in_.tolist() == X.columns.tolist()
    assert (loaded.predict_bounds(X) == forest.predict_bounds(X)).all()


def test_the_same_command_writes_the_same_bytes(run, patients, model, tmp_path):
    words = ["fit", patients / "train.csv", "--target", "diagnosis", "--id", "patient", "--trees", 30]
    assert run(*words, "-o", tmp_path / "again.hedge", "--jobs", 1).exit_code == 0
    again, first = hedgerow.load(tmp_path / "again.hedge"), hedgerow.load(model)
    assert all((a == b).all() for a, b in zip(*(f.forest_.arrays().values() for f in (again, first)), strict=True))
    run(*words, "-o", tmp_path / "third.hedge")
    assert (tmp_path / "third.hedge").read_bytes() == model.read_bytes()


def test_a_model_on_standard_output_is_the_same_and_alone(run, patients, model):
    words = ["fit", patients / "train.csv", "--target", "diagnosis", "--id", "patient", "--trees", 30]
    result = run(*words, "-o", "-")
    assert result.stdout_bytes == model.read_bytes()
    assert "out of bag" in result.stderr


def test_json_says_what_was_read_and_how_well_it_does(run, patients, tmp_path):
    words = ["fit", patients / "train.csv", "--target", "diagnosis", "--id", "patient", "-o", tmp_path / "m.hedge"]
    result = run(*words, "--json", "--caution", "auto")
    report = json.loads(result.stdout)
    assert set(report) == {
        *("rows", "features", "missing_cells", "classes", "estimator", "trees", "rule", "caution", "decision"),
        *("out_of_bag", "seconds", "model"),
    }
    rows = read_patients(patients / "train.csv")
    gaps = sum(cell in ("", "NA") for row in rows for cell in row.values())
    assert report["rows"] == 300
    assert report["features"] == {"all": 7, "numeric": 6, "nominal": 1, "with_missing": 7}
    assert report["missing_cells"] == gaps
    assert {each["label"]: each["rows"] for each in report["classes"]} == {
        label: sum(row["diagnosis"] == label for row in rows) for label in ("benign", "malignant")
    }
    assert report["out_of_bag"]["accuracy"] > 0.85
    assert 0 < report["out_of_bag"]["determinacy"] <= 1


def test_out_of_bag_accuracy_is_the_estimators_own(run, patients, model, tmp_path):
    words = ["fit", patients / "train.csv", "--target", "diagnosis", "--id", "patient", "-o", tmp_path / "m.hedge"]
    said = json.loads(run(*words, "--json").stdout)["out_of_bag"]["accuracy"]
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_csv(patients / "train.csv")
    X, y = frame.drop(columns=["patient", "diagnosis"]), frame["diagnosis"]
    assert said == hedgerow.RandomForestClassifier(100, random_state=0, oob_score=True).fit(X, y).oob_score_


@pytest.mark.parametrize(
    ("labels", "kind"),
    [(["0", "1"], "i"), (["0.5", "1"], "f"), (["no", "yes"], "U"), (["01", "02"], "U"), (["1", "x"], "U")],
)
def test_numeric_labels_stay_numbers_and_text_stays_text(run, write, tmp_path, labels, kind):
    text = "a,y\n" + "".join(f"{i},{labels[i % 2]}\n" for i in range(20))
    result = run("fit", write(text), "--target", "y", "-o", tmp_path / "m.hedge")
    if kind == "f":  # a regression, which these estimators are not for
        assert (result.exit_code, "continuous" in result.stderr) == (3, True)
        return
    classes = hedgerow.load(tmp_path / "m.hedge").classes_
    assert classes.dtype.kind == kind
    assert [str(label) for label in classes] == labels


@pytest.mark.parametrize(
    ("kind", "estimator"),
    [
        ("forest", "RandomForestClassifier"),
        ("extra", "ExtraTreesClassifier"),
        ("tree", "DecisionTreeClassifier"),
        ("random-decision", "RandomDecisionTreesClassifier"),
    ],
)
def test_every_kind_of_model_can_be_fitted(run, write, tmp_path, kind, estimator):
    result = run("fit", write(SMALL), "--target", "y", "-o", tmp_path / "m.hedge", "--model", kind, "--json")
    report = json.loads(result.stdout)
    assert report["estimator"] == type(hedgerow.load(tmp_path / "m.hedge")).__name__ == estimator
    assert (report["out_of_bag"] is None) == (kind != "forest")


def test_columns_can_be_dropped_or_made_nominal(run, write, tmp_path):
    out = tmp_path / "m.hedge"
    assert run("fit", write(SMALL), "--target", "y", "-o", out, "--drop", "b", "--nominal", "a").exit_code == 0
    schema = describe_file(out).schema
    assert (schema.names, schema.nominal) == (("a",), (True,))
    assert all(isinstance(value, str) for value in schema.categories[0])


@pytest.mark.parametrize(
    ("asked", "max_bins", "n_bins"), [("auto", "auto", 255), ("300", 300, 300), ("all", None, 5_000)]
)
def test_the_number_of_bins_can_be_chosen(run, write, tmp_path, asked, max_bins, n_bins):
    table = "a,y\n" + "\n".join(f"{row},{row % 2}" for row in range(5_000))
    out = tmp_path / "m.hedge"
    assert run("fit", write(table), "--target", "y", "--trees", 1, "--max-bins", asked, "-o", out).exit_code == 0
    assert describe_file(out).parameters["max_bins"] == max_bins
    assert fitted_of(hedgerow.load(out)).bins.n_bins.tolist() == [n_bins]


def test_a_model_keeps_no_progress_bar(model):
    assert describe_file(model).parameters["verbose"] == 0


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--rule", "nonsense"], "rule must be"),
        (["--decision", "nonsense"], "decision must be one of"),
        (["--caution", "-1"], "caution must be a number >= 0 or 'auto'"),
        (["--caution", "nan"], "caution must be"),
        (["--jobs", "0"], "--jobs must be"),
        (["--model", "tree", "--trees", "5"], "DecisionTreeClassifier does not support --trees"),
        (
            ["--model", "random-decision", "--leaf-counts", "inbag"],
            "RandomDecisionTreesClassifier does not support --leaf-counts",
        ),
        (["--model", "extra", "--caution", "auto"], "--caution auto requires out-of-bag rows"),
        (["--model", "tree", "--decision", "coverage"], "--decision coverage requires out-of-bag rows"),
        (["--json", "-o", "-"], "--out must be a file with --json"),
        (["-o", "no/such/folder/m.hedge"], "an existing folder"),
        (["--trees", "0"], "--trees"),
        (["--model", "oak"], "--model"),
        (["--max-bins", "254"], "--max-bins must be a number from 255 to 65535, 'auto' or 'all', got '254'"),
        (["--max-bins", "many"], "--max-bins must be"),
        (["--max-bins", "2e4"], "--max-bins must be"),
    ],
)
def test_words_that_cannot_be_meant_are_usage_errors_and_write_nothing(run, write, tmp_path, words, reason):
    out = [] if "-o" in words else ["-o", tmp_path / "m.hedge"]
    result = run("fit", write(SMALL), "--target", "y", *out, *words)
    assert result.exit_code == 2
    assert reason in result.stderr
    assert result.stdout == ""
    assert not (tmp_path / "m.hedge").exists()


def test_a_column_that_names_the_rows_is_told(run, write, tmp_path):
    text = "name,a,y\n" + "".join(f"row {i},{i * 7 % 50},{i % 2}\n" for i in range(50))
    result = run("fit", write(text), "--target", "y", "-o", tmp_path / "m.hedge")
    assert "Ignored column with another text in every row: name." in result.stderr
    result = run("fit", write(text.replace("row 1,", "row 2,")), "--target", "y", "-o", tmp_path / "m.hedge", "--force")
    assert "Column 'name' has 49 distinct texts in 50 rows" in result.stderr
    result = run("fit", write(text), "--target", "y", "-o", tmp_path / "m.hedge", "--id", "name")
    assert result.stderr == ""


def test_parquet_and_csv_give_the_same_model(run, patients, model, tmp_path):
    csv_reader, parquet = pytest.importorskip("pyarrow.csv"), pytest.importorskip("pyarrow.parquet")
    options = csv_reader.ConvertOptions(null_values=["", "NA"], strings_can_be_null=True)
    parquet.write_table(csv_reader.read_csv(patients / "train.csv", convert_options=options), tmp_path / "t.parquet")
    words = ["--target", "diagnosis", "--id", "patient", "--trees", 30, "-o", tmp_path / "m.hedge"]
    assert run("fit", tmp_path / "t.parquet", *words).exit_code == 0
    assert (tmp_path / "m.hedge").read_bytes() == model.read_bytes()


def test_gaps_in_a_column_are_what_the_model_learns_as_missing(run, write, tmp_path):
    text = "a,y\n" + "".join(f"{'?' if i % 2 else i},{i % 2}\n" for i in range(40))
    run("fit", write(text), "--target", "y", "-o", tmp_path / "m.hedge")
    rows = rows_of(run("predict", tmp_path / "m.hedge", write("a\nNA\n2\n")).stdout)
    assert [row["label"] for row in rows] == ["1", "0"]


VISITS = "patient,a,b,y\n" + "".join(f"P{i // 5},{i // 5 % 7},{i % 3},{i // 5 % 2}\n" for i in range(200))


def test_rows_of_a_group_are_drawn_and_held_out_together(run, write, tmp_path):
    table, out = write(VISITS), tmp_path / "m.hedge"
    words = ["fit", table, "--target", "y", "--groups", "patient", "-o", out, "--trees", 20]
    report = json.loads(run(*words, "--json", "--folds", 4).stdout)
    assert (report["rows"], report["groups"], report["features"]["all"]) == (200, 40, 2)
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_csv(table)
    forest = hedgerow.RandomForestClassifier(20, random_state=0).fit(
        frame.drop(columns="y"), frame["y"], groups="patient"
    )
    assert (hedgerow.load(out).predict_proba(frame[["a", "b"]]) == forest.predict_proba(frame[["a", "b"]])).all()
    assert "200 in 40 groups" in run(*words).stdout
    again = run(*words[:-4], "-o", tmp_path / "t.hedge", "--test-split", "0.25", "--json")
    assert json.loads(again.stdout)["held_out"]["by"] == "50 rows held out"


def test_folds_keep_groups_together():
    groups, y = np.arange(60) // 4, np.arange(60) // 4 % 2
    parts = held_out(y, folds=5, test_split=None, seed=0, by_class=True, groups=groups)
    assert (np.sum(parts, axis=0) == 1).all()
    assert all(len(set(part[groups == group])) == 1 for part in parts for group in range(15))
    with pytest.raises(DataError, match="Every class must occur in several groups"):
        held_out(
            groups == np.where(np.arange(60) % 4, 3, 99), folds=5, test_split=None, seed=0, by_class=True, groups=groups
        )


def test_groups_must_be_a_column_with_values(run, write, tmp_path):
    table = write(VISITS.replace("P3,", ","))
    words = ["fit", table, "--target", "y", "-o", tmp_path / "m.hedge"]
    assert "has no value in" in run(*words, "--groups", "patient").stderr
    assert "--groups must differ from --target" in run(*words, "--groups", "y").stderr
    assert run(*words, "--groups", "nobody").exit_code != 0
