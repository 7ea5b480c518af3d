"""`hedgerow report`: an HTML report with metrics and the most uncertain rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from hedgerow.cli.console import note, progress, write_json
from hedgerow.cli.evaluation import costs_for, group_numbers, groups_of, rows_of_fit
from hedgerow.cli.exit_codes import DataError, UsageError
from hedgerow.cli.files.paths import PAGE, check_out
from hedgerow.cli.files.sheet import Array, Sheet
from hedgerow.cli.files.source import read_sheet, require_one_stdin
from hedgerow.cli.files.views import SomeRows, labelled_rows
from hedgerow.cli.match import immutable_columns, prepare_for, read_labels, table_for, with_columns
from hedgerow.cli.models import (
    as_in_training,
    model_for,
    presenter_of,
    read_target,
    require_target,
    target_columns,
    undecided_words,
)
from hedgerow.cli.options import ReportOptions, inputs_of
from hedgerow.cli.output import write_text
from hedgerow.inference.predictor import predictor_of
from hedgerow.table import NamedColumns
from hedgerow.util.text import in_groups, listed, number_of

if TYPE_CHECKING:
    from hedgerow.estimators.supervised import SupervisedTrees


def report(options: ReportOptions) -> None:
    """Write a report on a table."""
    require_one_stdin(inputs_of(options))
    if options.as_json and options.out == "-":
        raise UsageError("--out must be a file with --json, got -. Standard output is for the JSON.")
    check_out(options.out, PAGE, inputs_of(options), force=options.force)
    model = model_for(options, explained=True)
    options = as_in_training(model, options)
    presenter = presenter_of(model)
    sheet = _read(model, options)
    options = with_columns(options, sheet.names)
    target = target_columns(presenter, options) or _found_target(
        model, sheet, (options.id, options.groups, *options.by)
    )
    y = read_target(presenter, sheet, target, model) if target else None
    arguments = _arguments(model, sheet, options, target)
    if not target and (options.by or options.costs):
        raise UsageError("--by and --costs require --target COLUMN.")
    other = tuple(dict.fromkeys(name for name in (*target, options.id, options.groups, *options.by) if name))
    table = table_for(model, sheet, other, allow_missing=options.allow_missing_columns)
    if y is not None:
        rows_of_fit(model, table)
    with progress("explaining cases", 1, least=0) as done:
        try:
            made = model.report(table, y, progress=lambda explained, total: done(explained / total), **arguments)
        except ValueError as reason:  # a name that is not a feature
            raise UsageError(str(reason)) from None
    write_text(made.html, options.out)
    if options.as_json:
        write_json({"report": options.out, "target": target[0] if target else None, **made.figures})
    summary = number_of(made.figures["rows"], "row")
    summary += in_groups(made.figures.get("groups"))
    summary += undecided_words(presenter, made.figures.get("indeterminate", 0))
    size = f"{len(made.html.encode()) / 1e6:.2f} MB"
    note(summary if options.out == "-" else f"{summary}; written to {options.out} ({size})")


def _arguments(model: SupervisedTrees, sheet: Sheet, options: ReportOptions, target: tuple[str, ...]) -> dict[str, Any]:
    """Return the keyword arguments of `model.report`."""
    names = _names(sheet, options.id)
    train, y_train = _training(model, options, target)
    return {
        "names": names,
        "title": options.title or f"{_name_of(options.model)} on {_name_of(options.data[0])}",
        "explained": options.cases,
        "time_limit": options.seconds,
        "train": train,
        "y_train": y_train,
        "first_row": 1,
        "labels": read_labels(options.labels, options),
        "immutable": immutable_columns(model, options.immutable),
        "coverage": options.coverage,
        "by": {name: groups_of(sheet, name) for name in options.by},
        "costs": costs_for(model, options.costs, options),
        "time": options.at,
        "groups": group_numbers(sheet, options.groups) if options.groups else None,
    }


def _read(model: SupervisedTrees, options: ReportOptions) -> Sheet:
    """Read the table of the report."""
    sheet = read_sheet(options.data, options)
    options = with_columns(options, sheet.names)
    if options.id:
        sheet.require(options.id, "--id")
    target = require_target(sheet, presenter_of(model), options)
    for name in options.by:
        sheet.require(name, "--by")
    if options.skip_unlabelled:
        if not target:
            raise UsageError("--skip-unlabelled requires --target COLUMN.")
        sheet = labelled_rows(sheet, target[0])
    prepare_for(model, sheet, [*filter(None, target), *options.by], [options.id])
    return sheet


def _names(sheet: Sheet, id: str | None) -> list[object] | None:
    """Return the row names of --id, or row numbers if rows were skipped."""
    if id is not None:
        return list(sheet.cells(id).tolist())
    return [f"row {row + 1}" for row in sheet.rows.tolist()] if isinstance(sheet, SomeRows) else None


def _name_of(path: str) -> str:
    """Return the file name of a path."""
    return "standard input" if path == "-" else Path(path).name


def _training(
    model: SupervisedTrees, options: ReportOptions, target: tuple[str, ...]
) -> tuple[NamedColumns | None, Array | None]:
    """Return the training table and its labels, or None for those not given."""
    if options.train is None:
        return None, None
    sheet = read_sheet([options.train], options)
    prepare_for(model, sheet, target)
    labelled = bool(target) and all(name in sheet.names for name in target)
    if labelled and options.skip_unlabelled:
        sheet = labelled_rows(sheet, target[0])
    other = tuple(name for name in (options.id, *target) if name)
    y = presenter_of(model).read_y(sheet, target, model) if labelled else None
    return table_for(model, sheet, other, allow_missing=options.allow_missing_columns), y


def _found_target(model: SupervisedTrees, sheet: Sheet, taken: tuple[str | None, ...]) -> tuple[str, ...]:
    """Return the only column besides the features that can be the target, if any."""
    predictor = predictor_of(model)
    features = set(predictor.fitted.schema.names or ())
    if not features:
        return ()
    others = [name for name in sheet.names if name not in features and name not in taken]
    sheet.prepare(others, others)
    found = [name for name in others if _can_be_target(model, sheet, name)]
    what = "true classes" if len(predictor.classes) else "true targets"
    if len(found) == 1:
        note(f"note: Using column {found[0]!r} for {what}. --target selects another column.")
        return (found[0],)
    also = f" Columns with possible {what}: {listed(found)}" if found else ""
    known = {str(label) for label in predictor.classes.tolist()}
    nearly = [name for name in others if not found and _n_known(sheet, name, known) > sheet.n_rows / 2]
    if nearly:
        also = f" Column {nearly[0]!r} has values that are not classes; add --target {nearly[0]} to list them."
    note(f"note: The report has no metrics without --target.{also}")
    return ()


def _n_known(sheet: Sheet, name: str, known: set[str]) -> int:
    """Count the cells of a column that are classes."""
    return sum(str(cell) in known for cell in sheet.cells(name).tolist())


def _can_be_target(model: SupervisedTrees, sheet: Sheet, name: str) -> bool:
    """Test whether all cells of a column are classes, or numbers for a regressor."""
    presenter = presenter_of(model)
    if len(presenter.target_options) > 1:
        return False
    try:
        presenter.read_y(sheet, (name,), model)
    except DataError:
        return False
    return True
