"""Calibration: what ``calibration="oob"`` changes in a forest, and what it leaves alone."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score

from hedgerow import ExtraTreesClassifier, RandomForestClassifier, combine, load, merge, save, to_onnx, to_sklearn
from hedgerow.decisions import Coverage
from hedgerow.inference.predictor import predictor_of
from hedgerow.rules import all_rules, resolve_rule

N_TREES = 25


def rows(n_classes: int = 3, n: int = 600, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    return make_classification(
        n, 8, n_informative=6, n_redundant=0, n_classes=n_classes, class_sep=0.8, flip_y=0.05, random_state=seed
    )


def halves(n_classes: int = 3, n: int = 600) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    X, y = rows(n_classes, 2 * n)
    return X[:n], y[:n], X[n:], y[n:]


def forest(**given: Any) -> RandomForestClassifier:
    return RandomForestClassifier(N_TREES, random_state=0, **{"calibration": "oob", **given})


def log_loss(probability: np.ndarray, y: np.ndarray) -> float:
    return float(-np.log(np.maximum(probability[np.arange(len(y)), y], 1e-3)).mean())


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesClassifier])
def test_calibrated_probabilities_are_better_on_fresh_rows(kind, n_classes):
    X, y, later, truth = halves(n_classes)
    plain = kind(N_TREES, bootstrap=True, calibration=None, random_state=0).fit(X, y)
    mapped = clone(plain).set_params(calibration="oob").fit(X, y)
    assert log_loss(mapped.predict_proba(later), truth) < log_loss(plain.predict_proba(later), truth)
    assert mapped.calibration_.slope > 1
    assert not mapped.calibration_.why


def test_none_changes_nothing():
    X, y, later, _ = halves()
    mapped, plain = forest().fit(X, y), forest(calibration=None).fit(X, y)
    assert RandomForestClassifier().calibration == ExtraTreesClassifier().calibration == "oob"
    assert plain.calibration_.why
    mapped.set_params(calibration=None)
    np.testing.assert_array_equal(mapped.predict_proba(later), plain.predict_proba(later))
    np.testing.assert_array_equal(mapped.predict_bounds(later), plain.predict_bounds(later))


def test_all_answers_rest_on_the_mapped_probabilities():
    X, y, later, _ = halves()
    model = forest().fit(X, y)
    probability, bounds = model.predict_proba(later), model.predict_bounds(later)
    vacuity = model.predict_uncertainty(later).vacuity[:, None]
    np.testing.assert_allclose(bounds[..., 0], (1 - vacuity) * probability, atol=1e-12)
    np.testing.assert_allclose(bounds[..., 1], (1 - vacuity) * probability + vacuity, atol=1e-12)
    np.testing.assert_allclose(model.evidence(later).combine().probability, probability, atol=1e-12)
    np.testing.assert_array_equal(model.predict(later), model.classes_[probability.argmax(axis=1)])
    dominated = bounds[..., 1] < bounds[..., 0].max(axis=1, keepdims=True)
    assert not (model.predict_set(later) & dominated).any()


@pytest.mark.parametrize("rule", [rule for rule in all_rules() if not rule.needs_weights], ids=repr)
def test_every_rule_keeps_its_laws_or_steps_aside(rule):
    X, y, later, _ = halves(n=150)
    model = forest(rule=rule, caution=1.0).fit(X, y)
    answers = predictor_of(model)
    narrow = answers.opinion(answers.read(later))
    assert np.abs(narrow.probability.sum(axis=1) - 1).max() <= 1e-12
    assert (narrow.lower <= narrow.probability).all()
    assert (narrow.probability <= narrow.upper).all()
    assert bool(model.calibration_.why) == (rule.chooses or not rule.calibrates)
    if "widens" in rule.laws:
        wide = predictor_of(model.set_params(caution=2.0)).opinion(answers.read(later))
        assert (wide.lower <= narrow.lower + 1e-12).all()
        assert (wide.upper >= narrow.upper - 1e-12).all()


def test_rules_whose_probabilities_depend_on_caution_or_are_products_are_not_mapped():
    products = ("dempster", "cautious", "dubois_prade", "eva")
    counts = np.random.default_rng(0).poisson(2.0, (200, 5, 3)).astype(float)
    for rule in all_rules():
        if rule.needs_weights or rule.chooses:
            continue
        if rule.name in products:
            assert not rule.calibrates
            continue
        one, other = (combine(counts, rule, caution=caution).probability for caution in (0.5, 2.0))
        assert np.allclose(one, other) == rule.calibrates, rule


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_the_bits_do_not_depend_on_threads_or_batches(n_jobs):
    X, y, later, _ = halves(9)
    one = forest(n_jobs=1).fit(X, y).predict_proba(later)
    model = forest(n_jobs=n_jobs).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(later), one)
    parts = [model.predict_proba(later[first : first + 7]) for first in range(0, 70, 7)]
    np.testing.assert_array_equal(np.concatenate(parts), one[:70])


@pytest.mark.parametrize("given", [{}, {"decision": Coverage(0.9)}, {"caution": "auto"}, {"rule": "vote"}])
def test_a_file_and_a_pickle_answer_alike(given, tmp_path):
    X, y, later, _ = halves()
    model = forest(**given).fit(X, y)
    save(model, tmp_path / "forest.hedge")
    for other in (load(tmp_path / "forest.hedge"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.predict_proba(later), model.predict_proba(later))
        np.testing.assert_array_equal(other.predict_bounds(later), model.predict_bounds(later))
        np.testing.assert_array_equal(other.predict_set(later), model.predict_set(later))
        assert repr(other.calibration_) == repr(model.calibration_)


def test_a_loaded_forest_has_no_map_for_another_rule(tmp_path):
    X, y, later, _ = halves()
    save(forest().fit(X, y), tmp_path / "forest.hedge")
    other = load(tmp_path / "forest.hedge").set_params(rule="vote")
    assert "training rows" in other.calibration_.why
    plain = forest(rule="vote", calibration=None).fit(X, y)
    np.testing.assert_array_equal(other.predict_proba(later), plain.predict_proba(later))


def test_another_rule_gets_a_map_of_its_own():
    X, y, later, _ = halves()
    model = forest().fit(X, y).set_params(rule="vote")
    np.testing.assert_array_equal(model.predict_proba(later), forest(rule="vote").fit(X, y).predict_proba(later))


def test_too_few_rows_are_said():
    X = halves()[0]
    model = forest().fit(X[:12], np.arange(12) % 3)
    assert "12 out-of-bag rows" in model.calibration_.why
    np.testing.assert_array_equal(model.predict_proba(X), model.set_params(calibration=None).predict_proba(X))


def test_rows_of_uncertain_class_teach_only_if_few_are_certain():
    X, y, _, _ = halves(n=200)
    sets = [{label} if row % 3 else {label, (label + 1) % 3} for row, label in enumerate(y.tolist())]
    model = forest().fit(X, sets)
    assert model.calibration_.n_rows <= sum(len(each) == 1 for each in sets)
    none = forest().fit(X, [{label, (label + 1) % 3} for label in y.tolist()])
    assert none.calibration_.why == ""
    assert none.calibration_.n_rows > model.calibration_.n_rows


def test_later_rows_change_the_map_and_a_new_class_drops_a_stored_one(tmp_path):
    X, y, later, truth = halves()
    model = forest().fit(X, y)
    save(model, tmp_path / "forest.hedge")
    model.partial_fit(later, truth)
    assert model.calibration_.n_rows > len(y)
    other = load(tmp_path / "forest.hedge").partial_fit(later, truth)
    assert not other.calibration_.why
    other.partial_fit(later[:5], np.full(5, 7), classes=[0, 1, 2, 7])
    assert other.calibration_.why
    assert other.predict_proba(later).shape[1] == 4


def test_a_warm_start_learns_again_and_a_merged_forest_says_that_it_cannot():
    X, y, later, _ = halves()
    model = forest(warm_start=True).fit(X, y)
    grown = model.set_params(n_estimators=2 * N_TREES).fit(X, y)
    at_once = forest().set_params(n_estimators=2 * N_TREES).fit(X, y)
    np.testing.assert_array_equal(grown.predict_proba(later), at_once.predict_proba(later))
    merged = merge(forest().fit(X, y), forest().set_params(random_state=1).fit(X, y))
    assert "training rows" in merged.calibration_.why
    assert merged.predict_proba(later).shape == (len(later), 3)


def test_weights_are_used():
    X, y, later, _ = halves(2)
    weights = np.where(y == 1, 5.0, 1.0)
    one, other = forest().fit(X, y), forest().fit(X, y, weights)
    assert one.calibration_.slope != other.calibration_.slope
    assert other.predict_proba(later)[:, 1].mean() > one.predict_proba(later)[:, 1].mean()


def test_without_bags_it_steps_aside_and_says_so(tmp_path):
    X, y, later, _ = halves(n=60)
    model = ExtraTreesClassifier(5, random_state=0).fit(X, y)
    assert "bootstrap=False" in model.calibration_.why
    plain = ExtraTreesClassifier(5, calibration=None, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(later), plain.predict_proba(later))
    save(model, tmp_path / "trees.hedge")
    assert load(tmp_path / "trees.hedge").calibration_.why == model.calibration_.why
    with pytest.raises(ValueError, match="calibration must be 'oob' or None, got 'isotonic'"):
        RandomForestClassifier(5, calibration="isotonic").fit(X, y)
    with pytest.raises(NotFittedError):
        _ = RandomForestClassifier().calibration_


def test_out_of_bag_figures_are_those_of_fresh_rows():
    """With labels drawn at random, a map judged on rows it has seen would look better than chance."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 4)), rng.integers(0, 6, 90)
    model = forest(oob_score=True).set_params(n_estimators=60).fit(X, y)
    fresh = model.predict_proba(rng.normal(size=(4000, 4)))
    honest = log_loss(fresh, rng.integers(0, 6, 4000))
    assert abs(log_loss(model.oob_decision_function_, y) - honest) < 0.2
    judged = predictor_of(model).calibration.of(model.oob_evidence_.combine().probability)
    assert log_loss(judged, y) < log_loss(model.oob_decision_function_, y)
    assert model.oob_score_ == np.mean(model.oob_decision_function_.argmax(axis=1) == y)


