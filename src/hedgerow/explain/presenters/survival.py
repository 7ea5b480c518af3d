"""Presenter of survival forests: risks, survival curves and bounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from hedgerow.explain.presenters.base import Array, Fact, Figures, FitSummary, Floats, Lines, Presenter, TargetSheet
from hedgerow.explain.report.figures import Feature, NovelRows, columns_of, features_of, novel_rows
from hedgerow.explain.report.plots import Frame, Plot
from hedgerow.explain.report.request import Parts, ReportRequest
from hedgerow.inference.columns import Columns
from hedgerow.inference.fitted import fitted_of
from hedgerow.inference.notices import notices_about
from hedgerow.inference.predictor import predictor_of
from hedgerow.metrics.survival import read_survival
from hedgerow.table import NamedColumns
from hedgerow.tasks.classification.costs import Costs
from hedgerow.tasks.survival.evaluation import N_GROUPS, GroupCalibration, SurvivalEvaluation, SurvivalTally
from hedgerow.tasks.survival.predictor import SurvivalPredictor

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from hedgerow.table.schema import TableLike

#: Number of rows listed, those with the highest risk.
MOST_LISTED = 20
#: Names of groups of equal size by risk.
GROUPS = ("low", "middle", "high")
#: Words for censored rows, and for events.
EVENT_WORDS = (("0", "false", "no", "n", "censored", "alive"), ("1", "true", "yes", "y", "event", "dead", "died"))


@dataclass(frozen=True, eq=False)
class SurvivalFigures:
    """The content of the report of a survival forest."""

    n_rows: int
    metrics: list[Fact]
    novel: NovelRows | None
    model: list[Fact]
    features: list[Feature]
    plots: list[Plot]


class SurvivalPresenter(Presenter):
    """Survival forests."""

    suffix = "SurvivalForest"
    models: ClassVar = {"forest": "RandomSurvivalForest", "extra": "ExtraSurvivalTrees", "tree": "SurvivalTree"}
    option = "event"
    target_options = ("target", "event")
    more_target_options = ("since",)
    oob_params: ClassVar = {"oob_score": True}

    def read_y(self, sheet: TargetSheet, names: tuple[str, ...], model: BaseEstimator = None) -> Array:
        """Read times, from a start if there is a third column, and events (n, 2)."""
        times = sheet.targets(names[0])
        if len(names) > 2:
            times = times - sheet.targets(names[2])
        if (times < 0).any():
            raise ValueError(f"Column {names[0]!r} must have times >= 0, got {times.min():g}.")
        return np.column_stack([times, _events(sheet.labels(names[1]), names[1])])

    def summary(self, model: BaseEstimator, y: Array) -> FitSummary:
        """Summarise times, events, the caution and the out-of-bag score."""
        times, events = read_survival(y, len(y))
        found, caution = fitted_of(model).figures.oob_score, float(model.caution)
        out_of_bag = None if found is None else {"concordance": float(found)}
        target = {"events": int(events.sum()), "last_event": float(times[events].max())}
        return FitSummary(
            {"target": target, "caution": caution, "out_of_bag": out_of_bag},
            target=("target", f"{target['events']:,} events in {len(y):,} rows, last at {target['last_event']:.6g}"),
            parameters=f"caution {caution:g}",
            scores=[] if out_of_bag is None else _scores(out_of_bag),
        )

    def columns(
        self, model: BaseEstimator, table: NamedColumns, coverage: float | None, costs: Costs | None
    ) -> Columns:
        """Return risk, median time, and survival with its bounds at the middle of the grid."""
        predictor: SurvivalPredictor = predictor_of(model)
        return predictor.columns(table, coverage)

    def columns_at(self, model: BaseEstimator, table: NamedColumns, times: Floats) -> Columns:
        """Return risk, median time, and survival with its bounds at some times."""
        predictor: SurvivalPredictor = predictor_of(model)
        return predictor.columns_at(table, times)

    def evaluate(
        self, model: BaseEstimator, table: NamedColumns, y: Array, coverage: float | None
    ) -> SurvivalEvaluation:
        """Compare risks and curves with true times and events."""
        predictor: SurvivalPredictor = predictor_of(model)
        return predictor.evaluate(table, y)

    def figures(
        self,
        tally: SurvivalTally,
        *,
        coverage: float | None = None,
        evaluated: SurvivalEvaluation | None = None,
        positive: int | None = None,
        costs: Costs | None = None,
    ) -> Figures:
        """Return the concordance index and, of an evaluation, Brier scores and calibration."""
        values = tally.figures()
        tables: list[list[Fact] | Lines] = []
        if evaluated is not None:
            values |= evaluated.scores()
            found = evaluated.calibration()
            values["calibration"] = [each._asdict() for each in found]
            tables.append(_calibration_lines(found))
        facts = [("rows", f"{values['rows']:,}"), ("events", f"{values['events']:,}"), *_scores(values)]
        return Figures(values, [facts, *tables], _scores(values))

    def unsupported(self, model: BaseEstimator, option: str, value: object) -> str | None:
        """Return the requirement of options for classifiers and regressors."""
        name = type(model).__name__
        wanted = "a regressor" if option == "coverage" else "a classifier"
        return f"{wanted}, got {value!r} for a {name}"

    def page(self, model: BaseEstimator, X: TableLike, y: ArrayLike | None, request: ReportRequest) -> Parts:
        """Return curves by risk group and, if times and events are given, the concordance index."""
        predictor: SurvivalPredictor = predictor_of(model)
        batch = predictor.read(X, all_features=True)
        table, curves, risk = columns_of(batch), predictor.curves(batch), predictor.risk(batch)
        bounds = predictor.bounds(batch)
        width = (bounds[:, :, 1] - bounds[:, :, 0]).mean(axis=1)
        metrics: list[Fact] = []
        if y is not None:
            times, events = read_survival(y, len(risk))
            evaluated = SurvivalEvaluation(times, events, risk, predictor.info.times, curves)
            metrics = _scores(evaluated.tally.figures() | evaluated.scores())
        figures = SurvivalFigures(
            n_rows=len(risk),
            metrics=metrics,
            novel=novel_rows(model, batch.novelty, table, width > np.quantile(width, 0.9)),
            model=[("estimator", type(model).__name__), ("trees", f"{predictor.forest.n_trees:,}")],
            features=features_of(model.feature_importances_, predictor, table, None),
            plots=[_curves_plot(predictor, curves, bounds, risk)],
        )
        plain = {"rows": len(risk), "novel": None if figures.novel is None else figures.novel.number}
        rows = [(request.called(row), f"{risk[row]:.3g}") for row in np.argsort(-risk, kind="stable")[:MOST_LISTED]]
        notices = notices_about(predictor.fitted, batch, has_truth=y is not None)
        return Parts("survival", (), figures, plain | dict(metrics), {}, {"riskiest": rows}, notices)


def _curves_plot(predictor: SurvivalPredictor, curves: Floats, bounds: Floats, risk: Floats) -> Plot:
    """Plot the mean curves of groups by risk, with their mean bounds."""
    times = np.concatenate([[0.0], predictor.info.times])
    frame = Frame((0.0, float(times[-1])), (0.0, 1.0))
    hint = "Three groups of equal size by risk. Thin lines are their lower and upper curves."
    plot = frame.plot("Survival by risk group", hint, np.empty(0), np.empty(0), ("time", "survival"), None)
    for rows in np.array_split(np.argsort(risk, kind="stable"), N_GROUPS):
        lower, upper = bounds[rows].mean(axis=0).T
        for name, curve in (("grid", lower), ("grid", upper), ("now", curves[rows].mean(axis=0))):
            plot = frame.with_lines(plot, name, _steps(times, curve))
    return plot


def _steps(times: Floats, curve: Floats) -> Floats:
    """Return the horizontal and vertical segments (m, 4) of a right-continuous curve on a grid."""
    level = np.column_stack([times[:-1], curve[:-1], times[1:], curve[:-1]])
    fall = np.column_stack([times[1:], curve[:-1], times[1:], curve[1:]])
    return np.vstack([level, fall])


def _events(labels: Array, name: str) -> Floats:
    """Return events as 0 and 1 (n,), from numbers or words."""
    if labels.dtype.kind in "biuf":
        return labels.astype(np.float64)
    known = {word: float(place) for place, words in enumerate(EVENT_WORDS) for word in words}
    words = [str(label).strip().casefold() for label in labels.tolist()]
    unknown = sorted(set(words) - set(known))
    if unknown:
        raise ValueError(f"Column {name!r} must be 0 or 1, false or true, or no or yes, got {unknown[0]!r}.")
    return np.array([known[word] for word in words])


def _scores(values: dict[str, Any]) -> list[Fact]:
    """Format the concordance index and, if available, Brier scores and D-calibration."""
    score = values["concordance"]
    found = [("concordance", "–" if score is None else f"{score:.4f}")]
    if "integrated_brier" in values:
        both = values["integrated_brier"], values["integrated_brier_kaplan_meier"]
        found.append(("integrated Brier score", "{:.4f}, Kaplan–Meier {:.4f}".format(*both)))
    if "d_calibration_p" in values:
        found.append(("p-value of D-calibration", f"{values['d_calibration_p']:.3f}"))
    return found


def _calibration_lines(found: list[GroupCalibration]) -> Lines:
    """Format predicted and observed survival of the groups by risk."""
    rows = [[f"{each.time:.6g}", GROUPS[each.group], f"{each.predicted:.1%}", f"{each.observed:.1%}"] for each in found]
    return Lines("Survival by risk group", ["time", "risk", "predicted", "observed"], rows, left=2)
