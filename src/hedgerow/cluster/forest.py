"""Forest: partitions of codes on a cluster -> the forest that one machine would grow from all of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.cluster.engine import Engine, Handle, add_arrays, same
from hedgerow.cluster.limits import Limits, in_batches
from hedgerow.cluster.part import (
    CountRequest,
    GatherRequest,
    Plan,
    count_leaves,
    gather_rows,
    grow_gathered,
    grow_trees,
    join_parts,
)
from hedgerow.cluster.top import TopGrower, sketch_of
from hedgerow.forest.forest import Forest, join_forests
from hedgerow.forest.grow import forest_from

#: Small parts are joined until there are this many for each thread.
PIECES = 2
#: Shows progress: the number of finished trees, and what is being done.
Show = Callable[[int, str], None]


def grow_on_cluster(
    engine: Engine,
    plan: Plan,
    parts: list[Handle],
    part_rows: list[int],
    n_trees: int,
    limits: Limits,
    show: Show,
) -> Forest:
    """Handles of parts, in the order of the table, and their numbers of rows -> the forest.

    A table of at most ``limits.gather_bytes`` is gathered as a whole, and each task grows some trees. For a larger
    table, the tops of trees are grown where the rows are, until nodes are small enough to be gathered.
    """
    plan_there = engine.put("plan", plan)
    if plan.n_rows * plan.row_bytes <= limits.gather_bytes:
        return _grow_whole(engine, plan_there, parts, n_trees, show)
    _refuse_what_needs_all_rows(plan, limits.gather_bytes)
    pieces = join_small(engine, parts, [n_rows * plan.row_bytes for n_rows in part_rows], limits.piece_bytes)
    return _Growing(engine, plan, plan_there, pieces, limits, show).grow(n_trees)


def join_small(engine: Engine, parts: list[Handle], part_bytes: list[int], piece_bytes: int) -> list[Handle]:
    """Parts, and their bytes -> parts of which small ones are joined, though enough for all threads remain."""
    enough = sum(part_bytes) // (PIECES * max(1, n_threads_of(engine)))
    size = min(piece_bytes, enough + max(part_bytes) // 2)  # half a part more, since parts are not quite alike
    batches = list(in_batches(range(len(parts)), part_bytes.__getitem__, size))
    pieces = [
        parts[batch[0]] if len(batch) == 1 else engine.one("piece", join_parts, *(parts[i] for i in batch))
        for batch in batches
    ]
    engine.forget([parts[i] for batch in batches if len(batch) > 1 for i in batch])
    return pieces


def _grow_whole(engine: Engine, plan_there: Handle, parts: list[Handle], n_trees: int, show: Show) -> Forest:
    """Gather the whole table, and grow trees in tasks."""
    table = engine.one("table", join_parts, *parts)
    size = max(1, n_trees // (4 * max(1, n_threads_of(engine))))
    firsts = list(range(0, n_trees, size))
    lasts = [min(first + size, n_trees) for first in firsts]
    same_for_all = [table] * len(firsts), [plan_there] * len(firsts)
    tasks = engine.each("trees", grow_trees, *same_for_all, firsts, lasts)
    about = {task: f"trees {first} and on" for task, first in zip(tasks, firsts, strict=True)}
    grown: dict[Any, Forest] = {}
    for task in engine.as_finished(about):  # fetched while others grow
        grown[task] = engine.result(task, about[task])
        show(min(len(grown) * size, n_trees), "growing trees, each in one task")
    return join_forests(*(grown[task] for task in tasks))


@dataclass
class _Tree:
    """A tree that is being grown: how many of its groups are not finished, and the handle of its leaf counts."""

    number: int
    waiting: int = 0
    counts: Handle | None = None


class _Wave(NamedTuple):
    """Groups of nodes of one tree whose rows are gathered together."""

    tree: _Tree
    groups: list[NDArray[np.uint32]]
    n_bytes: int


class _Growing:
    """A forest that is being grown: first the tops of all trees, then what is below them, in waves of bounded size."""

    def __init__(
        self, engine: Engine, plan: Plan, plan_there: Handle, parts: list[Handle], limits: Limits, show: Show
    ) -> None:
        self.engine, self.plan, self.plan_there, self.parts, self.show = engine, plan, plan_there, parts, show
        self.limits, self.n_done = limits, 0
        self.wave_bytes = 2 * limits.gather_bytes * max(1, n_threads_of(engine))

    def grow(self, n_trees: int) -> Forest:
        gather_rows = self.limits.gather_bytes // self.plan.row_bytes
        tops = TopGrower(self.engine, self.plan, self.plan_there, self.parts, n_trees, gather_rows)
        self.top = tops.grow(self.limits.sum_bytes, self._say)
        waves = deque(wave for number in range(n_trees) for wave in self._waves(_Tree(number)))
        flying: dict[Handle, tuple[_Wave, NDArray[np.uint32]]] = {}
        finished: dict[int, Forest] = {}
        while waves or flying:
            # Two waves run at a time: while the last tasks of one run, the rows of the next are gathered.
            while waves and sum({id(wave): wave.n_bytes for wave, _ in flying.values()}.values()) <= self.wave_bytes:
                wave = waves.popleft()
                flying |= {task: (wave, nodes) for task, nodes in self._submit(wave).items()}
                if not wave.groups:
                    self._finish_if_complete(wave.tree, finished)
            self._collect_some(flying, finished)
        return join_forests(*(finished[number] for number in range(n_trees)))

    def _say(self, what: str) -> None:
        self.show(self.n_done, what)

    def _waves(self, tree: _Tree) -> list[_Wave]:
        """The groups below a top, in waves; there is at least one wave, which may be empty."""
        groups = self.top.groups(tree.number, self.plan.row_bytes, self.limits.gather_bytes)
        tree.waiting = len(groups)
        batches = list(in_batches(groups, itemgetter(1), self.wave_bytes)) or [[]]
        return [_Wave(tree, [nodes for nodes, _ in batch], sum(size for _, size in batch)) for batch in batches]

    def _submit(self, wave: _Wave) -> dict[Handle, NDArray[np.uint32]]:
        """Tasks that gather and grow the groups of a wave, with the nodes of each."""
        tree, n_parts, n_groups = wave.tree, len(self.parts), len(wave.groups)
        if tree.counts is None:
            tree.counts = self._count(tree.number)
        if not wave.groups:
            return {}
        sketch = sketch_of(self.top, tree.number)
        requests = self.engine.each("request", same, [GatherRequest(sketch, nodes) for nodes in wave.groups])
        # Part by part, so that a part that was spilled to disk is read once for all groups.
        each_part = [part for part in self.parts for _ in wave.groups]
        plans = [self.plan_there] * (n_groups * n_parts)
        rows = self.engine.each("gather", gather_rows, each_part, plans, requests * n_parts)
        inherited = [self.top.heritage(tree.number, nodes) for nodes in wave.groups]
        of_parts = [rows[part * n_groups : (part + 1) * n_groups] for part in range(n_parts)]
        tasks = self.engine.each("grow", grow_gathered, plans[:n_groups], inherited, *of_parts)
        return dict(zip(tasks, wave.groups, strict=True))

    def _count(self, tree: int) -> Handle | None:
        """The handle of the counts of the leaves of a top; None if it has no leaves that can be counted."""
        leaves = self.top.counted(tree)
        if not leaves:
            return None
        request = self.engine.put("request", CountRequest(sketch_of(self.top, tree), leaves))
        tasks = self.engine.ask("count", count_leaves, self.parts, self.plan_there, request)
        return self.engine.sum("count", tasks, add_arrays)

    def _collect_some(
        self, flying: dict[Handle, tuple[_Wave, NDArray[np.uint32]]], finished: dict[int, Forest]
    ) -> None:
        """Wait for one or more tasks, and assemble the trees that are complete."""
        if not flying:
            return
        about = {task: f"the part below tree {wave.tree.number}" for task, (wave, _) in flying.items()}
        for task in self.engine.some(about):
            wave, nodes = flying.pop(task)
            grown, alike = self.engine.result(task, about[task])
            self.top.graft(wave.tree.number, nodes, grown.arrays(), alike)
            wave.tree.waiting -= 1
            self._finish_if_complete(wave.tree, finished)

    def _finish_if_complete(self, tree: _Tree, finished: dict[int, Forest]) -> None:
        if tree.waiting or tree.number in finished:
            return
        if tree.counts is not None:
            self.top.count(tree.number, self.engine.fetch(tree.counts, f"the leaves of tree {tree.number}"))
        finished[tree.number] = forest_from(self.plan.labels, self.top.tree(tree.number))
        tree.counts = None
        self.n_done += 1
        self._say("growing the parts below the tops")


def n_threads_of(engine: Engine) -> int:
    """Threads of all workers."""
    return sum(each.n_threads for each in engine.workers())


def _refuse_what_needs_all_rows(plan: Plan, gather_bytes: int) -> None:
    """Refuse settings with which trees can only be grown if all rows are in one place, unless the table fits."""
    size = plan.n_rows * plan.row_bytes
    advice = f"raise gather_bytes above {size:,}, the size of the table, if a worker has several times as much memory"
    if needed := plan.settings.needs_all_rows:
        must, why = needed
        raise ValueError(f"{must} for a table of more than gather_bytes={gather_bytes:,}, {why}; {advice}")
