"""Counts: the masses they justify, against definitions, published numbers and linear-programming duality."""

from __future__ import annotations

import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.stats import chi2
from tests.reference import masses as slow

from hedgerow import belief as hb
from hedgerow.belief.masses import counts as masses_of_counts

SHARED = settings(max_examples=60, deadline=None, derandomize=True)
COUNTS = st.integers(1, 4).flatmap(
    lambda size: st.lists(st.sampled_from([0, 0, 1, 2, 3, 8, 40, 1000]), min_size=size, max_size=size)
)
CAUTIONS = st.sampled_from([Fraction(0), Fraction(1, 10), Fraction(1), Fraction(5, 2)])


def quantile(n_classes: int, alpha: float = 0.05) -> float:
    return float(chi2.ppf(1 - alpha / n_classes, 1))


@SHARED
@given(counts=COUNTS, caution=CAUTIONS)
def test_idm_gives_each_class_its_share_and_the_frame_the_reserve(counts, caution):
    found = hb.mass_from_counts(counts, caution=float(caution))
    np.testing.assert_allclose(found, slow.to_array(slow.idm(counts, caution)), rtol=0, atol=1e-15)


@SHARED
@given(counts=COUNTS, caution=CAUTIONS, lam=st.sampled_from([0.0, 0.25, 1.0]))
def test_the_closed_form_of_uncertainty_is_that_of_the_power_set(counts, caution, lam):
    mass = slow.idm(counts, caution)
    expected = (1 - lam) * slow.non_specificity(mass) + lam * slow.discord(mass)
    assert hb.total_uncertainty_from_counts(counts, lam, float(caution)) == pytest.approx(expected, abs=1e-13)
    found = hb.total_uncertainty(hb.mass_from_counts(counts, caution=float(caution)), lam)
    assert found == pytest.approx(expected, abs=1e-13)


@SHARED
@given(counts=st.lists(st.integers(0, 30), min_size=2, max_size=5).filter(any))
def test_with_no_caution_and_all_discord_uncertainty_is_entropy(counts):
    shares = np.array(counts) / sum(counts)
    found = hb.total_uncertainty_from_counts(counts, lam=1.0, caution=0.0)
    assert found == pytest.approx(float(hb.entropy(shares)), abs=1e-13)
    nearly = hb.total_uncertainty_from_counts(counts, lam=1.0, caution=1e-12)
    assert nearly == pytest.approx(float(hb.entropy(shares)), abs=1e-9)


@SHARED
@given(
    sides=st.tuples(*[st.lists(st.integers(0, 20), min_size=3, max_size=3).filter(any)] * 2),
    caution=st.sampled_from([0.5, 1.0, 4.0]),
)
def test_without_discord_no_split_gains(sides, caution):
    both = np.array(sides)
    rows = both.sum(axis=1)
    after = rows @ hb.total_uncertainty_from_counts(both, 0.0, caution) / rows.sum()
    assert hb.total_uncertainty_from_counts(both.sum(axis=0), 0.0, caution) < after


def test_the_closed_form_takes_rows_and_hundreds_of_classes():
    counts = np.random.default_rng(0).poisson(0.3, (2, 3, 500))
    found = hb.total_uncertainty_from_counts(counts, lam=0.5)
    assert found.shape == (2, 3)
    assert found[1, 2] == pytest.approx(float(hb.total_uncertainty_from_counts(counts[1, 2], lam=0.5)), abs=1e-15)


@SHARED
@given(counts=st.lists(st.integers(0, 50), min_size=2, max_size=2), caution=st.sampled_from([0.0, 1.0, 7.0]))
def test_dempsters_bernoulli_trials_are_idm_with_two_classes_and_caution_one(counts, caution):
    trials = hb.mass_from_counts(counts, "dabt", caution=caution)
    np.testing.assert_array_equal(trials, hb.mass_from_counts(counts, "idm", caution=1.0))
    n = sum(counts)
    np.testing.assert_allclose(trials, [0, counts[0] / (n + 1), counts[1] / (n + 1), 1 / (n + 1)], rtol=0, atol=1e-15)


def test_goodman_masses_of_eight_one_one():
    """Published values; order {}, 1, 2, 12, 3, 13, 23, frame."""
    expected = [0, 0.4257, 0.0133, 0.0829, 0.0133, 0.0829, 0.0177, 0.3643]
    np.testing.assert_allclose(hb.mass_from_counts([8, 1, 1], "multinomial", alpha=0.05), expected, atol=5e-5)


