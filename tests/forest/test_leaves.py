"""Leaves: counts of classes and moments of numbers, joined, taken apart, widened, cut and read by name."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from hedgerow import RandomForestClassifier, RandomForestRegressor
from hedgerow.forest.class_counts import DENSE_CLASSES, ClassCounts
from hedgerow.forest.forest import TYPES, Forest, join_forests, trees_between
from hedgerow.forest.moments import LeafMoments
from hedgerow.forest.payload import LeafPayload

KINDS = ("few", "many", "weighted", "many weighted", "numbers", "weighted numbers", "medians", "later numbers")
EVERY_KIND = pytest.mark.parametrize("kind", KINDS)


@cache
def fitted(kind: str) -> Any:
    """A model whose leaves are of a kind."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3)).round(1)
    weights = rng.uniform(0.5, 2, 120) if "weighted" in kind else None
    if "numbers" in kind or kind == "medians":
        criterion = "absolute_error" if kind == "medians" else "squared_error"
        model = RandomForestRegressor(4, criterion=criterion, random_state=0).fit(X, X[:, 0] ** 2, weights)
        return model.partial_fit(X[:40], X[:40, 1]) if "later" in kind else model
    y = rng.integers(0, 12 if "many" in kind else 3, 120)
    return RandomForestClassifier(4, random_state=0).fit(X, y, weights)


def assert_same(one: LeafPayload, other: LeafPayload) -> None:
    assert type(one) is type(other)
    assert list(one.arrays()) == list(other.arrays())
    for name, array in one.arrays().items():
        assert array.dtype == other.arrays()[name].dtype
        np.testing.assert_array_equal(array, other.arrays()[name])


@EVERY_KIND
def test_arrays_are_named_and_typed_as_files_hold_them(kind: str) -> None:
    forest = fitted(kind).forest_
    assert [name for name in TYPES if name in forest.arrays()] == list(forest.arrays())
    for name, array in forest.arrays().items():
        assert array.dtype == TYPES[name]
        assert getattr(forest, name) is array
    again = Forest.from_arrays(forest.n_classes, forest.arrays())
    assert_same(again.evidence, forest.evidence)
    assert again.n_classes == forest.n_classes


@EVERY_KIND
def test_leaves_taken_apart_and_joined_are_what_they_were(kind: str) -> None:
    forest = fitted(kind).forest_
    again = join_forests(*(trees_between(forest, tree, tree + 1) for tree in range(forest.n_trees)))
    assert_same(again.evidence, forest.evidence)
    if forest.evidence.incremental is not None:
        for name, held in vars(forest.evidence.incremental).items():
            np.testing.assert_array_equal(vars(again.evidence.incremental)[name], held)


@EVERY_KIND
def test_the_nodes_of_a_tree_hold_the_leaves_below_them(kind: str) -> None:
    model = fitted(kind)
    forest, tree = model.forest_, model.trees_[0]
    leaves = forest.evidence.between(0, int(forest.leaf_start[1]))
    number = tree.nodes.leaf_number[tree.is_leaf]
    np.testing.assert_array_equal(tree.counts[tree.is_leaf], leaves.table(number))
    np.testing.assert_array_equal(tree.weights[tree.is_leaf], leaves.table(number, weighted=True))
    np.testing.assert_array_equal(tree.counts[0], leaves.table().sum(axis=0))
    for node in np.flatnonzero(~tree.is_leaf):
        below = slice(tree.first_child[node], tree.first_child[node] + tree.n_children[node])
        np.testing.assert_array_equal(tree.counts[node], tree.counts[below].sum(axis=0))
        np.testing.assert_allclose(tree.evidence.amount[node], tree.evidence.amount[below].sum())
    assert_same(tree.evidence.cut(np.flatnonzero(tree.is_leaf)[np.argsort(number)]), leaves)


@pytest.mark.parametrize("kind", ["few", "many", "weighted", "many weighted"])
@pytest.mark.parametrize("n_classes", [DENSE_CLASSES, DENSE_CLASSES + 5])
def test_more_classes_leave_the_counts_of_the_others(kind: str, n_classes: int) -> None:
    leaves = fitted(kind).forest_.evidence
    n_classes = max(n_classes, leaves.n_classes + 1)
    places = np.arange(leaves.n_classes) + (np.arange(leaves.n_classes) > 0)  # the new class is the second
    wide = leaves.add_classes(places, n_classes)
    wide.check()
    assert (wide.entry_start is None) == (n_classes <= DENSE_CLASSES)
    for weighted in (False, True):
        np.testing.assert_array_equal(wide.table(weighted=weighted)[:, places], leaves.table(weighted=weighted))
        assert not wide.table(weighted=weighted)[:, 1].any()


