"""The grower against its plain twin, against scikit-learn's, and against what the formulas promise."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_iris
from sklearn.ensemble import ExtraTreesClassifier as SklearnExtraTrees
from sklearn.ensemble import RandomForestClassifier as SklearnForest
from sklearn.tree import DecisionTreeClassifier as SklearnTree
from tests.reference.grow import CRITERIA, Node, Twin, best_of_all_subsets, node_from_arrays
from tests.reference.tables import Drawn, draw_case, labels_of

from hedgerow import (
    DecisionTreeClassifier,
    ExtraTreesClassifier,
    RandomDecisionTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from hedgerow.forest.grow import grow_forest
from hedgerow.inference.fitted import fitted_of
from hedgerow.params.resolve import resolve_settings
from hedgerow.table import read_training_table
from hedgerow.table.bins import encode, find_bins
from hedgerow.tasks.classification.target import ClassLabels

SPLITTERS = ["best", "random", "random_decision"]
SENSES = ["all", "inbag", "distinct", "oob"]


def assert_trees_equal_their_twins(case: Drawn, n_trees: int = 2) -> list[Node]:
    """-> the twin's trees."""
    forest = grow_forest(case.codes, case.bins, case.labels, case.settings, n_trees=n_trees)
    twin = Twin(case.codes, case.bins, case.labels, case.settings)
    trees = [twin.grow(number) for number in range(n_trees)]
    for number, tree in enumerate(trees):
        assert node_from_arrays(forest, number, case.bins) == tree
    return trees


# ---- the twin -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("n_classes", [1, 2, 3, 8, 9, 20])
@pytest.mark.parametrize("criterion", ["gini", "entropy", "belief"])
@pytest.mark.parametrize("splitter", SPLITTERS)
def test_trees_of_random_tables_equal_their_twins(splitter: str, criterion: str, n_classes: int, seed: int) -> None:
    assert_trees_equal_their_twins(draw_case(seed, n_classes, splitter, criterion))


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("splitter", ["best", "random"])
def test_monotonic_trees_equal_their_twins(splitter: str, seed: int) -> None:
    assert_trees_equal_their_twins(draw_case(seed, 2, splitter, "gini", "monotonic"))


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("criterion", ["gini", "entropy", "belief"])
def test_trees_grown_best_first_equal_their_twins(criterion: str, seed: int) -> None:
    assert_trees_equal_their_twins(draw_case(seed, 3, "best", criterion, "best first"))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("n_classes", [2, 3, 20])
@pytest.mark.parametrize("splitter", SPLITTERS)
def test_trees_on_many_categories_equal_their_twins(splitter: str, n_classes: int, seed: int) -> None:
    assert_trees_equal_their_twins(draw_case(seed, n_classes, splitter, "gini", "nominal"))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("splitter", ["best", "random"])
def test_trees_that_list_categories_equal_their_twins(splitter: str, n_classes: int) -> None:
    fewest = []
    for seed in range(4):
        case = draw_case(seed, n_classes, splitter, "gini", "listed")
        for tree in assert_trees_equal_their_twins(case):
            splits = [(len(node.left), int(case.bins.n_bins[node.feature])) for node in tree.walk() if node.left]
            fewest += [min(n_left, n_all - n_left) for n_left, n_all in splits if n_all > 255]
    assert min(fewest) <= 12  # a list
    assert max(fewest) > 20  # bits


@pytest.mark.parametrize("n_classes", [2, 3, 12])
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("seed", range(6))
def test_trees_on_nothing_but_ties_equal_their_twins(seed: int, criterion: str, n_classes: int) -> None:
    rng = np.random.default_rng([seed, n_classes])
    X = rng.integers(0, rng.choice([3, 8, 30]), (300, 3)).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    table = read_training_table(X, categorical_features=[0] if seed % 2 else [])
    bins = find_bins(table)
    settings = resolve_settings(
        RandomForestClassifier(criterion=criterion, max_features=None, bootstrap=seed > 2, random_state=seed),
        300,
        3,
        None,
        n_classes,
    )
    labels = labels_of(rng.integers(0, n_classes, 300), n_classes)
    assert_trees_equal_their_twins(Drawn(X, [0] if seed % 2 else [], encode(table, bins), bins, labels, settings), 1)


def test_random_tables_cover_what_they_should() -> None:
    kinds: dict[str, int] = {}
    flags = {"borrowed": 0, "weights": 0, "missing": 0, "two bytes": 0, "one row": 0}
    for splitter in SPLITTERS:
        for seed in range(12):
            case = draw_case(seed, 3, splitter, "gini")
            flags["weights"] += case.labels.weights is not None
            flags["missing"] += bool(np.isnan(case.X).any())
            flags["two bytes"] += case.codes.dtype == np.uint16
            flags["one row"] += len(case.X) == 1
            for node in assert_trees_equal_their_twins(case, 1)[0].walk():
                kinds[node.kind] = kinds.get(node.kind, 0) + 1
                flags["borrowed"] += node.borrowed
    assert min(kinds[kind] for kind in ("leaf", "threshold", "subset", "multiway")) >= 5
    assert min(flags.values()) >= 2


