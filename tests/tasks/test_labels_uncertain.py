"""Labels that are sets, plausibilities or masses: certain ones change nothing, uncertain ones are one row each."""

from __future__ import annotations

import io
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.reference.fold import prior_for

import hedgerow
from hedgerow import (
    DecisionTreeClassifier,
    ExtraTreesClassifier,
    RandomDecisionTreesClassifier,
    RandomForestClassifier,
    _core,
    combine,
)
from hedgerow.belief import contour_from_mass, mass_from_sets, pignistic_from_mass
from hedgerow.criteria import BeliefGain
from hedgerow.decisions import decide
from hedgerow.inference.fitted import fitted_of
from hedgerow.inference.predictor import predictor_of
from hedgerow.labels import UncertainLabels, from_masses, from_plausibilities, from_sets, read_labels
from hedgerow.metrics import accuracy_bounds, u80
from hedgerow.rules import Belief, merge_states
from hedgerow.tasks.classification.target import NEGLIGIBLE

MODELS: dict[str, Any] = {
    "tree": DecisionTreeClassifier(random_state=3),
    "forest": RandomForestClassifier(8, random_state=3),
    "balanced forest": RandomForestClassifier(8, class_weight="balanced_subsample", random_state=3),
    "weighted extra trees": ExtraTreesClassifier(8, class_weight={0: 2.0}, random_state=3),
    "random decision trees": RandomDecisionTreesClassifier(8, random_state=3),
}
X, Y = load_iris(return_X_y=True)


def blur(y: NDArray[Any], share: float, seed: int = 0, n_classes: int = 3) -> list[frozenset[int]]:
    """Labels (n,) -> sets that hold them; the given share of them holds another class or more as well."""
    rng = np.random.default_rng(seed)
    sets = []
    for label in y.tolist():
        others = [k for k in range(n_classes) if k != label]
        extra = rng.choice(others, rng.integers(1, n_classes), replace=False).tolist() if rng.random() < share else []
        sets.append(frozenset([label, *extra]))
    return sets


def same_model(one: Any, other: Any) -> bool:
    """Every array of the two forests, bit for bit."""
    first, second = one.forest_.arrays(), other.forest_.arrays()
    return first.keys() == second.keys() and all(np.array_equal(first[name], second[name]) for name in first)


# ---- labels by themselves -------------------------------------------------------------------------------


def test_classes_ascend_whatever_the_order_of_the_columns():
    labels = from_plausibilities([[1.0, 0.5, 0.0]], classes=["c", "a", "b"])
    assert labels.classes.tolist() == ["a", "b", "c"]
    assert labels.contour.tolist() == [[0.5, 0.0, 1.0]]


@given(st.lists(st.floats(0, 1), min_size=7, max_size=7).filter(lambda values: sum(values) > 0.01))
def test_labels_from_masses_keep_contour_and_pignistic_shares(values):
    mass = np.array([0.0, *values]) / sum(values)
    labels = from_masses([mass])
    contour = contour_from_mass(mass)
    np.testing.assert_allclose(labels.contour[0], contour / contour.max(), rtol=1e-12)
    np.testing.assert_allclose(labels.shares[0], pignistic_from_mass(mass), rtol=1e-12)


@given(st.lists(st.sets(st.integers(0, 3), min_size=1), min_size=1, max_size=8))
def test_sets_plausibilities_and_masses_of_the_same_sets_are_the_same_labels(sets):
    classes = [0, 1, 2, 3]
    contour = np.array([[float(k in each) for k in classes] for each in sets])
    masses = [mass_from_sets({tuple(each): 1.0}, classes) for each in sets]
    for labels in (from_plausibilities(contour, classes), from_masses(masses, classes)):
        np.testing.assert_array_equal(labels.contour, from_sets(sets, classes).contour)
        np.testing.assert_allclose(labels.shares, from_sets(sets, classes).shares, rtol=1e-15)


