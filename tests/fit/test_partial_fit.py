"""`partial_fit`: rows that arrive later are counted as if they had been there at once."""

from __future__ import annotations

import io
import pickle
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from tests.reference.later import count_by_hand, moments_by_hand, same_forest, times_counted

import hedgerow
from hedgerow import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    PairwiseTreesClassifier,
    RandomDecisionTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from hedgerow.inference.fitted import fitted_of, publish
from hedgerow.rules import Belief

SENSES = ("all", "inbag", "distinct", "oob")


def table(n_rows: int, n_classes: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, 4)).round(2)
    y = np.clip(np.floor(X[:, 0] + 0.3 * random.normal(size=n_rows) + n_classes / 2), 0, n_classes - 1).astype(int)
    X[random.random(X.shape) < 0.05] = np.nan
    return X, y


def mixed_table(n_rows: int, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    random = np.random.default_rng(seed)
    frame = pd.DataFrame({"x": random.normal(size=n_rows), "colour": random.choice(list("abcdefgh"), n_rows)})
    frame["size"] = random.choice(["s", "m", "l", "xl"], n_rows)
    return frame, ((frame["x"] > 0) ^ (frame["colour"] < "d")).to_numpy().astype(int)


def in_parts(model: Any, X: Any, y: np.ndarray, n_parts: int, weights: np.ndarray | None = None) -> Any:
    for rows in np.array_split(np.arange(len(y)), n_parts):
        part = X.iloc[rows] if isinstance(X, pd.DataFrame) else X[rows]
        model.partial_fit(part, y[rows], sample_weight=None if weights is None else weights[rows])
    return model


def assert_counts_are(model: Any, by_hand: list[tuple[np.ndarray, np.ndarray]]) -> None:
    for tree, (rows, weights) in zip(model.trees_, by_hand, strict=True):
        assert np.array_equal(tree.counts[tree.is_leaf], rows[tree.is_leaf])
        np.testing.assert_allclose(tree.weights[tree.is_leaf], weights[tree.is_leaf], rtol=1e-6)


@pytest.mark.parametrize("leaf_counts", SENSES)
@pytest.mark.parametrize("n_classes", [2, 3, 11])
def test_leaves_hold_what_counting_all_rows_at_once_gives(leaf_counts: str, n_classes: int) -> None:
    X, y = table(400, n_classes)
    forest = RandomForestClassifier(5, leaf_counts=leaf_counts, max_depth=6, random_state=1).fit(X[:150], y[:150])
    in_parts(forest, X[150:], y[150:], 3)
    assert_counts_are(forest, count_by_hand(forest, X, y))


@pytest.mark.parametrize("leaf_counts", SENSES)
@pytest.mark.parametrize("n_classes", [2, 11])
@pytest.mark.parametrize("weights", ["none", "whole", "real"])
def test_ten_parts_are_one_count(leaf_counts: str, n_classes: int, weights: str) -> None:
    X, y = table(400, n_classes)
    random = np.random.default_rng(3)
    given = {"none": None, "whole": random.integers(1, 4, 250).astype(float), "real": random.random(250)}[weights]
    once, parts = (
        RandomForestClassifier(4, leaf_counts=leaf_counts, random_state=1).fit(X[:150], y[:150]) for _ in range(2)
    )
    once.partial_fit(X[150:], y[150:], sample_weight=given)
    in_parts(parts, X[150:], y[150:], 10, given)
    assert same_forest(once.forest_, parts.forest_)
    assert fitted_of(once).origins == fitted_of(parts).origins
    assert np.array_equal(once.predict_bounds(X), parts.predict_bounds(X))
    assert np.array_equal(once.oob_evidence_.counts, parts.oob_evidence_.counts)


@pytest.mark.parametrize(
    "model",
    [DecisionTreeClassifier(max_depth=3), ExtraTreesClassifier(3), RandomDecisionTreesClassifier(3)],
    ids=lambda model: type(model).__name__,
)
def test_every_classifier_counts_later_rows(model: Any) -> None:
    X, y = table(300)
    model = clone(model).set_params(random_state=0).fit(X[:100], y[:100])
    assert_counts_are(in_parts(model, X[100:], y[100:], 4), count_by_hand(model, X, y))


def test_a_category_that_borrowed_its_counts_gets_a_leaf_with_its_first_row() -> None:
    X, y = mixed_table(600)
    once, parts = (RandomDecisionTreesClassifier(6, random_state=0).fit(X[:60], y[:60]) for _ in range(2))
    borrowed = sum(int(tree.is_borrowed.sum()) for tree in once.trees_)
    once.partial_fit(X[60:], y[60:])
    in_parts(parts, X[60:], y[60:], 10)
    assert sum(int(tree.is_borrowed.sum()) for tree in once.trees_) < borrowed
    assert_counts_are(once, count_by_hand(once, X, y))
    assert same_forest(once.forest_, parts.forest_)
    assert same_forest(again(once).forest_, once.forest_)


@given(cuts=st.lists(st.integers(1, 79), max_size=6), weighted=st.booleans())
@settings(max_examples=25)
def test_any_way_of_cutting_the_rows_gives_the_same_leaves(cuts: list[int], weighted: bool) -> None:
    X, y = mixed_table(140, seed=1)
    weights = np.random.default_rng(0).random(80) + 0.1 if weighted else None
    whole, parts = (RandomDecisionTreesClassifier(3, random_state=0).fit(X[:60], y[:60]) for _ in range(2))
    whole.partial_fit(X[60:], y[60:], sample_weight=weights)
    edges = sorted({0, 80, *cuts})
    for first, last in pairwise(edges):
        given = None if weights is None else weights[first:last]
        parts.partial_fit(X[60 + first : 60 + last], y[60 + first : 60 + last], sample_weight=given)
    assert same_forest(whole.forest_, parts.forest_)


def test_weights_count_relative_to_those_of_the_first_rows() -> None:
    X, y = table(300, 2)
    first, later = np.random.default_rng(0).random((2, 150)) * 7
    forest = RandomForestClassifier(4, random_state=0, max_depth=4, bootstrap=False).fit(X[:150], y[:150], first)
    forest.partial_fit(X[150:], y[150:], sample_weight=later)
    by_hand = count_by_hand(forest, X, y, np.concatenate([first, later]))
    for tree, (rows, weights) in zip(forest.trees_, by_hand, strict=True):
        assert np.array_equal(tree.counts, rows)
        np.testing.assert_allclose(tree.weights[0] / tree.weights[0].sum(), weights[0] / weights[0].sum(), rtol=1e-7)
    equal = RandomForestClassifier(4, random_state=0).fit(X[:150], y[:150], np.full(150, 2.0))
    equal.partial_fit(X[150:], y[150:])  # each weighs one: half of what the first ones do
    halves = count_by_hand(equal, X, y, np.concatenate([np.ones(150), np.full(150, 0.5)]))
    assert_counts_are(equal, halves)


def test_rows_without_weight_do_not_count() -> None:
    X, y = table(200)
    weights = (np.arange(100) % 2).astype(float)
    first, second = (RandomForestClassifier(3, random_state=0).fit(X[:100], y[:100]) for _ in range(2))
    first.partial_fit(X[100:], y[100:], sample_weight=weights)
    second.partial_fit(X[100:][weights > 0], y[100:][weights > 0])
    assert same_forest(first.forest_, second.forest_)


@pytest.mark.parametrize("leaf_counts", SENSES)
def test_out_of_bag_evidence_is_that_of_all_rows_without_their_own_count(leaf_counts: str) -> None:
    X, y = table(260)
    forest = RandomForestClassifier(6, leaf_counts=leaf_counts, random_state=2, max_depth=5).fit(X[:140], y[:140])
    in_parts(forest, X[140:], y[140:], 4)
    evidence, by_hand = forest.oob_evidence_, count_by_hand(forest, X, y)
    assert evidence.n_samples == 260
    nodes = forest.apply(X)
    for tree, (rows, _) in enumerate(by_hand):
        outside = times_counted(forest, tree, 260, "oob", 1.0) > 0
        assert np.array_equal(evidence.tree_mask[:, tree], outside)
        expected = rows[nodes[:, tree]]
        if leaf_counts in ("all", "oob"):
            expected[np.arange(260), y] -= 1
        assert np.array_equal(evidence.counts[outside, tree], expected[outside])


def test_what_was_learned_out_of_bag_is_learned_again() -> None:
    X, y = table(400)
    settings = {"random_state": 0, "oob_score": True, "caution": "auto", "calibration": None}
    forest = RandomForestClassifier(15, **settings).fit(X[:100], y[:100])
    forest.partial_fit(X[100:], y[100:])
    assert len(forest.oob_decision_function_) == 400
    judged = forest.oob_evidence_.is_covered
    predicted = forest.oob_decision_function_[judged].argmax(axis=1)
    assert forest.oob_score_ == pytest.approx(np.mean(predicted == y[judged]))
    assert forest.oob_errors_.ensemble == pytest.approx(1 - forest.oob_score_)
    assert len(forest.oob_trace_) == 15
    forest.set_params(rule=Belief(weights="learned"))
    assert forest.predict_set(X[:5]).shape == (5, 3)


def test_bags_that_were_empty_once_give_no_out_of_bag_figures_and_still_count_right() -> None:
    X, y = table(60)
    once, parts = (
        RandomForestClassifier(30, max_samples=1, leaf_counts="inbag", random_state=0).fit(X[:30], y[:30])
        for _ in range(2)
    )
    once.partial_fit(X[30:], y[30:])
    in_parts(parts, X[30:], y[30:], 10)
    assert same_forest(once.forest_, parts.forest_)
    with pytest.raises(AttributeError, match="oob_evidence_"):
        _ = once.oob_evidence_


def test_new_classes_are_allowed_when_declared() -> None:
    X, y = table(300)
    names = np.array(["cherry", "apple", "banana"])[y]
    first = names != "banana"
    forest = RandomForestClassifier(5, random_state=0).fit(X[first], names[first])
    before = forest.predict_proba(X)
    with pytest.raises(ValueError, match=r"y must have known classes.*got \['banana'\]. Declare"):
        forest.partial_fit(X[~first], names[~first])
    with pytest.raises(ValueError, match=r"classes must include all known classes, got a list without \['cherry'\]"):
        forest.partial_fit(X[~first], names[~first], classes=["apple", "banana"])
    assert np.array_equal(forest.predict_proba(X), before)  # refused calls change nothing
    forest.partial_fit(X[~first], names[~first], classes=["cherry", "apple", "banana"])
    assert forest.classes_.tolist() == ["apple", "banana", "cherry"]
    order = np.concatenate([np.flatnonzero(first), np.flatnonzero(~first)])
    assert_counts_are(forest, count_by_hand(forest, X[order], names[order]))
    assert forest.oob_evidence_.counts.shape == (300, 5, 3)
    assert forest.predict_proba(X).shape == (300, 3)


def test_more_than_eight_classes_are_kept_sparsely_from_then_on() -> None:
    X, y = table(400, 12)
    few = y < 8
    forest = RandomForestClassifier(4, random_state=0).fit(X[few], y[few])
    assert forest.forest_.entry_start is None
    forest.partial_fit(X[~few], y[~few], classes=np.arange(12))
    assert forest.forest_.entry_start is not None
    order = np.concatenate([np.flatnonzero(few), np.flatnonzero(~few)])
    assert_counts_are(forest, count_by_hand(forest, X[order], y[order]))


def test_the_first_call_fits_and_must_declare_the_classes() -> None:
    X, y = table(200)
    with pytest.raises(ValueError, match="classes must be passed on the first call to partial_fit"):
        RandomForestClassifier(3, calibration=None).partial_fit(X, y)
    begun = RandomForestClassifier(3, calibration=None, random_state=0).partial_fit(X[:100], y[:100], classes=[0, 1, 2])
    assert same_forest(
        begun.forest_, RandomForestClassifier(3, calibration=None, random_state=0).fit(X[:100], y[:100]).forest_
    )
    wider = RandomForestClassifier(3, calibration=None, random_state=0).partial_fit(X[:100], y[:100], classes=range(5))
    assert wider.classes_.tolist() == [0, 1, 2, 3, 4]
    assert wider.predict_proba(X).shape == (200, 5)
    assert not wider.predict_proba(X)[:, 3:].any()
    with pytest.raises(ValueError, match=r"got \[2\]"):
        RandomForestClassifier(3, calibration=None).partial_fit(X, y, classes=[0, 1])


def test_fit_begins_anew() -> None:
    X, y = table(200)
    forest = RandomForestClassifier(3, random_state=0).fit(X, y)
    fresh = pickle.dumps(forest.forest_.arrays())
    forest.partial_fit(X, y, classes=[0, 1, 2, 3]).fit(X, y)
    assert pickle.dumps(forest.forest_.arrays()) == fresh
    assert forest.classes_.tolist() == [0, 1, 2]


def test_what_cannot_be_added_to_says_so() -> None:
    X, y = table(100, 2)
    numbers = X[:, [1]]
    with pytest.raises(ValueError, match="class_weight must be None or a dict for partial_fit, got 'balanced'"):
        RandomForestClassifier(3, class_weight="balanced").fit(X, y).partial_fit(X, y)
    assert not hasattr(RandomForestClassifier(3, monotonic_cst=[1]), "partial_fit")
    assert not hasattr(RandomForestRegressor(3, criterion="absolute_error"), "partial_fit")
    assert not hasattr(PairwiseTreesClassifier(), "partial_fit")
    with pytest.raises(ValueError, match="X has 1 features, but RandomForestClassifier is expecting 4"):
        RandomForestClassifier(3).fit(X, y).partial_fit(numbers, y)
    with pytest.raises(ValueError, match="partial_fit does not support uncertain labels"):
        RandomForestClassifier(3).fit(X, y).partial_fit(X[:2], [{0, 1}, {1}])


def test_class_weights_of_a_dict_hold_for_later_rows() -> None:
    X, y = table(200, 2)
    forest = RandomForestClassifier(3, class_weight={0: 1.0, 1: 3.0}, random_state=0).fit(X[:100], y[:100])
    assert_counts_are(forest.partial_fit(X[100:], y[100:]), count_by_hand(forest, X, y, np.where(y == 1, 3.0, 1.0)))


def again(model: Any) -> Any:
    file = io.BytesIO()
    hedgerow.save(model, file)
    file.seek(0)
    return hedgerow.load(file)


@pytest.mark.parametrize("leaf_counts", SENSES)
@pytest.mark.parametrize("copy", [again, lambda model: pickle.loads(pickle.dumps(model))], ids=["file", "pickle"])
def test_a_copy_goes_on_as_the_original_does(leaf_counts: str, copy: Any) -> None:
    X, y = table(300, 11)
    weights = np.random.default_rng(0).random(100)
    forest = RandomForestClassifier(4, calibration=None, leaf_counts=leaf_counts, random_state=0).fit(X[:100], y[:100])
    forest.partial_fit(X[100:200], y[100:200], sample_weight=weights, classes=np.arange(12))
    other = copy(forest)
    assert same_forest(other.forest_, forest.forest_)
    for model in (forest, other):
        model.partial_fit(X[200:], y[200:])
    assert same_forest(other.forest_, forest.forest_)
    assert np.array_equal(other.predict_bounds(X), forest.predict_bounds(X))


def test_a_forest_of_uncertain_labels_takes_later_rows() -> None:
    X, y = table(200, 2)
    soft = [{0, 1} if row % 3 == 0 else {int(label)} for row, label in enumerate(y[:100])]
    forest = RandomForestClassifier(3, random_state=0).fit(X[:100], soft)
    before = [tree.counts[0].sum() for tree in forest.trees_]
    forest.partial_fit(X[100:], y[100:])
    assert [tree.counts[0].sum() for tree in forest.trees_] == [amount + 100 for amount in before]
    with pytest.raises(AttributeError, match="oob_evidence_"):
        _ = forest.oob_evidence_


# ---- regressors --------------------------------------------------------------------------------------------------


def numbers(n_rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, 3))
    return X, 100 + 10 * X[:, 0] + random.normal(size=n_rows), random.random(n_rows) + 0.1


