"""Importances against their definitions, against scikit-learn, and under the null hypothesis."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, make_classification
from sklearn.inspection import permutation_importance as sklearn_importance
from sklearn.utils import check_random_state
from tests.explain.test_shap import mixed_table
from tests.reference.importance import class_worth, slow_first_uses, slow_gains, slow_losses

from hedgerow import (
    DecisionTreeClassifier,
    ExtraTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from hedgerow.explain import (
    correct_pvalues,
    correlated_groups,
    debiased_importance,
    drop_column_importance,
    first_use_depth,
    importance_test,
    oob_permutation_importance,
    permutation_importance,
    split_counts,
)
from hedgerow.labels import from_plausibilities

GROUPS = [[0], [1], [2, 3], [0, 2]]


@cache
def mixed_forest(**parameters: Any) -> tuple[RandomForestClassifier, pd.DataFrame, np.ndarray]:
    """A small forest on numbers, categories and gaps."""
    X, y = mixed_table(120, 3, seed=5)
    return RandomForestClassifier(6, random_state=2, **parameters).fit(X, y), X, y


def levels(seed: int = 8, n_rows: int = 200) -> tuple[np.ndarray, np.ndarray]:
    """A column that tells the class four times out of five, and a random one with a hundred levels."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n_rows)
    signal = np.where(rng.random(n_rows) < 0.8, y, 1 - y)
    return np.column_stack([signal, rng.integers(0, 100, n_rows)]).astype(float), y


# ---- kernels and their twins ------------------------------------------------------------------


@pytest.mark.parametrize("worth", ["accuracy", "probability"])
@pytest.mark.parametrize("weighted", [False, True])
def test_permutation_per_tree_is_what_its_definition_says(worth, weighted):
    forest, X, y = mixed_forest(class_weight="balanced" if weighted else None)
    key = int(check_random_state(7).randint(0, 2**63 - 1, dtype=np.int64))
    expected = slow_losses(forest, X, class_worth(forest, y, worth), GROUPS, 2, key)
    found = oob_permutation_importance(forest, worth=worth, groups=GROUPS, n_repeats=2, random_state=7)
    np.testing.assert_allclose(found.per_tree, expected, rtol=0, atol=1e-13)


def test_debiased_importance_is_what_its_definition_says():
    forest, X, y = mixed_forest()
    expected = slow_gains(forest, X, np.eye(3)[y], X.shape[1])
    np.testing.assert_allclose(debiased_importance(forest).per_tree, expected, rtol=0, atol=1e-13)


def test_debiased_importance_of_the_bags_own_rows_would_be_the_decrease_of_gini_impurity():
    """The twin with rows of the bag in the place of those outside, against impurities."""
    X, y = mixed_table(120, 3, seed=5)
    tree = DecisionTreeClassifier(random_state=1, max_depth=4).fit(X, y).tree_
    counts, gini = tree.counts.astype(float), np.zeros(tree.n_nodes)
    for node in range(tree.n_nodes):
        shares = counts[node] / counts[node].sum()
        gini[node] = counts[node].sum() * (1 - (shares**2).sum())
    for node in np.flatnonzero(~tree.is_leaf):
        children = [tree.first_child[node] + k for k in range(tree.n_children[node])]
        means = np.array([counts[child] / counts[child].sum() for child in children])
        rows = np.array([counts[child].sum() for child in children])
        overall = (rows[:, None] * means).sum(axis=0) / rows.sum()
        covariance = sum((counts[child] * (mean - overall)).sum() for child, mean in zip(children, means, strict=True))
        assert covariance == pytest.approx(gini[node] - gini[children].sum(), abs=1e-9)


