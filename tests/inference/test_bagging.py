"""What the bootstrap gives for free: errors, the number of trees and of features, and the variance of a forest."""

from __future__ import annotations

import math
import pickle
import warnings
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from tests.reference.oob import slow_errors, slow_limit

import hedgerow
from hedgerow import (
    DecisionTreeClassifier,
    ExtraTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    theory,
)
from hedgerow.fit.run import feature_numbers
from hedgerow.forest.forest import trees_between
from hedgerow.inference.fitted import fitted_of
from hedgerow.inference.oob import FEWEST_TREES, FLAT, MOST_TREES, BootstrapErrors, is_flat, stages
from hedgerow.inference.predictor import predictor_of
from hedgerow.tasks.regression.predictor import regression_trace

SENSES = ["all", "inbag", "distinct", "oob"]


def draw(seed: int, n_rows: int = 80, n_classes: int = 3) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Rows whose class depends on two of four features, and on luck."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4)).round(1)
    return X, np.clip(X[:, 0] + X[:, 1] + rng.normal(size=n_rows) + n_classes / 2, 0, n_classes - 1).astype(int)


# ---- errors -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3, 12])
@pytest.mark.parametrize("leaf_counts", SENSES)
def test_errors_are_what_their_definitions_say(leaf_counts: str, n_classes: int) -> None:
    X, y = draw(0, n_classes=n_classes)
    forest = RandomForestClassifier(15, leaf_counts=leaf_counts, oob_score=True, calibration=None, random_state=1).fit(
        X, y
    )
    errors = forest.oob_errors_
    found = errors.out_of_bag, errors.resubstitution, errors.no_information
    np.testing.assert_allclose(found, slow_errors(forest, X, y), rtol=0, atol=1e-12)
    assert errors.ensemble == pytest.approx(1 - forest.oob_score_, abs=1e-15)


@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("kind", [RandomForestClassifier, RandomForestRegressor])
def test_rows_without_a_judge_are_named_and_left_out_of_the_score(kind: type[Any], outputs: int) -> None:
    X, y = draw(0)
    y = y if outputs == 1 else np.column_stack([y, 1 - y])
    with pytest.warns(UserWarning, match="Some inputs do not have OOB scores") as told:
        forest = kind(2, oob_score=True, random_state=0).fit(X, y)
    judged = fitted_of(forest).rows.oob_mask.number(2) > 0
    assert len(told) == 1
    assert f"{(~judged).sum()} of 80 rows" in str(told[0].message)
    output = forest.outputs_[0]
    own = output.oob_decision_function_ if kind is RandomForestClassifier else output.oob_prediction_
    if kind is RandomForestClassifier:
        assert np.array_equal(own[~judged], np.full((int((~judged).sum()), 3), 1 / 3))
        first = y if outputs == 1 else y[:, 0]
        assert output.oob_score_ == np.mean(own.argmax(axis=1)[judged] == first[judged])
    else:
        assert np.array_equal(np.isnan(own), ~judged)


def test_a_forest_that_judges_all_rows_says_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RandomForestClassifier(50, oob_score=True, random_state=0).fit(*draw(0))
        RandomForestClassifier(2, random_state=0).fit(*draw(0))


def test_the_632_estimate_is_that_of_the_lecture() -> None:
    errors = RandomForestClassifier(30, random_state=0).fit(*draw(1)).oob_errors_
    assert errors.err632 == pytest.approx(0.368 * errors.resubstitution + 0.632 * errors.out_of_bag, abs=1e-15)
    assert errors.resubstitution < errors.err632 < errors.err632plus < errors.out_of_bag


def test_a_tree_that_knows_its_rows_by_heart_knows_nothing_of_others() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 3)), rng.integers(0, 2, 400)
    errors = RandomForestClassifier(60, leaf_counts="inbag", random_state=0).fit(X, y).oob_errors_
    assert errors.resubstitution == 0
    assert abs(errors.out_of_bag - 0.5) < 4 * 0.5 / math.sqrt(400)
    assert abs(errors.err632 - 0.632 * errors.out_of_bag) < 1e-12  # far too low: the truth is one half
    assert errors.overfitting > 0.9
    assert abs(errors.err632plus - 0.5) < 4 * 0.5 / math.sqrt(400)


