"""A predictor is kept for the parameters of an estimator, and made again if something that it depends on changes."""

from __future__ import annotations

from typing import Any

import numpy as np

from hedgerow import RandomForestClassifier
from hedgerow.inference.predictor import predictor_of
from hedgerow.rules import Laplace
from hedgerow.tasks.classification.predictor import ClassificationPredictor


def fitted(**parameters: Any) -> tuple[RandomForestClassifier, Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = (X[:, 0] + rng.normal(size=300) > 0).astype(int)
    return RandomForestClassifier(10, random_state=0, **parameters).fit(X, y), X, y


def test_a_second_call_has_the_same_predictor() -> None:
    model, X, _ = fitted(caution=1)
    model.predict_set(X[:1])
    first, second = predictor_of(model), predictor_of(model)
    for name in ("rule", "plain_rule", "calibration", "caution", "setting", "decision"):
        assert getattr(first, name) is getattr(second, name), name


def test_other_parameters_give_other_answers_at_once() -> None:
    model, X, _ = fitted()
    for parameters in ({"caution": 4.0}, {"rule": "laplace"}, {"decision": "maximin"}, {"calibration": None}):
        before = model.get_params()
        model.predict_bounds(X)
        model.predict_set(X)
        changed = model.set_params(**parameters)
        fresh, _, _ = fitted(**parameters)
        assert changed.predict_bounds(X).tobytes() == fresh.predict_bounds(X).tobytes(), parameters
        assert changed.predict_set(X).tobytes() == fresh.predict_set(X).tobytes(), parameters
        model.set_params(**{name: before[name] for name in parameters})


def test_a_rule_that_is_an_object_may_change_meanwhile() -> None:
    model, X, _ = fitted(rule=Laplace(1.0), calibration=None)
    model.predict_bounds(X)
    model.set_params(rule__alpha=5.0)
    fresh, _, _ = fitted(rule=Laplace(5.0), calibration=None)
    assert model.predict_bounds(X).tobytes() == fresh.predict_bounds(X).tobytes()


def test_a_predictor_is_made_again_once_something_is_learned() -> None:
    model, _, _ = fitted(caution="auto")
    chosen = predictor_of(model).caution
    model._fitted.learned.put("caution", ("average", "auto"), chosen + 1)
    assert predictor_of(model).caution == chosen + 1


def test_another_rule_or_caution_for_one_question_leaves_the_others_alone() -> None:
    model, X, _ = fitted(caution=1.0)
    predictor: ClassificationPredictor = predictor_of(model)
    batch = predictor.read(X)
    before = predictor.bounds(batch)
    wider = predictor.under(caution=5.0).bounds(batch)
    assert (wider[:, :, 1] - wider[:, :, 0] > before[:, :, 1] - before[:, :, 0]).all()
    assert predictor_of(model).bounds(batch).tobytes() == before.tobytes()


def test_other_threads_or_immutable_features_have_another_predictor() -> None:
    model, _, _ = fitted()
    assert predictor_of(model) is predictor_of(model)
    assert predictor_of(model.set_params(n_jobs=2)).n_jobs == 2
    assert predictor_of(model.set_params(immutable_features=[1])).immutable == (1,)


def test_probabilities_choose_no_caution() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    model = RandomForestClassifier(5, caution=1.0, random_state=0).fit(X, X[:, 0] > 0)
    model.set_params(caution="auto").predict_proba(X)
    assert model._fitted.learned.last("caution") is None
    model.predict_set(X)
    assert model._fitted.learned.last("caution") is not None
