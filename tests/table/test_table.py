"""What `hedgerow.table` promises: the values that went in come out, or one clear error."""

from __future__ import annotations

import datetime
import decimal
import subprocess
import sys
import warnings

import narwhals
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from hedgerow import RandomForestClassifier
from hedgerow.table import (
    MAX_CATEGORIES,
    Factors,
    NamedColumns,
    Schema,
    check_table,
    read_table,
    read_training_table,
    remember_features,
)
from hedgerow.table.schema import BLOCK_BYTES

NAN, INF = np.nan, np.inf


def columns_of(table):
    """All columns of a table, checked against what `column_blocks` promises."""
    columns = []
    for first, block in table.column_blocks():
        assert first == len(columns)
        columns += list(block)
    assert len(columns) == table.n_features == table.schema.n_features
    for column, nominal in zip(columns, table.schema.nominal, strict=True):
        assert column.shape == (table.n_rows,)
        assert column.dtype == np.int32 if nominal else column.dtype in (np.float32, np.float64)
    return columns


def matrix_of(table):
    """(n_rows, n_features) of all columns."""
    return np.column_stack(columns_of(table))


def decoded(table, feature):
    """A nominal column as its values again, None where missing or unseen."""
    known = table.schema.categories[feature]
    return [None if code < 0 else known[code] for code in columns_of(table)[feature]]


def named(values):
    return {f"c{j}": values[:, j] for j in range(values.shape[1])}


def with_nulls(values):
    return {name: [None if np.isnan(v) else float(v) for v in column] for name, column in named(values).items()}


def pandas():
    return pytest.importorskip("pandas")


def polars():
    return pytest.importorskip("polars")


def pyarrow():
    return pytest.importorskip("pyarrow")


def read_only(values):
    frozen = values.copy()
    frozen.flags.writeable = False
    return frozen


def strided(values):
    wide = np.zeros((2 * values.shape[0], 3 * values.shape[1]))
    wide[::2, ::3] = values
    return wide[::2, ::3]


def masked(values):
    return np.ma.masked_array(np.where(np.isnan(values), 7.0, values), mask=np.isnan(values))


CONTAINERS = {
    "C order": np.ascontiguousarray,
    "Fortran order": np.asfortranarray,
    "read-only": read_only,
    "strided": strided,
    "reversed": lambda values: values[::-1].copy()[::-1],
    "float32": lambda values: values.astype(np.float32),
    "long double": lambda values: values.astype(np.longdouble),
    "other byte order": lambda values: values.astype(values.dtype.newbyteorder()),
    "objects": lambda values: values.astype(object),
    "objects with None": lambda values: np.where(np.isnan(values), None, values.astype(object)),
    "text": lambda values: values.astype(str),
    "masked": masked,
    "matrix": lambda values: values.view(np.matrix),
    "list": lambda values: values.tolist(),
    "pandas": lambda values: pandas().DataFrame(named(values)),
    "pandas of one block": lambda values: pandas().DataFrame(values, columns=list(named(values))),
    "pandas Float64": lambda values: pandas().DataFrame(with_nulls(values)).astype("Float64"),
    "pandas float32": lambda values: pandas().DataFrame(named(values)).astype("float32"),
    "pandas Arrow": lambda values: (
        pyarrow() and pandas().DataFrame(with_nulls(values), dtype=float).astype("double[pyarrow]")
    ),
    "pandas objects": lambda values: pandas().DataFrame(with_nulls(values), dtype=object),
    "pandas under narwhals": lambda values: narwhals.from_native(pandas().DataFrame(named(values))),
    "polars": lambda values: polars().DataFrame(named(values)),
    "polars nulls": lambda values: polars().DataFrame(
        with_nulls(values), schema=dict.fromkeys(named(values), polars().Float64)
    ),
    "pyarrow": lambda values: pyarrow().table({k: pyarrow().array(v) for k, v in named(values).items()}),
    "pyarrow nulls": lambda values: pyarrow().table(
        {k: pyarrow().array(v, pyarrow().float64()) for k, v in with_nulls(values).items()}
    ),
    "pyarrow batch": lambda values: pyarrow().RecordBatch.from_pydict(named(values)),
}
SPARSE = {
    f"{fmt} {word}": getattr(sp, f"{fmt}_{word}")
    for fmt in ("csr", "csc", "coo", "lil", "dok", "bsr", "dia")
    for word in ("array", "matrix")
}
every_container = pytest.mark.parametrize(
    "contain", [*CONTAINERS.values(), *SPARSE.values()], ids=[*CONTAINERS, *SPARSE]
)
FRAMES = {
    "pandas": lambda data: pandas().DataFrame(data),
    "polars": lambda data: polars().DataFrame(data, strict=False),
    "pyarrow": lambda data: pyarrow().table(data),
}
every_frame = pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
float32_values = st.floats(width=32, allow_nan=True, allow_infinity=True, allow_subnormal=False)
tables = hnp.arrays(np.float64, st.tuples(st.integers(1, 6), st.integers(1, 4)), elements=float32_values)
words = st.one_of(st.none(), st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=5))


# --------------------------------------------------------------------------------------------------- numbers