ESTIMATORS = [
    DecisionTreeClassifier(criterion="entropy", min_samples_leaf=2, random_state=3),
    DecisionTreeClassifier(max_leaf_nodes=9, class_weight={0: 1.0, 1: 2.0, 2: 0.5}, random_state=3),
    RandomForestClassifier(3, random_state=3),
    RandomForestClassifier(3, leaf_counts="oob", max_samples=0.5, min_samples_split=0.1, random_state=3),
    RandomForestClassifier(3, class_weight="balanced_subsample", max_features=2, random_state=3),
    ExtraTreesClassifier(3, max_depth=6, random_state=3),
    ExtraTreesClassifier(3, bootstrap=True, leaf_counts="inbag", random_state=3),
    RandomDecisionTreesClassifier(3, min_samples_leaf=3, random_state=3),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_estimators_grow_the_trees_of_the_twin(estimator: Any) -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(150, 3)), rng.integers(0, 5, 150), rng.integers(0, 3, 150)])
    X[rng.random(X.shape) < 0.05] = np.nan
    y = rng.integers(0, 3, 150)
    estimator.set_params(categorical_features=[3]).fit(X, y)
    table = read_training_table(X, categorical_features=[3])
    labels = labels_of(y, 3, None, estimator.class_weight)
    settings = resolve_settings(estimator, 150, 5, None, 3)
    twin = Twin(encode(table, fitted_of(estimator).bins), fitted_of(estimator).bins, labels, settings)
    for number in range(estimator.forest_.n_trees):
        assert node_from_arrays(estimator.forest_, number, fitted_of(estimator).bins) == twin.grow(number)


# ---- best is best -------------------------------------------------------------------------------------------


def quality_of_root(tree: Node, codes: NDArray[Any], labels: ClassLabels, criterion: str) -> float:
    """What the split at the root is worth, by sending all rows through it."""
    assert tree.feature is not None
    column = codes[tree.feature]
    missing = column == np.iinfo(codes.dtype).max
    left = np.isin(column, list(tree.left)) if tree.left is not None else column <= tree.code  # type: ignore[operator]
    left = np.where(missing, bool(tree.missing_left), left)
    amount = np.ones(len(column), dtype=np.int64) if labels.weights is None else labels.weights
    sides = [
        [int(amount[side & (labels.numbers == k)].sum()) for k in range(labels.n_classes)] for side in (left, ~left)
    ]
    return CRITERIA[criterion](sides[0]) + CRITERIA[criterion](sides[1])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("seed", range(10))
def test_no_subset_of_categories_beats_the_chosen_one_for_two_classes(
    seed: int, criterion: str, weighted: bool
) -> None:
    rng = np.random.default_rng(seed)
    column = rng.integers(0, 9, 80).astype(float)
    column[rng.random(80) < 0.1] = np.nan
    y = (rng.random(80) < 0.2 + 0.6 * rng.random(10)[np.nan_to_num(column, nan=9).astype(int)]).astype(int)
    weights = rng.integers(1, 5, 80).astype(float) if weighted else None
    table = read_training_table(column[:, None], categorical_features=[0])
    bins = find_bins(table)
    codes = encode(table, bins)
    labels = labels_of(y, 2, weights, None)
    settings = resolve_settings(DecisionTreeClassifier(max_depth=1, criterion=criterion), 80, 1, None, 2)
    tree = node_from_arrays(grow_forest(codes, bins, labels, settings, n_trees=1), 0, bins)
    amounts: dict[int, list[int]] = {}
    for code, label, amount in zip(codes[0].tolist(), y, weights if weighted else np.ones(80), strict=True):
        amounts.setdefault(code, [0, 0])[label] += int(amount)
    assert quality_of_root(tree, codes, labels, criterion) == pytest.approx(
        best_of_all_subsets(amounts, criterion), rel=1e-12
    )


@pytest.mark.parametrize("n_classes", [2, 7, 12])
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_splits_of_a_long_table_are_the_best_there_are(criterion: str, n_classes: int) -> None:
    """70,000 rows: quantile bins, dense nodes and every level of compaction, node by node."""
    rng = np.random.default_rng(5)
    X = np.column_stack([rng.normal(size=70_000), rng.integers(0, 40, 70_000), rng.exponential(size=70_000).round(2)])
    X[rng.random(70_000) < 0.05, 2] = np.nan
    score = X[:, 0] + X[:, 1] / 20 + np.nan_to_num(X[:, 2]) + rng.normal(size=70_000)
    y = np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))
    model = DecisionTreeClassifier(criterion=criterion, random_state=0).fit(X, y)
    codes = encode(read_training_table(X), fitted_of(model).bins)
    assert codes.dtype == np.uint8
    tree, path = model.tree_, model.decision_path(X).tocsc()
    inner = np.flatnonzero(~tree.is_leaf)
    sizes = path.sum(axis=0)[inner]
    chosen = np.concatenate([inner[np.argsort(-sizes)[:60]], rng.choice(inner, 60, replace=False)])
    for node in chosen:
        rows = np.sort(path.indices[path.indptr[node] : path.indptr[node + 1]])
        held, labels = codes[:, rows], y[rows]
        found = quality_of_split(tree, node, held, labels, n_classes, criterion)
        best = max(best_quality(column, labels, n_classes, criterion) for column in held)
        assert found == pytest.approx(best, rel=1e-9)


