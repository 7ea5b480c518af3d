"""Walk: a tree of a forest -> arrays over its nodes, nodes to walk through, and text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hedgerow import _core
from hedgerow.forest.forest import Forest, some_trees
from hedgerow.forest.leaves import Leaves
from hedgerow.forest.moments import Moments
from hedgerow.forest.nodes import MULTIWAY, SUBSET, depths_of, parents_of
from hedgerow.safe.text import printable
from hedgerow.table import Schema
from hedgerow.table.bins import Bins

Floats = NDArray[np.float64]

#: Text goes no deeper than this: each level indents all below it.
MOST_DEPTH = 200
#: A set of categories names at most this many of them.
MOST_CATEGORIES = 20
#: Importances of several trees are computed at once if they have at most this many nodes, which fit into the cache.
NODES_AT_ONCE = 1 << 13


class Held(NamedTuple):
    """The classes that occur at a node (e,), in ascending order, with their rows and weights (e,)."""

    labels: NDArray[Any]
    rows: NDArray[Any]
    weights: NDArray[Any]


class TreeArrays:
    """One tree as read-only arrays over its N nodes.

    Parameters
    ----------
    forest, number : Forest, int
        Which tree.

    Attributes
    ----------
    feature : (N,) int64
        The feature on which a node splits; -1 for leaves.
    parent, first_child, n_children, node_depth : (N,) int64
        The parent of each node (-1 for the root), its first child, the number of its children (0 for leaves), and its
        distance from the root.
    missing_left : (N,) bool
        Whether missing values go left.
    counts : (N, K)
        Rows of each class at each node: the sum of the leaves below it.
    """

    def __init__(self, forest: Forest, number: int) -> None:
        self._forest, self._number = forest, number
        nodes = self.nodes = forest.structure.some(number, number + 1)
        self._payload, self._code, self._kind = nodes.payload, nodes.code, nodes.kind
        child, flag = nodes.child, nodes.flag
        self.is_leaf: NDArray[np.bool_] = child == np.arange(len(child))
        self.is_borrowed: NDArray[np.bool_] = self.is_leaf & flag
        self.feature: NDArray[np.int64] = np.where(self.is_leaf, -1, nodes.feature)
        self.first_child: NDArray[np.int64] = np.where(self.is_leaf, -1, child)
        self.missing_left: NDArray[np.bool_] = flag & ~self.is_leaf
        self.n_children: NDArray[np.int64] = np.where(
            self.is_leaf, 0, np.where(self._kind == MULTIWAY, self._code + 1, 2)
        )

    @property
    def n_nodes(self) -> int:
        """Number of nodes, leaves included."""
        return len(self.feature)

    @property
    def leaves(self) -> tuple[int, int]:
        """The number of its first leaf among all leaves of the forest, and that of the first leaf after it."""
        first, last = self._forest.leaf_start[self._number : self._number + 2].tolist()
        return first, last

    @property
    def is_multiway(self) -> NDArray[np.bool_]:
        """(N,) whether the node has a child for each category, and one for missing and new values."""
        return np.asarray(~self.is_leaf & (self._kind == MULTIWAY))

    @property
    def n_leaves(self) -> int:
        """Number of leaf nodes."""
        return int(self.is_leaf.sum())

    @property
    def depth(self) -> int:
        """Longest path from the root to a leaf."""
        return int(self._forest.depth[self._number])

    @cached_property
    def parent(self) -> NDArray[np.int64]:
        """(N,) the parent of each node; -1 for the root."""
        return parents_of(self.first_child, self.n_children)

    @cached_property
    def node_depth(self) -> NDArray[np.int64]:
        """(N,) steps from the root."""
        return depths_of(self.parent)

    @property
    def leaf_evidence(self) -> Leaves:
        """The evidence of the leaves."""
        return self._forest.evidence.some(*self.leaves)

    @cached_property
    def evidence(self) -> Leaves:
        """The evidence of each of the N nodes: that of the leaves below it, without borrowed ones."""
        return self.leaf_evidence.at_nodes(self.nodes)

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """(N,) rows at each node."""
        return np.asarray(_core.node_sums(self.nodes.bits, self.nodes.payload, self.leaf_evidence.rows[:, None])[:, 0])

    def held(self, nodes: NDArray[np.bool_]) -> Iterator[tuple[int, Held]]:
        """Which nodes (N,) -> these nodes, the last one first, and what they hold; no table of all classes is made."""
        each = zip(range(self.n_nodes - 1, -1, -1), self.leaf_evidence.held_at_nodes(self.nodes), strict=True)
        return ((number, Held(*held)) for number, held in each if nodes[number])

    @property
    def counts(self) -> NDArray[np.int64]:
        """(N, K) rows of each class at each node."""
        return self.evidence.table()

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """(N, K) weight of each class at each node; equal to the counts if rows have no weights."""
        return self.evidence.table(weighted=True).astype(np.float64, copy=False)


class Tree(TreeArrays):
    """One tree of a fitted model: read-only arrays over nodes, and a root to walk from.

    Parameters
    ----------
    forest, number : Forest, int
        Which tree.
    bins, schema : Bins, Schema
        The meaning of its codes.
    classes : (K,) array
        The labels, in the order of the counts.

    Attributes
    ----------
    threshold : (N,) float64
        Values up to the threshold go left; NaN for leaves and nominal splits.
    feature, parent, first_child, n_children, node_depth, missing_left, counts
        As in `TreeArrays`.
    """

    def __init__(self, forest: Forest, number: int, bins: Bins, schema: Schema, classes: NDArray[Any]) -> None:
        super().__init__(forest, number)
        self._bins, self.schema, self.classes = bins, schema, classes

    @cached_property
    def threshold(self) -> NDArray[np.float64]:
        """(N,) the threshold of each node: values up to it go left."""
        result = np.full(self.n_nodes, np.nan)
        nodes = np.flatnonzero(~self.is_leaf & (self._kind == 0))
        at = self._bins.cut_start[self.feature[nodes]] + self._code[nodes]
        inside = at < self._bins.cut_start[self.feature[nodes] + 1]
        result[nodes] = np.inf  # every value goes left, only missing ones right
        result[nodes[inside]] = self._bins.cuts[at[inside]]
        return result

    @property
    def root(self) -> TreeNode:
        """The root of the tree, from which to walk."""
        return TreeNode(self, 0)

    def at(self, number: int) -> TreeNode:
        """Node number `number`."""
        return TreeNode(self, number)

    def categories_left(self, node: int) -> list[Any]:
        """The categories that go left at a subset split."""
        known = self.schema.categories[self.feature[node]]
        if known is None or self._kind[node] != SUBSET:
            return []
        return list(known[self.codes_left(np.array([node]))[0]].tolist())

    def codes_left(self, nodes: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Subset splits (m,) on one feature -> (m, C): which of its categories go left."""
        known = self.schema.categories[self.feature[nodes[0]]]
        return self.nodes.goes_left(nodes, 0 if known is None else len(known))

    def name_of(self, feature: int) -> str:
        """The name of the feature, or ``x[i]`` if features have no names."""
        return self.schema.names[feature] if self.schema.names is not None else f"x[{feature}]"

    def to_text(self, *, max_depth: int = 10, decimals: int = 2, note: Callable[[TreeNode], str] | None = None) -> str:
        """The tree as indented text, with the counts of its leaves; `note` may add text to the line of each leaf.

        Below `max_depth`, and below a depth of 200 in any case, rows are only counted. A set of categories names at
        most 20 of them.
        """
        return "\n".join(map(printable, _lines(self, min(max_depth, MOST_DEPTH), decimals, note)))

    def __repr__(self) -> str:
        return f"Tree({self.n_nodes} nodes, {self.n_leaves} leaves, depth {self.depth})"


