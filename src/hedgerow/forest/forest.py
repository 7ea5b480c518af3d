"""Forests: nodes and leaf evidence of all trees, and sums over leaves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow import _core
from hedgerow.belief.calibrate import Views
from hedgerow.forest.cache import Cache
from hedgerow.forest.class_counts import ClassCounts
from hedgerow.forest.leaf_masses import LeafMasses, label_gaps
from hedgerow.forest.moments import LeafMoments
from hedgerow.forest.multioutput import MultiOutputLeaves
from hedgerow.forest.nodes import Nodes, UnseenPolicy, rows_with_gaps
from hedgerow.forest.payload import LeafPayload
from hedgerow.forest.rows import Bags
from hedgerow.forest.views import ViewReader
from hedgerow.table.bins import Bins, Codes
from hedgerow.table.schema import Array

#: Largest memory of the class shares of distinct leaves.
SHARE_BUDGET = 32 << 20
#: Approximate number of cells of trees and classes in memory for rows that go down both sides of splits.
MIXED_CELLS = 1 << 22
#: Types of leaves. The last one whose key array is present is the type of a forest.
LEAVES: tuple[type[LeafPayload], ...] = (ClassCounts, LeafMoments, MultiOutputLeaves)
#: Types of the arrays of a forest of one output; model files and checkpoints store the bytes in memory.
TYPES: dict[str, Any] = Nodes.TYPES | ClassCounts.TYPES | LeafMoments.TYPES


class Distinct(NamedTuple):
    """Distinct contents of leaves; many leaves have the same counts.

    Attributes
    ----------
    examples : (D,) int64
        The first leaf with each content; leaves are numbered over all trees.
    of_leaf : (L,) int32
        The content of each leaf.
    """

    examples: NDArray[np.int64]
    of_leaf: NDArray[np.int32]


@dataclass(frozen=True, eq=False, repr=False)
class Forest:
    """All trees of a model, end to end, and the evidence of their leaves.

    A node takes 12 bytes: 8 in `nodes` and 4 in `payload`. The attributes of a forest are the arrays of its two parts,
    as named in files.

    Parameters
    ----------
    structure : Nodes
        Splits and children: `nodes` (its `bits`), `payload`, `set_words`, `node_start`, `leaf_start`, `set_start`,
        `depth`.
    evidence : LeafPayload
        Leaf evidence: `ClassCounts` (`counts`, `entry_start`, `entry_class`, `weights`), or `LeafMoments` (`counts`,
        `weights`, `values`, `means`, `variances`).
    """

    structure: Nodes
    evidence: LeafPayload

    @classmethod
    def from_arrays(cls, n_classes: int, arrays: Mapping[str, Any]) -> Forest:
        """Return a forest from named arrays, None if absent; `counted_rows` checks it."""
        present = {name: array for name, array in arrays.items() if array is not None}
        kind = next(kind for kind in reversed(LEAVES) if kind is LEAVES[0] or kind.KEY_ARRAY in present)
        if unknown := {name for name in present if name not in Nodes.TYPES and not kind.knows(name)}:
            raise ValueError(f"arrays must belong to {kind.__name__}, got {', '.join(sorted(unknown))} too")
        return cls(Nodes.from_arrays(present), kind.from_arrays(n_classes, present))

    @property
    def n_trees(self) -> int:
        """Number of trees T."""
        return self.structure.n_trees

    @property
    def n_classes(self) -> int:
        """Number of classes K; 1 in a regression."""
        return self.evidence.n_classes

    @property
    def nodes(self) -> NDArray[np.uint64]:
        """Bits of each node, (N,)."""
        return self.structure.bits

    @property
    def payload(self) -> NDArray[np.int32]:
        """Number of each leaf within its tree, or start of the words of a subset."""
        return self.structure.payload

    @property
    def set_words(self) -> NDArray[np.uint64]:
        """Categories that go left at subset splits, as bits or lists, (W,)."""
        return self.structure.set_words

    @property
    def node_start(self) -> NDArray[np.int64]:
        """Start of the nodes of each tree, (T + 1,)."""
        return self.structure.node_start

    @property
    def leaf_start(self) -> NDArray[np.int64]:
        """Start of the leaves of each tree, (T + 1,)."""
        return self.structure.leaf_start

    @property
    def set_start(self) -> NDArray[np.int64]:
        """Start of the words of each tree, (T + 1,)."""
        return self.structure.set_start

    @property
    def depth(self) -> NDArray[np.int64]:
        """Length of the longest path of each tree, (T,)."""
        return self.structure.depth

    @property
    def counts(self) -> NDArray[np.uint32]:
        """Rows of each class in each leaf, (L * K,), or (E,) with many classes."""
        return self.evidence.counts

    @property
    def entry_start(self) -> NDArray[np.int64] | None:
        """Start of the counts of each leaf with many classes, (L + 1,); otherwise None."""
        return self.evidence.entry_start

    @property
    def entry_class(self) -> NDArray[np.uint16] | None:
        """Class of each count with many classes, (E,); otherwise None."""
        return self.evidence.entry_class

    @property
    def weights(self) -> NDArray[np.float64] | None:
        """Weight of the rows of each count; None without weights."""
        return self.evidence.weights

    @property
    def values(self) -> NDArray[np.float64] | None:
        """Prediction of each leaf in a regression, (L,); otherwise None."""
        return self.evidence.values

    @property
    def means(self) -> NDArray[np.float64] | None:
        """Mean of each leaf in a regression, (L,), if not in `values`; else None."""
        return self.evidence.means

    @property
    def variances(self) -> NDArray[np.float64] | None:
        """Variance of each leaf in a regression, (L,); otherwise None."""
        return self.evidence.variances

    @property
    def halves(self) -> NDArray[np.float64] | None:
        """Mean half width of the targets of each leaf, (L,), if some are intervals; else None."""
        return self.evidence.halves

    @property
    def nbytes(self) -> int:
        """Size of all arrays in bytes."""
        return sum(array.nbytes for array in self.arrays().values())

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """Return all arrays by name."""
        return self.structure.arrays() | self.evidence.arrays()

    def outputs(self) -> tuple[Forest, ...]:
        """Return a forest with the same trees for each output."""
        parts = self.evidence.parts
        return (self,) if len(parts) == 1 else tuple(replace(self, evidence=leaves) for leaves in parts)

    def probability(self, codes: Codes, n_threads: int = 1) -> NDArray[np.float64]:
        """Return the mean over trees of the class shares of the leaves reached, (n, K)."""
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
        """Return out-of-bag probabilities of training rows, (m, K); NaN without trees.

        One row of its class is removed from each leaf that counted the row, so labels must be certain.
        """
        own = np.ascontiguousarray(labels) if bags.counts_oob else None
        return self._reader.average_outside(codes, rows, bags.n_rows, bags.seed, bags.mean, own, n_threads, bags.units)

    def viewed(self, views: Views, n_threads: int = 1) -> ViewReader:
        """Return the reader of the views of the forest, which is kept."""
        found = self._view_readers.get(views)
        if found is None:
            found = self._view_readers[views] = ViewReader(replace(self), views, n_threads)
        return found

    def leaves(self, codes: Codes, n_threads: int = 1) -> NDArray[np.int32]:
        """Return the number of the leaf reached within each tree, (n, T)."""
        return self._reader.leaves(codes, n_threads, False)

    def leaf_nodes(self, codes: Codes, n_threads: int = 1) -> NDArray[np.int32]:
        """Return the node number of the leaf reached within each tree, (n, T)."""
        return self._reader.leaves(codes, n_threads, True)

    def path_most(self, codes: Codes, amounts: NDArray[np.float64], n_threads: int = 1) -> NDArray[np.float64]:
        """Return the largest amount (p, n) of a feature on each path to a leaf, (n, T)."""
        return self._reader.path_most(codes, np.ascontiguousarray(amounts), n_threads)

    def counts_reached(self, codes: Codes, n_threads: int = 1) -> NDArray[np.float64]:
        """Return counts of the leaves reached, (n, T, K); mixed if out of support.

        Those of a `wide` forest have label gaps next to them, (n, T, 3K).
        """
        counts, unseen = self.evidence_at(self.leaves(codes, n_threads)), self.unseen_rows(codes)
        if len(unseen):
            counts[unseen] = self.mixed_evidence(codes[:, unseen], n_threads)
        return counts

    def unseen_rows(self, codes: Codes) -> NDArray[np.intp]:
        """Return the rows with out-of-support values, which go down both sides of splits."""
        return rows_with_gaps(codes, self._gapless_splits)

    def mixed_counts(self, codes: Codes, n_threads: int = 1) -> NDArray[np.float64]:
        """Return mixed counts of leaves that out-of-support rows may reach, (n, T, K).

        They are the counts of one virtual leaf per tree. Its class shares are the mean of those of the leaves, weighted
        by the shares of the sides, and its number of rows is the mean of theirs; under the policy "sum" its counts are
        the sums of their counts.
        """
        found = self._reader.mixed_counts(np.ascontiguousarray(codes), *self._branching, n_threads)
        return found.reshape(-1, self.n_trees, self.n_classes)

    def mixed_evidence(self, codes: Codes, n_threads: int = 1) -> NDArray[np.float64]:
        """Return `mixed_counts`, in a wide forest with label gaps next to them, (n, T, 3K).

        The gaps of a virtual leaf are as large a share of its rows as those of the leaves are on average.
        """
        counts = self.mixed_counts(codes, n_threads)
        masses = self.evidence.masses if self.evidence.wide else None
        if masses is None:
            return counts
        shares = self._mixed_shares(codes, np.hstack(masses.read()[:2]), n_threads)
        belief, plausible = (part.reshape(-1, self.n_classes) for part in np.split(shares, 2, axis=-1))
        gaps = label_gaps(counts.reshape(-1, self.n_classes), belief, plausible, np.ones(len(belief)))
        return np.concatenate([counts, gaps.reshape(*counts.shape[:2], -1)], axis=2)

    def mixed_masses(self, codes: Codes, n_threads: int = 1) -> NDArray[np.float64]:
        """Return the shares of the focal sets in virtual leaves as in `mixed_counts`, (n, T, F)."""
        assert self.evidence.masses is not None
        return self._mixed_shares(codes, self.evidence.masses.table().toarray(), n_threads)

    def _mixed_shares(self, codes: Codes, masses: NDArray[np.float64], n_threads: int) -> NDArray[np.float64]:
        """Return the mean shares (n, T, S) of masses (L, S) in the leaves that rows may reach."""
        amount = self.evidence.amount[:, None]
        states = np.divide(masses, amount, out=np.zeros_like(masses), where=amount > 0)
        rows = self.evidence.rows.astype(np.float64)
        found = self._reader.mixed_states(np.ascontiguousarray(codes), states, rows, *self._branching, n_threads)
        return found.reshape(-1, self.n_trees, masses.shape[1])

    def mixed_states(self, codes: Codes, states: NDArray[np.float64], n_threads: int = 1) -> NDArray[np.float64]:
        """Return the mean states over the leaves that rows may reach, (n, T, S)."""
        rows = self.evidence.rows.astype(np.float64)
        found = self._reader.mixed_states(np.ascontiguousarray(codes), states, rows, *self._branching, n_threads)
        return found.reshape(-1, self.n_trees, states.shape[1])

    def marks_in_leaves(
        self, codes: Codes, drawn: NDArray[np.int32], bins: Bins, bags: Bags, n_threads: int = 1
    ) -> NDArray[np.uint16]:
        """Return the leaf ranges of the features drawn for the first trees, (t, m).

        See `hedgerow.forest.leaf_ranges`.
        """
        fields = (drawn, bins.n_bins, bins.nominal, bags.seed, bags.mean, bags.first_tree, n_threads, bags.units)
        return self._reader.marks(codes, *fields)

    def strangeness(self, codes: Codes, cells: NDArray[np.float64], **fields: Any) -> Any:
        """Return the distances of rows from leaf ranges, given their values (u, n)."""
        return self._reader.strangeness(codes, cells, **fields)

    def distinct(self, n_threads: int = 1) -> Distinct:
        """Return the distinct contents of all leaves; cached at 4 bytes per leaf."""
        return self.cache.get("distinct", lambda: Distinct(*self._reader.distinct(n_threads)))

    def repays_distinct(self, n_rows: int) -> bool:
        """Return whether distinct contents pay for `n_rows` rows, or are known.

        It never pays with weights, because nearly all leaves then differ.
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
        """Merge the states of the leaves reached in some trees into `merged` (n, S).

        The trees are `first` to ``last - 1``. `states` has a row per distinct content, and `distinct` (L,) is the
        content of each leaf; or it has a row per leaf of these trees, and `distinct` is None.
        """
        self._reader.fold(
            codes, states, distinct, merge, first, last - first, tree_weights, out_of_bag, n_threads, merged
        )

    def smallest_change(
        self, codes: Codes, seconds: float, **fields: Any
    ) -> tuple[NDArray[np.int32], int, float, float, bool]:
        """Search the cheapest counterfactual of one row for at most some seconds.

        Returns its codes, class, cost, a lower bound on the cost, and whether the search was complete. See
        `hedgerow.explain.change`.
        """
        return self._reader.smallest_change(codes, seconds, **fields)

    def leaf_counts(self, tree: int, *, weighted: bool = False) -> Array:
        """Return rows, or weights, of each class in the leaves of a tree, (leaves, K)."""
        return self.evidence.table(slice(*self.leaf_start[tree : tree + 2]), weighted=weighted)

    def evidence_in(self, tree: int) -> Any:
        """Return the evidence of the leaves of a tree, as reducers lift it."""
        return self.evidence.read(slice(*self.leaf_start[tree : tree + 2]))

    def evidence_at(self, leaves: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the evidence of leaves (n, T), (n, T, K) or wider; no other leaf is read."""
        evidence = self.evidence.read((leaves + self.leaf_start[:-1]).ravel())
        return np.asarray(evidence).reshape(*leaves.shape, self.evidence.width)

    @cached_property
    def widened(self) -> Forest:
        """The forest with label gaps next to its counts; the forest itself if all labels are certain."""
        return self if self.evidence.masses is None else replace(self, evidence=self.evidence.with_gaps())

    def with_unseen(self, unseen: UnseenPolicy | None) -> Forest:
        """Return the forest with a policy for out-of-support values."""
        return replace(self, structure=replace(self.structure, unseen=unseen))

    def add_classes(self, places: NDArray[np.intp], n_classes: int) -> Forest:
        """Return the forest with more classes; class k becomes ``places[k]``."""
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
        """Leaf states of recently used rules, and other derived values."""
        return Cache()

    @cached_property
    def _view_readers(self) -> dict[Views, ViewReader]:
        """Readers of views, which a cache of limited size would make again for every prediction of a large forest."""
        return {}

    @cached_property
    def used_features(self) -> NDArray[np.int64]:
        """Features that some node splits on, ascending."""
        return self.structure.split_features()

    @cached_property
    def gapless_features(self) -> NDArray[np.intp]:
        """Split features without missing values in the training rows."""
        return self._gapless_among(self.used_features)

    @cached_property
    def _gapless_splits(self) -> NDArray[np.intp]:
        """Features of two-way splits without missing values in the training rows."""
        return self._gapless_among(self.structure.split_features(two_sides=True))

    def _gapless_among(self, features: NDArray[np.int64]) -> NDArray[np.intp]:
        """Return the features without missing values in training; none for policy "larger"."""
        unseen = self.structure.unseen
        return features[:0] if unseen is None else np.asarray(features[unseen.gapless[features] == 1])

    @cached_property
    def _branching(self) -> tuple[NDArray[np.float64], NDArray[np.uint8], bool]:
        """Weights of nodes, features without missing values, and whether to sum leaves."""
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
    """Join the trees of forests over the same bins and classes."""
    first, *others = (forest.evidence for forest in forests)
    return Forest(Nodes.join(*(forest.structure for forest in forests)), first.join(*others))


def trees_between(forest: Forest, first: int, last: int) -> Forest:
    """Return trees `first` to ``last - 1`` as a forest of views."""
    leaves = forest.leaf_start[first], forest.leaf_start[last]
    return Forest(forest.structure.between(first, last), forest.evidence.between(*leaves))


def counted_rows(
    forest: Forest, bins: Bins, n_threads: int = 1, borrowed: NDArray[np.uint8] | None = None
) -> NDArray[np.uint64]:
    """Check a forest, and return the number of rows that each tree counts, (T,).

    Raises ValueError if arrays are malformed. If nodes have been checked before, `borrowed` (L,) marks borrowed leaves,
    and only leaves are checked.
    """
    output, *outputs = forest.outputs()
    first = _rows_of_output(output, bins, n_threads, borrowed)
    known = forest.structure.borrowed_leaves() if outputs else None
    others = [_rows_of_output(output, bins, n_threads, known) for output in outputs]
    forest.evidence.check()
    if not all(np.array_equal(rows, first) for rows in others):
        raise ValueError("all outputs must count the same rows in each tree")
    return first


def _rows_of_output(
    forest: Forest, bins: Bins, n_threads: int, borrowed: NDArray[np.uint8] | None
) -> NDArray[np.uint64]:
    """Check a forest of one output, and return the rows of each tree."""
    _check_types(forest)  # the core checks neither types and lengths nor where trees begin
    forest.evidence.check()
    forest.structure.check(forest.evidence.n_leaves)
    names = [*Nodes.TYPES, *(name for name in ClassCounts.TYPES if name not in LeafMasses.TYPES), "n_classes"]
    arrays: dict[str, Any] = {name: getattr(forest, name) for name in names} | {"borrowed": borrowed}
    return _core.check_forest(**arrays, n_bins=bins.n_bins, nominal=bins.nominal, n_threads=n_threads)


def _mean_shares(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean class shares over trees with rows, (n, K); uniform if none has."""
    total, heard = np.zeros((len(counts), counts.shape[2])), np.zeros((len(counts), 1))
    for tree in range(counts.shape[1]):  # in this order, so that sums do not depend on the number of rows
        rows = counts[:, tree].sum(axis=1, keepdims=True)
        total += counts[:, tree] / np.where(rows > 0, rows, 1.0)
        heard += rows > 0
    return np.where(heard > 0, total / np.maximum(heard, 1), 1 / counts.shape[2])


def _check_types(forest: Forest) -> None:
    """Raise if arrays do not have the types of model files."""
    held = forest.arrays()
    for name, dtype in (Nodes.TYPES | forest.evidence.TYPES).items():
        array = held.get(name)
        if array is None and name in forest.evidence.OPTIONAL:
            continue
        if array is None or array.dtype != dtype or array.ndim != 1:
            found = "nothing" if array is None else f"{array.dtype} of shape {array.shape}"
            raise ValueError(f"{name} must be a one-dimensional array of {np.dtype(dtype)}, got {found}")
