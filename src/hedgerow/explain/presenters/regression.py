"""Presenter of regressors: predictions, intervals and bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedgerow.explain.cases import number
from hedgerow.explain.explanation import ExplainRequest
from hedgerow.explain.presenters.base import (
    Explainer,
    Fact,
    Feedback,
    FeedbackChange,
    Figures,
    FitSummary,
    Floats,
    Lines,
    Presenter,
    TargetSheet,
)
from hedgerow.explain.regression import RegressionExplanation, explain_numbers
from hedgerow.explain.report.request import Parts, ReportRequest
from hedgerow.inference.fitted import fitted_of
from hedgerow.inference.predictor import predictor_of
from hedgerow.metrics import RegressionTally
from hedgerow.table import NamedColumns
from hedgerow.table.schema import Array
from hedgerow.tasks.classification.costs import Costs
from hedgerow.tasks.regression.evaluation import RegressionColumns, RegressionEvaluation
from hedgerow.tasks.regression.predictor import COVERAGE, RegressionPredictor
from hedgerow.util.text import share

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from hedgerow.table.schema import TableLike

#: Number of rows listed, those with the widest intervals.
MOST_LISTED = 20


class RegressionFeedback(Feedback):
    """Feedback about rows on which trees disagree."""

    def predictions(self, model: BaseEstimator, table: NamedColumns) -> list[dict[str, Any]]:
        """Return the prediction, and the disagreement of the trees."""
        pairs = zip(model.predict(table).tolist(), self.uncertainty(model, table).tolist(), strict=True)
        return [{"prediction": value, "trees_differ_by": spread} for value, spread in pairs]

    def uncertainty(self, model: BaseEstimator, table: NamedColumns) -> Floats:
        """Return the standard deviation between trees (n,)."""
        return np.asarray(np.sqrt(model.predict_uncertainty(table).epistemic))

    def targets(self, model: BaseEstimator, answers: list[Any]) -> Floats:
        """Return the numbers (m,)."""
        return np.array(answers, dtype=np.float64)

    def change(self, before: Array, after: Array, rows: Array) -> FeedbackChange:
        """Compare the mean disagreement of the trees."""
        values = {"disagreement_before": float(before[rows].mean()), "disagreement": float(after[rows].mean())}
        text = f"± {values['disagreement_before']:.4g} before, ± {values['disagreement']:.4g} now"
        return FeedbackChange(values, [("trees differ by", text)])


class RegressionExplainer(Explainer):
    """Explanations of predicted numbers."""

    def explain(self, model: BaseEstimator, X: TableLike, request: ExplainRequest) -> list[RegressionExplanation]:
        """Explain each row by the training rows behind its prediction."""
        return explain_numbers(model, X, request)

    def uncertain_rows(self, model: BaseEstimator, table: NamedColumns, time: float | None = None) -> NDArray[np.int64]:
        """Choose the rows with the widest intervals or, without intervals, the largest variances."""
        predictor = predictor_of(model)
        batch = predictor.read(table)
        ends = predictor.interval(batch, COVERAGE) if predictor.has_residuals else None
        width = predictor.variance(batch.codes).total if ends is None else ends[:, 1] - ends[:, 0]
        return np.argsort(-width, kind="stable")[:MOST_LISTED]

    def overview(self, explanations: list[RegressionExplanation]) -> Lines:
        """Return the prediction of each row, its interval, and the parts of its uncertainty."""
        rows = []
        for each in explanations:
            ends = ["–" if end is None else number(end) for end in (each.lower, each.upper)]
            parts = [number(each.noise), number(each.disagreement)]
            rows.append([each.title.removeprefix("Row "), number(each.prediction), *ends, *parts])
        heads = ["row", "prediction", "from", "to", "noise ±", "trees ±"]
        return Lines("The rows with the widest intervals", heads, rows)


class RegressionPresenter(Presenter):
    """Regressors."""

    suffix = "Regressor"
    option = "regression"
    oob_params: ClassVar = {"oob_score": True}
    explainer = RegressionExplainer()
    feedback = RegressionFeedback()

    def read_y(self, sheet: TargetSheet, names: tuple[str, ...], model: BaseEstimator = None) -> Floats:
        """Read numbers (n,)."""
        return sheet.targets(names[0])

    def summary(self, model: BaseEstimator, y: Array) -> FitSummary:
        """Summarise the range of the target, the caution and the out-of-bag score."""
        r2 = fitted_of(model).figures.oob_score
        target = {"lowest": float(y.min()), "highest": float(y.max()), "mean": float(y.mean())}
        caution, out_of_bag = float(model.caution), None if r2 is None else {"r2": float(r2)}
        return FitSummary(
            {"target": target, "caution": caution, "out_of_bag": out_of_bag},
            target=("target", "from {lowest:.6g} to {highest:.6g}, mean {mean:.6g}".format(**target)),
            parameters=f"caution {caution:g}",
            scores=[] if out_of_bag is None else _scores(out_of_bag),
        )

    def columns(
        self, model: BaseEstimator, table: NamedColumns, coverage: float | None, costs: Costs | None
    ) -> RegressionColumns:
        """Return prediction, interval, bounds of the mean, standard deviations and, if available, novelty."""
        predictor: RegressionPredictor = predictor_of(model)
        return predictor.columns(table, coverage)

    def evaluate(
        self, model: BaseEstimator, table: NamedColumns, y: Array, coverage: float | None
    ) -> RegressionEvaluation:
        """Compare predictions and intervals with the true targets."""
        predictor: RegressionPredictor = predictor_of(model)
        return predictor.evaluate(table, y, coverage)

    def figures(
        self,
        tally: RegressionTally,
        *,
        coverage: float | None = None,
        evaluated: RegressionEvaluation | None = None,
        positive: int | None = None,
        costs: Costs | None = None,
    ) -> Figures:
        """Return errors of predictions and, if there are intervals, their coverage."""
        values = tally.figures()
        if "coverage" in values:
            values["asked_coverage"] = COVERAGE if coverage is None else coverage
        return Figures(values, [_error_facts(values)], _scores(values))

    def page(self, model: BaseEstimator, X: TableLike, y: ArrayLike | None, request: ReportRequest) -> Parts:
        """Return intervals, metrics and cases.

        Raise a ValueError for `immutable`, `costs` and `time`.
        """
        # Imported here, because only reports need it.
        from hedgerow.explain.presenters.regression_page import regression_parts

        if request.immutable is not None and request.immutable != ():
            raise ValueError(f"immutable must be None for a regressor, got {request.immutable!r}.")
        for name in ("costs", "time"):
            if getattr(request, name) is not None:
                raise ValueError(f"{name} must be None for a regressor, got {getattr(request, name)!r}.")
        if request.coverage is not None and not 0 < request.coverage < 1:
            raise ValueError(f"coverage must be between 0 and 1, got {request.coverage!r}.")
        return regression_parts(model, X, y, request)

    def unsupported(self, model: BaseEstimator, option: str, value: object) -> str | None:
        """Return the requirement of options for classifiers, and of --coverage without out-of-bag rows."""
        name = type(model).__name__
        if option == "coverage" and not predictor_of(model).has_residuals:
            return f"a bootstrapped forest, got a {name} without a bootstrap"
        requirements = {
            "rule": f"a classifier, got {value!r} for a {name}",
            "decision": f"a classifier, got {value!r} for a {name}",
            "positive": f"a classifier, got {value!r}",
            "costs": f"a classifier, got a {name}",
        }
        return requirements.get(option)


def _scores(values: dict[str, Any]) -> list[Fact]:
    """Format R² and, if available, the error and the coverage of intervals."""
    found = [("R²", "–" if values["r2"] is None else f"{values['r2']:.4f}")]
    if "root_mean_squared_error" in values:
        found.append(("RMSE", f"{values['root_mean_squared_error']:.6g}"))
    return found + ([("coverage", share(values["coverage"]))] if "coverage" in values else [])


def _error_facts(values: dict[str, Any]) -> list[Fact]:
    """Format the errors of predictions."""
    facts = [
        ("rows", f"{values['rows']:,}"),
        ("R²", "– (constant target)" if values["r2"] is None else f"{values['r2']:.4f}"),
        ("mean absolute error", f"{values['mean_absolute_error']:.6g}"),
        ("root mean squared error", f"{values['root_mean_squared_error']:.6g}"),
    ]
    if "coverage" in values:
        level = f"{values['asked_coverage']:.0%}"
        facts += [
            ("coverage", f"{share(values['coverage'])} of the {level} intervals contain the target"),
            ("mean interval width", f"{values['mean_interval_width']:.6g}"),
        ]
    return facts
