"""Groups of rows, cost tables, and overlap of a table with the training rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.cli.console import note, warn, warn_if
from hedgerow.cli.exit_codes import DataError
from hedgerow.cli.files.sheet import Array, Sheet
from hedgerow.cli.files.source import read_sheet
from hedgerow.cli.files.values import POINT, NumberFormat, known_places
from hedgerow.cli.files.views import SomeRows
from hedgerow.cli.options import EvaluateOptions, MonitorOptions, ReadOptions
from hedgerow.inference.fitted import fitted_of
from hedgerow.inference.leakage import training_overlap
from hedgerow.inference.notices import novelty_notice, overlap_notice
from hedgerow.inference.predictor import predictor_of
from hedgerow.table import Factors, NamedColumns
from hedgerow.table.groups import BLOCK_ROWS, MOST_GROUPS, group_rows
from hedgerow.tasks.classification.costs import Costs
from hedgerow.util.runtime import one_of_each
from hedgerow.util.text import listed, number_of

if TYPE_CHECKING:
    from hedgerow.estimators.supervised import SupervisedTrees

#: Number of rows whose novelty is examined in an evaluation.
SAMPLED_ROWS = 500


def groups_of(sheet: Sheet, name: str) -> dict[str, NDArray[np.bool_]]:
    """Return the rows (n,) of each group of a column, by the name of the group."""
    held = sheet.held(name)
    many = not isinstance(held, Factors) and len(np.unique(held[~sheet.is_missing(name)])) > MOST_GROUPS
    try:
        return group_rows(name, sheet.numbers(name) if many else sheet.factors(name), dates=name in sheet.dates)
    except ValueError as reason:
        raise DataError(f"--{reason}") from None


def group_numbers(sheet: Sheet, name: str) -> NDArray[np.integer[Any]]:
    """Return the group numbers (n,) of the column of --groups."""
    sheet.require(name, "--groups")
    numbers = sheet.factors(name).codes
    if (numbers < 0).any():
        empty = number_of(int((numbers < 0).sum()), "row")
        raise DataError(f"--groups {name!r} has no value in {empty}.")
    return numbers


def has_groups(model: SupervisedTrees) -> bool:
    """Return whether a model was fitted with groups of rows."""
    return any(origin.n_groups for origin in fitted_of(model).origins)


def remind_of_groups(model: SupervisedTrees, options: EvaluateOptions | MonitorOptions) -> None:
    """Print a note if a model was fitted with groups, and --groups is not given."""
    if options.groups is None and has_groups(model):
        note(
            f"note: {options.model} was fitted with groups of rows. If rows of {options.data[0]} belong together too,"
            " pass --groups COLUMN."
        )


def one_row_of_each(sheet: Sheet, name: str | None) -> Sheet:
    """Return a random row of each group, because rows of a group are dependent."""
    if name is None:
        return sheet
    numbers = group_numbers(sheet, name)
    chosen = np.zeros(len(numbers), dtype=bool)
    chosen[one_of_each(numbers)] = True
    if not chosen.all():
        note(f"note: Using one random row of each of {number_of(int(chosen.sum()), 'group')}.")
    return SomeRows(sheet, chosen)


def rows_of_fit(model: SupervisedTrees, table: NamedColumns) -> float | None:
    """Warn if a table has many training rows; return their share, or None."""
    predictor, n_rows = predictor_of(model), table.shape[0]
    parts = (slice(first, first + BLOCK_ROWS) for first in range(0, n_rows, BLOCK_ROWS))
    found = training_overlap(predictor.fitted, (predictor.read(table.some(part)).codes for part in parts))
    if found is None:
        return None
    warn(f"{overlap_notice(found)} Evaluate other rows, or fit with --folds 5 or --test-split 0.2.")
    return found.share


def tell_novelty(model: SupervisedTrees, table: NamedColumns) -> None:
    """Warn if many rows of a table are novel, judged by a spread sample of them."""
    n_rows = table.shape[0]
    batch = predictor_of(model).read(table.some(slice(None, None, max(1, n_rows // SAMPLED_ROWS))))
    if batch.novelty is not None:
        warn_if(novelty_notice(batch.novelty.p_value))


def costs_for(model: SupervisedTrees, path: str | None, reading: ReadOptions) -> Costs | None:
    """Read the table of --costs; None without the option."""
    return None if path is None else read_costs(path, predictor_of(model).classes, reading)


def read_costs(path: str, classes: Array, reading: ReadOptions) -> Costs:
    """Read costs: classes in the first column, an action in each other column."""
    plain = ReadOptions(decimal=reading.decimal, thousands=reading.thousands, encoding=reading.encoding)
    sheet = read_sheet([path], plain)
    truth, *actions = sheet.names
    named = [str(cell) for cell in sheet.cells(truth).tolist()]
    places = known_places([str(label) for label in classes.tolist()], np.array(named, dtype=object), exact=False)
    lacking = [label for label, place in zip(classes.tolist(), places, strict=True) if place < 0]
    if lacking or not actions or len(set(named)) != len(named):
        got = (
            f"no row for {listed(lacking)}" if lacking else "no column of costs" if not actions else "a repeated class"
        )
        raise DataError(
            f"--costs must have a row for each class ({listed(classes.tolist())}) and a column for each action, got"
            f" {got}."
        )
    table = np.column_stack([_costs_in(sheet, action, reading) for action in actions])[places]
    names = np.array(actions, dtype=object)
    return Costs(
        tuple(actions),
        np.asarray(table, dtype=np.float64),
        np.array(known_places([str(label) for label in classes.tolist()], names, exact=False), dtype=np.int64),
    )


def _costs_in(sheet: Sheet, action: str, reading: ReadOptions) -> NDArray[np.float64]:
    """Return a column as numbers (K,), in the notation of the options or with points."""
    notation = NumberFormat(*reading.marks)
    found = []
    for cell in sheet.cells(action).tolist():
        number = notation.number(str(cell))
        number = POINT.number(str(cell)) if number is None else number
        if number is None or not np.isfinite(number):
            raise DataError(f"--costs must be numeric, got {cell!r} in column {action!r}.")
        found.append(number)
    return np.array(found)
