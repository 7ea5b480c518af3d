"""Growth of a forest on a cluster, bitwise identical to that on one machine."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow import _core
from hedgerow.cluster.limits import ClusterLimits, has_room, in_batches
from hedgerow.cluster.part import PartPlan, grow_trees, join_parts
from hedgerow.cluster.piece import (
    KEPT_SHARE,
    CountRequest,
    Gathering,
    Sketch,
    SumRequest,
    count_leaves,
    first_of_numbers,
    gather_rows,
    grow_gathered,
    look_at_numbers,
    piece_of,
    sum_bins,
    sum_roots,
)
from hedgerow.fit.distributed import FAN_IN, Asking, Engine, Handle, add_arrays
from hedgerow.forest.forest import Forest, join_forests
from hedgerow.forest.grow import bins_in_core, forest_from, options_in_core

#: Number of pieces per thread down to which small parts are joined.
PIECES = 1
#: Workers cache the rows of nodes if their memory is at least this many times the table.
ROOM = 6
#: Minimum number of groups of gathered nodes per thread.
GROUPS = 4
#: Number of batches of trees whose tops are grown at a time.
BATCHES = 2
#: Maximum number of tasks of a wave; workers need a few kilobytes for each.
MOST_TASKS = 4_000
#: Shows progress, given the number of finished trees and a text.
Show = Callable[[int, str], None]


def grow_on_cluster(
    engine: Engine,
    plan: PartPlan,
    parts: list[Handle],
    part_rows: list[int],
    n_trees: int,
    limits: ClusterLimits,
    show: Show,
) -> Forest:
    """Grow a forest from parts, in the order of the table.

    A table of at most ``limits.gather_bytes`` is gathered as a whole, and each task grows some trees. For a larger
    table, the tops of trees are grown where the rows are, until nodes are small enough to be gathered.
    """
    table_bytes = plan.n_rows * plan.row_bytes
    if table_bytes <= limits.gather_bytes:
        return _grow_whole(engine, engine.put("plan", plan), parts, n_trees, show)
    _check_divisible(plan, limits.gather_bytes)
    plan = replace(plan, keeps=has_room(engine.workers(), ROOM * table_bytes))
    plan_there = engine.put("plan", plan)
    part_bytes = [n_rows * plan.row_bytes for n_rows in part_rows]
    pieces = join_small(engine, plan_there, parts, part_bytes, limits.piece_bytes)
    return _Growing(engine, plan, plan_there, pieces, limits, show).grow(n_trees)


def join_small(
    engine: Engine, plan_there: Handle, parts: list[Handle], part_bytes: list[int], piece_bytes: int
) -> list[Handle]:
    """Join small parts to pieces, but keep enough pieces for all threads."""
    enough = sum(part_bytes) // (PIECES * max(1, n_threads_of(engine)))
    size = min(piece_bytes, enough + max(part_bytes) // 2)  # half a part more, because parts differ in size
    batches = in_batches(range(len(parts)), part_bytes.__getitem__, size)
    pieces = [engine.one("piece", piece_of, plan_there, *(parts[i] for i in batch)) for batch in batches]
    engine.forget(parts)
    return pieces


def _grow_whole(engine: Engine, plan_there: Handle, parts: list[Handle], n_trees: int, show: Show) -> Forest:
    """Gather the whole table, and grow some trees per task."""
    table = engine.one("table", join_parts, *parts)
    size = max(1, n_trees // (4 * max(1, n_threads_of(engine))))
    firsts = list(range(0, n_trees, size))
    lasts = [min(first + size, n_trees) for first in firsts]
    same_for_all = [table] * len(firsts), [plan_there] * len(firsts)
    tasks = engine.each("trees", grow_trees, *same_for_all, firsts, lasts)
    label = {task: f"trees from {first}" for task, first in zip(tasks, firsts, strict=True)}
    grown: dict[Any, Forest] = {}
    for task in engine.as_finished(label):  # fetched while others grow
        grown[task] = engine.result(task, label[task])
        show(min(len(grown) * size, n_trees), "growing trees, each in one task")
    return join_forests(*(grown[task] for task in tasks))


@dataclass
class _Tree:
    """A tree in growth, at `place` among some tops.

    `waiting` counts its unfinished groups, `gathering` is the request that its tasks share, `counts` are its leaf
    counts.
    """

    tops: TopGrower
    place: int
    waiting: int = 0
    gathering: Handle | None = None
    counts: Handle | None = None

    @property
    def number(self) -> int:
        return self.tops.trees[self.place]

    @property
    def top(self) -> _core.Top:
        return self.tops.top

    @property
    def sketch(self) -> Sketch:
        return self.tops.sketch(self.place)


class _Request(NamedTuple):
    """Tops in growth, and the tasks that they wait for."""

    tops: TopGrower
    asking: Asking
    waiting: dict[Handle, str]


class _Wave(NamedTuple):
    """Groups of nodes of one tree whose rows are gathered together, by their numbers."""

    tree: _Tree
    groups: dict[int, NDArray[np.uint32]]
    n_bytes: int


class _Flight(NamedTuple):
    """A group of a wave, grown by one task."""

    wave: _Wave
    nodes: NDArray[np.uint32]


class _Growing:
    """A forest in growth: first the tops of trees, then subtrees in bounded waves."""

    def __init__(
        self,
        engine: Engine,
        plan: PartPlan,
        plan_there: Handle,
        pieces: list[Handle],
        limits: ClusterLimits,
        show: Show,
    ) -> None:
        self.engine, self.plan, self.plan_there, self.pieces, self.show = engine, plan, plan_there, pieces, show
        self.limits, self.n_done = limits, 0

    def grow(self, n_trees: int) -> Forest:
        n_threads, tree_bytes = max(1, n_threads_of(self.engine)), self.plan.n_rows * self.plan.row_bytes
        enough = n_trees * tree_bytes // (GROUPS * n_threads)
        n_groups = -(-tree_bytes // max(1, min(self.limits.group_bytes, enough)))
        # A tenth more than equal groups need, because nodes do not fill groups exactly.
        self.group_bytes = max(self.limits.gather_bytes, 11 * tree_bytes // (10 * n_groups))
        self.wave_bytes = 2 * self.group_bytes * n_threads
        if not self.plan.keeps:
            # Every wave reads all pieces from disk, so a wave is a whole tree, even if its rows are spilled in turn.
            self.wave_bytes = max(self.wave_bytes, tree_bytes)
        starting, under_way = deque(self._batches(n_trees)), list[_Request]()
        waves, flying, finished = deque[_Wave](), dict[Handle, _Flight](), dict[int, Forest]()
        while len(finished) < n_trees:
            # While the sums of some tops travel, workers add up those of others, or grow below finished tops.
            while starting and len(under_way) + bool(waves) < BATCHES:
                tops = starting.popleft()
                under_way.append(_Request(tops, tops.grow(self.limits.sum_bytes // BATCHES, self._say), {}))
                self._ask_more(under_way, waves)
            # Two waves run at a time: while the last tasks of one run, the rows of the next are gathered.
            while waves and _bytes_of(flying) <= self.wave_bytes:
                wave = waves.popleft()
                flying |= self._submit(wave)
                if not wave.groups:
                    self._finish_if_complete(wave.tree, finished)
            label = {task: f"the subtrees of tree {flight.wave.tree.number}" for task, flight in flying.items()}
            for asked in under_way:
                label |= asked.waiting
            for task in self.engine.first_finished(label) if label else []:
                if task in flying:
                    self._collect(task, flying.pop(task), label[task], finished)
                for asked in under_way:
                    asked.waiting.pop(task, None)
            self._ask_more(under_way, waves)
        return join_forests(*(finished[number] for number in range(n_trees)))

    def _batches(self, n_trees: int) -> list[TopGrower]:
        """Divide all trees into batches.

        There is one batch if pieces are on disk, because each level of a batch reads them.
        """
        n_batches = 1
        if self.plan.keeps:
            tree_bytes = 4 * (1 - math.exp(-self.plan.bags.mean) if self.plan.bags.mean else 1)
            most = max(8, int(KEPT_SHARE * self.plan.row_bytes / (BATCHES * tree_bytes)))
            n_batches = max(BATCHES if n_trees >= 2 * BATCHES else 1, -(-n_trees // most))
        firsts = [n_trees * i // n_batches for i in range(n_batches + 1)]
        shared = self.engine, self.plan, self.plan_there, self.pieces
        gather_rows = self.limits.gather_bytes // self.plan.row_bytes
        return [TopGrower(*shared, range(*span), gather_rows) for span in pairwise(firsts)]

    def _ask_more(self, under_way: list[_Request], waves: deque[_Wave]) -> None:
        """Request the next level of tops whose sums have arrived.

        Finished tops become waves.
        """
        for asked in list(under_way):
            if asked.waiting:
                continue
            try:
                asked.waiting.update(next(asked.asking))
            except StopIteration:
                under_way.remove(asked)
                trees = [_Tree(asked.tops, place) for place in range(len(asked.tops.trees))]
                waves.extend(wave for tree in trees for wave in self._waves(tree))

    def _say(self, what: str) -> None:
        self.show(self.n_done, what)

    def _waves(self, tree: _Tree) -> list[_Wave]:
        """Divide the groups below a top into waves.

        There is at least one, which may be empty.
        """
        groups = tree.top.groups(tree.place, self.plan.row_bytes, self.group_bytes)
        tree.waiting = len(groups)
        gathering = Gathering(tree.sketch, [nodes for nodes, _ in groups])
        tree.gathering = self.engine.put("request", gathering) if groups else None
        numbers = range(len(groups))
        most = max(1, MOST_TASKS // len(self.pieces))
        by_bytes = in_batches(numbers, lambda number: groups[number][1], self.wave_bytes)
        batches = [batch[first : first + most] for batch in by_bytes for first in range(0, len(batch), most)]
        return [
            _Wave(tree, {i: groups[i][0] for i in batch}, sum(groups[i][1] for i in batch)) for batch in batches or [[]]
        ]

    def _submit(self, wave: _Wave) -> dict[Handle, _Flight]:
        """Submit the tasks that gather and grow the groups of a wave."""
        tree, n_pieces, n_groups = wave.tree, len(self.pieces), len(wave.groups)
        if tree.counts is None:
            tree.counts = self._count(tree)
        if not wave.groups:
            return {}
        inherited = {number: tree.top.heritage(tree.place, nodes) for number, nodes in wave.groups.items()}
        # Piece by piece, because a piece that was spilled to disk is then read once for all groups.
        each_piece = [piece for piece in self.pieces for _ in wave.groups]
        plans, gatherings = ([each] * (n_groups * n_pieces) for each in (self.plan_there, tree.gathering))
        rows = self.engine.each("gather", gather_rows, each_piece, plans, gatherings, list(wave.groups) * n_pieces)
        of_pieces = [rows[piece * n_groups : (piece + 1) * n_groups] for piece in range(n_pieces)]
        tasks = self.engine.each("grow", grow_gathered, plans[:n_groups], list(inherited.values()), *of_pieces)
        return {task: _Flight(wave, nodes) for task, nodes in zip(tasks, wave.groups.values(), strict=True)}

    def _count(self, tree: _Tree) -> Handle | None:
        """Submit the counts of the leaves of a top; None if it has no leaves to count."""
        leaves = tree.top.counted(tree.place)
        if not leaves:
            return None
        request = self.engine.put("request", CountRequest(tree.sketch, leaves))
        tasks = self.engine.ask("count", count_leaves, self.pieces, self.plan_there, request)
        return self.engine.sum("count", tasks, add_arrays)

    def _collect(self, task: Handle, flight: _Flight, label: str, finished: dict[int, Forest]) -> None:
        """Graft the result of a task onto its tree; assemble the tree if complete."""
        tree = flight.wave.tree
        grown, alike = self.engine.result(task, label)
        tree.top.graft(tree.place, flight.nodes, grown.arrays(), alike)
        tree.waiting -= 1
        self._finish_if_complete(tree, finished)

    def _finish_if_complete(self, tree: _Tree, finished: dict[int, Forest]) -> None:
        if tree.waiting or tree.number in finished:
            return
        if tree.counts is not None:
            tree.top.count(tree.place, self.engine.fetch(tree.counts, f"the leaves of tree {tree.number}"))
        finished[tree.number] = forest_from(self.plan.labels, tree.top.tree(tree.place))
        tree.counts = tree.gathering = None
        self.n_done += 1
        self._say("growing subtrees below the tops")


def _bytes_of(flying: dict[Handle, _Flight]) -> int:
    """Return the bytes that the waves of these tasks gather."""
    return sum({id(flight.wave): flight.wave.n_bytes for flight in flying.values()}.values())


def n_threads_of(engine: Engine) -> int:
    """Return the number of threads of all workers."""
    return sum(each.n_threads for each in engine.workers())


def _check_divisible(plan: PartPlan, gather_bytes: int) -> None:
    """Raise ValueError for settings that need the whole table in one place."""
    size = plan.n_rows * plan.row_bytes
    hint = f"Raise gather_bytes above {size:,}, the size of the table, if a worker has several times as much memory."
    if needed := plan.settings.needs_all_rows:
        must, why = needed
        raise ValueError(f"{must} for a table of more than gather_bytes={gather_bytes:,}, {why}. {hint}")


class TopGrower:
    """Level-wise growth of the tops of some trees, from sums over all parts.

    Parameters
    ----------
    engine : Engine
        Runs the tasks.
    plan, plan_there, pieces : PartPlan, handle, list of handles
        The plan, a handle of the same plan on the workers, and handles of the pieces.
    trees : range
        Numbers of the trees.
    gather_rows : int
        Maximum number of rows of a node that is gathered.
    """

    def __init__(
        self, engine: Engine, plan: PartPlan, plan_there: Handle, pieces: list[Handle], trees: range, gather_rows: int
    ) -> None:
        self.engine, self.plan, self.plan_there, self.pieces, self.trees = engine, plan, plan_there, pieces, trees
        target = plan.labels.fields(plan.settings.criterion)
        fields = bins_in_core(plan.bins), target, options_in_core(plan.settings)
        self.top = _core.Top(*fields, plan.n_rows, trees.start, len(trees), gather_rows)

    def grow(self, sum_bytes: int, show: Callable[[str], None]) -> Asking:
        """Grow the tops completely.

        The sums of a batch take at most `sum_bytes`. `show` gets a text per level.
        """
        yield from self._plant()
        shown = 0
        while questions := self.top.questions(sum_bytes):
            level, n_nodes, n_trees = self.top.level()
            if level > shown:
                show(f"level {level - 1}: {n_nodes} nodes of {n_trees} trees")
            shown = level
            requests = [SumRequest(self.sketch(each[0]), *each[1:]) for each in questions]
            # With few pieces, sending requests with the tasks saves a round trip.
            shared = requests if len(self.pieces) <= FAN_IN else self.engine.put("requests", requests)
            sums = yield from self._total("level", sum_bins, shared, add=add_arrays)
            seen = None
            if not self.plan.target.leaves_add_up:
                seen = yield from self._total("numbers", look_at_numbers, shared, add=first_of_numbers)
            self.top.answer(sums.astype(np.float64), seen)

    def sketch(self, place: int) -> Sketch:
        """Return the top at a place so far, through which pieces route their rows."""
        return Sketch(self.trees[place], *self.top.sketch(place), self.top.balance(place))

    def _plant(self) -> Asking:
        """Create the roots.

        Their sums are computed twice if classes are balanced in each bag.
        """
        planted = False
        while not planted:
            balances = [self.top.balance(place) for place in range(len(self.trees))]
            totals = yield from self._total("roots", sum_roots, list(self.trees), balances, add=add_arrays)
            planted = self.top.plant(totals)

    def _total(self, name: str, function: Callable[..., Any], *question: Any, add: Callable[..., Any]) -> Asking:
        """Return the sum of the results of a function over all pieces."""
        return self.engine.total(name, function, self.pieces, self.plan_there, *question, add=add)
