"""Return of freed memory to the system, on workers with little memory.

Dask counts memory that the C library keeps for reuse as used. A worker that has spilled all its data would stay paused
for ever, because no task would run on it and free more. So a thread returns memory as long as tasks arrive.
"""

from __future__ import annotations

from threading import Lock, Thread
from time import monotonic, sleep

from hedgerow import _core

#: Seconds between two returns, and between the last task and the end of the thread.
PAUSE, LINGER = 0.5, 60.0


class _Returning:
    """A thread that returns memory until no task has arrived for a while."""

    def __init__(self) -> None:
        self._lock, self._until = Lock(), 0.0
        self._thread: Thread | None = None

    def go_on(self) -> None:
        """Continue for `LINGER` seconds, in a new thread if the last one has ended."""
        with self._lock:
            self._until = monotonic() + LINGER
            if self._thread is None:
                self._thread = Thread(target=self._run, daemon=True, name="hedgerow-memory")
                self._thread.start()

    def _run(self) -> None:
        while True:
            sleep(PAUSE)
            _core.give_back_memory()
            with self._lock:
                if monotonic() > self._until:
                    self._thread = None
                    return


_returning = _Returning()


def use_memory(keeps: bool) -> None:
    """Keep freed memory for the next task if `keeps`, or return it to the system."""
    if keeps:
        _core.keep_memory()
    else:
        _returning.go_on()
