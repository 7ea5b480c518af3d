"""`drift`: uniform when nothing has changed, small when something has, and about the right features."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kstest

from hedgerow import ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor
from hedgerow.inference.drift import Drift

SMALL = {"n_estimators": 5, "max_depth": 3}


def rows(n_rows: int, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    X = random.normal(size=(n_rows, 3))
    return X, (X[:, 0] + X[:, 1] + random.normal(size=n_rows) > 0).astype(int)


def assert_uniform(p_values: list[float], n_permutations: int) -> None:
    """Between two values of the grid every number is as probable."""
    steps = np.random.default_rng(0).random(len(p_values)) / (n_permutations + 1)
    assert kstest(np.array(p_values) - steps, "uniform").pvalue > 0.01


@pytest.mark.parametrize("kind", [RandomForestClassifier, RandomForestRegressor])
def test_without_drift_p_values_are_uniform(kind: type) -> None:
    """Of forests that have seen the old rows, each row in the trees that have not."""
    random = np.random.default_rng(1)
    found = []
    for repetition in range(150):
        X, y = rows(160, random)
        forest = kind(**SMALL, random_state=repetition).fit(X[:100], y[:100])
        found.append(forest.drift(X[100:], y[100:], n_permutations=39, random_state=repetition))
    assert_uniform([drift.p_value for drift in found], 39)
    assert_uniform([drift.traffic_p_value for drift in found], 39)
    assert_uniform([drift.label_p_value or 0.0 for drift in found], 39)
    assert np.mean([min(each.p_value for each in drift.features) <= 0.1 for drift in found]) < 0.2
    assert np.mean([min(each.p_value for each in drift.leaves) <= 0.1 for drift in found]) < 0.2


def test_without_drift_p_values_are_uniform_against_a_reference() -> None:
    random = np.random.default_rng(2)
    forest = ExtraTreesClassifier(**SMALL, random_state=0).fit(*rows(100, random))
    found = []
    for repetition in range(200):
        old, new = rows(60, random), rows(60, random)
        drift = forest.drift(*new, reference=old, n_permutations=39, random_state=repetition)
        found.append(drift.p_value)
    assert_uniform(found, 39)


def test_rows_that_moved_are_found_and_the_feature_is_named() -> None:
    random = np.random.default_rng(3)
    X, y = rows(600, random)
    frame = pd.DataFrame(X, columns=["age", "height", "noise"])
    forest = RandomForestClassifier(30, random_state=0).fit(frame[:400], y[:400])
    moved = frame[400:].assign(height=frame["height"][400:] + 0.7)
    drift = forest.drift(moved)
    assert drift.p_value == drift.traffic_p_value == 1 / 200
    assert drift.label_p_value is None
    assert drift.features[0].name == "height"
    assert drift.features[0].p_value == 1 / 200
    assert sum(each.share for each in drift.features) == pytest.approx(1)
    leaf = forest.drift(moved, min_rows=100).leaves[0]  # large leaves change by more than chance
    assert leaf.p_value <= 0.05
    assert "height" in leaf.where
    assert forest.drift(frame[400:]).p_value > 0.05


def test_labels_that_changed_are_found_where_rows_did_not_move() -> None:
    random = np.random.default_rng(4)
    X, y = rows(600, random)
    forest = RandomForestClassifier(30, random_state=0, min_samples_leaf=10).fit(X[:400], y[:400])
    drift = forest.drift(X[400:], 1 - y[400:])
    assert drift.label_p_value == 1 / 200
    assert drift.p_value == 1 / 200
    assert drift.traffic_p_value > 0.05
    assert {leaf.label for leaf in drift.leaves} == {0, 1}


def test_targets_that_changed_are_found() -> None:
    random = np.random.default_rng(5)
    X = random.normal(size=(600, 3))
    y = X[:, 0] + 0.5 * random.normal(size=600)
    forest = RandomForestRegressor(20, random_state=0).fit(X[:400], y[:400])
    assert forest.drift(X[400:], y[400:]).label_p_value > 0.05  # type: ignore[operator]
    drift = forest.drift(X[400:], y[400:] + 0.5)
    assert drift.label_p_value == 1 / 200
    assert drift.traffic_p_value > 0.05


def test_the_statistic_of_the_leaves_is_that_of_the_splits() -> None:
    """G by definition, on the leaves of one tree, against the sum over features."""
    from hedgerow.inference.drift import DriftSample, _branches, _pool, _relabelled, _Totals

    random = np.random.default_rng(6)
    X, y = rows(300, random)
    tree = ExtraTreesClassifier(1, random_state=0).fit(X[:200], y[:200])
    old, new = (DriftSample(tree.apply(part), None, None) for part in (X[:150], X[150:] + 0.3))
    pooled, relabelled = _pool(old, new), _relabelled(150, 150, 5, 0)
    branches = _branches(tree.trees_[0], pooled.nodes[:, 0].astype(np.int64), 1)
    totals = _Totals(3, 6)
    totals.add(0, tree.trees_[0], branches, relabelled, None, None)
    for column in range(6):
        is_new = relabelled[:, column] > 0
        expected = 0.0
        for leaf in np.unique(pooled.nodes):
            here = pooled.nodes[:, 0] == leaf
            for group in (is_new, ~is_new):
                n = (here & group).sum()
                expected += 2 * n * np.log(n / (here.sum() * group.mean())) if n else 0.0
        assert totals._traffic[:, column].sum() == pytest.approx(expected)


def test_the_report_is_a_few_lines_for_a_person() -> None:
    random = np.random.default_rng(7)
    X, y = rows(300, random)
    drift = RandomForestClassifier(10, random_state=0).fit(X[:200], y[:200]).drift(X[200:], y[200:])
    lines = str(drift).splitlines()
    assert lines[0].startswith("100 new rows compared with 200 old rows: p = 0.")
    assert any("x[0]" in line and "% of the difference" in line for line in lines)
    assert max(map(len, lines)) < 250


def test_forests_that_cannot_know_old_rows_ask_for_a_reference() -> None:
    random = np.random.default_rng(8)
    X, y = rows(200, random)
    forest = ExtraTreesClassifier(5, random_state=0).fit(X[:100], y[:100])
    with pytest.raises(ValueError, match="drift requires out-of-bag rows or a reference"):
        forest.drift(X[100:])
    with pytest.raises(ValueError, match=r"reference must be a pair \(X, y\) if y is given"):
        forest.drift(X[100:], y[100:], reference=X[:50])
    assert isinstance(forest.drift(X[150:], reference=X[100:150]), Drift)
    assert isinstance(forest.drift(X[150:], reference=(X[100:150], y[100:150])), Drift)
    with pytest.raises(ValueError, match="min_rows must be an int >= 1, got 0"):
        forest.drift(X[150:], reference=X[100:150], min_rows=0)


def test_many_rows_are_looked_at_by_a_spread_sample() -> None:
    random = np.random.default_rng(9)
    X, y = rows(1000, random)
    forest = RandomForestClassifier(3, random_state=0, max_depth=3).fit(X, y)
    many = np.repeat(X, 30, axis=0)
    assert forest.drift(many, n_permutations=9).n_new == 20_000


def test_drift_is_looked_for_among_all_rows_seen() -> None:
    random = np.random.default_rng(10)
    X, y = rows(400, random)
    forest = RandomForestClassifier(10, random_state=0).fit(X[:200], y[:200]).partial_fit(X[200:300], y[200:300])
    assert forest.drift(X[300:], y[300:]).n_old == 300


def test_a_class_that_is_new_is_drift() -> None:
    random = np.random.default_rng(11)
    X, y = rows(400, random)
    names = np.array(["cat", "dog"])[y]
    forest = RandomForestClassifier(10, random_state=0).fit(X[:300], names[:300])
    names[300:350] = "fox"
    drift = forest.drift(X[300:], names[300:])
    assert drift.label_p_value == 1 / 200
    assert drift.leaves[0].label == "fox"
