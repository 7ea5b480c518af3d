"""Forest: the nodes and leaves of all trees -> the leaves that rows reach, and sums over them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow import _core
from hedgerow.forest.cache import Cache
from hedgerow.forest.class_counts import ClassCounts
from hedgerow.forest.moments import LeafMoments
from hedgerow.forest.multioutput import MultiOutputLeaves
from hedgerow.forest.nodes import Nodes
from hedgerow.forest.payload import LeafPayload
from hedgerow.forest.rows import Bags
from hedgerow.forest.unseen import UnseenPolicy, rows_with_gaps
from hedgerow.table.bins import Bins, Codes

#: Class shares of the distinct leaves of a forest are stored if they take at most this many bytes.
SHARE_BUDGET = 32 << 20
#: Counts of rows that go down both sides of splits are in memory for about this many cells of trees and classes.
MIXED_CELLS = 1 << 22
#: The kinds of leaves; the last one whose arrays are present is the kind of a forest.
LEAVES: tuple[type[LeafPayload], ...] = (ClassCounts, LeafMoments, MultiOutputLeaves)
#: The types of the arrays of a `Forest` of one output; model files and checkpoints store the same bytes as memory.
TYPES: dict[str, Any] = Nodes.TYPES | ClassCounts.TYPES | LeafMoments.TYPES


class Distinct(NamedTuple):
    """The distinct contents of the leaves of a forest. Many leaves have the same counts, so there are few contents.

    Attributes
    ----------
    examples : (D,) int64
        For each content the first leaf that has it; leaves are numbered over all trees.
    of_leaf : (L,) int32
        Which content each leaf has.
    """

    examples: NDArray[np.int64]
    of_leaf: NDArray[np.int32]


@dataclass(frozen=True, eq=False, repr=False)
class Forest:
    """All trees of a model, end to end, and the evidence of their leaves.

    A node takes 12 bytes: 8 in `nodes` and 4 in `payload`. A forest has two parts, and its attributes are the arrays of
    these parts under the names they have in files.

    Parameters
    ----------
    structure : Nodes
        The splits, and where their children are: `nodes` (its `bits`), `payload`, `set_words`, `node_start`,
        `leaf_start`, `set_start`, `depth`.
    evidence : Leaves
        The evidence of the leaves: `ClassCounts` of classes (`counts`, `entry_start`, `entry_class`, `weights`), or
        `LeafMoments` of numbers (`counts`, `weights`, `values`, `means`, `variances`).
    """

    structure: Nodes
    evidence: LeafPayload

    @classmethod
    def from_arrays(cls, n_classes: int, arrays: Mapping[str, Any]) -> Forest:
        """Arrays by their names, of which some may be None or left out -> a forest; `counted_rows` checks it."""
        there = {name: array for name, array in arrays.items() if array is not None}
        kind = next(kind for kind in reversed(LEAVES) if kind is LEAVES[0] or kind.KEY_ARRAY in there)
        if unknown := {name for name in there if name not in Nodes.TYPES and not kind.knows(name)}:
            raise ValueError(f"arrays must be those of {kind.__name__} of leaves, got {', '.join(sorted(unknown))} too")
        return cls(Nodes.from_arrays(there), kind.from_arrays(n_classes, there))

    @property
    def n_trees(self) -> int:
        """T."""
        return self.structure.n_trees

    @property
    def n_classes(self) -> int:
        """K, the number of classes that leaves count; 1 in a regression."""
        return self.evidence.n_classes

    @property
    def nodes(self) -> NDArray[np.uint64]:
        """(N,): the bits of each node."""
        return self.structure.bits

    @property
    def payload(self) -> NDArray[np.int32]:
        """(N,): for a leaf, its number within the tree; for a subset split, where its words begin."""
        return self.structure.payload

    @property
    def set_words(self) -> NDArray[np.uint64]:
        """(W,): the categories that go left at subset splits, as bits or lists."""
        return self.structure.set_words

    @property
    def node_start(self) -> NDArray[np.int64]:
        """(T + 1,): where the nodes of each tree begin."""
        return self.structure.node_start

    @property
    def leaf_start(self) -> NDArray[np.int64]:
        """(T + 1,): where the leaves of each tree begin."""
        return self.structure.leaf_start

    @property
    def set_start(self) -> NDArray[np.int64]:
        """(T + 1,): where the words of each tree begin."""
        return self.structure.set_start

    @property
    def depth(self) -> NDArray[np.int64]:
        """(T,): length of the longest path of each tree."""
        return self.structure.depth

    @property
    def counts(self) -> NDArray[np.uint32]:
        """(L * K,), or (E,) if there are many classes: rows of each class in each leaf."""
        return self.evidence.counts

    @property
    def entry_start(self) -> NDArray[np.int64] | None:
        """(L + 1,): where the counts of each leaf begin, if there are many classes; otherwise None."""
        return self.evidence.entry_start

    @property
    def entry_class(self) -> NDArray[np.uint16] | None:
        """(E,): the class of each count, if there are many classes; otherwise None."""
        return self.evidence.entry_class

    @property
    def weights(self) -> NDArray[np.float64] | None:
        """Like counts: weight of the rows, if rows were weighted; otherwise None."""
        return self.evidence.weights

    @property
    def values(self) -> NDArray[np.float64] | None:
        """(L,): the prediction of each leaf in a regression; otherwise None."""
        return self.evidence.values

    @property
    def means(self) -> NDArray[np.float64] | None:
        """(L,): the mean of each leaf in a regression, if leaves predict something else; otherwise None."""
        return self.evidence.means

    @property
    def variances(self) -> NDArray[np.float64] | None:
        """(L,): the variance of each leaf in a regression; otherwise None."""
        return self.evidence.variances

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(array.nbytes for array in self.arrays().values())

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Name -> array, for all arrays that are not None."""
        return self.structure.arrays() | self.evidence.arrays()

    def outputs(self) -> tuple[Forest, ...]:
        """The same trees with the leaves of each output; one output is the forest itself."""
        parts = self.evidence.parts
        return (self,) if len(parts) == 1 else tuple(replace(self, evidence=leaves) for leaves in parts)

    def probability(self, codes: Codes, n_threads: int = 1) -> NDArray[np.float64]:
        """Codes (p, n) -> (n, K): mean over trees of the class shares of the leaves reached."""
        shares = self._distinct_shares(n_threads) if self.repays_distinct(codes.shape[1]) else None
        if shares is None:
            found = self._reader.average(codes, n_threads)
        else:
            found = self._reader.average_known(codes, shares, self.distinct(n_threads).of_leaf, n_threads)
        unseen = self.unseen_rows(codes)
        block = max(1, MIXED_CELLS // (self.n_trees * self.n_classes))
        for first in range(0, len(unseen), block):
            rows = unseen[first : first + block]
            found[rows] = _mean_shares(self.mixed_counts(codes[:, rows], n_threads))
        return found

    def oob_probability(
        self, codes: Codes, rows: NDArray[np.int64], labels: NDArray[np.uint16], bags: Bags, n_threads: int = 1
    ) -> NDArray[np.float64]:
        """Codes (p, m), numbers (m,), classes (m,) of training rows -> (m, K): the out-of-bag mean over trees.

        What a row has added to a leaf is left out, one row of its class: labels must be certain. NaN where no tree may.
        """
        own = np.ascontiguousarray(labels) if bags.counts_oob else None
        return self._reader.average_outside(codes, rows, bags.n_rows, bags.seed, bags.mean, own, n_threads, bags.units)

    def leaves(self, codes: Codes, n_threads: int = 1) -> NDArray[np.int32]:
        """Codes (p, n) -> (n, T): number of the leaf reached within each tree."""
        return self._reader.leaves(codes, n_threads, False)

    def leaf_nodes(self, codes: Codes, n_threads: int = 1) -> NDArray[np.int32]:
        """Codes (p, n) -> (n, T): number of the node, within each tree, that is the leaf reached."""
        return self._reader.leaves(codes, n_threads, True)

    def path_most(self, codes: Codes, amounts: NDArray[np.float64], n_threads: int = 1) -> NDArray[np.float64]:
        """Codes (p, n), amounts >= 0 (p, n) -> (n, T): the largest amount of a feature on the path to the leaf."""
        return self._reader.path_most(codes, np.ascontiguousarray(amounts), n_threads)

    def counts_reached(self, codes: Codes, n_threads: int = 1) -> NDArray[np.float64]:
        """Codes (p, n) -> (n, T, K): the counts of the leaves reached, those of all leaves together for unseen rows."""
        counts, unseen = self.evidence_at(self.leaves(codes, n_threads)), self.unseen_rows(codes)
        if len(unseen):
            counts[unseen] = self.mixed_counts(codes[:, unseen], n_threads)
        return counts

    def unseen_rows(self, codes: Codes) -> NDArray[np.intp]:
        """Codes (p, n) -> the rows that go down both sides of splits: they have values that no training row had."""
        return rows_with_gaps(codes, self._gapless_splits)

    def mixed_counts(self, codes: Codes, n_threads: int = 1) -> NDArray[np.float64]:
        """Codes (p, n) of unseen rows -> (n, T, K): the counts of all leaves together to which a row may belong.

        It is as if a tree had one leaf for the row. The class shares of this leaf are the mean of those of the leaves,
        weighted by the shares of the sides, and its number of rows is the mean of theirs; under the policy "sum" its
        counts are the sums of their counts.
        """
        found = self._reader.mixed_counts(np.ascontiguousarray(codes), *self._branching, n_threads)
        return found.reshape(-1, self.n_trees, self.n_classes)

    def mixed_states(self, codes: Codes, states: NDArray[np.float64], n_threads: int = 1) -> NDArray[np.float64]:
        """Codes (p, n) of unseen rows, states of leaves (L, S) -> (n, T, S): the mean over leaves it may belong to."""
        rows = self.counts.astype(np.float64)
        found = self._reader.mixed_states(np.ascontiguousarray(codes), states, rows, *self._branching, n_threads)
        return found.reshape(-1, self.n_trees, states.shape[1])

    def marks_in_leaves(
        self, codes: Codes, drawn: NDArray[np.int32], bins: Bins, bags: Bags, n_threads: int = 1
    ) -> NDArray[np.uint16]:
        """Codes (p, n) of the training rows, features of the first trees (t, m) -> what their leaves have seen.

        See `hedgerow.forest.leaf_ranges`.
        """
        fields = (drawn, bins.n_bins, bins.nominal, bags.seed, bags.mean, bags.first_tree, n_threads, bags.units)
        return self._reader.marks(codes, *fields)

    def strangeness(self, codes: Codes, cells: NDArray[np.float64], **fields: Any) -> Any:
        """Codes (p, n), values of some features (u, n) and leaf ranges -> how far rows lie outside them."""
        return self._reader.strangeness(codes, cells, **fields)

    def distinct(self, n_threads: int = 1) -> Distinct:
        """The distinct contents of all leaves; they are found once and kept, at 4 bytes a leaf."""
        return self.cache.get("distinct", lambda: Distinct(*self._reader.distinct(n_threads)))

    def repays_distinct(self, n_rows: int) -> bool:
        """Whether so many rows reach enough leaves that finding the distinct contents pays, or they are known already.

        With weights it does not, because nearly all leaves have different contents.
        """
        if self.weights is not None:
            return False
        return self.cache.peek("distinct") is not None or bool(2 * n_rows * self.n_trees >= self.leaf_start[-1])

    def fold(
        self,
        codes: Codes,
        states: NDArray[np.float64],
        distinct: NDArray[np.int32] | None,
        merge: int,
        first: int,
        last: int,
        tree_weights: NDArray[np.float64] | None,
        out_of_bag: tuple[int, float, NDArray[np.uint16] | None, NDArray[np.uint32] | None] | None,
        n_threads: int,
        merged: NDArray[np.float64],
    ) -> None:
        """Merge the states of the leaves reached in trees `first` to ``last - 1`` into `merged` (n, S).

        There is one state for each distinct content, and `distinct` (L,) says which one each leaf has; or there is one
        for each leaf of these trees, and `distinct` is None.
        """
        self._reader.fold(
            codes, states, distinct, merge, first, last - first, tree_weights, out_of_bag, n_threads, merged
        )

    def smallest_change(
        self, codes: Codes, seconds: float, **fields: Any
    ) -> tuple[NDArray[np.int32], int, float, float, bool]:
        """Codes (p, 1), seconds, what moves cost and classes gain -> codes, class, cost, bound, whether it is complete.

        See `hedgerow.explain.change`.
        """
        return self._reader.smallest_change(codes, seconds, **fields)

    def leaf_counts(self, tree: int, *, weighted: bool = False) -> NDArray[Any]:
        """-> (leaves of the tree, K): rows of each class in each leaf, or their weight."""
        return self.evidence.table(slice(*self.leaf_start[tree : tree + 2]), weighted=weighted)

    def evidence_in(self, tree: int) -> Any:
        """The evidence of the leaves of a tree, as it is lifted: in a classification (leaves of the tree, K)."""
        return self.evidence.read(slice(*self.leaf_start[tree : tree + 2]))

    def evidence_at(self, leaves: NDArray[np.int32]) -> NDArray[np.float64]:
        """Leaves (n, T) -> their evidence (n, T, K); no other leaf is read."""
        evidence = self.evidence.read((leaves + self.leaf_start[:-1]).ravel())
        return np.asarray(evidence).reshape(*leaves.shape, self.n_classes)

    def with_unseen(self, unseen: UnseenPolicy | None) -> Forest:
        """The same trees, which know where to send values that no training row had."""
        return replace(self, structure=replace(self.structure, unseen=unseen))

    def add_classes(self, places: NDArray[np.intp], n_classes: int) -> Forest:
        """The same forest with `n_classes` classes: class k becomes ``places[k]``; places are in ascending order."""
        return replace(self, evidence=self.evidence.add_classes(places, n_classes))

    def _distinct_shares(self, n_threads: int) -> NDArray[np.float64] | None:
        """Return the class shares of each distinct content, (D, K).

        None if a leaf is empty or they take too much memory.
        """

        def make() -> NDArray[np.float64] | None:
            examples = self.distinct(n_threads).examples
            if len(examples) * self.n_classes * 8 > SHARE_BUDGET:
                return None
            counts = self.evidence.table(examples)
            total = counts.sum(axis=1, dtype=np.float64)
            return counts / total[:, None] if (total > 0).all() else None

        return self.cache.get("shares", make)

    @cached_property
    def cache(self) -> Cache:
        """Leaf states of the rules used last, and other things that follow from the arrays."""
        return Cache()

    @cached_property
    def used_features(self) -> NDArray[np.int64]:
        """Numbers of the features that some node splits on, in ascending order."""
        return self.structure.split_features()

    @cached_property
    def gapless_features(self) -> NDArray[np.intp]:
        """Features without gaps in the training rows that some node splits on."""
        return self._gapless_among(self.used_features)

    @cached_property
    def _gapless_splits(self) -> NDArray[np.intp]:
        """Features without gaps in the training rows on which some node has two sides."""
        return self._gapless_among(self.structure.split_features(two_sides=True))

    def _gapless_among(self, features: NDArray[np.int64]) -> NDArray[np.intp]:
        """Features -> those without gaps in the training rows; none if gaps go to the larger side."""
        unseen = self.structure.unseen
        return features[:0] if unseen is None else np.asarray(features[unseen.gapless[features] == 1])

    @cached_property
    def _branching(self) -> tuple[NDArray[np.float64], NDArray[np.uint8], bool]:
        """The weight of the training rows in each node, features without gaps, and whether leaves are added up."""
        assert self.structure.unseen is not None
        gapless, policy = self.structure.unseen
        return self._reader.covers(self.evidence.amount), gapless, policy == "sum"

    @cached_property
    def _reader(self) -> _core.Reader:
        nodes, leaves = self.structure, self.evidence
        return _core.Reader(
            nodes=nodes.bits,
            payload=nodes.payload,
            set_words=nodes.set_words,
            node_start=nodes.node_start,
            leaf_start=nodes.leaf_start,
            set_start=nodes.set_start,
            counts=leaves.counts,
            entry_start=leaves.entry_start,
            entry_class=leaves.entry_class,
            weights=leaves.weights,
            n_classes=leaves.n_classes,
        )

    def __getstate__(self) -> dict[str, Any]:
        return {"structure": self.structure, "evidence": self.evidence}

    def __repr__(self) -> str:
        return f"Forest({self.n_trees} trees, {len(self.nodes)} nodes, {self.nbytes / 1e6:.1f} MB)"


def join_forests(*forests: Forest) -> Forest:
    """Forests over the same bins and classes -> one with the trees of all."""
    first, *others = (forest.evidence for forest in forests)
    return Forest(Nodes.join(*(forest.structure for forest in forests)), first.join(*others))


def trees_between(forest: Forest, first: int, last: int) -> Forest:
    """Trees number `first` to ``last - 1`` as a forest; its arrays are views of those of the given one."""
    leaves = forest.leaf_start[first], forest.leaf_start[last]
    return Forest(forest.structure.between(first, last), forest.evidence.between(*leaves))


def counted_rows(
    forest: Forest, bins: Bins, n_threads: int = 1, borrowed: NDArray[np.uint8] | None = None
) -> NDArray[np.uint64]:
    """Check a forest -> (T,): rows that each tree counts; a ValueError says what is wrong with the arrays.

    `borrowed` (L,) says which leaves are borrowed, if the nodes have been checked before; then only leaves are checked.
    """
    output, *outputs = forest.outputs()
    first = _rows_of_output(output, bins, n_threads, borrowed)
    known = forest.structure.borrowed_leaves() if outputs else None
    others = [_rows_of_output(output, bins, n_threads, known) for output in outputs]
    forest.evidence.check()
    if not all(np.array_equal(rows, first) for rows in others):
        raise ValueError("all outputs must count the same rows, got different numbers of them")
    return first


def _rows_of_output(
    forest: Forest, bins: Bins, n_threads: int, borrowed: NDArray[np.uint8] | None
) -> NDArray[np.uint64]:
    """The same for a forest of one output."""
    _check_types(forest)  # the core does not check types, lengths, and where trees begin
    forest.evidence.check()
    forest.structure.check(forest.evidence.n_leaves)
    names = [*Nodes.TYPES, *ClassCounts.TYPES, "n_classes"]
    arrays: dict[str, Any] = {name: getattr(forest, name) for name in names} | {"borrowed": borrowed}
    return _core.check_forest(**arrays, n_bins=bins.n_bins, nominal=bins.nominal, n_threads=n_threads)


def _mean_shares(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Counts (n, T, K) -> (n, K): the mean of the class shares over trees that have rows, uniform if none has."""
    total, heard = np.zeros((len(counts), counts.shape[2])), np.zeros((len(counts), 1))
    for tree in range(counts.shape[1]):  # one after the other, so that sums do not depend on the number of rows
        rows = counts[:, tree].sum(axis=1, keepdims=True)
        total += counts[:, tree] / np.where(rows > 0, rows, 1.0)
        heard += rows > 0
    return np.where(heard > 0, total / np.maximum(heard, 1), 1 / counts.shape[2])


def _check_types(forest: Forest) -> None:
    """Refuse arrays whose types are not those of model files."""
    held = forest.arrays()
    for name, dtype in (Nodes.TYPES | forest.evidence.TYPES).items():
        array = held.get(name)
        if array is None and name in forest.evidence.OPTIONAL:
            continue
        if array is None or array.dtype != dtype or array.ndim != 1:
            got = "none" if array is None else f"{array.dtype} of shape {array.shape}"
            raise ValueError(f"{name} must be an array of {np.dtype(dtype)} with one dimension, got {got}")
