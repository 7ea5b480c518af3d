"""Forests as scikit-learn's users know them: ``estimators_``, ``len``, indexing, bags, and the arrays of ``tree_``."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn import ensemble, tree
from sklearn.datasets import load_diabetes, load_iris

import hedgerow
from hedgerow import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomDecisionTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    RandomTreesEmbedding,
)

X, y = load_iris(return_X_y=True)
U, v = load_diabetes(return_X_y=True)
FORESTS = [
    (RandomForestClassifier, DecisionTreeClassifier, X, y),
    (ExtraTreesClassifier, ExtraTreeClassifier, X, y),
    (RandomDecisionTreesClassifier, DecisionTreeClassifier, X, y),
    (RandomForestRegressor, DecisionTreeRegressor, U, v),
    (ExtraTreesRegressor, ExtraTreeRegressor, U, v),
]
#: The arrays of scikit-learn's trees that ours have too.
ARRAYS = "children_left children_right feature missing_go_to_left n_node_samples weighted_n_node_samples impurity value"


@pytest.mark.parametrize(("kind", "single", "rows", "target"), FORESTS)
def test_a_forest_is_a_sequence_of_trees_whose_mean_is_its_answer(kind, single, rows, target):
    forest = kind(7, random_state=0).fit(rows, target)
    if "calibration" in forest.get_params():
        forest.set_params(calibration=None)
    assert len(forest) == len(forest.estimators_) == 7
    assert all(type(each) is single for each in forest)
    assert type(forest[-1]) is single
    assert len(forest[2:5]) == 3
    answer = "predict_proba" if hasattr(forest, "classes_") else "predict"
    mean = np.mean([getattr(each, answer)(rows) for each in forest.estimators_], axis=0)
    np.testing.assert_allclose(mean, getattr(forest, answer)(rows), rtol=1e-12)
    with pytest.raises(IndexError):
        forest[7]


def test_trees_share_the_arrays_of_their_forest():
    forest = RandomForestClassifier(5, random_state=0).fit(X, y)
    assert all(np.shares_memory(each.forest_.nodes, forest.forest_.nodes) for each in forest)
    assert all(np.shares_memory(each.forest_.counts, forest.forest_.counts) for each in forest)


def test_trees_of_several_outputs_answer_for_all_of_them():
    both = np.column_stack([y, y % 2])
    forest = RandomForestClassifier(5, calibration=None, random_state=0).fit(X, both)
    for number in range(2):
        mean = np.mean([each.predict_proba(X)[number] for each in forest], axis=0)
        np.testing.assert_allclose(mean, forest.predict_proba(X)[number], rtol=1e-12)
    assert forest[0].tree_.value.shape == (forest[0].tree_.node_count, 2, 3)


def test_a_single_tree_is_no_sequence_and_an_unfitted_forest_has_no_trees():
    with pytest.raises(TypeError, match="len"):
        len(DecisionTreeClassifier().fit(X, y))
    assert not hasattr(RandomForestClassifier(), "estimators_")
    assert RandomForestClassifier()  # though it has no length yet
    assert type(RandomForestClassifier(max_depth=3).estimator) is DecisionTreeClassifier
    assert RandomForestClassifier(max_depth=3).estimator.max_depth == 3


def test_the_rows_of_bags_are_those_that_trees_were_grown_on():
    forest = RandomForestRegressor(6, random_state=3).fit(U, v)
    for each, rows in zip(forest.estimators_, forest.estimators_samples_, strict=True):
        assert each.tree_.counts[0, 0] == len(rows)  # leaves of a regressor count the rows of their bag
        assert each.tree_.mean[0] == pytest.approx(v[rows].mean())
    assert 0.55 < np.mean([len(np.unique(rows)) for rows in forest.estimators_samples_]) / len(v) < 0.7


def test_rows_without_weight_are_in_no_bag():
    weight = (np.arange(len(y)) % 3 > 0).astype(float)
    forest = RandomForestClassifier(4, random_state=0).fit(X, y, weight)
    assert all((weight[rows] > 0).all() for rows in forest.estimators_samples_)
    whole = RandomForestClassifier(4, bootstrap=False, random_state=0).fit(X, y)
    assert all(np.array_equal(rows, np.arange(len(y))) for rows in whole.estimators_samples_)


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_arrays_of_a_class_tree_are_those_of_scikit_learn(criterion):
    ours = DecisionTreeClassifier(max_depth=3, criterion=criterion, random_state=0).fit(X[:, 2:], y)
    _same_arrays(ours, ours.to_sklearn())


@pytest.mark.parametrize("criterion", ["squared_error", "friedman_mse", "poisson"])
@pytest.mark.filterwarnings("ignore:.*friedman:FutureWarning")
def test_arrays_of_a_number_tree_are_those_of_scikit_learn(criterion):
    ours = DecisionTreeRegressor(max_depth=4, criterion=criterion, random_state=0).fit(U, v)
    _same_arrays(ours, ours.to_sklearn())
    grown = tree.DecisionTreeRegressor(max_depth=4, criterion=criterion, random_state=0).fit(U, v)
    assert ours.score(U, v) == pytest.approx(grown.score(U, v))


@pytest.mark.parametrize("criterion", ["absolute_error", "poisson", "squared_error"])
def test_a_tree_of_a_forest_has_its_impurities(criterion):
    forest = RandomForestRegressor(3, criterion=criterion, max_depth=3, random_state=0).fit(U, v)
    for member, known in zip(forest, forest.trees_, strict=True):
        np.testing.assert_array_equal(member.tree_.impurity, known.impurity)
    np.testing.assert_allclose(
        np.mean([each.feature_importances_ for each in forest], axis=0), forest.feature_importances_
    )


def test_a_tree_routes_and_predicts_by_itself():
    fitted = DecisionTreeRegressor(max_depth=4).fit(U, v)
    np.testing.assert_array_equal(fitted.tree_.apply(U), fitted.apply(U))
    np.testing.assert_array_equal(fitted.tree_.predict(U)[:, 0, 0], fitted.predict(U))
    np.testing.assert_allclose(fitted.tree_.compute_feature_importances(), fitted.feature_importances_)


def test_a_child_for_each_category_is_neither_left_nor_right():
    table = np.array([["a", "1"], ["b", "2"], ["c", "1"], ["a", "2"]] * 10, dtype=object)
    fitted = RandomDecisionTreesClassifier(3, categorical_features=[0, 1], random_state=0).fit(table, np.arange(40) % 2)
    assert any(each.is_multiway.any() for each in fitted.trees_)
    with pytest.raises(AttributeError, match="two-way splits"):
        _ = next(each for each in fitted.trees_ if each.is_multiway.any()).children_left


def test_splitter_random_is_the_extra_tree():
    drawn = DecisionTreeClassifier(splitter="random", max_features="sqrt", random_state=0).fit(X, y)
    extra = ExtraTreeClassifier(random_state=0).fit(X, y)
    np.testing.assert_array_equal(drawn.forest_.nodes, extra.forest_.nodes)
    with pytest.raises(ValueError, match="splitter must be 'best' or 'random', got 'worst'"):
        DecisionTreeClassifier(splitter="worst").fit(X, y)


@pytest.mark.parametrize("kind", [ExtraTreeClassifier, ExtraTreeRegressor])
def test_extra_trees_are_saved_and_loaded(kind, tmp_path):
    fitted = kind(random_state=0).fit(X, y)
    hedgerow.save(fitted, tmp_path / "tree.hedge")
    loaded = hedgerow.load(tmp_path / "tree.hedge")
    assert type(loaded) is kind
    np.testing.assert_array_equal(loaded.predict(X), fitted.predict(X))


def test_bags_may_hold_more_rows_than_the_table(tmp_path):
    forest = RandomForestClassifier(20, max_samples=3.0, random_state=0).fit(X, y)
    sizes = np.array([len(rows) for rows in forest.estimators_samples_]) / len(y)
    assert abs(sizes.mean() - 3) < 0.15
    seen = np.mean([len(np.unique(rows)) for rows in forest.estimators_samples_]) / len(y)
    assert abs(seen - (1 - np.exp(-3))) < 0.02
    hedgerow.save(forest, tmp_path / "forest.hedge")
    np.testing.assert_array_equal(hedgerow.load(tmp_path / "forest.hedge").predict_proba(X), forest.predict_proba(X))


def test_an_embedding_is_a_sequence_of_trees_to_which_a_warm_start_adds():
    trees = RandomTreesEmbedding(3, max_depth=3, random_state=0, warm_start=True).fit(U)
    trees.set_params(n_estimators=5).fit(U)
    at_once = RandomTreesEmbedding(5, max_depth=3, random_state=0).fit(U)
    assert len(trees) == len(trees.estimators_) == 5
    np.testing.assert_array_equal(trees.apply(U), at_once.apply(U))
    np.testing.assert_array_equal(trees.score_samples(U), at_once.score_samples(U))
    np.testing.assert_array_equal(np.column_stack([each.apply(U) for each in trees]), trees.apply(U))
    assert [each.get_depth() for each in trees] == [each.depth for each in trees.trees_]
    with pytest.raises(ValueError, match="n_estimators must be at least the 5 of the first fit"):
        trees.set_params(n_estimators=4).fit(U)


def test_an_embedding_leaves_enough_weight_in_every_leaf():
    weights = np.random.default_rng(0).integers(0, 4, len(U))
    trees = RandomTreesEmbedding(5, min_weight_fraction_leaf=0.1, random_state=0).fit(U, sample_weight=weights)
    for leaves in trees.apply(U).T:
        heavy = np.bincount(leaves, weights=weights)
        assert heavy[heavy > 0].min() >= 0.1 * weights.sum()


def test_errors_that_scikit_learn_has_too_say_so_in_its_words():
    with pytest.raises(ValueError, match="Out of bag estimation only available if bootstrap=True"):
        RandomForestRegressor(oob_score=True, bootstrap=False).fit(U, v)
    with pytest.raises(ValueError, match="`max_sample` cannot be set if `bootstrap=False`"):
        ExtraTreesClassifier(max_samples=0.5).fit(X, y)
    with pytest.raises(ValueError, match="Sum of y is not strictly positive"):
        RandomForestRegressor(criterion="poisson").fit(U, 0 * v)
    for kind, error in ((RandomForestClassifier, ValueError), (DecisionTreeClassifier, TypeError)):
        with pytest.raises(error, match="sparse multilabel-indicator for y is not supported"):
            kind().fit(X, sparse.csr_array(np.eye(3)[y]))


def test_friedmans_criterion_is_the_squared_error():
    with pytest.warns(FutureWarning, match="friedman_mse"):
        theirs = RandomForestRegressor(5, criterion="friedman_mse", random_state=0).fit(U, v)
    ours = RandomForestRegressor(5, random_state=0).fit(U, v)
    np.testing.assert_array_equal(theirs.forest_.nodes, ours.forest_.nodes)


def test_warm_starts_warn_where_scikit_learn_warns():
    forest = RandomForestClassifier(3, warm_start=True, random_state=0).fit(X, y)
    with pytest.warns(UserWarning, match="without increasing n_estimators"):
        forest.fit(X, y)
    with pytest.warns(UserWarning, match='preset "balanced" is not recommended'):
        RandomForestClassifier(3, warm_start=True, class_weight="balanced").fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        forest.set_params(n_estimators=5).fit(X, y)


def test_out_of_bag_probabilities_of_several_outputs_have_the_shape_of_scikit_learn():
    both = np.column_stack([y > 0, y > 1])
    ours = RandomForestClassifier(50, oob_score=True, random_state=0).fit(X, both)
    theirs = ensemble.RandomForestClassifier(50, oob_score=True, random_state=0).fit(X, both)
    assert ours.oob_decision_function_.shape == theirs.oob_decision_function_.shape == (150, 2, 2)
    uneven = RandomForestClassifier(50, oob_score=True, random_state=0).fit(X, np.column_stack([y, y > 1]))
    assert [each.shape for each in uneven.oob_decision_function_] == [(150, 3), (150, 2)]


def _same_arrays(ours, theirs):
    for name in ARRAYS.split():
        np.testing.assert_allclose(getattr(ours.tree_, name), getattr(theirs.tree_, name), err_msg=name)
    inner = ours.tree_.feature >= 0
    np.testing.assert_allclose(ours.tree_.threshold[inner], theirs.tree_.threshold[inner])
    for name in ("node_count", "max_depth", "n_features", "n_outputs", "n_leaves"):
        assert getattr(ours.tree_, name) == getattr(theirs.tree_, name), name