@pytest.mark.parametrize(
    ("errors", "overfitting", "plus"),
    [
        (BootstrapErrors(0.3, 0.1, 0.2, 0.5), 0.5, None),
        (BootstrapErrors(0.1, 0.1, 0.1, 0.5), 0.0, 0.1),  # no overfitting: both errors are one
        (BootstrapErrors(0.6, 0.0, 0.5, 0.5), 1.0, 0.632 * 0.6 + 0.368 * 0.5),  # only the correction is capped
        (BootstrapErrors(0.1, 0.2, 0.1, 0.5), 0.0, 0.368 * 0.2 + 0.632 * 0.1),  # luck
        (BootstrapErrors(0.0, 0.0, 0.0, 0.0), 0.0, 0.0),
    ],
)
def test_relative_overfitting_weighs_the_632plus_estimate(
    errors: BootstrapErrors, overfitting: float, plus: float | None
) -> None:
    assert errors.overfitting == pytest.approx(overfitting)
    weight = 0.632 / (1 - 0.368 * overfitting)
    expected = (1 - weight) * errors.resubstitution + weight * errors.out_of_bag if plus is None else plus
    assert errors.err632plus == pytest.approx(expected)


def test_a_forest_without_bags_has_no_such_errors() -> None:
    forest = ExtraTreesClassifier(5, random_state=0).fit(*draw(2))
    for name in ("oob_errors_", "oob_trace_"):
        with pytest.raises(AttributeError, match="bootstrap=True"):
            getattr(forest, name)
    with pytest.raises(AttributeError, match="bootstrap=True"):
        forest.predict_variance(draw(2)[0])


# ---- the trace ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("leaf_counts", ["all", "inbag"])
@pytest.mark.parametrize("rule", ["average", "vote", "eva", "dempster", "cautious", "interval_disjunction", "median"])
def test_the_trace_is_the_error_of_every_smaller_forest(rule: str, leaf_counts: str) -> None:
    X, y = draw(3)
    forest = RandomForestClassifier(12, rule=rule, leaf_counts=leaf_counts, calibration=None, random_state=5)
    smaller = [clone(forest).set_params(n_estimators=t, oob_score=True).fit(X, y).oob_score_ for t in range(1, 13)]
    np.testing.assert_allclose(forest.fit(X, y).oob_trace_, 1 - np.array(smaller), rtol=0, atol=1e-12)


def test_the_trace_knows_many_classes_and_weights() -> None:
    X, y = draw(4, n_rows=150, n_classes=12)
    weights = np.random.default_rng(0).random(150) + 0.5
    forest = RandomForestClassifier(10, calibration=None, random_state=2, oob_score=True).fit(X, y, weights)
    assert forest.oob_trace_.shape == (10,)
    assert forest.oob_trace_[-1] == pytest.approx(1 - forest.oob_score_, abs=1e-12)


def test_the_trace_follows_the_rule_and_survives_a_pickle() -> None:
    forest = RandomForestClassifier(20, random_state=0).fit(*draw(5))
    average = forest.oob_trace_
    assert np.array_equal(pickle.loads(pickle.dumps(forest)).oob_trace_, average)
    voted = forest.set_params(rule="vote").oob_trace_
    assert not np.array_equal(voted, average)
    assert forest.set_params(rule="average").fit(*draw(6)).oob_trace_.tolist() != average.tolist()


def test_some_trees_of_a_forest_are_a_forest() -> None:
    for n_classes in (3, 12):
        X, y = draw(7, n_classes=n_classes)
        forest = RandomForestClassifier(8, calibration=None, categorical_features=[3], random_state=0).fit(X, y)
        codes = predictor_of(forest).read(X).codes
        part = trees_between(forest.forest_, 2, 5)
        assert np.array_equal(part.leaves(codes), forest.forest_.leaves(codes)[:, 2:5])
        for tree in range(3):
            assert np.array_equal(part.leaf_counts(tree), forest.forest_.leaf_counts(tree + 2))
        mean = np.mean([trees_between(forest.forest_, t, t + 1).probability(codes) for t in range(8)], axis=0)
        np.testing.assert_allclose(forest.predict_proba(X), mean, atol=1e-12)


# ---- how many trees, how many features ----------------------------------------------------------------------


def share_error(n_rows: int) -> Callable[[float], float]:
    """The standard error of a share of so many rows."""
    return lambda share: math.sqrt(share * (1 - share) / n_rows)


def test_stages_grow_by_half_to_the_most_there_may_be() -> None:
    spans = list(stages())
    assert spans[0] == (0, FEWEST_TREES)
    assert spans[-1][1] == MOST_TREES
    assert all(before[1] == after[0] for before, after in pairwise(spans))


