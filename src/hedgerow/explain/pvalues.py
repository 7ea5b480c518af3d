"""P-values: importances -> how often a feature that tells nothing would look as important."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from hedgerow.estimators.opinions import Bagged
from hedgerow.estimators.regression import Trained
from hedgerow.explain.importance import gained_outside, permuted_outside, read_groups, require_bagged, threads_of
from hedgerow.fit.parameters import resolve_settings
from hedgerow.forest.forest import Forest
from hedgerow.forest.grow import grow_forest
from hedgerow.forest.prune import prune
from hedgerow.forest.walk import NumberTree, Tree, impurity_importance
from hedgerow.target.base import Labels
from hedgerow.target.numbers import numbers_on_grid

Floats = NDArray[np.float64]

CORRECTIONS = ("holm", "benjamini-hochberg", None)
STATISTICS = ("permutation", "debiased", "impurity")


class ImportanceTest(NamedTuple):
    """Importances (p,), their p-values (p,) and the p-values corrected for the number of features (p,)."""

    importance: Floats
    pvalue: Floats
    corrected: Floats


def importance_test(
    forest: Any,
    *,
    null: str = "feature",
    statistic: str = "permutation",
    features: Sequence[int | str] | None = None,
    n_permutations: int = 99,
    correction: str | None = "holm",
    random_state: Any = 0,
) -> ImportanceTest:
    """Test of importances by growing the forest again where the null hypothesis has been made true.

    The p-value of a feature is the share of forests, the given one included, in which it is at least as important.
    Under the null hypothesis all of them are equally likely to be the given one, so p-values are uniform (up to ties)
    for any number of rows and trees. A test over trees or rows of one forest would not be: trees share their rows and
    rows their trees. What the fit chose by looking at the rows (``max_features="oob"``, the ``lam`` of a criterion) is
    kept.

    Parameters
    ----------
    forest : fitted forest with bootstrap=True
        One that was fitted here, without weights of rows or classes.
    null : {"feature", "labels"}, default="feature"
        What has nothing to do with what: "feature" permutes one feature at a time (it is independent of labels and
        other features, whatever these tell) and grows `n_permutations` forests for each; "labels" permutes the labels
        or targets (no feature tells anything) and grows `n_permutations` forests for all (Altmann et al. 2010).
    statistic : {"permutation", "debiased", "impurity"}, default="permutation"
        `oob_permutation_importance` by probability or squared error, `debiased_importance`, or the decrease of
        impurity, whose liking for features with many values the test sees through.
    features : list of feature numbers or names, default=None
        Those to test; None takes all.
    n_permutations : int, default=99
        The smallest possible p-value is 1/(n_permutations + 1).
    correction : {"holm", "benjamini-hochberg", None}, default="holm"
        See `correct_pvalues`.
    random_state : int or RandomState, default=0
        Where permutations and the seeds of forests come from.

    Returns
    -------
    ImportanceTest
        ``importance``, ``pvalue`` and ``corrected``, (n_features,) each or as many as `features`.

    References
    ----------
    A. Altmann, L. Toloşi, O. Sander, T. Lengauer: Permutation importance: a corrected feature importance measure.
    Bioinformatics 26, 2010.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hedgerow import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> X = np.column_stack([X, np.random.default_rng(0).normal(size=len(X))])
    >>> forest = RandomForestClassifier(20, random_state=0).fit(X, y)
    >>> importance_test(forest, features=[2, 4], n_permutations=19).pvalue < 0.1
    array([ True, False])
    """
    if null not in ("feature", "labels"):
        raise ValueError(f"null must be 'feature' or 'labels', got {null!r}; choose one of these")
    if statistic not in STATISTICS:
        raise ValueError(f"statistic must be one of {', '.join(STATISTICS)}, got {statistic!r}; choose one of these")
    if not (isinstance(n_permutations, int | np.integer) and n_permutations >= 1):
        raise ValueError(f"n_permutations must be an int >= 1, got {n_permutations!r}; 99 allows p-values of 0.01")
    bagged = require_bagged(forest)
    chosen, _ = read_groups(forest, features)
    again = _Again(forest, bagged, statistic)
    rng = check_random_state(random_state)
    seen = again.importance(forest.forest_, bagged)[chosen]
    as_large = np.ones(len(chosen))
    for place in range(len(chosen)) if null == "feature" else [slice(None)]:
        for _ in range(n_permutations):
            order = rng.permutation(bagged.codes.shape[1])
            other = _permuted(bagged, order, None if null == "labels" else int(chosen[place]))
            as_large[place] += again.of_other(other, rng)[chosen][place] >= seen[place]
    pvalue = as_large / (n_permutations + 1)
    return ImportanceTest(seen, pvalue, correct_pvalues(pvalue, correction))


def correct_pvalues(pvalues: ArrayLike, correction: str | None = "holm") -> Floats:
    """P-values (p,) -> p-values corrected for their number (p,).

    Parameters
    ----------
    pvalues : array-like of shape (p,)
        One per test.
    correction : {"holm", "benjamini-hochberg", None}, default="holm"
        Holm: the chance of a single false alarm among all features is at most the level. Benjamini and Hochberg: the
        expected share of false alarms among the alarms is.

    Returns
    -------
    ndarray of shape (p,)

    Examples
    --------
    >>> correct_pvalues([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    >>> correct_pvalues([0.01, 0.04, 0.03], "benjamini-hochberg")
    array([0.03, 0.04, 0.04])
    """
    if correction not in CORRECTIONS:
        raise ValueError(f"correction must be one of {CORRECTIONS}, got {correction!r}; choose one of these")
    values = np.asarray(pvalues, dtype=np.float64)
    if correction is None or not len(values):
        return values
    order, n = np.argsort(values, kind="stable"), len(values)
    ranked = values[order]
    if correction == "holm":
        ranked = np.maximum.accumulate(ranked * (n - np.arange(n)))
    else:
        ranked = np.minimum.accumulate((ranked * n / np.arange(1, n + 1))[::-1])[::-1]
    corrected = np.empty(n)
    corrected[order] = np.minimum(ranked, 1.0)
    return corrected


class _Again:
    """A forest, to be grown again on other rows with the same settings."""

    def __init__(self, forest: Any, bagged: Bagged | Trained, statistic: str) -> None:
        if forest.forest_.weights is not None:
            raise ValueError("forest must be fitted without weights of rows or classes, got one with; fit without them")
        if isinstance(bagged, Bagged) and not hasattr(forest, "classes_"):
            raise ValueError(f"forest must be a classifier or a regressor, got {forest!r}: it has no labels to tell")
        self.forest, self.statistic, self.n_threads = forest, statistic, threads_of(forest)
        self.alpha = getattr(forest, "ccp_alpha", 0.0)
        n_features, n_rows = bagged.codes.shape
        n_classes = forest.forest_.n_classes
        settings = resolve_settings(forest, n_rows, n_features, forest._schema.names, n_classes)
        # Bags and leaves as those of the forest: a number of rows was a share of the first table.
        self.settings = replace(settings, bag_mean=bagged.bag_mean, leaf_counts=forest._bag[3])
        if hasattr(forest, "criterion_"):  # what the fit has chosen stays chosen
            self.settings = replace(self.settings, criterion=forest.criterion_)
        if hasattr(forest, "max_features_"):
            self.settings = replace(self.settings, max_features=forest.max_features_)

    def of_other(self, bagged: Bagged | Trained, rng: np.random.RandomState) -> Floats:
        """Other rows -> importances (p,) in a forest grown on them."""
        bagged = replace(bagged, seed=int(rng.randint(0, 2**63 - 1, dtype=np.int64)))
        return self.importance(self.grown(bagged), bagged)

    def grown(self, bagged: Bagged | Trained) -> Forest:
        """Rows -> as many trees as the forest has, pruned like these."""
        forest, settings = self.forest, replace(self.settings, seed=bagged.seed)
        size = {"n_trees": forest.forest_.n_trees, "n_threads": self.n_threads}
        if isinstance(bagged, Trained):
            numbers = numbers_on_grid(bagged.y, None, centred=settings.criterion != "poisson")
            trees = grow_forest(bagged.codes, forest._bins, numbers, settings, **size)
            return prune(trees, self.tree_of, settings.criterion, self.alpha)
        labels = Labels(bagged.labels, None, 1.0, forest.n_classes_)
        trees = grow_forest(bagged.codes, forest._bins, labels, settings, **size)
        return prune(trees, self.tree_of, settings.criterion, self.alpha)

    def tree_of(self, trees: Forest, number: int) -> Tree:
        """One of the trees."""
        forest = self.forest
        if trees.values is not None:
            return NumberTree(trees, number, forest._bins, forest._schema)
        return Tree(trees, number, forest._bins, forest._schema, forest.classes_)

    def importance(self, trees: Forest, bagged: Bagged | Trained) -> Floats:
        """-> (p,)"""
        if self.statistic == "debiased":
            return np.asarray(gained_outside(trees, bagged, self.n_threads).mean(axis=0))
        if self.statistic == "permutation":
            each = (np.arange(len(bagged.codes)), np.arange(len(bagged.codes) + 1))
            key = bagged.seed  # another key of the same seed: purposes never share draws
            return np.asarray(permuted_outside(trees, bagged, each, "probability", 1, key, self.n_threads).mean(axis=0))
        asked = self.forest.n_features_in_, self.settings.criterion
        of_trees = [impurity_importance(self.tree_of(trees, number), *asked) for number in range(trees.n_trees)]
        return np.asarray(np.mean(of_trees, axis=0))


def _permuted(bagged: Bagged | Trained, order: NDArray[np.int64], feature: int | None) -> Bagged | Trained:
    """The same rows with one feature in another order, or with their labels or targets in another."""
    if feature is not None:
        codes = bagged.codes.copy()
        codes[feature] = codes[feature][order]
        return replace(bagged, codes=codes)
    if isinstance(bagged, Trained):
        return replace(bagged, y=bagged.y[order])
    return replace(bagged, labels=bagged.labels[order])
