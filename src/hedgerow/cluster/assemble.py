"""Assemble: the tops of trees and what has grown below them -> a forest, node for node as one machine writes it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.cluster.part import Plan
from hedgerow.cluster.top import SUBSET, Top, TopNode, leaf_bits, split_bits
from hedgerow.forest.counts import DENSE_CLASSES
from hedgerow.forest.forest import Forest, some_trees
from hedgerow.target.base import Labels

#: Arrays of a forest with one entry per leaf, in a regression.
_OF_LEAVES = ("counts", "weights", "values", "means", "variances")


class Below(NamedTuple):
    """What has grown below a gathered node: a tree of its own, and whether it is a leaf from the moment it was made."""

    tree: Forest
    early: bool


def assemble_tree(plan: Plan, top: Top, below: dict[int, Below], counts: dict[int, NDArray[np.int64]]) -> Forest:
    """A top, what lies below its gathered nodes, and what its leaves count (2, K), by number -> the tree."""
    writer = _Writer(plan, top, below, counts)
    writer.write()
    return writer.forest()


def below_from(nodes: list[TopNode], grown: Forest, early: NDArray[np.bool_]) -> dict[int, Below]:
    """What `grow_gathered` says of some nodes -> the same by number."""
    return {
        node.number: Below(some_trees(grown, i, i + 1), bool(early[i]) or node.early) for i, node in enumerate(nodes)
    }


class _Writer:
    """Walks a top as the core's grower does: left first, nodes numbered when their parent is split."""

    def __init__(self, plan: Plan, top: Top, below: dict[int, Below], counts: dict[int, NDArray[np.int64]]) -> None:
        self.plan, self.top, self.below, self.counts = plan, top, below, counts
        n_nodes = len(top.nodes) + sum(len(each.tree.nodes) - 1 for each in below.values())
        self.nodes = np.zeros(n_nodes, dtype=np.uint64)
        self.payload = np.zeros(n_nodes, dtype=np.int32)
        self.words: list[NDArray[np.uint64]] = []
        self.leaves: list[Forest | TopNode] = []  # in the order of their numbers
        self.n_nodes, self.n_leaves, self.n_words, self.depth = 1, 0, 0, 0
        self.place = {0: 0}  # node of the top -> node of the tree
        self.stack: list[TopNode] = []

    def write(self) -> None:
        self._settle(self.top.nodes[0])
        while self.stack:
            node = self.stack.pop()
            if node.split is not None:
                self._split(node)
            elif node.number in self.below:
                self._graft(node)
            else:
                self._leaf(node)

    def forest(self) -> Forest:
        """What has been written."""
        n_leaves, words = self.n_leaves, self.words
        starts = {"node_start": self.n_nodes, "leaf_start": n_leaves, "set_start": self.n_words}
        nodes = {
            "nodes": self.nodes,
            "payload": self.payload,
            "set_words": np.concatenate(words) if words else np.empty(0, dtype=np.uint64),
            "depth": np.array([self.depth]),
        }
        nodes |= {name: np.array([0, size]) for name, size in starts.items()}
        n_classes = self.plan.labels.n_classes if isinstance(self.plan.labels, Labels) else 1
        return Forest.from_arrays(n_classes, nodes | self._evidence())

    def _settle(self, node: TopNode) -> None:
        self.depth = max(self.depth, node.depth)
        if node.number in self.below and self.below[node.number].early:
            self._graft(node)
        elif node.state == "leaf" and node.early and node.number not in self.below:
            self._leaf(node)
        else:
            self.stack.append(node)

    def _split(self, node: TopNode) -> None:
        split = node.split
        assert split is not None
        at, child = self.place[node.number], self.n_nodes
        self.n_nodes += len(node.children)
        self.nodes[at] = split_bits(split, child)
        if split.kind == SUBSET:
            self.payload[at] = self.n_words
            self.words.append(split.words)
            self.n_words += len(split.words)
        borrowed = -1
        for side in range(len(node.children) - 1, -1, -1):
            each = node.children[side]
            self.place[each.number] = child + side
            if each.state != "borrowed":
                self._settle(each)
                continue
            if borrowed < 0:  # children without rows share one leaf, which counts the rows of the node itself
                borrowed = self.n_leaves
                self._leaf(node, child + side)
            self.nodes[child + side] = leaf_bits(child + side, borrowed=True)
            self.payload[child + side] = borrowed

    def _leaf(self, node: TopNode, at: int | None = None) -> None:
        at = self.place[node.number] if at is None else at
        self.nodes[at] = leaf_bits(at)
        self.payload[at] = self.n_leaves
        self.leaves.append(node)
        self.n_leaves += 1

    def _graft(self, node: TopNode) -> None:
        """Put what has grown below a node in its place; its other nodes, leaves and words follow those there are."""
        tree = self.below[node.number].tree
        at, shift, n_nodes = self.place[node.number], self.n_nodes - 1, len(tree.nodes)
        child = (tree.nodes >> np.uint64(36)).astype(np.int64)
        is_leaf = child == np.arange(n_nodes)
        kind = (tree.nodes >> np.uint64(33)) & np.uint64(3)
        moved = child + shift
        moved[0] = at if is_leaf[0] else moved[0]
        bits = (tree.nodes & np.uint64((1 << 36) - 1)) | (moved.astype(np.uint64) << np.uint64(36))
        payload = tree.payload + np.where(is_leaf, self.n_leaves, np.where(kind == SUBSET, self.n_words, 0))
        self.nodes[at], self.payload[at] = bits[0], payload[0]
        rest = slice(self.n_nodes, self.n_nodes + n_nodes - 1)
        self.nodes[rest], self.payload[rest] = bits[1:], payload[1:]
        self.leaves.append(tree)
        self.words.append(tree.set_words)
        self.n_nodes += n_nodes - 1
        self.n_leaves += int(tree.leaf_start[-1])
        self.n_words += len(tree.set_words)
        self.depth = max(self.depth, int(tree.depth[0]))

    def _evidence(self) -> dict[str, Any]:
        """What the leaves hold, in the order of their numbers."""
        pieces = [self._held(leaf) if isinstance(leaf, TopNode) else leaf.arrays() for leaf in self.leaves]
        held: dict[str, Any] = {
            name: np.concatenate([piece[name] for piece in pieces]) for name in _OF_LEAVES if name in pieces[0]
        }
        held.setdefault("weights", None)
        sparse = "entry_class" in pieces[0]
        held["entry_class"] = np.concatenate([piece["entry_class"] for piece in pieces]) if sparse else None
        lengths = [np.diff(piece["entry_start"]) for piece in pieces] if sparse else []
        held["entry_start"] = np.concatenate([[0], np.cumsum(np.concatenate(lengths))]) if sparse else None
        return held

    def _held(self, node: TopNode) -> dict[str, NDArray[Any]]:
        """What a leaf of the top holds, in the arrays of a forest."""
        labels = self.plan.labels
        assert isinstance(labels, Labels)
        counts, fixed = self.counts[node.number]
        held: dict[str, NDArray[Any]] = {"counts": counts.astype(np.uint32)}
        if self.plan.is_weighted:
            held["weights"] = fixed.astype(np.float64) * labels.weight_unit
        if self.plan.settings.monotonic and labels.n_classes == 2:
            held["weights"] = _within_bounds(held.get("weights", counts.astype(np.float64)), node)
        if labels.n_classes > DENSE_CLASSES:
            present = np.flatnonzero(counts)
            held = {name: values[present] for name, values in held.items()}
            held["entry_class"] = present.astype(np.uint16)
            held["entry_start"] = np.array([0, len(present)])
        return held


def _within_bounds(weights: NDArray[np.float64], node: TopNode) -> NDArray[np.float64]:
    """The share a leaf predicts stays within the bounds of monotonic splits above it."""
    total = weights[0] + weights[1]
    second = min(max(weights[1], node.lower * total), node.upper * total)
    return np.array([total - second, second])
