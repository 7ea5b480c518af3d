"""Rates of two classes, and calibration of probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.explain.report.figures import ReportData
from hedgerow.explain.report.pack import cut
from hedgerow.explain.report.plots import Frame, Plot
from hedgerow.metrics.two_classes import Estimate, auc, rates, share_of

#: Rows are put into so many groups of equal size, by their probability.
GROUPS = 10
_MEANING = {
    "sensitivity": "of {so} are called so",
    "specificity": "of the others are not called {so}",
    "positive_predictive_value": "of those called {so} are",
    "negative_predictive_value": "of those not called {so} are not",
}


def two_class_rates(classes: NDArray[Any], predictions: ReportData) -> dict[str, Estimate]:
    """Figures about the rarer of two classes, by name; none if there are more classes, or nothing is known of them."""
    if predictions.truth is None or len(classes) != 2:
        return {}
    place = positive_place(predictions.truth)
    is_so = predictions.truth == place
    return rates(is_so, predictions.label == place) | {"auc": auc(is_so, predictions.opinion.probability[:, place])}


def rate_words(
    classes: NDArray[Any], predictions: ReportData, found: dict[str, Estimate]
) -> list[tuple[str, str, str]]:
    """The same as name, value and meaning."""
    if not found or predictions.truth is None:
        return []
    so = f"“{cut(classes[positive_place(predictions.truth)])}”"
    lines = [
        (name.replace("_", " ").capitalize(), *_value(each), _MEANING[name].format(so=so))
        for name, each in found.items()
        if name != "auc"
    ]
    return [(name, value, ends + codebook) for name, value, ends, codebook in lines] + [
        (
            "AUC",
            *_area(found["auc"], f"how often a row that is {so} has a higher probability of it than a row that is not"),
        )
    ]


def calibration_plot(classes: NDArray[Any], predictions: ReportData) -> Plot | None:
    """How often what has a probability is true, in groups of rows; None if it is not known, or rows are few."""
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
        f"Rows in ten groups by the probability of {of}: how often it is true, with 95 % intervals. On the line,"
        " probabilities come true."
    )
    heights = np.array([each.value for each in share], dtype=np.float64)
    drawn = frame.plot("Probabilities and what is true", hint, mean, heights, axes, (0.0, 0.0, 1.0, 1.0))
    ends = [(x, each.lower, x, each.upper) for x, each in zip(mean.tolist(), share, strict=True)]
    return frame.with_lines(drawn, "whisker", np.array(ends, dtype=np.float64))


def positive_place(truth: NDArray[np.int64]) -> int:
    """True classes (n,) of two -> the rarer one."""
    return int(np.bincount(truth, minlength=2).argmin())


def _value(found: Estimate) -> tuple[str, str]:
    """An estimate -> the share and its interval, as words."""
    if found.value is None or found.lower is None or found.upper is None:
        return "–", ""
    return f"{100 * found.value:.1f} %", f"({100 * found.lower:.1f} to {100 * found.upper:.1f}) "


def _area(found: Estimate, codebook: str) -> tuple[str, str]:
    """An area, and what it means -> the area, and its interval with the meaning."""
    ends = "" if found.lower is None else f"({found.lower:.3f} to {found.upper:.3f}) "
    return "–" if found.value is None else f"{found.value:.3f}", ends + codebook
