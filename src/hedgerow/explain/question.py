"""Samples to explain, with their leaves and opinions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.belief.opinion import Opinion
from hedgerow.forest.reducers import lift_distinct
from hedgerow.inference.batch import Batch
from hedgerow.inference.predictor import Predictor
from hedgerow.rules import merge_states
from hedgerow.table.bins import Codes, plain
from hedgerow.table.schema import Array
from hedgerow.tasks.classification.predictor import ClassificationPredictor

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

#: Samples are explained in blocks of about this many cells of rows × trees × classes.
BLOCK_CELLS = 4_000_000
#: Below this number all leaves are lifted, because finding equal ones would take longer.
FEW_LEAVES = 2048


@dataclass(frozen=True, eq=False)
class Question:
    """Samples, the evidence in the leaves they reach, and the predictions.

    Parameters
    ----------
    predictor : ClassificationPredictor
        Predictor of the forest.
    batch : Batch
        The samples.
    counts : (n, T, K) float64
        Evidence in the leaves reached.
    opinion, chosen : Opinion, bool (n, K)
        Opinions, and prediction sets.
    """

    predictor: ClassificationPredictor
    batch: Batch
    counts: Floats
    opinion: Opinion
    chosen: Bools

    @property
    def n_samples(self) -> int:
        """Number of samples n."""
        return len(self.batch)

    @property
    def codes(self) -> Codes:
        """Bin indices (p, n) of the samples."""
        return self.batch.codes

    @property
    def columns(self) -> list[Array]:
        """Values (n,) of each feature, floats or category numbers."""
        return self.batch.columns

    @cached_property
    def label(self) -> NDArray[np.int64]:
        """Index of the most probable class (n,)."""
        return np.asarray(self.opinion.probability.argmax(axis=1))

    @cached_property
    def views(self) -> Floats | None:
        """Probabilities of the views of the forest, (n, V · K); None if it has no views."""
        return views_of(self.predictor, self.codes)

    def views_with(
        self, samples: NDArray[np.int64], labels: NDArray[np.int64], numbers: NDArray[np.int64]
    ) -> Floats | None:
        """Return the views of samples (m,) with a number of further rows of a class in their leaves."""
        views, forest = self.predictor.rule.views, self.predictor.forest
        if views is None:
            return None
        more = np.zeros((len(samples), forest.n_classes))
        more[np.arange(len(samples)), labels] = numbers
        leaves = forest.leaves(np.ascontiguousarray(self.codes[:, samples])).astype(np.int64)
        return forest.viewed(views).with_more(leaves, more)

    @cached_property
    def leaf_nodes(self) -> NDArray[np.int32]:
        """Node of the leaf reached in each tree (n, T)."""
        return self.predictor.forest.leaf_nodes(self.codes)

    @property
    def is_open(self) -> Bools:
        """Mask of undecided samples (n,)."""
        return np.asarray(self.chosen.sum(axis=1) > 1)

    def values(self, row: int) -> dict[str, Any]:
        """Return the values of one sample by feature name."""
        return self.predictor.codebook.of_row(self.columns, row)

    def likely(self, row: int) -> list[int]:
        """Return the indices of the classes in the set of one sample, the most probable first."""
        order = np.argsort(-self.opinion.probability[row], kind="stable")
        return [int(k) for k in order if self.chosen[row, k]]

    def missing(self, row: int) -> list[int]:
        """List the features used by some tree whose values are missing in one sample."""
        return missing_features(self.predictor, self.codes[:, row])


def missing_features(predictor: Predictor, codes: Codes) -> list[int]:
    """List the features used by some tree whose values are missing in a sample (p,)."""
    used = predictor.forest.used_features
    return [int(j) for j in used[codes[used] == predictor.codebook.missing_code]]


def counts_of(predictor: ClassificationPredictor, codes: Codes) -> Floats:
    """Return the evidence in the leaves that samples (p, n) reach, (n, T, K).

    If training labels were uncertain, their gaps are next to the counts, (n, T, 3K).
    """
    return predictor.forest.widened.counts_reached(np.ascontiguousarray(codes))


def certain_counts(predictor: ClassificationPredictor, counts: Floats) -> tuple[Floats, Floats]:
    """Split evidence (..., K) or (..., 3K) into the counts of certain labels (..., K) and pseudo-counts (...).

    Rows of uncertain labels are added to the caution.
    """
    n_classes = predictor.forest.n_classes
    caution = np.full(counts.shape[:-1], predictor.setting.caution)
    if counts.shape[-1] == n_classes:
        return counts, caution
    below = counts[..., n_classes : 2 * n_classes]
    return counts[..., :n_classes] - below, caution + below.sum(axis=-1)


def views_of(predictor: ClassificationPredictor, codes: Codes) -> Floats | None:
    """Return the probabilities of the views of samples (p, n), (n, V · K); None if the forest has no views."""
    views = predictor.rule.views
    return None if views is None else predictor.forest.viewed(views).probability(np.ascontiguousarray(codes))


def opinion_of(
    predictor: ClassificationPredictor, counts: Floats, views: Floats | None, caution: float | None = None
) -> Opinion:
    """Combine evidence (n, T, K) and views (n, V · K) by the rule, optionally with another caution."""
    rule, setting = (
        predictor.wide_rule,
        predictor.setting if caution is None else replace(predictor.setting, caution=caution),
    )
    leaves = counts.reshape(-1, counts.shape[2])
    few = len(leaves) < FEW_LEAVES
    states = rule.lift(leaves, setting) if few else lift_distinct(rule, leaves, setting)
    states = states.reshape(*counts.shape[:2], -1)
    if predictor.weights is not None:
        states = states * predictor.weights[None, :, None]
    merged = merge_states(states, rule.merge)
    return rule.finish(merged if views is None else np.hstack([merged, views]), setting)


def only_class(
    predictor: ClassificationPredictor, counts: Floats, views: Floats | None, caution: float | None = None
) -> NDArray[np.int64]:
    """Return the only class of each prediction set (n,), or -1, from evidence (n, T, K) and views (n, V · K)."""
    chosen = predictor.class_sets(opinion_of(predictor, counts, views, caution))
    return np.where(chosen.sum(axis=1) == 1, chosen.argmax(axis=1), -1)


def tree_shares(predictor: ClassificationPredictor) -> Floats:
    """Return the weights of the trees (T,), normalised to sum one."""
    weights = np.ones(predictor.forest.n_trees) if predictor.weights is None else predictor.weights
    total = weights.sum()
    return np.asarray(weights / total if total > 0 else np.full(len(weights), 1 / len(weights)))


def labels_of(predictor: ClassificationPredictor) -> list[Any]:
    """Return the classes as Python values (K,)."""
    return [plain(label) for label in predictor.classes.tolist()]


def check_one_threshold(predictor: ClassificationPredictor) -> None:
    """Raise a ValueError if the decision has a threshold per group, which explanations do not support."""
    if predictor.decision.groups is not None:
        raise ValueError(
            f"decision must have one threshold for all samples to be explained, got {predictor.decision!r}, which has"
            " one per group. Set groups=None."
        )


def questions(predictor: ClassificationPredictor, batch: Batch) -> Iterator[tuple[int, Question]]:
    """Yield blocks of samples as questions, each with the number of its first sample."""
    cells = predictor.forest.n_trees * predictor.forest.n_classes
    block = max(1, BLOCK_CELLS // cells)
    check_one_threshold(predictor)
    for first in range(0, len(batch), block):
        part = batch[first : first + block]
        counts = counts_of(predictor, part.codes)
        opinion = predictor.adjusted(opinion_of(predictor, counts, views_of(predictor, part.codes)), part)
        yield first, Question(predictor, part, counts, opinion, predictor.class_sets(opinion))
