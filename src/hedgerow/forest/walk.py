"""Trees of a fitted model: arrays over nodes, nodes to walk, importances and text."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hedgerow import _core
from hedgerow.criteria import Criterion
from hedgerow.forest.forest import Forest, trees_between
from hedgerow.forest.moments import LeafMoments
from hedgerow.forest.nodes import MULTIWAY, SUBSET, depths_of, parents_of
from hedgerow.forest.payload import LeafPayload
from hedgerow.table import Schema, read_table
from hedgerow.table.bins import Bins, encode
from hedgerow.table.schema import Array, TableLike
from hedgerow.util.text import printable

Floats = NDArray[np.float64]


class Held(NamedTuple):
    """Classes at a node, ascending, with their rows and weights, (e,) each."""

    labels: Array
    rows: Array
    weights: Array


class TreeArrays:
    """Read-only arrays over the N nodes of one tree.

    Parameters
    ----------
    forest, number : Forest, int
        The forest, and the index of the tree.

    Attributes
    ----------
    feature : (N,) int64
        The feature on which a node splits; -2 for leaves, as in scikit-learn.
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
        nodes = self.nodes = forest.structure.between(number, number + 1)
        self._code, self._kind = nodes.code, nodes.kind
        child, flag = nodes.child, nodes.flag
        self.is_leaf: NDArray[np.bool_] = child == np.arange(len(child))
        self.is_borrowed: NDArray[np.bool_] = self.is_leaf & flag
        self.feature: NDArray[np.int64] = np.where(self.is_leaf, -2, nodes.feature)
        self.first_child: NDArray[np.int64] = np.where(self.is_leaf, -1, child)
        self.missing_left: NDArray[np.bool_] = flag & ~self.is_leaf
        self.n_children: NDArray[np.int64] = np.where(
            self.is_leaf, 0, np.where(self._kind == MULTIWAY, self._code + 1, 2)
        )

    @property
    def number(self) -> int:
        """Number of the tree in its forest."""
        return self._number

    @property
    def n_nodes(self) -> int:
        """Number of nodes, including leaves."""
        return len(self.feature)

    @property
    def leaves(self) -> tuple[int, int]:
        """First and last + 1 of its leaves among all leaves of the forest."""
        first, last = self._forest.leaf_start[self._number : self._number + 2].tolist()
        return first, last

    @property
    def is_multiway(self) -> NDArray[np.bool_]:
        """Whether each node has a child per category, and one for missing and new values."""
        return np.asarray(~self.is_leaf & (self._kind == MULTIWAY))

    @property
    def n_leaves(self) -> int:
        """Number of leaf nodes."""
        return int(self.is_leaf.sum())

    @property
    def depth(self) -> int:
        """Length of the longest path from the root to a leaf."""
        return int(self._forest.depth[self._number])

    @cached_property
    def parent(self) -> NDArray[np.int64]:
        """Parent of each node, (N,); -1 for the root."""
        return parents_of(self.first_child, self.n_children)

    @cached_property
    def node_depth(self) -> NDArray[np.int64]:
        """Depth of each node, (N,)."""
        return depths_of(self.parent)

    @property
    def leaf_evidence(self) -> LeafPayload:
        """Evidence of the leaves."""
        return self._forest.evidence.between(*self.leaves)

    @cached_property
    def evidence(self) -> LeafPayload:
        """Evidence of each of the N nodes, without borrowed leaves."""
        return self.leaf_evidence.at_nodes(self.nodes)

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """Number of rows at each node, (N,)."""
        return np.asarray(_core.node_sums(self.nodes.bits, self.nodes.payload, self.leaf_evidence.rows[:, None])[:, 0])

    def held(self, nodes: NDArray[np.bool_]) -> Iterator[tuple[int, Held]]:
        """Yield the selected nodes (N,), last one first, with the classes that occur."""
        each = zip(range(self.n_nodes - 1, -1, -1), self.leaf_evidence.held_at_nodes(self.nodes), strict=True)
        return ((number, Held(*held)) for number, held in each if nodes[number])

    @property
    def counts(self) -> NDArray[np.int64]:
        """Rows of each class at each node, (N, K)."""
        return self.evidence.table()

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """Weight of each class at each node, (N, K); equal to the counts without weights."""
        return self.evidence.table(weighted=True).astype(np.float64, copy=False)


