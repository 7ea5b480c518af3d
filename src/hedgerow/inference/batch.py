"""Batches of rows to predict, and their out-of-support values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hedgerow.belief.opinion import Opinion, opinion_from_bounds
from hedgerow.forest.nodes import rows_with_gaps
from hedgerow.inference.fitted import Fitted
from hedgerow.inference.novelty import PredictionNovelty, has_novelty, novelty_of
from hedgerow.table import Table
from hedgerow.table.bins import Bins, Codes
from hedgerow.util.runtime import lazy_property, with_rows

Array = NDArray[np.int64]
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
#: Rows of a batch: a slice, or row numbers in any order.
Rows: TypeAlias = slice | NDArray[np.integer[Any]]
#: Uncertain cells by (row, feature).
Cells: TypeAlias = Mapping[tuple[int, int], Any]


@dataclass(frozen=True, eq=False, repr=False)
class Batch:
    """Rows to predict: bin indices, out-of-support values, uncertain cells, novelty.

    Out-of-support values, novelty and columns are computed from the table when first used. ``batch[rows]`` slices every
    part, whether it has been computed or not.

    Parameters
    ----------
    codes : (p, n)
        Bin indices. Rows of which only these are known, such as training rows, have no other part.
    uncertain : mapping of (row, feature) to Any, or None
        Uncertain cells, if there are any; see `hedgerow.table.uncertain`.
    table, fitted, n_threads : Table, Fitted, int
        The values, the fit whose bins encoded them, and the number of threads for these rows.
    """

    codes: Codes
    uncertain: Cells | None = None
    table: Table | None = None
    fitted: Fitted | None = None
    n_threads: int = 1

    def __len__(self) -> int:
        return int(self.codes.shape[1])

    @lazy_property
    def unseen(self) -> UnseenValues | None:
        """Out-of-support values in features that trees use; None if there are none."""
        if self.table is None or self.fitted is None:
            return None
        return unseen_values(self.fitted, self.table, self.codes)

    @lazy_property
    def novelty(self) -> PredictionNovelty | None:
        """Novelty of the rows; None if the fit has no novelty scores."""
        if self.table is None or self.fitted is None or not has_novelty(self.fitted):
            return None
        return novelty_of(self.fitted, self.table, self.codes, self.n_threads)

    @lazy_property
    def columns(self) -> list[NDArray[np.generic]]:
        """Columns of numbers or category numbers, (n,); empty if only codes are known."""
        if self.table is None:
            return []
        return [np.asarray(column) for _, block in self.table.column_blocks() for column in block]

    def __getitem__(self, rows: Rows) -> Batch:
        uncertain = self.uncertain and _cells_of(self.uncertain, np.arange(len(self))[rows])
        return _Slice(np.ascontiguousarray(self.codes[:, rows]), uncertain, whole=self, rows=rows)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class _Slice(Batch):
    """Some rows of a batch, whose parts are slices of its parts."""

    whole: Batch
    rows: Rows

    @lazy_property
    def unseen(self) -> UnseenValues | None:
        """Out-of-support values of these rows."""
        return self.whole.unseen and self.whole.unseen.take(self.rows, len(self.whole))

    @lazy_property
    def novelty(self) -> PredictionNovelty | None:
        """Novelty of these rows."""
        return self.whole.novelty and self.whole.novelty.take(self.rows)

    @lazy_property
    def columns(self) -> list[NDArray[np.generic]]:
        """Values of these rows."""
        return [column[self.rows] for column in self.whole.columns]


def _cells_of(uncertain: Cells, rows: NDArray[np.int64]) -> Cells | None:
    """Return the uncertain cells of some rows, renumbered; None if there are none."""
    of_row: dict[int, dict[int, Any]] = {}
    for (row, feature), known in uncertain.items():
        of_row.setdefault(row, {})[feature] = known
    numbered = enumerate(rows.tolist())
    return {(at, feature): known for at, row in numbered for feature, known in of_row.get(row, {}).items()} or None


# ---- Out-of-support values, and opinions that hold for all known values instead --------------------------------------
#
# Splits were not learned for a new category, for a missing value in a feature without any, or for a number far outside
# the training range. Such a value could act like any known value. So the opinion about the row is widened until it
# holds for every known value in its place. If the prediction does not depend on the feature, the opinion does not
# change.


#: Maximum number of bins, spread evenly, that replace an out-of-support number.
NUMBERS = 16
#: Maximum number of categories, spread evenly, that replace an out-of-support category.
CATEGORIES = 64
#: Factor that keeps the label ahead by more than rounding.
AHEAD = 1 - 2.0**-20
#: Approximate number of codes of a block of replaced rows.
BLOCK_CODES = 1 << 22


class UnseenValues(NamedTuple):
    """Rows with out-of-support values, (m,), and the mask of these values, (p, m)."""

    rows: Array
    cells: Bools

    def take(self, rows: slice | NDArray[np.integer[Any]], n_rows: int) -> UnseenValues | None:
        """Return the values of some of `n_rows` rows, renumbered; None if there are none."""
        place = np.full(n_rows, -1)
        place[self.rows] = np.arange(len(self.rows))
        found = place[rows]
        inside = np.flatnonzero(found >= 0)
        return UnseenValues(inside, self.cells[:, found[inside]]) if len(inside) else None

    def features_of(self, row: int) -> list[int]:
        """Return the features of one row with out-of-support values."""
        return np.flatnonzero(self.cells[:, self.rows == row].any(axis=1)).tolist()


class Envelope(NamedTuple):
    """Bounds and mean probability over all replacements in m rows, (m, K) each.

    ``chosen`` is the union of the prediction sets if the rule chooses sets; otherwise None.
    """

    lower: Floats
    upper: Floats
    probability: Floats
    chosen: Bools | None


def unseen_values(fitted: Fitted, table: Table, codes: Codes) -> UnseenValues | None:
    """Find the out-of-support values of a table in features that trees use.

    A number is out of support if its distance from the training range exceeds the width of the range. Return None if
    there are no such values, or with ``unseen="larger"``, which predicts as scikit-learn does.
    """
    if fitted.forest.structure.unseen is None:
        return None
    found: dict[int, Bools] = {}
    gapless = fitted.forest.gapless_features
    if len(rows_with_gaps(codes, gapless)):
        missing = codes[gapless] == fitted.codebook.missing_code
        found = {feature: cells for feature, cells in zip(gapless.tolist(), missing, strict=True) if cells.any()}
    _add_far_numbers(found, table, *fitted.codebook.far)
    if not found and not table.new:
        return None
    for feature, new in table.new.items():
        found[feature] = found.get(feature, False) | new
    if not found:
        return None
    used = set(fitted.forest.used_features.tolist())
    return _gathered({feature: cells for feature, cells in found.items() if feature in used and cells.any()}, codes)


def widened(
    opinion: Opinion, codes: Codes, unknown: UnseenValues, fitted: Fitted, ask: Callable[[Codes], Opinion]
) -> Opinion:
    """Widen the opinion about n rows, with codes (p, n), for out-of-support values.

    `ask` returns the opinion about codes. Each out-of-support value is replaced by known values, while the others have
    their middle bins. With one such value, the bounds are the envelope of the opinions; with several, the changes of
    the bounds are added up. A row with only out-of-support values gets vacuous bounds.
    """
    features = fitted.forest.used_features
    of_rows = opinion[unknown.rows]
    around = _envelope(np.ascontiguousarray(codes[:, unknown.rows]), unknown.cells, fitted.bins, ask, opinion.n_classes)
    blank = unknown.cells[features].all(axis=0, keepdims=True).T
    lower = np.where(blank, 0.0, np.minimum(of_rows.lower, around.lower))
    upper = np.where(blank, 1.0, np.maximum(of_rows.upper, around.upper))
    wide = opinion_from_bounds(
        _towards(of_rows.probability, around.probability),
        lower,
        upper,
        of_rows.conflict,
        score=of_rows.score,
        chosen=None if around.chosen is None or of_rows.chosen is None else of_rows.chosen | around.chosen | blank,
    )
    return with_rows(opinion, unknown.rows, wide)


def widened_intervals(
    intervals: Floats, codes: Codes, unknown: UnseenValues, fitted: Fitted, ask: Callable[[Codes], Floats]
) -> Floats:
    """Widen intervals (n, 2) of codes (p, n) for out-of-support values.

    `ask` returns the intervals of codes.
    """
    found, taken = intervals.copy(), np.ascontiguousarray(codes[:, unknown.rows])
    middle = _in_the_middle(taken, unknown.cells, fitted.bins)
    start = ask(middle)
    wide = start.copy()
    for rows, number, filled in _filled(middle, unknown.cells, fitted.bins):
        predicted = ask(filled).reshape(len(rows), number, 2)
        wide[rows, 0] += np.minimum(_gap(predicted[:, :, 0].min(axis=1), start[rows, 0]), 0)
        wide[rows, 1] += np.maximum(_gap(predicted[:, :, 1].max(axis=1), start[rows, 1]), 0)
    found[unknown.rows, 0] = np.minimum(intervals[unknown.rows, 0], wide[:, 0])
    found[unknown.rows, 1] = np.maximum(intervals[unknown.rows, 1], wide[:, 1])
    return found


def _add_far_numbers(found: dict[int, Bools], table: Table, low: Floats, high: Floats) -> None:
    """Mark numbers below `low` or above `high`, (p,) each.

    The limits of categorical features are infinite.
    """
    for first, columns in table.column_blocks():
        if isinstance(columns, np.ndarray):
            here = slice(first, first + len(columns))
            if not _is_far(columns, low[here], high[here]):
                continue
        for feature, column in enumerate(columns, start=first):
            if np.isfinite(low[feature]):
                beyond = (column < low[feature]) | (column > high[feature])
                if beyond.any():
                    found[feature] = found.get(feature, False) | beyond


def _is_far(columns: Floats, low: Floats, high: Floats) -> bool:
    """Return whether a number in columns (p, n) lies outside its bounds (p,)."""
    if columns.shape[1] == 1:  # three times as fast for one row; `any` alone would take as long as this
        row = columns[:, 0]
        return b"\1" in ((row < low) | (row > high)).tobytes()
    block = max(1, BLOCK_CODES // max(1, len(columns)))
    parts = (columns[:, start : start + block] for start in range(0, columns.shape[1], block))
    return any(((part < low[:, None]) | (part > high[:, None])).any() for part in parts)


def _gathered(found: dict[int, Bools], codes: Codes) -> UnseenValues | None:
    """Collect the masks (n,) of out-of-support values by feature."""
    if not found:
        return None
    rows = np.flatnonzero(np.any(list(found.values()), axis=0))
    cells = np.zeros((codes.shape[0], len(rows)), dtype=bool)
    for feature, unknown in found.items():
        cells[feature] = unknown[rows]
    return UnseenValues(rows, cells)


def _gap(one: Floats, other: Floats) -> Floats:
    """Return ``one - other``, 0 where both are infinite."""
    with np.errstate(invalid="ignore"):
        return np.where(one == other, 0.0, one - other)


def _envelope(codes: Codes, unknown: Bools, bins: Bins, ask: Callable[[Codes], Opinion], n_classes: int) -> Envelope:
    """Return the envelope of the opinions over all replacements."""
    middle = _in_the_middle(codes, unknown, bins)
    start = ask(middle)
    lower, upper = start.lower.copy(), start.upper.copy()
    mean, number = np.zeros((len(start), n_classes)), np.zeros((len(start), 1))
    chosen = None if start.chosen is None else start.chosen.copy()
    for rows, n_values, filled in _filled(middle, unknown, bins):
        predicted, shape = ask(filled), (len(rows), n_values, n_classes)
        lower[rows] += np.minimum(predicted.lower.reshape(shape).min(axis=1) - start.lower[rows], 0)
        upper[rows] += np.maximum(predicted.upper.reshape(shape).max(axis=1) - start.upper[rows], 0)
        mean[rows] += predicted.probability.reshape(shape).sum(axis=1)
        number[rows] += n_values
        if chosen is not None and predicted.chosen is not None:
            chosen[rows] |= predicted.chosen.reshape(shape).any(axis=1)
    return Envelope(np.maximum(lower, 0), np.minimum(upper, 1), mean / number, chosen)


def _in_the_middle(codes: Codes, unknown: Bools, bins: Bins) -> Codes:
    """Replace out-of-support codes, by mask (p, m), with the middle bins."""
    return np.where(unknown, (bins.n_bins // 2)[:, None].astype(codes.dtype), codes)


def _filled(middle: Codes, unknown: Bools, bins: Bins) -> Iterator[tuple[Array, int, Codes]]:
    """Iterate over features and blocks of rows with replaced values.

    Yield rows (r,), the number v of replacements, and codes (p, r · v).
    """
    for feature in np.flatnonzero(unknown.any(axis=1)).tolist():
        values, every = _stand_ins(bins, feature), np.flatnonzero(unknown[feature])
        block = max(1, BLOCK_CODES // (len(values) * len(middle)))
        for first in range(0, len(every), block):
            rows = every[first : first + block]
            filled = np.repeat(middle[:, rows], len(values), axis=1)
            filled[feature] = np.tile(values, len(rows)).astype(middle.dtype)
            yield rows, len(values), filled


def _stand_ins(bins: Bins, feature: int) -> Array:
    """Return the codes, spread evenly, that replace an out-of-support value."""
    number = int(bins.n_bins[feature])
    most = CATEGORIES if bins.nominal[feature] else NUMBERS
    return np.unique(np.linspace(0, number - 1, min(number, most)).round().astype(np.int64))


def _towards(probability: Floats, mean: Floats) -> Floats:
    """Move probabilities (m, K) towards `mean`, as far as the label stays first."""
    rows, first = np.arange(len(probability)), probability.argmax(axis=1)
    ahead = probability[rows, first][:, None] - probability
    behind = mean - mean[rows, first][:, None]
    share = np.divide(ahead, ahead + behind, out=np.ones_like(ahead), where=behind > 0).min(axis=1, keepdims=True)
    return np.asarray(probability + AHEAD * share * (mean - probability))
