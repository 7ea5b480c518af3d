"""Tables of costs and of metrics by group, for the terminal and for reports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow.explain.cases import number

Groups = Mapping[str, Mapping[str, NDArray[np.bool_]]]

#: Metrics that are shares of the rows, and short names for column headers.
_SHARES = ("accuracy", "coverage", "undecided")
_HEADS = {
    "r2": "R²",
    "mean_absolute_error": "MAE",
    "root_mean_squared_error": "RMSE",
    "mean_interval_width": "mean width",
}
_LESS = ("R²", "MAE")
_COSTS = (
    "Mean over all rows at the given costs: of the action with the lowest expected cost per row; of the prediction"
    " sets, with another look at undecided rows; of the most probable classes; and of one action for all rows."
)
_FOLLOWED = {"cheapest_action": "cheapest action", "sets": "prediction sets", "labels": "labels"}


class HasGroups(Protocol):
    """Evaluation with metrics of groups of rows."""

    def group(self, rows: NDArray[np.bool_]) -> dict[str, Any]:
        """Return the metrics of some rows (n,)."""


class Lines(NamedTuple):
    """A table of text: title, column headers and rows."""

    title: str
    heads: list[str]
    rows: list[list[str]]
    note: str = ""  # meaning of the numbers
    less: tuple[str, ...] = ()  # headers of columns hidden on narrow screens
    left: int = 1  # columns that are aligned left


def figures_by(evaluated: HasGroups, by: Groups) -> dict[str, dict[str, dict[str, float | None]]]:
    """Compute the metrics of groups, by column and group.

    Groups without rows are left out.
    """
    return {
        name: {group: evaluated.group(rows) for group, rows in groups.items() if rows.any()}
        for name, groups in by.items()
    }


def cost_lines(found: dict[str, float]) -> Lines:
    """Format the mean cost of each policy."""
    rows = [[_FOLLOWED.get(name, name), f"{value:.6g}"] for name, value in found.items()]
    return Lines("Cost per row", ["policy", "cost"], rows, _COSTS)


def group_lines(name: str, groups: dict[str, dict[str, float | None]]) -> Lines:
    """Format the metrics of the groups of a column, one row per group."""
    heads = list(next(iter(groups.values())))
    rows = [[group, *(_cell(head, found[head]) for head in heads)] for group, found in groups.items()]
    return Lines(f"By {name}", [name, *(_HEADS.get(head, head.replace("_", " ")) for head in heads)], rows, less=_LESS)


def _cell(head: str, value: float | None) -> str:
    if value is None:
        return "–"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.1%}" if head in _SHARES else number(value)
