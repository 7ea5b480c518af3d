"""Recorder of NumPy code as an ONNX graph.

To export a rule, its ``finish`` is run on a `Recorded` array. This array contains one example sample, which determines
shapes and types, and records every operator.

Work on a subset of samples, ``if mask.any(): x[mask] = work(y[mask])``, is recorded as work for all samples followed by
a selection. Code that depends on values in other ways raises `NotExpressible`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Below this size exp(x) - 1 and log(1 + x) are computed from their series, because ONNX has no operators for them.
SMALL = 1e-4


class Recorded(np.lib.mixins.NDArrayOperatorsMixin):
    """An array of n samples, represented by one example.

    Parameters
    ----------
    recorder : Recorder
        Records the operators.
    name : str
        Name of the result in the graph.
    example : ndarray of shape (1, ...)
        The values for one sample.
    """

    __array_priority__ = 1000

    def __init__(self, recorder: Recorder, name: str, example: NDArray[Any]) -> None:
        self.recorder, self.name, self.example = recorder, name, np.asarray(example)
        self._part_of: tuple[Recorded, Any] | None = None  # writes to a view change the whole array

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape, with 1 for the number of samples, which broadcasts."""
        return self.example.shape

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self.example.ndim

    @property
    def dtype(self) -> np.dtype[Any]:
        """float64, int64 or bool."""
        return self.example.dtype

    def __len__(self) -> int:
        return len(self.example)

    def __bool__(self) -> bool:
        raise NotExpressible("branches on values")

    __float__ = __int__ = __index__ = __iter__ = __bool__

    def __array__(self, *args: Any, **kwargs: Any) -> NDArray[Any]:
        raise NotExpressible("needs values during the export")

    def __getitem__(self, index: Any) -> Recorded:
        taken = _take(self, index if isinstance(index, tuple) else (index,))
        if not _picks_samples(index):  # a view; picking samples makes a copy, as in NumPy
            taken._part_of = (self, index)
        return taken

    def __setitem__(self, index: Any, values: Any) -> None:
        if _picks_samples(index):
            self._become(_where(index[(slice(None), *[None] * (self.ndim - 1))], values, self))
        elif not isinstance(values, Recorded) and np.ndim(values) == 0:
            place = np.zeros(self.shape, dtype=bool)
            place[index] = True
            self._become(_where(place, values, self))
        else:
            rows, columns = index
            first, last, step = columns.indices(self.shape[1])
            if rows != slice(None) or step != 1 or self.ndim != 2:
                raise NotExpressible("assigns an array to something other than a range of columns")
            parts = [self[:, :first], values, self[:, last:]]
            self._become(stack_columns([part for part in parts if part.shape[1]]))

    def copy(self) -> Recorded:
        """Return a copy."""
        return Recorded(self.recorder, self.name, self.example)

    def astype(self, dtype: Any) -> Recorded:
        """Convert to another type."""
        return _cast(self, dtype)

    def sum(self, axis: Any = None, keepdims: bool = False) -> Recorded:
        """Sum over axes."""
        return _reduce("ReduceSum", np.sum, self, axis, keepdims)

    def max(self, axis: Any = None, keepdims: bool = False) -> Recorded:
        """Maximum over axes."""
        return _reduce("ReduceMax", np.max, self, axis, keepdims)

    def min(self, axis: Any = None, keepdims: bool = False) -> Recorded:
        """Minimum over axes."""
        return _reduce("ReduceMin", np.min, self, axis, keepdims)

    def any(self, axis: Any = None, keepdims: bool = False) -> Recorded | bool:
        """Logical or over axes.

        True over all samples, because work is recorded for all of them.
        """
        if axis is None:
            return True
        return _recorded(_cast(self, np.int64).max(axis, keepdims) > 0)

    def all(self, axis: Any = None, keepdims: bool = False) -> Recorded:
        """Logical and over axes."""
        return _recorded(_cast(self, np.int64).min(axis, keepdims) > 0)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method == "accumulate" and kwargs.get("axis") == 1:
            return _accumulate(ufunc, inputs[0])
        if method != "__call__" or ufunc not in _UFUNCS or set(kwargs) - {"out", "where"}:
            raise NotExpressible(f"uses numpy.{ufunc.__name__} in a way without an operator in ONNX")
        recorder = self.recorder
        if "where" in kwargs:
            return _masked(recorder, ufunc, inputs, kwargs["where"], kwargs["out"][0])
        result = _UFUNCS[ufunc](recorder, ufunc, *inputs)
        if "out" not in kwargs:
            return result
        out = kwargs["out"][0]
        if not isinstance(out, Recorded):
            raise NotExpressible("writes to an array that is not recorded")
        out._become(result)
        return out

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function not in _FUNCTIONS:
            raise NotExpressible(f"uses numpy.{function.__name__}, which the recorder does not support")
        return _FUNCTIONS[function](*args, **kwargs)

    def _become(self, other: Recorded) -> None:
        """Take the name and example of another result."""
        self.name, self.example = other.name, other.example
        if self._part_of is not None:
            whole, index = self._part_of
            whole[index] = self


