"""Survival targets: times and events of training rows, and their cells.

The grid has the distinct event times of the training rows, at most `MOST_TIMES` of them. A row belongs to a cell: twice
the index of its grid time, plus one if its event was observed. Index 0 is the time before the first event. An event
between two grid times counts at the later one, a censoring at the earlier one, so rows never stay at risk too long.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.forest.target import ReadTarget, TargetInfo, read_weights
from hedgerow.metrics.survival import read_survival
from hedgerow.tasks.classification.target import ClassificationTarget, ClassLabels, make_labels

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

#: Largest number of grid times.
MOST_TIMES = 255


@dataclass(frozen=True, eq=False)
class SurvivalInfo(TargetInfo):
    """Grid of event times of a fitted model.

    Parameters
    ----------
    times : (J,) float64
        Event times, in ascending order.
    """

    times: Floats

    @classmethod
    def of(cls, times: Floats) -> SurvivalInfo:
        """Return the info for a grid; leaves count two cells per time, and two before."""
        return cls(np.arange(2 * len(times) + 2), times)

    def joined(self, other: Any, class_rows: Floats) -> SurvivalInfo:
        """Return the common grid of two forests; raise if they differ."""
        if not np.array_equal(self.times, other.times):
            raise ValueError("merging requires forests with the same event times. Fit them on the same rows.")
        return self


@dataclass(frozen=True, eq=False)
class SurvivalTarget(ClassificationTarget):
    """Times and events of n training rows, with their cells as classes.

    Parameters
    ----------
    info : SurvivalInfo
        The grid.
    times, events : (n,) float64, (n,) bool
        As given.
    """

    info: SurvivalInfo = None  # type: ignore[assignment]
    times: Floats = None  # type: ignore[assignment]
    events: Bools = None  # type: ignore[assignment]

    def take(self, rows: NDArray[Any]) -> SurvivalTarget:
        """Return the target of some rows, in the order given."""
        taken = super().take(rows)
        return replace(self, core=taken.core, weights=taken.weights, times=self.times[rows], events=self.events[rows])

    def concat(self, more: Any) -> SurvivalTarget:
        """Return the target of these rows and later rows."""
        both = super().concat(more)
        return replace(
            self,
            core=_cells(both.core),
            weights=both.weights,
            times=np.concatenate([self.times, more.times]),
            events=np.concatenate([self.events, more.events]),
        )

    def losses(self, answer: Floats, rows: NDArray[Any]) -> Floats:
        """Return the negative log-likelihood of cells under curves (m, J + 1), (m,)."""
        cells = self.labels[rows].astype(np.intp)
        number, at = cells // 2, np.arange(len(rows))
        alive = answer[at, number]
        chance = np.where(cells % 2 == 1, answer[at, np.maximum(number - 1, 0)] - alive, alive)
        return np.asarray(-np.log(np.maximum(chance, 1e-3)))

    def standard_error(self, error: float, losses: Floats, n_rows: int) -> float:
        """Return the standard error of the mean loss."""
        return float(losses.std() / np.sqrt(max(1, n_rows)))


class SurvivalCells(ClassLabels):
    """Cells of training rows, as the core takes them."""

    def fields(self, criterion: Any) -> dict[str, Any]:
        """Return the cells, and the name of the criterion."""
        return super().fields(criterion) | {"kind": "survival"}


def read_survival_target(y: Any, sample_weight: Any, n_rows: int, known: SurvivalInfo | None = None) -> ReadTarget:
    """Read times, events and weights of rows with positive weight, on a known grid."""
    times, events = read_survival(y, n_rows)
    weights, kept = read_weights(sample_weight, n_rows), None
    if weights is not None and (weights == 0).any():
        kept = np.flatnonzero(weights).astype(np.uint32)
        times, events, weights = times[kept], events[kept], weights[kept]
    info = SurvivalInfo.of(_grid(times[events])) if known is None else known
    earlier = np.searchsorted(info.times, times, side="right")
    later = np.minimum(np.searchsorted(info.times, times, side="left") + 1, len(info.times))
    cells = 2 * np.where(events, later, earlier) + events
    core = _cells(make_labels(cells, len(info.names), weights))
    return ReadTarget(SurvivalTarget(info.names, core, weights, info=info, times=times, events=events), kept)


def _grid(times: Floats) -> Floats:
    """Return all distinct event times, or quantiles if there are too many."""
    distinct = np.unique(times)
    if len(distinct) <= MOST_TIMES:
        return distinct
    return np.unique(np.quantile(times, np.arange(1, MOST_TIMES + 1) / MOST_TIMES, method="inverted_cdf"))


def _cells(labels: ClassLabels) -> SurvivalCells:
    """Return class labels as cells."""
    return SurvivalCells(labels.numbers, labels.weights, labels.weight_unit, labels.n_classes)
