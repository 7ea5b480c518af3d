"""One row: an opinion computed from plain numbers has the bits that the row has among many."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.belief.calibrate import Calibration
from hedgerow.belief.opinion import across
from hedgerow.belief.scalar import mean_of_row
from hedgerow.decisions.base import reachable
from hedgerow.rules import Average, Calibrated, Laplace, Plausibility, Setting, Uncertainty, Vote

RULES = [Average(), Laplace(0.3), Plausibility(), Vote(), Uncertainty()]


def states_of(rule: Any, seed: int, n_classes: int, caution: float) -> tuple[Any, Setting]:
    """(40, S): sums of the states of up to twelve leaves, some of them empty or pure; the first row has no leaf."""
    rng = np.random.default_rng(seed)
    setting = Setting.of(n_classes, caution)
    counts = rng.integers(0, 5, (12, 40, n_classes)) * (rng.random((12, 40, n_classes)) < 0.5)
    states = np.zeros((40, rule.lift(np.zeros((1, n_classes)), setting).shape[1]))
    for leaf in counts.astype(float):
        some = np.flatnonzero(rng.random(40) < 0.7)[1:]
        states[some] += rule.lift(leaf[some], setting)
    return states, setting


def assert_same_bits(rule: Any, states: Any, setting: Setting) -> None:
    together = rule.finish(states, setting)
    for row in range(len(states)):
        alone = rule.finish(states[row : row + 1], setting)
        for field in fields(alone):
            one, all_rows = getattr(alone, field.name), getattr(together, field.name)
            assert (one is None) == (all_rows is None)
            if one is not None:
                assert one.tobytes() == all_rows[row : row + 1].tobytes(), (field.name, row)
                assert one.shape == all_rows[row : row + 1].shape


@settings(max_examples=15, deadline=None)
@given(st.sampled_from(RULES), st.integers(0, 10**6), st.integers(2, 9), st.sampled_from([0.0, 1.0, 2.7]))
def test_an_opinion_about_one_row_is_that_among_many(rule: Any, seed: int, n_classes: int, caution: float) -> None:
    assert_same_bits(rule, *states_of(rule, seed, n_classes, caution))


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 9), st.booleans(), st.sampled_from([0.0, 1.0, 2.7]))
def test_so_is_a_mapped_one(seed: int, n_classes: int, mixes: bool, caution: float) -> None:
    rng = np.random.default_rng(seed)
    mix = rng.normal(size=(n_classes, n_classes)) if mixes else None
    learned = Calibration(1 + rng.random() * 3, mix, rng.normal(size=n_classes), 1.04, 100)
    states, setting = states_of(Average(), seed, n_classes, caution)
    assert_same_bits(Calibrated(Average(), learned), states, setting)
    shares = Average().finish(states, setting).probability
    alone = [learned.of(shares[row : row + 1]) for row in range(len(shares))]
    assert np.concatenate(alone).tobytes() == learned.of(shares).tobytes()


def test_states_that_are_not_finite_are_left_to_numpy() -> None:
    for at in range(6):
        state = [0.5, 0.5, 0.4, 0.4, 0.5, 0.2]
        state[at] = np.nan
        assert mean_of_row(state, 2, 1.0) is None


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 9))
def test_bounds_of_one_row_are_made_reachable_as_among_many(seed: int, n_classes: int) -> None:
    rng = np.random.default_rng(seed)
    middle = rng.dirichlet(np.ones(n_classes), 8)
    lower = middle * rng.random((8, 1))
    slack = np.where(rng.random((8, 1)) < 0.5, 1 - lower.sum(axis=1, keepdims=True), rng.random((8, n_classes)))
    upper = np.minimum(np.maximum(lower + slack, middle), 1.0)
    lower[0] = upper[0] = middle[0]
    together = reachable(lower, upper)
    for row in range(8):
        alone = reachable(lower[row : row + 1], upper[row : row + 1])
        for one, all_rows in zip(alone, together, strict=True):
            assert one.tobytes() == all_rows[row : row + 1].tobytes()


@pytest.mark.parametrize("bad", [[[0.7, 0.6]], [[np.nan, 0.1]], [[-0.1, 0.2]]])
def test_one_row_of_impossible_bounds_is_refused(bad: Any) -> None:
    with pytest.raises(ValueError, match="lower"):
        reachable(np.array(bad), np.ones((1, 2)))


@pytest.mark.parametrize("how", ["sum", "max", "min"])
@pytest.mark.parametrize("n_classes", range(1, 11))
def test_rows_are_reduced_with_the_bits_of_numpy(n_classes: int, how: Any) -> None:
    rng = np.random.default_rng(n_classes)
    wide = rng.normal(size=(50, 2 * n_classes)) * 10.0 ** rng.integers(-8, 8, (50, 2 * n_classes))
    wide[0] = np.nan
    for values in (wide[:, :n_classes].copy(), np.asfortranarray(wide[:, :n_classes]), wide[:, ::2], wide[:0, ::2]):
        expected = getattr(values, how)(axis=1, keepdims=True)
        np.testing.assert_array_equal(across(values, how), expected)
