"""Leaves of many classes: the same answers as from dense counts, at the cost of what leaves hold."""

from __future__ import annotations

import tracemalloc
from functools import cache
from typing import Any

import numpy as np
import pytest
from tests.reference.fold import combine_seen, prior_for

import hedgerow.forest.fold
from hedgerow import RandomForestClassifier, combine
from hedgerow.forest.fold import fold
from hedgerow.forest.reducers import ProbabilityReducer, RuleStack, Votes
from hedgerow.forest.sparse_states import MANY_CLASSES
from hedgerow.rules import Average, Laplace, Setting, Uncertainty, all_rules
from hedgerow.rules.uncertainty import UncertaintyWith

N_CLASSES = MANY_CLASSES + 20
RULES = [rule for rule in all_rules() if rule.by_class and not rule.needs_weights]
EVERY_RULE = pytest.mark.parametrize("rule", RULES, ids=repr)


@cache
def fitted(max_depth: int | None, weighted: bool = False, n_classes: int = N_CLASSES, n_rows: int = 400) -> Any:
    """-> a forest of six trees, and its training table; shallow trees have leaves of nearly all classes."""
    rng = np.random.default_rng(0)
    y = np.arange(n_rows) % n_classes
    X = np.round(rng.normal(size=(n_classes, 4))[y] + 0.5 * rng.normal(size=(n_rows, 4)), 2)
    weights = rng.uniform(0.5, 2.0, n_rows) if weighted else None
    forest = RandomForestClassifier(6, max_depth=max_depth, random_state=0, n_jobs=1, calibration=None)
    return forest.fit(X, y, sample_weight=weights), X, y


def assert_close(found: Any, expected: Any) -> None:
    """The same opinion but for the rounding of sums over classes, whose order is another."""
    for name in ("lower", "upper", "probability", "conflict", "vacuity"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=0, atol=1e-13, err_msg=name)
    assert (found.chosen is None) == (expected.chosen is None)


@EVERY_RULE
@pytest.mark.parametrize("max_depth", [None, 2])
def test_every_rule_answers_as_from_dense_counts(rule: Any, max_depth: int | None) -> None:
    forest, X, _ = fitted(max_depth)
    evidence = forest.evidence(X[:25] + 0.01)
    assert_close(
        evidence.combine(rule, caution=1.5),
        combine(evidence.counts, rule, caution=1.5, prior=prior_for(rule, evidence.prior)),
    )


@EVERY_RULE
def test_out_of_bag_a_row_is_taken_out_of_its_leaves(rule: Any) -> None:
    forest, _, _ = fitted(3)
    evidence = forest.oob_evidence_
    found = evidence.combine(rule, caution=1.5, prior=prior_for(rule, np.ones(N_CLASSES)))
    assert_close(found, combine_seen(evidence.counts, evidence.tree_mask, rule, caution=1.5))


@pytest.mark.parametrize("out_of_bag", [False, True])
def test_weighted_leaves_count_rows_in_proportion_to_weights(out_of_bag: bool) -> None:
    forest, X, _ = fitted(4, weighted=True)
    evidence = forest.oob_evidence_ if out_of_bag else forest.evidence(X[:40])
    assert_close(evidence.combine("average"), combine_seen(evidence.counts, evidence.tree_mask, Average(), caution=1.0))


def test_tree_weights_multiply_states() -> None:
    forest, X, _ = fitted(None)
    evidence, weights = forest.evidence(X[:20]), np.array([0.0, 1.0, 2.0, 0.5, 1.0, 3.0])
    for rule in (Average(), Laplace()):
        assert_close(evidence.combine(rule, weights=weights), combine(evidence.counts, rule, weights=weights))


