"""What can be folded: several rules in one pass say what each says alone; numbers are averaged."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris
from tests.reference.fold import prior_for

import hedgerow.forest.fold
from hedgerow import RandomForestClassifier, RandomForestRegressor, combine
from hedgerow.forest.fold import fold
from hedgerow.forest.reducers import MeanReducer, predictions
from hedgerow.inference.fitted import fitted_of
from hedgerow.rules import Belief, all_rules

ASKED = [(rule, caution) for rule in all_rules() if not rule.needs_weights for caution in (0.0, 1.5)]


@pytest.fixture(scope="module", params=[2, 3], ids=["two classes", "three classes"])
def forest(request):
    X, y = load_iris(return_X_y=True)
    kept = y >= 3 - request.param
    return RandomForestClassifier(20, random_state=0).fit(X[kept], y[kept]), X[kept]


def assert_same(one, other):
    for name in ("lower", "upper", "probability", "conflict", "log_odds", "score", "chosen"):
        left, right = getattr(one, name), getattr(other, name)
        assert (left is None) == (right is None)
        if left is not None:
            np.testing.assert_array_equal(left, right)


def test_opinions_in_one_pass_are_those_of_each_rule_alone(forest):
    model, X = forest
    evidence = model.evidence(X)
    for (rule, caution), opinion in zip(ASKED, evidence.combine_each(ASKED), strict=True):
        assert_same(opinion, evidence.combine(rule, caution=caution))


def test_out_of_bag_opinions_in_one_pass_are_those_of_each_rule_alone(forest):
    evidence = forest[0].oob_evidence_
    for (rule, caution), opinion in zip(ASKED, evidence.combine_each(ASKED), strict=True):
        assert_same(opinion, evidence.combine(rule, caution=caution))


def test_a_rule_that_needs_weights_is_refused_in_one_pass(forest):
    model, X = forest
    with pytest.raises(ValueError, match="requires tree weights"):
        model.evidence(X).combine_each([(Belief("learned"), 1.0)])


# ---- means of numbers ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def numbers():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3))
    model = RandomForestRegressor(7, random_state=0).fit(X, X[:, 0] ** 2)
    rows = fitted_of(model).rows
    return model.forest_, rows, rows.oob_mask.table(7)


def test_the_mean_of_numbers_is_that_of_the_leaves_reached(numbers):
    forest, rows, _ = numbers
    said = forest.values[forest.leaves(rows.codes) + forest.leaf_start[:-1]]
    found = fold(forest, rows.codes, MeanReducer(predictions), None)
    np.testing.assert_allclose(found[:, 0], said.mean(axis=1), rtol=1e-12)


def test_out_of_bag_it_is_that_of_the_trees_that_may_judge_a_row(numbers):
    forest, rows, judge = numbers
    said = forest.values[forest.leaves(rows.codes) + forest.leaf_start[:-1]]
    found = fold(forest, rows.codes, MeanReducer(predictions), None, oob_mask=rows.oob_mask)[:, 0]
    assert (~judge.any(axis=1)).any()
    np.testing.assert_array_equal(np.isnan(found), ~judge.any(axis=1))
    judged = judge.any(axis=1)
    expected = np.where(judge, said, 0).sum(axis=1)[judged] / judge.sum(axis=1)[judged]
    np.testing.assert_allclose(found[judged], expected, rtol=1e-12)


@pytest.mark.parametrize("n_threads", [1, 2])
def test_arrays_are_finished_in_blocks_like_records(numbers, n_threads, monkeypatch):
    forest, rows, _ = numbers
    whole = fold(forest, rows.codes, MeanReducer(lambda leaves: leaves.table()), None)
    monkeypatch.setattr(hedgerow.forest.fold, "FINISHED_ROWS", 20)
    again = fold(forest, rows.codes, MeanReducer(lambda leaves: leaves.table()), None, n_threads=n_threads)
    np.testing.assert_array_equal(again, whole)


def test_a_tree_changes_only_the_rows_it_judges_under_a_steady_rule(forest):
    model, X = forest
    steady = {rule.name for rule in all_rules() if rule.steady}
    assert {"average", "vote", "laplace"} <= steady
    assert not steady & {"dempster", "median"}
    evidence = model.evidence(X)
    for rule in (rule for rule in all_rules() if rule.steady and not rule.needs_weights):
        twice = combine(
            np.concatenate([evidence.counts, evidence.counts], axis=1), rule, prior=prior_for(rule, evidence.prior)
        )
        np.testing.assert_allclose(twice.probability, evidence.combine(rule).probability, atol=1e-12)