@cache
def number_forest(**parameters: Any) -> tuple[RandomForestRegressor, pd.DataFrame, np.ndarray]:
    """The same where rows have numbers."""
    X, y = mixed_table(120, 30, seed=6)
    targets = y + 0.01 * np.arange(120)
    return RandomForestRegressor(6, max_features="sqrt", random_state=2, **parameters).fit(X, targets), X, targets


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error"])
def test_permutation_per_tree_of_a_regressor_loses_squared_error(criterion):
    forest, X, y = number_forest(criterion=criterion)
    values = [tree.value[:, 0, 0] for tree in forest.trees_]

    def worth(row: int, tree: int, node: int, at_home: bool) -> float:
        return float(-((y[row] - values[tree][node]) ** 2))

    key = int(check_random_state(7).randint(0, 2**63 - 1, dtype=np.int64))
    expected = slow_losses(forest, X, worth, GROUPS, 2, key)
    found = oob_permutation_importance(forest, groups=GROUPS, n_repeats=2, random_state=7)
    np.testing.assert_allclose(found.per_tree, expected, rtol=1e-11)


def test_debiased_importance_of_a_regressor_is_what_its_definition_says():
    forest, X, y = number_forest()
    expected = slow_gains(forest, X, y[:, None], X.shape[1])
    np.testing.assert_allclose(debiased_importance(forest).per_tree, expected, rtol=1e-10, atol=1e-11)


def test_splits_and_roots_are_counted():
    X, y = load_iris(return_X_y=True)
    for model in (RandomForestClassifier(20, random_state=0), RandomForestRegressor(5, random_state=0)):
        forest = model.fit(X, y)
        expected = np.zeros((2, 4), dtype=int)
        for tree in forest.trees_:
            np.add.at(expected[0], tree.feature[~tree.is_leaf], 1)
            np.add.at(expected[1], tree.feature[:1][~tree.is_leaf[:1]], 1)
        np.testing.assert_array_equal(split_counts(forest), expected)


def test_first_use_depth_is_what_its_definition_says():
    forest, X, _ = mixed_forest()
    np.testing.assert_array_equal(first_use_depth(forest).per_tree, slow_first_uses(forest, X.shape[1]))


def test_importances_do_not_depend_on_the_number_of_threads():
    X, y = mixed_table(300, 3, seed=1)
    found = []
    for n_jobs in (1, 3):
        forest = RandomForestClassifier(20, n_jobs=n_jobs, random_state=0).fit(X, y)
        found.append((oob_permutation_importance(forest).per_tree, debiased_importance(forest).per_tree))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


# ---- what importances mean --------------------------------------------------------------------


def test_permutation_importance_is_that_of_scikit_learn():
    X, y = load_breast_cancer(return_X_y=True)
    forest = RandomForestClassifier(10, random_state=0).fit(X[::2], y[::2])
    ours = permutation_importance(forest, X[1::2], y[1::2], n_repeats=3, random_state=4)
    theirs = sklearn_importance(forest, X[1::2], y[1::2], n_repeats=3, random_state=4)
    np.testing.assert_array_equal(ours.importances, theirs.importances)
    np.testing.assert_array_equal(ours.importances_mean, theirs.importances_mean)
    np.testing.assert_array_equal(ours.importances_std, theirs.importances_std)


def test_permutation_importance_of_a_regressor_is_that_of_scikit_learn():
    X, y = load_diabetes(return_X_y=True)
    forest = RandomForestRegressor(10, random_state=0).fit(X[::2], y[::2])
    given = {"n_repeats": 3, "random_state": 4}
    ours = permutation_importance(forest, X[1::2], y[1::2], **given)
    theirs = sklearn_importance(forest, X[1::2], y[1::2], **given)
    np.testing.assert_array_equal(ours.importances, theirs.importances)
    by_error = permutation_importance(forest, X[1::2], y[1::2], metric=lambda y, p: -((y - p) ** 2).mean(), **given)
    theirs = sklearn_importance(forest, X[1::2], y[1::2], scoring="neg_mean_squared_error", **given)
    np.testing.assert_allclose(by_error.importances, theirs.importances, rtol=1e-12)


