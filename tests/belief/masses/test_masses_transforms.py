"""Transforms: every function that stands for a mass, by its definition and back again."""

from __future__ import annotations

import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.belief.masses.strategies import masses
from tests.reference import masses as slow

from hedgerow import belief as hb

SHARED = settings(max_examples=60, deadline=None, derandomize=True)
PAIRS = {
    "belief": (hb.belief_from_mass, hb.mass_from_belief, slow.belief),
    "implicability": (hb.implicability_from_mass, hb.mass_from_implicability, slow.implicability),
    "plausibility": (hb.plausibility_from_mass, hb.mass_from_plausibility, slow.plausibility),
    "commonality": (hb.commonality_from_mass, hb.mass_from_commonality, slow.commonality),
}
every_function = pytest.mark.parametrize("name", PAIRS)


@every_function
@SHARED
@given(m=masses())
def test_a_function_is_what_its_definition_sums(name, m):
    there, _, definition = PAIRS[name]
    np.testing.assert_allclose(there(slow.to_array(m)), slow.to_array(definition(m)), rtol=0, atol=1e-14)


@every_function
@SHARED
@given(m=masses())
def test_the_way_back_leads_to_the_mass(name, m):
    there, back, definition = PAIRS[name]
    mass = slow.to_array(m)
    np.testing.assert_allclose(back(slow.to_array(definition(m))), mass, rtol=0, atol=1e-14)
    np.testing.assert_allclose(back(there(mass)), mass, rtol=0, atol=1e-14)


@every_function
@pytest.mark.parametrize("n_classes", [1, 2, 9, 16])
def test_round_trips_hold_up_to_sixteen_classes(name, n_classes):
    there, back, _ = PAIRS[name]
    mass = np.random.default_rng(n_classes).dirichlet(np.full(1 << n_classes, 0.3), size=2)
    np.testing.assert_allclose(back(there(mass)), mass, rtol=0, atol=1e-12)


@every_function
def test_leading_axes_are_transformed_row_by_row(name):
    there, back, _ = PAIRS[name]
    mass = np.random.default_rng(0).dirichlet(np.ones(8), size=(2, 3))
    values = there(mass)
    assert values.shape == mass.shape
    for row in np.ndindex(2, 3):
        np.testing.assert_array_equal(values[row], there(mass[row]))
        np.testing.assert_array_equal(back(values)[row], back(values[row]))
    assert there(np.empty((0, 4))).shape == (0, 4)


def test_the_mass_given_is_left_as_it_is():
    mass = np.array([0.1, 0.2, 0.3, 0.4])
    kept = mass.copy()
    for there, _, _ in PAIRS.values():
        there(mass)
    hb.condition_mass(mass, 1)
    hb.combine_masses([mass], rule="conjunctive")[0] = 5.0
    np.testing.assert_array_equal(mass, kept)


@SHARED
@given(m=masses(most_classes=3, dogmatic=False))
def test_conjunctive_weights_are_those_of_the_definition(m):
    exact = slow.conjunctive_weights(m)
    found = hb.conjunctive_weights_from_mass(slow.to_array(m))
    np.testing.assert_allclose(found, slow.to_array(exact), rtol=1e-12)
    np.testing.assert_allclose(hb.mass_from_conjunctive_weights(found), slow.to_array(m), rtol=0, atol=1e-13)


@SHARED
@given(m=masses(most_classes=3, normal=False))
def test_disjunctive_weights_are_those_of_the_definition(m):
    exact = slow.disjunctive_weights(m)
    found = hb.disjunctive_weights_from_mass(slow.to_array(m))
    np.testing.assert_allclose(found, slow.to_array(exact), rtol=1e-12)
    np.testing.assert_allclose(hb.mass_from_disjunctive_weights(found), slow.to_array(m), rtol=0, atol=1e-13)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(parts=st.lists(st.integers(1, 20), min_size=8, max_size=8))
def test_any_weights_up_to_one_are_the_simple_masses_they_say(parts):
    weights = slow.from_array([Fraction(part, 20) for part in parts])
    there = hb.mass_from_conjunctive_weights(slow.to_array(weights))
    np.testing.assert_allclose(there, slow.to_array(slow.mass_from_conjunctive_weights(weights)), rtol=0, atol=1e-15)
    assert there.sum() == pytest.approx(1.0, abs=1e-14)


