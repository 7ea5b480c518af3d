"""A promise for each group of rows: kept in each group, on out-of-bag rows and on rows set aside."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from hedgerow import RandomForestClassifier
from hedgerow.decisions import Coverage


def wards(n_rows: int, seed: int, n_columns: int = 3) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Two classes with as much noise as their ward has; the ward is a column, "c" is rare."""
    random = np.random.default_rng(seed)
    X, ward = random.normal(size=(n_rows, n_columns)), random.choice(list("abc"), n_rows, p=[0.6, 0.3, 0.1])
    noise = np.select([ward == "a", ward == "b"], [0.6, 1.5], 5.0)
    y = (X[:, 0] + noise * random.normal(size=n_rows) > 0).astype(int)
    columns = {f"x{j}": X[:, j] for j in range(n_columns)}
    return pd.DataFrame(columns).assign(ward=pd.Categorical(ward)), y, ward


def covered(seed: int, aside: bool, **options) -> list[float]:
    """-> coverage of new rows in each ward, after a calibration on out-of-bag rows, or on rows set aside."""
    decision = Coverage(0.9, **options)
    forest = RandomForestClassifier(60, decision=decision, random_state=seed).fit(*wards(2000, seed)[:2])
    if aside:
        X, y, _ = wards(2000, 100 + seed)
        forest.set_params(decision=decision.calibrate(forest.evidence(X).combine(), y))
    X, y, ward = wards(5000, 200 + seed)
    held = forest.predict_set(X)[np.arange(len(y)), y]
    return [held[ward == name].mean() for name in "abc"]


def kept(aside: bool, **options) -> np.ndarray:
    """-> (3,): whether the mean coverage of each ward over six fits is within two standard errors of 0.9."""
    mean = np.mean([covered(seed, aside, **options) for seed in range(6)], axis=0)
    error = np.sqrt(0.09 * (1 / 2000 + 1 / 5000) / np.array([0.6, 0.3, 0.1]) / 6)
    return np.abs(mean - 0.9) < 2 * error


@pytest.mark.parametrize("aside", [False, True])
def test_a_coverage_promised_to_each_group_is_kept_in_each_group(aside):
    assert kept(aside, groups="ward").all()


def test_a_coverage_promised_to_all_is_not_kept_in_each_group():
    assert not kept(aside=True).all()


def test_groups_survive_the_discounting_of_strangers():
    X, y, _ = wards(600, 1)
    forest = RandomForestClassifier(20, decision=Coverage(0.9, groups="ward"), random_state=0).fit(X, y)
    plain = forest.predict_set(X)
    ordinary = forest.predict_novelty(X) > 0.01
    assert ordinary.any()
    np.testing.assert_array_equal(forest.set_params(novelty=0.01).predict_set(X)[ordinary], plain[ordinary])


def test_groups_of_a_wide_table_are_read_although_no_tree_uses_their_column():
    X, y, _ = wards(400, 1, n_columns=70)
    forest = RandomForestClassifier(3, max_depth=1, random_state=0, decision=Coverage(0.8, groups="ward")).fit(X, y)
    assert 70 not in forest.forest_.used_features
    sets = forest.predict_set(X)
    np.testing.assert_array_equal(sets, forest.set_params(decision__groups=70).predict_set(X))
    by_hand = forest.decision.calibrate(forest.oob_evidence_.as_forest().combine(), y)
    assert by_hand.groups_ == ["a", "b", "c"]
    both = RandomForestClassifier(3, max_depth=1, random_state=0, decision=Coverage(0.8, groups="ward"))
    both.fit(X, np.column_stack([y, y]))
    np.testing.assert_array_equal(both.predict_set(X)[0], both.predict_set(X)[1])


def test_new_categories_and_missing_values_have_the_threshold_of_all_if_no_row_had_any():
    X, y, _ = wards(600, 1)
    forest = RandomForestClassifier(30, random_state=0, decision=Coverage(0.9, groups="ward")).fit(X, y)
    sets = {}
    for value in ("elsewhere", None):
        sets[value] = forest.predict_set(X.assign(ward=pd.Categorical([value] * len(X))))
        plain = forest.set_params(decision__groups=None)
        np.testing.assert_array_equal(plain.predict_set(X.assign(ward=pd.Categorical([value] * len(X)))), sets[value])
        forest.set_params(decision__groups="ward")


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        ("wrd", "groups must be the name or index of one of the 4 columns"),
        (4, "groups must be the name or index of one of the 4 columns"),
        (-1, "groups must be the name or index of one of the 4 columns"),
        (True, "groups must be the name or index of one of the 4 columns"),
        ("x0", "groups must name a column with at most 100 distinct values, got 'x0' with 300"),
    ],
)
def test_groups_that_are_no_column_or_too_many_are_refused(groups, words):
    X, y, _ = wards(300, 1)
    forest = RandomForestClassifier(5, decision=Coverage(0.9, groups=groups))
    with pytest.raises(ValueError, match=words):
        forest.fit(X, y)
    assert not hasattr(forest, "classes_")


def test_tune_tries_groups_and_explanations_and_reports_do_not_support_them():
    X, y, _ = wards(600, 1)
    forest = RandomForestClassifier(30, random_state=0).fit(X, y)
    forest.tune("u65", {"decision": [Coverage(0.9, groups="ward"), Coverage(0.9)]})
    assert len(forest.tuning_) == 2
    forest.set_params(decision=Coverage(0.9, groups="ward"))
    with pytest.raises(ValueError, match="decision must have one threshold for all samples"):
        forest.explain(X[:1])
    decided = forest.predict_set(X).sum(axis=1) == 1
    with pytest.raises(ValueError, match="decision must have one threshold for all samples"):
        forest.report(X[decided], y[decided])  # also if there is nothing to explain
