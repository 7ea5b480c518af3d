"""y of several columns: one forest for all of them, and for each column everything an ordinary forest can say."""

from __future__ import annotations

import io
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn.ensemble
import sklearn.tree
from sklearn.base import clone
from sklearn.metrics import r2_score

import hedgerow
from hedgerow import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomDecisionTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from hedgerow.cli.exit_codes import UsageError
from hedgerow.cli.files.source import read_model
from hedgerow.cli.inspect import inspect
from hedgerow.cli.options import FileOptions
from hedgerow.criteria import resolve_criterion
from hedgerow.storage.model import describe_file

CLASSIFIERS = [RandomForestClassifier, ExtraTreesClassifier, RandomDecisionTreesClassifier]
REGRESSORS = [RandomForestRegressor, ExtraTreesRegressor]


def table(n_rows: int = 240, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A table (n, 5), labels (n, 3) of 2, 3 and 12 classes, numbers (n, 2), all of which depend on the table."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 5))
    noisy = X + rng.normal(scale=0.5, size=X.shape)
    labels = [noisy[:, 0] > 0, np.digitize(noisy[:, 1], [-0.5, 0.5]), np.digitize(noisy[:, 2], np.linspace(-2, 2, 11))]
    numbers = [3 * noisy[:, 0] + noisy[:, 3] ** 2, 100 * noisy[:, 1]]
    return X, np.column_stack(labels).astype(int), np.column_stack(numbers)


# ---- the trees ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_a_tree_of_labels_is_that_of_scikit_learn(criterion: str) -> None:
    X, y, _ = table()
    options: dict[str, Any] = {"criterion": criterion, "min_samples_leaf": 15, "random_state": 0}  # without ties
    ours = DecisionTreeClassifier(**options).fit(X, y)
    theirs = sklearn.tree.DecisionTreeClassifier(**options).fit(X, y)
    assert same_parts(ours.apply(X), theirs.apply(X))
    for own, other in zip(ours.predict_proba(X), theirs.predict_proba(X), strict=True):
        np.testing.assert_allclose(own, other, atol=1e-12)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_allclose(ours.feature_importances_, theirs.feature_importances_, atol=1e-9)


@pytest.mark.parametrize("criterion", ["squared_error", "poisson", "absolute_error"])
def test_a_tree_of_numbers_is_that_of_scikit_learn(criterion: str) -> None:
    X, _, y = table(120)
    y = np.abs(y) + 0.5
    options: dict[str, Any] = {"criterion": criterion, "min_samples_leaf": 10, "random_state": 0}
    ours = DecisionTreeRegressor(**options).fit(X, y)
    theirs = sklearn.tree.DecisionTreeRegressor(**options).fit(X, y)
    assert same_parts(ours.apply(X), theirs.apply(X))
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-12)


@pytest.mark.parametrize("kind", ["gini", "entropy"])
def test_the_first_split_gains_most_for_all_outputs_together(kind: str) -> None:
    X, y, _ = table(60)
    tree = DecisionTreeClassifier(criterion=kind, max_depth=1, random_state=0).fit(X, y).trees_[0]
    criterion = resolve_criterion(kind)

    def left(feature: int, threshold: float) -> float:
        side = X[:, feature] <= threshold
        return sum(
            criterion.impurity(np.array([np.bincount(part, minlength=12)], dtype=float))[0] * len(part)
            for column in y.T
            for part in (column[side], column[~side])
            if len(part)
        )

    best = min(left(feature, value) for feature in range(5) for value in X[:, feature])
    assert left(tree.feature[0], tree.threshold[0]) == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("estimator", CLASSIFIERS)
def test_twice_the_same_labels_give_the_forest_of_one(estimator: type[Any]) -> None:
    X, y, _ = table()
    for column in y.T[:2]:
        alone = estimator(n_estimators=10, random_state=1).fit(X, column)
        twice = estimator(n_estimators=10, random_state=1).fit(X, np.column_stack([column, column]))
        np.testing.assert_array_equal(alone.forest_.nodes, twice.forest_.nodes)
        for probability in twice.predict_proba(X):
            np.testing.assert_array_equal(probability, alone.predict_proba(X))


