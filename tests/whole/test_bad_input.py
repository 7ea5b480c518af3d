"""Bad input gets one clear error, and nothing is half-fitted; what is being fitted can be stopped."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import textwrap
import time
from copy import copy
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import hedgerow
from hedgerow import (
    DecisionTreeClassifier,
    ExtraTreesClassifier,
    RandomDecisionTreesClassifier,
    RandomForestClassifier,
)

TREE = DecisionTreeClassifier()
FOREST = RandomForestClassifier(3, random_state=0)
EXTRA = ExtraTreesClassifier(3, random_state=0)
RANDOM = RandomDecisionTreesClassifier(3, random_state=0)
ALL = [TREE, FOREST, EXTRA, RANDOM]

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
Y = RNG.integers(0, 2, 40)
ONES = np.ones(40)


def state_of(estimator: Any) -> dict[str, Any]:
    return dict(vars(estimator))


def assert_refuses(estimator: Any, error: Any, words: str, *arguments: Any) -> None:
    """The fit raises this error with these words; neither an unfitted nor a fitted estimator changes."""
    fresh = clone(estimator)
    before = state_of(fresh)
    with pytest.raises(error, match=words):
        fresh.fit(*arguments)
    assert state_of(fresh) == before
    with pytest.raises(NotFittedError):
        fresh.predict(X)
    fitted = clone(estimator).set_params(**valid_parameters(estimator)).fit(X, Y)
    said = fitted.predict_proba(X)
    fitted.set_params(**estimator.get_params())
    held = state_of(fitted)
    with pytest.raises(error, match=words):
        fitted.fit(*arguments)
    assert state_of(fitted).keys() == held.keys()
    assert all(state_of(fitted)[name] is held[name] for name in held)
    assert np.array_equal(fitted.predict_proba(X), said)


def valid_parameters(estimator: Any) -> dict[str, Any]:
    """The defaults, with which the first fit of a refit succeeds."""
    few = {"n_estimators": 3} if hasattr(estimator, "n_estimators") else {}
    return {**type(estimator)().get_params(), "random_state": 0, **few}


COMPRESSED = (sparse.csr_array, sparse.csc_array, sparse.csr_matrix, sparse.bsr_array)


# ---- tables -------------------------------------------------------------------------------------------------

TABLES = {
    "no rows": (np.empty((0, 3)), ValueError, "0 sample"),
    "no columns": (np.empty((40, 0)), ValueError, "0 feature"),
    "one-dimensional": (np.arange(40.0), ValueError, "Expected 2D array, got 1D"),
    "three-dimensional": (np.zeros((40, 3, 2)), ValueError, "dim 3|3D"),
    "a number": (np.float64(3.0), ValueError, "Expected 2D array, got scalar"),
    "nothing": (None, ValueError, "2D array|None"),
    "complex": (X + 1j, ValueError, "[Cc]omplex"),
    "dates": (np.full((40, 3), np.datetime64("2020-01-01")), ValueError, "dates"),
    "text among numbers": (np.where(np.eye(40, 3), "a", X.astype(object)), ValueError, "numeric"),
    "other length": (X[:39], ValueError, "inconsistent numbers of samples"),
    "sparse, no rows": (sparse.csr_array((0, 3)), ValueError, "0 sample"),
    "a dictionary": ({"a": [1.0]}, (ValueError, TypeError), "."),
}


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("estimator", ALL, ids=lambda estimator: type(estimator).__name__)
def test_what_is_no_table_is_refused(estimator: Any, kind: str) -> None:
    table, error, words = TABLES[kind]
    assert_refuses(estimator, error, words, table, Y)


def broken(make: Any, part: str, at: int | slice, value: Any) -> Any:
    """A sparse table of some format, one of whose parts is not as it should be."""
    table = make(np.where(np.abs(X) < 1, 0.0, X).repeat(2, axis=1))
    if isinstance(at, slice):
        setattr(table, part, getattr(table, part)[at])
    else:
        getattr(table, part)[at] = value
    return table


SPARSE = {
    f"{make.__name__}, {part}[{at}] = {value}": (make, part, at, value)
    for make, part, at, value in [
        *((make, "indices", 1, far) for make in COMPRESSED for far in (1_000_000, -50)),
        *((make, "indptr", at, 10**7) for make in COMPRESSED for at in (2, -1)),
        *((make, "indptr", 1, -3) for make in COMPRESSED),
        *((make, "indptr", 0, 2) for make in COMPRESSED),
        *((make, part, slice(3), None) for make in COMPRESSED for part in ("indices", "data", "indptr")),
        *((sparse.coo_array, part, 1, far) for part in ("row", "col") for far in (1_000_000, -50)),
        (sparse.dia_array, "offsets", slice(1), None),
    ]
}


@pytest.mark.parametrize("kind", SPARSE)
def test_sparse_tables_whose_parts_do_not_fit_are_refused(kind: str) -> None:
    """SciPy would read and write outside its arrays."""
    assert_refuses(FOREST, ValueError, "A sparse X must have one index within its shape", broken(*SPARSE[kind]), Y)
    with pytest.raises(ValueError, match="index within its shape"):
        clone(FOREST).fit(X.repeat(2, axis=1), Y).predict(broken(*SPARSE[kind]))


def test_lists_of_rows_must_have_an_index_for_each_number() -> None:
    for spoil in (lambda table: table.rows[3].append(1), lambda table: table.rows[3].__setitem__(0, 99)):
        table = sparse.lil_array(X)
        spoil(table)
        assert_refuses(FOREST, ValueError, "A sparse X must have", table, Y)


@pytest.mark.parametrize("form", ["csr", "csc", "bsr", "coo", "dia", "lil", "dok"])
def test_sparse_tables_of_every_format_are_read(form: str) -> None:
    table = sparse.csr_array(np.where(np.abs(X) < 1, 0.0, X)).asformat(form)
    assert np.array_equal(
        clone(FOREST).fit(table, Y).predict_proba(X), clone(FOREST).fit(table.toarray(), Y).predict_proba(X)
    )


def test_a_million_categories_are_refused() -> None:
    column = np.arange(1_000_000).astype(float)[:, None]
    model = RandomForestClassifier(3, categorical_features=[0])
    with pytest.raises(ValueError, match=r"at most 65,534 categories, got 1,000,000"):
        model.fit(column, np.arange(1_000_000) % 2)
    assert not hasattr(model, "forest_")


HUGE_TABLE = """
    import resource
    resource.setrlimit(resource.RLIMIT_AS, (2**31, 2**31))
    import numpy as np, hedgerow
    X, y = np.broadcast_to(np.float32(1), (2**31, 1)), np.broadcast_to(np.int8(1), 2**31)
    for name in ("DecisionTree", "RandomForest", "ExtraTrees", "RandomDecisionTrees"):
        model = getattr(hedgerow, name + "Classifier")()
        try:
            model.fit(X, y)
        except ValueError as error:
            print(name, hasattr(model, "forest_"), error)
