"""Part: one partition's codes and labels, on a worker -> what it adds to nodes, leaves, and gathered rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow import _core
from hedgerow.forest.forest import Forest
from hedgerow.forest.grow import GrowSettings, core_arguments, grow_forest
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
    labels : Labels or Numbers
        Of its rows; units and classes are those of the whole table.
    """

    first_row: int
    codes: Codes
    labels: Labels | Numbers

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
    labels : Labels or Numbers
        Those of a part without rows: classes and units of the whole table.
    """

    bins: Bins
    settings: GrowSettings
    n_rows: int
    has_missing: NDArray[np.uint8]
    labels: Labels | Numbers

    @property
    def is_weighted(self) -> bool:
        """Whether rows weigh differently."""
        labels = self.labels
        return (labels.amounts if isinstance(labels, Numbers) else labels.weights) is not None

    @property
    def is_blind(self) -> bool:
        """Whether splits are found without looking at labels."""
        return self.settings.splitter == "random_decision"

    @property
    def n_cells(self) -> int:
        """Sums of a bin: of each class (or the amount and the sum of numbers), and rows."""
        if self.is_blind:
            return 2
        return 3 if isinstance(self.labels, Numbers) else self.labels.n_classes + 1

    @property
    def cell_type(self) -> type[np.uint32] | type[np.float64]:
        """Counts fit 32 bits; weights and numbers are whole numbers in a double."""
        return np.float64 if self.is_weighted or isinstance(self.labels, Numbers) else np.uint32

    @property
    def counts_outside(self) -> bool:
        """Whether leaves count rows that are not in the bag."""
        return self.settings.leaf_counts in ("all", "oob") and self.settings.bag_mean > 0

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
    nodes: list[int]
    start: NDArray[np.int64]
    features: NDArray[np.uint32]


class GatherRequest(NamedTuple):
    """Which nodes of a tree to gather together."""

    sketch: Sketch
    nodes: list[int]


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
    labels: Labels | Numbers


def sum_roots(part: Part, plan: Plan, trees: list[int], balances: list[Floats | None]) -> Floats:
    """-> (T, cells): what the rows in the bag of each tree add up to."""
    result = np.zeros((len(trees), plan.n_cells))
    for i, (tree, balance) in enumerate(zip(trees, balances, strict=True)):
        times = _times(part, plan, tree)
        inside = times > 0
        amounts, sums = _amounts(part.labels, times, balance)
        result[i, -1] = inside.sum()
        if isinstance(part.labels, Labels) and not plan.is_blind:
            numbers = part.labels.numbers[inside]
            result[i, :-1] = np.bincount(numbers, weights=amounts[inside], minlength=plan.n_cells - 1)
        else:
            result[i, 0] = amounts[inside].sum()
            if sums is not None and not plan.is_blind:
                result[i, 1] = sums[inside].sum()
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
    found = _arrived(part, plan, request.sketch, request.nodes, outside=plan.counts_outside)
    labels = _labels_inside(some_labels(part.labels, found.rows), found.times, request.sketch.balance)
    codes = np.take(part.codes, found.rows, axis=1)
    return Block(np.diff(found.start), codes, found.times.astype(np.uint16), labels)


def grow_gathered(plan: Plan, nodes: list[Any], *blocks: Block) -> tuple[Forest, NDArray[np.bool_]]:
    """Nodes (key, depth, lower, upper, amount, used) and their rows from all parts -> what grows below each.

    The second result says which of them are leaves because all their numbers are equal.
    """
    order, codes = _by_node([block.n_rows for block in blocks]), _codes_by_node(blocks)
    times = np.concatenate([block.times for block in blocks])[order]
    labels = join_labels([block.labels for block in blocks], order)
    ends = np.cumsum(np.sum([block.n_rows for block in blocks], axis=0))
    spans = list(zip(np.append(0, ends[:-1]).tolist(), ends.tolist(), strict=True))
    below = (plan.has_missing, times, [(*span, *node) for span, node in zip(spans, nodes, strict=True)])
    grown = grow_forest(codes, plan.bins, labels, plan.settings, n_trees=len(nodes), below=below)
    return grown, np.array([_all_equal(labels, times, *span) for span in spans])


def count_leaves(part: Part, plan: Plan, request: CountRequest) -> NDArray[np.int64]:
    """-> (2, leaves, K): rows of each class in each leaf, and their weight in units."""
    ends = sorted({end for leaf in request.leaves for end in leaf})
    found = _arrived(part, plan, request.sketch, ends, outside=True)
    labels = some_labels(part.labels, found.rows)
    amounts = _counted(plan.settings.leaf_counts, found.times.astype(np.int64), labels, request.sketch.balance)
    in_ends = np.zeros((2, len(ends), labels.n_classes), dtype=np.int64)
    for end, (first, last) in enumerate(found.spans):
        for row, each in enumerate(amounts):
            # Sums of whole numbers below 2**53, exact in a double.
            sums = np.bincount(labels.numbers[first:last], weights=each[first:last], minlength=labels.n_classes)
            in_ends[row, end] = sums.astype(np.int64)
    position = {end: i for i, end in enumerate(ends)}
    return np.stack([in_ends[:, [position[end] for end in leaf]].sum(axis=1) for leaf in request.leaves], axis=1)


def join_parts(*parts: Part) -> Part:
    """Parts in the order of the table -> the table."""
    codes = np.concatenate([part.codes for part in parts], axis=1)
    return Part(parts[0].first_row, codes, join_labels([part.labels for part in parts], None))


def grow_trees(table: Part, plan: Plan, first: int, last: int) -> Forest:
    """The whole table -> trees number `first` to ``last - 1``."""
    return grow_forest(table.codes, plan.bins, table.labels, plan.settings, first_tree=first, n_trees=last - first)


def join_labels(labels: list[Any], order: NDArray[np.int64] | None) -> Any:
    """Labels of several parts -> one, their rows in this order."""

    def joined(name: str) -> Any:
        parts = [getattr(each, name) for each in labels]
        if parts[0] is None:
            return None
        whole = np.concatenate(parts)
        return whole if order is None else whole[order]

    return replace(labels[0], **{name: joined(name) for name in _per_row(labels[0])})


def some_labels(labels: Any, rows: Any) -> Any:
    """Labels -> those of some rows."""
    chosen = {name: getattr(labels, name) for name in _per_row(labels)}
    return replace(labels, **{name: None if each is None else each[rows] for name, each in chosen.items()})


def chooser_for(plan: Plan) -> _core.Chooser:
    """What chooses splits from sums, as the grower does from rows."""
    bins, labels = plan.bins, plan.labels
    grid = [labels.centre, labels.unit, labels.low, labels.high] if isinstance(labels, Numbers) else None
    options, criterion = core_arguments(labels, plan.settings)
    table = (bins.n_bins, bins.nominal, bins.centers, bins.center_start)
    return _core.Chooser(*table, options, criterion, plan.n_rows, plan.is_weighted, grid)


def _per_row(labels: Any) -> tuple[str, ...]:
    return ("values", "weights", "sums", "amounts") if isinstance(labels, Numbers) else ("numbers", "weights")


def _times(part: Part, plan: Plan, tree: int) -> NDArray[np.uint32]:
    """(n,): how often the tree's bag holds each row."""
    settings = plan.settings
    return _core.bag(settings.seed, tree, plan.n_rows, settings.bag_mean, part.first_row, part.first_row + part.n_rows)


