"""Regression: a table and numbers -> a fitted regressor, and everything one can ask it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, Self, overload

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_is_fitted

from hedgerow.estimators.bagging import ChoosingMixin
from hedgerow.estimators.later_numbers import LaterRegressor
from hedgerow.estimators.trees import (
    MAX_ROWS,
    MIXED,
    Earlier,
    Growing,
    Seen,
    TreesEstimator,
    bag_of,
    schema_attributes,
)
from hedgerow.fit.checkpoint import Checkpoint
from hedgerow.fit.parameters import (
    NUMBER_CRITERIA,
    check_caution,
    check_switches,
    resolve_settings,
    thread_count,
)
from hedgerow.fit.progress import with_callbacks
from hedgerow.forest.forest import Forest
from hedgerow.forest.grow import GrowSettings
from hedgerow.forest.prune import prune
from hedgerow.forest.quantiles import LeafRows, find_leaf_rows, quantiles_of
from hedgerow.forest.rows import Bags, Grid, Judges, Origin
from hedgerow.forest.walk import NumberTree, impurity_importance
from hedgerow.judge.intervals import Residuals, jackknife_plus, residuals_from
from hedgerow.judge.oob import NumberTrace
from hedgerow.table import Table, read_table, read_training_table
from hedgerow.table.bins import Bins, Codes, encode, find_bins
from hedgerow.target.base import Numbers
from hedgerow.target.classes import read_weights
from hedgerow.target.numbers import numbers_on_grid, read_targets

Floats = NDArray[np.float64]


class VarianceOf(NamedTuple):
    """How uncertain a forest is about the targets of n samples, as variances, (n,) each.

    ``total`` = ``aleatoric`` + ``epistemic``: the mean over trees of the variance in the leaf reached, which is noise
    that further rows would not remove, and the variance over trees of the leaf means. Leaves of a single row show no
    noise: grow them with ``min_samples_leaf`` of 5 or more to tell the two apart.
    """

    total: Floats
    aleatoric: Floats
    epistemic: Floats


@dataclass(frozen=True)
class _Training:
    """A training table on its way through `fit`."""

    table: Table
    kept: NDArray[np.uint32] | None  # rows with weight above zero, None for all
    y: Floats  # of all rows
    labels: Numbers  # of the rows that are kept
    settings: GrowSettings
    weights: Floats | None = None  # of the rows that are kept, as given
    bag: object = None  # what two fits must share for the bags of one to be known to the other

    @property
    def identity(self) -> Floats:
        """What two trainings with the same targets share."""
        return self.labels.values

    def with_seed(self, seed: int) -> _Training:
        """The same, grown with another seed."""
        return replace(self, settings=replace(self.settings, seed=seed))

    def origin(self, n_trees: int, first_tree: int) -> Origin:
        """What trees that were grown on these rows know of them."""
        settings, numbers = self.settings, self.labels
        n_rows, scale = len(numbers.values), 1.0
        if self.weights is not None and (numbers.weights is None or numbers.weights[0] != self.weights[0]):
            scale = float(self.weights.max())
        return Origin(
            n_trees,
            first_tree,
            settings.seed,
            settings.bag_mean,
            settings.leaf_counts,
            n_rows,
            n_rows,
            (float(n_rows),),
            scale,
            grid=Grid.of(float(numbers.values.min()), float(numbers.values.max())),
        )


@dataclass(frozen=True, eq=False, repr=False)
class Trained:
    """The binned training table: what out-of-bag residuals and the rows of leaves are found from.

    It stays with the fitted estimator (a byte or two per cell) and is left out of pickles.
    """

    codes: Codes
    y: Floats
    weights: Floats | None
    seed: int
    bag_mean: float

    @property
    def bags(self) -> Bags:
        """How bags were drawn; leaves hold rows of the bag alone."""
        return Bags(self.seed, self.bag_mean, len(self.y), leaf_counts="inbag")


class TreesRegressor(ChoosingMixin, LaterRegressor, RegressorMixin, TreesEstimator):  # type: ignore[misc]
    """What all tree and forest regressors share; the public classes are presets of it."""

    _criteria = NUMBER_CRITERIA
    _of_one_fit = (
        "oob_score_",
        "oob_prediction_",
        "max_features_",
        "max_features_errors_",
        "_trained",
        "_seen",
        "_residuals",
        "_leaf_rows",
        "_traced",
    )
    _not_pickled = ("_trained", "_seen")

    caution: Any
    criterion: str
    criterion_: str
    leaf_rows: bool

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, checkpoint: Any = None) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Numbers, booleans, categories or text; NaN, None and null are missing, infinities are values.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights change splits, means and variances, never the amount of evidence: three rows are three rows.
        checkpoint : str or path, default=None
            A folder that keeps trees as they are grown: the same call goes on after an interruption and ends with the
            same forest, bit for bit.

        Returns
        -------
        self
        """
        self._check_parameters()
        saved = None if checkpoint is None else Checkpoint(checkpoint)
        earlier = self._earlier_model()
        training = self._read_training(X, y, sample_weight, earlier)
        if saved:
            training = training.with_seed(saved.seed(self.random_state, training.settings.seed))
        n_threads = thread_count(getattr(self, "n_jobs", None))
        bins = earlier._bins if earlier else find_bins(training.table, rows=training.kept, n_threads=n_threads)
        all_codes = encode(training.table, bins, n_threads=n_threads)
        codes = all_codes if training.kept is None else np.ascontiguousarray(all_codes[:, training.kept])
        training = replace(training, bag=self._bag_of(training, codes, earlier))
        self._finish_fit(X, y, training, bins, (codes, all_codes), earlier, Growing(checkpoint=saved))
        return self

    def _finish_fit(
        self,
        X: Any,
        y: Any,
        training: _Training,
        bins: Bins,
        both_codes: tuple[Codes, Codes],
        earlier: Earlier | None,
        how: Growing,
    ) -> None:
        """From codes, of the rows that have weight and of all, to a fitted forest."""
        codes, all_codes = both_codes
        n_threads = thread_count(getattr(self, "n_jobs", None))
        training, chosen = self._choose_features(training, bins, codes, earlier is not None, n_threads)
        forest = self._grow(X, y, training, bins, codes, earlier, n_threads, how)
        judged = self._judge_out_of_bag(forest, all_codes, codes, training, n_threads)
        if not self._one_tree and training.bag != MIXED:
            judged["_seen"] = Seen.of(training, codes, all_codes)
        judged["_origins"] = self._origins_after(training, forest, earlier)
        self._remember(training, bins, forest, judged | chosen)

    @overload
    def predict(self, X: Any, return_std: Literal[False] = False) -> NDArray[np.float64]: ...
    @overload
    def predict(self, X: Any, return_std: Literal[True]) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
    def predict(self, X: Any, return_std: bool = False) -> Any:
        """The mean over trees of what the leaves reached predict.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.
        return_std : bool, default=False
            Whether to return a standard deviation as well: the root of ``predict_uncertainty(X).total``.

        Returns
        -------
        y : ndarray of shape (n_samples,)
        std : ndarray of shape (n_samples,)
            Only with ``return_std=True``.
        """
        codes = self._codes(X)
        assert self.forest_.values is not None
        predicted = self._fold(codes, self.forest_.values[:, None])[:, 0]
        return (predicted, np.sqrt(self._variance(codes).total)) if return_std else predicted

    def predict_uncertainty(self, X: Any) -> VarianceOf:
        """The variance of the target, split into what lies in the leaves and what lies between the trees.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        VarianceOf
            total, aleatoric, epistemic: one array of shape (n_samples,) each.
        """
        return self._variance(self._codes(X))

    def predict_bounds(self, X: Any) -> Floats:
        """Lower and upper mean: what it would be if every leaf had ``caution`` more rows, all lowest or all highest.

        A leaf of n rows with mean m says from (n m + caution low) / (n + caution) to (n m + caution high) / (n +
        caution), where low and high are the extremes of the training targets: the interval is wide where leaves hold
        few rows. ``caution=0`` gives the prediction twice.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        bounds : ndarray of shape (n_samples, 2)
        """
        codes, caution, forest = self._codes(X), check_caution(self.caution), self.forest_
        assert forest.values is not None
        share = forest.counts / (forest.counts + caution)
        lower, upper = (share * forest.values + (1 - share) * extreme for extreme in self._range)
        return self._fold(codes, np.column_stack([lower, upper]))

    def predict_interval(self, X: Any, coverage: float = 0.9) -> Floats:
        """Where the target of each sample lies, with a promise: the jackknife+-after-bootstrap.

        Out-of-bag residuals decide how wide the interval is; nothing is held out and nothing refitted. For
        exchangeable rows, and trees whose number was drawn (Binomial, as bags that miss one row are), the target of a
        new sample lies inside with probability at least ``2 * coverage - 1``, on average over training sets of any
        size and whatever the distribution [1]_; in practice it is close to ``coverage``. Up to 4,096 training rows
        are used, evenly spread. With so few rows that no interval can keep the promise, it is infinite.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.
        coverage : float, default=0.9
            The share of targets that should lie inside.

        Returns
        -------
        bounds : ndarray of shape (n_samples, 2)

        References
        ----------
        .. [1] B. Kim, C. Xu, R. F. Barber: Predictive inference is free with the jackknife+-after-bootstrap. NeurIPS
           2020.
        """
        if not (isinstance(coverage, float | int | np.floating) and 0 < coverage < 1):
            raise ValueError(f"coverage must be a number between 0 and 1, got {coverage!r}")
        codes = self._codes(X)
        residuals = self._residuals_or_raise()
        leaves = self.forest_.leaves(codes, self._reading_threads(codes.shape[1]))
        return jackknife_plus(self.forest_, leaves, residuals, float(coverage))

    def predict_quantiles(
        self,
        X: Any,
        quantiles: Any = (0.05, 0.5, 0.95),
        *,
        weighting: str = "tree",
        interpolation: str = "linear",
    ) -> Floats:
        """Quantiles of the target: a quantile regression forest [1]_.

        A sample is compared with the training rows that share its leaves; each counts as much as the trees say. The
        rows of every leaf are found when this is first called, by sending the binned training table down the trees,
        and kept: four bytes per row and tree.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.
        quantiles : float or array-like of shape (n_quantiles,), default=(0.05, 0.5, 0.95)
            Which, from 0 to 1.
        weighting : {"tree", "row"}, default="tree"
            Whether every tree weighs the same, as in the paper, or every row in the leaves reached.
        interpolation : {"linear", "inverse"}, default="linear"
            Between the two nearest targets, as if each stood there as often as it weighs (`numpy.quantile` and
            quantile-forest do this); or the smallest target whose share reaches the quantile, as in the paper.

        Returns
        -------
        values : ndarray of shape (n_samples, n_quantiles)

        References
        ----------
        .. [1] N. Meinshausen: Quantile regression forests. JMLR 7, 2006.
        """
        codes = self._codes(X)
        n_threads = self._reading_threads(codes.shape[1])
        leaves = self.forest_.leaves(codes, n_threads)
        rows = self._rows_in_leaves()
        return quantiles_of(self.forest_, leaves, rows, quantiles, weighting, interpolation, n_threads)

    @property
    def feature_importances_(self) -> Floats:
        """(n_features,): share of the decrease in squared error (in deviance, with criterion="poisson").

        Features with many values look more important than they are; permutation importance does not have this bias.
        """
        check_is_fitted(self)
        trees = range(self.forest_.n_trees)
        each = [impurity_importance(self._tree(number), self.n_features_in_, self.criterion_) for number in trees]
        mean = np.mean(each, axis=0)
        return np.asarray(mean / mean.sum() if mean.sum() > 0 else mean)

    @property
    def oob_trace_(self) -> Floats:
        """(n_trees,): out-of-bag error of the forest after each tree: squared, or absolute if trees reduce that.

        Computed in one pass when first asked for.
        """
        check_is_fitted(self)
        if not hasattr(self, "_traced"):
            trained: Trained | None = getattr(self, "_trained", None)
            if trained is None or trained.bag_mean == 0:
                raise ValueError(
                    "oob_trace_ must be asked of a forest that still knows the rows its trees have not seen, got one"
                    " without a bootstrap, loaded, merged or warm-started on other rows; fit with bootstrap=True"
                )
            trace = NumberTrace(trained.y, Judges(trained.bags), absolute=self.criterion_ == "absolute_error")
            trace.extend(self.forest_, trained.codes, self._reading_threads(len(trained.y)))
            self._traced = np.array(trace.errors)
        return self._traced.copy()

    # ---- stages of fit ------------------------------------------------------------

    def _trace_of(self, training: _Training, codes: Codes) -> NumberTrace:
        settings = training.settings
        judges = Judges(Bags(settings.seed, settings.bag_mean, codes.shape[1]))
        return NumberTrace(training.labels.values, judges, absolute=settings.criterion == "absolute_error")

    def _check_parameters(self) -> None:
        """Refuse switches and a caution that are none, before anything is read."""
        if not isinstance(self.leaf_rows, bool | np.bool_):
            raise ValueError(f"leaf_rows must be True or False, got {self.leaf_rows!r}")
        oob_score = getattr(self, "oob_score", False)
        if isinstance(oob_score, str):
            raise ValueError(f"oob_score must be True, False or a callable, got {oob_score!r}")
        check_switches(self)
        check_caution(self.caution)

    def _read_training(self, X: Any, y: Any, sample_weight: Any, earlier: Earlier | None) -> _Training:
        """Check and read everything the user handed in; nothing of the estimator changes."""
        if earlier:
            table = read_table(X, earlier.schema)
        else:
            table = read_training_table(X, categorical_features=getattr(self, "categorical_features", None))
        if table.n_rows >= MAX_ROWS:
            raise ValueError(f"X must have fewer than 2**31 rows, got {table.n_rows}; train on a sample of them")
        weights = read_weights(sample_weight, table.n_rows)
        kept = None if weights is None or (weights > 0).all() else np.flatnonzero(weights).astype(np.uint32)
        n_kept = table.n_rows if kept is None else len(kept)
        settings = resolve_settings(self, n_kept, table.n_features, table.schema.names, 1)
        settings = replace(settings, leaf_counts="inbag", seed=earlier.seed if earlier else settings.seed)
        signs = zip(settings.monotonic or [], table.schema.nominal, strict=False)
        if any(sign and nominal for sign, nominal in signs):
            raise ValueError("monotonic_cst must be 0 for nominal features, got a constraint on one")
        values = read_targets(y, table.n_rows, settings.criterion)
        rows = slice(None) if kept is None else kept
        numbers = numbers_on_grid(
            values[rows], None if weights is None else weights[rows], centred=settings.criterion != "poisson"
        )
        return _Training(table, kept, values, numbers, settings, None if weights is None else weights[rows])

    def _bag_of(self, training: _Training, codes: Codes, earlier: Earlier | None) -> object:
        """A fingerprint of rows and bags; a warm start on others cannot give out-of-bag figures."""
        warm_start = getattr(self, "warm_start", False)
        bag = bag_of(training.identity, codes, training.settings, warm_start=warm_start)
        if earlier and earlier.bag != bag and getattr(self, "oob_score", False):
            raise ValueError(
                "X, y, bootstrap and max_samples must be those of the first fit for out-of-bag figures in a warm start,"
                " got others; fit all trees at once, or without oob_score"
            )
        return bag if not earlier or earlier.bag == bag else MIXED

    def _judge_out_of_bag(
        self, forest: Forest, all_codes: Codes, codes: Codes, training: _Training, n_threads: int
    ) -> dict[str, Any]:
        """What is kept of the training rows, and ``oob_score_`` and ``oob_prediction_`` where asked for."""
        if training.bag == MIXED:
            return {}
        settings, numbers = training.settings, training.labels
        trained = Trained(codes, numbers.values, numbers.weights, settings.seed, settings.bag_mean)
        judged: dict[str, Any] = {"_trained": trained}
        if self.leaf_rows:
            judged["_leaf_rows"] = _leaf_rows_of(forest, trained, n_threads)
        metric = getattr(self, "oob_score", False)
        if not metric:
            return judged
        predicted = out_of_bag_prediction(forest, trained, n_threads)
        seen = ~np.isnan(predicted)
        score = (metric if callable(metric) else r2_score)(numbers.values[seen], predicted[seen])
        whole = predicted
        if training.kept is not None:  # rows without weight: no tree has seen them
            assert forest.values is not None
            whole = fold_mean(forest, all_codes, forest.values[:, None], n_threads)[:, 0]
            whole[training.kept] = predicted
        residuals = residuals_from(numbers.values, predicted, trained.bags, forest.n_trees)
        return judged | {"oob_prediction_": whole, "oob_score_": float(score), "_residuals": residuals}

    def _tree(self, number: int) -> NumberTree:
        return NumberTree(self.forest_, number, self._bins, self._schema)

    def _prune(self, forest: Forest, bins: Bins, training: _Training) -> Forest:
        def tree_of(trees: Forest, number: int) -> NumberTree:
            return NumberTree(trees, number, bins, training.table.schema)

        return prune(forest, tree_of, training.settings.criterion, getattr(self, "ccp_alpha", 0.0))

    def _fitted_attributes(self, training: _Training, bins: Bins, forest: Forest) -> dict[str, Any]:
        """Everything that makes an estimator a fitted one."""
        values = training.labels.values
        return {
            "forest_": forest,
            "_bins": bins,
            "_schema": training.table.schema,
            "criterion_": training.settings.criterion,
            "_seed": training.settings.seed,
            "_bag": training.bag,
            "_range": (float(values.min()), float(values.max())),
        } | schema_attributes(training.table.schema)

    def __getstate__(self) -> dict[str, Any]:
        """Without the binned training table; what intervals need of it is found before."""
        if self._has_residuals():
            self._residuals_or_raise()
        state: dict[str, Any] = super().__getstate__()
        if not self.leaf_rows:
            state.pop("_leaf_rows", None)
        return state

    # ---- reading ------------------------------------------------------------------

    def _checked_tree(self, number: int) -> NumberTree:
        check_is_fitted(self)
        return self._tree(number)

    def _fold(self, codes: Codes, states: Floats) -> Floats:
        """Codes (p, n), states of leaves (L, S) -> their mean over the leaves reached (n, S)."""
        return fold_mean(self.forest_, codes, states, self._reading_threads(codes.shape[1]))

    def _variance(self, codes: Codes) -> VarianceOf:
        """Codes (p, n) -> variance within leaves and between trees."""
        forest = self.forest_
        assert forest.values is not None
        assert forest.variances is not None
        means = forest.values if forest.means is None else forest.means
        away = means - sum(self._range) / 2  # near the numbers, so that squares do not swallow their differences
        mean, square, within = self._fold(codes, np.column_stack([away, away**2, forest.variances])).T
        between = np.maximum(square - mean**2, 0)
        return VarianceOf(within + between, within, between)

    def _has_residuals(self) -> bool:
        """Whether rows were left out of bags, and what is needed of them is still known."""
        return hasattr(self, "_residuals") or (hasattr(self, "_trained") and self._trained.bag_mean > 0)

    def _residuals_or_raise(self) -> Residuals:
        """Out-of-bag residuals, found when first needed."""
        if not self._has_residuals():
            raise ValueError(
                "predict_interval must be asked of a forest whose trees leave rows out, got one without a bootstrap,"
                " warm-started on other rows, merged, or added to after it was loaded; fit with bootstrap=True"
            )
        if not hasattr(self, "_residuals"):
            trained, n_threads = self._trained, thread_count(getattr(self, "n_jobs", None))
            predicted = out_of_bag_prediction(self.forest_, trained, n_threads)
            self._residuals = residuals_from(trained.y, predicted, trained.bags, self.forest_.n_trees)
        return self._residuals

    def _rows_in_leaves(self) -> LeafRows:
        """The training rows of every leaf, found when first needed."""
        if not hasattr(self, "_leaf_rows"):
            trained: Trained | None = getattr(self, "_trained", None)
            if trained is None:
                raise ValueError(
                    "predict_quantiles must be asked of a model fitted here or with leaf_rows=True, got one unpickled,"
                    " loaded, or warm-started on other rows, whose leaves have lost their rows; fit it again"
                )
            self._leaf_rows = _leaf_rows_of(self.forest_, trained, thread_count(getattr(self, "n_jobs", None)))
        return self._leaf_rows

    _range: tuple[float, float]
    _trained: Trained
    _traced: Floats
    _residuals: Residuals
    _leaf_rows: LeafRows


