"""The ``hedgerow`` command.

This module imports only what ``hedgerow --help`` needs. `options` has the options of each command.
"""

from __future__ import annotations

import sys
from functools import partial
from importlib import import_module
from itertools import zip_longest
from typing import Annotated, Any

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
from hedgerow.cli.typer_adapter import command

#: The commands in the order of the help: the name, its options, and what it does. The function of the same name does
#: it, in the module of the same name unless `MODULES` has another.
COMMANDS: tuple[tuple[str, Any, str], ...] = (
    (
        "demo",
        DemoOptions,
        "Fit a forest to the breast-cancer data that scikit-learn ships, and look at the doubtful cases.",
    ),
    ("fit", FitOptions, "Fit a model to a table, and save it."),
    (
        "tune",
        TuneOptions,
        "Fit a model, and choose its rule, caution and decision by what they are worth on rows unseen by its trees.",
    ),
    (
        "compare",
        CompareOptions,
        "Compare hedgerow with other learners on a table: accuracy, log-loss, what is left open, time.",
    ),
    (
        "predict",
        PredictOptions,
        "Write label, set, bounds and uncertainty of each row of a table, as CSV, JSON lines or Parquet.",
    ),
    ("evaluate", EvaluateOptions, "Measure how good a model's labels and sets are on a table with known classes."),
    (
        "explain",
        ExplainOptions,
        "Explain why a row is undecided and what would settle it; without --row, list all undecided rows.",
    ),
    (
        "report",
        ReportOptions,
        "Write one page to e-mail: metrics, where the undecided cases are, and sliders. It needs no network.",
    ),
    ("suggest", SuggestOptions, "List the cases of a table that are worth asking about first."),
    (
        "learn",
        LearnOptions,
        "Count the answers that a reader has saved from a report, and save the model that knows them.",
    ),
    ("monitor", MonitorOptions, "Compare new rows with those the model knows; exit code 5 if a person should look."),
    (
        "inspect",
        FileOptions,
        "Show features, classes, parameters, sizes and versions of a model file, without reading its trees.",
    ),
    ("verify", FileOptions, "Check all of a model file; if it is not sound, say why and exit with code 4."),
    (
        "reproduce",
        ReproduceOptions,
        "Repeat the experiments of a paper: its tables and figures beside ours, and a verdict.",
    ),
)
#: Modules with more than one command.
MODULES = {"suggest": "feedback", "learn": "feedback", "verify": "inspect"}
#: With --dask, the function is that of `cli/cluster`: `fit_on_cluster`, and so on.
ON_CLUSTER = ("fit", "predict", "evaluate")

app = typer.Typer(
    name="hedgerow",
    help="Decision-tree ensembles that know when they do not know.",
    epilog="Exit codes: 0 success, 1 failure, 2 usage, 3 bad data, 4 unsafe or corrupt model, 5 a person should look.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def main() -> None:
    """Entry point of the ``hedgerow`` command."""
    from hedgerow.cli.exit_codes import enter

    sys.exit(enter(app, _with_address(sys.argv[1:])))


def _with_address(words: list[str]) -> list[str]:
    """Add ``local`` to a --dask without an address: a cluster on this machine."""
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
    """Import the module of a command, and run it."""
    on_cluster = name in ON_CLUSTER and options.dask is not None
    module = import_module(f"hedgerow.cli.{'cluster' if on_cluster else MODULES.get(name, name)}")
    getattr(module, f"{name}_on_cluster" if on_cluster else name)(options)


for _name, _options, _about in COMMANDS:
    app.command(_name, help=_about)(command(_options, partial(_run, _name)))