@every_container
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(values=tables)
def test_numbers_come_out_as_they_went_in(contain, values):
    X = contain(values)
    table = read_training_table(X)
    assert_array_equal(matrix_of(table), values)
    assert not any(table.schema.nominal)
    assert table.unseen is None
    assert_array_equal(matrix_of(read_table(X, table.schema)), values)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_float_arrays_are_not_copied(dtype, order):
    X = np.ones((50, 4), dtype=dtype, order=order)
    X.flags.writeable = False
    for table in (read_training_table(X), read_table(X, read_training_table(X).schema)):
        ((_, block),) = table.column_blocks()
        assert all(np.shares_memory(column, X) and column.dtype == dtype for column in block)


def test_memory_maps_are_not_copied(tmp_path):
    np.save(tmp_path / "X.npy", np.arange(12.0).reshape(4, 3))
    X = np.load(tmp_path / "X.npy", mmap_mode="r")
    table = read_training_table(X)
    assert_array_equal(matrix_of(table), X)
    assert all(np.shares_memory(column, X) for column in columns_of(table))


def test_float_columns_of_frames_are_not_copied():
    values = np.random.default_rng(0).random((20_000, 3))
    X = pandas().DataFrame(values)
    assert all(np.shares_memory(column, X.to_numpy()) for column in columns_of(read_training_table(X)))
    X = polars().DataFrame({"a": values[:, 0].copy()})
    assert np.shares_memory(columns_of(read_training_table(X))[0], X["a"].to_numpy())


def test_few_rows_of_a_wide_frame_are_not_asked_for_column_by_column(monkeypatch):
    values = np.random.default_rng(0).random((2, 20_000))
    X = pandas().DataFrame(values, columns=[f"feature {j}" for j in range(20_000)])
    monkeypatch.setattr("hedgerow.table.frames._series_from", lambda *asked: pytest.fail("a column was asked for"))
    table = read_training_table(X)
    assert table.schema.names == tuple(X.columns)
    assert_array_equal(matrix_of(table), values)


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint16", "uint64", "bool", "float16"])
@pytest.mark.parametrize("contain", [np.asarray, sp.csr_array, *FRAMES.values()], ids=["array", "sparse", *FRAMES])
def test_other_numbers_become_float64(contain, dtype):
    values = np.array([[0, 1], [1, 3], [2, 0]]).astype(dtype)
    if contain is sp.csr_array and dtype == "float16":
        pytest.skip("scipy has no sparse float16")
    X = contain(values if contain in (np.asarray, sp.csr_array) else named(values))
    table = read_training_table(X)
    assert all(column.dtype == np.float64 for column in columns_of(table))
    assert_array_equal(matrix_of(table), values.astype(float))
    assert set(table.schema.kinds) == {"boolean" if dtype == "bool" else "number"}


@pytest.mark.parametrize("dtype", ["Int64", "UInt8", "boolean", "int32[pyarrow]", "bool[pyarrow]", "Float32"])
def test_nullable_pandas_numbers_keep_their_gaps(dtype):
    pyarrow()
    X = pandas().DataFrame({"a": pandas().array([1, None, 0], dtype=dtype), "b": [1.0, 2.0, 3.0]})
    assert_array_equal(matrix_of(read_training_table(X)), [[1, 1], [NAN, 2], [0, 3]])


@pytest.mark.parametrize("dtype", ["Int8", "UInt64", "Boolean", "Float32", "Int128", "Decimal"])
def test_polars_numbers_keep_their_gaps(dtype):
    pl = polars()
    kind = pl.Decimal(10, 2) if dtype == "Decimal" else getattr(pl, dtype)
    X = pl.DataFrame({"a": pl.Series([1, None, 0]).cast(kind)})
    assert_array_equal(matrix_of(read_training_table(X)), [[1], [NAN], [0]])
    assert decoded(read_training_table(X, categorical_features=["a"]), 0) == [1, None, 0]


@pytest.mark.parametrize("dtype", ["int8", "uint64", "bool_", "float16", "float32", "decimal"])
def test_arrow_numbers_keep_their_gaps_in_every_chunk(dtype):
    pa = pyarrow()
    kind = pa.decimal128(24, 2) if dtype == "decimal" else getattr(pa, dtype)()
    chunk = pa.array([1.0, None, 0.0]).cast(kind) if dtype != "float16" else pa.array(np.array([1, NAN, 0], np.float16))
    X = pa.table({"a": pa.chunked_array([chunk, chunk])})
    assert_array_equal(matrix_of(read_training_table(X))[:, 0], [1, NAN, 0, 1, NAN, 0])
    assert decoded(read_training_table(X, categorical_features=["a"]), 0) == [1, None, 0, 1, None, 0]


def test_missing_values_may_be_written_in_any_way():
    pd = pandas()
    gaps = [None, NAN, np.float32("nan"), pd.NA, pd.NaT, decimal.Decimal("nan")]
    cells = np.array([[1.5], *[[gap] for gap in gaps]], dtype=object)
    for X in (cells, pd.DataFrame(cells)):
        assert_array_equal(matrix_of(read_training_table(X))[:, 0], [1.5] + [NAN] * len(gaps))
    cells[0, 0] = "word"
    for X in (cells, pd.DataFrame(cells)):
        assert decoded(read_training_table(X, categorical_features=[0]), 0) == ["word"] + [None] * len(gaps)


