"""Printed tables, and the number of test rows that their decimals allow."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

PAPER: dict[str, Any] = json.loads(
    files("hedgerow.study.experiments.sutton_2012").joinpath("paper.json").read_text(encoding="utf-8")
)
MISPRINTS = {tuple(cell) for cell in PAPER["table_3"]["misprints"]}
#: Columns of the tables -> way to grow trees; U_λ of Table 1 is the IDM of Table 3 with two classes.
WAY_OF_COLUMN = {"CART": "CART", "U_λ": "IDM", "IDM": "IDM", "combination": "combination", "multi": "multi"}


@dataclass(frozen=True)
class Cell:
    """A printed error rate in percent."""

    table: int
    title: str
    column: str
    percent: float

    @property
    def data_set(self) -> str:
        """Name of the set in the registry."""
        return str(PAPER["sets"][self.title])

    @property
    def way(self) -> str:
        """Way to grow its trees."""
        return WAY_OF_COLUMN[self.column]

    @property
    def misprinted(self) -> bool:
        """Whether it repeats the row below."""
        return (self.title, self.column) in MISPRINTS


def printed(table: int) -> list[Cell]:
    """Return the cells of a table, row by row.

    Examples
    --------
    >>> printed(3)[0]
    Cell(table=3, title='Iris', column='CART', percent=4.1)
    """
    told = PAPER[f"table_{table}"]
    return [
        Cell(table, title, column, percent)
        for title, row in told["rows"].items()
        for column, percent in zip(told["columns"], row, strict=True)
    ]


def is_attainable(percent: float, n_rows: int) -> bool:
    """Test whether a number of errors among this many rows rounds to this percentage.

    Examples
    --------
    >>> is_attainable(4.1, 37), is_attainable(4.1, 4 * 37)
    (False, True)
    """
    nearest = round(percent * n_rows / 100)
    # half a unit of the last decimal may be rounded either way
    return any(abs(100 * errors / n_rows - percent) <= 0.05 + 1e-9 for errors in (nearest - 1, nearest, nearest + 1))
