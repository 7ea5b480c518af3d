"""Prune: a tree and the cost of a leaf -> the subtree that is worth its leaves."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.forest.moments import NumberTree
from hedgerow.forest.tree import DENSE_CLASSES, Forest, Tree, join_forests
from hedgerow.table import Schema
from hedgerow.table.bins import Bins
from hedgerow.target.criteria import Criterion, resolve_criterion


@dataclass(frozen=True)
class PruningStep:
    """One weakest link: cutting below `node` costs `alpha` per leaf saved and leaves `impurity` in the tree."""

    node: int
    alpha: float
    impurity: float


def pruning_path(tree: Tree, criterion: str | Criterion) -> Iterator[PruningStep]:
    """The weakest links of a tree, weakest first, until only the root is left (Breiman et al., 1984).

    The risk of a node is its impurity times its share of the tree's weight; a branch is worth keeping while
    it lowers the risk by at least alpha per leaf.
    """
    yield from weakest_links(tree, node_risk(tree, criterion))


def weakest_links(tree: Tree, risk: NDArray[np.float64]) -> Iterator[PruningStep]:
    """The same for any risk (N,) of the nodes."""
    risk = np.where(tree.is_borrowed, 0.0, risk)
    below, leaves = _sums_below(tree, risk)
    alive = ~tree.is_leaf
    gone = np.zeros(tree.n_nodes, dtype=bool)
    links = [(_link(risk, below, leaves, node), node) for node in np.flatnonzero(alive).tolist()]
    heapq.heapify(links)
    while links:
        alpha, node = heapq.heappop(links)
        if not alive[node] or gone[node] or alpha != _link(risk, below, leaves, node):
            continue
        _mark_below(tree, node, gone)
        alive[node] = False
        risk_gained, leaves_lost = risk[node] - below[node], leaves[node] - 1
        at = node
        while at >= 0:
            below[at] += risk_gained
            leaves[at] -= leaves_lost
            if at != node:
                heapq.heappush(links, (_link(risk, below, leaves, at), int(at)))
            at = int(tree.parent[at])
        yield PruningStep(node, max(alpha, 0.0), float(below[0]))


@dataclass(frozen=True, eq=False)
class PruningPath:
    """The subtrees that cost-complexity pruning goes through, from the whole tree to its root.

    Attributes
    ----------
    ccp_alphas : (S,) float64
        Ascending: the cost of a leaf from which on a subtree is the best one; 0 for the whole tree.
    impurities : (S,) float64
        Impurity of the leaves of each subtree, each leaf weighted by its share of the rows.
    """

    ccp_alphas: NDArray[np.float64]
    impurities: NDArray[np.float64]


def path_of(tree: Tree, criterion: str | Criterion) -> PruningPath:
    """All weakest links of a tree, as scikit-learn lists them: the whole tree first, then one entry for each link."""
    risk = node_risk(tree, criterion)
    steps = list(pruning_path(tree, criterion))
    return PruningPath(
        np.array([0.0, *(step.alpha for step in steps)]),
        np.array([risk[tree.is_leaf].sum(), *(step.impurity for step in steps)]),
    )


def node_risk(tree: Tree, criterion: str | Criterion) -> NDArray[np.float64]:
    """-> (N,): impurity of each node times its share of the tree's weight; nothing for borrowed leaves."""
    weights = tree.weights
    amount = weights.sum(axis=1)
    risk = resolve_criterion(criterion).impurity(weights) * amount / amount[0]
    risk[tree.is_borrowed] = 0
    return np.asarray(risk)


def prune_forest(
    forest: Forest, bins: Bins, schema: Schema, classes: NDArray[Any], criterion: str | Criterion, ccp_alpha: float
) -> Forest:
    """Cut every branch whose cost per leaf is at most `ccp_alpha`; 0 leaves the forest as it is."""
    if _checked_cost(ccp_alpha) == 0:
        return forest
    pruned: Forest | None = None
    for number in range(forest.n_trees):
        tree = Tree(forest, number, bins, schema, classes)
        one = _cut_below_cost(forest, number, tree, pruning_path(tree, criterion), ccp_alpha)
        pruned = one if pruned is None else join_forests(pruned, one)
    assert pruned is not None
    return pruned