def _arrived(part: Part, plan: Plan, sketch: Sketch, nodes: list[int], *, outside: bool) -> Arrived:
    """The rows that have come to these nodes; those outside the bag where wanted."""
    place = np.full(len(sketch.nodes), -1, dtype=np.int32)
    place[nodes] = np.arange(len(nodes))
    top = (sketch.nodes, sketch.payload, sketch.set_words, place, len(nodes))
    bag = (plan.settings.seed, sketch.tree, plan.n_rows, plan.settings.bag_mean)
    return Arrived(*_core.arrived(part.codes, *top, *bag, part.first_row, outside))


def _amounts(
    labels: Labels | Numbers, times: NDArray[np.uint32], balance: Floats | None
) -> tuple[NDArray[Any], Floats | None]:
    """(r,) what each row weighs in the bag, and its sum in a regression."""
    multiple = np.maximum(times, 1)
    if isinstance(labels, Numbers):
        amounts = multiple.astype(np.float64) if labels.amounts is None else multiple * labels.amounts
        return amounts, multiple * labels.sums
    weights = _weights_inside(labels, multiple, balance)
    return (times if weights is None else weights.astype(np.float64)), None


def _weights_inside(labels: Labels, multiple: NDArray[Any], balance: Floats | None) -> NDArray[np.int64] | None:
    """(n,): weights times multiplicities, balanced where classes are, as the grower computes them."""
    if labels.weights is None:
        return None
    weights: NDArray[np.int64] = labels.weights * multiple.astype(np.int64)
    if balance is None:
        return weights
    scaled = weights.astype(np.float64) * balance[labels.numbers]
    whole = np.floor(scaled)
    return np.maximum(1, (whole + (scaled - whole >= 0.5)).astype(np.int64))  # halves away from zero


