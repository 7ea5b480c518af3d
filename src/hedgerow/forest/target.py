"""Targets: protocols, and reading of y and weights."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, Self

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hedgerow.errors import SparseTargetError
from hedgerow.labels import FocalMasses, IntervalTargets, read_labels
from hedgerow.table.schema import TargetLike

if TYPE_CHECKING:
    from hedgerow.forest.forest import Forest
    from hedgerow.forest.rows import Bags
    from hedgerow.table.bins import Codes

Floats = NDArray[np.float64]

#: Unit of the weights of later rows, if the weights of the first table were whole numbers or absent.
FINEST_WEIGHT = 2.0**-24


class Target(Protocol):
    """Target of n training rows.

    Each prediction type has a target (``tasks/<type>/target.py``), made by `Task.read_y`; examples are
    `ClassificationTarget` and `RegressionTarget`. Other code uses the members below. `TargetInfo` is the part that a
    fitted model keeps, and `CoreTarget` the form that the core takes.
    """

    @property
    def kind(self) -> str:
        """Type of leaves, "classes" (counts) or "numbers" (moments); "several" if multi-output."""

    @property
    def n_rows(self) -> int:
        """Number of rows n."""

    @property
    def truth(self) -> NDArray[np.generic]:
        """True value of each row, (n,); class numbers if leaves count classes."""

    @property
    def labels(self) -> NDArray[np.uint16] | None:
        """Cell of the leaf counts to which each row adds, (n,); None if only rows count."""

    @property
    def weights(self) -> Floats | None:
        """Row weights as given, (n,); None if all rows weigh the same."""

    @property
    def own(self) -> Floats | None:
        """Counts that each row adds to several cells of its leaf, (n, K); otherwise None."""

    @property
    def own_masses(self) -> FocalMasses | None:
        """Masses that each row adds to its leaf, if labels are uncertain."""

    @property
    def known(self) -> NDArray[np.bool_] | None:
        """Whether the value of each row is certain, (n,); None if all are."""

    @property
    def judged(self) -> NDArray[np.bool_] | None:
        """Rows by which out-of-bag predictions are evaluated, (n,); None for all."""

    @property
    def identity(self) -> NDArray[np.generic]:
        """Array that is equal for tables with the same target, for warm starts."""

    @property
    def class_rows(self) -> tuple[float, ...]:
        """Number of rows of each cell of the leaf counts, (K,)."""

    @property
    def info(self) -> TargetInfo:
        """Part of the target that a fitted model keeps."""

    def for_core(self) -> CoreTarget:
        """Return the target as the core takes it."""

    def take(self, rows: NDArray[Any]) -> Self:
        """Return the target of some rows, in the order given."""

    def concat(self, more: Self) -> Self:
        """Return the target of these rows and later rows (`partial_fit`)."""

    def weighing(self) -> Weighing:
        """Return the rounding of weights of later rows."""

    def losses(self, answer: Any, rows: NDArray[Any]) -> Floats:
        """Return the losses of out-of-bag predictions of some rows, (m,)."""

    def standard_error(self, error: float, losses: Floats, n_rows: int) -> float:
        """Return the standard error of the mean loss."""


class Weighing(NamedTuple):
    """Rounding of weights and targets of later rows, which keeps sums exact."""

    scale: float = 1.0  # divisor of weights
    unit: float = FINEST_WEIGHT  # scaled weights are rounded to multiples of this
    extremes: tuple[float, float] | None = None  # range of the first targets in a regression


@dataclass(frozen=True, eq=False)
class TargetInfo:
    """Part of a target that a fitted model keeps, such as `ClassInfo`.

    Parameters
    ----------
    names : (K,) array
        The names of the cells of the leaf counts: the classes, or "rows".
    """

    names: NDArray[np.generic]
    #: Target info of each output of a multi-output target.
    outputs: ClassVar[tuple[Any, ...]] = ()

    def with_names(self, names: NDArray[np.generic], class_rows: Floats) -> TargetInfo:
        """Return the info with more names (K,), given their numbers of rows."""
        return replace(self, names=names)

    def joined(self, other: TargetInfo, class_rows: Floats) -> TargetInfo:
        """Return the info of these and other rows; `class_rows` (K,) are those of both."""
        return other

    def counted(self, n_rows: int) -> tuple[tuple[float, ...], tuple[float, float] | None]:
        """Return the rows per name, as far as known, and the range in a regression."""
        return (float(n_rows),), None

    def named(self, target: Target) -> NDArray[np.generic]:
        """Return the true value of each row, (n,), as users name it."""
        return target.truth

    def renamed(self, rename: Callable[[NDArray[np.generic]], NDArray[np.generic]]) -> TargetInfo:
        """Return the info with readable names."""
        return self


class CoreTarget(ABC):
    """Target of training rows as the core takes it, a dataclass.

    Examples are `ClassLabels` (``kind`` "classes" in the core) and `RealTargets` ("numbers").
    """

    #: Number of cells of the leaf counts, K.
    n_classes: int
    #: Whether leaves have moments besides counts.
    of_numbers: ClassVar[bool] = False

    @abstractmethod
    def fields(self, criterion: Any) -> dict[str, Any]:
        """Return the ``kind`` of the target, its arrays, and the criterion, by name."""

    def under(self, criterion: Any) -> CoreTarget:
        """Return the target on which trees grow under a criterion."""
        return self

    def with_masses(self, forest: Forest, codes: Codes, bags: Bags, n_threads: int) -> Forest:
        """Return trees grown on this target, whose leaves also keep the masses of uncertain labels."""
        return forest

    @property
    def parts(self) -> tuple[CoreTarget, ...]:
        """Target of each output."""
        return (self,)


def columns_of(y: TargetLike | None) -> list[Any] | None:
    """Return the columns of y, one per output; None for a single output."""
    if sparse.issparse(y):
        raise SparseTargetError(
            "y must be a dense array, got a sparse one: sparse multilabel-indicator for y is not supported. Pass"
            " y.toarray()."
        )
    if y is None or isinstance(y, IntervalTargets) or read_labels(y) is not None:
        return None
    frame = nw.from_native(y, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return None if len(frame.columns) == 1 else [column.to_native() for column in frame.iter_columns()]
    if isinstance(y, list | tuple) and len(y) > 0 and isinstance(y[0], list | tuple | np.ndarray):
        if len({len(row) for row in y}) > 1:
            lengths = sorted({len(row) for row in y})
            raise ValueError(f"y must have the same number of outputs in all rows, got {lengths[0]} and {lengths[-1]}.")
        y = np.array(y)
    if isinstance(y, np.ndarray) and y.ndim > 2:
        raise ValueError(f"y must have one or two dimensions, rows and outputs, got shape {y.shape}.")
    if isinstance(y, np.ndarray) and y.ndim == 2 and y.shape[1] > 1:
        return [y[:, number] for number in range(y.shape[1])]
    return None


def refuse_masked(values: Any, name: str) -> None:
    """Raise if cells are masked: NumPy would use the values under the mask."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise ValueError(f"{name} must not have missing values, got {values.mask.sum()} masked. Drop these rows.")


