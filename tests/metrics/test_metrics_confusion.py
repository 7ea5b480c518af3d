"""A confusion matrix with columns for sets."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from hedgerow.metrics import confusion_matrix_with_sets

SETS = np.array(
    [
        [True, False, False],
        [False, True, True],
        [True, True, True],
        [True, True, False],
        [True, True, False],
        [False, False, True],
    ]
)
Y = ["a", "a", "b", "b", "c", "c"]


def test_columns_are_single_classes_then_the_sets_that_occur_by_size():
    matrix = confusion_matrix_with_sets(Y, SETS)
    assert matrix.classes == ("a", "b", "c")
    assert matrix.sets == (("a",), ("b",), ("c",), ("a", "b"), ("b", "c"), ("a", "b", "c"))


def test_cells_count_rows():
    matrix = confusion_matrix_with_sets(Y, SETS)
    assert matrix.counts.tolist() == [[1, 0, 0, 0, 1, 0], [0, 0, 0, 1, 0, 1], [0, 0, 1, 1, 0, 0]]
    assert matrix.counts.dtype.kind == "i"


def test_weights_are_summed():
    matrix = confusion_matrix_with_sets(Y, SETS, sample_weight=[0.5, 1, 1, 2, 3, 1])
    assert matrix.counts[:, 3].tolist() == [0.0, 2.0, 3.0]
    assert matrix.counts.sum() == 8.5


def test_random_sets_are_counted_as_by_hand():
    random = np.random.default_rng(0)
    sets = random.random((300, 4)) < 0.4
    sets[~sets.any(axis=1)] = True
    y = random.integers(0, 4, size=300)
    matrix = confusion_matrix_with_sets(y, sets)
    for column, members in enumerate(matrix.sets):
        same = (sets == np.isin(np.arange(4), members)).all(axis=1)
        assert matrix.counts[:, column].tolist() == [int((same & (y == label)).sum()) for label in range(4)]
    assert matrix.counts.sum() == 300
    assert [len(members) for members in matrix.sets] == sorted(len(members) for members in matrix.sets)


def test_without_sets_it_is_the_confusion_matrix_of_scikit_learn():
    from sklearn.metrics import confusion_matrix

    random = np.random.default_rng(1)
    y, predicted = random.integers(0, 3, size=(2, 100))
    matrix = confusion_matrix_with_sets(y, np.eye(3, dtype=bool)[predicted])
    assert np.array_equal(matrix.counts, confusion_matrix(y, predicted))


def test_classes_that_do_not_occur_have_a_row():
    matrix = confusion_matrix_with_sets(["b"], [[True, False]], classes=["b", "a"])
    assert matrix.counts.tolist() == [[1, 0], [0, 0]]
    assert matrix.classes == ("b", "a")


def test_it_prints_as_a_table():
    text = str(confusion_matrix_with_sets(Y, SETS))
    assert text.splitlines() == [
        "true \\ chosen  a  b  c  {a, b}  {b, c}  {a, b, c}",
        "a              1  0  0       0       1          0",
        "b              0  0  0       1       0          1",
        "c              0  0  1       1       0          0",
    ]


def test_it_becomes_a_frame():
    pytest.importorskip("pandas")
    frame = confusion_matrix_with_sets(Y, SETS).to_frame()
    assert frame.loc["c", "{a, b}"] == 1
    assert frame.shape == (3, 6)
    assert list(frame.index) == ["a", "b", "c"]


def test_without_pandas_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas, or use counts"):
        confusion_matrix_with_sets(Y, SETS).to_frame()


def test_labels_of_other_rows_are_refused():
    with pytest.raises(ValueError, match="each of the 6 rows of sets, got 5"):
        confusion_matrix_with_sets(Y[:-1], SETS)