def test_permutation_importance_by_log_loss_under_another_rule_is_that_of_scikit_learn():
    X, y = make_classification(300, 6, random_state=0)
    forest = RandomForestClassifier(10, rule="laplace", random_state=0).fit(X[::2], y[::2])

    def log_score(labels: np.ndarray, probability: np.ndarray) -> float:
        return float(np.log(probability[np.arange(len(labels)), labels]).mean())

    def scoring(estimator: Any, features: np.ndarray, labels: np.ndarray) -> float:
        return log_score(labels, estimator.predict_proba(features))

    given = {"n_repeats": 2, "random_state": 1}
    ours = permutation_importance(forest, X[1::2], y[1::2], metric=log_score, **given)
    theirs = sklearn_importance(forest, X[1::2], y[1::2], scoring=scoring, **given)
    np.testing.assert_allclose(ours.importances, theirs.importances, rtol=0, atol=1e-14)


def test_impurity_likes_a_random_column_with_a_hundred_levels_and_the_debiased_form_scores_it_zero():
    """On average over tables, since the trees of one forest share its rows; 3 standard errors."""
    impurity, debiased = [], []
    for seed in range(60):
        X, y = levels(seed)
        forest = RandomForestClassifier(20, random_state=seed).fit(X, y)
        impurity.append(forest.feature_importances_[1])
        debiased.append(debiased_importance(forest).mean)
    assert min(impurity) > 0.1
    signal, noise = np.transpose(debiased)
    assert abs(noise.mean()) < 3 * stats.sem(noise)
    assert (signal > noise).all()


def test_a_feature_no_tree_looks_at_has_no_importance():
    X, y = levels()
    X = np.column_stack([X, np.zeros(len(X))])
    forest = RandomForestClassifier(10, random_state=0).fit(X, y)
    assert oob_permutation_importance(forest).mean[2] == 0
    assert debiased_importance(forest).mean[2] == 0
    assert first_use_depth(forest).mean[2] == forest.forest_.depth.mean()


def test_copies_hide_each_others_importance_until_they_are_permuted_together():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 500)
    signal, noise = y + 0.5 * rng.normal(size=500), rng.normal(size=500)
    X = np.column_stack([signal, signal + 0.01 * rng.normal(size=500), noise])
    groups = correlated_groups(X)
    assert groups == [[0, 1], [2]]

    def importance(columns: np.ndarray, **options: Any) -> np.ndarray:
        forest = RandomForestClassifier(100, max_features=1, random_state=0).fit(columns, y)
        return oob_permutation_importance(forest, worth="probability", **options).mean

    without_a_copy, alone, together = importance(X[:, [0, 2]])[0], importance(X), importance(X, groups=groups)[0]
    assert alone[:2].max() < 0.8 * without_a_copy
    assert together > without_a_copy


def test_scaled_importance_is_the_mean_over_its_standard_error():
    forest, _, _ = mixed_forest()
    found = oob_permutation_importance(forest)
    each = found.per_tree
    np.testing.assert_allclose(found.scaled, each.mean(0) / (each.std(0, ddof=1) / np.sqrt(len(each))), rtol=1e-12)


def test_groups_may_be_names():
    forest, X, _ = mixed_forest()
    by_name = oob_permutation_importance(forest, groups=["width", ["colour", "kind"]]).per_tree
    by_number = oob_permutation_importance(forest, groups=[list(X.columns).index("width"), [2, 3]]).per_tree
    np.testing.assert_array_equal(by_name, by_number)


