"""Leaves of multi-output forests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.criteria import Criterion
from hedgerow.forest.class_counts import ClassCounts
from hedgerow.forest.moments import LeafMoments
from hedgerow.forest.nodes import Nodes
from hedgerow.forest.payload import Adding, LeafPayload
from hedgerow.forest.rows import Provenance
from hedgerow.table.schema import Array

Floats = NDArray[np.float64]


def _of_first(name: str) -> Any:
    """Return a property that is that of the first output."""
    return property(lambda leaves: getattr(leaves.outputs[0], name))


@dataclass(frozen=True, eq=False, repr=False)
class MultiOutputLeaves(LeafPayload):
    """Leaf evidence of all outputs of a multi-output model.

    Row counts are those of the first output.

    Parameters
    ----------
    outputs : tuple of ClassCounts or LeafMoments
        The leaves of each output, in the order of the columns of y.
    """

    TYPES: ClassVar[dict[str, Any]] = {"outputs": np.int64}
    OPTIONAL: ClassVar[tuple[str, ...]] = ()
    KEY_ARRAY: ClassVar[str] = "outputs"

    outputs: tuple[LeafPayload, ...]

    @classmethod
    def from_arrays(cls, n_classes: int, arrays: Mapping[str, Any]) -> MultiOutputLeaves:
        """Return leaves from arrays as named in files; `outputs` (m,) has n_classes."""
        return cls(tuple(_output_from(arrays, number, int(k)) for number, k in enumerate(arrays["outputs"])))

    @classmethod
    def knows(cls, name: str) -> bool:
        """Return whether an array of this name belongs to leaves of this type."""
        return name in cls.TYPES or name.partition(".")[2] in ClassCounts.TYPES | LeafMoments.TYPES

    @property
    def parts(self) -> tuple[LeafPayload, ...]:
        """Leaves of each output."""
        return self.outputs

    # Attributes of the first output.
    n_classes = _of_first("n_classes")
    counts = _of_first("counts")
    weights = _of_first("weights")
    entry_start = _of_first("entry_start")
    entry_class = _of_first("entry_class")
    n_leaves = _of_first("n_leaves")
    amount = _of_first("amount")
    rows = _of_first("rows")

    def arrays(self) -> dict[str, Any]:
        """Return all arrays by name, prefixed by the index of the output."""
        held: dict[str, Any] = {"outputs": np.array([output.n_classes for output in self.outputs])}
        for number, output in enumerate(self.outputs):
            held |= {f"{number}.{name}": array for name, array in output.arrays().items()}
        return held

    def table(self, which: slice | NDArray[np.int64] = slice(None), *, weighted: bool = False) -> Array:
        """Return the rows of each class of the first output, or their weight, (m, K)."""
        return self.outputs[0].table(which, weighted=weighted)

    def read(self, which: slice | NDArray[np.int64] = slice(None)) -> Any:
        """Raise: multi-output leaves are read per output."""
        raise NotImplementedError("multi-output leaves are read per output")

    def between(self, first: int, last: int) -> MultiOutputLeaves:
        """Return leaves `first` to ``last - 1`` as views."""
        return MultiOutputLeaves(tuple(output.between(first, last) for output in self.outputs))

    def join(self, *others: MultiOutputLeaves) -> MultiOutputLeaves:
        """Return these leaves followed by the others."""
        same = zip(self.outputs, *(other.outputs for other in others), strict=True)
        return MultiOutputLeaves(tuple(first.join(*more) for first, *more in same))

    def add_classes(self, places: NDArray[np.intp], n_classes: int) -> MultiOutputLeaves:
        """Raise: multi-output models do not support new classes."""
        raise NotImplementedError("multi-output models do not support new classes")

    def at_nodes(self, tree: Nodes) -> MultiOutputLeaves:
        """Return the evidence of each of the N nodes of a tree with these leaves."""
        return MultiOutputLeaves(tuple(output.at_nodes(tree) for output in self.outputs))

    def impurity_at_nodes(self, tree: Nodes, criterion: str | Criterion) -> tuple[Floats, Floats]:
        """Return weight and mean impurity of each node, (N,) each."""
        amounts, impurities = zip(*(output.impurity_at_nodes(tree, criterion) for output in self.outputs), strict=True)
        return amounts[0], np.mean(impurities, axis=0)

    def adding(
        self, target: Array, weights: Floats | None, origins: Sequence[Provenance], ends: NDArray[np.int64]
    ) -> Adding:
        """Raise: multi-output models do not support later rows."""
        raise NotImplementedError("multi-output models do not support later rows")

    def cut(self, nodes: NDArray[np.int64]) -> MultiOutputLeaves:
        """Return the evidence of some nodes (m,), which become leaves."""
        return MultiOutputLeaves(tuple(output.cut(nodes) for output in self.outputs))

    def cannot_be_cut(self, criterion: str | Criterion) -> str | None:
        """Return why leaves cannot be merged into one; None if they can."""
        return self.outputs[0].cannot_be_cut(criterion)

    def impurity(self, criterion: str | Criterion) -> Floats:
        """Return the mean impurity of each leaf over outputs, (L,)."""
        return np.asarray(np.mean([output.impurity(criterion) for output in self.outputs], axis=0))

    def words(self, number: int, classes: Array, decimals: int) -> str:
        """Return the number of rows of a leaf as text."""
        return f"{int(self.table(slice(number, number + 1)).sum())} rows"

    def check(self) -> None:
        """Raise if outputs do not have the same leaves."""
        for output in self.outputs:
            output.check()
        if len({output.n_leaves for output in self.outputs}) > 1:
            numbers = [output.n_leaves for output in self.outputs]
            raise ValueError(f"all outputs must have the same leaves, got {numbers} leaves")


def _output_from(arrays: Mapping[str, Any], number: int, n_classes: int) -> LeafPayload:
    """Return the leaves of one output; its index prefixes the names of its arrays."""
    own = {name.partition(".")[2]: array for name, array in arrays.items() if name.startswith(f"{number}.")}
    kind: type[LeafPayload] = LeafMoments if LeafMoments.KEY_ARRAY in own else ClassCounts
    return kind.from_arrays(n_classes, own)
