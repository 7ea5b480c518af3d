"""Any order of calls: a forest that was fitted, saved, loaded and asked in between is one that was only fitted."""

from __future__ import annotations

import io
import os
import warnings
from typing import Any

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import hedgerow
from hedgerow import RandomForestClassifier

#: Calls in all; a long run sets HEDGEROW_CALLS=1000.
CALLS = int(os.environ.get("HEDGEROW_CALLS", "60"))
PLAIN = {"rule": "average", "caution": 1.0, "decision": "dominance", "calibration": None, "novelty": None}
ASKED = np.random.default_rng(99).normal(size=(7, 3)).round(1)


def drawn(seed: int) -> tuple[Any, Any]:
    """Rows of three classes, all of which occur."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(45, 3)).round(1)
    return X, np.where(np.arange(45) < 9, np.arange(45) % 3, (X[:, 0] > 0).astype(int) + (X[:, 1] > 0.5))


def done(calls: list[tuple[str, int]]) -> RandomForestClassifier:
    """Calls that change the trees -> a forest on which only these were made."""
    model = RandomForestClassifier(6, random_state=0, **PLAIN)
    for name, seed in calls:
        model = changed(model, name, seed)
    return model


def changed(model: Any, name: str, seed: int) -> Any:
    if name == "merge":
        other = RandomForestClassifier(2, random_state=seed).fit(*drawn(seed))
        return hedgerow.merge(model, other.set_params(**{key: getattr(model, key) for key in PLAIN}))
    if name == "grow_more":
        return model.grow_more(1)
    return getattr(model, name)(*drawn(seed))


class AnyOrder(RuleBasedStateMachine):
    """A forest, and the calls that a fresh one needs to be the same."""

    @initialize(seed=st.integers(0, 5))
    def begin(self, seed: int) -> None:
        self.parameters, self.calls, self.has_rows = dict(PLAIN), [("fit", seed)], True
        self.model = done(self.calls)

    @rule(seed=st.integers(0, 5))
    def fit(self, seed: int) -> None:
        self.calls, self.has_rows = [("fit", seed)], True
        self.model.set_params(n_estimators=6).fit(*drawn(seed))

    @precondition(lambda self: self.has_rows)
    @rule(seed=st.integers(0, 5))
    def partial_fit(self, seed: int) -> None:
        self._change("partial_fit", seed)

    @precondition(lambda self: self.has_rows)
    @rule()
    def grow_more(self) -> None:
        self._change("grow_more", 0)

    @precondition(lambda self: self.has_rows)
    @rule(seed=st.integers(6, 8))
    def merge(self, seed: int) -> None:
        self.has_rows = False  # a merged forest has none, and neither map nor hulls
        self._set(calibration=None, novelty=None)
        self._change("merge", seed)

    @rule()
    def save_and_load(self) -> None:
        file = io.BytesIO()
        hedgerow.save(self.model, file)
        self.model, self.has_rows = hedgerow.load(io.BytesIO(file.getvalue())), False

    @rule(
        rule=st.sampled_from(["average", "eva", "dempster", "pool", "laplace"]),
        caution=st.sampled_from([0.0, 1.0, 3.5]),
        decision=st.sampled_from(["dominance", "maximality"]),
    )
    def set_params(self, **parameters: Any) -> None:
        if self.parameters["calibration"] and not self.has_rows:
            del parameters["rule"]  # a file holds the map of one rule
        self._set(**parameters)

    @precondition(lambda self: self.has_rows)
    @rule(calibration=st.sampled_from([None, "oob"]), novelty=st.sampled_from([None, 0.2]))
    def set_what_needs_rows(self, **parameters: Any) -> None:
        self._set(**parameters)

    @rule(name=st.sampled_from(["predict", "predict_uncertainty", "apply"]))
    def ask(self, name: str) -> None:
        getattr(self.model, name)(ASKED)

    @invariant()
    def answers_as_a_fresh_one(self) -> None:
        if not hasattr(self, "model"):
            return
        fresh = done(self.calls).set_params(**self.parameters)
        for name in ("predict_proba", "predict_bounds", "predict_set"):
            assert np.array_equal(getattr(self.model, name)(ASKED), getattr(fresh, name)(ASKED)), name

    def _set(self, **parameters: Any) -> None:
        self.parameters |= parameters
        self.model.set_params(**parameters)

    def _change(self, name: str, seed: int) -> None:
        self.calls.append((name, seed))
        self.model = changed(self.model, name, seed)


def test_a_forest_does_not_remember_in_which_order_it_was_asked() -> None:
    machine = settings(
        max_examples=max(1, CALLS // 20),
        stateful_step_count=20,
        deadline=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    AnyOrder.TestCase.settings = machine
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        AnyOrder.TestCase("runTest").runTest()
