"""`hedgerow fit`: model files, and out-of-bag and held-out metrics."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from hedgerow.cli.console import collected_notes, facts, note, show, warn, write_json
from hedgerow.cli.evaluation import group_numbers
from hedgerow.cli.exit_codes import DataError, UsageError
from hedgerow.cli.files.csv import UNNAMED
from hedgerow.cli.files.paths import MODEL, STREAM, check_folder, check_out
from hedgerow.cli.files.sheet import Array, Sheet
from hedgerow.cli.files.source import read_sheet
from hedgerow.cli.files.values import POINT, groups_thousands, is_gap, known_places, may_group_thousands
from hedgerow.cli.files.views import labelled_rows
from hedgerow.cli.match import (
    checked_caution,
    checked_decision,
    checked_rule,
    columns_named,
    columns_of,
    held_out,
    refitted,
    with_columns,
)
from hedgerow.cli.models import read_target, remember, require_target, target_columns
from hedgerow.cli.options import CompareOptions, FitOptions, inputs_of
from hedgerow.errors import CheckpointError
from hedgerow.explain.presenters import presenter_for
from hedgerow.explain.presenters.base import Fact, FitSummary
from hedgerow.fit.checkpoint import Checkpoint
from hedgerow.inference.notices import share_explained
from hedgerow.inference.predictor import predictor_of
from hedgerow.metrics.tally import add_tallies
from hedgerow.params.checks import parameters_of
from hedgerow.params.resolve import how_to_bin
from hedgerow.params.table import Parameter
from hedgerow.storage.parameters import MAX_THREADS
from hedgerow.table import Factors
from hedgerow.table.binned import BinnedTable, bin_columns
from hedgerow.table.bins import MAX_BINS, MOST_BINS, PARTS
from hedgerow.util.runtime import thread_count
from hedgerow.util.text import in_groups, listed, number_of

if TYPE_CHECKING:
    from rich.table import Table

    from hedgerow.estimators.supervised import SupervisedTrees

#: A categorical column with more categories than this share of its rows probably identifies the rows.
NAMES_ROWS = 0.5
#: Measured integers repeat in this many rows.
MANY_ROWS = 100
#: Distinct values in every row are not suspicious in a smaller table.
FEW_ROWS = 20
#: A target with more distinct numbers than this share of its rows is probably continuous.
NUMBERS_ROWS = 0.1
#: Share of the error, or of the variance, that a column which gives the target away explains alone. In public tables
#: it is at most 0.97 and 0.985.
LEAK, LEAK_OF_NUMBERS = 0.98, 0.995
#: Leaks are looked for in about this many rows, spread over the table.
LEAK_ROWS = 10_000
#: A class with fewer rows is suspicious; maximum number of such classes named.
RARE_ROWS, MOST_RARE = 3, 5
#: Larger integers are not exact in floating point.
EXACT = 2**53


#: Class names of --model, without the suffix Classifier or Regressor.
_MODELS = {
    "forest": "RandomForest",
    "mixed": "MixedForest",
    "extra": "ExtraTrees",
    "tree": "DecisionTree",
    "random-decision": "RandomDecisionTrees",
}
#: Fields of `FitOptions` that only some models support -> parameters of the estimator.
_PARAMETERS = {
    "trees": "n_estimators",
    "caution": "caution",
    "rule": "rule",
    "decision": "decision",
    "leaf_counts": "leaf_counts",
    "max_bins": "max_bins",
    "immutable": "immutable_features",
}


def fit(options: FitOptions, then: Callable[[SupervisedTrees], dict[str, Any]] | None = None) -> None:
    """Fit a model, save it and print a summary.

    `then` may change the fitted model; its result is added to the JSON report.
    """
    estimator = estimator_for(options)
    check_output(options)
    _check_checkpoint(options)
    sheet = read_sheet(options.data, options)
    options = with_columns(options, sheet.names)
    presenter = presenter_for(options)
    if options.skip_unlabelled:
        sheet = labelled_rows(sheet, require_target(sheet, presenter, options)[0])
    table, cells = _binned(sheet, options, estimator)
    y = read_target(presenter, sheet, target_columns(presenter, options))
    groups = groups_of(sheet, options)
    estimator.set_params(**_class_weight(estimator, options, y), **_immutable(options, table))
    held_out, held_out_scores = _held_out(estimator, sheet, options, y, groups)
    units = sheet.units
    del sheet
    _look_at_target(y, options)
    _look_for_leaks(table, y, options)
    start = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The number of unique classes")  # `_look_at_target` warns about it
            given = {} if groups is None else {"groups": groups}
            estimator.fit(table, y, checkpoint=options.checkpoint, **given)
    except CheckpointError as reason:
        raise UsageError(f"--{reason}") from None
    except ValueError as reason:  # the options are valid by now, so the data are at fault
        raise DataError(str(reason)) from None
    seconds = time.perf_counter() - start
    if estimator.verbose:
        estimator.set_params(verbose=0)
    more = {} if then is None else then(estimator)
    summary = presenter.summary(estimator, y)
    report = _report(estimator, cells, y, groups) | summary.values | held_out | more
    report |= {"seconds": round(seconds, 3), "model": options.out}
    remember(estimator, options, units)
    save_model(estimator, options.out)
    if options.as_json:
        write_json(report)
    else:
        show(_facts(report, summary, held_out_scores), stderr=options.out == STREAM)


def estimator_for(options: FitOptions) -> SupervisedTrees:
    """Return the unfitted estimator; raise `UsageError` for contradictory options."""
    if options.jobs == 0 or abs(options.jobs) > MAX_THREADS:
        raise UsageError(f"--jobs must be from 1 to {MAX_THREADS}, or -1 for all cores, got {options.jobs}.")
    model = _type_of(options)
    rows = parameters_of(model)
    params = _params(options, model.__name__, rows)
    given = {"n_jobs": options.jobs, "random_state": options.seed, "verbose": 1} | params
    estimator = model(**{name: value for name, value in given.items() if name in rows})
    if estimator.bootstrap:
        estimator.set_params(**presenter_for(options).oob_params)
        return estimator
    for field_name, name in _PARAMETERS.items():
        if name in params and (rows[name].needs_bags(params[name]) or rows[name].needs_rows(params[name])):
            raise UsageError(
                f"{_option(field_name)} {params[name]} requires out-of-bag rows, got --model {options.model}."
                " Use --model forest."
            )
    return estimator


def _type_of(options: FitOptions) -> type[SupervisedTrees]:
    """Return the estimator class."""
    from hedgerow import estimators

    presenter = presenter_for(options)
    names = presenter.models or {model: name + presenter.suffix for model, name in _MODELS.items()}
    known = [model for model, name in names.items() if name in vars(estimators)]
    if options.model not in known:
        raise UsageError(f"--model {options.model} does not support --{presenter.option}. Use {listed(known)}.")
    model: type[SupervisedTrees] = vars(estimators)[names[options.model]]
    return model


def _params(options: FitOptions, model: str, rows: Mapping[str, Parameter]) -> dict[str, Any]:
    """Return the parameters of options other than the defaults."""
    plain = FitOptions(data=(), target="", out="")
    given = [name for name in _PARAMETERS if getattr(options, name) != getattr(plain, name)]
    for name in given:
        if _PARAMETERS[name] not in rows:
            got = getattr(options, name)
            raise UsageError(f"{model} does not support {_option(name)}, got {got!r}.")
    return {_PARAMETERS[name]: _value_of(name, getattr(options, name), rows) for name in given}


def _value_of(name: str, given: Any, rows: Mapping[str, Parameter]) -> Any:
    """Return the validated parameter value of an option."""
    match name:
        case "caution":
            return checked_caution(given, auto=rows["caution"].needs_bags("auto"))
        case "rule":
            return checked_rule(given)
        case "decision":
            checked_decision(given)
            return given
        case "max_bins":
            return _checked_bins(given)
        case "immutable":
            return list(columns_named(given, None))
        case _:
            return given


def _option(name: str) -> str:
    """Return the command-line option of a field."""
    return "--" + name.replace("_", "-")


def _checked_bins(text: str) -> int | None:
    """Parse --max-bins; None for all, the number of values that two bytes can encode."""
    if text == "all":
        return None
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 9 else 0
    if not MAX_BINS <= number <= MOST_BINS:
        raise UsageError(f"--max-bins must be a number from {MAX_BINS} to {MOST_BINS}, 'auto' or 'all', got {text!r}.")
    return number


def _class_weight(estimator: SupervisedTrees, options: FitOptions, y: Array) -> dict[str, Any]:
    """Parse --class-weight, given the labels (n,)."""
    given = options.class_weight
    if given is None:
        return {}
    presenter = presenter_for(options)
    if not presenter.has_classes:
        raise UsageError(f"--{presenter.option} does not support --class-weight, got {given!r}.")
    if "class_weight" not in parameters_of(type(estimator)):
        raise UsageError(f"--model {options.model} does not support --class-weight, got {given!r}.")
    if given in ("balanced", "balanced_subsample"):
        return {"class_weight": given}
    classes = np.unique(y)
    pairs = [each.rpartition("=") for each in given.split(",")]
    places = known_places([name.strip() for name, _, _ in pairs], classes.astype(str).astype(object), exact=False)
    weights = [POINT.number(weight) for _, _, weight in pairs]
    if -1 in places or any(weight is None or not 0 <= weight < np.inf for weight in weights):
        raise UsageError(
            f"--class-weight must be 'balanced' or weights such as {classes[0]}=5, got {given!r}. The classes are"
            f" {listed(classes.tolist())}."
        )
    return {"class_weight": {classes.tolist()[place]: weight for place, weight in zip(places, weights, strict=True)}}


def _immutable(options: FitOptions, table: BinnedTable) -> dict[str, Any]:
    """Parse --immutable; raise `DataError` for columns that are not features."""
    if not options.immutable:
        return {}
    known = table.schema.names or ()
    names = columns_named(options.immutable, known)
    for name in names:
        if name not in known:
            raise DataError(f"--immutable must name feature columns ({listed(known, 100)}), got {name!r}.")
    return {"immutable_features": list(names)}


def _held_out(
    estimator: SupervisedTrees, sheet: Sheet, options: FitOptions, y: Array, groups: Array | None
) -> tuple[dict[str, Any], list[Fact]]:
    """Return metrics of --folds or --test-split, as JSON and as facts."""
    if options.folds is None and options.test_split is None:
        return {}, []
    presenter = presenter_for(options)
    by_class = presenter.has_classes
    shares: dict[str, Any] = {"folds": options.folds, "test_split": options.test_split}
    parts = held_out(y, **shares, seed=options.seed, by_class=by_class, groups=groups)
    with collected_notes():
        table = columns_of(sheet, features_of(sheet, options), options.nominal)
    tallies = []
    for model, rows in refitted(lambda: clone(estimator).set_params(verbose=0), table, y, parts, groups):
        tallies.append(predictor_of(model).tally(table.some(rows), y[rows]))
    what = f"{options.folds} folds" if options.folds else f"{sum(map(np.sum, parts)):,} rows held out"
    tally = add_tallies(tallies)
    scores = [(f"{name}, {what}", text) for name, text in presenter.figures(tally).scores]
    return {"held_out": {"by": what, **tally.figures()}}, scores


def check_output(options: FitOptions) -> None:
    """Raise `UsageError` for an invalid output, before anything is read."""
    check_out(options.out, MODEL, [*inputs_of(options), options.checkpoint], force=options.force)
    if options.out != STREAM:
        return
    if options.as_json:
        raise UsageError("--out must be a file with --json, got -. Standard output is for the JSON.")
    if sys.stdout.isatty():
        raise UsageError("Standard output must be a file or a pipe for a model, got a terminal. Use > or |.")


def _check_checkpoint(options: FitOptions) -> None:
    """Raise `UsageError` for an invalid checkpoint folder, before anything is read."""
    if options.checkpoint is None:
        return
    check_folder(options.checkpoint, options.data, "--checkpoint")
    try:
        Checkpoint(options.checkpoint)
    except CheckpointError as reason:
        raise UsageError(f"--{reason}") from None


@dataclass
class _Cells:
    """Statistics of the feature columns."""

    nominal: list[bool] = field(default_factory=list)
    gaps: list[int] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)
    constant: list[str] = field(default_factory=list)

    def look_at(self, name: str, column: Array | Factors) -> None:
        """Add the next column."""
        gaps = _n_missing(column)
        self.nominal.append(isinstance(column, Factors))
        self.gaps.append(gaps)
        if gaps == len(column.codes if isinstance(column, Factors) else column):
            self.empty.append(name)
        elif not gaps and _is_constant(column):
            self.constant.append(name)

    def tell(self) -> None:
        """Print a note about columns without information."""
        for names, what in ((self.empty, "without values"), (self.constant, "with a constant value")):
            if names:
                note(f"note: {'Columns' if len(names) > 1 else 'Column'} {what}: {listed(names)}")


def _binned(sheet: Sheet, options: FitOptions, estimator: SupervisedTrees) -> tuple[BinnedTable, _Cells]:
    """Bin the feature columns one by one, to keep only one in memory."""
    names, cells = features_of(sheet, options), _Cells()

    def columns() -> Iterator[Array | Factors]:
        for name in names:
            column = sheet.column(name, nominal=True if name in options.nominal else None)
            _look_at_points(sheet, name, column)
            sheet.forget(name)
            cells.look_at(name, column)
            _look_at_feature(name, column, sheet.n_rows)
            yield column
            del column

    n_threads = thread_count(estimator.n_jobs)
    try:
        table = bin_columns(
            names, columns(), sheet.n_rows, **how_to_bin(estimator), dates=sheet.dates, n_threads=n_threads
        )
    except ValueError as reason:  # the options are valid by now, so the data are at fault
        raise DataError(str(reason)) from None
    cells.tell()
    return table, cells


def features_of(sheet: Sheet, options: FitOptions | CompareOptions) -> tuple[str, ...]:
    """Return the names of the feature columns, and schedule them to be read together."""
    presenter = presenter_for(options)
    target = require_target(sheet, presenter, options)
    others = [(option, name) for option, name in (("--id", options.id), ("--groups", options.groups)) if name]
    for option, name in [*others, *(("--drop", each) for each in options.drop)]:
        sheet.require(name, option)
        if name in target:
            raise UsageError(f"{option} must differ from --target, got {name!r} for both.")
    for name in options.nominal:
        sheet.require(name, "--nominal")
    parts = {name + part for name in target if name in sheet.dates for part in PARTS}
    left = {*target, *parts, options.id, options.groups, *options.drop}
    names = tuple(name for name in sheet.names if name not in left)
    if not names:
        raise DataError(
            f"The table must have a feature column besides {listed(filter(None, left))}. Drop fewer columns."
        )
    groups = [options.groups] if options.groups else []
    sheet.prepare(
        [*names, *filter(None, target), *groups],
        [*options.nominal, *(target if presenter.has_classes else ()), *groups],
    )
    names = tuple(name for name in names if not (name.startswith(UNNAMED) and sheet.is_missing(name).all()))
    kept = tuple(name for name in names if name in options.nominal or not _identifies(sheet, name))
    if ignored := [name for name in names if name not in kept]:
        note(
            f"note: Ignored {'columns' if len(ignored) > 1 else 'column'} with another text in every row:"
            f" {listed(ignored)}. --nominal keeps such a column."
        )
    return kept or names


def _identifies(sheet: Sheet, name: str) -> bool:
    """Test whether a column of a table of more than a few rows has another text in every row."""
    return sheet.n_rows > FEW_ROWS and sheet.identifies(name)


def groups_of(sheet: Sheet, options: FitOptions | CompareOptions) -> Array | None:
    """Return the group numbers (n,) of --groups; None without the option."""
    if options.groups is None:
        return None
    return group_numbers(sheet, options.groups)


def _look_at_feature(name: str, column: Array | Factors, n_rows: int) -> None:
    """Warn about a column that seems to identify or number the rows."""
    if isinstance(column, Factors):
        if len(column.values) > max(FEW_ROWS, NAMES_ROWS * n_rows):
            many = f"{len(column.values):,} distinct texts in {n_rows:,} rows"
            groups = f" If it identifies groups of rows, such as patients, pass --groups {name!r}."
            also = groups if len(column.values) < n_rows else ""
            warn(f"Column {name!r} has {many}.{also} If it identifies rows, exclude it with --drop or --id.")
        return
    if n_rows <= FEW_ROWS or column.dtype.kind not in "fiu":
        return
    with np.errstate(invalid="ignore"):  # infinity % 1
        if not ((column[:MANY_ROWS] % 1 == 0).all() and (column % 1 == 0).all()):
            return
    if (np.diff(column) > 0).all():
        reason = "has integers that increase from row to row. If it numbers the rows"
    elif np.abs(column).max() >= EXACT:
        reason = "has integers of more than 15 digits, which lose their last digits. If it identifies rows"
    elif n_rows >= MANY_ROWS and len(np.unique(column)) == n_rows:
        reason = "has a different integer in every row. If it identifies rows"
    else:
        return
    warn(f"Column {name!r} {reason}, exclude it with --drop or --id.")


def _look_at_points(sheet: Sheet, name: str, column: Array | Factors) -> None:
    """Warn about numbers whose points may separate thousands."""
    if isinstance(column, Factors) or sheet.has_types or sheet.number_format != POINT:
        return
    if not may_group_thousands(column):  # texts take long to read
        return
    texts = {str(cell) for cell in sheet.cells(name).tolist()}
    if found := groups_thousands(text for text in texts if not is_gap(text, sheet.missing)):
        plain, pointed = found
        warn(f"Column {name!r} has {plain} and {pointed}. If points separate thousands, add --thousands .")


def _look_at_target(y: Array, options: FitOptions) -> None:
    """Warn about a constant target, and about classes that seem to be continuous."""
    n_distinct, most = len(np.unique(y)), NUMBERS_ROWS * len(y)
    if presenter_for(options).has_classes and n_distinct > 1:
        classes, rows = np.unique(y, return_counts=True)
        if rare := classes[rows < RARE_ROWS].tolist()[:MOST_RARE]:
            warn(f"{listed(map(repr, rare))} of target {options.target!r}: fewer than {RARE_ROWS} rows. Is it a class?")
    if n_distinct == 1:
        warn(f"Target {options.target!r} has the same value in every row. Was the table filtered?")
    elif presenter_for(options).has_classes and y.dtype.kind in "fiu" and n_distinct > max(FEW_ROWS, most):
        many = f"Target {options.target!r} has {n_distinct:,} distinct numbers in {len(y):,} rows"
        warn(f"{many}. To predict a continuous target, add --regression.")


def _look_for_leaks(table: BinnedTable, y: Array, options: FitOptions) -> None:
    """Warn about columns that alone predict the target."""
    if y.ndim != 1:
        return
    has_classes, step = presenter_for(options).has_classes, max(1, len(y) // LEAK_ROWS)
    y, codes = y[::step], table.codes[:, ::step]
    target, most = (np.unique(y, return_inverse=True)[1], LEAK) if has_classes else (y, LEAK_OF_NUMBERS)
    for name, column, known in zip(table.schema.names or (), codes, table.schema.categories, strict=True):
        if share_explained(column, target, nominal=known is not None, has_classes=has_classes) >= most:
            warn(
                f"Column {name!r} alone predicts the target almost perfectly. If it is not known before the target,"
                " exclude it with --drop."
            )


def save_model(estimator: SupervisedTrees, out: str) -> None:
    """Write the model to a file, or to standard output for ``-``."""
    from hedgerow.storage import save

    try:
        save(estimator, sys.stdout.buffer if out == STREAM else out)
    except ValueError as reason:  # labels or names exceed the limits of the file format
        raise DataError(str(reason)) from None
    sys.stdout.buffer.flush()


def _report(estimator: SupervisedTrees, cells: _Cells, y: Array, groups: Array | None) -> dict[str, Any]:
    """Return the JSON report of a fit."""
    gaps = cells.gaps
    return {
        "rows": len(y),
        **({} if groups is None else {"groups": len(np.unique(groups))}),
        "features": feature_counts(cells.nominal) | {"with_missing": sum(gap > 0 for gap in gaps)},
        "missing_cells": sum(gaps),
        "estimator": type(estimator).__name__,
        "trees": estimator.forest_.n_trees,
    }


def feature_counts(nominal: Sequence[bool]) -> dict[str, int]:
    """Return the number of features of each type."""
    return {"all": len(nominal), "numeric": nominal.count(False), "nominal": nominal.count(True)}


def feature_words(counts: dict[str, int]) -> str:
    """Format the number of features of each type."""
    return f"{counts['all']:,}: {counts['numeric']:,} numeric, {counts['nominal']:,} categorical"


def _n_missing(column: Array | Factors) -> int:
    """Return the number of missing values in a column."""
    if isinstance(column, Factors):
        return int((column.codes < 0).sum())
    return int(np.isnan(column).sum()) if column.dtype.kind == "f" else 0


def _is_constant(column: Array | Factors) -> bool:
    """Test whether a column without missing values is constant."""
    values = column.codes if isinstance(column, Factors) else column
    return len(values) > 1 and bool((values == values[0]).all())


def _facts(report: dict[str, Any], summary: FitSummary, held_out_scores: list[Fact]) -> Table:
    """Format the summary of a fit."""
    features = report["features"]
    gaps = f"; {number_of(report['missing_cells'], 'missing value')} in {number_of(features['with_missing'], 'column')}"
    rows = [
        ("rows", f"{report['rows']:,}{in_groups(report.get('groups'))}"),
        ("features", feature_words(features) + (gaps if report["missing_cells"] else "; no missing values")),
        summary.target,
        ("model", f"{report['estimator']}, {number_of(report['trees'], 'tree')} in {report['seconds']:.2f} s"),
        ("", summary.parameters),
    ]
    if report["out_of_bag"] is None:
        rows.append(("out of bag", "– (unavailable without bootstrapping; use hedgerow evaluate on other rows)"))
    else:
        rows += [(f"{name}, out of bag", text) for name, text in summary.scores]
    return facts(
        [*rows, *held_out_scores, ("saved to", "standard output" if report["model"] == STREAM else report["model"])]
    )