GOODMAN_COUNTS = st.integers(1, 3).flatmap(
    lambda size: st.lists(st.sampled_from([0, 0, 1, 2, 3, 8, 40, 5000]), min_size=size, max_size=size)
)


@SHARED
@given(counts=GOODMAN_COUNTS, alpha=st.sampled_from([0.01, 0.05, 0.3]))
def test_up_to_three_classes_the_multinomial_mass_is_the_moebius_inverse(counts, alpha):
    lower = slow.goodman_lower(counts, quantile(len(counts), alpha))
    found = hb.mass_from_counts(counts, "multinomial", alpha=alpha)
    np.testing.assert_allclose(found, slow.to_array(slow.moebius_inverse(lower)), rtol=0, atol=1e-12)
    np.testing.assert_allclose(hb.belief_from_mass(found), slow.to_array(lower), rtol=0, atol=1e-12)


PROGRAMMES = [
    (5, 3, 1, 0), (10, 20, 30, 40), (4, 4, 1, 1), (100, 0, 0, 0), (0, 0, 0, 0), (7, 7, 7, 7), (2.5, 0.5, 1e-3, 900),
    (12, 7, 5, 3, 2, 1), (0, 9, 0, 9, 0, 2), (1, 1, 1, 1, 1, 1), (50, 0, 0, 0, 0, 1), (3, 10, 25, 1, 60, 4),
]  # fmt: skip


@pytest.mark.parametrize("counts", PROGRAMMES, ids=str)
def test_above_three_classes_the_mass_is_feasible_and_optimal_by_duality(counts):
    """A feasible mass and feasible prices of the same value prove each other optimal; nobody's solver is trusted."""
    lower = slow.goodman_lower(counts, quantile(len(counts)))
    unknown, limited, gains, rows, limits = slow.programme(lower)
    mass = hb.mass_from_counts(counts, "multinomial")
    found = np.array([mass[slow.mask(a)] for a in unknown])
    assert mass[0] == 0
    assert (found >= 0).all()
    assert found.sum() == pytest.approx(1.0, abs=1e-12)
    assert (rows @ found <= limits + 1e-9).all()
    prices, free = _feasible_prices(gains, rows, limits)
    assert (prices >= 0).all()
    assert (rows.T @ prices + free >= gains - 1e-9).all()
    assert gains @ found == pytest.approx(limits @ prices + free, rel=1e-8)
    assert len(limited) == len(prices)


def _feasible_prices(gains: np.ndarray, rows: np.ndarray, limits: np.ndarray) -> tuple[np.ndarray, float]:
    """The dual programme: prices of the limits and of the unit sum, min limits.prices + free above all gains."""
    dual = linprog(
        np.append(limits, 1.0),
        A_ub=-np.column_stack([rows.T, np.ones(len(gains))]),
        b_ub=-gains,
        bounds=[(0, None)] * len(limits) + [(None, None)],
        method="highs",
    )
    return np.maximum(dual.x[:-1], 0.0), float(dual.x[-1])


@pytest.mark.parametrize("counts", PROGRAMMES, ids=str)
def test_renaming_classes_renames_the_multinomial_mass(counts):
    order = np.random.default_rng(1).permutation(len(counts))
    plain = hb.mass_from_counts(counts, "multinomial")
    turned = hb.mass_from_counts(np.array(counts)[order], "multinomial")
    for mask in range(1 << len(counts)):
        before = hb.subset_mask(order[k] for k in range(len(counts)) if mask >> k & 1)
        assert turned[mask] == pytest.approx(plain[before], abs=1e-15)


@pytest.mark.parametrize("counts", PROGRAMMES, ids=str)
def test_classes_of_equal_count_are_treated_alike(counts):
    contour = hb.contour_from_mass(hb.mass_from_counts(counts, "multinomial"))
    for a in range(len(counts)):
        for b in range(a):
            if counts[a] == counts[b]:
                assert contour[a] == pytest.approx(contour[b], abs=1e-12)


