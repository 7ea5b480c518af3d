"""Regression trees against their plain twin, against scikit-learn's, and against what the formulas promise."""

from __future__ import annotations

import pickle
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.metrics import r2_score
from sklearn.tree import DecisionTreeRegressor as SklearnTree
from tests.reference.grow import Node, node_from_arrays
from tests.reference.regress import NumberTwin, jackknife_plus, quantile, scaled_interval, weighted_median
from tests.reference.tables import Drawn, draw_case

from hedgerow import DecisionTreeRegressor, ExtraTreesRegressor, RandomForestRegressor
from hedgerow.belief.calibrate import gain_of
from hedgerow.forest.forest import Forest
from hedgerow.forest.grow import grow_forest
from hedgerow.inference.fitted import fitted_of
from hedgerow.inference.predictor import predictor_of
from hedgerow.tasks.regression.oob import oob_means
from hedgerow.tasks.regression.predictor import mean_bounds
from hedgerow.tasks.regression.target import RangeInfo, numbers_on_grid

CRITERIA = ["squared_error", "absolute_error", "poisson"]
SPLITTERS = ["best", "random"]


def draw_numbers(case: Drawn, seed: int, criterion: str) -> Drawn:
    """The table and limits of a classification, with targets of few digits and whole weights in place of its labels."""
    rng = np.random.default_rng([seed, len(criterion)])
    n_rows = len(case.X)
    y = rng.integers(-40, 40, n_rows) / rng.choice([1.0, 8.0])
    y += 10 * (np.nan_to_num(case.X[:, 0], posinf=3, neginf=1) > 1)
    y = np.abs(y) + 0.125 if criterion == "poisson" else y + rng.choice([0.0, 1024.0])
    weights = rng.integers(1, 4, n_rows).astype(float) if rng.random() < 0.4 else None
    numbers: Any = numbers_on_grid(y, weights, centred=criterion != "poisson")
    how = replace(case.settings, criterion=criterion, leaf_counts="inbag")
    return replace(case, labels=numbers, settings=how)


def assert_trees_equal_their_twins(case: Drawn, n_trees: int = 2) -> None:
    forest = grow_forest(case.codes, case.bins, case.labels, case.settings, n_trees=n_trees)
    twin = NumberTwin(case.codes, case.bins, case.labels, case.settings)
    for number in range(n_trees):
        ours, theirs = read_tree(forest, number, case), twin.grow(number)
        assert without_moments(ours) == without_moments(theirs)
        for mine, its in zip(ours.walk(), theirs.walk(), strict=True):
            if mine.kind == "leaf":
                assert mine.weights == pytest.approx(its.weights, rel=1e-12, abs=1e-9)


def read_tree(forest: Any, number: int, case: Drawn) -> Node:
    """The nodes of a tree; the weights of a leaf are what it predicts, its mean and its variance."""
    moments = np.column_stack(
        [forest.values, forest.values if forest.means is None else forest.means, forest.variances]
    )[forest.leaf_start[number] : forest.leaf_start[number + 1]]
    numbers = np.arange(len(forest.counts), dtype=float)
    marked = Forest.from_arrays(1, forest.arrays() | {"weights": numbers})  # the number of each leaf
    root = node_from_arrays(marked, number, case.bins)
    for node in root.walk():
        if node.kind == "leaf":
            node.weights = moments[int(node.weights[0]) - forest.leaf_start[number]].tolist()  # type: ignore[index]
    return root


def without_moments(node: Node) -> Node:
    return replace(node, weights=None, children=[without_moments(child) for child in node.children])


# ---- the twin -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(16))
@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("splitter", SPLITTERS)
def test_trees_of_random_tables_equal_their_twins(splitter: str, criterion: str, seed: int) -> None:
    assert_trees_equal_their_twins(draw_numbers(draw_case(seed, 3, splitter, "gini"), seed, criterion))


@pytest.mark.parametrize("focus", ["monotonic", "best first", "nominal"])
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("criterion", CRITERIA)
def test_constrained_best_first_and_nominal_trees_equal_their_twins(criterion: str, seed: int, focus: str) -> None:
    assert_trees_equal_their_twins(draw_numbers(draw_case(seed, 2, "best", "gini", focus), seed, criterion), 1)


@pytest.mark.parametrize("n_rows", [2, 3, 4, 5, 8, 9, 12, 13, 16, 17])
def test_small_nodes_are_searched_like_large_ones(n_rows: int) -> None:
    """Up to sixteen rows are compared pair by pair where nothing is missing; a column of its own forbids that."""
    for seed in range(30):
        rng = np.random.default_rng([seed, n_rows])
        X = rng.integers(0, rng.choice([3, 50]), (n_rows, 5)).astype(float)
        y = rng.normal(size=n_rows) if seed % 2 else rng.integers(0, 4, n_rows).astype(float)
        plain = DecisionTreeRegressor(random_state=seed).fit(X, y)
        slow = DecisionTreeRegressor(random_state=seed, min_weight_fraction_leaf=1e-12).fit(X, y)
        assert np.array_equal(plain.forest_.nodes, slow.forest_.nodes)


# ---- scikit-learn -------------------------------------------------------------------------------------------


