"""Several: a table of labels or numbers -> the target of rows with several outputs, made of the target of each."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from hedgerow.target.base import AboutSeveral, Several, Weighing
from hedgerow.target.uncertain import read_labels

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SeveralTarget:
    """The labels or numbers of n training rows, a target for each of m outputs."""

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
    def truth(self) -> NDArray[Any]:
        """(n, m): what is to be predicted: class numbers, or numbers."""
        return np.column_stack([output.truth for output in self.outputs])

    @property
    def identity(self) -> NDArray[Any]:
        """What two tables with the same labels or numbers share."""
        return np.column_stack([output.identity for output in self.outputs])

    @property
    def class_rows(self) -> tuple[float, ...]:
        """How many rows there are of each class of the first output."""
        return self.outputs[0].class_rows  # type: ignore[no-any-return]

    @property
    def about(self) -> AboutSeveral:
        """What a model remembers of each output."""
        each = tuple(output.about for output in self.outputs)
        return AboutSeveral(each[0].names, each)

    def for_core(self) -> Several:
        """What the core grows trees on."""
        return Several(tuple(output.for_core() for output in self.outputs))

    def take(self, rows: NDArray[Any]) -> SeveralTarget:
        """The target of some rows, in the order given."""
        return SeveralTarget(tuple(output.take(rows) for output in self.outputs))

    def plus(self, later: SeveralTarget) -> SeveralTarget:
        """These rows, and after them rows that came later."""
        pairs = zip(self.outputs, later.outputs, strict=True)
        return SeveralTarget(tuple(output.plus(more) for output, more in pairs))

    def weighing(self) -> Weighing:
        """How the weights of later rows are to be counted."""
        return self.outputs[0].weighing()  # type: ignore[no-any-return]

    def losses(self, answer: Any, rows: NDArray[Any]) -> Floats:
        """What a forest says of each output of some rows -> (r,): how wrong it is, the mean over outputs."""
        each = [output.losses(said, rows) for output, said in zip(self.outputs, answer, strict=True)]
        return np.asarray(np.mean(each, axis=0))

    def standard_error(self, error: float, losses: Floats, n_rows: int) -> float:
        """That of a mean of the losses seen so far."""
        return float(losses.std() / math.sqrt(max(1, len(losses))))


def columns_of(y: Any) -> list[Any] | None:
    """What the user calls y -> its columns, one for each output; None where there is but one output."""
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
