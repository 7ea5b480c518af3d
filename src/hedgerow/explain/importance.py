"""Importance of features."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import column_or_1d

from hedgerow.forest.forest import Forest
from hedgerow.forest.training import TrainingRows
from hedgerow.inference.batch import Batch
from hedgerow.inference.predictor import predictor_of
from hedgerow.table.bins import Codes

Floats = NDArray[np.float64]
Groups = Sequence[int | str | Sequence[int | str]]
Grouped = tuple[NDArray[np.int64], NDArray[np.int64]]  # features end to end, and where each group starts


@dataclass(frozen=True, eq=False)
class Importance:
    """How much features, or groups of them, matter to each tree of a forest.

    Attributes
    ----------
    per_tree : float64 (T, p)
        One row per tree that has rows outside its bag.
    """

    per_tree: Floats

    @property
    def mean(self) -> Floats:
        """(p,): the mean over trees, the raw importance."""
        return np.asarray(self.per_tree.mean(axis=0))

    @property
    def deviation(self) -> Floats:
        """(p,): the standard deviation over trees."""
        trees = len(self.per_tree)
        return np.asarray(self.per_tree.std(axis=0, ddof=1)) if trees > 1 else np.zeros(self.per_tree.shape[1])

    @property
    def scaled(self) -> Floats:
        """(p,): the mean divided by its standard error, deviation/√T, as in Breiman's program; 0 if both are 0."""
        error = self.deviation / np.sqrt(len(self.per_tree))
        return np.asarray(np.divide(self.mean, error, out=np.zeros_like(error), where=error > 0))


@dataclass(frozen=True, eq=False)
class PermutationImportance:
    """Loss of score when features, or groups of them, are permuted.

    Attributes
    ----------
    importances : float64 (p, n_repeats)
        Score before minus score after each permutation.
    """

    importances: Floats

    @property
    def importances_mean(self) -> Floats:
        """(p,): mean over the repeats."""
        return np.asarray(self.importances.mean(axis=1))

    @property
    def importances_std(self) -> Floats:
        """(p,): standard deviation over the repeats."""
        return np.asarray(self.importances.std(axis=1))


def oob_permutation_importance(
    forest: Any,
    *,
    worth: str | None = None,
    groups: Groups | None = None,
    n_repeats: int = 1,
    random_state: Any = 0,
) -> Importance:
    """How much worse each tree judges the rows outside its bag when a feature is permuted among them.

    Parameters
    ----------
    forest : fitted forest with bootstrap=True
        Not one that was loaded or unpickled: model files and pickles do not keep the training rows.
    worth : {"accuracy", "probability", "squared_error"}, default=None
        The worth of a tree's answer for a row. "accuracy" is 1 if the row's class leads in the leaf (ties share), as in
        Breiman's program; this is the default of classifiers. "probability" is the share of the class in the leaf,
        which is smoother. The row's own count is taken out of the leaf. For a regressor it is minus the squared error.
    groups : list of feature numbers, names or lists of them, default=None
        Features of a list are permuted together, so that correlated features cannot replace each other; see
        `correlated_groups`. None permutes every feature alone.
    n_repeats : int, default=1
        Permutations of each feature in each tree.
    random_state : int or RandomState, default=0
        The same int gives the same permutations, for any number of threads.

    Returns
    -------
    Importance
        ``mean`` (raw), ``scaled`` (divided by its standard deviation) and ``per_tree``, one column per group.

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
        raise ValueError(f"n_repeats must be an int >= 1, got {n_repeats!r}; one is enough for many trees")
    rows = rows_with_bags(forest)
    worths = oob_measure(rows).worths
    if worth is not None and worth not in worths:
        raise ValueError(f"worth must be one of {', '.join(worths)}, got {worth!r}; choose one of these")
    key = int(check_random_state(random_state).randint(0, 2**63 - 1, dtype=np.int64))
    chosen = read_groups(forest, groups)
    each = oob_permuted(forest.forest_, rows, chosen, worth or worths[0], int(n_repeats), key, threads_of(forest))
    return Importance(each)


def debiased_importance(forest: Any) -> Importance:
    """Decrease of impurity, measured on rows outside the bags: zero on average for a feature without information.

    `feature_importances_` measures splits on the rows they were chosen on, so a random column with a hundred levels
    looks important. Here the gain of a split is how much it raises, for rows outside the bag, the share of the row's
    class among the bag's rows, compared with sending the rows to the same children at random. (Li et al. 2019 compare
    with the bag's rows at the node, which leaves a small negative bias.) On the bag's own rows this would be the
    decrease of Gini impurity; for a regressor, with targets and means instead of classes and shares, that of squared
    error. Values may be negative and do not sum to one.

    Parameters
    ----------
    forest : fitted forest with bootstrap=True
        Not one that was loaded or unpickled. All rows count the same, whatever their weights.

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