def qualities(left: NDArray[np.int64], total: NDArray[np.int64], criterion: str) -> NDArray[np.float64]:
    """(places, K) amounts on the left, (K,) in all -> (places,) quality of the two sides."""
    result = np.zeros(len(left))
    for side in (left, total - left):
        n = side.sum(axis=1)
        if criterion == "gini":
            result += (side.astype(float) ** 2).sum(axis=1) / np.maximum(n, 1)
        else:
            logs = [np.where(a > 0, a * np.log2(np.maximum(a, 1)), 0.0) for a in (side, n)]
            result += logs[0].sum(axis=1) - logs[1]
    return result


def best_quality(column: NDArray[Any], labels: NDArray[np.int64], n_classes: int, criterion: str) -> float:
    """The best over all thresholds and both sides for missing values."""
    table = np.zeros((256, n_classes), dtype=np.int64)
    np.add.at(table, (column, labels), 1)
    total = table.sum(axis=0)
    below = table[:255].cumsum(axis=0)
    places = np.concatenate([below, below + table[255]])
    size = places.sum(axis=1)
    proper = (size > 0) & (size < total.sum())
    return float(qualities(places[proper], total, criterion).max()) if proper.any() else -math.inf


def quality_of_split(
    tree: Any, node: int, held: NDArray[Any], labels: NDArray[np.int64], n_classes: int, criterion: str
) -> float:
    column = held[tree.feature[node]]
    code = tree._code[node]
    left = np.where(column == 255, tree.missing_left[node], column <= code)
    total = np.bincount(labels, minlength=n_classes)
    return float(qualities(np.bincount(labels[left], minlength=n_classes)[None], total, criterion)[0])


# ---- scikit-learn as an oracle ------------------------------------------------------------------------------


