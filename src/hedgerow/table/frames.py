"""Data frames: columns of pandas, polars, pyarrow and others, by narwhals; named columns, and frames of results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeAlias, cast

import narwhals.stable.v2 as nw
import numpy as np
from sklearn import get_config
from sklearn.utils.validation import check_array

from hedgerow.table.arrays import NumberArray, is_float, numeric_column
from hedgerow.table.bins import type_of_days
from hedgerow.table.categories import (
    ADVICE_ON_DATES,
    factors_from_cells,
    factors_from_numbers,
    is_missing,
    numbers_of_values,
    type_of_values,
    values_of_one_type,
)
from hedgerow.table.schema import Array, Column, Factors, Kind, ListedColumns, TableColumns, label

#: A data frame of at most this many numbers is copied rather than read column by column.
FEW_CELLS = 1 << 14
#: So is a frame of at most this many rows: reading one column costs as much as copying 50,000 cells.
FEW_ROWS = 512
#: Numeric types that NumPy lacks, or that libraries hash differently; narwhals has Float16 from 2.23.
ODD_NUMBERS = tuple(found for name in ("Decimal", "Float16", "Int128", "UInt128") if (found := vars(nw).get(name)))
#: Dates are read as days since 1970.
MICROSECONDS = 86_400e6
#: Outputs of scikit-learn's `set_output`.
OUTPUTS = ("default", "pandas", "polars")


@dataclass
class FrameTable:
    """A data frame, read column by column."""

    frame: nw.DataFrame[Any]
    series: list[Series]
    names: tuple[str, ...] | None

    @property
    def container(self) -> str:
        """The name of the library."""
        return str(self.frame.implementation.value)

    @property
    def native(self) -> Any:
        """The frame of the user."""
        return self.frame.to_native()

    @property
    def shape(self) -> tuple[int, int]:
        """(n_rows, n_features)."""
        return self.frame.shape

    def kinds(self) -> list[Kind]:
        """Return the type of each column."""
        return [series.kind for series in self.series]

    def nominal_by_type(self) -> list[bool]:
        """Return which columns are text or categories; booleans are the numbers 0 and 1."""
        return [series.kind in ("text", "category") for series in self.series]

    def factors(self, feature: int) -> Factors:
        """Return the distinct values of a column and their codes."""
        return self.series[feature].factors()

    def columns(self, given: Mapping[int, Array]) -> TableColumns:
        """Return the columns, as views where possible; others are converted when read."""
        listed = [given[j] if j in given else series.numbers() for j, series in enumerate(self.series)]
        return ListedColumns(listed, self.shape[0])


@dataclass(frozen=True)
class Series:
    """One column of a data frame; `cells` are its values if its dtype is ambiguous."""

    values: nw.Series[Any]
    dtype: nw.dtypes.DType
    kind: Kind
    where: str
    cells: Array | None = None

    def numbers(self) -> Column:
        """Return floats (n_rows,), with NaN for missing values; text raises an error."""
        n_rows = len(self.values)
        if self.kind == "null":
            return np.broadcast_to(np.float64(np.nan), n_rows)
        if self.kind in ("text", "category"):
            factors = self.factors()
            return numbers_of_values(factors, self.where)[factors.codes]
        if self.cells is not None:
            by_cell = self.cells.dtype == object
            return _numbers_from_objects(self.cells) if by_cell else numeric_column(self.cells)
        if self.dtype in (nw.Float64, nw.Float32) and is_float((view := _view(self.values)).dtype):
            return view
        return partial(_float64_from_series, self.values)

    def factors(self) -> Factors:
        """Return the distinct values, by the hashing of the library, and their codes."""
        if self.kind == "null":
            return Factors(np.full(len(self.values), -1), np.empty(0))
        if self.cells is not None:
            by_cell = self.cells.dtype == object
            return factors_from_cells(self.cells, self.where) if by_cell else factors_from_numbers(self.cells)
        if _is_odd_number(self.dtype):
            return factors_from_numbers(_float64_from_series(self.values))
        return _factors_from_native(self.values)


def source_from_frame(X: Any) -> FrameTable | NumberArray | None:
    """Return the columns of a data frame; None for other objects."""
    X = nw.to_native(X, pass_through=True)
    if (few_numbers := _array_from_small_frame(X)) is not None:
        return few_numbers
    if not nw.dependencies.is_into_dataframe(X):
        if isinstance(nw.from_native(X, pass_through=True), nw.LazyFrame):
            raise ValueError(f"X must be in memory, got a {type(X).__name__}. Collect it first.")
        if hasattr(X, "__arrow_c_stream__") and hasattr(X, "schema"):
            return source_from_frame(nw.from_arrow(X, backend="pyarrow").to_native())
        return None
    frame, listed = _frame_and_names(X)
    names = _names_of(listed)
    if 0 in frame.shape:
        check_array(np.empty(frame.shape))  # scikit-learn raises its own error; it always does here
    columns = cast("list[nw.Series[Any]]", list(frame.iter_columns()))
    series = [_series_from(column, label(names, j)) for j, column in enumerate(columns)]
    return FrameTable(frame, series, names)


def _array_from_small_frame(X: Any) -> NumberArray | None:
    """Return a small pandas frame of one dtype as an array; None for other frames.

    Reading pandas columns one by one costs more than copying a few cells: 30 columns take 2 ms.
    """
    if not nw.dependencies.is_pandas_dataframe(X) or X.size == 0 or not X.columns.is_unique:
        return None
    if X.size > FEW_CELLS and len(X) > FEW_ROWS:
        return None
    types = set(X.dtypes)
    dtype = types.pop()
    if types or not isinstance(dtype, np.dtype) or dtype.kind not in "fiub":
        return None
    return NumberArray(X.to_numpy(), _names_of(X.columns.tolist()), "pandas", X)


def _frame_and_names(X: Any) -> tuple[nw.DataFrame[Any], list[Any]]:
    """Return the narwhals frame and its column names, which may not be text."""
    try:
        frame = nw.from_native(X, eager_only=True)
        return frame, list(frame.columns)
    except nw.exceptions.DuplicateError as error:
        repeated = " ".join(str(error).split())
        raise ValueError(f"Column names must be unique. {repeated}. Rename or drop columns.") from None


def _names_of(columns: list[Any]) -> tuple[str, ...] | None:
    """Return the column names if all are text, None if none is."""
    types = sorted({type(name).__name__ for name in columns})
    if "str" not in types:
        return None
    if len(types) > 1:
        raise TypeError(
            "Feature names are only supported if all input features have string names, got names of type "
            f"{', '.join(types)}. Rename the columns, for example X.columns = X.columns.astype(str)."
        )
    return tuple(columns)


def _series_from(values: nw.Series[Any], where: str) -> Series:
    """Return a column with its type."""
    dtype = values.dtype
    if dtype.is_numeric():
        return Series(values, dtype, "number", where)
    if dtype == nw.Boolean:
        return Series(values, dtype, "boolean", where)
    if dtype in (nw.Categorical, nw.Enum):
        return Series(values, dtype, "category", where)
    if dtype == nw.String and not _holds_objects(values):
        return Series(values, dtype, "text", where)
    if dtype == nw.Date or dtype == nw.Datetime:
        days = _float64_from_series(values.dt.timestamp("us")) / MICROSECONDS
        return Series(values, dtype, type_of_days(days), where, days)
    if dtype.is_temporal():
        raise ValueError(f"{where} must be numbers, text or categories, got dates ({dtype}). {ADVICE_ON_DATES}")
    missing = values.is_null().to_numpy()
    if missing.all():
        return Series(values, dtype, "null", where)
    if dtype in (nw.Object, nw.String, nw.Unknown):
        cells = np.asarray(values.to_numpy())
        return Series(values, dtype, _type_of_cells(cells[~missing], where), where, cells)
    raise ValueError(f"{where} must be numbers, text or categories, got {dtype}. Split it into several columns.")


def _holds_objects(values: nw.Series[Any]) -> bool:
    """Test whether a column of text may have other Python objects."""
    return bool(_native_dtype(values) == np.dtype(object))


def _type_of_cells(cells: Array, where: str) -> Kind:
    """Return the type of cells, none missing, of a column of ambiguous dtype."""
    if cells.dtype.kind in "biuf":
        return "boolean" if cells.dtype.kind == "b" else "number"
    if cells.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {where} has dtype {cells.dtype}.")
    if cells.dtype.kind != "O":
        raise ValueError(f"{where} must be numbers, text or categories, got {cells.dtype}. Convert it.")
    listed = cells.tolist()
    one_of_each_type = [next(c for c in listed if type(c) is each) for each in set(map(type, listed))]
    return type_of_values(values_of_one_type(np.fromiter(one_of_each_type, dtype=object), where))


def _numbers_from_objects(cells: Array) -> Array:
    """Return objects (n_rows,) as float64, with NaN for missing values."""
    try:
        return cells.astype(np.float64)
    except TypeError:  # pandas.NA or NaT
        return np.array([np.nan if is_missing(cell) else float(cell) for cell in cells], dtype=np.float64)


def _view(values: nw.Series[Any]) -> Array:
    """Return floats (n_rows,), without a copy if the library allows it."""
    plain = isinstance(_native_dtype(values), np.dtype)
    return np.asarray(values.to_native().to_numpy() if plain else values.to_numpy())


def _native_dtype(values: nw.Series[Any]) -> Any:
    """Return the dtype of a column in its own library, or None."""
    return getattr(values.to_native(), "dtype", None)


def _float64_from_series(values: nw.Series[Any]) -> Array:
    """Return numbers or booleans of any width as float64 (n_rows,)."""
    return np.asarray(values.cast(nw.Float64).to_numpy(), dtype=np.float64)


def _is_odd_number(dtype: nw.dtypes.DType) -> bool:
    """Test whether numbers of this type must be converted to float64 first."""
    return dtype in ODD_NUMBERS


def _factors_from_native(values: nw.Series[Any]) -> Factors:
    """Return distinct values by the hashing of the library, and their codes."""
    native, library = values.to_native(), values.implementation
    if library.is_pandas_like():
        codes, distinct = native.factorize()
        return Factors(codes, np.asarray(distinct))
    if library.is_pyarrow():
        import pyarrow

        encoded = native if pyarrow.types.is_dictionary(native.type) else native.dictionary_encode()
        whole = encoded.unify_dictionaries().combine_chunks()
        codes = whole.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        return Factors(codes, whole.dictionary.to_numpy(zero_copy_only=False))
    if library.is_polars():
        distinct = native.unique().drop_nulls()
        numbers = np.arange(len(distinct), dtype=np.int32)
        if len(distinct) == 0:
            return Factors(np.full(len(native), -1, dtype=np.int32), np.empty(0))
        return Factors(native.replace_strict(distinct, numbers, default=-1).to_numpy(), distinct.to_numpy())
    return factors_from_cells(np.fromiter(values.to_list(), dtype=object), values.name)


def requested_output(estimator: Any) -> str:
    """Return the output that `set_output` or scikit-learn's configuration requests."""
    own = vars(estimator).get("_sklearn_output_config", {})
    return str(own["transform"] if "transform" in own else get_config()["transform_output"])


