"""Fit: a table with labels -> a model file, and how well the model does on rows its trees have not seen."""

from __future__ import annotations

import sys
import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from hedgerow.commands.match import checked_caution, checked_decision, checked_rule
from hedgerow.commands.numbers import is_regressor, number_estimator, number_summary
from hedgerow.commands.outcome import DataError, UsageError
from hedgerow.commands.output import check_out
from hedgerow.commands.sheet import Array, Sheet
from hedgerow.commands.source import STDIN, read_sheet
from hedgerow.commands.talk import facts, listed, number_of, say, score, share, show, write_json
from hedgerow.errors import CheckpointError
from hedgerow.exchange.files.state import MAX_THREADS
from hedgerow.table import Factors, NamedColumns

#: A nominal column with more categories than this share of its rows probably names them.
NAMES_ROWS = 0.5
FEW_ROWS = 20
#: A target with more different numbers than this share of its rows is hardly one of classes.
NUMBERS_ROWS = 0.1


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
    decision: str = "dominance"
    leaf_counts: str | None = None
    seed: int = 0
    jobs: int = -1
    drop: tuple[str, ...] = ()
    id: str | None = None
    nominal: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    checkpoint: str | None = None
    as_json: bool = False


def fit(options: FitOptions) -> None:
    """Read, fit, save, report."""
    estimator = estimator_for(options)
    check_output(options)
    sheet = read_sheet(options.data, options.missing)
    table = _features(sheet, options)
    y = sheet.targets(options.target) if options.regression else sheet.labels(options.target)
    _look_at_target(y, options)
    start = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings(
                "ignore", "The number of unique classes"
            )  # said above, in words of the command line
            estimator.fit(table, y, checkpoint=options.checkpoint)
    except CheckpointError as reason:
        raise UsageError(f"--{reason}") from None
    except ValueError as reason:  # options have been checked: what is left is the data
        raise DataError(str(reason)) from None
    seconds = time.perf_counter() - start
    if estimator.verbose:
        estimator.set_params(verbose=0)
    report = _report(estimator, table, y) | {"seconds": round(seconds, 3), "model": options.out}
    save_model(estimator, options.out)
    if options.as_json:
        write_json(report)
    else:
        show(_facts(report), stderr=options.out == STDIN)


def estimator_for(options: FitOptions) -> Any:
    """Options -> estimator, everything that does not go together refused."""
    import hedgerow

    if options.jobs == 0 or abs(options.jobs) > MAX_THREADS:
        raise UsageError(f"--jobs must be -1 for all cores, or 1 to {MAX_THREADS}, got {options.jobs}")
    if options.regression:
        return _regressor(options)
    kinds = {
        "forest": hedgerow.RandomForestClassifier,
        "extra": hedgerow.ExtraTreesClassifier,
        "tree": hedgerow.DecisionTreeClassifier,
        "random-decision": hedgerow.RandomDecisionTreesClassifier,
    }
    kind = kinds[options.model]
    caution = checked_caution(options.caution, auto=True)
    decision = checked_decision(options.decision)
    learns = [
        said
        for said, needed in (
            ("--caution auto", caution == "auto"),
            (f"--decision {options.decision}", decision.needs_calibration),
            ("--leaf-counts oob", options.leaf_counts == "oob"),
        )
        if needed
    ]
    if learns and options.model != "forest":
        raise UsageError(f"{learns[0]} must go with --model forest, whose trees leave rows out, got {options.model}")
    given: dict[str, Any] = {
        "n_estimators": options.trees,
        "leaf_counts": options.leaf_counts,
        "n_jobs": options.jobs,
        "verbose": 1,
    }
    known = kind().get_params(deep=False)
    for name, option in (("n_estimators", "--trees"), ("leaf_counts", "--leaf-counts")):
        if given[name] is not None and name not in known:
            raise UsageError(f"{option} must go with a model that has it, got --model {options.model}")
    kept = {name: value for name, value in given.items() if value is not None and name in known}
    rule = checked_rule(options.rule)
    return kind(rule=rule, caution=caution, decision=options.decision, random_state=options.seed, **kept)


def _regressor(options: FitOptions) -> Any:
    """Options -> a regressor that judges itself out of bag where it can."""
    plain = FitOptions(options.data, options.target, options.out)
    about_classes = (("--rule", "rule"), ("--decision", "decision"), ("--leaf-counts", "leaf_counts"))
    refused = [
        (option, getattr(options, name))
        for option, name in about_classes
        if getattr(options, name) != getattr(plain, name)
    ]
    if options.trees is not None and options.model == "tree":
        raise UsageError("--trees must go with a model that has it, got --model tree")
    given = {
        "n_estimators": options.trees,
        "n_jobs": options.jobs,
        "verbose": 1,
        "oob_score": True if options.model == "forest" else None,
    }
    return number_estimator(options.model, options.caution, given, refused, options.seed)


def check_output(options: FitOptions) -> None:
    """Refuse an output that cannot be meant, before anything is read."""
    check_out(options.out)
    if options.out != STDIN:
        return
    if options.as_json:
        raise UsageError("only one of model and --json must go to standard output, got both; give -o a file")
    if sys.stdout.isatty():
        raise UsageError("a model on standard output must go to a file or a pipe, got a terminal; use > or |")


