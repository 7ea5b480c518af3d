"""Counterfactuals: smallest changes of features after which one class remains, and their search space.

The search is in the core: see ``src/core/read/change.hpp``.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.belief.calibrate import FLOOR, Calibration
from hedgerow.explain.question import Floats, counts_of, only_class, tree_shares, views_of
from hedgerow.table.bins import DATES, PARTS, part_of
from hedgerow.table.schema import Array
from hedgerow.tasks.classification.predictor import ClassificationPredictor

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


# ---- Search space of counterfactuals ---------------------------------------------------------------------------------


#: With more classes, boxes are ordered by cost only, because the margins of all pairs would need too much memory.
MOST_PAIRED_CLASSES = 8


def margins_of(predictor: ClassificationPredictor, evidence: Floats) -> dict[str, Any] | None:
    """Compute the margins of leaves from their evidence (D, K).

    Under interval dominance, a class is the only one of the set if its lower probability is above the upper
    probabilities of all others. Margins are these differences, lower[k] - upper[j]. They are sums over trees, or a
    function of such sums for calibrated forests; see ``src/core/read/margins.hpp``. None if margins do not determine
    the decision, or if there are too many.

    Returns
    -------
    added : (D · K · K,)
        lower[k] - upper[j] of each leaf, as if it were the only tree.
    sums, rates, ahead, floor
        For a calibrated forest only, as in `calibrated_margins`.
    """
    rule, setting = predictor.plain_wide_rule, predictor.setting
    if predictor.rule.views is not None:
        return None
    if predictor.has_gaps and predictor.is_calibrated:  # ratios of bounds are no function of sums
        return None
    needed = {"lower", "upper", "probability"} if predictor.is_calibrated else {"lower", "upper"}
    decides = predictor.decision.follows_dominance and needed <= set(rule.adds_up)
    if not decides or predictor.forest.n_classes > MOST_PAIRED_CLASSES:
        return None
    if predictor.is_calibrated and rule.skips_empty and not evidence.any(axis=1).all():
        return None
    parts: dict[str, Any] = rule.parts(rule.lift(evidence, setting), setting)
    lower, upper = parts["lower"], parts["upper"]
    added = (lower[:, :, None] - upper[:, None, :]).ravel()
    if not predictor.is_calibrated:
        return {"added": added}
    return {"added": added} | calibrated_margins(parts["probability"], 1 - lower.sum(axis=1), predictor.calibration)


def calibrated_margins(shares: Floats, vacuity: Floats, calibration: Calibration) -> dict[str, Any]:
    """Compute the arrays of a calibrator from probabilities (D, K) and vacuity (D,) of leaves.

    Returns
    -------
    sums : (D · (K + 1),)
        Probabilities and vacuity of each leaf.
    rates : (K · K · K,)
        Derivative of score k - score j with respect to each log-probability.
    ahead : (K · K,)
        Score k - score j where all log-probabilities are zero.
    floor : float
        Constant added to probabilities before taking logarithms.
    """
    n_classes = shares.shape[1]
    rates = calibration.slope * np.eye(n_classes) + (0.0 if calibration.mix is None else calibration.mix)
    rates = calibration.gain * rates  # (K, K): of each score (last) by each logarithm
    return {
        "sums": np.column_stack([shares, vacuity]).ravel(),
        "rates": (rates.T[:, None, :] - rates.T[None, :, :]).ravel(),
        "ahead": (calibration.offsets[:, None] - calibration.offsets[None, :]).ravel(),
        "floor": FLOOR,
    }


Ints = NDArray[np.int64]


class Space:
    """Leaves and features of a forest, shared by the searches of all samples.

    Attributes
    ----------
    features : (F,) int64
        The features used by some tree.
    nominal, n_bins : (F,) uint8, int32
        Whether they are categorical, and their numbers of bins.
    contents : (L,) int32
        Index of the counts of each leaf among the D distinct ones.
    plausible : (D,) uint8
        Whether leaves with these counts have training rows.
    margins : dict or None
        Margins between classes for each of the distinct counts, if they determine the decision.
    costs : list of (codes,) float64 and float
        Typical values of the bins of each feature, and 1 / range.
    dates : dict of int to dict of int to str
        For each date used by some tree, its month and weekday if some tree uses them too. They cannot change alone.
    """

    def __init__(self, predictor: ClassificationPredictor) -> None:
        self.predictor, forest, bins = predictor, predictor.forest, predictor.fitted.bins
        self.features: Ints = forest.used_features
        self.nominal, self.n_bins = bins.nominal[self.features], bins.n_bins[self.features].astype(np.int32)
        if forest.weights is None:
            examples, self.contents = forest.distinct(predictor.threads(int(forest.leaf_start[-1])))
        else:  # nearly all leaves have different contents
            examples = np.arange(forest.leaf_start[-1])
            self.contents = examples.astype(np.int32)
        evidence = np.asarray(forest.widened.evidence.read(examples))
        self.plausible = (evidence.sum(axis=1) > 0).astype(np.uint8)
        self.margins = margins_of(predictor, evidence)
        self.costs = [self._unit_costs(int(feature)) for feature in self.features]
        self.dates = self._dates()

    def arrays(self) -> dict[str, Any]:
        """Return the arguments of the search in the core, by name."""
        given = {"contents": self.contents, "plausible": self.plausible, "tree_shares": tree_shares(self.predictor)}
        known = {"features": self.features, "nominal": self.nominal, "n_classes": self.predictor.forest.n_classes}
        return given | known | (self.margins or {}) | {"alone": self.alone}

    def alone(self, leaves: list[float]) -> float:
        """Return the only class that remains for one leaf of each tree (T,), or -1."""
        forest, views, at = self.predictor.forest, self.predictor.rule.views, np.array([leaves], dtype=np.int32)
        of_views = None if views is None else forest.viewed(views).of_leaves(at.astype(np.int64))
        return float(only_class(self.predictor, forest.widened.evidence_at(at), of_views)[0])

    def _dates(self) -> dict[int, dict[int, str]]:
        """Find the dates, and the parts of them that trees use."""
        names, kinds, used = self.predictor.codebook.names, self.predictor.codebook.schema.kinds, self.features.tolist()
        place = {names[feature]: feature for feature in used}
        found = {
            date: {place[names[date] + part]: part for part in PARTS if names[date] + part in place}
            for date in used
            if kinds[date] in DATES
        }
        return {date: parts for date, parts in found.items() if parts}

    def _unit_costs(self, feature: int) -> tuple[Floats, float]:
        """Return typical values of the bins of a numeric feature, and 1 / range."""
        if self.predictor.fitted.bins.nominal[feature]:
            return np.zeros(0), 0.0
        start, span = (
            self.predictor.fitted.bins.center_start[feature : feature + 2],
            self.predictor.codebook.span_of(feature),
        )
        return self.predictor.fitted.bins.centers[start[0] : start[1]], 1.0 / span if span > 0 else 0.0


def costs_of(space: Space, codes: Array, values: list[float], most: float) -> list[Floats]:
    """Return the cost of each bin (codes,) of each feature for one sample (p,).

    Empty for missing values.
    """
    missing, costs = space.predictor.codebook.missing_code, []
    for place, feature in enumerate(space.features.tolist()):
        at = int(codes[feature])
        if at == missing:
            costs.append(np.zeros(0))
            continue
        if space.nominal[place]:
            of_codes = np.ones(space.n_bins[place])
        else:
            centers, unit = space.costs[place]
            with np.errstate(invalid="ignore", over="ignore"):
                of_codes = np.abs(centers - _inside(centers, values[feature])) * unit
            of_codes = np.minimum(np.where(np.isnan(of_codes), 0.0, of_codes), most)
        of_codes[at] = 0.0
        costs.append(of_codes)
    return costs


def _inside(centers: Floats, value: float) -> float:
    """Replace an infinite value by the outermost typical value, to make differences finite."""
    return float(value) if np.isfinite(value) else float(centers[0] if value < 0 else centers[-1])
