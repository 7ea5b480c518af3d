"""Survival: curves of leaves, log-rank splits, bounds, files and reports, against brute force and worked numbers."""

from __future__ import annotations

import io
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta
from sklearn.inspection import permutation_importance
from tests.reference import survival as twin

import hedgerow
from hedgerow import ExtraSurvivalTrees, RandomSurvivalForest, SurvivalTree
from hedgerow.decisions import Coverage, Risk
from hedgerow.decisions.risk import lowest_threshold
from hedgerow.explain import debiased_importance, importance_test, oob_permutation_importance
from hedgerow.forest.class_counts import ClassCounts
from hedgerow.inference.fitted import fitted_of
from hedgerow.inference.predictor import predictor_of
from hedgerow.metrics.survival import read_rows, read_survival
from hedgerow.tasks.survival.curves import DEPTHS, LEAF_ONLY, AtRisk, LeafCurves, Wanted
from hedgerow.tasks.survival.curves import kaplan_meier as kaplan_meier_of_nodes
from hedgerow.tasks.survival.oob import OobCurves, dead_at, low_risk_threshold, lower_limit, lowest_on_simplex
from hedgerow.tasks.survival.target import SurvivalInfo, read_survival_target

#: Times 1, 2+, 3, 4+, 5 on the grid of their event times 1, 3, 5: cells of twice the time number, plus the event.
WORKED = np.array([[0, 0, 1, 1, 1, 1, 0, 1]])


