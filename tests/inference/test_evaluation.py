"""Judgement: what blocks of rows say together is what all rows say at once."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow import RandomForestClassifier
from hedgerow.inference.predictor import predictor_of
from hedgerow.table import Factors, NamedColumns
from hedgerow.table.groups import group_rows
from hedgerow.tasks.classification import evaluation


def test_blocks_of_rows_are_judged_like_all_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    colour = Factors(rng.integers(-1, 3, 100).astype(np.int32), np.array(["red", "green", "blue"], dtype=object))
    table = NamedColumns(("size", "colour"), [rng.normal(size=100), colour])
    y = np.array(["no", "yes"])[(table.listed[0] + colour.codes > 0.5).astype(int)]
    model = RandomForestClassifier(10, random_state=0).fit(table.some(slice(0, 60)), y[:60])
    table.listed[0][70] = 1e6  # farther outside than any training row: the opinion is open
    monkeypatch.setattr(evaluation, "EVALUATED_ROWS", 17)
    judged = predictor_of(model).evaluate(table, y)
    now = predictor_of(model)
    opinion = now.opinion(now.read(table))
    np.testing.assert_array_equal(judged.probability, opinion.probability)
    np.testing.assert_array_equal(judged.sets, now.decide(opinion))
    assert judged.tally.n_rows == 100


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["b", "a", None, "b"], {"a": [1], "b": [0, 3], "missing": [2]}),
        ([2.0, np.nan, 10.0, 2.0], {"2": [0, 3], "10": [2], "missing": [1]}),
        ([True, False, True, True], {"False": [1], "True": [0, 2, 3]}),
    ],
)
def test_rows_with_the_same_value_are_a_group(values, expected) -> None:
    groups = group_rows("x", np.array(values, dtype=object if isinstance(values[0], str) else None))
    assert {name: np.flatnonzero(rows).tolist() for name, rows in groups.items()} == expected


def test_many_numbers_are_four_groups_that_hold_each_row_once() -> None:
    numbers = np.append(np.random.default_rng(0).normal(size=101), np.nan)
    groups = group_rows("x", numbers)
    assert list(groups)[-1] == "missing"
    assert len(groups) == 5
    assert (np.sum(list(groups.values()), axis=0) == 1).all()
    assert [int(rows.sum()) for rows in list(groups.values())[:4]] == [26, 25, 25, 25]


def test_many_texts_are_no_groups() -> None:
    with pytest.raises(ValueError, match="by must be a column of at most 50 groups, got 'x' with 51"):
        group_rows("x", np.array([f"t{i}" for i in range(51)], dtype=object))