class NumberTree(Tree):
    """One tree of a fitted regressor: read-only arrays over nodes, and a root to walk from.

    Attributes
    ----------
    counts : (N, 1) int64
        Rows at each node, each as often as the bag holds it.
    mean, variance : (N,) float64
        Weighted mean and variance of the targets at each node.
    value : (N,) float64
        The prediction of a leaf: its mean, or its median if the criterion is "absolute_error". For other nodes, the
        mean.
    feature, threshold, parent, first_child, n_children, node_depth, missing_left
        As in `Tree`.
    """

    evidence: Moments

    def __init__(self, forest: Forest, number: int, bins: Bins, schema: Schema) -> None:
        super().__init__(forest, number, bins, schema, np.array(["rows"]))

    @property
    def weight(self) -> Floats:
        """(N,) weight of the rows at each node; their number if rows have no weights."""
        return self.evidence.amount

    @property
    def mean(self) -> Floats:
        """(N,) mean target at each node."""
        return self.evidence.mean

    @property
    def variance(self) -> Floats:
        """(N,) variance of the targets at each node."""
        return self.evidence.variances

    @property
    def value(self) -> Floats:
        """(N,) the prediction of a leaf; for other nodes, the mean."""
        return self.evidence.values

    def impurity(self, criterion: str) -> Floats:
        """(N,) variance at each node, or for "poisson" half the mean deviance, up to a constant of the tree."""
        return self.evidence.impurity(criterion)


