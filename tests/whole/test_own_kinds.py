"""Places to touch: a rule, two decisions and a criterion that stand in this file alone, and what they then can do."""

from __future__ import annotations

import inspect
import json
import re
from typing import Any, ClassVar

import numpy as np
import pytest
from tests.belief import test_laws
from tests.decisions import test_decide_registry

import hedgerow
from hedgerow import DecisionTreeClassifier, RandomForestClassifier, decisions
from hedgerow.belief.leaf import class_shares, leaf_vacuity
from hedgerow.belief.opinion import opinion_from_lower
from hedgerow.criteria import CRITERIA, Criterion, Gini
from hedgerow.decisions import Decision, Dominance
from hedgerow.decisions import register as register_decision
from hedgerow.decisions.base import Checked
from hedgerow.errors import ModelFileError
from hedgerow.explain import shap_values
from hedgerow.explain.change import Space
from hedgerow.inference.predictor import predictor_of
from hedgerow.rules import Rule, Setting, register, resolve_rule
from hedgerow.rules import base as rule_registry
from hedgerow.rules.mean import distribution


class Halving(Rule):
    """The mean of the class shares, half of them held back besides what caution asks for."""

    name = "halving"
    merge = "add"
    even = True
    scale_free = True

    def lift(self, counts: Any, setting: Setting) -> Any:
        shares, kept = class_shares(counts), 1.0 - leaf_vacuity(counts, setting.caution)
        return np.hstack([shares, 0.5 * kept[:, None] * shares, np.ones((len(counts), 1))])

    def finish(self, state: Any, setting: Setting) -> Any:
        probability, filled = distribution(state[:, : setting.n_classes])
        lower, trees = state[:, setting.n_classes : -1], state[:, -1:]
        return opinion_from_lower(probability, lower / np.where(trees > 0, trees, 1.0), 0.0 * filled)

    @property
    def laws(self) -> frozenset[str]:
        return frozenset({"widens"})

    @property
    def adds_up(self) -> tuple[str, ...]:
        return ("lower", "upper", "width")

    def parts(self, state: Any, setting: Setting) -> dict[str, Any]:
        lower = state[:, setting.n_classes : -1]
        return {"lower": lower, "upper": lower + 1.0 - lower.sum(axis=1, keepdims=True)}


class Near(Decision):
    """The classes nearly as probable as the most probable one."""

    def __init__(self, part: float = 0.5) -> None:
        self.part = part

    def pick(self, opinion: Checked) -> Any:
        return opinion.probability >= self.part * opinion.probability.max(axis=1, keepdims=True)


class Seen(Decision):
    """The classes as probable as they have been where they were right, and the most probable one."""

    needs_calibration = True
    learned_fields: ClassVar[dict[str, Any]] = {"least_": np.float64}

    def calibrate(self, opinion: Any, y: Any, *, classes: Any = None) -> Seen:
        right = opinion.probability[np.arange(len(y)), y]
        self.least_ = np.array([np.median(right[y == k]) for k in range(opinion.probability.shape[1])])
        return self

    def pick(self, opinion: Checked) -> Any:
        probability = opinion.probability
        return (probability >= self.least_) | (probability == probability.max(axis=1, keepdims=True))


class Errors(Criterion):
    """The share of rows that are not of the largest class."""

    name = "errors"

    def impurity(self, counts: Any) -> Any:
        total = np.maximum(counts.sum(axis=1), 1e-300)
        return np.where(counts.sum(axis=1) > 0, 1 - counts.max(axis=1) / total, 0.0)


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """The four under their names, for one test."""
    monkeypatch.setattr(rule_registry, "_RULES", dict(rule_registry._RULES))
    monkeypatch.setattr(decisions, "_DECISIONS", dict(decisions._DECISIONS))
    register()(Halving)
    register_decision("near")(Near)
    register_decision("seen")(Seen)
    monkeypatch.setitem(CRITERIA, "errors", Errors)


@pytest.fixture(scope="module")
def table() -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(0)
    X = draw.normal(size=(150, 3)).round(1)
    return X, np.digitize(X[:, 0] + draw.normal(0, 0.7, 150), [-0.5, 0.8])


def fitted(table: tuple[np.ndarray, np.ndarray], **parameters: Any) -> RandomForestClassifier:
    plain = {"max_depth": 4, "oob_score": True, "calibration": None, "random_state": 0}
    return RandomForestClassifier(12, **plain, **parameters).fit(*table)