"""


@pytest.mark.skipif(os.name != "posix", reason="limits the memory of another process")
def test_two_to_the_31_rows_are_refused_before_anything_is_allocated() -> None:
    """The arrays are views of one cell; a copy of a single byte per row would not fit the limit."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(HUGE_TABLE)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
    )
    lines = done.stdout.splitlines()
    assert len(lines) == 4, done.stderr[-500:]
    assert all("False" in line and "rows" in line for line in lines)


def test_predicting_refuses_what_does_not_fit() -> None:
    model = clone(FOREST).fit(X, Y)
    for table, words in ((X[:, :2], "features"), (X[0], "2D"), (np.empty((0, 3)), "0 sample")):
        for ask in (model.predict, model.predict_proba, model.apply, model.decision_path):
            with pytest.raises(ValueError, match=words):
                ask(table)


# ---- labels and weights -------------------------------------------------------------------------------------

LABELS = {
    "none": (None, ValueError, "requires y|y is None"),
    "continuous": (X[:, 0], ValueError, "continuous"),
    "NaN": (np.where(Y == 1, 1.0, np.nan), ValueError, "NaN"),
    "None among words": (np.array(["a", None] * 20, dtype=object), ValueError, "missing"),
    "NaN among words": (np.array(["a", np.nan] * 20, dtype=object), ValueError, "missing"),
    "NA among words": (pd.Series(["a", pd.NA] * 20, dtype="string"), ValueError, "missing"),
    "NA among numbers": (pd.Series([1, pd.NA] * 20, dtype="Int64"), ValueError, "missing|NaN"),
    "no category": (pd.Series(["a", None] * 20, dtype="category"), ValueError, "missing"),
    "NaN in a list of words": (["a", np.nan] * 20, ValueError, "missing"),
    "numbers and words in a list": ([1, "a"] * 20, ValueError, "one type"),
    "numbers and words in an array": (np.array([1, "a"] * 20, dtype=object), ValueError, "one type"),
    "masked": (np.ma.masked_array(Y, mask=Y == 1), ValueError, "masked"),
    "infinite": (np.where(Y == 1, 1.0, np.inf), ValueError, "infinity"),
    "too few": (Y[:39], ValueError, "inconsistent numbers of samples"),
    "three axes": (np.zeros((40, 2, 2)), ValueError, "one or two dimensions"),
    "empty": (Y[:0], ValueError, "."),
}


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("estimator", [TREE, FOREST, RANDOM], ids=lambda estimator: type(estimator).__name__)
def test_what_are_no_labels_is_refused(estimator: Any, kind: str) -> None:
    labels, error, words = LABELS[kind]
    assert_refuses(estimator, error, words, X, labels)


