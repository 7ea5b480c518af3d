"""Unseen values and novelty in a report: the page says of a row what the model says of it."""

from __future__ import annotations

import base64
import json
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from hedgerow import RandomForestClassifier, RandomForestRegressor
from hedgerow.explain.report.why import one_line

TYPES = {"u8": "u1", "u16": "<u2", "u32": "<u4", "i16": "<i2", "f64": "<f8"}


def patients(n_rows: int, seed: int = 0) -> tuple[pd.DataFrame, NDArray[Any], NDArray[np.float64]]:
    """Age, pressure and ward of patients; who is ill, and for how many days."""
    rng = np.random.default_rng(seed)
    age, pressure = rng.uniform(20, 90, n_rows).round(), rng.normal(130, 15, n_rows).round()
    ward = rng.choice(["north", "south", "west"], n_rows)
    ill = (age > 60) & (ward != "west")
    table = pd.DataFrame({"age": age, "pressure": pressure, "ward": ward})
    return table, np.where(ill, "ill", "well"), np.where(ill, 10.0, 1.0) + rng.normal(size=n_rows)


X, LABELS, DAYS = patients(300)
#: Ordinary rows, and rows with an age that no patient has, a new ward, gaps that no training row had, or nothing.
ROWS = pd.concat(
    [
        patients(40, 1)[0],
        pd.DataFrame(
            {
                "age": [900.0, 80.0, np.nan, np.nan],
                "pressure": [130.0, 130.0, 130.0, np.nan],
                "ward": ["north", "violet", "north", None],
            }
        ),
    ],
    ignore_index=True,
)
FAR = 40


def data_of(report: Any) -> dict[str, Any]:
    """-> what the page's script reads."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', report.html, re.S)
    assert found is not None
    return json.loads(found[1])  # type: ignore[no-any-return]


def unpacked(array: dict[str, str]) -> NDArray[Any]:
    """-> the numbers of a packed array."""
    return np.frombuffer(base64.b64decode(array["d"]), TYPES[array["t"]])


@pytest.mark.parametrize("labels", [None, {"age": {"": "years"}}])
@pytest.mark.parametrize("novelty", [None, 0.01])
def test_the_page_says_of_a_row_what_the_model_says(novelty: float | None, labels: Any) -> None:
    forest = RandomForestClassifier(40, random_state=0, novelty=novelty).fit(X, LABELS)
    report = forest.report(ROWS, time_limit=0, explained="all", labels=labels)
    data, alone = data_of(report), forest.explain(ROWS, time_limit=0)
    places = {row: place for place, row in enumerate(unpacked(data["rows"]).tolist())}
    assert alone[FAR].set == ["ill", "well"]
    for row in (FAR, FAR + 1, FAR + 2, FAR + 3):
        words = data["why"][str(places[row])]
        assert "Undecided between " in words["sentence"]
        expected = alone[row].sentence if labels is None else alone[row].sentence.replace("age", "years")
        assert words["sentence"] == one_line(expected)


@pytest.mark.parametrize("novelty", [None, 0.01, 0.5])
def test_the_script_gets_the_opinions_that_leaves_do_not_give(novelty: float | None) -> None:
    forest = RandomForestClassifier(40, random_state=0, novelty=novelty).fit(X, LABELS)
    data, bounds = data_of(forest.report(ROWS, time_limit=0)), forest.predict_bounds(ROWS)
    leaves = forest.evidence(ROWS).combine(forest._predictor().rule, caution=forest._predictor().caution)
    rows, opened = unpacked(data["rows"]), data["adjusted"]
    parts = {name: unpacked(array).reshape(-1, 2) for name, array in opened["parts"].items()}
    cases = rows[opened["cases"]]
    assert np.array_equal(parts["lower"], bounds[cases, :, 0])
    assert np.array_equal(parts["upper"], bounds[cases, :, 1])
    others = np.setdiff1d(np.arange(len(ROWS)), cases)
    assert np.array_equal(bounds[others, :, 0], leaves.lower[others])
    assert {FAR, FAR + 1, FAR + 2, FAR + 3} <= set(cases.tolist())
    chosen = np.zeros((len(ROWS), 2), dtype=bool)
    for row, classes in zip(rows.tolist(), data["sets"], strict=True):
        chosen[row, classes] = True
    assert np.array_equal(chosen, forest.predict_set(ROWS))


def test_the_script_gets_how_far_unseen_values_widen_intervals() -> None:
    forest = RandomForestRegressor(40, random_state=0).fit(X, DAYS)
    data, ends = data_of(forest.report(ROWS, coverage=0.8)), forest.predict_interval(ROWS, coverage=0.8)
    scaled = np.sort(unpacked(data["scaled"]))
    rank = int(0.1 * (len(scaled) + 1) + 1e-9)
    middle, spread = unpacked(data["mean"]), unpacked(data["spread"])
    beyond = np.array([data["wider"].get(str(place), [0.0, 0.0]) for place in range(len(ROWS))])
    shown = np.column_stack([middle + spread * scaled[rank - 1], middle + spread * scaled[-rank]]) + beyond * [-1, 1]
    np.testing.assert_allclose(shown, ends[unpacked(data["rows"])], rtol=1e-9, atol=1e-9)
    assert beyond[FAR].sum() > 1
    assert not beyond[:FAR].any()


def test_explanations_in_a_report_of_numbers_are_those_of_the_model() -> None:
    forest = RandomForestRegressor(40, random_state=0).fit(X, DAYS)
    now = forest._predictor()
    batch = now.read(ROWS, all_features=True)
    some = np.array([FAR + 2, 3, FAR])
    assert np.array_equal(now.interval(batch[some], 0.9), forest.predict_interval(ROWS)[some])
    assert np.array_equal(now.bounds(batch[some]), forest.predict_bounds(ROWS)[some])


def test_the_page_opens_with_the_sets_of_the_model_and_no_caution_decides_for_it(open_page: Any) -> None:
    forest = RandomForestClassifier(40, random_state=0, novelty=0.01).fit(X, LABELS)
    page = open_page(forest.report(ROWS, time_limit=0))
    n_open = int((forest.predict_set(ROWS).sum(axis=1) > 1).sum())
    assert f"undecided\n{n_open}\n" in page.locator("#tally").inner_text()
    page.locator("#caution-number").fill("0")
    page.wait_for_function("document.querySelector('#caution').value === '0'")
    held = page.locator("#tally").inner_text()
    assert int(re.search(r"undecided\n([\d,]+)\n", held)[1]) >= 4  # type: ignore[index]
