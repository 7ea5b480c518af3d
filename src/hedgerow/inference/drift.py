"""Drift tests: comparison of old and new rows in the leaves of a forest.

Old and new rows are two samples. In every tree, the likelihood ratio G compares their distributions over leaves
(traffic). G of the leaves is the sum of G over all splits, so it can be divided among features without remainder. G of
leaves and classes is G of the leaves plus G of the classes within leaves. Its null distribution comes from random
permutations of old and new. Old rows count only in trees for which they are out-of-bag, where they are exchangeable
with new rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.stats import betabinom

from hedgerow.forest.rows import spread_evenly
from hedgerow.forest.walk import Tree, TreeArrays, ancestor_at
from hedgerow.inference.novelty import PredictionNovelty, learned_novelty
from hedgerow.inference.predictor import Predictor
from hedgerow.params.table import RandomState
from hedgerow.table.bins import Codes
from hedgerow.table.schema import Array

Floats = NDArray[np.float64]

#: Tables of at most this many cells are summed by sorting, larger ones by a sparse matrix.
SMALL = 1_000_000
#: Number of leaves in the result.
LISTED = 10


@dataclass(frozen=True)
class FeatureDrift:
    """Share of the traffic difference at splits on one feature."""

    name: str
    share: float  # of G over all features
    p_value: float  # adjusted: among all features


@dataclass(frozen=True)
class LeafDrift:
    """A leaf or small branch in which the shares of old and new rows differ."""

    tree: int
    node: int
    where: str  # the conditions that lead to it
    label: object  # the class that is counted; None means all rows
    n_old: int
    n_new: int
    expected_new: float
    p_value: float  # adjusted: among all leaves of all trees


@dataclass(frozen=True)
class Drift:
    """Result of a drift test.

    Attributes
    ----------
    p_value : float
        Permutation p-value of traffic and labels together; small values indicate drift. Without drift it is uniform
        (approximately so for out-of-bag rows, see docs/how-to/updating.md).
    traffic_p_value : float
        P-value of the leaves that rows reach, ignoring labels.
    label_p_value : float or None
        P-value of the labels within leaves; None without labels.
    features : list of FeatureDrift
        All features, largest share first.
    leaves : list of LeafDrift
        The leaves that differ most.
    n_old, n_new : int
        Numbers of rows compared.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hedgerow import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(20, random_state=0).fit(X[::2], y[::2])
    >>> forest.drift(X[1::2], y[1::2]).p_value > 0.05
    True
    >>> moved = X[1::2] + [0, 0, 1.0, 0]
    >>> drift = forest.drift(moved)
    >>> drift.p_value, drift.features[0].name
    (0.005, 'x[2]')
    """

    p_value: float
    traffic_p_value: float
    label_p_value: float | None
    features: list[FeatureDrift] = field(repr=False)
    leaves: list[LeafDrift] = field(repr=False)
    n_old: int
    n_new: int

    def __str__(self) -> str:
        return "\n".join(_report(self))


class DriftSample(NamedTuple):
    """Leaf nodes (n, T), out-of-bag mask (n, T) or None, labels (n,) or None."""

    nodes: NDArray[np.int32]
    oob_mask: NDArray[np.bool_] | None
    labels: Array | None


def find_drift(
    trees: Sequence[Tree],
    old: DriftSample,
    new: DriftSample,
    *,
    classes: Array | None,
    min_rows: int = 20,
    n_permutations: int = 199,
    random_state: RandomState = 0,
) -> Drift:
    """Test for drift between two samples.

    With `classes` (K,), labels are class numbers, otherwise continuous targets. A branch that fewer than `min_rows` of
    all rows reach is treated as one leaf, because differences inside it are noise.
    """
    pooled = _pool(old, new)
    relabelled = _relabelled(len(old.nodes), len(new.nodes), n_permutations, random_state)
    totals = _Totals(trees[0].schema.n_features, relabelled.shape[1])
    for number, tree in enumerate(trees):
        rows = np.arange(len(pooled.nodes)) if pooled.oob_mask is None else np.flatnonzero(pooled.oob_mask[:, number])
        labels = None if pooled.labels is None else pooled.labels[rows]
        branches = _branches(tree, pooled.nodes[rows, number].astype(np.int64), min_rows)
        totals.add(number, tree, branches, relabelled[rows], labels, classes)
    return totals.verdict(trees, len(old.nodes), len(new.nodes), labelled=pooled.labels is not None)


# ---- rows and branches --------------------------------------------------------------------------------------


def _pool(old: DriftSample, new: DriftSample) -> DriftSample:
    """Concatenate two samples."""
    joined = [None if a is None or b is None else np.concatenate([a, b]) for a, b in zip(old[1:], new[1:], strict=True)]
    return DriftSample(np.concatenate([old.nodes, new.nodes]), *joined)


def _relabelled(n_old: int, n_new: int, n_permutations: int, random_state: Any) -> Floats:
    """Return the indicator of new rows (n, 1 + P): the true one, then P permutations."""
    random = np.random.default_rng(random_state)
    is_new = np.concatenate([np.zeros(n_old), np.ones(n_new)])
    columns = [is_new, *(random.permutation(is_new) for _ in range(n_permutations))]
    return np.ascontiguousarray(np.stack(columns, axis=1))


class _Branches(NamedTuple):
    """A tree without small branches: inner nodes, ends, and the end of each row."""

    inner: NDArray[np.int64]
    ends: NDArray[np.int64]
    end_of_row: NDArray[np.int64]  # positions in ends


def _branches(tree: Tree, nodes: NDArray[np.int64], min_rows: int) -> _Branches:
    """Prune branches of fewer than `min_rows` rows, given their leaf nodes (m,)."""
    held = np.bincount(nodes, minlength=tree.n_nodes)
    deepest = int(tree.node_depth.max(initial=0))
    levels = [np.flatnonzero(tree.node_depth == level) for level in range(1, deepest + 1)]
    for at in reversed(levels):
        held += np.bincount(tree.parent[at], weights=held[at], minlength=tree.n_nodes).astype(np.int64)
    stays = ~tree.is_leaf & (held >= min_rows)
    end = np.zeros(tree.n_nodes, dtype=np.int64)
    for at in levels:
        above = tree.parent[at]
        stays[at] &= stays[above]
        end[at] = np.where(stays[above], at, end[above])
    ends, end_of_row = np.unique(end[nodes], return_inverse=True)
    return _Branches(np.flatnonzero(stays), ends, end_of_row.ravel())


# ---- the statistic --------------------------------------------------------------------------------------------


class _Totals:
    """Statistics of the data and all permutations.

    They are G of traffic by feature, G of labels, and the largest deviation of a leaf.
    """

    def __init__(self, n_features: int, n_columns: int) -> None:
        self._traffic = np.zeros((n_features, n_columns))
        self._labels = np.zeros(n_columns)
        self._largest = np.zeros(n_columns)
        self._listed: list[tuple[float, LeafDrift]] = []

    def add(
        self,
        number: int,
        tree: Tree,
        branches: _Branches,
        relabelled: Floats,
        labels: Array | None,
        classes: Array | None,
    ) -> None:
        """Add one tree, with the indicators (m, 1 + P) of the rows that count in it."""
        ends = _Groups.of(branches.end_of_row, len(branches.ends), relabelled)
        self._add_traffic(tree, branches, ends)
        cells, n_labels = branches.end_of_row, 1
        counted = ends
        if labels is not None and classes is not None:
            n_labels = len(classes)
            cells = cells * n_labels + labels
            counted = _Groups.of(cells, len(branches.ends) * n_labels, relabelled)
            gain = counted.information.reshape(len(branches.ends), n_labels, -1).sum(axis=1) - ends.information
            self._labels += 2 * gain.sum(axis=0)
        elif labels is not None:
            self._labels += _difference_of_means(branches.end_of_row, ends, relabelled, labels)
        self._look_for_leaves(number, tree, branches, counted, classes if n_labels > 1 else None)

    def _add_traffic(self, tree: Tree, branches: _Branches, ends: _Groups) -> None:
        """Add G of each split to its feature: information of children minus its own."""
        place = np.full(tree.n_nodes, -1)
        there = np.concatenate([branches.inner, branches.ends])
        place[there] = np.arange(len(there))
        under, end, at = [], np.arange(len(branches.ends)), branches.ends
        while len(at):  # from every end up to the root
            under.append((place[at], end))
            at, end = tree.parent[at][tree.parent[at] >= 0], end[tree.parent[at] >= 0]
        node, part = (np.concatenate(each) for each in zip(*under, strict=True))
        new, total = (_sums_by(node, len(there), each[part]) for each in (ends.new, ends.total[:, None]))
        information = _information(new, total[:, 0])
        parent = tree.parent[there]
        child, owner = np.flatnonzero(parent >= 0), parent[parent >= 0]
        n_features, n_inner = len(self._traffic), len(branches.inner)
        self._traffic += 2 * _sums_by(tree.feature[owner], n_features, information[child])
        self._traffic -= 2 * _sums_by(tree.feature[branches.inner], n_features, information[:n_inner])

    def _look_for_leaves(
        self, number: int, tree: Tree, branches: _Branches, counted: _Groups, classes: Array | None
    ) -> None:
        """Keep the cells that deviate most, and the maximum under each permutation."""
        deviation = np.abs(counted.deviation)
        if not len(deviation):
            return
        self._largest = np.maximum(self._largest, deviation.max(axis=0))
        n_labels = 1 if classes is None else len(classes)
        for cell in np.argsort(-deviation[:, 0], kind="stable")[:LISTED].tolist():
            end, label = divmod(cell, n_labels)
            new, total = int(counted.new[cell, 0]), int(counted.total[cell])
            found = LeafDrift(
                number,
                int(branches.ends[end]),
                "",
                None if classes is None else classes[label],
                total - new,
                new,
                float(total * counted.share[0]),
                1.0,
            )
            self._listed.append((float(deviation[cell, 0]), found))
        self._listed = sorted(self._listed, key=lambda pair: -pair[0])[:LISTED]

    def verdict(self, trees: Sequence[Tree], n_old: int, n_new: int, *, labelled: bool) -> Drift:
        """Return the result over all trees."""
        traffic = self._traffic.sum(axis=0)
        label_p, both = None, traffic[None]  # statistics (s, 1 + P) that the p-value combines
        if labelled:
            label_p, both = _p_value(self._labels), np.stack([traffic, self._labels])
        every = traffic[0]
        by_feature = _adjusted(self._traffic)
        features = [
            FeatureDrift(trees[0].name_of(i), float(self._traffic[i, 0] / every) if every > 0 else 0.0, by_feature[i])
            for i in range(len(self._traffic))
        ]
        leaves = [
            replace(
                found,
                where=_way_to(trees[found.tree], found.node),
                p_value=float(np.mean(self._largest >= size * (1 - 1e-12))),
            )
            for size, found in self._listed
        ]
        return Drift(
            p_value=_p_value(_standardised(both).max(axis=0)),
            traffic_p_value=_p_value(traffic),
            label_p_value=label_p,
            features=sorted(features, key=lambda each: -each.share),
            leaves=leaves,
            n_old=n_old,
            n_new=n_new,
        )


class _Groups(NamedTuple):
    """Rows (g,) and new rows (g, 1 + P) by group, and share of new rows (1 + P,)."""

    total: Floats
    new: Floats
    share: Floats

    @classmethod
    def of(cls, group: NDArray[np.int64], n_groups: int, relabelled: Floats) -> _Groups:
        """Count rows by group (m,), given indicators of new rows (m, 1 + P)."""
        total = np.bincount(group, minlength=n_groups).astype(np.float64)
        share = relabelled.mean(axis=0) if len(group) else np.zeros(relabelled.shape[1])
        return cls(total, _sums_by(group, n_groups, relabelled), share)

    @property
    def information(self) -> Floats:
        """Σ n·log n of new and old rows minus that of all rows, (g, 1 + P)."""
        return _information(self.new, self.total)

    @property
    def deviation(self) -> Floats:
        """Excess of new rows in standard deviations, (g, 1 + P)."""
        expected = self.total[:, None] * self.share
        spread = np.sqrt(np.maximum(expected * (1 - self.share), 0))
        return np.asarray(np.divide(self.new - expected, spread, out=np.zeros_like(self.new), where=spread > 0))


def _information(new: Floats, total: Floats) -> Floats:
    """Return n·log n of new plus that of old, minus that of all rows, (g, 1 + P)."""
    return _n_log_n(new) + _n_log_n(total[:, None] - new) - _n_log_n(total)[:, None]


def _sums_by(group: NDArray[np.int64], n_groups: int, values: Floats) -> Floats:
    """Return the sums (g, c) of values (m, c) by group (m,)."""
    if values.size > SMALL:  # a sorted copy would take as much memory again
        rows = np.arange(len(group))
        member = sparse.csr_array((np.ones(len(group)), (group, rows)), shape=(n_groups, len(group)))
        return np.asarray(member @ values)
    sums = np.zeros((n_groups, values.shape[1]))
    if len(group):
        order = np.argsort(group, kind="stable")
        there, first = np.unique(group[order], return_index=True)
        sums[there] = np.add.reduceat(values[order], first, axis=0)
    return sums


def _n_log_n(counts: Floats) -> Floats:
    """Return n·log n of whole numbers, from a table for speed (three times)."""
    n = np.arange(int(counts.max(initial=0)) + 1, dtype=np.float64)
    n[1:] *= np.log(n[1:])
    return np.asarray(n[counts.astype(np.int32)])


def _difference_of_means(end: NDArray[np.int64], ends: _Groups, relabelled: Floats, y: Floats) -> Floats:
    """Return the squared differences of old and new leaf means, (1 + P,).

    They are weighted, and relative to the variance within leaves.
    """
    mean = np.bincount(end, weights=y, minlength=len(ends.total)) / np.maximum(ends.total, 1)
    away = y - mean[end]
    variance = float((away**2).sum()) / max(1, len(y) - len(ends.total))
    old = ends.total[:, None] - ends.new
    # Targets are centred within leaves, so the sums of old and new rows are opposite.
    apart = _sums_by(end, len(ends.total), relabelled * away[:, None])
    with np.errstate(divide="ignore", invalid="ignore"):
        squares = apart**2 * (1 / ends.new + 1 / old)
    squares[(ends.new == 0) | (old == 0)] = 0
    return np.asarray(squares.sum(axis=0) / variance if variance > 0 else np.zeros(relabelled.shape[1]))


# ---- from statistics to p-values ------------------------------------------------------------------------------


def _p_value(statistic: Floats) -> float:
    """Return the share of statistics (1 + P,) at least as large as the first."""
    return float(np.mean(statistic >= statistic[0] * (1 - 1e-12)))


def _standardised(statistics: Floats) -> Floats:
    """Standardise statistics (s, 1 + P) over permutations."""
    spread = statistics.std(axis=1, keepdims=True)
    centred = statistics - statistics.mean(axis=1, keepdims=True)
    return np.asarray(np.divide(centred, spread, out=np.zeros_like(centred), where=spread > 0))


def _adjusted(statistics: Floats) -> list[float]:
    """Return adjusted p-values of statistics (s, 1 + P).

    They are adjusted by the maximum statistic (Westfall and Young, 1993).
    """
    sizes = _standardised(statistics)
    largest = sizes.max(axis=0)
    return [float(np.mean(largest >= size - 1e-12)) for size in sizes[:, 0]]


# ---- as text ------------------------------------------------------------------------------------------------------


def _way_to(tree: Tree, node: int) -> str:
    """Return the conditions from the root to a node."""
    conditions: list[str] = []
    while tree.parent[node] >= 0:
        above = int(tree.parent[node])
        conditions.append(tree.at(above).questions[node - int(tree.first_child[above])])
        node = above
    return ", ".join(reversed(conditions)) or "all rows"


def _short(where: str) -> str:
    """Shorten a long list of conditions to the last ones."""
    return where if len(where) <= 100 else "…" + where[where.index(", ", len(where) - 100) :]


def _report(drift: Drift) -> Iterator[str]:
    """Yield the lines of the printed result."""
    yield f"{drift.n_new:,} new rows compared with {drift.n_old:,} old rows: p = {drift.p_value:.3g}"
    yield f"  leaves reached: p = {drift.traffic_p_value:.3g}"
    if drift.label_p_value is not None:
        yield f"  labels within leaves: p = {drift.label_p_value:.3g}"
    yield "features by share of the difference:"
    for feature in drift.features[:5]:
        yield f"  {feature.name}: {feature.share:.0%} of the difference, p = {feature.p_value:.3g}"
    yield "leaves that differ most:"
    for leaf in drift.leaves[:5]:
        of = "" if leaf.label is None else f" of class {leaf.label}"
        yield (
            f"  {leaf.n_new} new rows{of} where {leaf.expected_new:.1f} were expected, p = {leaf.p_value:.3g}:"
            f" {_short(leaf.where)} (tree {leaf.tree})"
        )


#: Maximum number of old rows and of new rows compared, evenly spread.
DRIFT_ROWS = 20_000


class DriftRows(NamedTuple):
    """Codes (p, n), labels (n,), row numbers (n,) and out-of-bag mask (n, T).

    Labels and mask may be None.
    """

    codes: Codes
    labels: Array | None
    rows: NDArray[np.int64]
    oob_mask: NDArray[np.bool_] | None = None


def compare(
    predictor: Predictor,
    new: DriftRows,
    reference: DriftRows | None,
    classes: Array | None,
    **options: Any,
) -> Drift:
    """Compare new rows with out-of-bag training rows, or with a reference."""
    old = _training_rows(predictor, new.labels is not None) if reference is None else reference
    if old.oob_mask is not None:
        new = _as_incremental(predictor, new)
    samples = (_sample_of(predictor, rows) for rows in (old, new))
    return find_drift(predictor.fitted.trees(), *samples, classes=classes, **options)


def sampled_rows(codes: Codes, labels: Array | None) -> DriftRows:
    """Return at most `DRIFT_ROWS` of the rows with codes (p, n) and labels (n,)."""
    some = spread_evenly(codes.shape[1], DRIFT_ROWS)
    return DriftRows(np.ascontiguousarray(codes[:, some]), None if labels is None else labels[some], some)


def _training_rows(predictor: Predictor, labelled: bool) -> DriftRows:
    """Return training rows, at most one of each group, with their out-of-bag masks."""
    rows = predictor.fitted.oob_rows
    if rows is None:
        raise ValueError(
            "drift requires out-of-bag rows or a reference. Pass as reference old rows that were not used to grow the"
            " trees."
        )
    some = rows.bags.independent_rows(DRIFT_ROWS)
    oob_mask = rows.bags.oob_each(predictor.forest.n_trees, some)
    labels = rows.target.truth[some] if labelled else None
    return DriftRows(rows.codes_of(some), labels, some, oob_mask)


def _as_incremental(predictor: Predictor, new: DriftRows) -> DriftRows:
    """Draw out-of-bag masks for new rows.

    Then they count in as many trees as training rows.
    """
    rows = predictor.fitted.oob_rows
    assert rows is not None
    return new._replace(oob_mask=rows.bags.oob_each(predictor.forest.n_trees, rows.n_rows + new.rows))


def _sample_of(predictor: Predictor, rows: DriftRows) -> DriftSample:
    nodes = predictor.forest.leaf_nodes(rows.codes, predictor.threads(rows.codes.shape[1]))
    return DriftSample(nodes, rows.oob_mask, rows.labels)


#: Maximum number of rows of a batch compared, evenly spread.
MOST_ROWS = 2000
#: Leaves are joined to branches with at least this number and this share of the training rows.
BRANCH_ROWS, BRANCH_SHARE = 20, 0.02
#: Number of draws from the null distribution, and how many are computed at once.
DRAWS, AT_ONCE = 999, 111
#: Largest novelty p-value of a novel row.
NOVEL = 0.05


class Traffic(NamedTuple):
    """P-value of the traffic of a batch, and features by share of the difference."""

    p_value: float
    features: list[tuple[str, float]]  # name and share of the difference, the largest first


class NovelRowCount(NamedTuple):
    """Number of novel rows, their expected number, and the p-value of the number."""

    number: int
    expected: float
    p_value: float


def traffic_of(predictor: Predictor, codes: Codes, seed: int = 0) -> Traffic:
    """Compare the traffic of codes (p, n) with that of the training rows.

    The statistic is the mean over trees of Pearson's chi-squared of the branches. Trees share the rows, so it has no
    chi-squared distribution. Its null distribution is simulated by normal weights of the rows of the batch, and widened
    for the sampling error of the training rows.
    """
    some = spread_evenly(codes.shape[1], MOST_ROWS)
    nodes = predictor.forest.leaf_nodes(np.ascontiguousarray(codes[:, some]), predictor.threads(len(some)))
    n_rows, columns, values, excess = len(some), [], [], np.zeros(predictor.codebook.schema.n_features)
    offset, known, beyond = 0, np.inf, 0.0
    for number in range(predictor.forest.n_trees):
        tree = TreeArrays(predictor.forest, number)
        total = float(tree.rows[0])
        known = min(known, total)
        branch = _heavy_branches(tree, int(max(BRANCH_ROWS, BRANCH_SHARE * total)))
        ends, place = np.unique(branch[np.flatnonzero(tree.is_leaf)], return_inverse=True)
        end_of_node = np.zeros(tree.n_nodes, dtype=np.int64)
        end_of_node[np.flatnonzero(tree.is_leaf)] = place
        reached, share = end_of_node[nodes[:, number]], tree.rows[ends] / total
        columns.append(offset + reached)
        values.append(1 / np.sqrt(share[reached]))
        current_content = np.bincount(reached, minlength=len(ends)) / n_rows
        beyond += float(((current_content - share) ** 2 / share).sum())
        _add_excess(excess, tree, ends, current_content, share)
        offset += len(ends)
    shape = (n_rows, offset)
    start = np.arange(0, n_rows * predictor.forest.n_trees + 1, predictor.forest.n_trees)
    table = sparse.csr_array((np.stack(values, 1).ravel(), np.stack(columns, 1).ravel(), start), shape=shape)
    drawn = _drawn(table, seed) * (1 + n_rows * _chance(predictor, known))
    p_value = (1 + int((drawn >= n_rows * beyond).sum())) / (1 + DRAWS)
    order = np.argsort(-excess, kind="stable").tolist()
    whole = excess.sum() or 1.0
    return Traffic(p_value, [(predictor.codebook.names[j], float(excess[j] / whole)) for j in order if excess[j] > 0])


def novel_rows_of(predictor: Predictor, novelty: PredictionNovelty) -> NovelRowCount:
    """Count the novel rows of a batch, and compute the p-value of their number.

    The number is beta-binomial, because ranks are among a finite number of rows. Training rows are scored by some of
    the trees only, so their scores are noisy: they count as half as many rows.
    """
    known = len(learned_novelty(predictor.fitted).both)
    p_value = novelty.p_value
    number, rank = int((p_value <= NOVEL).sum()), int(NOVEL * (known + 1))
    if rank < 1:
        return NovelRowCount(number, 0.0, 1.0)
    chance = float(betabinom.sf(number - 1, len(p_value), rank / 2, (known + 1 - rank) / 2))
    return NovelRowCount(number, len(p_value) * rank / (known + 1), min(1.0, chance))


def _heavy_branches(tree: TreeArrays, least: int) -> NDArray[np.int64]:
    """Return the lowest ancestor of each leaf with at least `least` rows, (N,)."""
    found = np.zeros(tree.n_nodes, dtype=np.int64)
    leaves = np.flatnonzero(tree.is_leaf)
    found[leaves] = ancestor_at(tree, least)[tree.nodes.payload[leaves]]
    # Branches must not be nested, so the topmost of those that lead to a leaf counts.
    is_end = np.zeros(tree.n_nodes, dtype=bool)
    is_end[found[leaves]] = True
    at, top = found[leaves].copy(), found[leaves].copy()
    while (inside := tree.parent[at] >= 0).any():
        at[inside] = tree.parent[at[inside]]
        top[inside] = np.where(is_end[at[inside]], at[inside], top[inside])
    found[leaves] = top
    return found


def _drawn(table: sparse.csr_array, seed: int) -> Floats:
    """Draw from the null distribution of the statistic, (DRAWS,).

    A draw is the squared length of the centred sum of rows (n, m) with normal weights, divided by n.
    """
    random, n_rows = np.random.default_rng(seed), table.shape[0]
    mean = np.asarray(table.sum(axis=0)).ravel() / n_rows
    across, drawn = table.T.tocsr(), []
    for _ in range(DRAWS // AT_ONCE):
        weights = random.normal(size=(n_rows, AT_ONCE))
        sums = across @ weights - mean[:, None] * weights.sum(axis=0)
        drawn.append((sums**2).sum(axis=0) / n_rows)
    return np.concatenate(drawn)


def _chance(predictor: Predictor, known: float) -> float:
    """Return the relative sampling variance of the counts of a tree.

    It is 1.25 / n for n training rows, and 2.25 / n for n rows of a bag. It exceeds 1 / n because trees split where
    their own rows are. 0.25 was chosen on sixty tables without drift. A group is no more information than a row.
    """
    drawn = predictor.fitted.fingerprint
    for origin in predictor.fitted.origins:
        if origin.n_groups:
            share = origin.bags.average if origin.leaf_counts == "inbag" else -np.expm1(-origin.bags.average)
            known = min(known, origin.n_groups * share)
    return (2.25 if drawn is not None and drawn.leaf_counts == "inbag" else 1.25) / known


def _add_excess(
    excess: Floats, tree: TreeArrays, ends: NDArray[np.int64], current_content: Floats, share: Floats
) -> None:
    """Add the information of every split above the ends to its feature.

    It is that of its children minus its own.
    """
    new, old = np.zeros(tree.n_nodes), np.zeros(tree.n_nodes)
    at, new_part, old_part = ends.copy(), current_content.copy(), share.copy()
    inner = np.zeros(tree.n_nodes, dtype=bool)
    while len(at):
        np.add.at(new, at, new_part)
        np.add.at(old, at, old_part)
        above = tree.parent[at]
        keep = above >= 0
        at, new_part, old_part = above[keep], new_part[keep], old_part[keep]
        inner[at] = True
    with np.errstate(divide="ignore", invalid="ignore"):
        information = np.where(new > 0, new * np.log(new / old), 0.0)
    child = np.flatnonzero((tree.parent >= 0) & (old > 0))
    np.add.at(excess, tree.nodes.feature[tree.parent[child]], information[child])
    np.subtract.at(excess, tree.nodes.feature[np.flatnonzero(inner)], information[inner])
