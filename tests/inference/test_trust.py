"""Trust: strangers are left open, ordinary rows are decided as before."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import hedgerow
from hedgerow import ExtraTreesClassifier, RandomForestClassifier, combine
from hedgerow.rules import rule_names
from hedgerow.tasks.classification.oob import discounted


def patients(n_rows: int, seed: int = 0) -> tuple[pd.DataFrame, NDArray[Any]]:
    """Age, pressure and ward of patients who are well or ill."""
    rng = np.random.default_rng(seed)
    age, pressure = rng.uniform(20, 90, n_rows).round(), rng.normal(130, 15, n_rows).round()
    ward = rng.choice(["north", "south", "west"], n_rows)
    ill = (age > 60) & (ward != "west")
    return pd.DataFrame({"age": age, "pressure": pressure, "ward": ward}), np.where(ill, "ill", "well")


STRANGERS = pd.DataFrame(
    {
        "age": [30.0, 900.0, 80.0, np.nan, np.nan],
        "pressure": [130.0, 130.0, 130.0, 130.0, np.nan],
        "ward": ["north", "north", "violet", "north", None],
    }
)


@pytest.mark.parametrize("n_rows", [80, 400, 5000])
def test_the_four_cases_are_left_open_and_an_ordinary_row_is_decided(n_rows: int) -> None:
    X, y = patients(n_rows)
    forest = RandomForestClassifier(40, random_state=0, novelty=0.01).fit(X, y)
    plain = RandomForestClassifier(40, random_state=0).fit(X, y)
    assert forest.predict_set(STRANGERS).sum(axis=1).tolist() == [1, 2, 2, 2, 2]
    bounds = forest.predict_bounds(STRANGERS)
    assert (bounds[1:, :, 0] < 0.05).all()
    assert (bounds[1:, :, 1] > 0.95).all()
    assert (bounds[0] == plain.predict_bounds(STRANGERS[:1])[0]).all()
    assert (forest.predict_uncertainty(STRANGERS).vacuity[1:] > 0.9).all()
    assert (forest.predict(STRANGERS) == plain.predict(STRANGERS)).all()
    assert (forest.predict_proba(STRANGERS) == plain.predict_proba(STRANGERS)).all()
    labels, sets = forest.predict(STRANGERS, return_set=True)
    assert (labels == plain.predict(STRANGERS)).all()
    assert (sets == forest.predict_set(STRANGERS)).all()


def test_ordinary_rows_are_decided_as_before() -> None:
    X, y = patients(400)
    Z = patients(1000, 1)[0]
    forest = RandomForestClassifier(40, random_state=0).fit(X, y)
    before = forest.predict_set(Z)
    forest.set_params(novelty=0.01)
    assert (forest.predict_set(Z) != before).any(axis=1).mean() < 0.015
    whole = forest.predict_bounds(Z)
    assert (whole[::50] == np.concatenate([forest.predict_bounds(Z[i : i + 1]) for i in range(0, 1000, 50)])).all()


@pytest.mark.parametrize("rule", rule_names())
def test_a_discounted_opinion_keeps_the_laws_of_every_rule(rule: str) -> None:
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 9, size=(30, 5, 3)).astype(float)
    opinion = combine(counts, rule)
    trusted = np.repeat([1.0, 0.7, 0.01], 10)
    weak = discounted(opinion, trusted)
    share = trusted[:, None]
    np.testing.assert_allclose(weak.lower, share * opinion.lower, atol=1e-12)
    np.testing.assert_allclose(weak.upper, 1 - share * (1 - opinion.upper), atol=1e-12)
    assert ((weak.lower <= weak.probability) & (weak.probability <= weak.upper)).all()
    np.testing.assert_allclose(weak.probability.sum(axis=1), 1)
    assert (weak.lower[:10] == opinion.lower[:10]).all()
    assert (weak.vacuity[20:] > 0.9).all()


def test_it_lasts_in_files_and_needs_bags() -> None:
    X, y = patients(200)
    forest = RandomForestClassifier(20, random_state=0, novelty=0.05).fit(X, y)
    file = io.BytesIO()
    hedgerow.save(forest, file)
    loaded = hedgerow.load(io.BytesIO(file.getvalue()))
    assert loaded.novelty == 0.05
    assert (loaded.predict_bounds(STRANGERS) == forest.predict_bounds(STRANGERS)).all()
    with pytest.raises(ValueError, match=r"novelty=0\.05 requires bootstrap=True"):
        ExtraTreesClassifier(5, novelty=0.05).fit(X, y)
    for wrong in (0, 2, -0.1, "auto", True):
        with pytest.raises(ValueError, match=r"novelty must be a number in \(0, 1\] or None"):
            RandomForestClassifier(5, novelty=wrong).fit(X, y)


def test_several_outputs_are_discounted_alike() -> None:
    X, y = patients(200)
    both = np.column_stack([y, X["ward"] == "north"]).astype(object)
    forest = RandomForestClassifier(20, random_state=0, novelty=0.01).fit(X, both)
    for bounds in forest.predict_bounds(STRANGERS):
        assert (bounds[1:, :, 0] < 0.05).all()


def test_explanations_say_that_and_where_a_row_is_strange() -> None:
    X, y = patients(400)
    forest = RandomForestClassifier(40, random_state=0, novelty=0.01).fit(X, y)
    whys = forest.explain(STRANGERS, time_limit=0)
    for row, why in enumerate(whys):
        assert why.set == forest.classes_[forest.predict_set(STRANGERS)[row]].tolist()
        assert [why.lower, why.upper] == forest.predict_bounds(STRANGERS)[row].T.tolist()
    assert whys[0].novelty is None
    assert [why.novelty.feature for why in whys[1:4]] == ["age", "ward", "age"]
    assert whys[1].novelty.p_value <= 3 / 401
    assert whys[1].sentence.startswith("Novel row (p = 0.00")
    assert "), most unusual in age. No training row has such a value of age. " in whys[1].sentence
    assert " Undecided between ill and well. " in whys[1].sentence
    assert whys[1].to_dict()["novelty"]["trust"] < 0.05
    assert forest.set_params(novelty=None).explain(STRANGERS, time_limit=0)[1].novelty is None
