"""Grow: codes and labels, or numbers -> a forest whose leaves keep their counts, or their moments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow import _core
from hedgerow.forest.forest import Forest
from hedgerow.forest.rows import COUNT_SENSES
from hedgerow.table.bins import Bins, Codes
from hedgerow.target.base import Labels, Numbers

SPLITTERS = {"best": 0, "random": 1, "random_decision": 2}
NO_LIMIT = 2**32 - 1


@dataclass(frozen=True)
class GrowSettings:
    """How trees are grown; every number resolved for the table at hand."""

    splitter: str
    criterion: Any  # a Criterion of labels, or the word for one of numbers
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

    @property
    def needs_all_rows(self) -> tuple[str, str] | None:
        """What must be otherwise for trees to be grown on parts of the rows, and why; None if they can be."""
        if self.max_leaf_nodes:
            return "max_leaf_nodes must be None", f"got {self.max_leaf_nodes}: the best of all nodes is split next"
        if self.criterion == "absolute_error":
            return "criterion must be another", "got 'absolute_error': medians do not add up over partitions"
        return None


def grow_forest(
    codes: Codes,
    bins: Bins,
    labels: Labels | Numbers,
    settings: GrowSettings,
    *,
    first_tree: int = 0,
    n_trees: int,
    n_threads: int = 1,
    progress: Callable[[int], bool] | None = None,
    below: tuple[NDArray[np.uint8], NDArray[np.uint16], list[Any]] | None = None,
) -> Forest:
    """Grow trees number `first_tree` to ``first_tree + n_trees - 1``.

    A tree depends on the table, the settings (with their seed) and its number, and on nothing else: neither on
    the number of threads nor on which trees are grown with it. `progress` is called a few times a second with
    the number of trees done; when it returns true, growing stops and the forest holds the trees before the
    first unfinished one.

    With `below`, trees are the parts of trees below nodes that were reached elsewhere, whose rows are gathered here:
    which features of the whole table lack values (p,), how often the bag holds each row (n,), and for each node (first
    row, last row + 1, key, depth, lower, upper, amount of its tree, nominal features used above). Weights of labels
    are then those inside the tree, multiplicities included.
    """
    common: dict[str, Any] = {
        "codes": codes,
        "n_bins": bins.n_bins,
        "nominal": bins.nominal,
        "centers": bins.centers,
        "center_start": bins.center_start,
        "first_tree": first_tree,
        "n_trees": n_trees,
        "n_threads": n_threads,
        "progress": progress,
        "below": below,
    }
    options, criterion = core_arguments(labels, settings)
    if isinstance(labels, Numbers):
        grid = [labels.centre, labels.unit, labels.low, labels.high]
        numbers = {name: getattr(labels, name) for name in ("values", "weights", "sums", "amounts")}
        arrays = _core.grow_numbers(**common, **numbers, grid=grid, options=options, criterion=criterion)
        return Forest.from_arrays(1, arrays)
    told: dict[str, Any] = {"labels": labels.numbers, "weights": labels.weights, "rows": labels.rows}
    arrays = _core.grow(**common, **told, options=options, criterion=criterion)
    return Forest.from_arrays(labels.n_classes, arrays)


def core_arguments(labels: Labels | Numbers, settings: GrowSettings) -> tuple[dict[str, Any], Any]:
    """-> options and criterion as the core takes them."""
    options = _options(settings)
    if isinstance(labels, Numbers):
        return options, settings.criterion
    options |= {
        "n_classes": labels.n_classes,
        "weight_unit": labels.weight_unit,
        "balance_bag": labels.balance_bag,
    }
    return options, settings.criterion.in_core(labels.n_classes)


def _options(settings: GrowSettings) -> dict[str, Any]:
    """As the core takes them, for numbers; labels add what they know."""
    return {
        "splitter": SPLITTERS[settings.splitter],
        "count_sense": COUNT_SENSES[settings.leaf_counts],
        "n_classes": 1,
        "weight_unit": 1.0,
        "balance_bag": False,
        "max_features": settings.max_features,
        "max_depth": settings.max_depth,
        "min_samples_split": settings.min_samples_split,
        "min_samples_leaf": settings.min_samples_leaf,
        "min_weight_fraction_leaf": settings.min_weight_fraction_leaf,
        "max_leaf_nodes": settings.max_leaf_nodes,
        "min_impurity_decrease": settings.min_impurity_decrease,
        "bag_mean": settings.bag_mean,
        "seed": settings.seed,
        "monotonic": settings.monotonic,
    }
