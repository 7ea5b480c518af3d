"""Workers with little memory give back what tasks have freed, in a thread that ends some time after the last task."""

from __future__ import annotations

import time

import pytest

from hedgerow.cluster import limits


@pytest.fixture
def returning(monkeypatch: pytest.MonkeyPatch) -> limits._Returning:
    """In place of the one of this process, whose thread may be at work for another test."""
    monkeypatch.setattr(limits, "PAUSE", 0.01)
    monkeypatch.setattr(limits, "LINGER", 0.3)
    own = limits._Returning()
    monkeypatch.setattr(limits, "_returning", own)
    return own


def test_the_thread_begins_with_a_task_and_ends_after_the_last_one(returning: limits._Returning) -> None:
    seen = set()
    for _ in range(2):  # a second time, after it has ended
        start = time.monotonic()
        limits.use_memory(keeps=False)
        thread = returning._thread
        assert thread is not None
        limits.use_memory(keeps=False)
        assert returning._thread is thread
        thread.join(timeout=30)
        assert returning._thread is None
        assert time.monotonic() - start >= 0.3
        seen.add(thread)
    assert len(seen) == 2


def test_no_thread_begins_where_there_is_room(returning: limits._Returning) -> None:
    limits.use_memory(keeps=True)
    assert returning._thread is None
