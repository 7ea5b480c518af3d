"""Fits to uncertain cells: entries share a row, leaves count rows, bounds hold for all values."""

from __future__ import annotations

import io
import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_iris

import hedgerow
from hedgerow import (
    DecisionTreeClassifier,
    ExtraTreesClassifier,
    MixedForestClassifier,
    PairwiseTreesClassifier,
    RandomDecisionTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    UncertainTable,
)
from hedgerow.belief.leaf import idm_bounds
from hedgerow.export import to_onnx
from hedgerow.forest.add import counted_entries
from hedgerow.forest.rows import Bags, Entries
from hedgerow.inference.fitted import fitted_of
from hedgerow.table.uncertain import values_of

X, Y = load_iris(return_X_y=True)
X, Y = X[::2], Y[::2]
CELLS = {(row, k): (X[row, k] - 0.4, X[row, k] + 0.6) for row in range(0, 75, 4) for k in (2, 3)}


def tree_on(cells: dict[Any, Any], values: Any, y: Any, **parameters: Any) -> Any:
    """A tree fitted to a table with uncertain cells."""
    return DecisionTreeClassifier(random_state=0, **parameters).fit(UncertainTable(values, cells), y)


def forest_like(model: Any, cells: dict[Any, Any], values: Any, y: Any) -> Any:
    """The trees of a model without bags, whose leaves count rows with other cells; shares are not refined."""
    fitted = fitted_of(model)
    codes, rows, groups, shares = [], [], [], []
    for row in range(len(values)):
        known = [
            values_of(cells.get((row, k), float(values[row, k])), k, fitted.bins, fitted.codebook)
            for k in range(values.shape[1])
        ]
        found = {}
        for each in itertools.product(*(range(len(one.codes)) for one in known)):
            group = tuple(int(one.group[at]) for one, at in zip(known, each, strict=True))
            share = float(np.prod([one.shares[at] for one, at in zip(known, each, strict=True)]))
            found.setdefault(group, []).append(([one.codes[at] for one, at in zip(known, each, strict=True)], share))
        for number, group in enumerate(sorted(found)):
            for code, share in found[group]:
                codes.append(code)
                rows.append(row)
                groups.append(1000 * row + number)
                shares.append(share)
    kept = np.array(codes, dtype=fitted.bins.code_type).T
    entries = Entries(
        np.ascontiguousarray(kept), np.array(rows), np.unique(groups, return_inverse=True)[1], np.array(shares)
    )
    bags = Bags(n_rows=len(rows))
    return counted_entries(fitted.forest, entries, y.astype(np.uint16), np.ones(len(y)), int(y.max()) + 1, bags, 1)


def bounds_of(forest: Any, caution: float = 1.0) -> Any:
    """Bounds of each leaf, (L, K, 2), by the extended imprecise Dirichlet model."""
    belief, plausible, total = forest.evidence.masses.read()
    n_rows = forest.evidence.rows
    np.testing.assert_allclose(total, n_rows)
    room = (n_rows + caution)[:, None]
    return np.stack([belief / room, (plausible + caution) / room], axis=2)


# ---- certain cells -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model", [DecisionTreeClassifier(), RandomForestClassifier(5), MixedForestClassifier(6)], ids=str
)
def test_cells_of_one_value_are_certain(model):
    model = clone(model).set_params(random_state=0)
    plain = model.fit(X, Y).predict_bounds(X)
    hidden = X.copy()
    hidden[[0, 1, 2, 3], [0, 1, 2, 3]] = np.nan  # ignored
    single = {(0, 0): (X[0, 0], X[0, 0]), (1, 1): {X[1, 1]}, (2, 2): {X[2, 2]: 1.0}, (3, 3): X[3, 3]}
    np.testing.assert_array_equal(model.fit(UncertainTable(hidden, single), Y).predict_bounds(X), plain)
    np.testing.assert_array_equal(model.fit(UncertainTable(X, {}), Y).predict_bounds(X), plain)
    inside_one_bin = {(0, 0): {X[0, 0]: 0.5, (X[0, 0], X[0, 0] + 1e-9): 0.5}}
    np.testing.assert_array_equal(model.fit(UncertainTable(X, inside_one_bin), Y).predict_bounds(X), plain)


