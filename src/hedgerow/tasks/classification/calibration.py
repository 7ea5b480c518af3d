"""Out-of-bag calibration of the probabilities of a forest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.belief.calibrate import (
    Calibration,
    gain_of,
    learn_calibrator,
    rows_to_learn_on,
)
from hedgerow.forest.fold import fold
from hedgerow.forest.forest import Forest
from hedgerow.forest.rows import Bags
from hedgerow.forest.training import TrainingRows
from hedgerow.inference.calibration import calibration_obstacle
from hedgerow.inference.fitted import Fitted
from hedgerow.inference.oob import Sample
from hedgerow.rules import Rule, Setting, resolve_rule

Floats = NDArray[np.float64]

NOT_ASKED = Calibration(why="it was not asked for")
NO_BAGS = Calibration(why="no row lies outside a bag, because there is no bootstrap")
ROWS_LOST = Calibration(why="the forest does not have its training rows")


def calibration_of(fitted: Fitted, given: Any, rule: Rule, threads: Callable[[int], int]) -> Calibration:
    """Return the calibrator of a rule, `given` as the user set it, learned when first needed.

    A model without its training rows keeps the calibrator that it has, if it is for the same rule and classes.
    """
    if why := calibration_obstacle(rule):
        return Calibration(why=why)
    learned, key, rows = fitted.learned, rule_key(given), fitted.oob_rows
    info: Any = fitted.info
    if rows is not None:

        def make() -> Calibration:
            return learn_calibration(fitted.forest, rows, rule, info.prior, threads(rows.n_rows))

        return learned.get("calibration", key, make)
    if fitted.fingerprint is not None and fitted.fingerprint.bag_mean == 0:
        return NO_BAGS
    known = learned.last("calibration")
    if known is None or known[0] != key or len(known[1].offsets) not in (0, fitted.forest.n_classes):
        return ROWS_LOST
    return known[1]  # type: ignore[no-any-return]


def learn_calibration(forest: Forest, rows: TrainingRows, rule: Rule, prior: Floats, n_threads: int) -> Calibration:
    """A forest, its training rows and a rule -> the calibrator, learned on out-of-bag rows of certain class."""
    some = rows_to_learn_on(rows.n_rows, forest.n_classes)
    target = rows.target
    labels, weights = target.labels[some], None if target.sure_weights is None else target.sure_weights[some]
    if rule.plain_mean and target.soft is None:
        return learn_on_sample(forest, Sample(some, rows.codes_of(some), labels, weights), rows.bags, n_threads)
    probability = _out_of_bag(forest, rows, rule, prior, n_threads)[some]
    probability[~rows.oob_mask.certain[some]] = np.nan
    found = _learned(probability, some, labels, weights, forest.n_trees, rows.bags)
    return found if rule.steady else replace(found, gain=1.0)  # evidence that adds up was scaled to the whole forest


def learn_on_sample(forest: Forest, sample: Sample, bags: Bags, n_threads: int) -> Calibration:
    """A forest whose probabilities are means of shares, and some of its training rows -> the calibrator."""
    probability = forest.oob_probability(sample.codes, sample.rows, sample.labels, bags, n_threads)
    return _learned(probability, sample.rows, sample.labels, sample.weights, forest.n_trees, bags)


def rule_key(rule: Any) -> str:
    """A rule or its name -> the key under which its calibrator is stored."""
    return _key_of_name(rule) if isinstance(rule, str) else _key_of(rule)


@lru_cache(maxsize=64)
def _key_of_name(name: str) -> str:
    """The name of a rule -> its key, made once: it takes longer than the answer about a row."""
    return _key_of(resolve_rule(name))


def _key_of(rule: Rule) -> str:
    """A rule -> its class and parameters; ``repr`` would import what loading a file must not."""
    return f"{type(rule).__qualname__}{sorted(rule.get_params().items())}"


def _learned(
    probability: Floats,
    rows: NDArray[np.int64],
    labels: NDArray[np.uint16],
    weights: NDArray[Any] | None,
    n_trees: int,
    bags: Bags,
) -> Calibration:
    """Out-of-bag probabilities (m, K) of rows (m,), NaN if in all bags, classes and weights -> the calibrator."""
    usable = ~np.isnan(probability[:, 0])
    of_usable = None if weights is None else weights[usable].astype(np.float64)
    groups = None if bags.units is None else bags.units[rows[usable]]
    found = learn_calibrator(probability[usable], labels[usable].astype(np.int64), of_usable, groups)
    return replace(found, gain=gain_of(n_trees, bags.average))


def _out_of_bag(forest: Forest, rows: TrainingRows, rule: Rule, prior: Floats, n_threads: int) -> Floats:
    """-> (n, K): out-of-bag probabilities of all rows under the rule; NaN if a row is in all bags."""
    oob_mask = rows.oob_mask
    setting = Setting.of(forest.n_classes, 1.0, prior)
    opinion = fold(forest, rows.codes, rule, setting, oob_mask=replace(oob_mask, as_forest=True), n_threads=n_threads)
    return np.where((oob_mask.number(forest.n_trees) > 0)[:, None], opinion.probability, np.nan)
