"""Forests that leave the library: onnxruntime, treelite and scikit-learn say what the forest says."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn.tree
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import xlogy
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.tree import export_text as their_text
from sklearn.utils import check_random_state
from tests.reference.models import MODELS

from hedgerow import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    PairwiseTreesClassifier,
    RandomDecisionTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    RandomTreesEmbedding,
    load,
    save,
)
from hedgerow.criteria import Entropy
from hedgerow.decisions import Coverage, Dominance, UtilitySet, all_decisions
from hedgerow.export import to_onnx, to_sklearn, to_treelite
from hedgerow.export.recorder import NotExpressible, Recorded, Recorder
from hedgerow.inference.fitted import fitted_of, publish
from hedgerow.inference.predictor import predictor_of
from hedgerow.rules import Belief, CdmVote, Setting, all_rules

RULES = [rule for rule in all_rules() if rule.onnx]
DECISIONS = {
    **all_decisions(),
    "cdm": UtilitySet("u80", evidence="lower"),
    "per class": Coverage(0.8, per_class=True),
}
NAMES = sorted(set(MODELS) - {"pairs"})  # whose trees are about different classes


def ask_onnx(model: Any, X: Any, *, feed_type: Any = np.float64) -> dict[str, Any]:
    """A model, a table -> name -> output of onnxruntime."""
    runtime = pytest.importorskip("onnxruntime", reason="needs onnxruntime: pip install 'hedgerow[test]'")
    session = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    inputs = session.get_inputs()
    if [node.name for node in inputs] == ["X"]:
        feed: dict[str, Any] = {"X": np.asarray(X, dtype=feed_type)}
    else:
        feed = {}
        for node in inputs:
            column = X[node.name]
            if node.type == "tensor(string)":
                values = column.astype(object).where(column.notna(), "(missing)").to_numpy(dtype=object)
            else:
                values = column.to_numpy(dtype=feed_type)
            feed[node.name] = values[:, None]
    return dict(zip([node.name for node in session.get_outputs()], session.run(None, feed), strict=True))


def assert_onnx_agrees(forest: Any, X: Any) -> None:
    """Label, probability, bounds and set are those of the forest, which has one path for unknown values, too."""
    pytest.importorskip("onnx", reason="needs onnx: pip install 'hedgerow[test]'")
    forest = with_one_path(forest)
    answers, bounds = ask_onnx(to_onnx(forest), X), forest.predict_bounds(X)
    label, chosen = forest.predict(X, return_set=True)
    np.testing.assert_allclose(answers["probability"], forest.predict_proba(X), atol=1e-6, rtol=0)
    np.testing.assert_allclose(answers["lower"], bounds[:, :, 0], atol=1e-6, rtol=0)
    np.testing.assert_allclose(answers["upper"], bounds[:, :, 1], atol=1e-6, rtol=0)
    np.testing.assert_array_equal(answers["set"], chosen)
    np.testing.assert_array_equal(answers["label"].astype(label.dtype), label)


def with_one_path(forest: Any) -> Any:
    """A fitted forest -> the same with ``unseen="larger"``: exports do not widen what is said about unknown values."""
    fitted = fitted_of(forest)
    return publish(copy(forest), replace(fitted, forest=fitted.forest.with_unseen(None)))


class Coarse(Entropy):
    """A criterion that scikit-learn cannot know, though it knows the one above it."""

    def impurity(self, counts: Any) -> Any:
        return super().impurity(counts).round(2)


class Everything(Dominance):
    """A decision that checks for itself, so that nothing is known of its arithmetic."""

    def choose(self, opinion: Any) -> Any:
        return np.ones(opinion.lower.shape, dtype=bool)


def diabetes_with_words() -> tuple[pd.DataFrame, np.ndarray]:
    """A table with numbers, gaps and text, and numbers to predict from it."""
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    X["sex"] = np.where(X["sex"] > 0, "one", "other")
    X.loc[::7, "bmi"] = np.nan
    return X, y.to_numpy()


def few_leaves(n_classes: int, **parameters: Any) -> tuple[RandomForestClassifier, np.ndarray]:
    """A forest with doubt, and rows to ask it about."""
    X, y = load_wine(return_X_y=True)
    kept = y < n_classes
    X, y = X[kept][:, :4], y[kept]
    return RandomForestClassifier(12, random_state=0, **parameters).fit(X[::2], y[::2]), X[1::2]


# ---- ONNX -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_onnx_answers_as_the_forest(name: str) -> None:
    assert_onnx_agrees(*MODELS[name]())


@pytest.mark.parametrize("kind", [RandomForestClassifier, RandomForestRegressor])
@pytest.mark.parametrize("text", [False, True])
def test_onnx_flags_rows_out_of_support_and_never_decides_them(kind: Any, text: bool) -> None:
    pytest.importorskip("onnx", reason="needs onnx: pip install 'hedgerow[test]'")
    X, y = load_wine(return_X_y=True, as_frame=True)
    X["magnesium"] = pd.Categorical((X["magnesium"] // 10).astype(str if text else int))
    X.loc[::9, "ash"] = np.nan
    model = kind(20, random_state=0).fit(X, y)
    asked = X.iloc[::6].reset_index(drop=True).astype({"magnesium": object})
    asked.loc[0:3, "proline"] = 1e7
    asked.loc[4:6, "proline"] = np.nan
    asked.loc[7:8, "magnesium"] = "new" if text else 99
    asked.loc[9:10, "ash"] = np.nan
    asked.loc[11, "flavanoids"] = np.inf
    answers = ask_onnx(to_onnx(model), asked if text else asked.astype(float))
    known = predictor_of(model).read(asked).unseen
    flagged = np.isin(np.arange(len(asked)), known.rows)
    assert flagged.sum() == 10
    np.testing.assert_array_equal(answers["out_of_support"], flagged)
    bounds = model.predict_bounds(asked)
    for name, side in (("lower", 0), ("upper", 1)):
        np.testing.assert_allclose(answers[name][~flagged], bounds[~flagged][..., side], atol=1e-9)
    assert (answers["lower"] <= bounds[..., 0] + 1e-9).all()
    assert (answers["upper"] >= bounds[..., 1] - 1e-9).all()
    if kind is RandomForestClassifier:
        assert (answers["set"] >= model.predict_set(asked)).all()
        np.testing.assert_array_equal(answers["set"][~flagged], model.predict_set(asked)[~flagged])


def test_treelite_warns_that_bounds_are_not_widened() -> None:
    pytest.importorskip("treelite")
    forest, _ = few_leaves(3, calibration=None)
    with pytest.warns(UserWarning, match="does not widen bounds"):
        to_treelite(forest, bounds=True)


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_onnx_knows_the_rule(rule: Any) -> None:
    for n_classes in (2, 3):
        forest, X = few_leaves(n_classes)
        assert_onnx_agrees(forest.set_params(rule=rule, decision="rule"), X)


@pytest.mark.parametrize("name", sorted(DECISIONS))
def test_onnx_knows_the_decision(name: str) -> None:
    for n_classes in (2, 3):
        forest, X = few_leaves(n_classes, decision=DECISIONS[name], caution=2.0)
        assert_onnx_agrees(forest, X)
        assert_onnx_agrees(forest.set_params(rule="belief"), X)


@pytest.mark.parametrize("caution", [0.0, 0.25, 1e3])
def test_onnx_keeps_the_caution(caution: float) -> None:
    forest, X = few_leaves(3, caution=caution)
    for rule in ("average", "eva", "dempster", "interval_conjunction"):
        assert_onnx_agrees(forest.set_params(rule=rule), X)


@settings(max_examples=25)
@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=3, max_size=3), st.integers(0, 10_000))
def test_onnx_compares_in_double_precision(drawn: list[float], seed: int) -> None:
    """Rows that lie on a threshold, and one double above it, go where they go in the forest."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(40, 3)), 1) + 1e-9 * rng.integers(0, 3, (40, 3))
    X[rng.random(X.shape) < 0.1] = np.nan
    forest = ExtraTreesClassifier(3, random_state=seed).fit(X, rng.integers(0, 2, 40))
    cuts = np.concatenate([tree.threshold[np.isfinite(tree.threshold)] for tree in forest.trees_])
    asked = np.vstack([np.repeat(values[:, None], 3, axis=1) for values in (cuts, np.nextafter(cuts, np.inf))])
    assert_onnx_agrees(forest, np.vstack([asked, drawn, X]))


