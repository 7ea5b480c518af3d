"""Change: discounting, conditioning and distributions, by their definitions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.belief.masses.strategies import masses
from tests.reference import masses as slow

from hedgerow import belief as hb

SHARED = settings(max_examples=60, deadline=None, derandomize=True)
TENTHS = st.integers(0, 10).map(lambda tenth: Fraction(tenth, 10))


@SHARED
@given(m=masses(), rate=TENTHS)
def test_discounting_moves_the_rate_to_the_frame(m, rate):
    found = hb.discount_mass(slow.to_array(m), float(rate))
    np.testing.assert_allclose(found, slow.to_array(slow.discounted(m, rate)), rtol=0, atol=1e-15)


@SHARED
@given(m=masses(3), rates=st.lists(TENTHS, min_size=3, max_size=3))
def test_contextual_discounting_is_a_disjunction(m, rates):
    contexts = [frozenset({k}) for k in range(3)]
    exact = slow.to_array(slow.discounted_by_context(m, rates, contexts))
    np.testing.assert_allclose(
        hb.discount_by_context(slow.to_array(m), [float(rate) for rate in rates]), exact, rtol=0, atol=1e-15
    )


@SHARED
@given(m=masses(3), rates=st.lists(TENTHS, min_size=2, max_size=2))
def test_contexts_may_be_sets_of_classes(m, rates):
    exact = slow.to_array(slow.discounted_by_context(m, rates, [frozenset({0, 2}), frozenset({1})]))
    found = hb.discount_by_context(slow.to_array(m), [float(rate) for rate in rates], contexts=[0b101, 0b010])
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-15)


@SHARED
@given(m=masses(3), rate=TENTHS)
def test_one_context_of_all_classes_is_discounting(m, rate):
    mass = slow.to_array(m)
    found = hb.discount_by_context(mass, [float(rate)], contexts=[0b111])
    np.testing.assert_allclose(found, hb.discount_mass(mass, float(rate)), rtol=0, atol=1e-15)


def test_contextual_discounting_of_a_sensor():
    """Mercier, Quost and Denœux (2008): airplane, helicopter, rocket; reliable at .4 for airplanes, .9 otherwise."""
    found = hb.discount_by_context([0, 0.5, 0, 0, 0.5, 0, 0, 0], [0.6, 0.1], contexts=[0b001, 0b110])
    np.testing.assert_allclose(found, [0, 0.45, 0, 0, 0.18, 0.27, 0.02, 0.08], rtol=0, atol=1e-15)


def test_each_row_may_have_its_own_rate():
    mass = np.array([[0, 0.5, 0.5, 0], [0, 1.0, 0, 0]])
    found = hb.discount_mass(mass, [0.0, 0.5])
    np.testing.assert_allclose(found, [[0, 0.5, 0.5, 0], [0, 0.5, 0, 0.5]])
    rates = np.array([[0.0, 0.0], [0.0, 0.5]])
    np.testing.assert_allclose(hb.discount_by_context(mass, rates), [[0, 0.5, 0.5, 0], [0, 0.5, 0, 0.5]])


@SHARED
@given(m=masses(3), event=st.integers(1, 7))
def test_conditioning_intersects_with_the_event(m, event):
    exact = slow.conditioned(m, frozenset(k for k in range(3) if event >> k & 1))
    mass = slow.to_array(m)
    found = hb.condition_mass(mass, event, normalised=False)
    np.testing.assert_allclose(found, slow.to_array(exact), rtol=0, atol=1e-15)
    if exact[frozenset()] < 1:
        expected = slow.to_array(slow.normalised(exact))
        np.testing.assert_allclose(hb.condition_mass(mass, event), expected, rtol=1e-13)
    else:
        with pytest.raises(ValueError, match="total conflict"):
            hb.condition_mass(mass, event)


@SHARED
@given(m=masses())
def test_the_pignistic_distribution_shares_each_set_equally(m):
    mass = slow.to_array(m)
    if m[frozenset()] == 1:
        with pytest.raises(ValueError, match="total conflict"):
            hb.pignistic_from_mass(mass)
    else:
        expected = [float(p) for p in slow.pignistic(m)]
        np.testing.assert_allclose(hb.pignistic_from_mass(mass), expected, rtol=0, atol=1e-14)


@SHARED
@given(m=masses(normal=True))
def test_the_plausibility_transform_normalises_the_contour(m):
    mass = slow.to_array(m)
    exact = slow.plausibility(m)
    contour = [exact[frozenset({k})] for k in sorted(slow.frame(m))]
    np.testing.assert_allclose(hb.contour_from_mass(mass), [float(c) for c in contour], rtol=0, atol=1e-15)
    expected = [float(c / sum(contour)) for c in contour]
    found = hb.probability_from_plausibility(hb.plausibility_from_mass(mass))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-14)
    np.testing.assert_allclose(hb.probability_from_contour(hb.contour_from_mass(mass)), expected, rtol=0, atol=1e-14)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(parts=st.lists(st.integers(0, 10), min_size=1, max_size=5))
def test_the_mass_of_a_contour_is_nested_and_has_that_contour(parts):
    contour = np.array(parts) / 10
    mass = hb.mass_from_contour(contour)
    np.testing.assert_allclose(hb.contour_from_mass(mass), contour, rtol=0, atol=1e-15)
    assert mass[0] == pytest.approx(1 - contour.max(), abs=1e-15)
    focal = np.flatnonzero(mass)
    assert all(a & b in (a, b) for a in focal for b in focal)


def test_a_contour_may_have_leading_axes():
    contour = np.array([[[1.0, 0.5], [0.2, 1.0]]])
    assert hb.mass_from_contour(contour).tolist() == [[[0, 0.5, 0, 0.5], [0, 0, 0.8, 0.2]]]


@pytest.mark.parametrize(
    ("attempt", "complaint"),
    [
        (lambda: hb.discount_mass([0, 0, 0, 1], 1.2), r"rates must lie in \[0, 1\]"),
        (lambda: hb.discount_mass([0, 0, 0, 1], np.nan), r"rates must lie in \[0, 1\]"),
        (lambda: hb.discount_by_context([0, 0, 0, 1], [0.1]), "rates must have one value per context \\(2\\)"),
        (lambda: hb.discount_by_context([0, 0, 0, 1], [0.1], contexts=[4]), "contexts must be the bit mask"),
        (lambda: hb.condition_mass([0, 0, 0, 1], 0), "event must be the bit mask"),
        (lambda: hb.condition_mass([0, 0, 0, 1], 4), "event must be the bit mask"),
        (lambda: hb.probability_from_contour([0.0, 0.0]), "contour must be positive for at least one class"),
        (lambda: hb.probability_from_contour([-0.1, 1.0]), "contour must be finite and non-negative"),
        (lambda: hb.mass_from_contour([1.2, 0.1]), r"contour must lie in \[0, 1\]"),
        (lambda: hb.mass_from_contour(np.ones(17)), "contour must have 1 to 16"),
        (lambda: hb.subset_mask([16]), "classes must be integers"),
    ],
)
def test_what_makes_no_sense_is_refused(attempt, complaint):
    with pytest.raises(ValueError, match=complaint):
        attempt()
