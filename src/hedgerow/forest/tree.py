"""Tree: arrays over nodes -> leaves, counts, and trees a person can walk."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hedgerow import _core
from hedgerow.table import Schema
from hedgerow.table.bins import Bins, Codes
from hedgerow.target.criteria import Criterion, resolve_criterion

#: Up to this many classes a leaf stores a count for each; above, only for those that occur in it.
DENSE_CLASSES = 8

#: Class shares of the distinct leaves of a forest are kept while they take at most this many bytes.
SHARE_BUDGET = 32 << 20

_SUBSET, _MULTIWAY = 1, 2
#: What the leaves of a regression forest keep besides their counts.
OF_NUMBERS = ("values", "means", "variances")
#: What the arrays of a `Forest` are made of: model files and checkpoints hold them as they lie in memory.
TYPES: dict[str, Any] = {
    "nodes": np.uint64,
    "payload": np.int32,
    "set_words": np.uint64,
    "node_start": np.int64,
    "leaf_start": np.int64,
    "set_start": np.int64,
    "depth": np.int64,
    "counts": np.uint32,
    "entry_start": np.int64,
    "entry_class": np.uint16,
    "weights": np.float64,
    "values": np.float64,
    "means": np.float64,
    "variances": np.float64,
}
_NOT_ALWAYS = ("entry_start", "entry_class", "weights", *OF_NUMBERS)


class Distinct(NamedTuple):
    """What the leaves of a forest hold, each content once: few of them among many leaves.

    Attributes
    ----------
    examples : (D,) int64
        For each content the first leaf that has it, leaves numbered over all trees.
    of_leaf : (L,) int32
        Which content each leaf has.
    """

    examples: NDArray[np.int64]
    of_leaf: NDArray[np.int32]


@dataclass(frozen=True, eq=False, repr=False)
class Forest:
    """All trees of a model, end to end, and what their leaves hold.

    A node takes 12 bytes: 8 of `nodes` and 4 of `payload`. Everything a forest knows is in these arrays.

    Parameters
    ----------
    n_classes : int
        K, the number of classes.
    nodes : (N,) uint64
        Low bits first: code 16 (the last that goes left), feature 17, kind 2, missing_left 1, child 28. Children stand
        side by side; a leaf is a node that is its own child, and a borrowed leaf (a category without rows) has
        missing_left set.
    payload : (N,) int32
        Of a leaf, its number within the tree; of a subset split, where its words begin within the tree's.
    set_words : (W,) uint64
        Bits of the categories that go left, for all subset splits.
    node_start, leaf_start, set_start : (T + 1,) int64
        Where each tree's nodes, leaves and words begin.
    depth : (T,) int64
        Longest path of each tree.
    counts : (L * K,) uint32, or (E,) uint32 when classes are many
        Rows of each class in each leaf.
    entry_start, entry_class : (L + 1,) int64 and (E,) uint16, or None
        With many classes: which entries of `counts` belong to a leaf, and their class.
    weights : like counts, float64, or None
        Weight of the rows of each class, where rows were weighted; they give the shares, counts the amount.
    values, means, variances : (L,) float64, or None
        Of a regression (K is 1): what each leaf predicts, the mean of its rows where that is something else, and
        their variance.
    """

    n_classes: int
    nodes: NDArray[np.uint64]
    payload: NDArray[np.int32]
    set_words: NDArray[np.uint64]
    node_start: NDArray[np.int64]
    leaf_start: NDArray[np.int64]
    set_start: NDArray[np.int64]
    depth: NDArray[np.int64]
    counts: NDArray[np.uint32]
    entry_start: NDArray[np.int64] | None
    entry_class: NDArray[np.uint16] | None
    weights: NDArray[np.float64] | None
    values: NDArray[np.float64] | None = None
    means: NDArray[np.float64] | None = None
    variances: NDArray[np.float64] | None = None

    @property
    def n_trees(self) -> int:
        """T."""
        return len(self.node_start) - 1

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(array.nbytes for array in self.arrays().values())

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Name -> array, for those that are there."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if isinstance(value, np.ndarray)}

    def probability(self, codes: Codes, n_threads: int = 1) -> NDArray[np.float64]:
        """Codes (p, n) -> (n, K): mean over trees of the class shares of the leaves reached."""
        shares = self._distinct_shares(n_threads) if self.repays_distinct(codes.shape[1]) else None
        if shares is None:
            return self._reader.average(codes, n_threads)
        return self._reader.average_known(codes, shares, self.distinct(n_threads).of_leaf, n_threads)

    def leaves(self, codes: Codes, n_threads: int = 1) -> NDArray[np.int32]:
        """Codes (p, n) -> (n, T): number of the leaf reached within each tree."""
        return self._reader.leaves(codes, n_threads, False)

    def leaf_nodes(self, codes: Codes, n_threads: int = 1) -> NDArray[np.int32]:
        """Codes (p, n) -> (n, T): the node, within each tree, that is the leaf reached."""
        return self._reader.leaves(codes, n_threads, True)

    def distinct(self, n_threads: int = 1) -> Distinct:
        """The distinct contents of all leaves, found once and kept: 4 bytes a leaf."""
        found: Distinct | None = self.__dict__.get("_distinct")
        if found is None:
            found = self.__dict__["_distinct"] = Distinct(*self._reader.distinct(n_threads))
        return found

    def repays_distinct(self, n_rows: int) -> bool:
        """Whether so many rows reach enough leaves for their distinct contents to be worth finding, if not known.

        Weights make the contents of nearly all leaves different.
        """
        known = "_distinct" in self.__dict__
        return self.weights is None and (known or 2 * n_rows * self.n_trees >= self.leaf_start[-1])

    def fold(
        self,
        codes: Codes,
        states: NDArray[np.float64],
        distinct: NDArray[np.int32] | None,
        merge: int,
        first: int,
        last: int,
        tree_weights: NDArray[np.float64] | None,
        out_of_bag: tuple[int, float, NDArray[np.uint16] | None] | None,
        n_threads: int,
        merged: NDArray[np.float64],
    ) -> None:
        """Take the states of the leaves reached in trees first to last - 1 into `merged` (n, S).

        States are those of `distinct` contents (L,), or one per leaf of these trees.
        """
        self._reader.fold(
            codes, states, distinct, merge, first, last - first, tree_weights, out_of_bag, n_threads, merged
        )

    def leaf_counts(self, tree: int, *, weighted: bool = False) -> NDArray[Any]:
        """-> (leaves of the tree, K): rows (or their weight) of each class in each leaf."""
        values = self.weights if weighted and self.weights is not None else self.counts
        first, last = self.leaf_start[tree], self.leaf_start[tree + 1]
        if self.entry_start is None or self.entry_class is None:
            return values[first * self.n_classes : last * self.n_classes].reshape(-1, self.n_classes)
        start = self.entry_start[first : last + 1]
        table = np.zeros((last - first, self.n_classes), dtype=values.dtype)
        leaf = np.repeat(np.arange(last - first), np.diff(start))
        table[leaf, self.entry_class[start[0] : start[-1]]] = values[start[0] : start[-1]]
        return table

    def counts_of(self, leaves: NDArray[np.int64], *, weighted: bool = False) -> NDArray[Any]:
        """Leaves (m,), numbered over all trees -> (m, K): rows (or their weight) of each class."""
        values = self.weights if weighted and self.weights is not None else self.counts
        if self.entry_start is None or self.entry_class is None:
            return values.reshape(-1, self.n_classes)[leaves]
        start, length = self.entry_start[leaves], self.entry_start[leaves + 1] - self.entry_start[leaves]
        row = np.repeat(np.arange(len(leaves)), length)
        entry = np.arange(len(row)) - np.repeat(np.cumsum(length) - length, length) + np.repeat(start, length)
        table = np.zeros((len(leaves), self.n_classes), dtype=values.dtype)
        table[row, self.entry_class[entry]] = values[entry]
        return table

    def _distinct_shares(self, n_threads: int) -> NDArray[np.float64] | None:
        """-> (D, K): class shares of each distinct content; None where some leaf is empty or they take too much."""
        if "_shares" not in self.__dict__:
            examples = self.distinct(n_threads).examples
            shares = None
            if len(examples) * self.n_classes * 8 <= SHARE_BUDGET:
                counts = self.counts_of(examples)
                total = counts.sum(axis=1, dtype=np.float64)
                shares = counts / total[:, None] if (total > 0).all() else None
            self.__dict__["_shares"] = shares
        kept: NDArray[np.float64] | None = self.__dict__["_shares"]
        return kept

    @cached_property
    def used_features(self) -> NDArray[np.int64]:
        """Ascending numbers of the features that some node splits on."""
        child = (self.nodes >> np.uint64(36)).astype(np.int64)
        own = np.arange(len(self.nodes)) - np.repeat(self.node_start[:-1], np.diff(self.node_start))
        inner = self.nodes[child != own]
        return np.unique((inner >> np.uint64(16)) & np.uint64(0x1FFFF)).astype(np.int64)

    @cached_property
    def _reader(self) -> _core.Reader:
        names = ("nodes", "payload", "set_words", "node_start", "leaf_start", "set_start", "counts")
        held = (*names, "entry_start", "entry_class", "weights", "n_classes")
        return _core.Reader(**{name: getattr(self, name) for name in held})

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __repr__(self) -> str:
        return f"Forest({self.n_trees} trees, {len(self.nodes)} nodes, {self.nbytes / 1e6:.1f} MB)"


def counted_rows(forest: Forest, bins: Bins, n_threads: int = 1) -> NDArray[np.uint64]:
    """-> (T,): rows that each tree counts; a ValueError says what is wrong with one that cannot be read."""
    _check_arrays(forest)  # the core takes lengths, and where trees begin, for granted
    names = ("nodes", "payload", "set_words", "node_start", "leaf_start", "set_start", "depth", "counts")
    arrays: dict[str, Any] = {name: getattr(forest, name) for name in (*names, "entry_start", "entry_class", "weights")}
    known: dict[str, Any] = {"n_classes": forest.n_classes, "n_bins": bins.n_bins, "nominal": bins.nominal}
    return _core.check_forest(**arrays, **known, n_threads=n_threads)


def ascends(start: NDArray[Any], length: int, least: int = 0) -> bool:
    """Whether starts ascend from 0 to `length` in steps of at least `least`."""
    sound = len(start) > 0 and start[0] == 0 and start[-1] == length
    # Ascending first: within [0, length] no difference can overflow.
    return bool(sound and (start[1:] >= start[:-1]).all() and (np.diff(start) >= least).all())


def join_forests(*forests: Forest) -> Forest:
    """Forests over the same bins and classes -> one with the trees of all."""

    def joined(name: str) -> Any:
        arrays = [getattr(forest, name) for forest in forests]
        if any(array is None for array in arrays):
            return None
        if not name.endswith("_start"):
            return np.concatenate(arrays)
        before = np.cumsum([0, *(array[-1] for array in arrays[:-1])], dtype=arrays[0].dtype)
        return np.concatenate(
            [arrays[0][:1], *(array[1:] + shift for array, shift in zip(arrays, before, strict=True))]
        )

    weights = joined("weights")
    if weights is None and any(forest.weights is not None for forest in forests):
        parts = [forest.counts if forest.weights is None else forest.weights for forest in forests]
        weights = np.concatenate(parts).astype(np.float64)
    means = joined("means")
    if means is None and any(forest.means is not None for forest in forests):
        means = np.concatenate([forest.values if forest.means is None else forest.means for forest in forests])
    apart = ("n_classes", "weights", "means")
    kept = {field.name: joined(field.name) for field in fields(Forest) if field.name not in apart}
    return Forest(n_classes=forests[0].n_classes, weights=weights, means=means, **kept)


def some_trees(forest: Forest, first: int, last: int) -> Forest:
    """Trees number `first` to ``last - 1`` as a forest of their own, whose arrays are parts of the other's."""
    nodes = slice(forest.node_start[first], forest.node_start[last])
    leaves = forest.leaf_start[first : last + 1]
    words = slice(forest.set_start[first], forest.set_start[last])
    starts, classes = forest.entry_start, forest.entry_class
    if starts is None or classes is None:
        cells = slice(leaves[0] * forest.n_classes, leaves[-1] * forest.n_classes)
    else:
        cells = slice(starts[leaves[0]], starts[leaves[-1]])
        starts, classes = starts[leaves[0] : leaves[-1] + 1] - cells.start, classes[cells]
    return Forest(
        n_classes=forest.n_classes,
        nodes=forest.nodes[nodes],
        payload=forest.payload[nodes],
        set_words=forest.set_words[words],
        node_start=forest.node_start[first : last + 1] - nodes.start,
        leaf_start=leaves - leaves[0],
        set_start=forest.set_start[first : last + 1] - words.start,
        depth=forest.depth[first:last],
        counts=forest.counts[cells],
        entry_start=starts,
        entry_class=classes,
        weights=None if forest.weights is None else forest.weights[cells],
        **{
            name: None if (held := getattr(forest, name)) is None else held[leaves[0] : leaves[-1]]
            for name in OF_NUMBERS
        },
    )


