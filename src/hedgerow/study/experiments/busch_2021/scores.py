"""Scores: results of all units -> accuracy and AUC by set, leaf size and method, and their ranks."""

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
    """By leaf size: whether a method is the best, and whether it is not but ties with the best."""

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
        Which column stands for EVA.
    """

    sets: tuple[str, ...]
    accuracy: Floats
    auc: Floats
    eva: str = "EVA"

    def of(self, measure: str, methods: Sequence[str], which: str | None = None) -> Floats:
        """ "accuracy" or "auc" (sets, leaf sizes, methods) of some methods, on all or on balanced or"
        " imbalanced sets."""
        table: Floats = getattr(self, measure)
        names = [self.eva if method == "EVA" else method for method in methods]
        picked: Floats = table[:, :, [COLUMNS.index(name) for name in names]]
        return picked if which is None else picked[[self.kind(name) == which for name in self.sets]]

    def ranks(self, measure: str, methods: Sequence[str] = METHODS, which: str | None = None) -> Floats:
        """Mean over sets of the rank among all methods and leaf sizes together (leaf sizes, methods); 1 is best."""
        table = self.of(measure, methods, which)
        ranked: Floats = rankdata(-table.reshape(len(table), -1), axis=1).reshape(table.shape).mean(axis=0)
        return ranked

    def ranks_by_leaf(self, measure: str, methods: Sequence[str] = METHODS, which: str | None = None) -> Floats:
        """Mean over sets of the rank among the methods of one leaf size (leaf sizes, methods); 1 is best."""
        ranked: Floats = rankdata(-self.of(measure, methods, which), axis=2).mean(axis=0)
        return ranked

    def best_or_tied(self, measure: str, methods: Sequence[str], name: str, which: str | None = None) -> ScorePlace:
        """By leaf size, whether one method has the best mean rank, and whether it ties with the method that has it.

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
        """On how many sets one method beats another, by leaf size; a tie counts half."""
        pair = self.of(measure, (one, other))
        gap = pair[:, :, 0] - pair[:, :, 1]
        won: Floats = (gap > 0).sum(axis=0) + 0.5 * (gap == 0).sum(axis=0)
        return won

    def kind(self, name: str) -> str | None:
        """Balanced (.4 to .6), imbalanced (below .3 or above .7), or neither, as in Figure 6."""
        ratio = PAPER["table_1"]["rows"][name][2]
        return EVEN if 0.4 <= ratio <= 0.6 else UNEVEN if ratio < 0.3 or ratio > 0.7 else None


def collect(results: Results, *, first_halves: bool, eva: str = "EVA") -> Scores:
    """Units -> scores of one protocol: all halves, or only the first of each repetition."""
    sets = tuple(title for title in PAPER["files"] if results.of(kind="halves", set=title))
    tables = {"accuracy": [], "auc": []}  # type: dict[str, list[list[Floats]]]
    for title in sets:
        for measure, table in tables.items():
            table.append([_mean(results, measure, title, leaf, first_halves) for leaf in LEAF_SIZES])
    return Scores(sets, np.array(tables["accuracy"]), np.array(tables["auc"]), eva)


def clouds(results: Results, title: str) -> dict[int, tuple[Floats, Floats]]:
    """A set of Figure 5 -> leaf size to accuracies of single trees (T,) and of the columns."""
    found = {}
    for leaf in sorted((*LEAF_SIZES, *CLOUD_SIZES)):
        for _, result in results.of(set=title, leaf=leaf):
            half = result["halves"][0]
            if half["trees"]:
                found[leaf] = (np.array(half["trees"]), np.array(half["accuracy"]))
    return found


def _mean(results: Results, measure: str, title: str, leaf: int, first_halves: bool) -> Floats:
    """Mean of a measure over repetitions and halves (columns,)."""
    rows = []
    for _, result in results.of(kind="halves", set=title, leaf=leaf):
        rows += [half[measure] for half in (result["halves"][:1] if first_halves else result["halves"])]
    mean: Floats = np.mean(rows, axis=0)
    return mean
