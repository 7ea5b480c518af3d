"""Survival: curves of leaves, log-rank splits, bounds, files and reports, against brute force and worked numbers."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hedgerow
from hedgerow import RandomSurvivalForest
from hedgerow.metrics.survival import read_survival
from hedgerow.tasks.survival.predictor import kaplan_meier, nelson_aalen, survival_bounds
from hedgerow.tasks.survival.target import read_survival_target

#: Times 1, 2+, 3, 4+, 5 on the grid of their event times 1, 3, 5: cells of twice the time number, plus the event.
WORKED = np.array([[0, 0, 1, 1, 1, 1, 0, 1]])


def table(n: int = 300, seed: int = 0) -> tuple[Any, Any]:
    """Times that depend on the first feature; some rows are censored earlier."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    times, ends = rng.exponential(np.exp(X[:, 0])), rng.exponential(3.0, n)
    return X, np.column_stack([np.minimum(times, ends), times <= ends])


def test_the_worked_example_of_kaplan_and_meier() -> None:
    read = read_survival_target(np.array([[1, 1], [2, 0], [3, 1], [4, 0], [5, 1.0]]), None, 5)
    assert read.target.labels.tolist() == [3, 2, 5, 4, 7]
    counts = np.bincount(read.target.labels, minlength=8)[None]
    assert np.allclose(kaplan_meier(counts), [[1, 0.8, 0.8 * 2 / 3, 0]])
    assert np.allclose(nelson_aalen(counts), [[0, 0.2, 0.2 + 1 / 3, 0.2 + 1 / 3 + 1]])


def test_bounds_are_those_of_the_imprecise_dirichlet_process() -> None:
    """Upper curve as in Mangili et al.; the lower one holds until the next event time, so it is that of 2, 4 and 5."""
    lower, upper = survival_bounds(WORKED, 1.0)
    assert np.allclose(upper, [[1, 0.8333, 0.625, 0.3125]], atol=1e-4)
    assert np.allclose(lower, [[0.8333, 0.625, 0.3125, 0]], atol=1e-4)


@given(st.lists(st.integers(0, 5), min_size=8, max_size=8), st.floats(0.1, 9), st.floats(0.1, 9))
@settings(max_examples=60, deadline=None)
def test_bounds_hold_the_estimate_and_widen_with_caution(cells: list[int], caution: float, more: float) -> None:
    counts = np.array([cells]) * (np.arange(8) != 1)  # nothing happens before the first event
    (lower, upper), (wider_lower, wider_upper) = (survival_bounds(counts, each) for each in (caution, caution + more))
    curve = kaplan_meier(counts)
    assert (lower <= curve + 1e-12).all()
    assert (curve <= upper + 1e-12).all()
    assert (wider_lower <= lower + 1e-12).all()
    assert (upper <= wider_upper + 1e-12).all()
    assert (np.diff(curve) <= 1e-12).all()


def test_without_censoring_bounds_are_those_of_classes() -> None:
    counts = np.array([[0, 0, 0, 2, 0, 1, 0, 3]])  # two, one and three events
    lower, upper = survival_bounds(counts, 2.0)
    alive = np.array([6, 4, 3, 0])
    assert np.allclose(lower, [alive / 8])
    assert np.allclose(upper, [(alive + 2) / 8])


@pytest.mark.parametrize("weighted", [False, True])
def test_the_root_is_split_where_the_log_rank_statistic_is_largest(weighted: bool) -> None:
    X, y = table(60, seed=3)
    X = X.round(1)
    weights = np.random.default_rng(1).integers(1, 4, 60).astype(float) if weighted else None
    forest = RandomSurvivalForest(
        1, max_depth=1, min_samples_leaf=5, max_features=None, bootstrap=False, random_state=0
    ).fit(X, y, weights)
    leaves = forest.apply(X)[:, 0]
    found = log_rank(leaves == leaves.min(), y, weights)
    others = [
        log_rank(left, y, weights)
        for column in X.T
        for left in (column <= value for value in np.unique(column)[:-1])
        if 5 <= left.sum() <= 55
    ]
    assert found == pytest.approx(max(others))


def test_curves_are_the_mean_of_the_curves_of_leaves() -> None:
    X, y = table()
    forest = RandomSurvivalForest(7, random_state=0).fit(X, y)
    leaves = forest.apply(X[:5])
    counts = [[tree.counts[leaf] for tree, leaf in zip(forest.trees_, row, strict=True)] for row in leaves]
    expected = np.array([kaplan_meier(np.array(each)).mean(axis=0)[1:] for each in counts])
    assert np.allclose(forest.predict_survival_function(X[:5]), expected)
    assert np.array_equal(forest.predict_survival_function(X)[:5], forest.predict_survival_function(X[:5]))