@pytest.mark.parametrize("dtype", ["Int64", "UInt64", "boolean", "int64[pyarrow]", "bool[pyarrow]"])
def test_nullable_labels_keep_their_kind_and_all_their_digits(dtype: str) -> None:
    plain = Y.astype(bool) if "bool" in dtype else Y.astype(np.int64) + 2**53
    model = clone(FOREST).fit(X, pd.Series(plain).astype(dtype))
    assert model.classes_.tolist() == np.unique(plain).tolist()
    assert model.classes_.dtype.kind == ("u" if dtype == "UInt64" else plain.dtype.kind)
    assert np.array_equal(model.predict(X), clone(FOREST).fit(X, plain).predict(X))


@pytest.mark.parametrize("labels", [Y.astype(int), Y.astype(bool)], ids=["int", "bool"])
def test_labels_of_one_kind_may_come_as_objects(labels: Any) -> None:
    model = clone(FOREST).fit(X, labels.astype(object))
    assert model.classes_.dtype == labels.dtype
    assert model.score(X, labels.astype(object)) == model.score(X, labels)
    assert np.array_equal(model.predict(X), clone(FOREST).fit(X, labels).predict(X))


def test_labels_of_a_masked_array_without_gaps_and_of_numpys_text_are_labels() -> None:
    words = np.array(["no", "yes"])[Y]
    for labels in (np.ma.masked_array(words), words.astype(np.dtypes.StringDType())):
        classes = clone(FOREST).fit(X, labels).classes_
        assert type(classes) is np.ndarray
        assert classes.tolist() == ["no", "yes"]


def with_one(value: float) -> Any:
    weights = ONES.copy()
    weights[7] = value
    return weights


WEIGHTS = {
    "negative": (with_one(-1.0), ">= 0"),
    "NaN": (with_one(np.nan), "finite"),
    "infinite": (with_one(np.inf), "finite"),
    "all zero": (ONES * 0, "positive weight"),
    "a zero": (0.0, "positive weight"),
    "too few": (ONES[:39], "shape"),
    "two columns": (np.ones((40, 2)), "1D"),
    "words": (np.array(["heavy"] * 40), "."),
    "masked": (np.ma.masked_array(ONES, mask=Y == 1), "masked"),
    "complex": (ONES + 1j, "real numbers, got complex"),
    "a list of complex numbers": ([1.0, 1.0 + 0j] * 20, "real numbers, got complex"),
}


