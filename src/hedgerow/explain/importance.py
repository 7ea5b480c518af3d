"""Feature importances."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import column_or_1d

from hedgerow.forest.forest import Forest
from hedgerow.forest.grow import TrainingRows
from hedgerow.inference.batch import Batch
from hedgerow.inference.predictor import predictor_of
from hedgerow.params.resolve import weights_from
from hedgerow.table.bins import Codes
from hedgerow.table.schema import Array

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from hedgerow.table.schema import TableLike

Floats = NDArray[np.float64]
Groups = Sequence[int | str | Sequence[int | str]]
Grouped = tuple[NDArray[np.int64], NDArray[np.int64]]  # concatenated features, and the start of each group


@dataclass(frozen=True, eq=False)
class Importance:
    """Importances of features, or groups of features, in each tree of a forest.

    Attributes
    ----------
    per_tree : float64 (T, p)
        One row per tree with out-of-bag rows.
    """

    per_tree: Floats

    @property
    def mean(self) -> Floats:
        """Mean over trees (p,), the raw importance."""
        return np.asarray(self.per_tree.mean(axis=0))

    @property
    def deviation(self) -> Floats:
        """Standard deviation over trees (p,)."""
        trees = len(self.per_tree)
        return np.asarray(self.per_tree.std(axis=0, ddof=1)) if trees > 1 else np.zeros(self.per_tree.shape[1])

    @property
    def scaled(self) -> Floats:
        """Mean divided by its standard error (p,), as in Breiman's program.

        0 if both are 0.
        """
        error = self.deviation / np.sqrt(len(self.per_tree))
        return np.asarray(np.divide(self.mean, error, out=np.zeros_like(error), where=error > 0))


@dataclass(frozen=True, eq=False)
class PermutationImportance:
    """Decreases of the score when features, or groups of features, are permuted.

    Attributes
    ----------
    importances : float64 (p, n_repeats)
        Score before minus score after each permutation.
    """

    importances: Floats

    @property
    def importances_mean(self) -> Floats:
        """Mean over the repeats (p,)."""
        return np.asarray(self.importances.mean(axis=1))

    @property
    def importances_std(self) -> Floats:
        """Standard deviation over the repeats (p,)."""
        return np.asarray(self.importances.std(axis=1))


class SplitCounts(NamedTuple):
    """Numbers of splits on each feature: anywhere (``splits``), and at the roots (``roots``)."""

    splits: NDArray[np.int64]
    roots: NDArray[np.int64]


def oob_permutation_importance(
    forest: BaseEstimator,
    *,
    worth: str | None = None,
    groups: Groups | None = None,
    n_repeats: int = 1,
    random_state: int | np.random.RandomState | None = 0,
) -> Importance:
    """Measure the loss of each tree on its out-of-bag rows when a feature is permuted.

    Parameters
    ----------
    forest : fitted forest with bootstrap=True
        Fitted in this process: model files and pickles do not contain the training rows. Not a survival forest.
    worth : {"accuracy", "probability", "squared_error"}, default=None
        Score of a tree for a row. "accuracy", the default for classes, is 1 if the leaf predicts the class of the row
        (fractional for ties), as in Breiman's program. "probability", which is smoother, is the share of the class in
        the leaf. The row itself does not count in the leaf. "squared_error", for regressors, is the negative error.
    groups : list of feature numbers, names or lists of them, default=None
        Features of a list are permuted together, so correlated features cannot replace each other; see
        `correlated_groups`. None permutes every feature alone.
    n_repeats : int, default=1
        Permutations of each feature in each tree.
    random_state : int or RandomState, default=0
        Seed of the permutations, which do not depend on the number of threads.

    Returns
    -------
    Importance
        ``mean`` (raw), ``scaled`` (divided by its standard error) and ``per_tree``, one column per group.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hedgerow import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(random_state=0).fit(X, y)
    >>> oob_permutation_importance(forest).mean.round(2)
    array([0.05, 0.01, 0.32, 0.26])
    >>> oob_permutation_importance(forest, groups=[[0, 1], [2, 3]]).mean.round(2)
    array([0.06, 0.58])
    """
    if not (isinstance(n_repeats, int | np.integer) and n_repeats >= 1):
        raise ValueError(f"n_repeats must be an int >= 1, got {n_repeats!r}.")
    rows = rows_with_bags(forest)
    worths = oob_scores(rows).worths
    if worth is not None and worth not in worths:
        raise ValueError(f"worth must be one of {', '.join(worths)}, got {worth!r}.")
    key = int(check_random_state(random_state).randint(0, 2**63 - 1, dtype=np.int64))
    chosen = read_groups(forest, groups)
    each = oob_permuted(forest.forest_, rows, chosen, worth or worths[0], int(n_repeats), key, threads_of(forest))
    return Importance(each)


def drop_column_importance(
    forest: BaseEstimator, X: object, y: object, *, groups: Groups | None = None, **fit_params: Any
) -> Floats:
    """Measure the fall of the out-of-bag score when a forest is grown without a feature.

    Permutation asks how much these trees rely on a feature; this asks what the feature adds to the others. A copy of
    another feature adds nothing. The forest is grown once for each feature, which is never tried for a split, and once
    with all of them.

    Parameters
    ----------
    forest : forest with bootstrap=True
        Its parameters are used; it need not be fitted. With ``random_state=None``, all forests have the seed 0.
    X, y : training table and targets
        As in ``forest.fit``.
    groups : list of feature numbers, names or lists of them, default=None
        Features of a list are dropped together. None drops every feature alone.
    **fit_params
        Further arguments of ``forest.fit``.

    Returns
    -------
    importance : ndarray of shape (n_features,) or (n_groups,)
        ``oob_score_`` with all features, minus that without the group; by the metric of ``forest.oob_score``, or else
        accuracy or R². Differences of less than the noise of ``oob_score_`` mean nothing, and may be negative.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hedgerow import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> drop_column_importance(RandomForestClassifier(random_state=0), X, y, groups=[[0, 1], [2, 3]]).round(2)
    array([0.  , 0.26])
    """
    chosen = clone(forest)
    missing = {"oob_score", "feature_weights"} - chosen.get_params().keys()
    if missing or not chosen.bootstrap:
        raise ValueError(f"forest must be a forest with bootstrap=True and feature_weights, got {forest!r}.")
    seed = 0 if chosen.random_state is None else chosen.random_state
    chosen.set_params(oob_score=chosen.oob_score or True, random_state=seed)
    whole = clone(chosen).fit(X, y, **fit_params)
    given = weights_from(chosen.feature_weights, whole.n_features_in_, predictor_of(whole).fitted.schema.names)
    features, starts = read_groups(whole, groups)
    scores = []
    for start, end in pairwise(starts):
        weights = np.ones(whole.n_features_in_) if given is None else np.array(given)
        weights[features[start:end]] = 0.0
        without = clone(chosen).set_params(feature_weights=weights)
        scores.append(float(without.fit(X, y, **fit_params).oob_score_))
    return np.asarray(float(whole.oob_score_) - np.array(scores))


def debiased_importance(forest: BaseEstimator) -> Importance:
    """Measure the decrease of impurity on out-of-bag rows.

    Importances of uninformative features are zero on average. `feature_importances_` evaluates splits on the rows on
    which they were chosen, so a random column with a hundred levels looks important. Here the gain of a split is the
    increase, for out-of-bag rows, of the share of their class among the in-bag rows, compared with sending the rows to
    the children at random. (Li et al. 2019 compare with the in-bag rows of the node, which has a small negative bias.)
    On in-bag rows this would be the decrease of Gini impurity or, for regressors, of the squared error. Values may be
    negative and do not sum to one.

    Parameters
    ----------
    forest : fitted forest with bootstrap=True
        Fitted in this process. Sample weights are ignored. Not a survival forest.

    Returns
    -------
    Importance
        One column per feature.

    References
    ----------
    X. Li, Y. Wang, S. Basu, K. Kumbier, B. Yu: A debiased MDI feature importance measure for random forests. NeurIPS
    2019.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hedgerow import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> X = np.column_stack([X, np.random.default_rng(0).normal(size=len(X))])
    >>> forest = RandomForestClassifier(random_state=0).fit(X, y)
    >>> forest.feature_importances_.round(2)
    array([0.15, 0.06, 0.4 , 0.38, 0.01])
    >>> debiased_importance(forest).mean.round(2)
    array([0.09, 0.03, 0.24, 0.22, 0.  ])
    """
    return Importance(oob_gained(forest.forest_, rows_with_bags(forest), threads_of(forest)))


def first_use_depth(forest: BaseEstimator) -> Importance:
    """Return the depth of the first split on each feature; small is important.

    Without a split on the feature it is the depth of the tree.

    Parameters
    ----------
    forest : fitted tree or forest
        Any tree or forest; no rows are needed.

    Returns
    -------
    Importance
        One column per feature; ``mean`` is the mean depth of first use.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hedgerow import DecisionTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> first_use_depth(DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)).mean
    array([2., 2., 2., 0.])
    """
    trees = forest.forest_
    first = np.empty((trees.n_trees, forest.n_features_in_))
    trees._reader.first_uses(trees.depth, first)
    return Importance(first)


def split_counts(forest: BaseEstimator) -> SplitCounts:
    """Count the splits on each feature, anywhere and at the roots.

    Parameters
    ----------
    forest : fitted tree or forest
        Any tree or forest; no rows are needed.

    Returns
    -------
    SplitCounts
        Two arrays of shape (n_features,).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hedgerow import DecisionTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> split_counts(DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y))
    SplitCounts(splits=array([0, 0, 0, 2]), roots=array([0, 0, 0, 1]))
    """
    nodes, n_features = forest.forest_.structure, forest.n_features_in_
    inner = nodes.families()[0]
    first = np.isin(inner, nodes.node_start[:-1])
    splits, roots = (np.bincount(nodes.feature[each], minlength=n_features) for each in (inner, inner[first]))
    return SplitCounts(splits, roots)


def permutation_importance(
    forest: BaseEstimator,
    X: TableLike,
    y: ArrayLike | None,
    *,
    metric: Callable[[Array, Floats], float] | None = None,
    groups: Groups | None = None,
    n_repeats: int = 5,
    random_state: int | np.random.RandomState | None = None,
) -> PermutationImportance:
    """Measure the decrease of the score on given rows when a feature is permuted.

    Permutations and results are those of ``sklearn.inspection.permutation_importance`` with the same ``random_state``,
    but the table is binned only once.

    Parameters
    ----------
    forest : fitted tree or forest
        The scores use its rule.
    X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
        Samples, preferably held-out rows.
    y : array-like of shape (n_samples,)
        Labels or targets of X.
    metric : callable, default=None
        ``metric(y, probability)``, or for a regressor ``metric(y, prediction)``; larger is better. None is accuracy or
        R².
    groups : list of feature numbers, names or lists of them, default=None
        Features of a list are permuted together. None permutes every feature alone.
    n_repeats : int, default=5
        Permutations of each feature.
    random_state : int, RandomState or None, default=None
        Seed of the permutations.

    Returns
    -------
    PermutationImportance
        ``importances`` (n_groups, n_repeats), ``importances_mean``, ``importances_std``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hedgerow import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(20, random_state=0).fit(X[::2], y[::2])
    >>> permutation_importance(forest, X[1::2], y[1::2], random_state=0).importances_mean.shape
    (4,)
    """
    predictor = predictor_of(forest)
    codes, labels = predictor.read(X).codes, column_or_1d(y)
    if len(labels) != codes.shape[1]:
        raise ValueError(f"y must have one label for each of the {codes.shape[1]} rows of X, got {len(labels)}.")
    features, start = read_groups(forest, groups)
    seed = check_random_state(random_state).randint(np.iinfo(np.int32).max + 1)

    def score(permuted: Codes) -> float:
        predicted = predictor.predicted(Batch(permuted))
        return float(predictor.score(labels, predicted) if metric is None else metric(labels, predicted))

    before = score(codes)
    scores = np.empty((len(start) - 1, n_repeats))
    for group in range(len(scores)):
        columns, rng = features[start[group] : start[group + 1]], np.random.RandomState(seed)
        kept, order = codes[columns].copy(), np.arange(codes.shape[1])
        for repeat in range(n_repeats):
            rng.shuffle(order)
            codes[columns] = codes[columns][:, order]
            scores[group, repeat] = score(codes)
        codes[columns] = kept
    return PermutationImportance(before - scores)


def correlated_groups(X: TableLike, threshold: float = 0.7) -> list[list[int]]:
    """Group features with strong rank correlations, to permute them together.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Numbers; missing values have the mean rank.
    threshold : float in (0, 1], default=0.7
        Smallest mean absolute Spearman correlation between the members of two groups that are joined (average linkage).

    Returns
    -------
    list of lists of int
        A partition of the features, ordered by their first members.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> correlated_groups(load_iris().data)
    [[0, 2, 3], [1]]
    """
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform
    from scipy.stats import rankdata

    if not 0 < threshold <= 1:
        raise ValueError(f"threshold must be in (0, 1], got {threshold!r}.")
    values = np.asarray(X, dtype=np.float64)
    ranks = rankdata(values, axis=0, nan_policy="omit")
    ranks = np.where(np.isnan(ranks), np.nanmean(ranks, axis=0), ranks) - np.nanmean(ranks, axis=0)
    norm = np.sqrt((ranks**2).sum(axis=0))
    ranks /= np.where(norm > 0, norm, 1.0)
    distance = 1.0 - np.clip(np.abs(ranks.T @ ranks), 0.0, 1.0)
    np.fill_diagonal(distance, 0.0)
    if len(distance) == 1:
        return [[0]]
    groups = fcluster(linkage(squareform(distance, checks=False), "average"), 1.0 - threshold, "distance")
    members: dict[int, list[int]] = {}
    for feature, group in enumerate(groups.tolist()):
        members.setdefault(group, []).append(feature)
    return list(members.values())


class _ClassScores:
    """Scores of trees on out-of-bag rows of a classifier."""

    #: 1 if the leaf predicts the class of the row (fractional for ties), or the share of its class.
    worths = ("accuracy", "probability")

    def permute(self, trees: Forest, rows: TrainingRows, worth: str, *rest: Any) -> None:
        """Compute the loss of each tree when groups are permuted."""
        itself = rows.bags.counts_oob
        trees._reader.permute(rows.codes, rows.target.labels, self.worths.index(worth), itself, *rest)

    def gain(self, trees: Forest, rows: TrainingRows, *rest: Any) -> None:
        """Compute the gains of splits."""
        trees._reader.gains(rows.codes, rows.target.labels, *rest)


class _NumberScores:
    """Scores of trees on out-of-bag rows of a regressor: negative squared errors."""

    worths = ("squared_error",)

    def permute(self, trees: Forest, rows: TrainingRows, worth: str, *rest: Any) -> None:
        """Compute the loss of each tree when groups are permuted."""
        assert trees.values is not None
        trees._reader.permute_numbers(rows.codes, rows.target.values, trees.values, *rest)

    def gain(self, trees: Forest, rows: TrainingRows, *rest: Any) -> None:
        """Compute the gains of splits with centred targets, which lose the fewest digits."""
        trees._reader.gains_numbers(rows.codes, rows.target.values - rows.target.values.mean(), *rest)


#: Prediction types whose trees have a score on out-of-bag rows; unsupervised trees tell real rows from permuted ones.
OOB_KINDS = ("classes", "numbers", "rows")
#: Scores by type of target.
OOB_SCORES: dict[str, _ClassScores | _NumberScores] = {"classes": _ClassScores(), "numbers": _NumberScores()}


def oob_scores(rows: TrainingRows) -> _ClassScores | _NumberScores:
    """Return the scores for the type of target of the rows."""
    target_type = rows.target.kind
    if target_type not in OOB_SCORES:
        raise ValueError(
            f"forest must be a classifier or a regressor, got a target of type {target_type!r}."
            " Use permutation_importance."
        )
    return OOB_SCORES[target_type]


def oob_permuted(
    trees: Forest, rows: TrainingRows, groups: Grouped, worth: str, n_repeats: int, key: int, n_threads: int
) -> Floats:
    """Return the loss of each tree with out-of-bag rows when a group is permuted (trees, groups)."""
    decrease = np.empty((trees.n_trees, len(groups[1]) - 1))
    rest = (rows.bags.seed, rows.bags.mean, *groups, key, n_repeats, n_threads, decrease, rows.bags.units)
    oob_scores(rows).permute(trees, rows, worth, *rest)
    return _with_oob_rows(decrease)


def oob_gained(trees: Forest, rows: TrainingRows, n_threads: int) -> Floats:
    """Return the gains of the splits on each feature in each tree with out-of-bag rows (trees, p)."""
    gains = np.empty((trees.n_trees, len(rows.codes)))
    oob_scores(rows).gain(trees, rows, rows.bags.seed, rows.bags.mean, n_threads, gains, rows.bags.units)
    return _with_oob_rows(gains)


def _with_oob_rows(per_tree: Floats) -> Floats:
    """Drop trees without out-of-bag rows, which have NaN in `per_tree` (T, p)."""
    measured = per_tree[~np.isnan(per_tree).any(axis=1)]
    if not len(measured):
        raise ValueError("The importance requires out-of-bag rows, but no tree has any. Use more trees or more rows.")
    return measured


def rows_with_bags(forest: BaseEstimator) -> TrainingRows:
    """Return the training rows of a forest.

    Raise a ValueError without out-of-bag rows.
    """
    predictor = predictor_of(forest)
    if predictor.kind not in OOB_KINDS:
        raise ValueError(
            f"The importance does not support {type(forest).__name__}. Use sklearn.inspection.permutation_importance."
        )
    rows: TrainingRows | None = predictor.fitted.oob_rows
    if rows is None:
        raise ValueError(
            "The importance requires a forest with bootstrap=True that has kept its training rows, unlike loaded,"
            " unpickled and warm-started ones. Refit it, or use permutation_importance."
        )
    if rows.target.known is not None:
        raise ValueError(
            "The importance does not support uncertain labels and cells. Use permutation_importance on certain rows."
        )
    return rows


def read_groups(forest: BaseEstimator, groups: Groups | None) -> Grouped:
    """Convert groups of features to concatenated feature numbers and the start of each group (groups + 1,)."""
    if groups is None:
        return np.arange(forest.n_features_in_), np.arange(forest.n_features_in_ + 1)
    names = list(predictor_of(forest).fitted.schema.names or ())
    listed = [[group] if isinstance(group, str | int | np.integer) else list(group) for group in groups]
    features = [[names.index(f) if isinstance(f, str) and f in names else f for f in group] for group in listed]
    for feature in (feature for group in features for feature in group):
        if not (isinstance(feature, int | np.integer) and 0 <= feature < forest.n_features_in_):
            raise ValueError(
                f"groups must contain feature names or numbers below {forest.n_features_in_}, got {feature!r}."
            )
    if not features or not all(features) or any(len(set(group)) < len(group) for group in features):
        raise ValueError(f"groups must be non-empty lists of distinct features, got {groups!r}.")
    start = np.cumsum([0, *map(len, features)])
    return np.concatenate(features).astype(np.int64), start.astype(np.int64)


def threads_of(forest: BaseEstimator) -> int:
    """Return the number of threads: one per tree, at most `n_jobs`."""
    predictor = predictor_of(forest)
    return int(predictor.threads(1000 * predictor.forest.n_trees))
