"""Several: several columns of labels or numbers -> a target that is made of one target for each column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.forest.target import CoreTarget, TargetInfo, Weighing

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class MultiOutputInfo(TargetInfo):
    """What a model remembers of several outputs, in the order of the columns of y; `names` are those of the first."""

    outputs: tuple[TargetInfo, ...]  # type: ignore[misc]


@dataclass(frozen=True)
class MultiOutputCore(CoreTarget):
    """The targets of rows with several outputs in the form in which the core takes them: each output as if alone.

    All outputs give a row the same weight.
    """

    outputs: tuple[CoreTarget, ...]

    @property
    def n_classes(self) -> int:  # type: ignore[override]
        """Classes of the first output, which stands for all where rows are counted."""
        return self.outputs[0].n_classes

    @property
    def parts(self) -> tuple[CoreTarget, ...]:
        """The target of each output."""
        return self.outputs

    def fields(self, criterion: Any) -> dict[str, Any]:
        """The targets of all outputs; the names of one begin with its number."""
        each: dict[str, Any] = {"kind": "several", "n_outputs": len(self.outputs)}
        for number, output in enumerate(self.outputs):
            each |= {f"{number}.{name}": value for name, value in output.fields(criterion).items()}
        return each


@dataclass(frozen=True, eq=False)
class MultiOutputTarget:
    """The labels or numbers of n training rows with m outputs: one target for each output."""

    outputs: tuple[Any, ...]

    kind: ClassVar[str] = "several"
    labels: ClassVar[None] = None
    own: ClassVar[None] = None
    known: ClassVar[None] = None

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
