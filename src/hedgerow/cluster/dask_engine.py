"""Engine for Dask clusters, with timeouts and errors that name the failed task."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from functools import partial
from types import TracebackType
from typing import Any, Self
from weakref import WeakSet

from dask.delayed import delayed
from dask.sizeof import sizeof
from distributed import Client, get_client

from hedgerow.cluster.limits import ROW_ARGUMENTS, rows_from
from hedgerow.cluster.part import Part, PartPlan
from hedgerow.cluster.piece import Piece
from hedgerow.errors import ClusterError
from hedgerow.fit.distributed import Engine, Handle, PartitionTarget, Targets, Weighed, Worker, failure
from hedgerow.forest.forest import Forest
from hedgerow.forest.nodes import Nodes
from hedgerow.forest.payload import LeafPayload
from hedgerow.forest.target import CoreTarget
from hedgerow.table.bins import Bins

#: Seconds without workers after which a fit gives up.
PATIENCE = 30.0
#: Factor of this time if all workers are paused, because they may be spilling data to disk.
PAUSES = 10


class DaskEngine(Engine):
    """An engine for Dask.

    Handles are futures. A partition is a tuple of arguments of `rows_from`, some of them delayed.

    Parameters
    ----------
    client : distributed.Client, str or None
        The client that runs the tasks; see `client_for`.
    patience : float
        Give up after this many seconds without any worker, or without the scheduler.
    """

    name = "Dask"
    client: Any

    def __init__(self, client: Any = None, patience: float = PATIENCE) -> None:
        self._opening, self.patience = client_for(client), patience
        self._made: WeakSet[Any] = WeakSet()
        self._numbered = 0

    def __enter__(self) -> Self:
        self.client = self._opening.__enter__()
        self._alive = self._running = self._looked = time.monotonic()
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Cancel all tasks after an error or Ctrl-C, and release their results."""
        made = list(self._made)
        try:
            if error_type is not None and self.client.status == "running":
                self.client.cancel(made, force=True)
            self.forget(made)
        finally:
            self._opening.__exit__(error_type, error, trace)

    def workers(self) -> list[Worker]:
        """Return the workers that the scheduler knows."""
        return [Worker(each["memory_limit"] or 0, each["nthreads"]) for each in self._workers()]

    def read(
        self, name: str, function: Callable[..., Any], partitions: Sequence[Any], *columns: Sequence[Any]
    ) -> list[Handle]:
        """Compute and read each partition in one task; see `Engine.read`."""
        return self.compute(name, partial(_of_rows, function), partitions, *columns)

    def compute(
        self, name: str, function: Callable[..., Any], partitions: Sequence[Any], *columns: Sequence[Any]
    ) -> list[Handle]:
        """Submit ``function(*partition, *arguments)`` for each delayed partition."""
        call = delayed(function, pure=False, traverse=False)
        each = zip(self._keys(name, len(partitions)), partitions, *columns, strict=True)
        tasks = [call(*partition, *arguments, dask_key_name=key) for key, partition, *arguments in each]
        return self._with(self.client.compute(tasks))

    def each(self, name: str, function: Callable[..., Any], *columns: Sequence[Any]) -> list[Handle]:
        """Submit all tasks in one message to the scheduler; see `Engine.each`."""
        n_tasks = len(columns[0])
        if not n_tasks:
            return []
        keys = self._keys(name, n_tasks)
        return self._with(self.client.map(_call, [function] * n_tasks, *columns, key=keys, pure=False))

    def first_finished(self, waiting: Mapping[Handle, str]) -> list[Handle]:
        """Check futures every few milliseconds, workers every second; see `Engine.first_finished`."""
        pause, longest = 0.001, min(0.05, 0.005 + len(waiting) * 2e-5)  # checking a future takes a microsecond
        while not (done := [future for future in waiting if future.done()]):
            self._check_alive(next(iter(waiting.values())))
            time.sleep(pause)
            pause = min(longest, pause * 1.5)
        for future in done:
            self._check_result(future, waiting[future])
        return done

    def result(self, handle: Handle, label: str) -> Any:
        """Fetch a result, which is computed again if its worker dies meanwhile."""
        pause = 5.0
        while True:
            try:
                return handle.result(timeout=pause)
            except TimeoutError:
                self._check_alive(label)
                pause = min(60.0, 2 * pause)
            except Exception:
                self._check_result(handle, label)
                raise

    def forget(self, handles: Sequence[Handle]) -> None:
        """Release the futures."""
        for future in handles:
            future.release()

    def _keys(self, name: str, n_tasks: int) -> list[str]:
        first, self._numbered = self._numbered + 1, self._numbered + n_tasks
        return [f"{name}-{id(self):x}-{first + i}" for i in range(n_tasks)]

    def _with(self, futures: Any) -> list[Handle]:
        """Register futures as those of this fit, and return them."""
        self._made.update(made := list(futures))
        return made

    def _workers(self) -> list[dict[str, Any]]:
        return list(self.client.scheduler_info(n_workers=-1)["workers"].values())

    def _check_result(self, future: Any, label: str) -> None:
        if future.status in ("finished", "pending", "lost"):  # the last two if a worker died and lost the result
            return
        reason = future.exception() if future.status == "error" else None
        raise failure(label, reason, f"a {future.status} task" if reason is None else "") from reason

    def _check_alive(self, label: str) -> None:
        """Raise ClusterError if there has been no running worker for too long."""
        now = time.monotonic()
        if now - self._looked < 1:
            return
        self._looked = now
        states = [each["status"] for each in self._workers()] if self.client.status == "running" else []
        self._alive = now if states else self._alive
        self._running = now if "running" in states else self._running
        if now - self._alive > self.patience:
            raise ClusterError(
                f"The cluster had no workers for {self.patience:.0f} seconds while waiting for {label}. Start workers"
                " and fit again."
            )
        if now - self._running > PAUSES * self.patience:
            raise ClusterError(
                f"All workers were paused for {now - self._running:.0f} seconds while waiting for {label}, because"
                " their memory is full. Give them more memory, or use smaller partitions."
            )


