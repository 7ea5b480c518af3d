"""Cache of values that can be computed again."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any, TypeVar

V = TypeVar("V")

#: Largest total size of the values of a cache, in bytes.
BUDGET = 256 << 20
#: Assumed size of values without `nbytes`.
_SMALL = 1024


class _Entry:
    """Value, size and time of last use."""

    __slots__ = ("nbytes", "used", "value")

    def __init__(self, value: Any, nbytes: int, used: int) -> None:
        self.value, self.nbytes, self.used = value, nbytes, used


class Cache:
    """Thread-safe cache of the most recently used values, within `BUDGET` bytes.

    The size of a value is its ``nbytes``, or the sum of the sizes of the items of a tuple. A value that is larger than
    the budget is not kept. A copy or pickle of a cache is empty. A value must not refer to the owner of the cache:
    the cycle would keep the memory of both until the garbage collector runs.

    Examples
    --------
    >>> cache = Cache()
    >>> cache.get("answer", lambda: 42)
    42
    >>> cache.get("answer", lambda: 43)
    42
    """

    def __init__(self) -> None:
        self._kept: dict[Hashable, _Entry] = {}
        self._lock = Lock()  # held while entries are added or removed; reading one needs no lock
        self._nbytes = 0
        self._clock = 0

    def get(self, key: Hashable, make: Callable[[], V]) -> V:
        """Return the value under a key; `make` computes it if there is none.

        Threads that miss the same value at the same time all compute it, and all get the first result.
        """
        entry = self._kept.get(key)
        if entry is None:
            return self._put(key, make(), replace=False)
        self._clock = entry.used = self._clock + 1
        value: V = entry.value
        return value

    def peek(self, key: Hashable) -> Any:
        """Return the value under a key, or None."""
        entry = self._kept.get(key)
        if entry is None:
            return None
        self._clock = entry.used = self._clock + 1
        return entry.value

    def put(self, key: Hashable, value: Any) -> None:
        """Store a value, replacing an earlier one under the same key."""
        self._put(key, value, replace=True)

    def discard(self, key: Hashable) -> None:
        """Remove the value under a key, if there is one."""
        with self._lock:
            self._remove(key)

    def _put(self, key: Hashable, value: V, *, replace: bool) -> V:
        nbytes = _nbytes(value)
        with self._lock:
            entry = self._kept.get(key)
            if entry is not None and not replace:
                kept: V = entry.value
                return kept
            self._remove(key)
            if nbytes > BUDGET:
                return value
            self._clock += 1
            self._kept[key] = _Entry(value, nbytes, self._clock)
            self._nbytes += nbytes
            while self._nbytes > BUDGET:
                self._remove(min(self._kept, key=lambda each: self._kept[each].used))
        return value

    def _remove(self, key: Hashable) -> None:
        entry = self._kept.pop(key, None)
        if entry is not None:
            self._nbytes -= entry.nbytes

    def __reduce__(self) -> tuple[Any, ...]:
        return Cache, ()


def _nbytes(value: Any) -> int:
    """Return the size of a value."""
    nbytes = getattr(value, "nbytes", None)
    if nbytes is None:
        return sum(map(_nbytes, value)) if isinstance(value, tuple) else _SMALL
    return int(nbytes)
