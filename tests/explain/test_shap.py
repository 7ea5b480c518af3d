"""SHAP values against their definition, against the package, and against what the forest says."""

from __future__ import annotations

from copy import copy
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference.shap import (
    background_game,
    path_game,
    shapley_interactions,
    shapley_values,
    trees_for_shap,
)

from hedgerow import (
    DecisionTreeClassifier,
    ExtraTreesClassifier,
    PairwiseTreesClassifier,
    RandomDecisionTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from hedgerow.explain import shap_values
from hedgerow.inference.fitted import fitted_of
from hedgerow.inference.predictor import predictor_of
from hedgerow.rules import Setting, resolve_rule
from hedgerow.rules.additive import WHAT, additive

MEANS = ("average", "laplace", "plausibility", "vote", "confidence_bounds")
EXACT = 1e-9
CASES = [
    *((rule, what) for rule in (*MEANS, "belief") for what in ("probability", "lower", "upper", "width")),
    *(("dominance_vote", what) for what in ("lower", "upper", "width")),
    ("eva", "log_odds"),
    ("dempster", "log_odds"),
]


def mixed_table(n_rows: int, n_classes: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Two numeric and two nominal columns with gaps, and labels that depend on them."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "length": np.round(rng.normal(size=n_rows), 1),
            "width": np.round(rng.normal(size=n_rows), 1),
            "colour": rng.choice(["red", "green", "blue", "grey"], n_rows),
            "kind": rng.choice(["a", "b", "c"], n_rows),
        }
    )
    score = (
        frame["length"] + (frame["colour"] == "red") * frame["width"] + (frame["kind"] == "a") + rng.normal(size=n_rows)
    )
    y = np.digitize(score, np.quantile(score, np.linspace(0, 1, n_classes + 1)[1:-1]))
    for column in frame:
        frame.loc[rng.random(n_rows) < 0.1, column] = None
    return frame.astype({"colour": "category", "kind": "category"}), y


