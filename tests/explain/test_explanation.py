"""Explanations as object, text, JSON and HTML."""

from __future__ import annotations

import json
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from hedgerow import (
    DecisionTreeClassifier,
    PairwiseTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    plot,
)
from hedgerow.decisions import Maximin
from hedgerow.explain import Explanation, explain, shap_values
from hedgerow.explain.cases import training_rows
from hedgerow.explain.remedies import tells_by_absence
from hedgerow.explain.text import shown_features
from hedgerow.explain.words import percents
from hedgerow.inference.predictor import predictor_of
from hedgerow.rules import Belief, rule_names

KEYS = [
    *("row", "name", "label", "set", "determinate", "classes", "probability", "lower", "upper", "caution", "rule"),
    *("decision", "values", "uncertainty", "total_uncertainty", "cases", "rules", "shap", "remedies"),
    *("novelty", "out_of_support", "actions", "sentence"),
]
HOSTILE = "<script>alert('x')</script>\x1b[31m\"&"


@pytest.fixture(scope="module")
def flowers():
    data = load_iris(as_frame=True)
    names = np.array(data.target_names)[data.target]
    return RandomForestClassifier(60, caution=2.0, random_state=0).fit(data.data, names), data.data


def test_an_explanation_says_what_the_forest_says(flowers):
    forest, X = flowers
    sets, bounds, labels = forest.predict_set(X), forest.predict_bounds(X), forest.predict(X)
    found = forest.explain(X, time_limit=0)
    assert [why.row for why in found] == list(range(150))
    for why, chosen, bound, label, p in zip(found, sets, bounds, labels, forest.predict_proba(X), strict=True):
        assert why.set == forest.classes_[chosen].tolist()
        assert why.is_determinate == (chosen.sum() == 1)
        assert np.allclose(np.column_stack([why.lower, why.upper]), bound, rtol=0, atol=1e-12)
        assert why.label == label
        assert np.allclose(why.probability, p, rtol=0, atol=1e-12)
        assert (why.remedies is None) == why.is_determinate


def test_blocks_do_not_change_an_explanation(flowers, monkeypatch):
    forest, X = flowers
    whole = forest.explain(X[50:110], time_limit=0)
    monkeypatch.setattr("hedgerow.explain.question.BLOCK_CELLS", 60 * 3 * 7)
    parts = forest.explain(X[50:110], time_limit=0)
    assert [why.to_dict() for why in parts] == [why.to_dict() for why in whole]


def test_the_dictionary_is_json_and_has_the_documented_keys(flowers):
    forest, X = flowers
    for why in forest.explain(X[50:55], time_limit=1) + forest.explain(X[70:71]):
        said = why.to_dict()
        assert list(said) == KEYS
        assert json.loads(json.dumps(said, allow_nan=False)) == said
        assert sum(each["share"] for each in said["uncertainty"]) == pytest.approx(1.0, abs=1e-12)
        assert {each["cause"] for each in said["uncertainty"]} == {
            "few",
            "overlap",
            "disagree",
            "missing",
            "out_of_range",
        }
        shares = [each["share"] for each in said["uncertainty"]]
        assert shares == sorted(shares, reverse=True)
        if said["remedies"] is not None:
            assert list(said["remedies"]) == ["confirmed", "caution", "caution_label", "measure", "counterfactual"]


def test_infinite_and_missing_values_are_json_too(flowers):
    forest, X = flowers
    row = X[:1].copy()
    row.iloc[0, 0], row.iloc[0, 1] = np.inf, np.nan
    said = json.loads(json.dumps(forest.explain(row)[0].to_dict(), allow_nan=False))
    assert list(said["values"].values())[:2] == ["inf", None]