class Tree:
    """One tree of a fitted model: read-only arrays over nodes, and a root to walk from.

    Parameters
    ----------
    forest, number : Forest, int
        Which tree.
    bins, schema : Bins, Schema
        What its codes mean.
    classes : (K,) array
        The labels, in the order of the counts.

    Attributes
    ----------
    feature : (N,) int64
        The feature a node splits on, -1 for leaves.
    threshold : (N,) float64
        Values up to it go left; NaN for leaves and nominal splits.
    parent, first_child, n_children, node_depth : (N,) int64
        -1 for the root's parent; leaves have no children.
    missing_left : (N,) bool
        Whether missing values go left.
    counts : (N, K)
        Rows of each class at each node: the sum of the leaves below it.
    """

    def __init__(self, forest: Forest, number: int, bins: Bins, schema: Schema, classes: NDArray[Any]) -> None:
        self._forest, self._number, self._bins = forest, number, bins
        self.schema, self.classes = schema, classes
        span = slice(forest.node_start[number], forest.node_start[number + 1])
        bits = self._bits = forest.nodes[span]
        self._payload = forest.payload[span]
        self._code = (bits & np.uint64(0xFFFF)).astype(np.int64)
        feature = ((bits >> np.uint64(16)) & np.uint64(0x1FFFF)).astype(np.int64)
        self._kind = ((bits >> np.uint64(33)) & np.uint64(3)).astype(np.int64)
        flag = ((bits >> np.uint64(35)) & np.uint64(1)).astype(bool)
        child = (bits >> np.uint64(36)).astype(np.int64)
        self.is_leaf: NDArray[np.bool_] = child == np.arange(len(bits))
        self.is_borrowed: NDArray[np.bool_] = self.is_leaf & flag
        self.feature: NDArray[np.int64] = np.where(self.is_leaf, -1, feature)
        self.first_child: NDArray[np.int64] = np.where(self.is_leaf, -1, child)
        self.missing_left: NDArray[np.bool_] = flag & ~self.is_leaf
        self.n_children: NDArray[np.int64] = np.where(
            self.is_leaf, 0, np.where(self._kind == _MULTIWAY, self._code + 1, 2)
        )

    @property
    def n_nodes(self) -> int:
        """Number of nodes, leaves included."""
        return len(self.feature)

    @property
    def is_multiway(self) -> NDArray[np.bool_]:
        """(N,) whether the node has a child for each category, and one for missing and new ones."""
        return np.asarray(~self.is_leaf & (self._kind == _MULTIWAY))

    @property
    def n_leaves(self) -> int:
        """Number of leaf nodes."""
        return int(self.is_leaf.sum())

    @property
    def depth(self) -> int:
        """Longest path from the root to a leaf."""
        return int(self._forest.depth[self._number])

    @cached_property
    def threshold(self) -> NDArray[np.float64]:
        """(N,) values up to it go left."""
        result = np.full(self.n_nodes, np.nan)
        nodes = np.flatnonzero(~self.is_leaf & (self._kind == 0))
        at = self._bins.cut_start[self.feature[nodes]] + self._code[nodes]
        inside = at < self._bins.cut_start[self.feature[nodes] + 1]
        result[nodes] = np.inf  # every value left, missing right
        result[nodes[inside]] = self._bins.cuts[at[inside]]
        return result

    @cached_property
    def parent(self) -> NDArray[np.int64]:
        """(N,) the node above, -1 for the root."""
        result = np.full(self.n_nodes, -1)
        inner = np.flatnonzero(~self.is_leaf)
        how_many = self.n_children[inner]
        offset = np.arange(how_many.sum()) - np.repeat(np.cumsum(how_many) - how_many, how_many)
        result[np.repeat(self.first_child[inner], how_many) + offset] = np.repeat(inner, how_many)
        return result

    @cached_property
    def node_depth(self) -> NDArray[np.int64]:
        """(N,) steps from the root."""
        result = np.zeros(self.n_nodes, dtype=np.int64)
        above = self.parent.copy()
        while (above >= 0).any():
            result += above >= 0
            above = np.where(above >= 0, self.parent[above], -1)
        return result

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """(N, K) rows of each class at each node."""
        return self._sums(self._forest.leaf_counts(self._number).astype(np.int64))

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """(N, K) weight of each class at each node; equal to the counts where rows have no weights."""
        return self._sums(self._forest.leaf_counts(self._number, weighted=True).astype(np.float64))

    @property
    def root(self) -> TreeNode:
        """Where to start walking."""
        return TreeNode(self, 0)

    def at(self, number: int) -> TreeNode:
        """Node number `number`."""
        return TreeNode(self, number)

    def categories_left(self, node: int) -> list[Any]:
        """Category values that go left at a subset split."""
        known = self.schema.categories[self.feature[node]]
        if known is None or self._kind[node] != _SUBSET:
            return []
        return list(known[self.codes_left(np.array([node]))[0]].tolist())

    def codes_left(self, nodes: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Subset splits (m,) on one feature -> (m, C): which of its categories go left."""
        known = self.schema.categories[self.feature[nodes[0]]]
        codes = np.arange(0 if known is None else len(known))
        start = self._forest.set_start[self._number] + self._payload[nodes]
        words = self._forest.set_words[start[:, None] + codes // 64]
        return np.asarray((words >> (codes % 64).astype(np.uint64)) & np.uint64(1), dtype=bool)

    def name_of(self, feature: int) -> str:
        """The feature's name, or ``x[i]``."""
        return self.schema.names[feature] if self.schema.names is not None else f"x[{feature}]"

    def to_text(self, *, max_depth: int = 10, decimals: int = 2, note: Callable[[TreeNode], str] | None = None) -> str:
        """The tree as indented text, with the rows of each class in its leaves, and a note on each if there is one."""
        return "\n".join(_lines(self.root, 0, max_depth, decimals, note))

    def leaf_moments(self, nodes: NDArray[np.int64]) -> dict[str, Any]:
        """What a forest keeps of leaves besides counts and weights; nothing where classes are counted."""
        return {}

    def _held(self, node: int, decimals: int) -> str:
        """What a leaf holds, in words."""
        held = zip(self.classes.tolist(), self.counts[node].tolist(), strict=True)
        return ", ".join(f"{label}: {count}" for label, count in held if count) or "no rows"

    def _sums(self, leaves: NDArray[Any]) -> NDArray[Any]:
        """(leaves, K) -> (N, K): each node the sum of the leaves below it, borrowed ones left out."""
        return _core.node_sums(self._bits, self._payload, np.ascontiguousarray(leaves))

    def __repr__(self) -> str:
        return f"Tree({self.n_nodes} nodes, {self.n_leaves} leaves, depth {self.depth})"


@dataclass(frozen=True)
class TreeNode:
    """A place in a tree: what it holds and where one can go from it."""

    tree: Tree
    number: int

    @property
    def is_leaf(self) -> bool:
        """Whether nothing is below."""
        return bool(self.tree.is_leaf[self.number])

    @property
    def counts(self) -> dict[Any, int]:
        """Class -> rows here."""
        return dict(zip(self.tree.classes.tolist(), self.tree.counts[self.number].tolist(), strict=True))

    @property
    def children(self) -> list[TreeNode]:
        """The nodes directly below, left first."""
        first = int(self.tree.first_child[self.number])
        return [TreeNode(self.tree, first + i) for i in range(int(self.tree.n_children[self.number]))]

    @property
    def questions(self) -> list[str]:
        """What is true of the rows in each child."""
        return _questions(self, 6)


def decision_path(forest: Forest, trees: list[Tree], leaf_nodes: NDArray[np.int32]) -> sparse.csr_array:
    """Leaf nodes (n, T) -> (n, all nodes) indicator of the nodes each row passes."""
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


def impurity_importance(tree: Tree, n_features: int, criterion: str | Criterion) -> NDArray[np.float64]:
    """-> (p,) mean decrease of impurity at the splits on each feature, summing to one (or all zero)."""
    weights = tree.weights
    amount = weights.sum(axis=1)
    impurity = amount * resolve_criterion(criterion).impurity(weights)
    inner = np.flatnonzero(~tree.is_leaf)
    kept = np.flatnonzero((tree.parent >= 0) & ~tree.is_borrowed)
    below = np.bincount(tree.parent[kept], weights=impurity[kept], minlength=tree.n_nodes)
    gain = np.bincount(tree.feature[inner], weights=impurity[inner] - below[inner], minlength=n_features)
    gain = np.maximum(gain, 0).astype(np.float64)
    return np.asarray(gain / gain.sum() if gain.sum() > 0 else gain)


def _check_arrays(forest: Forest) -> None:
    """Refuse arrays of other types, or whose lengths do not fit together."""
    for name, dtype in TYPES.items():
        array = getattr(forest, name)
        if array is None and name in _NOT_ALWAYS:
            continue
        if not isinstance(array, np.ndarray) or array.dtype != dtype or array.ndim != 1:
            got = f"{array.dtype} of shape {array.shape}" if isinstance(array, np.ndarray) else "none"
            raise ValueError(f"{name} must be an array of {np.dtype(dtype)} with one dimension, got {got}")
    n_trees, n_leaves = forest.n_trees, _checked_leaves(forest)
    if n_trees < 1:
        raise ValueError("a forest must have at least one tree, got none")
    per_tree = {"leaf_start": n_trees + 1, "set_start": n_trees + 1, "depth": n_trees}
    per_leaf = {name: n_leaves for name in OF_NUMBERS if getattr(forest, name) is not None}
    for name, length in ({"payload": len(forest.nodes)} | per_tree | per_leaf).items():
        if len(getattr(forest, name)) != length:
            raise ValueError(f"{name} must have {length} values, got {len(getattr(forest, name))}")
    ends = {"node_start": (len(forest.nodes), 1), "leaf_start": (n_leaves, 1), "set_start": (len(forest.set_words), 0)}
    for name, (length, least) in ends.items():
        if not ascends(getattr(forest, name), length, least):
            raise ValueError(f"{name} must ascend from 0 to {length} in steps of at least {least}, got other values")
    _check_moments(forest)


def _checked_leaves(forest: Forest) -> int:
    """-> L; refuse counts, classes and weights that are not of the same leaves."""
    n_classes, n_cells = forest.n_classes, len(forest.counts)
    if n_classes < 1:
        raise ValueError(f"a forest must have at least one class, got {n_classes}")
    if forest.weights is not None and len(forest.weights) != n_cells:
        raise ValueError(f"there must be a weight for each of {n_cells} counts, got {len(forest.weights)}")
    if (forest.entry_start is None) != (n_classes <= DENSE_CLASSES):
        raise ValueError(f"leaves must list their classes where there are more than {DENSE_CLASSES}, got {n_classes}")
    if forest.entry_start is None:
        n_leaves, over = divmod(n_cells, n_classes)
        if over or forest.entry_class is not None:
            raise ValueError(f"there must be a count for each leaf and each of {n_classes} classes, got {n_cells}")
        return n_leaves
    n_leaves = len(forest.entry_start) - 1
    if not ascends(forest.entry_start[:: max(1, n_leaves)], n_cells):  # its ends; the core looks between them
        raise ValueError(f"entry_start must go from 0 to {n_cells}, got other values")
    if forest.entry_class is None or len(forest.entry_class) != n_cells:
        raise ValueError(f"there must be a class for each of {n_cells} counts, got others")
    return n_leaves


def _check_moments(forest: Forest) -> None:
    """Refuse leaves of a regression that cannot predict; one without rows says nothing."""
    values, variances = forest.values, forest.variances
    if values is None or variances is None:
        if any(getattr(forest, name) is not None for name in OF_NUMBERS):
            raise ValueError("leaves must have both values and variances, or neither, got one of them")
        return
    for name in OF_NUMBERS:
        held = getattr(forest, name)
        if held is not None and not np.isfinite(held).all():
            raise ValueError(f"{name} must be finite, got NaN or infinity")
    if forest.n_classes != 1 or (variances < 0).any() or (forest.counts == 0).any():
        raise ValueError("leaves must have rows and variances >= 0, got others")


def _lines(
    node: TreeNode, indent: int, max_depth: int, decimals: int, note: Callable[[TreeNode], str] | None
) -> Iterator[str]:
    """One line per branch, leaves with their counts."""
    prefix = "|   " * indent + "|--- "
    if node.is_leaf:
        yield f"{prefix}{node.tree._held(node.number, decimals)}{note(node) if note else ''}"
        return
    if indent > max_depth:
        yield f"{prefix}… {int(sum(node.counts.values()))} rows"
        return
    for question, child in zip(_questions(node, decimals), node.children, strict=True):
        yield prefix + question
        yield from _lines(child, indent + 1, max_depth, decimals, note)


def _questions(node: TreeNode, decimals: int) -> list[str]:
    """The condition of each child, in words."""
    if node.is_leaf:
        return []
    tree, number = node.tree, node.number
    feature = int(tree.feature[number])
    name, known = tree.name_of(feature), tree.schema.categories[feature]
    if tree._kind[number] == _MULTIWAY:
        return [f"{name} = {value}" for value in (() if known is None else known.tolist())] + [f"{name} missing or new"]
    missing = " or missing"
    left, right = (missing, "") if tree.missing_left[number] else ("", missing)
    if known is not None:
        chosen = tree.categories_left(number)
        others = [value for value in known.tolist() if value not in chosen]
        return [f"{name} in {chosen}{left}", f"{name} in {others}{right}"]
    threshold = tree.threshold[number]
    if np.isinf(threshold):
        return [f"{name} known", f"{name} missing"]
    return [f"{name} <= {threshold:.{decimals}f}{left}", f"{name} > {threshold:.{decimals}f}{right}"]
