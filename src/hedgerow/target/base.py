"""Target: what training rows are labelled with -> what trees are grown on, and what a model remembers of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: Weights of later rows are whole numbers of this, where the first table had none or whole ones.
FINEST_WEIGHT = 2.0**-24


class Target(Protocol):
    """The labels or numbers of n training rows: the only thing that differs between kinds of forests.

    `ClassTarget` and `NumberTarget` are the two there are.
    """

    @property
    def kind(self) -> str:
        """What is to be predicted: "classes" or "numbers"."""

    @property
    def n_rows(self) -> int:
        """n."""

    @property
    def labels(self) -> NDArray[np.uint16] | None:
        """(n,): class numbers, the most probable where they are uncertain; None of numbers."""

    @property
    def truth(self) -> NDArray[Any]:
        """(n,): what is to be predicted: class numbers, or numbers."""

    @property
    def own(self) -> Floats | None:
        """(n, K): with uncertain labels, what each row adds to its leaf."""

    @property
    def known(self) -> NDArray[np.bool_] | None:
        """(n,): with uncertain labels, which rows are of certain class."""

    @property
    def shares(self) -> Floats | None:
        """(n, K): with uncertain labels, expected shares of the classes, once they are known."""

    @property
    def identity(self) -> NDArray[Any]:
        """What two tables with the same labels share."""

    @property
    def class_rows(self) -> tuple[float, ...]:
        """How many rows there are of each class; of numbers, how many there are."""

    @property
    def about(self) -> About:
        """What a model remembers of the target when the rows are gone."""

    def for_core(self) -> Labels | Numbers:
        """What the core grows trees on."""

    def take(self, rows: NDArray[Any]) -> Self:
        """The target of some rows, in the order given."""

    def plus(self, later: Self) -> Self:
        """These rows, and after them rows that came later."""

    def weighing(self) -> Weighing:
        """How the weights of later rows are to be counted."""

    def losses(self, answer: Any, rows: NDArray[Any]) -> Floats:
        """What a forest says of some of the rows (m,) -> (m,): how wrong it is about each."""

    def standard_error(self, error: float, losses: Floats, n_rows: int) -> float:
        """Losses of the rows judged so far, of so many that can be -> how far their mean may be from the true error."""


class Weighing(NamedTuple):
    """How the weights and the numbers of later rows are counted, so that sums stay exact."""

    scale: float = 1.0  # what a weight of the user's is divided by
    unit: float = FINEST_WEIGHT  # what it is then rounded to
    extremes: tuple[float, float] | None = None  # of the first numbers of a regression


@dataclass(frozen=True, eq=False)
class About:
    """What a model remembers of its target.

    Parameters
    ----------
    names : (K,) array
        What the counts of a leaf are called: the classes, or "rows".
    """

    names: NDArray[Any]

    def joined(self, other: About, class_rows: Floats) -> About:
        """What is remembered of these rows and others, of which there are so many of each class (K,) together."""
        return other

    def counted(self, n_rows: int) -> tuple[tuple[float, ...], tuple[float, float] | None]:
        """Rows of each class among n training rows, as far as is known, and the extremes of numbers."""
        return (float(n_rows),), None


@dataclass(frozen=True, eq=False)
class AboutClasses(About):
    """Of classes: their shares in the training rows as well.

    Parameters
    ----------
    prior : (K,) float64
    """

    prior: Floats

    @classmethod
    def counting(cls, names: NDArray[Any], class_rows: Floats) -> AboutClasses:
        """The classes, and how many rows there are of each (K,); a class without rows counts as half a row."""
        counts = np.maximum(class_rows, 0.5)
        return cls(names, np.asarray(counts / counts.sum(), dtype=np.float64))

    def joined(self, other: About, class_rows: Floats) -> AboutClasses:
        """All classes, with their shares."""
        return AboutClasses.counting(other.names, class_rows)

    def counted(self, n_rows: int) -> tuple[tuple[float, ...], None]:
        """Rows of each class (K,); shares count half a row where a class has none."""
        for n_absent in range(len(self.prior) + 1):
            rows = np.rint(2 * self.prior * (n_rows + n_absent / 2)) / 2
            if (rows == 0.5).sum() == n_absent:
                break
        return tuple(np.where(rows == 0.5, 0.0, rows).tolist()), None


@dataclass(frozen=True, eq=False)
class AboutNumbers(About):
    """Of numbers: the smallest and the largest of them."""

    low: float
    high: float

    @classmethod
    def between(cls, low: float, high: float) -> AboutNumbers:
        """The extremes -> what is remembered."""
        return cls(np.array(["rows"]), float(low), float(high))

    def joined(self, other: Any, class_rows: Floats) -> AboutNumbers:
        """The extremes of both."""
        return AboutNumbers.between(min(self.low, other.low), max(self.high, other.high))

    def counted(self, n_rows: int) -> tuple[tuple[float, ...], tuple[float, float]]:
        """The rows, and the extremes."""
        return (float(n_rows),), (self.low, self.high)


@dataclass(frozen=True, eq=False)
class AboutRows(About):
    """Of rows without labels: the smallest and the largest value of each feature.

    Parameters
    ----------
    ranges : (p, 2) float64 or None
    """

    ranges: Floats | None = None


@dataclass(frozen=True)
class Labels:
    """The labels of training rows as the core takes them.

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

    #: Whether leaves predict numbers.
    of_numbers: ClassVar[bool] = False


@dataclass(frozen=True)
class Numbers:
    """The numbers of training rows, in a regression, as the core takes them.

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

    #: A leaf counts its rows, and predicts a number.
    n_classes: ClassVar[int] = 1
    of_numbers: ClassVar[bool] = True
