"""Targets on a cluster: protocols of what a prediction type defines to be fitted there.

A type has a `DistributedTarget` and a `PartitionTarget`. The first reads targets and knows what those of the whole
table have in common; the second knows what the rows of one part add to nodes and leaves.
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

from hedgerow.fit.engine import Engine, Handle
from hedgerow.forest.grow import GrowthParams
from hedgerow.forest.rows import Bags
from hedgerow.forest.target import TargetInfo
from hedgerow.inference.fitted import Fitted
from hedgerow.inference.oob import Sample
from hedgerow.table.sums import Spread, spread_of

Floats = NDArray[np.float64]
Array = NDArray[Any]


@dataclass(frozen=True)
class Targets:
    """Targets of one partition, on a worker.

    Parameters
    ----------
    values : (n,) array
        Numbers, or for each row the number of its class among the classes of the partition.
    told : Any
        Their summary by `DistributedTarget.read`; None without rows.
    weights : (n,) float64 or None
        Weights as given.
    """

    values: Array
    summary: Any
    weights: Floats | None


@dataclass(frozen=True)
class Weighed:
    """Targets of one partition, without rows of weight 0: class numbers or numbers, and weights.

    `rows` are those whose weight is above zero; None means all.
    """

    values: Array
    weights: Floats | None
    rows: NDArray[np.int64] | None = None

    @classmethod
    def of(cls, values: Array, weights: Floats | None) -> Weighed:
        """Targets (n,) and weights (n,) of all rows -> those of rows whose weight is above zero."""
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
        The engine, and a handle for each partition.
    part_rows : list of int
        Number of rows of each partition whose weight is above zero.
    class_rows : (K,) int
        Number of rows of each class; of all rows in a regression.
    is_weighted : bool
        Whether rows have weights.
    """

    engine: Engine
    parts: list[Handle]
    part_rows: list[int]
    class_rows: NDArray[np.intp]
    is_weighted: bool

    @classmethod
    def of(cls, engine: Engine, given: list[Handle], target: DistributedTarget) -> WeighedTable:
        """Handles of the results of `see` -> the weighed targets."""
        there = engine.put("target", target)
        parts = engine.ask("weigh", _weigh, given, there)
        summary = engine.gather(engine.ask("tell", _tell, parts, there), "partition {} (weigh)")
        engine.forget(given)
        class_rows, weighted = zip(*summary, strict=True)
        rows = [int(each.sum()) for each in class_rows]
        return cls(engine, parts, rows, np.sum(class_rows, axis=0), any(weighted))

    @property
    def n_rows(self) -> int:
        """The number of rows of all partitions."""
        return sum(self.part_rows)

    @property
    def first_rows(self) -> list[int]:
        """The number of the first row of each partition in the whole table."""
        return [0, *accumulate(self.part_rows[:-1])]

    def spread(self, function: Callable[[Any, Floats | None], Floats]) -> Spread:
        """A function of targets and weights -> the spread of its results over all rows."""
        asked = self.engine.each("spread", partial(_spread, function), self.parts)
        spreads = self.engine.gather(asked, "partition {} (spread)")
        total: Spread = sum(spreads[1:], start=spreads[0])
        return total


class ResolvedTarget(NamedTuple):
    """What parts and models need to know about a target.

    Parameters
    ----------
    settings : GrowthParams
        How trees are grown.
    make : callable
        Weighed targets of a partition -> what they add to nodes.
    tally : dict
        What an `Provenance` keeps of the rows, beside their number and bags.
    about : About
        What a fitted model keeps of its target.
    """

    settings: GrowthParams
    make: Callable[[Weighed], PartitionTarget]
    tally: dict[str, Any]
    info: TargetInfo


class DistributedTarget(ABC):
    """What is to be predicted in a whole table; before `known`, it holds only parameters of the estimator."""

    @abstractmethod
    def read(self, y: Any, n_rows: int) -> tuple[Array, Any]:
        """Targets of a partition, on its worker -> values (n,), and a summary of them for `known`."""

    @abstractmethod
    def known(self, engine: Engine, summary: list[Any], given: list[Handle]) -> Self:
        """Summaries of the partitions that have rows, and handles of the results of `see` -> the target of all rows."""

    @abstractmethod
    def weigh(self, given: Targets) -> Weighed:
        """Targets of a partition, on its worker -> the same in terms of the whole table, with their weights."""

    @abstractmethod
    def class_rows(self, values: Array) -> NDArray[np.intp]:
        """Weighed targets of a partition -> (K,): number of rows of each class; of all rows in a regression."""

    @abstractmethod
    def resolve(self, table: WeighedTable, settings_for: Callable[[int, int], GrowthParams]) -> ResolvedTarget:
        """Weighed targets of all rows, and ``settings_for(n_rows, n_classes)`` -> what parts and models need."""

    @abstractmethod
    def rows_to_learn_on(self, estimator: Any, n_rows: int, n_classes: int) -> NDArray[np.int64] | None:
        """The numbers of the rows on which one machine would learn out of bag; None if it would learn nothing."""

    @abstractmethod
    def learn(self, estimator: Any, fitted: Fitted, sample: Sample, bags: Bags, n_threads: int) -> None:
        """Let a fit learn what it can on these training rows, each judged by trees whose bags do not hold it."""


