"""Costs in Python: actions and what they cost -> the same figures as from a file."""

from __future__ import annotations

import copy
import io

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris

import hedgerow
from hedgerow import RandomForestClassifier
from hedgerow.decisions import Dominance, ExpectedUtility
from hedgerow.tasks.classification.costs import Costs

CLASSES = np.array(["ill", "well"], dtype=object)


def test_actions_are_matched_with_classes_and_with_looking_again():
    costs = Costs.of({" Well": [9, 0], "look  again": [1, 1], "ill": [0, 2]}, CLASSES)
    sets = np.array([[True, False], [False, True], [True, True]])
    assert [costs.actions[each] for each in costs.of_sets(sets)] == ["ill", " Well", "look  again"]
    probability = np.array([[0.05, 0.95], [0.3, 0.7], [0.9, 0.1]])
    assert [costs.actions[each] for each in costs.cheapest(probability)] == [" Well", "look  again", "ill"]


def test_a_data_frame_of_costs_is_read_by_column():
    pandas = pytest.importorskip("pandas")
    costs = Costs.of(pandas.DataFrame({"go": [1.0, 2.0], "stay": [3.0, 4.0]}, index=CLASSES), CLASSES)
    np.testing.assert_array_equal(costs.table, [[1, 3], [2, 4]])
    assert costs.of_sets(np.array([[True, False]])) is None


def test_names_of_classes_decide_the_orientation():
    pandas = pytest.importorskip("pandas")
    given = {"go": {"well": 2.0, "ill": 1.0}, "stay": {"well": 4.0, "ill": 3.0}}
    expected = [[1, 3], [2, 4]]
    np.testing.assert_array_equal(Costs.of(given, CLASSES).table, expected)
    np.testing.assert_array_equal(Costs.of(pandas.DataFrame(given), CLASSES).table, expected)
    np.testing.assert_array_equal(Costs.of(pandas.DataFrame({"go": [1, 2], "stay": [3, 4]}), CLASSES).table, expected)
    with pytest.raises(ValueError, match=r"a row for each class .ill, well. .* Transpose them if actions are rows"):
        Costs.of(pandas.DataFrame(given).T, CLASSES)
    with pytest.raises(TypeError, match="costs must map each action to the costs for each class, got ndarray"):
        Costs.of(np.eye(2), CLASSES)


@pytest.fixture(scope="module")
def forest() -> tuple[RandomForestClassifier, np.ndarray]:
    X, y = load_iris(return_X_y=True)
    return RandomForestClassifier(30, random_state=0).fit(X[::2], y[::2]), X[1::2]


def test_the_action_has_the_lowest_expected_cost(forest):
    """Costs times probabilities, by hand."""
    model, X = forest
    costs = {"keep": [0, 0, 9], "look again": [1, 1, 1], "remove": [9, 9, 0]}
    expected = model.predict_proba(X) @ np.array(list(costs.values())).T
    actions = model.predict_action(X, costs)
    assert actions.tolist() == np.array(list(costs))[expected.argmin(axis=1)].tolist()
    assert set(actions) == set(costs)
    by_utility = clone(model).set_params(decision=ExpectedUtility({name: -np.array(c) for name, c in costs.items()}))
    frame = by_utility.fit(*load_iris(return_X_y=True)).predict_frame(X)
    assert "set" not in frame
    assert {len(each) for each in frame["actions"]} == {1}
    assert set(frame["actions"].str[0]) == set(costs)


def test_expected_costs_are_minimal_for_any_costs(forest):
    """The law of `predict_action`, for random tables of costs with a fourth action."""
    model, X = forest
    probability, rng = model.predict_proba(X), np.random.default_rng(0)
    for _ in range(20):
        table = rng.integers(0, 10, (4, 3)).astype(float)
        names = ["a", "b", "c", "look again"]
        chosen = model.predict_action(X, dict(zip(names, table, strict=True)))
        expected = probability @ table.T
        own = expected[np.arange(len(X)), [names.index(each) for each in chosen]]
        assert (own <= expected.min(axis=1) + 1e-12).all()


def test_lists_that_may_be_rows_or_columns_are_an_error():
    for given in ({"ill": [0, 9], "well": [1, 0]}, {"Well": [1, 0], "ill": {"ill": 0, "well": 9}}):
        with pytest.raises(ValueError, match="costs must be given by class if actions have the names of the classes"):
            Costs.of(given, CLASSES)
    pandas = pytest.importorskip("pandas")
    costs = pandas.DataFrame({"ill": [0, 9], "well": [1, 0]}, index=pandas.Index(CLASSES, name="truth"))
    assert Costs.of(costs, CLASSES).table.tolist() == [[0, 1], [9, 0]]
    with pytest.raises(ValueError, match="Transpose them"):
        Costs.of(costs.T, CLASSES)


@pytest.fixture(scope="module")
def acting() -> tuple[RandomForestClassifier, np.ndarray, np.ndarray]:
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    utility = {"a": [1, 0, 0], "b": [0, 1, 0], "c": [0, 0, 1], "wait": [0.9, 0.9, 0.9]}
    model = RandomForestClassifier(30, caution=3, decision=Dominance(utility), random_state=0).fit(X[::2], names[::2])
    return model, X[1::2], names[1::2]


def test_actions_are_explained_and_reported_as_actions(acting):
    model, X, y = acting
    file = io.BytesIO()
    hedgerow.save(model, file)
    assert hedgerow.load(io.BytesIO(file.getvalue())).decision.actions == ["a", "b", "c", "wait"]
    frame = model.predict_frame(X)
    found = model.explain(X, shap=False)
    assert (
        [each.actions for each in found] == frame["actions"].tolist() == [each.to_dict()["actions"] for each in found]
    )
    by_dominance = copy.copy(model).set_params(decision="dominance")
    assert [each.set for each in found] == by_dominance.predict_set(X, labels=True)
    one = next(each for each in found if each.actions == ["wait"])
    assert one.sentence.startswith("Action: wait. ")
    several = next(each for each in found if len(each.actions) > 1)
    assert several.sentence.startswith("Actions not ruled out: ")
    assert "chooses the actions" in several.to_text()
    assert model.report(X, y).figures == by_dominance.report(X, y).figures
    assert all(each.actions is None for each in by_dominance.explain(X[:3], shap=False))


@pytest.mark.parametrize("given", [{"go": [1.0]}, {"go": [1.0, np.nan]}, {}])
def test_costs_that_lack_a_class_are_refused(given):
    with pytest.raises(ValueError, match="costs must have"):
        Costs.of(given, CLASSES)
