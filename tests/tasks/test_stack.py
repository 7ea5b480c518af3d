"""Stacks of mixed regression forests: the weighted sum of the means of their kinds of trees, wherever they predict."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from hedgerow import MixedForestRegressor, RandomForestRegressor, export_code, load, merge, save, to_onnx
from hedgerow.errors import ModelFileError
from hedgerow.explain import shap_values
from hedgerow.export import to_sklearn
from hedgerow.inference.fitted import fitted_of
from hedgerow.tasks.regression.stack import APART_COST, FEWEST, KINDS, SUM_COST, Stack, learn_stack

N_TREES, N_ROWS = 31, 180


def table(n: int = 300, seed: int = 0):
    """A table in which kinds of trees differ: one smooth feature, one step, noise."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.uniform(-2, 2, (n, 4)) * 128) / 128  # equal in single precision, which scikit-learn reads
    return X, 3 * X[:, 0] + 2.0 * (X[:, 1] > 0) + rng.normal(0, 0.3, n)


X, Y = table()
FRESH = X[N_ROWS:]


@pytest.fixture(scope="module")
def forest():
    return MixedForestRegressor(N_TREES, oob_score=True, random_state=0).fit(X[:N_ROWS], Y[:N_ROWS])


def by_kind(forest, rows):
    """Means of the trees of each kind, (n, 3)."""
    each = np.stack([tree.predict(rows)[:, 0, 0] for tree in forest.trees_])
    return np.stack([each[kind::KINDS].mean(axis=0) for kind in range(KINDS)], axis=1)


def oob_by_kind(forest):
    """Out-of-bag means of each kind at the training rows, and which rows have some of each."""
    each = np.stack([tree.predict(X[:N_ROWS])[:, 0, 0] for tree in forest.trees_])
    for number, drawn in enumerate(forest.estimators_samples_):
        each[number, drawn] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of rows that all trees of a kind have seen
        means = np.stack([np.nanmean(each[kind::KINDS], axis=0) for kind in range(KINDS)], axis=1)
    return means, ~np.isnan(means).any(axis=1)


def test_predictions_are_a_weighted_sum_of_the_means_of_kinds(forest):
    stack = forest.stack_
    assert not stack.why
    expected = stack.level + (by_kind(forest, FRESH) - stack.centres) @ stack.weights
    np.testing.assert_allclose(forest.predict(FRESH), expected, atol=1e-10)
    for row in range(10):
        assert forest.predict(FRESH[row : row + 1])[0] == forest.predict(FRESH)[row]


def test_weights_are_those_of_out_of_bag_rows(forest):
    means, complete = oob_by_kind(forest)
    expected = learn_stack(means[complete], Y[:N_ROWS][complete])
    np.testing.assert_allclose(forest.stack_.weights, expected.weights, atol=1e-5)
    np.testing.assert_allclose(forest.stack_.centres, expected.centres, atol=1e-10)
    assert forest.stack_.n_rows == expected.n_rows == complete.sum()


def test_out_of_bag_predictions_are_cross_fitted(forest):
    means, complete = oob_by_kind(forest)
    y, fold = Y[:N_ROWS], np.arange(N_ROWS) % 5
    expected = np.full(N_ROWS, np.nan)
    for number in range(5):
        learned = learn_stack(means[complete & (fold != number)], y[complete & (fold != number)])
        expected[fold == number] = learned.of(means[fold == number])
    np.testing.assert_allclose(forest.oob_prediction_[complete], expected[complete], atol=1e-4)
    shifted = Y[:N_ROWS] - Y[:N_ROWS].mean()
    off = forest.oob_prediction_ - Y[:N_ROWS]
    assert forest.oob_score_ == pytest.approx(1 - (off**2).sum() / (shifted**2).sum())


