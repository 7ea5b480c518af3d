"""Interfaces of prediction types that are fitted on a cluster, and of cluster engines.

`DistributedTarget` reads targets and summarises those of the whole table; `PartitionTarget` computes the contributions
of one partition to nodes and leaves.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from types import TracebackType
from typing import Any, ClassVar, NamedTuple, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ClusterError
from hedgerow.forest.grow import GrowthParams
from hedgerow.forest.rows import Bags
from hedgerow.forest.target import TargetInfo
from hedgerow.inference.fitted import Fitted
from hedgerow.inference.oob import Sample
from hedgerow.table.schema import Array, TargetLike
from hedgerow.table.sums import Spread, spread_of

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Targets:
    """Targets of one partition, on a worker.

    Parameters
    ----------
    values : (n,) array
        Continuous targets, or class numbers among the classes of the partition.
    summary : Any
        Summary by `DistributedTarget.read`; None without rows.
    weights : (n,) float64 or None
        Weights as passed by the user.
    """

    values: Array
    summary: Any
    weights: Floats | None


@dataclass(frozen=True)
class Weighed:
    """Targets and weights of one partition, without rows of weight zero.

    `rows` are the numbers of the rows of weight above zero; None means all.
    """

    values: Array
    weights: Floats | None
    rows: NDArray[np.int64] | None = None

    @classmethod
    def of(cls, values: Array, weights: Floats | None) -> Weighed:
        """Return the targets (n,) and weights (n,) without rows of weight zero."""
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
        Number of rows of weight above zero in each partition.
    class_rows : (K,) int
        Number of rows of each class; in regression, of all rows.
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
        """Weigh targets, given handles of the results of `see`."""
        there = engine.put("target", target)
        parts = engine.ask("weigh", _weigh, given, there)
        summary = engine.gather(engine.ask("tell", _tell, parts, there), "partition {} (weigh)")
        engine.forget(given)
        class_rows, weighted = zip(*summary, strict=True)
        rows = [int(each.sum()) for each in class_rows]
        return cls(engine, parts, rows, np.sum(class_rows, axis=0), any(weighted))

    @property
    def n_rows(self) -> int:
        """Number of rows of all partitions."""
        return sum(self.part_rows)

    @property
    def first_rows(self) -> list[int]:
        """Number of the first row of each partition in the whole table."""
        return [0, *accumulate(self.part_rows[:-1])]

    def spread(self, function: Callable[[Any, Floats | None], Floats]) -> Spread:
        """Return the spread over all rows of a function of targets and weights."""
        asked = self.engine.each("spread", partial(_spread, function), self.parts)
        spreads = self.engine.gather(asked, "partition {} (spread)")
        total: Spread = sum(spreads[1:], start=spreads[0])
        return total


class ResolvedTarget(NamedTuple):
    """A target resolved against all partitions.

    Parameters
    ----------
    settings : GrowthParams
        Growth parameters.
    make : callable
        Returns the `PartitionTarget` of the weighed targets of a partition.
    tally : dict
        Fields of `Provenance` about the rows, in addition to their number and bags.
    info : TargetInfo
        The part of the target that a fitted model keeps.
    """

    settings: GrowthParams
    make: Callable[[Weighed], PartitionTarget]
    tally: dict[str, Any]
    info: TargetInfo


class DistributedTarget(ABC):
    """The target of a whole table.

    Before `known`, it has only parameters of the estimator.
    """

    @abstractmethod
    def read(self, y: TargetLike | None, n_rows: int) -> tuple[Array, Any]:
        """Read the targets of a partition: values (n,), and a summary for `known`."""

    @abstractmethod
    def known(self, engine: Engine, summary: list[Any], given: list[Handle]) -> Self:
        """Return the target of all rows.

        `summary` has those of non-empty partitions, `given` handles of the results of `see`.
        """

    @abstractmethod
    def weigh(self, given: Targets) -> Weighed:
        """Convert the targets of a partition to those of the whole table."""

    @abstractmethod
    def class_rows(self, values: Array) -> NDArray[np.intp]:
        """Return the number of rows of each class (K,) in a partition.

        In regression, this is the number of all rows.
        """

    @abstractmethod
    def resolve(self, table: WeighedTable, settings_for: Callable[[int, int], GrowthParams]) -> ResolvedTarget:
        """Resolve the target against the weighed targets of all rows.

        ``settings_for(n_rows, n_classes)`` returns growth parameters.
        """

    @abstractmethod
    def rows_to_learn_on(self, estimator: Any, bags: Bags, n_classes: int) -> NDArray[np.int64] | None:
        """Return the numbers of the rows for out-of-bag learning.

        They are the same as on one machine. Return None if nothing is learned.
        """

    @abstractmethod
    def learn(self, estimator: Any, fitted: Fitted, sample: Sample, bags: Bags, n_threads: int) -> None:
        """Make the out-of-bag choices of a fit on these training rows."""


@dataclass(frozen=True)
class PartitionTarget(ABC):
    """The target of the rows of a part.

    Parameters
    ----------
    core : CoreTarget
        The target in the form that the core takes, with the units and classes of the whole table.
    """

    core: Any

    #: Names of the arrays with one entry per row.
    per_row: ClassVar[tuple[str, ...]]
    #: Whether leaves can be counted part by part; otherwise the rows of each leaf are gathered.
    leaves_add_up: ClassVar[bool]

    def take(self, rows: Any) -> Self:
        """Return the target of some rows."""
        return self._with({name: None if each is None else each[rows] for name, each in self._arrays().items()})

    @classmethod
    def joined(cls, targets: Sequence[Self], order: NDArray[np.int64] | None = None) -> Self:
        """Concatenate the targets of several parts; `order` then rearranges the rows."""
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
        """Class numbers or continuous targets, (n,)."""

    @property
    @abstractmethod
    def is_weighted(self) -> bool:
        """True if rows have weights."""

    @property
    @abstractmethod
    def n_sums(self) -> int:
        """Number of sums per bin, in addition to its number of rows."""

    @property
    @abstractmethod
    def groups(self) -> NDArray[np.uint16] | None:
        """Number of the sum to which each row adds, (n,).

        None if all rows add to the first.
        """

    @property
    def cell_type(self) -> type[np.uint32] | type[np.float64]:
        """Type of sums.

        Counts fit into 32 bits; weights and targets are whole numbers in a double.
        """
        return np.float64 if self.is_weighted or self.groups is None else np.uint32

    @abstractmethod
    def amounts(self, rows: Array, times: NDArray[np.uint32], balance: Floats | None) -> tuple[Array, Floats | None]:
        """Return the weights of rows (r,), and their addends to a second sum.

        `times` (r,) are multiplicities in the bag.
        """

    @abstractmethod
    def gathered(self, rows: Array, times: NDArray[np.uint32], balance: Floats | None) -> Self:
        """Return the target of rows (r,) in the form of a gathered node.

        `times` (r,) are multiplicities in the bag.
        """

    def count(
        self, sense: str, times: NDArray[np.uint32], spans: list[tuple[int, int]], balance: Floats | None
    ) -> NDArray[np.int64]:
        """Count rows and weights per class in spans of rows, (2, spans, K).

        Called only if leaves add up.
        """
        raise NotImplementedError(f"the leaves of {type(self).__name__} do not add up")

    def look(self, rows: Array, times: NDArray[np.uint32], spans: list[tuple[int, int]]) -> Floats:
        """Return the range of targets, and the first row, of spans of rows, (spans, 4).

        Columns are smallest and largest target, and amount and sum of the first row. Called only if sums cannot show
        whether the rows of a node are equal.
        """
        raise NotImplementedError(f"the sums of {type(self).__name__} show whether rows are equal")

    def all_equal(self, times: NDArray[np.uint16], first: int, last: int) -> bool:
        """Return whether rows `first` to ``last - 1`` are known to be all equal."""
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


# ---- Interface of cluster engines ------------------------------------------------------------------------------------
#
# A fit needs nothing else from a cluster. `hedgerow.cluster.dask_engine` implements it for Dask.


#: A result on the cluster. Handles are hashable; as an argument of a task, a handle is replaced by its result.
Handle: TypeAlias = Any
#: A coroutine that yields tasks with their labels, and is resumed when all of them have finished.
Asking: TypeAlias = Generator[dict[Handle, str], None, Any]
#: Number of results that one task adds up.
FAN_IN = 8


class Worker(NamedTuple):
    """Memory limit of a worker in bytes, 0 if unlimited, and number of threads."""

    memory_limit: int
    n_threads: int


class Engine(Protocol):
    """Runner of the tasks of one fit; its ``with`` block cancels unfinished tasks.

    Tasks are pure functions, so an engine may run one again if its result was lost. The names of tasks appear in the
    dashboard of the cluster. A `label`, such as "partition 3 (encode)", describes a task in errors.
    """

    #: Name of the cluster in errors.
    name: str

    @abstractmethod
    def workers(self) -> list[Worker]:
        """Return the workers that are available now."""

    @abstractmethod
    def read(
        self, name: str, function: Callable[..., Any], partitions: Sequence[Any], *columns: Sequence[Any]
    ) -> list[Handle]:
        """Submit ``function(rows, *arguments)`` for each partition.

        The arguments are the entries of the partition in each column.
        """

    @abstractmethod
    def each(self, name: str, function: Callable[..., Any], *columns: Sequence[Any]) -> list[Handle]:
        """Submit ``function(*arguments)`` for each entry of columns of values or handles."""

    @abstractmethod
    def first_finished(self, waiting: Mapping[Handle, str]) -> list[Handle]:
        """Wait for at least one handle, and return the finished ones.

        Errors of tasks are raised as `failure` returns them.
        """

    @abstractmethod
    def result(self, handle: Handle, label: str) -> Any:
        """Fetch the result of a handle that has finished."""

    @abstractmethod
    def forget(self, handles: Sequence[Handle]) -> None:
        """Release results that are no longer needed."""

    @abstractmethod
    def __enter__(self) -> Self: ...

    @abstractmethod
    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    # ---- derived methods --------------------------------------------------------------------------------------

    def one(self, name: str, function: Callable[..., Any], *arguments: Any) -> Handle:
        """Submit a single task."""
        return self.each(name, function, *([each] for each in arguments))[0]

    def put(self, name: str, value: object) -> Handle:
        """Send a value that many tasks share.

        It is the result of a task, which can be run again if it is lost.
        """
        return self.one(name, same, value)

    def ask(self, name: str, function: Callable[..., Any], parts: Sequence[Handle], *shared: Any) -> list[Handle]:
        """Submit ``function(part, *shared)`` for each part."""
        return self.each(name, function, parts, *([each] * len(parts) for each in shared))

    def sum(self, name: str, handles: list[Handle], add: Callable[..., Any]) -> Handle:
        """Add up results in a tree of tasks."""
        while len(handles) > 1:
            spans = [handles[first : first + FAN_IN] for first in range(0, len(handles), FAN_IN)]
            handles = [self.one(f"{name}-sum", add, *span) for span in spans]
        return handles[0]

    def total(
        self, name: str, function: Callable[..., Any], parts: Sequence[Handle], *shared: Any, add: Callable[..., Any]
    ) -> Asking:
        """Apply a function to all parts, and return the sum of the results."""
        asked = self.ask(name, function, parts, *shared)
        total = [self.sum(name, asked, add)] if len(asked) > FAN_IN else []  # added here, it saves a round trip
        label = {handle: f"partition {i} ({name})" for i, handle in enumerate(asked)}
        label |= dict.fromkeys(total, f"the sum over partitions ({name})")
        yield label
        return add(*(self.result(handle, label[handle]) for handle in total or asked))

    def as_finished(self, handles: Mapping[Handle, str]) -> Iterator[Handle]:
        """Iterate over handles, given with labels, in the order of completion."""
        waiting = dict(handles)
        while waiting:
            for handle in self.first_finished(waiting):
                del waiting[handle]
                yield handle

    def wait(self, handles: Sequence[Handle], label: str) -> None:
        """Wait until all handles have finished.

        ``{}`` in `label` stands for the number of a handle.
        """
        for _ in self.as_finished({handle: label.format(i) for i, handle in enumerate(handles)}):
            pass

    def gather(self, handles: Sequence[Handle], label: str) -> list[Any]:
        """Wait for handles and fetch their results, in order."""
        self.wait(handles, label)
        return [self.result(handle, label.format(i)) for i, handle in enumerate(handles)]

    def fetch(self, handle: Handle, label: str) -> Any:
        """Wait for a handle and fetch its result."""
        return self.gather([handle], label)[0]


def failure(label: str, reason: BaseException | None, text: str = "") -> Exception:
    """Return the error of a fit for the exception of a task, or a `text` about it.

    An error in the table is the same as on one machine, prefixed with the label.
    """
    for kind in (ValueError, TypeError):
        if type(reason) is kind:
            return kind(f"{label}: {reason}")
    text = text or f"{type(reason).__name__}: {str(reason)[:300]}"
    return ClusterError(f"{label} failed: {text}. Check that workers can read it and have enough memory.")


def add_arrays(*arrays: Any) -> Any:
    """Return the sum of arrays of one shape."""
    total = arrays[0].copy()
    for array in arrays[1:]:
        total += array
    return total


def same(item: Any) -> Any:
    """Return the item itself, as the task of a shared value."""
    return item
