"""The ``hedgerow`` command.

Imports are limited to those that ``hedgerow --help`` needs. `options` declares the options of each command; `command`
turns them into parameters for typer.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import MISSING, Field, fields
from functools import partial
from importlib import import_module
from inspect import Parameter, Signature, get_annotations
from itertools import zip_longest
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

import typer

from hedgerow.cli.options import (
    CompareOptions,
    DemoOptions,
    EvaluateOptions,
    ExplainOptions,
    FileOptions,
    FitOptions,
    LearnOptions,
    MonitorOptions,
    PredictOptions,
    ReportOptions,
    ReproduceOptions,
    SuggestOptions,
    TuneOptions,
)

Options = TypeVar("Options")

#: The field type of repeatable options and of arguments with repeated values.
REPEATED = tuple[str, ...]

#: Name, options and help of each command, in the order of ``hedgerow --help``. The function of the same name runs it,
#: in the module of the same name unless `MODULES` has another.
COMMANDS: tuple[tuple[str, Any, str], ...] = (
    (
        "demo",
        DemoOptions,
        "Fit a forest to scikit-learn's breast-cancer data and show the undecided patients.",
    ),
    ("fit", FitOptions, "Fit a model to a table and save it."),
    (
        "tune",
        TuneOptions,
        "Fit a classification forest with the rule, caution and decision that score best on out-of-bag rows.",
    ),
    (
        "compare",
        CompareOptions,
        "Cross-validate hedgerow and other libraries on a table: accuracy, log-loss, undecided rows and time.",
    ),
    (
        "predict",
        PredictOptions,
        "Write labels, prediction sets, bounds and uncertainty as CSV, JSON lines, Parquet, Arrow or Excel.",
    ),
    ("evaluate", EvaluateOptions, "Evaluate labels, prediction sets or intervals on a table with true targets."),
    (
        "explain",
        ExplainOptions,
        "Explain why rows are undecided and what would settle them; without --row, list all undecided rows.",
    ),
    (
        "report",
        ReportOptions,
        "Write a self-contained HTML report: metrics, undecided cases, and sliders for rule and caution.",
    ),
    ("suggest", SuggestOptions, "List the rows whose labels would improve the model most."),
    (
        "learn",
        LearnOptions,
        "Update a model with labels saved from a report.",
    ),
    ("monitor", MonitorOptions, "Test new rows for drift and novelty; exit with code 5 if a person should look."),
    (
        "inspect",
        FileOptions,
        "Show features, classes, parameters, size and version of a model file without reading its trees.",
    ),
    ("verify", FileOptions, "Check a whole model file; exit with code 4 if it is corrupt."),
    (
        "reproduce",
        ReproduceOptions,
        "Repeat the experiments of a paper and compare the results with the published ones.",
    ),
)
#: Modules with more than one command.
MODULES = {
    "evaluate": "predict",
    "learn": "feedback",
    "reproduce": "demo",
    "suggest": "feedback",
    "tune": "compare",
    "verify": "inspect",
}
#: Commands that accept --dask; their functions are `fit_on_cluster` and so on in `cli/cluster`.
ON_CLUSTER = ("fit", "predict", "evaluate")

app = typer.Typer(
    name="hedgerow",
    help="Decision-tree ensembles that know when they do not know.",
    epilog="Exit codes: 0 success, 1 failure, 2 usage, 3 bad data, 4 unsafe or corrupt model, 5 a person should look,"
    " 130 interrupted.",
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def main() -> None:
    """Entry point of the ``hedgerow`` command."""
    from hedgerow.cli.console import print_everything
    from hedgerow.cli.exit_codes import enter

    print_everything()
    sys.exit(enter(app, _with_address(sys.argv[1:])))


def _with_address(words: list[str]) -> list[str]:
    """Add ``local``, a cluster on this machine, after a --dask without an address."""
    result = []
    for word, following in zip_longest(words, words[1:], fillvalue=""):
        result.append(word)
        if word == "--dask" and "://" not in following and following != "local":
            result.append("local")
    return result


def _print_version(wanted: bool) -> None:
    if wanted:
        from hedgerow import __version__

        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _hedgerow(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Decision-tree ensembles that know when they do not know."""


def _run(name: str, options: Any) -> None:
    """Import the module of a command and run it."""
    on_cluster = name in ON_CLUSTER and options.dask is not None
    module = import_module(f"hedgerow.cli.{'cluster' if on_cluster else MODULES.get(name, name)}")
    getattr(module, f"{name}_on_cluster" if on_cluster else name)(options)


# ---- commands from dataclasses of options ---------------------------------------------------------------------


def command(options: type[Options], function: Callable[[Options], None]) -> Callable[..., None]:
    """Return a function with a parameter for each field of the options, for typer.

    It builds the options, runs `function` and raises `typer.Exit` with the exit code. Parameters are in the order of
    the help: the fields of the class itself, then those of its bases.
    """
    hints = get_type_hints(options, include_extras=True)
    parameters = [_parameter(field, hints[field.name]) for field in _in_order(options)]
    repeated = {name for name, hint in hints.items() if REPEATED in get_args(hint)[:1]}

    def run_command(**given: Any) -> None:
        from hedgerow.cli.exit_codes import run

        filled = options(**{name: tuple(value or ()) if name in repeated else value for name, value in given.items()})
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
    if get_origin(hint) is Annotated and (args := get_args(hint))[0] == REPEATED:
        hint = Annotated[list[str] if default is Parameter.empty else list[str] | None, args[1]]
        default = default or None
    return Parameter(field.name, Parameter.KEYWORD_ONLY, default=default, annotation=hint)


for _name, _options, _help in COMMANDS:
    app.command(_name, help=_help)(command(_options, partial(_run, _name)))
