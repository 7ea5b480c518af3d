"""Out-of-bag metrics and calibration of a classifier, and discounting of novel rows."""

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
from hedgerow.belief.opinion import Opinion, opinion_from_bounds
from hedgerow.forest.fold import fold
from hedgerow.forest.forest import Forest
from hedgerow.forest.grow import TrainingRows
from hedgerow.forest.rows import Bags
from hedgerow.forest.views import oob_views
from hedgerow.inference.evidence import Evidence, JudgedRows, Trial, require_certain, require_labels, score_sets
from hedgerow.inference.fitted import Fitted
from hedgerow.inference.novelty import PredictionNovelty
from hedgerow.inference.oob import Sample, calibration_obstacle, cross_calibrated, given_to_calibrators
from hedgerow.rules import Rule, Setting, resolve_rule
from hedgerow.util.runtime import with_rows

Floats = NDArray[np.float64]


def needs_trial(metric: Any) -> bool:
    """Return whether a metric needs prediction sets and not only labels."""
    return not (metric is True or metric == "accuracy" or callable(metric))


def oob_metrics(
    metric: Any,
    classes: NDArray[Any],
    rows: TrainingRows,
    evidence: Evidence,
    trial: Trial,
    calibration: Calibration,
) -> tuple[float, Floats]:
    """Return ``oob_score_`` and ``oob_decision_function_`` of a trial."""
    used = np.zeros(rows.n_rows, dtype=bool)
    used[trial.judged.rows] = True
    if calibration.why or (used != evidence.is_covered).any():
        opinion = evidence.combine(weights=trial.weights)
        probability = calibration.of(given_to_calibrators(opinion, evidence.rule.views))
    else:  # rows that are not in the trial are in all bags
        probability = np.zeros((len(used), len(classes)))
    if not calibration.why:
        probability[trial.judged.rows] = trial.opinion.probability
    score = _score(metric, classes, probability, trial)
    return score, _probability_of_all(rows, evidence, probability, trial.weights, calibration)


def soft_label_metrics(
    metric: Any,
    classes: NDArray[Any],
    rows: TrainingRows,
    evidence: Evidence,
    probability: Floats,
    calibration: Calibration,
) -> tuple[float, Floats]:
    """Compute `oob_metrics` for a metric of labels, from the probabilities (n, K) of the evidence as a forest.

    The result is bitwise identical. `probability` is overwritten.
    """
    require_certain(evidence.known)
    used, labels = evidence.is_covered & evidence.known, rows.target.labels
    if not calibration.why:
        cross_calibrated(probability, np.flatnonzero(used), labels, rows.target.sure_weights, rows.groups)
        if (unsure := evidence.is_covered & ~used).any():
            probability[unsure] = calibration.of(evidence.probability()[unsure])
    y, label = classes[labels[used]], probability.argmax(axis=1)
    score = np.nan  # if every row is in the bags of all trees
    if len(y) and not callable(metric):
        score = float(np.mean(classes[label[used]] == y))
    if calibration.why:
        probability = evidence.probability()
    if len(y) and callable(metric):
        score = float(metric(y, classes[probability.argmax(axis=1)[used]]))
    return score, _probability_of_all(rows, evidence, probability, None, calibration)


def _score(metric: Any, classes: NDArray[Any], probability: Floats, trial: Trial) -> float:
    """Return ``oob_score_``; NaN without out-of-bag rows to judge by."""
    judged = trial.judged
    if not len(judged.rows):
        return np.nan
    if callable(metric):
        require_labels(judged)
        return float(metric(classes[judged.labels], classes[probability[judged.rows].argmax(axis=1)]))
    return score_sets("accuracy" if metric is True else metric, classes, judged, trial.opinion, trial.sets)


