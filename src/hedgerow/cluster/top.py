"""Top: what nodes add up to over all partitions -> the splits of the tops of trees, level by level."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow import _core
from hedgerow.cluster.engine import Engine, Handle, add_arrays
from hedgerow.cluster.limits import in_batches
from hedgerow.cluster.part import (
    Plan,
    Sketch,
    SumRequest,
    chooser_for,
    first_of_numbers,
    look_at_numbers,
    sum_bins,
    sum_roots,
)
from hedgerow.target.base import Numbers

Floats = NDArray[np.float64]

#: A node of at most this many rows is gathered whatever the limits: so few rows are split by other means.
FEW_ROWS = 64
THRESHOLD, SUBSET, MULTIWAY = 0, 1, 2


class Split(NamedTuple):
    """How a node sends its rows on, as `Forest.nodes` keeps it."""

    kind: int
    feature: int
    code: int
    missing_left: bool
    words: NDArray[np.uint64]

    def sides(self, n_bins: int) -> NDArray[np.int64]:
        """(bins + 1,): the child each bin goes to, missing values last."""
        codes = np.arange(n_bins)
        if self.kind == MULTIWAY:
            return np.arange(n_bins + 1)
        if self.kind == THRESHOLD:
            left = codes <= self.code
        else:
            left = ((self.words[codes // 64] >> (codes % 64).astype(np.uint64)) & np.uint64(1)).astype(bool)
        return np.append(~left, not self.missing_left).astype(np.int64)


@dataclass(eq=False)
class TopNode:
    """A node of the top of a tree.

    Parameters
    ----------
    top, number : Top, int
        Its tree, and which node of the sketch it is.
    key, depth, lower, upper, used
        What it inherits, as in the core's `Start`.
    totals : (cells,) float64
        What its rows add up to; how many there are comes last.
    """

    top: Top
    number: int
    key: int
    depth: int
    totals: Floats
    lower: float = 0.0
    upper: float = 1.0
    used: tuple[int, ...] = ()
    #: "open" until it is "split", a "leaf", "gathered" to be grown in one place, or "borrowed" (a leaf without rows).
    state: str = "open"
    #: Whether it was a leaf from the moment it was made, rather than for want of a split.
    early: bool = False
    split: Split | None = None
    children: list[TopNode] = field(default_factory=list)
    bins: dict[int, Floats] = field(default_factory=dict)
    first: list[float] = field(default_factory=lambda: [1.0, 0.0])
    needed: list[int] = field(default_factory=list)
    asked: int = 0

    @property
    def n_rows(self) -> int:
        """Rows in the bag."""
        return int(self.totals[-1])

    @property
    def start(self) -> tuple[Any, ...]:
        """What a gathered node is grown with."""
        return self.key, self.depth, self.lower, self.upper, self.top.amount, list(self.used)


@dataclass(eq=False)
class Top:
    """The top of a tree: nodes in the order they were made, children side by side."""

    tree: int
    amount: int
    balance: Floats | None
    outside_share: float  # rows to be gathered for each row in the bag
    nodes: list[TopNode] = field(default_factory=list)

    def sketch(self) -> Sketch:
        """As the workers route rows through it."""
        bits, payload, words = [], [], []
        n_words = 0
        for node in self.nodes:
            payload.append(n_words)
            if node.split is None:
                bits.append(leaf_bits(node.number))
            else:
                bits.append(split_bits(node.split, node.children[0].number))
                words.append(node.split.words)
                n_words += len(node.split.words)
        set_words = np.concatenate(words) if words else np.empty(0, dtype=np.uint64)
        return Sketch(
            self.tree, np.array(bits, dtype=np.uint64), np.array(payload, dtype=np.int32), set_words, self.balance
        )


class TopGrower:
    """Grows the tops of trees: every level one question to all partitions, in batches of bounded size.

    Parameters
    ----------
    engine : Engine
        Runs the tasks.
    plan, plan_there, parts : Plan, handle, list of handles
        What is grown, the same on the workers, and the partitions.
    gather_rows, sum_bytes : int
        Nodes of at most so many rows are gathered; sums of a batch take at most so many bytes.
    show : callable
        Hears of progress: what is done, in words.
    """

    def __init__(
        self,
        engine: Engine,
        plan: Plan,
        plan_there: Handle,
        parts: list[Handle],
        gather_rows: int,
        sum_bytes: int,
        show: Callable[[str], None],
    ) -> None:
        self.engine, self.plan, self.plan_there, self.parts = engine, plan, plan_there, parts
        self.gather_rows, self.sum_bytes, self.show = gather_rows, sum_bytes, show
        self.chooser = chooser_for(plan)

    def grow(self, trees: list[int]) -> list[Top]:
        """Trees by number -> their tops, no node open."""
        tops = self._plant(trees)
        level = [top.nodes[0] for top in tops if top.nodes[0].state == "open"]
        number = 0
        while level:
            self.show(f"level {number}: {len(level)} nodes of {len({id(node.top) for node in level})} trees")
            level = self._grow_level(level)
            number += 1
        return tops

    # ---- roots --------------------------------------------------------------------------------------------

    def _plant(self, trees: list[int]) -> list[Top]:
        """Tops of one node each."""
        balances: list[Floats | None] = [None] * len(trees)
        totals = self._sum_roots(trees, balances)
        if getattr(self.plan.labels, "balance_bag", False):
            balances = [_balance(row[:-1]) for row in totals]
            totals = self._sum_roots(trees, balances)
        tops = []
        for tree, balance, row in zip(trees, balances, totals, strict=True):
            amount = row[0] if isinstance(self.plan.labels, Numbers) else row[:-1].sum()
            share = self.plan.n_rows / row[-1] if self.plan.counts_outside else 1.0
            top = Top(tree, int(amount), balance, share)
            top.nodes.append(TopNode(top, 0, _core.root_key(self.plan.settings.seed, tree), 0, row))
            self._settle(top.nodes[0])
            tops.append(top)
        return tops

    def _sum_roots(self, trees: list[int], balances: list[Floats | None]) -> Floats:
        return np.asarray(self._total("roots", sum_roots, trees, balances, add=add_arrays))

    # ---- levels -------------------------------------------------------------------------------------------

    def _grow_level(self, level: list[TopNode]) -> list[TopNode]:
        """Open nodes -> the open nodes below them, and those that must see further features."""
        for node in level:
            if not node.needed:
                self._look(node)
        below: list[TopNode] = []
        still_open = [node for node in level if node.state == "open"]
        for batch in in_batches(still_open, self._bytes_of, self.sum_bytes):
            self._sum_batch(batch)
            for node in batch:
                below += self._look(node)
        return below

    def _look(self, node: TopNode) -> list[TopNode]:
        """Ask for a node's split -> the nodes that are open because of the answer, perhaps itself."""
        if node.state != "open":
            return []
        used, totals = list(node.used), node.totals.tolist()
        spare = 0 if node.asked < 2 else len(node.bins)
        bounds = (node.lower, node.upper)
        answer = self.chooser.choose(node.key, node.top.amount, *bounds, used, totals, node.first, node.bins, spare)
        node.needed = answer if isinstance(answer, list) else []
        if node.needed:
            return [node]
        if answer is None:
            node.state = "leaf"
        else:
            self._divide(node, Split(*answer))
        node.bins = {}
        return [child for child in node.children if child.state == "open"]

    def _bytes_of(self, node: TopNode) -> int:
        bins = sum(int(self.plan.bins.n_bins[feature]) + 1 for feature in node.needed)
        return bins * self.plan.n_cells * 8

    def _sum_batch(self, batch: list[TopNode]) -> None:
        """Let all partitions sum up what the nodes need."""
        requests = [_request(top, list(nodes)) for top, nodes in groupby(batch, key=lambda node: node.top)]
        there = self.engine.put("requests", requests)
        total = self._total("level", sum_bins, there, add=add_arrays)
        if isinstance(self.plan.labels, Numbers):
            self._note_numbers(batch, self._total("numbers", look_at_numbers, there, add=first_of_numbers))
        position = 0
        for node in batch:
            for feature in node.needed:
                n_cells = (int(self.plan.bins.n_bins[feature]) + 1) * self.plan.n_cells
                node.bins[feature] = total[position : position + n_cells].astype(np.float64)
                position += n_cells
            node.asked += 1

    def _note_numbers(self, batch: list[TopNode], found: Floats) -> None:
        for node, (low, high, *first) in zip(batch, found.tolist(), strict=True):
            node.first = first
            if low == high:
                node.state, node.early = "leaf", True

    def _total(self, name: str, function: Callable[..., Any], *question: Any, add: Callable[..., Any]) -> Any:
        """What all partitions answer to a question, added up."""
        return self.engine.total(name, function, self.parts, self.plan_there, *question, add=add)

    # ---- nodes --------------------------------------------------------------------------------------------

    def _divide(self, node: TopNode, split: Split) -> None:
        """Give a node its children."""
        node.state, node.split = "split", split
        cells = node.bins[split.feature].reshape(-1, self.plan.n_cells)
        side = split.sides(len(cells) - 1)
        n_children = len(cells) if split.kind == MULTIWAY else 2
        used = (*node.used, split.feature) if split.kind == MULTIWAY else node.used
        for which in range(n_children):
            key = _core.child_key(node.key, which + (2 if split.kind == MULTIWAY else 0))
            totals = cells[side == which].sum(axis=0)
            number = len(node.top.nodes)
            child = TopNode(node.top, number, key, node.depth + 1, totals, node.lower, node.upper, used)
            node.children.append(child)
            node.top.nodes.append(child)
        self._bound(node, split)
        for child in node.children:
            self._settle(child)

    def _bound(self, node: TopNode, split: Split) -> None:
        """Below a monotonic split, both sides stay on their side of the mean of the two shares."""
        sign = self.plan.settings.monotonic[split.feature] if self.plan.settings.monotonic else 0
        if sign == 0:
            return
        left, right = node.children
        middle = (self._share(left) + self._share(right)) / 2
        low, high = (left, right) if sign > 0 else (right, left)
        low.upper = high.lower = middle

    def _share(self, node: TopNode) -> float:
        """The share of the last class, or where the mean lies between the lowest and the highest number."""
        labels, totals = self.plan.labels, node.totals
        if isinstance(labels, Numbers):
            return float((totals[1] / totals[0] - labels.low) / (labels.high - labels.low))
        return float(totals[labels.n_classes - 1] / totals[:-1].sum())

    def _settle(self, node: TopNode) -> None:
        """A new node: a leaf at once where nothing could split it, gathered where it is small, otherwise open."""
        settings, n_rows = self.plan.settings, node.n_rows
        if n_rows == 0:
            node.state = "borrowed"
            return
        classes = not self.plan.is_blind and not isinstance(self.plan.labels, Numbers)
        pure = classes and np.count_nonzero(node.totals[:-1]) == 1
        small = n_rows < max(2, settings.min_samples_split, 2 * settings.min_samples_leaf)
        if small or pure or node.depth >= settings.max_depth:
            node.state, node.early = "leaf", True
        elif n_rows * node.top.outside_share <= self.gather_rows or n_rows <= FEW_ROWS:
            node.state = "gathered"


def leaf_bits(number: int, *, borrowed: bool = False) -> int:
    """The word of a leaf in `Forest.nodes`."""
    return 0xFFFF | int(borrowed) << 35 | number << 36


def split_bits(split: Split, child: int) -> int:
    """The word of a split in `Forest.nodes`."""
    return split.code | split.feature << 16 | split.kind << 33 | int(split.missing_left) << 35 | child << 36


def _request(top: Top, nodes: list[TopNode]) -> SumRequest:
    start = np.cumsum([0, *(len(node.needed) for node in nodes)])
    features = np.array([feature for node in nodes for feature in node.needed], dtype=np.uint32)
    return SumRequest(top.sketch(), [node.number for node in nodes], start, features)


def _balance(amounts: Floats) -> Floats:
    """(K,) weight of each class in a bag -> factors that make them weigh the same."""
    present = amounts > 0
    return np.where(present, amounts.sum() / (len(amounts) * np.where(present, amounts, 1.0)), 1.0)
