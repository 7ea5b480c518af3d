"""Metrics of survival curves on rows with known times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.metrics.survival import concordant_pairs, d_calibration, integrated_brier, kaplan_meier_at

Floats = NDArray[np.float64]

#: The integrated Brier score ends where this share of the rows is gone.
LAST_SHARE = 0.8
#: Number of groups of equal size by risk, and quantiles of the event times at which they are compared.
N_GROUPS, HORIZONS = 3, (0.25, 0.5, 0.75)


@dataclass(frozen=True)
class SurvivalTally:
    """Rows, events and pairs of rows, which add up over parts of a table.

    Pairs are counted within each part.
    """

    rows: int
    events: int
    concordant: float
    comparable: float

    def __add__(self, other: SurvivalTally) -> SurvivalTally:
        """Add the tally of another part."""
        return SurvivalTally(
            self.rows + other.rows,
            self.events + other.events,
            self.concordant + other.concordant,
            self.comparable + other.comparable,
        )

    def figures(self) -> dict[str, Any]:
        """Return the number of rows and events, and Harrell's concordance index; None without comparable pairs."""
        score = self.concordant / self.comparable if self.comparable else None
        return {"rows": self.rows, "events": self.events, "concordance": score}


class GroupCalibration(NamedTuple):
    """Mean predicted survival of a group by risk at a time, and its Kaplan–Meier estimate."""

    time: float
    group: int
    predicted: float
    observed: float


@dataclass(frozen=True, eq=False)
class SurvivalEvaluation:
    """Times, events and risks of n rows, and their curves (n, J + 1) on the grid (J,) of a model."""

    times: Floats
    events: NDArray[np.bool_]
    risk: Floats
    grid: Floats
    curves: Floats

    @property
    def tally(self) -> SurvivalTally:
        """Counts of rows and pairs."""
        concordant, comparable = concordant_pairs((self.times, self.events), self.risk)
        return SurvivalTally(len(self.risk), int(self.events.sum()), concordant, comparable)

    def group(self, rows: NDArray[np.bool_]) -> dict[str, Any]:
        """Return the metrics of some rows (n,)."""
        if not self.events[rows].any():
            return SurvivalTally(int(rows.sum()), 0, 0.0, 0.0).figures()
        some = (self.times[rows], self.events[rows], self.risk[rows], self.grid, self.curves[rows])
        return SurvivalEvaluation(*some).tally.figures()

    def scores(self) -> dict[str, float]:
        """Return integrated Brier scores, also of Kaplan–Meier on these rows, and the p-value of D-calibration."""
        y, last = (self.times, self.events), np.quantile(self.times, LAST_SHARE)
        columns = np.flatnonzero(self.grid < last)
        own = self.curves[np.arange(len(self.times)), np.searchsorted(self.grid, self.times, side="right")]
        found = {"d_calibration_p": d_calibration(y, np.clip(own, 0.0, 1.0)).p_value}
        if len(columns) < 2:
            return found
        at = self.grid[columns]
        whole = np.broadcast_to(kaplan_meier_at(*y, at), (len(self.times), len(at)))
        return found | {
            "integrated_brier": integrated_brier(y, self.curves[:, columns + 1], at),
            "integrated_brier_kaplan_meier": integrated_brier(y, whole, at),
        }

    def calibration(self) -> list[GroupCalibration]:
        """Compare predicted and observed survival in groups by risk."""
        groups = np.array_split(np.argsort(self.risk, kind="stable"), min(N_GROUPS, len(self.risk)))
        seen = self.times[self.events & (self.times <= self.grid[-1])]
        found = []
        for time in np.unique(np.quantile(seen, HORIZONS, method="inverted_cdf")) if len(seen) else ():
            column = int(np.searchsorted(self.grid, time, side="right"))
            for number, rows in enumerate(groups):
                observed = kaplan_meier_at(self.times[rows], self.events[rows], np.array([time]))[0]
                found.append(
                    GroupCalibration(float(time), number, float(self.curves[rows, column].mean()), float(observed))
                )
        return found
