"""Command line: words in a terminal -> tables, and what to try next."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    name="hedgerow",
    help="Decision-tree ensembles that know when they do not know.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.callback()
def _hedgerow() -> None:
    """Decision-tree ensembles that know when they do not know."""


@app.command()
def demo(seed: int = typer.Option(0, help="Another seed, another split of the data.")) -> None:
    """Fit a forest to the breast-cancer data that scikit-learn ships, and look at the doubtful cases."""
    from hedgerow.demo import run_demo

    run_demo(seed)


@app.command()
def reproduce(
    paper: Annotated[str, typer.Argument(help="zhang-2021, busch-2021 or sutton-2012.")],
    quick: Annotated[bool, typer.Option("--quick", help="A first answer, in under two minutes on two cores.")] = False,
    out: Annotated[Path | None, typer.Option(help="Folder for report, figures and finished pieces.")] = None,
    data: Annotated[Path | None, typer.Option(help="Folder of data sets; else HEDGEROW_DATA, cache, download.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the report as JSON on standard output.")] = False,
    jobs: Annotated[int, typer.Option(help="Processes; -1 for one per core.")] = -1,
) -> None:
    """Repeat the experiments of a paper: its tables and figures, ours beside theirs, and a verdict."""
    from hedgerow.experiments.command import run_reproduce

    raise typer.Exit(run_reproduce(paper, quick=quick, out=out, data=data, as_json=json, jobs=jobs))


def main() -> None:
    """Entry point of the ``hedgerow`` command."""
    app()
