"""Combination: rules by their definitions, in exact rationals, and the examples of the papers."""

from __future__ import annotations

import warnings
from fractions import Fraction
from importlib import import_module

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.belief.masses.strategies import masses, several
from tests.reference import masses as slow

from hedgerow.belief import (
    combine_masses,
    conjunctive_weights_from_mass,
    discount_mass,
    mass_from_conjunctive_weights,
    mass_rules,
    normalise_mass,
)
from hedgerow.belief.masses import frame
from hedgerow.belief.masses.combine import reciprocal_nodes

SHARED = settings(max_examples=60, deadline=None, derandomize=True)
ATOL = 1e-13
NEEDS = {
    "cautious": {"dogmatic": False},
    "tnorm": {"dogmatic": False},
    "bold": {"normal": False},
    "pcr6": {"normal": True},
}
DEFINITIONS = {
    "conjunctive": slow.conjunctive,
    "disjunctive": slow.disjunctive,
    "yager": slow.yager,
    "dubois_prade": slow.dubois_prade,
    "pcr6": slow.pcr6,
    "cautious": slow.cautious,
    "bold": slow.bold,
}


def options(rule: str) -> dict[str, float]:
    return {"dependence": 0.7} if rule == "tnorm" else {}


def arrays_of(given: list[slow.Mass]) -> np.ndarray:
    return np.array([slow.to_array(m) for m in given])


def random_masses(seed: int, n_sources: int, n_classes: int, n_rows: int = 3) -> np.ndarray:
    """Masses every rule accepts but PCR6 and bold: non-dogmatic, mass must be 0 on the empty set."""
    mass = np.random.default_rng(seed).dirichlet(np.full(1 << n_classes, 0.4), size=(n_sources, n_rows))
    mass[..., -1] += mass[..., 0] + 0.05
    mass[..., 0] = 0.0
    return mass / mass.sum(axis=-1, keepdims=True)


def masses_for(rule: str, seed: int, n_sources: int, n_classes: int, n_rows: int = 3) -> np.ndarray:
    mass = random_masses(seed, n_sources, n_classes, n_rows)
    if rule == "bold":
        mass[..., 0], mass[..., -1] = mass[..., -1], 0.0
    return mass


@pytest.mark.parametrize("rule", DEFINITIONS)
def test_a_rule_is_what_its_definition_says(rule):
    @SHARED
    @given(given_masses=several(least=1, **NEEDS.get(rule, {})))
    def check(given_masses):
        exact = slow.to_array(DEFINITIONS[rule](given_masses))
        np.testing.assert_allclose(combine_masses(arrays_of(given_masses), rule=rule), exact, rtol=0, atol=ATOL)

    check()


@SHARED
@given(given_masses=several(least=1))
def test_dempster_is_the_normalised_conjunction_or_refuses_total_conflict(given_masses):
    arrays = arrays_of(given_masses)
    if slow.conjunctive(given_masses)[frozenset()] == 1:
        with pytest.raises(ValueError, match="total conflict"):
            combine_masses(arrays)
    else:
        np.testing.assert_allclose(combine_masses(arrays), slow.to_array(slow.dempster(given_masses)), rtol=1e-12)


@SHARED
@given(given_masses=several(least=1, dogmatic=False), s=st.sampled_from([0.999, 0.75, 0.5, 0.1, 1e-3, 1e-6]))
def test_tnorm_is_franks_on_the_weights(given_masses, s):
    exact = slow.to_array(slow.tnorm(given_masses, s))
    found = combine_masses(arrays_of(given_masses), rule="tnorm", dependence=1 - s)
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-9)  # the reference takes 1 + x - 1 as it is written


@SHARED
@given(given_masses=several(), weights=st.lists(st.integers(0, 5), min_size=4, max_size=4).filter(lambda w: any(w[:2])))
def test_the_mean_weighs_its_sources(given_masses, weights):
    used = weights[: len(given_masses)]
    exact = slow.to_array(slow.mean(given_masses, used))
    found = combine_masses(arrays_of(given_masses), rule="mean", weights=used)
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-15)


