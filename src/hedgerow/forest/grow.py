"""Grow: codes and labels, or numbers -> a forest whose leaves keep their counts, or their moments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow import _core
from hedgerow.forest.forest import Forest
from hedgerow.table.bins import Bins, Codes
from hedgerow.target.base import Labels, Numbers

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
    below: dict[str, NDArray[Any]] | None = None,
) -> Forest:
    """Grow trees number `first_tree` to ``first_tree + n_trees - 1``.

    A tree depends on the table, the settings (with their seed) and its number, and on nothing else: neither on
    the number of threads nor on which trees are grown with it. `progress` is called a few times a second with
    the number of trees done; when it returns true, growing stops and the forest holds the trees before the
    first unfinished one.

    With `below`, trees are the parts of trees below nodes that were reached elsewhere, whose rows are gathered here.
    Its arrays are `has_missing` (p,), the features that lack values in the whole table; `times` (n,), how often the bag
    holds each row; `row_start` (nodes + 1,), where the rows of each node begin; and `key`, `depth`, `lower`, `upper`,
    `total_amount`, `used` and `used_start`, what the nodes inherit. Weights of labels are then those inside the tree,
    multiplicities included.
    """
    arrays = _core.grow(
        codes,
        bins_in_core(bins),
        target_in_core(labels, settings.criterion),
        options_in_core(settings),
        first_tree,
        n_trees,
        n_threads,
        progress,
        below,
    )
    return forest_from(labels, arrays)


def forest_from(labels: Labels | Numbers, arrays: dict[str, Any]) -> Forest:
    """What trees were grown for, and the arrays that the core made of it -> the forest."""
    return Forest.from_arrays(labels.n_classes, arrays)


def bins_in_core(bins: Bins) -> dict[str, Any]:
    """Where features are cut, as the core takes it."""
    return {name: getattr(bins, name) for name in ("n_bins", "nominal", "centers", "center_start")}


def target_in_core(labels: Labels | Numbers, criterion: Any) -> dict[str, Any]:
    """What trees are grown for, as the core takes it."""
    if isinstance(labels, Numbers):
        of_numbers = ("values", "weights", "sums", "amounts", "centre", "unit", "low", "high")
        return {"kind": "numbers", "criterion": criterion} | {name: getattr(labels, name) for name in of_numbers}
    of_labels = ("weights", "rows", "n_classes", "weight_unit", "balance_bag")
    told = {"kind": "classes", "labels": labels.numbers} | {name: getattr(labels, name) for name in of_labels}
    known: dict[str, Any] = criterion.in_core(labels.n_classes)
    return told | known | {"criterion": known["name"]}


def options_in_core(settings: GrowSettings) -> dict[str, Any]:
    """How trees are grown, as the core takes it: by the names of the settings, without the criterion."""
    options = {each.name: getattr(settings, each.name) for each in fields(settings) if each.name != "criterion"}
    signs = settings.monotonic
    return options | {"monotonic": None if signs is None else np.array(signs, dtype=np.int8)}