@pytest.mark.parametrize("kind", ["few", "many", "weighted", "many weighted"])
def test_leaves_are_taken_in_any_order_and_some_are_empty(kind: str) -> None:
    leaves = fitted(kind).forest_.evidence
    asked = np.array([3, -1, 0, 7])
    for weighted in (False, True):
        found = leaves.take(asked).table(weighted=weighted)
        np.testing.assert_array_equal(found[[0, 2, 3]], leaves.table(asked[[0, 2, 3]], weighted=weighted))
        assert not found[1].any()


@pytest.mark.parametrize("kind", ["few", "many weighted"])
def test_a_leaf_repeats_what_others_hold_together(kind: str) -> None:
    leaves = fitted(kind).forest_.evidence
    repeated = leaves.repeat(np.array([2, 2, 5]), np.array([0, 1, 4]))
    for weighted in (False, True):
        before, after = leaves.table(weighted=weighted), repeated.table(weighted=weighted)
        np.testing.assert_array_equal(after[2], before[0] + before[1])
        np.testing.assert_array_equal(after[5], before[4])
        others = np.setdiff1d(np.arange(len(before)), [2, 5])
        np.testing.assert_array_equal(after[others], before[others])


def test_forests_without_weights_or_means_are_joined_with_those_that_have_them() -> None:
    plain, weighted = fitted("few").forest_, fitted("weighted").forest_
    both = join_forests(plain, weighted).evidence
    np.testing.assert_array_equal(both.weights, np.concatenate([plain.counts, weighted.weights]))
    means, medians = fitted("numbers").forest_, fitted("medians").forest_
    assert medians.means is not None
    both = join_forests(means, medians).evidence
    np.testing.assert_array_equal(both.means, np.concatenate([means.values, medians.means]))


@pytest.mark.parametrize(
    ("kind", "changed", "said"),
    [
        ("few", {"weights": np.ones(2)}, "weights must have"),
        ("few", {"entry_class": np.zeros(2, np.uint16)}, "values per leaf"),
        ("few", {"counts": np.zeros(7, np.uint32)}, "values per leaf"),
        ("many", {"entry_start": None}, "entry_start must be None"),
        ("many", {"entry_class": np.zeros(2, np.uint16)}, "entry_class must have"),
        ("numbers", {"variances": np.full(3, -1.0)}, "variances must have"),
    ],
)
def test_arrays_that_do_not_fit_together_are_refused(kind: str, changed: dict[str, Any], said: str) -> None:
    forest = fitted(kind).forest_
    with pytest.raises(ValueError, match=said):
        Forest.from_arrays(forest.n_classes, forest.arrays() | changed).evidence.check()


def test_arrays_of_both_kinds_are_refused() -> None:
    forest = fitted("few").forest_
    with pytest.raises(ValueError, match="got variances too"):
        Forest.from_arrays(3, forest.arrays() | {"variances": np.zeros(3)})
    assert isinstance(forest.evidence, ClassCounts)
    assert isinstance(fitted("numbers").forest_.evidence, LeafMoments)


@pytest.mark.parametrize("kind", ["few", "many", "weighted", "many weighted"])
def test_a_row_is_taken_out_of_its_leaf_by_class_or_by_weight(kind: str) -> None:
    leaves = fitted(kind).forest_.evidence
    leaf, label = np.nonzero(leaves.table())
    counts, weights = leaves.table(leaf).astype(float), leaves.table(leaf, weighted=True).astype(float)
    each = np.arange(len(leaf))
    light = weights.copy()
    light[each, label] *= (counts[each, label] - 1) / counts[each, label]
    left = counts.sum(axis=1) - 1
    shares = light / np.maximum(light.sum(axis=1, keepdims=True), 1e-300)
    np.testing.assert_allclose(leaves.read_without(leaf, label), left[:, None] * shares, rtol=1e-12)
    own = weights - light
    np.testing.assert_allclose(leaves.read_without(leaf, own), left[:, None] * shares, rtol=1e-9)
    assert leaves.cell_start(np.array([leaves.n_leaves]))[0] == len(leaves.counts)
