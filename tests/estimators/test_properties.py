"""Properties: whatever state an estimator is in, a property is there or is not; notebooks can look at it."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from tests.reference.models import labels, numbers

import hedgerow
from hedgerow.decisions import Coverage
from hedgerow.storage.values import estimator_named, public_estimators

#: Forests; those that learn from labels or numbers can be merged.
FORESTS = [name for name in public_estimators() if "warm_start" in estimator_named(name)().get_params()]
LABELLED = [name for name in FORESTS if "caution" in estimator_named(name)().get_params()]
DRAW_BAGS = [name for name in FORESTS if "bootstrap" in estimator_named(name)().get_params()]


def made(name: str, **parameters: Any) -> Any:
    """An estimator of few trees."""
    kind = estimator_named(name)
    few = {"n_estimators": 4} if "n_estimators" in kind().get_params() else {}
    return kind(random_state=0, **few, **parameters)


def fitted(name: str, n_rows: int = 60, **parameters: Any) -> Any:
    """The same, fitted to a small table."""
    X = numbers(0, n_rows)
    y = labels(X, 3) if name.endswith("Classifier") else np.nan_to_num(X[:, 0])
    if "Survival" in name:
        y = np.column_stack([np.arange(n_rows) % 3 + 1.0, np.ones(n_rows)])
    return made(name, **parameters).fit(X, y)


def loaded(model: Any) -> Any:
    """The model, by way of a file."""
    file = io.BytesIO()
    hedgerow.save(model, file)
    file.seek(0)
    return hedgerow.load(file)


STATES: dict[str, tuple[Any, Callable[[str], Any]]] = {
    "unfitted": (public_estimators(), made),
    "fitted": (public_estimators(), fitted),
    "fitted with a bootstrap": (DRAW_BAGS, lambda name: fitted(name, bootstrap=True, oob_score=True)),
    "fitted without a bootstrap": (DRAW_BAGS, lambda name: fitted(name, bootstrap=False)),
    "loaded": (public_estimators(), lambda name: loaded(fitted(name))),
    "unpickled": (public_estimators(), lambda name: pickle.loads(pickle.dumps(fitted(name)))),
    "merged": (LABELLED, lambda name: hedgerow.merge(fitted(name), fitted(name, n_rows=40))),
    "cloned": (public_estimators(), lambda name: clone(fitted(name))),
}


def look_at(model: Any) -> None:
    """Ask for every name of an estimator as a notebook does; only an AttributeError says that it is not there."""
    names = sorted({*object.__dir__(model), *vars(model)})
    for name in (name for name in names if not name.startswith("__")):
        try:
            getattr(model, name)
        except AttributeError:  # NotFittedError is one
            assert name not in model.get_params()
    assert set(dir(model)) <= set(names)
    assert type(model).__name__ in model._repr_html_()
    assert type(model).__name__ in repr(model)


@pytest.mark.parametrize(("state", "name"), [(state, name) for state, (names, _) in STATES.items() for name in names])
def test_what_does_not_apply_is_not_there(state: str, name: str) -> None:
    look_at(STATES[state][1](name))


@pytest.mark.parametrize("state", ["fitted", "loaded"])
@pytest.mark.parametrize("asked", [{"caution": "auto"}, {"caution": -1.0}, {"rule": "no rule"}, {"n_jobs": 0}])
def test_what_wrong_parameters_forbid_is_not_there(state: str, asked: dict[str, Any]) -> None:
    look_at(STATES[state][1]("RandomForestClassifier").set_params(**asked))


def test_what_must_be_learned_and_cannot_is_not_there() -> None:
    X = numbers(0, 60)
    model = made("RandomForestClassifier").fit(X, [{0, 1} if row % 2 else {1, 2} for row in range(60)])
    look_at(model.set_params(caution="auto", decision=Coverage(0.9)))


def test_regressors_have_a_trace_where_trees_have_left_rows_out() -> None:
    assert hasattr(fitted("RandomForestRegressor"), "oob_trace_")
    for other in (fitted("RandomForestRegressor", bootstrap=False), loaded(fitted("RandomForestRegressor"))):
        assert not hasattr(other, "oob_trace_")
        assert "oob_trace_" not in dir(other)