def test_weights_of_the_cautious_rules_paper():
    """Denœux (2008): m({a,b}) = .3, m({b,c}) = .5 has w({b}) = 7/4, so it is not separable."""
    weights = hb.conjunctive_weights_from_mass([0, 0, 0, 0.3, 0, 0, 0.5, 0.2])
    np.testing.assert_allclose(weights, [1, 1, 7 / 4, 2 / 5, 1, 1, 2 / 7, 1], rtol=1e-14)


@pytest.mark.parametrize("support", [1e-3, 1e-9, 1e-13])
def test_weak_evidence_is_not_taken_for_rounding(support):
    weights = hb.conjunctive_weights_from_mass([0, support, 0, 0, 0, 0, 0, 1 - support])
    assert 1 - weights[1] == pytest.approx(support, rel=1e-2)
    assert (np.delete(weights, 1) == 1).all()


def test_weights_of_nearly_dogmatic_masses_warn_of_nothing():
    mass = np.array([[0.0, 0.5, 0.5 - 1e-300, 1e-300], [0.0, 0.0, 0.0, 1.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        weights = hb.conjunctive_weights_from_mass(mass)
    assert (weights[1] == 1).all()
    assert weights[0, 1] == pytest.approx(2e-300)


def test_functions_that_stand_for_no_mass_have_negative_ones():
    assert hb.mass_from_belief([0.0, 0.7, 0.7, 1.0])[3] == pytest.approx(-0.4)


@pytest.mark.parametrize(
    ("function", "values", "complaint"),
    [
        (hb.belief_from_mass, [0.5, 0.5, 0.1, 0.0], "mass must sum to 1"),
        (hb.belief_from_mass, [0.0, 1.5, -0.5, 0.0], "mass must not be negative"),
        (hb.belief_from_mass, [0.0, 1.0, 0.0], r"mass must have 2\^K entries"),
        (hb.belief_from_mass, 1.0, r"mass must have 2\^K entries"),
        (hb.belief_from_mass, [1.0], r"mass must have 2\^K entries"),
        (hb.belief_from_mass, np.eye(1, 1 << 17)[0], r"K from 1 to 16"),
        (hb.belief_from_mass, [0.0, np.nan, 0.0, 1.0], "mass must be finite"),
        (hb.mass_from_belief, [0.1, 0.3, 0.4, 1.0], "belief of the empty set must be 0"),
        (hb.mass_from_plausibility, [0.1, 0.3, 0.4, 1.0], "plausibility of the empty set must be 0"),
        (hb.mass_from_commonality, [0.9, 0.3, 0.4, 0.1], "commonality of the empty set must be 1"),
        (hb.mass_from_implicability, [0.1, 0.3, 0.4, 0.9], "implicability of the frame must be 1"),
        (hb.conjunctive_weights_from_mass, [0.0, 0.5, 0.5, 0.0], "mass must be non-dogmatic"),
        (hb.disjunctive_weights_from_mass, [0.0, 0.5, 0.0, 0.5], "mass must be positive on the empty set"),
        (hb.mass_from_conjunctive_weights, [1.0, 0.0, 1.0, 1.0], "weights must be positive"),
    ],
)
def test_what_is_no_such_function_is_refused(function, values, complaint):
    with pytest.raises(ValueError, match=complaint):
        function(values)


def test_rounding_is_not_held_against_a_mass():
    single = np.random.default_rng(3).dirichlet(np.ones(1024), size=50).astype(np.float32)
    np.testing.assert_allclose(hb.belief_from_mass(single)[:, -1], 1 - single[:, 0], rtol=0, atol=1e-7)
    np.testing.assert_allclose(hb.combine_masses([single] * 3, rule="conjunctive").sum(axis=1), 1.0, rtol=0, atol=1e-8)
    assert (hb.belief_from_mass([0.0, 1.0 + 1e-12, -1e-12, 0.0]) >= 0).all()
