"""Classifier with one tree per pair of classes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.belief.masses.frame import LARGEST_FRAME
from hedgerow.belief.masses.pairwise import over_all_sets
from hedgerow.criteria import Criterion
from hedgerow.decisions import Decision
from hedgerow.estimators.classifier import TreesClassifier
from hedgerow.forest.walk import Tree
from hedgerow.inference.fitted import fitted_of
from hedgerow.params.table import (
    PLAIN_CAUTION,
    CategoricalFeatures,
    ClassWeight,
    MaxFeatures,
    RandomState,
    rows_of,
    with_parameters_described,
)
from hedgerow.table.schema import TableLike
from hedgerow.tasks.pairwise import PairwiseClassification, pair_trees, pairs_of

if TYPE_CHECKING:
    from hedgerow.inference.fitted import Fitted
    from hedgerow.tasks.pairwise import PairwisePredictor

Floats = NDArray[np.float64]

_CAUTION = "Pseudo-count s of the imprecise Dirichlet model; 1 is Dempster's approach to Bernoulli trials."


class _NotOffered:
    """Placeholder for a method of forests that this class does not support."""

    def __init__(self, instead: str) -> None:
        self._instead = instead

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        raise AttributeError(f"{owner.__name__} does not support {self._name}. {self._instead}.")


@with_parameters_described
class PairwiseTreesClassifier(TreesClassifier):
    """A classifier with one tree per pair of classes, combined as masses.

    The tree of a pair is grown on the rows of its two classes. The leaf that a sample reaches assigns a mass to each of
    the two classes and, for the pseudo-count ``caution``, to both together. A quadratic programme
    (`hedgerow.belief.mass_from_pairs`) finds the mass function over all classes whose restrictions to the pairs are
    nearest to these masses. With up to six classes every set may have mass; with more, only single classes, pairs and
    the set of all classes. ``criterion=BeliefGain(lam="auto")`` chooses one ``lam`` for all trees, which classifies
    most held-out rows of the pairs correctly.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels, in the order of result columns.
    n_classes_, n_features_in_ : int
        Number of classes and of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if the training table has column names.
    pairs_ : ndarray of shape (n_trees, 2)
        Numbers of the two classes of each tree.
    trees_ : list of Tree
        The trees as objects to inspect and traverse.
    forest_ : Forest
        The arrays of the trees.
    feature_importances_ : ndarray of shape (n_features,)
        Mean decrease in impurity, normalised.

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
        "min_gain",
        "unseen",
        "class_weight",
        "categorical_features",
        "max_bins",
        "ccp_alpha",
        "random_state",
        variants={"caution": replace(PLAIN_CAUTION, about=_CAUTION)},
    )

    rule = "average"  # for a node of a single tree; the programme combines trees

    evidence = _NotOffered("Use predict_mass")
    row_weights = _NotOffered("Use proximity")
    nearest_rows = _NotOffered("Use proximity")
    oob_evidence_ = _NotOffered("Its trees have no bootstrap samples")
    tune = _NotOffered("Use GridSearchCV")
    explain = _NotOffered("Use predict_mass")
    report = _NotOffered("Use predict_mass")
    predict_uncertainty = _NotOffered("Use predict_mass and the uncertainty measures of hedgerow.belief")
    _task = PairwiseClassification()
    _incremental = False
    partial_fit = _NotOffered("Fit again with all rows")
    grow_more = _NotOffered("Each pair has exactly one tree")
    drift = _NotOffered("Use a RandomForestClassifier")

    def __init__(
        self,
        *,
        caution: float = 1.0,
        decision: str | Decision = "dominance",
        criterion: str | Criterion = "belief",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: MaxFeatures = None,
        constant_features: str = "skip",
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        min_gain: float = 0.0,
        unseen: str = "shares",
        class_weight: ClassWeight = None,
        categorical_features: CategoricalFeatures = "from_dtype",
        max_bins: int | str | None = "auto",
        ccp_alpha: float = 0.0,
        random_state: RandomState = None,
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
        self.min_gain = min_gain
        self.unseen = unseen
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.max_bins = max_bins
        self.ccp_alpha = ccp_alpha
        self.random_state = random_state

    def predict_mass(self, X: TableLike) -> Floats:  # type: ignore[override]
        """Predict a mass function over all subsets of the classes.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        mass : ndarray of shape (n_samples, 2**n_classes)
            The index of a set is its bit mask: ``mass[:, 5]`` is the mass of the first and third of ``classes_``.

        Raises
        ------
        ValueError
            If there are more than 16 classes.
        """
        predictor = self._predictor()
        codes, n_classes = predictor.read(X).codes, len(predictor.classes)
        if n_classes > LARGEST_FRAME:
            raise ValueError(
                f"predict_mass must have at most {LARGEST_FRAME} classes, got {n_classes}. Use predict_bounds."
            )
        focal, masses, _ = predictor.solve(codes)
        return over_all_sets(focal, masses)

    @property
    def pairs_(self) -> NDArray[np.int64]:
        """Class numbers of each tree, (n_trees, 2); a single class is paired with itself."""
        return np.array(pairs_of(self.n_classes_))

    @property
    def trees_(self) -> list[Tree]:
        """Trees as objects to inspect and traverse."""
        return pair_trees(fitted_of(self))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        return tags

    if TYPE_CHECKING:

        def _predictor(self, fitted: Fitted | None = None) -> PairwisePredictor: ...
