"""Explanations of numbers: every figure is that of the regressor, and the words name them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from hedgerow import DecisionTreeRegressor, RandomForestRegressor
from hedgerow.explain import explain, shap_values


@pytest.fixture(scope="module")
def forest():
    draw = np.random.default_rng(0)
    X = draw.normal(size=(200, 3))
    X[::9, 1] = np.nan
    y = 5 * X[:, 0] + draw.normal(size=200)
    return RandomForestRegressor(20, random_state=0).fit(X[:150], y[:150]), X[150:], (X[:150], y[:150])


def test_figures_are_those_of_the_methods(forest):
    model, X, _ = forest
    found = model.explain(X, coverage=0.8)
    assert np.allclose([each.prediction for each in found], model.predict(X))
    assert np.allclose([[each.lower, each.upper] for each in found], model.predict_interval(X, 0.8))
    assert np.allclose([[each.mean_lower, each.mean_upper] for each in found], model.predict_bounds(X))
    parts = model.predict_uncertainty(X)
    assert np.allclose([each.noise**2 for each in found], parts.aleatoric)
    assert np.allclose([each.disagreement**2 for each in found], parts.epistemic)
    for what in ("prediction", "width"):
        values, base = shap_values(model, X, what)
        assert np.allclose([getattr(each.contributions, what) for each in found], values)
        assert found[0].contributions.base[what] == pytest.approx(float(base))


def test_what_a_prediction_rests_on_are_its_weights(forest):
    model, X, (_, y) = forest
    weights = model.row_weights(X).toarray()
    for each, own in zip(model.explain(X, shap=False), weights, strict=True):
        assert each.support.rows == (own > 0).sum()
        assert each.support.effective == pytest.approx(1 / (own**2).sum())
        assert own[y < each.support.low].sum() <= 0.1 + 1e-9
        assert own[y > each.support.high].sum() <= 0.1 + 1e-9
        assert [case.row for case in each.cases[:1]] == [int(own.argmax())]
        assert each.cases[0].label == y[own.argmax()]


def test_missing_and_outside_values_are_named(forest):
    model, _, _ = forest
    row = np.array([[0.0, np.nan, 99.0]])
    told = model.explain(row)[0]
    assert (told.missing, told.out_of_range) == (["x[1]"], ["x[2]"])
    assert "x[1] is missing" in told.sentence
    assert "x[2] outside the training range" in told.sentence


def test_it_can_be_read_and_stored(forest):
    model, X, (train, y) = forest
    told = explain(model, X[:1], train=train, y_train=y)[0]
    assert json.loads(json.dumps(told.to_dict()))["prediction"] == told.prediction
    for words in (told.to_text(), told.to_html()):
        assert "Basis of the prediction" in words
        assert "Nearest training cases" in words
    assert told.sentence in " ".join(told.to_text().split())


def test_a_tree_without_bags_has_no_interval():
    tree = DecisionTreeRegressor(max_depth=2).fit(np.arange(8.0)[:, None], np.arange(8.0))
    told = tree.explain([[3.0]])[0]
    assert (told.lower, told.upper) == (None, None)
    assert tree.report([[3.0], [4.0]], [3.0, 4.0]).figures["rows"] == 2
