"""`hedgerow fit`: a model file, and out-of-bag and held-out metrics."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone

from hedgerow.cli.console import collected_notes, facts, note, show, warn, write_json
from hedgerow.cli.exit_codes import DataError, UsageError
from hedgerow.cli.files.paths import MODEL, STREAM, check_folder, check_out
from hedgerow.cli.files.sheet import Array, Sheet
from hedgerow.cli.files.source import read_sheet
from hedgerow.cli.files.values import POINT, known_places
from hedgerow.cli.files.views import labelled_rows
from hedgerow.cli.holdout import columns_of, held_out, refitted
from hedgerow.cli.match import checked_caution, checked_decision, checked_rule, columns_named
from hedgerow.cli.models import require_target, target_columns
from hedgerow.cli.options import CompareOptions, FitOptions
from hedgerow.errors import CheckpointError
from hedgerow.explain.presenters.base import Fact, FitSummary
from hedgerow.explain.presenters.registry import presenter_for
from hedgerow.fit.checkpoint import Checkpoint
from hedgerow.inference.predictor import predictor_of
from hedgerow.metrics.tally import add_tallies
from hedgerow.params.checks import parameters_of
from hedgerow.params.resolve import how_to_bin
from hedgerow.params.table import Parameter
from hedgerow.storage.parameters import MAX_THREADS
from hedgerow.table import Factors
from hedgerow.table.binned import BinnedTable, bin_columns
from hedgerow.table.bins import MAX_BINS, MOST_BINS
from hedgerow.util.text import listed, number_of
from hedgerow.util.threads import thread_count

#: A nominal column with more categories than this share of its rows probably names the rows.
NAMES_ROWS = 0.5
#: In this many rows, whole numbers that are measured repeat.
MANY_ROWS = 100
#: In a table with fewer rows, many different values are not remarkable.
FEW_ROWS = 20
#: A target with more different numbers than this share of its rows is probably meant for a regression.
NUMBERS_ROWS = 0.1
#: Larger whole numbers are not exact.
EXACT = 2**53


#: The class of each --model, without Classifier or Regressor.
_MODELS = {
    "forest": "RandomForest",
    "extra": "ExtraTrees",
    "tree": "DecisionTree",
    "random-decision": "RandomDecisionTrees",
}
#: Options that only some models have, as they are called in `FitOptions` -> the parameter of the estimator.
_PARAMETERS = {
    "trees": "n_estimators",
    "caution": "caution",
    "rule": "rule",
    "decision": "decision",
    "leaf_counts": "leaf_counts",
    "max_bins": "max_bins",
    "immutable": "immutable_features",
}


def fit(options: FitOptions, then: Callable[[Any], dict[str, Any]] | None = None) -> None:
    """Read, fit, save, report; `then` may change the fitted model, and returns what to report besides."""
    estimator = estimator_for(options)
    check_output(options)
    _check_checkpoint(options)
    sheet = read_sheet(options.data, options)
    presenter = presenter_for(options)
    if options.skip_unlabelled:
        sheet = labelled_rows(sheet, require_target(sheet, presenter, options)[0])
    table, cells = _binned(sheet, options, estimator)
    y = presenter.read_y(sheet, target_columns(presenter, options))
    groups = groups_of(sheet, options)
    estimator.set_params(**_class_weight(estimator, options, y), **_immutable(options, table))
    held_out, held_out_scores = _held_out(estimator, sheet, options, y, groups)
    del sheet
    _look_at_target(y, options)
    start = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The number of unique classes")  # `_look_at_target` has warned about it
            estimator.fit(table, y, groups=groups, checkpoint=options.checkpoint)
    except CheckpointError as reason:
        raise UsageError(f"--{reason}") from None
    except ValueError as reason:  # the options have been checked, so the data are wrong
        raise DataError(str(reason)) from None
    seconds = time.perf_counter() - start
    if estimator.verbose:
        estimator.set_params(verbose=0)
    more = {} if then is None else then(estimator)
    summary = presenter.summary(estimator, y)
    report = _report(estimator, cells, y, groups) | summary.values | held_out | more
    report |= {"seconds": round(seconds, 3), "model": options.out}
    save_model(estimator, options.out)
    if options.as_json:
        write_json(report)
    else:
        show(_facts(report, summary, held_out_scores), stderr=options.out == STREAM)


def estimator_for(options: FitOptions) -> Any:
    """Options -> estimator; options that contradict each other are refused."""
    if options.jobs == 0 or abs(options.jobs) > MAX_THREADS:
        raise UsageError(f"--jobs must be 1 to {MAX_THREADS}, got {options.jobs}; -1 uses all cores")
    model = _type_of(options)
    rows = parameters_of(model)
    params = _params(options, model.__name__, rows)
    given = {"n_jobs": options.jobs, "random_state": options.seed, "verbose": 1} | params
    estimator = model(**{name: value for name, value in given.items() if name in rows})
    if estimator.bootstrap:
        return estimator.set_params(**presenter_for(options).oob_params)
    for field_name, name in _PARAMETERS.items():
        if name in params and (rows[name].needs_bags(params[name]) or rows[name].needs_rows(params[name])):
            raise UsageError(
                f"{_option(field_name)} {params[name]} must be used with --model forest, got {options.model};"
                " it needs rows that trees have not seen"
            )
    return estimator


def _type_of(options: FitOptions) -> Any:
    """Options -> the class of the model."""
    from hedgerow import estimators

    presenter = presenter_for(options)
    names = {model: name + presenter.suffix for model, name in _MODELS.items()}
    known = [model for model, name in names.items() if name in vars(estimators)]
    if options.model not in known:
        listed_models = f"{', '.join(known[:-1])} or {known[-1]}"
        raise UsageError(f"--model must be {listed_models} with --{presenter.option}, got {options.model}; choose one")
    return getattr(estimators, names[options.model])


def _params(options: FitOptions, model: str, rows: Mapping[str, Parameter]) -> dict[str, Any]:
    """Options other than the defaults -> parameters; options that the model does not have are refused."""
    plain = FitOptions(data=(), target="", out="")
    given = [name for name in _PARAMETERS if getattr(options, name) != getattr(plain, name)]
    for name in given:
        if _PARAMETERS[name] not in rows:
            got = getattr(options, name)
            raise UsageError(f"{_option(name)} must not be used with a {model}, got {got!r}; leave it out")
    return {_PARAMETERS[name]: _value_of(name, getattr(options, name), rows) for name in given}


def _value_of(name: str, given: Any, rows: Mapping[str, Parameter]) -> Any:
    """An option and what was given for it -> the value of the parameter, checked."""
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
    """A field of the options -> the word on the command line."""
    return "--" + name.replace("_", "-")


def _checked_bins(text: str) -> int | None:
    """Text -> the most bins of a column; None for all, which is as many as two bytes can tell apart."""
    if text == "all":
        return None
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 9 else 0
    if not MAX_BINS <= number <= MOST_BINS:
        raise UsageError(f"--max-bins must be a number from {MAX_BINS} to {MOST_BINS}, 'auto' or 'all', got {text!r}")
    return number


def _class_weight(estimator: Any, options: FitOptions, y: Array) -> dict[str, Any]:
    """The text of --class-weight, and labels (n,) -> the parameter, if it is given."""
    given = options.class_weight
    if given is None:
        return {}
    presenter = presenter_for(options)
    if not presenter.has_classes:
        raise UsageError(f"--class-weight must not be used with --{presenter.option}, got {given!r}; leave it out")
    if "class_weight" not in parameters_of(type(estimator)):
        raise UsageError(f"--class-weight must be used with another --model than {options.model}, got {given!r}")
    if given in ("balanced", "balanced_subsample"):
        return {"class_weight": given}
    classes = np.unique(y)
    pairs = [each.rpartition("=") for each in given.split(",")]
    places = known_places([name.strip() for name, _, _ in pairs], classes.astype(str).astype(object), exact=False)
    weights = [POINT.number(weight) for _, _, weight in pairs]
    if -1 in places or any(weight is None or not 0 <= weight < np.inf for weight in weights):
        raise UsageError(
            f"--class-weight must be 'balanced' or weights of classes such as {classes[0]}=5, got {given!r}; the"
            f" classes are {listed(classes.tolist())}"
        )
    return {"class_weight": {classes.tolist()[place]: weight for place, weight in zip(places, weights, strict=True)}}


def _immutable(options: FitOptions, table: BinnedTable) -> dict[str, Any]:
    """The columns of --immutable -> the parameter, if it is given; columns that are not learned from are refused."""
    if not options.immutable:
        return {}
    known = table.schema.names or ()
    names = columns_named(options.immutable, known)
    for name in names:
        if name not in known:
            raise DataError(f"--immutable must name columns to learn from ({listed(known, 100)}), got {name!r}")
    return {"immutable_features": list(names)}


def _held_out(
    estimator: Any, sheet: Sheet, options: FitOptions, y: Array, groups: Array | None
) -> tuple[dict[str, Any], list[Fact]]:
    """Held-out metrics of models that are fitted in the same way to some of the rows: for JSON, and for people."""
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
    """Refuse an output that cannot work or would replace an input, before anything is read."""
    check_out(options.out, MODEL, [*options.data, options.checkpoint], force=options.force)
    if options.out != STREAM:
        return
    if options.as_json:
        raise UsageError("--out must be a file with --json, got - for standard output; the figures go there")
    if sys.stdout.isatty():
        raise UsageError("standard output must be a file or a pipe for a model, got a terminal; use > or |")


def _check_checkpoint(options: FitOptions) -> None:
    """Refuse a folder that is not for trees, or that holds the table, before anything is read."""
    if options.checkpoint is None:
        return
    check_folder(options.checkpoint, options.data, "--checkpoint")
    try:
        Checkpoint(options.checkpoint)
    except CheckpointError as reason:
        raise UsageError(f"--{reason}") from None


@dataclass
class _Cells:
    """What the report says of the columns that have been read."""

    nominal: list[bool] = field(default_factory=list)
    gaps: list[int] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)
    constant: list[str] = field(default_factory=list)

    def look_at(self, name: str, column: Array | Factors) -> None:
        """Count what the next column holds."""
        gaps = _n_missing(column)
        self.nominal.append(isinstance(column, Factors))
        self.gaps.append(gaps)
        if gaps == len(column.codes if isinstance(column, Factors) else column):
            self.empty.append(name)
        elif not gaps and _is_constant(column):
            self.constant.append(name)

    def tell(self) -> None:
        """Name the columns from which nothing can be learned."""
        for names, what in ((self.empty, "no value in any row"), (self.constant, "the same value in every row")):
            if names:
                note(f"note: nothing can be learned from columns with {what}: {listed(names)}")


def _binned(sheet: Sheet, options: FitOptions, estimator: Any) -> tuple[BinnedTable, _Cells]:
    """All columns to learn from -> codes and counts; a column is forgotten when the next one is read."""
    names, cells = features_of(sheet, options), _Cells()

    def columns() -> Iterator[Array | Factors]:
        for name in names:
            column = sheet.column(name, nominal=True if name in options.nominal else None)
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
    except ValueError as reason:  # the options have been checked, so the data are wrong
        raise DataError(str(reason)) from None
    cells.tell()
    return table, cells


def features_of(sheet: Sheet, options: FitOptions | CompareOptions) -> tuple[str, ...]:
    """The names of all columns except the target, the id and those to drop; they are read together."""
    presenter = presenter_for(options)
    target = require_target(sheet, presenter, options)
    others = [(option, name) for option, name in (("--id", options.id), ("--groups", options.groups)) if name]
    for option, name in [*others, *(("--drop", each) for each in options.drop)]:
        sheet.require(name, option)
        if name in target:
            raise UsageError(
                f"{option} must be another column than --target, got {name!r} for both; leave {option} out"
            )
    for name in options.nominal:
        sheet.require(name, "--nominal")
    left = {*target, options.id, options.groups, *options.drop}
    names = tuple(name for name in sheet.names if name not in left)
    if not names:
        raise DataError(
            f"the table must have a column to learn from besides {listed(filter(None, left))}, got none; drop fewer"
        )
    groups = [options.groups] if options.groups else []
    sheet.prepare([*names, *target, *groups], [*options.nominal, *(target if presenter.has_classes else ()), *groups])
    return names


def groups_of(sheet: Sheet, options: FitOptions | CompareOptions) -> Array | None:
    """The numbers of the groups of --groups, (n,); None without them."""
    if options.groups is None:
        return None
    numbers = sheet.factors(options.groups).codes
    if (numbers < 0).any():
        empty = number_of(int((numbers < 0).sum()), "row")
        raise DataError(f"--groups {options.groups!r} must have a value in every row, got none in {empty}")
    return numbers


def _look_at_feature(name: str, column: Array | Factors, n_rows: int) -> None:
    """Warn about a column that seems to name or number the rows."""
    if isinstance(column, Factors):
        if len(column.values) > max(FEW_ROWS, NAMES_ROWS * n_rows):
            many = f"{len(column.values):,} different texts in {n_rows:,} rows"
            warn(f"column {name!r} has {many}; if it names the rows, leave it out with --drop or --id")
        return
    if n_rows <= FEW_ROWS or column.dtype.kind not in "fiu":
        return
    with np.errstate(invalid="ignore"):  # infinite numbers are not whole
        if not ((column[:MANY_ROWS] % 1 == 0).all() and (column % 1 == 0).all()):
            return
    if (np.diff(column) > 0).all():
        reason = "holds whole numbers that rise from row to row; if it numbers the rows"
    elif np.abs(column).max() >= EXACT:
        reason = "holds numbers of more than 15 digits, the last of which are lost; if it names the rows"
    elif n_rows >= MANY_ROWS and len(np.unique(column)) == n_rows:
        reason = "holds another whole number in every row; if it names the rows"
    else:
        return
    warn(f"column {name!r} {reason}, leave it out with --drop or --id")


def _look_at_target(y: Array, options: FitOptions) -> None:
    """Warn about a target from which nothing sensible can be learned."""
    n_distinct, most = len(np.unique(y)), NUMBERS_ROWS * len(y)
    if n_distinct == 1:
        same = "has the same value in every row, so nothing can be learned; was the table filtered?"
        warn(f"target {options.target!r} {same}")
    elif presenter_for(options).has_classes and y.dtype.kind in "fiu" and n_distinct > max(FEW_ROWS, most):
        many = f"target {options.target!r} has {n_distinct:,} different numbers in {len(y):,} rows"
        warn(f"{many}; to predict a number, add --regression")


def save_model(estimator: Any, out: str) -> None:
    """Write the model to a file, or to standard output for ``-``."""
    from hedgerow.storage import save

    try:
        save(estimator, sys.stdout.buffer if out == STREAM else out)
    except ValueError as reason:  # labels or names are longer than a file allows
        raise DataError(str(reason)) from None
    sys.stdout.buffer.flush()


def _report(estimator: Any, cells: _Cells, y: Array, groups: Array | None) -> dict[str, Any]:
    """A fitted model, the counts of its table and its target -> what the command reports."""
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
    """Whether each feature is nominal -> how many there are of each kind."""
    return {"all": len(nominal), "numeric": nominal.count(False), "nominal": nominal.count(True)}


def feature_words(counts: dict[str, int]) -> str:
    """How many features there are of each kind, as text."""
    return f"{counts['all']:,}: {counts['numeric']:,} numeric, {counts['nominal']:,} nominal"


def _n_missing(column: Array | Factors) -> int:
    """A column -> cells without a value."""
    if isinstance(column, Factors):
        return int((column.codes < 0).sum())
    return int(np.isnan(column).sum()) if column.dtype.kind == "f" else 0


def _is_constant(column: Array | Factors) -> bool:
    """Whether a column without gaps has one value only."""
    values = column.codes if isinstance(column, Factors) else column
    return len(values) > 1 and bool((values == values[0]).all())


def _facts(report: dict[str, Any], summary: FitSummary, held_out_scores: list[Fact]) -> Any:
    """Format the summary of a fit."""
    features = report["features"]
    gaps = f"; {number_of(report['missing_cells'], 'cell')} missing in {features['with_missing']:,}"
    rows = [
        ("rows", f"{report['rows']:,}" + (f" in {number_of(report['groups'], 'group')}" if "groups" in report else "")),
        ("features", feature_words(features) + (gaps if report["missing_cells"] else "; nothing missing")),
        summary.target,
        ("model", f"{report['estimator']}, {number_of(report['trees'], 'tree')} in {report['seconds']:.2f} s"),
        ("", summary.parameters),
    ]
    if report["out_of_bag"] is None:
        rows.append(("out of bag", "– (every tree has seen every row; use hedgerow evaluate with other rows)"))
    else:
        rows += [(f"{name}, out of bag", text) for name, text in summary.scores]
    return facts(
        [*rows, *held_out_scores, ("saved to", "standard output" if report["model"] == STREAM else report["model"])]
    )
