"""Grow: codes and labels -> a forest whose leaves keep their counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow import _core
from hedgerow.bins import Bins, Codes
from hedgerow.criteria import Criterion
from hedgerow.tree import Forest

SPLITTERS = {"best": 0, "random": 1, "random_decision": 2}
COUNT_SENSES = {"all": 0, "inbag": 1, "distinct": 2, "oob": 3}
NO_LIMIT = 2**32 - 1


@dataclass(frozen=True)
class Labels:
    """What the rows of a training table are labelled with.

    Parameters
    ----------
    numbers : (n,) uint16
        Class numbers.
    weights : (n,) int64 or None
        Weights in fixed point, so that sums do not depend on their order.
    weight_unit : float
        What one unit of `weights` is worth.
    n_classes : int
        K.
    balance_bag : bool
        Whether classes weigh the same in every tree's bag (needs `weights`).
    """

    numbers: NDArray[np.uint16]
    weights: NDArray[np.int64] | None
    weight_unit: float
    n_classes: int
    balance_bag: bool = False


@dataclass(frozen=True)
class GrowSettings:
    """How trees are grown; every number resolved for the table at hand."""

    splitter: str
    criterion: Criterion
    leaf_counts: str
    max_features: int
    max_depth: int
    min_samples_split: int
    min_samples_leaf: int
    min_weight_fraction_leaf: float
    max_leaf_nodes: int
    min_impurity_decrease: float
    bag_mean: float
    seed: int
    monotonic: list[int] | None


def grow_forest(
    codes: Codes,
    bins: Bins,
    labels: Labels,
    settings: GrowSettings,
    *,
    first_tree: int = 0,
    n_trees: int,
    n_threads: int = 1,
    progress: Callable[[int], bool] | None = None,
) -> Forest:
    """Grow trees number `first_tree` to ``first_tree + n_trees - 1``.

    A tree depends on the table, the settings (with their seed) and its number, and on nothing else: neither on
    the number of threads nor on which trees are grown with it. `progress` is called a few times a second with
    the number of trees done; when it returns true, growing stops and the forest holds the trees before the
    first unfinished one.
    """
    options: dict[str, Any] = {
        "splitter": SPLITTERS[settings.splitter],
        "count_sense": COUNT_SENSES[settings.leaf_counts],
        "n_classes": labels.n_classes,
        "max_features": settings.max_features,
        "max_depth": settings.max_depth,
        "min_samples_split": settings.min_samples_split,
        "min_samples_leaf": settings.min_samples_leaf,
        "min_weight_fraction_leaf": settings.min_weight_fraction_leaf,
        "max_leaf_nodes": settings.max_leaf_nodes,
        "min_impurity_decrease": settings.min_impurity_decrease,
        "bag_mean": settings.bag_mean,
        "weight_unit": labels.weight_unit,
        "balance_bag": labels.balance_bag,
        "seed": settings.seed,
        "monotonic": settings.monotonic,
    }
    arrays = _core.grow(
        codes,
        bins.n_bins,
        bins.nominal,
        bins.centers,
        bins.center_start,
        labels.numbers,
        labels.weights,
        options,
        settings.criterion.in_core(labels.n_classes),
        first_tree,
        n_trees,
        n_threads,
        progress,
    )
    return Forest(n_classes=labels.n_classes, **arrays)