def test_data_frames_are_filled_column_by_column():
    frame = pd.DataFrame({"dose": [1, 2, 3, 4] * 5, "colour": ["red", "blue"] * 10})
    y = ["no", "no", "yes", "yes"] * 5
    plain = RandomForestClassifier(5, random_state=0).fit(frame, y)
    hidden = frame.copy()
    hidden.loc[3, "dose"] = -99
    cells = {(3, "dose"): (4, 4), (2, "colour"): {"red"}}
    same = RandomForestClassifier(5, random_state=0).fit(UncertainTable(hidden, cells), y)
    np.testing.assert_array_equal(same.predict_bounds(frame), plain.predict_bounds(frame))
    unsure = RandomForestClassifier(5, random_state=0).fit(UncertainTable(frame, {(1, "colour"): {"red", "blue"}}), y)
    assert unsure.predict_set(frame).shape == (20, 2)


# ---- what leaves count ---------------------------------------------------------------------------------------


def test_a_row_counts_in_every_leaf_it_may_reach_and_is_evidence_only_where_it_must_be():
    values, y = np.array([[0.0], [0.0], [9.0], [9.0], [4.0]]), np.array([0, 0, 1, 1, 0])
    tree = tree_on({(4, 0): (0, 9)}, values, y, label_rounds=0)
    bounds = tree.predict_bounds([[0.0], [9.0]])
    # Two rows of class 0 and one that may be there: 0 in [2/4, 4/4]; two of class 1 and one that may be there.
    np.testing.assert_allclose(bounds[0, 0], [2 / 4, 1.0])
    np.testing.assert_allclose(bounds[1, 1], [2 / 4, 1.0])
    assert tree.evidence([[0.0], [9.0]]).counts.sum(axis=2).tolist() == [[3.0], [3.0]]
    probable = tree_on({(4, 0): {0: 0.75, 9: 0.25}}, values, y, label_rounds=0).predict_bounds([[0.0], [9.0]])
    np.testing.assert_allclose(probable[0, 0], [2.75 / 4, 1.0])
    np.testing.assert_allclose(probable[1, 0], [0.25 / 4, 2 / 4])


@given(st.integers(0, 10**6))
@settings(max_examples=15)
def test_bounds_contain_those_of_all_completions(seed):
    rng = np.random.default_rng(seed)
    values, y = rng.integers(0, 5, (7, 2)).astype(float), rng.integers(0, 2, 7)
    y[:2] = [0, 1]
    cells = {(0, 0): (0, 3), (3, 1): {1.0, 4.0}, (5, 0): {0.0: 0.5, (2, 4): 0.5}}
    model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(values, y)
    forest, fitted = forest_like(model, cells, values, y), fitted_of(model)
    found = bounds_of(forest)
    known = {place: values_of(cell, place[1], fitted.bins, fitted.codebook) for place, cell in cells.items()}
    codes = np.searchsorted  # the codes of certain cells are those of the fit
    plain = fitted_of(model).rows.codes if fitted.rows is not None else None
    if plain is None:
        plain = np.stack([codes(fitted.bins.cuts_of(k), values[:, k]) for k in range(2)]).astype(fitted.bins.code_type)
    lower, upper = np.zeros(found.shape[:2]), np.zeros(found.shape[:2])
    for group in itertools.product(*(np.unique(each.group) for each in known.values())):
        inside = [np.flatnonzero(each.group == of) for each, of in zip(known.values(), group, strict=True)]
        weight = np.prod([each.shares[at].sum() for each, at in zip(known.values(), inside, strict=True)])
        every = []
        for chosen in itertools.product(*inside):
            completed = plain.copy()
            for (row, k), each, at in zip(known, known.values(), chosen, strict=True):
                completed[k, row] = each.codes[at]
            leaves = fitted.forest.leaves(np.ascontiguousarray(completed), 1)[:, 0]
            counts = np.zeros(found.shape[:2])
            np.add.at(counts, (leaves, y), 1)
            every.append(idm_bounds(counts, 1.0))
        lower += weight * np.min([each[0] for each in every], axis=0)
        upper += weight * np.max([each[1] for each in every], axis=0)
    assert (found[:, :, 0] <= lower + 1e-12).all()
    assert (found[:, :, 1] >= upper - 1e-12).all()


@given(st.integers(0, 10**6))
@settings(max_examples=15)
def test_a_wider_cell_never_narrows_bounds(seed):
    rng = np.random.default_rng(seed)
    values, y = rng.normal(size=(12, 2)), rng.integers(0, 3, 12)
    y[:3] = [0, 1, 2]
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(values, y)
    low, more = values[4, 0] - rng.random(), rng.random(4)
    chain = [{}, {(4, 0): (low, values[4, 0])}, {(4, 0): (low - more[0], values[4, 0] + more[1])}]
    chain.append(chain[-1] | {(7, 1): (values[7, 1] - more[2], values[7, 1] + more[3])})
    bounds = [bounds_of(forest_like(model, cells, values, y)) for cells in chain]
    for narrow, wide in itertools.pairwise(bounds):
        assert (wide[:, :, 0] <= narrow[:, :, 0] + 1e-12).all()
        assert (wide[:, :, 1] >= narrow[:, :, 1] - 1e-12).all()