def test_text_in_an_array_is_a_number_where_it_can_be_read_as_one():
    X = np.array([["1.5", " 2 "], ["-inf", "nan"]])
    assert_array_equal(matrix_of(read_training_table(X)), [[1.5, 2], [-INF, NAN]])
    assert_array_equal(matrix_of(read_training_table(X.astype(np.dtypes.StringDType()))), [[1.5, 2], [-INF, NAN]])


def test_cells_of_a_list_of_rows_stay_what_they_are():
    rows = [[1.5, "ash", True], [NAN, NAN, False], [2, "birch", True]]
    table = read_training_table(rows, categorical_features=[1])
    assert decoded(table, 1) == ["ash", None, "birch"]
    assert_array_equal(matrix_of(table)[:, [0, 2]], [[1.5, 1], [NAN, 0], [2, 1]])


def test_decimals_and_large_whole_numbers_in_object_columns_are_numbers():
    X = pandas().DataFrame({"a": [decimal.Decimal("1.25"), 2**70], "b": [np.int8(3), None]}, dtype=object)
    assert_array_equal(matrix_of(read_training_table(X)), [[1.25, 3], [2.0**70, NAN]])


@pytest.mark.parametrize("contain", [np.asarray, sp.csc_array], ids=["whole numbers", "sparse"])
def test_large_tables_that_need_conversion_come_in_bounded_blocks(contain):
    n_rows = BLOCK_BYTES // 8 // 3
    values = np.zeros((n_rows, 7), dtype=np.int8)
    values[5] = np.arange(7)
    table = read_training_table(contain(values))
    firsts = []
    for first, block in table.column_blocks():
        firsts.append(first)
        assert sum(column.nbytes for column in block) <= BLOCK_BYTES
        assert [column[5] for column in block] == list(range(first, first + len(block)))
    assert firsts == [0, 3, 6]


def test_pandas_sparse_columns_are_numbers():
    X = pandas().DataFrame({"a": pandas().arrays.SparseArray([0.0, 0.0, 2.0, NAN])})
    assert_array_equal(matrix_of(read_training_table(X))[:, 0], [0, 0, 2, NAN])


# --------------------------------------------------------------------------------------------------- nominal


def text_columns():
    """The same column of text, in every type a data frame has for it."""
    data = ["b", None, "a", "b"]
    pa_dictionary = lambda: pyarrow().table({"t": pyarrow().array(data).dictionary_encode()})  # noqa: E731
    return {
        "pandas str": lambda: pandas().DataFrame({"t": data}),
        "pandas object": lambda: pandas().DataFrame({"t": data}, dtype=object),
        "pandas string": lambda: pandas().DataFrame({"t": data}, dtype="string"),
        "pandas Arrow": lambda: pyarrow() and pandas().DataFrame({"t": data}, dtype="string[pyarrow]"),
        "pandas category": lambda: pandas().DataFrame({"t": pandas().Categorical(data, ["c", "b", "a"])}),
        "pandas ordered": lambda: pandas().DataFrame({"t": pandas().Categorical(data, ["c", "b", "a"], ordered=True)}),
        "pandas Arrow dictionary": lambda: pa_dictionary().to_pandas(types_mapper=pandas().ArrowDtype),
        "polars String": lambda: polars().DataFrame({"t": data}),
        "polars Categorical": lambda: polars().DataFrame({"t": data}, schema={"t": polars().Categorical}),
        "polars Enum": lambda: polars().DataFrame({"t": data}, schema={"t": polars().Enum(["c", "b", "a"])}),
        "pyarrow string": lambda: pyarrow().table({"t": data}),
        "pyarrow large string": lambda: pyarrow().table({"t": pyarrow().array(data, pyarrow().large_string())}),
        "pyarrow dictionary": pa_dictionary,
    }


every_text = pytest.mark.parametrize("make", text_columns().values(), ids=text_columns())


@every_text
def test_text_and_categories_of_frames_are_nominal_and_sorted_by_what_occurs(make):
    table = read_training_table(make())
    (categories,) = table.schema.categories
    assert table.schema.nominal == (True,)
    assert categories.tolist() == ["a", "b"]
    assert {type(value) for value in categories} == {str}
    assert_array_equal(columns_of(table)[0], [1, -1, 0, 1])
    assert table.unseen is None


@every_text
def test_any_container_of_text_fits_the_schema_of_any_other(make):
    schema = read_training_table(make()).schema
    for other in text_columns().values():
        table = read_table(other(), schema)
        assert decoded(table, 0) == ["b", None, "a", "b"]
        assert table.unseen is None
    with_new = np.array([["a"], ["c"], [None], ["zz"]], dtype=object)
    table = read_table(with_new, schema)
    assert_array_equal(columns_of(table)[0], [0, -1, -1, -1])
    assert_array_equal(table.unseen, [0, 1, 0, 1])


@every_frame
@settings(max_examples=25)
@given(data=st.lists(words, min_size=1, max_size=8), later=st.lists(words, min_size=1, max_size=8))
def test_words_come_out_as_they_went_in(frame, data, later):
    pa_data = pytest.importorskip("pyarrow").array(data, "string") if frame is FRAMES["pyarrow"] else data
    table = read_training_table(frame({"t": pa_data, "n": np.zeros(len(data))}))
    if set(data) == {None}:
        assert table.schema.nominal == (False, False)
        return
    assert decoded(table, 0) == data
    assert table.schema.categories[0].tolist() == sorted(set(data) - {None})
    cells = np.array([[word, 0.0] for word in later], dtype=object)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        after = read_table(cells, table.schema)
    assert decoded(after, 0) == [word if word in data else None for word in later]
    new = [word is not None and word not in data for word in later]
    assert (after.unseen is None and not any(new)) or after.unseen.tolist() == new


