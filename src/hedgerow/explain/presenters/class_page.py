"""Class page: a classifier, rows and their classes -> what the page of a report shows and lets the reader change."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.cli.answers_file import model_mark, table_mark
from hedgerow.explain.cases import training_rows
from hedgerow.explain.report.cases import pack_cases
from hedgerow.explain.report.figures import ReportData, ReportFigures, figures_of, page_decision, page_rule, said_of
from hedgerow.explain.report.pack import cut, packed
from hedgerow.explain.report.rates import calibration_plot, rate_words, two_class_rates
from hedgerow.explain.report.request import Parts, ReportRequest, column_name, readable
from hedgerow.explain.report.tables import class_tables
from hedgerow.explain.report.values import shown_values
from hedgerow.explain.report.why import WHY_BYTES, explanations_of, worth_explaining
from hedgerow.inference.predictor import predictor_of
from hedgerow.metrics.two_classes import Estimate
from hedgerow.table import Factors, NamedColumns
from hedgerow.tasks.classification.evaluation import ClassificationEvaluation
from hedgerow.tasks.classification.predictor import ClassificationPredictor

#: Undecided rows that are shown if scripts are off.
PLAIN_ROWS = 200


def class_parts(forest: Any, X: Any, y: Any, asked: ReportRequest) -> Parts:
    """A classifier, rows and perhaps their classes -> the parts of the page."""
    now: ClassificationPredictor = predictor_of(forest)
    said, classes = said_of(now, X, y), now.classes
    marks = {"model": model_mark(now.fitted), "table": table_mark(said.table), "first": asked.first}
    training = training_rows(now, asked.train, asked.y_train)
    codes = None if training is None else training.codes
    if asked.labels:  # from here on, only words are made
        forest = readable(forest, asked.labels)
        if training is not None and training.labels is not None:
            training = replace(training, labels=_renamed(training.labels, now.classes, forest.classes_))
        now = predictor_of(forest)
        said = replace(said, table=renamed_columns(said.table, now))
    importance = forest.feature_importances_
    figures = figures_of(forest, now, said, importance, codes)
    wanted = worth_explaining(said, figures.places)
    rows, evidence = pack_cases(now.forest, said.batch.codes, said.is_open, asked.max_cases, wanted)
    undecided = rows[said.is_open[rows]]
    room: int | None = WHY_BYTES
    if asked.cases == "all":
        wanted, room = undecided, None
    why = explanations_of(forest, now, said, wanted[np.isin(wanted, rows)], training, asked, room)
    data = _data(now, said, rows, asked) | {
        "marks": marks,
        "evidence": evidence,
        "why": {place: why[row] for place, row in enumerate(rows.tolist()) if row in why},
        "unexplained": len(undecided) - len(why),
    }
    labels = {column_name(name, asked.labels): values for name, values in (asked.labels or {}).items()}
    data |= shown_values(importance, now, said.table, rows, codes, labels)
    plain = [_plain_row(forest, said, row, asked) for row in np.flatnonzero(said.is_open)[:PLAIN_ROWS].tolist()]
    found = two_class_rates(now.classes, said)
    plot = calibration_plot(now.classes, said)
    judged = None
    if said.truth is not None:
        judged = ClassificationEvaluation(now.classes, said.truth, said.opinion.probability, said.chosen)
    more, tables = class_tables(judged, asked, classes)
    context = {"tables": tables, "rates": rate_words(now.classes, said, found), "plots": [] if plot is None else [plot]}
    context |= {"open": figures.n_open, "decided": figures.n_rows - figures.n_open, "plain_rows": plain}
    return Parts(
        "classes", ("arithmetic.js", "doubt.js", "classes.js"), figures, _plain(figures, found) | more, data, context
    )


def renamed_columns(table: NamedColumns, now: Any) -> NamedColumns:
    """Columns -> the same with the names and categories that a model has."""
    known = now.fitted.schema.categories
    listed = [
        Factors(column.codes, known[j]) if isinstance(column, Factors) else column
        for j, column in enumerate(table.listed)
    ]
    names = now.fitted.schema.names
    pairs = zip(table.names, names, strict=True) if table.names and names else ()
    return NamedColumns(names, listed, {new for old, new in pairs if old in table.dates})


def _renamed(labels: NDArray[Any], classes: NDArray[Any], names: NDArray[Any]) -> NDArray[Any]:
    """Labels (m,), classes (K,), their readable names (K,) -> readable labels (m,); None stays."""
    known = dict(zip(classes.tolist(), names.tolist(), strict=True))
    return np.array([known.get(label, label) for label in labels.tolist()], dtype=object)


def _data(
    now: ClassificationPredictor, said: ReportData, rows: NDArray[np.int64], asked: ReportRequest
) -> dict[str, Any]:
    """Answers -> the data of the page's script, without evidence, explanations and values."""
    return {
        "classes": [cut(name) for name in now.classes.tolist()],
        "classNumbers": not all(isinstance(name, str) for name in now.classes.tolist()),
        "prior": now.info.prior.tolist(),
        "nRows": len(said.is_open),
        "nTrees": int(now.forest.n_trees),
        "settings": {
            "caution": now.caution,
            "rule": page_rule(now.rule),
            "decision": page_decision(now.decision),
        },
        "rows": packed(rows + asked.first),
        "names": None if asked.names is None else [asked.names[row] for row in rows.tolist()],
        "truth": None if said.truth is None else packed(said.truth[rows]),
        "label": packed(said.label[rows]),
        "sets": [np.flatnonzero(said.chosen[row]).tolist() for row in rows.tolist()],
        "opened": _opened(now, said, rows),
    }


def _opened(now: ClassificationPredictor, said: ReportData, rows: NDArray[np.int64]) -> dict[str, Any]:
    """The cases with unseen values or novelty, and their opinions (m, K): leaves alone do not give these."""
    doubted = now.adjusted_rows(said.batch)
    cases = np.flatnonzero([] if doubted is None else doubted[rows])
    opinion = said.opinion[rows[cases]]
    parts = {"probability": opinion.probability, "lower": opinion.lower, "upper": opinion.upper}
    return {"cases": cases.tolist(), "parts": {name: packed(values) for name, values in parts.items()}}


def _plain_row(forest: Any, said: ReportData, row: int, asked: ReportRequest) -> tuple[str, str, str, str]:
    """An undecided row -> its name, the classes that remain, the most probable one with its bounds, the true one."""
    label = int(said.label[row])
    remains = " or ".join(cut(name) for name in forest.classes_[said.chosen[row]].tolist())
    bounds = f"{100 * said.opinion.lower[row, label]:.1f} to {100 * said.opinion.upper[row, label]:.1f} %"
    truth = "" if said.truth is None else cut(forest.classes_[said.truth[row]])
    return asked.called(row), remains, f"{cut(forest.classes_[label])}: {bounds}", truth


def _plain(figures: ReportFigures, rates: dict[str, Estimate]) -> dict[str, Any]:
    """Figures, and those of two classes -> plain Python."""
    places = [
        {"conditions": list(place.conditions), "rows": place.rows, "undecided": place.undecided}
        for place in figures.places
    ]
    strangers = None if figures.strangers is None else figures.strangers.number
    known = {"rows": figures.n_rows, "indeterminate": figures.n_open, "strangers": strangers}
    two = {"two_classes": {name: each._asdict() for name, each in rates.items()}} if rates else {}
    return known | figures.values | two | {"places": places}