@contextmanager
def client_for(client: Any) -> Iterator[Any]:
    """Open a Dask client.

    `client` is a client, the address of a scheduler, or None for the current client, or else a local cluster.
    """
    if client is not None and not isinstance(client, str):
        yield client
        return
    if client is None:
        try:
            current = get_client()
        except ValueError:
            current = None
        if current is not None:
            yield current
            return
    # Workers that replace lost ones preload the modules of tasks. Logs of a local cluster would bury the error.
    here: dict[str, Any] = {"processes": True, "dashboard_address": ":0", "preload": ["hedgerow.dask"]}
    options: dict[str, Any] = {"address": client} if client else here | {"silence_logs": logging.CRITICAL}
    with Client(**options) as own:  # type: ignore[no-untyped-call]
        yield own


def _call(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a task from this module, which makes its worker import the sizes below."""
    return function(*arguments)


def _of_rows(function: Callable[..., Any], *given: Any) -> Any:
    """Call a function with the rows of a computed partition and its other arguments."""
    return function(rows_from(*given[:ROW_ARGUMENTS]), *given[ROW_ARGUMENTS:])


def _bytes_of(item: Any) -> int:
    """Return the size in bytes of the fields of a dataclass."""
    return int(sum(sizeof(getattr(item, each.name)) for each in fields(item)))


# Dask decides by sizes when to spill to disk and where to run tasks. It would assume some fifty bytes for an object of
# an unknown type, however large its arrays are.
_KNOWN = (Bins, CoreTarget, Forest, LeafPayload, Nodes, Part, PartitionTarget, PartPlan, Piece, Targets, Weighed)
for _kind in _KNOWN:
    sizeof.register(_kind, _bytes_of)  # type: ignore[no-untyped-call]
