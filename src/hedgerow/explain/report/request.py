"""Arguments of a report, and the parts of its page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.explain.breakdown import Groups
from hedgerow.explain.report.pack import cut
from hedgerow.inference.evaluation import group_rows
from hedgerow.inference.fitted import Fitted, fitted_of, publish
from hedgerow.table.codebook import DATES, PARTS


@dataclass(frozen=True, eq=False)
class ReportRequest:
    """The arguments of `make_report`; see there."""

    names: list[str] | None
    max_cases: int
    explained: str
    time_limit: float
    train: Any
    y_train: Any
    first_row: int
    immutable: Iterable[int | str] | None
    labels: Mapping[str, Mapping[str, str]] | None
    coverage: float | None
    by: Groups
    costs: Any
    progress: Callable[[int, int], None]

    def called(self, row: int) -> str:
        """The name of a row, or its number."""
        return str(row + self.first_row) if self.names is None else self.names[row]

    def check(self) -> None:
        """Refuse what cannot be meant."""
        if not (isinstance(self.max_cases, int | np.integer) and self.max_cases >= 1):
            raise ValueError(f"max_cases must be a whole number >= 1, got {self.max_cases!r}; 1000 is usual")
        if self.explained not in ("some", "all"):
            raise ValueError(
                f"explained must be 'some' or 'all', got {self.explained!r}; 'all' explains every undecided row of the"
                " page"
            )
        if not self.time_limit >= 0:
            raise ValueError(f"time_limit must be a number >= 0, got {self.time_limit!r}; 0 means no search")


@dataclass(frozen=True, eq=False)
class Parts:
    """The parts of a page: its template and scripts, the figures it shows, the same as plain Python, and its data."""

    template: str
    scripts: tuple[str, ...]
    figures: Any
    plain: dict[str, Any]
    data: dict[str, Any]
    context: dict[str, Any] = field(default_factory=dict)


def checked_groups(by: Mapping[str, Any] | None, n_rows: int) -> Groups:
    """Column -> its values (n,), or the rows (n,) of each of its groups -> the rows of groups."""
    found = {}
    for name, given in (by or {}).items():
        groups = given if isinstance(given, Mapping) else group_rows(name, np.asarray(given))
        found[name] = {str(group): np.asarray(rows, dtype=bool) for group, rows in groups.items()}
        for rows in found[name].values():
            if rows.shape != (n_rows,):
                raise ValueError(
                    f"by must have a value for each of the {n_rows} rows, got shape {rows.shape} for {name!r}; pass"
                    " those of X"
                )
    return found


def checked_names(names: Any, n_rows: int) -> list[str] | None:
    """Names (n,) or None -> text or None."""
    if names is None:
        return None
    called = [cut(name) for name in np.asarray(names).tolist()]
    if len(called) != n_rows:
        raise ValueError(f"names must have one name for each of the {n_rows} rows, got {len(called)}; pass those of X")
    return called


#: Column -> value, as text -> its readable name; the value "" stands for the name of the column itself.
ReadableNames = Mapping[str, Mapping[str, str]]


def readable(model: Any, labels: ReadableNames | None) -> Any:
    """A fitted model -> one whose features, categories and classes have readable names.

    A column of `labels` that is no feature is about the classes. The result is for words only: it does not read tables,
    whose columns and categories have their own names.

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
    """A fitted model -> readable names of its features; the month and the weekday of a date are named like the date."""
    names = fitted.codebook.names
    dates = [name for name, kind in zip(names, fitted.schema.kinds, strict=True) if kind in DATES]
    of_dates = {date + part: column_name(date, labels) + part for date in dates for part in PARTS}
    return tuple(column_name(name, labels) if name in labels else of_dates.get(name, name) for name in names)


def column_name(name: str, labels: ReadableNames | None) -> str:
    """The name of a column -> its readable name."""
    return (labels or {}).get(name, {}).get("", name)


def _renamed(values: NDArray[Any], names: Mapping[str, str]) -> NDArray[Any]:
    """Values (m,) -> readable names where there are any."""
    predictions = [names.get(_key(value), value) for value in values.tolist()]
    return np.array(
        predictions
        if all(a is b for a, b in zip(predictions, values.tolist(), strict=True))
        else list(map(str, predictions)),
        dtype=object,
    )


def _key(value: Any) -> str:
    """A value -> how a table of names writes it."""
    return f"{value:g}" if isinstance(value, float) else str(value)
