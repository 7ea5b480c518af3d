"""Feature values of single rows, with the usual values in training."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.explain.cases import number as number_words
from hedgerow.explain.report.pack import cut
from hedgerow.inference.predictor import Predictor
from hedgerow.table import Factors, NamedColumns
from hedgerow.table.bins import Codes
from hedgerow.table.codebook import DATES, date_words
from hedgerow.table.schema import Kind

Floats = NDArray[np.float64]

#: Digits of the values shown with a case.
DIGITS = 6
#: The same for days since 1970, whose fractions are minutes.
DATE_DIGITS = 10
#: At least so many features are shown with a case, the most important ones; of the others as many as fit.
FEWEST_FEATURES, VALUES_BYTES = 12, 600_000
#: Categories that are named as usual; one more is named too, instead of counted.
NAMED = 4


def shown_values(
    importance: Floats,
    predictor: Predictor,
    table: NamedColumns,
    rows: NDArray[np.int64],
    training: Codes | None,
    labels: Mapping[str, Mapping[str, str]],
) -> dict[str, Any]:
    """Rows of a table -> the part of the page's data that holds their values, the most important features first.

    `training` (p, m) are the codes of the training rows, if they are known; `labels` are readable names of numbers.
    """
    shown: list[dict[str, Any]] = []
    room = VALUES_BYTES
    for number in np.argsort(-importance, kind="stable").tolist():
        column = table.listed[number]
        name = table.names[number] if table.names else f"x[{number}]"
        feature: dict[str, Any] = {"name": cut(name), "usual": usual_words(predictor, number, training)}
        kind = predictor.codebook.schema.kinds[number]
        feature |= _factor(column, rows) if isinstance(column, Factors) else _numbers(column, rows, kind)
        if not isinstance(column, Factors):
            feature |= {"range": training_range(predictor, number)} | _labels_of_numbers(labels.get(name, {}))
        room -= (3 if isinstance(column, Factors) else 7) * len(rows)
        if len(shown) >= FEWEST_FEATURES and room < 0:
            break
        shown.append(feature)
    head = "in training" if training is None else "usual in training"
    return {"features": shown, "hidden": len(importance) - len(shown), "usual": head}


def usual_words(predictor: Predictor, number: int, training: Codes | None) -> str:
    """A column -> its usual values in training: where the middle 80 % lie, or the commonest categories.

    Without the training rows, its range, or the first categories.
    """
    known = predictor.codebook.schema.categories[number]
    if training is None:
        return range_words(predictor, number) if known is None else _listed(known.tolist())
    codes = training[number][training[number] != predictor.codebook.missing_code]
    if not len(codes):
        return "always missing"
    if known is not None:
        counts = np.bincount(codes, minlength=len(known))
        order = [k for k in np.argsort(-counts, kind="stable").tolist() if counts[k]]
        named = [
            f"{cut(known[k], 30)} {counts[k] / len(codes):.0%}".replace("%", "\N{NO-BREAK SPACE}%")
            for k in (order if len(order) <= NAMED + 1 else order[:NAMED])
        ]
        return ", ".join(named) + (f", {len(order) - len(named):,} others" if len(order) > len(named) else "")
    low, high = (
        predictor.codebook.value_of_code(number, int(code)) for code in np.quantile(codes, [0.1, 0.9], method="nearest")
    )
    ends = [each if isinstance(each, str) else number_words(float(each)) for each in (low, high)]
    return f"{' to '.join(dict.fromkeys(ends))} (all: {range_words(predictor, number)})"


def range_words(predictor: Predictor, number: int) -> str:
    """A numeric column -> from its smallest to its largest training value."""
    span, kind = training_range(predictor, number), predictor.codebook.schema.kinds[number]
    if span is None:
        return "–"
    return " to ".join(date_words(end, kind) if kind in DATES else number_words(end) for end in span)


def training_range(predictor: Predictor, number: int) -> tuple[float, float] | None:
    """A numeric column -> approximately its smallest and largest training value."""
    bins = predictor.fitted.bins
    centers = bins.centers[bins.center_start[number] : bins.center_start[number + 1]]
    finite = centers[np.isfinite(centers)]
    return (float(finite.min()), float(finite.max())) if len(finite) else None


def _factor(column: Factors, rows: NDArray[np.int64]) -> dict[str, Any]:
    """A nominal column -> the categories that the rows have, and the place of each row among them."""
    codes = np.asarray(column.codes)[rows]
    used, code = np.unique(codes[codes >= 0], return_inverse=True)
    where = np.full(len(rows), -1)
    where[codes >= 0] = code
    return {"categories": [cut(value) for value in column.values[used].tolist()], "values": where.tolist()}


def _numbers(column: Any, rows: NDArray[np.int64], kind: Kind) -> dict[str, Any]:
    """A numeric column -> the numbers of the rows with few digits; None is missing, infinities are text."""
    digits = DATE_DIGITS if kind in DATES else DIGITS
    numbers = [float(f"{value:.{digits}g}") for value in np.asarray(column, dtype=np.float64)[rows].tolist()]
    values = [each if np.isfinite(each) else None if np.isnan(each) else str(each) for each in numbers]
    return {"values": values, "date": kind} if kind in DATES else {"values": values}


def _listed(known: list[Any]) -> str:
    """Categories -> the first few."""
    names = [cut(value, 30) for value in known]
    return ", ".join(names[:5]) + (f" … ({len(names):,} in all)" if len(names) > 5 else "")


def _labels_of_numbers(labels: Mapping[str, str]) -> dict[str, Any]:
    """Value as text -> readable name: those of numbers."""
    found = {}
    for key, label in labels.items():
        try:
            found[f"{float(key):.{DIGITS}g}"] = cut(label)
        except ValueError:
            continue
    return {"labels": found} if found else {}
