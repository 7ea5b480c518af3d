"""Boxes that cover all outputs of a row together."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from numpy.typing import NDArray

from hedgerow import RandomForestRegressor
from hedgerow.inference.fitted import fitted_of
from hedgerow.inference.predictor import predictor_of

Floats = NDArray[np.float64]


def draw(rng: np.random.Generator, n_rows: int, n_outputs: int, shared: float) -> tuple[Floats, Floats]:
    """Targets with heavy tails, noise that grows with the first column, and a part of it common to all outputs."""
    X = rng.uniform(-1, 1, size=(n_rows, 3))
    common, own = rng.standard_t(3, size=(n_rows, 1)), rng.normal(size=(n_rows, n_outputs))
    noise = (shared * common + (1 - shared) * own) * (1.2 + X[:, :1])
    return X, 2 * X[:, :1] * np.arange(1, n_outputs + 1) + noise * 10.0 ** np.arange(n_outputs)


def inside(boxes: list[Floats], y: Floats) -> NDArray[np.bool_]:
    ends = np.stack(boxes, axis=1)
    return np.asarray(((ends[..., 0] <= y) & (y <= ends[..., 1])).all(axis=1))


@pytest.mark.parametrize(("n_outputs", "shared"), [(2, 0.0), (2, 1.0), (4, 0.5)])
def test_coverage_of_new_rows(n_outputs: int, shared: float) -> None:
    """Over 40 tables, the mean coverage is within three standard errors of at least the target."""
    rng = np.random.default_rng([7, n_outputs])
    found = []
    for seed in range(40):
        X, y = draw(rng, 150, n_outputs, shared)
        forest = RandomForestRegressor(30, min_samples_leaf=3, random_state=seed).fit(X, y)
        fresh, truth = draw(rng, 400, n_outputs, shared)
        found.append(inside(forest.predict_interval(fresh, 0.8, method="joint"), truth).mean())
    error = np.std(found, ddof=1) / math.sqrt(len(found))
    assert np.mean(found) > 0.8 - 3 * error
    assert np.mean(found) < 0.85


X, Y = draw(np.random.default_rng(0), 200, 3, 0.3)
FOREST = RandomForestRegressor(25, min_samples_leaf=2, random_state=0).fit(X, Y)


def test_sides_are_the_quantile_of_the_largest_scaled_residual() -> None:
    """The twin computes every out-of-bag mean, spread and residual in a loop."""
    rows = fitted_of(FOREST).rows
    assert rows is not None
    oob, largest, ends = rows.bags.oob_each(25, np.arange(200)), np.zeros(200), []
    for output, y in zip(map(predictor_of, FOREST.outputs_), Y.T, strict=True):
        at = output.forest.leaves(rows.codes, 1) + output.forest.leaf_start[:-1]
        values, noise = output.forest.values[at], output.forest.variances[at]
        means = np.array([one[out].mean() for one, out in zip(values, oob, strict=True)])
        spare = 0.03 * np.mean((y - means) ** 2)
        for row, out in enumerate(oob):
            spread = math.sqrt(values[row][out].var(ddof=1) + noise[row][out].mean() + spare)
            largest[row] = max(largest[row], abs(y[row] - means[row]) / spread)
        ends.append((values.mean(axis=1), np.sqrt(values.var(axis=1, ddof=1) + noise.mean(axis=1) + spare)))
    radius = np.sort(largest)[math.ceil(0.9 * 201) - 1]
    for (mean, spread), box in zip(ends, FOREST.predict_interval(X, 0.9, method="joint"), strict=True):
        assert box == pytest.approx(np.column_stack([mean - radius * spread, mean + radius * spread]))


def test_boxes_are_nested_and_infinite_for_few_rows() -> None:
    narrow, wide = (FOREST.predict_interval(X[:9], coverage, method="joint") for coverage in (0.5, 0.95))
    for inner, outer in zip(narrow, wide, strict=True):
        assert (outer[:, 0] <= inner[:, 0]).all()
        assert (inner[:, 1] <= outer[:, 1]).all()
    few = RandomForestRegressor(20, random_state=0).fit(X[:10], Y[:10])
    assert np.isinf(few.predict_interval(X[:2], 0.99, method="joint")).all()


def test_a_pickle_has_the_box_that_was_computed() -> None:
    found = FOREST.predict_interval(X[:5], 0.9, method="joint")
    again = pickle.loads(pickle.dumps(FOREST)).predict_interval(X[:5], 0.9, method="joint")
    assert np.array_equal(found, again)


def test_what_it_requires() -> None:
    single = RandomForestRegressor(5, random_state=0).fit(X, Y[:, 0])
    with pytest.raises(ValueError, match="requires a multi-output model"):
        single.predict_interval(X, method="joint")
    trees = RandomForestRegressor(5, bootstrap=False, random_state=0).fit(X, Y)
    with pytest.raises(AttributeError, match="bootstrap"):
        trees.predict_interval(X, method="joint")
