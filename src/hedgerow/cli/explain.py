"""`hedgerow explain`: explanations of rows of a table."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hedgerow.cli.console import note, show, table, write_json
from hedgerow.cli.exit_codes import DataError, UsageError
from hedgerow.cli.files.paths import PAGE, check_out
from hedgerow.cli.files.sheet import Array, Sheet
from hedgerow.cli.files.source import read_sheet, require_one_stdin
from hedgerow.cli.files.views import labelled_rows
from hedgerow.cli.match import columns_named, immutable_columns, prepare_for, table_for
from hedgerow.cli.models import as_in_training, model_for, presenter_of, require_target, target_columns, undecided_words
from hedgerow.cli.options import ExplainOptions, inputs_of
from hedgerow.cli.output import write_text
from hedgerow.explain.presenters.base import Explainer
from hedgerow.explain.survival import SurvivalExplanation
from hedgerow.inference.fitted import fitted_of
from hedgerow.inference.predictor import predictor_of
from hedgerow.table import NamedColumns
from hedgerow.util.text import listed, number_of

if TYPE_CHECKING:
    from hedgerow.estimators.supervised import SupervisedTrees
    from hedgerow.explain.explanation import Explanation
    from hedgerow.explain.regression import RegressionExplanation

    AnyExplanation = Explanation | RegressionExplanation | SurvivalExplanation


def explain(options: ExplainOptions) -> None:
    """Explain rows and write the explanations."""
    require_one_stdin(inputs_of(options))
    check_out(options.html, PAGE, inputs_of(options), force=options.force, option="--html")
    model = model_for(options, explained=True)
    options = as_in_training(model, options)
    sheet = read_sheet(options.data, options)
    if options.id:
        sheet.require(options.id, "--id")
    presenter = presenter_of(model)
    if presenter.explainer is None:
        raise UsageError(f"explain does not support {type(model).__name__}. Use report.")
    other = tuple(name for name in (options.id, *target_columns(presenter, options)) if name)
    prepare_for(model, sheet, texts=[options.id])
    columns = table_for(model, sheet, other, allow_missing=options.allow_missing_columns)
    rows = _chosen_rows(options, sheet) if options.rows else _uncertain(model, options, columns)
    found = _explain_rows(model, options, columns, rows) if len(rows) else []
    names = sheet.cells(options.id).tolist() if options.id else None
    found = [_counted_from_one(each, row, names) for each, row in zip(found, rows.tolist(), strict=True)]
    if not options.rows:
        note(f"{number_of(sheet.n_rows, 'row')}{undecided_words(presenter, len(rows))}")
    _write(options, found, presenter.explainer)


def _write(options: ExplainOptions, found: list[AnyExplanation], explainer: Explainer) -> None:
    """Write explanations as HTML, JSON or text, in full or as an overview."""
    if options.html:
        from hedgerow.explain.html import page_from_explanations

        write_text(page_from_explanations(found, _title(found)), options.html)
        note(f"{number_of(len(found), 'row')} explained in {options.html}")
    if options.as_json:
        write_json([each.to_dict() for each in found])
    elif options.rows and not options.html:
        write_text("\n".join(each.to_text() for each in found), None)
    elif found and not options.html:
        show(table(explainer.overview(found)))


def _title(found: list[AnyExplanation]) -> str:
    """Return the title of a page of explanations."""
    return "Explanation of a prediction" if len(found) == 1 else f"Explanations of {len(found):,} predictions"


def _uncertain(model: SupervisedTrees, options: ExplainOptions, columns: NamedColumns) -> NDArray[np.int64]:
    """Choose the rows to explain without --row."""
    explainer = presenter_of(model).explainer
    try:
        return np.empty(0, np.int64) if explainer is None else explainer.uncertain_rows(model, columns, options.at)
    except ValueError as reason:
        raise UsageError(str(reason)) from None


def _explain_rows(
    model: SupervisedTrees, options: ExplainOptions, columns: NamedColumns, rows: NDArray[np.int64]
) -> list[AnyExplanation]:
    """Return the explanations of rows."""
    train, labels = _training(model, options)
    known = fitted_of(model).schema.names
    # Without --row there may be thousands of rows: list them, but do not search for counterfactuals.
    seconds = options.seconds if options.rows or options.html else 0.0
    try:
        found: list[AnyExplanation] = model.explain(
            columns.some(rows),
            train=train,
            y_train=labels,
            cases=options.cases,
            shap=bool(options.rows or options.html or options.as_json),
            immutable=immutable_columns(model, options.immutable),
            increasing=columns_named(options.increasing, known),
            decreasing=columns_named(options.decreasing, known),
            wanted=None if options.wanted is None else _class_of(model, options.wanted),
            time_limit=seconds,
            time=options.at,
        )
    except ValueError as reason:  # a name that is not a feature
        raise UsageError(str(reason)) from None
    return found


def _training(model: SupervisedTrees, options: ExplainOptions) -> tuple[NamedColumns | None, Array | None]:
    """Return the training table and its labels, or None for those not given."""
    if options.train is None:
        return None, None
    sheet = read_sheet([options.train], options)
    presenter = presenter_of(model)
    target = target_columns(presenter, options)
    prepare_for(model, sheet, target)
    labels = None
    if target:
        require_target(sheet, presenter, options)
        if options.skip_unlabelled:
            sheet = labelled_rows(sheet, target[0])
        labels = presenter.read_y(sheet, target, model)
    other = tuple(name for name in (options.id, *target) if name)
    return table_for(model, sheet, other, allow_missing=options.allow_missing_columns), labels


def _chosen_rows(options: ExplainOptions, sheet: Sheet) -> NDArray[np.int64]:
    """Return the row indices of --row."""
    names = [str(cell) for cell in sheet.cells(options.id).tolist()] if options.id else None
    return np.array([_one_row(row, names, sheet, options) for row in options.rows])


def _one_row(row: str, names: list[str] | None, sheet: Sheet, options: ExplainOptions) -> int:
    """Return the row index of a value of --row."""
    if names is not None:
        if row not in names:
            raise DataError(f"--row must be a value of column {options.id!r} ({listed(names, 5)}), got {row!r}.")
        if names.count(row) > 1:
            raise DataError(
                f"--row must identify one row, got {row!r}, which occurs {names.count(row):,} times in column"
                f" {options.id!r}. Use the number of the row without --id."
            )
        return names.index(row)
    if not row.isdecimal():
        raise UsageError(f"--row must be a number, got {row!r}. To use row names, add --id COLUMN.")
    if not 1 <= int(row) <= sheet.n_rows:
        raise DataError(f"--row must be from 1 to {sheet.n_rows:,}, got {row}.")
    return int(row) - 1


def _class_of(model: SupervisedTrees, text: str) -> str | int | float:
    """Return the class of --wanted."""
    known: list[str | int | float] = predictor_of(model).classes.tolist()
    for label in known:
        if str(label) == text:
            return label
    raise UsageError(f"--wanted must be one of the classes {listed(known) or 'of a classifier'}, got {text!r}.")


def _counted_from_one(explanation: AnyExplanation, row: int, names: list[object] | None) -> AnyExplanation:
    """Return an explanation with rows counted from 1."""
    name = None if names is None else str(names[row])
    if explanation.cases is None:
        return replace(explanation, row=row + 1, name=name)
    if isinstance(explanation, SurvivalExplanation):
        followed = [case._replace(row=case.row + 1) for case in explanation.cases]
        return replace(explanation, row=row + 1, name=name, cases=followed)
    return replace(
        explanation, row=row + 1, name=name, cases=[case._replace(row=case.row + 1) for case in explanation.cases]
    )
