"""Rates of two classes, and calibration of probabilities."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hedgerow.explain.question import Array
from hedgerow.explain.report.figures import ReportData
from hedgerow.explain.report.pack import cut
from hedgerow.explain.report.plots import Frame, Plot
from hedgerow.metrics.two_classes import Estimate, auc, rates, share_of

#: Number of groups of rows of equal size, by probability.
GROUPS = 10
_MEANING = {
    "sensitivity": "of the {positive} rows are predicted {positive}",
    "specificity": "of the other rows are not predicted {positive}",
    "positive_predictive_value": "of the rows predicted {positive} are {positive}",
    "negative_predictive_value": "of the rows not predicted {positive} are not {positive}",
}


def two_class_rates(classes: Array, predictions: ReportData) -> dict[str, Estimate]:
    """Estimate the rates of the rarer of two classes.

    Empty for more classes, or without true classes.
    """
    if predictions.truth is None or len(classes) != 2:
        return {}
    place = positive_place(predictions.truth)
    is_positive = predictions.truth == place
    return rates(is_positive, predictions.label == place) | {
        "auc": auc(is_positive, predictions.opinion.probability[:, place])
    }


def rate_words(classes: Array, predictions: ReportData, found: dict[str, Estimate]) -> list[tuple[str, str, str]]:
    """Format rates as name, value and meaning."""
    if not found or predictions.truth is None:
        return []
    positive = f"“{cut(classes[positive_place(predictions.truth)])}”"
    lines = [
        (name.replace("_", " ").capitalize(), *_value(each), _MEANING[name].format(positive=positive))
        for name, each in found.items()
        if name != "auc"
    ]
    auc_meaning = f"probability that a {positive} row is ranked above another row"
    return [(name, value, ends + meaning) for name, value, ends, meaning in lines] + [
        ("AUC", *_area(found["auc"], auc_meaning))
    ]


def calibration_plot(classes: Array, predictions: ReportData) -> Plot | None:
    """Plot the observed frequency against the probability.

    None without true classes, or for few rows.
    """
    if predictions.truth is None or len(predictions.truth) < GROUPS:
        return None
    if len(classes) == 2:
        place = positive_place(predictions.truth)
        probability, right = predictions.opinion.probability[:, place], predictions.truth == place
        of, axes = f"“{cut(classes[place])}”", ("probability", "true")
    else:
        probability, right = predictions.opinion.probability.max(axis=1), predictions.label == predictions.truth
        of, axes = "the most probable class", ("probability", "right")
    groups = np.array_split(np.argsort(probability, kind="stable"), GROUPS)
    mean = np.array([probability[rows].mean() for rows in groups])
    share = [share_of(int(right[rows].sum()), len(rows)) for rows in groups]
    frame = Frame((0.0, 1.0), (0.0, 1.0))
    hint = (
        f"Observed frequency in ten groups of rows by the probability of {of}, with 95% intervals. Calibrated"
        " probabilities are on the line."
    )
    heights = np.array([each.value for each in share], dtype=np.float64)
    drawn = frame.plot("Calibration", hint, mean, heights, axes, (0.0, 0.0, 1.0, 1.0))
    ends = [(x, each.lower, x, each.upper) for x, each in zip(mean.tolist(), share, strict=True)]
    return frame.with_lines(drawn, "whisker", np.array(ends, dtype=np.float64))


def positive_place(truth: NDArray[np.int64]) -> int:
    """Return the rarer of two true classes (n,)."""
    return int(np.bincount(truth, minlength=2).argmin())


def _value(found: Estimate) -> tuple[str, str]:
    """Format a rate and its interval."""
    if found.value is None or found.lower is None or found.upper is None:
        return "–", ""
    return f"{found.value:.1%}", f"({100 * found.lower:.1f} to {100 * found.upper:.1f}) "


def _area(found: Estimate, meaning: str) -> tuple[str, str]:
    """Format an area, and its interval with the meaning."""
    ends = "" if found.lower is None else f"({found.lower:.3f} to {found.upper:.3f}) "
    return "–" if found.value is None else f"{found.value:.3f}", ends + meaning
