"""Options of all commands: shared options first, then a class for each command.

A field is an option or an argument; `app.command` turns a class into a command.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, get_args, get_type_hints

import typer

Model = Annotated[str, typer.Argument(metavar="MODEL", help="Model file, or - for standard input.")]
Data = Annotated[
    tuple[str, ...],
    typer.Argument(
        metavar="DATA",
        help="Files of one table (CSV, Excel, ODS, Parquet or Arrow, also compressed), or - for standard input.",
    ),
]
Dask = Annotated[
    str | None,
    typer.Option(
        metavar="[ADDRESS]", help="Run on the Dask scheduler at this address, or on this machine without an address."
    ),
]
At = Annotated[
    float | None, typer.Option(metavar="TIME", help="Time at which survival models decide and explain, such as 365.")
]
Id = Annotated[str | None, typer.Option(metavar="COLUMN", help="Column with row names.")]
IdLeftOut = Annotated[str | None, typer.Option(metavar="COLUMN", help="Column with row names; not used as a feature.")]
GroupsOfRows = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Column with group labels of dependent rows; not used as a feature."),
]
GroupsJudged = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Column with group labels of dependent rows; one row of each group is used."),
]
GroupsCounted = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Column with group labels of dependent rows, to show the number of groups."),
]
GroupsLearned = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN", help="Column with group labels of dependent rows, for a model fitted with --groups."
    ),
]
Drop = Annotated[tuple[str, ...], typer.Option(metavar="COLUMN", help="Column to ignore; repeatable.")]
Nominal = Annotated[
    tuple[str, ...],
    typer.Option(metavar="COLUMN", help="Column to treat as categorical even if it is numeric; repeatable."),
]
Train = Annotated[str | None, typer.Option(metavar="FILE", help="Training table, for the nearest training cases.")]
CostsFile = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Table of costs: a row for each true class, a column for each action, such as 'look again'.",
    ),
]
By = Annotated[
    tuple[str, ...], typer.Option(metavar="COLUMN", help="Show metrics for each value of this column too; repeatable.")
]
AllowMissing = Annotated[
    bool, typer.Option("--allow-missing-columns", help="Treat feature columns that the table lacks as missing values.")
]
Immutable = Annotated[
    tuple[str, ...],
    typer.Option(
        metavar="COLUMN",
        help="Column that counterfactuals must not change, besides those of fit; repeatable, or comma-separated.",
    ),
]
Labels = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Table of display names, with the columns column, value and label."),
]
Jobs = Annotated[int, typer.Option(metavar="NUMBER", help="Number of threads; -1 for all cores.")]

#: Metavars of arguments and options that name files, and the options among them that name outputs.
FILES, OUTPUTS = ("MODEL", "DATA", "ANSWERS", "FILE"), ("out", "html")


def inputs_of(options: object) -> list[str]:
    """Return the files that a command reads: models, tables, costs, labels and answers."""
    found: list[str] = []
    for name, hint in get_type_hints(type(options), include_extras=True).items():
        declared = get_args(hint)
        if name in OUTPUTS or not declared or getattr(declared[-1], "metavar", None) not in FILES:
            continue
        given = getattr(options, name)
        found += given if isinstance(given, tuple) else [] if given is None else [given]
    return found


@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """Options for printed results."""

    as_json: Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")] = False


@dataclass(frozen=True, kw_only=True)
class WriteOptions(OutputOptions):
    """Options for written files."""

    force: Annotated[
        bool, typer.Option("--force", help="Overwrite a file of another type; inputs are never overwritten.")
    ] = False


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """Options for reading tables."""

    missing: Annotated[
        tuple[str, ...],
        typer.Option(
            metavar="TEXT", help="Text that marks a missing value, in addition to the usual ones; repeatable."
        ),
    ] = ()
    decimal: Annotated[
        str | None, typer.Option(metavar="MARK", help="Decimal mark in CSV: a point, the default, or a comma.")
    ] = None
    thousands: Annotated[
        str | None,
        typer.Option(metavar="MARK", help="Thousands separator in CSV: a comma, point, space or apostrophe."),
    ] = None
    encoding: Annotated[
        str | None, typer.Option(metavar="NAME", help="Encoding of CSV, such as cp1252; detected by default.")
    ] = None
    sheet: Annotated[
        str | None,
        typer.Option(metavar="SHEET", help="Sheet of a spreadsheet: name, or number from 1; the first by default."),
    ] = None
    exact_text: Annotated[
        bool, typer.Option("--exact-text", help="Distinguish texts that differ only in spaces or case.")
    ] = False
    dates: Annotated[
        bool | None,
        typer.Option("--dates/--no-dates", help="Convert dates to numbers: days since 1970, month and weekday."),
    ] = None
    day_first: Annotated[
        bool | None,
        typer.Option("--day-first/--month-first", help="Order of day and month in dates such as 03/04/2024."),
    ] = None

    @property
    def marks(self) -> tuple[str, str]:
        """Decimal mark and thousands separator; numbers with points between thousands have a decimal comma."""
        return self.decimal or ("," if self.thousands == "." else "."), self.thousands or ""


#: Options of reading that a model file keeps, so that the next table is read alike.
REMEMBERED = ("decimal", "thousands", "missing", "exact_text", "dates", "day_first")


@dataclass(frozen=True, kw_only=True)
class TargetOptions:
    """Options for the target; types with several target columns add theirs here."""

    skip_unlabelled: Annotated[bool, typer.Option("--skip-unlabelled", help="Skip rows without a label.")] = False


@dataclass(frozen=True, kw_only=True)
class EventOptions(TargetOptions):
    """Options for times until an event, of which --target is the time."""

    event: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column with 1 for events and 0 for censored rows; --target is the time."),
    ] = None
    since: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column with the start from which --target counts, such as a date."),
    ] = None
    entry: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column with the time or date from which rows are observed (late entry)."),
    ] = None


@dataclass(frozen=True, kw_only=True)
class ModelOptions(ReadOptions):
    """A model and a table, with overrides of the model's rule, caution and decision."""

    model: Model
    data: Data
    rule: Annotated[
        str | None, typer.Option(metavar="NAME", help="Combination rule, instead of the model's; nothing is refitted.")
    ] = None
    caution: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="Caution, a number >= 0, instead of the model's.")
    ] = None
    decision: Annotated[str | None, typer.Option(metavar="NAME", help="Decision rule, instead of the model's.")] = None
    allow_missing_columns: AllowMissing = False