def test_tuning_and_the_automatic_caution_look_at_mapped_opinions():
    X, y, _, _ = halves()
    model = forest(caution="auto").fit(X, y)
    assert model.caution_ >= 0
    scores = {setting["caution"]: score for score, setting in model.tune("u80").tuning_}
    plain = forest(calibration=None, caution=1.0).fit(X, y).tune("u80")
    assert scores != {setting["caution"]: score for score, setting in plain.tuning_}


def test_coverage_keeps_its_promise_on_fresh_rows():
    X, y, later, truth = halves(4, n=1500)
    model = forest(decision=Coverage(0.9)).fit(X, y)
    covered = model.predict_set(later)[np.arange(len(truth)), truth].mean()
    assert abs(covered - 0.9) < 0.03


def test_several_outputs_have_a_map_each():
    X, y, later, _ = halves(n=300)
    both = np.column_stack([y, y % 2])
    model = forest().fit(X, both)
    for output, probability in zip(model.outputs_, model.predict_proba(later), strict=True):
        assert not output.calibration_.why
        np.testing.assert_array_equal(output.predict_proba(later), probability)


def test_scikit_learn_can_search_over_it():
    X, y, _, _ = halves(n=200)
    assert cross_val_score(forest(), X, y, scoring="neg_log_loss", cv=3).mean() < 0
    assert "calibration" in forest().get_params()