def frame_like(X: Any, columns: Mapping[str, Any], output: str = "default") -> Any:
    """Return columns (n,) as a frame; by default polars if X is, otherwise pandas.

    Examples
    --------
    >>> import pandas as pd
    >>> frame_like(pd.DataFrame({"age": [61, 48]}, index=["Ann", "Bob"]), {"label": ["ill", "well"]})
        label
    Ann   ill
    Bob  well
    """
    given = nw.from_native(X, eager_only=True, pass_through=True)
    known = isinstance(given, nw.DataFrame)
    if output == "default":
        output = "polars" if known and given.implementation.is_polars() else "pandas"
    try:
        made = nw.from_dict(dict(columns), backend=output).to_native()  # type: ignore[arg-type]
    except ImportError:
        raise ImportError(f"{output} output requires {output}. Run pip install {output}.") from None
    index = nw.maybe_get_index(given) if known else None
    if index is not None and output == "pandas":
        made.index = index
    return made


def index_names(X: Any) -> list[str] | None:
    """Return the row names of a pandas frame, unless they are just row numbers.

    Examples
    --------
    >>> import pandas as pd
    >>> index_names(pd.DataFrame({"age": [61, 48]}, index=["Ann", "Bob"])), index_names(pd.DataFrame({"age": [61]}))
    (['Ann', 'Bob'], None)
    """
    given = nw.from_native(X, eager_only=True, pass_through=True)
    index = nw.maybe_get_index(given) if isinstance(given, nw.DataFrame) else None
    names = None if index is None else index.tolist()
    return None if names is None or names == list(range(len(names))) else [str(name) for name in names]


