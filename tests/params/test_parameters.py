"""The table of parameters agrees with constructors and docstrings; values are checked and resolved by it."""

from __future__ import annotations

import copy
import inspect
import pickle
from dataclasses import FrozenInstanceError, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import hedgerow
from hedgerow.decisions import Hurwicz
from hedgerow.inference.predictor import key_of
from hedgerow.params.checks import check_parameters, parameters_of
from hedgerow.params.resolve import resolve_settings
from hedgerow.params.table import PARAMETERS, Params, TreeEstimator, rows_of, with_parameters_described
from hedgerow.rules import Laplace

NAMES = (
    "DecisionTreeClassifier",
    "ExtraTreeClassifier",
    "RandomForestClassifier",
    "ExtraTreesClassifier",
    "RandomDecisionTreesClassifier",
    "PairwiseTreesClassifier",
    "DecisionTreeRegressor",
    "ExtraTreeRegressor",
    "RandomForestRegressor",
    "ExtraTreesRegressor",
    "RandomTreesEmbedding",
    "UnsupervisedForest",
)
KINDS = [getattr(hedgerow, name) for name in NAMES]
#: Parameters that are checked against the table, the labels or by scikit-learn.
CHECKED_LATER = {"class_weight", "monotonic_cst", "categorical_features", "random_state", "feature_weights"}
SIGNATURES = Path(__file__).parents[1] / "golden" / "signatures.txt"
X = np.random.default_rng(0).normal(size=(60, 3))
Y = (X[:, 0] > 0).astype(int)


def test_signatures_are_as_they_were() -> None:
    """Model files, pipelines and searches name parameters: a change here is a change for users."""
    found = [f"{name}{signature_of(kind)}" for name, kind in zip(NAMES, KINDS, strict=True)]
    assert found == SIGNATURES.read_text(encoding="utf-8").splitlines()


def signature_of(kind: Any) -> str:
    """The names and defaults of a constructor, without annotations."""
    signature = inspect.signature(kind)
    plain = [each.replace(annotation=inspect.Parameter.empty) for each in signature.parameters.values()]
    return str(inspect.Signature(plain))


@pytest.mark.parametrize("kind", KINDS)
def test_a_signature_is_in_the_order_of_the_table(kind: Any) -> None:
    names = list(inspect.signature(kind).parameters)
    assert names == [name for name in PARAMETERS if name in names]
    assert names == list(parameters_of(kind))
    assert sorted(names) == kind._get_param_names()
    positional = [
        each.name
        for each in inspect.signature(kind).parameters.values()
        if each.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    ]
    assert positional == (["n_estimators"] if "n_estimators" in names else [])


@pytest.mark.parametrize("kind", KINDS)
def test_defaults_are_set_as_they_are_and_pass_their_checks(kind: Any) -> None:
    made, given = kind(), inspect.signature(kind).parameters
    assert list(vars(made)) == list(given)
    assert all(vars(made)[name] is each.default for name, each in given.items())
    check_parameters(made)


@pytest.mark.parametrize("kind", KINDS)
def test_a_docstring_describes_each_parameter_once(kind: Any) -> None:
    for name, row in parameters_of(kind).items():
        assert row.kind
        assert row.about
        assert kind.__doc__.count(f"\n    {name} : {row.kind}, default=") == 1
    assert "{" not in kind.__doc__.split("Attributes")[0].replace('{"', "")


@pytest.mark.parametrize("kind", KINDS)
def test_wrong_calls_are_type_errors_in_the_words_of_python(kind: Any) -> None:
    with pytest.raises(TypeError, match=rf"{kind.__name__}.__init__\(\) got an unexpected keyword argument 'n_trees'"):
        kind(n_trees=3)
    with pytest.raises(TypeError, match="positional argument"):
        kind(3, "average")


def test_extremely_randomised_trees_differ_in_the_bootstrap_alone() -> None:
    for what in ("Classifier", "Regressor"):
        usual = getattr(hedgerow, f"RandomForest{what}")().get_params()
        assert getattr(hedgerow, f"ExtraTrees{what}")().get_params() == usual | {"bootstrap": False}


