"""Judgement: a model, a table and the truth -> figures for people: of two classes, by group, and in costs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.commands.costs import Costs
from hedgerow.commands.outcome import DataError
from hedgerow.commands.sheet import Array, Sheet
from hedgerow.commands.talk import facts, grid, say, share
from hedgerow.judge.answer import answers_of
from hedgerow.judge.number_answers import COVERAGE
from hedgerow.judge.recognise import recognised
from hedgerow.metrics.tally import NumberTally, SetTally, tally_numbers, tally_sets
from hedgerow.metrics.two_classes import Estimate, auc, rates
from hedgerow.table import Factors, NamedColumns

#: Rows whose opinions are in memory at once.
BLOCK_ROWS = 1 << 16
#: A column with more different numbers is divided into four groups of equal size.
MOST_GROUPS = 12
#: A column with more different texts does not divide rows into groups.
MOST_NAMES = 50
#: A larger share of training rows is said to be all rows.
ALMOST_ALL = 0.99
WORDS = {
    "sensitivity": "of the {positive} rows are called {positive}",
    "specificity": "of the others are not called {positive}",
    "positive_predictive_value": "of those called {positive} are {positive}",
    "negative_predictive_value": "of the others are not {positive}",
}


@dataclass(frozen=True, eq=False)
class ClassJudgement:
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
class NumberJudgement:
    """What a regressor says about n rows, and what is true."""

    truth: NDArray[np.float64]  # (n,)
    predicted: NDArray[np.float64]  # (n,)
    interval: NDArray[np.float64] | None  # (n, 2)

    @property
    def tally(self) -> NumberTally:
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


def judge_classes(model: Any, table: NamedColumns, y: Array) -> ClassJudgement:
    """A classifier, the table it expects and the true classes (n,) -> judgement; opinions are of a block at a time."""
    now, n_rows = answers_of(model), len(y)
    probability = np.empty((n_rows, len(now.classes)))
    sets = np.empty(probability.shape, dtype=bool)
    for first in range(0, n_rows, BLOCK_ROWS):
        part = slice(first, first + BLOCK_ROWS)
        opinion = now.opinion(now.read(table.some(part)))
        probability[part], sets[part] = opinion.probability, now.chosen(opinion)
    return ClassJudgement(now.classes, np.searchsorted(now.classes, y), probability, sets)


def judge_numbers(model: Any, table: Any, y: Array, coverage: float | None) -> NumberJudgement:
    """A regressor, the table it expects and the true numbers (n,) -> judgement."""
    now = answers_of(model)
    codes = now.read(table)
    known = coverage is not None or now.has_residuals
    interval = now.interval(codes, COVERAGE if coverage is None else coverage) if known else None
    return NumberJudgement(np.asarray(y, dtype=np.float64), now.predicted(codes), interval)


def groups_of(sheet: Sheet, name: str) -> dict[str, NDArray[np.bool_]]:
    """A column -> its groups, by what they are called, and which rows (n,) belong to each."""
    gaps, held = sheet.is_missing(name), sheet.held(name)
    groups: dict[str, NDArray[np.bool_]] = {}
    if not isinstance(held, Factors) and len(np.unique(held[~gaps])) > MOST_GROUPS:
        numbers = sheet.numbers(name)
        cuts = np.unique(np.quantile(numbers[~gaps], [0, 0.25, 0.5, 0.75, 1], method="inverted_cdf"))
        for number, (low, high) in enumerate(pairwise(cuts)):
            inside = (numbers <= high) & ((numbers >= low) if number == 0 else (numbers > low))
            groups[f"{low:g} to {high:g}" if number == 0 else f"above {low:g} to {high:g}"] = inside
    else:
        found = sheet.factors(name)
        if len(found.values) > MOST_NAMES:
            raise DataError(
                f"--by must be a column of at most {MOST_NAMES} groups, got {name!r} with {len(found.values):,}"
            )
        groups = {str(value): found.codes == place for place, value in enumerate(found.values.tolist())}
    return groups | ({"missing": gaps} if gaps.any() else {})


def rows_of_fit(model: Any, table: Any) -> float | None:
    """Say if the model was trained on many of these rows -> their share, or None."""
    now = answers_of(model)
    found = recognised(now.fitted, now.read(table))
    if found is None:
        return None
    rows = "" if found.share > ALMOST_ALL else f"about {found.share:.0%} of ".replace("%", " %")
    say(
        f"warning: the model was trained on {rows}these rows, so figures are better than on other rows; take others,"
        " or fit with --folds 5 or --test-split 0.2",
        style="bold yellow",
    )
    return found.share


def two_class_facts(found: dict[str, Any]) -> Any:
    """Figures of two classes -> the table people read."""
    positive = str(found["positive"])
    rows = [("positive class", f"{positive} (--positive names the other)")]
    for name, words in WORDS.items():
        rows.append((name.replace("_", " "), f"{_interval(found[name])} {words.format(positive=positive)}"))
    rows.append(("AUC", _interval(found["auc"], as_share=False)))
    decided = ", ".join(f"{name.replace('_', ' ')} {share(each['value'])}" for name, each in found["decided"].items())
    return facts([*rows, ("where it decides", decided)])


def cost_facts(found: dict[str, float]) -> Any:
    """Costs -> the table people read."""
    words = {"cheapest_action": "cheapest action", "sets": "its sets", "labels": "its labels"}
    return grid("Cost of a row if one follows", ["", "cost"], [[words.get(n, n), f"{v:.6g}"] for n, v in found.items()])


def group_grid(name: str, groups: dict[str, dict[str, Any]]) -> Any:
    """Figures by group -> the table people read."""
    heads = list(next(iter(groups.values())))
    shares = ("accuracy", "coverage", "left_open")

    def cell(head: str, value: Any) -> str:
        if value is None:
            return "–"
        return f"{value:,}" if isinstance(value, int) else share(value) if head in shares else f"{value:.6g}"

    rows = [[group, *(cell(head, found[head]) for head in heads)] for group, found in groups.items()]
    return grid(f"By {name}", [name, *(head.replace("_", " ") for head in heads)], rows)


def _interval(found: dict[str, Any], *, as_share: bool = True) -> str:
    """An estimate -> ``95.4 % (91.0 to 97.8)``."""
    value, lower, upper = Estimate(**found)
    if value is None:
        return "–"
    if as_share:
        ends = "" if lower is None or upper is None else f" ({100 * lower:.1f} to {100 * upper:.1f})"
        return share(value) + ends
    return f"{value:.3f}" + ("" if lower is None else f" ({lower:.3f} to {upper:.3f})")
