"""Target: the labels or numbers of training rows -> what trees are grown on, and what a model remembers of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Protocol, Self

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hedgerow.errors import SparseTargetError
from hedgerow.labels import read_labels

Floats = NDArray[np.float64]

#: Weights of later rows are multiples of this, if the weights of the first table were whole numbers or absent.
FINEST_WEIGHT = 2.0**-24


class Target(Protocol):
    """The labels or numbers of n training rows, and all that depends on which of the two they are.

    `ClassificationTarget` and `RegressionTarget` have one output; `MultiOutputTarget` is made of these.
    """

    @property
    def kind(self) -> str:
        """What is to be predicted: "classes" or "numbers"."""

    @property
    def n_rows(self) -> int:
        """n."""

    @property
    def labels(self) -> NDArray[np.uint16] | None:
        """(n,): class numbers, of the most probable class if a label is uncertain; None in a regression."""

    @property
    def truth(self) -> NDArray[Any]:
        """(n,): what is to be predicted, which is class numbers in a classification."""

    @property
    def own(self) -> Floats | None:
        """(n, K): what each row adds to its leaf if labels are uncertain, otherwise None."""

    @property
    def known(self) -> NDArray[np.bool_] | None:
        """(n,): which rows have a certain class if labels are uncertain, otherwise None."""

    @property
    def shares(self) -> Floats | None:
        """(n, K): expected shares of the classes if labels are uncertain; None until they are known."""

    @property
    def identity(self) -> NDArray[Any]:
        """An array that is equal for two tables with the same labels or numbers."""

    @property
    def class_rows(self) -> tuple[float, ...]:
        """The number of rows of each class; in a regression, the number of all rows."""

    @property
    def info(self) -> TargetInfo:
        """What a model remembers of the target without its rows."""

    def for_core(self) -> CoreTarget:
        """The target in the form in which the core takes it."""

    def take(self, rows: NDArray[Any]) -> Self:
        """The target of some rows, in the order given."""

    def plus(self, later: Self) -> Self:
        """The target of these rows followed by later rows."""

    def weighing(self) -> Weighing:
        """How weights of later rows are rounded."""

    def losses(self, answer: Any, rows: NDArray[Any]) -> Floats:
        """Answers of a forest about some of the rows (m,) -> (m,): how wrong each answer is."""

    def standard_error(self, error: float, losses: Floats, n_rows: int) -> float:
        """Mean and losses of the rows judged so far, number of all rows to judge -> standard error of that mean."""


class Weighing(NamedTuple):
    """How weights and numbers of later rows are rounded, so that sums stay exact."""

    scale: float = 1.0  # a weight is first divided by this
    unit: float = FINEST_WEIGHT  # and then rounded to a multiple of this
    extremes: tuple[float, float] | None = None  # smallest and largest number of the first table of a regression


@dataclass(frozen=True, eq=False)
class TargetInfo:
    """What a model remembers of its target.

    Parameters
    ----------
    names : (K,) array
        The names of the counts of a leaf: the classes, or "rows".
    """

    names: NDArray[Any]
    #: What is remembered of each output, if there are several.
    outputs: ClassVar[tuple[Any, ...]] = ()

    def joined(self, other: TargetInfo, class_rows: Floats) -> TargetInfo:
        """What is remembered of these rows and others, given how many rows of each class (K,) there are together."""
        return other

    def counted(self, n_rows: int) -> tuple[tuple[float, ...], tuple[float, float] | None]:
        """How many of n training rows each class has, as far as it is known, and the extremes of a regression."""
        return (float(n_rows),), None

    def named(self, target: Target) -> NDArray[Any]:
        """The target of n rows -> (n,): what is true of each, as users name it."""
        return target.truth

    def renamed(self, rename: Callable[[NDArray[Any]], NDArray[Any]]) -> TargetInfo:
        """The same with other names of classes; numbers have no names."""
        return self


@dataclass(frozen=True, eq=False)
class ClassInfo(TargetInfo):
    """What a model remembers of classes: their names and their shares.

    Parameters
    ----------
    prior : (K,) float64
        The shares of the classes in the training rows.
    """

    prior: Floats

    @classmethod
    def counting(cls, names: NDArray[Any], class_rows: Floats) -> ClassInfo:
        """The classes, and the number of rows of each (K,); a class without rows counts as half a row."""
        counts = np.maximum(class_rows, 0.5)
        return cls(names, np.asarray(counts / counts.sum(), dtype=np.float64))

    def numbers_of(self, y: Any) -> NDArray[np.int64]:
        """Classes (n,) -> their numbers (n,); refused if one is not known."""
        given = np.asarray(y)
        numbers = np.minimum(np.searchsorted(self.names, given), len(self.names) - 1)
        unknown = self.names[numbers] != given
        if unknown.any():
            other = given[unknown].tolist()[0]
            raise ValueError(f"y must hold classes of the forest, got {other!r}; leave y out to use predicted classes")
        return numbers

    def joined(self, other: TargetInfo, class_rows: Floats) -> ClassInfo:
        """All classes with their shares."""
        return ClassInfo.counting(other.names, class_rows)

    def renamed(self, rename: Callable[[NDArray[Any]], NDArray[Any]]) -> ClassInfo:
        """The same with other names of the classes, in their order."""
        return replace(self, names=rename(self.names))

    def counted(self, n_rows: int) -> tuple[tuple[float, ...], None]:
        """Rows of each class (K,); the half row that stands for a class without rows is taken back."""
        for n_absent in range(len(self.prior) + 1):
            rows = np.rint(2 * self.prior * (n_rows + n_absent / 2)) / 2
            if (rows == 0.5).sum() == n_absent:
                break
        return tuple(np.where(rows == 0.5, 0.0, rows).tolist()), None

    def named(self, target: Target) -> NDArray[Any]:
        """(n,): the class of each row; None where the label is uncertain."""
        labels: NDArray[Any] = self.names[target.truth]
        if target.known is not None:
            labels = labels.astype(object)
            labels[~target.known] = None
        return labels


@dataclass(frozen=True, eq=False)
class RangeInfo(TargetInfo):
    """What a model remembers of numbers: the smallest and the largest."""

    low: float
    high: float

    @classmethod
    def between(cls, low: float, high: float) -> RangeInfo:
        """The smallest and the largest number -> what is remembered."""
        return cls(np.array(["rows"]), float(low), float(high))

    def joined(self, other: Any, class_rows: Floats) -> RangeInfo:
        """The smallest and the largest number of both."""
        return RangeInfo.between(min(self.low, other.low), max(self.high, other.high))

    def counted(self, n_rows: int) -> tuple[tuple[float, ...], tuple[float, float]]:
        """The number of rows, and the smallest and the largest number."""
        return (float(n_rows),), (self.low, self.high)


@dataclass(frozen=True, eq=False)
class MultiOutputInfo(TargetInfo):
    """What a model remembers of several outputs, in the order of the columns of y; `names` are those of the first."""

    outputs: tuple[TargetInfo, ...]  # type: ignore[misc]


@dataclass(frozen=True, eq=False)
class FeatureRanges(TargetInfo):
    """What a model remembers of rows without labels: the smallest and the largest value of each feature.

    Parameters
    ----------
    ranges : (p, 2) float64 or None
        The smallest and the largest value of each feature.
    """

    ranges: Floats | None = None


class CoreTarget(ABC):
    """The target of training rows in the form in which the core takes it."""

    #: The number of classes that a leaf counts.
    n_classes: int

    @abstractmethod
    def fields(self, criterion: Any) -> dict[str, Any]:
        """Name -> value: the target, and the criterion of the splits."""

    @property
    def parts(self) -> tuple[Any, ...]:
        """The target of each output."""
        return (self,)


@dataclass(frozen=True)
class ClassLabels(CoreTarget):
    """The labels of training rows in the form in which the core takes them.

    Parameters
    ----------
    numbers : (n,) uint16, or (m,) if a row may have several labels
        Class numbers.
    weights : like numbers, int64, or None
        Weights in fixed point, so that sums do not depend on the order of the rows.
    weight_unit : float
        The weight that one unit of `weights` stands for.
    n_classes : int
        K.
    balance_bag : bool
        Whether all classes weigh the same in the bag of every tree (needs `weights`).
    rows : (m,) uint32 or None
        The row of each of m labels if labels are uncertain: in ascending order, the most probable label of a row first
        (needs `weights`). A row with several labels is still one row: it is in a bag as a whole, and it counts once.
    """

    numbers: NDArray[np.uint16]
    weights: NDArray[np.int64] | None
    weight_unit: float
    n_classes: int
    balance_bag: bool = False
    rows: NDArray[np.uint32] | None = None

    #: Whether leaves predict a number.
    of_numbers: ClassVar[bool] = False

    def take(self, rows: NDArray[Any]) -> ClassLabels:
        """The labels of some rows; in ascending order if rows can have several labels."""
        kept, of = rows, None
        if self.rows is not None:
            kept = np.flatnonzero(np.isin(self.rows, rows))
            of = np.searchsorted(rows, self.rows[kept]).astype(np.uint32)
        weights = None if self.weights is None else self.weights[kept]
        return replace(self, numbers=self.numbers[kept], weights=weights, rows=of)

    def fields(self, criterion: Any) -> dict[str, Any]:
        """The labels, and what the criterion is called in the core, with its parameters."""
        held = {name: getattr(self, name) for name in ("weights", "rows", "n_classes", "weight_unit", "balance_bag")}
        known: dict[str, Any] = criterion.in_core(self.n_classes)
        return {"kind": "classes", "labels": self.numbers} | held | known | {"criterion": known["name"]}


@dataclass(frozen=True)
class RealTargets(CoreTarget):
    """The targets of a regression in the form in which the core takes them.

    Splits are compared on a grid: ``y = centre + unit * sums / amounts``, where `sums` and `amounts` are whole numbers.
    So sums over rows are exact in a double, and do not depend on the order of the rows. Leaves are computed from
    `values`, which are not rounded.

    Parameters
    ----------
    values : (n,) float64
        The numbers as given.
    weights : (n,) float64 or None
        Weights as given; None if all rows weigh the same.
    sums, amounts : (n,) float64, (n,) float64 or None
        Weighted numbers and weights, rounded to whole numbers.
    centre, unit : float
        Where the grid is centred, and how wide one step of it is.
    low, high : float
        Bounds between which ``sums / amounts`` of every row lies, with some distance.
    """

    values: NDArray[np.float64]
    weights: NDArray[np.float64] | None
    sums: NDArray[np.float64]
    amounts: NDArray[np.float64] | None
    centre: float
    unit: float
    low: float
    high: float

    #: A leaf has one count, its rows, and predicts a number.
    n_classes: ClassVar[int] = 1  # type: ignore[misc]
    of_numbers: ClassVar[bool] = True

    def fields(self, criterion: Any) -> dict[str, Any]:
        """The numbers, and the name of the criterion."""
        return {"kind": "numbers", "criterion": criterion} | vars(self)


@dataclass(frozen=True)
class MultiOutputCore(CoreTarget):
    """The targets of rows with several outputs in the form in which the core takes them: each output as if alone.

    All outputs give a row the same weight.
    """

    outputs: tuple[ClassLabels | RealTargets, ...]

    @property
    def n_classes(self) -> int:  # type: ignore[override]
        """Classes of the first output, which stands for all where rows are counted."""
        return self.outputs[0].n_classes

    @property
    def parts(self) -> tuple[Any, ...]:
        """The target of each output."""
        return self.outputs

    def fields(self, criterion: Any) -> dict[str, Any]:
        """The targets of all outputs; the names of one begin with its number."""
        each: dict[str, Any] = {"kind": "several", "n_outputs": len(self.outputs)}
        for number, output in enumerate(self.outputs):
            each |= {f"{number}.{name}": value for name, value in output.fields(criterion).items()}
        return each


def columns_of(y: Any) -> list[Any] | None:
    """y as given -> its columns, one for each output; None if there is only one output."""
    if sparse.issparse(y):
        raise SparseTargetError(
            "y must be a dense array, got a sparse one: sparse multilabel-indicator for y is not supported. Pass"
            " y.toarray()"
        )
    if y is None or read_labels(y) is not None:
        return None
    frame = nw.from_native(y, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return None if len(frame.columns) == 1 else [column.to_native() for column in frame.iter_columns()]
    if isinstance(y, list | tuple) and len(y) > 0 and isinstance(y[0], list | tuple | np.ndarray):
        if len({len(row) for row in y}) > 1:
            raise ValueError("y must have the same number of outputs in every row, got rows of different lengths")
        y = np.array(y)
    if isinstance(y, np.ndarray) and y.ndim > 2:
        raise ValueError(f"y must have one or two axes, rows and perhaps outputs, got shape {y.shape}")
    if isinstance(y, np.ndarray) and y.ndim == 2 and y.shape[1] > 1:
        return [y[:, number] for number in range(y.shape[1])]
    return None


def refuse_masked(values: Any, name: str) -> None:
    """Refuse a masked array with masked cells, because NumPy would use the values under the mask."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise ValueError(f"{name} must not hold missing values, got {values.mask.sum()} masked ones; drop those rows")


