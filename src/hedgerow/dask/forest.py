"""Forest: partitions of codes on a cluster -> the forest that one machine would grow from all of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.dask.assemble import Below, assemble_tree, below_from
from hedgerow.dask.part import (
    CountRequest,
    GatherRequest,
    Plan,
    count_leaves,
    gather_rows,
    grow_gathered,
    grow_trees,
    join_parts,
)
from hedgerow.dask.run import Runner, add_arrays, in_batches, pick, same
from hedgerow.dask.top import Top, TopGrower, TopNode, slots_of
from hedgerow.grow import Numbers
from hedgerow.tree import Forest, join_forests

#: Hears of progress: trees done, and what is being done.
Show = Callable[[int, str], None]


def grow_on_cluster(
    run: Runner,
    plan: Plan,
    parts: list[Any],
    n_trees: int,
    *,
    gather_bytes: int,
    sum_bytes: int,
    show: Show,
) -> Forest:
    """Futures of parts, in the order of the table -> the forest.

    A table of at most `gather_bytes` is gathered as a whole, and every tree is a task; of a larger one the tops of
    trees are grown where the rows are, until nodes are small enough to be gathered.
    """
    plan_there = run.submit("plan", same, plan, keep=True)
    if plan.n_rows * plan.row_bytes <= gather_bytes:
        return _grow_whole(run, plan_there, parts, n_trees, show)
    _refuse_what_needs_all_rows(plan, gather_bytes)
    return _Growing(run, plan, plan_there, parts, gather_bytes, sum_bytes, show).grow(n_trees)


def _grow_whole(run: Runner, plan_there: Any, parts: list[Any], n_trees: int, show: Show) -> Forest:
    """The table in one piece, and trees as tasks."""
    table = run.submit("table", join_parts, *parts, keep=True)
    size = max(1, n_trees // (4 * max(1, n_threads_of(run))))
    firsts = range(0, n_trees, size)
    tasks = [run.submit("trees", grow_trees, table, plan_there, i, min(i + size, n_trees)) for i in firsts]
    done = 0
    for _ in run.each({task: f"trees {first} and on" for task, first in zip(tasks, firsts, strict=True)}):
        done += size
        show(min(done, n_trees), "growing trees, each in one task")
    return join_all(run.gather(tasks, lambda i: f"trees {firsts[i]} and on"))


class _Growing:
    """A forest on its way: tops for some trees at a time, then what lies below them, a few trees at once."""

    def __init__(
        self, run: Runner, plan: Plan, plan_there: Any, parts: list[Any], gather_bytes: int, sum_bytes: int, show: Show
    ) -> None:
        self.run, self.plan, self.plan_there, self.parts, self.show = run, plan, plan_there, parts, show
        self.gather_bytes, self.n_done = gather_bytes, 0
        gather_rows = gather_bytes // plan.row_bytes
        say = lambda what: show(self.n_done, what)  # noqa: E731
        self.tops = TopGrower(run, plan, plan_there, parts, gather_rows, sum_bytes, say)

    def grow(self, n_trees: int) -> Forest:
        tops = deque(self.tops.grow(list(range(n_trees))))
        waiting: deque[tuple[Top, dict[Any, list[TopNode]], Any]] = deque()
        trees = []
        at_once = max(2, n_threads_of(self.run))
        while tops or waiting:
            while tops and len(waiting) < at_once:
                waiting.append(self._submit(tops.popleft()))
            trees.append(self._finish(*waiting.popleft()))
            self.n_done += 1
            self.show(self.n_done, "growing what lies below the tops")
        return join_all(trees)

    def _submit(self, top: Top) -> tuple[Top, dict[Any, list[TopNode]], Any]:
        """Tasks that grow what lies below a top, with the nodes of each, and one that counts its own leaves."""
        numbers = isinstance(self.plan.labels, Numbers)
        gathered = [node for node in top.nodes if node.state == "gathered" or (numbers and node.state == "leaf")]
        groups = list(in_batches(gathered, self._bytes_of, self.gather_bytes))
        grown: dict[Any, list[TopNode]] = {}
        if groups:
            starts = np.cumsum([0, *(len(group) for group in groups)]).tolist()
            request = GatherRequest(top.sketch(), slots_of(top, gathered), starts)
            rows = [self.run.submit("gather", gather_rows, part, self.plan_there, request) for part in self.parts]
            for number, group in enumerate(groups):
                blocks = [self.run.submit("block", pick, blocks, number) for blocks in rows]
                nodes = [node.start for node in group]
                grown[self.run.submit("grow", grow_gathered, self.plan_there, nodes, *blocks)] = group
        return top, grown, None if numbers else self._count(top)

    def _count(self, top: Top) -> Any:
        """Partitions -> the future of what the top's own leaves count; None where it has none."""
        leaves = _counted_nodes(top)
        if not leaves:
            return None
        request = CountRequest(top.sketch(), [_ends_below(node) for node in leaves])
        tasks = [self.run.submit("count", count_leaves, part, self.plan_there, request) for part in self.parts]
        return self.run.sum("count", tasks, add_arrays)

    def _finish(self, top: Top, grown: dict[Any, list[TopNode]], counts: Any) -> Forest:
        """Wait for a tree's tasks and put the tree together."""
        below: dict[int, Below] = {}
        about = f"the part below tree {top.tree}"
        for task in self.run.each(dict.fromkeys(grown, about)):
            below |= below_from(grown[task], *task.result())
        counted: dict[int, NDArray[np.int64]] = {}
        if counts is not None:
            total = self.run.gather([counts], lambda _: f"the leaves of tree {top.tree}")[0]
            counted = {node.number: total[:, i] for i, node in enumerate(_counted_nodes(top))}
        return assemble_tree(self.plan, top, below, counted)

    def _bytes_of(self, node: TopNode) -> int:
        return int(node.n_rows * node.top.outside_share * self.plan.row_bytes)


def join_all(forests: list[Forest]) -> Forest:
    """Forests -> one with the trees of all, joined pairwise so that no array is copied more than log n times."""
    while len(forests) > 1:
        forests = [reduce(join_forests, forests[i : i + 2]) for i in range(0, len(forests), 2)]
    return forests[0]


def n_threads_of(run: Runner) -> int:
    """Threads of all workers."""
    return int(sum(run.client.nthreads().values()))


def _counted_nodes(top: Top) -> list[TopNode]:
    """Nodes whose rows are counted: leaves of the top, and splits some of whose categories have no rows."""
    return [
        node for node in top.nodes if node.state == "leaf" or any(child.state == "borrowed" for child in node.children)
    ]


def _ends_below(node: TopNode) -> NDArray[np.int64]:
    """The nodes of the sketch where rows of a node end."""
    found, stack = [], [node]
    while stack:
        at = stack.pop()
        found += [] if at.children else [at.number]
        stack += at.children
    return np.array(found)


def _refuse_what_needs_all_rows(plan: Plan, gather_bytes: int) -> None:
    """Some trees can only be grown where all rows of the table are."""
    size = plan.n_rows * plan.row_bytes
    advice = f"raise gather_bytes above {size:,}, the size of the table, if a worker has several times as much memory"
    if plan.settings.max_leaf_nodes:
        raise ValueError(
            f"max_leaf_nodes must be None for a table of more than gather_bytes={gather_bytes:,}, got"
            f" {plan.settings.max_leaf_nodes}: the best of all nodes is split next; {advice}"
        )
    if plan.settings.criterion == "absolute_error":
        raise ValueError(
            f"criterion must not be 'absolute_error' for a table of more than gather_bytes={gather_bytes:,}: medians"
            f" do not add up over partitions; {advice}"
        )
