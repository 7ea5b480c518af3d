"""Nodes: bits against plain Python, and what trees keep when nodes are joined, taken, cut and moved."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from hedgerow import RandomDecisionTreesClassifier, RandomForestClassifier
from hedgerow.forest.nodes import MULTIWAY, SUBSET, THRESHOLD, Nodes, subset_from


@cache
def fitted(kind: type = RandomForestClassifier) -> Any:
    """A forest with thresholds and nominal splits, over three trees."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 4))
    X[:, 3] = rng.integers(0, 70, 150)
    y = (X[:, 0] + (X[:, 3] % 3) > 1).astype(int)
    return kind(3, categorical_features=[3], random_state=0).fit(X, y)


@pytest.mark.parametrize("kind", [RandomForestClassifier, RandomDecisionTreesClassifier])
def test_the_parts_of_nodes_are_those_of_their_bits(kind: type) -> None:
    nodes = fitted(kind).forest_.structure
    for tree in range(nodes.n_trees):
        for at in range(nodes.node_start[tree], nodes.node_start[tree + 1]):
            bits, own = int(nodes.bits[at]), at - int(nodes.node_start[tree])
            is_leaf = bits >> 36 == own
            assert nodes.own_numbers[at] == own
            assert (nodes.is_leaf[at], nodes.child[at]) == (is_leaf, bits >> 36)
            assert nodes.is_borrowed[at] == (is_leaf and bits >> 35 & 1)
            assert nodes.missing_left[at] == (not is_leaf and bits >> 35 & 1)
            if not is_leaf:
                found = nodes.code[at], nodes.feature[at], nodes.kind[at]
                assert found == (bits & 0xFFFF, bits >> 16 & 0x1FFFF, bits >> 33 & 3)
    kinds = {kind: len(nodes.splits(kind)) for kind in (THRESHOLD, SUBSET, MULTIWAY)}
    assert sum(kinds.values()) == (~nodes.is_leaf).sum()
    assert kinds[MULTIWAY if kind is RandomDecisionTreesClassifier else SUBSET] > 0


@pytest.mark.parametrize("kind", [RandomForestClassifier, RandomDecisionTreesClassifier])
def test_features_of_splits_are_found_in_parts_as_in_all_nodes(kind: type, monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = fitted(kind).forest_.structure
    inner, multiway = ~nodes.is_leaf, nodes.kind == MULTIWAY
    for part_nodes in (1, int(np.diff(nodes.node_start).max()) * 2, 1 << 18):
        monkeypatch.setattr("hedgerow.forest.nodes._PART_NODES", part_nodes)
        assert sum(part.n_trees for part in nodes.in_parts()) == nodes.n_trees
        assert nodes.split_features().tolist() == np.unique(nodes.feature[inner]).tolist()
        assert nodes.split_features(two_sides=True).tolist() == np.unique(nodes.feature[inner & ~multiway]).tolist()


def test_every_node_but_a_root_is_a_child_of_its_parent() -> None:
    nodes = fitted(RandomDecisionTreesClassifier).forest_.structure
    parent, n_children = nodes.parent, np.zeros(len(nodes.bits), dtype=np.int64)
    inner, how_many, children = nodes.families()
    n_children[inner] = how_many
    assert sorted(children.tolist()) == np.flatnonzero(parent >= 0).tolist()
    assert np.flatnonzero(parent < 0).tolist() == nodes.node_start[:-1].tolist()
    for at in np.flatnonzero(parent >= 0):
        above = parent[at]
        first = nodes.child[above] + nodes.node_start[nodes.tree_of(parent[[at]])[0]]
        assert first <= at < first + n_children[above]
    assert (np.bincount(parent[parent >= 0], minlength=len(parent)) == n_children).all()


def test_trees_taken_apart_and_joined_are_what_they_were() -> None:
    nodes = fitted().forest_.structure
    parts = [nodes.between(tree, tree + 1) for tree in range(nodes.n_trees)]
    for name, array in Nodes.join(*parts).arrays().items():
        np.testing.assert_array_equal(array, nodes.arrays()[name])


def test_a_tree_cut_nowhere_is_the_tree_and_cut_at_its_root_a_leaf() -> None:
    tree = fitted().forest_.structure.between(0, 1)
    whole, leaves = tree.cut(np.zeros(len(tree.bits), dtype=bool))
    np.testing.assert_array_equal(whole.bits, tree.bits)
    np.testing.assert_array_equal(leaves, np.flatnonzero(tree.is_leaf))
    root, leaves = tree.cut(np.arange(len(tree.bits)) == 0)
    alone = Nodes.one_leaf()
    assert leaves.tolist() == [0]
    for name in ("bits", "payload", "node_start", "leaf_start", "depth"):
        np.testing.assert_array_equal(getattr(root, name), getattr(alone, name))


def test_codes_and_categories_can_be_moved_and_moved_back() -> None:
    nodes = fitted().forest_.structure
    at = nodes.splits(THRESHOLD)
    moved = nodes.with_codes(at, nodes.code[at] + 7)
    assert (moved.code[at] == nodes.code[at] + 7).all()
    np.testing.assert_array_equal(moved.with_codes(at, nodes.code[at]).bits, nodes.bits)
    splits = nodes.splits(SUBSET)
    left = nodes.goes_left(splits, 70)
    wider = nodes.with_subsets({int(node): subset_from(np.tile(left[i], 3)) for i, node in enumerate(splits)})
    np.testing.assert_array_equal(wider.goes_left(splits, 210), np.tile(left, 3))
    assert len(wider.set_words) == 2 * len(nodes.set_words)