@pytest.mark.parametrize("rule", mass_rules())
@pytest.mark.parametrize("n_classes", [1, 2, 4])
def test_a_combined_mass_is_a_mass(rule, n_classes):
    mass = combine_masses(masses_for(rule, 1, 4, n_classes), rule=rule, **options(rule))
    assert mass.shape == (3, 1 << n_classes)
    assert (mass >= 0).all()
    np.testing.assert_allclose(mass.sum(axis=1), 1.0, rtol=0, atol=1e-14)


@pytest.mark.parametrize("rule", mass_rules())
def test_the_order_of_sources_does_not_matter(rule):
    mass = masses_for(rule, 2, 4, 3)
    one, other = (combine_masses(part, rule=rule, **options(rule)) for part in (mass, mass[[2, 0, 3, 1]]))
    np.testing.assert_allclose(one, other, rtol=0, atol=ATOL)


@pytest.mark.parametrize("rule", ["bold", "cautious", "conjunctive", "dempster", "disjunctive", "tnorm"])
def test_associative_rules_may_go_pair_by_pair(rule):
    first, second, third = masses_for(rule, 3, 3, 3)
    whole = combine_masses([first, second, third], rule=rule, **options(rule))
    pair = combine_masses([first, second], rule=rule, **options(rule))
    np.testing.assert_allclose(combine_masses([pair, third], rule=rule, **options(rule)), whole, rtol=0, atol=ATOL)


@pytest.mark.parametrize("rule", ["yager", "dubois_prade", "pcr6"])
def test_rules_that_share_conflict_are_not_associative(rule):
    first, second, third = [0, 0.9, 0.1, 0], [0, 0.2, 0.8, 0], [0, 0.5, 0.1, 0.4]
    whole = combine_masses([first, second, third], rule=rule)
    pairs = combine_masses([combine_masses([first, second], rule=rule), third], rule=rule)
    assert np.abs(whole - pairs).max() > 0.01


@pytest.mark.parametrize("rule", ["cautious", "bold", "mean"])
def test_repeated_evidence_changes_nothing(rule):
    mass = masses_for(rule, 4, 1, 4)[0]
    np.testing.assert_allclose(combine_masses([mass, mass, mass], rule=rule), mass, rtol=0, atol=ATOL)


@pytest.mark.parametrize("rule", ["conjunctive", "dempster", "yager", "dubois_prade", "pcr6"])
def test_the_vacuous_mass_is_neutral_for_two(rule):
    mass, vacuous = random_masses(5, 1, 3)[0], np.eye(8)[-1]
    np.testing.assert_allclose(combine_masses([mass, vacuous], rule=rule), mass, rtol=0, atol=ATOL)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    parts=st.lists(st.lists(st.integers(1, 20), min_size=7, max_size=7), min_size=2, max_size=3),
    dependence=st.sampled_from([0.0, 1e-12, 1e-5, 0.3, 0.9, 1 - 1e-9, 1 - 1e-15, 1.0]),
)
def test_on_separable_masses_the_tnorm_lies_between_conjunctive_and_cautious(parts, dependence):
    weights = np.array([[*row, 20] for row in parts]) / 20
    mass = [mass_from_conjunctive_weights(row) for row in weights]
    found = combine_masses(mass, rule="tnorm", dependence=dependence)
    low, high = conjunctive_weights_from_mass(combine_masses(mass, rule="conjunctive")), weights.min(axis=0)
    between = conjunctive_weights_from_mass(found)
    assert (between >= low * (1 - 1e-9)).all()
    assert (between <= high * (1 + 1e-9)).all()
    if dependence in (0.0, 1e-12):
        np.testing.assert_allclose(found, combine_masses(mass, rule="conjunctive"), rtol=0, atol=1e-11)
    if dependence == 1:
        np.testing.assert_allclose(found, combine_masses(mass, rule="cautious"), rtol=0, atol=ATOL)


