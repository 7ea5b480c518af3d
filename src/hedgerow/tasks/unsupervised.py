"""Unsupervised tasks: totally random trees, densities, and real versus permuted rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from hedgerow.errors import ModelFileError
from hedgerow.fit.groups import GroupsLike, read_groups, split_groups
from hedgerow.fit.run import FitRun, grow, read_rows
from hedgerow.fit.task import Task
from hedgerow.forest.forest import Forest
from hedgerow.forest.grow import Fingerprint, GrowthParams, TrainingRows
from hedgerow.forest.moments import LeafMoments
from hedgerow.forest.rows import Groups
from hedgerow.forest.target import TargetInfo
from hedgerow.forest.walk import Tree
from hedgerow.inference.fitted import Fitted, fitted_of, publish
from hedgerow.inference.predictor import Predictor
from hedgerow.params.checks import check_once_fitted, check_parameters, require_resolved
from hedgerow.params.resolve import resolve_settings, seed_from
from hedgerow.params.table import Params, TreeEstimator
from hedgerow.storage.parameters import Decoder, Encoder
from hedgerow.storage.state import State, state_from_contents, state_to_contents
from hedgerow.storage.values import Arrays, Once, take
from hedgerow.table import Table
from hedgerow.table.binned import bins_and_codes
from hedgerow.table.bins import Bins, Codes
from hedgerow.table.schema import TableLike
from hedgerow.tasks.classification.target import ClassificationTarget, ClassLabels
from hedgerow.tasks.regression.target import read_number_target
from hedgerow.util.runtime import thread_count

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FeatureRanges(TargetInfo):
    """Range of each feature in the training rows.

    Parameters
    ----------
    ranges : (p, 2) float64 or None
        The smallest and the largest value of each feature.
    """

    ranges: Floats | None = None


class Unsupervised(Task):
    """Trees without y, whose leaves group similar rows."""

    name = "unsupervised"
    file_keys = frozenset({"parameters", "table", "seed", "bag", "fitted"})
    #: Names of the leaf counts.
    leaf_names: ClassVar[tuple[str, ...]]

    def dump(self, model: TreeEstimator) -> tuple[dict[str, Any], Arrays]:
        """Return the JSON and arrays of fitted trees; the training table is not saved."""
        check_once_fitted(model)
        encoder, fitted = Encoder(), fitted_of(model)
        state, arrays = state_to_contents(fitted)
        contents = {"parameters": encoder.parameters(model), **state, "fitted": {}}
        return contents, arrays | self._info_arrays(fitted.info) | encoder.arrays

    def load(self, estimator: type, given: dict[str, Any], arrays: Arrays, once: Once | None = None) -> Any:
        """Read fitted trees, and check everything; arrays read are removed from `arrays`."""
        model = Decoder(arrays, len(self.leaf_names)).estimator(given["parameters"], estimator)
        check_once_fitted(model)
        state = state_from_contents(given, arrays, len(self.leaf_names))
        fitted = Fitted(
            schema=state.schema,
            bins=state.bins,
            info=self._info_from(state, arrays),
            forest=state.forest,
            criterion=None,
            seed=state.seed,
            fingerprint=state.fingerprint,
        )
        return publish(model, fitted)

    def _info_arrays(self, info: TargetInfo) -> Arrays:
        """Return the arrays of the target info."""
        return {}

    def _info_from(self, state: State, arrays: Arrays) -> TargetInfo:
        """Read the target info."""
        return TargetInfo(np.array(self.leaf_names))


class RandomEmbedding(Unsupervised):
    """Totally random trees, whose splits do not depend on the rows."""

    leaf_names = ("rows",)

    def fit(self, model: TreeEstimator, X: TableLike, sample_weight: ArrayLike | None) -> Fitted:
        """Grow trees on noise; its values all differ, so only limits end a branch."""
        before: Fitted | None = model.__dict__.get("_fitted") if model.warm_start else None
        table, n_threads = _read(model, X, before), thread_count(model.n_jobs)
        seed = before.seed if before else seed_from(model.random_state)
        noise = np.random.default_rng(seed).random(table.n_rows)
        target, kept = read_number_target(noise, sample_weight, table.n_rows, "squared_error")
        settings = resolve_settings(model, target.n_rows, table.n_features, table.schema.names, 1)
        settings = replace(settings, leaf_counts="inbag", seed=seed)
        known = before.bins if before else None
        bins, codes = bins_and_codes(table, known, rows=kept, max_bins=model.max_bins, n_threads=n_threads)
        rows = TrainingRows.of(codes, kept, target, settings)
        run = _run(model, X, rows, table, bins, settings, before)
        return replace(
            run.published(grow(run, without_moments)),
            info=FeatureRanges(np.array(self.leaf_names), _ranges(table)),
            fingerprint=Fingerprint(None, target.n_rows, 0.0, "all"),
        )

    def predictor(self, fitted: Fitted, params: Params, estimator: type) -> Predictor:
        """Return the predictor of leaves, paths and proximities."""
        return Predictor(fitted, params, estimator)

    def _info_arrays(self, info: TargetInfo) -> Arrays:
        """Return the range of each feature."""
        return {"ranges": info.ranges} if isinstance(info, FeatureRanges) and info.ranges is not None else {}

    def _info_from(self, state: State, arrays: Arrays) -> FeatureRanges:
        """Read the range of each feature, checked."""
        ranges = take(arrays, "ranges", np.float64, shape=(state.schema.n_features, 2)).copy()
        if (ranges[:, 0] > ranges[:, 1]).any():
            low, high = ranges[ranges[:, 0] > ranges[:, 1]][0]
            raise ModelFileError(
                f"malformed 'ranges': the lowest value must not exceed the highest, got {low:g}, {high:g}"
            )
        return FeatureRanges(np.array(self.leaf_names), ranges)


class RealOrPermuted(Unsupervised):
    """Forest that separates real rows from rows with independently permuted features."""

    leaf_names = ("permuted", "real")

    def fit(self, model: TreeEstimator, X: TableLike, groups: GroupsLike = None) -> Fitted:
        """Grow trees that separate the table from a copy with permuted columns."""
        X, groups = split_groups(X, groups)
        table, n_threads = _read(model, X), thread_count(model.n_jobs)
        settings = resolve_settings(model, 2 * table.n_rows, table.n_features, table.schema.names, 2)
        bins, real = bins_and_codes(table, max_bins=model.max_bins, n_threads=n_threads)
        codes = np.concatenate([real, _permuted(real, settings.seed)], axis=1)
        labels = np.repeat(np.array([1, 0], dtype=np.uint16), table.n_rows)
        target = ClassificationTarget(np.array(self.leaf_names), ClassLabels(labels, None, 1.0, 2))
        together = read_groups(groups, table.n_rows, None)
        if together is not None:  # permuted rows are drawn on their own
            alone = together.n_groups + np.arange(table.n_rows, dtype=np.uint32)
            together = Groups(np.concatenate([together.of_row, alone]), together.n_groups + table.n_rows)
        rows = TrainingRows.of(codes, None, target, settings, together)
        run = _run(model, X, rows, table, bins, settings)
        return run.published(grow(run))

    def predictor(self, fitted: Fitted, params: Params, estimator: type) -> UnsupervisedPredictor:
        """Return the predictor of leaves, paths and proximities of the real rows."""
        return UnsupervisedPredictor(fitted, params, estimator)


class UnsupervisedPredictor(Predictor):
    """Predictor restricted to the real rows; as many permuted rows are ignored."""

    @property
    def n_training_rows(self) -> int | None:
        """Number of real rows."""
        both = super().n_training_rows
        return None if both is None else both // 2

    @property
    def n_training_groups(self) -> int:
        """Number of groups of the real rows; each permuted row is a group too."""
        return max(0, super().n_training_groups - (self.n_training_rows or 0))

    def training_codes(self) -> Codes:
        """Return the codes of the real rows, (p, n).

        They come first, so their bags do not depend on the permuted rows.
        """
        both = super().training_codes()
        return np.ascontiguousarray(both[:, : both.shape[1] // 2])


def without_moments(forest: Forest) -> Forest:
    """Return the forest without the moments of the noise."""
    assert isinstance(forest.evidence, LeafMoments)
    return replace(forest, evidence=forest.evidence.as_counts())


def _read(model: TreeEstimator, X: TableLike, before: Fitted | None = None) -> Any:
    """Check the parameters, and read the table with the columns of an earlier fit."""
    check_parameters(model)
    require_resolved(model, "for unsupervised trees", "Pass a number.")
    return read_rows(model, X, before)


def _run(
    model: TreeEstimator,
    X: TableLike,
    rows: TrainingRows,
    table: Table,
    bins: Bins,
    settings: GrowthParams,
    before: Fitted | None = None,
) -> FitRun:
    """Return the fit before its trees are grown."""
    fingerprint = rows.fingerprint(of_rows=False)
    return FitRun(model, rows, table.schema, bins, settings, fingerprint, before, (X, None))


def _ranges(table: Table) -> Floats:
    """Return the range of each feature, (p, 2); NaN if missing values or categorical."""
    parts = []
    for first, columns in table.column_blocks():
        nominal = table.schema.nominal[first : first + len(columns)]
        parts += [
            (np.nan, np.nan) if is_nominal else (column.min(), column.max())
            for column, is_nominal in zip(columns, nominal, strict=True)
        ]
    return np.array(parts, dtype=np.float64)


def _permuted(codes: Codes, seed: int) -> Codes:
    """Permute each feature of codes (p, n) on its own."""
    rng = np.random.default_rng(seed)
    return np.stack([column[rng.permutation(len(column))] for column in codes])


# ---- Densities of leaves and forests ---------------------------------------------------------------------------------


#: Number of rows whose leaves are found at once.
BLOCK_ROWS = 8192


def leaf_log_density(tree: Tree, ranges: Floats) -> Floats:
    """Return log(rows / (all rows × volume)) of each leaf; splits must be numeric.

    The box of a leaf is cut out of the feature `ranges` (p, 2) by the splits above it. Features with a single value are
    ignored.
    """
    leaves = np.flatnonzero(tree.is_leaf)
    rows, volume = tree.counts.sum(axis=1), _log_volumes(tree, ranges)
    density = np.full(len(leaves), -np.inf)
    filled = leaves[rows[leaves] > 0]
    density[tree.nodes.payload[filled]] = np.log(rows[filled] / rows[0]) - volume[filled]
    return density


def forest_log_density(forest: Forest, densities: Floats, codes: Codes, n_threads: int = 1) -> Floats:
    """Return the log of the mean density over trees, (n,), given log densities (L,)."""
    found = np.empty(codes.shape[1])
    for first in range(0, len(found), BLOCK_ROWS):
        block = np.ascontiguousarray(codes[:, first : first + BLOCK_ROWS])
        reached = forest.leaves(block, n_threads) + forest.leaf_start[:-1]
        found[first : first + BLOCK_ROWS] = logsumexp(densities[reached], axis=1) - np.log(forest.n_trees)
    return found


def _log_volumes(tree: Tree, ranges: Floats) -> Floats:
    """Return the log volume of the box of each node, (N,), level by level."""
    width = ranges[:, 1] - ranges[:, 0]
    volume = np.full(tree.n_nodes, np.log(width[width > 0]).sum())
    level, low, high = np.zeros(1, dtype=np.int64), ranges[None, :, 0], ranges[None, :, 1]
    while len(level):
        inner = np.flatnonzero(~tree.is_leaf[level])
        parents, above = np.repeat(level[inner], 2), np.repeat(inner, 2)
        is_right = np.tile([False, True], len(inner))
        children = tree.first_child[parents] + is_right
        feature, threshold = tree.feature[parents], tree.threshold[parents]
        low, high, child = low[above], high[above], np.arange(len(children))
        before = high[child, feature] - low[child, feature]
        low[child[is_right], feature[is_right]] = threshold[is_right]
        high[child[~is_right], feature[~is_right]] = threshold[~is_right]
        volume[children] = volume[parents] + np.log((high - low)[child, feature] / before)
        level = children
    return volume
