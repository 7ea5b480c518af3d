"""Evaluate: a model file and a table with labels -> how good its labels and sets are."""

from __future__ import annotations

from typing import Any

from hedgerow.cli.console import show, write_json
from hedgerow.cli.evaluation import group_grid, groups_of, rows_of_fit
from hedgerow.cli.exit_codes import UsageError
from hedgerow.cli.files.sheet import Array, Sheet
from hedgerow.cli.files.source import read_sheet, require_one_stdin
from hedgerow.cli.files.views import labelled_rows
from hedgerow.cli.match import prepare_for, table_for
from hedgerow.cli.options import EvaluateOptions
from hedgerow.explain.breakdown import figures_by
from hedgerow.explain.presenters.registry import model_asked, presenter_of
from hedgerow.inference.predictor import predictor_of
from hedgerow.metrics import RegressionTally, SetTally
from hedgerow.table import NamedColumns


def evaluate(options: EvaluateOptions) -> None:
    """Load, read, judge, report."""
    require_one_stdin(options.model, *options.data, options.costs)
    model = model_asked(options, options.coverage)
    kind = presenter_of(model)
    sheet, table, y = _read(model, read_sheet(options.data, options), options)
    judged = kind.judged(model, table, y, options.coverage)
    known = rows_of_fit(model, table)
    del table, y  # they are much of the memory
    report, shown = kind.evaluation(judged.tally, options.coverage)
    more, tables = kind.details(model, judged, options)
    by = figures_by(judged, {name: groups_of(sheet, name) for name in options.by})
    if options.as_json:
        found = {"by": by or None, "training_rows": known}
        write_json(report | more | {name: value for name, value in found.items() if value is not None})
        return
    show(*shown, *tables)
    for name, groups in by.items():
        show("", group_grid(name, groups))


def _read(model: Any, sheet: Sheet, options: EvaluateOptions) -> tuple[Sheet, NamedColumns, Array]:
    """A model and a sheet -> the rows with a label, the table the model expects, and what is true."""
    for option, names in (("--target", [options.target]), ("--by", options.by)):
        for name in names:
            sheet.require(name, option)
    if options.skip_unlabelled:
        sheet = labelled_rows(sheet, options.target)
    prepare_for(model, sheet, [options.target, *options.by])
    y = presenter_of(model).known_target(model, sheet, options.target)
    other = tuple(dict.fromkeys((options.target, *options.by)))
    table = table_for(model, sheet, other, allow_missing=options.allow_missing_columns, only_asked=True)
    return sheet, table, y


def tally_of(model: Any, sheet: Sheet, options: EvaluateOptions) -> SetTally | RegressionTally:
    """A model and a sheet -> sums from which the figures follow that a cluster can add up."""
    for option, value in (("--by", options.by), ("--costs", options.costs), ("--positive", options.positive)):
        if value:
            raise UsageError(f"{option} must not be used with --dask, got {value!r}; leave it out")
    _, table, y = _read(model, sheet, options)
    return predictor_of(model).tally(table, y, options.coverage)  # type: ignore[no-any-return]


def show_tally(model: Any, tally: SetTally | RegressionTally, options: EvaluateOptions) -> None:
    """Print figures, as text or as JSON."""
    report, shown = presenter_of(model).evaluation(tally, options.coverage)
    if options.as_json:
        write_json(report)
    else:
        show(*shown)
