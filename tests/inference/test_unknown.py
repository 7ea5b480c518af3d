"""Unknown values: answers about them hold for every value that the training rows had; other answers keep their bits."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import hedgerow
from hedgerow import DecisionTreeClassifier, ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor
from hedgerow.rules import rule_names


def patients(n_rows: int, seed: int = 0) -> tuple[pd.DataFrame, NDArray[np.str_]]:
    """Age, pressure and ward of patients, who are ill if they are old and not in the west ward."""
    rng = np.random.default_rng(seed)
    age, pressure = rng.uniform(20, 90, n_rows).round(), rng.normal(130, 15, n_rows).round()
    ward = rng.choice(["north", "south", "west"], n_rows)
    table = pd.DataFrame({"age": age, "pressure": pressure, "ward": ward})
    return table, np.where((age > 60) & (ward != "west"), "ill", "well")


X, Y = patients(300)
FOREST = RandomForestClassifier(40, random_state=0).fit(X, Y)
#: One row with an unknown value each, and a blank one; a value of pressure decides nothing.
ODD = pd.DataFrame(
    {
        "age": [900.0, 80.0, np.nan, np.nan, 30.0],
        "pressure": [130.0, 130.0, 130.0, np.nan, 9000.0],
        "ward": ["north", "violet", "north", None, "north"],
    }
)


def filled(row: pd.DataFrame, feature: str) -> pd.DataFrame:
    """One row -> the same row with every training value of a feature."""
    values = np.sort(X[feature].unique())
    return pd.concat([row] * len(values), ignore_index=True).assign(**{feature: values})


@pytest.mark.parametrize("n_rows", [80, 5000])
@pytest.mark.parametrize("make", [RandomForestClassifier, ExtraTreesClassifier])
def test_unknown_values_leave_a_case_open_unless_nothing_depends_on_them(make: type, n_rows: int) -> None:
    forest = make(40, random_state=0).fit(*patients(n_rows))
    assert forest.predict_set(ODD).sum(axis=1).tolist() == [2, 2, 2, 2, 1]
    bounds = forest.predict_bounds(ODD)
    assert (bounds[:4, :, 0] < 0.1).all()
    assert (bounds[:4, :, 1] > 0.9).all()
    assert (forest.predict_uncertainty(ODD).vacuity[:4] > 0.85).all()
    assert (forest.predict_uncertainty(ODD).vacuity == 1 - bounds[:, :, 0].sum(axis=1)).all()


def test_bounds_are_the_envelope_of_the_answers_for_all_known_values() -> None:
    ward = FOREST.predict_bounds(filled(ODD[1:2], "ward"))
    found = FOREST.predict_bounds(ODD[1:2])[0]
    as_it_is = FOREST.evidence(ODD[1:2]).combine(FOREST._predictor().rule)
    np.testing.assert_allclose(found[:, 0], np.minimum(ward[:, :, 0].min(axis=0), as_it_is.lower[0]), atol=1e-15)
    np.testing.assert_allclose(found[:, 1], np.maximum(ward[:, :, 1].max(axis=0), as_it_is.upper[0]), atol=1e-15)
    # Of age some values stand for all: the two ends are among them.
    age = FOREST.predict_bounds(filled(ODD[:1], "age"))[[0, -1]]
    found = FOREST.predict_bounds(ODD[:1])[0]
    assert (found[:, 0] <= age[:, :, 0].min(axis=0)).all()
    assert (found[:, 1] >= age[:, :, 1].max(axis=0)).all()


def test_several_unknown_values_move_bounds_at_least_as_far_as_each_alone() -> None:
    row = X[:1].copy()
    alone = [row.assign(age=900.0), row.assign(pressure=np.nan)]
    both = row.assign(age=900.0, pressure=np.nan)
    single = np.concatenate([FOREST.predict_bounds(each) for each in alone])
    found = FOREST.predict_bounds(both)[0]
    assert (found[:, 0] <= single[:, :, 0].min(axis=0) + 0.05).all()
    assert (found[:, 1] >= single[:, :, 1].max(axis=0) - 0.05).all()


def test_answers_about_known_values_and_labels_keep_their_bits() -> None:
    plain = RandomForestClassifier(40, random_state=0, unseen="larger").fit(X, Y)
    later, _ = patients(500, seed=1)
    assert (plain.predict_bounds(later) == FOREST.predict_bounds(later)).all()
    assert plain.predict_set(ODD).sum(axis=1).tolist() == [1] * 5
    far = ODD[[True, False, False, False, True]]
    assert (plain.predict_proba(far) == FOREST.predict_proba(far)).all()
    labels, sets = FOREST.predict(ODD, return_set=True)
    assert (labels == FOREST.predict(ODD)).all()
    assert (sets == FOREST.predict_set(ODD)).all()


def test_an_answer_does_not_depend_on_its_batch() -> None:
    table = pd.concat([X[:20], ODD, X[20:40]], ignore_index=True)
    whole = FOREST.predict_bounds(table), FOREST.predict_confidence(table)
    for row in range(len(table)):
        one = table[row : row + 1]
        assert (FOREST.predict_bounds(one)[0] == whole[0][row]).all()
        assert FOREST.predict_confidence(one)[0] == whole[1][row]


@pytest.mark.parametrize("rule", rule_names())
def test_opened_opinions_keep_the_laws_of_every_rule(rule: str) -> None:
    forest = RandomForestClassifier(10, random_state=0, rule=rule).fit(X, Y)
    bounds, label = forest.predict_bounds(ODD), forest.predict(ODD)
    plain = RandomForestClassifier(10, random_state=0, rule=rule, unseen="larger").fit(X, Y).predict_bounds(ODD[:1])
    assert (bounds[0, :, 0] <= plain[0, :, 0]).all()
    assert (bounds[0, :, 1] >= plain[0, :, 1]).all()
    assert ((bounds >= 0) & (bounds <= 1)).all()
    assert (bounds[..., 0].sum(axis=1) <= 1 + 1e-12).all()
    assert (bounds[..., 1].sum(axis=1) >= 1 - 1e-12).all()
    assert (label == forest.predict(ODD, return_set=True)[0]).all()


@pytest.mark.parametrize(
    "decision",
    [
        "auto",
        "dominance",
        "maximality",
        "e_admissibility",
        "maximin",
        "maximax",
        "hurwicz",
        "pignistic",
        "u65",
        "u80",
        "f1",
        "top_probability",
        "coverage",
        "risk",
    ],
)
def test_every_decision_keeps_the_label_among_the_classes_that_remain(decision: str) -> None:
    forest = RandomForestClassifier(20, random_state=0, decision=decision).fit(X, Y)
    assert forest.predict_set(ODD)[np.arange(5), (forest.predict(ODD) == "well").astype(int)].all()


def test_decisions_by_utility_are_open_about_a_number_far_outside() -> None:
    forest = RandomForestClassifier(40, random_state=0, decision="u80").fit(X, Y)
    assert forest.predict_set(ODD).sum(axis=1).tolist() == [2, 2, 2, 2, 1]
    assert FOREST.predict_confidence(ODD)[0] < 0.6
    assert FOREST.predict_proba(ODD)[0].max() > 0.9


def test_a_new_category_is_unknown_also_where_gaps_are_known() -> None:
    table = X.copy()
    table.loc[::7, "ward"] = None
    forest = RandomForestClassifier(40, random_state=0).fit(table, Y)
    sets = forest.predict_set(pd.DataFrame({"age": [80.0] * 2, "pressure": [130.0] * 2, "ward": ["violet", "north"]}))
    assert sets.sum(axis=1).tolist() == [2, 1]


def test_loaded_models_trees_and_several_outputs_answer_alike() -> None:
    file = io.BytesIO()
    hedgerow.save(FOREST, file)
    loaded = hedgerow.load(io.BytesIO(file.getvalue()))
    assert (loaded.predict_bounds(ODD) == FOREST.predict_bounds(ODD)).all()
    tree = DecisionTreeClassifier(random_state=0, unseen="shares").fit(X, Y)
    assert tree.predict_set(ODD[:4]).all()
    several = RandomForestClassifier(20, random_state=0).fit(X, np.column_stack([Y, Y]))
    for sets in several.predict_set(ODD):
        assert sets.sum(axis=1).tolist() == [2, 2, 2, 2, 1]


def test_intervals_and_bounds_of_numbers_hold_for_every_known_value() -> None:
    rng = np.random.default_rng(0)
    table = rng.uniform(size=(300, 3))
    forest = RandomForestRegressor(30, random_state=0).fit(table, 5 * table[:, 0] + rng.normal(size=300) / 10)
    rows = np.array([[0.5, 0.5, 0.5], [50.0, 0.5, 0.5], [0.5, np.nan, 0.5], [np.nan] * 3])
    every = np.column_stack([np.sort(table[:, 0])[[0, -1]], [0.5] * 2, [0.5] * 2])
    for method in ("auto", "jackknife+"):
        ends = forest.predict_interval(every, method=method)
        found = forest.predict_interval(rows, method=method)
        width = found[:, 1] - found[:, 0]
        assert found[1, 0] <= ends[0, 0] + 1e-12
        assert found[1, 1] >= ends[1, 1] - 1e-12
        assert width[1] > 4 > 2 > width[2] >= width[0]
        assert width[3] >= width[1]
    bounds = forest.predict_bounds(rows)
    assert bounds[1, 0] <= forest.predict_bounds(every)[0, 0] + 1e-12
    assert bounds[1, 0] < 1 < 4.5 < forest.predict(rows)[1]


def test_infinite_intervals_of_few_trees_stay_infinite() -> None:
    table = np.arange(40.0).reshape(10, 4)
    forest = RandomForestRegressor(2, random_state=0).fit(table, np.arange(10.0) - 5)
    found = forest.predict_interval([[1e6, 1.0, 2.0, 3.0]], coverage=0.99)
    assert found.tolist() == [[-np.inf, np.inf]]


def test_explanations_name_what_is_unknown_and_advise_to_look_it_up() -> None:
    whys = FOREST.explain(ODD, time_limit=0)
    assert [why.out_of_support for why in whys] == [
        ["age"],
        ["ward"],
        ["age"],
        ["age", "pressure", "ward"],
        ["pressure"],
    ]
    assert whys[0].sentence.startswith("No training row has such a value of age. Values outside the training range: ")
    assert " Undecided between ill and well. " in whys[0].sentence
    assert "  - a value of age that occurs in training" in whys[0].to_text()
    assert "caution of" not in whys[0].to_text()
    for row, why in enumerate(whys):
        assert [why.lower, why.upper] == FOREST.predict_bounds(ODD)[row].T.tolist()
    assert FOREST.explain(X[:1], time_limit=0)[0].out_of_support == []
