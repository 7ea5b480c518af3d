"""Part: one partition's codes and targets, on a worker -> what it adds to nodes, leaves, and gathered rows."""

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
        Codes.
    target : PartTarget
        Of its rows.
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
        As in a fit on one machine.
    n_rows : int
        Rows of the whole table.
    has_missing : (p,) uint8
        Features that lack a value somewhere.
    target : PartTarget
        That of a part without rows: classes and units of the whole table.
    """

    bins: Bins
    settings: GrowSettings
    n_rows: int
    has_missing: NDArray[np.uint8]
    target: PartTarget

    @property
    def labels(self) -> Labels | Numbers:
        """The target as the core takes it, without rows."""
        labels: Labels | Numbers = self.target.core
        return labels

    @property
    def is_weighted(self) -> bool:
        """Whether rows weigh differently."""
        return self.target.is_weighted

    @property
    def is_blind(self) -> bool:
        """Whether splits are found without looking at labels."""
        return self.settings.splitter == "random_decision"

    @property
    def n_cells(self) -> int:
        """Sums of a bin: those of the target, or amounts alone, and rows."""
        return 2 if self.is_blind else self.target.n_sums + 1

    @property
    def cell_type(self) -> type[np.uint32] | type[np.float64]:
        """Counts fit 32 bits; weights and numbers are whole numbers in a double."""
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
    """The top of a tree, as far as it has grown, and what classes weigh in its bag.

    Nodes are numbered as they were made, children side by side.
    """

    tree: int
    nodes: NDArray[np.uint64]
    payload: NDArray[np.int32]
    set_words: NDArray[np.uint64]
    balance: Floats | None


class SumRequest(NamedTuple):
    """Which features of which nodes of a tree to sum up: those of node i are ``features[start[i]:start[i + 1]]``."""

    sketch: Sketch
    nodes: NDArray[np.uint32]
    start: NDArray[np.int64]
    features: NDArray[np.uint32]


class GatherRequest(NamedTuple):
    """Which nodes of a tree to gather together."""

    sketch: Sketch
    nodes: NDArray[np.uint32]


class CountRequest(NamedTuple):
    """Which leaves of a tree to count: for each the nodes, all ends of the sketch, whose rows it counts."""

    sketch: Sketch
    leaves: list[list[int]]


class Arrived(NamedTuple):
    """Rows of a part that have come to some nodes, (r,) numbers in the part and times in the bag.

    Those of node i are ``rows[start[i]:start[i + 1]]``, in the order of the table.
    """

    rows: NDArray[np.uint32]
    times: NDArray[np.uint32]
    start: NDArray[np.int64]

    @property
    def spans(self) -> list[tuple[int, int]]:
        """Where the rows of each node begin and end."""
        return list(pairwise(self.start.tolist()))


class Block(NamedTuple):
    """Rows of some nodes: `n_rows` (m,) of each node, node after node, in the order of the table."""

    n_rows: NDArray[np.int64]
    codes: Codes
    times: NDArray[np.uint16]
    target: PartTarget


def sum_roots(part: Part, plan: Plan, trees: list[int], balances: list[Floats | None]) -> Floats:
    """-> (T, cells): what the rows in the bag of each tree add up to."""
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
    """-> flat: what the rows of each node add up to in the bins of each feature it asks for; see `histogram.hpp`."""
    sums = [_sum_bins_of_tree(part, plan, request) for request in requests]
    return np.concatenate(sums) if sums else np.empty(0, dtype=plan.cell_type)


def look_at_numbers(part: Part, plan: Plan, requests: list[SumRequest]) -> Floats:
    """-> (nodes, 4): lowest and highest number of each node, amount and sum of its first row; NaN where it has none."""
    return np.concatenate([_numbers_of_tree(part, plan, request) for request in requests])


def first_of_numbers(*parts: Floats) -> Floats:
    """What several parts have found, in the order of the table -> what they have found together."""
    result = parts[0].copy()
    for part in parts[1:]:
        result[:, 0] = np.fmin(result[:, 0], part[:, 0])
        result[:, 1] = np.fmax(result[:, 1], part[:, 1])
        unknown = np.isnan(result[:, 2])
        result[unknown, 2:] = part[unknown, 2:]
    return result


def gather_rows(part: Part, plan: Plan, request: GatherRequest) -> Block:
    """-> the rows that are in the nodes."""
    found = _arrived(part, plan, request.sketch, request.nodes, outside=plan.bags.mean > 0 and plan.bags.count_outside)
    target = part.target.gathered(found.rows, found.times, request.sketch.balance)
    codes = np.take(part.codes, found.rows, axis=1)
    return Block(np.diff(found.start), codes, found.times.astype(np.uint16), target)


def grow_gathered(plan: Plan, inherited: dict[str, Any], *blocks: Block) -> tuple[Forest, NDArray[np.uint8]]:
    """What some nodes inherit, and their rows from all parts -> what grows below each.

    The second result says which of them are leaves because all their numbers are equal.
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
    """Parts in the order of the table -> the table."""
    codes = np.concatenate([part.codes for part in parts], axis=1)
    return Part(parts[0].first_row, codes, parts[0].target.joined([part.target for part in parts]))


def grow_trees(table: Part, plan: Plan, first: int, last: int) -> Forest:
    """The whole table -> trees number `first` to ``last - 1``."""
    return grow_forest(table.codes, plan.bins, table.target.core, plan.settings, first_tree=first, n_trees=last - first)


def _arrived(part: Part, plan: Plan, sketch: Sketch, nodes: Any, *, outside: bool) -> Arrived:
    """The rows that have come to these nodes; those outside the bag where wanted."""
    place = np.full(len(sketch.nodes), -1, dtype=np.int32)
    place[nodes] = np.arange(len(nodes))
    top = (sketch.nodes, sketch.payload, sketch.set_words, place, len(nodes))
    bags = plan.bags
    bag = (bags.seed, sketch.tree, bags.n_rows, bags.mean)
    return Arrived(*_core.arrived(part.codes, *top, *bag, part.first_row, outside))


def _added(
    part: Part, plan: Plan, rows: NDArray[Any], times: NDArray[np.uint32], balance: Floats | None
) -> tuple[NDArray[np.uint16] | None, NDArray[Any], Floats | None]:
    """Groups (n,) of all rows of a part, and what some of them (r,) add to the sums of their nodes."""
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
    """Rows of each node in each block, blocks one after another -> the order that puts nodes one after another."""
    nodes = [np.repeat(np.arange(len(each)), each) for each in n_rows]
    return np.argsort(np.concatenate(nodes), kind="stable")


def _codes_by_node(blocks: tuple[Block, ...]) -> Codes:
    """The codes of all blocks in that order, copied once: a span of columns for each node of each block."""
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
