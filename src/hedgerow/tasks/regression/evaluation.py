"""Evaluation of a regressor on held-out rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.metrics.tally import RegressionTally, tally_numbers

if TYPE_CHECKING:
    from hedgerow.tasks.regression.predictor import RegressionPredictor


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
    predictor: RegressionPredictor, table: Any, y: NDArray[Any], coverage: float | None
) -> RegressionEvaluation:
    """Compare predictions and, given a `coverage`, intervals with true targets."""
    batch = predictor.read(table)
    interval = None if coverage is None else predictor.interval(batch, coverage)
    return RegressionEvaluation(np.asarray(y, dtype=np.float64), predictor.predicted(batch), interval)