def test_none_and_nan_leave_every_class_possible():
    labels = from_sets(["a", None, float("nan"), {"a", "b"}], classes=["a", "b", "c"])
    assert labels.contour.tolist() == [[1, 0, 0], [1, 1, 1], [1, 1, 1], [1, 1, 0]]
    assert labels.certain.tolist() == [True, False, False, False]


def test_labels_are_indexed_like_an_array():
    labels = from_sets([{1}, {1, 2}, {2}])
    assert (len(labels), labels.shape) == (3, (3,))
    assert list(labels) == [{1: 1.0}, {1: 1.0, 2: 1.0}, {2: 1.0}]
    for rows in ([0, 2], np.array([0, 2]), np.array([True, False, True]), slice(0, 3, 2), (np.array([0, 2]), ...)):
        assert labels[rows].contour.tolist() == [[1, 0], [0, 1]]
    assert len(labels[[]]) == 0
    assert np.asarray(labels).tolist() == [{1}, {1, 2}, {2}]


def test_sets_are_recognised_in_lists_arrays_and_columns_and_plain_labels_are_left_alone():
    sets = [{1}, {1, 2}, 2]
    array = np.empty(3, dtype=object)
    array[:] = sets
    for y in (sets, tuple(sets), array, pd.Series(sets, index=[7, 8, 9])):
        found = read_labels(y)
        assert isinstance(found, UncertainLabels)
        assert found.contour.tolist() == [[1, 0], [1, 1], [0, 1]]
    for y in ([1, 2], np.array([1, 2]), np.array(["a", "b"], dtype=object), pd.Series(["a", "b"]), None):
        assert read_labels(y) is None


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: from_sets([{1}, set()]), "must not be empty"),
        (lambda: from_sets([{1, "a"}]), "must be all text or all numbers"),
        (lambda: from_sets([{1, 3}], classes=[1, 2]), "must contain labels among the classes"),
        (lambda: from_sets([None]), "not empty"),
        (lambda: from_plausibilities([[0.5, 1.5]]), r"must lie in \[0, 1\]"),
        (lambda: from_plausibilities([[np.nan, 1.0]]), r"must lie in \[0, 1\]"),
        (lambda: from_plausibilities([[1.0, 0.0], [0.0, 0.0]]), "only zeros in row 1"),
        (lambda: from_plausibilities([0.5, 1.0]), "must have the shape"),
        (lambda: from_plausibilities([[0.5, 1.0]], classes=["a"]), "one per column"),
        (lambda: from_plausibilities([[0.5, 1.0]], classes=["a", "a"]), "must be distinct"),
        (lambda: from_masses([[0.5, 0.5, 0.5, 0.0]]), "must sum to 1"),
        (lambda: from_masses([0.0, 1.0]), "masses must have the shape"),
        (lambda: DecisionTreeClassifier().fit(X, np.ones((len(X), 4)) / 4), "from_plausibilities"),
        (lambda: DecisionTreeClassifier().fit(X, from_sets([{1, 2}])), "same number of rows"),
    ],
)
def test_what_is_no_label_is_refused_in_words(make, words):
    with pytest.raises(ValueError, match=words):
        make()


# ---- certain labels -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
def test_certain_labels_in_any_form_give_the_identical_model(name):
    plain = clone(MODELS[name]).fit(X, Y)
    one_hot = np.eye(3)[Y]
    masses = np.zeros((len(Y), 8))
    masses[np.arange(len(Y)), 1 << Y] = 1.0
    for y in ([{label} for label in Y.tolist()], from_plausibilities(one_hot), from_masses(masses)):
        model = clone(MODELS[name]).fit(X, y)
        assert same_model(model, plain)
        assert np.array_equal(model.predict_bounds(X), plain.predict_bounds(X))
        assert not hasattr(model, "label_shares_")


def test_certain_labels_and_weights_give_the_identical_model():
    weights = np.arange(len(Y)) % 5
    plain = RandomForestClassifier(8, random_state=3).fit(X, Y, weights)
    assert same_model(RandomForestClassifier(8, random_state=3).fit(X, from_sets(Y.tolist()), weights), plain)


# ---- one row, however many classes ----------------------------------------------------------------------


