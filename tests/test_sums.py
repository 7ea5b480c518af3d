"""Sums: exact whatever the order and the parts; histograms: what NumPy adds up."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from hedgerow import _core
from hedgerow.sums import Spread, exact_sums_by, floats_from_exact, spread_of

FINITE = hnp.arrays(np.float64, st.integers(1, 60), elements=st.floats(-1e300, 1e300))


@given(FINITE)
def test_a_sum_is_the_float_next_to_the_exact_one(values: np.ndarray) -> None:
    exact = sum(map(Fraction, values.tolist()))
    spread = spread_of(values)
    assert spread.sum == float(exact)
    assert spread.mean == float(exact / len(values))
    assert (spread.low, spread.high) == (values.min(), values.max())


@given(FINITE, st.randoms(use_true_random=False))
def test_neither_order_nor_parts_change_a_spread(values: np.ndarray, random: object) -> None:
    shuffled = values.copy()
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    middle = len(values) // 2
    assert spread_of(shuffled[:middle]) + spread_of(shuffled[middle:]) == spread_of(values)


def test_nothing_is_neutral() -> None:
    some = spread_of(np.array([1.0, -2.5]))
    assert some + spread_of(np.empty(0)) == some == Spread(2, some.exact, -2.5, 1.0)


@given(hnp.arrays(np.int64, 40, elements=st.integers(0, 4)), hnp.arrays(np.float64, 40, elements=st.floats(0, 1e9)))
def test_sums_of_groups_are_exact(group: np.ndarray, values: np.ndarray) -> None:
    expected = [float(sum(map(Fraction, values[group == k].tolist()), Fraction(0))) for k in range(5)]
    assert floats_from_exact(exact_sums_by(group, values, 5)).tolist() == expected
    assert floats_from_exact(exact_sums_by(group, None, 5)).tolist() == np.bincount(group, minlength=5).tolist()


@pytest.mark.parametrize("code_type", [np.uint8, np.uint16])
@pytest.mark.parametrize("cell_type", [np.uint32, np.float64])
def test_histograms_are_what_numpy_adds_up(code_type: type, cell_type: type) -> None:
    rng = np.random.default_rng(0)
    n_bins, n_rows, n_classes = np.array([5, 3, 9]), 500, 3
    codes = np.stack([rng.integers(0, n, n_rows) for n in n_bins]).astype(code_type)
    codes[rng.random(codes.shape) < 0.1] = np.iinfo(code_type).max
    node = rng.integers(-1, 2, n_rows).astype(np.int32)
    labels = rng.integers(0, n_classes, n_rows).astype(np.uint16)
    amounts = rng.integers(1, 6, n_rows).astype(cell_type)
    start, features = np.array([0, 2, 3]), np.array([2, 0, 1], dtype=np.uint32)
    found = _core.histograms(codes, n_bins, node, labels, amounts, None, n_classes + 1, start, features)
    expected = []
    for which, feature in ((0, 2), (0, 0), (1, 1)):
        cells = np.zeros((n_bins[feature] + 1, n_classes + 1), dtype=cell_type)
        rows = np.flatnonzero(node == which)
        code = np.minimum(codes[feature, rows], n_bins[feature])  # missing values come last
        np.add.at(cells, (code, labels[rows]), amounts[rows])
        np.add.at(cells, (code, n_classes), 1)
        expected.append(cells.ravel())
    assert found.dtype == cell_type
    assert (found == np.concatenate(expected)).all()
