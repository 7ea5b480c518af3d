"""Accuracy and AUC by set, leaf size and method, and their ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from hedgerow.study.experiments.busch_2021.protocol import CLOUD_SIZES, COLUMNS, LEAF_SIZES, METHODS, PAPER
from hedgerow.study.experiments.frame import Results

Floats = NDArray[np.float64]

NINE = METHODS[:9]
EVEN, UNEVEN = "balanced", "imbalanced"


class ScorePlace(NamedTuple):
    """By leaf size: whether a method is the best, or else ties with the best."""

    best: NDArray[np.bool_]
    tied: NDArray[np.bool_]


@dataclass(frozen=True)
class Scores:
    """Means over repetitions and halves of one protocol.

    Attributes
    ----------
    sets : tuple of str
        Names as in the paper's Table 1.
    accuracy, auc : (sets, leaf sizes, columns)
    eva : str
        Column that represents EVA.
    """

    sets: tuple[str, ...]
    accuracy: Floats
    auc: Floats
    eva: str = "EVA"

    def of(self, measure: str, methods: Sequence[str], which: str | None = None) -> Floats:
        """Return "accuracy" or "auc" (sets, leaf sizes, methods) on all or some sets."""
        table: Floats = getattr(self, measure)
        names = [self.eva if method == "EVA" else method for method in methods]
        picked: Floats = table[:, :, [COLUMNS.index(name) for name in names]]
        return picked if which is None else picked[[self.kind(name) == which for name in self.sets]]

    def ranks(self, measure: str, methods: Sequence[str] = METHODS, which: str | None = None) -> Floats:
        """Return mean ranks (leaf sizes, methods) among all methods and leaf sizes."""
        table = self.of(measure, methods, which)
        ranked: Floats = rankdata(-table.reshape(len(table), -1), axis=1).reshape(table.shape).mean(axis=0)
        return ranked

    def ranks_by_leaf(self, measure: str, methods: Sequence[str] = METHODS, which: str | None = None) -> Floats:
        """Return mean ranks (leaf sizes, methods) among the methods of a leaf size."""
        ranked: Floats = rankdata(-self.of(measure, methods, which), axis=2).mean(axis=0)
        return ranked

    def best_or_tied(self, measure: str, methods: Sequence[str], name: str, which: str | None = None) -> ScorePlace:
        """Test by leaf size whether a method has the best mean rank or ties with it.

        Two methods tie if the mean difference of their ranks over sets is smaller than its standard error.
        """
        ranked = rankdata(-self.of(measure, methods, which), axis=2)
        mean, own = ranked.mean(axis=0), methods.index(name)
        best = mean.argmin(axis=1)
        gap = ranked[:, :, own] - np.take_along_axis(ranked, best[None, :, None], axis=2)[:, :, 0]
        error = gap.std(axis=0, ddof=1) / np.sqrt(len(gap)) if len(gap) > 1 else np.zeros(len(best))
        is_best = mean[:, own] <= mean.min(axis=1)
        return ScorePlace(is_best, ~is_best & (gap.mean(axis=0) < error))

    def wins(self, measure: str, one: str, other: str) -> Floats:
        """Count the sets on which one method beats another, by leaf size; ties are 0.5."""
        pair = self.of(measure, (one, other))
        gap = pair[:, :, 0] - pair[:, :, 1]
        won: Floats = (gap > 0).sum(axis=0) + 0.5 * (gap == 0).sum(axis=0)
        return won

    def kind(self, name: str) -> str | None:
        """Return the balance of a set by its class ratio, as in Figure 6."""
        ratio = PAPER["table_1"]["rows"][name][2]
        return EVEN if 0.4 <= ratio <= 0.6 else UNEVEN if ratio < 0.3 or ratio > 0.7 else None


def collect(results: Results, *, first_halves: bool, eva: str = "EVA") -> Scores:
    """Return the scores of one protocol: all halves, or the first of each repetition."""
    sets = tuple(title for title in PAPER["files"] if results.of(kind="halves", set=title))
    tables = {"accuracy": [], "auc": []}  # type: dict[str, list[list[Floats]]]
    for title in sets:
        for measure, table in tables.items():
            table.append([_mean(results, measure, title, leaf, first_halves) for leaf in LEAF_SIZES])
    return Scores(sets, np.array(tables["accuracy"]), np.array(tables["auc"]), eva)


def clouds(results: Results, title: str) -> dict[int, tuple[Floats, Floats]]:
    """Return accuracies of single trees (T,) and of columns by leaf size (Figure 5)."""
    found = {}
    for leaf in sorted((*LEAF_SIZES, *CLOUD_SIZES)):
        for _, result in results.of(set=title, leaf=leaf):
            half = result["halves"][0]
            if half["trees"]:
                found[leaf] = (np.array(half["trees"]), np.array(half["accuracy"]))
    return found


def _mean(results: Results, measure: str, title: str, leaf: int, first_halves: bool) -> Floats:
    """Return the mean of a metric (columns,) over repetitions and halves."""
    rows = []
    for _, result in results.of(kind="halves", set=title, leaf=leaf):
        rows += [half[measure] for half in (result["halves"][:1] if first_halves else result["halves"])]
    mean: Floats = np.mean(rows, axis=0)
    return mean
