"""Novelty p-values from the value ranges of leaves.

A row has two scores: its distance from the ranges of its leaves summed over all features, each distance capped at 1,
and the distance in its most novel feature alone. Training rows have out-of-bag scores. The rank of a row among these is
a p-value; the smaller of the two p-values is ranked once more.

Training rows are scored by a third of the trees, so their scores are noisier than those of other rows, and p-values
would be too large. Scores from half of these trees show how scores change with the number of trees, and `_as_forest`
extrapolates to all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.belief.opinion import SMALLEST
from hedgerow.forest.forest import Forest
from hedgerow.forest.grow import TrainingRows
from hedgerow.forest.leaf_ranges import (
    LeafRanges,
    NoveltyScores,
    cells_of_codes,
    cells_of_table,
    find_leaf_ranges,
    measure,
    measure_distance,
)
from hedgerow.inference.fitted import Fitted
from hedgerow.table import Table
from hedgerow.table.bins import Codebook, Codes, encode

Floats = NDArray[np.float64]

#: Maximum number of training rows that p-values rank among.
MAX_ROWS = 2048
#: Number of cells of drawn features scored at a time.
_CELLS = 1 << 21


class PredictionNovelty(NamedTuple):
    """Novelty of n samples.

    ``p_value`` (n,) is small for rows unlike the training rows. ``feature`` (n,) is the number of the feature in which
    a row lies furthest outside the ranges of its leaves, and ``alone`` (n,) the p-value of this feature alone.
    ``within`` (n,) is 1 unless a row is more novel than all training rows; then it is their largest score divided by
    that of the row.
    """

    p_value: Floats
    feature: NDArray[np.int64]
    alone: Floats
    within: Floats

    def take(self, rows: slice | NDArray[np.integer[Any]]) -> PredictionNovelty:
        """Return the novelty of some of the samples."""
        return PredictionNovelty(self.p_value[rows], self.feature[rows], self.alone[rows], self.within[rows])


@dataclass(frozen=True, eq=False, repr=False)
class Novelty:
    """Reference scores of the training rows for novelty p-values.

    Parameters
    ----------
    leaf_ranges : LeafRanges
        Value ranges of the leaves.
    total, single : (k,) float64
        The two scores of training rows, in ascending order, extrapolated to all trees with ranges.
    both : (k,) float64
        The smaller of their two p-values, negated, in ascending order.
    """

    leaf_ranges: LeafRanges
    total: Floats
    single: Floats
    both: Floats

    def of(self, scores: NoveltyScores) -> PredictionNovelty:
        """Return the novelty of rows with these scores."""
        alone = p_values(self.single, scores.single)
        smaller = np.minimum(p_values(self.total, scores.total), alone)
        pairs = ((self.total, scores.total), (self.single, scores.single))
        within = np.minimum(*(_within(usual, found) for usual, found in pairs))
        return PredictionNovelty(p_values(self.both, -smaller), scores.feature, alone, within)


def has_novelty(fitted: Fitted) -> bool:
    """Return whether a fit has out-of-bag rows or novelty scores learned from them."""
    return fitted.oob_rows is not None or fitted.learned.last("novelty") is not None


def learned_novelty(fitted: Fitted, n_threads: int = 1) -> Novelty:
    """Return the reference scores of a fit, learned when first needed.

    Raise ValueError if there are no out-of-bag rows.
    """

    def make() -> Novelty:
        rows = fitted.oob_rows
        if rows is None:
            raise ValueError("predict_novelty requires out-of-bag rows. Refit with bootstrap=True.")
        leaf_ranges = find_leaf_ranges(fitted.forest, rows.codes, rows.bags, fitted.codebook, fitted.seed, n_threads)
        return learn_novelty(fitted.forest, leaf_ranges, rows, fitted.codebook, n_threads)

    return fitted.learned.get("novelty", None, make)


def keep_novelty(fitted: Fitted) -> None:
    """Learn the reference scores before files or pickles drop the training rows."""
    if has_novelty(fitted):
        known = learned_novelty(fitted)
        for output in fitted.outputs:  # the same trees
            output.learned.put("novelty", None, known)


def learn_novelty(
    forest: Forest, leaf_ranges: LeafRanges, rows: TrainingRows, codebook: Codebook, n_threads: int
) -> Novelty:
    """Compute the out-of-bag novelty scores of the training rows."""
    chosen = rows.bags.independent_rows(MAX_ROWS)
    codes = rows.codes_of(chosen)
    cells = cells_of_codes(codes, leaf_ranges, codebook)
    given = (leaf_ranges, forest, codes, cells, codebook, chosen, rows.bags, n_threads)
    by_all, by_half, number = measure_distance(*given)
    scored = number > 0
    by_all, by_half = by_all.take(scored), by_half.take(scored)
    share = float(number[scored].mean()) / len(leaf_ranges.features) if scored.any() else 1.0
    total = _as_forest(by_all.total, by_half.total, share)
    single = _as_forest(by_all.single, by_half.single, share)
    return Novelty(leaf_ranges, total, single, np.sort(_smaller(by_all)))


def novelty_of(fitted: Fitted, table: Table, codes: Codes | None = None, n_threads: int = 1) -> PredictionNovelty:
    """Return the novelty of the rows of a table.

    `codes` are those of the fit, if they are known.
    """
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
    """Return p-values (n,) of scores among `usual` scores (k,), ascending.

    They are (1 + number of usual scores at least as large) / (k + 1).
    """
    larger = len(usual) - np.searchsorted(usual, scores, side="left")
    return np.asarray((1 + larger) / (len(usual) + 1))


def _within(usual: Floats, scores: Floats) -> Floats:
    """Return the largest usual score divided by each score (n,), at most 1."""
    if not len(usual):
        return np.ones(len(scores))
    return np.asarray(max(usual[-1], 0.0) / np.maximum(np.maximum(scores, usual[-1]), SMALLEST))


def _smaller(scores: NoveltyScores) -> Floats:
    """Return the smaller p-value of each training row, negated."""
    pair = (p_values(np.sort(each), each) for each in (scores.total, scores.single))
    return -np.minimum(*pair)


def _as_forest(whole: Floats, half: Floats, share: float) -> Floats:
    """Extrapolate scores (k,), ascending, to all trees.

    `whole` are from a share of the trees, `half` from half of these. Scores are means over trees, so the effect of
    noise on a quantile is inverse to the number of trees.
    """
    whole, half = np.sort(whole), np.sort(half)
    return np.sort(whole + (1 - share) * (whole - half))