def curves_of(counts: Any, kind: str, caution: float = 0.0, info: Any = None) -> Any:
    """Curves of leaves with given cells (m, K), by the compiled core, each as a tree of one leaf."""
    info = SurvivalInfo.of(np.arange(1.0, counts.shape[1] // 2)) if info is None else info
    tree = SurvivalTree().fit(np.zeros((2, 1)), ([1.0, 2.0], [1, 1]))
    found = []
    for row in counts:
        forest = replace(fitted_of(tree).forest, evidence=ClassCounts.of_tables(row[None], None))
        curves = LeafCurves(forest, info).mean(np.zeros((1, 1), dtype=np.uint8), Wanted(kind, caution=caution))
        found.append(curves[0].reshape(-1, len(info.times) + 1))
    return np.stack(found, axis=1)  # (pieces, m, J + 1)


def kaplan_meier(counts: Any) -> Any:
    """Kaplan–Meier curves of leaves, (m, J + 1)."""
    return curves_of(counts, "survival")[0]


def nelson_aalen(counts: Any) -> Any:
    """Nelson–Aalen curves of leaves, (m, J + 1)."""
    return curves_of(counts, "hazard")[0]


def survival_bounds(counts: Any, caution: float) -> Any:
    """Lower and upper curves of leaves, (2, m, J + 1)."""
    return curves_of(counts, "bounds", caution)


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
    leaves, pair = forest.apply(X)[:, 0], (y[:, 0], y[:, 1] > 0)
    found = twin.log_rank(leaves == leaves.min(), *pair, weights)
    others = [
        twin.log_rank(left, *pair, weights)
        for column in X.T
        for left in (column <= value for value in np.unique(column)[:-1])
        if 5 <= left.sum() <= 55
    ]
    assert found == pytest.approx(max(others))


def ancestor_counts(tree: Any, node: int, least: int) -> Any:
    """Cells of the smallest node above a leaf with enough rows; of the leaf for 0."""
    inner = np.flatnonzero(tree.children_left >= 0)
    parents = {int(child): at for at in inner for child in (tree.children_left[at], tree.children_right[at])}
    while tree.counts[node].sum() < least and node in parents:
        node = parents[node]
    return tree.counts[node]


@pytest.mark.parametrize("calibration", [None, "oob"])
def test_curves_are_means_over_trees_and_depths(calibration: str | None) -> None:
    X, y = table()
    forest = RandomSurvivalForest(7, calibration=calibration, random_state=0).fit(X, y)
    predictor = predictor_of(forest)
    weights = LEAF_ONLY if calibration is None else predictor.calibrator().weights
    leaves, info, expected = forest.apply(X[:5]), predictor.info, 0.0
    for weight, least in zip(weights, DEPTHS, strict=True):
        counts = [[ancestor_counts(*each, least) for each in zip(forest.trees_, row, strict=True)] for row in leaves]
        expected += weight * np.array([kaplan_meier_of_nodes(np.array(each), info).mean(axis=0) for each in counts])
    found = forest.predict_survival_function(X[:5])
    assert np.allclose(found, predictor.calibrator()(expected[:, 1:]) if calibration else expected[:, 1:])
    assert np.array_equal(found, forest.predict_survival_function(X)[:5])
    assert np.array_equal(found, forest.set_params(n_jobs=2).predict_survival_function(X)[:5])


@pytest.mark.parametrize(("leaf_counts", "weighted"), [("all", False), ("inbag", False), ("all", True)])
def test_out_of_bag_curves_are_those_of_other_trees_without_the_row(leaf_counts: str, weighted: bool) -> None:
    X, y = table(60)
    weights = np.random.default_rng(0).integers(1, 4, 60) if weighted else None
    forest = RandomSurvivalForest(6, leaf_counts=leaf_counts, calibration=None, random_state=0).fit(X, y, weights)
    fitted = fitted_of(forest)
    rows, info, chosen = fitted.rows, fitted.info, np.arange(0, 60, 3)
    found = LeafCurves(fitted.forest, info).out_of_bag(rows, chosen, Wanted())
    leaves, outside = forest.apply(X), rows.bags.oob_each(6, chosen)
    for place, row in enumerate(chosen):
        each = []
        for tree in np.flatnonzero(outside[place]):
            at = fitted.forest.leaf_start[tree] + fitted.forest.leaves(rows.codes[:, [row]])[0, tree]
            if leaf_counts == "all":
                counts = fitted.forest.evidence.read_without(np.array([at]), rows.target.labels[[row]])
            else:
                counts = fitted.forest.evidence.read(np.array([at]))
            each.append(kaplan_meier_of_nodes(counts, info)[0])
        assert np.allclose(found[place], np.mean(each, axis=0)) if each else np.isnan(found[place]).all()
    assert leaves.shape == (60, 6)


def test_weights_on_the_simplex_are_the_lowest() -> None:
    rng = np.random.default_rng(0)
    grid = np.array([(a, b, 20 - a - b) for a in range(21) for b in range(21 - a)]) / 20
    for _ in range(20):
        root, linear = rng.normal(size=(3, 3)), rng.normal(size=3)
        square = root @ root.T
        weights = np.array(lowest_on_simplex(square, linear))
        values = np.einsum("na,ab,nb->n", grid, square, grid) - 2 * grid @ linear
        assert weights.sum() == 1
        assert (weights >= 0).all()
        assert weights @ square @ weights - 2 * linear @ weights <= values.min() + 1e-9


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
        (np.ones((3, 4)), "two columns"),
        (np.ones((3, 3)), "entry must be less"),
        (np.array([[1.0, 1, np.nan], [2, 0, 0], [3, 1, 0]]), "entry must be less"),
        (np.array([[1.0, -1], [2, 0], [3, 1]]), "True or 1"),
        (np.array([[1.0, 0.5], [2, 0], [3, 1]]), "True or 1"),
        (np.array([[1.0, 99], [2, 0], [3, 1]]), "True or 1"),
        (np.array([[1.0, 0], [2, 0], [3, 0]]), "at least one event"),
        (np.array([[np.nan, 1], [2, 0], [3, 1]]), "finite and >= 0"),
        (np.array([[1.0, 1], [2, 0]]), "same number of rows"),
    ],
)
def test_a_wrong_y_is_refused(y: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        RandomSurvivalForest(2).fit(np.zeros((3, 1)), y)


# ---- estimates and bounds of leaves ----------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_leaves_have_the_estimates_of_their_definitions(seed: int) -> None:
    """On a grid that has every time, as `cells_of` makes it."""
    times, events = few_times(seed)
    counts, grid = cells_of(times, events)
    assert np.allclose(kaplan_meier(counts)[0, 1:], twin.kaplan_meier(times, events, grid), rtol=0, atol=1e-12)
    assert np.allclose(nelson_aalen(counts)[0, 1:], twin.nelson_aalen(times, events, grid), rtol=0, atol=1e-12)
    for caution in (0.5, 1.0, 2.0):
        found = np.array(survival_bounds(counts, caution))[:, 0, 1:]
        assert np.allclose(found, twin.bounds(times, events, caution, grid), rtol=0, atol=1e-12)


def test_leaves_have_the_estimates_of_lifelines() -> None:
    lifelines = pytest.importorskip("lifelines", reason="lifelines is not installed")
    times, events = few_times(5)
    counts, grid = cells_of(times, events)
    known = lifelines.KaplanMeierFitter().fit(times, events).predict(grid).to_numpy()
    assert np.allclose(kaplan_meier(counts)[0, 1:], known, rtol=0, atol=1e-9)
    known = lifelines.NelsonAalenFitter(nelson_aalen_smoothing=False).fit(times, events).predict(grid).to_numpy()
    assert np.allclose(nelson_aalen(counts)[0, 1:], known, rtol=0, atol=1e-9)


def test_the_worked_bounds_at_every_time() -> None:
    """Times 1, 2+, 3, 4+, 5 with s = 1, as published for nonparametric predictive inference too."""
    counts, _ = cells_of(np.arange(1.0, 6), np.array([True, False, True, False, True]))
    lower, upper = survival_bounds(counts, 1.0)
    assert np.allclose(upper, [[1, 0.8333, 0.8333, 0.625, 0.625, 0.3125]], atol=1e-4)
    assert np.allclose(lower, [[0.8333, 0.6667, 0.625, 0.4167, 0.3125, 0]], atol=1e-4)


def test_bounds_are_the_extremes_of_the_posteriors_of_all_priors() -> None:
    """The upper curve is the posterior mean if the prior lies on later times, the lower one if it lies on earlier."""
    times, events = np.array([1.0, 2, 2, 3]), np.array([True, False, True, True])
    counts, grid = cells_of(times, events)
    found = np.array(survival_bounds(counts, 1.0))[:, 0]
    cells = 2 * len(grid) + 1  # before and at each grid time, and beyond
    data = [
        [2 * int(np.searchsorted(grid, time)) + 1]
        if seen
        else [c for c in range(cells) if c > 2 * grid.searchsorted(time) + 1]
        for time, seen in zip(times, events, strict=True)
    ]
    means = np.array(
        [twin.posterior_mean(cells, np.where(np.arange(cells) == cell, 1.0, 1e-12), data) for cell in range(cells)]
    )
    for column in range(len(grid) + 1):
        alive = means[:, 2 * column :].sum(axis=1)
        assert alive.max() == pytest.approx(found[1, column], abs=1e-9)
        alive = means[:, 2 * column + 1 :].sum(axis=1)  # just before the next time
        assert alive.min() == pytest.approx(found[0, column], abs=1e-9)


def test_little_caution_gives_kaplan_and_meier() -> None:
    times, events = few_times(1)
    counts, grid = cells_of(times, events)
    lower, upper = (each[0, 1:] for each in survival_bounds(counts, 1e-10))
    alive = twin.rows_after(times, grid) > 0
    assert np.allclose(lower[alive], upper[alive])
    assert np.allclose(upper[alive], twin.kaplan_meier(times, events, grid)[alive])


# ---- predictions -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fitted() -> Any:
    """A calibrated forest, and new rows."""
    X, y = table(400)
    return RandomSurvivalForest(30, oob_score=True, random_state=0).fit(X, y), table(100, seed=1)[0]


def test_quantiles_are_where_curves_cross(fitted: Any) -> None:
    forest, X = fitted
    grid, curves = forest.event_times_, forest.predict_survival_function(X)
    median, (early, late) = forest.predict_quantile(X), forest.predict_quantile(X, [0.1, 0.9]).T
    for row in range(len(X)):
        reached = grid[curves[row] <= 0.5 + 1e-12]
        assert median[row] == (reached[0] if len(reached) else np.inf)
    assert (early <= median).all()
    assert (median <= late).all()
    with pytest.raises(ValueError, match="between 0 and 1"):
        forest.predict_quantile(X, 1.5)


def test_restricted_means_are_areas_under_curves(fitted: Any) -> None:
    forest, X = fitted
    grid = np.linspace(0, 2, 20_001)
    area = forest.predict_survival_function(X[:5], grid)[:, :-1].mean(axis=1) * 2
    assert np.allclose(forest.predict_rmst(X[:5], 2.0), area, atol=1e-3)
    lower, upper = forest.predict_rmst(X, 2.0, bounds=True).T
    assert (lower <= forest.predict_rmst(X, 2.0)).all()
    assert (forest.predict_rmst(X, 2.0) <= upper).all()
    with pytest.raises(ValueError, match="horizon must be"):
        forest.predict_rmst(X, 1e9)


def test_bounds_contain_calibrated_curves(fitted: Any) -> None:
    forest, X = fitted
    assert forest.calibrated_
    curves, bounds = forest.predict_survival_function(X), forest.predict_bounds(X)
    assert (bounds[:, :, 0] <= curves + 1e-12).all()
    assert (curves <= bounds[:, :, 1] + 1e-12).all()
    assert (np.diff(curves, axis=1) <= 1e-12).all()


def test_calibration_keeps_the_order_and_makes_survival_uniform() -> None:
    """Tiny leaves are too sure; calibrated curves pass the test of D-calibration on new rows more easily."""
    (X, y), (fresh, truth) = table(800), table(800, seed=1)
    forest = RandomSurvivalForest(40, min_samples_leaf=2, random_state=0).fit(X, y)
    times = np.minimum(truth[:, 0], forest.event_times_[-1])

    def statistic() -> float:
        curves = forest.predict_survival_function(fresh, np.sort(times))
        own = curves[np.arange(800), np.searchsorted(np.sort(times), times)]
        return float(hedgerow.metrics.d_calibration(truth, own.clip(0, 1)).statistic)

    calibrated = statistic()
    raw = np.linspace(0, 1, 99)
    assert (np.diff(predictor_of(forest).calibrator()(raw)) >= 0).all()
    forest.set_params(calibration=None)
    assert not forest.calibrated_
    assert calibrated < 0.75 * statistic()


def test_lower_bounds_cover(fitted: Any) -> None:
    """Times of new rows before censoring; the bound must be of some use too."""
    forest, _ = fitted
    rng = np.random.default_rng(7)
    X = rng.normal(size=(4000, 3))
    times = rng.exponential(np.exp(X[:, 0]))
    for coverage in (0.8, 0.9):
        bound = forest.predict_lower(X, coverage)
        assert (times >= bound).mean() == pytest.approx(coverage, abs=0.04)
    assert np.corrcoef(bound, X[:, 0])[0, 1] > 0.5
    with pytest.raises(ValueError, match="out-of-bag rows"):
        RandomSurvivalForest(3, bootstrap=False, random_state=0).fit(*table()).predict_lower(X)


def test_without_censoring_the_lower_limit_is_that_of_clopper_and_pearson() -> None:
    rng = np.random.default_rng(0)
    for n in (40, 300):
        times = rng.exponential(size=n)
        alive = int((times > 0.2).sum())
        found = lower_limit(times, np.ones(n, dtype=bool), 0.2, 0.05)
        assert found == pytest.approx(beta.ppf(0.05, alive, n - alive + 1), abs=1e-9)
    assert lower_limit(times, np.ones(n, dtype=bool), 99.0, 0.05) == 0


def test_the_lower_limit_of_censored_rows_is_kept() -> None:
    """Survival at 0.5 is exp(-0.5); a limit of level 0.05 exceeds it in about 5% of samples (Fay et al. 2013)."""
    rng, above = np.random.default_rng(1), 0
    for _ in range(600):
        times, ends = rng.exponential(size=100), rng.exponential(size=100)
        above += lower_limit(np.minimum(times, ends), times <= ends, 0.5, 0.05) > np.exp(-0.5)
    assert 0 < above / 600 <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 600)


