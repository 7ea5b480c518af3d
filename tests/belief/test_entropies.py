"""Entropies of bounds: the smallest and the largest that any distribution between them has."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from hedgerow import combine
from hedgerow.belief import entropy, generalised_hartley, idm_bounds, lower_entropy, upper_entropy
from hedgerow.criteria import ImpreciseGain, NpiGain
from hedgerow.rules import Setting, merge_states
from hedgerow.rules.uncertainty import UncertaintyOfTrees

STEP = 24
GRID = np.array([[i, j, STEP - i - j] for i in range(STEP + 1) for j in range(STEP + 1 - i)]) / STEP


def reachable_bounds(low: list[int], more: list[int]) -> tuple[np.ndarray, np.ndarray] | None:
    """Multiples of a twelfth; None if no distribution lies between them."""
    lower, upper = np.array(low) / 12, np.minimum((np.array(low) + more) / 12, 1.0)
    return None if lower.sum() > 1 or upper.sum() < 1 else (lower, upper)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.lists(st.integers(0, 6), min_size=3, max_size=3), st.lists(st.integers(0, 12), min_size=3, max_size=3))
def test_no_distribution_of_three_classes_has_less_or_more(low, more):
    bounds = reachable_bounds(low, more)
    if bounds is None:
        return
    lower, upper = bounds
    inside = GRID[((lower - 1e-9 <= GRID) & (upper + 1e-9 >= GRID)).all(axis=1)]
    seen = entropy(inside)
    # all corners are multiples of a twelfth, so the smallest entropy is on the grid; the largest may lie beside it
    assert lower_entropy([lower], [upper])[0] == pytest.approx(seen.min(), abs=1e-9)
    most = upper_entropy([lower], [upper])[0]
    assert seen.max() - 1e-12 <= most <= seen.max() + 0.02


def slow_hartley(lower_of_sets: dict[frozenset[int], float], n_classes: int) -> float:
    """Sum of m(A) log2 |A|, with m(A) by inclusion and exclusion over all subsets."""
    total = 0.0
    for members, _ in lower_of_sets.items():
        mass = sum((-1) ** len(members - part) * value for part, value in lower_of_sets.items() if part <= members)
        total += mass * np.log2(len(members)) if members else 0.0
    return total


def all_sets(n_classes: int) -> list[frozenset[int]]:
    return [frozenset(each) for size in range(n_classes + 1) for each in combinations(range(n_classes), size)]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.integers(0, 6), min_size=3, max_size=3), st.lists(st.integers(0, 12), min_size=3, max_size=3))
def test_the_hartley_measure_of_bounds_is_that_of_the_least_probabilities_between_them(low, more):
    bounds = reachable_bounds(low, more)
    if bounds is None:
        return
    lower, upper = bounds
    inside = GRID[((lower - 1e-9 <= GRID) & (upper + 1e-9 >= GRID)).all(axis=1)]
    least = {members: inside[:, sorted(members)].sum(axis=1).min() for members in all_sets(3)}
    assert generalised_hartley([lower], [upper])[0] == pytest.approx(slow_hartley(least, 3), abs=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_the_hartley_measure_of_trees_is_that_of_their_least_probabilities(n_classes):
    counts = np.random.default_rng(n_classes).poisson(2.0, (12, 5, n_classes)).astype(float)
    counts[0], counts[1, 2] = 0, 0
    trees, setting = UncertaintyOfTrees(), Setting.of(n_classes)
    states = trees.lift(counts.reshape(-1, n_classes), setting).reshape(12, 5, -1)
    found = trees.finish(merge_states(states, trees.merge), setting)
    np.testing.assert_allclose(found[0], [np.log2(n_classes), 0, np.log2(n_classes)])  # nothing is known
    for row in range(1, 12):
        filled = counts[row][counts[row].sum(axis=1) > 0]
        shares = filled / filled.sum(axis=1, keepdims=True)
        least = {members: shares[:, sorted(members)].sum(axis=1).min() for members in all_sets(n_classes)}
        hartley = np.clip(slow_hartley(least, n_classes), 0, np.log2(n_classes))
        expected = [entropy(shares).max(), entropy(shares).min(), hartley]
        np.testing.assert_allclose(found[row], expected, atol=1e-9)


def test_one_distribution_has_no_hartley_measure_and_too_many_classes_are_refused():
    shares = np.random.default_rng(0).dirichlet(np.ones(4), 5)
    np.testing.assert_allclose(generalised_hartley(shares, shares), 0.0, atol=1e-12)
    wide = np.full((1, 11), 1 / 11)
    assert generalised_hartley(wide / 2, wide / 2 + 0.5)[0] == pytest.approx(np.log2(11) / 2)
    with pytest.raises(ValueError, match="at most 10 classes, got 11"):
        generalised_hartley(wide / 2, wide * 2)


def test_the_largest_entropy_is_what_a_general_solver_finds():
    rng = np.random.default_rng(0)
    for _ in range(20):
        middle = rng.dirichlet(np.ones(5))
        lower, upper = middle * rng.random(5), np.minimum(middle + 0.3 * rng.random(5), 1.0)
        found = minimize(
            lambda p: (p * np.log2(np.maximum(p, 1e-12))).sum(),
            middle,
            bounds=list(zip(lower, upper, strict=True)),
            constraints={"type": "eq", "fun": lambda p: p.sum() - 1},
            method="SLSQP",
            options={"ftol": 1e-12, "maxiter": 300},
        )
        assert upper_entropy([lower], [upper])[0] == pytest.approx(-found.fun, abs=1e-6)


def test_of_a_leaf_the_largest_is_that_of_imprecise_gain():
    counts = np.array([[3.0, 2.0, 0.0], [3.0, 0.0, 0.0], [7.0, 7.0, 7.0], [1.0, 0.0, 9.0]])
    np.testing.assert_allclose(upper_entropy(*idm_bounds(counts, 2.0)), ImpreciseGain(2.0).impurity(counts))
    np.testing.assert_allclose(lower_entropy(*idm_bounds(counts[:1], 2.0)), entropy([[5 / 7, 2 / 7, 0]]))


def test_the_entropy_of_an_opinion_lies_between():
    counts = np.random.default_rng(1).poisson(2.0, (50, 7, 4))
    for rule in ("average", "dempster", "belief", "interval_disjunction"):
        opinion = combine(counts, rule, caution=1.0)
        least, most = (find(opinion.lower, opinion.upper) for find in (lower_entropy, upper_entropy))
        said = entropy(opinion.probability)
        assert ((least <= said + 1e-9) & (said <= most + 1e-9)).all()


@pytest.mark.parametrize(
    "bounds", [([[0.6, 0.6]], [[0.7, 0.7]]), ([[0.1]], [[0.2, 0.3]]), ([[0.3, 0.1]], [[0.2, 0.9]])]
)
def test_bounds_without_a_distribution_are_refused(bounds):
    for find in (lower_entropy, upper_entropy):
        with pytest.raises(ValueError, match="lower and upper must have"):
            find(*bounds)


def test_nonparametric_predictive_inference_by_hand():
    # bounds [3/4, 1], [0, 1/4], [0, 1/4]: the quarter that is open is shared by the two classes without rows
    assert NpiGain().impurity(np.array([[4.0, 0.0, 0.0]]))[0] == pytest.approx(0.75 * np.log2(4 / 3) + 0.25 * 3)
    # bounds [1/4, 3/4] twice and [0, 1/4]: the third class rises to its bound, the others share 3/4
    assert NpiGain().impurity(np.array([[2.0, 2.0, 0.0]]))[0] == pytest.approx(0.75 * np.log2(8 / 3) + 0.25 * 2)
    assert NpiGain().impurity(np.zeros((1, 3))).tolist() == [0.0]
    assert NpiGain().impurity(np.array([[1e6, 0.0]]))[0] < 1e-4
