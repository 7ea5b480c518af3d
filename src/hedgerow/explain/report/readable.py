"""Readable: a model and names for its codes -> the same model with names that people know."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.judge.fitted import Fitted, fitted_of, publish
from hedgerow.table.days import DATES, PARTS

#: Column -> value, as text -> its readable name; the value "" stands for the name of the column itself.
ClassLabels = Mapping[str, Mapping[str, str]]


def readable(model: Any, labels: ClassLabels | None) -> Any:
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


def _readable_names(fitted: Fitted, labels: ClassLabels) -> tuple[str, ...]:
    """A fitted model -> readable names of its features; the month and the weekday of a date are named like the date."""
    names = fitted.codebook.names
    dates = [name for name, kind in zip(names, fitted.schema.kinds, strict=True) if kind in DATES]
    of_dates = {date + part: column_name(date, labels) + part for date in dates for part in PARTS}
    return tuple(column_name(name, labels) if name in labels else of_dates.get(name, name) for name in names)


def column_name(name: str, labels: ClassLabels | None) -> str:
    """The name of a column -> its readable name."""
    return (labels or {}).get(name, {}).get("", name)


def _renamed(values: NDArray[Any], names: Mapping[str, str]) -> NDArray[Any]:
    """Values (m,) -> readable names where there are any."""
    said = [names.get(_key(value), value) for value in values.tolist()]
    return np.array(
        said if all(a is b for a, b in zip(said, values.tolist(), strict=True)) else list(map(str, said)), dtype=object
    )


def _key(value: Any) -> str:
    """A value -> how a table of names writes it."""
    return f"{value:g}" if isinstance(value, float) else str(value)
