"""Files of costs: a row for each true class, a column for each action."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.cli.exit_codes import DataError
from hedgerow.cli.files.sheet import Array, Sheet
from hedgerow.cli.files.source import read_sheet
from hedgerow.cli.files.values import POINT, Notation, known_places
from hedgerow.cli.options import ReadOptions
from hedgerow.inference.predictor import predictor_of
from hedgerow.tasks.classification.costs import Costs
from hedgerow.util.text import listed


def costs_for(model: Any, path: str | None, reading: ReadOptions) -> Costs | None:
    """Read the file of --costs; None if it was not given."""
    return None if path is None else read_costs(path, predictor_of(model).classes, reading)


def read_costs(path: str, classes: Array, reading: ReadOptions) -> Costs:
    """A file whose first column names the classes and whose other columns are actions -> costs."""
    sheet = read_sheet(
        [path], ReadOptions(decimal=reading.decimal, thousands=reading.thousands, encoding=reading.encoding)
    )
    truth, *actions = sheet.names
    named = [str(cell) for cell in sheet.cells(truth).tolist()]
    places = known_places([str(label) for label in classes.tolist()], np.array(named, dtype=object), exact=False)
    lacking = [label for label, place in zip(classes.tolist(), places, strict=True) if place < 0]
    if lacking or not actions or len(set(named)) != len(named):
        got = f"none for {listed(lacking)}" if lacking else "no column of costs" if not actions else "a class twice"
        raise DataError(
            f"--costs must have a row for each class ({listed(classes.tolist())}) and a column for each action, got"
            f" {got}"
        )
    table = np.column_stack([_costs_in(sheet, action, reading) for action in actions])[places]
    names = np.array(actions, dtype=object)
    return Costs(
        tuple(actions),
        np.asarray(table, dtype=np.float64),
        np.array(known_places([str(label) for label in classes.tolist()], names, exact=False), dtype=np.int64),
    )


def _costs_in(sheet: Sheet, action: str, reading: ReadOptions) -> NDArray[np.float64]:
    """A column of the file -> numbers (K,), in the notation of the table or, as such files are small, with a point."""
    notation = Notation(reading.decimal, reading.thousands)
    found = []
    for cell in sheet.cells(action).tolist():
        number = notation.number(str(cell))
        number = POINT.number(str(cell)) if number is None else number
        if number is None or not np.isfinite(number):
            raise DataError(f"--costs must hold numbers, got {cell!r} in column {action!r}; correct it")
        found.append(number)
    return np.array(found)
