"""Gaussian random fuzzy numbers against integration over their random modes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import norm

from hedgerow import RandomForestRegressor
from hedgerow.belief import RandomFuzzyNumbers

Floats = NDArray[np.float64]

MODES = np.linspace(-9, 9, 40_001)


def number(mean: float, variance: float, precision: float) -> RandomFuzzyNumbers:
    return RandomFuzzyNumbers(np.array([mean]), np.array([variance]), np.array([precision]))


def expected(values: Floats) -> float:
    """The expectation of values (k,) given for standardised modes."""
    weights = norm.pdf(MODES)
    return float((values * weights).sum() / weights.sum())


def by_integration(mean: float, variance: float, precision: float, low: float, high: float) -> tuple[float, float]:
    """Belief and plausibility: means over modes of the necessity and possibility of the interval."""
    modes = mean + np.sqrt(variance) * MODES
    nearest = np.clip(modes, low, high)
    possible = np.exp(-precision / 2 * (modes - nearest) ** 2)
    from_ends = np.minimum(modes - low, high - modes)
    necessary = np.where(from_ends > 0, 1 - np.exp(-precision / 2 * from_ends**2), 0.0)
    return expected(necessary), expected(possible)


numbers = st.tuples(
    st.floats(-3, 3), st.floats(0.01, 4), st.floats(0.05, 20), st.floats(-5, 5), st.floats(0, 5)
)  # mean, variance, precision, low end, width


@given(numbers)
def test_belief_and_plausibility_are_means_over_the_modes(drawn: tuple[float, ...]) -> None:
    mean, variance, precision, low, width = drawn
    found = number(mean, variance, precision)
    belief, plausibility = by_integration(mean, variance, precision, low, low + width)
    assert found.belief(low, low + width) == pytest.approx(belief, abs=2e-4)
    assert found.plausibility(low, low + width) == pytest.approx(plausibility, abs=2e-4)


@given(numbers)
def test_contour_is_the_plausibility_of_a_point(drawn: tuple[float, ...]) -> None:
    mean, variance, precision, y, _ = drawn
    found = number(mean, variance, precision)
    hand = np.exp(-precision * (y - mean) ** 2 / (2 * (1 + precision * variance))) / np.sqrt(1 + precision * variance)
    assert found.contour(y) == pytest.approx(hand)
    assert found.plausibility(y, y) == pytest.approx(hand, abs=1e-12)
    assert found.belief(y, y) == pytest.approx(0, abs=1e-12)


@given(numbers)
def test_the_complement_has_the_rest(drawn: tuple[float, ...]) -> None:
    mean, variance, precision, y, _ = drawn
    found = number(mean, variance, precision)
    assert found.belief(-np.inf, y) + found.plausibility(y, np.inf) == pytest.approx(1, abs=1e-12)
    assert found.belief(-np.inf, y) == pytest.approx(found.belief(mean - 1e4, y), abs=1e-9)


def test_belief_interval() -> None:
    found = RandomFuzzyNumbers(np.array([0.0, 5.0, 1.0]), np.array([1.0, 0.0, 2.0]), np.array([2.0, 3.0, np.inf]))
    ends = found.interval(0.8)
    assert found.belief(*ends.T) == pytest.approx(0.8)
    assert ends[2] == pytest.approx(norm.interval(0.8, 1, np.sqrt(2)))


def test_special_cases() -> None:
    normal = number(1.0, 4.0, np.inf)
    assert normal.belief(0, 2) == normal.plausibility(0, 2) == pytest.approx(norm.cdf(2, 1, 2) - norm.cdf(0, 1, 2))
    possible = number(1.0, 0.0, 2.0)
    assert possible.plausibility(2, 3) == pytest.approx(np.exp(-1))
    assert possible.belief(-1, 2) == pytest.approx(1 - np.exp(-1))
    vacuous = number(1.0, 1.0, 0.0)
    assert (vacuous.belief(-9, 9), vacuous.plausibility(3, 3), vacuous.contour(8.0)) == (0, 1, 1)
    assert vacuous.belief(-np.inf, np.inf) == 1
    exact = number(1.0, 0.0, np.inf)
    assert (exact.belief(0, 2), exact.plausibility(2, 3), exact.contour(1.0)) == (1, 0, 1)


# ---- combination --------------------------------------------------------------------------------------------


def combined_by_weighting(one: RandomFuzzyNumbers, other: RandomFuzzyNumbers) -> tuple[float, float]:
    """Mean and variance of the combined mode: pairs of modes weighted by how far their fuzzy numbers agree."""
    (mu, var, h), (nu, war, g) = (np.ravel(each) for each in (one, other))
    first, second = np.meshgrid(MODES[::50] * np.sqrt(var) + mu, MODES[::50] * np.sqrt(war) + nu, indexing="ij")
    weights = norm.pdf(first, mu, np.sqrt(var)) * norm.pdf(second, nu, np.sqrt(war))
    weights *= np.exp(-h * g / (h + g) / 2 * (first - second) ** 2)  # height of the product of both
    modes = (h * first + g * second) / (h + g)
    mean = float(np.average(modes, weights=weights))
    return mean, float(np.average((modes - mean) ** 2, weights=weights))


@pytest.mark.parametrize("seed", range(5))
def test_combination_is_the_normalised_product(seed: int) -> None:
    rng = np.random.default_rng(seed)
    one, other = (number(rng.normal(), rng.uniform(0.1, 3), rng.uniform(0.1, 4)) for _ in range(2))
    mean, variance = combined_by_weighting(one, other)
    found = one.combine(other)
    assert found.mean == pytest.approx(mean, abs=1e-6)
    assert found.variance == pytest.approx(variance, abs=1e-6)
    assert found.precision == one.precision + other.precision


@pytest.mark.parametrize("seed", range(5))
def test_order_does_not_matter(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b, c = (number(rng.normal(), rng.uniform(0, 3), rng.uniform(0.1, 4)) for _ in range(3))
    assert np.ravel(a.combine(b)) == pytest.approx(np.ravel(b.combine(a)))
    assert np.ravel(a.combine(b).combine(c)) == pytest.approx(np.ravel(a.combine(b.combine(c))))


def test_ignorance_changes_nothing_and_normals_multiply() -> None:
    found, vacuous = number(1.0, 2.0, 3.0), number(9.0, 1.0, 0.0)
    assert found.combine(vacuous) == vacuous.combine(found) == found
    normal = number(0.0, 1.0, np.inf).combine(number(3.0, 2.0, np.inf))
    assert np.ravel(normal) == pytest.approx([1.0, 2 / 3, np.inf])


def test_exact_numbers_must_agree() -> None:
    exact = number(1.0, 0.0, np.inf)
    assert exact.combine(exact) == exact
    with pytest.raises(ValueError, match="must be equal"):
        exact.combine(number(2.0, 0.0, np.inf))
    with pytest.raises(ValueError, match="low must be at most high"):
        exact.belief(2, 1)


# ---- forests ------------------------------------------------------------------------------------------------


def test_plausibility_of_values_has_the_shape_of_the_total_variance() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    y = np.column_stack([X[:, 0] + rng.normal(size=120), X[:, 1]])
    forest = RandomForestRegressor(10, min_samples_leaf=5, random_state=0).fit(X, y)
    for found, variance, mean in zip(
        forest.predict_fuzzy_numbers(X), forest.predict_uncertainty(X), forest.predict(X).T, strict=True
    ):
        density = norm.pdf(1.0, mean, np.sqrt(variance.total)) / norm.pdf(0, 0, np.sqrt(variance.total))
        assert found.contour(1.0) == pytest.approx(density * np.sqrt(variance.epistemic / variance.total))
        assert (found.belief(-1, 1) <= norm.cdf(1, mean, np.sqrt(variance.aleatoric))).all()


def test_a_single_tree_is_normal() -> None:
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(50, 1)), rng.normal(size=50)
    found = RandomForestRegressor(1, min_samples_leaf=10, random_state=0).fit(X, y).predict_fuzzy_numbers(X)
    assert found.belief(-1, 1) == pytest.approx(found.plausibility(-1, 1))
