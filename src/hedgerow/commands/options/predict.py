"""Predict: words after `hedgerow predict` -> the options of the command."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from hedgerow.commands.options.shared import CostsFile, Data, Measuring, Model, Writing


@dataclass(frozen=True, kw_only=True)
class PredictOptions(Measuring, Writing):
    """The options of `hedgerow predict`."""

    model: Model
    data: Data
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="File to write: CSV, .tsv, .jsonl, .parquet, .feather or .xlsx as it is named.",
        ),
    ] = None
    id: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column that names the rows; copied to the front.")
    ] = None
    target: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column with the true classes; copied to the front.")
    ] = None
    keep: Annotated[tuple[str, ...], typer.Option(metavar="COLUMN", help="Another column to keep; repeatable.")] = ()
    keep_all: Annotated[bool, typer.Option("--keep-all", help="Keep all columns.")] = False
    costs: CostsFile = None
    prefix: Annotated[str, typer.Option(metavar="TEXT", help="Text to put before the names of the answers.")] = ""
    raw: Annotated[
        bool, typer.Option("--raw", help="In CSV, put no apostrophe before text that begins like a formula.")
    ] = False
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per row and line.")] = False
