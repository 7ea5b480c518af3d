"""Growth of forests in the core."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow import _core
from hedgerow.forest.forest import Forest
from hedgerow.forest.rows import Bags, Groups
from hedgerow.forest.target import CoreTarget
from hedgerow.table.bins import Bins, Codes

NO_LIMIT = 2**32 - 1
#: From this many bytes of codes on, free memory is returned to the system before and after trees are grown.
LARGE = 1 << 24


@dataclass(frozen=True)
class GrowthParams:
    """Growth parameters of trees, resolved for the given table."""

    splitter: str
    criterion: Any  # a Criterion for classes, or the name of a regression criterion
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
    min_gain: float = 0.0

    @property
    def needs_all_rows(self) -> tuple[str, str] | None:
        """Constraint and reason of a parameter that needs all rows in one place."""
        if self.max_leaf_nodes:
            return "max_leaf_nodes must be None", f"got {self.max_leaf_nodes}: it needs the best of all nodes"
        if self.splitter == "mixed":
            return "the splitter must be the same for all trees", "got 'mixed': its trees take turns"
        if self.criterion == "absolute_error":
            return "criterion must not be 'absolute_error'", "whose medians do not add up over partitions"
        if not isinstance(self.criterion, str) and self.criterion.of_numbers:
            return "criterion must not be 'belief' in a regression", "whose squares need the mean of a node first"
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
    below: dict[str, NDArray[np.generic]] | None = None,
    groups: Groups | None = None,
) -> Forest:
    """Grow trees number `first_tree` to ``first_tree + n_trees - 1``.

    A tree depends only on the table, the settings (with their seed) and its number; neither the number of threads nor
    the other trees of the call change it. `progress` is called a few times a second with the number of finished trees.
    If it returns true, growing stops, and the forest has the trees before the first unfinished one.

    With `below`, each tree is a subtree below a node that was reached elsewhere; the rows of these nodes are gathered
    here. `below` has the arrays `has_missing` (p,), the features with missing values in the whole table; `times` (n,),
    the multiplicity of each row in the bag; `row_start` (nodes + 1,), the start of the rows of each node; and the
    inherited state of nodes: `key`, `depth`, `lower`, `upper`, `total_amount`, `used` and `used_start`. Weights of
    labels are then multiplied by multiplicities.

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
    forest = forest_from(labels, arrays)
    bags = Bags(settings.seed, settings.bag_mean, codes.shape[1], first_tree, settings.leaf_counts, groups)
    return labels.with_masses(forest, codes, bags, n_threads)


def forest_from(labels: CoreTarget, arrays: dict[str, Any]) -> Forest:
    """Return the forest of the arrays that the core returns."""
    return Forest.from_arrays(labels.n_classes, arrays)


def bins_in_core(bins: Bins) -> dict[str, Any]:
    """Return bins as the core takes them."""
    return {name: getattr(bins, name) for name in ("n_bins", "nominal", "centers", "center_start")}


def options_in_core(settings: GrowthParams) -> dict[str, Any]:
    """Return settings as the core takes them: by name, without the criterion."""
    options = {each.name: getattr(settings, each.name) for each in fields(settings) if each.name != "criterion"}
    signs, weights = settings.monotonic, settings.feature_weights
    return options | {
        "leaf_counts": "distinct" if settings.leaf_counts == "groups" else settings.leaf_counts,
        "monotonic": None if signs is None else np.array(signs, dtype=np.int8),
        "feature_weights": None if weights is None else np.array(weights, dtype=np.float64),
    }
