"""Evaluate: a model file and a table with labels -> how good its labels and sets are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hedgerow.commands.kinds import kind_of, model_asked
from hedgerow.commands.match import prepare_for, table_for
from hedgerow.commands.sheet import Sheet
from hedgerow.commands.source import read_sheet, require_one_stdin
from hedgerow.commands.talk import show, write_json
from hedgerow.judge.tally import judge
from hedgerow.metrics import NumberTally, SetTally


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
    model = model_asked(options, options.coverage)
    show_tally(model, tally_of(model, read_sheet(options.data, options.missing), options), options)


def tally_of(model: Any, sheet: Sheet, options: EvaluateOptions) -> SetTally | NumberTally:
    """A model and a sheet -> sums from which all figures follow."""
    sheet.require(options.target, "--target")
    prepare_for(model, sheet, [options.target])
    y = kind_of(model).known_target(model, sheet, options.target)
    return judge(model, table_for(model, sheet, (options.target,)), y, coverage=options.coverage)


def show_tally(model: Any, tally: SetTally | NumberTally, options: EvaluateOptions) -> None:
    """Print figures, as text or as JSON."""
    report, shown = kind_of(model).evaluation(tally, options.coverage)
    if options.as_json:
        write_json(report)
    else:
        show(*shown)