def read_weights(sample_weight: Any, n_rows: int) -> NDArray[np.float64] | None:
    """Weights as given -> (n,) float64, finite, not negative, at least one above zero; None stays None."""
    weights = read_weights_of_part(sample_weight, n_rows)
    if weights is not None:
        check_some_weight(bool((weights > 0).any()))
    return weights


def read_weights_of_part(sample_weight: Any, n_rows: int) -> NDArray[np.float64] | None:
    """Weights of a part of a table -> (n,) float64, finite, not negative, perhaps all zero; None stays None."""
    if sample_weight is None:
        return None
    refuse_masked(sample_weight, "sample_weight")
    given = np.asarray(sample_weight)
    if given.dtype.kind == "c":
        raise ValueError("sample_weight must be real numbers, got complex ones; Complex data not supported")
    weights = given.astype(np.float64, copy=False)
    if weights.ndim == 0:
        weights = np.full(n_rows, float(weights))
    if weights.ndim != 1:
        raise ValueError(
            f"sample_weight must be 1D array or scalar, got {weights.ndim} dimensions; Sample weights must be 1D"
        )
    if len(weights) != n_rows:
        raise ValueError(
            f"sample_weight.shape == {weights.shape}, expected {(n_rows,)}: it must have one weight for each row of X"
        )
    if not np.isfinite(weights).all():
        raise ValueError("sample_weight must be finite, got NaN or infinity; replace those weights or drop the rows")
    if (weights < 0).any():
        raise ValueError(f"sample_weight must not be negative, got {weights.min():g}; use 0 to leave a row out")
    return weights


def check_some_weight(weighs: bool) -> None:
    """Refuse a table in which every row has the weight 0."""
    if not weighs:
        raise ValueError("sample_weight must have at least one weight above zero, got only zeros")


def among_classes(found: NDArray[Any], declared: NDArray[Any]) -> NDArray[np.intp]:
    """Classes that occur (k,), classes that may occur (K,) -> the position of the first among the second (k,).

    Raises
    ------
    ValueError
        If a class occurs that may not.
    """
    places = {name: place for place, name in enumerate(declared.tolist())}
    unknown = [name for name in found.tolist() if name not in places]
    if unknown:
        raise ValueError(
            f"y must hold classes that are known, {declared.tolist()[:10]}, got {unknown[:5]}; declare new ones with"
            " the parameter classes"
        )
    return np.array([places[name] for name in found.tolist()], dtype=np.intp)


class ReadTarget(NamedTuple):
    """The target of the rows whose weight is above zero, and which rows these are (None for all)."""

    target: Any
    kept: NDArray[np.uint32] | None
