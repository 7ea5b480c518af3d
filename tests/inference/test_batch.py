"""Batches: slicing slices every part, before and after it is computed; answers keep nothing of a call."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pandas as pd
import pytest

from hedgerow import RandomForestClassifier, UncertainTable
from hedgerow.inference.batch import Batch
from hedgerow.inference.predictor import predictor_of


def table(n_rows: int, seed: int) -> pd.DataFrame:
    """Two numbers and a ward."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {"a": rng.normal(size=n_rows), "b": rng.normal(size=n_rows), "ward": rng.choice(["n", "s", "w"], n_rows)}
    )


TRAIN = table(200, 0)
FOREST = RandomForestClassifier(20, random_state=0, novelty=0.1).fit(TRAIN, TRAIN.a + (TRAIN.ward == "n") > 0.3)
ROWS = table(12, 1)
ROWS.loc[2, "a"], ROWS.loc[5, "ward"], ROWS.loc[7, "b"] = 900.0, "violet", np.nan
ROWS.loc[9, ["a", "b", "ward"]] = [np.nan, np.nan, None]

SLICES: dict[str, Any] = {
    "slice": slice(1, 8),
    "step": slice(9, 0, -2),
    "none unseen": slice(0, 2),
    "empty": slice(3, 3),
    "any order": np.array([9, 2, 0, 5]),
    "repeated": np.array([5, 5, 1, 5]),
}


def parts_of(batch: Batch) -> dict[str, Any]:
    """Everything that a batch holds, as arrays; unseen values as a table of all rows."""
    unseen = np.zeros(batch.codes.shape, dtype=bool)
    if batch.unseen is not None:
        unseen[:, batch.unseen.rows] = batch.unseen.cells
    assert batch.novelty is not None
    return {"codes": batch.codes, "unseen": unseen, **batch.novelty._asdict(), "columns": np.array(batch.columns)}


@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("rows", SLICES.values(), ids=SLICES)
def test_a_slice_has_the_parts_of_its_rows(rows: Any, before: bool) -> None:
    now = predictor_of(FOREST)
    whole = parts_of(now.read(ROWS))
    batch = now.read(ROWS)
    if before:
        parts_of(batch)
    some = batch[rows]
    assert len(some) == len(np.arange(12)[rows])
    for name, found in parts_of(some).items():
        assert np.array_equal(found, whole[name][..., rows], equal_nan=True), name
    if len(some):
        assert np.array_equal(parts_of(some[::-1])["unseen"], whole["unseen"][:, rows][:, ::-1])
        alone = parts_of(now.read(ROWS.iloc[np.arange(12)[rows]]))
        assert all(np.array_equal(found, alone[name], equal_nan=True) for name, found in parts_of(some).items())


def test_a_slice_without_unseen_values_has_none() -> None:
    batch = predictor_of(FOREST).read(ROWS)
    assert batch.unseen is not None
    assert batch.unseen.rows.tolist() == [2, 5, 7, 9]
    assert batch[0:2].unseen is None
    assert Batch(batch.codes).unseen is None
    assert Batch(batch.codes)[1:3].novelty is None


@pytest.mark.parametrize("rows", SLICES.values(), ids=SLICES)
def test_a_slice_has_the_uncertain_cells_of_its_rows(rows: Any) -> None:
    known = {(0, "ward"): {"n", "s"}, (2, "b"): (0.0, 1.0), (5, "a"): {0.0: 1, 1.0: 3}, (5, "b"): (0.0, 3.0)}
    forest = RandomForestClassifier(20, random_state=0).fit(TRAIN, TRAIN.a > 0)
    now = predictor_of(forest)
    batch = now.read(UncertainTable(ROWS, known), uncertain=True)
    some = batch[rows]
    if len(some):
        assert np.array_equal(now.bounds(some), now.bounds(batch)[rows])
        assert np.array_equal(now.confidence(some), now.confidence(batch)[rows])
    numbers = np.arange(12)[rows].tolist()
    assert len(some.uncertain or ()) == sum(number == row for number in numbers for row, _ in known)


def test_probabilities_pay_neither_for_unseen_values_nor_for_novelty() -> None:
    now = predictor_of(FOREST)
    batch = now.read(ROWS)
    now.probability(batch)
    now.labels(batch)
    assert not {"unseen", "novelty", "columns"} & set(vars(batch))
    now.bounds(batch)
    assert {"unseen", "novelty"} <= set(vars(batch))


def test_threads_share_the_answers_of_a_model() -> None:
    now = predictor_of(FOREST)
    tables = [table(8, seed).assign(a=900.0 if seed % 2 else 0.0) for seed in range(40)]
    alone = [FOREST.predict_bounds(each) for each in tables]

    def ask(each: pd.DataFrame) -> Any:
        return now.bounds(now.read(each))

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(ask, tables))
    assert all(np.array_equal(one, other) for one, other in zip(found, alone, strict=True))
    assert not any(isinstance(value, Batch) for value in vars(now).values())
