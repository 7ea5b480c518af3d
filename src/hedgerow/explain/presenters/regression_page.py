"""Report page of regressors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.explain.cases import KnownRows, number, training_rows, value_words
from hedgerow.explain.presenters.classification_page import renamed_columns
from hedgerow.explain.regression import RegressionExplanation, explain_number_batch
from hedgerow.explain.report.answers_file import model_mark, table_mark
from hedgerow.explain.report.cases import choose_cases
from hedgerow.explain.report.figures import Feature, NovelRows, columns_of, features_of, most_important, novel_rows
from hedgerow.explain.report.pack import cut, packed
from hedgerow.explain.report.places import Place, undecided_places
from hedgerow.explain.report.plots import Plot, error_plots
from hedgerow.explain.report.request import Parts, ReportRequest, column_name, readable
from hedgerow.explain.report.tables import group_tables
from hedgerow.explain.report.values import shown_values
from hedgerow.explain.report.why import (
    MOST_DOUBTFUL,
    MOST_VISITS,
    NEAREST,
    SHOWN,
    WHY_BYTES,
    explained_within,
    nearest_words,
    one_line,
)
from hedgerow.explain.text import added_features, rests_words
from hedgerow.inference.batch import Batch
from hedgerow.inference.predictor import predictor_of
from hedgerow.metrics import tally_numbers
from hedgerow.table import NamedColumns
from hedgerow.tasks.regression.evaluation import RegressionEvaluation
from hedgerow.tasks.regression.oob import scaled_interval
from hedgerow.tasks.regression.predictor import COVERAGE, RegressionPredictor

Floats = NDArray[np.float64]

#: The rows with the widest intervals: this share of all.
WIDEST = 0.1
#: Rows that are explained because they are furthest from their targets.
MOST_WRONG = 20
#: Rows that are shown if scripts are off.
PLAIN_ROWS = 200


@dataclass(frozen=True, eq=False)
class RegressionReportData:
    """The answers of a regressor for n rows, and their targets if known."""

    batch: Batch
    table: NamedColumns  # the same rows, with names that a reader knows
    predicted: Floats  # (n,)
    ends: Floats | None  # (n, 2): intervals, if the model has any
    truth: Floats | None  # (n,)

    @property
    def width(self) -> Floats:
        """(n,): the widths of the intervals; zero for a model without intervals."""
        return np.zeros(len(self.predicted)) if self.ends is None else self.ends[:, 1] - self.ends[:, 0]

    @property
    def is_wide(self) -> NDArray[np.bool_]:
        """(n,): whether the interval is among the widest tenth."""
        if self.ends is None or not (self.width > self.width.min()).any():
            return np.zeros(len(self.predicted), dtype=bool)
        return np.asarray(self.width > np.quantile(self.width, 1 - WIDEST, method="lower"))


@dataclass(frozen=True, eq=False)
class RegressionFigures:
    """Everything in the report of a regressor except the cases themselves."""

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


def regression_parts(forest: Any, X: Any, y: Any, request: ReportRequest) -> Parts:
    """A regressor, rows and perhaps their targets -> the parts of the page."""
    predictor: RegressionPredictor = predictor_of(forest)
    coverage = COVERAGE if request.coverage is None else request.coverage
    predictions = _predictions(predictor, X, y, coverage)
    marks = {"model": model_mark(predictor.fitted), "table": table_mark(predictions.table), "first": request.first_row}
    training = training_rows(predictor, request.train, request.y_train)
    codes = None if training is None else training.codes
    if request.labels:  # from here on, only words are made
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
    return Parts("numbers", ("numbers.js",), figures, _plain(figures) | more, data, context)


def _predictions(predictor: RegressionPredictor, X: Any, y: Any, coverage: float) -> RegressionReportData:
    """A regressor, n rows and perhaps their targets (n,) -> its answers."""
    batch = predictor.read(X, all_features=True)
    predicted, truth = predictor.predicted(batch), None
    if y is not None:
        truth = np.asarray(y, dtype=np.float64)
        if truth.shape != predicted.shape or not np.isfinite(truth).all():
            raise ValueError(
                f"y must have one finite target for each of the {len(predicted)} rows of X, got shape {truth.shape};"
                " leave it out if the targets are not known"
            )
    ends = predictor.interval(batch, coverage) if predictor.has_residuals else None
    return RegressionReportData(batch, columns_of(batch), predicted, ends, truth)


def _figures(
    forest: Any,
    predictor: RegressionPredictor,
    predictions: RegressionReportData,
    coverage: float,
    importance: Floats,
    training: Any,
) -> RegressionFigures:
    """Answers -> the figures of the report."""
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
    """Figures -> name, formatted value, meaning."""
    codebook = {
        "r2": ("R²", "of the variance of the targets is explained", "%"),
        "mean_absolute_error": ("Mean absolute error", "how far predictions are off on average", ""),
        "root_mean_squared_error": ("Root mean squared error", "the same, with large errors counting more", ""),
        "coverage": ("Coverage", f"of the targets lie in their {coverage:.0%} interval".replace("%", " %"), "%"),
        "mean_interval_width": ("Mean width", "of these intervals", ""),
    }
    rows = []
    for key, value in values.items():
        name, words, form = codebook[key]
        shown = "–" if value is None else f"{100 * value:.1f} %" if form else number(value)
        rows.append((name, shown, words))
    return rows


def _model_facts(forest: Any, predictor: RegressionPredictor) -> list[tuple[str, str]]:
    """A regressor -> names and values that describe the model."""
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
    """The rows with the widest intervals, then those that are furthest from their targets."""
    chosen = np.argsort(-predictions.width, kind="stable")[:MOST_DOUBTFUL].tolist()
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
    """Rows (m,) -> {row: explanation}, as many as fit into the page."""
    shap = len(predictor.forest.nodes) * len(rows) <= MOST_VISITS

    def explain(batch: Batch) -> list[dict[str, Any]]:
        found = explain_number_batch(predictor, batch, training, cases=NEAREST, shap=shap, coverage=coverage)
        return [_words(estimate, request.first_row) for estimate in found]

    return explained_within(
        WHY_BYTES if request.explained == "some" else None, predictions, rows, request.progress, explain
    )


def _words(estimate: RegressionExplanation, first: int) -> dict[str, Any]:
    """An explanation -> the part that the page shows."""
    names, adds = added_features(estimate), estimate.adds
    added = None
    if adds is not None:
        at = [adds.features.index(name) for name in names]
        values = [f"{cut(name)} = {cut(value_words(estimate.values[name]))}" for name in names]
        lines = [[words, adds.prediction[j], adds.width[j]] for words, j in zip(values, at, strict=True)]
        added = {"base": adds.base["prediction"], "rows": lines}
    doubt = [f"{what}: {', '.join(names)}" for what, names in _gaps(estimate) if names]
    return {
        "rests": [one_line(line) for line in (*rests_words(estimate), *doubt)],
        "near": nearest_words(estimate, names[:SHOWN], first),
        "adds": added,
    }


def _gaps(estimate: RegressionExplanation) -> list[tuple[str, list[str]]]:
    return [("missing", estimate.missing), ("outside the training data", estimate.outside)]


def _data(
    predictor: RegressionPredictor,
    predictions: RegressionReportData,
    rows: NDArray[np.int64],
    request: ReportRequest,
    coverage: float,
) -> dict[str, Any]:
    """Answers -> the data of the page's script, without explanations and values."""
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
        some = predictions.batch[rows]
        moments = predictor.moments(some.codes)
        plain = scaled_interval(moments, residuals, coverage)
        data |= {"wider": _wider(plain, predictions.ends[rows], some)}
        return data | {"spread": packed(moments.spread(residuals.mean_square)), "scaled": packed(residuals.scaled)}
    return data | {
        "spread": None,
        "scaled": None,
        "ends": None if predictions.ends is None else predictions.ends[rows].tolist(),
    }


