"""Bins: order is kept, small tables are exact, large ones cut in equal parts, and every odd number has a place."""

from __future__ import annotations

import itertools
import math
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.reference import bins as reference

from hedgerow import _core
from hedgerow.table import read_training_table
from hedgerow.table.bins import EXACT_ROWS, MAX_BINS, Bins, encode, find_bins

LARGEST = sys.float_info.max
ODD = [0.0, -0.0, math.inf, -math.inf, math.nan, 5e-324, -5e-324, 1e-323, 1e308, -1e308, LARGEST, -LARGEST, 1.0]

numbers = st.one_of(
    st.sampled_from(ODD),
    st.integers(-5, 5).map(float),
    st.floats(allow_nan=True, allow_infinity=True),
    st.floats(width=32, allow_nan=True, allow_infinity=True),
)
columns = st.lists(numbers, min_size=1, max_size=400)


def bins_of(values: Any, **options: Any) -> Bins:
    return find_bins(read_training_table(np.asarray(values)[:, None]), **options)


def codes_of(values: Any, bins: Bins) -> NDArray[Any]:
    return encode(read_training_table(np.asarray(values)[:, None]), bins)[0]


def missing_of(bins: Bins) -> int:
    return int(np.iinfo(bins.code_type).max)


# ---- the twin -----------------------------------------------------------------------------------------------


@settings(max_examples=120)
@given(columns, st.sampled_from([1, 2, 3, 7, 128, 255, 65535]))
def test_cuts_and_centres_equal_the_twins(values: list[float], max_bins: int) -> None:
    cuts, _, centers, _ = _core.find_bins([np.array(values)], None, 100_000, max_bins, 1)
    expected = reference.find_bins(values, max_bins)
    np.testing.assert_array_equal(cuts, expected[0])
    np.testing.assert_array_equal(centers, expected[1])


@settings(max_examples=120)
@given(columns, st.sampled_from([3, 7, 255, 65535]))
def test_with_gaps_every_value_and_every_space_between_two_has_a_code(values: list[float], max_bins: int) -> None:
    cuts, _, centers, _ = _core.find_bins([np.array(values)], None, 100_000, max_bins, 1, True)
    known = np.unique([value + 0.0 for value in values if not math.isnan(value)])
    if 2 * len(known) > max_bins + 1:
        np.testing.assert_array_equal(cuts, reference.find_bins(values, max_bins)[0])
        return
    limits = [[low, np.nextafter(high, -np.inf)] for low, high in itertools.pairwise(known)]
    np.testing.assert_array_equal(cuts, np.unique(limits))
    assert len(centers) == len(cuts) + 1


@settings(max_examples=120)
@given(columns, columns)
def test_codes_equal_the_twins(trained: list[float], asked: list[float]) -> None:
    bins = bins_of(trained)
    cuts = bins.cuts_of(0).tolist()
    expected = [reference.code_of(value, cuts, missing_of(bins)) for value in asked]
    assert codes_of(asked, bins).tolist() == expected


@settings(max_examples=60)
@given(st.lists(numbers, min_size=16, max_size=60), columns, st.sampled_from([np.float32, np.float64]))
def test_codes_of_many_rows_equal_the_twins(trained: list[float], asked: list[float], kind: type) -> None:
    """Of many rows for each cut, which are put into buckets first."""
    with np.errstate(over="ignore"):
        bins = bins_of(np.array(trained, dtype=kind))
        cuts = bins.cuts_of(0)
        near = [*cuts, *np.nextafter(cuts, math.inf), *np.nextafter(cuts, -math.inf), *asked]
        values = np.resize(np.array(near, dtype=kind), 8 * len(cuts) + 11)
    expected = [reference.code_of(float(value), cuts.tolist(), missing_of(bins)) for value in values]
    assert codes_of(values, bins).tolist() == expected


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize(
    "shape",
    [
        np.sinh,
        np.exp,
        lambda x: x**15,
        lambda x: x * 1e-310,
        lambda x: x * 1e307,
        lambda x: np.sign(x) * 1.7e308 * (x > 2),
    ],
    ids=["tails", "a long tail", "one bucket", "tiny", "huge", "extremes"],
)
def test_codes_do_not_depend_on_how_many_rows_are_encoded_together(kind: type, shape: Any) -> None:
    """However unevenly the cuts fall into buckets; few rows go without."""
    rng = np.random.default_rng(0)
    with np.errstate(over="ignore"):
        values = shape(3 * rng.normal(size=6_000)).astype(kind)
    values[::100] = rng.choice(np.array([math.nan, math.inf, -math.inf, 0.0], dtype=kind), 60)
    bins = bins_of(values)
    together = codes_of(values, bins)
    few = np.concatenate([codes_of(some, bins) for some in np.split(values, 60)])
    np.testing.assert_array_equal(together, few)


