"""Recorder: ONNX operators, one after the other -> the nodes and constants of a graph."""

from __future__ import annotations

from typing import Any

import numpy as np


class NotExpressible(TypeError):
    """An operation that cannot be recorded as ONNX operators."""


class Recorder:
    """Nodes and constants of a graph under construction."""

    def __init__(self) -> None:
        import onnx

        self._onnx = onnx
        self.nodes: list[Any] = []
        self.initializers: list[Any] = []
        self._names = 0

    def add(self, kind: str, *inputs: str, output: str | None = None, domain: str = "", **attributes: Any) -> str:
        """Record an operator -> the name of its result."""
        name = output or self._new_name()
        node = self._onnx.helper.make_node(kind, list(inputs), [name], domain=domain, **attributes)
        self.nodes.append(node)
        return name

    def constant(self, values: Any) -> str:
        """An array -> the name of a constant."""
        array = np.asarray(values)
        if array.dtype.kind in "OU":
            array = array.astype(object)
        name = self._new_name()
        self.initializers.append(self._onnx.numpy_helper.from_array(np.ascontiguousarray(array), name))
        if array.ndim == 0:  # a contiguous array has at least one axis
            self.initializers[-1].ClearField("dims")
        return name

    def cast(self, name: str, dtype: Any) -> str:
        """A result as another type."""
        return self.add("Cast", name, to=self._onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    @staticmethod
    def makes(name: str) -> bool:
        """Whether a result could have this name."""
        return name[:1] == "r" and name[1:].isdecimal()

    def _new_name(self) -> str:
        self._names += 1
        return f"r{self._names}"


def spread(recorder: Recorder, values: Any, like: str) -> str:
    """A constant of one sample (1, ...) -> repeated for as many samples as the result `like` has."""
    array = np.asarray(values)
    n = recorder.add("Slice", recorder.add("Shape", like), recorder.constant([0]), recorder.constant([1]))
    rest = recorder.constant(np.array(array.shape[1:], dtype=np.int64))
    return recorder.add("Expand", recorder.constant(array), recorder.add("Concat", n, rest, axis=0))


def take(recorder: Recorder, name: str, shape: tuple[int, ...], index: tuple[Any, ...]) -> str:
    """A result of this shape, and slices, places, None and ... on all axes except the first -> the part of it."""
    if Ellipsis in index:
        at = index.index(Ellipsis)
        left_out = len(shape) - sum(part is not None and part is not Ellipsis for part in index)
        index = (*index[:at], *[slice(None)] * left_out, *index[at + 1 :])
    if index[0] != slice(None):
        raise NotExpressible("picks samples by their number")
    dropped: list[int] = []
    added: list[int] = []
    axis = 0
    for place, part in enumerate(index):
        if part is None:
            added.append(place - len(dropped))
            continue
        if part != slice(None):
            first, last, step = _span(part, shape[axis])
            bounds = [recorder.constant(np.array([bound])) for bound in (first, last, axis, step)]
            name = recorder.add("Slice", name, *bounds)
        if not isinstance(part, slice):
            dropped.append(axis)
        axis += 1
    if dropped:
        name = recorder.add("Squeeze", name, recorder.constant(np.array(dropped)))
    if added:
        name = recorder.add("Unsqueeze", name, recorder.constant(np.array(added)))
    return name


def _span(part: Any, length: int) -> tuple[int, int, int]:
    """A slice or a place -> first, last and step as ONNX takes them."""
    if not isinstance(part, slice):
        place = part + length if part < 0 else part
        return place, place + 1, 1
    first, last, step = part.indices(length)
    return first, (last if last >= 0 else -(length + 1)), step
