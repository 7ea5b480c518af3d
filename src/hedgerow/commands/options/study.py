"""Study: words after `hedgerow demo` and `hedgerow reproduce` -> the options of the command."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from hedgerow.commands.options.shared import Writing


@dataclass(frozen=True, kw_only=True)
class DemoOptions(Writing):
    """The options of `hedgerow demo`."""

    seed: Annotated[int, typer.Option(help="Seed of the forest and of the split of the data.")] = 0
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="FILE", help="Report to write; the notebook goes beside it.")
    ] = "hedgerow-demo.html"
    notebook: Annotated[bool, typer.Option("--notebook", help="Write a notebook that does the same, too.")] = False


@dataclass(frozen=True, kw_only=True)
class ReproduceOptions(Writing):
    """The options of `hedgerow reproduce`."""

    paper: Annotated[str, typer.Argument(help="zhang-2021, busch-2021, sutton-2012, or lectures.")]
    study: Annotated[str | None, typer.Option(help="A question the paper leaves open: forests, of busch-2021.")] = None
    quick: Annotated[bool, typer.Option("--quick", help="A first result, in under two minutes on two cores.")] = False
    out: Annotated[Path | None, typer.Option(help="Folder for report, figures and finished parts.")] = None
    data: Annotated[
        Path | None, typer.Option(help="Folder of data sets; by default HEDGEROW_DATA, the cache, or a download.")
    ] = None
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON on standard output.")] = False
    jobs: Annotated[int, typer.Option(help="Processes; -1 for one per core.")] = -1
