"""Calibration: a fitted forest and its training rows -> a map of probabilities, learned on out-of-bag rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.belief import Opinion, Rule, Setting, resolve_rule
from hedgerow.belief.calibrate import (
    Calibration,
    cross_fitted,
    gain_of,
    learn_map,
    rows_to_learn_on,
    with_probability,
)
from hedgerow.forest.fold import fold
from hedgerow.forest.forest import Forest
from hedgerow.forest.training import TrainingRows
from hedgerow.judge.fitted import Fitted

Floats = NDArray[np.float64]

NOT_ASKED = Calibration(why="it was not asked for")
ROWS_LOST = Calibration(why="the forest does not have its training rows")


def calibration_of(fitted: Fitted, asked: Any, rule: Rule, threads: Callable[[int], int]) -> Calibration:
    """A fit, a rule as it was set and as it is -> the map for it, learned when first needed, or why there is none.

    A model without its training rows keeps the map that it has, if it is for the same rule and classes.
    """
    if why := cannot_be_mapped(rule):
        return Calibration(why=why)
    learned, key, rows = fitted.learned, rule_key(asked), fitted.rows_with_judges
    about: Any = fitted.about
    if rows is not None:
        make = partial(learn_calibration, fitted.forest, rows, rule, about.prior, threads(rows.n_rows))
        return learned.get("calibration", key, make)
    known = learned.last("calibration")
    if known is None or known[0] != key or len(known[1].offsets) not in (0, fitted.forest.n_classes):
        return ROWS_LOST
    return known[1]  # type: ignore[no-any-return]


def learn_calibration(forest: Forest, rows: TrainingRows, rule: Rule, prior: Floats, n_threads: int) -> Calibration:
    """A forest, its training rows and a rule -> the map, learned on rows of certain class that have a judge."""
    some = rows_to_learn_on(rows.n_rows, forest.n_classes)
    probability = _out_of_bag(forest, rows, rule, prior, some, n_threads)
    usable = ~np.isnan(probability[:, 0]) & rows.judges.certain[some]
    weights = None if rows.target.weights is None else rows.target.weights[some][usable]
    found = learn_map(probability[usable], rows.target.labels[some][usable].astype(np.int64), weights)
    return replace(found, gain=gain_of(forest.n_trees, rows.bags.mean))


def judged_by_others(opinion: Opinion, labels: NDArray[Any], weights: Floats | None) -> Opinion:
    """Out-of-bag opinions, classes (n,) and weights (n,) -> the opinions mapped, each by a map learned without it."""
    said = opinion.probability
    some = rows_to_learn_on(len(said), opinion.n_classes)
    of_some = labels[some].astype(np.int64), None if weights is None else weights[some]
    learned = learn_map(said[some], *of_some)
    if learned.why:
        return opinion
    mapped = learned.of(said)
    mapped[some] = cross_fitted(said[some], *of_some, start=learned)
    return with_probability(opinion, mapped)


def cannot_be_mapped(rule: Rule) -> str:
    """Why the probabilities of a rule are not mapped; empty if they are."""
    if rule.chooses:
        return f"the rule {rule.name} chooses the classes that remain itself"
    return "" if rule.calibrates else f"the probabilities of the rule {rule.name} depend on caution"


def rule_key(rule: Any) -> str:
    """A rule or its name -> the key under which its map is stored."""
    return _key_of_name(rule) if isinstance(rule, str) else repr(rule)


@lru_cache(maxsize=64)
def _key_of_name(name: str) -> str:
    """The name of a rule -> its key; making the text of an object takes time."""
    return repr(resolve_rule(name))


def _out_of_bag(
    forest: Forest, rows: TrainingRows, rule: Rule, prior: Floats, some: NDArray[np.int64], n_threads: int
) -> Floats:
    """-> (m, K): out-of-bag probabilities of some rows (m,) under the rule; NaN if a row has no judge."""
    judges = rows.judges
    if rule.plain_mean and judges.own_weight is None:
        codes = rows.codes if len(some) == rows.n_rows else np.ascontiguousarray(rows.codes[:, some])
        return forest.probability_outside(codes, some, judges, n_threads)
    setting = Setting.of(forest.n_classes, 1.0, prior)
    opinion = fold(forest, rows.codes, rule, setting, judges=replace(judges, as_forest=True), n_threads=n_threads)
    return np.where((judges.number(forest.n_trees) > 0)[:, None], opinion.probability, np.nan)[some]
