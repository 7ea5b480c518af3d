"""Rows: bags that are drawn again whenever they are asked for, and the trees that may judge a row."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow import _core
from hedgerow.forest.rows import Bags, OobMask, Provenance, drawn_once


def test_a_bag_depends_on_seed_tree_and_row_alone() -> None:
    bags = Bags(3, 1.0, 200, first_tree=4)
    for tree in range(3):
        np.testing.assert_array_equal(bags.times(tree), _core.bag(3, 4 + tree, 200, 1.0))
        np.testing.assert_array_equal(bags.times(tree, 50, 260)[:150], bags.times(tree)[50:])
        np.testing.assert_array_equal(bags.outside(tree), bags.times(tree) == 0)
    rows = np.array([0, 199, 230])
    expected = np.stack([bags.times(tree, 0, 231)[rows] == 0 for tree in range(3)], axis=1)
    np.testing.assert_array_equal(bags.oob_each(3, rows), expected)
    few = np.array([5, 4_000])  # drawn one by one
    expected = np.stack([bags.times(tree, 0, 4_001)[few] == 0 for tree in range(20)], axis=1)
    np.testing.assert_array_equal(bags.oob_each(20, few), expected)


@pytest.mark.parametrize(
    ("leaf_counts", "counted"),
    [("inbag", lambda drawn: drawn), ("distinct", lambda drawn: drawn > 0), ("oob", lambda drawn: drawn == 0)],
)
def test_leaves_count_the_rows_they_are_told_to(leaf_counts: str, counted) -> None:  # type: ignore[no-untyped-def]
    bags = Bags(1, 1.0, 80, leaf_counts=leaf_counts)
    np.testing.assert_array_equal(bags.counted(0, 10, 90), counted(bags.times(0, 10, 90)))
    assert bags.counts_oob == (leaf_counts == "oob")


def test_without_bags_every_row_counts_once_and_no_tree_may_judge_it() -> None:
    bags = Bags(1, 0.0, 80, leaf_counts="inbag")
    assert bags.counted(0, 0, 80) is None
    assert (bags.times(0) == 1).all()
    assert not OobMask(bags).table(3).any()


def test_the_judges_of_a_row_are_the_trees_whose_bags_do_not_hold_it() -> None:
    oob_mask = OobMask(Bags(2, 1.0, 60), np.arange(60, dtype=np.uint16) % 3)
    table = oob_mask.table(7)
    np.testing.assert_array_equal(oob_mask.number(7), table.sum(axis=1))
    for tree in range(7):
        np.testing.assert_array_equal(table[:, tree], oob_mask.of(tree))
    assert oob_mask.certain.all()
    assert oob_mask.own_weight is None
    assert oob_mask.for_core()[2] is oob_mask.own_class
    soft = OobMask(oob_mask.bags, np.ones((60, 3)), np.arange(60) < 5)
    assert soft.own_class is None
    assert soft.own_weight is soft.own
    assert soft.certain.sum() == 5


def test_bags_of_a_few_rows_may_be_drawn_again() -> None:
    origins = [Provenance(3, 0, seed, 1.0, "all", 2, 4, (2.0, 2.0)) for seed in range(60)]
    found = {drawn_once(origin) for origin in origins}
    assert found == {True, False}
    assert all(drawn_once(Provenance(3, 0, seed, 1.0, "all", 200, 400, (1.0, 1.0))) for seed in range(5))
