"""Subsets: bits and lists say the same, the core stores what its twin stores, and old files keep their bits."""

from __future__ import annotations

import io
from copy import copy
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.cluster.tables import saved

import hedgerow
from hedgerow import ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor
from hedgerow.explain import shap_values
from hedgerow.forest.nodes import IS_LIST, LISTS_RIGHT, SUBSET, Nodes, Subset, n_words, subset_from, words_from
from hedgerow.inference.fitted import fitted_of, publish
from hedgerow.storage.model import describe_file

N_CATEGORIES = 600


def table(n_rows: int = 1_500) -> tuple[pd.DataFrame, np.ndarray]:
    """A column of 600 categories, some of them common, with gaps; two of numbers."""
    rng = np.random.default_rng(0)
    code = np.where(rng.random(n_rows) < 0.4, rng.integers(0, 9, n_rows), rng.integers(0, N_CATEGORIES, n_rows))
    code[:N_CATEGORIES] = np.arange(N_CATEGORIES)
    X = pd.DataFrame({"place": np.char.add("p", code.astype(str)).astype(object), "x": rng.normal(size=n_rows)})
    X["z"] = rng.integers(0, 5, n_rows).astype(float)
    X.loc[rng.random(n_rows) < 0.05, "place"] = None
    return X, (code % 7 < 3).astype(int) + (X["x"].to_numpy() + rng.normal(size=n_rows) > 1)


@cache
def fitted(kind: type = RandomForestClassifier) -> Any:
    return kind(4, random_state=0).fit(*table())


def with_bits(model: Any) -> Any:
    """The same model, whose subsets are all stored as bits, as earlier versions did."""
    now = fitted_of(model)
    nodes = now.forest.structure
    splits = nodes.splits(SUBSET)
    left = nodes.goes_left(splits, N_CATEGORIES)
    plain = {int(node): Subset(0, words_from(left[i])) for i, node in enumerate(splits)}
    forest = type(now.forest)(nodes.with_subsets(plain), now.forest.evidence)
    return publish(copy(model), replace(now, forest=forest))


@pytest.mark.parametrize("n_categories", [1, 63, 64, 65, 255, 256, 257, 1_000, 65_535])
def test_a_subset_takes_the_form_it_should_and_says_what_it_was_made_of(n_categories: int) -> None:
    rng = np.random.default_rng(n_categories)
    root = np.array([SUBSET << 33 | 1 << 36, 0xFFFF | 1 << 36, 0xFFFF | 2 << 36], dtype=np.uint64)
    ends = np.array([0, 3])
    empty = np.empty(0, dtype=np.uint64)
    tree = Nodes(root, np.array([0, 0, 1], dtype=np.int32), empty, ends, ends - [0, 1], 0 * ends, np.ones(1, dtype=int))
    for share in (0, 0.001, 0.015, 0.02, 0.06, 0.5, 0.94, 0.98, 0.985, 0.999, 1):
        left = rng.permutation(n_categories) < round(share * n_categories)
        subset = subset_from(left)
        fewest = min(left.sum(), (~left).sum())
        list_is_short = 4 * -(-fewest // 4) <= -(-n_categories // 64) and n_categories > 255
        assert (subset.form > 0) == list_is_short
        if list_is_short:
            assert subset.form == IS_LIST | LISTS_RIGHT * (left.sum() > fewest) | fewest
        assert len(subset.words) == n_words(n_categories, subset.form)
        made = tree.with_subsets({0: subset})
        assert made.has_lists == list_is_short
        np.testing.assert_array_equal(made.goes_left(np.array([0]), n_categories)[0], left)
        again = made.subset_at(0, n_categories)
        assert (again.form, again.words.tolist()) == (subset.form, subset.words.tolist())


@pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesClassifier, RandomForestRegressor])
def test_the_core_stores_subsets_as_their_twin_does(kind: type) -> None:
    nodes = fitted(kind).forest_.structure
    splits, forms = nodes.splits(SUBSET), set()
    for node, left in zip(splits.tolist(), nodes.goes_left(splits, N_CATEGORIES), strict=True):
        found, expected = nodes.subset_at(node, N_CATEGORIES), subset_from(left)
        assert found.form == expected.form
        if found.form:
            assert found.words.tolist() == expected.words.tolist()
        forms.add(found.form & (IS_LIST | LISTS_RIGHT))
    assert forms == {0, IS_LIST, IS_LIST | LISTS_RIGHT}
    assert nodes.payload[splits].max() <= len(nodes.set_words) < len(splits) * n_words(N_CATEGORIES) / 3


@pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesClassifier])
def test_rows_reach_the_leaves_that_plain_python_finds(kind: type) -> None:
    model, (X, _) = fitted(kind), table()
    X = pd.concat([X[:300], pd.DataFrame({"place": ["elsewhere", None], "x": [0.1, 0.2], "z": [1.0, 2.0]})])
    known = fitted_of(model).schema.categories[0].tolist()
    reached = model.apply(X)
    for number, tree in enumerate(model.trees_):
        for row, (place, x, z) in enumerate(X.itertuples(index=False)):
            at = 0
            while not tree.is_leaf[at]:
                feature = tree.feature[at]
                if feature > 0:
                    left = (x, z)[feature - 1] <= tree.threshold[at]
                elif place in known:
                    left = place in tree.categories_left(at)
                else:
                    left = tree.missing_left[at]
                at = tree.first_child[at] + (not left)
            assert reached[row, number] == at
    assert model.forest_.structure.has_lists


def test_a_file_with_bits_keeps_them_and_answers_the_same() -> None:
    model, (X, _) = fitted(), table()
    old = with_bits(model)
    data = saved(old)
    assert describe_file(io.BytesIO(data)).format_version == "1.0"
    assert describe_file(io.BytesIO(saved(model))).format_version == "2.0"
    loaded, again = hedgerow.load(io.BytesIO(data)), hedgerow.load(io.BytesIO(saved(model)))
    assert saved(loaded) == data
    for question in ("apply", "predict_proba", "predict_bounds", "predict_novelty"):
        expected = getattr(model, question)(X[:200])
        for each in (loaded, again):
            np.testing.assert_array_equal(getattr(each, question)(X[:200]), expected)
    for one, other in zip(loaded.trees_, again.trees_, strict=True):
        assert str(one) == str(other)
    np.testing.assert_array_equal(shap_values(loaded, X[:20]).values, shap_values(again, X[:20]).values)


def test_forests_of_bits_and_of_lists_can_be_merged() -> None:
    model, (X, _) = fitted(), table()
    merged = hedgerow.merge(with_bits(model), model)
    np.testing.assert_array_equal(merged.apply(X[:200]), np.tile(model.apply(X[:200]), 2))
