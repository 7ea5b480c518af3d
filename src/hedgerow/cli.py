"""Command line: words in a terminal -> tables, and what to try next."""

from __future__ import annotations

from pathlib import Path

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
    paper: str = typer.Argument(help="zhang-2021 or busch-2021."),
    quick: bool = typer.Option(False, "--quick", help="A first answer, in under two minutes on two cores."),
    out: Path | None = typer.Option(None, help="Folder for report, figures and finished pieces; default: the paper's name."),
    data: Path | None = typer.Option(None, help="Folder of data sets; else HEDGEROW_DATA, the cache, a download."),
    json: bool = typer.Option(False, "--json", help="Print the report as JSON on standard output."),
    jobs: int = typer.Option(-1, help="Processes; -1 for one per core."),
) -> None:
    """Repeat the experiments of a paper: tables and figures, ours beside theirs, and a verdict."""
    from hedgerow.experiments.command import run_reproduce

    raise typer.Exit(run_reproduce(paper, quick=quick, out=out, data=data, as_json=json, jobs=jobs))


def main() -> None:
    """Entry point of the ``hedgerow`` command."""
    app()
