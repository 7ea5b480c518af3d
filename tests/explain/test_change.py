"""The smallest change: none is smaller, and limits are kept."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.reference.explain import cheapest

from hedgerow import ExtraTreesClassifier, RandomDecisionTreesClassifier, RandomForestClassifier
from hedgerow.explain.change import Limits, Space, smallest_change
from hedgerow.explain.question import counts_of, only_class
from hedgerow.inference.predictor import predictor_of
from hedgerow.rules import Belief

KINDS = {
    "forest": lambda: RandomForestClassifier(8, calibration=None, caution=2.0, random_state=0),
    "extra, inbag-free": lambda: ExtraTreesClassifier(8, caution=1.0, random_state=1),
    "random decision": lambda: RandomDecisionTreesClassifier(8, caution=1.0, min_samples_leaf=3, random_state=2),
    "belief": lambda: RandomForestClassifier(8, calibration=None, rule=Belief(), caution=2.0, random_state=3),
    "no sum over trees": lambda: RandomForestClassifier(
        4, calibration=None, rule="eva", decision="u65", random_state=4, max_depth=3
    ),
    "oob counts": lambda: RandomForestClassifier(8, calibration=None, leaf_counts="oob", caution=1.0, random_state=5),
    "maximality": lambda: RandomForestClassifier(
        8, calibration=None, decision="maximality", caution=3.0, random_state=6
    ),
    "calibrated": lambda: RandomForestClassifier(8, calibration="oob", caution=1.0, random_state=9),
    "calibrated votes": lambda: RandomForestClassifier(8, calibration="oob", rule="vote", caution=1.0, random_state=6),
    "calibrated, no sum": lambda: RandomForestClassifier(
        4, rule="median", decision="u65", calibration="oob", random_state=4, max_depth=3
    ),
    "admissible belief": lambda: RandomForestClassifier(
        8, calibration=None, rule="belief", decision="e_admissibility", caution=2.0, random_state=7
    ),
    "admissible votes": lambda: RandomForestClassifier(
        8, calibration=None, rule="dominance_vote", decision="e_admissibility", caution=2.0, random_state=8
    ),
}
LIMITS = {
    "free": Limits(),
    "limited": Limits(immutable=frozenset({0}), increasing=frozenset({1}), decreasing=frozenset({3})),
}


def small_table(n_classes: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Three numeric features of few values, one with gaps, and a nominal one."""
    draw = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "a": draw.integers(0, 7, 70).astype(float),
            "b": draw.integers(0, 6, 70) * 1.5,
            "colour": draw.choice(["red", "green", "blue"], 70),
            "d": draw.integers(0, 5, 70).astype(float),
        }
    )
    score = X["a"] + X["b"] / 1.5 + 3 * (X["colour"] == "red") + draw.normal(0, 2, 70)
    X.loc[draw.random(70) < 0.15, "d"] = np.nan
    return X, np.digitize(score, [7] if n_classes == 2 else [5, 9])


@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_no_point_of_the_grid_is_cheaper(kind, n_classes, limits):
    X, y = small_table(n_classes, seed=len(kind))
    forest = KINDS[kind]().fit(X, y)
    now = predictor_of(forest)
    space = Space(now)
    assert (space.margins is None) == kind.endswith(("no sum over trees", "no sum"))
    assert now.is_calibrated == kind.startswith("calibrated")
    batch = now.read(X, all_features=True)
    columns, codes = batch.columns, batch.codes
    open_rows = np.flatnonzero(only_class(now, counts_of(now, codes), None) < 0)[:4]
    assert len(open_rows)
    for row in open_rows.tolist():
        values = [float(column[row]) for column in columns]
        found = smallest_change(space, codes[:, row], values, LIMITS[limits], time_limit=60)
        assert found.optimal
        assert found.gap in (0.0, None)
        expected = cheapest(space, codes[:, row], values, LIMITS[limits], None)
        assert (found.cost is None) == (expected is None)
        if expected is not None:
            assert found.cost == pytest.approx(expected, abs=1e-12)


