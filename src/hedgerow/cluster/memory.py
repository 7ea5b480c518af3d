"""Memory: tasks on workers with little memory -> what they have freed goes back to the system.

Dask counts what the C library keeps for later as used. A worker that has spilled all it holds would stay paused for
ever, since no task runs on it that could free more. So a thread gives memory back as long as tasks come.
"""

from __future__ import annotations

from threading import Lock, Thread
from time import monotonic, sleep

from hedgerow import _core

#: Seconds from one time to the next, and how long after the last task the thread goes on.
PAUSE, LINGER = 0.5, 60.0


class _Returning:
    """A thread that gives memory back until no task has come for a while."""

    def __init__(self) -> None:
        self._lock, self._until = Lock(), 0.0
        self._thread: Thread | None = None

    def go_on(self) -> None:
        """Go on from now, in a new thread if the last one has ended."""
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
    """Called by tasks: memory is kept for the next ones if there is room, and else given back."""
    if keeps:
        _core.keep_memory()
    else:
        _returning.go_on()
