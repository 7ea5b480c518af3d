"""Tables of costs and of metrics by group, for the terminal and for the page of a report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.explain.cases import number
from hedgerow.tasks.classification.evaluation import ClassificationEvaluation
from hedgerow.tasks.regression.evaluation import RegressionEvaluation

Groups = Mapping[str, Mapping[str, NDArray[np.bool_]]]

#: Figures that are shares of the rows, and those whose names are too long for the head of a column.
_SHARES = ("accuracy", "coverage", "left_open")
_HEADS = {
    "r2": "R²",
    "mean_absolute_error": "MAE",
    "root_mean_squared_error": "RMSE",
    "mean_interval_width": "mean width",
}
_LESS = ("R²", "MAE")
_COSTS = (
    "The mean over all rows, at the costs that were given: with the action of the lowest expected cost for each row;"
    " with the class of each set, and another look where several remain; with the most probable class; and with one"
    " action for all rows."
)
_FOLLOWED = {"cheapest_action": "cheapest action", "sets": "its sets", "labels": "its labels"}


class Lines(NamedTuple):
    """A table of text: its title, the heads of its columns, and its rows."""

    title: str
    heads: list[str]
    rows: list[list[str]]
    note: str = ""  # what the figures mean
    less: tuple[str, ...] = ()  # heads of columns for which a phone has no room
    left: int = 1  # columns that are aligned left


def figures_by(
    evaluated: ClassificationEvaluation | RegressionEvaluation, by: Groups
) -> dict[str, dict[str, dict[str, Any]]]:
    """A judgement and the rows of groups, by column and group -> their figures; groups without rows have none."""
    return {
        name: {group: evaluated.group(rows) for group, rows in groups.items() if rows.any()}
        for name, groups in by.items()
    }


def cost_lines(found: dict[str, float]) -> Lines:
    """What a row costs, by what one follows -> a table."""
    rows = [[_FOLLOWED.get(name, name), f"{value:.6g}"] for name, value in found.items()]
    return Lines("Cost of a row if one follows", ["", "cost"], rows, _COSTS)


def group_lines(name: str, groups: dict[str, dict[str, Any]]) -> Lines:
    """A column and the figures of its groups -> a table, a row for each group."""
    heads = list(next(iter(groups.values())))
    rows = [[group, *(_cell(head, found[head]) for head in heads)] for group, found in groups.items()]
    return Lines(f"By {name}", [name, *(_HEADS.get(head, head.replace("_", " ")) for head in heads)], rows, less=_LESS)


def _cell(head: str, value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{100 * value:.1f} %" if head in _SHARES else number(value)
