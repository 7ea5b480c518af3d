"""Pruning: the path and the pruned trees are scikit-learn's, wherever both have grown the same tree."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_iris, load_wine
from sklearn.tree import DecisionTreeClassifier as SklearnTree
from sklearn.tree import DecisionTreeRegressor as SklearnRegressor

from hedgerow import DecisionTreeClassifier, DecisionTreeRegressor, RandomForestRegressor
from hedgerow.criteria import resolve_criterion
from hedgerow.inference.fitted import fitted_of

CRITERIA = ["gini", "entropy"]


def draw(seed: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """A small table, of many or of few distinct values."""
    rng = np.random.default_rng(seed)
    n_rows, n_features = int(rng.integers(20, 150)), int(rng.integers(1, 4))
    shape = (n_rows, n_features)
    X = rng.normal(size=shape) if seed % 2 else rng.integers(0, 6, shape).astype(float)
    return X, rng.integers(0, rng.integers(2, 5), n_rows)


def both(X: Any, y: Any, **parameters: Any) -> tuple[SklearnTree, DecisionTreeClassifier]:
    """scikit-learn's tree and ours."""
    return (
        SklearnTree(random_state=0, **parameters).fit(X, y),
        DecisionTreeClassifier(random_state=0, **parameters).fit(X, y),
    )


def partition(leaves: NDArray[Any]) -> NDArray[np.int64]:
    """Leaf of each row (n,) -> first row of the same leaf (n,): equal where two trees part the rows alike."""
    _, first, which = np.unique(leaves, return_index=True, return_inverse=True)
    return first[which]


def are_alike(theirs: SklearnTree, ours: DecisionTreeClassifier, X: Any) -> bool:
    """Whether every node of one holds the rows of a node of the other; ties of splits can tell them apart."""
    passed = [np.asarray(tree.decision_path(X).toarray(), dtype=bool).T for tree in (theirs, ours)]
    return {rows.tobytes() for rows in passed[0]} == {rows.tobytes() for rows in passed[1]}


