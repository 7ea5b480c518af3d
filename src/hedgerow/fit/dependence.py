"""Detection of rows that are too similar to be independent.

Let r(1) ≤ r(2) ≤ … be the distances from a row to its neighbours in d dimensions. If rows are independent and their
density is smooth, the gaps m · d · log(r(m + 1) / r(m)) are independent and exponentially distributed with mean 1
(Rényi's representation; the TwoNN estimator of intrinsic dimension uses m = 1). d is estimated from the far neighbours
of a sample of rows. If rows come in groups of g similar rows, gap number g - 1 is much larger: neighbour g is the first
of another group.

Distances are between ranks. Rows in the same bin have random ranks within it, so tables of categories, where equal rows
are common, obey the same law.
"""

from __future__ import annotations

import re
import warnings
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import DependentRowsWarning
from hedgerow.table.binned import BinnedTable
from hedgerow.table.bins import MAX_BINS, Bins, Codes
from hedgerow.table.schema import Table
from hedgerow.util.runtime import user_level

Floats = NDArray[np.float64]

#: Minimum number of rows to examine.
FEWEST_ROWS = 60
#: Number of sampled rows. A large table has a small first sample, with about this many distances; the whole sample is
#: examined only if the first one is suspicious.
SAMPLE, FIRST_SAMPLE, FIRST_DISTANCES = 400, 32, 320_000
#: Number of neighbours of a row; the farther half determines the dimension.
NEIGHBOURS = 65
#: Maximum number of columns, evenly spread, over which distances are measured.
MOST_COLUMNS = 64
#: Gaps that are examined together, as ends of slices: groups of 2, of 3 or 4, of 5 to 8, and of 9 to 16 rows.
BLOCKS = (0, 1, 3, 7, 15)
#: Cap of a gap, which limits the influence of single rows.
LARGEST_GAP = 10.0
#: Mean gaps of a block above which rows are suspicious, or cause a warning. No independent real set reached 1.3.
SUSPICIOUS, ENOUGH = 1.25, 1.5
#: A row with a gap above this is counted in the message; by chance, 4% have one.
WIDE_GAP, BY_CHANCE = 6.0, 0.04
#: Maximum number of distances in memory.
CELLS = 1 << 22
#: BLAS computes matrix products with fewer multiplications in one thread.
ONE_THREAD = 1 << 18
#: Step of the subsample of distances that estimates a limit of the smallest ones.
STRIDE = 16
#: Names of units in the names of identifier columns.
_UNIT = (
    "patient|subject|person|participant|individual|customer|client|user|member|household|family|firm|company|hospital|"
    "speaker|writer|device|machine|session|account|animal|student"
)
_IDENTIFIER = re.compile(
    rf"(^|[\W_])(u?u?ids?|identifier|{_UNIT})(no|nr|num|number|name|[\W_]|$)|({_UNIT})_?id", re.IGNORECASE
)
_CAMEL_ID = re.compile(r"[a-z]ID?s?$")
#: Minimum number of values of an identifier, and the range of their mean frequency.
FEWEST_VALUES, REPEATS = 10, (1.3, 200.0)
#: A categorical column of any name is like an identifier with at least this many values of at most this frequency.
MANY_VALUES, FEW_REPEATS = 50, 20.0


class Likeness(NamedTuple):
    """Similarity of rows: mean gap of each block, and number of rows with a wide gap.

    Mean gaps of independent rows are 1 or less.
    """

    mean_gaps: Floats
    n_wide: int
    n_sampled: int

    @property
    def share(self) -> float:
        """Share of sampled rows with a wide gap."""
        return self.n_wide / self.n_sampled

    @property
    def largest(self) -> float:
        """Largest mean gap."""
        return float(self.mean_gaps.max(initial=0.0))


