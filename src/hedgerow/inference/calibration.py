"""Cross-fitted calibration of out-of-bag opinions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.belief.calibrate import (
    Calibration,
    Views,
    cross_fitted,
    learn_calibrator,
    rows_to_learn_on,
    with_probability,
)
from hedgerow.belief.opinion import Opinion
from hedgerow.rules import Rule

Floats = NDArray[np.float64]

#: Number of rows calibrated at a time.
CALIBRATED_ROWS = 1024


class CrossCalibration:
    """Calibration of each row by a calibrator fitted without it.

    The last probabilities are cached, because they do not depend on caution, of which many values are tried.
    """

    def __init__(self) -> None:
        self._last: tuple[Floats, Floats] | None = None

    def __call__(
        self,
        opinion: Opinion,
        labels: NDArray[Any],
        weights: NDArray[Any] | None,
        groups: NDArray[Any] | None = None,
        views: Views | None = None,
    ) -> Opinion:
        """Return calibrated opinions, given classes, weights and groups, (n,) each, and the views of opinions."""
        probability, last = given_to_calibrators(opinion, views), self._last
        if last is None or not np.array_equal(last[0], probability):
            calibrated = _calibrated_by_others(probability, labels.astype(np.int64), weights, groups, views)
            self._last = last = probability, calibrated
        return opinion if last[1] is probability else with_probability(opinion, last[1])


def given_to_calibrators(opinion: Opinion, views: Views | None) -> Floats:
    """Return the probabilities (n, K), or those of `views` (n, V · K), on which calibrators act."""
    if views is None:
        return opinion.probability
    assert opinion.views is not None
    return opinion.views


@dataclass(frozen=True, eq=False)
class CrossCalibrated:
    """A calibrator fitted on some rows, and their cross-fitted probabilities."""

    learned: Calibration
    some: NDArray[np.int64]  # (m,), ascending
    calibrated: Floats  # (m, K)

    @classmethod
    def learned_on(
        cls,
        some: NDArray[np.int64],
        probability: Floats,
        labels: NDArray[Any],
        weights: NDArray[Any] | None,
        groups: NDArray[Any] | None = None,
        views: Views | None = None,
    ) -> CrossCalibrated:
        """Fit to rows (m,) with probabilities (m, K) or (m, V · K), classes, weights and groups."""
        of_some = labels.astype(np.int64), None if weights is None else weights.astype(np.float64), groups
        learned = learn_calibrator(probability, *of_some, views=views)
        return cls(learned, some, cross_fitted(probability, *of_some, start=learned, views=views))

    def of(self, probability: Floats, rows: NDArray[np.int64]) -> Floats:
        """Return calibrated probabilities (n, K) of rows (n,).

        Return the same array if there is no calibrator.
        """
        if self.learned.why:
            return probability
        found = self.learned.of(probability)
        place = np.minimum(np.searchsorted(self.some, rows), len(self.some) - 1)
        own = self.some[place] == rows
        found[own] = self.calibrated[place[own]]
        return found


def cross_calibrated(
    probability: Floats,
    rows: NDArray[np.int64],
    labels: NDArray[Any],
    weights: NDArray[Any] | None,
    groups: NDArray[Any] | None = None,
) -> None:
    """Calibrate the probabilities (n, K) of some rows (m,) in place, cross-fitted.

    Labels, weights and groups are those of all n rows.
    """
    some = rows[rows_to_learn_on(len(rows), probability.shape[1])]
    of_some = [each if each is None else each[some] for each in (weights, groups)]
    found = CrossCalibrated.learned_on(some, probability[some], labels[some], of_some[0], of_some[1])
    if not found.learned.why:
        for part in np.split(rows, range(CALIBRATED_ROWS, len(rows), CALIBRATED_ROWS)):
            probability[part] = found.of(probability[part], part)


def _calibrated_by_others(
    probability: Floats,
    labels: NDArray[np.int64],
    weights: NDArray[Any] | None,
    groups: NDArray[Any] | None,
    views: Views | None,
) -> Floats:
    """Return cross-fitted probabilities (n, K); the same array without a calibrator."""
    n_rows, width = probability.shape
    some = rows_to_learn_on(n_rows, width if views is None else width // views.number)
    of_some = [each if each is None else each[some] for each in (weights, groups)]
    found = CrossCalibrated.learned_on(some, probability[some], labels[some], of_some[0], of_some[1], views)
    return found.of(probability, np.arange(len(probability)))


def calibration_obstacle(rule: Rule) -> str:
    """Return the reason why the probabilities of a rule are not calibrated.

    Return an empty string if they are.
    """
    if rule.chooses:
        return f"the rule {rule.name} chooses prediction sets itself"
    return "" if rule.calibrates else f"the probabilities of the rule {rule.name} depend on caution or are products"
