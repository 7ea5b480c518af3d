"""Predict: a model file and a table -> label, set, bounds and uncertainty of each row."""

from __future__ import annotations

from typing import Any

from hedgerow import _core
from hedgerow.cli.console import note, number_of
from hedgerow.cli.files.paths import check_out
from hedgerow.cli.files.sheet import Sheet
from hedgerow.cli.files.source import read_sheet, require_one_stdin
from hedgerow.cli.match import LARGE_ROWS, prepare_for, table_for
from hedgerow.cli.options import PredictOptions
from hedgerow.cli.output import Kept, kind_asked, write_answers
from hedgerow.explain.presenters.registry import model_asked, presenter_of
from hedgerow.inference.columns import Columns


def predict(options: PredictOptions) -> None:
    """Load, read, answer, write."""
    require_one_stdin(options.model, *options.data)
    kind = kind_asked(options.out, options.as_json)
    check_out(options.out, kind, [options.model, *options.data, options.costs], force=options.force)
    model = model_asked(options, options.coverage)
    sheet = read_sheet(options.data, options)
    answers, kept = predictions_of(model, sheet, options)
    if sheet.n_rows >= LARGE_ROWS:  # the table
        _core.give_back_memory()
    write_answers(
        answers, Kept(sheet, kept), options.out, as_json=options.as_json, prefix=options.prefix, raw=options.raw
    )
    note(number_of(sheet.n_rows, "row") + presenter_of(model).undecided(answers.n_undecided))


def predictions_of(model: Any, sheet: Sheet, options: PredictOptions) -> tuple[Columns, tuple[str, ...]]:
    """A model and a sheet -> the answers for each row, and the names of the columns to keep."""
    asked = [(name, option) for name, option in ((options.id, "--id"), (options.target, "--target")) if name]
    asked += [(name, "--keep") for name in options.keep]
    for name, option in asked:
        sheet.require(name, option)
    kept = sheet.names if options.keep_all else tuple(dict.fromkeys(name for name, _ in asked))
    prepare_for(model, sheet, texts=kept)
    other, allow = tuple(name for name, _ in asked), options.allow_missing_columns
    table = table_for(model, sheet, other, allow_missing=allow, only_asked=True)
    return presenter_of(model).answers(model, table, options), kept
