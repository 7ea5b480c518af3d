"""Groups of rows for separate evaluation."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hedgerow.table import Factors
from hedgerow.table.bins import date_words, type_of_days
from hedgerow.table.categories import factors_from_cells, factors_from_numbers, learn_categories

Array: TypeAlias = NDArray[Any]

#: Number of rows whose opinions are in memory at once.
BLOCK_ROWS = 1 << 16
#: A column with more distinct numbers is divided into quarters.
MOST_GROUPS = 12
#: A column with more distinct texts cannot define groups.
MOST_NAMES = 50


def group_rows(name: str, values: Array | Factors, *, dates: bool = False) -> dict[str, NDArray[np.bool_]]:
    """Return the groups of a column by name, with the mask (n,) of their rows.

    Many distinct numbers are divided into four groups of equal size; with `dates`, they are days since 1970.
    """
    if not isinstance(values, Factors) and values.dtype.kind in "iuf":
        numbers = values.astype(np.float64)
        missing = np.isnan(numbers)
        if len(np.unique(numbers[~missing])) > MOST_GROUPS:
            return _quarters(numbers, missing, dates=dates) | ({"missing": missing} if missing.any() else {})
    found = values if isinstance(values, Factors) else _factors(values, name)
    if len(found.values) > MOST_NAMES:
        raise ValueError(
            f"by must be a column of at most {MOST_NAMES} groups, got {name!r} with {len(found.values):,}. Add a column"
            " with fewer groups."
        )
    groups = {str(value): found.codes == place for place, value in enumerate(found.values.tolist())}
    absent = found.codes < 0
    return groups | ({"missing": absent} if absent.any() else {})


def _quarters(numbers: NDArray[np.float64], missing: NDArray[np.bool_], *, dates: bool) -> dict[str, NDArray[np.bool_]]:
    """Divide numbers (n,) into four groups of equal size, fewer if many are tied."""
    kind, after = type_of_days(numbers), "after" if dates else "above"
    edges = np.unique(np.quantile(numbers[~missing], [0, 0.25, 0.5, 0.75, 1], method="inverted_cdf"))
    groups = {}
    for place, (low, high) in enumerate(pairwise(edges.tolist())):
        ends = [date_words(end, kind) if dates else f"{end:g}" for end in (low, high)]
        inside = (numbers <= high) & ((numbers >= low) if place == 0 else (numbers > low))
        groups[" to ".join(ends) if place == 0 else f"{after} {ends[0]} to {ends[1]}"] = inside
    return groups


def _factors(values: Array, name: str) -> Factors:
    """Return the sorted distinct values, and the code of each row, -1 if missing."""
    given = factors_from_numbers(values) if values.dtype.kind in "iufb" else factors_from_cells(values, f"by {name!r}")
    codes, known = learn_categories(given, f"by {name!r}")
    return Factors(codes, np.array([f"{each:g}" if isinstance(each, float) else str(each) for each in known.tolist()]))