def _wider(plain: Floats, ends: Floats, batch: Batch) -> dict[int, list[float]]:
    """Intervals of leaves and of the model (n, 2) -> how far unseen values move both ends outwards, by row."""
    if batch.unseen is None:
        return {}
    rows = batch.unseen.rows
    with np.errstate(invalid="ignore"):  # intervals of very few training rows are infinite
        beyond = np.nan_to_num((plain - ends)[rows] * [1, -1], nan=0.0)
    return dict(zip(rows.tolist(), beyond.tolist(), strict=True))


def _scale(predictor: RegressionPredictor, predictions: RegressionReportData) -> list[float]:
    """The smallest and the largest number that the pictures of intervals show."""
    known = [predictions.predicted, np.array([predictor.info.low, predictor.info.high])]
    known += [] if predictions.truth is None else [predictions.truth]
    return [float(min(each.min() for each in known)), float(max(each.max() for each in known))]


def _plain_row(predictions: RegressionReportData, row: int, request: ReportRequest) -> list[str]:
    """A row -> its name, prediction, interval and target, for readers without scripts."""
    ends = ["–", "–"] if predictions.ends is None else [number(float(end)) for end in predictions.ends[row]]
    truth = [] if predictions.truth is None or predictions.ends is None else [number(float(predictions.truth[row]))]
    return [request.called(row), number(float(predictions.predicted[row])), *ends, *truth]


def _plain(figures: RegressionFigures) -> dict[str, Any]:
    """Figures -> plain Python."""
    places = [
        {"conditions": list(place.conditions), "rows": place.rows, "widest": place.undecided}
        for place in figures.places
    ]
    novel = None if figures.novel is None else figures.novel.number
    known = {"rows": figures.n_rows, "strangers": novel}
    if figures.has_intervals:
        known |= {"median_interval_width": figures.middle_width, "asked_coverage": figures.coverage}  # type: ignore[dict-item]
    return known | figures.values | {"places": places}