REGRESSORS = [
    DecisionTreeRegressor(max_depth=4),
    RandomForestRegressor(5, max_depth=5),
    ExtraTreesRegressor(4, max_depth=5),
    RandomForestRegressor(5, criterion="poisson"),
]


@pytest.mark.parametrize("model", REGRESSORS, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_moments_are_those_of_all_rows(model: Any, weighted: bool) -> None:
    X, y, weights = numbers(400)
    given = weights if weighted else np.ones(400)
    model = clone(model).set_params(random_state=0).fit(X[:150], y[:150], given[:150])
    in_parts(model, X[150:], y[150:], 3, given[150:])
    for tree, leaves in zip(model.trees_, moments_by_hand(model, X, y, given), strict=True):
        for node, (rows, weight, mean, variance) in leaves.items():
            assert tree.counts[node, 0] == rows
            assert tree.weight[node] == pytest.approx(weight, rel=1e-12)
            assert tree.mean[node] == pytest.approx(mean, rel=1e-12)
            assert tree.variance[node] == pytest.approx(variance, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("model", REGRESSORS, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_ten_parts_are_one_sum(model: Any, weighted: bool) -> None:
    X, y, weights = numbers(400)
    given = weights[150:] if weighted else None
    once, parts = (clone(model).set_params(random_state=0).fit(X[:150], y[:150]) for _ in range(2))
    once.partial_fit(X[150:], y[150:], given)
    in_parts(parts, X[150:], y[150:], 10, given)
    assert same_forest(once.forest_, parts.forest_)
    assert np.array_equal(once.predict_bounds(X), parts.predict_bounds(X))


def test_out_of_bag_figures_of_regressors_are_those_of_all_rows() -> None:
    X, y, _ = numbers(400)
    forest = RandomForestRegressor(20, random_state=0, oob_score=True, min_samples_leaf=5).fit(X[:200], y[:200])
    forest.partial_fit(X[200:], y[200:])
    predicted = np.zeros(400)
    oob_mask = np.zeros(400)
    nodes = forest.apply(X)
    for number, tree in enumerate(forest.trees_):
        outside = times_counted(forest, number, 400, "oob", 1.0) > 0
        predicted[outside] += tree.value[nodes[outside, number], 0, 0]
        oob_mask += outside
    np.testing.assert_allclose(forest.oob_prediction_, predicted / oob_mask, rtol=1e-12)
    low, high = forest.predict_interval(X).T
    assert np.mean((low <= y) & (y <= high)) > 0.85
    assert forest.predict_quantiles(X[:3]).shape == (3, 3)


def test_copies_of_regressors_go_on_as_the_originals_do() -> None:
    X, y, weights = numbers(300)
    forest = RandomForestRegressor(4, random_state=0).fit(X[:100], y[:100])
    forest.partial_fit(X[100:200], y[100:200], weights[100:200])
    copies = [again(forest), pickle.loads(pickle.dumps(forest))]
    forest.partial_fit(X[200:], y[200:])
    for copy in copies:
        assert same_forest(copy.partial_fit(X[200:], y[200:]).forest_, forest.forest_)


def test_numbers_too_large_to_add_exactly_are_refused() -> None:
    X, y, _ = numbers(100)
    forest = RandomForestRegressor(2, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="y must be of the same order of magnitude as the first targets"):
        forest.partial_fit(X, y * 1e12)


@pytest.mark.parametrize("model", [RandomForestClassifier(3), RandomForestRegressor(3)], ids=str)
def test_models_from_older_files_know_enough(model: Any) -> None:
    X, y = table(200)
    model = clone(model).set_params(random_state=0).fit(X[:100], np.where(y[:100] == 2, 0, y[:100]))
    old = pickle.loads(pickle.dumps(model))
    publish(old, replace(fitted_of(old), origins=()))
    for each in (model, old):
        each.partial_fit(X[100:], y[100:] % 2)
    assert fitted_of(old).origins == fitted_of(model).origins
    assert same_forest(old.forest_, model.forest_)


def no_score(*_: Any) -> float:
    raise ArithmeticError("no score today")


def all_known(model: Any, X: np.ndarray) -> dict[str, Any]:
    """Everything a partial fit may change."""
    arrays = {name: array.tobytes() for name, array in model.forest_.arrays().items()}
    fitted = fitted_of(model)
    known = {"origins": fitted.origins, "fingerprint": fitted.fingerprint, "score": model.oob_score_}
    rows = {"rows kept": fitted.rows.codes.shape, "attributes": sorted(vars(model))}
    return arrays | known | rows | {"bounds": model.predict_bounds(X).tobytes()}


@pytest.mark.parametrize(
    "wrong",
    [{"oob_score": no_score}, {"oob_score": "accurracy"}, {"caution": -1.0}],
    ids=["metric fails", "no such metric", "caution"],
)
@pytest.mark.parametrize("model", [RandomForestClassifier(8), RandomForestRegressor(8)], ids=str)
def test_a_partial_fit_that_fails_changes_nothing(model: Any, wrong: dict[str, Any]) -> None:
    X, y = table(300)
    right = {"oob_score": True, "caution": 1.0, "random_state": 0}
    tried, other = (clone(model).set_params(**right).fit(X[:200], y[:200]) for _ in range(2))
    before = all_known(tried, X)
    with pytest.raises((ArithmeticError, ValueError), match=r"no score today|(oob_score|caution) must be"):
        tried.set_params(**wrong).partial_fit(X[200:], y[200:])
    assert all_known(tried.set_params(**right), X) == before
    for each in (tried, other):
        each.partial_fit(X[200:], y[200:])
    assert all_known(tried, X) == all_known(other, X) != before


def test_callbacks_hear_of_later_trees() -> None:
    pytest.importorskip("sklearn.callback")
    from sklearn.callback import ProgressBar

    X, y = table(100)
    forest = RandomForestClassifier(3, random_state=0).set_callbacks(ProgressBar())
    forest.partial_fit(X, y, classes=[0, 1, 2]).grow_more(2)
    assert same_forest(forest.forest_, RandomForestClassifier(5, random_state=0).fit(X, y).forest_)
