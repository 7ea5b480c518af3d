"""Predictor of multi-output models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.forest.forest import Forest
from hedgerow.inference.batch import Batch
from hedgerow.inference.fitted import Fitted
from hedgerow.inference.oob import Trace
from hedgerow.inference.predictor import Predictor
from hedgerow.params.table import Params
from hedgerow.table.bins import Codes
from hedgerow.table.schema import TargetLike

Floats = NDArray[np.float64]

#: Methods that return a list with the result of each output.
LISTED = (
    "belief_between",
    "bounds",
    "confidence",
    "credal_uncertainty",
    "distribution",
    "evidence",
    "interval",
    "jackknife",
    "mass",
    "probability",
    "quantiles",
    "sets",
    "uncertainty",
    "variance",
)


class MultiOutputPredictor(Predictor):
    """Predictor of a multi-output model, with an ordinary predictor per output.

    Parameters
    ----------
    make : callable
        `Task.predictor` of a single output.
    fitted, params, estimator
        As in `Predictor`.
    """

    kind = "several"

    def __init__(
        self, make: Callable[[Fitted, Params, type[Any]], Any], fitted: Fitted, params: Params, estimator: type[Any]
    ) -> None:
        super().__init__(fitted, params, estimator)
        self.outputs = [make(output, params, estimator) for output in fitted.outputs]
        self.takes_uncertain = self.outputs[0].takes_uncertain

    @property
    def wanted_features(self) -> NDArray[np.uint8] | None:
        """Features to encode in a wide table, (p,); None means all."""
        return self.outputs[0].wanted_features  # type: ignore[no-any-return]  # all outputs have the same trees

    @property
    def known_rows(self) -> Any:
        """Training rows, if the outputs know theirs; otherwise None."""
        return self.fitted.rows if self.outputs[0].known_rows is not None else None

    @property
    def classes(self) -> list[NDArray[np.generic]]:  # type: ignore[override]
        """Classes of each output."""
        return [output.classes for output in self.outputs]

    def labels(self, batch: Batch) -> NDArray[np.generic]:
        """Return the most probable class of each output, (n, m)."""
        return side_by_side([output.labels(batch) for output in self.outputs])

    def labels_and_sets(self, batch: Batch) -> tuple[NDArray[np.generic], list[NDArray[np.bool_]]]:
        """Return labels, (n, m), and the prediction sets of each output, (n, K) each."""
        labels, sets = zip(*(output.labels_and_sets(batch) for output in self.outputs), strict=True)
        return side_by_side(list(labels)), list(sets)

    def uncertainty_score(self, batch: Batch) -> Floats:
        """Return the mean uncertainty score of the outputs, (n,)."""
        return np.asarray(np.mean([output.uncertainty_score(batch) for output in self.outputs], axis=0))

    def klir_score(self, batch: Batch) -> Floats:
        """Return the mean of the outputs, (n,)."""
        return np.asarray(np.mean([output.klir_score(batch) for output in self.outputs], axis=0))

    def predicted(self, batch: Batch) -> Floats:
        """Return predicted targets, (n, m)."""
        return np.column_stack([output.predicted(batch) for output in self.outputs])

    def standard_deviation(self, codes: Codes) -> Floats:
        """Return standard deviations, (n, m)."""
        return np.column_stack([output.standard_deviation(codes) for output in self.outputs])

    def quantile_ranks(self, codes: Codes | None, y: TargetLike | None, *how: Any) -> Floats:
        """Return the rank of each target (n, m) in its predicted distribution, (n, m)."""
        numbers = np.asarray(y)
        if numbers.ndim != 2 or numbers.shape[1] != len(self.outputs):
            raise ValueError(f"y must have one column per output ({len(self.outputs)}), got shape {numbers.shape}.")
        return np.column_stack(
            [each.quantile_ranks(codes, column, *how) for each, column in zip(self.outputs, numbers.T, strict=True)]
        )

    def evaluate_oob(self, metric: Any) -> Fitted:
        """Return the fit with out-of-bag metrics of each output and of all together."""
        figures = self.fitted.figures
        alone = True if callable(metric) else metric  # a function scores all outputs together
        outputs = tuple(output.evaluate_oob(alone) for output in self.outputs)
        if metric and outputs[0].figures.oob_predictions is not None:
            figures = replace(figures, oob_score=self._oob_score(metric, outputs))
        return replace(self.fitted, outputs=outputs, figures=figures)

    def learn(self) -> None:
        """Resolve caution, tree weights, calibrator and decision of each output now."""
        for output in self.outputs:
            output.learn()

    def for_file(self) -> Fitted:
        """Return the fit without its training rows, as a pickle stores it."""
        outputs = tuple(output.for_file() for output in self.outputs)
        return replace(self.fitted.without_rows(), outputs=outputs)

    def _oob_score(self, metric: Any, outputs: tuple[Fitted, ...]) -> float:
        """Score all outputs together; for a named metric, return the mean."""
        if isinstance(metric, str):
            return float(np.mean([output.figures.oob_score for output in outputs]))
        rows = self.fitted.rows
        assert rows is not None
        seen = rows.oob_mask.number(self.forest.n_trees) > 0
        if not seen.any():
            return np.nan
        pairs = zip(self.outputs, outputs, strict=True)
        predicted = [output.named(_kept(fitted.figures.oob_predictions, rows.kept)[seen]) for output, fitted in pairs]
        each = zip(self.outputs, rows.target.outputs, strict=True)
        truth = [output.named_truth(target.truth[seen]) for output, target in each]
        score = metric if callable(metric) else self.outputs[0].whole_score
        return float(score(side_by_side(truth), side_by_side(predicted)))

    def __getattr__(self, name: str) -> Any:
        if name in LISTED:
            return lambda *given: [getattr(output, name)(*given) for output in self.outputs]
        raise AttributeError(
            f"{name} does not support multi-output models, got one with {len(self.fitted.outputs)} outputs. Use"
            " model.outputs_[i]."
        )


class MultiOutputTrace:
    """Mean out-of-bag error of all outputs after each tree."""

    def __init__(self, traces: list[Trace]) -> None:
        self._traces = traces

    @property
    def errors(self) -> list[float]:
        """Mean error after each tree."""
        return np.mean([trace.errors for trace in self._traces], axis=0).tolist()  # type: ignore[no-any-return]

    def extend(self, forest: Forest, n_threads: int = 1) -> None:
        """Add those trees of a forest that are not in the trace yet."""
        for trace, output in zip(self._traces, forest.outputs(), strict=True):
            trace.extend(output, n_threads)

    def standard_error(self, error: float) -> float:
        """Return the mean of the standard errors, because outputs may be correlated."""
        return float(np.mean([trace.standard_error(trace.errors[-1]) for trace in self._traces]))


def side_by_side(columns: list[Any]) -> NDArray[np.generic]:
    """Stack columns (n,) to (n, m); as objects if text and numbers are mixed."""
    columns = [np.asarray(column) for column in columns]
    if len({column.dtype.kind in "OUT" for column in columns}) > 1:
        columns = [column.astype(object) for column in columns]
    return np.column_stack(columns)


def _kept(predictions: Any, kept: NDArray[np.uint32] | None) -> Any:
    """Return the predictions of rows with positive weight."""
    return predictions if kept is None else predictions[kept]
