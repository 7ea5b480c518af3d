"""P-values of feature importances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from hedgerow.explain.importance import oob_gained, oob_permuted, read_groups, rows_with_bags, threads_of
from hedgerow.forest.add import count_groups
from hedgerow.forest.forest import Forest
from hedgerow.forest.grow import TrainingRows, grow_forest
from hedgerow.forest.prune import impurities_of, prune_by_rows
from hedgerow.forest.walk import impurity_importance
from hedgerow.inference.predictor import predictor_of
from hedgerow.params.resolve import resolve_settings

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

Floats = NDArray[np.float64]

CORRECTIONS = ("holm", "benjamini-hochberg", None)
STATISTICS = ("permutation", "debiased", "impurity")


class ImportanceTest(NamedTuple):
    """Importances (p,), their p-values (p,) and the p-values corrected for the number of features (p,)."""

    importance: Floats
    pvalue: Floats
    corrected: Floats


def importance_test(
    forest: BaseEstimator,
    *,
    null: str = "feature",
    statistic: str = "permutation",
    features: Sequence[int | str] | None = None,
    n_permutations: int = 99,
    correction: str | None = "holm",
    random_state: int | np.random.RandomState | None = 0,
) -> ImportanceTest:
    """Test importances by refitting the forest on tables that satisfy the null hypothesis.

    The p-value of a feature is the fraction of forests, the given one included, in which it is at least as important
    as in the given one. Under the null hypothesis forests are exchangeable, so p-values are uniform (up to ties) for
    any number of rows and trees. Tests over trees or rows of one forest are not valid, because trees share rows and
    rows share trees. Data-dependent choices of the fit are kept (``max_features="oob"``, the ``lam`` of a
    criterion). In a forest fitted with groups, whole groups of the same number of rows exchange their values, in the
    order of their rows; under the null hypothesis, groups are exchangeable.

    Parameters
    ----------
    forest : fitted forest with bootstrap=True
        Fitted in this process, without sample or class weights.
    null : {"feature", "labels"}, default="feature"
        The null hypothesis. "feature": one feature is independent of the labels and the other features. Each feature is
        permuted alone, with `n_permutations` forests per feature. "labels": no feature is informative. The labels or
        targets are permuted, with `n_permutations` forests in total (Altmann et al. 2010).
    statistic : {"permutation", "debiased", "impurity"}, default="permutation"
        `oob_permutation_importance` by probability or squared error, `debiased_importance`, or the decrease of
        impurity, whose bias towards features with many values the test corrects.
    features : list of feature numbers or names, default=None
        Features to test; None tests all.
    n_permutations : int, default=99
        The smallest possible p-value is 1/(n_permutations + 1).
    correction : {"holm", "benjamini-hochberg", None}, default="holm"
        See `correct_pvalues`.
    random_state : int or RandomState, default=0
        Seed of the permutations and forests.

    Returns
    -------
    ImportanceTest
        ``importance``, ``pvalue`` and ``corrected``, one entry per tested feature.

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
        raise ValueError(f"null must be 'feature' or 'labels', got {null!r}.")
    if statistic not in STATISTICS:
        raise ValueError(f"statistic must be one of {', '.join(STATISTICS)}, got {statistic!r}.")
    if not (isinstance(n_permutations, int | np.integer) and n_permutations >= 1):
        raise ValueError(f"n_permutations must be an int >= 1, got {n_permutations!r}.")
    rows = rows_with_bags(forest)
    chosen, _ = read_groups(forest, features)
    refit = _Refit(forest, rows, statistic)
    rng = check_random_state(random_state)
    observed = refit.importance(forest.forest_, rows)[chosen]
    as_large = np.ones(len(chosen))
    for place in range(len(chosen)) if null == "feature" else [slice(None)]:
        for _ in range(n_permutations):
            order = _reordered(rows, rng)
            other = _permuted(rows, order, None if null == "labels" else int(chosen[place]))
            as_large[place] += refit.of_other(other, rng)[chosen][place] >= observed[place]
    pvalue = as_large / (n_permutations + 1)
    return ImportanceTest(observed, pvalue, correct_pvalues(pvalue, correction))


