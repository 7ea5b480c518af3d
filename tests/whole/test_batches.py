"""Batches: what a model says of a row has the same bits, whatever other rows it is asked about with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy import sparse

from hedgerow import RandomForestClassifier
from hedgerow.decisions import all_decisions
from hedgerow.rules import all_rules
from hedgerow.storage.values import estimator_named, public_estimators

#: Rows that are asked about in batches, the first of all those that are asked about at once.
N_BATCHED, N_ASKED = 21, 1200
#: What else says something of each row.
OTHERS = ("apply", "decision_path", "embed", "score_samples", "transform")
#: What only forests whose bags leave rows out can say.
NEED_BAGS = ("predict_interval", "predict_lower", "predict_novelty", "predict_variance")


def table(seed: int, n_rows: int) -> NDArray[np.float64]:
    """(n, 5): numbers; in training rows, which have seed 0, none is missing."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 5))
    X[rng.random(X.shape) < 0.05 * seed] = np.nan
    return X


ASKED = table(1, N_ASKED)


def fitted(name: str, n_classes: int = 5, **parameters: Any) -> Any:
    """A model of few trees, fitted to classes or numbers that depend on the table."""
    X, kind = table(0, 250), estimator_named(name)
    numbers = X[:, 0] + X[:, 1] + np.random.default_rng(2).normal(size=len(X)) / 2
    classes = np.searchsorted(np.quantile(numbers, np.arange(1, n_classes) / n_classes), numbers)
    few = {"n_estimators": 19} if "n_estimators" in kind().get_params() else {}
    y = classes if name.endswith("Classifier") else numbers
    if "Survival" in name:
        y = np.column_stack([np.exp(numbers), classes > 0])
    return kind(random_state=0, **few, **parameters).fit(X, y)


def arrays_of(answer: Any) -> list[NDArray[Any]]:
    """An answer -> the arrays it is made of, of which each has a row for each sample."""
    if isinstance(answer, tuple):
        return [array for part in answer for array in arrays_of(part)]
    if isinstance(answer, pd.DataFrame):
        return [array for name in answer for array in arrays_of(answer[name])]
    array = answer.toarray() if sparse.issparse(answer) else np.asarray(answer)
    return [np.array([repr(row) for row in array.tolist()]) if array.dtype.kind == "O" else array]


def assert_batches_do_not_matter(ask: Callable[[Any], Any], n_asked: int = N_ASKED) -> None:
    whole = [array[:N_BATCHED].tobytes() for array in arrays_of(ask(ASKED[:n_asked]))]
    for size in (1, 7):
        parts = [arrays_of(ask(ASKED[first : first + size])) for first in range(0, N_BATCHED, size)]
        for number, (expected, found) in enumerate(zip(whole, zip(*parts, strict=True), strict=True)):
            assert np.concatenate(found).tobytes() == expected, f"array {number}, batches of {size}"


def questions(model: Any) -> dict[str, Callable[[Any], Any]]:
    """Everything that can be asked of a model about rows."""
    names = [name for name in dir(model) if name.startswith("predict") or name in OTHERS]
    asked = {name: getattr(model, name) for name in names}
    if isinstance(model.decision_path(ASKED[:1]), tuple):  # the second is about nodes
        asked["decision_path"] = lambda X: model.decision_path(X)[0]
    if "predict_action" in asked and hasattr(model, "predict_uncertainty"):
        asked["credal"] = lambda X: model.predict_uncertainty(X, "credal")
    if "predict_action" in asked:
        costs = {"wait": np.arange(len(model.classes_)), "act": np.ones(len(model.classes_))}
        asked["predict_action"] = lambda X: model.predict_action(X, costs)
    if "predict_belief" in asked:
        asked["predict_belief"] = lambda X: model.predict_belief(X, (0.2, 0.8))
    if "predict_distribution" in asked:
        method = "scaled" if getattr(model, "bootstrap", False) else "leaves"
        asked["predict_distribution"] = lambda X: model.predict_distribution(X, method=method).cdf(0.0)
    if getattr(model, "bootstrap", False) and hasattr(model, "predict_interval"):
        asked["jackknife+"] = lambda X: model.predict_interval(X, method="jackknife+")
        asked["scaled quantiles"] = lambda X: model.predict_quantiles(X, method="scaled")
    if not getattr(model, "bootstrap", False):
        asked = {name: ask for name, ask in asked.items() if name not in NEED_BAGS}
    return asked


@pytest.mark.parametrize("name", public_estimators())
def test_every_answer_of_every_estimator(name: str) -> None:
    bootstrap = {"bootstrap": True} if "bootstrap" in estimator_named(name)().get_params() else {}
    asked = questions(fitted(name, **bootstrap))
    assert len(asked) > 4
    for ask in asked.values():
        assert_batches_do_not_matter(ask)


@pytest.mark.parametrize("n_classes", [2, 3, 8])
def test_every_answer_of_trees_for_pairs(n_classes: int) -> None:
    for ask in questions(fitted("PairwiseTreesClassifier", n_classes)).values():
        assert_batches_do_not_matter(ask)


@pytest.mark.parametrize("rule", list(all_rules()), ids=repr)
def test_every_rule(rule: Any) -> None:
    model = fitted("RandomForestClassifier", rule=rule, caution=0.3)
    n_asked = 60 if rule.merge == "stack" else N_ASKED  # PCR6 takes milliseconds a row
    for ask in (model.predict_proba, model.predict_bounds, model.predict_set, model.predict_uncertainty):
        assert_batches_do_not_matter(ask, n_asked)


@pytest.mark.parametrize("n_classes", [3, 9])
def test_every_decision(n_classes: int) -> None:
    model: RandomForestClassifier = fitted("RandomForestClassifier", n_classes)
    for decision in all_decisions().values():
        assert_batches_do_not_matter(model.set_params(decision=decision).predict_set)


@pytest.mark.parametrize("ordinal", [False, True])
def test_masses_of_confidence_intervals(ordinal: bool) -> None:
    model = fitted("RandomForestClassifier", 3)
    assert_batches_do_not_matter(lambda X: model.predict_mass(X, "multinomial", ordinal=ordinal))