def test_rows_that_decide_the_cuts_of_a_long_column_are_those_of_the_twin() -> None:
    values = np.random.default_rng(0).normal(size=3000)
    chosen = reference.rows_for_cuts(3000, 500)
    assert 400 < len(chosen) < 600
    cuts, *_ = _core.find_bins([values], None, 500, 255, 1)
    np.testing.assert_array_equal(cuts, reference.find_bins(values[chosen].tolist(), 255)[0])


# ---- laws ---------------------------------------------------------------------------------------------------


@settings(max_examples=120)
@given(columns, columns)
def test_codes_keep_the_order_of_values(trained: list[float], asked: list[float]) -> None:
    bins = bins_of(trained)
    known = sorted(value for value in trained + asked if not math.isnan(value))
    codes = codes_of(known, bins).tolist() if known else []
    assert codes == sorted(codes)
    assert max(codes, default=0) < bins.n_bins[0]


@settings(max_examples=120)
@given(columns)
def test_a_code_is_the_bin_between_its_cuts(values: list[float]) -> None:
    bins = bins_of(values)
    edges = [-math.inf, *bins.cuts_of(0).tolist(), math.inf]
    for value, code in zip(values, codes_of(values, bins).tolist(), strict=True):
        if math.isnan(value):
            assert code == missing_of(bins)
        else:
            assert edges[code] <= value <= edges[code + 1]
            assert code == 0 or edges[code] < value


@settings(max_examples=120)
@given(columns)
def test_small_tables_are_exact(values: list[float]) -> None:
    bins = bins_of(values)
    distinct = {value + 0.0 for value in values if not math.isnan(value)}
    assert bins.n_bins[0] == max(1, len(distinct))
    if distinct:
        assert bins.centers.tolist() == sorted(distinct)
        assert codes_of(sorted(distinct), bins).tolist() == list(range(len(distinct)))


@settings(max_examples=120)
@given(columns)
def test_cuts_are_half_way_between_finite_neighbours(values: list[float]) -> None:
    bins = bins_of(values)
    centers = bins.centers.tolist()
    for cut, low, high in zip(bins.cuts_of(0).tolist(), centers, centers[1:], strict=False):
        assert low <= cut < high
        if math.isfinite(low) and math.isfinite(high):
            assert reference.is_nearly_the_middle(cut, low, high)


@settings(max_examples=60)
@given(st.lists(st.floats(width=32), min_size=1, max_size=100))
def test_copies_in_single_and_double_precision_have_the_same_codes(values: list[float]) -> None:
    single, double = np.array(values, dtype=np.float32), np.array(values, dtype=np.float64)
    assert bins_of(single).cuts.tobytes() == bins_of(double).cuts.tobytes()
    assert np.array_equal(codes_of(single, bins_of(single)), codes_of(double, bins_of(double)))