def test_onnx_reads_single_precision_as_it_is() -> None:
    pytest.importorskip("onnx", reason="needs onnx: pip install 'hedgerow[test]'")
    X, y = load_iris(return_X_y=True)
    forest = RandomForestClassifier(10, random_state=0).fit(X, y)
    rough = X.astype(np.float32)
    answers = ask_onnx(to_onnx(forest, float_type="float"), rough, feed_type=np.float32)
    np.testing.assert_allclose(answers["probability"], forest.predict_proba(rough), atol=1e-12, rtol=0)
    with pytest.raises(ValueError, match="float_type must be 'double' or 'float', got 'half'"):
        to_onnx(forest, float_type="half")


def test_onnx_takes_any_number_of_rows() -> None:
    forest, X = few_leaves(3)
    for n_rows in (1, 2, 31):
        assert_onnx_agrees(forest, X[:n_rows])


def test_onnx_says_what_it_cannot_express() -> None:
    pytest.importorskip("onnx", reason="needs onnx: pip install 'hedgerow[test]'")
    forest, X = few_leaves(3)
    others = [rule for rule in all_rules() if not rule.onnx]
    assert {rule.name for rule in others} == {"credal_trees", "pcr6"}
    for rule in others:
        with pytest.raises(NotImplementedError, match=f"rule must be expressible in ONNX, got {type(rule).__name__}"):
            to_onnx(forest.set_params(rule=rule))
    with pytest.raises(NotImplementedError, match="decision must be expressible in ONNX, got Dominance"):
        to_onnx(forest.set_params(rule="average", decision=Dominance(utility=np.eye(3))))
    for decision in (Everything(), Coverage(score="aps"), Coverage(0.5, groups=0)):
        assert not decision.onnx
        with pytest.raises(NotImplementedError, match="which is not a decision of"):
            to_onnx(forest.set_params(decision=decision))
    assert all(decision.onnx for decision in DECISIONS.values())
    with pytest.raises(NotImplementedError, match="does not support PairwiseTreesClassifier"):
        to_treelite(PairwiseTreesClassifier().fit(X, np.arange(len(X)) % 3))
    many = RandomForestClassifier(2, rule="cdm_vote", random_state=0).fit(X, np.arange(len(X)) % 11)
    with pytest.raises(NotImplementedError, match="rule must be expressible in ONNX, got CdmVote"):
        to_onnx(many)
    with pytest.raises(TypeError, match="fitted classifier or regressor of hedgerow, got"):
        to_onnx(to_sklearn(few_leaves(3)[0]))
    with pytest.raises(TypeError, match="fitted classifier or regressor of hedgerow, got RandomTreesEmbedding"):
        RandomTreesEmbedding(2).fit(X).to_sklearn()