def merged(path: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """A path whose tied links have become one step: which of them falls first is a matter of rounding."""
    last = np.append(np.diff(path.ccp_alphas) > 1e-12, True)
    return path.ccp_alphas[last], path.impurities[last]


@pytest.mark.parametrize("criterion", CRITERIA)
def test_the_path_of_the_same_tree_is_that_of_scikit_learn(criterion: str) -> None:
    alike = without_ties = 0
    for seed in range(60):
        X, y = draw(seed)
        theirs, ours = both(X, y, criterion=criterion)
        if not are_alike(theirs, ours, X):
            continue
        alike += 1
        expected = theirs.cost_complexity_pruning_path(X, y)
        path = ours.cost_complexity_pruning_path(X, y)
        np.testing.assert_allclose(merged(path), merged(expected), rtol=0, atol=1e-12)
        if np.diff(expected.ccp_alphas).min(initial=1) > 1e-9:
            without_ties += 1
            np.testing.assert_allclose(path.ccp_alphas, expected.ccp_alphas, rtol=0, atol=1e-12)
            np.testing.assert_allclose(path.impurities, expected.impurities, rtol=0, atol=1e-12)
    assert alike >= 20
    assert without_ties >= 1


@pytest.mark.parametrize("load", [load_iris, load_wine])
@pytest.mark.parametrize("criterion", CRITERIA)
def test_the_path_of_real_tables_is_that_of_scikit_learn(load: Any, criterion: str) -> None:
    X, y = load(return_X_y=True)
    theirs, ours = both(X, y, criterion=criterion)
    assert are_alike(theirs, ours, X)
    expected, path = theirs.cost_complexity_pruning_path(X, y), ours.cost_complexity_pruning_path(X, y)
    np.testing.assert_allclose(merged(path), merged(expected), rtol=0, atol=1e-12)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_pruned_trees_of_the_same_tree_are_those_of_scikit_learn(criterion: str) -> None:
    compared = 0
    for seed in range(30):
        X, y = draw(seed)
        theirs, ours = both(X, y, criterion=criterion)
        if not are_alike(theirs, ours, X):
            continue
        alphas, _ = merged(theirs.cost_complexity_pruning_path(X, y))
        for low, high in list(pairwise(alphas))[:: max(1, len(alphas) // 4)]:
            pruned = both(X, y, criterion=criterion, ccp_alpha=(low + high) / 2)
            assert np.array_equal(partition(pruned[0].apply(X)), partition(pruned[1].apply(X)))
            compared += 1
    assert compared >= 30


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson"])
def test_pruned_regression_trees_are_those_of_scikit_learn(criterion: str) -> None:
    compared = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(60, 1))
        y = np.round(np.exp(X[:, 0] + rng.normal(size=60)), 3) + 0.1
        options = {"criterion": criterion, "min_samples_leaf": 3, "random_state": 0}
        theirs, ours = SklearnRegressor(**options).fit(X, y), DecisionTreeRegressor(**options).fit(X, y)
        if not np.array_equal(partition(theirs.apply(X)), partition(ours.apply(X))):
            continue
        path, expected = (each.cost_complexity_pruning_path(X, y) for each in (ours, theirs))
        np.testing.assert_allclose(merged(path), merged(expected), rtol=0, atol=1e-9)
        alphas = merged(expected)[0]
        for low, high in list(pairwise(alphas))[:: max(1, len(alphas) // 4)]:
            cut = {"ccp_alpha": (low + high) / 2}
            pruned = [
                each.set_params(**cut).fit(X, y)
                for each in (SklearnRegressor(**options), DecisionTreeRegressor(**options))
            ]
            assert np.array_equal(*(partition(each.apply(X)) for each in pruned))
            np.testing.assert_allclose(pruned[1].predict(X), pruned[0].predict(X), rtol=1e-12)
            compared += 1
    assert compared >= 10


def test_a_pruned_forest_of_medians_does_not_depend_on_how_many_trees_are_grown_at_once() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 3)), rng.normal(size=80)
    options = {"criterion": "absolute_error", "ccp_alpha": 0.02, "max_depth": 4, "random_state": 0}
    whole = RandomForestRegressor(6, **options).fit(X, y)
    grown = RandomForestRegressor(2, warm_start=True, **options).fit(X, y).set_params(n_estimators=6).fit(X, y)
    unpruned = RandomForestRegressor(6, **options | {"ccp_alpha": 0.0}).fit(X, y)
    np.testing.assert_array_equal(whole.predict(X), grown.predict(X))
    np.testing.assert_array_equal(whole.feature_importances_, grown.feature_importances_)
    assert sum(tree.n_leaves for tree in whole.trees_) < sum(tree.n_leaves for tree in unpruned.trees_)
    bag = fitted_of(whole).rows.bags.times(0)
    inside = np.repeat(np.arange(80), bag)
    leaves = whole.apply(X)[:, 0]
    for leaf in np.unique(leaves[inside]):
        rows = inside[leaves[inside] == leaf]
        assert whole.trees_[0].evidence.values[leaf] == pytest.approx(np.median(y[rows]))


def test_weights_prune_as_in_scikit_learn() -> None:
    X, y = load_iris(return_X_y=True)
    weights = np.random.default_rng(0).integers(1, 5, len(y)).astype(float)
    theirs = SklearnTree(min_samples_leaf=5, random_state=0)
    ours = DecisionTreeClassifier(min_samples_leaf=5, random_state=0)
    expected = theirs.cost_complexity_pruning_path(X, y, weights)
    path = ours.cost_complexity_pruning_path(X, y, weights)
    np.testing.assert_allclose(merged(path), merged(expected), rtol=0, atol=1e-12)


def test_the_path_leaves_the_estimator_alone_and_ends_at_the_root() -> None:
    X, y = load_iris(return_X_y=True)
    tree = DecisionTreeClassifier(ccp_alpha=0.02, random_state=0)
    path = tree.cost_complexity_pruning_path(X, y)
    assert not hasattr(tree, "forest_")
    assert tree.ccp_alpha == 0.02
    assert path.ccp_alphas[0] == 0
    assert path.impurities[-1] == pytest.approx(2 / 3)  # three classes of fifty
    assert (np.diff(path.ccp_alphas) >= 0).all()
    assert (np.diff(path.impurities) >= -1e-12).all()


def subtrees(tree: Any, node: int, risk: list[Fraction]) -> list[tuple[Fraction, int]]:
    """(risk, leaves) of every way to prune below a node."""
    found = [(risk[node], 1)]
    if not tree.is_leaf[node]:
        left, right = (subtrees(tree, int(tree.first_child[node]) + side, risk) for side in (0, 1))
        found += [(a + b, m + n) for a, m in left for b, n in right]
    return found


@pytest.mark.parametrize("seed", range(6))
def test_no_subtree_costs_less_than_the_pruned_one(seed: int) -> None:
    X, y = draw(2 * seed)
    whole = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    tree = whole.tree_
    counts = [[int(count) for count in node] for node in tree.counts]
    risk = [Fraction(sum(c) ** 2 - sum(k * k for k in c), sum(c) * len(y)) for c in counts]
    every = subtrees(tree, 0, risk)
    assert len(every) > 5
    for alpha in (Fraction(1, 200), Fraction(1, 50), Fraction(1, 10)):
        pruned = DecisionTreeClassifier(max_depth=3, ccp_alpha=float(alpha), random_state=0).fit(X, y)
        kept = pruned.tree_
        held = [[int(count) for count in node] for node in kept.counts[kept.is_leaf]]
        cost = sum(Fraction(sum(c) ** 2 - sum(k * k for k in c), sum(c) * len(y)) for c in held)
        cheapest = min(r + alpha * m for r, m in every)
        assert cost + alpha * kept.n_leaves == cheapest
        assert kept.n_leaves == min(m for r, m in every if r + alpha * m == cheapest)


def test_impurity_is_what_the_lectures_say() -> None:
    pure, even = np.array([[7.0, 0.0]]), np.array([[1.0, 1.0, 1.0, 1.0]])
    assert resolve_criterion("gini").impurity(pure) == resolve_criterion("entropy").impurity(pure) == 0
    assert resolve_criterion("gini").impurity(even) == 1 - 1 / 4
    assert resolve_criterion("entropy").impurity(even) == 2