def error_of(y: NDArray[Any], criterion: str) -> Fraction | float:
    """n times the impurity of a node, by its definition."""
    exact = [Fraction(float(v)) for v in y]
    if criterion == "squared_error":
        mean = sum(exact) / len(exact)
        return sum((v - mean) ** 2 for v in exact)
    if criterion == "absolute_error":
        median = Fraction(weighted_median(y, np.ones(len(y))))
        return sum(abs(v - median) for v in exact)
    mean_value = float(np.mean(y))
    return float(sum(v * np.log(v / mean_value) if v > 0 else 0.0 for v in y))


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("seed", range(25))
def test_first_split_is_as_good_as_scikit_learns(seed: int, criterion: str) -> None:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, (30, 4)).astype(float)
    y = rng.integers(0, 9, 30).astype(float) + 3 * (X[:, 1] > 2)
    ours = DecisionTreeRegressor(criterion=criterion, max_depth=1, random_state=0).fit(X, y)
    theirs = SklearnTree(criterion=criterion, max_depth=1, random_state=0).fit(X, y)
    sides = [model.apply(X) == model.apply(X).max() for model in (ours, theirs)]
    mine, its = (error_of(y[right], criterion) + error_of(y[~right], criterion) for right in sides)
    assert mine == its if criterion != "poisson" else mine == pytest.approx(its, rel=1e-12)


@pytest.mark.parametrize("criterion", ["squared_error", "poisson"])
@pytest.mark.parametrize("seed", range(8))
def test_whole_trees_are_scikit_learns_where_no_two_splits_tie(seed: int, criterion: str) -> None:
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(200, 3)), rng.gamma(2.0, size=200)
    limits: dict[str, Any] = {"criterion": criterion, "min_samples_leaf": 12, "random_state": 0}
    ours, theirs = DecisionTreeRegressor(**limits).fit(X, y), SklearnTree(**limits).fit(X, y)
    assert ours.get_n_leaves() == theirs.get_n_leaves()
    assert np.allclose(ours.predict(X), theirs.predict(X), rtol=1e-12)
    assert np.allclose(ours.feature_importances_, theirs.feature_importances_, atol=1e-12)


@pytest.mark.parametrize("criterion", ["squared_error", "poisson"])
@pytest.mark.parametrize("alpha", [0.001, 0.01, 0.05, 0.3])
def test_pruned_trees_are_scikit_learns(alpha: float, criterion: str) -> None:
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(200, 3)), rng.gamma(2.0, size=200)
    ours = DecisionTreeRegressor(criterion=criterion, ccp_alpha=alpha, min_samples_leaf=3).fit(X, y)
    theirs = SklearnTree(criterion=criterion, ccp_alpha=alpha, min_samples_leaf=3).fit(X, y)
    assert ours.get_n_leaves() == theirs.get_n_leaves()
    assert np.allclose(ours.predict(X), theirs.predict(X), rtol=1e-12)


def test_weights_are_scikit_learns_weights() -> None:
    rng = np.random.default_rng(0)
    X, y, weights = rng.normal(size=(300, 3)), rng.normal(size=300), rng.uniform(0.1, 5, 300)
    weights[::7] = 0
    ours = DecisionTreeRegressor(max_depth=4).fit(X, y, weights)
    theirs = SklearnTree(max_depth=4).fit(X[weights > 0], y[weights > 0], weights[weights > 0])
    assert np.allclose(ours.predict(X), theirs.predict(X), rtol=1e-12)
    node, root = ours.tree_, theirs.tree_
    assert node.weight[0] == pytest.approx(root.weighted_n_node_samples[0])
    assert node.mean[0] == pytest.approx(root.value[0, 0, 0])
    assert node.variance[0] == pytest.approx(root.impurity[0])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson"])
def test_rows_that_weigh_next_to_nothing_beside_others_still_have_a_mean(criterion: str) -> None:
    rng = np.random.default_rng(0)
    table = rng.normal(size=(120, 3))
    y = np.round(np.abs(table[:, 0]), 1)
    for weights in (np.where(y > 1, 1e300, 1e-300), np.geomspace(1e-300, 1e300, 120)):
        tree = DecisionTreeRegressor(criterion=criterion, max_depth=3, random_state=0).fit(table, y, weights)
        told = [tree.predict(table), tree.predict_bounds(table), tree.predict_uncertainty(table).total]
        assert all(np.isfinite(numbers).all() for numbers in [*told, tree.feature_importances_, tree.tree_.mean])


def test_accuracy_of_forests_is_scikit_learns() -> None:
    from sklearn.ensemble import RandomForestRegressor as SklearnForest

    rng = np.random.default_rng(1)
    X = rng.normal(size=(1200, 6))
    y = X[:, 0] ** 2 + 2 * X[:, 1] * (X[:, 2] > 0) + rng.normal(size=1200)
    fit, fresh = slice(400), slice(400, None)
    ours = RandomForestRegressor(100, random_state=0, oob_score=True).fit(X[fit], y[fit])
    theirs = SklearnForest(100, random_state=0, oob_score=True).fit(X[fit], y[fit])
    gap = (ours.predict(X[fresh]) - y[fresh]) ** 2 - (theirs.predict(X[fresh]) - y[fresh]) ** 2
    assert abs(gap.mean()) < 3 * gap.std() / np.sqrt(len(gap)) + 0.02 * np.var(y)
    assert ours.oob_score_ == pytest.approx(theirs.oob_score_, abs=0.03)


# ---- the grid -----------------------------------------------------------------------------------------------


@given(st.lists(st.floats(-1e150, 1e150), min_size=1, max_size=50), st.booleans())
@settings(max_examples=200)
def test_sums_on_the_grid_are_exact_in_any_order(values: list[float], weighted: bool) -> None:
    y = np.array(values)
    weights = np.random.default_rng(len(values)).uniform(0.01, 100, len(y)) if weighted else None
    numbers = numbers_on_grid(y, weights)
    for whole in (numbers.sums, numbers.amounts):
        if whole is not None:
            assert (whole == np.rint(whole)).all()
            assert 2 * sum(int(abs(v)) for v in whole) < 2**53
    back = numbers.centre + numbers.unit * numbers.sums / (1.0 if numbers.amounts is None else numbers.amounts)
    spread = np.abs(y - numbers.centre).sum()
    if not weighted:
        assert (np.abs(back - y) <= spread * 2.0**-46 + 4 * np.spacing(np.abs(y).max())).all()


