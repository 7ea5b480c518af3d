"""Back: words after `hedgerow learn`, `queue` and `monitor` -> the options of the command."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from hedgerow.commands.options.shared import AllowMissing, Asking, Data, Id, Model, Reading, Writing


@dataclass(frozen=True, kw_only=True)
class LearnOptions(Reading, Writing):
    """The options of `hedgerow learn`."""

    model: Model
    answers: Annotated[str, typer.Argument(metavar="ANSWERS", help="File of answers that a report has saved.")]
    data: Annotated[tuple[str, ...], typer.Argument(metavar="DATA", help="The table that the report was about.")]
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="FILE", help="Model file to write, or - for standard output.")
    ]
    allow_missing_columns: AllowMissing = False


@dataclass(frozen=True, kw_only=True)
class QueueOptions(Asking, Writing):
    """The options of `hedgerow queue`."""

    model: Model
    data: Data
    number: Annotated[int, typer.Option("--number", "-n", min=1, metavar="NUMBER", help="How many cases to list.")] = 20
    id: Id = None


@dataclass(frozen=True, kw_only=True)
class MonitorOptions(Asking, Writing):
    """The options of `hedgerow monitor`."""

    model: Model
    data: Data
    reference: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Earlier rows that were fine, not those of fit; compare with these."),
    ] = None
    level: Annotated[
        float, typer.Option(min=0, max=1, metavar="SHARE", help="How often an ordinary table may raise an alarm.")
    ] = 0.05
    html: Annotated[str | None, typer.Option(metavar="FILE", help="Write a page as well.")] = None
