"""Calibration: a forest grown on a cluster, and some of its rows -> a map of probabilities, as on one machine."""

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


def sample_on_cluster(engine: Engine, estimator: Any, training: ClusterTable) -> list[Handle]:
    """The rows on which one machine would learn a map, taken from each part; none if no map can be learned here.

    Only a rule whose probabilities are means of class shares can be asked about single training rows.
    """
    if getattr(estimator, "calibration", None) != "oob" or training.plan.bags.mean == 0:
        return []
    rule = resolve_rule(estimator.rule)
    if cannot_be_mapped(rule) or not rule.plain_mean:
        return []
    some = rows_to_learn_on(training.plan.n_rows, len(training.about.names))
    return engine.ask("sampled", _sample, training.parts, some)


def learn_on_cluster(
    engine: Engine, samples: list[Handle], estimator: Any, training: ClusterTable, fitted: Fitted
) -> None:
    """Samples of all parts, what the fit publishes -> the same with the map; only codes that trees ask for travel."""
    if not samples:
        return
    used = fitted.forest.used_features
    parts: list[Sample] = engine.gather(engine.ask("asked", _narrow, samples, used), "partition {} (asked)")
    rows = np.concatenate([part.rows for part in parts])
    codes = np.zeros((fitted.schema.n_features, len(rows)), dtype=fitted.bins.code_type)
    codes[used] = np.concatenate([part.codes for part in parts], axis=1)
    weights = [part.weights for part in parts]
    known = [each for each in weights if each is not None]
    whole = Sample(
        rows, codes, np.concatenate([part.labels for part in parts]), np.concatenate(known) if known else None
    )
    n_threads = reading_threads(estimator.n_jobs, len(rows))
    learned = learn_on_sample(fitted.forest, whole, training.plan.bags, n_threads)
    fitted.learned.put("calibration", rule_key(estimator.rule), learned)


def _sample(part: Part, some: NDArray[np.int64]) -> Sample:
    """Numbers of rows of the whole table -> those that are in this part."""
    rows = some[(some >= part.first_row) & (some < part.first_row + part.n_rows)]
    at = rows - part.first_row
    labels = part.target.take(at).core
    return Sample(rows, np.ascontiguousarray(part.codes[:, at]), labels.numbers, labels.weights)


def _narrow(sample: Sample, features: NDArray[np.int64]) -> Sample:
    """The same with the codes of some features."""
    return sample._replace(codes=np.ascontiguousarray(sample.codes[features]))