@pytest.mark.parametrize("leaf_counts", ["all", "inbag", "distinct"])
def test_all_entries_of_a_row_are_in_a_bag_or_none(leaf_counts):
    model = RandomForestClassifier(6, leaf_counts=leaf_counts, max_depth=1, calibration=None, random_state=0)
    model.fit(UncertainTable(X, CELLS), Y)
    rows, evidence = fitted_of(model).rows, model.forest_.evidence
    certain = rows.entries.certain
    for tree in range(6):
        times = rows.bags.counted(tree, 0, len(X))
        times = np.ones(len(X)) if times is None else times
        held = evidence.between(*model.forest_.leaf_start[tree : tree + 2])
        assert times[certain].sum() <= held.rows.sum() <= times.sum() + times[~certain].sum()
        np.testing.assert_allclose(held.amount.sum(), times.sum())  # weights of entries sum to those of rows
        np.testing.assert_allclose(held.masses.read()[2], held.rows)


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(8, oob_score=True, caution="auto"),
        RandomForestClassifier(8, criterion="belief", rule="belief", class_weight="balanced"),
        ExtraTreesClassifier(8, bootstrap=True, calibration="oob", class_weight="balanced_subsample"),
        RandomDecisionTreesClassifier(8),
        MixedForestClassifier(6),
        DecisionTreeClassifier(min_samples_leaf=3),
    ],
    ids=str,
)
def test_bounds_contain_probabilities_and_are_wider_than_those_of_typical_values(model):
    model = clone(model).set_params(random_state=0).fit(UncertainTable(X, CELLS), Y)
    bounds, probability = model.predict_bounds(X), model.predict_proba(X)
    assert (bounds[:, :, 0] <= probability + 1e-9).all()
    assert (probability <= bounds[:, :, 1] + 1e-9).all()
    assert np.mean(model.predict(X) == Y) > 0.9
    known = bounds[:, :, 1] - bounds[:, :, 0]
    plain = model.fit(X, Y).predict_bounds(X)
    assert known.mean() > (plain[:, :, 1] - plain[:, :, 0]).mean()


def test_weights_of_rows_and_groups_are_those_of_their_entries():
    weight = np.where(np.arange(75) % 5 == 1, 0.0, 1.0 + np.arange(75) % 2)
    patients = np.arange(75) // 3
    model = RandomForestClassifier(5, calibration=None, random_state=0)
    model.fit(UncertainTable(X, CELLS), Y, sample_weight=weight, groups=patients)
    rows = fitted_of(model).rows
    assert rows.n_rows == (weight > 0).sum()
    units = rows.entries.units(rows.bags.groups)
    np.testing.assert_array_equal(units.of_row, rows.bags.groups.of_row[rows.entries.row])
    again = RandomForestClassifier(5, calibration=None, random_state=0)
    again.fit(UncertainTable(X, CELLS), Y, sample_weight=weight, groups=patients)
    np.testing.assert_array_equal(again.predict_bounds(X), model.predict_bounds(X))


# ---- refining ------------------------------------------------------------------------------------------------


def test_rounds_move_weight_to_values_that_agree_with_the_class():
    rng = np.random.default_rng(0)
    values = rng.random((300, 2))
    y = (values[:, 0] > 0.5).astype(int)
    unsure = np.arange(0, 300, 3)
    cells = {(row, 0): (0.0, 1.0) for row in unsure.tolist()}
    found = {}
    for rounds in (0, 5):
        model = RandomForestClassifier(5, label_rounds=rounds, random_state=0).fit(UncertainTable(values, cells), y)
        entries, cuts = fitted_of(model).rows.entries, fitted_of(model).bins.cuts_of(0)
        right = (entries.codes[0] > np.searchsorted(cuts, 0.5)) == (y[entries.row] == 1)
        found[rounds] = np.bincount(entries.row, entries.weight * right)[unsure].mean()
        np.testing.assert_allclose(np.bincount(entries.row, entries.weight), 1.0)
    assert 0.4 < found[0] < 0.6
    assert found[5] > 0.7


