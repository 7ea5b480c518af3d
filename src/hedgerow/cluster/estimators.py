"""Estimators: an estimator, partitions of a table and an engine -> the estimator, fitted as on one machine.

This is the only module here that knows how estimators look inside.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from hedgerow.cluster.classes import TableClasses
from hedgerow.cluster.engine import Engine
from hedgerow.cluster.forest import grow_on_cluster
from hedgerow.cluster.limits import Limits, limits_for
from hedgerow.cluster.numbers import TableNumbers
from hedgerow.cluster.progress import progress_on_cluster
from hedgerow.cluster.target import TableTarget
from hedgerow.cluster.training import ClusterTable, read_on_cluster
from hedgerow.decide import resolve_decision
from hedgerow.estimators.regression import TreesRegressor
from hedgerow.fit.parameters import check_opinion, check_switches, most_trees, resolve_settings
from hedgerow.forest.grow import GrowSettings
from hedgerow.forest.tree import Forest
from hedgerow.table import Schema


def fit_on_cluster(
    estimator: Any,
    partitions: Sequence[Any],
    engine: Engine,
    *,
    gather_bytes: int | None = None,
    sum_bytes: int | None = None,
) -> None:
    """Check, read, encode, grow, remember. Partitions are what the engine reads; limits are those of `Limits`."""
    _refuse_what_needs_the_rows(estimator, engine.name)
    target = checked_target(estimator)
    n_trees = 1 if estimator._one_tree else most_trees(estimator.n_estimators)
    with engine, progress_on_cluster(getattr(estimator, "verbose", 0), n_trees) as show:
        show(0, f"reading {len(partitions)} partitions")
        categorical = getattr(estimator, "categorical_features", None)
        training = read_on_cluster(engine, partitions, target, partial(settings_of, estimator), categorical)
        usual = limits_for(engine.workers())
        limits = Limits(
            usual.gather_bytes if gather_bytes is None else gather_bytes,
            usual.sum_bytes if sum_bytes is None else sum_bytes,
            usual.piece_bytes,
        )
        forest = grow_on_cluster(engine, training.plan, training.parts, training.part_rows, n_trees, limits, show)
    _remember(estimator, training, forest)


def _refuse_what_needs_the_rows(estimator: Any, cluster: str) -> None:
    """Refuse parameters that are settled by looking at training rows once more, which are not here."""
    words = {"n_estimators": "auto", "max_features": "oob", "caution": "auto"}
    for name, word in words.items():
        if isinstance(value := getattr(estimator, name, None), str) and value == word:
            raise ValueError(
                f"{name} must be given on {cluster}, got {word!r}: the rows that would decide it are not here"
            )
    for name in ("oob_score", "warm_start", "leaf_rows"):
        if value := getattr(estimator, name, False):
            raise ValueError(f"{name} must be False on {cluster}, got {value!r}: it needs the training rows")
    criterion = getattr(estimator, "criterion", None)
    if getattr(criterion, "is_settled", True) is False:
        raise ValueError(f"criterion must leave nothing open on {cluster}, got {criterion!r}; give it numbers")
    decision = getattr(estimator, "decision", None)
    if decision is not None and resolve_decision(decision).needs_calibration:
        raise ValueError(
            f"decision must need no calibration on {cluster}, got {decision!r}: it needs the training rows"
        )
    if getattr(getattr(estimator, "_rule", None), "needs_weights", False):
        raise ValueError(f"rule must need no tree weights on {cluster}: they are learned from the training rows")


def checked_target(estimator: Any) -> TableTarget:
    """What an estimator predicts, once its parameters are checked as far as they can be before anything is read."""
    if isinstance(estimator, TreesRegressor):
        estimator._check_parameters()
        return TableNumbers()
    check_switches(estimator)
    check_opinion(estimator)
    return TableClasses(getattr(estimator, "class_weight", None))


def settings_of(estimator: Any, schema: Schema, n_rows: int, n_classes: int) -> GrowSettings:
    """How an estimator grows trees on a table."""
    settings = resolve_settings(estimator, n_rows, schema.n_features, schema.names, n_classes)
    if any(sign and nominal for sign, nominal in zip(settings.monotonic or [], schema.nominal, strict=False)):
        raise ValueError("monotonic_cst must be 0 for nominal features, got a constraint on one")
    return settings


def _remember(estimator: Any, training: ClusterTable, forest: Forest) -> None:
    """The only place where the estimator changes: after everything has succeeded."""
    plan, about = training.plan, training.about
    settings = plan.settings
    table = SimpleNamespace(
        table=SimpleNamespace(schema=training.schema),
        classes=about.get("classes"),
        prior=about.get("prior"),
        labels=SimpleNamespace(values=np.array(about.get("range", ()))),
        settings=settings,
        bag=(None, plan.n_rows, settings.bag_mean, settings.leaf_counts),
        shares=None,
    )
    forest = estimator._prune(forest, plan.bins, table)
    judged = {"_origins": (training.origin(forest.n_trees),)} if getattr(estimator, "_can_be_added_to", True) else {}
    estimator._remember(table, plan.bins, forest, judged)
