"""The same seed, the same bits: for any threads, precision, layout, container, batch and order of arrival.

The golden hashes at the end notice every change of the model bytes. When a change is meant, renew them with

    python -m tests.whole.test_determinism

from the project root, paste what it prints, and say in the changelog that seeds give other forests now.
"""

from __future__ import annotations

import hashlib
import math
import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from tests.reference.draws import Bag
from tests.reference.tables import draw_case

from hedgerow import (
    DecisionTreeClassifier,
    ExtraTreesClassifier,
    RandomDecisionTreesClassifier,
    RandomForestClassifier,
    _core,
)
from hedgerow.forest.grow import grow_forest
from hedgerow.inference.fitted import fitted_of

MODELS: dict[str, Any] = {
    "tree": DecisionTreeClassifier(random_state=1),
    "tree, entropy, few leaves": DecisionTreeClassifier(
        criterion="entropy", max_leaf_nodes=20, max_features=2, random_state=1
    ),
    "forest": RandomForestClassifier(12, random_state=1),
    "forest, balanced, in bag": RandomForestClassifier(
        12, class_weight="balanced_subsample", leaf_counts="inbag", random_state=1
    ),
    "forest, entropy, out of bag, pruned": RandomForestClassifier(
        12, criterion="entropy", leaf_counts="oob", ccp_alpha=0.005, max_samples=0.5, random_state=1
    ),
    "extra trees": ExtraTreesClassifier(12, random_state=1),
    "random decision trees": RandomDecisionTreesClassifier(12, min_samples_leaf=3, random_state=1),
}
FORESTS = [name for name in MODELS if not name.startswith("tree")]


def model_hash(model: Any) -> str:
    """Every array of the forest and of its bins, names, types, shapes and bytes."""
    digest = hashlib.sha256()
    arrays = {**model.forest_.arrays(), **{f"bins.{k}": v for k, v in vars(fitted_of(model).bins).items()}}
    for name, array in sorted(arrays.items()):
        if isinstance(array, np.ndarray):
            digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
            digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]