@dataclass(frozen=True, kw_only=True)
class IntervalOptions(ModelOptions):
    """A model and a table, with options for intervals and clusters."""

    coverage: Annotated[
        float | None,
        typer.Option(min=0, max=1, metavar="SHARE", help="Target coverage of regression intervals; 0.9 by default."),
    ] = None
    dask: Dask = None


@dataclass(frozen=True, kw_only=True)
class FileOptions(OutputOptions):
    """Options of commands about a model file."""

    model: Model


@dataclass(frozen=True, kw_only=True)
class FitOptions(EventOptions, ReadOptions, WriteOptions):
    """Options of `hedgerow fit`."""

    data: Data
    target: Annotated[
        str,
        typer.Option(
            "--target", "--time", metavar="COLUMN", help="Target column: classes, numbers with --regression, or times."
        ),
    ]
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="FILE", help="Model file to write, or - for standard output.")
    ]
    model: Annotated[
        Literal["forest", "mixed", "extra", "tree", "random-decision"],
        typer.Option(metavar="TYPE", help="Model type: forest, mixed, extra, tree or random-decision."),
    ] = "forest"
    regression: Annotated[bool, typer.Option("--regression", help="Predict a continuous target.")] = False
    trees: Annotated[
        int | None, typer.Option(min=1, metavar="NUMBER", help="Number of trees; 100 by default, 300 if mixed.")
    ] = None
    caution: Annotated[
        str,
        typer.Option(metavar="NUMBER", help="Pseudo-count of each leaf, a number >= 0, or auto to tune it out of bag."),
    ] = "1.0"
    rule: Annotated[str, typer.Option(metavar="NAME", help="Combination rule: average, belief, dempster, eva …")] = (
        "average"
    )
    decision: Annotated[
        str, typer.Option(metavar="NAME", help="Decision rule: dominance, maximality, u65, coverage …")
    ] = "auto"
    leaf_counts: Annotated[
        Literal["all", "inbag", "distinct", "oob", "groups"] | None,
        typer.Option(
            metavar="ROWS", help="Rows counted in the leaves: all, inbag, distinct, oob or groups; all by default."
        ),
    ] = None
    max_bins: Annotated[str, typer.Option(metavar="NUMBER", help="Maximum bins per column; auto, or all.")] = "auto"
    seed: Annotated[
        int,
        typer.Option(min=0, max=2**32 - 1, metavar="NUMBER", help="Random seed; equal seeds give equal model files."),
    ] = 0
    jobs: Jobs = -1
    drop: Drop = ()
    id: IdLeftOut = None
    groups: GroupsOfRows = None
    nominal: Nominal = ()
    class_weight: Annotated[
        str | None,
        typer.Option(metavar="WEIGHTS", help="Class weights: balanced, or a list such as ill=5,well=1."),
    ] = None
    folds: Annotated[int | None, typer.Option(min=2, metavar="NUMBER", help="Number of cross-validation folds.")] = None
    test_split: Annotated[
        float | None,
        typer.Option(min=0.01, max=0.5, metavar="SHARE", help="Share of rows to hold out for evaluation."),
    ] = None
    immutable: Annotated[
        tuple[str, ...],
        typer.Option(metavar="COLUMN", help="Column that counterfactuals must not change, such as age; repeatable."),
    ] = ()
    checkpoint: Annotated[
        str | None,
        typer.Option(metavar="FOLDER", help="Save trees as they grow; the same command resumes an interrupted fit."),
    ] = None
    dask: Dask = None


