"""Values that no training row had: rows go down both sides, and rows like the training rows are answered as before."""

from __future__ import annotations

import io
import pickle
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference.fold import prior_for
from tests.reference.unseen import slow_counts, slow_leaves

import hedgerow
from hedgerow import (
    DecisionTreeClassifier,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    PairwiseTreesClassifier,
    RandomDecisionTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    combine,
)
from hedgerow.inference.fitted import fitted_of
from hedgerow.inference.predictor import predictor_of
from hedgerow.rules import rule_names

CLASSIFIERS = [DecisionTreeClassifier, RandomForestClassifier, ExtraTreesClassifier, PairwiseTreesClassifier]
POLICY = pytest.mark.parametrize("policy", ["shares", "sum"])


def animals(n_rows: int = 200, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Weight and legs without gaps, length with gaps, and a colour; three kinds of animals."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 3, n_rows)
    weight = (rng.normal(size=n_rows) + kind).round(1)
    length = np.where(rng.random(n_rows) < 0.2, np.nan, (rng.normal(size=n_rows) - kind).round(1))
    colour = np.where(rng.random(n_rows) < 0.7, np.array(["red", "blue", "green"])[kind], "red")
    return pd.DataFrame(
        {"weight": weight, "length": length, "legs": rng.integers(0, 5, n_rows), "colour": colour}
    ), kind


def strangers() -> pd.DataFrame:
    """Ordinary, a gap where there are gaps, a new gap, a new category, two of them, and a blank row."""
    return pd.DataFrame(
        {
            "weight": [1.0, 1.0, np.nan, 1.0, np.nan, np.nan],
            "length": [0.5, np.nan, 0.5, 0.5, 0.5, np.nan],
            "legs": [2.0, 2.0, 2.0, 2.0, 2.0, np.nan],
            "colour": ["red", "red", "red", "violet", "violet", None],
        }
    )


def slow_counts_of(model: Any, Z: pd.DataFrame, *, add: bool) -> np.ndarray:
    """(n, T, K): the counts of the leaves of each tree together."""
    fitted = fitted_of(model)
    codes, unseen = predictor_of(model).read(Z).codes, fitted.forest.structure.unseen
    trees = fitted.trees()
    return np.array(
        [
            [
                slow_counts(tree, slow_leaves(tree, row, unseen.gapless, fitted.codebook.missing_code), add=add)
                for tree in trees
            ]
            for row in codes.T
        ]
    )


@POLICY
@pytest.mark.parametrize("counted", ["all", "inbag", "oob"])
@pytest.mark.parametrize("weighted", [False, True])
def test_all_leaves_of_a_tree_are_one_leaf(policy: str, counted: str, weighted: bool) -> None:
    X, y = animals()
    weights = np.random.default_rng(1).uniform(0.5, 3, len(y)) if weighted else None
    asked = {"leaf_counts": counted, "unseen": policy, "calibration": None}
    forest = RandomForestClassifier(7, random_state=0, **asked).fit(X, y, weights)
    expected = slow_counts_of(forest, strangers(), add=policy == "sum")
    np.testing.assert_allclose(forest.evidence(strangers()).counts, expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(forest.predict_proba(strangers()), combine(expected).probability, atol=1e-12)


@cache
def asked_slowly(policy: str) -> tuple[Any, np.ndarray]:
    """-> a forest, and the counts (n, T, K) of the leaves that strangers reach."""
    forest = RandomForestClassifier(7, unseen=policy, random_state=0).fit(*animals())
    return forest, slow_counts_of(forest, strangers(), add=policy == "sum")


@POLICY
@pytest.mark.parametrize("rule", rule_names())
def test_every_rule_combines_what_the_leaves_say_together(policy: str, rule: str) -> None:
    forest, counts = asked_slowly(policy)
    evidence = forest.evidence(strangers())
    needs = {"weights": np.ones(7)} if hedgerow.rules.resolve_rule(rule).needs_weights else {}
    opinion = evidence.combine(rule, **needs)
    expected = combine(counts, rule, prior=prior_for(rule, evidence.prior), **needs)
    np.testing.assert_allclose(opinion.probability, expected.probability, atol=1e-9)
    np.testing.assert_allclose(opinion.lower, expected.lower, atol=1e-9)
    np.testing.assert_allclose(opinion.upper, expected.upper, atol=1e-9)
    np.testing.assert_allclose(opinion.probability.sum(axis=1), 1)
    assert (opinion.lower <= opinion.probability + 1e-12).all()
    assert (opinion.probability <= opinion.upper + 1e-12).all()


@POLICY
@pytest.mark.parametrize("kind", [RandomForestRegressor, ExtraTreesRegressor])
def test_numbers_are_means_over_the_leaves(policy: str, kind: Any) -> None:
    X, y = animals()
    forest = kind(7, unseen=policy, bootstrap=True, random_state=0).fit(X, y + np.arange(len(y)) / 100)
    fitted = fitted_of(forest)
    codes, gapless = predictor_of(forest).read(strangers()).codes, fitted.forest.structure.unseen.gapless
    said = []
    for row in codes.T:
        of_trees = []
        for tree in fitted.trees():
            leaves = slow_leaves(tree, row, gapless, fitted.codebook.missing_code)
            parts = [part if policy == "shares" else tree.counts[node, 0] for node, part in leaves]
            of_trees.append(np.average([tree.value[node, 0, 0] for node, _ in leaves], weights=parts))
        said.append(np.mean(of_trees))
    np.testing.assert_allclose(forest.predict(strangers()), said, rtol=1e-12)
    bounds, interval = forest.predict_bounds(strangers()), forest.predict_interval(strangers())
    assert (bounds[:, 0] <= said).all()
    assert (said <= bounds[:, 1]).all()
    assert (interval[:, 0] <= interval[:, 1]).all()


@pytest.mark.parametrize("kind", [*CLASSIFIERS, RandomDecisionTreesClassifier])
def test_rows_like_the_training_rows_are_answered_with_the_same_bits(kind: Any) -> None:
    X, y = animals()
    Z = animals(300, seed=1)[0]
    answers = [kind(unseen=policy, random_state=0).fit(X, y).predict_proba(Z) for policy in ("larger", "shares", "sum")]
    assert (answers[0] == answers[1]).all()
    assert (answers[0] == answers[2]).all()


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_a_new_category_and_a_new_gap_are_not_decided_by_the_larger_side(kind: Any) -> None:
    X, y = animals()
    larger, shares = (kind(unseen=policy, random_state=0).fit(X, y) for policy in ("larger", "shares"))
    before, after = larger.predict_proba(strangers()), shares.predict_proba(strangers())
    assert (before[:2] == after[:2]).all()
    assert (before[2:] != after[2:]).any(axis=1).all()
    np.testing.assert_allclose(after.sum(axis=1), 1)


def test_the_answer_to_a_row_does_not_depend_on_other_rows() -> None:
    X, y = animals()
    forest, numbers = RandomForestClassifier(30, random_state=0).fit(X, y), RandomForestRegressor(30, random_state=0)
    numbers.fit(X, y)
    Z = pd.concat([animals(300, seed=1)[0], *[strangers()] * 30], ignore_index=True)
    for rule in ("average", "cautious", "median", "dempster"):
        forest.rule = rule
        whole = forest.predict_bounds(Z)
        alone = np.concatenate([forest.predict_bounds(Z[i : i + 1]) for i in range(295, 320)])
        assert (whole[295:320] == alone).all()
    assert (forest.predict_proba(Z)[300:306] == forest.predict_proba(strangers())).all()
    assert (numbers.predict(Z)[300:306] == numbers.predict(strangers())).all()
    forest.set_params(n_jobs=2)
    assert (forest.predict_proba(Z)[300:306] == forest.predict_proba(strangers())).all()


@POLICY
@pytest.mark.parametrize("kind", [RandomForestClassifier, RandomForestRegressor])
def test_files_and_pickles_answer_with_the_same_bits(policy: str, kind: Any) -> None:
    X, y = animals()
    forest = kind(10, unseen=policy, random_state=0).fit(X, y)
    file = io.BytesIO()
    hedgerow.save(forest, file)
    file.seek(0)
    for other in (hedgerow.load(file), pickle.loads(pickle.dumps(forest))):
        assert (other.predict(strangers()) == forest.predict(strangers())).all()
        assert other.unseen == policy
        assert fitted_of(other).forest.structure.unseen.policy == policy


def test_a_model_that_does_not_know_sends_rows_to_the_larger_side() -> None:
    X, y = animals()
    forest = RandomForestClassifier(10, random_state=0).fit(X, y)
    larger = RandomForestClassifier(10, unseen="larger", random_state=0).fit(X, y)
    fitted = fitted_of(forest)
    forest._fitted = hedgerow.inference.fitted.replace(fitted, forest=fitted.forest.with_unseen(None))
    assert (forest.predict_proba(strangers()) == larger.predict_proba(strangers())).all()


def test_merged_and_warm_started_forests_know_what_all_trees_know() -> None:
    X, y = animals()
    with_gap = X.copy()
    with_gap.loc[0, "weight"] = np.nan
    first, second = (RandomForestClassifier(5, random_state=0).fit(each, y) for each in (X, with_gap))
    assert fitted_of(first).forest.structure.unseen.gapless.tolist() == [1, 0, 1, 1]
    assert fitted_of(second).forest.structure.unseen.gapless.tolist() == [0, 0, 1, 1]
    merged = hedgerow.merge(first, second)
    assert fitted_of(merged).forest.structure.unseen.gapless.tolist() == [0, 0, 1, 1]
    first.set_params(warm_start=True, n_estimators=8).fit(with_gap, y)
    assert fitted_of(first).forest.structure.unseen.gapless.tolist() == [0, 0, 1, 1]
    larger = RandomForestClassifier(5, unseen="larger", random_state=0).fit(X, y)
    assert fitted_of(hedgerow.merge(larger, second)).forest.structure.unseen is None


def test_later_rows_and_pruning_keep_what_trees_know() -> None:
    X, y = animals()
    forest = RandomForestClassifier(5, ccp_alpha=0.01, random_state=0).fit(X, y)
    before = fitted_of(forest).forest.structure.unseen
    assert before is not None
    forest.partial_fit(*animals(50, seed=2))
    assert (fitted_of(forest).forest.structure.unseen.gapless == before.gapless).all()
    np.testing.assert_allclose(forest.predict_proba(strangers()).sum(axis=1), 1)


def test_a_wide_table_is_asked_about_the_features_that_trees_use() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 100)), np.arange(60) % 2
    X[:, 7] += 5 * y
    tree = DecisionTreeClassifier(random_state=0).fit(X, y)
    used = fitted_of(tree).forest.used_features
    Z = X[:4].copy()
    Z[0, [j for j in range(100) if j not in used]] = np.nan
    Z[1] = np.nan
    assert tree.predict_proba(Z)[0].tolist() == tree.predict_proba(X[:1])[0].tolist()
    np.testing.assert_allclose(tree.predict_proba(Z)[1], [0.5, 0.5])


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), policy=st.sampled_from(["shares", "sum"]))
def test_any_gaps_leave_probabilities(seed: int, policy: str) -> None:
    rng = np.random.default_rng(seed)
    n_rows, n_features, n_classes = rng.integers(2, 60), rng.integers(1, 6), rng.integers(2, 12)
    X, y = rng.normal(size=(n_rows, n_features)).round(1), rng.integers(0, n_classes, n_rows)
    Z = rng.normal(size=(20, n_features)).round(1)
    Z[rng.random(Z.shape) < 0.5] = np.nan
    forest = RandomForestClassifier(4, unseen=policy, random_state=int(seed)).fit(X, y)
    bounds, said = forest.predict_bounds(Z), forest.predict_proba(Z)
    np.testing.assert_allclose(said.sum(axis=1), 1)
    assert (bounds[:, :, 0] <= said + 1e-9).all()
    assert (said <= bounds[:, :, 1] + 1e-9).all()
    expected = slow_counts_of(forest, pd.DataFrame(Z), add=policy == "sum")
    np.testing.assert_allclose(forest.evidence(Z).counts, expected, atol=1e-9)


def test_a_policy_must_be_one_of_three() -> None:
    with pytest.raises(ValueError, match="unseen must be one of shares, sum, larger, got 'both'"):
        RandomForestClassifier(unseen="both").fit([[0.0], [1.0]], [0, 1])