def test_a_rule_by_name_and_the_same_rule_share_a_map():
    X, y, _, _ = halves(n=200)
    model = forest().fit(X, y)
    before = model.calibration_
    assert model.set_params(rule=resolve_rule("average")).calibration_ is before


def test_onnx_answers_alike():
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    X, y, later, _ = halves()
    model = forest(caution=2.0).fit(X, y)
    session = runtime.InferenceSession(to_onnx(model).SerializeToString())
    names = [output.name for output in session.get_outputs()]
    said = dict(zip(names, session.run(None, {session.get_inputs()[0].name: later}), strict=True))
    np.testing.assert_allclose(said["probability"], model.predict_proba(later), atol=1e-12)
    np.testing.assert_allclose(said["lower"], model.predict_bounds(later)[..., 0], atol=1e-12)
    np.testing.assert_array_equal(said["set"], model.predict_set(later))


def test_to_sklearn_exports_what_was_before_the_map_and_warns():
    X, y, later, _ = halves(n=200)
    model = forest().fit(X, y)
    with pytest.warns(UserWarning, match="scikit-learn does not support calibrators"):
        theirs = to_sklearn(model)
    plain = clone(model).set_params(calibration=None).fit(X, y)
    np.testing.assert_allclose(theirs.predict_proba(later), plain.predict_proba(later), atol=1e-12)


def test_an_explanation_and_a_report_show_the_mapped_probabilities():
    X, y, later, truth = halves(n=200)
    model = forest().fit(X, y)
    told = model.explain(later[:1])[0].to_dict()
    expected = model.predict_proba(later[:1])[0]
    assert f"{expected.max():.3f}" in model.explain(later[:1])[0].to_text()
    assert told
    added = model.explain(later[:1])[0].shap
    assert added.base["label"] + sum(added.label) == pytest.approx(expected.max(), abs=1e-9)
    assert len(model.report(later[:20], truth[:20]).html) > 10_000


def test_the_out_of_bag_score_is_that_of_the_model_also_where_it_has_no_map() -> None:
    """Of 450 classes a map needs 2,250 rows with a judge; so many rows are drawn, and some of these have none."""
    rng = np.random.default_rng(0)
    y = np.arange(2700) % 450
    X = rng.normal(size=(450, 3))[y] + 0.3 * rng.normal(size=(2700, 3))
    forest = RandomForestClassifier(4, oob_score=True, random_state=0, n_jobs=1, max_depth=6)
    with pytest.warns(UserWarning, match="OOB"):
        forest.fit(X, y)
    assert not predictor_of(forest).is_calibrated
    judged = forest.oob_evidence_.is_covered
    assert forest.oob_score_ == (forest.oob_decision_function_.argmax(axis=1) == y)[judged].mean()