def test_targets_of_few_digits_are_not_rounded() -> None:
    y = np.random.default_rng(0).integers(-1000, 1000, 5000) / 16
    numbers = numbers_on_grid(y, None)
    assert np.array_equal(numbers.centre + numbers.unit * numbers.sums, y)


def test_a_full_tree_repeats_its_targets_exactly() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(500, 2)), rng.normal(size=500) * 1e-30 + 1e5 / 3
    for criterion in CRITERIA:
        assert np.array_equal(DecisionTreeRegressor(criterion=criterion).fit(X, y).predict(X), y)


@pytest.mark.parametrize("scale", [2.0**-900, 2.0**-30, 2.0**30, 2.0**400])
def test_units_of_the_target_do_not_matter(scale: float) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 3)), rng.gamma(2.0, size=300)
    for criterion in CRITERIA:
        forest = RandomForestRegressor(3, criterion=criterion, random_state=0)
        one, other = clone(forest).fit(X, y), clone(forest).fit(X, y * scale)
        assert np.array_equal(one.forest_.nodes, other.forest_.nodes)
        assert np.array_equal(one.predict(X) * scale, other.predict(X))


# ---- determinism --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("criterion", CRITERIA)
def test_neither_threads_nor_batches_nor_layout_matter(criterion: str) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(700, 4)).astype(np.float32), rng.gamma(2.0, size=700)
    weights = rng.uniform(0.5, 2, 700)
    forest = RandomForestRegressor(9, criterion=criterion, random_state=3)
    one = clone(forest).fit(X, y, weights)
    for n_jobs, table in ((2, X), (7, np.asfortranarray(X)), (1, pd.DataFrame(X, columns=list("abcd")))):
        other = clone(forest).set_params(n_jobs=n_jobs).fit(table, y, weights)
        for name, array in one.forest_.arrays().items():
            assert np.array_equal(array, getattr(other.forest_, name))
    whole = one.predict(X)
    assert np.array_equal(whole, np.concatenate([one.predict(X[i : i + 9]) for i in range(0, 700, 9)]))
    warm = clone(forest).set_params(warm_start=True, n_estimators=4).fit(X, y, weights)
    warm.set_params(n_estimators=9).fit(X, y, weights)
    assert np.array_equal(warm.predict(X), whole)


def test_a_first_fit_need_not_know_that_a_warm_start_will_follow() -> None:
    X = np.random.default_rng(0).normal(size=(80, 2))
    later = {"warm_start": True, "n_estimators": 9, "oob_score": True}
    stepwise = RandomForestRegressor(4, random_state=0).fit(X, X[:, 0]).set_params(**later).fit(X, X[:, 0])
    at_once = RandomForestRegressor(9, random_state=0, oob_score=True).fit(X, X[:, 0])
    assert stepwise.oob_score_ == at_once.oob_score_


@pytest.mark.parametrize("fitted", ["absolute_error", "poisson", "squared_error"])
def test_a_criterion_set_later_changes_nothing_that_was_fitted(fitted: str) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 3)), rng.gamma(2.0, size=90)
    forest, other = (RandomForestRegressor(5, criterion=fitted, random_state=0).fit(X, y) for _ in range(2))
    other.set_params(criterion="poisson" if fitted == "absolute_error" else "absolute_error")
    assert other.criterion_ == fitted
    np.testing.assert_array_equal(other.oob_trace_, forest.oob_trace_)
    np.testing.assert_array_equal(
        other.set_params(criterion="squared_error" if fitted == "poisson" else "poisson").feature_importances_,
        forest.feature_importances_,
    )
    assert hasattr(other, "partial_fit") == (fitted != "absolute_error")  # medians take in no rows


def test_a_pickled_forest_is_the_same_forest() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 3)), rng.normal(size=200)
    forest = RandomForestRegressor(20, leaf_rows=True, random_state=0).fit(X, y)
    again = pickle.loads(pickle.dumps(forest))
    for ask in ("predict", "predict_bounds", "predict_interval", "predict_quantiles"):
        assert np.array_equal(getattr(again, ask)(X), getattr(forest, ask)(X))
    lost = pickle.loads(pickle.dumps(forest.set_params(leaf_rows=False)))
    with pytest.raises(ValueError, match="leaf_rows=True"):
        lost.predict_quantiles(X)


# ---- leaves and bounds --------------------------------------------------------------------------------------


def test_uncertainty_is_the_law_of_total_variance() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 3)), rng.normal(size=300) + 1e6
    forest = RandomForestRegressor(20, min_samples_leaf=10, random_state=0).fit(X, y)
    leaves = forest.apply(X[:50])
    means = np.array([[tree.mean[leaf] for tree, leaf in zip(forest.trees_, row, strict=True)] for row in leaves])
    within = np.array([[tree.variance[leaf] for tree, leaf in zip(forest.trees_, row, strict=True)] for row in leaves])
    total, aleatoric, epistemic = forest.predict_uncertainty(X[:50])
    assert np.allclose(aleatoric, within.mean(axis=1), rtol=1e-9)
    assert np.allclose(epistemic, means.var(axis=1), rtol=1e-9, atol=1e-12)
    predicted, deviation = forest.predict(X[:50], return_std=True)
    assert np.array_equal(predicted, forest.predict(X[:50]))
    assert np.allclose(deviation**2, total)


