"""Measure: forests held by worker processes -> seconds, bytes and probabilities, taken in turns.

Every forest lives in a process of its own which holds the data and is told what to do, so that all are timed
alike, one after the other (A B C A B C ...), and one that takes too long or too much memory can be ended by
its pid. The clock runs inside the worker, around the call alone.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import resource
import time
import traceback
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import read
from benchmarks.peers import PEERS, Forest, NotInstalledError

GRAIN = 4 * 2**20
"""Bytes of peak memory below which thread stacks and the allocator outweigh the fit."""


class LeftOutError(Exception):
    """A forest could not be measured, for a reason that is not a defect: absent, too slow, too large."""


class FailedError(Exception):
    """A forest raised an error or its process died."""


class Worker:
    """A process that holds one forest and one table, and answers one request at a time."""

    def __init__(self, name: str, threads: int) -> None:
        context = multiprocessing.get_context("spawn")
        self.name, self.memory_limit = name, _two_thirds_of_memory()
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, name, threads), daemon=True)
        self.process.start()
        theirs.close()

    def ask(self, request: str, *args: Any, timeout: float = 600.0) -> Any:
        """Send a request and wait for its answer."""
        self.tell(request, *args)
        return self.answer(request, timeout)

    def tell(self, request: str, *args: Any) -> None:
        """Send a request and do not wait."""
        if not self.process.is_alive():
            raise LeftOutError("ended earlier")
        self.connection.send((request, *args))

    def answer(self, request: str, timeout: float = 600.0) -> Any:
        """Wait for the answer to a request; end the process when it is late or too large."""
        deadline = time.monotonic() + timeout
        while not self.connection.poll(0.25):
            if time.monotonic() > deadline:
                self.end()
                raise LeftOutError(f"took longer than {timeout:.0f} s to {request}")
            if _resident(self.process.pid) > self.memory_limit:
                self.end()
                raise LeftOutError(f"took more than {self.memory_limit / 2**30:.0f} GiB to {request}")
        try:
            state, answer = self.connection.recv()
        except EOFError as reason:
            self.end()
            raise FailedError(f"process died during {request}, exit code {self.process.exitcode}") from reason
        if state == "ok":
            return answer
        raise (LeftOutError if state == "absent" else FailedError)(answer)

    def end(self) -> None:
        """End the process, by its own id."""
        if self.process.is_alive():
            self.process.kill()
        self.process.join()
        self.connection.close()


class Crew:
    """The workers of a run: each starts when needed, stays for all shapes, and is replaced when it ended."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.workers: dict[str, Worker] = {}

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self.workers.values():
            worker.end()

    def get(self, names: Iterable[str]) -> dict[str, Worker]:
        """Living workers by name."""
        for name in names:
            if name not in self.workers or not self.workers[name].process.is_alive():
                self.workers[name] = Worker(name, self.threads)
        return {name: self.workers[name] for name in names}


@dataclass
class Timing:
    """The seconds of one forest over the rounds; `estimated` where a smaller fit was scaled up instead."""

    seconds: list[float] = field(default_factory=list)
    estimated: bool = False
    done: bool = False

    @property
    def best(self) -> float | None:
        """The minimum of the repeats."""
        return min(self.seconds, default=None)


def in_turns(
    calls: dict[str, Callable[[], float]],
    repeats: int,
    once: Iterable[str] = (),
    spend: float = 1.0,
    most: int = 15,
    problems: dict[str, str] | None = None,
) -> dict[str, Timing]:
    """Call each in turn, A B C A B C ..., at least `repeats` times and until `spend` seconds went into it.

    A call that raises LeftOutError or FailedError leaves the rounds, and `problems` says why.
    """
    timings, slow = {name: Timing() for name in calls}, set(once)
    for number in range(most):
        for name, call in calls.items():
            timing = timings[name]
            enough = number >= (1 if name in slow else repeats) and sum(timing.seconds) >= spend
            if timing.done or enough or (name in slow and number):
                timing.done = True
                continue
            try:
                timing.seconds.append(call())
            except (LeftOutError, FailedError) as reason:
                timing.done = True
                if problems is None:
                    raise
                problems[name] = say(reason)
    return timings


def ratios(values: dict[str, float | None], ours: Iterable[str], us: str = "hedgerow") -> dict[str, Any]:
    """Each value relative to the smallest of the peers, and relative to ours; and who the smallest peer is.

    >>> found = ratios({"hedgerow": 1.0, "a": 4.0, "b": 8.0, "c": None}, ours=["hedgerow"])
    >>> found["fastest"], found["to_fastest"]["hedgerow"], found["to_hedgerow"]["b"]
    ('a', 0.25, 8.0)
    """
    known = {name: value for name, value in values.items() if value}
    peers = {name: value for name, value in known.items() if name not in set(ours)}
    fastest = min(peers, key=peers.__getitem__) if peers else None
    return {
        "fastest": fastest,
        "to_fastest": {name: value / peers[fastest] for name, value in known.items()} if fastest else {},
        "to_hedgerow": {name: value / known[us] for name, value in known.items()} if us in known else {},
    }


