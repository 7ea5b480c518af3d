"""Change: an undecided sample -> the smallest change of its features after which one class remains.

The core searches: see ``src/core/read/change.hpp``.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from hedgerow.explain.question import Array
from hedgerow.explain.space import Space, costs_of

#: The cost of a move to or from infinity.
MOST_COST = 1e6


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
    """

    codes: dict[int, int]
    label: int | None
    cost: float | None
    bound: float
    optimal: bool
    seconds: float

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
        The class that is to remain; by default any class.

    Returns
    -------
    Change
    """
    began = time.perf_counter()
    costs = costs_of(space, codes, values, MOST_COST)
    first, last = _allowed(space, codes, limits)
    found, label, cost, bound, finished = space.now.forest.smallest_change(
        np.ascontiguousarray(codes[:, None]),
        time_limit,
        costs=np.concatenate([np.zeros(0), *costs]),
        cost_start=np.concatenate([[0], np.cumsum([len(each) for each in costs], dtype=np.int64)]),
        first=first,
        last=last,
        wanted=-1 if wanted is None else wanted,
        **space.arrays(),
    )
    seconds = time.perf_counter() - began
    if label < 0:
        return Change({}, None, None, bound, finished, seconds)
    moved = np.flatnonzero(found != codes[space.features])
    changed = {int(space.features[place]): int(found[place]) for place in moved}
    return Change(changed, label, cost, cost if finished else bound, finished, seconds)


def _allowed(space: Space, codes: Array, limits: Limits) -> tuple[Array, Array]:
    """One sample (p,) -> the first and the last code that each feature may have (F,)."""
    first, last = np.zeros(len(space.features), dtype=np.int32), space.n_bins - 1
    for place, feature in enumerate(space.features.tolist()):
        if feature in limits.immutable | limits.increasing:
            first[place] = codes[feature]
        if feature in limits.immutable | limits.decreasing:
            last[place] = codes[feature]
    return first, last