@EVERY_RULE
def test_a_state_does_not_depend_on_which_class_is_which(rule: Any) -> None:
    rng = np.random.default_rng(1)
    n_classes, setting = 7, Setting.of(7, 1.5)
    counts = rng.permuted(np.tile([0.0, 0, 0, 1, 2, 4, 9], (5, 1)), axis=1)
    order = rng.permutation(n_classes)
    state, permuted = rule.lift(counts, setting), rule.lift(counts[:, order], setting)
    blocks = rule.class_blocks(setting)
    assert blocks == tuple(range(0, rule.by_class * n_classes, n_classes))
    for first in blocks:
        np.testing.assert_allclose(
            permuted[:, first : first + n_classes], state[:, first : first + n_classes][:, order], rtol=1e-12
        )
    rest = rule.by_class * n_classes
    np.testing.assert_allclose(permuted[:, rest:], state[:, rest:], rtol=1e-12)


def test_a_rule_with_its_own_arithmetic_says_again_what_its_columns_are() -> None:
    class Own(Average):
        name = "own"

        def shares(self, counts: Any) -> Any:
            return super().shares(counts) * np.arange(counts.shape[1])

    class Same(Average):
        name = "same"

    assert (Own.by_class, Same.by_class, Own().class_blocks(Setting.of(3))) == (0, 2, ())


def test_questions_side_by_side_know_their_blocks() -> None:
    setting = Setting.of(5)
    assert RuleStack([(Average(), setting), (Laplace(), setting)]).class_blocks(setting) == (0, 5, 12, 17)
    assert UncertaintyWith(Average()).class_blocks(setting) == (0, 5, 12)
    assert Votes().class_blocks(setting) == Uncertainty().class_blocks(setting) == (0,)


@pytest.mark.parametrize("rule", ["average", "laplace", "interval_disjunction"])
def test_answers_do_not_depend_on_the_batch(rule: str) -> None:
    forest, X, _ = fitted(None)
    whole = forest.evidence(X).combine(rule)
    for rows in (slice(0, 1), slice(3, 10), slice(100, 333)):
        part = forest.evidence(X[rows]).combine(rule)
        assert np.array_equal(part.lower, whole.lower[rows])
        assert np.array_equal(part.conflict, whole.conflict[rows])


def test_blocks_of_rows_change_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    forest, X, _ = fitted(None)
    whole = forest.oob_evidence_.as_forest().combine("average"), forest.predict_bounds(X)
    monkeypatch.setattr(hedgerow.forest.fold, "GROUP_BYTES", 1 << 16)
    assert np.array_equal(forest.oob_evidence_.as_forest().combine("average").lower, whole[0].lower)
    assert np.array_equal(forest.predict_bounds(X), whole[1])


def test_probabilities_alone_have_the_bits_of_the_opinion() -> None:
    forest, X, _ = fitted(None)
    evidence = forest.evidence(X)
    setting = Setting.of(N_CLASSES, evidence.caution, evidence.prior)
    alone = fold(forest.forest_, evidence.codes, ProbabilityReducer(evidence.rule), setting)
    assert np.array_equal(alone, evidence.combine().probability)
    assert np.array_equal(alone, evidence.probability())


def test_out_of_bag_figures_take_the_memory_of_their_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """States of all leaves, or opinions of all rows, would take six times as much."""
    monkeypatch.setattr(hedgerow.forest.fold, "GROUP_BYTES", 1 << 20)
    _, X, y = fitted(None, n_classes=300, n_rows=900)
    forest = RandomForestClassifier(6, random_state=0, n_jobs=1, oob_score=True, calibration=None)
    tracemalloc.start()
    try:
        with pytest.warns(UserWarning, match="OOB"):
            forest.fit(X, y)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 3 * forest.oob_decision_function_.nbytes + (4 << 20)


def test_asking_often_does_not_lift_every_leaf() -> None:
    forest, X, _ = fitted(None, n_classes=300, n_rows=900)
    answer = forest.predict_bounds(X[:30])
    tracemalloc.start()
    try:
        for _ in range(20):
            forest.predict_bounds(X[:30])
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    n_leaves = int(forest.forest_.leaf_start[-1])
    assert held < answer.nbytes * 4 < n_leaves * 600 * 8 / 2
