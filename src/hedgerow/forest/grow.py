"""Grow: codes and a target -> a forest whose leaves keep their counts or moments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow import _core
from hedgerow.forest.forest import Forest
from hedgerow.forest.rows import Groups
from hedgerow.forest.target import CoreTarget
from hedgerow.table.bins import Bins, Codes

NO_LIMIT = 2**32 - 1
#: From so many bytes of codes on, what was freed is given back before and after trees are grown.
LARGE = 1 << 24


@dataclass(frozen=True)
class GrowthParams:
    """How trees are grown; shares and words such as "sqrt" have been replaced by numbers for the given table."""

    splitter: str
    criterion: Any  # a Criterion of classes, or the name of one of numbers
    leaf_counts: str
    max_features: int
    constant_features: str
    max_depth: int
    min_samples_split: int
    min_samples_leaf: int
    min_weight_fraction_leaf: float
    max_leaf_nodes: int
    min_impurity_decrease: float
    bag_mean: float
    seed: int
    monotonic: list[int] | None
    feature_weights: list[float] | None = None

    @property
    def needs_all_rows(self) -> tuple[str, str] | None:
        """Which parameter keeps trees from being grown on parts of the rows, and why; None if they can be."""
        if self.max_leaf_nodes:
            return "max_leaf_nodes must be None", f"got {self.max_leaf_nodes}: it needs the best of all nodes"
        if self.criterion == "absolute_error":
            return "criterion must be another", "got 'absolute_error': medians do not add up over partitions"
        if self.bag_mean < 0:
            return "bootstrap must be True or False", "got 'multinomial': its draws depend on all rows"
        return None


def grow_forest(
    codes: Codes,
    bins: Bins,
    labels: CoreTarget,
    settings: GrowthParams,
    *,
    first_tree: int = 0,
    n_trees: int,
    n_threads: int = 1,
    progress: Callable[[int], bool] | None = None,
    below: dict[str, NDArray[Any]] | None = None,
    groups: Groups | None = None,
) -> Forest:
    """Grow trees number `first_tree` to ``first_tree + n_trees - 1``.

    A tree depends only on the table, the settings (with their seed) and its number; neither the number of threads nor
    the other trees of the call change it. `progress` is called a few times a second with the number of finished trees.
    If it returns true, growing stops, and the forest holds the trees before the first unfinished one.

    With `below`, each tree is the part of a tree below a node that was reached elsewhere; the rows of these nodes are
    gathered here. `below` has the arrays `has_missing` (p,), the features with missing values in the whole table;
    `times` (n,), how often the bag holds each row; `row_start` (nodes + 1,), where the rows of each node begin; and
    what the nodes inherit: `key`, `depth`, `lower`, `upper`, `total_amount`, `used` and `used_start`. Weights of labels
    are then multiplied by how often the bag holds the row.

    With `groups`, all rows of a group are drawn into the bag of a tree together.
    """
    is_large = codes.nbytes >= LARGE
    if is_large:
        _core.give_back_memory()
    arrays = _core.grow(
        codes,
        bins_in_core(bins),
        labels.fields(settings.criterion),
        options_in_core(settings) | {"units": None if groups is None else groups.of_row},
        first_tree,
        n_trees,
        n_threads,
        progress,
        below,
    )
    if is_large:
        _core.give_back_memory()
    return forest_from(labels, arrays)


def forest_from(labels: CoreTarget, arrays: dict[str, Any]) -> Forest:
    """The target, and the arrays that the core has made -> the forest."""
    return Forest.from_arrays(labels.n_classes, arrays)


def bins_in_core(bins: Bins) -> dict[str, Any]:
    """Bins in the form in which the core takes them."""
    return {name: getattr(bins, name) for name in ("n_bins", "nominal", "centers", "center_start")}


def options_in_core(settings: GrowthParams) -> dict[str, Any]:
    """Settings in the form in which the core takes them: by their names, without the criterion."""
    options = {each.name: getattr(settings, each.name) for each in fields(settings) if each.name != "criterion"}
    signs, weights = settings.monotonic, settings.feature_weights
    return options | {
        "monotonic": None if signs is None else np.array(signs, dtype=np.int8),
        "feature_weights": None if weights is None else np.array(weights, dtype=np.float64),
    }
