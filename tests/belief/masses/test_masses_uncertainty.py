"""Uncertainty and distance: by their definitions, and the examples of the papers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.belief.masses.strategies import masses, several
from tests.reference import masses as slow

from hedgerow import belief as hb

SHARED = settings(max_examples=60, deadline=None, derandomize=True)
MEASURES = {
    "non-specificity": (hb.non_specificity, slow.non_specificity),
    "discord": (hb.discord, slow.discord),
    "Deng entropy": (hb.deng_entropy, slow.deng),
}


@pytest.mark.parametrize("name", MEASURES)
@SHARED
@given(m=masses(normal=True))
def test_a_measure_is_what_its_definition_sums(name, m):
    found, definition = MEASURES[name]
    assert found(slow.to_array(m)) == pytest.approx(definition(m), abs=1e-13)


@SHARED
@given(m=masses(normal=True), lam=st.sampled_from([0.0, 0.3, 1.0]))
def test_total_uncertainty_weighs_the_two(m, lam):
    expected = (1 - lam) * slow.non_specificity(m) + lam * slow.discord(m)
    assert hb.total_uncertainty(slow.to_array(m), lam) == pytest.approx(expected, abs=1e-13)


@pytest.mark.parametrize("name", MEASURES)
def test_certainty_has_no_uncertainty_and_measures_take_rows(name):
    measure, _ = MEASURES[name]
    assert measure(np.eye(8)[[1, 2, 4]]).tolist() == [0, 0, 0]
    with pytest.raises(ValueError, match=f"must be 0 on the empty set for {name}"):
        measure([0.5, 0.5, 0, 0])
    assert np.isfinite(measure([1e-12, 0.5, 0.5, 0]))


def test_deng_entropy_of_the_paper():
    """Deng (2016): the vacuous mass on three classes, and the mass that is the same on all seven sets."""
    mass = np.array([[0, 0, 0, 0, 0, 0, 0, 1], [0, *[1 / 7] * 7]])
    np.testing.assert_allclose(hb.deng_entropy(mass), [2.8074, 3.8877], atol=5e-5)


@pytest.mark.parametrize("lam", [-0.1, 1.1, float("nan")])
def test_the_share_of_discord_must_be_a_share(lam):
    with pytest.raises(ValueError, match="lam must lie"):
        hb.total_uncertainty([0, 0, 0, 1], lam)
    with pytest.raises(ValueError, match="lam must lie"):
        hb.total_uncertainty_from_counts([1, 2], lam)


@SHARED
@given(pair=several(least=2, most=2, most_classes=4))
def test_the_distance_is_jousselmes(pair):
    one, other = map(slow.to_array, pair)
    expected = slow.jousselme(*pair)
    assert hb.jousselme_distance(one, other) == pytest.approx(expected, abs=1e-14)
    assert hb.jousselme_distance(other, one) == hb.jousselme_distance(one, other)
    assert hb.jousselme_distance(one, one) == 0


@pytest.mark.parametrize(
    ("size", "expected"),
    [(1, 0.7858), (2, 0.6867), (3, 0.5705), (4, 0.4237), (5, 0.1323), (6, 0.3884)],
)
def test_the_reference_distance_is_that_of_the_paper(size, expected):
    """Jousselme, Grenier and Bossé (2001), Table 1: twenty classes, a set that grows past {1, ..., 5}."""
    frame = frozenset(range(1, 21))
    one: dict[frozenset[int], Fraction] = {
        frozenset({2, 3, 4}): Fraction(5, 100),
        frozenset({7}): Fraction(5, 100),
        frame: Fraction(10, 100),
    }
    grown = frozenset(range(1, size + 1))
    one[grown] = one.get(grown, Fraction(0)) + Fraction(80, 100)
    other = {frozenset({1, 2, 3, 4, 5}): Fraction(1)}
    assert slow.jousselme(one, other) == pytest.approx(expected, abs=1e-4)


def test_distances_on_sixteen_classes_and_between_near_masses():
    mass = np.zeros((2, 1 << 16))
    mass[0, 0b11] = mass[1, 0b1111] = 1.0
    assert hb.jousselme_distance(mass[0], mass[1]) == pytest.approx(np.sqrt(0.5), rel=1e-12)
    near = mass[0].copy()
    near[0b11] -= 1e-12
    near[0b1111] += 1e-12
    assert hb.jousselme_distance(mass[0], near) == pytest.approx(1e-12 * np.sqrt(0.5), rel=1e-4)


def test_distances_broadcast_and_refuse_other_frames():
    rows = np.eye(4)[[1, 2, 3]]
    assert hb.jousselme_distance(rows[:, None], rows).shape == (3, 3)
    with pytest.raises(ValueError, match="one and other must be over the same classes"):
        hb.jousselme_distance([0, 0, 0, 1], [0, 1])
