"""Regression: numbers -> predicted numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hedgerow.fit.run import FitRun
from hedgerow.fit.task import SupervisedTask
from hedgerow.forest.grow import GrowthParams
from hedgerow.forest.target import ReadTarget
from hedgerow.inference.fitted import Fitted
from hedgerow.inference.oob import Trace
from hedgerow.params.table import Params
from hedgerow.storage.values import Arrays, Once
from hedgerow.table import Schema
from hedgerow.tasks.multioutput.task import MultiOutput
from hedgerow.tasks.regression.predictor import RegressionPredictor, regression_trace
from hedgerow.tasks.regression.storage import KEYS, regressor_from_contents, regressor_to_contents
from hedgerow.tasks.regression.target import RegressionTarget, read_number_target

if TYPE_CHECKING:
    from hedgerow.tasks.regression.distributed import DistributedReals


class Regression(SupervisedTask):
    """Numbers: leaves hold means and variances of the rows in their bootstrap samples."""

    name = "regression"
    file_keys = KEYS
    merge_params = ("criterion", "monotonic_cst")

    def read_y(
        self, model: Any, y: Any, sample_weight: Any, n_rows: int, before: Fitted | None = None, classes: Any = None
    ) -> ReadTarget:
        """Numbers and weights -> the target of the rows whose weight is above zero."""
        return read_number_target(y, sample_weight, n_rows, model.criterion)

    def read_more_y(
        self, model: Any, y: Any, sample_weight: Any, n_rows: int, before: Fitted, classes: Any = None
    ) -> ReadTarget:
        """Numbers of later rows."""
        return read_number_target(y, sample_weight, n_rows, before.criterion)

    def for_outputs(self) -> MultiOutput:
        """The task for y of several columns."""
        return MultiOutput(self)

    def growth(self, model: Any, target: RegressionTarget, schema: Schema) -> GrowthParams:
        """How trees are grown; leaves count the rows of their bootstrap samples."""
        return replace(super().growth(model, target, schema), leaf_counts="inbag")

    def oob_trace(self, run: FitRun) -> Trace:
        """The squared or absolute out-of-bag error, while trees grow."""
        return regression_trace(run.rows)

    def predictor(self, fitted: Fitted, params: Params, estimator: type) -> RegressionPredictor:
        """The predictor of numbers."""
        return RegressionPredictor(fitted, params, estimator)

    def dump(self, model: Any) -> tuple[dict[str, Any], Arrays]:
        """A fitted regressor -> JSON and arrays."""
        return regressor_to_contents(model)

    def load(self, estimator: type, given: dict[str, Any], arrays: Arrays, once: Once | None = None) -> Any:
        """JSON and arrays -> a fitted regressor."""
        return regressor_from_contents(estimator, given, arrays, once)

    def distributed(self, model: Any) -> DistributedReals:
        """The numbers of a table on a cluster; imported here, because nothing else needs it."""
        from hedgerow.tasks.regression.distributed import DistributedReals

        return DistributedReals()
