"""Command line: words in a terminal -> the options of a command, which then runs in its own module.

This module imports only what ``hedgerow --help`` needs. What a command can be asked is in `options`.
"""

from __future__ import annotations

import sys
from itertools import zip_longest
from typing import Annotated

import typer

from hedgerow.commands.declare import command
from hedgerow.commands.options.back import LearnOptions, MonitorOptions, QueueOptions
from hedgerow.commands.options.compare import CompareOptions
from hedgerow.commands.options.evaluate import EvaluateOptions
from hedgerow.commands.options.explain import ExplainOptions
from hedgerow.commands.options.files import FileOptions
from hedgerow.commands.options.fit import FitOptions
from hedgerow.commands.options.predict import PredictOptions
from hedgerow.commands.options.report import ReportOptions
from hedgerow.commands.options.study import DemoOptions, ReproduceOptions
from hedgerow.commands.options.tune import TuneOptions

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
    from hedgerow.commands.outcome import enter

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


@app.command()
@command(DemoOptions)
def demo(options: DemoOptions) -> None:
    """Fit a forest to the breast-cancer data that scikit-learn ships, and look at the doubtful cases."""
    from hedgerow.commands.demo import demo

    demo(options)


@app.command()
@command(FitOptions)
def fit(options: FitOptions) -> None:
    """Fit a model to a table, and save it."""
    if options.dask is not None:
        from hedgerow.commands.cluster import fit_on_cluster

        return fit_on_cluster(options)
    from hedgerow.commands.fit import fit

    return fit(options)


@app.command()
@command(TuneOptions)
def tune(options: TuneOptions) -> None:
    """Fit a model, and choose its rule, caution and decision by what they are worth on rows unseen by its trees."""
    from hedgerow.commands.tune import tune

    tune(options)


@app.command()
@command(CompareOptions)
def compare(options: CompareOptions) -> None:
    """Compare hedgerow with other learners on a table: accuracy, log-loss, what is left open, time."""
    from hedgerow.commands.compare import compare

    compare(options)


@app.command()
@command(PredictOptions)
def predict(options: PredictOptions) -> None:
    """Write label, set, bounds and uncertainty of each row of a table, as CSV, JSON lines or Parquet."""
    if options.dask is not None:
        from hedgerow.commands.cluster import predict_on_cluster

        return predict_on_cluster(options)
    from hedgerow.commands.predict import predict

    return predict(options)


@app.command()
@command(EvaluateOptions)
def evaluate(options: EvaluateOptions) -> None:
    """Measure how good a model's labels and sets are on a table with known classes."""
    if options.dask is not None:
        from hedgerow.commands.cluster import evaluate_on_cluster

        return evaluate_on_cluster(options)
    from hedgerow.commands.evaluate import evaluate

    return evaluate(options)


@app.command()
@command(ExplainOptions)
def explain(options: ExplainOptions) -> None:
    """Explain why a row is undecided and what would settle it; without --row, list all undecided rows."""
    from hedgerow.commands.explain import explain

    explain(options)


@app.command()
@command(ReportOptions)
def report(options: ReportOptions) -> None:
    """Write one page to e-mail: metrics, where the undecided cases are, and sliders. It needs no network."""
    from hedgerow.commands.report import report

    report(options)


@app.command()
@command(QueueOptions)
def queue(options: QueueOptions) -> None:
    """List the cases of a table that are worth asking about first."""
    from hedgerow.commands.queue import queue

    queue(options)


@app.command()
@command(LearnOptions)
def learn(options: LearnOptions) -> None:
    """Count the answers that a reader has saved from a report, and save the model that knows them."""
    from hedgerow.commands.learn import learn

    learn(options)


@app.command()
@command(MonitorOptions)
def monitor(options: MonitorOptions) -> None:
    """Compare new rows with those the model knows; exit code 5 if a person should look."""
    from hedgerow.commands.monitor import monitor

    monitor(options)


@app.command()
@command(FileOptions)
def inspect(options: FileOptions) -> None:
    """Show features, classes, parameters, sizes and versions of a model file, without reading its trees."""
    from hedgerow.commands.inspect import inspect

    inspect(options)


@app.command()
@command(FileOptions)
def verify(options: FileOptions) -> None:
    """Check all of a model file; if it is not sound, say why and exit with code 4."""
    from hedgerow.commands.verify import verify

    verify(options)


@app.command()
@command(ReproduceOptions)
def reproduce(options: ReproduceOptions) -> None:
    """Repeat the experiments of a paper: its tables and figures beside ours, and a verdict."""
    from hedgerow.commands.reproduce import reproduce

    reproduce(options)
