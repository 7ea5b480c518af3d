"""Dask engine: tasks of a fit -> tasks of a Dask cluster, and their failures in words; it never waits for ever."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from functools import partial
from typing import Any, Self
from weakref import WeakSet

from dask.delayed import delayed
from dask.sizeof import sizeof
from distributed import Client, get_client

from hedgerow.cluster.classes import PartClasses
from hedgerow.cluster.engine import Engine, Handle, failure
from hedgerow.cluster.limits import Worker
from hedgerow.cluster.numbers import PartNumbers
from hedgerow.cluster.part import Part, Plan
from hedgerow.cluster.rows import rows_from
from hedgerow.cluster.target import Targets, Weighed
from hedgerow.errors import ClusterError
from hedgerow.forest.counts import Counts
from hedgerow.forest.forest import Forest
from hedgerow.forest.moments import Moments
from hedgerow.forest.nodes import Nodes
from hedgerow.table.bins import Bins
from hedgerow.target.base import Labels, Numbers

#: How long a cluster may be without workers before a fit gives up, in seconds.
PATIENCE = 30.0
#: All workers may be paused for this many times as long: they may be writing to disk what does not fit in memory.
PAUSES = 10


class DaskEngine(Engine):
    """Handles are futures, partitions the arguments of `rows_from`, any of them delayed.

    Parameters
    ----------
    client : distributed.Client, str or None
        Who runs the tasks; see `client_for`.
    patience : float
        Seconds without any worker, or without the scheduler, after which to give up.
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

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        """Cancel all tasks after an error, or Ctrl-C; let the cluster forget what they have made."""
        made = list(self._made)
        try:
            if kind is not None and self.client.status == "running":
                self.client.cancel(made, force=True)
            self.forget(made)
        finally:
            self._opening.__exit__(kind, error, trace)

    def workers(self) -> list[Worker]:
        """What the scheduler knows of them."""
        return [Worker(each["memory_limit"] or 0, each["nthreads"]) for each in self._workers()]

    def read(
        self, name: str, function: Callable[..., Any], partitions: Sequence[Any], *columns: Sequence[Any]
    ) -> list[Handle]:
        """Partitions are computed and read in one task each."""
        return self.compute(name, partial(_of_rows, function), partitions, *columns)

    def compute(
        self, name: str, function: Callable[..., Any], partitions: Sequence[Any], *columns: Sequence[Any]
    ) -> list[Handle]:
        """``function(*partition, *arguments)`` for each partition, which holds delayed objects."""
        call = delayed(function, pure=False, traverse=False)
        each = zip(self._keys(name, len(partitions)), partitions, *columns, strict=True)
        tasks = [call(*partition, *arguments, dask_key_name=key) for key, partition, *arguments in each]
        return self._with(self.client.compute(tasks))

    def each(self, name: str, function: Callable[..., Any], *columns: Sequence[Any]) -> list[Handle]:
        """One message to the scheduler for all of them; names show on Dask's dashboard."""
        n_tasks = len(columns[0])
        if not n_tasks:
            return []
        keys = self._keys(name, n_tasks)
        return self._with(self.client.map(_call, [function] * n_tasks, *columns, key=keys, pure=False))

    def some(self, waiting: Mapping[Handle, str]) -> list[Handle]:
        """Looks at the futures every few milliseconds, at the workers every second."""
        pause, longest = 0.001, min(0.05, 0.005 + len(waiting) * 2e-5)  # looking at a future takes a microsecond
        while not (done := [future for future in waiting if future.done()]):
            self._check_alive(next(iter(waiting.values())))
            time.sleep(pause)
            pause = min(longest, pause * 1.5)
        for future in done:
            self._check_result(future, waiting[future])
        return done

    def result(self, handle: Handle, about: str) -> Any:
        """A worker may die while its result is fetched: then it is computed again."""
        pause = 5.0
        while True:
            try:
                return handle.result(timeout=pause)
            except TimeoutError:
                self._check_alive(about)
                pause = min(60.0, 2 * pause)
            except Exception:
                self._check_result(handle, about)
                raise

    def forget(self, handles: Sequence[Handle]) -> None:
        """Release the futures."""
        for future in handles:
            future.release()

    def _keys(self, name: str, n_tasks: int) -> list[str]:
        first, self._numbered = self._numbered + 1, self._numbered + n_tasks
        return [f"{name}-{id(self):x}-{first + i}" for i in range(n_tasks)]

    def _with(self, futures: Any) -> list[Handle]:
        """Futures, once it is noted that they are of this fit."""
        self._made.update(made := list(futures))
        return made

    def _workers(self) -> list[dict[str, Any]]:
        return list(self.client.scheduler_info(n_workers=-1)["workers"].values())

    def _check_result(self, future: Any, about: str) -> None:
        if future.status in ("finished", "pending", "lost"):  # the last two where a worker died with the result
            return
        reason = future.exception() if future.status == "error" else None
        raise failure(about, reason, f"a {future.status} task" if reason is None else "") from reason

    def _check_alive(self, about: str) -> None:
        """Give up when no worker is left, or none has room for the work."""
        now = time.monotonic()
        if now - self._looked < 1:
            return
        self._looked = now
        states = [each["status"] for each in self._workers()] if self.client.status == "running" else []
        self._alive = now if states else self._alive
        self._running = now if "running" in states else self._running
        if now - self._alive > self.patience:
            raise ClusterError(
                f"a cluster must have a worker, got none for {self.patience:.0f} seconds while {about} was waited for;"
                " start workers and fit again"
            )
        if now - self._running > PAUSES * self.patience:
            raise ClusterError(
                f"a cluster must have a worker that takes tasks, got only paused ones for {now - self._running:.0f}"
                f" seconds while {about} was waited for; their memory is full: give them more, or make partitions"
                " smaller"
            )


@contextmanager
def client_for(client: Any) -> Iterator[Any]:
    """A client, the address of a scheduler, or None -> a client: the current one or, without any, one of its own."""
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
    # A worker that takes the place of a lost one imports what tasks need before it takes any. An error says what fails,
    # and where: pages of log around it would hide it.
    here: dict[str, Any] = {"processes": True, "dashboard_address": ":0", "preload": ["hedgerow.dask"]}
    options: dict[str, Any] = {"address": client} if client else here | {"silence_logs": logging.CRITICAL}
    with Client(**options) as own:  # type: ignore[no-untyped-call]
        yield own


def _call(function: Callable[..., Any], *arguments: Any) -> Any:
    """Every task is called from this module, so that its worker imports it and knows the sizes of what tasks make."""
    return function(*arguments)


def _of_rows(function: Callable[..., Any], *given: Any) -> Any:
    """A function, a computed partition and further arguments -> the function of its rows and the arguments."""
    return function(rows_from(*given[:5]), *given[5:])


def _bytes_held(held: Any) -> int:
    """A dataclass -> bytes of what its fields hold."""
    return int(sum(sizeof(getattr(held, each.name)) for each in fields(held)))


# Dask must know when to spill and what is dear to send. It takes an object of an unknown type for some fifty bytes,
# whatever arrays the object holds.
_KNOWN = (Bins, Counts, Forest, Labels, Moments, Nodes, Numbers, Part, PartClasses, PartNumbers, Plan, Targets, Weighed)
for _kind in _KNOWN:
    sizeof.register(_kind, _bytes_held)  # type: ignore[no-untyped-call]