@given(st.integers(0, 1000), st.booleans())
def test_weights_minimise_the_penalised_squared_error(seed, weighted):
    rng = np.random.default_rng(seed)
    y = rng.normal(5, 2, 40)
    predicted = y[:, None] * rng.uniform(0, 1, KINDS) + rng.normal(0, 1, (40, KINDS))
    weights = rng.uniform(0.5, 2, 40) if weighted else None
    found = learn_stack(predicted, y, weights)
    share = np.full(40, 1 / 40) if weights is None else weights / weights.sum()
    away, target = predicted - share @ predicted, y - share @ y
    unit = 2 * min(share @ (target[:, None] - away) ** 2) / 40

    def loss(w):
        apart = SUM_COST * (w.sum() - 1) ** 2 + APART_COST * ((w - w.mean()) ** 2).sum()
        return share @ (target - away @ w) ** 2 + unit * apart

    best = minimize(
        loss, np.full(KINDS, 1 / KINDS), bounds=[(0, None)] * KINDS, method="SLSQP", options={"ftol": 1e-14}
    )
    assert (found.weights >= 0).all()
    assert loss(found.weights) <= best.fun + 1e-5 * unit


def test_weights_do_not_depend_on_the_unit_of_targets():
    rng = np.random.default_rng(0)
    predicted = rng.normal(size=(50, KINDS))
    y = predicted @ [0.5, 0.2, 0.6] + rng.normal(0, 0.1, 50)
    for unit in (1e-120, 1e120):
        np.testing.assert_allclose(learn_stack(predicted * unit, y * unit).weights, learn_stack(predicted, y).weights)


@pytest.mark.parametrize(
    ("predicted", "y", "why"),
    [
        (np.ones((FEWEST - 1, KINDS)), np.arange(FEWEST - 1.0), "fewer than"),
        (np.ones((30, KINDS)), np.ones(30), "equal"),
        (np.arange(30.0)[:, None] * [1, 1, 2], np.arange(30.0), "no error"),
    ],
)
def test_without_a_stack_kinds_count_alike(predicted, y, why):
    stack = learn_stack(predicted, y)
    assert why in stack.why
    assert repr(stack).startswith("Stack(none")


@pytest.mark.parametrize(
    "options", [{"criterion": "absolute_error"}, {"criterion": "poisson"}, {"bootstrap": False}, {"n_estimators": 2}]
)
def test_some_forests_have_no_stack_and_predict_the_mean_of_their_trees(options):
    y = np.abs(Y[:60])
    forest = MixedForestRegressor(**{"n_estimators": 7, "random_state": 0} | options).fit(X[:60], y)
    assert forest.stack_.why
    expected = np.mean([tree.predict(FRESH)[:, 0, 0] for tree in forest.trees_], axis=0)
    np.testing.assert_allclose(forest.predict(FRESH), expected, atol=1e-12)


def test_a_forest_of_several_outputs_has_no_stack():
    forest = MixedForestRegressor(3, random_state=0).fit(X[:60], np.c_[Y[:60], Y[:60]])
    assert not hasattr(forest, "stack_")


def test_files_keep_the_stack(forest, tmp_path):
    save(forest, tmp_path / "model.hedge")
    loaded = load(tmp_path / "model.hedge")
    np.testing.assert_array_equal(loaded.stack_.weights, forest.stack_.weights)
    for name in ("predict", "predict_interval", "predict_bounds"):
        np.testing.assert_array_equal(getattr(loaded, name)(FRESH), getattr(forest, name)(FRESH))
    merged = merge(loaded, load(tmp_path / "model.hedge"))
    assert merged.stack_.why
    equal = np.mean([tree.predict(FRESH)[:, 0, 0] for tree in forest.trees_], axis=0)
    np.testing.assert_allclose(merged.predict(FRESH), equal, atol=1e-12)


