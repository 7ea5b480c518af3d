"""Rejecting the least sure rows: curves and their area."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from hedgerow.metrics import accuracy_rejection_curve, area_under_accuracy_rejection, risk_coverage_curve


@st.composite
def predictions(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """-> y, predicted, confidence, (n,) each, confidence often tied."""
    n_rows = draw(st.integers(1, 15))
    y = draw(arrays(np.int64, n_rows, elements=st.integers(0, 2)))
    predicted = draw(arrays(np.int64, n_rows, elements=st.integers(0, 2)))
    return y, predicted, draw(arrays(np.int64, n_rows, elements=st.integers(0, 5))) / 5


@settings(max_examples=60)
@given(predictions())
def test_each_point_is_the_accuracy_of_the_rows_at_least_that_sure(case):
    y, predicted, confidence = case
    curve = accuracy_rejection_curve(*case)
    assert curve.confidence.tolist() == sorted(set(confidence))
    for rejection, accuracy, level in zip(*curve, strict=True):
        kept = confidence >= level
        assert rejection == pytest.approx(1 - kept.mean(), abs=1e-14)
        assert accuracy == pytest.approx((y == predicted)[kept].mean(), abs=1e-14)


@settings(max_examples=60)
@given(predictions())
def test_risk_against_coverage_is_the_same_curve_from_the_other_end(case):
    accepted, rejected = risk_coverage_curve(*case), accuracy_rejection_curve(*case)
    np.testing.assert_allclose(accepted.coverage, 1 - rejected.rejection[::-1], atol=1e-14)
    np.testing.assert_allclose(accepted.risk, 1 - rejected.accuracy[::-1], atol=1e-14)
    assert accepted.confidence.tolist() == rejected.confidence[::-1].tolist()


@settings(max_examples=30)
@given(predictions())
def test_the_area_is_the_integral_of_the_accuracy(case):
    y, predicted, confidence = case
    area = area_under_accuracy_rejection(*case)
    right = np.array([(y == predicted)[confidence == level].sum() for level in sorted(set(confidence))[::-1]])
    size = np.array([(confidence == level).sum() for level in sorted(set(confidence))[::-1]])
    # Midpoints of a fine grid of the number of rows kept; accuracy is right(kept) / kept.
    kept = (np.arange(200_000) + 0.5) / 200_000 * len(y)
    answered = np.interp(kept, [0, *np.cumsum(size)], [0, *np.cumsum(right)])
    assert area == pytest.approx((answered / kept).mean(), abs=1e-7)


def test_the_area_does_not_depend_on_the_order_of_tied_rows():
    y, predicted, confidence = np.array([0, 1, 0, 1]), np.array([0, 1, 1, 1]), np.array([0.9, 0.5, 0.5, 0.5])
    areas = {
        area_under_accuracy_rejection(y[list(order)], predicted[list(order)], confidence[list(order)])
        for order in permutations(range(4))
    }
    assert len(areas) == 1


def test_equal_confidence_makes_the_area_the_accuracy():
    assert area_under_accuracy_rejection([0, 1, 1], [0, 1, 0], [0.5] * 3) == pytest.approx(2 / 3)


def test_sureness_of_what_is_right_makes_the_area_larger():
    y, predicted = [0, 0, 1, 1], [0, 0, 0, 1]
    good = area_under_accuracy_rejection(y, predicted, [3, 3, 1, 3])
    bad = area_under_accuracy_rejection(y, predicted, [1, 1, 3, 1])
    assert bad < 0.75 < good < 1


@settings(max_examples=40)
@given(predictions(), st.data())
def test_a_weight_is_a_repetition(case, data):
    weight = data.draw(arrays(np.int64, len(case[0]), elements=st.integers(0, 3)).filter(np.any))
    repeated = [np.repeat(part, weight) for part in case]
    for function in (accuracy_rejection_curve, risk_coverage_curve):
        for a, b in zip(function(*case, sample_weight=weight), function(*repeated), strict=True):
            np.testing.assert_allclose(a, b, atol=1e-13)
    area = area_under_accuracy_rejection(*case, sample_weight=weight)
    assert area == pytest.approx(area_under_accuracy_rejection(*repeated), abs=1e-12)


@pytest.mark.parametrize(
    ("case", "words"),
    [
        (([0, 1], [0, 1], [0.5]), r"got \(2,\), \(2,\) and \(1,\)"),
        (([], [], []), "with n >= 1"),
        (([0, 1], [0, 1], [0.5, np.nan]), "got NaN in 1 rows"),
    ],
)
def test_what_makes_no_curve_is_refused(case, words):
    for function in (accuracy_rejection_curve, area_under_accuracy_rejection, risk_coverage_curve):
        with pytest.raises(ValueError, match=words):
            function(*case)
