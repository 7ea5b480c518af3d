"""Rows that belong together: bags hold all rows of a group or none, and promises are about rows of new groups."""

from __future__ import annotations

import pickle
from functools import cache
from inspect import signature
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy.stats import kstest
from sklearn.base import clone
from sklearn.metrics import log_loss
from sklearn.model_selection import GroupKFold, cross_validate
from tests.reference.draws import Bag
from tests.reference.fold import prior_for

import hedgerow
from hedgerow import (
    DecisionTreeClassifier,
    ExtraSurvivalTrees,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    MixedForestClassifier,
    MixedForestRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    RandomSurvivalForest,
    UnsupervisedForest,
    combine,
    load,
    merge,
    save,
)
from hedgerow.decisions import Coverage, Risk
from hedgerow.explain import importance_test, oob_permutation_importance
from hedgerow.forest.rows import Bags, Groups
from hedgerow.inference.drift import traffic_of
from hedgerow.inference.fitted import fitted_of
from hedgerow.inference.predictor import predictor_of
from hedgerow.labels import from_sets
from hedgerow.rules import rule_names


def patients(
    n: int, seed: int, sizes: int | None = 8, noise: float = 0.15
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """-> rows, labels, patients: rows are close to their patient, who has one label; sizes None: 1 to 15 rows each."""
    random = np.random.default_rng(seed)
    own = random.normal(size=(n, 6))
    label = (own[:, 0] + own[:, 1] + 1.2 * random.normal(size=n) > 0).astype(int)
    patient = np.repeat(np.arange(n), random.integers(1, 16, n) if sizes is None else sizes)
    return own[patient] + noise * random.normal(size=(len(patient), 6)), label[patient], patient


X, Y, PATIENT = patients(40, 0, None)
NUMBER = X[:, 0] + Y


def target_of(make: type) -> np.ndarray:
    """Labels for a classifier, numbers for a regressor."""
    return NUMBER if make.__name__.endswith("Regressor") else Y


def shared_bags(model: Any) -> np.ndarray:
    """-> (n, T) by the twin in NumPy: whether the bag of the tree holds some row of the patient of each row."""
    fitted = fitted_of(model)
    n_patients, mean = int(PATIENT.max()) + 1, fitted.fingerprint.bag_mean
    drawn = [Bag(fitted.seed, tree, n_patients, mean).multiplicities() for tree in range(fitted.forest.n_trees)]
    return np.stack(drawn, axis=1)[PATIENT] > 0


# ---- bags ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [RandomForestClassifier, RandomForestRegressor, ExtraTreesClassifier])
@pytest.mark.parametrize("bootstrap", [True, "multinomial"])
@pytest.mark.parametrize("labels", [np.arange, lambda n: [f"row {i}" for i in range(n)]])
def test_a_group_for_each_row_changes_nothing(make, bootstrap, labels):
    given = {"bootstrap": bootstrap, "random_state": 3, "oob_score": True, "max_samples": 100}
    plain = make(12, **given).fit(X, target_of(make))
    grouped = make(12, **given).fit(X, target_of(make), groups=labels(len(X)))
    assert pickle.dumps(fitted_of(grouped).without_rows()) == pickle.dumps(fitted_of(plain).without_rows())
    assert grouped.oob_score_ == plain.oob_score_
    np.testing.assert_array_equal(grouped.predict_novelty(X), plain.predict_novelty(X))


def test_names_and_order_of_groups_change_nothing_but_their_first_rows_do():
    forest = RandomForestClassifier(10, random_state=0).fit(X, Y, groups=PATIENT)
    names = np.random.default_rng(0).permutation(1000)[PATIENT]
    for labels in (names, names.astype(str), names.astype(object), names * 0.5):
        again = RandomForestClassifier(10, random_state=0).fit(X, Y, groups=labels)
        np.testing.assert_array_equal(again.predict_proba(X), forest.predict_proba(X))


@pytest.mark.parametrize("mean", [1.0, 0.4, -1.0, -0.5])
def test_bags_hold_a_group_as_often_as_the_twin_draws_it(mean):
    groups = Groups.of(PATIENT)
    bags = Bags(5, mean, len(X), groups=groups)
    for tree in range(5):
        drawn = Bag(5, tree, groups.n_groups, mean).multiplicities()
        np.testing.assert_array_equal(bags.times(tree), np.asarray(drawn)[PATIENT])
        np.testing.assert_array_equal(bags.by_group.times(tree), drawn)
        np.testing.assert_array_equal(bags.times(tree, 7, 30), bags.times(tree)[7:30])


def test_max_samples_counts_groups():
    forest = RandomForestClassifier(200, max_samples=10, bootstrap="multinomial", random_state=0)
    bags = fitted_of(forest.fit(X, Y, groups=PATIENT)).rows.bags
    assert {int(bags.by_group.times(tree).sum()) for tree in range(20)} == {10}
    with pytest.raises(ValueError, match="max_samples must be at most 8 times the 40 groups, got 321"):
        forest.set_params(max_samples=321).fit(X, Y, groups=PATIENT)


@pytest.mark.parametrize("leaf_counts", ["all", "distinct", "inbag"])
@pytest.mark.parametrize("rule", rule_names())
def test_out_of_bag_evidence_has_no_tree_whose_bag_holds_the_group(leaf_counts, rule):
    forest = RandomForestClassifier(
        15, leaf_counts=leaf_counts, rule=rule, calibration=None, random_state=1, caution=1.0
    ).fit(X, Y, groups=PATIENT)
    inside, evidence = shared_bags(forest), forest.oob_evidence_
    np.testing.assert_array_equal(evidence.tree_mask, ~inside)
    row = int(np.flatnonzero((~inside).any(axis=1))[0])
    trees = np.flatnonzero(~inside[row])
    if rule == "average":  # the mean over these trees as they are: none has counted a row of the group
        counts = forest.evidence(X[[row]]).counts[0, trees]
        shares = counts / counts.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(evidence.combine().probability[row], shares.mean(axis=0), atol=1e-12)


def test_leaves_count_no_row_of_a_group_outside_the_bag():
    forest = RandomForestClassifier(15, random_state=1).fit(X, Y, groups=PATIENT)
    inside = shared_bags(forest)
    counted = [forest.evidence(X).forest.evidence_in(tree).sum() for tree in range(15)]
    np.testing.assert_array_equal(counted, inside.sum(axis=0))


@pytest.mark.parametrize("make", [RandomForestRegressor, ExtraTreesRegressor])
def test_out_of_bag_predictions_of_numbers_come_from_trees_without_the_group(make):
    forest = make(30, bootstrap=True, oob_score=True, random_state=1).fit(X, NUMBER, groups=PATIENT)
    outside = ~shared_bags(forest)
    by_tree = np.stack([tree.predict(X) for tree in forest.estimators_], axis=1)
    judged = outside.any(axis=1)
    expected = (by_tree * outside).sum(axis=1)[judged] / outside.sum(axis=1)[judged]
    np.testing.assert_allclose(forest.oob_prediction_[judged], expected)


def test_out_of_bag_importance_and_proximity_leave_groups_out():
    forest = RandomForestClassifier(30, random_state=1).fit(X, Y, groups=PATIENT)
    inside, leaves = shared_bags(forest), forest.apply(X)
    a, b = 0, len(X) - 1
    both = ~inside[a] & ~inside[b]
    expected = (leaves[a] == leaves[b])[both].mean()
    assert forest.proximity(oob=True).toarray()[a, b] == pytest.approx(expected)
    noise = np.column_stack([np.random.default_rng(0).normal(size=int(PATIENT.max()) + 1)[PATIENT], X[:, 0]])
    alone = RandomForestClassifier(100, random_state=0).fit(noise, Y)
    together = RandomForestClassifier(100, random_state=0).fit(noise, Y, groups=PATIENT)
    # A value of the patient identifies her: without groups it seems to matter, with groups it does not.
    assert oob_permutation_importance(alone).mean[0] > 0.2
    assert oob_permutation_importance(together).mean[0] < 0.07


@pytest.mark.parametrize("leaf_counts", ["distinct", "groups"])
def test_importance_is_tested_by_exchanging_groups(leaf_counts):
    """A value of the patient that has nothing to do with her labels, which vary; groups have two sizes."""
    random, pvalues = np.random.default_rng(0), []
    patient = np.repeat(np.arange(24), np.tile([2, 6], 12))
    for seed in range(60):
        own, label = random.normal(size=(24, 2)), random.normal(size=24)
        y = (own[:, 0] + label)[patient] + 0.3 * random.normal(size=len(patient)) > 0
        forest = RandomForestClassifier(5, leaf_counts=leaf_counts, random_state=seed)
        forest.fit(own[patient], y.astype(int), groups=patient)
        found = importance_test(forest, features=[1], n_permutations=19, random_state=seed)
        pvalues.append(found.pvalue[0] - random.random() / 20)
    assert kstest(pvalues, "uniform").pvalue > 0.05
    clear = (own[patient, 0] > 0).astype(int)
    forest = RandomForestClassifier(20, leaf_counts=leaf_counts, random_state=0).fit(
        own[patient], clear, groups=patient
    )
    for null in ("feature", "labels"):
        assert importance_test(forest, null=null, n_permutations=19).pvalue[0] == 1 / 20


def test_several_outputs_and_sample_weights_keep_groups():
    weights = np.where(PATIENT == 3, 0.0, 1.0)
    kept = weights > 0
    forest = RandomForestClassifier(10, random_state=0, oob_score=True)
    forest.fit(X, np.column_stack([Y, NUMBER > 0]), weights, groups=PATIENT)
    rows = fitted_of(forest).outputs[1].rows
    assert rows.n_groups == len(np.unique(PATIENT)) - 1
    np.testing.assert_array_equal(np.unique(rows.groups), np.arange(rows.n_groups))
    assert all(len(np.unique(rows.groups[PATIENT[kept] == k])) == 1 for k in np.unique(PATIENT[kept]))


def test_variance_resamples_groups():
    """Eight copies of each row are no more evidence than the rows."""
    once, label = X[:60], NUMBER[:60]
    copies, owner = np.repeat(once, 8, axis=0), np.repeat(np.arange(60), 8)
    plain = RandomForestRegressor(300, random_state=0).fit(once, label).predict_variance(once).limit.mean()
    grouped = RandomForestRegressor(300, random_state=0).fit(copies, np.repeat(label, 8), groups=owner)
    blind = RandomForestRegressor(300, random_state=0).fit(copies, np.repeat(label, 8))
    assert grouped.predict_variance(once).limit.mean() == pytest.approx(plain, rel=0.3)
    assert blind.predict_variance(once).limit.mean() < plain / 2


# ---- promises -----------------------------------------------------------------------------------


@cache
def judged(seed: int, sizes: int | None, grouped: bool) -> dict[str, float]:
    """A forest of 150 patients -> what it says of itself, and how it does on rows of 300 new ones."""
    rows, y, patient = patients(150, seed, sizes)
    new, truth, new_patient = patients(300, 1000 + seed, sizes)
    share = 1 / np.bincount(new_patient)[new_patient]
    forest = RandomForestClassifier(100, oob_score=True, decision=Coverage(0.9), random_state=seed)
    forest.fit(rows, y, groups=patient if grouped else None)
    held = forest.predict_set(new)[np.arange(len(truth)), truth]
    probability = forest.predict_proba(new)
    raw = forest.set_params(calibration=None).predict_proba(new)
    return {
        "out of bag": forest.oob_score_,
        "accuracy": float((probability.argmax(axis=1) == truth).mean()),
        "coverage": float(np.average(held, weights=share)),
        "loss": log_loss(truth, probability),
        "raw loss": log_loss(truth, raw),
    }


@pytest.mark.parametrize("sizes", [8, None])
def test_a_forest_of_patients_knows_how_it_does_on_new_patients(sizes):
    found = pd.DataFrame([judged(seed, sizes, True) for seed in range(8)]).mean()
    assert abs(found["out of bag"] - found["accuracy"]) < 0.03
    assert 0.87 < found["coverage"] < 0.95
    assert found["loss"] < found["raw loss"] + 0.01


def test_without_groups_it_does_not_know():
    found = pd.DataFrame([judged(seed, 8, False) for seed in range(3)]).mean()
    assert found["out of bag"] > found["accuracy"] + 0.2
    assert found["coverage"] < 0.8
    assert found["loss"] > found["raw loss"] + 0.2


def test_risk_is_kept_for_new_patients():
    broken, shares = [], []
    for seed in range(8):
        rows, y, patient = patients(400, seed, 4)
        new, truth, _ = patients(2000, 1000 + seed, 1)
        forest = RandomForestClassifier(100, decision=Risk(0.25, 0.9), random_state=seed).fit(rows, y, groups=patient)
        sets = forest.predict_set(new)
        decided = sets.sum(axis=1) == 1
        shares.append(decided.mean())
        broken.append(decided.any() and sets[np.arange(len(truth)), truth][decided].mean() < 0.75)
    assert sum(broken) <= 2  # 0.8 are expected
    assert np.mean(shares) > 0.3


@pytest.mark.parametrize("method", ["scaled", "jackknife+"])
def test_intervals_cover_new_patients(method):
    def covered(seed: int, grouped: bool) -> float:
        rows, _, patient = patients(120, seed, 8)
        new, _, new_patient = patients(200, 1000 + seed, 2)
        random = np.random.default_rng(seed)
        y, truth = (x[:, 0] + random.normal(size=300)[p] for x, p in ((rows, patient), (new, new_patient)))
        forest = RandomForestRegressor(60, random_state=seed).fit(rows, y, groups=patient if grouped else None)
        low, high = forest.predict_interval(new, 0.9, method=method).T
        return float(((low <= truth) & (truth <= high)).mean())

    assert np.mean([covered(seed, True) for seed in range(6)]) > 0.87
    assert np.mean([covered(seed, False) for seed in range(2)]) < 0.75


def test_novelty_levels_hold_for_new_patients():
    share = []
    for seed in range(4):
        rows, y, patient = patients(150, seed, 8)
        forest = RandomForestClassifier(60, random_state=seed).fit(rows, y, groups=patient)
        share.append((forest.predict_novelty(patients(400, 1000 + seed, 1)[0]) <= 0.1).mean())
    assert 0.04 < np.mean(share) < 0.16


@pytest.mark.parametrize("leaf_counts", ["all", "inbag", "groups"])
def test_no_drift_is_found_in_new_patients(leaf_counts, tmp_path):
    """Eight visits of a training patient count as one row; if they counted as eight, all p-values would be 0.01."""
    found = []
    for seed in range(3):
        rows, y, patient = patients(100, seed, 8)
        new, truth, _ = patients(200, 1000 + seed, 1)
        forest = RandomForestClassifier(20, leaf_counts=leaf_counts, random_state=seed).fit(rows, y, groups=patient)
        found.append(forest.drift(new, truth, n_permutations=99).p_value)
        save(forest, tmp_path / "m.hedge")
        predictor = predictor_of(load(tmp_path / "m.hedge"))
        found.append(traffic_of(predictor, predictor.read(new).codes).p_value)
    assert min(found) > 0.02
    assert forest.drift(new + 1.0, n_permutations=99).p_value == 0.01
    assert traffic_of(predictor, predictor.read(new + 1.0).codes).p_value < 0.01


def test_a_threshold_counts_each_group_once():
    """The twin adds 1 / (rows of the group) for each score, as hierarchical conformal prediction does."""
    random = np.random.default_rng(1)
    probability = random.dirichlet([2, 2], 300)
    y, group = random.integers(0, 2, 300), random.integers(0, 40, 300)
    scores, sizes = 1 - probability[np.arange(300), y], np.bincount(group)
    for target in (0.5, 0.8, 0.95):
        reaching = [s for s in np.sort(scores) if (1 / sizes[group[scores <= s]]).sum() >= 41 * target - 1e-9]
        found = Coverage(target).calibrate(probability, y, clusters=group)
        assert found.threshold_[0] == reaching[0]
        assert found.n_rows_.tolist() == [40, 40]
    alone = Coverage(0.9).calibrate(probability, y, clusters=np.arange(300))
    assert alone.threshold_.tolist() == Coverage(0.9).calibrate(probability, y).threshold_.tolist()


def test_too_few_groups_promise_nothing_however_many_rows_they_have():
    probability, y = np.tile([0.9, 0.1], (500, 1)), np.zeros(500, dtype=int)
    with pytest.warns(UserWarning, match="at least 9 groups of rows, got 5"):
        decision = Coverage(0.9).calibrate(probability, y, classes=[0, 1], clusters=np.arange(500) % 5)
    assert np.isinf(decision.threshold_).all()
    with pytest.warns(UserWarning, match="at least 59 groups of rows, got 5"):
        assert Risk(0.05).calibrate(probability, y, classes=[0, 1], clusters=np.arange(500) % 5).n_rows_ == 5


def test_a_decision_that_knows_no_clusters_is_refused():
    class Own(Coverage):
        def calibrate(self, opinion: Any, y: Any, *, classes: Any = None) -> Any:
            return super().calibrate(opinion, y, classes=classes)

    with pytest.raises(ValueError, match="Own does not support groups of rows"):
        RandomForestClassifier(10, decision=Own(0.8), random_state=0).fit(X, Y, groups=PATIENT)


# ---- where groups come from, and where they go ----------------------------------------------------


@pytest.mark.parametrize("make", [pd.DataFrame, "polars"])
def test_groups_may_be_a_column_which_is_no_feature(make):
    frame = pd.DataFrame(X, columns=list("abcdef"))
    table = frame.assign(patient=[f"p{k}" for k in PATIENT])
    if make == "polars":
        polars = pytest.importorskip("polars")
        frame, table = polars.from_pandas(frame), polars.from_pandas(table)
    forest = RandomForestClassifier(10, random_state=0).fit(table, Y, groups="patient")
    assert forest.feature_names_in_.tolist() == list("abcdef")
    by_array = RandomForestClassifier(10, random_state=0).fit(frame, Y, groups=PATIENT)
    np.testing.assert_array_equal(forest.predict_proba(frame), by_array.predict_proba(frame))


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (PATIENT[:-1], "groups must have one label for each of the"),
        (PATIENT[:, None], "groups must have one label for each of the"),
        (np.where(PATIENT == 2, np.nan, PATIENT), "groups must not have missing values"),
        (np.where(PATIENT == 2, None, PATIENT), "groups must not have missing values"),
        ("patient", "groups must be an array unless X is a data frame"),
    ],
)
def test_bad_groups_are_refused(groups, message):
    with pytest.raises(ValueError, match=message):
        RandomForestClassifier(5).fit(X, Y, groups=groups)