def test_without_censoring_low_risk_is_that_of_classes() -> None:
    rng = np.random.default_rng(0)
    survival = rng.random(1500)
    times = np.where(rng.random(1500) < survival, 2.0, 0.5)
    risk = Risk(0.2, 0.9)
    found = low_risk_threshold(survival, times, np.ones(1500, dtype=bool), 1.0, risk)
    assert found == lowest_threshold(survival, times < 1, 0.2, 0.9) < 1


def test_rows_of_low_risk_rarely_have_the_event(fitted: Any) -> None:
    X, y = table(1500)
    forest = RandomSurvivalForest(40, random_state=0).fit(X, y)
    rng = np.random.default_rng(3)
    fresh = rng.normal(size=(4000, 3))
    sets = forest.predict_set(fresh, 0.3, decision=Risk(0.15, 0.9))
    low = ~sets[:, 0]
    assert sets[:, 1].all()
    assert low.mean() > 0.1
    assert (rng.exponential(np.exp(fresh[:, 0]))[low] <= 0.3).mean() < 0.17
    with pytest.warns(UserWarning, match="No threshold"):
        assert forest.predict_set(fresh, 2.0, decision=Risk(0.001, 0.9)).all()
    late = RandomSurvivalForest(5, random_state=0).fit(X, y, entry=np.where(np.arange(1500) < 50, 0, y[:, 0] / 2))
    with pytest.raises(ValueError, match="late entry"):
        late.predict_set(fresh, 0.3, decision=Risk())
    with pytest.raises(TypeError, match="must be a Risk or None"):
        forest.predict_set(fresh, 0.3, decision=Coverage(0.9))


