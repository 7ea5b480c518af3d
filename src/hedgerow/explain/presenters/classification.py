"""Of classes: a model that predicts classes -> what the commands say about its classes, sets and bounds."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.cli.console import facts, grid, listed, score, share, warn
from hedgerow.cli.costs import read_costs, with_actions
from hedgerow.cli.evaluation import cost_grid, two_class_facts
from hedgerow.cli.exit_codes import DataError, UsageError
from hedgerow.cli.files.sheet import Array, Sheet
from hedgerow.cli.files.values import known_places
from hedgerow.cli.match import checked_caution, checked_decision, checked_rule
from hedgerow.cli.options import Asking, EvaluateOptions, PredictOptions, Reading
from hedgerow.decisions import decision_in_force
from hedgerow.errors import ModelFileError
from hedgerow.explain import Explanation
from hedgerow.explain.presenters.base import FEW_ROWS, Fact, Presenter
from hedgerow.explain.words import name_some, percents
from hedgerow.inference.columns import Columns, classification_columns
from hedgerow.inference.evaluation import ClassificationEvaluation, evaluate_classifier
from hedgerow.inference.predictor import predictor_of
from hedgerow.metrics import SetConfusion, SetTally
from hedgerow.rules import resolve_rule
from hedgerow.table import NamedColumns
from hedgerow.tasks.classification.costs import Costs
from hedgerow.tasks.classification.evaluation import oob_tally

#: A target with more different numbers than this share of its rows is probably meant for a regression.
NUMBERS_ROWS = 0.1
#: A confusion matrix with more columns is shown as a list of its largest cells.
WIDEST = 9
MOST_LISTED = 15
#: Columns of the overview of explanations.
HEADS = {"few": "few cases", "overlap": "overlap", "disagree": "trees", "missing": "missing", "outside": "outside"}


class ClassificationPresenter(Presenter):
    """Classifiers."""

    suffix = "Classifier"
    asked_of_bags: ClassVar = {}

    # ---- hedgerow fit --------------------------------------------------------------------------

    def read_target(self, sheet: Sheet, name: str) -> Array:
        """A column -> labels (n,)."""
        return sheet.labels(name)

    def look_at_target(self, y: Array, name: str) -> None:
        """Warn about many different numbers."""
        n_distinct = len(np.unique(y))
        if y.dtype.kind in "fiu" and n_distinct > max(FEW_ROWS, NUMBERS_ROWS * len(y)):
            said = f"target {name!r} has {n_distinct:,} different numbers in {len(y):,} rows"
            warn(f"{said}; to predict a number, add --regression")

    def summary(self, model: Any, y: Array) -> dict[str, Any]:
        """Classes, rule, caution, decision and the scores out of bag."""
        classes, counts = np.unique(y, return_counts=True)
        pairs = zip(classes.tolist(), counts.tolist(), strict=True)
        return {
            "classes": [{"label": label, "rows": n} for label, n in pairs],
            "rule": model.rule,
            "caution": predictor_of(model).caution,
            "decision": decision_in_force(model.decision, resolve_rule(model.rule)),
            "out_of_bag": _out_of_bag(model),
        }

    def target_fact(self, report: dict[str, Any]) -> Fact:
        """The classes, in a line."""
        classes = [f"{each['label']} ({each['rows']:,})" for each in report["classes"]]
        return "classes", f"{len(classes):,}: {listed(classes)}"

    def opinion_fact(self, report: dict[str, Any]) -> str:
        """Rule, caution and decision, in a line."""
        zero = " (no reserve: intervals have no width)"
        caution = f"{report['caution']:g}" + (zero if report["caution"] == 0 else "")
        return f"rule {report['rule']}, caution {caution}, decision {report['decision']}"

    def score_facts(self, scores: dict[str, Any], by: str) -> list[Fact]:
        """Accuracy, u65 and determinacy."""
        return [
            (f"accuracy, {by}", share(scores["accuracy"])),
            (f"u65, {by}", score(scores["u65"])),
            (f"determinacy, {by}", share(scores["determinacy"])),
        ]

    def classes(self, model: Any) -> dict[str, Any]:
        """The labels."""
        return {"classes": model.classes_.tolist()}

    # ---- hedgerow predict, evaluate, explain and report ----------------------------------------

    def set_opinion(self, model: Any, options: Asking) -> None:
        """Set rule, caution and decision where they are given; none of them needs another fit."""
        rule, caution, decision = options.rule, options.caution, options.decision
        if rule is not None:
            model.set_params(rule=checked_rule(rule))
        if caution is not None:
            model.set_params(caution=checked_caution(caution, auto=False))
        if decision is not None:
            checked_decision(decision)
            model.set_params(decision=decision)
        try:  # what was learned out of bag holds only for the rule, caution and decision it was learned with
            predictor_of(model).learn()
        except (AttributeError, ValueError) as reason:
            if rule is caution is decision is None:
                raise ModelFileError(
                    f"a model must have learned what its parameters need, got a model without it: {reason}"
                ) from None
            given = (("--rule", rule), ("--caution", caution), ("--decision", decision))
            asked = " ".join(f"{option} {value}" for option, value in given if value is not None)
            raise UsageError(
                f"--rule, --caution and --decision must not need training rows, which a model file does not hold, got"
                f" {asked}; give it to hedgerow fit"
            ) from None

    def check_coverage(self, model: Any, coverage: float | None) -> None:
        """Refuse --coverage, which is about the intervals of regressors."""
        if coverage is not None:
            raise UsageError(f"--coverage must be used with a regressor, got a {type(model).__name__}; leave it out")

    def explains(self, model: Any) -> bool:
        """Whether answers are made of the states of leaves; those of pairs of classes are not."""
        return bool(predictor_of(model).combines_leaves)

    def known_target(self, model: Any, sheet: Sheet, name: str) -> Array:
        """A column -> labels (n,) that are classes of the model."""
        return sheet.known_labels(name, model.classes_)

    def judged(self, model: Any, table: NamedColumns, y: Array, coverage: float | None) -> ClassificationEvaluation:
        """Opinions and sets beside the true classes."""
        return evaluate_classifier(model, table, y)

    def details(
        self, model: Any, judged: ClassificationEvaluation, options: EvaluateOptions
    ) -> tuple[dict[str, Any], tuple[Any, ...]]:
        """Log-loss, the rates of two classes, and costs."""
        figures: dict[str, Any] = {"log_loss": judged.log_loss()}
        shown: list[Any] = []
        if len(judged.classes) == 2:
            figures["two_classes"] = judged.two_classes(_positive(judged, options.positive))
            shown += ["", two_class_facts(figures["two_classes"])]
        elif options.positive is not None:
            raise UsageError(f"--positive must be used with two classes, got {len(judged.classes)}; leave it out")
        costs = self.costs(model, options.costs, options)
        if costs is not None:
            figures["costs"] = judged.costs(costs)
            shown += ["", cost_grid(figures["costs"])]
        return figures, tuple(shown)

    def costs(self, model: Any, path: str | None, reading: Reading) -> Costs | None:
        """The file of --costs -> costs; None if it was not given."""
        return None if path is None else read_costs(path, model.classes_, reading)

    def answers(self, model: Any, table: NamedColumns, options: PredictOptions) -> Columns:
        """Label, set, bounds, uncertainty and, if they are known, novelty and the cheapest action of each row."""
        predictor, costs = predictor_of(model), self.costs(model, options.costs, options)
        found = classification_columns(predictor, table)
        return found if costs is None else with_actions(found, predictor.opinion(predictor.read(table)), costs)

    def undecided(self, n_rows: int) -> str:
        """How many rows are undecided."""
        return f", {n_rows:,} of them undecided"

    def doubtful(self, model: Any, table: NamedColumns) -> NDArray[np.int64]:
        """The undecided rows."""
        return np.flatnonzero(self.doubt(model, table))

    def overview(self, found: list[Explanation]) -> Any:
        """Where the doubt about each row comes from, and what would settle it."""
        head = ["row", "it could be", *HEADS.values(), "settled by"]
        rows = []
        for each in found:
            causes = [cause.cause for cause in each.doubt]
            shares = dict(zip(causes, percents(cause.share for cause in each.doubt), strict=True))
            cells = [f"{shares[cause]} %" if shares[cause] else "–" for cause in HEADS]
            rows.append([each.title.removeprefix("Row "), " or ".join(name_some(each.likely)), *cells, _fewest(each)])
        return grid("Where the doubt comes from, and what would settle it", head, rows, left=2)

    def evaluation(self, tally: SetTally, coverage: float | None) -> tuple[dict[str, Any], tuple[Any, ...]]:
        """Metrics of labels and sets, and the confusion matrix."""
        report, confusion = tally.figures(), tally.confusion()
        return report | {"confusion": _plain(confusion)}, (_metric_facts(report), "", _matrix(confusion))

    # ---- hedgerow queue and learn ----------------------------------------------------------------

    def said(self, model: Any, table: NamedColumns) -> list[dict[str, Any]]:
        """The classes that remain, and the most probable one."""
        sets, probability = model.predict_set(table), model.predict_proba(table)
        return [
            {
                "it_could_be": [str(name) for name in model.classes_[chosen].tolist()],
                "most_probable": str(model.classes_[shares.argmax()]),
                "probability": round(float(shares.max()), 4),
            }
            for chosen, shares in zip(sets, probability, strict=True)
        ]

    def labels(self, model: Any, answers: list[Any]) -> Array:
        """Numbers of classes -> classes."""
        known = model.classes_
        wrong = [place for place in answers if not (isinstance(place, int) and 0 <= place < len(known))]
        if wrong:
            raise DataError(f"ANSWERS must name one of the {len(known)} classes of the model, got {wrong[0]!r}")
        return np.asarray(known[np.array(answers, dtype=np.int64)])

    def doubt(self, model: Any, table: NamedColumns) -> NDArray[np.bool_]:
        """(n,): whether rows are undecided."""
        return np.asarray(model.predict_set(table).sum(axis=1) > 1)

    def learned(self, before: Array, after: Array, rows: Array) -> dict[str, Any]:
        """How many rows were and are undecided."""
        decided = before & ~after
        return {
            "undecided_before": int(before.sum()),
            "undecided": int(after.sum()),
            "answered_and_undecided_before": int(before[rows].sum()),
            "answered_and_undecided": int(after[rows].sum()),
            "others_decided": int(decided.sum() - decided[rows].sum()),
        }

    def learned_facts(self, report: dict[str, Any]) -> list[Fact]:
        """How many rows were and are undecided, in lines."""
        of_these = f"{report['answered_and_undecided_before']:,} before, {report['answered_and_undecided']:,} now"
        of_all = f"{report['undecided_before']:,} before, {report['undecided']:,} now, of {report['rows']:,}"
        return [
            ("of these undecided", of_these),
            ("all rows undecided", of_all),
            ("others now decided", f"{report['others_decided']:,}"),
        ]


def _positive(judged: ClassificationEvaluation, asked: str | None) -> int:
    """The class that is looked for -> its place; by default the rarer one."""
    if asked is None:
        return int(np.bincount(judged.truth, minlength=2).argmin())
    names = judged.classes.astype(str).astype(object)
    place = known_places([asked], names, exact=False)[0]
    if place < 0:
        raise UsageError(f"--positive must be one of the classes ({listed(names.tolist())}), got {asked!r}")
    return place


def _fewest(explanation: Explanation) -> str:
    """The fewest confirmed cases, in two words."""
    if explanation.settle is None or not explanation.settle.confirmed:
        return "–"
    label, number = explanation.settle.confirmed[0]
    return f"{number:,} more {label}"


def _out_of_bag(model: Any) -> dict[str, float] | None:
    """The scores of a forest on rows its trees have not seen; None for a model whose trees see all rows."""
    tally = oob_tally(predictor_of(model)) if model.bootstrap else None
    return (
        None if tally is None else {name: tally.figures()[name] for name in ("accuracy", "u65", "determinacy", "rows")}
    )


def _metric_facts(report: dict[str, Any]) -> Any:
    """Figures -> the table people read."""
    return facts(
        [
            ("rows", f"{report['rows']:,}"),
            ("accuracy", f"{share(report['accuracy'])} of the labels are right"),
            ("determinacy", f"{share(report['determinacy'])} of the rows are decided: the set holds one class"),
            ("single-set accuracy", f"{share(report['single_set_accuracy'])} of these are right"),
            (
                "abstention accuracy",
                f"{share(report['abstention_accuracy'])} of the labels are right where it is undecided",
            ),
            ("coverage", f"{share(report['coverage'])} of the sets hold the true class"),
            ("mean set size", f"{report['mean_set_size']:.2f}"),
            ("u65", score(report["u65"])),
            ("u80", score(report["u80"])),
        ]
    )


def _matrix(confusion: SetConfusion) -> Any:
    """Counts of each true class with each set -> a table, or its largest cells where it would be too wide."""
    names = [str(label) for label in confusion.classes]
    heads = confusion.column_labels
    if len(heads) <= WIDEST:
        rows = [
            [name, *(f"{count:,}" if count else "·" for count in row)]
            for name, row in zip(names, confusion.counts.tolist(), strict=True)
        ]
        return grid("Rows of each true class, by set", ["true", *heads], rows)
    off = confusion.counts.copy()
    off[np.arange(len(names)), np.arange(len(names))] = 0  # right and alone
    order = np.argsort(-off, axis=None, kind="stable")[:MOST_LISTED]
    cells = [(*np.unravel_index(cell, off.shape), int(off.flat[cell])) for cell in order if off.flat[cell]]
    rows = [[names[true], heads[chosen], f"{count:,}"] for true, chosen, count in cells]
    return grid("The most frequent wrong or undecided sets", ["true", "set", "rows"], rows, left=2)


def _plain(confusion: SetConfusion) -> dict[str, Any]:
    """Confusion -> JSON."""
    return {
        "classes": list(confusion.classes),
        "sets": [list(members) for members in confusion.sets],
        "counts": confusion.counts.tolist(),
    }
