"""Regression task, and choice of a criterion parameter."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from hedgerow.criteria import BeliefVariance, Criterion
from hedgerow.fit.run import FitRun
from hedgerow.fit.task import SupervisedTask
from hedgerow.forest.fold import fold
from hedgerow.forest.grow import GrowthParams, TrainingRows, grow_forest
from hedgerow.forest.reducers import MeanReducer, predictions
from hedgerow.forest.rows import Groups
from hedgerow.forest.target import ReadTarget
from hedgerow.inference.fitted import Fitted
from hedgerow.inference.oob import Trace
from hedgerow.labels import IntervalTargets
from hedgerow.params.resolve import most_trees
from hedgerow.params.table import Params
from hedgerow.storage.values import Arrays, Once
from hedgerow.table import Schema
from hedgerow.table.bins import Bins
from hedgerow.tasks.multi_output import MultiOutput
from hedgerow.tasks.regression.predictor import RegressionPredictor, regression_trace
from hedgerow.tasks.regression.storage import KEYS, regressor_from_contents, regressor_to_contents
from hedgerow.tasks.regression.target import RegressionTarget, read_number_target

if TYPE_CHECKING:
    from hedgerow.tasks.regression.distributed import DistributedReals


class Regression(SupervisedTask):
    """Regression: leaves keep mean and variance of their bootstrap rows."""

    name = "regression"
    file_keys = KEYS
    merge_params = ("criterion", "monotonic_cst")

    def read_y(
        self, model: Any, y: Any, sample_weight: Any, n_rows: int, before: Fitted | None = None, classes: Any = None
    ) -> ReadTarget:
        """Read targets and weights of rows with positive weight."""
        return read_number_target(y, sample_weight, n_rows, model.criterion)

    def read_more_y(
        self, model: Any, y: Any, sample_weight: Any, n_rows: int, before: Fitted, classes: Any = None
    ) -> ReadTarget:
        """Read targets of later rows."""
        if isinstance(y, IntervalTargets) or before.forest.halves is not None:
            raise ValueError("partial_fit does not support targets that are intervals. Refit with all rows.")
        return read_number_target(y, sample_weight, n_rows, before.criterion)

    def for_outputs(self) -> MultiOutput:
        """Return the task for multi-output y."""
        return MultiOutput(self)

    def growth(self, model: Any, target: RegressionTarget, schema: Schema) -> GrowthParams:
        """Return the growth parameters; leaves count bootstrap rows."""
        return replace(super().growth(model, target, schema), leaf_counts="inbag")

    def prepare(self, run: FitRun) -> FitRun:
        """Resolve ``lam`` and the range of a belief criterion; a warm start keeps the earlier ``lam``."""
        settings, rows = run.settings, run.rows
        criterion = settings.criterion
        if isinstance(criterion, str):
            return run
        if not criterion.is_resolved:
            before = None if run.before is None else run.before.criterion
            if isinstance(before, BeliefVariance):
                criterion = clone(criterion).set_params(lam=before.lam)
            else:
                n_features = settings.max_features or rows.codes.shape[0]  # 0: not resolved yet
                tried = replace(settings, criterion=criterion.over(*_range(rows)), max_features=n_features)
                criterion = choose_lam(rows, run.bins, tried, most_trees(run.model), run.n_threads)
        return replace(run, settings=replace(settings, criterion=criterion.over(*_range(rows))))

    def oob_trace(self, run: FitRun) -> Trace:
        """Return a trace of the squared or absolute out-of-bag error."""
        return regression_trace(run.rows)

    def predictor(self, fitted: Fitted, params: Params, estimator: type) -> RegressionPredictor:
        """Return the predictor of targets."""
        return RegressionPredictor(fitted, params, estimator)

    def dump(self, model: Any) -> tuple[dict[str, Any], Arrays]:
        """Return the JSON and arrays of a fitted regressor."""
        return regressor_to_contents(model)

    def load(self, estimator: type, given: dict[str, Any], arrays: Arrays, once: Once | None = None) -> Any:
        """Read a fitted regressor from JSON and arrays."""
        return regressor_from_contents(estimator, given, arrays, once)

    def distributed(self, model: Any) -> DistributedReals:
        """Return the target on a cluster; imported late because only clusters need it."""
        from hedgerow.tasks.regression.distributed import DistributedReals

        return DistributedReals()


def _range(rows: TrainingRows) -> tuple[float, float]:
    """Return the smallest and the largest target."""
    info = rows.target.info
    return info.low, info.high


# ---- Choice of ``lam`` of a belief criterion by cross-validation -----------------------------------------------------


N_FOLDS = 5
MOST_TREES = 10
"""Number of trees for each candidate, which is enough to rank them."""


def choose_lam(rows: TrainingRows, bins: Bins, settings: GrowthParams, n_trees: int, n_threads: int) -> Criterion:
    """Return the criterion with the ``lam`` of the smallest squared error on held-out rows.

    All candidates use the same folds, and ties go to the largest ``lam``, which grows larger trees. If there are fewer
    rows than folds, the middle candidate is chosen. Groups are kept together in folds.
    """
    candidates: list[Criterion] = settings.criterion.candidates()
    groups = rows.bags.groups
    fold_of = _folds(rows.n_rows if groups is None else groups.n_groups, settings.seed)
    if len(fold_of) < N_FOLDS:
        return candidates[len(candidates) // 2]
    if groups is not None:
        fold_of = fold_of[groups.of_row]
    errors = sum(_errors(rows, bins, settings, n_trees, n_threads, fold_of == fold) for fold in range(N_FOLDS))
    return candidates[len(candidates) - 1 - int(np.asarray(errors)[::-1].argmin())]


def _errors(
    rows: TrainingRows, bins: Bins, settings: GrowthParams, n_trees: int, n_threads: int, held_out: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return the sum of squared errors of each candidate on the held-out rows."""
    train, test = np.flatnonzero(~held_out), np.flatnonzero(held_out)
    target, groups = rows.target.take(train), rows.bags.groups
    weights: Any = 1.0 if rows.target.weights is None else rows.target.weights[test]
    errors = []
    for criterion in settings.criterion.candidates():
        forest = grow_forest(
            np.ascontiguousarray(rows.codes[:, train]),
            bins,
            target.for_core(),
            replace(settings, criterion=criterion),
            n_trees=min(n_trees, MOST_TREES),
            n_threads=n_threads,
            groups=None if groups is None else Groups.of(groups.of_row[train]),
        )
        codes = np.ascontiguousarray(rows.codes[:, test])
        found = fold(forest, codes, MeanReducer(predictions), None, n_threads=n_threads)[:, 0]
        errors.append(float((weights * (found - rows.target.values[test]) ** 2).sum()))
    return np.array(errors)


def _folds(n: int, seed: int) -> NDArray[np.int64]:
    """Deal n shuffled rows or groups to folds, (n,)."""
    folds = np.empty(n, dtype=np.int64)
    folds[np.random.default_rng(seed).permutation(n)] = np.arange(n) % N_FOLDS
    return folds