def test_the_tnorm_moves_steadily_to_caution():
    mass = [[0, 0.4, 0, 0.6], [0, 0.5, 0, 0.5]]
    left = [combine_masses(mass, rule="tnorm", dependence=d)[-1] for d in (0, 0.3, 0.9, 0.999, 1 - 1e-9, 1)]
    assert left[0] == pytest.approx(0.3)
    assert left[-1] == pytest.approx(0.5)
    assert (np.diff(left) > 0).all()


# ---- examples of the papers ----------------------------------------------------------------------------------


def test_cautious_example():
    """Denœux (2008), two masses on {a, b, c}."""
    m1, m2 = [0, 0, 0, 0.3, 0, 0, 0.5, 0.2], [0, 0, 0.3, 0, 0, 0, 0.4, 0.3]
    expected = [0, 0, 0.6, 0.12, 0, 0, 0.2, 0.08]
    np.testing.assert_allclose(combine_masses([m1, m2], rule="cautious"), expected, rtol=0, atol=1e-14)


ZADEH = np.array([[0, 0.9, 0.1, 0, 0, 0, 0, 0], [0, 0, 0.1, 0, 0.9, 0, 0, 0]])


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("dempster", {0b010: 1.0}),
        ("conjunctive", {0b000: 0.99, 0b010: 0.01}),
        ("yager", {0b010: 0.01, 0b111: 0.99}),
        ("dubois_prade", {0b010: 0.01, 0b011: 0.09, 0b101: 0.81, 0b110: 0.09}),
        ("pcr6", {0b001: 0.486, 0b010: 0.028, 0b100: 0.486}),
        ("mean", {0b001: 0.45, 0b010: 0.1, 0b100: 0.45}),
        ("disjunctive", {0b010: 0.01, 0b011: 0.09, 0b101: 0.81, 0b110: 0.09}),
    ],
)
def test_zadehs_example(rule, expected):
    mass = np.zeros(8)
    mass[list(expected)] = list(expected.values())
    np.testing.assert_allclose(combine_masses(ZADEH, rule=rule), mass, rtol=0, atol=1e-15)


def test_two_scores_of_the_combination_paper():
    """S1: s = .8, .8, -.98 -> conjunctive m(empty) = .9408 and the negative class; cautious .196 and .784."""
    mass = [[0, 0.8, 0, 0.2], [0, 0.8, 0, 0.2], [0, 0, 0.98, 0.02]]
    conjunctive = combine_masses(mass, rule="conjunctive")
    assert conjunctive[0] == pytest.approx(0.9408)
    assert conjunctive[2] > conjunctive[1]
    np.testing.assert_allclose(combine_masses(mass, rule="cautious")[[0, 2]], [0.784, 0.196], atol=1e-15)


# ---- numbers -------------------------------------------------------------------------------------------------


def test_strong_conflict_keeps_its_digits():
    """Sixty sources that contradict each other: the product of commonalities has long lost the answer."""
    sources = [[0, 0.9, 0, 0.1], [0, 0, 0.9, 0.1]] * 30
    exact = [slow.from_array([Fraction(part, 10) for part in parts]) for parts in ([0, 9, 0, 1], [0, 0, 9, 1])]
    expected = slow.vacuous(slow.frame_of(2))
    for _ in range(30):
        expected = slow.conjunctive([expected, *exact])
    np.testing.assert_allclose(combine_masses(sources), slow.to_array(slow.normalised(expected)), rtol=1e-12)


@pytest.mark.parametrize("total", [1e-7, 1e-4, 0.1, 1.0, 2.0, 7.0])
def test_the_nodes_of_pcr6_give_reciprocals(total):
    nodes, node_weights = np.transpose(reciprocal_nodes(7, 3))
    assert float(node_weights @ np.exp(-total * nodes)) == pytest.approx(1 / total, rel=1e-14)


