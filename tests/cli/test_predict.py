"""``hedgerow predict`` and ``evaluate``: a model file and a table -> answers, and how good they are."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest
from sklearn.metrics import log_loss, roc_auc_score
from tests.reference.answers import read_patients, rows_of

import hedgerow
from hedgerow import metrics

NAMES = [
    *("label", "set", "probability", "p_benign", "lower_benign", "upper_benign"),
    *("p_malignant", "lower_malignant", "upper_malignant"),
    *("total", "aleatoric", "epistemic", "conflict", "vacuity", "novelty"),
]


@pytest.fixture(scope="module")
def asked(patients, model):
    """The model in Python, and the rows of the test file as it expects them."""
    forest = hedgerow.load(model)
    names = forest.feature_names_in_.tolist()
    rows = read_patients(patients / "test.csv")
    cells = [[None if row[name] in ("", "NA") else row[name] for name in names] for row in rows]
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(cells, columns=names)
    return forest, frame.astype(dict.fromkeys(names[:-1], float)), np.array([row["diagnosis"] for row in rows])


def test_csv_has_the_models_answers_to_six_decimals(run, patients, model, asked):
    forest, X, _ = asked
    result = run("predict", model, patients / "test.csv", "--id", "patient")
    rows = rows_of(result.stdout)
    assert list(rows[0]) == ["patient", *NAMES]
    assert [row["patient"] for row in rows] == [row["patient"] for row in read_patients(patients / "test.csv")]
    assert [row["label"] for row in rows] == forest.predict(X).tolist()
    sets = ["|".join(forest.classes_[chosen]) for chosen in forest.predict_set(X)]
    assert [row["set"] for row in rows] == sets
    assert any("|" in each for each in sets)
    bounds = [[float(row[f"{end}_{name}"]) for end in ("lower", "upper")] for row in rows for name in forest.classes_]
    assert (np.array(bounds).reshape(len(rows), 2, 2) == np.round(forest.predict_bounds(X), 6)).all()
    uncertainty = forest.predict_uncertainty(X)
    for part in NAMES[9:-1]:
        assert [float(row[part]) for row in rows] == np.round(getattr(uncertainty, part), 6).tolist()
    assert [float(row["novelty"]) for row in rows] == np.round(forest.predict_novelty(X), 6).tolist()


def test_json_lines_have_all_digits(run, patients, model, asked):
    forest, X, _ = asked
    lines = run("predict", model, patients / "test.csv", "--json", "--id", "patient").stdout.splitlines()
    said = [json.loads(line) for line in lines]
    assert set(said[0]) == {"patient", "label", "set", "probability", "p", "lower", "upper", "uncertainty", "novelty"}
    assert [each["novelty"] for each in said] == forest.predict_novelty(X).tolist()
    bounds = forest.predict_bounds(X)
    assert [[each["lower"][name] for name in forest.classes_] for each in said] == bounds[:, :, 0].tolist()
    shares = [[each["p"][name] for name in forest.classes_] for each in said]
    np.testing.assert_allclose(shares, forest.predict_proba(X), rtol=1e-14)
    assert [[each["upper"][name] for name in forest.classes_] for each in said] == bounds[:, :, 1].tolist()
    assert [each["set"] for each in said] == [forest.classes_[row].tolist() for row in forest.predict_set(X)]
    assert [each["uncertainty"]["vacuity"] for each in said] == forest.predict_uncertainty(X).vacuity.tolist()


def test_parquet_has_sets_as_lists_and_all_digits(run, patients, model, asked, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    forest, X, _ = asked
    result = run("predict", model, patients / "test.csv", "--keep", "site", "-o", tmp_path / "out.parquet")
    assert result.stdout == ""
    table = parquet.read_table(tmp_path / "out.parquet")
    assert table.column_names == ["site", *NAMES]
    assert table.column("set").to_pylist() == [forest.classes_[row].tolist() for row in forest.predict_set(X)]
    assert table.column("lower_benign").to_pylist() == forest.predict_bounds(X)[:, 0, 0].tolist()
    assert None in table.column("site").to_pylist()


def test_data_go_to_standard_output_and_talk_to_standard_error(run, patients, model):
    result = run("predict", model, patients / "test.csv")
    assert len(rows_of(result.stdout)) == 269
    assert "269 rows" in result.stderr
    assert "undecided" in result.stderr
    assert "269 rows" not in result.stdout


def test_standard_input_can_be_the_table_or_the_model(run, patients, model):
    expected = run("predict", model, patients / "test.csv").stdout
    assert run("predict", model, "-", stdin=(patients / "test.csv").read_bytes()).stdout == expected
    assert run("predict", "-", patients / "test.csv", stdin=model.read_bytes()).stdout == expected
    assert run("predict", "-", "-", stdin=b"").exit_code == 2


def test_parquet_on_standard_input_is_recognised(run, patients, model, tmp_path):
    csv_reader, parquet = pytest.importorskip("pyarrow.csv"), pytest.importorskip("pyarrow.parquet")
    options = csv_reader.ConvertOptions(null_values=["", "NA"], strings_can_be_null=True)
    file = io.BytesIO()
    parquet.write_table(csv_reader.read_csv(patients / "test.csv", convert_options=options), file)
    expected = run("predict", model, patients / "test.csv").stdout
    assert run("predict", model, "-", stdin=file.getvalue()).stdout == expected


def test_the_order_of_columns_does_not_matter(run, patients, model, write):
    rows = read_patients(patients / "test.csv")
    names = list(reversed(rows[0]))
    text = "\n".join([",".join(names), *(",".join(row[name] for name in names) for row in rows)]) + "\n"
    shuffled = run("predict", model, write(text), "--id", "patient")
    assert shuffled.stdout == run("predict", model, patients / "test.csv", "--id", "patient").stdout


def test_kept_columns_stand_in_front_as_they_came(run, patients, model):
    given = read_patients(patients / "test.csv")
    rows = rows_of(run("predict", model, patients / "test.csv", "--keep-all").stdout)
    assert list(rows[0]) == [*given[0], *NAMES]
    assert [{name: row[name] for name in given[0]} for row in rows] == given


def test_a_kept_column_with_the_name_of_an_answer_needs_a_prefix(run, patients, model, write):
    text = (patients / "test.csv").read_text().replace("patient", "label", 1)
    result = run("predict", model, write(text), "--id", "label")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--prefix" in result.stderr
    rows = rows_of(run("predict", model, write(text), "--id", "label", "--prefix", "my_").stdout)
    assert list(rows[0])[:3] == ["label", "my_label", "my_set"]


def test_missing_columns_are_named(run, patients, model, write):
    text = (patients / "test.csv").read_text().replace("mean_area", "area", 1).replace("site", "side", 1)
    result = run("predict", model, write(text))
    assert (result.exit_code, result.stdout) == (3, "")
    assert "'mean_area', 'site'" in result.stderr


def test_text_where_the_model_has_learned_numbers_is_named_by_line(run, patients, model, write):
    lines = (patients / "test.csv").read_text().splitlines()
    lines[5] = lines[5].replace(lines[5].split(",")[1], "broken", 1)
    result = run("predict", model, write("\n".join(lines) + "\n"))
    assert (result.exit_code, result.stdout) == (3, "")
    assert "line 6, column 'mean_radius': 'broken'" in result.stderr


def test_unseen_categories_count_as_missing_and_are_told(run, patients, model, write):
    text = (patients / "test.csv").read_text()
    unseen = run("predict", model, write(text.replace(",left,", ",top,"), "unseen.csv"))
    gaps = run("predict", model, write(text.replace(",left,", ",,"), "gaps.csv"))
    assert unseen.exit_code == 0
    assert "Column 'site' has categories that the training data lack: top" in unseen.stderr
    pairs = list(zip(rows_of(unseen.stdout), rows_of(gaps.stdout), strict=True))
    strange = [(float(one.pop("novelty")), float(other.pop("novelty"))) for one, other in pairs]
    for one, other in pairs:  # gaps in this column are known from training, a new category is not: it is less certain
        assert one["label"] == other["label"]
        assert float(one["lower_benign"]) <= float(other["lower_benign"])
        assert float(one["upper_benign"]) >= float(other["upper_benign"])
    assert any(one["upper_benign"] != other["upper_benign"] for one, other in pairs)
    assert all(one <= other for one, other in strange)  # a new category is stranger than a gap
    assert any(one < other for one, other in strange)


def test_rule_caution_and_decision_change_without_a_fit(run, patients, model, asked):
    forest, X, _ = asked
    changed = hedgerow.load(model).set_params(rule="eva", caution=4.0, decision="u80")
    words = ["--rule", "eva", "--caution", "4", "--decision", "u80"]
    rows = rows_of(run("predict", model, patients / "test.csv", *words).stdout)
    assert [row["set"] for row in rows] == ["|".join(forest.classes_[row]) for row in changed.predict_set(X)]


@pytest.mark.parametrize("words", [["--decision", "coverage"], ["--caution", "auto"], ["--rule", "nonsense"]])
def test_what_must_be_learned_anew_is_a_usage_error(run, patients, model, words):
    assert run("predict", model, patients / "test.csv", *words).exit_code == 2


def test_a_model_of_columns_without_names_goes_by_position(run, write, tmp_path):
    X = np.array([[0.0, 1.0], [1.0, 0.0]] * 10)
    hedgerow.save(hedgerow.DecisionTreeClassifier(random_state=0).fit(X, [0, 1] * 10), tmp_path / "m.hedge")
    table = write("first,second,truth\n0,1,0\n1,0,1\n")
    rows = rows_of(run("predict", tmp_path / "m.hedge", table, "--target", "truth").stdout)
    assert [row["label"] for row in rows] == ["0", "1"]
    result = run("predict", tmp_path / "m.hedge", table)
    assert (result.exit_code, "must have 2 feature columns" in result.stderr) == (3, True)


def test_a_bar_in_a_class_is_escaped_within_a_set(run, write, tmp_path):
    text = "a,y\n" + "".join(f"0,{'p|q' if i % 2 else 'r'}\n" for i in range(10))
    run("fit", write(text), "--target", "y", "-o", tmp_path / "m.hedge")
    rows = rows_of(run("predict", tmp_path / "m.hedge", write("a\n0\n")).stdout)
    assert rows[0]["set"] == "p\\|q|r"


def test_kept_cells_survive_whatever_they_hold(run, patients, model, write):
    header, first, *_ = (patients / "test.csv").read_text().splitlines()
    odd = 'a "quoted", cell\r\nof two lines; and a return\r here'
    quoted = '"' + odd.replace('"', '""') + '"'
    text = f"{header}\n{first.replace(first.split(',')[0], quoted, 1)}\n"
    said = run("predict", model, write(text), "--id", "patient").stdout_bytes.decode()
    rows = list(csv.DictReader(io.StringIO(said, newline="")))
    assert [row["patient"] for row in rows] == [odd]


def test_a_failed_prediction_leaves_the_old_file_alone(run, patients, model, write, tmp_path):
    out = write("old", "out.csv")
    assert run("predict", model, write("x\n1\n", "bad.csv"), "-o", out).exit_code == 3
    assert out.read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.csv", "out.csv"]


def test_evaluate_gives_the_librarys_metrics(run, patients, model, asked):
    forest, X, y = asked
    said = json.loads(run("evaluate", model, patients / "test.csv", "--target", "diagnosis", "--json").stdout)
    sets = forest.predict_set(X)
    assert set(said) == {
        *("rows", "indeterminate", "accuracy", "u65", "u80", "determinacy", "single_set_accuracy"),
        *("abstention_accuracy", "coverage", "mean_set_size", "confusion", "log_loss", "two_classes"),
    }
    assert said["accuracy"] == forest.score(X, y)
    probability = forest.predict_proba(X)
    assert said["log_loss"] == pytest.approx(log_loss(y, probability))
    assert said["two_classes"]["auc"]["value"] == pytest.approx(roc_auc_score(y == "malignant", probability[:, 1]))
    for name in ("u65", "u80", "determinacy", "single_set_accuracy", "coverage"):
        assert said[name] == pytest.approx(getattr(metrics, name)(y, sets, classes=forest.classes_), abs=1e-12)
    confusion = metrics.confusion_matrix_with_sets(y, sets, classes=forest.classes_)
    assert said["confusion"]["counts"] == confusion.counts.tolist()
    assert said["confusion"]["sets"] == [list(members) for members in confusion.sets]


def test_evaluate_prints_a_table(run, patients, model):
    result = run("evaluate", model, patients / "test.csv", "--target", "diagnosis")
    for word in ("accuracy", "u65", "u80", "determinacy", "single-set accuracy", "coverage", "{benign, malignant}"):
        assert word in result.stdout
    assert "Ignored column: patient" in result.stderr


def test_labels_the_model_does_not_know_are_named_by_line(run, patients, model, write):
    text = (patients / "test.csv").read_text().replace(",benign\n", ",unclear\n", 1)
    line = text[: text.index("unclear")].count("\n") + 1
    result = run("evaluate", model, write(text), "--target", "diagnosis")
    assert result.exit_code == 3
    assert f"line {line}, column 'diagnosis': 'unclear'" in result.stderr


@pytest.mark.parametrize("labels", [("0", "1"), ("01", "02"), ("-1", "1.0")])
def test_labels_are_compared_as_the_model_has_them(run, write, tmp_path, labels):
    text = "a,y\n" + "".join(f"{i % 2},{labels[i % 2]}\n" for i in range(20))
    fitted = run("fit", write(text), "--target", "y", "-o", tmp_path / "m.hedge")
    assert fitted.exit_code == 0
    said = json.loads(run("evaluate", tmp_path / "m.hedge", write(text), "--target", "y", "--json").stdout)
    assert said["accuracy"] == 1.0


def test_many_classes_are_a_list_of_what_is_mistaken(run, write, tmp_path):
    draw = np.random.default_rng(0)
    text = "a,y\n" + "".join(f"{k + draw.normal():.3f},c{k}\n" for k in range(12) for _ in range(20))
    run("fit", write(text), "--target", "y", "-o", tmp_path / "m.hedge", "--trees", 10)
    result = run("evaluate", tmp_path / "m.hedge", write(text), "--target", "y", "--decision", "u80")
    assert "most frequent wrong or undecided sets" in result.stdout


def test_pairs_of_classes_have_no_uncertainty_and_trees_without_labels_no_answers(run, write, tmp_path):
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X = pandas.DataFrame({"x": rng.normal(size=60), "z": rng.normal(size=60)})
    y = np.array(["a", "b", "c"])[np.digitize(X["x"], [-0.4, 0.4])]
    table = write(X.to_csv(index=False))
    pairs, blind = tmp_path / "pairs.hedge", tmp_path / "blind.hedge"
    hedgerow.save(hedgerow.PairwiseTreesClassifier(random_state=0).fit(X, y), pairs)
    hedgerow.save(hedgerow.UnsupervisedForest(5, random_state=0).fit(X), blind)
    rows = rows_of(run("predict", pairs, table).stdout)
    assert list(rows[0])[:4] == ["label", "set", "probability", "p_a"]
    assert "conflict" not in rows[0]
    assert "uncertainty" not in json.loads(run("predict", pairs, table, "--json").stdout.splitlines()[0])
    refused = run("predict", blind, table)
    assert refused.exit_code == 2
    assert "MODEL must be a classifier or a regressor, got a UnsupervisedForest" in refused.stderr


def test_a_large_table_is_kept_as_bins_and_has_the_same_answers(run, tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 3)).round(4)
    y = np.where(X[:, 0] + X[:, 1] > 0, "ill", "well")
    rows = [",".join([*map(str, row), label]) for row, label in zip(X.tolist(), y.tolist(), strict=True)]
    later = ["99,0.1,0.2,ill", ",0.3,-4.9,well", *rows[:300]]
    for name, some in (("train.csv", rows), ("later.csv", later)):
        (tmp_path / name).write_text("\n".join(["a,b,c,y", *some]) + "\n")
    run("fit", tmp_path / "train.csv", "--target", "y", "--trees", "5", "--out", tmp_path / "m.hedge")
    asked = (tmp_path / "m.hedge", tmp_path / "later.csv", "--target", "y")
    plain = [run("predict", *asked).stdout, run("evaluate", *asked).stdout]
    monkeypatch.setattr("hedgerow.cli.match.LARGE_ROWS", 1)
    assert [run("predict", *asked).stdout, run("evaluate", *asked).stdout] == plain
    assert plain[0].count("\n") == len(later) + 1


@pytest.mark.parametrize("more", [(), ("--regression", "--skip-unlabelled")])
def test_rows_in_blocks_have_the_answers_of_all_rows_together(run, patients, tmp_path, monkeypatch, more):
    target = "mean_radius" if more else "diagnosis"
    run("fit", patients / "train.csv", "--target", target, "--id", "patient", *more, "--out", tmp_path / "m.hedge")
    asked = ("predict", tmp_path / "m.hedge", patients / "test.csv", "--id", "patient", "--json")
    together = run(*asked).stdout
    monkeypatch.setattr("hedgerow.inference.columns.BLOCK_ROWS", 50)
    assert run(*asked).stdout == together
    assert len(together.splitlines()) > 3 * 50
