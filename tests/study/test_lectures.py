"""The numbers of the lectures on trees and forests, each where a user would meet it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hedgerow import DecisionTreeClassifier, RandomForestClassifier, _core, theory
from hedgerow.criteria import resolve_criterion

BLUE, YELLOW = "blue", "yellow"
#: Nine blue and eleven yellow balls: eight blue and five yellow up to place 12, one blue and six yellow beyond.
BALLS = np.array([BLUE] * 2 + [YELLOW] * 5 + [BLUE] * 6 + [YELLOW] * 3 + [BLUE] + [YELLOW] * 3)


def entropy(colours: np.ndarray) -> float:
    """In bits."""
    return float(
        resolve_criterion("entropy").impurity(np.unique(colours, return_counts=True)[1][None].astype(float))[0]
    )


def test_twenty_balls() -> None:
    place = np.arange(20)
    left, right = BALLS[place <= 12], BALLS[place > 12]
    assert (np.sum(left == BLUE), np.sum(left == YELLOW)) == (8, 5)
    assert (np.sum(right == BLUE), np.sum(right == YELLOW)) == (1, 6)
    whole, first, second = entropy(BALLS), entropy(left), entropy(right)
    assert (round(whole, 3), round(first, 3), round(second, 3)) == (0.993, 0.961, 0.592)
    gain = whole - 13 / 20 * first - 7 / 20 * second
    assert round(gain, 3) == 0.161


def test_the_tree_of_twenty_balls_asks_about_twelve_first() -> None:
    places = np.arange(20.0)[:, None]
    tree = DecisionTreeClassifier(criterion="entropy").fit(places, BALLS).tree_
    assert tree.threshold[0] == 12.5
    stump = DecisionTreeClassifier(criterion="entropy", max_depth=1).fit(places, BALLS)
    path = stump.cost_complexity_pruning_path(places, BALLS)
    assert round(path.impurities[-1] - path.impurities[0], 3) == 0.161
    assert tree.n_nodes - tree.n_leaves == 5  # questions until every group has one colour
    assert ((tree.counts[tree.is_leaf] > 0).sum(axis=1) == 1).all()


def test_two_thirds_of_the_rows_are_in_the_bag() -> None:
    assert round(float(theory.inclusion_probability(10**6)), 3) == 0.632
    n_rows, n_bags = 20_000, 20
    seen = np.mean([(_core.bag(3, tree, n_rows, 1.0) > 0).mean() for tree in range(n_bags)])
    limit = 1 - 1 / math.e
    assert abs(seen - limit) < 4 * math.sqrt(limit * (1 - limit) / (n_rows * n_bags))


def test_condorcets_jury() -> None:
    sizes = np.arange(1, 200, 2)
    assert (np.diff(theory.condorcet(0.6, sizes)) > 0).all()
    assert (np.diff(theory.condorcet(0.4, sizes)) < 0).all()
    np.testing.assert_allclose(theory.condorcet(0.5, sizes), 0.5, atol=1e-12)
    explicit = sum(math.comb(21, i) * 0.7**i * 0.3 ** (21 - i) for i in range(11, 22))
    assert float(theory.condorcet(0.7, 21)) == pytest.approx(explicit, abs=1e-14)


def test_averaging_independent_learners_divides_their_error() -> None:
    errors = [0.3, 0.5, 0.9, 0.2]
    assert theory.averaged_error(errors) == pytest.approx(theory.mean_error(errors) / 4)


def bag_of(seed: int, n_rows: int) -> np.ndarray:
    """How often each row is in the first bag of a forest with this `random_state`."""
    drawn = np.random.RandomState(seed).randint(0, 2**63 - 1, dtype=np.int64)
    return _core.bag(int(drawn), 0, n_rows, 1.0)


def test_eleven_of_fifteen() -> None:
    # A split learned on the rows in the bag is wrong about four of the fifteen outside it.
    seed = next(seed for seed in range(100) if (bag_of(seed, 40) == 0).sum() == 15)
    outside = np.flatnonzero(bag_of(seed, 40) == 0)
    X = np.where(np.arange(40) % 2 == 0, -1.0, 1.0)[:, None]
    y = (X[:, 0] > 0).astype(int)
    y[outside[:4]] = 1 - y[outside[:4]]
    forest = RandomForestClassifier(1, leaf_counts="inbag", oob_score=True, random_state=seed).fit(X, y)
    assert forest.oob_score_ == pytest.approx(11 / 15)
    assert forest.oob_errors_.out_of_bag == pytest.approx(4 / 15)
    assert round(100 * forest.oob_score_, 2) == 73.33
