"""Leaves: rows that reach the leaves of a forest -> what each leaf keeps of them, a class for each kind of target."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from hedgerow.forest.foldable import Foldable
from hedgerow.forest.nodes import Nodes
from hedgerow.forest.rows import Origin

if TYPE_CHECKING:
    from hedgerow.forest.moments import LaterMoments

Floats = NDArray[np.float64]


class Adding(ABC):
    """Leaves, and rows that are added to them tree by tree."""

    @abstractmethod
    def add(self, origin: int, at: NDArray[np.int64], rows: slice, times: NDArray[np.uint32] | None) -> None:
        """Some of the rows reach these leaves (m,) in a tree, and count so many times (m,), None for once each.

        `origin` is the number of what is known of the tree.
        """

    @abstractmethod
    def added(self) -> Leaves:
        """The leaves with all that has been added."""


class Leaves(ABC):
    """What L leaves hold, numbered over all trees. The same class holds what the N nodes of a tree do.

    Attributes
    ----------
    n_classes : int
        K, the number of classes that are counted; 1 where rows are counted as such.
    counts, weights
        Rows, and their weight where rows are weighted; their shapes are the class's own.
    """

    #: What its arrays are made of, by the names they have in files.
    TYPES: ClassVar[dict[str, Any]]
    #: Those that need not be there, and the one by which arrays are known to be of this kind.
    OPTIONAL: ClassVar[tuple[str, ...]]
    TOLD_BY: ClassVar[str]
    #: Whether the states of all leaves are columns of what they hold, which cost next to nothing.
    lifts_freely: ClassVar[bool] = False

    n_classes: int
    counts: NDArray[np.uint32]
    weights: Floats | None
    # What only some leaves have.
    entry_start: NDArray[np.int64] | None = None
    entry_class: NDArray[np.uint16] | None = None
    values: Floats | None = None
    means: Floats | None = None
    variances: Floats | None = None
    later: LaterMoments | None = None

    @classmethod
    @abstractmethod
    def from_arrays(cls, n_classes: int, arrays: Mapping[str, Any]) -> Self:
        """Arrays by the names they have in files, as they are -> the leaves."""

    @property
    @abstractmethod
    def n_leaves(self) -> int:
        """L."""

    @property
    @abstractmethod
    def amount(self) -> Floats:
        """(L,): weight of the rows in each leaf, their number where rows have no weights."""

    @property
    def heavy(self) -> Floats:
        """Like counts: the weights, or the counts where rows have none."""
        return self.counts.astype(np.float64) if self.weights is None else self.weights

    def arrays(self) -> dict[str, Any]:
        """Name -> array, for those that are there."""
        return {name: held for name in self.TYPES if isinstance(held := getattr(self, name), np.ndarray)}

    @abstractmethod
    def table(self, which: slice | NDArray[np.int64] = slice(None), *, weighted: bool = False) -> NDArray[Any]:
        """Leaves (m,) -> (m, K): rows of each class, or their weight where rows are weighted."""

    @abstractmethod
    def read(self, which: slice | NDArray[np.int64] = slice(None)) -> Any:
        """Leaves (m,) -> what lifting is given of them."""

    def read_without(self, leaves: NDArray[np.int64], own: NDArray[Any]) -> Any:
        """Leaves (m,), what each of m rows has added to its leaf -> the same without it."""
        raise NotImplementedError("only leaves that count classes count rows outside the bags of their trees")

    def lift(self, what: Foldable[Any], setting: Any, which: slice | NDArray[np.int64] = slice(None)) -> Floats:
        """Leaves (m,) -> their states (m, S)."""
        return np.ascontiguousarray(what.lift(self.read(which), setting))

    def lift_without(self, what: Foldable[Any], setting: Any, leaves: NDArray[np.int64], own: NDArray[Any]) -> Floats:
        """Leaves (m,), what each of m rows has added to its leaf -> states (m, S) without it."""
        return np.ascontiguousarray(what.lift(self.read_without(leaves, own), setting))

    def lift_without_each(self, what: Foldable[Any], setting: Any) -> Floats:
        """-> (E, S): the state of every leaf without one row of each class, as the core numbers these cells."""
        raise NotImplementedError("only leaves that count classes have cells")

    def cell_start(self, leaves: NDArray[np.int64]) -> NDArray[np.int64]:
        """Leaves (m,) -> where their cells begin, one for each class."""
        raise NotImplementedError("only leaves that count classes have cells")

    @abstractmethod
    def some(self, first: int, last: int) -> Self:
        """Leaves number `first` to ``last - 1``, their arrays parts of these."""

    @abstractmethod
    def join(self, *others: Self) -> Self:
        """These leaves, and then the others."""

    @abstractmethod
    def widen(self, places: NDArray[np.intp], n_classes: int) -> Self:
        """Room for more classes: class k of before becomes ``places[k]``, ascending, of `n_classes`."""

    @abstractmethod
    def at_nodes(self, tree: Nodes) -> Self:
        """The leaves of a tree -> what each of its N nodes holds: the leaves below it, without borrowed ones."""

    @abstractmethod
    def adding(
        self, target: NDArray[Any], weights: Floats | None, origins: Sequence[Origin], ends: NDArray[np.int64]
    ) -> Adding:
        """Rows that come, with their target (m,) and weights (m,) -> what adds them to these leaves.

        `ends` says which leaves are of trees of the same origin: up to which leaf those of each go.
        """

    def take(self, leaves: NDArray[np.int64]) -> Self:
        """Leaves (m,), each at most once and -1 for an empty one -> these, in this order."""
        raise NotImplementedError("only leaves that count classes are borrowed")

    def repeat(self, borrowers: NDArray[np.int64], lenders: NDArray[np.int64]) -> Self:
        """Pairs of leaves (m,): the first of each pair holds what all that are paired with it hold together."""
        raise NotImplementedError("only leaves that count classes are borrowed")

    @abstractmethod
    def cut(self, nodes: NDArray[np.int64]) -> Self:
        """What the nodes of a tree hold -> the leaves that some of them (m,) become."""

    def cannot_be_cut(self, criterion: Any) -> str | None:
        """Why leaves that were grown by a criterion cannot be put together, None where they can."""
        return None

    @abstractmethod
    def impurity(self, criterion: Any) -> Floats:
        """(L,): how mixed the rows of each leaf are."""

    @abstractmethod
    def words(self, number: int, classes: NDArray[Any], decimals: int) -> str:
        """What a leaf holds, as people read it."""

    @abstractmethod
    def check(self) -> None:
        """Refuse arrays that do not fit together with a ValueError; their types have been looked at."""
