"""Fields: a class that declares its parameters -> the same class with a signature and their descriptions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar, dataclass_transform

#: The default of a parameter that has none.
MISSING = object()

_Class = TypeVar("_Class", bound=type)


class Size(NamedTuple):
    """What a share or a word is a share of: rows with a weight, and features."""

    n_rows: int
    n_features: int


@dataclass(frozen=True)
class Parameter:
    """One row of the table of parameters.

    Attributes
    ----------
    default : object
        What it is unless told otherwise.
    init : bool
        Whether the estimator takes it. One that does not has the default all the same, unless it is `MISSING`.
    kw_only : bool
        Whether it must be named in a call.
    type : str
        The annotation.
    kind, about : str
        What the docstring says: what it may be, and what it does.
    check : callable (name, value) -> object
        Raises where the value is not allowed.
    settle : callable (value, Size) -> object, or None
        What trees are grown with, for a parameter that is one of `GrowSettings`.
    needs_bags, needs_rows : callable value -> bool
        Whether a value can only be followed with a bootstrap; whether one is settled on the training rows.
    instead : str
        What the parameter must be where it cannot be settled.
    on_fitted : bool
        Whether it may change on a fitted model.
    as_sklearn : bool
        Whether scikit-learn's trees mean the same by it, whatever the value.
    """

    default: Any = MISSING
    init: bool = True
    kw_only: bool = True
    type: str = "Any"
    kind: str = ""
    about: str = ""
    check: Callable[[str, Any], object] = lambda name, value: None
    settle: Callable[[Any, Size], Any] | None = None
    needs_bags: Callable[[Any], bool] = lambda value: False
    needs_rows: Callable[[Any], bool] = lambda value: False
    instead: str = "given"
    on_fitted: bool = False
    as_sklearn: bool = False

    def described(self, name: str) -> str:
        """The lines of a docstring."""
        default = f'"{self.default}"' if isinstance(self.default, str) else repr(self.default)
        later = " Can be changed on a fitted model." if self.on_fitted else ""
        return f"{name} : {self.kind}, default={default}\n    {self.about}{later}"


class _Declared(NamedTuple):
    """What a class says of a parameter; the rest is as in the class above it."""

    like: Parameter | None
    said: dict[str, Any]


def parameter(*, default: Any = MISSING, init: bool = True, kw_only: bool = True, like: Any = None, **said: Any) -> Any:
    """Declare a parameter of an estimator, as `dataclasses.field` declares a field.

    Parameters
    ----------
    default, init, kw_only
        As in `Parameter`.
    like : Parameter, default=None
        The row of the table it follows; None for that of the class above.
    **said
        What else differs from that row, by the names of `Parameter`.
    """
    return _Declared(like, {"default": default, "init": init, "kw_only": kw_only, **said})


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(parameter,))
def estimator(cls: _Class) -> _Class:
    """Make the annotated attributes of a class its parameters, besides those it inherits.

    ``name: type = value`` gives a parameter another default, ``name: type = parameter(...)`` changes more than that.
    They stay in the order of the class that declared them first. In the docstring, ``{parameters}`` becomes their
    descriptions.

    The class is not a real dataclass: Dask and others take a dataclass for the sum of its fields, and so would take two
    fitted models with the same parameters for one.
    """
    above: Mapping[str, Parameter] = getattr(cls, "_parameters", {})
    rows = dict(above)
    for name, annotation in inspect.get_annotations(cls).items():
        if above and name not in above:
            raise TypeError(f"{name} must be one of the parameters {', '.join(above)}, got another in {cls.__name__}")
        rows[name] = row = _row(above.get(name, Parameter()), str(annotation), vars(cls)[name])
        if row.default is MISSING:
            delattr(cls, name)
        else:
            setattr(cls, name, row.default)
    taken = {name: row for name, row in rows.items() if row.init}
    described = "\n".join(row.described(name) for name, row in taken.items())
    cls._parameters = MappingProxyType(rows)  # type: ignore[attr-defined]
    cls.__init__ = _make_init(cls, taken)  # type: ignore[misc]
    cls.__doc__ = (cls.__doc__ or "").replace("{parameters}", described.replace("\n", "\n    "))
    return cls


def parameters_of(estimator: Any) -> dict[str, Parameter]:
    """An estimator or its class -> the rows of the parameters it takes, in order."""
    return {name: row for name, row in estimator._parameters.items() if row.init}


def _row(above: Parameter, annotation: str, value: Any) -> Parameter:
    """The row above, and what a class says -> its own row."""
    if not isinstance(value, _Declared):
        return replace(above, type=annotation, default=value, init=True)
    return replace(value.like or above, type=annotation, **value.said)


def _make_init(cls: type, taken: dict[str, Parameter]) -> Callable[..., None]:
    """Rows -> a function with their names and defaults that sets the attributes and does nothing else."""
    positional = [name for name, row in taken.items() if not row.kw_only]
    named = [name for name, row in taken.items() if row.kw_only]
    order = ["self", *(f"{name}=rows[{name!r}].default" for name in positional), "*"]
    order += [f"{name}=rows[{name!r}].default" for name in named]
    lines = [f"    self.{name} = {name}" for name in taken]
    names: dict[str, Any] = {"rows": taken, "Any": Any, "__name__": cls.__module__}
    exec(f"def __init__({', '.join(order)}):\n" + "\n".join(lines), names)
    made: Callable[..., None] = names["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    made.__annotations__ = {name: row.type for name, row in taken.items()} | {"return": None}
    return made
