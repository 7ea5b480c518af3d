"""A cache keeps the values used last within its budget, and is never copied."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import numpy as np
import pytest

import hedgerow.forest.cache
from hedgerow import RandomForestClassifier, RandomForestRegressor
from hedgerow.forest.cache import Cache

ROWS = np.random.default_rng(0).normal(size=(200, 3))
SIZE = np.zeros(10).nbytes


def kept(cache: Cache, keys: str) -> list[bool]:
    """Return which keys are kept, without using their values."""
    return [key in cache._kept for key in keys]


def fill(cache: Cache, keys: str) -> None:
    for key in keys:
        cache.put(key, np.zeros(10))


def test_a_value_is_made_once() -> None:
    cache, made = Cache(), []
    for _ in range(3):
        assert cache.get("a", lambda: made.append(1) or 7) == 7
    assert made == [1]


def test_none_is_a_value() -> None:
    cache, made = Cache(), []
    for _ in range(3):
        assert cache.get("a", lambda: made.append(1)) is None
    assert made == [1]


def test_the_values_used_last_are_kept_within_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hedgerow.forest.cache, "BUDGET", 2 * SIZE)
    cache = Cache()
    fill(cache, "abac")
    assert kept(cache, "abc") == [True, False, True]
    cache.get("a", lambda: np.ones(1))
    fill(cache, "d")
    assert kept(cache, "acd") == [True, False, True]
    cache.peek("a")
    fill(cache, "e")
    assert kept(cache, "ade") == [True, False, True]


def test_a_value_above_the_budget_is_returned_and_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hedgerow.forest.cache, "BUDGET", 2 * SIZE)
    cache = Cache()
    fill(cache, "a")
    assert len(cache.get("b", lambda: np.zeros(21))) == 21
    assert kept(cache, "ab") == [True, False]
    assert len(cache.get("c", lambda: (np.zeros(10), np.zeros(11)))) == 2  # the sizes of items add up
    assert kept(cache, "ac") == [True, False]


def test_values_that_are_replaced_or_discarded_free_their_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hedgerow.forest.cache, "BUDGET", 2 * SIZE)
    cache = Cache()
    fill(cache, "aaab")
    assert kept(cache, "ab") == [True, True]
    cache.discard("a")
    cache.discard("never kept")
    fill(cache, "c")
    assert kept(cache, "abc") == [False, True, True]


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda cache: pickle.loads(pickle.dumps(cache))], ids=["copy", "deep", "pickle"]
)
def test_a_copy_is_empty(again: Any) -> None:
    cache = Cache()
    fill(cache, "a")
    other = again(cache)
    assert kept(other, "a") == [False]
    fill(other, "b")
    assert kept(cache, "ab") == [True, False]


def test_threads_that_miss_a_value_together_get_the_same_one() -> None:
    cache, barrier = Cache(), Barrier(4)

    def make() -> list[int]:
        barrier.wait(timeout=10)  # all four threads make a value
        return [1]

    with ThreadPoolExecutor(4) as pool:
        found = [each.result() for each in [pool.submit(cache.get, "a", make) for _ in range(4)]]
    assert all(each is found[0] for each in found)
    assert cache.peek("a") is found[0]


@pytest.mark.parametrize("kind", [RandomForestClassifier, RandomForestRegressor])
@pytest.mark.parametrize("columns", [1, 2])
def test_memory_is_free_as_soon_as_an_estimator_is(kind: type[Any], columns: int) -> None:
    y = (ROWS[:, :columns] > 0).astype(int)
    model = kind(5, random_state=0).fit(ROWS, y[:, 0] if columns == 1 else y)
    model.predict(ROWS)
    for ask in ("predict_bounds", "predict_uncertainty", "proximity"):
        getattr(model, ask)(ROWS)
    forest = weakref.ref(model.forest_)
    gc.disable()
    try:
        del model
        assert forest() is None
    finally:
        gc.enable()


def test_leaf_states_that_were_evicted_are_counted_anew_before_all_leaves_are_lifted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = RandomForestClassifier(5, calibration=None, random_state=0).fit(ROWS, ROWS[:, 0] > 0)
    cache: Cache = model.forest_.cache
    for _ in range(2):
        for row in range(100):
            model.predict_bounds(ROWS[row : row + 1])
        states = [key for key, entry in cache._kept.items() if isinstance(entry.value, np.ndarray)]
        assert len(states) == 1
        assert not [key for key in cache._kept if isinstance(key, tuple) and states[0] in key]
        cache.discard(states[0])
        model.predict_bounds(ROWS[:1])
        assert states[0] not in cache._kept
