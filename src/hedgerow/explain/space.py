"""Space: a forest -> the boxes of codes that its leaves occupy, and what each leaf adds to a decision."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.explain.margins import margins_of
from hedgerow.explain.question import Floats
from hedgerow.judge.answer import ClassAnswers
from hedgerow.table.bins import Codes

Ints = NDArray[np.int64]

#: There is no search if nodes × features is above this, because the boxes of all leaves must fit into memory.
MOST_CELLS = 60_000_000


class Space:
    """The boxes of codes that the leaves of a forest occupy; made once for all samples.

    Attributes
    ----------
    features : (F,) int64
        The features on which some tree splits.
    low, high : (L, F) int32
        First and last code of the box of each leaf.
    allowed : dict of int to bool (L, C)
        For each nominal feature, by its position in `features`: the categories that can reach each leaf.
    by_missing : (L, F) bool
        Whether a missing value can reach the leaf.
    tree, leaf : (L,) int64, int32
        The tree of each leaf, and its number in the tree; several leaves can borrow the same rows.
    plausible : (L,) bool
        Whether the leaf has training rows.
    margins : Margins or None
        By how much classes can be ahead of others in some leaves, if the decision depends on it.
    """

    def __init__(self, now: ClassAnswers) -> None:
        self.now = now
        self.features: Ints = now.forest.used_features
        boxes = _NodeBoxes(now, self.features)
        leaves = np.concatenate([np.flatnonzero(tree.is_leaf) + start for tree, start in boxes.trees])
        self.place_of_node = np.full(len(now.forest.nodes), -1)
        self.place_of_node[leaves] = np.arange(len(leaves))
        self.leaf = now.forest.payload[leaves]
        self.low, self.high, self.by_missing = boxes.low[leaves], boxes.high[leaves], boxes.by_missing[leaves]
        self.allowed = {place: mask[leaves] for place, mask in boxes.allowed.items()}
        self.tree = np.searchsorted(now.forest.node_start, leaves, side="right") - 1
        evidence = np.concatenate([now.forest.evidence_in(t) for t in range(now.forest.n_trees)])
        evidence = evidence[now.forest.leaf_start[self.tree] + self.leaf]
        self.plausible = (evidence.sum(axis=1) > 0) & ~boxes.borrowed[leaves]
        self.margins = margins_of(now, evidence, self.tree)
        self.costs = [self._unit_costs(int(feature)) for feature in self.features]

    def reached(self, codes: Codes) -> Ints:
        """Codes (p, n) -> (n, T): the leaves reached, by their numbers in this object."""
        nodes = self.now.forest.leaf_nodes(np.ascontiguousarray(codes)) + self.now.forest.node_start[:-1]
        return np.asarray(self.place_of_node[nodes])

    def _unit_costs(self, feature: int) -> tuple[Floats, float]:
        """-> typical values of the bins as shares of the range, and 1 / range."""
        if self.now.fitted.bins.nominal[feature]:
            return np.zeros(0), 0.0
        start, span = self.now.fitted.bins.center_start[feature : feature + 2], self.now.meaning.span_of(feature)
        return self.now.fitted.bins.centers[start[0] : start[1]], 1.0 / span if span > 0 else 0.0


def too_large(now: ClassAnswers) -> bool:
    """Whether the boxes of the leaves would take too much memory."""
    features = now.forest.used_features
    categories = int(now.fitted.bins.n_bins[features[now.fitted.bins.nominal[features] == 1]].sum())
    return len(now.forest.nodes) * (len(features) + categories) > MOST_CELLS


class _NodeBoxes:
    """The boxes of all nodes of a forest, level by level from the roots."""

    def __init__(self, now: ClassAnswers, features: Ints) -> None:
        self.now, self.features = now, features
        starts = now.forest.node_start
        trees = now.fitted.trees()
        self.trees = list(zip(trees, starts[:-1].tolist(), strict=True))
        n_nodes, last = int(starts[-1]), now.fitted.bins.n_bins[features].astype(np.int32) - 1
        self.low = np.zeros((n_nodes, len(features)), dtype=np.int32)
        self.high = np.repeat(last[None], n_nodes, axis=0)
        self.by_missing = np.ones((n_nodes, len(features)), dtype=bool)
        nominal = np.flatnonzero(now.fitted.bins.nominal[features] == 1).tolist()
        ends = np.concatenate([[0], np.cumsum(last[nominal] + 1)]).tolist()
        self._categories = np.ones((n_nodes, ends[-1]), dtype=bool)
        self.allowed = {
            place: self._categories[:, first:end]
            for place, first, end in zip(nominal, ends[:-1], ends[1:], strict=True)
        }
        self.borrowed = np.concatenate([tree.is_borrowed for tree in trees])
        self._place_of = np.full(now.fitted.schema.n_features, -1)
        self._place_of[features] = np.arange(len(features))
        for tree, start in self.trees:
            self._fill(tree, start)

    def _fill(self, tree: Any, start: int) -> None:
        """Compute the boxes of all nodes of a tree."""
        for level in range(1, int(tree.node_depth.max(initial=0)) + 1):
            nodes = np.flatnonzero(tree.node_depth == level)
            above = tree.parent[nodes]
            own, parents = nodes + start, above + start
            self.low[own], self.high[own], self.by_missing[own] = (
                self.low[parents],
                self.high[parents],
                self.by_missing[parents],
            )
            self._categories[own] = self._categories[parents]
            place = self._place_of[tree.feature[above]]
            position = nodes - tree.first_child[above]
            self._restrict(tree, above, own, place, position)

    def _restrict(self, tree: Any, above: Ints, own: Ints, place: Ints, position: Ints) -> None:
        """Restrict the boxes of nodes to the rows that the splits of their parents send to them."""
        left = position == 0
        multiway = tree.is_multiway[above]
        to_missing = np.where(multiway, position == tree.n_children[above] - 1, left == tree.missing_left[above])
        self.by_missing[own, place] &= to_missing
        numeric = self.now.fitted.bins.nominal[tree.feature[above]] == 0
        code = tree._code[above]
        at, where = own[numeric & left], place[numeric & left]
        self.high[at, where] = np.minimum(self.high[at, where], code[numeric & left])
        at, where = own[numeric & ~left], place[numeric & ~left]
        self.low[at, where] = np.maximum(self.low[at, where], code[numeric & ~left] + 1)
        for which in np.unique(place[~numeric]).tolist():
            mask = self.allowed[which]
            several, two = (place == which) & multiway, (place == which) & ~multiway
            mask[own[several]] &= position[several, None] == np.arange(mask.shape[1])
            if two.any():
                mask[own[two]] &= tree.codes_left(above[two]) == left[two, None]