def warn_of_dependent_rows(
    table: Table | BinnedTable, kept: NDArray[np.uint32] | None, codes: Codes, bins: Bins
) -> None:
    """Warn once if the rows `kept`, with codes (p, n), are too similar, or a column looks like an identifier."""
    if codes.shape[1] < FEWEST_ROWS or codes.shape[0] == 0:
        return
    found, n_rows = [], codes.shape[1]
    alike = likeness(codes, bins.nominal)
    if alike is not None and alike.largest > ENOUGH:
        found.append(
            f"{alike.share:.0%} of {alike.n_sampled:,} sampled rows have neighbours much nearer than independent rows"
            f" would have ({BY_CHANCE:.0%} by chance)"
        )
        if copies := n_copies(codes):
            found.append(f"{copies:,} of {n_rows:,} rows equal another row in every column")
    column = identifier(table, kept, bins)
    if column is not None:
        name, n_values = column
        found.append(f"column {name!r} has {n_values:,} values in {n_rows:,} rows, like an identifier with repeats")
    if found:
        warning = DependentRowsWarning(found, None if column is None else column[0])
        warnings.warn(warning, stacklevel=user_level())


def identifier(table: Table | BinnedTable, kept: NDArray[np.uint32] | None, bins: Bins) -> tuple[str, int] | None:
    """Return name and number of values of the first column like an identifier."""
    n_rows = table.n_rows if kept is None else len(kept)
    for feature, name in enumerate(table.schema.names or ()):
        by_name = bool(_IDENTIFIER.search(str(name)) or _CAMEL_ID.search(str(name)))
        if not (by_name or bins.nominal[feature]):
            continue
        n_values = int(bins.n_bins[feature])
        if not bins.nominal[feature]:  # a bin may have several values
            n_values = _n_values(table, kept, bins, feature)
        if n_values < FEWEST_VALUES or not REPEATS[0] <= n_rows / n_values <= REPEATS[1]:
            continue
        if by_name or (n_values >= MANY_VALUES and n_rows / n_values <= FEW_REPEATS):
            return str(name), n_values
    return None


def _n_values(table: Table | BinnedTable, kept: NDArray[np.uint32] | None, bins: Bins, feature: int) -> int:
    """Return the number of distinct values of a numeric column.

    A binned table has lost its values. If a bin may have several of them, they are taken as distinct.
    """
    if isinstance(table, BinnedTable):
        n_bins = int(bins.n_bins[feature])
        return n_bins if n_bins < MAX_BINS else table.n_rows
    column = np.asarray(table.columns.read(feature, feature + 1)[0])
    column = column if kept is None else column[kept]
    return len(np.unique(column[~np.isnan(column)]))


def n_copies(codes: Codes) -> int:
    """Return the number of rows that equal another row, given codes (p, n)."""
    factors = np.random.default_rng(0).integers(1, 2**63, len(codes), dtype=np.uint64) | np.uint64(1)
    keys = np.zeros(codes.shape[1], dtype=np.uint64)
    for factor, column in zip(factors, codes, strict=True):
        keys += factor * (column.astype(np.uint64) + np.uint64(1))  # sums modulo 2**64
    counts = np.unique(keys, return_counts=True)[1]
    return int(counts[counts > 1].sum())