@pytest.mark.parametrize("estimator", REGRESSORS)
def test_twice_the_same_numbers_give_the_forest_of_one(estimator: type[Any]) -> None:
    X, _, y = table()
    alone = estimator(n_estimators=10, random_state=1).fit(X, y[:, 0])
    twice = estimator(n_estimators=10, random_state=1).fit(X, y[:, [0, 0]])
    np.testing.assert_array_equal(alone.forest_.nodes, twice.forest_.nodes)
    np.testing.assert_array_equal(twice.predict(X), np.column_stack([alone.predict(X)] * 2))


def test_the_order_of_two_outputs_does_not_matter() -> None:
    X, y, _ = table()
    there = RandomForestClassifier(10, random_state=0).fit(X, y[:, :2])
    back = RandomForestClassifier(10, random_state=0).fit(X, y[:, 1::-1])
    for one, other in zip(there.predict_bounds(X), reversed(back.predict_bounds(X)), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_weight_of_two_is_two_rows() -> None:
    X, y, numbers = table(80)
    weights = np.arange(80) % 3
    again = np.repeat(np.arange(80), weights)
    for estimator, target in ((DecisionTreeClassifier, y), (DecisionTreeRegressor, numbers)):
        heavy = estimator(min_samples_leaf=6, random_state=0)
        heavy = clone(heavy).set_params(min_samples_leaf=1, max_depth=3).fit(X, target, sample_weight=weights)
        many = clone(heavy).fit(X[again], target[again])
        np.testing.assert_allclose(np.concatenate(heavy.predict(X)), np.concatenate(many.predict(X)), rtol=1e-12)


def test_text_and_gaps_are_split_for_all_outputs() -> None:
    X, y, numbers = table()
    frame = pd.DataFrame(X[:, 1:], columns=list("abcd"))
    frame["text"] = np.array(["red", "green", "blue", "grey"])[np.digitize(X[:, 0], [-0.7, 0, 0.7])]
    frame.loc[::7, "a"] = np.nan
    frame.loc[::11, "text"] = None
    forest = RandomForestClassifier(20, random_state=0).fit(frame, y)
    assert forest.score(frame, y) > 0.9
    assert "text" in [forest.feature_names_in_[i] for i in np.argsort(forest.feature_importances_)[-3:]]
    assert RandomForestRegressor(20, random_state=0).fit(frame, numbers).score(frame, numbers) > 0.8


def test_class_weights_multiply_over_outputs() -> None:
    X, y, _ = table()
    own = [{0: 1.0, 1: 3.0}, None, "balanced"]
    weights = np.where(y[:, 0] == 1, 3.0, 1.0)
    expected = RandomForestClassifier(5, random_state=0, class_weight=[None, None, "balanced"])
    expected.fit(X, y, sample_weight=weights)
    found = RandomForestClassifier(5, random_state=0, class_weight=own).fit(X, y)
    np.testing.assert_array_equal(found.forest_.nodes, expected.forest_.nodes)


# ---- what is said ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", CLASSIFIERS)
def test_every_output_says_what_an_ordinary_model_of_it_says(estimator: type[Any]) -> None:
    X, y, _ = table()
    forest = estimator(n_estimators=20, random_state=0).fit(X, y)
    assert forest.n_outputs_ == 3
    assert forest.n_classes_ == [2, 3, len(np.unique(y[:, 2]))]
    asked = ["predict_proba", "predict_log_proba", "predict_set", "predict_bounds"]
    for name in asked:
        for said, output in zip(getattr(forest, name)(X), forest.outputs_, strict=True):
            np.testing.assert_array_equal(said, getattr(output, name)(X))
    for number, output in enumerate(forest.outputs_):
        np.testing.assert_array_equal(forest.predict(X)[:, number], output.predict(X))
        np.testing.assert_array_equal(forest.classes_[number], output.classes_)
        for said, own in zip(forest.predict_uncertainty(X)[number], output.predict_uncertainty(X), strict=True):
            np.testing.assert_array_equal(said, own)
    labels, sets = forest.predict(X, return_set=True)
    np.testing.assert_array_equal(labels, forest.predict(X))
    for chosen, own in zip(sets, forest.predict_set(X), strict=True):
        np.testing.assert_array_equal(chosen, own)
    assert forest.score(X, y) == (forest.predict(X) == y).all(axis=1).mean()


def test_leaves_hold_the_rows_of_every_output() -> None:
    X, y, _ = table()
    forest = RandomForestClassifier(5, random_state=0).fit(X, y)
    for number, output in enumerate(forest.outputs_):
        for tree in range(5):
            np.testing.assert_array_equal(output.forest_.leaf_counts(tree).sum(axis=0), np.bincount(y[:, number]))


@pytest.mark.parametrize("estimator", REGRESSORS)
def test_every_output_of_numbers_says_what_an_ordinary_model_says(estimator: type[Any]) -> None:
    X, _, y = table()
    forest = estimator(n_estimators=30, bootstrap=True, random_state=0).fit(X, y)
    for number, output in enumerate(forest.outputs_):
        np.testing.assert_array_equal(forest.predict(X)[:, number], output.predict(X))
        np.testing.assert_array_equal(forest.predict_bounds(X)[number], output.predict_bounds(X))
        np.testing.assert_array_equal(forest.predict_interval(X)[number], output.predict_interval(X))
        np.testing.assert_array_equal(forest.predict_quantiles(X)[number], output.predict_quantiles(X))
    predicted, std = forest.predict(X, return_std=True)
    assert predicted.shape == std.shape == y.shape
    assert forest.score(X, y) == pytest.approx(r2_score(y, predicted))


def test_out_of_bag_figures_are_those_of_the_outputs() -> None:
    X, y, numbers = table(400)
    forest = RandomForestClassifier(60, oob_score=True, random_state=0).fit(X, y)
    probability = forest.oob_decision_function_
    said = np.column_stack([each.argmax(axis=1) for each in probability])
    assert forest.oob_score_ == pytest.approx((said == y).all(axis=1).mean())
    theirs = sklearn.ensemble.RandomForestClassifier(60, oob_score=True, random_state=0).fit(X, y[:, 0])
    assert abs(forest.outputs_[0].oob_score_ - theirs.oob_score_) < 0.06
    regressor = RandomForestRegressor(60, oob_score=True, random_state=0).fit(X, numbers)
    assert regressor.oob_prediction_.shape == numbers.shape
    assert regressor.oob_score_ == pytest.approx(r2_score(numbers, regressor.oob_prediction_))
    whole = RandomForestRegressor(60, oob_score=lambda y, said: y.shape[1] + said.shape[1], random_state=0)
    assert whole.fit(X, numbers).oob_score_ == 4


@pytest.mark.parametrize("given", [{"n_estimators": "auto"}, {"max_features": "oob"}, {"caution": "auto"}])
def test_what_is_chosen_out_of_bag_is_chosen_for_all_outputs(given: dict[str, Any]) -> None:
    X, y, numbers = table()
    assert RandomForestClassifier(random_state=0, **given).fit(X, y).score(X, y) > 0.9
    if "caution" not in given:
        assert RandomForestRegressor(random_state=0, **given).fit(X, numbers).score(X, numbers) > 0.8


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, np.ndarray.tolist, lambda y: y.astype(str)])
def test_columns_come_as_frames_lists_and_text(make: Callable[[Any], Any]) -> None:
    X, y, _ = table()
    forest = RandomForestClassifier(5, random_state=0).fit(X, y[:, :2])
    other = RandomForestClassifier(5, random_state=0).fit(X, make(y[:, :2]))
    np.testing.assert_array_equal(forest.predict(X).astype(str), other.predict(X).astype(str))
    assert forest.score(X, y[:, :2]) == other.score(X, make(y[:, :2]))