def test_wrong_files_are_rejected(forest, tmp_path):
    from hedgerow.tasks.regression.storage import regressor_from_contents, regressor_to_contents

    def reread(change):
        contents, arrays = regressor_to_contents(forest)
        reported = dict(contents["fitted"])
        change(reported, arrays)
        return regressor_from_contents(MixedForestRegressor, contents | {"fitted": reported}, arrays)

    assert reread(lambda *_: None).stack_.n_rows == forest.stack_.n_rows
    for change in (
        lambda _, arrays: arrays.update({"stack.weights": np.array([-1.0, 1, 1])}),
        lambda _, arrays: arrays.update({"stack.weights": np.array([1.0, 1])}),
        lambda _, arrays: arrays.update({"stack.centres": np.full(3, 1e9)}),
        lambda reported, _: reported.update({"stack": 3}),
        lambda reported, _: reported.update({"stack": {"level": np.nan, "rows": 20}}),
    ):
        with pytest.raises(ModelFileError):
            reread(change)


def test_threads_warm_starts_and_pickles_change_nothing(forest):
    import pickle

    threads = MixedForestRegressor(N_TREES, n_jobs=3, random_state=0).fit(X[:N_ROWS], Y[:N_ROWS])
    warm = MixedForestRegressor(10, warm_start=True, random_state=0).fit(X[:N_ROWS], Y[:N_ROWS])
    warm.predict(FRESH)
    warm.set_params(n_estimators=N_TREES).fit(X[:N_ROWS], Y[:N_ROWS])
    for other in (threads, warm, pickle.loads(pickle.dumps(forest))):
        np.testing.assert_array_equal(other.stack_.weights, forest.stack_.weights)
        np.testing.assert_array_equal(other.predict_interval(FRESH), forest.predict_interval(FRESH))


def test_more_rows_are_learned_from():
    forest = MixedForestRegressor(12, random_state=0).fit(X[:100], Y[:100])
    assert forest.stack_.n_rows <= 100
    forest.partial_fit(X[100:N_ROWS], Y[100:N_ROWS])
    assert forest.stack_.n_rows > 100
    stack = forest.stack_
    expected = stack.level + (by_kind(forest, FRESH) - stack.centres) @ stack.weights
    np.testing.assert_allclose(forest.predict(FRESH), expected, atol=1e-10)


def test_bounds_hold_predictions_and_follow_the_weights(forest):
    stack, low, high = forest.stack_, Y[:N_ROWS].min(), Y[:N_ROWS].max()
    bounds, predicted = forest.predict_bounds(FRESH), forest.predict(FRESH)
    assert (bounds[:, 0] <= predicted).all()
    assert (predicted <= bounds[:, 1]).all()
    leaves = forest.forest_.leaves(np.ascontiguousarray(codes_of(forest, FRESH))) + forest.forest_.leaf_start[:-1]
    counts, means = forest.forest_.counts[leaves], forest.forest_.values[leaves]
    lower = (counts * means + low) / (counts + 1)
    upper = (counts * means + high) / (counts + 1)
    for column, of_trees in enumerate((lower, upper)):
        kinds = np.stack([of_trees[:, kind::KINDS].mean(axis=1) for kind in range(KINDS)], axis=1)
        expected = stack.level + (kinds - stack.centres) @ stack.weights
        np.testing.assert_allclose(bounds[:, column], expected, atol=1e-10)
    tight = MixedForestRegressor(N_TREES, caution=0, random_state=0).fit(X[:N_ROWS], Y[:N_ROWS]).predict_bounds(FRESH)
    np.testing.assert_allclose(tight[:, 0], tight[:, 1])


def codes_of(forest, rows):
    from hedgerow.inference.predictor import predictor_of

    return predictor_of(forest).read(rows).codes


@pytest.mark.parametrize("what", ["prediction", "lower", "upper", "width"])
def test_shap_values_add_up(forest, what):
    found, bounds = shap_values(forest, FRESH[:5], what), forest.predict_bounds(FRESH[:5])
    expected = {
        "prediction": forest.predict(FRESH[:5]),
        "lower": bounds[:, 0],
        "upper": bounds[:, 1],
        "width": bounds[:, 1] - bounds[:, 0],
    }[what]
    np.testing.assert_allclose(found.base + found.values.sum(axis=1), expected, atol=1e-10)