def plain_table(n_rows: int = 300, n_classes: int = 3) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Integers by a congruential generator: no random library, the same everywhere; exact in float32."""
    state, cells = 12345, []
    for _ in range(n_rows * 6):
        state = (state * 1103515245 + 12345) % 2**31
        cells.append(state >> 12)
    table = np.array(cells).reshape(n_rows, 6)
    X = np.column_stack(
        [table[:, 0] % 9, table[:, 1] % 1000, table[:, 2] % 2, table[:, 3] % 5, table[:, 4] % 100_000]
    ).astype(np.float32)
    X[table[:, 5] % 11 == 0, 1] = np.nan
    y = (X[:, 0] + X[:, 3] + table[:, 5] % 4).astype(int) % n_classes
    return X, y


def fitted(name: str, X: Any, y: Any, **parameters: Any) -> Any:
    return clone(MODELS[name]).set_params(**parameters).fit(X, y)


# ---- threads, batches, order --------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3, 12])
@pytest.mark.parametrize("name", FORESTS)
def test_the_number_of_threads_does_not_matter(name: str, n_classes: int) -> None:
    X, y = plain_table(n_classes=n_classes)
    hashes = {model_hash(fitted(name, X, y, n_jobs=n_jobs, categorical_features=[3])) for n_jobs in (1, 2, 8)}
    assert len(hashes) == 1


def test_the_number_of_threads_does_not_matter_on_a_long_table() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(70_000, 4)), rng.integers(0, 2, 70_000)
    models = [RandomForestClassifier(4, random_state=0, n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2, 8)]
    assert len(set(map(model_hash, models))) == 1
    assert len({model.predict_proba(X).tobytes() for model in models}) == 1


@pytest.mark.parametrize("name", FORESTS)
def test_a_warm_start_in_steps_grows_what_one_fit_grows(name: str) -> None:
    X, y = plain_table()
    stepwise = clone(MODELS[name]).set_params(warm_start=True)
    for n_estimators in (1, 5, 5, 12):
        stepwise.set_params(n_estimators=n_estimators).fit(X, y)
    assert model_hash(stepwise) == model_hash(fitted(name, X, y))


@pytest.mark.parametrize("splitter", ["best", "random", "random_decision"])
@pytest.mark.parametrize("n_classes", [2, 20])
def test_a_tree_does_not_depend_on_the_trees_grown_with_it(n_classes: int, splitter: str) -> None:
    case = draw_case(3, n_classes, splitter, "gini", "nominal")
    forest = grow_forest(case.codes, case.bins, case.labels, case.settings, n_trees=6, n_threads=3)
    for number in (5, 0, 3):
        alone = grow_forest(case.codes, case.bins, case.labels, case.settings, first_tree=number, n_trees=1)
        span = slice(forest.node_start[number], forest.node_start[number + 1])
        assert np.array_equal(alone.nodes, forest.nodes[span])
        assert np.array_equal(alone.payload, forest.payload[span])
        assert np.array_equal(alone.leaf_counts(0), forest.leaf_counts(number))


def test_different_seeds_and_different_trees_differ() -> None:
    X, y = plain_table()
    assert model_hash(fitted("forest", X, y)) != model_hash(fitted("forest", X, y, random_state=2))
    forest = fitted("forest", X, y).forest_
    trees = {forest.nodes[a:b].tobytes() for a, b in zip(forest.node_start, forest.node_start[1:], strict=False)}
    assert len(trees) == forest.n_trees


# ---- precision, layout, container ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
def test_neither_precision_nor_layout_nor_container_matters(name: str) -> None:
    X, y = plain_table()
    spread = np.zeros((600, 15), dtype=np.float64)
    spread[::2, ::3] = X
    read_only = X.copy()
    read_only.setflags(write=False)
    frame = pd.DataFrame(X, columns=list("abcde"))
    tables = {
        "float64": X.astype(np.float64),
        "float32, Fortran": np.asfortranarray(X),
        "every second": spread[::2, ::3],
        "backwards": np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1],
        "read-only": read_only,
        "big-endian": X.astype(">f8"),
        "objects": X.astype(object),
        "lists": X.tolist(),
        "pandas": frame,
        "pandas, mixed": frame.astype({"a": "int8", "c": bool, "d": "float64"}),
        "polars": pl.DataFrame(frame.to_dict("list")),
        "pyarrow": pa.table(frame.to_dict("list")),
        "sparse rows": sparse.csr_array(X),
        "sparse columns": sparse.csc_matrix(X.astype(np.float64)),
    }
    expected = model_hash(fitted(name, X, y))
    got = {kind: model_hash(fitted(name, table, y)) for kind, table in tables.items()}
    assert got == dict.fromkeys(tables, expected)


def test_predictions_do_not_depend_on_batches() -> None:
    X, y = plain_table()
    model = fitted("forest", X, y)
    whole = model.predict_proba(X)
    for size in (1, 7, 8, 9, 100):
        parts = [model.predict_proba(X[first : first + size]) for first in range(0, len(X), size)]
        assert np.array_equal(np.concatenate(parts), whole)


def test_predictions_do_not_depend_on_threads() -> None:
    X, y = plain_table(3000)
    model = fitted("forest", X, y)
    outcomes = {model.set_params(n_jobs=n_jobs).predict_proba(X).tobytes() for n_jobs in (1, 2, 8)}
    assert len(outcomes) == 1


@pytest.mark.parametrize("name", MODELS)
def test_a_pickled_model_is_the_same_model(name: str) -> None:
    X, y = plain_table()
    model = fitted(name, X, y)
    model.predict(X)
    again = pickle.loads(pickle.dumps(model))
    assert model_hash(again) == model_hash(model)
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))


def test_names_of_classes_do_not_matter() -> None:
    X, y = plain_table()
    words = np.array(["ash", "birch", "cedar"])[y]
    assert model_hash(fitted("forest", X, words)) == model_hash(fitted("forest", X, y))


# ---- bags ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n_rows", "mean"), [(1, 1.0), (2, 0.01), (50, 1.0), (50, 0.3), (7, 0.0)])
def test_bags_equal_their_twins(n_rows: int, mean: float) -> None:
    for seed in (0, 1, 2**63 - 1):
        for tree in (0, 1, 1000):
            expected = Bag(seed, tree, n_rows, mean).multiplicities()
            assert _core.bag(seed, tree, n_rows, mean).tolist() == expected


@pytest.mark.parametrize("mean", [1.0, 0.5, 0.1])
def test_multiplicities_are_poisson(mean: float) -> None:
    times = np.concatenate([_core.bag(7, tree, 20_000, mean) for tree in range(10)])
    assert abs(times.mean() - mean) < 4 * math.sqrt(mean / len(times))
    expected = len(times) * np.array([math.exp(-mean) * mean**k / math.factorial(k) for k in range(12)])
    n_cells = int((expected >= 10).sum())  # all rarer multiplicities together make the last cell
    expected = np.append(expected[:n_cells], len(times) - expected[:n_cells].sum())
    seen = np.bincount(np.minimum(times, n_cells), minlength=n_cells + 1)
    chi_square = ((seen - expected) ** 2 / expected).sum()
    assert chi_square < 26.2  # 99.9 % for eight degrees of freedom, the most there are


def test_bags_of_different_trees_and_seeds_are_independent() -> None:
    bags = [_core.bag(seed, tree, 50_000, 1.0).astype(float) for seed in (0, 1) for tree in (0, 1, 2)]
    correlation = np.corrcoef(bags)[np.triu_indices(6, 1)]
    assert np.abs(correlation).max() < 4 / math.sqrt(50_000)
    neighbours = np.corrcoef(bags[0][:-1], bags[0][1:])[0, 1]
    assert abs(neighbours) < 4 / math.sqrt(50_000)


def test_multiplicity_of_a_row_does_not_depend_on_the_number_of_rows() -> None:
    long = _core.bag(5, 3, 10_000, 1.0)
    for n_rows in (50, 999, 9_999):
        assert np.array_equal(_core.bag(5, 3, n_rows, 1.0), long[:n_rows])


def test_no_bag_is_empty() -> None:
    assert all(_core.bag(seed, 0, 1, 1.0).sum() > 0 for seed in range(200))


# ---- golden -------------------------------------------------------------------------------------------------

GOLDEN: dict[str, str] = {
    "tree": "421ec71ca932e8b6",
    "tree, entropy, few leaves": "06c73fb5dbfcb176",
    "forest": "4a2828f3cff47e35",
    "forest, balanced, in bag": "db4c037c77cf5b30",
    "forest, entropy, out of bag, pruned": "306f45bbb6d528d5",
    "extra trees": "ec76bf8fd3bc4f68",
    "random decision trees": "bcbc95415b4411b1",
}


def golden_hash(name: str) -> str:
    return model_hash(fitted(name, *plain_table(), categorical_features=[3]))


@pytest.mark.parametrize("name", MODELS)
def test_model_bytes_are_what_they_were(name: str) -> None:
    assert golden_hash(name) == GOLDEN[name]


if __name__ == "__main__":
    print("GOLDEN: dict[str, str] = {")
    for each in MODELS:
        print(f'    "{each}": "{golden_hash(each)}",')
    print("}")
