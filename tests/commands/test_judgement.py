"""Judgement: what blocks of rows say together is what all rows say at once."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow import RandomForestClassifier
from hedgerow.commands import judgement
from hedgerow.judge.answer import answers_of
from hedgerow.table import Factors, NamedColumns


def test_blocks_of_rows_are_judged_like_all_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    colour = Factors(rng.integers(-1, 3, 100).astype(np.int32), np.array(["red", "green", "blue"], dtype=object))
    table = NamedColumns(("size", "colour"), [rng.normal(size=100), colour])
    y = np.array(["no", "yes"])[(table.listed[0] + colour.codes > 0.5).astype(int)]
    model = RandomForestClassifier(10, random_state=0).fit(table.some(slice(0, 60)), y[:60])
    table.listed[0][70] = 1e6  # farther outside than any training row: the opinion is open
    monkeypatch.setattr(judgement, "BLOCK_ROWS", 17)
    judged = judgement.judge_classes(model, table, y)
    now = answers_of(model)
    opinion = now.opinion(now.read(table))
    np.testing.assert_array_equal(judged.probability, opinion.probability)
    np.testing.assert_array_equal(judged.sets, now.chosen(opinion))
    assert judged.tally.n_rows == 100
