"""Out-of-bag calibration of probabilities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.belief.calibrate import (
    MOST_MIXED,
    Calibration,
    Views,
    gain_of,
    learn_calibrator,
    rows_to_learn_on,
)
from hedgerow.forest.fold import fold
from hedgerow.forest.forest import Forest
from hedgerow.forest.grow import TrainingRows
from hedgerow.forest.rows import Bags
from hedgerow.forest.views import oob_views
from hedgerow.inference.calibration import calibration_obstacle
from hedgerow.inference.fitted import Fitted
from hedgerow.inference.oob import Sample
from hedgerow.rules import Rule, Setting, resolve_rule

Floats = NDArray[np.float64]

NOT_ASKED = Calibration(why="calibration=None")
NO_BAGS = Calibration(why="bootstrap=False leaves no out-of-bag rows")
ROWS_LOST = Calibration(why="the training rows are not available")


#: Views of a mixed forest: its three kinds of trees, each at its leaves and at ancestors with more rows.
MIXED_VIEWS = Views(3, (1, 5, 20))


def views_for(splitter: str, n_classes: int) -> Views | None:
    """Return the views that a forest with this splitter is calibrated on; None for its mean alone.

    With more than `MOST_MIXED` classes, views would need too much memory.
    """
    return MIXED_VIEWS if splitter == "mixed" and n_classes <= MOST_MIXED else None


def calibration_of(
    fitted: Fitted, given: Any, rule: Rule, threads: Callable[[int], int], views: Views | None = None
) -> Calibration:
    """Return the calibrator of a rule, fitting it when first needed.

    `given` is the rule as the user set it, and `views` are those of the forest, if the rule can use them. A model
    without its training rows keeps its calibrator if that belongs to the same rule and number of classes.
    """
    if why := calibration_obstacle(rule):
        return Calibration(why=why)
    learned, key, rows = fitted.learned, rule_key(given), fitted.oob_rows
    info: Any = fitted.info
    if rows is not None:

        def make() -> Calibration:
            return learn_calibration(fitted.forest, rows, rule, info.prior, threads(rows.n_rows), views)

        return learned.get("calibration", key, make)
    if fitted.fingerprint is not None and fitted.fingerprint.bag_mean == 0:
        return NO_BAGS
    known = learned.last("calibration")
    if known is None or known[0] != key or len(known[1].offsets) not in (0, fitted.forest.n_classes):
        return ROWS_LOST
    return known[1]  # type: ignore[no-any-return]


def learn_calibration(
    forest: Forest, rows: TrainingRows, rule: Rule, prior: Floats, n_threads: int, views: Views | None = None
) -> Calibration:
    """Fit the calibrator of a rule on out-of-bag rows with certain labels."""
    sample = rows_to_learn_on(rows.n_rows, forest.n_classes)
    target = rows.target
    labels, weights = target.labels[sample], None if target.sure_weights is None else target.sure_weights[sample]
    if rule.plain_mean and target.soft is None:
        judged = Sample(sample, rows.codes_of(sample), labels, weights)
        return learn_on_sample(forest, judged, rows.bags, n_threads, views)
    probability = _out_of_bag(forest, rows, rule, prior, n_threads)[sample]
    probability[~rows.oob_mask.certain[sample]] = np.nan
    found = _learned(probability, sample, labels, weights, forest.n_trees, rows.bags)
    return found if rule.steady else replace(found, gain=1.0)  # `as_forest` has already scaled additive evidence


def learn_on_sample(
    forest: Forest, sample: Sample, bags: Bags, n_threads: int, views: Views | None = None
) -> Calibration:
    """Fit the calibrator of a rule that averages class shares on a sample of rows."""
    where = (sample.codes, sample.rows, sample.labels, bags, n_threads)
    probability = forest.oob_probability(*where) if views is None else oob_views(forest, views, *where)
    return _learned(probability, sample.rows, sample.labels, sample.weights, forest.n_trees, bags, views)


def rule_key(rule: Any) -> str:
    """Return the key under which the calibrator of a rule, or of its name, is stored."""
    return _key_of_name(rule) if isinstance(rule, str) else _key_of(rule)


@lru_cache(maxsize=64)
def _key_of_name(name: str) -> str:
    """Return the key of a named rule; building it takes longer than one prediction."""
    return _key_of(resolve_rule(name))


def _key_of(rule: Rule) -> str:
    """Return class and parameters of a rule.

    ``repr`` would import modules that loading a file must not import.
    """
    return f"{type(rule).__qualname__}{sorted(rule.get_params().items())}"


def _learned(
    probability: Floats,
    rows: NDArray[np.int64],
    labels: NDArray[np.uint16],
    weights: NDArray[Any] | None,
    n_trees: int,
    bags: Bags,
    views: Views | None = None,
) -> Calibration:
    """Fit a calibrator on out-of-bag probabilities (m, K) or (m, V · K); NaN for rows in all bags."""
    usable = ~np.isnan(probability[:, 0])
    of_usable = None if weights is None else weights[usable].astype(np.float64)
    groups = None if bags.units is None else bags.units[rows[usable]]
    found = learn_calibrator(probability[usable], labels[usable].astype(np.int64), of_usable, groups, views=views)
    return replace(found, gain=gain_of(_effective(n_trees, found), bags.average))


def _effective(n_trees: int, learned: Calibration) -> int:
    """Return how many trees have as much noise as those of a calibrator that weighs kinds of trees differently."""
    if learned.views is None or learned.weights is None:
        return n_trees
    of_kinds = learned.weights.reshape(learned.views.kinds, -1).sum(axis=1)
    return max(1, round(n_trees * float(of_kinds.sum() ** 2 / (len(of_kinds) * (of_kinds**2).sum()))))


def _out_of_bag(forest: Forest, rows: TrainingRows, rule: Rule, prior: Floats, n_threads: int) -> Floats:
    """Return out-of-bag probabilities of all rows, (n, K); NaN for rows in all bags."""
    oob_mask = rows.oob_mask
    setting = Setting.of(forest.n_classes, 1.0, prior)
    opinion = fold(forest, rows.codes, rule, setting, oob_mask=replace(oob_mask, as_forest=True), n_threads=n_threads)
    return np.where((oob_mask.number(forest.n_trees) > 0)[:, None], opinion.probability, np.nan)
