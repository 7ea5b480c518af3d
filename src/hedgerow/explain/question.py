"""Samples to explain, with their leaves and opinions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.belief.opinion import Opinion
from hedgerow.forest.states import lift_distinct
from hedgerow.inference.batch import Batch
from hedgerow.rules import merge_states
from hedgerow.table.bins import Codes
from hedgerow.table.codebook import plain
from hedgerow.tasks.classification.predictor import ClassificationPredictor
from hedgerow.tasks.regression.predictor import RegressionPredictor

Array = NDArray[Any]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

#: Samples are explained in blocks of about this many cells of rows × trees × classes.
BLOCK_CELLS = 4_000_000
#: Of fewer leaves all are lifted: finding equal ones takes longer than lifting them under most rules.
FEW_LEAVES = 2048


@dataclass(frozen=True, eq=False)
class Question:
    """Some samples, the evidence in the leaves they reach, and the forest's answers.

    Parameters
    ----------
    predictor : ClassificationPredictor
        The forest as it answers.
    batch : Batch
        The samples.
    counts : (n, T, K) float64
        Evidence in the leaves reached.
    opinion, chosen : Opinion, bool (n, K)
        The forest's answers.
    """

    predictor: ClassificationPredictor
    batch: Batch
    counts: Floats
    opinion: Opinion
    chosen: Bools

    @property
    def n_samples(self) -> int:
        """n."""
        return len(self.batch)

    @property
    def codes(self) -> Codes:
        """(p, n): the samples as trees read them."""
        return self.batch.codes

    @property
    def columns(self) -> list[Array]:
        """(n,) each: the values, floats or category numbers."""
        return self.batch.columns

    @cached_property
    def label(self) -> NDArray[np.int64]:
        """(n,): label of the most probable class."""
        return np.asarray(self.opinion.probability.argmax(axis=1))

    @cached_property
    def leaf_nodes(self) -> NDArray[np.int32]:
        """(n, T): the node of the leaf reached in each tree."""
        return self.predictor.forest.leaf_nodes(self.codes)

    @property
    def is_open(self) -> Bools:
        """(n,): whether several classes remain."""
        return np.asarray(self.chosen.sum(axis=1) > 1)

    def values(self, row: int) -> dict[str, Any]:
        """Feature name -> value of one sample."""
        return self.predictor.codebook.of_row(self.columns, row)

    def likely(self, row: int) -> list[int]:
        """The labels of the classes that remain for one sample, the most probable first."""
        order = np.argsort(-self.opinion.probability[row], kind="stable")
        return [int(k) for k in order if self.chosen[row, k]]

    def missing(self, row: int) -> list[int]:
        """Features that trees ask about and whose values one sample lacks."""
        return missing_features(self.predictor, self.codes[:, row])


def missing_features(predictor: ClassificationPredictor | RegressionPredictor, codes: Codes) -> list[int]:
    """One sample (p,) -> the features that trees ask about and whose values it lacks."""
    used = predictor.forest.used_features
    return [int(j) for j in used[codes[used] == predictor.codebook.missing_code]]


def counts_of(predictor: ClassificationPredictor, codes: Codes) -> Floats:
    """Codes (p, n) -> (n, T, K): evidence in the leaves reached."""
    return predictor.forest.counts_reached(np.ascontiguousarray(codes))


def opinion_of(predictor: ClassificationPredictor, counts: Floats, caution: float | None = None) -> Opinion:
    """Evidence (n, T, K) -> opinion under the rule, perhaps with another caution."""
    rule, setting = (
        predictor.rule,
        predictor.setting if caution is None else replace(predictor.setting, caution=caution),
    )
    leaves = counts.reshape(-1, counts.shape[2])
    few = len(leaves) < FEW_LEAVES
    states = rule.lift(leaves, setting) if few else lift_distinct(rule, leaves, setting)
    states = states.reshape(*counts.shape[:2], -1)
    if predictor.weights is not None:
        states = states * predictor.weights[None, :, None]
    return rule.finish(merge_states(states, rule.merge), setting)


def only_class(predictor: ClassificationPredictor, counts: Floats, caution: float | None = None) -> NDArray[np.int64]:
    """Evidence (n, T, K) -> (n,): the only class that remains, or -1 if there are several."""
    chosen = predictor.decide(opinion_of(predictor, counts, caution))
    return np.where(chosen.sum(axis=1) == 1, chosen.argmax(axis=1), -1)


def tree_shares(predictor: ClassificationPredictor) -> Floats:
    """(T,): the weights of the trees, with sum one."""
    weights = np.ones(predictor.forest.n_trees) if predictor.weights is None else predictor.weights
    total = weights.sum()
    return np.asarray(weights / total if total > 0 else np.full(len(weights), 1 / len(weights)))


def labels_of(predictor: ClassificationPredictor) -> list[Any]:
    """(K,): the classes as Python values."""
    return [plain(label) for label in predictor.classes.tolist()]


def chosen_classes(predictor: ClassificationPredictor, opinion: Opinion) -> NDArray[np.bool_]:
    """An opinion -> (n, K): the classes that remain, refused if the decision chooses actions."""
    chosen = predictor.decide(opinion)
    if chosen.shape[1] != len(predictor.classes):
        raise ValueError(
            f"decision must choose among the {len(predictor.classes)} classes to be explained, got"
            f" {predictor.decision!r}, which chooses among {chosen.shape[1]} actions; set another decision"
        )
    return chosen


def questions(predictor: ClassificationPredictor, batch: Batch) -> Iterator[tuple[int, Question]]:
    """Samples -> blocks of questions, each with its first sample."""
    cells = predictor.forest.n_trees * predictor.forest.n_classes
    block = max(1, BLOCK_CELLS // cells)
    if predictor.decision.groups is not None:
        raise ValueError(
            f"decision must make one promise for all samples to be explained, got {predictor.decision!r}, whose"
            " thresholds differ between groups; set groups=None, or another decision"
        )
    for first in range(0, len(batch), block):
        part = batch[first : first + block]
        counts = counts_of(predictor, part.codes)
        opinion = predictor.adjusted(opinion_of(predictor, counts), part)
        yield first, Question(predictor, part, counts, opinion, chosen_classes(predictor, opinion))
