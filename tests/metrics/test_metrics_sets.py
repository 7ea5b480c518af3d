"""Metrics of sets equal their definitions, and are numbers or None, never NaN."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from hedgerow import metrics

SHARED = [
    metrics.utility,
    metrics.u65,
    metrics.u80,
    metrics.discounted_accuracy,
    metrics.f_beta_of_sets,
    metrics.coverage,
    metrics.determinacy,
    metrics.single_set_accuracy,
    metrics.set_accuracy,
    metrics.mean_set_size,
]


@st.composite
def judged(draw: st.DrawFn, n_classes: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """-> y (n,), sets (n, K) without an empty row."""
    width = n_classes or draw(st.integers(1, 5))
    n_rows = draw(st.integers(1, 12))
    y = draw(arrays(np.int64, n_rows, elements=st.integers(0, width - 1)))
    sets = draw(arrays(bool, (n_rows, width)))
    sets[~sets.any(axis=1)] = True
    return y, sets


def exact_mean(values: list[Fraction]) -> float | None:
    """Rationals -> their mean, None of none."""
    return float(sum(values, Fraction(0)) / len(values)) if values else None


def by_definition(y: np.ndarray, sets: np.ndarray) -> dict[str, float | None]:
    """Each metric written out row by row in exact rationals."""
    rows = [(bool(chosen[label]), int(chosen.sum())) for label, chosen in zip(y, sets, strict=True)]
    d = [Fraction(int(hit), size) for hit, size in rows]
    return {
        "u65": exact_mean([Fraction(8, 5) * x - Fraction(3, 5) * x * x for x in d]),
        "u80": exact_mean([Fraction(11, 5) * x - Fraction(6, 5) * x * x for x in d]),
        "discounted_accuracy": exact_mean(d),
        "f_beta_of_sets": exact_mean([Fraction(2 * hit, size + 1) for hit, size in rows]),
        "coverage": exact_mean([Fraction(hit) for hit, _ in rows]),
        "determinacy": exact_mean([Fraction(size == 1) for _, size in rows]),
        "single_set_accuracy": exact_mean([Fraction(hit) for hit, size in rows if size == 1]),
        "set_accuracy": exact_mean([Fraction(hit) for hit, size in rows if size > 1]),
        "mean_set_size": exact_mean([Fraction(size) for _, size in rows if size > 1]),
    }


@settings(max_examples=100)
@given(judged())
def test_metrics_equal_their_definitions(case):
    y, sets = case
    for name, expected in by_definition(y, sets).items():
        value = getattr(metrics, name)(y, sets, classes=range(sets.shape[1]))
        assert value == (None if expected is None else pytest.approx(expected, abs=1e-14)), name


@settings(max_examples=100)
@given(judged(n_classes=2))
def test_for_two_classes_u65_follows_from_determinacy_and_single_set_accuracy(case):
    y, sets = case
    determinacy = metrics.determinacy(y, sets, classes=[0, 1])
    single = metrics.single_set_accuracy(y, sets, classes=[0, 1], otherwise=0.0)
    expected = 0.65 + determinacy * (single - 0.65)
    assert metrics.u65(y, sets, classes=[0, 1]) == pytest.approx(expected, abs=1e-14)


@settings(max_examples=60)
@given(judged(), st.data())
def test_a_weight_is_a_repetition(case, data):
    y, sets = case
    weight = data.draw(arrays(np.int64, len(y), elements=st.integers(0, 3)).filter(np.any))
    twice = np.repeat(y, weight), np.repeat(sets, weight, axis=0)
    for metric in SHARED:
        weighted = metric(y, sets, classes=range(sets.shape[1]), sample_weight=weight)
        repeated = metric(*twice, classes=range(sets.shape[1]))
        assert weighted == (None if repeated is None else pytest.approx(repeated, abs=1e-13)), metric.__name__


@settings(max_examples=60)
@given(judged())
def test_precise_predictions_are_judged_by_accuracy(case):
    y, sets = case
    single = np.arange(sets.shape[1]) == sets.argmax(axis=1)[:, None]
    accuracy = (sets.argmax(axis=1) == y).mean()
    for metric in [*SHARED[:6], metrics.single_set_accuracy]:
        assert metric(y, single, classes=range(sets.shape[1])) == pytest.approx(accuracy, abs=1e-14)


def test_utility_of_a_right_pair_is_z():
    for z in (0.5, 0.65, 0.8, 0.9):
        assert metrics.utility([0, 1], [[True, True], [True, True]], z=z) == pytest.approx(z)


@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_information_is_nothing_for_guesses_and_for_all_classes(n_classes):
    y = np.arange(n_classes)
    every = np.ones((n_classes, n_classes), dtype=bool)
    assert metrics.mic(y, every) == 0.0
    assert metrics.mic(y, np.eye(n_classes, dtype=bool)) == pytest.approx(np.log(n_classes))
    guesses = np.eye(n_classes, dtype=bool)[np.zeros(n_classes, dtype=int)]  # always the first class
    assert metrics.mic(y, guesses) == pytest.approx(0.0, abs=1e-12)
    pairs = np.eye(n_classes, dtype=bool) | np.roll(np.eye(n_classes, dtype=bool), 1, axis=1)
    assert metrics.mic(y, pairs) == pytest.approx(np.log(n_classes / 2))


def test_the_cost_of_a_set_by_hand():
    costs = [[0, 1, 4], [2, 0, 3], [9, 5, 0]]
    sets = [[True, False, True], [False, True, False], [True, True, True]]
    # true 0: (0 + 4) / 2; true 1: 0; true 2: (9 + 5 + 0) / 3
    assert metrics.set_cost([0, 1, 2], sets, costs) == pytest.approx((2 + 0 + 14 / 3) / 3)
    assert metrics.set_cost([0, 1, 2], sets, costs, sample_weight=[1, 0, 1]) == pytest.approx((2 + 14 / 3) / 2)
    assert metrics.set_cost(["c"], sets[2:], costs, classes=["a", "b", "c"]) == pytest.approx(14 / 3)
    one = 1 - np.eye(3)
    right = metrics.discounted_accuracy([2, 1, 2], sets, classes=range(3))
    assert metrics.set_cost([2, 1, 2], sets, one, classes=range(3)) == pytest.approx(1 - right)
    with pytest.raises(ValueError, match="costs must be finite"):
        metrics.set_cost([0, 1, 2], sets, np.eye(2))


def test_half_is_the_price_at_which_utility_is_discounted_accuracy():
    y, sets = [0, 1, 2], [[True, True, False], [False, True, False], [True, True, True]]
    assert metrics.utility(y, sets, z=0.5) == pytest.approx(metrics.discounted_accuracy(y, sets))


def test_beta_forgives_size():
    y, sets = [0, 1], [[True, True], [True, True]]
    values = [metrics.f_beta_of_sets(y, sets, beta=beta) for beta in (0, 1, 2)]
    assert values == pytest.approx([1 / 2, 2 / 3, 5 / 6])


@pytest.mark.parametrize("metric", [metrics.set_accuracy, metrics.mean_set_size])
def test_without_indeterminate_rows_there_is_none(metric):
    y, sets = [0, 1], [[True, False], [True, False]]
    assert metric(y, sets) is None
    assert metric(y, sets, otherwise=0.25) == 0.25


def test_without_determinate_rows_there_is_no_single_set_accuracy():
    y, sets = [0, 1], [[True, True], [True, True]]
    assert metrics.single_set_accuracy(y, sets) is None
    assert metrics.single_set_accuracy(y, sets, otherwise=0.25) == 0.25


def test_rows_that_weigh_nothing_are_no_rows():
    y, sets = [0, 1], [[True, False], [True, True]]
    assert metrics.set_accuracy(y, sets, sample_weight=[1, 0]) is None
    assert metrics.single_set_accuracy(y, sets, sample_weight=[0, 1]) is None


def test_abstention_accuracy_is_the_precise_accuracy_where_sets_abstain():
    y, predicted = np.array(["a", "b", "b", "a"]), np.array(["a", "a", "b", "b"])
    sets = np.array([[True, True], [True, True], [True, True], [True, False]])
    assert metrics.abstention_accuracy(y, sets, predicted) == pytest.approx(2 / 3)
    assert metrics.abstention_accuracy(y, sets, predicted, sample_weight=[2, 1, 1, 9]) == pytest.approx(3 / 4)


def test_abstention_accuracy_is_none_where_nothing_is_left_open():
    assert metrics.abstention_accuracy([0, 1], np.eye(2, dtype=bool), [0, 1]) is None
    assert metrics.abstention_accuracy([0, 1], np.eye(2, dtype=bool), [0, 1], otherwise=0.5) == 0.5


def test_abstention_accuracy_refuses_labels_of_other_rows():
    with pytest.raises(ValueError, match=r"predicted must have the shape \(2,\), got \(3,\)"):
        metrics.abstention_accuracy([0, 1], np.eye(2, dtype=bool), [0, 1, 1])


@pytest.mark.parametrize("metric", SHARED)
def test_classes_give_the_order_of_the_columns(metric):
    sets = np.array([[True, False, False], [True, True, False], [False, True, True]])
    named = metric(["cat", "dog", "ant"], sets, classes=["dog", "ant", "cat"])
    assert named == metric([2, 0, 1], sets)


@pytest.mark.parametrize("metric", SHARED)
@pytest.mark.parametrize(
    ("y", "sets", "words"),
    [
        (
            [0, 0],
            [[True, False], [True, True]],
            "got 1 distinct labels in y. Pass classes=estimator.classes_",
        ),
        ([0, 1, 1], [[True, False], [True, True]], "one label for each of the 2 rows of sets, got 3"),
        ([0, 1], [[True, False], [False, False]], "at least one class per row, got an empty set in row 1"),
        ([0, 1], [[0.3, 0.7], [0.9, 0.1]], "not probabilities"),
        ([0, 1], [True, False], r"shape \(n, K\)"),
        ([], np.empty((0, 2), dtype=bool), "n, K >= 1"),
    ],
)
def test_what_is_no_set_is_refused(metric, y, sets, words):
    with pytest.raises(ValueError, match=words):
        metric(y, sets)


@pytest.mark.parametrize("weight", [[1.0], [1.0, -1.0], [0.0, 0.0], [1.0, np.nan]])
def test_what_is_no_weight_is_refused(weight):
    with pytest.raises(ValueError, match="sample_weight must be 2 finite non-negative numbers"):
        metrics.u65([0, 1], [[True, False], [True, True]], sample_weight=weight)


def test_sets_may_be_zeros_and_ones_and_frames():
    pandas = pytest.importorskip("pandas")
    y, sets = [0, 1, 1], np.array([[1, 0], [1, 1], [0, 1]])
    assert metrics.u65(y, sets) == pytest.approx(2.65 / 3)
    assert metrics.u65(pandas.Series(y), pandas.DataFrame(sets.astype(bool))) == pytest.approx(2.65 / 3)
