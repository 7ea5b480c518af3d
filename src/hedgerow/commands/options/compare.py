"""Compare: words after `hedgerow compare` -> the options of the command."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from hedgerow.commands.options.shared import Data, Drop, IdLeftOut, Jobs, Nominal, Reading, SkipUnlabelled, Talking


@dataclass(frozen=True, kw_only=True)
class CompareOptions(Reading, Talking):
    """The options of `hedgerow compare`."""

    data: Data
    target: Annotated[str, typer.Option(metavar="COLUMN", help="Column with the classes or targets.")]
    regression: Annotated[bool, typer.Option("--regression", help="The target is a number, not a class.")] = False
    folds: Annotated[int, typer.Option(min=2, metavar="NUMBER", help="Folds of the comparison.")] = 5
    trees: Annotated[int, typer.Option(min=1, metavar="NUMBER", help="Number of trees of each forest.")] = 100
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, metavar="NUMBER", help="Seed of folds and models.")] = 0
    jobs: Jobs = -1
    drop: Drop = ()
    id: IdLeftOut = None
    nominal: Nominal = ()
    skip_unlabelled: SkipUnlabelled = False
