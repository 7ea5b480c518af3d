"""Of numbers: a model that predicts numbers -> what the commands say about its numbers, intervals and bounds."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.cli.console import facts, grid, share
from hedgerow.cli.exit_codes import UsageError
from hedgerow.cli.files.sheet import Array, Sheet
from hedgerow.cli.match import checked_caution
from hedgerow.cli.options import Asking, EvaluateOptions, PredictOptions, Reading
from hedgerow.explain import RegressionExplanation
from hedgerow.explain.cases import number
from hedgerow.explain.presenters.base import Fact, Presenter
from hedgerow.inference.columns import RegressionColumns, regression_columns
from hedgerow.inference.evaluation import RegressionEvaluation, evaluate_regressor
from hedgerow.inference.fitted import fitted_of
from hedgerow.inference.predictor import predictor_of
from hedgerow.metrics import RegressionTally
from hedgerow.table import NamedColumns
from hedgerow.tasks.regression.predictor import COVERAGE

Floats = NDArray[np.float64]


#: Rows that are listed, those with the widest intervals.
MOST_LISTED = 20


class RegressionPresenter(Presenter):
    """Regressors."""

    suffix = "Regressor"
    asked_of_bags: ClassVar = {"oob_score": True}

    # ---- hedgerow fit --------------------------------------------------------------------------

    def read_target(self, sheet: Sheet, name: str) -> Floats:
        """A column -> numbers (n,)."""
        return sheet.targets(name)

    def look_at_target(self, y: Array, name: str) -> None:
        """All numbers are accepted."""

    def summary(self, model: Any, y: Array) -> dict[str, Any]:
        """Range of the target, caution and the score out of bag."""
        r2 = fitted_of(model).figures.oob_score
        return {
            "target": {"lowest": float(y.min()), "highest": float(y.max()), "mean": float(y.mean())},
            "caution": float(model.caution),
            "out_of_bag": None if r2 is None else {"r2": float(r2)},
        }

    def target_fact(self, report: dict[str, Any]) -> Fact:
        """The range of the target, in a line."""
        return "target", "from {lowest:.6g} to {highest:.6g}, mean {mean:.6g}".format(**report["target"])

    def opinion_fact(self, report: dict[str, Any]) -> str:
        """The caution, in a line."""
        return f"caution {report['caution']:g}"

    def score_facts(self, scores: dict[str, Any], by: str) -> list[Fact]:
        """R² and, if they are known, the error and the coverage of intervals."""
        found = [(f"R², {by}", "–" if scores["r2"] is None else f"{scores['r2']:.4f}")]
        if "root_mean_squared_error" in scores:
            found.append((f"RMSE, {by}", f"{scores['root_mean_squared_error']:.6g}"))
        return found + ([(f"coverage, {by}", share(scores["coverage"]))] if "coverage" in scores else [])

    def classes(self, model: Any) -> dict[str, Any]:
        """Nothing: a regressor has no classes."""
        return {}

    # ---- hedgerow predict, evaluate, explain and report ----------------------------------------

    def set_opinion(self, model: Any, options: Asking) -> None:
        """Set the caution where it is given; a regressor has neither rule nor decision."""
        for option, value in (("--rule", options.rule), ("--decision", options.decision)):
            if value is not None:
                raise UsageError(
                    f"{option} must be used with a classifier, got {value!r} for a {type(model).__name__}; leave it out"
                )
        if options.caution is not None:
            model.set_params(caution=checked_caution(options.caution, auto=False))

    def check_coverage(self, model: Any, coverage: float | None) -> None:
        """Refuse --coverage if no rows were left out of bags, from which intervals are made."""
        if coverage is not None and not predictor_of(model).has_residuals:
            raise UsageError(
                f"--coverage must be used with a bootstrapped forest, got a {type(model).__name__} without a bootstrap;"
                " leave it out"
            )

    def explains(self, model: Any) -> bool:
        """Every regressor can be explained."""
        return True

    def known_target(self, model: Any, sheet: Sheet, name: str) -> Floats:
        """A column -> numbers (n,)."""
        return sheet.targets(name)

    def judged(self, model: Any, table: NamedColumns, y: Array, coverage: float | None) -> RegressionEvaluation:
        """Predictions and intervals beside the true numbers."""
        return evaluate_regressor(model, table, y, coverage)

    def details(
        self, model: Any, judged: RegressionEvaluation, options: EvaluateOptions
    ) -> tuple[dict[str, Any], tuple[Any, ...]]:
        """Nothing else: costs and rates are about classes."""
        if options.positive is not None:
            raise UsageError(f"--positive must be used with a classifier, got {options.positive!r}; leave it out")
        self.costs(model, options.costs, options)
        return {}, ()

    def costs(self, model: Any, path: str | None, reading: Reading) -> None:
        """Refuse --costs, which are about classes."""
        if path is not None:
            raise UsageError(f"--costs must be used with a classifier, got a {type(model).__name__}; leave it out")

    def answers(self, model: Any, table: NamedColumns, options: PredictOptions) -> RegressionColumns:
        """Prediction, interval, bounds of the mean, standard deviations and, if it is known, novelty of each row."""
        self.costs(model, options.costs, options)
        return regression_columns(predictor_of(model), table, options.coverage)

    def undecided(self, n_rows: int) -> str:
        """Nothing: a number is not a set of classes."""
        return ""

    def doubtful(self, model: Any, table: NamedColumns) -> NDArray[np.int64]:
        """The rows with the widest intervals; without intervals, those about which trees differ most."""
        predictor = predictor_of(model)
        batch = predictor.read(table)
        ends = predictor.interval(batch, COVERAGE) if predictor.has_residuals else None
        width = predictor.variance(batch.codes).total if ends is None else ends[:, 1] - ends[:, 0]
        return np.argsort(-width, kind="stable")[:MOST_LISTED]

    def overview(self, found: list[RegressionExplanation]) -> Any:
        """The prediction of each row, its interval, and what the doubt is made of."""
        rows = []
        for each in found:
            ends = ["–" if end is None else number(end) for end in (each.lower, each.upper)]
            parts = [number(each.noise), number(each.disagreement)]
            rows.append([each.title.removeprefix("Row "), number(each.prediction), *ends, *parts])
        head = ["row", "prediction", "from", "to", "noise ±", "trees ±"]
        return grid("The rows with the widest intervals", head, rows, left=1)

    def evaluation(self, tally: RegressionTally, coverage: float | None) -> tuple[dict[str, Any], tuple[Any, ...]]:
        """How far predictions are off, and what intervals hold where there are any."""
        report = tally.figures()
        if "coverage" in report:
            report["asked_coverage"] = COVERAGE if coverage is None else coverage
        return report, (_error_facts(report),)

    # ---- hedgerow queue and learn ----------------------------------------------------------------

    def said(self, model: Any, table: NamedColumns) -> list[dict[str, Any]]:
        """The prediction, and how much trees differ."""
        pairs = zip(model.predict(table).tolist(), self.doubt(model, table).tolist(), strict=True)
        return [{"prediction": value, "trees_differ_by": spread} for value, spread in pairs]

    def labels(self, model: Any, answers: list[Any]) -> Floats:
        """Numbers as they are."""
        return np.array(answers, dtype=np.float64)

    def doubt(self, model: Any, table: NamedColumns) -> Floats:
        """(n,): how much trees differ, as a standard deviation."""
        return np.asarray(np.sqrt(model.predict_uncertainty(table).epistemic))

    def learned(self, before: Array, after: Array, rows: Array) -> dict[str, Any]:
        """How much trees differed and differ."""
        return {"disagreement_before": float(before[rows].mean()), "disagreement": float(after[rows].mean())}

    def learned_facts(self, report: dict[str, Any]) -> list[Fact]:
        """How much trees differed and differ, in a line."""
        said = f"± {report['disagreement_before']:.4g} before, ± {report['disagreement']:.4g} now"
        return [("trees differ by", said)]


def _error_facts(report: dict[str, Any]) -> Any:
    """Figures -> the table people read."""
    rows = [
        ("rows", f"{report['rows']:,}"),
        ("R²", "– (the targets are all the same)" if report["r2"] is None else f"{report['r2']:.4f}"),
        ("mean absolute error", f"{report['mean_absolute_error']:.6g}"),
        ("root mean squared error", f"{report['root_mean_squared_error']:.6g}"),
    ]
    if "coverage" in report:
        asked = f"{report['asked_coverage']:.0%}"
        rows += [
            ("coverage", f"{share(report['coverage'])} of the targets lie in their {asked} interval"),
            ("mean interval width", f"{report['mean_interval_width']:.6g}"),
        ]
    return facts(rows)
