"""Leaf ranges: the feature values in leaves, and the distances of rows from them.

Leaves of the first trees store the values of their in-bag rows, for some features drawn per tree: the smallest and the
largest value of a numeric feature, the categories of a categorical feature, and whether a value was missing. The ranges
take two bytes per leaf and feature (a *mark*):

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

from hedgerow.forest.cache import Cache
from hedgerow.forest.forest import Forest
from hedgerow.forest.rows import Bags
from hedgerow.table import Table
from hedgerow.table.bins import Bins, Codebook, Codes

Floats = NDArray[np.float64]
RowSketch = NDArray[np.uint16]

#: Number of levels of a numeric feature, and the bit for the presence of values.
LEVELS = 127
_PRESENT = 1 << 14
#: Two fifths of the trees have leaf ranges, but no fewer than this: ranges of all trees, with half as many features
#: each, take three times as long.
LEAST_TREES = 40
#: Largest average number of marks per leaf of the forest: with more, leaf ranges would take over 30% of the bytes of a
#: forest of two classes.
MOST_MARKS = 4
#: Largest distance of a single value from a range, in standard deviations.
FAR = 100.0
#: Largest number of rows whose values are gathered at once, feature by feature.
FEW_ROWS = 4096
#: Stands for infinite numbers.
_LARGEST = np.finfo(np.float64).max


@dataclass(frozen=True, eq=False, repr=False)
class Usual:
    """Marginal distribution of each feature in the training rows.

    Parameters
    ----------
    n_rows : int
        Number of training rows.
    spread : (p,) float64
        Standard deviation of a numeric feature; 0 for a categorical one.
    missing : (p,) int64
        Number of missing values.
    rows : (sum of categories,) int64
        Number of rows in each category, one categorical feature after the other.
    """

    n_rows: int
    spread: Floats
    missing: NDArray[np.int64]
    rows: NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class LeafRanges:
    """Leaf ranges of a forest.

    Parameters
    ----------
    features : (t, m) int32
        The features drawn for each of the first t trees.
    marks : (l, m) uint16
        The range of each leaf of these trees in these features; 0 for leaves without in-bag rows.
    usual : Usual
        Marginal distribution of each feature.
    """

    features: NDArray[np.int32]
    marks: RowSketch
    usual: Usual

    @cached_property
    def used(self) -> NDArray[np.int32]:
        """Features that some tree has drawn, ascending, (u,)."""
        return np.unique(self.features)

    @cached_property
    def places(self) -> NDArray[np.int32]:
        """Indices of the features of each tree in `used`, (t, m)."""
        return np.searchsorted(self.used, self.features).astype(np.int32)

    def ruler(self, codebook: Codebook, *, own: bool) -> Ruler:
        """Return the scales of distances, for training rows if `own`; cached."""
        return self.cache.get(("ruler", own), lambda: _ruler_of(self, codebook, own))

    def numeric(self, codebook: Codebook) -> Numeric:
        """Return the numeric features among those drawn; cached."""
        return self.cache.get("numeric", lambda: _numeric_of(self, codebook))

    @cached_property
    def cache(self) -> Cache:
        """Cache of rulers and numeric features."""
        return Cache()

    def __getstate__(self) -> dict[str, Any]:
        return {"features": self.features, "marks": self.marks, "usual": self.usual}


class NoveltyScores(NamedTuple):
    """Distances of rows from leaf ranges, (n,) each.

    ``total`` is the sum over the features of a tree of distances of at most 1, averaged over trees. ``single`` is the
    distance in one feature, averaged over the trees that have drawn it, for the feature with the largest average;
    ``feature`` is its index.
    """

    total: Floats
    single: Floats
    feature: NDArray[np.int64]

    def take(self, rows: NDArray[np.bool_]) -> NoveltyScores:
        """Return the scores of some of the rows."""
        return NoveltyScores(self.total[rows], self.single[rows], self.feature[rows])


def find_leaf_ranges(
    forest: Forest, codes: Codes, bags: Bags, codebook: Codebook, seed: int, n_threads: int = 1
) -> LeafRanges:
    """Compute the leaf ranges of a forest from its training rows and bags."""
    drawn = features_of_trees(seed, forest.n_trees, len(codes))
    return LeafRanges(
        drawn, forest.marks_in_leaves(codes, drawn, codebook.bins, bags, n_threads), usual_of(codes, codebook)
    )


def features_of_trees(seed: int, n_trees: int, n_features: int) -> NDArray[np.int32]:
    """Return the features with ranges in each of the first t trees, (t, m)."""
    with_hulls = min(n_trees, max(LEAST_TREES, 2 * n_trees // 5))
    n_drawn = min(n_features, round(2 * math.sqrt(n_features)), MOST_MARKS * n_trees // with_hulls)
    return draw_features(seed, with_hulls, n_features, n_drawn)


def check_sketch(leaf_ranges: LeafRanges, forest: Forest, bins: Bins) -> bool:
    """Return whether marks of numeric features have valid levels, the low one first."""
    n_trees = len(leaf_ranges.features)
    tree = np.repeat(np.arange(n_trees), np.diff(forest.leaf_start[: n_trees + 1]))
    levels = np.minimum(bins.n_bins, LEVELS)
    for place in range(leaf_ranges.features.shape[1]):
        feature, marks = leaf_ranges.features[tree, place], leaf_ranges.marks[:, place]
        numeric = (bins.nominal[feature] == 0) & (marks & _PRESENT > 0)
        low, high = marks & 127, marks >> 7 & 127
        if (numeric & ~((low <= high) & (high < levels[feature]))).any():
            return False
    return True


def draw_features(seed: int, n_trees: int, n_features: int, n_drawn: int) -> NDArray[np.int32]:
    """Draw features for each tree, ascending, (T, m), independently of other trees."""
    tree, feature = np.meshgrid(np.arange(n_trees), np.arange(n_features), indexing="ij")
    with np.errstate(over="ignore"):
        key = _mixed(np.uint64(seed) + _mixed(tree.astype(np.uint64)) * np.uint64(3)) + feature.astype(np.uint64)
        drawn = np.argsort(_mixed(key), axis=1, kind="stable")[:, :n_drawn]
    return np.sort(drawn, axis=1).astype(np.int32)


def usual_of(codes: Codes, codebook: Codebook) -> Usual:
    """Return the marginal distribution of each feature in the training rows."""
    bins, n_features = codebook.bins, len(codes)
    spread, missing, rows = np.zeros(n_features), np.zeros(n_features, dtype=np.int64), []
    for feature in range(n_features):
        found = np.bincount(codes[feature], minlength=codebook.missing_code + 1)
        missing[feature] = found[codebook.missing_code]
        there = found[: bins.n_bins[feature]]
        if bins.nominal[feature]:
            rows.append(there)
            continue
        centers = _centers(codebook, feature)
        finite = np.isfinite(centers) & (there > 0)
        if finite.any():
            spread[feature] = _spread(centers[finite], there[finite])
    return Usual(codes.shape[1], spread, missing, np.concatenate([np.empty(0, dtype=np.int64), *rows]))


def _spread(centers: Floats, rows: NDArray[np.int64]) -> float:
    """Return the standard deviation of numbers with row counts, without overflow."""
    unit = 2.0**600 if np.abs(centers).max() > 1e150 else 1.0
    scaled = centers / unit
    mean = np.average(scaled, weights=rows)
    return math.sqrt(np.average((scaled - mean) ** 2, weights=rows)) * unit


def cells_of_codes(codes: Codes, leaf_ranges: LeafRanges, codebook: Codebook) -> Floats:
    """Return the values of the drawn features of training rows, (u, n), from codes."""
    numeric = leaf_ranges.numeric(codebook)
    cells = np.empty((len(leaf_ranges.used), codes.shape[1]))
    for first in range(0, codes.shape[1], FEW_ROWS):
        part = slice(first, first + FEW_ROWS)
        own = codes[leaf_ranges.used, part]
        missing = own == codebook.missing_code
        cells[:, part] = own
        at = numeric.start[:, None] + np.where(missing, 0, own)[numeric.places]
        cells[numeric.places, part] = numeric.centers[at]
        cells[:, part][missing] = np.nan
    return cells


def cells_of_table(table: Table, codes: Codes, leaf_ranges: LeafRanges, codebook: Codebook) -> Floats:
    """Return the values of the drawn features of a table, (u, n).

    A category is represented by its number, -1 if it is new, and a missing value by NaN. Where bins have several
    values, only the bins of training rows are known, so values within the training range are replaced by bin centres.
    """
    cells, numeric = cells_of_codes(codes, leaf_ranges, codebook), leaf_ranges.numeric(codebook)
    place = {feature: place for place, feature in enumerate(leaf_ranges.used.tolist())}
    for first, columns in table.column_blocks():
        if isinstance(columns, np.ndarray) and columns.shape[1] <= FEW_ROWS:  # a third of the time for one row
            numeric.write(columns, first, cells, everywhere=codebook.exact)
            continue
        for feature, column in enumerate(columns, start=first):
            if feature not in place:
                continue
            if codebook.bins.nominal[feature]:
                continue
            low, high = codebook.range_of(feature)
            raw = np.ones(len(column), dtype=bool) if codebook.exact else (column < low) | (column > high)
            cells[place[feature], raw] = column[raw]
    for feature, unseen in table.new.items():
        if feature in place:
            cells[place[feature], unseen] = -1
    return cells


def measure(
    leaf_ranges: LeafRanges, forest: Forest, codes: Codes, cells: Floats, codebook: Codebook, n_threads: int = 1
) -> NoveltyScores:
    """Return the novelty scores of rows with codes (p, n) and values (u, n)."""
    whole, _, _ = forest.strangeness(codes, cells, **_fields(leaf_ranges, codebook, None), n_threads=n_threads)
    return _novelty_scores(leaf_ranges, whole)


def measure_distance(
    leaf_ranges: LeafRanges,
    forest: Forest,
    codes: Codes,
    cells: Floats,
    codebook: Codebook,
    rows: NDArray[np.int64],
    bags: Bags,
    n_threads: int = 1,
) -> tuple[NoveltyScores, NoveltyScores, Floats]:
    """Return the out-of-bag novelty scores of training rows.

    Also returns the scores by every second out-of-bag tree, and the number of trees (n,). Without trees, scores are
    NaN. The rarity of a category excludes the row itself.
    """
    drawn = (rows, bags.n_rows, bags.seed, bags.mean, bags.first_tree, bags.units)
    whole, half, number = forest.strangeness(codes, cells, **_fields(leaf_ranges, codebook, drawn), n_threads=n_threads)
    return _novelty_scores(leaf_ranges, whole), _novelty_scores(leaf_ranges, half), number


def _fields(leaf_ranges: LeafRanges, codebook: Codebook, drawn: tuple[Any, ...] | None) -> dict[str, Any]:
    """Return the arguments of the core: leaf ranges, and bags for training rows."""
    return {
        "places": leaf_ranges.places,
        "features": leaf_ranges.used,
        "nominal": codebook.bins.nominal[leaf_ranges.used],
        "n_bins": codebook.bins.n_bins[leaf_ranges.used],
        "marks": leaf_ranges.marks,
        **leaf_ranges.ruler(codebook, own=drawn is not None)._asdict(),
        "far": FAR,
        "bags": drawn,
    }


def _novelty_scores(leaf_ranges: LeafRanges, scores: tuple[Floats, Floats, NDArray[np.int64]]) -> NoveltyScores:
    """Return the scores of the core with feature indices."""
    total, single, place = scores
    return NoveltyScores(total, single, leaf_ranges.used[place].astype(np.int64))


class Numeric(NamedTuple):
    """The v numeric features that some tree has drawn, ascending, (v,) each.

    ``places`` are their indices among all drawn features. Their bins begin at ``start`` in ``centers``, the typical
    values of all bins. ``low`` and ``high`` are the ends of the training range.
    """

    features: NDArray[np.int64]
    places: NDArray[np.int64]
    start: NDArray[np.int64]
    centers: Floats
    low: Floats
    high: Floats

    def write(self, columns: Floats, first: int, cells: Floats, *, everywhere: bool) -> None:
        """Write columns (w, n) from feature `first` on into cells (u, n).

        Only values outside the training range are written, unless `everywhere`.
        """
        here = slice(*np.searchsorted(self.features, (first, first + len(columns))))
        values, places = columns[self.features[here] - first], self.places[here]
        with np.errstate(over="ignore"):  # the cast of the ends may overflow
            low, high = (ends[here, None].astype(values.dtype) for ends in (self.low, self.high))
        outside = (values < low) | (values > high)
        cells[places] = np.where(outside | everywhere, values, cells[places])


def _numeric_of(leaf_ranges: LeafRanges, codebook: Codebook) -> Numeric:
    """Return the drawn numeric features; one without bins has centre 0 and no range."""
    bins = codebook.bins
    places = np.flatnonzero(bins.nominal[leaf_ranges.used] == 0)
    features = leaf_ranges.used[places].astype(np.int64)
    empty = np.diff(bins.center_start)[features] == 0
    start = np.where(empty, len(bins.centers), bins.center_start[features])
    ranges = [(np.nan, np.nan) if no else codebook.range_of(j) for j, no in zip(features.tolist(), empty, strict=True)]
    low, high = np.array(ranges).reshape(-1, 2).T
    return Numeric(features, places, start, np.append(bins.centers, 0.0), low, high)


class Ruler(NamedTuple):
    """Scales of distances in the u features that some tree has drawn.

    ``low`` and ``high`` (u, LEVELS) are the smallest and the largest value of each level of a numeric feature,
    ``spread`` (u,) its standard deviation. ``absent`` has the distance of each category from a leaf without it, one
    categorical feature after the other, starting at ``start`` (u + 1,). ``missing`` and ``present`` (u,) are the
    distances of a missing value from a leaf without one, and of a value from a leaf with missing values only.
    """

    low: Floats
    high: Floats
    spread: Floats
    absent: Floats
    start: NDArray[np.int64]
    missing: Floats
    present: Floats


def _ruler_of(leaf_ranges: LeafRanges, codebook: Codebook, own: bool) -> Ruler:
    """Return the scales of distances, for training rows if `own`."""
    usual, bins, used = leaf_ranges.usual, codebook.bins, leaf_ranges.used
    low, high, absent = np.zeros((len(used), LEVELS)), np.zeros((len(used), LEVELS)), []
    before = np.concatenate([[0], np.cumsum(bins.n_bins * bins.nominal)])
    for place, feature in enumerate(used.tolist()):
        n_bins = int(bins.n_bins[feature])
        if bins.nominal[feature]:
            absent.append(_rarity(usual.rows[before[feature] : before[feature + 1]] - own, usual.n_rows))
        elif n_bins:
            centers, start = np.clip(_centers(codebook, feature), -_LARGEST, _LARGEST), _level_starts(n_bins)
            low[place, : len(start) - 1] = centers[start[:-1]]
            high[place, : len(start) - 1] = centers[start[1:] - 1]
    lengths = np.where(bins.nominal[used], bins.n_bins[used], 0)
    missing = usual.missing[used]
    return Ruler(
        low,
        high,
        np.ascontiguousarray(usual.spread[used]),
        np.concatenate([np.empty(0), *absent]),
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        _rarity(missing - own, usual.n_rows),
        _rarity(usual.n_rows - missing - own, usual.n_rows),
    )


def _rarity(rows: NDArray[np.int64], n_rows: int) -> Floats:
    """Return the distance of a value of some other rows from a leaf without it."""
    return np.where(rows > 0, np.log((n_rows + 1) / (np.maximum(rows, 0) + 0.5)), FAR)


def _level_starts(n_bins: int) -> NDArray[np.int64]:
    """Return the first bin of each level of a feature, and the number of bins."""
    levels = np.arange(min(n_bins, LEVELS) + 1)
    return levels if n_bins <= LEVELS else -(-levels * n_bins // LEVELS)


def _centers(codebook: Codebook, feature: int) -> Floats:
    """Return the typical value of each bin of a numeric feature."""
    start = codebook.bins.center_start
    centers = codebook.bins.centers[start[feature] : start[feature + 1]]
    return centers if len(centers) else np.zeros(1)


def _mixed(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Mix bits by SplitMix64."""
    bits = bits + np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ bits >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ bits >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return bits ^ bits >> np.uint64(31)