def test_exports_keep_the_stack(forest):
    onnxruntime, program = pytest.importorskip("onnxruntime"), {}
    session = onnxruntime.InferenceSession(to_onnx(forest).SerializeToString())
    predicted, lower, *_ = session.run(None, {"X": FRESH})
    np.testing.assert_allclose(predicted.ravel(), forest.predict(FRESH), atol=1e-10)
    np.testing.assert_allclose(lower.ravel(), forest.predict_bounds(FRESH)[:, 0], atol=1e-10)
    np.testing.assert_allclose(to_sklearn(forest).predict(FRESH), forest.predict(FRESH), atol=1e-10)
    exec(export_code(forest), program)
    for row, expected in zip(FRESH[:20], forest.predict(FRESH), strict=False):
        np.testing.assert_allclose(program["tree_predict"](row.tolist()), expected, atol=1e-10)


@pytest.mark.parametrize("method", ["scaled", "jackknife+"])
def test_intervals_cover_new_rows(method):
    covered = []
    for seed in range(6):
        rows, y = table(400, seed)
        forest = MixedForestRegressor(90, random_state=seed).fit(rows[:150], y[:150])
        found = forest.predict_interval(rows[150:], 0.8, method=method)
        covered.append(((found[:, 0] <= y[150:]) & (y[150:] <= found[:, 1])).mean())
    error = np.std(covered, ddof=1) / np.sqrt(len(covered))
    assert np.mean(covered) >= 0.8 - 3 * error
    assert np.mean(covered) <= (0.8 + 3 * error if method == "scaled" else 1)


def test_distributions_have_the_location_of_the_stack(forest):
    distribution = forest.predict_distribution(FRESH)
    away = distribution.mean - forest.predict(FRESH)
    residuals = fitted_of(forest).learned.last("residuals")[1]
    assert np.abs(away).max() < 0.2 * np.sqrt(residuals.mean_square)
    interval = forest.predict_interval(FRESH, 0.8)
    np.testing.assert_allclose(distribution.interval(0.8), interval)


def test_groups_leave_out_whole_groups_and_weights_count():
    groups = np.repeat(np.arange(60), 3)
    forest = MixedForestRegressor(21, oob_score=True, random_state=0).fit(X[:N_ROWS], Y[:N_ROWS], groups=groups)
    assert forest.stack_.n_rows <= 60
    weights = np.where(np.arange(N_ROWS) % 2, 5.0, 1.0)
    weighted = MixedForestRegressor(21, random_state=0).fit(X[:N_ROWS], Y[:N_ROWS], weights)
    assert weighted.stack_.level != forest.stack_.level


def test_every_output_has_a_stack(tmp_path):
    forest = MixedForestRegressor(15, random_state=0).fit(X[:N_ROWS], np.column_stack([Y, -2 * Y])[:N_ROWS])
    first, second = (output.stack_ for output in forest.outputs_)
    assert not first.why
    np.testing.assert_allclose(second.weights, first.weights, atol=1e-5)
    assert forest.predict(FRESH).shape == (len(FRESH), 2)
    save(forest, tmp_path / "model.hedge")
    np.testing.assert_array_equal(load(tmp_path / "model.hedge").predict(FRESH), forest.predict(FRESH))


def test_it_is_better_than_one_kind_where_kinds_differ():
    y = Y[N_ROWS:]
    forest = MixedForestRegressor(90, random_state=0).fit(X[:N_ROWS], Y[:N_ROWS])
    alone = RandomForestRegressor(90, random_state=0).fit(X[:N_ROWS], Y[:N_ROWS])
    assert np.mean((forest.predict(FRESH) - y) ** 2) < np.mean((alone.predict(FRESH) - y) ** 2)


def test_a_stack_says_what_it_has_learned():
    assert repr(Stack(np.array([0.5, 0.25, 0.4]), np.zeros(3), 1.0, 1234)) == (
        "Stack(weights 0.50, 0.25, 0.40, learned on 1,234 rows)"
    )
