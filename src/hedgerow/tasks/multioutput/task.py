"""Multi-output: y of several columns -> one forest; each column has the task of a single output."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NoReturn

import numpy as np

from hedgerow.errors import ModelFileError
from hedgerow.fit.run import FitRun
from hedgerow.fit.task import SupervisedTask
from hedgerow.forest.forest import Forest
from hedgerow.forest.grow import GrowthParams
from hedgerow.forest.multioutput import MultiOutputLeaves
from hedgerow.forest.target import ReadTarget, columns_of, read_weights
from hedgerow.inference.fitted import Fitted, fitted_of, publish
from hedgerow.params.table import Params
from hedgerow.storage.outputs import join_outputs, split_outputs
from hedgerow.storage.parameters import Decoder, Encoder
from hedgerow.storage.state import checked_score
from hedgerow.storage.values import Arrays, Once
from hedgerow.table import Schema
from hedgerow.tasks.multioutput.predictor import MultiOutputPredictor, MultiOutputTrace
from hedgerow.tasks.multioutput.target import MultiOutputInfo, MultiOutputTarget


class MultiOutput(SupervisedTask):
    """Several outputs of one type: trees are grown for all outputs together, and evaluated for each output.

    `Fitted.outputs` has a fit for each output, which is an ordinary fit of the type.

    Parameters
    ----------
    inner : SupervisedTask
        The task of a single output.
    """

    name = "multi-output"
    file_keys = frozenset({"outputs", "oob_score_"})

    def __init__(self, inner: SupervisedTask) -> None:
        self._inner = inner

    def read_y(
        self, model: Any, y: Any, sample_weight: Any, n_rows: int, before: Fitted | None = None, classes: Any = None
    ) -> ReadTarget:
        """All columns and weights -> the target of the rows whose weight is above zero."""
        columns = columns_of(y) or []
        weights = read_weights(sample_weight, n_rows)
        for column, class_weight in zip(columns, _class_weights(model, len(columns)), strict=True):
            weights = self._inner.weigh_column(column, weights, n_rows, class_weight)
        earlier = [None] * len(columns) if before is None else before.outputs
        pairs = zip(columns, earlier, strict=True)
        read = [self._inner.read_column(model, column, weights, n_rows, each) for column, each in pairs]
        return ReadTarget(MultiOutputTarget(tuple(each.target for each in read)), read[0].kept)

    def first_classes(self, classes: Any) -> NoReturn:
        """Rows are not added to a model of several outputs."""
        _refuse_more_rows()

    def read_more_y(
        self, model: Any, y: Any, sample_weight: Any, n_rows: int, before: Fitted, classes: Any = None
    ) -> NoReturn:
        """Rows are not added to a model of several outputs."""
        _refuse_more_rows()

    def growth(self, model: Any, target: MultiOutputTarget, schema: Schema) -> GrowthParams:
        """How trees are grown on these rows."""
        if model.monotonic_cst is not None:
            raise ValueError(
                f"monotonic_cst must be None for y of several outputs, got {model.monotonic_cst!r}; fit a forest for"
                " each output"
            )
        settings = self._inner.growth(model, target.outputs[0], schema)
        if not isinstance(settings.criterion, str) and settings.criterion.in_sklearn is None:
            raise ValueError(
                f"criterion must be 'gini' or 'entropy' for y of several outputs, got {model.criterion!r}; fit a forest"
                " for each output"
            )
        return settings

    def oob_trace(self, run: FitRun) -> MultiOutputTrace:
        """The mean over the outputs of their out-of-bag errors, while trees grow."""
        return MultiOutputTrace([self._inner.oob_trace(each) for each in _each(run)])

    def oob_error(self, forest: Forest, run: FitRun) -> float:
        """The mean over the outputs of their out-of-bag errors."""
        pairs = zip(forest.outputs(), _each(run), strict=True)
        return float(np.mean([self._inner.oob_error(output, each) for output, each in pairs]))

    def predictor(self, fitted: Fitted, params: Params, estimator: type) -> MultiOutputPredictor:
        """The predictors of all outputs, side by side."""
        return MultiOutputPredictor(self._inner.predictor, fitted, params, estimator)

    def dump(self, model: Any) -> tuple[dict[str, Any], Arrays]:
        """A fitted model -> the JSON and arrays of each output, and the out-of-bag score of all."""
        outputs, arrays = join_outputs(self._inner.dump(output) for output in model.outputs_)
        score = Encoder().encode(fitted_of(model).figures.oob_score, "oob_score_")
        return {"outputs": outputs, "oob_score_": score}, arrays

    def load(self, estimator: type, given: dict[str, Any], arrays: Arrays, once: Once | None = None) -> Any:
        """JSON and arrays -> a fitted model; tables and trees, which all outputs share, are read once."""
        once = Once() if once is None else once
        models = [self._inner.load(estimator, *output, once) for output in split_outputs(given, arrays)]
        score = Decoder({}, 1).decode(given["oob_score_"])
        score = None if score is None else checked_score(score)
        return publish(models[0], _whole([fitted_of(model) for model in models], score))


def _whole(outputs: list[Fitted], score: float | None) -> Fitted:
    """The fits of all outputs, which must have the same trees -> one fit of all outputs."""
    first = outputs[0]
    for output in outputs[1:]:
        same = output.forest.structure is first.forest.structure  # it was read once
        if (
            not same
            or output.bins is not first.bins
            or (output.seed, output.fingerprint) != (first.seed, first.fingerprint)
        ):
            raise ModelFileError("all outputs of a model file must share table, trees and bags, got different ones")
    answers = [output.figures.oob_predictions for output in outputs]
    if len({None if each is None else len(each) for each in answers}) > 1:
        raise ModelFileError("all outputs of a model file must have out-of-bag answers about the same rows, got others")
    leaves = MultiOutputLeaves(tuple(output.forest.evidence for output in outputs))
    info = MultiOutputInfo(first.info.names, tuple(output.info for output in outputs))
    figures = replace(first.figures, oob_score=score, oob_predictions=None)
    forest = Forest(first.forest.structure, leaves)
    return replace(first, forest=forest, info=info, figures=figures, outputs=tuple(outputs))


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


def _refuse_more_rows() -> NoReturn:
    raise ValueError(
        "partial_fit must be called on a model of one output, got one of several; use one of its `outputs_`"
    )
