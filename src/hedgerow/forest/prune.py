"""Cost-complexity pruning, and impurities that need the training rows of the leaves."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from hedgerow.criteria import Criterion
from hedgerow.forest.forest import Forest, join_forests
from hedgerow.forest.grow import TrainingRows
from hedgerow.forest.moments import LeafMoments
from hedgerow.forest.quantiles import LeafRows, leaf_rows_of
from hedgerow.forest.walk import TreeArrays

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class PruningStep:
    """Cut below `node`, which costs `alpha` per leaf and leaves `impurity`."""

    node: int
    alpha: float
    impurity: float


def pruning_path(
    tree: TreeArrays, criterion: str | Criterion, impurity: NDArray[np.float64] | None = None
) -> Iterator[PruningStep]:
    """Yield the weakest branches in order, down to the root (Breiman et al., 1984).

    The risk of a node is its impurity times its share of the weight of the tree. A branch is worth keeping if it lowers
    the risk by more than alpha per leaf that it adds. `impurity` (N,) overrides that of the criterion.
    """
    risk = node_risk(tree, criterion, impurity)
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
    """Subtrees of cost-complexity pruning, from the whole tree to its root.

    Attributes
    ----------
    ccp_alphas : (S,) float64
        The smallest cost per leaf at which each subtree is the best one, ascending; 0 for the whole tree.
    impurities : (S,) float64
        Impurity of the leaves of each subtree, weighted by their shares of the rows.
    """

    ccp_alphas: NDArray[np.float64]
    impurities: NDArray[np.float64]


def path_of(tree: TreeArrays, criterion: str | Criterion, impurity: NDArray[np.float64] | None = None) -> PruningPath:
    """Return the pruning path, as scikit-learn does: the whole tree, then each cut."""
    risk = node_risk(tree, criterion, impurity)
    steps = list(pruning_path(tree, criterion, impurity))
    return PruningPath(
        np.array([0.0, *(step.alpha for step in steps)]),
        np.array([risk[tree.is_leaf].sum(), *(step.impurity for step in steps)]),
    )


def node_risk(
    tree: TreeArrays, criterion: str | Criterion, impurity: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Return impurity times weight share of each node, (N,); 0 if borrowed."""
    amount = tree.evidence.amount
    risk = (tree.evidence.impurity(criterion) if impurity is None else impurity) * amount / amount[0]
    return np.where(tree.is_borrowed, 0.0, risk)


def prune(forest: Forest, criterion: str | Criterion, ccp_alpha: float, rows: LeafRows | None = None) -> Forest:
    """Cut branches that lower the risk by at most `ccp_alpha` per leaf.

    0 leaves the forest unchanged. Trees of medians need the training `rows` of the leaves.
    """
    if ccp_alpha == 0:
        return forest
    if rows is None and (reason := forest.evidence.cannot_be_cut(criterion)):
        raise ValueError(
            f"ccp_alpha must be 0 with criterion={criterion!r}, got {ccp_alpha!r}: {reason}. Limit the depth or the"
            " number of leaves instead."
        )
    trees = [TreeArrays(forest, number) for number in range(forest.n_trees)]
    if rows is not None:
        for tree in trees:
            tree.evidence = with_medians(tree, rows)
    return join_forests(*(cut_tree(tree, _costly(tree, criterion, ccp_alpha)) for tree in trees))


def prune_by_rows(
    forest: Forest, rows: TrainingRows, criterion: str | Criterion, ccp_alpha: float, first_tree: int, n_threads: int
) -> Forest:
    """Prune trees, from number `first_tree` on, that were just grown on rows."""
    if ccp_alpha == 0 or criterion != "absolute_error" or len(forest.evidence.parts) > 1:
        return prune(forest, criterion, ccp_alpha)
    own = replace(rows, bags=replace(rows.bags, first_tree=rows.bags.first_tree + first_tree))
    return prune(forest, criterion, ccp_alpha, leaf_rows_of(forest, own, n_threads))


def cut_tree(tree: TreeArrays, at: NDArray[np.bool_]) -> Forest:
    """Turn nodes `at` (N,) into leaves, and return a forest of one tree."""
    nodes, leaves = tree.nodes.cut(at)
    return Forest(nodes, tree.evidence.cut(leaves))


def _costly(tree: TreeArrays, criterion: str | Criterion, ccp_alpha: float) -> NDArray[np.bool_]:
    """Return nodes whose branches lower the risk by at most `ccp_alpha` per leaf."""
    cut = np.zeros(tree.n_nodes, dtype=bool)
    for step in pruning_path(tree, criterion):
        if step.alpha > ccp_alpha:
            break
        cut[step.node] = True
    return cut