class Tree(TreeArrays):
    """Tree of a fitted model: read-only arrays over nodes, and a root to walk from.

    Parameters
    ----------
    forest, number : Forest, int
        The forest, and the index of the tree.
    bins, schema : Bins, Schema
        The meaning of its codes.
    classes : (K,) array
        The labels, in the order of the counts.
    criterion : Criterion or str
        The criterion of its splits.
    impurities : (N,) float64 or None
        The impurity of each node, if it does not follow from the leaves.

    Attributes
    ----------
    threshold : (N,) float64
        Values up to the threshold go left; NaN for categorical splits, -2 for leaves.
    feature, parent, first_child, n_children, node_depth, missing_left, counts
        As in `TreeArrays`.
    node_count, max_depth, n_features, n_outputs, n_classes, children_left, children_right, missing_go_to_left, value, \
impurity, n_node_samples, weighted_n_node_samples
        As in scikit-learn's trees, computed when first used. Rows and shares are those that leaves count, which are all
        training rows by default.
    """

    def __init__(
        self,
        forest: Forest,
        number: int,
        bins: Bins,
        schema: Schema,
        classes: Array,
        criterion: str | Criterion = "gini",
        impurities: Floats | None = None,
    ) -> None:
        super().__init__(forest, number)
        self._impurities = impurities
        self._bins, self.schema, self.classes, self.criterion = bins, schema, classes, criterion

    @cached_property
    def threshold(self) -> NDArray[np.float64]:
        """Threshold of each node, (N,): values up to it go left."""
        result = np.where(self.is_leaf, -2.0, np.nan)
        nodes = np.flatnonzero(~self.is_leaf & (self._kind == 0))
        at = self._bins.cut_start[self.feature[nodes]] + self._code[nodes]
        inside = at < self._bins.cut_start[self.feature[nodes] + 1]
        result[nodes] = np.inf  # all values go left, missing ones right
        result[nodes[inside]] = self._bins.cuts[at[inside]]
        return result

    @property
    def root(self) -> TreeNode:
        """Root of the tree."""
        return TreeNode(self, 0)

    def at(self, number: int) -> TreeNode:
        """Return node `number`."""
        return TreeNode(self, number)

    def categories_left(self, node: int) -> list[Any]:
        """Return the categories that go left at a subset split."""
        known = self.schema.categories[self.feature[node]]
        if known is None or self._kind[node] != SUBSET:
            return []
        return list(known[self.codes_left(np.array([node]))[0]].tolist())

    def codes_left(self, nodes: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which categories go left at subset splits (m,) of one feature, (m, C)."""
        known = self.schema.categories[self.feature[nodes[0]]]
        return self.nodes.goes_left(nodes, 0 if known is None else len(known))

    # ---- the names of scikit-learn's trees --------------------------------------------------------------

    @property
    def node_count(self) -> int:
        """Number of nodes, including leaves."""
        return self.n_nodes

    @property
    def max_depth(self) -> int:
        """Length of the longest path from the root to a leaf."""
        return self.depth

    @property
    def n_features(self) -> int:
        """Number of features of the table."""
        return self.schema.n_features

    @property
    def n_outputs(self) -> int:
        """Number of outputs."""
        return len(self._forest.evidence.parts)

    @property
    def n_classes(self) -> NDArray[np.int64]:
        """Number of classes of each output, (outputs,); 1 in a regression."""
        return np.array([part.n_classes for part in self._forest.evidence.parts])

    @property
    def children_left(self) -> NDArray[np.int64]:
        """Left child of each node, (N,); -1 for leaves."""
        self._two_children("children_left")
        return self.first_child

    @property
    def children_right(self) -> NDArray[np.int64]:
        """Right child of each node, (N,); -1 for leaves."""
        self._two_children("children_right")
        return np.where(self.is_leaf, -1, self.first_child + 1)

    @property
    def missing_go_to_left(self) -> NDArray[np.bool_]:
        """Whether missing values go left, (N,)."""
        return self.missing_left

    @property
    def value(self) -> Floats:
        """Class shares, or predictions in a regression, of each node, (N, outputs, K)."""
        parts = [part.predictions() for part in self.evidence.parts]
        widest = max(part.shape[1] for part in parts)
        return np.stack([np.pad(part, ((0, 0), (0, widest - part.shape[1]))) for part in parts], axis=1)

    @property
    def impurity(self) -> Floats:
        """Impurity of each node by the criterion of the splits, (N,)."""
        return self.evidence.impurity(self.criterion) if self._impurities is None else self._impurities

    @property
    def n_node_samples(self) -> NDArray[np.int64]:
        """Number of rows at each node, (N,)."""
        return np.asarray(self.counts.sum(axis=1))

    @property
    def weighted_n_node_samples(self) -> Floats:
        """Weight of the rows at each node, (N,)."""
        return np.asarray(self.evidence.amount, dtype=np.float64)

    def apply(self, X: TableLike) -> NDArray[np.int32]:
        """Return the node number of the leaf that each sample reaches, (n,)."""
        codes = encode(read_table(X, self.schema), self._bins)
        nodes = trees_between(self._forest, self._number, self._number + 1).leaf_nodes(codes)
        return np.asarray(nodes[:, 0])

    def decision_path(self, X: TableLike) -> sparse.csr_array:
        """Return 1 for each node that a sample passes, (n, N)."""
        alone = trees_between(self._forest, self._number, self._number + 1)
        return decision_path(alone, [self], self.apply(X)[:, None])

    def predict(self, X: TableLike) -> Floats:
        """Return the `value` of the leaf that each sample reaches, (n, outputs, K)."""
        return self.value[self.apply(X)]

    def compute_feature_importances(self, normalize: bool = True) -> Floats:
        """Return the impurity decrease by feature, (p,); sums to one if normalised."""
        alone = trees_between(self._forest, self._number, self._number + 1)
        if normalize:
            return np.asarray(impurity_importance(alone, self.n_features, self.criterion, self._impurities)[0])
        gains = impurity_gains(alone, self.n_features, self.criterion, self._impurities)[0]
        return np.asarray(gains / self.weighted_n_node_samples[0])

    def _two_children(self, name: str) -> None:
        if self.is_multiway.any():
            raise AttributeError(f"{name} requires two-way splits, but this tree has multiway splits.")

    def name_of(self, feature: int) -> str:
        """Return the name of a feature, or ``x[i]`` without names."""
        return self.schema.names[feature] if self.schema.names is not None else f"x[{feature}]"

    def to_text(self, *, max_depth: int = 10, decimals: int = 2, note: Callable[[TreeNode], str] | None = None) -> str:
        """Return the tree as indented text, with leaf counts.

        `note` may add text to the line of each leaf. Below `max_depth`, at most 200, only the number of rows is shown.
        Conditions list at most 20 categories.
        """
        return "\n".join(map(printable, lines_of(self, min(max_depth, MOST_DEPTH), decimals, note)))

    def __repr__(self) -> str:
        return f"Tree({self.n_nodes} nodes, {self.n_leaves} leaves, depth {self.depth})"


class RegressionTree(Tree):
    """Tree of a fitted regressor: arrays over nodes, and a root to walk from.

    Attributes
    ----------
    counts : (N, 1) int64
        Number of rows at each node, with multiplicities in the bag.
    mean, variance : (N,) float64
        Weighted mean and variance of the targets at each node.
    value : (N, 1, 1) float64
        The prediction of a leaf: its mean, or its median if the criterion is "absolute_error". For other nodes, the
        mean.
    feature, threshold, parent, first_child, n_children, node_depth, missing_left
        As in `Tree`.
    """

    evidence: LeafMoments

    def __init__(
        self,
        forest: Forest,
        number: int,
        bins: Bins,
        schema: Schema,
        criterion: str | Criterion = "squared_error",
        impurities: Floats | None = None,
    ) -> None:
        super().__init__(forest, number, bins, schema, np.array(["rows"]), criterion, impurities)

    @property
    def weight(self) -> Floats:
        """Weight of the rows at each node, (N,); the number of rows without weights."""
        return self.evidence.amount

    @property
    def mean(self) -> Floats:
        """Mean target at each node, (N,)."""
        return self.evidence.mean

    @property
    def variance(self) -> Floats:
        """Variance of the targets at each node, (N,)."""
        return self.evidence.variances


@dataclass(frozen=True)
class TreeNode:
    """Node of a tree: its counts and its children."""

    tree: Tree
    number: int

    @property
    def is_leaf(self) -> bool:
        """Whether the node has no children."""
        return bool(self.tree.is_leaf[self.number])

    @property
    def counts(self) -> dict[Any, int]:
        """Number of rows of each class at this node."""
        return dict(zip(self.tree.classes.tolist(), self.tree.counts[self.number].tolist(), strict=True))

    @property
    def children(self) -> list[TreeNode]:
        """Nodes directly below, left first."""
        first = int(self.tree.first_child[self.number])
        return [TreeNode(self.tree, first + i) for i in range(int(self.tree.n_children[self.number]))]

    @property
    def questions(self) -> list[str]:
        """Condition of each child as text."""
        return questions_of(self, 6)


def node_evidence(tree: Any) -> Floats:
    """Return the evidence at each node of a tree, (N, K)."""
    weights, rows = tree.weights, tree.counts.sum(axis=1, keepdims=True)
    total = weights.sum(axis=1, keepdims=True)
    return np.asarray(rows * weights / np.where(total > 0, total, 1.0))


def decision_path(forest: Forest, trees: list[Tree], leaf_nodes: NDArray[np.int32]) -> sparse.csr_array:
    """Return 1 for each node that a row passes, (n, all nodes)."""
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


# ---- Ancestors of small leaves ------------------------------------------------------------------------------------


def ancestor_moments(forest: Forest, least: int) -> tuple[Floats, Floats] | None:
    """Return moments of the smallest ancestor of each leaf with `least` rows.

    Mean and variance are (L,). A leaf with enough rows is its own ancestor, and the root stands in for trees with fewer
    rows. None if all leaves have enough rows.
    """
    held = forest.evidence
    assert isinstance(held, LeafMoments)
    if (held.counts >= least).all():
        return None
    means, variances = np.empty(held.n_leaves), np.empty(held.n_leaves)
    for number in range(forest.n_trees):
        tree = TreeArrays(forest, number)
        at, own = ancestor_at(tree, least), tree.evidence
        assert isinstance(own, LeafMoments)
        first, last = tree.leaves
        means[first:last], variances[first:last] = own.mean[at], own.variances[at]
    return means, variances


def ancestor_at(tree: TreeArrays, least: int) -> NDArray[np.int64]:
    """Return the smallest ancestor of each leaf of a tree with at least `least` rows."""
    at = np.empty(tree.n_leaves, dtype=np.int64)
    at[tree.nodes.payload[tree.is_leaf]] = np.flatnonzero(tree.is_leaf)
    while True:
        few = (tree.rows[at] < least) & (tree.parent[at] >= 0)
        if not few.any():
            return at
        at[few] = tree.parent[at[few]]


# ---- Trees as text: one line per branch, and the conditions of nodes -------------------------------------------------


#: Largest depth of text; each level adds indentation to all lines below.
MOST_DEPTH = 200
#: Largest number of categories listed in a condition.
MOST_CATEGORIES = 20


def lines_of(tree: Tree, max_depth: int, decimals: int, note: Callable[[TreeNode], str] | None) -> Iterator[str]:
    """Yield one line per branch, with the counts of leaves."""
    waiting: list[tuple[str, int, int]] = [("", 0, 0)]  # condition that leads to a node, node, depth
    leaves = tree.leaf_evidence
    while waiting:
        condition, number, depth = waiting.pop()
        if depth:
            yield "|   " * (depth - 1) + "|--- " + condition
        node, prefix = tree.at(number), "|   " * depth + "|--- "
        if node.is_leaf:
            words = leaves.words(int(tree.nodes.payload[number]), tree.classes, decimals)
            yield f"{prefix}{words}{note(node) if note else ''}"
        elif depth > max_depth:
            yield f"{prefix}… {int(tree.rows[number])} rows"
        else:
            below = zip(questions_of(node, decimals), node.children, strict=True)
            waiting += [(condition, child.number, depth + 1) for condition, child in below][::-1]


def questions_of(node: TreeNode, decimals: int) -> list[str]:
    """Return the condition of each child as text."""
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
    """Return a number to print for a threshold, and whether values must be below it.

    The threshold is the highest value that goes left. It is printed itself, unless the next number above is shorter:
    thresholds of random decision trees can be just below a value.

    Examples
    --------
    >>> as_limit(2.5), as_limit(9.999999999999998)
    ((2.5, False), (10.0, True))
    """
    here = float(threshold)
    above = math.nextafter(here, math.inf)
    return (above, True) if math.isfinite(above) and len(repr(above)) < len(repr(here)) else (here, False)


def _listed(values: Array) -> str:
    """Return categories (m,) as text, at most `MOST_CATEGORIES` by name."""
    named, more = str(values[:MOST_CATEGORIES].tolist()), len(values) - MOST_CATEGORIES
    return f"{named[:-1]}, … {more:,} more]" if more > 0 else named


# ---- Impurity-based feature importances ------------------------------------------------------------------------------


#: Largest number of nodes of trees whose importances are computed at once; they fit the CPU cache.
NODES_AT_ONCE = 1 << 13


def impurity_importance(
    forest: Forest, n_features: int, criterion: str | Criterion, known: Floats | None = None
) -> Floats:
    """Return impurity decreases by feature, (T, p); each tree sums to one or zero.

    If the impurities of all nodes are `known`, they are not computed from the leaves. Small trees are batched up to
    `NODES_AT_ONCE` nodes, which halves the time for trees of 500 rows.
    """
    group = max(1, NODES_AT_ONCE * forest.n_trees // len(forest.nodes))
    firsts = range(0, forest.n_trees, group)
    spans = [(first, min(first + group, forest.n_trees)) for first in firsts]
    gain = np.concatenate(
        [
            impurity_gains(trees_between(forest, *span), n_features, criterion, _in(forest, known, *span))
            for span in spans
        ]
    )
    total = gain.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(gain, total, out=gain, where=total > 0))


def _in(forest: Forest, known: Floats | None, first: int, last: int) -> Floats | None:
    """Return the values of the nodes of trees `first` to ``last - 1``."""
    return None if known is None else known[forest.node_start[first] : forest.node_start[last]]


def impurity_gains(forest: Forest, n_features: int, criterion: str | Criterion, known: Floats | None = None) -> Floats:
    """Return the impurity decrease by feature, (T, p), at least 0."""
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


def _impurity(forest: Forest, number: int, criterion: str | Criterion, known: Floats | None) -> Floats:
    """Return the impurity of each node of a tree times its weight, (N,)."""
    leaves = forest.evidence.between(*forest.leaf_start[number : number + 2])
    amount, impurity = leaves.impurity_at_nodes(forest.structure.between(number, number + 1), criterion)
    return amount * (impurity if known is None else known)