def test_what_groups_do_not_support_is_refused():
    with pytest.raises(ValueError, match="leaf_counts='oob' does not support groups"):
        RandomForestClassifier(5, leaf_counts="oob").fit(X, Y, groups=PATIENT)
    with pytest.raises(ValueError, match="groups must be a column of X"):
        RandomForestClassifier(5).fit(pd.DataFrame(X), Y, groups="patient")


@pytest.mark.parametrize("make", [DecisionTreeClassifier, ExtraTreesClassifier])
def test_a_model_without_bags_ignores_groups(make):
    plain, grouped = (make(random_state=0).fit(X, Y, groups=groups) for groups in (None, PATIENT))
    assert pickle.dumps(fitted_of(grouped).without_rows()) == pickle.dumps(fitted_of(plain).without_rows())
    grouped.partial_fit(X, Y)


@pytest.mark.parametrize("make", [RandomForestClassifier, RandomForestRegressor])
def test_more_trees_are_those_of_one_fit(make, tmp_path):
    y = target_of(make)
    at_once = make(15, random_state=0, oob_score=True).fit(X, y, groups=PATIENT)
    more = make(10, random_state=0, oob_score=True).fit(X, y, groups=PATIENT).grow_more(5)
    warm = make(10, random_state=0, oob_score=True, warm_start=True).fit(X, y, groups=PATIENT)
    warm.set_params(n_estimators=15).fit(X, y, groups=PATIENT)
    stored = make(10, random_state=0).fit(X, y, groups=PATIENT, checkpoint=tmp_path / "trees")
    stored = make(15, random_state=0, oob_score=True).fit(X, y, groups=PATIENT, checkpoint=tmp_path / "trees")
    for forest in (more, warm, stored):
        np.testing.assert_array_equal(forest.predict(X), at_once.predict(X))
        assert forest.oob_score_ == at_once.oob_score_
    with pytest.raises(ValueError, match="groups"):
        make(15, random_state=0).fit(X, y, checkpoint=tmp_path / "trees")
    with pytest.raises(ValueError, match="X, y, groups"):
        warm.set_params(n_estimators=20).fit(X, y, groups=PATIENT[::-1])


