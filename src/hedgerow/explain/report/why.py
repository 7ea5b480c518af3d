"""Why: undecided cases -> the explanations of `forest.explain`, short enough for a page."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.explain.cases import training_rows, value_words
from hedgerow.explain.explanation import Explanation
from hedgerow.explain.report.figures import Said
from hedgerow.explain.report.pack import cut, safe_json
from hedgerow.explain.text import shown_features
from hedgerow.explain.why import explain_codes
from hedgerow.explain.words import percents, settle_words
from hedgerow.judge.answer import ClassAnswers
from hedgerow.table import Factors

#: Most cases that are explained, and most bytes for all explanations in the page.
MOST_EXPLAINED, WHY_BYTES = 200, 500_000
#: Nearest training rows that are shown, and features shown with them.
NEAREST, SHOWN = 4, 3
#: Longer sentences are cut.
LONGEST_SENTENCE = 400


def explanations_of(
    forest: Any,
    now: ClassAnswers,
    said: Said,
    rows: NDArray[np.int64],
    *,
    seconds: float,
    train: Any,
    y_train: Any,
    first: int,
) -> dict[int, dict[str, Any]]:
    """A forest, what it said, and the rows (m,) to explain -> {row: explanation}, as many as there is room for.

    The search for the smallest change of a row takes an equal part of the seconds.
    """
    rows = rows[:MOST_EXPLAINED]
    if not len(rows):
        return {}
    columns = [(column.codes if isinstance(column, Factors) else column)[rows] for column in said.table.listed]
    codes, training = np.ascontiguousarray(said.codes[:, rows]), training_rows(now, train, y_train)
    limit = min(1.0, seconds / len(rows))
    found = explain_codes(forest, now, columns, codes, training, cases=NEAREST, time_limit=limit)
    told: dict[int, dict[str, Any]] = {}
    room = WHY_BYTES
    for row, explanation in zip(rows.tolist(), found, strict=True):
        words = _words(explanation, first)
        room -= len(safe_json(words).encode())
        if room < 0:
            break
        told[row] = words
    return told


def _words(explanation: Explanation, first: int) -> dict[str, Any]:
    """An explanation -> the part that the page shows."""
    shares = percents([cause.share for cause in explanation.doubt])
    doubt = [[share, _line(cause.text)] for share, cause in zip(shares, explanation.doubt, strict=True) if share > 0]
    return {
        "sentence": _line(explanation.sentence),
        "doubt": doubt,
        "settle": [_line(line) for line in settle_words(explanation)],
        "rules": [_line(line) for line in explanation.rules],
        "near": _nearest(explanation, first),
        "adds": _added(explanation),
    }


def _nearest(explanation: Explanation, first: int) -> dict[str, Any] | None:
    """The nearest training rows with the features that matter; None if the model has not kept its rows."""
    if not explanation.cases:
        return None
    names = shown_features(explanation)[:SHOWN]
    return {
        "names": [cut(name) for name in names],
        "own": [cut(value_words(explanation.values[name])) for name in names],
        "cases": [
            [case.row + first, round(case.weight, 3), "?" if case.label is None else cut(case.label)]
            + [cut(value_words(case.values[name])) for name in names]
            for case in explanation.cases
        ],
    }


def _added(explanation: Explanation) -> dict[str, Any] | None:
    """What the features that matter add to the label and to the width; None if these are not sums over trees."""
    shap = explanation.shap
    if shap is None:
        return None
    rows = []
    for name in shown_features(explanation):
        at = shap.features.index(name)
        width = None if shap.width is None else round(shap.width[at], 4)
        words = f"{cut(name)} = {cut(value_words(explanation.values[name]))}"
        rows.append([words, round(shap.label[at], 4), width])
    return {"unit": "probability" if shap.unit == "probability" else "log-odds", "rows": rows}


def _line(words: str) -> str:
    """A sentence on one line, cut if it is too long."""
    return cut(words, LONGEST_SENTENCE)
