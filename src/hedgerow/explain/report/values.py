"""Feature values of single rows, with the usual values in training."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedgerow.explain.cases import number as number_words
from hedgerow.explain.report.pack import cut
from hedgerow.inference.predictor import Predictor
from hedgerow.table import Factors, NamedColumns
from hedgerow.table.bins import DATES, Codes, date_words
from hedgerow.table.schema import Kind

Floats = NDArray[np.float64]

#: Significant digits of the values shown with a case.
DIGITS = 6
#: Significant digits of dates, which are days since 1970 with fractions for minutes.
DATE_DIGITS = 10
#: Smallest number of features shown with a case, the most important ones, and the size limit for all.
FEWEST_FEATURES, VALUES_BYTES = 12, 600_000
#: Number of common categories named; a single further one is named too.
NAMED = 4


def shown_values(
    importance: Floats,
    predictor: Predictor,
    table: NamedColumns,
    rows: NDArray[np.int64],
    training: Codes | None,
    labels: Mapping[str, Mapping[str, str]],
) -> dict[str, Any]:
    """Return the data of the script with the values of rows, the most important features first.

    `training` (p, m) are the bin indices of the training rows, if available; `labels` are readable names of numbers.
    """
    shown: list[dict[str, Any]] = []
    left_bytes = VALUES_BYTES
    for number in np.argsort(-importance, kind="stable").tolist():
        column = table.listed[number]
        name = table.names[number] if table.names else f"x[{number}]"
        feature: dict[str, Any] = {"name": cut(name), "usual": usual_words(predictor, number, training)}
        column_type = predictor.codebook.schema.kinds[number]
        feature |= _factor(column, rows) if isinstance(column, Factors) else _numbers(column, rows, column_type)
        if not isinstance(column, Factors):
            feature |= {"range": training_range(predictor, number)} | _labels_of_numbers(labels.get(name, {}))
        left_bytes -= (3 if isinstance(column, Factors) else 7) * len(rows)
        if len(shown) >= FEWEST_FEATURES and left_bytes < 0:
            break
        shown.append(feature)
    head = "in training" if training is None else "usual in training"
    return {"features": shown, "hidden": len(importance) - len(shown), "usual": head}


def usual_words(predictor: Predictor, number: int, training: Codes | None) -> str:
    """Describe the values of a column in training: the range of the middle 80%, or the commonest categories.

    Without the training rows, the whole range, or the first categories.
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
            f"{cut(known[k], 30)} {counts[k] / len(codes):.0%}"
            for k in (order if len(order) <= NAMED + 1 else order[:NAMED])
        ]
        return ", ".join(named) + (f", {len(order) - len(named):,} others" if len(order) > len(named) else "")
    low, high = (
        predictor.codebook.value_of_code(number, int(code)) for code in np.quantile(codes, [0.1, 0.9], method="nearest")
    )
    ends = [each if isinstance(each, str) else number_words(float(each)) for each in (low, high)]
    return f"{' to '.join(dict.fromkeys(ends))} (all: {range_words(predictor, number)})"


def range_words(predictor: Predictor, number: int) -> str:
    """Format the training range of a numeric column."""
    span, column_type = training_range(predictor, number), predictor.codebook.schema.kinds[number]
    if span is None:
        return "–"
    return " to ".join(date_words(end, column_type) if column_type in DATES else number_words(end) for end in span)


def training_range(predictor: Predictor, number: int) -> tuple[float, float] | None:
    """Return approximately the smallest and the largest training value of a numeric column."""
    bins = predictor.fitted.bins
    centers = bins.centers[bins.center_start[number] : bins.center_start[number + 1]]
    finite = centers[np.isfinite(centers)]
    return (float(finite.min()), float(finite.max())) if len(finite) else None


def _factor(column: Factors, rows: NDArray[np.int64]) -> dict[str, Any]:
    """Return the categories of the rows, and the index of each row among them."""
    codes = np.asarray(column.codes)[rows]
    used, code = np.unique(codes[codes >= 0], return_inverse=True)
    where = np.full(len(rows), -1)
    where[codes >= 0] = code
    return {"categories": [cut(value) for value in column.values[used].tolist()], "values": where.tolist()}


def _numbers(column: ArrayLike, rows: NDArray[np.int64], column_type: Kind) -> dict[str, Any]:
    """Return the numbers of the rows with few digits.

    Missing ones are None, infinities text.
    """
    digits = DATE_DIGITS if column_type in DATES else DIGITS
    numbers = [float(f"{value:.{digits}g}") for value in np.asarray(column, dtype=np.float64)[rows].tolist()]
    values = [each if np.isfinite(each) else None if np.isnan(each) else str(each) for each in numbers]
    return {"values": values, "date": column_type} if column_type in DATES else {"values": values}


def _listed(known: list[object]) -> str:
    """List the first few categories."""
    names = [cut(value, 30) for value in known]
    return ", ".join(names[:5]) + (f" … ({len(names):,} in all)" if len(names) > 5 else "")


def _labels_of_numbers(labels: Mapping[str, str]) -> dict[str, Any]:
    """Return the readable names of numbers."""
    found = {}
    for key, label in labels.items():
        try:
            found[f"{float(key):.{DIGITS}g}"] = cut(label)
        except ValueError:
            continue
    return {"labels": found} if found else {}