@pytest.mark.parametrize("n_classes", [1, 2, 3, 4, 5, 7])
def test_onnx_solves_the_programme_of_pairs(n_classes: int) -> None:
    pytest.importorskip("onnx", reason="needs onnx: pip install 'hedgerow[test]'")
    rng = np.random.default_rng(n_classes)
    y = rng.permutation(np.arange(40 * n_classes) % n_classes)
    X = rng.normal(size=(len(y), 3)) + y[:, None] * rng.normal(size=3)
    trees = PairwiseTreesClassifier(max_depth=2, random_state=0).fit(X, y)
    answers, bounds = ask_onnx(to_onnx(trees), X), trees.predict_bounds(X)
    # With four to six classes rounding is multiplied by 1e8, the evenness of the programme.
    near = 1e-7 if 4 <= n_classes <= 6 else 1e-12
    np.testing.assert_allclose(answers["probability"], trees.predict_proba(X), atol=near, rtol=0)
    np.testing.assert_allclose(answers["lower"], bounds[..., 0], atol=near, rtol=0)
    np.testing.assert_allclose(answers["upper"], bounds[..., 1], atol=near, rtol=0)
    assert np.array_equal(answers["label"], trees.predict(X))
    assert np.array_equal(answers["set"], trees.predict_set(X))


