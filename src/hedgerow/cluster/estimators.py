"""Fit of an estimator on a cluster.

No other module of this package uses private attributes of estimators.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from hedgerow.cluster.forest import grow_on_cluster
from hedgerow.cluster.limits import ClusterLimits, limits_for
from hedgerow.cluster.training import (
    ClusterTable,
    learn_on_cluster,
    progress_on_cluster,
    read_on_cluster,
    sample_on_cluster,
)
from hedgerow.fit.distributed import DistributedTarget, Engine
from hedgerow.fit.groups import settings_for_groups
from hedgerow.fit.run import check_constraints
from hedgerow.forest.forest import Forest
from hedgerow.forest.grow import Fingerprint, GrowthParams
from hedgerow.forest.nodes import unseen_from
from hedgerow.forest.prune import prune
from hedgerow.forest.rows import Groups
from hedgerow.inference.fitted import Fitted, publish
from hedgerow.params.checks import check_parameters, require_resolved
from hedgerow.params.resolve import most_trees, resolve_settings
from hedgerow.params.table import TreeEstimator
from hedgerow.table import Schema


def fit_on_cluster(
    estimator: Any,
    partitions: Sequence[Any],
    engine: Engine,
    *,
    gather_bytes: int | None = None,
    sum_bytes: int | None = None,
    grouped: bool = False,
) -> None:
    """Fit an estimator to partitions that the engine can read, with groups if `grouped`.

    For the limits see `ClusterLimits`.
    """
    require_resolved(estimator, f"on {engine.name}", "It would be chosen on training rows, which stay on the workers.")
    target = checked_target(estimator)
    n_trees = most_trees(estimator)
    with engine, progress_on_cluster(estimator.verbose, n_trees) as show:
        show(0, f"reading {len(partitions)} partitions")
        known = estimator.categorical_features, estimator.max_bins
        with_groups = partial(settings_with_groups, estimator) if grouped else None
        training = read_on_cluster(engine, partitions, target, partial(settings_of, estimator), *known, with_groups)
        usual = limits_for(engine.workers())
        limits = ClusterLimits(
            usual.gather_bytes if gather_bytes is None else gather_bytes,
            usual.sum_bytes if sum_bytes is None else sum_bytes,
            usual.piece_bytes,
            usual.group_bytes,
        )
        samples = sample_on_cluster(engine, estimator, target, training)
        forest = grow_on_cluster(engine, training.plan, training.parts, training.part_rows, n_trees, limits, show)
        fitted = published(estimator, training, forest)
        learn_on_cluster(engine, samples, estimator, target, training, fitted)
    publish(estimator, fitted)


def checked_target(estimator: TreeEstimator) -> DistributedTarget:
    """Check the parameters of an estimator before reading, and return its target."""
    check_parameters(estimator)
    target: DistributedTarget | None = estimator._task.distributed(estimator)
    if target is None:
        raise TypeError(f"{type(estimator).__name__} does not support clusters. Fit on one machine.")
    return target


def settings_of(estimator: TreeEstimator, schema: Schema, n_rows: int, n_classes: int) -> GrowthParams:
    """Return the growth parameters of an estimator for a table of this size."""
    settings = resolve_settings(estimator, n_rows, schema.n_features, schema.names, n_classes)
    check_constraints(settings, schema)
    if settings.leaf_counts == "groups":
        raise ValueError("leaf_counts='groups' is not supported on a cluster. Use 'distinct'.")
    return settings


def settings_with_groups(estimator: TreeEstimator, settings: GrowthParams, groups: Groups | None) -> GrowthParams:
    """Return the growth parameters for bootstrap samples of groups."""
    return settings_for_groups(settings, estimator, None, groups)


def published(estimator: TreeEstimator, training: ClusterTable, forest: Forest) -> Fitted:
    """Return the fit of trees grown on a cluster."""
    plan, info, settings = training.plan, training.info, training.plan.settings
    forest = prune(forest, settings.criterion, estimator.ccp_alpha)
    forest = forest.with_unseen(unseen_from(plan.has_missing.astype(bool), estimator.unseen))
    return Fitted(
        schema=training.schema,
        bins=plan.bins,
        info=info,
        forest=forest,
        criterion=settings.criterion,
        seed=settings.seed,
        fingerprint=Fingerprint(None, plan.n_rows, settings.bag_mean, settings.leaf_counts, training.n_groups),
        origins=(training.origin(forest.n_trees),),
    )
