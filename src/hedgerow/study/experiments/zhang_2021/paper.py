"""Printed tables: numbers and stars."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

PAPER: dict[str, Any] = json.loads(
    files("hedgerow.study.experiments.zhang_2021").joinpath("paper.json").read_text(encoding="utf-8")
)
TITLES: tuple[str, ...] = tuple(PAPER["sets"])
COLUMNS: tuple[str, ...] = tuple(PAPER["columns"])


def printed() -> NDArray[np.float64]:
    """Return u65 in percent as printed (sets, cautions, rules).

    Examples
    --------
    >>> printed().shape
    (8, 3, 4)
    """
    return np.array([[[float(cell.rstrip("*")) for cell in row] for row in rows] for rows in _cells()])


def printed_stars() -> NDArray[np.str_]:
    """Return the stars of each row (sets, cautions), in any cell."""
    return np.array([["".join(cell.lstrip("0123456789.") for cell in row) for row in rows] for rows in _cells()])


def _cells() -> list[list[list[str]]]:
    """Printed cells by set, table and column."""
    return [[table["rows"][title] for table in PAPER["tables"].values()] for title in TITLES]
