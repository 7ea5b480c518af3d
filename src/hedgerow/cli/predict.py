"""`hedgerow predict`: predictions for each row of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hedgerow import _core
from hedgerow.cli.console import note
from hedgerow.cli.evaluation import costs_for
from hedgerow.cli.exit_codes import UsageError
from hedgerow.cli.files.paths import check_out
from hedgerow.cli.files.sheet import Sheet
from hedgerow.cli.files.source import read_sheet, require_one_stdin
from hedgerow.cli.files.values import POINT
from hedgerow.cli.match import LARGE_ROWS, prepare_for, table_for
from hedgerow.cli.models import as_in_training, model_for, presenter_of, undecided_words
from hedgerow.cli.options import PredictOptions, inputs_of
from hedgerow.cli.output import Kept, format_for, write_answers
from hedgerow.inference.columns import Columns
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
    columns, kept = predictions_of(model, sheet, options)
    if sheet.n_rows >= LARGE_ROWS:  # return the memory of the table
        _core.give_back_memory()
    write_answers(
        columns, Kept(sheet, kept), options.out, as_json=options.as_json, prefix=options.prefix, raw=options.raw
    )
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
