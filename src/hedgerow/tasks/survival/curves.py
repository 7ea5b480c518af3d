"""Curves of leaves: estimates at the times of a grid.

Curves have J + 1 columns: the time before the first event, at which all rows are alive, and the J grid times. The
compiled core computes them from the entries of leaves, also of the ancestors of leaves, which have more rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from hedgerow.forest.forest import Forest
from hedgerow.forest.grow import TrainingRows
from hedgerow.table.bins import Codes
from hedgerow.tasks.survival.target import SurvivalInfo

Floats = NDArray[np.float64]

#: Curves are means over depths: the leaf, and its smallest ancestors with at least these numbers of rows. Chosen, like
#: the leaf size of 3, on 11 real sets.
DEPTHS = (0, 15, 60)
#: Weights of the depths without pooling: the leaf only.
LEAF_ONLY = (1.0, 0.0, 0.0)
#: Number of rows that are sent through the forest at once, and approximate memory of states of virtual leaves.
BLOCK_ROWS, STATE_BYTES = 1 << 15, 32 << 20


class AtRisk(NamedTuple):
    """Events of any cause and rows at risk, (m, J + 1) each."""

    events: Floats
    rows: Floats

    @classmethod
    def of(cls, counts: NDArray[Any], info: SurvivalInfo) -> AtRisk:
        """Count the rows at risk from the cells of nodes (m, K)."""
        at, shape = np.arange(len(info.names)), (len(info.names), len(info.times) + 1)
        entry, time, cause = info.cells
        late, ended = entry > 0, cause > 0
        events = csr_array((np.ones(ended.sum()), (at[ended], time[ended])), shape)
        leaving = csr_array((np.ones(len(at)), (at, time)), shape) - csr_array(
            (np.ones(late.sum()), (at[late], entry[late])), shape
        )
        net = np.asarray(counts @ leaving)
        return cls(np.asarray(counts @ events), np.cumsum(net[:, ::-1], axis=1)[:, ::-1])


def kaplan_meier(counts: NDArray[Any], info: SurvivalInfo) -> Floats:
    """Return the survival curves of nodes with cells (m, K), (m, J + 1); 1 for empty nodes."""
    at = AtRisk.of(counts, info)
    share = np.divide(at.events, at.rows, out=np.zeros_like(at.rows), where=at.rows > 0)
    return np.asarray(np.cumprod(1 - share, axis=1))


@dataclass(frozen=True)
class Wanted:
    """Results computed from the leaves that rows reach.

    Parameters
    ----------
    kind : {"survival", "hazard", "bounds", "incidence", "incidence_bounds"}
        Kaplan–Meier, Nelson–Aalen, lower and upper survival, Aalen–Johansen for each cause, and its lower and upper
        values.
    weights : tuple of float
        Weight of each of the `DEPTHS`.
    caution : float
        Pseudo-count of the bounds.
    """

    kind: str = "survival"
    weights: tuple[float, ...] = LEAF_ONLY
    caution: float = 0.0


@dataclass(frozen=True, eq=False)
class LeafCurves:
    """Mean curves over the trees of a forest."""

    forest: Forest
    info: SurvivalInfo
    n_threads: int = 1

    def mean(self, codes: Codes, wanted: Wanted) -> Floats:
        """Return the means over trees for codes (p, n), (n, S), with S = J + 1 for each curve."""
        return np.concatenate([self._block(codes[:, part], wanted) for part in _blocks(codes.shape[1])])

    def each_tree(self, codes: Codes, wanted: Wanted, column: int) -> Floats:
        """Return a column of the curve of each tree, (n, T)."""
        reached = self._reached(codes)
        found = np.column_stack(
            [self._of(np.ascontiguousarray(leaves[:, None]), wanted)[:, column] for leaves in reached.T]
        )
        unseen = self.forest.unseen_rows(codes)
        if len(unseen):
            every = self.of_leaves(0, int(self.forest.leaf_start[-1]), wanted)
            states = np.ascontiguousarray(every[:, [column]])
            found[unseen] = self.forest.mixed_states(codes[:, unseen], states, self.n_threads)[:, :, 0]
        return found

    def out_of_bag(self, rows: TrainingRows, chosen: NDArray[np.int64], wanted: Wanted) -> Floats:
        """Return the means over the out-of-bag trees of training rows (k,) without themselves, (k, S); NaN without."""
        outside = rows.bags.oob_each(self.forest.n_trees, chosen)
        reached = np.where(outside, self._reached(rows.codes_of(chosen)), -1).astype(np.int32)
        own = rows.target.labels[chosen] if rows.bags.counts_oob else None
        return self._of(reached, wanted, own)

    def _block(self, codes: Codes, wanted: Wanted) -> Floats:
        codes = np.ascontiguousarray(codes)
        found, unseen = self._of(self._reached(codes), wanted), self.forest.unseen_rows(codes)
        if len(unseen):
            found[unseen] = self._down_both_sides(codes[:, unseen], wanted)
        return found

    def _down_both_sides(self, codes: Codes, wanted: Wanted) -> Floats:
        """Return the means for rows with out-of-support values, which reach several leaves of a tree."""
        states, n_trees = self.of_leaves(0, int(self.forest.leaf_start[-1]), wanted), self.forest.n_trees
        total, block = (
            np.zeros((codes.shape[1], states.shape[1])),
            max(1, STATE_BYTES // (8 * n_trees * states.shape[1])),
        )
        for first in range(0, codes.shape[1], block):
            part = slice(first, first + block)
            each = self.forest.mixed_states(codes[:, part], states, self.n_threads)
            for tree in range(n_trees):  # in this order, so that sums do not depend on the number of rows
                total[part] += each[:, tree]
        return total / n_trees

    def _reached(self, codes: Codes) -> NDArray[np.int32]:
        """Return the leaves reached, numbered over all trees, (n, T)."""
        return (self.forest.leaves(codes, self.n_threads) + self.forest.leaf_start[:-1]).astype(np.int32)

    def of_leaves(self, first: int, last: int, wanted: Wanted) -> Floats:
        """Return the curves of the leaves from first to last - 1, numbered over all trees, (m, S)."""
        return self._of(np.arange(first, last, dtype=np.int32)[:, None], wanted)

    def at_risk(self, codes: Codes, weights: tuple[float, ...]) -> Floats:
        """Return mean rows over trees and depths, (n, J + 2): all, at the start, and after each time."""
        reached, n_trees = self._reached(np.ascontiguousarray(codes)), self.forest.n_trees
        total = np.zeros((codes.shape[1], len(self.info.times) + 2))
        for tree in range(n_trees):
            leaves, where = np.unique(reached[:, tree], return_inverse=True)
            total += self._remaining(leaves, int(self.forest.leaf_start[tree]), weights)[where]
        return total / n_trees

    def _remaining(self, leaves: NDArray[np.int32], begin: int, weights: tuple[float, ...]) -> Floats:
        """Return the rows of `at_risk` for leaves (m,) of the tree whose leaves begin at a number, (m, J + 2)."""
        _, order, first, last = self._spans
        used = [depth for depth, weight in enumerate(weights) if weight > 0]
        spans = [(first[leaves * len(DEPTHS) + depth], last[leaves * len(DEPTHS) + depth]) for depth in used]
        needed = np.unique(np.concatenate([np.arange(*span) for ends in spans for span in zip(*ends, strict=True)]))
        counts = self.forest.evidence.read(begin + order[begin + needed].astype(np.int64))
        at = AtRisk.of(counts, self.info).rows
        rows = np.column_stack([counts.sum(axis=1, dtype=np.float64), at[:, 0], at[:, 2:], np.zeros(len(needed))])
        running = np.concatenate([np.zeros((1, rows.shape[1])), np.cumsum(rows, axis=0)])
        found = [
            running[np.searchsorted(needed, end)] - running[np.searchsorted(needed, start)] for start, end in spans
        ]
        return np.tensordot([weights[depth] for depth in used], found, axes=1)

    def _of(self, reached: NDArray[np.int32], wanted: Wanted, own: NDArray[np.uint16] | None = None) -> Floats:
        given = (wanted.kind, wanted.caution, None if own is None else np.ascontiguousarray(own), self.n_threads)
        return self.forest._reader.curves(reached, self._spans, np.array(wanted.weights), self.info.layout, *given)

    @property
    def _spans(self) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
        """Places of leaves, the leaf at each place, and the first and the last place below each node of `DEPTHS`."""
        depths = np.array(DEPTHS, dtype=np.int64)
        return self.forest.cache.get(("spans", DEPTHS), lambda: self.forest._reader.leaf_spans(depths, self.n_threads))


def _blocks(n_rows: int) -> Iterator[slice]:
    """Yield the blocks of n rows; one without rows."""
    for first in range(0, max(1, n_rows), BLOCK_ROWS):
        yield slice(first, first + BLOCK_ROWS)