def test_programmes_are_solved_once_for_each_sorted_count_vector():
    masses_of_counts.mass_of_types.cache_clear()
    counts = np.array([[5, 2, 1, 9], [9, 1, 2, 5], [1, 2, 5, 9], [9, 9, 0, 0]])
    hb.mass_from_counts(np.tile(counts, (10, 1)), "multinomial")
    hb.mass_from_counts(counts[::-1], "multinomial")
    assert masses_of_counts.mass_of_types.cache_info().misses == 2


def test_multinomial_masses_keep_leading_axes():
    counts = np.random.default_rng(2).integers(0, 5, (2, 3, 4))
    found = hb.mass_from_counts(counts, "multinomial")
    assert found.shape == (2, 3, 16)
    np.testing.assert_array_equal(found[1, 2], hb.mass_from_counts(counts[1, 2], "multinomial"))
    assert hb.mass_from_counts(np.empty((0, 5)), "multinomial").shape == (0, 32)


ORDERED = st.integers(1, 6).flatmap(
    lambda size: st.lists(st.sampled_from([0, 0, 1, 2, 3, 8, 40, 5000]), min_size=size, max_size=size)
)


@SHARED
@given(counts=ORDERED)
def test_ordered_classes_have_beliefs_in_runs_that_are_the_lower_probabilities(counts):
    """What the closed form is for: on runs of neighbours belief equals the lower probability, elsewhere it is below."""
    size = len(counts)
    lower = slow.goodman_lower(counts, quantile(size))
    mass = hb.mass_from_counts(counts, "multinomial", ordinal=True)
    belief = hb.belief_from_mass(mass)
    for a, bound in lower.items():
        run = bool(a) and max(a) - min(a) + 1 == len(a)
        if run:
            assert belief[slow.mask(a)] == pytest.approx(bound, abs=1e-12)
        else:
            assert mass[slow.mask(a)] == 0
            assert belief[slow.mask(a)] <= bound + 1e-12


@SHARED
@given(counts=st.integers(1, 4).flatmap(lambda k: st.lists(st.integers(0, 12), min_size=k, max_size=k)).filter(any))
def test_the_contour_is_the_likelihood_of_being_most_probable(counts):
    np.testing.assert_allclose(hb.contour_from_counts(counts), slow.mode_contour(counts), rtol=1e-12)


def test_contours_of_no_rows_and_of_a_milliard():
    np.testing.assert_array_equal(hb.contour_from_counts([[0, 0, 0], [7, 7, 7]]), np.ones((2, 3)))
    contour = hb.contour_from_counts([5e8, 5e8 - 1e4])
    assert contour.tolist() == [1.0, pytest.approx(np.exp(-((1e4) ** 2) / 2e9), rel=1e-6)]
    assert hb.contour_from_counts(np.ones((2, 3, 4))).shape == (2, 3, 4)


@pytest.mark.parametrize("model", ["idm", "dabt", "multinomial"])
def test_no_rows_are_the_vacuous_mass_without_a_warning(model):
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        for caution in (0.0, 1.0):
            mass = hb.mass_from_counts([[0, 0], [3, 0]], model, caution=caution)
            np.testing.assert_allclose(mass[0], [0, 0, 0, 1], rtol=0, atol=1e-15)


@pytest.mark.parametrize(
    ("attempt", "complaint"),
    [
        (lambda: hb.mass_from_counts([1, 2, 3], "dabt"), "model='dabt' must have two classes, got 3"),
        (lambda: hb.mass_from_counts([1, 2], "beta"), "model must be 'idm', 'dabt' or 'multinomial'"),
        (lambda: hb.mass_from_counts([1, -2]), "counts must be finite and non-negative"),
        (lambda: hb.mass_from_counts([1, np.inf]), "counts must be finite and non-negative"),
        (lambda: hb.mass_from_counts(3), "counts must have the shape"),
        (lambda: hb.mass_from_counts(np.ones(17)), "counts must have at most 16 classes"),
        (lambda: hb.mass_from_counts([1, 2], caution=-1), "caution must be finite and non-negative"),
        (lambda: hb.mass_from_counts([1, 2], "multinomial", alpha=0), "alpha must lie between 0 and 1"),
        (lambda: hb.total_uncertainty_from_counts([1, -2], 0.5), "counts must be finite and non-negative"),
        (lambda: hb.contour_from_counts([1, -2]), "counts must be finite"),
    ],
)
def test_what_is_not_counts_is_refused(attempt, complaint):
    with pytest.raises(ValueError, match=complaint):
        attempt()