@settings(max_examples=25)
@given(st.integers(1, 5), st.integers(1, 6), st.integers(0, 10_000))
def test_cdm_vote_set_by_set_finds_the_same_sets(n_classes: int, n_trees: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    setting = Setting.of(n_classes, caution=1.0)
    counts = rng.integers(0, 4, (30, n_trees, n_classes)).astype(np.float64)
    for rule in (CdmVote(), CdmVote(utility="u80"), CdmVote(weights="size")):
        states = rule.lift(counts.reshape(-1, n_classes), setting).reshape(30, n_trees, -1)
        states[rng.random((30, n_trees)) < 0.1] = 0  # trees that do not take part
        said, again = rule.finish(states, setting), rule.finish_plainly(states, setting)
        assert np.array_equal(said.chosen, again.chosen)
        assert np.array_equal(said.probability, again.probability)


@pytest.mark.parametrize("kind", [DecisionTreeRegressor, RandomForestRegressor, ExtraTreesRegressor])
def test_onnx_predicts_as_the_regressor(kind: Any) -> None:
    pytest.importorskip("onnx", reason="needs onnx: pip install 'hedgerow[test]'")
    X, y = diabetes_with_words()
    model = kind(max_depth=6, random_state=0).fit(X[::2], y[::2])
    answers, bounds = ask_onnx(to_onnx(model), X), model.predict_bounds(X)
    np.testing.assert_allclose(answers["prediction"], model.predict(X), rtol=1e-12)
    np.testing.assert_allclose(answers["lower"], bounds[:, 0], rtol=1e-12)
    np.testing.assert_allclose(answers["upper"], bounds[:, 1], rtol=1e-12)


# ---- NumPy written down ----------------------------------------------------------------------------------------


def run_recorded(function: Any, *arrays: np.ndarray) -> np.ndarray:
    """What onnxruntime makes of a function that was recorded on the first row of its arguments."""
    onnx = pytest.importorskip("onnx", reason="needs onnx: pip install 'hedgerow[test]'")
    runtime = pytest.importorskip("onnxruntime", reason="needs onnxruntime: pip install 'hedgerow[test]'")
    recorder = Recorder()
    names = [f"a{i}" for i in range(len(arrays))]
    result = function(*(Recorded(recorder, name, each[:1]) for name, each in zip(names, arrays, strict=True)))
    recorder.add("Identity", result.name, output="result")
    kind = onnx.TensorProto.DOUBLE
    inputs = [onnx.helper.make_tensor_value_info(name, kind, None) for name in names]
    output = onnx.helper.make_tensor_value_info("result", onnx.helper.np_dtype_to_tensor_dtype(result.dtype), None)
    graph = onnx.helper.make_graph(recorder.nodes, "g", inputs, [output], initializer=recorder.initializers)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=10)
    session = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return np.asarray(session.run(None, dict(zip(names, arrays, strict=True)))[0])


def total_without_own(x: Any) -> Any:
    """Slices, sums written into parts, reversed columns."""
    others = np.zeros_like(x)
    others[:, 1:] = np.cumsum(x[:, :-1], axis=1)
    others[:, :-1] += np.cumsum(x[:, :0:-1], axis=1)[:, ::-1]
    return others


def only_where_needed(x: Any) -> Any:
    """Work for some rows."""
    result, needy = x * 2.0, x[:, 0] > 0.5
    if needy.any():
        result[needy] = np.sqrt(abs(x[needy])) - 1.0
    return result


def through_a_part(x: Any) -> Any:
    """What is written into a view is written into the array."""
    result = x.copy()
    np.minimum(x[:, 1:], 0.25, out=result[:, 1:])
    return result


def in_order(x: Any) -> Any:
    """Places, values at places, and back."""
    order = np.argsort(-x, axis=1, kind="stable")
    marked = np.zeros_like(order, dtype=bool)
    np.put_along_axis(marked, order, np.arange(x.shape[1]) < 2, axis=1)
    return np.where(marked, np.take_along_axis(x, order, axis=1), -1.0)


@pytest.mark.parametrize("function", [total_without_own, only_where_needed, through_a_part, in_order])
def test_what_is_recorded_is_what_numpy_does(function: Any) -> None:
    x = np.random.default_rng(0).random((50, 4)).round(1)
    np.testing.assert_allclose(run_recorded(function, x), function(x), rtol=1e-15)


