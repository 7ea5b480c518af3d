"""Report: a model file and a table -> one page with metrics, where the undecided cases are, and each of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hedgerow.commands.kinds import explained_model
from hedgerow.commands.match import prepare_for, table_for
from hedgerow.commands.outcome import DataError, UsageError
from hedgerow.commands.output import write_text
from hedgerow.commands.paths import PAGE, check_out
from hedgerow.commands.sheet import Array, Sheet
from hedgerow.commands.source import read_sheet, require_one_stdin
from hedgerow.commands.talk import listed, number_of, progress, say, write_json
from hedgerow.judge.fitted import fitted_of
from hedgerow.table import NamedColumns


@dataclass(frozen=True)
class ReportOptions:
    """What `hedgerow report` was asked."""

    model: str
    data: str
    out: str
    target: str | None = None
    id: str | None = None
    title: str | None = None
    train: str | None = None
    cases: str = "some"
    seconds: float = 5.0
    rule: str | None = None
    caution: str | None = None
    decision: str | None = None
    missing: tuple[str, ...] = ()
    force: bool = False
    as_json: bool = False


def report(options: ReportOptions) -> None:
    """Load, read, judge, write the page."""
    require_one_stdin(options.model, options.data, *([options.train] if options.train else []))
    if options.as_json and options.out == "-":
        raise UsageError("--out must be a file with --json, got - for standard output; the figures go there")
    check_out(options.out, PAGE, [options.model, options.data, options.train], force=options.force)
    model = explained_model(options)
    sheet = read_sheet(options.data, options.missing)
    for name, option in ((options.id, "--id"), (options.target, "--target")):
        if name:
            sheet.require(name, option)
    prepare_for(model, sheet, [options.target], [options.id])
    target = options.target or _found_target(model, sheet, options.id)
    other = tuple(name for name in (target, options.id) if name)
    y = sheet.known_labels(target, model.classes_) if target else None
    names = None if options.id is None else sheet.cells(options.id).tolist()
    train, y_train = _training(model, options, target)
    asked: dict[str, Any] = {"seconds": options.seconds, "train": train, "y_train": y_train, "first": 1}
    asked["cases"] = options.cases
    asked["title"] = options.title or f"{_name_of(options.model)} on {_name_of(options.data)}"
    table = table_for(model, sheet, other)
    with progress("explaining cases", 1, least=0) as done:
        asked["progress"] = lambda explained, total: done(explained / total)
        made = model.report(table, y, names=names, **asked)
    write_text(made.html, options.out)
    if options.as_json:
        write_json({"report": options.out, "target": target, **made.figures})
    said = f"{number_of(made.figures['rows'], 'row')}, {made.figures['indeterminate']:,} of them indeterminate"
    say(said if options.out == "-" else f"{said}; written to {options.out} ({len(made.html.encode()) / 1e6:.2f} MB)")


def _name_of(path: str) -> str:
    """A path -> the name of the file, for people."""
    return "standard input" if path == "-" else Path(path).name


def _training(model: Any, options: ReportOptions, target: str | None) -> tuple[NamedColumns | None, Any]:
    """The training table and its labels, or None for what was not given."""
    if options.train is None:
        return None, None
    sheet = read_sheet(options.train, options.missing)
    prepare_for(model, sheet, [target])
    labelled = target is not None and target in sheet.names
    other = tuple(name for name in (options.id, target) if name)
    return table_for(model, sheet, other), sheet.known_labels(str(target), model.classes_) if labelled else None


def _found_target(model: Any, sheet: Sheet, id: str | None) -> str | None:
    """The column, besides the features, that holds only classes of the model; None unless there is exactly one."""
    features = set(fitted_of(model).schema.names or ())
    if not features:
        return None
    others = [name for name in sheet.names if name not in features and name != id]
    sheet.prepare(others, others)
    found = [name for name in others if _holds_classes(sheet, name, model.classes_)]
    if len(found) == 1:
        say(f"note: true classes taken from {found[0]!r}; use --target to name another column")
        return found[0]
    also = f"; these columns could hold the classes: {listed(found)}" if found else ""
    nearly = [name for name in others if not found and _n_known(sheet, name, model.classes_) > sheet.n_rows / 2]
    if nearly:
        also = f"; {nearly[0]!r} does not hold classes in some rows: add --target {nearly[0]} to see which"
    say(f"note: no --target given, so the report has no metrics{also}")
    return None


def _n_known(sheet: Sheet, name: str, classes: Array) -> int:
    """How many cells of a column are one of the classes."""
    known = set(map(str, classes.tolist()))
    return sum(str(cell) in known for cell in sheet.cells(name).tolist())


def _holds_classes(sheet: Sheet, name: str, classes: Array) -> bool:
    """Whether every cell of a column is one of the classes."""
    try:
        sheet.known_labels(name, classes)
    except DataError:
        return False
    return True
