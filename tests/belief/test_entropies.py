"""Entropies of bounds: the smallest and the largest that any distribution between them has."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from hedgerow import combine
from hedgerow.belief import entropy, idm_bounds, lower_entropy, upper_entropy
from hedgerow.criteria import ImpreciseGain, NpiGain

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
