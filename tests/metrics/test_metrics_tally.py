"""Tallies: what the parts of a table count adds up to what the whole counts."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import mean_absolute_error, r2_score, root_mean_squared_error

from hedgerow import metrics
from hedgerow.metrics import tally_numbers, tally_sets

CLASSES = np.array(["ash", "beech", "oak"])
OF_SETS = ("u65", "u80", "determinacy", "single_set_accuracy", "coverage")


def said(seed: int, n_rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """True classes, labels and sets that hold them more often than not."""
    rng = np.random.default_rng(seed)
    truth, label = rng.integers(0, 3, (2, n_rows))
    sets = rng.random((n_rows, 3)) < 0.4
    sets[np.arange(n_rows), label] = True
    return CLASSES[truth], CLASSES[label], sets


@given(seed=st.integers(0, 10_000), cuts=st.lists(st.integers(1, 59), max_size=4, unique=True))
def test_parts_of_a_table_add_up_to_the_whole(seed: int, cuts: list[int]) -> None:
    y, labels, sets = said(seed, 60)
    edges = [0, *sorted(cuts), 60]
    parts = [tally_sets(y[a:b], labels[a:b], sets[a:b], classes=CLASSES) for a, b in pairwise(edges)]
    added, whole = sum(parts[1:], start=parts[0]), tally_sets(y, labels, sets, classes=CLASSES)
    assert added.figures() == pytest.approx(whole.figures(), abs=1e-12)
    assert added.confusion().sets == whole.confusion().sets
    assert (added.confusion().counts == whole.confusion().counts).all()


@given(seed=st.integers(0, 10_000))
def test_figures_are_the_metrics_of_the_rows(seed: int) -> None:
    y, labels, sets = said(seed, 50)
    figures = tally_sets(y, labels, sets, classes=CLASSES).figures()
    for name in OF_SETS:
        assert figures[name] == pytest.approx(getattr(metrics, name)(y, sets, classes=CLASSES), abs=1e-12)
    expected = metrics.abstention_accuracy(y, sets, labels, classes=CLASSES)
    assert figures["abstention_accuracy"] == pytest.approx(expected, abs=1e-12)
    assert figures["accuracy"] == pytest.approx(np.mean(y == labels), abs=1e-12)
    assert figures["mean_set_size"] == pytest.approx(sets.sum(axis=1).mean(), abs=1e-12)
    assert figures["rows"] == 50
    assert figures["indeterminate"] == (sets.sum(axis=1) > 1).sum()


def test_the_confusion_is_that_of_the_rows_in_whole_numbers() -> None:
    y, labels, sets = said(1, 200)
    found = tally_sets(y, labels, sets, classes=CLASSES).confusion()
    expected = metrics.confusion_matrix_with_sets(y, sets, classes=CLASSES)
    assert found.sets == expected.sets
    assert found.counts.dtype.kind == "i"
    assert (found.counts == expected.counts).all()


def test_a_tally_holds_what_occurs_however_many_rows_there_are() -> None:
    y, labels, sets = said(2, 20_000)
    tally = tally_sets(y, labels, sets, classes=CLASSES)
    assert len(tally.rows) <= 3 * 3 * 4  # true class, label, and the sets that hold the label
    assert tally.n_rows == 20_000


def test_what_has_no_rows_to_take_a_mean_of_is_none() -> None:
    figures = tally_sets(["ash"], ["ash"], [[True, False, False]], classes=CLASSES).figures()
    assert figures["abstention_accuracy"] is None
    figures = tally_sets(["ash"], ["ash"], [[True, True, False]], classes=CLASSES).figures()
    assert figures["single_set_accuracy"] is None


def test_labels_that_are_no_class_are_refused() -> None:
    with pytest.raises(ValueError, match="yew"):
        tally_sets(["yew"], ["ash"], [[True, False, False]], classes=CLASSES)


@given(seed=st.integers(0, 10_000), cut=st.integers(1, 79), offset=st.sampled_from([0.0, 1e6]))
def test_numbers_of_parts_add_up_to_what_scikit_learn_says_of_the_whole(seed: int, cut: int, offset: float) -> None:
    rng = np.random.default_rng(seed)
    y = offset + rng.normal(size=80)
    predicted = y + rng.normal(size=80)
    interval = predicted[:, None] + [-1.0, 1.5]
    parts = [tally_numbers(y[rows], predicted[rows], interval[rows]) for rows in (slice(0, cut), slice(cut, 80))]
    figures = (parts[0] + parts[1]).figures()
    assert figures["rows"] == 80
    assert figures["r2"] == pytest.approx(r2_score(y, predicted), abs=1e-8)
    assert figures["mean_absolute_error"] == pytest.approx(mean_absolute_error(y, predicted), abs=1e-9)
    assert figures["root_mean_squared_error"] == pytest.approx(root_mean_squared_error(y, predicted), abs=1e-9)
    assert figures["coverage"] == np.mean((interval[:, 0] <= y) & (y <= interval[:, 1]))
    assert figures["mean_interval_width"] == pytest.approx(2.5, abs=1e-9)


def test_numbers_without_spread_have_no_r2_and_without_intervals_no_coverage() -> None:
    figures = (tally_numbers([2.0], [1.0]) + tally_numbers([2.0], [2.0])).figures()
    assert figures["r2"] is None
    assert "coverage" not in figures
