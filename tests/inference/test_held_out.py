"""`calibrate`: probabilities and decisions on held-out rows."""

from __future__ import annotations

import copy
import io
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import hedgerow
from hedgerow import DecisionTreeClassifier, ExtraTreesClassifier, MixedForestClassifier, RandomForestClassifier
from hedgerow.belief.calibrate import learn_calibrator
from hedgerow.decisions import Coverage, Decision, Risk, Screening
from hedgerow.util.runtime import halves

Table = tuple[NDArray[np.float64], NDArray[Any]]


def rows(seed: int, n: int, *, noise: float = 1.0, rate: float = 0.0) -> Table:
    """Two classes by name, with ties; `rate` moves their shares."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).round(1)
    return X, np.where(X[:, 0] + X[:, 1] + rng.normal(0, noise, n) + rate > 0, "ill", "well")


@pytest.fixture(scope="module")
def fitted() -> RandomForestClassifier:
    return RandomForestClassifier(20, random_state=0).fit(*rows(0, 300))


@pytest.fixture
def forest(fitted: RandomForestClassifier) -> RandomForestClassifier:
    return copy.copy(fitted)


def test_probabilities_follow_held_out_rows(fitted: RandomForestClassifier, forest: RandomForestClassifier) -> None:
    X, y = rows(1, 2000, rate=-2.0)
    before = fitted.predict_proba(X[1000:])[:, 0]
    after = forest.calibrate(X[:1000], y[:1000]).predict_proba(X[1000:])[:, 0]
    share = (y[1000:] == "ill").mean()
    assert abs(after.mean() - share) < 0.03 < abs(before.mean() - share)
    assert forest.calibration_.n_rows == 1000
    np.testing.assert_array_equal(fitted.predict_proba(X[1000:])[:, 0], before)  # copies share nothing


def test_the_calibrator_is_that_of_the_mean_of_the_leaves(
    fitted: RandomForestClassifier, forest: RandomForestClassifier
) -> None:
    X, y = rows(2, 400)
    plain = copy.copy(fitted).set_params(calibration=None).predict_proba(X)
    expected = learn_calibrator(plain, (y == "well").astype(np.int64))
    np.testing.assert_array_equal(forest.calibrate(X, y).predict_proba(X), expected.of(plain))


@pytest.mark.parametrize("kind", [ExtraTreesClassifier, MixedForestClassifier])
def test_other_forests(kind: type[Any]) -> None:
    X, y = rows(3, 900)
    forest = kind(9, random_state=0).fit(*rows(0, 200))
    forest.set_params(calibration="oob")
    before = forest.predict_proba(X[600:])
    assert (forest.calibrate(X[:600], y[:600]).predict_proba(X[600:]) != before).any()


@pytest.mark.parametrize(
    "decision", [Coverage(0.8), Coverage(0.8, per_class=True), Risk(0.3, 0.8), Screening(0.8, None, positive="ill")]
)
def test_each_half_calibrates_one_thing(
    fitted: RandomForestClassifier, forest: RandomForestClassifier, decision: Decision
) -> None:
    X, y = rows(4, 600)
    first, second = halves(600)
    forest.set_params(decision=decision).calibrate(X, y)
    assert forest.calibration_.n_rows == 300
    alone = copy.copy(fitted).calibrate(X[first], y[first])
    opinion = alone.evidence(X[second]).combine()
    own = type(decision)(**decision.get_params()).calibrate(opinion, y[second], classes=alone.classes_)
    np.testing.assert_array_equal(forest.predict_set(X), hedgerow.decide(alone.evidence(X).combine(), own))


def test_a_decision_alone_is_calibrated_on_all_rows(fitted: RandomForestClassifier) -> None:
    X, y = rows(5, 300)
    forest = copy.copy(fitted).set_params(calibration=None, decision=Risk(0.3, 0.8)).calibrate(X, y)
    assert forest._predictor().decision.n_rows_ == 300


def test_a_tree_takes_held_out_rows_for_its_decision() -> None:
    X, y = rows(6, 400)
    tree = DecisionTreeClassifier(max_depth=3, decision=Coverage(0.8), random_state=0).fit(X[:200], y[:200])
    assert tree.calibrate(X[200:], y[200:]).predict_set(X).any(axis=1).all()


def test_files_and_pickles_keep_the_result(forest: RandomForestClassifier) -> None:
    X, y = rows(7, 400)
    forest.set_params(decision=Coverage(0.8)).calibrate(X, y)
    file = io.BytesIO()
    hedgerow.save(forest, file)
    again = hedgerow.load(io.BytesIO(file.getvalue()))
    for predict in ("predict_proba", "predict_set", "predict_bounds"):
        np.testing.assert_array_equal(getattr(again, predict)(X), getattr(forest, predict)(X))
    again.calibrate(X[:200], y[:200])
    assert again.calibration_.n_rows == 100


def test_groups_are_halved_whole_and_counted_once(forest: RandomForestClassifier) -> None:
    X, y = rows(8, 600)
    people = np.arange(600) // 3
    forest.set_params(decision=Risk(0.3, 0.8)).calibrate(X, y, groups=people)
    assert forest._predictor().decision.n_rows_ == 100
    parts = halves(600, people)
    assert not set(people[parts[0]]) & set(people[parts[1]])
    assert sorted(np.concatenate(parts).tolist()) == list(range(600))


def test_errors_change_nothing(fitted: RandomForestClassifier, forest: RandomForestClassifier) -> None:
    X, y = rows(9, 300)
    before = forest.predict_proba(X)
    for change, given, message in (
        ({}, (X[:6], y[:6]), "requires more rows"),
        ({}, (X, np.where(y == "ill", "ill", "new")), "new"),
        ({}, (X, y[:-1]), "one label for each"),
        ({"calibration": None}, (X, y), "calibrate requires"),
        ({"rule": "dempster"}, (X, y), "calibrate requires"),
    ):
        changed = copy.copy(fitted).set_params(**change)
        with pytest.raises(ValueError, match=message):
            changed.calibrate(*given)
    np.testing.assert_array_equal(forest.predict_proba(X), before)


def populations() -> dict[str, Table]:
    """Many rows each: two balanced classes with ties, a rare class, three classes."""
    rare = rows(1, 20_000, rate=-2.5)
    X, _ = rows(2, 20_000)
    three = np.digitize(X[:, 0] + np.random.default_rng(3).normal(0, 0.7, len(X)), [-0.6, 0.6]).astype(str)
    return {"balanced": rows(0, 20_000), "rare": rare, "three": (X, three)}


@pytest.mark.parametrize("name", ["balanced", "rare", "three"])
def test_promises_hold_over_calibrations(name: str) -> None:
    """Exact on held-out rows: 60 draws of 400 rows; the mean coverage, and the share of broken promises."""
    X, y = populations()[name]
    forest = RandomForestClassifier(8, min_samples_leaf=5, random_state=0).fit(X[:400], y[:400])
    opened, truth = X[10_000:], np.searchsorted(forest.classes_, y[10_000:])
    rng, covered, broken = np.random.default_rng(0), [], []
    for _ in range(60):
        drawn = rng.choice(np.arange(400, 10_000), 400, replace=False)
        sets = copy.copy(forest).set_params(decision=Coverage(0.8)).calibrate(X[drawn], y[drawn]).predict_set(opened)
        covered.append(sets[np.arange(len(truth)), truth].mean())
        risky = copy.copy(forest).set_params(decision=Risk(0.2, 0.8)).calibrate(X[drawn], y[drawn]).predict_set(opened)
        sure = risky.sum(axis=1) == 1
        broken.append(sure.any() and (risky[sure].argmax(axis=1) != truth[sure]).mean() > 0.2)
    error = np.std(covered) / np.sqrt(len(covered))
    assert np.mean(covered) >= 0.8 - 3 * error
    assert np.mean(broken) <= 0.2 + 3 * np.sqrt(0.2 * 0.8 / len(broken))
