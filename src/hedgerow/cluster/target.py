"""Target: what the rows of a table on a cluster are labelled with -> what tasks and the core must know of it.

`classes` and `numbers` are the two targets there are: each has a `TableTarget`, which reads targets and knows what all
of them have in common, and a `PartTarget`, which is what the rows of one part add to nodes and leaves.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from hedgerow.cluster.engine import Engine, Handle
from hedgerow.forest.grow import GrowSettings
from hedgerow.table.sums import Spread, spread_of
from hedgerow.target.base import About

Floats = NDArray[np.float64]
Array = NDArray[Any]


@dataclass(frozen=True)
class Targets:
    """Targets of one partition, on a worker.

    Parameters
    ----------
    values : (n,) array
        Numbers; of labels, which of the partition's own classes each row has.
    told : Any
        What `TableTarget.read` says of them; None without rows.
    weights : (n,) float64 or None
        As given.
    """

    values: Array
    told: Any
    weights: Floats | None


@dataclass(frozen=True)
class Weighed:
    """Targets of one partition, without rows that weigh nothing: class numbers or values, and weights.

    `rows` are those that weigh something, None for all.
    """

    values: Array
    weights: Floats | None
    rows: NDArray[np.int64] | None = None

    @classmethod
    def of(cls, values: Array, weights: Floats | None) -> Weighed:
        """Targets (n,) and weights (n,) of all rows -> those of rows that weigh something."""
        if weights is None or (weights > 0).all():
            return cls(values, weights)
        rows = np.flatnonzero(weights > 0)
        return cls(values[rows], weights[rows], rows)


@dataclass(frozen=True)
class WeighedTable:
    """The weighed targets of all partitions, on the workers.

    Parameters
    ----------
    engine, parts : Engine, list of handles
        Where they are.
    part_rows : list of int
        Rows of each partition, without those that weigh nothing.
    class_rows : (K,) int
        Rows of each class; all rows where there are no classes.
    is_weighted : bool
        Whether rows have weights.
    """

    engine: Engine
    parts: list[Handle]
    part_rows: list[int]
    class_rows: NDArray[np.intp]
    is_weighted: bool

    @classmethod
    def of(cls, engine: Engine, given: list[Handle], target: TableTarget) -> WeighedTable:
        """Handles of what `see` has found -> the weighed targets."""
        there = engine.put("target", target)
        parts = engine.ask("weigh", _weigh, given, there)
        told = engine.gather(engine.ask("tell", _tell, parts, there), "partition {} (weigh)")
        engine.forget(given)
        class_rows, weighted = zip(*told, strict=True)
        rows = [int(each.sum()) for each in class_rows]
        return cls(engine, parts, rows, np.sum(class_rows, axis=0), any(weighted))

    @property
    def n_rows(self) -> int:
        """Rows of all partitions."""
        return sum(self.part_rows)

    @property
    def first_rows(self) -> list[int]:
        """The number of the first row of each partition in the whole table."""
        return [0, *accumulate(self.part_rows[:-1])]

    def spread(self, function: Callable[[Any, Floats | None], Floats]) -> Spread:
        """A function of targets and weights -> the spread of what it makes of those of all rows."""
        asked = self.engine.each("spread", partial(_spread, function), self.parts)
        spreads = self.engine.gather(asked, "partition {} (spread)")
        total: Spread = sum(spreads[1:], start=spreads[0])
        return total


class Settled(NamedTuple):
    """What parts and models need to know of a target.

    Parameters
    ----------
    settings : GrowSettings
        How trees are grown.
    make : callable
        Weighed targets of a partition -> what they add to nodes.
    tally : dict
        What an `Origin` keeps of the rows, beside their number and bags.
    about : About
        What a fitted model keeps of its target.
    """

    settings: GrowSettings
    make: Callable[[Weighed], PartTarget]
    tally: dict[str, Any]
    about: About


class TableTarget(ABC):
    """What is to be predicted, in a whole table: at first as an estimator's parameters say, then as `known`."""

    @abstractmethod
    def read(self, y: Any, n_rows: int) -> tuple[Array, Any]:
        """Targets of a partition, on its worker -> (n,) values, and what is told of them to all others."""

    @abstractmethod
    def known(self, engine: Engine, told: list[Any], given: list[Handle]) -> Self:
        """What partitions with rows have told, and handles of what `see` has found -> the target of all rows."""

    @abstractmethod
    def weigh(self, given: Targets) -> Weighed:
        """Targets of a partition, on its worker -> the same in terms of the whole table, with their weights."""

    @abstractmethod
    def class_rows(self, values: Array) -> NDArray[np.intp]:
        """Weighed targets of a partition -> (K,): rows of each class; all rows where there are no classes."""

    @abstractmethod
    def settle(self, table: WeighedTable, settings_for: Callable[[int, int], GrowSettings]) -> Settled:
        """Weighed targets of all rows, and ``settings_for(n_rows, n_classes)`` -> what parts and models need."""