def test_what_an_estimator_does_not_take_has_a_value_that_changes_nothing() -> None:
    tree = hedgerow.DecisionTreeClassifier()
    assert (tree.n_jobs, tree.bootstrap, tree.warm_start, tree.oob_score, tree.verbose) == (
        None,
        False,
        False,
        False,
        0,
    )
    for name in set(PARAMETERS) & set(vars(TreeEstimator)):
        PARAMETERS[name].check(name, getattr(TreeEstimator, name))


def test_every_parameter_is_checked_somewhere() -> None:
    for name, row in PARAMETERS.items():
        if name not in CHECKED_LATER:
            with pytest.raises((ValueError, TypeError), match=f"{name} must be .*, got"):
                row.check(name, {"no": "value"} if name != "oob_score" else 3)


def test_a_fitted_model_is_no_dataclass() -> None:
    """Dask tells dataclasses apart by their fields, and these models differ in what they were fitted to."""
    tokenize = pytest.importorskip("dask.base").tokenize
    first, second = (hedgerow.RandomForestClassifier(3, random_state=0).fit(X, y) for y in (Y, 1 - Y))
    assert not is_dataclass(first)
    assert tokenize(first) != tokenize(second)


def test_a_class_changes_a_default_or_drops_a_parameter() -> None:
    @with_parameters_described
    class Stumps(hedgerow.RandomForestClassifier):
        """Trees of one question.

        Parameters
        ----------
        {parameters}
        """

        _parameters = rows_of(
            "n_estimators",
            "max_depth",
            "random_state",
            variants={"n_estimators": replace(PARAMETERS["n_estimators"], about="Number of stumps.")},
        )

        def __init__(self, n_estimators: Any = 20, *, max_depth: int | None = 1, random_state: Any = None) -> None:
            super().__init__(n_estimators, max_depth=max_depth, random_state=random_state)

    stumps = Stumps(7, random_state=0)
    assert clone(stumps).get_params() == stumps.get_params()
    assert "max_leaf_nodes" not in stumps.get_params()
    assert repr(stumps) == "Stumps(n_estimators=7, random_state=0)"
    assert 'n_estimators : int or "auto", default=20\n        Number of stumps.' in str(Stumps.__doc__)
    assert "max_leaf_nodes" not in str(Stumps.__doc__)
    assert stumps.fit(X, Y).forest_.n_trees == 7
    assert stumps.forest_.depth.max() == 1
    assert hedgerow.RandomForestClassifier().max_depth is None
    with pytest.raises(TypeError, match="'max_leaf_nodes'"):
        Stumps(max_leaf_nodes=3)
    with pytest.raises(ValueError, match="max_depth must be an int >= 1 or None, got 0"):
        Stumps(max_depth=0).fit(X, Y)


def test_a_subclass_that_writes_its_own_signature_keeps_the_rest() -> None:
    class Loud(hedgerow.RandomForestClassifier):
        def __init__(self, n_estimators: Any = 5, *, random_state: Any = None, tone: str = "low") -> None:
            super().__init__(n_estimators, random_state=random_state)
            self.tone = tone

    loud = clone(Loud(random_state=0, tone="high")).fit(X, Y)
    assert loud.get_params() == {"n_estimators": 5, "random_state": 0, "tone": "high"}
    assert np.array_equal(
        loud.predict_proba(X), hedgerow.RandomForestClassifier(5, random_state=0).fit(X, Y).predict_proba(X)
    )


def test_a_name_that_is_not_in_the_table_is_refused() -> None:
    with pytest.raises(TypeError, match=r"parameters of the table \(n_estimators, rule, .*, got 'max_height'"):
        rows_of("n_estimators", "max_height")


