"""Pairwise classification task, and its predictor."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedgerow.belief import mass_from_counts
from hedgerow.belief.masses.frame import row_products
from hedgerow.belief.masses.pairwise import pair_misfit, solve_pairs
from hedgerow.belief.opinion import Opinion, opinion_from_bounds
from hedgerow.fit.run import FitRun
from hedgerow.forest.class_counts import ClassCounts
from hedgerow.forest.forest import Forest, join_forests
from hedgerow.forest.grow import TrainingRows, grow_forest
from hedgerow.forest.nodes import Nodes
from hedgerow.forest.prune import prune
from hedgerow.forest.target import ReadTarget
from hedgerow.forest.walk import Tree
from hedgerow.inference.batch import Batch
from hedgerow.inference.fitted import Fitted
from hedgerow.params.table import Params, TreeEstimator
from hedgerow.table.bins import Codes
from hedgerow.table.schema import TargetLike
from hedgerow.tasks.classification.predictor import ClassificationPredictor
from hedgerow.tasks.classification.target import ClassLabels
from hedgerow.tasks.classification.task import Classification

Floats = NDArray[np.float64]


class PairwiseClassification(Classification):
    """Classification with one tree per pair of classes, grown on their rows."""

    name = "pairwise"
    one_table = False
    reads_cells = False

    def read_y(
        self,
        model: TreeEstimator,
        y: TargetLike | None,
        sample_weight: ArrayLike | None,
        n_rows: int,
        before: Fitted | None = None,
        classes: ArrayLike | None = None,
    ) -> ReadTarget:
        """Read labels, which must be certain, and weights."""
        read = super().read_y(model, y, sample_weight, n_rows, before, classes)
        if read.target.known is not None:
            raise ValueError(
                "pairwise trees do not support uncertain labels. Use a RandomForestClassifier, or fit"
                " label_shares_.argmax(axis=1) of one."
            )
        return read

    def for_outputs(self) -> PairwiseClassification:
        """Return this task, which raises for multi-output y."""
        return self

    def grow(self, run: FitRun) -> Forest:
        """Grow one tree per pair."""
        if run.checkpoint:
            raise ValueError(f"checkpoint must be None for pairwise trees, got {run.checkpoint!r}.")
        trees = [_tree_of_pair(run, number, *table) for number, table in enumerate(self.tables(run.rows))]
        return join_forests(*trees)

    def tables(self, rows: TrainingRows) -> Iterator[tuple[Codes, ClassLabels]]:
        """Yield the codes (p, n) and labels of the rows of each pair."""
        labels = rows.target.for_core()
        for first, second in pairs_of(len(rows.target.classes)):
            kept = np.flatnonzero((labels.numbers == first) | (labels.numbers == second))
            of_pair = (labels.numbers[kept] != first).astype(np.uint16)
            labels_of_pair = replace(labels.take(kept), numbers=of_pair, n_classes=2)
            yield np.ascontiguousarray(rows.codes[:, kept]), labels_of_pair

    def predictor(self, fitted: Fitted, params: Params, estimator: type) -> PairwisePredictor:
        """Return the predictor that combines the trees of all pairs."""
        return PairwisePredictor(fitted, params, estimator)

    def tree_shape(self, estimator: type, n_classes: int) -> tuple[int, int | None]:
        """Return 2, the number of classes per leaf, and the number of pairs."""
        return 2, len(pairs_of(n_classes))

    def distributed(self, model: TreeEstimator) -> None:
        """Return None: clusters do not support pairwise trees."""


class PairwisePredictor(ClassificationPredictor):
    """Predictor that combines pairwise trees by a quadratic programme."""

    kind = "pairs"
    combines_leaves = False
    takes_uncertain = False

    def adjusted(self, opinion: Opinion, batch: Batch) -> Opinion:
        """Return the opinion unchanged."""
        return opinion

    def adjusted_rows(self, batch: Batch) -> None:
        """Return None, because `adjusted` changes no rows."""

    def plain_probability(self, codes: Codes) -> Floats:
        """Return probabilities, (n, K)."""
        return self.combined(codes).probability

    def combined(self, codes: Codes) -> Opinion:
        """Return the opinion with belief, plausibility and pignistic probability.

        Its conflict is the disagreement between pairs.
        """
        focal, mass, misfit = self.solve(codes)
        members, sizes = focal.astype(np.float64), focal.sum(axis=1, keepdims=True)
        shares = np.hstack([members / sizes, members * (sizes == 1), members])
        probability, lower, upper = np.split(row_products(mass, shares), 3, axis=1)
        return opinion_from_bounds(probability, lower, upper, misfit)

    def leaf_states(self) -> Floats:
        """Return the mass of every leaf over the two classes of its tree, (L, 4)."""
        evidence = [self.forest.evidence_in(tree) for tree in range(self.forest.n_trees)]
        return mass_from_counts(np.concatenate(evidence), "idm", caution=self.caution)

    def solve(self, codes: Codes) -> tuple[NDArray[np.bool_], Floats, Floats]:
        """Return focal sets (F, K), their masses (n, F) and the misfit of pairs (n,)."""
        n_rows = codes.shape[1]
        if len(self.classes) == 1:
            return np.array([[True]]), np.ones((n_rows, 1)), np.zeros(n_rows)
        counts = self.forest.counts_reached(codes, self.threads(n_rows))
        given = mass_from_counts(counts, "idm", caution=self.caution)
        focal, mass = solve_pairs(given)
        return focal, mass, pair_misfit(given, focal, mass)


def pair_trees(fitted: Fitted) -> list[Tree]:
    """Return the trees of a fit, each with the names of its two classes."""
    names = fitted.info.names
    pairs = enumerate(pairs_of(len(names)))
    return [Tree(fitted.forest, number, fitted.bins, fitted.schema, names[list(pair)]) for number, pair in pairs]


def pairs_of(n_classes: int) -> list[tuple[int, int]]:
    """Return the pairs of class numbers, in the order of their trees."""
    return list(combinations(range(n_classes), 2)) or [(0, 0)]


def _tree_of_pair(run: FitRun, number: int, codes: Codes, labels: ClassLabels) -> Forest:
    """Grow and prune the tree of one pair."""
    if codes.shape[1] == 0:  # all rows of these classes have weight 0
        tree = _vacuous_tree()
    else:
        threads = run.n_threads
        tree = grow_forest(codes, run.bins, labels, run.settings, first_tree=number, n_trees=1, n_threads=threads)
    return prune(tree, run.settings.criterion, run.model.ccp_alpha)


def _vacuous_tree() -> Forest:
    """Return a tree of one empty leaf."""
    return Forest(Nodes.one_leaf(), ClassCounts(2, np.zeros(2, dtype=np.uint32)))