def test_pcr6_shares_conflict_between_tiny_masses():
    """Down to masses whose reciprocals the nodes no longer give: their conflict is tinier still."""
    tiny = [Fraction(1, 10**power) for power in (4, 8, 12, 16)]
    one = slow.from_array([Fraction(0), tiny[0], tiny[2], Fraction(0), 1 - sum(tiny), tiny[1], tiny[3], Fraction(0)])
    other = slow.from_array([Fraction(0), tiny[2], 1 - sum(tiny), tiny[1], tiny[3], Fraction(0), tiny[0], Fraction(0)])
    exact = slow.to_array(slow.pcr6([one, other]))
    np.testing.assert_allclose(combine_masses(arrays_of([one, other]), rule="pcr6"), exact, rtol=1e-9, atol=1e-17)


def test_a_thousand_sources_do_not_underflow():
    mass = combine_masses([[0, 0.9, 0, 0.1], [0, 0, 0.9, 0.1]] * 500)
    np.testing.assert_allclose(mass[1:3], 0.5, rtol=1e-12)


@pytest.mark.parametrize("rule", ["conjunctive", "disjunctive", "dempster", "yager", "pcr6"])
def test_both_ways_to_multiply_agree(rule, monkeypatch):
    mass = random_masses(6, 3, 4)
    exact = combine_masses(mass, rule=rule)
    monkeypatch.setattr(frame, "EXACT_CLASSES", 0)
    np.testing.assert_allclose(combine_masses(mass, rule=rule), exact, rtol=0, atol=1e-13)