@pytest.mark.parametrize("contain", [np.asarray, sp.csr_array, *FRAMES.values()], ids=["array", "sparse", *FRAMES])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "uint8"])
def test_listed_numbers_are_nominal_with_their_distinct_values(contain, dtype):
    values = np.array([[7, 1], [2, 2], [7, 3], [0, 4]], dtype=dtype)
    is_frame = contain not in (np.asarray, sp.csr_array)
    table = read_training_table(contain(named(values) if is_frame else values), categorical_features=[0])
    assert table.schema.nominal == (True, False)
    assert table.schema.categories[0].tolist() == [0, 2, 7]
    assert table.schema.categories[0].dtype == ("float64" if "float" in dtype else "int64")
    assert_array_equal(columns_of(table)[0], [2, 1, 2, 0])
    assert_array_equal(columns_of(table)[1], [1, 2, 3, 4])
    later = read_table(np.array([[2.0, 1.0], [3.0, 1.0], [NAN, 1.0]]), table.schema)
    assert_array_equal(columns_of(later)[0], [1, -1, -1])
    assert later.unseen.tolist() == [0, 1, 0]


def test_categories_keep_their_types():
    pd = pandas()
    X = pd.DataFrame(
        {
            "truth": [True, False, True],
            "whole": pd.Categorical([10, 9, 10]),
            "half": [0.5, NAN, 1.5],
            "large": np.array([2**63 + 1, 2**63, 2**63 + 1], dtype=np.uint64),
            "word": ["10", "9", "10"],
        }
    )
    schema = read_training_table(X, categorical_features=list(X.columns)).schema
    assert [known.tolist() for known in schema.categories] == [
        [False, True], [9, 10], [0.5, 1.5], [2**63, 2**63 + 1], ["10", "9"],
    ]  # fmt: skip
    assert [known.dtype for known in schema.categories] == ["bool", "int64", "float64", "uint64", "object"]
    assert schema.kinds == ("boolean", "category", "number", "number", "text")


def test_two_unseen_categories_of_a_row_count_twice():
    X = np.array([["a", "x"], ["b", "y"]], dtype=object)
    schema = read_training_table(X, categorical_features=[True, True]).schema
    assert read_table([["a", "x"], ["?", "x"], ["?", "!"]], schema).unseen.tolist() == [0, 1, 2]


def test_a_declared_category_that_never_occurred_is_unseen_later():
    pd = pandas()
    schema = read_training_table(pd.DataFrame({"a": pd.Categorical(["x", "y"], ["x", "y", "z"])})).schema
    later = read_table(pd.DataFrame({"a": pd.Categorical(["z", "x"], ["x", "y", "z"])}), schema)
    assert later.unseen.tolist() == [1, 0]


def test_arrow_dictionaries_may_repeat_values_and_hold_nulls():
    pa = pyarrow()
    indices, dictionary = pa.array([0, 1, 2, 3, None], pa.int8()), pa.array(["b", None, "b", "a", "unused"])
    table = read_training_table(pa.table({"a": pa.DictionaryArray.from_arrays(indices, dictionary)}))
    assert table.schema.categories[0].tolist() == ["a", "b"]
    assert_array_equal(columns_of(table)[0], [1, -1, 1, 0, -1])


def test_chunks_with_different_dictionaries_agree():
    pa = pyarrow()
    chunks = [pa.array(["b", "a"]).dictionary_encode(), pa.array(["a", "c"]).dictionary_encode()]
    table = read_training_table(pa.table({"a": pa.chunked_array(chunks)}))
    assert decoded(table, 0) == ["b", "a", "a", "c"]


@pytest.mark.parametrize("listed", [[True, False, True], [0, 2], np.array([2, 0]), ["a", "c"], np.array(["c", "a"])])
@every_frame
def test_nominal_columns_are_listed_by_mask_number_or_name(frame, listed):
    X = frame({"a": [1, 2], "b": [3, 4], "c": ["x", "y"]})
    assert read_training_table(X, categorical_features=listed).schema.nominal == (True, False, True)


@pytest.mark.parametrize("nothing", [None, [], [False, False]])
def test_nothing_may_be_nominal(nothing):
    pd = pandas()
    X = pd.DataFrame({"a": pd.Categorical([3, 1]), "b": [1, 2]})
    table = read_training_table(X, categorical_features=nothing)
    assert_array_equal(matrix_of(table), [[3, 1], [1, 2]])
    assert read_training_table(X).schema.nominal == (True, False)


def test_the_most_categories_are_accepted_and_one_more_is_refused():
    X = np.arange(MAX_CATEGORIES, dtype=float)[:, None]
    assert len(read_training_table(X, categorical_features=[0]).schema.categories[0]) == MAX_CATEGORIES
    with pytest.raises(ValueError, match=r"Column 0 must have at most 65,534 categories, got 65,535. Drop it"):
        read_training_table(np.arange(MAX_CATEGORIES + 1.0)[:, None], categorical_features=[0])