def test_tree_is_that_of_rows_repeated_for_each_class_with_their_share_as_weight():
    sets = [frozenset(sorted(each)[:2]) for each in blur(Y, 0.4)]  # halves are exact in fixed point, thirds are not
    rows = np.repeat(np.arange(len(Y)), [len(each) for each in sets])
    y = np.concatenate([sorted(each) for each in sets])
    weights = np.concatenate([[2.0] if len(each) == 1 else [1.0, 1.0] for each in sets])
    for options in ({}, {"criterion": "entropy", "max_depth": 4}, {"max_leaf_nodes": 12}, {"max_features": 2}):
        model = DecisionTreeClassifier(label_rounds=0, random_state=1, **options).fit(X, sets)
        repeated = DecisionTreeClassifier(random_state=1, **options).fit(X[rows], y, weights)
        assert np.array_equal(model.forest_.nodes, repeated.forest_.nodes)
        np.testing.assert_allclose(model.predict_proba(X), repeated.predict_proba(X), rtol=1e-5)
        assert model.tree_.counts[0].sum() == len(Y) < repeated.tree_.counts[0].sum()


@pytest.mark.parametrize("leaf_counts", ["all", "inbag", "distinct", "oob"])
def test_row_is_in_the_bag_as_a_whole_and_counted_once(leaf_counts):
    model = RandomForestClassifier(6, leaf_counts=leaf_counts, label_rounds=1, random_state=5).fit(X, blur(Y, 0.5))
    for tree in range(6):
        times = _core.bag(fitted_of(model).seed, tree, len(Y), 1.0)
        expected = {"all": len(Y), "inbag": times.sum(), "distinct": (times > 0).sum(), "oob": (times == 0).sum()}
        counts = model.forest_.leaf_counts(tree)
        assert counts.sum() == expected[leaf_counts]
        # The classes of a row share one row among them, in every leaf.
        np.testing.assert_array_equal(counts.sum(axis=1), model.forest_.leaf_counts(tree, weighted=True).sum(axis=1))


def test_leaves_hold_the_shares_of_their_rows():
    model = ExtraTreesClassifier(5, max_depth=3, random_state=0).fit(X, blur(Y, 0.5))
    shares = model.label_shares_.copy()
    shares[shares < NEGLIGIBLE * shares.max(axis=1, keepdims=True)] = 0.0  # these go to the most probable class
    shares[np.arange(len(Y)), shares.argmax(axis=1)] += 1 - shares.sum(axis=1)
    evidence = model.evidence(X)
    for tree in range(5):
        leaves = evidence.leaves[:, tree]
        for leaf in np.unique(leaves):
            held = evidence.counts[leaves == leaf, tree][0]
            np.testing.assert_allclose(held, shares[leaves == leaf].sum(axis=0), atol=1e-4)


@pytest.mark.parametrize("model", [DecisionTreeClassifier(random_state=0), ExtraTreesClassifier(5, random_state=0)])
def test_limits_count_rows_not_their_classes(model):
    model = clone(model).set_params(min_samples_leaf=7).fit(X, blur(Y, 0.8))
    for tree in model.trees_:
        assert tree.counts[tree.is_leaf].sum(axis=1).min() >= 7
    model = clone(model).set_params(min_samples_leaf=1, min_samples_split=20).fit(X, blur(Y, 0.8))
    for tree in model.trees_:
        assert tree.counts[~tree.is_leaf].sum(axis=1).min() >= 20
        assert tree.n_leaves > 2