def peak_of_fit(name: str, folder: Path, threads: int, trees: int, timeout: float) -> dict[str, Any]:
    """Peak memory of one fit in a fresh process that holds the data and has fitted a tiny table before."""
    worker = Worker(name, threads)
    try:
        worker.ask("load", str(folder), timeout=120.0)
        return worker.ask("peak", trees, timeout=timeout)
    finally:
        worker.end()


def log_loss(probability: NDArray[Any], y: NDArray[Any], clip: float) -> NDArray[np.float64]:
    """(n, K), (n,) -> (n,): minus the log of the true class's share, shares clipped below and rescaled."""
    share = np.maximum(probability, clip)
    return -np.log(share[np.arange(len(y)), y] / share.sum(axis=1))


def quiet() -> None:
    """One filter that silences all warnings.

    scikit-learn sets filters in its threads, which can leave the process with none; it then warns at every tree.
    """
    warnings.resetwarnings()
    warnings.simplefilter("ignore")


def say(reason: Exception) -> str:
    """One line for a reason: the last of a traceback, marked when it is a defect."""
    line = str(reason).strip().splitlines()[-1] if str(reason).strip() else type(reason).__name__
    return f"error: {line}" if isinstance(reason, FailedError) else line


class _Bench:
    """What a worker does on request."""

    def __init__(self, name: str, threads: int) -> None:
        self.peer, self.threads = PEERS[name], threads
        self.forest: Forest | None = None

    def load(self, folder: str) -> None:
        """Read the data, import the library."""
        self.forest, self.folder = None, Path(folder)
        self.data = read(self.folder)
        self.peer.make(1, self.threads, 0)

    def fit(self, trees: int) -> float:
        """Seconds of making and fitting a forest."""
        self.forest = None
        gc.collect()
        start = time.perf_counter()
        forest = self.peer.make(trees, self.threads, 1)
        forest.fit(self.data.X, self.data.y)
        took = time.perf_counter() - start
        self.forest = forest
        return took

    def predict(self) -> float:
        """Seconds of predict_proba of all fresh rows; the probabilities are left in the folder."""
        start = time.perf_counter()
        probability = self._forest.predict_proba(self.data.X_fresh)
        took = time.perf_counter() - start
        np.save(self.folder / f"probability-{self.peer.name}.npy", probability)
        return took

    def one_row(self, threads: int | None = None) -> float:
        """Least seconds of predict_proba of one row, over 30 rows; with other threads on request."""
        model, took = getattr(self._forest, "model", None), []
        if threads is not None:
            model.set_params(n_jobs=threads)
        for i in range(30):
            row = self.data.X_fresh[i : i + 1]
            start = time.perf_counter()
            self._forest.predict_proba(row)
            took.append(time.perf_counter() - start)
        if threads is not None:
            model.set_params(n_jobs=self.threads)
        return min(took)

    def size(self) -> int | None:
        """Bytes of the model."""
        return self._forest.nbytes()

    def table(self) -> int:
        """Bytes of the binned table: as the model says, else one byte a cell."""
        told = getattr(getattr(getattr(self._forest, "model", None), "forest_", None), "table_nbytes", None)
        return int(told or self.data.X.size)

    def peak(self, trees: int) -> dict[str, Any]:
        """Peak resident memory of one fit minus what was resident right before it, and how it was read."""
        few = np.r_[0:200, np.unique(self.data.y, return_index=True)[1]]
        few = few[few < len(self.data.y)]
        self.peer.make(2, self.threads, 0).fit(self.data.X[few], self.data.y[few])
        gc.collect()
        reset = reset_peak()
        before = status("VmRSS") or 0
        forest = self.peer.make(trees, self.threads, 1)
        forest.fit(self.data.X, self.data.y)
        after = status("VmHWM") if reset else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        self.forest = forest
        how = "VmHWM, reset before" if reset else "ru_maxrss, never reset: an upper bound"
        return {
            "bytes": max(0, (after or 0) - before),
            "how": how,
            "table": self.table(),
            "model": self.size(),
        }

    @property
    def _forest(self) -> Forest:
        if self.forest is None:
            raise RuntimeError("nothing was fitted yet")
        return self.forest


def _serve(connection: Connection, name: str, threads: int) -> None:
    """A worker's life: requests in, answers out; what libraries print goes nowhere, errors are answers."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    bench = _Bench(name, threads)
    while True:
        try:
            request, *args = connection.recv()
        except EOFError:
            return
        quiet()
        try:
            connection.send(("ok", getattr(bench, request)(*args)))
        except NotInstalledError as reason:
            connection.send(("absent", str(reason)))
        except BaseException:
            connection.send(("failed", traceback.format_exc(limit=-3)))


def status(key: str, pid: int | None = None) -> int | None:
    """A memory line of /proc/<pid>/status in bytes, or None where there is no such file."""
    try:
        lines = Path(f"/proc/{pid or 'self'}/status").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{key}:")), None)


def _resident(pid: int | None) -> int:
    """Resident bytes of a process, 0 when unknown."""
    return status("VmRSS", pid) or 0


def reset_peak() -> bool:
    """Set the process's peak memory back to its present memory; False where the system does not let us."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return False
    return True


def _two_thirds_of_memory() -> int:
    """Bytes: a share of the machine's memory that one peer may take."""
    return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * 2 / 3)
