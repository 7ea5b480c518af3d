"""Engine: functions and their arguments -> results, which stay on the cluster until they are fetched.

A fit needs nothing else from a cluster. `dask_engine` has one engine; another one is a class with the methods below.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, Self, TypeAlias

from hedgerow.errors import ClusterError

#: Stands for a result that is on the cluster. It is hashable; as an argument of a task, it is replaced by the result.
Handle: TypeAlias = Any
#: Yields tasks and what they are about, and goes on when all of them have finished. Several can so be under way.
Asking: TypeAlias = Generator[dict[Handle, str], None, Any]
#: How many results one task adds.
FAN_IN = 8


class Worker(NamedTuple):
    """A process that runs tasks: the bytes it may use, 0 for any number, and its threads."""

    memory_limit: int
    n_threads: int


class Engine(Protocol):
    """Runs the tasks of one fit inside a ``with`` block; at its end, tasks that still run are stopped.

    Tasks are pure functions, so an engine may run one again if its result was lost. The names of tasks are for people
    who watch the cluster. `label` describes what is waited for, such as "partition 3 (encode)", and appears in errors.
    """

    #: The name of the cluster in errors.
    name: str

    @abstractmethod
    def workers(self) -> list[Worker]:
        """The workers that are available now."""

    @abstractmethod
    def read(
        self, name: str, function: Callable[..., Any], partitions: Sequence[Any], *columns: Sequence[Any]
    ) -> list[Handle]:
        """``function(rows, *arguments)`` for each partition: its `Rows`, read again, and its entry in each column."""

    @abstractmethod
    def each(self, name: str, function: Callable[..., Any], *columns: Sequence[Any]) -> list[Handle]:
        """``function(*arguments)`` for each entry of the columns, which hold values or handles."""

    @abstractmethod
    def some(self, waiting: Mapping[Handle, str]) -> list[Handle]:
        """Handles and what they are about -> those that have finished, at least one; errors are those of `failure`."""

    @abstractmethod
    def result(self, handle: Handle, label: str) -> Any:
        """Fetch the result of a handle that has finished."""

    @abstractmethod
    def forget(self, handles: Sequence[Handle]) -> None:
        """Let the cluster drop results that are no longer needed."""

    @abstractmethod
    def __enter__(self) -> Self: ...

    @abstractmethod
    def __exit__(self, kind: Any, error: Any, trace: Any) -> None: ...

    # ---- what the methods above imply -------------------------------------------------------------------------

    def one(self, name: str, function: Callable[..., Any], *arguments: Any) -> Handle:
        """Run a single task."""
        return self.each(name, function, *([each] for each in arguments))[0]

    def put(self, name: str, value: Any) -> Handle:
        """Send a value that many tasks share, as the result of a task, so that it can be made again if it is lost."""
        return self.one(name, same, value)

    def ask(self, name: str, function: Callable[..., Any], parts: Sequence[Handle], *shared: Any) -> list[Handle]:
        """``function(part, *shared)`` for each part."""
        return self.each(name, function, parts, *([each] * len(parts) for each in shared))

    def sum(self, name: str, handles: list[Handle], add: Callable[..., Any]) -> Handle:
        """Results -> their sum, which a tree of tasks computes."""
        while len(handles) > 1:
            spans = [handles[first : first + FAN_IN] for first in range(0, len(handles), FAN_IN)]
            handles = [self.one(f"{name}-sum", add, *span) for span in spans]
        return handles[0]

    def total(
        self, name: str, function: Callable[..., Any], parts: Sequence[Handle], *shared: Any, add: Callable[..., Any]
    ) -> Asking:
        """Apply a function to all parts, and add the results; returns the sum."""
        asked = self.ask(name, function, parts, *shared)
        total = [self.sum(name, asked, add)] if len(asked) > FAN_IN else []  # else one task and one round trip less
        label = {handle: f"partition {i} ({name})" for i, handle in enumerate(asked)}
        label |= dict.fromkeys(total, f"the sum over partitions ({name})")
        yield label
        return add(*(self.result(handle, label[handle]) for handle in total or asked))

    def as_finished(self, handles: Mapping[Handle, str]) -> Iterator[Handle]:
        """Handles and what they are about -> the handles, in the order in which they finish."""
        waiting = dict(handles)
        while waiting:
            for handle in self.some(waiting):
                del waiting[handle]
                yield handle

    def wait(self, handles: Sequence[Handle], label: str) -> None:
        """Wait until all have finished; a ``{}`` in `label` is replaced by the number of each handle."""
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
    """The exception of a task, or what is known about its failure -> the error of the fit.

    An error in the table is the same as on one machine, with the place in front of it.
    """
    for kind in (ValueError, TypeError):
        if type(reason) is kind:
            return kind(f"{label}: {reason}")
    text = text or f"{type(reason).__name__}: {str(reason)[:300]}"
    return ClusterError(f"{label} must be computed, got {text}; check that workers can read it and have enough memory")


def add_arrays(*arrays: Any) -> Any:
    """Arrays of one shape -> their sum."""
    total = arrays[0].copy()
    for array in arrays[1:]:
        total += array
    return total


def same(item: Any) -> Any:
    """The item itself; a task of this is a value that many others share."""
    return item
