"""Unknown: rows with values that no training row had -> opinions that hold for every value the training rows had.

A new category, a gap where there were none, and a number far outside the training range say nothing to a tree: its
splits were not learned for them. Such a value could act like any value that is known. So the opinion about the row is
widened until it holds whichever known value takes its place. If the answer does not depend on the feature, it stays as
it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.belief.opinion import Opinion, opinion_from_bounds
from hedgerow.forest.unseen import rows_with_gaps
from hedgerow.inference.fitted import Fitted
from hedgerow.table import Table
from hedgerow.table.bins import Bins, Codes
from hedgerow.util.blocks import with_rows

Array = NDArray[np.int64]
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

#: At most this many bins, spread evenly, stand in for an unknown number.
NUMBERS = 16
#: At most this many categories, spread evenly, stand in for an unknown category.
CATEGORIES = 64
#: The label stays ahead by more than rounding.
AHEAD = 1 - 2.0**-20
#: Stand-ins are predicted in blocks of about this many codes.
BLOCK_CODES = 1 << 22


class UnseenValues(NamedTuple):
    """The rows with unknown values, (m,), and which of their features are unknown, (p, m)."""

    rows: Array
    cells: Bools

    def take(self, rows: slice | NDArray[np.integer[Any]], n_rows: int) -> UnseenValues | None:
        """The same for some of n rows, numbered anew; None if none of them has unknown values."""
        place = np.full(n_rows, -1)
        place[self.rows] = np.arange(len(self.rows))
        found = place[rows]
        inside = np.flatnonzero(found >= 0)
        return UnseenValues(inside, self.cells[:, found[inside]]) if len(inside) else None

    def features_of(self, row: int) -> list[int]:
        """The unknown features of one row."""
        return np.flatnonzero(self.cells[:, self.rows == row].any(axis=1)).tolist()


class Envelope(NamedTuple):
    """The answers of all stand-ins of m rows, (m, K) each: their bounds together, and their mean probability.

    ``chosen`` has the classes that some stand-in leaves, if the rule chooses sets; otherwise it is None.
    """

    lower: Floats
    upper: Floats
    probability: Floats
    chosen: Bools | None


def unseen_values(fitted: Fitted, table: Table, codes: Codes) -> UnseenValues | None:
    """A table and its codes (p, n) -> the unknown values that trees ask about; None if every value is known.

    A number is unknown if it lies farther outside the training range than this range is wide. Nothing is unknown to a
    forest with ``unseen="larger"``, which answers as scikit-learn does.
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
    """An opinion about n rows, their codes (p, n) -> the opinion that holds for every known value of what is unknown.

    `ask` gives the opinion about codes. Each unknown value is replaced by stand-ins, the others meanwhile by their
    middle bins. With one unknown value, bounds are the envelope of the answers; with several, how far each one moves
    the bounds is added up. A row of which nothing is known could be anything.
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
    """Intervals (n, 2) of n rows, their codes (p, n) -> intervals that hold for every known value of what is unknown.

    `ask` gives the intervals of codes. It is `opened` for numbers.
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
    """Mark numbers beyond `low` and `high`, (p,) each, which are infinite for features without numbers."""
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
    """Columns (p, n), bounds (p,) -> whether a number lies beyond them."""
    if columns.shape[1] == 1:  # a vector takes a third of the time, and `any` alone would take as long
        row = columns[:, 0]
        return b"\1" in ((row < low) | (row > high)).tobytes()
    block = max(1, BLOCK_CODES // max(1, len(columns)))
    parts = (columns[:, start : start + block] for start in range(0, columns.shape[1], block))
    return any(((part < low[:, None]) | (part > high[:, None])).any() for part in parts)


def _gathered(found: dict[int, Bools], codes: Codes) -> UnseenValues | None:
    """Feature -> (n,) whether it is unknown -> the rows with unknown values."""
    if not found:
        return None
    rows = np.flatnonzero(np.any(list(found.values()), axis=0))
    cells = np.zeros((codes.shape[0], len(rows)), dtype=bool)
    for feature, unknown in found.items():
        cells[feature] = unknown[rows]
    return UnseenValues(rows, cells)


def _gap(one: Floats, other: Floats) -> Floats:
    """one - other; 0 where both are infinite, as the intervals of very few rows are."""
    with np.errstate(invalid="ignore"):
        return np.where(one == other, 0.0, one - other)


def _envelope(codes: Codes, unknown: Bools, bins: Bins, ask: Callable[[Codes], Opinion], n_classes: int) -> Envelope:
    """Codes (p, m), which are unknown (p, m) -> the answers of their stand-ins together."""
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
    """Codes (p, m), which are unknown (p, m) -> the same with the middle bins of unknown features."""
    return np.where(unknown, (bins.n_bins // 2)[:, None].astype(codes.dtype), codes)


def _filled(middle: Codes, unknown: Bools, bins: Bins) -> Iterator[tuple[Array, int, Codes]]:
    """Codes (p, m) -> for each unknown feature: some rows (r,), v, and their codes (p, r · v) with its v stand-ins."""
    for feature in np.flatnonzero(unknown.any(axis=1)).tolist():
        values, every = _stand_ins(bins, feature), np.flatnonzero(unknown[feature])
        block = max(1, BLOCK_CODES // (len(values) * len(middle)))
        for first in range(0, len(every), block):
            rows = every[first : first + block]
            filled = np.repeat(middle[:, rows], len(values), axis=1)
            filled[feature] = np.tile(values, len(rows)).astype(middle.dtype)
            yield rows, len(values), filled


def _stand_ins(bins: Bins, feature: int) -> Array:
    """-> codes of the values that take the place of an unknown one, spread evenly, the first and the last included."""
    number = int(bins.n_bins[feature])
    most = CATEGORIES if bins.nominal[feature] else NUMBERS
    return np.unique(np.linspace(0, number - 1, min(number, most)).round().astype(np.int64))


def _towards(probability: Floats, mean: Floats) -> Floats:
    """Probabilities (m, K) of rows, and of their stand-ins -> moved to the latter as far as the label stays first."""
    rows, first = np.arange(len(probability)), probability.argmax(axis=1)
    ahead = probability[rows, first][:, None] - probability
    behind = mean - mean[rows, first][:, None]
    share = np.divide(ahead, ahead + behind, out=np.ones_like(ahead), where=behind > 0).min(axis=1, keepdims=True)
    return np.asarray(probability + AHEAD * share * (mean - probability))
