"""Change: an undecided sample -> the smallest change of its features after which one class remains.

The search is branch and bound over boxes of codes, cheapest first. A box costs as much as the cheapest of its points.
If the bounds of probabilities are sums over trees, or a map of such sums, a box is dropped as soon as no choice of one
leaf in each tree, among those that meet the box, lets a class dominate. The first point from the queue at which one
class remains is the smallest change that exists.
"""

from __future__ import annotations

import heapq
import time
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from hedgerow.explain.question import Array, Bools, Floats, only_class
from hedgerow.explain.space import Ints, Space

#: The cost of a move to or from infinity.
MOST_COST = 1e6
#: The first answer changes at most this many features, one after the other.
GREEDY_STEPS = 6


@dataclass(frozen=True)
class Limits:
    """Which changes are allowed.

    Parameters
    ----------
    immutable, increasing, decreasing : frozenset of int
        Features that may not change, may only increase, or may only decrease.
    """

    immutable: frozenset[int] = frozenset()
    increasing: frozenset[int] = frozenset()
    decreasing: frozenset[int] = frozenset()


class Change(NamedTuple):
    """The smallest change found.

    Attributes
    ----------
    codes : dict of int to int
        Feature -> its new code; empty if no change was found.
    label : int or None
        The class that remains after the change.
    cost, bound : float or None, float
        The cost of the change, and a lower bound of the cost of any change. A cost is a sum over features: the move as
        a share of the training range, or 1 for another category.
    optimal : bool
        Whether the search is complete: then cost and bound are equal, or no such change exists.
    seconds : float
        Time spent.
    reason : str or None
        Why there was no search.
    """

    codes: dict[int, int]
    label: int | None
    cost: float | None
    bound: float
    optimal: bool
    seconds: float
    reason: str | None = None

    @property
    def gap(self) -> float | None:
        """The share of the cost by which another change could be cheaper; None if no change was found."""
        if self.cost is None:
            return None
        return 0.0 if self.optimal or self.cost == 0 else max(0.0, (self.cost - self.bound) / self.cost)


def smallest_change(
    space: Space, codes: Array, values: list[Any], limits: Limits, *, time_limit: float, wanted: int | None = None
) -> Change:
    """The cheapest change of one sample after which one class remains.

    New values are values of training bins. Every leaf reached must have training rows, unless the sample itself reaches
    it. Missing values stay missing.

    Parameters
    ----------
    space : Space
    codes : (p,)
        The sample.
    values : list of p numbers
        The values of the sample, as floats; those of nominal and missing features are not used.
    limits : Limits
    time_limit : float
        After this many seconds the best change so far is returned, with its bound.
    wanted : int, optional
        The class that shall remain; by default any class.

    Returns
    -------
    Change
    """
    return _Search(space, codes, values, limits, wanted).run(time_limit)


@dataclass(order=True)
class _Box:
    """A box of codes in the queue."""

    cost: float
    number: int
    low: Ints = field(compare=False)  # (F,)
    high: Ints = field(compare=False)
    masks: dict[int, Bools] = field(compare=False)
    alive: Ints = field(compare=False)  # the leaves that meet it, in the order of trees


