"""Possible: what is known of an uncertain cell -> the codes that it may have, and their shares."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hedgerow.table.bins import Bins
from hedgerow.table.codebook import Codebook
from hedgerow.table.schema import Schema, label


class Values(NamedTuple):
    """The codes that a cell may have, in groups: a group has a weight, and it is not known where in it the value is.

    Parameters
    ----------
    group : (v,) int64
        The group of each code, in ascending order from 0.
    codes : (v,) int64
        The codes; one may be in several groups.
    shares : (v,) float64
        The share of each code; all sum to one, those of a group to its weight.
    """

    group: NDArray[np.int64]
    codes: NDArray[np.int64]
    shares: NDArray[np.float64]


def values_of(known: Any, feature: int, bins: Bins, codebook: Codebook) -> Values:
    """What is known of a cell -> the codes it may have; refused if it is no interval, set or distribution of these."""
    where = label(codebook.schema.names, feature)
    parts = known if isinstance(known, Mapping) else {_hashable(known): 1.0}
    weights = _weights(list(parts.values()), where)
    groups = [_codes(part, feature, bins, codebook, where) for part in parts]
    kept = [(codes, weight * shares) for (codes, shares), weight in zip(groups, weights, strict=True) if weight > 0]
    lengths = [len(codes) for codes, _ in kept]
    codes, shares = (np.concatenate(columns) for columns in zip(*kept, strict=True))
    return Values(np.repeat(np.arange(len(kept)), lengths), codes, shares)


def _hashable(known: Any) -> Any:
    """A set or list -> a key of a dict."""
    return frozenset(known) if isinstance(known, AbstractSet | list) else known


def _weights(given: list[Any], where: str) -> NDArray[np.float64]:
    """Weights of a distribution -> the same with sum 1."""
    weights = np.asarray(given, dtype=np.float64)
    if not len(weights) or not np.isfinite(weights).all() or (weights < 0).any() or weights.sum() <= 0:
        raise ValueError(f"probabilities of a cell of {where} must be numbers >= 0, not all 0, got {given[:5]}")
    return np.asarray(weights / weights.sum())


def _codes(part: Any, feature: int, bins: Bins, codebook: Codebook, where: str) -> tuple[NDArray[np.int64], Any]:
    """A value, a set of values or an interval -> its codes (v,) and their shares (v,), which sum to one."""
    if isinstance(part, tuple) and not bins.nominal[feature]:
        return _bins_inside(part, feature, bins, codebook, where)
    members = part if isinstance(part, AbstractSet) else (part,)
    codes = [_code(value, feature, bins, codebook, where) for value in members]
    if not codes:
        raise ValueError(f"a set of values of {where} must not be empty; leave the cell out and give a missing value")
    distinct, number = np.unique(np.array(codes, dtype=np.int64), return_counts=True)
    return distinct, number / len(codes)


def _code(value: Any, feature: int, bins: Bins, codebook: Codebook, where: str) -> int:
    """A value -> its code."""
    if value is None or (isinstance(value, float | np.floating) and np.isnan(value)):
        return codebook.missing_code
    categories = codebook.schema.categories[feature]
    if categories is not None:
        found = [code for code, known in enumerate(categories.tolist()) if known == value]
        if not found:
            raise ValueError(f"values of {where} must be categories of the training table, got {value!r}; leave it out")
        return found[0]
    if isinstance(value, str) or not isinstance(value, int | float | np.number | np.bool_):
        raise ValueError(f"values of {where} must be numbers, got {value!r}; an interval is a tuple of two numbers")
    return int(np.searchsorted(bins.cuts_of(feature), float(value), side="left"))


def _bins_inside(interval: Any, feature: int, bins: Bins, codebook: Codebook, where: str) -> tuple[Any, Any]:
    """An interval of numbers -> the bins in it (v,), and which part of its length lies in each (v,)."""
    ends = np.array(interval, dtype=np.float64) if all(_is_number(end) for end in interval) else np.empty(0)
    if len(ends) != 2 or not ends[0] <= ends[1]:
        raise ValueError(f"an interval of {where} must be two numbers (low, high), low <= high, got {interval!r}")
    if not bins.n_bins[feature]:  # the training table had no value here
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
    """Whether a value is a number; booleans are not."""
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


#: (row, number or name of the column) -> what is known of the cell.
Cells: TypeAlias = Mapping[tuple[int, int | str], Any]


@dataclass(frozen=True, eq=False)
class UncertainTable:
    """A table of which some cells are known only as an interval, a set of values or a distribution.

    It is passed as X to ``predict``, ``predict_proba``, ``predict_confidence``, ``predict_set``, ``predict_bounds`` and
    ``predict_interval``. A sample goes down every branch to which it may belong. An interval or a set says that the
    value is somewhere inside, and not where: bounds hold for every value in it, and probabilities are the mean over
    it. A distribution is averaged.

    Parameters
    ----------
    X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
        Samples. What X has in an uncertain cell is not used.
    cells : dict of (row, column) to interval, set or dict
        Rows are numbers from 0, columns numbers or names. ``(40, 60)`` is an interval of numbers, ends included, which
        may be infinite; ``{"red", "blue"}`` a set of values, of which None means missing; ``{"red": 0.8, "blue": 0.2}``
        a distribution. What has a probability may also be an interval or a frozenset:
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


def located(cells: Cells, schema: Schema, n_rows: int) -> dict[tuple[int, int], Any]:
    """Cells as a user names them -> (row, number of the feature) -> what is known; refused if there is no such cell."""
    if not isinstance(cells, Mapping):
        raise TypeError(f"cells must be a dict of (row, column) to what is known, got {type(cells).__name__}")
    numbers = {} if schema.names is None else {name: feature for feature, name in enumerate(schema.names)}
    found = {}
    for place, known in cells.items():
        if not isinstance(place, tuple) or len(place) != 2 or not isinstance(place[0], int | np.integer):
            raise ValueError(f"a cell must be named (row, column), got {place!r}; number rows from 0")
        row, column = place
        feature = numbers.get(column) if isinstance(column, str) else column
        if not isinstance(feature, int | np.integer) or not 0 <= feature < schema.n_features:
            raise ValueError(f"the column of a cell must be one of X, got {column!r}; give its number or its name")
        if not 0 <= row < n_rows:
            raise ValueError(f"the row of a cell must lie in 0 to {n_rows - 1}, got {row}")
        found[int(row), int(feature)] = known
    return found
