"""Predicted distributions: their parts agree with each other, with quantiles and intervals, and with integrals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.integrate import trapezoid
from scipy.stats import kstest

import hedgerow
from hedgerow import DecisionTreeRegressor, RandomForestRegressor
from hedgerow.metrics import crps
from hedgerow.tasks.regression.distribution import ScaledDistribution
from hedgerow.tasks.regression.oob import Residuals, TreeMoments

Floats = NDArray[np.float64]
METHODS = ["scaled", "leaves"]
LEVELS = np.array([0.05, 0.3, 0.5, 0.77, 0.95])


def rows(n_rows: int, seed: int) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n_rows, 3))
    return X, np.sin(2 * X[:, 0]) + rng.normal(size=n_rows) * (0.2 + 0.3 * (X[:, 1] > 0))


@pytest.fixture(scope="module")
def forest() -> RandomForestRegressor:
    weights = np.random.default_rng(9).uniform(0.5, 2, 300)
    return RandomForestRegressor(30, min_samples_leaf=3, random_state=0).fit(*rows(300, 0), weights)


@pytest.fixture(params=METHODS)
def distribution(request: Any, forest: Any) -> Any:
    return forest.predict_distribution(rows(40, 1)[0], method=request.param)


def integrated(distribution: Any, y: Floats) -> tuple[Floats, Floats, Floats]:
    """Mean, variance and score of each sample, by brute force on a fine grid."""
    grid = np.linspace(-8, 8, 32_001)
    share = distribution.cdf(grid)
    mean = grid[-1] - trapezoid(share, grid, axis=1)
    square = grid[-1] ** 2 - trapezoid(2 * grid * share, grid, axis=1)
    step = grid[None] >= y[:, None]
    return mean, square - mean**2, trapezoid((share - step) ** 2, grid, axis=1)


# ---- the parts of a distribution -------------------------------------------------------------------------------


def test_moments_and_scores_are_integrals_of_the_distribution(distribution: Any) -> None:
    y = rows(40, 1)[1]
    mean, variance, score = integrated(distribution, y)
    assert distribution.mean == pytest.approx(mean, abs=2e-3)
    assert distribution.std**2 == pytest.approx(variance, abs=4e-3)
    assert distribution.crps(y) == pytest.approx(score, abs=2e-3)


def test_scores_of_targets_outside_the_support(distribution: Any) -> None:
    y = np.where(np.arange(40) % 2, -7.0, 7.0)
    assert distribution.crps(y) == pytest.approx(integrated(distribution, y)[2], abs=2e-3)


def test_quantiles_invert_the_distribution(distribution: Any) -> None:
    for level in LEVELS:
        at = distribution.ppf(level)
        assert (distribution.pit(at) >= level - 1e-12).all()
        assert (distribution.pit(at - 1e-6) <= level + 1e-3).all()
    assert (np.diff(distribution.ppf(LEVELS), axis=1) >= 0).all()


def test_shapes(distribution: Any) -> None:
    assert len(distribution) == 40
    assert distribution.cdf(0.0).shape == distribution.ppf(0.5).shape == (40,)
    assert distribution.cdf([0.0, 1.0]).shape == distribution.ppf([0.1, 0.9]).shape == (40, 2)
    assert distribution.interval(0.8).shape == (40, 2)


def test_bins_add_up(distribution: Any) -> None:
    bins = distribution.histogram(np.linspace(-9, 9, 50))
    assert (bins >= 0).all()
    assert bins.sum(axis=1) == pytest.approx(np.ones(40))


def test_draws_follow_the_distribution(distribution: Any) -> None:
    drawn = distribution.sample(4000, random_state=0)
    for value in (-0.5, 0.4):
        assert (drawn <= value).mean(axis=1) == pytest.approx(distribution.cdf(value), abs=0.04)
    assert drawn.tolist() == distribution.sample(4000, random_state=0).tolist()


# ---- quantiles, intervals and distributions agree ----------------------------------------------------------------


def test_the_scaled_distribution_has_the_quantiles_and_intervals_of_the_forest(forest: Any) -> None:
    X, _ = rows(40, 1)
    distribution = forest.predict_distribution(X)
    assert distribution.ppf(LEVELS).tolist() == forest.predict_quantiles(X, LEVELS, method="scaled").tolist()
    assert distribution.interval(0.9).tolist() == forest.predict_interval(X, 0.9).tolist()
    lower, upper = distribution.interval(0.8).T
    assert (distribution.pit(upper) - distribution.pit(lower) >= 0.8 - 0.01).all()
    extremes = distribution.ppf([0.0, 1.0])
    assert np.isfinite(extremes).all()
    assert np.isinf(forest.predict_quantiles(X, [0.0, 1.0], method="scaled")).all()


@pytest.mark.parametrize("weighting", ["tree", "row"])
def test_the_leaf_distribution_has_the_quantiles_and_ranks_of_the_forest(forest: Any, weighting: str) -> None:
    X, y = rows(40, 1)
    distribution = forest.predict_distribution(X, method="leaves", weighting=weighting)
    expected = forest.predict_quantiles(X, LEVELS, weighting=weighting, interpolation="inverse")
    assert distribution.ppf(LEVELS).tolist() == expected.tolist()
    ranks = forest.quantile_ranks(X, y, weighting=weighting, kind="weak")
    assert distribution.pit(y).tolist() == ranks.tolist()


def test_the_mean_of_leaves_is_the_prediction(forest: Any) -> None:
    X, _ = rows(40, 1)
    assert forest.predict_distribution(X, method="leaves").mean == pytest.approx(forest.predict(X))


def test_training_rows_are_out_of_bag() -> None:
    X, y = rows(300, 0)
    forest = RandomForestRegressor(30, random_state=0).fit(X, y)
    known = forest.predict_distribution(None, method="leaves").pit(y)
    assert kstest(known, "uniform").statistic < 0.2  # in bag, few ranks would be below 0.4


def test_scaled_distributions_are_calibrated() -> None:
    forest = RandomForestRegressor(100, random_state=0).fit(*rows(2000, 2))
    X, y = rows(2000, 3)
    assert kstest(forest.predict_distribution(X).pit(y), "uniform").statistic < 0.05


# ---- constructed distributions -------------------------------------------------------------------------------------


@given(st.lists(st.floats(-3, 3), min_size=1, max_size=12), st.lists(st.floats(-5, 5), min_size=1, max_size=4))
def test_scores_of_any_residuals(scaled: list[float], targets: list[float]) -> None:
    """Ties, single residuals and targets at knots included; the grid contains every knot twice, as a step."""
    knots, y = np.sort(scaled), np.array(targets)
    ones = np.ones(len(y))
    residuals = Residuals(np.abs(knots), np.zeros((len(knots), 1), dtype=np.uint8), 1, knots, 0.0)
    distribution = ScaledDistribution(TreeMoments(0 * ones, ones, 0 * ones), residuals)
    grid = np.unique(
        np.concatenate([np.linspace(-6, 6, 4_001), knots, np.nextafter(knots, -9), y, np.nextafter(y, -9)])
    )
    for i, target in enumerate(y):
        apart = distribution.cdf(grid)[i] - (grid >= target)  # linear between points of the grid
        left, right = apart[:-1], apart[1:]
        score = ((left**2 + left * right + right**2) / 3 * np.diff(grid)).sum()
        assert distribution.crps(y)[i] == pytest.approx(score, abs=1e-5)


def test_equal_targets_are_a_point() -> None:
    X, _ = rows(60, 0)
    distribution = RandomForestRegressor(10, random_state=0).fit(X, np.full(60, 3.0)).predict_distribution(X[:2])
    assert distribution.cdf([2.9, 3.0]).tolist() == [[0.0, 1.0]] * 2
    assert distribution.crps([3.0, 5.0]).tolist() == [0.0, 2.0]
    assert distribution.mean.tolist() == [3.0, 3.0]


# ---- models --------------------------------------------------------------------------------------------------------


def test_loaded_models_have_the_scaled_distribution(forest: Any, tmp_path: Any) -> None:
    X, y = rows(40, 1)
    hedgerow.save(forest, tmp_path / "m.hedge")
    loaded = hedgerow.load(tmp_path / "m.hedge")
    assert loaded.predict_distribution(X).crps(y).tolist() == forest.predict_distribution(X).crps(y).tolist()
    with pytest.raises(ValueError, match="leaf_rows"):
        loaded.predict_distribution(X, method="leaves")


def test_several_outputs_have_a_list() -> None:
    X, y = rows(100, 0)
    forest = RandomForestRegressor(10, random_state=0).fit(X, np.column_stack([y, -y]))
    one, other = forest.predict_distribution(X[:3])
    assert one.mean == pytest.approx(-other.mean, abs=0.5)


def test_wrong_arguments(forest: Any) -> None:
    X, y = rows(40, 1)
    distribution = forest.predict_distribution(X)
    for call, message in (
        (lambda: forest.predict_distribution(X, method="x"), "method must be one of"),
        (lambda: forest.predict_distribution(None), "X must be samples"),
        (lambda: forest.predict_distribution(X, method="leaves", weighting="x"), "weighting must be one of"),
        (lambda: distribution.ppf(1.5), "q must be numbers in"),
        (lambda: distribution.crps(y[:3]), "y must be 40 numbers"),
        (lambda: distribution.histogram([1.0]), "edges must be ascending"),
        (lambda: distribution.interval(1), "coverage must lie"),
        (lambda: DecisionTreeRegressor().fit(X, y).predict_distribution(X), "requires out-of-bag residuals"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


# ---- the score of weighted samples ----------------------------------------------------------------------------------


@given(
    st.lists(st.tuples(st.floats(-3, 3), st.integers(1, 4)), min_size=1, max_size=8),
    st.floats(-4, 4),
)
def test_the_score_is_half_of_mean_distances(atoms: list[tuple[float, int]], target: float) -> None:
    """E|X - y| - E|X - X'| / 2, over all pairs."""
    values, weights = np.array(atoms).T
    share = weights / weights.sum()
    pairs = np.abs(values[:, None] - values)
    expected = share @ np.abs(values - target) - share @ pairs @ share / 2
    assert crps([target], values[None], weights=weights[None]) == pytest.approx(expected, abs=1e-12)
    assert crps([target], np.repeat(values, weights.astype(int))[None]) == pytest.approx(expected, abs=1e-12)


def test_a_single_value_has_its_absolute_error() -> None:
    assert crps([1.0, 2.0], [[3.0], [2.5]], sample_weight=[1, 3]) == pytest.approx((2 + 3 * 0.5) / 4)


@pytest.mark.parametrize(
    ("values", "weights"), [([1.0, 2.0], None), ([[1.0, 2.0]], [[1.0]]), ([[1.0, 2.0]], [[0.0, 0.0]])]
)
def test_wrong_samples(values: Any, weights: Any) -> None:
    with pytest.raises(ValueError, match=r"values must have shape|weights must be"):
        crps([1.0], values, weights=weights)
