"""Growth of forests in the core, and the training rows."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow import _core
from hedgerow.forest.forest import Forest
from hedgerow.forest.rows import NO_GRID, Bags, Entries, Groups, OobMask, Provenance, ProvenanceGrid
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
    labels = labels.under(settings.criterion)
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


# ---- Training rows: binned table, target and bags --------------------------------------------------------------------


class Fingerprint(NamedTuple):
    """Summary of rows and bags, which must agree between fits for a warm start."""

    rows: tuple[int, int] | None  # checksums of labels and codes, if a warm start will need them
    n_rows: int
    bag_mean: float
    leaf_counts: str
    n_groups: int = 0  # groups so far; 0 if every row was drawn on its own


@dataclass(frozen=True, eq=False, repr=False)
class TrainingRows:
    """Binned training rows of a forest, with their target and bags.

    A fitted forest keeps them at one or two bytes per cell of the table; pickles and model files do not contain them.

    Parameters
    ----------
    codes : (p, n)
        The codes of rows with positive weight.
    all_codes : (p, m)
        The codes of all rows that were given.
    kept : (n,) uint32 or None
        The rows with positive weight; None means all.
    target : Target
        The target of the n rows.
    bags : Bags
        The bags drawn from these rows, and the rows that leaves count.
    entries : Entries or None
        The entries on which trees are grown if cells are uncertain. `codes` are then those of typical values.
    """

    codes: Codes
    all_codes: Codes
    kept: NDArray[np.uint32] | None
    target: Any
    bags: Bags
    entries: Entries | None = None

    @classmethod
    def of(
        cls,
        all_codes: Codes,
        kept: NDArray[np.uint32] | None,
        target: Any,
        settings: GrowthParams,
        groups: Groups | None = None,
    ) -> TrainingRows:
        """Return training rows from all codes, rows of positive weight and target."""
        codes = all_codes if kept is None else np.ascontiguousarray(all_codes[:, kept])
        return cls(codes, all_codes, kept, target, bags_of(settings, codes.shape[1], groups))

    @property
    def to_grow(self) -> tuple[Codes, Any, Groups | None]:
        """Codes, target and groups on which trees are grown: those of rows, or of their entries."""
        if self.entries is None:
            return self.codes, self.target.for_core(), self.bags.groups
        return self.entries.codes, self.target.for_entries(self.entries), self.entries.units(self.bags.groups)

    @property
    def n_rows(self) -> int:
        """Number of rows n."""
        return int(self.codes.shape[1])

    @property
    def has_bags(self) -> bool:
        """Whether bags leave rows out."""
        return self.bags.mean != 0

    @property
    def oob_mask(self) -> OobMask:
        """Out-of-bag mask, with the contributions of rows to leaves that count them."""
        if not self.bags.counts_oob:
            return OobMask(self.bags, None, self.target.judged)
        own, masses = self.target.own, self.target.own_masses
        if masses is not None:
            own = np.hstack([own, masses.belief(), masses.plausibility()])
        own = self.target.labels if own is None else own
        return OobMask(self.bags, own, self.target.judged, own_masses=masses)

    @property
    def groups(self) -> NDArray[np.uint32] | None:
        """Group of each row, (n,); None without groups."""
        return self.bags.units

    @property
    def n_groups(self) -> int:
        """Number of groups that bags are drawn from; 0 without bags or groups."""
        return 0 if self.bags.groups is None or not self.has_bags else self.bags.groups.n_groups

    def concat(self, codes: Codes, target: Any, groups: Groups | None = None) -> TrainingRows:
        """Return these rows followed by later rows, codes (p, m), with groups of all."""
        kept, whole = self.kept, np.concatenate([self.codes, codes], axis=1)
        if kept is not None:
            later = self.all_codes.shape[1] + np.arange(codes.shape[1])
            kept = np.concatenate([kept, later]).astype(np.uint32)
        everything = whole if kept is None else np.concatenate([self.all_codes, codes], axis=1)
        bags = replace(self.bags, n_rows=whole.shape[1], groups=groups)
        return TrainingRows(whole, everything, kept, self.target.concat(target), bags)

    def codes_of(self, rows: NDArray[np.int64]) -> Codes:
        """Return the codes (p, m) of ascending rows (m,), without a copy for all rows."""
        return self.codes if len(rows) == self.n_rows else np.ascontiguousarray(self.codes[:, rows])

    def under(self, settings: GrowthParams) -> TrainingRows:
        """Return the rows with the bags of other settings."""
        return replace(self, bags=bags_of(settings, self.n_rows, self.bags.groups))

    def origin(self, n_trees: int, first_tree: int) -> Provenance:
        """Return the provenance of trees that were grown on these rows."""
        weighing = self.target.weighing()
        return Provenance(
            n_trees,
            first_tree,
            self.bags.seed,
            self.bags.mean,
            self.bags.leaf_counts,
            self.n_rows,
            self.n_rows,
            self.target.class_rows,
            weighing.scale,
            weighing.unit,
            NO_GRID if weighing.extremes is None else ProvenanceGrid.of(*weighing.extremes),
            self.n_groups,
            self.n_groups,
        )

    def fingerprint(self, *, of_rows: bool) -> Fingerprint:
        """Return the fingerprint for warm starts, with checksums of rows if `of_rows`."""
        checksums = self.checksums() if of_rows else None
        return Fingerprint(checksums, self.n_rows, self.bags.mean, self.bags.leaf_counts, self.n_groups)

    def checksums(self) -> tuple[int, int]:
        """Return checksums of labels, with groups if there are any, and of codes."""
        identity = zlib.crc32(np.ascontiguousarray(self.target.identity).data)
        if self.groups is not None and self.n_groups:
            identity = zlib.crc32(self.groups.data, identity)
        return identity, zlib.crc32(np.ascontiguousarray(self.codes).data)


def bags_of(settings: GrowthParams, n_rows: int, groups: Groups | None = None) -> Bags:
    """Return the bags that trees with these settings draw from rows or groups."""
    return Bags(settings.seed, settings.bag_mean, n_rows, leaf_counts=settings.leaf_counts, groups=groups)
