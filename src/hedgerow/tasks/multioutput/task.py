"""Multi-output task."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from hedgerow.errors import ModelFileError
from hedgerow.fit.run import FitRun
from hedgerow.fit.task import SupervisedTask
from hedgerow.forest.forest import Forest
from hedgerow.forest.grow import GrowthParams
from hedgerow.forest.multioutput import MultiOutputLeaves
from hedgerow.forest.target import ReadTarget, columns_of, read_weights
from hedgerow.inference.fitted import Fitted, fitted_of, publish
from hedgerow.params.table import Params, TreeEstimator
from hedgerow.storage.outputs import join_outputs, split_outputs
from hedgerow.storage.parameters import Decoder, Encoder
from hedgerow.storage.state import checked_score
from hedgerow.storage.values import Arrays, Once
from hedgerow.table import Schema
from hedgerow.table.schema import TargetLike
from hedgerow.tasks.multioutput.predictor import MultiOutputPredictor, MultiOutputTrace
from hedgerow.tasks.multioutput.target import MultiOutputInfo, MultiOutputTarget


class MultiOutput(SupervisedTask):
    """Multi-output classification or regression, with one forest for all outputs.

    Trees are grown for all outputs together, and evaluated per output. `Fitted.outputs` has an ordinary fit per output.

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
        self,
        model: TreeEstimator,
        y: TargetLike | None,
        sample_weight: ArrayLike | None,
        n_rows: int,
        before: Fitted | None = None,
        classes: ArrayLike | None = None,
    ) -> ReadTarget:
        """Read all columns and weights of rows with positive weight."""
        columns = columns_of(y) or []
        weights = read_weights(sample_weight, n_rows)
        for column, class_weight in zip(columns, _class_weights(model, len(columns)), strict=True):
            weights = self._inner.weigh_column(column, weights, n_rows, class_weight)
        earlier = [None] * len(columns) if before is None else before.outputs
        pairs = zip(columns, earlier, strict=True)
        read = [self._inner.read_column(model, column, weights, n_rows, each) for column, each in pairs]
        return ReadTarget(MultiOutputTarget(tuple(each.target for each in read)), read[0].kept)

    def first_classes(self, classes: Any) -> NoReturn:
        """Raise: `partial_fit` does not support multi-output models."""
        _refuse_more_rows()

    def read_more_y(
        self,
        model: TreeEstimator,
        y: TargetLike | None,
        sample_weight: ArrayLike | None,
        n_rows: int,
        before: Fitted,
        classes: ArrayLike | None = None,
    ) -> NoReturn:
        """Raise: `partial_fit` does not support multi-output models."""
        _refuse_more_rows()

    def growth(self, model: TreeEstimator, target: MultiOutputTarget, schema: Schema) -> GrowthParams:
        """Return the growth parameters."""
        if model.monotonic_cst is not None:
            raise ValueError(
                f"monotonic_cst must be None for multi-output y, got {model.monotonic_cst!r}. Fit a forest per output."
            )
        settings = self._inner.growth(model, target.outputs[0], schema)
        if not isinstance(settings.criterion, str) and settings.criterion.in_sklearn is None:
            allowed = (
                "'squared_error', 'absolute_error' or 'poisson'"
                if settings.criterion.of_numbers
                else "'gini' or 'entropy'"
            )
            raise ValueError(
                f"criterion must be {allowed} for multi-output y, got {model.criterion!r}. Fit a forest per output."
            )
        return settings

    def oob_trace(self, run: FitRun) -> MultiOutputTrace:
        """Return a trace of the mean out-of-bag error of the outputs."""
        return MultiOutputTrace([self._inner.oob_trace(each) for each in _each(run)])

    def oob_error(self, forest: Forest, run: FitRun) -> float:
        """Return the mean out-of-bag error of the outputs."""
        pairs = zip(forest.outputs(), _each(run), strict=True)
        return float(np.mean([self._inner.oob_error(output, each) for output, each in pairs]))

    def predictor(self, fitted: Fitted, params: Params, estimator: type) -> MultiOutputPredictor:
        """Return the predictor of all outputs."""
        return MultiOutputPredictor(self._inner.predictor, fitted, params, estimator)

    def dump(self, model: TreeEstimator) -> tuple[dict[str, Any], Arrays]:
        """Return the JSON and arrays of each output, and the common out-of-bag score."""
        outputs, arrays = join_outputs(self._inner.dump(output) for output in model.outputs_)
        score = Encoder().encode(fitted_of(model).figures.oob_score, "oob_score_")
        return {"outputs": outputs, "oob_score_": score}, arrays

    def load(self, estimator: type, given: dict[str, Any], arrays: Arrays, once: Once | None = None) -> Any:
        """Read a fitted model; all outputs share one table and one set of trees."""
        once = Once() if once is None else once
        models = [self._inner.load(estimator, *output, once) for output in split_outputs(given, arrays)]
        score = Decoder({}, 1).decode(given["oob_score_"])
        score = None if score is None else checked_score(score)
        return publish(models[0], _whole([fitted_of(model) for model in models], score))


def _whole(outputs: list[Fitted], score: float | None) -> Fitted:
    """Join the fits of all outputs; raise unless they have the same trees."""
    first = outputs[0]
    for output in outputs[1:]:
        same = output.forest.structure is first.forest.structure  # it was read once
        if (
            not same
            or output.bins is not first.bins
            or (output.seed, output.fingerprint) != (first.seed, first.fingerprint)
        ):
            raise ModelFileError("malformed 'outputs': all outputs must share table, trees and bags")
    predictions = [output.figures.oob_predictions for output in outputs]
    lengths = {None if each is None else len(each) for each in predictions}
    if len(lengths) > 1:
        raise ModelFileError(f"malformed 'outputs': numbers of out-of-bag predictions must agree, got {lengths}")
    leaves = MultiOutputLeaves(tuple(output.forest.evidence for output in outputs))
    info = MultiOutputInfo(first.info.names, tuple(output.info for output in outputs))
    figures = replace(first.figures, oob_score=score, oob_predictions=None)
    forest = Forest(first.forest.structure, leaves)
    return replace(first, forest=forest, info=info, figures=figures, outputs=tuple(outputs))


def _class_weights(model: TreeEstimator, n_outputs: int) -> list[Any]:
    """Return ``class_weight`` of each output."""
    given = model.get_params(deep=False).get("class_weight")
    if given == "balanced_subsample" or isinstance(given, dict):
        raise ValueError(f"class_weight must be None, 'balanced' or a list with one entry per output, got {given!r}.")
    if not isinstance(given, list):
        return [given] * n_outputs
    if len(given) != n_outputs:
        raise ValueError(
            f"class_weight must have one entry for each of {n_outputs} outputs, got {len(given)}: number of elements in"
            " class_weight should match number of outputs."
        )
    return given


def _each(run: FitRun) -> list[FitRun]:
    """Return the run of each output alone."""
    rows = run.rows
    return [replace(run, rows=replace(rows, target=target)) for target in rows.target.outputs]


def _refuse_more_rows() -> NoReturn:
    raise ValueError("partial_fit does not support multi-output models. Use model.outputs_[i].")