@pytest.mark.parametrize("kind", WEIGHTS)
@pytest.mark.parametrize("estimator", [TREE, FOREST, RANDOM], ids=lambda estimator: type(estimator).__name__)
def test_what_are_no_weights_is_refused(estimator: Any, kind: str) -> None:
    weights, words = WEIGHTS[kind]
    assert_refuses(estimator, ValueError, words, X, Y, weights)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("weights", [ONES * 1e308, X[:, 0] ** 2 * 1e307, np.abs(X[:, 0]) * 1e-320 + 1e-322])
def test_weights_at_the_ends_of_the_number_line_are_weights(weights: Any) -> None:
    probability = clone(FOREST).set_params(calibration=None).fit(X, Y, weights).predict_proba(X)
    np.testing.assert_allclose(probability.sum(axis=1), 1)
    assert (probability.argmax(axis=1) == Y).mean() > 0.7


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("class_weight", ["balanced", "balanced_subsample", {0: 2.0}])
def test_a_class_whose_rows_all_weigh_nothing_is_still_a_class(class_weight: Any) -> None:
    asked = {"class_weight": class_weight, "calibration": None}
    model = clone(FOREST).set_params(**asked).fit(X, Y, (Y == 1).astype(float))
    assert model.classes_.tolist() == [0, 1]
    assert np.array_equal(model.predict_proba(X), np.tile([0.0, 1.0], (40, 1)))


def test_rows_that_hardly_weigh_anything_in_a_balanced_bag_still_weigh_something() -> None:
    weights = np.where(np.arange(40) % 3 == 0, 1e-15, 1.0)
    model = RandomForestClassifier(20, class_weight="balanced_subsample", random_state=0).fit(X, Y, weights)
    assert (model.forest_.weights.reshape(-1, 2).sum(axis=1) > 0).all()
    hedgerow.save(model, io.BytesIO())


def test_a_class_weight_of_zero_leaves_its_rows_out_of_the_shares() -> None:
    rng = np.random.default_rng(1)
    table, labels = rng.integers(0, 300, (3000, 2)).astype(float), rng.integers(0, 4, 3000)
    model = RandomForestClassifier(
        3, class_weight={0: 0, 1: 1, 2: 1, 3: 2}, categorical_features=[0, 1], random_state=0
    ).fit(table, labels)
    probability = model.predict_proba(table)
    assert np.isfinite(probability).all()
    np.testing.assert_allclose(probability.sum(axis=1), 1)


# ---- parameters ---------------------------------------------------------------------------------------------

