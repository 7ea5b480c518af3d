"""Explanations short enough for a page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.explain.cases import KnownRows, value_words
from hedgerow.explain.classification import explain_batch, limits_of
from hedgerow.explain.explanation import Explanation
from hedgerow.explain.regression import RegressionExplanation
from hedgerow.explain.report.figures import ReportData
from hedgerow.explain.report.pack import cut, safe_json
from hedgerow.explain.report.places import Place
from hedgerow.explain.report.request import ReportRequest
from hedgerow.explain.text import shown_features
from hedgerow.explain.words import percents, remedy_words
from hedgerow.inference.batch import Batch
from hedgerow.tasks.classification.predictor import ClassificationPredictor

#: This many of the undecided cases are explained, the most doubtful ones, and a few more of each place.
MOST_DOUBTFUL = 100
#: Most bytes for the explanations of these in the page.
WHY_BYTES = 500_000
#: Cases are explained in blocks of so many, and progress is told after each.
AT_A_TIME = 20
#: What each feature adds is computed if so many nodes have to be visited at most, which takes a few seconds.
MOST_VISITS = 30_000_000
#: Nearest training rows that are shown, and features shown with them.
NEAREST, SHOWN = 4, 3
#: Longer sentences are cut.
LONGEST_SENTENCE = 400


def worth_explaining(predictions: ReportData, places: list[Place]) -> NDArray[np.int64]:
    """What a forest said, and where undecided rows are -> the most doubtful of them and a few of each place, in turn.

    A row is the more doubtful the more the upper bounds of other classes exceed the lower bound of its label.
    """
    rows, label = np.flatnonzero(predictions.is_open), predictions.label
    others = predictions.opinion.upper[rows].copy()
    others[np.arange(len(rows)), label[rows]] = -np.inf
    ahead = others.max(axis=1, initial=-np.inf) - predictions.opinion.lower[rows, label[rows]]
    uncertain = rows[np.argsort(-ahead, kind="stable")[:MOST_DOUBTFUL]].tolist()
    examples = [row for place in places for row in place.examples]
    return np.array(list(dict.fromkeys(uncertain + examples)), dtype=np.int64)


def explanations_of(
    forest: Any,
    predictor: ClassificationPredictor,
    predictions: ReportData,
    rows: NDArray[np.int64],
    training: KnownRows | None,
    request: ReportRequest,
    room: int | None,
) -> dict[int, dict[str, Any]]:
    """A forest, what it said, and the rows (m,) to explain -> {row: explanation}, as many as fit into `room` bytes.

    The search for the smallest change of a row takes an equal part of the seconds.
    """
    options: dict[str, Any] = {"cases": NEAREST, "time_limit": min(1.0, request.time_limit / max(1, len(rows)))}
    options["shap"] = len(predictor.forest.nodes) * len(rows) <= MOST_VISITS
    options["limits"] = limits_of(predictor, request.immutable)

    def explain(batch: Batch) -> list[dict[str, Any]]:
        found = explain_batch(forest, predictor, batch, training, **options)
        return [_words(explanation, request.first_row) for explanation in found]

    return explained_within(room, predictions, rows, request.progress, explain)


def explained_within(
    room: int | None,
    predictions: Any,
    rows: NDArray[np.int64],
    progress: Callable[[int, int], None],
    explain: Callable[[Batch], list[dict[str, Any]]],
) -> dict[int, dict[str, Any]]:
    """Rows (m,), a function from a batch to the words about each row -> {row: words}.

    These are all rows, or as many as fit into `room` bytes.
    """
    lines: dict[int, dict[str, Any]] = {}
    for start in range(0, len(rows), AT_A_TIME):
        some = rows[start : start + AT_A_TIME]
        for row, words in zip(some.tolist(), explain(predictions.batch[some]), strict=True):
            if room is not None:
                room -= len(safe_json(words).encode(errors="backslashreplace"))
                if room < 0:
                    return lines
            lines[row] = words
        progress(len(lines), len(rows))
    return lines


def _words(explanation: Explanation, first: int) -> dict[str, Any]:
    """An explanation -> the part that the page shows."""
    shares = percents([cause.share for cause in explanation.doubt])
    doubt = [[share, one_line(cause.text)] for share, cause in zip(shares, explanation.doubt, strict=True) if share > 0]
    return {
        "sentence": one_line(explanation.sentence),
        "doubt": doubt,
        "settle": [one_line(line) for line in remedy_words(explanation)],
        "rules": [one_line(line) for line in explanation.rules],
        "near": nearest_words(explanation, shown_features(explanation)[:SHOWN], first),
        "adds": _added(explanation),
        "gaps": None in explanation.values.values()
        or any(cause.share > 0 for cause in explanation.doubt if cause.cause == "outside"),
    }


def nearest_words(
    explanation: Explanation | RegressionExplanation, names: list[str], first: int
) -> dict[str, Any] | None:
    """The nearest training rows with some features; None if the model has not kept its rows."""
    if not explanation.cases:
        return None
    return {
        "names": [cut(name) for name in names],
        "own": [cut(value_words(explanation.values[name])) for name in names],
        "cases": [
            [case.row + first, round(case.weight, 3), "?" if case.label is None else cut(value_words(case.label))]
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


def one_line(words: str) -> str:
    """A sentence on one line, cut if it is too long."""
    return cut(words, LONGEST_SENTENCE)