@every_frame
def test_far_too_many_categories_are_one_clear_error(frame):
    X = frame({"id": np.arange(1_000_000 if frame is FRAMES["pandas"] else 100_000).astype(str).astype(object)})
    with pytest.raises(ValueError, match=r"Column 'id' must have at most 65,534 categories, got (1,000|100),000. Drop"):
        read_training_table(X)


# ----------------------------------------------------------------------------------------------- all-missing


def nothing_at_all():
    """Columns without a single value."""
    gaps = [None, None]
    return {
        "float array": lambda: np.full((2, 1), NAN),
        "object array": lambda: np.array([gaps], dtype=object).T,
        "pandas float": lambda: pandas().DataFrame({"a": [NAN, NAN]}),
        "pandas object": lambda: pandas().DataFrame({"a": gaps}, dtype=object),
        "pandas str": lambda: pandas().DataFrame({"a": gaps}, dtype="str"),
        "pandas category": lambda: pandas().DataFrame({"a": gaps}, dtype="category"),
        "pandas Int64": lambda: pandas().DataFrame({"a": gaps}, dtype="Int64"),
        "polars Null": lambda: polars().DataFrame({"a": gaps}),
        "polars String": lambda: polars().DataFrame({"a": gaps}, schema={"a": polars().String}),
        "polars Categorical": lambda: polars().DataFrame({"a": gaps}, schema={"a": polars().Categorical}),
        "pyarrow null": lambda: pyarrow().table({"a": gaps}),
        "pyarrow string": lambda: pyarrow().table({"a": pyarrow().array(gaps, "string")}),
    }


every_nothing = pytest.mark.parametrize("nothing", nothing_at_all().values(), ids=nothing_at_all())


@every_nothing
@pytest.mark.parametrize("categorical_features", ["from_dtype", [0], None])
def test_a_column_without_values_is_numeric_and_all_nan(nothing, categorical_features):
    table = read_training_table(nothing(), categorical_features=categorical_features)
    assert table.schema.nominal == (False,)
    assert table.schema.categories == (None,)
    assert_array_equal(matrix_of(table), [[NAN], [NAN]])


@every_nothing
def test_a_later_column_without_values_fits_every_kind(nothing):
    numbers = read_training_table(FRAMES["pandas"]({"a": [1.0, 2.0]})).schema
    text = read_training_table(FRAMES["pandas"]({"a": ["x", "y"]})).schema
    assert_array_equal(matrix_of(read_table(nothing(), numbers)), [[NAN], [NAN]])
    table = read_table(nothing(), text)
    assert_array_equal(matrix_of(table), [[-1], [-1]])
    assert table.unseen is None


@every_frame
def test_a_text_column_without_values_may_be_filled_later_and_stays_missing(frame):
    gaps = pyarrow().array([None, None], "string") if frame is FRAMES["pyarrow"] else [None, None]
    schema = read_training_table(frame({"a": gaps, "b": [1.0, 2.0]})).schema
    assert schema.kinds[0] == "null"
    for later in (["x", "y"], [1.0, 2.0], [True, False]):
        table = read_table(frame({"a": later, "b": [3.0, 4.0]}), schema)
        assert_array_equal(matrix_of(table), [[NAN, 3], [NAN, 4]])


# ---------------------------------------------------------------------------------------------- later tables


@every_frame
@pytest.mark.parametrize(
    ("later", "message"),
    [
        (["b", "a", "c"], r"same order, got another order: \['b', 'a', 'c'\]. Select them"),
        (["a", "b"], r"same order, got missing \['c'\]. Select them"),
        (["a", "b", "c", "d"], r"same order, got unknown \['d'\]. Select them"),
        (["a", "x", "c"], r"same order, got missing \['b'\] and unknown \['x'\]. Select them"),
    ],
)
def test_columns_that_differ_in_name_or_order_are_named(frame, later, message):
    schema = read_training_table(frame({name: [1.0, 2.0] for name in "abc"})).schema
    assert schema.names == ("a", "b", "c")
    with pytest.raises(ValueError, match=message):
        read_table(frame({name: [1.0, 2.0] for name in later}), schema)


def test_only_the_first_few_of_many_names_are_told():
    schema = read_training_table(np.ones((1, 100)), feature_names=[f"c{j}" for j in range(100)]).schema
    X = pandas().DataFrame(np.ones((1, 3)), columns=["x", "y", "z"])
    with pytest.raises(ValueError, match=r"missing \['c0', 'c1', 'c2', 'c3', 'c4'\] … and unknown \['x', 'y', 'z'\]"):
        read_table(X, schema)


@pytest.mark.parametrize("contain", [np.asarray, sp.csr_array])
def test_another_number_of_columns_is_refused(contain):
    schema = read_training_table(np.ones((3, 4))).schema
    with pytest.raises(ValueError, match=r"X must have 4 columns like the training table \(array\), got 3"):
        read_table(contain(np.ones((2, 3))), schema)


def test_columns_go_by_position_where_one_table_has_no_names():
    pd = pandas()
    X = pd.DataFrame({"t": ["a", "b"], "n": [1.0, 2.0]})
    schema = read_training_table(X).schema
    for cells in (X.to_numpy(), X.set_axis([0, 1], axis=1)):
        assert_array_equal(matrix_of(read_table(cells, schema)), [[0, 1], [1, 2]])
    unnamed = read_training_table(X.to_numpy(), categorical_features=[0]).schema
    assert unnamed.names is None
    assert_array_equal(matrix_of(read_table(X, unnamed)), [[0, 1], [1, 2]])


