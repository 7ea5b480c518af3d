"""Leaf payloads: the evidence that leaves keep."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hedgerow.criteria import Criterion
from hedgerow.forest.nodes import Nodes
from hedgerow.forest.reducers import Reducer
from hedgerow.forest.rows import Provenance

if TYPE_CHECKING:
    from hedgerow.forest.leaf_masses import LeafMasses
    from hedgerow.forest.moments import IncrementalMoments

Floats = NDArray[np.float64]

#: Largest weight of a leaf; fits scale weights to ordinary size.
MOST_WEIGHT = 1e100


#: Rows as a slice or as row numbers.
Rows: TypeAlias = slice | NDArray[np.int64]


class Adding(ABC):
    """Leaves, and rows that are added to them, some trees at a time."""

    @abstractmethod
    def add(self, origin: int, at: NDArray[np.int64], rows: Rows, times: NDArray[np.uint32] | None) -> None:
        """Add rows (m,) to leaves (m,), `times` (m,) times each; None means once.

        `origin` is the index of the provenance of the trees.
        """

    @abstractmethod
    def added(self) -> LeafPayload:
        """Return the leaves with the added rows."""


class LeafPayload(ABC):
    """Evidence of L leaves, or of the N nodes of a tree (`at_nodes`).

    Attributes
    ----------
    n_classes : int
        Number of classes K; 1 if only rows are counted.
    counts, weights
        Rows, and their weight if rows are weighted; subclasses define their shapes.
    """

    #: Types of the arrays, as named in files.
    TYPES: ClassVar[dict[str, Any]]
    #: Arrays that may be absent, and the array whose presence identifies this type of leaves.
    OPTIONAL: ClassVar[tuple[str, ...]]
    KEY_ARRAY: ClassVar[str]
    #: Smallest positive weight of a leaf.
    LEAST_WEIGHT: ClassVar[float] = 1 / MOST_WEIGHT
    #: Whether leaf states are columns of the arrays, so that lifting costs almost nothing.
    lifts_freely: ClassVar[bool] = False

    n_classes: int
    counts: NDArray[np.uint32]
    weights: Floats | None
    # Arrays that only some types of leaves have.
    entry_start: NDArray[np.int64] | None = None
    entry_class: NDArray[np.uint16] | None = None
    values: Floats | None = None
    means: Floats | None = None
    variances: Floats | None = None
    halves: Floats | None = None
    incremental: IncrementalMoments | None = None
    masses: LeafMasses | None = None
    wide: bool = False

    @classmethod
    @abstractmethod
    def from_arrays(cls, n_classes: int, arrays: Mapping[str, Any]) -> Self:
        """Return leaves from arrays as named in files, unchecked."""

    @classmethod
    def knows(cls, name: str) -> bool:
        """Return whether an array of this name belongs to leaves of this type."""
        return name in cls.TYPES

    @property
    def parts(self) -> tuple[LeafPayload, ...]:
        """Leaves of each output; these leaves if there is only one."""
        return (self,)

    @property
    @abstractmethod
    def n_leaves(self) -> int:
        """Number of leaves L."""

    @property
    @abstractmethod
    def amount(self) -> Floats:
        """Weight of each leaf, (L,); the number of rows without weights."""

    @property
    @abstractmethod
    def rows(self) -> NDArray[np.int64]:
        """Number of rows in each leaf, (L,)."""

    @property
    def heavy(self) -> Floats:
        """Weights, or counts without weights; shaped like `counts`."""
        return self.counts.astype(np.float64) if self.weights is None else self.weights

    @property
    def width(self) -> int:
        """Number of columns that `read` returns."""
        return self.n_classes

    def with_gaps(self) -> LeafPayload:
        """Return the leaves with the gaps of uncertain labels next to the counts that are read."""
        return self

    def arrays(self) -> dict[str, Any]:
        """Return all arrays by name."""
        return {name: held for name in self.TYPES if isinstance(held := getattr(self, name), np.ndarray)}

    @abstractmethod
    def table(self, which: slice | NDArray[np.int64] = slice(None), *, weighted: bool = False) -> NDArray[Any]:
        """Return the rows of each class in leaves, or their weight, (m, K)."""

    @abstractmethod
    def read(self, which: slice | NDArray[np.int64] = slice(None)) -> Any:
        """Return the evidence of leaves, as reducers lift it."""

    def predictions(self) -> Floats:
        """Return class shares, (L, K), 0 if empty, or predicted numbers, (L, 1).

        Not supported for multi-output leaves; use each of the `parts`.
        """
        held = self.table(weighted=True).astype(np.float64)
        total = held.sum(axis=1, keepdims=True)
        return np.asarray(np.divide(held, total, out=held, where=total > 0))

    def read_without(self, leaves: NDArray[np.int64], own: NDArray[Any]) -> Any:
        """Return the evidence of leaves (m,) without one row each."""
        raise NotImplementedError("only class counts include out-of-bag rows")

    def lift(self, what: Reducer[Any], setting: Any, which: slice | NDArray[np.int64] = slice(None)) -> Floats:
        """Return the states of leaves, (m, S)."""
        return np.ascontiguousarray(what.lift(self.read(which), setting))

    def lift_without(self, what: Reducer[Any], setting: Any, leaves: NDArray[np.int64], own: NDArray[Any]) -> Floats:
        """Return the states of leaves (m,) without one row each, (m, S)."""
        return np.ascontiguousarray(what.lift(self.read_without(leaves, own), setting))

    def lift_without_each(self, what: Reducer[Any], setting: Any) -> Floats:
        """Return the states of leaves without one row of a class, by cell, (E, S)."""
        raise NotImplementedError("only class counts have cells")

    def cell_start(self, leaves: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the first cell of each leaf, (m,)."""
        raise NotImplementedError("only class counts have cells")

    @abstractmethod
    def between(self, first: int, last: int) -> Self:
        """Return leaves `first` to ``last - 1`` as views."""

    @abstractmethod
    def join(self, *others: Self) -> Self:
        """Return these leaves followed by the others."""

    @abstractmethod
    def add_classes(self, places: NDArray[np.intp], n_classes: int) -> Self:
        """Return the leaves with more classes; class k becomes ``places[k]``."""

    @abstractmethod
    def at_nodes(self, tree: Nodes) -> Self:
        """Return the evidence of each of the N nodes of a tree, without borrowed leaves."""

    def held_at_nodes(self, tree: Nodes) -> Iterator[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]]:
        """Yield classes, rows and weights of each node, from the last to the root."""
        held = self.at_nodes(tree)
        for rows, weights in zip(held.table()[::-1], held.table(weighted=True)[::-1], strict=True):
            labels = np.flatnonzero(rows + weights)
            yield labels, rows[labels], weights[labels]

    def impurity_at_nodes(self, tree: Nodes, criterion: str | Criterion) -> tuple[Floats, Floats]:
        """Return weight and impurity of each node of a tree with these leaves, (N,) each."""
        held = self.at_nodes(tree)
        return held.amount, held.impurity(criterion)

    @abstractmethod
    def adding(
        self, target: NDArray[Any], weights: Floats | None, origins: Sequence[Provenance], ends: NDArray[np.int64]
    ) -> Adding:
        """Return an object that adds later rows with target (m,) to leaves.

        The trees of each origin are adjacent, and so are their leaves; `ends` has the end of the leaves of each.
        """

    def take(self, leaves: NDArray[np.int64]) -> Self:
        """Return distinct leaves in the given order; -1 gives an empty leaf."""
        raise NotImplementedError("only class counts can be borrowed")

    def repeat(self, borrowers: NDArray[np.int64], lenders: NDArray[np.int64]) -> Self:
        """Return the leaves with each borrower replaced by the sum of its lenders."""
        raise NotImplementedError("only class counts can be borrowed")

    @abstractmethod
    def cut(self, nodes: NDArray[np.int64]) -> Self:
        """Return the evidence of some nodes (m,), which become leaves."""

    def cannot_be_cut(self, criterion: str | Criterion) -> str | None:
        """Return why leaves cannot be merged into one; None if they can."""
        return None

    @abstractmethod
    def impurity(self, criterion: str | Criterion) -> Floats:
        """Return the impurity of each leaf, (L,)."""

    @abstractmethod
    def words(self, number: int, classes: NDArray[Any], decimals: int) -> str:
        """Return the evidence of a leaf as text."""

    @abstractmethod
    def check(self) -> None:
        """Raise ValueError if the arrays do not match; their types were checked before."""

    def _check_weights(self) -> None:
        """Raise ValueError if weights are out of range."""
        given, least = self.weights, self.LEAST_WEIGHT
        if given is not None and not (((given >= least) | (given == 0)) & (given <= MOST_WEIGHT)).all():
            bad = given[~(((given >= least) | (given == 0)) & (given <= MOST_WEIGHT))][0]
            raise ValueError(f"weights must be 0, or between {least:g} and {MOST_WEIGHT:g}, got {bad:g}")
