"""Pairwise: a table and labels -> a tree for each pair of classes, and one mass for each sample."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.belief import mass_from_counts
from hedgerow.belief.masses.frame import LARGEST_FRAME, row_products
from hedgerow.belief.masses.pairwise import over_all_sets, pair_misfit, solve_pairs
from hedgerow.belief.opinion import Opinion, opinion_from_bounds
from hedgerow.estimators.classifier import TreesClassifier
from hedgerow.fit.run import FitRun
from hedgerow.forest.class_counts import ClassCounts
from hedgerow.forest.forest import Forest, join_forests
from hedgerow.forest.grow import grow_forest
from hedgerow.forest.nodes import Nodes
from hedgerow.forest.prune import prune
from hedgerow.forest.target import ClassLabels, ReadTarget
from hedgerow.forest.training import TrainingRows
from hedgerow.forest.walk import Tree
from hedgerow.inference.batch import Batch
from hedgerow.inference.fitted import Fitted, fitted_of
from hedgerow.inference.predictor import current_predictor
from hedgerow.params.table import PLAIN_CAUTION, rows_of, with_parameters_described
from hedgerow.table.bins import Codes
from hedgerow.tasks.classification.predictor import ClassificationPredictor
from hedgerow.tasks.classification.task import Classification

Floats = NDArray[np.float64]

_CAUTION = "How many unseen rows each leaf keeps in reserve; 1 is Dempster's approach to Bernoulli trials."


class PairwiseClassification(Classification):
    """The steps of a fit for pairs of classes: each pair has a tree, grown on the rows of its two classes."""

    one_table = False

    def read_target(
        self, model: Any, y: Any, sample_weight: Any, n_rows: int, before: Fitted | None, declared: Any
    ) -> ReadTarget:
        """Labels and weights -> the target; labels must be certain."""
        read = super().read_target(model, y, sample_weight, n_rows, before, declared)
        if read.target.known is not None:
            raise ValueError(
                "y must be certain labels for trees of pairs, got uncertain ones: a row must be of one of the two"
                " classes; use a RandomForestClassifier, or fit label_shares_.argmax(axis=1) of one"
            )
        return read

    def for_outputs(self) -> PairwiseClassification:
        """The task itself, which refuses labels of several outputs."""
        return self

    def grow(self, run: FitRun) -> Forest:
        """Training rows -> a forest of one tree for each pair."""
        if run.checkpoint:
            raise ValueError("checkpoint must be None for trees of pairs, got a folder; they are few")
        trees = [_tree_of_pair(run, number, *table) for number, table in enumerate(self.tables(run.rows))]
        return join_forests(*trees)

    def tables(self, rows: TrainingRows) -> Iterator[tuple[Codes, ClassLabels]]:
        """Training rows -> for each pair the codes (p, n) and labels of the rows of its two classes."""
        labels = rows.target.for_core()
        for first, second in pairs_of(len(rows.target.classes)):
            kept = np.flatnonzero((labels.numbers == first) | (labels.numbers == second))
            of_pair = (labels.numbers[kept] != first).astype(np.uint16)
            told = replace(labels.take(kept), numbers=of_pair, n_classes=2)
            yield np.ascontiguousarray(rows.codes[:, kept]), told


class _NotOffered:
    """Marks a method of forests that this class does not have."""

    def __init__(self, instead: str) -> None:
        self._instead = instead

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        raise AttributeError(
            f"{owner.__name__} has no {self._name}: its trees are about different classes; {self._instead}"
        )


@with_parameters_described
class PairwiseTreesClassifier(TreesClassifier):
    """A tree for each pair of classes, and the mass over all classes that agrees best with their leaves.

    The tree of a pair is grown on the rows of its two classes. The leaf that a sample reaches gives a mass to each of
    the two classes and, for unseen rows, to both together. A quadratic programme (`hedgerow.belief.mass_from_pairs`)
    combines the masses of all pairs: it finds the mass whose restrictions to the pairs are nearest to them. With up to
    six classes every set may have mass; with more, only single classes, pairs and the set of all classes. With
    ``criterion=BeliefGain(lam="auto")`` all trees have the ``lam`` with which, taken together, they classify most
    held-out rows of their pairs.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    n_classes_, n_features_in_ : int
        Number of classes and of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if the training table had names.
    pairs_ : ndarray of shape (n_trees, 2)
        The numbers of the two classes of each tree.
    trees_ : list of Tree
        The trees, as objects to read and walk through.
    forest_ : Forest
        The arrays of the trees.
    feature_importances_ : ndarray of shape (n_features,)
        Share of the decrease in impurity, averaged over the trees.

    References
    ----------
    B. Quost, T. Denœux, M.-H. Masson: Pairwise classifier combination using belief functions. Pattern Recognition
    Letters 28 (2007).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hedgerow import PairwiseTreesClassifier
    >>> from hedgerow.belief import describe_mass
    >>> X, y = load_iris(return_X_y=True)
    >>> trees = PairwiseTreesClassifier(max_depth=2, random_state=0).fit(X, y)
    >>> trees.predict(X[[0, 70, 100]])
    array([0, 2, 2])
    >>> print(describe_mass(trees.predict_mass(X[[70]])[0], trees.classes_.tolist()))
    {1, 2}  0.5422
    {2}     0.2461
    {1}     0.1750
    {0, 2}  0.0368
    """

    _parameters = rows_of(
        "caution",
        "decision",
        "criterion",
        "max_depth",
        "min_samples_split",
        "min_samples_leaf",
        "min_weight_fraction_leaf",
        "max_features",
        "constant_features",
        "max_leaf_nodes",
        "min_impurity_decrease",
        "unseen",
        "class_weight",
        "categorical_features",
        "max_bins",
        "ccp_alpha",
        "random_state",
        variants={"caution": replace(PLAIN_CAUTION, about=_CAUTION)},
    )

    rule = "average"  # for a node of a single tree; the programme combines trees

    evidence = _NotOffered("ask predict_mass")
    row_weights = _NotOffered("ask proximity")
    nearest_rows = _NotOffered("ask proximity")
    oob_evidence_ = _NotOffered("no tree draws a bag")
    tune = _NotOffered("use GridSearchCV")
    explain = _NotOffered("ask predict_mass")
    report = _NotOffered("ask predict_mass")
    predict_uncertainty = _NotOffered("measure the uncertainty of predict_mass, see hedgerow.belief")
    _task = PairwiseClassification()
    _incremental = False
    partial_fit = _NotOffered("fit it again")
    grow_more = _NotOffered("each pair has exactly one tree")
    drift = _NotOffered("ask a RandomForestClassifier")

    def __init__(
        self,
        *,
        caution: float = 1.0,
        decision: Any = "dominance",
        criterion: Any = "belief",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = None,
        constant_features: str = "skip",
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        unseen: str = "shares",
        class_weight: Any = None,
        categorical_features: Any = "from_dtype",
        max_bins: int | str | None = "auto",
        ccp_alpha: float = 0.0,
        random_state: Any = None,
    ) -> None:
        self.caution = caution
        self.decision = decision
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.constant_features = constant_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.unseen = unseen
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.max_bins = max_bins
        self.ccp_alpha = ccp_alpha
        self.random_state = random_state

    def predict_mass(self, X: Any) -> Floats:  # type: ignore[override]
        """The mass over sets of classes that agrees best with the leaves reached.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        mass : ndarray of shape (n_samples, 2**n_classes)
            The index of a set is its bit mask: ``mass[:, 5]`` is the mass of the first and third of ``classes_``
            together. There may be at most 16 classes.
        """
        now = self._predictor()
        codes, n_classes = now.read(X).codes, len(now.classes)
        if n_classes > LARGEST_FRAME:
            raise ValueError(
                f"predict_mass must have at most {LARGEST_FRAME} classes, got {n_classes}; use predict_bounds"
            )
        focal, masses, _ = now.solve(codes)
        return over_all_sets(focal, masses)

    @property
    def pairs_(self) -> NDArray[np.int64]:
        """(n_trees, 2): the numbers of the two classes of each tree; a single class is paired with itself."""
        return np.array(pairs_of(self.n_classes_))

    @property
    def trees_(self) -> list[Tree]:
        """The trees, as objects to read and walk through."""
        return pair_trees(fitted_of(self))

    @classmethod
    def _tree_shape(cls, n_classes: int) -> tuple[int, int | None]:
        """K -> 2, the number of classes that a leaf counts, and the number of pairs."""
        return 2, len(pairs_of(n_classes))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        return tags

    def _predictor(self, fitted: Fitted | None = None) -> PairwisePredictor:
        return current_predictor(PairwisePredictor, self, fitted)


class PairwisePredictor(ClassificationPredictor):
    """The answers of trees for pairs of classes, which a quadratic programme combines."""

    kind = "pairs"
    combines_leaves = False
    takes_uncertain = False

    def adjusted(self, opinion: Opinion, batch: Batch) -> Opinion:
        """Return the opinion itself: the trees of pairs widen nothing for unseen values."""
        return opinion

    def adjusted_rows(self, batch: Batch) -> None:
        """Return None, because opinions are those of the trees."""

    def plain_probability(self, codes: Codes) -> Floats:
        """Codes (p, n) -> probabilities (n, K)."""
        return self.combined(codes).probability

    def combined(self, codes: Codes) -> Opinion:
        """Belief, plausibility and pignistic probability of the classes; conflict is how much pairs disagree."""
        focal, mass, misfit = self.solve(codes)
        members, sizes = focal.astype(np.float64), focal.sum(axis=1, keepdims=True)
        shares = np.hstack([members / sizes, members * (sizes == 1), members])
        probability, lower, upper = np.split(row_products(mass, shares), 3, axis=1)
        return opinion_from_bounds(probability, lower, upper, misfit)

    def leaf_states(self) -> Floats:
        """-> (L, 4): the mass of every leaf over the two classes of its tree."""
        evidence = [self.forest.evidence_in(tree) for tree in range(self.forest.n_trees)]
        return mass_from_counts(np.concatenate(evidence), "idm", caution=self.caution)

    def solve(self, codes: Codes) -> tuple[NDArray[np.bool_], Floats, Floats]:
        """Codes (p, n) -> sets that may have mass (F, K), their masses (n, F), and how much pairs disagree (n,)."""
        n_rows = codes.shape[1]
        if len(self.classes) == 1:
            return np.array([[True]]), np.ones((n_rows, 1)), np.zeros(n_rows)
        counts = self.forest.counts_reached(codes, self.threads(n_rows))
        given = mass_from_counts(counts, "idm", caution=self.caution)
        focal, mass = solve_pairs(given)
        return focal, mass, pair_misfit(given, focal, mass)


def pair_trees(fitted: Fitted) -> list[Tree]:
    """A fit -> its trees, each with the names of its two classes."""
    names = fitted.info.names
    pairs = enumerate(pairs_of(len(names)))
    return [Tree(fitted.forest, number, fitted.bins, fitted.schema, names[list(pair)]) for number, pair in pairs]


def pairs_of(n_classes: int) -> list[tuple[int, int]]:
    """K -> the pairs of class numbers, in the order of their trees."""
    return list(combinations(range(n_classes), 2)) or [(0, 0)]


def _tree_of_pair(run: FitRun, number: int, codes: Codes, labels: ClassLabels) -> Forest:
    """The tree of one pair, grown on the rows of its classes."""
    if codes.shape[1] == 0:  # all rows of these classes have the weight 0
        tree = _vacuous_tree()
    else:
        threads = run.n_threads
        tree = grow_forest(codes, run.bins, labels, run.settings, first_tree=number, n_trees=1, n_threads=threads)
    return prune(tree, run.settings.criterion, run.model.ccp_alpha)


def _vacuous_tree() -> Forest:
    """-> a tree of one leaf without rows."""
    return Forest(Nodes.one_leaf(), ClassCounts(2, np.zeros(2, dtype=np.uint32)))