@dataclass(frozen=True, kw_only=True)
class TuneOptions(FitOptions):
    """Options of `hedgerow tune`: those of `hedgerow fit`, and the settings to try."""

    by: Annotated[
        Literal["u65", "u80", "accuracy", "cost", "risk"],
        typer.Option(metavar="METRIC", help="Metric: u65, u80, accuracy, cost (with --costs) or risk (with --risk)."),
    ] = "u65"
    rules: Annotated[str | None, typer.Option(metavar="NAMES", help="Rules to try, comma-separated.")] = None
    cautions: Annotated[
        str | None,
        typer.Option(metavar="NUMBERS", help="Cautions to try, comma-separated; several from 0 to 5 by default."),
    ] = None
    decisions: Annotated[str | None, typer.Option(metavar="NAMES", help="Decisions to try, comma-separated.")] = None
    risk: Annotated[
        float, typer.Option(min=0, max=1, metavar="SHARE", help="Maximum share of wrong decisions, for --by risk.")
    ] = 0.05
    costs: CostsFile = None


@dataclass(frozen=True, kw_only=True)
class CompareOptions(TargetOptions, ReadOptions, OutputOptions):
    """Options of `hedgerow compare`."""

    data: Data
    target: Annotated[str, typer.Option(metavar="COLUMN", help="Target column: classes, or numbers with --regression.")]
    regression: Annotated[bool, typer.Option("--regression", help="Predict a continuous target.")] = False
    folds: Annotated[int, typer.Option(min=2, metavar="NUMBER", help="Number of cross-validation folds.")] = 5
    trees: Annotated[
        int, typer.Option(min=1, metavar="NUMBER", help="Number of trees in each forest, three times as many if mixed.")
    ] = 100
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, metavar="NUMBER", help="Seed of the folds and models.")] = 0
    jobs: Jobs = -1
    drop: Drop = ()
    id: IdLeftOut = None
    groups: GroupsOfRows = None
    nominal: Nominal = ()


