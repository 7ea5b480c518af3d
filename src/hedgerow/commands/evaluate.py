"""Evaluate: a model file and a table with labels -> how good its labels and sets are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hedgerow import metrics
from hedgerow.commands.match import set_opinion, table_for
from hedgerow.commands.numbers import (
    is_regressor,
    number_answers,
    number_facts,
    number_report,
    set_number_opinion,
)
from hedgerow.commands.outcome import UsageError
from hedgerow.commands.source import read_model, read_sheet, require_one_stdin
from hedgerow.commands.talk import facts, grid, score, share, show, write_json
from hedgerow.metrics import SetConfusion

#: A confusion matrix of more columns is a list of its largest cells instead.
WIDEST = 9
MOST_LISTED = 15


@dataclass(frozen=True)
class EvaluateOptions:
    """What `hedgerow evaluate` was asked."""

    model: str
    data: str
    target: str
    rule: str | None = None
    caution: str | None = None
    decision: str | None = None
    coverage: float | None = None
    missing: tuple[str, ...] = ()
    as_json: bool = False


def evaluate(options: EvaluateOptions) -> None:
    """Load, read, judge, report."""
    require_one_stdin(options.model, options.data)
    model = read_model(options.model)
    if is_regressor(model):
        _evaluate_numbers(model, options)
        return
    if options.coverage is not None:
        raise UsageError(f"--coverage must go with a model of numbers, got a {type(model).__name__}")
    set_opinion(model, rule=options.rule, caution=options.caution, decision=options.decision)
    sheet = read_sheet(options.data, options.missing)
    sheet.require(options.target, "--target")
    y = sheet.known_labels(options.target, model.classes_)
    labels, sets = model.predict(table_for(model, sheet, (options.target,)), return_set=True)
    confusion = metrics.confusion_matrix_with_sets(y, sets, classes=model.classes_)
    report = _report(y, labels, sets, model.classes_)
    if options.as_json:
        write_json(report | {"confusion": _plain(confusion)})
    else:
        show(_facts(report), "", _matrix(confusion))


def _evaluate_numbers(model: Any, options: EvaluateOptions) -> None:
    """The same for a regressor."""
    set_number_opinion(model, rule=options.rule, caution=options.caution, decision=options.decision)
    sheet = read_sheet(options.data, options.missing)
    sheet.require(options.target, "--target")
    y = sheet.targets(options.target)
    answers = number_answers(model, table_for(model, sheet, (options.target,)), options.coverage)
    report = number_report(y, answers, options.coverage)
    if options.as_json:
        write_json(report)
    else:
        show(number_facts(report))


def _report(y: Any, labels: Any, sets: Any, classes: Any) -> dict[str, Any]:
    """True labels (n,), labels (n,), sets (n, K) -> figures; None where there is nothing to take a mean of."""
    size = sets.sum(axis=1)
    return {
        "rows": len(y),
        "indeterminate": int((size > 1).sum()),
        "accuracy": float(np.mean(labels == y)),
        "u65": metrics.u65(y, sets, classes=classes),
        "u80": metrics.u80(y, sets, classes=classes),
        "determinacy": metrics.determinacy(y, sets, classes=classes),
        "single_set_accuracy": metrics.single_set_accuracy(y, sets, classes=classes),
        "abstention_accuracy": metrics.abstention_accuracy(y, sets, labels, classes=classes),
        "coverage": metrics.coverage(y, sets, classes=classes),
        "mean_set_size": float(size.mean()),
    }


def _facts(report: dict[str, Any]) -> Any:
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
    return grid("What is most often mistaken or left open", ["true", "set", "rows"], rows, left=2)


def _plain(confusion: SetConfusion) -> dict[str, Any]:
    """Confusion -> JSON."""
    return {
        "classes": list(confusion.classes),
        "sets": [list(members) for members in confusion.sets],
        "counts": confusion.counts.tolist(),
    }