def test_noise_of_leaves_of_few_rows_is_that_of_the_nodes_around_them() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 3)), rng.normal(size=300) + 1e3
    forest = RandomForestRegressor(20, random_state=0).fit(X, y)
    means, within, own = np.zeros((3, 50, 20))
    for number, (tree, leaves) in enumerate(zip(forest.trees_, forest.apply(X[:50]).T, strict=True)):
        for row, leaf in enumerate(leaves.tolist()):
            own[row, number] = tree.mean[leaf]
            while tree.rows[leaf] < 10:
                leaf = tree.parent[leaf]
            means[row, number], within[row, number] = tree.mean[leaf], tree.variance[leaf]
    total, aleatoric, epistemic = forest.predict_uncertainty(X[:50])
    assert np.allclose(total, own.var(axis=1), rtol=1e-9)
    noise, spread = within.mean(axis=1), means.var(axis=1)
    assert np.allclose(aleatoric, total * noise / (noise + spread), rtol=1e-9)
    assert np.allclose(aleatoric + epistemic, total)


def test_noise_is_known_anew_after_later_rows() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 2)), rng.normal(size=200)
    forest = pickle.loads(pickle.dumps(RandomForestRegressor(10, random_state=0).fit(X[:100], y[:100])))
    before = forest.predict_uncertainty(X[:20]).aleatoric
    after = forest.partial_fit(X[100:], 50 * y[100:]).predict_uncertainty(X[:20]).aleatoric
    assert (after > before).all()


@given(st.floats(0, 100), st.integers(0, 10))
@settings(max_examples=30)
def test_bounds_hold_the_prediction_and_widen_with_caution(caution: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(60, 2)), rng.normal(size=60)
    forest = RandomForestRegressor(5, min_samples_leaf=1 + seed, caution=caution, random_state=seed).fit(X, y)
    lower, upper = forest.predict_bounds(X).T
    predicted = forest.predict(X)
    assert (lower <= predicted + 1e-12).all()
    assert (predicted <= upper + 1e-12).all()
    assert (lower >= y.min() - 1e-12).all()
    assert (upper <= y.max() + 1e-12).all()
    wider = forest.set_params(caution=caution + 1).predict_bounds(X)
    assert (wider[:, 1] - wider[:, 0] >= upper - lower - 1e-12).all()


def test_a_value_outside_the_range_of_the_targets_is_its_own_bound() -> None:
    lower, upper = mean_bounds(np.array([-1.0, 2.0, 9.0]), np.array([3, 3, 3]), 1.0, RangeInfo.between(0.0, 8.0))
    assert (lower.tolist(), upper.tolist()) == ([-1.0, 1.5, 6.75], [1.25, 3.5, 9.0])


def test_bounds_of_one_leaf_by_hand() -> None:
    tree = DecisionTreeRegressor(max_depth=1, caution=2).fit(np.arange(6.0)[:, None], [0, 1, 2, 12, 12, 12])
    assert tree.predict_bounds([[0.0]])[0].tolist() == pytest.approx([(3 * 1 + 2 * 0) / 5, (3 * 1 + 2 * 12) / 5])


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("sign", [-1, 1])
def test_predictions_never_turn_back_along_a_monotonic_feature(sign: int, criterion: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = np.exp(sign * X[:, 0] + np.sin(3 * X[:, 1])) + rng.gamma(1.0, size=400)
    forest = RandomForestRegressor(20, criterion=criterion, monotonic_cst=[sign, 0, 0], random_state=0).fit(X, y)
    grid = np.repeat(X[:40], 25, axis=0)
    grid[:, 0] = np.tile(np.linspace(-3, 3, 25), 40)
    steps = sign * np.diff(forest.predict(grid).reshape(40, 25), axis=1)
    assert steps.min() >= -1e-12
    assert steps.max() > 0


def test_no_subset_of_categories_beats_the_chosen_one() -> None:
    from itertools import combinations

    for seed in range(10):
        rng = np.random.default_rng(seed)
        column, y = rng.integers(0, 6, 60), rng.integers(0, 20, 60).astype(float)
        tree = DecisionTreeRegressor(max_depth=1, categorical_features=[0]).fit(column[:, None], y)
        right = tree.apply(column[:, None]) == tree.apply(column[:, None]).max()
        chosen = error_of(y[right], "squared_error") + error_of(y[~right], "squared_error")
        sets = [s for size in range(1, 6) for s in combinations(range(6), size)]
        parts = [np.isin(column, s) for s in sets if 0 < np.isin(column, s).sum() < 60]
        assert chosen == min(error_of(y[p], "squared_error") + error_of(y[~p], "squared_error") for p in parts)


def test_missing_values_and_frames_are_read() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=300), "b": pd.Categorical(rng.choice(list("xyz"), 300))})
    y = frame["a"].to_numpy() + 3 * (frame["b"] == "y") + np.where(rng.random(300) < 0.3, 5, 0)
    frame.loc[y > 4, "a"] = np.nan
    forest = RandomForestRegressor(20, random_state=0, oob_score=True).fit(frame, y)
    assert forest.oob_score_ > 0.5
    assert forest.feature_names_in_.tolist() == ["a", "b"]


# ---- out of bag ---------------------------------------------------------------------------------------------


def test_out_of_bag_predictions_come_from_trees_that_have_not_seen_the_row() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 3)), rng.normal(size=120)
    weights = np.ones(120)
    weights[:5] = 0
    forest = RandomForestRegressor(12, oob_score=True, random_state=0).fit(X, y, weights)
    by_tree = np.array([tree.value[leaf, 0, 0] for tree, leaf in zip(forest.trees_, forest.apply(X).T, strict=True)])
    from hedgerow import _core

    outside = np.array([_core.bag(fitted_of(forest).seed, tree, 115, 1.0) == 0 for tree in range(12)])
    expected = np.full(120, np.nan)
    expected[:5] = by_tree[:, :5].mean(axis=0)
    for row in range(115):
        if outside[:, row].any():
            expected[5 + row] = by_tree[outside[:, row], 5 + row].mean()
    assert np.allclose(forest.oob_prediction_, expected, equal_nan=True)
    seen = ~np.isnan(expected[5:])
    assert forest.oob_score_ == pytest.approx(r2_score(y[5:][seen], expected[5:][seen]))


