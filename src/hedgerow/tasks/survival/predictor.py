"""Predictor of survival models.

Leaves count rows by cell (`hedgerow.tasks.survival.target`). The curves of a leaf have J + 1 columns: the time before
the first event, at which all rows are alive, and the J grid times.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.forest.fold import fold
from hedgerow.forest.reducers import MeanReducer
from hedgerow.inference.batch import Batch
from hedgerow.inference.columns import predicted_columns
from hedgerow.inference.fitted import Fitted
from hedgerow.inference.predictor import Predictor
from hedgerow.metrics.survival import harrell_c, read_survival
from hedgerow.tasks.regression.columns import RegressionColumns
from hedgerow.tasks.survival.target import SurvivalInfo

Floats = NDArray[np.float64]


class AtRisk(NamedTuple):
    """Events, rows at risk and rows at risk later of leaves, (m, J + 1) each."""

    events: Floats
    rows: Floats
    after: Floats

    @classmethod
    def of(cls, counts: NDArray[Any]) -> AtRisk:
        """Count the rows at risk from the cells of leaves (m, 2 J + 2)."""
        cells = np.asarray(counts, dtype=np.float64).reshape(len(counts), -1, 2)
        leaving = cells.sum(axis=2)
        rows = np.cumsum(leaving[:, ::-1], axis=1)[:, ::-1]
        return cls(cells[:, :, 1], rows, rows - leaving)


def kaplan_meier(counts: NDArray[Any]) -> Floats:
    """Return the survival curves of leaves, (m, J + 1); 1 for empty leaves."""
    at = AtRisk.of(counts)
    return np.asarray(np.cumprod(1 - _ratio(at.events, at.rows), axis=1))


def nelson_aalen(counts: NDArray[Any]) -> Floats:
    """Return the cumulative hazards of leaves, (m, J + 1)."""
    at = AtRisk.of(counts)
    return np.cumsum(_ratio(at.events, at.rows), axis=1)


def survival_bounds(counts: NDArray[Any], caution: float) -> tuple[Floats, Floats]:
    """Return the lower and upper survival curves of leaves, (m, J + 1) each.

    This is the imprecise Dirichlet process with pseudo-count s = `caution` (Mangili et al. 2015). The lower curve is
    valid until the next grid time: rows that are censored before it no longer count.
    """
    at = AtRisk.of(counts)
    upper: Floats = np.asarray(np.cumprod(1 - _ratio(at.events, at.rows + caution), axis=1))
    return upper * _ratio(at.after, at.after + caution), upper


class SurvivalPredictor(Predictor):
    """Predictor of survival curves, bounds and risks."""

    kind = "survival"
    predicts = True

    @property
    def info(self) -> SurvivalInfo:
        """Grid of event times."""
        return self.fitted.info  # type: ignore[return-value]

    def curves(self, batch: Batch) -> Floats:
        """Return the mean over trees of the survival curves reached, (n, J + 1)."""
        return self._mean(batch, kaplan_meier)

    def hazards(self, batch: Batch) -> Floats:
        """Return the mean over trees of the cumulative hazards reached, (n, J + 1)."""
        return self._mean(batch, nelson_aalen)

    def risk(self, batch: Batch) -> Floats:
        """Return the cumulative hazard summed over the grid, (n,); higher means earlier."""
        return np.asarray(self.hazards(batch).sum(axis=1))

    def bounds(self, batch: Batch) -> Floats:
        """Return the means over trees of lower and upper curves, (n, J + 1, 2)."""
        caution = float(self.params.caution or 0)
        both = self._mean(batch, lambda counts: np.hstack(survival_bounds(counts, caution)))
        return np.stack(np.split(both, 2, axis=1), axis=2)

    def uncertainty_score(self, batch: Batch) -> Floats:
        """Return the mean width of the bounds, (n,)."""
        return np.asarray(np.diff(self.bounds(batch), axis=2).mean(axis=(1, 2)))

    def drift_classes(self, y: Any) -> None:
        """Return None, because times have no classes."""

    def drift_labels(self, y: Any, n_rows: int, classes: None) -> Floats:
        """Return the times of n rows, (n,)."""
        return read_survival(y, n_rows)[0]

    def at(self, values: Floats, times: Any) -> Floats:
        """Return values on the grid (n, J + 1, ...) at given times, (n, t, ...)."""
        wanted = np.atleast_1d(np.asarray(times, dtype=np.float64))
        if not (wanted <= self.info.times[-1]).all():
            raise ValueError(
                f"times must be at most {self.info.times[-1]:g}, the last event time in training, got {wanted.max():g}."
            )
        return values[:, np.searchsorted(self.info.times, wanted, side="right")]

    def columns(self, X: Any, coverage: float | None = None) -> RegressionColumns:
        """Return risk, median time, and survival with bounds at the middle of the grid."""
        middle = self.info.times[len(self.info.times) // 2]

        def predict(batch: Batch) -> dict[str, Any]:
            curves, (lower, upper) = self.curves(batch), self.at(self.bounds(batch), middle)[:, 0].T
            found = {"risk": self.risk(batch), "median_time": self.median(curves)}
            found |= {f"survival_{middle:g}": self.at(curves, middle)[:, 0], "lower": lower, "upper": upper}
            return found if batch.novelty is None else found | {"novelty": batch.novelty.p_value}

        return RegressionColumns(predicted_columns(self, X, predict))

    def median(self, curves: Floats) -> Floats:
        """Return the median survival time, (n,); infinite if it is beyond the grid."""
        at_most_half = curves[:, 1:] <= 0.5
        return np.where(at_most_half.any(axis=1), self.info.times[at_most_half.argmax(axis=1)], np.inf)

    def evaluate_oob(self, metric: Any) -> Fitted:
        """Return the fit with the out-of-bag concordance index, if ``oob_score=True``."""
        rows = self.fitted.oob_rows
        if rows is None or not metric:
            return self.fitted
        hazards = MeanReducer(nelson_aalen)
        threads = self.threads(rows.n_rows)
        risk = fold(self.forest, rows.codes, hazards, None, oob_mask=rows.oob_mask, n_threads=threads).sum(axis=1)
        seen = np.isfinite(risk)
        score = harrell_c((rows.target.times[seen], rows.target.events[seen]), risk[seen])
        return replace(self.fitted, figures=replace(self.fitted.figures, oob_score=score))

    def _mean(self, batch: Batch, values: Callable[[NDArray[Any]], Floats]) -> Floats:
        """Return the mean over trees of a function of leaf counts, (n, S)."""
        return fold(self.forest, batch.codes, MeanReducer(values), None, n_threads=self.threads(len(batch)))


def _ratio(part: Floats, whole: Floats) -> Floats:
    """Divide part by whole; 0 where the whole is 0."""
    return np.divide(part, whole, out=np.zeros_like(whole), where=whole > 0)
