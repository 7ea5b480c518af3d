"""`hedgerow suggest` and `hedgerow learn`: rows to label, and their labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.cli.console import facts, grid, note, show, write_json
from hedgerow.cli.evaluation import group_numbers, has_groups
from hedgerow.cli.exit_codes import DataError, UsageError
from hedgerow.cli.files.paths import MODEL, STREAM, check_out
from hedgerow.cli.files.sheet import Array, Sheet
from hedgerow.cli.files.source import read_bytes, read_model, read_sheet, require_one_stdin
from hedgerow.cli.fit import save_model
from hedgerow.cli.match import prepare_for, table_for
from hedgerow.cli.models import as_in_training, model_for, presenter_of
from hedgerow.cli.options import LearnOptions, SuggestOptions, inputs_of
from hedgerow.explain.cases import number
from hedgerow.explain.presenters.base import Feedback, FeedbackChange
from hedgerow.explain.report.answers_file import AnswersFile, model_mark, read_answers, table_mark
from hedgerow.explain.report.figures import columns_of
from hedgerow.inference.fitted import fitted_of
from hedgerow.inference.predictor import predictor_of
from hedgerow.table import NamedColumns
from hedgerow.util.text import number_of

if TYPE_CHECKING:
    from rich.table import Table

    from hedgerow.estimators.supervised import SupervisedTrees


def suggest(options: SuggestOptions) -> None:
    """Rank the rows to label next and print them."""
    require_one_stdin(inputs_of(options))
    model = model_for(options)
    options = as_in_training(model, options)
    feedback = _feedback(model)
    sheet = read_sheet(options.data, options)
    if options.id:
        sheet.require(options.id, "--id")
    prepare_for(model, sheet, texts=[options.id])
    table = table_for(model, sheet, tuple(filter(None, (options.id,))), allow_missing=options.allow_missing_columns)
    rows = np.asarray(model.suggest(table, options.number))
    names = sheet.cells(options.id)[rows].tolist() if options.id else [None] * len(rows)
    cases = [
        {"rank": place + 1, "row": int(row) + 1, "name": None if name is None else str(name)} | prediction
        for place, (row, name, prediction) in enumerate(
            zip(rows, names, feedback.predictions(model, table.some(rows)), strict=True)
        )
    ]
    if options.as_json:
        write_json(cases)
        return
    heads = [head for head in cases[0] if head != "name" or options.id] if cases else []
    show(grid("Label these first", heads, [[_cell(case[head]) for head in heads] for case in cases], left=len(heads)))
    note("Label them in a report of this table, save the answers, and run hedgerow learn.")


def _feedback(model: SupervisedTrees) -> Feedback:
    """Return the feedback that a model supports; raise `UsageError` if there is none."""
    found = presenter_of(model).feedback
    if found is None:
        raise UsageError(f"{type(model).__name__} does not support feedback about single rows.")
    return found


def _cell(value: object) -> str:
    """Format a value as a table cell."""
    if isinstance(value, list):
        return " or ".join(value)
    return number(value) if isinstance(value, float) else str(value)


def learn(options: LearnOptions) -> None:
    """Update a model with the answers of a report and print the change."""
    require_one_stdin(inputs_of(options))
    check_out(options.out, MODEL, inputs_of(options), force=options.force)
    model = read_model(options.model)
    options = as_in_training(model, options)
    if not model._incremental:
        raise UsageError(f"{type(model).__name__} does not support updates. Refit it with the new rows.")
    held = _read(options.answers)
    sheet = read_sheet(options.data, options)
    prepare_for(model, sheet, texts=[options.groups])
    _check_model(held, model, options)
    table, groups = _table_of(held, model, sheet, options)
    usable = [each for each in held.answers if each.answer is not None]
    if not usable:
        raise DataError(f"{options.answers}: no answers. Answer cases in the report and save again.")
    rows = np.array([each.row for each in usable])
    n_rows = table.shape[0]
    if rows.max() >= n_rows:
        raise DataError(f"ANSWERS must be about the {n_rows:,} rows of DATA, got row {rows.max() + 1:,}.")
    feedback = _feedback(model)
    before = feedback.uncertainty(model, table)
    try:
        targets = feedback.targets(model, [each.answer for each in usable])
    except ValueError as reason:
        raise DataError(f"ANSWERS {reason}") from None
    try:
        model.partial_fit(table.some(rows), targets, **({} if groups is None else {"groups": groups[rows]}))
    except ValueError as reason:
        raise DataError(f"The model cannot be updated with these answers: {reason}") from None
    report = {"answers": len(usable), "left_out": len(held.answers) - len(usable), "rows": len(before)}
    change = feedback.change(before, feedback.uncertainty(model, table), rows)
    report |= change.values
    save_model(model, options.out)
    if options.as_json:
        write_json(report | {"model": options.out})
    else:
        show(_facts(report, change, options), stderr=options.out == STREAM)


def _read(path: str) -> AnswersFile:
    """Read a file of answers; raise `DataError` if it is not one."""
    try:
        return read_answers(read_bytes(path, "answers").decode())
    except UnicodeDecodeError:
        raise DataError(f"{path}: not a file of answers saved from a report (not text).") from None
    except ValueError as reason:
        raise DataError(f"{path}: not a file of answers saved from a report. {reason}") from None


def _check_model(held: AnswersFile, model: SupervisedTrees, options: LearnOptions) -> None:
    """Raise `DataError` for answers to another model."""
    if held.model != model_mark(fitted_of(model)):
        raise DataError(
            f"ANSWERS must come from a report of {options.model}, got answers to another model. Make a new report with"
            " this model, or use the model of the report."
        )


def _table_of(
    held: AnswersFile, model: SupervisedTrees, sheet: Sheet, options: LearnOptions
) -> tuple[NamedColumns, Array | None]:
    """Return the rows of the report, all or those with a label (--skip-unlabelled), and their groups."""
    other = () if options.groups is None else (options.groups,)
    groups = None if options.groups is None else group_numbers(sheet, options.groups)
    if groups is None and has_groups(model):
        raise UsageError(f"{options.model} was fitted with groups of rows. Pass --groups COLUMN.")
    table = table_for(model, sheet, other, allow_missing=options.allow_missing_columns)
    if _is_of(held, model, table):
        return table, groups
    features = fitted_of(model).schema.names or ()
    for name in (name for name in sheet.names if name not in features):
        gaps = sheet.is_missing(name)
        if gaps.any() and not gaps.all() and _is_of(held, model, some := table.some(np.flatnonzero(~gaps))):
            note(f"note: The report covers the {some.shape[0]:,} rows with a value of {name!r}.")
            return some, None if groups is None else groups[~gaps]
    raise DataError(
        f"ANSWERS must come from a report on {options.data[0]}, got answers about another table. Use the table of"
        " the report, with the same rows in the same order."
    )


def _is_of(held: AnswersFile, model: SupervisedTrees, table: NamedColumns) -> bool:
    """Test whether the answers come from a report on this table."""
    return held.table == table_mark(columns_of(predictor_of(model).read(table)))


def _facts(report: dict[str, Any], change: FeedbackChange, options: LearnOptions) -> Table:
    """Format the change of a model."""
    counted = f"{report['answers']:,}"
    if report["left_out"]:
        counted += f" ({number_of(report['left_out'], 'case')} without an answer)"
    lines = [("answers counted", counted), *change.facts]
    saved = "standard output" if options.out == STREAM else options.out
    return facts([*lines, ("splits", "unchanged; only leaf counts have grown"), ("saved to", saved)])