def test_text_may_stand_beside_numbers() -> None:
    X, y, _ = table()
    frame = pd.DataFrame({"number": y[:, 0], "word": np.array(["a", "b", "c"])[y[:, 1]]})
    said = RandomForestClassifier(20, random_state=0).fit(X, frame).predict(X)
    assert (said[:, 0] == frame["number"]).mean() > 0.9
    assert (said[:, 1] == frame["word"]).mean() > 0.9


# ---- what a model goes through --------------------------------------------------------------------------


def both() -> list[tuple[Any, Any, Any]]:
    """A classifier and a regressor, with their table and target."""
    X, y, numbers = table()
    return [
        (RandomForestClassifier(12, oob_score=True, caution="auto", random_state=3), X, y),
        (RandomForestRegressor(12, oob_score=True, random_state=3), X, numbers),
    ]


def answers(model: Any, X: Any) -> list[np.ndarray]:
    """What a model says about its table and about out-of-bag rows."""
    outside = np.array([model.oob_score_])
    return [model.predict(X), *model.predict_bounds(X), model.feature_importances_, outside]


@pytest.mark.parametrize("number", [0, 1])
def test_files_and_pickles_answer_with_the_same_bits(number: int, tmp_path: Path) -> None:
    model, X, y = both()[number]
    model.fit(X, y)
    file = io.BytesIO()
    hedgerow.save(model, file)
    file.seek(0)
    hedgerow.save(model, tmp_path / "model.hedge")
    copies = [hedgerow.load(file), hedgerow.load(tmp_path / "model.hedge"), pickle.loads(pickle.dumps(model))]
    for copied in copies:
        assert copied.n_outputs_ == model.n_outputs_
        for said, expected in zip(answers(copied, X), answers(model, X), strict=True):
            np.testing.assert_array_equal(said, expected)
    again = io.BytesIO()
    hedgerow.save(copies[0], again)
    assert again.getvalue() == file.getvalue()


