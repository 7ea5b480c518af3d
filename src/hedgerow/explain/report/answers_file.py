"""Answers saved from a report, and fingerprints of their model and table."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import dataclass
from reprlib import repr as shortened
from typing import NamedTuple, TypeGuard

import numpy as np
from numpy.typing import NDArray

from hedgerow.inference.fitted import Fitted
from hedgerow.table import Factors, NamedColumns

#: Format of files of answers.
FORMAT, VERSION = "hedgerow answers", 1
#: Hexadecimal digits of a fingerprint.
DIGITS = 32
#: Upper bound of answers and row numbers.
MOST = 1e150
#: Row numbers are below this bound.
MOST_ROWS = 2**53


class Answer(NamedTuple):
    """Answer about one row, counted from 0: a class by number, a target or None."""

    row: int
    answer: float | None
    unsure: bool
    note: str


@dataclass(frozen=True)
class AnswersFile:
    """Answers, and fingerprints of their model and table."""

    model: str
    table: str
    answers: list[Answer]


def model_mark(fitted: Fitted) -> str:
    """Return a fingerprint of the trees, leaves, classes and feature names of a fit."""
    digest = hashlib.sha256()
    for name, array in sorted(fitted.forest.arrays().items()):
        digest.update(name.encode())
        if array is not None:
            digest.update(np.ascontiguousarray(array).tobytes())
    names = [str(name) for name in (*fitted.info.names.tolist(), *fitted.codebook.names)]
    digest.update(json.dumps(names).encode())
    return digest.hexdigest()[:DIGITS]


def table_mark(table: NamedColumns) -> str:
    """Return a fingerprint of the columns of a table as a model reads them."""
    digest = hashlib.sha256()
    for column in table.listed:
        values = np.asarray(column.codes if isinstance(column, Factors) else column, dtype="<f8")
        digest.update(_plain_zeros(values).tobytes())
    return digest.hexdigest()[:DIGITS]


def read_answers(text: str) -> AnswersFile:
    """Read a file that a report has saved; raise a ValueError for other files."""
    try:
        held = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError("not JSON") from None
    if not isinstance(held, dict) or held.get("format") != FORMAT:
        raise ValueError("Its format is unknown.")
    if held.get("version") != VERSION:
        raise ValueError(f"version must be {VERSION}, got {shortened(held.get('version'))}")
    first, listed = held.get("first", 0), held.get("answers")
    if not (_is_whole(first) and 0 <= first < MOST_ROWS):
        raise ValueError("corrupt: invalid number of the first row")
    if not (isinstance(listed, list) and all(isinstance(each, dict) for each in listed)):
        raise ValueError("corrupt: no list of answers")
    answers = [_answer(each, first) for each in listed]
    rows = Counter(each.row for each in answers if each.answer is not None)
    if twice := [row for row, times in rows.items() if times > 1]:
        raise ValueError(f"corrupt: two answers for row {twice[0] + first}")
    return AnswersFile(str(held.get("model")), str(held.get("table")), answers)


def _answer(each: dict[str, object], first: int) -> Answer:
    """Check one entry of the file."""
    answer, row = each.get("answer"), each.get("row")
    if not (answer is None or (_is_number(answer) and abs(answer) < MOST)):
        raise ValueError(f"corrupt: invalid answer {shortened(answer)}")
    if not _is_whole(row) or not first <= row < MOST_ROWS:
        raise ValueError(f"corrupt: invalid row {shortened(row)}")
    return Answer(row - first, answer, bool(each.get("unsure", False)), str(each.get("note", "")))


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_whole(value: object) -> TypeGuard[int]:
    return _is_number(value) and isinstance(value, int)


def _plain_zeros(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Replace negative zeros and all NaN payloads by one zero and one NaN."""
    return np.where(np.isnan(values), np.nan, values + 0.0)