@settings(max_examples=60)
@given(columns, st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(values: list[float], random: Any) -> None:
    shuffled = random.sample(values, len(values))
    assert bins_of(values).cuts.tobytes() == bins_of(shuffled).cuts.tobytes()


@settings(max_examples=60)
@given(columns, columns)
def test_rows_left_out_decide_nothing(kept: list[float], dropped: list[float]) -> None:
    rows = np.arange(len(kept), dtype=np.uint32)
    some = bins_of(kept + dropped, rows=rows)
    assert some.cuts.tobytes() == bins_of(kept).cuts.tobytes()
    assert some.centers.tobytes() == bins_of(kept).centers.tobytes()


# ---- odd numbers --------------------------------------------------------------------------------------------


def test_minus_zero_is_zero() -> None:
    bins = bins_of([-0.0, 0.0, 1.0])
    assert bins.n_bins[0] == 2
    assert codes_of([-0.0, 0.0], bins).tolist() == [0, 0]
    assert math.copysign(1, bins.centers[0]) == 1


def test_infinities_stand_at_the_ends() -> None:
    bins = bins_of([math.inf, -math.inf, 0.0, LARGEST, -LARGEST])
    assert codes_of([-math.inf, -LARGEST, -1e300, 0.0, 1e300, LARGEST, math.inf], bins).tolist() == [
        0, 1, 2, 2, 2, 3, 4,
    ]  # fmt: skip


def test_infinities_alone_are_told_apart() -> None:
    bins = bins_of([math.inf, -math.inf])
    assert codes_of([-math.inf, math.inf], bins).tolist() == [0, 1]


def test_subnormal_neighbours_are_told_apart() -> None:
    values = [-1e-323, -5e-324, 0.0, 5e-324, 1e-323]
    assert codes_of(values, bins_of(values)).tolist() == [0, 1, 2, 3, 4]


def test_neighbouring_numbers_are_told_apart_wherever_they_are() -> None:
    for value in (1.0, 1e308, -1e308, 1e-308, 2.0**53):
        after = float(np.nextafter(value, math.inf))
        assert codes_of([value, after], bins_of([value, after])).tolist() == [0, 1]


def test_a_column_of_missing_values_has_one_bin_for_whatever_comes_later() -> None:
    bins = bins_of([math.nan, math.nan])
    assert bins.n_bins.tolist() == [1]
    assert codes_of([math.nan, -math.inf, 0.0, math.inf], bins).tolist() == [255, 0, 0, 0]


def test_missing_has_a_code_of_its_own_even_when_all_others_are_taken() -> None:
    values = np.append(np.arange(255.0), math.nan)
    bins = bins_of(values)
    assert bins.code_type is np.uint8
    assert codes_of(values, bins).tolist() == [*range(255), 255]
    more = np.append(np.arange(256.0), math.nan)
    assert bins_of(more).code_type is np.uint16
    assert codes_of(more, bins_of(more)).tolist() == [*range(256), 65535]


@pytest.mark.parametrize(("n_distinct", "n_bins"), [(65_535, 65_535), (65_536, 65_535), (70_000, 65_535)])
def test_an_exact_column_holds_as_many_values_as_two_bytes_do(n_distinct: int, n_bins: int) -> None:
    values = np.random.default_rng(0).permutation(n_distinct).astype(float)
    bins = bins_of(values, max_bins=None)
    assert bins.n_bins[0] == n_bins
    codes = codes_of(values, bins)
    assert codes.dtype == np.uint16
    assert codes.max() == n_bins - 1
    assert np.array_equal(codes[np.argsort(values)], np.sort(codes))
    assert np.bincount(codes).max() <= 2


# ---- long columns -------------------------------------------------------------------------------------------


def test_the_longest_exact_table_is_exact_and_the_next_is_not() -> None:
    for n_rows, n_bins in ((EXACT_ROWS, EXACT_ROWS), (EXACT_ROWS + 1, MAX_BINS)):
        assert bins_of(np.arange(float(n_rows))).n_bins[0] == n_bins


def test_a_long_column_with_few_values_is_exact() -> None:
    values = np.arange(20_000.0) % 255
    assert np.array_equal(codes_of(values, bins_of(values)), values)


@pytest.mark.parametrize("max_bins", [128, 255, 1000, 4096])
@pytest.mark.parametrize("n_rows", [4_097, 5_000, 20_000, 40_000])
def test_long_columns_are_cut_like_those_of_the_twin(n_rows: int, max_bins: int) -> None:
    rng = np.random.default_rng(n_rows)
    normal = rng.normal(size=n_rows)
    for values in (np.exp(normal), np.round(normal, 3), np.maximum(normal, 0)):
        cuts, _, centers, _ = _core.find_bins([values], None, 100_000, max_bins, 1)
        expected = reference.find_bins(values.tolist(), max_bins)
        np.testing.assert_array_equal(cuts, expected[0])
        np.testing.assert_array_equal(centers, expected[1])


@pytest.mark.parametrize(("n_rows", "max_bins"), [(5_000, 255), (50_000, 255), (50_000, 1000), (100_000, 4096)])
def test_bins_of_a_long_column_are_small_at_its_ends_and_equal_between(n_rows: int, max_bins: int) -> None:
    values = np.random.default_rng(0).lognormal(size=n_rows)
    sizes = np.bincount(codes_of(values, bins_of(values, max_bins=max_bins)))
    assert max_bins - 3 <= len(sizes) <= max_bins
    assert sizes.max() <= 3 * n_rows / max_bins  # what the ends take from the middle
    middle = sizes[2 * max_bins // 5 : 3 * max_bins // 5]
    assert middle.max() - middle.min() <= 1
    divisor = max_bins // 25
    for each in (sizes, sizes[::-1]):
        up_to = np.cumsum(each)
        near = up_to < divisor * n_rows // max_bins
        assert near.sum() > max_bins / 25
        # Every bin near an end is at most the d-th part of the rows between it and the end.
        assert np.all(each[near] <= np.maximum(1, (up_to - each)[near] / divisor))


def test_bins_of_a_sampled_column_hold_what_the_sample_says() -> None:
    values = np.random.default_rng(0).lognormal(size=300_000)
    bins = bins_of(values)
    sizes = np.bincount(codes_of(values, bins))
    sampled = np.bincount(codes_of(values[_core.sampled_rows(300_000, 100_000, 0, 300_000)], bins))
    # The share of a bin with k sampled rows has a standard deviation of 1 / sqrt(k) of it (Beta of order statistics).
    assert np.all(np.abs(sizes - 3 * sampled) < 5 * 3 * np.sqrt(sampled + 1))


def test_a_value_that_half_the_rows_share_does_not_starve_the_others() -> None:
    rng = np.random.default_rng(0)
    values = np.where(rng.random(50_000) < 0.5, 0.0, rng.normal(size=50_000))
    sizes = np.bincount(codes_of(values, bins_of(values)))
    assert len(sizes) > 200
    assert np.sort(sizes)[:-1].max() <= 3 * 50_000 / MAX_BINS


# ---- layout -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_threads", [1, 2, 8])
@pytest.mark.parametrize("shape", [(1, 1), (7, 3), (9, 200), (70_001, 3)])
def test_codes_do_not_depend_on_layout_or_threads(shape: tuple[int, int], n_threads: int) -> None:
    X = np.random.default_rng(1).normal(size=shape)
    X[0, 0] = math.nan
    big = np.zeros((2 * shape[0], 3 * shape[1]))
    big[::2, ::3] = X
    read_only = X.copy()
    read_only.setflags(write=False)
    table = read_training_table(X)
    bins = find_bins(table)
    codes = encode(table, bins)
    for other in (np.asfortranarray(X), big[::2, ::3], X[::-1][::-1], read_only):
        table = read_training_table(other)
        again = find_bins(table, n_threads=n_threads)
        assert again.cuts.tobytes() == bins.cuts.tobytes()
        assert encode(table, again, n_threads=n_threads).tobytes() == codes.tobytes()


def test_columns_whose_stride_is_no_multiple_of_their_size_can_be_read() -> None:
    packed = np.zeros(5, dtype=np.dtype([("values", "f8", (2,)), ("other", "i4")]))
    packed["values"] = np.arange(10.0).reshape(5, 2)
    table = read_training_table(packed["values"])
    assert encode(table, find_bins(table)).tolist() == [[0, 1, 2, 3, 4]] * 2


def test_only_wanted_features_are_encoded() -> None:
    table = read_training_table(np.arange(12.0).reshape(4, 3))
    bins = find_bins(table)
    codes = np.full((3, 4), 77, dtype=np.uint8)
    for first, block in table.column_blocks():
        _core.encode_into(block, first, bins.cuts, bins.cut_start, np.array([1, 0, 1], np.uint8), 1, codes)
    assert codes.tolist() == [[0, 1, 2, 3], [77] * 4, [0, 1, 2, 3]]