@dataclass(frozen=True, kw_only=True)
class PredictOptions(IntervalOptions, WriteOptions):
    """Options of `hedgerow predict`."""

    model: Model
    data: Data
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Output file: .csv, .tsv, .jsonl, .parquet, .feather or .xlsx; CSV on standard output by default.",
        ),
    ] = None
    id: Annotated[str | None, typer.Option(metavar="COLUMN", help="Column with row names; copied to the output.")] = (
        None
    )
    target: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column with true targets; copied to the output.")
    ] = None
    keep: Annotated[
        tuple[str, ...], typer.Option(metavar="COLUMN", help="Column to copy to the output; repeatable.")
    ] = ()
    keep_all: Annotated[bool, typer.Option("--keep-all", help="Copy all columns to the output.")] = False
    times: Annotated[
        str | None, typer.Option(metavar="LIST", help="Times of survival probabilities, such as 30,90,365.")
    ] = None
    costs: CostsFile = None
    prefix: Annotated[str, typer.Option(metavar="TEXT", help="Prefix for the names of prediction columns.")] = ""
    raw: Annotated[
        bool, typer.Option("--raw", help="In CSV, do not put an apostrophe before text that resembles a formula.")
    ] = False
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON lines, one object per row.")] = False


@dataclass(frozen=True, kw_only=True)
class EvaluateOptions(EventOptions, IntervalOptions, OutputOptions):
    """Options of `hedgerow evaluate`."""

    model: Model
    data: Data
    target: Annotated[str, typer.Option("--target", "--time", metavar="COLUMN", help="Column with true targets.")]
    by: By = ()
    groups: GroupsJudged = None
    positive: Annotated[
        str | None, typer.Option(metavar="CLASS", help="Positive class of a binary model; the rarer one by default.")
    ] = None
    costs: CostsFile = None


@dataclass(frozen=True, kw_only=True)
class ExplainOptions(EventOptions, ModelOptions, WriteOptions):
    """Options of `hedgerow explain`."""

    model: Model
    data: Data
    rows: Annotated[
        tuple[str, ...],
        typer.Option(
            "--row",
            metavar="ROW",
            help="Row to explain: number from 1, or with --id a value of that column; repeatable.",
        ),
    ] = ()
    id: Id = None
    train: Train = None
    target: Annotated[
        str | None, typer.Option("--target", "--time", metavar="COLUMN", help="Target column, in --train and in DATA.")
    ] = None
    at: At = None
    cases: Annotated[int, typer.Option(min=0, metavar="NUMBER", help="Number of nearest training cases to show.")] = 5
    immutable: Immutable = ()
    increasing: Annotated[
        tuple[str, ...],
        typer.Option(metavar="COLUMN", help="Column that counterfactuals may only increase; repeatable."),
    ] = ()
    decreasing: Annotated[
        tuple[str, ...],
        typer.Option(metavar="COLUMN", help="Column that counterfactuals may only decrease; repeatable."),
    ] = ()
    wanted: Annotated[
        str | None, typer.Option(metavar="CLASS", help="Class that counterfactuals should lead to; any by default.")
    ] = None
    seconds: Annotated[
        float,
        typer.Option(min=0, metavar="NUMBER", help="Seconds to search for a counterfactual of each row; 0 for none."),
    ] = 5.0
    html: Annotated[str | None, typer.Option(metavar="FILE", help="Write an HTML page instead of text.")] = None