@pytest.mark.parametrize("number", [0, 1])
def test_a_file_holds_what_outputs_share_once(number: int) -> None:
    model, X, y = both()[number]
    sizes = []
    for target in (y, y[:, 0]):
        file = io.BytesIO()
        hedgerow.save(clone(model).set_params(oob_score=False).fit(X, target), file)
        sizes.append(len(file.getvalue()))
    leaves = sum(array.nbytes for array in model.fit(X, y).forest_.evidence.arrays().values())
    assert sizes[0] < sizes[1] + leaves + 60_000


@pytest.mark.parametrize("number", [0, 1])
def test_more_trees_threads_and_checkpoints_change_no_bit(number: int, tmp_path: Path) -> None:
    model, X, y = both()[number]
    expected = answers(clone(model).fit(X, y), X)
    warm = clone(model).set_params(n_estimators=5, warm_start=True).fit(X, y)
    grown = clone(model).set_params(n_estimators=5).fit(X, y).grow_more(7)
    for found in (
        warm.set_params(n_estimators=12).fit(X, y),
        grown,
        clone(model).set_params(n_jobs=2).fit(X, y),
        clone(model).fit(X, y, checkpoint=tmp_path / "trees"),
        clone(model).fit(X, y, checkpoint=tmp_path / "trees"),
    ):
        for said, known in zip(answers(found, X), expected, strict=True):
            np.testing.assert_array_equal(said, known)


def test_branches_are_pruned_for_all_outputs_together() -> None:
    X, y, numbers = table()
    options: dict[str, Any] = {"ccp_alpha": 0.01, "min_samples_leaf": 15, "random_state": 0}
    ours = DecisionTreeClassifier(**options).fit(X, y)
    theirs = sklearn.tree.DecisionTreeClassifier(**options).fit(X, y)
    assert 1 < ours.trees_[0].n_leaves < DecisionTreeClassifier(min_samples_leaf=15).fit(X, y).trees_[0].n_leaves
    assert same_parts(ours.apply(X), theirs.apply(X))
    whole = DecisionTreeRegressor(random_state=0).fit(X, numbers)
    pruned = DecisionTreeRegressor(ccp_alpha=30.0, random_state=0).fit(X, numbers)
    assert pruned.trees_[0].n_leaves < whole.trees_[0].n_leaves


