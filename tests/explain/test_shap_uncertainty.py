"""SHAP values of uncertainties: vacuity exactly, conflict and epistemic up to an error that is measured here."""

from __future__ import annotations

import numpy as np
import pytest
from tests.explain.test_shap import fitted, mixed_table
from tests.reference.shap import path_game, shapley_values

from hedgerow import ExtraTreesClassifier, RandomDecisionTreesClassifier, RandomForestClassifier
from hedgerow.explain import shap_values
from hedgerow.inference.predictor import predictor_of
from hedgerow.rules.additive import UNCERTAINTIES, uncertainty_sums

FORESTS = [
    (RandomForestClassifier, {"n_estimators": 4, "calibration": None}),
    (ExtraTreesClassifier, {"n_estimators": 4}),
    (RandomDecisionTreesClassifier, {"n_estimators": 4}),
]


def by_definition(forest, X, what):
    """(n, p): Shapley values of the uncertainty itself, over all subsets of the features."""
    now = predictor_of(forest)
    codes, sums = now.read(X).codes, uncertainty_sums(now.plain_rule, what, now.forest.n_trees)
    counts = [np.asarray(now.forest.evidence_in(tree), dtype=float) for tree in range(now.forest.n_trees)]
    leaves = [sums.lift(each, now.setting) for each in counts]
    found = []
    for row in range(len(X)):
        game = path_game(forest.trees_, leaves, codes[:, row], np.iinfo(codes.dtype).max)
        worth = {}

        def uncertainty(known, game=game, worth=worth):
            if known not in worth:
                worth[known] = sums.uncertainty(game(known)[None])
            return worth[known]

        found.append(shapley_values(uncertainty, len(codes))[:, 0])
    return np.array(found)


@pytest.mark.parametrize("what", UNCERTAINTIES)
@pytest.mark.parametrize(("make", "parameters"), FORESTS)
@pytest.mark.parametrize("against", [False, True])
def test_values_add_up_to_the_uncertainty(make, parameters, what, against):
    forest, X = fitted(make, **parameters)
    found = shap_values(forest, X[:20], what, background=X[50:60] if against else None)
    assert found.values.shape == (20, 4)
    expected = getattr(forest.predict_uncertainty(X[:20]), what)
    np.testing.assert_allclose(found.base + found.values.sum(axis=1), expected, rtol=0, atol=1e-12)


def test_a_map_changes_neither_vacuity_nor_conflict():
    X, y = mixed_table(150, 3, seed=3)
    forest = RandomForestClassifier(10, random_state=0).fit(X, y)
    assert predictor_of(forest).is_calibrated
    for what in ("vacuity", "conflict"):
        found = shap_values(forest, X[:10], what)
        expected = getattr(forest.predict_uncertainty(X[:10]), what)
        np.testing.assert_allclose(found.base + found.values.sum(axis=1), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("make", "parameters"), FORESTS)
def test_vacuity_is_exact(make, parameters):
    forest, X = fitted(make, **parameters)
    found = shap_values(forest, X[:3], "vacuity").values
    np.testing.assert_allclose(found, by_definition(forest, X[:3], "vacuity"), rtol=0, atol=1e-12)


@pytest.mark.parametrize("what", ["conflict", "epistemic"])
def test_the_error_of_what_is_approximate_is_what_the_docs_say(what):
    errors = []
    for make, parameters in FORESTS:
        forest, X = fitted(make, **parameters)
        exact = by_definition(forest, X[:6], what)
        errors.append(np.abs(shap_values(forest, X[:6], what).values - exact).mean() / np.abs(exact).mean())
    assert 0.15 < min(errors) < max(errors) < 0.36


def test_with_one_feature_the_values_are_exact():
    X, y = mixed_table(120, 3, seed=1)
    forest = RandomForestClassifier(5, calibration=None, random_state=0).fit(X[["length"]], y)
    for what in UNCERTAINTIES:
        found = shap_values(forest, X[["length"]][:5], what).values
        np.testing.assert_allclose(found, by_definition(forest, X[["length"]][:5], what), rtol=0, atol=1e-12)


def test_interactions_add_up_to_the_values():
    forest, X = fitted(RandomForestClassifier, n_estimators=4, calibration=None)
    for what in UNCERTAINTIES:
        pairs = shap_values(forest, X[:5], what, interactions=True).values
        np.testing.assert_allclose(pairs.sum(axis=2), shap_values(forest, X[:5], what).values, rtol=0, atol=1e-12)


def test_what_is_no_mean_of_trees_is_refused():
    forest, X = fitted(RandomForestClassifier, n_estimators=4, calibration=None)
    with pytest.raises(ValueError, match="not a mean over trees"):
        shap_values(forest, X[:2], "conflict", rule="dempster")
    assert shap_values(forest, X[:2], "epistemic", rule="dempster").values.shape == (2, 4)
    X, y = mixed_table(60, 2, seed=0)
    empty = RandomForestClassifier(4, leaf_counts="oob", calibration=None, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="leaves without rows"):
        shap_values(empty, X[:2], "conflict")