def test_uncertainty_at_a_time_adds_up(fitted: Any) -> None:
    forest, X = fitted
    found = forest.predict_uncertainty(X, 1.0)
    assert np.allclose(found.total, found.aleatoric + found.epistemic)
    assert (found.epistemic >= 0).all()
    lower, upper = forest.predict_bounds(X, [1.0])[:, 0].T
    assert np.allclose(found.vacuity, upper - lower)


def test_sets_at_a_horizon_follow_the_bounds(fitted: Any) -> None:
    forest, X = fitted
    sets, bounds = forest.predict_set(X, 1.0), forest.predict_bounds(X, [1.0])[:, 0]
    assert sets.any(axis=1).all()
    assert np.array_equal(sets.all(axis=1), (bounds[:, 0] <= 0.5) & (bounds[:, 1] >= 0.5))
    assert {True, False} == set(sets.all(axis=1).tolist())


# ---- growth ----------------------------------------------------------------------------------------


def test_the_leaf_size_is_chosen_out_of_bag() -> None:
    """A steep signal wants small leaves, and noise large ones; a warm start keeps the choice."""
    rng = np.random.default_rng(0)
    X, events = rng.normal(size=(300, 2)), np.ones(300, dtype=bool)
    steep = RandomSurvivalForest(5, min_samples_leaf="oob", random_state=0).fit(X, (np.exp(3 * X[:, 0]), events))
    noise = RandomSurvivalForest(5, min_samples_leaf="oob", warm_start=True, random_state=0)
    noise.fit(X, (rng.exponential(size=300), events))
    assert steep.leaf_size_ < 15 <= noise.leaf_size_
    size = noise.leaf_size_
    assert noise.set_params(n_estimators=7).fit(X, (rng.permutation(X[:, 0]) ** 2, events)).leaf_size_ == size
    with pytest.raises(ValueError, match="requires bootstrap"):
        RandomSurvivalForest(5, min_samples_leaf="oob", bootstrap=False).fit(X, (X[:, 0] ** 2, events))
    with pytest.raises(AttributeError, match="leaf_size_"):
        _ = RandomSurvivalForest(2).fit(X, (X[:, 0] ** 2, events)).leaf_size_


