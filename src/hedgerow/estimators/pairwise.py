"""Pairwise: a table and labels -> a tree for each pair of classes, and one mass function for each sample."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from hedgerow.belief import Opinion, mass_from_counts
from hedgerow.belief.masses.frame import LARGEST_FRAME
from hedgerow.belief.masses.pairwise import over_all_sets, pair_misfit, solve_pairs
from hedgerow.belief.opinion import opinion_from_bounds
from hedgerow.estimators.base import TreesClassifier, _Training
from hedgerow.estimators.trees import MIXED, Earlier, Growing
from hedgerow.fit.parameters import DESCRIPTIONS, documented
from hedgerow.forest.counts import Counts
from hedgerow.forest.fold import reached_evidence
from hedgerow.forest.forest import Forest, join_forests
from hedgerow.forest.grow import grow_forest
from hedgerow.forest.nodes import Nodes
from hedgerow.forest.prune import prune
from hedgerow.forest.walk import Tree
from hedgerow.table import Schema
from hedgerow.table.bins import Bins, Codes
from hedgerow.target.base import Labels

Floats = NDArray[np.float64]

#: What the trees split by unless told otherwise.
DEFAULT_CRITERION = "belief"


class _NotOffered:
    """A method of forests that has no meaning here: it is not there."""

    def __init__(self, instead: str) -> None:
        self._instead = instead

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        raise AttributeError(
            f"{owner.__name__} has no {self._name}: its trees are about different classes; {self._instead}"
        )


@documented(
    criterion=DESCRIPTIONS["criterion"].replace('"gini"\n', f'"{DEFAULT_CRITERION}"\n'),
    max_features=DESCRIPTIONS["max_features"].replace("or None", "or None, default=None", 1),
    caution="float, default=1.0\n    How many unseen rows each leaf keeps in reserve; 1 is Dempster's approach to"
    " Bernoulli trials. Can be changed on a fitted model.",
    decision=DESCRIPTIONS["decision"].replace("fitted forest", "fitted model"),
)
class PairwiseTreesClassifier(TreesClassifier):
    """A tree for each pair of classes, and the mass function over all classes that agrees best with their leaves.

    The tree of a pair sees only rows of its two classes; the leaf a sample reaches gives a mass to either class and,
    for the rows it has not seen, to both. The masses of all pairs are combined by a quadratic programme
    (`hedgerow.belief.mass_from_pairs`): the mass on sets of classes whose restrictions to the pairs are nearest to
    them. Up to six classes every set may have mass; above, single classes, pairs and the whole.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    n_classes_, n_features_in_ : int
        How many classes and features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, when the training table had any.
    pairs_ : ndarray of shape (n_trees, 2)
        The class numbers each tree is about.
    trees_ : list of Tree
        The trees, to look at and to walk.
    forest_ : Forest
        The arrays behind them.
    feature_importances_ : ndarray of shape (n_features,)
        Share of the decrease in impurity, the mean over the trees.

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

    rule = "average"  # a node of one tree is read alone; the programme combines them

    def __init__(
        self,
        *,
        caution: float = 1.0,
        decision: Any = "dominance",
        criterion: Any = DEFAULT_CRITERION,
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        class_weight: Any = None,
        categorical_features: Any = "from_dtype",
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
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.ccp_alpha = ccp_alpha
        self.random_state = random_state

    evidence = _NotOffered("ask predict_mass")
    row_weights = _NotOffered("ask proximity")
    nearest_rows = _NotOffered("ask proximity")
    oob_evidence_ = _NotOffered("no tree draws a bag")
    tune = _NotOffered("use GridSearchCV")
    explain = _NotOffered("ask predict_mass")
    report = _NotOffered("ask predict_mass")
    predict_uncertainty = _NotOffered("measure that of predict_mass, see hedgerow.belief")
    _can_be_added_to = False
    partial_fit = _NotOffered("fit it again")
    grow_more = _NotOffered("there is one for each pair")
    drift = _NotOffered("ask a RandomForestClassifier")

    def predict_mass(self, X: Any) -> Floats:  # type: ignore[override]
        """The mass function over sets of classes that agrees best with the leaves reached.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        mass : ndarray of shape (n_samples, 2**n_classes)
            Index = bit mask of the set: ``mass[:, 5]`` is of the first and third of ``classes_``. At most 16 classes.
        """
        codes = self._codes(X)
        if self.n_classes_ > LARGEST_FRAME:
            raise ValueError(
                f"predict_mass must be asked about at most {LARGEST_FRAME} classes, got {self.n_classes_}; use"
                " predict_bounds"
            )
        focal, masses, _ = self._solve(codes)
        return over_all_sets(focal, masses)

    @property
    def pairs_(self) -> NDArray[np.int64]:
        """(n_trees, 2): the class numbers each tree is about; a single class is compared with none but itself."""
        check_is_fitted(self)
        return np.array(_pairs(self.n_classes_))

    def _tree(self, number: int) -> Tree:
        return Tree(self.forest_, number, self._bins, self._schema, self.classes_[self.pairs_[number]])

    @classmethod
    def _tree_shape(cls, n_classes: int) -> tuple[int, int | None]:
        return 2, len(_pairs(n_classes))

    def _averages(self) -> bool:
        return False

    def _opinion(self, codes: Codes) -> Opinion:
        """Belief, plausibility and pignistic probability of the classes; conflict is how far pairs disagree."""
        focal, mass, misfit = self._solve(codes)
        members, sizes = focal.astype(np.float64), focal.sum(axis=1)
        lower = mass[:, sizes == 1] @ members[sizes == 1]
        return opinion_from_bounds((mass / sizes) @ members, lower, mass @ members, misfit)

    def _solve(self, codes: Codes) -> tuple[NDArray[np.bool_], Floats, Floats]:
        """Codes (p, n) -> sets that may have mass (F, K), their masses (n, F), and how far pairs disagree (n,)."""
        n_rows = codes.shape[1]
        if self.n_classes_ == 1:
            return np.array([[True]]), np.ones((n_rows, 1)), np.zeros(n_rows)
        counts = reached_evidence(self.forest_, self.forest_.leaves(codes, self._reading_threads(n_rows)))
        given = mass_from_counts(counts, "idm", caution=self._caution)
        focal, mass = solve_pairs(given)
        return focal, mass, pair_misfit(given, focal, mass)

    def _read_training(
        self, X: Any, y: Any, sample_weight: Any, earlier: Earlier | None, declared: Any = None
    ) -> _Training:
        training = super()._read_training(X, y, sample_weight, earlier, declared)
        if training.blurred is not None:
            raise ValueError(
                "y must be certain labels for trees of pairs, got uncertain ones: a row must be of one of the two"
                " classes; use a RandomForestClassifier, or fit label_shares_.argmax(axis=1) of one"
            )
        return training

    def _bag_of(self, training: _Training, codes: Codes, earlier: Earlier | None) -> object:
        """Every tree has rows of its own."""
        return MIXED

    def _grow(
        self,
        X: Any,
        y: Any,
        training: _Training,
        bins: Bins,
        codes: Codes,
        earlier: Earlier | None,
        n_threads: int,
        how: Growing,
    ) -> Forest:
        """Codes and labels -> a forest of one tree for each pair, each grown on the rows of its classes."""
        if how.checkpoint:
            raise ValueError("checkpoint must be None for trees of pairs, got a folder; they are few")
        numbers, labels, settings = training.labels.numbers, training.labels, training.settings
        forest: Forest | None = None
        for number, (first, second) in enumerate(_pairs(len(training.classes))):
            rows = np.flatnonzero((numbers == first) | (numbers == second))
            weights = None if labels.weights is None else labels.weights[rows]
            of_pair = (numbers[rows] != first).astype(np.uint16)
            told = Labels(of_pair, weights, labels.weight_unit, 2, balance_bag=labels.balance_bag)
            if len(rows) == 0:  # classes whose rows all weigh nothing
                tree = _vacuous_tree()
            else:
                here = np.ascontiguousarray(codes[:, rows])
                tree = grow_forest(here, bins, told, settings, first_tree=number, n_trees=1, n_threads=n_threads)
            names = training.classes[[first, second]]
            tree = prune(tree, _tree_of(bins, training.table.schema, names), settings.criterion, self.ccp_alpha)
            forest = tree if forest is None else join_forests(forest, tree)
        assert forest is not None
        return forest


def _pairs(n_classes: int) -> list[tuple[int, int]]:
    """K -> the pairs of class numbers, in the order of their trees."""
    return list(combinations(range(n_classes), 2)) or [(0, 0)]


def _tree_of(bins: Bins, schema: Schema, classes: NDArray[Any]) -> Callable[[Forest, int], Tree]:
    """What the codes of a forest mean -> its trees, by number."""
    return lambda forest, number: Tree(forest, number, bins, schema, classes)


def _vacuous_tree() -> Forest:
    """-> a tree of one leaf that knows nothing."""
    return Forest(Nodes.one_leaf(), Counts(2, np.zeros(2, dtype=np.uint32)))
