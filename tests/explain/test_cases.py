"""Nearest cases and leaf rules: weights are those of the prediction, and what a rule says is true of the sample."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pandas as pd
import pytest

from hedgerow import RandomDecisionTreesClassifier, RandomForestClassifier


@pytest.fixture(scope="module")
def table():
    draw = np.random.default_rng(0)
    X = pd.DataFrame({"size": draw.normal(size=300).round(3), "age": draw.integers(20, 80, 300).astype(float),
                      "colour": draw.choice(["red", "green", "blue"], 300)})  # fmt: skip
    y = np.where(X["size"] + (X["colour"] == "red") + draw.normal(0, 0.5, 300) > 0.3, "yes", "no")
    return X, y


@pytest.fixture(scope="module")
def forest(table):
    return RandomForestClassifier(40, calibration=None, caution=2.0, random_state=0).fit(*table)


def test_weights_of_all_rows_give_the_probability(table, forest):
    X, y = table
    explained = forest.explain(X[:5], cases=len(X), time_limit=0)
    for why, probability in zip(explained, forest.predict_proba(X[:5]), strict=True):
        heavy = np.array([case.weight for case in why.cases])
        assert (np.diff(heavy) <= 0).all()
        assert heavy.sum() == pytest.approx(1.0, abs=1e-12)
        near = y[[case.row for case in why.cases]]
        assert [heavy[near == label].sum() for label in forest.classes_] == pytest.approx(
            probability.tolist(), abs=1e-12
        )


@pytest.mark.parametrize("leaf_counts", ["all", "inbag", "oob"])
def test_cases_are_the_nearest_rows_whatever_leaves_count(table, leaf_counts):
    X, y = table
    forest = RandomForestClassifier(10, leaf_counts=leaf_counts, random_state=0).fit(X, y)
    near = forest.nearest_rows(X[:4], k=5)
    for row, why in enumerate(forest.explain(X[:4], time_limit=0)):
        assert [case.row for case in why.cases] == [each for each in near.rows[row].tolist() if each >= 0]


def test_a_training_row_is_its_own_nearest_case(table, forest):
    X, y = table
    for row, why in enumerate(forest.explain(X[:10], time_limit=0)):
        same = [case for case in why.cases if case.row == row]
        assert same
        assert same[0].label == y[row]
        assert same[0].values == X.iloc[row].to_dict()


def test_a_forest_without_its_training_rows_says_so_or_is_given_them(table, forest):
    X, y = table
    loaded = pickle.loads(pickle.dumps(forest))
    assert loaded.explain(X[:1])[0].cases is None
    assert "not available" in loaded.explain(X[:1])[0].to_text()
    assert loaded.explain(X[:1])[0].to_dict()["cases"] is None
    given, kept = loaded.explain(X[:3], train=X, y_train=y), forest.explain(X[:3])
    assert [why.cases for why in given] == [why.cases for why in kept]
    unlabelled = loaded.explain(X[:1], train=X)[0].cases
    assert all(case.label is None for case in unlabelled)


def test_labels_of_other_rows_are_refused(table, forest):
    X, y = table
    with pytest.raises(ValueError, match="y_train must have shape \\(300,\\)"):
        forest.explain(X[:1], train=X, y_train=y[:20])


@pytest.mark.parametrize("kind", [RandomForestClassifier, RandomDecisionTreesClassifier])
def test_rules_are_true_of_the_sample_and_their_counts_those_of_the_training_rows(table, kind):
    X, y = table
    forest = kind(20, caution=2.0, random_state=0).fit(X, y)
    n_rules = 0
    for row, why in enumerate(forest.explain(X[:40], time_limit=0)):
        for rule in why.rules:
            said, counts = rule.rsplit(": ", 1)
            inside = satisfied(said, X)
            assert inside[row]
            held = {label: int(number) for number, label in re.findall(r"(\d+) (yes|no)", counts)}
            assert held == {label: int(n) for label, n in zip(*np.unique(y[inside], return_counts=True), strict=True)}
            n_rules += 1
    assert n_rules >= 40


def satisfied(said: str, X) -> np.ndarray:
    """-> (n,): of which rows it is true what a rule says."""
    fine = np.ones(len(X), dtype=bool)
    for condition in said.split(" and "):
        name, words = condition.split(" ", 1)
        if match := re.fullmatch(r"up to (\S+)", words):
            fine &= X[name] <= float(match[1])
        elif match := re.fullmatch(r"below (\S+)", words):
            fine &= X[name] < float(match[1])
        elif match := re.fullmatch(r"at least (\S+)", words):
            fine &= X[name] >= float(match[1])
        elif match := re.fullmatch(r"above (\S+)", words):
            fine &= X[name] > float(match[1])
        elif match := re.fullmatch(r"from (\S+) to (\S+)", words):
            fine &= (float(match[1]) < X[name]) & (X[name] <= float(match[2]))
        elif match := re.fullmatch(r"is not (.+)", words):
            fine &= ~X[name].isin(re.split(r", | or ", match[1]))
        elif match := re.fullmatch(r"is (.+)", words):
            fine &= X[name].isin(re.split(r", | or ", match[1]))
        else:
            raise AssertionError(condition)
    return np.asarray(fine)


def test_a_rule_says_which_value_is_missing(table):
    X, y = table
    gaps = X.copy()
    gaps.loc[::4, "size"] = np.nan
    forest = RandomForestClassifier(20, caution=2.0, random_state=0).fit(gaps, y)
    whys = forest.explain(gaps[:1], time_limit=0)
    assert any("size missing" in rule for why in whys for rule in why.rules)