def _features(sheet: Sheet, options: FitOptions) -> NamedColumns:
    """All columns but target, id and those to drop."""
    sheet.require(options.target, "--target")
    others = [("--id", options.id)] if options.id else []
    for option, name in [*others, *(("--drop", each) for each in options.drop)]:
        sheet.require(name, option)
    for name in options.nominal:
        sheet.require(name, "--nominal")
    left = {options.target, options.id, *options.drop}
    names = tuple(name for name in sheet.names if name not in left)
    if not names:
        raise DataError(f"the table must have a column to learn from besides {listed(filter(None, left))}, got none")
    columns = [sheet.column(name, nominal=True if name in options.nominal else None) for name in names]
    for name, column in zip(names, columns, strict=True):
        _look_at_feature(name, column, sheet.n_rows)
    return NamedColumns(names, columns)


def _look_at_feature(name: str, column: Array | Factors, n_rows: int) -> None:
    """Warn of a column that seems to name or number the rows."""
    if isinstance(column, Factors):
        if len(column.values) > max(FEW_ROWS, NAMES_ROWS * n_rows):
            said = (
                f"column {name!r} has {len(column.values):,} different texts in {n_rows:,} rows; if it names the rows"
            )
            say(f"warning: {said}, leave it out with --drop or --id", style="bold yellow")
        return
    if n_rows > FEW_ROWS and column.dtype.kind in "fiu" and (np.diff(column) > 0).all() and (column % 1 == 0).all():
        said = f"column {name!r} rises by whole numbers from row to row; if it numbers the rows"
        say(f"warning: {said}, leave it out with --drop or --id", style="bold yellow")


def _look_at_target(y: Array, options: FitOptions) -> None:
    """Warn of a target from which nothing sensible can be learned."""
    n_distinct = len(np.unique(y))
    if n_distinct == 1:
        said = f"target {options.target!r} has the same value in every row, so nothing can be learned"
        say(f"warning: {said}; was the table filtered?", style="bold yellow")
    elif not options.regression and y.dtype.kind in "fiu" and n_distinct > max(FEW_ROWS, NUMBERS_ROWS * len(y)):
        said = f"target {options.target!r} has {n_distinct:,} different numbers in {len(y):,} rows"
        say(f"warning: {said}; for a number to estimate add --regression", style="bold yellow")


def save_model(estimator: Any, out: str) -> None:
    """Write the model to a file, or to standard output for ``-``."""
    from hedgerow.exchange.files import save

    try:
        save(estimator, sys.stdout.buffer if out == STDIN else out)
    except ValueError as reason:  # labels or names that are longer than a file allows
        raise DataError(str(reason)) from None
    sys.stdout.buffer.flush()


def _report(estimator: Any, table: NamedColumns, y: Array) -> dict[str, Any]:
    """A fitted model and what it was fitted to -> figures."""
    nominal = [isinstance(column, Factors) for column in table.listed]
    gaps = [_n_missing(column) for column in table.listed]
    of_table = {
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
    if is_regressor(estimator):
        return of_table | number_summary(estimator, y)
    classes, counts = np.unique(y, return_counts=True)
    return of_table | {
        "classes": [{"label": label, "rows": n} for label, n in zip(classes.tolist(), counts.tolist(), strict=True)],
        "rule": estimator.rule,
        "caution": float(estimator.caution_ if estimator.caution == "auto" else estimator.caution),
        "decision": estimator.decision,
        "out_of_bag": _out_of_bag(estimator, y),
    }


def _out_of_bag(estimator: Any, y: Array) -> dict[str, float] | None:
    """How a forest does on rows its trees have not seen; None for a model whose trees see all rows."""
    from hedgerow.judge.evidence import score_sets, try_out

    if not getattr(estimator, "bootstrap", False):
        return None
    caution = estimator.caution_ if estimator.caution == "auto" else estimator.caution
    labels, evidence = np.searchsorted(estimator.classes_, y), estimator.oob_evidence_
    trial, judged = try_out(evidence, labels, evidence.rule, float(caution), estimator.decision)
    if not judged.any():
        return None
    names = ("accuracy", "u65", "determinacy")
    figures = {name: score_sets(name, estimator.classes_, y[judged], trial.opinion, trial.sets) for name in names}
    return figures | {"rows": int(judged.sum())}


def _n_missing(column: Array | Factors) -> int:
    """A column -> cells without a value."""
    if isinstance(column, Factors):
        return int((column.codes < 0).sum())
    return int(np.isnan(column).sum()) if column.dtype.kind == "f" else 0


def _facts(report: dict[str, Any]) -> Any:
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
        _target(report),
        ("model", f"{report['estimator']}, {number_of(report['trees'], 'tree')} in {report['seconds']:.2f} s"),
        ("", _opinion(report)),
    ]
    if outside is None:
        rows.append(("out of bag", "– (every tree has seen every row; use hedgerow evaluate with other rows)"))
    elif "target" in report:
        rows.append(("R², out of bag", f"{outside['r2']:.4f}"))
    else:
        rows += [
            ("accuracy, out of bag", share(outside["accuracy"])),
            ("u65, out of bag", score(outside["u65"])),
            ("determinacy, out of bag", share(outside["determinacy"])),
        ]
    return facts([*rows, ("saved to", "standard output" if report["model"] == STDIN else report["model"])])


def _target(report: dict[str, Any]) -> tuple[str, str]:
    """What is to be learned, in a line."""
    if "target" in report:
        return "target", "from {lowest:.6g} to {highest:.6g}, mean {mean:.6g}".format(**report["target"])
    classes = [f"{each['label']} ({each['rows']:,})" for each in report["classes"]]
    return "classes", f"{len(classes):,}: {listed(classes)}"


def _opinion(report: dict[str, Any]) -> str:
    """How leaves are combined, in a line."""
    caution = f"caution {report['caution']:g}"
    return caution if "target" in report else f"rule {report['rule']}, {caution}, decision {report['decision']}"
