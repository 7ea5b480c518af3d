"""Binned: columns that are read one after another give the codes of the whole table."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from hedgerow import RandomDecisionTreesClassifier, RandomForestClassifier, RandomForestRegressor
from hedgerow.params.resolve import how_to_bin
from hedgerow.table import Factors, NamedColumns, binned, read_training_table
from hedgerow.table.binned import bin_columns, bins_and_codes


def columns_of(n_rows: int, seed: int = 0) -> dict[str, Any]:
    """Numbers, few and many of them, with gaps, whole numbers, booleans, texts, nothing."""
    rng = np.random.default_rng(seed)
    texts = np.array(["red", "green", "blue"], dtype=object)
    return {
        "fine": rng.normal(size=n_rows),
        "gaps": np.where(rng.random(n_rows) < 0.2, np.nan, rng.normal(size=n_rows).round(1)),
        "whole": rng.integers(0, 9, n_rows),
        "truth": rng.random(n_rows) < 0.5,
        "colour": Factors(rng.integers(-1, 3, n_rows), texts),
        "nothing": np.full(n_rows, np.nan),
    }


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("width", [1, 4, 100])
@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize(
    ("n_rows", "max_bins"), [(1, "auto"), (200, "auto"), (900, "auto"), (5_000, "auto"), (5_000, None)]
)
def test_codes_bins_and_schema_are_those_of_the_whole_table(
    n_rows: int, max_bins: Any, gaps: bool, width: int, order: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(binned, "block_width", lambda n_rows: width)
    given = dict(list(columns_of(n_rows).items())[::order])
    whole = read_training_table(NamedColumns(tuple(given), list(given.values())))
    bins, codes = bins_and_codes(whole, max_bins=max_bins, gaps=gaps)
    found = bin_columns(tuple(given), iter(given.values()), n_rows, max_bins=max_bins, gaps=gaps, n_threads=2)
    assert found.schema == whole.schema
    assert found.codes.dtype == codes.dtype
    np.testing.assert_array_equal(found.codes, codes)
    for name, values in vars(bins).items():
        np.testing.assert_array_equal(getattr(found.bins, name), values, strict=True)


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(30, oob_score=True, random_state=0),
        RandomDecisionTreesClassifier(3, random_state=0),
        RandomForestRegressor(3, max_bins=None, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_fit_takes_codes_like_any_other_table(model: Any) -> None:
    given = columns_of(700)
    y = (given["fine"] + given["whole"] > 4).astype(int)
    whole = NamedColumns(tuple(given), list(given.values()))
    expected = model.fit(whole, y).predict(whole)
    model.fit(bin_columns(tuple(given), iter(given.values()), 700, **how_to_bin(model)), y)
    np.testing.assert_array_equal(model.predict(whole), expected)


def test_columns_are_let_go_when_they_are_encoded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binned, "block_width", lambda n_rows: 2)
    alive: list[Any] = []
    most = 0

    def columns() -> Iterator[Any]:
        nonlocal most
        for seed in range(10):
            column = np.random.default_rng(seed).normal(size=50)
            alive.append(weakref.ref(column))
            gc.collect()
            most = max(most, sum(each() is not None for each in alive))
            yield column
            del column

    bin_columns(tuple("abcdefghij"), columns(), 50)
    assert most <= 3  # those of a batch, and the first of the next
