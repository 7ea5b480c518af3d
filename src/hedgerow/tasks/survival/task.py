"""Survival task."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from hedgerow.criteria import Criterion
from hedgerow.errors import ModelFileError
from hedgerow.fit.run import FitRun
from hedgerow.fit.task import SupervisedTask
from hedgerow.forest.reducers import MeanReducer
from hedgerow.forest.target import ReadTarget
from hedgerow.inference.fitted import Fitted, Learned, fitted_of, publish
from hedgerow.inference.oob import Trace
from hedgerow.params.table import Params
from hedgerow.storage.parameters import Decoder, Encoder
from hedgerow.storage.state import learned_from_contents, learned_to_contents, state_from_contents, state_to_contents
from hedgerow.storage.values import Arrays, Once, take
from hedgerow.tasks.survival.predictor import AtRisk, SurvivalPredictor, kaplan_meier
from hedgerow.tasks.survival.target import MOST_TIMES, SurvivalInfo, read_survival_target

Floats = NDArray[np.float64]


class LogRank(Criterion):
    """Log-rank statistic of the two sides of a split.

    The impurity, for importances and pruning, is the negative log-likelihood of the discrete hazards per row of a node.
    """

    name = "log_rank"
    compiled = True

    def impurity(self, counts: Floats) -> Floats:
        """Return the impurity of nodes with cells (N, 2 J + 2), (N,)."""
        at = AtRisk.of(counts)
        share = np.divide(at.events, at.rows, out=np.zeros_like(at.rows), where=at.rows > 0)
        likelihood = at.rows * (xlogy(share, share) + xlogy(1 - share, 1 - share))
        return np.asarray(-likelihood.sum(axis=1) / np.maximum(at.rows[:, 0], 1))


LOG_RANK = LogRank()


class Survival(SupervisedTask):
    """Survival analysis: leaves count rows by time and event, and predict curves."""

    name = "survival"
    file_keys = frozenset({"parameters", "table", "weighted", "seed", "bag", "fitted"})

    def read_y(
        self, model: Any, y: Any, sample_weight: Any, n_rows: int, before: Fitted | None = None, classes: Any = None
    ) -> ReadTarget:
        """Read times and events; a warm start keeps the grid."""
        return read_survival_target(y, sample_weight, n_rows, None if before is None else _info(before))

    def read_more_y(
        self, model: Any, y: Any, sample_weight: Any, n_rows: int, before: Fitted, classes: Any = None
    ) -> ReadTarget:
        """Read times and events of later rows on the grid of the fit."""
        return read_survival_target(y, sample_weight, n_rows, _info(before))

    def oob_trace(self, run: FitRun) -> Trace:
        """Return a trace of the out-of-bag log-likelihood."""
        return Trace(run.rows, MeanReducer(kaplan_meier))

    def predictor(self, fitted: Fitted, params: Params, estimator: type) -> SurvivalPredictor:
        """Return the predictor of curves."""
        return SurvivalPredictor(fitted, params, estimator)

    def dump(self, model: Any) -> tuple[dict[str, Any], Arrays]:
        """Return the JSON and arrays of a fitted model."""
        encoder, fitted = Encoder(), fitted_of(model)
        state, arrays = state_to_contents(fitted)
        known, of_known = learned_to_contents(fitted)
        contents = {"parameters": encoder.parameters(model), **state, "fitted": known}
        contents["weighted"] = fitted.forest.weights is not None
        return contents, arrays | of_known | {"times": _info(fitted).times} | encoder.arrays

    def load(self, estimator: type, given: dict[str, Any], arrays: Arrays, once: Once | None = None) -> Any:
        """Read a fitted model, and check everything."""
        info = SurvivalInfo.of(_checked_times(take(arrays, "times", np.float64)))
        model = Decoder(arrays, len(info.names)).estimator(given["parameters"], estimator)
        state = state_from_contents(given, arrays, len(info.names), once)
        learned = Learned()
        origins, forest = learned_from_contents(learned, state, given["fitted"], arrays, once)
        grown = (state.schema, state.bins, info, forest, LOG_RANK, state.seed, state.fingerprint)
        return publish(model, Fitted(*grown, origins=origins, learned=learned))


def _info(fitted: Fitted) -> SurvivalInfo:
    """Return the grid of a fit."""
    return fitted.info  # type: ignore[return-value]


def _checked_times(times: Any) -> Floats:
    """Return the grid of a file; raise unless it is valid."""
    grid = np.array(times, dtype=np.float64)
    sound = grid.ndim == 1 and 1 <= len(grid) <= MOST_TIMES and np.isfinite(grid).all() and (grid >= 0).all()
    if not sound or not (np.diff(grid) > 0).all():
        raise ModelFileError(f"malformed 'times': must be from 1 to {MOST_TIMES} ascending times >= 0, got {len(grid)}")
    return grid
