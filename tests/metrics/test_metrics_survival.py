"""Metrics of survival: by definition, and equal to those of scikit-survival and lifelines where they are installed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import survival as twin

from hedgerow import metrics

AT = np.array([1.0, 2.5, 4.0])


def sample(seed: int, n: int = 40) -> Any:
    """Times from 1 to 8 with ties, or without; the last one is censored, so that G is positive before."""
    rng = np.random.default_rng(seed)
    times = rng.integers(1, 9, n).astype(float) if seed % 2 else rng.exponential(4, n)
    events = rng.random(n) < 0.6
    events[:2] = True
    return times, events, rng.integers(0, 9, n).astype(float)


def pair_of_samples(seed: int) -> Any:
    """A training sample that outlasts the test sample, and the test sample with its risks."""
    times, events, _ = sample(seed, 60)
    test_times, test_events, risk = sample(seed + 1000)
    return (np.append(times, 100.0), np.append(events, False)), (test_times, test_events), risk


@pytest.mark.parametrize("seed", range(6))
def test_metrics_follow_their_definitions(seed: int) -> None:
    train, test, risk = pair_of_samples(seed)
    survival = np.sort(np.random.default_rng(seed).random((len(risk), 3)))[:, ::-1]
    assert metrics.harrell_c(test, risk) == pytest.approx(twin.harrell(*test, risk), abs=1e-12)
    for tau in (None, 4.0):
        expected = twin.uno(train, test, risk, np.inf if tau is None else tau)
        assert metrics.uno_c(test, risk, y_train=train, tau=tau) == pytest.approx(expected, abs=1e-12)
    expected = twin.brier(train, test, survival, AT)
    assert np.allclose(metrics.survival_brier(test, survival, AT, y_train=train), expected, rtol=0, atol=1e-12)
    assert metrics.integrated_brier(test, survival, AT, y_train=train) == pytest.approx(np.trapezoid(expected, AT) / 3)
    found = metrics.dynamic_auc(test, risk, AT, y_train=train)
    assert np.allclose(found.auc, twin.auc(train, test, risk, AT), rtol=0, atol=1e-12)
    own = np.random.default_rng(seed).random(len(risk))
    calibrated = metrics.d_calibration(test, own)
    assert np.allclose(calibrated.counts, twin.d_calibration(own, test[1]), rtol=0, atol=1e-10)
    assert calibrated.statistic == pytest.approx(((calibrated.counts - 4) ** 2).sum() / 4)


@pytest.mark.parametrize("seed", range(6))
def test_metrics_equal_those_of_scikit_survival(seed: int) -> None:
    peer = pytest.importorskip("sksurv.metrics", reason="scikit-survival is not installed")
    from sksurv.util import Surv

    train, test, risk = pair_of_samples(seed)
    y_train, y = (Surv.from_arrays(events, times) for times, events in (train, test))
    survival = np.sort(np.random.default_rng(seed).random((len(risk), 3)))[:, ::-1]
    pairs = [
        (metrics.harrell_c(y, risk), peer.concordance_index_censored(test[1], test[0], risk)[0]),
        (metrics.uno_c(y, risk, y_train=y_train, tau=4.0), peer.concordance_index_ipcw(y_train, y, risk, tau=4.0)[0]),
        (metrics.survival_brier(y, survival, AT, y_train=y_train), peer.brier_score(y_train, y, survival, AT)[1]),
        (
            metrics.integrated_brier(y, survival, AT, y_train=y_train),
            peer.integrated_brier_score(y_train, y, survival, AT),
        ),
        (metrics.dynamic_auc(y, risk, AT, y_train=y_train).auc, peer.cumulative_dynamic_auc(y_train, y, risk, AT)[0]),
        (metrics.dynamic_auc(y, risk, AT, y_train=y_train).mean, peer.cumulative_dynamic_auc(y_train, y, risk, AT)[1]),
        (
            metrics.dynamic_auc(y, 1 - survival, AT, y_train=y_train).auc,
            peer.cumulative_dynamic_auc(y_train, y, 1 - survival, AT)[0],
        ),
    ]
    for ours, theirs in pairs:
        assert np.allclose(ours, theirs, rtol=0, atol=1e-9)


def test_harrell_equals_lifelines() -> None:
    """Without ties in time, about which lifelines has another convention."""
    peer = pytest.importorskip("lifelines.utils", reason="lifelines is not installed")
    times, events, risk = sample(4, 80)
    assert metrics.harrell_c((times, events), risk) == pytest.approx(peer.concordance_index(times, -risk, events))


@given(st.integers(0, 2**31), st.integers(2, 70))
@settings(max_examples=40, deadline=None)
def test_concordance_of_any_ties(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    times, risk = rng.integers(0, 6, n).astype(float), rng.integers(-3, 4, n) / 2
    events = rng.random(n) < 0.5
    events[times.argmin()] = True
    if not any(twin.comparable(times, events, row).any() for row in np.flatnonzero(events)):
        assert np.isnan(metrics.harrell_c((times, events), risk))
        return
    expected = twin.harrell(times, events, risk)
    assert metrics.harrell_c((times, events), risk) == pytest.approx(expected)
    assert metrics.harrell_c((times, events), -risk) == pytest.approx(1 - expected)


def test_perfect_curves_of_uncensored_rows() -> None:
    times, events = np.array([1.0, 2, 3, 4]), np.ones(4, dtype=bool)
    survival = times[:, None] > AT
    assert metrics.integrated_brier((times, events), survival, AT) == 0
    assert metrics.harrell_c((times, events), -times) == 1
    assert (metrics.dynamic_auc((times, events), -times, AT[:2]).auc == 1).all()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda y: metrics.survival_brier(y, np.ones((3, 1)), [1.0, 2.0]), "survival must have shape"),
        (lambda y: metrics.survival_brier(y, np.ones((3, 2)), [2.0, 1.0]), "ascending"),
        (lambda y: metrics.integrated_brier(y, np.ones((3, 1)), [1.0]), "at least two"),
        (lambda y: metrics.harrell_c(y, [1.0, np.nan, 2.0]), "without NaN"),
        (lambda y: metrics.d_calibration(y, [0.5, 1.5, 0.2]), "from 0 to 1"),
        (lambda y: metrics.uno_c(y, [1, 2, 3], y_train=([1.0, 2.0], [True, False])), "all rows of y_train"),
    ],
)
def test_wrong_arguments_raise(call: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call(([1.0, 2.0, 3.0], [True, False, True]))
