"""Presenter of survival forests: risks, survival curves and bounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedgerow.explain.presenters.base import Array, Fact, Figures, FitSummary, Floats, Presenter, TargetSheet
from hedgerow.explain.report.figures import Feature, NovelRows, columns_of, features_of, novel_rows
from hedgerow.explain.report.plots import Frame, Plot
from hedgerow.explain.report.request import Parts, ReportRequest
from hedgerow.inference.columns import Columns
from hedgerow.inference.fitted import fitted_of
from hedgerow.inference.predictor import predictor_of
from hedgerow.metrics.survival import harrell_c, read_survival
from hedgerow.table import NamedColumns
from hedgerow.tasks.classification.costs import Costs
from hedgerow.tasks.survival.predictor import SurvivalPredictor

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from hedgerow.explain.explanation import TableLike

#: Number of rows listed, those with the highest risk.
MOST_LISTED = 20
#: Number of groups of equal size by risk.
N_GROUPS = 3


@dataclass(frozen=True, eq=False)
class SurvivalEvaluation:
    """Times, events and predicted risks, (n,) each."""

    times: Floats
    events: NDArray[np.bool_]
    risk: Floats

    @property
    def tally(self) -> SurvivalEvaluation:
        """The evaluation itself, because the concordance index is no sum over parts of a table."""
        return self

    def group(self, rows: NDArray[np.bool_]) -> dict[str, Any]:
        """Return the metrics of some rows (n,)."""
        return SurvivalEvaluation(self.times[rows], self.events[rows], self.risk[rows]).figures()

    def figures(self) -> dict[str, Any]:
        """Return the number of rows and events, and Harrell's concordance index."""
        score = harrell_c((self.times, self.events), self.risk)
        return {"rows": len(self.risk), "events": int(self.events.sum()), "concordance": score}


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
    option = "event"
    target_options = ("target", "event")
    oob_params: ClassVar = {"oob_score": True}

    def read_y(self, sheet: TargetSheet, names: tuple[str, ...], model: BaseEstimator = None) -> Array:
        """Read times and events (n, 2)."""
        return np.column_stack([sheet.targets(name) for name in names])

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

    def evaluate(
        self, model: BaseEstimator, table: NamedColumns, y: Array, coverage: float | None
    ) -> SurvivalEvaluation:
        """Compare risks with true times and events."""
        return SurvivalEvaluation(*read_survival(y, len(y)), model.predict(table))

    def figures(
        self,
        tally: SurvivalEvaluation,
        *,
        coverage: float | None = None,
        evaluated: Any = None,
        positive: int | None = None,
        costs: Costs | None = None,
    ) -> Figures:
        """Return the concordance index."""
        values = tally.figures()
        facts = [("rows", f"{values['rows']:,}"), ("events", f"{values['events']:,}"), *_scores(values)]
        return Figures(values, [facts], _scores(values))

    def page(self, model: BaseEstimator, X: TableLike, y: ArrayLike | None, request: ReportRequest) -> Parts:
        """Return curves by risk group and, if times and events are given, the concordance index."""
        predictor: SurvivalPredictor = predictor_of(model)
        batch = predictor.read(X, all_features=True)
        table, curves, risk = columns_of(batch), predictor.curves(batch), predictor.risk(batch)
        bounds = predictor.bounds(batch)
        width = (bounds[:, :, 1] - bounds[:, :, 0]).mean(axis=1)
        metrics: list[Fact] = []
        if y is not None:
            metrics = _scores(SurvivalEvaluation(*read_survival(y, len(risk)), risk).figures())
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
        return Parts("survival", (), figures, plain | dict(metrics), {}, {"riskiest": rows})


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


def _scores(values: dict[str, Any]) -> list[Fact]:
    """Format the concordance index."""
    return [("concordance", f"{values['concordance']:.4f}")]
