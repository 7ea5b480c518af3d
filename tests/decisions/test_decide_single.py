"""Decisions of one class: which one, and what happens in a tie."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.decisions.strategies import raw_bounds
from tests.reference.decide import PlainOpinion, lowest_expectation

from hedgerow.decisions import (
    EAdmissibility,
    ExpectedUtility,
    Hurwicz,
    Maximality,
    Maximax,
    Maximin,
    Pignistic,
    pignistic_from_bounds,
    reachable,
)

SINGLE = [Maximin(), Maximax(), Hurwicz(0.3), Pignistic(), ExpectedUtility()]


def opinion_of(bounds: tuple[np.ndarray, np.ndarray]) -> PlainOpinion:
    """Bounds -> an opinion whose probability is the pignistic one."""
    return PlainOpinion(*bounds, pignistic_from_bounds(*reachable(*bounds)))


@pytest.mark.parametrize("decision", SINGLE, ids=lambda decision: type(decision).__name__)
@settings(max_examples=40)
@given(bounds=raw_bounds())
def test_exactly_one_class_is_chosen(decision, bounds):
    assert (decision.choose(opinion_of(bounds)).sum(axis=1) == 1).all()


@pytest.mark.parametrize("decision", SINGLE, ids=lambda decision: type(decision).__name__)
@settings(max_examples=40)
@given(bounds=raw_bounds())
def test_the_class_chosen_is_maximal(decision, bounds):
    opinion = opinion_of(bounds)
    assert not (decision.choose(opinion) & ~Maximality().choose(opinion)).any()


@pytest.mark.parametrize("decision", [Maximax(), Pignistic(), ExpectedUtility()], ids=lambda d: type(d).__name__)
@settings(max_examples=60)
@given(bounds=raw_bounds())
def test_the_class_chosen_for_one_distribution_is_admissible(decision, bounds):
    opinion = opinion_of(bounds)
    assert not (decision.choose(opinion) & ~EAdmissibility().choose(opinion)).any()


@settings(max_examples=20)
@given(raw_bounds(n_rows=2), st.sampled_from([0.0, 0.3, 1.0]), st.data())
def test_hurwicz_weighs_the_best_and_the_worst_case_of_an_action(bounds, optimism, data):
    n_classes = bounds[0].shape[1]
    worth = st.lists(st.integers(-3, 3), min_size=n_classes, max_size=n_classes)
    utility = np.array([data.draw(worth) for _ in range(3)], dtype=float)
    chosen = Hurwicz(optimism, utility).choose(opinion_of(bounds))
    for row, (low, high) in enumerate(zip(*bounds, strict=True)):
        score = np.array(
            [
                -optimism * lowest_expectation(-action, low, high)
                + (1 - optimism) * lowest_expectation(action, low, high)
                for action in utility
            ]
        )
        assert score[chosen[row]][0] == pytest.approx(score.max(), abs=1e-8)


@settings(max_examples=60)
@given(raw_bounds(), st.booleans())
def test_the_ends_of_hurwicz_are_maximin_and_maximax(bounds, weigh):
    opinion = opinion_of(bounds)
    utility = np.arange(bounds[0].shape[1] * 2.0).reshape(2, -1)[:, ::-1] % 3 if weigh else None
    assert np.array_equal(Hurwicz(0.0, utility).choose(opinion), Maximin(utility).choose(opinion))
    assert np.array_equal(Hurwicz(1.0, utility).choose(opinion), Maximax(utility).choose(opinion))


def test_maximin_looks_at_the_lower_and_maximax_at_the_upper_bound():
    opinion = PlainOpinion([[0.3, 0.2, 0.1]], [[0.5, 0.6, 0.3]], [[0.3, 0.4, 0.3]])
    assert Maximin().choose(opinion).tolist() == [[True, False, False]]
    assert Maximax().choose(opinion).tolist() == [[False, True, False]]


def test_a_tie_goes_to_the_larger_probability_and_then_to_the_first_class():
    vacuous = PlainOpinion([[0, 0, 0]] * 2, [[1, 1, 1]] * 2, [[0.2, 0.5, 0.3], [0.2, 0.4, 0.4]])
    for decision in (Maximin(), Maximax(), Hurwicz(), Pignistic()):
        assert decision.choose(vacuous).tolist() == [[False, True, False], [False, True, False]]


def test_a_tie_between_actions_goes_to_the_larger_expected_utility():
    vacuous = PlainOpinion([[0, 0]], [[1, 1]], [[0.3, 0.7]])
    assert Maximin([[2, 0], [0, 1]]).choose(vacuous).tolist() == [[False, True]]
    assert Maximin([[3, 0], [0, 1]]).choose(vacuous).tolist() == [[True, False]]


def test_rounding_does_not_decide_a_tie():
    lower = np.array([[0.3, 0.1 + 0.2, 0.0]])
    assert lower[0, 1] > lower[0, 0]
    opinion = PlainOpinion(lower, lower + 0.4, [[0.5, 0.4, 0.1]])
    assert Maximin().choose(opinion).tolist() == [[True, False, False]]


def test_expected_utility_chooses_what_predict_says():
    probability = np.random.default_rng(0).dirichlet(np.ones(5), size=400)
    probability[:100] = np.round(probability[:100] * 4) / 4
    opinion = PlainOpinion(np.zeros_like(probability), np.ones_like(probability), probability)
    assert np.array_equal(ExpectedUtility().choose(opinion).argmax(axis=1), probability.argmax(axis=1))


def test_costs_can_turn_the_decision():
    opinion = PlainOpinion([[0.6, 0.1]], [[0.9, 0.4]], [[0.75, 0.25]])
    missing_the_second_is_ten_times_worse = [[0, -10], [-1, 0]]
    for make in (Maximin, Maximax, Pignistic, ExpectedUtility):
        assert make().choose(opinion).tolist() == [[True, False]]
    for make in (Maximin, Pignistic, ExpectedUtility):
        assert make(missing_the_second_is_ten_times_worse).choose(opinion).tolist() == [[False, True]]


def test_pignistic_need_not_be_the_most_probable_class_of_the_precise_forest():
    counts = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 90.0]])
    total = counts.sum(axis=1, keepdims=True)
    bounds = [((counts + extra) / (total + 5)).mean(axis=0)[None] for extra in (0, 5)]
    opinion = PlainOpinion(*bounds, (counts / total).mean(axis=0)[None])
    assert ExpectedUtility().choose(opinion).tolist() == [[True, False]]
    assert Pignistic().choose(opinion).tolist() == [[False, True]]


@pytest.mark.parametrize("optimism", [-0.1, 1.1, float("nan")])
def test_an_optimism_outside_zero_and_one_is_refused(optimism):
    with pytest.raises(ValueError, match=r"optimism must lie in \[0, 1\]"):
        Hurwicz(optimism).choose(PlainOpinion([[0, 0]], [[1, 1]], [[0.5, 0.5]]))


@pytest.mark.parametrize(
    ("probability", "words"),
    [
        ([[0.5, np.nan]], r"probability must be finite, got \[0.5, nan\] in row 0"),
        ([0.5, 0.5], r"shape \(n, K\)"),
    ],
)
def test_a_probability_that_is_none_is_refused(probability, words):
    with pytest.raises(ValueError, match=words):
        ExpectedUtility().choose(PlainOpinion([[0, 0]], [[1, 1]], probability))
