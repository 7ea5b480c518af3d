"""What forests say beyond a probability: bounds, sets, doubt, and what they choose on rows outside the bag."""

from __future__ import annotations

import pickle
import warnings
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from tests.reference.fold import multiplicities

from hedgerow import (
    DecisionTreeClassifier,
    ExtraTreesClassifier,
    RandomDecisionTreesClassifier,
    RandomForestClassifier,
    decide,
    load,
    metrics,
    save,
)
from hedgerow.belief import (
    entropy,
    generalised_hartley,
    idm_bounds,
    learn_tree_weights,
    lower_entropy,
    upper_entropy,
)
from hedgerow.decisions import Coverage, UtilitySet, all_decisions, rows_needed
from hedgerow.inference.evidence import CAUTIONS
from hedgerow.inference.predictor import predictor_of
from hedgerow.rules import Belief, DominanceVote, Eva, IntervalAverage, Laplace, Mva, all_rules

RULES = list(all_rules())
EVERY_RULE = pytest.mark.parametrize("rule", RULES, ids=repr)
SENSES = pytest.mark.parametrize("leaf_counts", ["all", "inbag", "distinct", "oob"])


def blobs(n_rows: int, seed: int, n_classes: int = 3, noise: float = 1.3) -> tuple[np.ndarray, np.ndarray]:
    """Overlapping clouds; labels are words."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n_rows)
    X = rng.normal(scale=noise, size=(n_rows, 3)) + np.eye(3)[y % 3] * 2
    return X, np.array(["ash", "birch", "cedar", "dogwood"])[y]


@cache
def _fitted(**params: Any) -> Any:
    return RandomForestClassifier(**{"n_estimators": 40, "random_state": 0} | params).fit(*blobs(300, 0))


def fitted(**params: Any) -> RandomForestClassifier:
    """A forest no other test has changed."""
    forest = _fitted(**params)
    fresh = clone(forest)
    fresh.__dict__.update(forest.__dict__)
    return fresh


# ---- defaults ----------------------------------------------------------------------------


def test_defaults_are_the_ordinary_forest_with_a_reserve_of_one_row():
    params = RandomForestClassifier().get_params()
    assert (params["rule"], params["caution"], params["decision"]) == ("average", 1.0, "auto")


@pytest.mark.parametrize("rule", [rule for rule in RULES if not rule.needs_weights], ids=repr)
def test_a_rule_that_chooses_sets_is_used_as_such_unless_another_decision_is_set(rule, tmp_path):
    X = blobs(80, 1)[0]
    forest = fitted().set_params(rule=rule)
    opinion = forest.evidence(X).combine()
    own = decide(opinion, "dominance") if opinion.chosen is None else opinion.chosen
    assert (forest.predict_set(X) == own).all()
    assert (decide(opinion) == own).all()
    save(forest, tmp_path / "new")
    assert load(tmp_path / "new").decision == "auto"
    save(forest.set_params(decision="dominance"), tmp_path / "old")  # as files of before have it
    old = load(tmp_path / "old")
    assert old.decision == "dominance"
    assert (old.predict_set(X) == decide(opinion, "dominance")).all()


def test_sets_of_the_rules_for_many_classes_differ_from_those_of_the_average():
    X, forest = blobs(300, 1)[0], fitted()
    average = forest.predict_set(X)
    for rule in ("cdm_ave", "cdm_vote", "ndc", "cr", "mva", "dominance_vote"):
        forest.set_params(rule=rule)
        assert (forest.predict_set(X) != average).any(), rule
        assert forest.explain(X[:1])[0].decision == "rule"
    assert forest.set_params(rule="average").explain(X[:1])[0].decision == "dominance"


@pytest.mark.parametrize("caution", [0.0, 0.5, 7.0])
def test_caution_does_not_touch_labels_and_probabilities(caution):
    forest, X = fitted(), blobs(200, 1)[0]
    labels, probability = forest.predict(X), forest.predict_proba(X)
    forest.set_params(caution=caution)
    np.testing.assert_array_equal(forest.predict(X), labels)
    np.testing.assert_array_equal(forest.predict_proba(X), probability)


def test_probability_is_the_mean_of_the_shares_of_the_leaves():
    forest, X = fitted(calibration=None), blobs(200, 1)[0]
    counts = forest.evidence(X).counts
    shares = counts / counts.sum(axis=2, keepdims=True)
    np.testing.assert_allclose(forest.predict_proba(X), shares.mean(axis=1), rtol=1e-12)


def test_shapes():
    forest, X = fitted(), blobs(50, 1)[0]
    assert forest.predict_set(X).shape == (50, 3)
    assert forest.predict_set(X).dtype == bool
    assert forest.predict_bounds(X).shape == (50, 3, 2)
    doubt = forest.predict_uncertainty(X)
    assert all(part.shape == (50,) for part in doubt)
    assert doubt._fields == (
        "total",
        "aleatoric",
        "epistemic",
        "conflict",
        "vacuity",
        "relative_aleatoric",
        "relative_epistemic",
    )
    evidence = forest.evidence(X)
    assert (evidence.leaves.shape, evidence.counts.shape, evidence.tree_mask.all()) == ((50, 40), (50, 40, 3), True)


@EVERY_RULE
def test_the_probability_lies_within_the_bounds(rule):
    forest, X = fitted().set_params(rule=rule), blobs(60, 1)[0]
    lower, upper = np.moveaxis(forest.predict_bounds(X), 2, 0)
    probability = forest.predict_proba(X)
    assert (lower >= 0).all()
    assert (upper <= 1).all()
    assert (lower <= probability + 1e-12).all()
    assert (probability <= upper + 1e-12).all()
    np.testing.assert_allclose(probability.sum(axis=1), 1.0, rtol=1e-12)


@pytest.mark.parametrize("rule", [rule for rule in RULES if "widens" in rule.laws and not rule.needs_weights], ids=repr)
def test_bounds_widen_and_sets_grow_with_caution(rule):
    forest, X = fitted().set_params(rule=rule, decision="dominance"), blobs(60, 1)[0]
    said = []
    for caution in (0.0, 0.5, 1.0, 3.0):
        forest.set_params(caution=caution)
        said.append((forest.predict_bounds(X), forest.predict_set(X)))
    for (narrow, few), (wide, many) in pairwise(said):
        assert (wide[:, :, 0] <= narrow[:, :, 0] + 1e-12).all()
        assert (wide[:, :, 1] >= narrow[:, :, 1] - 1e-12).all()
        assert (few <= many).all()
    assert np.ptp(said[-1][0], axis=2).sum() > np.ptp(said[0][0], axis=2).sum()


def test_without_caution_sets_hold_one_class_except_for_ties():
    forest, X = fitted(n_estimators=4, calibration=None).set_params(caution=0.0), blobs(2000, 1)[0]
    probability, sets = forest.predict_proba(X), forest.predict_set(X)
    tied = np.isclose(probability, probability.max(axis=1, keepdims=True), rtol=0, atol=1e-12)
    assert (tied.sum(axis=1) > 1).any()
    np.testing.assert_array_equal(sets, tied)


def test_uncertainty_adds_up_and_epistemic_grows_away_from_the_data():
    forest, X = fitted(calibration=None), blobs(400, 1)[0]
    doubt = forest.predict_uncertainty(X)
    np.testing.assert_allclose(doubt.total, doubt.aleatoric + doubt.epistemic, rtol=1e-12)
    probability = forest.predict_proba(X)
    entropy = -(probability * np.log2(np.where(probability > 0, probability, 1))).sum(axis=1)
    np.testing.assert_allclose(doubt.total, entropy, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(fitted().predict_uncertainty(X).total, doubt.total)  # it is about leaves, not the map
    assert all((part >= 0).all() for part in doubt)
    np.testing.assert_allclose(doubt.vacuity, 1 - forest.predict_bounds(X)[:, :, 0].sum(axis=1), atol=1e-12)


def test_more_caution_is_more_vacuity_and_nothing_else():
    forest, X = fitted(), blobs(100, 1)[0]
    before = forest.predict_uncertainty(X)
    after = forest.set_params(caution=4.0).predict_uncertainty(X)
    assert (after.vacuity > before.vacuity).all()
    for name in set(before._fields) - {"vacuity"}:
        np.testing.assert_array_equal(getattr(after, name), getattr(before, name))


# ---- changed without refitting -----------------------------------------------------------

CHANGES: list[dict[str, Any]] = [
    {"rule": "eva"},
    {"rule": Eva(prior=None)},
    {"rule": "dempster", "caution": 3.0},
    {"rule": "median", "caution": 0.5},
    {"decision": "u80"},
    {"decision": "maximin"},
    {"rule": "cdm_ave", "decision": "rule"},
    {"decision": Coverage(0.8)},
    {"rule": Belief(weights="learned"), "caution": 2.0},
]


@pytest.mark.parametrize("changes", CHANGES, ids=repr)
def test_a_changed_forest_answers_as_one_fitted_so(changes):
    X = blobs(120, 2)[0]
    changed = fitted()
    trees, before = changed.forest_, (changed.predict_bounds(X), changed.predict_set(X))
    changed.set_params(**changes)
    other = RandomForestClassifier(40, random_state=0, **changes).fit(*blobs(300, 0))
    assert changed.forest_ is trees
    np.testing.assert_array_equal(changed.predict(X), other.predict(X))
    np.testing.assert_array_equal(changed.predict_proba(X), other.predict_proba(X))
    np.testing.assert_array_equal(changed.predict_set(X), other.predict_set(X))
    np.testing.assert_array_equal(changed.predict_bounds(X), other.predict_bounds(X))
    after = (changed.predict_bounds(X), changed.predict_set(X))
    assert any(not np.array_equal(one, two) for one, two in zip(before, after, strict=True))


def test_a_parameter_of_the_rule_can_be_changed_alone():
    X = blobs(120, 2)[0]
    forest = fitted(calibration=None).set_params(rule=Laplace())
    smooth = forest.predict_proba(X)
    forest.set_params(rule__alpha=0.0)
    assert (forest.predict_proba(X).max(axis=1) > smooth.max(axis=1)).mean() > 0.9
    np.testing.assert_allclose(forest.predict_proba(X), fitted(calibration=None).predict_proba(X), rtol=1e-12)


def test_caution_auto_can_be_set_on_a_fitted_forest():
    X = blobs(120, 2)[0]
    changed = fitted().set_params(caution="auto")
    other = RandomForestClassifier(40, caution="auto", random_state=0).fit(*blobs(300, 0))
    np.testing.assert_array_equal(changed.predict_bounds(X), other.predict_bounds(X))


@pytest.mark.parametrize("changes", [{"rule": "no such rule"}, {"caution": -1.0}, {"decision": "no such decision"}])
def test_what_does_not_exist_is_refused_when_asked(changes):
    with pytest.raises(ValueError, match=next(iter(changes))):
        fitted().set_params(**changes).predict_set(blobs(5, 2)[0])
    with pytest.raises(ValueError, match=next(iter(changes))):
        RandomForestClassifier(2, **changes).fit(*blobs(50, 0))


@pytest.mark.parametrize("weight", [None, "rows"])
@pytest.mark.parametrize("n_trees", [2, 4, 40])
def test_predict_returns_labels_and_sets_together(n_trees, weight):
    X, y = blobs(300, 0)
    given = None if weight is None else np.random.default_rng(0).uniform(0.2, 5.0, 300)
    forest = RandomForestClassifier(n_trees, min_samples_leaf=3, random_state=0).fit(X, y, sample_weight=given)
    Z = blobs(1500, 3)[0]
    labels, sets = forest.predict(Z, return_set=True)
    np.testing.assert_array_equal(labels, forest.predict(Z))
    np.testing.assert_array_equal(sets, forest.predict_set(Z))
    assert sets[np.arange(len(Z)), np.searchsorted(forest.classes_, labels)].all()


@pytest.mark.parametrize("name", list(all_decisions()))
def test_every_decision_leaves_at_least_one_class(name):
    forest, X = fitted().set_params(decision=name, rule="interval_average"), blobs(100, 3)[0]
    sets = forest.predict_set(X)
    assert sets.shape == (100, 3)
    assert sets.any(axis=1).all()
    if not all_decisions()[name].needs_calibration:
        np.testing.assert_array_equal(sets, decide(forest.evidence(X).combine(), name))


# ---- labels drawn at random --------------------------------------------------------------


def at_chance(sets: np.ndarray, y: np.ndarray, worth: Any) -> float:
    """Sets (n, K), labels drawn uniformly from K classes -> how many sigma the worth of the sets is off chance."""
    n_classes = sets.shape[1]
    size = sets.sum(axis=1)
    gained = np.where(sets[np.arange(len(y)), y], worth(size), 0.0)
    share = size / n_classes
    return float((gained - worth(size) * share).sum() / np.sqrt((worth(size) ** 2 * share * (1 - share)).sum()))


@SENSES
@pytest.mark.parametrize("rule", ["average", "median", "interval_disjunction", "eva"])
def test_labels_drawn_at_random_are_out_of_bag_predicted_at_chance(rule, leaf_counts):
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(1500, 3)), rng.integers(0, 3, 1500)
    forest = RandomForestClassifier(40, rule=rule, leaf_counts=leaf_counts, random_state=0).fit(X, y)
    opinion = forest.oob_evidence_.combine()
    labels = np.eye(3, dtype=bool)[opinion.probability.argmax(axis=1)]
    assert abs(at_chance(labels, y, np.ones_like)) < 3
    sets = decide(opinion)
    if (sets.sum(axis=1) < 3).any():
        assert abs(at_chance(sets, y, lambda size: 1.6 / size - 0.6 / size**2)) < 3


@SENSES
@pytest.mark.parametrize("rule", ["average", "pool", "median", "cdm_vote"])
def test_weights_do_not_betray_a_row_its_own_random_label(rule, leaf_counts):
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(1500, 3)), rng.integers(0, 2, 1500)
    forest = RandomForestClassifier(40, leaf_counts=leaf_counts, class_weight={0: 1, 1: 5}, random_state=0).fit(X, y)
    probability = forest.oob_evidence_.combine(rule).probability[:, 1]
    assert abs(np.corrcoef(probability, y)[0, 1]) < 3 / np.sqrt(1500)


@SENSES
@pytest.mark.parametrize("metric", [True, "u65", "discounted_accuracy"])
def test_random_labels_score_at_chance_out_of_bag(metric, leaf_counts):
    rng = np.random.default_rng(7)
    X, y = rng.normal(size=(1500, 3)), rng.integers(0, 2, 1500)
    forest = RandomForestClassifier(40, oob_score=metric, leaf_counts=leaf_counts, random_state=0).fit(X, y)
    determinacy = decide(forest.oob_evidence_.combine()).sum(axis=1) == 1
    share, of_pairs = {True: (1.0, 0.0), "u65": (determinacy.mean(), 0.65)}.get(metric, (determinacy.mean(), 0.5))
    expected = share * 0.5 + (1 - share) * of_pairs
    assert abs(forest.oob_score_ - expected) < 3 * np.sqrt(share * 0.25 / 1500)


# ---- chosen out of the bag ---------------------------------------------------------------


def test_caution_auto_is_chosen_out_of_bag_and_the_parameter_stays():
    X, y = blobs(300, 0)
    forest = RandomForestClassifier(40, caution="auto", calibration=None, random_state=0).fit(X, y)
    assert forest.caution == "auto"
    assert forest.caution_ in CAUTIONS
    fixed = fitted(calibration=None)
    scores = [metrics.u65(y, decide(fixed.oob_evidence_.combine(caution=caution))) for caution in CAUTIONS]
    assert forest.caution_ == CAUTIONS[int(np.argmax(scores))]
    assert len(set(scores)) > 3
    np.testing.assert_array_equal(forest.predict_set(X), fixed.set_params(caution=forest.caution_).predict_set(X))


def test_caution_auto_follows_the_noise():
    clear, noisy = (
        RandomForestClassifier(40, caution="auto", random_state=0).fit(*blobs(300, 0, noise=noise)).caution_
        for noise in (0.2, 3.0)
    )
    assert clear < noisy


def test_caution_auto_is_chosen_again_for_another_rule_or_decision():
    X, y = blobs(300, 0)
    forest = RandomForestClassifier(20, caution="auto", random_state=0).fit(X, y)
    chosen = []
    for changes in ({"rule": Laplace()}, {"rule": "dempster"}, {"decision": UtilitySet("u80")}, {"rule": "average"}):
        forest.set_params(**changes)
        fresh = clone(forest).fit(X, y)
        np.testing.assert_array_equal(forest.predict_bounds(X), fresh.predict_bounds(X))
        assert forest.caution_ == fresh.caution_
        chosen.append(forest.caution_)
    assert len(set(chosen)) > 1


def test_caution_auto_stays_what_it_was_where_the_training_rows_are_gone():
    X, y = blobs(300, 0)
    forest = RandomForestClassifier(20, calibration=None, caution="auto", random_state=0).fit(X, y)
    again = pickle.loads(pickle.dumps(forest)).set_params(rule="dempster")
    np.testing.assert_array_equal(
        again.predict_bounds(X), forest.set_params(rule="dempster", caution=again.caution_).predict_bounds(X)
    )


def test_caution_auto_goes_with_learned_weights():
    forest = RandomForestClassifier(20, caution="auto", rule=Belief(weights="learned"), random_state=0)
    assert forest.fit(*blobs(100, 0)).caution_ in CAUTIONS


def test_tuning_tries_all_combinations_and_keeps_the_best():
    X, y = blobs(300, 0)
    forest = fitted(calibration=None)
    over = {"rule": ["average", "eva"], "caution": [0.0, 1.0, 3.0], "decision": ["dominance", UtilitySet("u65")]}
    assert forest.tune("u65", over) is forest
    scores = [score for score, _ in forest.tuning_]
    assert len(scores) == 12
    assert scores == sorted(scores, reverse=True)
    assert scores[0] > scores[-1]
    best = forest.tuning_[0][1]
    assert {name: getattr(forest, name) for name in over} == best
    for score, tried in forest.tuning_:
        opinion = forest.oob_evidence_.as_forest().combine(tried["rule"], caution=tried["caution"])
        assert score == pytest.approx(metrics.u65(y, decide(opinion, tried["decision"])), abs=1e-12)
    direct = fitted(calibration=None).set_params(**best)
    np.testing.assert_array_equal(forest.predict_set(X), direct.predict_set(X))


def test_tuning_grows_no_tree():
    forest = fitted()
    trees = forest.forest_
    assert forest.tune().forest_ is trees
    assert [tried["caution"] for _, tried in sorted(forest.tuning_, key=lambda one: one[1]["caution"])] == [*CAUTIONS]


def test_tuning_takes_a_function_of_labels_and_sets():
    forest = fitted().tune(lambda y, sets: float(sets.sum()), {"caution": [0.0, 2.0, 1.0]})
    assert forest.caution == 2.0


def test_tuning_takes_any_metric_by_name():
    for name in ("accuracy", "u80", "determinacy", "neg_mean_set_size", "area_under_accuracy_rejection"):
        forest = fitted().tune(name, {"caution": [0.0, 2.0]})
        assert len(forest.tuning_) == 2
    assert fitted().tune("determinacy", {"caution": [2.0, 0.0]}).caution == 0.0


def test_tuning_with_learned_weights_and_a_promise():
    forest = fitted().tune("u65", {"rule": [Belief(weights="learned"), "average"], "decision": [Coverage(0.9), "u65"]})
    assert len(forest.tuning_) == 4
    assert forest.predict_set(blobs(10, 1)[0]).any(axis=1).all()


@pytest.mark.parametrize("over", [{"max_depth": [1, 2]}, {}, {"caution": []}, {"caution": [1.0], "n_estimators": [5]}])
def test_tuning_refuses_what_would_need_new_trees(over):
    forest = fitted()
    with pytest.raises(ValueError, match="param_grid must map"):
        forest.tune(param_grid=over)
    assert not hasattr(forest, "tuning_")


def test_tuning_that_fails_changes_nothing():
    forest = fitted()
    with pytest.raises(ValueError, match="must be"):
        forest.tune(param_grid={"caution": [5.0, -1.0]})
    assert forest.caution == 1.0
    with pytest.raises(ValueError, match="caution"):
        forest.tune(param_grid={"caution": ["auto", 1.0]})


def test_learned_weights_are_weights_and_belong_to_the_caution():
    forest, X = fitted().set_params(rule=Belief(weights="learned")), blobs(100, 1)[0]
    forest.predict_set(X)
    weights = forest.tree_weights_
    assert weights.shape == (40,)
    assert (weights >= 0).all()
    assert weights.sum() == pytest.approx(1.0)
    assert np.ptp(weights) > 0
    np.testing.assert_array_equal(
        forest.predict_proba(X), forest.evidence(X).combine(weights=forest.tree_weights_).probability
    )
    forest.set_params(caution=3.0).predict_set(X)
    assert not np.array_equal(forest.tree_weights_, weights)


@pytest.mark.parametrize(
    "rule",
    [
        Belief("learned", gamma=1.0, lam=0.01),
        Mva("learned", lam=0.01),
        DominanceVote("learned", lam=0.01),
        IntervalAverage("learned", lam=0.01),
        IntervalAverage("minimax", lam=0.01),
    ],
    ids=repr,
)
def test_weights_are_those_of_the_objective_of_the_rule_also_in_a_file(rule, tmp_path):
    X, y = blobs(300, 0)
    forest = RandomForestClassifier(12, rule=rule, random_state=0).fit(X, y)
    evidence = forest.oob_evidence_
    counts, mask = evidence.counts, evidence.tree_mask
    bounds = (each.reshape(counts.shape) for each in idm_bounds(counts.reshape(-1, 3), 1.0))
    labels = np.searchsorted(forest.classes_, y)
    expected = learn_tree_weights(*bounds, labels, seen=mask, **rule.weight_learning)
    np.testing.assert_array_equal(forest.tree_weights_, expected)
    path = tmp_path / "m.hedge"
    save(forest, path)
    loaded = load(path)
    np.testing.assert_array_equal(loaded.predict_bounds(X), forest.predict_bounds(X))
    heavier = rule.get_params() | {"lam": 1.0}
    forest.set_params(rule=type(rule)(**heavier)).predict_set(X)
    assert np.ptp(forest.tree_weights_) < np.ptp(expected)  # learned again
    with pytest.raises(AttributeError, match="requires out-of-bag rows"):
        loaded.set_params(rule=type(rule)(**heavier)).predict_set(X)


def test_learned_weights_do_not_depend_on_the_order_of_the_rows(monkeypatch):
    monkeypatch.setattr("hedgerow.inference.evidence.LEARNING_CELLS", 100 * 20 * 3)
    X, y = blobs(600, 0)
    order = np.argsort(y, kind="stable")
    forest = RandomForestClassifier(20, rule=Belief(weights="learned"), random_state=0).fit(X[order], y[order])
    counts = []

    def spy(lower, upper, labels, **options):
        counts.append(np.bincount(labels, minlength=3))
        return np.full(20, 0.05)

    monkeypatch.setattr("hedgerow.inference.evidence.learn_tree_weights", spy)
    forest.oob_evidence_.learn_weights(np.searchsorted(forest.classes_, y[order]))
    assert (counts[0] > 0).all()


def test_rules_that_learn_weights_are_refused_without_a_bootstrap():
    with pytest.raises(ValueError, match="bootstrap"):
        RandomForestClassifier(5, rule=Belief(weights="learned"), bootstrap=False).fit(*blobs(50, 0))


@pytest.mark.parametrize("params", [{}, {"calibration": None, "rule": "belief", "caution": 3.0}], ids=str)
def test_credal_uncertainty_is_that_of_the_bounds_and_of_the_trees(params):
    forest, X = fitted(**params), blobs(50, 3)[0]
    found = forest.predict_uncertainty(X, measure="credal")
    bounds = forest.predict_bounds(X)
    lower, upper = bounds[:, :, 0], bounds[:, :, 1]
    np.testing.assert_array_equal(found.total, upper_entropy(lower, upper))
    np.testing.assert_array_equal(found.aleatoric, lower_entropy(lower, upper))
    np.testing.assert_array_equal(found.epistemic, found.total - found.aleatoric)
    np.testing.assert_array_equal(found.hartley, generalised_hartley(lower, upper))
    counts = forest.evidence(X).counts
    entropies = entropy((counts / counts.sum(axis=2, keepdims=True)).reshape(-1, 3)).reshape(len(X), -1)
    np.testing.assert_allclose(found.tree_total, entropies.max(axis=1), atol=1e-12)
    np.testing.assert_allclose(found.tree_aleatoric, entropies.min(axis=1), atol=1e-12)
    assert ((found.tree_hartley >= 0) & (found.tree_hartley <= np.log2(3))).all()
    with pytest.raises(ValueError, match="measure must be 'entropy' or 'credal', got 'variance'"):
        forest.predict_uncertainty(X, measure="variance")


@pytest.mark.parametrize("metric", ["accuracy", "u65", "u80", "determinacy"])
def test_the_out_of_bag_score_is_that_of_out_of_bag_evidence(metric):
    X, y = blobs(300, 0)
    forest = RandomForestClassifier(40, calibration=None, oob_score=metric, caution=2.0, random_state=0).fit(X, y)
    opinion = forest.oob_evidence_.combine()
    expected = {
        "accuracy": np.mean(forest.classes_[opinion.probability.argmax(axis=1)] == y),
        "u65": metrics.u65(y, decide(opinion)),
        "u80": metrics.u80(y, decide(opinion)),
        "determinacy": metrics.determinacy(y, decide(opinion)),
    }
    assert forest.oob_score_ == pytest.approx(expected[metric], abs=1e-12)
    np.testing.assert_array_equal(forest.oob_decision_function_, opinion.probability)


@pytest.mark.parametrize("rule", ["average", "belief", Belief(weights="learned"), "median"])
def test_rows_without_weight_are_judged_by_all_trees_under_the_rule(rule):
    X, y = blobs(120, 0)
    weights = np.where(np.arange(120) < 20, 0.0, 1.0)
    forest = RandomForestClassifier(15, calibration=None, rule=rule, oob_score=True, random_state=0).fit(X, y, weights)
    np.testing.assert_allclose(forest.oob_decision_function_[:20], forest.predict_proba(X[:20]), rtol=1e-12)
    inside = forest.oob_evidence_.combine(weights=getattr(forest, "tree_weights_", None))
    np.testing.assert_array_equal(forest.oob_decision_function_[20:], inside.probability)


def test_the_out_of_bag_score_can_be_a_function_of_labels():
    X, y = blobs(300, 0)
    plain = RandomForestClassifier(40, oob_score=True, random_state=0).fit(X, y)
    errors = RandomForestClassifier(40, oob_score=lambda true, said: np.mean(true != said), random_state=0).fit(X, y)
    assert errors.oob_score_ == pytest.approx(1 - plain.oob_score_)
    assert 0.5 < plain.oob_score_ < 1


@pytest.mark.parametrize("metric", ["no such metric", 3, ["u65"]])
def test_an_out_of_bag_score_that_is_none_is_refused(metric):
    with pytest.raises(ValueError, match="oob_score"):
        RandomForestClassifier(5, oob_score=metric).fit(*blobs(50, 0))


# ---- a promised coverage -----------------------------------------------------------------


@pytest.mark.parametrize("per_class", [False, True])
@pytest.mark.parametrize("rule", ["average", "vote", "dempster", "eva"])
def test_a_promised_coverage_is_kept_on_new_data(rule, per_class):
    forest = RandomForestClassifier(60, rule=rule, decision=Coverage(0.9, per_class=per_class), random_state=0)
    forest.fit(*blobs(1500, 10))
    X, y = blobs(6000, 11)
    sets = forest.predict_set(X)
    covered = sets[np.arange(len(y)), np.searchsorted(forest.classes_, y)]
    sigma = np.sqrt(0.9 * 0.1 * (1 / 1500 + 1 / 6000))
    assert abs(covered.mean() - 0.9) < 3 * sigma
    assert 1 < sets.sum(axis=1).mean() < 2.5
    if per_class:
        for label in forest.classes_:
            of_class = covered[y == label]
            assert abs(of_class.mean() - 0.9) < 3 * np.sqrt(0.09 * (1 / 500 + 1 / len(of_class)))


def test_calibration_is_that_of_out_of_bag_evidence_and_leaves_the_parameter_alone():
    X, y = blobs(300, 0)
    decision = Coverage(0.9)
    forest = fitted(calibration=None).set_params(decision=decision)
    sets = forest.predict_set(X)
    assert not hasattr(decision, "threshold_")
    by_hand = Coverage(0.9).calibrate(forest.oob_evidence_.combine(), y)
    np.testing.assert_array_equal(sets, decide(forest.evidence(X).combine(), by_hand))
    np.testing.assert_array_equal(sets, forest.set_params(decision=by_hand).predict_set(X))


def test_calibration_follows_the_rule_the_caution_and_the_target():
    X, _ = blobs(300, 1)
    forest = fitted(calibration=None).set_params(decision=Coverage(0.9))
    first = forest.predict_set(X)
    forest.set_params(decision__target=0.6)
    assert forest.predict_set(X).sum() < first.sum()
    forest.set_params(decision__target=0.9, rule="dempster", caution=3.0)
    by_hand = Coverage(0.9).calibrate(forest.oob_evidence_.as_forest().combine(), blobs(300, 0)[1])
    np.testing.assert_array_equal(forest.predict_set(X), decide(forest.evidence(X).combine(), by_hand))


def test_rows_in_every_bag_take_no_part_in_the_calibration():
    X, y = blobs(300, 0)
    forest = RandomForestClassifier(
        3, calibration=None, min_samples_leaf=10, decision=Coverage(0.9), random_state=0
    ).fit(X, y)
    judged = (multiplicities(forest, 300) == 0).any(axis=1)
    assert 0 < judged.sum() < 300
    by_hand = Coverage(0.9).calibrate(forest.oob_evidence_.as_forest().combine()[judged], y[judged])
    np.testing.assert_array_equal(forest.predict_set(X), decide(forest.evidence(X).combine(), by_hand))


def test_rows_in_every_bag_take_no_part_in_the_score():
    X, y = blobs(300, 0)
    forest = RandomForestClassifier(3, calibration=None, oob_score=True, random_state=0).fit(X, y)
    judged = (multiplicities(forest, 300) == 0).any(axis=1)
    said = forest.classes_[forest.oob_evidence_.combine().probability.argmax(axis=1)]
    assert forest.oob_score_ == pytest.approx(np.mean(said[judged] == y[judged]))


def test_too_few_rows_for_a_promise_are_told_in_words():
    X, y = blobs(10, 0, n_classes=2)
    forest = RandomForestClassifier(30, decision=Coverage(0.95), random_state=0)
    with pytest.warns(UserWarning, match=f"at least {rows_needed(0.95)} rows"):
        forest.fit(X, y)
    assert forest.predict_set(X).all()


def test_a_class_whose_rows_weigh_nothing_does_not_stop_a_promise():
    X, y = blobs(300, 0)
    forest = RandomForestClassifier(20, decision=Coverage(0.9), random_state=0)
    forest.fit(X, y, sample_weight=(y != "birch").astype(float))
    sets = forest.predict_set(X)
    assert sets.shape == (300, 3)
    assert sets.any(axis=1).all()


def test_a_promise_without_out_of_bag_rows_asks_for_a_calibrated_decision():
    X, y = blobs(300, 0)
    forest = ExtraTreesClassifier(10, decision=Coverage(0.9), random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="calibrated"):
        forest.predict_set(X)
    ready = Coverage(0.9).calibrate(forest.evidence(X).combine(), y)
    assert forest.set_params(decision=ready).predict_set(X).any(axis=1).all()


# ---- pickled, cloned, refitted -----------------------------------------------------------


@pytest.mark.parametrize("changes", [{}, {"rule": "eva", "caution": 3.0}, {"rule": "median"}], ids=repr)
def test_a_pickle_says_the_same_without_the_training_table(changes):
    forest, X = fitted().set_params(**changes), blobs(100, 1)[0]
    again = pickle.loads(pickle.dumps(forest))
    np.testing.assert_array_equal(again.predict_proba(X), forest.predict_proba(X))
    np.testing.assert_array_equal(again.predict_set(X), forest.predict_set(X))
    np.testing.assert_array_equal(again.predict_bounds(X), forest.predict_bounds(X))
    with pytest.raises(AttributeError, match="oob_evidence_ requires out-of-bag rows"):
        _ = again.oob_evidence_
    assert forest.oob_evidence_.n_samples == 300


def test_a_pickle_does_not_grow_with_the_training_table():
    sizes = []
    for n_rows in (300, 3000):
        X, y = blobs(n_rows, 0)
        X = np.hstack([np.clip(np.round(X), -2, 2), np.random.default_rng(0).integers(0, 9, (n_rows, 60))])
        forest = RandomForestClassifier(3, max_leaf_nodes=4, random_state=0).fit(X, y)
        forest.predict_set(X)
        forest.oob_evidence_.combine()
        sizes.append(len(pickle.dumps(forest)))
    assert sizes[1] - sizes[0] < 3000 * 63 / 2


@pytest.mark.parametrize("asked", [True, False])
@pytest.mark.parametrize("changes", [{"decision": Coverage(0.9)}, {"rule": Belief(weights="learned")}], ids=repr)
def test_what_was_learned_out_of_bag_survives_a_pickle(changes, asked):
    X, y = blobs(300, 0)
    forest = RandomForestClassifier(20, random_state=0, **changes).fit(X, y)
    if asked:
        forest.predict_set(X)
    again = pickle.loads(pickle.dumps(forest))
    np.testing.assert_array_equal(again.predict_set(X), forest.predict_set(X))
    np.testing.assert_array_equal(again.predict(X), forest.predict(X))


def test_caution_auto_survives_a_pickle():
    X, y = blobs(300, 0)
    forest = RandomForestClassifier(20, caution="auto", random_state=0).fit(X, y)
    again = pickle.loads(pickle.dumps(forest))
    assert again.caution_ == forest.caution_
    np.testing.assert_array_equal(again.predict_set(X), forest.predict_set(X))


def test_a_clone_has_the_parameters_and_nothing_learned():
    forest = fitted().set_params(rule=Belief(weights="learned"), decision=Coverage(0.9))
    forest.predict_set(blobs(10, 1)[0])
    copy = clone(forest)
    assert copy.rule is not forest.rule
    assert repr(copy.rule) == repr(forest.rule)
    assert repr(copy.decision) == repr(forest.decision)
    with pytest.raises(NotFittedError):
        copy.predict_set(blobs(10, 1)[0])
    with pytest.raises(NotFittedError):
        _ = copy.oob_evidence_


def test_a_second_fit_inherits_nothing_from_the_first():
    forest = RandomForestClassifier(
        20, caution="auto", rule="average", oob_score=True, decision=Coverage(0.9), random_state=0
    )
    forest.fit(*blobs(300, 0))
    forest.predict_set(blobs(10, 1)[0])
    forest.tune()
    forest.set_params(caution=1.0, rule=Belief(weights="learned"), oob_score=False).predict(blobs(10, 1)[0])
    forest.fit(*blobs(200, 4))
    fresh = clone(forest).fit(*blobs(200, 4))
    assert set(vars(forest)) == set(vars(fresh))
    X = blobs(50, 1)[0]
    np.testing.assert_array_equal(forest.predict_set(X), fresh.predict_set(X))
    np.testing.assert_array_equal(forest.predict_proba(X), fresh.predict_proba(X))


def test_evidence_taken_before_a_second_fit_stays_what_it_was():
    X = blobs(100, 1)[0]
    forest = RandomForestClassifier(10, random_state=0).fit(*blobs(300, 0))
    evidence = forest.evidence(X)
    before = evidence.combine().lower
    forest.fit(*blobs(200, 4))
    forest.predict_set(X)
    np.testing.assert_array_equal(evidence.combine().lower, before)


# ---- other tables and trees --------------------------------------------------------------


def test_unseen_categories_and_missing_values_get_an_opinion():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    table = pd.DataFrame(
        {
            "hedge": pd.Categorical(np.where(rng.random(300) < 0.8, np.array(["box", "yew"])[y], "ivy")),
            "height": np.where(rng.random(300) < 0.1, np.nan, y + rng.normal(size=300)),
        }
    )
    forest = RandomForestClassifier(30, min_samples_leaf=5, random_state=0).fit(table, y)
    new = pd.DataFrame({"hedge": ["box", "privet", None, "privet"], "height": [0.0, 0.5, 0.5, np.nan]})
    new["hedge"] = pd.Categorical(new["hedge"])
    bounds, sets = forest.predict_bounds(new), forest.predict_set(new)
    assert np.isfinite(bounds).all()
    assert sets.any(axis=1).all()
    assert sets[0].tolist() == [True, False]
    np.testing.assert_array_equal(bounds[1], bounds[2])


@EVERY_RULE
def test_with_one_class_there_is_no_doubt_which(rule):
    X = blobs(60, 0)[0]
    forest = RandomForestClassifier(5, rule=rule, random_state=0).fit(X, np.zeros(60, dtype=int))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert forest.predict_set(X).all()
        assert (forest.predict_proba(X) == 1).all()
        assert (forest.predict(X) == 0).all()
        assert (forest.predict_bounds(X)[:, :, 1] == 1).all()
        assert all(np.isfinite(part).all() for part in forest.predict_uncertainty(X))
        assert (forest.oob_evidence_.combine(weights=predictor_of(forest).weights).probability == 1).all()


@pytest.mark.parametrize(
    "estimator",
    [
        DecisionTreeClassifier(random_state=0),
        RandomDecisionTreesClassifier(10, random_state=0),
        ExtraTreesClassifier(10, random_state=0),
        RandomForestClassifier(10, bootstrap=False, random_state=0),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
class TestWithoutBootstrap:
    def test_sets_and_bounds_are_there(self, estimator):
        X, y = blobs(200, 0)
        forest = clone(estimator).set_params(min_samples_leaf=5).fit(X, y)
        bounds = forest.predict_bounds(X)
        assert (bounds[:, :, 0] <= forest.predict_proba(X)).all()
        assert (bounds[:, :, 1] > bounds[:, :, 0]).all()
        np.testing.assert_array_equal(forest.predict(X, return_set=True)[1], forest.predict_set(X))
        assert forest.evidence(X).tree_mask.all()

    def test_out_of_bag_evidence_is_refused_in_words(self, estimator):
        forest = clone(estimator).fit(*blobs(100, 0))
        with pytest.raises(AttributeError, match="bootstrap=True"):
            _ = forest.oob_evidence_
        with pytest.raises(AttributeError, match="bootstrap=True"):
            forest.tune()
        assert not hasattr(forest, "oob_evidence_")

    def test_caution_auto_is_refused(self, estimator):
        with pytest.raises(ValueError, match="caution='auto' requires bootstrap=True"):
            clone(estimator).set_params(caution="auto").fit(*blobs(100, 0))


def test_a_tree_is_bounded_by_the_counts_of_its_leaf():
    X, y = blobs(300, 0)
    tree = DecisionTreeClassifier(max_depth=3, caution=2.0, random_state=0).fit(X, y)
    counts = tree.tree_.counts[tree.apply(X)]
    total = counts.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(tree.predict_bounds(X)[:, :, 0], counts / (total + 2), rtol=1e-12)
    np.testing.assert_allclose(tree.predict_bounds(X)[:, :, 1], (counts + 2) / (total + 2), rtol=1e-12)


def test_weights_change_shares_and_not_the_amount_of_evidence():
    X, y = blobs(300, 0)
    weights = np.where(y == "ash", 10.0, 1.0)
    plain = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    weighted = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y, sample_weight=weights)
    assert weighted.predict_proba(X)[:, 0].mean() > plain.predict_proba(X)[:, 0].mean() + 0.1
    rows = weighted.tree_.counts[weighted.apply(X)].sum(axis=1)
    np.testing.assert_allclose(weighted.predict_uncertainty(X).vacuity, 1 / (rows + 1), rtol=1e-12)
    np.testing.assert_allclose(weighted.evidence(X).counts.sum(axis=2)[:, 0], rows, rtol=1e-12)