# ---- out of bag -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", ["average", "belief", "dempster", "cautious", "eva", "median"])
def test_out_of_bag_evidence_is_that_of_the_leaves_without_the_row(rule):
    model = RandomForestClassifier(7, calibration=None, rule=rule, label_rounds=1, max_depth=4, random_state=2).fit(
        X, blur(Y, 0.5)
    )
    evidence, leaves = model.oob_evidence_, model.evidence(X).leaves
    own = fitted_of(model).rows.target.own
    np.testing.assert_allclose(own.sum(axis=1), 1.0, rtol=1e-12)
    expected = np.zeros((len(Y), 7, 3))
    for tree in range(7):
        outside = _core.bag(fitted_of(model).seed, tree, len(Y), 1.0) == 0
        for row in np.flatnonzero(outside):
            others = leaves[:, tree] == leaves[row, tree]
            others[row] = False
            expected[row, tree] = own[others].sum(axis=0)
    np.testing.assert_allclose(evidence.counts, expected, atol=1e-9)
    judged = evidence.is_covered
    opinion = evidence.combine()
    for row in np.flatnonzero(judged):
        seen = np.flatnonzero(evidence.tree_mask[row])
        now = predictor_of(model)
        alone = combine(expected[row : row + 1, seen], now.rule, caution=1.0, prior=prior_for(now.rule, now.info.prior))
        if rule not in ("median", "belief"):  # a stacked rule sees silent trees as zeros, belief the masses of labels
            np.testing.assert_allclose(opinion.probability[row], alone.probability[0], atol=1e-9)


def test_stacked_rules_see_the_rows_own_evidence_taken_out():
    model = RandomForestClassifier(7, calibration=None, rule="median", label_rounds=0, random_state=2).fit(
        X, blur(Y, 0.5)
    )
    evidence = model.oob_evidence_
    setting = evidence._setting(None, None)
    states = (
        evidence.rule.lift(evidence.counts.reshape(-1, 3), setting).reshape(len(Y), 7, -1)
        * evidence.tree_mask[:, :, None]
    )
    expected = predictor_of(model).rule.finish(merge_states(states, "stack"), setting)
    np.testing.assert_allclose(evidence.combine().probability, expected.probability, atol=1e-12)


def test_out_of_bag_judgement_of_meaningless_labels_is_at_chance():
    rng = np.random.default_rng(0)
    noise, y = rng.normal(size=(600, 4)), rng.integers(0, 2, 600)
    sets = [{label} if rng.random() < 0.7 else {0, 1} for label in y.tolist()]
    model = RandomForestClassifier(40, oob_score=True, caution="auto", random_state=0).fit(noise, sets)
    assert abs(model.oob_score_ - 0.5) < 0.08  # four standard errors of 420 rows
    known = np.array([len(each) == 1 for each in sets])
    right = model.classes_[model.oob_decision_function_.argmax(axis=1)] == y
    assert model.oob_score_ == right[known].mean()


def test_calibrated_decisions_and_learned_weights_need_some_certain_labels():
    labels = [{0, 1}] * 75 + [{1, 2}] * 75
    with pytest.raises(ValueError, match="rows of certain class"):
        RandomForestClassifier(5, decision="coverage").fit(X, labels)
    with pytest.raises(ValueError, match="rows of certain class"):
        RandomForestClassifier(5, rule=Belief("learned"), random_state=0).fit(X, labels)


@pytest.mark.parametrize("calibration", [None, "oob"])
def test_rows_are_judged_by_expected_shares_if_most_labels_are_uncertain(calibration):
    labels = from_sets([{label, (label + 1) % 3} if row % 3 else label for row, label in enumerate(Y.tolist())])
    model = RandomForestClassifier(20, oob_score=True, caution="auto", calibration=calibration, random_state=0)
    model.fit(X, labels)
    shares, predicted = model.label_shares_, model.oob_decision_function_.argmax(axis=1)
    assert model.oob_score_ == pytest.approx(shares[np.arange(150), predicted].mean(), abs=1e-12)
    lower, upper = accuracy_bounds(labels, predicted)
    assert lower < model.oob_score_ < upper
    assert bool(model.calibration_.why) == (calibration is None)
    model.tune(metric="u65", param_grid={"caution": [0.0, 1.0, 4.0]})
    assert len(model.tuning_) == 3
    with pytest.raises(ValueError, match="A metric must be a name if most labels are uncertain"):
        model.tune(metric=lambda y, sets: 0.0, param_grid={"caution": [0.0, 1.0]})


