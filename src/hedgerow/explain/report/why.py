"""Short explanations for a report."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

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
from hedgerow.explain.survival import SurvivalExplanation
from hedgerow.explain.text import shown_features
from hedgerow.explain.words import percents, remedy_words
from hedgerow.inference.batch import Batch
from hedgerow.tasks.classification.predictor import ClassificationPredictor

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

#: Number of undecided cases explained, the most uncertain ones, besides a few of each place.
MOST_UNCERTAIN = 100
#: Size limit of these explanations, in bytes.
WHY_BYTES = 500_000
#: Number of cases explained between two reports of progress.
AT_A_TIME = 20
#: Feature contributions are computed for at most this many node visits, which take a few seconds.
MOST_VISITS = 30_000_000
#: Numbers of nearest training rows, and of features shown with them.
NEAREST, SHOWN = 4, 3
#: Length limit of sentences, in characters.
LONGEST_SENTENCE = 400


class HasBatch(Protocol):
    """Predictions with the batch they belong to."""

    @property
    def batch(self) -> Batch:
        """The batch."""


def worth_explaining(predictions: ReportData, places: list[Place]) -> NDArray[np.int64]:
    """Choose the most uncertain undecided rows, and a few of each place.

    Uncertainty is the excess of the largest upper probability of other classes over the lower probability of the label.
    """
    rows, label = np.flatnonzero(predictions.is_open), predictions.label
    others = predictions.opinion.upper[rows].copy()
    others[np.arange(len(rows)), label[rows]] = -np.inf
    ahead = others.max(axis=1, initial=-np.inf) - predictions.opinion.lower[rows, label[rows]]
    uncertain = rows[np.argsort(-ahead, kind="stable")[:MOST_UNCERTAIN]].tolist()
    examples = [row for place in places for row in place.examples]
    return np.array(list(dict.fromkeys(uncertain + examples)), dtype=np.int64)


def explanations_of(
    forest: BaseEstimator,
    predictor: ClassificationPredictor,
    predictions: ReportData,
    rows: NDArray[np.int64],
    training: KnownRows | None,
    request: ReportRequest,
    max_bytes: int | None,
) -> dict[int, dict[str, Any]]:
    """Explain rows (m,), as many as fit into `max_bytes`; return the explanations by row.

    The time limit of the search for counterfactuals is divided equally among the rows.
    """
    options: dict[str, Any] = {"cases": NEAREST, "time_limit": min(1.0, request.time_limit / max(1, len(rows)))}
    options["shap"] = len(predictor.forest.nodes) * len(rows) <= MOST_VISITS
    options["limits"] = limits_of(predictor, request.immutable)

    def explain(batch: Batch) -> list[dict[str, Any]]:
        found = explain_batch(forest, predictor, batch, training, **options)
        return [_words(explanation, request.first_row) for explanation in found]

    return explained_within(max_bytes, predictions, rows, request.progress, explain)


def explained_within(
    max_bytes: int | None,
    predictions: HasBatch,
    rows: NDArray[np.int64],
    progress: Callable[[int, int], None],
    explain: Callable[[Batch], list[dict[str, Any]]],
) -> dict[int, dict[str, Any]]:
    """Explain rows (m,) in blocks, as many as fit into `max_bytes`.

    Return the results of `explain` by row.
    """
    lines: dict[int, dict[str, Any]] = {}
    for start in range(0, len(rows), AT_A_TIME):
        block = rows[start : start + AT_A_TIME]
        for row, words in zip(block.tolist(), explain(predictions.batch[block]), strict=True):
            if max_bytes is not None:
                max_bytes -= len(safe_json(words).encode(errors="backslashreplace"))
                if max_bytes < 0:
                    return lines
            lines[row] = words
        progress(len(lines), len(rows))
    return lines


def _words(explanation: Explanation, first: int) -> dict[str, Any]:
    """Return the part of an explanation that the page shows."""
    causes = explanation.uncertainty
    shares = percents([cause.share for cause in causes])
    sources = [[share, one_line(cause.text)] for share, cause in zip(shares, causes, strict=True) if share > 0]
    return {
        "sentence": one_line(explanation.sentence),
        "uncertainty": sources,
        "remedies": [one_line(line) for line in remedy_words(explanation)],
        "rules": [one_line(line) for line in explanation.rules],
        "near": nearest_words(explanation, shown_features(explanation)[:SHOWN], first),
        "contributions": _contributions(explanation),
        "partial": None in explanation.values.values()
        or any(cause.share > 0 for cause in causes if cause.cause == "out_of_range"),
    }


def nearest_words(
    explanation: Explanation | RegressionExplanation | SurvivalExplanation, names: list[str], first: int
) -> dict[str, Any] | None:
    """Return the nearest training rows with the named features.

    None if they are not available.
    """
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


def _contributions(explanation: Explanation) -> dict[str, Any] | None:
    """Return the largest contributions to the label and to the width.

    None if they were not computed.
    """
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
    """Format a sentence on one line, cut if it is too long."""
    return cut(words, LONGEST_SENTENCE)
