"""Tops of trees, whose splits the core chooses from sums over all parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hedgerow import _core
from hedgerow.cluster.part import PartPlan
from hedgerow.cluster.piece import Sketch, SumRequest, first_of_numbers, look_at_numbers, sum_bins, sum_roots
from hedgerow.fit.engine import FAN_IN, Asking, Engine, Handle, add_arrays
from hedgerow.forest.grow import bins_in_core, options_in_core


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