class _Search:
    """The search for one sample."""

    def __init__(self, space: Space, codes: Array, values: list[Any], limits: Limits, wanted: int | None) -> None:
        self.space, self.now, self.wanted = space, space.now, wanted
        self.missing = space.now.meaning.missing_code
        self.start = codes.astype(np.int64)[space.features]
        self.codes = codes
        self.tables = [self._costs(place, values) for place in range(len(space.features))]
        self.limits = limits
        self.own = space.reached(codes[:, None])[0]
        self.best: tuple[float, Ints, int] | None = None

    def run(self, time_limit: float) -> Change:
        """Search until the first box is a point at which one class remains, the queue is empty, or time is over."""
        began = time.perf_counter()
        root = self._root()
        self._try_single_changes(root)
        queue, made, bound = [root], 1, root.cost
        while queue:
            box = heapq.heappop(queue)
            bound = box.cost
            if self.best is not None and bound >= self.best[0]:
                queue = []
                break
            if time.perf_counter() - began > time_limit:
                heapq.heappush(queue, box)
                break
            for child in self._explore(box):
                child.number = made = made + 1
                heapq.heappush(queue, child)
        return self._answer(bound, finished=not queue, seconds=time.perf_counter() - began)

    # ---- boxes ------------------------------------------------------------------------------

    def _root(self) -> _Box:
        """The box of all changes that are allowed."""
        space, missing = self.space, self.missing
        low, high, masks = np.zeros_like(self.start), np.zeros_like(self.start), {}
        kept = space.plausible.copy()
        kept[self.own] = True
        for place, feature in enumerate(space.features.tolist()):
            at, last = int(self.start[place]), int(self.now.fitted.bins.n_bins[feature]) - 1
            fixed = feature in self.limits.immutable or at == missing
            if at == missing:
                kept &= space.by_missing[:, place]
                low[place], high[place] = 0, last
            elif place in space.allowed:
                mask = np.zeros(last + 1, dtype=bool)
                mask[at if fixed else slice(None)] = True
                masks[place] = mask
            else:
                low[place] = at if fixed or feature in self.limits.increasing else 0
                high[place] = at if fixed or feature in self.limits.decreasing else last
        box = _Box(0.0, 0, low, high, masks, np.flatnonzero(kept))
        for place in range(len(space.features)):
            box.alive = self._meeting(box, box.alive, place)
        return box

    def _meeting(self, box: _Box, alive: Ints, place: int) -> Ints:
        """Leaves (A,) -> those that meet the box in a feature."""
        if self.start[place] == self.missing:
            return alive
        if place in box.masks:
            return np.asarray(alive[self.space.allowed[place][alive][:, box.masks[place]].any(axis=1)])
        low, high = self.space.low[alive, place], self.space.high[alive, place]
        return np.asarray(alive[(low <= box.high[place]) & (high >= box.low[place])])

    def _cheapest(self, box: _Box) -> Ints:
        """-> (F,): the point of a box nearest to the sample."""
        point = np.where(self.start == self.missing, self.start, np.clip(self.start, box.low, box.high))
        for place, mask in box.masks.items():
            point[place] = self.start[place] if mask[self.start[place]] else int(mask.argmax())
        return point

    def _cost(self, point: Ints) -> float:
        return float(sum(table[code] for table, code in zip(self.tables, point.tolist(), strict=True) if len(table)))

    def _costs(self, place: int, values: list[Any]) -> Floats:
        """-> (codes,): the cost of giving a feature each of its codes; 0 if the feature is missing."""
        feature, at = int(self.space.features[place]), int(self.start[place])
        if at == self.missing:
            return np.zeros(0)
        if self.now.fitted.bins.nominal[feature]:
            costs = np.ones(int(self.now.fitted.bins.n_bins[feature]))
        else:
            centers, unit = self.space.costs[place]
            with np.errstate(invalid="ignore", over="ignore"):
                costs = np.abs(centers - self._inside(centers, values[feature])) * unit
            costs = np.minimum(np.where(np.isnan(costs), 0.0, costs), MOST_COST)
        costs[at] = 0.0
        return costs

    @staticmethod
    def _inside(centers: Floats, value: float) -> float:
        """An infinite value -> the outermost typical value, so that differences are finite."""
        return float(value) if np.isfinite(value) else float(centers[0] if value < 0 else centers[-1])

    # ---- one step ---------------------------------------------------------------------------

    def _explore(self, box: _Box) -> list[_Box]:
        """A box -> nothing if it can be dropped or is done, otherwise the two boxes into which it is cut."""
        space, n_trees = self.space, self.now.forest.n_trees
        alive = box.alive if self.best is None else box.alive[self._leaf_costs(box) < self.best[0]]
        starts = np.searchsorted(space.tree[alive], np.arange(n_trees))
        sizes = np.diff(np.append(starts, len(alive)))
        if (sizes == 0).any():
            return []
        point = self._cheapest(box)
        holds = self._holding(alive, point)
        where = np.full(n_trees, -1)
        where[space.tree[alive[holds]]] = np.flatnonzero(holds)
        there = bool((where >= 0).all())
        if there and self._accept(point, alive[where]):
            return []
        if (sizes == 1).all():
            return []
        leaf = self._leaf_to_separate(alive, starts, sizes, where, there)
        return [] if leaf is None else self._cut(box, alive, point, leaf)

    def _leaf_to_separate(self, alive: Ints, starts: Ints, sizes: Ints, where: Ints, there: bool) -> int | None:
        """The most promising leaf that does not hold the point; None if no class can remain alone."""
        if self.space.margins is None:
            tree = int(np.flatnonzero((sizes > 1) | (where < 0))[0])
            inside = np.arange(starts[tree], starts[tree] + sizes[tree])
            return int(alive[inside[inside != where[tree]][0]])
        reach = self.space.margins.most(alive, starts)
        np.fill_diagonal(reach, np.inf)
        hope = reach.min(axis=1)
        if self.wanted is not None:
            hope[np.arange(len(hope)) != self.wanted] = -np.inf
        if hope.max() <= 0:
            return None
        label = int(hope.argmax())
        margins = self.space.margins.added[alive]
        most = np.maximum.reduceat(margins, starts, axis=0)
        at_point = np.where((where >= 0)[:, None, None], margins[where], -1e3)
        rival_margins = at_point[:, label].sum(axis=0)
        rival_margins[label] = np.inf
        rival = int(rival_margins.argmin())
        gain = most[:, label, rival] - at_point[:, label, rival]
        tree = int(gain.argmax())
        own = slice(starts[tree], starts[tree] + sizes[tree])
        leaf = int(alive[own][margins[own, label, rival].argmax()])
        if there and leaf == alive[where[tree]]:  # a tie up to rounding: no other leaf is better
            return self._another_leaf(alive, starts, sizes, where)
        return leaf

    def _another_leaf(self, alive: Ints, starts: Ints, sizes: Ints, where: Ints) -> int:
        """Any leaf that does not hold the point."""
        tree = int(np.flatnonzero(sizes > 1)[0])
        inside = np.arange(starts[tree], starts[tree] + sizes[tree])
        return int(alive[inside[inside != where[tree]][0]])

    def _cut(self, box: _Box, alive: Ints, point: Ints, leaf: int) -> list[_Box]:
        """Cut a box at the end of a leaf without its cheapest point, in the feature where that costs most."""
        best: tuple[float, int] | None = None
        for place in range(len(point)):
            extra = self._extra(point, place, leaf)
            if extra is not None and (best is None or extra > best[0]):
                best = extra, place
        assert best is not None, "two leaves of one tree must differ in a feature"
        place = best[1]
        children = []
        for side in self._sides(box, point, place, leaf):
            side.alive = self._meeting(side, alive, place)
            side.cost = self._cost(self._cheapest(side))
            if self.best is None or side.cost < self.best[0]:
                children.append(side)
        return children

    def _extra(self, point: Ints, place: int, leaf: int) -> float | None:
        """The cost of moving the point into the box of a leaf in one feature; None if it is inside."""
        at = int(point[place])
        if at == self.missing:
            return None
        if place in self.space.allowed:
            return None if self.space.allowed[place][leaf, at] else 1.0
        low, high = int(self.space.low[leaf, place]), int(self.space.high[leaf, place])
        if low <= at <= high:
            return None
        return float(self.tables[place][min(max(at, low), high)])

    def _sides(self, box: _Box, point: Ints, place: int, leaf: int) -> list[_Box]:
        """The part of a box on the side of the leaf, and the part with the point."""
        if place in self.space.allowed:
            inside, mask = self.space.allowed[place][leaf], box.masks[place]
            sides = [mask & inside, mask & ~inside]
            return [_Box(0.0, 0, box.low, box.high, box.masks | {place: side}, box.alive) for side in sides]
        first, last = int(self.space.low[leaf, place]), int(self.space.high[leaf, place])
        above = int(point[place]) < first
        edge = first if above else last + 1  # codes from here on are in the upper part
        lower_high, upper_low = box.high.copy(), box.low.copy()
        lower_high[place], upper_low[place] = edge - 1, edge
        return [
            _Box(0.0, 0, box.low, lower_high, box.masks, box.alive),
            _Box(0.0, 0, upper_low, box.high, box.masks, box.alive),
        ]

    def _holding(self, alive: Ints, point: Ints) -> Bools:
        """Leaves (A,) -> whether they hold the point."""
        space = self.space
        there = [p for p in range(len(point)) if point[p] != self.missing and p not in space.allowed]
        numeric = np.array(there, dtype=np.int64)
        at = point[numeric]
        cells = np.ix_(alive, numeric)
        holds = ((space.low[cells] <= at) & (space.high[cells] >= at)).all(axis=1)
        for place, mask in space.allowed.items():
            if point[place] != self.missing:
                holds &= mask[alive, point[place]]
        return np.asarray(holds)

    def _leaf_costs(self, box: _Box) -> Floats:
        """-> (A,): for each leaf, the smallest cost of a point that is in the box and in the leaf."""
        space, alive = self.space, box.alive
        costs = np.zeros(len(alive))
        for place, table in enumerate(self.tables):
            if not len(table):
                continue
            if place in box.masks:
                mask = box.masks[place]
                at = int(self.start[place])
                costs += np.where(space.allowed[place][alive, at] & mask[at], 0.0, 1.0)
                continue
            low = np.maximum(space.low[alive, place], box.low[place])
            high = np.minimum(space.high[alive, place], box.high[place])
            costs += table[np.clip(self.start[place], low, np.maximum(low, high))]
        return costs

    # ---- points -----------------------------------------------------------------------------

    def _accept(self, point: Ints, leaves: Ints) -> bool:
        """Whether one class remains at the point, in these leaves (T,); if so, and if it is the best, it is stored."""
        if self.space.margins is not None:
            margins = self.space.margins.at(leaves[None])[0]
            np.fill_diagonal(margins, np.inf)
            if margins.min(axis=1).max() <= 0:
                return False
        label = int(only_class(self.now, self.now.forest.evidence_at(self.space.leaf[leaves][None]))[0])
        if label < 0 or (self.wanted is not None and label != self.wanted):
            return False
        self._remember(point, label)
        return True

    def _remember(self, point: Ints, label: int) -> None:
        cost = self._cost(point)
        if self.best is None or cost < self.best[0]:
            self.best = cost, point.copy(), label

    def _try_single_changes(self, root: _Box) -> None:
        """Find a first answer: the best change of one feature; if none is enough, make the best and repeat."""
        if self.space.margins is None:
            return
        point = self._cheapest(root)
        for _ in range(GREEDY_STEPS):
            points = self._neighbours(root, point)
            if not len(points):
                return
            leaves, fine = self._leaves_of(points)
            points, leaves = points[fine], leaves[fine]
            if not len(points):
                return
            margins = self.space.margins.at(leaves)
            margins[:, np.arange(margins.shape[1]), np.arange(margins.shape[1])] = np.inf
            hope = margins.min(axis=2)
            hope = hope.max(axis=1) if self.wanted is None else hope[:, self.wanted]
            costs = np.array([self._cost(each) for each in points])
            for at in np.argsort(costs, kind="stable").tolist():
                if hope[at] > 0 and self._accept(points[at], leaves[at]):
                    return
            point = points[int(hope.argmax())]

    def _neighbours(self, root: _Box, point: Ints) -> Ints:
        """-> (m, F): the point with one feature changed to each code at which some leaf begins or ends."""
        found = []
        for place in range(len(point)):
            if not len(self.tables[place]):
                continue
            if place in root.masks:
                codes = np.flatnonzero(root.masks[place])
            else:
                edges = np.concatenate([self.space.low[root.alive, place], self.space.high[root.alive, place]])
                codes = np.unique(np.clip(edges, root.low[place], root.high[place]))
            codes = codes[codes != point[place]]
            moved = np.repeat(point[None], len(codes), axis=0)
            moved[:, place] = codes
            found.append(moved)
        return np.concatenate(found) if found else np.empty((0, len(point)), dtype=np.int64)

    def _leaves_of(self, points: Ints) -> tuple[Ints, Bools]:
        """Points (m, F) -> leaves (m, T), and whether all of them are plausible (m,)."""
        codes = np.repeat(self.codes[:, None], len(points), axis=1)
        codes[self.space.features] = points.T
        leaves = self.space.reached(codes)
        return leaves, (self.space.plausible[leaves] | (leaves == self.own)).all(axis=1)

    def _answer(self, bound: float, *, finished: bool, seconds: float) -> Change:
        if self.best is None:
            return Change({}, None, None, bound, finished, seconds)
        cost, point, label = self.best
        moved = np.flatnonzero(point != self.start)
        codes = {int(self.space.features[place]): int(point[place]) for place in moved}
        return Change(codes, label, cost, cost if finished else bound, finished, seconds)
