"""Targets: protocols of the values to be predicted, and how y and weights are read."""

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
    """The target of n training rows: what a prediction type must know of them.

    A prediction type has a target of its own (``tasks/<type>/target.py``), made by `Task.read_y`; models are
    `ClassificationTarget` and `RegressionTarget`. Everything else handles targets by the members below, and learns from
    `TargetInfo` what stays of a target in a fitted model, and from `CoreTarget` what the core takes.
    """

    @property
    def kind(self) -> str:
        """The type of leaves, "classes" (counts) or "numbers" (moments); "several" for several outputs."""

    @property
    def n_rows(self) -> int:
        """n."""

    @property
    def truth(self) -> NDArray[Any]:
        """(n,): the value that is to be predicted; class numbers if leaves count classes."""

    @property
    def labels(self) -> NDArray[np.uint16] | None:
        """(n,): the cell of the leaf counts to which each row adds; None if leaves count only rows."""

    @property
    def weights(self) -> Floats | None:
        """(n,): the weights of the rows as given; None if all rows weigh the same."""

    @property
    def own(self) -> Floats | None:
        """(n, K): the counts that each row adds to its leaf, if a row adds to several cells; otherwise None."""

    @property
    def known(self) -> NDArray[np.bool_] | None:
        """(n,): whether the value of a row is certain; None if all are."""

    @property
    def identity(self) -> NDArray[Any]:
        """An array that is equal for two tables with the same target; a warm start compares its checksum."""

    @property
    def class_rows(self) -> tuple[float, ...]:
        """(K,): the number of rows of each cell of the leaf counts."""

    @property
    def info(self) -> TargetInfo:
        """The part of the target that a fitted model keeps."""

    def for_core(self) -> CoreTarget:
        """The target in the form in which the core takes it."""

    def take(self, rows: NDArray[Any]) -> Self:
        """The target of some rows, in the order given."""

    def concat(self, more: Self) -> Self:
        """The target of these rows followed by later rows (`partial_fit`)."""

    def weighing(self) -> Weighing:
        """How weights of later rows are rounded."""

    def losses(self, answer: Any, rows: NDArray[Any]) -> Floats:
        """Out-of-bag predictions for some of the rows (m,) -> (m,): the loss of each."""

    def standard_error(self, error: float, losses: Floats, n_rows: int) -> float:
        """Mean and losses of the rows predicted so far, number of all rows -> standard error of that mean."""


class Weighing(NamedTuple):
    """How weights and numbers of later rows are rounded, so that sums stay exact."""

    scale: float = 1.0  # a weight is first divided by this
    unit: float = FINEST_WEIGHT  # and then rounded to a multiple of this
    extremes: tuple[float, float] | None = None  # smallest and largest number of the first table of a regression


@dataclass(frozen=True, eq=False)
class TargetInfo:
    """The part of a target that a fitted model keeps; models are `ClassInfo` and `RangeInfo`.

    Parameters
    ----------
    names : (K,) array
        The names of the cells of the leaf counts: the classes, or "rows".
    """

    names: NDArray[Any]
    #: The same for each output, if there are several.
    outputs: ClassVar[tuple[Any, ...]] = ()

    def with_names(self, names: NDArray[Any], class_rows: Floats) -> TargetInfo:
        """The same with more names (K,), given the number of rows of each."""
        return replace(self, names=names)

    def joined(self, other: TargetInfo, class_rows: Floats) -> TargetInfo:
        """That of these rows and others, which has all names; `class_rows` (K,) are those of both together."""
        return other

    def counted(self, n_rows: int) -> tuple[tuple[float, ...], tuple[float, float] | None]:
        """Number of training rows -> that of each name, as far as it is known; and the extremes of a regression."""
        return (float(n_rows),), None

    def named(self, target: Target) -> NDArray[Any]:
        """The target of n rows -> (n,): the true value of each, as users name it."""
        return target.truth

    def renamed(self, rename: Callable[[NDArray[Any]], NDArray[Any]]) -> TargetInfo:
        """The same with readable names; numbers have no names."""
        return self


class CoreTarget(ABC):
    """The target of training rows in the form in which the core takes it, a dataclass of arrays and numbers.

    Models are `ClassLabels` (``kind`` "classes" in the core) and `RealTargets` ("numbers").
    """

    #: K, the number of cells of the leaf counts.
    n_classes: int
    #: Whether leaves have moments besides counts.
    of_numbers: ClassVar[bool] = False

    @abstractmethod
    def fields(self, criterion: Any) -> dict[str, Any]:
        """Name -> value: the ``kind`` of the target, its arrays, and the criterion of the splits."""

    @property
    def parts(self) -> tuple[CoreTarget, ...]:
        """The target of each output."""
        return (self,)


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
        check_total_weight(bool((weights > 0).any()))
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


def joined_weights(first: Floats | None, n_first: int, second: Floats | None, n_second: int) -> Floats | None:
    """Weights of rows and of later rows, None if each weighs one -> the weights of all."""
    if first is None and second is None:
        return None
    return np.concatenate([np.ones(n) if w is None else w for w, n in ((first, n_first), (second, n_second))])


def check_total_weight(weighs: bool) -> None:
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