def _labels_inside(labels: Any, times: NDArray[np.uint32], balance: Floats | None) -> Any:
    """Labels as a gathered node takes them: weights are those inside the tree."""
    if isinstance(labels, Numbers):
        return labels
    weights = _weights_inside(labels, np.maximum(times, 1), balance)
    return replace(labels, weights=weights, balance_bag=False)


def _sum_bins_of_tree(part: Part, plan: Plan, request: SumRequest) -> NDArray[Any]:
    found = _arrived(part, plan, request.sketch, request.nodes, outside=False)
    amounts, sums = _amounts_of(part, found, request.sketch.balance)
    labels = part.labels.numbers if isinstance(part.labels, Labels) and not plan.is_blind else None
    return _core.histograms(
        part.codes,
        plan.bins.n_bins,
        found.rows,
        found.start,
        labels,
        amounts.astype(plan.cell_type, copy=False),
        None if plan.is_blind else sums,
        plan.n_cells,
        request.start,
        request.features,
    )


def _amounts_of(part: Part, found: Arrived, balance: Floats | None) -> tuple[NDArray[Any], Floats | None]:
    """As `_amounts`, of the rows found."""
    if isinstance(part.labels, Labels) and part.labels.weights is None:
        return found.times, None
    return _amounts(some_labels(part.labels, found.rows), found.times, balance)


def _numbers_of_tree(part: Part, plan: Plan, request: SumRequest) -> Floats:
    found = _arrived(part, plan, request.sketch, request.nodes, outside=False)
    labels = some_labels(part.labels, found.rows)
    amounts, sums = _amounts(labels, found.times, None)
    assert sums is not None
    result = np.full((len(request.nodes), 4), np.nan)
    for node, (first, last) in enumerate(found.spans):
        if first < last:
            values = labels.values[first:last]
            result[node] = values.min(), values.max(), amounts[first], sums[first]
    return result


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


def _all_equal(labels: Any, times: NDArray[np.uint16], first: int, last: int) -> bool:
    """Whether the rows first to last - 1 that are in the bag have one number."""
    if not isinstance(labels, Numbers):
        return False
    values = labels.values[first:last][times[first:last] > 0]
    return bool(len(values) and (values == values[0]).all())


def _counted(
    sense: str, times: NDArray[np.int64], labels: Labels, balance: Floats | None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(n,) how often a leaf counts each row, and what weight it adds."""
    counted = {
        "all": np.ones_like(times),
        "inbag": times,
        "distinct": (times > 0).astype(np.int64),
        "oob": (times == 0).astype(np.int64),
    }[sense]
    multiple = np.maximum(times, 1)
    weights = _weights_inside(labels, multiple, balance)
    if weights is None:
        return counted, np.zeros_like(times)
    return counted, weights if sense == "inbag" else weights // multiple
