"""Predictor of survival models.

Curves have J + 1 columns (`hedgerow.tasks.survival.curves`).
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from hedgerow.decisions import Risk
from hedgerow.forest.grow import TrainingRows
from hedgerow.forest.reducers import MeanReducer
from hedgerow.inference.batch import Batch
from hedgerow.inference.columns import predicted_columns
from hedgerow.inference.fitted import Fitted
from hedgerow.inference.oob import Trace
from hedgerow.inference.predictor import Predictor
from hedgerow.metrics.survival import harrell_c, read_survival
from hedgerow.table.bins import Codes
from hedgerow.tasks.regression.evaluation import RegressionColumns
from hedgerow.tasks.survival.curves import LEAF_ONLY, LeafCurves, Wanted, kaplan_meier
from hedgerow.tasks.survival.evaluation import SurvivalEvaluation, SurvivalTally
from hedgerow.tasks.survival.oob import (
    MAX_RISK_ROWS,
    CurveCalibration,
    LowerLevels,
    OobCurves,
    learn_calibration,
    learn_lower,
    low_risk_threshold,
    oob_curves,
)
from hedgerow.tasks.survival.target import SurvivalInfo

Floats = NDArray[np.float64]

#: Number of training rows whose out-of-bag risks are computed at once.
OOB_ROWS = 1 << 15


class SurvivalUncertainty(NamedTuple):
    """Uncertainty at a time, by source, (n,) each.

    ``total`` is the entropy of the mean survival probability of the leaves in bits, ``aleatoric`` the mean over trees
    of the entropies of leaves, ``epistemic`` their difference, and ``vacuity`` the width of the bounds.
    """

    total: Floats
    aleatoric: Floats
    epistemic: Floats
    vacuity: Floats


class SurvivalPredictor(Predictor):
    """Predictor of survival curves, bounds and risks."""

    kind = "survival"
    predicts = True

    @property
    def info(self) -> SurvivalInfo:
        """Grid of event times."""
        return self.fitted.info  # type: ignore[return-value]

    @property
    def middle(self) -> float:
        """The time in the middle of the grid."""
        return float(self.info.times[len(self.info.times) // 2])

    @property
    def is_calibrated(self) -> bool:  # type: ignore[override]
        """Whether curves are calibrated on out-of-bag rows."""
        return self.calibrator() is not None

    def under(self, rule: Any = None, caution: float | None = None) -> SurvivalPredictor:
        """Return a predictor of the same fit with another caution."""
        if rule is not None:
            raise ValueError(f"rule must be None for a survival model, got {rule!r}. Survival curves are averaged.")
        params = self.params if caution is None else replace(self.params, caution=caution)
        return type(self)(self.fitted, params, self.estimator)

    def curves(self, batch: Batch) -> Floats:
        """Return the survival curves, (n, J + 1)."""
        return self._calibrated(self._mean(batch, "survival"))

    def hazards(self, batch: Batch) -> Floats:
        """Return the mean over trees of the cumulative hazards reached, (n, J + 1)."""
        return self._mean(batch, "hazard")

    def risk(self, batch: Batch) -> Floats:
        """Return the cumulative hazard summed over the grid, (n,); higher means earlier."""
        return np.asarray(self.hazards(batch).sum(axis=1))

    def bounds(self, batch: Batch) -> Floats:
        """Return the means over trees of lower and upper curves, (n, J + 1, 2)."""
        return self._calibrated(_pieces(self._mean(batch, "bounds"), 2))

    def incidence(self, batch: Batch) -> Floats:
        """Return the cumulative incidence of each cause, (n, J + 1, C)."""
        if self.info.n_causes == 1:
            return 1 - self.curves(batch)[:, :, None]
        return _pieces(self._mean(batch, "incidence"), self.info.n_causes)

    def incidence_bounds(self, batch: Batch) -> Floats:
        """Return the lower and upper cumulative incidence of each cause, (n, J + 1, C, 2)."""
        n_causes = self.info.n_causes
        if n_causes == 1:
            return 1 - self.bounds(batch)[:, :, None, ::-1]
        both = _pieces(self._mean(batch, "incidence_bounds"), 2 * n_causes)
        return np.stack([both[:, :, :n_causes], both[:, :, n_causes:]], axis=3)

    def at_risk(self, batch: Batch) -> Floats:
        """Return the mean training rows in pooled nodes: all, at the start, and after each time, (n, J + 2)."""
        return self._leaf_curves(batch.codes).at_risk(batch.codes, self._weights)

    def curves_of_leaves(self, kind: str, first: int, last: int) -> Floats:
        """Return uncalibrated curves of the leaves from first to last - 1, numbered over all trees, (m, S)."""
        return LeafCurves(self.forest, self.info, self.threads(last - first)).of_leaves(first, last, self._wanted(kind))

    def means(self, codes: Codes, kind: str) -> Floats:
        """Return the uncalibrated means over trees of curves of a kind, (n, S)."""
        return self._leaf_curves(codes).mean(codes, self._wanted(kind))

    def uncertainty(self, batch: Batch, time: float) -> SurvivalUncertainty:
        """Return the uncertainty at a time by source."""
        column = int(self.columns_of(time)[0])
        each = np.clip(self._leaf_curves(batch.codes).each_tree(batch.codes, self._wanted("survival"), column), 0, 1)
        total = _entropy(np.add.accumulate(each, axis=1)[:, -1] / each.shape[1])  # in this order for any batch
        aleatoric = np.add.accumulate(_entropy(each), axis=1)[:, -1] / each.shape[1]
        width = np.diff(self.bounds(batch)[:, column], axis=1)[:, 0]
        return SurvivalUncertainty(total, aleatoric, np.maximum(total - aleatoric, 0.0), width)

    def rmst(self, values: Floats, horizon: float) -> Floats:
        """Integrate curves on the grid (n, J + 1, ...) from 0 to a horizon, (n, ...)."""
        widths = self.widths(horizon).reshape(-1, *[1] * (values.ndim - 2))
        return np.asarray(np.add.accumulate(values * widths, axis=1)[:, -1])  # in this order for any batch

    def widths(self, horizon: float) -> Floats:
        """Return the lengths of the steps of curves from 0 to a horizon, (J + 1,)."""
        if not 0 < horizon <= self.info.times[-1]:
            raise ValueError(
                f"horizon must be from 0 to {self.info.times[-1]:g}, the last event time in training, got {horizon!r}."
            )
        ends = np.minimum(np.append(self.info.times, np.inf), horizon)
        return np.diff(ends, prepend=0.0)

    def quantiles(self, curves: Floats, shares: Any) -> Floats:
        """Return the first grid times at which shares of rows have had the event, (n, q); infinite beyond the grid."""
        wanted = np.atleast_1d(np.asarray(shares, dtype=np.float64))
        if not ((wanted > 0) & (wanted < 1)).all():
            raise ValueError(f"quantiles must be between 0 and 1, got {wanted.tolist()}.")
        ends = np.append(self.info.times, np.inf)
        reached = [(curves[:, 1:] <= 1 - share + 1e-12) for share in wanted]
        first = [np.where(each.any(axis=1), each.argmax(axis=1), len(self.info.times)) for each in reached]
        return np.stack([ends[each] for each in first], axis=1)

    def median(self, curves: Floats) -> Floats:
        """Return the median survival time, (n,); infinite if it is beyond the grid."""
        return self.quantiles(curves, 0.5)[:, 0]

    def lower(self, batch: Batch, coverage: float) -> Floats:
        """Return times that the event exceeds with a given probability, (n,); infinite beyond the grid."""
        if not 0 < coverage < 1:
            raise ValueError(f"coverage must be between 0 and 1, got {coverage!r}.")
        level = self.lower_levels().level(1 - coverage)
        reached = 1 - self._mean(batch, "survival")[:, 1:] >= level - 1e-12
        ends = np.append(self.info.times, np.inf)
        return ends[np.where(reached.any(axis=1), reached.argmax(axis=1), len(self.info.times))]

    def uncertainty_score(self, batch: Batch) -> Floats:
        """Return the mean width of the bounds, (n,)."""
        return np.asarray(np.diff(self.bounds(batch), axis=2).mean(axis=(1, 2)))

    def drift_classes(self, y: Any) -> None:
        """Return None, because times have no classes."""

    def drift_labels(self, y: Any, n_rows: int, classes: None) -> Floats:
        """Return the times of n rows, (n,)."""
        return read_survival(y, n_rows).times

    def at(self, values: Floats, times: Any) -> Floats:
        """Return values on the grid (n, J + 1, ...) at given times, (n, t, ...)."""
        return values[:, self.columns_of(times)]

    def columns_of(self, times: Any) -> NDArray[np.intp]:
        """Return the columns of curves at given times."""
        wanted = np.atleast_1d(np.asarray(times, dtype=np.float64))
        if not (wanted <= self.info.times[-1]).all():
            raise ValueError(
                f"times must be at most {self.info.times[-1]:g}, the last event time in training, got {wanted.max():g}."
            )
        return np.searchsorted(self.info.times, wanted, side="right")

    def columns(self, X: Any, coverage: float | None = None) -> RegressionColumns:
        """Return risk, median time, and survival with bounds at the middle of the grid."""
        return self.columns_at(X, [self.middle])

    def columns_at(self, X: Any, times: Any) -> RegressionColumns:
        """Return risk, median time, and survival with bounds at some times."""
        several = len(times) > 1

        def predict(batch: Batch) -> dict[str, Any]:
            curves, bounds = self.curves(batch), self.at(self.bounds(batch), times)
            found = {"risk": self.risk(batch), "median_time": self.median(curves)}
            for number, time in enumerate(times):
                end = f"_{time:g}" if several else ""
                found |= {f"survival_{time:g}": self.at(curves, time)[:, 0]}
                found |= {f"lower{end}": bounds[:, number, 0], f"upper{end}": bounds[:, number, 1]}
                found |= self._cause_columns(batch, time, end)
            return found if batch.novelty is None else found | {"novelty": batch.novelty.p_value}

        return RegressionColumns(predicted_columns(self, X, predict))

    def _cause_columns(self, batch: Batch, time: float, end: str) -> dict[str, Floats]:
        """Return the incidence of each cause until a time, with its bounds; empty without competing causes."""
        if self.info.n_causes == 1:
            return {}
        shares, bounds = self.at(self.incidence(batch), time)[:, 0], self.at(self.incidence_bounds(batch), time)[:, 0]
        found: dict[str, Floats] = {}
        for cause in range(self.info.n_causes):
            name = f"cause_{cause + 1}"
            found |= {f"{name}_{time:g}": shares[:, cause]}
            found |= {f"{name}_lower{end}": bounds[:, cause, 0], f"{name}_upper{end}": bounds[:, cause, 1]}
        return found

    def evaluate(self, table: Any, y: Any) -> SurvivalEvaluation:
        """Return risks and curves, with true times, to compute metrics from."""
        batch = self.read(table)
        times, events = read_survival(y, len(batch))
        return SurvivalEvaluation(times, events, self.risk(batch), self.info.times, self.curves(batch))

    def tally(self, X: Any, y: Any, coverage: float | None = None) -> SurvivalTally:
        """Tally the pairs of rows that are ordered correctly."""
        return self.evaluate(X, y).tally

    # ---- out of bag ------------------------------------------------------------------------------

    def calibrator(self) -> CurveCalibration | None:
        """Return the calibrator of curves; None if they are not calibrated."""
        if self.params.calibration != "oob":
            return None
        return self.fitted.learned.get("calibration", None, self._learned_calibration)

    def lower_levels(self) -> LowerLevels:
        """Return the levels of predictive lower bounds, computed when first needed."""

        def make() -> LowerLevels:
            rows = self.fitted.oob_rows
            if rows is None:
                raise ValueError("predict_lower requires out-of-bag rows. Refit on all rows with bootstrap=True.")
            return learn_lower(self._oob_curves(rows), self._weights, rows.target)

        return self.fitted.learned.get("lower", self.params.calibration, make)

    def low_risk(self, batch: Batch, time: float, risk: Risk) -> NDArray[np.bool_]:
        """Return which rows have low risk of an event until a time, (n,)."""
        column = int(self.columns_of(time)[0])
        return np.asarray(self._mean(batch, "survival")[:, column] > self._low_risk_threshold(time, column, risk))

    def _low_risk_threshold(self, time: float, column: int, risk: Risk) -> float:
        """Return the survival probability above which rows have low risk, computed when first needed."""

        def make() -> float:
            rows = self.fitted.oob_rows
            if rows is None:
                raise ValueError("Risk requires out-of-bag rows. Refit on all rows with bootstrap=True.")
            if self.info.has_entries:
                raise ValueError("Risk does not support late entry: rows below a horizon are not a random sample.")
            found = oob_curves(self._leaf_curves(rows.codes), rows, [self._weights], MAX_RISK_ROWS)
            y = rows.target.times[found.rows], rows.target.events[found.rows]
            threshold = low_risk_threshold(found.depths[0][:, column], *y, time, risk)
            if threshold == np.inf:
                warnings.warn(
                    f"No threshold limits events until {time:g} to {risk.error:g} with confidence {risk.confidence:g}. "
                    "All rows are undecided. Allow more errors, or fit on more rows.",
                    UserWarning,
                    stacklevel=5,
                )
            return threshold

        key = (time, risk.error, risk.confidence, self.params.calibration)
        return self.fitted.learned.get("low risk", key, make)

    def learn(self) -> None:
        """Learn what files and pickles keep."""
        if self.fitted.oob_rows is not None:
            self.calibrator()
            self.lower_levels()

    def for_file(self) -> Fitted:
        """Return the fit as pickles store it, after learning what needs training rows."""
        self.learn()
        return super().for_file()

    def evaluate_oob(self, metric: Any) -> Fitted:
        """Return the fit with the out-of-bag concordance index, if ``oob_score=True``."""
        rows = self.fitted.oob_rows
        if rows is None or not metric:
            return self.fitted
        curves, wanted = self._leaf_curves(rows.codes), self._wanted("hazard")
        parts = np.array_split(np.arange(rows.n_rows), -(-rows.n_rows // OOB_ROWS))
        risk = np.concatenate([curves.out_of_bag(rows, part, wanted).sum(axis=1) for part in parts])
        seen = np.isfinite(risk)
        score = harrell_c((rows.target.times[seen], rows.target.events[seen]), risk[seen])
        return replace(self.fitted, figures=replace(self.fitted.figures, oob_score=score))

    def oob_trace(self) -> Floats:
        """Return the out-of-bag negative log-likelihood after each tree, (T,)."""

        def make() -> Floats:
            rows = self.oob_rows("oob_trace_")
            trace = Trace(rows, MeanReducer(partial(kaplan_meier, info=self.info)))
            trace.extend(self.forest, self.threads(rows.n_rows))
            return np.array(trace.errors)

        return self.fitted.learned.get("trace", None, make)

    def _learned_calibration(self) -> CurveCalibration | None:
        rows = self.fitted.oob_rows
        return None if rows is None else learn_calibration(self._oob_curves(rows), rows.target)

    def _oob_curves(self, rows: TrainingRows) -> OobCurves:
        """Return the out-of-bag curves of some rows, which are kept."""
        return self.fitted.cache.get("oob curves", lambda: oob_curves(self._leaf_curves(rows.codes), rows))

    # ---- leaves ----------------------------------------------------------------------------------

    def _calibrated(self, values: Floats) -> Floats:
        """Return calibrated probabilities, if there is a calibrator."""
        calibrator = self.calibrator()
        return values if calibrator is None else calibrator(values)

    def _mean(self, batch: Batch, kind: str) -> Floats:
        """Return the mean over trees of curves of a kind, (n, S)."""
        return self.means(batch.codes, kind)

    def _leaf_curves(self, codes: Codes) -> LeafCurves:
        return LeafCurves(self.forest, self.info, self.threads(codes.shape[1]))

    def _wanted(self, kind: str) -> Wanted:
        return Wanted(kind, self._weights, float(self.params.caution or 0))

    @property
    def _weights(self) -> tuple[float, ...]:
        """Weights of the depths at which leaves are read."""
        calibrator = self.calibrator()
        return LEAF_ONLY if calibrator is None else calibrator.weights


def _pieces(curves: Floats, number: int) -> Floats:
    """Return curves side by side (n, number · (J + 1)) as (n, J + 1, number)."""
    return np.stack(np.split(curves, number, axis=1), axis=2)


def _entropy(alive: Floats) -> Floats:
    """Return the entropy of survival probabilities in bits."""
    return np.asarray(-(xlogy(alive, alive) + xlogy(1 - alive, 1 - alive)) / np.log(2))