@every_frame
def test_another_kind_of_values_is_refused(frame):
    numbers = read_training_table(frame({"a": [1.0, 2.0]})).schema
    text = read_training_table(frame({"a": ["x", "y"]})).schema
    with pytest.raises(ValueError, match=r"Column 'a' must be numeric, got the text 'x'. To make it categorical"):
        read_table(frame({"a": ["x", "x"]}), numbers)
    with pytest.raises(ValueError, match=r"Column 'a' must be text, as in the training table, got the number 1"):
        read_table(frame({"a": [1, 2]}), text)
    with pytest.raises(ValueError, match=r"Column 'a' must be text, as in the training table, got the number"):
        read_table(np.ones((2, 1)), text)
    nominal_numbers = read_training_table(frame({"a": [1, 2]}), categorical_features=["a"]).schema
    with pytest.raises(ValueError, match=r"Column 'a' must be numeric, as in the training table, got the text"):
        read_table(frame({"a": ["x", "y"]}), nominal_numbers)


def test_whole_numbers_and_booleans_fit_a_column_of_numbers():
    schema = read_training_table(np.array([[0.5], [1.5]])).schema
    for X in (np.array([[True], [False]]), np.array([[1], [0]]), [["1"], ["0"]], sp.coo_array([[1], [0]])):
        assert_array_equal(matrix_of(read_table(X, schema)), [[1], [0]])


def test_sparse_and_dense_tables_fit_each_other():
    values = np.array([[0.0, 1.0], [2.0, 0.0]])
    for X in (values, sp.csr_array(values)):
        for later in (values, sp.lil_matrix(values)):
            assert_array_equal(matrix_of(read_table(later, read_training_table(X).schema)), values)


# ------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        (np.ones(3), ValueError, r"Expected 2D array, got 1D array instead(.|\n)*Reshape your data"),
        ([1.0, 2.0], ValueError, r"Expected 2D array, got 1D array instead(.|\n)*Reshape your data"),
        (1.0, ValueError, r"Expected 2D array, got scalar array instead(.|\n)*Reshape your data"),
        (None, ValueError, r"Expected 2D array, got scalar array instead"),
        (
            sp.coo_array([1.0, 2.0]),
            ValueError,
            r"Expected 2D array, got 1D sparse array instead. Reshape your data",
        ),
        (np.ones((2, 2, 2)), ValueError, r"Found array with dim 3"),
        (np.ones((0, 3)), ValueError, r"0 sample\(s\) \(shape=\(0, 3\)\) while a minimum of 1 is required"),
        (np.ones((3, 0)), ValueError, r"0 feature\(s\) \(shape=\(3, 0\)\) while a minimum of 1 is required"),
        (sp.csr_array((0, 3)), ValueError, r"0 sample\(s\)"),
        (sp.csr_array((3, 0)), ValueError, r"0 feature\(s\)"),
        (np.ones((2, 2)) * 1j, ValueError, r"Complex data not supported"),
        (sp.csr_array(np.ones((2, 2)) * 1j), ValueError, r"Complex data not supported"),
        (
            np.array([["2020-01-01"]], "M8[D]"),
            ValueError,
            r"got dates \(datetime64\[D\]\). Convert dates to numbers",
        ),
        (np.zeros((1, 1), "i4,f8"), ValueError, r"got an array of dtype .*Pass one column per field"),
        (
            np.array([["1", "two"]]),
            ValueError,
            r"Column 1 must be numeric, got 'two'. Add the column to cat",
        ),
        (
            np.array([[1, {}]], object),
            TypeError,
            r"Column 1: argument must be a string or a number, got dict",
        ),
        (np.array([[datetime.date(2020, 1, 1)]]), TypeError, r"a number, got date. Convert dates to numbers"),
        (np.array([[10**400]]), ValueError, r"Column 0 must be numeric, got '1000"),
        ([[1.0, 2.0], [3.0]], ValueError, r"inhomogeneous"),
    ],
)
def test_what_is_no_table_of_numbers_is_one_clear_error(X, error, message):
    with pytest.raises(error, match=message):
        read_training_table(X)
    with pytest.raises(error, match=message):
        read_table(X, read_training_table(np.ones((2, 2 if np.ndim(X) != 2 else max(1, X.shape[1])))).schema)


@every_frame
def test_frames_without_rows_or_columns_are_refused(frame):
    with pytest.raises(ValueError, match=r"0 sample\(s\) \(shape=\(0, 1\)\)"):
        read_training_table(frame({"a": np.array([], dtype=float)}))
    with pytest.raises(ValueError, match=r"0 (feature|sample)\(s\)"):
        read_training_table(frame({}))


