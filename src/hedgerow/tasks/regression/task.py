"""Regression task."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sklearn.base import clone

from hedgerow.criteria import BeliefVariance
from hedgerow.fit.run import FitRun
from hedgerow.fit.task import SupervisedTask
from hedgerow.forest.grow import GrowthParams, TrainingRows
from hedgerow.forest.target import ReadTarget
from hedgerow.inference.fitted import Fitted
from hedgerow.inference.oob import Trace
from hedgerow.params.resolve import most_trees
from hedgerow.params.table import Params
from hedgerow.storage.values import Arrays, Once
from hedgerow.table import Schema
from hedgerow.tasks.multioutput.task import MultiOutput
from hedgerow.tasks.regression.criterion import choose_lam
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
