"""Costs: a file (rows: what is true, columns: what is done) -> costs; answers -> answers with the cheapest action."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from hedgerow.cli.console import listed
from hedgerow.cli.exit_codes import DataError
from hedgerow.cli.files.sheet import Array, Sheet
from hedgerow.cli.files.source import read_sheet
from hedgerow.cli.files.values import POINT, Notation, known_places
from hedgerow.cli.options import Reading
from hedgerow.inference.columns import Columns, Floats
from hedgerow.tasks.classification.costs import Costs


def read_costs(path: str, classes: Array, reading: Reading) -> Costs:
    """A file whose first column names the classes and whose other columns are actions -> costs."""
    sheet = read_sheet([path], Reading(decimal=reading.decimal, thousands=reading.thousands, encoding=reading.encoding))
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


def _costs_in(sheet: Sheet, action: str, reading: Reading) -> Floats:
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


@dataclass(frozen=True)
class WithActions:
    """Answers with the cheapest action in front and its expected cost at the end."""

    answers: Columns
    action: list[str]  # (n,)
    cost: Floats  # (n,)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns, in the order they are written."""
        return ("action", *self.answers.names, "expected_cost")

    @property
    def json_names(self) -> tuple[str, ...]:
        """The keys of a row in JSON."""
        return ("action", *self.answers.json_names, "expected_cost")

    @property
    def n_undecided(self) -> int:
        """How many sets hold several classes."""
        return self.answers.n_undecided

    def texts(self) -> list[list[Any]]:
        """Columns before the numbers, for CSV."""
        return [self.action, *self.answers.texts()]

    def typed(self) -> list[list[Any]]:
        """The same for Parquet."""
        return [self.action, *self.answers.typed()]

    def numbers(self) -> list[Floats]:
        """The columns after them."""
        return [*self.answers.numbers(), self.cost]

    def objects(self) -> Iterator[dict[str, Any]]:
        """Row by row, for JSON."""
        for row, said in enumerate(self.answers.objects()):
            yield {"action": self.action[row], **said, "expected_cost": float(self.cost[row])}


def with_actions(answers: Columns, opinion: Any, costs: Costs) -> WithActions:
    """Answers, the opinion they come from, and costs -> answers with actions."""
    best = costs.cheapest(opinion.probability)
    expected = opinion.probability @ costs.table
    return WithActions(answers, [costs.actions[each] for each in best], expected[np.arange(len(best)), best])
