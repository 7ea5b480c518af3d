"""Options of all commands: shared options first, then a class for each command.

A field is an option or an argument; `typer_adapter` turns a class into a command.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

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
GroupsOfRows = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Column whose equal values mark rows that belong together; it is left out."),
]
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
Immutable = Annotated[
    tuple[str, ...],
    typer.Option(
        metavar="COLUMN",
        help="Column the smallest change must not change, besides those of fit; repeatable, or with commas.",
    ),
]
Labels = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Table of readable names, with the columns column, value and label."),
]
Jobs = Annotated[int, typer.Option(metavar="NUMBER", help="Threads; -1 for all cores.")]


@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """How results are printed."""

    as_json: Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")] = False


@dataclass(frozen=True, kw_only=True)
class WriteOptions(OutputOptions):
    """How a file is written."""

    force: Annotated[
        bool, typer.Option("--force", help="Replace a file of another kind; what the command reads is never replaced.")
    ] = False


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
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
class TargetOptions:
    """How the target is read; a prediction type whose target has more columns than one adds their options here."""

    skip_unlabelled: Annotated[bool, typer.Option("--skip-unlabelled", help="Leave out rows without a label.")] = False


@dataclass(frozen=True, kw_only=True)
class ModelOptions(ReadOptions):
    """A model and a table, perhaps with another rule, caution or decision than that of the fit."""

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
class IntervalOptions(ModelOptions):
    """A model and a table, with intervals and on a cluster."""

    coverage: Annotated[
        float | None,
        typer.Option(min=0, max=1, metavar="SHARE", help="Share of targets that intervals of a regression hold; 0.9."),
    ] = None
    dask: Dask = None


@dataclass(frozen=True, kw_only=True)
class FileOptions(OutputOptions):
    """The options of a command about a model file."""

    model: Model


@dataclass(frozen=True, kw_only=True)
class FitOptions(TargetOptions, ReadOptions, WriteOptions):
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
    groups: GroupsOfRows = None
    nominal: Nominal = ()
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


@dataclass(frozen=True, kw_only=True)
class CompareOptions(TargetOptions, ReadOptions, OutputOptions):
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
    groups: GroupsOfRows = None
    nominal: Nominal = ()


@dataclass(frozen=True, kw_only=True)
class PredictOptions(IntervalOptions, WriteOptions):
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


@dataclass(frozen=True, kw_only=True)
class EvaluateOptions(TargetOptions, IntervalOptions, OutputOptions):
    """The options of `hedgerow evaluate`."""

    model: Model
    data: Data
    target: Annotated[str, typer.Option(metavar="COLUMN", help="Column with the true classes or targets.")]
    by: By = ()
    positive: Annotated[
        str | None, typer.Option(metavar="CLASS", help="Of two classes, the one that is looked for; the rarer one.")
    ] = None
    costs: CostsFile = None


@dataclass(frozen=True, kw_only=True)
class ExplainOptions(TargetOptions, ModelOptions, WriteOptions):
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


@dataclass(frozen=True, kw_only=True)
class ReportOptions(TargetOptions, ModelOptions, WriteOptions):
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
    labels: Labels = None
    by: By = ()
    costs: CostsFile = None
    coverage: Annotated[
        float | None,
        typer.Option(min=0, max=1, metavar="SHARE", help="Share of targets that intervals of a regression hold; 0.9."),
    ] = None
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON on standard output.")] = False


@dataclass(frozen=True, kw_only=True)
class LearnOptions(ReadOptions, WriteOptions):
    """The options of `hedgerow learn`."""

    model: Model
    answers: Annotated[str, typer.Argument(metavar="ANSWERS", help="File of answers that a report has saved.")]
    data: Annotated[tuple[str, ...], typer.Argument(metavar="DATA", help="The table that the report was about.")]
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="FILE", help="Model file to write, or - for standard output.")
    ]
    allow_missing_columns: AllowMissing = False


@dataclass(frozen=True, kw_only=True)
class SuggestOptions(ModelOptions, WriteOptions):
    """The options of `hedgerow suggest`."""

    model: Model
    data: Data
    number: Annotated[int, typer.Option("--number", "-n", min=1, metavar="NUMBER", help="How many cases to list.")] = 20
    id: Id = None


@dataclass(frozen=True, kw_only=True)
class MonitorOptions(ModelOptions, WriteOptions):
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


@dataclass(frozen=True, kw_only=True)
class DemoOptions(WriteOptions):
    """The options of `hedgerow demo`."""

    seed: Annotated[int, typer.Option(help="Seed of the forest and of the split of the data.")] = 0
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="FILE", help="Report to write; the notebook goes beside it.")
    ] = "hedgerow-demo.html"
    notebook: Annotated[bool, typer.Option("--notebook", help="Write a notebook that does the same, too.")] = False


@dataclass(frozen=True, kw_only=True)
class ReproduceOptions(WriteOptions):
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
