"""An option of a command is declared once, in `commands/cli`, and used in the module of the command."""

from __future__ import annotations

import ast
import importlib
import inspect
from dataclasses import fields
from pathlib import Path

import pytest

import hedgerow
from hedgerow.commands import cli

ROOM = Path(hedgerow.__file__).parent / "commands"


def calls() -> dict[str, tuple[str, ast.Call]]:
    """Each command that has a class of options -> the module of this class, and the call that makes its options."""
    found = {}
    for command in ast.walk(ast.parse((ROOM / "cli.py").read_text())):
        if not isinstance(command, ast.FunctionDef):
            continue
        imported = {
            alias.name: str(each.module)
            for each in ast.walk(command)
            if isinstance(each, ast.ImportFrom)
            for alias in each.names
        }
        for call in ast.walk(command):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id.endswith("Options"):
                found[command.name] = imported[call.func.id], call
    return found


@pytest.mark.parametrize("command", sorted(calls()))
def test_every_option_reaches_the_field_of_its_name_and_every_field_has_an_option(command: str) -> None:
    module, call = calls()[command]
    assert isinstance(call.func, ast.Name)
    kind = getattr(importlib.import_module(module), call.func.id)
    names = [field.name for field in fields(kind)]
    given = dict(zip(names, call.args, strict=False)) | {str(each.arg): each.value for each in call.keywords}
    assert sorted(given) == sorted(names)
    declared = set(inspect.signature(getattr(cli, command)).parameters)
    used = {each.id for value in given.values() for each in ast.walk(value) if isinstance(each, ast.Name)}
    assert declared <= used | {"dask"}  # which decides whether a cluster answers
    for name, value in given.items():
        own = {each.id for each in ast.walk(value) if isinstance(each, ast.Name)}
        assert own & {name, name.removeprefix("as_"), name.removesuffix("s")}, name


def test_no_other_module_declares_options() -> None:
    declaring = [path.name for path in ROOM.rglob("*.py") if "typer.Option(" in path.read_text()]
    assert declaring == ["cli.py"]
