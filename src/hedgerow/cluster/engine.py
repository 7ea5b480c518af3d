"""Engine: functions and what they work on -> results, which lie on a cluster until they are asked for.

A fit asks nothing else of a cluster. `dask_engine` is one engine; another is a class with the abstract methods below.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol, Self, TypeAlias

from hedgerow.cluster.limits import Worker
from hedgerow.errors import ClusterError

#: A result that lies on the cluster. It is hashable; given to a task as an argument, it becomes the result there.
Handle: TypeAlias = Any
#: How many results one task adds up.
FAN_IN = 8


class Engine(Protocol):
    """Runs the tasks of one fit, between ``with`` and its end: then it stops what is still under way.

    Tasks are pure functions, so an engine may run one again whose result was lost. Their names are for people who watch
    the cluster. Wherever something is waited for, `about` says what it is, for an error: "partition 3 (encode)".
    """

    #: What errors call the cluster.
    name: str

    @abstractmethod
    def workers(self) -> list[Worker]:
        """Those that are there."""

    @abstractmethod
    def read(
        self, name: str, function: Callable[..., Any], partitions: Sequence[Any], *columns: Sequence[Any]
    ) -> list[Handle]:
        """``function(rows, *arguments)`` for each partition: its `Rows`, read anew, and its entry in each column."""

    @abstractmethod
    def each(self, name: str, function: Callable[..., Any], *columns: Sequence[Any]) -> list[Handle]:
        """``function(*arguments)`` for each entry of the columns, which hold values or handles."""

    @abstractmethod
    def some(self, waiting: Mapping[Handle, str]) -> list[Handle]:
        """Handles and what they are about -> those that are finished, at least one; or the error of `failure`."""

    @abstractmethod
    def result(self, handle: Handle, about: str) -> Any:
        """What a finished handle stands for, brought here."""

    @abstractmethod
    def forget(self, handles: Sequence[Handle]) -> None:
        """Let the cluster drop results that no later task needs."""

    @abstractmethod
    def __enter__(self) -> Self: ...

    @abstractmethod
    def __exit__(self, kind: Any, error: Any, trace: Any) -> None: ...

    # ---- what follows from these ------------------------------------------------------------------------------

    def one(self, name: str, function: Callable[..., Any], *arguments: Any) -> Handle:
        """A single task."""
        return self.each(name, function, *([each] for each in arguments))[0]

    def put(self, name: str, value: Any) -> Handle:
        """A value that many tasks share, sent once: the result of a task, so that it can be made again."""
        return self.one(name, same, value)

    def ask(self, name: str, function: Callable[..., Any], parts: Sequence[Handle], *shared: Any) -> list[Handle]:
        """``function(part, *shared)`` for each part."""
        return self.each(name, function, parts, *([each] * len(parts) for each in shared))

    def sum(self, name: str, handles: list[Handle], add: Callable[..., Any]) -> Handle:
        """Results -> their sum, added up in a tree of tasks."""
        while len(handles) > 1:
            spans = [handles[first : first + FAN_IN] for first in range(0, len(handles), FAN_IN)]
            handles = [self.one(f"{name}-sum", add, *span) for span in spans]
        return handles[0]

    def total(
        self, name: str, function: Callable[..., Any], parts: Sequence[Handle], *shared: Any, add: Callable[..., Any]
    ) -> Any:
        """What a function says of all parts, added up and brought here."""
        answers = self.ask(name, function, parts, *shared)
        total = self.sum(name, answers, add)
        self.wait(answers, f"partition {{}} ({name})")
        return self.fetch(total, f"the sum over partitions ({name})")

    def as_finished(self, handles: Mapping[Handle, str]) -> Iterator[Handle]:
        """Handles and what they are about -> the handles, in the order in which they finish."""
        waiting = dict(handles)
        while waiting:
            for handle in self.some(waiting):
                del waiting[handle]
                yield handle

    def wait(self, handles: Sequence[Handle], about: str) -> None:
        """Until all are finished; a ``{}`` in what they are about becomes the number of each."""
        for _ in self.as_finished({handle: about.format(i) for i, handle in enumerate(handles)}):
            pass

    def gather(self, handles: Sequence[Handle], about: str) -> list[Any]:
        """Handles -> their results, in order, brought here."""
        self.wait(handles, about)
        return [self.result(handle, about.format(i)) for i, handle in enumerate(handles)]

    def fetch(self, handle: Handle, about: str) -> Any:
        """A handle -> its result, brought here."""
        return self.gather([handle], about)[0]


def failure(about: str, reason: BaseException | None, said: str = "") -> Exception:
    """Why a task has failed, or what is said of it -> the error of the fit.

    What is wrong with the table is the error that it is on one machine, with the place in front.
    """
    for kind in (ValueError, TypeError):
        if type(reason) is kind:
            return kind(f"{about}: {reason}")
    said = said or f"{type(reason).__name__}: {str(reason)[:300]}"
    return ClusterError(f"{about} must be computed, got {said}; see that workers can read it and have memory enough")


def add_arrays(*arrays: Any) -> Any:
    """Arrays of one shape -> their sum."""
    total = arrays[0].copy()
    for array in arrays[1:]:
        total += array
    return total


def same(item: Any) -> Any:
    """The item: a task whose result many others use."""
    return item
