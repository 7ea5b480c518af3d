"""The table of parameters: what a class declares becomes its signature, its docstring and its checks."""

from __future__ import annotations

import copy
import inspect
import pickle
import re
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import hedgerow
from hedgerow.fit.fields import MISSING, estimator, parameter, parameters_of
from hedgerow.fit.parameters import Parameters, check_parameters, resolve_settings

NAMES = (
    "DecisionTreeClassifier",
    "RandomForestClassifier",
    "ExtraTreesClassifier",
    "RandomDecisionTreesClassifier",
    "PairwiseTreesClassifier",
    "DecisionTreeRegressor",
    "RandomForestRegressor",
    "ExtraTreesRegressor",
    "RandomTreesEmbedding",
    "UnsupervisedForest",
)
KINDS = [getattr(hedgerow, name) for name in NAMES]
#: Parameters that are checked against the table, the labels or by scikit-learn.
CHECKED_LATER = {"class_weight", "monotonic_cst", "categorical_features", "random_state", "feature_weights"}
X = np.random.default_rng(0).normal(size=(60, 3))
Y = (X[:, 0] > 0).astype(int)


@pytest.mark.parametrize("kind", KINDS)
def test_a_signature_is_in_the_order_of_the_table(kind: Any) -> None:
    names = list(inspect.signature(kind).parameters)
    assert names == [name for name in Parameters._parameters if name in names]
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
    made = kind()
    assert vars(made) == {name: row.default for name, row in parameters_of(kind).items()}
    assert all(vars(made)[name] is row.default for name, row in parameters_of(kind).items())
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
    for name, row in Parameters._parameters.items():
        if row.default is MISSING:
            assert not hasattr(Parameters, name)
        else:
            row.check(name, row.default)


def test_every_parameter_is_checked_somewhere() -> None:
    for name, row in Parameters._parameters.items():
        if name not in CHECKED_LATER:
            with pytest.raises((ValueError, TypeError), match=f"{name} must be .*, got"):
                row.check(name, {"no": "value"} if name != "oob_score" else 3)


def test_a_fitted_model_is_no_dataclass() -> None:
    """Dask tells dataclasses apart by their fields, and these models differ in what they were fitted to."""
    tokenize = pytest.importorskip("dask.base").tokenize
    first, second = (hedgerow.RandomForestClassifier(3, random_state=0).fit(X, y) for y in (Y, 1 - Y))
    assert not is_dataclass(first)
    assert tokenize(first) != tokenize(second)


def test_a_class_changes_a_default_or_drops_a_parameter_in_one_line() -> None:
    @estimator
    class Stumps(hedgerow.RandomForestClassifier):
        """Trees of one question.

        Parameters
        ----------
        {parameters}
        """

        max_depth: int | None = 1
        n_estimators: Any = parameter(default=20, kw_only=False, about="Number of stumps.")
        max_leaf_nodes: int | None = parameter(default=None, init=False)

    stumps = Stumps(7, random_state=0)
    assert clone(stumps).get_params() == stumps.get_params()
    assert "max_leaf_nodes" not in stumps.get_params()
    assert repr(stumps) == "Stumps(n_estimators=7, random_state=0)"
    assert 'n_estimators : int or "auto", default=20\n        Number of stumps.' in Stumps.__doc__
    assert "max_leaf_nodes" not in Stumps.__doc__
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
    with pytest.raises(TypeError, match="max_height must be one of the parameters n_estimators, rule"):

        @estimator
        class _Tall(hedgerow.RandomForestClassifier):
            max_height: int = 3


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


def test_a_parameter_is_named_in_few_files() -> None:
    package = Path(hedgerow.__file__).parent
    named = [path for path in package.rglob("*.py") if re.search(r"\bmax_leaf_nodes\b", path.read_text("utf-8"))]
    assert len(named) <= 5, named
