"""Judgement: a model, a table and the truth -> figures for people: of two classes, by group, and in costs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hedgerow.inference.predictor import predictor_of
from hedgerow.metrics.tally import RegressionTally, SetTally, tally_numbers, tally_sets
from hedgerow.metrics.two_classes import auc, rates
from hedgerow.table import Factors, NamedColumns
from hedgerow.table.categories import factors_from_cells, factors_from_numbers, learn_categories
from hedgerow.table.codebook import date_words, kind_of_days
from hedgerow.tasks.classification.costs import Costs
from hedgerow.tasks.regression.predictor import COVERAGE

Array: TypeAlias = NDArray[Any]

#: Rows whose opinions are in memory at once.
BLOCK_ROWS = 1 << 16
#: A column with more different numbers is divided into four groups of equal size.
MOST_GROUPS = 12
#: A column with more different texts does not divide rows into groups.
MOST_NAMES = 50


@dataclass(frozen=True, eq=False)
class ClassificationEvaluation:
    """What a classifier says about n rows, and what is true."""

    classes: Array  # (K,)
    truth: NDArray[np.int64]  # (n,)
    probability: NDArray[np.float64]  # (n, K)
    sets: NDArray[np.bool_]  # (n, K)

    @property
    def tally(self) -> SetTally:
        """Sums from which the figures of labels and sets follow."""
        return self.tally_of(np.ones(len(self.truth), dtype=bool))

    def tally_of(self, rows: NDArray[np.bool_]) -> SetTally:
        """The same of some rows (n,)."""
        label, numbers = self.probability.argmax(axis=1), np.arange(len(self.classes))
        found = tally_sets(self.truth[rows], label[rows], self.sets[rows], classes=numbers)
        return replace(found, classes=self.classes)

    def log_loss(self) -> float:
        """The mean of minus the logarithm of the probability of the true class."""
        return mean_log_loss(self.probability, self.truth)

    def two_classes(self, positive: int) -> dict[str, Any]:
        """Rates of labels, with intervals; the same where the set holds one class; and the area under the ROC curve."""
        probability = self.probability[:, positive]
        is_so, called = self.truth == positive, self.probability.argmax(axis=1) == positive
        decided = self.sets.sum(axis=1) == 1
        one = self.sets[:, positive]
        return {
            "positive": self.classes.tolist()[positive],
            **{name: found._asdict() for name, found in rates(is_so, called).items()},
            "auc": auc(is_so, probability)._asdict(),
            "decided": {name: found._asdict() for name, found in rates(is_so[decided], one[decided]).items()},
        }

    def costs(self, costs: Costs) -> dict[str, float]:
        """What a row costs if one follows the model."""
        return costs.figures(self.truth, self.probability, self.sets)

    def group(self, rows: NDArray[np.bool_]) -> dict[str, Any]:
        """Figures of some rows (n,)."""
        found = self.tally_of(rows).figures()
        return {
            "rows": found["rows"],
            "accuracy": found["accuracy"],
            "coverage": found["coverage"],
            "left_open": 1 - found["determinacy"],
        }


@dataclass(frozen=True, eq=False)
class RegressionEvaluation:
    """What a regressor says about n rows, and what is true."""

    truth: NDArray[np.float64]  # (n,)
    predicted: NDArray[np.float64]  # (n,)
    interval: NDArray[np.float64] | None  # (n, 2)

    @property
    def tally(self) -> RegressionTally:
        """Sums from which all figures follow."""
        return tally_numbers(self.truth, self.predicted, self.interval)

    def group(self, rows: NDArray[np.bool_]) -> dict[str, Any]:
        """Figures of some rows (n,)."""
        interval = None if self.interval is None else self.interval[rows]
        return tally_numbers(self.truth[rows], self.predicted[rows], interval).figures()


def mean_log_loss(probability: NDArray[np.float64], truth: NDArray[np.int64]) -> float:
    """Probabilities (n, K) and true classes (n,) -> the log-loss of a row; no probability counts as less than 2e-16."""
    given = probability[np.arange(len(truth)), truth]
    return float(-np.log(np.maximum(given, np.finfo(np.float64).eps)).mean())


def evaluate_classifier(model: Any, table: NamedColumns, y: Array) -> ClassificationEvaluation:
    """A classifier, the table it expects and the true classes (n,) -> judgement; opinions are of a block at a time."""
    now, n_rows = predictor_of(model), len(y)
    probability = np.empty((n_rows, len(now.classes)))
    sets = np.empty(probability.shape, dtype=bool)
    for first in range(0, n_rows, BLOCK_ROWS):
        part = slice(first, first + BLOCK_ROWS)
        opinion = now.opinion(now.read(table.some(part)))
        probability[part], sets[part] = opinion.probability, now.decide(opinion)
    return ClassificationEvaluation(now.classes, np.searchsorted(now.classes, y), probability, sets)


def evaluate_regressor(model: Any, table: Any, y: Array, coverage: float | None) -> RegressionEvaluation:
    """A regressor, the table it expects and the true numbers (n,) -> judgement."""
    now = predictor_of(model)
    batch = now.read(table)
    known = coverage is not None or now.has_residuals
    interval = now.interval(batch, COVERAGE if coverage is None else coverage) if known else None
    return RegressionEvaluation(np.asarray(y, dtype=np.float64), now.predicted(batch), interval)


def group_rows(name: str, values: Array | Factors, *, dates: bool = False) -> dict[str, NDArray[np.bool_]]:
    """The values of n rows in a column -> its groups, by what they are called, and which rows (n,) belong to each.

    Many different numbers are divided into four groups of equal size; with `dates` they are days since 1970.
    """
    if not isinstance(values, Factors) and values.dtype.kind in "iuf":
        numbers = values.astype(np.float64)
        gaps = np.isnan(numbers)
        if len(np.unique(numbers[~gaps])) > MOST_GROUPS:
            return _quarters(numbers, gaps, dates=dates) | ({"missing": gaps} if gaps.any() else {})
    found = values if isinstance(values, Factors) else _factors(values, name)
    if len(found.values) > MOST_NAMES:
        raise ValueError(
            f"by must be a column of at most {MOST_NAMES} groups, got {name!r} with {len(found.values):,}; name"
            " another, or write the group of each row into a column"
        )
    groups = {str(value): found.codes == place for place, value in enumerate(found.values.tolist())}
    absent = found.codes < 0
    return groups | ({"missing": absent} if absent.any() else {})


def _quarters(numbers: NDArray[np.float64], gaps: NDArray[np.bool_], *, dates: bool) -> dict[str, NDArray[np.bool_]]:
    """Numbers (n,) -> four groups of equal size, fewer if many are the same."""
    kind, after = kind_of_days(numbers), "after" if dates else "above"
    cuts = np.unique(np.quantile(numbers[~gaps], [0, 0.25, 0.5, 0.75, 1], method="inverted_cdf"))
    groups = {}
    for place, (low, high) in enumerate(pairwise(cuts.tolist())):
        ends = [date_words(end, kind) if dates else f"{end:g}" for end in (low, high)]
        inside = (numbers <= high) & ((numbers >= low) if place == 0 else (numbers > low))
        groups[" to ".join(ends) if place == 0 else f"{after} {ends[0]} to {ends[1]}"] = inside
    return groups


def _factors(values: Array, name: str) -> Factors:
    """Values (n,) of any type -> those that occur, sorted, and which of them each row has, -1 where it is missing."""
    told = factors_from_numbers(values) if values.dtype.kind in "iufb" else factors_from_cells(values, f"by {name!r}")
    codes, known = learn_categories(told, f"by {name!r}")
    return Factors(codes, np.array([f"{each:g}" if isinstance(each, float) else str(each) for each in known.tolist()]))


def judge(model: Any, X: Any, y: Any, *, coverage: float | None = None) -> SetTally | RegressionTally:
    """Compare the answers of a model about samples with the truth.

    Parameters
    ----------
    model : fitted classifier or regressor
        Classifiers are judged by labels and sets; regressors by predictions and, if bags leave rows out, by intervals.
    X, y : array-like of shape (n_samples, n_features) and (n_samples,)
        Samples, at least one, and their classes or numbers.
    coverage : float or None, default=None
        The promised coverage of the intervals of a regressor; None means 0.9.

    Returns
    -------
    SetTally or RegressionTally
    """
    return predictor_of(model).tally(X, y, coverage)  # type: ignore[no-any-return]
