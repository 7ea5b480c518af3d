"""Proximities, weights of rows and embeddings against dense tables, and what they mean."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from tests.explain.test_shap import mixed_table
from tests.reference.fold import multiplicities
from tests.reference.proximity import dense_outside_proximity, dense_proximity, dense_weights

import hedgerow.forest.proximity
from hedgerow import (
    DecisionTreeClassifier,
    RandomDecisionTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from hedgerow.tasks.classification.predictor import ClassificationPredictor

SENSES = ["all", "inbag", "distinct", "oob"]


@cache
def fitted(make: Any = RandomForestClassifier, **parameters: Any) -> tuple[Any, pd.DataFrame, np.ndarray]:
    """A forest on numbers, categories and gaps; 70 trees take more than one word of bits."""
    X, y = mixed_table(90, 3, seed=2)
    return make(70, random_state=1, **parameters).fit(X, y), X, y


@pytest.mark.parametrize("make", [RandomForestClassifier, RandomDecisionTreesClassifier])
def test_proximity_is_the_share_of_trees_in_which_rows_share_a_leaf(make):
    forest, X, _ = fitted(make)
    leaves = forest.apply(X)
    np.testing.assert_allclose(forest.proximity(X).toarray(), dense_proximity(leaves, leaves), rtol=1e-15)
    between = forest.proximity(X[:7], X[5:]).toarray()
    np.testing.assert_allclose(between, dense_proximity(leaves[:7], leaves[5:]), rtol=1e-15)


def test_proximity_of_training_rows_outside_bags_asks_only_trees_that_have_seen_neither():
    forest, X, _ = fitted()
    expected = dense_outside_proximity(forest.apply(X), multiplicities(forest, len(X)))
    np.testing.assert_allclose(forest.proximity(oob=True).toarray(), expected, rtol=1e-15)
    np.testing.assert_allclose(forest.proximity(X, oob=True).toarray(), expected, rtol=1e-15)


@pytest.mark.parametrize("leaf_counts", SENSES)
def test_weights_of_training_rows_are_their_shares_of_the_leaves(leaf_counts):
    forest, X, _ = fitted(leaf_counts=leaf_counts)
    bag = multiplicities(forest, len(X))
    times = {"all": np.ones_like(bag), "inbag": bag, "distinct": bag > 0, "oob": bag == 0}[leaf_counts]
    leaves = forest.apply(X)
    expected = dense_weights(leaves, leaves, times.astype(np.int64))
    np.testing.assert_allclose(forest.row_weights(X).toarray(), expected, rtol=0, atol=1e-15)


@pytest.mark.parametrize("leaf_counts", ["all", "inbag", "distinct"])
def test_weighted_training_labels_are_the_prediction(leaf_counts):
    forest, X, y = fitted(leaf_counts=leaf_counts, calibration=None)
    weights = forest.row_weights(X)
    np.testing.assert_allclose(weights @ (y[:, None] == forest.classes_), forest.predict_proba(X), rtol=0, atol=1e-14)


def test_weighted_training_targets_are_the_prediction_of_a_regressor():
    X, _ = mixed_table(90, 3, seed=2)
    y = np.arange(90.0) ** 1.5
    forest = RandomForestRegressor(20, random_state=0).fit(X, y)
    np.testing.assert_allclose(forest.row_weights(X) @ y, forest.predict(X), rtol=1e-13)
    leaves = forest.apply(X)
    np.testing.assert_allclose(forest.proximity().toarray(), dense_proximity(leaves, leaves), rtol=1e-15)
    expected = dense_outside_proximity(leaves, multiplicities(forest, len(X)))
    np.testing.assert_allclose(forest.proximity(oob=True).toarray(), expected, rtol=1e-15)
    assert forest.embed(X).shape == (90, forest.forest_.leaf_start[-1])


def test_training_rows_may_be_given_to_trees_that_have_not_kept_them():
    X, y = mixed_table(90, 3, seed=2)
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="requires the training rows, which the forest has not kept"):
        tree.row_weights(X)
    weights = tree.row_weights(X[:5], train=X)
    np.testing.assert_allclose(weights @ (y[:, None] == tree.classes_), tree.predict_proba(X[:5]), rtol=0, atol=1e-14)


def test_blocks_and_threads_do_not_change_a_bit(monkeypatch):
    forest, X, _ = fitted()
    whole, outside = forest.proximity(X), forest.proximity(oob=True)
    monkeypatch.setattr(hedgerow.forest.proximity, "BLOCK_ROWS", 16)
    monkeypatch.setattr(ClassificationPredictor, "many_threads", lambda *_: 3)
    for one, other in ((forest.proximity(X), whole), (forest.proximity(oob=True), outside)):
        np.testing.assert_array_equal(one.indptr, other.indptr)
        np.testing.assert_array_equal(one.indices, other.indices)
        np.testing.assert_array_equal(one.data, other.data)


def test_top_keeps_the_largest_proximities_and_of_equals_the_first():
    forest, X, _ = fitted()
    whole = forest.proximity(X).toarray()
    kept = forest.proximity(X, top=4)
    assert (np.diff(kept.indptr) == 4).all()
    for row, values in enumerate(whole):
        best = np.lexsort((np.arange(len(values)), -values))[:4]
        np.testing.assert_array_equal(kept[[row]].indices, np.sort(best))
        np.testing.assert_array_equal(kept[[row]].data, values[np.sort(best)])


def test_nearest_rows_are_the_heaviest_and_come_heaviest_first():
    forest, X, _ = fitted()
    weights = forest.row_weights(X[:10]).toarray()
    found = forest.nearest_rows(X[:10], k=3)
    for row, values in enumerate(weights):
        best = np.lexsort((np.arange(len(values)), -values))[:3]
        np.testing.assert_array_equal(found.rows[row], best)
        np.testing.assert_array_equal(found.weights[row], values[best])


def test_a_prediction_that_rests_on_fewer_rows_leaves_places_empty():
    tree = DecisionTreeClassifier().fit([[0.0], [1.0], [2.0]], [0, 1, 0])
    found = tree.nearest_rows([[1.0]], k=2, train=[[0.0], [1.0], [2.0]])
    np.testing.assert_array_equal(found.rows, [[1, -1]])
    np.testing.assert_array_equal(found.weights, [[1.0, 0.0]])


def test_embedding_marks_the_leaf_of_each_tree_and_its_products_are_proximities():
    forest, X, _ = fitted()
    leaves = forest.embed(X)
    assert leaves.shape == (len(X), forest.forest_.leaf_start[-1])
    assert (leaves.sum(axis=1) == 70).all()
    np.testing.assert_allclose((leaves @ leaves.T).toarray() / 70, forest.proximity(X).toarray(), rtol=1e-15)


def test_proximities_are_stored_only_for_rows_that_meet():
    X, y = load_iris(return_X_y=True)
    proximity = RandomForestClassifier(20, random_state=0).fit(X, y).proximity()
    assert (proximity.data > 0).all()
    assert proximity.nnz < 0.6 * len(X) ** 2


def test_other_rows_are_refused_where_only_training_rows_are_outside_bags():
    forest, X, _ = fitted()
    with pytest.raises(ValueError, match="oob=True requires the training rows as X"):
        forest.proximity(X[:5], oob=True)
    with pytest.raises(ValueError, match="Y must be None with oob=True"):
        forest.proximity(X, X, oob=True)
    with pytest.raises(ValueError, match="top must be an int >= 1, got 0"):
        forest.proximity(X, top=0)