@pytest.mark.parametrize("function", [np.expm1, np.log1p])
def test_small_numbers_keep_their_digits(function: Any) -> None:
    x = np.concatenate([[0.0], 10.0 ** np.arange(-300.0, 1)])[:, None]
    np.testing.assert_allclose(run_recorded(function, x), function(x), rtol=1e-11)
    np.testing.assert_allclose(run_recorded(function, -x / 2), function(-x / 2), rtol=1e-11)


def test_logarithms_of_nothing_add_up_to_nothing() -> None:
    a, b = (each.reshape(-1, 1) for each in np.meshgrid([-np.inf, -800.0, -1.0, 0.0, 3.0], [-np.inf, -1.0, 700.0]))
    np.testing.assert_allclose(run_recorded(np.logaddexp, a, b), np.logaddexp(a, b), rtol=1e-14)


def test_what_cannot_be_recorded_says_so() -> None:
    x = np.ones((3, 2))
    for function, words in (
        (lambda a: np.linalg.norm(a), "uses numpy.norm"),
        (lambda a: a if (a > 0).all(axis=1) else -a, "branches on values"),
        (lambda a: np.asarray(a), "needs values"),
        (lambda a: a[0], "selects samples by index"),
        (lambda a: np.arctan2(a, a), "uses numpy.arctan2"),
    ):
        with pytest.raises(NotExpressible, match=words):
            run_recorded(function, x)


# ---- scikit-learn -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "theirs"),
    [
        (DecisionTreeClassifier, "DecisionTreeClassifier"),
        (RandomForestClassifier, "RandomForestClassifier"),
        (ExtraTreesClassifier, "ExtraTreesClassifier"),
        (RandomDecisionTreesClassifier, "ExtraTreesClassifier"),
    ],
)
def test_scikit_learn_reaches_the_same_leaves(kind: Any, theirs: str) -> None:
    X, y = load_breast_cancer(return_X_y=True)
    X = X.astype(np.float32).astype(np.float64)  # what scikit-learn looks at
    X[np.random.default_rng(0).random(X.shape) < 0.05] = np.nan
    names = np.array(["malignant", "benign"])[y]
    ours = kind(random_state=0)
    if "calibration" in ours.get_params():
        ours.set_params(calibration=None)  # scikit-learn does not support calibrators
    converted = ours.fit(X, names).to_sklearn()
    assert type(converted).__name__ == theirs
    assert type(converted).__module__.startswith("sklearn.")
    np.testing.assert_array_equal(converted.apply(X), ours.apply(X))
    np.testing.assert_allclose(converted.predict_proba(X), ours.predict_proba(X), rtol=0, atol=1e-14)
    np.testing.assert_array_equal(converted.predict(X), ours.predict(X))
    np.testing.assert_array_equal(converted.classes_, ours.classes_)


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson"])
@pytest.mark.parametrize("kind", [DecisionTreeRegressor, RandomForestRegressor, ExtraTreesRegressor])
def test_scikit_learn_predicts_as_the_regressor(kind: Any, criterion: str) -> None:
    X, y = load_diabetes(return_X_y=True)
    X = X.astype(np.float32)
    ours = kind(max_depth=6, criterion=criterion, random_state=0).fit(X, y)
    converted = ours.to_sklearn()
    assert type(converted).__name__ == kind.__name__
    np.testing.assert_array_equal(converted.apply(X), ours.apply(X))
    np.testing.assert_allclose(converted.predict(X), ours.predict(X), rtol=1e-13)
    np.testing.assert_allclose(converted.feature_importances_, ours.feature_importances_, rtol=0, atol=1e-13)


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson"])
@pytest.mark.parametrize("weighted", [False, True])
def test_impurities_of_a_tree_are_those_of_scikit_learns_own_tree(
    criterion: str, weighted: bool, tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 6, (120, 3)).astype(np.float32)
    y = rng.poisson(1 + X[:, 0] + X[:, 1]).astype(float)
    weights = rng.integers(1, 4, 120).astype(float) if weighted else None
    ours = DecisionTreeRegressor(criterion=criterion, max_depth=3, min_samples_leaf=4, random_state=0).fit(
        X, y, weights
    )
    converted = ours.to_sklearn()
    inside = converted.decision_path(X).toarray().astype(bool)
    heavy = np.ones(120) if weights is None else weights
    for node, of_node in enumerate(inside.T):
        values, amount = y[of_node], heavy[of_node]
        mean = np.average(values, weights=amount)
        middle = np.median(np.repeat(values, amount.astype(int)))
        expected = {
            "squared_error": np.average((values - mean) ** 2, weights=amount),
            "absolute_error": np.average(np.abs(values - middle), weights=amount),
            "poisson": np.average(xlogy(values, values / mean), weights=amount),
        }[criterion]
        assert converted.tree_.impurity[node] == pytest.approx(expected, rel=1e-9, abs=1e-9)
    theirs = sklearn.tree.DecisionTreeRegressor(criterion=criterion, max_depth=3, min_samples_leaf=4, random_state=0)
    theirs.fit(X, y, weights)
    if np.array_equal(theirs.apply(X), ours.apply(X)):  # without ties both find the same tree
        np.testing.assert_allclose(theirs.feature_importances_, ours.feature_importances_, atol=1e-12)
    save(ours, tmp_path / "tree.hedge")
    loaded = load(tmp_path / "tree.hedge")
    np.testing.assert_array_equal(loaded.to_sklearn().tree_.impurity, converted.tree_.impurity)
    np.testing.assert_array_equal(loaded.feature_importances_, ours.feature_importances_)