def _probability_of_all(
    rows: TrainingRows, evidence: Evidence, probability: Floats, weights: Floats | None, calibration: Calibration
) -> Floats:
    """Return ``oob_decision_function_``, (m, K), for all rows passed to `fit`."""
    probability[~evidence.is_covered] = 1 / probability.shape[1]
    if rows.kept is None:
        return probability
    # Rows without weight are in no bag, so all trees predict them.
    everyone = replace(evidence, codes=rows.all_codes, oob_mask=None)
    of_all = calibration.of(given_to_calibrators(everyone.combine(weights=weights), evidence.rule.views))
    of_all[rows.kept] = probability
    return of_all


# ---- Discounting of opinions about novel rows ------------------------------------------------------------------------


def discount_factor(novelty: PredictionNovelty, level: float | None) -> Floats:
    """Return the factor by which the opinion about each row is discounted, (n,).

    It is the p-value divided by the level, at most 1. A small table has no small p-values, so the factor of rows beyond
    its most unusual row also falls with the square of their distance.
    """
    if level is None:
        return np.ones(len(novelty.p_value))
    return np.minimum(novelty.p_value * novelty.within**2 / level, 1.0)


def discounted(opinion: Opinion, factor: Floats) -> Opinion:
    """Discount the opinions about n samples by a factor each, (n,)."""
    rows = np.flatnonzero(factor < 1)
    if not len(rows):
        return opinion
    of_rows, share = opinion[rows], factor[rows, None]
    score, chosen = of_rows.score, of_rows.chosen
    weak = opinion_from_bounds(
        share * of_rows.probability + (1 - share) / opinion.n_classes,
        share * of_rows.lower,
        1 - share * (1 - of_rows.upper),
        of_rows.conflict,
        score=None if score is None else score * (share if score.ndim > 1 else share[:, 0]),
        chosen=None if chosen is None else chosen | (share < 0.5),
    )
    return with_rows(opinion, rows, weak)


# ---- Out-of-bag calibration of probabilities -------------------------------------------------------------------------


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

    `given` is the rule as the user set it, and `views` are those of the forest, if the rule can use them. A calibrator
    of held-out rows or of a model file is kept if it belongs to the same rule and number of classes.
    """
    if why := calibration_obstacle(rule):
        return Calibration(why=why)
    learned, key, rows = fitted.learned, rule_key(given), fitted.oob_rows
    info: Any = fitted.info
    known = learned.last("calibration")
    if known is not None and known[0] == key and len(known[1].offsets) in (0, fitted.forest.n_classes):
        kept: Calibration = known[1]
        return kept
    if rows is not None:

        def make() -> Calibration:
            return learn_calibration(fitted.forest, rows, rule, info.prior, threads(rows.n_rows), views)

        return learned.get("calibration", key, make)
    if fitted.fingerprint is not None and fitted.fingerprint.bag_mean == 0:
        return NO_BAGS
    return ROWS_LOST


def learn_calibration(
    forest: Forest, rows: TrainingRows, rule: Rule, prior: Floats, n_threads: int, views: Views | None = None
) -> Calibration:
    """Fit the calibrator of a rule on out-of-bag rows: certain ones, or all with expected shares if few are certain."""
    sample = rows_to_learn_on(rows.n_rows, forest.n_classes)
    target = rows.target
    labels, weights = target.labels[sample], None if target.sure_weights is None else target.sure_weights[sample]
    if rule.plain_mean and target.soft is None:
        judged = Sample(sample, rows.codes_of(sample), labels, weights)
        return learn_on_sample(forest, judged, rows.bags, n_threads, views)
    probability = _out_of_bag(forest, rows, rule, prior, n_threads)
    probability[~rows.oob_mask.certain] = np.nan
    if target.expected is not None:
        entries = JudgedRows.of(target, np.isin(np.arange(rows.n_rows), sample))
        sample, labels, weights = entries.rows, entries.labels, entries.weights(target.sure_weights)
    found = _learned(probability[sample], sample, labels, weights, forest.n_trees, rows.bags)
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
    groups: NDArray[Any] | None = None if bags.units is None else bags.units[rows[usable]]
    if groups is None and (np.diff(rows) == 0).any():  # rows with several possible classes
        groups = rows[usable]
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
