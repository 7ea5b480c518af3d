"""Uncertain cells: intervals, sets and distributions as codes with shares."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from hedgerow.table.bins import Bins, Codebook
from hedgerow.table.schema import Schema, label


class Values(NamedTuple):
    """Codes that a cell may have, in groups of known weight.

    Parameters
    ----------
    group : (v,) int64
        Group of each code, in ascending order from 0.
    codes : (v,) int64
        Codes; one may be in several groups.
    shares : (v,) float64
        Share of each code; all sum to one, those of a group to its weight.
    """

    group: NDArray[np.int64]
    codes: NDArray[np.int64]
    shares: NDArray[np.float64]


def values_of(known: Any, feature: int, bins: Bins, codebook: Codebook) -> Values:
    """Return the codes of an uncertain cell: an interval, a set or a distribution."""
    where = label(codebook.schema.names, feature)
    parts = known if isinstance(known, Mapping) else {_hashable(known): 1.0}
    weights = _weights(list(parts.values()), where)
    groups = [_codes(part, feature, bins, codebook, where) for part in parts]
    kept = [(codes, weight * shares) for (codes, shares), weight in zip(groups, weights, strict=True) if weight > 0]
    lengths = [len(codes) for codes, _ in kept]
    codes, shares = (np.concatenate(columns) for columns in zip(*kept, strict=True))
    return Values(np.repeat(np.arange(len(kept)), lengths), codes, shares)


def _hashable(known: Any) -> Any:
    """Return a set or list as a dictionary key."""
    return frozenset(known) if isinstance(known, AbstractSet | list) else known


def _weights(given: list[Any], where: str) -> NDArray[np.float64]:
    """Normalise the weights of a distribution to sum 1."""
    weights = np.asarray(given, dtype=np.float64)
    if not len(weights) or not np.isfinite(weights).all() or (weights < 0).any() or weights.sum() <= 0:
        raise ValueError(f"Probabilities of a cell of {where} must be >= 0 and not all zero, got {given[:5]}.")
    return np.asarray(weights / weights.sum())


def _codes(part: Any, feature: int, bins: Bins, codebook: Codebook, where: str) -> tuple[NDArray[np.int64], Any]:
    """Return the codes (v,) of a value, set or interval, and their shares (v,)."""
    if isinstance(part, tuple) and not bins.nominal[feature]:
        return _bins_inside(part, feature, bins, codebook, where)
    members = part if isinstance(part, AbstractSet) else (part,)
    codes = [_code(value, feature, bins, codebook, where) for value in members]
    if not codes:
        raise ValueError(f"A set of values of {where} must not be empty. Remove the cell, and make it missing in X.")
    distinct, number = np.unique(np.array(codes, dtype=np.int64), return_counts=True)
    return distinct, number / len(codes)


def _code(value: Any, feature: int, bins: Bins, codebook: Codebook, where: str) -> int:
    """Return the code of a value."""
    if value is None or (isinstance(value, float | np.floating) and np.isnan(value)):
        return codebook.missing_code
    categories = codebook.schema.categories[feature]
    if categories is not None:
        found = [code for code, known in enumerate(categories.tolist()) if known == value]
        if not found:
            raise ValueError(f"Values of {where} must be categories of the training table, got {value!r}.")
        return found[0]
    if isinstance(value, str) or not isinstance(value, int | float | np.number | np.bool_):
        raise ValueError(f"Values of {where} must be numbers, got {value!r}. An interval is a tuple of two numbers.")
    return int(np.searchsorted(bins.cuts_of(feature), float(value), side="left"))


def _bins_inside(interval: Any, feature: int, bins: Bins, codebook: Codebook, where: str) -> tuple[Any, Any]:
    """Return the bins (v,) of an interval, and the share of its length in each (v,)."""
    ends = np.array(interval, dtype=np.float64) if all(_is_number(end) for end in interval) else np.empty(0)
    if len(ends) != 2 or not ends[0] <= ends[1]:
        raise ValueError(f"An interval of {where} must be two numbers (low, high), low <= high, got {interval!r}.")
    if not bins.n_bins[feature]:  # a column without training values
        return np.array([codebook.missing_code]), np.ones(1)
    cuts = bins.cuts_of(feature)
    first, last = np.searchsorted(cuts, ends, side="left")
    codes = np.arange(first, last + 1)
    low, high = np.where(np.isfinite(ends), ends, np.clip(ends, *codebook.range_of(feature)))
    inner = np.clip(cuts[first:last], min(low, high), max(low, high))
    lengths = np.diff(np.concatenate([[low], inner, [high]]))
    total = lengths.sum()
    return codes, lengths / total if np.isfinite(total) and total > 0 else np.full(len(codes), 1 / len(codes))


def _is_number(value: Any) -> bool:
    """Test whether a value is a number other than a boolean."""
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


#: (row, index or name of the column) -> interval, set or distribution of the cell.
Cells: TypeAlias = Mapping[tuple[int, int | str], Any]


@dataclass(frozen=True, eq=False)
class UncertainTable:
    """A table with cells known only as an interval, a set or a distribution.

    It is passed as X to ``predict``, ``predict_proba``, ``predict_confidence``, ``predict_set``, ``predict_bounds`` and
    ``predict_interval``, and to ``fit`` of classifiers. A sample follows every branch to which it may belong. Bounds
    cover every value of an interval or a set; probabilities are the mean over it. A distribution is averaged.

    Parameters
    ----------
    X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
        Samples. Values of X in uncertain cells are ignored.
    cells : dict of (row, column) to interval, set or dict
        Rows are numbers from 0, columns numbers or names. ``(40, 60)`` is an interval of numbers, ends included, which
        may be infinite. ``{"red", "blue"}`` is a set of values, in which None means missing.
        ``{"red": 0.8, "blue": 0.2}`` is a distribution, whose keys may also be intervals or frozensets:
        ``{(40, 50): 0.7, (50, 80): 0.3}``.

    Examples
    --------
    >>> from hedgerow import DecisionTreeClassifier, UncertainTable
    >>> tree = DecisionTreeClassifier(caution=0).fit([[1], [2], [3], [4]], ["no", "no", "yes", "yes"])
    >>> rows = UncertainTable([[0], [0], [0]], {(0, 0): (1, 2), (1, 0): (2, 3), (2, 0): {2: 0.9, 3: 0.1}})
    >>> tree.predict_proba(rows)
    array([[1. , 0. ],
           [0.5, 0.5],
           [0.9, 0.1]])
    >>> tree.predict_bounds(rows)[:, 0]
    array([[1. , 1. ],
           [0. , 1. ],
           [0.9, 0.9]])
    """

    X: Any
    cells: Cells


def typical_value(known: Any) -> Any:
    """Return a typical value of an uncertain cell: a middle, or that of the most probable part; NaN if unbounded.

    Examples
    --------
    >>> typical_value((1, 3)), typical_value({4, 5, 9}), typical_value({"red": 0.2, (0, 8): 0.8})
    (2.0, 5, 4.0)
    """
    if isinstance(known, Mapping):
        return typical_value(max(known, key=lambda part: known[part])) if known else np.nan
    if isinstance(known, tuple) and len(known) == 2 and all(_is_number(end) for end in known):
        finite = [float(end) for end in known if np.isfinite(end)]
        return sum(finite) / len(finite) if finite else np.nan
    if isinstance(known, AbstractSet | list):
        kept = sorted((value for value in known if value is not None and value == value), key=_order)
        return kept[len(kept) // 2] if kept else np.nan
    return known


def is_single(known: Any) -> bool:
    """Return whether a cell has only one possible value.

    Examples
    --------
    >>> is_single((2, 2)), is_single({"red"}), is_single({1: 1.0, 2: 0.0}), is_single((1, 2))
    (True, True, True, False)
    """
    if isinstance(known, Mapping):
        parts = [part for part, weight in known.items() if weight != 0]
        return len(parts) == 1 and is_single(parts[0])
    if isinstance(known, AbstractSet | list):
        return len(known) == 1
    return not isinstance(known, tuple) or (len(known) == 2 and known[0] == known[1])


def with_typical_values(X: Any, cells: Mapping[tuple[int, int], Any]) -> Any:
    """Return the data frame, array or list X with typical values in uncertain cells, by row and feature."""
    by_feature: dict[int, dict[int, Any]] = {}
    for (row, feature), known in cells.items():
        by_feature.setdefault(feature, {})[row] = typical_value(known)
    if nw.dependencies.is_into_dataframe(X):
        frame = nw.from_native(X, eager_only=True)
        changed = [_with_values(frame[frame.columns[feature]], values) for feature, values in by_feature.items()]
        return frame.with_columns(*changed).to_native()
    if issparse(X):
        raise TypeError("X must be dense if cells are uncertain, got a sparse matrix. Pass X.toarray().")
    array = np.array(X)
    if array.dtype.kind in "biu":
        array = array.astype(np.float64)
    elif array.dtype.kind not in "f":
        array = np.array(X, dtype=object)
    for feature, values in by_feature.items():
        for row, value in values.items():
            array[row, feature] = value
    return array


def _with_values(series: nw.Series[Any], values: dict[int, Any]) -> nw.Series[Any]:
    """Return a column with some values replaced, by row."""
    filled = series.to_list()
    for row, value in values.items():
        filled[row] = value
    if series.dtype.is_numeric():
        filled = [float("nan") if value is None else float(value) for value in filled]
    return nw.new_series(series.name, filled, backend=nw.get_native_namespace(series))


def _order(value: Any) -> tuple[str, Any]:
    """Return a key that also orders values of different types."""
    return ("" if _is_number(value) else type(value).__name__), value


def located(cells: Cells, schema: Schema, n_rows: int) -> dict[tuple[int, int], Any]:
    """Return cells by row and feature index, after checking that they exist."""
    if not isinstance(cells, Mapping):
        raise TypeError(f"cells must be a dict with keys (row, column), got {type(cells).__name__}.")
    numbers = {} if schema.names is None else {name: feature for feature, name in enumerate(schema.names)}
    found = {}
    for place, known in cells.items():
        if not isinstance(place, tuple) or len(place) != 2 or not isinstance(place[0], int | np.integer):
            raise ValueError(f"Keys of cells must be (row, column), got {place!r}.")
        row, column = place
        feature = numbers.get(column) if isinstance(column, str) else column
        if not isinstance(feature, int | np.integer) or not 0 <= feature < schema.n_features:
            raise ValueError(f"Columns of cells must be indices or names of columns of X, got {column!r}.")
        if not 0 <= row < n_rows:
            raise ValueError(f"Rows of cells must be from 0 to {n_rows - 1}, got {row}.")
        found[int(row), int(feature)] = known
    return found
