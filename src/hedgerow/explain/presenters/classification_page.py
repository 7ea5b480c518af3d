"""Report page of classifiers: cases, rates of two classes, calibration."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedgerow.decisions import Dominance
from hedgerow.explain.cases import training_rows
from hedgerow.explain.question import check_one_threshold
from hedgerow.explain.report.answers_file import model_mark, table_mark
from hedgerow.explain.report.figures import (
    ReportData,
    ReportFigures,
    class_tables,
    figures_of,
    page_decision,
    page_rule,
    predictions_for,
)
from hedgerow.explain.report.pack import cut, pack_cases, packed, rows_per_case
from hedgerow.explain.report.plots import Frame, Plot
from hedgerow.explain.report.request import Parts, ReportRequest, column_name, readable
from hedgerow.explain.report.values import shown_values
from hedgerow.explain.report.why import WHY_BYTES, explanations_of, worth_explaining
from hedgerow.inference.notices import notices_about
from hedgerow.inference.predictor import predictor_of
from hedgerow.metrics.confusion import Estimate, auc, rates, share_of
from hedgerow.table import Factors, NamedColumns
from hedgerow.table.schema import Array
from hedgerow.tasks.classification.evaluation import ClassificationEvaluation
from hedgerow.tasks.classification.predictor import ClassificationPredictor

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from hedgerow.table.schema import TableLike


#: Number of undecided rows shown without scripts.
PLAIN_ROWS = 200
#: Number of groups of rows of equal size, by probability.
GROUPS = 10
_MEANING = {
    "sensitivity": "of the {positive} rows are predicted {positive}",
    "specificity": "of the other rows are not predicted {positive}",
    "positive_predictive_value": "of the rows predicted {positive} are {positive}",
    "negative_predictive_value": "of the rows not predicted {positive} are not {positive}",
}


def classification_parts(forest: BaseEstimator, X: TableLike, y: ArrayLike | None, request: ReportRequest) -> Parts:
    """Return the parts of the report of a classifier."""
    predictor: ClassificationPredictor = predictor_of(forest)
    check_one_threshold(predictor)
    predictions, classes = predictions_for(predictor, X, y), predictor.classes
    marks = {"model": model_mark(predictor.fitted), "table": table_mark(predictions.table), "first": request.first_row}
    training = training_rows(predictor, request.train, request.y_train)
    codes = None if training is None else training.codes
    if request.labels:  # the readable copy serves texts only
        forest = readable(forest, request.labels)
        if training is not None and training.labels is not None:
            training = replace(training, labels=_renamed(training.labels, predictor.classes, forest.classes_))
        predictor = predictor_of(forest)
        predictions = replace(predictions, table=renamed_columns(predictions.table, predictor))
    importance = forest.feature_importances_
    figures = figures_of(forest, predictor, predictions, importance, codes)
    wanted = worth_explaining(predictions, figures.places)
    rows, evidence = pack_cases(
        predictor.forest, predictions.batch.codes, predictions.is_open, request.max_cases, wanted
    )
    undecided = rows[predictions.is_open[rows]]
    budget: int | None = WHY_BYTES
    if request.explained == "all":
        wanted, budget = undecided, None
    why = explanations_of(forest, predictor, predictions, wanted[np.isin(wanted, rows)], training, request, budget)
    data = _data(predictor, predictions, rows, request) | {
        "marks": marks,
        "evidence": evidence,
        "standsFor": rows_per_case(predictions.is_open, rows),
        "why": {place: why[row] for place, row in enumerate(rows.tolist()) if row in why},
        "unexplained": len(undecided) - len(why),
    }
    labels = {column_name(name, request.labels): values for name, values in (request.labels or {}).items()}
    data |= shown_values(importance, predictor, predictions.table, rows, codes, labels)
    plain = [
        _plain_row(forest, predictions, row, request)
        for row in np.flatnonzero(predictions.is_open)[:PLAIN_ROWS].tolist()
    ]
    found = two_class_rates(predictor.classes, predictions)
    plot = calibration_plot(predictor.classes, predictions)
    evaluated = None
    if predictions.truth is not None:
        evaluated = ClassificationEvaluation(
            predictor.classes, predictions.truth, predictions.opinion.probability, predictions.chosen
        )
    more, tables = class_tables(evaluated, request, classes)
    context = {
        "tables": tables,
        "rates": rate_words(predictor.classes, predictions, found),
        "plots": [] if plot is None else [plot],
    }
    context |= {"open": figures.n_open, "decided": figures.n_rows - figures.n_open, "plain_rows": plain}
    return Parts(
        "classes",
        ("arithmetic.js", "uncertainty.js", "classes.js"),
        figures,
        _plain(figures, found) | more,
        data,
        context,
        notices_about(predictor.fitted, predictions.batch, has_truth=predictions.truth is not None),
    )


def renamed_columns(table: NamedColumns, predictor: Any) -> NamedColumns:
    """Rename columns and categories as in a model."""
    known = predictor.fitted.schema.categories
    listed = [
        Factors(column.codes, known[j]) if isinstance(column, Factors) else column
        for j, column in enumerate(table.listed)
    ]
    names = predictor.fitted.schema.names
    pairs = zip(table.names, names, strict=True) if table.names and names else ()
    return NamedColumns(names, listed, {new for old, new in pairs if old in table.dates})


def _renamed(labels: Array, classes: Array, names: Array) -> Array:
    """Replace labels (m,) that are classes (K,) by their readable names (K,)."""
    known = dict(zip(classes.tolist(), names.tolist(), strict=True))
    return np.array([known.get(label, label) for label in labels.tolist()], dtype=object)


def _data(
    predictor: ClassificationPredictor, predictions: ReportData, rows: NDArray[np.int64], request: ReportRequest
) -> dict[str, Any]:
    """Return the data of the script, without evidence, explanations and values."""
    return {
        "classes": [cut(name) for name in predictor.classes.tolist()],
        "classNumbers": not all(isinstance(name, str) for name in predictor.classes.tolist()),
        "prior": predictor.info.prior.tolist(),
        "nRows": len(predictions.is_open),
        "nTrees": int(predictor.forest.n_trees),
        **({"ofGroups": True} if predictor.fitted.counts_groups else {}),
        "settings": {
            "caution": predictor.caution,
            "rule": page_rule(predictor.wide_rule),
            "decision": page_decision(Dominance() if predictor.decision.has_actions else predictor.decision),
        },
        "rows": packed(rows + request.first_row),
        "names": None if request.names is None else [request.names[row] for row in rows.tolist()],
        "truth": None if predictions.truth is None else packed(predictions.truth[rows]),
        "label": packed(predictions.label[rows]),
        "sets": [np.flatnonzero(predictions.chosen[row]).tolist() for row in rows.tolist()],
        "adjusted": _adjusted(predictor, predictions, rows),
    }


def _adjusted(predictor: ClassificationPredictor, predictions: ReportData, rows: NDArray[np.int64]) -> dict[str, Any]:
    """Return the novel cases and those with out-of-support values, whose opinions (m, K) depend on more than leaves."""
    adjusted = predictor.adjusted_rows(predictions.batch)
    cases = np.flatnonzero([] if adjusted is None else adjusted[rows])
    opinion = predictions.opinion[rows[cases]]
    parts = {"probability": opinion.probability, "lower": opinion.lower, "upper": opinion.upper}
    return {"cases": cases.tolist(), "parts": {name: packed(values) for name, values in parts.items()}}


def _plain_row(
    forest: BaseEstimator, predictions: ReportData, row: int, request: ReportRequest
) -> tuple[str, str, str, str]:
    """Return name, set, most probable class with its bounds, and true class of an undecided row."""
    label = int(predictions.label[row])
    classes = " or ".join(cut(name) for name in forest.classes_[predictions.chosen[row]].tolist())
    bounds = f"{predictions.opinion.lower[row, label]:.1%} to {predictions.opinion.upper[row, label]:.1%}"
    truth = "" if predictions.truth is None else cut(forest.classes_[predictions.truth[row]])
    return request.called(row), classes, f"{cut(forest.classes_[label])}: {bounds}", truth


def _plain(figures: ReportFigures, rates: dict[str, Estimate]) -> dict[str, Any]:
    """Return the figures, including the rates of two classes, as plain Python."""
    places = [
        {"conditions": list(place.conditions), "rows": place.rows, "undecided": place.undecided}
        for place in figures.places
    ]
    novel = None if figures.novel is None else figures.novel.number
    known = {"rows": figures.n_rows, "indeterminate": figures.n_open, "novel": novel}
    two = {"two_classes": {name: each._asdict() for name, each in rates.items()}} if rates else {}
    return known | figures.values | two | {"places": places}


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
    """Format rates as name, value and explanation."""
    if not found or predictions.truth is None:
        return []
    positive = f"“{cut(classes[positive_place(predictions.truth)])}”"
    lines = [
        (name.replace("_", " ").capitalize(), *_value(each), _MEANING[name].format(positive=positive))
        for name, each in found.items()
        if name != "auc"
    ]
    auc_meaning = f"probability that a {positive} row is ranked above another row"
    return [(name, value, ends + explanation) for name, value, ends, explanation in lines] + [
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