def test_random_targets_are_not_predicted_out_of_bag() -> None:
    rng = np.random.default_rng(0)
    forest = RandomForestRegressor(50, oob_score=True, random_state=0)
    scores = [forest.fit(rng.normal(size=(200, 3)), rng.normal(size=200)).oob_score_ for _ in range(5)]
    assert max(scores) < 0.05


# ---- intervals ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("coverage", [Fraction(1, 2), Fraction(9, 10), Fraction(99, 100)])
def test_jackknife_intervals_equal_their_twin(coverage: Fraction) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(99, 3)), rng.normal(size=99)
    forest = RandomForestRegressor(25, random_state=0).fit(X, y)
    fresh = rng.normal(size=(20, 3))
    by_tree = np.array(
        [tree.value[leaf, 0, 0] for tree, leaf in zip(forest.trees_, forest.apply(fresh).T, strict=True)]
    ).T
    residuals = predictor_of(forest).residuals("predict_interval")
    expected = jackknife_plus(by_tree, residuals.oob, residuals.residuals, coverage)
    assert np.allclose(forest.predict_interval(fresh, float(coverage), method="jackknife+"), expected)


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error"])
@pytest.mark.parametrize("coverage", [Fraction(1, 5), Fraction(9, 10), Fraction(99, 100)])
def test_scaled_intervals_equal_their_twin(coverage: Fraction, criterion: str) -> None:
    rng = np.random.default_rng(0)
    X, y, fresh = rng.normal(size=(99, 3)), 1e4 + rng.normal(size=99), rng.normal(size=(20, 3))
    forest = RandomForestRegressor(7, min_samples_leaf=2, criterion=criterion, random_state=0).fit(X, y)
    arrays, rows = forest.forest_, fitted_of(forest).rows
    assert rows is not None

    def of_leaves(held: Any, asked: NDArray[Any]) -> NDArray[Any]:
        now = predictor_of(forest)
        return held[now.forest.leaves(now.read(asked).codes) + arrays.leaf_start[:-1]]  # type: ignore[no-any-return]

    outside = np.stack([rows.bags.outside(tree) for tree in range(7)], axis=1)
    assert (outside.sum(axis=1) == 1).any()  # such rows tell no spread
    gain = gain_of(7, rows.bags.mean)
    held = [(of_leaves(arrays.values, asked), of_leaves(arrays.variances, asked)) for asked in (X, fresh)]
    expected = scaled_interval(*held[0], held[1], outside, y, gain, coverage)
    expected = np.maximum(expected, 0)  # no target is negative
    np.testing.assert_allclose(forest.predict_interval(fresh, float(coverage)), expected, rtol=1e-9)


def test_scaled_intervals_are_wide_where_there_is_noise_and_hold_what_they_say_there() -> None:
    """The noise is five times larger on one side; coverage in the third of the rows with the widest intervals."""
    rng = np.random.default_rng(0)

    def draw(n: int) -> tuple[NDArray[Any], NDArray[Any]]:
        X = rng.uniform(-2, 2, (n, 2))
        return X, np.sin(2 * X[:, 0]) + rng.normal(size=n) * np.where(X[:, 0] > 0, 1.0, 0.2)

    shares, narrower = [], []
    for seed in range(40):
        forest = RandomForestRegressor(100, min_samples_leaf=5, random_state=seed).fit(*draw(400))
        fresh, target = draw(200)
        lower, upper = forest.predict_interval(fresh).T
        widest = np.argsort(lower - upper)[:66]
        shares.append(np.mean((lower <= target)[widest] & (target <= upper)[widest]))
        narrower.append((upper - lower)[fresh[:, 0] < -0.3].mean() / (upper - lower)[fresh[:, 0] > 0.3].mean())
    assert max(narrower) < 0.5
    assert np.mean(shares) > 0.9 - 3 * np.std(shares, ddof=1) / np.sqrt(40)


def test_scaled_quantiles_are_those_of_the_intervals() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 3)), rng.normal(size=200)
    forest = RandomForestRegressor(40, random_state=0).fit(X, y)
    scaled = predictor_of(forest).residuals("predict_interval").scaled
    assert scaled is not None
    edge = 10 / (len(scaled) + 1)
    ends = forest.predict_quantiles(X, [edge, 1 - edge], method="scaled")
    np.testing.assert_allclose(ends, forest.predict_interval(X, 1 - 2 * edge), rtol=1e-12)
    many = forest.predict_quantiles(X, np.linspace(0, 1, 33), method="scaled")
    assert (np.diff(many, axis=1) >= 0).all()
    assert np.isneginf(many[:, 0]).all()
    assert np.isposinf(many[:, -1]).all()
    assert np.isfinite(many[:, 1:-1]).all()


def test_where_all_targets_are_the_same_so_are_the_ends_of_intervals() -> None:
    forest = RandomForestRegressor(10, random_state=0).fit(np.arange(50.0)[:, None], np.full(50, 1e6 / 3))
    assert (forest.predict_interval([[3.0], [99.0]]) == 1e6 / 3).all()
    assert (forest.predict_quantiles([[3.0]], [0.5], method="scaled") == 1e6 / 3).all()


@pytest.mark.parametrize("scale", [2.0**400, 2.0**-400, 2.0**-1060])
def test_means_of_trees_keep_their_bits_at_any_scale(scale: float) -> None:
    rng = np.random.default_rng(0)
    values, outside = rng.integers(-999, 999, (5, 30)) * scale, (rng.random((30, 9)) < 0.4).astype(float)
    exact = [[Fraction(0) + sum(map(Fraction, each[seen > 0])) for seen in outside.T] for each in values]
    expected = [[float(total / int(n)) for total, n in zip(row, outside.sum(axis=0), strict=True)] for row in exact]
    np.testing.assert_allclose(oob_means(values, outside), expected, rtol=1e-15, atol=5e-324)


