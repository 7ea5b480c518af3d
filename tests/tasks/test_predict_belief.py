"""Belief that a target, or the probability of a class, lies in an interval."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import hedgerow
from hedgerow import DecisionTreeClassifier, DecisionTreeRegressor, RandomForestClassifier, RandomForestRegressor
from hedgerow.inference.fitted import fitted_of
from hedgerow.labels import from_sets

Floats = NDArray[np.float64]
ENDS = st.floats(-4, 4)


def table(n_rows: int = 80) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 3))
    return X, X[:, 0] + rng.normal(size=n_rows).round(1)


X, Y = table()
NUMBERS = RandomForestRegressor(12, min_samples_leaf=3, caution=1.5, random_state=0).fit(X, Y)
CLASSES = RandomForestClassifier(12, min_samples_leaf=3, caution=1.5, random_state=0).fit(
    X, np.digitize(Y, [-0.5, 0.5])
)


LEAVES = NUMBERS.apply(X)
TIMES = [fitted_of(NUMBERS).rows.bags.times(tree) for tree in range(12)]  # type: ignore[union-attr]


def leaves_of(row: int) -> list[list[float]]:
    """The training targets in the leaf of each tree, one by one."""
    pairs = zip(LEAVES.T, TIMES, strict=True)
    return [np.repeat(Y[at == at[row]], times[at == at[row]]).tolist() for at, times in pairs]


@given(ENDS, ENDS, st.integers(0, 79))
def test_masses_of_targets_and_of_their_range(one: float, other: float, row: int) -> None:
    """m({y}) = 1 / (n + s) and m([a, b]) = s / (n + s), summed over subsets and intersections, averaged over leaves."""
    low, high = sorted((one, other))
    focal = [[(y, y, 1.0) for y in leaf] + [(Y.min(), Y.max(), 1.5)] for leaf in leaves_of(row)]
    belief = np.mean(
        [sum(m for a, b, m in each if low <= a and b <= high) / sum(m for *_, m in each) for each in focal]
    )
    plausible = np.mean(
        [sum(m for a, b, m in each if a <= high and low <= b) / sum(m for *_, m in each) for each in focal]
    )
    assert NUMBERS.predict_belief(X[row][None], (low, high))[0] == pytest.approx([belief, plausible], abs=1e-12)


def test_belief_in_an_interval_and_plausibility_of_the_rest_are_one() -> None:
    for cut in (-1.0, 0.05, 1.3):
        below = NUMBERS.predict_belief(X, (-np.inf, cut))
        above = NUMBERS.predict_belief(X, (np.nextafter(cut, np.inf), np.inf))
        assert below[:, 0] + above[:, 1] == pytest.approx(np.ones(len(X)))


def test_bounds_of_the_mean_are_integrals_of_belief() -> None:
    """The lower mean is the smallest target plus the integral of the belief that the target is above t."""
    cuts = np.unique(np.append(Y, [Y.min(), Y.max()]))
    widths = np.diff(cuts)
    for end in (0, 1):
        above = [NUMBERS.predict_belief(X, (np.nextafter(cut, np.inf), np.inf))[:, end] for cut in cuts[:-1]]
        mean = Y.min() + np.einsum("i,in->n", widths, np.array(above))
        assert NUMBERS.predict_bounds(X)[:, end] == pytest.approx(mean)


def test_without_caution_it_is_the_share_of_targets() -> None:
    tree = DecisionTreeRegressor(max_depth=2, caution=0, random_state=0).fit(X, Y)
    found = tree.predict_belief(X, (-0.5, 0.5))
    at = tree.apply(X)
    share = [np.mean((Y[at == leaf] >= -0.5) & (Y[at == leaf] <= 0.5)) for leaf in at]
    assert found == pytest.approx(np.column_stack([share, share]))


def test_loaded_models_need_their_rows(tmp_path: Any) -> None:
    for leaf_rows in (True, False):
        forest = RandomForestRegressor(5, leaf_rows=leaf_rows, random_state=0).fit(X, Y)
        hedgerow.save(forest, tmp_path / "m.hedge")
        loaded = hedgerow.load(tmp_path / "m.hedge")
        if leaf_rows:
            assert loaded.predict_belief(X, (0, 1)).tolist() == forest.predict_belief(X, (0, 1)).tolist()
        else:
            with pytest.raises(ValueError, match="leaf_rows"):
                loaded.predict_belief(X, (0, 1))


@pytest.mark.parametrize("weights", ["equal", "size", "precision"])
@given(low=st.floats(-0.1, 1.1), high=st.floats(-0.1, 1.1))
def test_intervals_of_leaves(weights: str, low: float, high: float) -> None:
    low, high = sorted((low, high))
    counts = CLASSES.evidence(X[:9]).counts
    n = counts.sum(axis=2)
    mass = {"equal": np.ones(n.shape), "size": n, "precision": n / (n + 1.5)}[weights]
    mass = mass / mass.sum(axis=1, keepdims=True)
    lower, upper = counts / (n + 1.5)[:, :, None], (counts + 1.5) / (n + 1.5)[:, :, None]
    belief = (mass[:, :, None] * ((lower >= low) & (upper <= high))).sum(axis=1)
    plausible = (mass[:, :, None] * ((upper >= low) & (lower <= high))).sum(axis=1)
    found = CLASSES.predict_belief(X[:9], (low, high), weights=weights)
    assert found == pytest.approx(np.stack([belief, plausible], axis=2))


def test_half_to_one_is_the_rule_belief() -> None:
    forest = RandomForestClassifier(15, min_samples_leaf=3, caution=0.7, rule="belief", random_state=0).fit(X, Y > 0)
    found = forest.predict_belief(X, (0.5, 1))
    assert found == pytest.approx(forest.predict_bounds(X))  # a caution of 0.7 makes no ties


def test_masses_of_uncertain_labels_widen_the_intervals_of_leaves() -> None:
    labels = from_sets([{"a"}] * 2 + [{"a", "b"}] * 100)
    tree = DecisionTreeClassifier(caution=1.0).fit([[0.0]] * 102, labels)  # a: from 2/103 to 1, b: from 0 to 101/103
    for interval, of_a, of_b in [((0.5, 1), [0, 1], [0, 1]), ((0.01, 1), [1, 1], [0, 1]), ((0, 0.99), [0, 1], [1, 1])]:
        assert tree.predict_belief([[0.0]], interval)[0].tolist() == [of_a, of_b]


def test_half_to_one_is_the_rule_belief_with_uncertain_labels() -> None:
    labels = from_sets([{"a", "b"} if row % 3 == 0 else "ab"[int(y > 0)] for row, y in enumerate(Y)])
    forest = RandomForestClassifier(15, min_samples_leaf=3, caution=0.7, rule="belief", random_state=0).fit(X, labels)
    rows = np.vstack([X, np.full((1, 3), np.nan)])  # the last one reaches many leaves
    found, bounds = forest.predict_belief(rows, (0.5, 1)), forest.evidence(rows).combine()
    assert found == pytest.approx(np.stack([bounds.lower, bounds.upper], axis=2))
    assert (found[:, :, 1] - found[:, :, 0]).max() > 0.3


def test_several_outputs_have_a_list() -> None:
    numbers = RandomForestRegressor(5, random_state=0).fit(X, np.column_stack([Y, -Y]))
    assert [each.shape for each in numbers.predict_belief(X, (0, 1))] == [(80, 2)] * 2
    classes = RandomForestClassifier(5, random_state=0).fit(X, np.column_stack([Y > 0, Y > 1]))
    assert [each.shape for each in classes.predict_belief(X, (0, 0.5))] == [(80, 2, 2)] * 2


@pytest.mark.parametrize("interval", [(1, 0), (0,), "ab", None, (np.nan, 1), (0, 1, 2)])
def test_wrong_intervals(interval: Any) -> None:
    for model in (NUMBERS, CLASSES):
        with pytest.raises(ValueError, match="interval must be two ascending numbers"):
            model.predict_belief(X, interval)