@pytest.mark.parametrize("make", [RandomForestClassifier, RandomForestRegressor])
def test_files_keep_the_number_of_groups_and_no_names(make, tmp_path):
    y, names = target_of(make), np.array([f"Ms Secret {k}" for k in PATIENT])
    forest = make(10, random_state=0, oob_score=True).fit(X, y, groups=names)
    save(forest, tmp_path / "m.hedge")
    assert b"Secret" not in (tmp_path / "m.hedge").read_bytes()
    assert b"Secret" not in pickle.dumps(forest)
    for again in (load(tmp_path / "m.hedge"), pickle.loads(pickle.dumps(forest))):
        np.testing.assert_array_equal(again.predict(X), forest.predict(X))
        np.testing.assert_array_equal(again.predict_novelty(X), forest.predict_novelty(X))
        assert fitted_of(again).origins[0].n_groups == fitted_of(again).fingerprint.n_groups == 40
        with pytest.raises(ValueError, match="groups must be the 40 groups so far, got none"):
            again.grow_more(5, X, y)
        with pytest.raises(ValueError, match="requires the groups of the training rows"):
            predictor_of(again).bags()
        grown = again.grow_more(5, X, y, groups=names)
        np.testing.assert_array_equal(grown.predict(X), make(15, random_state=0).fit(X, y, groups=PATIENT).predict(X))