@dataclass(frozen=True)
class TreeNode:
    """A node of a tree: its counts and its children."""

    tree: Tree
    number: int

    @property
    def is_leaf(self) -> bool:
        """Whether the node has no children."""
        return bool(self.tree.is_leaf[self.number])

    @property
    def counts(self) -> dict[Any, int]:
        """Class -> rows of it at this node."""
        return dict(zip(self.tree.classes.tolist(), self.tree.counts[self.number].tolist(), strict=True))

    @property
    def children(self) -> list[TreeNode]:
        """The nodes directly below, left first."""
        first = int(self.tree.first_child[self.number])
        return [TreeNode(self.tree, first + i) for i in range(int(self.tree.n_children[self.number]))]

    @property
    def questions(self) -> list[str]:
        """The condition that the rows of each child fulfil."""
        return _questions(self, 6)


def decision_path(forest: Forest, trees: list[Tree], leaf_nodes: NDArray[np.int32]) -> sparse.csr_array:
    """Leaf nodes (n, T) -> (n, all nodes): 1 for each node that a row passes."""
    n_rows = len(leaf_nodes)
    rows, columns = [], []
    for number, tree in enumerate(trees):
        at = leaf_nodes[:, number].astype(np.int64)
        alive = np.arange(n_rows)
        while len(alive):
            rows.append(alive)
            columns.append(at + forest.node_start[number])
            at = tree.parent[at]
            alive, at = alive[at >= 0], at[at >= 0]
    row, column = np.concatenate(rows), np.concatenate(columns)
    shape = (n_rows, len(forest.nodes))
    path = sparse.csr_array((np.ones(len(row), dtype=np.int64), (row, column)), shape=shape)
    path.sort_indices()
    return path


def impurity_importance(forest: Forest, n_features: int, criterion: Any, known: Floats | None = None) -> Floats:
    """-> (T, p): how much splits on each feature decrease the impurity; those of a tree sum to one, or are all zero.

    The impurities of all nodes of the forest may be `known`; otherwise they are computed from the evidence of leaves.
    Small trees are taken together, up to `NODES_AT_ONCE` nodes. Measured: half of the time that one tree after another
    takes, for trees of 500 rows.
    """
    group = max(1, NODES_AT_ONCE * forest.n_trees // len(forest.nodes))
    firsts = range(0, forest.n_trees, group)
    spans = [(first, min(first + group, forest.n_trees)) for first in firsts]
    gain = np.concatenate(
        [_gains(some_trees(forest, *span), n_features, criterion, _in(forest, known, *span)) for span in spans]
    )
    total = gain.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(gain, total, out=gain, where=total > 0))


def _in(forest: Forest, known: Floats | None, first: int, last: int) -> Floats | None:
    """The part of something known of all nodes that belongs to trees `first` to ``last - 1``."""
    return None if known is None else known[forest.node_start[first] : forest.node_start[last]]


