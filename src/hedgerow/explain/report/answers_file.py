"""Files of answers from a report, and fingerprints of the model and table they belong to."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import dataclass
from reprlib import repr as shortened
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.inference.fitted import Fitted
from hedgerow.table import Factors, NamedColumns

#: What a file of answers says it is.
FORMAT, VERSION = "hedgerow answers", 1
#: Digits of a mark; more would not make it safer against mistakes.
DIGITS = 32
#: No answer and no row is a number as large as this.
MOST = 1e150


class Answer(NamedTuple):
    """What a reader said of one row, counted from 0: a class by its place, a number, or None; and a note."""

    row: int
    answer: float | None
    unsure: bool
    note: str


@dataclass(frozen=True)
class AnswersFile:
    """The answers of a reader, and the marks of the model and the table they belong to."""

    model: str
    table: str
    answers: list[Answer]


def model_mark(fitted: Fitted) -> str:
    """A fit -> text that differs for every other fit: of its trees, leaves, classes and names of features."""
    digest = hashlib.sha256()
    for name, array in sorted(fitted.forest.arrays().items()):
        digest.update(name.encode())
        if array is not None:
            digest.update(np.ascontiguousarray(array).tobytes())
    names = [str(name) for name in (*fitted.info.names.tolist(), *fitted.codebook.names)]
    digest.update(json.dumps(names).encode())
    return digest.hexdigest()[:DIGITS]


def table_mark(table: NamedColumns) -> str:
    """The columns of a table as a model reads them -> text that differs for every other table."""
    digest = hashlib.sha256()
    for column in table.listed:
        values = np.asarray(column.codes if isinstance(column, Factors) else column, dtype="<f8")
        digest.update(_plain_zeros(values).tobytes())
    return digest.hexdigest()[:DIGITS]


def read_answers(text: str) -> AnswersFile:
    """The text of a file that a report has saved -> answers; refused with a ValueError if it is no such file."""
    try:
        held = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError("it is not JSON") from None
    if not isinstance(held, dict) or held.get("format") != FORMAT:
        raise ValueError("it was not saved by a report of hedgerow")
    if held.get("version") != VERSION:
        raise ValueError(f"its version is {shortened(held.get('version'))}, and this hedgerow reads version {VERSION}")
    first, listed = held.get("first", 0), held.get("answers")
    if not (_is_whole(first) and isinstance(listed, list) and all(isinstance(each, dict) for each in listed)):
        raise ValueError("it is damaged: it has no list of answers")
    answers = [_answer(each, first) for each in listed]
    rows = Counter(each.row for each in answers if each.answer is not None)
    if twice := [row for row, times in rows.items() if times > 1]:
        raise ValueError(f"it is damaged: row {twice[0] + first} has two answers")
    return AnswersFile(str(held.get("model")), str(held.get("table")), answers)


def _answer(each: dict[str, Any], first: int) -> Answer:
    """One entry of the file -> an answer."""
    answer: Any = each.get("answer")
    row: Any = each.get("row")
    if not (answer is None or (_is_number(answer) and abs(answer) < MOST)):
        raise ValueError(f"it is damaged: an answer is {shortened(answer)}")
    if not _is_whole(row) or not first <= row < MOST:
        raise ValueError(f"it is damaged: a row is {shortened(row)}")
    return Answer(row - first, answer, bool(each.get("unsure", False)), str(each.get("note", "")))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_whole(value: Any) -> bool:
    return _is_number(value) and isinstance(value, int)


def _plain_zeros(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Numbers -> the same with one kind of zero and one kind of NaN."""
    return np.where(np.isnan(values), np.nan, values + 0.0)
