"""Report page of regressors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedgerow.explain.cases import KnownRows, number, training_rows, value_words
from hedgerow.explain.presenters.classification_page import renamed_columns
from hedgerow.explain.regression import RegressionExplanation, explain_number_batch
from hedgerow.explain.report.answers_file import model_mark, table_mark
from hedgerow.explain.report.figures import (
    Feature,
    NovelRows,
    columns_of,
    features_of,
    group_tables,
    most_important,
    novel_rows,
)
from hedgerow.explain.report.pack import choose_cases, cut, packed
from hedgerow.explain.report.places import Place, undecided_places
from hedgerow.explain.report.plots import Plot, error_plots
from hedgerow.explain.report.request import Parts, ReportRequest, column_name, readable
from hedgerow.explain.report.values import shown_values
from hedgerow.explain.report.why import (
    MOST_UNCERTAIN,
    MOST_VISITS,
    NEAREST,
    SHOWN,
    WHY_BYTES,
    explained_within,
    nearest_words,
    one_line,
)
from hedgerow.explain.text import support_words, top_features
from hedgerow.inference.batch import Batch
from hedgerow.inference.notices import notices_about
from hedgerow.inference.predictor import predictor_of
from hedgerow.metrics import tally_numbers
from hedgerow.table import NamedColumns
from hedgerow.tasks.regression.evaluation import RegressionEvaluation
from hedgerow.tasks.regression.oob import scaled_interval
from hedgerow.tasks.regression.predictor import COVERAGE, RegressionPredictor

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from hedgerow.table.schema import TableLike

Floats = NDArray[np.float64]

#: Fraction of the rows that counts as those with the widest intervals.
WIDEST = 0.1
#: Number of rows explained because of their large errors.
MOST_WRONG = 20
#: Number of rows shown without scripts.
PLAIN_ROWS = 200


@dataclass(frozen=True, eq=False)
class RegressionReportData:
    """Predictions for n rows, and their targets if given."""

    batch: Batch
    table: NamedColumns  # the same rows, with readable names
    predicted: Floats  # (n,)
    ends: Floats | None  # (n, 2): intervals, if the model has any
    truth: Floats | None  # (n,)

    @property
    def width(self) -> Floats:
        """Widths of the intervals (n,); zero for a model without intervals."""
        return np.zeros(len(self.predicted)) if self.ends is None else self.ends[:, 1] - self.ends[:, 0]

    @property
    def is_wide(self) -> NDArray[np.bool_]:
        """Mask of the rows with the widest tenth of intervals (n,)."""
        if self.ends is None or not (self.width > self.width.min()).any():
            return np.zeros(len(self.predicted), dtype=bool)
        return np.asarray(self.width > np.quantile(self.width, 1 - WIDEST, method="lower"))


@dataclass(frozen=True, eq=False)
class RegressionFigures:
    """Content of the report of a regressor, except the cases."""

    n_rows: int
    has_intervals: bool
    coverage: float
    middle_width: float
    n_inside: int | None
    metrics: list[tuple[str, str, str]]  # name, value, meaning
    values: dict[str, float | None]
    places: list[Place]
    novel: NovelRows | None
    model: list[tuple[str, str]]
    features: list[Feature]
    plots: list[Plot]


def regression_parts(forest: BaseEstimator, X: TableLike, y: ArrayLike | None, request: ReportRequest) -> Parts:
    """Return the parts of the report of a regressor."""
    predictor: RegressionPredictor = predictor_of(forest)
    coverage = COVERAGE if request.coverage is None else request.coverage
    predictions = _predictions(predictor, X, y, coverage)
    marks = {"model": model_mark(predictor.fitted), "table": table_mark(predictions.table), "first": request.first_row}
    training = training_rows(predictor, request.train, request.y_train)
    codes = None if training is None else training.codes
    if request.labels:  # the readable copy serves texts only
        forest = readable(forest, request.labels)
        predictor = predictor_of(forest)
        predictions = replace(predictions, table=renamed_columns(predictions.table, predictor))
    importance = forest.feature_importances_
    figures = _figures(forest, predictor, predictions, coverage, importance, codes)
    wanted = _worth_explaining(predictions)
    rows = choose_cases(predictions.is_wide, request.max_cases, wanted)
    wanted = rows if request.explained == "all" else wanted[np.isin(wanted, rows)]
    why = _explained(predictor, predictions, wanted, training, request, coverage)
    labels = {column_name(name, request.labels): values for name, values in (request.labels or {}).items()}
    data = _data(predictor, predictions, rows, request, coverage) | {
        "marks": marks,
        "why": {place: why[row] for place, row in enumerate(rows.tolist()) if row in why},
    }
    data |= shown_values(importance, predictor, predictions.table, rows, codes, labels)
    plain = [
        _plain_row(predictions, row, request)
        for row in np.argsort(-predictions.width, kind="stable")[:PLAIN_ROWS].tolist()
    ]
    evaluated = (
        None
        if predictions.truth is None
        else RegressionEvaluation(predictions.truth, predictions.predicted, predictions.ends)
    )
    more, tables = group_tables(evaluated, request)
    context = {"plain_rows": plain, "tables": tables}
    notices = notices_about(predictor.fitted, predictions.batch, has_truth=predictions.truth is not None)
    return Parts("numbers", ("numbers.js",), figures, _plain(figures) | more, data, context, notices)


def _predictions(
    predictor: RegressionPredictor, X: TableLike, y: ArrayLike | None, coverage: float
) -> RegressionReportData:
    """Predict the rows, and check their targets (n,) if given."""
    batch = predictor.read(X, all_features=True)
    predicted, truth = predictor.predicted(batch), None
    if y is not None:
        truth = np.asarray(y, dtype=np.float64)
        if truth.shape != predicted.shape or not np.isfinite(truth).all():
            raise ValueError(
                f"y must have one finite target for each of the {len(predicted)} rows of X, got shape {truth.shape}."
            )
    ends = predictor.interval(batch, coverage) if predictor.has_residuals else None
    return RegressionReportData(batch, columns_of(batch), predicted, ends, truth)


def _figures(
    forest: BaseEstimator,
    predictor: RegressionPredictor,
    predictions: RegressionReportData,
    coverage: float,
    importance: Floats,
    training: Any,
) -> RegressionFigures:
    """Compute the figures of the report."""
    found = (
        {}
        if predictions.truth is None
        else tally_numbers(predictions.truth, predictions.predicted, predictions.ends).figures()
    )
    found.pop("rows", None)
    inside = None
    if predictions.truth is not None and predictions.ends is not None:
        inside = int(
            ((predictions.truth >= predictions.ends[:, 0]) & (predictions.truth <= predictions.ends[:, 1])).sum()
        )
    return RegressionFigures(
        n_rows=len(predictions.predicted),
        has_intervals=predictions.ends is not None,
        coverage=coverage,
        middle_width=float(np.median(predictions.width)),
        n_inside=inside,
        metrics=_metric_rows(found, coverage),
        values=found,
        places=undecided_places(most_important(importance, predictions.table), predictions.is_wide),
        novel=novel_rows(forest, predictions.batch.novelty, predictions.table, predictions.is_wide),
        model=_model_facts(forest, predictor),
        features=features_of(importance, predictor, predictions.table, training),
        plots=[]
        if predictions.truth is None
        else error_plots(predictions.predicted, predictions.truth, predictions.ends),
    )


def _metric_rows(values: dict[str, Any], coverage: float) -> list[tuple[str, str, str]]:
    """Return name, formatted value and meaning of each metric."""
    meanings = {
        "r2": ("R²", "of the variance of the targets is explained", "%"),
        "mean_absolute_error": ("Mean absolute error", "mean distance between prediction and target", ""),
        "root_mean_squared_error": (
            "Root mean squared error",
            "like the mean absolute error, with more weight on large errors",
            "",
        ),
        "coverage": ("Coverage", f"of the {coverage:.0%} intervals contain the target", "%"),
        "mean_interval_width": ("Mean width", "of these intervals", ""),
    }
    rows = []
    for key, value in values.items():
        name, meaning, form = meanings[key]
        shown = "–" if value is None else f"{value:.1%}" if form else number(value)
        rows.append((name, shown, meaning))
    return rows


def _model_facts(forest: BaseEstimator, predictor: RegressionPredictor) -> list[tuple[str, str]]:
    """Return names and values that describe the model."""
    trees = predictor.forest
    facts = [
        ("Model", type(forest).__name__),
        ("Trees", f"{trees.n_trees:,} with {int(trees.leaf_start[-1]):,} leaves"),
        ("Targets in training", f"{number(predictor.info.low)} to {number(predictor.info.high)}"),
        ("Caution", f"{predictor.caution:g}"),
    ]
    score = predictor.fitted.figures.oob_score
    return facts if score is None else [*facts, ("Out-of-bag R²", f"{score:.3f}")]


def _worth_explaining(predictions: RegressionReportData) -> NDArray[np.int64]:
    """Choose the rows with the widest intervals, then those with the largest errors."""
    chosen = np.argsort(-predictions.width, kind="stable")[:MOST_UNCERTAIN].tolist()
    if predictions.truth is not None:
        chosen += np.argsort(-np.abs(predictions.predicted - predictions.truth), kind="stable")[:MOST_WRONG].tolist()
    return np.array(list(dict.fromkeys(chosen)), dtype=np.int64)


def _explained(
    predictor: RegressionPredictor,
    predictions: RegressionReportData,
    rows: NDArray[np.int64],
    training: KnownRows | None,
    request: ReportRequest,
    coverage: float,
) -> dict[int, dict[str, Any]]:
    """Explain rows (m,), as many as fit into the page.

    Return the explanations by row.
    """
    shap = len(predictor.forest.nodes) * len(rows) <= MOST_VISITS

    def explain(batch: Batch) -> list[dict[str, Any]]:
        found = explain_number_batch(predictor, batch, training, cases=NEAREST, shap=shap, coverage=coverage)
        return [_words(estimate, request.first_row) for estimate in found]

    return explained_within(
        WHY_BYTES if request.explained == "some" else None, predictions, rows, request.progress, explain
    )


def _words(estimate: RegressionExplanation, first: int) -> dict[str, Any]:
    """Return the part of an explanation that the page shows."""
    names, found = top_features(estimate), estimate.contributions
    contributions = None
    if found is not None:
        at = [found.features.index(name) for name in names]
        values = [f"{cut(name)} = {cut(value_words(estimate.values[name]))}" for name in names]
        lines = [[words, found.prediction[j], found.width[j]] for words, j in zip(values, at, strict=True)]
        contributions = {"base": found.base["prediction"], "rows": lines}
    listed = (("missing", estimate.missing), ("outside the training range", estimate.out_of_range))
    lacks = [f"{what}: {', '.join(features)}" for what, features in listed if features]
    return {
        "support": [one_line(line) for line in (*support_words(estimate), *lacks)],
        "near": nearest_words(estimate, names[:SHOWN], first),
        "contributions": contributions,
    }


def _data(
    predictor: RegressionPredictor,
    predictions: RegressionReportData,
    rows: NDArray[np.int64],
    request: ReportRequest,
    coverage: float,
) -> dict[str, Any]:
    """Return the data of the script, without explanations and values."""
    data: dict[str, Any] = {
        "nRows": len(predictions.predicted),
        "rows": packed(rows + request.first_row),
        "names": None if request.names is None else [request.names[row] for row in rows.tolist()],
        "truth": None if predictions.truth is None else packed(predictions.truth[rows]),
        "mean": packed(predictions.predicted[rows]),
        "coverage": coverage,
        "scale": _scale(predictor, predictions),
    }
    residuals = predictor.residuals("report") if predictor.has_residuals else None
    if predictions.ends is not None and residuals is not None and residuals.scaled is not None:
        batch = predictions.batch[rows]
        moments = predictor.moments(batch.codes)
        plain = scaled_interval(moments, residuals, coverage)
        data |= {"wider": _wider(plain, predictions.ends[rows], batch)}
        return data | {"spread": packed(moments.spread(residuals.mean_square)), "scaled": packed(residuals.scaled)}
    return data | {
        "spread": None,
        "scaled": None,
        "ends": None if predictions.ends is None else predictions.ends[rows].tolist(),
    }


def _wider(plain: Floats, ends: Floats, batch: Batch) -> dict[int, list[float]]:
    """Return by row how far out-of-support values move both ends of the interval (n, 2) outwards."""
    if batch.unseen is None:
        return {}
    rows = batch.unseen.rows
    with np.errstate(invalid="ignore"):  # intervals of very few training rows are infinite
        beyond = np.nan_to_num((plain - ends)[rows] * [1, -1], nan=0.0)
    return dict(zip(rows.tolist(), beyond.tolist(), strict=True))


def _scale(predictor: RegressionPredictor, predictions: RegressionReportData) -> list[float]:
    """Return the range of the drawings of intervals."""
    known = [predictions.predicted, np.array([predictor.info.low, predictor.info.high])]
    known += [] if predictions.truth is None else [predictions.truth]
    return [float(min(each.min() for each in known)), float(max(each.max() for each in known))]


def _plain_row(predictions: RegressionReportData, row: int, request: ReportRequest) -> list[str]:
    """Return name, prediction, interval and target of a row, for browsers without scripts."""
    ends = ["–", "–"] if predictions.ends is None else [number(float(end)) for end in predictions.ends[row]]
    truth = [] if predictions.truth is None or predictions.ends is None else [number(float(predictions.truth[row]))]
    return [request.called(row), number(float(predictions.predicted[row])), *ends, *truth]


def _plain(figures: RegressionFigures) -> dict[str, Any]:
    """Return the figures as plain Python."""
    places = [
        {"conditions": list(place.conditions), "rows": place.rows, "widest": place.undecided}
        for place in figures.places
    ]
    novel = None if figures.novel is None else figures.novel.number
    known: dict[str, float | None] = {"rows": figures.n_rows, "novel": novel}
    if figures.has_intervals:
        known |= {"median_interval_width": figures.middle_width, "asked_coverage": figures.coverage}
    return known | figures.values | {"places": places}
