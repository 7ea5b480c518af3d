"""Evaluation of a regressor on other rows."""

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
    """The predictions of a regressor about n rows, and their true targets."""

    truth: NDArray[np.float64]  # (n,)
    predicted: NDArray[np.float64]  # (n,)
    interval: NDArray[np.float64] | None  # (n, 2)

    @property
    def tally(self) -> RegressionTally:
        """Sums from which all figures follow."""
        return tally_numbers(self.truth, self.predicted, self.interval)

    def group(self, rows: NDArray[np.bool_]) -> dict[str, Any]:
        """Figures of some rows (n,)."""
        interval = None if self.interval is None else self.interval[rows]
        return tally_numbers(self.truth[rows], self.predicted[rows], interval).figures()


def evaluate_regressor(
    predictor: RegressionPredictor, table: Any, y: NDArray[Any], coverage: float | None
) -> RegressionEvaluation:
    """Compare predictions and intervals with the true targets (n,); None means that there are no intervals."""
    batch = predictor.read(table)
    interval = None if coverage is None else predictor.interval(batch, coverage)
    return RegressionEvaluation(np.asarray(y, dtype=np.float64), predictor.predicted(batch), interval)
