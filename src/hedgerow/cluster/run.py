"""Run: plain tasks on a Dask cluster -> their results, or an error that says what failed; never a wait without end."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Self
from weakref import WeakSet

from hedgerow.errors import ClusterError

#: How long a cluster may be without workers before a fit gives up, in seconds.
PATIENCE = 30.0
#: Workers that are there, but all paused, may be writing to disk what does not fit: so many times longer they may be.
PAUSES = 10
#: How many sums one task adds up.
FAN_IN = 8


class Runner:
    """The tasks of one fit: submitted by name, watched while they run, cancelled when it ends.

    Parameters
    ----------
    client : distributed.Client
        Who runs them.
    patience : float
        Seconds without any worker, or without the scheduler, after which to give up.
    """

    def __init__(self, client: Any, patience: float = PATIENCE) -> None:
        self.client, self.patience = client, patience
        self._alive = self._running = self._looked = time.monotonic()
        self._kept: list[Any] = []
        self._made: WeakSet[Any] = WeakSet()
        self._numbered = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        """Whatever has happened, nothing of the fit goes on."""
        if kind is not None and self.client.status == "running":
            self.client.cancel(list(self._made), force=True)
        for future in self._kept:
            future.release()
        self._kept = []

    def workers(self) -> list[dict[str, Any]]:
        """What the scheduler knows of each worker."""
        return list(self.client.scheduler_info(n_workers=-1)["workers"].values())

    def submit(self, name: str, function: Callable[..., Any], *args: Any, keep: bool = False) -> Any:
        """A task -> its future; `name` shows on Dask's dashboard. Kept futures live as long as the fit."""
        self._numbered += 1
        key = f"{name}-{id(self):x}-{self._numbered}"
        future = self.client.submit(function, *args, key=key, pure=False)
        self._made.add(future)
        if keep:
            self._kept.append(future)
        return future

    def submit_each(
        self, name: str, function: Callable[..., Any], *columns: list[Any], keep: bool = False
    ) -> list[Any]:
        """Arguments of many tasks, a list for each place -> their futures; one message instead of one for each."""
        if not columns[0]:
            return []
        keys = [f"{name}-{id(self):x}-{self._numbered + 1 + i}" for i in range(len(columns[0]))]
        self._numbered += len(keys)
        futures = list(self.client.map(function, *columns, key=keys, pure=False))
        self._made.update(futures)
        self._kept += futures if keep else []
        return futures

    def compute(self, delayed: list[Any]) -> list[Any]:
        """Delayed objects -> futures that live as long as the fit."""
        futures = list(self.client.compute(delayed))
        self._kept += futures
        self._made.update(futures)
        return futures

    def forget(self, futures: list[Any]) -> None:
        """Let the cluster forget results that no task to come needs."""
        gone = {future.key for future in futures}
        self._kept = [future for future in self._kept if future.key not in gone]
        for future in futures:
            future.release()

    def some(self, futures: dict[Any, str]) -> list[Any]:
        """Futures and what they are about -> those that are finished, at least one; an error names what it is about."""
        pause, longest = 0.001, min(0.05, 0.005 + len(futures) * 2e-5)  # looking at a future takes a microsecond
        while not (done := [future for future in futures if future.done()]):
            self._check_alive(next(iter(futures.values())))
            time.sleep(pause)
            pause = min(longest, pause * 1.5)
        for future in done:
            self._check_result(future, futures[future])
        return done

    def each(self, futures: dict[Any, str]) -> Iterator[Any]:
        """Futures and what they are about -> the futures, as they finish."""
        waiting = dict(futures)
        while waiting:
            for future in self.some(waiting):
                del waiting[future]
                yield future

    def wait(self, futures: list[Any], about: Callable[[int], str]) -> None:
        """Until all are finished; their results stay where they are."""
        for _ in self.each({future: about(i) for i, future in enumerate(futures)}):
            pass

    def gather(self, futures: list[Any], about: Callable[[int], str]) -> list[Any]:
        """Futures -> their results, in order."""
        self.wait(futures, about)
        return [self.result(future, about(i)) for i, future in enumerate(futures)]

    def result(self, future: Any, about: str) -> Any:
        """A finished future -> its result, though its worker may die while it is fetched."""
        pause = 5.0
        while True:
            try:
                return future.result(timeout=pause)
            except TimeoutError:
                self._check_alive(about)
                pause = min(60.0, 2 * pause)
            except Exception:
                self._check_result(future, about)
                raise

    def sum(self, name: str, futures: list[Any], add: Callable[..., Any]) -> Any:
        """Futures of parts -> the future of their sum, added up in a tree of tasks."""
        while len(futures) > 1:
            futures = [
                self.submit(f"{name}-sum", add, *futures[first : first + FAN_IN])
                for first in range(0, len(futures), FAN_IN)
            ]
        return futures[0]

    def _check_result(self, future: Any, about: str) -> None:
        if future.status in (
            "finished",
            "pending",
            "lost",
        ):  # not finished any more where a worker died with the result
            return
        reason = future.exception() if future.status == "error" else None
        for kind in (ValueError, TypeError):  # what is wrong with the table, in the words of a fit on one machine
            if type(reason) is kind:
                raise kind(f"{about}: {reason}") from reason
        said = f"{type(reason).__name__}: {str(reason)[:300]}" if reason is not None else f"a {future.status} task"
        raise ClusterError(
            f"{about} must be computed, got {said}; see that workers can read it and have memory enough"
        ) from reason

    def _check_alive(self, about: str) -> None:
        """Give up when nobody is left to do the work, or nobody has room for it."""
        now = time.monotonic()
        if now - self._looked < 1:
            return
        self._looked = now
        states = [each["status"] for each in self.workers()] if self.client.status == "running" else []
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
    from distributed import Client, get_client

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
    # A worker that takes the place of a lost one imports what tasks need before it takes any. What fails, and where, an
    # error says: pages of log around it would hide it.
    here: dict[str, Any] = {"processes": True, "dashboard_address": ":0", "preload": ["hedgerow.dask"]}
    options: dict[str, Any] = {"address": client} if client else here | {"silence_logs": logging.CRITICAL}
    with Client(**options) as own:  # type: ignore[no-untyped-call]
        yield own


def add_arrays(*arrays: Any) -> Any:
    """Arrays of one shape -> their sum."""
    total = arrays[0].copy()
    for array in arrays[1:]:
        total += array
    return total


def pick(items: Any, which: int) -> Any:
    """One of several."""
    return items[which]


def same(item: Any) -> Any:
    """The item: a task whose result every other may use, and that can be run again."""
    return item


def in_batches(items: Iterable[Any], size_of: Callable[[Any], int], most: int) -> Iterator[list[Any]]:
    """Items -> lists of them whose sizes add up to at most `most`, or that hold one item."""
    batch: list[Any] = []
    size = 0
    for item in items:
        if batch and size + size_of(item) > most:
            yield batch
            batch, size = [], 0
        batch.append(item)
        size += size_of(item)
    if batch:
        yield batch