@pytest.mark.parametrize("importance", [debiased_importance, oob_permutation_importance, importance_test])
def test_importances_of_classes_are_not_those_of_times(fitted: Any, importance: Any) -> None:
    with pytest.raises(ValueError, match=r"does not support RandomSurvivalForest\. Use sklearn\.inspection"):
        importance(fitted[0])


def test_permutation_by_scikit_learn_finds_the_feature_of_the_times() -> None:
    (X, y), (X_new, y_new) = table(300), table(150, seed=1)
    forest = RandomSurvivalForest(30, random_state=0).fit(X, y)
    found = permutation_importance(forest, X_new, y_new, n_repeats=3, random_state=0).importances_mean
    assert found.argmax() == 0
    assert found[0] > 0.05


@pytest.mark.parametrize("estimator", [RandomSurvivalForest, ExtraSurvivalTrees])
def test_threads_do_not_change_a_forest(estimator: Any) -> None:
    X, y = table()
    one, two = (estimator(9, n_jobs=n, random_state=0).fit(X, y).predict_bounds(X) for n in (1, 2))
    assert np.array_equal(one, two)


def test_random_thresholds_differ_from_the_best() -> None:
    (X, y), (fresh, truth) = table(600), table(400, seed=1)
    best, random = (each(40, random_state=0).fit(X, y) for each in (RandomSurvivalForest, ExtraSurvivalTrees))
    assert not np.array_equal(best.predict(X), random.predict(X))
    assert random.score(fresh, truth) > 0.68


def test_a_tree_is_a_forest_of_one() -> None:
    X, y = table()
    tree = SurvivalTree(random_state=0).fit(X, y)
    settings = {"bootstrap": False, "calibration": None, "max_features": None, "min_samples_leaf": 15}
    forest = RandomSurvivalForest(1, random_state=0, **settings).fit(X, y)
    assert np.array_equal(tree.predict_bounds(X), forest.predict_bounds(X))
    assert tree.get_n_leaves() == len(np.unique(tree.apply(X)))


