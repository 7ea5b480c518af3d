"""Dominance, maximality and E-admissibility: definitions, laws and the order between them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.decisions.strategies import raw_bounds
from tests.reference import decide as slow
from tests.reference.decide import PlainOpinion, baseline_of_cautious_forests

from hedgerow import decide
from hedgerow.decisions import Dominance, EAdmissibility, Maximality
from hedgerow.decisions.credal import BLOCK

CREDAL = [Dominance, Maximality, EAdmissibility]


def opinion_of(lower: np.ndarray, upper: np.ndarray) -> PlainOpinion:
    """(n, K), (n, K) -> an opinion whose probability plays no part."""
    return PlainOpinion(lower, upper, np.full(np.shape(lower), 1 / np.shape(lower)[1]))


@st.composite
def bounds_and_utility(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """-> (n, K), (n, K), (A, K): bounds and what some actions are worth."""
    lower, upper = draw(raw_bounds(n_rows=2))
    n_actions = draw(st.integers(1, 4))
    worth = st.lists(st.integers(-3, 3), min_size=lower.shape[1], max_size=lower.shape[1])
    return lower, upper, np.array([draw(worth) for _ in range(n_actions)], dtype=float)


@st.composite
def averaged_leaves(draw: st.DrawFn) -> PlainOpinion:
    """-> the averaged bounds of the imprecise Dirichlet leaves of a few trees, one row."""
    n_classes = draw(st.integers(2, 5))
    leaf = st.lists(st.integers(0, 6), min_size=n_classes, max_size=n_classes)
    counts = np.array(draw(st.lists(leaf, min_size=1, max_size=4)))
    caution = draw(st.sampled_from([0.5, 1.0, 2.0, 5.0]))
    total = counts.sum(axis=1, keepdims=True) + caution
    return opinion_of((counts / total).mean(axis=0)[None], ((counts + caution) / total).mean(axis=0)[None])


@settings(max_examples=150)
@given(raw_bounds())
def test_admissible_classes_are_maximal_and_maximal_ones_undominated(bounds):
    opinion = opinion_of(*bounds)
    dominance, maximality, admissibility = (decide(opinion, make()) for make in CREDAL)
    assert not (admissibility & ~maximality).any()
    assert not (maximality & ~dominance).any()
    assert admissibility.any(axis=1).all()


@settings(max_examples=40)
@given(bounds_and_utility())
def test_admissible_actions_are_maximal_and_maximal_ones_undominated(case):
    lower, upper, utility = case
    dominance, maximality, admissibility = (decide(opinion_of(lower, upper), make(utility)) for make in CREDAL)
    assert not (admissibility & ~maximality).any()
    assert not (maximality & ~dominance).any()
    assert admissibility.any(axis=1).all()


@settings(max_examples=150)
@given(averaged_leaves())
def test_the_three_agree_on_averages_of_imprecise_dirichlet_leaves(opinion):
    dominance, maximality, admissibility = (decide(opinion, make()) for make in CREDAL)
    assert np.array_equal(dominance, maximality)
    assert np.array_equal(maximality, admissibility)


def test_a_class_can_be_undominated_and_yet_never_optimal():
    opinion = opinion_of(np.array([[0.2, 0.2, 0.1]]), np.array([[0.7, 0.7, 0.25]]))
    assert Maximality().choose(opinion).tolist() == [[True, True, True]]
    assert EAdmissibility().choose(opinion).tolist() == [[True, True, False]]


def test_an_action_can_be_undominated_and_yet_surely_worse_than_another():
    opinion = opinion_of(np.array([[0.1, 0.1]]), np.array([[0.9, 0.9]]))
    utility = [[1.0, 0.0], [0.9, -0.1]]
    assert Dominance(utility).choose(opinion).tolist() == [[True, True]]
    assert Maximality(utility).choose(opinion).tolist() == [[True, False]]


def test_a_hedging_action_can_be_maximal_and_yet_never_optimal():
    opinion = opinion_of(np.zeros((1, 2)), np.ones((1, 2)))
    utility = [[1.0, 0.0], [0.0, 1.0], [0.45, 0.45]]
    assert Maximality(utility).choose(opinion).tolist() == [[True, True, True]]
    assert EAdmissibility(utility).choose(opinion).tolist() == [[True, True, False]]


@settings(max_examples=25)
@given(raw_bounds(n_rows=1))
def test_closed_forms_equal_their_definitions_by_linear_programme(bounds):
    opinion, each = opinion_of(*bounds), np.eye(bounds[0].shape[1])
    for make, definition in zip(CREDAL, [slow.undominated, slow.maximal, slow.admissible], strict=True):
        expected = [definition(each, *row) for row in zip(*bounds, strict=True)]
        assert make().choose(opinion).tolist() == np.array(expected).tolist()


@settings(max_examples=25)
@given(bounds_and_utility())
def test_decisions_with_a_utility_equal_their_definitions_by_linear_programme(case):
    lower, upper, utility = case
    for make, definition in zip(CREDAL, [slow.undominated, slow.maximal, slow.admissible], strict=True):
        expected = [definition(utility, *row) for row in zip(lower, upper, strict=True)]
        assert make(utility).choose(opinion_of(lower, upper)).tolist() == np.array(expected).tolist()


@pytest.mark.parametrize("make", CREDAL)
@settings(max_examples=40)
@given(bounds=raw_bounds())
def test_the_identity_is_the_utility_of_no_utility(make, bounds):
    opinion = opinion_of(*bounds)
    assert np.array_equal(make(np.eye(bounds[0].shape[1])).choose(opinion), make().choose(opinion))


def hard_bounds(n_rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """n -> (n, 4), (n, 4), (7, 4): four actions, and three hedges between them that are never best."""
    random = np.random.default_rng(5)
    centre = random.dirichlet(np.full(4, 3.0), size=n_rows)
    reach = random.uniform(0.1, 0.4, size=(n_rows, 4))
    pure = np.eye(4) + random.uniform(0, 0.2, size=(4, 4))
    hedged = (pure[:-1] + pure[1:]) / 2 - 0.01
    return np.maximum(centre - reach, 0), np.minimum(centre + reach, 1), np.vstack([pure, hedged])


def test_rows_answered_in_one_programme_are_answered_as_if_alone():
    lower, upper, utility = hard_bounds(2 * BLOCK)
    together = EAdmissibility(utility).choose(opinion_of(lower, upper))
    asked = Maximality(utility).choose(opinion_of(lower, upper)).sum() - together.sum()
    assert asked > BLOCK, "the case must need more than one block"
    for row in range(0, len(lower), 16):
        alone = slow.admissible(utility, lower[row], upper[row])
        assert together[row].tolist() == alone.tolist()


def test_utilities_may_have_any_scale():
    lower, upper, utility = hard_bounds(40)
    plain = EAdmissibility(utility).choose(opinion_of(lower, upper))
    for scaled in (1e-9 * utility, 1e9 * utility, 1e4 + utility):
        assert np.array_equal(EAdmissibility(scaled).choose(opinion_of(lower, upper)), plain)


def test_there_may_be_more_actions_than_classes():
    reject = [[1.0, 0.0], [0.0, 1.0], [0.8, 0.8]]
    opinion = opinion_of(np.array([[0.9, 0.0], [0.5, 0.3]]), np.array([[1.0, 0.1], [0.7, 0.5]]))
    for make in CREDAL:
        assert make(reject).choose(opinion).tolist() == [[True, False, False], [False, False, True]]


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=5),
    st.sampled_from([1.0, 2.0, 3.0, 5.0]),
)
def test_two_classes_are_decided_as_in_cautious_forests(leaves, caution):
    counts = np.array(leaves)
    total = counts.sum(axis=1, keepdims=True) + caution
    lower, upper = (counts / total).mean(axis=0), ((counts + caution) / total).mean(axis=0)
    expected = baseline_of_cautious_forests(round(lower[1], 13), round(upper[1], 13))
    assert Dominance().choose(opinion_of(lower[None], upper[None])).tolist() == [expected]


def test_at_exactly_one_half_both_classes_remain():
    opinion = opinion_of(
        np.array([[0.25, 0.5], [0.5, 0.25], [0.5, 0.5]]), np.array([[0.5, 0.75], [0.75, 0.5], [0.5, 0.5]])
    )
    for make in CREDAL:
        assert make().choose(opinion).all()


def test_a_hair_beyond_one_half_one_class_remains():
    opinion = opinion_of(np.array([[0.25, 0.5 + 1e-9]]), np.array([[0.5 - 1e-9, 0.75]]))
    for make in CREDAL:
        assert make().choose(opinion).tolist() == [[False, True]]


@pytest.mark.parametrize("make", CREDAL)
def test_rounding_breaks_no_tie(make):
    tenths = np.array([[0.1 + 0.2, 0.3, 0.4 - 0.1, 0.1]])
    assert len(set(tenths[0, :3])) > 1, "the case must hold rounding noise"
    assert make().choose(opinion_of(tenths, tenths)).tolist() == [[True, True, True, False]]


@pytest.mark.parametrize("make", CREDAL)
def test_precise_opinions_keep_the_most_probable_class(make):
    probability = np.random.default_rng(2).dirichlet(np.ones(6), size=300)
    chosen = make().choose(opinion_of(probability, probability))
    assert np.array_equal(chosen, np.arange(6) == probability.argmax(axis=1)[:, None])


@pytest.mark.parametrize("make", CREDAL)
def test_float32_opinions_never_lose_every_class(make):
    probability = np.random.default_rng(3).dirichlet(np.ones(100), size=300).astype(np.float32)
    chosen = make().choose(opinion_of(probability, probability))
    assert np.array_equal(chosen, np.arange(100) == probability.argmax(axis=1)[:, None])


@pytest.mark.parametrize("make", CREDAL)
def test_a_vacuous_opinion_keeps_every_class(make):
    assert make().choose(opinion_of(np.zeros((3, 200)), np.ones((3, 200)))).all()


@pytest.mark.parametrize("make", CREDAL)
@pytest.mark.parametrize("utility", [None, [[1.0, 0.0], [0.0, 2.0]]])
def test_no_rows_give_no_decisions(make, utility):
    chosen = make(utility).choose(opinion_of(np.empty((0, 2)), np.empty((0, 2))))
    assert chosen.shape == (0, 2)
    assert chosen.dtype == bool


@pytest.mark.parametrize(
    ("utility", "words"),
    [
        ([1.0, 0.0], r"utility must have the shape \(actions, 2\)"),
        (np.eye(3), r"one column per class, got \(3, 3\)"),
        ([[1.0, np.inf]], "utility must be finite"),
    ],
)
@pytest.mark.parametrize("make", CREDAL)
def test_a_utility_that_does_not_fit_is_refused(make, utility, words):
    with pytest.raises(ValueError, match=words):
        make(utility).choose(opinion_of(np.zeros((1, 2)), np.ones((1, 2))))


def test_one_row_without_its_axis_is_refused():
    with pytest.raises(ValueError, match=r"lower must have the shape \(n, K\), got \(2,\)"):
        decide(PlainOpinion([0.2, 0.3], [0.7, 0.8], [0.4, 0.6]))
