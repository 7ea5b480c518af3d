"""Command line: words in a terminal -> the options of a command, which then runs in its own module.

This module imports only what ``hedgerow --help`` needs.
"""

from __future__ import annotations

import sys
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Literal

import typer

app = typer.Typer(
    name="hedgerow",
    help="Decision-tree ensembles that know when they do not know.",
    epilog="Exit codes: 0 success, 1 failure, 2 usage, 3 bad data, 4 unsafe or corrupt model.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

Json = Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")]
Force = Annotated[
    bool, typer.Option("--force", help="Replace a file of another kind; what the command reads is never replaced.")
]
Model = Annotated[str, typer.Argument(metavar="MODEL", help="Model file, or - for standard input.")]
Data = Annotated[str, typer.Argument(metavar="DATA", help="CSV, Parquet or Arrow file, or - for standard input.")]
DataFiles = Annotated[
    list[str],
    typer.Argument(metavar="DATA", help="CSV, Parquet or Arrow file, or - for standard input; several with --dask."),
]
Dask = Annotated[
    str | None,
    typer.Option(
        metavar="[ADDRESS]", help="Work on the Dask cluster of this scheduler; without an address, on this machine."
    ),
]
Missing = Annotated[
    list[str] | None,
    typer.Option(metavar="TEXT", help="Text that stands for a missing value, besides the usual texts; repeatable."),
]
Rule = Annotated[
    str | None, typer.Option(metavar="NAME", help="Use this rule instead of the model's; nothing is refitted.")
]
Caution = Annotated[
    str | None, typer.Option(metavar="NUMBER", help="Use this caution, a number >= 0, instead of the model's.")
]
Decision = Annotated[str | None, typer.Option(metavar="NAME", help="Use this decision instead of the model's.")]
Coverage = Annotated[
    float | None,
    typer.Option(min=0, max=1, metavar="SHARE", help="Share of targets that intervals of a regression hold; 0.9."),
]


def _print_version(wanted: bool) -> None:
    if wanted:
        from hedgerow import __version__

        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _hedgerow(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Decision-tree ensembles that know when they do not know."""


@app.command()
def demo(
    seed: Annotated[int, typer.Option(help="Seed of the forest and of the split of the data.")] = 0, json: Json = False
) -> None:
    """Fit a forest to the breast-cancer data that scikit-learn ships, and look at the doubtful cases."""
    from hedgerow.commands.demo import run_demo
    from hedgerow.commands.outcome import run

    raise typer.Exit(run(lambda: run_demo(seed, as_json=json)))


@app.command()
def fit(
    data: DataFiles,
    target: Annotated[
        str, typer.Option(metavar="COLUMN", help="Column with the classes, or with the targets of a regression.")
    ],
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="FILE", help="Model file to write, or - for standard output.")
    ],
    model: Annotated[
        Literal["forest", "extra", "tree", "random-decision"],
        typer.Option(metavar="KIND", help="What to grow: forest, extra, tree or random-decision."),
    ] = "forest",
    regression: Annotated[bool, typer.Option("--regression", help="The target is a number, not a class.")] = False,
    trees: Annotated[int | None, typer.Option(min=1, metavar="NUMBER", help="Number of trees; 100 by default.")] = None,
    caution: Annotated[
        str,
        typer.Option(metavar="NUMBER", help="Unseen rows each leaf keeps in reserve; auto: chosen on out-of-bag rows."),
    ] = "1.0",
    rule: Annotated[
        str, typer.Option(metavar="NAME", help="How the leaves are combined: average, belief, dempster, eva …")
    ] = "average",
    decision: Annotated[
        str, typer.Option(metavar="NAME", help="Which classes remain: dominance, maximality, u65, coverage …")
    ] = "auto",
    leaf_counts: Annotated[
        Literal["all", "inbag", "distinct", "oob"] | None,
        typer.Option(metavar="WHICH", help="Rows a leaf counts: all, inbag, distinct or oob; all by default."),
    ] = None,
    max_bins: Annotated[str, typer.Option(metavar="NUMBER", help="Most bins of a column; auto, or all.")] = "auto",
    seed: Annotated[
        int, typer.Option(min=0, max=2**32 - 1, metavar="NUMBER", help="The same seed gives the same model file.")
    ] = 0,
    jobs: Annotated[int, typer.Option(metavar="NUMBER", help="Threads; -1 for all cores.")] = -1,
    drop: Annotated[list[str] | None, typer.Option(metavar="COLUMN", help="Column to leave out; repeatable.")] = None,
    id: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column that names the rows; it is left out.")
    ] = None,
    nominal: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Column to treat as categories even if it holds numbers; repeatable."),
    ] = None,
    missing: Missing = None,
    checkpoint: Annotated[
        str | None,
        typer.Option(metavar="FOLDER", help="Save trees as they grow, so that the same command can continue later."),
    ] = None,
    dask: Dask = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Fit a model to a table, and save it."""
    from hedgerow.commands.fit import FitOptions
    from hedgerow.commands.fit import fit as run_fit
    from hedgerow.commands.outcome import run

    options = FitOptions(
        data=data[0],
        target=target,
        out=out,
        model=model,
        regression=regression,
        trees=trees,
        caution=caution,
        rule=rule,
        decision=decision,
        leaf_counts=leaf_counts,
        max_bins=max_bins,
        seed=seed,
        jobs=jobs,
        drop=tuple(drop or ()),
        id=id,
        nominal=tuple(nominal or ()),
        missing=tuple(missing or ()),
        checkpoint=checkpoint,
        force=force,
        as_json=json,
    )
    if dask is not None:
        from hedgerow.commands.cluster import fit_on_cluster

        raise typer.Exit(run(lambda: fit_on_cluster(options, data, dask)))
    _require_one(data)
    raise typer.Exit(run(lambda: run_fit(options)))


@app.command()
def predict(
    model: Model,
    data: DataFiles,
    out: Annotated[
        str | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="File to write, Parquet if so named; standard output by default."
        ),
    ] = None,
    id: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column that names the rows; copied to the front.")
    ] = None,
    target: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column with the true classes; copied to the front.")
    ] = None,
    keep: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="Another column to keep; repeatable.")
    ] = None,
    keep_all: Annotated[bool, typer.Option("--keep-all", help="Keep all columns.")] = False,
    rule: Rule = None,
    caution: Caution = None,
    decision: Decision = None,
    coverage: Coverage = None,
    prefix: Annotated[str, typer.Option(metavar="TEXT", help="Text to put before the names of the answers.")] = "",
    raw: Annotated[
        bool, typer.Option("--raw", help="In CSV, put no apostrophe before text that begins like a formula.")
    ] = False,
    missing: Missing = None,
    dask: Dask = None,
    force: Force = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON object per row and line.")] = False,
) -> None:
    """Write label, set, bounds and uncertainty of each row of a table, as CSV, JSON lines or Parquet."""
    from hedgerow.commands.outcome import run
    from hedgerow.commands.predict import PredictOptions
    from hedgerow.commands.predict import predict as run_predict

    options = PredictOptions(
        model=model,
        data=data[0],
        out=out,
        id=id,
        target=target,
        keep=tuple(keep or ()),
        keep_all=keep_all,
        rule=rule,
        caution=caution,
        decision=decision,
        coverage=coverage,
        prefix=prefix,
        raw=raw,
        missing=tuple(missing or ()),
        force=force,
        as_json=json,
    )
    if dask is not None:
        from hedgerow.commands.cluster import predict_on_cluster

        raise typer.Exit(run(lambda: predict_on_cluster(options, data, dask)))
    _require_one(data)
    raise typer.Exit(run(lambda: run_predict(options)))