def test_expected_utility_out_of_bag_is_that_of_all_completions():
    labels = from_sets([{0, 1}, {1, 2}, {0, 2}] * 50, classes=[0, 1, 2])
    model = RandomForestClassifier(9, oob_score="u80", label_rounds=0, calibration=None, random_state=0).fit(X, labels)
    opinion = model.oob_evidence_.as_forest().combine()
    sets = decide(opinion, predictor_of(model).given_decision)
    each = [
        u80(np.full(150, label), sets, classes=[0, 1, 2], sample_weight=labels.shares[:, label]) for label in range(3)
    ]
    assert model.oob_score_ == pytest.approx(np.average(each, weights=labels.shares.sum(axis=0)))


@pytest.mark.parametrize("chosen", [{"n_estimators": "auto"}, {"max_features": "oob"}])
def test_forests_choose_by_expected_errors_if_most_labels_are_uncertain(chosen):
    model = RandomForestClassifier(**({"n_estimators": 5, "random_state": 0} | chosen))
    model.fit(X, [{0, 1}] * 50 + [{1, 2}] * 100)
    assert 0 <= model.oob_errors_.ensemble <= 0.6
    assert 0 < model.oob_errors_.out_of_bag <= 0.6


@pytest.mark.parametrize("leaf_counts", ["all", "inbag"])
@pytest.mark.parametrize("rule", ["average", "belief", "cautious", "median"])
@pytest.mark.parametrize("share", [0.3, 0.6])
def test_out_of_bag_errors_are_those_of_rows_without_themselves(rule, leaf_counts, share):
    settings = {"rule": rule, "leaf_counts": leaf_counts, "label_rounds": 1, "calibration": None, "random_state": 1}
    model = RandomForestClassifier(12, oob_score=True, **settings).fit(X, blur(Y, share))
    assert model.oob_trace_[-1] == pytest.approx(1 - model.oob_score_, abs=1e-12)
    assert model.oob_errors_.ensemble == pytest.approx(1 - model.oob_score_, abs=1e-12)


def test_errors_of_single_trees_are_those_of_certain_rows_without_themselves():
    model = RandomForestClassifier(6, label_rounds=0, random_state=1).fit(X, blur(Y, 0.3))
    target, evidence = fitted_of(model).rows.target, model.oob_evidence_
    means, insiders, answers = [], [], np.zeros(3)
    whole = model.evidence(X).counts
    for row in np.flatnonzero(target.known):
        label, errors = target.labels[row], ([], [])
        for tree in range(6):
            winners = whole[row, tree] == whole[row, tree].max()
            answers += winners / winners.sum()
            outside = evidence.tree_mask[row, tree]
            counts = evidence.counts[row, tree] if outside else whole[row, tree]
            if counts.sum() > 0:
                best = counts == counts.max()
                errors[int(outside)].append(1 - best[label] / best.sum())
        insiders += [np.mean(errors[0])] if errors[0] else []
        means += [np.mean(errors[1])] if errors[1] else []
    shares = np.bincount(target.labels[target.known]) / target.known.sum()
    found = model.oob_errors_
    assert found.out_of_bag == pytest.approx(np.mean(means), abs=1e-12)
    assert found.resubstitution == pytest.approx(np.mean(insiders), abs=1e-12)
    assert found.no_information == pytest.approx(1 - shares @ answers / answers.sum(), abs=1e-12)


def test_tree_weights_calibration_and_tuning_are_learned_on_certain_rows():
    forest = RandomForestClassifier(10, rule="belief", random_state=0).fit(X, blur(Y, 0.3))
    forest.tune(param_grid={"caution": [0.0, 1.0], "rule": ["average", "belief"]})
    assert len(forest.tuning_) == 4
    forest.set_params(decision="coverage")
    assert forest.predict_set(X).shape == (150, 3)


# ---- refining -------------------------------------------------------------------------------------------


@settings(max_examples=10)
@given(st.floats(0.1, 0.9), st.integers(0, 3), st.sampled_from(sorted(MODELS)))
def test_shares_stay_within_what_is_possible_and_certain_labels_stay_certain(share, rounds, name):
    labels = from_sets(blur(Y, share))
    model = clone(MODELS[name]).set_params(label_rounds=rounds).fit(X, labels)
    shares = model.label_shares_
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-12)
    assert (shares[labels.contour == 0] == 0).all()
    assert (shares[labels.certain].max(axis=1) == 1).all()
    if rounds == 0:
        np.testing.assert_array_equal(shares, labels.shares)


