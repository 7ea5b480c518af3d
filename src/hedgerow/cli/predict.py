"""`hedgerow predict` and `hedgerow evaluate`: predictions for each row of a table, and their metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hedgerow import _core
from hedgerow.cli.console import note, show, table, warn_if, write_json
from hedgerow.cli.evaluation import (
    costs_for,
    groups_of,
    one_row_of_each,
    remind_of_groups,
    rows_of_fit,
    tell_novelty,
)
from hedgerow.cli.exit_codes import UsageError
from hedgerow.cli.files.paths import check_out
from hedgerow.cli.files.sheet import Array, Sheet
from hedgerow.cli.files.source import read_sheet, require_one_stdin
from hedgerow.cli.files.values import POINT
from hedgerow.cli.files.views import labelled_rows
from hedgerow.cli.match import LARGE_ROWS, prepare_for, table_for, with_columns
from hedgerow.cli.models import (
    as_in_training,
    model_for,
    positive_class,
    presenter_of,
    read_target,
    require_target,
    undecided_words,
)
from hedgerow.cli.options import EvaluateOptions, PredictOptions, inputs_of
from hedgerow.cli.output import Kept, format_for, write_answers
from hedgerow.explain.presenters.base import Figures, figures_by, group_lines
from hedgerow.inference.columns import Columns
from hedgerow.inference.notices import novelty_notice
from hedgerow.inference.predictor import predictor_of
from hedgerow.metrics.tally import RegressionTally, SetTally
from hedgerow.table import NamedColumns
from hedgerow.util.text import number_of

if TYPE_CHECKING:
    from hedgerow.estimators.supervised import SupervisedTrees


def predict(options: PredictOptions) -> None:
    """Predict a table and write the predictions."""
    require_one_stdin(inputs_of(options))
    form = format_for(options.out, options.as_json)
    check_out(options.out, form, inputs_of(options), force=options.force)
    model = model_for(options)
    options = as_in_training(model, options)
    sheet = read_sheet(options.data, options)
    options = with_columns(options, sheet.names)
    columns, kept = predictions_of(model, sheet, options)
    if sheet.n_rows >= LARGE_ROWS:  # return the memory of the table
        _core.give_back_memory()
    write_answers(
        columns, Kept(sheet, kept), options.out, as_json=options.as_json, prefix=options.prefix, raw=options.raw
    )
    numbers = columns.numbers()
    by_name = dict(zip(columns.names[-len(numbers) :], numbers, strict=True))
    if "novelty" in by_name:
        warn_if(novelty_notice(by_name["novelty"]))
    note(number_of(sheet.n_rows, "row") + undecided_words(presenter_of(model), columns.n_undecided))


def predictions_of(model: SupervisedTrees, sheet: Sheet, options: PredictOptions) -> tuple[Columns, tuple[str, ...]]:
    """Return the predictions of each row and the names of the columns to copy."""
    named = [(name, option) for name, option in ((options.id, "--id"), (options.target, "--target")) if name]
    named += [(name, "--keep") for name in options.keep]
    for name, option in named:
        sheet.require(name, option)
    kept = sheet.names if options.keep_all else tuple(dict.fromkeys(name for name, _ in named))
    prepare_for(model, sheet, texts=kept)
    other, allow = tuple(name for name, _ in named), options.allow_missing_columns
    table = table_for(model, sheet, other, allow_missing=allow, only_used=True)
    costs = costs_for(model, options.costs, options)
    if options.times is None:
        return presenter_of(model).columns(model, table, options.coverage, costs), kept
    try:
        return presenter_of(model).columns_at(model, table, _times(options.times)), kept
    except ValueError as reason:
        raise UsageError(f"--{reason}") from None


def _times(text: str) -> NDArray[np.float64]:
    """Parse --times."""
    numbers = [POINT.number(each) for each in text.split(",")]
    if any(number is None or not 0 <= number < np.inf for number in numbers):
        raise ValueError(f"times must be numbers such as 30,90,365, got {text!r}.")
    return np.array(numbers, dtype=np.float64)


# ---- `hedgerow evaluate`: metrics of a model on a table with true targets --------------------------------------------


Tally = SetTally | RegressionTally


def evaluate(options: EvaluateOptions) -> None:
    """Evaluate a model and print the metrics."""
    require_one_stdin(inputs_of(options))
    model = model_for(options)
    options = as_in_training(model, options)
    remind_of_groups(model, options)
    presenter, positive = presenter_of(model), positive_class(model, options.positive)
    sheet = read_sheet(options.data, options)
    options = with_columns(options, sheet.names)
    sheet, rows, y = _read(model, sheet, options)
    evaluated = presenter.evaluate(model, rows, y, options.coverage)
    known = rows_of_fit(model, rows)
    tell_novelty(model, rows)
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
    prepare_for(model, sheet, [*filter(None, target), *options.by])
    y = read_target(presenter, sheet, target, model)
    other = tuple(dict.fromkeys(filter(None, (*target, *options.by, options.groups))))
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
