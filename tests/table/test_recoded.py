"""Recoded: a column kept as the bins of a model gives the answers that the column itself gives."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import hedgerow
from hedgerow.inference.fitted import fitted_of
from hedgerow.table import NamedColumns
from hedgerow.table.binned import CompactColumn, compacted

NAMES = ("plain", "rounded", "gaps", "tails", "constant", "empty")
QUESTIONS = ["predict_proba", "predict_bounds", "predict_set", "predict_confidence", "predict_novelty"]


def columns(seed: int, n_rows: int) -> list[Any]:
    """Numbers of several kinds; "tails" has infinities, "rounded" whole numbers."""
    rng = np.random.default_rng(seed)
    plain, gaps = rng.normal(size=(2, n_rows))
    gaps[rng.random(n_rows) < 0.2] = np.nan
    tails = np.exp(3 * rng.normal(size=n_rows))
    tails[rng.random(n_rows) < 0.002] = np.inf
    return [plain, rng.integers(0, 9, n_rows), gaps, tails, np.full(n_rows, 3.0), np.full(n_rows, np.nan)]


@cache
def model(max_bins: int | str = "auto", novelty: float | None = None) -> Any:
    """A forest of so many rows that not every value is a bin."""
    given = columns(0, 6000)
    y = (given[0] + 0.1 * given[1] > np.where(np.isnan(given[2]), 0.5, given[2])).astype(int)
    forest = hedgerow.RandomForestClassifier(8, max_bins=max_bins, novelty=novelty, random_state=0)
    return forest.fit(NamedColumns(NAMES, given), y)


def later() -> list[Any]:
    """Columns with numbers inside, outside and far outside the training range, and gaps where there were none."""
    given = columns(1, 3000)
    given[0][::50], given[0][7::50], given[0][3::50] = 1e6, -5.5, np.nan
    given[1] = given[1] + 4
    given[4][::9] = 2.5
    return given


@pytest.mark.parametrize("max_bins", ["auto", 300])
@pytest.mark.parametrize("novelty", [None, 0.1])
def test_answers_are_those_about_the_column_itself(max_bins: int | str, novelty: float | None) -> None:
    forest, given = model(max_bins, novelty), later()
    codebook = fitted_of(forest).codebook
    short = [compacted(column, feature, codebook) for feature, column in enumerate(given)]
    assert [isinstance(column, CompactColumn) for column in short] == [True, False, True, True, True, True]
    whole, kept = NamedColumns(NAMES, given), NamedColumns(NAMES, short)
    for asked in QUESTIONS:
        answer = getattr(forest, asked)
        expected, found = (np.asarray(answer(table)) for table in (whole, kept))
        assert found.tobytes() == expected.tobytes(), asked
        part = slice(100, 1300)
        assert np.asarray(answer(kept.some(part))).tobytes() == np.asarray(answer(whole.some(part))).tobytes(), asked


def test_numbers_outside_the_range_come_back_and_others_within_their_bin() -> None:
    column = later()[0]
    found = compacted(column, 0, fitted_of(model()).codebook)
    low, high = fitted_of(model()).codebook.range_of(0)
    outside = (column < low) | (column > high)
    assert outside.any()
    np.testing.assert_array_equal(found[:][outside], column[outside])
    np.testing.assert_array_equal(np.isnan(found[:]), np.isnan(column))
    assert np.nanmax(np.abs(found[:] - column)) < (high - low) / 10
    rows = np.array([7, 0, 7, 2999])
    np.testing.assert_array_equal(found[rows], found[:][rows])


def test_a_model_that_knows_every_value_gets_the_numbers() -> None:
    given = columns(0, 500)
    small = hedgerow.RandomForestClassifier(3, random_state=0).fit(NamedColumns(NAMES, given), given[0] > 0)
    assert compacted(given[0], 0, fitted_of(small).codebook) is given[0]