def test_a_forest_ranks_new_rows_and_says_so_out_of_bag() -> None:
    forest = RandomSurvivalForest(60, oob_score=True, random_state=0).fit(*table(600))
    assert forest.score(*table(400, seed=1)) > 0.68
    assert forest.oob_score_ == pytest.approx(forest.score(*table(2000, seed=2)), abs=0.03)
    noise = np.random.default_rng(0).permutation(600)
    X, y = table(600)
    blind = RandomSurvivalForest(60, oob_score=True, random_state=0).fit(X, y[noise])
    assert blind.oob_score_ == pytest.approx(0.5, abs=0.05)


def test_concordance_by_brute_force() -> None:
    rng = np.random.default_rng(0)
    times, events, risk = (
        rng.integers(1, 6, 40).astype(float),
        rng.random(40) < 0.6,
        rng.integers(0, 5, 40).astype(float),
    )
    right = pairs = 0.0
    for i in range(40):
        for j in range(40):
            if events[i] and (times[i] < times[j] or (times[i] == times[j] and not events[j])):
                pairs += 1
                right += 1.0 * (risk[i] > risk[j]) + 0.5 * (risk[i] == risk[j])
    assert hedgerow.metrics.harrell_c((times, events), risk) == pytest.approx(right / pairs)


def test_y_may_come_in_several_forms() -> None:
    pd = pytest.importorskip("pandas")
    _, y = table(50)
    events = y[:, 1] > 0
    structured = np.array(list(zip(events, y[:, 0], strict=True)), dtype=[("event", bool), ("time", float)])
    for form in (structured, pd.DataFrame({"died": events, "days": y[:, 0]}), (y[:, 0], events), y):
        times, found = read_survival(form, 50)
        assert np.array_equal(times, y[:, 0])
        assert np.array_equal(found, events)


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (np.ones((3, 3)), "two columns"),
        (np.array([[1.0, 2], [2, 0], [3, 1]]), "True or 1"),
        (np.array([[1.0, 0], [2, 0], [3, 0]]), "at least one event"),
        (np.array([[np.nan, 1], [2, 0], [3, 1]]), "finite and >= 0"),
        (np.array([[1.0, 1], [2, 0]]), "same number of rows"),
    ],
)
def test_a_wrong_y_is_refused(y: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        RandomSurvivalForest(2).fit(np.zeros((3, 1)), y)


def test_a_file_keeps_the_forest_and_rows_can_be_added() -> None:
    X, y = table()
    forest, file = RandomSurvivalForest(5, random_state=0).fit(X, y), io.BytesIO()
    hedgerow.save(forest, file)
    loaded = hedgerow.load(io.BytesIO(file.getvalue()))
    assert np.array_equal(loaded.predict_bounds(X), forest.predict_bounds(X))
    before = forest.predict(X[:1])
    assert forest.partial_fit(np.repeat(X[:1], 50, axis=0), np.tile([[1e-3, 1]], (50, 1))).predict(X[:1]) > before
    with pytest.raises(ValueError, match="same event times"):
        hedgerow.merge(loaded, RandomSurvivalForest(5, random_state=0).fit(*table(seed=1)))


def test_times_end_with_the_last_event() -> None:
    X, y = table()
    forest = RandomSurvivalForest(5, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="times must be at most"):
        forest.predict_survival_function(X, times=[forest.event_times_[-1] + 1])
    assert (forest.predict_survival_function(X, times=[0.0]) == 1).all()


def test_a_report_has_curves_and_the_concordance_index(tmp_path: Path) -> None:
    X, y = table()
    report = RandomSurvivalForest(10, random_state=0).fit(X, y).report(X[:50], y[:50])
    assert "Survival by risk group" in report.html
    assert 0.5 < float(report.figures["concordance"]) < 1


def log_rank(left: Any, y: Any, weights: Any) -> float:
    """U² / V from its definition."""
    times, events = y[:, 0], y[:, 1] > 0
    weight = np.ones(len(y)) if weights is None else weights
    difference = variance = 0.0
    for time in np.unique(times[events]):
        at_risk, dies = times >= time, (times == time) & events
        n, n_left = weight[at_risk].sum(), weight[at_risk & left].sum()
        d, d_left = weight[dies].sum(), weight[dies & left].sum()
        difference += d_left - n_left * d / n
        if n > 1:
            variance += d * (n - d) * n_left * (n - n_left) / (n**2 * (n - 1))
    return float(difference**2 / variance) if variance > 0 else 0.0