def test_infinite_and_huge_training_values_are_values():
    draw = np.random.default_rng(3)
    X = np.column_stack([draw.normal(size=80), draw.normal(size=80) * 1e300])
    X[:3, 0], X[3, 0] = np.inf, -np.inf
    forest = RandomForestClassifier(8, caution=3.0, random_state=0).fit(X, draw.integers(0, 2, 80))
    asked = np.array([[np.inf, 1e308], [-np.inf, -1e308], [np.nan, np.inf], [0.0, 0.0]])
    for why in forest.explain(asked, time_limit=1):
        assert sum(each.share for each in why.uncertainty) == pytest.approx(1.0, abs=1e-12)
        json.dumps(why.to_dict(), allow_nan=False)
    inside = {each.cause: each.share for each in forest.explain([[np.inf, 0.0]], time_limit=0)[0].uncertainty}
    assert inside["out_of_range"] == 0


def test_shap_of_label_and_width_are_those_of_shap_values(flowers):
    forest, X = flowers
    label, width = shap_values(forest, X[60:75]), shap_values(forest, X[60:75], "width")
    for row, why in enumerate(forest.explain(X[60:75], time_limit=0)):
        k = forest.classes_.tolist().index(why.label)
        assert why.shap.label == label.values[row, :, k].tolist()
        assert why.shap.width == width.values[row, :, k].tolist()
        assert why.shap.base["label"] + sum(why.shap.label) == pytest.approx(why.probability[k], abs=1e-9)
        assert why.shap.base["width"] + sum(why.shap.width) == pytest.approx(why.upper[k] - why.lower[k], abs=1e-9)


@pytest.mark.parametrize(
    ("rule", "unit"), [("eva", "log_odds"), ("dominance_vote", "lower"), ("cautious", None), ("median", None)]
)
def test_rules_that_are_no_sum_over_trees_have_less_shap(flowers, rule, unit):
    forest, X = flowers
    other = RandomForestClassifier(60, rule=rule, random_state=0).fit(X, forest.predict(X))
    why = other.explain(X[70:71])[0]
    assert (why.shap and why.shap.unit) == unit
    assert unit is None or (why.shap.width is None) == (unit == "log_odds")
    assert why.to_text()
    assert why.to_html()


@pytest.mark.parametrize("rule", sorted(rule_names()))
def test_every_rule_can_be_explained(flowers, rule):
    forest, X = flowers
    other = RandomForestClassifier(12, rule=rule, caution=2.0, random_state=0).fit(X, forest.predict(X))
    for why in other.explain(X[48:148:20], time_limit=0.05):
        assert sum(each.share for each in why.uncertainty) == pytest.approx(1.0, abs=1e-12)
        json.dumps(why.to_dict(), allow_nan=False)


@pytest.mark.parametrize("decision", ["maximality", "e_admissibility", "u80", "coverage", "top_probability", "maximin"])
def test_every_kind_of_decision_can_be_explained(flowers, decision):
    forest, X = flowers
    other = RandomForestClassifier(12, decision=decision, caution=2.0, random_state=0).fit(X, forest.predict(X))
    sets = other.predict_set(X[48:148:10])
    found = other.explain(X[48:148:10], time_limit=0.05)
    assert [why.set for why in found] == [other.classes_[chosen].tolist() for chosen in sets]


def test_pictures_of_actions_show_the_classes_of_interval_dominance(flowers):
    forest, X = flowers
    other = RandomForestClassifier(5, decision=Maximin(utility=np.ones((4, 3))), random_state=0)
    other.fit(X, forest.predict(X))
    assert other.explain(X[:1], shap=False)[0].actions == ["0"]
    plot.IntervalDisplay.from_estimator(other, X[:2])
    shown = plot.CautionPathDisplay.from_estimator(other, X[:9], forest.predict(X[:9]))
    alike = plot.CautionPathDisplay.from_estimator(other.set_params(decision="dominance"), X[:9], forest.predict(X[:9]))
    np.testing.assert_array_equal(shown.lines["decided"], alike.lines["decided"])


def test_trees_of_pairs_have_no_path_of_cautions(flowers):
    forest, X = flowers
    pairs = PairwiseTreesClassifier(random_state=0).fit(X, forest.predict(X))
    with pytest.raises(TypeError, match="must be a classification tree or forest, got PairwiseTreesClassifier"):
        plot.CautionPathDisplay.from_estimator(pairs, X[:1])