@pytest.mark.parametrize("coverage", [1e-9, 0.05, 0.2, 0.5])
@pytest.mark.parametrize("method", ["scaled", "jackknife+"])
def test_an_interval_ends_above_its_beginning_however_small_its_coverage(coverage: float, method: str) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(99, 3)), rng.normal(size=99)
    bounds = RandomForestRegressor(25, random_state=0).fit(X, y).predict_interval(X, coverage, method=method)
    assert (bounds[:, 0] <= bounds[:, 1]).all()


def simulate(rng: np.random.Generator, n: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """A curve with noise that grows to one side."""
    X = rng.uniform(-2, 2, (n, 2))
    return X, np.sin(2 * X[:, 0]) + rng.normal(size=n) * (0.3 + 0.2 * (X[:, 0] > 0))


@pytest.mark.parametrize("method", ["scaled", "jackknife+"])
def test_intervals_cover_what_they_say(method: str) -> None:
    """200 training sets of 100 rows: coverage is nominal up to three standard errors, and above the promise."""
    rng = np.random.default_rng(0)
    shares = []
    for repetition in range(200):
        X, y = simulate(rng, 100)
        forest = RandomForestRegressor(60, min_samples_leaf=3, random_state=repetition).fit(X, y)
        fresh, target = simulate(rng, 50)
        lower, upper = forest.predict_interval(fresh, 0.9, method=method).T
        shares.append(np.mean((lower <= target) & (target <= upper)))
    error = np.std(shares, ddof=1) / np.sqrt(200)
    assert np.mean(shares) > 0.8  # what is proved, for any distribution
    ranks = 2 if method == "scaled" else 1  # which are whole numbers, at each end or at one
    assert abs(np.mean(shares) - 0.9) < 3 * error + ranks / 101


@pytest.mark.parametrize("method", ["scaled", "jackknife+"])
def test_too_few_rows_for_a_promise_give_infinite_intervals(method: str) -> None:
    forest = RandomForestRegressor(30, random_state=0).fit(np.arange(8.0)[:, None], np.arange(-4.0, 4.0))
    assert np.isinf(forest.predict_interval([[1.0]], 0.95, method=method)).all()
    assert np.isfinite(forest.predict_interval([[1.0]], 0.7, method=method)).all()


# ---- quantiles ----------------------------------------------------------------------------------------------


def table_for_quantiles() -> tuple[NDArray[Any], NDArray[Any]]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(150, 3)), np.round(rng.normal(size=150), 1)


def fitted_for_quantiles(bootstrap: bool) -> tuple[Any, NDArray[Any], NDArray[Any]]:
    X, y = table_for_quantiles()
    forest = RandomForestRegressor(8, min_samples_leaf=4, bootstrap=bootstrap, random_state=0)
    return forest.fit(X, y), y, np.random.default_rng(1).normal(size=(40, 3))


@pytest.mark.parametrize("bootstrap", [False, True])
@pytest.mark.parametrize("weighting", ["tree", "row"])
def test_quantiles_are_those_of_the_weighted_rows(weighting: str, bootstrap: bool) -> None:
    from hedgerow import _core

    forest, y, fresh = fitted_for_quantiles(bootstrap)
    levels = [Fraction(0), Fraction(1, 10), Fraction(1, 2), Fraction(77, 100), Fraction(1)]
    got = forest.predict_quantiles(fresh, [float(q) for q in levels], weighting=weighting, interpolation="inverse")
    now = predictor_of(forest)
    training, leaves = (now.forest.leaves(codes) for codes in (now.fitted.rows.codes, now.read(fresh).codes))
    drawn = [_core.bag(now.fitted.seed, tree, 150, float(bootstrap)) for tree in range(8)]
    bags = np.array(drawn, dtype=np.int64).T
    for row, reached in enumerate(leaves):
        shared = (training == reached) * bags
        sizes = shared.sum(axis=0).tolist() if weighting == "tree" else [1] * 8
        weights = [sum(Fraction(int(n), size) for n, size in zip(held, sizes, strict=True)) for held in shared]
        assert got[row].tolist() == [quantile(y, weights, level) for level in levels]


def quantile_forest_of(forest: Any, n_trees: int) -> Any:
    """A fitted forest -> quantile-forest's own structure with the same rows in the same leaves."""
    pytest.importorskip("quantile_forest", reason="quantile-forest is not installed")
    from quantile_forest._quantile_forest_fast import QuantileForest

    rows = predictor_of(forest).leaf_rows()
    sizes = np.diff(rows.row_start)
    start = forest.forest_.leaf_start
    members = np.zeros((n_trees, int(np.diff(start).max()), 1, int(sizes.max())), dtype=np.int64)
    for tree in range(n_trees):
        for leaf in range(start[tree + 1] - start[tree]):
            at = start[tree] + leaf
            held = rows.ranks[rows.row_start[at] : rows.row_start[at + 1]]
            members[tree, leaf, 0, : len(held)] = held.astype(np.int64) + 1
    return QuantileForest(rows.values[None, :].astype(np.float64), members)


