"""Presenter of survival forests: risks, survival curves and bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedgerow.explain.cases import number
from hedgerow.explain.explanation import ExplainRequest
from hedgerow.explain.presenters.base import Explainer, Fact, Figures, FitSummary, Floats, Lines, Presenter, TargetSheet
from hedgerow.explain.report.request import Parts, ReportRequest
from hedgerow.explain.survival import SurvivalExplanation, decide, explain_curves
from hedgerow.inference.columns import Columns
from hedgerow.inference.fitted import fitted_of
from hedgerow.inference.predictor import predictor_of
from hedgerow.metrics.survival import read_survival
from hedgerow.table import NamedColumns
from hedgerow.table.schema import Array
from hedgerow.tasks.classification.costs import Costs
from hedgerow.tasks.survival.evaluation import GroupCalibration, SurvivalEvaluation, SurvivalTally
from hedgerow.tasks.survival.predictor import SurvivalPredictor

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from hedgerow.table.schema import TableLike

#: Names of groups of equal size by risk.
GROUPS = ("low", "middle", "high")
#: Names of time columns that are units.
UNITS = ("seconds", "minutes", "hours", "days", "weeks", "months", "years")
#: Words for censored rows, and for events.
EVENT_WORDS = (("0", "false", "no", "n", "censored", "alive"), ("1", "true", "yes", "y", "event", "dead", "died"))


class SurvivalExplainer(Explainer):
    """Explanations of survival at a time."""

    def explain(self, model: BaseEstimator, X: TableLike, request: ExplainRequest) -> list[SurvivalExplanation]:
        """Explain each row by the training rows at risk behind its curve."""
        return explain_curves(model, X, request)

    def uncertain_rows(self, model: BaseEstimator, table: NamedColumns, time: float | None = None) -> NDArray[np.int64]:
        """Choose the rows that are undecided at the time, those with the widest bounds first."""
        predictor: SurvivalPredictor = predictor_of(model)
        bounds = predictor.at(predictor.bounds(predictor.read(table)), predictor.middle if time is None else time)
        lower, upper = bounds[:, 0].T
        undecided = np.flatnonzero(decide(lower, upper).all(axis=1))
        return undecided[np.argsort((lower - upper)[undecided], kind="stable")]

    def overview(self, explanations: list[SurvivalExplanation]) -> Lines:
        """Return survival of each row with its bounds, the rows at risk, and the median time."""
        rows = []
        for each in explanations:
            ends = [f"{value:.1%}" for value in (each.survival, each.lower, each.upper)]
            median = number(each.median) if np.isfinite(each.median) else "–"
            rows.append([each.title.removeprefix("Row "), *ends, number(round(each.at_risk, 1)), median])
        heads = ["row", "survival", "from", "to", "at risk", "median"]
        return Lines(f"Undecided at {explanations[0].when}", heads, rows)


class SurvivalPresenter(Presenter):
    """Survival forests."""

    suffix = "SurvivalForest"
    models: ClassVar = {"forest": "RandomSurvivalForest", "extra": "ExtraSurvivalTrees", "tree": "SurvivalTree"}
    option = "event"
    target_options = ("target", "event")
    more_target_options = ("since", "entry")
    oob_params: ClassVar = {"oob_score": True}
    explainer = SurvivalExplainer()

    def read_y(self, sheet: TargetSheet, names: tuple[str, ...], model: BaseEstimator = None) -> Array:
        """Read times and events (n, 2), and entries (n, 3); `names` are those of time, event, start and entry."""
        times, start = sheet.targets(names[0]), np.zeros(1)
        if len(names) > 2 and names[2]:
            start = sheet.targets(names[2])
        times = times - start
        if (times < 0).any():
            raise ValueError(f"Column {names[0]!r} must have times >= 0, got {times.min():g}.")
        columns = [times, _events(sheet.labels(names[1]), names[1])]
        return np.column_stack([*columns, *([sheet.targets(names[3]) - start] if len(names) > 3 else [])])

    def unit(self, options: Any) -> str | None:
        """Return the name of the time column if it is a unit, and days for differences of dates."""
        if options.since and options.dates:
            return "days"
        word = str(options.target).strip().casefold()
        return word if word in UNITS else None

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
            scores=[] if out_of_bag is None else score_facts(out_of_bag),
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
            tables.append(calibration_lines(found))
        facts = [("rows", f"{values['rows']:,}"), ("events", f"{values['events']:,}"), *score_facts(values)]
        return Figures(values, [facts, *tables], score_facts(values))

    def unsupported(self, model: BaseEstimator, option: str, value: object) -> str | None:
        """Return the requirement of options for classifiers and regressors."""
        name = type(model).__name__
        wanted = "a regressor" if option == "coverage" else "a classifier"
        return f"{wanted}, got {value!r} for a {name}"

    def page(self, model: BaseEstimator, X: TableLike, y: ArrayLike | None, request: ReportRequest) -> Parts:
        """Return curves, metrics and cases.

        Raise a ValueError for `immutable`, `costs` and `coverage`.
        """
        # Imported here, because only reports need it.
        from hedgerow.explain.presenters.survival_page import survival_parts

        for name in ("immutable", "costs", "coverage"):
            value = getattr(request, name)
            if value is not None and value != ():
                raise ValueError(f"{name} must be None for a survival model, got {value!r}.")
        return survival_parts(model, X, y, request)


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


def score_facts(values: dict[str, Any]) -> list[Fact]:
    """Format the concordance index and, if available, Brier scores and D-calibration."""
    score = values["concordance"]
    found = [("concordance", "–" if score is None else f"{score:.4f}")]
    if "integrated_brier" in values:
        both = values["integrated_brier"], values["integrated_brier_kaplan_meier"]
        found.append(("integrated Brier score", "{:.4f}, Kaplan–Meier {:.4f}".format(*both)))
    if "d_calibration_p" in values:
        found.append(("p-value of D-calibration", f"{values['d_calibration_p']:.3f}"))
    return found


def calibration_lines(found: list[GroupCalibration]) -> Lines:
    """Format predicted and observed survival of the groups by risk."""
    rows = [[f"{each.time:.6g}", GROUPS[each.group], f"{each.predicted:.1%}", f"{each.observed:.1%}"] for each in found]
    return Lines("Survival by risk group", ["time", "risk", "predicted", "observed"], rows, left=2)
