"""Novelty: hulls are what leaves have seen, and p-values say how unusual rows are."""

from __future__ import annotations

import io
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_iris
from tests.reference.novelty import slow_scores

import hedgerow
from hedgerow import (
    DecisionTreeClassifier,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from hedgerow.forest.leaf_ranges import (
    FAR,
    LEAST_TREES,
    MOST_MARKS,
    cells_of_codes,
    cells_of_table,
    draw_features,
    measure,
    measure_distance,
)
from hedgerow.inference.novelty import learned_novelty, novelty_of, p_values
from hedgerow.inference.predictor import predictor_of


def mixed(seed: int, n_rows: int = 60) -> tuple[pd.DataFrame, NDArray[np.int64]]:
    """Numbers, a nominal column, gaps in two columns, and a class that depends on two of them."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n_rows, 3)).round(1)
    colour = rng.choice(["blue", "green", "red"], n_rows).astype(object)
    y = (x[:, 0] + (colour == "red") + rng.normal(size=n_rows) > 0.5).astype(np.int64)
    x[rng.random(n_rows) < 0.2, 1] = np.nan
    colour[rng.random(n_rows) < 0.2] = None
    return pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "c": x[:, 2], "colour": colour}), y


@pytest.mark.parametrize(("seed", "n_trees"), [(0, 12), (1, 12), (2, 12), (3, 12), (4, LEAST_TREES + 5)])
def test_scores_are_those_of_the_values_row_by_row(seed: int, n_trees: int) -> None:
    X, y = mixed(seed)
    Z = mixed(seed + 100)[0]
    Z.loc[:9, "a"] *= 10
    forest = RandomForestClassifier(n_trees, random_state=seed, min_samples_leaf=1 + seed % 3).fit(X, y)
    now = predictor_of(forest)
    rows, codebook = now.fitted.rows, now.codebook
    leaf_ranges = learned_novelty(now.fitted).leaf_ranges
    cells, every = cells_of_codes(rows.codes, leaf_ranges, codebook), np.arange(rows.n_rows)
    own, half, number = measure_distance(leaf_ranges, forest.forest_, rows.codes, cells, codebook, every, rows.bags)
    assert (number == rows.oob_mask.table(len(leaf_ranges.features)).sum(axis=1)).all()
    assert (np.isnan(half.total) == (number == 0)).all()
    np.testing.assert_allclose(
        np.column_stack(own[:2]), slow_scores(forest, leaf_ranges.features, X, X, oob=True), atol=1e-12
    )
    table, codes = now.table(Z), now.read(Z).codes
    other = measure(leaf_ranges, forest.forest_, codes, cells_of_table(table, codes, leaf_ranges, codebook), codebook)
    np.testing.assert_allclose(
        np.column_stack(other[:2]), slow_scores(forest, leaf_ranges.features, X, Z, oob=False), atol=1e-12
    )


def test_p_values_are_ranks() -> None:
    assert p_values(np.array([0.0, 1.0, 1.0, 3.0]), np.array([-1.0, 0.0, 1.0, 2.0, 4.0])).tolist() == [
        1,
        1,
        0.8,
        0.4,
        0.2,
    ]
    assert p_values(np.empty(0), np.array([7.0])).tolist() == [1]


@pytest.mark.parametrize("kind", [RandomForestClassifier, RandomForestRegressor])
def test_ordinary_rows_keep_the_level_and_strangers_are_below_it(kind: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 6))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    forest = kind(60, random_state=0).fit(X[:500], y[:500])
    p = forest.predict_novelty(X[500:])
    for level in (0.05, 0.1, 0.2):  # 1000 rows against 500: four standard errors
        assert abs((p <= level).mean() - level) < 4 * np.sqrt(level * (1 - level) * (1 / 1000 + 1 / 500))
    far = X[500:].copy()
    far[np.arange(1000), rng.integers(0, 6, 1000)] += 10
    assert (forest.predict_novelty(far) <= 0.05).mean() > 0.97


def test_the_four_cases_are_strange_and_named() -> None:
    X, y = mixed(1, 300)
    X["c"] = X["c"].fillna(0)
    forest = RandomForestClassifier(60, random_state=0).fit(X, y)
    usual = pd.DataFrame({"a": [0.1], "b": [0.1], "c": [0.1], "colour": ["red"]})
    cases = pd.concat([usual] * 5, ignore_index=True)
    cases.loc[1, "a"] = 900
    cases.loc[2, "colour"] = "violet"
    cases.loc[3, "c"] = np.nan
    cases.loc[4, "c"] = -np.inf
    now = predictor_of(forest)
    found = novelty_of(now.fitted, now.table(cases))
    assert found.p_value[0] > 0.2
    assert (found.p_value[1:] <= 1.5 / 301).all()
    assert [now.codebook.names[feature] for feature in found.feature[1:]] == ["a", "colour", "c", "c"]
    blank = pd.DataFrame({"a": [np.nan], "b": [np.nan], "c": [np.nan], "colour": [None]})
    assert forest.predict_novelty(blank)[0] <= 1.5 / 301


def test_a_new_category_is_strange_where_gaps_are_usual() -> None:
    X, y = mixed(2, 300)
    forest = RandomForestClassifier(60, random_state=0).fit(X, y)
    rows = pd.DataFrame({"a": [0.1, 0.1], "b": [0.1, 0.1], "c": [0.1, 0.1], "colour": [None, "violet"]})
    p = forest.predict_novelty(rows)
    assert p[0] > 0.05 > 0.01 > p[1]


def test_rare_categories_keep_the_level() -> None:
    """Of a column with very many categories, many rows have a new one, and that is usual."""
    rng = np.random.default_rng(3)
    code = rng.integers(0, 2000, 1500).astype(str)
    X = pd.DataFrame({"code": code, "x": rng.normal(size=1500), "z": rng.normal(size=1500)})
    y = (X["x"] > 0).astype(int)
    forest = RandomForestClassifier(40, random_state=0).fit(X[:500], y[:500])
    p = forest.predict_novelty(X[500:])
    assert (~X["code"][500:].isin(X["code"][:500])).mean() > 0.5
    assert abs((p <= 0.1).mean() - 0.1) < 0.06


@pytest.mark.parametrize("rows", [150, 6000])
def test_answers_do_not_depend_on_batch_threads_pickles_and_files(rows: int) -> None:
    rng = np.random.default_rng(rows)
    X = rng.normal(size=(rows, 5))
    X[rng.random(X.shape) < 0.05] = np.nan
    y = (X[:, 0] > 0).astype(int)
    forest = RandomForestClassifier(10, random_state=0).fit(X, y)
    Z = rng.normal(size=(40, 5)) * 2
    p = forest.predict_novelty(Z)
    assert p.tolist() == [forest.predict_novelty(Z[i : i + 1])[0] for i in range(40)]
    assert p.tolist() == RandomForestClassifier(10, random_state=0, n_jobs=2).fit(X, y).predict_novelty(Z).tolist()
    again = RandomForestClassifier(10, random_state=0).fit(X, y)
    assert p.tolist() == pickle.loads(pickle.dumps(again)).predict_novelty(Z).tolist()
    assert (
        p.tolist() == through_a_file(RandomForestClassifier(10, random_state=0).fit(X, y)).predict_novelty(Z).tolist()
    )


def through_a_file(model: Any) -> Any:
    """The model as `load` gives it back."""
    file = io.BytesIO()
    hedgerow.save(model, file)
    return hedgerow.load(io.BytesIO(file.getvalue()))


def test_regressors_extra_trees_and_several_outputs_keep_it_in_files() -> None:
    X, y = load_iris(return_X_y=True)
    both = np.column_stack([y, y > 0])
    models = [
        RandomForestRegressor(10, random_state=0).fit(X, y),
        ExtraTreesRegressor(10, random_state=0, bootstrap=True).fit(X, y),
        ExtraTreesClassifier(10, random_state=0, bootstrap=True).fit(X, y),
        RandomForestClassifier(10, random_state=0).fit(X, both),
    ]
    for model in models:
        p = model.predict_novelty(X + 1).tolist()
        for other in (through_a_file(model), pickle.loads(pickle.dumps(model))):
            assert other.predict_novelty(X + 1).tolist() == p
            assert other.outputs_[-1].predict_novelty(X + 1).tolist() == p


def test_hulls_take_at_most_a_third_of_the_model() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    for n_trees, with_hulls in ((20, 20), (LEAST_TREES, LEAST_TREES), (90, LEAST_TREES), (100, 40), (200, 80)):
        forest = RandomForestClassifier(n_trees, random_state=0).fit(X, y)
        leaf_ranges = learned_novelty(forest._fitted).leaf_ranges
        assert leaf_ranges.features.shape == (with_hulls, min(MOST_MARKS * n_trees // with_hulls, 11))  # 11 is 2 √30
        assert leaf_ranges.marks.nbytes <= 0.3 * forest.forest_.nbytes


def test_later_rows_and_trees_are_taken_in() -> None:
    X, y = load_iris(return_X_y=True)
    forest = RandomForestClassifier(20, random_state=0).fit(X[::2], y[::2])
    before = forest.predict_novelty(X[1::2] + 0.3)
    forest.partial_fit(X[1::2] + 0.3, y[1::2])
    assert forest.predict_novelty(X[1::2] + 0.3).mean() > before.mean()
    assert learned_novelty(forest.grow_more(5)._fitted).leaf_ranges.features.shape[0] == 25


@pytest.mark.parametrize("model", [DecisionTreeClassifier(), ExtraTreesClassifier(5)])
def test_without_bags_it_is_refused(model: Any) -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="predict_novelty requires out-of-bag rows"):
        model.fit(X, y).predict_novelty(X)


def test_odd_tables() -> None:
    """A constant column, infinities, an empty column, a single column, very few rows and trees."""
    X = np.column_stack([np.ones(30), np.r_[-np.inf, np.inf, np.arange(28.0)], np.full(30, np.nan), np.arange(30.0)])
    y = np.arange(30) % 2
    forest = RandomForestClassifier(30, random_state=0).fit(X, y)
    odd = np.array([[1, 5, np.nan, 5], [2, 5, np.nan, 5], [1, np.inf, np.nan, 5], [1, 5, 3, 5.0]])
    assert np.isfinite(forest.predict_novelty(odd)).all()
    assert forest.predict_novelty(odd)[1] <= 3 / 31  # as strange as the two infinities
    assert learned_novelty(forest._fitted).single.max() <= FAR
    for n_rows, n_trees in ((1, 1), (2, 1), (5, 2)):
        small = RandomForestClassifier(n_trees, random_state=0).fit(X[:n_rows, 3:], y[:n_rows])
        p = small.predict_novelty([[3.0], [1e9]])
        assert ((p > 0) & (p <= 1)).all()
        assert through_a_file(small).predict_novelty([[3.0], [1e9]]).tolist() == p.tolist()


def test_drawn_features_do_not_change() -> None:
    drawn = draw_features(7, 500, 10, 3)
    assert drawn[:3].tolist() == draw_features(7, 3, 10, 3).tolist()
    assert (np.diff(drawn, axis=1) > 0).all()
    assert np.bincount(drawn.ravel()).min() > 100


@pytest.mark.parametrize("size", [1e160, 1.7e308])
def test_numbers_whose_squares_overflow_have_a_spread(size: float) -> None:
    X, y = load_iris(return_X_y=True)
    X = X / X.max(axis=0)
    huge = X * [size, 1.0, 1.0, -size]
    rows = np.array([[0.5, 0.5, 0.5, 0.5], [np.inf, 0.5, 0.5, 0.5], [0.5, 5.0, 0.5, -0.5]])
    small, large = (RandomForestClassifier(30, novelty=0.05, random_state=0).fit(each, y) for each in (X, huge))
    turned = small.predict_novelty(rows * [1, 1, 1, -1.0])
    assert np.isfinite(large.predict_bounds(rows * [size, 1, 1, size])).all()
    assert large.predict_novelty(rows * [size, 1, 1, size]).shape == turned.shape
    assert learned_novelty(predictor_of(large).fitted).leaf_ranges.usual.spread[0] == pytest.approx(
        X[:, 0].std() * size
    )