def stack_columns(parts: Sequence[Any], axis: int = 1) -> Recorded:
    """Concatenate arrays (n, a), (n, b), ..."""
    first = next(part for part in parts if isinstance(part, Recorded))
    recorder = first.recorder
    joined = np.concatenate([_example(part) for part in parts], axis=axis)
    names = []
    for part in parts:
        if isinstance(part, Recorded):
            names.append(_cast(part, joined.dtype).name)
        else:
            names.append(spread(recorder, np.asarray(part, dtype=joined.dtype), first.name))
    return Recorded(recorder, recorder.add("Concat", *names, axis=axis), joined)


# ---- arithmetic -----------------------------------------------------------------------------------------------


def _operator(op_type: str, common: Any = None) -> Callable[..., Recorded]:
    """Return a function that records an operator of one or two arrays, converted to a common type."""

    def write(recorder: Recorder, ufunc: np.ufunc, *inputs: Any) -> Recorded:
        with np.errstate(all="ignore"):
            result = np.asarray(ufunc(*map(_example, inputs)))
        dtype = common or (np.result_type(*map(_promoted, inputs)) if result.dtype == bool else result.dtype)
        names = [_name(recorder, value, dtype) for value in inputs]
        return Recorded(recorder, recorder.add(op_type, *names), result)

    return write


def _differs(recorder: Recorder, ufunc: np.ufunc, a: Any, b: Any) -> Recorded:
    return _recorded(~_operator("Equal")(recorder, np.equal, a, b))


def _power(recorder: Recorder, ufunc: np.ufunc, base: Any, exponent: Any) -> Recorded:
    if not isinstance(exponent, Recorded) and np.ndim(exponent) == 0 and exponent == 2:
        return _operator("Mul")(recorder, np.multiply, base, base)
    return _operator("Pow")(recorder, ufunc, base, exponent)


def _expm1(recorder: Recorder, ufunc: np.ufunc, x: Any) -> Recorded:
    series = x * (1.0 + x * (0.5 + x * (1 / 6 + x * (1 / 24))))
    return _where(abs(x) < SMALL, series, np.exp(x) - 1.0)


def _log1p(recorder: Recorder, ufunc: np.ufunc, x: Any) -> Recorded:
    series = x * (1.0 - x * (0.5 - x * (1 / 3 - x * (1 / 4))))
    return _where(abs(x) < SMALL, series, np.log(1.0 + x))


def _logaddexp(recorder: Recorder, ufunc: np.ufunc, a: Any, b: Any) -> Recorded:
    """Record log(exp(a) + exp(b)) by the larger and the difference.

    Minus infinity if both are.
    """
    high = np.maximum(a, b)
    apart = np.where(np.equal(a, b), 0.0, -abs(a - b))
    return _recorded(high + np.log1p(np.exp(apart)))