def test_a_trace_is_flat_when_half_more_trees_bring_next_to_nothing() -> None:
    (_, few), (_, more) = list(stages())[:2]
    step = FLAT * share_error(400)(0.5)
    assert step == pytest.approx(FLAT * 0.5 / 20)
    assert not is_flat([0.5] * few, share_error(400))
    assert is_flat([0.5] * more, share_error(400))
    assert is_flat([0.5] * few + [0.5 - 0.9 * step] * (more - few), share_error(400))
    assert not is_flat([0.5] * few + [0.5 - 1.1 * step] * (more - few), share_error(400))
    assert is_flat([0.0] * more, share_error(400))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_trees_are_grown_until_the_error_is_flat_and_no_further(n_jobs: int) -> None:
    X, y = load_iris(return_X_y=True)
    forest = RandomForestClassifier("auto", n_jobs=n_jobs, random_state=0).fit(X, y)
    n_trees = forest.forest_.n_trees
    ends = [last for _, last in stages()]
    trace = forest.oob_trace_.tolist()
    assert n_trees in ends
    assert is_flat(trace, share_error(len(y)))
    assert not any(is_flat(trace[:end], share_error(len(y))) for end in ends if end < n_trees)
    fixed = RandomForestClassifier(n_trees, random_state=0).fit(X, y)
    assert np.array_equal(forest.predict_proba(X), fixed.predict_proba(X))


def test_pruned_trees_are_counted_as_they_are() -> None:
    X, y = draw(8, n_rows=200)
    forest = RandomForestClassifier("auto", ccp_alpha=0.01, random_state=0).fit(X, y)
    assert is_flat(forest.oob_trace_.tolist(), share_error(len(y)))


def test_callbacks_hear_of_every_stage() -> None:
    pytest.importorskip("sklearn.callback", reason="scikit-learn has no callbacks before 1.9")
    from tests.whole.test_bad_input import StopAfter

    X, y = load_iris(return_X_y=True)
    alone = RandomForestClassifier("auto", random_state=0).fit(X, y)
    callback = StopAfter(10**9)
    watched = RandomForestClassifier("auto", random_state=0).set_callbacks(callback).fit(X, y)
    assert watched.forest_.n_trees == alone.forest_.n_trees
    assert callback.n_seen == [last for _, last in stages()].index(alone.forest_.n_trees) + 1


def test_features_are_those_with_the_least_out_of_bag_error() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 30))
    y = (X[:, 0] > 0).astype(int)  # one feature says it all: look at every one of them
    forest = RandomForestClassifier(20, calibration=None, max_features="oob", random_state=0).fit(X, y)
    errors = forest.max_features_errors_
    assert list(errors) == feature_numbers(30) == [1, 3, 5, 10, 11, 15, 30]
    assert errors[forest.max_features_] == min(errors.values())
    assert forest.max_features_ > 5
    fixed = RandomForestClassifier(20, calibration=None, max_features=forest.max_features_, random_state=0).fit(X, y)
    assert np.array_equal(forest.predict_proba(X), fixed.predict_proba(X))
    pilot = RandomForestClassifier(50, calibration=None, max_features=3, random_state=0, oob_score=True).fit(X, y)
    assert errors[3] == pytest.approx(1 - pilot.oob_score_, abs=1e-12)


def draw_numbers(n_rows: int = 200) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 6))
    return X, X[:, 0] ** 2 + X[:, 1] + 0.3 * rng.normal(size=n_rows)


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error"])
def test_the_trace_of_numbers_is_the_error_of_ever_larger_forests(criterion: str) -> None:
    X, y = draw_numbers(90)
    forest = RandomForestRegressor(12, criterion=criterion, random_state=0).fit(X, y)
    trace = forest.oob_trace_
    for n_trees in (1, 4, 12):
        smaller = RandomForestRegressor(n_trees, criterion=criterion, random_state=0, oob_score=True).fit(X, y)
        off = (smaller.oob_prediction_ - y)[~np.isnan(smaller.oob_prediction_)]
        error = np.mean(np.abs(off)) if criterion == "absolute_error" else np.mean(off**2)
        assert trace[n_trees - 1] == pytest.approx(error, rel=1e-12)
    assert np.array_equal(pickle.loads(pickle.dumps(forest)).oob_trace_, trace)
    with pytest.raises(AttributeError, match="oob_trace_ requires out-of-bag rows"):
        _ = RandomForestRegressor(3, bootstrap=False).fit(X, y).oob_trace_