def test_an_output_can_be_asked_everything() -> None:
    X, y, _ = table()
    forest = RandomForestClassifier(20, calibration=None, random_state=0).fit(X, y)
    output = forest.outputs_[1]
    assert "class" in output.explain(X[:1])[0].to_text() or output.explain(X[:1])[0].sentence
    assert "<html" in output.report(X[:5], y[:5, 1]).html
    assert output.oob_errors_.out_of_bag > 0
    np.testing.assert_allclose(output.to_sklearn().predict_proba(X), output.predict_proba(X), atol=1e-6)


def test_the_command_line_describes_a_model_and_asks_for_one_output(tmp_path: Path, capsys: Any) -> None:
    X, y, _ = table()
    path = tmp_path / "model.hedge"
    hedgerow.save(RandomForestClassifier(3, random_state=0).fit(X, y), path)
    assert describe_file(path).n_outputs == 3
    inspect(FileOptions(model=str(path), as_json=True))
    assert json.loads(capsys.readouterr().out)["outputs"] == 3
    with pytest.raises(UsageError, match="does not support multi-output models, got 3 outputs"):
        read_model(str(path))


# ---- what is refused ------------------------------------------------------------------------------------


def test_what_needs_one_output_says_so() -> None:
    X, y, numbers = table()
    forest = RandomForestClassifier(5, random_state=0).fit(X, y)
    regressor = RandomForestRegressor(5, random_state=0).fit(X, numbers)
    for ask in (
        lambda: forest.explain(X[:1]),
        lambda: forest.report(X[:2]),
        lambda: forest.drift(X),
        lambda: forest.partial_fit(X, y),
        lambda: regressor.partial_fit(X, numbers),
        lambda: forest.to_sklearn(),
        lambda: hedgerow.merge(forest, forest),
        lambda: hedgerow.explain.shap_values(forest, X[:2]),
    ):
        with pytest.raises(ValueError, match=r"(one output|multi-output).*outputs_"):
            ask()
    with pytest.raises(AttributeError, match="outputs_"):
        _ = forest.oob_evidence_
    with pytest.raises(AttributeError, match="outputs_"):
        forest.tune()


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (RandomForestClassifier(criterion="belief"), "criterion must be 'gini' or 'entropy'"),
        (RandomForestClassifier(monotonic_cst=[1, 0, 0, 0, 0]), "monotonic_cst must be None"),
        (RandomForestClassifier(class_weight={0: 2.0}), "class_weight must be"),
        (RandomForestClassifier(class_weight=["balanced"]), "one entry for each of 3 outputs"),
        (hedgerow.PairwiseTreesClassifier(), "1d array"),
    ],
)
def test_what_several_outputs_cannot_have_is_refused(model: Any, reason: str) -> None:
    X, y, _ = table()
    with pytest.raises(ValueError, match=reason):
        model.fit(X, y)


def test_a_warm_start_keeps_its_outputs() -> None:
    X, y, _ = table()
    forest = RandomForestClassifier(5, warm_start=True, random_state=0).fit(X, y)
    forest.set_params(n_estimators=6)
    with pytest.raises(ValueError, match="3 outputs of the first fit"):
        forest.fit(X, y[:, :2])
    with pytest.raises(ValueError, match="3 outputs of the first fit"):
        forest.fit(X, y[:, 0])


def test_rows_of_different_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="same number of outputs"):
        RandomForestClassifier(2).fit([[0.0], [1.0]], [[0, 1], [1]])


def same_parts(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two numberings of leaves (n,) put the same rows together."""
    pairs = {(int(a), int(b)) for a, b in zip(one, other, strict=True)}
    return len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})