# ---- Tables made of separate columns with names ----------------------------------------------------------------------


class CompressedColumn(Protocol):
    """Numbers (n_rows,) that are converted to floats when read."""

    @property
    def dtype(self) -> np.dtype[Any]: ...
    def __len__(self) -> int: ...
    def __getitem__(self, rows: Any) -> Array:
        """Return the numbers of rows."""


Listed: TypeAlias = Array | Factors | CompressedColumn


@dataclass
class NamedColumns:
    """A table made of columns, without a data frame, as on the command line.

    Parameters
    ----------
    names : tuple of str of length n_features, or None
        Unique names.
    listed : sequence of length n_features
        Numbers or booleans (n_rows,), NaN if missing, as an array or `CompressedColumn`; or `Factors` if categorical.
    dates : set of str
        Names of columns of days since 1970.

    Examples
    --------
    >>> import numpy as np
    >>> from hedgerow.table import Factors, NamedColumns, read_training_table
    >>> colour = Factors(np.array([0, 1, 0, -1]), np.array(["red", "blue"], dtype=object))
    >>> table = read_training_table(NamedColumns(("size", "colour"), [np.array([1.0, 2.0, np.nan, 3.0]), colour]))
    >>> table.schema
    Schema(2 features, 1 nominal, from columns)
    """

    names: tuple[str, ...] | None
    listed: Sequence[Listed]
    dates: Set[str] = frozenset()
    container = "columns"

    def __post_init__(self) -> None:
        if 0 in self.shape:
            check_array(np.empty(self.shape))  # scikit-learn raises its own error; it always does here

    @property
    def native(self) -> Array:
        """An array of the same shape, for the checks of scikit-learn."""
        return np.broadcast_to(np.float64(0), self.shape)

    @property
    def shape(self) -> tuple[int, int]:
        """(n_rows, n_features)."""
        if not self.listed:
            return 0, 0
        first = self.listed[0]
        return len(first.codes if isinstance(first, Factors) else first), len(self.listed)

    def some(self, rows: Array | slice) -> NamedColumns:
        """Return a table of some rows."""
        return NamedColumns(
            self.names,
            [
                Factors(each.codes[rows], each.values) if isinstance(each, Factors) else each[rows]
                for each in self.listed
            ],
            self.dates,
        )

    def kinds(self) -> list[Kind]:
        """Return the type of each column."""
        names = self.names or ("",) * len(self.listed)
        return [_column_type(column, name in self.dates) for name, column in zip(names, self.listed, strict=True)]

    def nominal_by_type(self) -> list[bool]:
        """Return which columns are `Factors`."""
        return [isinstance(column, Factors) for column in self.listed]

    def factors(self, feature: int) -> Factors:
        """Return the distinct values of a column and their codes."""
        column = self.listed[feature]
        return column if isinstance(column, Factors) else factors_from_numbers(column[:])

    def columns(self, given: Mapping[int, Array]) -> TableColumns:
        """Return the columns, as views where no conversion is needed."""
        listed = [
            given[j] if j in given else _numbers(column, label(self.names, j)) for j, column in enumerate(self.listed)
        ]
        return ListedColumns(listed, self.shape[0])


def _column_type(column: Listed, dated: bool) -> Kind:
    """Return the type of a column; `dated` ones are days since 1970."""
    if isinstance(column, Factors):
        return "text" if column.values.dtype == object else "category"
    if dated:
        return type_of_days(column[:])
    return "boolean" if column.dtype.kind == "b" else "number"


def _numbers(column: Listed, where: str) -> Column:
    """Return a column as floats, or a function that makes them."""
    if isinstance(column, Factors):
        return partial(numbers_of_values(column, where).__getitem__, column.codes)
    return numeric_column(column) if isinstance(column, np.ndarray) else partial(column.__getitem__, slice(None))
