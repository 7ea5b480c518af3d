"""Pieces: rows of some parts on a worker, and their sums by node and leaf."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow import _core
from hedgerow.cluster.limits import use_memory
from hedgerow.cluster.part import Part, PartPlan, join_parts
from hedgerow.fit.distributed import PartitionTarget
from hedgerow.forest.forest import Forest
from hedgerow.forest.grow import grow_forest
from hedgerow.forest.nodes import Nodes
from hedgerow.table.bins import Codes
from hedgerow.table.schema import Array

Floats = NDArray[np.float64]
#: Maximum size of the cached rows of nodes, as a multiple of the codes of a piece.
KEPT_SHARE = 2
#: Number of trees for which a piece caches the rows to gather.
KEPT_GATHERINGS = 2


class Sketch(NamedTuple):
    """The top of a tree so far, and the class weights in its bag.

    Nodes are numbered in the order of their creation; the children of a node are consecutive.
    """

    tree: int
    nodes: NDArray[np.uint64]
    payload: NDArray[np.int32]
    set_words: NDArray[np.uint64]
    balance: Floats | None

    @property
    def top(self) -> tuple[NDArray[np.uint64], NDArray[np.int32], NDArray[np.uint64]]:
        """The top as the core takes it."""
        return self.nodes, self.payload, self.set_words


class SumRequest(NamedTuple):
    """The nodes and features of a tree to sum.

    The features of node i are ``features[start[i]:start[i + 1]]``.
    """

    sketch: Sketch
    nodes: NDArray[np.uint32]
    start: NDArray[np.int64]
    features: NDArray[np.uint32]


class Gathering(NamedTuple):
    """The nodes of a tree to gather, in groups that are grown in one task each."""

    sketch: Sketch
    groups: list[NDArray[np.uint32]]


class CountRequest(NamedTuple):
    """The leaves of a tree to count, each as a list of ends of the sketch."""

    sketch: Sketch
    leaves: list[list[int]]


class Arrived(NamedTuple):
    """Rows (r,) of a piece that reach some nodes, and multiplicities (r,).

    The rows of node i are ``rows[start[i]:start[i + 1]]``, in the order of the table, or first those in the bag and
    then the others, both in the order of the table.
    """

    rows: NDArray[np.uint32]
    times: NDArray[np.uint32]
    start: NDArray[np.int64]

    @property
    def spans(self) -> list[tuple[int, int]]:
        """First row and last row + 1 of each node."""
        return list(pairwise(self.start.tolist()))


class KeptRows:
    """Cache of the rows of nodes of a piece, which saves routing from the root.

    Results do not depend on it: a piece that was sent, spilled to disk or computed again has an empty cache.
    """

    def __init__(self) -> None:
        self.known: dict[int, _core.RowsInNodes] = {}
        self.gatherings: dict[int, Arrived] = {}

    def __reduce__(self) -> tuple[type[KeptRows], tuple[()]]:
        return KeptRows, ()

    def take(self, sketch: Sketch) -> _core.RowsInNodes | None:
        """Remove and return the rows of a tree in the nodes of an earlier sketch.

        Return None if there are none. They are useless if a task of an earlier level is run again, whose sketch has
        fewer nodes.
        """
        known = self.known.pop(sketch.tree, None)
        return known if known is None or known.n_nodes <= len(sketch.nodes) else None

    def keep(self, tree: int, known: _core.RowsInNodes, most_bytes: int) -> None:
        """Cache the rows of a tree, if there is memory."""
        if sum(each.nbytes for each in list(self.known.values())) + known.nbytes <= most_bytes:
            self.known[tree] = known

    def keep_gathering(self, tree: int, found: Arrived) -> None:
        """Cache the rows to gather of a tree."""
        for old in list(self.gatherings)[: 1 - KEPT_GATHERINGS]:
            self.gatherings.pop(old, None)
        self.gatherings[tree] = found


@dataclass(frozen=True)
class Piece:
    """Consecutive rows of the training table, from one or several parts.

    Parameters
    ----------
    first_row : int
        Number of the first row in the whole table.
    rows : (n, ``plan.row_codes``) uint8 or uint16
        Codes in row-major order, because most tasks read few features of some rows, or copy whole rows.
    target : PartitionTarget
        Target of the rows.
    units : (n,) uint32 or None
        Group of each row in the whole table; None without groups.
    kept : KeptRows
        Cache on the worker.
    """

    first_row: int
    rows: Codes
    target: PartitionTarget
    units: NDArray[np.uint32] | None = None
    kept: KeptRows = field(default_factory=KeptRows, compare=False, repr=False)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.rows)

    @property
    def first_drawn(self) -> int:
        """Number of the first row in bags: with groups, rows are numbered within the piece."""
        return self.first_row if self.units is None else 0


class Block(NamedTuple):
    """Gathered rows of some nodes, node after node, in the order of the table.

    Node i has ``n_rows[i]`` rows.
    """

    n_rows: NDArray[np.int64]
    rows: Codes
    times: NDArray[np.uint16]
    target: PartitionTarget


def piece_of(plan: PartPlan, *parts: Part) -> Piece:
    """Join parts, in the order of the table, to one piece."""
    use_memory(plan.keeps)
    whole = join_parts(*parts) if len(parts) > 1 else parts[0]
    rows = np.zeros((whole.n_rows, plan.row_codes), dtype=whole.codes.dtype)
    for first in range(0, len(rows), 4096):  # blocks that fit into the CPU cache
        rows[first : first + 4096, : len(whole.codes)] = whole.codes[:, first : first + 4096].T
    return Piece(whole.first_row, rows, whole.target, whole.units)


def sum_roots(piece: Piece, plan: PartPlan, trees: list[int], balances: list[Floats | None]) -> Floats:
    """Sum over the rows in the bag of each tree, (T, cells)."""
    root, none = Nodes.one_leaf(), np.zeros(1, dtype=np.uint32)
    totals = []
    for tree, balance in zip(trees, balances, strict=True):
        sketch = Sketch(tree, root.bits, root.payload, root.set_words, balance)
        # Every row is in one bin of the first feature; the rows in the bag stay in the root.
        sums = _sum_bins_of_tree(piece, plan, SumRequest(sketch, none, np.array([0, 1]), none))
        totals.append(sums.reshape(-1, plan.n_cells).sum(axis=0, dtype=np.float64))
    return np.array(totals)


def sum_bins(piece: Piece, plan: PartPlan, requests: list[SumRequest]) -> NDArray[np.generic]:
    """Sum over the rows of each node by bin of its features, as a flat array.

    See `histogram.hpp`.
    """
    use_memory(plan.keeps)
    sums = [_sum_bins_of_tree(piece, plan, request) for request in requests]
    return np.concatenate(sums) if sums else np.empty(0, dtype=plan.cell_type)


def look_at_numbers(piece: Piece, plan: PartPlan, requests: list[SumRequest]) -> Floats:
    """Return the range of targets of each node, and its first row, (nodes, 4).

    Columns are smallest and largest target, and amount and sum of the first row; NaN for a node without rows.
    """
    return np.concatenate([_numbers_of_tree(piece, plan, request) for request in requests])


def first_of_numbers(*pieces: Floats) -> Floats:
    """Combine results of `look_at_numbers` of pieces in the order of the table."""
    result = pieces[0].copy()
    for piece in pieces[1:]:
        result[:, 0] = np.fmin(result[:, 0], piece[:, 0])
        result[:, 1] = np.fmax(result[:, 1], piece[:, 1])
        unknown = np.isnan(result[:, 2])
        result[unknown, 2:] = piece[unknown, 2:]
    return result


def gather_rows(piece: Piece, plan: PartPlan, gathering: Gathering, number: int) -> Block:
    """Return the rows of a piece that are in the nodes of a group."""
    use_memory(plan.keeps)
    sketch = gathering.sketch
    found = piece.kept.gatherings.get(sketch.tree)
    if found is None:  # for all groups at once, because rows are routed through the top together
        found = _to_gather(piece, plan, sketch, np.concatenate(gathering.groups))
        piece.kept.keep_gathering(sketch.tree, found)
    first = sum(map(len, gathering.groups[:number]))
    start = found.start[first : first + len(gathering.groups[number]) + 1]
    rows, times = (each[start[0] : start[-1]] for each in (found.rows, found.times))
    target = piece.target.gathered(rows, times, sketch.balance)
    return Block(np.diff(start), np.take(piece.rows, rows, axis=0), times.astype(np.uint16), target)


def grow_gathered(plan: PartPlan, inherited: dict[str, Any], *blocks: Block) -> tuple[Forest, NDArray[np.uint8]]:
    """Grow the subtrees of some nodes from their rows in all pieces.

    The second result marks nodes that are leaves because all their targets are equal.
    """
    use_memory(plan.keeps)
    spans = _spans_by_node(blocks)
    rows = np.concatenate([block.rows[span] for block, span in spans])
    times = np.concatenate([block.times[span] for block, span in spans])
    target = plan.target.joined([block.target.take(span) for block, span in spans])
    row_start = np.append(0, np.cumsum(np.sum([block.n_rows for block in blocks], axis=0)))
    below = {"has_missing": plan.has_missing, "times": times, "row_start": row_start} | inherited
    grown = grow_forest(rows, plan.bins, target.core, plan.settings, n_trees=len(row_start) - 1, below=below)
    alike = [target.all_equal(times, *span) for span in pairwise(row_start.tolist())]
    return grown, np.array(alike, dtype=np.uint8)


def count_leaves(piece: Piece, plan: PartPlan, request: CountRequest) -> NDArray[np.int64]:
    """Count rows and weights, in units, by leaf and class, (2, leaves, K)."""
    ends = sorted({end for leaf in request.leaves for end in leaf})
    found = _arrived(piece, plan, request.sketch, np.array(ends, dtype=np.uint32), inside=True, outside=True)
    target = piece.target.take(found.rows)
    in_ends = target.count(plan.settings.leaf_counts, found.times, found.spans, request.sketch.balance)
    position = {end: i for i, end in enumerate(ends)}
    return np.stack([in_ends[:, [position[end] for end in leaf]].sum(axis=1) for leaf in request.leaves], axis=1)


def _to_gather(piece: Piece, plan: PartPlan, sketch: Sketch, nodes: NDArray[np.uint32]) -> Arrived:
    """Return the rows of these nodes to gather; those in the bag may be cached."""
    outside = plan.bags.mean > 0 and plan.bags.counts_oob
    known = piece.kept.take(sketch)
    if known is None:
        return _arrived(piece, plan, sketch, nodes, inside=True, outside=outside)
    in_bag = Arrived(*known.rows(piece.rows, *sketch.top, nodes, keeps=False))
    return (
        _side_by_side(in_bag, _arrived(piece, plan, sketch, nodes, inside=False, outside=True)) if outside else in_bag
    )


def _side_by_side(one: Arrived, other: Arrived) -> Arrived:
    """Concatenate rows of the same nodes, node after node."""
    pairs = [(slice(*mine), slice(*its)) for mine, its in zip(one.spans, other.spans, strict=True)]
    rows = np.concatenate([part for mine, its in pairs for part in (one.rows[mine], other.rows[its])])
    times = np.concatenate([part for mine, its in pairs for part in (one.times[mine], other.times[its])])
    return Arrived(rows, times, one.start + other.start)


def _arrived(
    piece: Piece, plan: PartPlan, sketch: Sketch, nodes: NDArray[np.uint32], *, inside: bool, outside: bool
) -> Arrived:
    """Route rows inside or outside the bag, or both, from the root to these nodes."""
    where = (piece.rows, *sketch.top, nodes, *plan.bag(sketch.tree), piece.first_drawn)
    return Arrived(*_core.arrived(*where, inside, outside, piece.units))


@contextmanager
def _in_bag(piece: Piece, plan: PartPlan, sketch: Sketch) -> Iterator[_core.RowsInNodes]:
    """Provide the rows in the bag of a tree; cache their nodes for the next level."""
    known = piece.kept.take(sketch)
    if known is None:
        known = _core.RowsInNodes(*plan.bag(sketch.tree), piece.first_drawn, piece.n_rows, piece.units)
    yield known
    if plan.keeps:
        piece.kept.keep(sketch.tree, known, KEPT_SHARE * piece.rows.nbytes)


def _added(
    piece: Piece, plan: PartPlan, rows: Array, times: NDArray[np.uint32], balance: Floats | None
) -> tuple[NDArray[np.uint16] | None, NDArray[np.generic], Floats | None]:
    """Return the groups (n,) of a piece, and the addends of some rows (r,)."""
    amounts, sums = piece.target.amounts(rows, times, balance)
    return (None, amounts, None) if plan.is_blind else (piece.target.groups, amounts, sums)


def _sum_bins_of_tree(piece: Piece, plan: PartPlan, request: SumRequest) -> NDArray[np.generic]:
    n_bins, asked = plan.bins.n_bins, (request.start, request.features)
    with _in_bag(piece, plan, request.sketch) as known:
        where = (piece.rows, *request.sketch.top, request.nodes, plan.keeps)
        if plan.cell_type is np.uint32:  # rows add how often the bag holds them
            groups = None if plan.is_blind else piece.target.groups
            return known.sums(*where, n_bins, groups, plan.n_cells, *asked)
        found = Arrived(*known.rows(*where))
    groups, amounts, sums = _added(piece, plan, found.rows, found.times, request.sketch.balance)
    of_rows = (found.rows, found.start, groups, amounts.astype(plan.cell_type, copy=False), sums)
    return _core.histograms(piece.rows, n_bins, *of_rows, plan.n_cells, *asked)


def _numbers_of_tree(piece: Piece, plan: PartPlan, request: SumRequest) -> Floats:
    with _in_bag(piece, plan, request.sketch) as known:
        found = Arrived(*known.rows(piece.rows, *request.sketch.top, request.nodes, plan.keeps))
    return piece.target.look(found.rows, found.times, found.spans)


def _spans_by_node(blocks: Sequence[Block]) -> list[tuple[Block, slice]]:
    """Return block and span of the rows of each node, node after node."""
    starts = [np.append(0, np.cumsum(block.n_rows)).tolist() for block in blocks]
    of_block = [[slice(*span) for span in pairwise(start)] for start in starts]
    return [
        (block, spans[node]) for node in range(len(of_block[0])) for block, spans in zip(blocks, of_block, strict=True)
    ]
