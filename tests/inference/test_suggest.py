"""Suggest: which rows to ask about next is a greedy choice by doubt, cover and difference."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris

from hedgerow import DecisionTreeClassifier, ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor
from hedgerow.belief import total_uncertainty
from hedgerow.forest import proximity as module


@pytest.fixture(scope="module")
def forest():
    X, y = load_iris(return_X_y=True)
    return RandomForestClassifier(20, random_state=0).fit(X[::5], y[::5])


def _greedy(proximity, doubt, n):
    """The definition, with a table of all proximities."""
    left, near, chosen = doubt.copy(), np.zeros(len(doubt)), []
    for _ in range(n):
        useful = doubt * np.sqrt(proximity @ left) * (1 - near)
        useful[chosen] = -1
        best = int(np.argmax(useful))
        chosen.append(best)
        left, near = left * (1 - proximity[best]), np.maximum(near, proximity[best])
    return chosen


def test_rows_are_those_of_the_definition(forest):
    X = np.random.default_rng(0).uniform(load_iris().data.min(axis=0), load_iris().data.max(axis=0), (80, 4))
    ordered = np.sort(forest.predict_proba(X), axis=1)
    found = forest.suggest(X, 12)
    assert found.tolist() == _greedy(forest.proximity(X).toarray(), 1 - ordered[:, -1] + ordered[:, -2], 12)
    assert len(set(found)) == 12


def test_the_klir_strategy_takes_the_uncertainty_of_the_mass_of_the_bounds(forest):
    X = np.random.default_rng(1).uniform(load_iris().data.min(axis=0), load_iris().data.max(axis=0), (60, 4))
    mass = np.zeros((60, 8))
    mass[:, [1, 2, 4]] = forest.predict_bounds(X)[:, :, 0]
    mass[:, 7] = 1 - mass.sum(axis=1)
    doubt = total_uncertainty(mass, 0.5)
    found = forest.suggest(X, 8, strategy="klir")
    assert found.tolist() == _greedy(forest.proximity(X).toarray(), doubt, 8)
    assert found.tolist() != forest.suggest(X, 8).tolist()


def test_a_strategy_that_is_unknown_or_needs_classes_is_refused(forest):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="strategy must be 'margin' or 'klir', got 'entropy'"):
        forest.suggest(X, strategy="entropy")
    with pytest.raises(ValueError, match="strategy must be 'margin' for RandomForestRegressor, got 'klir'"):
        RandomForestRegressor(5, random_state=0).fit(X, y).suggest(X, strategy="klir")


def test_copies_of_a_row_are_suggested_once(forest):
    X = load_iris().data
    first = forest.suggest(X, 1)[0]
    copies = np.vstack([X[[first]].repeat(5, axis=0), X])
    chosen = copies[forest.suggest(copies, 8)]
    assert (chosen == X[first]).all(axis=1).sum() == 1


def test_all_rows_are_suggested_if_there_are_few(forest):
    assert sorted(forest.suggest(load_iris().data[:3])) == [0, 1, 2]


def test_rows_do_not_depend_on_the_number_of_threads(forest):
    X = load_iris().data
    assert forest.suggest(X, 5).tolist() == forest.set_params(n_jobs=2).suggest(X, 5).tolist()
    forest.set_params(n_jobs=None)


def test_of_many_rows_only_the_most_doubtful_are_looked_at(forest, monkeypatch):
    X = load_iris().data
    ordered = np.sort(forest.predict_proba(X), axis=1)
    doubt = 1 - ordered[:, -1] + ordered[:, -2]
    monkeypatch.setattr(module, "MOST_ROWS", 20)
    kept = np.sort(np.argsort(-doubt, kind="stable")[:20])
    assert forest.suggest(X, 6).tolist() == kept[forest.suggest(X[kept], 6)].tolist()


@pytest.mark.parametrize("kind", [RandomForestRegressor, ExtraTreesRegressor])
def test_regressors_ask_where_trees_disagree(kind):
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (200, 1))
    y = np.where(X[:, 0] < 0.5, 0.0, rng.normal(size=200))
    rows = kind(20, random_state=0).fit(X, y).suggest(np.linspace(0.01, 0.99, 99)[:, None], 5)
    assert (rows > 48).all()


def test_several_outputs_and_single_trees_suggest_too():
    X, y = load_iris(return_X_y=True)
    both = RandomForestClassifier(10, random_state=0).fit(X[::5], np.column_stack([y, y == 1])[::5])
    assert len(both.suggest(X, 4)) == 4
    assert len(DecisionTreeClassifier(max_depth=2).fit(X, y).suggest(X, 4)) == 4


def test_a_wrong_number_is_refused(forest):
    with pytest.raises(ValueError, match="n must be"):
        forest.suggest(load_iris().data, 0)