@dataclass(frozen=True)
class PartitionTarget(ABC):
    """The labels or numbers of the rows of a part.

    Parameters
    ----------
    core : CoreTarget
        The same in the form in which the core takes it, with the units and classes of the whole table.
    """

    core: Any

    #: Names of the arrays with an entry for each row.
    per_row: ClassVar[tuple[str, ...]]
    #: Whether leaves can be counted part by part; otherwise the rows of every leaf are gathered.
    leaves_add_up: ClassVar[bool]

    def take(self, rows: Any) -> Self:
        """The target of some rows."""
        return self._with({name: None if each is None else each[rows] for name, each in self._arrays().items()})

    @classmethod
    def joined(cls, targets: Sequence[Self], order: NDArray[np.int64] | None = None) -> Self:
        """The target of several parts, one after another; `order` then rearranges the rows."""
        arrays = [each._arrays() for each in targets]
        whole = {
            name: None if first is None else np.concatenate([each[name] for each in arrays])
            for name, first in arrays[0].items()
        }
        joined = targets[0]._with(whole)
        return joined if order is None else joined.take(order)

    @property
    @abstractmethod
    def truth(self) -> Array:
        """(n,): class numbers or numbers."""

    @property
    @abstractmethod
    def is_weighted(self) -> bool:
        """Whether rows weigh differently."""

    @property
    @abstractmethod
    def n_sums(self) -> int:
        """How many sums each bin has, besides the number of its rows."""

    @property
    @abstractmethod
    def groups(self) -> NDArray[np.uint16] | None:
        """(n,): the sum to which each row adds its amount; None if all rows add to the first."""

    @property
    def cell_type(self) -> type[np.uint32] | type[np.float64]:
        """The type of sums: counts fit into 32 bits; weights and numbers are whole numbers in a double."""
        return np.float64 if self.is_weighted or self.groups is None else np.uint32

    @abstractmethod
    def amounts(
        self, rows: NDArray[Any], times: NDArray[np.uint32], balance: Floats | None
    ) -> tuple[Array, Floats | None]:
        """Rows (r,), and how often the bag holds each -> the weight of each in the bag, and what a second sum gets."""

    @abstractmethod
    def gathered(self, rows: NDArray[Any], times: NDArray[np.uint32], balance: Floats | None) -> Self:
        """Rows (r,), and how often the bag holds each -> their target, as the core needs it for a gathered node."""

    def count(
        self, sense: str, times: NDArray[np.uint32], spans: list[tuple[int, int]], balance: Floats | None
    ) -> NDArray[np.int64]:
        """How often the bag holds each row, and spans of rows -> (2, spans, K): rows of each class, and their weight.

        It is called only if leaves add up.
        """
        raise NotImplementedError(f"the leaves of {type(self).__name__} do not add up")

    def look(self, rows: NDArray[Any], times: NDArray[np.uint32], spans: list[tuple[int, int]]) -> Floats:
        """Rows (r,), and spans of them -> (spans, 4): smallest and largest number, amount and sum of the first row.

        It is called only if sums cannot show whether the rows of a node are equal.
        """
        raise NotImplementedError(f"the sums of {type(self).__name__} show whether rows are equal")

    def all_equal(self, times: NDArray[np.uint16], first: int, last: int) -> bool:
        """Whether rows `first` to ``last - 1`` in the bag are all equal, if sums cannot show it."""
        return False

    def _arrays(self) -> dict[str, Any]:
        return {name: getattr(self.core, name) for name in self.per_row}

    def _with(self, arrays: dict[str, Any]) -> Self:
        return type(self)(replace(self.core, **arrays))


def _weigh(given: tuple[Any, Targets], target: DistributedTarget) -> Weighed:
    return target.weigh(given[1])


def _tell(weighed: Weighed, target: DistributedTarget) -> tuple[NDArray[np.intp], bool]:
    return target.class_rows(weighed.values), weighed.weights is not None


def _spread(function: Callable[[Any, Floats | None], Floats], weighed: Weighed) -> Spread:
    return spread_of(function(weighed.values, weighed.weights))
