"""Fit: words after `hedgerow fit` -> the options of the command."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import typer

from hedgerow.commands.options.shared import (
    Dask,
    Data,
    Drop,
    IdLeftOut,
    Jobs,
    Nominal,
    Reading,
    SkipUnlabelled,
    Writing,
)


@dataclass(frozen=True, kw_only=True)
class FitOptions(Reading, Writing):
    """The options of `hedgerow fit`."""

    data: Data
    target: Annotated[
        str, typer.Option(metavar="COLUMN", help="Column with the classes, or with the targets of a regression.")
    ]
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="FILE", help="Model file to write, or - for standard output.")
    ]
    model: Annotated[
        Literal["forest", "extra", "tree", "random-decision"],
        typer.Option(metavar="KIND", help="What to grow: forest, extra, tree or random-decision."),
    ] = "forest"
    regression: Annotated[bool, typer.Option("--regression", help="The target is a number, not a class.")] = False
    trees: Annotated[int | None, typer.Option(min=1, metavar="NUMBER", help="Number of trees; 100 by default.")] = None
    caution: Annotated[
        str,
        typer.Option(metavar="NUMBER", help="Unseen rows each leaf keeps in reserve; auto: chosen on out-of-bag rows."),
    ] = "1.0"
    rule: Annotated[
        str, typer.Option(metavar="NAME", help="How the leaves are combined: average, belief, dempster, eva …")
    ] = "average"
    decision: Annotated[
        str, typer.Option(metavar="NAME", help="Which classes remain: dominance, maximality, u65, coverage …")
    ] = "auto"
    leaf_counts: Annotated[
        Literal["all", "inbag", "distinct", "oob"] | None,
        typer.Option(metavar="WHICH", help="Rows a leaf counts: all, inbag, distinct or oob; all by default."),
    ] = None
    max_bins: Annotated[str, typer.Option(metavar="NUMBER", help="Most bins of a column; auto, or all.")] = "auto"
    seed: Annotated[
        int, typer.Option(min=0, max=2**32 - 1, metavar="NUMBER", help="The same seed gives the same model file.")
    ] = 0
    jobs: Jobs = -1
    drop: Drop = ()
    id: IdLeftOut = None
    nominal: Nominal = ()
    skip_unlabelled: SkipUnlabelled = False
    class_weight: Annotated[
        str | None,
        typer.Option(metavar="WEIGHTS", help="Weights of classes in the fit: balanced, or as in ill=5,well=1."),
    ] = None
    folds: Annotated[
        int | None, typer.Option(min=2, metavar="NUMBER", help="Estimate by so many folds how good the model is.")
    ] = None
    test_split: Annotated[
        float | None,
        typer.Option(min=0.01, max=0.5, metavar="SHARE", help="Estimate it on a share of the rows that is held out."),
    ] = None
    immutable: Annotated[
        tuple[str, ...],
        typer.Option(metavar="COLUMN", help="Column nobody can change, such as age; advice leaves it; repeatable."),
    ] = ()
    checkpoint: Annotated[
        str | None,
        typer.Option(metavar="FOLDER", help="Save trees as they grow, so that the same command can continue later."),
    ] = None
    dask: Dask = None
