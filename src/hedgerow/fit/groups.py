"""Groups of rows that belong together: those given, and a test for those not given."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedgerow.errors import DependentRowsWarning
from hedgerow.forest.grow import GrowthParams
from hedgerow.forest.rows import Groups
from hedgerow.inference.fitted import Fitted
from hedgerow.params.resolve import bag_mean
from hedgerow.params.table import TreeEstimator
from hedgerow.table.binned import BinnedTable
from hedgerow.table.bins import MAX_BINS, Bins, Codes
from hedgerow.table.schema import Array, Table, TableLike
from hedgerow.util.runtime import user_level

Floats = NDArray[np.float64]


class _NotGiven:
    """Default of `groups`, with which `fit` warns of dependent rows; None does not."""

    def __repr__(self) -> str:
        return "<look for repeats>"


NOT_GIVEN = _NotGiven()
#: Groups as users pass them: labels (n,), or the name of a column of a data frame.
GroupsLike: TypeAlias = "ArrayLike | Sequence[object] | str | _NotGiven | None"


def split_groups(X: TableLike, groups: Any) -> tuple[Any, Any]:
    """Return the table without the column of groups, and the groups.

    `groups` is the name of this column, or the groups themselves.
    """
    if not isinstance(groups, str):
        return X, groups
    if not nw.dependencies.is_into_dataframe(X):
        raise ValueError(
            f"groups must be an array unless X is a data frame, got {groups!r} for a {type(X).__name__}. Pass the"
            " groups of the rows."
        )
    frame = nw.from_native(X, eager_only=True)
    if groups not in frame.columns:
        raise ValueError(f"groups must be a column of X, got {groups!r}.")
    return frame.drop(groups).to_native(), frame[groups].to_numpy()


def read_groups(groups: Any, n_rows: int, kept: NDArray[np.uint32] | None) -> Groups | None:
    """Read the group labels (n,) of the rows `kept`; None means no groups."""
    if groups is None:
        return None
    labels = _checked_labels(groups, n_rows, kept)
    return Groups.of(_numbered(labels), labels)


def labels_of_part(groups: Any, n_rows: int, kept: NDArray[np.int64] | None) -> tuple[Array, NDArray[np.uint32]]:
    """Return the labels of the groups of some rows (g,), and the place of each row `kept` among them (n,)."""
    labels = _checked_labels(groups, n_rows, kept)
    numbers = _ranked(labels)
    return labels[np.unique(numbers, return_index=True)[1]], numbers.astype(np.uint32)


def groups_of_parts(labels: list[Array], of_row: list[NDArray[np.uint32]]) -> Groups | None:
    """Join results of `labels_of_part` in the order of the table; None if all rows differ."""
    numbers = _ranked(reduce(_joined, labels))
    starts = np.cumsum([0, *map(len, labels)])
    joined = np.concatenate([numbers[start + each] for start, each in zip(starts[:-1], of_row, strict=True)])
    return Groups.of(joined)


class LaterGroups(NamedTuple):
    """Groups of the rows of a later table.

    Attributes
    ----------
    of_row : (m,) int64
        Group of each row, numbered from the first new group on; earlier groups are negative.
    n_new : int
        Number of groups without earlier rows.
    of_all : Groups or None
        Groups of earlier and later rows; None if the forest has not kept its training rows.
    """

    of_row: NDArray[np.int64]
    n_new: int
    of_all: Groups | None


def read_later_groups(groups: Any, n_rows: int, kept: NDArray[np.uint32] | None, before: Fitted) -> LaterGroups | None:
    """Read the group labels (m,) of later rows, and match them with the groups of earlier rows.

    None means that every row is a group of its own. A loaded, unpickled or merged forest has not kept labels of groups:
    all groups are new to it.
    """
    grouped = {origin.n_groups > 0 for origin in before.origins if origin.bag_mean != 0}
    if True not in grouped:
        if groups is None or groups is NOT_GIVEN or not grouped:
            return None
        raise ValueError(
            "partial_fit with groups requires a forest whose first rows had groups of several rows. Fit all rows"
            " together."
        )
    if any(origin.bags.exact for origin in before.origins):
        raise ValueError("partial_fit does not support groups with bootstrap='multinomial'. Fit all rows together.")
    if groups is NOT_GIVEN:
        raise ValueError(
            "partial_fit requires groups for a forest fitted with groups. Pass the group of each row, or None if all"
            " rows are independent."
        )
    if groups is None:  # labels that equal no other
        groups = np.array([object() for _ in range(n_rows)], dtype=object)
    elif False in grouped:
        raise ValueError("partial_fit with groups does not support a forest merged with one without groups.")
    return _later(_checked_labels(groups, n_rows, kept), None if before.rows is None else before.rows.bags.groups)


def _later(labels: Array, earlier: Groups | None) -> LaterGroups:
    """Number the groups of later rows with labels (m,)."""
    if earlier is None or earlier.labels is None:
        of_row = _ranked(labels)
        return LaterGroups(of_row, int(of_row.max(initial=-1)) + 1, None)
    n_known = earlier.n_groups
    everything = _joined(earlier.labels, labels)
    numbers = _ranked(everything)
    first = np.sort(np.unique(numbers, return_index=True)[1])
    of_all = Groups(
        np.concatenate([earlier.of_row, numbers[n_known:].astype(np.uint32)]), len(first), everything[first]
    )
    return LaterGroups(numbers[n_known:] - n_known, len(first) - n_known, of_all)


def settings_for_groups(
    settings: GrowthParams, model: TreeEstimator, target: Any, groups: Groups | None
) -> GrowthParams:
    """Return the growth parameters for bootstrap samples of groups.

    Leaves count only rows of the bootstrap sample, because they must not count the group of an out-of-bag row.
    """
    if groups is None or settings.bag_mean == 0:
        alone = settings.leaf_counts == "groups"  # every row is a group
        return replace(settings, leaf_counts="distinct") if alone else settings
    if settings.leaf_counts == "oob":
        raise ValueError("leaf_counts='oob' does not support groups. Use 'distinct' or 'inbag'.")
    if settings.leaf_counts == "groups":
        _check_countable(settings, model, target)
    mean = bag_mean(model.bootstrap, model.max_samples, groups.n_groups, "groups")
    leaf_counts = "distinct" if settings.leaf_counts == "all" else settings.leaf_counts
    return replace(settings, bag_mean=mean, leaf_counts=leaf_counts)


def _check_countable(settings: GrowthParams, model: TreeEstimator, target: Any) -> None:
    """Raise an error if leaves cannot count groups instead of rows."""
    targets = target.outputs if target.kind == "several" else (target,)
    if any(each.kind != "classes" or each.known is not None for each in targets):
        raise ValueError("leaf_counts='groups' requires certain labels of classes. Use 'distinct'.")
    if settings.monotonic is not None or model.class_weight == "balanced_subsample":
        raise ValueError(
            "leaf_counts='groups' does not support monotonic_cst and class_weight='balanced_subsample'. Use 'distinct'."
        )


def _joined(first: Array, second: Array) -> Array:
    """Concatenate labels; those of different types remain different."""
    alike = first.dtype.kind == second.dtype.kind
    return np.concatenate([first, second] if alike else [first.astype(object), second.astype(object)])


def _ranked(labels: Array) -> NDArray[np.int64]:
    """Number labels (n,) in the order of their first rows."""
    _, first, inverse = np.unique(_numbered(labels), return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[inverse.reshape(-1)])


def _checked_labels(groups: Any, n_rows: int, kept: NDArray[np.integer[Any]] | None) -> Array:
    """Return the labels (n,) of the rows `kept`."""
    labels = np.asarray(groups)
    if labels.shape != (n_rows,):
        raise ValueError(f"groups must have one label for each of the {n_rows} rows, got shape {labels.shape}.")
    if _has_missing(labels):
        raise ValueError("groups must not have missing values. Give each such row a group of its own.")
    return labels if kept is None else labels[kept]


def _has_missing(labels: Array) -> bool:
    """Return whether a label is None or does not equal itself, as NaN."""
    if labels.dtype.kind in "fcmM":
        return bool(np.isnan(labels).any())
    if labels.dtype.kind != "O":
        return False
    return not all(each is not None and _equals_itself(each) for each in labels)


def _equals_itself(label: object) -> bool:
    """Return whether a label equals itself; comparing pandas.NA raises TypeError."""
    try:
        return bool(label == label)
    except TypeError:
        return False


def _numbered(labels: Array) -> NDArray[np.int64]:
    """Number labels (n,), which need not be sortable."""
    if labels.dtype.kind != "O":
        return np.asarray(np.unique(labels, return_inverse=True)[1]).reshape(-1).astype(np.int64)
    known: dict[Any, int] = {}
    return np.array([known.setdefault(label, len(known)) for label in labels], dtype=np.int64)


# ---- Detection of rows that are too similar to be independent --------------------------------------------------------
#
# Let r(1) ≤ r(2) ≤ … be the distances from a row to its neighbours in d dimensions. If rows are independent and their
# density is smooth, the gaps m · d · log(r(m + 1) / r(m)) are independent and exponentially distributed with mean 1
# (Rényi's representation; the TwoNN estimator of intrinsic dimension uses m = 1). d is estimated from the far
# neighbours of a sample of rows. If rows come in groups of g similar rows, gap number g - 1 is much larger: neighbour g
# is the first of another group.
#
# Distances are between ranks. Rows in the same bin have random ranks within it, so tables of categories, where equal
# rows are common, obey the same law.


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
