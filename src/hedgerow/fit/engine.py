"""Interface of cluster engines.

A fit needs nothing else from a cluster. `hedgerow.cluster.dask_engine` implements it for Dask.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, NamedTuple, Protocol, Self, TypeAlias

from hedgerow.errors import ClusterError

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

    def put(self, name: str, value: Any) -> Handle:
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
