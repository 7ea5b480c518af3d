"""Predict: a model file and a table -> label, set, bounds and uncertainty of each row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hedgerow.commands.match import table_for
from hedgerow.commands.numbers import NumberAnswers, is_regressor, model_asked, number_answers
from hedgerow.commands.output import Answers, Kept, check_out, write_answers
from hedgerow.commands.sheet import Sheet
from hedgerow.commands.source import read_sheet, require_one_stdin
from hedgerow.commands.talk import number_of, say
from hedgerow.judge.answer import answers_of as ask
from hedgerow.table import NamedColumns

#: What `predict_uncertainty` returns that is written.
PARTS = ("total", "aleatoric", "epistemic", "conflict", "vacuity")


@dataclass(frozen=True)
class PredictOptions:
    """What `hedgerow predict` was asked."""

    model: str
    data: str
    out: str | None = None
    target: str | None = None
    id: str | None = None
    keep: tuple[str, ...] = ()
    keep_all: bool = False
    rule: str | None = None
    caution: str | None = None
    decision: str | None = None
    coverage: float | None = None
    prefix: str = ""
    missing: tuple[str, ...] = ()
    as_json: bool = False


def predict(options: PredictOptions) -> None:
    """Load, read, answer, write."""
    require_one_stdin(options.model, options.data)
    check_out(options.out)
    model = model_asked(options)
    sheet = read_sheet(options.data, options.missing)
    answers, kept = answers_of(model, sheet, options)
    write_answers(answers, Kept(sheet, kept), options.out, as_json=options.as_json, prefix=options.prefix)
    said = number_of(sheet.n_rows, "row")
    if isinstance(answers, Answers):
        said += f", {int((answers.chosen.sum(axis=1) > 1).sum()):,} of them indeterminate"
    say(said)


def answers_of(model: Any, sheet: Sheet, options: PredictOptions) -> tuple[Answers | NumberAnswers, tuple[str, ...]]:
    """A model and a sheet -> what it says of each row, and the columns that go along."""
    asked = [(name, option) for name, option in ((options.id, "--id"), (options.target, "--target")) if name]
    asked += [(name, "--keep") for name in options.keep]
    for name, option in asked:
        sheet.require(name, option)
    kept = sheet.names if options.keep_all else tuple(dict.fromkeys(name for name, _ in asked))
    table = table_for(model, sheet, tuple(name for name, _ in asked))
    if is_regressor(model):
        return number_answers(model, table, options.coverage), kept
    return _answers(model, table), kept


def _answers(model: Any, table: NamedColumns) -> Answers:
    """A model and the table it expects -> what it says."""
    now = ask(model)
    opinion = now.opinion(now.read(table))
    uncertainty = model.predict_uncertainty(table) if hasattr(model, "predict_uncertainty") else None
    best = opinion.probability.argmax(axis=1)
    return Answers(
        classes=model.classes_,
        label=model.classes_[best],
        probability=opinion.probability[np.arange(len(best)), best],
        chosen=now.chosen(opinion),
        bounds=np.stack([opinion.lower, opinion.upper], axis=2),
        uncertainty={part: getattr(uncertainty, part) for part in PARTS} if uncertainty else {},
    )