def test_files_without_groups_do_not_mention_them(tmp_path):
    save(RandomForestClassifier(5, random_state=0).fit(X, Y), tmp_path / "m.hedge")
    assert b"n_groups" not in (tmp_path / "m.hedge").read_bytes()


def test_metadata_routing_passes_groups_on():
    with sklearn.config_context(enable_metadata_routing=True):
        forest = RandomForestClassifier(30, oob_score=True, random_state=0).set_fit_request(groups=True)
        found = cross_validate(
            forest, X, Y, cv=GroupKFold(3), params={"groups": PATIENT}, return_estimator=True, error_score="raise"
        )
    assert all(fitted_of(each).rows.n_groups for each in found["estimator"])


def test_a_survival_forest_leaves_groups_out():
    time = np.exp(X[:, 0] - Y)
    forest = RandomSurvivalForest(15, oob_score=True, random_state=0)
    event = np.ones(len(X), dtype=bool)
    forest.fit(X, (event, time), groups=PATIENT)
    rows = fitted_of(forest).rows
    np.testing.assert_array_equal(~rows.oob_mask.table(15), shared_bags(forest))
    assert forest.oob_score_ < RandomSurvivalForest(15, oob_score=True, random_state=0).fit(X, (event, time)).oob_score_


# ---- later rows -----------------------------------------------------------------------------------

