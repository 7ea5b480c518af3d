"""Sets of the largest expected utility, credible sets, and sets the rule has chosen."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.decisions.strategies import raw_bounds
from tests.reference.decide import PlainOpinion, best_worth

from hedgerow import combine
from hedgerow.decisions import (
    Dominance,
    RuleChoice,
    TopProbability,
    UtilitySet,
    f_beta_utility,
    pignistic_from_bounds,
    quadratic_utility,
    reachable,
)
from hedgerow.rules import CdmAve

UTILITIES = {
    "u65": (UtilitySet("u65"), lambda k: 1.6 / k - 0.6 / k**2),
    "u80": (UtilitySet("u80"), lambda k: 2.2 / k - 1.2 / k**2),
    "f1": (UtilitySet("f_beta"), lambda k: 2 / (1 + k)),
    "f2": (UtilitySet("f_beta", beta=2.0), lambda k: 5 / (4 + k)),
    "callable": (UtilitySet(lambda k: k**-0.7), lambda k: k**-0.7),
    "array": (UtilitySet(np.array([1, 0.9, 0.4, 0.35, 0.3])), lambda k: [1, 0.9, 0.4, 0.35, 0.3][k - 1]),
}


def opinion_of(bounds: tuple[np.ndarray, np.ndarray]) -> PlainOpinion:
    """Bounds -> an opinion whose probability is the pignistic one."""
    return PlainOpinion(*bounds, pignistic_from_bounds(*reachable(*bounds)))


def precise(*rows: list[float]) -> PlainOpinion:
    """Probabilities -> the opinion that is sure of them."""
    return PlainOpinion(list(rows), list(rows), list(rows))


@pytest.mark.parametrize("evidence", ["probability", "lower"])
@pytest.mark.parametrize("name", UTILITIES)
@settings(max_examples=30)
@given(bounds=raw_bounds())
def test_no_set_is_worth_more_and_no_smaller_one_as_much(name, evidence, bounds):
    decision, utility = UTILITIES[name]
    opinion, n_classes = opinion_of(bounds), bounds[0].shape[1]
    if name == "array":
        decision = UtilitySet(decision.utility[:n_classes])
    sizes = [utility(k) for k in range(1, n_classes + 1)]
    chosen = UtilitySet(decision.utility, evidence, decision.beta).choose(opinion)
    weight = opinion.probability if evidence == "probability" else reachable(*bounds)[0]
    for row, members in enumerate(chosen):
        worth = best_worth(sizes, weight[row], frame_is_sure=evidence == "lower")
        best = max(worth.values())
        assert worth[tuple(np.nonzero(members)[0])] == pytest.approx(best, abs=1e-11)
        assert members.sum() == min(len(A) for A, value in worth.items() if value >= best - 1e-13)


def test_u65_doubts_between_two_classes_below_sixty_five_percent():
    opinion = precise([0.64, 0.36], [0.65, 0.35], [0.35, 0.65], [0.5, 0.5])
    expected = [[True, True], [True, False], [False, True], [True, True]]
    assert UtilitySet("u65").choose(opinion).tolist() == expected


def test_lower_evidence_doubts_unless_the_lower_probability_is_high():
    opinion = PlainOpinion([[0.66, 0.1], [0.64, 0.1]], [[0.9, 0.34], [0.9, 0.36]], [[0.8, 0.2], [0.8, 0.2]])
    assert UtilitySet("u65", evidence="lower").choose(opinion).tolist() == [[True, False], [True, True]]
    assert UtilitySet("u65").choose(opinion).tolist() == [[True, False], [True, False]]


def test_classes_of_equal_lower_probability_enter_by_probability():
    opinion = PlainOpinion([[0.45, 0.0, 0.0]], [[1.0, 0.5, 0.55]], [[0.5, 0.1, 0.4]])
    pair_is_worth_as_much_as_one = UtilitySet([1.0, 1.01, 0.2], evidence="lower")
    assert pair_is_worth_as_much_as_one.choose(opinion).tolist() == [[True, False, True]]


@pytest.mark.parametrize(
    ("decision", "words"),
    [
        (UtilitySet("u70"), r"'f_beta'\), a function of the set size or an array, got 'u70'"),
        (UtilitySet([1.0, 0.5]), "3 finite non-negative numbers"),
        (UtilitySet([1.0, 0.5, -0.1]), "non-negative"),
        (UtilitySet(lambda size: float("nan")), "3 finite non-negative numbers"),
        (UtilitySet(evidence="upper"), "evidence must be 'probability' or 'lower', got 'upper'"),
        (UtilitySet("f_beta", beta=-1), "beta must be finite and non-negative, got -1"),
        (TopProbability(1.5), r"epsilon must lie in \[0, 1\], got 1.5"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(decision, words):
    with pytest.raises(ValueError, match=words):
        decision.choose(precise([0.5, 0.3, 0.2]))


@settings(max_examples=60)
@given(raw_bounds(), st.sampled_from([0.0, 0.05, 0.25, 0.5, 1.0]))
def test_top_probability_is_the_smallest_set_that_is_probable_enough(bounds, epsilon):
    opinion = opinion_of(bounds)
    for probability, members in zip(opinion.probability, TopProbability(epsilon).choose(opinion), strict=True):
        ordered = np.sort(probability)[::-1]
        size = members.sum()
        assert probability[members].sum() == pytest.approx(ordered[:size].sum(), abs=1e-12)
        assert probability[members].sum() >= 1 - epsilon - 1e-11
        assert size == 1 or ordered[: size - 1].sum() < 1 - epsilon - 1e-13


def test_top_probability_counts_reached_to_rounding_as_reached():
    assert 0.7 + 0.1 + 0.1 < 0.9
    assert TopProbability(0.1).choose(precise([0.7, 0.1, 0.1, 0.1])).tolist() == [[True, True, True, False]]


def test_top_probability_of_everything_is_everything_that_is_possible():
    assert TopProbability(0.0).choose(precise([0.0, 0.25, 0.75])).tolist() == [[False, True, True]]


def test_top_probability_takes_every_class_where_rounded_probabilities_sum_to_less():
    rounded = np.array([[0.6, 0.3, 0.1 - 1e-7]], dtype=np.float32)
    assert rounded.astype(float).sum() < 1 - 1e-8
    assert TopProbability(0.0).choose(PlainOpinion(rounded, rounded, rounded)).all()


def test_rule_takes_the_sets_of_the_rule():
    opinion = PlainOpinion([[0.9, 0.0]], [[1.0, 0.1]], [[0.95, 0.05]], chosen=[[False, True]])
    assert RuleChoice().choose(opinion).tolist() == [[False, True]]
    assert Dominance().choose(opinion).tolist() == [[True, False]]


def test_rule_is_dominance_where_the_rule_leaves_no_sets():
    opinion = PlainOpinion([[0.9, 0.0], [0.1, 0.1]], [[1.0, 0.1], [0.9, 0.9]], [[0.95, 0.05], [0.5, 0.5]])
    assert RuleChoice().choose(opinion).tolist() == [[True, False], [True, True]]


def test_rule_hands_out_a_copy():
    opinion = PlainOpinion([[0, 0]], [[1, 1]], [[0.5, 0.5]], chosen=np.array([[True, False]]))
    RuleChoice().choose(opinion)[:] = True
    assert opinion.chosen.tolist() == [[True, False]]


def test_rule_refuses_empty_sets():
    opinion = PlainOpinion([[0, 0]], [[1, 1]], [[0.5, 0.5]], chosen=[[False, False]])
    with pytest.raises(ValueError, match="at least one class per row"):
        RuleChoice().choose(opinion)


@pytest.mark.parametrize("z", [0.5, 0.65, 0.8])
def test_quadratic_utility_is_zero_z_and_one(z):
    np.testing.assert_allclose(quadratic_utility([0, 0.5, 1], z), [0, z, 1], atol=1e-15)


def test_utilities_of_sizes_are_those_printed():
    sizes = np.arange(1, 9)
    np.testing.assert_allclose(quadratic_utility(1 / sizes, 0.65), 1.6 / sizes - 0.6 / sizes**2, rtol=1e-14)
    np.testing.assert_allclose(quadratic_utility(1 / sizes, 0.80), 2.2 / sizes - 1.2 / sizes**2, rtol=1e-14)
    np.testing.assert_allclose(f_beta_utility(sizes, 1), 2 / (1 + sizes), rtol=1e-15)
    np.testing.assert_allclose(f_beta_utility(sizes, 0), 1 / sizes, rtol=1e-15)


def test_rules_and_decisions_take_the_same_utilities() -> None:
    """A function of one size, an array, a name: CDM-Ave decides as the decision of the same worth does."""
    counts = np.random.default_rng(0).integers(0, 4, (50, 7, 3)) + 1

    def worth(size: int) -> float:
        return 1.0 if size == 1 else 0.7

    for utility in (worth, [1.0, 0.7, 0.7], "u80", "f1"):
        opinion = combine(counts, CdmAve(utility=utility))
        assert (opinion.chosen == UtilitySet(utility, evidence="lower").choose(opinion)).all()
    for made in (CdmAve(utility=lambda size: -size), CdmAve(utility="f2"), CdmAve(utility=[1.0])):
        with pytest.raises(ValueError, match="utility must be"):
            combine(counts, made)
