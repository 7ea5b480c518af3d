"""`merge`: the trees of several forests, every split what it was."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.reference.later import same_forest

import hedgerow
from hedgerow import (
    DecisionTreeClassifier,
    ExtraTreesClassifier,
    PairwiseTreesClassifier,
    RandomDecisionTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    merge,
)
from hedgerow.forest import join
from hedgerow.forest.join import cuts_in_use, join_bins, move_codes
from hedgerow.inference.fitted import fitted_of


def frame(n_rows: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    random = np.random.default_rng(seed)
    X = pd.DataFrame(random.normal(loc=seed, size=(n_rows, 3)).round(2), columns=list("abc"))
    X.iloc[random.random(n_rows) < 0.1, 1] = np.nan
    X["colour"] = pd.Categorical(["red", "green", "blue", *random.choice(["red", "green", "blue"], n_rows - 3)])
    y = (X["a"] > seed).to_numpy().astype(int) + (X["colour"] == "red").to_numpy()
    return X, y


def forests(kind: type = RandomForestClassifier, **parameters: Any) -> list[Any]:
    sizes = (80, 120, 5000)  # exact bins, and quantiles
    return [kind(3, random_state=i, **parameters).fit(*frame(size, i)) for i, size in enumerate(sizes)]


ROWS = pd.concat([frame(100, seed)[0].astype({"colour": str}) for seed in (0, 1, 2)], ignore_index=True)


def same_bins(first: Any, second: Any) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(vars(first).values(), vars(second).values(), strict=True))


@pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesClassifier, RandomDecisionTreesClassifier])
def test_every_row_goes_where_it_went(kind: type) -> None:
    parts = forests(kind, max_depth=8)
    merged = merge(*parts)
    assert np.array_equal(merged.apply(ROWS), np.concatenate([part.apply(ROWS) for part in parts], axis=1))
    one_by_one = np.concatenate([part.evidence(ROWS).counts for part in parts], axis=1)
    assert np.array_equal(merged.evidence(ROWS).counts, one_by_one)
    before_any_map = [part.evidence(ROWS).combine("average").probability for part in parts]
    np.testing.assert_allclose(merged.predict_proba(ROWS), np.mean(before_any_map, axis=0), rtol=0, atol=1e-15)
    for tree, other in zip(merged.trees_, [tree for part in parts for tree in part.trees_], strict=True):
        assert np.array_equal(tree.threshold, other.threshold, equal_nan=True)


def test_merging_is_associative() -> None:
    first, second, third = forests()
    left, right = merge(merge(first, second), third), merge(first, merge(second, third))
    assert same_forest(left.forest_, right.forest_)
    assert same_bins(fitted_of(left).bins, fitted_of(right).bins)
    assert fitted_of(left).origins == fitted_of(right).origins
    assert left.get_params() == right.get_params()
    assert np.array_equal(left.predict_bounds(ROWS), right.predict_bounds(ROWS))
    assert same_forest(left.forest_, merge(first, second, third).forest_)


def test_but_for_the_order_of_trees_merging_is_commutative() -> None:
    first, second, _ = forests()
    one, other = merge(first, second), merge(second, first)
    assert same_bins(fitted_of(one).bins, fitted_of(other).bins)
    assert np.array_equal(one.apply(ROWS)[:, [3, 4, 5, 0, 1, 2]], other.apply(ROWS))
    assert np.array_equal(fitted_of(one).info.prior, fitted_of(other).info.prior)


@pytest.mark.parametrize("leaf_counts", ["all", "inbag", "oob"])
def test_later_rows_may_come_before_or_after_merging(leaf_counts: str) -> None:
    parts = forests(leaf_counts=leaf_counts)
    later = frame(90, 1)
    weights = np.random.default_rng(0).random(90)
    after = merge(*parts).partial_fit(*later, sample_weight=weights)
    before = merge(*(part.partial_fit(*later, sample_weight=weights) for part in parts))
    assert same_forest(before.forest_, after.forest_)
    assert fitted_of(before).origins == fitted_of(after).origins
    assert np.array_equal(before.predict_bounds(ROWS), after.predict_bounds(ROWS))


def test_classes_are_those_of_any() -> None:
    X, y = frame(200, 0)
    names = np.array(["ash", "birch", "cedar"])[y]
    here = RandomForestClassifier(3, calibration=None, random_state=0).fit(X[y < 2], names[y < 2])
    there = RandomForestClassifier(3, calibration=None, random_state=1).fit(X[y > 0], names[y > 0])
    both = merge(here, there)
    assert both.classes_.tolist() == ["ash", "birch", "cedar"]
    share = both.predict_proba(X)
    np.testing.assert_allclose(share[:, 0], here.predict_proba(X)[:, 0] / 2)
    np.testing.assert_allclose(share[:, 2], there.predict_proba(X)[:, 1] / 2)


def test_regressors_merge_and_go_on() -> None:
    parts = []
    for seed in (0, 1):
        X, y = frame(100, seed)
        parts.append(RandomForestRegressor(3, random_state=seed).fit(X, y + X["a"]))
    merged = merge(*parts)
    expected = np.mean([part.predict(ROWS) for part in parts], axis=0)
    np.testing.assert_allclose(merged.predict(ROWS), expected, rtol=1e-12)
    assert merged.predict_bounds(ROWS).shape == (300, 2)
    later, y = frame(50, 1)
    after = merged.partial_fit(later, y + later["a"])
    before = merge(*(part.partial_fit(later, y + later["a"]) for part in parts))
    assert same_forest(before.forest_, after.forest_)


def test_a_merged_forest_is_saved_and_loaded() -> None:
    merged = merge(*forests())
    file = io.BytesIO()
    hedgerow.save(merged, file)
    file.seek(0)
    again = hedgerow.load(file)
    assert same_forest(merged.forest_, again.forest_)
    assert fitted_of(again).origins == fitted_of(merged).origins
    later = frame(50, 1)
    assert same_forest(again.partial_fit(*later).forest_, merged.partial_fit(*later).forest_)


def test_merging_leaves_the_forests_as_they_are() -> None:
    first, second, _ = forests()
    before = [first.predict_bounds(ROWS), second.predict_bounds(ROWS)]
    merge(first, second).partial_fit(*frame(50, 0))
    assert np.array_equal(before[0], first.predict_bounds(ROWS))
    assert np.array_equal(before[1], second.predict_bounds(ROWS))


def test_cuts_that_no_tree_uses_can_be_left_out() -> None:
    forest = forests()[2]
    few = cuts_in_use(forest.forest_, fitted_of(forest).bins)
    assert len(few.cuts) < len(fitted_of(forest).bins.cuts)
    back = join_bins(few, fitted_of(forest).bins, fitted_of(forest).schema)
    assert np.array_equal(back.cuts, fitted_of(forest).bins.cuts)
    assert same_forest(move_codes(forest.forest_, fitted_of(forest).bins, back), forest.forest_)


def test_where_codes_run_out_only_cuts_in_use_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = [RandomForestClassifier(3, random_state=i, max_depth=4).fit(*frame(150, i)) for i in range(2)]
    whole = merge(*parts)
    monkeypatch.setattr(join, "MOST_BINS", 150)
    merged = merge(*parts)
    assert len(fitted_of(merged).bins.cuts) < len(fitted_of(whole).bins.cuts)
    assert np.array_equal(merged.apply(ROWS), whole.apply(ROWS))
    monkeypatch.setattr(join, "MOST_BINS", 3)
    with pytest.raises(ValueError, match="must have at most 2 bin edges per feature"):
        merge(*parts)


def test_what_cannot_be_merged_says_so() -> None:
    X, y = frame(100, 0)
    forest = RandomForestClassifier(2).fit(X, y)
    with pytest.raises(TypeError, match="forests to be merged must be forests of hedgerow, got DecisionTreeClassifier"):
        merge(DecisionTreeClassifier().fit(X, y), DecisionTreeClassifier().fit(X, y))
    with pytest.raises(TypeError, match="got PairwiseTreesClassifier"):
        merge(PairwiseTreesClassifier().fit(X, y), PairwiseTreesClassifier().fit(X, y))
    with pytest.raises(TypeError, match="must be of one class, got RandomForestClassifier and ExtraTrees"):
        merge(forest, ExtraTreesClassifier(2).fit(X, y))
    with pytest.raises(ValueError, match="must have the same columns, got"):
        merge(forest, RandomForestClassifier(2).fit(X.rename(columns={"a": "d"}), y))
    with pytest.raises(ValueError, match="must have the same columns, got 4 and 3"):
        merge(forest, RandomForestClassifier(2).fit(X[["a", "b", "c"]], y))
    trees = [RandomDecisionTreesClassifier(5, random_state=0).fit(X[rows], y[rows]) for rows in (y < 9, y < 1)]
    with pytest.raises(ValueError, match="Column 'colour' must have the same categories in merged forests"):
        merge(*trees)
    whole, real = (X.assign(colour=pd.Categorical(np.arange(100) % 3 + shift)) for shift in (0, 0.5))
    numbered = [RandomForestClassifier(2).fit(table, y) for table in (whole, real)]
    with pytest.raises(ValueError, match="Column 'colour' must have categories of one type"):
        merge(*numbered)
    with pytest.raises(ValueError, match="Column 'a' must have one type"):
        merge(forest, RandomForestClassifier(2).fit(X.assign(a="x"), y))
    with pytest.raises(ValueError, match="classes must have the same type in forests to be merged"):
        merge(forest, RandomForestClassifier(2).fit(X, y.astype(str)))
    with pytest.raises(ValueError, match="criterion must be the same in forests to be merged"):
        merge(RandomForestRegressor(2).fit(X, y), RandomForestRegressor(2, criterion="poisson").fit(X, y + 1))


@pytest.mark.parametrize("times", [1, 6], ids=["bits", "lists"])
@pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesClassifier])
def test_categories_that_a_forest_does_not_know_go_where_they_went(kind: type, times: int) -> None:
    random = np.random.default_rng(0)
    names = np.array([f"c{number:04}" for number in range(200 * times)])
    parts, everything = [], []
    # Words of 64 categories: 2, 1 and 2, or 7, 2 and 10.
    for seed, some in enumerate((names[: 70 * times], names[60 * times : 75 * times], names[5::2])):
        X = pd.DataFrame({"place": random.choice(some, 300 * times), "x": random.normal(size=300 * times)})
        X.loc[random.random(300 * times) < 0.1, "place"] = None
        y = (X["x"] + X["place"].isin(names[::3]) + X["place"].isna() > 0.5).to_numpy().astype(int)
        parts.append(kind(4, random_state=seed).fit(X, y))
        everything.append((X, y))
    rows = pd.DataFrame({"place": [*names, None, "elsewhere"], "x": random.normal(size=len(names) + 2)})
    merged = merge(*parts)
    assert merged.forest_.structure.has_lists == (times > 1)
    assert np.array_equal(merged.apply(rows), np.concatenate([part.apply(rows) for part in parts], axis=1))
    other = merge(parts[0], merge(parts[1], parts[2]))
    assert same_forest(merged.forest_, other.forest_)
    assert fitted_of(merged).schema == fitted_of(other).schema
    file = io.BytesIO()
    hedgerow.save(merged, file)
    file.seek(0)
    assert np.array_equal(hedgerow.load(file).predict_bounds(rows), merged.predict_bounds(rows))
    after = merged.partial_fit(*everything[1])
    before = merge(*(part.partial_fit(*everything[1]) for part in parts))
    assert same_forest(before.forest_, after.forest_)
