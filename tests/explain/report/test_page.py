"""The page as a file: one piece, small, the same every time, with nothing in it that the data could run."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
import sys

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits

import hedgerow
from hedgerow import PairwiseTreesClassifier, RandomForestClassifier, RandomForestRegressor, metrics
from hedgerow.explain.report import make_report
from hedgerow.explain.report.pack import choose_cases, contents_of, packed, rows_per_case, safe_json
from hedgerow.inference.predictor import predictor_of
from hedgerow.table.read import check_table, read_table, read_training_table

TYPES = {"u8": "u1", "u16": "<u2", "u32": "<u4", "i16": "<i2", "f64": "<f8"}


@pytest.fixture(scope="module")
def report(cancer):
    forest, X, y = cancer
    return forest.report(X, y, time_limit=0)


def data_of(report):
    """-> what the page's script reads."""
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', report.html, re.S)[1])


def unpacked(array):
    """-> the numbers of a packed array."""
    return np.frombuffer(base64.b64decode(array["d"]), TYPES[array["t"]])


def test_figures_are_those_of_the_metrics(report, cancer):
    forest, X, y = cancer
    sets = forest.predict_set(X)
    assert report.figures["rows"] == len(X)
    assert report.figures["indeterminate"] == (sets.sum(axis=1) > 1).sum()
    assert report.figures["accuracy"] == forest.score(X, y)
    for name in ("u65", "u80", "coverage", "determinacy", "single_set_accuracy"):
        assert report.figures[name] == getattr(metrics, name)(y, sets, classes=forest.classes_)
    for name in ("u65", "u80"):
        assert f"<b>{report.figures[name]:.3f}</b>" in report.html


def test_the_rule_and_its_map_are_named_in_plain_words(cancer):
    _, X, y = cancer
    with_map = RandomForestClassifier(5, random_state=0).fit(X, y).report(X[:20], time_limit=0).html
    assert "Average: " in with_map
    shown = re.sub(r"<script.*?</script>", "", with_map, flags=re.S)
    assert not re.search(r"\w+\(\w*=?.*?\):", shown)
    assert "Calibrated(" not in with_map
    assert "fitted to " in with_map
    without = RandomForestClassifier(5, random_state=0, calibration=None).fit(X, y).report(X[:20], time_limit=0).html
    assert "none: calibration=None" in without


def test_the_table_is_read_once_and_once_more_to_find_where_the_undecided_are(cancer):
    forest, X, y = cancer
    readers, read = {each.__code__ for each in (check_table, read_table, read_training_table)}, []
    sys.setprofile(lambda frame, event, _: event == "call" and frame.f_code in readers and read.append(frame.f_code))
    try:
        forest.report(X, y, time_limit=0)
    finally:
        sys.setprofile(None)
    assert [code.co_name for code in read] == ["check_table", "read_training_table"]


def test_packed_evidence_is_the_evidence(report, cancer):
    forest, X, _ = cancer
    packed_evidence = {name: unpacked(array) for name, array in data_of(report)["evidence"].items()}
    contents = np.zeros((len(packed_evidence["size"]), 2))
    leaf = np.repeat(np.arange(len(contents)), packed_evidence["size"])
    contents[leaf, packed_evidence["label"]] = packed_evidence["count"]
    start = packed_evidence["start"]
    for row, counts in enumerate(forest.evidence(X).counts):
        entries = slice(start[row], start[row + 1])
        met = np.repeat(contents[packed_evidence["content"][entries]], packed_evidence["times"][entries], axis=0)
        assert sorted(met.tolist()) == sorted(counts.tolist())


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([0, 255], "u8"),
        ([256], "u16"),
        ([70_000], "u32"),
        ([0.5, 3], "f64"),
        ([-1, 4], "i16"),
        ([2**33], "f64"),
        ([], "u8"),
    ],
)
def test_packing_takes_the_smallest_type_and_loses_nothing(values, kind):
    array = packed(np.array(values))
    assert array["t"] == kind
    assert unpacked(array).tolist() == values


def test_json_in_the_page_cannot_end_its_element():
    text = safe_json({"</script>": ["<!--", "&amp;", "\u2028", "ä"]})
    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == {"</script>": ["<!--", "&amp;", "\u2028", "ä"]}