@dataclass(frozen=True)
class PartTarget(ABC):
    """What the rows of a part are labelled with.

    Parameters
    ----------
    core : Labels or Numbers
        As the core takes it. Units and classes are those of the whole table.
    """

    core: Any

    #: Names of the arrays with an entry for each row.
    per_row: ClassVar[tuple[str, ...]]
    #: Whether leaves can be counted part by part; otherwise the rows of every leaf are gathered.
    leaves_add_up: ClassVar[bool]

    def take(self, rows: Any) -> Self:
        """Those of some rows."""
        return self._with({name: None if each is None else each[rows] for name, each in self._arrays().items()})

    @classmethod
    def joined(cls, targets: Sequence[Self], order: NDArray[np.int64] | None = None) -> Self:
        """Those of several parts, one after another; then the rows in this order."""
        arrays = [each._arrays() for each in targets]
        whole = {
            name: None if first is None else np.concatenate([each[name] for each in arrays])
            for name, first in arrays[0].items()
        }
        joined = targets[0]._with(whole)
        return joined if order is None else joined.take(order)

    @property
    @abstractmethod
    def is_weighted(self) -> bool:
        """Whether rows weigh differently."""

    @property
    @abstractmethod
    def n_sums(self) -> int:
        """What is summed up for each bin, beside its rows."""

    @property
    @abstractmethod
    def groups(self) -> NDArray[np.uint16] | None:
        """(n,): which of the sums each row adds its amount to; None where all add to the first."""

    @property
    def cell_type(self) -> type[np.uint32] | type[np.float64]:
        """How sums travel: counts fit 32 bits; weights and numbers are whole numbers in a double."""
        return np.float64 if self.is_weighted or self.groups is None else np.uint32

    @abstractmethod
    def amounts(
        self, rows: NDArray[Any], times: NDArray[np.uint32], balance: Floats | None
    ) -> tuple[Array, Floats | None]:
        """Rows (r,), and how often the bag holds each -> what each weighs in it, and adds to a second sum."""

    @abstractmethod
    def gathered(self, rows: NDArray[Any], times: NDArray[np.uint32], balance: Floats | None) -> Self:
        """Rows (r,), and how often the bag holds each -> their target as the core takes that of a gathered node."""

    def count(
        self, sense: str, times: NDArray[np.uint32], spans: list[tuple[int, int]], balance: Floats | None
    ) -> NDArray[np.int64]:
        """How often the bag holds each row, and spans of rows -> (2, spans, K): rows of each class, and their weight.

        Only asked where leaves add up.
        """
        raise NotImplementedError

    def look(self, rows: NDArray[Any], times: NDArray[np.uint32], spans: list[tuple[int, int]]) -> Floats:
        """Rows (r,), and spans of them -> (spans, 4): lowest and highest number, amount and sum of the first row.

        Only asked where a node's sums do not tell whether its rows are alike.
        """
        raise NotImplementedError

    def all_equal(self, times: NDArray[np.uint16], first: int, last: int) -> bool:
        """Whether rows first to last - 1 that are in the bag are alike, where a node's sums do not tell."""
        return False

    def _arrays(self) -> dict[str, Any]:
        return {name: getattr(self.core, name) for name in self.per_row}

    def _with(self, arrays: dict[str, Any]) -> Self:
        return type(self)(replace(self.core, **arrays))


def _weigh(given: tuple[Any, Targets], target: TableTarget) -> Weighed:
    return target.weigh(given[1])


def _tell(weighed: Weighed, target: TableTarget) -> tuple[NDArray[np.intp], bool]:
    return target.class_rows(weighed.values), weighed.weights is not None


def _spread(function: Callable[[Any, Floats | None], Floats], weighed: Weighed) -> Spread:
    return spread_of(function(weighed.values, weighed.weights))
