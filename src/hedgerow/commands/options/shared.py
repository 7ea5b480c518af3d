"""Shared: words after several commands -> the options that these share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

Model = Annotated[str, typer.Argument(metavar="MODEL", help="Model file, or - for standard input.")]
Data = Annotated[
    tuple[str, ...],
    typer.Argument(
        metavar="DATA",
        help="Files of one table: CSV, spreadsheet, Parquet or Arrow, packed or not; or - for standard input.",
    ),
]
Dask = Annotated[
    str | None,
    typer.Option(
        metavar="[ADDRESS]", help="Work on the Dask cluster of this scheduler; without an address, on this machine."
    ),
]
Id = Annotated[str | None, typer.Option(metavar="COLUMN", help="Column that names the rows.")]
IdLeftOut = Annotated[str | None, typer.Option(metavar="COLUMN", help="Column that names the rows; it is left out.")]
Drop = Annotated[tuple[str, ...], typer.Option(metavar="COLUMN", help="Column to leave out; repeatable.")]
Nominal = Annotated[
    tuple[str, ...],
    typer.Option(metavar="COLUMN", help="Column to treat as categories even if it holds numbers; repeatable."),
]
Train = Annotated[
    str | None, typer.Option(metavar="FILE", help="The table the model was fitted to, to show the nearest cases.")
]
CostsFile = Annotated[
    str | None,
    typer.Option(
        metavar="FILE", help="Costs: a row for each true class, a column for each action, such as look again."
    ),
]
By = Annotated[
    tuple[str, ...], typer.Option(metavar="COLUMN", help="Show the figures also for each group; repeatable.")
]
AllowMissing = Annotated[
    bool, typer.Option("--allow-missing-columns", help="Columns of the fit that the table lacks have no value.")
]
SkipUnlabelled = Annotated[bool, typer.Option("--skip-unlabelled", help="Leave out rows without a label.")]
Immutable = Annotated[
    tuple[str, ...],
    typer.Option(
        metavar="COLUMN",
        help="Column the smallest change must not change, besides those of fit; repeatable, or with commas.",
    ),
]
ClassLabels = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Table of readable names, with the columns column, value and label."),
]
Jobs = Annotated[int, typer.Option(metavar="NUMBER", help="Threads; -1 for all cores.")]


@dataclass(frozen=True, kw_only=True)
class Talking:
    """How the answer is given."""

    as_json: Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")] = False


@dataclass(frozen=True, kw_only=True)
class Writing(Talking):
    """How a file is written."""

    force: Annotated[
        bool, typer.Option("--force", help="Replace a file of another kind; what the command reads is never replaced.")
    ] = False


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How tables are read."""

    missing: Annotated[
        tuple[str, ...],
        typer.Option(metavar="TEXT", help="Text that stands for a missing value, besides the usual texts; repeatable."),
    ] = ()
    decimal: Annotated[str, typer.Option(metavar="MARK", help="Mark before decimals in CSV: a point, or a comma.")] = (
        "."
    )
    thousands: Annotated[
        str, typer.Option(metavar="MARK", help="Mark between thousands in CSV: a comma, point, space or apostrophe.")
    ] = ""
    encoding: Annotated[
        str | None, typer.Option(metavar="NAME", help="Encoding of CSV, such as cp1252; guessed by default.")
    ] = None
    sheet: Annotated[
        str | None, typer.Option(metavar="SHEET", help="Sheet of a spreadsheet: its name, or its number from 1; 1.")
    ] = None
    exact_text: Annotated[
        bool, typer.Option("--exact-text", help="Keep texts apart that differ only by spaces or case.")
    ] = False
    dates: Annotated[
        bool, typer.Option("--dates", help="Turn dates into numbers: days since 1970, month and weekday.")
    ] = False
    day_first: Annotated[
        bool | None, typer.Option("--day-first/--month-first", help="Order in dates such as 03/04/2024.")
    ] = None


@dataclass(frozen=True, kw_only=True)
class Asking(Reading):
    """A model that answers about a table, perhaps with another rule, caution or decision than its own."""

    model: Model
    data: Data
    rule: Annotated[
        str | None, typer.Option(metavar="NAME", help="Use this rule instead of the model's; nothing is refitted.")
    ] = None
    caution: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="Use this caution, a number >= 0, instead of the model's.")
    ] = None
    decision: Annotated[str | None, typer.Option(metavar="NAME", help="Use this decision instead of the model's.")] = (
        None
    )
    allow_missing_columns: AllowMissing = False


@dataclass(frozen=True, kw_only=True)
class Measuring(Asking):
    """The same, with intervals."""

    coverage: Annotated[
        float | None,
        typer.Option(min=0, max=1, metavar="SHARE", help="Share of targets that intervals of a regression hold; 0.9."),
    ] = None
    dask: Dask = None
