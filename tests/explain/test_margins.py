"""Margins: those at a point are the forest's, and no choice of leaves exceeds what a box is said to hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_classification

from hedgerow import RandomForestClassifier
from hedgerow.belief.calibrate import Calibration
from hedgerow.explain.margins import ROUNDING, MappedMargins
from hedgerow.explain.question import read_columns
from hedgerow.explain.space import Space
from hedgerow.judge.answer import answers_of


@pytest.mark.parametrize("calibration", [None, "oob"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_margins_at_a_point_are_those_of_the_forest(n_classes, calibration):
    X, y = make_classification(200, 6, n_informative=4, n_redundant=0, n_classes=n_classes, random_state=0)
    forest = RandomForestClassifier(15, caution=2.0, calibration=calibration, random_state=0).fit(X[:150], y[:150])
    now = answers_of(forest)
    space, codes = Space(now), read_columns(now, X[150:])[1]
    opinion = now.opinion(codes)
    expected = opinion.lower[:, :, None] - opinion.upper[:, None, :]
    np.testing.assert_allclose(space.margins.at(space.reached(codes)), expected, rtol=0, atol=2 * ROUNDING)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(n_classes=st.integers(2, 5), n_trees=st.integers(1, 6), seed=st.integers(0, 2**32 - 1))
def test_no_choice_of_leaves_exceeds_the_bound_of_a_box(n_classes, n_trees, seed):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 4, n_trees)
    starts, n_leaves = np.concatenate([[0], np.cumsum(sizes)[:-1]]), int(sizes.sum())
    shares = rng.dirichlet(np.full(n_classes, 0.4), n_leaves) / n_trees
    vacuity = rng.uniform(0, 0.3, n_leaves) / n_trees
    offsets = rng.normal(0, 0.5, n_classes)
    steep = Calibration(rng.uniform(1, 3), rng.normal(0, 0.4, (n_classes, n_classes)), offsets, gain=1.05)
    margins = MappedMargins(np.zeros((n_leaves, n_classes, n_classes)), shares, vacuity, steep)
    most = margins.most(np.arange(n_leaves), starts)
    leaves = starts + rng.integers(0, sizes, (200, n_trees))
    largest = margins.at(leaves).max(axis=0)
    ahead = largest > ROUNDING  # where a class cannot be ahead, it is enough to know that
    assert (most[ahead] >= largest[ahead] - 1e-12).all()
    assert (most[~ahead] >= -1).all()


def test_the_bound_of_two_classes_without_vacuity_is_attained():
    """The map is monotone, so the best leaf of each tree gives the largest margin."""
    rng = np.random.default_rng(0)
    shares = rng.dirichlet(np.ones(2), 9) / 3
    steep = Calibration(1.8, rng.normal(0, 0.1, (2, 2)), np.array([0.2, -0.2]))
    margins = MappedMargins(np.zeros((9, 2, 2)), shares, np.zeros(9), steep)
    most = margins.most(np.arange(9), np.array([0, 3, 6]))
    best = np.array([shares[first : first + 3, 1].argmax() + first for first in (0, 3, 6)])
    assert most[1, 0] == pytest.approx(margins.at(best[None])[0, 1, 0], abs=1e-12)