def _sums_below(tree: TreeArrays, risk: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return risk and number of the leaves below each node, (N,) each."""
    below = np.where(tree.is_leaf, risk, 0.0)
    leaves = np.where(tree.is_leaf, 1, 0)
    for level in range(int(tree.node_depth.max(initial=0)), 0, -1):
        nodes = np.flatnonzero(tree.node_depth == level)
        np.add.at(below, tree.parent[nodes], below[nodes])
        np.add.at(leaves, tree.parent[nodes], leaves[nodes])
    return below, leaves


def _link(risk: NDArray[np.float64], below: NDArray[np.float64], leaves: NDArray[np.int64], node: int) -> float:
    """Return the decrease in risk per leaf of the branch below a node."""
    return float((risk[node] - below[node]) / (leaves[node] - 1))


def _mark_below(tree: TreeArrays, node: int, marked: NDArray[np.bool_]) -> None:
    """Mark all nodes below a node, excluding itself."""
    waiting = [node]
    while waiting:
        at = waiting.pop()
        for child in range(int(tree.first_child[at]), int(tree.first_child[at] + tree.n_children[at])):
            if not marked[child]:
                marked[child] = True
                waiting.append(child)


# ---- Impurities and medians of nodes that need the training rows of the leaves ---------------------------------------

#: Regression criteria whose impurities need the rows of leaves.
BY_ROWS = ("absolute_error", "poisson")


def node_impurities(forest: Forest, rows: LeafRows, criterion: str) -> Floats:
    """Return the impurity of every node of every tree, end to end."""
    trees = (TreeArrays(forest, number) for number in range(forest.n_trees))
    if criterion == "absolute_error":
        return np.concatenate([with_medians(tree, rows).impurity(criterion) for tree in trees])
    return np.concatenate([_poisson(tree, rows) for tree in trees])


def impurities_of(forest: Forest, rows: TrainingRows, criterion: Any, n_threads: int) -> Floats | None:
    """Return the impurity of every node if the criterion needs rows; else None.

    It is None for multi-output forests too.
    """
    if criterion not in BY_ROWS or len(forest.evidence.parts) > 1:
        return None
    return node_impurities(forest, leaf_rows_of(forest, rows, n_threads), criterion)


def with_medians(tree: TreeArrays, rows: LeafRows) -> LeafMoments:
    """Return the evidence of nodes (N,) with medians and mean absolute errors."""
    held = tree.evidence
    assert isinstance(held, LeafMoments)
    at, values, weights = _rows_of(tree, rows)
    medians, errors = held.values.copy(), np.zeros(tree.n_nodes)
    for level in range(int(tree.node_depth.max(initial=0)), -1, -1):
        here = np.flatnonzero(tree.node_depth[at] == level)  # rows of shallower leaves stay there
        here = here[np.argsort(at[here], kind="stable")]
        node, start = np.unique(at[here], return_index=True)
        middle, error = _medians(values[here], weights[here], start)
        errors[node] = error
        inner = ~tree.is_leaf[node]
        medians[node[inner]] = middle[inner]
        at[here] = tree.parent[at[here]]
    return replace(held, values=medians, means=held.mean, errors=errors)


def _poisson(tree: TreeArrays, rows: LeafRows) -> Floats:
    """Return half the mean Poisson deviance of the rows of each node, (N,)."""
    held = tree.evidence
    at, values, weights = _rows_of(tree, rows)
    sums = np.bincount(at, weights=weights * xlogy(values, values), minlength=tree.n_nodes)
    for level in range(int(tree.node_depth.max(initial=0)), 0, -1):
        nodes = np.flatnonzero(tree.node_depth == level)
        np.add.at(sums, tree.parent[nodes], sums[nodes])
    return np.asarray(np.maximum(sums / held.amount + held.impurity("poisson"), 0.0))


def _rows_of(tree: TreeArrays, rows: LeafRows) -> tuple[NDArray[np.int64], Floats, Floats]:
    """Return leaf node, target and weight of each row, by target, (m,) each."""
    first, last = tree.leaves
    start = rows.row_start[first : last + 1]
    ranks = rows.ranks[start[0] : start[-1]]
    node_of_leaf = np.empty(last - first, dtype=np.int64)
    node_of_leaf[tree.nodes.payload[tree.is_leaf]] = np.flatnonzero(tree.is_leaf)
    order = np.argsort(ranks, kind="stable")
    ranks = ranks[order]
    weights = np.ones(len(ranks)) if rows.weights is None else rows.weights[ranks]
    return np.repeat(node_of_leaf, np.diff(start))[order], rows.values[ranks], weights


def _medians(values: Floats, weights: Floats, start: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Return medians and mean absolute errors of groups of sorted values, (g,)."""
    total = np.add.reduceat(weights, start)
    group = np.repeat(np.arange(len(start)), np.diff(start, append=len(values)))
    passed = np.cumsum(weights)
    passed -= (passed[start] - weights[start])[group]
    half = (0.5 * total)[group]
    last = np.append(start[1:], len(values)) - 1
    low = np.minimum(start + np.add.reduceat((passed < half).astype(np.int64), start), last)
    high = np.minimum(start + np.add.reduceat((passed <= half).astype(np.int64), start), last)
    medians = 0.5 * (values[low] + values[high])
    return medians, np.add.reduceat(weights * np.abs(values - medians[group]), start) / total