def odd_columns():
    """Columns of data frames that are neither numbers nor categories, and a part of the message."""
    day = datetime.date(2020, 1, 1)
    pd_frame = lambda values, **how: pandas().DataFrame({"a": values}, **how)  # noqa: E731
    return {
        "pandas durations": (
            lambda: pd_frame(pandas().to_timedelta([1, 2])),
            "got dates .*Duration.*Convert dates",
        ),
        "pandas periods": (
            lambda: pd_frame(pandas().period_range("2020", periods=2)),
            "got Period.*Convert dates",
        ),
        "pandas date objects": (
            lambda: pd_frame([day, day]),
            "got date values such as 2020-01-01. Convert dates",
        ),
        "pandas intervals": (
            lambda: pd_frame(pandas().cut([1, 2], 2)),
            "got Interval values .*Convert them to text",
        ),
        "pandas lists": (
            lambda: pd_frame([[1], [2]]),
            r"got list values such as \[1\]. Convert them to text",
        ),
        "pandas bytes": (lambda: pd_frame([b"x", b"y"]), "got bytes values"),
        "pandas mixed": (lambda: pd_frame([1, "x"]), r"of one type, got int \(1\) and str \('x'\). Convert"),
        "pandas mixed late": (lambda: pd_frame(["x"] * 200 + [1.5]), r"got float \(1.5\) and str \('x'\)"),
        "pandas complex": (lambda: pd_frame([1j, 2j]), "Complex data not supported: Column 'a'"),
        "polars lists": (
            lambda: polars().DataFrame({"a": [[1]]}),
            r"got List\(Int64\). Split it into several columns",
        ),
        "polars bytes": (lambda: polars().DataFrame({"a": [b"x"]}), "got Binary"),
        "pyarrow structs": (lambda: pyarrow().table({"a": [{"x": 1}]}), "got Struct"),
    }


@pytest.mark.parametrize(("make", "message"), odd_columns().values(), ids=odd_columns())
def test_odd_columns_of_frames_are_named_in_the_error(make, message):
    with pytest.raises(ValueError, match=message) as error:
        read_training_table(make())
    assert "Column 'a'" in str(error.value)


def test_nominal_columns_of_an_array_may_not_mix_text_and_numbers():
    X = np.array([[1, "a"], [2, 3]], dtype=object)
    with pytest.raises(ValueError, match=r"Column 1 must have values of one type, got int \(3\) and str \('a'\)"):
        read_training_table(X, categorical_features=[1])
    X[0, 1] = {}
    with pytest.raises(ValueError, match=r"Column 1 must be numbers, text or categories, got dict values"):
        read_training_table(X, categorical_features=[1])


@every_frame
def test_text_that_is_not_to_be_nominal_is_refused(frame):
    X = frame({"t": ["1", "2"], "n": [1, 2]})
    for listed in (None, [1], ["n"], [False, True]):
        with pytest.raises(ValueError, match=r"Column 't' must be numeric, got the text '\d'. To make it"):
            read_training_table(X, categorical_features=listed)


def test_factors_of_text_that_are_not_to_be_nominal_are_refused():
    X = NamedColumns(("t", "n"), [Factors(np.array([0, 1]), np.array(["", "b"], object)), np.array([1.0, 2.0])])
    with pytest.raises(ValueError, match=r"Column 't' must be numeric, got the text ''. To make it"):
        read_training_table(X, categorical_features=None)


@pytest.mark.parametrize(
    ("listed", "message"),
    [
        ([0, 2], r"must be in \[0, n_features - 1\], which is \[0, 1\], got \[0, 2\]"),
        ([-1], r"must be in \[0, n_features - 1\]"),
        ([True], r"boolean mask must have one entry per feature \(2\), got 1"),
        (
            ["z"],
            r"got 'z', which is not a valid feature name of the training data. Its names are \['a', 'b'\]",
        ),
        ([0.5], r"must be 'from_dtype', None, or an array-like of bool, int or str, got \[0.5\]"),
        ("a", r"must be 'from_dtype', None, or an array-like"),
        ([[0]], r"must be 'from_dtype', None, or an array-like"),
    ],
)
def test_a_wrong_list_of_nominal_columns_is_refused(listed, message):
    with pytest.raises(ValueError, match=f"categorical_features .*{message}"):
        read_training_table(np.ones((3, 2)), categorical_features=listed, feature_names=["a", "b"])


def test_nominal_columns_cannot_be_named_where_there_are_no_names():
    with pytest.raises(ValueError, match="categorical_features should be passed as an array of integers or"):
        read_training_table(np.ones((3, 2)), categorical_features=["a"])


def test_repeated_names_are_refused():
    twice = pandas().DataFrame(np.ones((2, 2)), columns=["a", "a"])
    for X in (twice, pyarrow().table([[1], [2]], names=["a", "a"])):
        with pytest.raises(ValueError, match=r"Column names must be unique.*'a' 2 times.*Rename or drop"):
            read_training_table(X)
    with pytest.raises(ValueError, match=r"feature_names must be 2 unique names, one per column, got \['a', 'a'\]"):
        read_training_table(np.ones((2, 2)), feature_names=["a", "a"])


def test_names_that_are_not_text_are_no_names():
    X = pandas().DataFrame(np.ones((2, 2)))
    assert read_training_table(X).schema.names is None
    with pytest.raises(TypeError, match="Feature names are only supported if all input features have string names"):
        read_training_table(X.set_axis(["a", 1], axis=1))


def test_a_lazy_frame_must_be_collected():
    with pytest.raises(ValueError, match=r"X must be in memory, got a LazyFrame. Collect it first"):
        read_training_table(polars().LazyFrame({"a": [1]}))


