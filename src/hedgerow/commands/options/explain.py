"""Explain: words after `hedgerow explain` -> the options of the command."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from hedgerow.commands.options.shared import Asking, Data, Id, Immutable, Model, SkipUnlabelled, Train, Writing


@dataclass(frozen=True, kw_only=True)
class ExplainOptions(Asking, Writing):
    """The options of `hedgerow explain`."""

    model: Model
    data: Data
    rows: Annotated[
        tuple[str, ...],
        typer.Option(
            "--row",
            metavar="ROW",
            help="Row to explain: its number from 1 or, with --id, a value of that column; repeatable.",
        ),
    ] = ()
    id: Id = None
    train: Train = None
    target: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column with the classes, in --train and in DATA.")
    ] = None
    skip_unlabelled: SkipUnlabelled = False
    cases: Annotated[int, typer.Option(min=0, metavar="NUMBER", help="How many nearest cases to show.")] = 5
    immutable: Immutable = ()
    increasing: Annotated[
        tuple[str, ...],
        typer.Option(metavar="COLUMN", help="Column the smallest change may only raise; repeatable."),
    ] = ()
    decreasing: Annotated[
        tuple[str, ...],
        typer.Option(metavar="COLUMN", help="Column the smallest change may only lower; repeatable."),
    ] = ()
    wanted: Annotated[
        str | None, typer.Option(metavar="CLASS", help="Class the smallest change should lead to; by default any.")
    ] = None
    seconds: Annotated[
        float,
        typer.Option(min=0, metavar="NUMBER", help="Time to search for the smallest change of a row; 0: no search."),
    ] = 5.0
    html: Annotated[str | None, typer.Option(metavar="FILE", help="Write a page instead of text.")] = None
