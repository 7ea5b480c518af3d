"""Evaluate: words after `hedgerow evaluate` -> the options of the command."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from hedgerow.commands.options.shared import By, CostsFile, Data, Measuring, Model, SkipUnlabelled, Talking


@dataclass(frozen=True, kw_only=True)
class EvaluateOptions(Measuring, Talking):
    """The options of `hedgerow evaluate`."""

    model: Model
    data: Data
    target: Annotated[str, typer.Option(metavar="COLUMN", help="Column with the true classes or targets.")]
    by: By = ()
    positive: Annotated[
        str | None, typer.Option(metavar="CLASS", help="Of two classes, the one that is looked for; the rarer one.")
    ] = None
    costs: CostsFile = None
    skip_unlabelled: SkipUnlabelled = False