def test_rounds_leave_the_probabilities_of_a_distribution():
    cells = {(row, 2): {1.5: 0.25, 5.0: 0.75} for row in range(0, 75, 5)}
    model = RandomForestClassifier(3, random_state=0).fit(UncertainTable(X, cells), Y)
    entries = fitted_of(model).rows.entries
    several = ~entries.certain[entries.row]
    np.testing.assert_allclose(entries.weight[several].reshape(-1, 2), np.tile([0.25, 0.75], (15, 1)))


def test_many_uncertain_cells_are_drawn_evenly():
    cells = {(0, k): (X[:, k].min(), X[:, k].max()) for k in range(4)}
    model = DecisionTreeClassifier(label_rounds=0, random_state=0).fit(UncertainTable(X, cells), Y)
    assert model.tree_.n_leaves > 1
    one = RandomForestClassifier(2, label_rounds=0, random_state=0).fit(UncertainTable(X, cells), Y)
    entries = fitted_of(one).rows.entries
    of_row = entries.codes[:, entries.row == 0]
    assert of_row.shape[1] == 32
    for k in range(4):  # each quarter of a cell has a quarter of the draws
        quarter = np.searchsorted(np.linspace(X[:, k].min(), X[:, k].max(), 5)[1:-1], centres_of(one, k)[of_row[k]])
        assert (np.abs(np.bincount(quarter, minlength=4) - 8) <= 3).all()


def centres_of(model: Any, feature: int) -> Any:
    """The value in the middle of each bin of a feature."""
    bins = fitted_of(model).bins
    return bins.centers[bins.center_start[feature] : bins.center_start[feature + 1]]


# ---- files, updates, and what is not supported ---------------------------------------------------------------


def test_files_merging_and_later_rows_keep_the_bounds():
    model = RandomForestClassifier(4, calibration=None, random_state=0).fit(UncertainTable(X, CELLS), Y)
    stored = io.BytesIO()
    hedgerow.save(model, stored)
    stored.seek(0)
    np.testing.assert_array_equal(hedgerow.load(stored).predict_bounds(X), model.predict_bounds(X))
    other = RandomForestClassifier(4, calibration=None, random_state=1).fit(X, Y)
    merged = hedgerow.merge(model, other).predict_bounds(X)
    np.testing.assert_allclose(merged, (model.predict_bounds(X) + other.predict_bounds(X)) / 2, atol=1e-9)
    before = model.predict_bounds(X[:1])[0, Y[0]]
    model.partial_fit(np.tile(X[:1], (50, 1)), np.repeat(Y[:1], 50))
    after = model.predict_bounds(X[:1])[0, Y[0]]
    assert after[0] > before[0]
    assert after[1] - after[0] < before[1] - before[0]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda t: RandomForestRegressor(2).fit(t, Y), "Use a forest or a tree of classes"),
        (lambda t: PairwiseTreesClassifier().fit(t, Y), "Use a forest or a tree of classes"),
        (lambda t: RandomForestClassifier(2).fit(t, np.column_stack([Y, Y])), "Use a forest or a tree of classes"),
        (lambda t: RandomForestClassifier(2).fit(t, [{0, 1}] * 75), "uncertain labels and uncertain cells together"),
        (lambda t: RandomForestClassifier(2, leaf_counts="oob").fit(t, Y), "limit the depth instead"),
        (lambda t: RandomForestClassifier(2, ccp_alpha=0.1).fit(t, Y), "limit the depth instead"),
        (lambda t: RandomForestClassifier(2).fit(t, Y, checkpoint="folder"), "Fit all trees at once"),
        (lambda t: RandomForestClassifier(2, warm_start=True).fit(X, Y).fit(t, Y), "Fit all trees at once"),
        (
            lambda t: RandomForestClassifier(2).fit(X, Y).partial_fit(t, Y),
            "X must not have uncertain cells for this method",
        ),
        (lambda t: hedgerow.UnsupervisedForest(2).fit(t), "X must not have uncertain cells here"),
        (lambda t: to_onnx(RandomForestClassifier(2, random_state=0).fit(t, Y)), "uncertain labels or cells"),
        (lambda t: RandomForestClassifier(2).fit(UncertainTable(X, {(99, 0): (0, 1)}), Y), "Rows of cells must be"),
        (lambda t: RandomForestClassifier(2).fit(UncertainTable(X, {(0, 0): (2, 1)}), Y), "low <= high"),
    ],
)
def test_whatever_is_not_supported_says_so(call, words):
    with pytest.raises((TypeError, ValueError, NotImplementedError), match=words):
        call(UncertainTable(X, CELLS))