@pytest.mark.parametrize("interpolation", ["linear", "lower", "higher", "midpoint", "nearest"])
@pytest.mark.parametrize("weighted_leaves", [False, True])
def test_quantiles_equal_those_of_quantile_forest_on_the_same_leaves(weighted_leaves: bool, interpolation: str) -> None:
    forest, _, fresh = fitted_for_quantiles(True)
    levels = [0.0, 0.05, 0.3, 0.5, 0.9, 0.99]
    leaves = forest.forest_.leaves(predictor_of(forest).read(fresh).codes).astype(np.int64)
    theirs = quantile_forest_of(forest, 8).predict(
        levels, leaves, interpolation=interpolation.encode(), weighted_leaves=weighted_leaves
    )[:, 0]
    weighting = "tree" if weighted_leaves else "row"
    ours = forest.predict_quantiles(fresh, levels, weighting=weighting, interpolation=interpolation)
    assert np.allclose(ours, theirs, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", ["rank", "weak", "strict", "mean"])
def test_ranks_equal_those_of_quantile_forest_on_the_same_leaves(kind: str) -> None:
    forest, y, fresh = fitted_for_quantiles(True)
    asked = np.concatenate([y[:38], [y.min() - 1, y.max() + 1]])
    leaves = forest.forest_.leaves(predictor_of(forest).read(fresh).codes).astype(np.int64)
    theirs = quantile_forest_of(forest, 8).quantile_ranks(asked[:, None], leaves, kind=kind.encode())[:, 0]
    ours = forest.quantile_ranks(fresh, asked, weighting="row", kind=kind)
    np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-15)
    low, high = (forest.quantile_ranks(fresh, asked, kind=end) for end in ("strict", "weak"))
    ours = forest.quantile_ranks(fresh, asked, kind=kind)
    assert ((low <= ours) & (ours <= high)).all()


@pytest.mark.parametrize("weighting", ["tree", "row"])
def test_out_of_bag_quantiles_are_those_of_the_trees_whose_bags_do_not_hold_the_row(weighting: str) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 3)), np.round(rng.normal(size=90), 1)
    forest = RandomForestRegressor(4, min_samples_leaf=4, random_state=0).fit(X, y)
    levels = [Fraction(1, 10), Fraction(1, 2), Fraction(77, 100)]
    how = {"weighting": weighting, "interpolation": "inverse"}
    got = forest.predict_quantiles(None, [float(level) for level in levels], **how)
    ranks = forest.quantile_ranks(None, y, weighting=weighting, kind="weak")
    now = predictor_of(forest)
    leaves = now.forest.leaves(now.fitted.rows.codes)
    bags = np.column_stack([now.fitted.rows.bags.times(tree) for tree in range(4)]).astype(np.int64)
    assert (bags > 0).all(axis=1).any()  # some rows are in every bag
    for row in range(90):
        outside = np.flatnonzero(bags[row] == 0)
        shared = ((leaves == leaves[row]) * bags)[:, outside]
        if not len(outside):
            assert np.isnan(got[row]).all()
            assert np.isnan(ranks[row])
            continue
        sizes = shared.sum(axis=0).tolist() if weighting == "tree" else [1] * len(outside)
        weights = [sum(Fraction(int(n), size) for n, size in zip(held, sizes, strict=True)) for held in shared]
        assert got[row].tolist() == [quantile(y, weights, level) for level in levels]
        below = sum(weight for weight, value in zip(weights, y, strict=True) if value <= y[row])
        assert ranks[row] == pytest.approx(float(below / sum(weights)), rel=1e-12)


def test_quantiles_and_ranks_of_a_loaded_forest_are_those_of_the_fit() -> None:
    forest, y, fresh = fitted_for_quantiles(True)
    forest = forest.set_params(leaf_rows=True).fit(*table_for_quantiles())
    again = pickle.loads(pickle.dumps(forest))
    for way in ("lower", "nearest"):
        ours, theirs = (model.predict_quantiles(fresh, interpolation=way) for model in (forest, again))
        assert np.array_equal(ours, theirs)
    assert np.array_equal(forest.quantile_ranks(fresh, y[:40]), again.quantile_ranks(fresh, y[:40]))
    with pytest.raises(ValueError, match="predict_quantiles requires out-of-bag training rows"):
        again.predict_quantiles(None)


def test_pooled_quantiles_of_one_leaf_are_numpys() -> None:
    y = np.random.default_rng(0).normal(size=31)
    tree = DecisionTreeRegressor(max_depth=1, min_samples_leaf=31).fit(np.zeros((31, 1)), y)
    levels = np.linspace(0, 1, 23)
    assert np.allclose(tree.predict_quantiles([[0.0]], levels)[0], np.quantile(y, levels))


# ---- refusals -----------------------------------------------------------------------------------------------

X = np.random.default_rng(0).normal(size=(40, 3))
Y = np.abs(X[:, 0]) + 0.1

REFUSED = [
    (DecisionTreeRegressor(), (X, None), "requires y to be passed"),
    (DecisionTreeRegressor(), (X, Y[:30]), "same number of rows"),
    (DecisionTreeRegressor(), (X, np.where(np.arange(40) == 3, np.nan, Y)), "NaN"),
    (DecisionTreeRegressor(), (X, np.full(40, "a")), "real numbers"),
    (DecisionTreeRegressor(), (X, np.ma.masked_array(Y, mask=Y > 1)), "masked"),
    (DecisionTreeRegressor(), (X, Y * 1e200), "within"),
    (DecisionTreeRegressor(), (X, np.zeros((40, 2, 2))), "one or two dimensions"),
    (DecisionTreeRegressor(criterion="gini"), (X, Y), "criterion must be one of squared_error"),
    (DecisionTreeRegressor(criterion="poisson"), (X, -Y), "y must be >= 0"),
    (DecisionTreeRegressor(criterion="poisson"), (X, 0 * Y), "y must not be all 0"),
    (DecisionTreeRegressor(criterion="absolute_error", ccp_alpha=0.1), (X, np.c_[Y, Y]), "ccp_alpha must be 0"),
    (DecisionTreeRegressor(ccp_alpha=-1), (X, Y), "ccp_alpha must be a number"),
    (DecisionTreeRegressor(caution="auto"), (X, Y), "caution must be a number"),
    (DecisionTreeRegressor(leaf_rows=3), (X, Y), "leaf_rows must be"),
    (RandomForestRegressor(3, oob_score="u65"), (X, Y), "oob_score must be"),
    (RandomForestRegressor(3, oob_score=True, bootstrap=False), (X, Y), "oob_score=True requires bootstrap=True"),
    (RandomForestRegressor(3, monotonic_cst=[1, 0]), (X, Y), "monotonic_cst must be one sign"),
    (RandomForestRegressor(3, max_features=0), (X, Y), "max_features must be"),
]