def read_weights(sample_weight: Any, n_rows: int) -> NDArray[np.float64] | None:
    """Read weights as (n,) float64, finite and >= 0, not all zero; None stays None."""
    weights = read_weights_of_part(sample_weight, n_rows)
    if weights is not None:
        check_total_weight(bool((weights > 0).any()))
    return weights


def read_weights_of_part(sample_weight: Any, n_rows: int) -> NDArray[np.float64] | None:
    """Read weights of a part of a table, which may all be zero; None stays None."""
    if sample_weight is None:
        return None
    refuse_masked(sample_weight, "sample_weight")
    given = np.asarray(sample_weight)
    if given.dtype.kind == "c":
        raise ValueError(f"sample_weight must be real numbers, got {given.dtype}. Complex data not supported.")
    weights = given.astype(np.float64, copy=False)
    if weights.ndim == 0:
        weights = np.full(n_rows, float(weights))
    if weights.ndim != 1:
        raise ValueError(
            f"sample_weight must be 1D array or scalar, got {weights.ndim} dimensions. Sample weights must be 1D."
        )
    if len(weights) != n_rows:
        raise ValueError(
            f"sample_weight.shape == {weights.shape}, expected {(n_rows,)}: it must have one weight per row of X."
        )
    if not np.isfinite(weights).all():
        raise ValueError(f"sample_weight must be finite, got {weights[~np.isfinite(weights)][0]:g}.")
    if (weights < 0).any():
        raise ValueError(f"sample_weight must be >= 0, got {weights.min():g}. Use 0 to omit a row.")
    return weights


def joined_weights(first: Floats | None, n_first: int, second: Floats | None, n_second: int) -> Floats | None:
    """Join the weights of rows and of later rows; None means that each weighs one."""
    if first is None and second is None:
        return None
    return np.concatenate([np.ones(n) if w is None else w for w, n in ((first, n_first), (second, n_second))])


def check_total_weight(weighs: bool) -> None:
    """Raise if every row has weight 0."""
    if not weighs:
        raise ValueError("sample_weight must have at least one positive weight, got only zeros.")


def among_classes(found: NDArray[np.generic], declared: NDArray[np.generic]) -> NDArray[np.intp]:
    """Return the indices of classes `found` (k,) in `declared` (K,), (k,).

    Raises
    ------
    ValueError
        If a class is not declared.
    """
    places = {name: place for place, name in enumerate(declared.tolist())}
    unknown = [name for name in found.tolist() if name not in places]
    if unknown:
        raise ValueError(
            f"y must have known classes ({declared.tolist()[:10]}), got {unknown[:5]}. Declare new ones with the"
            " parameter classes."
        )
    return np.array([places[name] for name in found.tolist()], dtype=np.intp)


class ReadTarget(NamedTuple):
    """Target of rows with positive weight, and these rows (None for all)."""

    target: Any
    kept: NDArray[np.uint32] | None