def first_use_depth(forest: Any) -> Importance:
    """Depth of the first split on each feature, or the depth of the tree if it has none; small is important.

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


def permutation_importance(
    forest: Any,
    X: Any,
    y: Any,
    *,
    metric: Callable[[NDArray[Any], Floats], float] | None = None,
    groups: Groups | None = None,
    n_repeats: int = 5,
    random_state: Any = None,
) -> PermutationImportance:
    """Loss of score on any rows when a feature is permuted among them; the table is binned only once.

    Permutations and results are those of ``sklearn.inspection.permutation_importance`` with the same ``random_state``.

    Parameters
    ----------
    forest : fitted tree or forest
        Its rule is used.
    X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
        Samples, preferably rows that were not used to fit.
    y : array-like of shape (n_samples,)
        Their labels or targets.
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
        raise ValueError(
            f"y must have a label for each of the {codes.shape[1]} rows of X, got {len(labels)}; pass those of X"
        )
    features, start = read_groups(forest, groups)
    seed = check_random_state(random_state).randint(np.iinfo(np.int32).max + 1)

    def score(permuted: Codes) -> float:
        said = predictor.predicted(Batch(permuted))
        return float(predictor.score(labels, said) if metric is None else metric(labels, said))

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


def correlated_groups(X: Any, threshold: float = 0.7) -> list[list[int]]:
    """Group features with strong rank correlations, so that they can be permuted together.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Numbers; missing values take the middle rank.
    threshold : float in (0, 1], default=0.7
        Groups are joined as long as the mean absolute Spearman correlation between their members reaches it (average
        linkage).

    Returns
    -------
    list of lists of int
        Every feature is in one group, in the order of their first members.

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
        raise ValueError(f"threshold must be in (0, 1], got {threshold!r}; 0.7 is usual")
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


class _Classes:
    """Rows outside the bags, judged by their class."""

    #: How good the answer of a tree is for a row: 1 if its class leads in the leaf (ties share it), or its class share.
    worths = ("accuracy", "probability")

    def permute(self, trees: Forest, rows: TrainingRows, worth: str, *rest: Any) -> None:
        """What each tree loses when groups are permuted."""
        itself = rows.bags.counts_oob
        trees._reader.permute(rows.codes, rows.target.labels, self.worths.index(worth), itself, *rest)

    def gain(self, trees: Forest, rows: TrainingRows, *rest: Any) -> None:
        """What splits gain."""
        trees._reader.gains(rows.codes, rows.target.labels, *rest)


class _Numbers:
    """Rows outside the bags, judged by minus the squared error."""

    worths = ("squared_error",)

    def permute(self, trees: Forest, rows: TrainingRows, worth: str, *rest: Any) -> None:
        """What each tree loses when groups are permuted."""
        says: Any = trees.values
        trees._reader.permute_numbers(rows.codes, rows.target.values, says, *rest)

    def gain(self, trees: Forest, rows: TrainingRows, *rest: Any) -> None:
        """What splits gain, with numbers about their mean, where products lose the fewest digits."""
        trees._reader.gains_numbers(rows.codes, rows.target.values - rows.target.values.mean(), *rest)


#: How rows outside the bags are judged, for each kind of target.
OOB_MEASURES: dict[str, Any] = {"classes": _Classes(), "numbers": _Numbers()}


def oob_measure(rows: TrainingRows) -> Any:
    """Training rows -> how those outside the bags are judged."""
    target_kind = rows.target.kind
    if target_kind not in OOB_MEASURES:
        raise ValueError(
            f"forest must predict classes or numbers, got one of {target_kind}; use permutation_importance"
        )
    return OOB_MEASURES[target_kind]


def oob_permuted(
    trees: Forest, rows: TrainingRows, groups: Grouped, worth: str, n_repeats: int, key: int, n_threads: int
) -> Floats:
    """Training rows -> (trees with rows outside their bags, groups): what each tree loses when a group is permuted."""
    decrease = np.empty((trees.n_trees, len(groups[1]) - 1))
    rest = (rows.bags.seed, rows.bags.mean, *groups, key, n_repeats, n_threads, decrease, rows.bags.units)
    oob_measure(rows).permute(trees, rows, worth, *rest)
    return _with_oob_rows(decrease)


def oob_gained(trees: Forest, rows: TrainingRows, n_threads: int) -> Floats:
    """Training rows -> (trees with rows outside their bags, p): what the splits on each feature gain."""
    gains = np.empty((trees.n_trees, len(rows.codes)))
    oob_measure(rows).gain(trees, rows, rows.bags.seed, rows.bags.mean, n_threads, gains, rows.bags.units)
    return _with_oob_rows(gains)


def _with_oob_rows(per_tree: Floats) -> Floats:
    """(T, p) -> without the trees that have no row outside their bag."""
    measured = per_tree[~np.isnan(per_tree).any(axis=1)]
    if not len(measured):
        raise ValueError("forest must have rows outside some bag, got none; grow more trees on more rows")
    return measured


def rows_with_bags(forest: Any) -> TrainingRows:
    """A fitted forest -> its training rows, refused if no row is outside a bag."""
    rows: TrainingRows | None = predictor_of(forest).fitted.oob_rows
    if rows is None:
        raise ValueError(
            "forest must be fitted with bootstrap=True and still have its training rows, got one that has no bootstrap,"
            " was loaded or unpickled, or was warm-started on other rows; fit it again, or use permutation_importance"
        )
    if rows.target.known is not None:
        raise ValueError(
            "forest must be fitted to certain labels, got uncertain ones, for which no tree is right or wrong; use"
            " permutation_importance on rows of known class"
        )
    return rows


def read_groups(forest: Any, groups: Groups | None) -> Grouped:
    """Groups of feature numbers or names -> features end to end, and the start of each group (groups + 1,)."""
    if groups is None:
        return np.arange(forest.n_features_in_), np.arange(forest.n_features_in_ + 1)
    names = list(predictor_of(forest).fitted.schema.names or ())
    listed = [[group] if isinstance(group, str | int | np.integer) else list(group) for group in groups]
    features = [[names.index(f) if isinstance(f, str) and f in names else f for f in group] for group in listed]
    for feature in (feature for group in features for feature in group):
        if not (isinstance(feature, int | np.integer) and 0 <= feature < forest.n_features_in_):
            raise ValueError(
                f"groups must consist of features of the forest, got {feature!r}; give numbers below"
                f" {forest.n_features_in_} or names of the training table"
            )
    if not features or not all(features) or any(len(set(group)) < len(group) for group in features):
        raise ValueError(f"groups must be lists of different features, got {groups!r}; leave out empty lists")
    start = np.cumsum([0, *map(len, features)])
    return np.concatenate(features).astype(np.int64), start.astype(np.int64)


def threads_of(forest: Any) -> int:
    """Number of threads: one for each tree, up to what `n_jobs` allows."""
    predictor = predictor_of(forest)
    return int(predictor.threads(1000 * predictor.forest.n_trees))
