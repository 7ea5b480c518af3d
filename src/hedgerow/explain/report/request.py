"""Arguments and parts of a report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from hedgerow.explain.presenters.base import Groups
from hedgerow.explain.report.pack import cut
from hedgerow.inference.fitted import Fitted, fitted_of, publish
from hedgerow.table.bins import DATES, PARTS
from hedgerow.table.groups import group_rows
from hedgerow.table.schema import Array

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from hedgerow.table.schema import TableLike


@dataclass(frozen=True, eq=False)
class ReportRequest:
    """Arguments of `make_report`, which documents them."""

    names: list[str] | None
    max_cases: int
    explained: str
    time_limit: float
    train: TableLike | None
    y_train: ArrayLike | None
    first_row: int
    immutable: Iterable[int | str] | None
    labels: Mapping[str, Mapping[str, str]] | None
    coverage: float | None
    by: Groups
    costs: Any
    progress: Callable[[int, int], None]
    time: float | None = None

    def called(self, row: int) -> str:
        """Return the name of a row, or its number."""
        return str(row + self.first_row) if self.names is None else self.names[row]

    def check(self) -> None:
        """Raise a ValueError for invalid arguments."""
        if not (isinstance(self.max_cases, int | np.integer) and self.max_cases >= 1):
            raise ValueError(f"max_cases must be an int >= 1, got {self.max_cases!r}.")
        if self.explained not in ("some", "all"):
            raise ValueError(f"explained must be 'some' or 'all', got {self.explained!r}.")
        if not self.time_limit >= 0:
            raise ValueError(f"time_limit must be a number of seconds >= 0, got {self.time_limit!r}.")


@dataclass(frozen=True, eq=False)
class Parts:
    """Parts of a report: template, scripts, figures (also as plain Python), data of the scripts, and notices."""

    template: str
    scripts: tuple[str, ...]
    figures: Any
    plain: dict[str, Any]
    data: dict[str, Any]
    context: dict[str, Any] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)


def checked_groups(by: Mapping[str, Any] | None, n_rows: int) -> Groups:
    """Return the rows (n,) of each group by column, given groups or the values (n,) of columns."""
    found = {}
    for name, given in (by or {}).items():
        groups = given if isinstance(given, Mapping) else group_rows(name, np.asarray(given))
        found[name] = {str(group): np.asarray(rows, dtype=bool) for group, rows in groups.items()}
        for rows in found[name].values():
            if rows.shape != (n_rows,):
                raise ValueError(f"by[{name!r}] must have shape ({n_rows},), one value per row of X, got {rows.shape}.")
    return found


def checked_names(names: ArrayLike | None, n_rows: int) -> list[str] | None:
    """Convert names (n,) to text."""
    if names is None:
        return None
    called = [cut(name) for name in np.asarray(names).tolist()]
    if len(called) != n_rows:
        raise ValueError(f"names must have one name for each of the {n_rows} rows of X, got {len(called)}.")
    return called


#: Readable names of values (as text) by column; the value "" stands for the column itself.
ReadableNames = Mapping[str, Mapping[str, str]]


def readable(model: BaseEstimator, labels: ReadableNames | None) -> Any:
    """Copy a fitted model with readable names of features, categories and classes.

    A column of `labels` that is not a feature names the classes. The copy serves texts only: it cannot predict tables
    with the original names.

    Examples
    --------
    >>> from hedgerow import RandomForestClassifier
    >>> forest = RandomForestClassifier(3).fit([[0.0], [1.0]], [0, 1])
    >>> readable(forest, {"diagnosis": {"0": "healthy", "1": "ill"}}).classes_.tolist()
    ['healthy', 'ill']
    """
    if not labels:
        return model
    fitted: Fitted = fitted_of(model)
    names = fitted.codebook.names
    classes = {key: label for name in labels if name not in names for key, label in labels[name].items()}
    info = fitted.info.renamed(lambda known: _renamed(known, classes)) if classes else fitted.info
    categories = [
        None if known is None else _renamed(known, labels.get(name, {}))
        for name, known in zip(names, fitted.schema.categories, strict=True)
    ]
    schema = replace(fitted.schema, names=_readable_names(fitted, labels), categories=tuple(categories))
    return publish(copy(model), replace(fitted, info=info, schema=schema))


def _readable_names(fitted: Fitted, labels: ReadableNames) -> tuple[str, ...]:
    """Return readable names of the features.

    Months and weekdays of a date are named after the date.
    """
    names = fitted.codebook.names
    dates = [name for name, kind in zip(names, fitted.schema.kinds, strict=True) if kind in DATES]
    of_dates = {date + part: column_name(date, labels) + part for date in dates for part in PARTS}
    return tuple(column_name(name, labels) if name in labels else of_dates.get(name, name) for name in names)


def column_name(name: str, labels: ReadableNames | None) -> str:
    """Return the readable name of a column."""
    return (labels or {}).get(name, {}).get("", name)


def _renamed(values: Array, names: Mapping[str, str]) -> Array:
    """Replace values (m,) by readable names where there are any."""
    given = values.tolist()
    found = [names.get(_key(value), value) for value in given]
    is_same = all(a is b for a, b in zip(found, given, strict=True))
    return np.array(found if is_same else list(map(str, found)), dtype=object)


def _key(value: object) -> str:
    """Return the key of a value in a table of names."""
    return f"{value:g}" if isinstance(value, float) else str(value)