def likeness(codes: Codes, nominal: NDArray[np.uint8]) -> Likeness | None:
    """Measure the similarity of rows (p, n); None if they cannot be compared."""
    n_rows = codes.shape[1]
    some = np.linspace(0, len(codes) - 1, min(len(codes), MOST_COLUMNS)).astype(np.int64)
    random = np.random.default_rng(0)
    ranks = _Ranks(codes, some, nominal, random)
    sample = random.choice(n_rows, min(n_rows, SAMPLE), replace=False)
    first = max(FIRST_SAMPLE, FIRST_DISTANCES // n_rows)
    found = _likeness(ranks, sample[:first])
    if found is not None and found.largest > SUSPICIOUS and first < len(sample):
        found = _likeness(ranks, sample)
    return found


def _likeness(ranks: _Ranks, sample: NDArray[np.int64]) -> Likeness | None:
    """Measure the similarity of sampled rows (q,) to their neighbours."""
    distances = ranks.nearest(sample)
    n_neighbours = distances.shape[1]
    logs = 0.5 * np.log(np.maximum(distances, 1e-9))
    gaps = np.arange(1, n_neighbours) * np.diff(logs, axis=1)
    spacing = gaps[:, n_neighbours // 2 :].mean()
    if not spacing > 0:
        return None
    gaps = np.minimum(gaps[:, : n_neighbours // 2] / spacing, LARGEST_GAP)
    ends = [end for end in BLOCKS if end <= gaps.shape[1]]
    means = [gaps[:, first:last].mean() for first, last in pairwise(ends)]
    wide = (gaps[:, : ends[-1]] > WIDE_GAP).any(axis=1)
    return Likeness(np.array(means), int(wide.sum()), len(sample))


class _Ranks:
    """Ranks of rows in some columns, from -1/2 to 1/2.

    Ranks are random within a bin, and categories are in random order.
    """

    def __init__(
        self, codes: Codes, columns: NDArray[np.int64], nominal: NDArray[np.uint8], random: np.random.Generator
    ) -> None:
        self.codes, self.columns = codes, columns
        self.n_rows = codes.shape[1]
        self.low, self.width = [], []
        for column in columns:
            shares = np.bincount(codes[column]) / self.n_rows
            order = random.permutation(len(shares)) if nominal[column] else np.arange(len(shares))
            low = np.empty(len(shares))
            low[order] = np.cumsum(shares[order]) - shares[order] - 0.5
            self.low.append(low.astype(np.float32))
            self.width.append(shares.astype(np.float32))
        # Row i has entry i + j in column j: cheap, and independent within a row.
        self.within = random.random(self.n_rows + len(columns), dtype=np.float32)

    def of(self, rows: slice | NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the ranks of rows, (p, m)."""
        parts = []
        for number, (column, low, width) in enumerate(zip(self.columns, self.low, self.width, strict=True)):
            codes, within = self.codes[column][rows], self.within[number : number + self.n_rows][rows]
            parts.append(low[codes] + width[codes] * within)
        return np.stack(parts)

    def nearest(self, sample: NDArray[np.int64]) -> Floats:
        """Return squared distances (q, k) of rows (q,) to their nearest rows, ascending."""
        k = min(NEIGHBOURS, self.n_rows // 3)
        own = self.of(sample)
        found: Floats | None = None
        step = max(k + 1, CELLS // len(sample))
        for first in range(0, self.n_rows, step):
            part = self.of(slice(first, first + step))
            squares = _products(own.T * np.float32(-2), part)
            squares += (part * part).sum(axis=0)  # plus the square of the row itself: the squared distance
            inside = (sample >= first) & (sample < first + step)
            squares[inside, sample[inside] - first] = np.inf
            smallest = _smallest(squares, k)
            found = smallest if found is None else np.sort(np.concatenate([found, smallest], axis=1), axis=1)[:, :k]
        assert found is not None
        return np.asarray(found + (own * own).sum(axis=0)[:, None].astype(np.float64))


def _products(left: NDArray[np.float32], right: NDArray[np.float32]) -> NDArray[np.float32]:
    """Multiply matrices (q, p) and (p, n) in small pieces.

    BLAS then uses one thread; waking others takes much longer.
    """
    found = np.empty((len(left), right.shape[1]), dtype=np.float32)
    step = max(16, ONE_THREAD // left.size)
    for first in range(0, right.shape[1], step):
        np.matmul(left, right[:, first : first + step], out=found[:, first : first + step])
    return found


def _smallest(values: NDArray[np.float32], k: int) -> Floats:
    """Return the k smallest values per row of (q, n), ascending, padded with infinity."""
    n = values.shape[1]
    found = np.full((len(values), k), np.inf)
    if n <= 4 * STRIDE * STRIDE:
        ordered = np.sort(values, axis=1)[:, :k]
        found[:, : ordered.shape[1]] = ordered
        return found
    thinned = values[:, ::STRIDE]
    guess = min(thinned.shape[1] - 1, 2 * k // STRIDE + STRIDE // 2)
    limits = np.partition(thinned, guess, axis=1)[:, guess]  # about 2 k values of all are below it
    below = values <= limits[:, None]
    for row, (chosen, which) in enumerate(zip(values, below, strict=True)):
        small = np.sort(chosen[which])
        found[row] = small[:k] if len(small) >= k else np.sort(np.partition(chosen, k)[:k])
    return found
