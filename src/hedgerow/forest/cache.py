"""Cache of values that can be computed again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any, TypeVar

V = TypeVar("V")

#: The values of a cache take at most this many bytes.
BUDGET = 256 << 20
#: Values that do not tell their size are taken to have this many bytes.
_SMALL = 1024


class Cache:
    """The values used last, as many as `BUDGET` allows. Threads may share it.

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
        self._kept: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._lock = Lock()
        self._nbytes = 0

    def get(self, key: Hashable, make: Callable[[], V]) -> V:
        """Return the value under a key; `make` computes it if there is none.

        Threads that miss the same value at the same time compute it at the same time, and all get the first result.
        """
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
                return found[0]  # type: ignore[no-any-return]
        return self._put(key, make(), replace=False)

    def peek(self, key: Hashable) -> Any:
        """Return the value under a key, or None."""
        with self._lock:
            found = self._kept.get(key)
            if found is None:
                return None
            self._kept.move_to_end(key)
            return found[0]

    def put(self, key: Hashable, value: Any) -> None:
        """Keep a value instead of the one that is kept under the key."""
        self._put(key, value, replace=True)

    def discard(self, key: Hashable) -> None:
        """Forget the value under a key, if there is one."""
        with self._lock:
            self._remove(key)

    def _put(self, key: Hashable, value: V, *, replace: bool) -> V:
        nbytes = _nbytes(value)
        with self._lock:
            found = self._kept.get(key)
            if found is not None and not replace:
                return found[0]  # type: ignore[no-any-return]
            self._remove(key)
            if nbytes > BUDGET:
                return value
            self._kept[key] = (value, nbytes)
            self._nbytes += nbytes
            while self._nbytes > BUDGET:
                self._remove(next(iter(self._kept)))
        return value

    def _remove(self, key: Hashable) -> None:
        found = self._kept.pop(key, None)
        if found is not None:
            self._nbytes -= found[1]

    def __reduce__(self) -> tuple[Any, ...]:
        return Cache, ()


def _nbytes(value: Any) -> int:
    """Return the size of a value."""
    if isinstance(value, tuple) and not hasattr(value, "nbytes"):
        return sum(map(_nbytes, value))
    return int(getattr(value, "nbytes", _SMALL))
