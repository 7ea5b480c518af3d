"""Predictions with the action of the lowest expected cost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.belief.opinion import Opinion
from hedgerow.inference.columns import Columns
from hedgerow.tasks.classification.costs import Costs

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ActionColumns:
    """Predictions with the cheapest action in front and its expected cost at the end."""

    columns: Columns
    action: list[str]  # (n,)
    cost: Floats  # (n,)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, in the order they are written."""
        return ("action", *self.columns.names, "expected_cost")

    @property
    def json_names(self) -> tuple[str, ...]:
        """Keys of a row in JSON."""
        return ("action", *self.columns.json_names, "expected_cost")

    @property
    def n_undecided(self) -> int:
        """Number of sets with more than one class."""
        return self.columns.n_undecided

    def texts(self) -> list[list[Any]]:
        """Return the columns before the numbers, as text for CSV."""
        return [self.action, *self.columns.texts()]

    def typed(self) -> list[list[Any]]:
        """Return the columns before the numbers, for Parquet."""
        return [self.action, *self.columns.typed()]

    def numbers(self) -> list[Floats]:
        """Return the numeric columns."""
        return [*self.columns.numbers(), self.cost]

    def objects(self) -> Iterator[dict[str, Any]]:
        """Yield the rows as objects for JSON."""
        for row, predicted in enumerate(self.columns.objects()):
            yield {"action": self.action[row], **predicted, "expected_cost": float(self.cost[row])}


def with_actions(columns: Columns, opinion: Opinion, costs: Costs) -> ActionColumns:
    """Add the cheapest action of each row, given the opinion that the predictions come from."""
    best = costs.cheapest(opinion.probability)
    expected = opinion.probability @ costs.table
    return ActionColumns(columns, [costs.actions[each] for each in best], expected[np.arange(len(best)), best])
