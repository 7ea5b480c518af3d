"""Views of a classification forest: class shares by kind of tree and by depth of the node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hedgerow.belief.calibrate import Views
from hedgerow.forest.rows import Bags

if TYPE_CHECKING:
    from hedgerow.forest.forest import Forest
    from hedgerow.table.bins import Codes

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class NodeContents:
    """Nodes at which the leaves of a forest are read, and their rows by class.

    Attributes
    ----------
    place : (L · D,) int32
        Node of each leaf and depth.
    start : (N + 1,) int64
        First entry of each node.
    label : (E,) uint16
        Classes of the entries, ascending in each node.
    counts : (E,) float64
        Rows of the class in the node.
    weights : (E,) float64 or None
        Their weight; None without weights.
    """

    place: NDArray[np.int32]
    start: NDArray[np.int64]
    label: NDArray[np.uint16]
    counts: Floats
    weights: Floats | None

    @classmethod
    def of(cls, forest: Forest, least: tuple[int, ...], n_threads: int = 1) -> NodeContents:
        """Return the smallest ancestor of each leaf with a least number of rows, for each depth."""
        place, start, label, counts, weights = forest._reader.ancestors(np.array(least, dtype=np.int64), n_threads)
        return cls(place, start, label, counts, weights if len(weights) else None)

    @property
    def rows(self) -> Floats:
        """Number of rows of each node, (N,)."""
        rows: Floats = np.diff(np.concatenate([[0.0], np.cumsum(self.counts)])[self.start])
        return rows

    @property
    def shares(self) -> Floats:
        """Share of each entry in its node, (E,)."""
        amounts = self.counts if self.weights is None else self.weights
        totals = np.add.reduceat(np.append(amounts, 0.0), self.start[:-1])
        totals[self.start[:-1] == self.start[1:]] = 0.0
        each = np.repeat(totals, np.diff(self.start))
        return np.asarray(np.divide(amounts, each, out=np.zeros(len(amounts)), where=each > 0))


class ViewReader:
    """Class shares of the views of a forest.

    It takes about 30 bytes per leaf, and is made when a forest is first read so.
    """

    def __init__(self, forest: Forest, views: Views, n_threads: int = 1) -> None:
        self.views, self._forest = views, forest
        self._shape = (forest.n_classes, len(views.least), views.kinds)
        nodes = NodeContents.of(forest, views.least, n_threads)
        self._place, self._start, self._label, self._shares = nodes.place, nodes.start, nodes.label, nodes.shares
        self._rows = nodes.rows

    def probability(self, codes: Codes, n_threads: int = 1) -> Floats:
        """Return the probabilities of each view, (n, V · K), kind after kind."""
        forest, given = self._forest, (self._place, self._start, self._label, self._shares, None, self._shape)
        found = forest._reader.views(codes, *given, None, n_threads)
        unseen = forest.unseen_rows(codes)
        for row in unseen.tolist():
            states = forest.mixed_states(codes[:, [row]], self._leaf_shares, n_threads)
            found[row] = self._merged(states.reshape(1, forest.n_trees, len(self.views.least), -1))[0]
        return found

    def of_leaves(self, leaves: NDArray[np.int64]) -> Floats:
        """Return the probabilities of each view, (n, V · K), of samples in one leaf of each tree (n, T)."""
        return self._merged(self.shares_at(leaves + self._forest.leaf_start[:-1]))

    def with_more(self, leaves: NDArray[np.int64], more: Floats) -> Floats:
        """Return the same as `of_leaves` if the leaves, and so the nodes above, had more rows of each class (n, K)."""
        at = leaves + self._forest.leaf_start[:-1]
        rows = self._rows[self._place.reshape(-1, len(self.views.least))[at]][..., None]
        counts = self.shares_at(at) * rows + more[:, None, None, :]
        return self._merged(counts / np.maximum(counts.sum(axis=3, keepdims=True), 1e-300))

    def shares_at(self, leaves: NDArray[np.int64]) -> Floats:
        """Return the class shares of leaves (...,), numbered over all trees, at each depth (..., D, K)."""
        n_classes, n_depths, _ = self._shape
        node = self._place.reshape(-1, n_depths)[leaves].ravel()
        first, number = self._start[node], np.diff(self._start)[node]
        at = np.repeat(np.arange(len(node)), number)
        entry = np.arange(len(at)) - np.repeat(np.cumsum(number) - number - first, number)
        shares = np.zeros((len(node), n_classes))
        shares[at, self._label[entry]] = self._shares[entry]
        return shares.reshape(*leaves.shape, n_depths, n_classes)

    def leaf_states(self, first: int, last: int) -> Floats:
        """Return the class shares of the leaves of trees `first` to ``last - 1``, (leaves, V · K).

        They are in the columns of the kind of the tree, and divided by the number of its trees: their sums over trees
        are the probabilities of the views.
        """
        forest, start = self._forest, self._forest.leaf_start
        shares = self.shares_at(np.arange(start[first], start[last]))
        states = np.zeros((len(shares), self.views.kinds, *shares.shape[1:]))
        tree = np.repeat(np.arange(first, last), np.diff(start[first : last + 1]))
        kind = tree % self.views.kinds
        of_kind = np.bincount(np.arange(forest.n_trees) % self.views.kinds, minlength=self.views.kinds)
        states[np.arange(len(shares)), kind] = shares / of_kind[kind, None, None]
        return states.reshape(len(shares), -1)

    @property
    def _leaf_shares(self) -> Floats:
        """Class shares of all leaves at each depth, (L, D · K)."""
        forest = self._forest
        return forest.cache.get(
            ("views", self.views),
            lambda: self.shares_at(np.arange(forest.leaf_start[-1])).reshape(forest.leaf_start[-1], -1),
        )

    def _merged(self, shares: Floats) -> Floats:
        """Return the probabilities of each view, (n, V · K), from the shares of nodes (n, T, D, K)."""
        kinds, n_trees = self.views.kinds, shares.shape[1]
        sums = np.zeros((len(shares), kinds, *shares.shape[2:]))
        for tree in range(n_trees):  # in this order, as in the core
            sums[:, tree % kinds] += shares[:, tree]
        total, whole = sums.sum(axis=3, keepdims=True), sums.sum(axis=1, keepdims=True)
        of_all = whole.sum(axis=3, keepdims=True)
        means = np.where(of_all > 0, whole / np.where(of_all > 0, of_all, 1.0), 1 / shares.shape[3])
        return np.where(total > 0, sums / np.where(total > 0, total, 1.0), means).reshape(len(shares), -1)


def oob_views(
    forest: Forest,
    views: Views,
    codes: Codes,
    rows: NDArray[np.int64],
    labels: NDArray[np.uint16],
    bags: Bags,
    n_threads: int = 1,
) -> Floats:
    """Return the out-of-bag probabilities of each view for training rows, (m, V · K); NaN without trees.

    One row of its class is removed from each node that counted the row, so labels must be certain. A node then needs
    one row more.
    """
    least = tuple(number + bags.counts_oob for number in views.least)
    nodes = NodeContents.of(forest, least, n_threads)
    own = np.ascontiguousarray(labels) if bags.counts_oob else None
    training = (np.ascontiguousarray(rows), bags.n_rows, bags.seed, bags.mean, own, bags.units)
    shape = (forest.n_classes, len(views.least), views.kinds)
    given = (nodes.place, nodes.start, nodes.label, nodes.counts, nodes.weights, shape)
    return forest._reader.views(codes, *given, training, n_threads)