def _gains(forest: Forest, n_features: int, criterion: Any, known: Floats | None) -> Floats:
    """-> (T, p): how much the splits on each feature decrease the impurity, at least 0."""
    nodes, n_trees = forest.structure, forest.n_trees
    each = range(n_trees)
    impurity = np.concatenate(
        [_impurity(forest, number, criterion, _in(forest, known, number, number + 1)) for number in each]
    )
    inner, how_many, children = nodes.families()
    of_children = np.where(nodes.is_borrowed, 0.0, impurity)[children]
    decrease = impurity[inner] - np.bincount(np.repeat(np.arange(len(inner)), how_many), weights=of_children)
    cells = nodes.tree_of(inner) * n_features + nodes.feature[inner]
    gain = np.bincount(cells, weights=decrease, minlength=n_trees * n_features)
    return np.maximum(gain, 0.0).reshape(n_trees, n_features)


def _impurity(forest: Forest, number: int, criterion: Any, known: Floats | None) -> Floats:
    """-> (N,): the impurity of each node of a tree, times the weight of its rows."""
    leaves = forest.evidence.some(*forest.leaf_start[number : number + 2])
    amount, impurity = leaves.impurity_at_nodes(forest.structure.some(number, number + 1), criterion)
    return amount * (impurity if known is None else known)


def _lines(tree: Tree, max_depth: int, decimals: int, note: Callable[[TreeNode], str] | None) -> Iterator[str]:
    """One line per branch, leaves with their counts."""
    waiting: list[tuple[str, int, int]] = [("", 0, 0)]  # the question that leads to a node, the node, its depth
    leaves = tree.leaf_evidence
    while waiting:
        question, number, depth = waiting.pop()
        if depth:
            yield "|   " * (depth - 1) + "|--- " + question
        node, prefix = tree.at(number), "|   " * depth + "|--- "
        if node.is_leaf:
            words = leaves.words(int(tree.nodes.payload[number]), tree.classes, decimals)
            yield f"{prefix}{words}{note(node) if note else ''}"
        elif depth > max_depth:
            yield f"{prefix}… {int(tree.rows[number])} rows"
        else:
            below = zip(_questions(node, decimals), node.children, strict=True)
            waiting += [(asked, child.number, depth + 1) for asked, child in below][::-1]


def _questions(node: TreeNode, decimals: int) -> list[str]:
    """The condition of each child as text."""
    if node.is_leaf:
        return []
    tree, number = node.tree, node.number
    feature = int(tree.feature[number])
    name, known = tree.name_of(feature), tree.schema.categories[feature]
    if tree._kind[number] == MULTIWAY:
        return [f"{name} = {value}" for value in (() if known is None else known.tolist())] + [f"{name} missing or new"]
    missing = " or missing"
    left, right = (missing, "") if tree.missing_left[number] else ("", missing)
    if known is not None:
        goes_left = tree.codes_left(np.array([number]))[0]
        return [f"{name} in {_listed(known[goes_left])}{left}", f"{name} in {_listed(known[~goes_left])}{right}"]
    threshold = tree.threshold[number]
    if np.isinf(threshold):
        return [f"{name} known", f"{name} missing"]
    at, below = as_limit(threshold)
    less, more = ("<", ">=") if below else ("<=", ">")
    return [f"{name} {less} {at:.{decimals}f}{left}", f"{name} {more} {at:.{decimals}f}{right}"]


def as_limit(threshold: float) -> tuple[float, bool]:
    """A threshold, the highest value that goes left -> a number to write, and whether values must be below it.

    The number is the threshold itself, unless the next number above is shorter: thresholds of random decision trees
    can be just below a value.

    Examples
    --------
    >>> as_limit(2.5), as_limit(9.999999999999998)
    ((2.5, False), (10.0, True))
    """
    above = float(np.nextafter(threshold, np.inf))
    return (above, True) if len(repr(above)) < len(repr(float(threshold))) else (float(threshold), False)


def _listed(values: NDArray[Any]) -> str:
    """Categories (m,) -> a list, of which at most `MOST_CATEGORIES` are named and the others counted."""
    named, more = str(values[:MOST_CATEGORIES].tolist()), len(values) - MOST_CATEGORIES
    return f"{named[:-1]}, … {more:,} more]" if more > 0 else named