AVERAGING = [rule for rule in RULES if "probability" in rule.adds_up and not rule.needs_weights]


@pytest.mark.parametrize("rule", AVERAGING, ids=str)
def test_scikit_learn_averages_as_the_rule(rule: Any) -> None:
    forest, X = few_leaves(3, rule=rule, calibration=None)
    X = X.astype(np.float32)
    np.testing.assert_allclose(to_sklearn(forest).predict_proba(X), forest.predict_proba(X), rtol=0, atol=1e-14)


@pytest.mark.parametrize("rule", AVERAGING, ids=str)
def test_treelite_averages_as_the_rule(rule: Any) -> None:
    treelite = pytest.importorskip("treelite", reason="needs treelite: pip install 'hedgerow[test]'")
    forest, X = few_leaves(3, rule=rule, caution=2.0, calibration=None)
    three, bounds = treelite.gtil.predict(to_treelite(forest, bounds=True), X), forest.predict_bounds(X)
    np.testing.assert_allclose(three[:, 0], forest.predict_proba(X), rtol=0, atol=1e-12)
    np.testing.assert_allclose(three[:, 1], bounds[:, :, 0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(three[:, 2], bounds[:, :, 1], rtol=0, atol=1e-12)


def test_weights_that_were_learned_do_not_leave_the_library_unnoticed() -> None:
    forest, _ = few_leaves(3, rule=Belief(weights="learned"))
    with pytest.raises(NotImplementedError, match="rule must be a mean over trees for scikit-learn"):
        to_sklearn(forest)


@pytest.mark.parametrize(
    ("criterion", "theirs"),
    [("gini", "gini"), (Entropy(), "entropy"), ("log_loss", "log_loss"), ("belief", "gini"), (Coarse(), "gini")],
    ids=str,
)
def test_scikit_learn_is_told_its_own_name_of_the_criterion(criterion: Any, theirs: str) -> None:
    forest, _ = few_leaves(3, criterion=criterion)
    assert to_sklearn(forest).criterion == theirs


def test_scikit_learn_has_its_own_defaults_where_a_parameter_was_set_to_none() -> None:
    X, y = load_iris(return_X_y=True)
    forest = RandomForestClassifier(3, min_samples_leaf=2, calibration=None, random_state=0).fit(X, y)
    forest.set_params(min_samples_leaf=None)
    assert np.allclose(to_sklearn(forest).predict_proba(X), forest.predict_proba(X), rtol=0, atol=1e-12)


def test_onnx_has_an_input_for_every_column_if_one_is_text_and_a_table_otherwise() -> None:
    n = np.arange(60)
    table = pd.DataFrame({"number": n, "word": np.array(["a", "b", "c"])[n % 3], "same": "k", "flag": n % 2 == 0})
    table["kind"], table["code"] = pd.Categorical(table["word"]), pd.Categorical(n % 4)
    table["gap"], table["no kind"] = pd.Series([None] * 60, dtype=object), pd.Categorical([None] * 60)
    text = RandomForestClassifier(2, random_state=0).fit(table, n % 2)
    assert [each.name for each in to_onnx(text).graph.input] == list(table)
    numbers = RandomForestClassifier(2, random_state=0).fit(table[["number", "flag", "code"]], n % 2)
    (only,) = to_onnx(numbers).graph.input  # categories that are numbers are columns of the one table
    assert (only.name, only.type.tensor_type.shape.dim[1].dim_value) == ("X", 3)


@pytest.mark.parametrize("export", [to_onnx, to_treelite, to_sklearn])
def test_novelty_is_refused_because_no_program_knows_what_leaves_have_seen(export: Any) -> None:
    X, y = load_iris(return_X_y=True)
    forest = RandomForestClassifier(3, novelty=0.01, random_state=0).fit(X, y)
    with pytest.raises(NotImplementedError, match=r"novelty must be None for an export, got 0\.01"):
        export(forest)


def test_scikit_learn_is_told_how_the_trees_were_grown_and_has_no_bags_that_were_never_drawn() -> None:
    X, y = load_iris(return_X_y=True)
    grown = {"max_features": 3, "class_weight": {0: 1.0, 1: 2.0, 2: 1.0}, "max_samples": 0.7, "ccp_alpha": 0.01}
    converted = to_sklearn(RandomForestClassifier(3, **grown, calibration=None, random_state=0).fit(X, y))
    assert {name: converted.get_params()[name] for name in grown} == grown
    assert converted.bootstrap
    with pytest.raises(AttributeError):
        converted.estimators_samples_  # noqa: B018
    with pytest.raises(ValueError, match="use estimators_samples_ of the hedgerow forest"):
        check_random_state(converted.estimators_[0].random_state)  # what forestci does
    chosen = RandomForestClassifier(3, max_features="oob", calibration=None, random_state=0).fit(X, y)
    assert to_sklearn(chosen).max_features == chosen.max_features_
    assert not to_sklearn(ExtraTreesClassifier(3, calibration=None).fit(X, y)).bootstrap


def test_scikit_learns_tools_read_the_trees() -> None:
    X, y = load_iris(return_X_y=True, as_frame=True)
    ours = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    converted = to_sklearn(ours)
    text = their_text(converted, feature_names=list(converted.feature_names_in_))
    assert text.splitlines()[0] == "|--- petal width (cm) <= 0.80"
    assert (converted.get_depth(), converted.get_n_leaves()) == (ours.get_depth(), ours.get_n_leaves())
    np.testing.assert_allclose(converted.feature_importances_, ours.feature_importances_, atol=1e-12)
    assert converted.get_params()["max_depth"] == 2
    path = converted.decision_path(X)
    np.testing.assert_array_equal(path.toarray(), ours.decision_path(X).toarray())


def test_scikit_learn_is_refused_what_it_cannot_hold() -> None:
    framed, _ = MODELS["forest"]()
    with pytest.raises(NotImplementedError, match="features must be numeric for scikit-learn, got the categorical"):
        to_sklearn(framed)
    forest, _ = few_leaves(3, rule="dempster")
    with pytest.raises(NotImplementedError, match="rule must be a mean over trees for scikit-learn"):
        to_sklearn(forest)
    weighted, _ = MODELS["weighted"]()
    with pytest.raises(NotImplementedError, match="scikit-learn does not support empty leaves"):
        to_sklearn(weighted)


# ---- treelite ---------------------------------------------------------------------------------------------------


def places_of(forest: Any, X: Any) -> np.ndarray:
    """A table -> doubles, categories by their place, 10**6 for a new one, NaN for a missing one."""
    frame, columns = pd.DataFrame(X), []
    for feature, known in enumerate(fitted_of(forest).schema.categories):
        column = frame.iloc[:, feature]
        if known is not None:
            place = {value: float(number) for number, value in enumerate(known.tolist())}
            column = [np.nan if pd.isna(value) else place.get(value, 1e6) for value in column]
        columns.append(np.asarray(column, dtype=np.float64))
    return np.column_stack(columns)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("learned", "tuned", "weighted")])