NAN, INF = float("nan"), float("inf")
NOT_COUNTS = [0, -1, 1.5, "many", NAN, True, [3]]
WRONG: dict[str, list[Any]] = {
    "n_estimators": [*NOT_COUNTS, None],
    "criterion": ["mse", None, 3, ["gini"], np.array(["gini", "entropy"])],
    "max_depth": NOT_COUNTS,
    "min_samples_split": [1, 0, -3, 0.0, 1.5, NAN, INF, "two", None, True],
    "min_samples_leaf": [0, -1, 0.0, 1.5, NAN, "one", None],
    "min_weight_fraction_leaf": [-0.1, 0.6, NAN, INF, "some", None],
    "max_features": [0, -1, 0.0, 1.5, NAN, "auto", [1], True],
    "constant_features": ["draw", None, True, 2],
    "feature_weights": [[1.0], "much", 3, {"nothing": 1.0}, [-1.0] * 3, [0] * 3, [NAN] * 3, [1e308] * 3],
    "splitter": ["worst", None, True, "random_decision"],
    "max_leaf_nodes": [1, *NOT_COUNTS],
    "min_impurity_decrease": [-0.1, NAN, INF, "some", None],
    "min_gain": [-0.1, NAN, INF, "some", None],
    "rule": ["majority", None, 3],
    "caution": [-1, "much", None, float("nan"), True],
    "calibration": ["isotonic", True, 1],
    "decision": ["guess", None, 3],
    "bootstrap": ["no", None, 2],
    "unseen": ["smaller", None, 3, True],
    "max_samples": [0, -1, 321, 0.0, 8.5, NAN, "half", True],
    "oob_score": ["yes", 2],
    "novelty": [0, -0.1, 1.5, NAN, "some", True],
    "class_weight": ["even", 3, [1, 2], np.array([1, 2]), {0: -1.0}, {0: NAN}, {0: 0, 1: 0}, {7: 1.0}, {0: "a"}],
    "monotonic_cst": [[1, 0], [2, 0, 0], [0.5, 0, 0], "up", {"a": 1}, 3],
    "categorical_features": [[3], [-1], ["a"], [True], 1.5, "all"],
    "immutable_features": ["a", 3, [1.5], [None], {0: 1}],
    "leaf_counts": ["some", None, 3, ["all"]],
    "ccp_alpha": [-0.1, NAN, INF, "some", None],
    "label_rounds": [-1, 1.5, NAN, "some", None, True],
    "warm_start": ["yes", None, 2],
    "max_bins": [254, 65_536, 300.5, "many", NAN, True],
    "n_jobs": [0, 1.5, "two"],
    "random_state": [-1, "seed", 1.5],
    "verbose": ["loud", -1, None],
}
CASES = [
    pytest.param(estimator, name, value, id=f"{type(estimator).__name__}-{name}={value!r}")
    for estimator in ALL
    for name, values in WRONG.items()
    if name in estimator.get_params()
    for value in values
]


@cache
def fitted_once(estimator: Any) -> tuple[Any, np.ndarray]:
    """An estimator of `ALL` -> one that is fitted, and its probabilities."""
    fitted = clone(estimator).fit(X, Y)
    return fitted, fitted.predict_proba(X)


def test_every_parameter_has_values_that_are_refused() -> None:
    assert set(WRONG) == {name for estimator in ALL for name in estimator.get_params()}


@pytest.mark.parametrize(("estimator", "name", "value"), CASES)
def test_a_parameter_out_of_range_is_refused_by_its_name(estimator: Any, name: str, value: Any) -> None:
    changed = clone(estimator)
    setattr(changed, name, value)
    fresh, before = changed, state_of(changed)
    with pytest.raises((ValueError, TypeError), match=name):
        fresh.fit(X, Y)
    assert state_of(fresh).keys() == before.keys()
    fitted, said = copy(fitted_once(estimator)[0]), fitted_once(estimator)[1]
    setattr(fitted, name, value)
    held = state_of(fitted)
    with pytest.raises((ValueError, TypeError), match=name):
        fitted.fit(X[:30], Y[:30])
    assert all(state_of(fitted)[key] is held[key] for key in held)
    setattr(fitted, name, getattr(estimator, name))
    assert np.array_equal(fitted.predict_proba(X), said)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"bootstrap": False, "oob_score": True}, "oob_score"),
        ({"bootstrap": False, "max_samples": 0.5}, "max_samples"),
        ({"bootstrap": False, "leaf_counts": "oob"}, "leaf_counts"),
        ({"monotonic_cst": [1, 0, 0], "categorical_features": [0]}, "monotonic_cst"),
    ],
)
def test_parameters_that_contradict_each_other_are_refused(parameters: dict[str, Any], words: str) -> None:
    for estimator in (FOREST, EXTRA):
        assert_refuses(clone(estimator).set_params(**parameters), ValueError, words, X, Y)


def test_monotonic_constraints_are_refused_for_more_than_two_classes() -> None:
    assert_refuses(clone(FOREST).set_params(monotonic_cst=[1, 0, 0]), ValueError, "monotonic_cst", X, np.arange(40) % 3)