# ---- p-values ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("statistic", "n_tables"), [("permutation", 120), ("debiased", 120), ("impurity", 30)])
def test_pvalues_are_uniform_under_the_null_hypothesis(statistic, n_tables):
    """A feature that has nothing to do with labels or features; ranks among 20 forests, ties broken at random."""
    rng, pvalues = np.random.default_rng(3), []
    for seed in range(n_tables):
        X = np.column_stack([rng.normal(size=40), rng.integers(0, 20, 40)])
        y = (X[:, 0] + rng.normal(size=40) > 0).astype(int)
        forest = RandomForestClassifier(5, random_state=seed).fit(X, y)
        found = importance_test(forest, statistic=statistic, features=[1], n_permutations=19, random_state=seed)
        pvalues.append(found.pvalue[0] - rng.random() / 20)
    assert stats.kstest(pvalues, "uniform").pvalue > 0.05


def test_pvalues_under_permuted_labels_are_uniform_where_no_feature_tells_anything():
    rng, pvalues = np.random.default_rng(4), []
    for seed in range(120):
        X, y = rng.normal(size=(40, 2)), rng.integers(0, 2, 40)
        forest = RandomForestClassifier(5, random_state=seed).fit(X, y)
        found = importance_test(forest, null="labels", n_permutations=19, random_state=seed)
        pvalues.append(found.pvalue[0] - rng.random() / 20)
    assert stats.kstest(pvalues, "uniform").pvalue > 0.05


@pytest.mark.parametrize("statistic", ["permutation", "debiased"])
def test_pvalues_of_a_regressor_are_uniform_under_the_null_hypothesis(statistic):
    rng, pvalues = np.random.default_rng(5), []
    for seed in range(100):
        X = np.column_stack([rng.normal(size=40), rng.integers(0, 20, 40)])
        forest = RandomForestRegressor(5, random_state=seed).fit(X, X[:, 0] + rng.normal(size=40))
        found = importance_test(forest, statistic=statistic, features=[1], n_permutations=19, random_state=seed)
        pvalues.append(found.pvalue[0] - rng.random() / 20)
    assert stats.kstest(pvalues, "uniform").pvalue > 0.05


@pytest.mark.parametrize("null", ["feature", "labels"])
@pytest.mark.parametrize("statistic", ["permutation", "debiased", "impurity"])
def test_a_feature_that_tells_the_target_has_the_smallest_possible_pvalue(statistic, null):
    X = np.random.default_rng(0).normal(size=(100, 2))
    forest = RandomForestRegressor(10, random_state=0).fit(X, X[:, 0])
    found = importance_test(forest, statistic=statistic, null=null, n_permutations=19)
    assert found.pvalue[0] == 1 / 20
    assert found.pvalue[1] > 1 / 20


def test_a_feature_that_tells_the_class_has_the_smallest_possible_pvalue():
    X, y = levels()
    found = importance_test(RandomForestClassifier(10, random_state=0).fit(X, y), n_permutations=19)
    assert found.pvalue[0] == 1 / 20
    assert found.corrected[0] == 2 / 20
    assert found.pvalue[1] > 1 / 20


@pytest.mark.parametrize("estimator", [RandomForestClassifier, RandomForestRegressor])
def test_forests_of_the_test_draw_bags_like_the_forest_they_are_compared_with(estimator):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 3)), rng.integers(0, 2, 120)
    forest = estimator(4, max_samples=30, random_state=0).fit(X[:60], y[:60]).partial_fit(X[60:], y[60:])
    found = importance_test(forest, n_permutations=19)
    assert (found.pvalue < 1).any()
    np.testing.assert_array_equal(importance_test(forest.set_params(max_samples=0.5), n_permutations=19), found)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_corrections_are_what_their_definitions_say(pvalues):
    n, order = len(pvalues), np.argsort(pvalues, kind="stable")
    holm, running = np.empty(n), 0.0
    for rank, i in enumerate(order):
        running = max(running, min(1.0, (n - rank) * pvalues[i]))
        holm[i] = running
    np.testing.assert_allclose(correct_pvalues(pvalues, "holm"), holm, rtol=1e-15)
    expected = stats.false_discovery_control(pvalues)
    np.testing.assert_allclose(correct_pvalues(pvalues, "benjamini-hochberg"), expected, rtol=1e-12)
    np.testing.assert_array_equal(correct_pvalues(pvalues, None), pvalues)