def test_refining_finds_the_true_class_of_most_blurred_rows():
    sets = blur(Y, 0.6)
    soft = np.array([len(each) > 1 for each in sets])
    shares = RandomForestClassifier(5, random_state=0).fit(X, sets).label_shares_
    assert (shares.argmax(axis=1) == Y)[soft].mean() > 0.9
    assert shares[soft].max(axis=1).mean() > 0.8


def test_plausibilities_weigh_what_the_trees_say():
    contour = np.where(np.eye(3)[Y] > 0, 1.0, 0.3)
    rng = np.random.default_rng(1)
    flipped = rng.random(len(Y)) < 0.15  # labels that favour a wrong class, mildly
    contour[flipped] = np.roll(contour[flipped], 1, axis=1)
    model = RandomForestClassifier(20, random_state=0).fit(X, from_plausibilities(contour))
    assert (model.label_shares_.argmax(axis=1) == Y)[flipped].mean() > 0.7
    assert model.score(X, Y) > 0.93


def test_third_of_the_labels_blurred_is_learned_better_than_by_dropping_those_rows():
    images, y = load_digits(return_X_y=True)
    fit, test = train_test_split(np.arange(len(y)), train_size=600, random_state=0, stratify=y)
    sets = blur(y[fit], 0.3, n_classes=10)
    certain = np.array([len(each) == 1 for each in sets])
    gains = []
    for seed in range(3):
        tree = DecisionTreeClassifier(random_state=seed)
        ours = clone(tree).fit(images[fit], sets).score(images[test], y[test])
        gains.append(ours - clone(tree).fit(images[fit][certain], y[fit][certain]).score(images[test], y[test]))
    assert np.mean(gains) > 0


@pytest.mark.parametrize("name", MODELS)
def test_same_seed_gives_the_same_model_for_any_number_of_threads(name):
    model = clone(MODELS[name])
    if name != "tree":
        again = clone(model).set_params(n_jobs=3).fit(X, blur(Y, 0.5))
        assert same_model(model.fit(X, blur(Y, 0.5)), again)
    assert same_model(model.fit(X, blur(Y, 0.5)), clone(model).fit(X, blur(Y, 0.5)))


def test_warm_start_goes_on_as_if_all_trees_had_been_grown_at_once():
    sets = blur(Y, 0.4)
    grown = RandomForestClassifier(4, warm_start=True, oob_score=True, random_state=0).fit(X, sets)
    grown.set_params(n_estimators=9).fit(X, sets)
    assert same_model(grown, RandomForestClassifier(9, random_state=0).fit(X, sets))
    with pytest.raises(ValueError, match="Out-of-bag metrics in a warm start require"):
        grown.set_params(n_estimators=12).fit(X, blur(Y, 0.4, seed=9))


# ---- weights --------------------------------------------------------------------------------------------


def test_rows_of_weight_zero_are_left_out():
    sets, weights = blur(Y, 0.5), np.ones(len(Y))
    weights[::3] = 0
    kept = weights > 0
    model = RandomForestClassifier(5, random_state=0).fit(X, from_sets(sets, [0, 1, 2]), weights)
    alone = RandomForestClassifier(5, random_state=0).fit(X[kept], from_sets(sets, [0, 1, 2])[kept])
    assert same_model(model, alone)
    assert model.label_shares_.shape == (100, 3)


def test_class_of_weight_zero_takes_no_share_and_rows_of_that_class_alone_are_left_out():
    sets = blur(Y, 0.5)
    model = RandomForestClassifier(5, calibration=None, class_weight={2: 0.0}, random_state=0).fit(X, sets)
    assert (model.predict_proba(X)[:, 2] == 0).all()
    assert model.forest_.leaf_counts(0).sum() == sum(each != {2} for each in sets)


