"""Number target: numbers and weights as given -> the numbers of training rows, on a grid whose sums are exact."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.target.base import RangeInfo, RealTargets, Weighing
from hedgerow.target.class_target import ReadTarget, joined_weights
from hedgerow.target.classes import read_weights
from hedgerow.target.numbers import numbers_on_grid, read_targets

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RegressionTarget:
    """The numbers of n training rows.

    Parameters
    ----------
    core : Numbers
        The numbers in the form in which the core takes them.
    weights : (n,) float64 or None
        The weights of the rows as given.
    criterion : str
        The criterion of the trees. The grid depends on it, and so does the error by which a forest is judged.
    """

    core: RealTargets
    weights: Floats | None = None
    criterion: str = "squared_error"

    kind: ClassVar[str] = "numbers"
    labels: ClassVar[None] = None
    own: ClassVar[None] = None
    known: ClassVar[None] = None
    shares: ClassVar[None] = None

    @property
    def n_rows(self) -> int:
        """n."""
        return len(self.core.values)

    @property
    def values(self) -> Floats:
        """(n,): the numbers as given."""
        return self.core.values

    @property
    def truth(self) -> Floats:
        """(n,): what is to be predicted."""
        return self.core.values

    @property
    def identity(self) -> Floats:
        """An array that is equal for two tables with the same numbers."""
        return self.core.values

    @property
    def class_rows(self) -> tuple[float, ...]:
        """The number of rows."""
        return (float(self.n_rows),)

    @property
    def info(self) -> RangeInfo:
        """The smallest and the largest number."""
        return RangeInfo.between(self.values.min(), self.values.max())

    def for_core(self) -> RealTargets:
        """The numbers in the form in which the core takes them."""
        return self.core

    def take(self, rows: NDArray[Any]) -> RegressionTarget:
        """The target of some rows, in the order given."""
        return number_target(self.values[rows], None if self.weights is None else self.weights[rows], self.criterion)

    def plus(self, later: RegressionTarget) -> RegressionTarget:
        """The target of these rows followed by later rows."""
        weights = joined_weights(self.weights, self.n_rows, later.weights, later.n_rows)
        return number_target(np.concatenate([self.values, later.values]), weights, self.criterion)

    def losses(self, answer: Any, rows: NDArray[Any]) -> Floats:
        """Predictions for some of the rows (m,) -> (m,): squared errors, or absolute errors if trees reduce these."""
        off = np.ravel(answer) - self.values[rows]
        return np.asarray(np.abs(off) if self.criterion == "absolute_error" else off**2)

    def standard_error(self, error: float, losses: Floats, n_rows: int) -> float:
        """The standard error of the mean of the losses so far."""
        return float(losses.std() / math.sqrt(max(1, len(losses))))

    def weighing(self) -> Weighing:
        """How weights and numbers of later rows are rounded."""
        scale, held = 1.0, self.core.weights
        if self.weights is not None and (held is None or held[0] != self.weights[0]):
            scale = float(self.weights.max())
        return Weighing(scale, extremes=(float(self.values.min()), float(self.values.max())))


def read_number_target(y: Any, sample_weight: Any, n_rows: int, criterion: str) -> ReadTarget:
    """Numbers and weights -> the target of the rows whose weight is above zero."""
    weights = read_weights(sample_weight, n_rows)
    kept = None if weights is None or (weights > 0).all() else np.flatnonzero(weights).astype(np.uint32)
    values = read_targets(y, n_rows, criterion)
    if kept is not None and weights is not None:
        values, weights = values[kept], weights[kept]
    return ReadTarget(number_target(values, weights, criterion), kept)


def number_target(values: Floats, weights: Floats | None, criterion: str) -> RegressionTarget:
    """Numbers (n,) and weights above zero (n,) or None -> the target."""
    core = numbers_on_grid(values, weights, centred=criterion != "poisson")
    return RegressionTarget(core, weights, criterion)
