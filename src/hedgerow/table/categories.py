"""Categories: distinct values of a training column -> sorted categories; of a later column -> their numbers."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.table.schema import Array, Factors, Kind, Source

#: Category numbers fit into uint16, with one left for "missing".
MAX_CATEGORIES = 65_534

ADVICE_ON_DATES = "turn dates into numbers first, such as days since a fixed day, or columns of year, month and weekday"


def nominal_features(categorical_features: Any, source: Source) -> list[bool]:
    """The parameter `categorical_features` -> (n_features,) bool, whether each column is nominal."""
    n_features = source.shape[1]
    if isinstance(categorical_features, str) and categorical_features == "from_dtype":
        return source.nominal_by_type()
    listed = np.asarray([] if categorical_features is None else categorical_features)
    if listed.size == 0:
        return [False] * n_features
    if listed.ndim == 1 and listed.dtype.kind == "b":
        return _nominal_by_mask(listed, n_features)
    if listed.ndim == 1 and listed.dtype.kind in "iu":
        return _nominal_by_number(listed, n_features)
    if listed.ndim == 1 and all(isinstance(name, str) for name in listed):
        return _nominal_by_name(listed.tolist(), source.names, n_features)
    raise ValueError(
        "categorical_features must be 'from_dtype', None, or an array-like of bool, int or str, "
        f"got {categorical_features!r}; list the nominal columns by name or number"
    )


def learn_categories(factors: Factors, where: str) -> tuple[NDArray[np.int32], Array]:
    """A training column -> category numbers (n_rows,), and the sorted categories that occur."""
    held, values = _held_values(factors, where)
    # An Arrow dictionary may repeat values, so count the different ones before refusing.
    if len(values) > MAX_CATEGORIES and (distinct := len(set(values.tolist()))) > MAX_CATEGORIES:
        raise ValueError(
            f"{where} must have at most {MAX_CATEGORIES:,} categories, got {distinct:,}; "
            "drop it if it names the rows, group its rare values, or turn it into numbers"
        )
    categories, numbers = np.unique(values, return_inverse=True)
    return _renumber(factors, held, numbers), categories


def match_categories(factors: Factors, categories: Array, where: str) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """A later column -> category numbers (n_rows,), and whether each row's category is new (n_rows,)."""
    held, values = _held_values(factors, where)
    if len(values) and _is_text(values) != _is_text(categories):
        expected, got = ("text", "numbers") if _is_text(categories) else ("numbers", "text")
        raise ValueError(
            f"{where} must hold {expected}, as in the training table, got {got} such as "
            f"{values.tolist()[0]!r}; give it the type it had then"
        )
    nearest = np.minimum(np.searchsorted(categories, values), len(categories) - 1)
    known = (categories[nearest] == values).astype(bool)
    numbers = _renumber(factors, held, np.where(known, nearest, -1))
    unseen = _renumber(factors, held, np.where(known, -1, 0)) == 0
    return numbers, unseen


def factors_from_numbers(column: Array) -> Factors:
    """Real numbers (n_rows,) -> their distinct values."""
    values, codes = np.unique(column, return_inverse=True)
    return Factors(codes, values)


def factors_from_cells(cells: Array, where: str) -> Factors:
    """Objects or strings (n_rows,) -> their distinct values, in order of appearance."""
    listed = cells.tolist()
    try:
        distinct = {cell: code for code, cell in enumerate(dict.fromkeys(listed))}
    except TypeError:
        odd = next(cell for cell in listed if type(cell).__hash__ is None)
        raise _not_a_category(odd, where) from None
    codes = np.fromiter(map(distinct.__getitem__, listed), dtype=np.int64, count=len(listed))
    return Factors(codes, _object_array(distinct))


def numbers_of_values(factors: Factors, where: str) -> Array:
    """A column whose categories must be numbers -> these as float64 (K + 1,), the last NaN, for missing values."""
    present = factors.values[np.unique(factors.codes[factors.codes >= 0])]
    if len(present) and values_of_one_type(present, where).dtype == object:
        raise ValueError(
            f"{where} must hold numbers, got text such as {present[0]!r}; to use it as nominal, name it in "
            "categorical_features or let that be 'from_dtype' when the model is fitted"
        )
    numbers = np.full(len(factors.values) + 1, np.nan)
    numbers[:-1] = factors.values if len(present) else np.nan
    return numbers


def values_of_one_type(values: Array, where: str) -> Array:
    """Distinct values (k,), none missing -> the same as text, int64, uint64, float64 or bool."""
    kind = values.dtype.kind
    if kind in "UT":
        return values.astype(object)
    if kind == "O":
        return _objects_of_one_type(values, where)
    if kind == "u":
        return values.astype(np.int64 if values.max(initial=0) <= np.iinfo(np.int64).max else np.uint64)
    if kind in "bif":
        return values.astype({"b": np.bool_, "i": np.int64, "f": np.float64}[kind])
    raise _not_a_category(values[0], where)


