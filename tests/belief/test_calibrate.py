"""Calibrate: what a map of probabilities is, and what is learned of one."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime, minimize
from threadpoolctl import threadpool_info, threadpool_limits

from hedgerow import combine
from hedgerow.belief import calibrate
from hedgerow.belief.calibrate import (
    FLOOR,
    MIX_COST,
    MIX_ROWS,
    Calibration,
    _Loss,
    _minimum,
    _SlopeLoss,
    cross_fitted,
    gain_of,
    learn_calibrator,
    log_shares,
    rows_to_learn_on,
)


def timid(n_rows: int, n_classes: int, seed: int = 0, slope: float = 2.0) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities (n, K) that should have been steeper, and classes (n,) drawn from what they should have been."""
    rng = np.random.default_rng(seed)
    logs = rng.normal(0.0, 1.0, (n_rows, n_classes))
    true = np.exp(slope * logs)
    true /= true.sum(axis=1, keepdims=True)
    labels = (true.cumsum(axis=1) < rng.random((n_rows, 1))).sum(axis=1).clip(0, n_classes - 1)
    said = np.exp(logs)
    return said / said.sum(axis=1, keepdims=True), labels


def loss_of(learned: Calibration, probability: Any, labels: Any, weights: Any = None) -> float:
    """The penalised loss, written down once more and without any blocks."""
    weights = np.ones(len(labels)) if weights is None else weights * weights.sum() / (weights**2).sum()
    n_classes = probability.shape[1]
    mix = np.zeros((n_classes, n_classes)) if learned.mix is None else learned.mix
    logs = np.log((probability + FLOOR) / (1 + FLOOR * n_classes))
    scores = learned.slope * logs + logs @ mix + learned.offsets
    losses = np.log(np.exp(scores).sum(axis=1)) - scores[np.arange(len(labels)), labels]
    cost = MIX_COST * max(1.0, MIX_ROWS * n_classes**2 / weights.sum())
    return (weights * losses).sum() + (learned.slope - 1) ** 2 + cost * (mix**2).sum() + 3 * (learned.offsets**2).sum()


def log_loss(probability: np.ndarray, labels: np.ndarray) -> float:
    return float(-np.log(probability[np.arange(len(labels)), labels]).mean())