def correct_pvalues(pvalues: ArrayLike, correction: str | None = "holm") -> Floats:
    """Correct p-values for multiple testing.

    Parameters
    ----------
    pvalues : array-like of shape (p,)
        One per test.
    correction : {"holm", "benjamini-hochberg", None}, default="holm"
        "holm" controls the family-wise error rate, "benjamini-hochberg" the false discovery rate.

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
        raise ValueError(f"correction must be one of {CORRECTIONS}, got {correction!r}.")
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


class _Refit:
    """Refits a forest to other rows with the same settings."""

    def __init__(self, forest: BaseEstimator, rows: TrainingRows, statistic: str) -> None:
        predictor = predictor_of(forest)
        self.fitted = predictor.fitted
        of_groups = rows.bags.leaf_counts == "groups"  # with weights, because leaves count shares of groups
        if (rows.target.weights if of_groups else self.fitted.forest.weights) is not None:
            raise ValueError("importance_test does not support forests fitted with sample or class weights.")
        if not predictor.predicts:
            raise ValueError(f"forest must be a classifier or a regressor, got {forest!r}.")
        self.statistic, self.n_threads, self.alpha = statistic, threads_of(forest), forest.ccp_alpha
        n_features, n_rows = rows.codes.shape
        n_classes, figures = self.fitted.forest.n_classes, self.fitted.figures
        settings = resolve_settings(forest, n_rows, n_features, self.fitted.schema.names, n_classes)
        # The parameters of the bootstrap samples are those of the fit, because an absolute max_samples depends on the
        # number of rows. Data-dependent choices of the fit are kept too.
        self.settings = replace(
            settings,
            bag_mean=rows.bags.mean,
            leaf_counts=rows.bags.leaf_counts,
            criterion=self.fitted.criterion,
            max_features=figures.max_features or settings.max_features,
        )

    def of_other(self, rows: TrainingRows, rng: np.random.RandomState) -> Floats:
        """Return the importances (p,) in a forest grown on other rows."""
        seed = int(rng.randint(0, 2**63 - 1, dtype=np.int64))
        rows = replace(rows, bags=replace(rows.bags, seed=seed))
        return self.importance(self.grow(rows), rows)

    def grow(self, rows: TrainingRows) -> Forest:
        """Grow and prune as many trees as the forest has."""
        fitted, settings = self.fitted, replace(self.settings, seed=rows.bags.seed)
        size = {"n_trees": fitted.forest.n_trees, "n_threads": self.n_threads}
        trees = grow_forest(rows.codes, fitted.bins, rows.target.for_core(), settings, **size, groups=rows.bags.groups)
        trees = prune_by_rows(trees, rows, settings.criterion, self.alpha, 0, self.n_threads)
        return count_groups(trees, rows, 0, self.n_threads) if settings.leaf_counts == "groups" else trees

    def importance(self, trees: Forest, rows: TrainingRows) -> Floats:
        """Return the importances (p,) in trees that were grown on these rows."""
        if self.statistic == "debiased":
            return np.asarray(oob_gained(trees, rows, self.n_threads).mean(axis=0))
        if self.statistic == "permutation":
            each = (np.arange(len(rows.codes)), np.arange(len(rows.codes) + 1))
            key = rows.bags.seed  # safe: permutations and bootstrap samples never share draws
            return np.asarray(oob_permuted(trees, rows, each, "probability", 1, key, self.n_threads).mean(axis=0))
        criterion = self.settings.criterion
        known = impurities_of(trees, rows, criterion, self.n_threads)
        each_tree = impurity_importance(trees, self.fitted.schema.n_features, criterion, known)
        return np.asarray(each_tree.mean(axis=0))


def _reordered(rows: TrainingRows, rng: np.random.RandomState) -> NDArray[np.int64]:
    """Permute rows (n,); groups change places with groups of the same number of rows."""
    of_row = rows.groups
    if of_row is None:
        return np.asarray(rng.permutation(rows.n_rows))
    by_group, sizes = np.argsort(of_row, kind="stable"), np.bincount(of_row)
    starts, order = np.cumsum(sizes) - sizes, np.empty(rows.n_rows, dtype=np.int64)
    for size in np.unique(sizes):
        places = by_group[starts[sizes == size][:, None] + np.arange(size)]
        order[places] = rng.permutation(places)
    return order


def _permuted(rows: TrainingRows, order: NDArray[np.int64], feature: int | None) -> TrainingRows:
    """Permute one feature of the rows, or their labels or targets."""
    if feature is None:
        return replace(rows, target=rows.target.take(order))
    codes = rows.codes.copy()
    codes[feature] = codes[feature][order]
    return replace(rows, codes=codes)
