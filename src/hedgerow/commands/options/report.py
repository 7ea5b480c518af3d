"""Report: words after `hedgerow report` -> the options of the command."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import typer

from hedgerow.commands.options.shared import (
    Asking,
    By,
    ClassLabels,
    CostsFile,
    Data,
    Id,
    Immutable,
    Model,
    SkipUnlabelled,
    Train,
    Writing,
)


@dataclass(frozen=True, kw_only=True)
class ReportOptions(Asking, Writing):
    """The options of `hedgerow report`."""

    model: Model
    data: Data
    out: Annotated[str, typer.Option("--out", "-o", metavar="FILE", help="Page to write, or - for standard output.")]
    target: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column with the true classes; not needed if only one column fits."),
    ] = None
    id: Id = None
    title: Annotated[str | None, typer.Option(metavar="TEXT", help="Headline of the page.")] = None
    train: Train = None
    cases: Annotated[
        Literal["some", "all"], typer.Option(help="Explain the hundred most doubtful and some of each place, or all.")
    ] = "some"
    seconds: Annotated[
        float,
        typer.Option(min=0, metavar="NUMBER", help="Time to search for smallest changes of all rows; 0: no search."),
    ] = 5.0
    immutable: Immutable = ()
    labels: ClassLabels = None
    by: By = ()
    costs: CostsFile = None
    skip_unlabelled: SkipUnlabelled = False
    coverage: Annotated[
        float | None,
        typer.Option(min=0, max=1, metavar="SHARE", help="Share of targets that intervals of a regression hold; 0.9."),
    ] = None
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON on standard output.")] = False