@pytest.mark.parametrize("rule", mass_rules())
def test_sixteen_classes_are_combined(rule):
    """Few focal sets on a large frame, as from leaves; the answer is that of the small frame they live on."""
    small = masses_for(rule, 7, 2, 2, n_rows=1)
    large = np.zeros((2, 1, 1 << 16))
    places = [0, 1 << 3, 1 << 9, (1 << 16) - 1] if rule != "bold" else [0, 1 << 3, 1 << 9, (1 << 3) | (1 << 9)]
    large[..., places] = small
    found = combine_masses(large, rule=rule, **options(rule))
    expected = np.zeros(1 << 16)
    expected[places] = combine_masses(small, rule=rule, **options(rule))[0]
    if rule in ("dubois_prade", "disjunctive"):  # the union of the two classes is no longer everything
        union = combine_masses(small, rule="conjunctive")[0, 0]
        expected[places[1] | places[2]] += union
        expected[places[-1]] -= union
    np.testing.assert_allclose(found[0], expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("rule", mass_rules())
def test_rows_do_not_influence_each_other(rule, monkeypatch):
    mass = masses_for(rule, 8, 3, 3, n_rows=7)
    whole = combine_masses(mass, rule=rule, **options(rule))
    monkeypatch.setattr(import_module("hedgerow.belief.masses.combine"), "CELLS", 50)
    np.testing.assert_allclose(combine_masses(mass, rule=rule, **options(rule)), whole, rtol=0, atol=1e-15)
    for row in range(7):
        alone = combine_masses(mass[:, row], rule=rule, **options(rule))
        np.testing.assert_allclose(alone, whole[row], rtol=0, atol=1e-15)


@pytest.mark.parametrize("rule", mass_rules())
def test_leading_axes_broadcast(rule):
    mass = masses_for(rule, 9, 2, 2, n_rows=6)
    one, other = mass[0, :2, None], mass[1, :3]
    combined = combine_masses([one, other], rule=rule, **options(rule))
    assert combined.shape == (2, 3, 4)
    single = combine_masses([one[1, 0], other[2]], rule=rule, **options(rule))
    np.testing.assert_allclose(combined[1, 2], single, rtol=0, atol=1e-15)
    assert combine_masses([np.empty((0, 4)), mass[0, 0]], rule=rule, **options(rule)).shape == (0, 4)


@pytest.mark.parametrize("rule", mass_rules())
def test_certain_and_vacuous_masses_warn_of_nothing(rule):
    kinds = {"bold": [0, 1, 3], "cautious": [3], "tnorm": [3], "dempster": [1, 3]}.get(rule, [1, 2, 3])
    certain = np.eye(4)[kinds]
    if rule == "bold":
        certain = 0.5 * certain + 0.5 * np.eye(4)[0]
    with warnings.catch_warnings(), np.errstate(all="raise", under="ignore"):
        warnings.simplefilter("error")
        mass = combine_masses(certain, rule=rule, **options(rule))
    assert mass.sum() == pytest.approx(1.0, abs=1e-15)


@SHARED
@given(m=masses(dogmatic=False, most_classes=3))
def test_cautious_with_less_committed_evidence_is_no_news(m):
    mass = slow.to_array(m)
    weights = conjunctive_weights_from_mass(mass)
    if (weights <= 1 + 1e-12).all():
        found = combine_masses([mass, discount_mass(mass, 0.0), np.eye(len(mass))[-1]], rule="cautious")
        np.testing.assert_allclose(found, mass, rtol=0, atol=ATOL)


# ---- refusals ------------------------------------------------------------------------------------------------

M = [0.0, 0.5, 0.0, 0.5]


@pytest.mark.parametrize(
    ("given_masses", "options", "complaint"),
    [
        ([[0, 1, 0, 0], [0, 0, 1, 0]], {}, "total conflict"),
        ([M, [0, 0.5, 0, 0, 0, 0, 0, 0.5]], {}, "masses must be over the same classes"),
        ([np.tile(M, (2, 1)), np.tile(M, (3, 1))], {}, "leading axes that broadcast"),
        ([], {}, "at least one mass"),
        ([M, [0.0, 0.5, 0.0, 0.4]], {}, "mass must sum to 1"),
        ([M, [0.0, 1.5, -0.5, 0.0]], {}, "mass must not be negative"),
        (M, {}, r"mass must have 2\^K entries"),
        ([M, M], {"rule": "smets"}, "rule must be one of bold, cautious"),
        ([M, [0, 1, 0, 0]], {"rule": "cautious"}, "non-dogmatic"),
        ([M, [0, 1, 0, 0]], {"rule": "tnorm", "dependence": 0.5}, "non-dogmatic"),
        ([M, M], {"rule": "bold"}, "mass on the empty set"),
        ([M, [0.5, 0.5, 0, 0]], {"rule": "pcr6"}, "mass must be 0 on the empty set"),
        ([M, M], {"rule": "tnorm"}, "dependence must lie"),
        ([M, M], {"rule": "tnorm", "dependence": 1.5}, "dependence must lie"),
        ([M, M], {"dependence": 0.5}, "dependence must be None"),
        ([M, M], {"weights": [1, 2]}, "weights must be None"),
        ([M, M], {"rule": "mean", "weights": [1, 2, 3]}, "weights must be 2 finite"),
        ([M, M], {"rule": "mean", "weights": [0, 0]}, "not all zero"),
    ],
)
def test_what_cannot_be_combined_is_refused(given_masses, options, complaint):
    with pytest.raises(ValueError, match=complaint):
        combine_masses(given_masses, **options)


def test_too_many_focal_sets_for_dubois_prade_are_refused(monkeypatch):
    monkeypatch.setattr(import_module("hedgerow.belief.masses.combine"), "MOST_PAIRS", 10)
    with pytest.raises(ValueError, match="fewer focal sets"):
        combine_masses(random_masses(10, 2, 3), rule="dubois_prade")


def test_normalising_divides_conflict_out():
    np.testing.assert_allclose(normalise_mass([0.2, 0.4, 0, 0.4]), [0, 0.5, 0, 0.5])
    with pytest.raises(ValueError, match="total conflict"):
        normalise_mass([1, 0, 0, 0])
