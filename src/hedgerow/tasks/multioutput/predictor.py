"""Predictors of models of several outputs."""

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

Floats = NDArray[np.float64]

#: Questions whose answer is a list, with the answer of an ordinary model for each output.
LISTED = (
    "bounds",
    "confidence",
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
    """The predictor of a model of several outputs, with an ordinary predictor for each of them.

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
        """(p,): which features are encoded, if the table is wide; None means all."""
        return self.outputs[0].wanted_features  # type: ignore[no-any-return]  # all outputs have the same trees

    @property
    def known_rows(self) -> Any:
        """The training rows, if questions about them can be answered; otherwise None."""
        return self.fitted.rows if self.outputs[0].known_rows is not None else None

    @property
    def classes(self) -> list[NDArray[Any]]:  # type: ignore[override]
        """The classes of each output."""
        return [output.classes for output in self.outputs]

    def labels(self, batch: Batch) -> NDArray[Any]:
        """(n, m): the most probable class of each output."""
        return side_by_side([output.labels(batch) for output in self.outputs])

    def labels_and_sets(self, batch: Batch) -> tuple[NDArray[Any], list[NDArray[np.bool_]]]:
        """(n, m), and for each output (n, K): the classes that remain."""
        labels, sets = zip(*(output.labels_and_sets(batch) for output in self.outputs), strict=True)
        return side_by_side(list(labels)), list(sets)

    def uncertainty_score(self, batch: Batch) -> Floats:
        """Return the mean over outputs of their uncertainty scores, (n,)."""
        return np.asarray(np.mean([output.uncertainty_score(batch) for output in self.outputs], axis=0))

    def predicted(self, batch: Batch) -> Floats:
        """(n, m): the predicted numbers."""
        return np.column_stack([output.predicted(batch) for output in self.outputs])

    def standard_deviation(self, codes: Codes) -> Floats:
        """Codes (p, n) -> (n, m)."""
        return np.column_stack([output.standard_deviation(codes) for output in self.outputs])

    def quantile_ranks(self, codes: Codes | None, y: Any, *how: Any) -> Floats:
        """Codes (p, n), numbers (n, m) and how they are ranked -> (n, m)."""
        numbers = np.asarray(y)
        if numbers.ndim != 2 or numbers.shape[1] != len(self.outputs):
            raise ValueError(
                f"y must have a column for each of the {len(self.outputs)} outputs, got shape {numbers.shape}"
            )
        return np.column_stack(
            [each.quantile_ranks(codes, column, *how) for each, column in zip(self.outputs, numbers.T, strict=True)]
        )

    def evaluate_oob(self, metric: Any) -> Fitted:
        """Return the fit with its out-of-bag metrics, of each output and of all outputs together."""
        figures = self.fitted.figures
        alone = True if callable(metric) else metric  # a function scores all outputs together
        outputs = tuple(output.evaluate_oob(alone) for output in self.outputs)
        if metric and outputs[0].figures.oob_predictions is not None:
            figures = replace(figures, oob_score=self._oob_score(metric, outputs))
        return replace(self.fitted, outputs=outputs, figures=figures)

    def learn(self) -> None:
        """Choose caution, tree weights and calibration of each output now, if the current parameters need them."""
        for output in self.outputs:
            output.learn()

    def for_file(self) -> Fitted:
        """The fit without its training rows, as a pickle stores it."""
        outputs = tuple(output.for_file() for output in self.outputs)
        return replace(self.fitted.without_rows(), outputs=outputs)

    def _oob_score(self, metric: Any, outputs: tuple[Fitted, ...]) -> float:
        """The score of all outputs: by a function, or as `score` computes it; for the name of a metric, the mean."""
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
            f"{name} must be asked of a model of one output, got one of {len(self.fitted.outputs)}; use one of its"
            " `outputs_`, which are ordinary models of the same trees"
        )


class MultiOutputTrace:
    """The out-of-bag error of a forest of several outputs after each of its trees: the mean over the outputs."""

    def __init__(self, traces: list[Trace]) -> None:
        self._traces = traces

    @property
    def errors(self) -> list[float]:
        """After each tree."""
        return np.mean([trace.errors for trace in self._traces], axis=0).tolist()  # type: ignore[no-any-return]

    def extend(self, forest: Forest, n_threads: int = 1) -> None:
        """Add the trees of a forest that are not in the trace yet."""
        for trace, output in zip(self._traces, forest.outputs(), strict=True):
            trace.extend(output, n_threads)

    def standard_error(self, error: float) -> float:
        """The standard error of the error; the errors of outputs may be correlated."""
        return float(np.mean([trace.standard_error(trace.errors[-1]) for trace in self._traces]))


def side_by_side(columns: list[Any]) -> NDArray[Any]:
    """Columns (n,) -> (n, m); an array of objects if some columns are text and others numbers."""
    columns = [np.asarray(column) for column in columns]
    if len({column.dtype.kind in "OUT" for column in columns}) > 1:
        columns = [column.astype(object) for column in columns]
    return np.column_stack(columns)


def _kept(predictions: Any, kept: NDArray[np.uint32] | None) -> Any:
    """Answers about all rows that were given -> answers about the rows whose weight is above zero."""
    return predictions if kept is None else predictions[kept]
