"""Novelty: rows and the hulls of the leaves they reach -> how unusual rows are, as p-values, and in which feature.

A row has two scores: how far it lies outside hulls in all features together, each distance counted up to 1, and how far
it lies outside in its strangest feature alone. Training rows have the same scores over the trees whose bags do not hold
them. The rank of a row among these is a p-value; of the two p-values the smaller one counts, ranked once more.

Training rows are judged by a third of the trees, so their scores are noisier than those of other rows, and p-values
would be too large. What half of these trees say shows how scores change with the number of trees, and the change is
continued up to all of them (`_as_forest`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.belief.opinion import SMALLEST
from hedgerow.forest.forest import Forest
from hedgerow.forest.leaf_ranges import (
    LeafRanges,
    NoveltyScores,
    cells_of_codes,
    cells_of_table,
    find_leaf_ranges,
    measure,
    measure_distance,
)
from hedgerow.forest.training import TrainingRows
from hedgerow.inference.fitted import Fitted
from hedgerow.table import Table
from hedgerow.table.bins import Codes, encode
from hedgerow.table.codebook import Codebook

Floats = NDArray[np.float64]

#: p-values are ranks among at most this many training rows.
MAX_ROWS = 2048
#: Rows are judged in blocks of this many cells of drawn features.
_CELLS = 1 << 21


class PredictionNovelty(NamedTuple):
    """How unusual n samples are.

    ``p_value`` (n,) is small for rows that are not like the training rows. ``feature`` (n,) is the number of the
    feature in which a row lies furthest outside what leaves have seen, and ``alone`` (n,) the p-value of this feature
    alone. ``within`` (n,) is 1 unless a row is stranger than all training rows; then it is their largest score as a
    share of the row's.
    """

    p_value: Floats
    feature: NDArray[np.int64]
    alone: Floats
    within: Floats

    def take(self, rows: slice | NDArray[np.integer[Any]]) -> PredictionNovelty:
        """The same for some of the samples."""
        return PredictionNovelty(self.p_value[rows], self.feature[rows], self.alone[rows], self.within[rows])


@dataclass(frozen=True, eq=False, repr=False)
class Novelty:
    """What a forest knows of its training rows, to tell what is new.

    Parameters
    ----------
    hulls : Hulls
        What each leaf has seen.
    total, single : (k,) float64
        The two scores of training rows, in ascending order, as all trees with hulls would give them.
    both : (k,) float64
        The smaller of their two p-values, negative, in ascending order.
    """

    leaf_ranges: LeafRanges
    total: Floats
    single: Floats
    both: Floats

    def of(self, strangeness: NoveltyScores) -> PredictionNovelty:
        """Scores of rows -> p-values."""
        alone = p_values(self.single, strangeness.single)
        smaller = np.minimum(p_values(self.total, strangeness.total), alone)
        pairs = ((self.total, strangeness.total), (self.single, strangeness.single))
        within = np.minimum(*(_within(usual, scores) for usual, scores in pairs))
        return PredictionNovelty(p_values(self.both, -smaller), strangeness.feature, alone, within)


def has_novelty(fitted: Fitted) -> bool:
    """Whether training rows outside the bags are known, or what was learned from them."""
    return fitted.oob_rows is not None or fitted.learned.last("novelty") is not None


def learned_novelty(fitted: Fitted, n_threads: int = 1) -> Novelty:
    """What a fit knows of its training rows, learned when first needed; refused if it draws no bags."""

    def make() -> Novelty:
        rows = fitted.oob_rows
        if rows is None:
            raise ValueError(
                "predict_novelty must be called on a forest whose bags leave rows out, got one without a bootstrap,"
                " warm-started on other rows, merged, or saved by an earlier version; fit with bootstrap=True"
            )
        leaf_ranges = find_leaf_ranges(fitted.forest, rows.codes, rows.bags, fitted.codebook, fitted.seed, n_threads)
        return learn_novelty(fitted.forest, leaf_ranges, rows, fitted.codebook, n_threads)

    return fitted.learned.get("novelty", None, make)


def keep_novelty(fitted: Fitted) -> None:
    """Learn what the training rows are needed for, before a file or a pickle leaves them out."""
    if has_novelty(fitted):
        known = learned_novelty(fitted)
        for output in fitted.outputs:  # the same trees
            output.learned.put("novelty", None, known)


def learn_novelty(
    forest: Forest, leaf_ranges: LeafRanges, rows: TrainingRows, codebook: Codebook, n_threads: int
) -> Novelty:
    """Hulls and training rows -> the scores that are usual, from trees that have not seen the rows."""
    chosen = rows.bags.independent_rows(MAX_ROWS)
    codes = rows.codes_of(chosen)
    cells = cells_of_codes(codes, leaf_ranges, codebook)
    given = (leaf_ranges, forest, codes, cells, codebook, chosen, rows.bags, n_threads)
    by_all, by_half, number = measure_distance(*given)
    judged = number > 0
    by_all, by_half = by_all.take(judged), by_half.take(judged)
    share = float(number[judged].mean()) / len(leaf_ranges.features) if judged.any() else 1.0
    total = _as_forest(by_all.total, by_half.total, share)
    single = _as_forest(by_all.single, by_half.single, share)
    return Novelty(leaf_ranges, total, single, np.sort(_smaller(by_all)))


def novelty_of(fitted: Fitted, table: Table, codes: Codes | None = None, n_threads: int = 1) -> PredictionNovelty:
    """A fit, a table that has been read and perhaps encoded -> how unusual its rows are."""
    known = learned_novelty(fitted, n_threads)
    leaf_ranges, forest, codebook = known.leaf_ranges, fitted.forest, fitted.codebook
    if codes is None or fitted.wanted_features is not None:  # codes may be those of some features only
        wanted = np.zeros(table.n_features, dtype=np.uint8)
        wanted[leaf_ranges.used] = wanted[forest.used_features] = 1
        codes = encode(table, fitted.bins, wanted=wanted, n_threads=n_threads)
    cells = cells_of_table(table, codes, leaf_ranges, codebook)
    block = max(1, _CELLS // max(len(leaf_ranges.used), len(leaf_ranges.features)))
    parts = []
    for first in range(0, table.n_rows, block):
        part = slice(first, first + block)
        of_rows = np.ascontiguousarray(codes[:, part]), np.ascontiguousarray(cells[:, part])
        parts.append(known.of(measure(leaf_ranges, forest, *of_rows, codebook, n_threads)))
    return PredictionNovelty(*(np.concatenate(each) for each in zip(*parts, strict=True)))


def p_values(usual: Floats, scores: Floats) -> Floats:
    """Usual scores (k,) in ascending order, scores (n,) -> (n,): (1 + number at least as large) / (k + 1)."""
    larger = len(usual) - np.searchsorted(usual, scores, side="left")
    return np.asarray((1 + larger) / (len(usual) + 1))


def _within(usual: Floats, scores: Floats) -> Floats:
    """Usual scores (k,) in ascending order, scores (n,) -> (n,): the largest usual one as a share, at most 1."""
    if not len(usual):
        return np.ones(len(scores))
    return np.asarray(max(usual[-1], 0.0) / np.maximum(np.maximum(scores, usual[-1]), SMALLEST))


def _smaller(strangeness: NoveltyScores) -> Floats:
    """Scores of training rows -> the smaller p-value of each row, negative."""
    pair = (p_values(np.sort(scores), scores) for scores in (strangeness.total, strangeness.single))
    return -np.minimum(*pair)


def _as_forest(whole: Floats, half: Floats, share: float) -> Floats:
    """Scores (k,) by a share of the trees and by half of these -> in ascending order, about those by all trees.

    Scores are means over trees, so the effect of noise on a quantile falls with one over the number of trees.
    """
    whole, half = np.sort(whole), np.sort(half)
    return np.sort(whole + (1 - share) * (whole - half))