@pytest.mark.parametrize("name", ["max_depth", "max_leaf_nodes", "min_samples_split", "min_samples_leaf"])
def test_huge_limits_are_no_limits_or_leave_a_root(name: str) -> None:
    model = clone(TREE).set_params(**{name: 10**15}).fit(X, Y)
    limit = name.startswith("max")
    assert model.get_n_leaves() == (clone(TREE).fit(X, Y).get_n_leaves() if limit else 1)


# ---- refits -------------------------------------------------------------------------------------------------


def test_a_refit_that_fails_while_judging_leaves_the_old_model() -> None:
    def broken(truth: Any, prediction: Any) -> float:
        raise ZeroDivisionError("no metric")

    model = clone(FOREST).set_params(oob_score=True).fit(X, Y)
    said, forest, score = model.predict_proba(X), model.forest_, model.oob_score_
    model.set_params(oob_score=broken)
    with pytest.raises(ZeroDivisionError):
        model.fit(X[:20], Y[:20])
    assert model.forest_ is forest
    assert model.oob_score_ == score
    assert np.array_equal(model.predict_proba(X), said)


def test_a_refit_that_runs_out_of_memory_leaves_the_old_model() -> None:
    model = clone(FOREST).fit(X, Y)
    said, forest = model.predict_proba(X), model.forest_
    model.set_params(n_estimators=2**50)
    with pytest.raises((MemoryError, ValueError)):
        model.fit(X, Y)
    assert model.forest_ is forest
    assert np.array_equal(model.predict_proba(X), said)


def test_a_refit_forgets_what_belonged_to_the_old_model() -> None:
    frame = pd.DataFrame(X, columns=list("abc"))
    model = clone(FOREST).set_params(oob_score=True).fit(frame, Y)
    model.set_params(oob_score=False).fit(X, Y)
    assert not hasattr(model, "feature_names_in_")
    assert not hasattr(model, "oob_score_")
    assert not hasattr(model, "oob_decision_function_")


def test_a_warm_start_refuses_other_classes_columns_and_fewer_trees() -> None:
    model = clone(FOREST).set_params(warm_start=True).fit(X, Y)
    said = model.predict_proba(X)
    for arguments, parameters, words in (
        ((X, Y + 1), {"n_estimators": 4}, "classes"),
        ((X[:, :2], Y), {"n_estimators": 4}, "columns"),
        ((X, Y), {"n_estimators": 2}, "n_estimators"),
    ):
        with pytest.raises(ValueError, match=words):
            model.set_params(**parameters).fit(*arguments)
        assert np.array_equal(model.predict_proba(X), said)


def test_out_of_bag_judgement_has_a_row_for_every_sample() -> None:
    weights = np.where(np.arange(40) < 10, 0.0, 1.0)
    model = clone(FOREST).set_params(oob_score=True, n_estimators=20).fit(X, Y, weights)
    assert model.oob_decision_function_.shape == (40, 2)
    np.testing.assert_allclose(model.oob_decision_function_.sum(axis=1), 1)


# ---- stopping -----------------------------------------------------------------------------------------------

LONG_FIT = """
    import os, sys, threading, time
    import numpy as np, hedgerow
    rng = np.random.default_rng(0)
    X, y = rng.random((200_000, 20)).astype(np.float32), rng.integers(0, 3, 200_000)
    n_threads = lambda: len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else 1
    model = hedgerow.RandomForestClassifier(100_000, n_jobs=2)
    before = n_threads()
    print("growing", flush=True)
    try:
        model.fit(X, y)
    except KeyboardInterrupt:
        print("interrupted", n_threads() - before, threading.active_count(), hasattr(model, "forest_"), flush=True)
        model.set_params(n_estimators=2).fit(X[:100], y[:100])
        print("usable", model.predict(X[:3]).shape, flush=True)
"""


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT to another process")
def test_ctrl_c_ends_a_long_fit_and_leaves_nothing_behind() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(LONG_FIT)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "growing\n"
        time.sleep(1.0)
        assert process.poll() is None, "the fit ended before it could be interrupted"
        process.send_signal(signal.SIGINT)
        asked = time.monotonic()
        out, errors = process.communicate(timeout=30)
        assert time.monotonic() - asked < 15
    finally:
        process.kill()
    assert out.splitlines() == ["interrupted 0 1 False", "usable (3,)"], errors[-500:]


