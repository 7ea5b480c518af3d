"""Several task: y of several columns -> the steps of a fit; each column has a task of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NoReturn

import numpy as np

from hedgerow.fit.run import FitRun, Task
from hedgerow.forest.forest import Forest
from hedgerow.forest.grow import GrowthParams
from hedgerow.forest.target import ReadTarget, columns_of, read_weights
from hedgerow.inference.fitted import Fitted
from hedgerow.table import Schema
from hedgerow.tasks.multioutput.predictor import MultiOutputTrace
from hedgerow.tasks.multioutput.target import MultiOutputTarget


class MultiOutput(Task):
    """The steps of a fit for several outputs: trees are grown for all outputs together, and judged for each output.

    Parameters
    ----------
    one : Task
        The steps of a fit for a single output.
    """

    def __init__(self, one: Task) -> None:
        self._one = one

    def read_target(
        self, model: Any, y: Any, sample_weight: Any, n_rows: int, before: Fitted | None, declared: Any
    ) -> ReadTarget:
        """Labels or numbers of all outputs, and weights -> the target of the rows whose weight is above zero."""
        columns = columns_of(y) or []
        weights = read_weights(sample_weight, n_rows)
        for column, class_weight in zip(columns, _class_weights(model, len(columns)), strict=True):
            weights = self._one.weigh(column, weights, n_rows, class_weight)
        earlier = [None] * len(columns) if before is None else before.outputs
        pairs = zip(columns, earlier, strict=True)
        read = [self._one.read_column(model, column, weights, n_rows, each) for column, each in pairs]
        return ReadTarget(MultiOutputTarget(tuple(each.target for each in read)), read[0].kept)

    def settings(self, model: Any, target: MultiOutputTarget, schema: Schema) -> GrowthParams:
        """How trees are grown on these rows."""
        if model.monotonic_cst is not None:
            raise ValueError(
                f"monotonic_cst must be None for y of several outputs, got {model.monotonic_cst!r}; fit a forest for"
                " each output"
            )
        settings = self._one.settings(model, target.outputs[0], schema)
        if not isinstance(settings.criterion, str) and settings.criterion.in_sklearn is None:
            raise ValueError(
                f"criterion must be 'gini' or 'entropy' for y of several outputs, got {model.criterion!r}; fit a forest"
                " for each output"
            )
        return settings

    def trace(self, run: FitRun) -> MultiOutputTrace:
        """An object that follows the out-of-bag error while trees grow."""
        return MultiOutputTrace([self._one.trace(each) for each in _each(run)])

    def oob_error(self, forest: Forest, run: FitRun) -> float:
        """The mean over the outputs of their out-of-bag errors."""
        pairs = zip(forest.outputs(), _each(run), strict=True)
        return float(np.mean([self._one.oob_error(output, each) for output, each in pairs]))

    def first_classes(self, classes: Any) -> NoReturn:
        """Rows are not added to a model of several outputs."""
        _refuse_later_rows()

    def read_later(self, model: Any, y: Any, sample_weight: Any, n_rows: int, before: Fitted, classes: Any) -> NoReturn:
        """Rows are not added to a model of several outputs."""
        _refuse_later_rows()


def _class_weights(model: Any, n_outputs: int) -> list[Any]:
    """``class_weight`` -> one value for each output: a list as given, or the same word for all."""
    given = model.get_params(deep=False).get("class_weight")
    if given == "balanced_subsample" or isinstance(given, dict):
        raise ValueError(
            f"class_weight must be None, 'balanced' or a list with one entry for each output, got {given!r}; list the"
            " weights of each output"
        )
    if not isinstance(given, list):
        return [given] * n_outputs
    if len(given) != n_outputs:
        raise ValueError(
            f"class_weight must have one entry for each of {n_outputs} outputs, got {len(given)}: number of elements in"
            " class_weight should match number of outputs."
        )
    return given


def _each(run: FitRun) -> list[FitRun]:
    """A fit of several outputs -> the same for each of them alone."""
    rows = run.rows
    return [replace(run, rows=replace(rows, target=target)) for target in rows.target.outputs]


def _refuse_later_rows() -> NoReturn:
    raise ValueError(
        "partial_fit must be called on a model of one output, got one of several; use one of its `outputs_`"
    )
