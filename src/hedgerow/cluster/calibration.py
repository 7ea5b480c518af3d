"""Calibration: a forest grown on a cluster, and some of its rows -> what one machine would learn out of bag."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.cluster.engine import Engine, Handle
from hedgerow.cluster.part import Part
from hedgerow.cluster.target import DistributedTarget
from hedgerow.cluster.training import ClusterTable
from hedgerow.forest.threads import reading_threads
from hedgerow.judge.calibration import Sample
from hedgerow.judge.fitted import Fitted


def sample_on_cluster(
    engine: Engine, estimator: Any, target: DistributedTarget, training: ClusterTable
) -> list[Handle]:
    """The rows on which one machine would learn out of bag, taken from each part; none if nothing is learned."""
    plan = training.plan
    if plan.bags.mean == 0:
        return []
    some = target.rows_to_learn_on(estimator, plan.n_rows, len(training.info.names))
    return [] if some is None else engine.ask("sampled", _sample, training.parts, some)


def learn_on_cluster(
    engine: Engine,
    samples: list[Handle],
    estimator: Any,
    target: DistributedTarget,
    training: ClusterTable,
    fitted: Fitted,
) -> None:
    """Samples of all parts, what the fit publishes -> the same with what is learned on the samples.

    Only codes that trees ask for travel.
    """
    if not samples:
        return
    used = fitted.forest.used_features
    parts: list[Sample] = engine.gather(engine.ask("asked", _narrow, samples, used), "partition {} (asked)")
    rows = np.concatenate([part.rows for part in parts])
    codes = np.zeros((fitted.schema.n_features, len(rows)), dtype=fitted.bins.code_type)
    codes[used] = np.concatenate([part.codes for part in parts], axis=1)
    weights = [part.weights for part in parts if part.weights is not None]
    truth = np.concatenate([part.labels for part in parts])
    sample = Sample(rows, codes, truth, np.concatenate(weights) if weights else None)
    target.learn(estimator, fitted, sample, training.plan.bags, reading_threads(estimator.n_jobs, len(rows)))


def _sample(part: Part, some: NDArray[np.int64]) -> Sample:
    """Numbers of rows of the whole table -> those that are in this part."""
    rows = some[(some >= part.first_row) & (some < part.first_row + part.n_rows)]
    at = rows - part.first_row
    target = part.target.take(at)
    return Sample(rows, np.ascontiguousarray(part.codes[:, at]), target.truth, target.core.weights)


def _narrow(sample: Sample, features: NDArray[np.int64]) -> Sample:
    """The same with the codes of some features."""
    return sample._replace(codes=np.ascontiguousarray(sample.codes[features]))
