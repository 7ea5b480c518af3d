"""Mean over leaves: numbers of the leaves that a few rows reach give the bits that those of all leaves give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hedgerow
from hedgerow.forest.fold import FEW, mean_of_leaves
from hedgerow.inference.predictor import predictor_of

QUESTIONS = ["predict", "predict_interval", "predict_uncertainty", "predict_bounds"]


def forest_and_rows(**parameters: Any) -> tuple[Any, Any]:
    """A regressor with many small leaves, and 400 rows; some have a gap or a number far outside."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 5))
    model = hedgerow.RandomForestRegressor(12, random_state=0, **parameters).fit(X, X[:, 0] * X[:, 1] + X[:, 2])
    rows = rng.normal(size=(400, 5))
    rows[::40, 3], rows[7::40, 1] = np.nan, 99.0
    return model, rows


@pytest.mark.parametrize("parameters", [{}, {"criterion": "absolute_error"}, {"min_samples_leaf": 12, "caution": 2.0}])
def test_one_row_is_answered_as_among_many(parameters: dict[str, Any]) -> None:
    model, rows = forest_and_rows(**parameters)
    assert FEW * 12 < model._fitted.forest.leaf_start[-1] < FEW * 12 * len(rows)
    for asked in QUESTIONS:
        together, alone = numbers(model, asked, rows), [numbers(model, asked, rows[i : i + 1]) for i in range(60)]
        assert np.concatenate(alone).tobytes() == together[:60].tobytes(), asked


def numbers(model: Any, asked: str, rows: Any) -> Any:
    """(n, …): what a model answers about n rows, one column for each part of the answer."""
    said = getattr(model, asked)(rows)
    return np.column_stack(said) if isinstance(said, tuple) else said.reshape(len(rows), -1)


def test_only_the_leaves_that_few_rows_reach_are_asked() -> None:
    model, rows = forest_and_rows()
    now, asked = predictor_of(model), []

    def says(at: Any) -> Any:
        asked.append(at)
        return np.column_stack([now.leaf_values[at], -0.0 * now.leaf_values[at]])

    few = mean_of_leaves(now.forest, now.read(rows[1:3]).codes, says)
    many = mean_of_leaves(now.forest, now.read(rows).codes, says)
    assert len(asked[0]) == 2 * 12
    assert asked[1] == slice(None)
    assert few.tobytes() == many[1:3].tobytes()
