"""Survival task."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from hedgerow.criteria import Criterion
from hedgerow.errors import ModelFileError
from hedgerow.fit.run import FitRun
from hedgerow.fit.task import SupervisedTask
from hedgerow.forest.grow import GrowthParams, grow_forest
from hedgerow.forest.reducers import MeanReducer
from hedgerow.forest.target import ReadTarget
from hedgerow.inference.fitted import FitMetrics, Fitted, Learned, fitted_of, publish
from hedgerow.inference.oob import Trace
from hedgerow.metrics.survival import MOST_CAUSES
from hedgerow.params.checks import check_once_fitted
from hedgerow.params.table import Params
from hedgerow.storage.parameters import Decoder, Encoder
from hedgerow.storage.state import learned_from_contents, learned_to_contents, state_from_contents, state_to_contents
from hedgerow.storage.values import Arrays, Once, take
from hedgerow.table import Schema
from hedgerow.tasks.survival.curves import AtRisk, LeafCurves, kaplan_meier
from hedgerow.tasks.survival.oob import FIRST_SIZE, best_leaf_size, oob_curves, oob_error, pilot_trees
from hedgerow.tasks.survival.predictor import SurvivalPredictor
from hedgerow.tasks.survival.storage import learn_oob, oob_from_contents, oob_to_contents
from hedgerow.tasks.survival.target import MOST_ENTRIES, MOST_TIMES, SurvivalInfo, SurvivalTarget, read_survival_target

Floats = NDArray[np.float64]


class LogRank(Criterion):
    """Log-rank statistic of the two sides of a split.

    The impurity, for importances and pruning, is the negative log-likelihood of the discrete hazards per row of a node.
    """

    name = "log_rank"
    compiled = True

    def __init__(self, info: SurvivalInfo | None = None) -> None:
        self.info = info

    def impurity(self, counts: Floats) -> Floats:
        """Return the impurity of nodes with cells (N, K), (N,)."""
        assert self.info is not None
        at = AtRisk.of(counts, self.info)
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

    def growth(self, model: Any, target: SurvivalTarget, schema: Schema) -> GrowthParams:
        """Return the growth parameters; `prepare` chooses the leaf size for "oob"."""
        stand_in = copy(model)
        if model.min_samples_leaf == "oob":
            stand_in.min_samples_leaf = FIRST_SIZE
        return replace(super().growth(stand_in, target, schema), criterion=LogRank(target.info))

    def prepare(self, run: FitRun) -> FitRun:
        """Choose the leaf size with the smallest out-of-bag error, for "oob"; a warm start keeps the first choice."""
        if run.model.min_samples_leaf != "oob":
            return run
        before = FitMetrics() if run.before is None else run.before.figures
        size, errors = before.leaf_size, before.leaf_size_errors
        if size is None:
            size, errors = best_leaf_size(partial(_pilot_error, run), run.rows.n_rows)
        figures = replace(run.figures, leaf_size=size, leaf_size_errors=errors)
        return replace(run, settings=replace(run.settings, min_samples_leaf=size), figures=figures)

    def oob_trace(self, run: FitRun) -> Trace:
        """Return a trace of the out-of-bag log-likelihood."""
        return Trace(run.rows, MeanReducer(partial(kaplan_meier, info=run.rows.target.info)))

    def predictor(self, fitted: Fitted, params: Params, estimator: type) -> SurvivalPredictor:
        """Return the predictor of curves."""
        return SurvivalPredictor(fitted, params, estimator)

    def dump(self, model: Any) -> tuple[dict[str, Any], Arrays]:
        """Return the JSON and arrays of a fitted model."""
        encoder, fitted = Encoder(), fitted_of(model)
        state, arrays = state_to_contents(fitted)
        known, of_known = learned_to_contents(fitted)
        contents = {"parameters": encoder.parameters(model), **state}
        contents["weighted"] = fitted.forest.weights is not None
        reported, of_oob = oob_to_contents(model)
        contents["fitted"] = known | reported
        return contents, arrays | of_known | of_oob | _grid_to_arrays(_info(fitted)) | encoder.arrays

    def load(self, estimator: type, given: dict[str, Any], arrays: Arrays, once: Once | None = None) -> Any:
        """Read a fitted model, and check everything."""
        info = _grid_from_arrays(arrays)
        model = Decoder(arrays, len(info.names)).estimator(given["parameters"], estimator)
        check_once_fitted(model)
        state = state_from_contents(given, arrays, len(info.names), once)
        learned, figures = Learned(), oob_from_contents(given["fitted"])
        learn_oob(learned, arrays, model.get_params().get("calibration"))
        origins, forest = learned_from_contents(learned, state, given["fitted"], arrays, once)
        grown = (state.schema, state.bins, info, forest, LogRank(info), state.seed, state.fingerprint)
        return publish(model, Fitted(*grown, origins=origins, figures=figures, learned=learned))


def _pilot_error(run: FitRun, size: int) -> float:
    """Return the out-of-bag error of a few trees with leaves of this size."""
    rows, settings = run.rows, replace(run.settings, min_samples_leaf=size)
    units = rows.bags.groups
    grown = grow_forest(
        rows.codes,
        run.bins,
        rows.target.for_core(),
        settings,
        n_trees=pilot_trees(rows.n_rows),
        n_threads=run.n_threads,
        groups=units,
    )
    found = oob_curves(LeafCurves(grown, rows.target.info, run.n_threads), rows)
    return oob_error(found, rows.target)


def _info(fitted: Fitted) -> SurvivalInfo:
    """Return the grid of a fit."""
    return fitted.info  # type: ignore[return-value]


def _grid_to_arrays(info: SurvivalInfo) -> Arrays:
    """Return the grid, and causes and entries if there are several, as arrays of a file."""
    found: Arrays = {"times": info.times}
    if info.n_causes > 1 or info.has_entries:
        found |= {"causes": np.array([info.n_causes], dtype=np.int64), "entries": info.entries}
    return found


def _grid_from_arrays(arrays: Arrays) -> SurvivalInfo:
    """Return the grid of a file; raise unless it is valid."""
    grid = np.array(take(arrays, "times", np.float64))
    sound = grid.ndim == 1 and 1 <= len(grid) <= MOST_TIMES and np.isfinite(grid).all() and (grid >= 0).all()
    if not sound or not (np.diff(grid) > 0).all():
        raise ModelFileError(f"malformed 'times': must be from 1 to {MOST_TIMES} ascending times >= 0, got {len(grid)}")
    if "causes" not in arrays:
        return SurvivalInfo.of(grid)
    causes, entries = take(arrays, "causes", np.int64), np.array(take(arrays, "entries", np.uint16))
    if causes.shape != (1,) or not 1 <= causes[0] <= MOST_CAUSES:
        raise ModelFileError(f"malformed 'causes': must be one number from 1 to {MOST_CAUSES}.")
    sound = entries.ndim == 1 and 1 <= len(entries) <= MOST_ENTRIES and entries[0] == 0 and entries[-1] <= len(grid)
    if not sound or not (np.diff(entries.astype(np.int64)) > 0).all():
        raise ModelFileError("malformed 'entries': must ascend from 0 to at most the number of times.")
    return SurvivalInfo.of(grid, int(causes[0]), entries)
