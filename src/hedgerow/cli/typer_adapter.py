"""Typer commands from dataclasses of options."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import MISSING, Field, fields
from inspect import Parameter, Signature, get_annotations
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

import typer

Options = TypeVar("Options")

#: The field type of repeatable options and of arguments with several values.
SEVERAL = tuple[str, ...]


def command(options: type[Options], function: Callable[[Options], None]) -> Callable[..., None]:
    """Return a function with a parameter for each field of the options, for typer.

    It builds the options, runs `function` and raises `typer.Exit` with the exit code. Parameters are in the order of
    the help: the fields of the class itself, then those of its bases.
    """
    hints = get_type_hints(options, include_extras=True)
    parameters = [_parameter(field, hints[field.name]) for field in _in_order(options)]
    several = {name for name, hint in hints.items() if SEVERAL in get_args(hint)[:1]}

    def run_command(**given: Any) -> None:
        from hedgerow.cli.exit_codes import run

        filled = options(**{name: tuple(value or ()) if name in several else value for name, value in given.items()})
        raise typer.Exit(run(lambda: function(filled)))

    run_command.__annotations__ = {each.name: each.annotation for each in parameters}
    run_command.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return run_command


def _in_order(options: Any) -> Iterator[Field[Any]]:
    """Return the fields of a class, then those of its bases."""
    own = {field.name: field for field in fields(options)}
    names = [name for each in options.__mro__ for name in get_annotations(each)]
    return (own[name] for name in dict.fromkeys(names))


def _parameter(field: Field[Any], hint: Any) -> Parameter:
    """Return the parameter for typer, which expects a list for repeatable options."""
    default = Parameter.empty if field.default is MISSING else field.default
    if get_origin(hint) is Annotated and (args := get_args(hint))[0] == SEVERAL:
        hint = Annotated[list[str] if default is Parameter.empty else list[str] | None, args[1]]
        default = default or None
    return Parameter(field.name, Parameter.KEYWORD_ONLY, default=default, annotation=hint)