def table_without_ties(seed: int, n_rows: int = 90, n_classes: int = 3) -> tuple[Any, Any]:
    """Different values in every column, labels that follow them with noise."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.permutation(n_rows) * 3.0 + rng.random(n_rows) for _ in range(4)])
    y = ((X[:, 0] + X[:, 1] + 80 * rng.normal(size=n_rows)) // 150).astype(int) % n_classes
    return X, y


def gains_are_different(tree: SklearnTree, X: Any, y: Any, weights: Any) -> bool:
    """Whether the best split of every inner node is the only best one, so that both libraries must choose it."""
    path = tree.decision_path(X).tocsc()
    for node in set(range(path.shape[1])) - set(tree.apply(X)):
        rows = path.indices[path.indptr[node] : path.indptr[node + 1]]
        found = []
        for column in X[rows].T:
            order = np.argsort(column)
            onehot = np.eye(y.max() + 1)[y[rows][order]] * weights[rows][order][:, None]
            left = onehot.cumsum(axis=0)
            amount, size = left.sum(axis=1), np.arange(1, len(rows) + 1)
            allowed = np.minimum(size, len(rows) - size) >= tree.min_samples_leaf
            allowed &= np.minimum(amount, amount[-1] - amount) >= tree.min_weight_fraction_leaf * weights.sum()
            found.append(qualities(left[allowed], left[-1], tree.criterion))
        best = np.sort(np.concatenate(found))[-2:]
        if len(best) == 2 and best[1] - best[0] < 1e-4:
            return False
    return True


def untied_cases(criterion: str, weighted: bool, n_wanted: int = 5, **limits: Any) -> list[tuple[Any, ...]]:
    """Tables on which the tree is determined, with the tree scikit-learn grows on them."""
    found = []
    for seed in range(200):
        X, y = table_without_ties(seed)
        rng = np.random.default_rng(seed)
        weights = rng.integers(1, 30, len(y)) + rng.random(len(y)).round(3) if weighted else np.ones(len(y))
        oracle = SklearnTree(criterion=criterion, random_state=0, **limits).fit(X, y, weights)
        if gains_are_different(oracle, X, y, weights):
            found.append((X, y, weights, oracle))
        if len(found) == n_wanted:
            return found
    raise AssertionError(f"only {len(found)} of 200 tables have no ties")


LIMITS: list[dict[str, Any]] = [
    {"max_depth": 3},
    {"min_samples_leaf": 12},
    {"min_samples_split": 30},
    {"max_leaf_nodes": 6},
    {"min_impurity_decrease": 0.045},
    {"min_weight_fraction_leaf": 0.12},
]


@pytest.mark.parametrize("limits", LIMITS, ids=repr)
@pytest.mark.parametrize("weighted", [False, True], ids=["equal", "weighted"])
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_a_tree_without_ties_is_the_tree_of_scikit_learn(
    criterion: str, weighted: bool, limits: dict[str, Any]
) -> None:
    for X, y, weights, oracle in untied_cases(criterion, weighted, **limits):
        model = DecisionTreeClassifier(criterion=criterion, random_state=1, **limits)
        model.fit(X, y, weights if weighted else None)
        pairs = np.unique(np.column_stack([oracle.apply(X), model.apply(X)]), axis=0)
        assert len(pairs) == oracle.get_n_leaves() == model.get_n_leaves()
        assert model.get_depth() == oracle.get_depth()
        np.testing.assert_allclose(model.predict_proba(X), oracle.predict_proba(X), atol=1e-9)
        np.testing.assert_allclose(model.feature_importances_, oracle.feature_importances_, atol=1e-8)
        ours, theirs = (sorted(m.decision_path(X).sum(axis=0).ravel().tolist()) for m in (model, oracle))
        assert ours == pytest.approx(np.sort(np.ravel(theirs)).tolist())


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_the_pruning_path_is_the_one_of_scikit_learn(criterion: str) -> None:
    from hedgerow.forest.prune import pruning_path

    for X, y, weights, _ in untied_cases(criterion, True, min_samples_leaf=8):
        model = DecisionTreeClassifier(criterion=criterion, min_samples_leaf=8).fit(X, y, weights)
        path = SklearnTree(criterion=criterion, min_samples_leaf=8).cost_complexity_pruning_path(X, y, weights)
        steps = list(pruning_path(model.tree_, criterion))
        alphas = [0.0] + [step.alpha for step in steps]
        # scikit-learn cuts all links of one alpha at once and reports it once.
        kept = [a for a, b in zip(alphas, [*alphas[1:], math.inf], strict=True) if b - a > 1e-12]
        theirs = [a for a, b in zip(path.ccp_alphas, [*path.ccp_alphas[1:], math.inf], strict=True) if b - a > 1e-12]
        np.testing.assert_allclose(kept, theirs, atol=1e-9)
        assert steps[-1].impurity == pytest.approx(path.impurities[-1], abs=1e-9)


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_a_pruned_tree_is_the_pruned_tree_of_scikit_learn(criterion: str) -> None:
    for X, y, _weights, oracle in untied_cases(criterion, False, min_samples_leaf=8):
        alphas = oracle.cost_complexity_pruning_path(X, y).ccp_alphas
        for alpha in (alphas[:-1] + alphas[1:]) / 2:
            if np.abs(alphas - alpha).min() < 1e-9:
                continue
            limits = {"criterion": criterion, "min_samples_leaf": 8, "ccp_alpha": alpha}
            ours = DecisionTreeClassifier(**limits).fit(X, y)
            theirs = SklearnTree(**limits, random_state=0).fit(X, y)
            np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-12)
            assert ours.get_n_leaves() == theirs.get_n_leaves()
            assert ours.get_depth() == theirs.get_depth()


# ---- weights and evidence -----------------------------------------------------------------------------------


def test_a_weight_of_two_and_a_doubled_row_grow_the_same_tree_with_different_evidence() -> None:
    rng = np.random.default_rng(1)
    X, y = rng.integers(0, 9, (60, 3)).astype(float), rng.integers(0, 3, 60)
    times = rng.integers(1, 4, 60)
    weighted = DecisionTreeClassifier(random_state=0).fit(X, y, times)
    doubled = DecisionTreeClassifier(random_state=0).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(weighted.predict_proba(X), doubled.predict_proba(X), atol=1e-12)
    assert weighted.tree_.counts[0].sum() == 60
    assert doubled.tree_.counts[0].sum() == times.sum()


def test_equal_weights_change_nothing() -> None:
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 3, 60)
    plain = RandomForestClassifier(5, random_state=0).fit(X, y)
    weighted = RandomForestClassifier(5, random_state=0).fit(X, y, np.full(60, 0.37))
    assert np.array_equal(plain.forest_.nodes, weighted.forest_.nodes)
    assert np.array_equal(plain.predict_proba(X), weighted.predict_proba(X))


def test_a_row_of_weight_zero_might_as_well_not_be_there() -> None:
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(80, 3)), rng.integers(0, 3, 80)
    weights = rng.integers(0, 3, 80).astype(float)
    kept = weights > 0
    some = RandomForestClassifier(5, random_state=0).fit(X, y, weights)
    only = RandomForestClassifier(5, random_state=0).fit(X[kept], y[kept], weights[kept])
    assert np.array_equal(some.forest_.nodes, only.forest_.nodes)
    assert np.array_equal(some.predict_proba(X), only.predict_proba(X))


@pytest.mark.parametrize("nominal", [[], [0, 1, 2]])
@pytest.mark.parametrize("n_rows", [100, 2000])
def test_rows_of_a_class_of_weight_zero_might_as_well_not_be_there(n_rows: int, nominal: list[int]) -> None:
    rng = np.random.default_rng(2)
    X, y = rng.integers(0, 12, (n_rows, 3)).astype(float), rng.integers(0, 3, n_rows)
    settings = {"min_samples_leaf": 8, "categorical_features": nominal, "random_state": 0}
    model = DecisionTreeClassifier(class_weight={0: 0.0, 1: 1.0, 2: 1.0}, **settings).fit(X, y)
    without = DecisionTreeClassifier(**settings).fit(X[y > 0], y[y > 0])
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.tree_.counts[0].tolist() == [0, (y == 1).sum(), (y == 2).sum()]
    assert (model.predict_proba(X)[:, 0] == 0).all()
    if not nominal:  # with three classes known, categories are tried in more orders, and ties fall otherwise
        assert np.array_equal(model.predict_proba(X)[:, 1:], without.predict_proba(X))


@pytest.mark.parametrize("scale", [1e-300, 1e-12, 1e12, 1e300])
def test_a_common_factor_of_the_weights_does_not_matter(scale: float) -> None:
    rng = np.random.default_rng(3)
    X, y, weights = rng.normal(size=(80, 3)), rng.integers(0, 2, 80), rng.random(80) + 0.1
    one = DecisionTreeClassifier(random_state=0).fit(X, y, weights)
    other = DecisionTreeClassifier(random_state=0).fit(X, y, weights * scale)
    assert np.array_equal(one.forest_.nodes, other.forest_.nodes)
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("sense", SENSES)
def test_leaves_count_rows_in_the_sense_asked_for(sense: str) -> None:
    from hedgerow import _core

    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(300, 3)), rng.integers(0, 3, 300)
    model = RandomForestClassifier(4, leaf_counts=sense, random_state=0, max_depth=4).fit(X, y)
    leaves = model.apply(X)
    for number, tree in enumerate(model.trees_):
        times = _core.bag(fitted_of(model).seed, number, 300, 1.0)
        counted = {"all": np.ones(300), "inbag": times, "distinct": times > 0, "oob": times == 0}[sense]
        expected = np.zeros_like(tree.counts)
        np.add.at(expected, (leaves[:, number], y), counted.astype(np.int64))
        assert np.array_equal(tree.counts[tree.is_leaf], expected[tree.is_leaf])


def test_without_a_bootstrap_the_senses_agree() -> None:
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(100, 3)), rng.integers(0, 3, 100)
    models = [
        ExtraTreesClassifier(4, leaf_counts=sense, random_state=0).fit(X, y) for sense in ("all", "inbag", "distinct")
    ]
    assert all(np.array_equal(model.forest_.counts, models[0].forest_.counts) for model in models)


# ---- monotonic constraints ----------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True], ids=["equal", "weighted"])
@pytest.mark.parametrize("sense", ["all", "inbag", "distinct"])  # "oob": a tree with an empty leaf is silent
@pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesClassifier])
def test_probability_follows_monotonic_constraints(kind: Any, sense: str, weighted: bool) -> None:
    rng = np.random.default_rng(6)
    X = rng.normal(size=(400, 3))
    y = (X[:, 0] - X[:, 1] + np.sin(4 * X[:, 2]) + rng.normal(size=400) > 0).astype(int)
    model = kind(
        15, monotonic_cst=[1, -1, 0], bootstrap=True, leaf_counts=sense, min_samples_leaf=3, random_state=0
    ).fit(X, y, rng.random(400) + 0.1 if weighted else None)
    axis = np.linspace(-3, 3, 61)
    for feature, sign in ((0, 1), (1, -1)):
        for other in rng.normal(size=(20, 3)):
            grid = np.tile(other, (61, 1))
            grid[:, feature] = axis
            rises = sign * np.diff(model.predict_proba(grid)[:, 1])
            assert rises.min() >= -1e-12
    assert model.score(X, y) > 0.6


@pytest.mark.parametrize("weighted", [False, True], ids=["equal", "weighted"])
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_no_split_is_made_against_its_constraint(criterion: str, weighted: bool) -> None:
    """Labels run against the constraint: the evidence itself must obey it, not only the clipped shares."""
    n_splits = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.integers(0, 6, (60, 3)).astype(float)
        y = (X[:, 1] - X[:, 2] + 2 * rng.normal(size=60) > 0).astype(int)
        weights = rng.integers(1, 4, 60).astype(float) if weighted else np.ones(60)
        model = DecisionTreeClassifier(criterion=criterion, monotonic_cst=[0, -1, 1], random_state=seed)
        tree = model.fit(X, y, weights).tree_
        held = model.decision_path(X).T @ (np.eye(2)[y] * weights[:, None])
        share = held[:, 1] / held.sum(axis=1)
        for node in np.flatnonzero(tree.feature > 0):
            left, right = share[tree.first_child[node]], share[tree.first_child[node] + 1]
            sign = -1 if tree.feature[node] == 1 else 1
            assert sign * (right - left) >= 0
            n_splits += 1
    assert n_splits > 20


def test_without_constraints_the_same_data_would_break_them() -> None:
    rng = np.random.default_rng(6)
    X = rng.normal(size=(400, 3))
    y = (X[:, 0] - X[:, 1] + np.sin(4 * X[:, 2]) + rng.normal(size=400) > 0).astype(int)
    model = RandomForestClassifier(15, min_samples_leaf=3, random_state=0).fit(X, y)
    grid = np.zeros((61, 3))
    grid[:, 0] = np.linspace(-3, 3, 61)
    assert np.diff(model.predict_proba(grid)[:, 1]).min() < -1e-3


def test_a_constraint_on_labels_of_one_class_is_no_constraint() -> None:
    X = np.arange(12.0).reshape(6, 2)
    model = RandomForestClassifier(3, monotonic_cst=[1, 0], random_state=0).fit(X, np.zeros(6, dtype=int))
    assert np.array_equal(model.predict_proba(X), np.ones((6, 1)))
    assert model.forest_.weights is None or len(model.forest_.weights) == len(model.forest_.counts)


# ---- missing values and categories --------------------------------------------------------------------------


def test_missing_values_learn_their_side() -> None:
    X = np.array([[0.0], [1.0], [2.0], [3.0], [np.nan], [np.nan]])
    for label, expected in ((0, [1.0, 0.0]), (1, [0.0, 1.0])):
        y = np.array([0, 0, 1, 1, label, label])
        model = DecisionTreeClassifier(random_state=0).fit(X, y)
        assert model.get_n_leaves() == 2
        assert model.predict_proba([[np.nan]]).tolist() == [expected]


def test_missing_values_alone_can_be_split_off() -> None:
    X = np.array([[0.0], [1.0], [2.0], [np.nan], [np.nan]])
    model = DecisionTreeClassifier(random_state=0).fit(X, [0, 0, 0, 1, 1])
    assert model.tree_.root.questions == ["x[0] known", "x[0] missing"]
    assert model.predict([[-1e9], [1e9], [np.nan], [np.inf]]).tolist() == [0, 0, 1, 0]


def test_missing_values_never_seen_follow_the_larger_side() -> None:
    X = np.arange(5.0)[:, None]
    assert DecisionTreeClassifier().fit(X, [0, 0, 0, 1, 1]).predict([[np.nan]]) == [0]
    assert DecisionTreeClassifier().fit(X, [0, 0, 1, 1, 1]).predict([[np.nan]]) == [1]


def test_unseen_categories_follow_the_larger_side() -> None:
    X = np.array(["a", "a", "b", "c", "c"], dtype=object)[:, None]
    model = DecisionTreeClassifier(categorical_features=[0]).fit(X, [1, 1, 1, 0, 0])
    assert model.predict(np.array([["new"], [None]], dtype=object)).tolist() == [1, 1]


def test_hundreds_of_categories_of_enough_rows_are_told_apart_by_one_split() -> None:
    categories = np.repeat(np.arange(300.0), 20)
    y = (categories * 7919 % 13 < 6).astype(int)
    model = DecisionTreeClassifier(categorical_features=[0]).fit(categories[:, None], y)
    assert model.get_n_leaves() == 2
    assert np.array_equal(model.predict(categories[:, None]), y)
    few = np.arange(300.0)  # a row each: one split would always tell them apart, whatever the labels
    model = DecisionTreeClassifier(categorical_features=[0]).fit(few[:, None], y[::20])
    assert model.get_n_leaves() > 2


def test_a_column_without_any_value_is_never_split_on() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 3)), rng.integers(0, 2, 50)
    X[:, 1] = np.nan
    model = RandomForestClassifier(10, random_state=0).fit(X, y)
    assert model.forest_.used_features.tolist() == [0, 2]
    assert np.array_equal(model.predict_proba(X), model.predict_proba(np.where(np.isnan(X), 5.0, X)))


# ---- random decision trees ----------------------------------------------------------------------------------


def test_random_decision_trees_do_not_look_at_the_labels() -> None:
    rng = np.random.default_rng(7)
    X = np.column_stack([rng.normal(size=(100, 2)), rng.integers(0, 4, 100)])
    models = [
        RandomDecisionTreesClassifier(6, categorical_features=[2], random_state=0).fit(X, y)
        for y in (rng.integers(0, 2, 100), rng.permutation(np.arange(100) % 2))
    ]
    assert np.array_equal(models[0].forest_.nodes, models[1].forest_.nodes)
    assert not np.array_equal(models[0].forest_.counts, models[1].forest_.counts)


def test_an_empty_child_answers_with_the_sum_of_its_siblings() -> None:
    X = np.array(["a"] * 4 + ["b"] * 3 + ["c"], dtype=object)[:, None]
    y = np.array([0, 0, 1, 1, 1, 1, 1, 0])
    model = RandomDecisionTreesClassifier(1, categorical_features=[0], min_samples_leaf=3, random_state=0)
    model.fit(X, y)
    asked = np.array([["a"], ["b"], ["c"], ["new"], [None]], dtype=object)
    expected = [[0.5, 0.5], [0.0, 1.0], [1.0, 0.0], [3 / 8, 5 / 8], [3 / 8, 5 / 8]]
    assert model.predict_proba(asked).tolist() == expected


def test_a_nominal_try_is_refused_when_the_second_largest_child_is_too_small() -> None:
    X = np.array(["a"] * 6 + ["b", "c"], dtype=object)[:, None]
    y = np.array([0, 1] * 4)
    refused = RandomDecisionTreesClassifier(3, categorical_features=[0], min_samples_leaf=2).fit(X, y)
    accepted = RandomDecisionTreesClassifier(3, categorical_features=[0], min_samples_leaf=1).fit(X, y)
    assert [tree.n_nodes for tree in refused.trees_] == [1, 1, 1]
    assert [tree.n_nodes for tree in accepted.trees_] == [5, 5, 5]


def test_the_threshold_of_a_random_decision_tree_is_the_value_of_a_row() -> None:
    forest = RandomDecisionTreesClassifier(400, random_state=0).fit([[0.0], [10.0]], ["low", "high"])
    split = [tree for tree in forest.trees_ if not tree.is_leaf[0]]  # x < 0 and x <= 10 leave a side without rows
    found = np.array([tree.threshold[0] for tree in split])
    below = np.nextafter(10.0, 0.0)
    assert set(found.tolist()) == {0.0, below}
    assert abs((found == below).mean() - 0.5) < 0.15
    texts = {tree.to_text().splitlines()[0].removesuffix(" or missing") for tree in split}
    assert texts == {"|--- x[0] <= 0.00", "|--- x[0] < 10.00"}
    sides = forest.predict_proba([[-1.0], [0.0], [5.0], [10.0], [11.0]])[:, 1]  # the share of "low"
    np.testing.assert_allclose(sides[:2], sides[0])
    np.testing.assert_allclose(sides[3:], 1 - sides[0])
    np.testing.assert_allclose(sides[2], (len(split) * (found == below).mean() + 0.5 * (400 - len(split))) / 400)


def test_random_decision_trees_keep_splitting_pure_nodes() -> None:
    X = np.random.default_rng(0).normal(size=(50, 3))
    model = RandomDecisionTreesClassifier(3, random_state=0).fit(X, np.zeros(50, dtype=int))
    assert min(tree.n_leaves for tree in model.trees_) > 25


def test_thresholds_of_random_decision_trees_are_uniform_over_rows() -> None:
    """Values 0, 1 and 2 in shares of .7, .2 and .1: a threshold is as likely as the rows that bear it."""
    X = np.repeat([0.0, 1.0, 2.0], [70, 20, 10])[:, None]
    model = RandomDecisionTreesClassifier(4000, max_depth=1, random_state=0).fit(X, np.zeros(100, dtype=int))
    roots = np.array([tree.threshold[0] for tree in model.trees_])
    # A drawn 0 with "<" and a drawn 2 with "≤" leave a side empty: no split, and there is only one try.
    below = np.nextafter([1.0, 2.0], 0.0)
    seen = [*(np.mean(roots == each) for each in (0.0, below[0], 1.0, below[1])), np.mean(roots == -2)]
    expected = [0.7 / 2, 0.2 / 2, 0.2 / 2, 0.1 / 2, (0.7 + 0.1) / 2]
    for share, probability in zip(seen, expected, strict=True):
        assert abs(share - probability) < 3.3 * math.sqrt(probability * (1 - probability) / 4000)


# ---- features drawn -----------------------------------------------------------------------------------------


def test_only_features_that_vary_count_towards_max_features() -> None:
    rng = np.random.default_rng(8)
    X = np.column_stack([rng.normal(size=(60, 1)), np.ones((60, 30))])
    model = RandomForestClassifier(10, max_features=1, random_state=0).fit(X, rng.integers(0, 2, 60))
    assert min(tree.n_leaves for tree in model.trees_) > 5


def test_every_feature_is_drawn_equally_often() -> None:
    rng = np.random.default_rng(9)
    X, y = rng.normal(size=(40, 5)), rng.integers(0, 2, 40)
    model = ExtraTreesClassifier(5000, max_features=1, max_depth=1, random_state=0).fit(X, y)
    roots = np.bincount([tree.feature[0] for tree in model.trees_], minlength=5)
    chi_square = ((roots - 1000) ** 2 / 1000).sum()
    assert chi_square < 18.5  # 99.9 % for four degrees of freedom


# ---- out of bag ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sense", SENSES)
@pytest.mark.parametrize("n_classes", [2, 4])
def test_random_labels_are_predicted_at_chance_out_of_bag(n_classes: int, sense: str) -> None:
    rng = np.random.default_rng(10)
    X, y = rng.normal(size=(3000, 5)), rng.integers(0, n_classes, 3000)
    model = RandomForestClassifier(40, oob_score=True, leaf_counts=sense, random_state=0).fit(X, y)
    chance = 1 / n_classes
    assert abs(model.oob_score_ - chance) < 3 * math.sqrt(chance * (1 - chance) / 3000)


@pytest.mark.parametrize("random_state", [0, None])
def test_a_warm_start_knows_the_bags_of_its_earlier_trees(random_state: int | None) -> None:
    rng = np.random.default_rng(11)
    X, y = rng.normal(size=(2000, 4)), rng.integers(0, 2, 2000)
    model = RandomForestClassifier(30, oob_score=True, warm_start=True, random_state=random_state).fit(X, y)
    model.set_params(n_estimators=40).fit(X, y)
    assert abs(model.oob_score_ - 0.5) < 5 * math.sqrt(0.25 / 2000)


def test_out_of_bag_judgement_agrees_with_trees_that_have_not_seen_the_row() -> None:
    from hedgerow import _core

    rng = np.random.default_rng(12)
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 3, 60)
    model = RandomForestClassifier(12, calibration=None, oob_score=True, min_samples_leaf=3, random_state=0).fit(X, y)
    leaves = model.apply(X)
    for row in range(60):
        shares = []
        for number, tree in enumerate(model.trees_):
            if _core.bag(fitted_of(model).seed, number, 60, 1.0)[row] == 0:
                others = tree.counts[leaves[row, number]] - (np.arange(3) == y[row])
                shares.append(others / others.sum())
        expected = np.mean(shares, axis=0) if shares else np.full(3, 1 / 3)
        np.testing.assert_allclose(model.oob_decision_function_[row], expected, atol=1e-12)


def test_out_of_bag_accuracy_foretells_accuracy_on_new_rows() -> None:
    rng = np.random.default_rng(13)
    X = rng.normal(size=(6000, 5))
    y = (X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=6000) > 0).astype(int)
    model = RandomForestClassifier(60, oob_score=True, random_state=0).fit(X[:3000], y[:3000])
    assert abs(model.oob_score_ - model.score(X[3000:], y[3000:])) < 0.03


@pytest.mark.parametrize("name", ["banknote-authentication", "pima-diabetes", "balance-scale"])
def test_out_of_bag_accuracy_on_real_data_is_that_of_scikit_learn(data_folder: Path, name: str) -> None:
    frame = pd.read_csv(data_folder / f"{name}.csv.gz")
    X, y = frame.drop(columns="target").to_numpy(dtype=float), frame["target"].astype(str).to_numpy()
    ours = RandomForestClassifier(200, calibration=None, oob_score=True, random_state=0).fit(X, y).oob_score_
    theirs = SklearnForest(200, oob_score=True, random_state=0, n_jobs=2).fit(X, y).oob_score_
    # The rows are the same, so most of the sampling error is shared.
    assert abs(ours - theirs) < 2 * math.sqrt(theirs * (1 - theirs) / len(y))


# ---- which features count -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesClassifier, RandomForestRegressor])
def test_features_are_drawn_by_their_weights(kind: Any) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 4)), rng.integers(0, 2, 400)
    plain = {"max_features": 1, "max_depth": 1, "random_state": 0, "constant_features": "count"}
    roots = [tree.feature[0] for tree in kind(3000, feature_weights=[0, 1, 3, 4], **plain).fit(X, y).trees_]
    shares = np.bincount(roots, minlength=4) / 3000
    assert shares[0] == 0
    np.testing.assert_allclose(shares[1:], [1 / 8, 3 / 8, 4 / 8], atol=4 * np.sqrt(0.25 / 3000))


def test_a_feature_of_infinite_weight_is_looked_at_in_every_node() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 30))
    y = (X[:, 7] > 0).astype(int)
    plain = {"max_features": 1, "max_depth": 1, "random_state": 0}
    always = RandomForestClassifier(50, feature_weights={"x7": np.inf}, **plain)
    table = pd.DataFrame(X, columns=[f"x{i}" for i in range(30)])
    assert {tree.feature[0] for tree in always.fit(table, y).trees_} == {7}
    assert {tree.feature[0] for tree in RandomForestClassifier(50, **plain).fit(table, y).trees_} != {7}


def test_equal_weights_are_no_weights() -> None:
    X, y = load_iris(return_X_y=True)
    plain, equal = (RandomForestClassifier(5, random_state=0, feature_weights=each) for each in (None, [2.0] * 4))
    assert np.array_equal(plain.fit(X, y).predict_proba(X), equal.fit(X, y).predict_proba(X))


@pytest.mark.parametrize(
    ("ours", "theirs"), [(RandomForestClassifier, SklearnForest), (ExtraTreesClassifier, SklearnExtraTrees)]
)
def test_constant_features_count_if_asked_as_they_do_in_scikit_learn(ours: type, theirs: type) -> None:
    # One column of ten separates the classes, one is noise, eight are constant. With two features that count, the first
    # is always found if constant ones are skipped. Otherwise it is among the first two with probability 1/5, and if
    # neither of the two that vary is (28/45), each of them is as likely to come first.
    y = np.repeat([0, 1], 30)
    X = np.zeros((60, 10))
    X[:, [3, 7]] = np.random.default_rng(0).random((60, 2))
    X[:, 3] += 1000 * y
    asked = {"n_estimators": 2000, "max_features": 2, "max_depth": 1, "bootstrap": False, "random_state": 0}
    found = []
    for counting in ("skip", "count"):
        nodes = ours(**asked, constant_features=counting).fit(X, y).forest_.structure
        found.append((nodes.feature[nodes.node_start[:-1]] == 3).mean())
    counted = 1 / 5 + 28 / 45 / 2
    np.testing.assert_allclose(found, [1, counted], atol=0.04)
    peer = theirs(**asked | {"n_estimators": 600}).fit(X, y)
    assert abs(np.mean([tree.tree_.feature[0] == 3 for tree in peer.estimators_]) - counted) < 0.06
