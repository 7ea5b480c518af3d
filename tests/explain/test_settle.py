"""What would settle it: the numbers are the smallest, the caution the largest, the measurement the best."""

from __future__ import annotations

import numpy as np
import pytest
from tests.reference.fold import prior_for

from hedgerow import RandomForestClassifier, combine, decide
from hedgerow.explain.question import only_class, questions
from hedgerow.explain.remedies import MOST_CASES, calm_caution, confirmed_cases
from hedgerow.inference.predictor import predictor_of
from hedgerow.rules import Laplace


def question_of(forest, X):
    """One block of samples."""
    now = predictor_of(forest)
    ((_, question),) = questions(now, now.read(X, all_features=True))
    return question


@pytest.fixture(scope="module")
def table():
    draw = np.random.default_rng(0)
    X = draw.normal(size=(400, 3))
    y = np.digitize(X[:, 0] + draw.normal(0, 0.7, 400), [-0.5, 0.8])
    return X, y


@pytest.mark.parametrize("rule", ["average", "belief", Laplace(alpha=0.5), "eva", "interval_conjunction"])
def test_one_case_fewer_does_not_settle_it(table, rule):
    X, y = table
    n_trees, decision = (3, "u65") if rule == "eva" else (30, "dominance")
    how = {"caution": 2.0, "rule": rule, "decision": decision, "calibration": None}
    forest = RandomForestClassifier(n_trees, **how, random_state=0).fit(X[:300], y[:300])
    question = question_of(forest, X[300:])
    rows = np.flatnonzero(question.is_open)[:12]
    assert len(rows)
    some = 0
    for row, found in zip(rows.tolist(), confirmed_cases(question, rows), strict=True):
        assert [each.number for each in found] == sorted(each.number for each in found)
        for label, number in found:
            sets = []
            for more in (number, number - 1):
                counts = question.counts[[row]].copy()
                counts[:, :, label] += more
                opinion = combine(counts, rule, prior=prior_for(rule, question.predictor.setting.prior), caution=2.0)
                sets.append(np.flatnonzero(decide(opinion, decision)[0]).tolist())
            assert sets[0] == [label]
            assert sets[1] != [label]
            some += 1
    assert some


def test_further_cases_are_those_a_doubled_training_set_would_add():
    """A tree of one leaf: three of one class, two of the other, caution 2; each further case of the first adds one."""
    X, y = np.zeros((5, 1)), ["a", "a", "a", "b", "b"]
    forest = RandomForestClassifier(1, bootstrap=False, caution=2.0, random_state=0).fit(X, y)
    why = forest.explain([[0.0]])[0]
    # lower(a) = (3 + m)/(7 + m) must exceed upper(b) = 4/(7 + m); lower(b) = (2 + m)/(7 + m), upper(a) = 5/(7 + m)
    assert why.remedies.confirmed == [("a", 2), ("b", 4)]


def test_no_number_of_cases_settles_what_cases_cannot_settle():
    X, y = np.zeros((4000, 1)), np.arange(4000) % 2
    forest = RandomForestClassifier(1, bootstrap=False, caution=2.0 * MOST_CASES, random_state=0).fit(X, y)
    why = forest.explain([[0.0]])[0]
    assert why.remedies.confirmed == []
    assert "not even 1,000 more training rows of one class" in why.to_text()


@pytest.mark.parametrize("rule", ["average", "vote", "belief", "pool", "plausibility", Laplace(alpha=0.5)])
def test_just_above_the_caution_found_it_is_open(table, rule):
    X, y = table
    forest = RandomForestClassifier(30, caution=3.0, rule=rule, random_state=0).fit(X[:300], y[:300])
    question = question_of(forest, X[300:])
    rows = np.flatnonzero(question.is_open)[:10]
    found = calm_caution(question, rows)
    assert any(each is not None for each in found)
    for row, calm in zip(rows.tolist(), found, strict=True):
        counts = question.counts[[row]]
        if calm is None:
            assert only_class(question.predictor, counts, None, 0.0)[0] < 0
            continue
        assert only_class(question.predictor, counts, None, calm.caution)[0] == calm.label
        assert calm.caution < 3.0
        assert only_class(question.predictor, counts, None, calm.caution + 3.0 / 4096)[0] < 0


def test_a_decision_that_ignores_caution_is_not_settled_by_less_of_it(table):
    X, y = table
    forest = RandomForestClassifier(30, decision="u65", random_state=0).fit(X[:300], y[:300])
    open_rows = X[300:][forest.predict_set(X[300:]).sum(axis=1) > 1]
    assert len(open_rows)
    assert all(why.remedies.caution is None for why in forest.explain(open_rows, time_limit=0))


def test_the_value_that_decides_is_to_be_measured_first():
    draw = np.random.default_rng(1)
    y = draw.integers(0, 2, 500)
    X = np.column_stack([draw.random(500), y + draw.normal(0, 0.15, 500), y + draw.normal(0, 1.0, 500)])
    X[draw.random((500, 3)) < 0.15] = np.nan
    forest = RandomForestClassifier(caution=2.0, random_state=0).fit(X, y)
    gaps = np.full((1, 3), np.nan)
    grid = np.column_stack([np.full(40, np.nan), np.full(40, np.nan), np.linspace(-1, 2, 40)])
    rows = np.concatenate([gaps, grid])
    rows = rows[forest.predict_set(rows).sum(axis=1) > 1]
    assert len(rows)
    for why in forest.explain(rows, time_limit=0):
        assert why.remedies.measure[0][0] == "x[1]"
        assert why.remedies.measure[0][1] > 0.9
        shares = [share for _, share, _ in why.remedies.measure]
        assert shares == sorted(shares, reverse=True)


def test_only_missing_values_that_some_tree_asks_about_are_to_be_measured(table):
    X, y = table
    wide = np.column_stack([X, np.zeros(len(X))])
    forest = RandomForestClassifier(20, caution=3.0, random_state=0).fit(wide, y)
    asked = wide[:50].copy()
    asked[:, [0, 3]] = np.nan
    open_rows = asked[forest.predict_set(asked).sum(axis=1) > 1]
    assert len(open_rows)
    for why in forest.explain(open_rows, time_limit=0):
        assert [feature for feature, _, _ in why.remedies.measure] == ["x[0]"]