def fold_mean(forest: Forest, codes: Codes, states: Floats, n_threads: int) -> Floats:
    """Codes (p, n), states of leaves (L, S) -> their mean over the leaves reached (n, S)."""
    merged = np.zeros((codes.shape[1], states.shape[1]))
    forest.fold(codes, np.ascontiguousarray(states), None, 0, 0, forest.n_trees, None, None, n_threads, merged)
    return merged / forest.n_trees


def out_of_bag_prediction(forest: Forest, trained: Trained, n_threads: int) -> Floats:
    """-> (n,): the mean of the trees that have not seen each training row, NaN where all have."""
    assert forest.values is not None
    merged = np.zeros((len(trained.y), 2))
    states = np.column_stack([forest.values, np.ones(len(forest.values))])
    bags = (trained.seed, trained.bag_mean, None)
    forest.fold(trained.codes, states, None, 0, 0, forest.n_trees, None, bags, n_threads, merged)
    return np.where(merged[:, 1] > 0, merged[:, 0] / np.maximum(merged[:, 1], 1), np.nan)


def _leaf_rows_of(forest: Forest, trained: Trained, n_threads: int) -> LeafRows:
    """The training table sent down the trees."""
    return find_leaf_rows(forest, trained.codes, trained.y, trained.weights, trained.bags, n_threads)
