"""Categories of training columns, and category indices of later columns."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.table.schema import Array, Factors, Kind

#: Category indices fit into uint16, with one left for missing values.
MAX_CATEGORIES = 65_534

ADVICE_ON_DATES = "Convert dates to numbers first, such as days since a fixed day, or year, month and weekday."


def learn_categories(factors: Factors, where: str) -> tuple[NDArray[np.int32], Array]:
    """Return category indices (n_rows,) and sorted categories of a training column."""
    held, values = _held_values(factors, where)
    # An Arrow dictionary may repeat values: count the distinct ones before raising.
    if len(values) > MAX_CATEGORIES and (distinct := len(set(values.tolist()))) > MAX_CATEGORIES:
        raise ValueError(
            f"{where} must have at most {MAX_CATEGORIES:,} categories, got {distinct:,}. "
            "Drop it if it identifies rows, group its rare values, or convert it to numbers."
        )
    categories, numbers = np.unique(values, return_inverse=True)
    return _renumber(factors, held, numbers), categories


def match_categories(factors: Factors, categories: Array, where: str) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """Return category indices (n_rows,) of a later column, and which cells are new."""
    held, values = _held_values(factors, where)
    if len(values) and _is_text(values) != _is_text(categories):
        expected, got = ("text", "number") if _is_text(categories) else ("numeric", "text")
        raise ValueError(
            f"{where} must be {expected}, as in the training table, got the {got} {values.tolist()[0]!r}. Convert it."
        )
    nearest = np.minimum(np.searchsorted(categories, values), len(categories) - 1)
    known = (categories[nearest] == values).astype(bool)
    numbers = _renumber(factors, held, np.where(known, nearest, -1))
    unseen = _renumber(factors, held, np.where(known, -1, 0)) == 0
    return numbers, unseen


def factors_from_numbers(column: Array) -> Factors:
    """Return the distinct values of numbers (n_rows,) and their codes."""
    values, codes = np.unique(column, return_inverse=True)
    return Factors(codes, values)


def factors_from_cells(cells: Array, where: str) -> Factors:
    """Return distinct objects or strings in order of appearance, and their codes."""
    listed = cells.tolist()
    try:
        distinct = {cell: code for code, cell in enumerate(dict.fromkeys(listed))}
    except TypeError:
        odd = next(cell for cell in listed if type(cell).__hash__ is None)
        raise _not_a_category(odd, where) from None
    codes = np.fromiter(map(distinct.__getitem__, listed), dtype=np.int64, count=len(listed))
    return Factors(codes, _object_array(distinct))


def numbers_of_values(factors: Factors, where: str) -> Array:
    """Return numeric categories as float64 (K + 1,), the last NaN for missing values."""
    present = factors.values[np.unique(factors.codes[factors.codes >= 0])]
    if len(present) and values_of_one_type(present, where).dtype == object:
        raise ValueError(
            f"{where} must be numeric, got the text {present[0]!r}. To make it categorical, refit with"
            " categorical_features='from_dtype' or with its name in categorical_features."
        )
    numbers = np.full(len(factors.values) + 1, np.nan)
    numbers[:-1] = factors.values if len(present) else np.nan
    return numbers


def values_of_one_type(values: Array, where: str) -> Array:
    """Convert distinct values (k,) to text, int64, uint64, float64 or bool."""
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
    """Return the type of values (k,)."""
    return "text" if _is_text(values) else "boolean" if values.dtype.kind == "b" else "number"


def is_missing(value: object) -> bool:
    """Test whether an object is a missing value: None, NaN, NaT or pandas.NA."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:  # pandas.NA is neither equal nor unequal to itself
        return True
    except ValueError:  # an array compares cell by cell
        return False


def is_date(value: object) -> bool:
    """Test whether a value is a date of any library."""
    return hasattr(value, "year") or isinstance(value, (np.datetime64, np.timedelta64))


def _held_values(factors: Factors, where: str) -> tuple[NDArray[np.intp], Array]:
    """Return the values (k,) that occur and are not missing, after their indices."""
    codes, values = factors
    occurs = np.zeros(len(values) + 1, dtype=bool)
    occurs[codes] = True  # the code -1 of missing cells is the extra last entry
    if values.dtype.kind == "f":
        present = ~np.isnan(values)
    elif values.dtype.kind == "O":
        present = np.fromiter((not is_missing(value) for value in values), bool, len(values))
    else:
        present = np.ones(len(values), dtype=bool)
    held = np.flatnonzero(occurs[:-1] & present)
    return held, values_of_one_type(values[held], where)


def _renumber(factors: Factors, held: NDArray[np.intp], numbers: Array) -> NDArray[np.int32]:
    """Return new codes (n_rows,) for the values at `held`, and -1 for others."""
    lookup = np.full(len(factors.values) + 1, -1, dtype=np.int32)
    lookup[held] = numbers
    return lookup[factors.codes]


def _is_text(values: Array) -> bool:
    """Test whether values are text rather than numbers."""
    return values.dtype.kind == "O"


def _objects_of_one_type(values: Array, where: str) -> Array:
    """Convert Python objects (k,) to text, int64, float64 or bool."""
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
            f"{where} must have values of one type, got {type(other).__name__} ({other!r}) and "
            f"{type(text).__name__} ({text!r}). Convert the column to text or to numbers."
        )
    if all(issubclass(each, (bool, np.bool_)) for each in types):
        return values.astype(bool)
    whole = all(issubclass(each, (int, np.integer, np.bool_)) for each in types)
    within = whole and all(abs(int(value)) < 2**63 for value in values)
    return values.astype(np.int64 if within else np.float64)


def _not_a_category(value: object, where: str) -> ValueError:
    """Return the error for a value that is neither text nor a number."""
    advice = ADVICE_ON_DATES if is_date(value) else "Convert them to text."
    return ValueError(
        f"{where} must be numbers, text or categories, got {type(value).__name__} values such as "
        f"{str(value)[:40]}. {advice}"
    )


def _object_array(values: Iterable[Any]) -> Array:
    """Return a 1-D array of objects, unchanged even if they are sequences."""
    return np.fromiter(values, dtype=object)
