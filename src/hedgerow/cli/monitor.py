"""`hedgerow monitor`: tests of new rows against the training rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.stats import fisher_exact

from hedgerow.cli.console import write_json
from hedgerow.cli.evaluation import one_row_of_each, remind_of_groups
from hedgerow.cli.exit_codes import LookError
from hedgerow.cli.files.paths import PAGE, check_out
from hedgerow.cli.files.source import read_sheet, require_one_stdin
from hedgerow.cli.match import prepare_for, table_for
from hedgerow.cli.models import as_in_training, model_for
from hedgerow.cli.options import MonitorOptions, inputs_of
from hedgerow.cli.output import write_text
from hedgerow.inference.drift import NOVEL, novel_rows_of, traffic_of
from hedgerow.inference.novelty import PredictionNovelty
from hedgerow.inference.predictor import predictor_of
from hedgerow.table import NamedColumns
from hedgerow.util.text import number_of, share

if TYPE_CHECKING:
    from hedgerow.estimators.supervised import SupervisedTrees

#: Maximum number of features named, by difference of their traffic through splits.
NAMED = 3


class Check(NamedTuple):
    """A test: name, observed and expected value, and p-value under no shift."""

    name: str
    found: float
    expected: float | None
    p_value: float | None

    @property
    def words(self) -> tuple[str, str]:
        """Observed and expected value as text."""
        known = [self.found, *([] if self.expected is None else [self.expected])]
        if self.name == "novel rows":
            texts = [f"{value:,.0f}" for value in known]
            return texts[0], "".join(f"about {text}" for text in texts[1:])
        texts = [f"p = {value:.3f}" if self.name == "drift" else share(value) for value in known]
        return texts[0], "".join(texts[1:])


def monitor(options: MonitorOptions) -> None:
    """Test a table and print one line; with --html, write a page too."""
    require_one_stdin(inputs_of(options))
    check_out(options.html, PAGE, inputs_of(options), force=options.force, option="--html")
    model = model_for(options)
    options = as_in_training(model, options)
    remind_of_groups(model, options)
    table = _table(model, options.data, options)
    reference = None if options.reference is None else _table(model, [options.reference], options)
    checks, features = _checks(model, table, reference)
    p_values = [check.p_value for check in checks if check.p_value is not None]
    level = options.level / max(1, len(p_values))
    alarms = [check for check in checks if check.p_value is not None and check.p_value <= level]
    report = {
        "rows": table.shape[0],
        "look": bool(alarms),
        "because": [check.name for check in alarms],
        "level": options.level,
        "features": features if any(check.name == "drift" for check in alarms) else [],
        "checks": [check._asdict() for check in checks],
    }
    if options.html:
        write_text(_page(report, checks, level, options), options.html)
    if options.as_json:
        write_json(report)
    else:
        write_text(_line(report, checks) + "\n", None)
    if alarms:
        raise LookError


def _table(model: SupervisedTrees, paths: Sequence[str], options: MonitorOptions) -> NamedColumns:
    """Read a table with the columns of a model."""
    sheet = one_row_of_each(read_sheet(paths, options), options.groups)
    prepare_for(model, sheet)
    return table_for(model, sheet, tuple(filter(None, [options.groups])), allow_missing=options.allow_missing_columns)


def _checks(
    model: SupervisedTrees, table: NamedColumns, reference: NamedColumns | None
) -> tuple[list[Check], list[str]]:
    """Return the tests that the model supports, and the features that differ most."""
    predictor = predictor_of(model)
    batch = predictor.read(table)
    if reference is None:
        traffic = traffic_of(predictor, batch.codes)
        p_value, features = traffic.p_value, traffic.features
    else:
        drift = model.drift(table, reference=reference)
        p_value, features = drift.p_value, [(each.name, each.share) for each in drift.features]
    checks = [Check("drift", p_value, None, p_value)]
    if batch.novelty is not None:
        checks.append(_novel_rows(predictor, batch.novelty, reference))
    if len(predictor.classes):
        checks.append(_undecided(model, table, reference))
    return checks, [name for name, part in features[:NAMED] if part > 0]


def _novel_rows(predictor: Any, novelty: PredictionNovelty, reference: NamedColumns | None) -> Check:
    """Test the number of novel rows against the training rows or the reference."""
    found, n_rows = novel_rows_of(predictor, novelty), len(novelty.p_value)
    if reference is None:
        return Check("novel rows", found.number, found.expected, found.p_value)
    old = predictor.read(reference).novelty.p_value <= NOVEL
    p_value = _more_often(found.number, n_rows, int(old.sum()), len(old), "greater")
    return Check("novel rows", found.number, float(old.mean() * n_rows), p_value)


def _undecided(model: SupervisedTrees, table: NamedColumns, reference: NamedColumns | None) -> Check:
    """Test the share of undecided rows; without a reference, only report it."""
    is_open = model.predict_set(table).sum(axis=1) > 1
    if reference is None:
        return Check("undecided", float(is_open.mean()), None, None)
    old = np.asarray(model.predict_set(reference).sum(axis=1) > 1)
    p_value = _more_often(int(is_open.sum()), len(is_open), int(old.sum()), len(old), "two-sided")
    return Check("undecided", float(is_open.mean()), float(old.mean()), p_value)


def _more_often(new: int, of_new: int, old: int, of_old: int, side: str) -> float:
    """Return Fisher's p-value for equal shares in two samples."""
    return float(fisher_exact([[new, of_new - new], [old, of_old - old]], alternative=side).pvalue)


def _line(report: dict[str, Any], checks: list[Check]) -> str:
    """Format all tests in one line, for a log."""
    verdict = "LOOK" if report["look"] else "ok"
    found = [
        f"{check.name} {found}" + (f" (expected {expected})" if expected else "")
        for check in checks
        for found, expected in [check.words]
    ]
    most = f"; most different: {', '.join(report['features'])}" if report["features"] else ""
    return f"{verdict}: {number_of(report['rows'], 'row')}; {'; '.join(found)}{most}"


def _page(report: dict[str, Any], checks: list[Check], level: float, options: MonitorOptions) -> str:
    """Return the result as an HTML page in the style of the report."""
    from hedgerow.explain.report.page import page_from

    because = [check.name for check in checks if check.p_value is not None and check.p_value <= level]
    title, line = f"{options.data[0]} against {options.model}", _line(report, checks)
    context = {"report": report, "checks": checks, "because": because, "line": line, "level": options.level}
    return page_from("monitor.html", (), {}, title=title, **context)
