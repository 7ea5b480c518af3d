"""Survival trees and forests: the public estimators for right-censored times."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedgerow.decisions import Risk
from hedgerow.estimators.supervised import SupervisedTrees
from hedgerow.estimators.trees import SingleTreeMixin, require_metric
from hedgerow.fit.groups import NOT_GIVEN, GroupsLike
from hedgerow.fit.incremental import partial_fit
from hedgerow.fit.run import fit, with_callbacks
from hedgerow.fit.task import SupervisedTask
from hedgerow.forest.walk import Tree
from hedgerow.inference.fitted import fitted_of, publish, update_fitted
from hedgerow.inference.predictor import predictor_of
from hedgerow.metrics.survival import harrell_c, read_survival, with_entry
from hedgerow.params.checks import is_share, is_whole, is_word, must
from hedgerow.params.table import (
    PARAMETERS,
    REGRESSION,
    CategoricalFeatures,
    FeatureWeights,
    MaxFeatures,
    OobScore,
    Parameter,
    RandomState,
    rows_of,
    with_parameters_described,
)
from hedgerow.table.schema import TableLike, TargetLike
from hedgerow.tasks.survival.predictor import SurvivalPredictor, SurvivalUncertainty
from hedgerow.tasks.survival.task import LOG_RANK, Survival
from hedgerow.util.disk import Path_

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

#: Rows of the parameter table that mean something else for survival.
VARIANTS = {
    "caution": REGRESSION["caution"],
    "oob_score": Parameter(
        kind="bool",
        about="Whether to compute the out-of-bag score, Harrell's concordance index.",
        check=PARAMETERS["warm_start"].check,
        needs_bags=bool,
        needs_rows=bool,
        instead="False",
        without_bags=REGRESSION["oob_score"].without_bags,
    ),
    "calibration": Parameter(
        kind='"oob" or None',
        about='"oob" pools leaves with larger nodes above them, and calibrates survival probabilities and their bounds,'
        " on out-of-bag rows, if there are at least 20 events. None returns the mean of the leaves.",
        check=PARAMETERS["calibration"].check,
        on_fitted=True,
    ),
    "min_samples_leaf": Parameter(
        kind='int, float or "oob"',
        about='Minimum number of rows on each side of a split; a float is a share of the training rows. "oob" chooses'
        " one of 3, 7, 15, 30, 60 and 120 by the out-of-bag Brier score of pilot forests (``leaf_size_``), and requires"
        " bootstrap.",
        check=must(
            "an int >= 1, a float in (0, 1] or 'oob'",
            lambda value: is_word(value, "oob") or is_whole(value, 1) or is_share(value),
        ),
        needs_bags=lambda value: is_word(value, "oob"),
        needs_rows=lambda value: is_word(value, "oob"),
    ),
}


class SurvivalTrees(SupervisedTrees):
    """Base class for survival trees and forests."""

    _task: ClassVar[SupervisedTask] = Survival()
    criterion = LOG_RANK

    @with_callbacks
    def fit(
        self,
        X: TableLike,
        y: TargetLike,
        sample_weight: ArrayLike | None = None,
        *,
        entry: ArrayLike | None = None,
        groups: GroupsLike = NOT_GIVEN,
        checkpoint: Path_ | None = None,
    ) -> Self:
        """Grow the trees on a table, times and events.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            The training table.
        y : structured array, data frame or array of shape (n_samples, 2) or (n_samples, 3), or tuple of arrays
            Time of each row, and whether its event was observed or the time is censored. A boolean column is the event;
            without one, the first column is the time. Competing causes are 1, 2, …, and 0 is censored. A third column
            is the time of entry. Arrays of scikit-survival's ``Surv`` are accepted.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        entry : array-like of shape (n_samples,), default=None
            Time from which each row is under observation (left truncation); the same as a third column of y.
        groups : array-like of shape (n_samples,), str or None, optional
            Groups of rows that belong together; see `RandomForestRegressor.fit`.
        checkpoint : str or path, default=None
            Folder in which trees are stored during the fit; see `RandomForestRegressor.fit`.

        Returns
        -------
        self
        """
        return publish(self, fit(self, X, with_entry(y, entry), sample_weight, checkpoint=checkpoint, groups=groups))

    @with_callbacks
    def partial_fit(
        self,
        X: TableLike,
        y: TargetLike,
        sample_weight: ArrayLike | None = None,
        *,
        entry: ArrayLike | None = None,
        groups: GroupsLike = NOT_GIVEN,
    ) -> Self:
        """Add the evidence of new rows to the leaves, on the grid of the first fit.

        Parameters
        ----------
        X, y, sample_weight, entry
            As in `fit`.
        groups : array-like of shape (n_samples,), str or None, optional
            Groups of the new rows; see `RandomForestRegressor.partial_fit`.

        Returns
        -------
        self
        """
        y = with_entry(y, entry)
        return update_fitted(self, partial(partial_fit, self, X, y, sample_weight, None, groups=groups))

    def predict(self, X: TableLike) -> Floats:
        """Predict the risk of each sample; higher risk means earlier events.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        risk : ndarray of shape (n_samples,)
            Cumulative hazard, summed over the event times.
        """
        predictor: SurvivalPredictor = predictor_of(self)
        return predictor.risk(predictor.read(X))

    def predict_survival_function(self, X: TableLike, times: Any = None) -> Floats:
        """Predict the probability of survival at each time.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.
        times : array-like of shape (n_times,), default=None
            Times up to the last event time of the training rows; None means ``event_times_``.

        Returns
        -------
        survival : ndarray of shape (n_samples, n_times)
        """
        predictor: SurvivalPredictor = predictor_of(self)
        return predictor.at(predictor.curves(predictor.read(X)), self._times(times))

    def predict_cumulative_hazard_function(self, X: TableLike, times: Any = None) -> Floats:
        """Predict the cumulative hazard at each time.

        Parameters
        ----------
        X, times
            As in `predict_survival_function`.

        Returns
        -------
        hazard : ndarray of shape (n_samples, n_times)
        """
        predictor: SurvivalPredictor = predictor_of(self)
        return predictor.at(predictor.hazards(predictor.read(X)), self._times(times))

    def predict_bounds(self, X: TableLike, times: Any = None) -> Floats:
        """Predict lower and upper probabilities of survival at each time.

        They are means over trees; each leaf has an imprecise Dirichlet process with pseudo-count ``caution``.

        Parameters
        ----------
        X, times
            As in `predict_survival_function`.

        Returns
        -------
        bounds : ndarray of shape (n_samples, n_times, 2)
        """
        predictor: SurvivalPredictor = predictor_of(self)
        return predictor.at(predictor.bounds(predictor.read(X)), self._times(times))

    def predict_cumulative_incidence(self, X: TableLike, times: Any = None, *, bounds: bool = False) -> Floats:
        """Predict the probability of an event of each cause until each time, if other causes compete.

        It is the mean over trees of Aalen–Johansen estimates. The probabilities of all causes and of survival sum to 1.
        With competing causes, probabilities are not calibrated; with one cause, this is 1 minus the survival function.

        Parameters
        ----------
        X, times
            As in `predict_survival_function`.
        bounds : bool, default=False
            Whether to return lower and upper probabilities under the imprecise Dirichlet process.

        Returns
        -------
        incidence : ndarray of shape (n_samples, n_times, n_causes), or (n_samples, n_times, n_causes, 2)
            Cause k is in column k - 1.

        Examples
        --------
        >>> from hedgerow import SurvivalTree
        >>> times, causes = [1.0, 2, 3, 4, 5], [1, 0, 2, 0, 1]
        >>> tree = SurvivalTree().fit([[0]] * 5, (times, causes))
        >>> tree.predict_cumulative_incidence([[0]], times=[3.0]).round(3)
        array([[[0.2  , 0.267]]])
        """
        predictor: SurvivalPredictor = predictor_of(self)
        batch = predictor.read(X)
        found = predictor.incidence_bounds(batch) if bounds else predictor.incidence(batch)
        return predictor.at(found, self._times(times))

    def predict_quantile(self, X: TableLike, quantiles: Any = 0.5) -> Floats:
        """Predict the times by which given shares of rows like each sample have had the event.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.
        quantiles : float or array-like of shape (n_quantiles,), default=0.5
            Shares between 0 and 1; 0.5 means the median survival time.

        Returns
        -------
        times : ndarray of shape (n_samples,), or (n_samples, n_quantiles) for several quantiles
            Times of the grid; infinite if the share is not reached at the last event time of the training rows.
        """
        predictor: SurvivalPredictor = predictor_of(self)
        found = predictor.quantiles(predictor.curves(predictor.read(X)), quantiles)
        return found[:, 0] if np.ndim(quantiles) == 0 else found

    def predict_rmst(self, X: TableLike, horizon: float | None = None, *, bounds: bool = False) -> Floats:
        """Predict the restricted mean survival time: the expected time until the event or a horizon.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.
        horizon : float, default=None
            Time at which the integral of the survival function ends; None means the last event time in training.
        bounds : bool, default=False
            Whether to return the integrals of the lower and the upper survival function.

        Returns
        -------
        times : ndarray of shape (n_samples,), or (n_samples, 2) with ``bounds=True``
        """
        predictor: SurvivalPredictor = predictor_of(self)
        batch = predictor.read(X)
        end = float(self.event_times_[-1]) if horizon is None else horizon
        return predictor.rmst(predictor.bounds(batch) if bounds else predictor.curves(batch), end)

    def predict_lower(self, X: TableLike, coverage: float = 0.9) -> Floats:
        """Predict a time that the event exceeds with a given probability.

        The level is chosen on out-of-bag rows, weighted for censoring. The bound covers approximately, on average over
        samples, if times of censoring do not depend on the features. It is infinite beyond the last event time.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.
        coverage : float, default=0.9
            Probability that the event happens at or after the bound.

        Returns
        -------
        times : ndarray of shape (n_samples,)
        """
        predictor: SurvivalPredictor = predictor_of(self)
        return predictor.lower(predictor.read(X), coverage)

    def predict_frame(self, X: TableLike, times: Any = None) -> Any:
        """Return all predictions as a data frame, as ``hedgerow predict`` does.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.
        times : array-like of shape (n_times,), default=None
            Times of survival and its bounds; None means the middle of ``event_times_``.

        Returns
        -------
        frame : data frame with n_samples rows
            ``risk``, ``median_time``, for each time survival, its bounds and, with competing causes, the incidence of
            each cause, and ``novelty``. It is a polars frame if X is one or `set_output` requests it, otherwise a
            pandas frame with the index of X.
        """
        predictor: SurvivalPredictor = predictor_of(self)
        found = predictor.columns_at(X, [predictor.middle] if times is None else np.atleast_1d(times).tolist())
        return self._framed(X, found.numbers(), found.names)

    def predict_uncertainty(self, X: TableLike, time: float | None = None) -> SurvivalUncertainty:
        """Predict the uncertainty of survival at a time by source.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.
        time : float, default=None
            The time; None means the middle of ``event_times_``.

        Returns
        -------
        SurvivalUncertainty
            ``total``, ``aleatoric`` and ``epistemic`` entropies in bits, uncalibrated, and ``vacuity``, the width of
            the bounds, (n_samples,) each.
        """
        predictor: SurvivalPredictor = predictor_of(self)
        return predictor.uncertainty(predictor.read(X), predictor.middle if time is None else time)

    def predict_set(
        self, X: TableLike, time: float | None = None, threshold: float = 0.5, *, decision: Risk | None = None
    ) -> Bools:
        """Predict whether the event happens until a time: yes, no, or undecided.

        With a `hedgerow.decisions.Risk`, rows are decided only as survival beyond the time: the share of events until
        then among such rows is at most ``error``, with probability ``confidence`` over training samples. The threshold
        is found on out-of-bag rows and allows for censoring, which must not depend on the features. The guarantee is
        approximate, as for out-of-bag evidence of classes. Model files do not keep it.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.
        time : float, default=None
            The time; None means the middle of ``event_times_``.
        threshold : float, default=0.5
            The event is excluded if the lower survival probability exceeds this value, survival if the upper one is
            below it. Not used with a decision.
        decision : Risk, default=None
            Largest share of events among rows called low risk, and its confidence.

        Returns
        -------
        sets : bool ndarray of shape (n_samples, 2)
            Whether an event until the time, and survival beyond it, remain possible; undecided rows have both.
        """
        predictor: SurvivalPredictor = predictor_of(self)
        batch, horizon = predictor.read(X), predictor.middle if time is None else time
        if decision is not None:
            if not isinstance(decision, Risk):
                raise TypeError(f"decision must be a Risk or None, got {decision!r}. Without it, bounds decide.")
            low = predictor.low_risk(batch, horizon, decision)
            return np.column_stack([~low, np.ones_like(low)])
        lower, upper = predictor.at(predictor.bounds(batch), horizon)[:, 0].T
        return np.column_stack([lower <= threshold, upper >= threshold])

    def score(self, X: TableLike, y: TargetLike) -> float:
        """Return Harrell's concordance index of the predicted risks.

        Events of all causes count, and times of entry do not.

        Parameters
        ----------
        X, y
            As in `fit`.

        Returns
        -------
        score : float
        """
        risk = self.predict(X)
        return harrell_c(read_survival(y, len(risk)), risk)

    @property
    def event_times_(self) -> Floats:
        """Grid of event times, of shape (n_times,)."""
        predictor: SurvivalPredictor = predictor_of(self)
        return predictor.info.times

    @property
    def leaf_size_(self) -> int:
        """Leaf size chosen with ``min_samples_leaf="oob"``."""
        return require_metric(fitted_of(self).figures.leaf_size, "leaf_size_", "min_samples_leaf='oob'")

    @property
    def calibrated_(self) -> bool:
        """Whether curves are calibrated on out-of-bag rows."""
        predictor: SurvivalPredictor = predictor_of(self)
        return predictor.is_calibrated

    def _times(self, times: Any) -> Any:
        return self.event_times_ if times is None else times


@with_parameters_described
class SurvivalTree(SingleTreeMixin, SurvivalTrees):
    """A survival tree whose leaves keep right-censored times.

    Splits maximise the log-rank statistic, and the curve of a leaf is its Kaplan–Meier estimate.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    event_times_ : ndarray of shape (n_times,)
        Grid of times: the distinct event times of the training rows, or their quantiles.
    n_features_in_, feature_names_in_, tree_, forest_, feature_importances_
        As in `DecisionTreeRegressor`.

    Examples
    --------
    >>> from hedgerow import SurvivalTree
    >>> X = [[0], [0], [0], [1], [1], [1]]
    >>> times, events = [1.0, 2, 3, 7, 8, 9], [True, True, True, True, False, True]
    >>> tree = SurvivalTree(min_samples_leaf=3).fit(X, (times, events))
    >>> tree.predict_quantile([[0], [1]])
    array([2., 9.])
    """

    _parameters = rows_of(
        "caution",
        "splitter",
        "max_depth",
        "min_samples_split",
        "min_samples_leaf",
        "max_features",
        "feature_weights",
        "max_leaf_nodes",
        "unseen",
        "categorical_features",
        "max_bins",
        "ccp_alpha",
        "random_state",
        variants={name: VARIANTS[name] for name in ("caution",)},
    )

    _single_tree = True

    def __init__(
        self,
        *,
        caution: float = 1.0,
        splitter: str = "best",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 15,
        max_features: MaxFeatures = None,
        feature_weights: FeatureWeights = None,
        max_leaf_nodes: int | None = None,
        unseen: str = "shares",
        categorical_features: CategoricalFeatures = "from_dtype",
        max_bins: int | str | None = "auto",
        ccp_alpha: float = 0.0,
        random_state: RandomState = None,
    ) -> None:
        self.caution = caution
        self.splitter = splitter
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.feature_weights = feature_weights
        self.max_leaf_nodes = max_leaf_nodes
        self.unseen = unseen
        self.categorical_features = categorical_features
        self.max_bins = max_bins
        self.ccp_alpha = ccp_alpha
        self.random_state = random_state

    @property
    def tree_(self) -> Tree:
        """The tree as an object to inspect and traverse."""
        return self.trees_[0]


@with_parameters_described
class RandomSurvivalForest(SurvivalTrees):
    """A random survival forest with lower and upper survival curves.

    Splits maximise the log-rank statistic. A leaf keeps the right-censored times of its rows on a grid of at most 255
    event times; its curve is the Kaplan–Meier estimate. The curve of the forest is a mean over trees, and in each tree
    over the leaf and its smallest ancestors with at least 15 and 60 rows. Their weights minimise the Brier score of
    out-of-bag rows, on which curves are also calibrated. Rows may enter late, and causes may compete.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    event_times_ : ndarray of shape (n_times,)
        Grid of times: the distinct event times of the training rows, or their quantiles.
    n_features_in_, feature_names_in_, trees_, forest_, feature_importances_
        As in `RandomForestRegressor`.
    leaf_size_ : int
        Leaf size chosen with ``min_samples_leaf="oob"``.
    calibrated_ : bool
        Whether curves are calibrated on out-of-bag rows.
    oob_score_ : float
        Harrell's concordance index on out-of-bag rows, with ``oob_score=True``.

    References
    ----------
    H. Ishwaran et al.: Random survival forests. Annals of Applied Statistics 2, 2008. F. Mangili et al.: Reliable
    survival analysis based on the Dirichlet process. Biometrical Journal 57, 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from hedgerow import RandomSurvivalForest
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2))
    >>> time, end = rng.exponential(np.exp(X[:, 0])), rng.exponential(3.0, 300)
    >>> y = np.column_stack([np.minimum(time, end), time <= end])
    >>> forest = RandomSurvivalForest(20, random_state=0).fit(X, y)
    >>> low, high = forest.predict_survival_function([[-2.0, 0.0], [2.0, 0.0]], times=[1.0])[:, 0]
    >>> bool(low < high)
    True
    """

    _parameters = rows_of(
        "n_estimators",
        "caution",
        "calibration",
        "max_depth",
        "min_samples_split",
        "min_samples_leaf",
        "max_features",
        "feature_weights",
        "max_leaf_nodes",
        "bootstrap",
        "max_samples",
        "oob_score",
        "unseen",
        "categorical_features",
        "max_bins",
        "leaf_counts",
        "warm_start",
        "n_jobs",
        "random_state",
        "verbose",
        variants=VARIANTS,
    )

    def __init__(
        self,
        n_estimators: int | str = 100,
        *,
        caution: float = 1.0,
        calibration: str | None = "oob",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float | str = 3,
        max_features: MaxFeatures = "sqrt",
        feature_weights: FeatureWeights = None,
        max_leaf_nodes: int | None = None,
        bootstrap: bool | str = True,
        max_samples: int | float | None = None,
        oob_score: OobScore = False,
        unseen: str = "shares",
        categorical_features: CategoricalFeatures = "from_dtype",
        max_bins: int | str | None = "auto",
        leaf_counts: str = "all",
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.caution = caution
        self.calibration = calibration
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.feature_weights = feature_weights
        self.max_leaf_nodes = max_leaf_nodes
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.oob_score = oob_score
        self.unseen = unseen
        self.categorical_features = categorical_features
        self.max_bins = max_bins
        self.leaf_counts = leaf_counts
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose


@with_parameters_described
class ExtraSurvivalTrees(RandomSurvivalForest):
    """Survival trees with random thresholds: each split is the best of one random threshold per feature.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    event_times_ : ndarray of shape (n_times,)
        Grid of times: the distinct event times of the training rows, or their quantiles.
    n_features_in_, feature_names_in_, trees_, forest_, feature_importances_, oob_score_, leaf_size_, calibrated_
        As in `RandomSurvivalForest`.

    References
    ----------
    P. Geurts, D. Ernst, L. Wehenkel: Extremely randomized trees. Machine Learning 63, 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from hedgerow import ExtraSurvivalTrees
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2))
    >>> y = rng.exponential(np.exp(X[:, 0])), np.ones(300, dtype=bool)
    >>> forest = ExtraSurvivalTrees(20, random_state=0).fit(X, y)
    >>> low, high = forest.predict_rmst([[-2.0, 0.0], [2.0, 0.0]])
    >>> bool(low < high)
    True
    """

    splitter = "random"
