"""Tune: words after `hedgerow tune` -> the options of the command."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import typer

from hedgerow.commands.options.fit import FitOptions
from hedgerow.commands.options.shared import CostsFile


@dataclass(frozen=True, kw_only=True)
class TuneOptions(FitOptions):
    """The options of `hedgerow tune`: those of `hedgerow fit`, and what to try."""

    by: Annotated[
        Literal["u65", "u80", "accuracy", "cost", "risk"],
        typer.Option(metavar="WHAT", help="Choose by u65, u80, accuracy, cost (with --costs) or risk (with --risk)."),
    ] = "u65"
    rules: Annotated[str | None, typer.Option(metavar="NAMES", help="Rules to try, with commas between them.")] = None
    cautions: Annotated[
        str | None, typer.Option(metavar="NUMBERS", help="Cautions to try, with commas between them; 0 to 5.")
    ] = None
    decisions: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Decisions to try, with commas between them.")
    ] = None
    risk: Annotated[
        float, typer.Option(min=0, max=1, metavar="SHARE", help="Share of decisions that may be wrong, for --by risk.")
    ] = 0.05
    costs: CostsFile = None
