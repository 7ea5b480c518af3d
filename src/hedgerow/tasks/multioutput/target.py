"""Multi-output targets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.forest.target import CoreTarget, TargetInfo, Weighing

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class MultiOutputInfo(TargetInfo):
    """Target info of each output, in the order of the columns of y.

    `names` are those of the first output.
    """

    outputs: tuple[TargetInfo, ...]  # type: ignore[misc]


@dataclass(frozen=True)
class MultiOutputCore(CoreTarget):
    """Targets of all outputs, as the core takes them.

    The weight of a row is the same in all outputs.
    """

    outputs: tuple[CoreTarget, ...]

    @property
    def n_classes(self) -> int:  # type: ignore[override]
        """Number of classes of the first output, which is the one whose rows are counted."""
        return self.outputs[0].n_classes

    @property
    def parts(self) -> tuple[CoreTarget, ...]:
        """Target of each output."""
        return self.outputs

    def fields(self, criterion: Any) -> dict[str, Any]:
        """Return the fields of all outputs, prefixed by the index of the output."""
        each: dict[str, Any] = {"kind": "several", "n_outputs": len(self.outputs)}
        for number, output in enumerate(self.outputs):
            each |= {f"{number}.{name}": value for name, value in output.fields(criterion).items()}
        return each


@dataclass(frozen=True, eq=False)
class MultiOutputTarget:
    """Targets of n training rows with m outputs."""

    outputs: tuple[Any, ...]

    kind: ClassVar[str] = "several"
    labels: ClassVar[None] = None
    own: ClassVar[None] = None
    own_masses: ClassVar[None] = None
    known: ClassVar[None] = None

    @property
    def n_rows(self) -> int:
        """Number of rows n."""
        return int(self.outputs[0].n_rows)

    @property
    def identity(self) -> NDArray[np.generic]:
        """Array that is equal for two tables with the same targets."""
        return np.column_stack([output.identity for output in self.outputs])

    @property
    def class_rows(self) -> tuple[float, ...]:
        """Number of rows of each class of the first output."""
        return self.outputs[0].class_rows  # type: ignore[no-any-return]

    @property
    def info(self) -> MultiOutputInfo:
        """Target info of each output."""
        each = tuple(output.info for output in self.outputs)
        return MultiOutputInfo(each[0].names, each)

    def for_core(self) -> MultiOutputCore:
        """Return the targets as the core takes them."""
        return MultiOutputCore(tuple(output.for_core() for output in self.outputs))

    def weighing(self) -> Weighing:
        """Return the rounding of weights of later rows."""
        return self.outputs[0].weighing()  # type: ignore[no-any-return]
