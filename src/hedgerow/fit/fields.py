"""Fields: a class that declares its parameters -> the class with a signature and a docstring that describe them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar, dataclass_transform

#: Marks a parameter without a default.
MISSING = object()

_Class = TypeVar("_Class", bound=type)


class Size(NamedTuple):
    """The size of a table, by which shares and words become numbers: rows whose weight is above zero, and features."""

    n_rows: int
    n_features: int


@dataclass(frozen=True)
class Parameter:
    """One row of the table of parameters.

    Attributes
    ----------
    default : object
        The default value.
    init : bool
        Whether the estimator takes the parameter. If not, it still has the default as an attribute, unless that is
        `MISSING`.
    kw_only : bool
        Whether the parameter must be passed by name.
    type : str
        The annotation.
    kind, about : str
        Text for the docstring: which values it may have, and what it does.
    check : callable (name, value) -> object
        Raises an error if the value is not allowed.
    settle : callable (value, Size) -> object, or None
        Turns the value into what trees are grown with, if the parameter is one of `GrowSettings`.
    needs_bags, needs_rows : callable value -> bool
        Whether a value requires a bootstrap, and whether the training rows must settle it.
    instead : str
        What the parameter must be if it cannot be settled; part of an error message.
    without_bags : str
        What to do if a value needs a bootstrap and the forest has no bags; part of an error message. Where
        scikit-learn has the same error, these are its words, so that people who search for them find the cause.
    when_made : callable value -> None
        Called by the constructor.
    on_fitted : bool
        Whether the parameter may be changed on a fitted model.
    as_sklearn : bool
        Whether the parameter means the same in scikit-learn's trees, for every value.
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
    without_bags: str = "set bootstrap=True"
    when_made: Callable[[Any], None] | None = None
    on_fitted: bool = False
    as_sklearn: bool = False

    def described(self, name: str) -> str:
        """The lines about the parameter in a docstring."""
        default = f'"{self.default}"' if isinstance(self.default, str) else repr(self.default)
        later = " Can be changed on a fitted model." if self.on_fitted else ""
        return f"{name} : {self.kind}, default={default}\n    {self.about}{later}"


class _Declared(NamedTuple):
    """What a class declares about a parameter; the rest is inherited."""

    like: Parameter | None
    said: dict[str, Any]


def parameter(*, default: Any = MISSING, init: bool = True, kw_only: bool = True, like: Any = None, **said: Any) -> Any:
    """Declare a parameter of an estimator, as `dataclasses.field` declares a field.

    Parameters
    ----------
    default, init, kw_only
        As in `Parameter`.
    like : Parameter, default=None
        The row of the table from which the rest is taken; None means the row of the base class.
    **said
        Other attributes of `Parameter` that differ from that row.
    """
    return _Declared(like, {"default": default, "init": init, "kw_only": kw_only, **said})


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(parameter,))
def estimator(cls: _Class) -> _Class:
    """Make the annotated attributes of a class its parameters, in addition to those it inherits.

    ``name: type = value`` gives a parameter another default; ``name: type = parameter(...)`` can change more.
    Parameters keep the order in which they were first declared. In the docstring, ``{parameters}`` is replaced by their
    descriptions.

    The class is not a real dataclass: Dask and other libraries identify a dataclass by its fields, so two fitted models
    with the same parameters would be taken for the same one.
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
    """An estimator or its class -> the rows of its parameters, in order."""
    return {name: row for name, row in estimator._parameters.items() if row.init}


def refuse_unsettled(estimator: Any, where: str, advice: str) -> None:
    """Refuse values that must be settled on training rows, in a case (`where`) in which this is not possible."""
    for name, row in parameters_of(estimator).items():
        if row.needs_rows(value := getattr(estimator, name)):
            raise ValueError(f"{name} must be {row.instead} {where}, got {value!r}; {advice}")


def _row(above: Parameter, annotation: str, value: Any) -> Parameter:
    """The row of the base class, and what a class declares -> its own row."""
    if not isinstance(value, _Declared):
        return replace(above, type=annotation, default=value, init=True)
    return replace(value.like or above, type=annotation, **value.said)


def _make_init(cls: type, taken: dict[str, Parameter]) -> Callable[..., None]:
    """Rows -> an ``__init__`` with these names and defaults, which sets the attributes and calls `when_made`."""
    positional = [name for name, row in taken.items() if not row.kw_only]
    named = [name for name, row in taken.items() if row.kw_only]
    order = ["self", *(f"{name}=rows[{name!r}].default" for name in positional), "*"]
    order += [f"{name}=rows[{name!r}].default" for name in named]
    lines = [f"    self.{name} = {name}" for name in taken]
    lines += [f"    rows[{name!r}].when_made({name})" for name, row in taken.items() if row.when_made]
    names: dict[str, Any] = {"rows": taken, "Any": Any, "__name__": cls.__module__}
    exec(f"def __init__({', '.join(order)}):\n" + "\n".join(lines), names)
    made: Callable[..., None] = names["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    made.__annotations__ = {name: row.type for name, row in taken.items()} | {"return": None}
    return made