@app.command()
def evaluate(
    model: Model,
    data: DataFiles,
    target: Annotated[str, typer.Option(metavar="COLUMN", help="Column with the true classes or targets.")],
    rule: Rule = None,
    caution: Caution = None,
    decision: Decision = None,
    coverage: Coverage = None,
    missing: Missing = None,
    dask: Dask = None,
    json: Json = False,
) -> None:
    """Measure how good a model's labels and sets are on a table with known classes."""
    from hedgerow.commands.evaluate import EvaluateOptions
    from hedgerow.commands.evaluate import evaluate as run_evaluate
    from hedgerow.commands.outcome import run

    options = EvaluateOptions(model, data[0], target, rule, caution, decision, coverage, tuple(missing or ()), json)
    if dask is not None:
        from hedgerow.commands.cluster import evaluate_on_cluster

        raise typer.Exit(run(lambda: evaluate_on_cluster(options, data, dask)))
    _require_one(data)
    raise typer.Exit(run(lambda: run_evaluate(options)))


@app.command()
def explain(
    model: Model,
    data: Data,
    row: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ROW",
            help="Row to explain: its number from 1 or, with --id, a value of that column; repeatable.",
        ),
    ] = None,
    id: Annotated[str | None, typer.Option(metavar="COLUMN", help="Column that names the rows.")] = None,
    train: Annotated[
        str | None, typer.Option(metavar="FILE", help="The table the model was fitted to, to show the nearest cases.")
    ] = None,
    target: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column with the classes, in --train and in DATA.")
    ] = None,
    cases: Annotated[int, typer.Option(min=0, metavar="NUMBER", help="How many nearest cases to show.")] = 5,
    immutable: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Column the smallest change must not change; repeatable."),
    ] = None,
    increasing: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Column the smallest change may only raise; repeatable."),
    ] = None,
    decreasing: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Column the smallest change may only lower; repeatable."),
    ] = None,
    wanted: Annotated[
        str | None, typer.Option(metavar="CLASS", help="Class the smallest change should lead to; by default any.")
    ] = None,
    seconds: Annotated[
        float,
        typer.Option(min=0, metavar="NUMBER", help="Time to search for the smallest change of a row; 0: no search."),
    ] = 5.0,
    html: Annotated[str | None, typer.Option(metavar="FILE", help="Write a page instead of text.")] = None,
    rule: Rule = None,
    caution: Caution = None,
    decision: Decision = None,
    missing: Missing = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Explain why a row is undecided and what would settle it; without --row, list all undecided rows."""
    from hedgerow.commands.explain import ExplainOptions
    from hedgerow.commands.explain import explain as run_explain
    from hedgerow.commands.outcome import run

    options = ExplainOptions(
        model=model,
        data=data,
        rows=tuple(row or ()),
        id=id,
        train=train,
        target=target,
        cases=cases,
        immutable=tuple(immutable or ()),
        increasing=tuple(increasing or ()),
        decreasing=tuple(decreasing or ()),
        wanted=wanted,
        seconds=seconds,
        html=html,
        rule=rule,
        caution=caution,
        decision=decision,
        missing=tuple(missing or ()),
        force=force,
        as_json=json,
    )
    raise typer.Exit(run(lambda: run_explain(options)))


@app.command()
def report(
    model: Model,
    data: Data,
    out: Annotated[str, typer.Option("--out", "-o", metavar="FILE", help="Page to write, or - for standard output.")],
    target: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column with the true classes; not needed if only one column fits."),
    ] = None,
    id: Annotated[str | None, typer.Option(metavar="COLUMN", help="Column that names the rows.")] = None,
    title: Annotated[str | None, typer.Option(metavar="TEXT", help="Headline of the page.")] = None,
    train: Annotated[
        str | None, typer.Option(metavar="FILE", help="The table the model was fitted to, to show the nearest cases.")
    ] = None,
    cases: Annotated[
        Literal["some", "all"], typer.Option(help="Explain the hundred most doubtful and some of each place, or all.")
    ] = "some",
    seconds: Annotated[
        float,
        typer.Option(min=0, metavar="NUMBER", help="Time to search for smallest changes of all rows; 0: no search."),
    ] = 5.0,
    rule: Rule = None,
    caution: Caution = None,
    decision: Decision = None,
    missing: Missing = None,
    force: Force = False,
    json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON on standard output.")] = False,
) -> None:
    """Write one page to e-mail: metrics, where the undecided cases are, and sliders. It needs no network."""
    from hedgerow.commands.outcome import run
    from hedgerow.commands.report import ReportOptions
    from hedgerow.commands.report import report as run_report

    options = ReportOptions(
        model=model,
        data=data,
        out=out,
        target=target,
        id=id,
        title=title,
        train=train,
        cases=cases,
        seconds=seconds,
        rule=rule,
        caution=caution,
        decision=decision,
        missing=tuple(missing or ()),
        force=force,
        as_json=json,
    )
    raise typer.Exit(run(lambda: run_report(options)))


@app.command()
def inspect(model: Model, json: Json = False) -> None:
    """Show features, classes, parameters, sizes and versions of a model file, without reading its trees."""
    from hedgerow.commands.inspect import inspect as run_inspect
    from hedgerow.commands.outcome import run

    raise typer.Exit(run(lambda: run_inspect(model, as_json=json)))


@app.command()
def verify(model: Model, json: Json = False) -> None:
    """Check all of a model file; if it is not sound, say why and exit with code 4."""
    from hedgerow.commands.outcome import run
    from hedgerow.commands.verify import verify as run_verify

    raise typer.Exit(run(lambda: run_verify(model, as_json=json)))


@app.command()
def reproduce(
    paper: Annotated[str, typer.Argument(help="zhang-2021, busch-2021 or sutton-2012.")],
    quick: Annotated[bool, typer.Option("--quick", help="A first result, in under two minutes on two cores.")] = False,
    out: Annotated[Path | None, typer.Option(help="Folder for report, figures and finished parts.")] = None,
    data: Annotated[
        Path | None, typer.Option(help="Folder of data sets; by default HEDGEROW_DATA, the cache, or a download.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the report as JSON on standard output.")] = False,
    jobs: Annotated[int, typer.Option(help="Processes; -1 for one per core.")] = -1,
    force: Force = False,
) -> None:
    """Repeat the experiments of a paper: its tables and figures beside ours, and a verdict."""
    from hedgerow.commands.outcome import run
    from hedgerow.commands.reproduce import reproduce as run_reproduce

    folder = out or Path(paper)
    raise typer.Exit(
        run(lambda: run_reproduce(paper, folder, quick=quick, data=data, force=force, as_json=json, jobs=jobs))
    )


def _require_one(data: list[str]) -> None:
    """Refuse several files without a cluster."""
    if len(data) > 1:
        raise typer.BadParameter(f"DATA must be one file without --dask, got {len(data)}; join them or use --dask")


def _with_address(words: list[str]) -> list[str]:
    """Add ``local`` to a --dask without an address: a cluster on this machine."""
    result = []
    for word, following in zip_longest(words, words[1:], fillvalue=""):
        result.append(word)
        if word == "--dask" and "://" not in following and following != "local":
            result.append("local")
    return result


def main() -> None:
    """Entry point of the ``hedgerow`` command."""
    from hedgerow.commands.outcome import enter

    sys.exit(enter(app, _with_address(sys.argv[1:])))
