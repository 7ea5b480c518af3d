"""Nodes of trees: packed splits and children, and the policy for out-of-support values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedgerow.table.bins import Codes
from hedgerow.table.schema import Array

_NONE = np.empty(0, dtype=np.intp)
_FEW = 4096
#: Policies of trees for out-of-support values.
POLICIES = ("shares", "sum", "larger")


class UnseenPolicy(NamedTuple):
    """Policy of trees for out-of-support values.

    A new category has the code of a missing value. If no training row misses the value of a feature, its splits have
    not learned where such rows belong.

    Parameters
    ----------
    gapless : (p,) uint8
        1 for features without missing values in the training rows.
    policy : {"shares", "sum"}
        A row goes down both sides of a split on such a feature. "shares" averages the leaves, weighted by the shares of
        the sides; "sum" adds up their rows.
    """

    gapless: NDArray[np.uint8]
    policy: str


def unseen_of(codes: Codes, policy: str) -> UnseenPolicy | None:
    """Return the policy for training codes; None sends rows to the larger side."""
    return unseen_from(codes.max(axis=1, initial=0) == np.iinfo(codes.dtype).max, policy)


def unseen_from(has_missing: NDArray[np.bool_], policy: str) -> UnseenPolicy | None:
    """Return the policy, given the features with missing values in training, (p,)."""
    return None if policy == "larger" else UnseenPolicy((~has_missing).astype(np.uint8), policy)


def unseen_of_all(parts: list[UnseenPolicy | None]) -> UnseenPolicy | None:
    """Return the common policy of several fits; None sends rows to the larger side."""
    policies = {None if part is None else part.policy for part in parts}
    if len(policies) > 1 or None in policies:
        return None
    gapless = np.min([part.gapless for part in parts if part is not None], axis=0)
    return UnseenPolicy(gapless, str(policies.pop()))


def rows_with_gaps(codes: Codes, features: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the rows of codes (p, n) that miss one of some features."""
    missing = 255 if codes.itemsize == 1 else 65_535
    if not len(features):
        return _NONE
    # Missing codes are rare. The maximum takes 0.2 ms for five million codes, but at least 3 µs. Searching the bytes
    # takes half a microsecond for one row, and may find the halves of two codes.
    if int(codes.max()) < missing if codes.size > _FEW else b"\xff" * codes.itemsize not in codes.tobytes():
        return _NONE
    return np.flatnonzero((codes[features] == missing).any(axis=0))


#: Types of splits: at a threshold, by a subset of the categories, or with a child per category.
THRESHOLD, SUBSET, MULTIWAY = 0, 1, 2

# First bit and number of bits of each part of a node.
_CODE, _FEATURE, _KIND, _FLAG, _CHILD = (0, 16), (16, 17), (33, 2), (35, 1), (36, 28)
_LEAF = np.uint64(0xFFFF)  # code of leaves; their feature and kind are 0
#: Approximate number of nodes in a part.
_PART_NODES = 1 << 18