# ---- a rule -------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("registered")
def test_a_rule_of_ones_own_answers_explains_and_reports(table):
    X, _ = table
    forest = fitted(table, rule="halving")
    opinion = hedgerow.combine(forest.evidence(X).counts, "halving")
    np.testing.assert_allclose(forest.predict_proba(X), opinion.probability, atol=1e-12)
    np.testing.assert_allclose(forest.predict_bounds(X)[:, :, 0], opinion.lower, atol=1e-12)
    np.testing.assert_array_equal(forest.predict_set(X), hedgerow.decide(opinion))
    assert 0 < forest.oob_score_ < 1
    added = shap_values(forest, X[:5], "lower")
    np.testing.assert_allclose(added.base + added.values.sum(axis=1), opinion.lower[:5], atol=1e-9)
    with pytest.raises(ValueError, match=r"got 'probability'; sums of Halving\(\): lower, upper, width"):
        shap_values(forest, X[:5])
    assert Space(predictor_of(forest)).margins is not None  # the search for the smallest change knows its bounds
    why = forest.explain(X[:3], time_limit=0.2)
    assert why[0].to_dict()["rule"] == "halving"
    assert why[0].shap.unit == "lower"
    settings = page_settings(forest.report(X, time_limit=0))
    assert settings["rule"] == {"name": None, "options": {}, "text": "Halving"}
    assert forest.tune(param_grid={"rule": ["average", "halving"]}).tuning_[0][1]["rule"] in ("average", "halving")


@pytest.mark.usefixtures("registered")
def test_a_rule_of_ones_own_is_saved_and_leaves_the_library(table, tmp_path):
    X, _ = table
    forest = fitted(table, rule=Halving())
    hedgerow.save(forest, tmp_path / "model.hedge")
    loaded = hedgerow.load(tmp_path / "model.hedge")
    assert isinstance(loaded.rule, Halving)
    np.testing.assert_array_equal(loaded.predict_bounds(X), forest.predict_bounds(X))
    runtime = pytest.importorskip("onnxruntime", reason="needs onnxruntime: pip install 'hedgerow[test]'")
    model = hedgerow.to_onnx(forest.set_params(decision=Near(0.6)))
    session = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    lower, chosen = session.run(["lower", "set"], {"X": X})
    np.testing.assert_allclose(lower, forest.predict_bounds(X)[:, :, 0], atol=1e-9)
    np.testing.assert_array_equal(chosen, forest.predict_set(X))


def test_a_rule_that_is_not_registered_works_and_is_not_saved(table, tmp_path, registered, monkeypatch):
    forest = fitted(table, rule=Halving())
    hedgerow.save(forest, tmp_path / "model.hedge")
    rule_registry._RULES.pop("halving")
    assert forest.predict_set(table[0]).any(axis=1).all()
    with pytest.raises(ValueError, match="rule must be a registered rule to be saved"):
        hedgerow.save(forest, tmp_path / "again.hedge")
    with pytest.raises(ModelFileError, match=r"got 'halving'. Is it registered"):
        hedgerow.load(tmp_path / "model.hedge")


def laws_of_every_rule() -> list[str]:
    """The tests that are run with every rule."""
    found = []
    for name, function in vars(test_laws).items():
        marks = getattr(function, "pytestmark", []) if name.startswith("test_") else []
        if any(mark.args[1] is test_laws.RULES for mark in marks):
            found.append(name)
    return found


@pytest.mark.parametrize("law", laws_of_every_rule())
def test_a_rule_of_ones_own_is_held_to_the_laws(law, monkeypatch):
    function = getattr(test_laws, law)
    given = {"rule": Halving(), "n_classes": 3, "case": "two hundred classes", "monkeypatch": monkeypatch}
    function(**{name: given[name] for name in inspect.signature(function).parameters})


def test_a_rule_of_ones_own_is_held_to_what_it_says_of_itself():
    test_laws.test_intervals_widen_with_caution_for_fixed_tree_weights(Halving(), 3)
    test_laws.test_what_adds_up_is_the_sum_of_what_the_leaves_add(Halving(), 4)
    test_laws.test_merging_in_any_grouping_gives_the_same(Halving(), 2)
    test_laws.test_a_row_of_zeros_is_the_state_of_no_leaf(Halving())