#: Some patients occur only in the first rows, some only in the later ones, and most in both.
SHUFFLED = np.random.default_rng(5).permutation(len(X))
FIRST, LATER = SHUFFLED[: len(X) // 2], SHUFFLED[len(X) // 2 :]


def later_bags(forest: Any, order: np.ndarray) -> np.ndarray:
    """-> (n, T) by the twin: multiplicity of the group of each row; groups are numbered by their first rows."""
    patients = PATIENT[order]
    number = {patient: k for k, patient in enumerate(dict.fromkeys(patients.tolist()))}
    fitted = fitted_of(forest)
    drawn = [
        Bag(fitted.seed, tree, len(number), fitted.fingerprint.bag_mean).multiplicities()
        for tree in range(fitted.forest.n_trees)
    ]
    return np.transpose(drawn)[[number[patient] for patient in patients.tolist()]]


@pytest.mark.parametrize("leaf_counts", ["distinct", "inbag", "groups"])
@pytest.mark.parametrize("labels", [PATIENT, np.array([f"p{k}" for k in PATIENT]), PATIENT.astype(object)])
def test_later_rows_join_their_groups(leaf_counts, labels):
    forest = RandomForestClassifier(15, leaf_counts=leaf_counts, random_state=0, oob_score=True, max_depth=4)
    forest.fit(X[FIRST], Y[FIRST], groups=labels[FIRST])
    forest.partial_fit(X[LATER], Y[LATER], groups=labels[LATER])
    times = later_bags(forest, SHUFFLED)
    rows = fitted_of(forest).rows
    np.testing.assert_array_equal(rows.oob_mask.table(15), times == 0)
    assert rows.n_groups == fitted_of(forest).origins[0].n_groups == 40
    leaves = fitted_of(forest).forest.leaves(rows.codes)
    for tree in range(15):
        counted = {"distinct": times[:, tree] > 0, "inbag": times[:, tree], "groups": times[:, tree] > 0}[leaf_counts]
        table = np.zeros((leaves[:, tree].max() + 1, 2))
        if leaf_counts == "groups":
            pairs = {(leaves[i, tree], PATIENT[SHUFFLED[i]], Y[SHUFFLED[i]]) for i in np.flatnonzero(counted)}
            for leaf, _, label in pairs:
                table[leaf, label] += 1
        else:
            np.add.at(table, (leaves[:, tree], Y[SHUFFLED]), counted)
        np.testing.assert_array_equal(forest.forest_.evidence_in(tree), table)


@pytest.mark.parametrize("make", [RandomForestClassifier, RandomForestRegressor, ExtraTreesClassifier])
def test_the_number_of_calls_changes_nothing(make):
    y = target_of(make)
    at_once, by_parts = (
        make(12, bootstrap=True, random_state=0, oob_score=True).fit(X[FIRST], y[FIRST], groups=PATIENT[FIRST])
        for _ in range(2)
    )
    at_once.partial_fit(X[LATER], y[LATER], groups=PATIENT[LATER])
    for part in np.array_split(LATER, 3):
        by_parts.partial_fit(X[part], y[part], groups=PATIENT[part])
    assert pickle.dumps(fitted_of(by_parts).without_rows().forest) == pickle.dumps(
        fitted_of(at_once).without_rows().forest
    )
    np.testing.assert_array_equal(by_parts.predict(X), at_once.predict(X))
    assert fitted_of(by_parts).origins == fitted_of(at_once).origins
    assert by_parts.oob_score_ == at_once.oob_score_


def test_later_rows_of_a_loaded_or_merged_forest_are_of_new_groups(tmp_path):
    first, later = PATIENT < 20, PATIENT >= 20
    here, there = (
        RandomForestClassifier(10, random_state=seed).fit(X[first], Y[first], groups=PATIENT[first]) for seed in (0, 1)
    )
    save(here, tmp_path / "m.hedge")
    for again in (load(tmp_path / "m.hedge"), pickle.loads(pickle.dumps(here))):
        again.partial_fit(X[later], Y[later], groups=PATIENT[later])
        kept = clone(here).fit(X[first], Y[first], groups=PATIENT[first])
        kept.partial_fit(X[later], Y[later], groups=PATIENT[later])
        np.testing.assert_array_equal(again.evidence(X).counts, kept.evidence(X).counts)
        assert fitted_of(again).origins == fitted_of(kept).origins
        save(again, tmp_path / "later.hedge")
        assert fitted_of(load(tmp_path / "later.hedge")).origins == fitted_of(again).origins
        grown = load(tmp_path / "later.hedge").grow_more(5, X, Y, groups=PATIENT)
        np.testing.assert_array_equal(grown.evidence(X).counts, kept.grow_more(5).evidence(X).counts)
    before = merge(here, there).partial_fit(X[later], Y[later], groups=PATIENT[later])
    after = merge(*(each.partial_fit(X[later], Y[later], groups=PATIENT[later]) for each in (here, there)))
    np.testing.assert_array_equal(before.evidence(X).counts, after.evidence(X).counts)


def test_none_makes_every_later_row_a_group_of_its_own():
    forest, named = (
        RandomForestRegressor(10, random_state=0, oob_score=True).fit(X[FIRST], NUMBER[FIRST], groups=PATIENT[FIRST])
        for _ in range(2)
    )
    forest.partial_fit(X[LATER], NUMBER[LATER], groups=None)
    named.partial_fit(X[LATER], NUMBER[LATER], groups=[f"row {i}" for i in LATER])
    np.testing.assert_array_equal(forest.predict(X), named.predict(X))
    assert forest.oob_score_ == named.oob_score_


def test_a_first_call_of_partial_fit_is_a_fit_with_groups():
    first = RandomForestClassifier(10, random_state=0).partial_fit(X, Y, [0, 1], groups=PATIENT)
    fitted = RandomForestClassifier(10, random_state=0).fit(X, Y, groups=PATIENT)
    np.testing.assert_array_equal(first.predict_proba(X), fitted.predict_proba(X))


def test_later_rows_without_groups_are_refused(tmp_path):
    forest = RandomForestClassifier(5, leaf_counts="groups", random_state=0).fit(X, Y, groups=PATIENT)
    with pytest.raises(ValueError, match="partial_fit requires groups for a forest fitted with groups"):
        forest.partial_fit(X, Y)
    alone = RandomForestClassifier(5, random_state=0, leaf_counts="distinct").fit(X, Y)
    with pytest.raises(ValueError, match="requires a forest whose first rows had groups"):
        alone.partial_fit(X, Y, groups=PATIENT)
    exact = RandomForestClassifier(5, bootstrap="multinomial", random_state=0).fit(X, Y, groups=PATIENT)
    with pytest.raises(ValueError, match="does not support groups with bootstrap='multinomial'"):
        exact.partial_fit(X, Y, groups=PATIENT)
    both = merge(alone, RandomForestClassifier(5, leaf_counts="distinct", random_state=0).fit(X, Y, groups=PATIENT))
    with pytest.raises(ValueError, match="merged with one without groups"):
        both.partial_fit(X, Y, groups=PATIENT)
    with pytest.raises(ValueError, match="requires the training rows"):
        pickle.loads(pickle.dumps(forest)).partial_fit(X, Y, groups=PATIENT)


def test_a_survival_forest_counts_later_rows_of_groups():
    time, event = np.exp(X[:, 0] - Y), np.ones(len(X), dtype=bool)
    forest = RandomSurvivalForest(12, oob_score=True, random_state=0, leaf_counts="distinct")
    forest.fit(X[FIRST], (event[FIRST], time[FIRST]), groups=PATIENT[FIRST])
    forest.partial_fit(X[LATER], (event[LATER], time[LATER]), groups=PATIENT[LATER])
    times = later_bags(forest, SHUFFLED)
    np.testing.assert_array_equal(fitted_of(forest).rows.oob_mask.table(12), times == 0)


# ---- leaves that count groups -----------------------------------------------------------------------


def leaf_twin(forest: Any, labels: np.ndarray, weights: np.ndarray | None = None) -> list[np.ndarray]:
    """-> for each tree, (leaves, K): the groups in each leaf, shared among classes by their rows."""
    inside, leaves = shared_bags(forest), fitted_of(forest).forest.leaves(fitted_of(forest).rows.codes)
    found = []
    for tree in range(leaves.shape[1]):
        held: dict[tuple[int, int], list[int]] = {}
        for row in np.flatnonzero(inside[:, tree]):
            held.setdefault((int(leaves[row, tree]), int(PATIENT[row])), []).append(int(row))
        table, total = np.zeros((int(leaves[:, tree].max()) + 1, labels.max() + 1)), {}
        for (leaf, _), rows in held.items():
            total[leaf] = total.get(leaf, 0) + 1
            for row in rows:
                table[leaf, labels[row]] += (1 if weights is None else weights[row]) / len(rows)
        number = np.array([total[leaf] for leaf in range(len(table))])
        found.append(table * (number / table.sum(axis=1))[:, None])
    return found


@pytest.mark.parametrize("labels", ["one", "several", "many", "weighted"])
def test_leaves_count_groups(labels, tmp_path):
    random = np.random.default_rng(0)
    y = {"one": Y, "several": random.integers(0, 2, len(X)), "many": random.integers(0, 12, len(X)), "weighted": Y}[
        labels
    ]
    weights = random.integers(1, 4, len(X)).astype(float) if labels == "weighted" else None
    forest = RandomForestClassifier(8, leaf_counts="groups", min_samples_leaf=5, random_state=0)
    forest.fit(X, y, weights, groups=PATIENT)
    for tree, expected in enumerate(leaf_twin(forest, y, weights)):
        np.testing.assert_allclose(forest.forest_.evidence_in(tree), expected, rtol=1e-9, atol=1e-12)
    rows = RandomForestClassifier(8, leaf_counts="distinct", min_samples_leaf=5, random_state=0)
    rows.fit(X, y, weights, groups=PATIENT)
    np.testing.assert_array_equal(forest.apply(X), rows.apply(X))
    assert forest.evidence(X).combine().vacuity.mean() > 1.3 * rows.evidence(X).combine().vacuity.mean()
    save(forest, tmp_path / "m.hedge")
    np.testing.assert_array_equal(load(tmp_path / "m.hedge").predict_bounds(X), forest.predict_bounds(X))
    merged = merge(forest, forest)
    np.testing.assert_array_equal(merged.forest_.counts[: len(forest.forest_.counts)], forest.forest_.counts)


def test_leaves_count_groups_in_more_trees_and_outputs(tmp_path):
    given = {"leaf_counts": "groups", "random_state": 0, "oob_score": True, "ccp_alpha": 0.001}
    at_once = RandomForestClassifier(12, **given).fit(X, Y, groups=PATIENT)
    more = RandomForestClassifier(8, **given).fit(X, Y, groups=PATIENT).grow_more(4)
    RandomForestClassifier(8, **given).fit(X, Y, groups=PATIENT, checkpoint=tmp_path)
    stored = RandomForestClassifier(12, **given).fit(X, Y, groups=PATIENT, checkpoint=tmp_path)
    for forest in (more, stored):
        np.testing.assert_array_equal(forest.predict_bounds(X), at_once.predict_bounds(X))
        assert forest.oob_score_ == at_once.oob_score_
    both = RandomForestClassifier(12, **given).fit(X, np.column_stack([Y, Y]), groups=PATIENT)
    for output in both.outputs_:
        counted = [output.forest_.evidence_in(tree).sum() for tree in range(12)]
        assert max(counted) < len(X) / 2


def test_leaves_count_rows_if_every_row_is_a_group():
    alone = RandomForestClassifier(8, leaf_counts="groups", random_state=0).fit(X, Y, groups=None)
    rows = RandomForestClassifier(8, leaf_counts="distinct", random_state=0).fit(X, Y, groups=None)
    np.testing.assert_array_equal(alone.predict_bounds(X), rows.predict_bounds(X))


def test_leaves_that_cannot_count_groups_raise_an_error():
    with pytest.raises(ValueError, match="leaf_counts='groups' does not support monotonic_cst"):
        RandomForestClassifier(5, leaf_counts="groups", monotonic_cst=[1, 0, 0, 0, 0, 0]).fit(X, Y, groups=PATIENT)
    with pytest.raises(ValueError, match="leaf_counts='groups' requires certain labels"):
        RandomForestClassifier(5, leaf_counts="groups").fit(X, from_sets([{0}, {0, 1}] * (len(X) // 2)), groups=PATIENT)
    with pytest.raises(ValueError, match="leaf_counts='groups' requires bootstrap=True"):
        ExtraTreesClassifier(5, leaf_counts="groups").fit(X, Y)


# ---- laws for every estimator -----------------------------------------------------------------------

SURVIVAL = (np.ones(len(X), dtype=bool), np.exp(X[:, 0]))
MODELS = [
    (RandomForestClassifier(12, random_state=0), Y),
    (ExtraTreesClassifier(12, bootstrap=True, random_state=1), Y),
    (RandomForestClassifier(12, bootstrap="multinomial", max_samples=0.5, random_state=2), Y),
    (RandomForestClassifier(12, leaf_counts="groups", random_state=3), Y),
    (RandomForestClassifier(12, random_state=4), np.column_stack([Y, NUMBER > 0])),
    (RandomForestRegressor(12, random_state=5), NUMBER),
    (ExtraTreesRegressor(12, bootstrap=True, random_state=6), NUMBER),
    (RandomForestRegressor(12, random_state=7), np.column_stack([NUMBER, X[:, 1]])),
    (RandomSurvivalForest(12, random_state=8), SURVIVAL),
    (MixedForestClassifier(12, random_state=9), Y),
    (MixedForestRegressor(12, random_state=10), NUMBER),
    (ExtraSurvivalTrees(12, bootstrap=True, random_state=11), SURVIVAL),
]


def test_the_laws_are_about_every_estimator_with_bags():
    """`UnsupervisedForest`, whose bags have permuted rows too, has a law of its own."""
    public = (getattr(hedgerow, name) for name in dir(hedgerow))
    estimators = [each for each in public if isinstance(each, type) and hasattr(each, "fit")]
    with_bags = {each for each in estimators if "max_samples" in signature(each).parameters}
    assert {type(model) for model, _ in MODELS} == with_bags


@pytest.mark.parametrize("number", range(len(MODELS)))
def test_no_out_of_bag_answer_depends_on_a_tree_whose_bag_holds_the_group(number):
    """The twin draws the bags; rows of groups outside a bag, however they change, do not change its tree."""
    model, y = MODELS[number]
    forest = clone(model).fit(X, y, groups=PATIENT)
    fitted = fitted_of(forest)
    inside = shared_bags(forest)
    for each in fitted.outputs or [fitted]:
        np.testing.assert_array_equal(each.rows.oob_mask.table(12), ~inside)
    # The rows that grew and filled a tree are those of its bag: other rows of the table change nothing.
    for tree in (0, 5, 11):
        held = inside[:, tree]
        other = np.where(held[:, None], X, X[::-1] + 7.0)
        changed = clone(model).fit(other, y, groups=PATIENT)
        leaves = [each.trees_[tree] for each in (forest, changed)]
        assert leaves[0].n_leaves == leaves[1].n_leaves
        np.testing.assert_array_equal(forest.apply(X[held])[:, tree], changed.apply(X[held])[:, tree])


@pytest.mark.parametrize("rule", rule_names())
def test_no_rule_combines_a_tree_whose_bag_holds_the_group(rule):
    """Twin: opinions of the trees without the group, combined alone, are the out-of-bag opinions of its rows."""
    forest = RandomForestClassifier(15, rule=rule, calibration=None, random_state=1, caution=1.0).fit(
        X, Y, groups=PATIENT
    )
    inside, evidence = shared_bags(forest), forest.oob_evidence_
    found, whole = evidence.combine(), forest.evidence(X)
    for row in np.flatnonzero((~inside).sum(axis=1) > 2)[::40]:
        alone = combine(
            whole.counts[[row]][:, ~inside[row]], rule=rule, caution=1.0, prior=prior_for(rule, np.bincount(Y) / len(Y))
        )
        np.testing.assert_allclose(found.probability[row], alone.probability[0], atol=1e-9)
        np.testing.assert_allclose(found.upper[row], alone.upper[0], atol=1e-9)


def test_an_unsupervised_forest_leaves_groups_out(tmp_path):
    forest = UnsupervisedForest(20, random_state=0).fit(X, groups=PATIENT)
    inside, leaves = shared_bags(forest), forest.apply(X)
    a, b = 0, len(X) - 1
    both = ~inside[a] & ~inside[b]
    expected = (leaves[a] == leaves[b])[both].mean()
    assert forest.proximity(oob=True).toarray()[a, b] == pytest.approx(expected)
    plain, alone = (UnsupervisedForest(5, random_state=0).fit(X, groups=groups) for groups in (None, np.arange(len(X))))
    np.testing.assert_array_equal(plain.apply(X), alone.apply(X))
    save(forest, tmp_path / "m.hedge")
    np.testing.assert_array_equal(load(tmp_path / "m.hedge").apply(X), leaves)