@pytest.mark.parametrize("kind", KINDS)
def test_copies_keep_parameters(kind: Any) -> None:
    made = kind(max_depth=3, random_state=1)
    for again in (clone(made), copy.copy(made), copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert again.get_params() == made.get_params()


@pytest.mark.parametrize(
    ("given", "settled"),
    [
        ({"max_depth": None, "max_leaf_nodes": None}, {"max_depth": 2**32 - 1, "max_leaf_nodes": 0}),
        ({"max_depth": 10**15, "max_leaf_nodes": 7}, {"max_depth": 2**32 - 1, "max_leaf_nodes": 7}),
        ({"min_samples_split": 0.001, "min_samples_leaf": 0.011}, {"min_samples_split": 2, "min_samples_leaf": 2}),
        ({"min_samples_split": 1.0, "min_samples_leaf": 3}, {"min_samples_split": 100, "min_samples_leaf": 3}),
        ({"max_features": "sqrt"}, {"max_features": 3}),
        ({"max_features": "log2"}, {"max_features": 3}),
        ({"max_features": None}, {"max_features": 9}),
        ({"max_features": 0.5}, {"max_features": 4}),
        ({"max_features": 0.01}, {"max_features": 1}),
        ({"max_features": 99}, {"max_features": 9}),
        ({"max_features": "oob"}, {"max_features": 0}),
        ({"max_samples": 0.5}, {"bag_mean": 0.5}),
        ({"max_samples": 25}, {"bag_mean": 0.25}),
        ({"max_samples": 0.0001}, {"bag_mean": 0.01}),
        ({"bootstrap": False}, {"bag_mean": 0.0}),
        ({"monotonic_cst": [0] * 9}, {"monotonic": None}),
        ({"monotonic_cst": [1] + [0] * 8}, {"monotonic": [1] + [0] * 8}),
    ],
)
def test_words_and_shares_become_numbers(given: dict[str, Any], settled: dict[str, Any]) -> None:
    settings = resolve_settings(hedgerow.RandomForestClassifier(**given), 100, 9, None, 2)
    assert {name: getattr(settings, name) for name in settled} == settled


# ---- a snapshot ------------------------------------------------------------------------------------


def test_a_snapshot_has_a_field_for_each_parameter() -> None:
    assert {field.name for field in fields(Params)} == set(PARAMETERS)


@pytest.mark.parametrize("kind", KINDS)
def test_a_snapshot_has_the_values_of_the_estimator_at_that_moment(kind: Any) -> None:
    made = kind(max_depth=3, random_state=1)
    before, given = Params.of(made), made.get_params(deep=False)
    made.set_params(max_depth=4)
    assert {name: getattr(before, name) for name in given} == given
    assert Params.of(made) == replace(before, max_depth=4)
    with pytest.raises(FrozenInstanceError):
        before.max_depth = 5  # type: ignore[misc]


def test_what_a_class_does_not_take_is_its_class_attribute_or_none() -> None:
    tree = Params.of(hedgerow.DecisionTreeRegressor())
    assert (tree.bootstrap, tree.n_jobs, tree.calibration, tree.splitter) == (False, None, None, "best")
    assert (tree.rule, tree.decision, tree.n_estimators, tree.sparse_output) == (None, None, None, None)
    assert Params.of(hedgerow.ExtraTreesClassifier()).splitter == "random"
    assert Params.of(hedgerow.UnsupervisedForest()).bootstrap is True


def test_a_key_tells_apart_what_predictions_depend_on() -> None:
    def key(**given: Any) -> Any:
        return key_of(hedgerow.RandomForestClassifier(**given))

    plain = key()
    assert hash(plain) == hash(key())
    assert plain == key(max_depth=3)
    changes: list[dict[str, Any]] = [
        {"rule": "vote"},
        {"caution": 2.0},
        {"caution": "auto"},
        {"decision": "maximin"},
        {"calibration": None},
        {"novelty": 0.01},
        {"n_jobs": 2},
        {"immutable_features": ["age"]},
    ]
    assert len({key(**change) for change in changes} | {plain}) == len(changes) + 1


@pytest.mark.parametrize(
    "given", [{"rule": Laplace()}, {"decision": Hurwicz()}, {"caution": np.float64(1)}, {"caution": np.array(1.0)}]
)
def test_objects_that_can_change_have_no_key(given: dict[str, Any]) -> None:
    assert key_of(hedgerow.RandomForestClassifier(**given)) is None
