"""Target: what the rows of a training table are labelled with, as trees are grown on it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Labels:
    """What the rows of a training table are labelled with.

    Parameters
    ----------
    numbers : (n,) uint16, or (m,) where rows may be of several classes
        Class numbers.
    weights : like numbers, int64, or None
        Weights in fixed point, so that sums do not depend on their order.
    weight_unit : float
        What one unit of `weights` is worth.
    n_classes : int
        K.
    balance_bag : bool
        Whether classes weigh the same in every tree's bag (needs `weights`).
    rows : (m,) uint32 or None
        With uncertain labels, the row of each of m labels, ascending, the most probable label of a row first (needs
        `weights`). However many labels a row has, it is one row: in the bag as a whole, and counted once.
    """

    numbers: NDArray[np.uint16]
    weights: NDArray[np.int64] | None
    weight_unit: float
    n_classes: int
    balance_bag: bool = False
    rows: NDArray[np.uint32] | None = None


@dataclass(frozen=True)
class Numbers:
    """What the rows of a training table are worth, in a regression.

    Splits are compared on a grid: ``y = centre + unit * sums / amounts`` with whole `sums` and `amounts`, so that sums
    over rows are exact in a double and do not depend on their order. Leaves are computed from `values` themselves.

    Parameters
    ----------
    values : (n,) float64
        y as given.
    weights : (n,) float64 or None
        Weights as given; None where all rows weigh the same.
    sums, amounts : (n,) float64, (n,) float64 or None
        Weighted targets and weights, whole numbers of their units.
    centre, unit : float
        What they mean.
    low, high : float
        ``sums / amounts`` of every row lies well between.
    """

    values: NDArray[np.float64]
    weights: NDArray[np.float64] | None
    sums: NDArray[np.float64]
    amounts: NDArray[np.float64] | None
    centre: float
    unit: float
    low: float
    high: float
