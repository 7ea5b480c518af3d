"""Leaves: rows that reach the leaves of a forest -> the evidence that leaves keep, one class for each target."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hedgerow.forest.nodes import Nodes
from hedgerow.forest.reducers import Reducer
from hedgerow.forest.rows import Provenance

if TYPE_CHECKING:
    from hedgerow.forest.moments import IncrementalMoments

Floats = NDArray[np.float64]

#: No leaf weighs more: a fit brings weights to ordinary size, on which arithmetic can rely.
MOST_WEIGHT = 1e100


#: Some rows: a slice, or their numbers.
Rows: TypeAlias = slice | NDArray[np.int64]


class Adding(ABC):
    """Leaves, and rows that are added to them, some trees at a time."""

    @abstractmethod
    def add(self, origin: int, at: NDArray[np.int64], rows: Rows, times: NDArray[np.uint32] | None) -> None:
        """Add rows (m,) to the leaves (m,) that they reach in some trees, each `times` (m,) times; None means once.

        `origin` is the number of the origin of the trees.
        """

    @abstractmethod
    def added(self) -> LeafPayload:
        """The leaves with all that has been added."""


class LeafPayload(ABC):
    """The evidence of L leaves, numbered over all trees; or, by `at_nodes`, of the N nodes of one tree.

    Attributes
    ----------
    n_classes : int
        K, the number of classes that are counted; 1 if only rows are counted.
    counts, weights
        Rows, and their weight if rows are weighted; subclasses define their shapes.
    """

    #: The types of its arrays, by the names they have in files.
    TYPES: ClassVar[dict[str, Any]]
    #: The arrays that may be absent, and the array whose presence tells that leaves are of this kind.
    OPTIONAL: ClassVar[tuple[str, ...]]
    KEY_ARRAY: ClassVar[str]
    #: The smallest weight of a leaf that has any.
    LEAST_WEIGHT: ClassVar[float] = 1 / MOST_WEIGHT
    #: Whether the states of leaves are just columns of their arrays, so that lifting costs almost nothing.
    lifts_freely: ClassVar[bool] = False

    n_classes: int
    counts: NDArray[np.uint32]
    weights: Floats | None
    # Arrays that only some kinds of leaves have.
    entry_start: NDArray[np.int64] | None = None
    entry_class: NDArray[np.uint16] | None = None
    values: Floats | None = None
    means: Floats | None = None
    variances: Floats | None = None
    incremental: IncrementalMoments | None = None

    @classmethod
    @abstractmethod
    def from_arrays(cls, n_classes: int, arrays: Mapping[str, Any]) -> Self:
        """Arrays under the names they have in files -> the leaves; nothing is checked."""

    @classmethod
    def knows(cls, name: str) -> bool:
        """Whether an array of this name belongs to leaves of this kind."""
        return name in cls.TYPES

    @property
    def parts(self) -> tuple[LeafPayload, ...]:
        """The leaves of each output, if there are several; otherwise these leaves."""
        return (self,)

    @property
    @abstractmethod
    def n_leaves(self) -> int:
        """L."""

    @property
    @abstractmethod
    def amount(self) -> Floats:
        """(L,): weight of the rows in each leaf; their number if rows have no weights."""

    @property
    @abstractmethod
    def rows(self) -> NDArray[np.int64]:
        """(L,): the number of rows in each leaf."""

    @property
    def heavy(self) -> Floats:
        """The weights, or the counts if rows have no weights; shaped like counts."""
        return self.counts.astype(np.float64) if self.weights is None else self.weights

    def arrays(self) -> dict[str, Any]:
        """Name -> array, for all arrays that are not None."""
        return {name: held for name in self.TYPES if isinstance(held := getattr(self, name), np.ndarray)}

    @abstractmethod
    def table(self, which: slice | NDArray[np.int64] = slice(None), *, weighted: bool = False) -> NDArray[Any]:
        """Leaves (m,) -> (m, K): rows of each class, or with `weighted` their weight, if rows have weights."""

    @abstractmethod
    def read(self, which: slice | NDArray[np.int64] = slice(None)) -> Any:
        """Leaves (m,) -> their evidence in the form in which it is lifted."""

    def predictions(self) -> Floats:
        """(L, K): the shares of the classes in each leaf, 0 in a leaf without rows; in a regression (L, 1), its number.

        It is not there for several outputs; ask each of the `parts`.
        """
        held = self.table(weighted=True).astype(np.float64)
        total = held.sum(axis=1, keepdims=True)
        return np.asarray(np.divide(held, total, out=held, where=total > 0))

    def read_without(self, leaves: NDArray[np.int64], own: NDArray[Any]) -> Any:
        """Leaves (m,), and what each of m rows has added to its leaf -> the same without it."""
        raise NotImplementedError("only leaves that count classes count rows outside the bags of their trees")

    def lift(self, what: Reducer[Any], setting: Any, which: slice | NDArray[np.int64] = slice(None)) -> Floats:
        """Leaves (m,) -> their states (m, S)."""
        return np.ascontiguousarray(what.lift(self.read(which), setting))

    def lift_without(self, what: Reducer[Any], setting: Any, leaves: NDArray[np.int64], own: NDArray[Any]) -> Floats:
        """Leaves (m,), and what each of m rows has added to its leaf -> states (m, S) without it."""
        return np.ascontiguousarray(what.lift(self.read_without(leaves, own), setting))

    def lift_without_each(self, what: Reducer[Any], setting: Any) -> Floats:
        """-> (E, S): the state of every leaf without one row of a class, for each cell in the order of the core."""
        raise NotImplementedError("only leaves that count classes have cells")

    def cell_start(self, leaves: NDArray[np.int64]) -> NDArray[np.int64]:
        """Leaves (m,) -> the number of the first cell of each leaf."""
        raise NotImplementedError("only leaves that count classes have cells")

    @abstractmethod
    def between(self, first: int, last: int) -> Self:
        """Leaves number `first` to ``last - 1``; their arrays are views of these."""

    @abstractmethod
    def join(self, *others: Self) -> Self:
        """These leaves followed by the others."""

    @abstractmethod
    def add_classes(self, places: NDArray[np.intp], n_classes: int) -> Self:
        """The same leaves with `n_classes` classes: class k becomes ``places[k]``; places are in ascending order."""

    @abstractmethod
    def at_nodes(self, tree: Nodes) -> Self:
        """The leaves of a tree -> the evidence of each of its N nodes: all leaves below it, except borrowed ones."""

    def held_at_nodes(self, tree: Nodes) -> Iterator[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]]:
        """The leaves of a tree -> from its last node to the root, the classes that occur, their rows and weights."""
        held = self.at_nodes(tree)
        for rows, weights in zip(held.table()[::-1], held.table(weighted=True)[::-1], strict=True):
            labels = np.flatnonzero(rows + weights)
            yield labels, rows[labels], weights[labels]

    def impurity_at_nodes(self, tree: Nodes, criterion: Any) -> tuple[Floats, Floats]:
        """The leaves of a tree -> weight and impurity of each of its nodes, (N,) each."""
        held = self.at_nodes(tree)
        return held.amount, held.impurity(criterion)

    @abstractmethod
    def adding(
        self, target: NDArray[Any], weights: Floats | None, origins: Sequence[Provenance], ends: NDArray[np.int64]
    ) -> Adding:
        """The target (m,) and weights (m,) of later rows -> an object that adds them to these leaves.

        The trees of each origin are neighbours, and so are their leaves: `ends` says where those of each origin end.
        """

    def take(self, leaves: NDArray[np.int64]) -> Self:
        """Leaves (m,), each at most once, -1 for an empty leaf -> these leaves in this order."""
        raise NotImplementedError("only leaves that count classes are borrowed")

    def repeat(self, borrowers: NDArray[np.int64], lenders: NDArray[np.int64]) -> Self:
        """Pairs of leaves (m,) -> leaves in which each borrower holds the sum of its lenders."""
        raise NotImplementedError("only leaves that count classes are borrowed")

    @abstractmethod
    def cut(self, nodes: NDArray[np.int64]) -> Self:
        """The evidence of all nodes of a tree -> that of some of them (m,), which become leaves."""

    def cannot_be_cut(self, criterion: Any) -> str | None:
        """Why leaves that were grown by this criterion cannot be merged into one; None if they can."""
        return None

    @abstractmethod
    def impurity(self, criterion: Any) -> Floats:
        """(L,): how mixed the rows of each leaf are."""

    @abstractmethod
    def words(self, number: int, classes: NDArray[Any], decimals: int) -> str:
        """The evidence of a leaf as text for a reader."""

    @abstractmethod
    def check(self) -> None:
        """Raise a ValueError if the arrays do not fit together; their types have been checked before."""

    def _check_weights(self) -> None:
        """Raise a ValueError if weights have a size that no fit gives them."""
        given, least = self.weights, self.LEAST_WEIGHT
        if given is not None and not (((given >= least) | (given == 0)) & (given <= MOST_WEIGHT)).all():
            raise ValueError(f"weights of leaves must be 0, or lie between {least:g} and {MOST_WEIGHT:g}, got others")