@dataclass(frozen=True, eq=False, repr=False)
class Nodes:
    """Nodes of T trees, end to end: N nodes, L leaves and W words.

    The arrays refer to nodes, leaves and words by their numbers within the tree; methods number them over all trees.

    Parameters
    ----------
    bits : (N,) uint64
        From the lowest bit: 16 bits for the code (the last that goes left, or the form of a subset), 17 for the
        feature, 2 for the type of split, 1 for missing_left, 28 for the first child. Children of a node are adjacent. A
        leaf is its own child. A borrowed leaf, which stands for a category without rows, has missing_left set.
    payload : (N,) int32
        The number of a leaf within the tree, or the start of the words of a subset split among those of the tree.
    set_words : (W,) uint64
        Words of all subset splits: one bit per category, set if it goes left, or a list (`Subset`).
    node_start, leaf_start, set_start : (T + 1,) int64
        Start of the nodes, leaves and words of each tree.
    depth : (T,) int64
        Length of the longest path of each tree.
    unseen : UnseenPolicy or None
        Policy for out-of-support values at splits; None sends them to the larger side.
    """

    #: Types of the arrays, as named in files, where `bits` is called nodes.
    TYPES: ClassVar[dict[str, Any]] = {
        "nodes": np.uint64,
        "payload": np.int32,
        "set_words": np.uint64,
        "node_start": np.int64,
        "leaf_start": np.int64,
        "set_start": np.int64,
        "depth": np.int64,
    }

    bits: NDArray[np.uint64]
    payload: NDArray[np.int32]
    set_words: NDArray[np.uint64]
    node_start: NDArray[np.int64]
    leaf_start: NDArray[np.int64]
    set_start: NDArray[np.int64]
    depth: NDArray[np.int64]
    unseen: UnseenPolicy | None = None

    @classmethod
    def one_leaf(cls) -> Nodes:
        """Return a tree of one leaf."""
        ends, none = np.array([0, 1]), np.zeros(2, dtype=np.int64)
        words = np.empty(0, dtype=np.uint64)
        return cls(np.array([_LEAF]), np.zeros(1, dtype=np.int32), words, ends, ends, none, none[:1])

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> Nodes:
        """Return nodes from arrays as named in files, unchecked."""
        return cls(*(arrays.get(name) for name in cls.TYPES))  # type: ignore[arg-type]

    @classmethod
    def join(cls, *parts: Nodes) -> Nodes:
        """Join the trees of all parts."""
        held = [part.arrays() for part in parts]
        whole: dict[str, Any] = {}
        for name in cls.TYPES:
            arrays = [each[name] for each in held]
            whole[name] = join_starts(arrays) if name.endswith("_start") else np.concatenate(arrays)
        return replace(cls.from_arrays(whole), unseen=unseen_of_all([part.unseen for part in parts]))

    @property
    def n_trees(self) -> int:
        """Number of trees T."""
        return len(self.node_start) - 1

    @property
    def code(self) -> NDArray[np.int64]:
        """Last code that goes left, form of a subset, or number of categories, (N,)."""
        return _part(self.bits, _CODE)

    @property
    def feature(self) -> NDArray[np.int64]:
        """Split feature of each node, (N,); undefined for leaves."""
        return _part(self.bits, _FEATURE)

    @property
    def kind(self) -> NDArray[np.int64]:
        """`THRESHOLD`, `SUBSET` or `MULTIWAY` of each split, (N,); undefined for leaves."""
        return _part(self.bits, _KIND)

    @property
    def missing_left(self) -> NDArray[np.bool_]:
        """Whether missing values go left, (N,); False for leaves."""
        return self.flag & ~self.is_leaf

    @property
    def flag(self) -> NDArray[np.bool_]:
        """Whether missing values go left or, for leaves, the leaf is borrowed, (N,)."""
        return _part(self.bits, _FLAG).astype(bool)

    @property
    def child(self) -> NDArray[np.int64]:
        """First child of each node within its tree, (N,); a leaf is its own child."""
        return _part(self.bits, _CHILD)

    @property
    def own_numbers(self) -> NDArray[np.int64]:
        """Number of each node within its tree, (N,)."""
        return np.arange(len(self.bits)) - self._of_tree(self.node_start)

    @property
    def is_leaf(self) -> NDArray[np.bool_]:
        """Whether each node is a leaf, (N,)."""
        return np.asarray(self.child == self.own_numbers)

    @property
    def is_borrowed(self) -> NDArray[np.bool_]:
        """Whether each node is a leaf that repeats its siblings, (N,)."""
        multiway = np.uint64(MULTIWAY << _KIND[0])
        if not (self.bits & multiway).any():
            return np.zeros(len(self.bits), dtype=bool)
        return self.flag & self.is_leaf

    @property
    def parent(self) -> NDArray[np.int64]:
        """Parent of each node, numbered over all trees, (N,); -1 for roots."""
        inner, how_many, children = self.families()
        found = np.full(len(self.bits), -1)
        found[children] = np.repeat(inner, how_many)
        return found

    @property
    def leaf_number(self) -> NDArray[np.int64]:
        """Number of each leaf over all trees, (N,); undefined for inner nodes."""
        return self.payload + self._of_tree(self.leaf_start)

    def borrowed_leaves(self) -> NDArray[np.uint8]:
        """Return 1 for each borrowed leaf, (L,)."""
        borrowed = np.zeros(int(self.leaf_start[-1]), dtype=np.uint8)
        borrowed[self.leaf_number[self.is_borrowed]] = 1
        return borrowed

    def arrays(self) -> dict[str, Any]:
        """Return all arrays, as named in files."""
        return {name: self.bits if name == "nodes" else getattr(self, name) for name in self.TYPES}

    def between(self, first: int, last: int) -> Nodes:
        """Return trees `first` to ``last - 1`` as views."""
        nodes = slice(self.node_start[first], self.node_start[last])
        words = slice(self.set_start[first], self.set_start[last])
        return Nodes(
            self.bits[nodes],
            self.payload[nodes],
            self.set_words[words],
            self.node_start[first : last + 1] - nodes.start,
            self.leaf_start[first : last + 1] - self.leaf_start[first],
            self.set_start[first : last + 1] - words.start,
            self.depth[first:last],
            self.unseen,
        )

    def in_parts(self) -> Iterator[Nodes]:
        """Yield groups of trees, because arrays over all nodes take much memory."""
        step = max(1, self.n_trees * _PART_NODES // max(1, len(self.bits)))
        return (self.between(first, min(first + step, self.n_trees)) for first in range(0, self.n_trees, step))

    def families(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return inner nodes (m,), numbers of children (m,), and all children in order.

        Nodes are numbered over all trees.
        """
        inner = np.flatnonzero(~self.is_leaf)
        bits = self.bits[inner]
        how_many = np.where(_part(bits, _KIND) == MULTIWAY, _part(bits, _CODE) + 1, 2)
        return inner, how_many, each_from(_part(bits, _CHILD) + self.node_start[self.tree_of(inner)], how_many)

    def tree_of(self, nodes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the tree of each node, (m,)."""
        return np.searchsorted(self.node_start, nodes, side="right") - 1

    def split_features(self, *, two_sides: bool = False) -> NDArray[np.int64]:
        """Return the split features, ascending; of two-way splits if `two_sides`."""
        found = np.zeros(1 << _FEATURE[1], dtype=bool)
        for part in self.in_parts():
            bits = part.bits[~part.is_leaf]
            if two_sides:
                bits = bits[_part(bits, _KIND) != MULTIWAY]
            found[_part(bits, _FEATURE)] = True
        return np.flatnonzero(found)

    def splits(self, kind: int) -> NDArray[np.int64]:
        """Return the nodes with this type of split, numbered over all trees, (m,)."""
        return np.flatnonzero(~self.is_leaf & (self.kind == kind))

    def goes_left(self, nodes: NDArray[np.int64], n_categories: int) -> NDArray[np.bool_]:
        """Return which of C categories go left at subset splits (m,), (m, C)."""
        codes = np.arange(n_categories)
        first = self.payload[nodes] + self.set_start[self.tree_of(nodes)]
        form = _part(self.bits[nodes], _CODE)
        others_left = form & LISTS_RIGHT > 0
        left = np.repeat(others_left[:, None], n_categories, axis=1)
        as_bits = form == 0
        words = self.set_words[first[as_bits, None] + codes // 64]
        left[as_bits] = (words >> (codes % 64).astype(np.uint64)) & np.uint64(1)
        n_listed = np.where(as_bits, 0, form & (LISTS_RIGHT - 1))
        listed = self.set_words.view("<u2")[each_from(4 * first, n_listed)]
        left[np.repeat(np.arange(len(nodes)), n_listed), listed] = np.repeat(~others_left, n_listed)
        return left

    def with_codes(self, nodes: NDArray[np.int64], codes: NDArray[np.int64]) -> Nodes:
        """Return the nodes with new codes for some of them, (m,)."""
        bits = self.bits.copy()
        bits[nodes] = (bits[nodes] & ~_LEAF) | codes.astype(np.uint64)
        return replace(self, bits=bits)

    @property
    def has_lists(self) -> bool:
        """Whether some subset split lists its categories."""
        return bool((_part(self.bits[self.splits(SUBSET)], _CODE) > 0).any())

    def subset_at(self, node: int, n_categories: int) -> Subset:
        """Return the subset of a split on a feature with `n_categories` categories."""
        first = self.payload[node] + self.set_start[self.tree_of(np.array([node]))[0]]
        form = int(_part(self.bits[node : node + 1], _CODE)[0])
        return Subset(form, self.set_words[first : first + n_words(n_categories, form)])

    def with_subsets(self, subset_of: dict[int, Subset]) -> Nodes:
        """Return the nodes with new subsets, perhaps longer, for all subset splits."""
        nodes = np.array(list(subset_of), dtype=np.int64)
        tree = self.tree_of(nodes)
        order = np.lexsort((self.payload[nodes], tree))  # preserves the order of words
        nodes, tree = nodes[order], tree[order]
        forms = np.array([subset_of[node].form for node in nodes.tolist()], dtype=np.int64)
        words = [subset_of[node].words for node in nodes.tolist()]
        lengths = np.array([len(each) for each in words], dtype=np.int64)
        of_tree = np.bincount(tree, weights=lengths, minlength=self.n_trees).astype(np.int64)
        start = np.concatenate([[0], np.cumsum(of_tree)])
        payload = self.payload.copy()
        payload[nodes] = (np.cumsum(lengths) - lengths - start[tree]).astype(np.int32)
        joined = np.concatenate(words) if words else self.set_words
        return replace(self.with_codes(nodes, forms), payload=payload, set_words=joined, set_start=start)

    def cut(self, at: NDArray[np.bool_]) -> tuple[Nodes, NDArray[np.int64]]:
        """Turn nodes `at` (N,) of one tree into leaves; also return their old nodes.

        Words of removed splits are kept.
        """
        gone = self._below(at)
        kept, number = np.flatnonzero(~gone), np.cumsum(~gone) - 1
        was_leaf = self.is_leaf[kept]
        is_leaf = was_leaf | at[kept]
        leaves = kept[is_leaf]
        child = np.where(is_leaf, np.arange(len(kept)), number[self.child[kept]])
        low = np.where(is_leaf & ~was_leaf, _LEAF, self.bits[kept] & np.uint64((1 << _CHILD[0]) - 1))
        payload = self.payload[kept].copy()
        payload[is_leaf] = np.arange(len(leaves))
        cut = Nodes(
            low | (child.astype(np.uint64) << np.uint64(_CHILD[0])),
            payload,
            self.set_words,
            np.array([0, len(kept)]),
            np.array([0, len(leaves)]),
            self.set_start,
            depths_of(self.parent)[kept].max(keepdims=True),
            self.unseen,
        )
        return cut, leaves

    def adopt(self, borrowed: NDArray[np.bool_]) -> tuple[Nodes, NDArray[np.int64]]:
        """Number borrowed leaves (N,) on their own; also return old numbers or -1.

        The leaves of trees with such leaves are renumbered in the order of their nodes, so that numbers do not
        depend on the order in which rows were added.
        """
        bits = np.where(borrowed, self.bits & ~np.uint64(1 << _FLAG[0]), self.bits)
        is_leaf = np.flatnonzero(self.is_leaf)
        tree, old, new = self.tree_of(is_leaf), self.leaf_number[is_leaf], borrowed[is_leaf]
        touched = np.zeros(self.n_trees, dtype=bool)
        touched[tree[new]] = True
        # A leaf is identified by its old number, an adopted one by its node.
        identity = np.where(new, len(bits) + is_leaf, old)
        _, first, which = np.unique(identity, return_index=True, return_inverse=True)
        rank = np.where(touched[tree], is_leaf, old)[first]  # by node in renumbered trees, else as before
        order = np.lexsort([rank, tree[first]])
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        start = starts_of(np.bincount(tree[first], minlength=self.n_trees))
        payload = self.payload.copy()
        payload[is_leaf] = (place[which] - start[tree]).astype(np.int32)
        return replace(self, bits=bits, payload=payload, leaf_start=start), np.where(new, -1, old)[first][order]

    def lenders(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return pairs of a borrowed leaf and a leaf that it repeats, (m,) each.

        A borrowed leaf repeats its siblings and the leaves below them. Leaves are numbered over all trees.
        """
        borrowed, parent, number = self.is_borrowed, self.parent, self.leaf_number
        borrows = np.full(len(self.bits), -1)  # borrowed leaf among the children of each node
        borrows[parent[borrowed]] = number[borrowed]
        real = np.flatnonzero(self.is_leaf & ~borrowed)
        above, leaf = parent[real], number[real]
        borrowers, members = [], []
        while len(above):
            here = above >= 0
            above, leaf = above[here], leaf[here]
            found = borrows[above] >= 0
            borrowers.append(borrows[above[found]])
            members.append(leaf[found])
            above = parent[above]
        return np.concatenate(borrowers), np.concatenate(members)

    def check(self, n_leaves: int) -> None:
        """Raise if the lengths of arrays do not match; the core checks the rest."""
        if self.n_trees < 1:
            raise ValueError(f"a forest must have at least one tree, got {self.n_trees}")
        lengths = {"payload": len(self.bits), "depth": self.n_trees}
        lengths |= {"leaf_start": self.n_trees + 1, "set_start": self.n_trees + 1}
        for name, length in lengths.items():
            if len(getattr(self, name)) != length:
                raise ValueError(f"{name} must have {length} values, got {len(getattr(self, name))}")
        ends = {"node_start": (len(self.bits), 1), "leaf_start": (n_leaves, 1), "set_start": (len(self.set_words), 0)}
        for name, (length, least) in ends.items():
            if not ascends(getattr(self, name), length, least):
                raise ValueError(
                    f"{name} must ascend from 0 to {length} in steps of at least {least}, got"
                    f" {getattr(self, name)[[0, -1]].tolist()} at its ends"
                )

    def _of_tree(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Repeat a value per tree, from (T + 1,), for each of its nodes, (N,)."""
        return np.repeat(values[:-1], np.diff(self.node_start))

    def _below(self, at: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return whether each node is below one of the nodes `at`, (N,)."""
        parent = above = self.parent
        found = np.zeros(len(at), dtype=bool)
        while (above >= 0).any():
            found |= (above >= 0) & at[above]
            above = np.where(above >= 0, parent[above], -1)
        return found


def _part(bits: NDArray[np.uint64], part: tuple[int, int]) -> NDArray[np.int64]:
    """Return one part of the bits of nodes, (m,)."""
    first, length = part
    return ((bits >> np.uint64(first)) & np.uint64((1 << length) - 1)).astype(np.int64)


def parents_of(first_child: NDArray[np.int64], n_children: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the parent of each node, (N,), -1 for roots."""
    found = np.full(len(n_children), -1)
    inner = np.flatnonzero(n_children)
    how_many = n_children[inner]
    found[each_from(first_child[inner], how_many)] = np.repeat(inner, how_many)
    return found


def depths_of(parent: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the depth of each node, (N,), given parents (N,)."""
    steps, above = (parent >= 0).astype(np.int64), parent
    while (inside := above >= 0).any():  # each pass doubles the known steps: few passes even for deep trees
        steps = steps + np.where(inside, steps[above], 0)
        above = np.where(inside, above[above], -1)
    return steps


def ascends(start: Array, length: int, least: int = 0) -> bool:
    """Return whether starts ascend from 0 to `length` in steps of at least `least`."""
    sound = len(start) > 0 and start[0] == 0 and start[-1] == length
    # Check the order first: differences of values within [0, length] cannot overflow.
    return bool(sound and (start[1:] >= start[:-1]).all() and (np.diff(start) >= least).all())


def each_from(first: NDArray[np.int64], how_many: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the numbers of all runs with given starts and lengths, (m,) each."""
    ends = np.cumsum(how_many)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(first - ends + how_many, how_many)


def starts_of(lengths: ArrayLike) -> NDArray[np.int64]:
    """Return where parts of given lengths begin after concatenation, and the end."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def join_starts(starts: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Join the starts of several parts, each from 0."""
    before = np.cumsum([0, *(start[-1] for start in starts[:-1])], dtype=np.int64)
    return np.concatenate([starts[0][:1], *(start[1:] + shift for start, shift in zip(starts, before, strict=True))])


#: Code of a subset split: 0 for bits; otherwise the first constant, plus the second if the listed categories go right,
#: plus their number.
IS_LIST, LISTS_RIGHT = 0x8000, 0x4000

#: Features with up to this many categories never have lists, so one-byte codes need not handle them.
MOST_WITH_BITS = 255


class Subset(NamedTuple):
    """Subset of the categories of a feature, as trees store it.

    Its words are bits, one per category, set if it goes left; or, where that takes at most a quarter of the words, the
    categories of its smaller side, ascending, two bytes each, the last one repeated to fill the word.
    """

    form: int
    words: NDArray[np.uint64]


def subset_from(left: NDArray[np.bool_]) -> Subset:
    """Return the subset for categories that go left, (C,)."""
    n_left = int(np.count_nonzero(left))
    right = 2 * n_left > len(left)
    n_listed = len(left) - n_left if right else n_left
    if len(left) <= MOST_WITH_BITS or 4 * n_list_words(n_listed) > n_words(len(left)):
        return Subset(0, words_from(left))
    listed = np.flatnonzero(left != right).astype("<u2")
    words = np.pad(listed, (0, -n_listed % 4), mode="edge" if n_listed else "empty").view(np.uint64)
    return Subset(IS_LIST | LISTS_RIGHT * right | n_listed, words)


def words_from(left: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Pack booleans (C,) into words of 64 bits."""
    bits = np.zeros(64 * n_words(len(left)), dtype=np.uint8)
    bits[: len(left)] = left
    return np.packbits(bits, bitorder="little").view(np.uint64)


def n_words(n_categories: int, form: int = 0) -> int:
    """Return the number of words of a subset of `n_categories` categories in a form."""
    return n_list_words(form & (LISTS_RIGHT - 1)) if form else (n_categories + 63) // 64


def n_list_words(n_listed: int) -> int:
    """Return the number of words of a list of `n_listed` categories."""
    return (n_listed + 3) // 4