def test_treelite_answers_as_the_forest(name: str) -> None:
    treelite = pytest.importorskip("treelite", reason="needs treelite: pip install 'hedgerow[test]'")
    forest, X = MODELS[name]()
    if "calibration" in forest.get_params():
        forest.set_params(calibration=None)  # treelite does not support calibrators
    forest = with_one_path(forest)
    table, bounds = places_of(forest, X), forest.predict_bounds(X)
    probability = treelite.gtil.predict(to_treelite(forest), table)
    np.testing.assert_allclose(probability[:, 0], forest.predict_proba(X), rtol=0, atol=1e-12)
    three = treelite.gtil.predict(to_treelite(forest, bounds=True), table)
    np.testing.assert_allclose(three[:, 0], probability[:, 0], rtol=0, atol=1e-15)
    np.testing.assert_allclose(three[:, 1], bounds[:, :, 0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(three[:, 2], bounds[:, :, 1], rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["", "label", "probability", "set", "lower", "r1"])
def test_onnx_says_which_names_cannot_be_inputs(name: str) -> None:
    pytest.importorskip("onnx", reason="needs onnx: pip install 'hedgerow[test]'")
    X = pd.DataFrame({name: np.arange(8.0), "text": np.array(["p", "q"] * 4, dtype=object)})
    forest = RandomForestClassifier(2, random_state=0).fit(X, [0, 1] * 4)
    with pytest.raises(ValueError, match="names of columns must be non-empty and not reserved in the ONNX graph, got"):
        to_onnx(forest)
    to_onnx(RandomForestClassifier(2, random_state=0).fit(X[[name]], [0, 1] * 4))  # one input for all: X


def test_onnx_knows_empty_and_odd_words() -> None:
    X = pd.DataFrame({"a\x1b": np.arange(8.0), "b": np.array(["", "\x00", "é", "<&>"] * 2, dtype=object)})
    assert_onnx_agrees(RandomForestClassifier(5, random_state=0).fit(X, np.array(["", "\x9b"] * 4)), X)


def test_treelite_says_what_it_cannot_express() -> None:
    pytest.importorskip("treelite", reason="needs treelite: pip install 'hedgerow[test]'")
    forest, _ = few_leaves(2, rule="pool")
    with pytest.raises(NotImplementedError, match="rule must be a mean over trees for treelite"):
        to_treelite(forest)


def test_treelite_predicts_as_the_regressor() -> None:
    treelite = pytest.importorskip("treelite", reason="needs treelite: pip install 'hedgerow[test]'")
    X, y = diabetes_with_words()
    model = RandomForestRegressor(10, max_depth=6, random_state=0).fit(X[::2], y[::2])
    table, bounds = places_of(model, X), model.predict_bounds(X)
    mean = treelite.gtil.predict(to_treelite(model), table)
    np.testing.assert_allclose(mean.ravel(), model.predict(X), rtol=1e-12)
    three = treelite.gtil.predict(to_treelite(model, bounds=True), table).reshape(len(X), 3)
    np.testing.assert_allclose(three, np.column_stack([mean.ravel(), bounds]), rtol=1e-12)


@pytest.mark.parametrize("size", [2**33, 2**62, 10**30])
@pytest.mark.parametrize("name", ["max_depth", "max_leaf_nodes", "min_samples_leaf", "min_samples_split"])
def test_a_huge_size_takes_no_memory_of_scikit_learn(name: str, size: int) -> None:
    X = np.random.default_rng(0).normal(size=(60, 3))
    forest = RandomForestClassifier(3, random_state=0, calibration=None).fit(X, X[:, 0] > 0)
    theirs = to_sklearn(forest.set_params(**{name: size}))
    np.testing.assert_allclose(theirs.predict_proba(X), forest.predict_proba(X))
    assert [getattr(each, name) for each in (theirs, *theirs.estimators_)] == [size] * 4


def test_scikit_learn_is_told_the_criterion_that_grew_the_trees() -> None:
    X = np.random.default_rng(0).normal(size=(60, 3))
    forest = RandomForestClassifier(3, criterion="entropy", random_state=0, calibration=None).fit(X, X[:, 0] > 0)
    assert to_sklearn(forest.set_params(criterion=None)).criterion == "entropy"
    assert to_sklearn(forest.set_params(criterion="log_loss")).criterion == "log_loss"