@pytest.mark.parametrize("class_weight", ["balanced", "balanced_subsample"])
def test_balanced_classes_and_uncertain_labels_go_together(class_weight):
    y = np.where(np.arange(150) % 50 < 5, Y, 0)
    plain = RandomForestClassifier(20, class_weight=class_weight, oob_score=True, random_state=0)
    model = clone(plain).fit(X, blur(y, 0.3))
    assert model.oob_score_ > 0.6
    assert np.isfinite(model.oob_evidence_.counts).all()


def test_sample_weights_change_shares_and_no_amounts():
    sets, weights = blur(Y, 0.5), np.linspace(0.5, 3, len(Y))
    model = ExtraTreesClassifier(4, random_state=0).fit(X, sets, weights)
    np.testing.assert_allclose(model.evidence(X).counts.sum(axis=2), _amounts(model), rtol=1e-12)


def _amounts(model: Any) -> NDArray[np.float64]:
    """(n, T): rows in the leaves that the training rows reach, counted one by one."""
    leaves = model.evidence(X).leaves
    return np.array([[(leaves[:, tree] == leaf).sum() for tree, leaf in enumerate(row)] for row in leaves], dtype=float)


# ---- life with scikit-learn and files -------------------------------------------------------------------


def test_cross_validation_and_searches_index_uncertain_labels():
    labels = from_sets(blur(Y, 0.3))
    forest = RandomForestClassifier(10, random_state=0)
    order = np.random.default_rng(0).permutation(len(Y))
    sets = np.asarray(labels)[order]
    scores = [cross_val_score(forest, X[order], y, cv=3).tolist() for y in (labels[order], sets, sets.tolist())]
    assert scores[0] == scores[1] == scores[2]
    assert min(scores[0]) > 1 / 3
    search = GridSearchCV(make_pipeline(StandardScaler(), forest), {"randomforestclassifier__max_depth": [1, 4]}, cv=3)
    assert search.fit(X[order], labels[order]).best_params_["randomforestclassifier__max_depth"] == 4
    fit, test, y_fit, y_test = train_test_split(X, labels, random_state=0)
    assert isinstance(y_fit, UncertainLabels)
    assert (len(y_fit), len(y_test)) == (len(fit), len(test))


def test_score_of_uncertain_labels_is_how_plausible_they_find_the_prediction():
    model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, Y)
    predicted = model.predict(X)
    sets = blur(Y, 0.5)
    assert model.score(X, sets) == np.mean(
        [label in each for label, each in zip(predicted.tolist(), sets, strict=True)]
    )
    assert model.score(X, from_plausibilities(np.full((150, 3), 0.2))) == 1.0
    assert model.score(X, from_sets(["other"] * 150)) == 0.0


def test_many_classes_survive_file_pickle_and_pruning():
    images, y = load_digits(return_X_y=True)
    sets = blur(y[:400], 0.5, n_classes=10)
    model = RandomForestClassifier(5, ccp_alpha=0.002, label_rounds=1, random_state=0).fit(images[:400], sets)
    assert model.forest_.entry_class is not None
    assert (model.forest_.counts == 0).any()  # a class with a share and no row of its own
    file = io.BytesIO()
    hedgerow.save(model, file)
    file.seek(0)
    for other in (hedgerow.load(file), pickle.loads(pickle.dumps(model))):
        assert np.array_equal(other.predict_bounds(images), model.predict_bounds(images))


def test_labels_may_be_text():
    names = np.array(["setosa", "versicolor", "virginica"])
    sets = [frozenset(names[list(each)].tolist()) for each in blur(Y, 0.4)]
    model = RandomForestClassifier(10, random_state=0).fit(X, sets)
    assert model.classes_.tolist() == names.tolist()
    assert model.score(X, names[Y]) > 0.9


def test_labels_are_refined_before_lam_is_chosen():
    model = RandomForestClassifier(6, criterion=BeliefGain(lam="auto"), label_rounds=2, random_state=0)
    model.fit(X, blur(Y, 0.5))
    assert fitted_of(model).criterion.is_resolved
    assert model.score(X, Y) > 0.9
