"""Predictions of a regressor as columns, and evaluation on held-out rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.inference.batch import Batch
from hedgerow.inference.columns import predicted_columns
from hedgerow.metrics.tally import RegressionTally, tally_numbers
from hedgerow.table.schema import Array, TableLike

if TYPE_CHECKING:
    from hedgerow.tasks.regression.predictor import RegressionPredictor


Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RegressionEvaluation:
    """Predictions of a regressor for n rows, and the true targets."""

    truth: NDArray[np.float64]  # (n,)
    predicted: NDArray[np.float64]  # (n,)
    interval: NDArray[np.float64] | None  # (n, 2)

    @property
    def tally(self) -> RegressionTally:
        """Tally of predictions and intervals."""
        return tally_numbers(self.truth, self.predicted, self.interval)

    def group(self, rows: NDArray[np.bool_]) -> dict[str, Any]:
        """Return metrics of the selected rows, (n,)."""
        interval = None if self.interval is None else self.interval[rows]
        return tally_numbers(self.truth[rows], self.predicted[rows], interval).figures()


def evaluate_regressor(
    predictor: RegressionPredictor, table: Any, y: Array, coverage: float | None
) -> RegressionEvaluation:
    """Compare predictions and, given a `coverage`, intervals with true targets."""
    batch = predictor.read(table)
    interval = None if coverage is None else predictor.interval(batch, coverage)
    return RegressionEvaluation(np.asarray(y, dtype=np.float64), predictor.predicted(batch), interval)


# ---- Predictions of a regressor as columns ---------------------------------------------------------------------------


@dataclass(frozen=True)
class RegressionColumns:
    """Predictions of a regressor for n rows."""

    columns: dict[str, Floats]  # (n,) each

    @property
    def names(self) -> tuple[str, ...]:
        """Column names in output order."""
        return tuple(self.columns)

    @property
    def json_names(self) -> tuple[str, ...]:
        """Keys of a row in JSON."""
        return self.names

    @property
    def n_undecided(self) -> int:
        """Zero: a regressor never abstains."""
        return 0

    def numbers(self) -> list[Floats]:
        """Return all columns, which are numeric."""
        return list(self.columns.values())

    def texts(self) -> list[list[Any]]:
        """Return no text columns."""
        return []

    def typed(self) -> list[list[Any]]:
        """Return no text columns."""
        return []

    def objects(self) -> Iterator[dict[str, Any]]:
        """Yield one dictionary per row, for JSON."""
        for row in np.column_stack(self.numbers()).tolist():
            yield dict(zip(self.names, row, strict=True))


def regression_columns(predictor: RegressionPredictor, X: TableLike, coverage: float) -> RegressionColumns:
    """Predict targets, intervals, bounds, deviations and, if available, novelty."""

    def predict(batch: Batch) -> dict[str, Any]:
        columns: dict[str, Floats] = {"prediction": predictor.predicted(batch)}
        if predictor.has_residuals:
            lower, upper = predictor.interval(batch, coverage).T
            columns |= {"lower": lower, "upper": upper}
        mean_lower, mean_upper = predictor.bounds(batch).T
        variances = predictor.variance(batch.codes)._asdict()
        deviations = {f"{part}_std": np.sqrt(variance) for part, variance in variances.items()}
        columns |= {"mean_lower": mean_lower, "mean_upper": mean_upper} | deviations
        return columns if batch.novelty is None else columns | {"novelty": batch.novelty.p_value}

    return RegressionColumns(predicted_columns(predictor, X, predict))
