"""`grow_more`: further trees are those that one fit would have grown."""

from __future__ import annotations

import io
import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from tests.reference.later import count_by_hand, same_forest

import hedgerow
from hedgerow import (
    DecisionTreeClassifier,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomDecisionTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)

random = np.random.default_rng(0)
X = random.normal(size=(200, 4))
X[random.random(X.shape) < 0.05] = np.nan
LABELS = np.where(np.isnan(X[:, 0]), 0, (X[:, 0] > 0).astype(int) + (X[:, 1] > 0))
NUMBERS = np.nan_to_num(X[:, 0]) + random.normal(size=200)
WEIGHTS = random.integers(0, 4, 200) * 0.7

FORESTS = [
    RandomForestClassifier(4),
    RandomForestClassifier(4, leaf_counts="oob", oob_score=True, caution="auto"),
    RandomForestClassifier(4, class_weight="balanced_subsample", ccp_alpha=0.01),
    RandomForestClassifier(4, max_features="oob"),
    ExtraTreesClassifier(4),
    RandomDecisionTreesClassifier(4),
    RandomForestRegressor(4, oob_score=True),
    ExtraTreesRegressor(4, criterion="absolute_error"),
]


def target(model: Any) -> np.ndarray:
    return LABELS if hasattr(model, "class_weight") else NUMBERS


def same_model(first: Any, second: Any) -> bool:
    """Whether two models are equal, out-of-bag figures among them."""
    names = ("oob_score_", "oob_decision_function_", "oob_prediction_", "caution_", "_origins", "_bag", "max_features_")
    alike = [np.array_equal(getattr(first, name, 0), getattr(second, name, 0), equal_nan=True) for name in names[:4]]
    alike += [getattr(first, name, 0) == getattr(second, name, 0) for name in names[3:]]
    return same_forest(first.forest_, second.forest_) and all(alike)


@pytest.mark.parametrize("forest", FORESTS, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_growing_more_is_growing_at_once(forest: Any, weighted: bool) -> None:
    weights = WEIGHTS if weighted else None
    begun = clone(forest).set_params(random_state=3).fit(X, target(forest), weights)
    whole = clone(forest).set_params(random_state=3, n_estimators=9).fit(X, target(forest), weights)
    assert same_model(begun.grow_more(2).grow_more(3), whole)
    assert begun.get_params()["n_estimators"] == 9


@pytest.mark.parametrize("forest", [FORESTS[0], FORESTS[6]], ids=str)
def test_a_copy_grows_more_when_the_rows_are_handed_in_again(forest: Any) -> None:
    y = target(forest)
    begun = clone(forest).set_params(random_state=3).fit(X, y)
    whole = clone(forest).set_params(random_state=3, n_estimators=6).fit(X, y)
    copies = [pickle.loads(pickle.dumps(begun)), loaded(begun)]
    for copy in copies:
        with pytest.raises(ValueError, match="grow_more requires X and y"):
            copy.grow_more(2)
        with pytest.raises(ValueError, match="X must have the 200 rows so far, got 100"):
            copy.grow_more(2, X[:100], np.tile(y[:50], 2))
        assert same_model(copy.grow_more(2, X, y), whole)


def test_trees_grown_after_later_rows_are_grown_on_all_of_them() -> None:
    forest = RandomForestClassifier(3, random_state=0, oob_score=True).fit(X[:120], LABELS[:120])
    forest.partial_fit(X[120:], LABELS[120:]).grow_more(4).partial_fit(X[:50], LABELS[:50])
    everything, labels = np.concatenate([X, X[:50]]), np.concatenate([LABELS, LABELS[:50]])
    for tree, (rows, _) in zip(forest.trees_, count_by_hand(forest, everything, labels), strict=True):
        assert np.array_equal(tree.counts, rows)
    assert len(forest.oob_decision_function_) == 250
    assert forest.grow_more(1).forest_.n_trees == 8


def test_regressors_grow_on_all_rows_seen() -> None:
    forest = RandomForestRegressor(3, random_state=0, bootstrap=False).fit(X[:120], NUMBERS[:120])
    forest.partial_fit(X[120:], NUMBERS[120:]).grow_more(2)
    assert [int(tree.counts[0, 0]) for tree in forest.trees_] == [200] * 5
    forest.partial_fit(X, NUMBERS)
    assert [int(tree.counts[0, 0]) for tree in forest.trees_] == [400] * 5
    for tree in forest.trees_:
        assert tree.mean[0] == pytest.approx(NUMBERS.mean())


def test_a_warm_start_and_growing_more_are_the_same() -> None:
    warm = RandomForestClassifier(3, random_state=0, warm_start=True).fit(X, LABELS)
    warm.set_params(n_estimators=7).fit(X, LABELS)
    assert same_forest(RandomForestClassifier(3, random_state=0).fit(X, LABELS).grow_more(4).forest_, warm.forest_)
    assert warm.grow_more(1).forest_.n_trees == 8


def test_what_cannot_grow_says_so() -> None:
    with pytest.raises(ValueError, match="grow_more requires a forest whose trees have counted the same rows"):
        DecisionTreeClassifier().fit(X, LABELS).grow_more(1)
    forest = RandomForestClassifier(3, random_state=0).fit(X, LABELS)
    with pytest.raises(ValueError, match="n must be an int >= 1, got 0"):
        forest.grow_more(0)
    with pytest.raises(ValueError, match=r"hedgerow\.merge"):
        hedgerow.merge(forest, forest).grow_more(1)


def loaded(model: Any) -> Any:
    file = io.BytesIO()
    hedgerow.save(model, file)
    file.seek(0)
    return hedgerow.load(file)


def test_classes_that_were_declared_need_not_occur_among_the_rows_handed_in() -> None:
    begun = RandomForestClassifier(3, random_state=0).partial_fit(X, LABELS, classes=range(5))
    whole = RandomForestClassifier(5, random_state=0).partial_fit(X, LABELS, classes=range(5))
    copy = pickle.loads(pickle.dumps(begun))
    with pytest.raises(ValueError, match="y must have the labels so far"):
        copy.grow_more(2, X, np.zeros(200, dtype=int))
    assert same_model(copy.grow_more(2, X, LABELS), whole)
    assert same_model(begun.grow_more(2), whole)
