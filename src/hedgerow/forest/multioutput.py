"""Several: rows with several labels or numbers each -> the evidence that a leaf keeps for each output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.forest.class_counts import ClassCounts
from hedgerow.forest.moments import LeafMoments
from hedgerow.forest.nodes import Nodes
from hedgerow.forest.payload import Adding, LeafPayload
from hedgerow.forest.rows import Provenance

Floats = NDArray[np.float64]


def _of_first(name: str) -> Any:
    """An attribute that is that of the first output."""
    return property(lambda leaves: getattr(leaves.outputs[0], name))


@dataclass(frozen=True, eq=False, repr=False)
class MultiOutputLeaves(LeafPayload):
    """The evidence of leaves if rows have several outputs: the leaves of each output, all of the same trees.

    Where only the number of rows matters, the first output stands for all.

    Parameters
    ----------
    outputs : tuple of Counts or Moments
        The leaves of each output, in the order of the columns of y.
    """

    TYPES: ClassVar[dict[str, Any]] = {"outputs": np.int64}
    OPTIONAL: ClassVar[tuple[str, ...]] = ()
    KEY_ARRAY: ClassVar[str] = "outputs"

    outputs: tuple[LeafPayload, ...]

    @classmethod
    def from_arrays(cls, n_classes: int, arrays: Mapping[str, Any]) -> MultiOutputLeaves:
        """Arrays by their names in files -> the leaves; `outputs` (m,) says how many classes each output has."""
        return cls(tuple(_output_from(arrays, number, int(k)) for number, k in enumerate(arrays["outputs"])))

    @classmethod
    def knows(cls, name: str) -> bool:
        """Whether an array of this name belongs to leaves of this kind."""
        return name in cls.TYPES or name.partition(".")[2] in ClassCounts.TYPES | LeafMoments.TYPES

    @property
    def parts(self) -> tuple[LeafPayload, ...]:
        """The leaves of each output."""
        return self.outputs

    # The first output stands for all.
    n_classes = _of_first("n_classes")
    counts = _of_first("counts")
    weights = _of_first("weights")
    entry_start = _of_first("entry_start")
    entry_class = _of_first("entry_class")
    n_leaves = _of_first("n_leaves")
    amount = _of_first("amount")
    rows = _of_first("rows")

    def arrays(self) -> dict[str, Any]:
        """Name -> array; those of an output begin with its number."""
        held: dict[str, Any] = {"outputs": np.array([output.n_classes for output in self.outputs])}
        for number, output in enumerate(self.outputs):
            held |= {f"{number}.{name}": array for name, array in output.arrays().items()}
        return held

    def table(self, which: slice | NDArray[np.int64] = slice(None), *, weighted: bool = False) -> NDArray[Any]:
        """Leaves (m,) -> (m, K): rows of each class of the first output, or their weight."""
        return self.outputs[0].table(which, weighted=weighted)

    def read(self, which: slice | NDArray[np.int64] = slice(None)) -> Any:
        """Not available: leaves are read output by output."""
        raise NotImplementedError("the leaves of several outputs are read output by output")

    def between(self, first: int, last: int) -> MultiOutputLeaves:
        """Leaves number `first` to ``last - 1``; their arrays are views of these."""
        return MultiOutputLeaves(tuple(output.between(first, last) for output in self.outputs))

    def join(self, *others: MultiOutputLeaves) -> MultiOutputLeaves:
        """These leaves followed by the others."""
        same = zip(self.outputs, *(other.outputs for other in others), strict=True)
        return MultiOutputLeaves(tuple(first.join(*more) for first, *more in same))

    def add_classes(self, places: NDArray[np.intp], n_classes: int) -> MultiOutputLeaves:
        """Not available: the classes cannot change after the fit."""
        raise NotImplementedError("no classes are added to a model of several outputs")

    def at_nodes(self, tree: Nodes) -> MultiOutputLeaves:
        """The leaves of a tree -> the evidence of each of its N nodes."""
        return MultiOutputLeaves(tuple(output.at_nodes(tree) for output in self.outputs))

    def impurity_at_nodes(self, tree: Nodes, criterion: Any) -> tuple[Floats, Floats]:
        """The leaves of a tree -> weight and mean impurity of each of its nodes, (N,) each."""
        amounts, impurities = zip(*(output.impurity_at_nodes(tree, criterion) for output in self.outputs), strict=True)
        return amounts[0], np.mean(impurities, axis=0)

    def adding(
        self, target: NDArray[Any], weights: Floats | None, origins: Sequence[Provenance], ends: NDArray[np.int64]
    ) -> Adding:
        """Not available: later rows cannot be added."""
        raise NotImplementedError("no rows are added to a model of several outputs")

    def cut(self, nodes: NDArray[np.int64]) -> MultiOutputLeaves:
        """The evidence of all nodes of a tree -> that of some of them (m,), which become leaves."""
        return MultiOutputLeaves(tuple(output.cut(nodes) for output in self.outputs))

    def cannot_be_cut(self, criterion: Any) -> str | None:
        """Why leaves that were grown by this criterion cannot be merged into one; None if they can."""
        return self.outputs[0].cannot_be_cut(criterion)

    def impurity(self, criterion: Any) -> Floats:
        """(L,): the impurity of each leaf, the mean over outputs."""
        return np.asarray(np.mean([output.impurity(criterion) for output in self.outputs], axis=0))

    def words(self, number: int, classes: NDArray[Any], decimals: int) -> str:
        """The number of rows of a leaf, as text."""
        return f"{int(self.table(slice(number, number + 1)).sum())} rows"

    def check(self) -> None:
        """Refuse outputs that do not have the same leaves."""
        for output in self.outputs:
            output.check()
        if len({output.n_leaves for output in self.outputs}) > 1:
            raise ValueError("all outputs must have the same leaves, got different numbers of them")


def _output_from(arrays: Mapping[str, Any], number: int, n_classes: int) -> LeafPayload:
    """The leaves of one output; the names of its arrays begin with its number."""
    own = {name.partition(".")[2]: array for name, array in arrays.items() if name.startswith(f"{number}.")}
    kind: type[LeafPayload] = LeafMoments if LeafMoments.KEY_ARRAY in own else ClassCounts
    return kind.from_arrays(n_classes, own)