@pytest.mark.parametrize(("estimator", "arguments", "words"), REFUSED, ids=[words for *_, words in REFUSED])
def test_bad_input_gets_one_clear_error_and_changes_nothing(estimator: Any, arguments: Any, words: str) -> None:
    before = dict(vars(estimator))
    with pytest.raises(ValueError, match=words):
        estimator.fit(*arguments)
    assert vars(estimator) == before


def test_questions_without_an_answer_are_refused() -> None:
    tree, forest = DecisionTreeRegressor().fit(X, Y), RandomForestRegressor(5, random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="bootstrap=True"):
        tree.predict_interval(X)
    for coverage in (0, 1, 2.0, "most"):
        with pytest.raises(ValueError, match="coverage must be"):
            forest.predict_interval(X, coverage)
    for method in ("leaves", "conformal", None):
        with pytest.raises(ValueError, match="method must be one of auto, scaled, jackknife"):
            forest.predict_interval(X, method=method)
    with pytest.raises(ValueError, match="method must be one of leaves, scaled"):
        forest.predict_quantiles(X, method="auto")
    with pytest.raises(ValueError, match="predict_quantiles requires out-of-bag residuals"):
        tree.predict_quantiles(X, method="scaled")
    for quantiles in ([0.5, 1.5], "median", [], None):
        with pytest.raises(ValueError, match="quantiles must be"):
            forest.predict_quantiles(X, quantiles)
    with pytest.raises(ValueError, match="weighting must be"):
        forest.predict_quantiles(X, 0.5, weighting="leaf")
    with pytest.raises(ValueError, match="interpolation must be one of linear, inverse, lower"):
        forest.predict_quantiles(X, 0.5, interpolation="upper")
    with pytest.raises(ValueError, match="kind must be one of rank, weak, strict, mean"):
        forest.quantile_ranks(X, Y, kind="low")
    with pytest.raises(ValueError, match="same number of rows"):
        forest.quantile_ranks(X, Y[:5])
    with pytest.raises(ValueError, match="quantile_ranks requires out-of-bag training rows"):
        tree.quantile_ranks(None, Y)
    with pytest.raises(ValueError, match='X must be samples for method="scaled"'):
        forest.predict_quantiles(None, method="scaled")
    with pytest.raises(ValueError, match="warm start"):
        RandomForestRegressor(2, warm_start=True, oob_score=True).fit(X, Y).set_params(n_estimators=3).fit(X, Y + 1)


def test_extra_trees_draw_their_thresholds() -> None:
    rng = np.random.default_rng(0)
    table, y = rng.normal(size=(400, 4)), rng.normal(size=400)
    forest = ExtraTreesRegressor(10, random_state=0).fit(table, y + table[:, 0])
    thresholds = [tree.threshold[0] for tree in forest.trees_]
    assert len(set(thresholds)) > 5


def test_the_variance_of_predictions_is_the_infinitesimal_jackknife():
    rng = np.random.default_rng(0)
    table, numbers = rng.normal(size=(40, 2)), rng.normal(size=40)
    forest = RandomForestRegressor(60, max_depth=3, max_samples=0.8, random_state=0).fit(table, numbers)
    found, bags = forest.predict_variance(table[:7]), fitted_of(forest).rows.bags
    reached = zip(forest.trees_, forest.apply(table[:7]).T, strict=True)
    said = np.array([tree.evidence.values[leaves] for tree, leaves in reached])
    times = np.array([bags.times(tree) for tree in range(60)])
    covariance = ((times - bags.mean)[:, :, None] * (said - said.mean(axis=0))[:, None]).mean(axis=0)
    between = said.var(axis=0, ddof=1)
    limit = np.maximum((covariance**2).sum(axis=0) - 40 * bags.mean * between / 60, 0)
    np.testing.assert_allclose(found.limit, limit, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.forest, limit + between / 60, rtol=1e-9)
    np.testing.assert_allclose(found.tree, limit + between, rtol=1e-9)
    with pytest.raises(AttributeError, match="bootstrap=True"):
        RandomForestRegressor(3, bootstrap=False).fit(table, numbers).predict_variance(table)


def test_the_variance_of_a_mean_is_that_of_statistics():
    numbers = np.random.default_rng(0).normal(size=50)
    table = np.zeros((50, 1))  # there is nothing to split on: every tree predicts the mean of its bag
    limit = RandomForestRegressor(4000, random_state=0).fit(table, numbers).predict_variance(table[:1]).limit[0]
    assert limit == pytest.approx(numbers.var() / 50, rel=0.1)


@pytest.mark.parametrize("method", ["scaled", "jackknife+"])
def test_intervals_of_targets_of_one_sign_end_at_zero(method: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = np.exp(X[:, 0] + rng.normal(size=300))
    cost = RandomForestRegressor(30, random_state=0).fit(X[:200], y[:200])
    loss = RandomForestRegressor(30, random_state=0).fit(X[:200], -y[:200])
    found = cost.predict_interval(X[200:], 0.9, method=method)
    assert found.min() == 0
    assert (found[:, 0] < found[:, 1]).all()
    mirrored = -loss.predict_interval(X[200:], 0.9, method=method)[:, ::-1]
    np.testing.assert_allclose(mirrored, found, rtol=1e-9, atol=1e-12)
    shifted = RandomForestRegressor(30, random_state=0).fit(X[:200], y[:200] - 1)
    assert shifted.predict_interval(X[200:], 0.9, method=method).min() < -1
    inside = (found[:, 0] <= y[200:]) & (y[200:] <= found[:, 1])
    assert inside.mean() > 0.83