def numeric_table(n_rows: int, n_features: int, n_classes: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Coarse numbers with gaps."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n_rows, n_features)), 1)
    score = X[:, 0] + X[:, 1] * X[:, -1] + rng.normal(size=n_rows)
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, np.digitize(score, np.quantile(score, np.linspace(0, 1, n_classes + 1)[1:-1]))


def fitted(make: Any, n_classes: int = 3, **parameters: Any) -> tuple[Any, pd.DataFrame]:
    """A forest on a mixed table, whose rule may be changed, and the table."""
    forest, X = _fitted(make, n_classes, **parameters)
    return copy(forest), X


@cache
def _fitted(make: Any, n_classes: int, **parameters: Any) -> tuple[Any, pd.DataFrame]:
    X, y = mixed_table(150, n_classes, seed=n_classes)
    return make(random_state=3, **parameters).fit(X, y), X


def values_of_leaves(forest: Any, what: str = "probability") -> list[np.ndarray]:
    """What each leaf adds to what the forest says, (leaves, K) for each tree."""
    asked = additive(predictor_of(forest).rule, what, forest.forest_.n_trees)
    setting = Setting.of(forest.n_classes_, predictor_of(forest).caution, fitted_of(forest).info.prior)
    return [
        asked.of_classes(asked.lift(forest.forest_.evidence_in(tree), setting), setting)
        for tree in range(forest.forest_.n_trees)
    ]


def said(forest: Any, X: Any, what: str) -> np.ndarray:
    """What the forest says of the samples, (n, K)."""
    opinion = forest.evidence(X).combine(predictor_of(forest).rule, weights=predictor_of(forest).weights)
    if what == "width":
        return np.asarray(opinion.upper - opinion.lower)
    if what == "log_odds":
        logs = opinion.log_odds
        others = (logs.sum(axis=1, keepdims=True) - logs) / (logs.shape[1] - 1)
        return np.asarray(logs - others)
    return np.asarray(getattr(opinion, what))


FORESTS = [
    (DecisionTreeClassifier, {}),
    (RandomForestClassifier, {"n_estimators": 4, "calibration": None}),
    (ExtraTreesClassifier, {"n_estimators": 4}),
    (RandomDecisionTreesClassifier, {"n_estimators": 4}),
]
EVERY_FOREST = pytest.mark.parametrize(
    ("make", "parameters"), FORESTS, ids=lambda given: getattr(given, "__name__", "")
)


@EVERY_FOREST
def test_values_are_those_of_the_definition_with_nominal_and_missing_cells(make, parameters):
    forest, X = fitted(make, **parameters)
    found = shap_values(forest, X[:6])
    codes, leaves = predictor_of(forest).read(X[:6]).codes, values_of_leaves(forest)
    trees = forest.trees_
    missing = np.iinfo(codes.dtype).max
    for row in range(6):
        expected = shapley_values(path_game(trees, leaves, codes[:, row], missing), 4)
        np.testing.assert_allclose(found.values[row], expected, rtol=0, atol=1e-12)


@EVERY_FOREST
def test_values_against_a_background_are_those_of_the_definition(make, parameters):
    forest, X = fitted(make, **parameters)
    found = shap_values(forest, X[:4], background=X[20:27])
    codes, others, leaves = (
        predictor_of(forest).read(X[:4]).codes,
        predictor_of(forest).read(X[20:27]).codes,
        values_of_leaves(forest),
    )
    trees = forest.trees_
    missing = np.iinfo(codes.dtype).max
    for row in range(4):
        expected = shapley_values(background_game(trees, leaves, codes[:, row], others, missing), 4)
        np.testing.assert_allclose(found.values[row], expected, rtol=0, atol=1e-12)


@EVERY_FOREST
@pytest.mark.parametrize("against", [False, True], ids=["by path", "against a background"])
def test_interactions_are_those_of_the_definition(make, parameters, against):
    forest, X = fitted(make, **parameters)
    background = X[20:24] if against else None
    found = shap_values(forest, X[:3], interactions=True, background=background)
    codes, leaves = predictor_of(forest).read(X[:3]).codes, values_of_leaves(forest)
    trees = forest.trees_
    missing = np.iinfo(codes.dtype).max
    for row in range(3):
        game = (
            background_game(trees, leaves, codes[:, row], predictor_of(forest).read(background).codes, missing)
            if against
            else path_game(trees, leaves, codes[:, row], missing)
        )
        np.testing.assert_allclose(found.values[row], shapley_interactions(game, 4), rtol=0, atol=1e-12)


@pytest.mark.parametrize(("rule", "what"), CASES)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("against", [False, True], ids=["by path", "against a background"])
def test_base_and_values_add_up_to_what_the_forest_says(rule, what, n_classes, against):
    forest, X = fitted(RandomForestClassifier, n_classes, n_estimators=7, calibration=None)
    forest.set_params(rule=rule, caution=2.0)
    found = shap_values(forest, X[:20], what, background=X[50:60] if against else None)
    np.testing.assert_allclose(found.base + found.values.sum(axis=1), said(forest, X[:20], what), rtol=0, atol=EXACT)


def test_learned_tree_weights_add_up():
    X, y = mixed_table(150, 2, seed=2)
    rule = resolve_rule("belief").set_params(weights="learned")
    forest = RandomForestClassifier(7, rule=rule, random_state=0).fit(X, y)
    for what in ("probability", "lower", "upper"):
        found = shap_values(forest, X[:20], what)
        np.testing.assert_allclose(
            found.base + found.values.sum(axis=1), said(forest, X[:20], what), rtol=0, atol=EXACT
        )


def test_weighted_rows_and_many_classes_add_up():
    rng = np.random.default_rng(0)
    X, y = numeric_table(300, 5, 12, seed=1)
    forest = RandomForestClassifier(5, random_state=0).fit(X, y, sample_weight=rng.uniform(0.5, 3, len(y)))
    found = shap_values(forest, X[:30])
    np.testing.assert_allclose(found.base + found.values.sum(axis=1), forest.predict_proba(X[:30]), rtol=0, atol=EXACT)


def test_deep_trees_over_many_features_add_up():
    X, y = numeric_table(3000, 60, 2, seed=2)
    tree = RandomForestClassifier(2, random_state=0, max_features=1).fit(X, y)
    assert tree.forest_.depth.max() > 20
    found = shap_values(tree, X[:40])
    np.testing.assert_allclose(found.base + found.values.sum(axis=1), tree.predict_proba(X[:40]), rtol=0, atol=EXACT)


def test_interactions_are_symmetric_and_add_up_to_the_values():
    forest, X = fitted(RandomForestClassifier, 3, n_estimators=7)
    plain, pairs = shap_values(forest, X[:30]), shap_values(forest, X[:30], interactions=True)
    np.testing.assert_array_equal(pairs.values, pairs.values.transpose(0, 2, 1, 3))
    np.testing.assert_allclose(pairs.values.sum(axis=2), plain.values, rtol=0, atol=1e-12)


def test_what_is_left_open_is_left_open_to_all_classes():
    forest, X = fitted(RandomForestClassifier, 3, n_estimators=7)
    forest.set_params(rule="average")
    found = shap_values(forest, X[:10], "width")
    assert (found.values == found.values[:, :, :1]).all()


def test_a_feature_no_tree_looks_at_adds_nothing():
    X, y = numeric_table(200, 4, 2, seed=4)
    X[:, 2] = 1.0
    forest = RandomForestClassifier(5, random_state=0).fit(X, y)
    for background in (None, X[:9]):
        assert (shap_values(forest, X[:20], background=background).values[:, 2] == 0).all()


@pytest.mark.parametrize("against", [False, True], ids=["by path", "against a background"])
def test_threads_and_companions_change_no_bit(against):
    X, y = numeric_table(400, 6, 3, seed=5)
    forest = RandomForestClassifier(9, random_state=0).fit(X, y)
    background = X[300:330] if against else None
    one = shap_values(forest, X, background=background).values
    forest.set_params(n_jobs=3)
    np.testing.assert_array_equal(shap_values(forest, X, background=background).values, one)
    np.testing.assert_array_equal(shap_values(forest, X[13:14], background=background).values, one[13:14])


def test_groups_of_trees_say_what_all_trees_say(monkeypatch):
    forest, X = fitted(RandomForestClassifier, 3, n_estimators=7, calibration=None)
    whole = shap_values(forest, X[:20])
    monkeypatch.setattr("hedgerow.explain.shap.GROUP_BYTES", 1)
    parts = shap_values(forest, X[:20])
    np.testing.assert_array_equal(parts.values, whole.values)
    np.testing.assert_allclose(parts.base, whole.base, rtol=0, atol=1e-15)


@settings(max_examples=25)
@given(st.integers(1, 40), st.integers(1, 9), st.integers(0, 10**6))
def test_any_tree_adds_up(n_rows, n_features, seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, (n_rows, n_features)).astype(float)
    X[rng.random(X.shape) < 0.2] = np.nan
    y = rng.integers(0, 3, n_rows)
    tree = DecisionTreeClassifier(random_state=seed).fit(X, y)
    for background in (None, X[:3]):
        found = shap_values(tree, X, background=background)
        np.testing.assert_allclose(found.base + found.values.sum(axis=1), tree.predict_proba(X), rtol=0, atol=EXACT)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("what", ["probability", "lower", "width"])
def test_values_are_those_of_the_shap_package_on_numeric_forests(n_classes, what):
    shap = pytest.importorskip("shap", reason="the package shap is not installed; pip install shap to compare with it")
    X, y = numeric_table(600, 7, n_classes, seed=6)
    forest = RandomForestClassifier(15, calibration=None, random_state=0).fit(X, y)
    peer = shap.TreeExplainer({"trees": trees_for_shap(forest.trees_, values_of_leaves(forest, what))})
    theirs = peer.shap_values(X[:50], check_additivity=False)
    np.testing.assert_allclose(shap_values(forest, X[:50], what).values, theirs, rtol=0, atol=1e-10)
    pairs = peer.shap_interaction_values(X[:5])
    np.testing.assert_allclose(shap_values(forest, X[:5], what, interactions=True).values, pairs, rtol=0, atol=1e-10)


def test_values_against_a_background_are_those_of_the_shap_package():
    shap = pytest.importorskip("shap", reason="the package shap is not installed; pip install shap to compare with it")
    X, y = numeric_table(600, 7, 2, seed=6)
    X = np.nan_to_num(X)
    forest = RandomForestClassifier(15, calibration=None, random_state=0).fit(X, y)
    trees = trees_for_shap(forest.trees_, values_of_leaves(forest))
    peer = shap.TreeExplainer({"trees": trees}, data=X[100:150], feature_perturbation="interventional")
    theirs = peer.shap_values(X[:50], check_additivity=False)
    ours = shap_values(forest, X[:50], background=X[100:150])
    np.testing.assert_allclose(ours.values, theirs, rtol=0, atol=3e-8)  # its weights of sets have single precision
    np.testing.assert_allclose(ours.base - [1, 0], peer.expected_value, rtol=0, atol=1e-12)  # one minus the other


@pytest.mark.parametrize("what", [*WHAT, "colour"])
def test_what_does_not_add_up_is_refused_with_what_does(what):
    forest, X = fitted(RandomForestClassifier, 3, n_estimators=7)
    with pytest.raises(ValueError, match="what must be"):
        shap_values(forest, X[:2], what, rule="pool")
    with pytest.raises(ValueError, match="what must be"):
        shap_values(forest, X[:2], what, rule="cautious")


def test_empty_leaves_are_refused_for_probabilities_and_explained_for_bounds():
    X, y = numeric_table(60, 4, 2, seed=8)
    forest = RandomForestClassifier(10, calibration=None, leaf_counts="oob", random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="empty leaves"):
        shap_values(forest, X)
    for what in ("lower", "upper"):
        found = shap_values(forest, X, what)
        np.testing.assert_allclose(found.base + found.values.sum(axis=1), said(forest, X, what), rtol=0, atol=EXACT)


# ---- regressors -------------------------------------------------------------------------------


@cache
def number_forest() -> tuple[RandomForestRegressor, pd.DataFrame]:
    X, y = mixed_table(150, 40, seed=7)
    return RandomForestRegressor(4, max_features=2, min_samples_leaf=2, random_state=0).fit(X, y * 1.5), X


@pytest.mark.parametrize("what", ["prediction", "lower", "upper", "width"])
def test_values_of_a_regressor_add_up_to_what_it_says(what):
    forest, X = number_forest()
    lower, upper = forest.predict_bounds(X).T
    said = {"prediction": forest.predict(X), "lower": lower, "upper": upper, "width": upper - lower}[what]
    for background in (None, X[:20]):
        for interactions in (False, True):
            found = shap_values(forest, X[:30], what, background=background, interactions=interactions)
            total = found.values.sum(axis=(1, 2)) if interactions else found.values.sum(axis=1)
            np.testing.assert_allclose(found.base + total, said[:30], rtol=0, atol=1e-9)


def test_values_of_a_regressor_are_what_their_definition_says():
    forest, X = number_forest()
    trees, codes = forest.trees_, predictor_of(forest).read(X).codes
    leaves = [np.zeros((tree.n_leaves, 1)) for tree in trees]
    for held, tree in zip(leaves, trees, strict=True):
        held[tree.nodes.payload[tree.is_leaf], 0] = tree.value[tree.is_leaf, 0, 0] / len(trees)
    missing = np.iinfo(codes.dtype).max
    found = shap_values(forest, X[:5])
    for row in range(5):
        expected = shapley_values(path_game(trees, leaves, codes[:, row], missing), X.shape[1])
        np.testing.assert_allclose(found.values[row], expected[:, 0], rtol=0, atol=1e-9)


def test_values_of_a_regressor_are_those_of_the_package():
    shap = pytest.importorskip("shap", reason="the package shap is not installed; pip install shap to compare with it")
    X, y = numeric_table(300, 6, 50, seed=3)
    forest = RandomForestRegressor(10, random_state=0).fit(X, y)
    leaves = [forest.forest_.values[a:b, None] / 10 for a, b in pairwise(forest.forest_.leaf_start)]
    peer = shap.TreeExplainer({"trees": trees_for_shap(forest.trees_, leaves)})
    theirs = np.asarray(peer.shap_values(X[:40], check_additivity=False)).reshape(40, 6)
    np.testing.assert_allclose(shap_values(forest, X[:40]).values, theirs, rtol=0, atol=1e-9)


def test_questions_a_regressor_has_no_answer_to_are_refused():
    forest, X = number_forest()
    with pytest.raises(ValueError, match="what must be one of prediction, lower, upper, width for a regressor"):
        shap_values(forest, X, "probability")
    with pytest.raises(ValueError, match="rule must be None for a regressor"):
        shap_values(forest, X, rule="eva")


def test_pairs_of_classes_are_no_mean_of_trees() -> None:
    X = np.random.default_rng(0).normal(size=(40, 2))
    pairs = PairwiseTreesClassifier(random_state=0).fit(X, (X[:, 0] > 0).astype(int))
    with pytest.raises(TypeError, match="whose trees predict all classes, got PairwiseTreesClassifier"):
        shap_values(pairs, X)


@pytest.mark.parametrize("rule", MEANS)
@pytest.mark.parametrize("what", ["probability", "lower", "upper", "width"])
def test_values_of_a_calibrated_forest_add_up_to_what_it_answers(rule, what):
    forest, X = fitted(RandomForestClassifier, n_estimators=6, calibration="oob", rule=rule)
    assert not forest.calibration_.why
    found = shap_values(forest, X[:20], what)
    np.testing.assert_allclose(found.base + found.values.sum(axis=1), said(forest, X[:20], what), rtol=0, atol=EXACT)
    pairs = shap_values(forest, X[:20], what, interactions=True).values
    np.testing.assert_allclose(pairs.sum(axis=2), found.values, rtol=0, atol=EXACT)
    others = shap_values(forest, X[:20], what, background=X[20:50])
    np.testing.assert_allclose(others.base + others.values.sum(axis=1), said(forest, X[:20], what), rtol=0, atol=EXACT)


def test_values_of_a_calibrated_forest_are_those_of_the_plain_one_carried_through_the_map():
    forest, X = fitted(RandomForestClassifier, n_classes=2, n_estimators=6, calibration="oob")
    mapped, base = shap_values(forest, X[:30])
    plain, plain_base = shap_values(copy(forest).set_params(calibration=None), X[:30])
    np.testing.assert_allclose(base, forest.calibration_.of(plain_base[None])[0], rtol=0, atol=EXACT)
    # of two classes there is one number to share out, so shares stay the same
    before, after = plain[..., 1].sum(axis=1, keepdims=True), mapped[..., 1].sum(axis=1, keepdims=True)
    np.testing.assert_allclose(mapped[..., 1] * before, plain[..., 1] * after, rtol=0, atol=EXACT)


def test_rules_whose_log_odds_add_up_have_no_map():
    forest, X = fitted(RandomForestClassifier, n_estimators=6, calibration="oob", rule="eva")
    assert "products" in forest.calibration_.why
    found = shap_values(forest, X[:5], "log_odds")
    np.testing.assert_allclose(found.base + found.values.sum(axis=1), said(forest, X[:5], "log_odds"), atol=EXACT)
