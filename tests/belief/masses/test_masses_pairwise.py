"""Masses of pairs of classes: their combination is the minimum of its programme, by every road there is."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from hedgerow.belief import contour_from_mass, mass_from_counts, mass_from_pairs
from hedgerow.belief.masses.pairwise import ALL_SETS, pair_misfit, programme_of, solve_pairs


def restriction(mass, first, second):
    """(2^K,) -> (4,): what is left of each set in the pair, set by set."""
    left = np.zeros(4)
    for members, value in enumerate(mass):
        left[(members >> first & 1) + 2 * (members >> second & 1)] += value
    return left


def objective(mass, pair_masses):
    """The sum over pairs and their subsets of squared differences, as it is written down."""
    n_classes = len(mass).bit_length() - 1
    pairs = combinations(range(n_classes), 2)
    return sum(((restriction(mass, *pair) - told) ** 2).sum() for pair, told in zip(pairs, pair_masses, strict=True))


def drawn_pairs(n_rows, n_classes, seed=0):
    """Masses of leaves (n, P, 4), many of them pure or without rows."""
    rng = np.random.default_rng(seed)
    shape = (n_rows, n_classes * (n_classes - 1) // 2, 2)
    return mass_from_counts(rng.integers(0, 9, shape) * rng.integers(0, 2, shape), "dabt")


@pytest.mark.parametrize("n_classes", [2, 3, 4, 5, 6, 7, 9, 12])
def test_solution_fulfils_the_conditions_of_a_minimum(n_classes):
    given_ = drawn_pairs(40, n_classes)
    focal, mass = solve_pairs(given_)
    programme = programme_of(n_classes)
    assert (mass >= 0).all()
    np.testing.assert_allclose(mass.sum(axis=1), 1.0, rtol=1e-12)
    residual = mass @ programme.restrict.T - given_.reshape(len(given_), -1)
    slope = residual @ programme.restrict + programme.evenness * mass
    level = (slope * mass).sum(axis=1, keepdims=True)  # the multiplier of the sum
    assert (slope - level).min() > -1e-9  # no set would lower the sum
    assert np.abs((slope - level) * mass).max() < 1e-9  # and those with mass are level
    assert focal.shape == (
        2**n_classes - 1 if n_classes <= ALL_SETS else n_classes * (n_classes + 1) // 2 + 1,
        n_classes,
    )


@pytest.mark.parametrize("n_classes", [2, 3, 4, 5, 6, 7, 10])
def test_evenness_decides_only_where_pairs_leave_several_masses(n_classes):
    programme = programme_of(n_classes)
    several = np.linalg.matrix_rank(programme.restrict) < len(programme.focal)
    assert (programme.evenness > 0) == several


@pytest.mark.parametrize("n_classes", [3, 4])
def test_solution_is_no_worse_than_a_general_solver_finds(n_classes):
    for told in drawn_pairs(4, n_classes, seed=1):
        ours = mass_from_pairs([told])[0]
        start = np.full(2**n_classes, 1.0 / 2**n_classes)
        theirs = minimize(
            objective,
            start,
            args=(told,),
            bounds=[(0, 1)] * len(start),
            constraints={"type": "eq", "fun": lambda mass: mass.sum() - 1},
            method="SLSQP",
            options={"maxiter": 500, "ftol": 1e-12},
        )
        assert theirs.success
        assert objective(ours, told) <= theirs.fun + 1e-7
        np.testing.assert_allclose(contour_from_mass(ours), contour_from_mass(theirs.x / theirs.x.sum()), atol=1e-3)


@settings(max_examples=40)
@given(st.integers(2, 6), st.integers(0, 10**6))
def test_pairs_that_agree_are_met_exactly(n_classes, seed):
    truth = np.concatenate([[0.0], np.random.default_rng(seed).dirichlet(np.full(2**n_classes - 1, 0.3))])
    told = [restriction(truth, *pair) for pair in combinations(range(n_classes), 2)]
    found = mass_from_pairs([told])[0]
    assert objective(found, told) < 1e-12
    np.testing.assert_allclose(contour_from_mass(found), contour_from_mass(truth), atol=1e-6)
    if n_classes <= 3:  # only then is the mass known by its pairs
        np.testing.assert_allclose(found, truth, atol=1e-9)


@settings(max_examples=20)
@given(st.integers(3, 8), st.integers(0, 10**6), st.randoms(use_true_random=False))
def test_order_of_the_classes_does_not_matter(n_classes, seed, random):
    told = drawn_pairs(1, n_classes, seed)[0]
    order = random.sample(range(n_classes), n_classes)
    pairs = list(combinations(range(n_classes), 2))
    renamed = np.empty_like(told)
    for row, (first, second) in enumerate(pairs):  # class c is called order[c]
        a, b = order[first], order[second]
        renamed[pairs.index((min(a, b), max(a, b)))] = told[row][[0, 1, 2, 3] if a < b else [0, 2, 1, 3]]
    focal, mass = solve_pairs([told, told])
    assert np.array_equal(mass[0], mass[1])
    _, other = solve_pairs([renamed])
    contour, contour_renamed = mass[0] @ focal, other[0] @ focal
    np.testing.assert_allclose(contour_renamed[order], contour, atol=1e-7)
    np.testing.assert_allclose(
        (other[0] / focal.sum(axis=1) @ focal)[order], mass[0] / focal.sum(axis=1) @ focal, atol=1e-5
    )


def test_two_classes_keep_the_mass_of_their_pair():
    told = drawn_pairs(30, 2)
    np.testing.assert_allclose(mass_from_pairs(told), told[:, 0], atol=1e-12)


def test_pairs_that_know_nothing_leave_everything_open():
    for n_classes in (2, 3, 5, 7):
        told = np.zeros((1, n_classes * (n_classes - 1) // 2, 4))
        told[:, :, 3] = 1.0
        mass = mass_from_pairs(told)[0]
        assert mass[-1] == pytest.approx(1.0, abs=1e-6)


def test_misfit_is_zero_for_pairs_that_agree_and_at_most_one():
    agreeing = np.array([[[0, 1, 0, 0], [0, 1, 0, 0], [1, 0, 0, 0]]], dtype=float)
    turning = np.array([[[0, 1, 0, 0], [0, 0, 1, 0], [0, 1, 0, 0]]], dtype=float)  # 0 beats 1 beats 2 beats 0
    for told, low, high in ((agreeing, 0.0, 1e-6), (turning, 0.3, 1.0)):
        focal, mass = solve_pairs(told)
        assert low <= pair_misfit(told, focal, mass)[0] <= high


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (np.full((1, 2, 4), 0.25), r"all K\(K-1\)/2 pairs"),
        (np.full((1, 3, 8), 0.125), "shape"),
        (np.full((3, 4), 0.25), "shape"),
        (np.full((1, 1, 4), 0.5), "must sum to 1"),
        (np.full((1, 17 * 8, 4), 0.25), "at most 16 classes"),
    ],
)
def test_what_is_no_mass_of_pairs_is_refused(told, words):
    with pytest.raises(ValueError, match=words):
        mass_from_pairs(told)