def test_a_wanted_class_is_reached_at_the_least_cost():
    X, y = small_table(3, seed=11)
    forest = RandomForestClassifier(8, caution=2.0, random_state=0).fit(X, y)
    now = predictor_of(forest)
    space = Space(now)
    batch = now.read(X, all_features=True)
    columns, codes = batch.columns, batch.codes
    row = int(np.flatnonzero(only_class(now, counts_of(now, codes), None) < 0)[0])
    values = [float(column[row]) for column in columns]
    for wanted in range(3):
        found = smallest_change(space, codes[:, row], values, Limits(), time_limit=60, wanted=wanted)
        assert found.cost == pytest.approx(cheapest(space, codes[:, row], values, Limits(), wanted), abs=1e-12)
        assert found.label == wanted


@pytest.fixture(scope="module")
def patients():
    """A forest of real size, and rows it leaves open."""
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer(as_frame=True)
    X = data.data.iloc[:, :8]
    forest = RandomForestClassifier(caution=2.0, random_state=0).fit(X[:400], data.target[:400])
    rest = X[400:]
    return forest, rest[forest.predict_set(rest).sum(axis=1) > 1]


def test_the_changed_sample_is_determinate_and_its_values_are_those_of_training(patients):
    forest, rows = patients
    for why, (_, row) in zip(forest.explain(rows[:4], time_limit=5), rows[:4].iterrows(), strict=True):
        change = why.remedies.counterfactual
        assert change["found"]
        changed = row.copy()
        for move in change["changes"]:
            assert move["from"] == row[move["feature"]]
            changed[move["feature"]] = move["to"]
        after = changed.to_frame().T.astype(float)
        assert forest.predict_set(after).sum() == 1
        assert forest.predict(after)[0] == change["label"]


def test_limits_by_name_are_kept(patients):
    forest, rows = patients
    free = forest.explain(rows[:1])[0].remedies.counterfactual
    first = free["changes"][0]["feature"]
    kept = forest.explain(rows[:1], immutable=[first])[0].remedies.counterfactual
    assert first not in [move["feature"] for move in kept["changes"]]
    up = forest.explain(rows[:1], increasing=list(rows.columns))[0].remedies.counterfactual
    down = forest.explain(rows[:1], decreasing=list(rows.columns))[0].remedies.counterfactual
    assert all(move["to"] > move["from"] for move in up["changes"])
    assert all(move["to"] < move["from"] for move in down["changes"])
    if free["optimal"]:
        assert all(each["cost"] >= free["cost"] - 1e-12 for each in (kept, up, down) if each["found"])


def test_a_search_that_is_stopped_states_its_gap(patients):
    forest, rows = patients
    for why in forest.explain(rows[:3], time_limit=1e-9):
        change = why.remedies.counterfactual
        assert not change["optimal"]
        if change["found"]:
            assert 0 < change["gap"] <= 1
            assert change["bound"] <= change["cost"]


def test_nothing_can_be_done_when_nothing_may_change(patients):
    forest, rows = patients
    change = forest.explain(rows[:1], immutable=list(rows.columns))[0].remedies.counterfactual
    assert not change["found"]
    assert change["optimal"]


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"immutable": ["nothing"]}, "immutable must contain names or numbers of features"),
        ({"increasing": [99]}, "increasing must contain names or numbers of features"),
        ({"wanted": "neither"}, "wanted must be None or one of the classes"),
        ({"time_limit": -1}, "time_limit must be a number of seconds >= 0"),
        ({"cases": -1}, "cases must be an int >= 0"),
    ],
)
def test_wrong_questions_are_refused_in_words(patients, asked, words):
    forest, rows = patients
    with pytest.raises(ValueError, match=words):
        forest.explain(rows[:1], **asked)