# ---- what is refused --------------------------------------------------------------------------


def test_importances_outside_bags_are_refused_where_there_is_no_bag():
    X, y = levels()
    for forest in (ExtraTreesClassifier(5).fit(X, y), DecisionTreeClassifier().fit(X, y)):
        for measure in (oob_permutation_importance, debiased_importance, importance_test):
            with pytest.raises(
                ValueError, match="requires a forest with bootstrap=True that has kept its training rows"
            ):
                measure(forest)


def test_importances_outside_bags_are_refused_where_labels_are_uncertain():
    X, y = levels()
    plausible = np.eye(2)[y]
    plausible[:9] = 1.0
    forest = RandomForestClassifier(5, random_state=0).fit(X, from_plausibilities(plausible, [0, 1]))
    with pytest.raises(ValueError, match="does not support uncertain labels"):
        debiased_importance(forest)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"worth": "gain"}, "worth must be one of accuracy, probability, got 'gain'"),
        ({"n_repeats": 0}, "n_repeats must be an int >= 1, got 0"),
        ({"groups": [[0, 9]]}, "groups must contain feature names or numbers below 4, got 9"),
        ({"groups": ["height"]}, "groups must contain feature names or numbers below 4, got 'height'"),
        ({"groups": [[]]}, "groups must be non-empty lists of distinct features"),
        ({"groups": [[1, 1]]}, "groups must be non-empty lists of distinct features"),
    ],
)
def test_options_that_mean_nothing_are_refused(options, message):
    with pytest.raises(ValueError, match=message.replace("[", r"\[")):
        oob_permutation_importance(mixed_forest()[0], **options)


@pytest.mark.parametrize(
    "options", [{"null": "rows"}, {"statistic": "gain"}, {"n_permutations": 0}, {"correction": "none"}]
)
def test_tests_that_do_not_exist_are_refused(options):
    with pytest.raises(ValueError, match=f"{next(iter(options))} must be"):
        importance_test(mixed_forest()[0], **({"n_permutations": 1} | options))


@pytest.mark.parametrize("kind", [RandomForestClassifier, RandomForestRegressor])
def test_dropping_a_column_costs_what_a_forest_without_it_scores_less(kind):
    """All features compete, so a forest that never tries a column has the trees of a table without it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 4))
    y = X[:, 0] + 0.5 * X[:, 1] + 0.3 * rng.normal(size=150)
    y = y if kind is RandomForestRegressor else (y > 0).astype(int)
    forest = kind(15, max_features=None, min_samples_leaf=3, oob_score=True, random_state=0)
    whole = forest.fit(X, y).oob_score_
    expected = [whole - forest.fit(np.delete(X, column, axis=1), y).oob_score_ for column in range(4)]
    np.testing.assert_allclose(drop_column_importance(forest, X, y), expected, atol=1e-12)
    both = whole - forest.fit(X[:, [2, 3]], y).oob_score_
    found = drop_column_importance(forest, X, y, groups=[[0, 1], [2]])
    np.testing.assert_allclose(found, [both, expected[2]], atol=1e-12)


def test_a_copy_of_a_column_adds_nothing_and_names_and_weights_are_kept():
    X, y = load_iris(return_X_y=True, as_frame=True)
    table = X[["petal width (cm)"]].assign(copy=X["petal width (cm)"], noise=0.0)
    forest = RandomForestClassifier(20, feature_weights={"noise": 2.0}, random_state=0)
    found = drop_column_importance(forest, table, y, groups=["petal width (cm)", "copy", ["petal width (cm)", "copy"]])
    assert np.abs(found[:2]).max() < 0.05
    assert found[2] > 0.5
    with pytest.raises(ValueError, match="bootstrap=True"):
        drop_column_importance(ExtraTreesClassifier(5), X, y)
