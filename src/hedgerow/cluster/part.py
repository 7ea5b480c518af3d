"""Part: codes and targets of one partition, on a worker -> what it adds to nodes, leaves and gathered rows."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow import _core
from hedgerow.cluster.target import PartTarget
from hedgerow.forest.forest import Forest
from hedgerow.forest.grow import GrowSettings, grow_forest
from hedgerow.forest.rows import Bags
from hedgerow.forest.training import bags_of
from hedgerow.table.bins import Bins, Codes
from hedgerow.target.base import Labels, Numbers

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Part:
    """Some consecutive rows of the training table.

    Parameters
    ----------
    first_row : int
        Number of its first row in the whole table.
    codes : (p, n) uint8 or uint16
        The codes of its rows.
    target : PartTarget
        The target of its rows.
    """

    first_row: int
    codes: Codes
    target: PartTarget

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.codes.shape[1])


@dataclass(frozen=True)
class Plan:
    """What every task of a fit must know.

    Parameters
    ----------
    bins, settings : Bins, GrowSettings
        The same as in a fit on one machine.
    n_rows : int
        Number of rows of the whole table.
    has_missing : (p,) uint8
        Which features have missing values anywhere in the table.
    target : PartTarget
        The target of a part without rows; it has the classes and units of the whole table.
    """

    bins: Bins
    settings: GrowSettings
    n_rows: int
    has_missing: NDArray[np.uint8]
    target: PartTarget

    @property
    def labels(self) -> Labels | Numbers:
        """The target without rows, in the form in which the core takes it."""
        labels: Labels | Numbers = self.target.core
        return labels

    @property
    def is_weighted(self) -> bool:
        """Whether rows weigh differently."""
        return self.target.is_weighted

    @property
    def is_blind(self) -> bool:
        """Whether splits do not depend on labels."""
        return self.settings.splitter == "random_decision"

    @property
    def n_cells(self) -> int:
        """The number of sums of a bin: those of the target, or only amounts, and rows."""
        return 2 if self.is_blind else self.target.n_sums + 1

    @property
    def cell_type(self) -> type[np.uint32] | type[np.float64]:
        """The type of sums: counts fit into 32 bits; weights and numbers are whole numbers in a double."""
        return self.target.cell_type

    @property
    def bags(self) -> Bags:
        """How bags are drawn, and which rows leaves count."""
        return bags_of(self.settings, self.n_rows)

    @property
    def row_bytes(self) -> int:
        """Bytes of a gathered row: codes, label, multiplicity and weight."""
        return len(self.bins.n_bins) * np.dtype(self.bins.code_type).itemsize + 4 + (8 if self.is_weighted else 0)


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
    """The nodes and features of a tree to sum: the features of node i are ``features[start[i]:start[i + 1]]``."""

    sketch: Sketch
    nodes: NDArray[np.uint32]
    start: NDArray[np.int64]
    features: NDArray[np.uint32]


class GatherRequest(NamedTuple):
    """The nodes of a tree to gather."""

    sketch: Sketch
    nodes: NDArray[np.uint32]


class CountRequest(NamedTuple):
    """The leaves of a tree to count: for each leaf, the ends of the sketch whose rows it counts."""

    sketch: Sketch
    leaves: list[list[int]]


class Arrived(NamedTuple):
    """The rows of a part that reach some nodes: their numbers in the part (r,), and how often the bag holds each (r,).

    The rows of node i are ``rows[start[i]:start[i + 1]]``, in the order of the table.
    """

    rows: NDArray[np.uint32]
    times: NDArray[np.uint32]
    start: NDArray[np.int64]

    @property
    def spans(self) -> list[tuple[int, int]]:
        """Where the rows of each node begin and end."""
        return list(pairwise(self.start.tolist()))


class Block(NamedTuple):
    """The gathered rows of some nodes, node after node, in the order of the table; node i has ``n_rows[i]`` of them."""

    n_rows: NDArray[np.int64]
    codes: Codes
    times: NDArray[np.uint16]
    target: PartTarget


def sum_roots(part: Part, plan: Plan, trees: list[int], balances: list[Floats | None]) -> Floats:
    """-> (T, cells): sums over the rows in the bag of each tree."""
    result = np.zeros((len(trees), plan.n_cells))
    for i, (tree, balance) in enumerate(zip(trees, balances, strict=True)):
        times = plan.bags.times(tree, part.first_row, part.first_row + part.n_rows)
        rows = np.flatnonzero(times)
        groups, amounts, sums = _added(part, plan, rows, times[rows], balance)
        if groups is not None:
            result[i, :-1] = np.bincount(groups[rows], weights=amounts, minlength=plan.n_cells - 1)
        else:
            result[i, :-1] = [each.sum() for each in (amounts, sums) if each is not None]
        result[i, -1] = len(rows)
    return result


def sum_bins(part: Part, plan: Plan, requests: list[SumRequest]) -> NDArray[Any]:
    """-> a flat array: sums over the rows of each node, for each bin of its features; see `histogram.hpp`."""
    sums = [_sum_bins_of_tree(part, plan, request) for request in requests]
    return np.concatenate(sums) if sums else np.empty(0, dtype=plan.cell_type)


def look_at_numbers(part: Part, plan: Plan, requests: list[SumRequest]) -> Floats:
    """-> (nodes, 4): smallest and largest number of each node, amount and sum of its first row; NaN without rows."""
    return np.concatenate([_numbers_of_tree(part, plan, request) for request in requests])


def first_of_numbers(*parts: Floats) -> Floats:
    """Results of `look_at_numbers` for several parts, in the order of the table -> the result for all of them."""
    result = parts[0].copy()
    for part in parts[1:]:
        result[:, 0] = np.fmin(result[:, 0], part[:, 0])
        result[:, 1] = np.fmax(result[:, 1], part[:, 1])
        unknown = np.isnan(result[:, 2])
        result[unknown, 2:] = part[unknown, 2:]
    return result


def gather_rows(part: Part, plan: Plan, request: GatherRequest) -> Block:
    """-> the rows of a part that are in the requested nodes."""
    found = _arrived(part, plan, request.sketch, request.nodes, outside=plan.bags.mean > 0 and plan.bags.count_outside)
    target = part.target.gathered(found.rows, found.times, request.sketch.balance)
    codes = np.take(part.codes, found.rows, axis=1)
    return Block(np.diff(found.start), codes, found.times.astype(np.uint16), target)


def grow_gathered(plan: Plan, inherited: dict[str, Any], *blocks: Block) -> tuple[Forest, NDArray[np.uint8]]:
    """What some nodes inherit, and their rows from all parts -> the trees below them.

    The second result says which of the nodes are leaves because all their numbers are equal.
    """
    order, codes = _by_node([block.n_rows for block in blocks]), _codes_by_node(blocks)
    times = np.concatenate([block.times for block in blocks])[order]
    target = plan.target.joined([block.target for block in blocks], order)
    ends = np.cumsum(np.sum([block.n_rows for block in blocks], axis=0))
    row_start = np.append(0, ends)
    below = {"has_missing": plan.has_missing, "times": times, "row_start": row_start} | inherited
    grown = grow_forest(codes, plan.bins, target.core, plan.settings, n_trees=len(ends), below=below)
    alike = [target.all_equal(times, *span) for span in pairwise(row_start.tolist())]
    return grown, np.array(alike, dtype=np.uint8)


def count_leaves(part: Part, plan: Plan, request: CountRequest) -> NDArray[np.int64]:
    """-> (2, leaves, K): rows of each class in each leaf, and their weight in units."""
    ends = sorted({end for leaf in request.leaves for end in leaf})
    found = _arrived(part, plan, request.sketch, ends, outside=True)
    held = part.target.take(found.rows)
    in_ends = held.count(plan.settings.leaf_counts, found.times, found.spans, request.sketch.balance)
    position = {end: i for i, end in enumerate(ends)}
    return np.stack([in_ends[:, [position[end] for end in leaf]].sum(axis=1) for leaf in request.leaves], axis=1)


def join_parts(*parts: Part) -> Part:
    """Parts in the order of the table -> one part that is the whole table."""
    codes = np.concatenate([part.codes for part in parts], axis=1)
    return Part(parts[0].first_row, codes, parts[0].target.joined([part.target for part in parts]))


def grow_trees(table: Part, plan: Plan, first: int, last: int) -> Forest:
    """The whole table -> trees number `first` to ``last - 1``."""
    return grow_forest(table.codes, plan.bins, table.target.core, plan.settings, first_tree=first, n_trees=last - first)


def _arrived(part: Part, plan: Plan, sketch: Sketch, nodes: Any, *, outside: bool) -> Arrived:
    """The rows that reach these nodes, with `outside` also those that are not in the bag."""
    place = np.full(len(sketch.nodes), -1, dtype=np.int32)
    place[nodes] = np.arange(len(nodes))
    top = (sketch.nodes, sketch.payload, sketch.set_words, place, len(nodes))
    bags = plan.bags
    bag = (bags.seed, sketch.tree, bags.n_rows, bags.mean)
    return Arrived(*_core.arrived(part.codes, *top, *bag, part.first_row, outside))


def _added(
    part: Part, plan: Plan, rows: NDArray[Any], times: NDArray[np.uint32], balance: Floats | None
) -> tuple[NDArray[np.uint16] | None, NDArray[Any], Floats | None]:
    """Groups (n,) of all rows of a part, and what some of the rows (r,) add to the sums of their nodes."""
    amounts, sums = part.target.amounts(rows, times, balance)
    return (None, amounts, None) if plan.is_blind else (part.target.groups, amounts, sums)


def _sum_bins_of_tree(part: Part, plan: Plan, request: SumRequest) -> NDArray[Any]:
    found = _arrived(part, plan, request.sketch, request.nodes, outside=False)
    groups, amounts, sums = _added(part, plan, found.rows, found.times, request.sketch.balance)
    return _core.histograms(
        part.codes,
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


def _numbers_of_tree(part: Part, plan: Plan, request: SumRequest) -> Floats:
    found = _arrived(part, plan, request.sketch, request.nodes, outside=False)
    return part.target.look(found.rows, found.times, found.spans)


def _by_node(n_rows: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Number of rows of each node in each block -> the order that turns block after block into node after node."""
    nodes = [np.repeat(np.arange(len(each)), each) for each in n_rows]
    return np.argsort(np.concatenate(nodes), kind="stable")


def _codes_by_node(blocks: tuple[Block, ...]) -> Codes:
    """The codes of all blocks in that order; they are copied once, one span of columns for each node of each block."""
    n_rows = np.array([block.n_rows for block in blocks])
    codes = np.empty((len(blocks[0].codes), n_rows.sum()), dtype=blocks[0].codes.dtype)
    starts = [0] * len(blocks)
    position = 0
    for node in range(n_rows.shape[1]):
        for i, block in enumerate(blocks):
            size = int(n_rows[i, node])
            codes[:, position : position + size] = block.codes[:, starts[i] : starts[i] + size]
            starts[i] += size
            position += size
    return codes