def test_regression_trees_are_grown_until_the_error_is_flat_and_no_further() -> None:
    X, y = draw_numbers()
    forest = RandomForestRegressor("auto", random_state=0).fit(X, y)
    n_trees = forest.forest_.n_trees
    ends = [last for _, last in stages()]
    trace = regression_trace(fitted_of(forest).rows)
    flat = []
    for end in ends[: ends.index(n_trees) + 1]:
        trace.extend(trees_between(forest.forest_, 0, end))
        flat.append(is_flat(trace.errors, trace.standard_error))
    assert flat == [False] * (len(flat) - 1) + [True]
    fixed = RandomForestRegressor(n_trees, random_state=0).fit(X, y)
    assert np.array_equal(forest.predict(X), fixed.predict(X))


def test_features_of_a_regression_are_those_with_the_least_error(tmp_path: Path) -> None:
    X, y = draw_numbers()
    forest = RandomForestRegressor(10, max_features="oob", random_state=0).fit(X, y)
    errors = forest.max_features_errors_
    assert list(errors) == feature_numbers(6)
    assert errors[forest.max_features_] == min(errors.values())
    assert forest.max_features_ > 1
    pilot = RandomForestRegressor(50, max_features=3, random_state=0).fit(X, y)
    assert errors[3] == pytest.approx(pilot.oob_trace_[-1], rel=1e-12)
    fixed = RandomForestRegressor(10, max_features=forest.max_features_, random_state=0).fit(X, y)
    assert np.array_equal(forest.predict(X), fixed.predict(X))
    hedgerow.save(forest, tmp_path / "numbers.hedge")
    loaded = hedgerow.load(tmp_path / "numbers.hedge")
    assert (loaded.max_features_, loaded.max_features_errors_) == (forest.max_features_, errors)


def test_a_warm_start_keeps_its_features() -> None:
    X, y = draw(9)
    forest = RandomForestClassifier(5, max_features="oob", warm_start=True, random_state=0).fit(X, y)
    chosen, errors = forest.max_features_, forest.max_features_errors_
    forest.set_params(n_estimators=9).fit(X, y)
    assert (forest.max_features_, forest.max_features_errors_) == (chosen, errors)
    whole = RandomForestClassifier(9, max_features=chosen, random_state=0).fit(X, y)
    assert np.array_equal(forest.predict_proba(X), whole.predict_proba(X))
    fixed = forest.set_params(max_features="sqrt", warm_start=False).fit(X, y)
    assert fixed.max_features_ == int(X.shape[1] ** 0.5)
    assert not hasattr(fixed, "max_features_errors_")