def test_nominal_columns_missing_values_and_weights() -> None:
    pd = pytest.importorskip("pandas")
    X, y = table(300)
    frame = pd.DataFrame({"x": X[:, 0], "kind": pd.Categorical(np.where(X[:, 0] > 0, "b", "a")), "z": X[:, 1]})
    frame.loc[::7, "x"] = np.nan
    forest = RandomSurvivalForest(20, random_state=0).fit(frame, y, np.where(X[:, 1] > 0, 2.0, 1.0))
    assert forest.score(frame, y) > 0.65
    twice = RandomSurvivalForest(1, bootstrap=False, random_state=0).fit(frame, y, np.full(300, 2.0))
    once = RandomSurvivalForest(1, bootstrap=False, random_state=0).fit(frame, y)
    assert np.array_equal(twice.apply(frame), once.apply(frame))


@pytest.mark.parametrize("estimator", [SurvivalTree, RandomSurvivalForest])
def test_exports_of_classes_are_refused(estimator: Any) -> None:
    """The shares of cells in a leaf are no prediction."""
    model = estimator(random_state=0).fit(*table(60))
    with pytest.raises(NotImplementedError, match="does not support"):
        hedgerow.export_code(model)


def test_a_file_keeps_what_was_learned_out_of_bag() -> None:
    X, y = table()
    forest = RandomSurvivalForest(8, min_samples_leaf="oob", oob_score=True, random_state=0).fit(X, y)
    file = io.BytesIO()
    hedgerow.save(forest, file)
    for again in (hedgerow.load(io.BytesIO(file.getvalue())), pickle.loads(pickle.dumps(forest))):
        assert np.array_equal(again.predict_survival_function(X), forest.predict_survival_function(X))
        assert np.array_equal(again.predict_lower(X), forest.predict_lower(X))
        assert (again.oob_score_, again.leaf_size_) == (forest.oob_score_, forest.leaf_size_)


def test_levels_of_lower_bounds_are_probabilities() -> None:
    """Weights of depths sum to one only up to rounding, and curves of rows that surely survive begin above one."""
    target = read_survival_target((np.arange(1.0, 61), np.ones(60)), None, 60).target
    weights = (0.1, 0.2, 0.7 + 1e-12)
    dead, _ = dead_at(OobCurves(np.arange(60), np.ones((3, 60, 61))), weights, target)
    assert (dead == 0).all()


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


# ---- late entry and competing causes -----------------------------------------------------------------


def few_rows(seed: int, n: int = 40) -> Any:
    """Times with ties, causes 0, 1 and 2, and entries between the times."""
    rng = np.random.default_rng(seed)
    times = rng.integers(3, 12, n).astype(float)
    return times, rng.integers(0, 3, n), np.maximum(times - rng.integers(1, 10, n) - 0.5, 0)


@pytest.mark.parametrize("seed", range(4))
def test_leaves_have_the_estimates_of_rows_that_enter_late(seed: int) -> None:
    """On a grid of all times, by definition; cells are read by the core and by NumPy."""
    times, causes, entries = few_rows(seed)
    grid = np.unique(times)
    info = SurvivalInfo.of(grid, 2, np.arange(len(grid) + 1, dtype=np.uint16))
    cells = info.cells_of(read_rows((times, causes, entries)))
    counts, caution = np.bincount(cells, minlength=len(info.names))[None], 1.5
    events = causes > 0

    def found(kind: str) -> Any:
        return curves_of(counts, kind, caution, info)[:, 0, 1:]

    assert np.allclose(found("survival")[0], twin.kaplan_meier(times, events, grid, entries))
    assert np.allclose(kaplan_meier_of_nodes(counts, info)[0, 1:], twin.kaplan_meier(times, events, grid, entries))
    assert np.allclose(found("hazard")[0], twin.nelson_aalen(times, events, grid, entries))
    lower, upper = twin.bounds(times, events, caution, grid, entries)
    assert np.allclose(found("bounds"), [lower, upper])
    assert np.allclose(found("incidence").T, twin.incidence(times, causes, grid, 2, 0.0, entries))
    of_causes = twin.incidence(times, causes, grid, 2, caution, entries)
    assert np.allclose(found("incidence_bounds")[:2].T, of_causes)
    assert np.allclose(found("incidence_bounds")[2:].T, of_causes + (upper - lower)[:, None])
    assert np.allclose(AtRisk.of(counts, info).rows[0, 1:], twin.steps(times, events, entries)[2])


