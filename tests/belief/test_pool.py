"""Calibrators of several views: the minimum is that of a general solver, and one view is the ordinary calibrator."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize

from hedgerow.belief.calibrate import (
    GRID,
    MIX_COST,
    MIX_ROWS,
    OFFSET_COST,
    SLOPE_COST,
    Calibration,
    Views,
    _Loss,
    _PoolLoss,
    cross_fitted,
    learn_calibrator,
    log_shares,
)

FOUR = Views(2, (1, 5))


def rows(n: int, n_classes: int, views: Views, noise: float = 0.5, seed: int = 0):
    """Probabilities of views (n, V · K), each the truth with noise of its own, and labels drawn from the truth."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, 1.5, (n, n_classes))
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    labels = (rng.random(n)[:, None] > shares.cumsum(axis=1)).sum(axis=1).clip(max=n_classes - 1)
    seen = (
        logits[:, None] + rng.normal(0, noise, (n, views.number, n_classes)) * np.arange(1, views.number + 1)[:, None]
    )
    each = np.exp(seen) / np.exp(seen).sum(axis=2, keepdims=True)
    return each.reshape(n, -1), labels


def objective(probability, labels, n_classes, views, t, mix, offsets):
    """The loss as it is written in the documentation, row by row."""
    logs = log_shares(probability, n_classes).reshape(len(labels), views.number, n_classes)
    loss = 0.0
    for row, label in zip(logs, labels, strict=True):
        scores = t @ row + row[:: len(views.least)].mean(axis=0) @ mix + offsets
        loss += np.logaddexp.reduce(scores) - scores[label]
    cost = MIX_COST * max(1.0, MIX_ROWS * n_classes**2 / len(labels))
    loss += SLOPE_COST * ((t.sum() - 1) ** 2 + ((t - t.sum() / len(t)) ** 2).sum())
    return loss + cost * (mix**2).sum() + OFFSET_COST * (offsets**2).sum()


def split(numbers, views, n_classes):
    end = views.number + n_classes**2
    return numbers[: views.number], numbers[views.number : end].reshape(n_classes, -1), numbers[end:]


@pytest.mark.parametrize("mixes", [True, False])
def test_the_gradient_is_that_of_finite_differences(mixes):
    probability, labels = rows(60, 3, FOUR)
    weights = np.random.default_rng(1).uniform(0.5, 2, 60)
    loss = _PoolLoss(probability, labels, weights, mixes=mixes, views=FOUR)
    numbers = np.random.default_rng(2).normal(0.3, 0.2, len(loss.numbers_of(None)))
    _, slopes = loss(numbers)
    np.testing.assert_allclose(slopes, approx_fprime(numbers, lambda x: loss(x)[0], 1e-6), atol=2e-4)


def test_the_loss_is_the_documented_one():
    probability, labels = rows(40, 3, FOUR)
    loss = _PoolLoss(probability, labels, None, mixes=True, views=FOUR)
    t, mix, offsets = split(np.random.default_rng(3).uniform(0, 0.5, 4 + 9 + 3), FOUR, 3)
    given = Calibration(float(t.sum()), mix, offsets, weights=t, views=FOUR)
    expected = objective(probability, labels, 3, FOUR, t, mix, offsets)
    assert loss(loss.numbers_of(given))[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("noise", "binds"), [(0.2, False), (3.0, True)])
def test_the_minimum_is_that_of_a_general_solver(noise, binds):
    probability, labels = rows(150, 3, FOUR, noise)
    found = learn_calibrator(probability, labels, views=FOUR)

    def value(numbers):
        return objective(probability, labels, 3, FOUR, *split(numbers, FOUR, 3))

    start = np.concatenate([np.full(4, 0.5), np.zeros(12)])
    limits = [(0, None)] * 4 + [(None, None)] * 12
    least = {"type": "ineq", "fun": lambda numbers: numbers[:4].sum() - 1}
    options = {"maxiter": 300, "ftol": 1e-10}
    solved = minimize(value, start, method="SLSQP", bounds=limits, constraints=[least], options=options)
    ours = np.concatenate([found.weights, found.mix.ravel(), found.offsets])
    assert value(ours) <= solved.fun + 1e-3
    np.testing.assert_allclose(ours, solved.x, atol=0.02)
    assert (found.weights >= 0).all()
    assert found.slope == found.weights.sum() >= 1
    assert (found.slope < 1 + 10 * GRID) == binds


def test_one_view_is_the_ordinary_calibrator():
    one = Views(1, (1,))
    probability, labels = rows(300, 3, one)
    pooled, plain = learn_calibrator(probability, labels, views=one), learn_calibrator(probability, labels)
    loss, other = (
        _Loss(probability, labels, None, mixes=True),
        _PoolLoss(probability, labels, None, mixes=True, views=one),
    )
    numbers = loss.numbers_of(plain)
    assert other(numbers)[0] == pytest.approx(loss(numbers)[0], rel=1e-12)
    np.testing.assert_allclose(other(numbers)[1], loss(numbers)[1], atol=1e-8)
    np.testing.assert_allclose(pooled.of(probability), plain.of(probability), atol=2e-4)
    assert pooled.slope == pytest.approx(plain.slope, abs=1e-3)


def test_views_that_agree_share_the_slope():
    one, labels = rows(300, 2, Views(1, (1,)))
    found = learn_calibrator(np.tile(one, 4), labels, views=FOUR)
    np.testing.assert_allclose(found.weights, found.slope / 4, atol=2e-3)
    np.testing.assert_allclose(found.of(np.tile(one, 4)), found.of(one), atol=1e-12)


def test_a_good_view_gets_more_weight_than_noise():
    probability, labels = rows(500, 3, FOUR)
    assert np.argmax(learn_calibrator(probability, labels, views=FOUR).weights) == 0


def test_a_row_has_the_same_bits_alone_and_cross_fitting_leaves_it_out():
    probability, labels = rows(200, 3, FOUR)
    found = learn_calibrator(probability, labels, views=FOUR)
    together = found.of(probability)
    alone = np.concatenate([found.of(row[None]) for row in probability])
    np.testing.assert_array_equal(together, alone)
    crossed = cross_fitted(probability, labels, start=found, views=FOUR)
    np.testing.assert_allclose(crossed.sum(axis=1), 1)
    changed = labels.copy()
    changed[0] = (labels[0] + 1) % 3  # moves the row to another fold, but its own label never calibrates it
    assert (crossed != together).any(axis=1).all()
