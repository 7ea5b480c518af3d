"""Preferences between pairs of classes and their partial orders: by hand, by enumeration, and in a forest."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from sklearn.datasets import load_iris

from hedgerow import RandomForestClassifier, combine
from hedgerow.belief import pairwise_preference, partial_order, plausibility_degrees
from hedgerow.rules import Plausibility


def test_a_pair_has_the_degrees_of_its_two_classes() -> None:
    """The paper of two classes: pi+ = .765236 and pi- = .281592 for (3, 1)."""
    found = pairwise_preference([[1, 5, 3], [0, 0, 0]])
    assert found.strict[0, 2, 0] == pytest.approx(0.765236 - 0.281592, abs=1e-6)
    assert found.incomparable[0, 0, 2] == pytest.approx(0.281592, abs=1e-6)
    assert found.indifferent[0, 2, 0] == pytest.approx(1 - 0.765236, abs=1e-6)
    assert found.strict[0, 0, 2] == 0
    np.testing.assert_allclose(found.incomparable[1], 1 - np.eye(3))  # no rows: nothing can be compared


@pytest.mark.parametrize("n_classes", [2, 4])
def test_degrees_are_those_of_every_pair_and_add_up_to_one(n_classes: int) -> None:
    counts = np.random.default_rng(0).poisson(3.0, (20, n_classes)).astype(float)
    found = pairwise_preference(counts)
    total = found.strict + found.strict.transpose(0, 2, 1) + found.indifferent + found.incomparable
    np.testing.assert_allclose(total, 1.0, atol=1e-12)
    for first, second in permutations(range(n_classes), 2):
        degrees = plausibility_degrees(counts[:, [first, second]])
        ahead = np.maximum(degrees[:, 0] - degrees[:, 1], 0)
        np.testing.assert_allclose(found.strict[:, first, second], ahead, atol=1e-9)
        np.testing.assert_allclose(found.incomparable[:, first, second], degrees.min(axis=1), atol=1e-9)


def test_a_partial_order_is_the_largest_cut_without_a_cycle() -> None:
    """Compared with every level in turn; paths are enumerated."""
    rng = np.random.default_rng(1)
    strict = rng.integers(0, 6, (60, 4, 4)) / 6 * (rng.random((60, 4, 4)) < 0.6) * (1 - np.eye(4))
    n_cycles = 0
    for degrees, order in zip(strict, partial_order(strict), strict=True):
        for level in np.unique(np.append(degrees, 0.0)):
            expected = reachable(degrees > level)
            if not expected.diagonal().any():
                break
            n_cycles += 1
        np.testing.assert_array_equal(order, expected)
    assert n_cycles > 10


def reachable(relation: np.ndarray) -> np.ndarray:
    """Whether a path of at most K steps leads from one class to another."""
    paths, found = relation.astype(int), relation.copy()
    for _ in relation:
        paths = (paths @ relation > 0).astype(int)
        found |= paths > 0
    return found


def test_preferences_of_a_forest_are_means_over_trees() -> None:
    X, y = load_iris(return_X_y=True)
    forest = RandomForestClassifier(7, min_samples_leaf=5, random_state=0).fit(X, y)
    evidence = forest.evidence(X[::10])
    found, counts = evidence.preference(), evidence.counts
    each = pairwise_preference(counts.reshape(-1, 3))
    np.testing.assert_allclose(found.strict, each.strict.reshape(15, 7, 3, 3).mean(axis=1), atol=1e-12)
    np.testing.assert_allclose(found.incomparable, each.incomparable.reshape(15, 7, 3, 3).mean(axis=1), atol=1e-12)
    order = partial_order(found.strict)
    assert not (order & order.transpose(0, 2, 1)).any()
    first = forest.predict_proba(X[::10]).argmax(axis=1)
    assert not order[np.arange(15), :, first].any()  # no class precedes the most probable one


def test_with_two_classes_the_score_is_that_of_the_paper() -> None:
    counts = np.random.default_rng(2).poisson(4.0, (10, 5, 2)).astype(float)
    each = pairwise_preference(counts.reshape(-1, 2)).strict.reshape(10, 5, 2, 2).mean(axis=1)
    score = combine(counts, Plausibility()).score
    np.testing.assert_allclose(each[:, 1, 0] - each[:, 0, 1], score, atol=1e-12)


def test_wrong_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match="counts must be finite and non-negative"):
        pairwise_preference([[1.0, -1.0]])
    with pytest.raises(ValueError, match="strict must have the shape"):
        partial_order(np.zeros((3, 3)))
