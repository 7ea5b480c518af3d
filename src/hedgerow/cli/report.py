"""Report: a model file and a table -> one page with metrics, where the undecided cases are, and each of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hedgerow.cli.console import listed, note, number_of, progress, write_json
from hedgerow.cli.evaluation import groups_of, rows_of_fit
from hedgerow.cli.exit_codes import DataError, UsageError
from hedgerow.cli.files.paths import PAGE, check_out
from hedgerow.cli.files.sheet import Sheet
from hedgerow.cli.files.source import read_sheet, require_one_stdin
from hedgerow.cli.files.views import SomeRows, labelled_rows
from hedgerow.cli.match import immutable_columns, prepare_for, read_labels, table_for
from hedgerow.cli.options import ReportOptions
from hedgerow.cli.output import write_text
from hedgerow.explain.presenters.base import Presenter
from hedgerow.explain.presenters.registry import explained_model, presenter_of
from hedgerow.inference.fitted import fitted_of
from hedgerow.table import NamedColumns


def report(options: ReportOptions) -> None:
    """Load, read, judge, write the page."""
    require_one_stdin(options.model, *options.data, options.train, options.costs)
    if options.as_json and options.out == "-":
        raise UsageError("--out must be a file with --json, got - for standard output; the figures go there")
    check_out(options.out, PAGE, [options.model, *options.data, options.train, options.costs], force=options.force)
    model = explained_model(options)
    sheet = _read(model, options)
    kind = presenter_of(model)
    kind.check_coverage(model, options.coverage)
    target = options.target or _found_target(kind, model, sheet, (options.id, *options.by))
    other = tuple(dict.fromkeys(name for name in (target, options.id, *options.by) if name))
    y = kind.known_target(model, sheet, target) if target else None
    names = _names(sheet, options.id)
    train, y_train = _training(model, options, target)
    asked: dict[str, Any] = {"seconds": options.seconds, "train": train, "y_train": y_train, "first": 1}
    asked |= {
        "cases": options.cases,
        "labels": read_labels(options.labels, options),
        "immutable": immutable_columns(model, options.immutable),
    }
    asked |= {"coverage": options.coverage, "by": {name: groups_of(sheet, name) for name in options.by}}
    asked["costs"] = kind.costs(model, options.costs, options)
    if target is None and (options.by or options.costs):
        raise UsageError("--by and --costs must be used with --target, got none; name the column of what is true")
    asked["title"] = options.title or f"{_name_of(options.model)} on {_name_of(options.data[0])}"
    table = table_for(model, sheet, other, allow_missing=options.allow_missing_columns)
    if y is not None:
        rows_of_fit(model, table)
    with progress("explaining cases", 1, least=0) as done:
        asked["progress"] = lambda explained, total: done(explained / total)
        try:
            made = model.report(table, y, names=names, **asked)
        except ValueError as reason:  # a name that is not a feature
            raise UsageError(str(reason)) from None
    write_text(made.html, options.out)
    if options.as_json:
        write_json({"report": options.out, "target": target, **made.figures})
    said = number_of(made.figures["rows"], "row") + kind.undecided(made.figures.get("indeterminate", 0))
    note(said if options.out == "-" else f"{said}; written to {options.out} ({len(made.html.encode()) / 1e6:.2f} MB)")


def _read(model: Any, options: ReportOptions) -> Sheet:
    """The rows of the report, with the columns that were named."""
    sheet = read_sheet(options.data, options)
    for name, option in ((options.id, "--id"), (options.target, "--target"), *((name, "--by") for name in options.by)):
        if name:
            sheet.require(name, option)
    if options.skip_unlabelled:
        if options.target is None:
            raise UsageError("--skip-unlabelled must be used with --target, got none; name the column of what is true")
        sheet = labelled_rows(sheet, options.target)
    prepare_for(model, sheet, [options.target, *options.by], [options.id])
    return sheet


def _names(sheet: Sheet, id: str | None) -> list[Any] | None:
    """What the column of names says of each row; without one, the number of each row if some were left out."""
    if id is not None:
        return list(sheet.cells(id).tolist())
    return [f"row {row + 1}" for row in sheet.rows.tolist()] if isinstance(sheet, SomeRows) else None


def _name_of(path: str) -> str:
    """A path -> the name of the file, for people."""
    return "standard input" if path == "-" else Path(path).name


def _training(model: Any, options: ReportOptions, target: str | None) -> tuple[NamedColumns | None, Any]:
    """The training table and its labels, or None for what was not given."""
    if options.train is None:
        return None, None
    sheet = read_sheet([options.train], options)
    prepare_for(model, sheet, [target])
    labelled = target is not None and target in sheet.names
    if labelled and options.skip_unlabelled:
        sheet = labelled_rows(sheet, str(target))
    other = tuple(name for name in (options.id, target) if name)
    y = presenter_of(model).known_target(model, sheet, str(target)) if labelled else None
    return table_for(model, sheet, other, allow_missing=options.allow_missing_columns), y


def _found_target(kind: Presenter, model: Any, sheet: Sheet, taken: tuple[str | None, ...]) -> str | None:
    """The column, besides the features, that can hold the true answers; None unless there is exactly one."""
    features = set(fitted_of(model).schema.names or ())
    if not features:
        return None
    others = [name for name in sheet.names if name not in features and name not in taken]
    sheet.prepare(others, others)
    found = [name for name in others if _can_be_target(kind, model, sheet, name)]
    what = "true classes" if kind.classes(model) else "true targets"
    if len(found) == 1:
        note(f"note: {what} taken from {found[0]!r}; use --target to name another column")
        return found[0]
    also = f"; these columns could hold the {what}: {listed(found)}" if found else ""
    known = {str(label) for label in kind.classes(model).get("classes", ())}
    nearly = [name for name in others if not found and _n_known(sheet, name, known) > sheet.n_rows / 2]
    if nearly:
        also = f"; {nearly[0]!r} does not hold classes in some rows: add --target {nearly[0]} to see which"
    note(f"note: no --target given, so the report has no metrics{also}")
    return None


def _n_known(sheet: Sheet, name: str, known: set[str]) -> int:
    """How many cells of a column are one of the classes."""
    return sum(str(cell) in known for cell in sheet.cells(name).tolist())


def _can_be_target(kind: Presenter, model: Any, sheet: Sheet, name: str) -> bool:
    """Whether every cell of a column is a class, or a number."""
    try:
        kind.known_target(model, sheet, name)
    except DataError:
        return False
    return True