def _masked(recorder: Recorder, ufunc: np.ufunc, inputs: Sequence[Any], where: Any, out: Any) -> Recorded:
    """Record a quotient where `where` is true, and the values of `out` elsewhere."""
    if ufunc is not np.divide:
        raise NotExpressible(f"uses numpy.{ufunc.__name__} with where")
    part, whole = inputs
    return _where(where, part / _where(where, whole, 1.0, recorder), out)


_UFUNCS: dict[np.ufunc, Callable[..., Recorded]] = {
    np.add: _operator("Add"),
    np.subtract: _operator("Sub"),
    np.multiply: _operator("Mul"),
    np.divide: _operator("Div"),
    np.floor_divide: _operator("Div"),  # used only for integers >= 0
    np.maximum: _operator("Max"),
    np.minimum: _operator("Min"),
    np.negative: _operator("Neg"),
    np.absolute: _operator("Abs"),
    np.exp: _operator("Exp"),
    np.log: _operator("Log"),
    np.sqrt: _operator("Sqrt"),
    np.less: _operator("Less"),
    np.less_equal: _operator("LessOrEqual"),
    np.greater: _operator("Greater"),
    np.greater_equal: _operator("GreaterOrEqual"),
    np.equal: _operator("Equal"),
    np.logical_and: _operator("And", np.bool_),
    np.bitwise_and: _operator("And", np.bool_),
    np.logical_or: _operator("Or", np.bool_),
    np.bitwise_or: _operator("Or", np.bool_),
    np.logical_not: _operator("Not", np.bool_),
    np.invert: _operator("Not", np.bool_),
    np.not_equal: _differs,
    np.power: _power,
    np.expm1: _expm1,
    np.log1p: _log1p,
    np.logaddexp: _logaddexp,
}


# ---- functions of NumPy ---------------------------------------------------------------------------------------


def _where(condition: Any, yes: Any, no: Any, recorder: Recorder | None = None) -> Recorded:
    recorder = recorder or _recorder_of(condition, yes, no)
    result = np.where(_example(condition), _example(yes), _example(no))
    if result.dtype == bool:
        return _recorded((condition & yes) | (~condition & no))
    names = [_name(recorder, condition, np.bool_), *(_name(recorder, value, result.dtype) for value in (yes, no))]
    return Recorded(recorder, recorder.add("Where", *names), result)


def _clip(values: Any, low: Any, high: Any) -> Recorded:
    return _recorded(np.minimum(np.maximum(values, low), high))


def _split(values: Recorded, parts: int) -> list[Recorded]:
    width = values.shape[1] // parts
    return [values[:, i * width : (i + 1) * width] for i in range(parts)]


def _filled_like(value: Any) -> Callable[..., Any]:
    def fill(array: Recorded, *args: Any, dtype: Any = None) -> Any:
        filled = np.full_like(array.example, args[0] if args else value, dtype=dtype)
        name = spread(array.recorder, filled, array.name)
        return Recorded(array.recorder, name, filled)

    return fill


def _repeat(values: Recorded, times: int, axis: int) -> Recorded:
    if values.shape[axis] != 1:
        raise NotExpressible("repeats more than one column")
    return stack_columns([values] * times, axis)


def _argmax(values: Recorded, axis: int) -> Recorded:
    recorder = values.recorder
    name = recorder.add("ArgMax", _cast(values, np.float64).name, axis=axis, keepdims=0)
    return Recorded(recorder, name, np.argmax(values.example, axis=axis))


def _ascending(values: Recorded, axis: int) -> tuple[str, str]:
    """Record values and indices in ascending order, stable."""
    recorder = values.recorder
    outputs = [recorder._new_name(), recorder._new_name()]
    length = recorder.constant(np.array([values.shape[axis]]))
    node = recorder._onnx.helper.make_node("TopK", [values.name, length], outputs, axis=axis, largest=0)
    recorder.nodes.append(node)
    return outputs[0], outputs[1]


def _sort(values: Recorded, axis: int = -1) -> Recorded:
    return Recorded(values.recorder, _ascending(values, axis)[0], np.sort(values.example, axis=axis))


def _partition(values: Recorded, place: int, axis: int = -1) -> Recorded:
    """Record a full sort, which is also a partition."""
    return _sort(values, axis)


