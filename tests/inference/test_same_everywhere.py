"""One row, one answer: whichever method, command or page is asked, and whichever rows are asked about with it."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from typer.testing import CliRunner

import hedgerow
from hedgerow import (
    DecisionTreeClassifier,
    MixedForestClassifier,
    MixedForestRegressor,
    PairwiseTreesClassifier,
    RandomDecisionTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    RandomSurvivalForest,
    UncertainTable,
)
from hedgerow.cli.app import app
from hedgerow.explain.report.why import one_line
from hedgerow.inference.predictor import predictor_of


def patients(n_rows: int, seed: int) -> pd.DataFrame:
    """Age, pressure and ward of patients, and a dose that is often missing."""
    rng = np.random.default_rng(seed)
    dose = np.where(rng.random(n_rows) < 0.2, np.nan, rng.integers(0, 4, n_rows))
    age, pressure = rng.uniform(20, 90, n_rows).round(), rng.normal(130, 15, n_rows).round()
    return pd.DataFrame(
        {"age": age, "pressure": pressure, "ward": rng.choice(["north", "south", "west"], n_rows), "dose": dose}
    )


TRAIN = patients(240, 0)
_HARM = (TRAIN.age > 55).to_numpy() + 1.0 * (TRAIN.ward != "west") + np.random.default_rng(1).normal(0, 0.3, len(TRAIN))
CLASSES = np.array(["ill", "unclear", "well"])[np.digitize(_HARM, [0.6, 1.5])]

#: Times of the patients until an event, some censored: harm shortens them.
_TIMES = np.random.default_rng(2).exponential(10 / (1 + _HARM.clip(0))).round(1) + 0.1
SURVIVED = np.column_stack([_TIMES, np.random.default_rng(3).random(len(TRAIN)) < 0.7])

#: Values of cells: a usual one, numbers just outside and far outside, gaps (no training row lacks the first three), new
#: categories.
CELLS: dict[str, list[Any]] = {
    "age": [62.0, 30.0, 95.0, 900.0, -1e7, np.inf, np.nan],
    "pressure": [130.0, 9000.0, np.nan],
    "ward": ["north", "west", "violet", None],
    "dose": [1.0, 3.0, 1e6, np.nan],
}
ROWS = st.tuples(*(st.sampled_from(values) for values in CELLS.values()))


def frame_of(rows: list[tuple[Any, ...]]) -> pd.DataFrame:
    """Rows of cells -> a table."""
    return pd.DataFrame(rows, columns=list(CELLS)).astype(dict.fromkeys(("age", "pressure", "dose"), float))


#: Ordinary rows among rows with each odd cell alone, two of them, and nothing at all.
ODD = frame_of(
    [
        (62.0, 130.0, "north", 1.0),
        *[(value, 130.0, "north", 1.0) for value in CELLS["age"][2:]],
        (30.0, 120.0, "west", np.nan),
        *[(62.0, value, "north", 1.0) for value in CELLS["pressure"][1:]],
        *[(62.0, 130.0, value, 1.0) for value in CELLS["ward"][2:]],
        (900.0, 130.0, "violet", 2.0),
        (np.nan, np.nan, None, np.nan),
        (80.0, 140.0, "south", 1e6),
    ]
)

CLASSIFIERS: dict[str, Callable[[], Any]] = {
    "forest": lambda: RandomForestClassifier(10, random_state=0),
    "novelty": lambda: RandomForestClassifier(10, random_state=0, novelty=0.01),
    "much novelty": lambda: RandomForestClassifier(10, random_state=0, novelty=0.5, caution=2.0),
    "calibrated": lambda: RandomForestClassifier(10, random_state=0, calibration="oob"),
    "dempster": lambda: RandomForestClassifier(10, random_state=0, rule="dempster", decision="coverage"),
    "median": lambda: RandomForestClassifier(10, random_state=0, rule="median", novelty=0.05),
    "sums": lambda: RandomForestClassifier(10, random_state=0, unseen="sum"),
    "larger side": lambda: RandomForestClassifier(10, random_state=0, unseen="larger", novelty=0.05),
    "multiway": lambda: RandomDecisionTreesClassifier(10, random_state=0),
    "tree": lambda: DecisionTreeClassifier(random_state=0),
    "pairs": lambda: PairwiseTreesClassifier(random_state=0),
    "mixed": lambda: MixedForestClassifier(12, random_state=0),
    "mixed novelty": lambda: MixedForestClassifier(12, random_state=0, novelty=0.05),
}
OTHERS: dict[str, Callable[[], Any]] = {
    "numbers": lambda: RandomForestRegressor(10, random_state=0),
    "outputs": lambda: RandomForestClassifier(10, random_state=0, novelty=0.05),
    "outputs of numbers": lambda: RandomForestRegressor(10, random_state=0),
    "mixed numbers": lambda: MixedForestRegressor(12, random_state=0),
    "survival": lambda: RandomSurvivalForest(10, random_state=0),
    "calibrated survival": lambda: RandomSurvivalForest(10, random_state=0, calibration="oob"),
}
#: Models of one number per row.
NUMBERS = ("numbers", "mixed numbers")
SURVIVAL = ("survival", "calibrated survival")
METHODS = (
    *("predict", "predict_proba", "predict_confidence", "predict_set", "predict_bounds", "predict_uncertainty"),
    *("predict_interval", "predict_novelty", "predict_survival_function", "predict_cumulative_hazard_function"),
    *("predict_quantile", "predict_rmst", "predict_lower"),
)


@cache
def fitted(name: str) -> Any:
    """A model, fitted to classes, numbers, or two outputs."""
    model = (CLASSIFIERS | OTHERS)[name]()
    y: Any = _HARM if name in NUMBERS else CLASSES
    if name in SURVIVAL:
        y = SURVIVED
    if name == "outputs":
        y = np.column_stack([CLASSES, np.where(TRAIN.age > 40, "old", "young")])
    if name == "outputs of numbers":
        y = np.column_stack([_HARM, TRAIN.age])
    return model.fit(TRAIN, y)


def answers(model: Any, rows: Any) -> dict[str, NDArray[Any]]:
    """Every answer of a model about rows: arrays whose first axis is that of the rows."""
    found: dict[str, NDArray[Any]] = {}
    for method in METHODS:
        if not offers(model, method):
            continue
        for at, each in enumerate_parts(getattr(model, method)(rows)):
            found[f"{method} {at}"] = each
    return found


def offers(model: Any, method: str) -> bool:
    """Whether a model answers this method: pairs and trees know no novelty."""
    if method in ("predict_novelty", "predict_interval"):
        forests = RandomForestClassifier | RandomForestRegressor | RandomSurvivalForest
        return isinstance(model, forests) and hasattr(model, method)
    return hasattr(model, method)


def enumerate_parts(said: Any) -> list[tuple[str, NDArray[Any]]]:
    """An array, or lists, named tuples and dicts of arrays -> all arrays, with a name each."""
    if isinstance(said, np.ndarray):
        return [("", said)]
    named = said.items() if isinstance(said, dict) else enumerate(said)
    return [(f"{name} {at}", each) for name, part in named for at, each in enumerate_parts(part)]


def require_same(found: dict[str, NDArray[Any]], expected: dict[str, NDArray[Any]], rows: Any) -> None:
    """The same bits for some of the rows."""
    assert found.keys() == expected.keys()
    for name, each in found.items():
        assert np.array_equal(each, expected[name][rows], equal_nan=each.dtype.kind == "f"), name


# ---- other rows beside it ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*CLASSIFIERS, *OTHERS])
@given(st.lists(ROWS, min_size=1, max_size=6), st.randoms(use_true_random=False))
@settings(max_examples=3, deadline=None)
def test_an_answer_does_not_depend_on_the_rows_beside_it(name: str, rows: list[Any], chance: Any) -> None:
    model, table = fitted(name), frame_of(rows)
    whole = answers(model, table)
    order = chance.choices(range(len(rows)), k=len(rows) + 2)
    require_same(answers(model, table.iloc[order]), whole, order)
    first = chance.randrange(len(rows))
    require_same(answers(model, table.iloc[first:]), whole, slice(first, None))
    require_same(answers(model, table.iloc[[first]]), whole, [first])


@pytest.mark.parametrize("name", [*CLASSIFIERS, *OTHERS])
def test_an_odd_row_is_answered_alone_as_among_others(name: str) -> None:
    model = fitted(name)
    whole = answers(model, ODD)
    for row in range(len(ODD)):
        require_same(answers(model, ODD.iloc[[row]]), whole, [row])
    require_same(answers(model, ODD.copy()), whole, slice(None))
    require_same(answers(model, ODD[::-1]), whole, slice(None, None, -1))


def test_a_gap_below_a_multiway_split_is_unseen_whoever_is_asked_with_it() -> None:
    """Alone it was not: only splits with two sides were looked at, and a row without an age brought the others up."""
    model = fitted("multiway")
    gap = frame_of([(62.0, 130.0, None, 1.0)])
    with_blank = frame_of([(62.0, 130.0, None, 1.0), (np.nan, np.nan, None, np.nan)])
    bounds = model.predict_bounds(gap)[0]
    assert np.array_equal(bounds, model.predict_bounds(with_blank)[0])
    as_if = np.array([model.predict_bounds(gap.assign(ward=ward))[0] for ward in ("north", "south", "west")])
    assert (bounds[:, 0] <= as_if[:, :, 0].min(axis=0) + 1e-12).all()
    assert (bounds[:, 1] >= as_if[:, :, 1].max(axis=0) - 1e-12).all()


@pytest.mark.parametrize("name", ["forest", "mixed", "multiway", "tree", *NUMBERS, "outputs of numbers"])
def test_a_row_with_uncertain_cells_is_answered_alone_as_among_others(name: str) -> None:
    model = fitted(name)
    known = {
        (0, "ward"): {"north", "west"},
        (3, "dose"): (0.0, 2.0),
        (9, "age"): {30.0: 1, 80.0: 3},
        (9, "dose"): {1.0},
    }

    def ask(rows: list[int]) -> dict[str, NDArray[Any]]:
        cells = {
            (at, column): value for at, row in enumerate(rows) for (one, column), value in known.items() if one == row
        }
        table = UncertainTable(ODD.iloc[rows].reset_index(drop=True), cells)
        methods = [method for method in ("predict", "predict_bounds", "predict_set") if hasattr(model, method)]
        said = {method: getattr(model, method)(table) for method in methods}
        return {f"{method} {at}": each for method, one in said.items() for at, each in enumerate_parts(one)}

    every = list(range(len(ODD)))
    whole = ask(every)
    for rows in (every[::-1], [9, 3, 9], *([row] for row in every)):
        require_same(ask(rows), whole, rows)


# ---- other ways to ask ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_methods_of_a_classifier_agree(name: str) -> None:
    model, classes = fitted(name), classes_of(name)
    bounds, sets, labels = model.predict_bounds(ODD), model.predict_set(ODD), model.predict(ODD)
    also, again = model.predict(ODD, return_set=True)
    assert np.array_equal(labels, also)
    assert np.array_equal(sets, again)
    frame = model.predict_frame(ODD)
    assert np.array_equal(frame.label, labels)
    assert frame.set.tolist() == [classes[row].tolist() for row in sets]
    shown = np.stack([frame[[f"{end}_{each}" for each in classes]] for end in ("lower", "upper")], axis=2)
    assert np.array_equal(shown, bounds)
    assert np.allclose(frame.probability, model.predict_confidence(ODD), rtol=0, atol=1e-15)
    if "vacuity" in frame:
        assert np.array_equal(frame.vacuity, model.predict_uncertainty(ODD).vacuity)
    backwards = model.predict_frame(ODD[::-1])[::-1]
    pd.testing.assert_frame_equal(backwards, frame, check_exact=True)


@pytest.mark.parametrize("name", [name for name in CLASSIFIERS if name != "pairs"])
def test_explanations_and_the_page_of_a_classifier_agree_with_it(name: str) -> None:
    model, classes = fitted(name), classes_of(name)
    bounds, sets, labels = model.predict_bounds(ODD), model.predict_set(ODD), model.predict(ODD)
    found = model.explain(ODD, time_limit=0)
    assert [each.label for each in found] == labels.tolist()
    assert [each.set for each in found] == [classes[row].tolist() for row in sets]
    # Explanations fold the counts of the leaves again, in another order.
    np.testing.assert_allclose([each.lower for each in found], bounds[:, :, 0], atol=1e-9)
    np.testing.assert_allclose([each.upper for each in found], bounds[:, :, 1], atol=1e-9)
    data = page_data(model.report(ODD, time_limit=0, explained="all"))
    rows = unpacked(data["rows"])
    assert [classes[places].tolist() for places in data["sets"]] == [found[row].set for row in rows.tolist()]
    assert classes[unpacked(data["label"])].tolist() == labels[rows].tolist()
    for place, words in data["why"].items():
        assert words["sentence"] == one_line(found[rows[int(place)]].sentence)
    opened = rows[data["adjusted"]["cases"]]
    for at, end in enumerate(("lower", "upper")):
        assert np.array_equal(unpacked(data["adjusted"]["parts"][end]).reshape(-1, 3), bounds[opened, :, at])


@pytest.mark.parametrize("name", NUMBERS)
def test_explanations_and_the_page_of_a_regressor_agree_with_it(name: str) -> None:
    model = fitted(name)
    predicted, ends, bounds = model.predict(ODD), model.predict_interval(ODD), model.predict_bounds(ODD)
    found = model.explain(ODD)
    assert [each.prediction for each in found] == predicted.tolist()
    assert [[each.lower, each.upper] for each in found] == ends.tolist()
    assert [[each.mean_lower, each.mean_upper] for each in found] == bounds.tolist()
    frame = model.predict_frame(ODD)
    assert np.array_equal(frame[["lower", "upper"]], ends)
    assert np.array_equal(frame[["mean_lower", "mean_upper"]], bounds)
    data = page_data(model.report(ODD))
    rows, scaled = unpacked(data["rows"]), unpacked(data["scaled"])
    rank = int(round(0.05 * (len(scaled) + 1), 9))
    beyond = np.array([data["wider"].get(str(place), [0.0, 0.0]) for place in range(len(rows))])
    plain = unpacked(data["mean"])[:, None] + unpacked(data["spread"])[:, None] * scaled[[rank - 1, -rank]]
    np.testing.assert_allclose(plain + beyond * [-1, 1], ends[rows], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", SURVIVAL)
def test_methods_and_the_page_of_a_survival_forest_agree(name: str) -> None:
    model = fitted(name)
    curves, risk, grid = model.predict_survival_function(ODD), model.predict(ODD), model.event_times_
    np.testing.assert_allclose(model.predict_cumulative_hazard_function(ODD).sum(axis=1), risk, rtol=1e-12)
    ends, time = np.append(grid, np.inf), grid[len(grid) // 2]
    median = np.array([ends[np.flatnonzero(np.append(curve <= 0.5 + 1e-12, True))[0]] for curve in curves])
    assert np.array_equal(model.predict_quantile(ODD, 0.5).ravel(), median)
    bounds = model.predict_bounds(ODD, time)[:, 0]
    assert np.array_equal(model.predict_uncertainty(ODD, time).vacuity, bounds[:, 1] - bounds[:, 0])
    alive = model.predict_survival_function(ODD, time)[:, 0]
    assert np.array_equal(model.predict_set(ODD, time), np.column_stack([bounds[:, 0] <= 0.5, bounds[:, 1] >= 0.5]))
    columns = predictor_of(model).columns(ODD)
    expected = {"risk": risk, "median_time": median, f"survival_{time:g}": alive, "lower": bounds[:, 0]}
    for name_of, values in expected.items():
        assert np.array_equal(columns.columns[name_of], values)
    page = model.report(ODD).html
    for row in np.argsort(-risk)[:3]:
        assert f"{risk[row]:.3g}" in page


@pytest.mark.parametrize("name", ["outputs", "outputs of numbers"])
def test_outputs_agree_with_models_of_one_output(name: str) -> None:
    model = fitted(name)
    bounds = model.predict_bounds(ODD)
    for at, output in enumerate(model.outputs_):
        assert np.array_equal(output.predict_bounds(ODD), bounds[at])
        if name == "outputs":
            assert np.array_equal(output.predict_set(ODD), model.predict_set(ODD)[at])
            assert [each.set for each in output.explain(ODD, time_limit=0)] == output.predict_set(ODD, labels=True)
        else:
            assert [[each.mean_lower, each.mean_upper] for each in output.explain(ODD)] == bounds[at].tolist()


@pytest.mark.parametrize("name", [*CLASSIFIERS, *OTHERS])
def test_slices_of_a_batch_are_answered_as_the_batch(name: str) -> None:
    now, rows = fitted(name)._predictor(), np.array([12, 0, 5, 5, 11, 2])
    batch = now.read(ODD)
    before, after = now.bounds(batch[rows]), now.bounds(batch)
    for found, expected in zip(enumerate_parts(before), enumerate_parts(after), strict=True):
        assert np.array_equal(found[1], expected[1][rows])
    for found, expected in zip(enumerate_parts(now.bounds(batch[3:9])), enumerate_parts(after), strict=True):
        assert np.array_equal(found[1], expected[1][3:9])


@pytest.mark.parametrize("name", [*CLASSIFIERS, *NUMBERS, *SURVIVAL])
def test_the_command_agrees_with_the_model(name: str, tmp_path: Path) -> None:
    model = fitted(name)
    rows = ODD[np.isfinite(ODD.age) | ODD.age.isna()]  # a CSV file has no infinities
    hedgerow.save(model, tmp_path / "m.hedge")
    rows.to_csv(tmp_path / "t.csv", index=False)
    words = ["predict", str(tmp_path / "m.hedge"), str(tmp_path / "t.csv"), "--json"]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.stderr
    said = [json.loads(line) for line in result.stdout.splitlines()]
    if name in SURVIVAL:
        grid = model.event_times_
        time = grid[len(grid) // 2]
        assert [each["risk"] for each in said] == model.predict(rows).tolist()
        assert [each[f"survival_{time:g}"] for each in said] == model.predict_survival_function(rows, time)[
            :, 0
        ].tolist()
        assert [[each["lower"], each["upper"]] for each in said] == model.predict_bounds(rows, time)[:, 0].tolist()
        return
    if name in NUMBERS:
        assert [[each["lower"], each["upper"]] for each in said] == model.predict_interval(rows).tolist()
        assert [[each["mean_lower"], each["mean_upper"]] for each in said] == model.predict_bounds(rows).tolist()
        return
    assert [each["label"] for each in said] == model.predict(rows).tolist()
    assert [each["set"] for each in said] == model.predict_set(rows, labels=True)
    for at, end in enumerate(("lower", "upper")):
        assert [list(each[end].values()) for each in said] == model.predict_bounds(rows)[:, :, at].tolist()


def classes_of(name: str) -> NDArray[Any]:
    """The classes of a model as plain text."""
    return np.asarray(predictor_of(fitted(name)).classes)


def page_data(report: Any) -> dict[str, Any]:
    """-> what the script of a page reads."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', report.html, re.S)
    assert found is not None
    return json.loads(found[1])  # type: ignore[no-any-return]


def unpacked(array: dict[str, str]) -> NDArray[Any]:
    """-> the numbers of a packed array."""
    kinds = {"u8": "u1", "u16": "<u2", "u32": "<u4", "i16": "<i2", "f64": "<f8"}
    return np.frombuffer(base64.b64decode(array["d"]), kinds[array["t"]])
