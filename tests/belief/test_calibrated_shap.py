"""Contributions to calibrated predictions add up to these predictions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.belief.calibrate import Calibration
from hedgerow.rules.additive import CARRIED, _slope, calibrated, calibrated_shap


def some_map(n_classes: int, rng: np.random.Generator, *, mixes: bool = True) -> Calibration:
    mix = rng.normal(0, 0.3, (n_classes, n_classes)) if mixes else None
    return Calibration(rng.uniform(1, 3), mix, rng.normal(0, 0.5, n_classes), gain=1.04)


def some_contributions(what: str, n_classes: int, rng: np.random.Generator, n: int = 5, p: int = 4) -> tuple:
    """Quantities of a base and of n samples, and contributions of p features from one to the other."""
    sharp = np.full(n_classes, 0.3)
    base, ends = rng.dirichlet(sharp), rng.dirichlet(sharp, n)
    if len(CARRIED[what]) > 1:
        base, ends = np.append(base, rng.uniform(0, 0.5)), np.column_stack([ends, rng.uniform(0, 0.5, n)])
    values = rng.normal(0, 0.2, (n, p, len(base)))
    values[:, :, :n_classes] -= values[:, :, :n_classes].mean(axis=2, keepdims=True)
    values[:, -1] += ends - base - values.sum(axis=1)
    return base, ends, values


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    what=st.sampled_from(sorted(CARRIED)),
    n_classes=st.integers(2, 7),
    mixes=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_contributions_add_up_to_the_mapped_answer(what, n_classes, mixes, seed):
    rng = np.random.default_rng(seed)
    steep = some_map(n_classes, rng, mixes=mixes)
    base, ends, values = some_contributions(what, n_classes, rng)
    of_base, of_features = calibrated_shap(steep, what, base, values)
    np.testing.assert_allclose(of_base, calibrated(steep, what, base[None])[0], atol=1e-14)
    np.testing.assert_allclose(of_base + of_features.sum(axis=1), calibrated(steep, what, ends), rtol=0, atol=1e-12)
    if what == "probability":
        np.testing.assert_allclose(of_features.sum(axis=2), 0, atol=1e-12)


@pytest.mark.parametrize("what", sorted(CARRIED))
def test_the_slope_is_that_of_the_mapped_answer(what):
    rng = np.random.default_rng(0)
    steep = some_map(3, rng)
    base = some_contributions(what, 3, rng)[0]
    for place in range(len(base)):
        step = 1e-6 * np.eye(len(base))[place]
        expected = (calibrated(steep, what, (base + step)[None]) - calibrated(steep, what, (base - step)[None]))[
            0
        ] / 2e-6
        np.testing.assert_allclose(_slope(steep, what, base[None])[0, :, place], expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("what", sorted(CARRIED))
def test_the_way_is_followed_closely(what):
    """Few places on the way share out nearly as very many do."""
    rng = np.random.default_rng(1)
    steep = some_map(4, rng)
    base, ends, values = some_contributions(what, 4, rng)
    places = (np.arange(20_000) + 0.5) / 20_000
    fine = np.mean([_slope(steep, what, base + place * (ends - base)) for place in places[::10]], axis=0)
    expected = np.einsum("npm,nkm->npk", values, fine)
    np.testing.assert_allclose(calibrated_shap(steep, what, base, values)[1], expected, rtol=0, atol=2e-3)


def test_a_feature_without_contributions_adds_nothing_and_pairs_add_up_to_features():
    rng = np.random.default_rng(2)
    steep = some_map(3, rng)
    base, _, values = some_contributions("probability", 3, rng)
    values[:, 1], values[:, -1] = 0.0, values[:, -1] + values[:, 1]
    of_features = calibrated_shap(steep, "probability", base, values)[1]
    assert (of_features[:, 1] == 0).all()
    halved = np.stack([values * 0.25, values * 0.75], axis=2)
    of_pairs = calibrated_shap(steep, "probability", base, halved)[1]
    np.testing.assert_allclose(of_pairs.sum(axis=2), of_features, atol=1e-13)


def test_nothing_added_changes_nothing():
    steep = some_map(2, np.random.default_rng(3))
    base = np.array([0.4, 0.6])
    of_base, of_features = calibrated_shap(steep, "probability", base, np.zeros((2, 3, 2)))
    assert (of_features == 0).all()
    np.testing.assert_array_equal(of_base, steep.of(base[None])[0])