@dataclass(frozen=True, kw_only=True)
class ReportOptions(EventOptions, ModelOptions, WriteOptions):
    """Options of `hedgerow report`."""

    model: Model
    data: Data
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="FILE", help="HTML file to write, or - for standard output.")
    ]
    target: Annotated[
        str | None,
        typer.Option(
            "--target",
            "--time",
            metavar="COLUMN",
            help="Column with true targets; detected if only one column qualifies.",
        ),
    ] = None
    at: At = None
    id: Id = None
    groups: GroupsCounted = None
    title: Annotated[str | None, typer.Option(metavar="TEXT", help="Title of the report.")] = None
    train: Train = None
    cases: Annotated[
        Literal["some", "all"], typer.Option(help="Cases to explain: the 100 most uncertain and a sample, or all.")
    ] = "some"
    seconds: Annotated[
        float,
        typer.Option(min=0, metavar="NUMBER", help="Seconds to search for counterfactuals of all rows; 0 for none."),
    ] = 5.0
    immutable: Immutable = ()
    labels: Labels = None
    by: By = ()
    costs: CostsFile = None
    coverage: Annotated[
        float | None,
        typer.Option(min=0, max=1, metavar="SHARE", help="Target coverage of regression intervals; 0.9 by default."),
    ] = None
    as_json: Annotated[bool, typer.Option("--json", help="Print metrics as JSON on standard output.")] = False


@dataclass(frozen=True, kw_only=True)
class LearnOptions(ReadOptions, WriteOptions):
    """Options of `hedgerow learn`."""

    model: Model
    answers: Annotated[str, typer.Argument(metavar="ANSWERS", help="File of labels saved from a report.")]
    data: Annotated[tuple[str, ...], typer.Argument(metavar="DATA", help="Table of the report.")]
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="FILE", help="Model file to write, or - for standard output.")
    ]
    groups: GroupsLearned = None
    allow_missing_columns: AllowMissing = False


@dataclass(frozen=True, kw_only=True)
class SuggestOptions(ModelOptions, WriteOptions):
    """Options of `hedgerow suggest`."""

    model: Model
    data: Data
    number: Annotated[int, typer.Option("--number", "-n", min=1, metavar="NUMBER", help="Number of rows to list.")] = 20
    id: Id = None


@dataclass(frozen=True, kw_only=True)
class MonitorOptions(ModelOptions, WriteOptions):
    """Options of `hedgerow monitor`."""

    model: Model
    data: Data
    reference: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Earlier rows to compare with instead of the training rows; must not include them."
        ),
    ] = None
    groups: GroupsJudged = None
    level: Annotated[
        float,
        typer.Option(
            min=0, max=1, metavar="SHARE", help="False-alarm rate: share of ordinary tables that are flagged."
        ),
    ] = 0.05
    html: Annotated[str | None, typer.Option(metavar="FILE", help="Write an HTML page too.")] = None


@dataclass(frozen=True, kw_only=True)
class DemoOptions(WriteOptions):
    """Options of `hedgerow demo`."""

    seed: Annotated[int, typer.Option(help="Seed of the forest and the train-test split.")] = 0
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="FILE", help="Report to write; --notebook uses the same name.")
    ] = "hedgerow-demo.html"
    notebook: Annotated[bool, typer.Option("--notebook", help="Write a Jupyter notebook of the demo too.")] = False


@dataclass(frozen=True, kw_only=True)
class ReproduceOptions(WriteOptions):
    """Options of `hedgerow reproduce`."""

    paper: Annotated[str, typer.Argument(help="zhang-2021, busch-2021, sutton-2012 or lectures.")]
    study: Annotated[str | None, typer.Option(help="Extension of a paper: forests, for busch-2021.")] = None
    quick: Annotated[bool, typer.Option("--quick", help="Run a short version, under two minutes on two cores.")] = False
    out: Annotated[Path | None, typer.Option(help="Folder for the report, plots and intermediate results.")] = None
    data: Annotated[
        Path | None, typer.Option(help="Folder of data sets; HEDGEROW_DATA, the cache or a download by default.")
    ] = None
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON on standard output.")] = False
    jobs: Annotated[int, typer.Option(help="Number of processes; -1 for one per core.")] = -1
