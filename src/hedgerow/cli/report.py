"""`hedgerow report`: one page with metrics and the most uncertain rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hedgerow.cli.console import note, progress, write_json
from hedgerow.cli.costs import costs_for
from hedgerow.cli.evaluation import groups_of, rows_of_fit
from hedgerow.cli.exit_codes import DataError, UsageError
from hedgerow.cli.files.paths import PAGE, check_out
from hedgerow.cli.files.sheet import Sheet
from hedgerow.cli.files.source import read_sheet, require_one_stdin
from hedgerow.cli.files.views import SomeRows, labelled_rows
from hedgerow.cli.match import immutable_columns, prepare_for, read_labels, table_for
from hedgerow.cli.models import model_for, presenter_of, require_target, target_columns, undecided_words
from hedgerow.cli.options import ReportOptions
from hedgerow.cli.output import write_text
from hedgerow.inference.predictor import predictor_of
from hedgerow.table import NamedColumns
from hedgerow.util.text import listed, number_of


def report(options: ReportOptions) -> None:
    """Load, read, write the page."""
    require_one_stdin(options.model, *options.data, options.train, options.costs)
    if options.as_json and options.out == "-":
        raise UsageError("--out must be a file with --json, got - for standard output; the figures go there")
    check_out(options.out, PAGE, [options.model, *options.data, options.train, options.costs], force=options.force)
    model = model_for(options, explained=True)
    presenter = presenter_of(model)
    sheet = _read(model, options)
    target = target_columns(presenter, options) or _found_target(model, sheet, (options.id, *options.by))
    y = presenter.read_y(sheet, target, model) if target else None
    arguments = _arguments(model, sheet, options, target)
    if not target and (options.by or options.costs):
        raise UsageError("--by and --costs must be used with --target, got none; name the column of what is true")
    other = tuple(dict.fromkeys(name for name in (*target, options.id, *options.by) if name))
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
    summary += undecided_words(presenter, made.figures.get("indeterminate", 0))
    size = f"{len(made.html.encode()) / 1e6:.2f} MB"
    note(summary if options.out == "-" else f"{summary}; written to {options.out} ({size})")


def _arguments(model: Any, sheet: Sheet, options: ReportOptions, target: tuple[str, ...]) -> dict[str, Any]:
    """Return the arguments of `report` besides the table and its target."""
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
    }


def _read(model: Any, options: ReportOptions) -> Sheet:
    """The rows of the report, with the columns that were named."""
    sheet = read_sheet(options.data, options)
    if options.id:
        sheet.require(options.id, "--id")
    target = require_target(sheet, presenter_of(model), options)
    for name in options.by:
        sheet.require(name, "--by")
    if options.skip_unlabelled:
        if not target:
            raise UsageError("--skip-unlabelled must be used with --target, got none; name the column of what is true")
        sheet = labelled_rows(sheet, target[0])
    prepare_for(model, sheet, [*target, *options.by], [options.id])
    return sheet


def _names(sheet: Sheet, id: str | None) -> list[Any] | None:
    """What the column of names says of each row; without one, the number of each row if some were left out."""
    if id is not None:
        return list(sheet.cells(id).tolist())
    return [f"row {row + 1}" for row in sheet.rows.tolist()] if isinstance(sheet, SomeRows) else None


def _name_of(path: str) -> str:
    """A path -> the name of the file, for people."""
    return "standard input" if path == "-" else Path(path).name


def _training(model: Any, options: ReportOptions, target: tuple[str, ...]) -> tuple[NamedColumns | None, Any]:
    """The training table and its labels, or None for what was not given."""
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


def _found_target(model: Any, sheet: Sheet, taken: tuple[str | None, ...]) -> tuple[str, ...]:
    """The column, besides the features, that can hold the target; none unless there is exactly one."""
    predictor = predictor_of(model)
    features = set(predictor.fitted.schema.names or ())
    if not features:
        return ()
    others = [name for name in sheet.names if name not in features and name not in taken]
    sheet.prepare(others, others)
    found = [name for name in others if _can_be_target(model, sheet, name)]
    what = "true classes" if len(predictor.classes) else "true targets"
    if len(found) == 1:
        note(f"note: {what} taken from {found[0]!r}; use --target to name another column")
        return (found[0],)
    also = f"; these columns could hold the {what}: {listed(found)}" if found else ""
    known = {str(label) for label in predictor.classes.tolist()}
    nearly = [name for name in others if not found and _n_known(sheet, name, known) > sheet.n_rows / 2]
    if nearly:
        also = f"; {nearly[0]!r} does not hold classes in some rows: add --target {nearly[0]} to see which"
    note(f"note: no --target given, so the report has no metrics{also}")
    return ()


def _n_known(sheet: Sheet, name: str, known: set[str]) -> int:
    """How many cells of a column are one of the classes."""
    return sum(str(cell) in known for cell in sheet.cells(name).tolist())


def _can_be_target(model: Any, sheet: Sheet, name: str) -> bool:
    """Whether a column alone can be the target: every cell is a class, or a number."""
    presenter = presenter_of(model)
    if len(presenter.target_options) > 1:
        return False
    try:
        presenter.read_y(sheet, (name,), model)
    except DataError:
        return False
    return True
