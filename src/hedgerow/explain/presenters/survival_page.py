"""Report page of survival models."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedgerow.explain.cases import number, value_words
from hedgerow.explain.presenters.base import Fact, Lines
from hedgerow.explain.presenters.classification_page import renamed_columns
from hedgerow.explain.presenters.survival import GROUPS, calibration_lines, score_facts
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
from hedgerow.explain.report.plots import Frame, Plot
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
from hedgerow.explain.survival import (
    FollowedRows,
    SurvivalExplanation,
    decide,
    explain_curve_batch,
    known_followed,
    time_words,
    unit_of,
)
from hedgerow.explain.text import followed_words, round_times, top_survival_features
from hedgerow.inference.batch import Batch
from hedgerow.inference.notices import notices_about
from hedgerow.inference.predictor import predictor_of
from hedgerow.metrics.survival import kaplan_meier_at, read_survival, survival_brier
from hedgerow.table import NamedColumns
from hedgerow.tasks.survival.evaluation import LAST_SHARE, N_GROUPS, SurvivalEvaluation
from hedgerow.tasks.survival.predictor import SurvivalPredictor

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from hedgerow.table.schema import TableLike

Floats = NDArray[np.float64]

#: Cautions of the slider, besides that of the model.
CAUTIONS = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0)
#: Largest number of times of the slider, and of times at which Brier scores are drawn.
MOST_TIMES = 60
#: Size limit of the curves of all cases in the page, in bytes.
CURVE_BYTES = 1_500_000
#: Probabilities in the page are whole multiples of the inverse of this number.
SCALE = 1_000_000_000
#: Number of groups of equal size by predicted survival, for the calibration at the time.
CALIBRATION_GROUPS = 5
#: Number of rows shown without scripts.
PLAIN_ROWS = 200


@dataclass(frozen=True, eq=False)
class SurvivalReportData:
    """Predictions for n rows at a time, and their evaluation if times and events are given."""

    batch: Batch
    table: NamedColumns  # the same rows, with readable names
    time: float
    column: int  # of the time in curves
    curves: Floats  # (n, J + 1)
    bounds: Floats  # (n, J + 1, 2)
    risk: Floats  # (n,)
    evaluated: SurvivalEvaluation | None

    @property
    def lower(self) -> Floats:
        """Lower survival probabilities at the time (n,)."""
        return self.bounds[:, self.column, 0]

    @property
    def upper(self) -> Floats:
        """Upper survival probabilities at the time (n,)."""
        return self.bounds[:, self.column, 1]

    @property
    def is_open(self) -> NDArray[np.bool_]:
        """Mask of the rows that are undecided at the time (n,)."""
        return np.asarray(decide(self.lower, self.upper).all(axis=1))


@dataclass(frozen=True, eq=False)
class SurvivalFigures:
    """Content of the report of a survival model, except the cases."""

    n_rows: int
    when: str
    n_open: int
    metrics: list[Fact]
    places: list[Place]
    novel: NovelRows | None
    model: list[Fact]
    features: list[Feature]
    plots: list[Plot]


def survival_parts(forest: BaseEstimator, X: TableLike, y: ArrayLike | None, request: ReportRequest) -> Parts:
    """Return the parts of the report of a survival model."""
    predictor: SurvivalPredictor = predictor_of(forest)
    predictions = _predictions(predictor, X, y, request.time)
    training = known_followed(predictor, request.train, request.y_train)
    codes = None if training is None else training.rows.codes
    if request.labels:  # the readable copy serves texts only
        forest = readable(forest, request.labels)
        predictor = predictor_of(forest)
        predictions = replace(predictions, table=renamed_columns(predictions.table, predictor))
    importance = forest.feature_importances_
    figures = _figures(forest, predictor, predictions, importance, codes)
    columns = _slider_columns(len(predictor.info.times), predictions.column)
    cautions = sorted({*CAUTIONS, float(predictor.params.caution or 0)})
    most = min(request.max_cases, CURVE_BYTES // (len(columns) * (2 * len(cautions) + 2) * 4))
    wanted = _worth_explaining(predictions)
    rows = choose_cases(predictions.is_open, max(1, most), wanted)
    wanted = rows if request.explained == "all" else wanted[np.isin(wanted, rows)]
    why = _explained(predictor, predictions, wanted, training, request)
    labels = {column_name(name, request.labels): values for name, values in (request.labels or {}).items()}
    data = _data(predictor, predictions, rows, request) | _curves(predictor, predictions, rows, columns, cautions)
    data |= {"why": {place: why[row] for place, row in enumerate(rows.tolist()) if row in why}}
    data |= shown_values(importance, predictor, predictions.table, rows, codes, labels)
    more, groups = group_tables(predictions.evaluated, request)
    order = np.argsort(predictions.lower - predictions.upper, kind="stable")[:PLAIN_ROWS].tolist()
    context = {
        "plain_rows": [_plain_row(predictions, row, request) for row in order],
        "tables": [*_tables(predictions), *groups],
    }
    notices = notices_about(predictor.fitted, predictions.batch, has_truth=predictions.evaluated is not None)
    plain = _plain(figures, predictions) | more
    return Parts("survival", ("survival.js",), figures, plain, data, context, notices)


def _predictions(
    predictor: SurvivalPredictor, X: TableLike, y: ArrayLike | None, time: float | None
) -> SurvivalReportData:
    """Predict the rows, and read their times and events if given."""
    batch = predictor.read(X, all_features=True)
    at = predictor.middle if time is None else float(time)
    predictor.at(np.empty((0, len(predictor.info.times) + 1)), at)  # raises an error for later times
    curves, bounds, risk = predictor.curves(batch), predictor.bounds(batch), predictor.risk(batch)
    evaluated = None
    if y is not None:
        times, events = read_survival(y, len(risk))
        evaluated = SurvivalEvaluation(times, events, risk, predictor.info.times, curves)
    column = int(np.searchsorted(predictor.info.times, at, side="right"))
    return SurvivalReportData(batch, columns_of(batch), at, column, curves, bounds, risk, evaluated)


def _figures(
    forest: BaseEstimator,
    predictor: SurvivalPredictor,
    predictions: SurvivalReportData,
    importance: Floats,
    training: Any,
) -> SurvivalFigures:
    """Compute the figures of the report."""
    evaluated, is_open = predictions.evaluated, predictions.is_open
    return SurvivalFigures(
        n_rows=len(predictions.risk),
        when=time_words(predictions.time, unit_of(predictor)),
        n_open=int(is_open.sum()),
        metrics=[] if evaluated is None else score_facts(evaluated.tally.figures() | evaluated.scores()),
        places=undecided_places(most_important(importance, predictions.table), is_open),
        novel=novel_rows(forest, predictions.batch.novelty, predictions.table, is_open),
        model=_model_facts(forest, predictor),
        features=features_of(importance, predictor, predictions.table, training),
        plots=_plots(predictor, predictions),
    )


def _model_facts(forest: BaseEstimator, predictor: SurvivalPredictor) -> list[Fact]:
    """Return names and values that describe the model."""
    trees, times = predictor.forest, predictor.info.times
    facts = [
        ("Model", type(forest).__name__),
        ("Trees", f"{trees.n_trees:,} with {int(trees.leaf_start[-1]):,} leaves"),
        ("Event times", f"{len(times):,} from {number(float(times[0]))} to {number(float(times[-1]))}"),
        ("Caution", f"{float(predictor.params.caution or 0):g}"),
        ("Calibration", "out of bag" if predictor.is_calibrated else "none"),
    ]
    score = predictor.fitted.figures.oob_score
    return facts if score is None else [*facts, ("Out-of-bag concordance", f"{score:.3f}")]


# ---- plots and tables ------------------------------------------------------------------------------


def _plots(predictor: SurvivalPredictor, predictions: SurvivalReportData) -> list[Plot]:
    """Plot curves of risk groups and, if evaluated, calibration at the time and Brier scores over time."""
    grid, evaluated = predictor.info.times, predictions.evaluated
    plots = [_group_plot(grid, predictions)]
    if evaluated is not None:
        plots.append(_calibration_plot(predictions, evaluated, time_words(predictions.time, unit_of(predictor))))
        until = grid[grid < np.quantile(evaluated.times, LAST_SHARE)]
        if len(until) > 1:
            plots.append(_brier_plot(evaluated, until))
    return plots


def _risk_groups(risk: Floats) -> list[NDArray[np.intp]]:
    """Divide rows into groups of equal size by risk."""
    return np.array_split(np.argsort(risk, kind="stable"), min(N_GROUPS, len(risk)))


def _group_plot(grid: Floats, predictions: SurvivalReportData) -> Plot:
    """Plot the mean curves of risk groups with their mean bounds and, if evaluated, Kaplan–Meier estimates."""
    times, evaluated = np.concatenate([[0.0], grid]), predictions.evaluated
    frame = Frame((0.0, float(times[-1])), (0.0, 1.0))
    hint = "Groups of equal size by risk, with their mean bounds."
    hint += "" if evaluated is None else " Dashed: Kaplan–Meier estimates of these rows."
    plot = frame.plot("Survival by risk group", hint, np.empty(0), np.empty(0), ("time", "survival"), None)
    groups = _risk_groups(predictions.risk)
    for place, rows in enumerate(groups):
        lower, upper = predictions.bounds[rows].mean(axis=0).T
        plot = frame.with_band(plot, f"band k{place}", times, lower, upper)
        plot = frame.with_steps(plot, f"line k{place}", times, predictions.curves[rows].mean(axis=0))
        if evaluated is not None:
            known = times[times <= evaluated.times[rows].max()]
            observed = kaplan_meier_at(evaluated.times[rows], evaluated.events[rows], known)
            plot = frame.with_steps(plot, f"line observed k{place}", known, observed)
    return frame.with_key(plot, [(f"line k{place}", f"{GROUPS[place]} risk") for place in range(len(groups))])


def _calibration_plot(predictions: SurvivalReportData, evaluated: SurvivalEvaluation, when: str) -> Plot:
    """Plot observed against predicted survival at the time, in groups by predicted survival."""
    alive = predictions.curves[:, predictions.column]
    groups = np.array_split(np.argsort(alive, kind="stable"), min(CALIBRATION_GROUPS, len(alive)))
    at = np.array([predictions.time])
    predicted = np.array([alive[rows].mean() for rows in groups])
    observed = np.array([kaplan_meier_at(evaluated.times[rows], evaluated.events[rows], at)[0] for rows in groups])
    hint = f"{len(groups)} groups of rows by predicted survival. Points on the line are calibrated."
    names = ("predicted", "observed")
    return Frame((0.0, 1.0), (0.0, 1.0)).plot(
        f"Survival at {when}", hint, predicted, observed, names, (0.0, 0.0, 1.0, 1.0)
    )


def _brier_plot(evaluated: SurvivalEvaluation, until: Floats) -> Plot:
    """Plot Brier scores over time, compared with those of the Kaplan–Meier estimate of these rows."""
    at = until[np.unique(np.linspace(0, len(until) - 1, min(len(until), MOST_TIMES)).astype(np.intp))]
    columns = np.searchsorted(evaluated.grid, at, side="right")
    y = (evaluated.times, evaluated.events)
    scores = survival_brier(y, evaluated.curves[:, columns], at)
    whole = np.broadcast_to(kaplan_meier_at(*y, at), (len(evaluated.risk), len(at)))
    base = survival_brier(y, whole, at)
    frame = Frame((float(at[0]), float(at[-1])), (0.0, float(max(scores.max(), base.max())) or 1.0))
    hint = "Mean squared error of survival, weighted for censoring; lower is better."
    plot = frame.plot("Brier score over time", hint, np.empty(0), np.empty(0), ("time", "Brier score"), None)
    plot = frame.with_steps(plot, "line k0", at, scores)
    plot = frame.with_steps(plot, "line observed k1", at, base)
    return frame.with_key(plot, [("line k0", "model"), ("line observed k1", "Kaplan–Meier")], top=False)


def _tables(predictions: SurvivalReportData) -> list[Lines]:
    """Compare predicted and observed survival of risk groups, and count their rows at risk."""
    evaluated = predictions.evaluated
    if evaluated is None:
        return []
    times = round_times(float(evaluated.grid[-1]))
    rows = [
        [f"{GROUPS[place]} risk", *(f"{int((evaluated.times[group] >= time).sum()):,}" for time in times)]
        for place, group in enumerate(_risk_groups(predictions.risk))
    ]
    at_risk = Lines("Rows at risk", ["group", *map(number, times)], rows)
    return [calibration_lines(evaluated.calibration()), at_risk]


# ---- cases -----------------------------------------------------------------------------------------


def _slider_columns(n_times: int, column: int) -> NDArray[np.intp]:
    """Choose columns of curves for the page: the start, that of the time, and others evenly."""
    even = np.linspace(1, n_times, min(n_times, MOST_TIMES)).round().astype(np.intp)
    return np.unique(np.concatenate([[0, column], even]))


def _curves(
    predictor: SurvivalPredictor,
    predictions: SurvivalReportData,
    rows: NDArray[np.int64],
    columns: NDArray[np.intp],
    cautions: list[float],
) -> dict[str, Any]:
    """Return curves, their bounds for each caution, and the rows at risk, at the times of the slider."""
    batch = predictions.batch[rows]
    times = np.concatenate([[0.0], predictor.info.times])[columns]
    start = int(np.searchsorted(columns, predictions.column))
    times[start] = predictions.time
    bounds = np.stack([predictor.under(None, caution).bounds(batch)[:, columns] for caution in cautions])
    at_risk = predictor.at_risk(batch)[:, 1:][:, columns]
    return {
        "times": times.tolist(),
        "start": start,
        "cautions": cautions,
        "own": cautions.index(float(predictor.params.caution or 0)),
        "scale": SCALE,
        "survival": packed(_scaled(predictions.curves[rows][:, columns])),
        "lower": packed(_scaled(bounds[..., 0])),
        "upper": packed(_scaled(bounds[..., 1])),
        "atRisk": packed(np.rint(10 * at_risk)),
    }


def _scaled(values: Floats) -> Floats:
    """Return probabilities as whole numbers."""
    return np.rint(np.clip(values, 0.0, 1.0) * SCALE)


def _data(
    predictor: SurvivalPredictor, predictions: SurvivalReportData, rows: NDArray[np.int64], request: ReportRequest
) -> dict[str, Any]:
    """Return the data of the script, without curves, explanations and values."""
    evaluated = predictions.evaluated
    return {
        "nRows": len(predictions.risk),
        "rows": packed(rows + request.first_row),
        "names": None if request.names is None else [request.names[row] for row in rows.tolist()],
        "unit": unit_of(predictor),
        "risk": packed(predictions.risk[rows]),
        "followed": None if evaluated is None else packed(evaluated.times[rows]),
        "events": None if evaluated is None else packed(evaluated.events[rows].astype(np.int64)),
    }


def _worth_explaining(predictions: SurvivalReportData) -> NDArray[np.int64]:
    """Choose the undecided rows with the widest bounds, then the other rows with the widest bounds."""
    order = np.lexsort((predictions.lower - predictions.upper, ~predictions.is_open))
    return order[:MOST_UNCERTAIN].astype(np.int64)


def _explained(
    predictor: SurvivalPredictor,
    predictions: SurvivalReportData,
    rows: NDArray[np.int64],
    training: FollowedRows | None,
    request: ReportRequest,
) -> dict[int, dict[str, Any]]:
    """Explain rows (m,), as many as fit into the page.

    Return the explanations by row.
    """
    shap = len(predictor.forest.nodes) * len(rows) <= MOST_VISITS

    def explain(batch: Batch) -> list[dict[str, Any]]:
        found = explain_curve_batch(predictor, batch, training, cases=NEAREST, shap=shap, time=predictions.time)
        return [_words(explanation, request.first_row) for explanation in found]

    return explained_within(
        WHY_BYTES if request.explained == "some" else None, predictions, rows, request.progress, explain
    )


def _words(explanation: SurvivalExplanation, first: int) -> dict[str, Any]:
    """Return the part of an explanation that the page shows."""
    names, found = top_survival_features(explanation), explanation.contributions
    contributions = None
    if found is not None:
        at = [found.features.index(name) for name in names]
        values = [f"{cut(name)} = {cut(value_words(explanation.values[name]))}" for name in names]
        lines = [[words, found.survival[j], found.width[j]] for words, j in zip(values, at, strict=True)]
        contributions = {"base": found.base["survival"], "rows": lines}
    listed = (("missing", explanation.missing), ("outside the training range", explanation.out_of_range))
    lacks = [f"{what}: {', '.join(features)}" for what, features in listed if features]
    return {
        "when": explanation.when,
        "support": [one_line(line) for line in (*followed_words(explanation), *lacks)],
        "near": nearest_words(explanation, names[:SHOWN], first),
        "contributions": contributions,
    }


def _plain_row(predictions: SurvivalReportData, row: int, request: ReportRequest) -> list[str]:
    """Return name, survival, its bounds and, if known, the time of a row, for browsers without scripts."""
    shares = [predictions.curves[row, predictions.column], predictions.lower[row], predictions.upper[row]]
    cells = [request.called(row), *(f"{share:.1%}" for share in shares)]
    if predictions.evaluated is None:
        return cells
    censored = "" if predictions.evaluated.events[row] else "+"
    return [*cells, number(float(predictions.evaluated.times[row])) + censored]


def _plain(figures: SurvivalFigures, predictions: SurvivalReportData) -> dict[str, Any]:
    """Return the figures as plain Python."""
    places = [
        {"conditions": list(place.conditions), "rows": place.rows, "undecided": place.undecided}
        for place in figures.places
    ]
    evaluated = predictions.evaluated
    scores = {} if evaluated is None else evaluated.tally.figures() | evaluated.scores()
    scores |= {"calibration": [each._asdict() for each in evaluated.calibration()]} if evaluated is not None else {}
    return {
        "rows": figures.n_rows,
        "time": predictions.time,
        "indeterminate": figures.n_open,
        "novel": None if figures.novel is None else figures.novel.number,
        "places": places,
    } | {name: value for name, value in scores.items() if name != "rows"}
