"""Queue: a model and a table -> the cases worth asking about first."""

from __future__ import annotations

from typing import Any

import numpy as np

from hedgerow.commands.kinds import model_asked, presenter_of
from hedgerow.commands.match import prepare_for, table_for
from hedgerow.commands.options.back import QueueOptions
from hedgerow.commands.source import read_sheet, require_one_stdin
from hedgerow.commands.talk import grid, note, show, write_json
from hedgerow.explain.cases import number


def queue(options: QueueOptions) -> None:
    """Load, read, rank, print."""
    require_one_stdin(options.model, *options.data)
    model = model_asked(options)
    sheet = read_sheet(options.data, options)
    if options.id:
        sheet.require(options.id, "--id")
    prepare_for(model, sheet, texts=[options.id])
    table = table_for(model, sheet, tuple(filter(None, (options.id,))), allow_missing=options.allow_missing_columns)
    rows = np.asarray(model.suggest(table, options.number))
    names = sheet.cells(options.id)[rows].tolist() if options.id else [None] * len(rows)
    cases = [
        {"rank": place + 1, "row": int(row) + 1, "name": None if name is None else str(name)} | said
        for place, (row, name, said) in enumerate(
            zip(rows, names, presenter_of(model).said(model, table.some(rows)), strict=True)
        )
    ]
    if options.as_json:
        write_json(cases)
        return
    heads = [head for head in cases[0] if head != "name" or options.id] if cases else []
    show(
        grid("Ask about these first", heads, [[_cell(case[head]) for head in heads] for case in cases], left=len(heads))
    )
    note("to answer them, open a report of this table, mark the cases, save, and use hedgerow learn")


def _cell(value: Any) -> str:
    """A value -> text in a table."""
    if isinstance(value, list):
        return " or ".join(value)
    return number(value) if isinstance(value, float) else str(value)
