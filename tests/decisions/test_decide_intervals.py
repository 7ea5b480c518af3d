"""Bounds, made reachable, bound expectations exactly."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.decisions.strategies import raw_bounds
from tests.reference.decide import lowest_expectation, tightest_bounds

from hedgerow.decisions import lower_expectation, pignistic_from_bounds, reachable, upper_expectation


@settings(max_examples=25)
@given(raw_bounds(n_rows=1))
def test_reachable_bounds_are_the_extreme_probabilities_of_the_set(bounds):
    lower, upper = reachable(*bounds)
    for row, (low, high) in enumerate(zip(*bounds, strict=True)):
        tight_low, tight_high = tightest_bounds(low, high)
        np.testing.assert_allclose(lower[row], tight_low, atol=1e-9, rtol=0)
        np.testing.assert_allclose(upper[row], tight_high, atol=1e-9, rtol=0)


@settings(max_examples=60)
@given(raw_bounds())
def test_making_reachable_twice_is_making_reachable_once(bounds):
    once = reachable(*bounds)
    twice = reachable(*once)
    assert np.array_equal(once[0], twice[0])
    assert np.array_equal(once[1], twice[1])


@settings(max_examples=60)
@given(raw_bounds())
def test_reachable_bounds_are_never_wider(bounds):
    lower, upper = reachable(*bounds)
    assert (lower >= bounds[0]).all()
    assert (upper <= bounds[1]).all()
    assert (lower <= upper).all()


def test_rounding_never_crosses_the_bounds():
    random = np.random.default_rng(4)
    centre = np.diff(np.sort(random.integers(0, 101, (20_000, 1))), axis=1, prepend=0, append=100)
    reach = random.integers(0, 30, (2, 20_000, 2))
    lower, upper = reachable(np.maximum(centre - reach[0], 0) / 100, np.minimum(centre + reach[1], 100) / 100)
    assert (lower <= upper).all()


def test_precise_bounds_are_returned_bit_for_bit():
    probability = np.random.default_rng(0).dirichlet(np.ones(7), size=200)
    lower, upper = reachable(probability, probability)
    assert np.array_equal(lower, probability)
    assert np.array_equal(upper, probability)


@settings(max_examples=60)
@given(st.lists(st.lists(st.integers(0, 40), min_size=4, max_size=4), min_size=1, max_size=6), st.floats(0.1, 5))
def test_averages_of_imprecise_dirichlet_leaves_are_reachable_as_they_are(counts, caution):
    counts = np.array(counts)
    total = counts.sum(axis=1, keepdims=True) + caution
    lower, upper = (counts / total).mean(axis=0)[None], ((counts + caution) / total).mean(axis=0)[None]
    tight = reachable(lower, upper)
    assert np.array_equal(tight[0], lower)
    assert np.array_equal(tight[1], upper)


@settings(max_examples=25)
@given(raw_bounds(n_rows=1), st.data())
def test_expectations_are_those_of_the_linear_programme(bounds, data):
    n_classes = bounds[0].shape[1]
    gamble = np.array(data.draw(st.lists(st.integers(-5, 5), min_size=n_classes, max_size=n_classes)), dtype=float)
    lower, upper = reachable(*bounds)
    low = lower_expectation([gamble], lower, upper)[:, 0]
    high = upper_expectation([gamble], lower, upper)[:, 0]
    for row, raw in enumerate(zip(*bounds, strict=True)):
        assert low[row] == pytest.approx(lowest_expectation(gamble, *raw), abs=1e-8)
        assert high[row] == pytest.approx(-lowest_expectation(-gamble, *raw), abs=1e-8)


@settings(max_examples=60)
@given(raw_bounds())
def test_the_pignistic_distribution_lies_between_the_bounds_and_sums_to_one(bounds):
    lower, upper = reachable(*bounds)
    shared = pignistic_from_bounds(lower, upper)
    np.testing.assert_allclose(shared.sum(axis=1), 1, atol=1e-12, rtol=0)
    assert (shared >= lower - 1e-12).all()
    assert (shared <= upper + 1e-12).all()


def test_the_pignistic_distribution_of_a_leaf_shares_its_reserve_equally():
    counts, caution = np.array([5.0, 2.0, 0.0]), 2.0
    lower, upper = counts / 9, (counts + caution) / 9
    np.testing.assert_allclose(pignistic_from_bounds(lower, upper), (counts + caution / 3) / 9, atol=1e-15)


def test_the_pignistic_distribution_of_precise_bounds_is_the_probability():
    assert pignistic_from_bounds([0.2, 0.8], [0.2, 0.8]).tolist() == [0.2, 0.8]


@pytest.mark.parametrize(
    ("lower", "upper", "words"),
    [
        ([[0.6, 0.6]], [[0.7, 0.7]], "sum to at most 1"),
        ([[0.1, 0.1]], [[0.4, 0.4]], "upper bounds to at least 1"),
        ([[0.5, 0.2]], [[0.4, 0.8]], "0 <= lower <= upper <= 1"),
        ([[-0.1, 0.2]], [[0.4, 0.8]], "0 <= lower <= upper <= 1"),
        ([[np.nan, 0.2]], [[0.4, 0.8]], "finite"),
        ([[0.1, 0.2]], [[0.4, 0.8, 0.2]], "same shape"),
        ([[]], [[]], "K >= 1"),
    ],
)
def test_bounds_without_a_distribution_between_them_are_refused(lower, upper, words):
    with pytest.raises(ValueError, match=words):
        reachable(lower, upper)


def test_the_error_names_the_first_row_that_is_wrong():
    with pytest.raises(ValueError, match=r"got lower \[0.9, 0.9\] and upper \[1.0, 1.0\] in row 1\."):
        reachable([[0.1, 0.1], [0.9, 0.9], [0.8, 0.8]], [[1, 1], [1, 1], [1, 1]])


def test_bounds_rounded_to_float32_are_accepted():
    probability = np.random.default_rng(1).dirichlet(np.ones(50), size=500).astype(np.float32)
    assert (probability.astype(float).sum(axis=1) != 1).any()
    lower, upper = reachable(probability, probability)
    assert np.array_equal(lower, probability)
    assert np.array_equal(upper, probability)