def test_a_series_is_no_table():
    for X in (
        pandas().Series([1.0, 2.0]),
        polars().Series([1.0, 2.0]),
        pyarrow().chunked_array([[1.0, 2.0]]),
    ):
        with pytest.raises(ValueError, match=r"Expected (a 2-dimensional container|2D array)"):
            read_training_table(X)


# ------------------------------------------------------------------------------ schema, scikit-learn, import


def test_equal_tables_have_equal_schemas_whatever_the_width_of_their_floats():
    X = np.array([[1.0, 2.0], [3.0, 4.0]])
    one, other = (read_training_table(X.astype(t), categorical_features=[1]).schema for t in ("f4", "f8"))
    assert one == other
    assert hash(one) == hash(other)
    assert one != read_training_table(X + 1, categorical_features=[1]).schema
    assert one != read_training_table(X).schema
    assert repr(one) == "Schema(2 features, 1 nominal, from array)"
    assert isinstance(one, Schema)


class NearestMean(ClassifierMixin, BaseEstimator):
    """A classifier with nothing in it but the way it reads its tables."""

    def __init__(self, categorical_features="from_dtype"):
        self.categorical_features = categorical_features

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.allow_nan = True
        return tags

    def fit(self, X, y):
        if y is None:
            raise ValueError("This NearestMean estimator requires y to be passed, but the target y is None.")
        table = read_training_table(X, categorical_features=self.categorical_features)
        y = column_or_1d(y, warn=True)
        check_consistent_length(range(table.n_rows), y)
        check_classification_targets(y)
        values = np.nan_to_num(matrix_of(table))
        self.classes_, labels = np.unique(y, return_inverse=True)
        self.means_ = np.array([values[labels == k].mean(axis=0) for k in range(len(self.classes_))])
        self.schema_ = table.schema
        remember_features(self, table.schema)
        return self

    def predict(self, X):
        check_is_fitted(self)
        values = np.nan_to_num(matrix_of(check_table(lambda: self, X, self.schema_)))
        distances = ((values[:, None, :] - self.means_) ** 2).sum(axis=2)
        return self.classes_[distances.argmin(axis=1)]


@parametrize_with_checks([NearestMean()])
def test_an_estimator_that_reads_its_tables_here_passes_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


@every_frame
def test_scikit_learn_speaks_when_names_appear_disappear_or_differ(frame):
    values = np.array([[0.0, 0.0], [1.0, 1.0]])
    X = frame({"a": values[:, 0], "b": values[:, 1]})
    model = NearestMean().fit(X, [0, 1])
    assert model.feature_names_in_.tolist() == ["a", "b"]
    with pytest.warns(UserWarning, match="X does not have valid feature names, but NearestMean was fitted with"):
        assert model.predict(values).tolist() == [0, 1]
    with pytest.raises(ValueError, match=r"The feature names should match(.|\n)*unseen at fit time:\n- c"):
        model.predict(frame({"a": values[:, 0], "c": values[:, 1]}))
    model.fit(values, [0, 1])
    assert not hasattr(model, "feature_names_in_")
    with pytest.warns(UserWarning, match="X has feature names, but NearestMean was fitted without feature names"):
        assert model.predict(X).tolist() == [0, 1]


def test_a_fit_that_fails_leaves_the_features_of_the_last_one():
    pd = pandas()
    model = NearestMean().fit(pd.DataFrame({"a": [0.0, 1.0], "b": ["x", "y"]}), [0, 1])
    with pytest.raises(ValueError, match="got dates"):
        model.fit(pd.DataFrame({"d": pd.to_timedelta([1, 2])}), [0, 1])
    assert model.n_features_in_ == 2
    assert model.predict(pd.DataFrame({"a": [0.9], "b": ["y"]})).tolist() == [1]


def test_importing_the_module_imports_no_frame_library_of_its_own():
    code = (
        "import sys, sklearn.utils.validation; before = set(sys.modules); import hedgerow.table; "
        "print({m.split('.')[0] for m in set(sys.modules) - before} & {'pandas', 'polars', 'pyarrow'})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_dates_of_frames_are_days_since_1970(library):
    arrow = pyarrow()

    def read(moments, kind):
        table = arrow.table({"a": arrow.array(moments, kind), "b": [1, 2, 3]})
        found = {"pandas": table.to_pandas, "polars": lambda: polars().from_arrow(table), "pyarrow": lambda: table}
        known = read_training_table(found[library]())
        return known.schema.kinds[0], known.columns.read(0, 1)[0]

    days = [datetime.datetime(2020, 1, 2), datetime.datetime(1969, 12, 31), None]
    kind, numbers = read(days, arrow.timestamp("us"))
    assert kind == "date"
    assert_array_equal(numbers, [18263, -1, np.nan])
    kind, numbers = read([day and day.replace(hour=18) for day in days], arrow.timestamp("ns", "UTC"))
    assert kind == "time"
    assert_array_equal(numbers, [18263.75, -0.25, np.nan])


def test_explanations_name_dates_of_frames():
    pd, rng = pandas(), np.random.default_rng(0)
    when = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, 200), "D")
    X = pd.DataFrame({"when": when, "other": rng.normal(size=200)})
    late = np.asarray(when > pd.Timestamp("2021-03-01"))
    forest = RandomForestClassifier(5, random_state=0).fit(X, late)
    assert forest.score(X, late) > 0.95
    assert "when = 202" in forest.explain(X[:1], time_limit=0)[0].to_text()
