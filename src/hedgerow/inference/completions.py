"""Predictions for rows with uncertain cells, by completions.

A completion is a row in which each uncertain cell has one of its values. The values of a cell form groups: an interval
or a set is one group, a distribution has one group per value. Within a group, the position of the true value is
unknown. So the lower probability of a row is the mean over groups of the smallest lower probability of their
completions, like the belief of a random set, and upper probabilities likewise. Probabilities are means over
completions. Several uncertain cells of a row are independent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.belief.opinion import Opinion, concatenate, opinion_from_bounds
from hedgerow.forest.rows import Entries
from hedgerow.inference.batch import Batch, UnseenValues
from hedgerow.inference.fitted import Fitted
from hedgerow.table.bins import Bins, Codebook, Codes
from hedgerow.table.uncertain import Values, values_of
from hedgerow.util.runtime import with_rows

Array = NDArray[np.int64]
Floats = NDArray[np.float64]

#: Maximum number of completions of a row; beyond it, the values within groups are thinned out.
MOST_WORLDS = 4096
#: Maximum number of entries of a training row; beyond it, completions are drawn.
MOST_ENTRIES = 32
#: Approximate number of codes of a block of completions.
BLOCK_CODES = 1 << 22


class Completions(NamedTuple):
    """The W completions of m rows, row after row.

    Parameters
    ----------
    rows : (m,) int64
        The rows with uncertain cells.
    start : (m + 1,) int64
        First completion of each row.
    codes : (p, W)
        Codes of all completions.
    group : (W,) int64
        Group of each completion; the completions of a group are consecutive.
    share : (W,) float64
        Probability of each completion; those of a row sum to one.
    uncertain : (p, m) bool
        Whether each cell is uncertain.
    """

    rows: Array
    start: Array
    codes: Codes
    group: Array
    share: Floats
    uncertain: NDArray[np.bool_]

    def of(self) -> Array:
        """Return the position (W,) among the m rows of each completion."""
        return np.repeat(np.arange(len(self.rows)), np.diff(self.start))

    def unknown(self, unknown: UnseenValues | None) -> UnseenValues | None:
        """Return the out-of-support values of the completions; uncertain cells have none."""
        if unknown is None:
            return None
        cells = np.zeros(self.uncertain.shape, dtype=bool)
        inside = np.isin(unknown.rows, self.rows)
        cells[:, np.searchsorted(self.rows, unknown.rows[inside])] = unknown.cells[:, inside]
        of_worlds = (cells & ~self.uncertain)[:, self.of()]
        rows = np.flatnonzero(of_worlds.any(axis=0))
        return UnseenValues(rows, of_worlds[:, rows]) if len(rows) else None

    def mean(self, values: Floats) -> Floats:
        """Return the mean (m, ...) of values (W, ...) over the completions of each row."""
        shape = (-1,) + (1,) * (values.ndim - 1)
        return np.asarray(np.add.reduceat(self.share.reshape(shape) * values, self.start[:-1]))

    def bound(self, values: Floats, least: bool) -> Floats:
        """Return the mean over groups of the smallest or largest value, (m, ...)."""
        first = np.flatnonzero(np.diff(self.group, prepend=-1))
        extreme = (np.minimum if least else np.maximum).reduceat(values, first)
        weight = np.add.reduceat(self.share, first).reshape((-1,) + (1,) * (values.ndim - 1))
        return np.asarray(np.add.reduceat(weight * extreme, np.searchsorted(first, self.start[:-1])))

    def envelope(self, intervals: Floats) -> Floats:
        """Return the smallest intervals (m, 2) that contain those of completions."""
        low, high = intervals.T
        first = self.start[:-1]
        return np.column_stack([np.minimum.reduceat(low, first), np.maximum.reduceat(high, first)])

    def folded(self, opinion: Opinion) -> Opinion:
        """Return the opinion about the m rows, given that about all completions."""
        chosen = opinion.chosen
        return opinion_from_bounds(
            self.mean(opinion.probability),
            self.bound(opinion.lower, least=True),
            self.bound(opinion.upper, least=False),
            self.mean(opinion.conflict),
            score=None if opinion.score is None else self.mean(opinion.score),
            chosen=None
            if chosen is None
            else np.logical_or.reduceat(chosen & (self.share > 0)[:, None], self.start[:-1]),
        )


def completions_of(fitted: Fitted, batch: Batch) -> Iterator[Completions]:
    """Iterate over the completions of a batch, in blocks of rows.

    Rows whose uncertain cells are in features that no tree uses have no completions.
    """
    codes = batch.codes
    if batch.uncertain is None:
        return
    used = set(fitted.forest.used_features.tolist())
    by_row: dict[int, dict[int, Values]] = {}
    for (row, feature), known in sorted(batch.uncertain.items(), key=lambda cell: cell[0]):
        values = values_of(known, feature, fitted.bins, fitted.codebook)  # checked even if no tree uses the feature
        if feature in used:
            by_row.setdefault(row, {})[feature] = values
    waiting: list[tuple[int, dict[int, Values], Values]] = []
    number, most = 0, max(1, BLOCK_CODES // len(codes))
    for row, cells in by_row.items():
        joint = _product(row, cells)
        waiting.append((row, cells, joint))
        number += len(joint.codes)
        if number >= most:
            yield _gathered(waiting, codes)
            waiting, number = [], 0
    if waiting:
        yield _gathered(waiting, codes)


def entries_of(
    cells: Mapping[tuple[int, int], Any], codes: Codes, bins: Bins, codebook: Codebook, seed: int
) -> Entries | None:
    """Return the entries of training rows with uncertain cells, by row and feature; None if all have one entry.

    They are the completions of a row. If there are more than `MOST_ENTRIES`, as many are drawn, evenly spread over the
    values of each cell.
    """
    by_row: dict[int, dict[int, Values]] = {}
    for (row, feature), known in sorted(cells.items(), key=lambda cell: cell[0]):
        values = values_of(known, feature, bins, codebook)
        if (values.codes == values.codes[0]).all():
            values = Values(values.group[:1], values.codes[:1], np.ones(1))
        by_row.setdefault(row, {})[feature] = values
    n_rows = codes.shape[1]
    joint = {row: _joint(each, np.random.default_rng([seed, row])) for row, each in by_row.items()}
    lengths = np.array([len(joint[row][1].codes) if row in joint else 1 for row in range(n_rows)])
    if (lengths == 1).all():
        return None
    start = np.cumsum(lengths) - lengths
    filled, weight = np.repeat(codes, lengths, axis=1), np.ones(lengths.sum())
    group = np.zeros(lengths.sum(), dtype=np.int64)
    for row, (places, values) in joint.items():
        part = slice(start[row], start[row] + lengths[row])
        for (feature, of_cell), at in zip(by_row[row].items(), places, strict=True):
            filled[feature, part] = of_cell.codes[at]
        weight[part], group[part] = values.shares, values.group
    row_of = np.repeat(np.arange(n_rows), lengths)
    new = np.diff(row_of, prepend=-1) + np.abs(np.diff(group, prepend=0)) > 0
    return Entries(np.ascontiguousarray(filled), row_of, np.cumsum(new) - 1, weight)


def _joint(cells: dict[int, Values], rng: np.random.Generator) -> tuple[list[Array], Values]:
    """Return the place of each entry (m,) among the values of each cell, and groups and shares of entries."""
    each = list(cells.values())
    if np.prod([len(values.codes) for values in each], dtype=np.float64) <= MOST_ENTRIES:
        joint = _product(0, dict(cells))
        return list(np.unravel_index(joint.codes, [len(values.codes) for values in each])), joint
    places = []
    for values in each:
        even = (rng.permutation(MOST_ENTRIES) + 0.5) / MOST_ENTRIES
        places.append(np.minimum(np.searchsorted(np.cumsum(values.shares), even), len(values.codes) - 1))
    groups = np.stack([values.group[at] for values, at in zip(each, places, strict=True)])
    _, group = np.unique(groups, axis=1, return_inverse=True)
    order = np.argsort(group.reshape(-1), kind="stable")
    shares = np.full(MOST_ENTRIES, 1 / MOST_ENTRIES)
    return [at[order] for at in places], Values(group.reshape(-1)[order], order, shares)


def opinion_over_completions(
    opinion: Opinion, fitted: Fitted, batch: Batch, ask: Callable[[Completions], Opinion]
) -> Opinion:
    """Replace opinions about rows with uncertain cells by those over completions.

    `ask` returns the opinion about completions.
    """
    parts = list(completions_of(fitted, batch))
    if not parts:
        return opinion
    found = concatenate([completions.folded(ask(completions)) for completions in parts])
    return with_rows(opinion, np.concatenate([completions.rows for completions in parts]), found)


def values_over_completions(
    values: Floats, fitted: Fitted, batch: Batch, join: Callable[[Completions], Floats]
) -> Floats:
    """Replace the values (n, ...) of rows with completions by results of `join`."""
    if not batch.uncertain:
        return values
    found = values.copy()
    for completions in completions_of(fitted, batch):
        found[completions.rows] = join(completions)
    return found


def mean_of_groups(completions: Completions, intervals: Floats) -> Floats:
    """Return bounds (m, 2) over groups, given those of completions (W, 2).

    See `Completions.bound`.
    """
    low, high = intervals.T
    return np.column_stack([completions.bound(low, least=True), completions.bound(high, least=False)])


def _product(row: int, cells: dict[int, Values]) -> Values:
    """Return all combinations of the values of the cells of a row.

    Codes then number the combinations.
    """
    each = list(cells.values())
    most = max(len(values.codes) for values in each)
    while np.prod([len(values.codes) for values in each], dtype=np.float64) > MOST_WORLDS and most > 2:
        most = max(2, most // 2)
        each = [_thinned(values, most) for values in each]
    number = int(np.prod([float(len(values.codes)) for values in each]))
    if number > MOST_WORLDS:
        raise ValueError(
            f"the uncertain cells of a row must have at most {MOST_WORLDS} combinations of values, got {number} in row"
            f" {row}. Use distributions of fewer values."
        )
    cells.update(zip(cells, each, strict=True))
    groups = reduce(_pairs, [values.group for values in each])
    shares: Floats = np.ones(1)
    for values in each:
        shares = np.multiply.outer(shares, values.shares).ravel()
    order = np.argsort(groups, kind="stable")
    return Values(groups[order], order, shares[order])


def _pairs(one: Array, other: Array) -> Array:
    """Return the numbers (v · w,) of all pairs of groups (v,) and (w,)."""
    return np.add.outer(one * (int(other.max()) + 1), other).ravel()


def _thinned(values: Values, most: int) -> Values:
    """Keep at most `most` values per group, at even steps of its share.

    The first and the last value are kept. Each remaining value gets the shares of the values nearest to it.
    """
    kept = []
    for group in np.unique(values.group):
        inside = np.flatnonzero(values.group == group)
        middle = np.cumsum(values.shares[inside]) - values.shares[inside] / 2
        wanted = (np.arange(most - 2) + 0.5) / max(most - 2, 1) * values.shares[inside].sum()
        nearest = np.abs(middle[:, None] - wanted).argmin(axis=0)
        places = np.unique(np.concatenate([[0], nearest, [len(inside) - 1]])) if len(inside) > most else slice(None)
        takes = np.abs(middle[:, None] - middle[places]).argmin(axis=1)
        shares = np.bincount(takes, weights=values.shares[inside], minlength=len(middle[places]))
        kept.append((values.group[inside][places], values.codes[inside][places], shares))
    group, codes, share = (np.concatenate(columns) for columns in zip(*kept, strict=True))
    return Values(group, codes, share.astype(np.float64))


def _gathered(parts: list[tuple[int, dict[int, Values], Values]], codes: Codes) -> Completions:
    """Return the completions of rows, given their cells and the products of these."""
    rows = np.array([row for row, _, _ in parts], dtype=np.int64)
    lengths = [len(joint.codes) for _, _, joint in parts]
    start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    filled = np.repeat(codes[:, rows], lengths, axis=1)
    uncertain = np.zeros((len(codes), len(rows)), dtype=bool)
    group, n_groups = [], 0
    for position, (_, cells, joint) in enumerate(parts):
        grid = np.unravel_index(joint.codes, [len(values.codes) for values in cells.values()])
        for (feature, values), at in zip(cells.items(), grid, strict=True):
            filled[feature, start[position] : start[position + 1]] = values.codes[at]
            uncertain[feature, position] = True
        group.append(joint.group + n_groups)
        n_groups += int(joint.group.max()) + 1
    share = np.concatenate([joint.shares for _, _, joint in parts])
    return Completions(rows, start, filled, np.concatenate(group), share, uncertain)