def test_policy_names_the_script_and_style_and_nothing_else(report):
    policy = html.unescape(re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', report.html)[1])
    parts = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    script = re.search(r"<script>(.*?)</script>", report.html, re.S)[1]
    style = re.search(r"<style>(.*?)</style>", report.html, re.S)[1]
    for name, text in (("script-src", script), ("style-src", style)):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert parts[name] == f"'sha256-{digest}'"
    assert parts["default-src"] == parts["base-uri"] == parts["form-action"] == "'none'"
    assert set(parts) == {"default-src", "script-src", "style-src", "img-src", "base-uri", "form-action"}


def test_page_names_no_address_and_has_no_inline_style_or_handler(report):
    markup = re.sub(r"<(script|style)\b.*?</\1>", "", report.html, flags=re.S)
    assert re.findall(r'(?:href|src)="(?!#|data:,)[^"]*"', markup) == []
    assert re.findall(r"<[^>]*\s(?:style|on\w+)\s*=", markup) == []
    script = re.search(r"<script>(.*?)</script>", report.html, re.S)[1]
    assert [
        word for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "eval(", "document.write") if word in script
    ] == []


def test_same_rows_give_the_same_page(report, cancer):
    forest, X, y = cancer
    assert forest.report(X, y, time_limit=0).html == report.html


def test_thousand_rows_of_ten_classes_and_a_hundred_trees_stay_below_two_megabytes():
    X, y = load_digits(return_X_y=True)
    forest = RandomForestClassifier(100, random_state=0).fit(X[:700], y[:700])
    report = forest.report(X[700:1700], y[700:1700], time_limit=0)
    assert len(report.html.encode()) < 2_000_000
    assert len(data_of(report)["sets"]) == 1000


def test_evidence_beyond_its_room_leaves_out_decided_rows_first():
    X, y = load_digits(return_X_y=True)
    weights = np.random.default_rng(0).uniform(0.5, 2, 700)  # makes every leaf another content
    forest = RandomForestClassifier(300, caution=0.1, random_state=0).fit(X[:700], y[:700], sample_weight=weights)
    report = forest.report(X[700:1700], y[700:1700], time_limit=0)
    data = data_of(report)
    assert len(report.html.encode()) < 2_000_000
    assert len(data["sets"]) < 1000
    kept = set(unpacked(data["rows"]).tolist())
    assert set(np.flatnonzero(forest.predict_set(X[700:1700]).sum(axis=1) > 1).tolist()) <= kept
    assert data["nRows"] == 1000


def test_cases_are_all_or_the_undecided_and_a_sample_of_the_decided():
    is_open = np.arange(100) % 10 == 0
    assert choose_cases(is_open, 100).tolist() == list(range(100))
    some = choose_cases(is_open, 30)
    assert len(some) == 30
    assert set(range(0, 100, 10)) <= set(some.tolist())
    assert some.max() - some.min() > 90
    assert choose_cases(is_open, 4).tolist() == [0, 1, 40, 90]
    assert choose_cases(is_open, 4, np.array([50, 7])).tolist() == [0, 1, 7, 50]
    assert rows_per_case(is_open, choose_cases(is_open, 4)) == {"undecided": 10 / 3, "decided": 90.0}


def test_contents_of_a_case_are_met_in_as_many_trees_as_there_are(cancer):
    forest, X, _ = cancer
    contents = contents_of(forest.forest_, predictor_of(forest).read(X).codes)
    assert (np.add.reduceat(contents.times, contents.start[:-1]) == 50).all()
    assert len(np.unique(contents.counts, axis=0)) == len(contents.counts)


def test_every_undecided_case_is_explained_and_no_other(report, cancer):
    forest, X, _ = cancer
    data = data_of(report)
    assert sorted(map(int, data["why"])) == [number for number, members in enumerate(data["sets"]) if len(members) > 1]
    found = forest.explain(X, time_limit=0)
    for number, why in data["why"].items():
        assert why["sentence"] == found[int(number)].sentence
        assert [case[0] for case in why["near"]["cases"]] == [case.row for case in found[int(number)].cases[:4]]


