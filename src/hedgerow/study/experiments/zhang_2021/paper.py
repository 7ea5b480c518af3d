"""Printed cells, and the means of one variant of the protocol compared with them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.study.experiments.frame import Results
from hedgerow.study.experiments.zhang_2021.protocol import CAUTIONS, REPETITIONS

PAPER: dict[str, Any] = json.loads(
    files("hedgerow.study.experiments.zhang_2021").joinpath("paper.json").read_text(encoding="utf-8")
)
TITLES: tuple[str, ...] = tuple(PAPER["sets"])
COLUMNS: tuple[str, ...] = tuple(PAPER["columns"])
Floats = NDArray[np.float64]
GOAL = 0.4  # points of u65
BASELINE = COLUMNS.index("baseline")


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


@dataclass(frozen=True)
class Ours:
    """u65 in percent of one variant (sets, cautions, rules), NaN if unavailable."""

    name: str
    repetitions: int
    mean: Floats
    error: Floats  # standard error of the difference to the paper, if the paper's repetitions scatter as ours do
    scores: tuple[Floats | None, ...]  # (repetitions, cautions, rules) for each set

    @property
    def gap(self) -> Floats:
        """Our value minus the printed one."""
        return self.mean - printed()

    @property
    def within(self) -> int:
        """Number of cells within the goal."""
        return int((np.abs(self.gap) <= GOAL).sum())

    @property
    def cells(self) -> int:
        """Number of cells of the available sets."""
        return int(np.isfinite(self.gap).sum())

    @property
    def deviation(self) -> float:
        """Mean absolute difference to the paper."""
        return float(np.nanmean(np.abs(self.gap)))


def paired_change(usual: Ours, other: Ours) -> tuple[Floats, Floats]:
    """Return mean paired differences in points over common repetitions (sets, cautions, rules), and their errors."""
    means, errors = np.full_like(usual.mean, np.nan), np.full_like(usual.mean, np.nan)
    for number, (ours, theirs) in enumerate(zip(usual.scores, other.scores, strict=True)):
        if ours is None or theirs is None or (both := min(len(ours), len(theirs))) < 2:
            continue
        paired = theirs[:both] - ours[:both]
        means[number], errors[number] = paired.mean(axis=0), paired.std(axis=0, ddof=1) / np.sqrt(both)
    return means, errors


def collect_decided(results: Results, name: str) -> Ours:
    """Return the results of another decision, saved with those of the usual one."""
    both = [(arguments, result["decided"]) for arguments, result in results.of(kind="tables") if "decided" in result]
    other = tuple((arguments, {"u65": decided[name]}) for arguments, decided in both)
    return collect(Results(other, results.absent, results.quick), name)


def collect(results: Results, name: str, **wanted: Any) -> Ours:
    """Return means, errors and scores of one variant."""
    scores: list[Floats | None] = []
    for data_set in PAPER["sets"].values():
        found = [np.array(result["u65"]) for _, result in results.of(set=data_set, **wanted)]
        scores.append(100 * np.concatenate(found) if found else None)
    shape = (len(CAUTIONS), len(COLUMNS))
    mean = np.array([np.full(shape, np.nan) if one is None else one.mean(axis=0) for one in scores])
    error = np.array([_error(one) for one in scores])
    return Ours(name, max((len(one) for one in scores if one is not None), default=0), mean, error, tuple(scores))


def _error(scores: Floats | None) -> Floats:
    """Return the standard error of the difference of our mean and the paper's."""
    if scores is None or len(scores) < 2:
        return np.full((len(CAUTIONS), len(COLUMNS)), np.nan)
    error: Floats = scores.std(axis=0, ddof=1) * np.sqrt(1 / len(scores) + 1 / REPETITIONS)
    return error
