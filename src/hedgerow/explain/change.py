"""Counterfactuals: smallest changes of features after which one class remains.

The search is in the core: see ``src/core/read/change.hpp``.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from hedgerow.explain.question import Array, counts_of, only_class, views_of
from hedgerow.explain.space import Space, costs_of
from hedgerow.table.bins import part_of

#: The cost of a move to or from infinity.
MOST_COST = 1e6
#: Number of dates tried at a time, the cheapest first.
DATES_AT_ONCE = 64


@dataclass(frozen=True)
class Limits:
    """Constraints of a counterfactual.

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
        New bin index by feature; empty if no change was found.
    label : int or None
        The class that remains after the change.
    cost, bound : float or None, float
        The cost of the change, and a lower bound on the cost of any change. A cost is a sum over features: the
        difference as a fraction of the training range, or 1 for another category.
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
        """Largest possible saving of another change, as a fraction of the cost.

        None if no change was found.
        """
        if self.cost is None:
            return None
        return 0.0 if self.optimal or self.cost == 0 else max(0.0, (self.cost - self.bound) / self.cost)


def smallest_change(
    space: Space, codes: Array, values: list[float], limits: Limits, *, time_limit: float, wanted: int | None = None
) -> Change:
    """Search for the cheapest change of one sample after which one class remains.

    New values are values of training bins. Every leaf reached must have training rows, unless the sample itself reaches
    it. Missing values stay missing. The month and weekday of a date stay consistent with it: either no date changes, or
    a single date changes together with its month and weekday, and no other feature does. The result is then the
    cheapest of these changes, and `optimal` only if no inconsistent change is cheaper.

    Parameters
    ----------
    space : Space
    codes : (p,)
        The sample.
    values : list of p numbers
        The values of the sample, as floats; those of categorical and missing features are not used.
    limits : Limits
    time_limit : float
        Seconds after which the search stops and returns the best change so far, with its bound.
    wanted : int, optional
        Target class; by default any class.

    Returns
    -------
    Change
    """
    found = _any_change(space, codes, values, limits, time_limit, wanted)
    if not any(found.codes.keys() & {date, *parts} for date, parts in space.dates.items()):
        return found
    kept = frozenset(feature for date, parts in space.dates.items() for feature in (date, *parts))
    frozen, left = replace(limits, immutable=limits.immutable | kept), max(0.0, time_limit - found.seconds)
    tried = [
        _any_change(space, codes, values, frozen, left, wanted),
        *(_date_alone(space, date, codes, values, limits, wanted) for date in space.dates),
    ]
    seconds = found.seconds + sum(each.seconds for each in tried)
    best = min(tried, key=lambda each: np.inf if each.cost is None else each.cost)
    if best.cost is None:
        return Change({}, None, None, found.bound, False, seconds)
    optimal = found.optimal and found.cost is not None and best.cost <= found.cost
    return best._replace(bound=min(found.bound, best.cost), optimal=optimal, seconds=seconds)


def _any_change(
    space: Space, codes: Array, values: list[float], limits: Limits, time_limit: float, wanted: int | None
) -> Change:
    """Search for the cheapest change of bin indices, treating all features as independent."""
    began = time.perf_counter()
    costs = costs_of(space, codes, values, MOST_COST)
    first, last = _allowed(space, codes, limits)
    found, label, cost, bound, finished = space.predictor.forest.smallest_change(
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


def _date_alone(
    space: Space, date: int, codes: Array, values: list[float], limits: Limits, wanted: int | None
) -> Change:
    """Search for the cheapest date of a training bin that leaves one class, with its month and weekday."""
    began, predictor, parts = time.perf_counter(), space.predictor, space.dates[date]
    places = {int(feature): place for place, feature in enumerate(space.features.tolist())}
    days, unit_costs = space.costs[places[date]][0], costs_of(space, codes, values, MOST_COST)
    moved = np.repeat(codes[:, None], len(days), axis=1)
    moved[date] = np.arange(len(days))
    for feature, part in parts.items():
        moved[feature] = np.searchsorted(predictor.fitted.bins.cuts_of(feature), part_of(days, part))
    first, last = _allowed(space, codes, limits)
    costs, free = np.zeros(len(days)), np.isfinite(days)
    for feature in (date, *parts):
        place = places[feature]
        if space.nominal[place] or not len(unit_costs[place]):  # categorical, or missing
            return Change({}, None, None, 0.0, False, time.perf_counter() - began)
        free &= (moved[feature] >= first[place]) & (moved[feature] <= last[place])
        costs += unit_costs[place][moved[feature]]
    allowed = np.flatnonzero(free)[np.argsort(costs[free], kind="stable")]
    empty = counts_of(predictor, codes[:, None]).sum(axis=2) == 0
    for begin in range(0, len(allowed), DATES_AT_ONCE):
        block = allowed[begin : begin + DATES_AT_ONCE]
        counts, views = counts_of(predictor, moved[:, block]), views_of(predictor, moved[:, block])
        alone = np.where(((counts.sum(axis=2) > 0) | empty).all(axis=1), only_class(predictor, counts, views), -1)
        right = np.flatnonzero(alone >= 0 if wanted is None else alone == wanted)
        if len(right):
            code, label = int(block[right[0]]), int(alone[right[0]])
            return Change({date: code}, label, float(costs[code]), 0.0, False, time.perf_counter() - began)
    return Change({}, None, None, 0.0, False, time.perf_counter() - began)


def _allowed(space: Space, codes: Array, limits: Limits) -> tuple[Array, Array]:
    """Return the first and the last bin index that each feature may have (F,), for one sample (p,)."""
    first, last = np.zeros(len(space.features), dtype=np.int32), space.n_bins - 1
    for place, feature in enumerate(space.features.tolist()):
        if feature in limits.immutable | limits.increasing:
            first[place] = codes[feature]
        if feature in limits.immutable | limits.decreasing:
            last[place] = codes[feature]
    return first, last
