"""Workers with little memory give back what tasks have freed, in a thread that ends some time after the last task."""

from __future__ import annotations

import time

import pytest

from hedgerow.cluster import memory


@pytest.fixture
def returning(monkeypatch: pytest.MonkeyPatch) -> memory._Returning:
    """In place of the one of this process, whose thread may be at work for another test."""
    monkeypatch.setattr(memory, "PAUSE", 0.01)
    monkeypatch.setattr(memory, "LINGER", 0.3)
    own = memory._Returning()
    monkeypatch.setattr(memory, "_returning", own)
    return own


def test_the_thread_begins_with_a_task_and_ends_after_the_last_one(returning: memory._Returning) -> None:
    seen = set()
    for _ in range(2):  # a second time, after it has ended
        start = time.monotonic()
        memory.use_memory(keeps=False)
        thread = returning._thread
        assert thread is not None
        memory.use_memory(keeps=False)
        assert returning._thread is thread
        thread.join(timeout=30)
        assert returning._thread is None
        assert time.monotonic() - start >= 0.3
        seen.add(thread)
    assert len(seen) == 2


def test_no_thread_begins_where_there_is_room(returning: memory._Returning) -> None:
    memory.use_memory(keeps=True)
    assert returning._thread is None
