"""Number task: numbers as given -> the steps of a fit that are special to numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.fit.run import FitRun, Task
from hedgerow.forest.forest import Forest
from hedgerow.forest.grow import GrowthParams
from hedgerow.forest.target import ReadTarget
from hedgerow.inference.fitted import Fitted
from hedgerow.inference.oob import Trace
from hedgerow.params.resolve import resolve_settings
from hedgerow.table import Schema
from hedgerow.tasks.multioutput.task import MultiOutput
from hedgerow.tasks.regression.predictor import regression_trace
from hedgerow.tasks.regression.target import RegressionTarget, read_number_target

Floats = NDArray[np.float64]


class Regression(Task):
    """The steps of a fit for numbers: leaves hold the rows of their bags, and there are no classes to declare."""

    kind = "numbers"
    same_when_merged = ("criterion", "monotonic_cst")

    def read_target(
        self, model: Any, y: Any, sample_weight: Any, n_rows: int, before: Fitted | None, declared: Any
    ) -> ReadTarget:
        """Numbers and weights -> the target of the rows whose weight is above zero."""
        return read_number_target(y, sample_weight, n_rows, model.criterion)

    def read_column(self, model: Any, y: Any, weights: Any, n_rows: int, before: Fitted | None) -> ReadTarget:
        """The numbers of one of several outputs."""
        return read_number_target(y, weights, n_rows, model.criterion)

    def for_outputs(self) -> MultiOutput:
        """The task for y of several columns."""
        return MultiOutput(self)

    def settings(self, model: Any, target: RegressionTarget, schema: Schema) -> GrowthParams:
        """How trees are grown on these rows."""
        settings = resolve_settings(model, target.n_rows, schema.n_features, schema.names, 1)
        return replace(settings, leaf_counts="inbag")

    def trace(self, run: FitRun) -> Trace:
        """An object that follows the out-of-bag error while trees grow."""
        return regression_trace(run.rows)

    def oob_error(self, forest: Forest, run: FitRun) -> float:
        """The out-of-bag error of a forest: how far it is off for rows outside the bags."""
        trace = regression_trace(run.rows)
        trace.extend(forest, run.n_threads)
        return trace.errors[-1]

    def first_classes(self, classes: Any) -> None:
        """None, because a regression has no classes."""

    def read_later(
        self, model: Any, y: Any, sample_weight: Any, n_rows: int, before: Fitted, classes: Any
    ) -> ReadTarget:
        """Numbers of later rows."""
        return read_number_target(y, sample_weight, n_rows, before.criterion)