@pytest.mark.parametrize(
    ("estimator", "words"),
    [
        (ExtraTreesClassifier("auto"), "requires bootstrap=True"),
        (ExtraTreesClassifier(max_features="oob"), "requires bootstrap=True"),
        (DecisionTreeClassifier(max_features="oob"), "requires bootstrap=True"),
        (RandomForestClassifier("auto", warm_start=True), "warm start"),
        (RandomForestClassifier("enough"), "'auto'"),
        (RandomForestClassifier(max_features="best"), "'oob'"),
    ],
)
def test_out_of_bag_choices_need_bags(estimator: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        estimator.fit(*draw(0))


# ---- variance -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("leaf_counts", SENSES)
def test_variance_is_that_of_leave_one_out_forests(leaf_counts: str, n_classes: int) -> None:
    X, y = draw(10, n_rows=30, n_classes=n_classes)
    forest = RandomForestClassifier(60, leaf_counts=leaf_counts, min_samples_leaf=2, random_state=0).fit(X, y)
    asked = draw(11, n_rows=5)[0]
    parts = forest.predict_variance(asked)
    expected = slow_limit(forest, X, y, asked)
    assert (expected > 0).any()
    np.testing.assert_allclose(parts.limit, expected, rtol=1e-9, atol=1e-12)


def test_variance_has_the_parts_of_the_lecture() -> None:
    X, y = draw(12, n_rows=60)
    forest = RandomForestClassifier(100, random_state=0).fit(X, y)
    parts = forest.predict_variance(X[:20])
    np.testing.assert_allclose(
        parts.forest, theory.averaged_variance(parts.tree, parts.correlation, 100), rtol=1e-9, atol=1e-15
    )
    np.testing.assert_allclose(parts.limit, parts.correlation * parts.tree, rtol=1e-9, atol=1e-15)
    shares = np.stack([forest.evidence(X[:20]).counts[:, tree] for tree in range(100)], axis=1)
    shares = shares / shares.sum(axis=2, keepdims=True)
    np.testing.assert_allclose(parts.tree - parts.limit, shares.var(axis=1, ddof=1), rtol=1e-9, atol=1e-12)


def test_a_tree_without_splits_varies_like_a_mean() -> None:
    y = np.repeat([0, 1], [15, 25])
    forest = RandomForestClassifier(50, random_state=0).fit(np.ones((40, 1)), y)
    parts = forest.predict_variance([[1.0]])
    np.testing.assert_allclose(parts.forest, [[15 / 40 * 25 / 40 / 39] * 2], rtol=1e-12)
    np.testing.assert_allclose(parts.correlation, 1)


def test_blocks_of_samples_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = draw(13)
    forest = RandomForestClassifier(20, random_state=0).fit(X, y)
    whole = forest.predict_variance(X)
    monkeypatch.setattr("hedgerow.inference.variance.BLOCK_BYTES", 5000)
    for one, other in zip(whole, forest.predict_variance(X), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_the_jackknife_is_near_the_truth_and_on_the_safe_side() -> None:
    repetitions, asked = 40, np.zeros((1, 3))
    answers, estimates = [], []
    for seed in range(repetitions):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(80, 3))
        y = rng.random(80) < 1 / (1 + np.exp(-2 * X[:, 0]))
        forest = RandomForestClassifier(100, min_samples_leaf=10, random_state=seed).fit(X, y)
        answers.append(forest.predict_proba(asked)[0, 1])
        estimates.append(forest.predict_variance(asked).forest[0, 1])
    truth, error = np.var(answers, ddof=1), 3 * math.sqrt(2 / repetitions)
    assert truth * (1 - error) < np.mean(estimates) < 2 * truth


def test_variance_needs_trees_and_rows_that_weigh_the_same() -> None:
    X, y = draw(14)
    weights = np.random.default_rng(0).random(len(y)) + 0.5
    with pytest.raises(ValueError, match="n_estimators must be at least 2 for a variance, got 1"):
        RandomForestClassifier(1, random_state=0).fit(X, y).predict_variance(X)
    with pytest.raises(ValueError, match="leaf_counts must be"):
        RandomForestClassifier(5, random_state=0).fit(X, y, weights).predict_variance(X)


@pytest.mark.parametrize("leaf_counts", ["inbag", "distinct"])
def test_variance_of_a_weighted_forest_is_that_of_leave_one_out_forests(leaf_counts: str) -> None:
    X, y = draw(10, n_rows=30)
    weights = np.random.default_rng(0).random(len(y)) + 0.5
    forest = RandomForestClassifier(60, leaf_counts=leaf_counts, min_samples_leaf=2, random_state=0).fit(X, y, weights)
    asked = draw(11, n_rows=5)[0]
    expected = slow_limit(forest, X, y, asked, weights)
    assert (expected > 0).any()
    np.testing.assert_allclose(forest.predict_variance(asked).limit, expected, rtol=1e-9, atol=1e-12)


def test_variance_asks_what_leaves_hold_and_not_what_a_next_fit_would_count() -> None:
    X, y = draw(14)
    forest = RandomForestClassifier(10, random_state=0).fit(X, y)
    before = forest.predict_variance(X).forest
    np.testing.assert_array_equal(forest.set_params(leaf_counts="inbag").predict_variance(X).forest, before)


def test_estimates_stand_on_a_real_table() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    forest = RandomForestClassifier("auto", random_state=0, oob_score=True).fit(X, y)
    errors = forest.oob_errors_
    assert errors.ensemble < errors.err632 < errors.out_of_bag  # trees together are better than trees alone
    assert forest.oob_trace_[-1] == pytest.approx(errors.ensemble, abs=1e-12)
    assert forest.oob_trace_[0] > forest.oob_trace_[-1]


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error"])
def test_errors_of_regression_trees_are_what_their_definitions_say(criterion):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = X[:, 0] + rng.normal(size=60)
    forest = RandomForestRegressor(12, criterion=criterion, max_depth=4, random_state=0).fit(X, y)
    errors = forest.oob_errors_
    leaves = forest.apply(X)
    said = np.stack([tree.evidence.values[leaves[:, t]] for t, tree in enumerate(forest.trees_)], axis=1)
    loss = np.abs if criterion == "absolute_error" else np.square
    outside = np.stack([fitted_of(forest).rows.bags.outside(t) for t in range(12)], axis=1)
    for name, counted in (("out_of_bag", outside), ("resubstitution", ~outside)):
        each = [loss(said[row, counted[row]] - y[row]).mean() for row in range(60) if counted[row].any()]
        assert getattr(errors, name) == pytest.approx(np.mean(each))
    assert errors.no_information == pytest.approx(np.mean([loss(a - said[:, t]).mean() for a in y for t in range(12)]))
    assert errors.ensemble == pytest.approx(forest.oob_trace_[-1])
    assert errors.resubstitution < errors.err632 < errors.out_of_bag