def prune_numbers(forest: Forest, bins: Bins, schema: Schema, criterion: str, ccp_alpha: float) -> Forest:
    """The same for the forest of a regression; leaves by absolute error cannot be joined from what they remember."""
    if _checked_cost(ccp_alpha) == 0:
        return forest
    if criterion == "absolute_error":
        raise ValueError(
            f"ccp_alpha must be 0 with criterion='absolute_error', got {ccp_alpha!r}: leaves do not keep what the"
            " median of two of them is; limit max_depth, max_leaf_nodes or min_samples_leaf instead"
        )
    pruned: Forest | None = None
    for number in range(forest.n_trees):
        tree = NumberTree(forest, number, bins, schema)
        links = weakest_links(tree, tree.impurity(criterion) * tree.weight / tree.weight[0])
        one = _cut_below_cost(forest, number, tree, links, ccp_alpha)
        pruned = one if pruned is None else join_forests(pruned, one)
    assert pruned is not None
    return pruned


def cut_tree(forest: Forest, number: int, tree: Tree, cut: NDArray[np.bool_]) -> Forest:
    """Make leaves of the nodes in `cut` (N,), drop what is below them -> a forest of one tree."""
    nodes, leaves = forest.structure.some(number, number + 1).cut(cut)
    counts = tree.counts[leaves].astype(np.uint32)
    weights = None if forest.weights is None else tree.weights[leaves]
    return Forest(n_classes=forest.n_classes, **nodes.arrays(), **_packed(counts, weights), **tree.leaf_moments(leaves))


def _checked_cost(ccp_alpha: float) -> float:
    """The cost of a leaf, if it is one."""
    if not isinstance(ccp_alpha, Real) or not 0 <= ccp_alpha < np.inf:
        raise ValueError(f"ccp_alpha must be a number >= 0, got {ccp_alpha!r}")
    return ccp_alpha


def _cut_below_cost(forest: Forest, number: int, tree: Tree, links: Iterator[PruningStep], ccp_alpha: float) -> Forest:
    """Cut the links that cost at most `ccp_alpha` per leaf -> a forest of one tree."""
    cut = np.zeros(tree.n_nodes, dtype=bool)
    for step in links:
        if step.alpha > ccp_alpha:
            break
        cut[step.node] = True
    return cut_tree(forest, number, tree, cut)


def _packed(counts: NDArray[np.uint32], weights: NDArray[np.float64] | None) -> dict[str, Any]:
    """(L, K) -> the arrays of a forest's leaves, sparse when classes are many."""
    n_classes = counts.shape[1]
    if n_classes <= DENSE_CLASSES:
        flat = None if weights is None else weights.ravel()
        return {"counts": counts.ravel(), "entry_start": None, "entry_class": None, "weights": flat}
    leaf, label = np.nonzero(counts if weights is None else counts + weights)
    start = np.concatenate([[0], np.cumsum(np.bincount(leaf, minlength=len(counts)))])
    return {
        "counts": counts[leaf, label],
        "entry_start": start.astype(np.int64),
        "entry_class": label.astype(np.uint16),
        "weights": None if weights is None else weights[leaf, label],
    }


def _sums_below(tree: Tree, risk: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """(N,) -> (N,), (N,): risk and number of the leaves below each node, the node itself if it is one."""
    below = np.where(tree.is_leaf, risk, 0.0)
    leaves = np.where(tree.is_leaf, 1, 0)
    for level in range(int(tree.node_depth.max(initial=0)), 0, -1):
        nodes = np.flatnonzero(tree.node_depth == level)
        np.add.at(below, tree.parent[nodes], below[nodes])
        np.add.at(leaves, tree.parent[nodes], leaves[nodes])
    return below, leaves


def _link(risk: NDArray[np.float64], below: NDArray[np.float64], leaves: NDArray[np.int64], node: int) -> float:
    """What the branch below a node gains per leaf it adds."""
    return float((risk[node] - below[node]) / (leaves[node] - 1))


def _mark_below(tree: Tree, node: int, marked: NDArray[np.bool_]) -> None:
    """Mark everything below a node (not the node)."""
    waiting = [node]
    while waiting:
        at = waiting.pop()
        for child in range(int(tree.first_child[at]), int(tree.first_child[at] + tree.n_children[at])):
            if not marked[child]:
                marked[child] = True
                waiting.append(child)
