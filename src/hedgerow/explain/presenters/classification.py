"""Presenter of classifiers: labels, prediction sets and bounds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedgerow.belief.opinion import Opinion
from hedgerow.decisions import decision_in_force
from hedgerow.explain.classification import explain_classes
from hedgerow.explain.explanation import ExplainRequest, Explanation
from hedgerow.explain.presenters.base import (
    Explainer,
    Fact,
    Feedback,
    FeedbackChange,
    Figures,
    FitSummary,
    Lines,
    Presenter,
    TargetSheet,
    cost_lines,
)
from hedgerow.explain.report.request import Parts, ReportRequest
from hedgerow.explain.words import name_few, percents
from hedgerow.inference.columns import Columns
from hedgerow.inference.predictor import predictor_of
from hedgerow.metrics import SetConfusion, SetTally
from hedgerow.metrics.confusion import Estimate
from hedgerow.rules import resolve_rule
from hedgerow.table import NamedColumns
from hedgerow.table.schema import Array
from hedgerow.tasks.classification.costs import Costs
from hedgerow.tasks.classification.evaluation import ClassificationEvaluation, oob_tally
from hedgerow.tasks.classification.predictor import ClassificationPredictor
from hedgerow.util.text import listed, score, share

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from hedgerow.table.schema import TableLike


#: A wider confusion matrix is shown as a list of its largest cells.
WIDEST = 9
MOST_LISTED = 15
#: Columns of the overview of explanations.
HEADS = {
    "few": "few rows",
    "overlap": "overlap",
    "disagree": "trees",
    "missing": "missing",
    "out_of_range": "out of range",
}
#: Meanings of the rates of two classes.
RATES = {
    "sensitivity": "of the {positive} rows are predicted {positive}",
    "specificity": "of the other rows are not predicted {positive}",
    "positive_predictive_value": "of the rows predicted {positive} are {positive}",
    "negative_predictive_value": "of the rows not predicted {positive} are not {positive}",
}
Floats = NDArray[np.float64]


class ClassificationFeedback(Feedback):
    """Feedback about undecided rows."""

    def predictions(self, model: BaseEstimator, table: NamedColumns) -> list[dict[str, Any]]:
        """Return the prediction set, and the most probable class."""
        predictor: ClassificationPredictor = predictor_of(model)
        opinion = predictor.opinion(predictor.read(table))
        sets, probability = predictor.class_sets(opinion), opinion.probability
        return [
            {
                "it_could_be": [str(name) for name in model.classes_[chosen].tolist()],
                "most_probable": str(model.classes_[shares.argmax()]),
                "probability": round(float(shares.max()), 4),
            }
            for chosen, shares in zip(sets, probability, strict=True)
        ]

    def uncertainty(self, model: BaseEstimator, table: NamedColumns) -> NDArray[np.bool_]:
        """Return which rows (n,) are undecided."""
        return np.asarray(model.predict_set(table).sum(axis=1) > 1)

    def targets(self, model: BaseEstimator, answers: list[Any]) -> Array:
        """Convert numbers of classes to classes."""
        known = model.classes_
        wrong = [place for place in answers if not (isinstance(place, int) and 0 <= place < len(known))]
        if wrong:
            raise ValueError(f"must be the number of one of the {len(known)} classes of the model, got {wrong[0]!r}")
        return np.asarray(known[np.array(answers, dtype=np.int64)])

    def change(self, before: Array, after: Array, rows: Array) -> FeedbackChange:
        """Compare the numbers of undecided rows."""
        decided = before & ~after
        values = {
            "undecided_before": int(before.sum()),
            "undecided": int(after.sum()),
            "answered_and_undecided_before": int(before[rows].sum()),
            "answered_and_undecided": int(after[rows].sum()),
            "others_decided": int(decided.sum() - decided[rows].sum()),
        }
        of_these = f"{values['answered_and_undecided_before']:,} before, {values['answered_and_undecided']:,} now"
        of_all = f"{values['undecided_before']:,} before, {values['undecided']:,} now, of {len(before):,}"
        facts = [
            ("of these undecided", of_these),
            ("all rows undecided", of_all),
            ("others now decided", f"{values['others_decided']:,}"),
        ]
        return FeedbackChange(values, facts)


class ClassificationExplainer(Explainer):
    """Explanations of prediction sets."""

    def explain(self, model: BaseEstimator, X: TableLike, request: ExplainRequest) -> list[Explanation]:
        """Explain each row by sources of uncertainty and counterfactuals."""
        return explain_classes(model, X, request)

    def uncertain_rows(self, model: BaseEstimator, table: NamedColumns, time: float | None = None) -> NDArray[np.int64]:
        """Choose the undecided rows."""
        return np.flatnonzero(model.predict_set(table).sum(axis=1) > 1)

    def overview(self, explanations: list[Explanation]) -> Lines:
        """Return the sources of uncertainty of each row, and the fewest cases that would decide it."""
        rows = []
        for each in explanations:
            causes = [cause.cause for cause in each.uncertainty]
            shares = dict(zip(causes, percents(cause.share for cause in each.uncertainty), strict=True))
            cells = [f"{shares[cause]}%" if shares[cause] else "–" for cause in HEADS]
            rows.append([each.title.removeprefix("Row "), " or ".join(name_few(each.likely)), *cells, _fewest(each)])
        heads = ["row", "prediction set", *HEADS.values(), "decided by"]
        return Lines("Sources of uncertainty, and labelled cases that would decide", heads, rows, left=2)


class ClassificationPresenter(Presenter):
    """Classifiers."""

    suffix = "Classifier"
    has_classes = True
    explainer: ClassVar[Explainer | None] = ClassificationExplainer()
    feedback = ClassificationFeedback()

    def read_y(self, sheet: TargetSheet, names: tuple[str, ...], model: BaseEstimator = None) -> Array:
        """Read labels (n,); they must be classes of the fitted model, if there is one."""
        return sheet.labels(names[0]) if model is None else sheet.known_labels(names[0], model.classes_)

    def summary(self, model: BaseEstimator, y: Array) -> FitSummary:
        """Summarise classes, rule, caution, decision and out-of-bag scores."""
        classes, counts = np.unique(y, return_counts=True)
        pairs = list(zip(classes.tolist(), counts.tolist(), strict=True))
        caution, decision = predictor_of(model).caution, decision_in_force(model.decision, resolve_rule(model.rule))
        out_of_bag = _out_of_bag(model)
        values = {
            "classes": [{"label": label, "rows": n} for label, n in pairs],
            "rule": model.rule,
            "caution": caution,
            "decision": decision,
            "out_of_bag": out_of_bag,
        }
        zero = " (intervals have no width)" if caution == 0 else ""
        return FitSummary(
            values,
            target=("classes", f"{len(pairs):,}: {listed(f'{label} ({n:,})' for label, n in pairs)}"),
            parameters=f"rule {model.rule}, caution {caution:g}{zero}, decision {decision}",
            scores=[] if out_of_bag is None else _scores(out_of_bag),
        )

    def columns(
        self, model: BaseEstimator, table: NamedColumns, coverage: float | None, costs: Costs | None
    ) -> Columns:
        """Return label, set, bounds and uncertainty and, if available, novelty and the cheapest action."""
        predictor = predictor_of(model)
        found = predictor.columns(table)
        return found if costs is None else with_actions(found, predictor.opinion(predictor.read(table)), costs)

    def evaluate(
        self, model: BaseEstimator, table: NamedColumns, y: Array, coverage: float | None
    ) -> ClassificationEvaluation:
        """Compare opinions and sets with the true classes."""
        predictor: ClassificationPredictor = predictor_of(model)
        return predictor.evaluate(table, y)

    def figures(
        self,
        tally: SetTally,
        *,
        coverage: float | None = None,
        evaluated: ClassificationEvaluation | None = None,
        positive: int | None = None,
        costs: Costs | None = None,
    ) -> Figures:
        """Return metrics, the confusion matrix and, if available, log-loss, rates of two classes and costs."""
        values, confusion = tally.figures(), tally.confusion()
        tables: list[list[Fact] | Lines] = [_metric_facts(values), _matrix(confusion)]
        scores = _scores(values)
        values |= {"confusion": _plain(confusion)}
        if evaluated is not None:
            values["log_loss"] = evaluated.log_loss()
            if len(evaluated.classes) == 2:
                place = int(np.bincount(evaluated.truth, minlength=2).argmin()) if positive is None else positive
                values["two_classes"] = evaluated.two_classes(place)
                tables.append(_two_class_facts(values["two_classes"]))
            if costs is not None:
                values["costs"] = evaluated.costs(costs)
                tables.append(cost_lines(values["costs"]))
        return Figures(values, tables, scores)

    def page(self, model: BaseEstimator, X: TableLike, y: ArrayLike | None, request: ReportRequest) -> Parts:
        """Return sets, metrics and cases; raise a ValueError for `coverage`."""
        # Imported here, because only reports need it.
        from hedgerow.explain.presenters.classification_page import classification_parts

        for name in ("coverage", "time"):
            if getattr(request, name) is not None:
                raise ValueError(f"{name} must be None for a classifier, got {getattr(request, name)!r}.")
        return classification_parts(model, X, y, request)

    def unsupported(self, model: BaseEstimator, option: str, value: object) -> str | None:
        """Return the requirement of --coverage."""
        return f"a regressor, got a {type(model).__name__}" if option == "coverage" else None


class PairwisePresenter(ClassificationPresenter):
    """Classifiers whose trees separate two classes each."""

    has_page = False
    explainer = None

    def page(self, model: BaseEstimator, X: TableLike, y: ArrayLike | None, request: ReportRequest) -> Parts:
        """Raise a TypeError: the trees have no leaf counts of all classes."""
        raise TypeError(f"report does not support {type(model).__name__}.")


def _out_of_bag(model: BaseEstimator) -> dict[str, float] | None:
    """Return the out-of-bag scores; None without a bootstrap."""
    tally = oob_tally(predictor_of(model)) if model.bootstrap else None
    if tally is None:
        return None
    return {name: tally.figures()[name] for name in ("accuracy", "u65", "determinacy", "rows")}


def _scores(values: dict[str, Any]) -> list[Fact]:
    """Format accuracy, u65 and determinacy."""
    return [
        ("accuracy", share(values["accuracy"])),
        ("u65", score(values["u65"])),
        ("determinacy", share(values["determinacy"])),
    ]


def _metric_facts(values: dict[str, Any]) -> list[Fact]:
    """Format the metrics of labels and sets."""
    return [
        ("rows", f"{values['rows']:,}"),
        ("accuracy", f"{share(values['accuracy'])} of the labels are correct"),
        ("determinacy", f"{share(values['determinacy'])} of the sets contain one class"),
        ("single-set accuracy", f"{share(values['single_set_accuracy'])} of these are correct"),
        (
            "abstention accuracy",
            f"{share(values['abstention_accuracy'])} of the labels of undecided rows are correct",
        ),
        ("coverage", f"{share(values['coverage'])} of the sets contain the true class"),
        ("mean set size", f"{values['mean_set_size']:.2f}"),
        ("u65", score(values["u65"])),
        ("u80", score(values["u80"])),
    ]


def _two_class_facts(found: dict[str, Any]) -> list[Fact]:
    """Format the rates of two classes."""
    positive = str(found["positive"])
    facts = [("positive class", f"{positive} (change it with --positive)")]
    for name, words in RATES.items():
        facts.append((name.replace("_", " "), f"{_interval(found[name])} {words.format(positive=positive)}"))
    facts.append(("AUC", _interval(found["auc"], as_share=False)))
    decided = ", ".join(f"{name.replace('_', ' ')} {share(each['value'])}" for name, each in found["decided"].items())
    return [*facts, ("decided rows only", decided)]


def _interval(found: dict[str, Any], *, as_share: bool = True) -> str:
    """Format an estimate: ``95.4% (91.0 to 97.8)``."""
    value, lower, upper = Estimate(**found)
    if value is None:
        return "–"
    if as_share:
        ends = "" if lower is None or upper is None else f" ({100 * lower:.1f} to {100 * upper:.1f})"
        return share(value) + ends
    return f"{value:.3f}" + ("" if lower is None else f" ({lower:.3f} to {upper:.3f})")


def _matrix(confusion: SetConfusion) -> Lines:
    """Format the rows of each true class by set, or the largest cells if the table would be too wide."""
    names = [str(label) for label in confusion.classes]
    heads = confusion.column_labels
    if len(heads) <= WIDEST:
        rows = [
            [name, *(f"{count:,}" if count else "·" for count in row)]
            for name, row in zip(names, confusion.counts.tolist(), strict=True)
        ]
        return Lines("Rows of each true class, by set", ["true", *heads], rows)
    off = confusion.counts.copy()
    off[np.arange(len(names)), np.arange(len(names))] = 0  # sets of the true class alone
    order = np.argsort(-off, axis=None, kind="stable")[:MOST_LISTED]
    cells = [(*np.unravel_index(cell, off.shape), int(off.flat[cell])) for cell in order if off.flat[cell]]
    rows = [[names[true], heads[chosen], f"{count:,}"] for true, chosen, count in cells]
    return Lines("The most frequent wrong or undecided sets", ["true", "set", "rows"], rows, left=2)


def _plain(confusion: SetConfusion) -> dict[str, Any]:
    """Return the confusion matrix for JSON."""
    return {
        "classes": list(confusion.classes),
        "sets": [list(members) for members in confusion.sets],
        "counts": confusion.counts.tolist(),
    }


def _fewest(explanation: Explanation) -> str:
    """Format the fewest confirmed cases: ``1 more yes``."""
    if explanation.remedies is None or not explanation.remedies.confirmed:
        return "–"
    label, number = explanation.remedies.confirmed[0]
    return f"{number:,} more {label}"


@dataclass(frozen=True)
class ActionColumns:
    """Predictions with the cheapest action in front and its expected cost at the end."""

    columns: Columns
    action: list[str]  # (n,)
    cost: Floats  # (n,)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, in the order they are written."""
        return ("action", *self.columns.names, "expected_cost")

    @property
    def json_names(self) -> tuple[str, ...]:
        """Keys of a row in JSON."""
        return ("action", *self.columns.json_names, "expected_cost")

    @property
    def n_undecided(self) -> int:
        """Number of sets with more than one class."""
        return self.columns.n_undecided

    def texts(self) -> list[list[Any]]:
        """Return the columns before the numbers, as text for CSV."""
        return [self.action, *self.columns.texts()]

    def typed(self) -> list[list[Any]]:
        """Return the columns before the numbers, for Parquet."""
        return [self.action, *self.columns.typed()]

    def numbers(self) -> list[Floats]:
        """Return the numeric columns."""
        return [*self.columns.numbers(), self.cost]

    def objects(self) -> Iterator[dict[str, Any]]:
        """Yield the rows as objects for JSON."""
        for row, predicted in enumerate(self.columns.objects()):
            yield {"action": self.action[row], **predicted, "expected_cost": float(self.cost[row])}


def with_actions(columns: Columns, opinion: Opinion, costs: Costs) -> ActionColumns:
    """Add the cheapest action of each row, given the opinion that the predictions come from."""
    best = costs.cheapest(opinion.probability)
    expected = costs.expected(opinion.probability)
    return ActionColumns(columns, [costs.actions[each] for each in best], expected[np.arange(len(best)), best])