def _argsort(values: Recorded, axis: int = -1, kind: str | None = None) -> Recorded:
    return Recorded(values.recorder, _ascending(values, axis)[1], np.argsort(values.example, axis=axis, kind="stable"))


def _cumsum(values: Recorded, axis: int) -> Recorded:
    name = values.recorder.add("CumSum", values.name, values.recorder.constant(np.int64(axis)))
    return Recorded(values.recorder, name, np.cumsum(values.example, axis=axis))


def _einsum(what: str, values: Recorded) -> Recorded:
    if what != "...k->...":
        raise NotExpressible("uses numpy.einsum for more than a sum over the last axis")
    return values.sum(axis=values.ndim - 1)


def _take_along_axis(values: Recorded, indices: Recorded, axis: int) -> Recorded:
    wide = [1 if at == axis else length for at, length in enumerate(values.shape)]
    places = indices.name
    if any(length != broad for at, (length, broad) in enumerate(zip(indices.shape, wide, strict=True)) if at != axis):
        places = values.recorder.add("Expand", places, values.recorder.constant(np.array(wide)))
    name = values.recorder.add("GatherElements", values.name, places, axis=axis)
    return Recorded(values.recorder, name, np.take_along_axis(values.example, indices.example, axis=axis))


def _put_along_axis(array: Any, indices: Recorded, values: Any, axis: int) -> None:
    if not isinstance(array, Recorded):
        raise NotExpressible("writes to an array that is not recorded")
    recorder = array.recorder
    broad = np.broadcast_to(_example(values), indices.shape)
    if isinstance(values, Recorded) and values.shape == indices.shape:
        update = _cast(values, array.dtype).name
    else:
        shape = recorder.add("Shape", indices.name)
        update = recorder.add("Expand", _name(recorder, values, array.dtype), shape)
    name = recorder.add("ScatterElements", array.name, indices.name, update, axis=axis)
    example = array.example.copy()
    np.put_along_axis(example, indices.example, broad, axis=axis)
    array._become(Recorded(recorder, name, example))


_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.where: _where,
    np.clip: _clip,
    np.hstack: lambda parts: stack_columns(parts, 1),
    np.hsplit: _split,
    np.full_like: _filled_like(None),
    np.zeros_like: _filled_like(0),
    np.ones_like: _filled_like(1),
    np.repeat: _repeat,
    np.argmax: _argmax,
    np.sort: _sort,
    np.partition: _partition,
    np.argsort: _argsort,
    np.cumsum: _cumsum,
    np.einsum: _einsum,
    np.take_along_axis: _take_along_axis,
    np.put_along_axis: _put_along_axis,
}


# ---- helpers --------------------------------------------------------------------------------------------------


def _accumulate(ufunc: np.ufunc, values: Recorded) -> Recorded:
    """Record an accumulation over the columns (n, K)."""
    columns = [values[:, :1]] if values.shape[1] else []
    for k in range(1, values.shape[1]):
        columns.append(ufunc(columns[-1], values[:, k : k + 1]))
    return stack_columns(columns) if columns else values


def _reduce(op_type: str, function: Any, values: Recorded, axis: Any, keepdims: bool) -> Recorded:
    recorder = values.recorder
    if axis is None:
        raise NotExpressible("reduces over all samples")
    wide = _cast(values, np.int64) if values.dtype == bool else values
    axes = recorder.constant(np.atleast_1d(np.array(axis, dtype=np.int64)))
    name = recorder.add(op_type, wide.name, axes, keepdims=int(keepdims))
    return Recorded(recorder, name, function(wide.example, axis=axis, keepdims=keepdims))


def _take(values: Recorded, index: tuple[Any, ...]) -> Recorded:
    """Record indexing by slices, indices, None and ... on all axes except the first."""
    if len(index) == 1 and _picks_samples(index[0]):
        return values.copy()
    if any(isinstance(part, Recorded | np.ndarray | list) for part in index):
        raise NotExpressible("selects samples by values")
    return Recorded(values.recorder, take(values.recorder, values.name, values.shape, index), values.example[index])