@pytest.mark.parametrize("seed", range(4))
def test_probabilities_of_causes_and_survival_sum_to_one(seed: int) -> None:
    times, causes, entries = few_rows(seed)
    tree = SurvivalTree().fit(np.zeros((40, 1)), (times, causes, entries))
    grid = tree.event_times_
    survival = tree.predict_survival_function([[0]])[0]
    incidence = tree.predict_cumulative_incidence([[0]])[0]
    assert np.allclose(incidence.sum(axis=1) + survival, 1)
    assert np.allclose(survival, twin.kaplan_meier(times, causes > 0, grid, entries))
    (lower, upper), both = tree.predict_bounds([[0]])[0].T, tree.predict_cumulative_incidence([[0]], bounds=True)[0]
    assert np.allclose(lower + both[:, :, 0].sum(axis=1) + (upper - lower), 1)  # alive, dead of each cause, open
    assert (both[:, :, 0] <= incidence + 1e-12).all()
    assert (incidence <= both[:, :, 1] + 1e-12).all()


def test_estimates_with_late_entry_and_competing_causes_are_those_of_lifelines() -> None:
    lifelines = pytest.importorskip("lifelines", reason="lifelines is not installed")
    times, causes, entries = few_rows(5, 200)
    tree = SurvivalTree(min_samples_leaf=200).fit(np.zeros((200, 1)), (times, causes > 0, entries))
    known = lifelines.KaplanMeierFitter().fit(times, causes > 0, entry=entries).predict(tree.event_times_).to_numpy()
    assert np.allclose(tree.predict_survival_function([[0]])[0], known)
    tree = SurvivalTree(min_samples_leaf=200).fit(np.zeros((200, 1)), (times, causes))
    jittered = lifelines.AalenJohansenFitter(jitter_level=1e-9, seed=0, calculate_variance=False)
    known = jittered.fit(times, causes, event_of_interest=2).predict(tree.event_times_ + 0.1).to_numpy().ravel()
    assert np.allclose(tree.predict_cumulative_incidence([[0]])[0, :, 1], known, atol=1e-6)


def test_one_cause_is_as_before_and_entries_of_zero_change_nothing() -> None:
    X, y = table()
    forest = RandomSurvivalForest(9, random_state=0).fit(X, y)
    assert np.allclose(forest.predict_cumulative_incidence(X)[:, :, 0], 1 - forest.predict_survival_function(X))
    bounds = forest.predict_cumulative_incidence(X, bounds=True)[:, :, 0]
    assert np.allclose(bounds, 1 - forest.predict_bounds(X)[:, :, ::-1])
    again = RandomSurvivalForest(9, random_state=0).fit(X, y, entry=np.zeros(300))
    assert np.array_equal(again.predict(X), forest.predict(X))


def test_the_root_is_split_by_the_log_rank_statistic_of_rows_at_risk() -> None:
    X, y = table(80, seed=3)
    X, y = X.round(1), np.ceil(5 * y)
    rng = np.random.default_rng(0)
    entry = np.maximum(y[:, 0] - rng.integers(1, 6, 80) - 0.5, 0)
    forest = RandomSurvivalForest(
        1, max_depth=1, min_samples_leaf=5, max_features=None, bootstrap=False, random_state=0
    ).fit(X, y, entry=entry)
    leaves = forest.apply(X)[:, 0]

    def statistic(left: Any) -> float:
        return twin.log_rank(left, y[:, 0], y[:, 1] > 0, entry=entry)

    others = [
        statistic(left)
        for column in X.T
        for left in (column <= value for value in np.unique(column)[:-1])
        if 5 <= left.sum() <= 75
    ]
    assert statistic(leaves == leaves.min()) == pytest.approx(max(others))


