"""Mixed forests: each tree is that of a forest of its kind, and everything else works as in other forests."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris, load_wine

from hedgerow import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    MixedForestClassifier,
    MixedForestRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    export_code,
    load,
    merge,
    save,
)
from hedgerow.decisions import Coverage, Risk
from hedgerow.explain import shap_values
from hedgerow.params.resolve import resolve_settings

N_KINDS = 3


def arrays_of(model, number):
    """The arrays of one tree: nodes, and the evidence of leaves."""
    tree = model.trees_[number]
    evidence = tree.leaf_evidence.arrays()
    return {"bits": tree.nodes.bits, "payload": tree.nodes.payload} | evidence


@pytest.mark.parametrize(
    ("mixed", "best", "extra", "data", "some"),
    [
        (MixedForestClassifier, RandomForestClassifier, ExtraTreesClassifier, load_wine, "sqrt"),
        (MixedForestRegressor, RandomForestRegressor, ExtraTreesRegressor, load_diabetes, 0.4),
    ],
)
def test_trees_are_those_of_forests_of_their_kind(mixed, best, extra, data, some):
    X, y = data(return_X_y=True)
    given = {"n_estimators": 9, "bootstrap": True, "random_state": 3}
    forest = mixed(max_features=some, **given).fit(X, y)
    kinds = [
        best(max_features=some, **given).fit(X, y),
        extra(max_features=None, **given).fit(X, y),
        extra(max_features=some, **given).fit(X, y),
    ]
    for number in range(9):
        expected, found = arrays_of(kinds[number % N_KINDS], number), arrays_of(forest, number)
        assert expected.keys() == found.keys()
        for name, array in expected.items():
            np.testing.assert_array_equal(found[name], array, err_msg=f"{name} of tree {number}")


@pytest.mark.parametrize("make", [MixedForestClassifier, MixedForestRegressor])
def test_threads_and_warm_starts_change_nothing(make):
    X, y = load_iris(return_X_y=True)
    whole = make(20, random_state=0).fit(X, y)
    threads = make(20, n_jobs=3, random_state=0).fit(X, y)
    warm = make(7, warm_start=True, random_state=0).fit(X, y)
    warm.set_params(n_estimators=20).fit(X, y)
    for other in (threads, warm):
        for name, array in whole.forest_.arrays().items():
            np.testing.assert_array_equal(other.forest_.arrays()[name], array)
        np.testing.assert_array_equal(other.predict(X), whole.predict(X))


def test_a_classifier_is_calibrated_saved_and_updated_like_other_forests(tmp_path):
    X, y = load_wine(return_X_y=True)
    forest = MixedForestClassifier(60, oob_score=True, random_state=0).fit(X, y)
    assert not forest.calibration_.why
    assert forest.oob_score_ > 0.9
    save(forest, tmp_path / "model.hedge")
    loaded = load(tmp_path / "model.hedge")
    assert type(loaded) is MixedForestClassifier
    np.testing.assert_array_equal(loaded.predict_bounds(X), forest.predict_bounds(X))
    for decision in (Coverage(0.9), Risk(0.2, 0.9)):
        assert forest.set_params(decision=decision).predict_set(X).any(axis=1).all()
    forest.set_params(decision="auto").partial_fit(X[:20], y[:20])
    assert merge(loaded, load(tmp_path / "model.hedge")).forest_.n_trees == 120


def test_shap_values_and_exports_agree_with_the_forest():
    X, y = load_iris(return_X_y=True)
    forest = MixedForestClassifier(30, random_state=0).fit(X, y)
    found = shap_values(forest, X[:5])
    np.testing.assert_allclose(found.values.sum(axis=1) + found.base, forest.predict_proba(X[:5]), atol=1e-6)
    program: dict = {}
    exec(export_code(forest), program)
    label, *_ = forest.predict(X[:1])
    assert program["tree_predict"](X[0].tolist()) == label


def test_a_cluster_needs_trees_of_one_kind():
    assert resolve_settings(MixedForestClassifier(), 150, 4, None, 3).needs_all_rows is not None
    assert resolve_settings(RandomForestClassifier(), 150, 4, None, 3).needs_all_rows is None