def test_one_tree_and_one_class_and_many_classes_can_be_explained():
    draw = np.random.default_rng(0)
    X = draw.random((240, 3))
    tree = DecisionTreeClassifier(min_samples_leaf=5, caution=3.0).fit(X, draw.integers(0, 3, 240))
    assert tree.explain(X[:3])[0].uncertainty[0].cause in ("overlap", "few")
    only = RandomForestClassifier(5, random_state=0).fit(X, np.zeros(240))
    assert only.explain(X[:1])[0].set == [0.0]
    many = RandomForestClassifier(10, random_state=0).fit(X, np.arange(240) % 40)
    why = many.explain(X[:1], time_limit=0.2)[0]
    assert len(why.probability) == 40
    assert "less probable classes" in why.to_text()


def test_weights_and_tree_weights_count():
    draw = np.random.default_rng(1)
    X = draw.normal(size=(300, 3))
    y = (X[:, 0] + draw.normal(0, 1, 300) > 0).astype(int)
    forest = RandomForestClassifier(20, rule=Belief(weights="learned"), caution=2.0, random_state=0)
    forest.fit(X, y, sample_weight=draw.uniform(0.5, 2, 300))
    sets = forest.predict_set(X[:30])
    found = forest.explain(X[:30], time_limit=0)
    assert [len(why.set) for why in found] == sets.sum(axis=1).tolist()


def test_text_and_html_are_safe_whatever_names_and_values_say():
    draw = np.random.default_rng(2)
    X = pd.DataFrame({HOSTILE: draw.choice([HOSTILE, "b"], 80), "n": draw.random(80)})
    y = np.where((X[HOSTILE] == "b") ^ (draw.random(80) < 0.3), HOSTILE, "other")
    forest = RandomForestClassifier(10, caution=3.0, random_state=0).fit(X, y)
    for why in forest.explain(X[:6], time_limit=0.2):
        assert "\x1b" not in why.to_text()
        html = why.to_html()
        assert html == why._repr_html_()
        assert "<script" not in html.lower()
        assert Tags.of(html) <= {"section", "style", "h3", "h4", "p", "div", "table", "tr", "th", "td", "svg", "rect",
                                 "line", "circle", "ul", "li"}  # fmt: skip


class Tags(HTMLParser):
    """The names of all tags, every one of them closed."""

    @classmethod
    def of(cls, html: str) -> set[str]:
        parser = cls()
        parser.names, parser.open = set(), []
        parser.feed(html)
        assert parser.open == []
        return parser.names

    def handle_starttag(self, tag, attrs):
        assert not [name for name, _ in attrs if name.startswith("on") or name in ("href", "src")]
        self.names.add(tag)
        self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.names.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_lines_of_text_stay_within_a_terminal(flowers):
    forest, X = flowers
    text = "".join(why.to_text() for why in forest.explain(X[50:90:8], time_limit=0.2))
    tables = [line for line in text.splitlines() if len(line) > 100]
    assert tables == []


def test_the_sentence_names_the_set_and_per_cents_that_add_up(flowers):
    forest, X = flowers
    found = [why for why in forest.explain(X, time_limit=0) if not why.is_determinate]
    assert found
    for why in found:
        assert all(str(label) in why.sentence for label in why.set)
        assert sum(int(word.strip("%,.")) for word in why.sentence.split() if "%" in word) == 100
        assert why.sentence.count(".") == 2
        assert repr(why) == f"Explanation(Row {why.row}: {why.sentence})"


@pytest.mark.parametrize("shares", [[1 / 3, 1 / 3, 1 / 3], [0.996, 0.004], [0.5, 0.5, 0.0], [0.0, 0.0]])
def test_per_cents_add_up_to_a_hundred(shares):
    assert sum(percents(shares)) == (100 if sum(shares) else 0)
    assert all(abs(whole - 100 * share) < 1 for whole, share in zip(percents(shares), shares, strict=True))


