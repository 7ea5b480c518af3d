"""Hulls: training rows in the leaves of trees -> what each leaf has seen; other rows -> how far outside they lie.

A leaf remembers, for a few features that are drawn for its tree, which values the rows of its bag have. Of a numeric
feature it keeps the smallest and the largest value, of a nominal feature the categories, of any feature whether a value
was missing. All of it takes two bytes for a leaf and a feature (a *mark*):

======= ============================ ===========================
bits    numeric feature              nominal feature
======= ============================ ===========================
0 - 6   level of the smallest value  categories, modulo 15
7 - 13  level of the largest value   categories, modulo 15
14      whether there is any value   categories, modulo 15
15      whether a value is missing   whether a value is missing
======= ============================ ===========================

Levels are bins; of a feature with more than 127 bins, runs of neighbouring bins.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.forest.forest import Forest, some_trees
from hedgerow.forest.rows import Bags
from hedgerow.table import Table
from hedgerow.table.bins import Bins, Codes
from hedgerow.table.meaning import Meaning

Floats = NDArray[np.float64]
Marks = NDArray[np.uint16]

#: Levels of a numeric feature, and category bits of a nominal one.
LEVELS, CATEGORY_BITS = 127, 15
_PRESENT, _MISSING = 1 << 14, 1 << 15
#: Most features for each tree: with more, hulls would take more than 30 % of the bytes of a forest of two classes.
MOST_FEATURES = 4
#: No single value is further outside a hull than this many standard deviations.
FAR = 100.0
#: Leaves of this many pairs of rows and trees are in memory at a time.
_PAIRS = 1 << 22


@dataclass(frozen=True, eq=False, repr=False)
class Usual:
    """What is usual for each feature in the training rows.

    Parameters
    ----------
    n_rows : int
        Number of training rows.
    spread : (p,) float64
        Standard deviation of a numeric feature; 0 for a nominal one.
    missing : (p,) int64
        How many rows have no value.
    rows : (sum of categories,) int64
        How many rows have each category, for one nominal feature after the other.
    """

    n_rows: int
    spread: Floats
    missing: NDArray[np.int64]
    rows: NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class Hulls:
    """What the leaves of a forest have seen.

    Parameters
    ----------
    features : (T, m) int32
        The features that are drawn for each tree.
    marks : (L, m) uint16
        What each leaf has seen of these; 0 if its tree has no row of the bag there.
    usual : Usual
        What is usual for each feature.
    """

    features: NDArray[np.int32]
    marks: Marks
    usual: Usual

    @cached_property
    def used(self) -> NDArray[np.int32]:
        """(u,): the features that some tree has drawn, in ascending order."""
        return np.unique(self.features)


class Strangeness(NamedTuple):
    """How far rows lie outside the hulls they meet, (n,) each.

    ``total`` is the sum over the features of a tree of distances of at most 1, averaged over trees. ``single`` is the
    distance in one feature, averaged over the trees that have drawn it, for the feature with the largest average;
    ``feature`` is its number.
    """

    total: Floats
    single: Floats
    feature: NDArray[np.int64]


def find_hulls(forest: Forest, codes: Codes, bags: Bags, meaning: Meaning, seed: int, n_threads: int = 1) -> Hulls:
    """A forest, its training rows (p, n) and their bags -> what each leaf has seen."""
    n_features, n_rows = codes.shape
    n_drawn = min(round(math.sqrt(n_features)), MOST_FEATURES)
    features = draw_features(seed, forest.n_trees, n_features, n_drawn)
    marks = np.zeros((int(forest.leaf_start[-1]), n_drawn), dtype=np.uint16)
    block = max(1, _PAIRS // n_rows)
    for first in range(0, forest.n_trees, block):
        last = min(first + block, forest.n_trees)
        leaves = some_trees(forest, first, last).leaves(codes, n_threads)
        for tree in range(first, last):
            inside = np.flatnonzero(bags.times(tree))
            reached = leaves[inside, tree - first]
            order = np.argsort(reached, kind="stable")
            inside, reached = inside[order], reached[order]
            starts = np.flatnonzero(np.diff(reached, prepend=-1))
            held = forest.leaf_start[tree] + reached[starts]
            for place, feature in enumerate(features[tree].tolist()):
                marks[held, place] = _marks_of(codes[feature, inside], starts, feature, meaning)
    return Hulls(features, marks, usual_of(codes, meaning))


def check_marks(hulls: Hulls, forest: Forest, bins: Bins) -> bool:
    """Whether the marks of numeric features have levels of their feature, the low one first."""
    tree = np.repeat(np.arange(forest.n_trees), np.diff(forest.leaf_start))
    levels = np.minimum(bins.n_bins, LEVELS)
    for place in range(hulls.features.shape[1]):
        feature, marks = hulls.features[tree, place], hulls.marks[:, place]
        numeric = (bins.nominal[feature] == 0) & (marks & _PRESENT > 0)
        low, high = marks & 127, marks >> 7 & 127
        if (numeric & ~((low <= high) & (high < levels[feature]))).any():
            return False
    return True


def draw_features(seed: int, n_trees: int, n_features: int, n_drawn: int) -> NDArray[np.int32]:
    """-> (T, m): features of each tree, in ascending order; a draw depends on seed, tree and feature alone."""
    tree, feature = np.meshgrid(np.arange(n_trees), np.arange(n_features), indexing="ij")
    with np.errstate(over="ignore"):
        key = _mixed(np.uint64(seed) + _mixed(tree.astype(np.uint64)) * np.uint64(3)) + feature.astype(np.uint64)
        drawn = np.argsort(_mixed(key), axis=1, kind="stable")[:, :n_drawn]
    return np.sort(drawn, axis=1).astype(np.int32)


def usual_of(codes: Codes, meaning: Meaning) -> Usual:
    """Codes (p, n) of the training rows -> what is usual for each feature."""
    bins, n_features = meaning.bins, len(codes)
    spread, missing, rows = np.zeros(n_features), np.zeros(n_features, dtype=np.int64), []
    for feature in range(n_features):
        found = np.bincount(codes[feature], minlength=meaning.missing_code + 1)
        missing[feature] = found[meaning.missing_code]
        there = found[: bins.n_bins[feature]]
        if bins.nominal[feature]:
            rows.append(there)
            continue
        centers = _centers(meaning, feature)
        finite = np.isfinite(centers) & (there > 0)
        if finite.any():
            mean = np.average(centers[finite], weights=there[finite])
            with np.errstate(over="ignore"):
                spread[feature] = math.sqrt(np.average((centers[finite] - mean) ** 2, weights=there[finite]))
    return Usual(codes.shape[1], spread, missing, np.concatenate([np.empty(0, dtype=np.int64), *rows]))


def cells_of_codes(codes: Codes, hulls: Hulls, meaning: Meaning) -> Floats:
    """Codes (p, n) of training rows -> (u, n): values of the features that trees have drawn; see `cells_of_table`."""
    cells = np.empty((len(hulls.used), codes.shape[1]))
    for place, feature in enumerate(hulls.used.tolist()):
        own, missing = codes[feature], codes[feature] == meaning.missing_code
        values = own if meaning.bins.nominal[feature] else _centers(meaning, feature)[np.where(missing, 0, own)]
        cells[place] = np.where(missing, np.nan, values)
    return cells


def cells_of_table(table: Table, codes: Codes, hulls: Hulls, meaning: Meaning) -> Floats:
    """A table and its codes (p, n) -> (u, n): values of the features that trees have drawn.

    Of a nominal feature it is the number of the category, -1 for one that is new; NaN is missing. Where bins hold
    several values, training rows are known by their bins alone, so a value within the training range becomes the centre
    of its bin, too.
    """
    cells = cells_of_codes(codes, hulls, meaning)
    place = {feature: place for place, feature in enumerate(hulls.used.tolist())}
    for first, columns in table.column_blocks():
        for feature, column in enumerate(columns, start=first):
            if feature not in place:
                continue
            if meaning.bins.nominal[feature]:
                continue
            low, high = meaning.range_of(feature)
            raw = np.ones(len(column), dtype=bool) if meaning.exact else (column < low) | (column > high)
            cells[place[feature], raw] = column[raw]
    for feature, unseen in table.new.items():
        if feature in place:
            cells[place[feature], unseen] = -1
    return cells


def measure(
    hulls: Hulls,
    forest: Forest,
    leaves: NDArray[np.int32],
    cells: Floats,
    meaning: Meaning,
    judges: NDArray[np.bool_] | None = None,
) -> Strangeness:
    """Leaves (n, T), cells (u, n), the trees that may judge (n, T) -> how strange rows are; NaN without a judge.

    With `judges` they are training rows, and how rare a category is does not count the row itself.
    """
    n_rows, own = len(leaves), int(judges is not None)
    rulers = {feature: _Ruler.of(feature, hulls.usual, meaning, own) for feature in hulls.used.tolist()}
    place = {feature: place for place, feature in enumerate(hulls.used.tolist())}
    total, n_judges = np.zeros(n_rows), np.zeros(n_rows)
    sums, numbers = np.zeros((len(place), n_rows)), np.zeros((len(place), n_rows))
    for tree in range(forest.n_trees):
        rows = slice(None) if judges is None else np.flatnonzero(judges[:, tree])
        marks = hulls.marks[forest.leaf_start[tree] + leaves[rows, tree]]
        n_judges[rows] += 1
        for column, feature in enumerate(hulls.features[tree].tolist()):
            at = place[feature]
            away = rulers[feature].away(marks[:, column], cells[at, rows])
            total[rows] += np.minimum(away, 1)
            sums[at, rows] += away
            numbers[at, rows] += 1
    with np.errstate(invalid="ignore", divide="ignore"):
        each = np.where(numbers > 0, sums / numbers, -1.0)
        strangest = each.argmax(axis=0)
        single = each[strangest, np.arange(n_rows)]
        return Strangeness(total / n_judges, np.where(single < 0, np.nan, single), hulls.used[strangest].astype(int))


@dataclass(frozen=True, eq=False, repr=False)
class _Ruler:
    """How distances in one feature are measured."""

    nominal: bool
    low: Floats  # numeric, (LEVELS,): the smallest value of each level
    high: Floats  # the largest value of each level
    spread: float
    absent: Floats  # nominal: the distance of each category from a leaf without it
    missing: float  # the distance of a missing value from a leaf without one
    present: float  # the distance of a value from a leaf that has only missing values

    @classmethod
    def of(cls, feature: int, usual: Usual, meaning: Meaning, own: int) -> _Ruler:
        """The ruler of one feature; `own` is 1 for training rows."""
        bins, n_bins = meaning.bins, int(meaning.bins.n_bins[feature])
        missing = int(usual.missing[feature])
        low = high = absent = np.empty(0)
        if bins.nominal[feature]:
            before = int((bins.n_bins * bins.nominal)[:feature].sum())
            absent = _rarity(usual.rows[before : before + n_bins] - own, usual.n_rows)
        elif n_bins:
            centers = _centers(meaning, feature)
            levels = _levels(np.arange(n_bins), n_bins)
            low = centers[np.searchsorted(levels, np.arange(levels[-1] + 1))]
            high = centers[np.searchsorted(levels, np.arange(levels[-1] + 1), side="right") - 1]
        rare = _rarity(np.array([missing, usual.n_rows - missing]) - own, usual.n_rows)
        spread = float(usual.spread[feature])
        return cls(bool(bins.nominal[feature]), low, high, spread, absent, float(rare[0]), float(rare[1]))

    def away(self, marks: Marks, cells: Floats) -> Floats:
        """Marks (n,), values (n,) -> (n,): how far outside values are."""
        gap = np.isnan(cells)
        away = self._category(marks, cells, gap) if self.nominal else self._number(marks, cells)
        away = np.where(gap, np.where(marks & _MISSING, 0.0, self.missing), away)
        return np.where(marks, away, 0.0)  # a leaf without rows says nothing

    def _number(self, marks: Marks, cells: Floats) -> Floats:
        if not len(self.low):
            return np.full(len(cells), self.present)
        there = np.where(marks & _PRESENT, marks, 0)
        low, high = self.low[there & 127], self.high[there >> 7 & 127]
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            beyond = np.where(cells < low, low - cells, np.where(cells > high, cells - high, 0.0))
            away = np.where(beyond > 0, np.minimum(beyond / self.spread, FAR), 0.0)
        return np.where(marks & _PRESENT, away, self.present)

    def _category(self, marks: Marks, cells: Floats, gap: NDArray[np.bool_]) -> Floats:
        number = np.where(gap, -1, cells).astype(np.int64)
        new = number < 0
        number[new] = 0
        away = np.where(new, FAR, self.absent[number])
        known = marks >> (number % CATEGORY_BITS).astype(np.uint16) & 1
        return np.where(known & (away < FAR), 0.0, away)  # a bit may come from another category


def _rarity(rows: NDArray[np.int64], n_rows: int) -> Floats:
    """How many other rows have a value -> how far it is from a leaf without it."""
    return np.where(rows > 0, np.log((n_rows + 1) / (np.maximum(rows, 0) + 0.5)), FAR)


def _marks_of(codes: NDArray[Any], starts: NDArray[np.int64], feature: int, meaning: Meaning) -> Marks:
    """Codes (n,) of one feature, leaf after leaf, where each leaf begins -> its mark."""
    n_bins, gap = int(meaning.bins.n_bins[feature]), codes == meaning.missing_code
    missing = np.where(gap, _MISSING, 0)
    if meaning.bins.nominal[feature]:
        bits = np.where(gap, _MISSING, 1 << (codes % CATEGORY_BITS).astype(np.int64))
        return np.bitwise_or.reduceat(bits, starts).astype(np.uint16)
    levels = _levels(codes, n_bins)
    low = np.minimum.reduceat(np.where(gap, LEVELS, levels), starts)
    high = np.maximum.reduceat(np.where(gap, 0, levels), starts)
    there = low < LEVELS
    found = np.where(there, low | high << 7 | _PRESENT, 0) | np.bitwise_or.reduceat(missing, starts)
    return found.astype(np.uint16)


def _levels(codes: NDArray[Any], n_bins: int) -> NDArray[np.int64]:
    """Codes of a numeric feature -> their levels."""
    wide = codes.astype(np.int64)
    return wide if n_bins <= LEVELS else wide * LEVELS // n_bins


def _centers(meaning: Meaning, feature: int) -> Floats:
    """(bins,): a typical value of each bin of a numeric feature."""
    start = meaning.bins.center_start
    centers = meaning.bins.centers[start[feature] : start[feature + 1]]
    return centers if len(centers) else np.zeros(1)


def _mixed(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """SplitMix64: neighbouring numbers -> numbers without relation."""
    bits = bits + np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ bits >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ bits >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return bits ^ bits >> np.uint64(31)
