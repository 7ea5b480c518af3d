"""Explanations of survival: figures are those of the methods, contributions those of enumerated subsets of features."""

from __future__ import annotations

import io
import itertools
import json
from copy import copy
from dataclasses import replace

import numpy as np
import pytest
from tests.reference.shap import path_game, shapley_values

from hedgerow import (
    ExtraSurvivalTrees,
    RandomForestClassifier,
    RandomForestRegressor,
    RandomSurvivalForest,
    SurvivalTree,
    load,
    save,
)
from hedgerow.explain import explain, shap_values
from hedgerow.inference.predictor import predictor_of
from hedgerow.tasks.survival.curves import DEPTHS, AtRisk, kaplan_meier

TIME = 1.0


def table(n: int = 240, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Times that depend on the first of three features; some rows are censored, and some values missing."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    X[::9, 1] = np.nan
    times, ends = rng.exponential(np.exp(X[:, 0])), rng.exponential(3.0, n)
    return X, np.column_stack([np.minimum(times, ends), times <= ends])


@pytest.fixture(scope="module")
def forest():
    X, y = table()
    return RandomSurvivalForest(15, random_state=0).fit(X[:200], y[:200]), X[200:], (X[:200], y[:200])


@pytest.mark.parametrize("calibration", [None, "oob"])
@pytest.mark.parametrize("what", ["survival", "lower", "upper", "width", "rmst", "risk"])
def test_contributions_add_up_to_the_prediction(forest, what, calibration):
    model, X, (train, _) = forest
    model = copy(model).set_params(calibration=calibration)
    bounds = model.predict_bounds(X, TIME)[:, 0]
    said = {
        "survival": model.predict_survival_function(X, TIME)[:, 0],
        "lower": bounds[:, 0],
        "upper": bounds[:, 1],
        "width": bounds[:, 1] - bounds[:, 0],
        "rmst": model.predict_rmst(X, TIME),
        "risk": model.predict(X),
    }[what]
    time = None if what == "risk" else TIME
    for more in ({}, {"background": train[:5]}, {"interactions": True}):
        found = shap_values(model, X, what, time=time, **more)
        total = found.values.reshape(len(X), -1).sum(axis=1)
        assert np.allclose(found.base + total, said, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("make", [RandomSurvivalForest, ExtraSurvivalTrees])
def test_contributions_to_survival_are_exact_without_calibration(make):
    """Every subset of the features is enumerated; leaf values are Kaplan–Meier estimates at the time."""
    X, y = table(120)
    model = make(4, min_samples_leaf=5, calibration=None, random_state=1).fit(X, y)
    predictor = predictor_of(model)
    codes, trees = predictor.read(X[:6]).codes, model.forest_
    column = int(np.searchsorted(model.event_times_, TIME, side="right"))
    info = predictor.info

    def lower(counts):
        at = AtRisk.of(counts, info)
        upper = np.cumprod(1 - at.events / (at.rows + 1), axis=1)[:, [column]]
        remain = at.rows[:, [column + 1]]
        return upper * remain / (remain + 1)

    of_leaves = {"survival": lambda counts: kaplan_meier(counts, info)[:, [column]], "lower": lower}
    for what, value in of_leaves.items():
        leaves = [value(trees.evidence_in(tree)) / trees.n_trees for tree in range(trees.n_trees)]
        found = shap_values(model, X[:6], what, time=TIME)
        for row in range(6):
            game = path_game(model.trees_, leaves, codes[:, row], predictor.codebook.missing_code)
            assert np.allclose(found.values[row], shapley_values(game, 3)[:, 0], atol=1e-12)
            assert np.allclose(found.base, game(frozenset()))


def test_blocks_of_samples_do_not_change_contributions(forest, monkeypatch):
    model, X, _ = forest
    whole = shap_values(model, X, "rmst", time=TIME)
    monkeypatch.setattr("hedgerow.explain.shap.MOST_NUMBERS", 1000)
    parts = shap_values(model, X, "rmst", time=TIME)
    assert np.array_equal(whole.values, parts.values)
    assert whole.base == parts.base


def test_figures_are_those_of_the_methods(forest):
    model, X, _ = forest
    found = model.explain(X, time=TIME)
    assert np.array_equal([each.survival for each in found], model.predict_survival_function(X, TIME)[:, 0])
    assert np.array_equal([[each.lower, each.upper] for each in found], model.predict_bounds(X, TIME)[:, 0])
    sets = model.predict_set(X, TIME)
    assert [[name in each.set for name in ("event", "no event")] for each in found] == sets.tolist()
    assert np.array_equal([each.curve.survival[1:] for each in found], model.predict_survival_function(X))
    assert np.array_equal([each.curve.lower[1:] for each in found], model.predict_bounds(X)[..., 0])
    assert np.array_equal([each.median for each in found], model.predict_quantile(X, 0.5))
    assert np.array_equal([each.rmst for each in found], model.predict_rmst(X, TIME))
    parts = model.predict_uncertainty(X, TIME)
    for name in ("aleatoric", "epistemic", "vacuity"):
        assert np.array_equal([getattr(each, name) for each in found], getattr(parts, name))
    assert np.array_equal([each.novelty.p_value for each in found], model.predict_novelty(X))
    for what in ("survival", "width"):
        values, base = shap_values(model, X, what, time=TIME)
        assert np.allclose([getattr(each.contributions, what) for each in found], values)
        assert found[0].contributions.base[what] == pytest.approx(float(base))


def test_frame_explanation_set_and_report_say_the_same(forest):
    model, X, (_, y) = forest
    frame = model.predict_frame(X, [TIME])
    told = model.explain(X, time=TIME, shap=False)
    assert np.array_equal(frame["survival_1"], [each.survival for each in told])
    assert np.array_equal(frame[["lower", "upper"]], [[each.lower, each.upper] for each in told])
    assert np.array_equal(frame["median_time"], [each.median for each in told])
    assert np.array_equal(frame["novelty"], [each.novelty.p_value for each in told])
    undecided = [not each.is_determinate for each in told]
    assert undecided == model.predict_set(X, TIME).all(axis=1).tolist()
    assert model.report(X, y[:40], time=TIME).figures["indeterminate"] == sum(undecided)
    assert model.predict_frame(X, [0.5, TIME]).shape == (40, 9)
    assert f"survival_{model.event_times_[len(model.event_times_) // 2]:g}" in model.predict_frame(X)


def test_rows_at_risk_are_counted_in_leaves():
    """A single leaf of all rows: those whose time is after each event time remain."""
    X, y = table(60)
    model = RandomSurvivalForest(3, min_samples_leaf=60, random_state=0).fit(X, y)
    told = model.explain(X[:1], time=TIME)[0]
    assert told.node_rows == pytest.approx(60)
    later = [(y[:, 0] >= following).sum() for following in told.curve.times[2:]]  # until the next event time
    assert told.curve.at_risk[1:-1] == pytest.approx(later)


def test_nearest_cases_have_times_and_events(forest):
    model, X, (train, y) = forest
    weights = model.row_weights(X).toarray()
    stream = io.BytesIO()
    save(model, stream)
    loaded = load(io.BytesIO(stream.getvalue()))
    for told, again, own in zip(
        model.explain(X, time=TIME, shap=False),
        loaded.explain(X, time=TIME, shap=False, train=train, y_train=y),
        weights,
        strict=True,
    ):
        first = told.cases[0]
        assert first.weight == own.max()
        assert (first.time, first.event) == tuple(y[first.row])
        assert first.label.endswith("+") == (not first.event)
        assert [case[:4] for case in told.cases] == [case[:4] for case in again.cases]
    assert loaded.explain(X[:1])[0].cases is None
    assert model.explain(X[:1], cases=0)[0].cases == []
    unknown = loaded.explain(X[:1], train=train)[0].cases[0]
    assert (unknown.time, unknown.event, unknown.label) == (None, None, None)


def test_sentences_say_what_remains_possible(forest):
    model = forest[0]
    row = np.array([[0.0, np.nan, 99.0]])
    told = model.explain(row, time=TIME)[0]
    assert "x[1] is missing" in told.sentence
    assert "x[2] is outside the training range" in told.sentence
    assert "Novel, most of all x[2]" in told.sentence
    given = replace(told, lower=0.412, upper=0.63, set=["event", "no event"], time=365.0, unit="days", at_risk=1.0)
    assert given.sentence.startswith("Undecided at 365 days: survival between 41% and 63%. 1 training row per node")
    assert replace(given, set=["event"]).sentence.startswith("Event by 365 days is more likely: survival between")
    later = replace(given, set=["no event"], unit=None).sentence
    assert later.startswith("Survival beyond time 365 is more likely: between")


def test_it_can_be_read_and_stored(forest):
    model, X, (train, y) = forest
    told = explain(model, X[:1], train=train, y_train=y, time=TIME)[0]
    assert json.loads(json.dumps(told.to_dict()))["survival"] == told.survival
    for words in (told.to_text(), told.to_html()):
        for title in (
            "Basis of the prediction",
            "Nearest training cases",
            "Feature contributions to survival",
        ):
            assert title in words
    assert told.sentence in " ".join(told.to_text().split())
    assert "<svg" in told.to_html()


def test_a_tree_without_bags_is_explained_and_reported():
    X, y = table(60)
    tree = SurvivalTree(random_state=0).fit(X, y)
    told = tree.explain(X[:1], time=TIME)[0]
    assert told.novelty is None
    assert told.survival == tree.predict_survival_function(X[:1], TIME)[0, 0]
    assert tree.report(X, y).figures["rows"] == 60


def test_rows_at_risk_of_pooled_nodes_are_those_below_them():
    """Each path is followed by hand; the rows of its nodes have the weights of their curves."""
    X, y = table(150)
    model = RandomSurvivalForest(3, random_state=0).fit(X, y)
    predictor = predictor_of(model)
    weights, info = predictor.calibrator().weights, predictor.info
    assert sum(weight > 0 for weight in weights) > 1
    told = predictor.at_risk(predictor.read(X[:4]))
    wanted = np.zeros_like(told)
    for row, tree in itertools.product(range(4), range(3)):
        path = path_of(model, X[row : row + 1], tree)
        for depth, weight in zip(DEPTHS, weights, strict=True):
            node = next(node for node in path if depth == 0 or model.trees_[tree].weights[node].sum() >= depth)
            counts = np.asarray(model.trees_[tree].weights[node])[None]
            at = AtRisk.of(counts, info).rows[0]
            wanted[row] += weight * np.concatenate([[counts.sum()], at[:1], at[2:], [0]]) / 3
    np.testing.assert_allclose(told, wanted)


def path_of(model, row, number):
    """The nodes of a tree that a row passes, from its leaf upwards."""
    path = [int(model.apply(row)[0, number])]
    while (above := int(model.trees_[number].parent[path[-1]])) >= 0:
        path.append(above)
    return path


def test_competing_causes_and_late_entry_are_explained():
    X, y = table(150)
    causes = np.where(y[:, 1] > 0, 1 + (X[:, 2] > 0.5), 0)
    model = RandomSurvivalForest(5, random_state=0).fit(X, (y[:, 0], causes), entry=y[:, 0] * (X[:, 1] > 0.8) / 2)
    told = model.explain(X[:3], time=TIME)
    incidence = model.predict_cumulative_incidence(X[:3], [TIME])[:, 0]
    bounds = model.predict_cumulative_incidence(X[:3], [TIME], bounds=True)[:, 0]
    for each, share, ends in zip(told, incidence, bounds, strict=True):
        assert [part.cause for part in each.incidence] == [1, 2]
        assert np.array_equal([part.probability for part in each.incidence], share)
        assert np.array_equal([[part.lower, part.upper] for part in each.incidence], ends)
        assert {case.event for case in each.cases} <= {0, 1, 2}
    assert "cause 2 by time 1" in told[0].to_text()
    frame = model.predict_frame(X[:3], [TIME])
    assert np.array_equal(frame[["cause_1_1", "cause_2_1"]], incidence)
    assert np.array_equal(frame[["cause_2_lower", "cause_2_upper"]], bounds[:, 1])
    assert json.loads(json.dumps(told[0].to_dict()))["incidence"][1]["cause"] == 2
    assert model.report(X, (y[:, 0], causes), time=TIME).figures["rows"] == 150


@pytest.mark.parametrize("name", ["immutable", "increasing", "wanted", "coverage"])
def test_arguments_of_other_types_raise(forest, name):
    model, X, _ = forest
    with pytest.raises(ValueError, match=f"{name} must be None for a survival model"):
        model.explain(X[:1], **{name: 0.9 if name == "coverage" else ["x[0]"]})


def test_times_are_for_survival_models(forest):
    model, X, (train, y) = forest
    others = RandomForestRegressor(2).fit(train, y[:, 0]), RandomForestClassifier(2).fit(train, y[:, 1])
    for other in others:
        with pytest.raises(ValueError, match="time must be None for a"):
            other.explain(X[:1], time=TIME)
        with pytest.raises(ValueError, match="time must be None for a"):
            shap_values(other, X[:1], time=TIME)
    with pytest.raises(ValueError, match="times must be at most"):
        model.explain(X[:1], time=1e9)
    with pytest.raises(ValueError, match="horizon must be"):
        shap_values(model, X[:1], "rmst", time=1e9)
    with pytest.raises(ValueError, match="what must be one of survival"):
        shap_values(model, X[:1], "probability")
    with pytest.raises(ValueError, match="time must be None for the risk"):
        shap_values(model, X[:1], "risk", time=TIME)