def test_growing_stops_when_progress_says_so() -> None:
    from tests.reference.tables import labels_of

    from hedgerow.forest.grow import grow_forest
    from hedgerow.params.resolve import resolve_settings
    from hedgerow.table import read_training_table
    from hedgerow.table.bins import encode, find_bins

    rng = np.random.default_rng(0)
    table = read_training_table(rng.random((20_000, 10)))
    labels = labels_of(rng.integers(0, 2, 20_000), 2)
    bins = find_bins(table)
    codes = encode(table, bins)
    settings = resolve_settings(clone(FOREST), 20_000, 10, None, 2)
    seen: list[int] = []

    def stop_after_some(done: int) -> bool:
        seen.append(done)
        return done >= 3

    stopped = grow_forest(codes, bins, labels, settings, n_trees=100_000, n_threads=2, progress=stop_after_some)
    assert seen[-1] >= 3
    assert 1 <= stopped.n_trees < 100_000
    whole = grow_forest(codes, bins, labels, settings, n_trees=stopped.n_trees)
    for name, array in whole.arrays().items():
        assert np.array_equal(array, getattr(stopped, name))


def test_an_error_in_progress_comes_through() -> None:
    from tests.reference.tables import labels_of

    from hedgerow.forest.grow import grow_forest
    from hedgerow.params.resolve import resolve_settings
    from hedgerow.table import read_training_table
    from hedgerow.table.bins import encode, find_bins

    rng = np.random.default_rng(0)
    table = read_training_table(rng.random((20_000, 5)))
    labels = labels_of(rng.integers(0, 2, 20_000), 2)
    bins = find_bins(table)
    settings = resolve_settings(clone(FOREST), 20_000, 5, None, 2)

    def broken(done: int) -> bool:
        raise LookupError("no terminal")

    with pytest.raises(LookupError, match="no terminal"):
        grow_forest(encode(table, bins), bins, labels, settings, n_trees=100_000, n_threads=2, progress=broken)


# ---- scikit-learn's callbacks -------------------------------------------------------------------------------


class StopAfter:
    """A callback that lets a number of steps pass."""

    def __init__(self, n_steps: int) -> None:
        self.n_steps, self.n_seen = n_steps, 0
        self.models: list[Any] = []

    def setup(self, estimator: Any, context: Any) -> None:
        self.n_seen = 0

    def teardown(self, estimator: Any, context: Any) -> None:
        pass

    def on_fit_task_begin(self, estimator: Any, context: Any, **kwargs: Any) -> None:
        pass

    def on_fit_task_end(self, estimator: Any, context: Any, **kwargs: Any) -> bool:
        self.n_seen += context.task_name == "trees"
        return self.n_seen >= self.n_steps


def test_a_callback_that_says_stop_leaves_the_first_trees() -> None:
    pytest.importorskip("sklearn.callback", reason="scikit-learn has no callbacks before 1.9")
    callback = StopAfter(4)
    model = RandomForestClassifier(30, random_state=0).set_callbacks(callback).fit(X, Y)
    n_trees = model.forest_.n_trees
    assert callback.n_seen == 4
    assert 1 <= n_trees < 30
    prefix = RandomForestClassifier(n_trees, random_state=0).fit(X, Y)
    for name, array in prefix.forest_.arrays().items():
        assert np.array_equal(array, getattr(model.forest_, name))


def test_a_callback_that_looks_on_changes_nothing() -> None:
    pytest.importorskip("sklearn.callback", reason="scikit-learn has no callbacks before 1.9")
    callback = StopAfter(10**9)
    watched = RandomForestClassifier(30, random_state=0).set_callbacks(callback).fit(X, Y)
    assert callback.n_seen > 1
    assert np.array_equal(watched.forest_.nodes, RandomForestClassifier(30, random_state=0).fit(X, Y).forest_.nodes)