def test_late_entry_mends_the_bias_of_rows_that_were_never_seen() -> None:
    """Rows whose event precedes their entry are not in the table; ignoring entries overstates survival."""
    rng = np.random.default_rng(0)
    X, entry = rng.normal(size=(3000, 2)), rng.exponential(1.0, 3000)
    times = rng.exponential(np.exp(0.5 * X[:, 0]))
    seen = times > entry
    X, entry, times = X[seen], entry[seen], times[seen]
    y, at = (times, np.ones(len(times))), [0.5, 1.0]
    fresh = rng.normal(size=(500, 2))
    true = np.exp(-np.array(at) / np.exp(0.5 * fresh[:, [0]]))
    errors = [
        np.abs(forest.predict_survival_function(fresh, at).mean(axis=0) - true.mean(axis=0)).max()
        for forest in (
            RandomSurvivalForest(40, random_state=0).fit(X, y, entry=entry),
            RandomSurvivalForest(40, random_state=0).fit(X, y),
        )
    ]
    assert errors[0] < 0.05 < 0.1 < errors[1]
    bound = RandomSurvivalForest(40, random_state=0).fit(X, y, entry=entry).predict_lower(fresh, 0.9)
    later = rng.exponential(np.exp(0.5 * fresh[:, 0]))
    assert (later >= bound).mean() == pytest.approx(0.9, abs=0.05)


def test_tiny_early_risk_sets_are_named() -> None:
    """The first event is the only row at risk, so the Kaplan–Meier estimate is zero from then on."""
    times, entry = np.arange(2.0, 12), np.arange(2.0, 12) - 0.5
    with pytest.warns(UserWarning, match="rows are at risk at the event at time 2"):
        tree = SurvivalTree().fit(np.zeros((10, 1)), (times, np.ones(10)), entry=entry)
    assert tree.predict_survival_function([[0]])[0, 0] == 0


def test_competing_causes_follow_their_features() -> None:
    """The first feature drives cause 1, the second one cause 2; a warm start, a file and further rows keep causes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    both, end = rng.exponential(np.exp(X)), rng.exponential(4.0, 600)
    times, causes = np.minimum(both.min(axis=1), end), np.where(both.min(axis=1) <= end, both.argmin(axis=1) + 1, 0)
    forest = RandomSurvivalForest(40, oob_score=True, random_state=0).fit(X, (times, causes))
    found = forest.predict_cumulative_incidence([[-1.5, 1.5], [1.5, -1.5]], times=[0.5])[:, 0]
    assert found[0, 0] > found[0, 1] + 0.3
    assert found[1, 1] > found[1, 0] + 0.3
    assert np.allclose(found.sum(axis=1), 1 - forest.predict_survival_function([[-1.5, 1.5], [1.5, -1.5]], [0.5])[:, 0])
    assert forest.score(X, (times, causes)) > forest.oob_score_ > 0.6
    file = io.BytesIO()
    hedgerow.save(forest, file)
    again = hedgerow.load(io.BytesIO(file.getvalue()))
    assert np.array_equal(again.predict_cumulative_incidence(X[:9]), forest.predict_cumulative_incidence(X[:9]))
    assert np.isfinite(forest.feature_importances_).all()
    forest.partial_fit(X[:50], (times[:50], causes[:50]))
    with pytest.raises(ValueError, match="causes up to 2"):
        forest.partial_fit(X[:50], (times[:50], np.full(50, 3)))
    with pytest.raises(ValueError, match="fitted with entry"):
        forest.partial_fit(X[:50], (times[:50], causes[:50]), entry=times[:50] / 2)


def test_a_model_with_late_entry_is_kept_in_a_file_and_takes_more_rows() -> None:
    X, y = table()
    entry = np.where(np.arange(300) < 50, 0, y[:, 0] * np.random.default_rng(0).random(300))
    forest = RandomSurvivalForest(8, random_state=0).fit(X, y, entry=entry)
    assert np.array_equal(
        forest.predict_bounds(X), RandomSurvivalForest(8, random_state=0).fit(X, np.c_[y, entry]).predict_bounds(X)
    )
    file = io.BytesIO()
    hedgerow.save(forest, file)
    again = hedgerow.load(io.BytesIO(file.getvalue()))
    assert np.array_equal(again.predict_bounds(X), forest.predict_bounds(X))
    assert np.array_equal(again.predict_lower(X), forest.predict_lower(X))
    before = forest.predict(X[:1])
    assert forest.partial_fit(X[:50], y[:50], entry=entry[:50]).predict(X[:1]) != before


def few_times(seed: int) -> Any:
    """Thirty times with ties, about half of them events."""
    rng = np.random.default_rng(seed)
    return rng.integers(1, 12, 30).astype(float), rng.random(30) < 0.5


def cells_of(times: Any, events: Any) -> Any:
    """Counts (1, 2 J + 2) of a leaf on the grid of all its times, and the grid."""
    grid = np.unique(times)
    cells = 2 * (np.searchsorted(grid, times) + 1) + events
    return np.bincount(cells, minlength=2 * len(grid) + 2)[None], grid
