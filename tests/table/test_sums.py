"""Sums: exact whatever the order and the parts; histograms: what NumPy adds up."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from hedgerow import _core
from hedgerow.forest.nodes import IS_LIST, LISTS_RIGHT, MULTIWAY, SUBSET, THRESHOLD
from hedgerow.table.sums import Spread, exact_sums_by, floats_from_exact, spread_of

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
    labels = rng.integers(0, n_classes, n_rows).astype(np.uint16)
    rows = rng.permutation(n_rows)[:400].astype(np.uint32)
    row_start = np.array([0, 150, 400])  # of two nodes
    amounts = rng.integers(1, 6, len(rows)).astype(cell_type)
    start, features = np.array([0, 2, 3]), np.array([2, 0, 1], dtype=np.uint32)
    of_rows = (rows, row_start, labels, amounts)
    found = _core.histograms(np.ascontiguousarray(codes.T), n_bins, *of_rows, None, n_classes + 1, start, features)
    expected = []
    for which, feature in ((0, 2), (0, 0), (1, 1)):
        cells = np.zeros((n_bins[feature] + 1, n_classes + 1), dtype=cell_type)
        mine = slice(row_start[which], row_start[which + 1])
        code = np.minimum(codes[feature, rows[mine]], n_bins[feature])  # missing values come last
        np.add.at(cells, (code, labels[rows[mine]]), amounts[mine])
        np.add.at(cells, (code, n_classes), 1)
        expected.append(cells.ravel())
    assert found.dtype == cell_type
    assert (found == np.concatenate(expected)).all()


class Split(NamedTuple):
    """A split, its bits as a node has them, and the child that each code leads to."""

    kind: int
    feature: int
    code: int
    missing_left: bool
    words: np.ndarray

    def bits(self, first_child: int) -> int:
        flag = int(self.missing_left) << 35
        return self.code | self.feature << 16 | self.kind << 33 | flag | first_child << 36

    def sides(self, n_bins: int) -> list[int]:
        """Children by code, that of missing values last."""
        if self.kind == MULTIWAY:
            return [*range(n_bins), self.code]
        if self.kind == THRESHOLD:
            left = [code <= self.code for code in range(n_bins)]
        elif self.code & IS_LIST:
            listed = self.words.view(np.uint16).tolist()
            left = [(code in listed) != bool(self.code & LISTS_RIGHT) for code in range(n_bins)]
        else:
            left = [bool(int(self.words[code // 64]) >> (code % 64) & 1) for code in range(n_bins)]
        return [int(not goes) for goes in (*left, self.missing_left)]


@pytest.mark.parametrize(
    ("code_type", "form"), [(np.uint8, 0), (np.uint16, 0), (np.uint16, IS_LIST), (np.uint16, IS_LIST | LISTS_RIGHT)]
)
@pytest.mark.parametrize(("inside", "outside"), [(True, False), (True, True), (False, True)])
def test_rows_arrive_at_the_nodes_that_a_walk_of_each_leads_to(
    code_type: type, form: int, inside: bool, outside: bool
) -> None:
    """A top with a threshold, a subset and a split by category, some of whose ends are asked for."""
    rng = np.random.default_rng(1)
    n_rows, first_row = 400, 70
    codes = np.stack([rng.integers(0, n, n_rows) for n in (9, 3, 70)]).astype(code_type)
    missing = np.iinfo(code_type).max
    codes[rng.random(codes.shape) < 0.1] = missing
    words = np.array([0x5555555555555555, 0b100110], dtype=np.uint64)
    if form:
        words = np.array([*range(0, 70, 3)], dtype=np.uint16).view(np.uint64)
        form |= 24
    splits = {
        0: Split(THRESHOLD, 0, 4, True, words[:0]),
        1: Split(MULTIWAY, 1, 3, False, words[:0]),
        2: Split(SUBSET, 2, form, False, words),
    }
    first_child = {0: 1, 1: 3, 2: 7}
    nodes = [splits[i].bits(first_child[i]) if i in splits else 0xFFFF | i << 36 for i in range(9)]
    asked = np.array([6, 4, 7], dtype=np.uint32)
    by_row = np.ascontiguousarray(codes.T)
    top = (np.array(nodes, dtype=np.uint64), np.zeros(9, dtype=np.int32), words)
    rows, times, start = _core.arrived(by_row, *top, asked, 5, 2, 1000, 1.0, first_row, inside, outside)

    in_bag = _core.bag(5, 2, 1000, 1.0, first_row, first_row + n_rows)
    sides = {i: split.sides({0: 9, 1: 3, 2: 70}[split.feature]) for i, split in splits.items()}
    passed: dict[int, list[int]] = {i: [] for i in range(9)}
    for row in range(n_rows):
        at = 0
        while at in splits and (inside if in_bag[row] else outside):
            code = codes[splits[at].feature, row]
            at = first_child[at] + int(sides[at][-1 if code == missing else code])
            passed[at].append(row)
    assert len(passed[6]) > 0
    assert len(passed[7]) > 0
    for where, node in enumerate((6, 4, 7)):
        mine = slice(start[where], start[where + 1])
        assert rows[mine].tolist() == passed[node]
        assert (times[mine] == in_bag[passed[node]]).all()
    if outside:
        return
    # Rows that have gone to nodes 1 and 2 of a smaller top go on from there, whether or not the others go with them.
    for keeps in (False, True):
        held = _core.RowsInNodes(5, 2, 1000, 1.0, first_row, n_rows)
        smaller = (np.array([nodes[0], 0xFFFF | 1 << 36, 0xFFFF | 2 << 36], dtype=np.uint64), top[1][:3], words)
        assert held.rows(by_row, *smaller, np.array([2], dtype=np.uint32), True)[0].tolist() == passed[2]
        for known, found in zip(held.rows(by_row, *top, asked, keeps), (rows, times, start), strict=True):
            assert known.tolist() == found.tolist()
        assert held.n_nodes == 9
        with pytest.raises(ValueError, match="a top must not have fewer nodes than before"):
            held.rows(by_row, *smaller, asked[:0], True)


@pytest.mark.parametrize("code_type", [np.uint8, np.uint16])
@pytest.mark.parametrize("mean", [0.0, 1.0, 6.0])
@pytest.mark.parametrize("labelled", [False, True])
def test_rows_in_nodes_add_up_to_their_histograms(code_type: type, mean: float, labelled: bool) -> None:
    """On their way to a node, and where they have been before; a mean of 6 is often more than an entry can hold."""
    rng = np.random.default_rng(2)
    n_rows, first_row, n_bins = 5_000, 3, np.array([9, 5])
    codes = rng.integers(0, n_bins, (n_rows, 2)).astype(code_type)
    codes[rng.random(codes.shape) < 0.1] = np.iinfo(code_type).max
    labels = rng.integers(0, 3, n_rows).astype(np.uint16) if labelled else None
    whole = 0xFFFF | np.arange(5, dtype=np.uint64) << 36
    top = whole.copy()
    top[0], top[1] = Split(THRESHOLD, 0, 4, True, whole[:0]).bits(1), Split(THRESHOLD, 1, 2, False, whole[:0]).bits(3)
    n_cells = 4 if labelled else 2
    held = _core.RowsInNodes(7, 1, 9_000, mean, first_row, n_rows)
    for nodes, asked in ((whole[:1], [0]), (top, [2, 4]), (top, [3, 2])):
        given = (codes, nodes, np.zeros(len(nodes), dtype=np.int32), whole[:0], np.array(asked, dtype=np.uint32))
        start, features = np.arange(len(asked) + 1), np.array([1, 0], dtype=np.uint32)[: len(asked)]
        rows, times, row_start = _core.arrived(*given, 7, 1, 9_000, mean, first_row, True, False)
        of_rows = (rows, row_start, labels, times, None, n_cells)
        expected = _core.histograms(codes, n_bins, *of_rows, start, features)
        assert expected.sum() > 0
        assert held.sums(*given, True, n_bins, labels, n_cells, start, features).tolist() == expected.tolist()
