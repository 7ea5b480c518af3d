"""What follows from parameters is settled once for a fit, and again if something that it follows from changes."""

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


def test_a_second_call_takes_what_the_first_has_settled() -> None:
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


def test_what_is_learned_later_is_settled_again() -> None:
    model, _, _ = fitted(caution="auto")
    chosen = predictor_of(model).caution
    model._fitted.learned.put("caution", ("average", "auto"), chosen + 1)
    assert predictor_of(model).caution == chosen + 1


def test_another_rule_or_caution_for_one_question_leaves_the_others_alone() -> None:
    model, X, _ = fitted(caution=1.0)
    now: ClassificationPredictor = predictor_of(model)
    batch = now.read(X)
    before = now.bounds(batch)
    wider = now.under(caution=5.0).bounds(batch)
    assert (wider[:, :, 1] - wider[:, :, 0] > before[:, :, 1] - before[:, :, 0]).all()
    assert predictor_of(model).bounds(batch).tobytes() == before.tobytes()