def test_what_has_no_classes_of_its_own_is_not_explained(flowers):
    _, X = flowers
    number = RandomForestRegressor(5, random_state=0).fit(X, X.iloc[:, 0])
    with pytest.raises(ValueError, match="wanted must be None for a regressor, got 1"):
        explain(number, X[:1], wanted=1)
    pairs = PairwiseTreesClassifier().fit(X[:100:5], np.arange(20) % 3)
    with pytest.raises(AttributeError, match="PairwiseTreesClassifier does not support explain"):
        pairs.explain(X[:1])


def test_the_method_and_the_function_are_one(flowers):
    forest, X = flowers
    assert explain(forest, X[:2])[1].to_dict() == forest.explain(X[:2])[1].to_dict()
    assert isinstance(forest.explain(X[:1])[0], Explanation)


def test_a_decided_row_has_a_counterfactual_to_the_class_asked_for(flowers):
    forest, X = flowers
    decided = next(why for why in forest.explain(X, shap=False, cases=0, time_limit=0) if why.is_determinate)
    row = X.iloc[[decided.row]]
    wanted = next(label for label in decided.classes if label != decided.label)
    (asked,) = forest.explain(row, wanted=wanted, time_limit=2.0)
    assert asked.remedies.counterfactual["label"] == wanted
    assert "What would change it" in asked.to_text()
    assert asked.remedies.confirmed == []
    for label in (None, decided.label):
        assert forest.explain(row, wanted=label, shap=False)[0].remedies is None


def test_nearest_cases_have_the_names_of_the_training_rows(flowers):
    forest, X = flowers
    train = X.set_axis([f"flower {row}" for row in range(len(X))])
    (why,) = forest.explain(X[:1], train=train, shap=False)
    assert why.cases[0].name == f"flower {why.cases[0].row}"
    assert why.cases[0].name in why.to_text()


def test_contributions_are_in_the_order_of_the_column_shown_first(flowers):
    forest, X = flowers
    (why,) = forest.explain(X[60:61])
    sizes = [abs(why.shap.label[why.shap.features.index(name)]) for name in shown_features(why, 3)]
    assert sizes == sorted(map(abs, why.shap.label), reverse=True)[:3]


def test_features_whose_absence_tells_the_class_are_not_to_be_measured():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 3)), rng.integers(0, 2, 400)
    X[:, 0] += y
    X[rng.random(400) < np.where(y == 1, 0.6, 0.1), 1] = np.nan  # tells the class
    X[rng.random(400) < 0.3, 0] = np.nan  # does not
    forest = RandomForestClassifier(20, caution=50, random_state=0).fit(X, y)
    known = training_rows(predictor_of(forest))
    assert [tells_by_absence(known, feature, predictor_of(forest)) for feature in range(2)] == [False, True]
    row = np.array([[np.nan, np.nan, 0.0]])
    measured = [each[0] for why in forest.explain(row, shap=False, time_limit=0) for each in why.remedies.measure]
    assert measured == [predictor_of(forest).codebook.names[0]]


def test_values_outside_the_training_range_are_named_first(flowers):
    forest, X = flowers
    row = X[60:61].assign(**{X.columns[2]: X[X.columns[2]].max() * 1.3})
    (why,) = forest.explain(row, shap=False)
    assert why.sentence.startswith(f"Values outside the training range: {X.columns[2]} = ")


@pytest.mark.parametrize("n_certain", [0, 60])
def test_rows_with_uncertain_labels_and_missing_values_are_explained(n_certain):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((60, 3)) < 0.2, np.nan, rng.normal(size=(60, 3)))
    y = [int(label) if row < n_certain - 20 else {0, 1} for row, label in enumerate(rng.integers(0, 2, 60))]
    forest = RandomForestClassifier(10, random_state=0, calibration=None).fit(X, y)
    assert [each.set for each in forest.explain(X[:8], time_limit=0)] == forest.predict_set(X[:8], labels=True)