# ---- decisions ----------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize("name", ["near", "seen"])
def test_a_decision_of_ones_own_chooses_explains_reports_and_is_saved(table, tmp_path, name):
    X, _ = table
    forest = fitted(table, decision=name)
    chosen = forest.predict_set(X)
    assert chosen.any(axis=1).all()
    assert not chosen.all()
    assert forest.explain(X[:2], time_limit=0.1)[0].decision == name
    text = {"near": "Near", "seen": "Seen"}[name]
    assert page_settings(forest.report(X, time_limit=0))["decision"] == {"name": None, "options": {}, "text": text}
    hedgerow.save(forest, tmp_path / "model.hedge")
    np.testing.assert_array_equal(hedgerow.load(tmp_path / "model.hedge").predict_set(X), chosen)
    forest.set_params(decision=predictor_of(forest).decision)  # an object, calibrated where it must be
    hedgerow.save(forest, tmp_path / "object.hedge")
    np.testing.assert_array_equal(hedgerow.load(tmp_path / "object.hedge").predict_set(X), chosen)


def test_a_decision_that_is_not_registered_works_and_is_not_saved(table, tmp_path):
    forest = fitted(table, decision=Near())
    assert forest.predict_set(table[0]).any(axis=1).all()
    with pytest.raises(ValueError, match=r"decision must be one of .* to be saved, got Near\(\)"):
        hedgerow.save(forest, tmp_path / "model.hedge")


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize("name", ["near", "seen"])
def test_a_decision_of_ones_own_is_held_to_the_laws(name):
    test_decide_registry.test_every_row_keeps_a_class(name, 3)
    test_decide_registry.test_a_row_is_decided_whatever_its_neighbours(name)
    test_decide_registry.test_lists_and_read_only_arrays_are_as_good_as_arrays(name)
    test_decide_registry.test_decisions_survive_pickle_with_what_they_learned(name)
    test_decide_registry.test_decisions_clone_and_list_their_parameters(name)


# ---- a criterion --------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("registered")
def test_a_criterion_of_ones_own_grows_prunes_explains_and_is_saved(table, tmp_path):
    X, y = table
    tree = DecisionTreeClassifier(criterion="errors", random_state=0).fit(X, y)
    assert tree.tree_.n_nodes > 3
    root, children = tree.tree_.counts[[0]], tree.tree_.counts[1:3]
    left = Errors().impurity(children.astype(float)) @ children.sum(axis=1)
    assert left < Errors().impurity(root.astype(float))[0] * root.sum()  # what is split has a gain
    assert DecisionTreeClassifier(criterion="errors", ccp_alpha=0.02).fit(X, y).tree_.n_nodes < tree.tree_.n_nodes
    forest = fitted(table, criterion="errors")
    assert forest.feature_importances_.argmax() == 0
    assert forest.explain(X[:2], time_limit=0.1)[0].to_text()
    assert forest.to_sklearn().criterion == "gini"
    hedgerow.save(forest, tmp_path / "model.hedge")
    loaded = hedgerow.load(tmp_path / "model.hedge")
    assert isinstance(loaded.criterion_, Errors)
    np.testing.assert_array_equal(loaded.predict_set(X), forest.predict_set(X))


def test_a_criterion_that_is_not_registered_works_and_is_not_saved(table, tmp_path):
    forest = fitted(table, criterion=Errors())
    assert forest.predict_set(table[0]).any(axis=1).all()
    with pytest.raises(ValueError, match=r"criterion_ must be one of .* to be saved, got Errors\(\)"):
        hedgerow.save(forest, tmp_path / "model.hedge")


def test_a_criterion_in_python_grows_the_trees_of_the_one_in_the_core(table):
    class InPython(Gini):
        """Not `compiled` any more."""

    X, y = table
    assert (Gini.compiled, InPython.compiled, InPython.in_sklearn) == (True, False, None)
    ours = DecisionTreeClassifier(criterion=InPython(), max_depth=3, random_state=0).fit(X, y)
    core = DecisionTreeClassifier(criterion=Gini(), max_depth=3, random_state=0).fit(X, y)
    np.testing.assert_array_equal(ours.tree_.feature, core.tree_.feature)
    np.testing.assert_array_equal(ours.tree_.threshold, core.tree_.threshold)


# ---- all of them --------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("registered")
def test_all_of_them_go_together(table, tmp_path):
    X, _ = table
    forest = fitted(table, rule="halving", decision="seen", criterion="errors", caution="auto")
    hedgerow.save(forest, tmp_path / "model.hedge")
    np.testing.assert_array_equal(hedgerow.load(tmp_path / "model.hedge").predict_set(X), forest.predict_set(X))
    assert isinstance(resolve_rule("halving"), Halving)
    assert Dominance().follows_dominance


def page_settings(report: Any) -> dict[str, Any]:
    """What the page's script is told of rule and decision."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', report.html, re.DOTALL)
    assert found is not None
    return json.loads(found[1])["settings"]
