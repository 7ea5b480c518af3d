"""Evaluate: a model file and a table with labels -> how good its labels and sets are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hedgerow.commands.match import table_for
from hedgerow.commands.numbers import is_regressor, model_asked, number_facts
from hedgerow.commands.sheet import Sheet
from hedgerow.commands.source import read_sheet, require_one_stdin
from hedgerow.commands.talk import facts, grid, score, share, show, write_json
from hedgerow.judge.number_answers import COVERAGE
from hedgerow.judge.tally import judge
from hedgerow.metrics import NumberTally, SetConfusion, SetTally

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
    model = model_asked(options)
    show_tally(tally_of(model, read_sheet(options.data, options.missing), options), options)


def tally_of(model: Any, sheet: Sheet, options: EvaluateOptions) -> SetTally | NumberTally:
    """A model and a sheet -> what it gets right, in sums."""
    sheet.require(options.target, "--target")
    y = sheet.targets(options.target) if is_regressor(model) else sheet.known_labels(options.target, model.classes_)
    return judge(model, table_for(model, sheet, (options.target,)), y, coverage=options.coverage)


def show_tally(tally: SetTally | NumberTally, options: EvaluateOptions) -> None:
    """Figures, for people or as JSON."""
    report = tally.figures()
    if isinstance(tally, NumberTally):
        if "coverage" in report:
            report["asked_coverage"] = COVERAGE if options.coverage is None else options.coverage
        shown: tuple[Any, ...] = (number_facts(report),)
    else:
        confusion = tally.confusion()
        shown = (_facts(report), "", _matrix(confusion))
        report |= {"confusion": _plain(confusion)}
    if options.as_json:
        write_json(report)
    else:
        show(*shown)


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
