"""`hedgerow evaluate`: metrics of a model on a table with true targets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hedgerow.cli.console import show, table, write_json
from hedgerow.cli.evaluation import costs_for, groups_of, one_row_of_each, remind_of_groups, rows_of_fit
from hedgerow.cli.exit_codes import UsageError
from hedgerow.cli.files.sheet import Array, Sheet
from hedgerow.cli.files.source import read_sheet, require_one_stdin
from hedgerow.cli.files.views import labelled_rows
from hedgerow.cli.match import prepare_for, table_for
from hedgerow.cli.models import as_in_training, model_for, positive_class, presenter_of, read_target, require_target
from hedgerow.cli.options import EvaluateOptions, inputs_of
from hedgerow.explain.breakdown import figures_by, group_lines
from hedgerow.explain.presenters.base import Figures
from hedgerow.inference.predictor import predictor_of
from hedgerow.metrics.tally import RegressionTally, SetTally
from hedgerow.table import NamedColumns

if TYPE_CHECKING:
    from hedgerow.estimators.supervised import SupervisedTrees

Tally = SetTally | RegressionTally


def evaluate(options: EvaluateOptions) -> None:
    """Evaluate a model and print the metrics."""
    require_one_stdin(inputs_of(options))
    model = model_for(options)
    options = as_in_training(model, options)
    remind_of_groups(model, options)
    presenter, positive = presenter_of(model), positive_class(model, options.positive)
    sheet, rows, y = _read(model, read_sheet(options.data, options), options)
    evaluated = presenter.evaluate(model, rows, y, options.coverage)
    known = rows_of_fit(model, rows)
    del rows, y  # frees most of the memory
    found = presenter.figures(
        evaluated.tally,
        coverage=options.coverage,
        evaluated=evaluated,
        positive=positive,
        costs=costs_for(model, options.costs, options),
    )
    by = figures_by(evaluated, {name: groups_of(sheet, name) for name in options.by})
    if options.as_json:
        more = {"by": by or None, "training_rows": known}
        write_json(found.values | {name: value for name, value in more.items() if value is not None})
        return
    _show(found)
    for name, groups in by.items():
        show("", table(group_lines(name, groups)))


def _show(found: Figures) -> None:
    """Print tables separated by empty lines."""
    for place, each in enumerate(found.tables):
        show(*([""] if place else []), table(each))


def _read(model: SupervisedTrees, sheet: Sheet, options: EvaluateOptions) -> tuple[Sheet, NamedColumns, Array]:
    """Return the labelled rows, their features and their target."""
    presenter = presenter_of(model)
    target = require_target(sheet, presenter, options)
    for name in options.by:
        sheet.require(name, "--by")
    if options.skip_unlabelled:
        sheet = labelled_rows(sheet, target[0])
    sheet = one_row_of_each(sheet, options.groups)
    prepare_for(model, sheet, [*target, *options.by])
    y = read_target(presenter, sheet, target, model)
    other = tuple(dict.fromkeys((*target, *options.by, *filter(None, [options.groups]))))
    rows = table_for(model, sheet, other, allow_missing=options.allow_missing_columns, only_used=True)
    return sheet, rows, y


def tally_of(model: SupervisedTrees, sheet: Sheet, options: EvaluateOptions) -> Tally:
    """Return the tally of a partition; tallies of a cluster add up."""
    for option, value in (
        ("--by", options.by),
        ("--costs", options.costs),
        ("--positive", options.positive),
        ("--groups", options.groups),
    ):
        if value:
            raise UsageError(f"--dask does not support {option}, got {value!r}.")
    _, rows, y = _read(model, sheet, options)
    tally: Tally = predictor_of(model).tally(rows, y, options.coverage)
    return tally


def show_tally(model: SupervisedTrees, tally: Tally, options: EvaluateOptions) -> None:
    """Print the metrics of a tally, as text or JSON."""
    found = presenter_of(model).figures(tally, coverage=options.coverage)
    if options.as_json:
        write_json(found.values)
    else:
        _show(found)
