"""Fit: a table with labels -> a model file, and how well the model does on rows its trees have not seen."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hedgerow.commands.kind import FEW_ROWS, Kind
from hedgerow.commands.kinds import kind_for
from hedgerow.commands.match import checked_caution, checked_decision, checked_rule
from hedgerow.commands.outcome import DataError, UsageError
from hedgerow.commands.paths import MODEL, check_folder, check_out
from hedgerow.commands.sheet import Array, Sheet
from hedgerow.commands.source import STDIN, read_sheet
from hedgerow.commands.talk import facts, listed, number_of, say, show, write_json
from hedgerow.errors import CheckpointError
from hedgerow.exchange.files.parameters import MAX_THREADS
from hedgerow.fit.checkpoint import Checkpoint
from hedgerow.fit.fields import Parameter, parameters_of
from hedgerow.fit.settings import how_to_bin
from hedgerow.forest.threads import thread_count
from hedgerow.table import Factors
from hedgerow.table.binned import BinnedTable, bin_columns
from hedgerow.table.bins import MAX_BINS, MOST_BINS

#: A nominal column with more categories than this share of its rows probably names the rows.
NAMES_ROWS = 0.5


#: The class of each --model, without Classifier or Regressor.
_MODELS = {
    "forest": "RandomForest",
    "extra": "ExtraTrees",
    "tree": "DecisionTree",
    "random-decision": "RandomDecisionTrees",
}
#: Options that only some models have: option, field of `FitOptions`, parameter of the estimator.
_OPTIONS = (
    ("--trees", "trees", "n_estimators"),
    ("--caution", "caution", "caution"),
    ("--rule", "rule", "rule"),
    ("--decision", "decision", "decision"),
    ("--leaf-counts", "leaf_counts", "leaf_counts"),
    ("--max-bins", "max_bins", "max_bins"),
)


@dataclass(frozen=True)
class FitOptions:
    """What `hedgerow fit` was asked."""

    data: str
    target: str
    out: str
    model: str = "forest"
    regression: bool = False
    trees: int | None = None
    caution: str = "1.0"
    rule: str = "average"
    decision: str = "auto"
    leaf_counts: str | None = None
    max_bins: str = "auto"
    seed: int = 0
    jobs: int = -1
    drop: tuple[str, ...] = ()
    id: str | None = None
    nominal: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    checkpoint: str | None = None
    force: bool = False
    as_json: bool = False


def fit(options: FitOptions) -> None:
    """Read, fit, save, report."""
    estimator = estimator_for(options)
    check_output(options, [options.data])
    _check_checkpoint(options)
    sheet = read_sheet(options.data, options.missing)
    table, cells = _binned(sheet, options, estimator)
    kind = kind_for(options.regression)
    y = kind.read_target(sheet, options.target)
    del sheet
    _look_at_target(y, options)
    start = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The number of unique classes")  # `_look_at_target` has said so
            estimator.fit(table, y, checkpoint=options.checkpoint)
    except CheckpointError as reason:
        raise UsageError(f"--{reason}") from None
    except ValueError as reason:  # the options have been checked, so the data are wrong
        raise DataError(str(reason)) from None
    seconds = time.perf_counter() - start
    if estimator.verbose:
        estimator.set_params(verbose=0)
    report = _report(estimator, cells, y) | kind.summary(estimator, y)
    report |= {"seconds": round(seconds, 3), "model": options.out}
    save_model(estimator, options.out)
    if options.as_json:
        write_json(report)
    else:
        show(_facts(report, kind), stderr=options.out == STDIN)


def estimator_for(options: FitOptions) -> Any:
    """Options -> estimator; options that contradict each other are refused."""
    if options.jobs == 0 or abs(options.jobs) > MAX_THREADS:
        raise UsageError(f"--jobs must be 1 to {MAX_THREADS}, got {options.jobs}; -1 uses all cores")
    model = _type_of(options)
    rows = parameters_of(model)
    told = _told(options, model.__name__, rows)
    given = {"n_jobs": options.jobs, "random_state": options.seed, "verbose": 1} | told
    estimator = model(**{name: value for name, value in given.items() if name in rows})
    if estimator.bootstrap:
        return estimator.set_params(**kind_for(options.regression).asked_of_bags)
    for option, _, name in _OPTIONS:
        if name in told and (rows[name].needs_bags(told[name]) or rows[name].needs_rows(told[name])):
            raise UsageError(
                f"{option} {told[name]} must be used with --model forest, got {options.model};"
                " it needs rows that trees have not seen"
            )
    return estimator


def _type_of(options: FitOptions) -> Any:
    """Options -> the class of the model."""
    import hedgerow

    name = _MODELS[options.model] + kind_for(options.regression).suffix
    if name not in hedgerow.__all__:
        raise UsageError(f"--model must be forest, extra or tree with --regression, got {options.model}; choose one")
    return getattr(hedgerow, name)


def _told(options: FitOptions, model: str, rows: dict[str, Parameter]) -> dict[str, Any]:
    """Options other than the defaults -> parameters; options that the model does not have are refused."""
    plain, told = FitOptions("", "", ""), {}
    for option, asked, name in _OPTIONS:
        value = getattr(options, asked)
        if value == getattr(plain, asked):
            continue
        if name not in rows:
            raise UsageError(f"{option} must not be used with a {model}, got {value!r}; leave it out")
        if name == "caution":
            value = checked_caution(value, auto=rows[name].needs_bags("auto"))
        elif name == "rule":
            checked_rule(value)
        elif name == "decision":
            checked_decision(value)
        elif name == "max_bins":
            value = _checked_bins(value)
        told[name] = value
    return told


def _checked_bins(text: str) -> int | None:
    """Text -> the most bins of a column; None for all, which is as many as two bytes can tell apart."""
    if text == "all":
        return None
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 9 else 0
    if not MAX_BINS <= number <= MOST_BINS:
        raise UsageError(f"--max-bins must be a number from {MAX_BINS} to {MOST_BINS}, 'auto' or 'all', got {text!r}")
    return number


def check_output(options: FitOptions, data: list[str]) -> None:
    """Refuse an output that cannot work or would replace an input, before anything is read."""
    check_out(options.out, MODEL, [*data, options.checkpoint], force=options.force)
    if options.out != STDIN:
        return
    if options.as_json:
        raise UsageError("--out must be a file with --json, got - for standard output; the figures go there")
    if sys.stdout.isatty():
        raise UsageError("standard output must be a file or a pipe for a model, got a terminal; use > or |")


def _check_checkpoint(options: FitOptions) -> None:
    """Refuse a folder that is not for trees, or that holds the table, before anything is read."""
    if options.checkpoint is None:
        return
    check_folder(options.checkpoint, [options.data], "--checkpoint")
    try:
        Checkpoint(options.checkpoint)
    except CheckpointError as reason:
        raise UsageError(f"--{reason}") from None


@dataclass
class _Cells:
    """What the report says of the columns that have been read."""

    nominal: list[bool] = field(default_factory=list)
    gaps: list[int] = field(default_factory=list)


def _binned(sheet: Sheet, options: FitOptions, estimator: Any) -> tuple[BinnedTable, _Cells]:
    """All columns to learn from -> codes and counts; a column is forgotten when the next one is read."""
    names, cells = _features(sheet, options), _Cells()

    def columns() -> Iterator[Array | Factors]:
        for name in names:
            column = sheet.column(name, nominal=True if name in options.nominal else None)
            sheet.forget(name)
            _look_at_feature(name, column, sheet.n_rows)
            cells.nominal.append(isinstance(column, Factors))
            cells.gaps.append(_n_missing(column))
            yield column
            del column

    n_threads = thread_count(estimator.n_jobs)
    try:
        table = bin_columns(names, columns(), sheet.n_rows, **how_to_bin(estimator), n_threads=n_threads)
    except ValueError as reason:  # the options have been checked, so the data are wrong
        raise DataError(str(reason)) from None
    return table, cells


def _features(sheet: Sheet, options: FitOptions) -> tuple[str, ...]:
    """The names of all columns except the target, the id and those to drop; they are read together."""
    sheet.require(options.target, "--target")
    others = [("--id", options.id)] if options.id else []
    for option, name in [*others, *(("--drop", each) for each in options.drop)]:
        sheet.require(name, option)
    for name in options.nominal:
        sheet.require(name, "--nominal")
    left = {options.target, options.id, *options.drop}
    names = tuple(name for name in sheet.names if name not in left)
    if not names:
        raise DataError(
            f"the table must have a column to learn from besides {listed(filter(None, left))}, got none; drop fewer"
        )
    as_text = [*options.nominal, *([] if options.regression else [options.target])]
    sheet.prepare([*names, options.target], as_text)
    return names


def _look_at_feature(name: str, column: Array | Factors, n_rows: int) -> None:
    """Warn about a column that seems to name or number the rows."""
    if isinstance(column, Factors):
        if len(column.values) > max(FEW_ROWS, NAMES_ROWS * n_rows):
            said = (
                f"column {name!r} has {len(column.values):,} different texts in {n_rows:,} rows; if it names the rows"
            )
            say(f"warning: {said}, leave it out with --drop or --id", style="bold yellow")
        return
    if n_rows > FEW_ROWS and column.dtype.kind in "fiu" and (np.diff(column) > 0).all() and (column % 1 == 0).all():
        said = f"column {name!r} holds whole numbers that rise from row to row; if it numbers the rows"
        say(f"warning: {said}, leave it out with --drop or --id", style="bold yellow")


def _look_at_target(y: Array, options: FitOptions) -> None:
    """Warn about a target from which nothing sensible can be learned."""
    if len(np.unique(y)) == 1:
        said = f"target {options.target!r} has the same value in every row, so nothing can be learned"
        say(f"warning: {said}; was the table filtered?", style="bold yellow")
    else:
        kind_for(options.regression).look_at_target(y, options.target)


def save_model(estimator: Any, out: str) -> None:
    """Write the model to a file, or to standard output for ``-``."""
    from hedgerow.exchange.files import save

    try:
        save(estimator, sys.stdout.buffer if out == STDIN else out)
    except ValueError as reason:  # labels or names are longer than a file allows
        raise DataError(str(reason)) from None
    sys.stdout.buffer.flush()


def _report(estimator: Any, cells: _Cells, y: Array) -> dict[str, Any]:
    """A fitted model, the counts of its table and its target -> what the command reports."""
    nominal, gaps = cells.nominal, cells.gaps
    return {
        "rows": len(y),
        "features": {
            "all": len(nominal),
            "numeric": nominal.count(False),
            "nominal": nominal.count(True),
            "with_missing": sum(gap > 0 for gap in gaps),
        },
        "missing_cells": sum(gaps),
        "estimator": type(estimator).__name__,
        "trees": estimator.forest_.n_trees,
    }


def _n_missing(column: Array | Factors) -> int:
    """A column -> cells without a value."""
    if isinstance(column, Factors):
        return int((column.codes < 0).sum())
    return int(np.isnan(column).sum()) if column.dtype.kind == "f" else 0


def _facts(report: dict[str, Any], kind: Kind) -> Any:
    """Figures -> the table people read."""
    features, outside = report["features"], report["out_of_bag"]
    gaps = f"; {number_of(report['missing_cells'], 'cell')} missing in {features['with_missing']:,}"
    rows = [
        ("rows", f"{report['rows']:,}"),
        (
            "features",
            f"{features['all']:,}: {features['numeric']:,} numeric, {features['nominal']:,} nominal"
            + (gaps if report["missing_cells"] else "; nothing missing"),
        ),
        kind.target_fact(report),
        ("model", f"{report['estimator']}, {number_of(report['trees'], 'tree')} in {report['seconds']:.2f} s"),
        ("", kind.opinion_fact(report)),
    ]
    if outside is None:
        rows.append(("out of bag", "– (every tree has seen every row; use hedgerow evaluate with other rows)"))
    else:
        rows += kind.score_facts(outside)
    return facts([*rows, ("saved to", "standard output" if report["model"] == STDIN else report["model"])])
