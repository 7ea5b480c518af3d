"""Properties computed on first use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

_Value = TypeVar("_Value")


class lazy_property(Generic[_Value]):  # a decorator
    """Property computed on first use, and stored in the object.

    ``functools.cached_property`` of Python 3.11 holds a lock shared by all objects of a class while it computes: a fit
    would wait for every other model, and two locks can deadlock. This class has no lock. If threads compute the same
    value at the same time, the last one is kept.
    """

    def __init__(self, make: Callable[[Any], _Value]) -> None:
        self._make, self._name, self.__doc__ = make, make.__name__, make.__doc__

    @overload
    def __get__(self, instance: None, owner: Any = None) -> Self: ...
    @overload
    def __get__(self, instance: Any, owner: Any = None) -> _Value: ...
    def __get__(self, instance: Any, owner: Any = None) -> Self | _Value:
        if instance is None:
            return self
        value = self._make(instance)
        vars(instance)[self._name] = value  # also in frozen objects; shadows this descriptor from now on
        return value