@pytest.fixture(scope="module")
def crowd():
    """A forest that leaves hundreds of rows open."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 4))
    y = (X[:, 0] + rng.normal(0, 0.7, len(X)) > 0).astype(int)
    return RandomForestClassifier(20, caution=2.0, random_state=0).fit(X[:300], y[:300]), X[300:], y[300:]


def test_many_undecided_cases_are_explained_if_doubtful_or_of_a_place(crowd):
    forest, X, y = crowd
    told: list[tuple[int, int]] = []
    report = forest.report(X, y, time_limit=0, max_cases=400, progress=lambda *done: told.append(done))
    data = data_of(report)
    rows = unpacked(data["rows"])
    explained = {int(rows[int(number)]) for number in data["why"]}
    lower, upper = forest.predict_bounds(X).transpose(2, 0, 1)
    label, each = forest.predict_proba(X).argmax(axis=1), np.arange(len(X))
    undecided = np.flatnonzero(forest.predict_set(X).sum(axis=1) > 1)
    doubt = (upper[each, 1 - label] - lower[each, label])[undecided]
    least = np.sort(doubt)[-100]
    assert len(undecided) > 200
    assert set(undecided[doubt > least].tolist()) <= explained <= set(undecided.tolist())
    assert 100 <= len(explained) <= 100 + 5 * len(report.figures["places"])
    assert data["unexplained"] == sum(len(members) > 1 for members in data["sets"]) - len(explained) > 0
    assert told[-1] == (len(explained), len(explained))
    assert [done for done, _ in told] == sorted(done for done, _ in told)


def test_all_undecided_cases_of_the_page_are_explained_on_request(crowd):
    forest, X, y = crowd
    data = data_of(forest.report(X[:300], y[:300], time_limit=0, explained="all"))
    assert sorted(map(int, data["why"])) == [number for number, members in enumerate(data["sets"]) if len(members) > 1]
    assert data["unexplained"] == 0
    with pytest.raises(ValueError, match="explained must be 'some' or 'all', got 'none'"):
        forest.report(X[:5], explained="none")


def test_smallest_changes_are_looked_for_where_there_is_time(cancer):
    forest, X, y = cancer
    some = np.flatnonzero(forest.predict_set(X).sum(axis=1) > 1)[:3]
    asked = data_of(forest.report(X.iloc[some], y[some], time_limit=2))["why"]
    unasked = data_of(forest.report(X.iloc[some], y[some], time_limit=0))["why"]
    assert all(len(asked[number]["remedies"]) == len(unasked[number]["remedies"]) + 1 for number in asked)


def test_rows_are_numbered_from_where_they_are_asked_to(cancer):
    forest, X, y = cancer
    numbered = [data_of(forest.report(X[:60], y[:60], time_limit=0, first_row=first)) for first in (0, 1)]
    assert (unpacked(numbered[1]["rows"]) == unpacked(numbered[0]["rows"]) + 1).all()
    near = [[why["near"]["cases"][0][0] for why in each["why"].values()] for each in numbered]
    assert near[1] == [row + 1 for row in near[0]]


def test_loaded_forest_shows_nearest_cases_where_training_rows_are_lent(cancer, tmp_path):
    forest, X, y = cancer
    hedgerow.save(forest, tmp_path / "m.hedge")
    loaded = hedgerow.load(tmp_path / "m.hedge")
    alone = data_of(loaded.report(X[:60], y[:60], time_limit=0))["why"]
    assert alone
    assert all(why["near"] is None for why in alone.values())
    lent = data_of(loaded.report(X[:60], y[:60], time_limit=0, train=X[60:], y_train=y[60:]))["why"]
    assert all(len(why["near"]["cases"]) == 4 for why in lent.values())


def test_pairs_have_no_report(cancer):
    _, X, y = cancer
    with pytest.raises(TypeError, match="report does not support PairwiseTreesClassifier"):
        make_report(PairwiseTreesClassifier().fit(X, y), X, y)


def test_report_without_classes_has_no_metrics_of_them(cancer):
    forest, X, _ = cancer
    report = forest.report(X, time_limit=0)
    assert set(report.figures) == {"rows", "indeterminate", "novel", "determinacy", "mean_set_size", "places"}
    assert "decided and wrong" not in re.sub(r"<script>.*?</script>", "", report.html, flags=re.S)
    assert data_of(report)["truth"] is None


def test_one_class_and_one_row_can_be_reported():
    forest = RandomForestClassifier(3, random_state=0).fit([[1.0], [2.0]], ["a", "a"])
    assert forest.report([[1.5]], ["a"]).figures["indeterminate"] == 0


def test_rule_the_page_cannot_repeat_is_said(cancer):
    _, X, y = cancer
    forest = RandomForestClassifier(5, rule="median", calibration=None, random_state=0).fit(X, y)
    data = data_of(forest.report(X, y, time_limit=0))
    assert data["settings"]["rule"] == {"name": None, "options": {}, "text": "Median"}


def test_notebook_shows_the_page_in_a_frame(report):
    shown = report._repr_html_()
    assert shown.startswith("<iframe")
    assert html.unescape(re.search(r'srcdoc="([^"]*)"', shown)[1]) == report.html
    assert re.fullmatch(r"Report\(284 rows, \d+ undecided, 0\.\d\d MB\)", repr(report))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": ["benign"]}, r"y must have shape \(284,\), one class per row"),
        ({"names": ["a"]}, "names must have one name for each of the 284 rows of X, got 1"),
        ({"time_limit": -1}, "time_limit must be a number of seconds >= 0, got -1"),
        ({"max_cases": 0}, "max_cases must be an int >= 1, got 0"),
    ],
)
def test_what_does_not_fit_is_refused(cancer, change, message):
    forest, X, y = cancer
    with pytest.raises(ValueError, match=message):
        forest.report(X, **({"y": y} | change))


def test_class_the_forest_does_not_know_is_refused(cancer):
    forest, X, y = cancer
    with pytest.raises(ValueError, match="y must"):
        forest.report(X, np.where(y == "benign", "fine", y))


def test_strangers_are_counted_and_listed_apart():
    cancer = load_breast_cancer()
    X, y = cancer.data[:400], cancer.target[:400]
    Z = cancer.data[400:440].copy()
    Z[3, 5], Z[7] = 1e6, np.nan
    for forest in (
        RandomForestClassifier(30, random_state=0, novelty=0.01),
        RandomForestClassifier(30, random_state=0),
    ):
        made = make_report(forest.fit(X, y), Z, cancer.target[400:440], time_limit=0)
        assert made.figures["novel"] == (forest.predict_novelty(Z) <= 0.01).sum() >= 2
        assert 'id="novel"' in made.html
        assert "x[5]" in made.html.split('id="novel"')[1].split("</section>")[0]
    without = make_report(RandomForestClassifier(5, bootstrap=False, random_state=0).fit(X, y), Z, time_limit=0)
    assert without.figures["novel"] is None
    assert 'id="novel"' not in without.html


def test_evidence_of_rows_that_go_down_both_sides_is_that_of_the_forest():
    cancer = load_breast_cancer()
    forest = RandomForestClassifier(7, random_state=0).fit(cancer.data[:400], cancer.target[:400])
    Z = cancer.data[400:404].copy()
    Z[1, 3], Z[2] = np.nan, np.nan
    now = predictor_of(forest)
    found = contents_of(now.forest, now.read(Z).codes)
    counts = forest.evidence(Z).counts
    for row in range(4):
        entries = slice(found.start[row], found.start[row + 1])
        held = np.repeat(found.counts[found.content[entries]], found.times[entries], axis=0)
        np.testing.assert_allclose(held[np.lexsort(held.T)], counts[row][np.lexsort(counts[row].T)])


def test_groups_and_costs_are_shown_in_readable_words(cancer):
    forest, X, y = cancer
    sides = {"side": {"": "Which side", "left": "on the left"}}
    costs = {"benign": {"benign": 0, "malignant": 100}, "malignant": {"benign": 10, "malignant": 0}}
    made = forest.report(X, y, time_limit=0, by={"side": X["side"]}, costs=costs, labels=sides)
    assert set(made.figures["by"]["side"]) == {"left", "right"}
    assert sum(group["rows"] for group in made.figures["by"]["side"].values()) == len(X)
    assert "<h3>By Which side</h3>" in made.html
    assert '<th scope="row">on the left</th>' in made.html
    truth = np.searchsorted(forest.classes_, y)
    cheapest = (forest.predict_proba(X) @ np.array([[0, 10], [100, 0]])).argmin(axis=1)
    assert made.figures["costs"]["cheapest_action"] == pytest.approx(
        np.array([[0, 10], [100, 0]])[truth, cheapest].mean()
    )


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"by": {"side": ["left"]}}, r"by\['side'\] must have shape \(284,\)"),
        ({"costs": {"go": [1]}}, "costs must have a finite number for each of the 2 classes"),
        ({"y": None, "by": {"side": []}}, "by and costs require y"),
        ({"y": None, "costs": {"go": [1, 2]}}, "by and costs require y"),
    ],
)
def test_groups_and_costs_that_do_not_fit_are_refused(cancer, asked, message):
    forest, X, y = cancer
    with pytest.raises(ValueError, match=message):
        forest.report(X, **({"y": y, "time_limit": 0} | asked))


@pytest.mark.parametrize("estimator", [RandomForestClassifier, RandomForestRegressor])
def test_columns_of_an_array_get_readable_names_too(estimator):
    X = np.random.default_rng(0).normal(size=(60, 2))
    forest = estimator(5, random_state=0).fit(X, (X[:, 0] > 0).astype(int))
    page = forest.report(X, time_limit=0, labels={"x[0]": {"": "height"}}).html
    assert ">height</th>" in page
    assert ">x[0]</th>" not in page
    assert ">x[1]</th>" in page