@pytest.mark.parametrize("mixes", [True, False])
@pytest.mark.parametrize(("n_rows", "n_classes"), [(20, 2), (1500, 2), (60, 3), (300, 12)])
def test_the_gradient_is_that_of_the_loss(n_rows, n_classes, mixes):
    probability, labels = timid(n_rows, n_classes)
    weights = np.random.default_rng(1).uniform(0.2, 3.0, n_rows)
    loss = _Loss(probability, labels, weights, mixes=mixes)
    start = loss.numbers_of(None)
    numbers = start + np.random.default_rng(2).normal(0.0, 0.1, len(start))
    expected = approx_fprime(numbers, lambda at: loss(at)[0], 1e-6)
    np.testing.assert_allclose(loss(numbers)[1], expected, rtol=2e-4, atol=2e-3)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_loss_is_that_of_the_map_its_numbers_mean(n_classes):
    probability, labels = timid(1100, n_classes)
    weights = np.random.default_rng(1).uniform(0.2, 3.0, len(labels))
    loss = _Loss(probability, labels, weights, mixes=True)
    learned = learn_calibrator(probability, labels, weights)
    assert loss(loss.numbers_of(learned))[0] == pytest.approx(loss_of(learned, probability, labels, weights), rel=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_what_is_learned_is_the_minimum(n_classes):
    probability, labels = timid(300, n_classes)
    learned = learn_calibrator(probability, labels)

    def at(numbers: np.ndarray) -> float:
        mix = numbers[1 : 1 + n_classes**2].reshape(n_classes, n_classes)
        tried = Calibration(float(numbers[0]), mix, numbers[1 + n_classes**2 :])
        return loss_of(tried, probability, labels)

    start = np.concatenate([[1.0], np.zeros(n_classes**2 + n_classes)])
    limits = [(1.0, None), *[(None, None)] * (len(start) - 1)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        best = minimize(at, start, method="SLSQP", bounds=limits, options={"maxiter": 2000, "ftol": 1e-12})
    assert loss_of(learned, probability, labels) <= best.fun + 1e-5
    np.testing.assert_allclose(np.r_[learned.slope, learned.mix.ravel(), learned.offsets], best.x, atol=5e-3)


def test_timid_probabilities_become_better():
    probability, labels = timid(2000, 3, seed=0)
    later, truth = timid(2000, 3, seed=1)
    mapped = learn_calibrator(probability, labels).of(later)
    assert log_loss(mapped, truth) < log_loss(later, truth) - 0.05


def test_the_slope_is_never_below_one():
    probability, labels = timid(500, 2, slope=0.3)
    assert learn_calibrator(probability, labels).slope == 1.0


@settings(max_examples=40, deadline=None, derandomize=True)
@given(n_classes=st.integers(2, 9), seed=st.integers(0, 2**32 - 1))
def test_slope_one_is_the_identity_up_to_the_floor(n_classes, seed):
    probability = np.random.default_rng(seed).dirichlet(np.full(n_classes, 0.3), 7)
    same = Calibration(1.0, np.zeros((n_classes, n_classes)), np.zeros(n_classes))
    expected = (probability + FLOOR) / (1 + FLOOR * n_classes)
    np.testing.assert_allclose(same.of(probability), expected, atol=1e-14)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(n_classes=st.integers(2, 6), n_rows=st.integers(30, 200), seed=st.integers(0, 2**32 - 1))
def test_permuting_classes_permutes_the_answer(n_classes, n_rows, seed):
    probability, labels = timid(n_rows, n_classes, seed)
    order = np.random.default_rng(seed).permutation(n_classes)
    turned = learn_calibrator(np.ascontiguousarray(probability[:, order]), np.argsort(order)[labels])
    straight = learn_calibrator(probability, labels)
    np.testing.assert_allclose(turned.of(probability[:, order]), straight.of(probability)[:, order], rtol=0, atol=2e-3)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(n_classes=st.integers(2, 40), n_rows=st.integers(1, 60), seed=st.integers(0, 2**32 - 1))
def test_the_bits_of_a_row_do_not_depend_on_the_others(n_classes, n_rows, seed):
    rng = np.random.default_rng(seed)
    probability = rng.dirichlet(np.ones(n_classes), n_rows)
    some = Calibration(1.7, rng.normal(0, 0.2, (n_classes, n_classes)), rng.normal(0, 1, n_classes), gain=1.04)
    whole = some.of(probability)
    assert np.abs(whole.sum(axis=1) - 1).max() <= 1e-12
    one_by_one = np.concatenate([some.of(row[None]) for row in probability])
    np.testing.assert_array_equal(whole, one_by_one)
    np.testing.assert_array_equal(whole[: n_rows // 2], some.of(probability[: n_rows // 2]))


def test_many_rows_are_mapped_as_few_are():
    probability, labels = timid(10_000, 3)
    learned = learn_calibrator(probability, labels)
    np.testing.assert_array_equal(learned.of(probability)[5000:5010], learned.of(probability[5000:5010]))


@pytest.mark.parametrize("n_classes", [2, 3, 30])
def test_threads_of_other_libraries_change_no_bit(n_classes):
    probability, labels = timid(3000, n_classes)
    with threadpool_limits(1):
        one = learn_calibrator(probability, labels)
    with threadpool_limits(4):
        several = learn_calibrator(probability, labels)
    assert one.slope == several.slope
    np.testing.assert_array_equal(one.mix, several.mix)
    np.testing.assert_array_equal(one.offsets, several.offsets)


def blas_threads():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


can_limit_blas = pytest.mark.skipif(not blas_threads(), reason="a BLAS whose threads nobody can limit")


@can_limit_blas
def test_blas_has_one_thread_while_a_map_is_learned_and_then_those_that_it_had():
    probability, labels = timid(300, 3)
    seen = set()

    class Watched(_Loss):
        def __call__(self, numbers):
            seen.update(blas_threads())
            return super().__call__(numbers)

    with threadpool_limits(2, "blas"):
        _minimum(Watched(probability, labels, None, mixes=True), None)
        assert seen == {1}
        assert blas_threads() == {2}


@can_limit_blas
def test_of_two_that_learn_at_once_the_last_gives_blas_its_threads_back():
    with threadpool_limits(2, "blas"):
        calibrate._one_thread.__enter__()
        calibrate._one_thread.__enter__()
        calibrate._one_thread.__exit__()
        assert blas_threads() == {1}
        calibrate._one_thread.__exit__()
        assert blas_threads() == {2}


@settings(max_examples=30, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32 - 1), n_rows=st.integers(10, 60), slope=st.sampled_from([-2.0, 0.2, 1.0, 4.0]))
def test_of_two_classes_a_larger_share_never_becomes_a_smaller_one(seed, n_rows, slope):
    probability, labels = timid(n_rows, 2, seed, slope)
    shares = np.linspace(0, 1, 200)
    mapped = learn_calibrator(probability, labels).of(np.column_stack([1 - shares, shares]))
    assert (np.diff(mapped[:, 1]) >= 0).all()


def test_a_map_that_would_turn_two_classes_round_is_a_slope_alone():
    # Rows near the middle are of class 0, rows at both ends of class 1: the best mix would not be monotone.
    shares = np.tile([0.02, 0.45, 0.55, 0.98], 100)
    learned = learn_calibrator(np.column_stack([1 - shares, shares]), np.tile([1, 0, 0, 1], 100))
    assert learned.mix is None
    assert learned.slope == 1.0


@pytest.mark.parametrize(("n_rows", "n_classes"), [(9, 2), (14, 3), (0, 2)])
def test_too_few_rows_are_no_reason_to_change_anything(n_rows, n_classes):
    probability, labels = np.full((n_rows, n_classes), 1 / n_classes), np.zeros(n_rows, dtype=int)
    learned = learn_calibrator(probability, labels)
    assert str(n_rows) in learned.why
    assert str(5 * n_classes) in learned.why
    assert "none" in repr(learned)
    assert learned.of(probability) is probability
    assert cross_fitted(probability, labels, start=learned) is probability


def test_one_class_needs_no_map():
    assert learn_calibrator(np.ones((50, 1)), np.zeros(50, dtype=int)).why


def test_a_class_that_does_not_occur_becomes_less_probable_and_stays_possible():
    probability, labels = timid(400, 2)
    wider = np.column_stack([0.9 * probability, np.full(400, 0.1)])
    mapped = learn_calibrator(wider, labels).of(wider)
    assert (mapped[:, 2] < wider[:, 2]).all()
    assert (mapped[:, 2] > 0).all()


def test_equal_weights_change_nothing():
    probability, labels = timid(200, 3)
    plain, weighted = learn_calibrator(probability, labels), learn_calibrator(probability, labels, np.full(200, 7.5))
    np.testing.assert_allclose(weighted.mix, plain.mix, atol=1e-4)


def test_few_rows_of_much_weight_count_as_few():
    probability, labels = timid(400, 2)
    weights = np.where(np.arange(400) < 10, 1000.0, 1.0)
    assert abs(learn_calibrator(probability, labels, weights).slope - 1) < abs(
        learn_calibrator(probability, labels).slope - 1
    )


def test_a_start_changes_nothing_that_counts():
    probability, labels = timid(500, 3)
    first = learn_calibrator(probability, labels)
    again = learn_calibrator(probability, labels, start=first)
    np.testing.assert_allclose(again.of(probability), first.of(probability), atol=1e-4)


def test_more_than_a_hundred_classes_share_one_slope():
    probability, labels = timid(700, 120)
    learned = learn_calibrator(probability, labels)
    assert learned.mix is None
    assert learned.slope > 1.2
    assert learned.of(probability).shape == (700, 120)


def few_of_many(n_rows: int = 700, n_classes: int = 120) -> tuple[Any, Any, Any]:
    """Probabilities of which most are zero, classes and weights."""
    rng = np.random.default_rng(5)
    shares = np.where(rng.random((n_rows, n_classes)) < 0.04, rng.random((n_rows, n_classes)), 0.0)
    shares[:, 0] += 0.01
    labels = rng.integers(0, n_classes, n_rows)
    return shares / shares.sum(axis=1, keepdims=True), labels, rng.uniform(0.5, 2.0, n_rows)


@pytest.mark.parametrize("slope", [1.0, 2.5, 400.0])
def test_the_loss_of_few_shares_is_that_of_all(slope):
    shares, labels, weights = few_of_many()
    dense, sparse = _Loss(shares, labels, weights, mixes=False), _SlopeLoss(shares, labels, weights)
    numbers = np.concatenate([[slope], np.random.default_rng(6).normal(size=shares.shape[1])])
    (expected, by_number), (found, gradient) = dense(numbers), sparse(numbers)
    assert found == pytest.approx(expected, rel=1e-11)
    np.testing.assert_allclose(gradient, by_number, rtol=1e-9, atol=1e-9)


def test_many_classes_are_learned_from_the_shares_they_have(monkeypatch):
    shares, labels, weights = few_of_many()
    found = learn_calibrator(shares, labels, weights)
    monkeypatch.setattr(calibrate, "MOST_HELD", shares.size)  # no table is so sparse
    dense = learn_calibrator(shares, labels, weights)
    assert found.slope == pytest.approx(dense.slope, abs=1e-4)
    np.testing.assert_allclose(found.offsets, dense.offsets, atol=1e-4)


def test_rows_are_judged_by_maps_that_have_not_seen_them():
    rng = np.random.default_rng(0)
    probability, labels = rng.dirichlet(np.ones(6), 60), rng.integers(0, 6, 60)
    learned = learn_calibrator(probability, labels)
    told, judged = learned.of(probability), cross_fitted(probability, labels, start=learned)
    fresh = learned.of(rng.dirichlet(np.ones(6), 20_000))
    honest = log_loss(fresh, rng.integers(0, 6, 20_000))
    assert log_loss(told, labels) < honest - 0.05
    assert abs(log_loss(judged, labels) - honest) < 0.25
    changed = labels.copy()
    changed[0] = (labels[0] + 1) % 6
    # another class of a row moves the answers about others, and hardly its own: only the order of the parts does
    assert not np.array_equal(cross_fitted(probability, changed)[1:], cross_fitted(probability, labels)[1:])


def test_cross_fitting_is_the_same_every_time():
    probability, labels = timid(300, 3)
    np.testing.assert_array_equal(cross_fitted(probability, labels), cross_fitted(probability, labels))


def test_rows_to_learn_on_are_spread_evenly_and_not_too_many():
    np.testing.assert_array_equal(rows_to_learn_on(7, 2), np.arange(7))
    some = rows_to_learn_on(1_000_000, 2)
    assert len(some) == 5000
    assert some[0] == 0
    assert some[-1] == 999_999
    assert np.diff(some).max() - np.diff(some).min() <= 1
    assert len(rows_to_learn_on(10**6, 5000)) == 25_000


def test_a_whole_forest_is_surer_than_the_trees_outside_whose_bags_a_row_lies():
    assert gain_of(1, 1.0) == 1.0
    assert gain_of(50, 1.0) == pytest.approx(1.08, abs=0.01)
    assert gain_of(100, 1.0) == pytest.approx(1.04, abs=0.005)
    assert gain_of(300, 1.0) == pytest.approx(1.013, abs=0.005)
    assert gain_of(100, 0.1) < gain_of(100, 1.0)
    assert gain_of(100, 1e-6) == pytest.approx(1.0, abs=1e-4)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32 - 1), n_classes=st.integers(2, 5), caution=st.sampled_from([0.0, 0.5, 1.0, 3.0]))
def test_mapped_opinions_keep_the_laws(seed, n_classes, caution):
    rng = np.random.default_rng(seed)
    counts = rng.poisson(rng.gamma(0.6, 4.0, (40, 5, n_classes))).astype(float)
    some = learn_calibrator(*timid(60, n_classes, seed))
    plain = combine(counts, "average", caution=caution)
    opinion = some.opinion(plain)
    assert np.abs(opinion.probability.sum(axis=1) - 1).max() <= 1e-12
    assert (opinion.lower <= opinion.probability).all()
    assert (opinion.probability <= opinion.upper).all()
    np.testing.assert_array_equal(opinion.vacuity, plain.vacuity)
    np.testing.assert_allclose(1 - opinion.lower.sum(axis=1), plain.vacuity, atol=1e-12)
    if caution == 0:
        held = counts.sum(axis=2).min(axis=1) > 0
        np.testing.assert_allclose(opinion.lower[held], opinion.upper[held], atol=1e-12)
    wider = some.opinion(combine(counts, "average", caution=caution + 1))
    assert (wider.lower <= opinion.lower + 1e-12).all()
    assert (wider.upper >= opinion.upper - 1e-12).all()


def test_an_opinion_without_evidence_stays_vacuous():
    some = replace(learn_calibrator(*timid(200, 3)), offsets=np.array([2.0, 0.0, -1.0]))
    plain = combine(np.zeros((1, 4, 3)))
    opinion = some.opinion(plain)
    np.testing.assert_allclose(opinion.probability, 1 / 3)
    assert (opinion.lower == 0).all()
    assert (opinion.upper == 1).all()


def test_logarithms_are_finite():
    assert np.isfinite(log_shares(np.array([[1.0, 0.0]]))).all()
