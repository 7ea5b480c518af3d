"""Command line: words in a terminal -> tables, and what to try next."""

from __future__ import annotations

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


def main() -> None:
    """Entry point of the ``hedgerow`` command."""
    app()
