"""An option of a command is declared once, as a field in `cli/options`, and used in the modules of commands."""

from __future__ import annotations

import ast
import inspect
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest

import hedgerow
from hedgerow.cli import app as cli
from hedgerow.cli import options

ROOM = Path(hedgerow.__file__).parent / "cli"
#: Attributes that the modules of commands read from an object called `options` or `reading`.
READ = {
    each.attr
    for path in ROOM.rglob("*.py")
    for each in ast.walk(ast.parse(path.read_text()))
    if isinstance(each, ast.Attribute)
    and (isinstance(each.value, ast.Name | ast.Attribute))
    and (each.value.id if isinstance(each.value, ast.Name) else each.value.attr) in ("options", "reading")
}


def classes() -> dict[str, Any]:
    """All classes of options by name."""
    return {name: each for name, each in vars(options).items() if is_dataclass(each)}


@pytest.mark.parametrize("name", sorted(classes()))
def test_every_option_is_used(name: str) -> None:
    # by the table in `cli/fit`, and by presenters
    through = {"leaf_counts", "max_bins", "trees", "regression", "event", "since", "entry"}
    assert {field.name for field in fields(classes()[name])} - READ - through == set()


@pytest.mark.parametrize("name", sorted(classes()))
def test_every_option_has_a_help(name: str) -> None:
    hints = inspect.get_annotations(classes()[name], eval_str=True)
    assert [field for field, hint in hints.items() if not hint.__metadata__[0].help] == []


def test_a_command_takes_the_fields_of_its_options_in_the_order_of_its_help() -> None:
    explain = next(each.callback for each in cli.app.registered_commands if each.name == "explain")
    taken = list(inspect.signature(explain).parameters)
    assert sorted(taken) == sorted(field.name for field in fields(classes()["ExplainOptions"]))
    assert taken[:3] == ["model", "data", "rows"]
    assert taken[-2:] == ["force", "as_json"]


def test_no_other_module_declares_options() -> None:
    declaring = {path.relative_to(ROOM).parts[0] for path in ROOM.rglob("*.py") if "typer.Option(" in path.read_text()}
    assert declaring == {"options.py", "app.py"}  # which has --version
