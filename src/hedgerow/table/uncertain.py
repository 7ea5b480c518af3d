"""Uncertain: a table and what is known of its uncertain cells -> the same by row and number of the feature."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from hedgerow.table.schema import Schema

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
