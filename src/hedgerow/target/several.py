"""Several: several columns of labels or numbers -> a target that is made of one target for each column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hedgerow.errors import SparseTargetError
from hedgerow.labels import read_labels
from hedgerow.target.base import MultiOutputCore, MultiOutputInfo, Weighing

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class MultiOutputTarget:
    """The labels or numbers of n training rows with m outputs: one target for each output."""

    outputs: tuple[Any, ...]

    kind: ClassVar[str] = "several"
    labels: ClassVar[None] = None
    own: ClassVar[None] = None
    known: ClassVar[None] = None
    shares: ClassVar[None] = None

    @property
    def n_rows(self) -> int:
        """n."""
        return int(self.outputs[0].n_rows)

    @property
    def identity(self) -> NDArray[Any]:
        """An array that is equal for two tables with the same labels or numbers."""
        return np.column_stack([output.identity for output in self.outputs])

    @property
    def class_rows(self) -> tuple[float, ...]:
        """The number of rows of each class of the first output."""
        return self.outputs[0].class_rows  # type: ignore[no-any-return]

    @property
    def info(self) -> MultiOutputInfo:
        """What a model remembers of each output."""
        each = tuple(output.info for output in self.outputs)
        return MultiOutputInfo(each[0].names, each)

    def for_core(self) -> MultiOutputCore:
        """The target in the form in which the core takes it."""
        return MultiOutputCore(tuple(output.for_core() for output in self.outputs))

    def weighing(self) -> Weighing:
        """How weights of later rows are rounded."""
        return self.outputs[0].weighing()  # type: ignore[no-any-return]


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
