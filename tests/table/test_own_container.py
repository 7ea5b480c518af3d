"""A container of one's own is one class with the methods of `Source`: a forest takes it through everything."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

import hedgerow
from hedgerow import RandomForestClassifier
from hedgerow.table import Factors, NamedColumns
from hedgerow.table.schema import Kind, ListedColumns, TableColumns

Run = tuple[Any, int]  # a value, and how often it is repeated


@dataclass
class Runs(NamedColumns):
    """TableColumns as runs of equal values; text is nominal, None is missing."""

    listed: list[list[Run]]  # type: ignore[assignment]
    container = "runs"

    @property
    def shape(self) -> tuple[int, int]:
        return sum(length for _, length in self.listed[0]), len(self.listed)

    def kinds(self) -> list[Kind]:
        return ["text" if nominal else "number" for nominal in self.nominal_by_type()]

    def nominal_by_type(self) -> list[bool]:
        return [any(isinstance(value, str) for value, _ in runs) for runs in self.listed]

    def factors(self, feature: int) -> Factors:
        cells = self._cells(feature)
        values = sorted({value for value in cells if value is not None})
        known = {value: code for code, value in enumerate(values)}
        return Factors(np.array([known.get(value, -1) for value in cells]), np.array(values, dtype=object))

    def columns(self, given: Mapping[int, np.ndarray]) -> TableColumns:
        numbers = {j: np.array(self._cells(j), dtype=float) for j in range(len(self.listed)) if j not in given}
        return ListedColumns([given.get(j, numbers.get(j)) for j in range(len(self.listed))], self.shape[0])

    def _cells(self, feature: int) -> list[Any]:
        return [value for value, length in self.listed[feature] for _ in range(length)]


def tables() -> tuple[Runs, pd.DataFrame, np.ndarray]:
    """The same table as runs and as a data frame, and classes that depend on both columns."""
    rng = np.random.default_rng(0)
    runs = Runs(
        ("dose", "site"),
        [
            [(float(value), 4) for value in rng.normal(size=59)] + [(None, 4)],
            [(value, 6) for value in rng.choice(["north", "south", "west"], 39)] + [(None, 6)],
        ],
    )
    frame = pd.DataFrame({"dose": np.array(runs._cells(0), dtype=float), "site": runs._cells(1)})
    y = (frame["dose"].fillna(0) > 0).to_numpy() ^ (frame["site"] == "north").to_numpy()
    return runs, frame, y


def test_a_container_of_ones_own_is_read_like_a_frame_of_the_same_values() -> None:
    runs, frame, y = tables()
    own = RandomForestClassifier(20, oob_score=True, random_state=0).fit(runs, y)
    usual = RandomForestClassifier(20, oob_score=True, random_state=0).fit(frame, y)
    np.testing.assert_array_equal(own.forest_.nodes, usual.forest_.nodes)
    assert own.oob_score_ == usual.oob_score_ > 0.8
    file = io.BytesIO()
    hedgerow.save(own, file)
    file.seek(0)
    loaded = hedgerow.load(file)
    for asked in (runs, frame):
        np.testing.assert_array_equal(loaded.predict_bounds(asked), usual.predict_bounds(frame))
    assert own.explain(runs)[0].sentence == usual.explain(frame)[0].sentence
    assert own.report(runs, y, time_limit=0).figures == usual.report(frame, y, time_limit=0).figures