def _picks_samples(index: Any) -> bool:
    """Return whether an index is a boolean for each sample."""
    return isinstance(index, Recorded) and index.dtype == bool and index.ndim == 1


def _cast(values: Recorded, dtype: Any) -> Recorded:
    if values.dtype == np.dtype(dtype):
        return values
    name = values.recorder.cast(values.name, dtype)
    return Recorded(values.recorder, name, values.example.astype(dtype))


def _name(recorder: Recorder, value: Any, dtype: Any) -> str:
    """Return the name of a result or constant, converted to this type."""
    if isinstance(value, Recorded):
        return _cast(value, dtype).name
    return recorder.constant(np.asarray(value, dtype=dtype))


def _recorded(value: Any) -> Recorded:
    """Narrow the type: NumPy functions of recorded arrays return recorded arrays."""
    assert isinstance(value, Recorded)
    return value


def _example(value: Any) -> Any:
    return value.example if isinstance(value, Recorded) else np.asarray(value)


def _promoted(value: Any) -> Any:
    """Return the argument of NumPy's type promotion: the type of an array, the value of a scalar."""
    return value.dtype if isinstance(value, Recorded | np.ndarray) else value


def _recorder_of(*values: Any) -> Recorder:
    return next(value.recorder for value in values if isinstance(value, Recorded))


class NotExpressible(TypeError):
    """Raised for operations that cannot be recorded as ONNX operators."""


class Recorder:
    """Nodes and constants of a graph under construction."""

    def __init__(self) -> None:
        import onnx

        self._onnx = onnx
        self.nodes: list[Any] = []
        self.initializers: list[Any] = []
        self._names = 0

    def add(self, op_type: str, *inputs: str, output: str | None = None, domain: str = "", **attributes: Any) -> str:
        """Record an operator, and return the name of its result."""
        name = output or self._new_name()
        node = self._onnx.helper.make_node(op_type, list(inputs), [name], domain=domain, **attributes)
        self.nodes.append(node)
        return name

    def constant(self, values: Any) -> str:
        """Add a constant, and return its name."""
        array = np.asarray(values)
        if array.dtype.kind in "OU":
            array = array.astype(object)
        name = self._new_name()
        self.initializers.append(self._onnx.numpy_helper.from_array(np.ascontiguousarray(array), name))
        if array.ndim == 0:  # a contiguous array has at least one axis
            self.initializers[-1].ClearField("dims")
        return name

    def cast(self, name: str, dtype: Any) -> str:
        """Convert a result to another type."""
        return self.add("Cast", name, to=self._onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    @staticmethod
    def makes(name: str) -> bool:
        """Return whether the recorder uses such names."""
        return name[:1] == "r" and name[1:].isdecimal()

    def _new_name(self) -> str:
        self._names += 1
        return f"r{self._names}"


def spread(recorder: Recorder, values: Any, like: str) -> str:
    """Repeat a constant of one sample (1, ...) for all samples of the result `like`."""
    array = np.asarray(values)
    n = recorder.add("Slice", recorder.add("Shape", like), recorder.constant([0]), recorder.constant([1]))
    rest = recorder.constant(np.array(array.shape[1:], dtype=np.int64))
    return recorder.add("Expand", recorder.constant(array), recorder.add("Concat", n, rest, axis=0))


def take(recorder: Recorder, name: str, shape: tuple[int, ...], index: tuple[Any, ...]) -> str:
    """Record indexing of a result by slices, indices, None and ... on all axes except the first."""
    if Ellipsis in index:
        at = index.index(Ellipsis)
        left_out = len(shape) - sum(part is not None and part is not Ellipsis for part in index)
        index = (*index[:at], *[slice(None)] * left_out, *index[at + 1 :])
    if index[0] != slice(None):
        raise NotExpressible("selects samples by index")
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
    """Convert a slice or an index to start, end and step of ONNX."""
    if not isinstance(part, slice):
        place = part + length if part < 0 else part
        return place, place + 1, 1
    first, last, step = part.indices(length)
    return first, (last if last >= 0 else -(length + 1)), step
