"""Survival targets: times, causes and entries of training rows, and their cells.

The grid has the distinct event times of the training rows, at most `MOST_TIMES` of them. Index 0 is the time before the
first event. An event between two grid times counts at the later one, a censoring at the earlier one, so rows never stay
at risk too long. A row belongs to a cell, (entry · (J + 1) + time) · (C + 1) + cause, with cause 0 for censored rows.
Without late entry, entry is 0; with one cause, a cell is twice the index of its time, plus one for an event.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.forest.target import ReadTarget, TargetInfo, read_weights
from hedgerow.metrics.survival import SurvivalRows, kaplan_meier_at, read_rows
from hedgerow.tasks.classification.target import ClassificationTarget, ClassLabels, make_labels

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

#: Largest number of grid times, also with late entry, and of grid times at which rows enter.
MOST_TIMES, MOST_TIMES_WITH_ENTRY, MOST_ENTRIES = 255, 127, 64
#: Fewest rows at risk at an event in the first half of the grid that need no warning, if rows enter late.
FEW_AT_RISK = 5
#: Largest number of cells.
MOST_CELLS = 65_535


class Cells(NamedTuple):
    """Grid indices of entries and times, and causes, of cells (K,).

    Rows are at risk after their entry, up to their time.
    """

    entry: NDArray[np.intp]
    time: NDArray[np.intp]
    cause: NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class SurvivalInfo(TargetInfo):
    """Grid of event times of a fitted model, causes and entries.

    Parameters
    ----------
    times : (J,) float64
        Event times, in ascending order.
    n_causes : int
        Number of competing causes C; 1 without competing risks.
    entries : (A,) uint16
        Indices of the grid times at which rows may enter, ascending from 0; (1,) without late entry.
    """

    times: Floats
    n_causes: int = 1
    entries: NDArray[np.uint16] = field(default_factory=lambda: np.zeros(1, dtype=np.uint16))

    @classmethod
    def of(cls, times: Floats, n_causes: int = 1, entries: NDArray[np.uint16] | None = None) -> SurvivalInfo:
        """Return the info for a grid."""
        levels = np.zeros(1, dtype=np.uint16) if entries is None else entries
        return cls(np.arange(len(levels) * (len(times) + 1) * (n_causes + 1)), times, n_causes, levels)

    @property
    def layout(self) -> tuple[int, int, NDArray[np.uint16]]:
        """Numbers of times and causes, and entries, as the core takes them."""
        return len(self.times) + 1, self.n_causes, self.entries

    @property
    def has_entries(self) -> bool:
        """Whether rows may enter late."""
        return len(self.entries) > 1

    @cached_property
    def cells(self) -> Cells:
        """Meaning of all cells; entries are rounded, but a row is always at risk at its own event."""
        rest, cause = np.divmod(self.names, self.n_causes + 1)
        level, time = np.divmod(rest, len(self.times) + 1)
        latest = np.where((cause > 0) & (time > 0), time - 1, time)
        return Cells(np.minimum(self.entries[level].astype(np.intp), latest), time, cause)

    def cells_of(self, rows: SurvivalRows) -> NDArray[np.intp]:
        """Return the cells of rows, (n,); raise for causes and entries that are unknown."""
        if rows.causes.max(initial=0) > self.n_causes:
            raise ValueError(f"events must have causes up to {self.n_causes}, as in fit, got {rows.causes.max()}.")
        if rows.entries is not None and not self.has_entries:
            raise ValueError("entry requires a model that was fitted with entry. Refit on all rows.")
        earlier = np.searchsorted(self.times, rows.times, side="right")
        later = np.minimum(np.searchsorted(self.times, rows.times, side="left") + 1, len(self.times))
        time = np.where(rows.events, later, earlier)
        level = np.zeros(len(time), dtype=np.intp)
        if rows.entries is not None:
            level = np.searchsorted(self.entries, np.searchsorted(self.times, rows.entries, side="right"), side="left")
        return (level * (len(self.times) + 1) + time) * (self.n_causes + 1) + rows.causes

    def joined(self, other: Any, class_rows: Floats) -> SurvivalInfo:
        """Return the common grid of two forests; raise if they differ."""
        same = np.array_equal(self.times, other.times) and np.array_equal(self.entries, other.entries)
        if not same or self.n_causes != other.n_causes:
            raise ValueError("merging requires forests with the same event times. Fit them on the same rows.")
        return self


@dataclass(frozen=True, eq=False)
class SurvivalTarget(ClassificationTarget):
    """Times and events of n training rows, with their cells as classes.

    Parameters
    ----------
    info : SurvivalInfo
        The grid.
    given : SurvivalRows
        Times, causes and entries as given.
    """

    info: SurvivalInfo = None  # type: ignore[assignment]
    given: SurvivalRows = None  # type: ignore[assignment]

    @property
    def times(self) -> Floats:
        """Times as given, (n,)."""
        return self.given.times

    @property
    def events(self) -> Bools:
        """Whether an event was observed, (n,)."""
        return self.given.events

    def take(self, rows: NDArray[Any]) -> SurvivalTarget:
        """Return the target of some rows, in the order given."""
        taken = super().take(rows)
        return replace(self, core=_cells(taken.core, self.info), weights=taken.weights, given=_some(self.given, rows))

    def concat(self, more: Any) -> SurvivalTarget:
        """Return the target of these rows and later rows."""
        both = super().concat(more)
        return replace(
            self, core=_cells(both.core, self.info), weights=both.weights, given=_joined(self.given, more.given)
        )

    def losses(self, answer: Floats, rows: NDArray[Any]) -> Floats:
        """Return the negative log-likelihood of cells under curves (m, J + 1), given their entries, (m,)."""
        entry, number, cause = (each[self.labels[rows]] for each in self.info.cells)
        at = np.arange(len(rows))
        alive = answer[at, number]
        chance = np.where(cause > 0, answer[at, np.maximum(number - 1, 0)] - alive, alive)
        return np.asarray(-np.log(np.maximum(chance / np.maximum(answer[at, entry], 1e-3), 1e-3)))

    def standard_error(self, error: float, losses: Floats, n_rows: int) -> float:
        """Return the standard error of the mean loss."""
        return float(losses.std() / np.sqrt(max(1, n_rows)))


@dataclass(frozen=True, eq=False)
class SurvivalCells(ClassLabels):
    """Cells of training rows, as the core takes them."""

    info: SurvivalInfo = None  # type: ignore[assignment]

    def fields(self, criterion: Any) -> dict[str, Any]:
        """Return the cells, their layout, and the name of the criterion."""
        n_times, n_causes, entries = self.info.layout
        layout = {"n_times": n_times, "n_causes": n_causes, "entries": entries}
        return super().fields(criterion) | {"kind": "survival"} | layout


def read_survival_target(y: Any, sample_weight: Any, n_rows: int, known: SurvivalInfo | None = None) -> ReadTarget:
    """Read times, causes, entries and weights of rows with positive weight, on a known grid."""
    rows = read_rows(y, n_rows)
    weights, kept = read_weights(sample_weight, n_rows), None
    if weights is not None and (weights == 0).any():
        kept = np.flatnonzero(weights).astype(np.uint32)
        rows, weights = _some(rows, kept), weights[kept]
    info = _info_of(rows) if known is None else known
    core = _cells(make_labels(info.cells_of(rows), len(info.names), weights), info)
    return ReadTarget(SurvivalTarget(info.names, core, weights, info=info, given=rows), kept)


def _info_of(rows: SurvivalRows) -> SurvivalInfo:
    """Return the grid of some rows: all distinct event times, or quantiles if there are too many."""
    n_causes = int(rows.causes.max())
    if rows.entries is None:
        return SurvivalInfo.of(_grid(rows.times[rows.events], MOST_TIMES), n_causes)
    times = _grid_with_entries(rows)
    most = min(MOST_ENTRIES, MOST_CELLS // ((len(times) + 1) * (n_causes + 1)))
    entered = np.searchsorted(times, rows.entries, side="right")
    inner = _grid(entered[(entered > 0) & (entered < len(times))], most - 2)
    levels = np.concatenate([[0], inner, [len(times)]]).astype(np.uint16)
    return SurvivalInfo.of(times, n_causes, levels)


def _grid(values: NDArray[Any], most: int) -> NDArray[Any]:
    """Return all distinct values, or quantiles if there are too many."""
    distinct = np.unique(values)
    if len(distinct) <= most:
        return distinct
    return np.unique(np.quantile(values, np.arange(1, most + 1) / most, method="inverted_cdf"))


def _grid_with_entries(rows: SurvivalRows) -> Floats:
    """Return the grid for rows that enter late: if events are many, quantiles of them and of the Kaplan–Meier estimate.

    Early events are rare, because few rows are at risk, but they are as important as later ones. A row that enters
    between two grid times counts as at risk at the later one, so intervals must be short where rows enter.
    """
    times, events, entries = rows.times, rows.events, rows.entries
    assert entries is not None
    distinct = np.unique(times[events])
    at_risk = np.searchsorted(np.sort(entries), distinct) - np.searchsorted(np.sort(times), distinct)
    if at_risk[: len(distinct) // 2].min(initial=FEW_AT_RISK) < FEW_AT_RISK:
        warnings.warn(
            f"Fewer than {FEW_AT_RISK} rows are at risk at the event at time {distinct[at_risk < FEW_AT_RISK][0]:g}, so"
            " curves can fall to zero there. Leave out events before enough rows have entered.",
            UserWarning,
            stacklevel=2,
        )
    if len(distinct) <= MOST_TIMES_WITH_ENTRY:
        return distinct
    most = 3 * MOST_TIMES_WITH_ENTRY // 4
    dead = 1 - kaplan_meier_at(times, events, distinct, entries=entries)
    by_mass = distinct[np.unique(np.searchsorted(dead, dead[-1] * np.arange(1, most + 1) / most - 1e-12))]
    return np.union1d(_grid(times[events], MOST_TIMES_WITH_ENTRY - len(by_mass)), by_mass)


def _cells(labels: ClassLabels, info: SurvivalInfo) -> SurvivalCells:
    """Return class labels as cells."""
    return SurvivalCells(labels.numbers, labels.weights, labels.weight_unit, labels.n_classes, info=info)


def _some(rows: SurvivalRows, which: NDArray[Any]) -> SurvivalRows:
    """Return some rows."""
    entries = None if rows.entries is None else rows.entries[which]
    return SurvivalRows(rows.times[which], rows.causes[which], entries)


def _joined(first: SurvivalRows, second: SurvivalRows) -> SurvivalRows:
    """Return rows followed by others."""
    entries = None
    if first.entries is not None or second.entries is not None:
        both = (np.zeros(len(each.times)) if each.entries is None else each.entries for each in (first, second))
        entries = np.concatenate(list(both))
    return SurvivalRows(
        np.concatenate([first.times, second.times]), np.concatenate([first.causes, second.causes]), entries
    )
