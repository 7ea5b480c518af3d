"""Work divided among threads."""

from __future__ import annotations

import threading

import pytest

from hedgerow.util import runtime
from hedgerow.util.runtime import map_in_threads


@pytest.mark.parametrize("n_threads", [1, 2, 5, 100])
def test_results_are_in_the_order_of_the_items(n_threads: int) -> None:
    assert map_in_threads(lambda item: item * item, range(20), n_threads) == [item * item for item in range(20)]
    assert map_in_threads(str, [], n_threads) == []


@pytest.mark.parametrize("n_started", [0, 1, 2])
def test_threads_that_start_do_the_work_of_those_that_do_not(n_started: int, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[threading.Thread] = []

    class Limited(threading.Thread):
        def start(self) -> None:
            if len(started) == n_started:
                raise RuntimeError("can't start new thread")
            started.append(self)
            super().start()

    monkeypatch.setattr(runtime, "Thread", Limited)
    assert map_in_threads(lambda item: -item, range(50), 8) == [-item for item in range(50)]
    assert len(started) == n_started


@pytest.mark.parametrize("n_threads", [1, 3])
def test_an_error_ends_the_work_and_is_raised(n_threads: int) -> None:
    with pytest.raises(ZeroDivisionError):
        map_in_threads(lambda item: 1 / (item - 7), range(50), n_threads)