def type_of_values(values: Array) -> Kind:
    """Values of one kind (k,) -> this kind."""
    return "text" if _is_text(values) else "boolean" if values.dtype.kind == "b" else "number"


def is_missing(value: object) -> bool:
    """Whether one object stands for a missing value: None, NaN, NaT, pandas.NA."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:  # pandas.NA is neither equal nor unequal to itself
        return True
    except ValueError:  # an array compares cell by cell
        return False


def is_date(value: object) -> bool:
    """Whether a value is a date, whatever library it is of."""
    return hasattr(value, "year") or isinstance(value, (np.datetime64, np.timedelta64))


def _nominal_by_mask(mask: Array, n_features: int) -> list[bool]:
    """Boolean mask -> (n_features,) bool."""
    if len(mask) != n_features:
        raise ValueError(
            f"categorical_features set as a boolean mask must have one entry per feature ({n_features}), "
            f"got {len(mask)}"
        )
    return [bool(flag) for flag in mask]


def _nominal_by_number(features: Array, n_features: int) -> list[bool]:
    """Feature numbers -> (n_features,) bool."""
    if features.min() < 0 or features.max() >= n_features:
        raise ValueError(
            "categorical_features set as integer indices must be in [0, n_features - 1], "
            f"which is [0, {n_features - 1}], got {features.tolist()}"
        )
    listed = set(features.tolist())
    return [feature in listed for feature in range(n_features)]


def _nominal_by_name(listed: list[str], names: tuple[str, ...] | None, n_features: int) -> list[bool]:
    """Feature names -> (n_features,) bool."""
    if names is None:
        raise ValueError(
            "categorical_features should be passed as an array of integers or as a boolean mask when the "
            f"model is fitted on data without feature names, got {listed!r}"
        )
    unknown = [name for name in listed if name not in names]
    if unknown:
        raise ValueError(
            f"categorical_features must name columns of X, got {unknown[0]!r}, which is not a valid feature "
            f"name of the training data; its names are {list(names[:10])}{' …' if n_features > 10 else ''}"
        )
    return [name in listed for name in names]


def _held_values(factors: Factors, where: str) -> tuple[NDArray[np.intp], Array]:
    """The places, among the values (k,), of those that occur and are not missing; and these values in one type."""
    codes, values = factors
    occurs = np.zeros(len(values) + 1, dtype=bool)
    occurs[codes] = True  # a missing cell has code -1, which is the extra last entry
    if values.dtype.kind == "f":
        present = ~np.isnan(values)
    elif values.dtype.kind == "O":
        present = np.fromiter((not is_missing(value) for value in values), bool, len(values))
    else:
        present = np.ones(len(values), dtype=bool)
    held = np.flatnonzero(occurs[:-1] & present)
    return held, values_of_one_type(values[held], where)


def _renumber(factors: Factors, held: NDArray[np.intp], numbers: Array) -> NDArray[np.int32]:
    """New numbers for the values at `held` -> the number of each row's value, -1 for others, (n_rows,) int32."""
    lookup = np.full(len(factors.values) + 1, -1, dtype=np.int32)
    lookup[held] = numbers
    return lookup[factors.codes]


def _is_text(values: Array) -> bool:
    """Whether the values are text rather than numbers."""
    return values.dtype.kind == "O"


def _objects_of_one_type(values: Array, where: str) -> Array:
    """Python objects (k,) -> text, int64, float64 or bool; the error names the types that are mixed."""
    types = set(map(type, values))
    if all(issubclass(each, str) for each in types):
        return _object_array(map(str, values))
    for value in values:
        if not isinstance(value, (str, bool, int, float, np.bool_, np.integer, np.floating, Decimal)):
            raise _not_a_category(value, where)
    text = next((value for value in values if isinstance(value, str)), None)
    if text is not None:
        other = next(value for value in values if not isinstance(value, str))
        raise ValueError(
            f"{where} must hold values of one kind, got {type(other).__name__} ({other!r}) and "
            f"{type(text).__name__} ({text!r}); convert the column to text or to numbers"
        )
    if all(issubclass(each, (bool, np.bool_)) for each in types):
        return values.astype(bool)
    whole = all(issubclass(each, (int, np.integer, np.bool_)) for each in types)
    within = whole and all(abs(int(value)) < 2**63 for value in values)
    return values.astype(np.int64 if within else np.float64)


def _not_a_category(value: object, where: str) -> ValueError:
    """The error for a value that is neither text nor a number."""
    advice = ADVICE_ON_DATES if is_date(value) else "convert them to text"
    return ValueError(
        f"{where} must hold numbers, text or categories, got {type(value).__name__} values such as "
        f"{str(value)[:40]}; {advice}"
    )


def _object_array(values: Iterable[Any]) -> Array:
    """Objects -> 1-D array that holds them unchanged, even if they are sequences."""
    return np.fromiter(values, dtype=object)
