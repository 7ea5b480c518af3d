"""Margins: those at a point are the forest's, and no choice of leaves exceeds what a box is said to hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_classification
from tests.reference.margins import ROUNDING, mapped_at, mapped_most

from hedgerow import RandomForestClassifier, _core
from hedgerow.belief.calibrate import Calibration
from hedgerow.explain.change import Space, calibrated_margins
from hedgerow.explain.question import tree_shares
from hedgerow.inference.predictor import predictor_of


@pytest.mark.parametrize("calibration", [None, "oob"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_margins_at_a_point_are_those_of_the_forest(n_classes, calibration):
    X, y = make_classification(200, 6, n_informative=4, n_redundant=0, n_classes=n_classes, random_state=0)
    forest = RandomForestClassifier(15, caution=2.0, calibration=calibration, random_state=0).fit(X[:150], y[:150])
    now = predictor_of(forest)
    space, batch = Space(now), now.read(X[150:])
    opinion = now.opinion(batch)
    expected = opinion.lower[:, :, None] - opinion.upper[:, None, :]
    contents = space.contents[now.forest.leaves(batch.codes) + now.forest.leaf_start[:-1]]
    told = space.margins | {"n_classes": n_classes, "tree_shares": tree_shares(now)}
    for row, at_row in zip(contents, expected, strict=True):
        found = _core.largest_margins(row, np.arange(16), **told).reshape(n_classes, n_classes)
        told_apart = at_row > 0 if calibration else at_row > -np.inf  # of a class that is behind, a map only says so
        np.testing.assert_allclose(found[told_apart], at_row[told_apart], rtol=0, atol=2 * ROUNDING)
        assert (found[~told_apart] <= ROUNDING).all()


def drawn(n_classes: int, n_trees: int, seed: int):
    """Leaves of some trees with probabilities and vacuities, and a map of their means."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 4, n_trees)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    shares = rng.dirichlet(np.full(n_classes, 0.4), starts[-1])
    vacuity = rng.uniform(0, 0.3, starts[-1])
    offsets = rng.normal(0, 0.5, n_classes)
    steep = Calibration(rng.uniform(1, 3), rng.normal(0, 0.4, (n_classes, n_classes)), offsets, gain=1.05)
    return rng, sizes, starts, shares, vacuity, steep


def largest(shares, vacuity, steep, starts):
    """What the core says no choice of leaves exceeds."""
    n_leaves, n_classes = shares.shape
    told = {"n_classes": n_classes, "added": np.zeros(n_leaves * n_classes**2)}
    told |= {"tree_shares": np.full(len(starts) - 1, 1 / (len(starts) - 1))} | calibrated_margins(
        shares, vacuity, steep
    )
    found = _core.largest_margins(np.arange(n_leaves, dtype=np.int32), starts, **told)
    return found.reshape(n_classes, n_classes)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(n_classes=st.integers(2, 5), n_trees=st.integers(1, 6), seed=st.integers(0, 2**32 - 1))
def test_no_choice_of_leaves_exceeds_the_bound_of_a_box(n_classes, n_trees, seed):
    rng, sizes, starts, shares, vacuity, steep = drawn(n_classes, n_trees, seed)
    most = largest(shares, vacuity, steep, starts)
    np.testing.assert_allclose(most, mapped_most(shares, vacuity, steep, starts[:-1]), rtol=0, atol=1e-12)
    leaves = starts[:-1] + rng.integers(0, sizes, (200, n_trees))
    highest = mapped_at(shares, vacuity, steep, leaves).max(axis=0)
    ahead = highest > ROUNDING  # where a class cannot be ahead, it is enough to know that
    assert (most[ahead] >= highest[ahead] - 1e-12).all()
    assert (most[~ahead] >= -1).all()


def test_the_bound_of_two_classes_without_vacuity_is_attained():
    """The map is monotone, so the best leaf of each tree gives the largest margin."""
    rng = np.random.default_rng(0)
    shares = rng.dirichlet(np.ones(2), 9)
    steep = Calibration(1.8, rng.normal(0, 0.1, (2, 2)), np.array([0.2, -0.2]))
    most = largest(shares, np.zeros(9), steep, np.array([0, 3, 6, 9]))
    best = np.array([shares[first : first + 3, 1].argmax() + first for first in (0, 3, 6)])
    assert most[1, 0] == pytest.approx(mapped_at(shares, np.zeros(9), steep, best[None])[0, 1, 0], abs=1e-12)
