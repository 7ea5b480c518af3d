"""Cells that are intervals, sets or distributions: answers are those of all values together, computed one by one."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

from hedgerow import (
    DecisionTreeClassifier,
    PairwiseTreesClassifier,
    RandomDecisionTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    UncertainTable,
)

RULES = ["average", "laplace", "dempster", "belief", "vote", "interval_average", "cautious", "median"]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 60, 200).astype(float),
            "colour": pd.Categorical(rng.choice(["red", "blue", "green"], 200)),
            "dose": rng.integers(0, 5, 200).astype(float),
        }
    )
    y = (frame.age + 10 * (frame.colour == "red") + 8 * frame.dose + rng.normal(0, 8, 200)).to_numpy()
    return frame, y, np.array(["low", "middle", "high"])[np.digitize(y, [45, 65])]


@pytest.fixture(scope="module")
def forest(table):
    frame, _, labels = table
    return RandomForestClassifier(12, min_samples_leaf=3, random_state=0, caution=1.0).fit(frame, labels)


def with_values(frame, row, **values):
    """The row of a frame with other values, as a frame of one row."""
    one = frame.iloc[[row]].copy()
    for column, value in values.items():
        one[column] = pd.Categorical([value], categories=frame[column].cat.categories) if column == "colour" else value
    return one


@pytest.mark.parametrize("rule", RULES)
def test_a_set_is_the_envelope_of_its_values_and_a_distribution_their_mean(forest, table, rule):
    frame = table[0].iloc[:3]
    forest.set_params(rule=rule)
    rows = UncertainTable(
        frame, {(0, "colour"): {"red", "blue"}, (1, "colour"): {"red": 3, "green": 1}, (1, "dose"): {0.0, 4.0}}
    )
    bounds, said, sure = forest.predict_bounds(rows), forest.predict_proba(rows), forest.predict_confidence(rows)

    two = [with_values(frame, 0, colour=colour) for colour in ("red", "blue")]
    both = np.array([forest.predict_bounds(one)[0] for one in two])
    np.testing.assert_allclose(bounds[0], np.stack([both[..., 0].min(axis=0), both[..., 1].max(axis=0)], axis=1))
    np.testing.assert_allclose(said[0], np.mean([forest.predict_proba(one)[0] for one in two], axis=0))

    low, high, mean = 0, 0, 0
    for colour, weight in (("red", 0.75), ("green", 0.25)):
        doses = [with_values(frame, 1, colour=colour, dose=dose) for dose in (0.0, 4.0)]
        each = np.array([forest.predict_bounds(one)[0] for one in doses])
        low, high = low + weight * each[..., 0].min(axis=0), high + weight * each[..., 1].max(axis=0)
        mean = mean + weight * np.mean([forest.predict_proba(one)[0] for one in doses], axis=0)
    np.testing.assert_allclose(bounds[1], np.stack([low, np.minimum(high, 1)], axis=1))
    np.testing.assert_allclose(said[1], mean)

    np.testing.assert_array_equal(said[2], forest.predict_proba(frame)[2])  # certain rows keep their bits
    np.testing.assert_array_equal(bounds[2], forest.predict_bounds(frame)[2])
    np.testing.assert_allclose(sure, said.max(axis=1))
    assert (bounds[:, :, 0] <= said + 1e-12).all()
    assert (said <= bounds[:, :, 1] + 1e-12).all()
    forest.set_params(rule="average")


def test_a_row_goes_down_every_branch_with_its_share():
    """By hand: a tree on two numbers, one of them an interval; the share of a branch is its share of the interval."""
    X = np.array([[x, z] for x, z in product(range(6), range(4))], dtype=float)
    y = (X[:, 0] * 2 + X[:, 1] > 6).astype(int)
    tree = DecisionTreeClassifier(max_depth=3).fit(X, y)
    structure, shares = tree.tree_, tree.tree_.value[:, 0] / tree.tree_.value[:, 0].sum(axis=1, keepdims=True)

    def down(node, low, high, z):
        if structure.children_left[node] < 0:
            return shares[node]
        left, right, at = structure.children_left[node], structure.children_right[node], structure.threshold[node]
        if structure.feature[node] == 1:
            return down(left if z <= at else right, low, high, z)
        inside = np.clip((at - low) / (high - low), 0, 1)
        said = np.zeros(2)
        if inside > 0:
            said = said + inside * down(left, low, min(high, at), z)
        if inside < 1:
            said = said + (1 - inside) * down(right, max(low, at), high, z)
        return said

    for z in range(4):
        rows = UncertainTable([[np.nan, z]], {(0, 0): (0.3, 4.8)})
        np.testing.assert_allclose(tree.predict_proba(rows)[0], down(0, 0.3, 4.8, z))


def test_evidence_says_how_much_is_certain(forest, table):
    """The less is known of a cell, the wider the bounds; with all of it known they are those of the row."""
    row = table[0].iloc[[5]].reset_index(drop=True)
    age = float(row.age[0])
    widths = []
    for reach in (0, 3, 10, np.inf):
        bounds = forest.predict_bounds(UncertainTable(row, {(0, "age"): (age - reach, age + reach)}))
        widths.append(np.diff(bounds, axis=2).ravel())
    np.testing.assert_array_equal(widths[0], np.diff(forest.predict_bounds(row), axis=2).ravel())
    assert (np.diff(widths, axis=0) >= -1e-12).all()
    assert (widths[-1] > widths[0]).any()


def test_groups_of_a_distribution_may_be_intervals(forest, table):
    row = table[0].iloc[[7]].reset_index(drop=True)
    parts = {(25.0, 30.0): 0.7, (30.0, 55.0): 0.3}
    bounds = forest.predict_bounds(UncertainTable(row, {(0, "age"): parts}))[0]
    alone = [forest.predict_bounds(UncertainTable(row, {(0, "age"): part}))[0] for part in parts]
    np.testing.assert_allclose(bounds, 0.7 * alone[0] + 0.3 * alone[1])


@pytest.mark.parametrize("nothing", [{}, {(0, "age"): {41.0}}, {(0, "age"): (41.0, 41.0)}, {(0, "age"): {41.0: 2.0}}])
def test_a_cell_of_one_value_is_certain(forest, table, nothing):
    row = with_values(table[0], 0, age=41.0).reset_index(drop=True)
    rows = UncertainTable(row, nothing)
    np.testing.assert_allclose(forest.predict_bounds(rows), forest.predict_bounds(row), rtol=1e-15)
    np.testing.assert_allclose(forest.predict_proba(rows), forest.predict_proba(row), rtol=1e-15)
    np.testing.assert_array_equal(forest.predict_set(rows), forest.predict_set(row))
    np.testing.assert_array_equal(forest.predict(rows), forest.predict(row))


def test_sets_follow_the_bounds(forest, table):
    row = table[0].iloc[[3]].reset_index(drop=True)
    anything = {(0, "age"): (-np.inf, np.inf), (0, "colour"): {"red", "blue", "green"}, (0, "dose"): {0, 1, 2, 3, 4}}
    labels, sets = forest.predict(UncertainTable(row, anything), return_set=True)
    assert sets.all()
    assert labels[0] in forest.classes_


def test_what_x_has_in_the_cell_does_not_matter(forest, table):
    row = table[0].iloc[[3]].reset_index(drop=True)
    cells = {(0, "colour"): {"red", "blue"}, (0, "age"): (30.0, 31.0)}
    blank = row.astype({"colour": object})
    blank.loc[0, "colour"], blank.loc[0, "age"] = "never seen", 9000.0
    np.testing.assert_array_equal(
        forest.predict_bounds(UncertainTable(blank, cells)), forest.predict_bounds(UncertainTable(row, cells))
    )


def test_another_value_that_is_unknown_still_opens_the_answer(forest, table):
    row = table[0].iloc[[3]].reset_index(drop=True)
    far = row.assign(dose=1e6)
    cells = {(0, "colour"): {"red", "blue"}}
    each = [forest.predict_bounds(with_values(far, 0, colour=colour))[0] for colour in ("red", "blue")]
    wide = forest.predict_bounds(UncertainTable(far, cells))[0]
    np.testing.assert_allclose(wide[:, 0], np.min(each, axis=0)[:, 0])
    np.testing.assert_allclose(wide[:, 1], np.max(each, axis=0)[:, 1])


def test_regressors_give_the_mean_and_the_bounds(table):
    frame, y, _ = table
    forest = RandomForestRegressor(10, min_samples_leaf=3, random_state=0, caution=1.0).fit(frame, y)
    rows = UncertainTable(frame.iloc[:2], {(0, "dose"): {0.0: 0.5, 4.0: 0.5}, (1, "dose"): {0.0, 4.0}})
    each = [frame.iloc[:2].assign(dose=dose) for dose in (0.0, 4.0)]
    np.testing.assert_allclose(forest.predict(rows), np.mean([forest.predict(one) for one in each], axis=0))
    bounds = np.array([forest.predict_bounds(one) for one in each])
    expected = [bounds[:, 0].mean(axis=0), [bounds[:, 1, 0].min(), bounds[:, 1, 1].max()]]
    np.testing.assert_allclose(forest.predict_bounds(rows), expected)
    interval = np.array([forest.predict_interval(one) for one in each])
    hull = np.column_stack([interval[..., 0].min(axis=0), interval[..., 1].max(axis=0)])
    np.testing.assert_allclose(forest.predict_interval(rows), hull)
    with pytest.raises(TypeError, match="certain"):
        forest.predict(rows, return_std=True)


def test_several_outputs(table):
    frame, y, labels = table
    both = RandomForestClassifier(5, random_state=0).fit(frame, np.column_stack([labels, y > 50]))
    rows = UncertainTable(frame.iloc[:1], {(0, "dose"): {0.0, 4.0}})
    each = [both.predict_proba(frame.iloc[:1].assign(dose=dose)) for dose in (0.0, 4.0)]
    for output, said in enumerate(both.predict_proba(rows)):
        np.testing.assert_allclose(said, (each[0][output] + each[1][output]) / 2)


def test_random_decision_trees_have_a_child_for_each_category(table):
    frame, _, labels = table
    trees = RandomDecisionTreesClassifier(20, random_state=0).fit(frame, labels)
    rows = UncertainTable(frame.iloc[:1], {(0, "colour"): {"red", "blue"}})
    each = [trees.predict_proba(with_values(frame, 0, colour=colour)) for colour in ("red", "blue")]
    np.testing.assert_allclose(trees.predict_proba(rows), (each[0] + each[1]) / 2)


def test_many_wide_cells_are_thinned_out_within_the_envelope():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 4))
    forest = RandomForestClassifier(10, random_state=0, calibration=None).fit(X, X.sum(axis=1) > 0)
    cells = {(0, feature): (-1.0, 1.0) for feature in range(4)}
    low, high = forest.predict_bounds(UncertainTable(X[:1], cells))[0, 1]
    inside = rng.uniform(-1, 1, size=(2000, 4))
    said = forest.predict_bounds(inside)[:, 1]
    assert (said[:, 0] >= low).mean() > 0.99
    assert (said[:, 1] <= high).mean() > 0.99
    proba = forest.predict_proba(UncertainTable(X[:1], cells))[0, 1]
    assert proba == pytest.approx(forest.predict_proba(inside)[:, 1].mean(), abs=0.02)


def test_questions_that_need_certain_cells_refuse(forest, table):
    frame, y, labels = table
    rows = UncertainTable(frame, {(0, "age"): (20, 30)})
    for ask in (forest.evidence, forest.predict_mass, forest.predict_uncertainty, forest.apply, forest.explain):
        with pytest.raises(TypeError, match="certain"):
            ask(rows)
    pairs = PairwiseTreesClassifier().fit(frame, labels)
    for ask in (pairs.predict, pairs.predict_proba, pairs.predict_set, pairs.predict_bounds):
        with pytest.raises(TypeError, match="certain"):
            ask(rows)
    with pytest.raises(TypeError, match="Use a forest or a tree of classes"):
        RandomForestRegressor(2).fit(rows, y)
    strict = RandomForestClassifier(5, random_state=0, novelty=0.05).fit(frame, labels)
    with pytest.raises(ValueError, match="novelty must be None"):
        strict.predict_set(rows)


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ({(0, "height"): (1, 2)}, "Columns of cells"),
        ({(0, 3): (1, 2)}, "Columns of cells"),
        ({(999, "age"): (1, 2)}, "Rows of cells"),
        ({"age": (1, 2)}, "must be .row, column."),
        ({(0, "age"): (2, 1)}, "low <= high"),
        ({(0, "age"): (1, 2, 3)}, "two numbers"),
        ({(0, "age"): ("a", "b")}, "two numbers"),
        ({(0, "age"): (np.nan, 2)}, "low <= high"),
        ({(0, "age"): "young"}, "must be numbers"),
        ({(0, "age"): set()}, "must not be empty"),
        ({(0, "age"): {}}, "not all zero"),
        ({(0, "age"): {30: -1, 40: 2}}, ">= 0"),
        ({(0, "age"): {30: 0}}, "not all zero"),
        ({(0, "colour"): {"red", "mauve"}}, "categories of the training table"),
        ({(0, f): dict.fromkeys(range(100), 1) for f in ("age", "dose")}, "at most 4096"),
    ],
)
def test_bad_cells_are_refused_in_words(forest, table, cells, said):
    with pytest.raises(ValueError, match=said):
        forest.predict_proba(UncertainTable(table[0], cells))


def test_cells_must_be_a_dict(forest, table):
    with pytest.raises(TypeError, match="must be a dict"):
        forest.predict_proba(UncertainTable(table[0], [(0, "age")]))
