"""Piece: rows and targets of some parts, on a worker -> what they add to nodes, leaves and gathered rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow import _core
from hedgerow.cluster.part import Part, Plan, join_parts
from hedgerow.cluster.target import PartTarget
from hedgerow.forest.forest import Forest
from hedgerow.forest.grow import grow_forest
from hedgerow.table.bins import Codes

Floats = NDArray[np.float64]
#: A piece keeps rows of nodes up to this many times the size of its codes.
KEPT_SHARE = 2
#: A piece keeps the rows of the nodes to gather for this many trees, which are those that are being gathered.
KEPT_GATHERINGS = 2


class Sketch(NamedTuple):
    """The top of a tree, as far as it has grown, and the weights of classes in its bag.

    Nodes are numbered in the order in which they were made; the children of a node are neighbours.
    """

    tree: int
    nodes: NDArray[np.uint64]
    payload: NDArray[np.int32]
    set_words: NDArray[np.uint64]
    balance: Floats | None


class SumRequest(NamedTuple):
    """The nodes and features of a tree to sum: the features of node i are ``features[start[i]:start[i + 1]]``.

    `open` has all nodes of the tree that are not split yet. Nodes that are asked for later are among them or below.
    """

    sketch: Sketch
    nodes: NDArray[np.uint32]
    start: NDArray[np.int64]
    features: NDArray[np.uint32]
    open: NDArray[np.uint32]


class Gathering(NamedTuple):
    """The nodes of a tree to gather, in groups, each of which is grown in one task."""

    sketch: Sketch
    groups: list[NDArray[np.uint32]]


class CountRequest(NamedTuple):
    """The leaves of a tree to count: for each leaf, the ends of the sketch whose rows it counts."""

    sketch: Sketch
    leaves: list[list[int]]


class Arrived(NamedTuple):
    """The rows of a piece that reach some nodes: their numbers in it (r,), and how often the bag holds each (r,).

    The rows of node i are ``rows[start[i]:start[i + 1]]``, in the order of the table.
    """

    rows: NDArray[np.uint32]
    times: NDArray[np.uint32]
    start: NDArray[np.int64]

    @property
    def spans(self) -> list[tuple[int, int]]:
        """Where the rows of each node begin and end."""
        return list(pairwise(self.start.tolist()))


class Known(NamedTuple):
    """The rows of all open nodes of a top that had `n_nodes` nodes."""

    n_nodes: int
    nodes: NDArray[np.uint32]
    found: Arrived

    def reaches(self, request: SumRequest) -> bool:
        """Whether all open nodes of a request are among these nodes or below them.

        They are not if these are the nodes of a later request, because the task of the earlier one is run again.
        """
        n_nodes = len(request.sketch.nodes)
        return self.n_nodes < n_nodes or (self.n_nodes == n_nodes and bool(np.isin(request.open, self.nodes).all()))


class Kept:
    """What a worker remembers of a piece from task to task, so that rows need not go down from the root again.

    Results do not depend on it: a piece that was sent, spilled to disk or made again begins with nothing.
    """

    def __init__(self) -> None:
        self.known: dict[int, Known] = {}
        self.gatherings: dict[int, Arrived] = {}

    def __reduce__(self) -> tuple[type[Kept], tuple[()]]:
        return Kept, ()

    def keep(self, tree: int, known: Known, most_bytes: int) -> None:
        """Remember the open nodes of a tree, if there is room."""
        others = sum(each.found.rows.nbytes for number, each in list(self.known.items()) if number != tree)
        if others + known.found.rows.nbytes <= most_bytes:
            self.known[tree] = known
        else:
            self.known.pop(tree, None)

    def keep_gathering(self, tree: int, found: Arrived) -> None:
        """Remember the rows to gather of a tree, whose open nodes are not needed any more."""
        self.known.pop(tree, None)
        for old in list(self.gatherings)[: 1 - KEPT_GATHERINGS]:
            self.gatherings.pop(old, None)
        self.gatherings[tree] = found


@dataclass(frozen=True)
class Piece:
    """Some consecutive rows of the training table, from one or several parts.

    Parameters
    ----------
    first_row : int
        Number of its first row in the whole table.
    rows : (n, ``plan.row_codes``) uint8 or uint16
        The codes of its rows, row after row: most tasks read few features of some rows, or copy whole rows.
    target : PartTarget
        The target of its rows.
    kept : Kept
        What its worker remembers.
    """

    first_row: int
    rows: Codes
    target: PartTarget
    kept: Kept = field(default_factory=Kept, compare=False, repr=False)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.rows)


class Block(NamedTuple):
    """The gathered rows of some nodes, node after node, in the order of the table; node i has ``n_rows[i]`` of them."""

    n_rows: NDArray[np.int64]
    rows: Codes
    times: NDArray[np.uint16]
    target: PartTarget


def piece_of(plan: Plan, *parts: Part) -> Piece:
    """Parts in the order of the table -> one piece, on a worker that has room for it."""
    if plan.keeps:
        _core.keep_memory()
    whole = join_parts(*parts) if len(parts) > 1 else parts[0]
    rows = np.zeros((whole.n_rows, plan.row_codes), dtype=whole.codes.dtype)
    for first in range(0, len(rows), 4096):  # blocks that fit into the cache
        rows[first : first + 4096, : len(whole.codes)] = whole.codes[:, first : first + 4096].T
    return Piece(whole.first_row, rows, whole.target)


def sum_roots(piece: Piece, plan: Plan, trees: list[int], balances: list[Floats | None]) -> Floats:
    """-> (T, cells): sums over the rows in the bag of each tree."""
    result = np.zeros((len(trees), plan.n_cells))
    for i, (tree, balance) in enumerate(zip(trees, balances, strict=True)):
        times = plan.bags.times(tree, piece.first_row, piece.first_row + piece.n_rows)
        rows = np.flatnonzero(times).astype(np.uint32)
        times = times[rows]
        groups, amounts, sums = _added(piece, plan, rows, times, balance)
        if groups is not None:
            result[i, :-1] = np.bincount(groups[rows], weights=amounts, minlength=plan.n_cells - 1)
        else:
            result[i, :-1] = [each.sum() for each in (amounts, sums) if each is not None]
        result[i, -1] = len(rows)
        found = Arrived(rows, times, np.array([0, len(rows)]))
        _keep(piece, plan, tree, Known(1, np.zeros(1, dtype=np.uint32), found))
    return result


def sum_bins(piece: Piece, plan: Plan, requests: list[SumRequest]) -> NDArray[Any]:
    """-> a flat array: sums over the rows of each node, for each bin of its features; see `histogram.hpp`."""
    sums = [_sum_bins_of_tree(piece, plan, request) for request in requests]
    return np.concatenate(sums) if sums else np.empty(0, dtype=plan.cell_type)


def look_at_numbers(piece: Piece, plan: Plan, requests: list[SumRequest]) -> Floats:
    """-> (nodes, 4): smallest and largest number of each node, amount and sum of its first row; NaN without rows."""
    return np.concatenate([_numbers_of_tree(piece, plan, request) for request in requests])


def first_of_numbers(*pieces: Floats) -> Floats:
    """Results of `look_at_numbers` for several pieces, in the order of the table -> the result for all of them."""
    result = pieces[0].copy()
    for piece in pieces[1:]:
        result[:, 0] = np.fmin(result[:, 0], piece[:, 0])
        result[:, 1] = np.fmax(result[:, 1], piece[:, 1])
        unknown = np.isnan(result[:, 2])
        result[unknown, 2:] = piece[unknown, 2:]
    return result


def gather_rows(piece: Piece, plan: Plan, gathering: Gathering, number: int) -> Block:
    """-> the rows of a piece that are in the nodes of a group."""
    sketch = gathering.sketch
    found = piece.kept.gatherings.get(sketch.tree)
    if found is None:  # for all groups at once, because rows go down the top together
        outside = plan.bags.mean > 0 and plan.bags.count_outside
        found = _arrived(piece, plan, sketch, np.concatenate(gathering.groups), outside=outside)
        piece.kept.keep_gathering(sketch.tree, found)
    first = sum(map(len, gathering.groups[:number]))
    start = found.start[first : first + len(gathering.groups[number]) + 1]
    rows, times = (each[start[0] : start[-1]] for each in (found.rows, found.times))
    target = piece.target.gathered(rows, times, sketch.balance)
    return Block(np.diff(start), np.take(piece.rows, rows, axis=0), times.astype(np.uint16), target)


def grow_gathered(plan: Plan, inherited: dict[str, Any], *blocks: Block) -> tuple[Forest, NDArray[np.uint8]]:
    """What some nodes inherit, and their rows from all pieces -> the trees below them.

    The second result says which of the nodes are leaves because all their numbers are equal.
    """
    spans = _spans_by_node(blocks)
    rows = np.concatenate([block.rows[span] for block, span in spans])
    times = np.concatenate([block.times[span] for block, span in spans])
    target = plan.target.joined([block.target.take(span) for block, span in spans])
    row_start = np.append(0, np.cumsum(np.sum([block.n_rows for block in blocks], axis=0)))
    below = {"has_missing": plan.has_missing, "times": times, "row_start": row_start} | inherited
    grown = grow_forest(rows, plan.bins, target.core, plan.settings, n_trees=len(row_start) - 1, below=below)
    alike = [target.all_equal(times, *span) for span in pairwise(row_start.tolist())]
    return grown, np.array(alike, dtype=np.uint8)


def count_leaves(piece: Piece, plan: Plan, request: CountRequest) -> NDArray[np.int64]:
    """-> (2, leaves, K): rows of each class in each leaf, and their weight in units."""
    ends = sorted({end for leaf in request.leaves for end in leaf})
    found = _arrived(piece, plan, request.sketch, ends, outside=True)
    held = piece.target.take(found.rows)
    in_ends = held.count(plan.settings.leaf_counts, found.times, found.spans, request.sketch.balance)
    position = {end: i for i, end in enumerate(ends)}
    return np.stack([in_ends[:, [position[end] for end in leaf]].sum(axis=1) for leaf in request.leaves], axis=1)


def _arrived(
    piece: Piece, plan: Plan, sketch: Sketch, nodes: Any, *, outside: bool, known: Known | None = None
) -> Arrived:
    """The rows that reach these nodes, from the root or from `known` nodes; with `outside` also rows not in the bag."""
    place = np.full(len(sketch.nodes), -1, dtype=np.int32)
    place[nodes] = np.arange(len(nodes))
    top = (sketch.nodes, sketch.payload, sketch.set_words, place, len(nodes))
    bags = plan.bags
    bag = (bags.seed, sketch.tree, bags.n_rows, bags.mean)
    begun = () if known is None else (known.nodes, known.found.start, known.found.rows)
    return Arrived(*_core.arrived(piece.rows, *top, *bag, piece.first_row, outside, *begun))


def _asked(piece: Piece, plan: Plan, request: SumRequest) -> Arrived:
    """The rows in the nodes of a request; those of all open nodes of the tree are kept for the next one."""
    sketch = request.sketch
    known = piece.kept.known.get(sketch.tree)
    if known is not None and not known.reaches(request):
        known = None
    if known is None or not np.array_equal(known.nodes, request.open):
        found = _arrived(piece, plan, sketch, request.open, outside=False, known=known)
        known = Known(len(sketch.nodes), request.open, found)
        _keep(piece, plan, sketch.tree, known)
    if len(request.nodes) == len(request.open):
        return known.found
    return _arrived(piece, plan, sketch, request.nodes, outside=False, known=known)


def _keep(piece: Piece, plan: Plan, tree: int, known: Known) -> None:
    if plan.keeps:
        piece.kept.keep(tree, known, KEPT_SHARE * piece.rows.nbytes)


def _added(
    piece: Piece, plan: Plan, rows: NDArray[Any], times: NDArray[np.uint32], balance: Floats | None
) -> tuple[NDArray[np.uint16] | None, NDArray[Any], Floats | None]:
    """Groups (n,) of all rows of a piece, and what some of the rows (r,) add to the sums of their nodes."""
    amounts, sums = piece.target.amounts(rows, times, balance)
    return (None, amounts, None) if plan.is_blind else (piece.target.groups, amounts, sums)


def _sum_bins_of_tree(piece: Piece, plan: Plan, request: SumRequest) -> NDArray[Any]:
    found = _asked(piece, plan, request)
    groups, amounts, sums = _added(piece, plan, found.rows, found.times, request.sketch.balance)
    return _core.histograms(
        piece.rows,
        plan.bins.n_bins,
        found.rows,
        found.start,
        groups,
        amounts.astype(plan.cell_type, copy=False),
        sums,
        plan.n_cells,
        request.start,
        request.features,
    )


def _numbers_of_tree(piece: Piece, plan: Plan, request: SumRequest) -> Floats:
    found = _asked(piece, plan, request)
    return piece.target.look(found.rows, found.times, found.spans)


def _spans_by_node(blocks: Sequence[Block]) -> list[tuple[Block, slice]]:
    """Blocks, each node after node -> where the rows of each node lie, node after node and block after block."""
    starts = [np.append(0, np.cumsum(block.n_rows)).tolist() for block in blocks]
    of_block = [[slice(*span) for span in pairwise(start)] for start in starts]
    return [
        (block, spans[node]) for node in range(len(of_block[0])) for block, spans in zip(blocks, of_block, strict=True)
    ]
