"""Calibration: a forest grown on a cluster, and some of its rows -> what one machine would learn out of bag."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.belief import resolve_rule
from hedgerow.belief.calibrate import rows_to_learn_on
from hedgerow.cluster.engine import Engine, Handle
from hedgerow.cluster.part import Part
from hedgerow.cluster.training import ClusterTable
from hedgerow.forest.threads import reading_threads
from hedgerow.judge.calibration import Sample, cannot_be_mapped, learn_on_sample, rule_key
from hedgerow.judge.fitted import Fitted
from hedgerow.judge.intervals import learn_residuals, rows_to_judge


def sample_on_cluster(engine: Engine, estimator: Any, training: ClusterTable) -> list[Handle]:
    """The rows on which one machine would learn a map or intervals, taken from each part; none if nothing is learned.

    Of maps, only those of rules whose probabilities are means of class shares can be learned on single training rows.
    """
    if training.plan.bags.mean == 0:
        return []
    if _predicts_numbers(estimator):
        return engine.ask("sampled", _sample, training.parts, rows_to_judge(training.plan.n_rows))
    rule = resolve_rule(estimator.rule)
    if getattr(estimator, "calibration", None) != "oob" or cannot_be_mapped(rule) or not rule.plain_mean:
        return []
    some = rows_to_learn_on(training.plan.n_rows, len(training.about.names))
    return engine.ask("sampled", _sample, training.parts, some)


def learn_on_cluster(
    engine: Engine, samples: list[Handle], estimator: Any, training: ClusterTable, fitted: Fitted
) -> None:
    """Samples of all parts, what the fit publishes -> the same with map or residuals.

    Only codes that trees ask for travel.
    """
    if not samples:
        return
    used = fitted.forest.used_features
    parts: list[Sample] = engine.gather(engine.ask("asked", _narrow, samples, used), "partition {} (asked)")
    rows = np.concatenate([part.rows for part in parts])
    codes = np.zeros((fitted.schema.n_features, len(rows)), dtype=fitted.bins.code_type)
    codes[used] = np.concatenate([part.codes for part in parts], axis=1)
    truth, bags = np.concatenate([part.labels for part in parts]), training.plan.bags
    n_threads = reading_threads(estimator.n_jobs, len(rows))
    if _predicts_numbers(estimator):
        residuals = learn_residuals(fitted.forest, rows, codes, truth, bags, n_threads)
        fitted.learned.put("residuals", None, residuals)
        return
    known = [part.weights for part in parts if part.weights is not None]
    whole = Sample(rows, codes, truth, np.concatenate(known) if known else None)
    learned = learn_on_sample(fitted.forest, whole, bags, n_threads)
    fitted.learned.put("calibration", rule_key(estimator.rule), learned)


def _predicts_numbers(estimator: Any) -> bool:
    return bool(estimator.__task__.kind == "numbers")


def _sample(part: Part, some: NDArray[np.int64]) -> Sample:
    """Numbers of rows of the whole table -> those that are in this part."""
    rows = some[(some >= part.first_row) & (some < part.first_row + part.n_rows)]
    at = rows - part.first_row
    target = part.target.take(at)
    return Sample(rows, np.ascontiguousarray(part.codes[:, at]), target.truth, target.core.weights)


def _narrow(sample: Sample, features: NDArray[np.int64]) -> Sample:
    """The same with the codes of some features."""
    return sample._replace(codes=np.ascontiguousarray(sample.codes[features]))
